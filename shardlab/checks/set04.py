"""Set 04, sharded matmuls: what must move, what it costs, which layout is best.

Programs are exported by JAX, and their bytes counted in what was exported.
Layouts are found by multiplying blocks on every device and trying all of them;
formulas and times are held against traced programs, the blocks of arrays, and
rings and lines on which blocks are moved hop by hop.
"""

import functools
import re
from fractions import Fraction
from itertools import combinations, permutations, product
from math import lcm, prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import count, hw, matmul, ring
from shardlab.checks import compare, program, question, student
from shardlab.checks.matrices import layouts
from shardlab.checks.question import WrongAnswer

__all__ = [
    "check_bounds",
    "check_biased",
    "check_budget",
    "check_done",
    "check_gathers",
    "check_lines",
    "check_narrow",
    "check_partial",
    "check_quickest",
    "check_round_trip",
    "check_share",
    "check_sliced",
    "check_strategies",
    "check_cheapest",
    "grade_bounds",
    "grade_biased",
    "grade_budget",
    "grade_done",
    "grade_gathers",
    "grade_lines",
    "grade_narrow",
    "grade_partial",
    "grade_quickest",
    "grade_round_trip",
    "grade_share",
    "grade_sliced",
    "grade_strategies",
    "grade_cheapest",
]


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


def _cut_further(cuts):
    """What slices can make of how a matrix lies, with how many slices."""
    free = [axis for axis in SIZES if axis not in "".join(cuts)]
    found = {}
    for many in range(len(free) + 1):
        for letters in permutations(free, many):
            for dims in product((0, 1), repeat=many):
                new = list(cuts)
                for letter, dim in zip(letters, dims, strict=True):
                    new[dim] += letter
                found[tuple(new)] = many
    return found


@functools.cache
def _fewest_slices(A, B):
    """Layouts after the fewest slices that do it, by trying all; or "send"."""
    done = {}
    for (a, more), (b, others) in product(
        _cut_further(A).items(), _cut_further(B).items()
    ):
        if _misfit(a, b) is None and _found(a, b) != "diagonal":
            done.setdefault(more + others, []).append([list(a), list(b)])
    if not done:
        return "send"
    [best] = done[min(done)]
    return best


@question.visible(
    "sliced",
    (["X", ""], ["Y", ""]),
    (["", "X"], ["", "Y"]),
    (["", "X"], ["XY", ""]),
    (["", "Y"], ["XY", ""]),
    (["", "XY"], ["YX", ""]),
    (["X", ""], ["X", ""]),
    (["X", ""], ["", "X"]),
    (["Y", "X"], ["X", ""]),
    (["", ""], ["", "Y"]),
)
def check_sliced(A, B):
    """Question 1: how factors lie after the fewest slices, or "send"."""
    asked, got = f"sliced({A}, {B})", student.call("sliced", A, B)
    right = _fewest_slices(tuple(A), tuple(B))
    if isinstance(got, str) and compare.shown(got) != compare.shown("send"):
        compare.wrong(asked, got, 'the only text to return is "send"')
    if right == "send":
        if not isinstance(got, str):
            compare.wrong(asked, got, _why_not(A, B))
        compare.equal(asked, got, right)
        return
    if isinstance(got, str):
        many = sum(map(len, right[0] + right[1])) - sum(map(len, A + B))
        reason = (
            f"{'one slice is' if many == 1 else 'slices are'} enough, so "
            "nothing need be sent"
            if many
            else "devices can multiply what they have, as it lies"
        )
        compare.wrong(asked, got, reason)
    pair = compare.entries(asked, got, 2)
    for name, lies, entry, model, fit in (
        ("A", A, pair[0], right[0], "its columns do not fit B's rows"),
        ("B", B, pair[1], right[1], "its rows do not fit A's columns"),
    ):
        likely = [
            (list(lies), f"you leave {name} as it is, and {fit}"),
            (model[::-1], "you have rows and columns exchanged"),
            *_mistaken_slices(lies, entry, model),
        ]
        names = "rows", "columns"
        compare.equal(f"{name} of {asked}", entry, model, likely, names)


def _mistaken_slices(lies, got, right):
    """What no slice does, or the fewest slices do not, in words."""
    texts = isinstance(got, list) and all(isinstance(g, str) for g in got)
    if not texts or len(got) != len(lies):
        return
    for before, after in zip(lies, got, strict=True):
        if not after.startswith(before):
            yield (
                got,
                f"{before!r} became {after!r}; a slice only adds letters, "
                "behind those that are there",
            )
    if len("".join(got)) > len("".join(right)):
        yield got, "you slice more than is needed; fewer slices do it"


def _why_not(A, B):
    """Why no slices help, in words."""
    (rows, left), (right, columns) = A, B
    if set(rows) & set(columns):
        return (
            "one axis cuts A's rows and B's columns, so some blocks of C are "
            "formed nowhere, and no slice brings them back"
        )
    long = max(left, right, key=len)
    if long.startswith(left) and long.startswith(right):
        return (
            "the axis that you slice the contraction by cuts that matrix "
            "already, along the other dimension"
        )
    return (
        f"A's columns are cut {left!r} and B's rows {right!r}, which begin "
        "differently; a slice only adds letters, behind those that are there"
    )


