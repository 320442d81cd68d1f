"""Set 17, failures: what a broken chip costs, and who notices it.

Intervals are tried one by one, runs are played event by event until nothing
is likely to have survived, and bandwidths are found by halving. Checkpoints
are read element by element, bits are flipped where sums would cancel, and
chips roll their dice in every way there is.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
from jax import P

from shardlab import hw, models
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer

__all__ = [
    "check_best_interval",
    "check_kept_share",
    "check_resume",
    "check_scaled",
    "check_slowest",
    "check_storage",
    "check_suspects",
    "grade_best_interval",
    "grade_kept_share",
    "grade_resume",
    "grade_scaled",
    "grade_slowest",
    "grade_storage",
    "grade_suspects",
]


def _seed(draw):
    """A seed that a generator draws."""
    return int(draw.integers(2**31))


# --- 1: more chips -----------------------------------------------------------

# A machine whose best interval is 3,600 s: 60 s of checkpoint, 30 h between
# failures. Divided by a square of r, it is still a whole number of seconds.
STOP, BETWEEN = 60, 108_000
ROOTS = [n for n in range(2, 61) if 60 % n == 0]


@cache
def _tried(stop, between):
    """The best of all whole intervals, and the share that it loses.

    stop, between  seconds of a checkpoint, and between failures; Fractions
    """
    tau = np.arange(1, 30_000)
    lost = float(stop) / tau + tau / (2 * float(between))
    best = int(tau[lost.argmin()])
    return best, Fraction(stop) / best + best / (2 * Fraction(between))


def _compared(stop, between):
    """How a machine compares with the first one: interval and loss."""
    best, lost = _tried(Fraction(stop), Fraction(between))
    first, before = _tried(Fraction(STOP), Fraction(BETWEEN))
    return Fraction(best, first), lost / before


FORMULAS = {
    "shared": (
        lambda r: _compared(STOP, Fraction(BETWEEN, r))[0],
        [
            ("1/r", "half the time between failures is not half the interval"),
            ("sqrt(r)", "yours grows, but failures come more often"),
            ("1", "failures come r times as often, so something changes"),
            ("r", "yours grows, but failures come more often"),
        ],
    ),
    "own": (
        lambda r: _compared(Fraction(STOP, r), Fraction(BETWEEN, r))[0],
        [
            ("1/sqrt(r)", "a checkpoint is r times as fast as well"),
            ("1", "both times under the root get shorter"),
            ("1/(r*sqrt(r))", "of a product of both times the root is taken"),
            ("1/r**2", "of a product of both times the root is taken"),
            ("sqrt(r)", "yours grows; both times get shorter"),
            ("r", "yours grows; both times get shorter"),
        ],
    ),
    "grown": (
        lambda r: _compared(STOP * r, Fraction(BETWEEN, r))[0],
        [
            ("1/sqrt(r)", "a checkpoint takes r times as long as well"),
            ("sqrt(r)", "failures come more often as well"),
            ("1/r", "a checkpoint takes longer, so it pays to make fewer"),
            ("r", "failures come r times as often"),
        ],
    ),
    "lost": (
        lambda r: _compared(STOP * r, Fraction(BETWEEN, r))[1],
        [
            ("sqrt(r)", "that is the first case; here a save takes longer too"),
            ("1/sqrt(r)", "a larger machine does not lose a smaller share"),
            ("1/r", "a larger machine does not lose a smaller share"),
            ("1", "the best interval stays, but not what it loses"),
            ("r**2", "stalls and repeated work grow r-fold, each"),
            ("2*r", "stalls and repeated work were there before as well"),
            ("(1 + r)/2", "stalls and repeated work grow, both of them"),
        ],
    ),
}


@question.visible("shared, own, grown, lost", ((4, 9, 16, 25),))
def check_scaled(factors):
    """Question 1: factors on the interval, at squares r."""
    for name, (count, likely) in FORMULAS.items():
        compare.formula(
            name,
            student.expression(name),
            "r",
            count,
            list(factors),
            closed=True,
            likely=likely,
        )


def grade_scaled():
    """Question 1 with other factors."""
    draw = question.draw("scaled")
    roots = draw.choice(ROOTS, 5, replace=False)
    check_scaled((1, *(roots**2).tolist()))


# --- 2: two kinds of copies --------------------------------------------------


def _share(interval, m, mtbf, copy, save, restart, hard, **other):
    """The share of time that counts: until the next save, how much longer?

    Unknown are the seconds that are left when so many copies have been made
    since the last save. other: "again" is whether a restart can fail, "fresh"
    whether a failure that leaves copies alone forgets how many there are

    interval, m, mtbf, copy, save, restart, hard  as the question has them
    """
    A, b = np.eye(m + 1), np.zeros(m + 1)
    if other.get("again"):
        restart = mtbf * math.expm1(restart / mtbf)
    for made in range(m):
        stop = copy + (save if made == m - 1 else 0)
        lives = math.exp(-(interval + stop) / mtbf)
        b[made] = (1 - lives) * (mtbf + restart)
        A[made, made + 1] -= lives
        A[made, made] -= (1 - lives) * (1 - hard)
        A[made, 0] -= (1 - lives) * hard
    return m * interval / np.linalg.solve(A, b)[0]


def _plain_lengths(interval, m, mtbf, copy, save, restart, hard):
    """A mistake: stretches that are done again cannot fail again."""
    spent = 0.0
    for made in range(m):
        stretch = interval + copy + (save if made == m - 1 else 0)
        again = hard * made * (interval + copy)
        spent += math.expm1(stretch / mtbf) * (mtbf + restart + again)
    return m * interval / spent


def _two_runs(interval, m, mtbf, copy, save, restart, hard):
    """A mistake: the mean of a run with copies and a run with saves."""
    soft = interval, 1, mtbf, copy + save / m, 0, restart, 0
    period = m * interval, 1, mtbf, m * copy, save, restart, 1
    return (1 - hard) * _share(*soft, again=True) + hard * _share(
        *period, again=True
    )


@question.visible(
    "kept_share",
    (500, 3, 3600, 20, 200, 300, 0.25),
    (120, 6, 900, 5, 60, 45, 0.1),
    (900, 1, 7200, 30, 90, 600, 0.5),
    (60, 4, 1500, 10, 500, 0, 0.05),
)
def check_kept_share(interval, m, mtbf, copy, save, restart, hard):
    """Question 2: the share of time that is work, and is not lost."""
    case = (interval, m, mtbf, copy, save, restart, hard)
    right = _share(*case)

    def other(**parts):
        names = ("interval", "m", "mtbf", "copy", "save", "restart", "hard")
        return _share(**dict(zip(names, case, strict=True)) | parts)

    period = m * (interval + copy) + save
    stops = m * interval / period
    again = (1 - hard) * (interval + copy) / 2 + hard * period / 2
    likely = [
        (other(hard=0.0), "some failures take the copies in memory along"),
        (other(hard=1.0), "most failures leave the copies in memory alone"),
        (other(hard=1 - hard), "`hard` is the chance that copies are lost"),
        (other(restart=0.0), "the time of restarts is missing"),
        (other(again=True), "nothing fails in a restart"),
        (other(copy=0.0), "the run stands still for each copy"),
        (
            _plain_lengths(*case),
            "stretches that are done again can fail again: they take their "
            "mean time, not their length",
        ),
        (
            other(m=1, copy=copy + save / m, save=0.0, again=True),
            "some failures go back to storage, some to the last copy; yours "
            "always goes back one interval",
        ),
        (
            other(copy=copy + save / m, save=0.0),
            "only each m-th stop is longer: a failure is likelier there, and "
            "more is lost by it",
        ),
        (
            _two_runs(*case),
            "yours is a mean of two runs; here both kinds of failures come in "
            "one, and a hard one undoes several copies",
        ),
        (other(save=0.0), "the run stands still for each save"),
        (other(copy=copy + save, save=0.0), "only each m-th stop is a save"),
        (other(copy=0.0, save=save), "a save comes after a copy"),
        (other(save=save - copy), "the m-th stop takes a copy and a save"),
        (right * (interval + copy) / interval, "a stop is no work"),
        (right * period / (m * interval), "a stop is no work"),
        (right / m, "m intervals of work lie between two saves"),
        (right * m, "you count the work of each interval m times"),
        (stops, "that is the share without failures"),
        (1 - right, "that is the share that is lost"),
        (
            _share(m * interval, 1, mtbf, m * copy, save, restart, hard),
            "copies keep what was done before them",
        ),
        *(
            (wrong, "of first order: several failures may come in a row")
            for wrong in (
                stops * (1 - (again + restart) / mtbf),
                stops - (again + restart) / mtbf,
                stops / (1 + (again + restart) / mtbf),
                1 - (1 - stops) - (again + restart) / mtbf,
                1 - (copy + save / m) / interval - (again + restart) / mtbf,
                1
                - (copy + save / m) / interval
                - (interval / 2 + restart) / mtbf,
            )
        ),
    ]
    compare.close(
        f"kept_share{case}",
        student.call("kept_share", *case),
        right,
        likely=[pair for pair in likely if abs(pair[0] - right) > 1e-5],
    )


def grade_kept_share():
    """Question 2 with other machines."""
    draw = question.draw("kept_share")
    for mtbf in (700, 4000, 30_000):
        interval = float(mtbf * draw.uniform(0.05, 0.4))
        copy, save, restart = (
            float(mtbf * draw.uniform(0.01, 0.2)) for _ in range(3)
        )
        m, hard = int(draw.integers(2, 7)), float(draw.uniform(0.05, 0.6))
        check_kept_share(interval, m, mtbf, copy, save, restart, hard)


# --- 3: a long write ---------------------------------------------------------


def _shortest(stop, write, lanes):
    """The shortest interval with which every stop finds a free lane."""
    low, high = 0.0, write
    while high - low > 1e-9 * (1 + high):
        interval = (low + high) / 2
        free = [0.0] * lanes
        for number in range(1, 3 * lanes + 2):
            begins = number * (interval + stop) - stop
            if begins < min(free) - 1e-9:
                low = interval
                break
            free[free.index(min(free))] = begins + stop + write
        else:
            high = interval
    return high


@cache
def _longest(mtbf, stop, least, write=0.0, restart=0.0):
    """The best interval from `least` on, found by narrowing down."""
    low = max(least, 1e-3 * mtbf)
    high = low + 5 * mtbf
    while high - low > 1e-4 * low:
        trials = np.linspace(low, high, 9).tolist()
        each = [_played(mtbf, tau, stop, write, restart) for tau in trials]
        top = int(np.argmax(each))
        low, high = trials[max(top - 1, 0)], trials[min(top + 1, 8)]
    return trials[top]


@question.visible(
    "best_interval",
    (3600, 60, 120, 1, 500),
    (3600, 60, 480, 1, 500),
    (3600, 60, 1500, 1, 500),
    (3600, 60, 2100, 3, 900),
    (3600, 60, 1500, 4, 0),
    (1200, 150, 20, 1, 300),
)
def check_best_interval(mtbf, stop, write, lanes, restart):
    """Question 3: the interval with which most counts, and the share."""
    case = (mtbf, stop, write, lanes, restart)
    asked = f"best_interval{case}"
    got = student.call("best_interval", *case)
    yours, share = compare.numbers(asked, got, 2)
    least = _shortest(stop, write, lanes)
    model = _longest(mtbf, stop, least)
    if yours < 1 and compare.near(share, model, 0.01 * model):
        compare.wrong(asked, got, "the interval comes first, then the share")
    if not compare.near(yours, model, 0.01 * model):
        _refuse_interval(asked, yours, model, least, case)
    right = _played(mtbf, model, stop, write, restart)
    theirs = _played(mtbf, yours, stop, write, restart)
    if compare.near(share, theirs, 1e-3 * theirs):
        return
    once, never = math.exp(-write / mtbf), math.exp(-restart / mtbf)
    compare.close(
        f"{asked}, share",
        share,
        right,
        rel=1e-3,
        likely=[
            (value, reason)
            for value, reason in [
                (right / once, "what is being written at a failure is lost"),
                (
                    right / once**0.5,
                    "all of the write must be over, not half of it",
                ),
                (
                    right * once ** (1 / lanes - 1),
                    "lanes write other checkpoints; yours takes as long",
                ),
                (right / never, "a life begins with a restart"),
                (
                    right / never * mtbf / (mtbf + restart),
                    "a restart can fail, too",
                ),
                (1 - right, "that is the share that is lost"),
                (
                    1 - stop / yours - (yours / 2 + write + restart) / mtbf,
                    "yours is of first order; take the sum over checkpoints",
                ),
            ]
            if abs(value - right) > 1e-3 * right
        ],
    )


def _refuse_interval(asked, yours, model, least, case):
    """Say what is wrong with an interval that is not the best one."""
    mtbf, stop, write, lanes, restart = case

    def least_with(*mistaken):
        return _longest(mtbf, stop, max(0.0, *mistaken))

    young = "yours is of first order, and stops are long here"
    likely = [
        (least_with(write), f"{lanes} checkpoints may be written at a time"),
        (
            least_with(write / lanes),
            "a lane is busy while the run stops, too; count its rounds from "
            "the end of one stop to the begin of another",
        ),
        (
            least_with(write / lanes - stop),
            "a lane must be free when a stop begins, not when it ends",
        ),
        (
            least_with(0.0),
            "no lane is free when your next stop begins",
        ),
        (
            _longest(mtbf, stop + write, least),
            "the run does not stand still while a checkpoint is written",
        ),
        (
            _longest(mtbf, stop + write / lanes, least),
            "writing does not lengthen a round; the run goes on",
        ),
        (model + stop, "the interval ends where the next stop begins"),
        (
            model + write,
            "the next round begins while a checkpoint is written",
        ),
        (max(least, math.sqrt(2 * stop * mtbf)), young),
        (max(least, math.sqrt(2 * (stop + write) * mtbf)), young),
        (
            max(least, math.sqrt(2 * stop * (mtbf + restart))),
            "a restart takes as long with any interval",
        ),
        (mtbf, "by then the run has failed once, on the average"),
    ]
    for value, reason in likely:
        off = abs(value - model) > 0.01 * model
        if off and compare.near(yours, value, 0.005 * value):
            compare.wrong(f"{asked}, interval", yours, reason)
    if yours < least:
        reason = "no lane is free when your next stop begins"
        compare.wrong(f"{asked}, interval", yours, reason)
    far = yours > 100 * mtbf
    share = 0.0 if far else _played(mtbf, yours, stop, write, restart)
    longer = "shorter" if yours > model else "longer"
    compare.wrong(
        f"{asked}, interval",
        yours,
        f"with it {share:.4g} of the time counts; more does with a {longer} "
        "one",
    )


def grade_best_interval():
    """Question 3 with other machines."""
    draw = question.draw("best_interval")
    for part in (0.01, 0.05, 0.2):
        mtbf = float(draw.uniform(500, 9000))
        stop = mtbf * part * float(draw.uniform(0.5, 1))
        best = _longest(mtbf, stop, 0.0)
        for lanes in (1, 2, 5):
            restart = float(draw.uniform(0.1, 1)) * mtbf
            for longer in (0.3, 2.5):  # the lanes are enough, and too few
                write = longer * (lanes * (best + stop) - stop)
                check_best_interval(mtbf, stop, write, lanes, restart)


# --- 4: another mesh ---------------------------------------------------------


def _cut(size, parts, draw):
    """Where a dimension is cut: ranges of unequal parts."""
    inner = np.sort(draw.integers(0, size + 1, parts - 1)).tolist()
    return list(pairwise([0, *inner, size]))


def _ranges(shape, mesh, spec, draw):
    """For each device of a mesh what it holds, a range for each dimension.

    mesh, spec  sizes by name, and for each dimension the names of its axes
    """
    sizes = [math.prod(mesh[name] for name in names) for names in spec]
    cuts = [_cut(n, k, draw) for n, k in zip(shape, sizes, strict=True)]
    held = []
    for place in np.ndindex(*mesh.values()):
        at = dict(zip(mesh, place, strict=True))
        mine = []
        for names, cut in zip(spec, cuts, strict=True):
            number = 0
            for name in names:
                number = number * mesh[name] + at[name]
            mine.append(list(cut[number]))
        held.append(mine)
    return held


def _inside(ranges):
    """All elements within ranges."""
    return set(product(*(range(a, b) for a, b in ranges)))


def _moved(ranges, first):
    """Ranges of an array whose first rows are not there."""
    (a, b), *rest = ranges
    return [[a + first, b + first], *rest]


@question.visible(
    "save, reads, restore",
    ((7, 5), {"X": 2, "Y": 3}, ("X", "Y"), {"X": 3, "Y": 2}, ("Y", "X")),
    ((9, 4), {"X": 2, "Y": 2}, ("Y", ""), {"X": 5}, ("X", ""), 1),
    (
        *((5, 6, 4), {"X": 2, "Y": 2, "Z": 2}, ("ZX", "", "Y")),
        *({"X": 3, "Y": 2}, ("", "XY", ""), 2),
    ),
    ((8, 3), {"X": 4}, ("X", ""), {"X": 2, "Y": 2}, ("X", "Y"), 3, 3 * 10**12),
    ((6, 5), {"X": 3, "Y": 2}, ("X", "Y"), {"X": 2}, ("", "X"), 29, 0, True),
)
def check_resume(
    shape, mesh, spec, other, asks, seed=0, first=0, constant=False
):
    """Question 4: blocks saved by one mesh, restored to another.

    shape        of the array, of which the rows before `first` are not there
    mesh, spec   that save: sizes by name, and the axes of each dimension
    other, asks  the same for those that restore
    seed         of cuts and numbers
    constant     whether all numbers are the same
    """
    draw = np.random.default_rng(seed)
    whole = draw.permutation(math.prod(shape)).reshape(shape) + 1 / 3
    if constant:
        whole = np.full(shape, 1 / 3)
    held = [_moved(r, first) for r in _ranges(shape, mesh, spec, draw)]
    wanted = [_moved(r, first) for r in _ranges(shape, other, asks, draw)]

    def block(ranges):
        return whole[tuple(slice(a, b) for a, b in _moved(ranges, -first))]

    shards = [[ranges, block(ranges)] for ranges in held]
    _saved(shards[::-1], block)  # devices come in any order
    pieces = _saved(shards, block)
    index = {name: ranges for name, (ranges, _) in pieces.items()}
    for ranges in wanted:
        names = _read(index, ranges)
        asked = f"restore of {ranges}"
        try:
            got = student.call("restore", {n: pieces[n] for n in names}, ranges)
        except WrongAnswer as error:
            if first and ("emory" in str(error) or "allocate" in str(error)):
                raise WrongAnswer(
                    f"{asked}: no chip can hold all {first + shape[0]:,} rows; "
                    "make room for the rows of the shard only"
                ) from None
            if not names:
                raise WrongAnswer(
                    f"{asked}, which is empty and gets no pieces: "
                    f"{str(error)[:200]}"
                ) from None
            raise
        right = block(ranges)
        compare.close(
            asked,
            got,
            right,
            rel=1e-9,
            likely=[
                (0 * right, "nothing was copied"),
                (
                    right.astype(np.float32),
                    "yours are nearly right, as float32 has them; float64 is "
                    "asked for",
                ),
                (_reversed(right), "yours is turned round"),
                (
                    _from_beginnings(pieces, names, ranges),
                    "you take each piece from its beginning; where a shard "
                    "begins within a piece, it takes later rows",
                ),
            ],
            show=True,
            place=_in_array(ranges),
        )


def _from_beginnings(pieces, names, ranges):
    """A shard that takes the first elements of each piece that it needs."""
    block = np.zeros([stop - start for start, stop in ranges])
    for name in names:
        held, piece = pieces[name]
        pairs = zip(held, ranges, strict=True)
        both = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
        there = [
            slice(a - c, b - c)
            for (a, b), (c, _) in zip(both, ranges, strict=True)
        ]
        block[tuple(there)] = piece[tuple(slice(0, b - a) for a, b in both)]
    return block


def _in_array(ranges):
    """What says which element of the array an entry of a shard is."""

    def place(*own):
        first = [start for start, _ in ranges]
        return (
            f"element {[a + int(i) for a, i in zip(first, own, strict=True)]}"
        )

    return place


def _reversed(block):
    """A block with its rows in the other order."""
    return block[::-1]


def _saved(shards, block):
    """The pieces that a student saves, each element once."""
    asked = f"save of {len(shards)} shards"
    try:
        got = student.call("save", shards)
    except ValueError:
        raise WrongAnswer(
            f"{asked}: names of pieces must be text or whole numbers"
        ) from None
    if not isinstance(got, dict):
        compare.wrong(asked, got, "expected a dict of pieces")
    pieces, seen = {}, set()
    allowed = [ranges for ranges, _ in shards]
    for name, piece in got.items():
        entries = compare.entries(f"piece {name!r}", _listed(piece), 2)
        ranges = compare.entries(f"ranges of {name!r}", entries[0], None)
        if ranges not in allowed:
            compare.wrong(
                asked, ranges, "these are no ranges of one of the shards"
            )
        right = block(ranges)
        compare.close(
            f"{asked}, piece {name!r}", np.array(piece[1]), right, rel=1e-9
        )
        inside = _inside(ranges)
        if seen & inside:
            raise WrongAnswer(
                f"{asked}: you save {len(seen & inside)} elements of piece "
                f"{name!r} a second time; devices that hold the same save it "
                "once"
            )
        seen |= inside
        pieces[name] = [ranges, right]
    missing = set().union(*map(_inside, allowed)) - seen
    if missing:
        raise WrongAnswer(
            f"{asked}: {len(missing)} elements are in no piece, such as "
            f"{list(min(missing))}; two shards may begin at the same row, or "
            "hold the same numbers in other places"
        )
    return pieces


def _listed(piece):
    """A piece whose block, an array of any shape, is not looked at."""
    if isinstance(piece, (list, tuple)) and len(piece) == 2:
        return [piece[0], 0]
    return piece


def _read(index, ranges):
    """The names that a student's `reads` gives, and no others."""
    asked = f"reads for {ranges}"
    got = compare.entries(asked, student.call("reads", index, ranges), None)
    inside = _inside(ranges)
    needed = {name for name, held in index.items() if _inside(held) & inside}
    for name in got:
        if isinstance(name, list) or name not in index:
            compare.wrong(asked, got, f"{name!r} is no name of a piece")
        if name not in needed:
            held = index[name]
            empty = not _inside(held) or not inside
            why = ": one of both is empty" if empty else ""
            reason = f"it needs nothing of piece {name!r}, {held}{why}"
            compare.wrong(asked, got, reason)
    if lacking := sorted(needed - set(got), key=str):
        held = index[lacking[0]]
        compare.wrong(
            asked, got, f"it needs a part of piece {lacking[0]!r}, {held}"
        )
    if len(set(got)) < len(got):
        compare.wrong(asked, got, "you read a piece twice")
    return got


