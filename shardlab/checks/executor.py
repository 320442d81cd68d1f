"""Inspects and runs exported programs: `python -m shardlab.checks.executor`.

A program is bytes from a student. It is read, held against what the question
asked for, counted, and run on arrays, all from the same module: what is
inspected is what is executed. Only plain data goes in and comes out. When
grading, this is a process in a sandbox of its own; in JupyterLab, `answer` is
called where the student is.
"""

import base64
import binascii
import functools
import json
import os
from dataclasses import dataclass, replace
from math import prod

__all__ = ["MAX_PROGRAM", "Admitted", "answer"]

if __name__ == "__main__":  # before JAX starts
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from shardlab.arguments import partitions
from shardlab.checks import pipes, plain
from shardlab.count import exported, living, stablehlo
from shardlab.count.layouts import from_spec, text
from shardlab.haste import HASTY

MAX_PROGRAM = 4 << 20
MAX_ARRAY = 512 << 20
MAX_RECORDS = 20_000


@dataclass(frozen=True, eq=False)
class Admitted:
    """A program that is what its question asked for.

    call      function of the arrays in order, compiled once
    program   what it moves, shardlab.count.exported.Program
    places    sharding of each array
    dtypes    dtype of each array
    kept      for each argument of the module, the number of its array
    """

    call: object
    program: exported.Program
    places: tuple
    dtypes: tuple
    kept: tuple


def answer(question):
    """The reply to one question about a program.

    question  dict: "inspect", the program in base64, or "run", the same with
              "arguments", encoded by `plain`; "request", as `program.request`
              makes it; to inspect also "of", numbers of arrays, or None
    returns   dict of plain data: "refused" with a sentence when the program
              is not what was asked for or does not run; "result", encoded,
              of a run; else what `_inspect` returns
    """
    try:
        request = json.dumps(question["request"])
        if "inspect" in question:
            admitted = _admit(question["inspect"], request)
            return _inspect(admitted, question.get("of"))
        admitted = _admit(question["run"], request)
        return _execute(admitted, plain.decode(question["arguments"]))
    except ValueError as error:
        return {"refused": _first_line(error)}
    except RecursionError:
        return {"refused": "the program is nested too deep"}
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {_first_line(error)}"}


