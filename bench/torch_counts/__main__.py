"""The command line of bench.torch_counts: what it does, its package says."""

import argparse
import inspect
import json
import platform
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import bench.torch_counts

SIZES = {"B": 4096, "D": 4096, "F": 16_384}
UNEVEN = {"B": 512, "D": 1600, "F": 6400}  # as wide as GPT-2 XL
SMALL, LARGE = (
    {"X": {"X": 8}, "Y": {"Y": 8}, "XY": {"X": 4, "Y": 2}},
    {"X": {"X": 4096}, "XY": {"X": 512, "Y": 8}},
)
SMALL["PX"], LARGE["PX"] = {"P": 2, "X": 4}, {"P": 8, "X": 512}
PIPELINE = {"p": 4, "m": 8}
SHOWN = ("dp", "fsdp", "megatron", "tp", "sequence", "fsdp_tp")


def missing():
    """What the measurement lacks here, in words, or None.

    returns  str or None
    """
    try:
        version("torch")
    except PackageNotFoundError:
        return "PyTorch is not installed; see requirements-torch.txt"
    return None


def counts():
    """All programs on the fake group, small and large.

    returns  list of dicts of plain data
    """
    from bench.torch_counts import fake, steps

    found = [
        fake.counted(name, meshes[program.axes], **SIZES)
        for meshes in (SMALL, LARGE)
        for name, program in steps.PROGRAMS.items()
        if program.axes in meshes
    ]
    return [*found, fake.counted("fsdp", {"X": 512}, **UNEVEN)]


def on_real_ranks():
    """The same programs on processes that compute, and what the fake says.

    returns  dict of plain data
    """
    from bench.torch_counts import ranks

    first, *_ = ranks.results("trained", 8)
    pipes = ranks.results("piped", ranks.STAGES)
    return {
        "sizes": ranks.SIZES,
        "backend": "gloo",
        "trained": first,
        "pipelines": [
            {"schedule": of_ranks[0]["schedule"], "ranks": of_ranks}
            for of_ranks in zip(*pipes, strict=True)
        ],
    }


def fakes_of_real_ranks():
    """What the fake group says of the runs on real ranks.

    returns  dict: program -> records
    """
    import torch

    from bench.torch_counts import fake, ranks, steps

    return {
        name: fake.counted(
            name, ranks.MESHES[program.axes], **ranks.SIZES, dtype=torch.float32
        )["records"]
        for name, program in steps.PROGRAMS.items()
        if "float32" not in name
    }


def shown():
    """The text of the programs that the page prints.

    returns  dict: function -> its source
    """
    from bench.torch_counts import programs, steps

    functions = [getattr(programs, name) for name in SHOWN]
    functions += [programs.Block, programs.add, steps.zero1, steps.ByLayout]
    return {one.__name__: inspect.getsource(one) for one in functions}


def everything():
    """All that chapter 19 shows.

    returns  dict of plain data
    """
    from bench.torch_counts import attention, fake, pipelines

    rotations = ("alltoall", "allgather")
    return {
        "date": f"{date.today()}",
        "versions": {
            "torch": version("torch"),
            "python": platform.python_version(),
        },
        "programs": shown(),
        "counts": counts(),
        "by_module": fake.by_module(SMALL["XY"], **SIZES),
        "loss": [
            fake.loss_of_a_vocabulary(8, 4096, 131_072, parallel)
            for parallel in (False, True)
        ],
        "attention": [
            attention.counted(8, 32_768, 8, 128, rotate) for rotate in rotations
        ],
        "pipelines": [
            pipelines.order(name, **PIPELINE) for name in pipelines.PARTS
        ],
        "gloo": on_real_ranks() | {"fake": fakes_of_real_ranks()},
    }


def main(words=None):
    """Count, and write what was found.

    words    of the command line
    returns  exit status
    """
    about = bench.torch_counts.__doc__.splitlines()[0]
    asked = argparse.ArgumentParser(
        "python -m bench.torch_counts", description=about
    )
    asked.add_argument("--out", type=Path, required=True, help="JSON file")
    options = asked.parse_args(words)
    if lacking := missing():
        print(f"nothing was counted: {lacking}", file=sys.stderr)
        return 2
    text = compact(everything()) + "\n"
    options.out.write_text(text, encoding="utf-8")
    return 0


def compact(value, indent=""):
    """JSON in which what holds nothing but numbers and words is one line.

    value    plain data
    indent   of the line that it begins on
    returns  str
    """
    is_dict = isinstance(value, dict)
    inside = value.values() if is_dict else value
    deep = isinstance(value, dict | list | tuple) and any(
        isinstance(one, dict | list | tuple) for one in inside
    )
    if not deep:
        return json.dumps(value)
    more = indent + " "
    if is_dict:
        parts = [
            f"{json.dumps(key)}: {compact(one, more)}"
            for key, one in value.items()
        ]
    else:
        parts = [compact(one, more) for one in value]
    first, last = "{}" if is_dict else "[]"
    return f"{first}\n{more}" + f",\n{more}".join(parts) + f"\n{indent}{last}"


if __name__ == "__main__":
    sys.exit(main())
