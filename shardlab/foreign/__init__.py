"""What PyTorch counted of its own strategies, once, and stored.

`python -m bench.torch_counts` runs PyTorch's programs and writes the tables
that are read here. Nothing in this package imports PyTorch, JAX, or anything
that counts or predicts.
"""

import json
import re
from fractions import Fraction
from pathlib import Path

from shardlab.arguments import one_of, takes

__all__ = ["counted", "gathers_by_module", "orders", "stored", "volume"]

STORED = Path(__file__).with_name("torch.json")
# V is the whole array of a group; of a permute or a broadcast, the message.
VOLUME = {
    "all_gather": Fraction(1),
    "reduce_scatter": Fraction(1),
    "all_reduce": Fraction(2),
    "all_to_all": Fraction(1, 4),
    "permute": Fraction(1),
    "broadcast": Fraction(1),
}
KINDS = {"F": "forward", "B": "backward", "I": "input", "W": "weight"}


def stored():
    """All that `python -m bench.torch_counts` found, with its date.

    returns  dict: "date", "versions"; "programs", the text of what was run;
             "counts", "loss" and "attention", lists of dicts with sizes, with
             "records" of the ledger and with what CommDebugMode said;
             "by_module", the latter for each module of FSDP with tensor
             parallelism; "pipelines", orders of schedules; "gloo", losses and
             gradients on real processes
    source   chapter 19
    """
    return json.loads(STORED.read_text(encoding="utf-8"))


def counted(strategy, **mesh):
    """What PyTorch sends in a training step of a strategy.

    strategy  such as "fsdp"; with no such run the error lists those there are
    mesh      ranks of each axis, such as X=512, Y=8
    returns   dict: "sizes", in elements; "records", a list of dicts with part,
              kind, axis, ranks, dtype, V in bytes and times; "debug_mode",
              from calls to how often CommDebugMode saw them
    raises    ValueError that names the strategy or the mesh
    source    chapter 19
    """
    runs = {
        (run["strategy"], *run["mesh"].items()): run
        for run in stored()["counts"]
    }
    one_of("strategy", strategy, {name for name, *_ in runs})
    key = (strategy, *mesh.items())
    if key not in runs:
        there = [dict(axes) for name, *axes in runs if name == strategy]
        raise ValueError(f"mesh must be one of {there}, got {mesh}")
    return runs[key]


def volume(records, axis=None, part=None):
    """Bytes of records in the convention of the book's formulas.

    records  list of dicts, as in `counted`
    axis     a mesh axis; None: all
    part     forward, backward or update; None: all
    returns  bytes: V for AllGather and ReduceScatter, 2V for AllReduce, V/4
             for AllToAll, the message for a permute and a broadcast
    source   chapter 19
    """
    chosen = [
        VOLUME[record["kind"]] * record["V"] * record["times"]
        for record in records
        if axis in (None, record["axis"]) and part in (None, record["part"])
    ]
    total = sum(chosen, Fraction())
    return int(total) if total.denominator == 1 else float(total)


@takes(lambda schedule, ran: one_of("schedule", schedule, _orders(ran)))
def orders(schedule, ran=False):
    """The order of work on each rank under one of PyTorch's schedules.

    schedule  such as "1F1B" or "ZBVZeroBubble"
    ran       False: as the schedule prints it; True: as real ranks ran it
    returns   a list for each rank of (kind, microbatch, chunk), and the way of
              each microbatch: what `shardlab.pipeline.play` takes
    raises    ValueError for a schedule that is not stored
    source    chapter 19
    """
    ranks, parts = _orders(ran)[schedule]
    place = {
        part: (rank, chunk)
        for rank, held in enumerate(parts)
        for chunk, part in enumerate(held)
    }
    way = tuple(place[part] for part in sorted(place))
    tasks = [[_task(word, place) for word in rank] for rank in ranks]
    forwards = [kind for kind, *_ in tasks[0] if kind.startswith("forward")]
    return tasks, [way] * (len(forwards) // len(parts[0]))


def _orders(ran):
    """Schedule -> the words of each rank, and the model parts it holds."""
    found = stored()
    if ran:
        return {
            run["schedule"]: (
                [rank["order"] for rank in run["ranks"]],
                [[rank] for rank in range(len(run["ranks"]))],
            )
            for run in found["gloo"]["pipelines"]
        }
    return {
        run["schedule"]: (run["orders"], run["parts"])
        for run in found["pipelines"]
    }


def _task(word, place):
    """0F3 is the forward of microbatch 3 in model part 0; pairs run as one."""
    found = re.findall(r"(\d+)([FBIW])(\d+)", word)
    kinds = [KINDS[kind] for _, kind, _ in found]
    microbatches = tuple(int(i) for *_, i in found)
    chunks = tuple(place[int(part)][1] for part, *_ in found)
    if len(found) == 1:
        return kinds[0], microbatches[0], chunks[0]
    return "&".join(kinds), microbatches, chunks


def gathers_by_module():
    """AllGathers of weights that CommDebugMode saw in each linear's passes.

    returns  dict: (module, part) -> how many, of FSDP with tensor parallelism
    source   chapter 19
    """
    found = stored()["by_module"]
    modules = [name for name in found if "." in name]
    return {
        (name.split(".")[-1], part): found[name]
        .get(part, {})
        .get("_allgather_base_", 0)
        for name in sorted(modules)
        for part in ("forward", "backward")
    }
