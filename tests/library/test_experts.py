"""Routers, experts without slots, and what their tokens cost on the way."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType

from shardlab import cost, ring
from shardlab.hw import H100, V5P
from shardlab.strategies import dropless, expert, layer, moe, routing
from tests.compiling import compiled
from tests.each import each

Z, E, B, D, F = 4, 8, 32, 8, 12
AUTO = (AxisType.Auto,)
NAMES = ("In", "W_router", "W_in", "W_out")


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(14)
    shapes = [(B, D), (D, E), (E, D, F), (E, F, D)]
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


def scores_of(rows=200, experts=E):
    rng = np.random.default_rng(3)
    return jnp.asarray(rng.uniform(size=(rows, experts)), "float32")


def sharded(mesh, k, ragged=False):
    L = dropless.LAYOUT
    program = jax.shard_map(
        partial(dropless.forward, k=k, ragged=ragged),
        mesh=mesh,
        in_specs=tuple(L[name] for name in NAMES),
        out_specs=L["Out"],
    )
    # Without `jit`, shard_map compiles every operation by itself: 50 s.
    return jax.jit(program)


def one_by_one(k, In, W_router, W_in, W_out):
    """Every token through every expert, weighted by those that it chose."""
    chances = jax.nn.softmax(In @ W_router)
    least = jax.lax.top_k(chances, k)[0][:, -1:]
    each = jnp.einsum("bd,edf,efm->bem", In, W_in, W_out)
    return jnp.einsum("be,bem->bm", chances * (chances >= least), each)


def squares(f, *arrays):
    def loss(*arrays):
        return (f(*arrays) ** 2).sum()

    return compiled(jax.value_and_grad(loss, range(4)))(*arrays)


def sent_one_by_one(rows, space, my, out, their, into, *, axis_name):
    """What `ragged_all_to_all` does, said with gathers."""
    gather = partial(jax.lax.all_gather, axis_name=axis_name)
    rows, my, out, their = map(gather, (rows, my, out, their))
    me, place = jax.lax.axis_index(axis_name), jnp.arange(len(space))
    for source in range(len(rows)):
        ahead = place - their[source, me]
        mine = (ahead >= 0) & (ahead < out[source, me])
        row = jnp.clip(my[source, me] + ahead, 0, rows.shape[1] - 1)
        mine = mine.reshape(-1, *[1] * (space.ndim - 1))
        space = jnp.where(mine, rows[source][row], space)
    return space


@pytest.mark.slow
@pytest.mark.parametrize("k", [pytest.param(1, marks=pytest.mark.long), 3])
@pytest.mark.parametrize("ragged", [False, True])
def test_without_slots_nothing_is_dropped(arrays, k, ragged, monkeypatch):
    monkeypatch.setattr(dropless, "ragged_all_to_all", sent_one_by_one)
    mesh = jax.make_mesh((Z,), ("Z",), axis_types=AUTO)
    got = squares(sharded(mesh, k, ragged), *arrays)
    expected = squares(partial(one_by_one, k), *arrays)
    for mine, theirs in zip(
        jax.tree.leaves(got), jax.tree.leaves(expected), strict=True
    ):
        size = float(np.abs(theirs).max())
        np.testing.assert_allclose(mine, theirs, atol=2e-5 * size)


@pytest.mark.slow
def test_all_tokens_at_one_expert_find_room():
    mesh = jax.make_mesh((Z,), ("Z",), axis_types=AUTO)
    In = np.ones((B, D), "float32")
    W_router = np.zeros((D, E), "float32")
    W_router[:, 5] = 1
    rng = np.random.default_rng(1)
    W_in = rng.normal(size=(E, D, F)).astype("float32")
    W_out = rng.normal(size=(E, F, D)).astype("float32")
    weights = W_router, W_in, W_out
    Out = np.asarray(sharded(mesh, 1)(In, *weights))
    expected = np.asarray(one_by_one(1, In, *weights))
    np.testing.assert_allclose(Out, expected, rtol=1e-4)
    slotted = layer.forward(expert, mesh, C=1, k=1)
    assert (np.asarray(slotted(In, *weights)) == 0).all(axis=1).mean() > 0.8


@pytest.mark.slow
def test_where_the_ragged_exchange_lowers(arrays):
    mesh = AbstractMesh((Z,), ("Z",), axis_types=AUTO)
    loss = jax.grad(lambda *a: sharded(mesh, 2, True)(*a).sum(), range(4))
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
    for platform in ("tpu", "cuda"):
        traced = jax.jit(loss).trace(*shapes)
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        assert text.count("@ragged_all_to_all") == 5  # ids, and rows four times
    mesh = jax.make_mesh((Z,), ("Z",), axis_types=AUTO)
    lowered = jax.jit(sharded(mesh, 2, True)).lower(*arrays)
    with pytest.raises(jax.errors.JaxRuntimeError, match="ragged-all-to-all"):
        lowered.compile()


# ---- routers -----------------------------------------------------------------


def test_a_bias_moves_the_choice():
    scores = scores_of()
    plain = routing.choose(scores, 2)
    order = np.argsort(-np.asarray(scores), axis=1)[:, :2]
    assert (plain == order).all()
    bias = jnp.zeros(E).at[3].set(2.0)
    assert (routing.choose(scores, 2, bias)[:, 0] == 3).all()


@pytest.mark.parametrize("most", [1, 2, 4])
def test_near_choices_are_the_best_of_the_best_nodes(most):
    scores, nodes, k = scores_of(experts=16), 4, 4
    got = np.asarray(routing.choose_near(scores, k, nodes, most))
    for row, experts in zip(np.asarray(scores), got, strict=True):
        of_node = row.reshape(nodes, -1)
        best = np.sort(of_node, axis=1)[:, -(k // most) :].sum(axis=1)
        kept = set(np.argsort(-best)[:most])
        allowed = [e for e in range(16) if e // 4 in kept]
        expected = sorted(allowed, key=lambda e: -row[e])[:k]
        assert list(experts) == expected
    assert routing.nodes_of(got, 16, nodes).sum(axis=1).max() <= most
    if most == nodes:
        assert (got == routing.choose(scores, k)).all()


def test_visits_slots_and_drops():
    experts = jnp.array([[0, 1], [0, 2], [0, 1]])
    assert list(routing.visits(experts, 4)) == [3, 2, 1, 0]
    assert routing.imbalance(routing.visits(experts, 4)) == 2
    assert routing.slots(3, 2, 4) == 2
    assert routing.slots(3, 2, 4, 1.25) == 2
    assert routing.slots(3, 2, 4, 1.5) == 3
    assert routing.drops([3, 2, 1, 0], 2) == 1
    assert routing.drops([[3, 0], [1, 2]], 1) == 3


@pytest.mark.slow
def test_the_balance_loss_is_one_if_all_are_alike_and_pulls_down():
    even = jnp.full((8, 4), 0.25)
    experts = jnp.arange(8)[:, None] % 4
    assert routing.balance_loss(even, experts) == 1
    lone = jax.nn.one_hot(jnp.zeros(8, int), 4)
    assert routing.balance_loss(lone, jnp.zeros((8, 1), int)) == 4
    pair = jnp.tile(jnp.arange(2), (8, 1))  # k = 2: at most E / k
    both = jax.nn.one_hot(pair, 4).mean(axis=1)
    assert routing.balance_loss(both, pair) == 2
    logits = jnp.zeros((8, 4))
    crowded = jnp.where(experts < 3, 0, 1)

    def loss(logits):
        return routing.balance_loss(jax.nn.softmax(logits), crowded)

    pull = np.asarray(jax.grad(loss)(logits).sum(axis=0))
    assert (np.argsort(-pull)[:2] == [0, 1]).all()
    assert (pull[2:] < 0).all()


def test_a_bias_rises_where_visits_are_few():
    moved = routing.move_bias(jnp.zeros(4), jnp.array([4, 2, 2, 0]), 0.5)
    assert list(moved) == [-0.5, 0, 0, 0.5]


@each(
    ("call", "words"),
    [
        (lambda s: routing.choose(s, 9), "k must be at most 8, got 9"),
        (lambda s: routing.choose(s, 0), "k must be a"),
        (lambda s: routing.choose_near(s, 4, 3, 2), "nodes must divide E = 8"),
        (lambda s: routing.choose_near(s, 4, 2, 3), "nodes must divide"),
        (lambda s: routing.choose_near(s, 3, 4, 2), "k must be a multiple"),
        (lambda s: routing.slots(8, 2, 4, 0.5), "capacity must be"),
        (lambda s: routing.drops([1], 0), "C must be a"),
        (lambda s: routing.nodes_of(s, 8, 3), "nodes must divide E = 8"),
        (lambda s: moe.train("luck"), "balance must be"),
        (lambda s: cost.nodes_visited(8, 9, 2), "k must be at most E = 8"),
        (lambda s: cost.nodes_visited(8, 2, 3), "nodes must divide E = 8"),
        (lambda s: cost.t_dispatch(1, 1, V5P, 8, 2, 2), "chip must be one of"),
        (lambda s: ring.uneven_exchange(s, (4,)), r"parts must be \[4, 4\]"),
    ],
)
def test_what_a_router_refuses(call, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        call(scores_of())


@pytest.mark.long  # chapter 14 trains the same router
def test_a_trained_router_plays_favourites_unless_it_is_held():
    runs = {b: moe.train(b, steps=300) for b in moe.BALANCES}
    late = {
        b: routing.imbalance(run.visits[-50:].mean(axis=0))
        for b, run in runs.items()
    }
    assert late["none"] > 1.8
    assert late["loss"] < 1.4
    assert late["bias"] < 1.4
    assert runs["none"].losses[0] > 1.2 * runs["none"].losses[-1]
    again = moe.train("bias", steps=300)
    np.testing.assert_array_equal(again.visits, runs["bias"].visits)


@pytest.mark.slow
def test_the_layer_that_is_trained_is_the_layer_that_is_cut(arrays):
    In, *weights = arrays
    names = ("W_router", "W_in", "W_out")
    weights = dict(zip(names, weights, strict=True))
    Out, chances, experts = moe.layer(weights, In, 2)
    Tmp = jax.nn.relu(jnp.einsum("bd,edf->ebf", In, weights["W_in"]))
    each = jnp.einsum("ebf,efd->bed", Tmp, weights["W_out"])
    mine = [
        sum(chances[b, e] * each[b, e] for e in experts[b]) for b in range(B)
    ]
    np.testing.assert_allclose(Out, np.array(mine), rtol=2e-4, atol=2e-4)


# ---- on the way --------------------------------------------------------------


@each("sizes", [(5,), (8,), (2, 4), (4, 4), (2, 3, 4)])
@each("wrap", [True, False])
def test_even_parts_load_links_as_an_all_to_all_does(sizes, wrap):
    N = int(np.prod(sizes))
    links = ring.uneven_exchange(np.full((N, N), 2.0), sizes, wrap)
    V = 2 * N * N
    how = {"link_bw": 1.0, "wrap": wrap}
    if sizes == (5,) or wrap:
        expected = ring.all_to_all(V, sizes, **how).bytes_on_link
        np.testing.assert_allclose(links.sum(), expected.sum())
        np.testing.assert_allclose(links.max(), expected.max())


def test_a_lone_part_goes_the_shorter_way():
    parts = np.zeros((6, 6))
    parts[0, 5] = 10
    assert ring.uneven_exchange(parts, (6,))[0, 1, 0] == 10
    assert ring.uneven_exchange(parts, (6,)).sum() == 10
    assert ring.uneven_exchange(parts, (6,), wrap=False).sum() == 50
    parts[0, 3] = 4  # a tie: half of it each way
    assert ring.uneven_exchange(parts, (6,))[0, 0, 0] == 2


@pytest.mark.slow
@pytest.mark.parametrize(("E", "k", "nodes"), [(256, 8, 8), (16, 4, 4)])
def test_nodes_visited_by_chance(E, k, nodes):
    scores = scores_of(4000, E)
    there = routing.nodes_of(routing.choose(scores, k), E, nodes)
    found = float(there.sum(axis=1).mean())
    assert found == pytest.approx(cost.nodes_visited(E, k, nodes), rel=0.01)


def test_a_dispatch_through_cards_and_ports():
    way = cost.t_dispatch(4096, 7168, H100, 8, 4, 8, itemsize=1)
    assert way.card == pytest.approx(4096 * 7168 * 4 * 7 / 8 / 5e10)
    assert way.port == pytest.approx(4096 * 7168 * 8 * 7 / 8 / 4.5e11)