def grade_resume():
    """Question 4 on other meshes."""
    draw = question.draw("resume")
    for spec, asks in (
        (("X", "Y"), ("XY", "")),
        (("YX", ""), ("", "X")),
        (("", "X"), ("Y", "X")),
    ):
        shape = draw.integers(5, 12, 2).tolist()
        mesh = {"X": int(draw.integers(2, 5)), "Y": 2, "Z": 2}
        other = {"X": int(draw.integers(2, 4)), "Y": int(draw.integers(1, 4))}
        first = int(draw.choice([0, 2 * 10**12]))
        check_resume(shape, mesh, spec, other, asks, _seed(draw), first)
    check_resume(
        *((12, 5), {"X": 2, "Y": 6}, ("Y", "X"), {"X": 2}, ("X", "")),
        *(_seed(draw), 0, True),
    )


# --- 5: one flipped bit ------------------------------------------------------


def _flipped(W, flips):
    """A copy of float32 numbers with bits flipped: (word, bit) pairs."""
    words = W.copy().view(np.uint32).reshape(-1)
    for word, bit in flips:
        words[word] ^= np.uint32(1 << bit)
    return words.view(np.float32).reshape(W.shape)


def _up_and_down(W, bit):
    """Two words that differ in a bit, for which a flip of both cancels."""
    words = W.view(np.uint32).reshape(-1) >> bit & 1
    ones, zeros = np.flatnonzero(words), np.flatnonzero(words == 0)
    if len(ones) and len(zeros):
        return int(ones[-1]), int(zeros[0])
    return None


