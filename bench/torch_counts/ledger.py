"""A count of bytes: every collective that PyTorch dispatches, written down."""

from collections import Counter
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

SPACES = ("c10d", "_c10d_functional", "_c10d_functional_autograd")
# Waiting, receiving and wrapping move nothing that was not counted as sent.
QUIET = ("wait_tensor", "recv_", "_wrap_tensor_autograd", "barrier")


class Record(NamedTuple):
    """One collective, as each member of its group executes it.

    part     forward, backward or update
    kind     all_gather, reduce_scatter, all_reduce, all_to_all, permute or
             broadcast
    axis     name of the mesh axis whose ranks take part
    ranks    how many they are
    dtype    what is moved, such as bfloat16
    V        bytes of the whole array of the group: after a gather, before a
             scatter or a sum; of a permute or a broadcast, the message
    source   chapter 19
    """

    part: str
    kind: str
    axis: str
    ranks: int
    dtype: str
    V: int


class Ledger(TorchDispatchMode):
    """While it is entered, it writes down each collective that is called.

    axes     dict: name of a process group -> name of its mesh axis
    source   chapter 19
    """

    def __init__(self, axes):
        super().__init__()
        self.axes, self.part, self.records = axes, "forward", []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if DTensor in types:  # it calls again, with plain tensors
            return NotImplemented
        out = func(*args, **(kwargs or {}))
        space, _, name = func._schema.name.partition("::")
        if space in SPACES and name not in QUIET:
            kind, group, like, times = READERS[name](args, out)
            self.records.append(
                Record(
                    self.part,
                    kind,
                    self.axes[group.group_name],
                    group.size(),
                    str(like[0].dtype).removeprefix("torch."),
                    times * sum(one.nbytes for one in like),
                )
            )
        return out

    def begin(self, part):
        """From here on what is called belongs to another part of the step."""
        self.part = part

    def stored(self):
        """The records as plain data, equal ones together.

        returns  list of dicts: the fields of Record, and "times"
        """
        counted = Counter(self.records)
        return [one._asdict() | {"times": n} for one, n in counted.items()]


def exchanged(args, out):
    """An AllToAll, or a permute if each rank has one partner."""
    array, _, splits, name = args
    group = dist.distributed_c10d._resolve_process_group(name)
    if splits and sum(map(bool, splits)) == 1:
        return "permute", group, [array], 1
    return "all_to_all", group, [array], group.size()


def functional(kind, after=False):
    """How a functional collective is read; its group is the last argument."""

    def read(args, out):
        group = dist.distributed_c10d._resolve_process_group(args[-1])
        return kind, group, [out if after else args[0]], 1

    return read


def in_place(kind, array, group):
    """How a collective that fills buffers is read, by argument's place."""

    def read(args, out):
        moved = args[array]
        moved = moved if isinstance(moved, list | tuple) else [moved]
        return kind, dist.ProcessGroup.unbox(args[group]), moved, 1

    return read


READERS = {
    "all_gather_into_tensor": functional("all_gather", after=True),
    "reduce_scatter_tensor": functional("reduce_scatter"),
    "all_reduce": functional("all_reduce"),
    "all_to_all_single": exchanged,
    "_allgather_base_": in_place("all_gather", 0, 2),
    "_reduce_scatter_base_": in_place("reduce_scatter", 1, 2),
    "allreduce_": in_place("all_reduce", 0, 1),
    "broadcast_": in_place("broadcast", 0, 1),
    "send": in_place("permute", 0, 1),
}


@contextmanager
def group(mesh):
    """One rank, number 0, of a fake process group, and its mesh.

    mesh     dict: axis -> ranks, such as {"X": 512, "Y": 8}
    yields   torch.distributed.DeviceMesh
    """
    dist.init_process_group(
        "fake", rank=0, world_size=prod(mesh.values()), store=FakeStore()
    )
    try:
        yield dist.init_device_mesh(
            "cpu", tuple(mesh.values()), mesh_dim_names=tuple(mesh)
        )
    finally:
        dist.destroy_process_group()


def names(mesh):
    """The axis of each process group of a mesh, by the group's name."""
    return {
        mesh.get_group(axis).group_name: axis for axis in mesh.mesh_dim_names
    }
