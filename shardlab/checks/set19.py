"""Set 19, in PyTorch: placements, what FSDP2 sends, and whose table it is.

What each rank holds is asked of JAX, or dealt out element by element as
`torch.chunk` does; messages are sent piece by piece around a ring; tables of
programs are those that PyTorch counted, at other sizes; a step's memory is
played pass by pass.
"""

from fractions import Fraction
from functools import cache
from itertools import accumulate, combinations, permutations
from itertools import product as places_of
from math import prod

import jax
import numpy as np
from jax import NamedSharding, P
from jax.sharding import Mesh

from shardlab import foreign, hw, models, ring
from shardlab.checks import compare, question, student

__all__ = [
    "check_change",
    "check_keep",
    "check_layout",
    "check_placements",
    "check_program",
    "check_rows",
    "check_sent",
    "grade_change",
    "grade_keep",
    "grade_layout",
    "grade_placements",
    "grade_program",
    "grade_rows",
    "grade_sent",
]

REPLICATE, PARTIAL = "Replicate()", "Partial()"


def _shard(word):
    """The dimension that a placement cuts, or None."""
    return int(word[6:-1]) if word.startswith("Shard(") else None


def _chunks(items, k):
    """A list in k pieces, as `torch.chunk` cuts; the last ones may be empty."""
    size = len(range(0, len(items), k))
    return [items[n * size : (n + 1) * size] for n in range(k)]


def _dealt(shape, sizes, placements):
    """The indices of each dimension that each rank holds, dealt one by one."""
    found = []
    for places in places_of(*map(range, sizes)):
        held = [list(range(n)) for n in shape]
        for k, place, word in zip(sizes, places, placements, strict=True):
            if (dimension := _shard(word)) is not None:
                held[dimension] = _chunks(held[dimension], k)[place]
        found.append(held)
    return found


# --- 1: there and back -------------------------------------------------------


def _laid_out(shape, sizes, axes, cuts):
    """The same as `_dealt` for a layout, as JAX deals it."""
    devices = np.array(jax.devices()[: prod(sizes)]).reshape(sizes)
    spec = P(*(tuple(text) or None for text in cuts))
    place = NamedSharding(Mesh(devices, tuple(axes)), spec)
    dealt = place.devices_indices_map(tuple(shape))
    return [
        [list(range(n)[cut]) for n, cut in zip(shape, dealt[one], strict=True)]
        for one in devices.flat
    ]


def _where(held):
    """What a rank holds, in words."""
    cuts = ", ".join(f"{own[0]}:{own[-1] + 1}" for own in held)
    return f"x[{cuts}]"


def _same_blocks(asked, got, held, right):
    """Raise WrongAnswer for the first rank that holds another block."""
    for rank, (own, asks) in enumerate(zip(held, right, strict=True)):
        if own != asks:
            compare.wrong(
                asked,
                got,
                f"with yours rank {rank} holds {_where(own)} of an array x, "
                f"and in the layout that was given {_where(asks)}",
            )


def _sized(count, axes, sizes):
    """A shape of `count` dimensions that all axes together divide."""
    return [prod(sizes[: len(axes)]) * (n + 1) for n in range(count)]


def _lists(dimensions, axes, sums):
    """All lists of placements with a sum over these axes and no other."""
    words = [f"Shard({n})" for n in range(dimensions)] + [REPLICATE]
    return places_of(*([PARTIAL] if a in sums else words for a in axes))


LAYOUTS = (
    (["X", ""], "", "XY", (2, 4)),
    (["Y", "X"], "", "XY", (2, 4)),
    (["XY", ""], "", "XY", (2, 4)),
    (["YX", ""], "", "XY", (2, 4)),
    (["", "YX"], "", "YX", (2, 4)),
    (["", "Z"], "X", "XYZ", (2, 2, 2)),
    (["XZ", ""], "Y", "XYZ", (2, 2, 2)),
    (["Y", "ZX"], "", "XYZ", (2, 2, 2)),
    (["", ""], "YX", "XY", (4, 2)),
    (["X", "", "ZY"], "", "ZYX", (2, 2, 2)),
)