def _first_line(error):
    """The first line of what an error says, not too long."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return plain.printable(lines[0], 600)


@functools.lru_cache(maxsize=8)
def _admit(encoded, request):
    """A program that may be inspected and run.

    encoded  the program, in base64
    request  what its question asked for, as JSON
    returns  Admitted
    raises   ValueError that says what is wrong with it
    """
    request = json.loads(request)
    made = stablehlo.exported(_unpacked(encoded))
    _check_setting(made, request)
    module = stablehlo.read_module(made)
    _check_arguments(made, module, request)
    wanted = _asked_layouts(request)
    kept = made.module_kept_var_idx
    module = _placed(module, [wanted[i] for i in kept])
    _check_sizes(module)
    _check_digits(module, request)
    program = _understood(module, request)
    _check_metadata(made, program, request)
    _check_results(made, program, request)
    mesh = _device_mesh(program.module.mesh or request["mesh"])
    specs = [_spec_of(leaf[2]) for leaf in request["leaves"]]
    places = tuple(NamedSharding(mesh, spec) for spec in specs)
    dtypes = tuple(np.dtype(aval.dtype) for aval in made.in_avals)
    return Admitted(_in_order(made), program, places, dtypes, kept)


def _understood(module, request):
    """What a module moves; in explicit types that may be left open."""
    try:
        return exported.counted(module, request["mesh"])
    except ValueError:
        if not request["explicit"]:
            raise
        return exported.uncounted(module, request["mesh"])


def _unpacked(encoded):
    """The bytes of a program, if they are not too many."""
    if len(encoded) > MAX_PROGRAM * 4 // 3 + 4:
        raise ValueError(f"the program is larger than {MAX_PROGRAM >> 20} MB")
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("not an exported program (no base64)") from None


def _in_order(made):
    """A program as a function of its arrays in order."""

    def call(*arrays):
        args, named = jax.tree.unflatten(made.in_tree, arrays)
        return made.call(*args, **named)

    return jax.jit(call, compiler_options=HASTY)


def _check_setting(made, request):
    """Refuse a program for other devices, or one that needs more of its host.

    made     jax.export.Exported
    request  dict
    """
    devices = prod(size for _, size in request["mesh"])
    if made.platforms != ("cpu",):
        raise ValueError(f"the program is exported for {made.platforms}")
    if made.nr_devices != devices:
        raise ValueError(
            f"the program is exported for {made.nr_devices} devices, "
            f"expected {devices}"
        )
    if made.ordered_effects or made.unordered_effects:
        raise ValueError("the program has effects beside its results")
    if made.disabled_safety_checks or made.uses_global_constants:
        raise ValueError("the program asks for checks to be skipped")


def _check_arguments(made, module, request):
    """Refuse a program of other arguments.

    made     jax.export.Exported
    module   shardlab.count.stablehlo.Module of it
    request  dict
    """
    asked = [(tuple(s), dtype) for s, dtype, _ in request["leaves"]]
    given = [(tuple(a.shape), str(a.dtype)) for a in made.in_avals]
    if asked != given:
        raise ValueError(
            f"the program is exported for arguments {_types(given)}, "
            f"expected {_types(asked)}"
        )
    kept = list(made.module_kept_var_idx)
    if kept != sorted(set(kept)) or not set(kept) <= set(range(len(given))):
        raise ValueError("the program names an argument that it has not")
    main = module.functions["main"]
    inside = ([given[i] for i in kept], [_typed(a) for a in made.out_avals])
    for values, said in zip((main.inputs, main.results), inside, strict=True):
        if [_typed(v) for v in values] != said:
            raise ValueError("the program is not of the type that it states")


def _typed(value):
    """Shape and dtype of a value."""
    return tuple(value.shape), str(value.dtype)


def _types(pairs):
    """Shapes and dtypes in words."""
    said = [f"{dtype}{list(shape)}" for shape, dtype in pairs]
    return ", ".join(said) or "none"


def _check_sizes(module):
    """Refuse a program with an array that is too large to be tried."""
    makers = list(module.made)
    largest = max((value.bytes for value in makers), default=0)
    if largest > MAX_ARRAY:
        raise ValueError(f"the program makes an array of {largest:,} bytes")


def _check_digits(module, request):
    """Refuse to send numbers of fewer digits than those that are given.

    Checks send small whole numbers where sums must stay exact. Half of the
    bits would hold them, and a byte count would be met without the idea.

    module   shardlab.count.stablehlo.Module
    request  dict
    """
    given = [np.dtype(dtype) for _, dtype, _ in request["leaves"]]
    least = min((kind.itemsize for kind in given), default=0)
    for operation in module.made.values():
        if operation.name not in exported.COLLECTIVES:
            continue
        for value in operation.inputs:
            sent = np.dtype(value.dtype)
            if sent.kind != "b" and sent.itemsize < least:
                raise ValueError(
                    f"the program sends numbers of {sent}; those given have "
                    f"{least} bytes each, and fewer do not hold their digits"
                )


def _asked_layouts(request):
    """The layout in which each array of a request arrives."""
    return [
        _asked_layout(spec, len(shape), request)
        for shape, _, spec in request["leaves"]
    ]


def _asked_layout(spec, ndim, request):
    """The layout that a request's spec means."""
    names, sizes = zip(*request["mesh"], strict=True)
    return from_spec(_spec_of(spec), AbstractMesh(sizes, names), ndim)


def _spec_of(spec):
    """The PartitionSpec of a list with a list of axes for each dimension."""
    return PartitionSpec(*(tuple(axes) or None for axes in spec))


def _placed(module, layouts):
    """The module with its arguments where the request puts them."""
    for i, (said, asked) in enumerate(
        zip(module.arguments, layouts, strict=True)
    ):
        if said is not None and said != asked:
            raise ValueError(
                f"argument {i} of the program lies as {text(said)}, "
                f"expected {text(asked)}"
            )
    return replace(module, arguments=tuple(layouts))


def _check_metadata(made, program, request):
    """Refuse shardings that are stated beside the module, and others.

    made     jax.export.Exported
    program  shardlab.count.exported.Program
    request  dict
    """
    kind = AxisType.Explicit if request["explicit"] else AxisType.Auto
    meshes = [
        AbstractMesh(tuple(sizes), tuple(names), (kind,) * len(names))
        for axes in (program.module.mesh, request["mesh"])
        for names, sizes in [zip(*axes, strict=True) if axes else ((), ())]
        if names
    ]
    ins = _stated(made.in_shardings_jax, meshes)
    outs = _stated(made.out_shardings_jax, meshes)
    _check_stated(ins, _asked_layouts(request), meshes[0])
    _check_stated(outs, program.results, meshes[0])


def _stated(shardings, meshes):
    """The shardings that a program states, on the first mesh that is theirs."""
    for mesh in meshes:
        try:
            return shardings(mesh)
        except ValueError:
            continue
    raise ValueError("the program states shardings on a mesh of its own")


def _check_stated(shardings, layouts, mesh):
    """Refuse shardings that are not those of the module."""
    for said, layout in zip(shardings, layouts, strict=True):
        if said is None:
            continue
        ndim = len(layout.dims) if layout else len(partitions(said.spec))
        lies = from_spec(said.spec, said.mesh, ndim)
        same = lies == layout or (layout is None and lies.plain)
        if not same or not (lies.plain or said.mesh == mesh):
            raise ValueError("the program is not laid out as it states")


