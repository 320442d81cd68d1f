"""Expert parallelism: tokens travel to the chips of the experts they chose.

The tokens of a chip are a group: of each group, an expert takes at most C
tokens, first choices first and then in their order; it drops the others.
"""

import jax
import jax.numpy as jnp
from jax import P
from jax.lax import all_to_all, psum, top_k

__all__ = ["LAYOUT", "backward", "forward", "route"]

LAYOUT = {
    "In": P("Z", None),
    "W_router": P(None, None),
    "W_in": P("Z", None, None),
    "W_out": P("Z", None, None),
    "Out": P("Z", None),
    "loss": P("Z"),
}


def route(In, W_router, C, k):
    """How much a token likes each expert, and which slot it takes there.

    In       In[B, D], the tokens of a group
    W_router  W_router[D, E]
    C, k     slots of an expert for this group; experts that a token chooses
    returns  chances[B, E] in float32, and places[B, E, C], 1 where it goes
    source   GShard paper; Switch Transformer paper
    """
    chances = jax.nn.softmax((In @ W_router).astype("float32"))  # [B, E]
    _, experts = top_k(chances, k)  # [B, k], best first
    choices = jax.nn.one_hot(experts.T, W_router.shape[1], dtype="int32")
    queue = choices.reshape(-1, choices.shape[2])  # [k B, E], first choices
    slot = jnp.cumsum(queue, axis=0) * queue - 1  # -1: not chosen
    places = jax.nn.one_hot(slot.reshape(choices.shape), C)  # zero beyond C
    return chances, places.sum(0).astype(In.dtype)


def forward(In, W_router, W_in, W_out, C=1, k=1):
    """The block of each expert on the tokens that chose it: two AllToAlls.

    In       In[B_Z, D]
    W_router  W_router[D, E]; W_in[E_Z, D, F] and W_out[E_Z, F, D]
    C, k     as in `route`
    returns  Out[B_Z, D], zero where dropped, and what `backward` needs
    source   GShard paper
    """
    chances, places = route(In, W_router, C, k)
    weights = (chances[..., None] * places).astype(In.dtype)  # [B, E, C]
    Sent = jnp.einsum("bec,bd->ecd", places, In)  # [E, C, D] of this group
    Slots = all_to_all(Sent, "Z", 0, 1, tiled=True)  # [E_Z, C groups, D]
    Tmp = Slots @ W_in  # [E_Z, C groups, F], a batch of matmuls, one an expert
    Made = all_to_all(Tmp @ W_out, "Z", 1, 0, tiled=True)  # [E, C, D]
    Out = jnp.einsum("bec,ecd->bd", weights, Made)
    routed = chances, places, weights
    return Out, (In, W_router, W_in, W_out, *routed, Slots, Tmp, Made)


def backward(
    dOut, In, W_router, W_in, W_out, chances, places, weights, Slots, Tmp, Made
):
    """The gradients: an AllToAll's way back is an AllToAll.

    dOut     dOut[B_Z, D]
    In, W_router, W_in, W_out, chances, places, weights, Slots, Tmp, Made
             as forward returned them
    returns  dIn[B_Z, D], dW_router[D, E], dW_in[E_Z, D, F], dW_out[E_Z, F, D]
    source   GShard paper
    """
    dMade = jnp.einsum("bec,bd->ecd", weights, dOut)  # [E, C, D]
    dMade = all_to_all(dMade, "Z", 0, 1, tiled=True)  # [E_Z, C groups, D]
    dW_out = jnp.einsum("ecf,ecd->efd", Tmp, dMade)
    dTmp = jnp.einsum("ecd,efd->ecf", dMade, W_out)
    dW_in = jnp.einsum("ecd,ecf->edf", Slots, dTmp)
    dSlots = jnp.einsum("ecf,edf->ecd", dTmp, W_in)  # [E_Z, C groups, D]
    dSent = all_to_all(dSlots, "Z", 1, 0, tiled=True)  # [E, C, D]
    dIn = jnp.einsum("bec,ecd->bd", places, dSent)

    # The router learns by the chance with which each result was weighted.
    dchances = jnp.einsum("bd,ecd,bec->be", dOut, Made, places)
    mean = (chances * dchances).sum(axis=1, keepdims=True)
    dlogits = (chances * (dchances - mean)).astype(In.dtype)  # of the softmax
    dW_router = psum(In.T @ dlogits, "Z")
    return dIn + dlogits @ W_router.T, dW_router, dW_in, dW_out
