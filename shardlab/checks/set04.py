"""Set 04, sharded matmuls: what must move, what it costs, which layout is best.

Programs are exported by JAX, and their bytes counted in what was exported.
Layouts are found by multiplying blocks on every device and trying all of them;
formulas and times are held against traced programs, the blocks of arrays, and
rings and lines on which blocks are moved hop by hop.
"""

import functools
from fractions import Fraction
from itertools import product
from math import lcm

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import count, hw, matmul, ring
from shardlab.checks import compare, program, question, student
from shardlab.checks.matrices import layouts
from shardlab.checks.question import WrongAnswer


def _numbers(draw, *shape):
    """Small whole numbers of float32: their products are exact."""
    return draw.integers(-9, 10, shape).astype(np.float32)


def _seed(draw):
    """A seed for the arrays of one case."""
    return int(draw.integers(2**31))


# --- 1: four cases -----------------------------------------------------------

SIZES, SIDE = {"X": 2, "Y": 3}, 12
PLACES = list(product(*map(range, SIZES.values())))
FACTORS = np.random.default_rng(4).integers(-9, 10, (2, SIDE, SIDE))


def _block(x, cuts, place):
    """What the device at a place holds of x, by slicing."""
    at = dict(zip(SIZES, place, strict=True))
    for dim, letters in enumerate(cuts):
        for axis in letters:
            x = np.split(x, SIZES[axis], dim)[at[axis]]
    return x


def _misfit(A, B):
    """The first device whose columns and rows do not go together, and both."""
    inner = np.tile(np.arange(SIDE), (SIDE, 1))  # the number of the column
    for place in PLACES:
        columns = _block(inner, A, place)[0]
        rows = _block(inner.T, B, place)[:, 0]
        if not np.array_equal(columns, rows):
            return place, columns, rows
    return None


def _held(formed, sums, place):
    """What a device has when sums over these axes are made."""
    return sum(
        formed[other]
        for other in PLACES
        if all(
            other[n] == place[n]
            for n, axis in enumerate(SIZES)
            if axis not in sums
        )
    )


def _found(A, B):
    """How the product of local blocks lies, found by multiplying them."""
    formed = {
        place: _block(FACTORS[0], A, place) @ _block(FACTORS[1], B, place)
        for place in PLACES
    }
    whole = FACTORS[0] @ FACTORS[1]
    for cuts, sums in layouts(SIZES):
        if all(
            np.array_equal(_held(formed, sums, p), _block(whole, cuts, p))
            for p in PLACES
        ):
            return [cuts, sums]
    return "diagonal"


@question.visible(
    "multiplied",
    (["X", ""], ["", "Y"]),
    (["", "X"], ["", ""]),
    (["", "X"], ["X", ""]),
    (["X", ""], ["", "X"]),
    (["X", "Y"], ["Y", ""]),
    (["", "XY"], ["YX", ""]),
    (["", "YX"], ["YX", ""]),
    (["XY", ""], ["", "Y"]),
    (["Y", "X"], ["", "Y"]),
)
def check_cases(A, B):
    """Question 1: how the product of local blocks lies, or why it is none."""
    asked, got = f"multiplied({A}, {B})", student.call("multiplied", A, B)
    unlike = _misfit(A, B)
    right = "misfit" if unlike else _found(A, B)
    if not isinstance(right, str):
        _same_layout(asked, got, right)
        return
    reason = "you miss that some blocks of C are formed on no device"
    likely = [("misfit", "columns and rows go together on every device")]
    if unlike:
        place, columns, rows = unlike
        reason = (
            f"on device {place} of 2 x 3 you let columns {_span(columns)} of A "
            f"meet rows {_span(rows)} of B, of {SIDE}"
        )
        likely = [("diagonal", reason)]
    if not isinstance(got, str):
        compare.wrong(asked, got, reason)
    compare.equal(asked, got, right, likely)


