"""FSDP, also called ZeRO-3: weights are cut too, and gathered just in time."""

from jax import P
from jax.lax import all_gather, psum_scatter

from shardlab.strategies import adam
from shardlab.strategies.whole import whole

LAYOUT = {
    "In": P("X", None),
    "W_in": P("X", None),
    "W_out": P(None, "X"),
    "dW_in": P("X", None),
    "dW_out": P(None, "X"),
    "loss": P("X"),
}


def forward(In, W_in, W_out):
    """The block under FSDP: each W is gathered for its product, 4DF bytes.

    In       In[B_X, D]
    W_in     W_in[D_X, F]
    W_out    W_out[F, D_X]
    returns  Out[B_X, D], and In, Tmp[B_X, F], W_in[D, F], W_out[F, D]
    source   scaling-book part 5, FSDP
    """
    W_in = all_gather(W_in, "X", axis=0, tiled=True)  # W_in[D, F]
    Tmp = In @ W_in  # Tmp[B_X, F]
    W_out = all_gather(W_out, "X", axis=1, tiled=True)  # W_out[F, D]
    Out = Tmp @ W_out  # Out[B_X, D]
    return Out, (In, Tmp, W_in, W_out)


def backward(dOut, In, Tmp, W_in, W_out):
    """The gradients under FSDP: each W is gathered, each dW scattered, 8DF.

    dOut     dOut[B_X, D]
    In       In[B_X, D]; Tmp[B_X, F]
    W_in     W_in[D_X, F], or W_in[D, F] kept since forward: then 2DF less
    W_out    W_out[F, D_X], or W_out[F, D] kept: then 2DF less
    returns  dIn[B_X, D], dW_in[D_X, F], dW_out[F, D_X]
    source   scaling-book part 5, FSDP
    """
    dW_out = Tmp.T @ dOut  # dW_out[F, D] {U_X}
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    W_out = whole(W_out, "X", axis=1, size=dOut.shape[1])  # W_out[F, D]
    dTmp = dOut @ W_out.T  # dTmp[B_X, F]
    dW_in = In.T @ dTmp  # dW_in[D, F] {U_X}
    dW_in = psum_scatter(dW_in, "X", tiled=True)  # dW_in[D_X, F]
    W_in = whole(W_in, "X", axis=0, size=In.shape[1])  # W_in[D, F]
    dIn = dTmp @ W_in.T  # dIn[B_X, D]
    return dIn, dW_in, dW_out


update = adam.update  # each chip its own piece, and no other has it
