"""Set 16, case studies: published plans taken apart, costed and moved.

A plan is spoilt by the check itself, which knows what stood there. FLOPs are
those of a traced layer, parameters those of its arrays; pipelines are played;
messages between nodes are counted one by one, and those on a torus hop by hop.
"""

import dataclasses
import math
from fractions import Fraction
from functools import cache

import jax
import jax.numpy as jnp

from shardlab import count, hw, memory, models, pipeline, ring
from shardlab.checks import compare, question, student

__all__ = [
    "check_cut",
    "check_doubled",
    "check_forecast",
    "check_held",
    "check_idle",
    "check_mended",
    "check_shares",
    "grade_cut",
    "grade_doubled",
    "grade_forecast",
    "grade_held",
    "grade_idle",
    "grade_mended",
    "grade_shares",
]

# --- 1: one line is wrong ----------------------------------------------------

# Every rule as the lines whose product is equal to that of others.
RULES = (
    ("tp cp pp dp", "gpus"),
    ("pp stage", "places"),
    ("tp heads_each", "heads"),
    ("cp block", "sequence"),
    ("sequences sequence", "batch"),
    ("dp microbatches", "sequences"),
    ("gpus states", "bytes"),
)
LINES = (
    *("gpus", "tp", "cp", "pp", "dp", "stage", "heads_each", "sequence"),
    *("block", "batch", "sequences", "microbatches", "states"),
)


def _plan(params, layers, heads, tp, cp, pp, dp, sequence, sequences):
    """A plan in which every rule holds."""
    gpus = tp * cp * pp * dp
    return {
        "params": params,
        "layers": layers,
        "heads": heads,
        "gpus": gpus,
        "tp": tp,
        "cp": cp,
        "pp": pp,
        "dp": dp,
        "stage": (layers + 2) // pp,
        "heads_each": heads // tp,
        "sequence": sequence,
        "block": sequence // cp,
        "batch": sequence * sequences,
        "sequences": sequences,
        "microbatches": sequences // dp,
        "states": 16 * params / gpus,
    }


# Llama 3 405B, arXiv 2407.21783v3, table 4: three phases. Batches are printed.
PHASES = (
    _plan(405e9, 126, 128, 8, 1, 16, 64, 8192, 2048),
    _plan(405e9, 126, 128, 8, 1, 16, 128, 8192, 2048),
    _plan(405e9, 126, 128, 8, 16, 16, 8, 131_072, 128),
)


def _sides(plan, rule):
    """Both sides of a rule, as numbers."""
    known = plan | {
        "places": plan["layers"] + 2,
        "bytes": 16 * plan["params"],
    }
    return [math.prod(known[n] for n in side.split()) for side in rule]


def _broken(plan):
    """The first rule that a plan breaks, in words; None if it breaks none."""
    for rule in RULES:
        left, right = _sides(plan, rule)
        if not compare.near(left, right, 1e-6 * abs(right)):
            names = rule[1].replace("places", "layers + 2")
            names = names.replace("bytes", "16 params")
            return f"{rule[0].replace(' ', ' * ')} = {names}"
    return None


@question.visible(
    "mended",
    (0, "tp", 2),
    (2, "dp", 2),
    (1, "gpus", 2),
    (1, "pp", Fraction(1, 2)),
    (2, "cp", Fraction(1, 2)),
    (2, "sequence", Fraction(1, 16)),
    (0, "sequences", 2),
    (1, "stage", Fraction(7, 8)),
    (0, "heads_each", 2),
    (2, "block", 2),
    (1, "batch", 3),
    (0, "microbatches", Fraction(1, 2)),
    (2, "states", 8),
)
def check_mended(phase, line, factor, plan=None):
    """Question 1: the wrong line of a plan, and what belongs there.

    phase   of PHASES, if no plan is given
    line    that is spoilt, by this factor
    plan    dict, true
    """
    true = PHASES[phase] if plan is None else plan
    spoilt = true[line] * factor
    if spoilt != int(spoilt):
        spoilt = true[line] * (factor if line == "states" else 2)
    kind = float if line == "states" else int
    copied = true | {line: kind(spoilt)}
    mesh = ", ".join(f"{copied[name]:,}" for name in ("tp", "cp", "pp", "dp"))
    asked = f"mended, on a plan with tp, cp, pp, dp = {mesh}"
    got = compare.entries(asked, student.call("mended", copied), 2)
    name, value = got
    if not isinstance(name, str) or name not in LINES:
        compare.wrong(asked, got, f"expected one of {', '.join(LINES)} first")
    value = compare.number(f"the number of {asked}", value)
    if reason := _broken(copied | {name: value}):
        compare.wrong(asked, got, f"with your number {reason} does not hold")
    if name != line:
        raise ValueError(f"a plan spoilt at {line!r} can be mended at {name!r}")


def grade_mended():
    """Question 1 with other plans, spoilt at every line."""
    draw = question.draw("mended")
    for line in LINES:
        tp, cp, pp, dp = (int(n) for n in 2 ** draw.integers(1, 6, 4))
        each, micro, block = (int(n) for n in draw.integers(2, 12, 3))
        plan = _plan(
            *(float(draw.integers(5, 500)) * 1e9, pp * each - 2),
            *(3 * tp * micro, tp, cp, pp, dp),
            *(cp * 512 * block, dp * micro),
        )
        top, bottom = draw.choice([[2, 1], [1, 2], [3, 2], [5, 4], [3, 4]])
        check_mended(0, line, Fraction(int(top), int(bottom)), plan)


# --- 2: four numbers for one step --------------------------------------------

