"""FSDP and tensor parallelism: weights move over X, activations over Y."""

from jax import P
from jax.lax import all_gather, psum_scatter

from shardlab.strategies import adam

__all__ = ["LAYOUT", "backward", "forward"]

LAYOUT = {
    "In": P("X", "Y"),
    "W_in": P("X", "Y"),
    "W_out": P("Y", "X"),
    "dW_in": P("X", "Y"),
    "dW_out": P("Y", "X"),
    "loss": P(("X", "Y")),
}


def forward(In, W_in, W_out, kept=False, regather=False):
    """The block under FSDP and TP: 4BD/X bytes over Y and 4DF/Y over X.

    In       In[B_X, D_Y]
    W_in     W_in[D_X, F_Y]
    W_out    W_out[F_Y, D_X]
    kept     True: keep the whole weights for backward; False: let them go
    regather  True: keep In[B_X, D_Y] for backward; False: In[B_X, D]
    returns  Out[B_X, D_Y], and In, Tmp[B_X, F_Y], W_in, W_out for backward
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    whole_In = all_gather(In, "Y", axis=1, tiled=True)  # In[B_X, D]
    whole_W_in = all_gather(W_in, "X", axis=0, tiled=True)  # W_in[D, F_Y]
    Tmp = whole_In @ whole_W_in  # Tmp[B_X, F_Y]
    whole_W_out = all_gather(W_out, "X", axis=1, tiled=True)  # W_out[F_Y, D]
    Out = Tmp @ whole_W_out  # Out[B_X, D] {U_Y}
    Out = psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    In = In if regather else whole_In
    if kept:
        W_in, W_out = whole_W_in, whole_W_out
    return Out, (In, Tmp, W_in, W_out)


def backward(dOut, In, Tmp, W_in, W_out, kept=False, regather=False):
    """The gradients: 4BD/X bytes over Y (regather: 6), 8DF/Y over X (kept: 4).

    dOut, In, Tmp, W_in, W_out  dOut[B_X, D_Y], and what forward has stored
    returns  dIn[B_X, D_Y], dW_in[D_X, F_Y], dW_out[F_Y, D_X]
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)  # dOut[B_X, D]
    dW_out = Tmp.T @ dOut  # dW_out[F_Y, D] {U_X}
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    if not kept:
        W_out = all_gather(W_out, "X", axis=1, tiled=True)  # W_out[F_Y, D]
    dTmp = dOut @ W_out.T  # dTmp[B_X, F_Y]
    if regather:
        In = all_gather(In, "Y", axis=1, tiled=True)  # In[B_X, D]
    dW_in = In.T @ dTmp  # dW_in[D, F_Y] {U_X}
    dW_in = psum_scatter(dW_in, "X", tiled=True)  # dW_in[D_X, F_Y]
    if not kept:
        W_in = all_gather(W_in, "X", axis=0, tiled=True)  # W_in[D, F_Y]
    dIn = dTmp @ W_in.T  # dIn[B_X, D] {U_Y}
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


update = adam.update
