"""Set 07, FSDP: what devices hold, what they send, and when.

Memory is counted on arrays without numbers, gradients on one device in NumPy,
bytes and what is alive in the program that was handed in, and times by a clock
that goes second by second.
"""

import functools
import itertools
import re
from fractions import Fraction

import jax
import numpy as np
from jax import P
from jax.sharding import AbstractMesh, NamedSharding

from shardlab import cost, count, hw
from shardlab import room as rooms
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer
from shardlab.strategies import block, dp, fsdp, zero1
from shardlab.timeline import Done, Task

__all__ = [
    "check_back",
    "check_bytes_held",
    "check_formulas",
    "check_forward",
    "check_largest",
    "check_llama",
    "check_prefetch",
    "check_stack",
    "check_window",
    "check_zero1",
    "check_zero2",
    "grade_back",
    "grade_bytes_held",
    "grade_formulas",
    "grade_forward",
    "grade_largest",
    "grade_llama",
    "grade_prefetch",
    "grade_stack",
    "grade_window",
    "grade_zero1",
    "grade_zero2",
]

DTYPES = {1: "int8", 2: "bfloat16", 4: "float32", 8: "complex64"}
CUT_FROM = (3, 2, 1, 1, 1)  # the stage from which weights, gradients, ... are
ROWS, COLUMNS = P("X", None), P(None, "X")
USUAL = [2, 2, 4, 4, 4]


def _bytes_held(params, N, stage, recipe):
    """Bytes of a state without numbers, counted on one device of N."""
    on = AbstractMesh((N,), ("X",))
    return count.held(
        [
            jax.ShapeDtypeStruct(
                (params,),
                DTYPES[size],
                sharding=NamedSharding(on, P("X") if stage >= first else P()),
            )
            for size, first in zip(recipe, CUT_FROM, strict=True)
            if size
        ]
    )


def _dealt(shapes, N, stage, recipe, cut_from=CUT_FROM):
    """Bytes on the first and the last of N devices, row by row."""
    found = [0, 0]
    for rows, columns in shapes:
        part = next(c for c in range(1, rows + 1) if c * N >= rows)
        owners = np.arange(rows) // part
        for place, device in enumerate((0, N - 1)):
            mine = int(np.count_nonzero(owners == device))
            for size, first in zip(recipe, cut_from, strict=True):
                kept = mine if stage >= first else rows
                found[place] += size * kept * columns
    return found


ODD = ((10, 6), (9, 5), (31, 7))


@question.visible(
    "bytes_held",
    *((ODD, 4, stage, USUAL) for stage in range(4)),
    *((ODD, 8, stage, [2, 4, 0, 1, 8]) for stage in range(4)),
    (((1, 6), (10, 3)), 4, 1, USUAL),  # of one row only the first has any
)
def check_bytes_held(shapes, N, stage, recipe):
    """Question 1: bytes on the first and last device under a stage of ZeRO."""
    shapes = [list(shape) for shape in shapes]
    how = (shapes, N, stage, recipe)
    asked = "bytes_held({}, {}, {}, {})".format(*how)
    first, last = counted = _dealt(*how)
    likely = _mistaken_held(*how)
    got = compare.entries(asked, student.call("bytes_held", *how), 2)
    compare.equal(f"{asked}, first", got[0], first, likely[0])
    compare.equal(
        f"{asked}, last",
        got[1],
        last,
        [*likely[1], (first, "your last device has as much as the first")],
    )
    compare.equal(asked, got, counted)


