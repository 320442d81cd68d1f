"""Set 02, collectives: what they do to layouts, made of messages, counted.

Programs are exported by JAX, and their messages counted in what was exported.
Layouts are found by slicing a matrix for every device and trying all of them;
formulas are held against messages that are sent one by one.
"""

from collections import Counter
from fractions import Fraction
from itertools import product

import jax
import numpy as np
from jax import P, lax
from jax.sharding import AxisType, NamedSharding

from shardlab import count
from shardlab.checks import compare, program, question, student
from shardlab.checks.matrices import layouts
from shardlab.checks.question import WrongAnswer

__all__ = [
    "check_all_reduce",
    "check_both_ways",
    "check_edits",
    "check_exchange",
    "check_formulas",
    "check_gradient",
    "check_line_gather",
    "check_line_scatter",
    "check_matrices",
    "check_plans",
    "grade_all_reduce",
    "grade_both_ways",
    "grade_edits",
    "grade_exchange",
    "grade_formulas",
    "grade_gradient",
    "grade_line_gather",
    "grade_line_scatter",
    "grade_matrices",
    "grade_plans",
]

# --- 1: collectives as edits -------------------------------------------------

SIZES = {"X": 2, "Y": 3}


def _weight(axis, place, n):
    """What a term of a sum is times the whole; over n devices they give 1."""
    number = place + 2 + 3 * (axis == "Y")
    others = sum(range(2, n + 1)) + 3 * (n - 1) * (axis == "Y")
    return number if place < n - 1 else 1 - others


def _blocks(cuts, sums, sizes=SIZES, side=36):
    """What each device (x, y) holds of a matrix that lies so, by slicing."""
    held = {}
    for place in product(*map(range, sizes.values())):
        at = dict(zip(sizes, place, strict=True))
        block = np.arange(side * side).reshape(side, side)
        for dim, letters in enumerate(cuts):
            for axis in letters:
                block = np.split(block, sizes[axis], dim)[at[axis]]
        for axis in sums:
            block = block * _weight(axis, at[axis], sizes[axis])
        held[place] = block
    return held


def _moved(held, cuts, collective, axis, dim):
    """What each device holds after a collective, by NumPy; None for nothing."""
    number, new = list(SIZES).index(axis), {}
    cut = [d for d, letters in enumerate(cuts) if axis in letters]
    if collective in ("AllGather", "AllToAll") and not cut:
        return None
    for place in held:
        group = [held[p] for p in held if p[1 - number] == place[1 - number]]
        n, me = len(group), place[number]
        if collective == "AllGather":
            new[place] = np.concatenate(group, cut[0])
        elif collective == "AllToAll":
            parts = [np.split(block, n, dim)[me] for block in group]
            new[place] = np.concatenate(parts, cut[0])
        elif collective == "ReduceScatter":
            new[place] = np.split(sum(group), n, dim)[me]
        else:
            new[place] = sum(group)
    return new


def _found(held):
    """The layout in which devices hold just this, tried one by one."""
    for cuts, sums in layouts(SIZES):
        other = _blocks(cuts, sums)
        if all(np.array_equal(held[p], other[p]) for p in held):
            return [cuts, sums]
    return "illegal"


def _why_illegal(cuts, sums, collective, axis, dim):
    """Why what devices then hold is no layout, said to who gave one."""
    if collective in ("AllReduce", "ReduceScatter"):
        return f"you add over {axis}, along which no sum is outstanding"
    own = [letters for letters in cuts if axis in letters]
    if not own:
        return f"you remove a letter {axis} that cuts nothing"
    if own[0][-1] != axis:
        return (
            f"you take {axis} out of {own[0]}; it is not the last letter, so "
            "that the blocks put together are not consecutive"
        )
    return (
        f"you let {axis} move to where it is; devices then hold a part of "
        "every block, and that is no layout"
    )


def _mistaken_edits(cuts, sums, collective, axis, dim):
    """Layouts that mistakes give, with the mistakes."""
    without = [letters.replace(axis, "") for letters in cuts]
    left = sums.replace(axis, "")

    def added(places, before=False):
        new = list(places)
        new[dim] = axis + new[dim] if before else new[dim] + axis
        return new

    likely = [([cuts, sums], "you changed nothing")]
    if collective == "ReduceScatter":
        likely += [
            ([cuts, left], f"you lost the {axis} that a ReduceScatter adds"),
            ([added(cuts), sums], f"your sum over {axis} is still outstanding"),
            ([added(cuts, True), left], FIRST),
        ]
    if collective == "AllToAll":
        likely += [
            ([added(without, True), sums], FIRST),
            ([added(cuts), sums], f"your {axis} stays where it was, too"),
            ([without, sums], f"your {axis} is gone; an AllToAll moves it"),
        ]
    if collective == "AllGather":
        likely.append(([without, left], "a gather adds up no sums; yours did"))
    if collective == "AllReduce":
        likely.append(([without, left], "you gathered as well as added"))
    return likely


