"""Set 05, one chip: gradients, FLOPs, bytes, and what a chip can do with them.

Gradients come from loops and from differences, FLOPs and bytes from programs
and shapes, sizes of clusters from trying one after the other.
"""

import functools
import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from jax.sharding import AbstractMesh, NamedSharding

from shardlab import count, hw
from shardlab.checks import compare, question, student
from shardlab.strategies import adam

__all__ = [
    "check_adam",
    "check_faster",
    "check_flops",
    "check_gate",
    "check_memory",
    "check_owed",
    "check_parameters",
    "check_product",
    "check_rent",
    "check_ridge",
    "check_symbols",
    "grade_adam",
    "grade_faster",
    "grade_flops",
    "grade_gate",
    "grade_memory",
    "grade_owed",
    "grade_parameters",
    "grade_product",
    "grade_rent",
    "grade_ridge",
    "grade_symbols",
]

TWICE = "a multiply-add is two FLOPs"


def _list_of(asked, got, names):
    """The entries of an answer, one for each name."""
    words = ", ".join(names)
    return compare.entries(
        f"{asked}, which should be [{words}],", got, len(names)
    )


def _matrix(asked, got, model, likely, terms):
    """Compare an array, also with known mistakes that have another shape.

    asked    the question in words
    got      the student's array or nested lists
    model    what it should be
    likely   pairs (array, sentence), or a function that makes them, which is
             called for an array that is not right
    terms    how many numbers one entry adds up
    """
    found = compare.real_array(asked, got, None)
    if callable(likely):
        slack = 4e-6 * np.abs(model).max()  # less than what passes below
        right = found.shape == model.shape
        right = right and compare.near(found, model, slack)
        likely = [] if right else list(likely())
    if found.shape != model.shape:
        for mistake, sentence in likely:
            slack = 1e-5 * np.abs(mistake).max(initial=1)
            if found.shape == mistake.shape and compare.near(
                found, mistake, slack
            ):
                compare.wrong(asked, found, sentence)
    same = [pair for pair in likely if pair[0].shape == model.shape]
    compare.close(asked, found, model, terms=terms, likely=same, show=True)


def _whole_arrays(seed, *sizes):
    """Small whole numbers: their products are exact in every precision."""
    draw = np.random.default_rng(seed)
    return [draw.integers(-9, 10, size).astype(float) for size in sizes]


# --- 1: a linear layer -------------------------------------------------------


def _linear_by_loops(X, W, dY):
    """Every term of every sum, one at a time."""
    dX, dW, db = np.zeros(X.shape), np.zeros(W.shape), np.zeros(len(W))
    for i, k in np.ndindex(dY.shape):
        db[k] += dY[i, k]
        for j in range(X.shape[1]):
            dX[i, j] += dY[i, k] * W[k, j]
            dW[k, j] += dY[i, k] * X[i, j]
    return dX, dW, db


@question.visible("linear_gradients", (5, 3, 4, 1), (4, 4, 4, 2))
def check_product(rows, inputs, outputs, seed):
    """Question 1: the gradients of a linear layer as PyTorch stores it.

    rows, inputs, outputs  of the layer
    seed     of the arrays
    """
    X, W, dY = _whole_arrays(
        seed, (rows, inputs), (outputs, inputs), (rows, outputs)
    )
    asked = f"linear_gradients of {rows} x {inputs} by {outputs} x {inputs}"
    names = ("dX", "dW", "db")
    got = _list_of(asked, student.call("linear_gradients", X, W, dY), names)
    right = dict(zip(names, _linear_by_loops(X, W, dY), strict=True))
    alone = {
        "dX": [(right["dW"], "you return dW in the place of dX")],
        "dW": [(right["dX"], "you return dX in the place of dW")],
        "db": [
            (dY, "you do not add up the rows, to all of which b is added"),
            (dY.sum(1), "you add up columns; b has an entry for each column"),
            (np.array(dY.sum()), "you add up everything"),
        ],
    }
    for name, one in zip(names, got, strict=True):
        model = right[name]
        likely = alone[name] + [
            (model.T, f"your {name} is transposed; its shape is its array's"),
            (-model, "a gradient points uphill; do not change its sign"),
            (model / rows, "you take a mean over rows, and not their sum"),
        ]
        _matrix(f"{asked}: {name}", one, model, likely, max(X.shape + W.shape))


def grade_product():
    """Question 1 with other sizes."""
    draw = question.draw("product")
    for sizes in ([3, 3, 3], [1, 6, 3], draw.permutation([2, 5, 7]).tolist()):
        check_product(*sizes, int(draw.integers(2**31)))


# --- 2: where a sum is left --------------------------------------------------

AXES = {"X": 2, "Y": 3}
SIZE = 6  # of each dimension: every layout cuts it evenly


def _indices(cut, place):
    """The indices of a dimension that the device at a place holds."""
    at = dict(zip(AXES, place, strict=True))
    held = np.arange(SIZE)
    for axis in cut:
        held = np.split(held, AXES[axis])[at[axis]]
    return tuple(held.tolist())


def _summed(terms, place, axes):
    """The terms of all places that differ from this one along `axes` only."""
    return sum(
        term
        for other, term in terms.items()
        if all(
            here == there or axis in axes
            for axis, here, there in zip(AXES, place, other, strict=True)
        )
    )


def _letters(product):
    """The letters of both factors and of the result."""
    factors, result = product.split("->")
    return (*factors.split(","), result)


@functools.cache
def _left_by_trying(product, left, right):
    """The axes to add over, found on arrays; "no" if that gives no result.

    product      as for einsum
    left, right  tuples, the axes that cut each dimension of a factor
    """
    first, second, result = _letters(product)
    draw = np.random.default_rng(5)
    a, b = (draw.integers(-9, 10, [SIZE] * len(x)) for x in (first, second))
    whole = np.einsum(product, a, b)
    terms, blocks, covered = {}, {}, np.zeros(whole.shape, bool)
    for place in itertools.product(*map(range, AXES.values())):
        of_a = {x: _indices(c, place) for x, c in zip(first, left, strict=True)}
        of_b = {
            x: _indices(c, place) for x, c in zip(second, right, strict=True)
        }
        if any(of_a[letter] != of_b[letter] for letter in {*of_a} & {*of_b}):
            return "no"
        held = {**of_a, **of_b}
        own = [np.ix_(*map(held.get, names)) for names in (first, second)]
        block = np.ix_(*map(held.get, result))
        terms[place] = np.einsum(product, a[own[0]], b[own[1]])
        blocks[place] = whole[block]
        covered[block] = True
    if not covered.all():
        return "no"
    for n in range(len(AXES) + 1):
        for axes in itertools.combinations(AXES, n):
            if all(
                np.array_equal(_summed(terms, place, axes), block)
                for place, block in blocks.items()
            ):
                return "".join(axes)
    raise ValueError(f"no sum of {left} and {right} makes up a result")