def grade_sliced():
    """Question 1 with other layouts, and some of all there are."""
    draw = question.draw("sliced")
    cases = [
        (["", "Y"], ["YX", ""]),
        (["", "X"], ["YX", ""]),
        (["", "XY"], ["X", ""]),
        (["", "XY"], ["Y", ""]),
        (["X", "Y"], ["Y", "X"]),
        (["X", "Y"], ["", ""]),
        (["X", ""], ["XY", ""]),
        (["", ""], ["YX", ""]),
        (["", "Y"], ["", "Y"]),
        (["", ""], ["X", "Y"]),
    ]
    every = [cuts for cuts, sums in layouts(SIZES) if not sums]
    for _ in range(10):
        A, B = (every[n] for n in draw.integers(len(every), size=2))
        cases.append((list(A), list(B)))
    for A, B in cases:
        check_sliced(A, B)


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
    likely = [
        *_mistaken_bytes(choice, whole, X, Y, least),
        (
            sent,
            "those are the factors to gather, and not the bytes: in each "
            "gather a device sends (n - 1)/n of what its group has in the end",
        ),
    ]
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
    cuts = {"": X * Y, "A": Y, "B": X}  # of C, after the product
    had = whole["C"] / cuts[choice] if choice in cuts else 0
    all_but_one = 1 - 1 / (X * Y)
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
        (
            summed(1 / X, 1 / Y, had),
            "you give what a device has before; it sends (n - 1)/n",
        ),
        (
            summed(all_but_one, all_but_one, late),
            "you gather over all devices; X alone cuts A, and Y alone B",
        ),
        (2 * least, "yours is twice as much; how many bytes has a bf16?"),
        (least / 2, "yours is half as much; how many bytes has a bf16?"),
        *_mistaken_part(choice, summed(x, y, late / (X if before_A else Y))),
        (least * X * Y, "you count all devices"),
    ]


def _mistaken_part(choice, sent):
    """Bytes if a part of C is gathered where one factor was, with the reason.

    It may be half of what is right, as with bytes of another type, so it
    stands behind them.
    """
    if choice not in ("A", "B"):
        return []
    reason = (
        "you gather a part of C; its other axis is gone with the factor "
        "that was gathered"
    )
    return [(sent, reason)]


def grade_gathers():
    """Question 2 for other sizes and meshes."""
    draw = question.draw("gathers")
    for X, Y in ((2, 2), (3, 4), (8, 2), (2, 6)):
        I, K = (X * Y * draw.integers(1, 99, 2)).tolist()
        check_gathers(I, int(draw.integers(1, 400)), K, X, Y)


# --- 3 to 5: programs --------------------------------------------------------


def _parts_of_rows(asked, answer, shape, N, *arrays):
    """What a program returns, if each device returns its rows of an array."""
    got = answer.run(*arrays)
    if isinstance(got, np.ndarray) and got.shape not in (shape, ()):
        part, right = (
            (rows // N, *others) for rows, *others in (got.shape, shape)
        )
        raise WrongAnswer(
            f"{asked}: each device returns an array of shape {part}; its part "
            f"has shape {right}"
        )
    return got


@question.visible("biased", (3, 2, 4, 2, 3), (4, 1, 2, 3, 3))
def check_biased(N, I, J, L, K, seed=3):
    """Question 3: two products, a bias and one sum, on N devices.

    N           devices
    I, J, L, K  rows of a block of C, columns of A and of D, numbers of b
    seed        of the entries
    """
    draw = np.random.default_rng(seed)
    a, b = _numbers(draw, N * I, N * J), _numbers(draw, N * J, N * K)
    d, e = _numbers(draw, N * I, N * L), _numbers(draw, N * L, N * K)
    bias = _numbers(draw, N * K) * 8 + 1
    asked = f"biased on {N} devices"
    cut, rows = P(None, "X"), P("X", None)
    request = program.request(
        a,
        b,
        d,
        e,
        bias,
        mesh={"X": N},
        in_specs=(cut, rows, cut, rows, P("X")),
        out_specs=rows,
    )
    answer = student.program("biased", request)
    if "all_gather" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you gather, and nothing need be: each number of b is on "
            "one device, and each column of C is a sum over all"
        )
    answer.allow("psum_scatter")
    scatters = answer.kinds().get("reduce_scatter", 0)
    if answer.volume() > 4 * N * I * N * K:
        raise WrongAnswer(
            f"{asked}: you scatter {scatters} times, {answer.volume():,} bytes "
            f"in all; {4 * N * I * N * K:,} are enough, the size of C"
        )
    c = a @ b + d @ e

    def terms():
        pieces = [np.split(x, N, axis=1) for x in (a, d)]
        others = [np.split(x, N) for x in (b, e)]
        return [
            pieces[0][n] @ others[0][n] + pieces[1][n] @ others[1][n]
            for n in range(N)
        ]

    def bias_from(*starts):
        """The bias, if device n adds its piece from column starts[n] on."""
        found = np.zeros_like(bias)
        for start, piece in zip(starts, np.split(bias, N), strict=True):
            start = min(start, len(bias) - len(piece))
            found[start : start + len(piece)] += piece
        return found

    in_place = sum(terms())
    for n, piece in enumerate(np.split(bias, N)):
        own = slice(n * K, n * K + K)
        in_place[:, own] += piece - terms()[n][:, own]
    first_row = c.copy()
    first_row[0] += bias
    elsewhere = (
        "the bias stands in other columns of C; the piece of device n belongs "
        "to those from n times its length on"
    )
    padded = np.split(bias, N)
    placed = [
        np.concatenate([padded[m] * (m == n) for m in range(N)])
        for n in range(N)
    ]
    early = sum(
        np.maximum(term + own, 0)
        for term, own in zip(terms(), placed, strict=True)
    )
    tiled = sum(np.tile(part, N) for part in padded)
    own_rows = np.repeat([np.tile(part, N) for part in padded], I, axis=0)
    compare.close(
        asked,
        _parts_of_rows(asked, answer, c.shape, N, a, b, d, e, bias),
        np.maximum(c + bias, 0),
        terms=N * (J + L) + 1,
        likely=[
            (early, "you take max of terms; it is of their sum"),
            (np.maximum(c, 0), "you leave out the bias"),
            (
                np.maximum(c + tiled, 0),
                "each column gets pieces of b from all devices; a device adds "
                "its piece to the columns that it belongs to",
            ),
            (
                np.maximum(c + own_rows, 0),
                "each device adds its own piece of b to all columns of its "
                "rows, after the scatter",
            ),
            (np.maximum(c, 0) + bias, "you add the bias after max"),
            (c + bias, "you forget max(., 0)"),
            (np.maximum(a @ b + bias, 0), "you leave out D E"),
            (np.maximum(c / N + bias / N, 0), "you give the mean"),
            *(
                (np.maximum(c + bias_from(*starts), 0), elsewhere)
                for starts in (
                    [0] * N,
                    range(N),
                    range(0, N * I, I),
                    range(N * K - K, -1, -K),
                )
            ),
            (
                np.maximum(in_place, 0),
                "your piece of b takes the place of a device's term; add it",
            ),
            (
                np.maximum(first_row, 0),
                "you add the bias to one row; it belongs to every row",
            ),
        ],
        show=True,
        place=compare.on_devices(I),
    )