FIRST = "you put the new letter first; it cuts what the others left, so last"


@question.visible(
    "edited",
    (["X", ""], "", "AllGather", "X", 0),
    (["X", ""], "Y", "AllReduce", "Y", 0),
    (["X", ""], "Y", "ReduceScatter", "Y", 1),
    (["X", ""], "Y", "ReduceScatter", "Y", 0),
    (["X", ""], "", "AllToAll", "X", 1),
    (["X", "Y"], "", "AllToAll", "X", 1),
    (["X", ""], "", "AllReduce", "Y", 0),
    (["Y", ""], "", "AllGather", "X", 0),
    (["XY", ""], "", "AllGather", "Y", 0),
    (["XY", ""], "", "AllGather", "X", 0),
    (["", "YX"], "", "AllToAll", "Y", 0),
    (["X", ""], "", "AllToAll", "X", 0),
    (["X", ""], "", "ReduceScatter", "X", 1),
    (["Y", ""], "X", "AllToAll", "X", 1),
)
def check_edits(cuts, sums, collective, axis, dim):
    """Question 1: the layout that a collective over one axis leaves."""
    asked = f"edited({cuts}, {sums!r}, {collective!r}, {axis!r}, {dim})"
    got = student.call("edited", cuts, sums, collective, axis, dim)
    after = _moved(_blocks(cuts, sums), cuts, collective, axis, dim)
    counted = "illegal" if after is None else _found(after)
    if counted == "illegal" and not isinstance(got, str):
        reason = _why_illegal(cuts, sums, collective, axis, dim)
        compare.wrong(asked, got, reason)
    if counted == "illegal":
        compare.equal(asked, got, counted)
        return
    if isinstance(got, str):
        reason = "you refuse this one; what devices then hold is a layout"
        compare.wrong(asked, got, reason)
    new = compare.entries(asked, got, 2)
    if not isinstance(new[1], str):
        compare.wrong(asked, got, "its second entry should be text")
    left = "".join(sorted(new[1]))
    likely = _mistaken_edits(cuts, sums, collective, axis, dim)
    names = ("cuts", "outstanding sums")
    compare.equal(asked, [new[0], left], counted, likely, names)


def grade_edits():
    """Question 1 with other layouts, and some of all there are."""
    draw = question.draw("edits")
    kinds = ("AllGather", "ReduceScatter", "AllReduce", "AllToAll")
    cases = [
        (["", "YX"], "", "AllToAll", "X", 0),
        (["X", "Y"], "", "AllToAll", "Y", 0),
        (["", ""], "XY", "AllReduce", "X", 1),
        (["X", ""], "", "ReduceScatter", "X", 1),
        (["Y", ""], "X", "AllToAll", "X", 1),
        (["Y", ""], "X", "AllGather", "X", 1),
    ]
    every = list(layouts(SIZES))
    for number in draw.choice(len(every), 9, replace=False).tolist():
        cuts, sums = every[number]
        kind, axis = kinds[draw.integers(4)], "XY"[draw.integers(2)]
        cases.append((cuts, sums, kind, axis, int(draw.integers(2))))
    for case in cases:
        check_edits(*case)


# --- 2 to 4: lines and rings -------------------------------------------------


def _small_messages(asked, answer, most, reason):
    """Insist that no message of a program is larger than `most` bytes."""
    for hop in answer.collectives():
        if hop.volume > most:
            raise WrongAnswer(
                f"{asked}: your message has {hop.volume} bytes, and {most} "
                f"are enough: {reason}"
            )


def _one_way(asked, answer, N):
    """Insist that all messages go to one neighbour on a ring of N chips."""
    ways = set()
    for hop in answer.collectives():
        pairs = program.pairs(asked, hop)
        ways |= {(there - here) % N for here, there in pairs}
    if not ways <= {1} and not ways <= {N - 1}:
        raise WrongAnswer(
            f"{asked}: your messages go {sorted(ways)} places on round the "
            "ring; each chip has a wire to one neighbour, always the same"
        )


def _numbers(shape, seed):
    """Whole numbers of float32 whose sums are exact in any order.

    They have more digits than bf16, float16 or int16 hold: what is sent in
    half of the bytes does not arrive.
    """
    draw = np.random.default_rng(seed)
    return draw.integers(-99_999, 100_000, shape).astype(np.float32)


def _line_wires(asked, answer, N, unit, what):
    """Insist on messages between neighbours on a line, N - 1 a wire each way.

    unit, what  bytes of one, and its name, such as "blocks"
    """
    wires = Counter()
    for hop in answer.collectives():
        for here, there in program.pairs(asked, hop):
            wires[here, there] += hop.volume * hop.times
    for (here, there), carried in wires.items():
        if abs(here - there) != 1:
            raise WrongAnswer(
                f"{asked}: you send from chip {here} to chip {there}; a line "
                "has wires between neighbours only"
            )
        if carried > (N - 1) * unit:
            raise WrongAnswer(
                f"{asked}: you send {carried / unit:g} {what} from chip "
                f"{here} to chip {there}, and {N - 1} are enough"
            )


