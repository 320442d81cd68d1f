"""Set 10, across pods: what crosses, by which program, and how many it feeds.

Bytes are counted on simulated rings and in programs on abstract meshes, times
are played, and plans are searched one by one.
"""

import functools
import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jax import P as Spec
from jax.lax import all_gather, psum, psum_scatter
from jax.sharding import AbstractMesh, AxisType

from shardlab import count, hw, ring, timeline
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer
from shardlab.strategies import block, dp, fsdp, fsdp_tp, tp, zero1
from shardlab.strategies.pods import across

__all__ = [
    "check_columns",
    "check_finished",
    "check_group",
    "check_leaving",
    "check_most",
    "check_ports",
    "check_rounds",
    "check_slow",
    "check_step",
    "check_tokens",
    "grade_columns",
    "grade_finished",
    "grade_group",
    "grade_leaving",
    "grade_most",
    "grade_ports",
    "grade_rounds",
    "grade_slow",
    "grade_step",
    "grade_tokens",
]


def _mesh(**sizes):
    """A mesh of chips that do not exist."""
    kinds = (AxisType.Auto,) * len(sizes)
    return AbstractMesh(tuple(sizes.values()), tuple(sizes), kinds)


def _whole(asked, got, right, mistakes):
    """Compare a whole number; what mistakes give is found for wrong ones."""
    if compare.whole_number(asked, got) not in right:
        compare.equal(asked, got, right[0], likely=mistakes())


# --- 1. rings through pods ---------------------------------------------------


