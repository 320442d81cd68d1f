"""Every piece of advice in every example, followed: the numbers stay.

An example is a step, and for each piece of advice that it gets, the step that
follows it. Both run on eight devices with the same numbers, and what the
advice promised is the difference of their counts.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import AxisType, NamedSharding

from shardlab import count
from shardlab.inspection import advise, inspect_step

B, D, F, TURNS = 64, 24, 40, 4


def mesh():
    return jax.make_mesh((8,), ("X",), axis_types=(AxisType.Auto,))


def lies(shape, *axes, dtype=jnp.float32):
    sharding = NamedSharding(mesh(), P(*axes))
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def in_map(in_specs, out_specs):
    return partial(
        jax.shard_map, mesh=mesh(), in_specs=in_specs, out_specs=out_specs
    )


# ---- the same in every turn --------------------------------------------------


@in_map((P("X"), P("X")), P("X"))
def gathered_in_turns(W, In):
    def turn(done, In):
        return done, In @ jax.lax.all_gather(W, "X", tiled=True)

    parts = In.reshape(TURNS, -1, D)
    return jax.lax.scan(turn, 0, parts)[1].reshape(-1, F)


@in_map((P("X"), P("X")), P("X"))
def gathered_before(W, In):
    W = jax.lax.all_gather(W, "X", tiled=True)
    parts = In.reshape(TURNS, -1, D)
    turn = lambda done, In: (done, In @ W)  # noqa: E731
    return jax.lax.scan(turn, 0, parts)[1].reshape(-1, F)


# ---- only added up -----------------------------------------------------------


def accumulating(inside):
    @in_map((P(), P("X")), P())
    def step(W, In):
        none = jnp.zeros_like(W)
        if not inside:
            none = jax.lax.pcast(none, "X", to="varying")
        W = jax.lax.pcast(W, "X", to="varying")

        def turn(total, In):
            gradient = jax.grad(lambda W: ((In @ W) ** 2).sum())(W)
            gradient = jax.lax.psum(gradient, "X") if inside else gradient
            return total + gradient / TURNS, None

        total, _ = jax.lax.scan(turn, none, In.reshape(TURNS, -1, D))
        return total if inside else jax.lax.psum(total, "X")

    return step


# ---- a sum of which each device keeps a slice --------------------------------


@jax.jit
def summed_and_cut(In, dOut):
    rows = NamedSharding(mesh(), P("X"))
    return jax.lax.with_sharding_constraint(In.T @ dOut, rows)


@in_map((P("X"), P("X")), P("X"))
def scattered(In, dOut):
    return jax.lax.psum_scatter(In.T @ dOut, "X", tiled=True)


# ---- gathered again ----------------------------------------------------------


def gradient_of_fsdp(kept):
    @in_map((P("X"), P("X")), (P(), P("X")))
    def step(W, In):
        def layer(W, In):
            W = jax.lax.all_gather(W, "X", tiled=True)
            return jnp.sin(In @ checkpoint_name(W, "gathered"))

        keep = jax.checkpoint_policies.save_only_these_names("gathered")
        policy = keep if kept else None
        again = jax.checkpoint(layer, policy=policy)
        loss = lambda W: again(W, In).sum()  # noqa: E731
        value, gradient = jax.value_and_grad(loss)(W)
        return jax.lax.psum(value, "X"), gradient

    return step


# ---- activations that nothing pins -------------------------------------------


def looking_up(pinned):
    rows = NamedSharding(mesh(), P("X"))

    @jax.jit
    def step(W, tokens):
        def loss(W):
            In = W["embed"][tokens]
            if pinned:
                In = jax.lax.with_sharding_constraint(In, rows)
            turn = lambda In, W: (In + jnp.sin(In @ W), None)  # noqa: E731
            Out, _ = jax.lax.scan(jax.checkpoint(turn), In, W["layers"])
            return ((Out @ W["embed"].T) ** 2).mean()

        return jax.grad(loss)(W)

    return step


WEIGHTS = {
    "embed": lies((64, D), None, "X"),
    "layers": lies((2, D, D), None, "X"),
}
TOKENS = lies((B, 16), "X", dtype=jnp.int32)
MOVED_ANYHOW = in_map((P("X"), P("X")), P("X"))(lambda W, In: In * W.sum())

EXAMPLES = {
    "the same in every turn": (
        gathered_in_turns,
        (lies((D, F), "X"), lies((B * 8, D), "X")),
        {"once, before the loop": gathered_before},
    ),
    "only added up": (
        accumulating(inside=True),
        (lies((D, F)), lies((B, D), "X")),
        {"once, after the loop": accumulating(inside=False)},
    ),
    "each keeps a slice": (
        summed_and_cut,
        (lies((B, D), "X"), lies((B, F), "X")),
        {"reduce_scatter": scattered},
    ),
    "gathered again": (
        gradient_of_fsdp(kept=False),
        (lies((D, F), "X"), lies((B, D), "X")),
        {"gathers again": gradient_of_fsdp(kept=True)},
    ),
    "laid otherwise": (
        MOVED_ANYHOW,
        (lies((D, F), None, "X"), lies((B, D), "X")),
        {"lay it so before": (0, ("X",))},
    ),
    "nothing pinned": (
        looking_up(pinned=False),
        (WEIGHTS, TOKENS),
        {"Pin what each module returns": looking_up(pinned=True)},
    ),
    "the same piece": (
        in_map((P(), P("X")), P("X"))(lambda W, In: In @ W),
        (lies((D, F)), lies((B, D), "X")),
        {},
    ),
    "a sum that the next turn reads": (
        in_map((P(), P("X"), P(None, "X")), P())(
            lambda x, W, V: jax.lax.scan(
                lambda x, _: (
                    x + jax.lax.psum(jnp.tanh(x @ V) @ W, "X"),
                    None,
                ),
                x,
                length=TURNS,
            )[0]
        ),
        (lies((B, D)), lies((F, D), "X"), lies((D, F), None, "X")),
        {},
    ),
}


def numbers(args):
    """Arrays for arguments, the same for the same shapes."""
    leaves, tree = jax.tree.flatten(args)
    draw = np.random.default_rng(7)
    made = [
        draw.integers(0, 64, x.shape)
        if jnp.issubdtype(x.dtype, jnp.integer)
        else 0.3 * draw.normal(size=x.shape)
        for x in leaves
    ]
    pairs = zip(made, leaves, strict=True)
    arrays = [
        jax.device_put(jnp.asarray(m, x.dtype), x.sharding) for m, x in pairs
    ]
    return jax.tree.unflatten(tree, arrays)


def shared(advice, args):
    """Arguments with those that the advice names cut in eight."""

    def cut(path, x):
        if jax.tree_util.keystr(path) not in advice:
            return x
        d = next(d for d, n in enumerate(x.shape) if n % 8 == 0)
        return lies(x.shape, *[None] * d, "X", dtype=x.dtype)

    return jax.tree_util.tree_map_with_path(cut, args)


def same(before, after, args, args_after):
    expected = before(*numbers(args))
    got = after(*numbers(args_after))
    # Sums in another order: a few hundred roundings of float32.
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4),
        expected,
        got,
    )


@pytest.mark.parametrize("example", EXAMPLES)
def test_following_an_advice_changes_no_number_and_gains_what_it_said(example):
    before, args, changes = EXAMPLES[example]
    report, used = inspect_step(before, *args), set()
    for advice in advise(report):
        if "hold the same piece" in advice.says:
            names = [a.name for a in report.arguments]
            places = [names.index(n) for n in advice.where.split(", ")]
            keys = {f"[{i}]" for i in places}
            changed = shared(keys, args)
            same(before, before, args, changed)
            held = count.held(args) - count.held(changed)
            assert held == advice.bytes
            continue
        (said,) = (key for key in changes if key in advice.says)
        used.add(said)
        after, changed = changes[said], args
        if isinstance(after, tuple):
            place, axes = after
            changed = list(args)
            changed[place] = lies(args[place].shape, *axes)
            after = before
        same(before, after, args, changed)
        gained = report.volume() - inspect_step(after, *changed).volume()
        # Pins that are not needed may cost a little; all of them are counted.
        most = gained if report.pins is None else advice.volume
        assert gained >= advice.volume == most
    assert used == set(changes)
