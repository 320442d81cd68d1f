"""Context parallelism by AllGather: every chip gets all keys and values."""

from jax.lax import all_gather, axis_index, psum_scatter

from shardlab.strategies import ring_attention
from shardlab.strategies.attention import attend, derivatives

__all__ = ["backward", "forward"]

LAYOUT = ring_attention.LAYOUT


def forward(Q, K, V):
    """Attention to gathered K and V.

    Q, K, V  Q[T_Z, G, R, d], K[T_Z, G, d], V[T_Z, G, d]
    returns  Out[T_Z, G, R, d], and Q, K, V, Out, lse
    source   Llama 3 paper
    """
    every_K = all_gather(K, "Z", axis=0, tiled=True)  # K[T, G, d]
    every_V = all_gather(V, "Z", axis=0, tiled=True)  # V[T, G, d]
    ahead = -axis_index("Z") * len(Q)
    Out, lse = attend(Q, every_K, every_V, ahead)
    return Out.astype(Q.dtype), (Q, K, V, Out, lse)


def backward(dOut, Q, K, V, Out, lse):
    """The gradients: K and V are gathered again, dK and dV scattered.

    dOut     dOut[T_Z, G, R, d]
    Q, K, V, Out, lse  as forward returned them
    returns  dQ[T_Z, G, R, d], dK[T_Z, G, d], dV[T_Z, G, d]
    source   Llama 3 paper
    """
    K = all_gather(K, "Z", axis=0, tiled=True)  # K[T, G, d]
    V = all_gather(V, "Z", axis=0, tiled=True)  # V[T, G, d]
    ahead = -axis_index("Z") * len(Q)
    grads = derivatives(dOut, Q, K, V, Out, lse, ahead)
    dQ, dK, dV = (g.astype(Q.dtype) for g in grads)  # dK, dV {U_Z}
    dK = psum_scatter(dK, "Z", scatter_dimension=0, tiled=True)
    dV = psum_scatter(dV, "Z", scatter_dimension=0, tiled=True)
    return dQ, dK, dV
