"""Set 15, putting it together: many axes, and what each of them costs.

What a plan uses is added up array by array; orders of axes are tried on
numbered chips; a program on three axes is held against one device, and its
bytes against what each axis must carry. Steps are followed event by event,
models grown until they no longer fit, and layouts go to the planner.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
from jax import P

from shardlab import hw, models, plan
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer

__all__ = [
    "BEST",
    "JOBS",
    "WITHIN",
    "check_fewest",
    "check_largest",
    "check_order",
    "check_plans",
    "check_slow",
    "check_step",
    "check_used",
    "grade_fewest",
    "grade_largest",
    "grade_order",
    "grade_plans",
    "grade_slow",
    "grade_step",
    "grade_used",
]


def _seed(draw):
    """A seed that a generator draws."""
    return int(draw.integers(2**31))


# --- 1: what runs out --------------------------------------------------------

NAMES = ("memory", "time", "batch")


def _arrays(model):
    """Shapes of a layer's weights: attention, and an MLP with a gate."""
    D, F = model["D"], model["F"]
    return [(D, D)] * 4 + [(D, F)] * 3


def _held(model, layout):
    """Bytes on a chip: states, what is whole over X, and inputs kept."""
    X, Y = layout["X"], layout["Y"]
    states = whole = inputs = Fraction(0)
    tokens = Fraction(layout["B"], layout["k"] * X)
    for _ in range(model["L"]):
        sizes = [math.prod(shape) for shape in _arrays(model)]
        states += sum(Fraction(n, X * Y) * (2 + 2 + 4 + 4 + 4) for n in sizes)
        whole = sum(Fraction(n, Y) * (2 + 2) for n in sizes)
        inputs += tokens / Y * model["D"] * 2
    return states, whole, inputs


def _seconds(model, layout, machine):
    """Seconds over X, over Y and of arithmetic, one collective at a time."""
    X, Y, k = layout["X"], layout["Y"], layout["k"]
    tokens = Fraction(layout["B"], k * X)
    over_X = over_Y = math_ = Fraction(0)
    for _ in range(model["L"]):
        for n in map(math.prod, _arrays(model)):
            for _ in ("gathered", "gathered again", "scattered"):
                over_X += k * Fraction(X - 1, X) * 2 * Fraction(n, Y)
            math_ += k * 6 * tokens * Fraction(n, Y)
        for _ in range(4):
            over_Y += k * 2 * Fraction(Y - 1, Y) * 2 * tokens * model["D"]
    rates = (Fraction(machine[name]) for name in ("W_X", "W_Y", "flops"))
    return [t / r for t, r in zip((over_X, over_Y, math_), rates, strict=True)]


def _used(model, layout, machine):
    """Shares of memory, of arithmetic's time, and of the batch."""
    x, y, work = _seconds(model, layout, machine)
    return [
        sum(_held(model, layout)) / Fraction(machine["hbm"]),
        max(x, y) / work,
        Fraction(layout["B"], machine["batch"]),
    ]


SMALL = {"L": 40, "D": 5120, "F": 13_824}  # LLaMA-2 13B
LARGE = {"L": 80, "D": 8192, "F": 28_672}  # a 70B
NODES = {
    "hbm": hw.H100.hbm_bytes,
    "flops": hw.H100.flops,
    "W_X": hw.H100.dcn_bw,
    "W_Y": hw.H100.link_bw,
}
SLICE = {
    "hbm": hw.V5P.hbm_bytes,
    "flops": hw.V5P.flops,
    "W_X": 4 * hw.V5P.link_bw,  # two axes of the torus
    "W_Y": 2 * hw.V5P.link_bw,
}


@question.visible(
    "used",
    (
        LARGE,
        {"X": 128, "Y": 8, "k": 4, "B": 2**22},
        NODES | {"batch": 2**23},
    ),
    (SMALL, {"X": 16, "Y": 4, "k": 2, "B": 2**21}, SLICE | {"batch": 2**23}),
    (SMALL, {"X": 256, "Y": 2, "k": 1, "B": 2**22}, SLICE | {"batch": 2**22}),
    (
        LARGE,
        {"X": 5, "Y": 8, "k": 3, "B": 15 * 2**13},
        NODES | {"batch": 10**6},
    ),
)
def check_used(model, layout, machine):
    """Question 1: shares of three resources, and the name of the largest."""
    got = compare.entries(
        "used", student.call("used", model, layout, machine), 2
    )
    asked = "used for " + ", ".join(f"{n} = {v:,}" for n, v in layout.items())
    first, shares = got
    shares = compare.numbers(f"the shares of {asked}", shares, 3)
    right = _used(model, layout, machine)
    slips = _slips(model, layout, machine)
    for name, share, model_share in zip(NAMES, shares, right, strict=True):
        compare.close(
            f"{name} in {asked}",
            share,
            float(model_share),
            likely=[
                (float(value), said)
                for value, said in slips[name]
                if value != model_share
            ],
        )
    largest = max(range(3), key=lambda i: right[i])
    compare.equal(
        f"the first of {asked}",
        first,
        NAMES[largest],
        likely=[
            (name, "another share is larger")
            for name in NAMES
            if name != NAMES[largest]
        ],
    )