@question.visible("line_gather", (5, 6, 2), (3, 2, 4), (2, 1, 3))
def check_line_gather(N, rows, width, seed=0):
    """Question 2: columns gathered along a line, one block a message.

    N            devices
    rows, width  sizes of one device's block
    seed         of its entries
    """
    asked, x = f"line_gather on {N} devices", _numbers((rows, N * width), seed)
    block = x.nbytes // N
    request = program.request(
        x, mesh={"X": N}, in_specs=P(None, "X"), out_specs=P("X")
    )
    answer = student.program("line_gather", request)
    if "all_reduce" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you made an AllGather of an AllReduce (psum): it adds "
            "up zeros and sends twice the bytes; pass blocks on instead"
        )
    answer.allow("ppermute")
    reason = "pass on one block, not what has been gathered"
    _small_messages(asked, answer, block, reason)
    _line_wires(asked, answer, N, block, "blocks")
    blocks = np.split(x, N, axis=1)

    def on_all(block_at):
        """All devices' results, of which place k has block_at(device, k)."""
        numbers = [[block_at(d, k) for k in range(N)] for d in range(N)]
        held = [
            [blocks[n] if 0 <= n < N else 0 * blocks[0] for n in device]
            for device in numbers
        ]
        return np.concatenate([np.concatenate(row, axis=1) for row in held])

    gone = "where you have zeros, none came or they lie on what came before: "
    left = gone + "blocks from the {} of a chip reach it only {}"
    right = left.format("right", "by messages to the left")
    left = left.format("left", "by messages to the right")
    whole = on_all(lambda d, k: k)
    mine = whole - on_all(lambda d, k: k if k != d else -1)
    compare.close(
        asked,
        answer.run(x),
        whole,
        likely=[
            (on_all(lambda d, k: k if k <= d else -1), right),
            (on_all(lambda d, k: k if k >= d else -1), left),
            (
                on_all(lambda d, k: -1 if 0 < 2 * abs(k - d) < N else k),
                "zeros lie on blocks that came before: chips near an end "
                "receive zeros, and yours put them in a place",
            ),
            (
                on_all(lambda d, k: 2 * d - k),
                "your streams are exchanged: what comes from the left is of "
                "chips with smaller numbers",
            ),
            (whole + mine, "you add a chip's own block twice"),
        ],
        show=True,
        place=compare.on_devices(rows),
    )


def _seed(draw):
    """A seed for the arrays of one case."""
    return int(draw.integers(2**31))


def grade_line_gather():
    """Question 2 on other lines."""
    draw = question.draw("line_gather")
    for devices in (4, 7, 8):
        rows, width = draw.integers(1, 5, 2).tolist()
        check_line_gather(devices, rows, width, _seed(draw))


def _wires(asked, answer, N):
    """Bytes over each wire of a ring each way, and the messages each way."""
    wires, messages = Counter(), Counter()
    for hop in answer.collectives():
        lead = set()
        for here, there in program.pairs(asked, hop):
            shifts = {"next": 1 % N, "previous": (N - 1) % N}
            ways = [w for w, far in shifts.items() if (there - here) % N == far]
            if not ways:
                raise WrongAnswer(
                    f"{asked}: you send from chip {here} to chip {there}, and "
                    "no wire leads there"
                )
            for way in ways:  # both, on a ring of two
                wires[here, way] += hop.volume * hop.times / len(ways)
                lead.add((way, 1 / len(ways)))
        for way, share in lead:
            messages[way] += hop.times * share
    return wires, messages


@question.visible("gather_both_ways", (4, 2, 6), (5, 2, 4), (2, 1, 2))
def check_both_ways(N, rows, columns, seed=0):
    """Question 3: rows gathered on a ring whose wires are used both ways.

    N        devices
    rows     of one device's block
    columns  an even number
    seed     of the entries
    """
    from shardlab import ring

    asked = f"gather_both_ways on {N} devices"
    x = _numbers((N * rows, columns), seed)
    block = x.nbytes // N
    request = program.request(
        x, mesh={"X": N}, in_specs=P("X"), out_specs=P("X")
    )
    answer = student.program("gather_both_ways", request)
    answer.allow("ppermute")
    reason = "pass on one block, not what has been gathered"
    _small_messages(asked, answer, block, reason)
    wires, messages = _wires(asked, answer, N)
    fewest = ring.all_gather_steps(x.nbytes, N)
    enough = max(ring.bytes_per_link(fewest).values())
    if max(wires.values(), default=0) > enough:
        raise WrongAnswer(
            f"{asked}: your busiest wire carries "
            f"{max(wires.values()) / block:g} blocks one way, and "
            f"{enough / block:g} are enough if both ways share"
        )
    answer.exactly(sent=x.nbytes - block)
    if max(messages.values(), default=0) > N // 2:
        raise WrongAnswer(
            f"{asked}: you send {max(messages.values()):g} messages one after "
            f"the other the same way, and {N // 2} are enough: no chip is "
            "farther away than that"
        )
    whole = np.tile(x, (N, 1))
    compare.close(
        asked,
        answer.run(x),
        whole,
        likely=_mistaken_both(x, N),
        show=True,
        place=compare.on_devices(len(x)),
    )


