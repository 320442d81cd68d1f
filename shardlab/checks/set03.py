"""Set 03, the cost of a collective: wires that count, and a proof about them.

Programs are exported by JAX, and their bytes counted in what was exported.
Times and formulas are held against blocks that are moved hop by hop on rings,
lines and tori, sent message by message through a switch, or counted chip by
chip on both sides of a cut.
"""

import functools
import itertools
import re
from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import jax
import numpy as np
from jax import P, lax
from jax.sharding import AbstractMesh, AxisType

from shardlab import count, hw, ring, switch
from shardlab.checks import compare, expression, program, question, student
from shardlab.checks.question import NotAnswered, WrongAnswer

__all__ = [
    "check_bisection",
    "check_changes",
    "check_choice",
    "check_cluster",
    "check_exact",
    "check_four",
    "check_gather_time",
    "check_growth",
    "check_idle",
    "check_limits",
    "check_line",
    "check_partner",
    "check_quarter",
    "check_rate",
    "check_small",
    "check_sums",
    "grade_bisection",
    "grade_changes",
    "grade_choice",
    "grade_cluster",
    "grade_exact",
    "grade_four",
    "grade_gather_time",
    "grade_growth",
    "grade_idle",
    "grade_limits",
    "grade_line",
    "grade_partner",
    "grade_quarter",
    "grade_rate",
    "grade_small",
    "grade_sums",
]


def _numbers(shape, seed):
    """Whole numbers of float32 whose sums are exact in any order.

    They have more digits than bf16, float16 or int16 hold: what is sent in
    half of the bytes does not arrive.
    """
    draw = np.random.default_rng(seed)
    return draw.integers(-99_999, 100_000, shape).astype(np.float32)


def _seed(draw):
    """A seed for the arrays of one case."""
    return int(draw.integers(2**31))


def _traced(name, request, advice):
    """The student's program; a refusal is told as what it means here.

    advice  dict: words of a refusal -> what to say instead in this question
    """
    try:
        return student.program(name, request)
    except WrongAnswer as refused:
        for words, said in advice.items():
            if words in str(refused):
                raise WrongAnswer(f"your {name}: {said}") from refused
        raise


# --- 1: one collective each --------------------------------------------------

# How the result lies, the collective, and its volume in parts of what the
# devices of a group have before a gather, or each has of a sum.
FOUR = {
    "gathered": (P("X", None), "all_gather", 1),
    "summed": (P("X", None), "psum", 2),
    "scattered": (P("X", "Y"), "psum_scatter", 1),
    "exchanged": (P(("X", "Y"), None), "all_to_all", Fraction(1, 4)),
}


