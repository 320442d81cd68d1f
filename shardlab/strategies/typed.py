"""The same strategies said in types: JAX derives the backward pass.

{R} is a gathered array that remembers its axis: its gradient is {U} over that
axis, so that the way back is a ReduceScatter. Without it, the gradient would
be AllReduced and then cut.
"""

import jax
import jax.numpy as jnp
from jax import P, reshard

__all__ = ["dp", "fsdp", "fsdp_tp", "gradients", "pods", "tp"]


def dp(In, W_in, W_out):
    """Data parallelism; JAX adds the gradients' AllReduce where it must.

    In       In[B_X, D], on a mesh with Explicit axes
    W_in     W_in[D, F]
    W_out    W_out[F, D]
    returns  Out[B_X, D]
    source   scaling-book part 5, data parallelism
    """
    return In @ W_in @ W_out


def fsdp(In, W_in, W_out):
    """FSDP: two gathers forward, whose transposes are two scatters.

    In       In[B_X, D], on a mesh with Explicit axes
    W_in     W_in[D_X, F]
    W_out    W_out[F, D_X]
    returns  Out[B_X, D]
    source   scaling-book part 5, FSDP
    """
    W_in = reshard(W_in, P(None, None, reduced={"X"}))  # W_in[D, F]
    W_out = reshard(W_out, P(None, None, reduced={"X"}))  # W_out[F, D]
    return In @ W_in @ W_out


def tp(In, W_in, W_out):
    """Tensor parallelism: gather In, and scatter Out while it is {U_Y}.

    In       In[B, D_Y], on a mesh with Explicit axes
    W_in     W_in[D, F_Y]
    W_out    W_out[F_Y, D]
    returns  Out[B, D_Y]
    source   scaling-book part 5, tensor parallelism
    """
    In = reshard(In, P(None, None, reduced={"Y"}))  # In[B, D]
    waiting = P(None, None, unreduced={"Y"})  # Out[B, D] {U_Y}
    Out = jnp.matmul(In @ W_in, W_out, out_sharding=waiting)
    return reshard(Out, P(None, "Y"))


def fsdp_tp(In, W_in, W_out):
    """FSDP and tensor parallelism: the same lines, each over its own axis.

    In       In[B_X, D_Y], on a mesh with Explicit axes
    W_in     W_in[D_X, F_Y]
    W_out    W_out[F_Y, D_X]
    returns  Out[B_X, D_Y]
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    In = reshard(In, P("X", None, reduced={"Y"}))  # In[B_X, D]
    W_in = reshard(W_in, P(None, "Y", reduced={"X"}))  # W_in[D, F_Y]
    W_out = reshard(W_out, P("Y", None, reduced={"X"}))  # W_out[F_Y, D]
    waiting = P("X", None, unreduced={"Y"})  # Out[B_X, D] {U_Y}
    Out = jnp.matmul(In @ W_in, W_out, out_sharding=waiting)
    return reshard(Out, P("X", "Y"))


def pods(In, W_in, W_out):
    """FSDP inside each pod, and data parallelism across pods, over P.

    In       In[B_PX, D], on a mesh with Explicit axes
    W_in     W_in[D_X, F], in every pod
    W_out    W_out[F, D_X], in every pod
    returns  Out[B_PX, D]
    source   scaling-book part 5, scaling across pods
    """
    W_in = reshard(W_in, P("X", None, reduced={"P"}))  # nothing moves yet
    W_in = reshard(W_in, P(None, None, reduced={"P", "X"}))  # W_in[D, F]
    W_out = reshard(W_out, P(None, "X", reduced={"P"}))
    W_out = reshard(W_out, P(None, None, reduced={"P", "X"}))  # W_out[F, D]
    return In @ W_in @ W_out


def gradients(block, regather=False):
    """Both passes of a typed block, the second one derived by JAX.

    block     a function of In, W_in and W_out in this module
    regather  save the products only, and gather again on the way back
    returns   a function of In, Target, W_in, W_out that gives Out, dIn,
              dW_in and dW_out of half the squared distance to Target
    source    chapter 5
    """
    if regather:
        policy = jax.checkpoint_policies.dots_saveable
        block = jax.checkpoint(block, policy=policy)

    def passes(In, Target, W_in, W_out):
        Out, back = jax.vjp(block, In, W_in, W_out)
        return Out, *back(Out - Target)

    return passes
