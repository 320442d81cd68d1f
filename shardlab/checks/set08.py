"""Set 08, tensor parallelism: what moves, what it costs, and how far it goes.

Traffic is counted in programs, those of the checks and those handed in; values
come from NumPy on one chip, gradients of a norm from differences.
"""

import functools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from jax.lax import (
    all_gather,
    axis_index,
    axis_size,
    pcast,
    psum,
    psum_scatter,
)
from jax.sharding import AbstractMesh, AxisType

from shardlab import count, hw, ring
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer

COLUMNS, ROWS = P(None, "Y"), P("Y", None)


def _seed(draw):
    """A seed for the arrays of one case."""
    return int(draw.integers(2**31))


def _mesh(Y):
    """A mesh of Y chips that do not exist."""
    return AbstractMesh((Y,), ("Y",), (AxisType.Auto,))


# --- one product after the other ---------------------------------------------


def _part_of(A):
    """This chip's columns of what it has whole."""
    return A.reshape(len(A), axis_size("Y"), -1)[:, axis_index("Y")]


def _two_products(first, second):
    """The two products on a chip, with the collectives that are enough."""

    def body(In, W_in, W_out):
        In = In if first == "columns" else _part_of(In)
        Tmp = In @ W_in
        if (first, second) == ("rows", "rows"):
            Tmp = psum_scatter(Tmp, "Y", scatter_dimension=1, tiled=True)
        elif first == "rows":
            Tmp = psum(Tmp, "Y")
        elif second == "columns":
            Tmp = all_gather(Tmp, "Y", axis=1, tiled=True)
        Out = jnp.maximum(Tmp, 0) @ W_out
        if second == "rows":
            return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
        return Out

    return body


def _volume_of_order(first, second, B, D, F):
    """Bytes that the two products move, counted."""
    cut = {"columns": COLUMNS, "rows": ROWS}
    both = jax.shard_map(
        _two_products(first, second),
        mesh=_mesh(4),
        in_specs=(P(), cut[first], cut[second]),
        out_specs=COLUMNS,
    )
    shapes = (
        jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in ((B, D), (D, F), (F, D))
    )
    return count.volume(count.collectives(both, *shapes))


@question.visible("order", (8, 16, 64), (12, 24, 20))
def check_order(B, D, F):
    """Question 1: bytes of two products, for each way to cut the weights."""
    end = {"columns": 0, "rows": 2 * B * D}
    for first in ("columns", "rows"):
        for second in ("columns", "rows"):
            expected = _volume_of_order(first, second, B, D, F)
            middle = expected - end[second]
            compare.equal(
                f"order({first!r}, {second!r}, {B}, {D}, {F})",
                student.call("order", first, second, B, D, F),
                expected,
                likely=[
                    (
                        expected + 2 * B * D,
                        "you bring all of Out to every chip; its columns are "
                        "enough",
                    ),
                    (
                        middle,
                        "you leave terms of a sum at the end; every chip is "
                        "to have columns of Out",
                    ),
                    (
                        expected // 2,
                        "that is half: you count elements of two bytes, or an "
                        "AllReduce only once",
                    ),
                    (
                        _volume_of_order(second, first, B, D, F),
                        "yours is the other order",
                    ),
                    (
                        4 * B * F + 4 * B * D,
                        "you use an AllReduce after each product, and less is "
                        "enough",
                    ),
                    (
                        4 * B * F + end[second],
                        "you use an AllReduce between the products, and a "
                        "part of the sum is enough",
                    ),
                    (
                        2 * B * F + end[second],
                        "you move Tmp once; look again at who needs it whole",
                    ),
                    (end[second], "you move nothing between the products"),
                    (
                        2 * B * D,
                        "yours is the best order, whatever was asked",
                    ),
                    (
                        middle // 2 + end[second],
                        "you let a reduction count once; an AllReduce counts "
                        "twice",
                    ),
                ],
            )


def grade_order():
    """Question 1 with other sizes."""
    draw = question.draw("order")
    for sizes in (draw.integers(2, 40, (3, 3)) * 4).tolist():
        check_order(*sizes)


# --- programs ----------------------------------------------------------------


def _mlp(In, dOut, W_in, W_out, gate=None):
    """Out, dIn, dW_in, dW_out in NumPy; `gate` instead of the ReLU's mask."""
    before = In @ W_in
    gate = before > 0 if gate is None else gate
    Tmp, dTmp = np.maximum(before, 0), (dOut @ W_out.T) * gate
    return Tmp @ W_out, dTmp @ W_in.T, In.T @ dTmp, Tmp.T @ dOut


def _arrays(seed, *sizes):
    """Small whole numbers in float32: their products stay exact."""
    draw = np.random.default_rng(seed)
    return [draw.integers(-3, 4, size).astype(np.float32) for size in sizes]


def _refuse_gathered_weights(answer, asked, weights, words):
    """Insist that no weight, nor what is made of one, is gathered."""
    if answer.gathered(of=weights) > 0:
        raise WrongAnswer(f"{asked}: you gather weights; {words}")


STAY = "they stay where they are"
NO_MASK = "you forget the derivative of max(., 0)"
MEAN = "you took a mean, not the sum"