@question.visible("the four", (2, 3, 6, 9))
def check_four(X, Y, rows, columns, seed=0):
    """Question 1: four changes of layout over Y, by one collective each.

    X, Y           sizes of the mesh
    rows, columns  of a block A[I_X, J_Y]
    seed           of the entries
    """
    shape = (Y, X * rows, Y * columns)
    terms = _numbers(shape, seed)
    # Device (x, y) gets its rows of term y.
    split = [np.split(term, X) for term in terms]
    stacked = np.concatenate([split[y][x] for x in range(X) for y in range(Y)])
    for name, (spec, kind, charged) in FOUR.items():
        adds, asked = kind.startswith("psum"), f"{name} on {X} x {Y} devices"
        x = stacked if adds else terms[0]
        request = program.request(
            x,
            mesh={"X": X, "Y": Y},
            in_specs=P(("X", "Y"), None) if adds else P("X", "Y"),
            out_specs=spec,
        )
        answer = _traced(
            name,
            request,
            {
                "still differs": "as far as JAX can see, what it returns still "
                "differs along Y; is your collective over Y, and does a gather "
                'say to="invarying"?',
                "does not divide": "the dimension that it cuts does not divide "
                "by the devices; do you mean this dimension, and Y?",
                "split_axis": "it cuts a dimension into single entries, "
                "which is not as long as the axis; do you miss tiled=True?",
                "scatter dimension": "it cuts a dimension into single entries, "
                "which is not as long as the axis; do you miss tiled=True?",
            },
        )
        answer.allow(kind, axes="Y")
        if (runs := sum(one.times for one in answer.collectives())) != 1:
            raise WrongAnswer(
                f"{asked}: your program runs {runs} collectives; one does it"
            )
        answer.exactly(volume=charged * terms[0].nbytes // X)
        compare.close(
            asked,
            answer.run(x),
            terms.sum(0) if adds else x,
            likely=[
                (terms.mean(0), "you give the mean of the terms"),
                (terms[0], "you give one device's term"),
            ]
            if adds
            else [],
            show=True,
        )


def grade_four():
    """Question 1 on other meshes."""
    draw = question.draw("four")
    for X, Y in ((1, 5), (4, 2)):
        rows, columns = (Y * draw.integers(1, 4, 2)).tolist()
        check_four(X, Y, rows, columns, _seed(draw))


# --- 2 and 3: hops -----------------------------------------------------------


def _gather_seconds(V, N, wrap, link_bw, T_min, slow_bw, after):
    """Seconds of a gather, step by step; each lasts as long as its last hop."""
    seconds = 0.0
    for step in ring.all_gather_steps(V, N, wrap=wrap, ties="one_way"):
        took = [T_min]
        for hop in step:
            link = hop.source if hop.way == 1 else (hop.source - 1) % N
            took.append(hop.bytes / (slow_bw if link == after else link_bw))
        seconds += max(took)
    return seconds


@question.visible(
    "t_all_gather",
    (2**24, 8, False, hw.V5E.link_bw, hw.V5E.hop_latency, 9e9, 3),
    (2**24, 8, False, hw.V5E.link_bw, hw.V5E.hop_latency, 9e9, 0),
    (2**17, 8, False, hw.V5E.link_bw, hw.V5E.hop_latency, 9e9, 5),
    (12 * 2**20, 12, True, hw.V5P.link_bw, hw.V5P.hop_latency, 3e10, 2),
    (5 * 2**18, 5, True, 9e10, 1e-6, 4.5e10, 4),
    (7 * 2**10, 7, True, 9e10, 3e-6, 9e8, 0),
    (9 * 2**20, 9, False, 9e10, 1e-6, 9e10, 6),
)
def check_gather_time(V, N, wrap, link_bw, T_min, slow_bw, after):
    """Question 2: seconds of a gather with one slow link; ties one way."""
    case = V, N, wrap, link_bw, T_min, slow_bw, after
    asked = (
        f"t_all_gather({V}, {N}, {wrap}, {link_bw:g}, {T_min:g}, {slow_bw:g}, "
        f"{after})"
    )
    got = compare.number(asked, student.call("t_all_gather", *case))
    all_slow = _gather_seconds(V, N, wrap, slow_bw, T_min, slow_bw, after)
    all_quick = _gather_seconds(V, N, wrap, link_bw, T_min, link_bw, after)
    likely = _mistaken_times(*case)
    if got > all_slow:
        likely.append((got, "all links could be slow, and it would be sooner"))
    elif got < all_quick:
        likely.append((got, "without a slow link it would take longer"))
    compare.close(asked, got, _gather_seconds(*case), likely=likely)


def _mistaken_times(V, N, wrap, link_bw, T_min, slow_bw, after):
    """Seconds that mistakes of question 2 give, with the mistakes."""
    left, right = after + 1, N - 1 - after
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(left, right)
    quick, slow = V / N / link_bw, V / N / slow_bw

    def seconds(slow_steps, steps, slow=slow, quick=quick, least=T_min):
        quick_steps = steps - slow_steps
        return slow_steps * max(least, slow) + quick_steps * max(least, quick)

    far = "of these chips, how far away is the farthest?"
    across = "in which steps does a shard cross the slow link?"
    on_ring = "this is a ring: its slow link has work in every step"
    reasons = [
        (seconds(0, steps), "you leave the slow link out"),
        (
            seconds(waiting, waiting),
            "when the slow link has done its work, other links have not",
        ),
        (
            max(waiting * max(T_min, slow), steps * max(T_min, quick)),
            "when the slow link has done its work, other links have not",
        ),
        (
            seconds(waiting, steps, least=0),
            "your hops last no longer for being hops; see T_min",
        ),
        (
            max(steps * T_min, seconds(waiting, steps, least=0)),
            "you compare T_min with the whole gather; each hop takes it",
        ),
        (
            max(T_min, seconds(waiting, steps, least=0)),
            "you compare T_min with the whole gather; each hop takes it",
        ),
        (
            seconds(waiting, steps, slow + T_min, quick + T_min),
            "you add T_min; the transfer runs beside it",
        ),
        (steps * T_min, "you count the least time of a hop, not its bytes"),
    ]
    if wrap:
        lined = seconds(max(left, right), N - 1), seconds(N - 1, N - 1)
        reasons += [
            *(
                (each, "you count the steps of a line; it is a ring")
                for each in lined
            ),
            (seconds(min(max(left, right), steps), steps), on_ring),
            (seconds(1, steps), on_ring),
            (seconds(steps / 2, steps), on_ring),
        ]
        if N % 2 == 0:
            split = max((N - 1) / 2 * slow, steps * T_min)
            reasons.append((split, "you split the tie; here it goes one way"))
        else:
            reasons.append(
                (seconds(N / 2, N / 2), f"you count half a step; {far}")
            )
    else:
        ringed = seconds(N // 2, N // 2), seconds(min(waiting, N // 2), N // 2)
        reasons += [
            (
                seconds(steps, steps),
                f"you let every step wait for the slow link; {across}",
            ),
            (
                seconds(min(left, right), steps),
                "you count the shorter side of the slow link; the other one "
                "has more to send across",
            ),
            (
                seconds(right, steps),
                "you count the shards that come from one side of the slow "
                "link; from the other one more may come",
            ),
            (
                seconds(left, steps),
                "you count the shards that come from one side of the slow "
                "link; from the other one more may come",
            ),
            (seconds(1, steps), f"you let one step wait; {across}"),
            (
                seconds(N // 2, steps),
                f"you let half of the steps wait; {across}",
            ),
            (
                seconds(waiting + 1, steps),
                "your slow link works in one step too many; how many chips "
                "are on its left, chip `after` among them?",
            ),
            (
                seconds(waiting - 1, steps),
                "your slow link works in one step too few; how many chips "
                "are on its left, chip `after` among them?",
            ),
            *(
                (each, "you count the steps of a ring; it is a line")
                for each in ringed
            ),
            (
                seconds(N, N),
                "you let every step wait for the slow link, and count one too "
                "many",
            ),
        ]
    return reasons + [
        (
            seconds(waiting + 1, steps + 1),
            f"you count a step too many; {far}",
        ),
        (seconds(waiting, steps + 1), f"you count a step too many; {far}"),
        (seconds(waiting - 1, steps - 1), f"you count a step too few; {far}"),
        (seconds(waiting, steps - 1), f"you count a step too few; {far}"),
        (
            seconds(waiting, steps, slow / 2, quick / 2),
            "you halve a hop; it carries a shard in each direction",
        ),
        (
            seconds(waiting, steps, slow / N, quick / N),
            "you cut a shard again; V is the whole array",
        ),
        (
            seconds(waiting, steps, slow * N, quick * N),
            "your hops carry the whole array",
        ),
        (V / 2 / slow_bw, "you give V/W; look at the hops one by one"),
        (V / slow_bw, "you give V over a bandwidth; look at the steps"),
        (seconds(waiting, steps) * 1e6, "you give microseconds"),
    ]


def grade_gather_time():
    """Question 2 on other rings and lines, for bytes and for hops."""
    draw = question.draw("gather_time")
    for wrap, n in product((True, False), (2, 5, 7, 8)):
        for kib, slow in ((1, 1e9), (2000, 1e10)):
            V = 1024 * n * kib * int(draw.integers(1, 20))
            after = int(draw.integers(n if wrap else n - 1))
            check_gather_time(V, n, wrap, 4.5e10, 2e-6, slow, after)


TORUS, ELEMENTS = (8, 8, 8), 3072


@question.visible("the small gather and the knee", ())
def check_small():
    """Question 3: a small gather over a torus, and where latency ends."""
    chips, whole = prod(TORUS), 2 * ELEMENTS
    run = ring.all_gather(
        whole, TORUS, link_bw=1, algorithm="balanced", symmetry=True
    )
    likely = {
        "whole_bytes": [
            (ELEMENTS, "you count elements; what is one in bf16?"),
            (2 * whole, "you give an element four bytes; what is one in bf16?"),
        ],
        "shard_bytes": [
            (whole // 8, "you cut by X alone; Y and Z cut the array, too"),
            (ELEMENTS // chips, "you count elements; what is one in bf16?"),
            (whole // chips * 2, "you give an element four bytes"),
            (whole // sum(TORUS), "you add up the axes; how many chips?"),
        ],
        "hops": [
            (chips // 2, "you count the hops of one ring of all chips"),
            (chips - 1, "you visit the chips one after the other"),
            (sum(TORUS) - len(TORUS), "you count the hops of lines"),
            (max(TORUS) // 2, "you count one axis alone"),
            (sum(TORUS), "you go all the way round; a ring has two ways"),
            (max(TORUS) - 1, "you count one axis alone, and as a line"),
        ],
    }
    right = {"whole_bytes": whole, "shard_bytes": whole // chips}
    for name, expected in (right | {"hops": run.steps}).items():
        compare.equal(name, student.value(name), expected, likely[name])
    least, links = run.steps * hw.V5P.hop_latency, 2 * len(TORUS)
    sums = [
        least + whole * (1 - 1 / chips) / links / hw.V5P.link_bw,
        least + whole / links / hw.V5P.link_bw,
        least + run.steps * (whole / chips / hw.V5P.link_bw),
    ]
    added = "you add up hops and bytes; here bytes move while a hop lasts"
    compare.close(
        "seconds",
        student.value("seconds"),
        least,
        likely=[
            (
                whole / 6 / hw.V5P.link_bw,
                "you count bytes alone; what does a hop take at least?",
            ),
            (hw.V5P.hop_latency, "you count one hop"),
            *((seconds, added) for seconds in sums),
            (least * 1e6, "you give microseconds"),
            (2 * least, "you go all the way round; a ring has two ways"),
            (least / 3, "you count the hops of one axis alone"),
        ],
    )
    for case in ((8, 3, 9e10, 1e-6), (5, 1, 9e10, 3e-6), (6, 2, 4.5e10, 2e-6)):
        _check_knee(*case)


def _check_knee(n, axes, link_bw, T_min):
    """Question 3: where bytes take as long as hops on a torus of rings.

    n        chips along each axis
    axes     how many of them
    link_bw  bytes/s of one link in one direction
    T_min    seconds of a hop
    """
    sizes = (n,) * axes
    V = 2 * axes * n**axes
    run = ring.all_gather(
        V, sizes, link_bw=link_bw, algorithm="balanced", symmetry=True
    )
    knee = V * run.steps * T_min / run.seconds
    share, axis = 1 - 1 / n**axes, run.steps // axes
    compare.close(
        f"knee_bytes({n}, {axes}, {link_bw:g}, {T_min:g})",
        student.call("knee_bytes", n, axes, link_bw, T_min),
        knee,
        likely=[
            (knee * share, "you take V/W for the bytes; it is a limit"),
            (knee * share / (1 - 1 / n), "your gather is over one axis"),
            (knee / axis, "you count a hop for each axis"),
            (knee / axes, "you count the hops or the links of one axis alone"),
            (knee / axes**2, "you take one axis; hops and links are more"),
            (knee / 2, "you take one link of an axis; both ways are used"),
            (knee * n / 2 / axis, "you count half a hop"),
            (knee * (n - 1) / axis, "you count the hops of lines"),
            (knee / run.steps, "you count one hop"),
            (knee * 2, "you count too many hops or links: twice"),
            (knee * share**2, "your exact factor is on the wrong side"),
            (
                n**axes // 2 * T_min * 2 * link_bw / share,
                "you take all chips for one ring; a torus has more links, and "
                "fewer hops",
            ),
            (
                n**axes * link_bw * T_min,
                "you take all chips for one ring; a torus has more links, and "
                "fewer hops",
            ),
        ],
    )


def grade_small():
    """Question 3 on other tori."""
    draw = question.draw("small")
    for n, axes in ((2, 3), (3, 2), (8, 1), (4, 3), (7, 2)):
        _check_knee(n, axes, float(draw.integers(2, 20)) * 1e10, 2e-6)


# --- 4: three collectives on a torus -----------------------------------------

# The body, how its rows and columns are cut, the axes over which there are
# terms, the simulation, and the axis that cuts what a group has in common.
ON_A_TORUS = {
    "ReduceScatter over Y": (
        lambda x: lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True),
        (("X",), ()),
        ("Y",),
        "reduce_scatter",
        "X",
    ),
    "AllGather over X and Z": (
        lambda x: lax.all_gather(x, ("X", "Z"), axis=0, tiled=True),
        (("X", "Z"), ("Y",)),
        (),
        "all_gather",
        "Y",
    ),
    "AllReduce over X and Y": (
        lambda x: lax.psum(x, ("X", "Y")),
        ((), ("Z",)),
        ("X", "Y"),
        "all_reduce",
        "Z",
    ),
}


def _on_torus(name, B, D, sizes):
    """The collective of question 4 in a program on a torus, as counted."""
    body, (rows, columns), terms, *_ = ON_A_TORUS[name]
    mesh = AbstractMesh(
        tuple(sizes.values()), tuple(sizes), axis_types=(AxisType.Auto,) * 3
    )
    height = B * prod(sizes[axis] for axis in terms)
    x = jax.ShapeDtypeStruct((height, D), np.dtype("bfloat16"))
    (one,) = count.collectives(
        jax.shard_map(
            body,
            mesh=mesh,
            in_specs=P((*rows, *terms) or None, columns or None),
            out_specs=P(),
            check_vma=False,
        ),
        x,
    )
    return one


@question.visible(
    "limit_times",
    (1440, 4800, 4, 12, 20, 9e10),
    (960, 1920, 8, 4, 24, 4.5e10),
)
def check_limits(B, D, X, Y, Z, W):
    """Question 4: seconds for many chips, volume over bandwidth."""
    asked = f"limit_times({B}, {D}, {X}, {Y}, {Z}, {W:g})"
    sizes = {"X": X, "Y": Y, "Z": Z}
    got = student.call("limit_times", B, D, X, Y, Z, W)
    got = compare.numbers(asked, got, 3)
    for name, seconds in zip(ON_A_TORUS, got, strict=True):
        one = _on_torus(name, B, D, sizes)
        limit = one.volume / (len(one.axes) * W)
        compare.close(
            f"{asked}: {name}",
            seconds,
            limit,
            likely=[
                *_mistaken_limits(limit, sizes, ON_A_TORUS[name][4], one),
                *_twice(limit, one),
            ],
        )


def _mistaken_limits(limit, sizes, axis, one):
    """Seconds from a wrong V, with the mistake."""
    right = sizes[axis]
    yield (
        limit * right,
        f"you charge all of the array; what {axis} cuts stays cut",
    )
    for other in sizes:
        if other != axis:
            yield (
                limit * right / sizes[other],
                f"you divide by {other}; which axis cuts what a group has in "
                "common?",
            )
    for other in one.axes:
        yield (
            limit / sizes[other],
            f"you divide by {other}, too; V is what a group has together, or "
            "what each device has of a sum",
        )
    both = prod(sizes[other] for other in one.axes)
    yield limit / both, "you charge a shard; V is what a group has together"


def _twice(limit, one):
    """Seconds that are wrong by a factor of 2, with the mistake."""
    if len(one.axes) == 2:
        yield 2 * limit, "you use one axis; two work at a time"
    if one.kind == "all_reduce":
        yield limit / 2, "you charge one half; an AllReduce is made of two"
    yield 2 * limit, "you have twice as much: a sum of two halves, or a link"
    yield limit / 2, "you have half as much: bf16, or W counted twice"


@question.visible("exact_times", (1440, 4320, 6, 9e10), (1024, 4096, 4, 4.5e10))
def check_exact(B, D, n, W):
    """Question 4: exact seconds on an n x n x n torus, ties split."""
    asked = f"exact_times({B}, {D}, {n}, {W:g})"
    got = student.call("exact_times", B, D, n, W)
    got = compare.numbers(asked, got, 3)
    for name, seconds in zip(ON_A_TORUS, got, strict=True):
        one = _on_torus(name, B, D, dict.fromkeys("XYZ", n))
        V = one.volume // (2 if one.kind == "all_reduce" else 1)
        run = getattr(ring, ON_A_TORUS[name][3])(
            V, (n,) * len(one.axes), link_bw=W / 2, algorithm="balanced"
        )
        limit = one.volume / (len(one.axes) * W)
        chips = n ** len(one.axes)
        compare.close(
            f"{asked}: {name}",
            seconds,
            run.seconds,
            likely=[
                (limit, "you give the limit for many chips"),
                (limit * (1 - 1 / n), f"your group has {n} chips, not {chips}"),
                (limit * (1 - 1 / n**2), f"your group has {n * n} chips"),
                (
                    limit * (1 - 1 / n) ** 2,
                    "you multiply the factors of two axes; a chip of the "
                    "square lacks all but its own shard",
                ),
                (limit * (1 - 1 / n**3), "your group has all chips"),
                (limit * (1 + 1 / n), "you have more than the limit"),
                *_twice(run.seconds, one),
            ],
        )


def grade_limits():
    """Question 4 on other tori."""
    draw = question.draw("cube_limit")
    for sizes in ((4, 8, 16), (8, 4, 12), (2, 6, 10)):
        rows, columns = (prod(sizes) * draw.integers(1, 99, 2)).tolist()
        check_limits(rows, columns, *sizes, float(draw.integers(1, 20)) * 1e10)


def grade_exact():
    """Question 4 on other cubes."""
    draw = question.draw("cube_exact")
    for side in (2, 3, 8):
        rows, columns = (4 * side**2 * draw.integers(1, 40, 2)).tolist()
        check_exact(rows, columns, side, float(draw.integers(1, 20)) * 1e10)


# --- 5: a sum by idle links --------------------------------------------------


@question.visible("sum_with_Z", (4, 2, 8, 3), (2, 3, 12, 2))
def check_idle(X, Z, rows, columns, seed=0):
    """Question 5: an AllReduce over X, with the links of Z.

    X, Z           sizes of the mesh
    rows, columns  of C; X Z divides the rows
    seed           of the terms
    """
    asked = f"sum_with_Z on {X} x {Z} devices"
    terms = _numbers((X, rows, columns), seed)
    x = np.concatenate(terms)
    request = program.request(
        x, mesh={"X": X, "Z": Z}, in_specs=P("X"), out_specs=P()
    )
    answer = _traced(
        "sum_with_Z",
        request,
        {
            "unreduced, reduced or invarying": "you add up over an axis along "
            "which all have the same; the terms differ along X alone",
            "does not divide": f"this is on {X} x {Z} devices, with {rows} "
            "rows; take the sizes of axes from axis_size",
        },
    )
    answer.allow("psum", "psum_scatter", "all_gather")
    moved = answer.collectives()
    V = terms[0].nbytes
    _refuse_idle(asked, moved, X, Z, V)
    total, parts = terms.sum(0), np.split(terms.sum(0), X * Z)
    turned = [parts[z * X + x] for x in range(X) for z in range(Z)]
    back = [parts[x * Z + z] for z in range(Z) for x in range(X)]
    order = "your rows are out of order; the axis that cut first is the major"
    compare.close(
        asked,
        answer.run(x),
        total,
        terms=X,
        likely=[
            (np.concatenate(turned), order),
            (np.concatenate(back), order),
            (total * Z, "you add up copies: all along Z have the same term"),
            (total / X, "you give the mean"),
            (terms[0], "you give one device's term"),
            *(
                (
                    lost,
                    "you cut by X, along which terms differ, and most are "
                    "lost; cut by Z, and add up over X",
                )
                for lost in _own_rows(terms, Z)
            ),
        ],
        show=True,
    )


def _own_rows(terms, Z):
    """Rows of C of which each device along X keeps its own term alone."""
    own = [np.split(term, len(terms))[x] for x, term in enumerate(terms)]
    kept = np.concatenate(own)
    return kept, Z * kept


def _refuse_idle(asked, moved, X, Z, V):
    """Insist on the fewest seconds, n axes at a time being n times as fast."""
    if not any("Z" in one.axes for one in moved):
        raise WrongAnswer(f"{asked}: you leave the links of Z idle")
    adding = sum(
        Fraction(one.sent) * one.times
        for one in moved
        if one.kind != "all_gather"
    )
    least = Fraction(V * (X - 1), X * Z)
    if adding > least:
        raise WrongAnswer(
            f"{asked}: to add up, your devices send {float(adding / V):.3g} of "
            f"C each, and {float(least / V):.3g} is enough, if each copy along "
            "Z adds up a part alone, and keeps of it only its share"
        )
    took = sum(Fraction(one.sent) * one.times / len(one.axes) for one in moved)
    least += Fraction(V * (X * Z - 1), 2 * X * Z)
    if took > least:
        raise WrongAnswer(
            f"{asked}: yours takes {float(took / least):.2f} times as long as "
            "need be; while you gather over one axis, the links of the other "
            "are idle"
        )


def grade_idle():
    """Question 5 on other meshes."""
    draw = question.draw("idle")
    for X, Z in ((2, 2), (3, 2), (2, 4)):
        rows, columns = draw.integers(1, 4, 2).tolist()
        check_idle(X, Z, X * Z * rows, columns, _seed(draw))


# --- 6: what the wires did ---------------------------------------------------

KINDS = {
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "AllReduce": "all_reduce",
    "AllToAll": "all_to_all",
}


def _busiest(kind, V, N, ports):
    """Bytes over the busiest port, or one way over the busiest link."""
    if ports:
        return switch.run(KINDS[kind], V, N).busiest
    steps = getattr(ring, f"{KINDS[kind]}_steps")(V, N)
    return max(ring.bytes_per_link(steps).values())


@question.visible(
    "rate",
    ("AllGather", 2**20, 8, 2e-5, True),
    ("AllGather", 5 * 2**18, 5, 1e-5, False),
    ("ReduceScatter", 6 * 2**16, 6, 1e-5, True),
    ("AllReduce", 7 * 2**16, 7, 3e-5, True),
    ("AllReduce", 6 * 2**16, 6, 2e-5, False),
    ("AllToAll", 36 * 2**12, 6, 1e-5, True),
    ("AllToAll", 100 * 2**12, 10, 1e-5, False),
    ("AllToAll", 49 * 2**12, 7, 1e-5, False),
)
def check_rate(kind, V, N, seconds, ports):
    """Question 6: bytes/s that the busiest wire carried in a measurement."""
    right = _busiest(kind, V, N, ports) / seconds
    other = _busiest(kind, V, N, not ports) / seconds
    whole = V / seconds
    elsewhere = "a ring both ways" if ports else "a switch, or a ring one way"
    likely = [
        (other, f"you give what {elsewhere} would carry"),
        (whole, "you give V / T: not all of it crosses any wire"),
        (whole / 2, "you give V / 2T; that is a limit for many chips"),
        (2 * whole, "you give 2V / T; that is a limit for many chips"),
        (2 * right, "yours is twice as much: both directions, or two halves"),
        (right / 2, "yours is half as much; an AllReduce is made of two"),
        (whole * (N - 1), "V is the whole array, not the part of one chip"),
        (whole * (N - 1) / 2, "V is the whole array, not the part of one chip"),
        (
            whole * (N + 1) / N,
            "that is of a switch that adds up; here GPUs send the two halves",
        ),
        (right / 1e9, "you give gigabytes; asked are bytes/s"),
    ]
    if kind == "AllReduce" and ports:
        reason = "you charge one half; an AllReduce is made of two"
        likely.insert(0, (right / 2, reason))
    if kind == "AllToAll":
        likely[:0] = [
            (whole / 8, "you give V / 8T; on this ring it is not exact"),
            (whole / 4, "you charge V / 4, a convention, or both links"),
            (whole * (N - 1) / N, "you charge an AllGather"),
            (
                whole * (N - 1) / (2 * N),
                "you charge an AllGather, or a ring used one way",
            ),
            (whole / N**2, "you count one part"),
            (whole / N, "you count a part for the device itself, too"),
            (
                whole * (N - 1) / N**2 / 2,
                "you count a chip's own parts; others pass through",
            ),
            (whole * (N - 1) / N / 8, "you take a quarter of an AllGather"),
        ]
        if not ports and N % 2 == 0:
            tied = whole * (N // 2) * (N // 2 + 1) / 2 / N**2
            reason = "your ties go one way; here they are split"
            likely.insert(0, (tied, reason))
    compare.close(
        f"rate({kind!r}, {V}, {N}, {seconds:g}, {ports})",
        student.call("rate", kind, V, N, seconds, ports),
        right,
        likely=likely,
    )


def grade_rate():
    """Question 6 for other measurements."""
    draw = question.draw("rate")
    for n, kind, ports in product((2, 5, 8), KINDS, (True, False)):
        V = 2 * n**2 * int(draw.integers(1, 9**5))
        check_rate(kind, V, n, float(draw.integers(1, 99)) * 1e-6, ports)


# --- 7 and 8: across the middle ----------------------------------------------


def _cut_seconds(V, sizes, wraps, W, axis, layers):
    """Seconds for what must cross one cut, counted chip by chip."""
    pairs, links = _across(tuple(sizes), tuple(wraps), axis, layers)
    return V * pairs / prod(sizes) ** 2 / links / (W / 2)


@functools.cache
def _across(sizes, wraps, axis, layers):
    """How many pairs of chips a cut parts, and how many links cross it."""
    chips = list(product(*map(range, sizes)))
    here = {chip for chip in chips if chip[axis] < layers}
    links = 0
    for chip, way in product(here, (1, -1)):
        there = list(chip)
        there[axis] += way
        if wraps[axis]:
            there[axis] %= sizes[axis]
        links += tuple(there) not in here and 0 <= there[axis] < sizes[axis]
    return len(here) * (len(chips) - len(here)), links


def _least_seconds(V, sizes, wraps, W):
    """The longest time of all cuts between two layers of chips."""
    return max(
        _cut_seconds(V, sizes, wraps, W, axis, layers)
        for axis, size in enumerate(sizes)
        for layers in range(1, size)
    )


@question.visible(
    "least_seconds",
    (2**20, [8], [True], 9e10),
    (2**20, [3, 8], [False, False], 9e10),
    (2**22, [4, 6], [False, True], 9e10),
    (2**22, [12, 4, 4], [True, True, True], 1.8e11),
    (2**22, [5, 3], [False, True], 9e10),
    (2**22, [2, 7, 3], [False, True, False], 1.8e11),
    (2**22, [8, 8, 5], [True, True, False], 9e10),
    (2**20, [1, 4], [True, False], 9e10),
)
def check_bisection(V, sizes, wraps, W):
    """Question 7: seconds below which no AllToAll can be.

    V      bytes of the whole array
    sizes  chips along each axis
    wraps  whether each axis is a ring
    W      bytes/s along an axis, both directions together
    """
    right, N = _least_seconds(V, sizes, wraps, W), prod(sizes)
    longest = sizes.index(max(sizes))

    def with_wraps(other):
        return _least_seconds(V, sizes, [other] * len(sizes), W)

    def smooth(k, each):
        return V / 4 * sizes[k] / (N * each * (2 if wraps[k] else 1) * W / 2)

    axes = [k for k, size in enumerate(sizes) if size > 1]
    once = "you cut rings once; a ring is cut twice"
    if compare.near(with_wraps(False), 2 * right, 1e-9 * right):
        once = (
            "yours is twice as much: a ring is cut twice, and half of what "
            "one side has stays there"
        )

    def uneven(k):
        half, n = sizes[k] // 2, sizes[k]
        cut = _cut_seconds(V, sizes, wraps, W, k, half)
        return cut * half / (n - half)

    likely = [
        (
            _cut_seconds(V, sizes, wraps, W, longest, sizes[longest] // 2),
            "you cut the longest axis; another one has fewer links across, or "
            "more to carry",
        ),
        (with_wraps(False), once),
        (with_wraps(True), "you cut lines twice; a line is cut once"),
        (
            max(smooth(k, 1) for k in axes),
            "you cut an odd axis in two equal halves; chips stay whole",
        ),
        (V / 4 / W, "you take one ring; more axes, more links"),
        (V / 2 / W, "you take one line; more axes, more links"),
        (right * 2, "yours is twice as much: half of the bytes of one half?"),
        (right * 4, "you let all bytes cross; half of them are on one side"),
        (right / 2, "yours is half as much; W is both directions together"),
        (max(smooth(k, 1) for k in axes) * 2, "yours is twice too long"),
        (
            min(
                _cut_seconds(V, sizes, wraps, W, k, sizes[k] // 2) for k in axes
            ),
            "you take the easiest cut; every cut must be crossed",
        ),
        (
            sum(
                _cut_seconds(V, sizes, wraps, W, k, sizes[k] // 2) for k in axes
            ),
            "you add up cuts; their links work at the same time",
        ),
        (
            max(uneven(k) for k in axes),
            "you leave a layer of an odd axis out; it is on one of the sides",
        ),
        (
            max(_cut_seconds(V, sizes, wraps, W, k, 1) for k in axes),
            "you cut one layer off; more must cross in the middle",
        ),
        (
            _least_seconds(V, sizes, wraps[::-1], W),
            "you take rings for lines, and lines for rings: wraps and sizes "
            "are in one order",
        ),
    ]
    compare.close(
        f"least_seconds({V}, {sizes}, {wraps}, {W:g})",
        student.call("least_seconds", V, sizes, wraps, W),
        right,
        likely=likely,
    )


def grade_bisection():
    """Question 7 on other slices."""
    draw = question.draw("bisection")
    slices = [
        ([6, 2, 5], [True, False, True]),
        ([1, 10], [False, True]),
        ([3, 8, 8], [False, False, True]),
        ([7], [False]),
        ([8, 5], [True, False]),
    ]
    for sizes, wraps in slices:
        V, W = int(draw.integers(1, 99)) * 2**20, float(draw.integers(1, 99))
        check_bisection(V, sizes, wraps, W * 1e9)


def _on_cluster(V, N, node, port, card):
    """Seconds of an AllToAll, each message put on its port or its card."""
    on_port, on_card = _messages(N, node)
    return V / N**2 * max(on_port / port, on_card / card)


@functools.cache
def _messages(N, node):
    """The most messages of a GPU by its port, and by its card."""
    ports, cards = Counter(), Counter()
    for here, there in product(range(N), range(N)):
        if here != there:
            way = ports if here // node == there // node else cards
            way[here] += 1
    return [max(way.values(), default=0) for way in (ports, cards)]


@question.visible(
    "on_cluster",
    (2**30, 64, 8, 3e11, 2.5e10),
    (2**30, 8, 8, 4.5e11, 5e10),
    (2**30, 18, 6, 2e10, 5e10),
    (2**30, 24, 3, 4.5e11, 1e11),
)
def check_cluster(V, N, node, port, card):
    """Question 8: seconds of an AllToAll among GPUs of several nodes."""
    right, part = _on_cluster(V, N, node, port, card), V / N**2
    inside, outside = part * (node - 1) / port, part * (N - node) / card
    compare.close(
        f"on_cluster({V}, {N}, {node}, {port:g}, {card:g})",
        student.call("on_cluster", V, N, node, port, card),
        right,
        likely=[
            (inside + outside, "you add port and card; they work at a time"),
            (part * (N - 1) / port, "you send all of it by the port"),
            (part * (N - 1) / card, "you send all of it by the card"),
            (part * N / card, "you send a part to the GPU itself, too"),
            (part * node / port, "you send a part to the GPU itself, too"),
            (inside, "you count the node alone; what do the cards do?"),
            (
                outside,
                "you count the cards alone; to its own node a GPU sends by its "
                "port, which may take longer",
            ),
            (
                part * (N - 1) / (port + card),
                "port and card do not share the work: where a part goes says "
                "which of them carries it",
            ),
            (
                max(part * 7 / port, part * (N - 8) / card),
                f"your nodes have 8 GPUs; these have {node}",
            ),
            (
                V / (2 * N * card),
                "you cut the cluster in two; but a card carries all that its "
                "GPU sends to other nodes, not to the other half alone",
            ),
            (right * N, "your parts are too large: N of them make a block"),
            (right * node, "one card sends for the node; each GPU has its own"),
            (
                max(inside, part * (N // node - 1) / card),
                "you send one part to each other node; it has many GPUs",
            ),
            (V / 4 / card, "you charge V / 4, which is for rings"),
        ],
    )


def _takes(V, offer, double=1, wraps=None, part=None, longest=False):
    """Seconds of an AllToAll of V bytes on an offer.

    double   what a link carries one way, in units of link_bw
    wraps    whether all axes are rings, instead of what the offer says
    part     "ports" or "cards", if only these are counted
    longest  whether only the longest axis is cut
    """
    kind, *machine, _ = offer
    if kind == "slice":
        sizes, rings, link_bw = machine
        rings = rings if wraps is None else [wraps] * len(sizes)
        W = 2 * link_bw * double
        if longest:
            axis = sizes.index(max(sizes))
            return _cut_seconds(V, sizes, rings, W, axis, max(sizes) // 2)
        return _least_seconds(V, sizes, rings, W)
    N, node, port, card = machine
    if part == "ports":
        return V / N**2 * (N - 1) / port
    if part == "cards":
        return V / N**2 * (N - 1) / card
    return _on_cluster(V, N, node, port, card)


def _cheapest(offers, limit, took):
    """The cheapest of the offers that take no longer; None if all do."""
    fit = [name for name in offers if took[name] <= limit]
    return min(fit, key=lambda name: offers[name][-1], default=None)


MISTAKEN_TIMES = [
    ({"part": "ports"}, "GPUs send to other nodes by their cards, not ports"),
    ({"double": 0.5}, "W is both directions of a link, link_bw is one"),
    ({"double": 2}, "W is both directions of a link, and that is 2 link_bw"),
    ({"wraps": False}, "an axis that is a ring is cut twice"),
    ({"wraps": True}, "an axis that is a line is cut once"),
    (
        {"longest": True},
        "the longest axis of a slice need not be the narrowest",
    ),
    ({"part": "cards"}, "within a node GPUs send by their ports"),
]

# Bandwidths are those of hw; the dollars an hour are made up.
SIXTY_FOUR = {
    "v5e": ["slice", [8, 8], [False] * 2, hw.V5E.link_bw, 77],
    "H100": ["cluster", 64, 8, hw.H100.link_bw, hw.H100.dcn_bw, 192],
    "v5p": ["slice", [4, 4, 4], [True] * 3, hw.V5P.link_bw, 269],
    "GB200": ["cluster", 64, 64, hw.GB200.link_bw, hw.GB200.dcn_bw, 700],
}
THIRTY = {
    "torus": ["slice", [5, 6], [False, True], hw.V5E.link_bw, 30],
    "ring": ["slice", [30], [True], hw.V5P.link_bw, 40],
    "nodes": ["cluster", 30, 6, hw.H100.link_bw, hw.H100.dcn_bw, 50],
    "rack": ["cluster", 30, 30, 1e11, 2.5e10, 45],
}

TO_THE_DIGIT = {
    "line": ["slice", [4], [False], 2.0**30, 10],
    "rack": ["cluster", 4, 4, 2.0**33, 2.0**30, 20],
}


@question.visible(
    "choose",
    (10**9, 1e-3, SIXTY_FOUR),
    (10**9, 6e-4, SIXTY_FOUR),
    (10**9, 3e-4, SIXTY_FOUR),
    (10**9, 1e-4, SIXTY_FOUR),
    (10**9, 7e-5, SIXTY_FOUR),
    (10**9, 2e-5, SIXTY_FOUR),
    (10**9, 1.5e-3, THIRTY),
    (10**9, 8e-4, THIRTY),
    (2**30, 0.25, TO_THE_DIGIT),
)
def check_choice(V, limit, offers):
    """Question 8: the cheapest offer that is quick enough, by its name."""
    asked = f"choose({V}, {limit:g}, {{{', '.join(offers)}}})"
    took = {name: _takes(V, offers[name]) for name in offers}
    right = _cheapest(offers, limit, took)
    got = student.call("choose", V, limit, offers)
    mistaken = {}
    for how, sentence in MISTAKEN_TIMES:
        other = {name: _takes(V, offers[name], **how) for name in offers}
        choice = _cheapest(offers, limit, other)
        mistaken.setdefault(choice, []).append(sentence)
    likely = []
    for name, seconds in took.items():
        told = f"on {name} it takes {1e6 * seconds:.0f} us, "
        if seconds > limit:
            told += f"and the limit is {1e6 * limit:.0f}"
        else:
            dollars = offers[name][-1], offers[right][-1]
            told += "but {:g} dollars are more than {:g}".format(*dollars)
        if name != right and took[right] == limit:
            told += f"; {right} takes just the limit, which is allowed"
        elif len(mistaken.get(name, ())) == 1:  # else it may be any of them
            told += f"; mind that {mistaken[name][0]}"
        likely.append((name, told))
    compare.equal(asked, got, right, likely)


def _offers(draw):
    """Six offers of as many chips, drawn; V and a limit that some meet."""
    links, dollars = draw.integers(2, 60, 9), draw.permutation(range(20, 90))
    links, dollars = (1e9 * links).tolist(), dollars.tolist()
    offers = {
        "a": ["slice", [3, 15], [False, True], links[0], dollars[0]],
        "b": ["slice", [3, 5, 3], [True, False, False], links[1], dollars[1]],
        "c": ["slice", [45], [True], links[2], dollars[2]],
        "d": ["cluster", 45, 9, 9 * links[3], links[4], dollars[3]],
        "e": ["cluster", 45, 5, links[5], links[6], dollars[4]],
        "f": ["cluster", 45, 45, links[7], links[8], dollars[5]],
    }
    took = sorted(_takes(10**9, offer) for offer in offers.values())
    place = int(draw.integers(1, 5))
    return offers, (took[place] + took[place + 1]) / 2


def grade_choice():
    """Question 8 with other offers."""
    draw = question.draw("choice")
    for _ in range(8):
        offers, limit = _offers(draw)
        check_choice(10**9, limit, offers)


def grade_cluster():
    """Question 8 on other clusters."""
    draw = question.draw("cluster")
    for nodes, node in ((1, 6), (2, 4), (5, 8), (9, 2)):
        V = int(draw.integers(1, 9**6)) * 4
        port, card = draw.integers(1, 99, 2).tolist()
        check_cluster(V, nodes * node, node, port * 1e10, card * 1e10)


# --- 9: one chip for all -----------------------------------------------------


@question.visible("partner", (5,), (6,), (2,))
def check_partner(N):
    """Question 9: parts of chip 0, link by link, stand for those on a link."""
    hops = [
        hop
        for step in ring.all_to_all_steps(N * N, N, directions=1)
        for hop in step
    ]
    on_link = {hop.chunk for hop in hops if hop.source == 0}
    taken = {}
    for hop in hops:
        home, there = hop.chunk
        if home != 0:
            continue
        asked = f"partner({N}, {there}, {hop.source})"
        got = student.call("partner", N, there, hop.source)
        pair = compare.entries(asked, got, 2)
        part = tuple(compare.whole_number(asked, chip) for chip in pair)
        if not set(part) <= set(range(N)):
            compare.wrong(asked, got, f"chips are 0 to {N - 1}")
        if part not in on_link:
            compare.wrong(asked, got, "your part does not cross link 0")
        if part in taken:
            compare.wrong(
                asked,
                got,
                "you gave this part already, for the one to chip "
                f"{taken[part][0]} on link {taken[part][1]}",
            )
        taken[part] = (there, hop.source)


@functools.cache
def _on_links(N):
    """Parts that cross each link of a line in an AllToAll."""
    return ring.bytes_per_link(ring.all_to_all_steps(N * N, N, wrap=False))


def _on_line(i, N):
    """Parts that cross the link from chip i to the next, on a line."""
    return _on_links(N)[i, 0, 1] if 0 <= i < N - 1 else 0


def _formula(name):
    """The student's formula, refused if a product lacks its sign."""
    got = student.expression(name)
    if re.search(r"\)\s*\(|\b[Nik]\s*\(", got):
        compare.wrong(name, got, "a product is written with *")
    return got


LINK_PARTS = [
    ("N - 1 - i", "you count one chip's parts; i + 1 chips send across"),
    ("i*(N - i)", "you number chips from 1; the link is after chip i"),
    ("(i + 1)*(N - i)", "you let chip i receive, too; it sends"),
    ("2*(i + 1)*(N - 1 - i)", "you count both directions"),
    ("i + 1", "you count what one chip receives over it"),
    ("N*(N - 1)/2", "you let one chip speak for all; on a line it cannot"),
    ("(N - 1)", "you count one chip's parts"),
]
BUSIEST_PARTS = [
    ("N**2/4", "you cut an odd line in two equal halves"),
    ("N*(N - 1)/2", "you let one chip speak for all; on a line it cannot"),
    ("N - 1", "you look at an end; in an AllToAll it is not the busiest"),
    ("(N**2 - 1)/4", "you have odd N alone in mind"),
    ("2*floor(N**2/4)", "you count both directions"),
    ("N**2/2", "you count both directions"),
    ("floor(N**2/8)", "you count a ring; on a line all goes one way"),
]


@question.visible("link_parts and busiest_parts", (range(2, 13),))
def check_line(sizes):
    """Question 9: on a line links differ; which is the busiest?"""
    compare.formula(
        "link_parts",
        _formula("link_parts"),
        "i N",
        _on_line,
        [(i, n) for n in sizes for i in range(n - 1)],
        likely=LINK_PARTS,
    )
    busiest = _formula("busiest_parts")
    if re.search(r"\bi\b", busiest):
        compare.wrong("busiest_parts", busiest, "give it in N alone")
    compare.formula(
        "busiest_parts",
        busiest,
        "N",
        lambda n: max(_on_line(i, n) for i in range(n - 1)),
        sizes,
        likely=BUSIEST_PARTS,
    )


def grade_partner():
    """Question 9 on other rings."""
    for n in (3, 8, 9, 2 * int(question.draw("partner").integers(5, 8))):
        check_partner(n)


def grade_line():
    """Question 9 on longer lines."""
    drawn = question.draw("line").integers(15, 28, 2).tolist()
    check_line(sorted({13, 14, *drawn}))


# --- 10: the sum -------------------------------------------------------------


@functools.cache
def _parts(N, ties="split", directions=2):
    """Parts on the busiest link, one way, of an AllToAll on a ring."""
    if N < 2:
        return Fraction(0)
    # All chips, or one for all.
    way = {"ties": ties, "directions": directions, "symmetry": N > 8}
    run = ring.all_to_all(2 * N * N, N, link_bw=1, **way)
    return Fraction(int(run.bytes_on_link.max()), 2)


NOT_IN_A_SUM = {"Min", "Max", "Piecewise", "Abs"}
MISTAKEN_SUMS = [
    ("N*(N + 2)/8", "your opposite part goes one way whole; here it is split"),
    ("N*(N - 2)/8", "you send nothing to the opposite chip"),
    ("N**2/8", "you split the opposite part, or have even N in mind"),
    ("(N**2 - 1)/8", "you have odd N in mind"),
    ("N*(N - 1)/2", "you send all parts one way round"),
    ("N**2/4", "you count both directions together"),
    ("(N**2 - 1)/4", "you count both directions together"),
    ("N*(N + 2)/4", "you count both directions together"),
    ("(N + 1)*(N + 3)/8", "your farthest chip is (N + 1)/2 away; none is"),
    ("(N - 1)*(N - 3)/8", "you leave the farthest chips out"),
    ("N/2 - 1 + Rational(1, 2)", "you count parts, not the links they cross"),
    ("N/2", "you count parts, not the links they cross"),
    ("(N - 1)/2", "you count parts, not the links they cross"),
    (
        "N*(N - 2)/8 + Rational(1, 2)",
        "half a part crosses N/2 links as well, which adds N/4",
    ),
]


MISTAKEN_ONE_WAY = [
    ("N*(N + 1)/2", "you send a part to the chip itself, all the way round"),
    ("N**2/2", "you give a limit, for many chips"),
    ("N - 1", "you count parts, not the links they cross"),
    ("N*(N - 1)", "you count each part twice"),
    ("floor(N**2/4)", "your parts go the shorter way; here all go one way"),
    ("floor(N**2/4)/2", "your parts go the shorter way; here all go one way"),
]


MISTAKEN_MEANS = [
    ("(N + 1)/4", "you have odd N in mind"),
    ("N**2/(4*(N - 1))", "you have even N in mind, with one part opposite"),
    ("N/4", "you divide by N; a chip sends N - 1 parts"),
    ("(N**2 - 1)/(4*N)", "you divide by N; a chip sends N - 1 parts"),
    ("(N + 1)/8", "you count one direction, and the parts of both"),
    ("N**2/(8*(N - 1))", "you count one direction, and the parts of both"),
    ("N**2/8", "you give the sum of one direction, not a mean"),
    ("(N**2 - 1)/8", "you give the sum of one direction, not a mean"),
    ("N**2/4", "you give the sum for all parts; what is it for one of them?"),
    ("(N**2 - 1)/4", "you give the sum for all; what is it for one of them?"),
    ("N/2", "you give the way of one part, all round or the farthest"),
    ("(N - 1)/2", "you give the way of the farthest part"),
    ("N*(N + 2)/(4*(N - 1))", "you count the opposite part in both directions"),
    ("N*(N - 2)/(4*(N - 1))", "you leave the opposite part out"),
]


def _sum_itself(name):
    """The student's sum, written as one and without cases."""
    got = student.expression(name)
    used = expression.uses(compare.readable(name, got, "N"))
    if "Sum" not in used:
        compare.wrong(name, got, "write the sum itself, with Sum")
    if used & NOT_IN_A_SUM:
        word = min(used & NOT_IN_A_SUM)
        reason = f"write it without {word}: which distances go this way?"
        compare.wrong(name, got, reason)
    if _hides_a_closed_form(got, 58 if name[:4] in ("even", "tied") else 57):
        compare.wrong(
            name,
            got,
            "your Sum should add up how far single parts go; a closed form "
            "in it, or beside it, is not that",
        )
    return got


def _hides_a_closed_form(formula, N):
    """Whether a formula with sums is large without sums of single ways.

    N  the chips of a ring, many; no part has a longer way
    """
    steps = expression.purse(formula)
    try:
        term = _without_ways(expression.read_formula(formula, "N"), N, steps)
        rest = expression.evaluate(term, {"N": N}, steps)
    except ValueError:  # its value is looked at, and told, afterwards
        return False
    return abs(rest) > N


def _without_ways(term, N, steps):
    """A formula whose sums of many different ways, none beyond N, are 0."""
    if term.op != "Sum":
        parts = (
            _without_ways(part, N, steps)
            if isinstance(part, expression.Term)
            else part
            for part in term.parts
        )
        return term._replace(parts=tuple(parts))
    body, index, *limits = term.parts
    low, high = (int(expression.evaluate(x, {"N": N}, steps)) for x in limits)
    ways = {
        expression.evaluate(body, {"N": N, index: k}, steps)
        for k in range(low, min(high, 2 * N) + 1)
    }
    zero = expression.Term("number", (Fraction(0),))
    many = len(ways) >= N // 4 and max(map(abs, ways)) <= N
    return zero if many else term


@question.visible("the sums and closed forms", ([*range(2, 14), 38, 57, 80],))
def check_sums(sizes):
    """Question 10: parts on the busiest link, in four ways round.

    sizes  rings that are counted
    """
    for name, parities, ties, directions in (
        ("one_way", (0, 1), "split", 1),
        ("odd", (1,), "split", 2),
        ("even", (0,), "split", 2),
        ("tied", (0,), "one_way", 2),
    ):
        likely = MISTAKEN_SUMS
        if name == "tied":
            whole = "your opposite part is split; here it goes one way"
            likely = [("N**2/8", whole), *likely]
        if name == "one_way":
            likely = MISTAKEN_ONE_WAY
        forms = [f"{name}_sum"]
        if name in ("one_way", "tied"):
            forms.append(f"{name}_closed")
        for asked in forms:
            closed = asked.endswith("closed")
            compare.formula(
                asked,
                _formula(asked) if closed else _sum_itself(asked),
                "N",
                functools.partial(_parts, ties=ties, directions=directions),
                [n for n in sizes if n % 2 in parities],
                closed=closed,
                likely=likely,
            )
    for asked, parity in (("odd_mean", 1), ("even_mean", 0)):
        compare.formula(
            asked,
            _formula(asked),
            "N",
            lambda N: 2 * _parts(N) / (N - 1),
            [n for n in sizes if n % 2 == parity],
            closed=True,
            likely=MISTAKEN_MEANS,
        )


def grade_sums():
    """Question 10 on larger rings."""
    halves = question.draw("sums").integers(17, 90, 3).tolist()
    check_sums([14, 15, *(2 * half + odd for half in halves for odd in (0, 1))])


# --- 11: one chip more -------------------------------------------------------


@functools.cache
def _shares(N, ties):
    """By distance, what part of chip 0's parts starts to the right."""
    found = Counter()
    for step in ring.all_to_all_steps(2 * N * N, N, ties=ties):
        for hop in step:
            if hop.source == hop.chunk[0] == 0 and hop.way == 1:
                found[hop.chunk[1]] += Fraction(hop.bytes, 2)
    return found


def _changed(N, ties):
    """By distance, what more of the parts goes to the right on N + 1."""
    before, after = _shares(N, ties), _shares(N + 1, ties)
    every = sorted(before | after)
    gained = {far: after[far] - before[far] for far in every}
    return {far: share for far, share in gained.items() if share}


def _changes(N, ties):
    """The student's changes as a dict: distance -> share."""
    asked = f"changes({N}, {ties!r})"
    got, told = _told_changes(asked, N, ties), {}
    for pair in compare.entries(asked, got, None):
        share, far = compare.numbers(f"a pair of {asked}", pair, 2)
        far = compare.whole_number(f"a distance of {asked}", far)
        if far in told:
            compare.wrong(asked, got, f"you name distance {far} twice")
        told[far] = Fraction(share).limit_denominator(1000)
    return {far: share for far, share in told.items() if share}


def _told_changes(asked, N, ties):
    """What `changes` returns; nothing, for many chips, is told as a mistake."""
    try:
        return student.call("changes", N, ties)
    except NotAnswered:
        if N == 1:
            raise
        raise WrongAnswer(
            f"{asked} returns nothing; where nothing more goes to the right, "
            "an empty list says so"
        ) from None


@question.visible("changes", *product(range(1, 8), ("split", "one_way")))
def check_changes(N, ties):
    """Question 11: which parts are new, or go another way, on N + 1 chips."""
    told, right = _changes(N, ties), _changed(N, ties)
    if told == right:
        return
    asked = f"changes({N}, {ties!r})"
    gives = [[float(share), far] for far, share in told.items()]
    if told == _changed(N, "split" if ties == "one_way" else "one_way"):
        others = "go one way" if ties == "split" else "are split"
        compare.wrong(asked, gives, f"that is right if ties {others}")
    for far in sorted(told | right):
        before, after = _shares(N, ties)[far], _shares(N + 1, ties)[far]
        if told.get(far, 0) != right.get(far, 0):
            compare.wrong(
                asked,
                gives,
                f"you say that {float(told.get(far, 0)):g} more of the part "
                f"for distance {far} goes to the right; it was "
                f"{float(before):g} of it, and becomes {float(after):g}",
            )


MISTAKEN_GROWTH = [
    ("N/4", "you have even N in mind; what is new if N is odd?"),
    ("(N + 1)/4", "you have odd N in mind; what is new if N is even?"),
    ("floor((N + 1)/2)", "your part goes whole; which share of it is new?"),
    ("(N + 1)/2", "your growth is that of two more chips"),
    ("(2*N + 1)/8", "you leave out that even and odd rings differ"),
    ("N", "your growth is that of a ring used one way"),
    ("N/2", "your part goes whole, and you have even N in mind"),
    ("floor(N/2)/2", "your growth leads to N, not from it"),
    ("floor(N**2/4)/2", "you give the sum, not what is added to it"),
    ("floor((N + 1)**2/4)/2", "you give the sum, not what is added to it"),
]
MISTAKEN_TOTALS = [
    ("N**2/8", "you have even N in mind"),
    ("(N**2 - 1)/8", "you have odd N in mind"),
    ("floor(N/2)*floor(N/2 + 1)/2", "your ties go one way"),
    ("floor((N - 1)/2)*floor((N + 1)/2)/2", "you leave the opposite part out"),
    ("floor(N**2/4)", "you count both directions together"),
    ("N*(N - 1)/2", "you send all parts one way round"),
]


def _after(formula, **new):
    """A formula with N replaced, which half stands in."""
    return expression.replaced(formula, "N half", **new)


def _grows(asked, formula, growth, proved):
    """Insist that a formula grows by `growth` from each N to N + 1."""
    for certain in sorted({False, proved}):
        # What is proved then has been seen at all these points before.
        halves = range(1, 2 if certain else 61 if proved else 21)
        for N in ("2*half", "2*half - 1"):
            now = f"({_after(formula, N=N)}) + ({_after(growth, N=N)})"
            compare.identical(
                f"{asked} + growth at N = {N}, which should be {asked} of one "
                "chip more,",
                now,
                _after(formula, N=f"{N} + 1"),
                "half",
                halves,
                proved=certain,
            )


@question.visible("the growth", (range(1, 14),))
def check_growth(sizes):
    """Question 11: the student's own sum grows by the student's own parts.

    Its base is the count for one chip, 0; its step is what `changes` names.

    sizes  rings, that of one chip among them
    """
    total, closed = _sum_itself("total"), student.expression("closed")
    growth = student.expression("growth")
    for asked, formula in (("total", total), ("closed", closed)):
        compare.formula(
            asked,
            formula,
            "N",
            _parts,
            sizes,
            closed=asked == "closed",
            likely=MISTAKEN_TOTALS,
        )
    for N in sizes:
        told, right = (
            sum((far * share for far, share in found.items()), Fraction(0))
            for found in (_changes(N, "split"), _changed(N, "split"))
        )
        if told != right:
            raise WrongAnswer(
                f"changes({N}, 'split'): by yours the sum grows by {told} from "
                f"{N} to {N + 1} chips; links count other parts. Mend changes, "
                "which its own check looks at, before growth"
            )
    compare.formula(
        "growth",
        growth,
        "N",
        lambda N: _parts(N + 1) - _parts(N),
        sizes,
        closed=True,
        likely=MISTAKEN_GROWTH,
    )
    _grows("total", total, growth, proved=False)
    _grows("closed", closed, growth, proved=True)


def grade_changes():
    """Question 11 on larger rings."""
    for n in (8, 11, *question.draw("changes").integers(12, 24, 2).tolist()):
        check_changes(n, "split")
        check_changes(n, "one_way")


def grade_growth():
    """Question 11 on larger rings."""
    drawn = question.draw("growth").integers(8, 24, 3).tolist()
    check_growth([14, 15, *(n + 8 for n in drawn)])


# --- 12: the quarter ---------------------------------------------------------


@functools.cache
def _load(kind, N, **way):
    """Bytes on the busiest link, of an array of 2 N N bytes."""
    steps = getattr(ring, f"{kind}_steps")(2 * N * N, N, **way)
    return Fraction(max(ring.bytes_per_link(steps).values()))


def _times_as_long(N, **way):
    """AllGather over AllToAll, by their busiest links."""
    return _load("all_gather", N, **way) / _load("all_to_all", N, **way)


def _gain(N):
    """How many times less an AllToAll puts on a link both ways round."""
    return _load("all_to_all", N, directions=1) / _load("all_to_all", N)


MISTAKEN_RATIOS = [
    ("4", "you give a limit, for many chips"),
    ("2", "you give the ratio of a ring used one way"),
    ("Rational(1, 2)", "you have it upside down: AllGather over AllToAll"),
    ("2*(N - 1)/(N + 1)", "your sum has a part that goes back to its chip"),
    ("1", "you let both take the same time"),
    ("N/(4*(N - 1))", "you have it upside down: AllGather over AllToAll"),
    ("(N + 1)/(4*N)", "you have it upside down: AllGather over AllToAll"),
    ("(N + 2)/(4*N)", "you have it upside down: AllGather over AllToAll"),
    ("4*(N - 1)/N", "you have even N in mind, with ties split"),
    ("4*N/(N + 1)", "you have odd N in mind"),
    ("4*N/(N + 2)", "you send ties one way"),
    ("4*(N - 1)/(N + 2)", "you split the ties of the AllGather only"),
    ("4*N/(N - 2)", "you leave the opposite part out"),
    ("2*N*(N - 1)/floor(N**2/4)", "you take the AllGather of both directions"),
    ("N*(N - 1)/(2*floor(N**2/4))", "your gather uses two links at the end"),
    ("2*(N - 1)/N", "you have half of it: count one direction in both"),
    ("2*N/(N + 1)", "you have half of it: count one direction in both"),
]


# What a formula shows in one place, and not in the others.
MISTAKEN_HERE = {
    "one_way_ratio": [
        ("4", "you think of a ring used both ways; here all go one way")
    ],
    "tied_ratio": [
        ("4", "you give a limit, or send ties of the AllGather alone one way")
    ],
    "line_ratio": [
        ("4*(N - 1)/N", "you have even N in mind"),
        ("4*N/(N + 1)", "you have odd N in mind"),
        (
            "N*(N - 1)/(2*floor(N**2/4))",
            "your gather uses two links at the end, or your AllToAll is "
            "counted in both directions",
        ),
    ],
}
MISTAKEN_GAINS = [
    ("4", "you give a limit, for many chips"),
    ("2", "you give the gain of an AllGather"),
    ("4*(N - 1)/(N + 2)", "you send ties one way"),
    ("4*(N - 1)/(N - 2)", "you leave the opposite part out"),
    ("N/(4*(N - 1))", "you have it upside down: how many times less"),
    ("(N + 1)/(4*N)", "you have it upside down: how many times less"),
    ("4*(N - 1)/N", "you have even N in mind"),
    ("4*N/(N + 1)", "you have odd N in mind"),
    ("2*(N - 1)/N", "you count both directions together"),
    ("2*N/(N + 1)", "you count both directions together"),
]


@question.visible("the ratios and fewest", (range(2, 12),))
def check_quarter(sizes, *extra):
    """Question 12: AllGather over AllToAll, and rings where it is nearly 4.

    sizes  rings and lines that are counted
    extra  hundredths of four, besides the usual ones
    """
    ratios = {
        "even_ratio": (0, {}),
        "odd_ratio": (1, {}),
        "tied_ratio": (0, {"ties": "one_way"}),
        "line_ratio": (None, {"wrap": False}),
    }
    counts = {
        "one_way_ratio": (None, {"directions": 1}),
        "even_gain": (0, None),
        "odd_gain": (1, None),
        **ratios,
    }
    for name, (parity, way) in counts.items():
        gains = way is None
        count_of = _gain if gains else functools.partial(_times_as_long, **way)
        compare.formula(
            name,
            student.expression(name),
            "N",
            count_of,
            [n for n in sizes if parity in (None, n % 2)],
            closed=True,
            likely=[
                *MISTAKEN_HERE.get(name, []),
                *(MISTAKEN_GAINS if gains else MISTAKEN_RATIOS),
            ],
        )
    limit = student.expression("gain_limit")
    for name in ("even_gain", "odd_gain"):
        grows = student.expression(name)
        likely = [
            ("2", "you give the gain of an AllGather"),
            ("1/4", "you have it upside down: how many times less"),
        ]
        compare.limit("gain_limit", limit, grows, "N", "N", likely)
    for percent in (40, 50, 51, 60, 75, 80, 84, 90, *extra):
        _check_fewest(percent)


def _check_fewest(percent):
    """The smallest ring whose ratio is so many hundredths of four."""

    def enough(N):
        return 100 * _times_as_long(N) >= 4 * percent

    asked, got = f"fewest({percent})", student.call("fewest", percent)
    right = next(N for N in itertools.count(2) if enough(N))
    even = next(N for N in itertools.count(2, 2) if enough(N))
    odd = next(N for N in itertools.count(3, 2) if enough(N))
    more = next(
        N for N in itertools.count(2) if _times_as_long(N) * 25 > percent
    )
    likely = [
        (even, "an odd ring gets there with fewer chips"),
        (odd, "an even ring gets there with fewer chips"),
        (more, '"at least" is reached with fewer chips'),
        (right - 1, "yours has not got there yet"),
        (-(-100 // (100 - percent)), "an odd ring gets there sooner"),
        (-(-percent // (100 - percent)), "you have odd rings in mind, alone"),
    ]
    given = compare.whole_number(asked, got)
    if given > right:
        likely.append((given, "a smaller ring gets there"))
    elif given < right:
        likely.append((given, "yours has not got there yet"))
    compare.equal(asked, got, right, likely)


def grade_quarter():
    """Question 12 on larger rings and lines."""
    halves = question.draw("quarter").integers(7, 12, 2).tolist()
    more = question.draw("fewest").integers(51, 95, 3).tolist()
    check_quarter(
        [12, 13, *(2 * half + odd for half in halves for odd in (0, 1))], *more
    )