SCORES, GRADIENT = "bhtk,bhsk->bhts", "btd,btf->df"
SHOWN = (
    ("btd,df->btf", ("X", "", ""), ("", "Y")),
    ("btf,fd->btd", ("X", "", "Y"), ("Y", "")),
    (GRADIENT, ("X", "", ""), ("X", "", "Y")),
    (GRADIENT, ("X", "Y", ""), ("X", "Y", "")),
    (SCORES, ("X", "Y", "", ""), ("X", "Y", "", "")),
    (SCORES, ("", "Y", "X", ""), ("", "Y", "X", "")),
    (SCORES, ("", "Y", "", ""), ("", "", "", "")),
    ("bhts,bhsk->bhtk", ("", "Y", "X", ""), ("", "Y", "", "")),
    ("bf,fd->bd", ("", "XY"), ("XY", "")),
    ("bf,fd->bd", ("", "XY"), ("YX", "")),
    ("bf,fd->bd", ("", "X"), ("", "")),
    ("bf,fd->bd", ("", "X"), ("X", "")),
    ("bf,fd->bd", ("X", ""), ("", "XY")),
    ("bf,fd->bd", ("XY", ""), ("", "YX")),
)


@question.visible("owed", *SHOWN)
def check_owed(product, left, right):
    """Question 2: the axes over which a product leaves a sum.

    product      as for einsum, such as "btd,df->btf"
    left, right  the axes that cut each dimension of a factor
    """
    left, right = tuple(left), tuple(right)
    expected = _left_by_trying(product, left, right)
    asked = f"owed({product!r}, {list(left)}, {list(right)})"
    got = student.call("owed", product, list(left), list(right))
    if not isinstance(got, str):
        compare.wrong(asked, got, "expected a string of axes, or 'no'")
    axes = "".join(sorted(got))  # "no" is in order
    reason = _owed_reason(product, left, right, axes)
    compare.equal(asked, axes, expected, [(axes, reason)])


def _owed_reason(product, left, right, got):
    """What is wrong with the axes of a sum, in words."""
    first, second, result = _letters(product)
    a = dict(zip(first, left, strict=True))
    b = dict(zip(second, right, strict=True))
    expected = _left_by_trying(product, left, right)
    if expected == "no":
        unlike = [
            letter for letter in first if a[letter] != b.get(letter, a[letter])
        ]
        if not unlike:
            return (
                "some blocks of the result are formed nowhere: one axis cuts "
                "two of its letters"
            )
        (letter, *_) = unlike
        return (
            f"on some device the factors hold different parts of {letter}, "
            f"cut by {a[letter]!r} and by {b[letter]!r}"
        )
    if got == "no":
        return "the blocks go together, and every part of the result is formed"
    stay = {axis for letter in result for axis in {**a, **b}[letter]}
    if set(got) & stay:
        return "you name an axis that cuts the result; its devices hold blocks"
    if set(got) - set(expected):
        return "you name an axis along which devices hold the same"
    summed = [letter for letter in first if letter not in result]
    return f"you leave out an axis; the sum is over {' and '.join(summed)}"


def _layouts(product, draw):
    """Layouts of both factors of a product: good ones, and some damaged."""
    first, second, result = _letters(product)
    cuts = dict.fromkeys(first + second, "")
    for axis in draw.permutation(list(AXES)).tolist():
        letter = str(draw.choice(list(cuts)))
        cuts[letter] += axis
    both = [[cuts[letter] for letter in names] for names in (first, second)]
    if draw.random() < 0.5:
        chosen = both[int(draw.integers(2))]
        axis, place = str(draw.choice(list(AXES))), draw.integers(len(chosen))
        chosen[:] = [cut.replace(axis, "") for cut in chosen]
        chosen[int(place)] += axis
    return tuple(map(tuple, both))


def grade_owed():
    """Question 2 with other products and layouts, most of them drawn."""
    cases = [
        ("bhtk,bhsk->bhts", ("XY", "", "", ""), ("YX", "", "", "")),
        ("bhts,bhtk->bhsk", ("", "", "X", "Y"), ("", "", "X", "")),
        ("bhts,bhtk->bhsk", ("", "Y", "X", ""), ("", "Y", "X", "")),
        ("bhts,bhtk->bhsk", ("Y", "", "X", ""), ("Y", "X", "", "")),
        ("bd,bf->df", ("", ""), ("", "")),
        ("bd,bf->df", ("", "X"), ("", "X")),
        ("bd,bf->df", ("", "X"), ("", "Y")),
        ("ecd,edf->ecf", ("X", "", "Y"), ("X", "Y", "")),
        ("ecd,edf->ecf", ("XY", "", ""), ("X", "", "")),
        ("bthk,hkd->btd", ("X", "", "Y", ""), ("Y", "", "")),
        ("bthk,hkd->btd", ("", "", "Y", "X"), ("Y", "X", "")),
        ("btd,bthk->dhk", ("Y", "X", ""), ("Y", "X", "", "")),
    ]
    draw = question.draw("owed")
    for product in sorted({case[0] for case in (*SHOWN, *cases)}):
        for _ in range(3):
            cases.append((product, *_layouts(product, draw)))
    for case in cases:
        check_owed(*case)


# --- 3: a gate ---------------------------------------------------------------

GATED = ("dIn", "dW_gate", "dW_in", "dW_out")


def _gated(In, W_gate, W_in, W_out):
    """The block in JAX, for counts of its products."""
    return (jax.nn.silu(In @ W_gate) * (In @ W_in)) @ W_out


def _silu(z):
    return z / (1 + np.exp(-z))


def _by_differences(of, dOut, arrays):
    """Gradients of the sum of dOut * of(...), one element at a time."""
    gradients = []
    for n, x in enumerate(arrays):
        gradient = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = x.copy()
                moved[place] += step
                given = (*arrays[:n], moved, *arrays[n + 1 :])
                ends.append(np.sum(dOut * of(*given)))
            gradient[place] = (ends[0] - ends[1]) / 2e-5
        gradients.append(gradient)
    return gradients


def _right_block(In, W_gate, W_in, W_out):
    """The block in NumPy, as gradients pass through it: without round."""
    return (_silu(In @ W_gate) * (In @ W_in)) @ W_out


def _rounded_block(In, W_gate, W_in, W_out):
    """The block in NumPy, as it computes."""
    return np.round(_silu(In @ W_gate) * (In @ W_in)) @ W_out


