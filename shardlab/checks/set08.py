"""Set 08, tensor parallelism: what moves, what it costs, and how far it goes.

Traffic is counted in programs, those of the checks and those handed in; values
come from NumPy on one chip, gradients of a norm from differences.
"""

import functools
import re
from fractions import Fraction
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from jax.lax import (
    all_gather,
    axis_index,
    axis_size,
    psum,
    psum_scatter,
)
from jax.sharding import AbstractMesh, AxisType

from shardlab import count, hw
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer

__all__ = [
    "check_beside",
    "check_deep",
    "check_degree",
    "check_doubled",
    "check_far",
    "check_halved",
    "check_mixed",
    "check_norm_gradients",
    "check_order",
    "check_shared_keys",
    "grade_beside",
    "grade_deep",
    "grade_degree",
    "grade_doubled",
    "grade_far",
    "grade_halved",
    "grade_mixed",
    "grade_norm_gradients",
    "grade_order",
    "grade_shared_keys",
]

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


def _arrays(seed, *sizes):
    """Small whole numbers in float32: their products stay exact."""
    draw = np.random.default_rng(seed)
    return [draw.integers(-3, 4, size).astype(np.float32) for size in sizes]


def _refuse_gathered_weights(answer, asked, weights, words):
    """Insist that no weight, nor what is made of one, is gathered."""
    if answer.gathered(of=weights) > 0:
        raise WrongAnswer(f"{asked}: you gather weights; {words}")


STAY = "they stay where they are"
MEAN = "you took a mean, not the sum"


def _softmax(x):
    """The softmax of each row."""
    large = np.exp(x)
    return large / large.sum(axis=-1, keepdims=True)


def _slopes(S, dS, mean=None):
    """The gradient before a softmax, from S and what comes back to it.

    mean  of dS over each row of S; None takes the right one
    """
    right = (S * dS).sum(axis=-1, keepdims=True)
    return S * (dS - (right if mean is None else mean))


@question.visible("mixed", (4, 6, 2, 5, 1), (2, 3, 3, 4, 2))
def check_mixed(N, B, D, F, seed=0):
    """Question 2: both passes of a softmax whose columns N chips have.

    N, B  chips and tokens
    D, F  sizes of the weights, a chip's part of each
    seed  of the arrays
    """
    draw, D, F = np.random.default_rng(seed), N * D, N * F
    arrays = [
        draw.normal(0, 1 / np.sqrt(D), size).astype(np.float32)
        for size in ((B, D), (B, D), (D, F), (F, D))
    ]
    request = program.request(
        *arrays,
        mesh={"Y": N},
        in_specs=(P(), P(), COLUMNS, ROWS),
        out_specs=(P("Y"), P("Y"), COLUMNS, ROWS),
    )
    asked = f"mixed on {N} chips"
    answer = student.program("mixed", request)
    _refuse_gathered_weights(answer, asked, (2, 3), STAY)
    results = answer.run(*arrays)
    In, dOut, W_in, W_out = [np.float64(x) for x in arrays]
    S, dS = _softmax(In @ W_in), dOut @ W_out.T
    dTmp, slopes = _slopes(S, dS), _slopes(S, dS, 0)
    own = np.concatenate(
        [_softmax(In @ left) for left in np.split(W_in, N, axis=1)], axis=1
    )
    parts = zip(np.split(S, N, axis=1), np.split(dS, N, axis=1), strict=True)
    partly = np.concatenate([_slopes(*part) for part in parts], axis=1)
    small = "your sum of S dS runs over a chip's own columns; it is over all F"
    none = "you forget that each S depends on all columns, by what it is over"
    outs = [left @ right for left, right, _ in _pairs(N, S, W_out, W_in)]
    backs = [left @ right.T for left, _, right in _pairs(N, dTmp, W_out, W_in)]

    def everywhere(x):
        return np.concatenate([x] * N)

    likely = {
        "Out": [
            (
                everywhere(own @ W_out),
                "each chip's softmax runs over its own columns; divide by the "
                "sum over all F",
            ),
            (
                np.concatenate(outs),
                "each chip returns a term of its own: g is missing",
            ),
            (everywhere(S @ W_out) / N, MEAN),
        ],
        "dIn": [
            (everywhere(partly @ W_in.T), small),
            (everywhere(slopes @ W_in.T), none),
            (
                np.concatenate(backs),
                "each chip returns a term of its own: you forget f, a copy "
                "forward and an AllReduce on the way back",
            ),
            (
                everywhere(dTmp @ W_in.T) * N,
                f"yours is {N} times too large: dOut is the same on all chips, "
                "and the derivative of g is a copy",
            ),
            (everywhere(dTmp @ W_in.T) / N, MEAN),
        ],
        "dW_in": [
            (In.T @ partly, small),
            (In.T @ slopes, none),
            (
                _added_blocks(In.T @ dTmp, N, 1),
                "you add up over chips; each has columns of its own, and their "
                "gradient is complete",
            ),
        ],
        "dW_out": [
            (
                _added_blocks(S.T @ dOut, N, 0),
                "you add up over chips; each has rows of its own, and their "
                "gradient is complete",
            ),
        ],
    }
    right = {
        "Out": everywhere(S @ W_out),
        "dIn": everywhere(dTmp @ W_in.T),
        "dW_in": In.T @ dTmp,
        "dW_out": S.T @ dOut,
    }
    for (name, exact), found in zip(right.items(), results, strict=True):
        compare.close(
            f"{asked}, {name}",
            found,
            exact,
            **ROUNDING,
            likely=likely[name],
            show=True,
            place=compare.on_devices(B) if name in ("Out", "dIn") else None,
        )
    activations = 4 * arrays[0].nbytes
    if answer.volume() >= activations + 4 * B * arrays[0].itemsize:
        raise WrongAnswer(
            f"{asked}: you move {answer.volume():,} bytes, and "
            f"{activations + 2 * B * arrays[0].itemsize:,} are enough: one sum "
            "of a number for each token, forward; what the way back needs is "
            "on all chips already"
        )
    answer.at_most(volume=activations + 2 * B * arrays[0].itemsize)


