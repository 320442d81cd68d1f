"""Set 21, your model: what a count of a step says, and what to change.

Programs are exported and their collectives counted, and results are held
against NumPy; layouts are counted in what XLA's partitioner makes of them;
times are those of the chapter's forecast, without one row after the other.
"""

import re
from fractions import Fraction
from functools import cache, partial
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import count, hw
from shardlab.checks import compare, program, question, student
from shardlab.count.products import Product
from shardlab.count.records import Moved, record
from shardlab.inspection import Report, forecast, inspect_step
from shardlab.inspection.machines import lay, on_network

__all__ = [
    "BEST",
    "NAMES",
    "check_choose",
    "check_mended",
    "check_momentum",
    "check_pin",
    "check_second",
    "check_spare",
    "check_tokens",
    "check_verdict",
    "grade_choose",
    "grade_mended",
    "grade_momentum",
    "grade_pin",
    "grade_second",
    "grade_spare",
    "grade_tokens",
    "grade_verdict",
]

# --- 1: one number for a third of the bytes ----------------------------------


def _descent(W, In, Target, length="all", N=1):
    """New weights on one device; `length` names a mistake."""
    errors = In @ W - Target
    dW = In.T @ errors / (1 if length == "64" else 64)
    parts = [
        own.T @ error / 64
        for own, error in zip(np.split(In, N), np.split(errors, N), strict=True)
    ]
    own = np.sqrt((dW.reshape(N, -1) ** 2).sum(1))
    early = np.sqrt([(part**2).sum() for part in parts])
    rows = len(W) // N
    if length == "apart":
        cuts = [slice(n * rows, (n + 1) * rows) for n in range(N)]
        dW = np.concatenate([p[c] for p, c in zip(parts, cuts, strict=True)])
    cut = {
        "all": np.sqrt((dW**2).sum()),
        "64": np.sqrt((dW**2).sum()),
        "apart": np.sqrt((dW**2).sum()),
        "own": own.repeat(rows)[:, None],
        "added": own.sum(),
        "mean": np.sqrt((own**2).mean()),
        "longest": own.max(),
        "early": np.sqrt((early**2).sum()),
        "early, own": early.repeat(rows)[:, None],
        "sum": abs(dW.sum()),
        "square": (dW**2).sum(),
        "none": 1,
        "always": 0,
        "up": np.sqrt((dW**2).sum()),
        "step": np.sqrt((dW**2).sum()),
        "weights": np.sqrt((W**2).sum()),
        "each": abs(dW),
    }[length]
    if length == "always":
        return W - dW / np.sqrt((dW**2).sum())
    new = W - dW / np.maximum(cut, 1)
    if length == "step":
        return W - new
    return 2 * W - new if length == "up" else new