def _mistaken_both(x, N):
    """What mistakes of question 3 return on all devices, with the mistake."""
    blocks, swapped = np.split(x, N), []
    for device in range(N):
        copies = list(blocks)
        far = (device + N // 2) % N
        if N % 2 == 0:
            copies[far] = np.roll(blocks[far], x.shape[1] // 2, axis=1)
        swapped += copies
    nearest = [blocks[(d - k) % N] for d in range(N) for k in range(N)]
    return [
        (
            np.concatenate(swapped),
            "you put the halves of the opposite block the wrong way round",
        ),
        (
            np.concatenate(nearest),
            "you left the blocks in the order of their distance",
        ),
    ]


def grade_both_ways():
    """Question 3 on other rings."""
    draw = question.draw("both_ways")
    for devices in (3, 6, 7, 8):
        rows, half = draw.integers(1, 5, 2).tolist()
        check_both_ways(devices, rows, 2 * half, _seed(draw))


@question.visible("line_reduce_scatter", (5, 2, 4), (3, 1, 5), (2, 2, 2))
def check_line_scatter(N, rows, columns, seed=0):
    """Question 4: terms added up along a line, one piece a message.

    N        devices
    rows     of one device's piece
    columns  of all pieces
    seed     of the terms
    """
    terms = _numbers((N, N * rows, columns), seed)
    asked, piece = f"line_reduce_scatter on {N} devices", terms[0].nbytes // N
    x = np.concatenate(terms)
    request = program.request(
        x, mesh={"X": N}, in_specs=P("X"), out_specs=P("X")
    )
    answer = student.program("line_reduce_scatter", request)
    if "all_gather" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you gather: every device gets all the terms, and adds "
            "up what others add up too"
        )
    if "all_reduce" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you use an AllReduce (psum): every device gets all of "
            "the sum, and throws most of it away"
        )
    answer.allow("ppermute")
    reason = "only a piece travels, and collects its terms"
    _small_messages(asked, answer, piece, reason)
    _line_wires(asked, answer, N, piece, "pieces")
    total = terms.sum(0)
    compare.close(
        asked,
        answer.run(x),
        total,
        likely=_mistaken_lines(terms, N),
        show=True,
        place=compare.on_devices(rows),
    )


def _mistaken_lines(terms, N):
    """What mistakes of question 4 return, with the mistake."""
    total = terms.sum(0)
    pieces = np.stack([np.split(term, N) for term in terms])
    own = np.concatenate([pieces[d][d] for d in range(N)])
    rows = len(total) // N
    left = [pieces[: d + 1, d].sum(0) for d in range(N)]
    right = [pieces[d:, d].sum(0) for d in range(N)]
    return [
        (terms[0], "you return one device's term; others are missing"),
        (own, "you return each chip's own term; others are missing"),
        (total + own, "you add a chip's own term twice"),
        (total - own, "you leave a chip's own term out"),
        (np.concatenate(left), "you add the terms on the left of a chip only"),
        (np.concatenate(right), "you add the terms on its right only"),
        (total - np.concatenate(left), "you add the terms on its right only"),
        (total - np.concatenate(right), "you add those on its left only"),
        (np.roll(total, rows, 0), "your sums are each one chip too far on"),
        (np.roll(total, -rows, 0), "your sums are each one chip behind"),
        (
            _exchanged(pieces, N),
            "your streams meet the wrong pieces: the one to the right begins "
            "with the piece that goes farthest",
        ),
    ]


def _exchanged(pieces, N):
    """What chips return if each stream adds the pieces of the other's."""
    kept = []
    for d in range(N):
        there = sum(pieces[d - j][(d - 2 * j) % N] for j in range(d + 1))
        back = sum(pieces[d + j][(d + 2 * j) % N] for j in range(N - d))
        kept.append(there + back - pieces[d][d])
    return np.concatenate(kept)


def grade_line_scatter():
    """Question 4 on other lines."""
    draw = question.draw("line_scatter")
    for devices in (2, 4, 8):
        rows, columns = draw.integers(1, 4, 2).tolist()
        check_line_scatter(devices, rows, columns, _seed(draw))


# --- 5 to 7: sums and exchanges ----------------------------------------------


KINDS = {"reduce_scatter": "psum_scatter", "all_gather": "all_gather"}