def _span(numbers):
    """Consecutive numbers in words; others as a list."""
    if np.array_equal(numbers, np.arange(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def _same_layout(asked, got, right):
    """Compare cuts and outstanding sums with those that were found."""
    if isinstance(got, str):
        reason = "you refuse blocks that can be multiplied as they lie"
        compare.wrong(asked, got, reason)
    cuts, sums = compare.entries(asked, got, 2)
    if not isinstance(sums, str):
        compare.wrong(asked, got, "its second entry should be text")
    if set(right[1]) - set(sums):
        reason = "your devices have terms of a sum, and you name no such axis"
        compare.wrong(asked, got, reason)
    if set(sums) - set(right[1]):
        compare.wrong(asked, got, "you name a sum that is not outstanding")
    names = ("rows", "columns")
    likely = [(right[0][::-1], "you have rows and columns exchanged")]
    compare.equal(f"the cuts of {asked}", cuts, right[0], likely, names)


def grade_cases():
    """Question 1 with other layouts, and some of all there are."""
    draw = question.draw("cases")
    cases = [
        (["", "XY"], ["XY", ""]),
        (["X", "Y"], ["Y", "X"]),
        (["X", "Y"], ["", "X"]),
        (["", "X"], ["Y", ""]),
        (["Y", "X"], ["X", ""]),
        (["", ""], ["X", ""]),
        (["", "Y"], ["", "Y"]),
        (["YX", ""], ["", ""]),
        (["YX", ""], ["", "X"]),
        (["", "XY"], ["X", ""]),
    ]
    every = [cuts for cuts, sums in layouts(SIZES) if not sums]
    for _ in range(10):
        A, B = (every[n] for n in draw.integers(len(every), size=2))
        cases.append((list(A), list(B)))
    for A, B in cases:
        check_cases(A, B)


# --- 2: before or after ------------------------------------------------------

CHOICES = ("", "A", "B", "AB")


@functools.cache
def _sent_by(before, I, J, K, X, Y):
    """Bytes each device sends, if these factors are gathered before."""

    def body(A, B):  # A[I_X, J]  B[J, K_Y]
        if "A" in before:
            A = _gathered(A, "X", 0)
        if "B" in before:
            B = _gathered(B, "Y", 1)
        C = A @ B
        if "B" not in before:
            C = _gathered(C, "Y", 1)
        return C if "A" in before else _gathered(C, "X", 0)

    line = "A[I_X, J] . B[J, K_Y] -> C[I, K]"
    sizes = {"I": I, "J": J, "K": K}
    return count.sent(matmul.traced(body, line, sizes, {"X": X, "Y": Y}))


def _gathered(x, axis, dim):
    """x, gathered over a mesh axis along a dimension."""
    return lax.all_gather(x, axis, axis=dim, tiled=True, to="invarying")


@question.visible(
    "gathers",
    (512, 4096, 768, 4, 2),
    (4096, 64, 768, 4, 3),
    (4096, 512, 240, 2, 5),
    (96, 1024, 4095, 4, 3),
)
def check_gathers(I, J, K, X, Y):
    """Question 2: which factors to gather before, and what a device sends.

    I, J, K  sizes of the matrices
    X, Y     of the mesh
    """
    asked = f"gathers({I}, {J}, {K}, {X}, {Y})"
    got = compare.entries(asked, student.call("gathers", I, J, K, X, Y), 2)
    choice, sent = got
    if not isinstance(choice, str) or "".join(sorted(choice)) not in CHOICES:
        compare.wrong(asked, got, f"its first entry is none of {CHOICES}")
    choice = "".join(sorted(choice))
    counted = {way: _sent_by(way, I, J, K, X, Y) for way in CHOICES}
    least = min(counted.values())
    whole = {"A": 2 * I * J, "B": 2 * J * K, "C": 2 * I * K}
    if counted[choice] > least:
        words = {"": "neither", "AB": "both"}.get(choice, choice)
        compare.wrong(
            asked,
            got,
            f"you gather {words} before, which sends {counted[choice]:,} bytes "
            f"from each device; {least:,} are enough",
        )
    likely = _mistaken_bytes(choice, whole, X, Y, least)
    compare.close(f"the bytes of {asked}", sent, least, likely=likely)


def _mistaken_bytes(choice, whole, X, Y, least):
    """Bytes that mistakes of question 2 give, with the mistakes."""
    x, y = (X - 1) / X, (Y - 1) / Y
    before_A, before_B = "A" in choice, "B" in choice

    def summed(x, y, C):
        return whole["A"] * before_A * x + whole["B"] * before_B * y + C

    over_X, over_Y = x * (not before_A), y * (not before_B)
    twice = whole["C"] * (over_X + over_Y)
    late = whole["C"] * (over_X + over_Y - over_X * over_Y)
    blocks = {"A": X, "B": Y, "": X * Y}.get(choice, 1)
    return [
        (summed(1, 1, whole["C"] * (choice != "AB")), "you give volumes"),
        (summed(x, y, twice), "you gather all of C twice; over Y it is a part"),
        (summed(y, x, late), "you gather A over Y, or B over X"),
        (
            summed(x, y, whole["C"] * (x if before_A else y)),
            "you gather C over an axis that cuts it no more",
        ),
        (summed(x / X, y / Y, late / X / Y), "you gather blocks; V is whole"),
        (summed(x / X, y / Y, late / blocks), "you gather blocks; V is whole"),
        (2 * least, "yours is twice as much; what has an element in bf16?"),
        (least / 2, "yours is half as much; what has an element in bf16?"),
        (least * X * Y, "you count all devices"),
    ]


def grade_gathers():
    """Question 2 for other sizes and meshes."""
    draw = question.draw("gathers")
    for X, Y in ((2, 2), (3, 4), (8, 2), (2, 6)):
        I, K = (X * Y * draw.integers(1, 99, 2)).tolist()
        check_gathers(I, int(draw.integers(1, 400)), K, X, Y)


# --- 3 to 5: programs --------------------------------------------------------


@question.visible("two_at_once", (2, 3, 6, 2, 4))
def check_two(X, Y, I, J, K, seed=3):
    """Question 3: case 3 over Y and case 4 over X in one product.

    X, Y     of the mesh
    I, J, K  rows, columns and columns of the blocks of A[I_X, J_Y] and
             of C[I_X, K_XY]
    seed     of the entries
    """
    draw = np.random.default_rng(seed)
    a = _numbers(draw, X * I, Y * J)
    b = _numbers(draw, Y * J, X * Y * K)
    c, asked = a @ b, f"two_at_once on {X} x {Y} devices"
    request = program.request(
        a,
        b,
        mesh={"X": X, "Y": Y},
        in_specs=(P("X", "Y"), P("Y", "X")),
        out_specs=P("X", "Y"),
    )
    answer = student.program("two_at_once", request)
    if answer.sent("X") + answer.sent(("X", "Y")) == 0:
        raise WrongAnswer(
            f"{asked}: you move nothing over X; of B a device has an X-th of "
            "the columns, and it can form no others"
        )
    if answer.sent("Y") + answer.sent(("X", "Y")) == 0:
        raise WrongAnswer(
            f"{asked}: you move nothing over Y; your products are terms"
        )
    if "all_reduce" in answer.kinds():
        adds = [c for c in answer.collectives() if c.kind == "all_reduce"]
        reason = (
            "where a ReduceScatter is enough: all along Y get all of the sum"
        )
        if any(c.axes == ("X",) for c in adds):
            reason = "to gather B: it adds up zeros, and moves twice the bytes"
        raise WrongAnswer(f"{asked}: you use an AllReduce (psum) {reason}")
    over_X = b.nbytes // Y * (X - 1) // X
    if answer.sent("X") > over_X:
        raise WrongAnswer(
            f"{asked}: you send {answer.sent('X'):g} bytes over X, and "
            f"{over_X} are enough: gather B, whose rows Y cuts"
        )
    answer.at_most(sent=over_X + c.nbytes // X * (Y - 1) // Y)
    compare.close(
        asked,
        answer.run(a, b),
        c,
        terms=len(b),
        likely=[
            (c / Y, "you give the mean of the terms"),
            (c[:, ::-1], "your columns are in the reverse order"),
        ],
        show=True,
    )


def grade_two():
    """Question 3 on other meshes."""
    draw = question.draw("two")
    for X, Y in ((3, 2), (4, 2), (2, 4)):
        check_two(X, Y, *draw.integers(1, 5, 3).tolist(), _seed(draw))


@question.visible("weights_first and sums_after", (3, 2, 4, 5))
def check_weights(N, I, J, K, seed=3):
    """Question 4: A[I, J] . B[J_X, K] -> C[I_X, K], by a gather or a sum.

    N     devices
    I, J  rows of a block of C, and of B
    K     columns of B
    seed  of the entries
    """
    draw = np.random.default_rng(seed)
    a, b = _numbers(draw, N * I, N * J), _numbers(draw, N * J, K)
    c = a @ b
    split = zip(np.split(a, N, axis=1), np.split(b, N), strict=True)
    terms = [left @ right for left, right in split]
    first = sum(a[:, :J] @ right for right in np.split(b, N))
    for name, kind, V in (
        ("weights_first", "all_gather", b.nbytes),
        ("sums_after", "psum_scatter", c.nbytes),
    ):
        request = program.request(
            a,
            b,
            mesh={"X": N},
            in_specs=(P(), P("X", None)),
            out_specs=P("X", None),
        )
        answer, asked = student.program(name, request), f"{name} on {N} devices"
        if "all_reduce" in answer.kinds():
            raise WrongAnswer(
                f"{asked}: you use an AllReduce (psum); {kind} moves half of it"
            )
        answer.allow(kind)
        answer.exactly(volume=V)
        compare.close(
            asked,
            answer.run(a, b),
            c,
            terms=N * J,
            likely=[
                (c * N, f"yours is {N} times too large: all added all of it"),
                (c / N, "you give the mean of the terms"),
                (first, "all your devices take the same columns of A"),
                (terms[0], "you give one device's term"),
                (np.tile(c[:I], (N, 1)), "all your devices take the same rows"),
            ],
            show=True,
            place=compare.on_devices(I),
        )


def grade_weights():
    """Question 4 on other numbers of devices."""
    draw = question.draw("weights")
    for N in (2, 4, 7):
        check_weights(N, *draw.integers(1, 6, 3).tolist(), _seed(draw))


def _terms(a, b, X, Y):
    """What device (x, y) holds of A B before any sum is made, by JAX."""
    kinds, both = (AxisType.Explicit,) * 2, ("Y", "X")
    mesh = jax.make_mesh((X, Y), ("X", "Y"), axis_types=kinds)
    with jax.set_mesh(mesh):
        A, B = (
            jax.device_put(a, P(None, both)),
            jax.device_put(b, P(both, None)),
        )
        C = jnp.matmul(A, B, out_sharding=P(None, None, unreduced={"X", "Y"}))
    held = {s.device.id: np.asarray(s.data) for s in C.addressable_shards}
    ids = np.vectorize(lambda device: device.id)(mesh.devices)
    return {at: held[int(ids[at])] for at in np.ndindex(X, Y)}


@question.visible("partial", (2, 3, 4, 2, 5), (4, 2, 3, 1, 2))
def check_partial(X, Y, I, J, K, seed=6):
    """Question 5: the term of each device, with A[I, J_YX].

    X, Y     of the mesh
    I, J, K  rows of A, columns of its block, columns of B
    seed     of the entries
    """
    question.need_devices(X * Y)
    draw = np.random.default_rng(seed)
    a = _numbers(draw, I, X * Y * J)
    b = _numbers(draw, X * Y * J, K)
    cuts, rows = np.split(a, X * Y, axis=1), np.split(b, X * Y)
    for (x, y), expected in reversed(_terms(a, b, X, Y).items()):
        other, here = x * Y + y, y * X + x
        first, late = here * J, (here + 1) % (X * Y)
        stride = a[:, (y * Y + x) * J :][:, :J] @ b[(y * Y + x) * J :][:J]
        compare.close(
            f"partial(A, B, {x}, {y}, {X}, {Y})",
            student.call("partial", a, b, x, y, X, Y),
            expected,
            likely=[
                (a @ b, "you give the whole sum"),
                (
                    cuts[other] @ rows[other],
                    "you cut by X first; in J_YX the axis Y is the major one",
                ),
                (
                    a[:, y * X + x :: X * Y] @ b[y * X + x :: X * Y],
                    "you deal columns out; a device has neighbouring ones",
                ),
                (
                    cuts[y] @ rows[y] if y < X * Y else a @ b,
                    "you leave X out; both axes cut J",
                ),
                (
                    0 * expected,
                    "yours is nothing, or lies behind the last column; the "
                    f"first device is 0, and a step along Y passes {X} blocks",
                ),
                (
                    stride,
                    "a step along Y passes as many blocks as X has devices, "
                    "not as many as Y has",
                ),
                (
                    cuts[late] @ rows[late],
                    "you number devices from 1; the first is 0",
                ),
                (
                    a[:, first : first + 1] @ b[first : first + 1],
                    f"you take one column of A; a device has {J}",
                ),
                (
                    cuts[here].sum(1, keepdims=True) * rows[here].sum(0),
                    "you add up rows and columns before you multiply; in a "
                    "matmul each pair is multiplied first",
                ),
            ],
            show=True,
        )


def grade_partial():
    """Question 5 on other meshes."""
    draw = question.draw("partial")
    for X, Y in ((2, 2), (1, 3), (2, 4)):
        check_partial(X, Y, *draw.integers(2, 6, 3).tolist(), _seed(draw))


# --- 6: gather or reduce -----------------------------------------------------


def _weights_gathered(A, B):  # In[I, J]  W_in[J_X, K]
    return A @ _gathered(B, "X", 0)


def _terms_added(A, B):  # In[I, J]  W_in[J_X, K]
    return lax.psum(_own_columns(A, B) @ B, "X")


def _terms_scattered(A, B):  # In[I, J]  W_in[J_X, K]
    C = _own_columns(A, B) @ B
    return lax.psum_scatter(C, "X", scatter_dimension=1, tiled=True)


def _own_columns(A, B):
    """The columns of A that go with the rows of B that are here."""
    start = lax.axis_index("X") * B.shape[0]
    return lax.dynamic_slice_in_dim(A, start, B.shape[0], 1)


def _rows_gathered(A, B):  # A[N, M_X]  B[M, K]
    return _gathered(A, "X", 1) @ B


def _product_scattered(A, B):  # A[N, M_X]  B[M_X, K]
    return lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)


STRATEGIES = {
    _weights_gathered: "A[I, J] . B[J_X, K] -> C[I, K]",
    _terms_added: "A[I, J] . B[J_X, K] -> C[I, K]",
    _terms_scattered: "A[I, J] . B[J_X, K] -> C[I, K_X]",
    _rows_gathered: "A[I, J_X] . B[J, K] -> C[I, K]",
    _product_scattered: "A[I, J_X] . B[J_X, K] -> C[I_X, K]",
}


@functools.cache
def _bytes(body, I, J, K, X):
    """Volume of a strategy's program."""
    sizes = {"I": I, "J": J, "K": K}
    line = STRATEGIES[body]
    return count.volume(matmul.traced(body, line, sizes, {"X": X}))


def _multiplied(I, J, K):
    """FLOPs of a product, one multiply-add after the other."""
    return sum(2 for _ in product(range(I), range(J), range(K)))


def _tokens(B, D, F, X, C, W):
    """Where gather and scatter move the same: one grows with B, one not."""
    both = (
        _bytes(_weights_gathered, B, D, F, X),
        _bytes(_terms_scattered, B, D, F, X),
    )
    return Fraction(both[0] * B, both[1])


def _width(B, D, F, X, C, W):
    """Where the scatter takes as long as all of the arithmetic."""
    comm = Fraction(_bytes(_terms_scattered, B, D, F, X), W)
    return comm * D / Fraction(_multiplied(B, D, F), C)


def _chips(B, D, F, X, C, W):
    """Where the scatter takes as long as a chip's share of the arithmetic."""
    comm = Fraction(_bytes(_terms_scattered, B, D, F, X), W)
    return Fraction(_multiplied(B, D // X, F), C) * X / comm


def _in_turn(B, D, F, X, C, W):
    """Where gather and AllReduce take the same time without overlap."""
    gather = Fraction(_bytes(_weights_gathered, B, D, F, X), W)
    adding = Fraction(_bytes(_terms_added, B, D, F, X), W * B)
    alone = Fraction(_multiplied(B, D, F), C * B)
    shared = Fraction(_multiplied(B, D // X, F), C * B)
    return gather / (adding + shared - alone)


FORMULAS = {
    "tokens": (
        _tokens,
        [
            ("D/2", "you AllReduce; a ReduceScatter moves half of it"),
            ("2*D", "you have it the other way round, and AllReduce"),
            ("D/X", "you count what a chip keeps; volumes are whole arrays"),
            ("F", "you compare the wrong sizes; which of them cancels?"),
            ("B", "you give the tokens themselves"),
        ],
    ),
    "width": (
        _width,
        [
            ("2*C/W", "you AllReduce; a ReduceScatter moves half of it"),
            ("C/(2*W)", "what has an element in bf16, and a multiply-add?"),
            ("C*X/W", "you take (3)'s arithmetic; it is that of (1)"),
            ("W/C", "you have it upside down"),
        ],
    ),
    "chips": (
        _chips,
        [
            ("D*W/(2*C)", "you AllReduce; a ReduceScatter moves half of it"),
            ("C/(D*W)", "you have it upside down"),
            ("D*C/W", "you have C and W the wrong way round"),
            ("2*D*W/C", "what has an element in bf16, and a multiply-add?"),
        ],
    ),
    "tokens_in_turn": (
        _in_turn,
        [
            ("D/2", "you compare bytes alone; arithmetic is not overlapped"),
            (
                "D*C/(2*C - D*W)",
                "you let (2) do no arithmetic; each chip does an X-th",
            ),
            (
                "D*C/(C - D*W*(1 - 1/X))",
                "you ReduceScatter; (2) is an AllReduce, twice as much",
            ),
            (
                "D*C/(2*C + D*W*(1 - 1/X))",
                "you lost a sign: (1) does more arithmetic, not less",
            ),
            (
                "D*C/(2*C - D*W/X)",
                "you took an X-th of the arithmetic for what is saved",
            ),
        ],
    ),
}
RATIOS = [
    ("K/M", "you have it the other way round"),
    ("M/(2*K)", "you AllReduce; a ReduceScatter moves half of it"),
    ("N/K", "you reduce B; what is reduced is the product"),
    ("N*M/(M*K)", "you reduce B; what is reduced is the product"),
    ("1", "what is gathered and what is reduced have different sizes"),
]


@question.visible(
    "the formulas",
    (
        [(6, 8, 6, 2, 71, 3), (2, 12, 4, 4, 205, 11), (5, 9, 3, 3, 40, 2)],
        [(4, 6, 10), (8, 2, 6)],
    ),
)
def check_strategies(points, ratios):
    """Question 6: where one way of multiplying beats another.

    points  numbers for B, D, F, X, C and W
    ratios  numbers for N, M and K
    """
    for name, (counted, likely) in FORMULAS.items():
        compare.formula(
            name,
            student.expression(name),
            "B D F X C W",
            counted,
            points,
            likely=likely,
        )
    compare.formula(
        "ratio",
        student.expression("ratio"),
        "N M K",
        lambda N, M, K: Fraction(
            _bytes(_rows_gathered, N, M, K, 2),
            _bytes(_product_scattered, N, M, K, 2),
        ),
        ratios,
        likely=RATIOS,
    )


def grade_strategies():
    """Question 6 with other numbers."""
    draw, points = question.draw("strategies"), []
    for X in draw.choice(np.arange(2, 17), 3, replace=False).tolist():
        B, D, F, C, W = draw.integers(1, 8, 5).tolist()
        points.append((B, D * X, F * X, X, 1000 * C + 1, W + 2))
    ratios = [tuple((2 * draw.integers(1, 20, 3)).tolist()) for _ in "AB"]
    check_strategies(points, ratios)


# --- 7 and 8: a cube ---------------------------------------------------------


@functools.cache
def _on_cube(kind, n, axes):
    """Seconds a byte, for links of a byte a second, and hops in a row."""
    V = 2 * axes * n**axes
    run = getattr(ring, kind)(
        V, (n,) * axes, link_bw=1, algorithm="balanced", symmetry=True
    )
    return run.seconds / V, run.steps


def _cube_seconds(cut, sizes, n, chip, T_min):
    """Seconds of a product whose dimensions are cut by some axes of a cube.

    cut    how many axes cut I, J and K
    sizes  I, J and K
    chip   FLOP/s, bytes/s of an axis, bytes/s of memory
    returns  seconds of arithmetic, of reading, on the wires, and for hops
    """
    (C, W, hbm_bw), (i, j, k) = chip, cut
    rows, inner, columns = (s / n**c for s, c in zip(sizes, cut, strict=True))
    flops, read = 2 * rows * inner * columns, rows * inner + inner * columns
    wires = hops = 0.0
    for kind, axes, V in (
        ("all_reduce", j, 2 * rows * columns),
        ("all_gather", i + k, 2 * sizes[0] * sizes[2]),
    ):
        if axes:
            each, steps = _on_cube(kind, n, axes)
            wires += V * each / (W / 2)
            hops += steps * T_min
    return flops / C, 2 * read / hbm_bw, wires, hops


CUTS = [cut for cut in product(range(4), repeat=3) if sum(cut) <= 3]
V5P = hw.V5P.flops, 2 * hw.V5P.link_bw, hw.V5P.hbm_bw


@question.visible(
    "quickest",
    (1024, 16384, 32768, 4, *V5P, 1e-6),
    (8192, 16384, 8192, 4, *V5P, 1e-6),
    (131072, 16384, 256, 4, *V5P, 1e-6),
    (256, 16384, 131072, 4, *V5P, 1e-6),
    (1024, 512, 32768, 4, *V5P, 1e-6),
    (128, 1024, 4096, 4, *V5P, 1e-6),
    (256, 262144, 512, 6, *V5P, 1e-6),
)
def check_quickest(I, J, K, n, C, W, hbm_bw, T_min):
    """Question 7: by how many axes to cut I, J and K, and the seconds."""
    sizes, chip = (I, J, K), (C, W, hbm_bw)
    asked = f"quickest({I}, {J}, {K}, {n}, ...)"
    got = student.call("quickest", I, J, K, n, C, W, hbm_bw, T_min)
    *cut, seconds = compare.entries(asked, got, 4)
    cut = tuple(compare.whole_number(asked, axes) for axes in cut)
    if cut not in CUTS:
        compare.wrong(asked, got, "it should begin with 3 axes at most, dealt")

    def parts(cut):
        return _cube_seconds(cut, sizes, n, chip, T_min)

    def took(cut):
        math, read, wires, hops = parts(cut)
        return max(math, read) + wires + hops

    best = min(map(took, CUTS))
    math, read, wires, hops = parts(cut)
    if took(cut) > best * (1 + 1e-9):
        compare.wrong(
            asked,
            list(cut),
            f"your chip computes {math * 1e6:.3g}, reads {read * 1e6:.3g} and "
            f"waits {(wires + hops) * 1e6:.3g} µs: {took(cut) * 1e6:.4g} in "
            f"all, and {best * 1e6:.4g} are enough",
        )
    work, axes = max(math, read), cut[1] or cut[0] + cut[2]
    compare.close(
        f"the seconds of {asked}",
        seconds,
        best,
        likely=[
            (math + read + wires + hops, "you add reading; it runs beside"),
            (math + wires + hops, "you leave reading out"),
            (work, "you leave communication out"),
            (max(work, wires + hops), "you overlap communication as well"),
            (work + wires, "you leave the hops out"),
            (work + wires / (1 - n**-axes) + hops, "you give a limit"),
            (work + wires / (1 - n**-axes), "you give a limit, without hops"),
            (work + wires * axes + hops, "you use one axis at a time"),
            (work + wires + hops / axes, "you count the hops of one axis"),
            (work + wires + 2 * hops, "you count the hops of lines"),
            (wires + hops, "you give the communication alone"),
        ]
        if axes
        else [],
    )


def grade_quickest():
    """Question 7 for other products and cubes."""
    draw = question.draw("quickest")
    for n in (2, 4, 6, 4, 2):
        I, J, K = (n**3 * 2 ** draw.integers(1, 12, 3)).tolist()
        speeds = draw.uniform((1e14, 5e10, 1e12), (9e14, 5e11, 5e12)).tolist()
        check_quickest(I, J, K, n, *speeds, 1e-6)


@question.visible(
    "longer_than",
    (
        [
            (17, 3, 2, 24, 40, 5),
            (459, 18, 4, 128, 64, 2),
            (90, 7, 6, 36, 216, 1),
        ],
    ),
)
def check_share(points):
    """Question 8: the J from which sharing a product pays, with latency.

    points  numbers for C, W, n, I, K and T
    """

    def crossing(C, W, n, I, K, T):
        V = 2 * I * K
        unit = lcm(6 * n**3, 2)  # bytes that can be cut for three axes
        run = ring.all_gather(
            unit, (n,) * 3, link_bw=1, algorithm="balanced", symmetry=True
        )
        load = Fraction(int(run.bytes_on_link.max()), unit)
        gather = V * load / Fraction(W, 2) + run.steps * T
        each = Fraction(2 * I * K, C)
        return gather / (each - each / n**3)

    compare.formula(
        "longer_than",
        student.expression("longer_than"),
        "C W n I K T",
        crossing,
        points,
        likely=[
            ("C/(3*W)", "you leave the hops out"),
            ("C/(3*W)*(1 - 1/n**3)", "you let the chips that share do no work"),
            (
                "C*(1 - 1/n**3)/(3*W) + 3*n*T*C/(4*I*K)",
                "you let the chips that share do no work",
            ),
            (
                "C/(3*W) + 3*n*T*C/(4*I*K)",
                "your hops are saved against all of the arithmetic; a share "
                "of it is left",
            ),
            (
                "C/(3*W*(1 - 1/n**3)) + 3*n*T*C/(4*I*K*(1 - 1/n**3))",
                "your gather takes the limit V/3W; use the exact factor",
            ),
            (
                "C/W + 3*n*T*C/(4*I*K*(1 - 1/n**3))",
                "you gather over one axis; three carry it at once",
            ),
            (
                "C/(3*W) + n*T*C/(4*I*K*(1 - 1/n**3))",
                "you count the hops of one axis; a block goes along three",
            ),
            (
                "C/(3*W) + T*C/(2*I*K*(1 - 1/n**3))",
                "you count one hop",
            ),
            (
                "C/(3*W) + 3*(n - 1)*T*C/(2*I*K*(1 - 1/n**3))",
                "you count the hops of lines; axes are rings",
            ),
            (
                "C/(6*W) + 3*n*T*C/(4*I*K*(1 - 1/n**3))",
                "W is both ways together; what has an element in bf16?",
            ),
        ],
    )


def grade_share():
    """Question 8 with other numbers."""
    draw = question.draw("share")
    check_share(
        [
            (
                *draw.integers(5, 999, 2).tolist(),
                n,
                *draw.integers(1, 99, 3).tolist(),
            )
            for n in (2 * draw.permutation(np.arange(1, 7))[:3]).tolist()
        ]
    )


# --- 9: lines ----------------------------------------------------------------


def _summed(A, B):
    return lax.psum(A @ B, "Y")


def _trained(A, B):
    return A @ _gathered(B, "X", 0)


def _inferred(A, B):
    return A @ B


ON_LINES = [
    ("A[I_X, J_Y] . B[J_Y, K] -> C[I_X, K]", _summed, "all_reduce", "Y"),
    ("A[I_X, J] . B[J_X, K_Y] -> C[I_X, K_Y]", _trained, "all_gather", "X"),
    ("A[I_X, J] . B[J, K_Y] -> C[I_X, K_Y]", _inferred, None, "X"),
]


@functools.cache
def _line_load(kind, N):
    """Part of V that the busiest link of a line carries in one direction."""
    if N == 1:
        return Fraction(0)
    V = 2 * N
    steps = getattr(ring, f"{kind}_steps")(V, N, wrap=False)
    return sum(
        Fraction(max(ring.bytes_per_link([step]).values()), V) for step in steps
    )


def _crossing_bytes(number, I, J, K, X, Y):
    """Bytes over the busiest link, one step after the other."""
    line, body, kind, axis = ON_LINES[number]
    mesh, sizes = {"X": X, "Y": Y}, {"I": I, "J": J, "K": K}
    moved = count.volume(matmul.traced(body, line, sizes, mesh))
    if not kind:
        return Fraction(moved)
    return moved // (2 if number == 0 else 1) * _line_load(kind, mesh[axis])


@question.visible(
    "on_lines",
    (4096, 8192, 10240, 4, 4, hw.V5E.flops, hw.V5E.link_bw),
    (1200, 2400, 3600, 2, 6, 1e14, 4e10),
    (960, 480, 1920, 8, 3, 2e14, 5e10),
)
def check_lines(I, J, K, X, Y, C, link_bw):
    """Question 9: seconds of three products on X by Y chips, all lines."""
    asked = f"on_lines({I}, {J}, {K}, {X}, {Y}, ...)"
    got = student.call("on_lines", I, J, K, X, Y, C, link_bw)
    for number, pair in enumerate(compare.entries(asked, got, 3)):
        words = f"{asked}, product {number + 1}"
        math, comm = compare.numbers(words, pair, 2)
        right = 2 * I * J * K / (X * Y) / C
        compare.close(
            f"{words}, math",
            math,
            right,
            likely=[
                (right * X * Y, "you do all of it; each chip has a share"),
                (right * Y, "you leave Y out; it cuts the work, too"),
                (right * X, "you leave X out; it cuts the work, too"),
                (right / 2, "you count a multiply-add as one operation"),
            ],
        )
        moved = float(_crossing_bytes(number, I, J, K, X, Y)) / link_bw
        likely = _mistaken_lines(number, (I, J, K), X, Y, moved, link_bw)
        compare.close(f"{words}, comm", comm, moved, likely=likely)


def _mistaken_lines(number, sizes, X, Y, moved, link_bw):
    """Seconds of communication that mistakes give, with the mistakes."""
    I, J, K = sizes
    N = (Y, X, X)[number]
    V = (2 * I * K / X, 2 * J * K / Y, 0)[number]
    share = (N - 1) / N / link_bw
    if number == 2:
        return [
            (2 * J * K / Y * share, "you gather B; all of J is there"),
            (2 * I * K / (X * Y) * share, "you move C; it may stay cut"),
        ]
    if number == 0:
        return [
            (V * share, "you charge a gather, or rings; an AllReduce is two"),
            (2 * V / link_bw, "you give the limit of many chips"),
            (2 * V * X * share, "you forget that X cuts C, too"),
            (2 * V * (X - 1) / X / link_bw, "your line is X; it is Y"),
            (2 * (2 * I * J / X) * share, "you charge A; the sum is C"),
            (2 * (2 * I * J / X / Y) * share, "you charge A; the sum is C"),
            (2 * (2 * J * K / Y) * share, "you charge B; the sum is C"),
            (4 * V * share, "yours is twice too long"),
        ]
    return [
        (V * share / 2, "you have rings; the end of a line gets all one way"),
        (V / link_bw, "you give the limit of many chips"),
        (V * Y * share, "you forget that Y cuts B, too"),
        (V * (Y - 1) / Y / link_bw, "your line is Y; it is X"),
        (2 * I * J * share, "you gather A; its columns are all there"),
        (2 * J * J / Y * share, "you have B of J by J; it is J by K"),
        (2 * V * share, "you charge an AllReduce, or both ways in turn"),
    ]


@question.visible(
    "least_length and least_tokens",
    ([(4, 4, 197, 9), (2, 6, 1000, 7), (8, 3, 55, 2)],),
)
def check_bounds(points):
    """Question 9: where arithmetic takes as long as communication.

    points  numbers for X, Y, C and link_bw
    """

    def bound(number, dim):
        """Communication over arithmetic, times the size that it grows with."""

        def counted(X, Y, C, link_bw):
            size = 4 * X * Y
            sizes = (size, size, size)
            comm = _crossing_bytes(number, *sizes, X, Y) / link_bw
            return comm * size / Fraction(2 * size**3, X * Y * C)

        return counted

    for name, number, axis, other in (
        ("least_length", 0, "Y", "X"),
        ("least_tokens", 1, "X", "Y"),
    ):
        twice = 2 if number == 0 else 1
        exact = f"{twice}*C*({axis} - 1)/link_bw"
        compare.formula(
            name,
            student.expression(name),
            "X Y C link_bw",
            bound(number, name),
            points,
            likely=[
                (f"{twice}*C*{axis}/link_bw", "you give the limit of V/W"),
                (f"{twice}*C*{axis}/(2*link_bw)", "you give the rule of rings"),
                (f"{exact}/2", "you have rings, or one half of the sum"),
                (f"2*({exact})", "yours is twice as much"),
                (
                    f"{twice}*C*({other} - 1)/link_bw",
                    f"you take {other}; over which axis does it move?",
                ),
                (f"{exact}/{axis}", f"you divide by {axis}; it cuts both"),
                (f"{exact}/{other}", f"you divide by {other}; it cuts both"),
                (f"{exact}*{other}", f"you leave {other} out; it cuts both"),
                (f"link_bw*({axis} - 1)/C", "you have C upside down"),
            ],
        )


def grade_lines():
    """Question 9 for other products and slices."""
    draw = question.draw("lines")
    for X, Y in ((4, 4), (2, 8), (5, 3)):
        sizes = (X * Y * draw.integers(1, 99, 3)).tolist()
        C, link_bw = draw.uniform((1e14, 1e10), (9e14, 1e11)).tolist()
        check_lines(*sizes, X, Y, C, link_bw)


def grade_bounds():
    """Question 9 for other slices."""
    draw = question.draw("bounds").integers
    check_bounds(
        [
            (*draw(2, 13, 2).tolist(), int(draw(9, 999)), int(draw(2, 40)))
            for _ in range(4)
        ]
    )


# --- 10 and 11: a block that just fits ---------------------------------------

ARRAYS = ("In", "W_in", "W_out", "Out")


def _cuts(mesh):
    """The student's layouts: how the axes cut each array, checked."""
    said = student.value("cuts")
    if not isinstance(said, dict) or set(said) != set(ARRAYS):
        compare.wrong("cuts", said, f"expected a dict with {', '.join(ARRAYS)}")
    found = {}
    for name in ARRAYS:
        asked = f"cuts[{name!r}]"
        pair = compare.entries(asked, said[name], 2)
        letters = "".join(map(str, pair))
        if not all(isinstance(p, str) for p in pair) or set(letters) - set(
            mesh
        ):
            compare.wrong(asked, said[name], "expected two texts of X and Y")
        if len(set(letters)) < len(letters):
            compare.wrong(asked, said[name], "you cut by one axis twice")
        if name in ("W_in", "W_out") and set(letters) != set(mesh):
            reason = "each chip must hold a part as small as a chip can have"
            compare.wrong(asked, said[name], reason)
        found[name] = pair
    if found["In"] != found["Out"]:
        pair = [found["In"], found["Out"]]
        reason = "In and Out lie otherwise; the next block could not follow"
        compare.wrong("cuts", pair, reason)
    return {
        name: P(*(tuple(letters) or None for letters in pair))
        for name, pair in found.items()
    }


@question.visible("cuts and narrow", (2, 2, 4, 8, 1), (2, 3, 6, 4, 2))
def check_narrow(X, Y, B, d, f, seed=8):
    """Question 10: a block with a narrow middle; its layouts and its program.

    X, Y  of the mesh
    B     tokens
    d, f  a chip's part of D and F, if all cut it
    seed  of the entries
    """
    mesh, N = {"X": X, "Y": Y}, X * Y
    specs, draw = _cuts(mesh), np.random.default_rng(seed)
    shapes = [(N * B, N * d), (N * d, N * f), (N * f, N * d)]
    In, W_in, W_out = (
        draw.integers(-3, 4, shape).astype(np.float32) for shape in shapes
    )
    request = program.request(
        In,
        W_in,
        W_out,
        mesh=mesh,
        in_specs=tuple(specs[name] for name in ARRAYS[:3]),
        out_specs=specs["Out"],
    )
    asked = f"narrow on {X} x {Y} chips"
    answer = student.program("narrow", request)
    if answer.gathered(of=(1, 2)) > 0:
        raise WrongAnswer(
            f"{asked}: you gather weights, for which there is no room"
        )
    if answer.sent() == 0:
        raise WrongAnswer(
            f"{asked}: you move nothing; is what you return all of the sum?"
        )
    middle = N * B * N * f * In.itemsize
    enough = 2 * middle * (N - 1) // N
    if answer.sent() > enough:
        raise WrongAnswer(
            f"{asked}: your chip sends {answer.sent():,.0f} bytes, and "
            f"{enough:,} are enough: In has {In.nbytes:,} bytes and In W_in "
            f"{middle:,}; which of them should move?"
        )
    Out = In @ W_in @ W_out
    compare.close(
        asked,
        answer.run(In, W_in, W_out),
        Out,
        terms=N * (d + f),
        likely=[
            (Out / N, "you give a mean"),
            (Out * N, f"yours is {N} times too large: added up twice"),
            *_narrow_mistakes(In, W_in, W_out, X, Y),
        ],
        show=True,
    )


def _narrow_mistakes(In, W_in, W_out, X, Y):
    """Results of the narrow block if letters and sums do not go together."""
    N = X * Y
    left, right = np.split(In, N, axis=1), np.split(W_in, N)
    last = np.split(W_out, N, axis=1)
    turned = np.arange(N).reshape(Y, X).T.ravel()  # YX, chip by chip
    for order in (turned, np.argsort(turned)):
        middle = sum(left[n] @ right[order[n]] for n in range(N))
        yield (
            middle @ W_out,
            "columns of In meet other rows of W_in: XY and YX are two orders",
        )
        whole = np.concatenate([last[n] for n in order], axis=1)
        yield (
            In @ W_in @ whole,
            "columns of Out lie otherwise than those of W_out: XY and YX are "
            "two orders",
        )
    for summed, kept in (("X", "Y"), ("Y", "X")):
        for major in "XY":
            across = np.arange(N).reshape(*((X, Y) if major == "X" else (Y, X)))
            group = across if major == summed else across.T
            columns = [None] * N
            for chips in group.T:
                middle = sum(left[n] @ right[n] for n in chips)
                for n in chips:
                    columns[n] = middle @ last[n]
            yield (
                np.concatenate(columns, axis=1),
                f"you add up over {summed} alone; {kept} cuts what is added "
                "up, too",
            )


def grade_narrow():
    """Question 10 on other slices."""
    draw = question.draw("narrow")
    for X, Y in ((2, 2), (2, 4), (3, 2)):
        d, f = int(draw.integers(4, 7)), int(draw.integers(1, 3))
        check_narrow(X, Y, int(draw.integers(1, 4)), d, f, _seed(draw))


def _budget(chip, X, Y, B, D, F):
    """From the blocks of arrays on a mesh, and a simulated ring."""
    on = AbstractMesh((X, Y), ("X", "Y"))

    def bf16(shape, *cuts):
        where = NamedSharding(on, P(*cuts))
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=where)

    W_in, W_out = bf16((D, F), None, "Y"), bf16((F, D), "Y", None)
    held, whole = count.held([W_in, W_out]), count.held(bf16((D, F)))
    most = 0
    while (most + 1) * held + whole <= chip.hbm_bytes:
        most += 1
    rows, columns = W_in.sharding.shard_shape((D, F))
    V = count.held(bf16((B, D), "X", None))
    ways = hw.ring_directions(chip)
    comm = sum(
        collective(V, Y, link_bw=chip.link_bw, directions=ways).seconds
        for collective in (ring.all_gather, ring.reduce_scatter)
    )
    math = 2 * (2 * B // X * rows * columns) / chip.flops  # both products
    return [held, most, math, held / chip.hbm_bw, comm]


BUDGET = ("bytes", "blocks", "math", "reading", "comm")


@question.visible(
    "budget",
    ("v5p", 16, 4, 8192, 8192, 32768),
    ("h100", 32, 8, 16384, 8192, 4096),
    ("v5e", 4, 16, 512, 8192, 32768),
)
def check_budget(name, X, Y, B, D, F):
    """Question 11: what a block holds on a chip, and what takes longest."""
    asked = f"budget({name!r}, {X}, {Y}, {B}, {D}, {F})"
    called = student.call("budget", name, X, Y, B, D, F)
    got, chip = compare.entries(asked, called, 6), hw.chip(name)
    right = _budget(chip, X, Y, B, D, F)
    likely = _mistaken_budget(chip, X, Y, B, D, F, right)
    for words, answer, expected in zip(BUDGET, got, right, strict=False):
        same = compare.equal if words == "blocks" else compare.close
        same(f"{asked}: {words}", answer, expected, likely=likely[words])
    times = dict(zip(BUDGET[2:], right[2:], strict=True))
    if not isinstance(got[5], str) or got[5] not in times:
        compare.wrong(asked, got[5], f"expected one of {', '.join(times)}")
    if times[got[5]] < max(times.values()):
        compare.wrong(
            f"the longest of {asked}",
            got[5],
            "another of your three times is longer",
        )


def _mistaken_budget(chip, X, Y, B, D, F, right):
    """What mistakes of question 11 give, with the mistakes, by name."""
    matrix, room = 2 * D * F, chip.hbm_bytes
    held, _, math, reading, comm = right
    twice, half = (
        ("a ring is used both ways at once", "the gather alone")
        if chip.axes
        else ("an AllReduce, or half of the port", "the gather, or two ports")
    )
    fit = [
        (room, "you leave no room for the gathered matrix"),
        (
            room - matrix * (Y - 1) / Y,
            "your gathered matrix takes the place of a part; it is a copy "
            "besides",
        ),
        (room - 2 * matrix, "you gather both matrices"),
        (X * Y * room - matrix, "you fill the memory of all chips"),
    ]
    return {
        "bytes": [
            (Y * held, "you count all of both; Y cuts them"),
            (held / X, "X cuts tokens, and no weights"),
            (held / 2, "you have half of it: one of two, or a byte each"),
        ],
        "blocks": [
            *((left // held, reason) for left, reason in fit),
            (
                room // (held + matrix),
                "you gather one in every block; one block runs at a time",
            ),
        ],
        "math": [
            (math * X * Y, "you do all of it; a chip does a share"),
            (math * X, "you take all tokens; X cuts them"),
            (math * Y, "you leave Y out; it cuts F"),
            (math / 2, "you count one of two products"),
        ],
        "reading": [
            (reading * Y, "you read all of both; Y cuts them"),
            (reading / 2, "you read one of two matrices"),
        ],
        "comm": [
            (comm * Y / (Y - 1), "you give the limit of many chips"),
            (comm * 2, f"yours is twice as long: {twice}"),
            (comm / 2, f"you have half: {half}"),
            (
                comm * hw.axis_bw(chip) / chip.dcn_bw,
                "you leave the slice or node; Y lies within it",
            ),
            (comm * X, "you move all tokens; X cuts them"),
            (comm * F / D, "you move B by F; In and Out are B by D"),
            (
                comm * (X - 1) / X * Y / (Y - 1),
                "you gather over X; it cuts tokens, which stay apart",
            ),
        ],
    }


def grade_budget():
    """Question 11 for other blocks, slices and clusters."""
    draw = question.draw("budget")
    rings = {"v5e": [16], "v6e": [16], "v5p": [4, 8, 16], "tpu7x": [4, 8, 16]}
    nodes = dict.fromkeys(("a100", "h100", "h200", "b200"), [8])
    for machines in (rings, nodes, rings, nodes):
        name = draw.choice(list(machines)).item()
        X, Y = int(draw.integers(3, 40)), draw.choice(machines[name]).item()
        # Each of the three decides in one of these.
        for tokens, hidden in ((16, 256), (4096, 1024), (4096, 16)):
            B = X * int(draw.integers(1, 4)) * tokens // 16 * 16
            D, F = 16 * int(draw.integers(99, 400)), 16 * hidden
            check_budget(name, X, Y, B, D, F + 16 * int(draw.integers(9)))


# --- 12 and 13: a collective matmul ------------------------------------------


@question.visible("scatter_matmul", (5, 6, 1, 48))
def check_scatter_matmul(N, I, J, K, seed=9):
    """Question 12: a product that is scattered while it is formed.

    N        devices
    I, J, K  rows of a piece of C, columns of a block of A, columns of B
    seed     of the entries
    """
    draw = np.random.default_rng(seed)
    a, b = _numbers(draw, N * I, N * J), _numbers(draw, N * J, K)
    c, asked = a @ b, f"scatter_matmul on {N} devices"
    piece, factors = c.nbytes // N, (a.nbytes + b.nbytes) // N
    request = program.request(
        a,
        b,
        mesh={"X": N},
        in_specs=(P(None, "X"), P("X", None)),
        out_specs=P("X", None),
    )
    answer = student.program("scatter_matmul", request)
    if "reduce_scatter" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: your psum_scatter needs all of the term before it "
            "starts; send pieces by ppermute"
        )
    answer.allow("ppermute")
    ways = set()
    for hop in answer.collectives():
        if hop.volume != piece:
            raise WrongAnswer(
                f"{asked}: your message has {hop.volume} bytes, and a piece of "
                f"C {piece}: pieces of C travel, and nothing else"
            )
        pairs = program.pairs(asked, hop)
        ways |= {(there - here) % N for here, there in pairs}
    if not ways <= {1} and not ways <= {N - 1}:
        raise WrongAnswer(
            f"{asked}: your messages go {sorted(ways)} places on; each chip "
            "sends to one neighbour, always the same"
        )
    answer.exactly(sent=(N - 1) * piece)
    if answer.live() > 2 * factors + 4 * piece:
        raise WrongAnswer(
            f"{asked}: your device holds {answer.live():,} bytes at a time; "
            "multiply the rows of one piece when they are needed, not all"
        )
    blocks = list(zip(np.split(a, N, axis=1), np.split(b, N), strict=True))
    terms = [left @ right for left, right in blocks]
    own = np.concatenate([np.split(terms[d], N)[d] for d in range(N)])
    compare.close(
        asked,
        answer.run(a, b),
        c,
        terms=N * J,
        likely=[
            (np.roll(c, I, axis=0), "your pieces end one chip too far on"),
            (np.roll(c, -I, axis=0), "your pieces end one chip too far back"),
            (c - own, "you leave a chip's own term out"),
            (own, "you return each chip's own term; others are missing"),
            *_ends(terms, N),
            *_last_terms(terms, N),
        ],
        show=True,
        place=compare.on_devices(I),
    )


def _ends(terms, N):
    """Pieces that take up nothing between their first chip and their last."""
    split = [np.split(term, N) for term in terms]
    reason = "your pieces pass chips without taking up their terms"
    for way in (1, -1):
        kept = [split[d][d] + split[(d - way) % N][d] for d in range(N)]
        yield np.concatenate(kept), reason


def _last_terms(terms, N):
    """What rings give whose pieces and terms do not go together."""
    split = [np.split(term, N) for term in terms]
    reason = "your pieces take up the terms of other pieces on their way"
    for way, step in product((1, -1), repeat=2):
        for start in (0, 1, -1):
            kept = [
                sum(
                    split[(d - way * back) % N][
                        (d - way * back + start + step * (N - 1 - back)) % N
                    ]
                    for back in range(N)
                )
                for d in range(N)
            ]
            yield np.concatenate(kept), reason


def grade_scatter_matmul():
    """Question 12 on other rings."""
    draw = question.draw("scatter_matmul")
    for N in (7, 8):
        check_scatter_matmul(N, int(draw.integers(3, 6)), 1, 64, _seed(draw))


@functools.cache
def _simulated_end(hops, product):
    """When the last of simulated chips is done, block by block."""
    N = len(hops) + 1
    steps = [
        [hop._replace(bytes=size) for hop in step]
        for size, step in zip(
            hops, ring.all_gather_steps(N, N, directions=1), strict=True
        )
    ]
    works = matmul.timeline(steps, N, N * product, 1.0)
    return max(work.end for work in works)


@question.visible(
    "done",
    ([1, 5], 3.0),
    ([5, 1, 1], 2.0),
    ([1, 1, 1, 1], 3.0),
    ([1, 1, 5], 2.0),
    ([4, 4], 3.0),
)
def check_done(hops, product):
    """Question 13: when the last product of a collective matmul is done."""
    hops = [float(hop) for hop in hops]
    N, right = len(hops) + 1, _simulated_end(tuple(map(int, hops)), product)
    free, late, there, busy = product, product, 0.0, 0.0
    for hop in hops:
        there += hop
        free = max(free, hop) + product
        late += max(hop, product)
        busy = max(busy, there) + product
    compare.close(
        f"done({hops}, {product})",
        student.call("done", hops, product),
        right,
        likely=[
            (sum(hops) + N * product, "you do one thing after the other"),
            (free, "your blocks are there after their own hop, not after all"),
            (
                max(sum(hops), N * product),
                "you forget that the last block must be multiplied",
            ),
            (
                max(N * product, sum(hops) + product),
                "you look at the last block alone; an early one may be late, "
                "and those behind it wait",
            ),
            (late, "your hops wait for products; wires know nothing of them"),
            (busy, "your own block takes no time"),
            (there + product, "your last block finds the chip idle"),
            (right - product, "you leave out a product"),
            (right + product, "you count a product too many"),
        ],
    )


def grade_done():
    """Question 13 with other hops."""
    draw = question.draw("done")
    check_done([7, 1, 1, 1, 1], 3.0)
    for chips in (2, 5, 8):
        hops = draw.integers(1, 9, chips - 1).tolist()
        check_done(hops, float(draw.integers(1, 9)))
