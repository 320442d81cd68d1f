"""The orders of PyTorch's pipeline schedules, as lists of words.

0F3 is the forward pass of microbatch 3 through model part 0, B the whole
backward pass, I the half of it for which the part before waits, W the other.
"""

import torch
from torch import nn
from torch.distributed.pipelining import PipelineStage, schedules

from bench.torch_counts.ledger import group

IN_A_V = ("ZBVZeroBubble", "DualPipeV")
PARTS = {  # model parts on a rank
    "GPipe": 1,
    "1F1B": 1,
    "Interleaved1F1B": 2,
    "InterleavedZeroBubble": 2,
    "ZBVZeroBubble": 2,
    "DualPipeV": 2,
}


def parts_of_rank(name, rank, p):
    """The model parts that a rank holds, in order.

    name     a key of PARTS
    rank     of p
    returns  list of int
    """
    if name in IN_A_V:
        return [rank, 2 * p - 1 - rank]
    return [rank + p * chunk for chunk in range(PARTS[name])]


def schedule(name, rank, p, m, mesh):
    """One of PyTorch's schedules, on modules that are never run.

    name     a key of PARTS
    rank, p  this rank, and how many there are
    m        microbatches
    mesh     DeviceMesh with the axis Z
    returns  an object of torch.distributed.pipelining.schedules
    """
    like = torch.zeros(1, 1)
    parts = parts_of_rank(name, rank, p)
    stages = [
        PipelineStage(
            nn.Linear(1, 1),
            part,
            p * PARTS[name],
            torch.device("cpu"),
            input_args=(like,),
            output_args=like,
            group=mesh.get_group("Z"),
        )
        for part in parts
    ]
    kind = schedules.get_schedule_class(name)
    single = issubclass(kind, schedules.PipelineScheduleSingle)
    return kind(stages[0] if single else stages, m, loss_fn=nn.MSELoss())


def order(name, p, m):
    """What each rank does in which order, without its idle ticks.

    name     a key of PARTS
    p, m     ranks, microbatches
    returns  dict of plain data; "orders", for each rank a list of words
    """
    with group({"Z": p}) as mesh:
        orders = schedule(name, 0, p, m, mesh).pipeline_order
    return {
        "schedule": name,
        "p": p,
        "m": m,
        "parts": [parts_of_rank(name, rank, p) for rank in range(p)],
        "orders": [
            [
                f"{one}"
                for one in orders[rank]
                if one and "REDUCE" not in f"{one}"
            ]
            for rank in range(p)
        ],
    }