# PaLM, arXiv 2204.02311, table 1 and section 4.1; Llama 3, table 3.
PALM = {
    **{"L": 118, "D": 18_432, "F": 73_728, "H": 48, "G": 1, "d": 256},
    **{"V": 256_000, "T": 2048, "tables": 1},
}
LLAMA = {
    **{"L": 126, "D": 16_384, "F": 53_248, "H": 128, "G": 8, "d": 128},
    **{"V": 128_256, "T": 8192, "tables": 2},
}


def _arrays(D, F, H, G, d):
    """Shapes of the weights of a layer."""
    sizes = {
        **{"Q": (D, G, H // G, d), "K": (D, G, d), "V": (D, G, d)},
        **{"O": (G, H // G, d, D), "gate": (D, F), "up": (D, F)},
        "down": (F, D),
    }
    return {
        name: jax.ShapeDtypeStruct(size, jnp.bfloat16)
        for name, size in sizes.items()
    }


def _scores(Q, K, V):
    """What heads make of values, without the mask."""
    weights = jax.nn.softmax(jnp.einsum("tgrd,sgd->grts", Q, K))
    return jnp.einsum("grts,sgd->tgrd", weights, V)


def _layer(W, x):
    """A layer of x[T, D], without norms, which have no products."""
    Q = jnp.einsum("td,dgre->tgre", x, W["Q"])
    K, V = (jnp.einsum("td,dge->tge", x, W[name]) for name in "KV")
    x = x + jnp.einsum("tgre,gred->td", _scores(Q, K, V), W["O"])
    hidden = jax.nn.silu(x @ W["gate"]) * (x @ W["up"])
    return x + hidden @ W["down"]


def _both_passes(f, *shapes):
    """FLOPs of a function's forward pass, and of both passes."""

    def loss(*args):
        return f(*args).astype(jnp.float32).sum()

    every = tuple(range(len(shapes)))
    return count.flops(f, *shapes), count.flops(jax.grad(loss, every), *shapes)


@cache
def _counted(L, D, F, H, G, d, V, T, tables):
    """Parameters and FLOPs of a model: those of a sequence, traced."""
    shape = jax.ShapeDtypeStruct
    W, x = _arrays(D, F, H, G, d), shape((T, D), jnp.bfloat16)
    table = shape((D, V), jnp.bfloat16)
    heads = shape((T, G, H // G, d), jnp.bfloat16)
    keys = shape((T, G, d), jnp.bfloat16)
    again, layer = _both_passes(_layer, W, x)
    forward, scores = _both_passes(_scores, heads, keys, keys)
    _, head = _both_passes(jnp.matmul, x, table)
    size = sum(math.prod(a.shape) for a in W.values())
    return {
        "params": L * size + tables * D * V,
        "layers": L * layer,
        "again": L * again,
        "scores": L * scores,
        "scores forward": L * forward,
        "head": head,
        "table": D * V,
        "size": L * size,
    }


SIX, ALL, HALF, TWICE = 0, 1, 2, 3


def _flops(model):
    """FLOPs of a token in the four ways."""
    c, T = _counted(**model), model["T"]
    products = c["layers"] + c["head"]
    return [
        6 * c["params"],
        products / T,
        (products - c["scores"] / 2) / T,
        (products + c["again"]) / T,
    ]


WAYS = (
    "the share by 6N",
    "the share of all products",
    "the causal share",
    "the share with layers run twice",
)


@question.visible(
    "shares",
    (PALM, 2048 * 2048, 17.6, 6144, hw.V4P.flops),
    (LLAMA | {"T": 131_072}, 2**24, 9.1, 16_384, hw.H100.flops),
)
def check_shares(model, batch, seconds, chips, peak):
    """Question 2: four shares of the peak."""
    size = f"T = {model['T']:,}, D = {model['D']:,}"
    asked = f"shares of a model with {size}"
    got = student.call("shares", model, batch, seconds, chips, peak)
    got = compare.numbers(asked, got, 4)
    unit = batch / seconds / chips / peak
    likely = _mistaken_flops(model)
    for way, each, right in zip(range(4), got, _flops(model), strict=True):
        pairs = likely[way] + _any_flops(right, model, batch, seconds, chips)
        compare.close(
            f"{WAYS[way]} ({size})",
            each,
            unit * right,
            likely=[
                (unit * flops, said)
                for flops, said in pairs
                if not compare.near(flops, right, 1e-5 * right)
            ],
        )


def _any_flops(right, model, batch, seconds, chips):
    """FLOPs of a token that mistakes give in any of the four ways."""
    D, V, L = model["D"], model["V"], model["L"]
    keys = L * 2 * D * model["d"] * (model["H"] - model["G"])
    mlp = L * D * model["F"]
    others = [
        (way, f"that is {WAYS[i]}") for i, way in enumerate(_flops(model))
    ]
    found = [
        (chips * right, "the chips share the work"),
        (right / 3, "you leave out the backward pass"),
        (2 * right / 3, "a backward pass costs twice a forward pass"),
        (right / 2, "a multiply-add is two FLOPs"),
        (seconds**2 * right, "yours grows with the seconds of a step"),
        (right / batch, "you count one token of the batch"),
        (right / model["T"], "you count batch as sequences, not tokens"),
        (model["T"] * right, "batch is in tokens"),
        (100 * right, "a share is asked for, and not a percentage"),
    ]
    for rate in (6, 8):
        found += [
            (right + rate * keys, "keys and values have G heads, not H"),
            (right - rate * mlp, "a gated MLP has three matrices"),
            (right - rate * D * V, "the head multiplies, too"),
        ]
    found.append((right + 6 * D * V, "an embedding is looked up"))
    return others + found


def _mistaken_flops(model):
    """For each way FLOPs of a token that show a mistake in it."""
    c, T = _counted(**model), model["T"]
    products, scores = (c["layers"] + c["head"]) / T, c["scores"] / T
    again, first = c["again"] / T, c["scores forward"] / T
    table, D = 6 * c["table"], model["D"]
    six = [
        (6 * c["size"], "the tables have parameters as well"),
        (6 * (c["size"] + c["table"]), "there are `tables` tables"),
        (6 * (c["size"] + 2 * c["table"]), "there are `tables` tables"),
        (8 * c["params"], "that counts a second forward pass"),
        (12 * c["params"], "six FLOPs for a parameter, not twelve"),
    ]
    every = [
        (products - scores / 2, "that is the causal count"),
        (products - scores, "scores are products, too"),
        (products - scores + first, "scores have a backward pass"),
        (
            products - scores * (1 - model["G"] / model["H"]),
            "every query head has scores of its own",
        ),
        (products - 2 / 3 * scores, "scores have a backward pass"),
        (products + scores, "you count scores twice"),
        (
            products + scores * (D / model["H"] / model["d"] - 1),
            "all heads together have H d elements, which need not be D",
        ),
        (products + table, "an embedding is looked up"),
        (products - table, "the head multiplies, too"),
    ]
    half = [
        (flops - scores / 2, said)
        for flops, said in every
        if said != "that is the causal count"
    ]
    half.append((products / 2, "a mask halves scores, and no weights"))
    half.append((products - 3 / 4 * scores, "a mask halves scores once"))
    twice = [
        (products + products / 3, "the head does not run twice"),
        (products + again - first, "scores run twice, too"),
        (products + again - 2 / 3 * scores, "scores are whole here"),
        (products + again - scores, "scores are products, too"),
        (products + again - scores * 4 / 3, "scores are products, too"),
        (products + again - scores * 2 / 3, "a mask is not counted here"),
        (products + again - scores / 2, "a mask is not counted here"),
        (products + 2 * again, "layers run forward twice, backward once"),
        (2 * products, "layers run forward twice, backward once"),
        (products + again + table, "an embedding is looked up"),
    ]
    return [six, every, half, twice]


def grade_shares():
    """Question 2 with other models."""
    draw = question.draw("shares")
    for tables, chip in ((1, hw.V5P), (2, hw.H200)):
        G, R, d, D, F, V = (int(n) for n in draw.integers(2, 9, 6))
        model = {
            **{"L": 3 * G + 1, "D": 128 * D, "F": 192 * F, "H": G * R},
            **{"G": G, "d": 16 * d, "V": 500 * V, "T": 256 * R},
            "tables": tables,
        }
        batch = 256 * R * int(draw.integers(2, 90))
        seconds = float(draw.uniform(1e-3, 1e-1))
        check_shares(model, batch, seconds, 2 ** int(G), chip.flops)


# --- 3: more GPUs, same batch ------------------------------------------------


@cache
def _waiting(p, m, v):
    """The share of a played step in which a stage waits."""
    events = pipeline.interleaved(p, m, v, 1, 2)
    busy = sum(e.end - e.start for e in events if e.stage == 0)
    return 1 - Fraction(busy) / Fraction(pipeline.makespan(events))


def _lasts(p, m, v):
    """How long a played step is."""
    return Fraction(pipeline.makespan(pipeline.interleaved(p, m, v, 1, 2)))


def _same_wait(p, m, v, k):
    """The chunks with which a k-th of the microbatches waits as before."""
    chunks = 1
    while _waiting(p, m // k, chunks) > _waiting(p, m, v):
        chunks += 1
    return chunks


@question.visible(
    "idle, faster and chunks", ([(4, 8, 2, 2), (3, 18, 1, 3), (2, 8, 3, 4)],)
)
def check_idle(points):
    """Question 3: three formulas, at points (p, m, v, k)."""
    points = [tuple(point) for point in points]
    slow = "you forget that chunks shorten the wait"
    compare.formula(
        "idle",
        student.expression("idle"),
        "p m v k",
        lambda p, m, v, k: _waiting(p, m, v),
        points,
        likely=[
            ("(p - 1)/(m*v)", "that is the wait over the work, not the step"),
            ("(p - 1)/(m + p - 1)", slow),
            ("(p - 1)/m", slow),
            ("m*v/(m*v + p - 1)", "that is the share in which it works"),
            ("(p - 1)/(m*v/k + p - 1)", "that is with more replicas"),
            ("p/(m*v + p)", "a microbatch passes p - 1 other stages"),
            ("v*(p - 1)/(m + v*(p - 1))", "chunks shorten the wait"),
            ("(p - 1)/(m*v + v*p - 1)", "only the work grows with chunks"),
            ("(p*v - 1)/(m*v + p*v - 1)", "a stage waits for p - 1 chunks"),
        ],
    )
    compare.formula(
        "faster",
        student.expression("faster"),
        "p m v k",
        lambda p, m, v, k: _lasts(p, m, v) / _lasts(p, m // k, v),
        points,
        likely=[
            ("k", "the wait stays when the work becomes less"),
            ("(m + p - 1)/(m/k + p - 1)", slow),
            (
                "(m*v/k + p - 1)/(m*v + p - 1)",
                "that is the new time over the old one",
            ),
            (
                "(m*v + p - 1)/(m*v*k + p - 1)",
                "each replica gets fewer microbatches",
            ),
            (
                "k*(m*v + p - 1)/(m*v/k + p - 1)",
                "you count the k replicas twice",
            ),
            (
                "(m*v/k + p - 1)/((m*v + p - 1)/k)",
                "that is by how much it misses k",
            ),
            (
                "k*(m*v/k + p - 1)/(m*v + p - 1)",
                "that is by how much it misses k",
            ),
        ],
    )
    compare.formula(
        "chunks",
        student.expression("chunks"),
        "p m v k",
        _same_wait,
        points,
        likely=[
            ("v", "with as many chunks as before it waits for longer"),
            ("k", "it had v chunks before"),
            ("v/k", "longer chunks make for a longer wait"),
            ("v + k", "work and chunks are multiplied"),
            ("v*k**2", "you take away too much: the work is a k-th, once"),
            ("v + 1", "with one more it does not make up for k replicas"),
            ("v*m/k", "no number of microbatches belongs in it"),
            ("k*p", "what a stage had before counts, not stages"),
        ],
    )


def grade_idle():
    """Question 3 at other points."""
    draw = question.draw("idle").integers
    points = []
    for _ in range(3):
        p, v = (int(n) for n in draw(2, 7, 2))
        k, times = (int(n) for n in draw(2, 5, 2))
        points.append((p, p * k * times, v, k))
    check_idle(points)


# --- 4: what one A100 holds --------------------------------------------------


@cache
def _pieces(p, m, v):
    """Chunks of microbatches that the first stage holds, played.

    It is full long before the last of many microbatches.
    """
    few = min(m, 2 * p)
    return pipeline.in_flight(pipeline.interleaved(p, few, v, 1, 2))[0]


def _held(L, h, a, V, s, b, tp, pp, v, m):
    """Bytes of states and of activations on a GPU of the first stage."""
    recipe = memory.RECIPES["float32-gradients"]
    layer = sum((4 * h * h, 2 * h * 4 * h))  # four projections, two matrices
    weights = sum(layer // tp for _ in range(L // pp)) + V * h // tp
    kept = memory.activation_bytes(s, b, h, a, tp, recompute="full")
    at_work = memory.activation_bytes(s, b, h, a, tp, recompute="none")
    layers = _pieces(pp, m, v) * (L // pp // v)
    states = weights * memory.bytes_per_param(recipe)
    return states, layers * kept + at_work


# Megatron-LM, arXiv 2104.04473, table 1; microbatches and chunks are those of
# examples/sc21/run_table_1.sh.
@question.visible(
    "held",
    (80, 12_288, 96, 51_200, 2048, 2, 8, 8, 2, 48),
    (60, 10_240, 80, 51_200, 2048, 2, 8, 4, 3, 28),
    (48, 8192, 64, 51_200, 2048, 4, 8, 2, 1, 24),
    (96, 16_384, 128, 51_200, 2048, 1, 8, 16, 2, 16),
)
def check_held(L, h, a, V, s, b, tp, pp, v, m):
    """Question 4: bytes on a GPU of the first stage."""
    how = (L, h, a, V, s, b, tp, pp, v, m)
    asked = f"held({', '.join(map(str, how))})"
    states, activations = compare.numbers(asked, student.call("held", *how), 2)
    right, kept = _held(*how)
    compare.close(
        f"the states of {asked}",
        states,
        right,
        likely=[
            (kept, "states come first, then activations"),
            *_mistaken_states(right, *how),
        ],
    )
    compare.close(
        f"the activations of {asked}",
        activations,
        kept,
        likely=_mistaken_kept(kept, *how),
    )


def _mistaken_states(right, L, h, a, V, s, b, tp, pp, v, m):
    """Bytes of states that mistakes give, with the mistakes."""
    layers, table = 18 * 12 * h * h * L, 18 * V * h
    cut = layers / tp / pp
    return [
        (cut, "the first stage has the table as well"),
        (cut + table / tp / pp, "the table is whole on the first stage"),
        (cut + table, "TP cuts the table, too"),
        (cut + 2 * table / tp, "the head's table is not on the first stage"),
        (layers / tp + table / tp, "pp cuts the layers"),
        (layers / pp + table, "tp cuts weights"),
        (right * 8 / 9, "a parameter takes 18 bytes here"),
        (right / 9, "that is the weights alone; training keeps 18 bytes"),
        (right / 18, "you count parameters; each takes 18 bytes"),
        (cut / v + table / tp, "a stage has all of its chunks"),
        (right / m, "replicas share nothing out"),
    ]


def _mistaken_kept(right, L, h, a, V, s, b, tp, pp, v, m):
    """Bytes of activations that mistakes give, with the mistakes."""
    one = 2 * s * b * h
    work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    chunk = L // (pp * v)
    pieces = round((right - work) / one / chunk)
    plain = min(pp, m)

    def total(pieces=pieces, layers=chunk, one=one, work=work):
        return pieces * layers * one + work

    scores = 5 * a * s * s * b / tp
    found = [
        (total(plain, L / pp), "interleaving holds more than plain 1F1B"),
        (total(m, L / pp), "yours holds all microbatches; that is GPipe"),
        (total(1, L / pp), "several microbatches are in flight"),
        (
            total((v + 1) * pp - 1),
            "there are only m v to hold"
            if v > 1
            else "with one chunk it is plain 1F1B, which holds p",
        ),
        (total((v + 1) * pp), "it holds (v + 1) p - 1 pieces"),
        (total(layers=L / pp), "a piece is one chunk of layers, not a stage"),
        (total(layers=L / v), "a chunk is L / (p v) layers"),
        (total(plain), "the first stage holds more pieces than stages"),
        (total(plain * v), "interleaving holds more than plain 1F1B"),
        (total(layers=L), "a chunk is L / (p v) layers"),
        (total(one=one / tp), "without SP an input is not cut by tp"),
        (total(one=one / 2), "an element of an input has two bytes"),
        (total(one=one / b), "a microbatch has b sequences"),
        (total(work=0), "one layer is at work, and keeps more"),
        (total(work=work * L / pp), "one layer is at work at a time"),
        (total(work=work - scores), "the layer at work has scores"),
        (total(work=work - scores + tp * scores), "tp cuts the scores"),
        (total(work=34 * s * b * h + tp * scores), "TP cuts what is at work"),
        (total(work=(34 * s * b * h) / tp + scores), "10 of 34 are not cut"),
        (total(one=0), "every layer keeps its input"),
        (pieces * chunk * work, "layers that wait keep their inputs alone"),
        (total(one=one + work, work=0), "one layer is at work at a time"),
    ]
    return [pair for pair in found if not compare.near(pair[0], right, 1)]


def grade_held():
    """Question 4 with other models."""
    draw = question.draw("held")
    for late in (False, True, False):
        tp, pp, v = (int(n) for n in draw.integers(2, 5, 3))
        layers, R, d, b = (int(n) for n in draw.integers(1, 5, 4))
        m = pp if late else pp * int(draw.integers(2, 6))
        a = tp * R
        check_held(
            *(pp * v * layers, a * 64 * d, a, 1024 * tp, 512 * d, b),
            *(tp, pp, v, m),
        )


# --- 5: from a bill to days --------------------------------------------------

V3 = models.model("deepseek-v3")
LLAMA_3 = models.model("llama-3-405b")


def _described(model):
    """What question 5 says of a model."""
    terms = models.parameter_terms(model)
    tables = 1 if model.tied else 2
    return {
        "params": models.params(model),
        "routed": terms["experts"],
        "table": 0 if model.tied else terms["embedding"] // tables,
        "E": model.experts,
        "k": model.active,
    }


def _active(model):
    """Parameters that a token multiplies, by a count of its FLOPs."""
    flops = models.forward_flops(model, 1)
    return (flops["matmuls"] + flops["head"]) / 2


@question.visible(
    "forecast",
    (V3, 180_000, hw.H100.flops, 6144, hw.V5P.flops, 14.8e12, 0.9),
    (LLAMA_3, 1.98e6, hw.H100.flops, 4096, hw.V5P.flops, 2e12, 0.95),
)
def check_forecast(model, hours, peak, chips, other_peak, tokens, running):
    """Question 5: MFU of a cluster, and days of a slice."""
    how = (hours, peak, chips, other_peak, tokens, running)
    said = _described(model)
    words = ", ".join(f"{x:g}" for x in how)
    asked = f"forecast({model.name}, {words})"
    got = compare.numbers(asked, student.call("forecast", said, *how), 2)
    active, done = _active(model), 3600 * hours * peak
    mfu = 3 * 2 * active * 1e12 / done
    units = _mistaken_params(said, active)
    compare.close(
        f"the MFU of {asked}",
        got[0],
        mfu,
        likely=[(mfu * n / active, words) for n, words in units]
        + [
            (mfu / 3, "training is three times a forward pass"),
            (mfu * 3600, "an hour has 3,600 seconds"),
            (mfu * 60, "an hour has 3,600 seconds"),
            (mfu * tokens / 1e12, "hours are those of 1e12 tokens"),
            (mfu / running, "GPU hours are those of running GPUs"),
            (mfu * running, "GPU hours are those of running GPUs"),
            (mfu / chips, "GPU hours count every GPU already"),
            (mfu / 24, "hours are GPU hours, not days"),
            (100 * mfu, "a share is asked for, and not a percentage"),
        ],
    )
    hourly = hours * peak / 1e12  # FLOPs of the peak that a token needs
    days = tokens * hourly / other_peak / chips / 24 / running
    compare.close(
        f"the days of {asked}",
        got[1],
        days,
        likely=_mistaken_days(days, hours, peak, chips, other_peak, running)
        + [(days * n / active, words) for n, words in units]
        + [(days * 1e12 / tokens, "the slice is to see `tokens` tokens")],
    )


def _mistaken_params(said, active):
    """Active parameters that mistakes give, with the mistakes."""
    every, routed, table = said["params"], said["routed"], said["table"]
    E, k = said["E"] or 1, said["k"]
    pairs = [
        (every, "not every parameter multiplies a given token"),
        (every - table, "a token visits k of E routed experts"),
        (active + table, "an embedding is looked up"),
        (active - table, "one table multiplies: the head's"),
        (every - routed - table, "it visits k routed experts"),
        (every - routed, "it visits k routed experts"),
        ((every - table) * k / E, "only routed experts are left out"),
        (every * k / E, "only routed experts are left out"),
        (every - table - routed * k / E, "it visits k experts, not E - k"),
        (every - table - routed + routed / E, "it visits k routed experts"),
        (
            every - table - routed * (1 - k),
            "routed are the parameters of all E experts; it visits k of E",
        ),
    ]
    return [p for p in pairs if not compare.near(p[0], active, 1e-5 * active)]


def _mistaken_days(days, hours, peak, chips, other_peak, running):
    """Days that mistakes give, with the mistakes."""
    return [
        (days * running, "while it waits for repairs it sees no tokens"),
        (days * running**2, "repairs make it longer, not shorter"),
        (days * other_peak / peak, "the chips have another peak"),
        (days * (other_peak / peak) ** 2, "a slower chip needs longer"),
        (days * 24, "you give hours"),
        (days * 86_400, "you give seconds"),
        (days * chips, "the chips share the work"),
        (days / 3600, "an hour has 3,600 seconds"),
        (days / 3, "training is three times a forward pass"),
        (days * (1 - running) / running, "you give the days of waiting"),
        (days * running / (1 - running), "it runs for the share `running`"),
        (days * (2 - running) * running, "divide by the share `running`"),
        (days * peak / other_peak, "you scale by the peak twice"),
    ]


def grade_forecast():
    """Question 5 with other models and machines."""
    draw = question.draw("forecast")
    for name, chip in (("deepseek-v3", hw.H200), ("gemma-2-27b", hw.A100)):
        model = models.model(name)
        if model.experts:
            k, E = int(draw.integers(2, 9)), 16 * int(draw.integers(2, 9))
            model = dataclasses.replace(model, active=k, experts=E)
        check_forecast(
            *(model, float(draw.uniform(2e5, 9e5)), chip.flops),
            *(2 ** int(draw.integers(5, 12)), hw.V6E.flops),
            *(float(draw.uniform(1e12, 9e12)), float(draw.uniform(0.6, 0.95))),
        )


# --- 6: from 8k to 128k ------------------------------------------------------


@cache
def _waits_for(pp, microbatches):
    """Microbatches that the first stage of a played 1F1B holds."""
    return pipeline.in_flight(pipeline.one_f_one_b(pp, microbatches))[0]


def _tried(T, chips, hbm, tp, pp, each, cp):
    """dp, microbatches, and which rules a layout with this cp breaks."""
    replicas, sequences = chips // (tp * pp * cp), 2**24 // T
    dealt = [len(range(r, sequences, replicas)) for r in range(replicas)]
    m = min(dealt)
    held = _waits_for(pp, max(1, m)) * (T // cp) * each
    broken = {
        "batch": m < pp,
        "memory": Fraction(16 * 405 * 10**9, chips) + held > hbm,
    }
    return replicas, m, [rule for rule, breaks in broken.items() if breaks]


def _smallest(T, chips, hbm, tp, pp, each):
    """The smallest cp that breaks no rule, and what is asked about it."""
    cp, before = 1, []
    while True:
        dp, m, broken = _tried(T, chips, hbm, tp, pp, each, cp)
        if not broken:
            word = "both" if len(before) == 2 else "".join(before)
            return [cp, dp, m, word]
        cp, before = 2 * cp, broken


# Bytes that a stage of Llama 3 405B keeps for a token, with SP and selective
# recomputation: eight layers on H100s, all of them on TPUs without a pipeline.
GPU = (hw.H100.hbm_bytes, 8, 16, 520_704)
TPU = (hw.V5P.hbm_bytes, 16, 1, 4_132_800)


@question.visible(
    "cut",
    (131_072, 16_384, *GPU),
    (8192, 16_384, *GPU),
    (131_072, 4096, *TPU),
    (32_768, 16_384, *GPU[:3], 1_300_000),
    (32_768, 2048, *TPU),
    (65_536, 8192, *GPU[:3], 1_200_000),
    (131_072, 8192, hw.H200.hbm_bytes, *GPU[1:]),
    (131_072, 6144, hw.H100.hbm_bytes, 8, 12, 340_000),
    (32_768, 1024, 16 * 405e9 / 1024 + 16 * 2**13 * 2**14, 8, 16, 2**14),
)
def check_cut(T, chips, hbm, tp, pp, each):
    """Question 6: how far sequences are cut, and why not less."""
    how = (T, chips, hbm, tp, pp, each)
    asked = f"cut({', '.join(f'{x:g}' for x in how)})"
    got = compare.entries(asked, student.call("cut", *how), 4)
    cp = compare.whole_number(f"cp of {asked}", got[0])
    right = _smallest(*how)
    _judge_cp(asked, got, cp, right[0], how)
    for i, name in ((1, "dp"), (2, "microbatches")):
        number = compare.whole_number(f"{name} of {asked}", got[i])
        compare.equal(
            f"{name} of {asked}",
            number,
            right[i],
            likely=_mistaken_deals(name, T, chips, tp, pp, *right[:3]),
        )
    if got[3] != right[3]:
        if not isinstance(got[3], str):
            compare.wrong(asked, got, "expected a word at the end")
        _judge_word(asked, got, str(got[3]), right[3], cp)


def _judge_cp(asked, got, cp, right, how):
    """Raise WrongAnswer if cp is not the smallest that breaks no rule."""
    if cp < 1 or cp & (cp - 1):
        compare.wrong(asked, got, "expected a power of two for cp")
    if cp > right:
        reason = f"cp = {cp} is more than it needs"
        _, _, broken = _tried(*how, right)
        assert not broken
        compare.wrong(asked, got, f"{reason}: half as much breaks no rule")
    if cp < right:
        dp, m, broken = _tried(*how, cp)
        why = {
            "batch": f"its {dp} replicas get {m} microbatches each, fewer "
            f"than {how[4]} stages",
            "memory": "its first stage does not fit",
        }
        if not broken:
            raise ValueError(f"cp = {cp} breaks no rule at {how}")
        compare.wrong(asked, got, f"with cp = {cp} {why[broken[0]]}")


def _mistaken_deals(name, T, chips, tp, pp, cp, dp, m):
    """Replicas and microbatches that mistakes give, with the mistakes."""
    sequences = 2**24 // T
    if name == "dp":
        return [
            (chips // (tp * pp), "chips of cp belong to a replica, too"),
            (chips // (tp * cp), "chips of pp belong to a replica, too"),
            (chips // (pp * cp), "chips of tp belong to a replica, too"),
            (chips // tp, "chips of pp and cp belong to a replica, too"),
            (dp * cp, "chips of cp belong to a replica, too"),
            (sequences, "replicas follow from the chips"),
            (m, "dp comes before microbatches"),
        ]
    return [
        (sequences, "replicas share the sequences of a step"),
        (sequences * cp, "a microbatch is a whole sequence"),
        (m * cp, "a microbatch is a whole sequence, whoever cuts it"),
        (m // cp, "replicas are chips / (tp cp pp)"),
        (pp, "there may be more microbatches than stages"),
        (dp, "dp comes before microbatches"),
        (m * T, "microbatches are counted, not their tokens"),
    ]


def _judge_word(asked, got, word, right, cp):
    """Raise WrongAnswer that says what the word of an answer got wrong."""
    if word not in ("batch", "memory", "both", ""):
        reason = 'expected "batch", "memory", "both" or "" at the end'
    elif not word:
        reason = "something fails with half as much cp"
    elif not right:
        reason = "with cp = 1 there is no half as much"
    elif right == "both":
        reason = f"with cp = {cp // 2} the other rule fails as well"
    elif word == "both":
        reason = f"with cp = {cp // 2} one of these does not fail"
    else:
        reason = f"with cp = {cp // 2} that is not what fails"
    compare.wrong(asked, got, reason)


def grade_cut():
    """Question 6 on other machines."""
    draw = question.draw("cut")
    check_cut(2**17, 16_384, hw.H200.hbm_bytes, *GPU[1:])
    for hbm, tp, pp, each in (GPU, TPU, GPU, TPU, GPU, TPU):
        T = 2 ** int(draw.integers(13, 18))
        chips = 2 ** int(draw.integers(12, 15))
        how = (T, chips, hbm, tp, pp, int(each * draw.uniform(0.4, 1.6)))
        cp = _smallest(*how)[0]
        if cp == 1 or _tried(*how, cp // 2)[1]:  # else what fails is moot
            check_cut(*how)
    for short in (0, 1):  # it fits to the last byte, or lacks one
        chips, T = 2 ** int(draw.integers(10, 13)), 2**15
        each = int(draw.integers(1e4, 2e4))
        exact = 16 * 405e9 / chips + 16 * T // 4 * each - short
        check_cut(T, chips, exact, 8, 16, each)
    each = int(340_000 * draw.uniform(0.95, 1.1))
    check_cut(2**17, 6144, hw.H100.hbm_bytes, 8, 12, each)


# --- 7: twice the machine ----------------------------------------------------


@cache
def _between_nodes(V, nodes, gpus):
    """Bytes that a GPU sends outside and inside its node, counted.

    V      bytes of the array; every GPU starts with its part
    nodes  of so many gpus each
    """
    have = {(n, g): {(n, g)} for n in range(nodes) for g in range(gpus)}
    sent = {"outside": 0, "inside": 0}
    for way in ("outside", "inside"):
        before = {chip: set(parts) for chip, parts in have.items()}
        for chip, parts in before.items():
            for other in before:
                beside = chip[way == "outside"] == other[way == "outside"]
                if other != chip and beside:
                    have[other] |= parts
                    if chip == (0, 0):
                        sent[way] += len(parts)
    part = Fraction(V, nodes * gpus)
    return float(sent["outside"] * part), float(sent["inside"] * part)


@cache
def _round_the_torus(V, rings, link_bw):
    """Seconds of a simulated gather that uses all rings at once."""
    how = {"link_bw": link_bw, "algorithm": "balanced"}
    return ring.all_gather(V, rings, **how).seconds


def _gathered(V, machine, tp, rings):
    """Seconds of one gather: messages counted, or hops simulated."""
    if "node" in machine:
        gpus = min(tp, machine["node"])
        outside, inside = _between_nodes(V, tp // gpus, gpus)
        return outside / machine["outside"] + inside / machine["inside"]
    return _round_the_torus(V, tuple(rings), machine["link_bw"])


@cache
def _turns(pp, m):
    """How long a played 1F1B is, whose forward takes one unit of time."""
    return pipeline.makespan(pipeline.one_f_one_b(pp, m, 1, 2))


def _step(layer, machine, tp, pp, m, rings):
    """Seconds of a step whose pipeline is played."""
    alone = layer["flops"] / (tp * machine["flops"])
    moved = sum(_gathered(layer["bytes"], machine, tp, rings) for _ in range(4))
    return _turns(pp, m) * (alone + moved) * layer["L"] / pp


def _doubled(layer, machine, tp, pp, m):
    """Seconds of a step with tp, pp or dp doubled."""
    now, then = machine.get("rings", [None, None])
    return [
        _step(layer, machine, 2 * tp, pp, m, then),
        _step(layer, machine, tp, 2 * pp, m, now),
        _step(layer, machine, tp, pp, m // 2, now),
    ]


def _cluster(chip):
    """A cluster as question 7 describes it."""
    return {
        "flops": chip.flops,
        "node": chip.node_size,
        "inside": chip.link_bw,
        "outside": chip.dcn_bw,
    }


def _torus(chip, now, then):
    """A slice as question 7 describes it."""
    return {
        "flops": chip.flops,
        "link_bw": chip.link_bw,
        "rings": [list(now), list(then)],
    }


# A layer of Llama 3 405B and a microbatch of 8,192 tokens, without scores.
LAYER = {"L": 128, "flops": 5.22e13, "bytes": 2 * 8192 * 16_384}
DOUBLED = ("tp", "pp", "dp")


@question.visible(
    "doubled",
    (LAYER, _cluster(hw.H100), 8, 16, 32),
    (LAYER, _cluster(hw.H100), 8, 16, 8),
    (LAYER, _torus(hw.V5P, (8,), (4, 4)), 8, 16, 32),
    (LAYER, _cluster(hw.A100), 4, 8, 16),
    (LAYER, _torus(hw.V6E, (4,), (8,)), 4, 4, 8),
    (LAYER, _cluster(hw.H100), 16, 4, 12),
)
def check_doubled(layer, machine, tp, pp, m):
    """Question 7: seconds of a step with tp, pp or dp doubled."""
    kind = "a node of GPUs" if "node" in machine else "a torus"
    asked = f"doubled on {kind}, tp = {tp}, pp = {pp}, m = {m}"
    got = student.call("doubled", layer, machine, tp, pp, m)
    got = compare.numbers(asked, got, 3)
    right = _doubled(layer, machine, tp, pp, m)
    for which, name in enumerate(DOUBLED):
        compare.close(
            f"{asked}: the seconds with {name} doubled",
            got[which],
            right[which],
            rel=1e-6,
            likely=[
                pair
                for pair in _mistaken_steps(layer, machine, tp, pp, m, which)
                if not compare.near(pair[0], right[which], 1e-5 * right[which])
            ],
        )


def _mistaken_steps(layer, machine, tp, pp, m, which):
    """Seconds of a step that mistakes give, with the mistakes."""
    t, p, n = (2 * tp, tp, tp)[which], (pp, 2 * pp, pp)[which], m
    n = m // 2 if which == 2 else m
    rings = machine.get("rings", [None, None])
    V, L = layer["bytes"], layer["L"]
    alone = layer["flops"] / t / machine["flops"]
    moved = 4 * _gathered(V, machine, t, rings[which == 0])

    def step(alone=alone, moved=moved, turns=n + p - 1, each=L / p):
        return 3 * (alone + moved) * turns * each

    found = [
        (step(moved=4 * other), said)
        for other, said in _mistaken_gathers(V, machine, t, tp)
    ]
    found += [
        (step(turns=n), "a pipeline takes p - 1 turns more"),
        (step(turns=n + p), "1F1B takes m + p - 1 turns"),
        (step(moved=0), "traffic takes time, and nothing hides"),
        (step(alone=max(alone, moved), moved=0), "nothing hides"),
        (step(alone=0), "arithmetic takes time"),
        (step(moved=moved / 2), "there are four collectives forward"),
        (step(moved=moved / 4), "there are four collectives forward"),
        (step(moved=2 * moved), "scatters take as long as gathers"),
        (step(alone=alone * t), "tp cuts the arithmetic"),
        (step() / 3, "a step has a backward pass, of twice the length"),
        (step() * 2 / 3, "backward is twice forward"),
        (3 * step(moved=0) / 3 + step(alone=0) / 3, "traffic goes back, too"),
        (step(alone, moved * 2 / 3), "backward has twice the traffic"),
        (step(each=L), "a stage has a p-th of the layers"),
        (step(each=1), "a stage has L / p layers"),
        (step(each=L / pp), "with pp doubled a stage has half the layers"),
        (
            step(turns=n + pp - 1),
            "with pp doubled there are more stages, for as many microbatches",
        ),
        (step(turns=m + p - 1), "twice the replicas: half the microbatches"),
        (step(turns=2 * m + p - 1), "the batch is not doubled"),
        (
            3 * (2 * alone + moved) * (n + p - 1) * L / p,
            "with tp doubled arithmetic is halved",
        ),
    ]
    before = _step(layer, machine, tp, pp, m, rings[0])
    found += [
        (before, "that is the step before anything is doubled"),
        (before / 2, "half of the time, if only nothing were lost"),
    ]
    return found + [
        (seconds, f"that is with {name} doubled")
        for name, seconds in zip(
            DOUBLED, _doubled(layer, machine, tp, pp, m), strict=True
        )
    ]


def _mistaken_gathers(V, machine, t, before):
    """Seconds of one gather that mistakes give, with the mistakes."""
    share = (t - 1) / t
    if "node" not in machine:
        link = machine["link_bw"]
        counts = {len(rings) for rings in machine["rings"]}
        return [
            (V * share / link, "a ring has two links, and there are several"),
            *(
                (V * share / link / n, "links of all its rings work, both ways")
                for n in (*counts, *(2 * c for c in counts), 4, 6)
            ),
            *(
                (
                    V * share / link / 2 / sum(rings),
                    "a chip has two links on a ring, however long it is",
                )
                for rings in machine["rings"]
            ),
            (V / link / 2, "a chip has its own part already"),
            *((V / link / 2 / n, "it has its own part") for n in counts),
            *(
                (V * (1 - 1 / before) / link / 2 / n, "there are 2 tp parts")
                for n in counts
            ),
        ]
    g = min(t, machine["node"])
    n, inside, outside = t // g, machine["inside"], machine["outside"]
    near, far = V * (g - 1) / g / inside, V * (n - 1) / t / outside
    return [
        (V * share / inside, "links out of a node are slower than inside"),
        (
            near + V * (t - 1) / t / g / outside,
            "outside a GPU has a counterpart in each other node, not t - 1",
        ),
        (V * share / outside, "what can stay in a node goes inside"),
        (near, "what goes from node to node takes time, and nothing hides"),
        (far, "you leave out what goes inside a node"),
        (max(near, far), "they follow each other: outside, then inside"),
        (near + far * g, "counterparts exchange a GPU's part, no node's"),
        (
            V * (g - 1) / t / inside + V * (n - 1) / n / outside,
            "first over nodes, with small parts, then inside",
        ),
        (V * (g - 1) / t / inside + far, "inside, parts of all nodes go on"),
        (
            V * (n - 1) / n / outside + near,
            "each GPU sends its own part outside",
        ),
        (V / g / n / outside + V / inside, "its own part a GPU has already"),
        (far + V / inside, "its own part a GPU has already"),
        (V / inside, "its own part a GPU has already"),
        (
            V * (t - 1) / t / (outside if t > g else inside),
            "inside a node nothing has to take the way outside",
        ),
        (near / 2 + far, "a GPU behind a switch sends `inside` bytes"),
    ]


def grade_doubled():
    """Question 7 on other machines."""
    draw = question.draw("doubled")
    machines = (
        (_cluster(hw.H200), 8),
        (_cluster(hw.B200) | {"node": 4}, 8),
        (_cluster(hw.A100), 2),
        (_torus(hw.V4P, (32,), (4, 4, 4)), 32),
        (_torus(hw.V5E, (8,), (16,)), 8),
    )
    for machine, tp in machines:
        layer = {
            "L": 8 * int(draw.integers(4, 16)),
            "flops": float(draw.uniform(1e12, 9e13)),
            "bytes": 3 * 2**14 * int(draw.integers(333, 3333)),
        }
        pp, m = 2 ** int(draw.integers(0, 4)), 2 * int(draw.integers(1, 12))
        check_doubled(layer, machine, tp, pp, m)