def _slips(model, layout, machine):
    """Shares that show a mistake, with the mistake."""
    X, Y, k, L = layout["X"], layout["Y"], layout["k"], model["L"]
    states, whole, inputs = _held(model, layout)
    x, y, work = _seconds(model, layout, machine)
    hbm, B = Fraction(machine["hbm"]), Fraction(layout["B"])
    pieces = "states are cut over both axes"
    again = "weights are gathered, and gradients scattered, every microbatch"
    AllReduce = "a layer has 4 AllReduces, and each sends its array twice"
    found = {
        "memory": [
            (states + inputs, "one layer at a time is whole over X"),
            (states + whole / 2 + inputs, "its gradient is whole as well"),
            (states + whole * L + inputs, "one layer at a time is whole"),
            (states + whole * Y + inputs, "TP cuts what is whole over X"),
            (states + whole, "every layer's input is kept"),
            (states + whole + inputs * k, "inputs are of one microbatch"),
            (states + whole + inputs * Y, "with SP, Y cuts inputs as well"),
            (states + whole + inputs * X, "X cuts the batch"),
            (states + whole + inputs / L, "every layer's input is kept"),
            (states + whole + inputs / 2, "bf16 has two bytes"),
            (states * Y + whole + inputs, pieces),
            (states * X + whole + inputs, pieces),
            (states / 8 + whole + inputs, "training keeps 16 bytes"),
        ],
        "batch": [
            (B / k / machine["batch"], "a step is all its microbatches"),
            (B / X / machine["batch"], "a step is the batch of all chips"),
            (machine["batch"] / B, "you give room over use"),
        ],
    }
    found["memory"] = [(v / hbm, said) for v, said in found["memory"]]
    found["time"] = [
        (max(a, b) / c, said)
        for a, b, c, said in (
            (x / k, y, work, again),
            (x * Fraction(2, 3), y, work, "forward and backward both gather"),
            (x / 3, y, work, "two gathers and a scatter, each microbatch"),
            (x * Fraction(4, 3), y, work, "a scatter is half an AllReduce"),
            (
                x * X / (X - 1),
                y * Y / (Y - 1),
                work,
                "a chip of N sends N - 1 parts of N",
            ),
            (x * Y, y, work, "TP cuts weights, so X moves less of them"),
            (x / 2, y, work, "bf16 has two bytes"),
            (x, y / 2, work, AllReduce),
            (x, y / 4, work, AllReduce),
            (x, y * X, work, "X cuts the tokens that Y sends"),
            (x, y / k, work, "all microbatches send over Y"),
            (x, y * Y, work, "an AllReduce sends its array twice, not Y times"),
            (x, y, work * Y, "TP shares the arithmetic"),
            (x, y, work / 3, "training takes 6 FLOPs a parameter and token"),
            (x, y, work / k, "all microbatches are worked on"),
            (x, x, work, "both axes send"),
            (y, y, work, "both axes send"),
            (x + y, 0, work, "both axes send at the same time"),
            (min(x, y), 0, work, "the slower of the two counts"),
        )
    ]
    found["time"] += [
        (work / max(x, y), "you give arithmetic over traffic"),
        (max(x, y) / work / X / Y, "all chips share the arithmetic"),
        (max(x, y) / work / X, "all chips share the arithmetic"),
    ]
    D, F = model["D"], model["F"]
    for squares, wide in ((12, 0), (4, 2), (0, 3), (4, 8)):
        part = Fraction(squares * D + wide * F, 4 * D + 3 * F)
        said = "a layer has four weights of D * D and three of D * F"
        held = (states + whole) * part + inputs
        found["memory"].append((held / hbm, said))
        found["time"].append((max(x * part, y) / (work * part), said))
    return found


def grade_used():
    """Question 1 with other plans."""
    draw = question.draw("used")
    for machine in (NODES, SLICE) * 3:
        X, Y, k = (int(n) for n in draw.integers(2, 30, 3))
        model = {
            "L": int(draw.integers(10, 60)),
            "D": 128 * int(draw.integers(8, 60)),
            "F": 128 * int(draw.integers(30, 200)),
        }
        layout = {
            "X": X,
            "Y": Y,
            "k": k,
            "B": X * k * int(draw.integers(1e3, 9e4)),
        }
        most = int(layout["B"] * draw.uniform(0.5, 4))
        check_used(model, layout, machine | {"batch": most})


# --- 2: which axis lies inside -----------------------------------------------