def grade_biased():
    """Question 3 on other numbers of devices."""
    draw = question.draw("biased")
    for N in (2, 5, 8):
        check_biased(N, *draw.integers(1, 5, 4).tolist(), _seed(draw))


def _columns_formed(A, B):  # A[I, J]  B[J_X, K]
    """C[I_X, K] with the devices' work shared out along K."""
    B = lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return lax.all_to_all(A @ B, "X", split_axis=0, concat_axis=1, tiled=True)


def _rows_formed(A, B):  # A[I, J]  B[J_X, K]
    return _own(A, 0) @ _gathered(B, "X", 0)


def _terms_formed(A, B):  # A[I, J]  B[J_X, K]
    return _product_scattered(_own(A, 1), B)


def _own(x, dim):
    """A device's part of an array that all of them have, along a dimension."""
    size = x.shape[dim] // lax.axis_size("X")
    return lax.dynamic_slice_in_dim(x, lax.axis_index("X") * size, size, dim)


SHARED_OUT = {
    "gather B": _rows_formed,
    "add up terms of C": _terms_formed,
    "exchange columns of B, and rows of C": _columns_formed,
}


@functools.cache
def _sent_sharing(way, N, I, J, K):
    """Bytes that each device sends if the product is shared out like this."""
    line, sizes = "A[I, J] . B[J_X, K] -> C[I_X, K]", {"I": I, "J": J, "K": K}
    moved = matmul.traced(SHARED_OUT[way], line, sizes, {"X": N}, "float32")
    return count.sent(moved)


@question.visible(
    "cheapest",
    (4, 5, 2, 1, 3, False),
    (4, 7, 2, 1),
    (4, 2, 5, 3),
    (2, 1, 2, 3),
)
def check_cheapest(N, i, j, k, seed=3, run=True):
    """Question 4: A[I, J] . B[J_X, K] -> C[I_X, K] by the fewest bytes.

    N        devices
    i, j, k  an N-th of I, J and K; k is none of the others
    seed     of the entries
    run      whether to run the program, or only to look at what it moves
    """
    draw = np.random.default_rng(seed)
    I, J, K = N * i, N * j, N * k
    a, b = _numbers(draw, I, J), _numbers(draw, J, K)
    asked = f"cheapest for I = {I}, J = {J} and K = {K} on {N} devices"
    request = program.request(
        a,
        b,
        mesh={"X": N},
        in_specs=(P(), P("X", None)),
        out_specs=P("X", None),
    )
    answer = student.program("cheapest", request)
    counted = {way: _sent_sharing(way, N, I, J, K) for way in SHARED_OUT}
    least = min(counted.values())
    if answer.sent() > least:
        raise WrongAnswer(
            f"{asked}: {_way_taken(answer.kinds())} {answer.sent():,.0f} bytes "
            f"leave each device; {least:,.0f} are enough"
        )
    if run:
        compare.close(
            asked,
            _parts_of_rows(asked, answer, (I, K), N, a, b),
            a @ b,
            terms=J,
            likely=_mistaken_product(a, b, N),
            show=True,
            place=compare.on_devices(i),
        )
    _refuse_idle_work(asked, answer, request, I * K, J * K)


def _way_taken(kinds):
    """What a program does with B and C, in words, from its collectives."""
    if "all_reduce" in kinds:
        return "you AllReduce (psum), which brings all of C to everybody;"
    if "all_to_all" in kinds and "all_gather" in kinds:
        return "you gather C where rows of it are enough;"
    if "all_to_all" in kinds:
        return "you exchange columns of B and rows of C;"
    if "reduce_scatter" in kinds:
        return "you add up terms of C (psum_scatter);"
    return "you gather B;" if "all_gather" in kinds else "from what you send,"


def _mistaken_product(a, b, N):
    """What mistakes of question 4 give, with the mistakes."""
    c, i, j = a @ b, len(a) // N, len(b) // N
    terms = [a[:, :j] @ rows for rows in np.split(b, N)]
    turned = np.concatenate(np.split(c, N, axis=1)).reshape(c.shape)
    mixed = c.reshape(len(c), N, -1).transpose(0, 2, 1).reshape(c.shape)
    return [
        (c * N, f"yours is {N} times too large: all added all of it"),
        (c / N, "you give the mean of the terms"),
        (sum(terms), "all your devices take the same columns of A"),
        (np.tile(c[:i], (N, 1)), "all your devices take the same rows"),
        (turned, "you have columns of C, stacked; rows are asked for"),
        (mixed, "your columns of C are in another order"),
    ]


def _refuse_idle_work(asked, answer, request, size_C, size_B):
    """Insist that a device does an N-th of the multiplications."""
    N = dict(request["mesh"])["X"]
    said = student.types("cheapest", request)
    printed = compare.entries(f"the types of {asked}", said, None)
    sizes = [
        (name, prod(map(int, re.findall(r"\d+", shape))))
        for name, *kinds in printed
        for kind in kinds
        for shape in re.findall(r"\[([^\]]*)\]", str(kind))[:1]
    ]
    products = [size for name, size in sizes if name == "dot_general"]
    # By ppermute a device may form terms of its part, one after the other.
    whole = max if "permute" in answer.kinds() else sum
    made = whole(products or [0])
    if "reduce_scatter" in answer.kinds():
        if any(size == size_B for _, size in sizes):
            raise WrongAnswer(
                f"{asked}: your device makes an array as large as all of B, "
                "and multiplies zeros; an N-th of the work is enough"
            )
    elif made > size_C // N:
        raise WrongAnswer(
            f"{asked}: your device forms {made:,} entries of C, and "
            f"{size_C // N:,} are an N-th; multiply what is needed, not all"
        )