def _mistaken_held(shapes, N, stage, recipe):
    """What mistakes of question 1 give on the first and the last device."""
    by_columns = [shape[::-1] for shape in shapes]
    in_all = [(sum(rows * columns for rows, columns in shapes), 1)]
    mistakes = [
        (_dealt(shapes, N, 0, recipe), "you cut nothing, as stage 0 does"),
        (_dealt(shapes, N, 3, recipe), "you cut everything, as stage 3 does"),
        (
            _dealt(shapes, N, stage, USUAL),
            "you took another recipe than the one given",
        ),
        (
            _dealt(shapes, N, stage, recipe, (2, 3, 1, 1, 1)),
            "you cut weights where gradients come first",
        ),
        (
            _dealt(shapes, N, stage, recipe, (3, 2, 3, 1, 1)),
            "you cut the master copy with the weights",
        ),
        (
            _dealt(shapes, N, stage, recipe, (3, 1, 2, 2, 2)),
            "you cut gradients before the optimiser's state",
        ),
        (
            _dealt(shapes, N, stage, recipe, (4, 3, 2, 2, 2)),
            "that is the stage before",
        ),
        (
            _dealt(shapes, N, stage, recipe, (2, 1, 0, 0, 0)),
            "that is the next stage",
        ),
        (
            _dealt(shapes, N, stage, recipe, (3, 2, 1, 0, 0)),
            "you cut moments at stage 0, which cuts nothing",
        ),
        (_dealt(by_columns, N, stage, recipe), "you cut by columns, not rows"),
        (
            _dealt(in_all, N, stage, recipe),
            "you cut all parameters as one row; each matrix is cut by rows",
        ),
        (
            _dealt([(rows, 1) for rows, _ in shapes], N, stage, recipe),
            "you count rows; each has as many numbers as there are columns",
        ),
        (
            [N * part for part in _dealt(shapes, N, stage, recipe)],
            "one device is asked for, not all",
        ),
    ]

    def with_rows(mine):
        """Bytes if a device had so many rows of what is cut."""
        total = 0
        for rows, columns in shapes:
            for size, first in zip(recipe, CUT_FROM, strict=True):
                kept = mine(rows) if stage >= first else rows
                total += size * kept * columns
        return total

    fraction = with_rows(lambda rows: rows / N)
    less = with_rows(lambda rows: rows - (N - 1) * -(-rows // N))
    before = with_rows(
        lambda rows: max(0, rows - (N - 2) * -(-rows // N)),
    )
    second = with_rows(
        lambda rows: max(0, min(rows, 2 * -(-rows // N)) - -(-rows // N)),
    )
    some = with_rows(lambda rows: (rows - 1) % -(-rows // N) + 1)
    rest = with_rows(lambda rows: rows % -(-rows // N))
    down = with_rows(lambda rows: rows // N)
    firsts = [(each[0], reason) for each, reason in mistakes]
    firsts += [
        (down, "you round down; then some rows belong to nobody"),
        (fraction, "you cut rows in pieces; a device has whole ones"),
        (second, "that is the second device; the first is number 0"),
    ]
    lasts = [
        (
            with_rows(lambda rows: 0),
            "you give the last device nothing of what is cut; it is number "
            "N - 1",
        ),
        (
            some,
            "that is the last device that has rows; here it is not device "
            "N - 1 for every matrix",
        ),
        (
            rest,
            "you take the remainder of rows by c; that is 0 where c divides "
            "them, and it need not be device N - 1 that has it",
        ),
        (less, "your last device has fewer rows than none"),
        (before, "that is what the last but one may still have"),
        (down, "you deal rows evenly; here the first take all that they can"),
    ]
    lasts += [(each[1], reason) for each, reason in mistakes]
    return firsts, lasts


def grade_bytes_held():
    """Question 1 with other matrices, devices and recipes."""
    draw = question.draw("held")
    for stage in (0, 1, 2, 3, 1, 2):
        N = int(draw.choice([3, 7, 8, 48]))
        recipe = draw.permutation([1, 2, 3, 4, 8]).tolist()
        shapes = draw.integers(5, 400, (3, 2))
        shapes[0, 0] = N * int(draw.integers(1, 5)) + 1  # leaves little or none
        shapes[1, 0] = int(draw.integers(1, 3))  # fewer than devices
        check_bytes_held(shapes.tolist(), N, stage, recipe)


def _most_that_fits(hbm, N, stage, recipe):
    """By bisection: the largest multiple of N whose state fits."""
    low, high = 0, hbm + 1
    while high - low > 1:
        middle = (low + high) // 2
        fits = _bytes_held(N * middle, N, stage, recipe) <= hbm
        low, high = (middle, high) if fits else (low, middle)
    return N * low


def _check_largest(hbm, N, stage, recipe):
    """Question 2: the most parameters that fit on N devices."""
    counted = _most_that_fits(hbm, N, stage, recipe)
    each = _bytes_held(N, N, stage, recipe)
    shrunk = [2, 2, 4, 2, 2]
    compare.equal(
        f"largest({hbm}, {N}, {stage}, {recipe})",
        student.call("largest", hbm, N, stage, recipe),
        counted,
        likely=[
            (_most_that_fits(hbm, N, 0, recipe), "you cut nothing"),
            (
                _most_that_fits(hbm, N, 3, recipe),
                "you cut all: that is stage 3",
            ),
            (
                _most_that_fits(N * hbm, N, stage, recipe),
                "you filled the memory of all devices with what each holds",
            ),
            (counted // N, "that is what a device has of each array"),
            (counted + N, "that is one block of N parameters too many"),
            (N * hbm // each, "yours is no multiple of N"),
            (
                _most_that_fits(hbm, N, stage, shrunk),
                "you took twelve bytes a parameter, not the recipe given",
            ),
        ],
    )


def _check_fewest(params, hbm, stage, recipe, most):
    """Question 2: the fewest devices on which a state fits."""
    dividing = [N for N in range(1, most + 1) if params % N == 0]
    fitting = [
        N for N in dividing if _bytes_held(params, N, stage, recipe) <= hbm
    ]
    likely = [(N, "it fits on fewer devices than yours") for N in fitting[1:]]
    likely += [
        (N, "it does not fit on as many devices as yours")
        for N in dividing
        if N not in fitting
    ]
    likely += [
        (N, "your number of devices does not divide the parameters")
        for N in range(1, most + 1)
        if N not in dividing
    ]
    likely.append((0, "you find none; there is a number that fits"))
    asked = f"fewest({params}, {hbm}, {stage}, {recipe}, {most})"
    got = student.call("fewest", params, hbm, stage, recipe, most)
    compare.equal(asked, got, fitting[0] if fitting else 0, likely)


@question.visible(
    "largest and fewest",
    *((80 * 10**9, 8, stage, USUAL) for stage in (2, 1, 3, 0)),
    (10**9 + 7, 7, 2, [2, 4, 1, 1, 1]),
    (10**6, 7, 1, USUAL, 5040, 64),
    (80 * 10**9, 8, 1, USUAL, 7_500_000_000, 64),
    (10 * 10**9, 8, 2, USUAL, 7_500_000_000, 64),
    (4300, 8, 3, USUAL, 2100, 64),
    (100, 8, 3, USUAL, 2100, 9),
    (8400, 8, 3, USUAL, 2100, 4),  # the most there is, full to the last byte
)
def check_largest(hbm, N, stage, recipe, params=0, most=1):
    """Question 2: the largest model on N devices, the fewest for a model.

    hbm, N, stage, recipe  arguments of `largest`
    params, most           the other arguments of `fewest`; it is not asked
                           about a model of 0 parameters
    """
    _check_largest(hbm, N, stage, recipe)
    if params:
        _check_fewest(params, hbm, stage, recipe, most)


def grade_largest():
    """Question 2 with other memories, models and recipes."""
    draw = question.draw("largest")
    for stage in range(4):
        drawn = draw.choice([1, 2, 4], 5).tolist()
        N = int(draw.integers(2, 99))
        check_largest(int(draw.integers(10**6, 10**9)), N, stage, drawn)
        total = 5040 * int(draw.integers(10, 99))
        for few in (2, 20, 60):
            room = _bytes_held(total, few, stage, drawn)
            for most in (few - 1, few, few + 1, 90):
                _check_fewest(total, room, stage, drawn, most)
            _check_fewest(total, room - 1, stage, drawn, 70)


# --- programs ----------------------------------------------------------------


def _summed(answer):
    """Whether a program adds up what lies on different chips."""
    return bool({"reduce_scatter", "all_to_all"} & set(answer.kinds()))


def _gathered_volume(answer):
    """Bytes of a program's AllGathers, in the convention of the formulas."""
    kind = "all_gather"
    return count.volume([c for c in answer.collectives() if c.kind == kind])


def _check_start(N, arrays, run):
    """Question 3: each chip's part of the optimiser's state, in any order."""
    request = program.request(
        *arrays, mesh={"X": N}, in_specs=(P(),) * 3, out_specs=(P("X"),) * 3
    )
    answer, asked = student.program("start", request), f"start on {N} devices"
    answer.allow()
    numbers = np.sort(np.concatenate([x.ravel() for x in arrays]))
    most, names = -(-numbers.size // N), ("master copy", "m", "v")
    inside = [re.findall(r"\[(.*?)\]", kind)[0] for kind in answer.results()]
    if len(inside) != len(names):
        raise WrongAnswer(
            f"{asked}: you return {len(inside)} arrays; master copy, m and v "
            "of the whole line are three"
        )
    shapes = [[int(n) for n in re.findall(r"\d+", text)] for text in inside]
    for name, shape in zip(names, shapes, strict=True):
        if (size := int(np.prod(shape))) > N * most:
            raise WrongAnswer(
                f"{asked}: each chip keeps {size // N} numbers of the {name}, "
                f"and {most} are enough for {numbers.size} parameters"
            )
        if size < numbers.size:
            raise WrongAnswer(
                f"{asked}: of {numbers.size} parameters your chips keep "
                f"{size} numbers in the {name}"
            )
    if not run:
        return [np.zeros(shape, np.float32) for shape in shapes]
    state = answer.run(*arrays)
    for name, got in zip(names, state, strict=True):
        kept = compare.real_array(f"{asked}, {name}", got, None).ravel()
        expected = np.zeros(kept.size)
        if name == "master copy":
            kept = np.sort(kept[kept != 0])
            if kept.size < numbers.size:
                raise WrongAnswer(
                    f"{asked}: of {numbers.size} parameters your chips keep "
                    f"{kept.size} numbers in the {name}"
                )
            if np.unique(kept).size < numbers.size:
                raise WrongAnswer(
                    f"{asked}: your chips keep some of the {numbers.size} "
                    "parameters twice, and others not at all"
                )
            if kept.size > numbers.size:
                raise WrongAnswer(
                    f"{asked}: of {numbers.size} parameters your chips keep "
                    f"{kept.size}, some twice: fill the line up with zeros, "
                    "for a slice past its end is moved back"
                )
            expected = np.zeros(kept.size)
            expected[: numbers.size] = numbers
        compare.close(
            f"{asked}, {name}, the numbers of all chips in order of size",
            kept,
            expected,
        )
    return state


def _adam(dW, master, m, v):
    """Adam on one device, in float64."""
    m, v = 0.9 * m + 0.1 * dW, 0.999 * v + 0.001 * dW**2
    return master - 1e-3 * m / (np.sqrt(v) + 1e-8), m, v


def _mistaken_lines(N, sums, old):
    """What mistakes of question 3 with the line of all numbers give.

    N        devices
    sums     gradients of W, b and g, summed
    old      of each its master copy, m and v
    returns  list of (new W, b and g, the mistake)
    """
    orders = list(itertools.permutations(range(3)))
    sizes, shapes = [x.size for x in sums], [x.shape for x in sums]

    def lay(arrays, order=(0, 1, 2)):
        return np.concatenate([arrays[i].ravel() for i in order])

    def cut(line, order=(0, 1, 2)):
        ends = np.cumsum([sizes[i] for i in order])
        parts = dict(zip(order, np.split(line, ends), strict=False))
        return [parts[i].reshape(shapes[i]) for i in range(3)]

    def made(sums, old, order=(0, 1, 2), other=(0, 1, 2)):
        states = [lay(kind, order) for kind in zip(*old, strict=True)]
        return _adam(lay(sums, other), *states)[0]

    found = []
    for one, two in itertools.permutations(orders, 2):
        found.append(
            (
                cut(made(sums, old, one, two), one),
                "your gradients lie in another order than the weights",
            )
        )
        found.append(
            (
                cut(made(sums, old, one, two), two),
                "your gradients lie in another order than the weights",
            )
        )
        found.append(
            (
                cut(made(sums, old, one, one), two),
                "you cut the line up in another order than you laid it",
            )
        )
    turned = "W lies by rows and its gradient by columns, or the reverse"
    for W, dW in ((old[0][0].T, sums[0]), (old[0][0], sums[0].T)):
        state = [(W, *old[0][1:]), *old[1:]]
        found.append((cut(made([dW, *sums[1:]], state)), turned))
    part = -(-sum(sizes) // N)
    for way in (-part, part):
        padded = [
            np.roll(np.pad(lay(kind), (0, N * part - sum(sizes))), way)
            for kind in zip(*old, strict=True)
        ]
        padded[2] = np.maximum(padded[2], 0)
        new = _adam(np.pad(lay(sums), (0, N * part - sum(sizes))), *padded)[0]
        found.append(
            (
                cut(new),
                "a chip keeps weights whose gradients another one gets",
            )
        )
    return found


def _inspect_update(answer, asked, params, N):
    """What a program of question 3 moves, for so many parameters."""
    kinds, most = answer.kinds(), 4 * N * -(-params // N)
    sums = [c for c in answer.collectives() if c.kind == "all_reduce"]
    if count.volume(sums) > 2 * most:
        raise WrongAnswer(
            f"{asked}: you use AllReduces of more than the gradients. A state "
            "put together again on every chip is a replicated optimiser"
        )
    if "all_reduce" in kinds:
        raise WrongAnswer(
            f"{asked}: you use an AllReduce (psum) where a ReduceScatter and "
            "an AllGather with the update between them are asked for"
        )
    if not _summed(answer):
        raise WrongAnswer(
            f"{asked}: you never sum gradients: each chip has some of its own "
            "tokens"
        )
    answer.allow("psum_scatter", "all_gather")
    for kind, word in (
        ("reduce_scatter", "ReduceScatter"),
        ("all_gather", "AllGather"),
    ):
        moved = [c for c in answer.collectives() if c.kind == kind]
        if (often := sum(c.times for c in moved)) != 1:
            raise WrongAnswer(
                f"{asked}: you use the {word} {often} times; once is enough "
                "if all numbers go together"
            )
        if count.volume(moved) > most:
            raise WrongAnswer(
                f"{asked}: your {word} has {count.volume(moved) // 4:,} "
                f"numbers for {params:,} parameters; {most // 4:,} are enough"
            )


def _check_update(N, steps, state, arrays, run):
    """Question 3: as many updates as there are gradients, one by one.

    N       devices
    steps   for each update the gradients of all chips, those of W, b and g
    state   what `start` returned, with moments that are alike everywhere
    arrays  W, b and g
    run     whether to run the program, or only to look at what it moves
    """
    asked, params = f"update on {N} devices", sum(x.size for x in arrays)
    right = [
        (x.astype(np.float64), np.full(x.shape, 9.0), np.full(x.shape, 99.0))
        for x in arrays
    ]
    old = None
    for number, terms in enumerate(steps):
        request = program.request(
            *(x.reshape(-1, *x.shape[2:]) for x in terms),
            tuple(state),
            mesh={"X": N},
            in_specs=(P("X"),) * 3 + ((P("X"),) * 3,),
            out_specs=(P(),) * 3 + ((P("X"),) * 3,),
        )
        if not number:
            answer = student.program("update", request)
            _inspect_update(answer, asked, params, N)
        if not run:
            return
        *found, state = answer.run(
            *(x.reshape(-1, *x.shape[2:]) for x in terms), tuple(state)
        )
        sums = [x.sum(0, dtype=np.float64) for x in terms]
        oldest, old = (old if number else None), right
        right = [_adam(g, *s) for g, s in zip(sums, old, strict=True)]
        word = "" if not number else ", in the next step with your new state"
        others = _mistaken_lines(N, sums, old)
        for name, i, got, new, before, each in zip(
            "Wbg", range(3), found, right, old, terms, strict=True
        ):
            total = each.sum(0, dtype=np.float64)
            likely = [
                (
                    _adam(total / N, *before)[0],
                    "you took the mean over chips, not the sum",
                ),
                (_adam(each[0], *before)[0], "you have the first chip's term"),
                (before[0], "nothing has changed: it is the old one"),
                (_adam(N * total, *before)[0], "you count the sum N times"),
                (
                    _adam(total, before[0], before[2], abs(before[1]))[0],
                    "you exchange m and v",
                ),
                *((arrays[i], reason) for arrays, reason in others),
            ]
            if oldest:
                likely.append(
                    (_adam(total, *oldest[i])[0], "you return the old state")
                )
            compare.close(
                f"{asked}, {name}{word}",
                got,
                new[0],
                terms=N,
                likely=likely,
                show=True,
            )


@question.visible("start and update", (4, 3, 5), (3, 1, 4, 0, False))
def check_zero1(N, D, F, seed=0, run=True):
    """Question 3: ZeRO-1 on N devices with W[D, F], b[F] and g[D].

    N, D, F  sizes
    seed     of the arrays
    run      whether to run the programs, or only to look at them
    """
    draw = np.random.default_rng(seed)
    shapes = [(D, F), (F,), (D,)]
    arrays = [draw.uniform(1, 2, s).astype(np.float32) for s in shapes]
    master, *_ = _check_start(N, arrays, run)
    state = master, 0 * master + 9, 0 * master + 99
    steps = [
        [draw.integers(-9, 10, (N, *s)).astype(np.float32) for s in shapes]
        for _ in range(2)
    ]
    _check_update(N, steps, state, arrays, run)


def grade_zero1():
    """Question 3 on other devices."""
    for devices in (2, 7):
        draw = question.draw(f"zero1 on {devices}")
        D, F, seed = draw.integers(2, 6, 2).tolist() + [_seed(draw)]
        check_zero1(devices, D, F, seed)


def _seed(draw):
    """A seed for the arrays of one case."""
    return int(draw.integers(2**31))


def _backward(dOut, Ins, Tmps, W_in, W_out):
    """Question 4 on one device, block by block, in NumPy."""
    grads = []
    for In, Tmp, A, B in reversed(
        list(zip(Ins, Tmps, W_in, W_out, strict=True))
    ):
        dTmp = dOut @ B.T
        grads.insert(0, (In.T @ dTmp, Tmp.T @ dOut))
        dOut = dTmp @ A.T
    return dOut, *map(np.stack, zip(*grads, strict=True))


def _inspect_zero2(answer, asked):
    """Which collectives a program of question 4 uses."""
    sums = [c for c in answer.collectives() if c.kind == "all_reduce"]
    if sums and count.volume(sums) <= 8:
        raise WrongAnswer(
            f"{asked}: you add up the square over all chips; this chip's part "
            "of it is asked for, and moves nothing"
        )
    if sums:
        raise WrongAnswer(
            f"{asked}: you use an AllReduce (psum): that is data parallelism "
            "with twice the bytes"
        )
    if "all_gather" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you gather. Weights are whole, and of the gradients "
            "each chip wants its part of the sum only"
        )
    if not _summed(answer):
        raise WrongAnswer(
            f"{asked}: you never sum gradients: each chip has those of its own "
            "tokens"
        )


@question.visible("backward", (8, 4, 3, 5, 4))
def check_zero2(N, L, D, F, seed=0):
    """Question 4: gradients of L blocks, scattered on N devices in time.

    N, L  devices and blocks
    D, F  rows of each matrix on one device
    seed  of the arrays
    """
    draw, (D, F) = np.random.default_rng(seed), (N * D, N * F)
    acts = [(2 * N, D), (L, 2 * N, D), (L, 2 * N, F)]
    weights = [(L, D, F), (L, F, D)]
    arrays = [_signs(draw, 3, *size) for size in acts]
    arrays += [_signs(draw, 11, *size) for size in weights]
    dOut, Ins, Tmps, W_in, W_out = arrays
    cut, whole = P(None, "X", None), P()
    request = program.request(
        *arrays,
        mesh={"X": N},
        in_specs=(ROWS, cut, cut, whole, whole),
        out_specs=(ROWS, P(None, None, "X"), cut, P("X")),
    )
    answer = student.program("backward", request)
    asked = f"backward on {N} devices"
    _inspect_zero2(answer, asked)
    *found, square = answer.run(*arrays)
    onward = _backward(dOut, *(array[::-1] for array in arrays[1:]))
    for name, got, right, other in zip(
        ("dIn", "dW_in", "dW_out"),
        found,
        _backward(*arrays),
        (onward[0], *(grads[::-1] for grads in onward[1:])),
        strict=True,
    ):
        if got.ndim == right.ndim and got.shape != right.shape:
            raise WrongAnswer(
                f"{asked}: your {name} is cut along another dimension; of each "
                "gradient a chip wants its part of F"
            )
        compare.close(
            f"{asked}, {name}",
            got,
            right,
            likely=[
                (right / N, "you took the mean over chips, not the sum"),
                (right[::-1], "your blocks come in the wrong order"),
                (other, "you begin with the first block; start with the last"),
            ],
            show=True,
        )
    _compare_squares(asked, square, N, *arrays)
    answer.allow("psum_scatter")
    answer.exactly(volume=W_in.nbytes + W_out.nbytes)
    weights = W_in.nbytes + W_out.nbytes
    acts = dOut.nbytes + Ins.nbytes + Tmps.nbytes
    acts += 3 * (dOut.nbytes + Tmps.nbytes // L)  # of the block at work
    most = weights + acts // N + weights // N + 2 * weights // L
    if answer.live() > most:
        raise WrongAnswer(
            f"{asked}: your program has {answer.live():,} bytes alive at a "
            f"time, and {most:,} are enough: gradients of too many blocks are "
            "whole. Scattered at the end, it is a ZeRO-2 in name only"
        )


def _compare_squares(asked, got, N, *arrays):
    """Each chip's part of the squared length; arrays as `backward` has them."""
    _, dW_in, dW_out = _backward(*arrays)

    def by_chip(dW, dim, reduce):
        pieces = np.split(dW.astype(np.float64), N, dim)
        return np.array([reduce(piece) for piece in pieces])

    def both(reduce):
        return by_chip(dW_in, 2, reduce) + by_chip(dW_out, 1, reduce)

    right = both(lambda piece: (piece**2).sum())
    own = []
    for chip in range(N):
        dOut, Ins, Tmps = (
            np.split(array, N, array.ndim - 2)[chip] for array in arrays[:3]
        )
        _, *terms = _backward(dOut, Ins, Tmps, *arrays[3:])
        own.append(sum((term.astype(np.float64) ** 2).sum() for term in terms))
    compare.close(
        f"{asked}, square",
        got,
        right,
        terms=dW_in.size + dW_out.size,
        likely=[
            (
                np.full(N, right.sum()),
                "you give the whole square on every chip; a chip's part is "
                "asked for",
            ),
            (
                np.array(own),
                "you square a chip's own terms; gradients are summed first",
            ),
            (right**0.5, "you took a root; lengths do not add up"),
            (
                both(lambda piece: piece.sum() ** 2),
                "you square a sum of numbers; each is squared first",
            ),
            (
                both(lambda piece: (piece**2).mean()),
                "you took a mean of squares; they are added up",
            ),
            (right / N**2, "you took the mean over chips, not the sum"),
            *(
                (
                    by_chip(dW, dim, lambda piece: (piece**2).sum()),
                    f"you square {name} alone; both are gradients",
                )
                for name, dW, dim in (
                    ("dW_in", dW_in, 2),
                    ("dW_out", dW_out, 1),
                )
            ),
        ],
        show=True,
        place=compare.on_devices(1),
    )


def _signs(draw, n, *shape):
    """One number of n is 1 and one is -1: products stay exact in float32."""
    drawn = draw.integers(0, n, shape)
    return (drawn == 0).astype(np.float32) - (drawn == 1)


def grade_zero2():
    """Question 4 on other devices, with other blocks."""
    for devices, blocks in ((8, 5), (4, 8)):
        draw = question.draw(f"zero2 on {devices}")
        D, F = draw.integers(1, 3, 2).tolist()
        check_zero2(devices, blocks, D, F, _seed(draw))


@question.visible("forward", (4, 2, 5, 3), (6, 2, 5, 1, 0, False))
def check_forward(N, D, F, b, seed=0, run=True):
    """Question 5: FSDP's forward pass, and no matrix whole.

    N     devices
    D, F  rows of a piece of W_in, and hidden columns of an N-th
    b     tokens of a device
    seed  of the arrays
    run   whether to run the program, or only to look at it
    """
    draw = np.random.default_rng(seed)
    sizes = [(b * N, N * D), (N * D, N * F), (N * F, N * D)]
    In, W_in, W_out = (draw.integers(-3, 4, s).astype("float32") for s in sizes)
    request = program.request(
        In,
        W_in,
        W_out,
        mesh={"X": N},
        in_specs=(ROWS, ROWS, COLUMNS),
        out_specs=ROWS,
    )
    asked, piece = f"forward on {N} devices", W_in.nbytes // N
    answer = student.program("forward", request)
    if {"all_reduce", "reduce_scatter"} & set(answer.kinds()):
        raise WrongAnswer(
            f"{asked}: you add up products of different chips. That moves "
            "activations: it is tensor parallelism, and FSDP moves weights"
        )
    if "all_gather" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you gather, and a matrix is whole; send its pieces by "
            "ppermute"
        )
    answer.allow("ppermute")
    _refuse_other_pieces(asked, answer, N, piece)
    # Both own pieces and two more, tokens twice, and four hidden arrays.
    rows = 2 * 4 * b * N * D + 4 * 4 * b * N * F
    most = 4 * piece + rows + 4 * b * N * D
    if answer.live() > most:
        raise WrongAnswer(
            f"{asked}: a device holds {answer.live():,} bytes at a time, and "
            f"{most:,} are enough for four pieces of {piece:,} and its "
            "activations; let go of each piece after its product"
        )
    if not run:
        return
    compare.close(
        f"{asked}, Out",
        answer.run(In, W_in, W_out),
        np.maximum(In @ W_in, 0) @ W_out,
        terms=N * N * D * F,
        likely=_mistaken_rounds(In, W_in, W_out, N),
        show=True,
        place=compare.on_devices(b),
    )


def _refuse_other_pieces(asked, answer, N, piece):
    """Insist on pieces of matrices, to the next chip, and on few of them."""
    sent = 0
    for hop in answer.collectives():
        if hop.volume != piece:
            raise WrongAnswer(
                f"{asked}: your message has {hop.volume} bytes, and a piece of "
                f"a matrix has {piece}: one piece at a time, and nothing else"
            )
        pairs = program.pairs(asked, hop)
        ways = {(there - here) % N for here, there in pairs}
        if ways == {1} and len(pairs) < N:
            raise WrongAnswer(
                f"{asked}: only {len(pairs)} of {N} chips send; the last one "
                "sends to chip 0"
            )
        if ways != {1}:
            raise WrongAnswer(
                f"{asked}: your messages go {sorted(ways)} places on; each "
                "chip sends to the next one only"
            )
        sent += hop.times
    if sent > 2 * (N - 1):
        raise WrongAnswer(
            f"{asked}: over each wire go {sent} pieces, and {2 * (N - 1)} are "
            "enough: after the last product nobody needs another"
        )


def _mistaken_rounds(In, W_in, W_out, N):
    """What mistakes of question 5 give, with the mistakes."""
    b, D = len(In) // N, len(W_in) // N
    Out = np.maximum(In @ W_in, 0) @ W_out
    tokens, columns = np.split(In, N), np.split(In, N, axis=1)
    pairs = list(zip(columns, np.split(W_in, N), strict=True))
    terms = [np.maximum(part @ rows, 0) for part, rows in pairs]
    ways = {
        "back": lambda chip, hop: (chip - hop) % N,
        "ahead": lambda chip, hop: (chip + hop) % N,
        "hops": lambda chip, hop: hop,
        "late": lambda chip, hop: (chip - hop - 1) % N,
        "early": lambda chip, hop: (chip - hop + 1) % N,
    }

    def played(first="back", second="back", ins=0, outs=0, soon=False):
        """Out, if after a hop each chip takes these columns of In and Out.

        ins, outs  which hops of each round are left out: 1 the last, -1 the
                   first
        soon       whether products with W_out do not wait for the whole sum
        """
        result = np.zeros_like(Out)
        for chip, own in enumerate(tokens):
            of_In, Tmp = np.split(own, N, axis=1), [0]
            for hop in range(max(0, -ins), N - max(0, ins)):
                rows = np.split(W_in, N)[(chip - hop) % N]
                Tmp.append(Tmp[-1] + of_In[ways[first](chip, hop)] @ rows)
            for hop in range(max(0, -outs), N - max(0, outs)):
                made = np.split(W_out, N, axis=1)[(chip - hop) % N]
                n = ways[second](chip, hop)
                place = slice(b * chip, b * chip + b), slice(D * n, D * n + D)
                there = Tmp[hop + 1] if soon else Tmp[-1]
                result[place] = np.maximum(there, 0) @ made
        return result

    own = np.zeros_like(Out)
    for n in range(N):
        place = slice(b * n, b * n + b), slice(D * n, D * n + D)
        own[place] = Out[place]
    pieces = zip(terms, np.split(W_out, N, axis=1), strict=True)
    at_once = np.concatenate([term @ part for term, part in pieces], axis=1)
    back = "after k hops the piece of the chip k places back is here, and you "
    return [
        (
            sum(terms) @ W_out,
            "you take max(0, .) of each term, before the sum is complete",
        ),
        (
            at_once,
            "you finish each piece as it comes; every column of Out needs the "
            "sum over all pieces of W_in",
        ),
        (In @ W_in @ W_out, "you left out the ReLU"),
        (
            np.tile(sum(np.split(Out, N, axis=1)), N),
            "you add up columns that stand side by side",
        ),
        (np.maximum(Out, 0), "there is one ReLU, and none of the output"),
        (
            np.maximum(In @ W_in @ W_out, 0),
            "your ReLU comes last; it stands between the two products",
        ),
        (
            np.maximum(In, 0) @ W_in @ W_out,
            "your ReLU is of the tokens; it stands between the two products",
        ),
        (
            played(soon=True),
            "you multiply by W_out before the sum over all W_in is complete",
        ),
        *(
            (played(ins=left, outs=out), f"you leave out the {which} piece")
            for left, out in ((1, 0), (0, 1), (1, 1), (-1, 0), (-1, -1))
            for which in ("last" if left + out > 0 else "own",)
        ),
        (played("back", "hops"), f"{back}put the columns of Out as they come"),
        (played("hops", "back"), f"{back}take the columns of In in order"),
        (played("hops", "hops"), f"{back}take all columns in order"),
        (played("ahead", "ahead"), f"{back}take it for that of a chip ahead"),
        (played("ahead", "back"), f"{back}take other columns of In"),
        (played("back", "ahead"), f"{back}take other columns of Out"),
        *(
            (played(first, second), f"{back}are one chip off")
            for off in ("late", "early")
            for first, second in ((off, off), (off, "back"), ("back", off))
        ),
        (own, "you have the columns of the own piece only"),
        (Out - own, "you leave out the columns of the own piece"),
    ]


def grade_forward():
    """Question 5 on other devices."""
    for devices in (3, 7):
        draw = question.draw(f"forward on {devices}")
        D, F = draw.integers(1, 4, 2).tolist()
        check_forward(devices, D, F, int(draw.integers(1, 4)), _seed(draw))


def _gradients_of_tied(dOut, In, Tmp, W, first=1, second=1, mask=None):
    """dIn and dW on one device, in NumPy; or a use of W left out."""
    stands = Tmp > 0 if mask is None else mask
    dTmp = np.where(stands, dOut @ W, 0)
    return dTmp @ W.T, first * In.T @ dTmp + second * dOut.T @ Tmp


def _inspect_back(answer, asked, W):
    """What a program of question 6 moves."""
    if "all_reduce" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you use an AllReduce (psum) of gradients: that is the "
            "backward pass of data parallelism. In FSDP each chip wants its "
            "part of the sum only"
        )
    if (gathered := _gathered_volume(answer)) > W.nbytes:
        raise WrongAnswer(
            f"{asked}: you gather {gathered:,} bytes, and W has {W.nbytes:,}: "
            "one gather of W serves both products, and tokens stay where they "
            "are"
        )
    if not _summed(answer):
        raise WrongAnswer(
            f"{asked}: you sum nothing over chips: each has a gradient of its "
            "own tokens"
        )
    answer.allow("all_gather", "psum_scatter")
    kind = "reduce_scatter"
    moved = [c for c in answer.collectives() if c.kind == kind]
    if (scattered := count.volume(moved)) > W.nbytes:
        raise WrongAnswer(
            f"{asked}: you scatter {scattered:,} bytes, and W has "
            f"{W.nbytes:,}: one matrix has one gradient"
        )


@question.visible("back", (4, 2, 5), (2, 3, 7))
def check_back(N, D, F, seed=0):
    """Question 6: the way back of a block that uses one matrix twice.

    N     devices
    D, F  rows of W on one device, and its columns
    seed  of the arrays
    """
    draw = np.random.default_rng(seed)
    sizes = [(3 * N, N * D), (N * D, F)]
    In, W = (draw.integers(-3, 4, s) for s in sizes)
    Tmp, dOut = np.maximum(In @ W, 0), draw.integers(-3, 4, In.shape)
    arrays = [x.astype(np.float32) for x in (dOut, In, Tmp, W)]
    request = program.request(
        *arrays, mesh={"X": N}, in_specs=(ROWS,) * 4, out_specs=(ROWS,) * 2
    )
    asked = f"back on {N} devices"
    answer = student.program("back", request)
    _inspect_back(answer, asked, arrays[3])
    found, right = answer.run(*arrays), _gradients_of_tied(*arrays)
    plain = _gradients_of_tied(*arrays, mask=True)
    dTmp = (arrays[0] @ arrays[3]) * (arrays[2] > 0)
    bent = _gradients_of_tied(*arrays, mask=arrays[0] @ arrays[3] > 0)
    scaled = arrays[2] * (arrays[0] @ arrays[3])
    (_, first), (_, second) = (
        _gradients_of_tied(*arrays, **uses)
        for uses in ({"second": 0}, {"first": 0})
    )
    for name, got, expected, unmasked, positive, others in zip(
        ("dIn", "dW"),
        found,
        right,
        plain,
        bent,
        (
            [
                (right[0] + arrays[0], "dOut itself is no part of it"),
                (
                    np.where(arrays[1] > 0, plain[0], 0),
                    "you stop gradients where In is not positive; the ReLU "
                    "stands at Tmp",
                ),
                (
                    scaled @ arrays[3].T,
                    "you multiply by Tmp; where Tmp > 0 a gradient passes as "
                    "it is",
                ),
            ],
            [
                (
                    first + (arrays[2].T @ arrays[0]).reshape(first.shape),
                    "you give the second gradient the shape of W; it is its "
                    "transpose that is added",
                ),
                (
                    arrays[1].T @ scaled + second,
                    "you multiply by Tmp; where Tmp > 0 a gradient passes as "
                    "it is",
                ),
                (first, "you leave out what comes back from the second use"),
                (second, "you leave out what comes back from the first use"),
                (first - second, "you subtract one use from the other"),
                (2 * first, "you count the first use twice"),
                (2 * second, "you count the second use twice"),
                (
                    first + arrays[0].T @ dTmp,
                    "you take dTmp for Tmp in the second use",
                ),
                (
                    first + arrays[0].T @ (arrays[2] > 0),
                    "you take where Tmp is positive for Tmp itself",
                ),
            ],
        ),
        strict=True,
    ):
        compare.close(
            f"{asked}, {name}",
            got,
            expected,
            likely=[
                (expected / N, "you took the mean over chips, not the sum"),
                (unmasked, "you let all gradients pass; the ReLU stops some"),
                (
                    positive,
                    "you ask for the sign of the gradient; it passes where "
                    "Tmp > 0",
                ),
                *others,
            ],
            show=True,
        )
    answer.exactly(volume=2 * arrays[3].nbytes)


def grade_back():
    """Question 6 on other devices."""
    for devices in (3, 7):
        draw = question.draw(f"back on {devices}")
        D, F = draw.integers(2, 5, 2).tolist()
        check_back(devices, D, F, _seed(draw))


def _gradients_of_stack(In, Target, W, at_zero=0, below=0, last="both"):
    """Question 7 on one device, in NumPy.

    at_zero, below  slopes of the ReLU at and below 0
    last            passes in which the last layer has a ReLU: "both",
                    "forward" or "none"
    """
    x, kept = In, []
    for W_l in W:
        made = x @ W_l
        slope = np.where(made > 0, 1, np.where(made < 0, below, at_zero))
        kept.append((x, slope.astype(np.float32), W_l))
        x = np.maximum(made, 0)
    if last != "both":
        kept[-1] = (kept[-1][0], np.ones_like(made), W[-1])
    dOut, grads = (made if last == "none" else x) - Target, []
    for x, slope, W_l in reversed(kept):
        dOut = dOut * slope
        grads.insert(0, x.T @ dOut)
        dOut = dOut @ W_l.T
    return np.stack(grads)


def _inspect_stack(answer, asked, W):
    """What a program of question 7 moves and holds."""
    if "all_reduce" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you use an AllReduce (psum) of gradients: that is a "
            "data-parallel step"
        )
    if not _summed(answer):
        raise WrongAnswer(
            f"{asked}: you sum nothing over chips: each has gradients of its "
            "own tokens"
        )
    gathered, matrix = answer.gathered(of=(2,)), W[0].nbytes
    if gathered > matrix:
        raise WrongAnswer(
            f"{asked}: you hold {gathered // matrix} gathered matrices at a "
            "time. Let each go after its product, and gather it again on the "
            "way back"
        )
    if _gathered_volume(answer) > 2 * W.nbytes:
        raise WrongAnswer(
            f"{asked}: you gather more than each matrix twice. Are these "
            "gradients? A scatter and a gather are an AllReduce: that is a "
            "data-parallel step"
        )


@question.visible("step", (8, 5, 8, 7))
def check_stack(N, L, D, seed=0):
    """Question 7: FSDP's step through L layers on N devices.

    N, L, D  devices, layers, and rows of a matrix on one device
    seed     of the arrays
    """
    draw = np.random.default_rng(seed)
    # Identity and a few signs: products stay exact in float32.
    In, Target = draw.integers(-2, 3, (2, 2 * N, N * D)).astype(np.float32)
    drawn = draw.integers(0, 2 * N * D, (L, N * D, N * D))
    W = np.eye(N * D, dtype=np.float32) + (drawn == 0) - (drawn == 1)
    W, pieces = W.astype(np.float32), P(None, "X", None)
    request = program.request(
        In,
        Target,
        W,
        mesh={"X": N},
        in_specs=(ROWS, ROWS, pieces),
        out_specs=pieces,
    )
    answer, asked = student.program("step", request), f"step on {N} devices"
    _inspect_stack(answer, asked, W)
    right = _gradients_of_stack(In, Target, W)
    bent = _gradients_of_stack(In, Target, W, 0.5)
    open_ = _gradients_of_stack(In, Target, W, 1, 1)
    compare.close(
        f"{asked}, dW",
        answer.run(In, Target, W),
        right,
        likely=[
            (right / N, "you took the mean over chips, not the sum"),
            (right[::-1], "your layers come in the wrong order"),
            (right / len(In), "you took the mean over tokens, not the sum"),
            (right * N / len(In), "you took the mean over tokens, not the sum"),
            (
                right * N / In.size,
                "you took the mean of the squares, not half their sum",
            ),
            (
                right / In.size,
                "you took the mean of the squares, not half their sum",
            ),
            (2 * right, "your gradient has a 2; half the square has none"),
            (
                _gradients_of_stack(In, 0 * Target, W),
                "you go back from Out; the loss's gradient is Out - Target",
            ),
            (
                _gradients_of_stack(In, Target, W, last="forward"),
                "no ReLU stops the gradient at the last layer's output: you "
                "leave it out, or look at a layer's input",
            ),
            (
                _gradients_of_stack(In, Target, W, last="none"),
                "your last layer has no ReLU",
            ),
            (open_, "you let all gradients pass; the ReLU stops some"),
            (-right, "your difference is the other way round"),
            (
                bent,
                "at 0 your ReLU passes half of a gradient on, as jnp.maximum "
                "does; the ReLU of this question passes none",
            ),
        ],
        show=True,
    )
    answer.allow("all_gather", "psum_scatter")
    answer.at_most(volume=3 * W.nbytes)
    acts = 2 * (L + 2) * In.nbytes // N
    most = 2 * W.nbytes // N + 3 * W[0].nbytes + acts
    if answer.live() > most:
        raise WrongAnswer(
            f"{asked}: your program has {answer.live():,} bytes alive at a "
            f"time, and {most:,} are enough. Are more than two gradients whole "
            "at once?"
        )


def grade_stack():
    """Question 7 on other devices, with other layers."""
    for devices, layers in ((8, 4), (4, 6)):
        draw = question.draw(f"stack {devices}")
        check_stack(devices, layers, 64 // devices, _seed(draw))


# --- formulas ----------------------------------------------------------------


@functools.cache
def _parts(strategy, D, F, X, b=1, **how):
    """(FLOPs, collectives) of forward and of backward, and of the update."""
    mesh = AbstractMesh((X,), ("X",))
    In, Target, *weights = block.arguments(strategy, mesh, b * X, D, F)
    states = block.states(strategy, mesh, D, F)
    forward = block.forward(strategy, mesh)
    passes = block.gradients(strategy, mesh, **how)
    one = count.collectives(forward, In, *weights)
    both = count.collectives(passes, In, Target, *weights)
    every = count.collectives(
        block.train(strategy, mesh, **how), In, Target, *weights, *states
    )
    flops = count.flops(forward, In, *weights)
    rest = count.flops(passes, In, Target, *weights) - flops
    moved = one, both[len(one) :], every[len(both) :]
    return (flops, moved[0]), (rest, moved[1]), moved[2]


def _all_moved(strategy, D, F, X, **how):
    """The collectives of a whole training step."""
    (_, one), (_, two), three = _parts(strategy, D, F, X, **how)
    return one + two + three


def _seconds(strategy, b, C, W):
    """Seconds of both passes with perfect overlap, from counts."""
    first, second, _ = _parts(strategy, 4, 6, 2, b)
    return sum(
        max(Fraction(flops, C), Fraction(count.volume(moved)) / W)
        for flops, moved in (first, second)
    )


def _tokens_at_knee(C, W):
    """The b at which FLOPs and bytes of FSDP's forward take equally long."""
    (flops, moved), _, _ = _parts(fsdp, 4, 6, 2, 1)
    return Fraction(count.volume(moved)) / W / Fraction(flops, C)


VOLUMES = {
    "dp": lambda D, F, X: count.volume(_all_moved(dp, D, F, X)),
    "zero1_update": lambda D, F, X: count.volume(_parts(zero1, D, F, X)[2]),
    "fsdp": lambda D, F, X: count.volume(_all_moved(fsdp, D, F, X)),
    "kept": lambda D, F, X: count.volume(_all_moved(fsdp, D, F, X, kept=True)),
    "sent": lambda D, F, X: count.sent(_all_moved(fsdp, D, F, X)),
}
SLIPS = {
    "dp": [
        ("4*D*F", "your AllReduce moves the array once, and it does so twice"),
        ("16*D*F", "your elements have 4 bytes; bf16 has 2"),
    ],
    "zero1_update": [
        ("8*D*F", "half of yours is moved in the backward pass"),
        ("2*D*F", "you gather one matrix; there are two"),
    ],
    "fsdp": [
        ("8*D*F", "yours is data parallelism: FSDP gathers weights twice"),
        ("6*D*F", "you count elements; bf16 takes two bytes"),
    ],
    "kept": [
        ("12*D*F", "you gather again what is kept"),
        ("4*D*F", "you leave out the scatters of gradients"),
    ],
    "sent": [
        ("12*D*F", "your chip sends on what it receives last"),
        ("12*D*F/X", "you count one hop"),
        ("12*D*F*(X - 1)", "you send whole arrays; a message is a piece"),
        ("8*D*F*(X - 1)/X", "yours is data parallelism"),
    ],
}


def _exact(number):
    """A count as an int, or as a Fraction."""
    number = Fraction(number)
    return number.numerator if number.denominator == 1 else number


def _check_volumes(points):
    """Question 8: bytes at points (D, F, X)."""
    for name, counted in VOLUMES.items():
        compare.formula(
            name,
            student.expression(name),
            "D F X",
            lambda D, F, X, counted=counted: _exact(counted(D, F, X)),
            points,
            likely=SLIPS[name],
        )


def _check_times(points):
    """Question 8: the knee and the ratio at points (b, C, W)."""
    compare.formula(
        "knee",
        student.expression("knee"),
        "C W",
        _tokens_at_knee,
        [point[1:] for point in points],
        likely=[
            ("2*C/W", "you forget that an element takes 2 FLOPs and 2 bytes"),
            ("W/C", "yours is the other way round"),
            (
                "3*C/(2*W)",
                "you let twelve bytes wait for eight FLOPs; backward moves "
                "twice the bytes in twice the time",
            ),
        ],
    )
    compare.formula(
        "slower",
        student.expression("slower"),
        "b C W",
        lambda b, C, W: _seconds(fsdp, b, C, W) / _seconds(dp, b, C, W),
        points,
        likely=[
            ("3/2", "yours is the ratio of bytes; where is the arithmetic?"),
            ("(12 + 12*b*W/C)/(8 + 12*b*W/C)", "yours is without overlap"),
            ("(8 + 4*b*W/C)/12", "yours is the other way round"),
            (
                "C/(W*b)",
                "you hide the sums of data parallelism behind its forward "
                "pass, too; they begin after it",
            ),
            (
                "2*C/(C + b*W)",
                "your backward pass moves what the forward pass does; it has "
                "twice as much",
            ),
            (
                "12/(8 + 8*b*W/C)",
                "what data parallelism does not hide is its forward pass, "
                "4bDF FLOPs",
            ),
            (
                "12/(8 + 12*b*W/C)",
                "you add the backward arithmetic of data parallelism to its "
                "sums; they overlap",
            ),
        ],
    )


@question.visible(
    "the seven formulas",
    ([(4, 6, 2), (12, 8, 4), (9, 15, 3)], [(3, 500, 100), (100, 4590, 18)]),
)
def check_formulas(volumes, times):
    """Question 8: the formulas, at some points.

    volumes  list of (D, F, X), sizes that X divides
    times    list of (b, C, W), with b below the knee
    """
    _check_volumes([tuple(point) for point in volumes])
    _check_times([tuple(point) for point in times])


def grade_formulas():
    """Question 8 at other points."""
    draw = question.draw("formulas")
    volumes = [
        (*(X * draw.integers(1, 30, 2)).tolist(), X)
        for X in draw.integers(2, 30, 3).tolist()
    ]
    times = []
    for _ in range(4):
        W, b = draw.integers(2, 50, 2).tolist()
        times.append((b, W * b + int(draw.integers(1, 999)), W))
    check_formulas(volumes, times)


# --- schedules and a real model ----------------------------------------------


def _clocked(size, work, room):
    """The end of the last product, second by second: a queue that may, starts.

    Nothing is computed ahead: at every full second the network and the chip
    look whether they can begin with their next task.
    """
    fetched = done = now = 0
    network = chip = 0  # busy until then
    ready = []
    while done < len(work) or chip > now:
        if chip <= now and done < len(ready) and ready[done] <= now:
            chip, done = now + work[done], done + 1
        there = size[done - (chip > now) : fetched]
        if (
            network <= now
            and fetched < len(size)
            and sum(there) + size[fetched] <= room
        ):
            network = now + size[fetched]
            ready.append(network)
            fetched += 1
        now += 1
    return chip


@question.visible(
    "prefetch",
    ([1, 3, 2], [3] * 3, 4),
    ([1, 3, 2], [3] * 3, 5),
    ([4, 1, 5, 2, 1], [2, 6, 1, 4, 3], 7),
    ([1, 1, 1, 4, 2], [5, 2, 2, 1, 3], 5),
    ([1, 1, 5, 5], [12, 1, 1, 1], 12),  # room for three ahead
)
def check_prefetch(size, work, room):
    """Question 9: when gathers and products of unequal matrices start."""
    asked = f"prefetch({size}, {work}, {room})"
    n = len(size)
    got = compare.entries(asked, student.call("prefetch", size, work, room), 2)
    gathers = compare.numbers(f"{asked}, gathers", got[0], n)
    products = compare.numbers(f"{asked}, products", got[1], n)
    tasks = [Task(f"gather {i}", "network", size[i]) for i in range(n)]
    tasks += [
        Task(f"product {i}", "chip", work[i], (f"gather {i}",))
        for i in range(n)
    ]
    played = [
        Done(task.name, task.queue, start, start + task.seconds)
        for task, start in zip(tasks, gathers + products, strict=True)
    ]
    if faults := rooms.faults(played, tasks):
        compare.wrong(asked, got, f"with your starts {faults[0]}")
    stays = [
        rooms.Stay(f"W{i}", f"gather {i}", f"product {i}", size[i])
        for i in range(n)
    ]
    held = rooms.peak(played, stays)
    if held > room:
        compare.wrong(
            asked,
            got,
            f"you hold {held:g} GB at a time: a gather must wait until enough "
            "old matrices have gone",
        )
    if gathers != sorted(gathers) or products != sorted(products):
        compare.wrong(asked, got, "yours do not go in their order")
    took = max(done.end for done in played)
    target = _clocked(size, work, room)
    if took > sum(size) + sum(work) - 1 and took > target:
        compare.wrong(asked, got, f"yours takes {took} s: nothing overlaps")
    if took > target:
        reason = f"yours ends after {took} s; {target} are enough"
        compare.wrong(asked, got, reason)


def grade_prefetch():
    """Question 9 with other sizes and times."""
    draw = question.draw("prefetch")
    for spare in (0, 0, 1, 3, 5, 9, 40):
        n = int(draw.integers(4, 9))
        size, work = draw.integers(1, 9, (2, n)).tolist()
        check_prefetch(size, work, max(size) + spare)


LLAMA = 13_015_449_600


def _cut_row(elements, dtype, chips):
    """Numbers that do not exist, cut over all chips."""
    where = NamedSharding(AbstractMesh((chips,), ("X",)), P("X"))
    return jax.ShapeDtypeStruct((elements,), dtype, sharding=where)


def _verdict(tokens, chips):
    """Bytes on a chip by counting pieces, and what bounds the step."""
    state = [_cut_row(LLAMA, "bfloat16", chips)] * 2  # weights and gradients
    state += [_cut_row(LLAMA, "float32", chips)] * 3  # a copy, two moments
    for width in (13_824, 13_824, 5120):
        state.append(_cut_row(40 * tokens * width, "bfloat16", chips))
    each = count.held(state)
    needed = cost.data_tokens_per_chip("fsdp", hw.V5P, 3, grad_bytes=4)
    fed = cost.max_chips(tokens, needed)
    bound = "compute" if fed >= chips else "network"
    return each, "memory" if each > hw.V5P.hbm_bytes else bound


def _slips_of_memory(tokens, chips, each):
    """Bytes on a chip that a mistake gives, with the mistake."""
    states = 16 * LLAMA / chips
    kept = each - states
    return [
        (12 * LLAMA / chips + kept, "you count one moment; Adam has two"),
        (kept, "you count activations alone"),
        (states, "you count the state alone"),
        (
            10 * LLAMA / chips + kept,
            "you count weights and moments, ten bytes; a copy of the weights "
            "in float32 and the gradients make it sixteen",
        ),
        (
            each - 2 * 40 * tokens * 13_824 / chips,
            "you count one output of width F; two matmuls have one",
        ),
        (
            18 * LLAMA / chips + kept,
            "gradients are scattered in float32; of the sixteen bytes of "
            "state they have two",
        ),
        (states + kept / 2, "you count elements of outputs; bf16 has 2 bytes"),
        (states + kept / 40, "you keep the outputs of one layer; 40 have some"),
        (states + kept * chips, "you do not cut the activations"),
        (states * chips + kept, "you do not cut the states"),
    ]


# What a wrong verdict overlooks: {(said, counted): sentence}.
OVERLOOKED = {
    ("compute", "memory"): "you overlook that it does not fit",
    ("network", "memory"): "you name the network, but it does not even fit",
    ("compute", "network"): "you overlook that there are too few tokens",
    ("memory", "compute"): "you find no room; your own bytes fit",
    ("memory", "network"): "you find no room; your own bytes fit",
    ("network", "compute"): "you find too few tokens; there are enough",
}


@question.visible(
    "pure_fsdp",
    (3_000_000, 4096),
    (4_000_000, 4096),  # enough for the forward pass alone
    (6_000_000, 4096),
    (16_000_000, 64),
    (1_000_000, 16),
    (1000, 2),  # neither room nor tokens enough
    (81_600, 64),  # just enough tokens
    (2_264_310, 64),  # just enough memory
)
def check_llama(tokens, chips):
    """Question 10: whether LLaMA-2 13B can be trained with FSDP alone."""
    asked = f"pure_fsdp({tokens}, {chips})"
    names = ("bytes in all", "bytes on a chip", "HBM", "tokens needed")
    got = compare.entries(asked, student.call("pure_fsdp", tokens, chips), 5)
    each, verdict = _verdict(tokens, chips)
    needed, slips = (
        cost.data_tokens_per_chip("fsdp", hw.V5P, 3, grad_bytes=4),
        _slips_of_memory(tokens, chips, each),
    )
    likely = (
        [(chips * value, words) for value, words in slips],
        slips,
        [
            (chips * 96 * 2**30, "your GB has 2**30 bytes; a GB is 1e9"),
            (96e9, "that is the HBM of one chip"),
        ],
        [
            (needed, "those are the tokens of one chip"),
            (3 * needed * chips, "you use one axis; three carry it at once"),
            (
                needed * chips / 1.5,
                "that is enough for the forward pass; backward, gradients "
                "travel in float32",
            ),
            (
                2 * needed * chips / 1.5,
                "you let the backward pass compute as little as the forward "
                "pass, or gather float32 weights",
            ),
            (
                needed * chips / 1.125,
                "you add both passes up; each has to be compute-bound",
            ),
        ],
    )
    counted = (chips * each, each, chips * hw.V5P.hbm_bytes, needed * chips)
    for name, value, right, mistakes in zip(
        names, got, counted, likely, strict=False
    ):
        # A few products and a sum of floats, of constants that are exact.
        compare.close(
            f"{asked}, {name}", value, right, rel=1e-12, likely=mistakes
        )
    said = [
        (given, words)
        for (given, right), words in OVERLOOKED.items()
        if right == verdict
    ]
    compare.equal(f"{asked}, verdict", got[4], verdict, likely=said)


def grade_llama():
    """Question 10 with other tokens and chips."""
    draw = question.draw("llama")
    for chips, per_chip in ((4096, 1300), (64, 1800), (1024, 900), (8, 40_000)):
        check_llama(chips * (per_chip + int(draw.integers(-40, 40))), chips)
    check_llama(16_000_000, int(draw.choice([16, 32])))
    k = int(draw.choice([32, 64, 128, 256]))
    check_llama(1275 * k, k)  # just enough tokens
    check_llama(1_171_875 * k // 32 - 79_440, k)  # just enough memory


def _window(params, kept, tokens, machine, *, states=16, share=True, needed=1):
    """Fewest and most chips of a machine, one number after the other.

    params, kept, tokens, machine  as `window` takes them
    states  bytes of a parameter's states
    share   whether all chips share the states
    needed  tokens that a chip needs, in those that it needs
    """
    unit, hbm, C, W = machine
    good = []
    for N in range(unit, tokens * W // C + unit, unit):
        state = Fraction(states * params, N if share else 1)
        fits = state + Fraction(kept * tokens, N) <= hbm
        if fits and Fraction(tokens, N) >= needed * Fraction(C, W):
            good.append(N)
    return [good[0], good[-1]] if good else [0, 0]


_V5P = (64, 96 * 10**9, 459 * 10**12, 540 * 10**9)
_H100 = (8, 80 * 10**9, 990 * 10**12, 400 * 10**9)
_LLAMA = (70_553_706_496, 2 * 80 * 8192, 4_000_000)


@question.visible(
    "window",
    (*_LLAMA, _V5P),
    (*_LLAMA, _H100),
    (*_LLAMA[:2], 30_000, _H100),  # too few tokens for what must be held
    (1500, 0, 240, (4, 1000, 10, 1)),  # just fits, and takes just as long
    (5_500, 0, 300, (8, 1000, 3, 1)),
)
def check_window(params, kept, tokens, machine):
    """Question 11: fewest and most chips under FSDP.

    params, kept, tokens  the model, bytes of activations a token, the batch
    machine               chips of a unit, bytes of one, FLOP/s, bytes/s
    """
    given = params, kept, tokens, machine
    asked = f"window({params}, {kept}, {tokens}, {machine})"
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest, most = _window(*given)
    single = _window(params, kept, tokens, (1, hbm, C, W))
    compare.equal(
        asked,
        compare.entries(asked, student.call("window", *given), 2),
        [fewest, most],
        likely=[
            *(
                [
                    (
                        [0, 0],
                        "one number of chips is enough, and what just fits or "
                        "takes just as long counts",
                    )
                ]
                if fewest == most > 0
                else []
            ),
            (single, "your chips do not come in whole units"),
            (
                [fewest // unit, most // unit],
                "yours are units; chips are asked for",
            ),
            (
                [fewest - unit, most],
                "with your fewest not everything fits: round up",
            ),
            (
                [fewest, most + unit],
                "with your most a chip has too few tokens: round down",
            ),
            ([most, fewest], "your fewest and your most change places"),
            (
                _window(*given, needed=Fraction(3, 2)),
                "you ask for half as many tokens again, as float32 gradients "
                "do; here they go in bf16",
            ),
            (
                [fewest, 3 * tokens * W // (C * unit) * unit],
                "W is that of all three axes already",
            ),
            (
                _window(0, *given[1:]),
                "you leave out the states of the parameters",
            ),
            (
                _window(params, 0, *given[2:]),
                "you leave out the activations",
            ),
            (
                _window(*given, states=10),
                "yours are ten bytes a parameter; here they are sixteen",
            ),
            (
                _window(*given, needed=2),
                "you ask for twice the tokens; backward moves twice the bytes "
                "in twice the time",
            ),
            (
                _window(*given, share=False),
                "on your chips every state is whole; all chips share them",
            ),
            (
                [
                    -(-total // (hbm * unit)) * unit,
                    tokens * W // (C * unit) * unit,
                ],
                "your bounds contradict each other: then there are none",
            ),
            ([0, 0], "you find none; some chips fit and have tokens enough"),
        ],
    )


def grade_window():
    """Question 11 with other models and machines."""
    draw = question.draw("window")
    for unit in (8, 16, 64):
        hbm, C = (10**9 * int(n) for n in draw.integers(40, 200, 2))
        W = C // int(draw.integers(300, 3000))
        tokens = int(draw.integers(2 * 10**5, 4 * 10**5))
        most = tokens * W // C
        for part in (0.1, 0.4, 0.8, 1.2):
            total = int(part * most * hbm)
            kept = total // tokens // int(draw.integers(2, 5))
            params = (total - kept * tokens) // 16
            check_window(params, kept, tokens, (unit, hbm, C, W))
    unit, chips = 8, 8 * int(draw.integers(2, 9))
    check_window(10 * chips, 0, 30 * chips, (unit, 160, 30, 1))  # just both