def _by_chip(rings, V, X):
    """Bytes that each chip sends out of its pod of X, if rings AllReduce V."""
    sent = {}
    for chips in rings:
        sent |= dict.fromkeys(chips, Fraction(0))
        for hop in itertools.chain(*ring.all_reduce_steps(V, len(chips))):
            here, there = chips[hop.source], chips[hop.destination]
            sent[here] += Fraction(hop.bytes) * (here // X != there // X)
    return sent


def _rings(way, P, X):
    """The rings of one of three ways, of chips numbered pod after pod."""
    return {
        "in_order": [range(P * X)],
        "in_turn": [[p * X + k for k in range(X) for p in range(P)]],
        "cut_first": [range(k, P * X, X) for k in range(X)],
    }[way]


def _out_of_a_pod(way, V, P, X):
    V = V // X if way == "cut_first" else V
    sent = _by_chip(_rings(way, P, X), V, X)
    return sum(sent[chip] for chip in range(X))


def _gain(P, X):
    V = 8 * P * X
    ways = ("in_order", V), ("cut_first", V // X)
    order, cut = (
        max(_by_chip(_rings(way, P, X), each, X).values()) for way, each in ways
    )
    return order / cut


_PORTS = {
    "in_order": [
        ("V*(P*X - 1)/(P*X)", "you count one of two chips at the border"),
        ("4*V*(P*X - 1)/(P*X)", "you let both wires of a border chip leave"),
        ("2*V", "you take the limit of many chips"),
        ("2*V*(P - 1)/P", "you make a ring of pods; it has P X chips"),
    ],
    "in_turn": [
        ("2*V*(P*X - 1)/(P*X)", "you count one chip; a pod has X of them"),
        ("V*(P*X - 1)/P", "you count one wire; both lead to other pods"),
        ("2*V*X", "you take the limit of many chips"),
    ],
    "cut_first": [
        ("2*V*(P - 1)/(P*X)", "you count one chip; a pod has X of them"),
        ("2*V*X*(P - 1)/P", "you let every chip cross with all of V"),
        ("V*(P - 1)/P", "you count one half of an AllReduce"),
        ("2*V", "you take the limit of many pods"),
        ("2*V/X", "you count one chip, and the limit of many pods"),
    ],
}


@question.visible(
    "in_order, in_turn, cut_first and gain", (2, 4), (3, 2), (4, 3)
)
def check_ports(P, X):
    """Question 1: bytes out of a pod, for three orders of summing.

    P, X  pods, and chips of each
    """
    for way, likely in _PORTS.items():
        compare.formula(
            way,
            student.expression(way),
            "V P X",
            lambda V, P, X, way=way: _out_of_a_pod(way, V, P, X),
            [(8 * P * X, P, X), (40 * P * X, P, X)],
            closed=True,
            likely=likely,
        )
    compare.formula(
        "gain",
        student.expression("gain"),
        "P X",
        _gain,
        [(P, X)],
        closed=True,
        likely=[
            ("X", "you divide two volumes, not what leaves"),
            ("(P*X - 1)/(P - 1)", "you let both wires of a border chip leave"),
            (
                "(P*X - 1)/(X*(P - 1))",
                "you divide what leaves a pod; busiest chips were asked for",
            ),
            ("X/2", "you take a limit, or a ring of pods"),
            ("2*(P - 1)/(P*X - 1)", "yours is upside down"),
        ],
    )


def grade_ports():
    """Question 1 with other pods."""
    for P, X in question.draw("ports").integers(2, 7, (6, 2)).tolist():
        check_ports(P, X)


# --- 2. and 3. programs ------------------------------------------------------

NUMBER = 16  # bytes of sums of single numbers, which are not what this is about


def _large(answer):
    """Volume by kind and axes of the collectives that move arrays."""
    moved = {}
    for c in answer.collectives():
        if c.volume > NUMBER:
            key = (c.kind, *sorted(c.axes))
            moved[key] = moved.get(key, 0) + c.volume * c.times
    return moved


def _refuse_detours(answer, asked, V, X, least_X):
    """Insist that pieces cross, and no more than is needed moves inside."""
    moved = _large(answer)
    if ("all_reduce", "P", "X") in moved:
        raise WrongAnswer(
            f"{asked}: you sum over P and X at once, which sends whole "
            "gradients between pods; cut inside the pod first"
        )
    over_P = sum(v for key, v in moved.items() if "P" in key[1:])
    if over_P == 0:
        raise WrongAnswer(f"{asked}: you send no gradient to other pods")
    if over_P > 2 * V // X:
        raise WrongAnswer(
            f"{asked}: over P you move {over_P:,} bytes, and {2 * V // X:,} "
            "are enough: cross with pieces of the gradient, and nothing else"
        )
    if ("all_reduce", "X") in moved:
        raise WrongAnswer(
            f"{asked}: you use an AllReduce over X; each chip needs only its "
            "piece of the sum, and a ReduceScatter leaves it there"
        )
    over_X = sum(v for key, v in moved.items() if key[1:] == ("X",))
    if over_X > least_X:
        raise WrongAnswer(
            f"{asked}: over X you move {over_X:,} bytes, and {least_X:,} are "
            "enough"
        )


def _weighted(terms, tokens):
    """The sum of gradients of means, each with its number of tokens."""
    return np.einsum("nij,n->ij", terms, tokens)


@question.visible("gradient_columns", (2, 4), (4, 2), (2, 3))
def check_columns(P, X, seed=2):
    """Question 2: columns of the gradient of the mean over unequal chips.

    P, X  pods, and chips of each
    seed  of the arrays
    """
    draw = np.random.default_rng(seed)
    rows, columns = draw.integers(3, 7), X * draw.integers(2, 5)
    terms = draw.integers(-9, 10, (P * X, rows, columns)).astype(np.float32)
    tokens = draw.permutation(np.arange(1, P * X + 1)).astype(np.float32)
    flat = terms.reshape(-1, columns)
    request = program.request(
        flat,
        tokens,
        mesh={"P": P, "X": X},
        in_specs=(Spec(("P", "X"), None), Spec(("P", "X"))),
        out_specs=Spec(None, "X"),
        check_vma=False,
    )
    asked = f"gradient_columns on {P} pods of {X}"
    answer, V = student.program("gradient_columns", request), terms[0].nbytes
    _refuse_detours(answer, asked, V, X, V)
    got = answer.run(flat, tokens)
    if got.shape != terms[0].shape:
        raise WrongAnswer(
            f"{asked}: you return {got.shape[1] // X} columns of "
            f"{got.shape[0]} rows on each chip, not its {columns // X} "
            f"columns of {rows}"
        )
    right = _weighted(terms, tokens)
    total = tokens.sum()
    first = slice(0, X)
    compare.close(
        asked,
        got,
        right / total,
        likely=[
            (
                terms.mean(0),
                "you took the mean of means; chips with few tokens count too "
                "much",
            ),
            (terms.sum(0), "you add up means, and forget the tokens"),
            (right, "you forget to divide by the number of tokens"),
            (right / (P * X), "you divide by chips, not by tokens"),
            (
                terms.sum(0) / total,
                "you divide by all tokens without weighing each chip by its "
                "own",
            ),
            (
                _weighted(terms[first], tokens[first]) / tokens[first].sum(),
                "you have the mean of one pod only",
            ),
            (
                _weighted(terms[first], tokens[first]) / total,
                "you have the sum of one pod only",
            ),
            (
                _mean_of_pods(terms, tokens, X),
                "you took the mean over pods of their means; pods have "
                "different numbers of tokens, too",
            ),
            (right / total / P, "you divide by pods once more"),
            (
                _weighted(terms, 1 / tokens),
                "you divide each mean by its tokens; what was divided by them "
                "is to be multiplied",
            ),
        ],
        show=True,
    )


def _mean_of_pods(terms, tokens, X):
    pods = [slice(n, n + X) for n in range(0, len(terms), X)]
    means = [_weighted(terms[p], tokens[p]) / tokens[p].sum() for p in pods]
    return np.mean(means, axis=0)


def grade_columns():
    """Question 2 with other numbers."""
    for P, X in ((4, 2), (2, 2), (2, 4)):
        seed = question.draw(f"columns {P} {X}").integers(2**31)
        check_columns(P, X, int(seed))


@question.visible("step", (3, 2), (2, 4))
def check_step(P, X, seed=3):
    """Question 3: a step of momentum by ZeRO-1 inside each pod.

    P, X  pods, and chips of each
    seed  of the arrays: small whole numbers, of which all that 0.75 and 0.5
          make is exact
    """
    draw = np.random.default_rng(seed)
    rows, columns = P * X * draw.integers(1, 4), draw.integers(2, 6)
    W, m = draw.integers(-9, 10, (2, rows, columns)).astype(np.float32)
    terms = draw.integers(-9, 10, (P * X, rows, columns)).astype(np.float32)
    flat, own, cut = terms.reshape(-1, columns), Spec("X", None), ("P", "X")
    request = program.request(
        W,
        m,
        flat,
        mesh={"P": P, "X": X},
        in_specs=(Spec(), own, Spec(cut, None)),
        out_specs=(Spec(), own),
        check_vma=False,
    )
    asked = f"step on {P} pods of {X}"
    answer = student.program("step", request)
    _refuse_detours(answer, asked, W.nbytes, X, 2 * W.nbytes)
    results = answer.run(W, m, flat)
    if len(results) != 2 or len(results[1]) != len(m):
        raise WrongAnswer(
            f"{asked}: you should return the new W and the chip's rows of m"
        )
    for n, name in enumerate(("W", "m")):
        compare.close(
            f"the new {name} of {asked}",
            results[n],
            _stepped(W, m, terms.sum(0))[n],
            likely=[
                (mistake[n], sentence)
                for mistake, sentence in _mis_stepped(W, m, terms, P, X)
            ],
            show=True,
        )
    answer.allow("psum_scatter", "psum", "all_gather")


def _stepped(W, m, dW, rate=0.5):
    """The new weights and state of a step with momentum."""
    new = 0.75 * m + dW
    return W - rate * new, new


def _mis_stepped(W, m, terms, P, X):
    """What known mistakes make of a step, with what to say."""
    dW = terms.sum(0)
    rows = len(m) // X
    first = np.tile(W[:rows], (X, 1))
    near = np.concatenate([W[k : k + rows] for k in range(X)])
    return [
        (_stepped(W, m, dW / (P * X)), "you took the mean, not the sum"),
        (_stepped(W, m, dW / P), "you took the mean over pods, not the sum"),
        (_stepped(W, m, dW / X), "you took the mean in a pod, not the sum"),
        (
            _stepped(W, m, dW + 0.75 * (P - 1) * m),
            "you add up the states of pods, which are the same",
        ),
        ((W - 0.5 * m, m), "you step with the state from before"),
        (
            (_stepped(W, m, dW)[0], m),
            "you return the state from before the step",
        ),
        (_stepped(W, m, dW, -0.5), "you move weights along their gradient"),
        (_stepped(W, m, dW, 1), "you forget the rate 0.5"),
        (_stepped(W, m, terms[:X].sum(0)), "you have the sum of one pod"),
        ((W - 0.5 * dW, dW), "you forget the state"),
        (
            (W - 0.75 * m - 0.5 * dW, 0.75 * m + 0.5 * dW),
            "you take 0.5 of the gradient; the rate scales all of m",
        ),
        ((W - 0.5 * (m + dW), m + dW), "you forget the 0.75"),
        (
            (_stepped(near, m, dW)[0], _stepped(W, m, dW)[1]),
            "a chip's rows begin at its number times their count",
        ),
        (
            (_stepped(first, m, dW)[0], _stepped(W, m, dW)[1]),
            "every chip of yours updates the first rows",
        ),
    ]


def grade_step():
    """Question 3 with other numbers."""
    for P, X in ((4, 2), (2, 2), (2, 4)):
        seed = question.draw(f"step {P} {X}").integers(2**31)
        check_step(P, X, int(seed))


# --- 4. what leaves a chip ---------------------------------------------------

_INSIDE = {"dp": dp, "zero1": zero1, "fsdp": fsdp, "tp": tp}
_INSIDE["fsdp_tp"] = fsdp_tp
_STRATEGIES = (*_INSIDE, "everywhere")


def _everywhere(D, F, P, X, width):
    """Bytes that leave a chip when FSDP cuts over all pods, counted."""

    def body(W, dW):
        for _ in ("forward", "backward"):
            all_gather(all_gather(W, "P", tiled=True), "X", tiled=True)
        dW = psum_scatter(dW, "X", tiled=True)
        return psum_scatter(dW, "P", tiled=True)

    spec = Spec(("X", "P"))
    step = jax.shard_map(
        body,
        mesh=_mesh(P=P, X=X),
        in_specs=(spec, Spec()),
        out_specs=spec,
        check_vma=False,
    )
    weights = 2 * D * F
    dtype = jnp.bfloat16 if width == 2 else jnp.float32
    W = jax.ShapeDtypeStruct((weights,), jnp.bfloat16)
    dW = jax.ShapeDtypeStruct((weights,), dtype)
    return float(count.sent(count.collectives(step, W, dW, live=False), "P"))


def _crossing(name, D, F, P, X, Y, width):
    """Bytes that leave a chip over P in a step, counted in the program."""
    if name == "everywhere":
        return _everywhere(D, F, P, X, width)
    mesh, strategy = _mesh(P=P, X=X, Y=Y), across(_INSIDE[name])
    dtype = jnp.bfloat16 if width == 2 else jnp.float32
    shapes = block.arguments(strategy, mesh, P * X * Y, D, F, dtype)
    moved = count.collectives(block.gradients(strategy, mesh), *shapes)
    return float(count.sent(moved, "P"))


@question.visible(
    "leaving",
    *[(name, 120, 240, 5, 4, 3, 2) for name in _STRATEGIES],
    *[(name, 60, 90, 5, 3, 2, 4) for name in ("zero1", "tp", "everywhere")],
    ("fsdp_tp", 40, 50, 3, 5, 2, 2),
)
def check_leaving(name, D, F, P, X, Y, width):
    """Question 4: bytes that leave a chip for other pods in a step.

    name     strategy inside the pods, or "everywhere"
    D, F     sizes of the layer
    P, X, Y  pods, and chips of each
    width    bytes of an element of a gradient
    """
    right = _crossing(name, D, F, P, X, Y, width)
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(name, X)
    part, gradient = (P - 1) / P, 2 * width * D * F
    gathers = 2 * 2 * 2 * D * F
    likely = [
        (right / part, "you leave out (P - 1) / P"),
        (right / part / P, "you send one part of P; P - 1 leave"),
        (2 * gradient * part, "you send all of it; a chip sends what it keeps"),
        (np.floor(right), "you round down; these are shares of bytes"),
    ]
    if name == "everywhere":
        likely += [
            (
                (gathers + 4 * D * F) / X * part,
                "you take two bytes for an element of the gradient",
            ),
            (
                (gathers / 2 + gradient) / X * part,
                "weights are gathered twice, in forward and in backward, and "
                "the gradient is scattered; that is three passes",
            ),
            (2 * gradient / X * part, "you AllReduce; this one gathers"),
            (right / P, "what crosses is an X-th, and P no further cut"),
            (right / Y, "it cuts over P and X; Y is no axis of it"),
            (gathers / X * part, "you forget to scatter the gradient"),
            (
                3 * gradient / X * part,
                "your weights are as wide as gradients; they are bf16",
            ),
            (
                (gathers + 2 * gradient) / X * part,
                "you count the gradient twice; a scatter is half of an "
                "AllReduce",
            ),
        ]
    else:
        narrow = "you take two bytes for an element of the gradient"
        likely += [
            *[(8 * D * F / cut * part, narrow)] * (width != 2),
            (
                gradient / cut * part,
                "you send half: an AllReduce has two halves, and a layer two "
                "matrices",
            ),
            (2 * gradient / X / Y * part, "you cut over an axis too many"),
            (2 * gradient / X * part, "you cut over X, and this one does not"),
            (
                (gathers + gradient) / cut * part,
                "you gather weights over P; every pod has its own",
            ),
            (
                (gathers / 2 + gradient) / cut * part,
                "you gather weights over P; every pod has its own",
            ),
            (
                16 * D * F / cut * part,
                "you take four bytes for an element of the gradient",
            ),
        ]
    compare.close(
        f"leaving({name!r}, {D}, {F}, {P}, {X}, {Y}, {width})",
        student.call("leaving", name, D, F, P, X, Y, width),
        right,
        likely=likely,
    )


def grade_leaving():
    """Question 4 with other sizes."""
    draw = question.draw("leaving")
    for name in _STRATEGIES:
        P, X, Y, d, f = draw.integers(2, 8, 5).tolist()
        width = int(draw.choice([2, 4]))
        check_leaving(name, P * X * Y * d, X * Y * f, P, X, Y, width)


# --- 5. tokens that hide it --------------------------------------------------


def _tokens_that_hide(flops, port, P, m, width):
    """Bytes are counted; products of a token are walked through."""
    N, F = 4, 6
    mesh, strategy = _mesh(P=P, X=N), across(fsdp)
    dtype = jnp.bfloat16 if width == 2 else jnp.float32
    shapes = block.arguments(strategy, mesh, P * N, N, F, dtype)
    moved = count.collectives(block.gradients(strategy, mesh), *shapes)
    seconds = float(count.sent(moved, "P")) / port
    backward = [(N, F), (F, N), (N, F), (F, N)]  # dW_out, dTmp, dW_in, dIn
    each = sum(2 * rows * columns for rows, columns in backward)
    of_the_last = seconds * N * flops / each
    return sum(of_the_last for _ in range(m))


@question.visible(
    "tokens_of_a_pod",
    (4.59e14, 6.25e9, 5, 1, 2),
    (4.59e14, 6.25e9, 5, 3, 4),
    (9.9e14, 5e10, 16, 8, 2),
    (9.9e14, 5e10, 2, 1, 4),
    (9.9e14, 4.7e10, 7, 3, 2),  # no whole number
)
def check_tokens(flops, port, P, m, width):
    """Question 5: tokens that hide the sum over pods behind the last backward.

    flops, port  FLOP/s of a chip, bytes/s that it sends out of its pod
    P, m, width  pods, microbatches, bytes of an element of a gradient
    """
    right, part = _tokens_that_hide(flops, port, P, m, width), (P - 1) / P
    compare.close(
        f"tokens_of_a_pod({flops:g}, {port:g}, {P}, {m}, {width})",
        student.call("tokens_of_a_pod", flops, port, P, m, width),
        right,
        likely=[
            (
                right / m,
                "you let the sums run beside every backward pass; they cross "
                "once, beside the last microbatch",
            ),
            (right / m**2, "you divide by m; the last microbatch is one of m"),
            (right / part, "you leave out (P - 1) / P"),
            (right / part / m, "you take the limit, C over W, for all tokens"),
            (right / part / P, "you send one part of P; P - 1 leave"),
            (right * 2 / width, "your gradients are bf16, whatever `width` is"),
            (right * 2, "you compare with half of the backward pass"),
            (right / 2, "you take half of an AllReduce, or all of its time"),
            (right * 2 / 3, "you hide it behind the forward pass, too"),
            (
                right / m * (1 + 2 * m) / 3,
                "you hide it behind passes that are over",
            ),
            (right * P, "you count the tokens of all pods"),
            (-(-right // 1), "you round up; a real number was asked for"),
            (
                m * -(-right / m // 1),
                "you round up a microbatch; a real number was asked for",
            ),
        ],
    )


def grade_tokens():
    """Question 5 with other machines."""
    draw = question.draw("tokens")
    for _ in range(4):
        flops, port = draw.uniform(1e14, 1e15), draw.uniform(1e9, 1e11)
        P, m = draw.integers(2, 12, 2)
        width = int(draw.choice([2, 4]))
        check_tokens(float(flops), float(port), int(P), int(m), width)


# --- 6. which axes are slow --------------------------------------------------

_HELD = [0, 0, 0, 0, 1, 1, 1, 1]
_GRIDS = [
    ([[0, 1, 2, 3], [4, 5, 6, 7]], _HELD),
    ([[0, 1, 2, 3], [4, 5, 6, 7]], [0, 1, 0, 1, 0, 1, 0, 1]),
    ([[5, 1], [0, 6], [4, 2], [3, 7]], [3, 8, 8, 8, 3, 8, 3, 8]),
    ([[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]], [4] * 11 + [2]),
    ([[[0, 1, 2], [3, 4, 5]]] * 1, [6, 6, 6, 5, 5, 5]),
    ([[0, 1, 2], [3, 4, 5]], [1, 2, 1, 1, 2, 1]),
    ([[3, 1], [2, 0]], [7, 7, 7, 7]),
    ([[3, 1], [0, 2]], [2, 7, 2, 7]),
]


def _pairs(grid):
    """(axis, device, device) for any two that differ in one place only."""
    for one in np.ndindex(grid.shape):
        for axis, size in enumerate(grid.shape):
            for place in range(one[axis] + 1, size):
                other = (*one[:axis], place, *one[axis + 1 :])
                yield axis, int(grid[one]), int(grid[other])


@question.visible("slow_axes", *_GRIDS)
def check_slow(grid, slice_of):
    """Question 6: the axes of a mesh along which a slice is left.

    grid      device numbers, nested lists of one to three axes
    slice_of  for each device its slice
    """
    asked = f"slow_axes({compare.shown(grid)}, {compare.shown(slice_of)})"
    got = student.call("slow_axes", grid, slice_of)
    found = [
        compare.whole_number(f"an entry of {asked}", axis)
        for axis in compare.entries(asked, got, None)
    ]
    pairs = [
        (axis, a, b)
        for axis, a, b in _pairs(np.array(grid))
        if slice_of[a] != slice_of[b]
    ]
    axes = np.ndim(grid)
    slow = sorted({axis for axis, _, _ in pairs})
    if sorted(found) == slow:
        return
    for axis in found:
        if not 0 <= axis < axes:
            compare.wrong(asked, got, f"you name axis {axis} of {axes} axes")
    fast = [axis for axis in range(axes) if axis not in slow]
    if found == fast:
        compare.wrong(
            asked,
            got,
            "you name the fast axes: take the devices as they lie in `grid`, "
            "and the slice of each from `slice_of`",
        )
    for axis in set(found) - set(slow):
        compare.wrong(
            asked,
            got,
            f"you name axis {axis}, and no line along it leaves its slice",
        )
    for axis, a, b in pairs:
        if axis not in found:
            compare.wrong(
                asked,
                got,
                f"you miss axis {axis}: devices {a} and {b} lie on one line "
                "along it, in two slices",
            )
    compare.wrong(asked, got, "you name an axis twice")


def grade_slow():
    """Question 6 on other meshes."""
    draw = question.draw("slow")
    for _ in range(12):
        sizes = draw.integers(1, 5, draw.integers(1, 4)).tolist()
        count_ = int(np.prod(sizes))
        grid = draw.permutation(count_).reshape(sizes)
        slices = np.empty(count_, int)
        names = draw.permutation(9)[:4]
        for place in np.ndindex(*sizes):
            slices[grid[place]] = names[place[0] % 4]
        if draw.integers(2) and count_ > 1:
            slices[grid.flat[-1]] = names[-1]
        check_slow(grid.tolist(), slices.tolist())


# --- 7. HSDP on nodes of GPUs ------------------------------------------------

_GPU, _ROOM = hw.H100, 60e9
_SMALL = 8 * 16  # elements of a model, times nodes, whose traffic is counted


@functools.cache
def _port_bytes(nodes, k):
    """Bytes a parameter over a port, forward and backward, counted."""
    G = nodes // k
    here, mesh = Spec(("X", "K")), _mesh(G=G, K=k, X=8)

    def weights(W):
        return all_gather(all_gather(W, "K", tiled=True), "X", tiled=True)

    def gradients(dW):  # the gathers of backward do not leave the node
        dW = psum_scatter(dW, "X", tiled=True)
        return psum(psum_scatter(dW, "K", tiled=True), "G")

    elements = _SMALL * k
    how = {"mesh": mesh, "check_vma": False}
    gather = jax.shard_map(weights, in_specs=here, out_specs=Spec(), **how)
    reduce = jax.shard_map(gradients, in_specs=Spec(), out_specs=here, **how)
    W = jax.ShapeDtypeStruct((elements,), jnp.bfloat16)
    moved = count.collectives(gather, W), count.collectives(reduce, W)
    return tuple(
        sum(float(count.sent(each, axis)) for axis in ("K", "G")) / elements
        for each in moved
    )


def _on_a_gpu(params, k):
    """Bytes of what is cut over k nodes, and of the weights that a node has."""
    return Fraction(16 * params, 8 * k) + Fraction(2 * params, 8)


def _waits(tokens, nodes, k):
    """Traffic over arithmetic of the two passes, 2 and 4 FLOPs a parameter."""
    each = tokens / (8 * nodes)
    work = [flops * each / _GPU.flops for flops in (2, 4)]
    sent = [moved / _GPU.dcn_bw for moved in _port_bytes(nodes, k)]
    return [t / math for t, math in zip(sent, work, strict=True)]


def _smallest(params, tokens, nodes):
    for k in range(1, nodes + 1):
        fits = nodes % k == 0 and _on_a_gpu(params, k) <= _ROOM
        if fits and max(_waits(tokens, nodes, k)) <= 1:
            return k
    return 0


def _refuse_group(asked, got, params, tokens, nodes):
    """Say what is wrong with a group that is not the smallest that does."""
    right = _smallest(params, tokens, nodes)
    if got == 0:
        said = (
            "some group will do: try all that divide the nodes. A larger one "
            "has more room, sends more in forward and less in backward"
        )
        if question.shows():
            there, back = _port_bytes(nodes, right)
            gigabytes = float(_on_a_gpu(params, right)) / 1e9
            said = (
                f"k = {right} will do, with {gigabytes:.4g} GB. A port sends "
                f"{there:.4g} bytes a parameter in forward, {back:.4g} in "
                "backward"
            )
        compare.wrong(asked, got, f"you give up, and {said}")
    if got == 8 * right:
        compare.wrong(asked, got, "you count GPUs; nodes were asked for")
    if not 0 < got <= nodes or nodes % got:
        compare.wrong(asked, got, "your group does not divide the nodes")
    held = float(_on_a_gpu(params, got))
    if held > _ROOM:
        compare.wrong(
            asked,
            got,
            f"states and the weights that a node keeps would take "
            f"{held / 1e9:.12g} GB of each of your GPUs",
        )
    for name, each, ratio in zip(
        ("forward", "backward"),
        _port_bytes(nodes, got),
        _waits(tokens, nodes, got),
        strict=True,
    ):
        if ratio > 1:
            compare.wrong(
                asked,
                got,
                f"in {name} each of your ports would send {each:.4g} bytes a "
                f"parameter, in {ratio:.3g} times the seconds of its work",
            )
    compare.wrong(asked, got, "your group will do, and so will a smaller one")


@question.visible(
    "smallest_group",
    (8_000_000_000, 4_000_000, 64),
    (13_000_000_000, 2_300_000, 128),
    (8_000_000_000, 1_000_000, 64),
    (8_000_000_000, 900_000, 64),
    (8_000_000_000, 1_300_000, 96),
    (70_000_000_000, 1_440_000, 96),
    (70_000_000_000, 1_400_000, 96),
    (80_000_000_000, 1_600_000, 96),
    (80_000_000_001, 1_600_000, 96),
    (100_000_000_000, 2_200_000, 128),
    (405_000_000_000, 16_000_000, 500),
    (33_000_000_000, 42_000, 4),
    (70_000_000_000, 60_000, 2),
    (26_000_000_000, 40_000, 1),
    (29_000_000_000, 40_000, 1),
)
def check_group(params, tokens, nodes):
    """Question 7: nodes of H100s over which HSDP should cut a model.

    params, tokens, nodes  of the model, of a step, of the cluster
    """
    job = params, tokens, nodes
    asked = f"smallest_group({params:_}, {tokens:_}, {nodes})"
    got = student.call("smallest_group", *job)
    if compare.whole_number(asked, got) != _smallest(*job):
        _refuse_group(asked, int(got), *job)


def grade_group():
    """Question 7 with other models and clusters."""
    draw = question.draw("group")
    for nodes in (24, 64, 90, 128):
        for low, high in ((1200, 2600), (1500, 2000), (1700, 1900)):
            each = int(draw.integers(low, high))
            params = int(draw.integers(1, 150)) * 10**9
            check_group(params, each * 8 * nodes, nodes)


# --- 8. talking less often ---------------------------------------------------


def _talk(params, sites, line):
    """Seconds in which a ring of sites adds up float32 weights, counted."""
    V = 4 * sites
    steps = ring.all_reduce_steps(V, sites)
    sent = sum(
        Fraction(hop.bytes)
        for hop in itertools.chain(*steps)
        if hop.source == 0
    )
    return float(sent / V) * 4 * params / line


def _first_that_does(talk, step, share):
    """The fewest steps by trying: doubling, then halving what is left."""

    def does(H):
        return talk <= share * (talk + H * step)

    high = 1
    while not does(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if does(middle) else (middle, high)
    return max(high, 1)


@question.visible(
    "fewest_steps",
    (70_000_000_000, 4_000_000, 5, 2.8e18, 5e10, 0.3),
    (70_000_000_000, 4_000_000, 2, 2.8e18, 5e10, 0.02),
    (8_000_000_000, 1_000_000, 3, 1e18, 1.3e9, 0.1),
    (8_000_000_000, 16_000_000, 4, 1e16, 1.25e10, 0.05),
)
def check_rounds(params, tokens, sites, flops, line, share):
    """Question 8: steps between two rounds of talking.

    params, tokens  of the model, and of one step of all sites together
    sites, flops    sites, and FLOP/s that they reach together
    line, share     bytes/s that a site sends, and what talking may take
    """
    talk = _talk(params, sites, line)
    step = sum(2 * params * tokens / flops for _ in ("fwd", "dIn", "dW"))
    asked = (
        f"fewest_steps({params:_}, {tokens:_}, {sites}, {flops:g}, {line:g}, "
        f"{share})"
    )
    ties = talk, talk * (1 - 1e-9), talk * (1 + 1e-9)  # floats may fall so
    _whole(
        asked,
        student.call("fewest_steps", params, tokens, sites, flops, line, share),
        [_first_that_does(each, step, share) for each in ties],
        lambda: _mistaken_rounds(talk, step, share, sites),
    )


def _mistaken_rounds(talk, step, share, sites):
    """What known mistakes give, with what to say."""

    def with_(talk=talk, step=step, share=share):
        return _first_that_does(talk, step, share)

    part, right = (sites - 1) / sites, with_()
    return [
        (
            int(np.ceil(talk / (share * step))),
            "your share is one of the computing; talking is a part of the "
            "whole time",
        ),
        (right - 1, "with one step fewer, talking takes more than that"),
        (right + 1, "yours is one more than is needed"),
        (with_(talk / 2), "you take bf16, or half of an AllReduce"),
        (with_(talk / part), "you leave out (sites - 1) / sites"),
        (
            with_(talk / part / 2),
            "you send the weights once; an AllReduce has two halves",
        ),
        (with_(talk * 2), "you send twice as much as an AllReduce does"),
        (with_(step=step / 3), "you count the forward pass only"),
        (with_(step=step * sites), "all sites together reach `flops`"),
        (with_(step=step / sites), "all sites share a step's tokens"),
        (
            with_(talk * sites / 2 / part / sites * (sites - 1)),
            "you send to each other site; a ring passes sums on",
        ),
    ]


def grade_rounds():
    """Question 8 with other sites."""
    draw = question.draw("rounds")
    for _ in range(5):
        params = int(draw.integers(1, 400)) * 10**9 + int(draw.integers(999))
        tokens, sites = int(draw.integers(10**5, 10**7)), draw.integers(2, 9)
        flops, line = draw.uniform(1e17, 1e19), draw.uniform(1e9, 1e11)
        share = round(float(draw.uniform(0.01, 0.4)), 3)
        check_rounds(
            params, tokens, int(sites), float(flops), float(line), share
        )


# --- 9. as many slices as possible -------------------------------------------


def _dealt(sequences, pods):
    """Sequences of each pod, dealt one at a time."""
    hands = [0] * pods
    for n in range(sequences):
        hands[n % pods] += 1
    return hands


SLICES, NODES = "slices of 64 v5p", "nodes of 8 H100s"
LARGE = "slices of 512 v5p"
V5P, H100 = (64, 4.59e14, 73_440, 850), (8, 9.9e14, 19_800, 2475)
COUPLES = {"twos": (2, 1.0, 100, 433.5, 12), "one": (1, 2.0, 867, 1, 3)}


def _fed(batch, offer, *, divide=True, network=True, inside=True, hire=True):
    """Every number of units of an offer that a batch feeds, by dealing it.

    divide, network, inside, hire  False: this demand is forgotten
    """
    sequences, S = batch
    chips, _, per_unit, per_chip, units = offer
    need = max(per_unit * network, chips * per_chip * inside)
    most = min(units, sequences) if hire else sequences
    found = []
    for n in range(1, most + 1):
        hands = _dealt(sequences, n)
        if min(hands) * S >= need and (len(set(hands)) == 1 or not divide):
            found.append(n)
    return found


def _chosen(
    batch, offers, worth=lambda n, chips, flops: n * chips * flops, **how
):
    """The kind that is worth most, and its number of units."""
    best = ["none", 0]
    most = 0.0
    for name, offer in offers.items():
        for n in _fed(batch, offer, **how):
            if worth(n, *offer[:2]) > most:
                best, most = [name, n], worth(n, *offer[:2])
    return best


@question.visible(
    "best_offer",
    (
        60,
        1024,
        {
            "fours": (4, 1.0, 900, 90, 4),
            "ones": (1, 1.0, 900, 90, 20),
            "tens": (10, 1.0, 900, 90, 6),
            "fives": (5, 4.0, 900, 90, 6),
            "quick": (1, 9.0, 900, 90, 2),
        },
    ),
    (488, 4096, {SLICES: (*V5P, 20), NODES: (*H100, 160)}),
    (480, 8192, {NODES: (*H100, 40), SLICES: (*V5P, 19)}),
    (480, 8192, {SLICES: (*V5P, 500), NODES: (*H100, 170)}),
    (480, 8192, {LARGE: (512, 4.59e14, 73_440, 433.5, 40)}),
    (48, 36_720, {SLICES: (16, 4.59e14, 73_440, 1, 90), NODES: (*H100, 7)}),
    (360, 1024, {"eights": (8, 1.0, 100, 100, 400), "ones": (1, 7.0, 9, 9, 5)}),
    (12, 867, COUPLES),
    (7, 8192, {SLICES: (32, 4.59e14, 40_000, 850, 9)}),  # one can be fed
    (7, 8192, {SLICES: (512, 4.59e14, 73_440, 850, 4)}),
)
def check_most(sequences, S, offers):
    """Question 9: which machine, and how much of it, a batch can feed.

    sequences, S  of a batch, and tokens of each
    offers        dict: name -> (chips of a unit, FLOP/s of a chip, tokens that
                  a unit needs, tokens that a chip needs, units for hire)
    """
    asked, batch = f"best_offer({sequences}, {S}, {offers})", (sequences, S)
    right = _chosen(batch, offers)
    got = student.call("best_offer", sequences, S, offers)
    got = compare.entries(asked, got, 2)
    mistakes = _mistaken_offers(batch, offers, right)
    compare.equal(asked, got, right, likely=mistakes)


def _mistaken_offers(batch, offers, right):
    """What known mistakes give, with what to say; made when it is asked for."""
    for forgotten, words in (
        ("inside", "you forget the chips; inside a unit they starve"),
        (
            "network",
            "you forget the network between units, which is too slow",
        ),
        (
            "divide",
            "you leave sequences over, or give units different numbers",
        ),
        ("hire", "you take more units than are for hire"),
    ):
        yield _chosen(batch, offers, **{forgotten: False}), words
    for worth, words in (
        (
            lambda n, chips, flops: n * chips,
            "another kind does more FLOP/s with fewer chips: compare all, each "
            "at its largest number",
        ),
        (
            lambda n, chips, flops: n,
            "more units of a kind are not more FLOP/s: compare all of them",
        ),
        (
            lambda n, chips, flops: flops * (1 + n / 1e9),
            "you take the fastest chip; how many of them work?",
        ),
    ):
        yield _chosen(batch, offers, worth), words
    for name, offer in offers.items():
        if fed := _fed(batch, offer):
            yield [name, max(fed)], "a later kind may reach more FLOP/s"
            break
    fastest = max(offers, key=lambda name: offers[name][0] * offers[name][1])
    for name, words in (
        (right[0], "you name the smallest number of units"),
        (fastest, "you take the fastest unit; how many of them work?"),
    ):
        if name in offers and _fed(batch, offers[name]):
            yield [name, min(_fed(batch, offers[name]))], words
    if right[1]:
        yield (
            ["none", 0],
            "some number will do: try all down to one, and count tokens",
        )
    for name in offers:
        words = "that kind cannot be fed, not even one unit of it"
        if not _fed(batch, offers[name]):
            yield [name, 1], words
    yield (
        _in_parts(batch, offers),
        "you cut sequences; are all whole, and used?",
    )
    for kinds, words in (
        (
            {
                name: (chips, flops, per_unit * chips, per_chip, units)
                for name, (
                    chips,
                    flops,
                    per_unit,
                    per_chip,
                    units,
                ) in offers.items()
            },
            "you ask of each chip what the network outside asks of a unit",
        ),
        (
            {
                name: (chips, flops, max(per_unit, chips * batch[1]), *rest)
                for name, (chips, flops, per_unit, *rest) in offers.items()
            },
            "sequences lie on a unit, and its chips share them: do not ask for "
            "whole sequences or whole tokens on each chip",
        ),
        (
            {
                name: (chips, flops, per_unit, per_chip / chips, units)
                for name, (
                    chips,
                    flops,
                    per_unit,
                    per_chip,
                    units,
                ) in offers.items()
            },
            "you ask of a unit what the network inside asks of each chip",
        ),
    ):
        yield _chosen(batch, kinds), words
    words = "you ask for more than is needed: just enough is enough"
    yield _demanding(batch, offers), words


def _in_parts(batch, offers):
    """What is chosen if sequences may be cut."""
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        need = max(per_unit, chips * per_chip)
        n = min(units, int(batch[0] * batch[1] // need))
        if n * chips * flops > most:
            best, most = [name, n], n * chips * flops
    return best


def _demanding(batch, offers):
    """What is chosen if tokens that are just enough are too few."""
    sequences, S = batch
    found = {}
    for name, offer in offers.items():
        chips, _, per_unit, per_chip, units = offer
        less = [
            n
            for n in _fed(batch, offer)
            if sequences // n * S > per_unit
            and sequences // n * S // chips >= per_chip
        ]
        found[name] = (*offer[:4], max(less, default=0))
    return _chosen(batch, found)


def grade_most():
    """Question 9 with other batches."""
    draw = question.draw("most")
    for _ in range(8):
        sequences = 2 * int(draw.integers(60, 400))
        S = 1024 * int(draw.integers(1, 17))
        slices = (*V5P, int(draw.integers(4, 60)))
        nodes = (*H100, int(draw.integers(20, 400)))
        large = (512, 4.59e14, 73_440, 433.5, int(draw.integers(1, 9)))
        offers = {SLICES: slices, NODES: nodes, LARGE: large}
        check_most(sequences, S, offers)


# --- 10. three queues --------------------------------------------------------


def _played(math, inside, across_pods):
    """When the last task ends, played on three queues."""
    tasks = []
    for n, (dW, scatter, total) in enumerate(
        zip(math, inside, across_pods, strict=True)
    ):
        tasks += [
            timeline.Task(f"dW {n}", "chip", dW),
            timeline.Task(f"RS {n}", "ICI", scatter, (f"dW {n}",)),
            timeline.Task(f"AR {n}", "DCN", total, (f"RS {n}",)),
        ]
    return timeline.makespan(timeline.play(tasks))


@question.visible(
    "finished",
    ([4.0, 5.0, 1.0, 4.0], [3.0, 5.0, 5.0, 5.0], [4.0, 3.0, 6.0, 6.0]),
    ([2.0, 3.0, 1.0], [0.5, 0.5, 0.5], [1.0, 1.0, 4.0]),
    ([1.0, 1.0, 1.0, 5.0], [0.5, 2.5, 0.25, 0.5], [3.0, 3.0, 1.0, 1.0]),
    ([1.0, 4.0, 1.0], [3.0, 0.5, 3.0], [2.0, 3.0, 0.5]),
    ([1.0, 0.5, 0.5], [4.0, 3.0, 2.0], [0.5, 6.0, 1.0]),
    ([2.0], [1.0], [3.0]),
)
def check_finished(math, inside, across_pods):
    """Question 10: when the last sum over pods is there.

    math, inside, across_pods  seconds of each layer on chip, ICI and DCN
    """
    rows = math, inside, across_pods
    free, slowest = [0.0] * len(math), list(map(max, *rows))
    free_ICI = _played(math, [0.0] * len(math), across_pods) + sum(inside)
    compare.close(
        f"finished({math}, {inside}, {across_pods})",
        student.call("finished", *rows),
        _played(*rows),
        likely=[
            (sum(map(sum, rows)), "you do one after the other"),
            (max(map(sum, rows)), "you start all three queues at once"),
            (
                _played(math, [0.0] * len(math), across_pods),
                "you forget the scatter inside",
            ),
            (free_ICI, "you add the scatters; they run beside the rest"),
            (
                _played(
                    math,
                    [0.0] * len(math),
                    [a + b for a, b in zip(inside, across_pods, strict=True)],
                ),
                "you let one queue scatter and cross; they are two networks",
            ),
            (
                sum(math) + inside[-1] + across_pods[-1],
                "you let no queue be busy; the networks may be behind",
            ),
            (
                _unqueued(*rows),
                "you let scatters overlap; ICI does one at a time",
            ),
            (
                math[0] + inside[0] + sum(across_pods),
                "your DCN never pauses after its first sum; it may wait for a "
                "scatter",
            ),
            (
                _played(math, inside, free) + across_pods[-1],
                "your DCN is always free; it does one sum at a time",
            ),
            (
                math[0] + inside[0] + across_pods[0] + sum(slowest[1:]),
                "you let the slowest queue of each layer count, as if layers "
                "were alike",
            ),
            (
                sum(math) + sum(map(max, inside, across_pods)),
                "your chip waits for the networks; it goes on with the next",
            ),
            (
                sum(math) + _played(free, inside, across_pods),
                "you scatter after all products; a scatter starts when its "
                "own gradient is made",
            ),
            (
                _played(math, inside, free) + sum(across_pods),
                "you cross after all scatters; a sum starts when its own "
                "scatter is done",
            ),
            (
                sum(map(max, math, inside, across_pods)),
                "you let layers wait for each other's networks",
            ),
        ],
    )


def _unqueued(math, inside, across_pods):
    """When the last is there, if every scatter began at once."""
    free = made = 0.0
    for dW, scatter, total in zip(math, inside, across_pods, strict=True):
        made += dW
        free = max(made + scatter, free) + total
    return free


def grade_finished():
    """Question 10 with other layers."""
    draw = question.draw("finished")
    for layers in (1, 2, 3, 5, 8, 13):
        check_finished(*draw.uniform(0.5, 4.0, (3, layers)).round(3).tolist())
