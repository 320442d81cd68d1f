"""The command line of bench.tpu: what it does, its package says."""

import os

# Before JAX looks for devices: none is there, and none is to be asked for.
os.environ |= {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}

import argparse
import importlib.util
import json
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

import bench.tpu

NEEDS = "it needs libtpu: pip install -r requirements-tpu.txt"


def missing():
    """Why nothing can be compiled here, or ""."""
    return "" if importlib.util.find_spec("libtpu") else NEEDS


def step(row):
    """One training step: its memory, or the compiler's error."""
    from jax.errors import JaxRuntimeError

    from bench.tpu import programs

    names = ("model", "topology", "strategy", "keeps", "mesh")
    found = dict(zip(names, row, strict=True)) | {"T": programs.T}
    try:
        compiled = programs.trained(*row).compile()
    except JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return found | {"error": str(error).split(". HLO module")[0]}
    return found | programs.memory(compiled)


def passes(row):
    """Both passes of a block: memory and collectives."""
    from bench.tpu import programs

    names = ("strategy", "topology", "mesh")
    compiled = programs.both_passes(*row).compile()
    return (
        dict(zip(names, row, strict=True))
        | programs.memory(compiled)
        | {"collectives": programs.collectives(compiled.as_text())}
    )


def knee(chip, topology):
    """The compiler's estimate of a product's seconds, by batch."""
    from bench.tpu import programs

    points = []
    for B in programs.BATCHES:
        found = programs.product(topology, B).compile().cost_analysis()
        found = found[0] if isinstance(found, list) else found
        points.append([B, found["optimal_seconds"]])
    return {"chip": chip, "points": points}


def everything(say):
    """All that is stored."""
    from bench.tpu import programs
    from shardlab.compiled import stack

    found = {
        "date": date.today().isoformat(),
        "versions": {name: version(name) for name in ("jax", "libtpu")},
        "sizes": programs.SIZES | {"tokens": programs.PER_ROW},
        "steps": [],
        "blocks": [],
        "knees": [],
    }
    for row in programs.TRAINED:
        say(*row[:4])
        found["steps"].append(step(row))
    for row in programs.BLOCKS:
        say(*row)
        found["blocks"].append(passes(row))
    say("two slices")
    text = programs.across_slices().compile().as_text()
    found["slices"] = programs.collectives(text)
    say("a stack of layers")
    found["stack"] = {way: programs.stacked(way) for way in stack.WAYS}
    for chip in programs.KNEES:
        say("one product on", chip[0])
        found["knees"].append(knee(*chip))
    return found


def main(arguments=None):
    """The command line; returns the exit status: 2 without libtpu."""
    about = bench.tpu.__doc__.splitlines()[0]
    asked = argparse.ArgumentParser("python -m bench.tpu", description=about)
    asked.add_argument("--out", type=Path, required=True, help="JSON file")
    options = asked.parse_args(arguments)
    if missing():
        print(f"nothing was compiled: {missing()}", file=sys.stderr)
        return 2
    found = everything(lambda *words: print(*words, flush=True))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(key) + ": " + _lines(value) for key, value in found.items()
    ]
    options.out.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"written to {options.out}")
    return 0


def _lines(value):
    """A list of rows, one to a line; anything else on one line."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]"
    return json.dumps(value)


if __name__ == "__main__":
    sys.exit(main())
