"""Patterns that others have published, in our words, small.

Each function returns a step and a tuple of its arguments, for eight devices.
`SOURCES` says whose pattern it is and what has to be installed.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import PartitionSpec as P

from bench.others.programs import laid, mesh_of

__all__ = ["SOURCES"]

B, D, F, E = 64, 32, 48, 8


def _shape(*dims, dtype=jnp.float32):
    """The shape of an array."""
    return jax.ShapeDtypeStruct(dims, dtype)


def _in_map(f, mesh, in_specs, out_specs, vma=True):
    """A function on the devices of a mesh."""
    specs = {"in_specs": in_specs, "out_specs": out_specs}
    return jax.shard_map(f, mesh=mesh, check_vma=vma, **specs)


def pmap_step():
    """Data parallelism with pmap and pmean."""

    @partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
    def step(W, In):
        dW = jax.grad(lambda W: ((In @ W) ** 2).mean())(W)
        return W - jax.lax.pmean(dW, "batch")

    mesh = mesh_of(batch=8)
    In = laid(_shape(8, B // 8, D), mesh, "batch")
    return step, (laid(_shape(D, F), mesh), In)


def vmap_spmd():
    """vmap whose mapped dimension is cut: spmd_axis_name."""
    mesh = mesh_of(X=8)

    def layer(W, In):
        Out = jax.nn.relu(In @ W)
        place = jax.NamedSharding(mesh, P())
        return jax.lax.with_sharding_constraint(Out, place)

    mapped = jax.vmap(layer, (None, 0), spmd_axis_name="X")
    In = laid(_shape(8, B // 8, D), mesh, "X")
    return jax.jit(mapped), (laid(_shape(D, F), mesh), In)


def _fsdp(policy):
    """Gathered weights under a policy of checkpoint."""
    mesh = mesh_of(X=8)

    def step(W, In):
        def layer(In, W):
            W = jax.lax.all_gather(W, "X", tiled=True, axis=1)
            return jnp.tanh(In @ W), None

        def loss(W):
            again = jax.checkpoint(layer, policy=policy)
            return (jax.lax.scan(again, In, W)[0] ** 2).sum()

        return jax.grad(loss)(W)

    args = laid(_shape(3, D, D), mesh, None, None, "X")
    specs = (P(None, None, "X"), P("X"))
    mapped = _in_map(step, mesh, specs, specs[0])
    return mapped, (args, laid(_shape(B, D), mesh, "X"))


def remat_nothing():
    """FSDP in a scan, nothing saved."""
    return _fsdp(jax.checkpoint_policies.nothing_saveable)


def remat_dots():
    """FSDP in a scan, matmuls saved."""
    return _fsdp(jax.checkpoint_policies.dots_saveable)


def _kernel(x, interpret):
    """A kernel that doubles a tile."""

    def double(x_ref, o_ref):
        o_ref[...] = 2 * x_ref[...]

    place = {} if interpret else {"memory_space": pltpu.VMEM}
    spec = pl.BlockSpec(**place)
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    call = partial(pl.pallas_call, interpret=interpret, out_shape=out)
    return call(double, in_specs=[spec], out_specs=spec)(x)


def pallas(interpret=True):
    """A Pallas kernel in a shard_map, interpreted."""
    mesh = mesh_of(X=8)

    def step(x):
        return jax.lax.psum(_kernel(x, interpret), "X")

    mapped = _in_map(step, mesh, P("X"), P(), vma=False)
    return mapped, (laid(_shape(B, 128), mesh, "X"),)


def pallas_tpu():
    """The same kernel for a TPU."""
    return pallas(interpret=False)


def megatron():
    """Megatron's f and g: sums forward in one, backward in the other."""
    mesh = mesh_of(Y=8)

    @jax.custom_vjp
    def f(x):
        return x

    @jax.custom_vjp
    def g(x):
        return jax.lax.psum(x, "Y")

    def summed(_, dx):
        return (jax.lax.psum(dx, "Y"),)

    f.defvjp(lambda x: (x, None), summed)
    g.defvjp(lambda x: (g(x), None), lambda _, dx: (dx,))

    def step(W_in, W_out, x):
        def loss(W_in, W_out, x):
            return (g(jax.nn.relu(f(x) @ W_in) @ W_out) ** 2).mean()

        return jax.grad(loss, (0, 1, 2))(W_in, W_out, x)

    specs = (P(None, "Y"), P("Y"), P())
    mapped = _in_map(step, mesh, specs, specs, vma=False)
    weights = laid(_shape(D, F), mesh, None, "Y"), laid(_shape(F, D), mesh, "Y")
    return mapped, (*weights, laid(_shape(B, D), mesh))


