"""Expert parallelism without slots: each expert takes all that come.

Visits are sorted by expert, and `ragged_dot` multiplies each run of rows with
the matrix of its expert. For the way there and back, `padded` sends each chip
as many rows as it could ever get, most of them empty; `ragged` sends just the
rows that there are, where XLA can: on TPUs and GPUs, and not on CPUs.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.lax import all_to_all, axis_size, ragged_all_to_all, ragged_dot, top_k

from shardlab.strategies import expert as slots

__all__ = ["LAYOUT", "forward", "send_padded", "send_ragged", "work"]

LAYOUT = {name: axes for name, axes in slots.LAYOUT.items() if name != "loss"}


def forward(In, W_router, W_in, W_out, k=1, ragged=False):
    """The block of each expert on all tokens that chose it.

    In       In[B_Z, D]
    W_router  W_router[D, E]; W_in[E_Z, D, F] and W_out[E_Z, F, D]
    k        experts that a token visits
    ragged   True: rows travel by `ragged_all_to_all`, which a CPU has not
    returns  Out[B_Z, D]
    source   MegaBlocks paper
    """
    here, move = len(W_in), send_ragged if ragged else send_padded
    chances = jax.nn.softmax((In @ W_router).astype("float32"))
    weights, experts = top_k(chances, k)  # [B, k]
    order = jnp.argsort(experts.reshape(-1))  # of visits, by expert
    token, expert = order // k, experts.reshape(-1)[order]
    there, back = move(expert // here, len(order))
    rows, ids = there(In[token], 0), there(expert % here, here)
    Made = back(work(rows, ids, W_in, W_out))
    Made = Made * weights.reshape(-1)[order, None].astype(In.dtype)
    return jnp.zeros_like(In).at[token].add(Made)


def work(rows, ids, W_in, W_out):
    """Each row through the block of its expert.

    rows     rows[n, D], in any order
    ids      ids[n]: which of this chip's experts; their number if the row is
             empty
    W_in, W_out  W_in[E_Z, D, F] and W_out[E_Z, F, D]
    returns  [n, D]; what stands in empty rows is never read
    source   MegaBlocks paper
    """
    order = jnp.argsort(ids)  # empty rows go last
    sizes = (ids[:, None] == jnp.arange(len(W_in))).sum(axis=0)
    Tmp = ragged_dot(rows[order], W_in, sizes.astype("int32"))
    Made = ragged_dot(Tmp, W_out, sizes.astype("int32"))
    return jnp.zeros_like(rows).at[order].set(Made)


def send_padded(chip, n):
    """Two AllToAlls whose pieces are as large as the largest could be.

    chip     chip[n], to which each row goes, in order
    n        rows
    returns  two functions: of rows and what fills empty places, [Z n, ...]
             that have come here; and of these, rows as they were
    source   chapter 14
    """
    Z = axis_size("Z")
    starts = jnp.searchsorted(chip, jnp.arange(Z))
    place = jnp.arange(n) - starts[chip]

    def there(rows, fill):
        sent = jnp.full((Z, n, *rows.shape[1:]), fill, rows.dtype)
        sent = sent.at[chip, place].set(rows)
        return all_to_all(sent, "Z", 0, 0, tiled=True).reshape(
            Z * n, *rows.shape[1:]
        )

    def back(rows):
        came = all_to_all(rows.reshape(Z, n, -1), "Z", 0, 0, tiled=True)
        return came[chip, place]

    return there, back


def send_ragged(chip, n):
    """The same with just the rows that there are.

    chip, n  as in `send_padded`
    returns  as in `send_padded`; rows that have come stand without gaps
    source   jax.lax.ragged_all_to_all
    """
    Z = axis_size("Z")
    swap = partial(
        all_to_all, axis_name="Z", split_axis=0, concat_axis=0, tiled=True
    )
    out = (chip[:, None] == jnp.arange(Z)).sum(axis=0).astype("int32")
    into = swap(out)  # rows that each chip sends here
    my, their = jnp.cumsum(out) - out, jnp.cumsum(into) - into

    def move(rows, fill, room, way):
        space = jnp.full((room, *rows.shape[1:]), fill, rows.dtype)
        space = jax.lax.pcast(space, "Z", to="varying")
        return ragged_all_to_all(rows, space, *way, axis_name="Z")

    def there(rows, fill):
        return move(rows, fill, Z * n, (my, out, swap(their), into))

    def back(rows):
        return move(rows, 0, n, (their, into, swap(my), out))

    return there, back