@question.visible("megatron", (4, 6, 2, 5, 1), (2, 3, 3, 4, 2))
def check_megatron(N, B, D, F, seed=0):
    """Question 2: both passes of an MLP under tensor parallelism on N chips.

    N, B  chips and tokens
    D, F  sizes of the weights, a chip's part of each
    seed  of the arrays
    """
    In, dOut, W_in, W_out = arrays = _arrays(
        seed, (B, N * D), (B, N * D), (N * D, N * F), (N * F, N * D)
    )
    request = program.request(
        *arrays,
        mesh={"Y": N},
        in_specs=(P(), P(), COLUMNS, ROWS),
        out_specs=(P("Y"), P("Y"), COLUMNS, ROWS),
    )
    asked = f"megatron on {N} chips"
    answer = student.program("megatron", request)
    _refuse_gathered_weights(answer, asked, (2, 3), STAY)
    Out, dIn, dW_in, dW_out = answer.run(*arrays)
    exact, ones = _mlp(*arrays), _mlp(*arrays, gate=1)
    pieces = [
        _mlp(In, dOut, *pair)
        for pair in zip(
            np.split(W_in, N, axis=1), np.split(W_out, N), strict=True
        )
    ]
    terms = [np.concatenate(term) for term in zip(*pieces, strict=True)]
    everywhere = [np.concatenate([x] * N) for x in exact[:2]]
    place = compare.on_devices(B)
    compare.close(
        f"{asked}, Out",
        Out,
        everywhere[0],
        likely=[
            (terms[0], "each chip returns a term of its own: g is missing"),
            (everywhere[0] / N, MEAN),
        ],
        show=True,
        place=place,
    )
    compare.close(
        f"{asked}, dIn",
        dIn,
        everywhere[1],
        likely=[
            (
                terms[1],
                "each chip returns a term of its own: you forget f, a copy "
                "forward and an AllReduce on the way back",
            ),
            (
                everywhere[1] * N,
                f"yours is {N} times too large: dOut is the same on all chips, "
                "and the derivative of g is a copy",
            ),
            (everywhere[1] / N, MEAN),
            (np.concatenate([ones[1]] * N), NO_MASK),
        ],
        show=True,
        place=place,
    )
    for name, got, n in (("dW_in", dW_in, 2), ("dW_out", dW_out, 3)):
        compare.close(
            f"{asked}, {name}",
            got,
            exact[n],
            likely=[
                (N * exact[n], "you add up what is complete as it is"),
                (
                    _added_blocks(exact[n], N, 3 - n),
                    "you add up over chips; each has a block of the weights of "
                    "its own, and its gradient is complete",
                ),
                (ones[n], NO_MASK),
            ],
            show=True,
        )
    answer.exactly(volume=4 * In.nbytes)


def _added_blocks(x, N, axis):
    """An array in which each of N blocks is the sum of them all."""
    return np.concatenate([sum(np.split(x, N, axis))] * N, axis)


def grade_megatron():
    """Question 2 on other chips."""
    for devices in (2, 8):
        draw = question.draw(f"megatron on {devices}")
        sizes = draw.integers(3, 9, 3).tolist()
        check_megatron(devices, *sizes, _seed(draw))


def _own_terms(N, In, dOut, W_in, W_out):
    """The results if each chip keeps its columns of its own term of a sum."""
    pairs = zip(np.split(W_in, N, axis=1), np.split(W_out, N), strict=True)
    terms = [_mlp(In, dOut, *pair) for pair in pairs]
    kept = [
        [np.split(x, N, axis=1)[n] for x in term[:2]] + list(term[2:])
        for n, term in enumerate(terms)
    ]
    Out, dIn, dW_in, dW_out = zip(*kept, strict=True)
    columns = [np.concatenate(x, axis=1) for x in (Out, dIn, dW_in)]
    return *columns, np.concatenate(dW_out)


@question.visible("cut_between", (4, 6, 2, 5, 2), (2, 3, 3, 4, 3))
def check_cut_between(N, B, D, F, seed=0):
    """Question 3: the same with activations that are cut between blocks.

    N, B, D, F, seed  as in question 2
    """
    arrays = _arrays(
        seed, (B, N * D), (B, N * D), (N * D, N * F), (N * F, N * D)
    )
    asked = f"cut_between on {N} chips"
    request = program.request(
        *arrays,
        mesh={"Y": N},
        in_specs=(COLUMNS, COLUMNS, COLUMNS, ROWS),
        out_specs=(COLUMNS, COLUMNS, COLUMNS, ROWS),
    )
    answer = student.program("cut_between", request)
    _refuse_gathered_weights(answer, asked, (2, 3), STAY)
    kinds = answer.kinds()
    if "all_reduce" in kinds:
        raise WrongAnswer(
            f"{asked}: you use an AllReduce (psum) where a gather and a "
            "scatter were asked for: Out and dIn are to stay cut"
        )
    if kinds.get("all_gather", 0) > 2:
        raise WrongAnswer(
            f"{asked}: you gather {kinds['all_gather']} times, and two are "
            "enough: what forward gathered is kept, and a sum that is to stay "
            "cut is scattered, not gathered"
        )
    answer.allow("all_gather", "psum_scatter")
    for name, found, exact, ones, own in zip(
        ("Out", "dIn", "dW_in", "dW_out"),
        answer.run(*arrays),
        _mlp(*arrays),
        _mlp(*arrays, gate=1),
        _own_terms(N, *arrays),
        strict=True,
    ):
        compare.close(
            f"{asked}, {name}",
            found,
            exact,
            likely=[
                (own, "each chip keeps a part of its own term: you do not sum"),
                (ones, NO_MASK),
                (exact / N, MEAN),
                (N * exact, f"yours is {N} times too large"),
            ],
            show=True,
        )
    answer.at_most(volume=4 * arrays[0].nbytes)