def _gate_gradients(dOut, arrays):
    """The four gradients by differences, straight through round."""
    *through, _ = _by_differences(_right_block, dOut, arrays)
    return [*through, _by_differences(_rounded_block, dOut, arrays)[-1]]


def _mistaken_blocks(In, W_gate, W_in, W_out):
    """Blocks with the same values, parts of which are held constant."""
    z, fixed = In @ W_gate, In
    sigma, silu = 1 / (1 + np.exp(-z)), _silu(z)
    return {
        "sigma": lambda x, G, A, O: ((x @ G) * sigma * (x @ A)) @ O,
        "linear": lambda x, G, A, O: ((x @ G) * (x @ A)) @ O,
        "no up": lambda x, G, A, O: (_silu(x @ G) + silu * (x @ A)) @ O,
        "gate": lambda x, G, A, O: (_silu(x @ G) * (fixed @ A)) @ O,
        "up": lambda x, G, A, O: (_silu(fixed @ G) * (x @ A)) @ O,
    }


def _gate_mistakes(name, dOut, arrays):
    """Gradients that show a known mistake."""
    at, right = GATED.index(name), _gate_gradients(dOut, arrays)
    blocks = _mistaken_blocks(*arrays)
    In, W_gate, W_in, _ = arrays
    Tmp = _silu(In @ W_gate) * (In @ W_in)

    def mistaken(which):
        return _by_differences(blocks[which], dOut, arrays)[at]

    said = "your silu has the derivative sigma; sigma depends on z as well"
    yield mistaken("sigma"), said
    yield mistaken("linear"), "you leave out silu, or its derivative"
    yield right[at].T, f"your {name} is transposed; its shape is its array's"
    if name == "dW_gate":
        said = "your dGate lacks a factor: silu(Gate) was multiplied by Up"
        yield mistaken("no up"), said
    if name in ("dW_gate", "dW_in"):
        yield right[3 - at], "you exchange the gradients of W_gate and W_in"
    if name == "dIn":
        for way in ("gate", "up"):
            yield mistaken(way), f"yours is only what comes back by the {way}"
    if name == "dW_out":
        yield Tmp.T @ dOut, "what met W_out had been rounded"
        said = "you multiply Up alone; what met W_out had passed the gate"
        yield (In @ W_in).T @ dOut, said
        yield np.round(In @ W_in).T @ dOut, said
        said = "you round each factor; their product is rounded"
        each = np.round(_silu(In @ W_gate)) * np.round(In @ W_in)
        yield each.T @ dOut, said
        said = "you cut off what follows the point; round goes to the nearest"
        yield np.floor(Tmp).T @ dOut, said
        yield np.trunc(Tmp).T @ dOut, said
    else:
        said = (
            "nothing comes back: a staircase is flat. Pass what comes back "
            "straight through round, unchanged"
        )
        yield np.zeros(right[at].shape), said


def _apart(draw, B, D, F):
    """Arrays of a block whose Tmp is nowhere near the middle of two numbers."""
    sizes = [(B, D), (B, D), (D, F), (D, F), (F, D)]
    while True:
        dOut, *arrays = (draw.normal(size=size) for size in sizes)
        In, W_gate, W_in, _ = arrays
        Tmp = _silu(In @ W_gate) * (In @ W_in)
        if np.abs(Tmp % 1 - 0.5).min() > 1e-3:
            return dOut, arrays


@question.visible("gated_backward", (5, 3, 4, 3))
def check_gate(B, D, F, seed):
    """Question 3: back through a rounded gate.

    B, D, F  sizes
    seed     of the arrays
    """
    dOut, arrays = _apart(np.random.default_rng(seed), B, D, F)
    In, W_gate, W_in, _ = arrays
    given = [dOut, In, In @ W_gate, In @ W_in, *arrays[1:]]
    asked = f"gated_backward with B, D, F = {B}, {D}, {F}"
    got = _list_of(asked, student.call("gated_backward", *given), GATED)
    expected = _gate_gradients(dOut, arrays)
    for name, one, model in reversed(
        list(zip(GATED, got, expected, strict=True))
    ):
        likely = functools.partial(_gate_mistakes, name, dOut, arrays)
        # Three products, one after the other, and exp: some 60 roundings.
        _matrix(f"{asked}: {name}", one, model, likely, 60)


def grade_gate():
    """Question 3 with other sizes."""
    draw = question.draw("gate")
    for sizes in ((4, 4, 4), (7, 2, 5)):
        check_gate(*sizes, int(draw.integers(2**31)))


# --- 4: what a layer computes ------------------------------------------------


def _layer(x, q, k, v, o, gate, up, down):  # x[S, T, D]
    """A layer whose query heads share heads of keys and values."""
    q, k, v = (jnp.einsum("std,dnh->snth", x, w) for w in (q, k, v))
    shares = q.shape[1] // k.shape[1]
    k, v = (jnp.repeat(heads, shares, axis=1) for heads in (k, v))
    mixed = jax.nn.softmax(jnp.einsum("snth,snuh->sntu", q, k))
    mixed = jnp.einsum("sntu,snuh->snth", mixed, v)
    x = x + jnp.einsum("snth,nhd->std", mixed, o)
    return x + (jax.nn.silu(x @ gate) * (x @ up)) @ down


def _layer_step(*arrays):
    out, back = jax.vjp(_layer, *arrays)
    return back(out)


