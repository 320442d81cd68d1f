"""Set 09, FSDP and tensor parallelism together: what moves, and which split.

Traffic is counted in programs, those of the checks and those handed in; values
come from NumPy on one chip; best splits from trying all of them; borders from
bisection.
"""

import dataclasses
import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from jax.lax import all_gather, psum_scatter
from jax.sharding import AbstractMesh, AxisType

from shardlab import cost, count, hw, plan
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer

__all__ = [
    "check_backward",
    "check_best",
    "check_bytes",
    "check_chips",
    "check_forward",
    "check_question",
    "check_split",
    "check_tie",
    "check_tokens",
    "check_use",
    "check_ways",
    "check_window",
    "grade_backward",
    "grade_best",
    "grade_bytes",
    "grade_chips",
    "grade_forward",
    "grade_question",
    "grade_split",
    "grade_tie",
    "grade_tokens",
    "grade_use",
    "grade_ways",
    "grade_window",
]

TOKENS = P(("X", "Y"), None)  # [B_XY, D]
COLUMNS, ROWS = P(None, ("Y", "X")), P(("Y", "X"), None)  # [., F_YX], [F_YX, .]


def _arrays(seed, most, *sizes):
    """Whole numbers from -most to most in float32: products stay exact."""
    draw = np.random.default_rng(seed)
    return [
        draw.integers(-most, most + 1, size).astype(np.float32)
        for size in sizes
    ]


def _seed(draw):
    """A seed for the arrays of one case."""
    return int(draw.integers(2**31))


# --- programs ----------------------------------------------------------------


def _refuse_kinds(asked, answer):
    """Insist on gathers and scatters, each over one axis."""
    if "all_reduce" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you use an AllReduce (psum) where an AllGather or a "
            "ReduceScatter is enough: it moves twice their bytes, and a part "
            "of its result is not kept"
        )
    answer.allow("all_gather", "psum_scatter")
    if answer.volume(("X", "Y")):
        raise WrongAnswer(
            f"{asked}: a collective of yours runs over both axes at once; "
            "weights are wanted whole along X only, tokens along Y only"
        )


def _insist_on_volumes(asked, answer, weights, activations, words):
    """Insist on the bytes over X and over Y; `words` say what is too little."""
    over_X, over_Y = answer.volume("X"), answer.volume("Y")
    if over_X < weights:
        raise WrongAnswer(
            f"{asked}: you move {over_X:,} bytes over X. {words[0]}"
        )
    if over_Y < activations:
        raise WrongAnswer(
            f"{asked}: you move {over_Y:,} bytes over Y. {words[1]}"
        )
    if over_Y > activations:
        raise WrongAnswer(
            f"{asked}: you move {over_Y:,} bytes over Y, and {activations:,} "
            f"are enough. {words[2]}"
        )
    if over_X > weights:
        raise WrongAnswer(
            f"{asked}: you move {over_X:,} bytes over X, and {weights:,} are "
            "enough; is something gathered twice?"
        )
    answer.exactly("X", volume=weights)
    answer.exactly("Y", volume=activations)


@question.visible("gated_forward", (4, 2, 16, 5, 24, 1), (2, 4, 8, 7, 16, 2))
def check_forward(X, Y, B, D, F, seed=0):
    """Question 1: the forward pass of a gated block, laid as FSDP2 does.

    X, Y     chips of both axes
    B, D, F  sizes of the whole arrays
    seed     of the arrays
    """
    arrays = _arrays(seed, 2, (B, D), (D, F), (D, F), (F, D))
    In, W_in, W_gate, W_out = arrays
    asked = f"gated_forward on {X} x {Y} chips"
    request = program.request(
        *arrays,
        mesh={"X": X, "Y": Y},
        in_specs=(TOKENS, COLUMNS, COLUMNS, ROWS),
        out_specs=TOKENS,
    )
    answer = student.program("gated_forward", request)
    _refuse_kinds(asked, answer)
    _insist_on_volumes(
        asked,
        answer,
        12 * D * F // Y,
        8 * B * D // X,
        (
            "All three weights have to be gathered, each once and as it is, "
            "in float32",
            "In has to be gathered, and of Out each chip has only a term of a "
            "sum",
            "One gather of In serves two products, and weights move over X",
        ),
    )
    Up, Gate = In @ W_in, In @ W_gate
    Out = (Up * Gate) @ W_out
    compare.close(
        asked,
        answer.run(*arrays),
        Out,
        likely=[
            (Out / Y, "terms are added up over Y, and not averaged"),
            (Up @ W_out, "you leave out the gate"),
            ((Up + Gate) @ W_out, "the gate is multiplied, and not added"),
            (
                (Up * np.maximum(Gate, 0)) @ W_out,
                "the gate here has no function on it",
            ),
        ],
        show=True,
    )


def grade_forward():
    """Question 1 on other chips."""
    draw = question.draw("forward")
    for X, Y in ((2, 4), (2, 2), (4, 2)):
        B, F = (X * Y * draw.integers(1, 5, 2)).tolist()
        check_forward(X, Y, B, int(draw.integers(2, 9)), F, _seed(draw))


def _gated_gradients(dOut, In, Up, Gate, W_in, W_gate, W_out):
    """What one chip computes."""
    dTmp = dOut @ W_out.T
    dUp, dGate = dTmp * Gate, dTmp * Up
    return {
        "dIn": dUp @ W_in.T + dGate @ W_gate.T,
        "dW_in": In.T @ dUp,
        "dW_gate": In.T @ dGate,
        "dW_out": (Up * Gate).T @ dOut,
    }


@question.visible(
    "gated_backward",
    (4, 2, 16, 5, 24, 3),
    (2, 4, 8, 7, 16, 4),
)
def check_backward(X, Y, B, D, F, seed=0):
    """Question 2: its backward pass; arguments as of question 1."""
    sizes = (B, D), (B, D), (B, F), (B, F), (D, F), (D, F), (F, D)
    arrays = _arrays(seed, 1, *sizes)
    asked = f"gated_backward on {X} x {Y} chips"
    request = program.request(
        *arrays,
        mesh={"X": X, "Y": Y},
        in_specs=(TOKENS, P("X", None), P("X", "Y"), P("X", "Y"))
        + (COLUMNS, COLUMNS, ROWS),
        out_specs=(TOKENS, COLUMNS, COLUMNS, ROWS),
    )
    answer = student.program("gated_backward", request)
    _refuse_kinds(asked, answer)
    _insist_on_volumes(
        asked,
        answer,
        24 * D * F // Y,
        8 * B * D // X,
        (
            "Three weights have to be gathered, and each dW is a sum over X, "
            "since X cuts the batch",
            "dOut has to be gathered, and of dIn each chip has only a term of "
            "a sum",
            "dOut comes in once, and dIn leaves once: add what can be added "
            "before it travels",
        ),
    )
    results = answer.run(*arrays)
    if not isinstance(results, (list, tuple)) or len(results) != 4:
        raise WrongAnswer(f"{asked}: return dIn, dW_in, dW_gate and dW_out")
    exact = _gated_gradients(*arrays)
    dOut, In, Up, Gate, W_in, W_gate, W_out = arrays
    ones, weights = np.ones_like(Up), (W_in, W_gate, W_out)
    mistaken = (
        _gated_gradients(dOut, In, In @ W_in, In @ W_gate, *weights),
        _gated_gradients(dOut, In, ones, ones, *weights),
        _gated_gradients(dOut, In, Gate, Up, *weights),
        _gated_gradients(dOut, In, Up, ones, *weights),
    )
    for name, found in zip(exact, results, strict=True):
        _compare_gradient(
            f"{name} of {asked}", found, name, exact, mistaken, X, Y
        )