def _check_results(made, program, request):
    """Refuse results that lie otherwise than the request says."""
    if request["out"] is None:
        return
    whole = jax.tree.unflatten(made.out_tree, program.module_results())
    specs = _beside(request["out"], whole)
    for number, (spec, (value, layout)) in enumerate(specs):
        asked = _asked_layout(spec, len(value.shape), request)
        lies = asked if layout is None and asked.plain else layout
        if lies != asked:
            said = "nowhere" if lies is None else text(lies)
            raise ValueError(
                f"result {number} lies as {said}, expected {text(asked)}"
            )


def _beside(specs, tree):
    """Pairs of spec and leaf, of a tree of specs that leads a tree."""
    if "spec" in specs:
        leaves = jax.tree.leaves(tree, is_leaf=_is_result)
        return [(specs["spec"], leaf) for leaf in leaves]
    ((kind, inner),) = specs.items()
    pairs = inner.items() if kind == "dict" else enumerate(inner)
    if not isinstance(tree, (tuple, list, dict)) or _is_result(tree):
        raise ValueError(f"it must return {len(inner)} results, got one")
    if len(tree) != len(inner):
        raise ValueError(
            f"it must return {len(inner)} results, got {len(tree)}"
        )
    return [pair for key, spec in pairs for pair in _beside(spec, tree[key])]


def _is_result(leaf):
    """Whether a leaf is a result with its layout."""
    return isinstance(leaf, exported.Returned)


def _device_mesh(axes):
    """The mesh of simulated devices with these axes."""
    names, sizes = zip(*axes, strict=True)
    needed, there = prod(sizes), jax.device_count()
    if needed > there:
        raise ValueError(
            f"{needed} devices are needed and there are {there}: set "
            f'jax.config.update("jax_num_cpu_devices", {needed}) first'
        )
    return jax.make_mesh(
        sizes,
        names,
        axis_types=(AxisType.Auto,) * len(names),
        devices=jax.devices()[:needed],
    )


def _inspect(admitted, of):
    """What a program moves and holds, as plain data.

    admitted  Admitted
    of        numbers of the arrays whose descendants count as gathered, None
              for whatever was gathered
    returns   dict: "collectives", lists of kind, axes, volume, sent, times
              and pairs; "gathered" and "live", bytes (these three are missing
              when explicit types leave them to the compiler); "results",
              text of each layout; "constraints", texts
    """
    program = admitted.program
    return {
        **(_counts(admitted, of) if program.collectives is not None else {}),
        "results": [
            exported.printed(value, layout) if layout else str(value.dtype)
            for value, layout in program.module_results()
        ],
        "constraints": exported.constraints(program.module),
    }


def _counts(admitted, of):
    """The part of `_inspect` that is counted."""
    program = admitted.program
    if len(program.collectives) > MAX_RECORDS:
        raise ValueError(f"the program has over {MAX_RECORDS:,} collectives")
    if of is not None:
        of = [i for i, number in enumerate(admitted.kept) if number in of]
    peaks = living.peaks(program, of)
    return {
        "collectives": [
            [c.kind, list(c.axes), c.volume, c.sent, c.times, c.pairs]
            for c in program.collectives
        ],
        "gathered": peaks.gathered,
        "live": peaks.live,
    }


def _execute(admitted, arguments):
    """What a program returns for arrays.

    admitted   Admitted
    arguments  list of arrays, in order, of any dtype that can be cast
    returns    dict: "result", encoded
    """
    arrays = [
        jax.device_put(np.asarray(x).astype(dtype), place)
        for x, dtype, place in zip(
            arguments, admitted.dtypes, admitted.places, strict=True
        )
    ]
    result = jax.block_until_ready(admitted.call(*arrays))
    return {"result": plain.encode(jax.tree.map(_one_copy, result))}


def _one_copy(array):
    """A result as a NumPy array, if all devices that hold a piece agree.

    Sums in another order may differ in the last bits, and in no others.
    """
    held = {}
    for shard in array.addressable_shards:
        piece = np.asarray(shard.data)
        first = held.setdefault(str(shard.index), piece)
        if not _equal_but_rounding(first, piece):
            raise ValueError(
                "devices hold different copies of a result that should be the "
                "same on all of them"
            )
    return np.asarray(array)


def _equal_but_rounding(one, other):
    """Whether two copies of a piece differ by rounding at most."""
    if np.array_equal(one, other) or jnp.issubdtype(one.dtype, jnp.integer):
        return np.array_equal(one, other)
    if not jnp.issubdtype(one.dtype, jnp.inexact):
        return False
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    a, b = one.astype(wide), other.astype(wide)
    # 8 roundings of the largest number: a sum over twice as many devices.
    largest = np.abs(a[np.isfinite(a)]).max(initial=0)
    most = 8 * float(jnp.finfo(one.dtype).eps) * largest
    with np.errstate(invalid="ignore"):
        close = (np.abs(a - b) <= most) | (a == b)
    return bool(np.all(close | (np.isnan(a) & np.isnan(b))))


if __name__ == "__main__":
    jax.devices()
    pipes.serve(answer)
