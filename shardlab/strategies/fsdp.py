"""FSDP, also called ZeRO-3: weights are cut too, and gathered just in time."""

from jax import P
from jax.lax import all_gather, psum_scatter

from shardlab.strategies import adam

__all__ = ["backward", "forward"]

LAYOUT = {
    "In": P("X", None),
    "W_in": P("X", None),
    "W_out": P(None, "X"),
    "dW_in": P("X", None),
    "dW_out": P(None, "X"),
    "loss": P("X"),
}


def forward(In, W_in, W_out, kept=False):
    """The block under FSDP: each W is gathered for its product, 4DF bytes.

    In       In[B_X, D]
    W_in     W_in[D_X, F]; W_out[F, D_X]
    kept     True: keep the whole weights for backward; False: let them go
    returns  Out[B_X, D], and In, Tmp[B_X, F], W_in, W_out for backward
    source   scaling-book part 5, FSDP
    """
    whole_W_in = all_gather(W_in, "X", axis=0, tiled=True)  # W_in[D, F]
    Tmp = In @ whole_W_in  # Tmp[B_X, F]
    whole_W_out = all_gather(W_out, "X", axis=1, tiled=True)  # W_out[F, D]
    Out = Tmp @ whole_W_out  # Out[B_X, D]
    if kept:
        W_in, W_out = whole_W_in, whole_W_out
    return Out, (In, Tmp, W_in, W_out)


def backward(dOut, In, Tmp, W_in, W_out, kept=False):
    """The gradients under FSDP: each W is gathered, each dW scattered, 8DF.

    dOut     dOut[B_X, D]
    In       In[B_X, D]; Tmp[B_X, F]
    W_in     W_in[D_X, F]; if kept, W_in[D, F]
    W_out    W_out[F, D_X]; if kept, W_out[F, D]
    kept     True: forward has kept the whole weights: 4DF bytes less
    returns  dIn[B_X, D], dW_in[D_X, F], dW_out[F, D_X]
    source   scaling-book part 5, FSDP
    """
    dW_out = Tmp.T @ dOut  # dW_out[F, D] {U_X}
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    if not kept:
        W_out = all_gather(W_out, "X", axis=1, tiled=True)  # W_out[F, D]
    dTmp = dOut @ W_out.T  # dTmp[B_X, F]
    dW_in = In.T @ dTmp  # dW_in[D, F] {U_X}
    dW_in = psum_scatter(dW_in, "X", tiled=True)  # dW_in[D_X, F]
    if not kept:
        W_in = all_gather(W_in, "X", axis=0, tiled=True)  # W_in[D, F]
    dIn = dTmp @ W_in.T  # dIn[B_X, D]
    return dIn, dW_in, dW_out


update = adam.update  # each chip its own piece, and no other has it