def _compare_gradient(asked, found, name, exact, mistaken, X, Y):
    """One gradient, and the mistakes that are known of it."""
    expected = exact[name]
    again, no_gate, swapped, only_up = mistaken
    others = [(w, g) for w, g in exact.items() if w != name]
    likely = [(g, f"yours is {w}") for w, g in others]
    likely += [(g.T, f"yours is {w}, transposed") for w, g in others]
    likely += [
        (expected / X, "you take the mean over X, not the sum"),
        (expected / X / Y, "you take a mean over chips, not the sum"),
        (again[name], "you make Up and Gate again; take the kept ones"),
        (no_gate[name], "you forget that each factor's gradient has the other"),
        (swapped[name], "the gradient of Up has Gate in it, not Up"),
        (
            only_up[name],
            "W_out was multiplied by Up * Gate, not by one of them",
        ),
    ]
    compare.close(
        asked,
        found,
        expected,
        likely=[pair for pair in likely if pair[0].shape == expected.shape],
        show=True,
    )


def grade_backward():
    """Question 2 on other chips."""
    draw = question.draw("backward")
    for X, Y in ((2, 4), (2, 2), (4, 2)):
        B, F = (X * Y * draw.integers(1, 4, 2)).tolist()
        check_backward(X, Y, B, int(draw.integers(2, 9)), F, _seed(draw))


# --- bytes -------------------------------------------------------------------


def _forward_body(In, *weights):
    """A block whose weights are all [D_X, F_Y], the last one transposed."""
    In = all_gather(In, "Y", axis=1, tiled=True)
    *first, last = (all_gather(W, "X", axis=0, tiled=True) for W in weights)
    Tmp = math.prod(In @ W for W in first)
    return psum_scatter(Tmp @ last.T, "Y", scatter_dimension=1, tiled=True)


def _backward_body(In_kept, W_kept, gradient):
    """Its backward pass, as far as it moves anything."""
    dtype = {2: jnp.bfloat16, 4: jnp.float32}[gradient]

    def body(dOut, In, *weights):
        dOut = all_gather(dOut, "Y", axis=1, tiled=True)
        if not In_kept:
            In = all_gather(In, "Y", axis=1, tiled=True)
        if not W_kept:
            weights = [all_gather(W, "X", axis=0, tiled=True) for W in weights]
        dTmp = dOut @ weights[-1]
        gradients = [
            psum_scatter((In.T @ dTmp).astype(dtype), "X", tiled=True)
            for _ in weights
        ]
        dIn = dTmp @ weights[0].T
        dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
        return dIn, *gradients

    return body


