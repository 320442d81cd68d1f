"""The strategies of chapters 6 to 9 as a PyTorch user writes them.

Each takes a model and a mesh, and returns the model that is trained. The book
adds gradients where PyTorch takes their mean, so each says so.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import (
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
)
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    """The two-matmul block: In[B, D] to Out[B, D] through Tmp[B, F]."""

    def __init__(self, D, F, dtype):
        super().__init__()
        self.W_in = nn.Linear(D, F, bias=False, dtype=dtype)
        self.W_out = nn.Linear(F, D, bias=False, dtype=dtype)

    def forward(self, In):
        return self.W_out(self.W_in(In))


class NormedBlock(Block):
    """The same behind a norm, with a residual beside it."""

    def __init__(self, D, F, dtype):
        super().__init__(D, F, dtype)
        self.norm = nn.RMSNorm(D, eps=1e-6, dtype=dtype)

    def forward(self, In):
        return In + super().forward(self.norm(In))


def add(group, bucket):
    """A hook for DDP that adds gradients instead of taking their mean."""
    dist.all_reduce(bucket.buffer(), group=group)
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


def dp(model, mesh):
    """Data parallelism: DDP over X, whose hook adds."""
    group = mesh["X"].get_group()
    model = DistributedDataParallel(model, process_group=group)
    model.register_comm_hook(group, add)
    return model


def fsdp(model, mesh, kept=False):
    """FSDP2 over X; kept=True lets whole weights wait for backward."""
    options = {"mesh": mesh["X"], "reshard_after_forward": not kept}
    for part in (model.W_in, model.W_out, model):
        fully_shard(part, **options)
    return summing(model)


def hsdp(model, mesh):
    """FSDP2 over X, in pods, and data parallelism over P, across them."""
    for part in (model.W_in, model.W_out, model):
        fully_shard(part, mesh=mesh["P", "X"], reshard_after_forward=True)
    return summing(model)


def fsdp_float32(model, mesh):
    """The same with bf16 weights and gradients summed in float32."""
    options = {"mesh": mesh["X"], "reshard_after_forward": True}
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    for part in (model.W_in, model.W_out, model):
        fully_shard(part, mp_policy=policy, **options)
    return summing(model)


def fsdp_as_it_comes(model, mesh):
    """FSDP2 in one call, with nothing said."""
    return summing(fully_shard(model, mesh=mesh["X"]))


def fsdp_without_root(model, mesh):
    """FSDP2 on each linear, and not on the block."""
    for part in (model.W_in, model.W_out):
        fully_shard(part, mesh=mesh["X"])
    return summing(model)


def summing(model):
    """FSDP that adds gradients; Gloo knows no other way to divide by 1."""
    for part in model.modules():
        if isinstance(part, FSDPModule):
            part.set_gradient_divide_factor(1)
            part.set_force_sum_reduction_for_comms(True)
    return model


def megatron(model, mesh):
    """Tensor parallelism over Y; In[B, D] and Out[B, D] are whole."""
    plan = {"W_in": ColwiseParallel(), "W_out": RowwiseParallel()}
    return parallelize_module(model, mesh["Y"], plan)


def tp(model, mesh):
    """Tensor parallelism over Y; In[B, D_Y] and Out[B, D_Y]."""
    plan = {
        "W_in": ColwiseParallel(input_layouts=Shard(1)),
        "W_out": RowwiseParallel(output_layouts=Shard(1)),
    }
    return parallelize_module(model, mesh["Y"], plan)


def sequence(model, mesh):
    """Sequence parallelism over Y; In[B_Y, D] and Out[B_Y, D]."""
    plan = {
        "norm": SequenceParallel(sequence_dim=0),
        "W_in": ColwiseParallel(input_layouts=Shard(0)),
        "W_out": RowwiseParallel(output_layouts=Shard(0)),
    }
    return parallelize_module(model, mesh["Y"], plan)


def fsdp_tp(model, mesh):
    """FSDP2 over X of what TP has cut over Y."""
    return fsdp(tp(model, mesh), mesh)


def fsdp_sequence(model, mesh):
    """FSDP2 over X of what sequence parallelism has cut over Y."""
    return fsdp(sequence(model, mesh), mesh)


def by_layout(model, mesh):
    """Weights as DTensors that are whole on every rank of X."""
    for part in (model.W_in, model.W_out):
        whole = distribute_tensor(
            part.weight, mesh["X"], [Replicate()], src_data_rank=None
        )
        part.weight = nn.Parameter(whole)
    return model