def _pairs(N, x, W_out, W_in):
    """A chip's columns of an array, its rows of W_out and columns of W_in."""
    return zip(
        np.split(x, N, axis=1),
        np.split(W_out, N),
        np.split(W_in, N, axis=1),
        strict=True,
    )


def _added_blocks(x, N, axis):
    """An array in which each of N blocks is the sum of them all."""
    return np.concatenate([sum(np.split(x, N, axis))] * N, axis)


def grade_mixed():
    """Question 2 on other chips."""
    for devices in (2, 8):
        draw = question.draw(f"mixed on {devices}")
        sizes = draw.integers(3, 9, 3).tolist()
        check_mixed(devices, *sizes, _seed(draw))


def _three(In, dOut, W_1, W_2, W_3, late=None, early=None):
    """Out, dIn, dW_1, dW_2, dW_3 in NumPy; other masks if they are given."""
    before, H = In @ W_1, np.maximum(In @ W_1, 0)
    middle = H @ W_2
    G = np.maximum(middle, 0)
    dG = (dOut @ W_3.T) * (middle > 0 if late is None else late)
    dH = (dG @ W_2.T) * (before > 0 if early is None else early)
    return G @ W_3, dH @ W_1.T, In.T @ dH, H.T @ dG, G.T @ dOut


def _relu_of_terms(N, In, W_1, W_2, W_3):
    """Out if each chip takes max of its own term in the middle."""
    halves = zip(np.split(W_1, N, axis=1), np.split(W_2, N), strict=True)
    G = sum(np.maximum(np.maximum(In @ a, 0) @ b, 0) for a, b in halves)
    return G @ W_3