def grade_cheapest():
    """Question 4 for other sizes, on other numbers of devices."""
    draw = question.draw("cheapest")
    for N in (2, 5, 8):
        small = int(draw.integers(1, 3))
        for large in (small * (N - 1) + 1, small * (N - 1) - 1, small + 1):
            pair = [small, max(large, small + 1)]
            if draw.integers(2):
                pair.reverse()
            check_cheapest(N, *pair, 2 * pair[1] + 1, _seed(draw))


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
        compare.close(
            f"partial(A, B, {x}, {y}, {X}, {Y})",
            student.call("partial", a, b, x, y, X, Y),
            expected,
            likely=_mistaken_term(a, b, cuts, rows, (x, y), (X, Y)),
            show=True,
        )


def _mistaken_term(a, b, cuts, rows, place, mesh):
    """What mistakes of question 5 give, with the mistakes."""
    (x, y), (X, Y), N = place, mesh, len(cuts)
    other, here, J = x * Y + y, y * X + x, len(rows[0])
    first, late = here * J, (here + 1) % N
    start = (y * Y + x) * J
    term = cuts[here] @ rows[here]
    yield a @ b, "you give the whole sum"
    yield (
        cuts[other] @ rows[other],
        "you cut by X first; in J_YX the axis Y is the major one",
    )
    yield (
        a[:, here::N] @ b[here::N],
        "you deal columns out; a device has neighbouring ones",
    )
    yield cuts[y] @ rows[y], "you leave X out; both axes cut J"
    yield (
        0 * term,
        "yours is nothing, or lies behind the last column; the first device "
        f"is 0, and a step along Y passes {X} blocks",
    )
    yield (
        a[:, start:][:, :J] @ b[start:][:J],
        "a step along Y passes as many blocks as X has devices, not as many "
        "as Y has",
    )
    yield (
        cuts[late] @ rows[late],
        "you number devices from 1; the first is 0",
    )
    yield (
        a[:, first : first + 1] @ b[first : first + 1],
        f"you take one column of A; a device has {J}",
    )
    yield (
        cuts[here].sum(1, keepdims=True) * rows[here].sum(0),
        "you add up rows and columns before you multiply; in a matmul each "
        "pair is multiplied first",
    )
    yield term / N, "you give a mean; a term is a sum"
    for begin, end in combinations(range(N * J + 1), 2):
        yield (
            a[:, begin:end] @ b[begin:end],
            f"you add up j = {begin} to {end - 1}; a device has {J} of the "
            f"{N * J}, and not from there on",
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
    return lax.psum(_own(A, 1) @ B, "X")


def _terms_scattered(A, B):  # In[I, J]  W_in[J_X, K]
    C = _own(A, 1) @ B
    return lax.psum_scatter(C, "X", scatter_dimension=1, tiled=True)


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


def _arithmetic(B, D, F, X, C):
    """Seconds of all of the arithmetic, and of a chip's share."""
    return (
        Fraction(_multiplied(B, D, F), C),
        Fraction(_multiplied(B, D // X, F), C),
    )


def _tokens(B, D, F, X, C, W):
    """Where gather and AllReduce take the same time."""
    gather = Fraction(_bytes(_weights_gathered, B, D, F, X), W)
    adding = Fraction(_bytes(_terms_added, B, D, F, X), W)
    alone, shared = _arithmetic(B, D, F, X, C)
    return gather * B / (adding + shared - alone)


def _width(B, D, F, X, C, W):
    """Where a token's scatter takes as long as the arithmetic that it saves."""
    comm = Fraction(_bytes(_terms_scattered, B, D, F, X), W)
    alone, shared = _arithmetic(B, D, F, X, C)
    return comm * D / (alone - shared)


def _chips(B, D, F, X, C, W):
    """Where a chip's arithmetic takes three times as long as the scatter."""
    comm = Fraction(_bytes(_terms_scattered, B, D, F, X), W)
    return _arithmetic(B, D, F, X, C)[1] * X / (3 * comm)


def _ratio(N, M, K, X, C, W):
    """Gather and product, over products and scatter."""
    alone, shared = _arithmetic(N, M, K, X, C)
    gather = Fraction(_bytes(_rows_gathered, N, M, K, X), W)
    scatter = Fraction(_bytes(_product_scattered, N, M, K, X), W)
    return (gather + alone) / (scatter + shared)


FORMULAS = {
    "tokens": (
        _tokens,
        "B D F X C W",
        [
            ("D/2", "you compare bytes alone; arithmetic is not overlapped"),
            (
                "D*C/(2*C - D*W)",
                "you let (2) do no arithmetic, or gather by (X - 1)/X of V; "
                "here V bytes take V/W",
            ),
            (
                "D*C/(D*W*(1 - 1/X) - 2*C)",
                "you lost a sign: where it exists this number is positive",
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
            ("(2*C - D*W*(1 - 1/X))/(D*C)", "you have it upside down"),
            (
                "2*D*C/(4*C - D*W*(1 - 1/X))",
                "a multiply-add counts two FLOPs",
            ),
            (
                "D*C/(4*C - 2*D*W*(1 - 1/X))",
                "yours is half of it; the B on both sides is the same",
            ),
        ],
    ),
    "width": (
        _width,
        "B D F X C W",
        [
            (
                "C/W",
                "you let (3) do no arithmetic, or scatter (X - 1)/X of V; here "
                "V bytes take V/W, and each chip does an X-th",
            ),
            (
                "2*C*X/(W*(X - 1))",
                "yours is twice as much: you AllReduce, or count one FLOP for "
                "a multiply-add",
            ),
            (
                "C*X/(2*W*(X - 1))",
                "how many bytes has a bf16, and how many FLOPs a multiply-add?",
            ),
            ("C*(X - 1)/(W*X)", "(1 - 1/X) stands on the wrong side"),
            ("C*X/W", "you took an X-th of the arithmetic for what is saved"),
            ("W*(X - 1)/(C*X)", "you have it upside down"),
        ],
    ),
    "chips": (
        _chips,
        "B D F X C W",
        [
            ("D*W/C", "you give where both take equally long"),
            (
                "D*W/(6*C)",
                "yours is half as much: you AllReduce, or count one FLOP for a "
                "multiply-add",
            ),
            (
                "D*W/(2*C)",
                "you AllReduce, and give where both take equally long",
            ),
            ("3*D*W/C", "you let the wires have three quarters"),
            ("3*C/(D*W)", "you have it upside down"),
            (
                "D*W/(4*C)",
                "three quarters are three times what is left, not four times",
            ),
            (
                "4*D*W/(3*C)",
                "three quarters of all time, not of the time of the wires",
            ),
            (
                "2*D*W/(3*C)",
                "how many bytes has a bf16, and how many FLOPs a multiply-add?",
            ),
        ],
    ),
    "ratio": (
        _ratio,
        "N M K X C W",
        [
            ("M/K", "you compare bytes alone; arithmetic is not overlapped"),
            (
                "K*(1/W + M/(X*C))/(M*(1/W + K/C))",
                "you have it the other way round",
            ),
            (
                "M*(1/W + K/C)/(K*(1/W + M/C))",
                "a chip that scatters does an X-th of the arithmetic",
            ),
            (
                "M*(1/W + K/(X*C))/(K*(1/W + M/(X*C)))",
                "a chip that has gathered A multiplies all of it",
            ),
            (
                "M*(1/W + K/C)/(K*(2/W + M/(X*C)))",
                "you AllReduce; a ReduceScatter moves half of it",
            ),
            (
                "(N*M/W + N*M*K/C)/(M*K/W + N*M*K/(X*C))",
                "you reduce B; what is reduced is the product",
            ),
            (
                "(M*K/W + N*M*K/C)/(N*K/W + N*M*K/(X*C))",
                "you gather B; it is A that is cut",
            ),
            (
                "M*(2/W + K/C)/(K*(2/W + M/(X*C)))",
                "a multiply-add counts two FLOPs",
            ),
            (
                "M*((1 - 1/X)/W + K/C)/(K*((1 - 1/X)/W + M/(X*C)))",
                "you move (X - 1)/X of V; here V bytes take V/W",
            ),
            (
                "Max(N*M/W, N*M*K/C)/Max(N*K/W, N*M*K/(X*C))",
                "nothing overlaps: a way takes the sum of its two times",
            ),
        ],
    ),
}


@question.visible(
    "the formulas",
    (
        [(6, 8, 6, 2, 71, 3), (2, 12, 4, 4, 205, 11), (5, 9, 3, 3, 40, 2)],
        [(4, 6, 10, 2, 13, 3), (8, 2, 6, 2, 5, 4), (3, 6, 9, 3, 7, 2)],
    ),
)
def check_strategies(points, ratios):
    """Question 6: where one way of multiplying beats another.

    points  numbers for B, D, F, X, C and W
    ratios  numbers for N, M, K, X, C and W
    """
    for name, (counted, symbols, likely) in FORMULAS.items():
        compare.formula(
            name,
            student.expression(name),
            symbols,
            counted,
            ratios if name == "ratio" else points,
            likely=likely,
        )


def grade_strategies():
    """Question 6 with other numbers."""
    draw, points, ratios = question.draw("strategies"), [], []
    for X in draw.choice(np.arange(2, 17), 3, replace=False).tolist():
        B, D, F, C, W = draw.integers(1, 8, 5).tolist()
        points.append((B, D * X, F * X, X, 1000 * C + 1, W + 2))
    for X in draw.integers(2, 10, 2).tolist():
        N, M, K, C, W = draw.integers(1, 8, 5).tolist()
        ratios.append((N * X, M * X, K * X, X, 5 * C + 1, W))
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

    best, given = min(map(took, CUTS)), compare.number(asked, seconds)
    math, read, wires, hops = parts(cut)
    if took(cut) > best * (1 + 1e-9):
        compare.wrong(
            asked,
            list(cut),
            f"cut like this, a chip computes for {math * 1e6:.3g} µs, reads "
            f"for {read * 1e6:.3g} meanwhile and then waits for "
            f"{(wires + hops) * 1e6:.3g}: {took(cut) * 1e6:.4g} in all, where "
            f"you have {given * 1e6:.4g}, and {best * 1e6:.4g} are enough",
        )
    axes = cut[1] or cut[0] + cut[2]
    compare.close(
        f"the seconds of {asked}",
        seconds,
        best,
        likely=[
            *_mistaken_seconds(math, read, wires, hops, axes, n),
            (best * 1e6, "you give microseconds"),
            (
                given,
                f"the way is right, its time is not: a chip computes for "
                f"{math * 1e6:.4g} µs and reads for {read * 1e6:.4g} "
                f"meanwhile, then sends for {wires * 1e6:.4g} and hops for "
                f"{hops * 1e6:.4g}; compare part by part",
            ),
        ],
    )


def _mistaken_seconds(math, read, wires, hops, axes, n):
    """What mistakes of question 7 give, with the mistakes."""
    work = max(math, read)
    if not axes:
        return []
    return [
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
        (
            work + wires + hops * 2 * (n - 1) / n,
            "you count the hops of lines; along a ring the chip opposite is "
            "n/2 hops away",
        ),
        (
            work + wires / 2 + hops,
            "you count W for each way; it is both ways together",
        ),
        (wires + hops, "you give the communication alone"),
    ]


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
            (17, 3, 2, 2, 3, 5),
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
                "W is both ways together, and a bf16 has two bytes",
            ),
            (
                "2*C/(3*W) + 3*n*T*C/(4*I*K*(1 - 1/n**3))",
                "your gather takes twice as long: W is both ways together, and "
                "a bf16 has two bytes",
            ),
            (
                "2*C/(3*W) + 3*n*T*C/(2*I*K*(1 - 1/n**3))",
                "yours is twice as much: a multiply-add counts two FLOPs, and "
                "C is gathered once",
            ),
            (
                "C/(3*W) + 3*n*T*C/(2*I*K*(1 - 1/n**3))",
                "you go round whole rings; the chip opposite is n/2 hops away",
            ),
            (
                "C/(3*W) + 3*T*C/(2*I*K*(1 - 1/n**3))",
                "you count one hop along each axis",
            ),
            (
                "C/(3*W) + n**3*T*C/(4*I*K*(1 - 1/n**3))",
                "you count the hops of one ring of all chips",
            ),
            *(
                (
                    formula,
                    "you let a chip that shares do an n-th; all three axes "
                    "cut, so it does an n**3-th",
                )
                for formula in (
                    "C/(3*W) + 3*n*T*C/(4*I*K*(1 - 1/n))",
                    "(C*(1 - 1/n**3)/(3*W) + 3*n*T*C/(4*I*K))/(1 - 1/n)",
                )
            ),
            (
                "C/(3*W) - 3*n*T*C/(4*I*K*(1 - 1/n**3))",
                "you lost a sign: hops make sharing slower, and J longer",
            ),
            (
                "Max(C/(3*W), 3*n*T*C/(4*I*K*(1 - 1/n**3)))",
                "nothing overlaps: the hops come besides",
            ),
            (
                "1/(C/(3*W) + 3*n*T*C/(4*I*K*(1 - 1/n**3)))",
                "you have it upside down",
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


LINES = {  # a block crosses the end of a line so often
    "sums": (
        0,
        [
            (
                "2*I*K*(Y - 1)/(X*Y*link_bw)",
                "you charge a gather, or rings; an AllReduce is two",
            ),
            (
                "I*K*(Y - 1)/(X*Y*link_bw)",
                "you charge half of an AllReduce, and rings",
            ),
            ("4*I*K/(X*link_bw)", "you give the limit of many chips"),
            ("4*I*K*(Y - 1)/(Y*link_bw)", "you forget that X cuts C, too"),
            ("4*I*K*(X - 1)/(X**2*link_bw)", "your line is X; it is Y"),
            ("4*I*K*(X - 1)/(X*Y*link_bw)", "your line is X; it is Y"),
            (
                "4*I*J*(Y - 1)/(X*Y*link_bw)",
                "you charge A; the sum is C",
            ),
            ("4*I*J*(Y - 1)/(X*Y**2*link_bw)", "you charge A; the sum is C"),
            ("4*J*K*(Y - 1)/(Y**2*link_bw)", "you charge B; the sum is C"),
            ("8*I*K*(Y - 1)/(X*Y*link_bw)", "yours is twice too long"),
            (
                "4*I*K/(X*Y*link_bw)",
                "you charge one block; Y - 1 cross the end of a line",
            ),
            (
                "4*I*K*(Y - 1)/(X*link_bw)",
                "you send all that X leaves of C Y - 1 times; a block is a "
                "Y-th of it",
            ),
        ],
    ),
    "training": (
        1,
        [
            (
                "J*K*(X - 1)/(X*Y*link_bw)",
                "you have rings; the end of a line gets all one way",
            ),
            ("2*J*K/(Y*link_bw)", "you give the limit of many chips"),
            ("2*J*K*(X - 1)/(X*link_bw)", "you forget that Y cuts B, too"),
            ("2*J*K*(Y - 1)/(Y**2*link_bw)", "your line is Y; it is X"),
            ("2*J*K*(Y - 1)/(X*Y*link_bw)", "your line is Y; it is X"),
            (
                "2*I*J*(X - 1)/(X*link_bw)",
                "you gather A; its columns are all there",
            ),
            (
                "2*J**2*(X - 1)/(X*Y*link_bw)",
                "you have B of J by J; it is J by K",
            ),
            (
                "4*J*K*(X - 1)/(X*Y*link_bw)",
                "you charge an AllReduce, or both ways in turn",
            ),
            (
                "2*J*K/(X*Y*link_bw)",
                "you charge one block; X - 1 cross the end of a line",
            ),
            (
                "2*J*K*(X - 1)/(Y*link_bw)",
                "you send all that Y leaves of B X - 1 times; a block is an "
                "X-th of it",
            ),
            (
                "2*I*J*(Y - 1)/(X*Y*link_bw)",
                "you gather A; its columns are all there",
            ),
        ],
    ),
    "inference": (
        2,
        [
            (
                "2*J*K*(X - 1)/(X*Y*link_bw)",
                "you gather B; all of J is there",
            ),
            (
                "2*I*K*(X - 1)/(X*Y*link_bw)",
                "you move C; it may stay cut",
            ),
            (
                "2*I*K*(Y - 1)/(X*Y*link_bw)",
                "you move C; it may stay cut",
            ),
        ],
    ),
}


@question.visible(
    "sums, training and inference",
    ([(8, 16, 24, 4, 4, 9), (12, 24, 36, 2, 6, 7), (48, 24, 96, 8, 3, 5)],),
)
def check_lines(points):
    """Question 9: communication of three products on a slice of lines.

    points  numbers for I, J, K, X, Y and link_bw
    """
    for name, (number, likely) in LINES.items():

        def counted(I, J, K, X, Y, link_bw, number=number):
            return _crossing_bytes(number, I, J, K, X, Y) / link_bw

        compare.formula(
            name,
            student.expression(name),
            "I J K X Y link_bw",
            counted,
            points,
            likely=likely,
        )


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
        alike = "cuts the arithmetic as well as what moves, and cancels"
        compare.formula(
            name,
            student.expression(name),
            "X Y C link_bw",
            bound(number, name),
            points,
            likely=[
                (
                    f"{twice}*C*{axis}/link_bw",
                    f"you give the limit of many chips, without ({axis} - 1)/"
                    f"{axis}",
                ),
                (f"{twice}*C*{axis}/(2*link_bw)", "you give the rule of rings"),
                (
                    f"{exact}/2",
                    "you have rings, or one half of the sum"
                    if number == 0
                    else "you have rings; these are lines",
                ),
                (f"2*({exact})", "yours is twice as much"),
                (
                    f"{twice}*C*({other} - 1)/link_bw",
                    f"you take {other}; over which axis does it move?",
                ),
                *(
                    (formula, f"{letter} {alike}")
                    for formula, letter in (
                        (f"{exact}/{axis}", axis),
                        (f"{exact}/{other}", other),
                        (f"{exact}*{other}", other),
                        (f"{exact}/({axis}*{other})", f"{axis} or {other}"),
                    )
                ),
                (
                    f"{3 - twice}*C*({other} - 1)/link_bw",
                    "you have the two limits exchanged",
                ),
                (f"1/({exact})", "you have it upside down"),
                (f"link_bw*({axis} - 1)/C", "you have C upside down"),
            ],
        )


def grade_lines():
    """Question 9 for other products and slices."""
    draw, points = question.draw("lines").integers, []
    for X, Y in draw(2, 10, (3, 2)).tolist():
        sizes = (X * Y * draw(1, 99, 3)).tolist()
        points.append((*sizes, X, Y, int(draw(2, 40))))
    check_lines(points)


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
        raise WrongAnswer(
            f"cuts: In is cut {found['In']}, and Out {found['Out']}; cut them "
            "alike, so that the next block can follow"
        )
    return {
        name: P(*(tuple(letters) or None for letters in pair))
        for name, pair in found.items()
    }


@question.visible("cuts and narrow", (2, 2, 4, 8, 1), (2, 3, 6, 7, 2))
def check_narrow(X, Y, B, d, f, seed=8):
    """Question 10: a block with a narrow middle; its layouts and its program.

    X, Y  of the mesh
    B     an N-th of the tokens
    d, f  a chip's part of D and F, if all cut it; d is more than X and Y
          times f, or else it would be cheaper to move In over one axis
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
        sends = f"your chip sends {answer.sent():,.0f} bytes"
        raise WrongAnswer(
            f"{asked}: {sends}, and {enough:,} are enough: "
            f"{_dearer(answer, N, In.nbytes, middle)}"
        )
    Out, bent = In @ W_in @ W_out, np.maximum(In @ W_in, 0) @ W_out
    compare.close(
        asked,
        answer.run(In, W_in, W_out),
        Out,
        terms=N * (d + f),
        likely=[
            (Out / N, "you give a mean"),
            (bent, "you take max in the middle; this block has none"),
            (Out * N, f"yours is {N} times too large: added up twice"),
            *_narrow_mistakes(In, W_in, W_out, X, Y),
        ],
        show=True,
    )


def _dearer(answer, N, wide, middle):
    """Why a program of question 10 sends too much, in words."""
    moved = answer.collectives()
    axes = {hop.axes for hop in moved}
    sums = all(hop.kind == "all_reduce" for hop in moved)
    if sums and len(axes) > 1 and all(h.volume == 2 * middle for h in moved):
        return (
            "you add up In W_in over one axis and then over the other, all of "
            "it each time; one sum can go over both"
        )
    gathers = all(hop.kind == "all_gather" for hop in moved)
    if gathers and max(hop.volume for hop in moved) == N * middle:
        return (
            "you gather the terms of In W_in; their sum, which is as large as "
            "one of them, can be made on the way"
        )
    return (
        f"In has {wide:,} bytes and In W_in {middle:,}; which of them should "
        "move, over both axes?"
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
        f = int(draw.integers(1, 3))
        d = f * max(X, Y) + int(draw.integers(1, 4))
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
COUNTED = {  # said of a number that shows no known mistake
    "bytes": "counted were a chip's parts of two matrices in bf16",
    "blocks": "counted was how often the bytes of 1 fit beside a whole matrix",
    "math": "counted were a chip's FLOPs in both products, over its FLOP/s",
    "reading": "counted were the bytes of 1, over the bytes/s of its memory",
    "comm": "counted were a gather of In and a scatter of Out over Y, each "
    "(Y - 1)/Y of what X leaves, over `hw.axis_bw`",
}


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
        known = list(likely[words])
        if words in BUDGET[2:]:
            known.append((expected * 1e6, "you give microseconds"))
        if isinstance(answer, (int, float)):
            known.append((answer, COUNTED[words]))
        same(f"{words} of {asked}", answer, expected, likely=known)
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
            "one too many: a gathered matrix takes no part's place, it is a "
            "copy besides; and a part of a block is none",
        ),
        (room - 2 * matrix, "you gather both matrices"),
        (X * Y * room - matrix, "you fill the memory of all chips"),
    ]
    return {
        "bytes": [
            (Y * held, "you count all of both; Y cuts them"),
            (held / X, "X cuts tokens, and no weights"),
            (held / 2, "you have half of it: one of two, or a byte each"),
            (2 * held, "yours is twice as much; how many bytes has a bf16?"),
        ],
        "blocks": [
            *((left // held, reason) for left, reason in fit),
            (
                -((matrix - room) // held),
                "one too many: a part of a block is none",
            ),
            (
                (room - matrix - 2 * B * D / X) // held,
                "you keep room for tokens, which were not asked for",
            ),
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
            (reading / X, "X cuts tokens, and no weights"),
            (
                reading + 2 * B * D / X / chip.hbm_bw,
                "you read tokens as well; only weights are asked for",
            ),
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
            (
                comm * X / Y * (X - 1) / X * Y / (Y - 1),
                "you gather over X; it cuts tokens, which stay apart",
            ),
            (
                comm * (X - 1 / Y) * Y / (Y - 1),
                "you gather over both axes; X cuts tokens, which stay apart",
            ),
            (comm * X * F / B, "you move weights; In and Out move"),
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


@question.visible("round_trip", (2, 2, 3, 4), (7, 4, 6, 4))
def check_round_trip(N, b, D, f, seed=9):
    """Question 12: gather, two products and scatter, once round a ring.

    N        devices
    b, D, f  rows of a piece, its columns, hidden columns of a device
    seed     of the entries
    """
    draw = np.random.default_rng(seed)
    In, W_in, W_out = (
        draw.integers(-3, 4, shape).astype(np.float32)
        for shape in ((N * b, D), (D, N * f), (N * f, D))
    )
    asked, piece = f"round_trip on {N} devices", In.nbytes // N
    request = program.request(
        In,
        W_in,
        W_out,
        mesh={"X": N},
        in_specs=(P("X", None), P(None, "X"), P("X", None)),
        out_specs=P("X", None),
    )
    answer = student.program("round_trip", request)
    for kind, name in (
        ("all_gather", "all_gather"),
        ("reduce_scatter", "psum_scatter"),
    ):
        if kind in answer.kinds():
            raise WrongAnswer(
                f"{asked}: your {name} ends before, or begins after, the "
                "products, so it does not hide; send pieces by ppermute"
            )
    answer.allow("ppermute")
    _refuse_other_messages(asked, answer, N, piece)
    weights = (W_in.nbytes + W_out.nbytes) // N
    if answer.live() > weights + 6 * piece:
        raise WrongAnswer(
            f"{asked}: your device holds {answer.live():,} bytes at a time, "
            f"{weights:,} of them weights; multiply a piece when it comes, and "
            "pass its sum on"
        )
    compare.close(
        asked,
        _parts_of_rows(asked, answer, In.shape, N, In, W_in, W_out),
        np.maximum(In @ W_in, 0) @ W_out,
        terms=N * f * D,
        likely=_mistaken_trip(In, W_in, W_out, N),
        show=True,
        place=compare.on_devices(b),
    )


def _refuse_other_messages(asked, answer, N, piece):
    """Insist on pieces, to the next chip, as few as there can be."""
    sent = 0
    for hop in answer.collectives():
        if hop.volume != piece:
            raise WrongAnswer(
                f"{asked}: your message has {hop.volume} bytes, and a piece of "
                f"In or Out {piece}: one piece at a time, and nothing else"
            )
        pairs = program.pairs(asked, hop)
        ways = {(there - here) % N for here, there in pairs}
        if ways != {1}:
            raise WrongAnswer(
                f"{asked}: your messages go {', '.join(map(str, sorted(ways)))}"
                " places on; each chip sends to the next one only"
            )
        sent += hop.times
    if sent > 2 * (N - 1):
        raise WrongAnswer(
            f"{asked}: over each wire go {sent} of your pieces, and "
            f"{2 * (N - 1)} are enough: a sum of N terms needs N - 1 hops and "
            "ends at home; where does it begin?"
        )


def _mistaken_trip(In, W_in, W_out, N):
    """What mistakes of question 12 give, with the mistakes."""
    columns, rows = np.split(W_in, N, axis=1), np.split(W_out, N)
    pairs = list(zip(columns, rows, strict=True))
    terms = [np.maximum(In @ w, 0) @ v for w, v in pairs]
    plain = [In @ w @ v for w, v in pairs]
    Out, size = sum(terms), len(In) // N
    own = np.concatenate([np.split(terms[d], N)[d] for d in range(N)])
    early = np.roll(Out - own, -size, 0) + own
    split = [np.split(term, N) for term in terms]
    home = sum(split[n][n] for n in range(N))
    standing = np.concatenate(
        [
            split[(d + 1) % N][d] + home - split[(d + 1) % N][(d + 1) % N]
            for d in range(N)
        ]
    )
    return [
        (np.roll(Out, size, 0), "your sums end one chip too far on"),
        (np.roll(Out, -size, 0), "your sums end one chip too far back"),
        (Out - own, "you leave a chip's own term out"),
        (Out + own, "you count a chip's own term twice"),
        (own, "you return each chip's own term; others are missing"),
        (np.maximum(Out, 0), "max stands between the products, not at the end"),
        (sum(plain), "you leave max out"),
        (np.maximum(sum(plain), 0), "max stands between the two products"),
        (
            early,
            "your sums stay where they are, or stop one chip before their home",
        ),
        (standing, "at every stop you add the term of a chip's own rows"),
        *_trips(terms, N),
    ]


def _trips(terms, N):
    """What rings give whose sums and rows do not go together."""
    split = [np.split(term, N) for term in terms]
    reason = "your sums take up terms of other rows on their way"
    for shift in range(1, N):
        for first in range(N):
            # At each chip the rows are `shift` places off those of the sum.
            kept = [
                sum(
                    split[(d - back) % N][(d - shift * (back > first)) % N]
                    for back in range(N)
                )
                for d in range(N)
            ]
            yield np.concatenate(kept), reason
    for last in range(N - 1):
        kept = [
            sum(split[(d - back) % N][d] for back in range(last + 1))
            for d in range(N)
        ]
        yield np.concatenate(kept), "your sums pass chips whose terms they miss"


def grade_round_trip():
    """Question 12 on other rings."""
    draw = question.draw("round_trip")
    for N in (3, 8):
        b, D = draw.integers(1, 4, 2).tolist()
        check_round_trip(N, b + 2, D + 1, 3, _seed(draw))


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
    ([7, 1, 1], 2.0),
    ([1, 1, 1, 1], 3.0),
    ([1, 1, 5], 2.0),
    ([4, 4], 2.5),
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
            (int(right), "you round; seconds need not be whole"),
            (
                right + product,
                "you count a product too many, or let the first hop wait for "
                "your own product",
            ),
            (
                N * product,
                "you count products alone; late blocks are waited for",
            ),
            (
                max(N * product, max(hops) * len(hops) + product),
                "you let all hops take as long as the longest",
            ),
            (
                product + len(hops) * max(product, *hops),
                "you let all hops take as long as the longest",
            ),
            (
                max(N * product, hops[0] * len(hops) + product),
                "you let all hops take as long as the first",
            ),
        ],
    )


def grade_done():
    """Question 13 with other hops."""
    draw = question.draw("done")
    check_done([7, 1, 1, 1, 1], 3.0)
    for chips in (2, 5, 8):
        hops = draw.integers(1, 9, chips - 1).tolist()
        check_done(hops, float(draw.integers(2, 18)) / 2)
