"""What engines made of the book's programs, once, and stored.

`python -m bench.tpu` asks Google's compiler for TPUs, `python -m bench.trace`
runs two processes under JAX's profiler, `python -m bench.gpu --compact`
measures a GPU. They write what is read here. Nothing here imports JAX or
anything that counts or predicts, but `stack`, a program to be compiled.
"""

import json
import re
from pathlib import Path

from shardlab.timeline import Done

__all__ = [
    "block",
    "compiled",
    "measured",
    "needed",
    "offered",
    "step",
    "traced",
]

STORED = Path(__file__).parent


def compiled():
    """What Google's compiler said of programs for TPUs that were not there.

    returns  dict: "date", "versions"; "sizes" of the block; "steps", training
             steps of a Transformer: model, topology, strategy, what a layer
             keeps, mesh, T, and bytes of "arguments", "results", "temporary"
             and "peak", or an "error"; "blocks", both passes of the block,
             with the same and "collectives", a list of dicts with kind, bytes,
             asked, within and algorithm; "slices", collectives of a block in
             two slices; "stack", how often the program of `stack` gathers, by
             way; "knees", for a chip pairs of tokens and seconds
    source   chapter 20
    """
    return json.loads((STORED / "tpu.json").read_text("utf-8"))


def step(model, strategy, keeps, **mesh):
    """One of the compiled training steps.

    model    such as "llama-3-8b"
    strategy  such as "fsdp"
    keeps    "products" or "input", what a layer keeps for its backward pass
    mesh     sizes of its axes, such as X=64
    returns  dict, as in `compiled`
    raises   ValueError that lists what is stored, if this is not
    source   chapter 20
    """
    wanted = [model, strategy, keeps, mesh]
    there = []
    for one in compiled()["steps"]:
        names = [one[name] for name in ("model", "strategy", "keeps", "mesh")]
        if names == wanted:
            return one
        there.append(names)
    raise ValueError(f"step must be one of {there}, got {wanted}")


def needed(step):
    """Bytes that a step needs at its peak, whether it fits or not.

    step     dict, as `step` gives it
    returns  the compiler's peak; where it refused, what its error says, to the
             five digits that it prints
    raises   ValueError for an error that names no size
    source   chapter 20
    """
    if "peak" in step:
        return step["peak"]
    said = re.search(r"\(([\d.]+)([GT])\) exceeds", step["error"])
    if not said:
        raise ValueError(f"the error must name a size, got {step['error']!r}")
    return float(said[1]) * 2 ** {"G": 30, "T": 40}[said[2]]


def offered(step):
    """Bytes of a chip's memory that the compiler had for a step it refused.

    step     dict, as `step` gives it, with an "error"
    returns  bytes, to the four digits that the error prints
    raises   ValueError for a step without an error that names them
    source   chapter 20
    """
    error = step.get("error", "")
    said = re.search(r"available HBM \(([\d.]+)G\)", error)
    if not said:
        raise ValueError(f"the error must name the memory, got {error!r}")
    return float(said[1]) * 2**30


def block(strategy, topology, **mesh):
    """Both passes of the two-matmul block, as they were compiled.

    strategy  such as "fsdp"
    topology  such as "v5p:4x4x4"
    mesh     sizes of its axes, such as X=64
    returns  dict, as in `compiled`
    raises   ValueError that lists what is stored, if this is not
    source   chapter 20
    """
    wanted = [strategy, topology, mesh]
    there = []
    for one in compiled()["blocks"]:
        names = [one[name] for name in ("strategy", "topology", "mesh")]
        if names == wanted:
            return one
        there.append(names)
    raise ValueError(f"block must be one of {there}, got {wanted}")


def traced():
    """What two processes did in some training steps, one of them late once.

    returns  dict: "date", "machine", "versions"; "sizes" of the block;
             "late", the step before which process 1 slept, and for how many
             "seconds"; "processes", for each a list of pairs of a step and a
             Done, whose queue is "chip" or "network"
    source   chapter 20
    """
    found = json.loads((STORED / "trace.json").read_text("utf-8"))
    found["processes"] = [
        [(step, Done(*rest)) for step, *rest in rows]
        for rows in found["processes"]
    ]
    return found


def measured():
    """What one GPU took for products, attention and training steps.

    returns  dict, as the docstring of `bench.gpu` says: "date", "machine",
             "chip" and "parts"; without samples and events
    source   chapter 20
    """
    return json.loads((STORED / "gpu.json").read_text("utf-8"))