def grade_cut_between():
    """Question 3 on other chips."""
    for devices in (2, 8):
        draw = question.draw(f"cut_between on {devices}")
        sizes = draw.integers(2, 7, 3).tolist()
        check_cut_between(devices, *sizes, _seed(draw))


def _all_heads(In, W_Q, W_K, W_V, W_O):
    """Out[B, D] in NumPy, head by head."""
    Out = np.zeros((len(In), W_O.shape[-1]))
    for n in range(W_Q.shape[1]):
        Q, K, V = (In @ W[:, n] for W in (W_Q, W_K, W_V))
        Out += np.maximum(Q @ K.T, 0) @ V @ W_O[n]
    return Out


def _one_wide_head(In, *W):
    """Out of a chip that mixes its heads into one, in NumPy."""
    wide = [w.reshape(len(w), 1, -1) for w in W[:3]]
    return _all_heads(In, *wide, W[3].reshape(1, -1, W[3].shape[-1]))


def _signs(seed, *sizes):
    """Numbers -1, 0 and 1 in float32: long products stay exact."""
    draw = np.random.default_rng(seed)
    return [draw.integers(-1, 2, size).astype(np.float32) for size in sizes]


@question.visible("dealt", (4, 5, 2, 2, 3, 3))
def check_dealt(N, B, D, h, d, seed=0):
    """Question 4: attention whose heads are dealt to N chips.

    N, B     chips and tokens
    D, h, d  width and heads of one chip, and the width of a head
    seed     of the arrays
    """
    wide = (N * D, N * h, d)
    arrays = _signs(seed, (B, N * D), wide, wide, wide, (N * h, d, N * D))
    In, *W = arrays
    asked, heads = f"dealt on {N} chips", P(None, "Y")
    request = program.request(
        *arrays,
        mesh={"Y": N},
        in_specs=(P(), heads, heads, heads, P("Y")),
        out_specs=P("Y"),
    )
    answer = student.program("dealt", request)
    words = "or what heads have made of them; a head is whole on one chip"
    _refuse_gathered_weights(answer, asked, (1, 2, 3, 4), words)
    sums = answer.kinds().get("all_reduce", 0)
    if sums > 1:
        raise WrongAnswer(
            f"{asked}: you use {sums} AllReduces; heads do not meet before "
            "W_O, and one, of what all heads of a chip add, is enough"
        )
    got, Out = answer.run(*arrays), _all_heads(*arrays)
    if len(got) == len(In):
        raise WrongAnswer(
            f"{asked}: each of your chips returns a part of Out, and all of it "
            "was asked for"
        )
    at = [np.split(A, N, axis=1) for A in W[:3]] + [np.split(W[3], N)]
    merged = sum(_one_wide_head(In, *mine) for mine in zip(*at, strict=True))
    terms = [_all_heads(In, *mine) for mine in zip(*at, strict=True)]
    compare.close(
        f"{asked}, Out",
        got,
        np.concatenate([Out] * N),
        likely=[
            (
                np.concatenate(terms),
                "each chip returns what its own heads add: g is missing",
            ),
            (np.concatenate([Out] * N) / N, MEAN),
            (
                np.concatenate([N * Out] * N),
                f"yours is {N} times too large: everybody added all of it",
            ),
            (
                np.concatenate([merged] * N),
                "you make one wide head of those of a chip; each has scores "
                "of its own",
            ),
        ],
        show=True,
        place=compare.on_devices(B),
    )
    answer.exactly(volume=2 * In.nbytes)


def grade_dealt():
    """Question 4 on other chips."""
    for devices in (2, 8):
        draw = question.draw(f"dealt on {devices}")
        sizes = draw.integers(1, 4, 4).tolist()
        check_dealt(devices, *sizes, _seed(draw))


def _grouped_heads(In, dOut, W_Q, W_K, W_V, W_O, number):
    """Out and dW_K in NumPy; `number` gives a head's keys and values."""
    Out, dW_K = np.zeros((len(In), W_O.shape[-1])), np.zeros(W_K.shape)
    for n in range(W_Q.shape[1]):
        g = number(n)
        Q, K, V = In @ W_Q[:, n], In @ W_K[:, g], In @ W_V[:, g]
        scores = Q @ K.T
        Out += np.maximum(scores, 0) @ V @ W_O[n]
        dScores = (dOut @ W_O[n].T @ V.T) * (scores > 0)
        dW_K[:, g] += In.T @ dScores.T @ Q
    return Out, dW_K