@question.visible("deep", (4, 6, 2, 3, 2), (2, 3, 3, 4, 3))
def check_deep(N, B, D, F, seed=0):
    """Question 3: both passes of three matrices, activations cut over N chips.

    N, B, D, F, seed  as in question 2
    """
    D, F = N * D, N * F
    arrays = _arrays(seed, (B, D), (B, D), (D, F), (F, F), (F, D))
    In, dOut, W_1, W_2, W_3 = arrays
    asked = f"deep on {N} chips"
    weights = COLUMNS, ROWS, ROWS
    request = program.request(
        *arrays,
        mesh={"Y": N},
        in_specs=(COLUMNS, COLUMNS, *weights),
        out_specs=(COLUMNS, COLUMNS, *weights),
    )
    answer = student.program("deep", request)
    _refuse_gathered_weights(answer, asked, (2, 3, 4), STAY)
    if "all_reduce" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you use an AllReduce (psum) where a gather or a scatter "
            "was asked for: what is to stay cut needs only a part of a sum"
        )
    answer.allow("all_gather", "psum_scatter")
    exact = _three(*arrays)
    no_late, no_early = _three(*arrays, late=1), _three(*arrays, early=1)
    no_mask = "you forget the derivative of a max(., 0)"
    early_max = (_relu_of_terms(N, In, W_1, W_2, W_3), *[None] * 4)
    own = [None, None, None, _own_rows(N, *arrays), None]
    pieces = _own_columns_back(N, *arrays)
    names = "Out", "dIn", "dW_1", "dW_2", "dW_3"
    results = answer.run(*arrays)
    for n, name in enumerate(names):
        guesses = [
            (
                early_max[n],
                "you take max(., 0) of terms; add them up first, then take it",
            ),
            (no_late[n], f"{no_mask}, the one after W_2"),
            (no_early[n], f"{no_mask}, the one after W_1"),
            (
                own[n],
                "you use a chip's own columns of dG; its rows of W_2 reach all "
                "of F",
            ),
            (
                pieces[n],
                "each chip keeps a part of its own term of dIn: you do not sum",
            ),
            (exact[n] / N, MEAN),
            (N * exact[n], f"yours is {N} times too large"),
        ]
        compare.close(
            f"{asked}, {name}",
            results[n],
            exact[n],
            likely=[guess for guess in guesses if guess[0] is not None],
            show=True,
        )
    answer.at_most(volume=2 * (2 * In.nbytes + B * F * In.itemsize))


def _own_rows(N, In, dOut, W_1, W_2, W_3):
    """dW_2 if each chip knows its own columns of dG, and no others."""
    H = np.maximum(In @ W_1, 0)
    dG = (dOut @ W_3.T) * (H @ W_2 > 0)
    rows = []
    for n, mine in enumerate(np.split(H, N, axis=1)):
        known = np.zeros_like(dG)
        columns = np.array_split(np.arange(dG.shape[1]), N)[n]
        known[:, columns] = dG[:, columns]
        rows.append(mine.T @ known)
    return np.concatenate(rows)


def _own_columns_back(N, In, dOut, W_1, W_2, W_3):
    """The results if each chip keeps its columns of its own term of dIn."""
    before, H = In @ W_1, np.maximum(In @ W_1, 0)
    dG = (dOut @ W_3.T) * (H @ W_2 > 0)
    dH = (dG @ W_2.T) * (before > 0)
    halves = zip(np.split(dH, N, axis=1), np.split(W_1, N, axis=1), strict=True)
    kept = [np.split(a @ b.T, N, axis=1)[n] for n, (a, b) in enumerate(halves)]
    return None, np.concatenate(kept, axis=1), None, None, None


def grade_deep():
    """Question 3 on other chips."""
    for devices in (2, 8):
        draw = question.draw(f"deep on {devices}")
        sizes = draw.integers(2, 7, 3).tolist()
        check_deep(devices, *sizes, _seed(draw))


def _signs(seed, *sizes):
    """Numbers -1, 0 and 1 in float32: long products stay exact."""
    draw = np.random.default_rng(seed)
    return [draw.integers(-1, 2, size).astype(np.float32) for size in sizes]


def _of_heads(In, W_Q, W_K, W_V, W_O, tokens, mix=_softmax):
    """Terms of Out in NumPy, a head after the other, as a list.

    tokens  function of a head's number: which tokens' queries it answers,
            and which keys it may look at
    mix     what makes of scores what values are multiplied with
    """
    terms = []
    for n, weights in enumerate(zip(W_Q, W_K, W_V, W_O, strict=True)):
        asks, looks = tokens(n)
        Q, K, V = (In @ W for W in weights[:3])
        term = np.zeros((len(In), weights[3].shape[1]))
        S = mix(Q[asks] @ K[looks].T)
        term[asks] = S @ V[looks] @ weights[3]
        terms.append(term)
    return terms