def _patterns(W, columns, draw):
    """Lists of flips that one copy suffers, each with a name."""
    size, width = W.size, W.shape[1]
    yield from (("", [(0, bit)]) for bit in (0, 1, 7, 11, 22, 24, 30, 31))
    for word in (size - 1, *draw.permutation(size)[:3].tolist()):
        yield from (("", [(word, bit)]) for bit in (0, 7, 24, 31))
    yield "the sign of a zero", [(1, 31)]
    for bit in draw.permutation(32)[:6].tolist():
        if pair := _up_and_down(W, bit):
            yield "they cancel in a sum of words", [(w, bit) for w in pair]
    for _ in range(3):
        a, b = draw.permutation(size)[:2].tolist()
        bit = int(draw.integers(32))
        yield "two signs", [(a, 31), (b, 31)]
        yield "they cancel in an XOR of words", [(a, bit), (b, bit)]
        yield "two bits of one word", [(a, bit), (a, (bit + 7) % 32)]
    for bits in _apart(W, width // columns, draw) if columns > 1 else ():
        yield "two parts, near the same place", bits


def _apart(W, half, draw):
    """Flips at nearly the same place of two parts, one up and one down."""
    words = W.view(np.uint32)
    for row in range(3):
        for shift in (0, 1, -1):
            pairs = [
                (bit, bit + shift)
                for bit in range(1, 31)
                if (words[row, 0] >> bit ^ words[row, half] >> bit + shift) & 1
                and bit // 8 == (bit + shift) // 8
            ]
            left, right = pairs[int(draw.integers(len(pairs)))]
            first = row * W.shape[1]
            yield [(first, left), (first + half, right)]


@question.visible("suspects", (4, 2, 6, 10), (5, 1, 3, 6, 2))
def check_suspects(X, Y, D, F, seed=0):
    """Question 5: copies along X, each cut over Y, and bits that flip.

    X, Y  copies, and devices of each
    D, F  rows of a copy, and columns of one device
    seed  of numbers and flips
    """
    draw = np.random.default_rng(seed)
    W = draw.normal(size=(D, Y * F)).astype(np.float32)
    W[0, 1], W[1, 0], W[1, 1] = 0.0, np.nan, 3e-39
    W[2, 0] = 1e30
    request = program.request(
        np.tile(W, (X, 1)),
        mesh={"X": X, "Y": Y},
        in_specs=(P("X", "Y"),),
        out_specs=P(("X", "Y")),
        check_vma=False,
    )
    asked = f"suspects of {X} copies on {X} x {Y} devices"
    answer = _exported_flags(request)
    _judge_flags(asked, answer, X, Y, W, {})
    for said, flips in _patterns(W, Y, draw):
        _judge_flags(
            asked, answer, X, Y, W, {int(draw.integers(X)): flips}, said
        )
    if X > 4:
        two = {0: [(3, 9)], 3: [(4, 9)]}
        _judge_flags(asked, answer, X, Y, W, two, "two copies, other bits")
        two = {1: [(3, 9)], 2: [(3, 9)]}
        _judge_flags(asked, answer, X, Y, W, two, "two copies, the same bit")
    enough = 4 * (X - 1) + 4 * (Y - 1)
    if (sent := answer.sent()) > enough:
        raise WrongAnswer(
            f"{asked}: a device of yours sends {sent} bytes, and {enough} are "
            "enough: 4 to each of the others along X, and along Y"
        )


def _exported_flags(request):
    """The student's program; a single number is called by its name."""
    try:
        return student.program("suspects", request)
    except WrongAnswer as error:
        if "too few dimensions" not in str(error):
            raise
        raise WrongAnswer(
            "suspects returns a single number; an array with an entry for "
            "each copy is asked for"
        ) from None


def _judge_flags(asked, answer, X, Y, W, bad, said=""):
    """Insist that exactly these copies are found, on all devices."""
    copies = [_flipped(W, bad.get(x, [])) for x in range(X)]
    got = answer.run(np.concatenate(copies))
    flags = compare.real_array(asked, got, (X * Y * X,)).reshape(-1, X)
    right = np.isin(np.arange(X), list(bad)).astype(float)
    told = "; ".join(
        f"in copy {x} "
        + " and ".join(f"bit {b} of word {w}" for w, b in flips)
        + " flipped"
        for x, flips in bad.items()
    )
    told = f"{told or 'no bit flipped'}{f' ({said})' if said else ''}"
    for device, row in enumerate(flags):
        if not compare.near(row, right, 0):
            found = row.astype(int).tolist()
            model = right.astype(int).tolist()
            where = "" if (flags == row).all() else f" on device {device}"
            raise WrongAnswer(
                f"{asked}, {told}: yours is {found}{where}, expected {model}"
                f"{_hint(flags, row, right)}"
            )


def _hint(flags, row, right):
    """What may be wrong with the flags of a device."""
    if not right.any() and row.all():
        return "; 1 is for those that differ, and bits of a NaN can be equal"
    if compare.near(row, 1 - right, 0):
        first = "the first copy may be the wrong one, or "
        return f"; {first if right[0] else ''}these are those that agree"
    if (flags == right).all(axis=1).any():
        return "; other devices know it, and all should"
    if right.any() and not row.any():
        return "; what you compare is the same with and without these flips"
    return ""


def grade_suspects():
    """Question 5 with other copies."""
    draw = question.draw("suspects")
    for X, Y in ((4, 2), (3, 2), (7, 1)):
        D, F = (int(n) for n in draw.integers(16, 40, 2))
        check_suspects(X, Y, D, F, _seed(draw))


# --- 6: nobody waits for the last --------------------------------------------


def _rolled(times, chances, N, late):
    """The mean time of a step over all that N chips can do."""
    mean = 0.0
    for rolls in product(range(len(times)), repeat=N):
        chance = math.prod(chances[i] for i in rolls)
        mean += chance * sorted(times[i] for i in rolls)[N - 1 - late]
    return mean


def _counted(times, chances, N, late):
    """The same for many chips: one after the other, how many are late."""
    mean, before = 0.0, 0.0
    for time in sorted(set(times)):
        slow = sum(c for t, c in zip(times, chances, strict=True) if t > time)
        many = np.zeros(late + 1)  # the chance that so many are not done
        many[0] = 1.0
        for _ in range(N):
            many[1:] = many[1:] * (1 - slow) + many[:-1] * slow
            many[0] *= 1 - slow
        mean += time * (many.sum() - before)
        before = many.sum()
    return mean


def _mean_step(times, chances, N, late):
    """Seconds of a step, in whichever way is not too long."""
    few = len(times) ** N <= 5000
    return (_rolled if few else _counted)(times, chances, N, late)


@question.visible(
    "step_seconds",
    ([1.0, 1.5, 4.0], [0.6, 0.3, 0.1], 5, 1),
    ([2.0, 0.8, 3.5, 1.0], [0.2, 0.3, 0.1, 0.4], 4, 0),
    ([30.0, 1.0, 1.25], [0.001, 0.969, 0.03], 1024, 2),
    ([1.0, 2.0, 9.0], [0.5, 0.3, 0.2], 6, 4),
)
def check_slowest(times, chances, N, late):
    """Question 6: what a step takes that does not wait for everybody."""
    case = (times, chances, N, late)
    mean = sum(t * c for t, c in zip(times, chances, strict=True))
    fewer = max(1, N - late)
    order = sorted(range(len(times)), key=lambda i: times[i])
    unsorted = 0.0
    below = np.cumsum(chances)
    for i, time in enumerate(times):
        before = below[i - 1] if i else 0
        unsorted += time * (
            _at_most(1 - below[i], N, late) - _at_most(1 - before, N, late)
        )
    likely = [
        (
            _mean_step(times, chances, N, 0),
            "yours waits for all; the `late` slowest are not waited for",
        ),
        (
            _mean_step(times, chances, fewer, 0),
            "yours is a step of N - late chips; here the slowest of N are "
            "left behind, and these are not any chips",
        ),
        (mean, "that is what one chip takes, on the average"),
        (mean * N, "chips work at the same time"),
        (max(times), "not every step meets the slowest time"),
        (
            _mean_step(times, chances, N, N - 1),
            "that is the fastest chip",
        ),
        (unsorted, "times come in any order; sort them with their chances"),
        (
            _too_slow(*case),
            "after t seconds a chip that takes just t is done",
        ),
        (
            times[order[-1]] * (1 - (1 - chances[order[-1]]) ** N)
            + times[order[0]] * (1 - chances[order[-1]]) ** N,
            "there are more times than two",
        ),
    ]
    if late:
        likely.append(
            (_mean_step(times, chances, N, late - 1), "one more is left behind")
        )
        fewer = "fewer than `late` may be slow, too"
        likely += [(wrong, fewer) for wrong in _exactly(*case)]
    if late < N - 1:
        likely.append(
            (_mean_step(times, chances, N, late + 1), "you leave one too many")
        )
    likely += [
        (time, "this is a time of the list, and a mean is asked for")
        for time in times
    ]
    right = _mean_step(*case)
    compare.close(
        f"step_seconds{case}",
        student.call("step_seconds", *case),
        right,
        likely=[p for p in likely if abs(p[0] - right) > 2e-6 * right],
    )


def _at_most(slow, N, late):
    """The chance that at most `late` of N chips are slow."""
    return sum(
        math.comb(N, j) * slow**j * (1 - slow) ** (N - j)
        for j in range(late + 1)
    )


def _exactly(times, chances, N, late):
    """Mistakes: exactly `late` are slow, at the last time as well or not."""
    mean, before, last = 0.0, 0.0, max(times)
    for time in sorted(times):
        slow = sum(c for t, c in zip(times, chances, strict=True) if t > time)
        now = math.comb(N, late) * slow**late * (1 - slow) ** (N - late)
        if time == last:
            yield mean + time * (1 - before)
        mean += time * (now - before)
        before = now
    yield mean


def _too_slow(times, chances, N, late):
    """A mistake: a chip that takes just as long counts as slow."""
    mean, before = 0.0, 0.0
    for time in sorted(times):
        slow = sum(c for t, c in zip(times, chances, strict=True) if t >= time)
        now = _at_most(slow, N, late)
        mean += time * (now - before)
        before = now
    return mean


def grade_slowest():
    """Question 6 with other chips."""
    draw = question.draw("slowest")
    for N, late in ((6, 0), (5, 2), (700, 3), (5, 4)):
        kinds = int(draw.integers(3, 6)) if N > 9 else 3
        times = draw.permutation(np.arange(1, 9))[:kinds] / 2
        chances = draw.dirichlet(np.ones(kinds) if N < 9 else times**-6.0)
        check_slowest(times.tolist(), chances.tolist(), N, late)


# --- 7: how fast a storage ---------------------------------------------------


def _doubled(chance):
    """chance + chance**2 + ..., by doubling how many terms there are."""
    terms, left = chance, chance
    while left > 1e-20:
        terms += left * terms
        left *= left
    return terms


def _played(mtbf, interval, stop, write, restart):
    """The share of time that counts, round by round and attempt by attempt.

    interval, stop  seconds of work, and of standing still for a checkpoint
    write           seconds after that until it is safe; work goes on
    restart         seconds after a failure; that can fail, too
    """
    if restart > 30 * mtbf:
        return 0.0  # it hardly ever gets up
    rounds = _doubled(math.exp(-(interval + stop) / mtbf))
    fails = 1 - math.exp(-restart / mtbf)
    attempts = mtbf * (fails + fails * _doubled(fails))
    return interval * rounds * math.exp(-write / mtbf) / (mtbf + attempts)


def _best_interval(M, stall, write, restart):
    """The best interval, found by narrowing down, and its goodput."""
    low = max(write, stall / 100, 1e-9 * M)
    high = max(40 * M, 2 * low)
    for _ in range(7):
        trials = np.geomspace(low, high, 25).tolist()
        each = [_played(M, tau, stall, write, restart) for tau in trials]
        best = int(np.argmax(each))
        low, high = trials[max(best - 1, 0)], trials[min(best + 1, 24)]
    return trials[best], each[best]


def _machine(chip, chips, state, restart, chip_mtbf):
    """A machine as the question describes it."""
    return {
        "chips": chips,
        "chip_mtbf": chip_mtbf,
        "state": state,
        "host_bw": chip.host_bw,
        "restart": restart,
    }


def _lost(machine, bw, background, **other):
    """The share lost with a storage of `bw` bytes/s, at the best interval.

    other  replaces parts: "M" seconds between failures, "copy" those of a
           copy to hosts; "read", whether a restart reads the state; "free",
           whether a copy may begin before the last one is written
    """
    M = other.get("M", machine["chip_mtbf"] / machine["chips"])
    moved = machine["state"] / bw
    copy = machine["state"] / machine["chips"] / machine["host_bw"]
    stall = other.get("copy", copy) if background else moved
    write = moved if background else 0.0
    restart = machine["restart"] + moved * other.get("read", True)
    if other.get("free"):
        tau, _ = _best_interval(M, stall, 0.0, restart)
        return 1 - _played(M, tau, stall, write, restart)
    return 1 - _best_interval(M, stall, write, restart)[1]


def _enough(machine, lost, background, **other):
    """The least bytes/s with which no more is lost, found by halving."""
    low, high = 1e6, 1e19
    if _lost(machine, high, background, **other) > lost:
        return math.inf
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        if _lost(machine, middle, background, **other) > lost:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


# Master weights and Adam's two moments, in float32.
LLAMA = 12 * models.params(models.model("llama-3-405b"))
# 419 unexpected interruptions of 16,384 GPUs in 54 days.
CHIP_MTBF = 54 * 86_400 * 16_384 / 419
H100S = _machine(hw.H100, 16_384, LLAMA, 30, CHIP_MTBF)
SLICE = _machine(hw.V5P, 6144, LLAMA, 60, CHIP_MTBF)


@question.visible(
    "storage",
    (H100S, 0.01),
    (SLICE, 0.01),
    (H100S | {"restart": 600, "chip_mtbf": CHIP_MTBF / 2}, 0.2),
    (SLICE | {"host_bw": 1e8, "restart": 5}, 0.1),
)
def check_storage(machine, lost):
    """Question 7: the bandwidth of a storage, without and with a copy."""
    asked = f"storage of {machine['chips']:,} chips, {lost:.0%} lost"
    got = student.call("storage", machine, lost)
    found = compare.numbers(asked, got, 2)
    right = [_enough(machine, lost, background) for background in (0, 1)]
    for background, name in enumerate(("straight", "by way of hosts")):
        yours, model = found[background], right[background]
        likely = []
        if not compare.near(yours, model, 1e-3 * model):
            likely = _mistaken_storage(machine, lost, background, right)
            # What no bandwidth reaches ends wherever a search ends.
            likely = [
                (min(value, max(yours, 1e16)), said) for value, said in likely
            ]
            if yours > 1e16:
                said = (
                    "yours is the end of a search that found nothing; is the "
                    "share that it compares with `lost` what is lost?"
                )
                likely.append((yours, said))
            if compare.near(yours, model, 0.02 * model):
                likely.append((yours, _nearly(yours, model)))
        compare.close(f"{asked}, {name}", yours, model, rel=1e-3, likely=likely)


def _nearly(yours, model):
    """What is said of a bandwidth that is off by a little."""
    return (
        f"nearly, but too {'high' if yours > model else 'low'}; 0.1% is asked "
        "for. Narrow the range further, or try more intervals"
    )


def _mistaken_storage(machine, lost, background, right):
    """Bandwidths that show a mistake, with the mistake; as few as needed."""
    chips, state = machine["chips"], machine["state"]
    copy = state / machine["host_bw"]
    model = right[background]

    def other(**parts):
        return _enough(machine, lost, background, **parts)

    def first(**parts):
        return _first_order(machine, lost, background, **parts)

    yield right[1 - background], "straight comes first, then by way of hosts"
    yield model / chips, "all chips share the storage; give its bandwidth"
    yield model * chips, "the state is that of all chips together"
    read = "a restart reads the state, too"
    if background:
        read += ", and what is being written at a failure is lost"
    yield other(read=False), read
    yield 8 * model, "bytes/s are asked for; yours are bits"
    yield other(M=machine["chip_mtbf"]), "any of the chips can fail"
    order = "yours is of first order; take the goodput of the chapter"
    yield first(), order
    if not background:
        M = machine["chip_mtbf"] / chips
        yield 2 * state / M / lost**2, f"{order}, and count the restart"
    yield first(read=False), "first order, and a restart reads the state"
    if background:
        yield other(free=True), "only one checkpoint is written at a time"
        yield other(copy=copy), "each chip copies its own part of the state"
        still = "the run stands still for the copy to the hosts"
        yield other(copy=copy / chips / 1e6), still


def _first_order(machine, lost, background, read=True):
    """The bandwidth by a formula of first order."""
    M = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]
    low, high = 1e6, 1e19
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        moved = machine["state"] / middle
        stall, write = (copy, moved) if background else (moved, 0)
        tau = max(write, math.sqrt(2 * stall * M))
        again = machine["restart"] + moved * read
        if stall / tau + (tau / 2 + write + again) / M > lost:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


def grade_storage():
    """Question 7 for other machines."""
    draw = question.draw("storage")
    for chip in (hw.V6E, hw.V5E):
        chips = int(draw.integers(200, 40_000))
        state = float(draw.uniform(1e11, 1e13))
        mtbf = float(draw.uniform(2e7, 4e8))
        restart = float(draw.uniform(0.001, 0.01)) * mtbf / chips
        machine = _machine(chip, chips, state, restart, mtbf)
        for lost in (0.02, 0.15):
            check_storage(machine, lost)