@question.visible("shared_keys", (4, 2, 2, 3, 4), (6, 3, 1, 2, 5))
def check_shared_keys(N, G, h, d, seed=0):
    """Question 5: query heads on N chips that share G heads of keys.

    N, G, h, d  chips, heads of keys, query heads of a chip, width of a head
    seed        of the arrays
    """
    B, D = 3, 4
    Q, K = (D, N * h, d), (D, G, d)
    arrays = _signs(seed, (B, D), (B, D), Q, K, K, (N * h, d, D))
    In, dOut, W_Q, W_K, W_V, W_O = arrays
    asked = f"shared_keys on {N} chips"
    request = program.request(
        *arrays,
        mesh={"Y": N},
        in_specs=(P(), P(), P(None, "Y"), P(), P(), P("Y")),
        out_specs=(P("Y"), P("Y")),
    )
    answer = student.program("shared_keys", request)
    words = "the queries of a chip are its own"
    _refuse_gathered_weights(answer, asked, (2, 3, 4, 5), words)
    got_Out, got_dW_K = answer.run(*arrays)

    def grouped(number):
        return _grouped_heads(*arrays, number)

    Out, dW_K = grouped(lambda n: n * G // (N * h))
    dealt, _ = grouped(lambda n: n // h % G)
    first, _ = grouped(lambda n: 0)
    own = [
        _grouped_heads(
            In,
            dOut,
            mine,
            W_K,
            W_V,
            O,
            lambda n, c=c: (c * h + n) * G // N // h,
        )
        for c, (mine, O) in enumerate(
            zip(np.split(W_Q, N, axis=1), np.split(W_O, N), strict=True)
        )
    ]
    terms, parts = (np.concatenate(each) for each in zip(*own, strict=True))
    compare.close(
        f"{asked}, Out",
        got_Out,
        np.concatenate([Out] * N),
        likely=[
            (terms, "each chip returns what its own heads add"),
            (np.concatenate([first] * N), "you take the first keys for all"),
            (
                np.concatenate([dealt] * N),
                "you deal keys in turn; neighbours share them",
            ),
            (np.concatenate([Out] * N) / N, MEAN),
        ],
        show=True,
        place=compare.on_devices(B),
    )
    compare.close(
        f"{asked}, dW_K",
        got_dW_K,
        np.concatenate([dW_K] * N),
        likely=[
            (
                parts,
                "each chip returns what its own queries found: the gradient "
                "of a weight with copies is a sum over those who have one",
            ),
            (np.concatenate([dW_K] * N) / N, MEAN),
            (
                np.concatenate([dW_K] * N) * N,
                f"yours is {N} times too large: you add up what is the same on "
                "all chips, dOut, or a gradient that jax.vjp has added up",
            ),
        ],
        show=True,
        place=compare.on_devices(D),
    )
    answer.at_most(volume=2 * In.nbytes + 2 * W_K.nbytes)


def grade_shared_keys():
    """Question 5 with other chips and heads."""
    for devices, groups in ((8, 4), (8, 2), (6, 3)):
        draw = question.draw(f"shared_keys on {devices}, {groups}")
        sizes = draw.integers(1, 4, 2).tolist()
        check_shared_keys(devices, groups, *sizes, _seed(draw))


def _by_differences(dNormed, In, gain, tiny=1e-6, axis=1):
    """dIn and dgain from differences of the loss, in 64 bits.

    axis  along which a mean is taken; None for one mean of all tokens
    """

    def loss(x, gain):
        r = 1 / np.sqrt(np.mean(x**2, axis=axis, keepdims=True) + tiny)
        return np.sum(dNormed * gain * x * r)

    def slope(at, change):
        found = np.zeros(at.shape)
        for place in np.ndindex(at.shape):
            step = np.zeros(at.shape)
            step[place] = 1e-7
            found[place] = (change(at + step) - change(at - step)) / 2e-7
        return found

    return (
        slope(In, lambda x: loss(x, gain)),
        slope(gain, lambda one: loss(In, one)),
    )


# Differences of a loss near 30 over 2e-7 are exact to about 3e-8, and float32
# loses a digit or two in the difference of two terms of dIn: together far less
# than this part of the largest entry, and any mistake is far more.
ROUNDING = {"rel": 1e-4}


def _in_columns(dNormed, In, gain, N):
    """dIn if each of N chips takes means over its own features alone."""
    parts = [np.split(x, N, axis=-1) for x in (dNormed, In, gain)]
    own = [_by_differences(*part)[0] for part in zip(*parts, strict=True)]
    return np.concatenate(own, axis=1)


def _half_mean(dNormed, In, gain, N):
    """dIn with the right norm, and a mean of g x over a chip's own features."""
    r = 1 / np.sqrt(np.mean(In**2, axis=1, keepdims=True) + 1e-6)
    g = dNormed * gain
    parts = np.split(g * In, N, axis=1)
    wide = [np.broadcast_to(x.mean(1, keepdims=True), x.shape) for x in parts]
    return r * g - In * r**3 * np.concatenate(wide, axis=1)


@question.visible("norm_gradients", (2, 4, 3, 5, 5))
def check_norm_gradients(M, N, B, D, seed=0):
    """Question 6: gradients of a norm, tokens over M chips, features over N.

    M, N     chips along X and Y
    B, D     tokens and features of one chip
    seed     of the arrays
    """
    draw, asked = np.random.default_rng(seed), f"norm_gradients on {M} x {N}"
    sizes = [(M * B, N * D), (M * B, N * D), (N * D,)]
    arrays = [draw.normal(1, 1, size).astype(np.float32) for size in sizes]
    arrays[1][0] *= 1e-3  # a token so small that the 1e-6 matters
    request = program.request(
        *arrays,
        mesh={"X": M, "Y": N},
        in_specs=(P("X", "Y"), P("X", "Y"), P("Y")),
        out_specs=(P("X", "Y"), P(("X", "Y"))),
    )
    answer = student.program("norm_gradients", request)
    got_dIn, got_dgain = answer.run(*arrays)
    dNormed, In, gain = wide = [np.float64(x) for x in arrays]
    dIn, dgain = _by_differences(*wide)
    r = 1 / np.sqrt(np.mean(In**2, axis=1, keepdims=True) + 1e-6)
    # Token by token: the small one has a slope a thousand times steeper.
    scale = np.abs(dIn).max(axis=1, keepdims=True)
    compare.close(
        f"{asked}, dIn, over the largest of its token",
        compare.real_array(asked, got_dIn, dIn.shape) / scale,
        dIn / scale,
        **ROUNDING,
        likely=[
            (
                _in_columns(*wide, N) / scale,
                "each chip takes means over its own features; a norm is that "
                "of all, along Y",
            ),
            (
                _half_mean(*wide, N) / scale,
                "r is right, but your mean of g x runs over a chip's own "
                "features only",
            ),
            (
                r * dNormed * gain / scale,
                "you forget that the norm itself depends on the token",
            ),
            (
                _by_differences(*wide, tiny=0)[0] / scale,
                "you leave out the 1e-6 under the root, which counts for a "
                "token as small as this one",
            ),
            (
                _by_differences(*wide, axis=None)[0] / scale,
                "you take one mean of all tokens; each token has its own norm",
            ),
        ],
        show=True,
        place=compare.on_devices(B),
    )
    every = np.tile(dgain, M)
    rows = np.split(dNormed * In * r, M)
    own = np.concatenate([part.sum(0) for part in rows])
    over_Y = np.tile(dgain.reshape(N, D).sum(0), M * N)
    compare.close(
        f"{asked}, dgain",
        got_dgain,
        every,
        **ROUNDING,
        likely=[
            (
                own,
                "each chip returns the gradient over its own tokens: you "
                "forget the sum over X, and the copies of the gain would "
                "drift apart",
            ),
            (every / M, "you took a mean over X, and a gradient is a sum"),
            (
                every * M,
                f"yours is {M} times too large: you add up twice; jax.vjp does "
                "it by itself for a gain that is the same along X",
            ),
            (
                over_Y,
                "you add up over Y too, whose chips have other features",
            ),
            (
                np.tile(own.reshape(M, N, D).sum(1), (1, N)).ravel(),
                "you add up over Y, whose chips have other features; the "
                "tokens lie along X",
            ),
            (
                np.tile(dgain * gain, M),
                "yours has the gain in it; the derivative by the gain has not",
            ),
        ],
        show=True,
        place=compare.on_devices(D),
    )
    answer.at_most(volume=2 * arrays[0].itemsize * (2 * B + D))


def grade_norm_gradients():
    """Question 6 on other chips."""
    for M, N in ((2, 2), (4, 2)):
        draw = question.draw(f"norm on {M} x {N}")
        sizes = draw.integers(2, 6, 2).tolist()
        check_norm_gradients(M, N, *sizes, _seed(draw))


# --- how far it goes ---------------------------------------------------------


def _mlp_counts(F, gated, itemsize, Y=4, B=16, D=64):
    """FLOPs of a chip and bytes of the forward pass, from its program."""

    def body(In, W_in, *others):
        In = all_gather(In, "Y", axis=1, tiled=True)
        Tmp = In @ W_in
        for W in others[:-1]:
            Tmp = Tmp * (In @ W)
        Out = Tmp @ others[-1]
        return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)

    dtype = {1: jnp.int8, 2: jnp.bfloat16, 4: jnp.float32}[itemsize]
    many = 2 if gated else 1
    forward = jax.shard_map(
        body,
        mesh=_mesh(Y),
        in_specs=(COLUMNS, *[COLUMNS] * many, ROWS),
        out_specs=COLUMNS,
    )
    sizes = [(B, D), *[(D, F)] * many, (F, D)]
    shapes = [jax.ShapeDtypeStruct(size, dtype) for size in sizes]
    return (
        count.flops(forward, *shapes),
        count.volume(count.collectives(forward, *shapes)),
    )


def _played_bandwidth(link_bw, rings):
    """Bytes/s of an axis of 64 chips, from the ring simulator."""
    V = 64 * 2**20
    took = ring.reduce_scatter(V, 64, link_bw=link_bw, wrap=rings).seconds
    return V * 63 / 64 / took


def _counted_limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    """Chips at which counted FLOPs and counted bytes take equally long."""
    flops, V = _mlp_counts(F, gated, itemsize)
    comm = V / (n_axes * _played_bandwidth(link_bw, rings))
    return 4 * flops / C / comm


@question.visible(
    "limit",
    (28672, hw.V5P.flops, hw.V5P.link_bw, 1, False, 2, True),
    (28672, hw.V5P.flops, hw.V5P.link_bw, 3, True, 2, True),
    (14336, hw.V5E.flops_int8, hw.V5E.link_bw, 1, True, 1, False),
    (14336, hw.V5E.flops, hw.V5E.link_bw, 1, True, 4, True),
)
def check_limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    """Question 7: chips up to which TP is compute-bound."""
    how = n_axes, gated, itemsize, rings
    expected = _counted_limit(F, C, link_bw, *how)
    likely = [
        (
            _counted_limit(F, C, link_bw, n_axes, not gated, itemsize, rings),
            "you leave out the gate, a third matrix"
            if gated
            else "you count a gate; this MLP has none",
        ),
        (expected * 4 / 3, "you count four matrices; a gated MLP has three"),
        (
            expected / (2 if gated else 1),
            "you take F for both hidden matrices together; it is each one's",
        ),
        (1 / expected, "yours is upside down"),
    ]
    if expected != int(expected):
        likely.append((int(expected), "you cut the fraction off"))
    if not rings:
        likely.append((expected * 2, "you take rings; these are lines"))
    if n_axes > 1:
        likely.append((expected / n_axes, "you use the links of one axis"))
    if itemsize != 2:
        likely.append((expected * itemsize / 2, "you take bf16 for everything"))
    if itemsize > 2:
        likely.append((expected * itemsize, "you count elements, not bytes"))
    likely += [
        (
            expected / 2,
            "yours is half as many: you use one direction of a ring, or an "
            "AllReduce for a gather and a scatter",
        ),
        (
            expected * 2,
            "yours is twice as many: a gather *and* a scatter, in bytes, "
            "beside the forward pass alone",
        ),
    ]
    compare.close(
        f"limit({F}, {C:g}, {link_bw:g}, {', '.join(map(str, how))})",
        student.call("limit", F, C, link_bw, *how),
        expected,
        likely=likely,
    )


def grade_limit():
    """Question 7 with other models and chips."""
    draw = question.draw("limit")
    for n in range(6):
        F = 4 * int(draw.integers(200, 9000))
        C, link_bw = float(draw.uniform(1e14, 9e14)), draw.uniform(2e10, 9e10)
        axes, size = int(draw.integers(1, 4)), int(draw.choice([1, 2, 4]))
        how = axes, n % 2 == 0, size, n % 3 > 0
        check_limit(F, C, float(link_bw), *how)


def _side_by_side(In, *W):
    """A layer whose halves read the same array, on a chip."""
    In = pcast(In, "Y", to="varying")
    return psum(In @ W[0] @ W[1] + In @ W[2] @ W[3], "Y")


def _both_ways(In, dOut, *W):
    """Out and dIn of that layer."""
    Out, back = jax.vjp(lambda In: _side_by_side(In, *W), In)
    return Out, *back(dOut)


@functools.cache
def _elements_sent(b, s, h, t, forwards=1):
    """Counted from the program of a layer t times as wide."""
    In = jax.ShapeDtypeStruct((b * s, h * t), jnp.bfloat16)
    W = [jax.ShapeDtypeStruct(x, In.dtype) for x in ((h * t, t), (t, h * t))]
    how = {"mesh": _mesh(t), "out_specs": P()}
    weights = (COLUMNS, ROWS) * 2
    once = jax.shard_map(_side_by_side, in_specs=(P(), *weights), **how)
    both = jax.shard_map(_both_ways, in_specs=(P(), P(), *weights), **how)
    sent = count.sent(count.collectives(both, In, In, *W, *W))
    again = count.sent(count.collectives(once, In, *W, *W))
    return Fraction(sent + (forwards - 1) * again, 2 * t)  # bf16 has two bytes


@question.visible(
    "layer, recomputed and at_most",
    ([(1, 2, 4, 2), (1, 3, 8, 4), (2, 2, 3, 8)],),
)
def check_elements(points):
    """Question 8: three formulas, at points (b, s, h, t)."""
    whole, points = "b*s*h*(t - 1)/t", [tuple(point) for point in points]
    compare.formula(
        "layer",
        student.expression("layer"),
        "b s h t",
        _elements_sent,
        points,
        closed=True,
        likely=[
            (
                f"8*{whole}",
                "yours is for halves in a row; side by side they need one f "
                "and one g",
            ),
            (
                f"6*{whole}",
                "you have three AllReduces; what both halves make is added on "
                "the chip, forward and backward",
            ),
            ("4*b*s*h", "yours is the limit of many chips"),
            (
                f"2*{whole}",
                "you take one pass, or let an AllReduce send its array once; "
                "it sends it almost twice",
            ),
            (f"16*{whole}", "you count bytes, not elements"),
        ],
    )
    compare.formula(
        "recomputed",
        student.expression("recomputed"),
        "b s h t",
        functools.partial(_elements_sent, forwards=2),
        points,
        closed=True,
        likely=[
            (f"4*{whole}", "you run the forward pass once; it runs twice"),
            (f"8*{whole}", "you run everything twice"),
            ("6*b*s*h", "yours is the limit of many chips"),
        ],
    )
    compare.limit(
        "at_most",
        student.expression("at_most"),
        student.expression("layer"),
        "b s h t",
        of="t",
        likely=[
            ("2*b*s*h", "you count an AllReduce once"),
            ("6*b*s*h", "yours is the limit of `recomputed`"),
            ("8*b*s*h", "yours is the limit for halves in a row"),
        ],
    )


def grade_elements():
    """Question 8 at other points."""
    draw = question.draw("elements")
    check_elements(draw.integers(1, 9, (6, 4)).tolist())


def _gated_mlp(In, W_in, W_gate, W_out):
    """The forward pass on a chip."""
    In = all_gather(In, "Y", axis=1, tiled=True)
    Out = (jax.nn.silu(In @ W_gate) * (In @ W_in)) @ W_out
    return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)