@question.visible("halved", (6, 24, 1, 2), (2, 24, 2, 1))
def check_halved(N, B, D, d, seed=0):
    """Question 4: attention with two chips for each head.

    N, B  chips and tokens
    D, d  width of the tokens, a chip's part, and of a head
    seed  of the arrays
    """
    draw, D = np.random.default_rng(seed), N * D
    heads = [
        draw.normal(0, 1, (N // 2, *size)).astype(np.float32)
        for size in ((D, d), (D, d), (D, d), (d, D))
    ]
    In = draw.normal(0, 1, (B, D)).astype(np.float32)
    copies = [np.repeat(W, 2, axis=0) for W in heads]
    W_Q, W_K, W_V = (np.concatenate(list(W), axis=1) for W in copies[:3])
    arrays = In, W_Q, W_K, W_V, np.concatenate(list(copies[3]))
    asked = f"halved on {N} chips"
    request = program.request(
        *arrays,
        mesh={"Y": N},
        in_specs=(P(), COLUMNS, COLUMNS, COLUMNS, ROWS),
        out_specs=P("Y"),
    )
    answer = student.program("halved", request)
    words = "or what heads have made of them; terms of Out are added up"
    _refuse_gathered_weights(answer, asked, (1, 2, 3, 4), words)
    got = answer.run(*arrays)
    if len(got) in (len(In), len(In) // 2 * N):
        raise WrongAnswer(
            f"{asked}: each of your chips returns a part of Out, and all of it "
            "was asked for"
        )
    wide = [np.float64(W) for W in copies]
    whole, half = slice(None), (slice(0, B // 2), slice(B // 2, B))

    def made(tokens, **mix):
        return _of_heads(np.float64(In), *wide, tokens, **mix)

    def positive(scores):
        return np.maximum(scores, 0)

    def everywhere(x):
        return np.concatenate([x] * N)

    def taken(chip):
        return half[chip % 2], whole

    terms, Out = made(taken), sum(made(taken))
    compare.close(
        f"{asked}, Out",
        got,
        everywhere(Out),
        **ROUNDING,
        likely=[
            (
                everywhere(2 * Out),
                "yours is twice too large: both chips of a head do all of it",
            ),
            (
                everywhere(sum(made(lambda n: (half[n >= N / 2], whole)))),
                "the first half of your chips takes the first tokens; the two "
                "chips of a head are neighbours",
            ),
            (
                everywhere(sum(made(lambda n: (half[n // 2 % 2], whole)))),
                "both chips of a head take the same tokens; they are 2n and "
                "2n + 1",
            ),
            (
                everywhere(sum(made(lambda n: (half[n % 2], half[n % 2])))),
                "your queries look at keys of their own half; they need all",
            ),
            (
                everywhere(sum(made(lambda n: (whole, half[n % 2])))),
                "you halve the keys; a softmax runs over all of them, so it is "
                "queries that can be shared out",
            ),
            (
                everywhere(sum(terms[::2])),
                "the later tokens have nothing: the second chip of a head does "
                "not take them",
            ),
            (
                everywhere(sum(made(taken, mix=positive))),
                "that is `attend`; here a head has a softmax of its scores",
            ),
            (np.concatenate(terms), "each chip returns a term: g is missing"),
            (everywhere(Out) / N, MEAN),
        ],
        show=True,
        place=compare.on_devices(B),
    )
    _refuse_idle_twins(asked, answer, request, B)
    answer.at_most(volume=2 * In.nbytes)


def _refuse_idle_twins(asked, answer, request, B):
    """Insist that a chip makes the scores of half of the queries."""
    said = answer.types(student.types("halved", request))
    printed = compare.entries(asked, said, None)
    products = [kind for name, *kind in printed if name == "dot_general"]
    sizes = [
        prod(int(size) for size in re.findall(r"\d+", shape))
        for (kind,) in products
        for shape in re.findall(r"\[([^\]]*)\]", kind)[:1]
    ]
    scores = sum(size for size in sizes if size >= B * B // 2)
    if scores > B * B // 2:
        raise WrongAnswer(
            f"{asked}: a chip of yours makes {scores:,} scores, and half of "
            f"them are {B * B // 2:,}: each of the two chips of a head takes "
            "the queries of half of the tokens"
        )


def grade_halved():
    """Question 4 on other chips."""
    for devices in (2, 6, 8):
        draw = question.draw(f"halved on {devices}")
        B = 2 * int(draw.integers(20, 30))
        check_halved(devices, B, 1, int(draw.integers(1, 3)), _seed(draw))


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


def _gated_forward(In, W_in, W_gate, W_out):  # In[B, D_Y]  W[D, F_Y]
    In = all_gather(In, "Y", axis=1, tiled=True)
    Out = ((In @ W_gate) * (In @ W_in)) @ W_out
    return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)


def _gated_backward(In, dOut, G, U, W_in, W_gate, W_out):
    """The way back on a chip that has kept its columns of In."""
    In = all_gather(In, "Y", axis=1, tiled=True)
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    dIn = dG @ W_gate.T + dU @ W_in.T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, In.T @ dU, In.T @ dG, (G * U).T @ dOut


@functools.cache
def _pass_counts(F, back, Y=4, B=4, D=4):
    """FLOPs of all chips and bytes of a pass, counted in its program."""
    shapes = [
        jax.ShapeDtypeStruct(size, jnp.bfloat16)
        for size in ((B, D), (B, Y * F), (D, Y * F), (Y * F, D))
    ]
    In, hidden, left, right = shapes
    kinds = [COLUMNS] * 4 + [ROWS]
    arguments, out = [In, left, left, right], COLUMNS
    if back:
        arguments[1:1] = [In, hidden, hidden]
        kinds, out = [COLUMNS] * 6 + [ROWS], (*[COLUMNS] * 3, ROWS)
    program_of_chip = jax.shard_map(
        _gated_backward if back else _gated_forward,
        mesh=_mesh(Y),
        in_specs=tuple(kinds[-len(arguments) :]),
        out_specs=out,
    )
    flops = count.flops(program_of_chip, *arguments)
    V = count.volume(count.collectives(program_of_chip, *arguments))
    return int(flops), int(V)  # a chip's, for Y times the width: those of all


def _crossing(back, F, C, W):
    """Chips at which arithmetic and communication of a pass take as long."""
    flops, V = _pass_counts(F, back)
    return Fraction(flops * W, C * V)


def _most(F, C, W):
    """One chip's time over what is left of it with any number of chips."""
    counts = [_pass_counts(F, back) for back in (False, True)]
    flops, V = map(sum, zip(*counts, strict=True))
    return Fraction(flops * W, C * V)


@question.visible(
    "forward, backward and most",
    ([(6, 5, 7), (28672, int(hw.V5P.flops), 2 * int(hw.V5P.link_bw))],),
)
def check_far(points):
    """Question 7: three formulas, at points (F, C, W)."""
    again = "the backward pass gathers dOut, and In once more, and scatters dIn"
    two = "you count two matrices; a gated MLP has three"
    both = [("2*C/(3*F*W)", "yours is upside down")]
    compare.formula(
        "forward",
        student.expression("forward"),
        "F C W",
        functools.partial(_crossing, False),
        points,
        closed=True,
        likely=[
            ("F*W/C", two),
            (
                "3*F*W/C",
                "two bytes an element, and two arrays move",
            ),
            ("3*F*W/(4*C)", "you use AllReduces, or count all FLOPs once"),
            *both,
        ],
    )
    compare.formula(
        "backward",
        student.expression("backward"),
        "F C W",
        functools.partial(_crossing, True),
        points,
        closed=True,
        likely=[
            ("3*F*W/C", f"you move two arrays, and three move: {again}"),
            ("3*F*W/(2*C)", "you take the arithmetic, or bytes, of forward"),
            ("F*W/C", "it has twice the arithmetic of forward, gate included"),
            ("4*F*W/(3*C)", two),
            ("C/(2*F*W)", "yours is upside down"),
        ],
    )
    compare.formula(
        "most",
        student.expression("most"),
        "F C W",
        _most,
        points,
        closed=True,
        likely=[
            (
                "3*F*W/(2*C)",
                "that is where forward stops; backward still gets faster, and "
                "has more arithmetic",
            ),
            (
                "2*F*W/C",
                "that is where backward stops; forward stopped before",
            ),
            ("9*F*W/(4*C)", f"both passes move more than four arrays: {again}"),
            (
                "7*F*W/(4*C)",
                "you take the mean of both limits; divide time by time",
            ),
            ("6*F*W/(5*C)", two),
            ("9*F*W/(10*C)", "with many chips nothing but the wires is left"),
            ("5*C/(9*F*W)", "yours is upside down"),
        ],
    )


def grade_far():
    """Question 7 with other models and chips."""
    draw = question.draw("far")
    check_far(draw.integers(1, 1000, (5, 3)).tolist())


def _beside_forward(normed, *W):
    """Attention and MLP side by side, on a chip with a part of the tokens."""
    whole = all_gather(normed, "Y", axis=0, tiled=True)
    Out = whole @ W[0] @ W[1] + whole @ W[2] @ W[3]
    return psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)


def _beside_backward(normed, dOut, *W, again=False):
    """The way back; `again` runs forward what it needs once more."""
    if again:
        normed = normed * 2 / 2  # a norm of a chip's own tokens
    whole = all_gather(normed, "Y", axis=0, tiled=True)
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dTmp = dOut @ W[1].T, dOut @ W[3].T
    dW = [whole.T @ x for x in dTmp]
    dW += [(whole @ W[0]).T @ dOut, (whole @ W[2]).T @ dOut]
    back = dTmp[0] @ W[0].T + dTmp[1] @ W[2].T
    dnormed = psum_scatter(back, "Y", scatter_dimension=0, tiled=True)
    return dnormed, *dW


def _gain_added(dnormed):
    """The gradient of a gain, from a chip's own tokens."""
    return psum(dnormed.sum(0), "Y")


@functools.cache
def _beside_sent(b, s, h, t, again=False):
    """Elements from each chip, counted in programs t times as large."""
    tokens = jax.ShapeDtypeStruct((b * s * t, h), jnp.bfloat16)
    W = [jax.ShapeDtypeStruct(x, tokens.dtype) for x in ((h, t), (t, h)) * 2]
    weights, mesh = (COLUMNS, ROWS) * 2, _mesh(t)
    forward = jax.shard_map(
        _beside_forward, mesh=mesh, in_specs=(ROWS, *weights), out_specs=ROWS
    )
    backward = jax.shard_map(
        functools.partial(_beside_backward, again=again),
        mesh=mesh,
        in_specs=(ROWS, ROWS, *weights),
        out_specs=(ROWS, COLUMNS, COLUMNS, ROWS, ROWS),
    )
    gain = jax.shard_map(_gain_added, mesh=mesh, in_specs=ROWS, out_specs=P())
    wide = jax.ShapeDtypeStruct((t, h * t), tokens.dtype)
    sent = count.sent(count.collectives(forward, tokens, *W))
    sent += count.sent(count.collectives(backward, tokens, tokens, *W))
    sent += count.sent(count.collectives(gain, wide))
    return Fraction(sent) / (2 * t)  # bf16 has two bytes


@question.visible(
    "layer, recomputed and at_most",
    ([(1, 2, 4, 2), (1, 3, 8, 4), (2, 2, 3, 8)],),
)
def check_beside(points):
    """Question 8: three formulas, at points (b, s, h, t)."""
    each, points = "h*(t - 1)/t", [tuple(point) for point in points]
    again = (
        "the norm's output is kept cut, so backward gathers it once more, for "
        "the weights"
    )
    known = [
        (
            f"(10*b*s + 2)*{each}",
            "yours is for halves in a row; side by side they share a gather, "
            "and a scatter",
        ),
        (f"10*b*s*{each}", "yours is for halves in a row, without the gain"),
        (f"(4*b*s + 2)*{each}", again),
        (f"4*b*s*{each}", again),
        (
            f"5*b*s*{each}",
            "you leave out the gain, which has seen a chip's own tokens only",
        ),
        (
            f"(5*b*s + 1)*{each}",
            "the gain's gradient is wanted whole on each chip: an AllReduce",
        ),
        (f"(10*b*s + 4)*{each}", "you count bytes, not elements"),
        (f"(6*b*s + 2)*{each}", "attention and MLP read one gathered array"),
    ]
    scattered = "the second scatter brings what nobody reads"
    compare.formula(
        "layer",
        student.expression("layer"),
        "b s h t",
        _beside_sent,
        points,
        closed=True,
        likely=[*known, ("(5*b*s + 2)*h", "yours is the limit of many chips")],
    )
    compare.formula(
        "recomputed",
        student.expression("recomputed"),
        "b s h t",
        functools.partial(_beside_sent, again=True),
        points,
        closed=True,
        likely=[
            (
                f"(7*b*s + 2)*{each}",
                "you run the whole forward pass again; backward gathers the "
                f"norm's output anyway, and {scattered}",
            ),
            (
                f"(6*b*s + 2)*{each}",
                "you gather the norm's output twice, or scatter once more; "
                f"backward gathers it anyway, and {scattered}",
            ),
            (f"2*(5*b*s + 2)*{each}", "you run everything twice"),
            *known,
        ],
    )
    compare.limit(
        "at_most",
        student.expression("at_most"),
        student.expression("layer"),
        "b s h t",
        of="t",
        likely=[
            ("5*b*s*h", "your gain is gone; it is small, and it stays"),
            ("(7*b*s + 2)*h", "a second scatter brings what nobody reads"),
            ("(10*b*s + 2)*h", "yours is the limit for halves in a row"),
        ],
    )


def grade_beside():
    """Question 8 at other points."""
    draw = question.draw("beside")
    check_beside(draw.integers(1, 9, (6, 4)).tolist())


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


def _rate(chip, Y, way="right"):
    """Bytes/s of a gather among Y chips, or what a mistake takes for it."""
    inside, size = hw.axis_bw(chip), chip.node_size
    if chip.axes:
        closed = {"ring": True, "line": False}.get(way, hw.wraps(chip, Y))
        return hw.axis_bw(chip, closed)
    size = {"eight": 8, "full": size - 1}.get(way, size)
    if size >= Y or way == "port":
        return inside
    size += way == "full"
    cards = size * chip.dcn_bw
    slower = min(inside, cards)
    in_turn = 1 / (1 / inside + 1 / cards)
    mistakes = {"card": chip.dcn_bw, "turn": in_turn, "cards": cards}
    return mistakes.get(way, slower)


def _tried_degree(
    name, chips, F, heads, kv_heads, part, whole=True, way="right", **how
):
    """The largest of all powers of two that may be, one after the other."""
    chip = hw.chip(name)
    fits = [2**k for k in range(1, 9) if 2**k <= chips]
    fits = [Y for Y in fits if heads % Y == 0]
    fits = [Y for Y in fits if kv_heads % Y == 0 or not whole]
    return max(
        [1]
        + [
            Y
            for Y in fits
            if _share_of_math(Y, F, chip.flops, _rate(chip, Y, way), **how)
            >= part
        ]
    )


@question.visible(
    "degree",
    ("v5p", 16, 28672, 64, 8, 0.6),
    ("v5p", 16, 28672, 64, 64, 0.6),
    ("h100", 64, 28672, 64, 64, 0.5),
    ("h100", 64, 28672, 64, 64, 0.53),
    ("h100", 8, 14336, 32, 8, 0.54),
    ("v5e", 16, 14336, 64, 64, 0.5),
    ("v5p", 8, 1024, 64, 64, 0.2),
    ("v5p", 8, 1024, 64, 64, 0.9),
    ("v5p", 12, 2**16, 64, 64, 0.1),
    ("h100", 64, 2**16, 96, 12, 0.1),
    ("gb200", 144, 2**16, 128, 128, 0.3),
    ("h100", 64, 2**16, 8, 64, 0.1),
)
def check_degree(name, chips, F, heads, kv_heads, part):
    """Question 9: the largest power of two that TP should have."""
    given = name, chips, F, heads, kv_heads, part
    chip, expected = hw.chip(name), _tried_degree(*given)
    likely = [
        (_tried_degree(*given, way="port"), "you give cards a port's speed"),
        (
            _tried_degree(name, min(chips, chip.node_size), *given[2:]),
            "you end at the node; eight cards side by side are fast",
        ),
        (
            _tried_degree(*given, way="card"),
            "you send all of V through one card; each GPU of a node has one, "
            "and fetches its own share",
        ),
        (
            _tried_degree(*given, way="turn"),
            "you add up cards and ports; the slower of the two counts",
        ),
        (
            _tried_degree(*given, way="cards"),
            "you take the cards, but the port is slower",
        ),
        (
            _tried_degree(*given, way="eight"),
            f"your node has eight GPUs; this one has {chip.node_size}",
        ),
        (
            _tried_degree(*given, way="full"),
            "you let a node that is full use its cards",
        ),
    ]
    if chip.axes:
        likely = [
            (
                _tried_degree(*given, way="ring"),
                "you have rings of any length; a short axis is a line",
            ),
            (
                _tried_degree(*given, way="line"),
                "you have lines; an axis that closes works both ways round",
            ),
        ]
    likely += [
        (_tried_degree(*given, whole=False), "you copy key-value heads"),
        (
            _tried_degree(*given, matrices=2),
            "you count two matrices; a gated MLP has three",
        ),
        (
            _tried_degree(*given, sends=4),
            "you use AllReduces; a gather and a scatter are enough",
        ),
        (
            _tried_degree(*given[:-1], part / (1 + part)),
            "you let arithmetic and communication overlap",
        ),
        (_tried_degree(*given[:-1], 0.0), "you leave out the wires"),
    ]
    asked = f"degree({name!r}, {chips}, {F}, {heads}, {kv_heads}, {part:g})"
    got = compare.whole_number(asked, student.call("degree", *given))
    if got != expected:
        reason = _what_fails(got, *given)
        known = [sentence for value, sentence in likely if value == got]
        if 1 <= len(known) <= 2:
            reason += f"; perhaps {', or '.join(known)}"
        compare.wrong(asked, got, reason)


def _what_fails(Y, name, chips, F, heads, kv_heads, part):
    """What is not so with this many ways, in words."""
    if Y not in [2**k for k in range(12)]:
        return "expected a power of two"
    if chips < Y:
        return f"there are {chips} chips, no more"
    if heads % Y:
        return f"that does not divide {heads} query heads"
    if kv_heads % Y:
        return f"that does not divide {kv_heads} key-value heads"
    chip = hw.chip(name)
    share = _share_of_math(Y, F, chip.flops, _rate(chip, Y))
    if Y > 1 and share < part:
        return f"there arithmetic takes {share:.0%} of the time, too little"
    return "a larger group still meets all three conditions"


def grade_degree():
    """Question 9 with other models and machines."""
    draw = question.draw("degree")
    machines = {"v5p": 64, "v5e": 16, "h100": 64, "gb200": 144}
    for name in [*machines, *machines]:
        F = 256 * int(draw.integers(8, 300))
        heads = int(draw.choice([24, 40, 64, 128]))
        few = heads // int(draw.choice([1, 2, 8]))
        chips = int(draw.integers(4, machines[name] + 1))
        part = float(draw.choice([0.3, 0.45, 0.6, 0.8, 0.9]))
        check_degree(name, chips, F, heads, few, part)
    for name, Y in (("v5p", 16), ("h100", 8), ("h100", 32)):
        F, chip = 256 * int(draw.integers(8, 300)), hw.chip(name)
        for near in (0.99, 1.01):  # just possible, and just not
            share = _share_of_math(Y, F, chip.flops, _rate(chip, Y))
            check_degree(name, 64, F, 64, 64, near * share)


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