@functools.lru_cache(maxsize=256)
def _counted_flops(B, T, D, F, N, K, H):
    """Forward, and both passes less forward, from the jaxpr."""
    sizes = [(B // T, T, D), (D, N, H), (D, K, H), (D, K, H), (N, H, D)]
    sizes += [(D, F), (D, F), (F, D)]
    shapes = [jax.ShapeDtypeStruct(size, jnp.bfloat16) for size in sizes]
    forward = count.flops(_layer, *shapes)
    return forward, count.flops(_layer_step, *shapes) - forward


@question.visible(
    "layer_flops",
    (2**15, 4096, 5120, 13824, 40, 40, 128),
    (48, 8, 24, 56, 6, 2, 5),
)
def check_flops(B, T, D, F, N, K, H):
    """Question 4: FLOPs of both passes of a layer."""
    forward, backward = expected = _counted_flops(B, T, D, F, N, K, H)
    scores, keys = 4 * B * T * N * H, 4 * B * D * H * (N - K)
    alone = forward - scores
    likely = [
        ([n // 2 for n in expected], f"you count products, but {TWICE}"),
        (
            [forward, forward],
            "your backward pass has one product for each forward; it has two",
        ),
        (
            [forward, forward + backward],
            "your second number is both passes together",
        ),
    ]
    for wrong, sentence in (
        (alone, "you leave out the scores and the values they weigh"),
        (
            forward - scores // 2,
            "your scores are formed, but no values are added up with them",
        ),
        (alone + scores * B // T, "you let a token see other sequences"),
        (forward + keys, "you give keys and values as many heads as queries"),
        (
            alone + scores * K // N,
            "your scores are those of K heads; each query head forms its own",
        ),
        (
            alone + 4 * B * T * D,
            "your heads are as wide as the model together; these need not be",
        ),
        (forward - 2 * B * D * F, "you leave out the gate"),
    ):
        likely.append(([wrong, 2 * wrong], sentence))
    square = forward + 2 * B * (4 * D * D - 2 * D * N * H - 2 * D * K * H)
    said = "you give attention four matrices D x D; heads have H elements"
    likely.append(([square, 2 * square], said))
    sizes = (B, T, D, F, N, K, H)
    asked = f"layer_flops({', '.join(map(str, sizes))})"
    got = student.call("layer_flops", *sizes)
    names = ("forward", "backward")
    compare.equal(asked, got, list(expected), likely=likely, names=names)


def grade_flops():
    """Question 4 with other sizes."""
    draw = question.draw("flops")
    for _ in range(5):
        T, S, K, share = draw.integers(2, 9, 4).tolist()
        D, F, H = draw.integers(10, 60, 3).tolist()
        check_flops(S * T, T, D, F, share * K, K, H)


# --- 5: the ridge point ------------------------------------------------------

TYPES = {1: "int8", 2: "bfloat16", 4: "float32"}


@functools.lru_cache(maxsize=512)
def _work(B, D, F, act_bytes, weight_bytes):
    """FLOPs of the product and the bytes of its three arrays, counted."""
    types = TYPES[act_bytes], TYPES[weight_bytes], TYPES[act_bytes]
    In, W, Tmp = (
        jax.ShapeDtypeStruct(shape, jnp.dtype(kind))
        for shape, kind in zip(((B, D), (D, F), (B, F)), types, strict=True)
    )
    size = sum(x.size * x.dtype.itemsize for x in (In, W, Tmp))
    return count.flops(jnp.matmul, In, W), size


def _meeting(D, F, flops, hbm_bw, *sizes):
    """Where two straight lines through two counts meet, or None."""
    (math, moved), (math_2, moved_2) = (_work(B, D, F, *sizes) for B in (1, 2))
    slope = Fraction(math_2 - math) / Fraction(flops)
    slope -= Fraction(moved_2 - moved) / Fraction(hbm_bw)
    start = Fraction(2 * moved - moved_2) / Fraction(hbm_bw)
    return float(start / slope) if slope > 0 else None


def _ridge_mistakes(D, F, flops, hbm_bw, act, weight):
    """Batches that show a known mistake."""
    limit, read = weight * flops / hbm_bw / 2, weight * D * F / hbm_bw
    yield limit, "you count the bytes of W only: In and Tmp move as well"
    yield 2 * limit, f"you count the bytes of W only, and {TWICE}"
    half = _meeting(D, F, flops, hbm_bw / 2, act, weight)
    if half:
        yield half, f"you count products, but {TWICE}"
    for moved, left in ((D, "Tmp, which is written"), (F, "In, which is read")):
        slope = 2 * D * F / flops - act * moved / hbm_bw
        yield read / slope, f"you leave out {left}"
    slope = 2 * D * F / flops + act * (D + F) / hbm_bw
    yield read / slope, "you let activations save the memory's time"
    for one in {act, weight} if act != weight else ():
        other = _meeting(D, F, flops, hbm_bw, one, one)
        if other:
            yield other, "you give activations and weights the same bytes"


_ROUNDED = "yours is a rounded number of the chapter, for one chip"
_EQUAL = (4, 4, 4.0, 1.0, 1, 1)  # the two lines are parallel


@question.visible(
    "ridge",
    (8192, 32768, hw.V5E.flops, hw.V5E.hbm_bw, 2, 2),
    (8192, 28672, hw.H200.flops, hw.H200.hbm_bw, 2, 1),
    (256, 1024, hw.V5E.flops, hw.V5E.hbm_bw, 2, 2),
    (5120, 13824, hw.H100.flops_fp8, hw.H100.hbm_bw, 2, 1),
)
def check_ridge(D, F, flops, hbm_bw, act, weight):
    """Question 5: the batch from which a product is bound by arithmetic."""
    asked = f"ridge({D}, {F}, {flops:g}, {hbm_bw:g}, {act}, {weight})"
    got = student.call("ridge", D, F, flops, hbm_bw, act, weight)
    expected = _meeting(D, F, flops, hbm_bw, act, weight)
    if expected is None:
        if not isinstance(got, str):
            said = (
                "you find a batch, but however many tokens there are, moving "
                'In and Tmp takes longer than the arithmetic: "never"'
            )
            compare.wrong(asked, got, said)
        compare.equal(asked, got, "never")
        return
    if isinstance(got, str):
        compare.wrong(asked, got, "you find none, but the two lines do meet")
    likely = [
        *_ridge_mistakes(D, F, flops, hbm_bw, act, weight),
        (1 / expected, "your fraction is upside down"),
        (240, _ROUNDED),
        (249.4, _ROUNDED),
    ]
    compare.close(asked, got, expected, likely=likely)


def grade_ridge():
    """Question 5 on other chips."""
    draw = question.draw("ridge")
    sizes = draw.integers(1500, 30000, (4, 2)).tolist()
    for (D, F), chip, act, weight, kind in zip(
        sizes,
        (hw.V5P, hw.H100, hw.V5E, hw.A100),
        (2, 2, 1, 2),
        (2, 1, 1, 4),
        ("bf16", "bf16", "int8", "bf16"),
        strict=True,
    ):
        flops = hw.flops_at(chip, kind)
        check_ridge(D, F, flops, chip.hbm_bw, act, weight)
    F = int(draw.integers(100, 9000))
    check_ridge(100, F, hw.V5P.flops, hw.V5P.hbm_bw, 2, 2)
    check_ridge(*_EQUAL)


# --- 6: parameters -----------------------------------------------------------


def _tree(L, D, F, N, K, H, V, gated, tied):
    """The parameters as arrays, a list of layers and what is around them."""

    def a_layer():
        heads = {"q": (D, N, H), "k": (D, K, H), "v": (D, K, H)}
        shapes = heads | {"o": (N, H, D), "up": (D, F), "down": (F, D)}
        shapes |= {"norm_1": (D,), "norm_2": (D,)}
        shapes |= {"gate": (D, F)} if gated else {}
        return {name: jnp.zeros(s, jnp.bfloat16) for name, s in shapes.items()}

    around = {"embed": jnp.zeros((V, D)), "norm": jnp.zeros(D)}
    if not tied:
        around["head"] = jnp.zeros((D, V))
    return [a_layer() for _ in range(L)], around


@functools.lru_cache(maxsize=64)
def _counted_parameters(*sizes):
    """Elements of all leaves of the tree, without making one array."""
    shapes = jax.eval_shape(lambda: _tree(*sizes))
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))


@question.visible(
    "count_parameters",
    (40, 5120, 13824, 40, 40, 128, 32000, True, False),
    (3, 24, 56, 6, 2, 5, 100, False, True),
    (2, 20, 56, 4, 1, 5, 70, True, True),
)
def check_parameters(*sizes):
    """Question 6: the parameters of a Transformer."""
    L, D, F, N, K, H, V, gated, tied = sizes
    expected = _counted_parameters(*sizes)
    likely = [
        (expected - (2 * L + 1) * D, "you leave out the norms"),
        (expected - D, "you leave out the norm after the last layer"),
        (expected - L * D, "you give a layer one norm; it has two"),
        (
            expected + 2 * L * D * (N - K) * H,
            "you give keys and values N heads; they have K",
        ),
        (
            expected + L * (4 * D * D - 2 * D * N * H - 2 * D * K * H),
            "you give attention four matrices D x D; heads have H elements",
        ),
    ]
    if gated:
        likely.append((expected - L * D * F, "you leave out the gate"))
    else:
        likely.append((expected + L * D * F, "you count a gate; here is none"))
    if tied:
        likely.append((expected + V * D, "you count a tied embedding twice"))
    else:
        likely.append((expected - V * D, "you leave out the output matrix"))
    asked = f"count_parameters({', '.join(map(str, sizes))})"
    got = student.call("count_parameters", *sizes)
    compare.equal(asked, got, expected, likely=likely)


def grade_parameters():
    """Question 6 with other sizes, gated or not, tied or not."""
    draw = question.draw("parameters")
    for gated, tied in itertools.product((True, False), repeat=2):
        L, K, share = draw.integers(2, 7, 3).tolist()
        D, F, H, V = draw.integers(8, 90, 4).tolist()
        check_parameters(L, D, F, share * K, K, H, V, gated, tied)


# --- 7: memory ---------------------------------------------------------------


def _held(rows, *widths_and_bytes):
    """Bytes of arrays with so many rows, on one device, counted."""
    device = NamedSharding(AbstractMesh((1,), ("X",)), P())
    types = {1: jnp.int8, 2: jnp.bfloat16, 4: jnp.float32}
    arrays = [
        jax.ShapeDtypeStruct((rows, width), types[size], sharding=device)
        for width, size in widths_and_bytes
    ]
    return count.held(arrays)


def _deal(sequences, chips):
    """How many sequences the fullest chip gets, dealt one at a time."""
    hands = [0] * chips
    for n in range(sequences):
        hands[n % chips] += 1
    return max(hands)


def _fewest(states, each, sequences, hbm, way="dealt"):
    """The fewest chips that hold states, cut, and sequences, dealt; or 0.

    way      "dealt"; or a mistake: "cut" sequences, the "least" that any chip
             gets, or "copied" states
    """
    for chips in range(1, sequences + 1):
        if way == "cut":
            share = Fraction(sequences * each, chips)
        elif way == "least":
            share = each * (sequences // chips)
        else:
            share = each * _deal(sequences, chips)
        own = states if way == "copied" else Fraction(states, chips)
        if own + share <= hbm:
            return chips
    return 0


_13B = (13_015_864_320, 40, 1000, 4096, 5120, 13824)


@question.visible(
    "training_memory",
    (*_13B, [2, 2, 4, 4, 4], 96_000_000_000),
    (*_13B, [2, 4, 4, 4, 4], 141_000_000_000),
    (*_13B, [2, 0, 0, 4, 4], 16_000_000_000),
    (6000, 3, 7, 10, 20, 30, [2, 2, 4, 2, 2], 90_000),
    (100, 1, 5, 2, 20, 40, [2, 2, 4, 4, 4], 1300),
    (6000, 3, 7, 10, 20, 30, [2, 2, 4, 2, 2], 5000),
    (100, 1, 3, 2, 20, 40, [2, 2, 4, 4, 4], 3000),
    (100, 1, 4, 2, 20, 40, [2, 2, 4, 4, 4], 800),
)
def check_memory(params, L, S, T, D, F, recipe, hbm):
    """Question 7: bytes of states and of activations, and the chips for both.

    params, L, D, F  of the model
    S, T     sequences of the batch, and tokens of each
    recipe   bytes for each parameter
    hbm      bytes of a chip
    """
    states = _held(params, *((1, size) for size in recipe if size))
    each = L * _held(T, (F, 2), (F, 2), (D, 2))
    given = (params, L, S, T, D, F, recipe, hbm)
    asked = f"training_memory({', '.join(map(str, given))})"
    names = ("states", "kept", "chips")
    got = _list_of(asked, student.call("training_memory", *given), names)
    compare.equal(
        f"{asked}: states",
        got[0],
        states,
        likely=[
            (2 * params, "you count the weights alone"),
            (16 * params, "you use another recipe than the one given"),
        ],
    )
    compare.equal(
        f"{asked}: kept",
        got[1],
        each * S,
        likely=[
            (
                2 * L * S * T * (D + F),
                "you count gate and up as one; both have F columns",
            ),
            (2 * L * S * T * 3 * F, "you let the third product give F columns"),
            (2 * L * S * T * 2 * F, "you leave out the third product's output"),
            (each * S // 2, "you count elements; one of bf16 has two bytes"),
            (each * S // L, "you count one layer"),
            (each, "you count one sequence"),
            (each * S // T, "you take the batch for tokens; it is sequences"),
        ],
    )
    expected = _fewest(states, each, S, hbm)
    smooth = -(-(states + each * S) // hbm)
    likely = [
        (smooth, "you divide the batch like sand; a chip gets whole sequences"),
        (_fewest(states, each, S, hbm, "cut"), "you cut sequences"),
        (
            _fewest(states, each, S, hbm, "least"),
            "you round sequences down; some chip has one more",
        ),
        (
            _fewest(states, each, S, hbm - Fraction(1, 10**6)),
            "a chip may be full to the last byte",
        ),
        (
            _fewest(states, each, S, hbm, "copied"),
            "you give every chip all states; they are cut evenly",
        ),
        (expected - 1, "yours is one chip too few"),
    ]
    if not expected:
        said = (
            "you find a number, but each chip gets at least one sequence, and "
            f"no number of chips from 1 to {S} holds its share"
        )
        likely.insert(0, (got[2], said))
    elif expected > 1:
        likely.append((expected + 1, "yours is one chip too many"))
    compare.equal(f"{asked}: chips", got[2], expected, likely=likely)


def grade_memory():
    """Question 7 with other sizes and recipes."""
    draw = question.draw("memory")
    for recipe in ([2, 2, 4, 2, 2], [4, 4, 0, 4, 4], [2, 4, 4, 4, 4]):
        params, D, F = draw.integers(1000, 9000, 3).tolist()
        L, S, T = draw.integers([2, 9, 3], [9, 40, 9]).tolist()
        each = 2 * L * T * (D + 2 * F)
        hbm = int(each * draw.uniform(2.1, 3.9)) + params
        check_memory(params, L, S, T, D, F, recipe, hbm)
    check_memory(100, 1, 4, 1, 20, 40, [2, 2, 4, 4, 4], 600)  # to the byte
    check_memory(100, 1, 4, 1, 20, 40, [2, 2, 4, 4, 4], 599)  # never


# --- 8: Adam -----------------------------------------------------------------


def _weighted(past, decay):
    """The mean of all past values, a newer one with more weight."""
    weights = decay ** np.arange(len(past) - 1, -1, -1)
    return np.tensordot(weights, past, 1) / weights.sum()


def _moments(gradients):
    """m and v, from all gradients at once."""
    past, t = np.array(gradients), len(gradients)
    m = _weighted(past, 0.9) * (1 - 0.9**t)
    return m, _weighted(past**2, 0.999) * (1 - 0.999**t)


def _moved(gradients, rate):
    """How far w goes in the last step, from no stored state."""
    past = np.array(gradients)
    root = np.sqrt(_weighted(past**2, 0.999))
    return -rate * _weighted(past, 0.9) / (root + 1e-8)


def _step_mistakes(gradients, rate):
    """How far w goes by a known mistake."""
    t, g = len(gradients), gradients[-1]
    m, v = _moments(gradients)
    mean, square = m / (1 - 0.9**t), v / (1 - 0.999**t)
    root = np.sqrt(square) + 1e-8
    steps = [
        (-mean / root, "you go up the gradient, not down"),
        (m / (np.sqrt(v) + 1e-8), "you leave out the bias correction"),
        (mean / (np.sqrt(v) + 1e-8), "you correct m and not v"),
        (m / root, "you correct v and not m"),
        (mean / (square + 1e-8), "you leave out the root of v"),
        (mean / np.sqrt(square + 1e-8), "you add 1e-8 below the root"),
        (mean / np.sqrt(square), "you leave out the 1e-8"),
        (g / root, "you use the gradient and not its average"),
        (
            mean / root * 1e-3 / rate,
            "you use a rate of 1e-3, whatever is given",
        ),
    ]
    for late in (t - 1, t + 1) if t > 1 else (t + 1,):
        step = m / (1 - 0.9**late)
        step = step / (np.sqrt(v / (1 - 0.999**late)) + 1e-8)
        steps.append((step, "your t is off by one; it is 1 in the first step"))
    return [(-rate * step, sentence) for step, sentence in steps]


def _exchanged(gradients, power):
    """m or v, with the decay of the other."""
    decay = {1: 0.999, 2: 0.9}[power]
    past = np.array(gradients) ** power
    return _weighted(past, decay) * (1 - decay ** len(past))


def _squared_averages(gradients):
    """v, if it gets the square of m in place of that of g."""
    t = len(gradients)
    averages = [_moments(gradients[: s + 1])[0] for s in range(t)]
    return _weighted(np.array(averages) ** 2, 0.999) * (1 - 0.999**t)


def _check_step(asked, got, before, gradients, rate):
    """One step: m, v, and how far w moved."""
    w, m, v = got
    right_m, right_v = _moments(gradients)
    t = len(gradients)
    far = "you exchange 0.9 and 0.999"
    likely = [
        (right_m / (1 - 0.9**t), "you store it corrected; keep it as it is"),
        (gradients[-1], "you store the gradient, not its average"),
        (_exchanged(gradients, 1), far),
    ]
    compare.close(f"{asked}: m", m, right_m, likely=likely)
    likely = [
        (right_v / (1 - 0.999**t), "you store it corrected; keep it as it is"),
        (right_m**2, "you square the average; average the squares"),
        (np.sqrt(right_v), "you store its root"),
        (_exchanged(gradients, 2), far),
        (_squared_averages(gradients), "you average m squared, not g squared"),
    ]
    compare.close(f"{asked}: v", v, right_v, likely=likely)
    # A step is small beside a weight: compare how far it went.
    moved = compare.real_array(f"{asked}: w", w, before.shape) - before
    likely = _step_mistakes(gradients, rate)
    words = f"{asked}: how far w moved"
    compare.close(words, moved, _moved(gradients, rate), likely=likely)


def _gradients(seed, steps, size):
    """Some large gradients, and some as small as 1e-8."""
    draw = np.random.default_rng(seed)
    scale = 10.0 ** draw.integers(-8, 3, size)
    return [scale * draw.normal(size=size) for _ in range(steps)]


def _refuse_float32(asked, got):
    """Insist on the precision that was asked for."""
    for x in got if isinstance(got, (list, tuple)) else ():
        if isinstance(x, np.ndarray) and x.dtype == np.float32:
            compare.wrong(asked, x, "you compute in float32; use NumPy")


@question.visible("adam", (4, (6,), 3e-3, 8), (3, (2, 3), 0.02, 9))
def check_adam(steps, size, rate, seed):
    """Question 8: steps of Adam, one after the other.

    steps, size  how many, and the shape of the weights
    rate, seed   of the steps, and of their gradients
    """
    w = np.zeros(size)
    m, v, past = np.zeros(size), np.zeros(size), []
    for t, g in enumerate(_gradients(seed, steps, size), 1):
        given = [x.copy() for x in (w, m, v, g)]
        asked = f"adam, step {t} with rate {rate}"
        got = student.call("adam", *given, t, rate)
        _refuse_float32(asked, got)
        got = _list_of(asked, got, ("w", "m", "v"))
        past.append(g)
        got = [np.asarray(x) for x in got]
        _check_step(asked, got, w, past, rate)
        w, m, v = got


def grade_adam():
    """Question 8 with other gradients."""
    draw = question.draw("adam")
    check_adam(12, (2, 5), 0.02, int(draw.integers(2**31)))
    check_adam(3, (3, 1), 5e-4, int(draw.integers(2**31)))


# --- 9: in symbols -----------------------------------------------------------


def _gated_step(*arrays):
    out, back = jax.vjp(_gated, *arrays)
    return back(out)


def _weights(D, F):
    """The three matrices of a gated block, as shapes."""
    sizes = ((D, F), (D, F), (F, D))
    return [jax.ShapeDtypeStruct(size, jnp.bfloat16) for size in sizes]


@functools.lru_cache(maxsize=256)
def _step_flops(B, D, F):
    In = jax.ShapeDtypeStruct((B, D), jnp.bfloat16)
    return count.flops(_gated_step, In, *_weights(D, F))


@functools.lru_cache(maxsize=256)
def _update_bytes(D, F):
    """Bytes of what the optimiser gets and gives, from shapes."""

    def update(dW, state):
        W, state = adam.update(dW, state)
        return W.astype(jnp.bfloat16), state

    read = [
        (
            jax.ShapeDtypeStruct(W.shape, jnp.float32),
            jax.eval_shape(adam.start, W),
        )
        for W in _weights(D, F)
    ]
    written = [jax.eval_shape(update, *one) for one in read]
    leaves = jax.tree.leaves((read, written))
    return sum(x.size * x.dtype.itemsize for x in leaves)


def _math_seconds(B, D, F, C, M):
    return Fraction(_step_flops(B, D, F), C)


def _update_seconds(B, D, F, C, M):
    return Fraction(_update_bytes(D, F), M)


def _even_tokens(B, D, F, C, M):
    """One token's products against the update."""
    return _update_seconds(1, D, F, C, M) / _math_seconds(1, D, F, C, M)


SYMBOLS = {
    "math": (
        _math_seconds,
        (
            ("12*B*D*F/C", "you leave out the gate"),
            ("6*B*D*F/C", "yours is the forward pass alone"),
            ("9*B*D*F/C", f"you count products, but {TWICE}"),
            ("18*B*D*F/M", "you divide by bytes/s; products wait for C"),
        ),
    ),
    "update": (
        _update_seconds,
        (
            ("28*3*D*F/M", "yours reads a gradient in bf16"),
            ("30*2*D*F/M", "you leave out the gate's weights"),
            ("18*3*D*F/M", "you count what is held; some is read and written"),
            ("16*3*D*F/M", "you count what is held; some is read and written"),
            ("28*2*D*F/M", "yours reads a gradient in bf16, and has no gate"),
            ("32*3*D*F/M", "you read the old weight; the master copy is read"),
            ("30*3*D*F/C", "you divide by FLOP/s; the update waits for M"),
        ),
    ),
    "tokens": (
        _even_tokens,
        (
            ("M/(5*C)", "yours is upside down"),
            ("14*C/(3*M)", "yours reads a gradient in bf16"),
            ("3*C/M", "you count what is held; some is read and written"),
            ("15*C/M", "you compare with the forward pass alone"),
            ("10*C/M", f"you count products, but {TWICE}"),
        ),
    ),
}


@question.visible(
    "math, update and tokens", ((6, 8, 5, 7, 3), (2, 12, 3, 5, 11))
)
def check_symbols(*points):
    """Question 9: three formulas, at points (B, D, F, C, M)."""
    for name, (counted, likely) in SYMBOLS.items():
        compare.formula(
            name,
            student.expression(name),
            "B D F C M",
            counted,
            points,
            closed=True,
            likely=likely,
        )


def grade_symbols():
    """Question 9 at other points."""
    drawn = question.draw("symbols").integers(2, 40, (6, 5)).tolist()
    check_symbols(*(tuple(point) for point in drawn))


# --- 10: rent a machine ------------------------------------------------------

MFU = Fraction(2, 5)
V5P_SLICES = {"name": "v5p slices", "unit": 64, "most": 6144}
V5P_SLICES |= {"flops": hw.V5P.flops, "hbm": hw.V5P.hbm_bytes}
H200_NODES = {"name": "nodes of 8 H200", "unit": 8, "most": 2048}
H200_NODES |= {"flops": hw.H200.flops, "hbm": hw.H200.hbm_bytes}
SMALL = {"name": "pairs of small chips", "unit": 2, "most": 60}
SMALL |= {"flops": 1e12, "hbm": 50_000}
LLAMA = {"P": 13_015_449_600, "L": 40, "D": 5120}
LLAMA |= {"tokens": 2e12, "S": 1024, "T": 4096}
SINGLE = SMALL | {"name": "single chips", "unit": 1, "hbm": 10**6}
TOY = {"P": 10_000, "L": 2, "D": 50, "tokens": 1e12, "S": 30, "T": 100}


def _seconds(job, machine, chips):
    """Seconds of the whole run, exactly."""
    flops = 6 * job["P"] * Fraction(job["tokens"])
    return flops / (chips * Fraction(machine["flops"]) * MFU)


def _bytes_on_chip(job, chips):
    """Bytes on the fullest chip: states that are cut, and layers' inputs."""
    states = Fraction(
        _held(job["P"], (1, 2), (1, 2), (1, 4), (1, 4), (1, 4)), chips
    )
    inputs = job["L"] * _held(job["T"], (job["D"], 2))
    return states + inputs * _deal(job["S"], chips)


ALL = ("days", "even", "bytes")


def _smallest(job, machine, days, ask=ALL):
    """The first number of chips that meets all that is asked; or 0."""
    unit = machine["unit"]
    for chips in range(unit, machine["most"] + 1, unit):
        if chips > job["S"]:
            return 0
        meets = {
            "days": _seconds(job, machine, chips) <= days * 86400,
            "even": job["S"] % chips == 0,
            "bytes": _bytes_on_chip(job, chips) <= machine["hbm"],
        }
        if all(meets[what] for what in ask):
            return chips
    return 0


@question.visible(
    "rent",
    (LLAMA, V5P_SLICES, 30),
    (LLAMA, H200_NODES, 30),
    (LLAMA, H200_NODES, 300),
    (LLAMA | {"T": 131_072, "S": 96}, H200_NODES, 100),
    (LLAMA | {"T": 131_072, "S": 64}, H200_NODES, 90),
    (LLAMA, V5P_SLICES, 5),
    (LLAMA | {"S": 1536}, V5P_SLICES, 120),
    (TOY, SMALL, 0.07),
    (TOY, SMALL, 0.3),
    (TOY | {"L": 1}, SMALL | {"hbm": 55_000}, 0.9),
    (TOY, SMALL | {"most": 30}, 0.07),
    (TOY, SMALL | {"most": 8}, 0.3),
    (TOY | {"L": 1}, SMALL | {"hbm": 46_000}, 0.9),
    (TOY | {"tokens": 7.2e11}, SINGLE, 0.125),
)
def check_rent(job, machine, days):
    """Question 10: the fewest chips for a run.

    job      dict of P, L, D, tokens, S and T
    machine  dict of name, unit, most, flops and hbm
    days     that the run may take
    """
    given = {key: value for key, value in machine.items() if key != "name"}
    numbers = ", ".join(f"{key} = {value:g}" for key, value in job.items())
    chip = f"{machine['flops']:g} FLOP/s and {machine['hbm']:g} bytes a chip"
    asked = f"rent for {numbers} in {days} days on at most {machine['most']} "
    asked += f"chips, {machine['name']}, {chip}"
    got = student.call("rent", job, given, days)
    expected = _smallest(job, machine, days)
    without = {
        "days": "your run takes too many days",
        "even": "you give some chips more sequences than others",
        "bytes": "you fill a chip beyond its memory",
    }
    likely = [
        (
            _smallest(job, machine, days, [w for w in without if w != what]),
            sentence,
        )
        for what, sentence in without.items()
    ]
    found = compare.whole_number(asked, got)
    if expected and found and found % machine["unit"]:
        said = f"you rent a part of a unit of {machine['unit']} chips"
        compare.wrong(asked, got, said)
    if expected and not found:
        said = "you find no number of chips, but there is one"
        compare.wrong(asked, got, said)
    if found > expected > 0:
        likely.append((found, "you rent more chips than it takes"))
    if not expected:
        likely.append((found, "you rent what does not meet all that is asked"))
    peak = _smallest(job, machine, days * MFU.denominator / MFU.numerator)
    likely.append((peak, "your chips never idle; they reach 40 percent"))
    compare.equal(asked, found, expected, likely=likely)


def grade_rent():
    """Question 10 for other runs, some of them just possible."""
    draw = question.draw("rent")
    check_rent(TOY | {"L": 1}, SMALL | {"hbm": 46_000}, 0.9)  # to the byte
    check_rent(TOY | {"tokens": 7.2e11}, SINGLE, 0.125)  # to the second
    check_rent(TOY | {"tokens": 7.2000036e11}, SINGLE, 0.125)  # a little late
    check_rent(TOY | {"S": 6}, SINGLE | {"most": 5}, 0.31)  # all but one chip
    for days in draw.integers(8, 200, 3).tolist():
        check_rent(LLAMA | {"S": 1000}, H200_NODES, days)
        check_rent(LLAMA | {"S": 1536}, V5P_SLICES, days)
    for _ in range(3):
        job = TOY | {"P": int(draw.integers(2000, 40_000))}
        job |= {"S": int(draw.choice([24, 36, 48, 60]))}
        check_rent(job, SMALL, float(draw.uniform(0.02, 0.6)))


# --- 11: faster memory -------------------------------------------------------


def _six_products(B, D, F):
    """The shapes that each of the six products reads and writes."""
    forward = [((B, D), (D, F)), ((B, F), (F, D))]
    backward = [((F, B), (B, D)), ((B, D), (D, F))]
    backward += [((D, B), (B, F)), ((B, F), (F, D))]
    return forward + backward


@functools.lru_cache(maxsize=512)
def _step_work(B, D, F):
    """FLOPs and bytes of each product, and the bytes of the update."""
    products = []
    for sizes in _six_products(B, D, F):
        left, right = (jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in sizes)
        out = jax.eval_shape(jnp.matmul, left, right)
        moved = sum(x.size * x.dtype.itemsize for x in (left, right, out))
        products.append((count.flops(jnp.matmul, left, right), moved))
    states = _held(2 * D * F, (1, 2), (1, 4), (1, 4), (1, 4))
    return products, 2 * states  # as many are read as are written


def _step_seconds(work, chip):
    """Roofline seconds of a step on a chip, a pair of FLOP/s and bytes/s."""
    (flops, bandwidth), (products, touched) = chip, work
    parts = [
        max(Fraction(math) / Fraction(flops), moved / Fraction(bandwidth))
        for math, moved in products
    ]
    return sum(parts) + touched / Fraction(bandwidth)


def _faster_mistakes(work, D, F, old, new):
    """Ratios that show a known mistake."""
    products, touched = work
    maths, moved = zip(*products, strict=True)

    def ratio(seconds):
        return float(
            seconds(*map(Fraction, old)) / seconds(*map(Fraction, new))
        )

    def with_work(*work):
        return float(_step_seconds(work, old) / _step_seconds(work, new))

    weights = [(math, 2 * D * F) for math in maths]
    yield with_work(products, 0), "you leave out the update"
    yield with_work(products, touched // 2), "you update half of the weights"
    yield with_work(weights, touched), "you move the weights only"
    wide = [(math, 2 * size) for math, size in products]
    yield with_work(wide, touched), "you move 4 bytes an element; bf16 has 2"
    yield (
        ratio(lambda C, W: max(sum(maths) / C, (sum(moved) + touched) / W)),
        "you take the larger of two sums; the update does not run beside the "
        "products, so each part has a larger of its own",
    )
    yield (
        ratio(lambda C, W: sum(maths) / C + (sum(moved) + touched) / W),
        "you add up the times; a product moves matrices while it computes",
    )
    all_of_it = "is all of a step bound by them?"
    yield new[1] / old[1], f"you compare the memories; {all_of_it}"
    yield new[0] / old[0], f"you compare the FLOP/s; {all_of_it}"


_H100, _H200 = ([c.flops, c.hbm_bw] for c in (hw.H100, hw.H200))
_V5E, _V5P = ([c.flops, c.hbm_bw] for c in (hw.V5E, hw.V5P))


@question.visible(
    "faster",
    (100, 8192, 28672, _H100, _H200),
    (450, 8192, 28672, _H100, _H200),
    (250, 8192, 28672, _H100, _H200),
    (1379, 5120, 13824, _H100, _H200),
    (16384, 8192, 28672, _H100, _H200),
    (700, 300, 500, _V5E, _V5P),
)
def check_faster(B, D, F, old, new):
    """Question 11: how many times as fast another chip runs a step.

    B, D, F  tokens, and sizes of the block
    old, new  lists of FLOP/s and bytes/s
    """
    pair = " to ".join(f"[{C:g}, {W:g}]" for C, W in (old, new))
    asked = f"faster for B, D, F = {B}, {D}, {F} from {pair}"
    got = student.call("faster", B, D, F, old, new)
    work = _step_work(B, D, F)
    expected = float(_step_seconds(work, old) / _step_seconds(work, new))
    likely = [
        (1 / expected, "yours is upside down"),
        *_faster_mistakes(work, D, F, old, new),
    ]
    compare.close(asked, got, expected, likely=likely)


def grade_faster():
    """Question 11 with other sizes and chips."""
    draw = question.draw("faster")
    pairs = ((_H100, _H200), (_V5E, _V5P), (_V5P, _H100), (_H200, _V5E))
    for old, new in pairs:
        B, D, F = draw.integers([50, 300, 900], [3000, 9000, 30000]).tolist()
        check_faster(B, D, F, old, new)
