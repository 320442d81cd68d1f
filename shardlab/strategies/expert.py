"""Expert parallelism: tokens travel to the chips of the experts they chose.

The tokens of a chip are a group: of each group, an expert takes at most C
tokens, first choices first and then in their order; it drops the others.
"""

import jax
import jax.numpy as jnp
from jax import P
from jax.lax import all_to_all, top_k

LAYOUT = {
    "In": P("Z", None),
    "W_router": P(None, None),
    "W_in": P("Z", None, None),
    "W_out": P("Z", None, None),
    "Out": P("Z", None),
    "loss": P("Z"),
}


def route(In, W_router, C, k):
    """Which slot of which expert each token takes, and its weight there.

    In       In[B, D], the tokens of a group
    W_router  W_router[D, E]
    C, k     slots of an expert for this group; experts that a token chooses
    returns  places[B, E, C], 1 where a token goes, and weights[B, E, C]
    source   GShard paper; Switch Transformer paper
    """
    chances = jax.nn.softmax((In @ W_router).astype("float32"))  # [B, E]
    chances, experts = top_k(chances, k)  # [B, k], best first
    chosen = jax.nn.one_hot(experts.T, W_router.shape[1], dtype="int32")
    queue = chosen.reshape(-1, chosen.shape[2])  # [k B, E], first choices first
    slot = jnp.cumsum(queue, axis=0) * queue - 1  # -1: not chosen
    taken = jax.nn.one_hot(slot.reshape(chosen.shape), C)  # zero beyond C
    weights = jnp.einsum("kbec,bk->bec", taken, chances)
    return taken.sum(0).astype(In.dtype), weights.astype(In.dtype)


def forward(In, W_router, W_in, W_out, C=1, k=1):
    """The block of each expert on the tokens that chose it: two AllToAlls.

    In       In[B_Z, D]
    W_router  W_router[D, E]; W_in[E_Z, D, F] and W_out[E_Z, F, D]
    C, k     as in `route`
    returns  Out[B_Z, D], zero where dropped, and what `backward` needs
    source   GShard paper
    """

    def layer(In, W_router, W_in, W_out):
        places, weights = route(In, W_router, C, k)
        slots = jnp.einsum("bec,bd->ecd", places, In)  # [E, C, D] of a group
        slots = all_to_all(slots, "Z", 0, 1, tiled=True)  # [E_Z, C groups, D]
        slots = slots @ W_in @ W_out  # a batch of matmuls, one an expert
        slots = all_to_all(slots, "Z", 1, 0, tiled=True)  # [E, C, D]
        return jnp.einsum("bec,ecd->bd", weights, slots)

    Out, back = jax.vjp(layer, In, W_router, W_in, W_out)
    return Out, (back,)


def backward(dOut, back):
    """The gradients, by JAX: an AllToAll's way back is an AllToAll.

    dOut     dOut[B_Z, D]
    back     as forward returned it; sums dW_router over the chips as well
    returns  dIn[B_Z, D], dW_router[D, E], dW_in[E_Z, D, F], dW_out[E_Z, F, D]
    source   GShard paper
    """
    return back(dOut)