def pipeline():
    """GPipe: a permute in each turn of a scan, and its gradient."""
    mesh = mesh_of(S=8)
    ring = [(i, (i + 1) % 8) for i in range(8)]

    def loss(W, In):
        def turn(state, x):
            first = jax.lax.axis_index("S") == 0
            state = jnp.tanh(jnp.where(first, x, state) @ W[0])
            return jax.lax.ppermute(state, "S", ring), state

        state = jnp.zeros_like(In[0])
        _, made = jax.lax.scan(turn, state, In)
        last = jax.lax.axis_index("S") == 7
        return jax.lax.psum(jnp.where(last, made, 0).sum(), "S")

    step = _in_map(jax.grad(loss), mesh, (P("S"), P()), P("S"), vma=False)
    args = laid(_shape(8, D, D), mesh, "S"), laid(_shape(12, 4, D), mesh)
    return step, args


def experts():
    """GShard: tokens to experts and back, a fixed number for each."""
    mesh = mesh_of(E=8)

    def step(W, In, router):
        scores = jax.nn.softmax(In @ router)
        gates, chosen = jax.lax.top_k(scores, 1)
        sent = jax.nn.one_hot(chosen[:, 0], E).T[:, :, None] * In
        there = jax.lax.all_to_all(sent, "E", 0, 1, tiled=True)
        done = jax.nn.relu(there[0] @ W[0])[None]
        back = jax.lax.all_to_all(done, "E", 1, 0, tiled=True)
        return gates * back.sum(0)

    mapped = _in_map(step, mesh, (P("E"), P("E"), P()), P("E"), vma=False)
    args = laid(_shape(E, D, D), mesh, "E"), laid(_shape(B, D), mesh, "E")
    return mapped, (*args, laid(_shape(D, E), mesh))


def uneven():
    """Tokens to experts in unequal numbers: ragged_all_to_all."""
    mesh = mesh_of(E=8)

    def step(x, sizes):
        starts = jnp.cumsum(sizes) - sizes
        got = jax.lax.all_to_all(sizes, "E", 0, 0, tiled=True)
        there = jnp.cumsum(got) - got
        there = jax.lax.all_to_all(there, "E", 0, 0, tiled=True)
        out = jnp.zeros_like(x)
        return jax.lax.ragged_all_to_all(
            x, out, starts, sizes, there, got, axis_name="E"
        )

    sizes = laid(_shape(64, dtype=jnp.int32), mesh, "E")
    mapped = _in_map(step, mesh, P("E"), P("E"), vma=False)
    return mapped, (laid(_shape(512, D), mesh, "E"), sizes)


def dropless():
    """MegaBlocks: each token meets one expert, in one matmul with groups."""
    mesh = mesh_of(X=8)

    def step(W, In, sizes):
        return jax.lax.ragged_dot(In, W, sizes)

    W = laid(_shape(16, D, F), mesh, None, None, "X")
    sizes = laid(_shape(16, dtype=jnp.int32), mesh)
    return jax.jit(step), (W, laid(_shape(512, D), mesh), sizes)