@functools.cache
def _gated_counts(Y, F, D=4096, B=64):
    """FLOPs and bytes of the forward pass on one of Y chips."""
    forward = jax.shard_map(
        _gated_mlp,
        mesh=_mesh(Y),
        in_specs=(COLUMNS, COLUMNS, COLUMNS, ROWS),
        out_specs=COLUMNS,
    )
    shapes = [
        jax.ShapeDtypeStruct(size, jnp.bfloat16)
        for size in ((B, D), (D, F), (D, F), (F, D))
    ]
    V = count.volume(count.collectives(forward, *shapes)) if Y > 1 else 0
    return count.flops(forward, *shapes), V


def _share_of_math(Y, F, C, W, matrices=3, sends=2):
    """Arithmetic over the time of the forward pass, counted, in turn."""
    flops, V = _gated_counts(Y, F)
    math = flops / C * matrices / 3
    return math / (math + V * sends / 2 / W)


def _tried_degree(F, heads, kv_heads, node, C, W, part, whole=True, **how):
    """The largest of all powers of two that may be, one after the other."""
    powers = [2**k for k in range(9) if 2**k <= node]
    fits = [Y for Y in powers if heads % Y == 0]
    fits = [Y for Y in fits if kv_heads % Y == 0 or not whole]
    return max(Y for Y in fits if _share_of_math(Y, F, C, W, **how) >= part)