@question.visible(
    "all_reduce", (4, [5, 3]), (4, [8, 2]), (3, [7]), (5, [2, 3, 1])
)
def check_all_reduce(N, shape, seed=0):
    """Question 5: an AllReduce of terms of this shape in two halves."""
    asked = f"all_reduce of {tuple(shape)} on {N} devices"
    terms = _numbers((N, *shape), seed)
    x = np.concatenate(terms)
    request = program.request(x, mesh={"X": N}, in_specs=P("X"), out_specs=P())
    answer = student.program("all_reduce", request)
    if set(answer.kinds()) == {"all_gather"}:
        raise WrongAnswer(
            f"{asked}: you gather without scattering first: every device gets "
            "all the terms, and adds up what others add up too"
        )
    answer.allow("psum_scatter", "all_gather")
    answer.uses("psum_scatter", "all_gather")
    most = (N - 1) * -(-terms[0].size // N) * x.itemsize
    for kind, name in KINDS.items():
        moves = [c for c in answer.collectives() if c.kind == kind]
        if (sent := count.sent(moves)) > most:
            raise WrongAnswer(
                f"{asked}: a device sends {sent:,} bytes by {name}, and "
                f"{most:,} are enough: with fewer than N zeros more, N cuts "
                "the numbers evenly"
            )
    total = terms.sum(0)
    compare.close(
        asked,
        answer.run(x),
        total,
        terms=N,
        likely=[
            (total / N, "you give the mean"),
            (total * N, f"yours is {N} times the sum"),
            (terms[0], "you give one device's term"),
            *_mistaken_padding(total, N),
        ],
        show=True,
    )


def _mistaken_padding(total, N):
    """What mistakes with the padding of question 5 return."""
    flat, missing = total.ravel(), -total.size % N
    cut = flat[: flat.size // N * N]
    front = np.pad(flat, (missing, 0))[: flat.size]
    return [
        (
            np.pad(cut, (0, flat.size - cut.size)).reshape(total.shape),
            "the numbers at the end, which N does not divide, are lost",
        ),
        (
            front.reshape(total.shape),
            "you pad in front and take it off at the end",
        ),
    ]


def grade_all_reduce():
    """Question 5 with other shapes."""
    draw = question.draw("in_two")
    for N in (2, 3, 7, 8):
        shape = draw.integers(1, 8, int(draw.integers(1, 4))).tolist()
        check_all_reduce(N, [2 * N + 1, *shape[1:]], _seed(draw))
        check_all_reduce(N, shape, _seed(draw))


@question.visible("exchange", (5, 2, 2), (3, 1, 4))
def check_exchange(N, rows, width, seed=0):
    """Question 6: an AllToAll from columns to rows on a ring, one way.

    N      devices
    rows   of a block afterwards
    width  of a block before
    seed   of the entries
    """
    x = _numbers((N * rows, N * width), seed)
    asked, part = f"exchange on {N} devices", x.nbytes // N**2
    request = program.request(
        x, mesh={"X": N}, in_specs=P(None, "X"), out_specs=P("X")
    )
    answer = student.program("exchange", request)
    if "all_gather" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you gather: every device gets the whole array, and "
            "throws most of it away"
        )
    answer.allow("ppermute")
    _one_way(asked, answer, N)
    hops = answer.collectives()
    parts = sum(hop.volume * hop.times for hop in hops) / part
    if parts > N * (N - 1) / 2:
        raise WrongAnswer(
            f"{asked}: you send {parts:g} parts over each wire, and "
            f"{N * (N - 1) // 2} are enough: a part that has arrived need not "
            "travel on, nor an empty place"
        )
    if (messages := sum(hop.times for hop in hops)) > N - 1:
        raise WrongAnswer(
            f"{asked}: you send {messages:g} messages one after the other, and "
            f"{N - 1} are enough: parts that have the same way left can go "
            "together"
        )
    table = [np.split(block, N) for block in np.split(x, N, axis=1)]

    def on_all(sender, part):
        """All results: place k has a part of the block of a sender."""
        return np.concatenate(
            [
                np.concatenate(
                    [table[sender(d, k) % N][part(d, k) % N] for k in range(N)],
                    axis=1,
                )
                for d in range(N)
            ]
        )

    arrival = "you left the parts in the order of their arrival"
    compare.close(
        asked,
        answer.run(x),
        x,
        likely=[
            (on_all(lambda d, k: d + k + 1, lambda d, k: d), arrival),
            (on_all(lambda d, k: d - k - 1, lambda d, k: d), arrival),
            (on_all(lambda d, k: d + k, lambda d, k: d), arrival),
            (on_all(lambda d, k: d - k, lambda d, k: d), arrival),
            (
                on_all(lambda d, k: k, lambda d, k: 2 * k - d),
                "you send each device the part of another one: what is sent "
                "first, to go N - 1 places on, is for the chip before",
            ),
            (
                on_all(lambda d, k: k, lambda d, k: k),
                "you send each device your own part, not its part",
            ),
            (
                on_all(lambda d, k: 2 * d - k, lambda d, k: d),
                "your parts stand in the reverse order round your own",
            ),
            (
                on_all(lambda d, k: k + 1, lambda d, k: d),
                "your parts all stand one place too far on the left",
            ),
            (
                on_all(lambda d, k: k - 1, lambda d, k: d),
                "your parts all stand one place too far on the right",
            ),
            (
                np.concatenate([x[d::N] for d in range(N)]),
                "you deal the rows out one by one; a part is consecutive rows",
            ),
        ],
        show=True,
        place=compare.on_devices(rows),
    )


def grade_exchange():
    """Question 6 on other rings."""
    draw = question.draw("exchange")
    for devices in (2, 4, 8):
        rows, width = draw.integers(1, 4, 2).tolist()
        check_exchange(devices, rows, width, _seed(draw))


@question.visible("gradient", (8, 3, 4, 2), (3, 2, 5, 4))
def check_gradient(N, rows, D, F, seed=7):
    """Question 7: the gradient of a mean over the real rows of all devices.

    N     devices
    rows  of each device; the first has none that is real, the last has all
    D, F  sizes of W
    seed  of a batch whose gradient has positive entries only
    """
    asked, draw = f"gradient on {N} devices", np.random.default_rng(seed)
    In, W = draw.uniform(1, 2, (N * rows, D)), draw.uniform(1, 2, (D, F))
    Target = -draw.uniform(1, 2, (N * rows, F))
    many = [0, *draw.integers(1, rows + 1, N - 2), rows]
    real = np.concatenate([np.arange(rows) < n for n in many])
    In, Target, Real, W = (x.astype(np.float32) for x in (In, Target, real, W))
    request = program.request(
        In,
        Target,
        Real,
        W,
        mesh={"X": N},
        in_specs=(P("X"), P("X"), P("X"), P()),
        out_specs=P(),
    )
    answer = student.program("gradient", request)
    answer.allow("psum")
    error = In.astype(float) @ W - Target
    terms = 2 / F * In[:, :, None] * error[:, None, :]
    total = terms[real].sum(0)
    dW = total / real.sum()
    each = np.split(terms * Real[:, None, None], N)
    own = sum(t.sum(0) / max(n, 1) for t, n in zip(each, many, strict=True))
    compare.close(
        asked,
        answer.run(In, Target, Real, W),
        dW,
        terms=N * rows + D,  # an entry's products, each with an error of D
        likely=[
            (
                own / N,
                "you take the mean of the devices' means; in it a row counts "
                "the more, the fewer real ones its device has",
            ),
            (own, "you add the devices' means"),
            (total / len(real), "you divide by all rows, padding as well"),
            (terms.mean(0), "you take padding for real rows"),
            (terms.sum(0) / real.sum(), "you add the errors of padding, too"),
            (dW * F, "you divide by rows alone; the mean is over columns, too"),
            (total * F, "you give the gradient of a sum, not of a mean"),
            (N * dW, f"yours is {N} times too large: summed twice"),
            (dW / N, f"yours is {N} times too small: a sum is not averaged"),
        ],
        show=True,
    )
    answer.at_most(volume=2 * W.nbytes + 8)  # and one number


def grade_gradient():
    """Question 7 with other batches."""
    draw = question.draw("gradient")
    for devices in (3, 4, 5):
        check_gradient(devices, *draw.integers(2, 6, 3).tolist(), _seed(draw))


# --- 8 and 9: matrices and formulas ------------------------------------------


def _bodies(rows, width):
    """Local functions of vectors in columns, of blocks [rows, width]."""

    def gather(x):
        blocks = x.reshape(rows, width, -1)
        whole = lax.all_gather(blocks, "X", axis=1, tiled=True)
        return whole.reshape(-1, x.shape[1])

    def scatter(x):
        terms = x.reshape(rows, -1, x.shape[1])
        piece = lax.psum_scatter(terms, "X", scatter_dimension=1, tiled=True)
        return piece.reshape(-1, x.shape[1])

    def exchange(x):
        return lax.all_to_all(x, "X", split_axis=0, concat_axis=0, tiled=True)

    return {
        "all_gather": gather,
        "reduce_scatter": scatter,
        "all_to_all": exchange,
    }


def _tried(body, N, size):
    """The matrix of JAX's collective, from what it makes of unit vectors."""
    mesh = jax.make_mesh((N,), ("X",), axis_types=(AxisType.Auto,))
    vectors = np.eye(size, dtype=np.float32)  # a unit vector in each column
    x = jax.device_put(vectors, NamedSharding(mesh, P("X")))
    run = jax.shard_map(body, mesh=mesh, in_specs=P("X"), out_specs=P("X"))
    return np.asarray(jax.jit(run)(x))


def _mistaken_matrices(right, N, rows, width):
    """Matrices that mistakes give, with the mistakes."""
    vector, numbers = np.eye(N * rows * width), np.arange(N * rows * width)
    copy = numbers.reshape(N, rows, width).swapaxes(0, 1).ravel()
    along_rows = np.tile(vector, (N, 1))
    turned = np.tile(vector[np.argsort(copy)], (N, 1))
    repeated = np.repeat(vector, N, axis=0)
    rows_cut = (
        "you leave each block in one piece, as if rows were cut; columns are, "
        "so that a row of the whole has a row of each block"
    )
    backwards = "your permutation is turned round, and takes a whole for blocks"
    each = "you repeat each number; copies of all of them lie one by one"
    parts = np.arange(len(right)).reshape(N, -1)
    return [
        (right.T, "you gave the transpose"),
        (right / N, "you take a mean; terms are added up"),
        (right * N, f"you add {N} times too much"),
        (along_rows, rows_cut),
        (along_rows.T, rows_cut),
        (turned, backwards),
        (turned.T, backwards),
        (repeated, each),
        (repeated.T, "you add neighbouring numbers; add copies of all of them"),
        (np.eye(len(right)), "yours moves nothing"),
        (
            np.eye(len(right))[parts.T.ravel()],
            "you exchange single numbers; parts of n numbers stay together",
        ),
    ]


@question.visible("the three matrices", (3, 2, 2, 2), (2, 3, 1, 3))
def check_matrices(N, rows, width, n):
    """Question 8: matrices of three collectives, as JAX's collectives act.

    N            devices
    rows, width  sizes of a block that is gathered, or summed and scattered
    n            numbers of a part that is exchanged
    """
    question.need_devices(N)
    block = (rows, width)
    sizes = {
        "all_gather": (N * rows * width, block),
        "reduce_scatter": (N * N * rows * width, block),
        "all_to_all": (N * N * n, (n,)),
    }
    for name, body in _bodies(rows, width).items():
        size, said = sizes[name]
        right = _tried(body, N, size)
        mistaken = _mistaken_matrices(right, N, rows, width)
        compare.close(
            f"{name}_matrix({', '.join(map(str, (N, *said)))})",
            student.call(f"{name}_matrix", N, *said),
            right,
            likely=[pair for pair in mistaken if pair[0].shape == right.shape],
        )


def grade_matrices():
    """Question 8 for other numbers of devices."""
    draw = question.draw("matrices")
    for devices in (2, 3, 4):
        rows = int(draw.integers(2, 4))
        check_matrices(devices, rows, *draw.integers(1, 4, 2).tolist())


def _leaving(steps):
    """Bytes of its own array that chip 0 sends in a list of hops."""
    hops = [hop for step in steps for hop in step if hop.source == 0]
    return sum(
        hop.bytes
        for hop in hops
        if not isinstance(hop.chunk, tuple) or hop.chunk[0] == 0
    )


def _crossing(name, V, N, k):
    """Bytes to the right over the wire from chip k to k + 1 of N on a line.

    Every pair of a sender on the left and a receiver on the right is looked
    at: one block serves all receivers, one sum takes up the terms of all
    senders, and a part is for a pair alone.
    """
    chips = range(1, N + 1)
    pairs = [(a, b) for a, b in product(chips, chips) if a <= k < b]
    carried = {
        "gather": Fraction(V, N) * len({sender for sender, _ in pairs}),
        "scatter": Fraction(V, N) * len({receiver for _, receiver in pairs}),
        "exchange": Fraction(V, N**2) * len(pairs),
    }
    carried["reduce"] = carried["scatter"] + carried["gather"]
    return carried[name.removesuffix("_crossing")]


RING = "you give what a chip sends on a ring; here only some blocks cross"
TERMS = "you let terms cross one by one; each chip adds its own to what passes"
FORMULAS = {
    "gather_crossing": [
        (
            "V*(N - k)/N",
            "you count the chips on the right; blocks come from"
            " the left, and one crosses for all who want it",
        ),
        ("k*V", "you took V for one chip's block"),
        ("V*k*(N - k)/N", "you send a block once for each chip on the right"),
    ],
    "scatter_crossing": [
        (
            "V*k/N",
            "you count as for a gather, the chips on the left; their"
            " terms are added up, and a sum crosses for each chip on the right",
        ),
        ("V*k*(N - k)/N", TERMS),
        ("k*V", TERMS),
        ("V*(N - k)", "you took V for one piece of the sum"),
    ],
    "reduce_crossing": [
        (
            "2*V*k/N",
            "you count the gather twice; do its two halves send the"
            " same bytes to the right?",
        ),
        (
            "2*V*(N - k)/N",
            "you count the ReduceScatter twice; do the two"
            " halves send the same bytes to the right?",
        ),
        ("2*V*(N - 1)/N", RING),
        ("N*V", "you took V for one piece of the sum"),
        ("k*V", TERMS),
    ],
    "exchange_crossing": [
        (
            "V*(N - 1)/N**2",
            "you give what a chip sends of its own; other"
            " chips' parts pass this wire, too",
        ),
        ("V*k*(N - k)/N", "you took V/N for a part; a part is for one chip"),
        ("V/4", "you give the wire in the middle, for even N"),
        ("2*V*k*(N - k)/N**2", "you count both directions"),
        (
            "V*k/N**2",
            "you count a part for each chip on the left, and each"
            " has one for every chip on the right",
        ),
        ("V*k/N", "you let whole blocks cross; only some parts go so far"),
    ],
}
LIKELY = [
    ("V*(N - 1)/N", RING),
    ("V", "you send the whole array; count what crosses this wire"),
    ("V/N", "you count one block"),
    ("V*(N - 1)", "you count all chips"),
]
WIRES = [(n * n * (n + 2), n, k) for n in range(2, 8) for k in range(1, n)]


@question.visible("the four formulas", (WIRES,))
def check_formulas(points):
    """Question 9: bytes on a wire of a line, at triples of V, N and k."""
    for name, likely in FORMULAS.items():
        others = [pair for pair in LIKELY if pair[0] not in dict(likely)]
        compare.formula(
            name,
            student.expression(name),
            "V N k",
            lambda V, N, k, name=name: _crossing(name, V, N, k),
            [tuple(point) for point in points],
            likely=likely + others,
        )


def grade_formulas():
    """Question 9 with other arrays and wires."""
    draw = question.draw("formulas")
    lines = [(int(draw.integers(1, 9)) * n * n, n) for n in range(3, 14)]
    check_formulas([(V, n, int(draw.integers(1, n))) for V, n in lines])


# --- 10: a plan --------------------------------------------------------------

# The layout that a plan ends with, and how often all must be passed on.
PLANS = {"gpu_plan": ([["", ""], ""], 2), "tpu_plan": ([["X", "Y"], ""], 1)}
STEPS = {
    "AllGather": "all_gather_steps",
    "ReduceScatter": "reduce_scatter_steps",
    "AllReduce": "all_reduce_steps",
    "AllToAll": "all_to_all_steps",
}


def _step_bytes(collective, V, n):
    """Bytes that a device sends, of V that it has before, among n."""
    from shardlab import ring

    if collective == "AllGather":
        V = V * n
    if collective == "AllToAll":
        return V * (n - 1) // n
    return _leaving(getattr(ring, STEPS[collective])(V, n, directions=1))


def _step(asked, said, sizes):
    """A step of a plan as plain data: collective, axis, dim."""
    collective, axis, dim = compare.entries(asked, said, 3)
    if not isinstance(collective, str) or collective not in STEPS:
        compare.wrong(asked, said, f"its collective is none of {list(STEPS)}")
    if not isinstance(axis, str) or axis not in sizes:
        compare.wrong(asked, said, f"its axis is none of {list(sizes)}")
    if compare.whole_number(f"the dim of {asked}", dim) not in (0, 1):
        compare.wrong(asked, said, "its dim is neither 0 nor 1")
    return collective, axis, dim


@question.visible("the two plans", ("gpu_plan", 2, 8), ("tpu_plan", 4, 16))
def check_plans(name, X, Y):
    """Question 10: a plan is carried out on numbers, and its bytes counted.

    name  of the plan
    X, Y  sizes of the axes
    """
    sizes, side, (goal, passes) = {"X": X, "Y": Y}, X * Y, PLANS[name]
    cuts, sums, sent = ["", ""], "XY", dict.fromkeys(sizes, 0)
    held = _blocks(cuts, sums, sizes, side)
    V = held[0, 0].nbytes
    plan = compare.entries(name, student.value(name), None)
    for number, said in enumerate(plan, 1):
        asked = f"step {number} of {name}"
        collective, axis, dim = _step(asked, said, sizes)
        adds = collective in ("AllReduce", "ReduceScatter")
        own = [d for d, letters in enumerate(cuts) if axis in letters]
        legal = axis in sums if adds else own and cuts[own[0]][-1] == axis
        if not legal or (collective == "AllToAll" and dim == own[0]):
            reason = _why_illegal(cuts, sums, collective, axis, dim)
            compare.wrong(asked, said, reason)
        sent[axis] += _step_bytes(collective, held[0, 0].nbytes, sizes[axis])
        held = _moved(held, cuts, collective, axis, dim)
        cuts = [letters.replace(axis, "") for letters in cuts]
        sums = sums.replace(axis, "") if adds else sums
        if collective in ("ReduceScatter", "AllToAll"):
            cuts[dim] += axis
    if [cuts, sums] != goal:
        layout = f"cut by {cuts}, with sums over {sums or 'nothing'} left"
        raise WrongAnswer(
            f"{name}: yours leaves an array {layout}; asked for was one cut "
            f"by {goal[0]}, with none left"
        )
    wanted = _blocks(*goal, sizes, side)
    if not all(np.array_equal(held[place], wanted[place]) for place in held):
        raise WrongAnswer(f"{name}: your devices end with other numbers")
    enough = {
        "X": passes * (X - 1) * V // (X * Y),
        "Y": passes * (Y - 1) * V // Y,
    }
    for axis, most in enough.items():
        if sent[axis] > most:
            raise WrongAnswer(
                f"{name}: yours sends {sent[axis] / V:g} V from each device "
                f"over {axis}, and {most / V:g} V are enough; how much does a "
                f"device still have when you come to {axis}?"
            )


def grade_plans():
    """Question 10 on other numbers of nodes and chips."""
    draw = question.draw("plans")
    for name in PLANS:
        X, Y = draw.integers(2, 7, 2).tolist()
        check_plans(name, X, Y)