@question.visible(
    "mended", (8, 16, 64, 12, 1.0, 1), (4, 8, 16, 6, 0.1, 2), (2, 4, 6, 5, 1, 3)
)
def check_mended(N, B, D, F, scale, seed):
    """Question 1: a step of FSDP with gradients that are shortened.

    N        devices
    B, D, F  tokens, and sizes of the weights
    scale    of the numbers; small ones have a short gradient
    seed     of the numbers
    """
    draw = np.random.default_rng(seed)
    shapes = ((D, F), (B, D), (B, F))
    arrays = [scale * draw.normal(size=s).astype(np.float32) for s in shapes]
    request = program.request(
        *arrays,
        mesh={"X": N},
        in_specs=P("X"),
        out_specs=P("X"),
        check_vma=False,
    )
    answer = student.program("mended", request)
    asked = f"mended on {N} devices, W[{D}, {F}]"
    mistakes = {
        "own": "each device shortens by the length of its own rows",
        "added": "lengths do not add up; their squares do",
        "square": "you divide by the square of the length",
        "none": "you shorten no gradient",
        "always": "a gradient shorter than 1 stays as it is",
        "mean": "you take the mean of the squares; they are added",
        "longest": "the longest piece is shorter than the whole",
        "early": "add up the gradients first; then take squares",
        "early, own": "add up the gradients first; then take squares",
        "sum": "take squares first, then add up",
        "apart": "no device's gradients are added to another's",
        "up": "you go uphill: new weights are W less the gradient",
        "step": "that is what W changes by; new weights are asked for",
        "weights": "you take the length of the weights, not of the gradient",
        "each": "you cut each number to 1; the whole is shortened",
        "64": "you leave out the 64 by which `theirs` divides",
    }
    exact = [one.astype(float) for one in arrays]
    compare.close(
        asked,
        answer.run(*arrays),
        _descent(*exact),
        terms=2 * (B + D),
        likely=[(_descent(*exact, w, N), s) for w, s in mistakes.items()],
    )
    answer.at_most(sent=2 * 4 * D * F * (N - 1) // N + 64)


def grade_mended():
    """Question 1 with other arrays."""
    draw = question.draw("mended")
    for N, scale in ((4, 1.0), (8, 0.05), (2, 2.0)):
        B, D = (N * int(n) for n in draw.integers(2, 6, 2))
        F, seed = int(draw.integers(5, 20)), int(draw.integers(2**31))
        check_mended(N, B, D, F, scale, seed)


# --- 2: one pin --------------------------------------------------------------

NAMES = ("In", "Tmp", "Out")


@cache
def _counted(B, D, F, name, dims):
    """Bytes of a step with one array pinned, as the partitioner lays it."""
    axes = (AxisType.Auto,)
    mesh = jax.make_mesh((8,), ("X",), axis_types=axes)

    def pin(one, x):
        if one != name:
            return x
        place = NamedSharding(mesh, P(*(axis or None for axis in dims)))
        return jax.lax.with_sharding_constraint(x, place)

    def loss(W, In):
        Tmp = pin("Tmp", pin("In", In) @ W["in"])
        return (pin("Out", Tmp @ W["out"]) ** 2).mean()

    def rows(*shape):
        place = NamedSharding(mesh, P("X"))
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=place)

    W = {"in": rows(D, F), "out": rows(F, D)}
    return inspect_step(jax.jit(jax.grad(loss)), W, rows(B, D)).volume()


# Bytes with Tmp pinned along F, and along the batch; a test counts them, and
# finds that no other pin moves less.
BEST = {
    ("", "X"): lambda B, D, F: 12 * B * D + D * F,
    ("X", ""): lambda B, D, F: 24 * D * F,
}


# Pins that no number of tokens asks for, and why.
BAD = {
    ("In", "", "X"): "with D of In cut, all of Tmp is a sum to be made",
    ("Out", "", "X"): "Out cut along D does not fit W_out[F_X, D]",
    ("Out", "", ""): "nothing needs all of Out on every device",
}


def _least(B, D, F):
    """The fewest bytes that a pin can make of it."""
    return min(moved(B, D, F) for moved in BEST.values())


@question.visible(
    "pin",
    (64, 128, 256),
    (704, 128, 256),
    (320, 64, 256),
    (320, 64, 128),
)
def check_pin(B, D, F):
    """Question 2: an array to pin, and how, by the bytes that then move."""
    question.need_devices(8)
    asked = f"pin({B}, {D}, {F})"
    got = student.call("pin", B, D, F)
    name, dims = compare.entries(asked, got, 2)
    (name,) = compare.entries(asked, [name], 1)
    if not isinstance(name, str) or name not in NAMES:
        compare.wrong(asked, got, f"expected one of {', '.join(NAMES)}")
    cuts = [axis or "" for axis in compare.entries(f"{asked}, dims", dims, 2)]
    if cuts not in ([a, b] for a in ("X", "") for b in ("X", "")):
        compare.wrong(asked, got, "a dimension is cut by 'X', or by ''")
    if cuts == ["X", "X"]:
        compare.wrong(asked, got, "one axis cannot cut two dimensions")
    least, moved = _least(B, D, F), _counted(B, D, F, name, tuple(cuts))
    if moved <= 1.25 * least:
        return
    reason = "with so many tokens activations are dearer than weights"
    if least < BEST["X", ""](B, D, F):
        reason = "with so few tokens weights are dearer than activations"
    if (name, *cuts) in BAD:
        reason = BAD[name, *cuts]
    compare.wrong(
        asked,
        got,
        f"the step then moves {moved / least:.1f} times the bytes of the best "
        f"pin; {reason}",
    )


