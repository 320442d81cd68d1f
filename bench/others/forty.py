"""Forty programs and more of others: each counted, or refused with a reason.

    python -m bench.others.forty --clones DIR --out bench/others/forty.json

DIR holds clones named jax, flax and nanodo; without a clone or
a package its programs are left out. Pages of documentation are executed cell
by cell, and each program that they run on several devices is counted when it
is called. Every count is set beside that of `bench.others.reader`.
"""

import argparse
import functools
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import nullcontext, redirect_stdout
from datetime import date
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np

from bench.others.patterns import SOURCES
from bench.others.programs import PROGRAMS, laid, mesh_of
from bench.others.reader import partitioned_text, read
from shardlab.inspection import inspect_step

__all__ = ["DIFFER", "STORED", "counted", "main"]

STORED = Path(__file__).with_name("forty.json")
PAGES = {
    "jax": (
        "docs/notebooks/shard_map.md",
        "docs/new_docs/201/sharding.md",
        "docs/new_docs/301/sharding-ad.md",
    ),
}
_OURS = "cannot count"
# Where the two readers differ, and why.
DIFFER = {
    "MegaBlocks, Gale et al. 2022: MegaBlocks: each token meets one expert, in "
    "one matmul with groups.": "JAX for CPUs writes 16 dense matmuls, one for "
    "each group; the other reader counts them all, and a token meets one",
}
# The package that each library's programs need.
LIBRARIES = {"flax": "flax", "equinox": "equinox", "nanodo": "flax"}
# A cell of a page, as jupytext and as Markdown have it.
_CELL = re.compile(
    r"```(?:\{code-cell\}[^\n]*|py(?:thon)?)\n(.*?)```", re.DOTALL
)


def counted(step, args, title):
    """The verdict on a program, and what two readers count in it.

    step, args  as `inspect_step` takes them
    title       of the program
    returns     dict: title, verdict ("counted" or "refused"), why, level,
                counted and read (volume in bytes by collective, and FLOPs),
                gaps
    source      chapter 21
    """
    row = {"title": title, "verdict": "counted", "why": ""}
    try:
        report = inspect_step(step, *args, name=title)
    except ValueError as error:
        return row | {"verdict": "refused", "why": str(error).splitlines()[0]}
    found = {}
    for c in report.moved:
        found[c.kind] = found.get(c.kind, 0) + c.times * c.volume
    found["FLOPs"] = report.flops()
    jitted = step if hasattr(step, "lower") else jax.jit(step)
    try:
        other = read(partitioned_text(jitted, args))
    except (ValueError, KeyError, TypeError, NotImplementedError) as error:
        other = f"{type(error).__name__}: {error}".splitlines()[0]
    return row | {
        "level": report.level,
        "counted": {k: n for k, n in found.items() if n},
        "read": other,
        "gaps": [gap for gap in report.gaps if not gap.startswith("memory")],
    }


class _Watched:
    """A program of a page, counted when it is called with arrays."""

    def __init__(self, f, seen):
        functools.update_wrapper(self, f)
        self.f, self.seen = f, seen

    def __getattr__(self, name):
        return getattr(self.f, name)

    def __call__(self, *args, **options):
        leaves = jax.tree.leaves(args)
        traced = any(isinstance(x, jax.core.Tracer) for x in leaves)
        spread = [
            x
            for x in leaves
            if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)
            if len(x.sharding.device_set) > 1
        ]
        if spread and not traced and not options:
            self.seen(self.f, args)
        return self.f(*args, **options)


def _page(folder, page, rows, **about):
    """Count what a page runs on several devices."""
    text = Path(folder, page).read_text(encoding="utf-8")
    short, known = Path(page).stem, set()

    def seen(f, args):
        name = getattr(f, "__name__", type(f).__name__)
        shapes = str(jax.tree.map(jax.typeof, args))
        if (name, shapes) in known:
            return
        known.add((name, shapes))
        title = f"{about['project']}, {short}: {name}"
        title += f" ({len([k for k, _ in known if k == name])})"
        row = counted(f, args, title) | about | {"file": page}
        # Pages also show what JAX itself refuses to run.
        if row["verdict"] == "counted" or row["why"].startswith(_OURS):
            rows.append(row)

    own = {"jit": jax.jit, "shard_map": jax.shard_map}

    def watching(make):
        @functools.wraps(make)
        def made(f=None, *args, **options):
            if f is None:
                return lambda f: made(f, *args, **options)
            return _Watched(make(f, *args, **options), seen)

        return made

    names = {"__name__": "page", "np": np}
    for name, make in own.items():
        setattr(jax, name, watching(make))
    try:
        for cell in _CELL.findall(text):
            code = re.sub(r"^(:tags:.*|---\n.*?---)\n", "", cell, flags=re.S)
            code = "\n".join(
                line for line in code.splitlines() if line[:1] not in "%!"
            )
            try:
                exec(code, names)  # noqa: S102  what we came for
            except Exception as error:  # noqa: BLE001  pages show errors
                print(f"{page}: {error}"[:100], file=sys.stderr)
    finally:
        for name, make in own.items():
            setattr(jax, name, make)