@question.visible("placements", *LAYOUTS)
def check_placements(cuts, sums, axes, sizes):
    """Question 1: a layout as a list of placements, by what ranks hold."""
    question.need_devices(8)
    asked = f"placements({cuts}, {sums!r}, {axes!r})"
    shape = _sized(len(cuts), axes, sizes)
    right = _laid_out(shape, sizes, axes, cuts)
    good = [
        list(words)
        for words in _lists(len(cuts), axes, sums)
        if _dealt(shape, sizes, words) == right
    ]
    got = student.call("placements", cuts, sums, axes)
    words = compare.entries(asked, got, None)
    if words in good or (words == [] and not good):
        return
    if not good:
        compare.wrong(
            asked,
            got,
            "no list says this layout: of two axes that cut the same "
            "dimension, the one that comes first in the mesh cuts first",
        )
    if words == []:
        compare.wrong(asked, got, "there is a list that says this layout")
    known = [*(f"Shard({n})" for n in range(len(cuts))), REPLICATE, PARTIAL]
    for n, word in enumerate(compare.entries(asked, got, len(axes))):
        if word not in known:
            compare.wrong(
                asked,
                got,
                f"your entry {n} is none of {', '.join(known)}; there is an "
                "entry for each axis of the mesh",
            )
        if (word == PARTIAL) != (axes[n] in sums):
            says = "no sum" if word == PARTIAL else "a sum"
            compare.wrong(
                asked,
                got,
                f"over {axes[n]}, the mesh's axis {n}, there is {says} to be "
                "made",
            )
    if words[::-1] in good:
        compare.wrong(asked, got, "the first entry is the mesh's first axis")
    _same_blocks(asked, got, _dealt(shape, sizes, words), right)


def _drawn_layout(draw):
    """A layout of a matrix or of three dimensions on a drawn mesh."""
    axes = "".join(draw.permutation(list("XYZ"[: int(draw.integers(2, 4))])))
    cuts, sums = ["", "", ""][: int(draw.integers(2, 4))], ""
    for axis in draw.permutation(list(axes)):
        where = int(draw.integers(-1, len(cuts) + 1))
        if where == len(cuts):
            sums += str(axis)
        elif where >= 0:
            cuts[where] += str(axis)
    return cuts, sums, axes, (2, 2, 2) if len(axes) == 3 else (4, 2)


def grade_placements():
    """Question 1, there, with other layouts."""
    draw = question.draw("placements")
    for _ in range(12):
        check_placements(*_drawn_layout(draw))
    check_placements(["ZYX", ""], "", "ZYX", (2, 2, 2))
    check_placements(["XZY", ""], "", "XYZ", (2, 2, 2))


@question.visible(
    "layout",
    (["Shard(0)", "Replicate()"], "XY", (2, 4)),
    (["Shard(1)", "Shard(0)"], "XY", (2, 4)),
    (["Shard(0)", "Shard(0)"], "XY", (2, 4)),
    (["Shard(1)", "Shard(1)"], "YX", (2, 4)),
    (["Partial()", "Replicate()", "Shard(1)"], "XYZ", (2, 2, 2)),
    (["Shard(0)", "Partial()", "Shard(0)"], "ZYX", (2, 2, 2)),
    (["Partial()", "Partial()"], "XY", (2, 4)),
)
def check_layout(placements, axes, sizes):
    """Question 1: a list of placements as a layout, by what ranks hold."""
    question.need_devices(8)
    asked = f"layout({placements}, {axes!r})"
    got = student.call("layout", placements, axes)
    both = compare.entries(asked, got, 2)
    cuts = compare.entries(f"{asked}, cuts", both[0], 2)
    words = [*cuts, both[1]]
    if not all(isinstance(word, str) for word in words):
        compare.wrong(asked, got, "cuts are two texts, and sums is one")
    letters = "".join(words)
    for axis in sorted(set(letters)):
        if axis not in axes:
            compare.wrong(asked, got, f"the mesh has no axis {axis!r}")
        if letters.count(axis) > 1:
            compare.wrong(asked, got, f"you name {axis} more than once")
    partial = {a for a, w in zip(axes, placements, strict=True) if w == PARTIAL}
    if set(both[1]) != partial:
        compare.wrong(
            asked, got, "`sums` are the axes whose placement is Partial()"
        )
    shape = _sized(2, axes, sizes)
    right = _dealt(shape, sizes, placements)
    held = _laid_out(shape, sizes, axes, cuts)
    if _laid_out(shape, sizes, axes, [c[::-1] for c in cuts]) == right != held:
        compare.wrong(asked, got, "the first axis of the mesh cuts first")
    _same_blocks(asked, got, held, right)


def grade_layout():
    """Question 1, back, with other lists."""
    draw = question.draw("layout")
    words = ("Shard(0)", "Shard(1)", REPLICATE, PARTIAL)
    for _ in range(8):
        axes = "".join(draw.permutation(list("XYZ")))
        found = [words[int(n)] for n in draw.integers(0, 4, 3)]
        check_layout(found, axes, (2, 2, 2))
    check_layout(["Shard(0)"] * 3, "YZX", (2, 2, 2))
    check_layout(["Shard(1)", "Shard(0)"], "YX", (4, 2))


