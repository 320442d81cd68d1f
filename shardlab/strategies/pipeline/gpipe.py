"""GPipe: each chip is a stage; microbatches go forward, then all come back.

All arrays of a batch have a leading dimension of stages: In lies on the first
stage, Target on the last, and the other pieces are zero.
"""

import jax.numpy as jnp
from jax import P
from jax.lax import axis_index, axis_size, ppermute

from shardlab.strategies import one_chip

__all__ = ["backward", "busy", "forward", "send"]

LAYOUT = dict.fromkeys(("In", "W_in", "W_out", "Out", "loss"), P("Z"))


def busy(tick, m):
    """The stages that work on a microbatch in a tick of the forward pass.

    tick     from 0 to m + p - 2
    m        microbatches
    returns  list of stages
    source   GPipe paper
    """
    p = axis_size("Z")
    return [stage for stage in range(p) if 0 <= tick - stage < m]


def send(x, stages, step):
    """What the neighbour sent: only these stages send, and nobody wraps round.

    x        an activation or a gradient, x[B/m, D]
    stages   who sends
    step     1 to the next stage, -1 to the one before
    returns  x[B/m, D] from the neighbour; zero where nothing came
    source   GPipe paper
    """
    p = axis_size("Z")
    pairs = [(s, s + step) for s in stages if 0 <= s + step < p]
    return ppermute(x, "Z", pairs) if pairs else jnp.zeros_like(x)


def forward(In, W_in, W_out):
    """The forward pass of all microbatches: BD elements over each boundary.

    In       In[1_Z, m, B/m, D]: the batch on stage 0
    W_in     W_in[1_Z, D, F], the block of this stage
    W_out    W_out[1_Z, F, D]
    returns  Out[1_Z, m, B/m, D], zero but on the last stage, and what backward
             needs: the inputs and products of each tick
    source   GPipe paper
    """
    In, m = In[0], In.shape[1]  # In[m, B/m, D]
    first, last = axis_index("Z") == 0, axis_index("Z") == axis_size("Z") - 1
    arrived, saved = jnp.zeros_like(In[0]), []
    for tick in range(m + axis_size("Z") - 1):
        x = jnp.where(first, In[min(tick, m - 1)], arrived)
        Out, kept = one_chip.forward(x, W_in[0], W_out[0])
        saved.append((Out, kept))
        arrived = send(Out, busy(tick, m), 1)
    Outs = jnp.stack([Out for Out, _ in saved[-m:]])
    return jnp.where(last, Outs, 0)[None], [kept for _, kept in saved]


def backward(dOut, *saved):
    """The backward pass, last microbatch first: BD elements again.

    dOut     dOut[1_Z, m, B/m, D], read on the last stage
    saved    as forward returned it
    returns  dIn[1_Z, m, B/m, D], zero but on stage 0; dW_in, dW_out
    source   GPipe paper
    """
    dOut, m = dOut[0], dOut.shape[1]  # dOut[m, B/m, D]
    first, last = axis_index("Z") == 0, axis_index("Z") == axis_size("Z") - 1
    arrived, dIns, sums = jnp.zeros_like(dOut[0]), [], []
    for tick in reversed(range(len(saved))):
        # An idle stage adds nothing: its input is zero, or its gradient is.
        dy = jnp.where(last, dOut[max(tick - len(saved) + m, 0)], arrived)
        dx, *dW = one_chip.backward(dy, *saved[tick])
        arrived = send(dx, busy(tick, m), -1)
        dIns, sums = [dx, *dIns], [*sums, dW]
    dIn = jnp.where(first, jnp.stack(dIns[:m]), 0)
    return dIn[None], *(sum(dWs)[None] for dWs in zip(*sums, strict=True))