def _nanodo(folder):
    """A training step of nanodo, in its own sizes and laid as it says.

    folder   a clone of google-deepmind/nanodo
    returns  list of (title, step, arguments)
    """
    import flax.linen as nn  # noqa: PLC0415  optional packages
    import optax  # noqa: PLC0415

    sys.path.insert(0, str(folder))
    theirs = importlib.import_module("nanodo.model")
    mesh = mesh_of(data=8)
    config = theirs.DoConfig(D=512, H=8, L=512, N=6, V=32_000, F=2048)
    model = theirs.TransformerDo(config)
    tokens = jax.ShapeDtypeStruct((256, 512), np.int32)
    tokens = laid(tokens, mesh, "data")
    boxed = jax.eval_shape(model.init, jax.random.key(0), tokens)["params"]
    params = jax.tree.map(
        lambda x, spec: laid(x, mesh, *spec),
        nn.unbox(boxed),
        nn.get_partition_spec(boxed),
    )

    def pinned(call, args, kwargs, context):
        """Pin what a module returns along the batch."""
        Out = call(*args, **kwargs)
        if context.method_name != "__call__" or not hasattr(Out, "ndim"):
            return Out
        place = jax.NamedSharding(mesh, jax.P("data"))
        return jax.lax.with_sharding_constraint(Out, place)

    def case(title, around):
        def step(params, tokens):
            def loss(params):
                with around():
                    logits = model.apply({"params": params}, tokens)
                return optax.softmax_cross_entropy_with_integer_labels(
                    logits[:, :-1], tokens[:, 1:]
                ).mean()

            gradients = jax.grad(loss)(params)
            return jax.tree.map(lambda w, g: w - 1e-3 * g, params, gradients)

        return title, jax.jit(step), (params, tokens)

    pin = functools.partial(nn.intercept_methods, pinned)
    return [
        case("nanodo, as published", nullcontext),
        case("nanodo, activations pinned", pin),
    ]


def _commit(folder):
    """The commit of a folder, which COMMIT names if it is no clone."""
    named = Path(folder, "COMMIT")
    if named.exists():
        return named.read_text(encoding="utf-8").strip()
    asked = ["git", "-C", folder, "log", "-1", "--format=%h %cs"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _patterns():
    """Rows of the patterns whose packages are installed."""
    for make, (source, package) in SOURCES.items():
        if importlib.util.find_spec(package) is not None:
            title = f"{source}: {make.__doc__.splitlines()[0]}"
            row = counted(*make(), title)
            row |= {"project": package, "version": version(package)}
            yield row | {"pattern": make.__name__}


def _library(project, folder):
    """Rows of the steps that programs.py and this module make of a library."""
    find = {"nanodo": _nanodo}.get(project) or PROGRAMS[project]
    which = version(project) if project == "equinox" else _commit(folder)
    for title, step, args in find(folder):
        row = counted(step, args, title)
        yield row | {"project": project, "version": which}


def _rows(part, clones):
    """Rows of one part: "patterns", a page such as jax:docs/a.md, a library."""
    project, _, page = part.partition(":")
    folder = str(clones / project) if clones else "."
    if part == "patterns":
        return list(_patterns())
    if not page:
        return list(_library(project, folder))
    rows, pinned = [], {"project": project, "version": _commit(folder)}
    with redirect_stdout(sys.stderr):
        _page(folder, page, rows, **pinned)
    return rows


def main(words=None):
    """The command line; returns the exit status."""
    about = __doc__.splitlines()[0]
    asked = argparse.ArgumentParser("python -m bench.others.forty", about)
    asked.add_argument("--clones", type=Path, help="folder of clones")
    asked.add_argument("--out", type=Path, required=True, help="JSON file")
    asked.add_argument("--part", help="only this part, as a list of rows")
    options = asked.parse_args(words)
    if options.part:
        jax.config.update("jax_num_cpu_devices", 8)
        rows = _rows(options.part, options.clones)
        options.out.write_text(json.dumps(rows), encoding="utf-8")
        return 0
    there = lambda name: options.clones and (options.clones / name).is_dir()  # noqa: E731
    parts = ["patterns"]
    parts += [f"{p}:{page}" for p in PAGES if there(p) for page in PAGES[p]]
    for library, package in LIBRARIES.items():
        installed = importlib.util.find_spec(package) is not None
        if installed and (library == "equinox" or there(library)):
            parts.append(library)
    rows = []
    with tempfile.TemporaryDirectory() as work:
        out = Path(work, "rows.json")
        for part in parts:  # each in a process of its own: pages set meshes
            program = [sys.executable, "-m", "bench.others.forty"]
            program += ["--part", part, "--out", str(out)]
            if options.clones:
                program += ["--clones", str(options.clones)]
            subprocess.run(program, check=True)
            rows += json.loads(out.read_text(encoding="utf-8"))
            print(f"{part}: {len(rows)} programs so far", flush=True)
    found = {"date": date.today().isoformat(), "jax": version("jax")}
    text = json.dumps(found | {"rows": rows}, indent=1)
    options.out.write_text(f"{text}\n", encoding="utf-8")
    print(f"{len(rows)} programs, written to {options.out}")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.exit(main())