# --- 2: ten rows on eight ranks ----------------------------------------------


def _rows(n, sizes, placements, way=""):
    """[first, end] of each rank; `way` names a mistake."""
    cuts = [k for k, w in zip(sizes, placements, strict=True) if w != REPLICATE]
    flat = _chunks(list(range(n)), prod(cuts))
    even = [list(part) for part in np.array_split(np.arange(n), prod(cuts))]
    found, dealt = [], _dealt([n], sizes, placements)
    for places, (held,) in zip(
        places_of(*map(range, sizes)), dealt, strict=True
    ):
        at = 0
        for k, place, word in zip(sizes, places, placements, strict=True):
            at = at * k + place if word != REPLICATE else at
        own = {"": held, "flat": flat[at], "even": even[at]}[way]
        found.append([int(own[0]), int(own[-1]) + 1] if own else [n, n])
    return found


def _cut_badly(n, sizes, placements, way):
    """Pairs as they would be if each axis cut in a wrong way."""
    found = []
    for places in places_of(*map(range, sizes)):
        first, end = 0, n
        for k, place, word in zip(sizes, places, placements, strict=True):
            if word == REPLICATE:
                continue
            rows = n if way == "all" else end - first
            size = rows // k + 1 if way == "more" else len(range(0, rows, k))
            if way == "even":
                parts = np.array_split(np.arange(first, end), k)
                first += sum(map(len, parts[:place]))
                end = first + len(parts[place])
                continue
            last = n if way == "past" else end
            first = min(first + place * size, last)
            end = min(first + size, last)
            if way == "once":
                break
        found.append([first, end] if first < end else [n, n])
    return found


def _minor_first(n, sizes, placements):
    """A mistake: the last axis cuts first."""
    pairs = _rows(n, sizes[::-1], placements[::-1])
    return _first_fastest(pairs, sizes[::-1])


def _first_fastest(pairs, sizes):
    """A mistake: pairs as they would be if the first axis were fastest."""
    grid = np.array(pairs).reshape(*sizes, 2)
    axes = [*range(len(sizes))][::-1]
    return grid.transpose(*axes, len(sizes)).reshape(-1, 2).tolist()


_S, _R = "Shard(0)", REPLICATE
# PyTorch 2.13 cuts these in the same way (asked on 25 November 2026).


@question.visible(
    "rows",
    (10, (4, 2), (_S, _S)),
    (10, (2, 3), (_S, _S)),
    (5, (4,), (_S,)),
    (9, (2, 4), (_R, _S)),
    (9, (2, 4), (_S, _R)),
    (12, (2, 3), (_S, _S)),
    (23, (2, 3, 2), (_S, _R, _S)),
    (7, (3, 2), (_R, _R)),
)
def check_rows(n, sizes, placements):
    """Question 2: the rows of each rank."""
    asked = f"rows({n}, {tuple(sizes)}, {list(placements)})"
    right = _rows(n, sizes, placements)
    got = student.call("rows", n, sizes, list(placements))
    found = compare.entries(asked, got, prod(sizes))
    pairs = []
    for rank, pair in enumerate(found):
        name = f"{asked}, rank {rank}"
        first, end = (
            compare.whole_number(name, one)
            for one in compare.entries(name, pair, 2)
        )
        if not 0 <= first <= end <= n:
            compare.wrong(name, pair, f"rows are counted from 0 to {n}")
        pairs.append([first, end] if first < end else [n, n])
    if {row for a, b in pairs for row in range(a, b)} != set(range(n)):
        compare.wrong(asked, got, "some rows are on no rank: round up")
    even = "pieces are as large as the first one until nothing is left"
    likely = [
        (
            _rows(n, sizes, placements, "flat"),
            "you cut once for all axes; the second axis cuts what the first "
            "one has cut",
        ),
        (_rows(n, sizes, placements, "even"), f"you cut evenly; {even}"),
        (_minor_first(n, sizes, placements), "the first axis cuts first"),
        (
            _rows(n, sizes, (_S,) * len(sizes)),
            "an axis with Replicate() cuts nothing",
        ),
        ([[0, n]] * prod(sizes), "an axis with Shard(0) cuts"),
        (_cut_badly(n, sizes, placements, "even"), f"you cut evenly; {even}"),
        (
            _cut_badly(n, sizes, placements, "past"),
            "a piece of a piece ends where that one ends, not at n",
        ),
        (
            _cut_badly(n, sizes, placements, "all"),
            "the second axis cuts the rows that are there, not n",
        ),
        (
            _cut_badly(n, sizes, placements, "more"),
            "where k divides the rows, no piece has one more",
        ),
        (
            _cut_badly(n, sizes, placements, "once"),
            "every axis with Shard(0) cuts, not the first alone",
        ),
        (
            _first_fastest(right, sizes),
            "ranks are numbered with the last axis fastest",
        ),
    ]
    names = [f"rank {rank}" for rank in range(prod(sizes))]
    compare.equal(
        asked,
        pairs,
        right,
        likely=[pair for pair in likely if pair[0] != right],
        names=names,
    )