V5P_W = 2 * hw.V5P.link_bw


@question.visible(
    "degree",
    (28672, 64, 8, 16, hw.V5P.flops, V5P_W, 0.6),
    (28672, 64, 64, 16, hw.V5P.flops, V5P_W, 0.6),
    (14336, 32, 8, 8, hw.H100.flops, hw.H100.link_bw, 0.6),
    (2**12, 64, 64, 64, 6.0 * 2**40, 2.0**32, 0.5),
    (256, 64, 64, 64, 1e15, 1e11, 0.99),
    (2**16, 64, 64, 6, 1e14, 9e11, 0.1),
    (2**16, 64, 64, 4, 1e14, 9e11, 0.1),
    (2**16, 64, 4, 64, 1e14, 9e11, 0.1),
    (2**16, 8, 64, 64, 1e14, 9e11, 0.1),
)
def check_degree(F, heads, kv_heads, node, C, W, part):
    """Question 9: the largest power of two that TP should have."""
    given = F, heads, kv_heads, node, C, W, part
    expected, most = _tried_degree(*given), max(node, heads, 256)
    wider = F, heads, kv_heads, most, C, W, part
    compare.equal(
        f"degree({F}, {heads}, {kv_heads}, {node}, {C:g}, {W:g}, {part:g})",
        student.call("degree", *given),
        expected,
        likely=[
            (
                _tried_degree(*given[:-1], part * (1 + 1e-9)),
                "you ask for more than that part of the time; exactly it is "
                "enough",
            ),
            (
                _tried_degree(*given, whole=False),
                "you copy key-value heads",
            ),
            (_tried_degree(*wider), "you go beyond the node"),
            (
                _tried_degree(*given, matrices=2),
                "you count two matrices; a gated MLP has three, and sends one "
                "gather and one scatter for them",
            ),
            (
                _tried_degree(*given, sends=4),
                "you use AllReduces; a gather and a scatter are enough",
            ),
            (
                _tried_degree(*given[:-1], part / (1 + part)),
                "you let them overlap, or take the share of the wrong whole; "
                "arithmetic and communication take turns",
            ),
            (
                _tried_degree(*given[:-1], 0.0),
                "you leave out the time that wires take",
            ),
            (2 * expected, "yours is one doubling too many"),
            (expected // 2, "yours is one doubling too few"),
            (8, "yours is 8 whatever is asked"),
            (1, "you find no way at all; more chips would do"),
        ],
    )


def grade_degree():
    """Question 9 with other models and chips."""
    draw = question.draw("degree")
    for _ in range(8):
        F = 256 * int(draw.integers(8, 300))
        heads = int(draw.choice([24, 40, 64, 128]))
        few = heads // int(draw.choice([1, 2, 8]))
        node = int(draw.choice([4, 6, 8, 16, 64]))
        C, W = float(draw.uniform(2e14, 2e15)), float(draw.uniform(9e10, 9e11))
        part = float(draw.choice([0.3, 0.45, 0.6, 0.8, 0.9]))
        check_degree(F, heads, few, node, C, W, part)
    for Y in (2, 8, 32):  # just possible, and just not
        F, C, W = 256 * int(draw.integers(8, 300)), 5e14, 3e11
        for near in (0.99, 1.01):
            part = near * _share_of_math(Y, F, C, W)
            check_degree(F, 64, 64, 64, C, W, part)


def _measured(speeds, chips, sequences):
    """Drops of a series of speeds, what is left, and the speed of each run."""
    pairs = zip(speeds, speeds[1:], strict=False)
    drops = [float(1 - Fraction(new, old)) for old, new in pairs]
    left = [float(Fraction(v, speeds[0])) for v in speeds[1:]]
    ways = [2 ** (n + 1) for n in range(len(speeds))]
    runs = [
        v * w * min(chips // w, sequences)
        for v, w in zip(speeds, ways, strict=True)
    ]
    return drops, left, runs


def _first_best(values):
    """The ways of the largest, the fewest if there are several."""
    values = list(values)
    return 2 ** (1 + values.index(max(values)))


PLAYBOOK = [13923, 12421, 10903, 6246, 2146]


@question.visible(
    "doubled",
    (PLAYBOOK, 1024, 200),  # 128 groups of 8 have a sequence each
    (PLAYBOOK, 1024, 600),  # sequences for all
    (PLAYBOOK, 64, 1),  # one group works
    ([1000, 900, 850], 8, 1),  # one group of all chips
    ([1000, 400, 150, 70], 64, 2),  # never worth it
    ([1000, 500, 250], 256, 9),  # as fast as before
    ([1000, 450, 440, 430], 512, 30),  # worth it in the end
    ([1000, 900, 200, 190], 48, 4),  # worth it, not, and again
)
def check_doubled(speeds, chips, sequences):
    """Question 10: what is left per chip, and the fastest number of ways.

    speeds     throughput of a chip with 2, 4, 8, ... ways
    chips      of the run
    sequences  of a step
    """
    drops, left, runs = _measured(speeds, chips, sequences)
    best = _first_best(runs)
    shown = [round(drop, 3) for drop in drops]
    asked = f"doubled({shown}, {chips}, {sequences})"
    answer = student.call("doubled", drops, chips, sequences)
    got = compare.entries(asked, answer, 2)
    if isinstance(got[0], (int, float)) and isinstance(got[1], list):
        compare.wrong(asked, got, "the list comes first, then the ways")
    if isinstance(got[0], list) and len(got[0]) == len(left) + 1:
        reason = "your list has one too many: what is left after each doubling"
        compare.wrong(asked, got, reason)
    compare.close(
        f"{asked}: left",
        got[0],
        left,
        likely=[
            (
                [1 - drop for drop in drops],
                "you take each drop from the start; it is from the one before",
            ),
            (
                (1 - np.cumsum(drops)).tolist(),
                "you add drops up; what is left is multiplied",
            ),
            ([1 - each for each in left], "you give what is lost"),
        ],
    )
    degrees = [2 ** (n + 1) for n in range(len(speeds))]
    groups = [v * w for v, w in zip(speeds, degrees, strict=True)]
    awake = [w for w in degrees if chips // w <= sequences] or degrees[-1:]
    rising = [new > old for old, new in zip(runs, runs[1:], strict=False)]
    steps = rising.index(False) if False in rising else len(rising)
    compare.equal(
        f"{asked}: fastest",
        got[1],
        best,
        likely=[
            (
                2,
                "yours is the fastest for one chip; but with so many groups "
                "some have no sequence, and their chips stand idle",
            ),
            (
                _first_best(groups),
                "yours is the fastest for one group; here several share the "
                "batch, and all chips of the run count",
            ),
            (
                awake[0],
                "you take the fewest ways at which no group is idle; compare "
                "the speed of the run at all degrees",
            ),
            (
                2 * _first_best(runs[1:]),
                "you forget that 2 ways, where it starts, may be the fastest",
            ),
            (2 ** (1 + steps), "you stop at the first doubling that loses"),
            (degrees[-1], "you take the most ways; chips get slower"),
            (best // 2, "you count from one chip; it starts with 2 ways"),
            (best.bit_length() - 2, "you count doublings, not ways"),
            (best.bit_length() - 1, "you count doublings, not ways"),
        ],
    )


def grade_doubled():
    """Question 10 with other measurements."""
    draw = question.draw("doubled")
    for long in (2, 4, 6, 6):
        slower = [1000]
        for part in draw.uniform(0.3, 0.98, long):
            slower.append(max(1, int(slower[-1] * part)))
        chips = 128 * int(draw.integers(1, 9))
        sequences = int(draw.integers(1, chips // 4))
        check_doubled(slower, chips, sequences)