def grade_pin():
    """Question 2 with other sizes."""
    draw = question.draw("pin")
    for few in (True, False):
        D = 64 * int(draw.integers(1, 3))
        F = D * int(draw.integers(2, 5))
        tokens = draw.integers(2, F // 10) if few else draw.integers(F // 2, F)
        check_pin(8 * int(tokens), D, F)


# --- 3: may it leave the loop ------------------------------------------------


def _gradients(N, m, D, seed):
    """Gradients of m turns of each of N devices, whole numbers."""
    draw = np.random.default_rng(seed)
    return draw.integers(-9, 10, (N * m, D)).astype(np.float32)


def _turns(sums, square):
    """M, or v where squares are asked for, turn by turn."""
    found = np.zeros(sums[0].shape)
    for one in sums:
        found = 0.9 * found + (one**2 if square else one)
    return found


def _own_parts(each):
    """A mistake: v of a device's own gradients, each device's own elements."""
    found = [_turns(one, True) for one in each]
    parts = [np.split(v, len(each))[n] for n, v in enumerate(found)]
    return np.concatenate(parts)


def _ask(name, N, m, D, seed):
    """A student's function as a program, its gradients, and each G_t."""
    gradients = _gradients(N, m, D, seed)
    request = program.request(
        gradients,
        mesh={"X": N},
        in_specs=P("X"),
        out_specs=P(),
        check_vma=False,
    )
    answer = student.program(name, request)
    each = gradients.astype(float).reshape(N, m, D)
    return answer, gradients, each


@question.visible("momentum", (4, 3, 16, 1), (8, 5, 24, 2), (2, 1, 6, 3))
def check_momentum(N, m, D, seed):
    """Question 3: momentum of summed gradients, with one AllReduce."""
    answer, gradients, each = _ask("momentum", N, m, D, seed)
    sums = each.sum(0)
    likely = [
        (_turns(each[0], False), "you sum over no other device"),
        (_turns(sums[::-1], False), "you go through the turns backwards"),
        (sums.sum(0), "M forgets: 0.9 M of the turn before is left"),
        (_turns(sums, False) / N, "you take the mean of the devices"),
        (_turns(sums, True), "that is v; M adds G, not its square"),
        (0.9 * _turns(sums, False), "the last gradient counts in full"),
        (_turns(sums, False) * N, "you sum over the devices twice"),
        (
            _turns([sums[0], *sums], False),
            "you begin with the first sum and add it again; M begins at zero",
        ),
        (sums[-1], "you return the last turn's sum alone"),
        (_turns(sums, False) - sums[0] * 0.9 ** (m - 1), "you miss a turn"),
        (0.1 * _turns(sums, False), "G counts in full, not a tenth of it"),
    ]
    compare.close(
        f"momentum on {N} devices, m = {m}",
        answer.run(gradients),
        _turns(sums, False),
        terms=N * m * 4,
        likely=likely,
    )
    answer.at_most(sent=2 * 4 * D * (N - 1) // N)


def grade_momentum():
    """Question 3 with other turns."""
    draw = question.draw("momentum")
    for N in (2, 4, 8):
        m, D = int(draw.integers(2, 9)), N * int(draw.integers(3, 9))
        check_momentum(N, m, D, int(draw.integers(2**31)))


@question.visible("second", (4, 3, 16, 1), (8, 5, 24, 2), (2, 1, 6, 3))
def check_second(N, m, D, seed):
    """Question 3: squares of summed gradients, gathered once."""
    answer, gradients, each = _ask("second", N, m, D, seed)
    sums = each.sum(0)
    apart = sum(_turns(one, True) for one in each)
    likely = [
        (apart, "the square of a sum is not the sum of the squares"),
        (_turns(sums, False) ** 2, "square each turn's sum, then add up"),
        (
            sum(_turns(one, False) for one in each) ** 2,
            "square each turn's sum, then add up",
        ),
        (_turns(sums[::-1], True), "you go through the turns backwards"),
        ((sums**2).sum(0), "v forgets: 0.9 v of the turn before is left"),
        (_turns(sums, False), "that is M; v adds the square of G"),
        (_turns(sums / N, True), "you take the mean of the devices"),
        (_turns(each[0], True), "you sum over no other device"),
        (_own_parts(each), "you sum over no other device"),
        (0.1 * _turns(sums, True), "G^2 counts in full, not a tenth of it"),
        (0.9 * _turns(sums, True), "the last square counts in full"),
        (
            sum(0.81 ** (m - 1 - t) * one**2 for t, one in enumerate(sums)),
            "you square the 0.9, too; only G is squared",
        ),
        (
            _turns([sums[0], *sums], True),
            "you begin with the first square and add it again; v begins at "
            "zero",
        ),
    ]
    compare.close(
        f"second on {N} devices, m = {m}",
        answer.run(gradients),
        _turns(sums, True),
        terms=N * m * 4,
        likely=likely,
    )
    answer.at_most(sent=(m + 1) * 4 * D * (N - 1) // N)


def grade_second():
    """Question 3, squares, with other turns."""
    draw = question.draw("second")
    for N in (2, 4, 8):
        m, D = int(draw.integers(2, 9)), N * int(draw.integers(3, 9))
        check_second(N, m, D, int(draw.integers(2**31)))


# --- 4: what a change gains --------------------------------------------------


def _report(rows, sizes, flops):
    """A report of these collectives, and of one product without traffic."""
    moved = [record(kind, (a,), V, sizes[a]) for kind, a, V in rows]
    products = [Product(flops, 0)]
    return Report(
        *("step", "program", "", dict(sizes), Moved(moved, sizes)),
        *(products, [], None, ()),
    )


def _busy(rows, sizes, flops, chip):
    """Seconds of what is in use, by "arithmetic" and mesh axis."""
    found = {}
    for axis in sizes:
        own = [row for row in rows if row[1] == axis]
        on = forecast(_report(own, sizes, flops), chip)
        found["arithmetic"] = on.seconds["arithmetic"]
        links = [s for name, s in on.seconds.items() if name != "arithmetic"]
        found[axis] = sum(links)
    return found


def _speeds(sizes, chip):
    """Bytes a second that a chip sends over each axis."""
    places, found = lay(sizes, chip), {}
    for axis, place in places.items():
        lies = on_network(place, chip, axis)
        found[axis] = float(lies.port if place.leaves else lies.W)
    return found


def _gains(rows, sizes, flops, chip):
    """Seconds that each row would save, if it were not there."""
    whole = max(_busy(rows, sizes, flops, chip).values())
    return [
        whole
        - max(_busy([*rows[:n], *rows[n + 1 :]], sizes, flops, chip).values())
        for n in range(len(rows))
    ]


def _brief(values):
    """Numbers in a list, as short as Python can write them."""
    text = ", ".join(map(str, values))
    return re.sub(r"(\d)(\d*?)(0{5,})(\.0)?\b", _with_exponent, text)


def _with_exponent(found):
    """A long round number, such as 900000000, as 9e8."""
    first, more, zeros, _ = found.groups()
    point = f".{more}" if more else ""
    return f"{first}{point}e{len(more) + len(zeros)}"


_AG, _RS, _AR = "all_gather", "reduce_scatter", "all_reduce"
CHIPS = {"v5p": hw.V5P, "h100": hw.H100}
_SLICE, _NODES = {"X": 8, "Y": 4}, {"X": 4, "Y": 8}
_MB = 10**6


@question.visible(
    "verdict",
    ("v5p", _SLICE, [(_AG, "X", 900 * _MB), (_AR, "Y", 600 * _MB)], 2e12),
    ("v5p", _SLICE, [(_AG, "X", 90 * _MB), (_AR, "Y", 60 * _MB)], 2e12),
    (
        "h100",
        _NODES,
        [(_AG, "Y", 8000 * _MB), (_AR, "X", 500 * _MB), (_RS, "X", 800 * _MB)],
        4e12,
    ),
    (
        "h100",
        _NODES,
        [(_AR, "Y", 5000 * _MB), (_AG, "Y", 4000 * _MB), (_RS, "X", 300 * _MB)],
        1e12,
    ),
    (
        "v5p",
        _SLICE,
        [
            (_AG, "X", 2000 * _MB),
            (_RS, "X", 2100 * _MB),
            (_AR, "X", 1100 * _MB),
        ],
        4e12,
    ),
    ("h100", _NODES, [(_AR, "X", 500 * _MB), (_AR, "Y", 700 * _MB)], 1.2e13),
    ("h100", _NODES, [], 1e12),
)
def check_verdict(name, sizes, rows, flops):
    """Question 4: what bounds a step, and which row gains most."""
    chip = CHIPS[name]
    speeds, C = _speeds(sizes, chip), float(chip.flops)
    given = [list(row) for row in rows]
    asked = f"verdict({_brief([given, sizes, speeds, flops, C])})"
    got = student.call("verdict", given, dict(sizes), speeds, flops, C)
    bound, number, gain = compare.entries(asked, got, 3)
    busy, gains = (f(rows, sizes, flops, chip) for f in (_busy, _gains))
    right = max(busy, key=busy.get)
    likely = [
        (other, f"{right} is busy for longer than {other}")
        for other in busy
        if other != right
    ]
    compare.equal(f"{asked}, bound", bound, right, likely=likely)
    best = max(gains, default=0)
    there = best > 1e-9 * busy[right]
    ties = [n for n, gain in enumerate(gains) if gain > (1 - 1e-9) * best]
    expected = ties[0] if there else -1
    if there and number in ties:
        expected = int(number)
    alone = [
        busy[axis] - _busy(rest, sizes, flops, chip)[axis]
        for n, (_, axis, _) in enumerate(rows)
        for rest in [[*rows[:n], *rows[n + 1 :]]]
    ]
    sizes_of = [V for *_, V in rows]
    why = [
        (
            alone.index(max(alone, default=0)) if alone else 0,
            "the row that takes longest is not on what bounds the step, or "
            "another gains as much and more",
        ),
        (
            sizes_of.index(max(sizes_of)) if rows else 0,
            "the row with the most bytes need not take longest",
        ),
        (-1, "the step would be shorter without one of the rows"),
        (0, "no row would make the step shorter"),
        (expected + 1, "rows are numbered from 0"),
    ]
    why = [pair for pair in why if pair[0] != expected]
    if not there:
        why = [(n, "no row would make the step shorter") for n in range(9)]
    compare.equal(f"{asked}, number", number, expected, likely=why)
    whole = [(k, a, V * sizes[a] / (sizes[a] - 1)) for k, a, V in rows]
    every = [(k, a, V * sizes[a]) for k, a, V in rows]
    added = sum(s for name, s in busy.items() if name != "arithmetic")
    least = max(busy["arithmetic"], added - max(alone, default=0))
    once = [(k, a, V / 2 if k == _AR else V) for k, a, V in rows]
    compare.close(
        f"{asked}, gain",
        gain,
        best if there else 0,
        likely=[
            (
                alone[expected] if rows else 0,
                "when the row is gone, something else is busy longest",
            ),
            (
                max(_gains(whole, sizes, flops, chip), default=0),
                "a chip sends (N - 1)/N of an array, not all of it",
            ),
            (
                max(_gains(once, sizes, flops, chip), default=0),
                "an AllReduce goes round twice",
            ),
            (
                max(_gains(every, sizes, flops, chip), default=0),
                "a chip sends (N - 1)/N of an array, not N - 1 of it",
            ),
            (
                max(_gains(rows, sizes, 0, chip), default=0),
                "arithmetic takes as long as before",
            ),
            (added - least, "axes are networks of their own: add up by axis"),
            (
                busy[right] - sorted(busy.values())[-2],
                "without the row its axis still sends its other rows",
            ),
            (best / busy[right], "seconds are asked for, not a share"),
            (busy[right], "that is how long the step takes"),
            (busy[right] - best, "that is how long the step then takes"),
        ]
        if there
        else [],
    )


def grade_verdict():
    """Question 4 with other reports."""
    draw = question.draw("verdict")
    kinds = (_AG, _RS, _AR)
    for name, sizes in (("v5p", _SLICE), ("h100", _NODES)) * 4:
        far = {"X": 40, "Y": 9} if name == "v5p" else {"X": 3, "Y": 26}
        rows = []
        for _ in range(int(draw.integers(2, 7))):
            kind, axis = kinds[int(draw.integers(3))], "XY"[draw.integers(2)]
            V = 32 * int(draw.integers(10**5, 10**6)) * far[axis]
            rows.append((kind, axis, V))
        check_verdict(name, sizes, rows, float(draw.uniform(1e11, 5e13)))


def _tied(sends):
    """FLOPs at which two machines take equally long, by bisection; or 0.

    sends  {name: seconds of the busiest axis}
    """

    def ahead(flops):
        """Seconds by which the v5p ends sooner."""
        v5p, h100 = (
            max(flops / float(CHIPS[name].flops), sends[name])
            for name in ("v5p", "h100")
        )
        return h100 - v5p

    if ahead(0) <= 0:
        return 0
    low, high = 0.0, 1e18
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if ahead(middle) > 0 else (low, middle)
    return low


def _sends(rows, sizes, chip):
    """Seconds of each axis of a machine, in a step without arithmetic."""
    busy = _busy(rows, sizes, 0, chip)
    return {axis: busy[axis] for axis in sizes}


_BOTH = {"X": 4, "Y": 8}
_FAR = [(_AG, "X", 400 * _MB), (_RS, "X", 400 * _MB), (_AR, "Y", 600 * _MB)]


@question.visible(
    "choose",
    (_BOTH, _FAR, 3e12),
    (_BOTH, _FAR, 8e12),
    (_BOTH, [(_AR, "X", 100 * _MB), (_AG, "Y", 4000 * _MB)], 1e12),
    (_BOTH, [(_AR, "X", 300 * _MB), (_AG, "Y", 1600 * _MB)], 4.5e12),
    ({"X": 8, "Y": 4}, [], 1e12),
)
def check_choose(sizes, rows, flops):
    """Question 4: the machine that ends sooner, and where both are alike."""
    given = [list(row) for row in rows]
    machines = {
        name: [_speeds(sizes, chip), float(chip.flops)]
        for name, chip in CHIPS.items()
    }
    asked = f"choose({_brief([given, sizes, flops])}, machines)"
    got = student.call("choose", given, dict(sizes), flops, machines)
    name, tie = compare.entries(asked, got, 2)

    def busiest(rows):
        """Seconds of the busiest axis, by machine."""
        return {
            one: max(_sends(rows, sizes, chip).values(), default=0)
            for one, chip in CHIPS.items()
        }

    sends = busiest(rows)
    took = {one: max(flops / machines[one][1], sends[one]) for one in sends}
    right, other = sorted(took, key=took.get)
    late = flops / machines[other][1] >= sends[other]
    why = "its arithmetic alone" if late else "its network"
    compare.equal(
        f"{asked}, name",
        name,
        right,
        likely=[(other, f"{right} ends sooner: on {other} {why} takes longer")],
    )
    counted, slow, fast = _tied(sends), CHIPS["v5p"], CHIPS["h100"]
    whole = [(k, a, V * sizes[a] / (sizes[a] - 1)) for k, a, V in rows]
    once = [(k, a, V / 2 if k == _AR else V) for k, a, V in rows]
    added = {
        one: sum(_sends(rows, sizes, chip).values())
        for one, chip in CHIPS.items()
    }
    longest = {
        one: max((busiest([row])[one] for row in rows), default=0)
        for one in CHIPS
    }
    later = (added["h100"] - added["v5p"]) / (1 / slow.flops - 1 / fast.flops)
    apart = (sends["h100"] - sends["v5p"]) / (1 / slow.flops - 1 / fast.flops)
    likely = [
        (float(fast.flops) * sends["v5p"], "v5p multiplies while H100s send"),
        (
            float(fast.flops) * sends["h100"],
            "there the H100s stop waiting, and v5p still multiplies",
        ),
        (
            float(slow.flops) * sends["v5p"],
            "there v5p stops waiting, and the H100s still send",
        ),
        (_tied(added), "axes are networks of their own: the busiest counts"),
        (_tied(longest), "the rows of an axis add up"),
        (_tied(busiest(once)), "an AllReduce goes round twice"),
        (_tied(busiest(whole)), "a chip sends (N - 1)/N of an array"),
        (later, "you add up what overlaps"),
        (apart, "you add up what overlaps"),
        (sends["h100"], "those are seconds; FLOPs are asked for"),
        (flops, "those are the FLOPs that it does"),
        (0, "v5p ends sooner with few FLOPs, and H100s with many"),
    ]
    if not counted:
        never = "H100s end sooner whatever the FLOPs, and that is 0"
        crossed = float(slow.flops) * sends["h100"]
        guesses = [crossed, *(value for value, _ in likely)]
        likely = [(value, never) for value in guesses if value]
    compare.close(f"{asked}, tie", tie, counted, rel=1e-9, likely=likely)


def grade_choose():
    """Question 4, the choice, with other reports."""
    draw = question.draw("choose")
    kinds = (_AG, _RS, _AR)
    for part in (0.3, 0.8, 1.3, 2.5):
        for far in ({"X": 9, "Y": 12}, {"X": 1, "Y": 30}):
            rows = []
            for axis in "XYXY"[: int(draw.integers(2, 5))]:
                kind = kinds[int(draw.integers(3))]
                V = 32 * int(draw.integers(10**5, 10**6)) * far[axis]
                rows.append((kind, axis, V))
            sends = {
                name: max(_sends(rows, _BOTH, chip).values())
                for name, chip in CHIPS.items()
            }
            tie = _tied(sends) or 1e12
            flops = float(f"{part * tie * draw.uniform(0.9, 1.1):.3g}")
            check_choose(_BOTH, rows, flops)


# --- 5: a sum in every turn --------------------------------------------------


@cache
def _work(N, m):
    """FLOPs of a chip for a token, and bytes sent inside and behind a loop."""
    mesh = AbstractMesh((N,), ("X",), axis_types=(AxisType.Auto,))
    D, F, found = N, 2 * N, {}

    def step(W, In, inside):
        W = jax.lax.pcast(W, "X", to="varying")
        total, gradients = jnp.zeros_like(W), []
        for part in In.reshape(m, -1, D):
            Out, back = jax.vjp(jnp.matmul, part, W)
            dIn, dW = back(Out)
            gradients.append(dIn)
            total += jax.lax.psum(dW, "X") if inside else dW
        return total if inside else jax.lax.psum(total, "X"), gradients

    for inside in (True, False):
        mapped = jax.shard_map(
            partial(step, inside=inside),
            mesh=mesh,
            in_specs=(P(), P("X")),
            out_specs=(P(), P("X")),
            check_vma=False,
        )
        given = [
            jax.ShapeDtypeStruct(
                shape, jnp.bfloat16, sharding=NamedSharding(mesh, spec)
            )
            for shape, spec in (((D, F), P()), ((N * m, D), P("X")))
        ]
        flops = Fraction(count.flops(mapped, *given), m)
        sent = sum(
            Fraction(c.sent).limit_denominator(N) * c.times
            for c in count.collectives(mapped, *given)
        )
        found[inside] = flops, sent
    return found


def _tokens(N, m, C, W, inside):
    """Tokens of a microbatch at which sums take as long as arithmetic."""
    flops, sent = _work(N, m)[inside]
    return (sent / W) / (m * flops / C)


TOKENS = {
    "inside": [
        ("2*(N - 1)*C/(3*N*W)/m", "that is `behind`; the sum is in each turn"),
        ("2*(N - 1)*C/(N*W)", "three products, not one, use the weight"),
        ("(N - 1)*C/(N*W)", "backward has two products, forward one more"),
        ("(N - 1)*C/(3*N*W)", "an AllReduce goes round twice, in bf16"),
        ("2*C/(3*W)", "a ring of N sends (N - 1)/N of the array"),
        ("2*(N - 1)*C/(3*W)", "a ring of N sends (N - 1)/N of the array"),
        ("4*(N - 1)*C/(3*N*W)", "gradients have two bytes, a product 2bDF"),
        ("2*(N - 1)*C/(3*N*W)*m", "every turn has its sum and its tokens"),
        ("3*N*W/(2*(N - 1)*C)", "yours is upside down"),
        ("2*C/(3*N*W)", "a chip sends N - 1 pieces in each half, not one"),
    ],
    "behind": [
        ("2*(N - 1)*C/(3*N*W)", "m microbatches share one sum"),
        ("2*(N - 1)*C/(N*W)/m", "three products, not one, use the weight"),
        ("(N - 1)*C/(3*N*W)/m", "an AllReduce goes round twice, in bf16"),
        ("2*(N - 1)*C/(3*N*W)*m", "more microbatches need fewer tokens each"),
        ("(N - 1)*C/(N*W)/m", "backward has two products, forward one more"),
    ],
}


@question.visible(
    "inside, behind",
    ((2, 3, 60, 7), (4, 2, 90, 11), (5, 4, 30, 13), (8, 1, 1000, 3)),
)
def check_tokens(*points):
    """Question 5: tokens of a microbatch, at points (N, m, C, W)."""
    for name, likely in TOKENS.items():
        compare.formula(
            name,
            student.expression(name),
            "N m C W",
            partial(_tokens, inside=name == "inside"),
            points,
            closed=True,
            likely=likely,
        )


def grade_tokens():
    """Question 5 at other points."""
    draw = question.draw("tokens")
    points = [
        (
            int(draw.integers(2, 60)),
            int(draw.integers(2, 9)),
            *draw.integers(2, 500, 2).tolist(),
        )
        for _ in range(4)
    ]
    check_tokens(*points)


# --- 6: held too often -------------------------------------------------------


def _listed(arrays, sizes):
    """Rows of name, bytes, and bytes that a device holds, from shardings."""
    axes = (AxisType.Auto,) * len(sizes)
    mesh = AbstractMesh(tuple(sizes.values()), tuple(sizes), axis_types=axes)
    return [
        [
            name,
            prod(shape),
            prod(NamedSharding(mesh, P(*spec)).shard_shape(shape)),
        ]
        for name, shape, spec in arrays
    ]


@question.visible(
    "spare",
    (
        {"X": 8},
        [
            ("W", (4096, 512), ("X",)),
            ("embed", (1024, 64), ()),
            ("b", (64,), ()),
        ],
    ),
    (
        {"X": 4, "Y": 2},
        [
            ("W", (512, 64), ("X",)),
            ("m", (512, 32), ("X", "Y")),
            ("e", (16,), ()),
        ],
    ),
    (
        {"X": 2, "Y": 8},
        [
            ("A", (640, 64), ("Y",)),
            ("B", (512, 32), ("X",)),
            ("C", (64, 8), ()),
        ],
    ),
    ({"X": 8}, [("W", (64, 8), ("X",)), ("b", (16,), ("X",))]),
    ({"X": 2}, [("one", (2,), ()), ("none", (8,), ("X",))]),
    ({"X": 4}, [("q", (64, 4), ()), ("k", (64, 8), (None, "X"))]),
)
def check_spare(sizes, arrays):
    """Question 6: the argument that frees most when it is cut."""
    devices = prod(sizes.values())
    rows = _listed(arrays, sizes)
    every = _listed(
        [(n, (prod(s),), (tuple(sizes),)) for n, s, _ in arrays], sizes
    )
    freed = {
        name: held - least
        for (name, _, held), (*_, least) in zip(rows, every, strict=True)
    }
    most = max(freed.values(), default=0)
    right = max(freed, key=freed.get) if most else ""
    asked = f"spare({rows}, {devices})"
    got = compare.entries(asked, student.call("spare", rows, devices), 2)
    by_size = {name: size for name, size, _ in rows}
    by_held = {name: held for name, _, held in rows}
    likely = [
        (name, words)
        for table, words in (
            (by_size, "the largest array is cut already, or more than others"),
            (by_held, "of what a device holds most, it must keep a part"),
            (by_size, "all of its copies are gone, or fewer than another's"),
        )
        if most
        for name in [max(table, key=table.get)]
        if name != right
    ]
    likely += [
        (
            name,
            f"{name} frees less"
            if most
            else "all are cut already, and that is ['', 0]",
        )
        for name in freed
        if name != right
    ]
    likely.append(("", "some are held more often than once"))
    compare.equal(f"{asked}, name", got[0], right, likely=likely)
    if not most:
        compare.equal(
            f"{asked}, freed", got[1], 0, likely=[(devices, "nothing is freed")]
        )
        return
    size, held = by_size[right], by_held[right]
    compare.equal(
        f"{asked}, freed",
        got[1],
        most,
        likely=[
            (held, "a device keeps its piece"),
            (size - held, "that is what a device has not got now"),
            (most * devices, "that is what all devices free together"),
            (sum(freed.values()), "you cut them all; one is to be cut"),
            (size // devices, "that is what a device still holds"),
            (size - size // devices, "it does not hold the whole array now"),
        ],
    )


def grade_spare():
    """Question 6 with other arguments."""
    draw = question.draw("spare")
    sizes = {"X": 4, "Y": 2}
    specs = ((), ("X",), ("Y",), ("X", "Y"), (None, "X"))
    for length in (3, 5, 8):
        arrays = [
            (
                f"W{n}",
                (8 * (n + 2), 8 * int(draw.integers(1, 90))),
                specs[int(draw.integers(len(specs)))],
            )
            for n in range(length)
        ]
        check_spare(sizes, arrays)