def grade_rows():
    """Question 2 with other meshes."""
    draw = question.draw("rows")
    for axes in (1, 2, 2, 2, 3, 3):
        sizes = tuple(draw.integers(2, 6, axes).tolist())
        words = [(_S, _R)[int(n)] for n in draw.integers(0, 2, axes)]
        check_rows(int(draw.integers(3, 90)), sizes, (_S, *words[1:]))
    check_rows(10, (2, 2, 3), (_S, _S, _S))


# --- 3: one entry changes ----------------------------------------------------


def _elements(shape, sizes, placements):
    """The set of elements that each rank holds, by its places."""
    ranks = places_of(*map(range, sizes))
    dealt = _dealt(shape, sizes, placements)
    return {
        places: set(places_of(*held))
        for places, held in zip(ranks, dealt, strict=True)
    }


def _groups(sizes, axis):
    """Lists of the places of ranks that differ along one axis only."""
    others = [range(k) if n != axis else (0,) for n, k in enumerate(sizes)]
    return [
        [(*at[:axis], p, *at[axis + 1 :]) for p in range(sizes[axis])]
        for at in places_of(*others)
    ]


def _round(steps):
    """Bytes over the busiest link."""
    return max(ring.bytes_per_link(steps).values())


def _changed(sizes, before, after, V, axis):
    """The collective and a rank's bytes, from what is held and needed."""
    shape = [prod(sizes)] * 2
    size = V // prod(shape)
    has = _elements(shape, sizes, before)
    needs = _elements(shape, sizes, after)
    found = set()
    for group in _groups(sizes, axis):
        there = set().union(*(has[rank] for rank in group))
        if any(not needs[rank] <= there for rank in group):
            return ["impossible", 0]
        N, v = len(group), size * len(there)
        summed = before[axis] == PARTIAL
        if summed and all(needs[rank] == there for rank in group):
            steps = ring.all_reduce_steps(v, N, directions=1)
            up, down = steps[: len(steps) // 2], steps[len(steps) // 2 :]
            found.add(("AllReduce", _round(up) + _round(down)))
        elif summed:
            steps = ring.reduce_scatter_steps(v, N, directions=1)
            found.add(("ReduceScatter", _round(steps)))
        elif all(needs[rank] <= has[rank] for rank in group):
            found.add(("nothing", 0))
        elif all(needs[rank] == there for rank in group):
            steps = ring.all_gather_steps(v, N, directions=1)
            found.add(("AllGather", _round(steps)))
        else:
            sent = {
                sum(
                    size * len(has[rank] & needs[other])
                    for other in group
                    if other != rank
                )
                for rank in group
            }
            found.add(("AllToAll", max(sent)))
    (one,) = found
    return list(one)


@question.visible(
    "change",
    ((4, 2), ("Shard(0)", _R), (_R, _R), 6400),
    ((4, 2), ("Shard(0)", "Shard(1)"), (_R, "Shard(1)"), 6400),
    ((4, 2), ("Shard(0)", "Shard(0)"), ("Shard(0)", _R), 6400),
    ((4, 2), ("Shard(0)", "Shard(0)"), (_R, "Shard(0)"), 6400),
    ((2, 4), (PARTIAL, "Shard(1)"), (_R, "Shard(1)"), 6400),
    ((2, 3), (PARTIAL, PARTIAL), (PARTIAL, "Shard(1)"), 7200),
    ((2, 4), (_R, "Shard(0)"), ("Shard(1)", "Shard(0)"), 6400),
    ((2, 4), (_R, "Shard(0)"), ("Shard(0)", "Shard(0)"), 6400),
    ((2, 4), ("Shard(1)", "Shard(0)"), ("Shard(1)", "Shard(1)"), 6400),
    ((4, 2), ("Shard(0)", "Shard(1)"), ("Shard(1)", "Shard(1)"), 6400),
    ((4, 2), ("Shard(0)", "Shard(0)"), ("Shard(1)", "Shard(0)"), 6400),
    ((2, 3), (PARTIAL, "Shard(0)"), ("Shard(0)", "Shard(0)"), 7200),
    ((2, 3), (PARTIAL, "Shard(0)"), ("Shard(1)", "Shard(0)"), 7200),
    ((4, 2), ("Shard(1)", PARTIAL), ("Shard(0)", PARTIAL), 6400),
    ((2, 2, 2), ("Shard(0)", _R, "Shard(0)"), (_R, _R, "Shard(0)"), 6400),
)
def check_change(sizes, before, after, V):
    """Question 3: the collective that changes one entry, and its bytes."""
    pairs = zip(before, after, strict=True)
    (axis,) = (n for n, (old, new) in enumerate(pairs) if old != new)
    right, sent = _changed(sizes, before, after, V, axis)
    how = (tuple(sizes), list(before), list(after), V)
    asked = f"change{how}"
    got = compare.entries(asked, student.call("change", *how), 2)
    alone = ((sizes[axis],), (before[axis],), (after[axis],))
    easy, _ = _changed(*alone, sizes[axis] ** 2, 0)
    reasons = {
        "AllGather": "no rank needs all that its group has",
        "AllToAll": "each rank needs all that its group has",
        "ReduceScatter": "there is no sum to be made",
        "AllReduce": "there is no sum to be made",
        "nothing": "some ranks lack something that they need",
        "impossible": "the ranks of each group have all that they need",
    }
    reasons |= {
        "AllReduce": {"ReduceScatter": "all of the sum is wanted"},
        "ReduceScatter": {"AllReduce": "a part of the sum is enough"},
        "nothing": dict.fromkeys(
            ("AllGather", "AllToAll"), "each rank has all that it needs"
        ),
    }.get(right, {})
    if before[axis] == PARTIAL:
        none = "a sum is still to be made"
        reasons |= dict.fromkeys(("AllGather", "AllToAll", "nothing"), none)
    if right == "impossible":
        later = "a later axis cuts the same dimension, inside the pieces"
        reasons = dict.fromkeys(reasons, f"{later}; the group lacks rows")
        reasons[easy] = f"{later}: the group has not what its ranks need"
    name = f"{asked}, collective"
    if not isinstance(got[0], str) or got[0] not in reasons:
        compare.wrong(name, got[0], f"expected one of {', '.join(reasons)}")
    likely = [(word, why) for word, why in reasons.items() if word != right]
    compare.equal(name, got[0], right, likely=likely)
    compare.equal(
        f"{asked}, bytes",
        got[1],
        sent,
        likely=_other_bytes(sizes, before, axis, right, sent, V),
    )


def _other_bytes(sizes, before, axis, right, sent, V):
    """Bytes that show a known mistake, and what it is."""
    N = sizes[axis]
    others = [n for n in range(len(sizes)) if n != axis]
    cut = prod(sizes[n] for n in others if "Shard" in before[n])
    every = prod(sizes[n] for n in others)
    likely = [
        (sent * cut, "other axes cut the array, too"),
        (sent * cut / every, "only axes with Shard make the array smaller"),
        (sent * N // (N - 1), "a rank keeps its own piece"),
        (V, "that is the whole array"),
        (sent // (N - 1), "N - 1 pieces are sent on, not one"),
    ]
    if right == "AllReduce":
        likely.append((sent // 2, "an AllReduce goes round twice"))
    if right == "AllToAll":
        likely.append((sent * N, "an AllToAll sends each rank its piece alone"))
    P, powers = prod(sizes), 2 if right == "AllToAll" else 1
    of_all = sent * N**powers / (N - 1) * (P - 1) / P**powers
    likely += [
        (of_all, "N are the ranks along the axis, not all ranks"),
        (sent * N, "that is what all ranks of a group send together"),
    ]
    likely.append((2 * sent, "each piece is sent on once in each round"))
    likely.append((sent / N, "a rank passes on pieces of the group's array"))
    return [pair for pair in likely if pair[0] != sent]


def grade_change():
    """Question 3 on other meshes."""
    draw = question.draw("change")
    words = ("Shard(0)", "Shard(1)", _R, PARTIAL)
    tried = 0
    while tried < 16:
        count = int(draw.integers(1, 4))
        sizes = tuple(draw.integers(2, 4, count).tolist())
        before = [words[int(n)] for n in draw.integers(0, 4, count)]
        after, axis = list(before), int(draw.integers(count))
        after[axis] = words[int(draw.integers(0, 3))]
        if after != before:
            V = prod(sizes) ** 2 * 4 * int(draw.integers(3, 30))
            check_change(sizes, before, after, V)
            tried += 1


# --- 4: what FSDP2 sends -----------------------------------------------------


def _messages(layers, root, m, way=""):
    """(shapes, bytes an element) of each message of a step, in order."""
    found = []
    width = 4 if way == "float32" else 2
    for microbatch in range(m):
        if microbatch == 0 or way not in ("gathered once", "root once"):
            found.append((root, width))
        if microbatch == 0 or way != "gathered once":
            again = {"kept": [], "last kept": layers[:-1]}.get(way, layers)
            found += [(shapes, width) for shapes in [*layers, *again[::-1]]]
            if way == "root freed":
                found.append((root, width))
        if microbatch == m - 1 or way == "scattered each time":
            summed = 2 if way == "bf16" else 4
            found += [(shapes, summed) for shapes in layers[::-1]]
            if way != "root not summed":
                found.append((root, summed))
    return found


def _sent(layers, root, N, m, way=""):
    """Bytes that a rank sends, piece by piece."""
    total = 0
    for shapes, width in _messages(layers, root, m, way):
        if way == "last":
            shapes = [one[::-1] for one in shapes]
        pieces = [
            max(map(len, _chunks(range(rows), N))) * prod(rest)
            for rows, *rest in shapes
        ]
        if way == "not padded":
            whole = sum(map(prod, shapes))
            total += width * whole * (N - 1) / N
            continue
        if way == "down":
            pieces = [one[0] // N * prod(one[1:]) for one in shapes]
        if way == "group padded":
            whole = sum(map(prod, shapes))
            pieces = [max(map(len, _chunks(range(whole), N)))]
        for _ in range(N - 1):
            total += width * sum(pieces)
    return total


_BLOCK = [(10,), (22, 10), (10, 22)]
_LAYER = [(64, 16), (16, 64)]


@question.visible(
    "sent",
    ([_LAYER] * 3, [(96, 16)], 4, 1),
    ([_BLOCK] * 3, [(50, 10), (50, 10)], 4, 1),
    ([_BLOCK] * 3, [(50, 10), (50, 10)], 6, 4),
    ([[(7, 3)], [(5, 9), (2, 2)]], [(11, 2)], 3, 2),
    ([[(1600, 6400), (6400, 1600)]] * 2, [(50_257, 1600)], 512, 8),
    ([], [(64, 8)], 8, 2),
)
def check_sent(layers, root, N, m):
    """Question 4: bytes that a rank sends in a step of FSDP2."""
    short = f"{layers[:1]} * {len(layers)}" if len(layers) > 1 else layers
    same = all(shapes == layers[0] for shapes in layers)
    asked = f"sent({short if same else layers}, {root}, {N}, {m})"
    right = _sent(layers, root, N, m)
    mistakes = {
        "root freed": "the root is kept, and gathered once a microbatch",
        "kept": "layers are freed, and gathered again for backward",
        "bf16": "gradients are reduced in float32, 4 bytes each",
        "not padded": "messages are padded to the largest piece",
        "group padded": "each array is padded by itself, not the group",
        "scattered each time": "all microbatches but the last scatter nothing",
        "gathered once": "weights are gathered in each microbatch",
        "root not summed": "the root has gradients, too",
        "root once": "the root is gathered anew in each microbatch",
        "float32": "weights are gathered in bf16, 2 bytes each",
        "last kept": "the last layer is freed, too, as every layer is",
        "down": "rows that do not divide are padded, not dropped",
        "last": "dimension 0 is cut, and no other",
    }
    likely = [(_sent(layers, root, N, m, w), s) for w, s in mistakes.items()]
    scattered = 2 * _sent(layers, root, N, 1) - _sent(layers, root, N, 2)
    likely += [
        (right + scattered, "gradients are scattered, and not gathered again"),
        (_sent(layers, [], N, m), "the root sends, too"),
        (_sent([], root, N, m), "the layers send, too"),
        (right / N, "a rank sends N - 1 pieces; each is cut already"),
        (
            _sent(layers[:1] * len(layers), root, N, m),
            "layers need not be alike",
        ),
        (right * N // (N - 1), "a rank keeps its own piece"),
        (right // (N - 1), "N - 1 pieces are sent on, not one"),
        (right * N, "that is what all ranks send together"),
    ]
    compare.equal(
        asked,
        student.call("sent", layers, root, N, m),
        right,
        likely=[pair for pair in likely if pair[0] != right],
    )


def grade_sent():
    """Question 4 with other models."""
    draw = question.draw("sent")
    for count in (1, 2, 4, 6):
        shapes = draw.integers(2, 90, (count + 1, 2, 2)).tolist()
        *layers, root = [[tuple(one) for one in pair] for pair in shapes]
        N, m = int(draw.integers(3, 20)), int(draw.integers(1, 9))
        check_sent(layers, [*root, (N + 1,)], N, m)


# --- 5: whose table is this --------------------------------------------------

PROGRAMS = {
    "DDP": "dp",
    "ZeRO class": "zero1",
    "ZeRO layout": "zero1, by layout",
    "FSDP": "fsdp",
    "kept": "fsdp, weights kept",
    "one group": "fsdp, as it comes",
    "float32": "fsdp, float32 sums",
    "Megatron": "megatron",
    "TP": "tp",
    "sequence": "sequence",
}


@cache
def _run(name):
    """What PyTorch counted of a program on eight ranks."""
    axis = "Y" if name in WITHIN else "X"
    return foreign.counted(PROGRAMS[name], **{axis: 8})


def _table(name, L, D, F, B):
    """The same for L blocks of other sizes."""
    run = _run(name)
    old, found = run["sizes"], []
    sizes = (
        (2 * old["D"] * old["F"], 2 * D * F),
        (2 * old["B"] * old["D"], 2 * B * D),
        (2 * old["D"], 2 * D),
    )
    for record in run["records"]:
        before, after = next(s for s in sizes if record["V"] % s[0] == 0)
        V, times = record["V"] // before * after, record["times"]
        if name == "one group":
            V *= L
        else:
            times *= L
        found.append([record["part"], record["kind"], V, times])
    return found


WITHIN = ("Megatron", "TP", "sequence")


@question.visible(
    "program",
    *((name, 2, 64, 256, 96, n) for n, name in enumerate(PROGRAMS)),
    *((name, 3, 64, 256, 256, n) for n, name in enumerate(PROGRAMS)),
    *((name, 1, 32, 64, 128, n) for n, name in enumerate(PROGRAMS)),
)
def check_program(name, L, D, F, B, order):
    """Question 5: the program that a table belongs to."""
    table = _table(name, L, D, F, B)
    every = list(permutations(table))
    records = [list(row) for row in every[order % len(every)]]
    asked = f"program({records}, {L}, {D}, {F}, {B})"
    (got,) = compare.entries(
        "program", [student.call("program", records, L, D, F, B)], 1
    )
    if not isinstance(got, str) or got not in PROGRAMS:
        compare.wrong("program", got, f"expected one of {', '.join(PROGRAMS)}")
    likely = [
        (other, _unlike(other, table, _table(other, L, D, F, B)))
        for other in PROGRAMS
        if other != name
    ]
    compare.equal(_cut(asked), got, name, likely=likely)


def _cut(asked):
    """The question, short enough for a message."""
    return asked if len(asked) <= 160 else asked[:157] + "..."


def _unlike(other, table, theirs):
    """What a program would do that the table does not show, or the reverse."""
    ours = {(part, kind): rest for part, kind, *rest in table}
    there = {(part, kind): rest for part, kind, *rest in theirs}
    for part, kind in there:
        if (part, kind) not in ours:
            return f"{other} has {kind} in {part}, and this table has none"
    for part, kind in ours:
        if (part, kind) not in there:
            return f"{other} has no {kind} in {part}, and this table has"
    for (part, kind), (V, times) in there.items():
        if (V, times) != tuple(ours[part, kind]):
            return f"{other} has {kind} in {part}, but of other bytes"
    raise AssertionError("two programs must differ in their tables")


def grade_program():
    """Question 5 with other sizes."""
    draw = question.draw("program")
    for name in PROGRAMS:
        D, F, B = (8 * int(n) for n in draw.integers(2, 90, 3))
        F, B = (F, F) if draw.integers(2) else (F + D, B)
        L, order = int(draw.integers(2, 40)), int(draw.integers(99))
        check_program(name, L, D, F, B, order)


# --- 6: which layers stay ----------------------------------------------------


def _peak(L, kept):
    """The most layers whose weights are whole at a time, pass by pass."""
    comes, goes = [0] * (2 * L + 1), [0] * (2 * L + 1)
    for layer in range(L):
        ahead, back = layer, 2 * L - 1 - layer
        stays = [(ahead - 1, ahead), (back - 1, back)]
        if layer in kept or ahead == back - 1:
            stays = [(ahead - 1, back)]
        for first, last in stays:
            comes[max(first, 0)] += 1
            goes[last + 1] += 1
    there = accumulate(a - b for a, b in zip(comes, goes, strict=True))
    return max(there)


@cache
def _least_peaks(L):
    """For each number of kept layers, the least that are there at a time.

    All choices are played where L is small, else windows of layers in a row.
    """
    found = []
    for count in range(L + 1):
        sets = combinations(range(L), count)
        if L > 6:
            starts = np.linspace(0, L - count, 5).astype(int).tolist()
            sets = (range(n, n + count) for n in starts)
        found.append(min(_peak(L, set(kept)) for kept in sets))
    return found


def _most(L, fits):
    """How many layers can be kept."""
    return max((n for n, p in enumerate(_least_peaks(L)) if fits(p)), default=0)


def _rooms(L, layer, root, chips, hbm, other):
    """Pairs: layers that a mistaken budget has room for, and the mistake."""
    states = Fraction(16 * (L * layer + root), chips)
    free = hbm - other - states - 2 * root
    room = free // (2 * layer)
    nothing = "beside the kept ones, nothing else is there at the turn"
    full = [(room - 1, "more can be kept: a chip may be full to a byte")]
    return full * (free % (2 * layer) == 0) + [
        (
            (free + Fraction(16 * root, chips)) // (2 * layer),
            "the root has 16 bytes a parameter, too, cut over the chips",
        ),
        ((free + 2 * root) // (2 * layer), "the root's weights are whole, too"),
        ((free + other) // (2 * layer), "you forget the `other` bytes"),
        (
            (free + states - chips * states) // (2 * layer),
            "the 16 bytes a parameter are cut over `chips`",
        ),
        (
            (free + states) // (2 * layer),
            "a chip also holds its part of 16 bytes a parameter",
        ),
        (free // layer, "weights in bf16 have 2 bytes a parameter"),
        ((free + root) // layer, "weights in bf16 have 2 bytes a parameter"),
        (room - 1, f"one layer more can be kept: {nothing}"),
        (room - 2, f"two layers more can be kept: {nothing}"),
        (room + 1, "with one layer less it would fit: round down"),
    ]


_ROOT = 2 * 128_256 * 8192 + 8192
_70B = (models.params(models.MODELS["llama-3-70b"]) - _ROOT) // 80
_GB = 10**9


@question.visible(
    "keep",
    (80, _70B, _ROOT, 64, int(hw.H100.hbm_bytes), 20 * _GB),
    (80, _70B, _ROOT, 64, int(hw.V5P.hbm_bytes), 20 * _GB),
    (80, _70B, _ROOT, 16, int(hw.H100.hbm_bytes), 4 * _GB),
    (80, _70B, _ROOT, 4096, int(hw.V5E.hbm_bytes), 8 * _GB),
    (4, 1000, 500, 8, 13_100, 100),
    (4, 1000, 500, 8, 14_100, 100),
    (4, 1000, 500, 8, 16_099, 100),
    (5, 1000, 500, 8, 27_100, 100),
    (3, 1000, 500, 8, 99_000, 100),
    (6, 1000, 500, 50, 5060, 100),
)
def check_keep(L, layer, root, chips, hbm, other):
    """Question 6: as many layers as can be kept."""
    how = (L, layer, root, chips, hbm, other)
    asked = f"keep{how}"
    got = compare.numbers(asked, student.call("keep", *how))
    kept = [compare.whole_number(asked, one) for one in got]
    if any(not 0 <= one < L for one in kept) or len(set(kept)) < len(kept):
        compare.wrong(
            asked, got, f"expected different numbers from 0 to {L - 1}"
        )

    def fits(layers):
        states = 16 * (L * layer + root)  # of all chips
        whole = 2 * (root + layers * layer) + other
        return states + chips * whole <= chips * hbm

    most = _most(L, fits)
    if set(kept) == set(range(L - len(kept), L)) and len(kept) != most:
        for room, why in _rooms(*how):
            if len(kept) == (min(room, L) if room > 1 else 0):
                compare.wrong(asked, got, why)
    if kept and not fits(_peak(L, set(kept))):
        last = set(range(L - len(kept), L))
        if set(kept) != last and fits(_peak(L, last)):
            compare.wrong(
                asked,
                got,
                "these are too many at a time, and as many others would fit: "
                "where is a kept layer there for the shortest time?",
            )
        compare.wrong(
            asked,
            got,
            f"with these, {_peak(L, set(kept))} layers are whole at a time, "
            "and that is more than fits",
        )
    if len(kept) < most:
        more = "which are there at a time, and for how long?"
        compare.wrong(asked, got, f"more layers can be kept: {more}")


def grade_keep():
    """Question 6 with other models and machines."""
    draw = question.draw("keep")
    for chip in (hw.H100, hw.V5P, hw.V5E):
        chips = 2 ** int(draw.integers(6, 11))
        other = _GB * int(draw.integers(2, 10))
        check_keep(80, _70B, _ROOT, chips, int(chip.hbm_bytes), other)
    for _ in range(6):
        L, layer, root = (int(n) for n in draw.integers(3, 30, 3))
        chips, other = 16, int(draw.integers(5, 50))
        full = L * layer + root + other + 2 * root
        room = int(draw.integers(1, L + 2))
        spare = int(draw.integers(-1, 2))
        check_keep(
            L, layer, root, chips, full + 2 * layer * room + spare, other
        )