@functools.cache
def _counted(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    """Bytes over X and Y, forward and backward, of programs that are traced."""
    mesh = AbstractMesh((X, Y), ("X", "Y"), (AxisType.Auto,) * 2)
    both, W = P("X", "Y"), jax.ShapeDtypeStruct((D, F), jnp.bfloat16)
    In = jax.ShapeDtypeStruct((B, D), jnp.bfloat16)
    forward = jax.shard_map(
        _forward_body,
        mesh=mesh,
        in_specs=(both,) * (1 + matrices),
        out_specs=both,
    )
    kept = P(None, "Y") if W_kept else both
    backward = jax.shard_map(
        _backward_body(In_kept, W_kept, gradient),
        mesh=mesh,
        in_specs=(both, P("X", None) if In_kept else both) + (kept,) * matrices,
        out_specs=(both,) * (1 + matrices),
        check_vma=False,
    )
    weights = [W] * matrices
    passes = (
        count.collectives(forward, In, *weights),
        count.collectives(backward, In, In, *weights),
    )
    return [count.volume(part, axis) for part in passes for axis in "XY"]


@question.visible(
    "mixed_bytes",
    (512, 64, 256, 8, 4, 2, True, False, 2),
    (512, 64, 256, 8, 4, 3, False, False, 4),
    (128, 32, 96, 2, 8, 3, True, True, 4),
    (128, 32, 96, 2, 8, 2, False, True, 2),
)
def check_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    """Question 3: bytes over X and Y, forward and then backward."""
    given = B, D, F, X, Y, matrices, In_kept, W_kept, gradient
    exact = _counted(*given)
    weight, token = 2 * D * F, 2 * B * D
    w, a = weight // Y, token // X

    def changed(**what):
        names = [
            "B",
            "D",
            "F",
            "X",
            "Y",
            "matrices",
            "In_kept",
            "W_kept",
            "gradient",
        ]
        return _counted(*(dict(zip(names, given, strict=True)) | what).values())

    compare.equal(
        f"mixed_bytes{given}",
        student.call("mixed_bytes", *given),
        exact,
        likely=[
            (
                [*exact[:3], 4 * a],
                "your activations move twice as much in backward; dOut comes "
                "in and dIn goes out",
            ),
            (
                changed(In_kept=not In_kept),
                "yours is right if In was "
                + ("not kept" if In_kept else "kept"),
            ),
            *(
                [
                    (
                        changed(gradient=2),
                        "your gradients of weights travel in bf16, or you take "
                        "weights for kept",
                    )
                ]
                if gradient == 4 and not W_kept
                else []
            ),
            (
                changed(W_kept=not W_kept),
                "yours is right if the weights were "
                + ("not kept" if W_kept else "kept"),
            ),
            (
                changed(gradient=2),
                "you let gradients of weights travel in bf16",
            ),
            (
                changed(gradient=4),
                "you let gradients of weights travel in float32",
            ),
            (
                [*exact[:2], exact[2] + (gradient - 2) * matrices * w // 2]
                + exact[3:],
                "the weights are gathered in bf16, whatever their gradients",
            ),
            (changed(matrices=2), "you count two matrices"),
            (
                changed(matrices=2, gradient=2),
                "you count two matrices, and their gradients in bf16",
            ),
            (
                [*exact[:3], exact[3] - a],
                "backward over Y dOut comes in and dIn goes out; yours has one "
                "of the two",
            ),
            (
                [*exact[:3], exact[3] * gradient // 2],
                "activations travel in bf16, whatever gradients of weights do",
            ),
            (
                [exact[0], matrices * a, *exact[2:]],
                "one gather of In serves all products that need it",
            ),
            ([exact[k] for k in (1, 0, 3, 2)], "you exchange X and Y"),
            (
                [exact[k] for k in (0, 2, 1, 3)],
                "forward comes first, over both axes",
            ),
            (
                [
                    n * cut // other
                    for n, cut, other in zip(
                        exact, (Y, X, Y, X), (X, Y, X, Y), strict=True
                    )
                ],
                "your axes divide what they move; each divides what the other "
                "one moves",
            ),
            (
                [n // 2 for n in exact],
                "you count elements; one of bf16 has two bytes",
            ),
            (
                [n // k for n, k in zip(exact, (X, Y, X, Y), strict=True)],
                "you count a chip's piece; an array counts as it is whole",
            ),
            (
                [n - n // k for n, k in zip(exact, (X, Y, X, Y), strict=True)],
                "an array counts whole, without the factor of a ring",
            ),
            (
                [*exact[:2], matrices * w, exact[3]],
                "in backward there are gathers of weights and scatters of "
                "their gradients; yours has one of the two, in bf16",
            ),
        ],
        names=(
            "forward over X",
            "forward over Y",
            "backward over X",
            "backward over Y",
        ),
    )


def grade_bytes():
    """Question 3 with other sizes."""
    draw = question.draw("bytes")
    for In_kept in (True, False):
        for W_kept in (True, False):
            X, Y = (2 ** draw.integers(1, 6, 2)).tolist()
            sizes = (64 * draw.integers(2, 9, 3)).tolist()
            matrices = int(draw.integers(2, 5))
            gradient = int(draw.choice([2, 4]))
            check_bytes(*sizes, X, Y, matrices, In_kept, W_kept, gradient)


# --- the best X --------------------------------------------------------------


@functools.cache
def _multiples(matrices, In_kept, gradient):
    """A whole step's bytes over X in DF/Y, and over Y in BD/X, counted."""
    B, D, F, X, Y = 8, 16, 32, 4, 2
    moved = _counted(B, D, F, X, Y, matrices, In_kept, False, gradient)
    over_X, over_Y = moved[0] + moved[2], moved[1] + moved[3]
    return Fraction(over_X * Y, D * F), Fraction(over_Y * X, B * D)


def _searched_X(B, F, N, W_X, W_Y):
    """The half or whole X with the least traffic, by trying all of them."""
    B, F, N, W_X, W_Y = map(int, (B, F, N, W_X, W_Y))
    weights, activations = _multiples(2, False, 4)

    def slower(X):
        return max(weights * F * X / (N * W_X), activations * B / (X * W_Y))

    return min((Fraction(k, 2) for k in range(1, 2 * N + 1)), key=slower)


def _point(halves, times, N, W_X, W_Y):
    """B, F, N, W_X, W_Y whose best X is `halves` / 2."""
    return 8 * halves**2 * W_Y * times, 20 * N * W_X * times, N, W_X, W_Y


@question.visible(
    "best_X",
    (
        [
            _point(17, 1, 64, 2, 1),
            _point(30, 3, 128, 1, 9),
            _point(41, 2, 64, 3, 2),
        ],
    ),
)
def check_best(points):
    """Question 4: the X for which a whole step moves its bytes fastest."""
    root = "sqrt({}*B*N*W_X/({}*F*W_Y))".format
    compare.formula(
        "best_X",
        student.expression("best_X"),
        "B F N W_X W_Y",
        _searched_X,
        points,
        likely=[
            (root(1, 1), "yours is the best X of the forward pass alone"),
            (root(5, 6), "you let gradients travel in bf16"),
            (root(1, 2), "you forget that In is gathered again"),
            (root(2, 3), "yours is the X for bf16 gradients and a kept In"),
            (root(5, 12), "only gradients travel in float32, weights do not"),
            (
                "sqrt(5*B*N*W_Y/(8*F*W_X))",
                "you exchange W_X and W_Y: faster wires under X allow more of "
                "them",
            ),
            ("sqrt(8*F*N*W_Y/(5*B*W_X))", "yours is the best Y"),
            (
                root(8, 5),
                "you exchange what moves over X and what moves over Y",
            ),
            (
                "sqrt(5*B*W_X/(8*F*N*W_Y))",
                "your X shrinks when there are more chips",
            ),
            ("5*B*N*W_X/(8*F*W_Y)", "you forget a square root"),
            ("sqrt(5*B*N/(8*F))", "you leave out the bandwidths"),
            (f"floor({root(5, 8)})", "X need not be whole here"),
            (f"ceiling({root(5, 8)})", "X need not be whole here"),
            (f"floor({root(5, 8)} + 1/2)", "X need not be whole here"),
        ],
    )


def grade_best():
    """Question 4 at other points."""
    draw, points = question.draw("best"), []
    for n in range(6):
        N = int(2 ** draw.integers(6, 9))
        W_X, W_Y, times = draw.integers(1, 10, 3).tolist()
        halves = 2 * int(draw.integers(3, N // 2)) + n % 2
        points.append(_point(halves, times, N, W_X, W_Y))
    check_best(points)


# --- tokens ------------------------------------------------------------------


def _is_busy(tokens, F, Y, alpha_X, alpha_Y, overlap):
    """Whether communication takes no longer than arithmetic, per 4D / C."""
    over_X, over_Y = alpha_X * F / Y, tokens * Y * alpha_Y
    both = max(over_X, over_Y) if overlap else over_X + over_Y
    return both <= tokens * F


def _searched_tokens(*case):
    """The least tokens per chip that are enough, or inf, by bisection."""
    low, high = 1e-6, 1e12
    if not _is_busy(high, *case):
        return math.inf
    while high / low > 1 + 1e-12:
        tokens = math.sqrt(low * high)
        low, high = (low, tokens) if _is_busy(tokens, *case) else (tokens, high)
    return high


V5P_ALPHA = hw.V5P.flops / hw.axis_bw(hw.V5P)


@question.visible(
    "tokens_needed",
    (28_672, 4, V5P_ALPHA / 2, V5P_ALPHA, True),
    (28_672, 4, V5P_ALPHA / 2, V5P_ALPHA, False),
    (13_824, 8, V5P_ALPHA / 2, V5P_ALPHA, True),
    (13_824, 8, V5P_ALPHA, V5P_ALPHA / 2, False),
    (14_336, 3, 19_800.0, 2200.0, False),
    (6000, 3, 19_800.0, 2200.0, False),
    (8000, 4, 1000.0, 2000.0, True),  # TP takes just what arithmetic takes
    (8000, 4, 1000.0, 2000.0, False),
)
def check_tokens(F, Y, alpha_X, alpha_Y, overlap):
    """Question 5: the tokens that each chip needs if Y is given."""
    given = F, Y, alpha_X, alpha_Y, overlap
    exact = _searched_tokens(*given)
    asked = f"tokens_needed({F}, {Y}, {alpha_X:g}, {alpha_Y:g}, {overlap})"
    got = student.call("tokens_needed", *given)
    never = isinstance(got, float) and math.isinf(got)
    if exact == math.inf:
        if not never:
            compare.wrong(
                asked,
                got,
                "no batch is enough; see what more tokens do to the traffic "
                "over Y, and return np.inf",
            )
        return
    if never:
        words = "you say never; a large batch is enough"
        if Y * alpha_Y == F:
            words += ": communication may take as long as arithmetic"
        compare.wrong(asked, got, words)
    other = _searched_tokens(F, Y, alpha_X, alpha_Y, not overlap)
    compare.close(
        asked,
        got,
        exact,
        likely=[
            (other, "yours is for the other convention"),
            (
                alpha_X * alpha_Y / F * (1 if overlap else 4),
                "yours is the threshold at the best Y; here Y is given",
            ),
            (alpha_X, "you forget that X has a Y-th of the chips"),
            *(
                (rounded(exact), "asked is a real number; you round")
                for rounded in (math.floor, math.ceil)
            ),
            (alpha_X * Y, "more chips along Y make the weights smaller"),
            (exact * Y, "you give the tokens of a group, not of a chip"),
            (2 * alpha_X / Y, "one time is not twice the other here"),
            (4 * alpha_X / Y, "four times is right at the best Y only"),
            (alpha_Y / Y, "you exchange alpha_X and alpha_Y"),
            (
                alpha_X / Y + alpha_Y * Y / F,
                "the tokens that are needed are on both sides",
            ),
        ],
    )


def grade_tokens():
    """Question 5 with other blocks and networks."""
    draw = question.draw("tokens")
    for overlap in (True, False) * 4:
        Y = int(draw.integers(2, 20))
        alpha_X, alpha_Y = draw.uniform(500, 20_000, 2).tolist()
        for part in (0.4, 0.97, 1.03):
            F = round(Y * alpha_Y / part)
            check_tokens(F, Y, alpha_X, alpha_Y, overlap)
    # Less than one FLOP of a token is left for the weights.
    check_tokens(8000, 4, float(draw.integers(500, 2000)), 1999.9, False)


def _counted_tie(F, m, g, a):
    """The tokens for which both strategies' counted bytes are equal."""
    weights, activations = _multiples(int(m), int(a) == 4, int(g))
    return weights * Fraction(int(F)) / activations


@question.visible(
    "tie",
    ([(1000, 2, 2, 4), (1000, 3, 2, 4), (700, 2, 4, 4), (300, 3, 4, 5)],),
)
def check_tie(points):
    """Question 6: the tokens at which FSDP and TP move as many bytes."""
    compare.formula(
        "tie",
        student.expression("tie"),
        "F m g a",
        _counted_tie,
        points,
        likely=[
            ("F", "yours compares one gather of each"),
            (
                "m*F/a",
                "FSDP gathers weights in backward again, and scatters their "
                "gradients",
            ),
            ("m*F*(2 + g)/a", "g counts bytes; you double it"),
            ("3*F/2", "yours is without gate, in bf16, with In kept"),
            ("m*F*(2 + g)/(2*a)", "FSDP gathers weights twice, in both passes"),
            ("3*m*F/a", "yours has gradients in bf16, whatever g is"),
            ("m*F*3*g/(2*a)", "only gradients have g bytes, weights have 2"),
            ("F*(4 + g)/a", "you count two matrices, whatever m is"),
            ("m*F*(4 + g)/a", "an activation in bf16 takes 2 bytes"),
            ("m*F*(4 + g)/8", "you let activations move 4 times, not a times"),
            ("2*a*F/(m*(4 + g))", "yours is upside down"),
            ("2*a/(m*F*(4 + g))", "yours is upside down"),
        ],
    )


def grade_tie():
    """Question 6 at other points."""
    draw, points = question.draw("tie"), []
    for m in (2, 3, 4):
        for g in (2, 4):
            a = int(draw.integers(4, 6))
            points.append((int(draw.integers(100, 9999)), m, g, a))
    check_tie(points)


# --- splits ------------------------------------------------------------------


def _allowed(sequences, heads, N):
    """Splits whose Y divides the heads, with a sequence for each of X."""
    return [
        (X, Y)
        for X, Y in cost.splits(N)
        if heads % Y == 0 and sequences >= X and X > 1
    ]


def _times_of(pairs, B, F, overlap, gated=False, alone=3):
    """Seconds of communication of splits of v5p, from the book's formulas."""
    seconds = {}
    for X, Y in pairs:
        how = {"M_X": alone if Y == 1 else 2, "M_Y": 1, "overlap": overlap}
        t = cost.t_layer("fsdp_tp", B, 1, F, hw.V5P, X, Y, gated=gated, **how)
        seconds[X, Y] = t.forward.comm
    return seconds


def _fastest(seconds):
    """All pairs that take the least time, to rounding."""
    least = min(seconds.values(), default=0)
    return [pair for pair, t in seconds.items() if t <= least * (1 + 1e-9)]


@question.visible(
    "split",
    (512, 8192, 32_768, 64, 4096, True),
    (512, 8192, 32_768, 64, 4096, False),
    (4096, 800, 13_824, 40, 4096, False),
    (8192, 500, 13_824, 40, 4096, True),
    (2048, 1024, 32_768, 64, 4096, True),  # two are equally fast
    (2000, 150, 53_248, 12, 2048, True),
    (92, 32_768, 13_824, 40, 4096, True),
    (48, 1000, 32_768, 6, 64, False),
    (8, 16, 32_768, 64, 64, True),
)
def check_split(sequences, length, F, heads, N, overlap):
    """Question 7: the fastest split that heads and sequences allow."""
    given = sequences, length, F, heads, N, overlap
    B, asked = sequences * length, f"split{given}"
    got = student.call("split", *given)
    pairs = _allowed(sequences, heads, N)
    best = _fastest(_times_of(pairs, B, F, overlap))
    if not best:
        if compare.entries(asked, got, None):
            compare.wrong(
                asked,
                got,
                "no split has a sequence for each chip of X and a Y that "
                "divides the heads; return []",
            )
        return
    if not compare.entries(asked, got, None):
        compare.wrong(asked, got, "you find none; there is a split")
    found = tuple(compare.numbers(asked, got, 2))
    if found in best:
        return
    if math.prod(found) != N:
        compare.wrong(asked, got, f"these are not {N} chips")
    if found[0] == 1:
        compare.wrong(asked, got, "your X is 1; it is 2 at least here")
    every = [(X, Y) for X, Y in cost.splits(N) if X > 1]
    mixed = [pair for pair in pairs if pair[1] > 1]
    few = [pair for pair in every if heads % pair[1] == 0]
    any_heads = [pair for pair in every if pair[0] <= sequences]
    other = "added" if overlap else "overlapped"
    for pair, sentence in (
        (best[0][::-1], "you exchange X and Y"),
        *(
            (pair, sentence)
            for options, sentence in (
                (
                    _times_of(few, B, F, overlap),
                    "some chips of your X have no sequence",
                ),
                (
                    _times_of(any_heads, B, F, overlap),
                    "your Y does not divide the heads",
                ),
                (
                    _times_of(every, B, F, overlap),
                    "your split is fast; is it allowed by sequences and heads?",
                ),
                (
                    _times_of(mixed, B, F, overlap),
                    "FSDP alone would be faster, on three axes",
                ),
            )
            for pair in (_fastest(options) if options else ())
        ),
        ((N, 1), "a mixture moves its bytes faster, or is alone allowed"),
    ):
        if found == pair:
            compare.wrong(asked, got, sentence)
    if found not in pairs:
        compare.wrong(
            asked,
            got,
            "your X has chips without a sequence, or your Y does not divide "
            "the heads, or is no power of two",
        )
    others = [
        (_times_of(pairs, B, F, not overlap), "traffic is " + other),
        (_times_of(pairs, B, F, overlap, alone=2), "FSDP alone has two axes"),
        (_times_of(pairs, B, F, overlap, gated=True), "the block has a gate"),
        (_times_of(pairs, 2 * B, F, overlap), "X has one axis as well"),
        (_times_of(pairs, sequences, F, overlap), "sequences have one token"),
    ]
    ifs = _best_if(found, [(_fastest(took), words) for took, words in others])
    compare.wrong(asked, got, f"another split moves its bytes faster{ifs}")


def _best_if(found, others):
    """What would make an answer the best, in words, if few things would.

    others  pairs: what is best in other circumstances, and these in words
    """
    words = [words for best, words in others if found in best]
    return f"; yours would be it if {', or if '.join(words)}" * (
        0 < len(words) < 3
    )


def grade_split():
    """Question 7 with other machines and batches."""
    draw = question.draw("split")
    for overlap in (True, False) * 8:
        N = int(2 ** draw.integers(5, 13))
        F, length = (
            int(draw.integers(5000, 60_000)),
            int(draw.integers(64, 9000)),
        )
        sequences = max(1, int(N * 10 ** draw.uniform(-2, 1)))
        heads = int(draw.choice([6, 12, 40, 64, 128]))
        check_split(sequences, length, F, heads, N, overlap)
    for N, F in ((16, 30_000), (4096, 30_000)):
        # Around the batches where FSDP alone takes over, under each convention.
        for change in (0.98, 1.02):
            for each in (F / 6, F * 5 / 96):
                for overlap in (True, False):
                    length = round(change * each)
                    check_split(N, length, F, 128, N, overlap)


def _cluster_times(sequences, length, F, nodes, node, port, switch, limit=True):
    """Seconds of communication for each Y, from the book's formulas."""
    chip = dataclasses.replace(
        hw.H100, link_bw=switch, dcn_bw=port, node_size=node
    )
    B, seconds = sequences * length, {}
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y == 0 and (sequences >= X or not limit):
            t = cost.t_layer(
                *("fsdp_tp", B, 1, F, chip, X, Y),
                gated=True,
                overlap=False,
                inside=(node // Y, Y),
            )
            seconds[Y] = t.forward.comm
    return seconds


@question.visible(
    "ways",
    (512, 8192, 28_672, 128, 8, hw.H100.dcn_bw, hw.H100.link_bw),
    (128, 8192, 28_672, 16, 72, hw.GB200.dcn_bw, hw.GB200.link_bw),
    (2048, 512, 28_672, 16, 72, hw.GB200.dcn_bw, hw.GB200.link_bw),
    (4000, 1024, 14_336, 100, 6, 4e11, 4e11),
    (4000, 250, 20_000, 40, 12, 1e11, 2e11),
    (4000, 200, 20_000, 40, 4, 4e11, 1e11),
    (20, 4096, 28_672, 32, 8, 5e10, 4.5e11),
    (2000, 512, 28_672, 128, 8, 5e10, 4.5e11),
)
def check_ways(sequences, length, F, nodes, node, port, switch):
    """Question 8: how many ways of TP inside the nodes of a cluster."""
    given = sequences, length, F, nodes, node, port, switch
    asked = (
        f"ways({sequences}, {length}, {F}, {nodes}, {node}, {port:g}, "
        f"{switch:g})"
    )
    got = student.call("ways", *given)
    seconds = _cluster_times(*given)
    best = _fastest(seconds)
    found = compare.whole_number(asked, got)
    if not best:
        if found:
            compare.wrong(
                asked,
                got,
                "even with a whole node for TP there are fewer sequences than "
                "groups; return 0",
            )
        return
    if found == 0:
        compare.wrong(asked, got, "you find none; some Y is allowed")
    if found in best:
        return
    if found < 1 or node % found:
        compare.wrong(asked, got, f"your Y does not divide the node's {node}")
    if found not in seconds:
        compare.wrong(asked, got, "some of your groups have no sequence")
    N, B = nodes * node, sequences * length
    root = cost.x_opt(B, F, N, port, switch, gated=True)
    near = min(seconds, key=lambda Y: abs(math.log(Y * root / N)))
    for value, sentence in (
        (
            node,
            "you fill the node with TP; count what its ports bring in, and "
            "what TP adds on the switch",
        ),
        (
            min(seconds),
            "yours is the least that the sequences allow; is the network the "
            "bottleneck, or the switch?",
        ),
    ):
        if found == value:
            compare.wrong(asked, got, sentence)
    others = [
        ([near], "W_X were one port whatever Y is"),
        (_in_turn(seconds, *given), "a gather passed the ports, then switch"),
        (_in_turn(seconds, *given, far=0), "the ports were wider than all"),
        (_longer(seconds, *given), "traffic over X and Y ran side by side"),
        (_longer(seconds, *given, 4, sum), "the block had no gate"),
        (_longer(seconds, *given, 12, sum), "one activation moved, not two"),
    ]
    ifs = _best_if(found, others)
    compare.wrong(asked, got, f"another Y moves its bytes faster{ifs}")


def _longer(
    allowed, sequences, length, F, nodes, node, port, switch, w=6, join=max
):
    """The best Y if X has w DF bytes, and both axes take e.g. the longer."""
    N, B = nodes * node, sequences * length
    took = {}
    for Y in allowed:
        over_X = w * F / (node * port)
        if node > Y:
            over_X = max(over_X, w * F / Y / switch)
        took[Y] = join([over_X, 4 * B * Y / N / switch * (Y > 1)])
    return _fastest(took)


def _in_turn(allowed, sequences, length, F, nodes, node, port, switch, far=1):
    """The best Y if a gather takes the sum of both ways, or one of them."""
    N, B = nodes * node, sequences * length
    took = {}
    for Y in allowed:
        over_X = 6 * F / (node * port) * far
        over_X += 6 * F / Y / switch if node > Y else 0
        took[Y] = over_X + (4 * B * Y / N / switch if Y > 1 else 0)
    return _fastest(took)


def grade_ways():
    """Question 8 with other clusters."""
    draw = question.draw("ways")
    for node in (4, 6, 8, 12, 72):
        for _ in range(3):
            nodes = int(draw.integers(4, 200))
            switch = float(draw.uniform(1e11, 9e11))
            port = switch * float(draw.choice([0.03, 0.1, 0.2, 0.5, 1]))
            F, length = (
                1000 * int(draw.integers(4, 50)),
                2 ** draw.integers(7, 14),
            )
            sequences = max(
                1, int(nodes * node * 10 ** draw.uniform(-1.2, 0.7))
            )
            check_ways(sequences, int(length), F, nodes, node, port, switch)
    # A little to each side of where 8 and 9 ways take the same time.
    for share in (0.93, 1.07):
        nodes, F = int(draw.integers(10, 60)), 1000 * int(draw.integers(16, 40))
        tokens = 1.5 * F / (8 * 9 * share) * nodes * 72
        check_ways(round(tokens / 256), 256, F, nodes, 72, 9e11, 9e11)


# --- LLaMA-2 13B -------------------------------------------------------------

MODEL = plan.model("llama-2-13b")


def _bytes_held(B, N, whole):
    """Bytes of a chip; `whole` if it holds all states, not its share."""
    states = 10 * plan.params(MODEL)
    return (states if whole else states / N) + _activations(B) / N


def _activations(B):
    """Bytes that are kept of B tokens, all chips together."""
    return B * MODEL.L * sum(2 * n for n in (MODEL.F, MODEL.F, MODEL.D))


def _hides(strategy, B, X, Y, **how):
    """Whether every part of the step hides what it moves."""
    step = cost.t_layer(strategy, B, MODEL.D, MODEL.F, hw.V5P, X, Y, **how)
    return all(part.comm <= part.math for part in step)


def _verdicts(B, N, gated, overlap, hbm, powers=True):
    """What can be used, by trying every split."""
    found = [
        name
        for name in ("dp", "fsdp")
        if _bytes_held(B, N, name == "dp") <= hbm
        and _hides(name, B, N, 1, M_X=3, gated=gated)
    ]
    fits = _bytes_held(B, N, False) <= hbm
    how = {"M_X": 2, "M_Y": 1, "overlap": overlap, "gated": gated}
    splits = [pair for pair in cost.splits(N) if min(pair) > 1]
    if not powers:
        splits = [(N / 1.02**k, 1.02**k) for k in range(1, 400)]
        splits = [(X, Y) for X, Y in splits if X > 1]
    if fits and any(_hides("fsdp_tp", B, X, Y, **how) for X, Y in splits):
        found.append("mixed")
    return found


KNOWN = ["dp", "fsdp", "mixed"]


@question.visible(
    "can_use",
    (3_000_000, 4096, False, True, hw.V5P.hbm_bytes),
    (3_000_000, 4096, False, False, hw.V5P.hbm_bytes),
    (3_000_000, 4096, True, False, hw.V5P.hbm_bytes),
    (1_000_000, 4096, False, True, hw.V5P.hbm_bytes),
    (1_000_000, 4096, True, True, hw.V5P.hbm_bytes),
    (10_000_000, 4096, False, True, hw.V5P.hbm_bytes),
    (10_000_000, 4096, False, True, 2 * hw.V5P.hbm_bytes),
    (10_000_000, 4096, False, False, 5e9),
    (3_000_000, 4096, False, True, 1e9),
    (1_000_000, 1024, True, True, 4e9),
    (1_400_000, 4096, False, True, hw.V5P.hbm_bytes),
    (20_000, 4, False, True, 60e9),
    (2000, 4, False, True, 60e9),
    (318 * 1024 + 950, 1024, False, True, 1e12),
    (10_000_000, 4096, True, True, 6.5e9),
    (20_000, 2, False, True, 1e12),
)
def check_use(B, N, gated, overlap, hbm):
    """Question 9: which strategies fit and are compute-bound."""
    asked = f"can_use({B}, {N}, {gated}, {overlap}, {hbm:g})"
    got = compare.entries(
        asked, student.call("can_use", B, N, gated, overlap, hbm), None
    )
    if any(name not in KNOWN for name in got):
        compare.wrong(asked, got, f"expected a list of some of {KNOWN}")
    found = _verdicts(B, N, gated, overlap, hbm)
    if got == found:
        return
    if sorted(got) == sorted(found):
        compare.wrong(asked, got, f"yours are right; their order is {KNOWN}")
    compare.wrong(asked, got, _why_not(got, found, B, N, gated, overlap, hbm))


def _why_not(got, found, B, N, gated, overlap, hbm):
    """What is wrong about a list of strategies."""
    few = cost.tokens_per_chip(hw.V5P, 3) > B / N
    share = _bytes_held(B, N, False)
    reasons = (
        (len(set(got)) < len(got), "you name one twice"),
        (
            "dp" in got and _bytes_held(B, N, True) > hbm,
            "your data parallelism does not fit: each chip holds all "
            "parameters and both moments, beside its activations",
        ),
        (share > hbm and got, "yours does not fit, however it is cut"),
        (
            "fsdp" in got and few,
            f"with {B / N:.0f} tokens a chip your FSDP on three axes is bound "
            "by communication",
        ),
        (
            "dp" in got and few,
            f"with {B / N:.0f} tokens a chip your data parallelism is bound "
            "by communication, in its backward pass",
        ),
        (
            "dp" in found and "dp" not in got,
            "you leave out data parallelism, which has enough tokens, and fits "
            f"in {_bytes_held(B, N, True) / 1e9:.3g} GB",
        ),
        (
            "fsdp" in found and "fsdp" not in got,
            "you leave out FSDP, which has enough tokens, and fits in "
            f"{share / 1e9:.3g} GB",
        ),
        (
            "mixed" in got and N < 4,
            "your mixture has an axis of one chip",
        ),
    )
    words = [sentence for holds, sentence in reasons if holds]
    if words:
        return words[0]
    others = [
        (
            _verdicts(B, N, gated, not overlap, hbm),
            "traffic were " + ("added" if overlap else "overlapped"),
        ),
        (
            _verdicts(B, N, not gated, overlap, hbm),
            "the block had " + ("no gate" if gated else "a gate"),
        ),
        (
            _verdicts(B, N, gated, overlap, hbm, powers=False),
            "X and Y could be any numbers",
        ),
    ]
    how = {"M_X": 2, "M_Y": 1, "overlap": overlap, "gated": gated}
    took = {}
    for X, Y in cost.splits(N)[1:-1]:
        sizes = B, MODEL.D, MODEL.F, hw.V5P, X, Y
        part = cost.t_layer("fsdp_tp", *sizes, **how).forward
        took[part.comm / part.math] = X, Y
    X, Y = took[min(took)]
    said = "leave out the mixture" if "mixed" in found else "have a mixture"
    ifs = _best_if(got, [([names], words) for names, words in others])
    return (
        f"you {said}: its best split, {X} x {Y}, takes {min(took):.3f} of its "
        f"arithmetic to communicate, and a chip holds {share / 1e9:.3g} GB"
        + ifs.replace("would be it", "would be right")
    )


def _near(each, N, gated, overlap, room):
    """Tokens a chip, and room for a part more than what has to be held."""
    B = round(each * N)
    for whole in (True, False):
        check_use(B, N, gated, overlap, _bytes_held(B, N, whole) * room)


def _borders(N, overlap):
    """Where the first splits start to hide what they move, and the last."""
    at = cost.mixed_tokens_per_chip(MODEL.F, hw.V5P)
    for Y in (2, 4, 8):
        for each in (V5P_ALPHA / 2 / Y, V5P_ALPHA / Y, at, 4 * at):
            for change in (0.97, 1.03):
                B = round(each * change * N)
                check_use(B, N, Y == 4, overlap, 1e12)


def grade_use():
    """Question 9 with other batches, chips and memories."""
    draw = question.draw("use")
    for overlap in (True, False):
        for N in (2, 4, 32, 4096):
            for each in (850, 2000, 10 ** draw.uniform(1.5, 4)):
                for change in (0.99, 1.01):
                    _near(each * change, N, N == 32, overlap, 2 - change)
        for N in (4, 8, 1024):
            _borders(N, overlap)
        # Almost a token more on each chip than a whole number, on average.
        check_use(318 * 1024 + 950, 1024, False, overlap, 1e12)
        check_use(1010 * 1024 + 1000, 1024, False, overlap, 1e12)
        B = 330 * 1024 + 1000
        room = _bytes_held(B, 1024, False) * 0.998
        check_use(B, 1024, False, overlap, room)
        for gated in (True, False) * 6:
            N = int(2 ** draw.integers(2, 13))
            B = round(N * 10 ** draw.uniform(1.5, 4))
            hbm = 1e9 * float(draw.integers(1, 300))
            check_use(B, N, gated, overlap, hbm)


CHIPS = {hw.V5P: 2048, hw.H100: 1024}
SEQUENCES = 488  # on the H100s


def _ratios(B, overlap, gated, chip):
    """Arithmetic over communication of every split that is allowed."""
    found, N = {}, CHIPS[chip]
    for X, Y in cost.splits(N)[:-1]:
        how = {"overlap": overlap, "gated": gated}
        if chip is hw.V5P:
            how["M_X"] = 3 if Y == 1 else 2
        else:
            how["inside"] = chip.node_size // Y, Y
        if chip is hw.V5P or (chip.node_size >= Y and X <= SEQUENCES):
            sizes = B, MODEL.D, MODEL.F, chip, X, Y
            step = cost.t_layer("fsdp_tp", *sizes, **how)
            found[X, Y] = step.forward.ratio
    return found


@question.visible(
    "question_4",
    ("1M", 1e6, True, False),
    ("1M added", 1e6, False, False),
    ("2M added", 2e6, False, False),
    ("2M added, gated", 2e6, False, True),
    ("H100s", SEQUENCES * 4096, False, True, hw.H100),
)
def check_question(key, B, overlap, gated, chip=hw.V5P):
    """Question 10: the best split, its ratio and the step, case by case."""
    answers = student.value("question_4")
    asked = f"question_4[{key!r}]"
    if not isinstance(answers, dict):
        compare.wrong("question_4", answers, "expected a dict")
    listed = compare.entries(asked, answers.get(key, []), None)
    if not listed:
        raise question.NotAnswered(f"{asked} has no answer yet")
    X, Y, ratio, seconds = compare.numbers(asked, listed, 4)
    found, N = _ratios(B, overlap, gated, chip), CHIPS[chip]
    best = max(found, key=found.get)
    plain, other = _ratios(B, overlap, not gated, chip), found
    if chip is hw.V5P:
        other = _ratios(B, not overlap, gated, chip)
    words = "what does the gate change?" if gated else "there is no gate here"
    compare.equal(
        f"{asked}, split",
        [X, Y],
        best,
        likely=[
            *_of_the_cluster(chip),
            (
                max(list(found)[1:], key=found.get),
                "FSDP alone, on three axes, would be faster",
            ),
            (max(plain, key=plain.get), f"yours is another block's; {words}"),
            (
                max(other, key=other.get),
                "yours is best for the other convention",
            ),
            (best[::-1], "you exchange X and Y"),
            ((N, 1), "a mixture would be faster"),
            *(
                ((2 * N // Y, Y), f"there are {N:,} chips")
                for Y in (1, 2, 4, 8)
            ),
        ],
        names=("X", "Y"),
    )
    compare.close(
        f"{asked}, ratio",
        ratio,
        found[best],
        rel=5e-3,
        likely=[
            (1 / found[best], "yours is communication over arithmetic"),
            (other[best], "yours is the ratio of the other convention"),
            (plain[best], f"yours is another block's; {words}"),
            (
                found[best] * 2 / 3,
                "FSDP alone has three axes"
                if chip is hw.V5P
                else "a gate is half more arithmetic, too",
            ),
            (found[best] * 2**20 / 1e6, "a million is 1e6 here, not 2**20"),
            (found[best] * 100, "a ratio, and not a percentage"),
        ],
    )
    at_peak = 6 * plan.params(MODEL) * B / (N * chip.flops)
    compare.close(
        f"{asked}, seconds",
        seconds,
        at_peak / min(found[best], 1),
        rel=5e-3,
        likely=[
            (at_peak, "you let a step that waits take no longer"),
            (at_peak / found[best], "no step is faster than its arithmetic"),
            (at_peak * found[best], "waiting makes a step longer"),
            (at_peak / 3, "yours is the forward pass alone"),
            (at_peak * N, "yours is one chip doing all of the work"),
            (
                at_peak / min(found[best], 1) * 2**20 / 1e6,
                "a million is 1e6 here, not 2**20",
            ),
            *(
                (
                    at_peak / waits * chip.flops / hw.V5P.flops,
                    "you take the FLOP/s of a v5p",
                )
                for waits in (1, min(found[best], 1))
                if chip is not hw.V5P
            ),
        ],
    )


def _of_the_cluster(chip):
    """Splits of the H100s that look right."""
    if chip is hw.V5P:
        return []
    most = "there are 488 sequences, and X groups need one each"
    return [
        (
            (128, 8),
            "you fill the node with TP; its ports bring in the weights once "
            "for any Y, and TP only adds",
        ),
        ((1024, 1), most),
        ((512, 2), most),
        ((64, 16), "TP stays inside a node of eight"),
        ((2048, 1), "there are 1,024 H100s"),
    ]


def grade_question():
    """Question 10: the same five cases."""
    for case in check_question.cases:
        check_question(*case)


# --- the window --------------------------------------------------------------


def _whole_step(matrices):
    """Bytes over X and Y and FLOPs of a step; bytes are counted."""
    over_X, over_Y = _multiples(matrices, False, 4)
    return float(over_X), float(over_Y), 6 * matrices


def _too_slow(Y, B, F, N, alpha, M_X, M_Y, moves):
    """By how much communication exceeds arithmetic."""
    over_X, over_Y, work = moves
    comms = over_X * F / (Y * M_X) + over_Y * B * Y / (N * M_Y)
    return comms - work * B * F / (N * alpha)


def _middle(case):
    """The Y with the least communication, by narrowing a search."""
    low, high = 1e-9, 1e15
    for _ in range(40):
        tried = np.geomspace(low, high, 101)
        best = int(np.argmin(_too_slow(tried, *case)))
        low, high = tried[max(best - 1, 0)], tried[min(best + 1, 100)]
    return tried[best]


def _end(inside, outside, case):
    """Where communication catches up, between two Y, by bisection."""
    for _ in range(200):
        middle = np.sqrt(inside * outside)
        if _too_slow(middle, *case) < 0:
            inside = middle
        else:
            outside = middle
    return inside


def _ends(case):
    """Both ends of a window, or None."""
    middle = _middle(case)
    if _too_slow(middle, *case) > 0:
        return None
    return np.array([_end(middle, side, case) for side in (1e-9, 1e15)])


@question.visible(
    "window",
    (2_048_000, 32_768, 4096, 2550.0, 2, 1, 2),
    (1_228_800, 32_768, 4096, 2550.0, 2, 1, 2),
    (1_228_800, 32_768, 4096, 2550.0, 2, 1, 3),
    (900_000, 28_672, 256, 2200.0, 1, 1, 3),
    (60_000_000, 13_824, 512, 1300.0, 1, 2, 2),
)
def check_window(B, F, N, alpha, M_X, M_Y, matrices):
    """Question 11: between which Y a whole step is compute-bound, added."""
    given = B, F, N, alpha, M_X, M_Y
    asked = f"window{(*given, matrices)}"
    over_X, over_Y, work = moves = _whole_step(matrices)
    ends = _ends((*given, moves))
    got = compare.entries(asked, student.call("window", *given, matrices), None)
    others = [
        (
            (2 * matrices, 4, 2 * matrices),
            "yours is the window of the forward pass; backward moves other "
            "multiples over X and over Y",
        ),
        ((over_X * 3 / 4, over_Y, work), "you let gradients travel in bf16"),
        ((over_X, 8, work), "you forget that In is gathered again"),
        (
            (over_X * 3 / 4, 8, work),
            "yours is for bf16 gradients and a kept In",
        ),
        ((over_X / 2, over_Y, work), "you forget the gathers of backward"),
        (
            (over_X, over_Y * matrices / 2, work),
            "a gate moves no more activations",
        ),
        (_whole_step(5 - matrices), f"this block has {matrices} matrices"),
    ]
    known = [(_ends((*given, other)), words) for other, words in others]
    exchanged = _ends((B, F, N, alpha, M_Y, M_X, moves))
    known.append((exchanged, "you exchange M_X and M_Y"))
    known = [(found, words) for found, words in known if found is not None]
    if ends is None:
        if got:
            compare.wrong(
                asked,
                got,
                "no Y is compute-bound here: try the one in the middle of "
                "yours, in a whole step. The discriminant is negative",
            )
        return
    if not got:
        compare.wrong(
            asked,
            got,
            "there is a window: where the discriminant is positive, "
            "communication is the smaller between two crossings",
        )
    apart = np.array(
        [over_X * N * alpha / (M_X * work * B), work * F * M_Y / alpha / over_Y]
    )
    likely = [
        (ends[::-1], "the lower end comes first"),
        (apart, "yours is the window if the traffic overlaps"),
        (N / ends[::-1], "yours is the window for X"),
        (np.clip(ends, 1, N), "do not ask whether Y is between 1 and N"),
        *known,
        *(
            (N / found[::-1], words + ", and it is for X")
            for found, words in known
        ),
    ]
    compare.close(asked, np.array(got), ends, rel=1e-6, likely=likely)


def grade_window():
    """Question 11 with other sizes, near the border and far from it."""
    draw = question.draw("window")
    for change in (0.3, 0.98, 1.02, 1.5, 3, 10):
        F, N = int(draw.integers(8000, 60_000)), int(2 ** draw.integers(6, 13))
        alpha, matrices = (
            float(draw.uniform(900, 4000)),
            int(draw.integers(2, 4)),
        )
        M_X, M_Y = draw.integers(1, 4, 2).tolist()
        B = 80 * N * alpha**2 / (9 * F * matrices * M_X * M_Y)
        B = round(change * B)
        check_window(B, F, N, alpha, M_X, M_Y, matrices)


def _discriminant(N, B, F, alpha, M_X, M_Y, matrices):
    """N squared times that of the quadratic through three of its values."""
    over_X, over_Y = _multiples(matrices, False, 4)

    def slow(Y):
        comms = over_X * F / (Y * M_X) + over_Y * Fraction(B * Y, N * M_Y)
        return Y * (comms - Fraction(6 * matrices * B * F, N * alpha))

    at_1, at_2, at_3 = map(slow, (1, 2, 3))
    square = (at_3 - 2 * at_2 + at_1) / 2
    linear = at_2 - at_1 - 3 * square
    return N**2 * (linear**2 - 4 * square * (at_1 - square - linear))


def _chips_of_sign_change(B, F, m, alpha, M_X, M_Y):
    """The chips at which the discriminant, linear in N, changes sign."""
    B, F, m, alpha, M_X, M_Y = map(int, (B, F, m, alpha, M_X, M_Y))
    at_1, at_2 = (_discriminant(N, B, F, alpha, M_X, M_Y, m) for N in (1, 2))
    return 1 - at_1 / (at_2 - at_1)


@question.visible(
    "most_chips",
    (
        [
            (2_048_000, 32_768, 2, 2550, 2, 1),
            (3_000_000, 13_824, 3, 2550, 2, 1),
            (64_000, 4096, 3, 1000, 1, 2),
            (64_000, 4096, 2, 1000, 3, 2),
        ],
    ),
)
def check_chips(points):
    """Question 12: the chips at which the window closes."""
    compare.formula(
        "most_chips",
        student.expression("most_chips"),
        "B F m alpha M_X M_Y",
        _chips_of_sign_change,
        points,
        likely=[
            (
                "9*B*F*m*M_X*M_Y/(20*alpha**2)",
                "yours is the most chips if the traffic overlaps",
            ),
            (
                "B*F*m*M_X*M_Y/(8*alpha**2)",
                "yours are the chips of the forward pass; backward moves "
                "other multiples",
            ),
            (
                "3*B*F*m*M_X*M_Y/(20*alpha**2)",
                "you let gradients travel in bf16",
            ),
            (
                "9*B*F*m*M_X*M_Y/(64*alpha**2)",
                "you forget that In is gathered again",
            ),
            (
                "3*B*F*m*M_X*M_Y/(16*alpha**2)",
                "yours is for bf16 gradients and a kept In",
            ),
            ("9*B*F*M_X*M_Y/(40*alpha**2)", "you leave out the gate"),
            (
                "B*F*M_X*M_Y/(4*alpha**2)",
                "yours are the chips of the forward pass, of a plain block",
            ),
            (
                "B*F*M_X*M_Y/alpha**2",
                "yours are the chips of the forward pass, overlapped",
            ),
            (
                "9*B*F*m*M_X*M_Y/(80*alpha)",
                "what moves over X and over Y both take alpha",
            ),
            ("9*B*F*m/(80*alpha**2)", "you leave out the axes"),
            (
                "9*B*F*m*(M_X + M_Y)/(80*alpha**2)",
                "axes are multiplied here",
            ),
            (
                "80*alpha**2/(9*F*m*M_X*M_Y)",
                "yours is the tokens on each chip",
            ),
            ("80*alpha**2/(9*B*F*m*M_X*M_Y)", "yours is upside down"),
            ("9*B*F*m*M_X/(80*alpha**2)", "you leave out an axis"),
            ("B*(M_X + M_Y)/alpha", "yours is FSDP alone"),
        ],
    )


def grade_chips():
    """Question 12 at other points."""
    draw, points = question.draw("chips"), []
    for _ in range(6):
        sizes = draw.integers(100, 9999, 2).tolist()
        matrices, alpha = (
            int(draw.integers(2, 4)),
            int(draw.integers(100, 9999)),
        )
        points.append(
            (*sizes, matrices, alpha, *draw.integers(1, 4, 2).tolist())
        )
    check_chips(points)
