"""FSDP and tensor parallelism: weights move over X, activations over Y."""

from jax import P
from jax.lax import all_gather, psum_scatter

from shardlab.strategies import adam
from shardlab.strategies.whole import whole

LAYOUT = {
    "In": P("X", "Y"),
    "W_in": P("X", "Y"),
    "W_out": P("Y", "X"),
    "dW_in": P("X", "Y"),
    "dW_out": P("Y", "X"),
    "loss": P(("X", "Y")),
}


def forward(In, W_in, W_out):
    """The block under FSDP and TP: 4BD/X bytes over Y and 4DF/Y over X.

    In       In[B_X, D_Y]
    W_in     W_in[D_X, F_Y]
    W_out    W_out[F_Y, D_X]
    returns  Out[B_X, D_Y], and In[B_X, D], Tmp[B_X, F_Y], W_in[D, F_Y],
             W_out[F_Y, D]
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    In = all_gather(In, "Y", axis=1, tiled=True)  # In[B_X, D]
    W_in = all_gather(W_in, "X", axis=0, tiled=True)  # W_in[D, F_Y]
    Tmp = In @ W_in  # Tmp[B_X, F_Y]
    W_out = all_gather(W_out, "X", axis=1, tiled=True)  # W_out[F_Y, D]
    Out = Tmp @ W_out  # Out[B_X, D] {U_Y}
    Out = psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    return Out, (In, Tmp, W_in, W_out)


def backward(dOut, In, Tmp, W_in, W_out):
    """The gradients under FSDP and TP: over Y 4BD/X bytes, over X 8DF/Y.

    dOut     dOut[B_X, D_Y], and Tmp[B_X, F_Y]
    In       In[B_X, D] kept since forward, or In[B_X, D_Y]: then 2BD/X more
    W_in     W_in[D_X, F_Y] and W_out[F_Y, D_X], or kept whole: 4DF/Y less
    returns  dIn[B_X, D_Y], dW_in[D_X, F_Y], dW_out[F_Y, D_X]
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)  # dOut[B_X, D]
    dW_out = Tmp.T @ dOut  # dW_out[F_Y, D] {U_X}
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    W_out = whole(W_out, "X", axis=1, size=dOut.shape[1])  # W_out[F_Y, D]
    dTmp = dOut @ W_out.T  # dTmp[B_X, F_Y]
    In = whole(In, "Y", axis=1, size=dOut.shape[1])  # In[B_X, D]
    dW_in = In.T @ dTmp  # dW_in[D, F_Y] {U_X}
    dW_in = psum_scatter(dW_in, "X", tiled=True)  # dW_in[D_X, F_Y]
    W_in = whole(W_in, "X", axis=0, size=dOut.shape[1])  # W_in[D, F_Y]
    dIn = dTmp @ W_in.T  # dIn[B_X, D] {U_Y}
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


update = adam.update