def attention():
    """JAX's dot_product_attention, heads cut, and its gradient."""
    mesh = mesh_of(X=2, Y=4)
    x = laid(_shape(4, 16, 8, 16), mesh, "X", None, "Y")

    def loss(Q, K, V):
        attend = partial(jax.nn.dot_product_attention, is_causal=True)
        return (attend(Q, K, V) ** 2).sum()

    return jax.jit(jax.grad(loss, (0, 1, 2))), (x, x, x)


def zero_1():
    """ZeRO-1: optimizer state cut, by constraints."""
    mesh = mesh_of(X=8)
    rows = jax.NamedSharding(mesh, P("X"))

    def step(W, m, In):
        dW = jax.grad(lambda W: ((In @ W) ** 2).mean())(W)
        m = 0.9 * m + jax.lax.with_sharding_constraint(dW, rows)
        whole = jax.NamedSharding(mesh, P())
        return jax.lax.with_sharding_constraint(W - m, whole), m

    m = laid(_shape(D, F), mesh, "X")
    In = laid(_shape(B, D), mesh, "X")
    return jax.jit(step), (laid(_shape(D, F), mesh), m, In)


def multi_steps():
    """Optax's MultiSteps: gradients added up, an update every fourth."""
    import optax  # noqa: PLC0415  an optional package

    mesh = mesh_of(X=8)
    optimiser = optax.MultiSteps(optax.adam(1e-3), every_k_schedule=4)
    W = laid(_shape(D, F), mesh)
    state = jax.tree.map(
        lambda x: laid(x, mesh), jax.eval_shape(optimiser.init, W)
    )

    def step(W, state, In):
        dW = jax.grad(lambda W: ((In @ W) ** 2).mean())(W)
        updates, state = optimiser.update(dW, state, W)
        return optax.apply_updates(W, updates), state

    return jax.jit(step), (W, state, laid(_shape(B, D), mesh, "X"))


def until():
    """A loop that moves something until the data say stop."""
    mesh = mesh_of(X=8)

    def step(x):
        def turn(x):
            return jax.lax.psum(x, "X") / 16

        return jax.lax.while_loop(lambda x: x.max() > 1, turn, x)

    mapped = _in_map(step, mesh, P("X"), P("X"), vma=False)
    return mapped, (laid(_shape(B, D), mesh, "X"),)


def either():
    """A branch that moves something, and one that does not."""
    mesh = mesh_of(X=8)

    def step(flag, x):
        some = partial(jax.lax.psum, axis_name="X")
        return jax.lax.cond(flag, some, lambda x: 2 * x, x)

    mapped = _in_map(step, mesh, (P(), P("X")), P("X"), vma=False)
    flag = laid(_shape(dtype=jnp.bool_), mesh)
    return mapped, (flag, laid(_shape(B, D), mesh, "X"))


_JAX = "jax"
SOURCES = {
    pmap_step: ("JAX, docs/migrate_pmap.md", _JAX),
    vmap_spmd: ("JAX, jax.vmap", _JAX),
    remat_nothing: ("JAX, jax.checkpoint_policies", _JAX),
    remat_dots: ("JAX, jax.checkpoint_policies", _JAX),
    pallas: ("JAX, docs/pallas", _JAX),
    pallas_tpu: ("JAX, docs/pallas", _JAX),
    megatron: ("Megatron-LM, Shoeybi et al. 2019", _JAX),
    pipeline: ("GPipe, Huang et al. 2019", _JAX),
    experts: ("GShard, Lepikhin et al. 2020", _JAX),
    uneven: ("JAX, jax.lax.ragged_all_to_all", _JAX),
    dropless: ("MegaBlocks, Gale et al. 2022", _JAX),
    attention: ("JAX, jax.nn.dot_product_attention", _JAX),
    zero_1: ("ZeRO, Rajbhandari et al. 2020", _JAX),
    multi_steps: ("Optax, MultiSteps", "optax"),
    until: ("JAX, jax.lax.while_loop", _JAX),
    either: ("JAX, jax.lax.cond", _JAX),
}
