"""A training step under any of the programs: passes, then the optimiser."""

from typing import NamedTuple

import torch
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Replicate, Shard

from bench.torch_counts import programs


class Adam(torch.optim.Optimizer):
    """Adam without its bias correction, as shardlab.strategies.adam has it."""

    def __init__(self, params, lr=1e-3):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for each in self.param_groups:
            for W in each["params"]:
                if W.grad is not None:
                    self.update(W, each["lr"])

    def update(self, W, rate):
        state, dW = self.state[W], W.grad.float()
        m = 0.1 * dW + 0.9 * state.get("m", 0)
        v = 0.001 * dW**2 + 0.999 * state.get("v", 0)
        state["m"], state["v"] = m, v
        W -= (rate * m / (v.sqrt() + 1e-8)).to(W.dtype)


def own(model, mesh):
    """Every rank updates what it holds."""
    return Adam(model.parameters())


def own_of_torch(model, mesh):
    """The same with PyTorch's Adam."""
    return torch.optim.Adam(model.parameters(), lr=1e-3)


def zero1(model, mesh):
    """ZeRO-1 of PyTorch: whole parameters are dealt out to ranks."""
    return ZeroRedundancyOptimizer(
        model.parameters(), Adam, mesh["X"].get_group(), lr=1e-3
    )


class ByLayout:
    """ZeRO-1 in DTensor: a gradient is scattered, new weights gathered."""

    def __init__(self, model, mesh):
        self.weights = list(model.parameters())
        self.pieces = [
            W.detach().redistribute(placements=[Shard(0)]) for W in self.weights
        ]
        self.adam = Adam(self.pieces)

    def zero_grad(self):
        """Gradients begin anew."""
        for W in self.weights:
            W.grad = None

    def step(self):
        """Scatter, update this rank's pieces, gather."""
        for piece, W in zip(self.pieces, self.weights, strict=True):
            piece.grad = W.grad.redistribute(placements=[Shard(0)])
        self.adam.step()
        for piece, W in zip(self.pieces, self.weights, strict=True):
            whole = piece.redistribute(placements=[Replicate()])
            W.data.to_local().copy_(whole.to_local())


class Program(NamedTuple):
    """A strategy: how a model is cut, who updates it, and what lies where.

    apply      function of a model and a mesh that gives the model to train
    axes       the mesh axes that it names
    optimiser  function of the model and the mesh
    model      class of the model
    cut        which dimension of In and Target each axis cuts
    distributed  True: In comes as a DTensor
    """

    apply: object
    axes: str = "X"
    optimiser: object = own
    model: type = programs.Block
    cut: tuple = ((0, "X"),)
    distributed: bool = False


def _kept(model, mesh):
    return programs.fsdp(model, mesh, kept=True)


WIDTH = ((0, "X"), (1, "Y"))  # In[B_X, D_Y]
TOKENS = ((0, "X"), (0, "Y"))  # In[B_XY, D]
NORMED = {"model": programs.NormedBlock, "cut": TOKENS}
PROGRAMS = {
    "dp": Program(programs.dp),
    "zero1": Program(programs.dp, optimiser=zero1),
    "zero1, by layout": Program(
        programs.by_layout, optimiser=ByLayout, distributed=True
    ),
    "fsdp": Program(programs.fsdp),
    "fsdp, weights kept": Program(_kept),
    "fsdp, as it comes": Program(programs.fsdp_as_it_comes),
    "fsdp, no root": Program(programs.fsdp_without_root),
    "fsdp, float32 sums": Program(programs.fsdp_float32),
    "hsdp": Program(programs.hsdp, "PX", cut=((0, "P"), (0, "X"))),
    "megatron": Program(programs.megatron, "Y", cut=()),
    "tp": Program(programs.tp, "Y", cut=WIDTH),
    "sequence": Program(
        programs.sequence, "Y", optimiser=own_of_torch, **NORMED
    ),
    "fsdp_tp": Program(programs.fsdp_tp, "XY", cut=WIDTH),
    "fsdp and sequence": Program(programs.fsdp_sequence, "XY", **NORMED),
}


def whole_loss(Out, Target):
    """Half the squared distance, over the values that are here.

    Out, Target  tensors of one shape
    returns      the loss in float32
    """
    return ((Out - Target).float() ** 2).sum() / 2


def here(program, mesh, array):
    """This rank's piece of an array that all know, as the program cuts it."""
    for dimension, axis in program.cut:
        if axis in mesh.mesh_dim_names:
            place = mesh.get_local_rank(axis)
            parts = mesh[axis].size()
            array = array.chunk(parts, dimension)[place]
    return array.contiguous()


def begin(program, mesh, model):
    """The model and its optimiser, laid out.

    program  a Program; mesh, a DeviceMesh with its axes
    model    of the program's class
    returns  the model that is trained, and its optimiser
    """
    model = program.apply(model, mesh)
    return model, program.optimiser(model, mesh)


def quiet(part):
    """Nobody listens."""


def step(program, mesh, model, optimiser, In, Target, begins=quiet):
    """Forward pass, loss, backward pass, update.

    program, mesh     as of `begin`
    model, optimiser  as it returned them
    In, Target        this rank's pieces
    begins            is told when each part begins, by its name
    returns           this rank's part of the loss, a tensor
    """
    begins("forward")
    optimiser.zero_grad()
    if program.distributed:
        In, Target = (
            DTensor.from_local(one, mesh["X"], [Shard(0)])
            for one in (In, Target)
        )
    loss = whole_loss(model(In), Target)
    begins("backward")
    loss.backward()
    begins("update")
    optimiser.step()
    return loss.to_local() if program.distributed else loss.detach()