def _placed(order, axes, node):
    """For each axis: how many of a group's chips share a node, and nodes.

    order  names of axes, the innermost first
    axes   pairs of chips and bytes, by name
    node   chips of a node
    """
    stride, found = 1, {}
    for name in order:
        chips = [stride * i for i in range(axes[name][0])]
        at = [chip // node for chip in chips]
        found[name] = at.count(at[0]), len(set(at))
        stride *= axes[name][0]
    return found


def _order_seconds(order, axes, node, link, outside):
    """Seconds inside of nodes and between them, one axis after the other."""
    within = between = 0.0
    for name, (inside, nodes) in _placed(order, axes, node).items():
        V = axes[name][1]
        within += V * (1 - 1 / inside) / link
        between += V * (1 - 1 / nodes) / inside / outside
    return within, between


@question.visible(
    "order",
    ({"dp": [8, 11e9], "tp": [4, 10e9], "cp": [2, 6e9]}, 8, 4.5e11, 5e10),
    ({"dp": [16, 3e9], "pp": [4, 1e9], "tp": [2, 9e9]}, 8, 4.5e11, 5e10),
    (
        {"tp": [4, 20e9], "cp": [4, 19e9], "dp": [2, 14e9], "pp": [8, 1e9]},
        8,
        4.5e11,
        5e10,
    ),
    (
        {"dp": [4, 8e9], "ep": [16, 9.5e9], "pp": [2, 7e9], "tp": [8, 9e9]},
        64,
        9e11,
        5e10,
    ),
    ({"dp": [32, 5e9], "tp": [2, 4e9], "cp": [2, 4.5e9]}, 4, 4.5e11, 5e10),
)
def check_order(axes, node, link, outside):
    """Question 2: an order of axes in which their traffic takes least time."""
    said = ", ".join(
        f"{name} of {chips} with {V / 1e9:g} GB"
        for name, (chips, V) in axes.items()
    )
    asked = f"order for {said}, nodes of {node}"
    got = compare.entries(
        asked, student.call("order", axes, node, link, outside), 2
    )
    names = compare.entries(f"the names of {asked}", got[0], len(axes))
    names = list(map(str, names))
    if sorted(names) != sorted(axes):
        compare.wrong("order", names, "expected each axis' name once")
    how = (axes, node, link, outside)
    yours = _order_seconds(names, *how)
    best = min(permutations(axes), key=lambda o: sum(_order_seconds(o, *how)))
    least = _order_seconds(best, *how)
    compare.close(
        f"the seconds of {names} for {said}",
        got[1],
        sum(yours),
        likely=_likely_seconds(names, *how),
    )
    if sum(yours) > sum(least) * (1 + 1e-9):
        compare.wrong(
            "order",
            names,
            f"{said}: links between nodes are busy for {yours[1]:.3g} s, those "
            f"inside for {yours[0]:.3g} s; there is an order with "
            f"{least[1]:.3g} s and {least[0]:.3g} s",
        )


def _likely_seconds(names, axes, node, link, outside):
    """Seconds of an order that show a mistake, with the mistake."""
    how = (axes, node, link, outside)
    within, between = _order_seconds(names, *how)
    shared = alone = apart = all_ = 0.0
    turns = []
    for name, (i, n) in _placed(names, axes, node).items():
        N, V = axes[name]
        shared += V * (1 - 1 / n) / outside
        alone += V * (1 - 1 / n) / N / outside
        apart += V * (1 - 1 / N) / (link if n == 1 else outside)
        all_ += V / link + V / i / outside
        turns.append(V * (1 - 1 / i) / link + V * (1 - 1 / n) / i / outside)
    each = [sum(_order_seconds([name], *how)) for name in names]
    turned = sum(_order_seconds(names[::-1], *how))
    return [
        (within, "you leave out what goes between nodes"),
        (between, "you leave out what goes inside of nodes"),
        (max(within, between), "axes take turns, inside and outside as well"),
        (within + shared, "chips of a node share what goes outside"),
        (within + alone, "only the chips in one node share what goes outside"),
        (apart, "an axis may lie in part inside of nodes"),
        (all_, "a chip has its own part already: 1 - 1/i, and 1 - 1/n"),
        (sum(each), "a node is filled once, from the inside out"),
        (turned, "these are seconds of the reverse order; innermost first"),
        (max(turns), "axes take turns: add up the seconds of all of them"),
        (sum(_order_seconds(names, *how)) * 1e9, "V is in bytes"),
    ]


def grade_order():
    """Question 2 with other axes."""
    draw = question.draw("order")
    for node, link in ((8, 4.5e11), (4, 3e11), (64, 9e11), (8, 9e11)) * 3:
        count = int(draw.integers(3, 5))
        names = draw.permutation(["tp", "cp", "ep", "dp", "pp"])[:count]
        axes = {
            str(name): [int(2 ** draw.integers(1, 5)), float(V)]
            for name, V in zip(
                names, 1e8 * draw.integers(10, 200, count), strict=True
            )
        }
        if math.prod(chips for chips, _ in axes.values()) % node == 0:
            check_order(axes, node, link, 5e10)


# --- 3: three axes and a loop ------------------------------------------------

RESULTS = ("the loss", "dW_in", "dW_out")


def _whole_step(In, Target, W_in, W_out):
    """Loss and gradients on one device, all tokens at once, in float64."""
    Tmp = In @ W_in
    hidden = np.maximum(Tmp, 0)
    dOut = hidden @ W_out - Target
    dTmp = dOut @ W_out.T * (Tmp > 0)
    return np.sum(dOut**2) / 2, In.T @ dTmp, hidden.T @ dOut


def _no_relu_back(In, Target, W_in, W_out):
    """The same if the backward pass forgets the ReLU."""
    dOut = np.maximum(In @ W_in, 0) @ W_out - Target
    loss, _, dW_out = _whole_step(In, Target, W_in, W_out)
    return loss, In.T @ (dOut @ W_out.T), dW_out


def _by_parts(In, Target, W_in, W_out, parts):
    """The same if each part of F subtracts the target, without a sum."""
    F = W_in.shape[1] // parts
    cuts = [slice(y * F, y * F + F) for y in range(parts)]
    each = [_whole_step(In, Target, W_in[:, c], W_out[c]) for c in cuts]
    return (
        np.mean([one[0] for one in each]),
        np.concatenate([one[1] for one in each], axis=1),
        np.concatenate([one[2] for one in each], axis=0),
    )


@question.visible(
    "step",
    (2, 2, 2, 5, 24, 4, 64),  # many tokens, so that what is kept of them shows
    (1, 4, 2, 3, 2, 8, 32),
)
def check_step(Z, X, Y, k, m, D, F, seed=0):
    """Question 3: loss and gradients on Z times X times Y devices.

    Z, X, Y  devices: pods, FSDP, TP
    k, m     microbatches, and tokens of one on a device
    D, F     sizes
    seed     of tokens and weights
    """
    draw = np.random.default_rng(seed)
    tokens = (k, m * Z * X, D)
    shapes = tokens, tokens, (D, F), (F, D)
    arrays = [draw.normal(size=s).astype(np.float32) for s in shapes]
    batch = P(None, ("Z", "X"), None)
    cut = P("X", "Y"), P("Y", "X")
    request = program.request(
        *arrays,
        mesh={"Z": Z, "X": X, "Y": Y},
        in_specs=(batch, batch, *cut),
        out_specs=(P(), *cut),
    )
    asked = f"step on {Z} x {X} x {Y} devices"
    answer = _exported_step(request)
    answer.allow("all_gather", "psum", "psum_scatter")
    found = compare.entries(asked, answer.run(*arrays), 3)
    wide = [a.astype(float) for a in arrays]
    flat = [x.reshape(-1, D) for x in wide[:2]]
    right = _whole_step(*flat, *wide[2:])
    mistakes = _mistaken_steps(wide, flat, Z, X, Y, m)
    for i, name in enumerate(RESULTS):
        likely = [
            (other[i], said)
            for other, said in mistakes
            if np.shape(other[i]) == np.shape(right[i])
        ]
        if i:  # the loss is right
            likely = _summed_by_grad(right[i], Z) + likely
        compare.close(
            f"{asked}, {name}",
            np.asarray(found[i]) if i else found[i],
            right[i],
            rel=1e-4,
            likely=likely,
            show=True,
        )
    _check_bytes(asked, answer, Z, X, Y, k, m, D, F)


def _exported_step(request):
    """The student's program; a sum of what is the same says so."""
    try:
        return student.program("step", request)
    except WrongAnswer as error:
        if "psum can only accept axis_name" not in str(error):
            raise
        raise WrongAnswer(
            "step: psum gets something that is the same along one of its axes "
            "already. Once Out is summed over Y, the loss is the same along "
            "Y: sum it over X and Z only"
        ) from None


def _summed_by_grad(right, Z):
    """Gradients that are too large although the loss is right."""
    alone = (
        "jax.grad of weights that are the same along Z sums over Z by itself, "
        "and you sum again"
    )
    if Z == 2:
        return [(2 * right, f"twice too large: {alone}; or your half is lost")]
    return [
        (Z * right, f"{Z} times too large: {alone}"),
        (2 * right, "twice too large, as if the loss had no half"),
    ]


def _mistaken_steps(wide, flat, Z, X, Y, m):
    """Results that show a mistake, with the mistake."""
    right = _whole_step(*flat, *wide[2:])
    k, count = len(wide[0]), len(flat[0])
    parts = _by_parts(*flat, *wide[2:], Y)

    def times(factor):
        return [part * factor for part in right]

    def some(number, said):
        """What the first devices' tokens, or the last microbatch, give."""
        rows = [x[:, :number] for x in wide[:2]]
        if number < 0:
            rows = [x[-1:] for x in wide[:2]]
        D = wide[0].shape[2]
        return (
            _whole_step(*(x.reshape(-1, D) for x in rows), *wide[2:]),
            said,
        )

    return [
        (times(1 / count), "you take the mean over tokens, not the sum"),
        (times(1 / k), "you take the mean over microbatches"),
        (times(1 / (Z * X)), "you take the mean over devices"),
        (times(1 / Z), "you take the mean over pods"),
        (times(2), "the loss is half the squared distance"),
        (times(Y), "what is the same along Y is summed over it"),
        (times(Y * Y), "what is the same along Y is summed over it"),
        (times(Z), "you sum over Z twice"),
        (
            [Y * parts[0], *parts[1:]],
            "Out is a sum over Y; sum it before Target is subtracted",
        ),
        (
            _no_relu_back(*flat, *wide[2:]),
            "the gradient does not pass a ReLU that gave zero",
        ),
        (
            parts,
            "along Y there are terms of Out, to be summed before the target "
            "is subtracted",
        ),
        some(m * X, "yours is of one pod's tokens"),
        some(m, "yours is of one device's tokens"),
        some(-1, "yours is of the last microbatch alone"),
    ]


def _check_bytes(asked, answer, Z, X, Y, k, m, D, F):
    """Insist on what each axis carries, and on what a device holds."""
    w = 4 * 2 * D * F // Y  # both weights of a device, whole over X
    over = {
        ("X",): (
            2 * w * (X - 1) // X,
            "weights are gathered once a step, gradients scattered once",
        ),
        ("Z",): (
            2 * w // X * (Z - 1) // Z,
            "what leaves a pod is a piece of the sum, once a step",
        ),
        ("Y",): (
            k * 2 * 4 * m * D * (Y - 1) // Y,
            "Out is summed once for each microbatch, and dIn is not asked for",
        ),
    }
    axes = {c.axes for c in answer.collectives()}
    for names in sorted({tuple(sorted(a)) for a in axes} | set(over)):
        sent = answer.sent(names)
        most, why = over.get(
            names, (0, "sum over X first, and over Z only what is left")
        )
        if sent > most + 16:  # the loss goes with it
            raise WrongAnswer(
                f"{asked}: your program sends {sent:,} bytes from each device "
                f"over {', '.join(names)}, and {most:,} are enough, but for "
                f"the loss: {why}"
            )
    # Tokens, weights as pieces and whole, totals, a term and what is added;
    # of one microbatch what is F wide, and what is D wide.
    # With k = 5 three of the former tell a microbatch from all at once.
    wide = 3 if question.shows() else 4
    room = 4 * (2 * k * m * D + 6 * m * D + wide * m * F // Y) + 5 * w
    if answer.live() > room:
        raise WrongAnswer(
            f"{asked}: a device holds {answer.live():,} bytes at a time, and "
            f"{room:,} are enough; there is room for activations of one "
            "microbatch. Take both its passes, and add up, before the next "
            "begins"
        )


def grade_step():
    """Question 3 on other meshes."""
    draw = question.draw("step")
    for Z, X, Y in ((2, 2, 2), (4, 2, 1), (2, 1, 4)):
        D = X * int(draw.integers(2, 5))
        k, m = int(draw.integers(4, 7)), int(draw.integers(4 * D, 5 * D))
        F = 8 * int(draw.integers(4, 9))
        check_step(Z, X, Y, k, m, D, F, _seed(draw))


# --- 4: the fourth knob ------------------------------------------------------


def _waits(L, b, r):
    """Time from the end of the last backward pass to that of the sums.

    L, b, r  layers, a whole backward pass, and the sums of all gradients
    """
    made = sent = Fraction(0)
    for _ in range(L):
        made += Fraction(b, L)
        sent = max(made, sent) + Fraction(r, L)
    return sent - made


def _fewest(L, f, b, r, n, tokens, most, waits=None):
    """The fewest microbatches with which chips wait for one part in n."""
    waits = _waits(L, b, r) if waits is None else waits
    for k in range(1, most // tokens + 1):
        if waits * n <= k * (f + b) + waits:
            return k
    return 0


@question.visible(
    "fewest",
    (40, 30, 60, 200, 20, 2**19, 2**25),
    (10, 10, 20, 200, 10, 2**18, 2**23),
    (8, 7, 14, 8, 50, 1000, 10**6),
    (32, 100, 200, 900, 50, 2**20, 2**22),
    (4, 3, 6, 42, 5, 300, 10_000),
    (5, 10, 20, 100, 11, 1000, 40_000),  # exactly one part in 11
    (5, 10, 20, 100, 11, 1000, 28_000),  # and all of the batch
    (5, 8, 16, 32, 6, 1000, 10**6),  # exactly 4, and in floats a little more
    (6, 10, 20, 15, 1, 100, 1000),  # chips may wait for all of the step
)
def check_fewest(L, f, b, r, n, tokens, most):
    """Question 4: the fewest microbatches, or 0 if the batch forbids them."""
    how = (L, f, b, r, n, tokens, most)
    asked = f"fewest{how}"
    got = student.call("fewest", *how)
    right = _fewest(*how)
    early = max(Fraction(0), Fraction(r - b))
    slips = [
        (0, "there is a number that is enough, and at least 1"),
        (_fewest(*how, waits=r), "sums run beside the last backward pass"),
        (
            _fewest(*how, waits=early),
            "the first sum cannot begin before a layer's gradient is there",
        ),
        (
            _fewest(*how, waits=max(Fraction(0), Fraction(r - f - b))),
            "a forward pass has nothing to sum yet",
        ),
        (
            _fewest(*how, waits=_waits(L, f + b, r)),
            "a forward pass has nothing to sum yet",
        ),
        (_fewest(*how, waits=Fraction(r, L)), "sums wait for each other"),
        (_of_work(*how), "waiting is a part of the step, itself included"),
        (_hidden_by_all(*how), "only the last microbatch can hide sums"),
        (
            _fewest(L, 0, b, r, n, tokens, most),
            "chips work in the forward pass, too",
        ),
        (_waiting_each_time(*how), "sums are made once a step"),
        (_fewest(*how[:6], 10**4 * most), "the batch is limited: return 0"),
        (
            math.ceil(Fraction(r, f + b)),
            "less traffic than work is not enough: sums wait for the last pass",
        ),
        (right - 1, "with so few, chips wait longer"),
        (
            right + 1,
            "one less is enough",
        ),
    ]
    likely = [(value, said) for value, said in slips if value != right]
    if right and _waits(L, b, r) * (n - 1) == right * (f + b):
        exactly = "one less is enough, exactly; a float may have rounded up"
        likely.insert(0, (right + 1, exactly))
    if not right:
        likely.insert(0, (most // tokens, "even these wait too long: return 0"))
    compare.equal(asked, got, right, likely=likely)


def _of_work(L, f, b, r, n, tokens, most):
    """As `_fewest`, if waiting is held against work alone."""
    waits = _waits(L, b, r)
    k = max(1, math.ceil(waits * n / (f + b)))
    return k if k * tokens <= most else 0


def _waiting_each_time(L, f, b, r, n, tokens, most):
    """As `_fewest`, if chips waited once in each microbatch."""
    waits = _waits(L, b, r)
    for k in range(1, most // tokens + 1):
        if waits * n <= k * (f + b + waits):
            return k
    return 0


def _hidden_by_all(L, f, b, r, n, tokens, most):
    """As `_fewest`, if all microbatches could hide the sums."""
    for k in range(1, most // tokens + 1):
        waits = max(0, r - k * b)
        if waits * n <= k * (f + b) + waits:
            return k
    return 0


def grade_fewest():
    """Question 4 with other steps."""
    draw = question.draw("fewest")
    for size in range(12):
        L, f = int(draw.integers(2, 40)), int(draw.integers(5, 50))
        b = 2 * f
        r = int(
            draw.integers(b // 2, 12 * b) if size % 3 else draw.integers(1, b)
        )
        tokens = int(draw.integers(100, 1000))
        n, steps = int(draw.integers(4, 60)), int(draw.integers(5, 400))
        check_fewest(L, f, b, r, n, tokens, tokens * steps)
    for _ in range(3):  # exactly one part in n, with all of the batch
        L, c, f, j = (int(x) for x in draw.integers(2, 9, 4))
        k = j * (2 + L * c)
        check_fewest(L, f, 2 * f, (c + 2) * f, 3 * L * j + 1, 100, 100 * k)


# --- 5: the largest model ----------------------------------------------------

WAYS = ("TP and DP", "TP and FSDP", "TP and a pipeline")


def _bytes(way, L, g, n, t):
    """g n times what the fullest chip holds of L layers, 128 L wide."""
    D = 128 * L
    layer = 4 * D * D + 2 * D * 4 * D
    tokens = 2 * t * D  # a layer's input, of a microbatch
    if way == WAYS[0]:
        return n * sum(16 * layer + tokens for _ in range(L))
    if way == WAYS[1]:
        whole = (2 + 2) * layer
        return sum(16 * layer + n * tokens for _ in range(L)) + n * whole
    stages = [len(range(s, L, n)) for s in range(n)]
    return n * max(
        own * (16 * layer + (n - s) * tokens) for s, own in enumerate(stages)
    )


def _grown(way, hbm, g, n, t):
    """The most layers that fit, one more at a time."""
    L = 0
    while _bytes(way, L + 1, g, n, t) <= hbm * g * n:
        L += 1
    return L


@question.visible(
    "largest",
    (hw.H100.hbm_bytes, 8, 16, 8192),
    (hw.H100.hbm_bytes, 8, 128, 4096),
    (hw.V5P.hbm_bytes, 4, 64, 32_768),
    (hw.GB200.hbm_bytes, 64, 18, 16_384),
    (hw.V5E.hbm_bytes, 2, 5, 2048),
    (28_521_267_200, 8, 4, 65_536),  # full to the last byte, with plain DP
)
def check_largest(hbm, g, n, t):
    """Question 5: the most layers that fit, for three ways to use nodes."""
    asked = f"largest({hbm:g}, {g}, {n}, {t})"
    got = compare.numbers(asked, student.call("largest", hbm, g, n, t), 3)
    for way, layers in zip(WAYS, got, strict=True):
        right = _grown(way, hbm, g, n, t)
        likely = []
        if layers != right:
            said = "more layers fit than yours"
            if layers > right:
                said = "with so many layers it no longer fits"
            likely = [*_likely_models(way, hbm, g, n, t), (layers, said)]
        compare.equal(f"{asked}, {way}", layers, right, likely=likely)


def _most(fits):
    """The most layers for which `fits` is true."""
    L = 0
    while L < 10_000 and fits(L + 1):
        L += 1
    return L


def _likely_models(way, hbm, g, n, t):
    """Layers that mistakes give, with the mistakes."""
    right = _grown(way, hbm, g, n, t)
    first = way == WAYS[0]
    share = 1 if first else n

    def layers(states=16, whole=4, kept=2.0, deal=0):
        """`deal`: 0 layers dealt evenly, 1 rounded up."""

        def fits(L):
            D = 128 * L
            layer, tokens = 12 * D * D / g, kept * t * D / g
            if way == WAYS[2]:
                top = -(-L // n) if deal else L / n
                return top * (states * layer + n * tokens) <= hbm
            spare = whole * layer if way == WAYS[1] else 0
            return L * (states * layer / share + tokens) + spare <= hbm

        return _most(fits)

    even = way == WAYS[2]
    pairs = []
    if even:
        fewer = layers(kept=2 / n, deal=1)
        pairs.append((fewer, "the first stage holds n microbatches"))
    pairs += [
        (layers(states=2, deal=even), "training keeps 16 bytes a parameter"),
        (layers(states=18, deal=even), "the gradient is among the 16 bytes"),
        (layers(states=16 * g, deal=even), "TP cuts the states"),
        (layers(kept=0, deal=even), "every layer's input is kept"),
        (layers(kept=1, deal=even), "bf16 has two bytes"),
        (layers(kept=2 * g, deal=even), "with SP, TP cuts inputs as well"),
    ]
    if way == WAYS[1]:
        pairs += [
            (layers(whole=0), "one layer is whole over nodes"),
            (layers(whole=2), "its gradient is whole, too"),
            (layers(whole=4 * g), "TP cuts what is whole over nodes"),
            (layers(kept=2 / n), "each replica has t tokens of its own"),
        ]
    if even:
        pairs.append(
            (layers(), "the fullest stage has a whole number of layers")
        )
    if first:
        pairs.append((_grown(WAYS[1], hbm, g, n, t), "plain DP cuts no states"))
        pairs.append((layers(states=16 / n), "plain DP cuts no states"))
    pairs += [
        (128 * right, "that is D; give L"),
        (right + 1, "with so many layers it no longer fits"),
        (right - 1, "one more layer fits"),
    ]
    return [pair for pair in pairs if pair[0] != right]


def grade_largest():
    """Question 5 with other machines."""
    draw = question.draw("largest")
    for chip in (hw.A100, hw.H200, hw.V4P, hw.V6E, hw.B200):
        g, n = int(draw.choice([2, 4, 8])), int(draw.integers(3, 70))
        check_largest(chip.hbm_bytes, g, n, 512 * int(draw.integers(4, 60)))
    for way in WAYS[:2]:  # to the last byte
        L, t = int(draw.integers(20, 60)), 512 * int(draw.integers(4, 60))
        check_largest(_bytes(way, L, 8, 4, t) / 32, 8, 4, t)


# --- 6: three plans ----------------------------------------------------------

FIELDS = ("dp", "zero", "tp", "sp", "pp", "microbatches")
WITHIN = 1.05


@cache
def _job(name):
    """What is to be planned, with half of each chip's memory.

    name     a key of JOBS
    returns  plan.Job
    """
    model, chip, topology, sequences, length = JOBS[name]
    half = replace(chip, hbm_bytes=chip.hbm_bytes / 2)
    batch = sequences * length
    return plan.Job(models.model(model), half, topology, batch, length)


JOBS = {
    "slice_13b": ("llama-2-13b", hw.V5P, (8, 8, 16), 1024, 4096),
    "cluster_70b": ("llama-2-70b", hw.H100, (8, 128), 1024, 4096),
    "racks_405b": ("llama-3-405b", hw.GB200, (72, 16), 1152, 8192),
}
# Seconds of the best layout that question 6 allows; tests search for it anew.
BEST = {
    "slice_13b": 0.80788,
    "cluster_70b": 2.13709,
    "racks_405b": 8.82465,
}


def _refused(name, layout):
    """Why question 6 does not allow a layout, in words; "" if it does.

    name     a key of JOBS
    layout   plan.Arrangement
    returns  text
    """
    if layout.cp > 1 or layout.ep > 1:
        return "no sequence is to be cut"
    if layout.schedule not in ("none", "1f1b"):
        return "pipelines are to be 1F1B"
    if name == "slice_13b" and layout.zero > 1:
        return "weights and gradients are to stay whole: zero is 0 or 1"
    if name == "cluster_70b" and layout.tp > 8:
        return "TP is to stay inside a node"
    return ""


@question.visible("slice_13b, cluster_70b, racks_405b", ())
def check_plans():
    """Question 6: three layouts, judged by the planner."""
    for name in JOBS:
        _check_plan(name)


def _check_plan(name):
    """One layout: it is allowed, legal, fits, and is nearly the best."""
    layout = _layout(name)
    asked, reason = _job(name), _refused(name, layout)
    if reason := reason or plan.why_not(asked, layout):
        raise WrongAnswer(f"{name}: {reason}")
    row = plan.evaluate(asked, layout)
    if not row.fits:
        most = max(row.memory, key=row.memory.get)
        raise WrongAnswer(
            f"{name}: your layout needs {row.bytes / 1e9:.4g} GB a chip, and "
            f"half of one is {row.hbm / 1e9:.4g} GB; most of it for {most}, "
            f"{row.memory[most] / 1e9:.4g} GB"
        )
    if row.seconds > WITHIN * BEST[name]:
        more = row.seconds / BEST[name] - 1
        raise WrongAnswer(
            f"{name}: yours takes {row.seconds:.4g} s at efficiency 1, "
            f"{more:.0%} more than the best that is allowed; the planner says: "
            f"{row.verdict}"
        )


def _layout(name):
    """The student's dict as an Arrangement."""
    said = student.value(name)
    if not isinstance(said, dict) or set(said) != set(FIELDS):
        raise WrongAnswer(
            f"{name} must be a dict with the keys {', '.join(FIELDS)}, got "
            f"{compare.shown(said)}"
        )
    given = compare.numbers(
        f"{', '.join(FIELDS)} of {name}", [said[field] for field in FIELDS]
    )
    for field, value in zip(FIELDS, given, strict=True):
        compare.whole_number(f"{field} of {name}", value)
    numbers = dict(zip(FIELDS, given, strict=True))
    low = [
        field
        for field, value in numbers.items()
        if field not in ("zero", "sp") and not 1 <= value <= 10**6
    ]
    if low:
        raise WrongAnswer(f"{name}: {low[0]} must be 1 to a million")
    for field, most in (("zero", 3), ("sp", 1)):
        if not 0 <= numbers[field] <= most:
            raise WrongAnswer(f"{name}: {field} must be 0 to {most}")
    numbers["sp"] = bool(numbers["sp"])
    kind = "1f1b" if numbers["pp"] > 1 else "none"
    return plan.Arrangement(**numbers, schedule=kind)


def grade_plans():
    """Question 6 asks no other numbers: the same layouts are judged again."""
    check_plans()


# --- 7: where the rule fails -------------------------------------------------

TWICE = 2.0


@cache
def _run(model, sequences):
    """A run on 16 nodes of 8 H100s, as question 7 has it.

    model      a name in shardlab.models
    sequences  of 4,096 tokens, in a step
    returns    plan.Job
    """
    chosen, tokens = models.model(model), sequences * 4096
    if chosen.simplified:
        raise ValueError("take a model without -mlp: it has no sequences")
    return plan.Job(chosen, hw.H100, (8, 16), tokens, 4096)


def _by_rule(asked):
    """The plan of question 7's rule of thumb.

    asked    plan.Job
    returns  plan.Row
    raises   ValueError if it is not legal, or does not fit
    """
    states, tp = 16 * models.params(asked.model), 1
    room, node = asked.chip.hbm_bytes / 2, asked.network.sizes[0]
    while states > tp * room and tp < node:
        tp *= 2
    zero = 3 if states > tp * room else 0
    dp = asked.chips // tp
    if asked.pieces % dp:
        raise ValueError(
            f"{asked.pieces:,} sequences cannot be dealt equally to the rule's "
            f"{dp} replicas"
        )
    return _fewest_that_fit(asked, dp, zero, tp)


def _fewest_that_fit(asked, dp, zero, tp):
    """The Row with the fewest microbatches that fits; raises as `_by_rule`."""
    row = None
    for m in range(1, asked.pieces // dp + 1):
        layout = plan.Arrangement(dp, zero, tp, tp > 1, microbatches=m)
        if reason := plan.why_not(asked, layout):
            continue
        row = plan.evaluate(asked, layout)
        if row.fits:
            return row
    if row is None:
        raise ValueError(f"the rule's plan is not legal: {reason}")
    raise ValueError(
        f"the rule's {dp} replicas need {row.bytes / 1e9:.4g} GB a chip, which "
        f"has {row.hbm / 1e9:.4g} GB"
    )


@cache
def _slower(model, sequences):
    """How much longer the rule's plan takes than the best; or why it has none.

    returns  (times, Row of the rule, Row of the best)
    raises   WrongAnswer
    """
    try:
        asked = _run(model, sequences)
        rule = _by_rule(asked)
    except ValueError as error:
        reason = str(error).replace("\n", " ")
        if len(reason) > 200:
            reason = f"{reason[:197]}..."
        raise WrongAnswer(f"slow: {reason}") from None
    best = plan.search(asked).fitting[0]
    return rule.seconds / best.seconds, rule, best


@question.visible("slow", ())
def check_slow():
    """Question 7: a run for which a rule is twice as slow as need be."""
    got = compare.entries("slow", student.value("slow"), 2)
    if not isinstance(got[0], str):
        compare.wrong("slow", got, "expected a model's name first")
    sequences = compare.whole_number("the sequences of slow", got[1])
    if not 1 <= sequences <= 10_000:
        compare.wrong("slow", got, "expected 1 to 10,000 sequences")
    times, rule, best = _slower(str(got[0]), sequences)
    if times < TWICE:
        raise WrongAnswer(
            f"slow: the rule takes {rule.seconds:.4g} s ({rule.verdict}), the "
            f"best layout {best.seconds:.4g} s ({best.verdict}): {times:.3g} "
            "times as long, and at least 2 are asked for"
        )


def grade_slow():
    """Question 7 asks no other numbers: the same run is judged again."""
    check_slow()
