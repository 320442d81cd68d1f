"""Causal attention on one chip, whole or as a block of a longer sequence.

Q[T, G, R, d] holds T queries in G groups of R heads of d elements; a group
shares one head of K[S, G, d] and of V[S, G, d]. With R = 1 each head has its
own keys. S keys begin `ahead` tokens after the first query.
"""

import jax.numpy as jnp
from jax import P
from jax.scipy.special import logsumexp

__all__ = ["attend", "backward", "derivatives", "forward", "scores"]

LAYOUT = dict.fromkeys(("Q", "K", "V", "Out"), P()) | {"loss": P(None)}


def scores(Q, K, ahead):
    """How well each query matches each key: QK/sqrt(d), nothing of the future.

    Q, K     Q[T, G, R, d], K[S, G, d]
    ahead    tokens from the first query to the first key; may be negative
    returns  scores[G, R, T, S] in float32
    source   Attention Is All You Need; chapter 13
    """
    T, S, d = Q.shape[0], K.shape[0], Q.shape[-1]
    QK = jnp.einsum("tgrd,sgd->grts", Q, K, preferred_element_type="float32")
    past = jnp.arange(S) + ahead <= jnp.arange(T)[:, None]
    # Not -inf: a block may hold no key of the past, and must not give NaN.
    # Its lse is then about -1e30, and `merge` gives it the weight exp(-1e30).
    return jnp.where(past, QK / d**0.5, -1e30)


def attend(Q, K, V, ahead=0):
    """Attention of queries to some keys, and what makes it mergeable.

    Q, K, V  Q[T, G, R, d], K[S, G, d], V[S, G, d]
    ahead    as in `scores`
    returns  Out[T, G, R, d] and the log of each sum of exp, lse[G, R, T], both
             in float32
    source   FlashAttention paper; chapter 13
    """
    S = scores(Q, K, ahead)
    lse = logsumexp(S, axis=-1)
    weights = jnp.exp(S - lse[..., None])
    return jnp.einsum("grts,sgd->tgrd", weights, V.astype("float32")), lse


def derivatives(dOut, Q, K, V, Out, lse, ahead=0):
    """The gradients of queries and of some keys: weights are made again.

    dOut     gradient dOut[T, G, R, d]
    Q, K, V  as in `attend`, and Out and lse over all keys, not these alone
    ahead    as in `scores`
    returns  dQ[T, G, R, d], dK[S, G, d], dV[S, G, d] in float32
    source   FlashAttention paper; chapter 13
    """
    Q, K, V, dOut = (x.astype("float32") for x in (Q, K, V, dOut))
    weights = jnp.exp(scores(Q, K, ahead) - lse[..., None])
    dV = jnp.einsum("grts,tgrd->sgd", weights, dOut)
    dWeights = jnp.einsum("tgrd,sgd->grts", dOut, V)
    mean = jnp.einsum("tgrd,tgrd->grt", dOut, Out)[..., None]
    dS = weights * (dWeights - mean) / Q.shape[-1] ** 0.5
    dQ = jnp.einsum("grts,sgd->tgrd", dS, K)
    dK = jnp.einsum("grts,tgrd->sgd", dS, Q)
    return dQ, dK, dV


def forward(Q, K, V):
    """Attention on one chip: no communication.

    Q, K, V  Q[T, G, R, d], K[T, G, d], V[T, G, d]
    returns  Out[T, G, R, d], and Q, K, V, Out, lse for the way back
    source   Attention Is All You Need
    """
    Out, lse = attend(Q, K, V)
    return Out.astype(Q.dtype), (Q, K, V, Out, lse)


def backward(dOut, Q, K, V, Out, lse):
    """The gradients on one chip: no communication.

    dOut     dOut[T, G, R, d]
    Q, K, V, Out, lse  as forward returned them
    returns  dQ[T, G, R, d], dK[T, G, d], dV[T, G, d]
    source   FlashAttention paper
    """
    grads = derivatives(dOut, Q, K, V, Out, lse)
    return tuple(g.astype(Q.dtype) for g in grads)
