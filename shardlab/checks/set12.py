"""Set 12, activation memory: what is kept, computed again, and cut.

What a layer keeps is counted in layers that are written here and traced, on one
chip and inside a shard_map; policies that fill the room are tried, their FLOPs
counted; memory of a program handed in is what is alive in it; stages are
watched event by event.
"""

from functools import cache, partial
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.ad_checkpoint import checkpoint_name as label
from jax.sharding import AbstractMesh, AxisType

from shardlab import count, hw, memory, pipeline
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer
from shardlab.count.saving import saved, saved_bytes
from shardlab.strategies import attention, sequence
from shardlab.transformer import dropout as paper
from shardlab.transformer import strategies

__all__ = [
    "check_chosen",
    "check_design",
    "check_fullest",
    "check_gradient",
    "check_kept",
    "check_on_chip",
    "grade_chosen",
    "grade_design",
    "grade_fullest",
    "grade_gradient",
    "grade_kept",
    "grade_on_chip",
]


def _keeping(layer, names):
    """A layer of which only the arrays with these names are kept."""
    policy = jax.checkpoint_policies.save_only_these_names(*names)
    return jax.checkpoint(layer, policy=policy)


# --- the layers whose memory is asked for ------------------------------------


@jax.custom_vjp
def _attend(Q, K, V):
    """Attention whose derivative needs its result and one number a query."""
    return attention.attend(Q, K, V)[0].astype(Q.dtype)


def _attend_forward(Q, K, V):
    Out, lse = attention.attend(Q, K, V)
    Out, lse = label(Out.astype(Q.dtype), "heads"), label(lse, "lse")
    return Out, (Q, K, V, Out, lse)


def _attend_backward(kept, dOut):
    found = attention.derivatives(dOut, *kept)
    pairs = zip(found, kept[:3], strict=True)
    return tuple(x.astype(like.dtype) for x, like in pairs)


_attend.defvjp(_attend_forward, _attend_backward)
KEPT = ("x", "input", "Q", "K", "V", "heads", "lse", "gate", "up", "product")


def _heads(W, In):
    """What attention makes of In[b, s, h], before W_O."""
    Q, K, V = (label(jnp.tensordot(In, W[n], 1), n) for n in "QKV")
    return jnp.tensordot(jax.vmap(_attend)(Q, K, V), W["O"], 3)


def _hidden(W, In):
    """What a gated MLP makes of In[b, s, h]."""
    gate, up = label(In @ W["gate"], "gate"), label(In @ W["up"], "up")
    return label(jax.nn.silu(gate) * up, "product") @ W["down"]


def _norm(x, gain):
    """The norm of chapter 8, of any number of dimensions."""
    flat = sequence.norm(x.reshape(-1, x.shape[-1]), gain)
    return flat.reshape(x.shape)


def _side_by_side(W, x):
    """Attention and MLP read one norm, and are added together."""
    In = label(_norm(label(x, "x"), W["gain"]), "input")
    return x + _heads(W, In) + _hidden(W, In)


def _one_after_other(W, x, enter, leave, whole):
    """LLaMA's layer, cut; `whole`: inputs are named after they are gathered."""

    def half(x, gain, part):
        In = _norm(label(x, "x"), gain)
        In = label(enter(In), "input") if whole else enter(label(In, "input"))
        return x + leave(part(W, In))

    x = half(x, W["gain"], _heads)
    return half(x, W["gain_mlp"], _hidden)


def _weights(h, a, g, F):
    """Shapes of the weights of both layers, and how Y cuts them."""
    d, R = h // a, a // g
    shape = partial(jax.ShapeDtypeStruct, dtype=jnp.bfloat16)
    sizes = {"gain": (h,), "gain_mlp": (h,), "Q": (h, g, R, d)}
    sizes |= {"K": (h, g, d), "V": (h, g, d), "O": (g, R, d, h)}
    sizes |= {"gate": (h, F), "up": (h, F), "down": (F, h)}
    cut = dict.fromkeys(("Q", "K", "V", "gate", "up"), P(None, "Y"))
    cut |= {"O": P("Y"), "down": P("Y"), "gain": P(), "gain_mlp": P()}
    return {name: shape(size) for name, size in sizes.items()}, cut


@cache
def _kept_side_by_side(s, b, h, a, g, F):
    """Bytes by name that the layer of question 1 keeps."""
    x = jax.ShapeDtypeStruct((b, s, h), jnp.bfloat16)
    W, _ = _weights(h, a, g, F)
    return saved_bytes(saved(_keeping(_side_by_side, KEPT), W, x))


# --- 1: a tally --------------------------------------------------------------


@question.visible("kept", (24, 2, 48, 6, 2, 80), (40, 1, 24, 4, 1, 56))
def check_kept(s, b, h, a, g, F):
    """Question 1: bytes that a layer keeps whose halves stand side by side."""
    found = _kept_side_by_side(s, b, h, a, g, F)
    expected, wide = sum(found.values()), 2 * s * b * h
    lse, keys = found["lse"], found["K"] + found["V"]
    likely = [
        (expected + 2 * wide, "you count two norms; there is one"),
        (
            expected + wide,
            "you count an input of products twice; both halves "
            "read the same array",
        ),
        (expected - lse, "the kernel keeps one number for each head and token"),
        (expected - lse // 2, "the kernel's numbers are float32"),
        (expected + 2 * wide - keys, "keys and values have fewer heads"),
        (
            expected - found["gate"] - found["up"],
            "the derivative of the gate needs both its factors",
        ),
        (expected - found["product"], "the last product needs its input, too"),
        (
            expected - wide,
            "you leave out an array of width h; four are kept: x, what the "
            "norm gives, Q, and what attention gives",
        ),
        (expected // 2, "you count elements; one of bf16 has two bytes"),
        ((expected - lse) // 2 + lse // 4, "you count elements"),
        (expected + 5 * a * s * s * b, "the kernel keeps no scores"),
        (34 * s * b * h, "34 belongs to another layer"),
    ]
    asked = f"kept({s}, {b}, {h}, {a}, {g}, {F})"
    got = student.call("kept", s, b, h, a, g, F)
    compare.equal(asked, got, expected, likely=likely)


def grade_kept():
    """Question 1 with other sizes."""
    draw = question.draw("kept")
    for _ in range(2):
        g, R, d, b, F, s = (int(n) for n in draw.integers(2, 6, 6))
        check_kept(8 * s, b, g * R * d, g * R, g, 12 * F)


# --- 2: on each chip ---------------------------------------------------------


@cache
def _kept_per_chip(s, b, h, a, g, F, t, sp, whole):
    """Bytes that a chip of t keeps, counted inside a shard_map."""
    mesh = AbstractMesh((t,), ("Y",), axis_types=(AxisType.Auto,))
    W, cut = _weights(h, a, g, F)
    x = jax.ShapeDtypeStruct((b, s, h), jnp.bfloat16)
    enter, leave, tokens = strategies.f, strategies.g, P()
    if sp:
        gather = partial(lax.all_gather, axis_name="Y", axis=1, tiled=True)
        scatter = partial(lax.psum_scatter, axis_name="Y", tiled=True)
        enter, leave = gather, partial(scatter, scatter_dimension=1)
        tokens = P(None, "Y")
    layer = partial(_one_after_other, enter=enter, leave=leave, whole=whole)
    found = {}

    def local(W, x):
        found.update(saved_bytes(saved(_keeping(layer, KEPT), W, x)))
        return layer(W, x)

    specs = {"in_specs": (cut, tokens), "out_specs": tokens}
    jax.eval_shape(jax.shard_map(local, mesh=mesh, **specs), W, x)
    return found


@question.visible(
    "on_chip",
    (24, 2, 48, 8, 4, 80, 4, False, False),
    (24, 2, 48, 8, 4, 80, 4, True, False),
    (24, 2, 48, 8, 4, 80, 4, True, True),
    (16, 1, 24, 4, 2, 64, 2, True, True),
)
def check_on_chip(s, b, h, a, g, F, t, sp, whole):
    """Question 2: bytes on one of t chips, with and without SP."""
    how = (s, b, h, a, g, F, t, sp, whole)
    expected = sum(_kept_per_chip(*how).values())
    likely = (pair for pair in _mistaken_on_chip(*how) if pair[0] != expected)
    asked = f"on_chip{how}"
    got = student.call("on_chip", *how)
    compare.equal(asked, got, expected, likely=likely)


def _mistaken_on_chip(s, b, h, a, g, F, t, sp, whole):
    """Bytes that mistakes give, and the mistakes; other layers are traced."""
    sizes = s, b, h, a, g, F
    gathered = "with `whole` an input is kept as the products read it"
    uncut = "without SP inputs of norms and of products are not cut"
    pieces = "you keep the gathered inputs; the pieces are kept"
    streams = "without SP the residual stream is not cut"
    for *other, words in (
        (False, False, "that is what TP alone keeps; SP cuts more"),
        (True, False, gathered if sp else uncut),
        (True, True, pieces if sp else streams),
    ):
        yield sum(_kept_per_chip(*sizes, t, *other).values()), words
    found = _kept_per_chip(*sizes, t, sp, whole)
    expected, wide = sum(found.values()), 2 * s * b * h
    keys = found["K"] + found["V"]
    one_chip = sum(_kept_per_chip(*sizes, 1, False, False).values())
    yield one_chip, "that is what one chip alone keeps"
    yield one_chip // t, "not everything is cut by t"
    yield (
        expected - (found["x"] + found["input"] + 1) // 2,
        "you count one half of the layer: there are two norms and two inputs",
    )
    yield (
        expected - found["lse"],
        "the kernel keeps a number for each of the chip's heads and each token",
    )
    yield expected - found["lse"] // 2, "the kernel's numbers are float32"
    yield expected + (t - 1) * keys, "keys and values are cut with the heads"
    yield expected + wide, "you count an array of width h too many"
    yield expected // 2, "you count elements; one of bf16 has two bytes"


def grade_on_chip():
    """Question 2 with other sizes."""
    draw = question.draw("on chip")
    for sp, whole in ((False, False), (True, False), (True, True)):
        t, R, d, b, F, s = (int(n) for n in draw.integers(2, 5, 6))
        g = t * int(draw.integers(1, 3))
        sizes = (4 * t * s, b, g * R * d, g * R, g, 6 * t * F)
        check_on_chip(*sizes, t, sp, whole)


# --- 3: the best policy ------------------------------------------------------

GROUPS = {
    "QKV": ("query and key", "value"),
    "heads": ("attention projection input",),
    "middle": ("layer norm 2 input",),
    "hidden": ("GeLU input",),
}


def _policy(groups):
    """The chapter's layer, of which its input and these groups are kept."""
    names = [name for group in groups for name in GROUPS[group]]
    return _keeping(paper.layer, ["layer norm 1 input", *names])


@cache
def _kept_by_name(s, b, h, a):
    """Bytes of everything that may be kept, by name."""
    return saved_bytes(saved(_policy(GROUPS), *paper.shapes(s, b, h, a)))


def _size(s, b, h, a, groups):
    """Bytes that the chapter's layer keeps."""
    kept = _kept_by_name(s, b, h, a)
    names = [name for group in groups for name in GROUPS[group]]
    return kept["layer norm 1 input"] + sum(kept[name] for name in names)


@cache
def _flops(s, b, h, a, groups):
    """FLOPs of both passes of the chapter's layer, counted."""
    layer = _policy(groups)

    def loss(W, x, keys):
        return layer(W, x, keys).astype("float32").sum()

    W, x, keys = paper.shapes(s, b, h, a)
    return count.flops(jax.grad(loss, (0, 1)), W, x, keys)


def _fullest_policies(limit, *sizes):
    """Choices that fit and to which nothing can be added."""
    every = [
        groups
        for size in range(len(GROUPS) + 1)
        for groups in combinations(GROUPS, size)
        if _size(*sizes, groups) <= limit
    ]
    return [g for g in every if not any(set(g) < set(o) for o in every)]


@question.visible(
    "chosen",
    (5, 32, 1, 48, 4),
    (11, 32, 1, 48, 4),
    (5, 60, 1, 48, 4),
    (9, 60, 1, 48, 4),
    (20, 32, 1, 48, 4),
)
def check_chosen(each, s, b, h, a):
    """Question 3: what to keep in `each` bytes for an element of x."""
    limit = each * s * b * h
    asked = f"chosen({limit}, {s}, {b}, {h}, {a})"
    got = compare.entries(
        asked, student.call("chosen", limit, s, b, h, a), None
    )
    groups = tuple(name for name in GROUPS if name in got)
    if sorted(map(str, got)) != sorted(groups):
        reason = f"expected some of {', '.join(GROUPS)}, each at most once"
        compare.wrong(asked, got, reason)
    kept = _size(s, b, h, a, groups)
    if kept > limit:
        reason = f"your policy keeps {kept:,} bytes, and {limit:,} are allowed"
        compare.wrong(asked, got, reason)
    flops = _flops(s, b, h, a, groups)
    others = _fullest_policies(limit, s, b, h, a)
    best = min(_flops(s, b, h, a, other) for other in others)
    if flops > best:
        more = flops - best
        compare.wrong(
            asked,
            got,
            f"it fits, and another policy that fits saves {more:,} FLOPs more",
        )


def grade_chosen():
    """Question 3 with other sizes and limits."""
    draw = question.draw("chosen")
    wide, long = (24, 3, 72, 6), (64, 1, 24, 3)
    for sizes in (wide, long):
        for each in sorted(draw.choice(np.arange(2, 21), 4, replace=False)):
            check_chosen(int(each), *sizes)


# --- 4: a stack that runs backward -------------------------------------------


def _stack(x1, x2, A, B):
    """What goes into each layer of a reversible stack, and what comes out."""
    kept = [(x1.astype(float), x2.astype(float))]
    for a, b in zip(A, B, strict=True):
        x1, x2 = kept[-1]
        y1 = x1 + np.tanh(x2 @ a)
        kept.append((y1, x2 + np.tanh(y1 @ b)))
    return kept


def _gradient(kept, A, B, losses=(1, 1), old=False):
    """dx1 and dx2 of a sum of squares by the chain rule, in NumPy.

    kept    of `_stack`
    losses  what the squares of each stream count
    old     whether x2 gets its share from d1 as it was after the layer
    """
    d1, d2 = (2 * n * y for n, y in zip(losses, kept[-1], strict=True))
    pairs = list(zip(kept, kept[1:], A, B, strict=False))
    for (_, x2), (y1, _), a, b in reversed(pairs):
        new = d1 + (d2 * (1 - np.tanh(y1 @ b) ** 2)) @ b.T
        from_x1 = d1 if old else new
        d2 = d2 + (from_x1 * (1 - np.tanh(x2 @ a) ** 2)) @ a.T
        d1 = new
    return np.stack([d1, d2])


def _undone_first(kept, A, B):
    """The layers' inputs, if x1 is made before x2, from y2 in its place."""
    found = [kept[-1]]
    for a, b in zip(A[::-1], B[::-1], strict=True):
        y1, y2 = found[-1]
        x1 = y1 - np.tanh(y2 @ a)
        found.append((x1, y2 - np.tanh(x1 @ b)))
    return found[::-1]


ROOM = 16  # arrays; six are needed


@question.visible("gradient", (64, 64, 4, 1), (50, 80, 3, 2))
def check_gradient(L, B, D, seed=0):
    """Question 4: the gradient of L reversible layers in constant room."""
    random = np.random.default_rng(seed)
    x1, x2 = random.normal(size=(2, B, D)).astype(np.float32)
    scale = 1 / D / np.sqrt(L)
    W = (scale * random.normal(size=(2, L, D, D))).astype(np.float32)
    asked = f"gradient of {L} layers"
    given = (x1, x2, *W)
    request = program.request(*given, mesh={"X": 1}, laid=(P(),) * 4)
    answer = student.program("gradient", request)
    kept = _stack(*given)
    right, Out = _gradient(kept, *W), np.stack(kept[-1])
    compare.close(
        asked,
        answer.run(*given),
        right,
        rel=1e-4,
        likely=[
            (Out, "you return what the layers give, not gradients"),
            (2 * Out, "these are the gradients of what comes out"),
            (right / 2, "the loss is the sum of squares, without a half"),
            (right / Out.size, "you took the mean, not the sum"),
            (right[::-1], "you return dx2 first"),
            (
                _gradient(kept, *W, losses=(1, 0)),
                "the squares of the second stream count, too",
            ),
            (
                _gradient(kept, *W, losses=(0, 1)),
                "the squares of the first stream count, too",
            ),
            (
                _gradient(kept, *W, old=True),
                "x2 reaches the loss through y1 as well, and y1 also through "
                "y2: take its derivative when that is in it",
            ),
            (
                _gradient(_undone_first(kept, *W), *W),
                "you make x1 first, from y2; it was x2 that was added",
            ),
        ],
        show=True,
        place=lambda n, row, column: f"dx{n + 1}, row {row}, column {column}",
    )
    used = round((answer.live() - W.nbytes) / x1.nbytes)
    if used > ROOM:
        raise WrongAnswer(
            f"{asked}: beside the weights your program holds up to {used} "
            f"arrays as large as x1, and {ROOM} are allowed"
            + _hint_of_room(used, L)
        )


def _hint_of_room(used, L):
    """What a count of arrays says of a program."""
    if used >= 4 * L:
        return ": every layer keeps all it has made"
    if used >= 2 * L:
        return ": every layer keeps its two inputs; they can be made again"
    return ": you keep inputs of layers; all of them can be made again"


def grade_gradient():
    """Question 4 with other sizes."""
    draw = question.draw("gradient")
    for least in (40, 90):
        L, B = int(draw.integers(least, least + 10)), int(draw.integers(60, 90))
        check_gradient(
            L, B, int(draw.integers(2, 5)), int(draw.integers(2**31))
        )


# --- 5: the peak of a stage --------------------------------------------------


def _watched(schedule, p, m, stage, inputs, layer):
    """The most that a stage holds, and when for the first time, by events."""
    build = {"GPipe": pipeline.gpipe, "1F1B": pipeline.one_f_one_b}[schedule]
    events = [e for e in build(p, m, 1, 3) if e.stage == stage]
    moments = sorted({e.start for e in events})
    best = (-1, 0)
    for now in moments:
        begun = sum(e.kind == "forward" and e.start <= now for e in events)
        done = sum(e.kind == "backward" and e.end <= now for e in events)
        back = any(
            e.kind == "backward" and e.start <= now < e.end for e in events
        )
        holds = (begun - done) * inputs + back * layer
        if holds > best[0]:
            best = holds, now
    return [best[0], int(best[1])]


@question.visible(
    "fullest",
    ("1F1B", 5, 8, 0, 20, 30, 700),
    ("1F1B", 4, 8, 2, 16, 30, 700),
    ("1F1B", 6, 3, 1, 24, 20, 500),
    ("GPipe", 4, 6, 1, 16, 30, 700),
    ("GPipe", 5, 7, 1, 20, 30, 700),
)
def check_fullest(schedule, p, m, stage, L, small, large):
    """Question 5: the most that a stage holds under recomputation, and when."""
    inputs = L // p * small
    most, when = _watched(schedule, p, m, stage, inputs, large)
    asked = f"fullest({schedule!r}, {p}, {m}, {stage}, {L}, {small}, {large})"
    got = student.call("fullest", schedule, p, m, stage, L, small, large)
    got = compare.numbers(asked, got, 2)
    held = (most - large) // inputs
    compare.equal(
        f"{asked}, bytes",
        got[0],
        most,
        likely=[
            (most - large, "while a layer runs again, all of it is there"),
            (held * large * L // p, "inputs are kept, not whole layers"),
            (held * (inputs + large), "only one layer is whole at a time"),
            (
                p * inputs + large,
                "yours is the first stage's, with enough microbatches",
            ),
            (m * inputs + large, "not all microbatches are held at once"),
            (
                (p - stage) * inputs + large,
                "no stage can hold more "
                "microbatches than there are, and GPipe holds all",
            ),
            (held * L * small + large, "a stage has only some of the layers"),
            (held * inputs + large * L // p, "one layer runs again at a time"),
        ],
    )
    forward_ends = when - 3 * (p - 1 - stage)
    compare.equal(
        f"{asked}, time",
        got[1],
        when,
        likely=[
            (
                forward_ends + 2 * (p - 1 - stage),
                "a backward with its recomputation takes 3, not 2",
            ),
            (forward_ends, "the gradient has to come up from the last stage"),
            (
                when + 3,
                "that is when the backward ends; the layer is there "
                "when it begins",
            ),
            (
                m + p - 1 + 3 * (p - 1 - stage),
                "under 1F1B backwards do not wait for all forwards",
            ),
            (when - 3, "yours is one backward of another stage too early"),
            (
                m + 3 * (p - 1),
                "the last stage begins after p - 1 units, and a gradient that "
                "has come up to yours need not go on",
            ),
            (
                2 * m + p - 1,
                "forwards take one unit each, and the gradient passes the "
                "stages below yours",
            ),
        ],
    )


def grade_fullest():
    """Question 5 with other pipelines."""
    draw = question.draw("fullest")
    for schedule in ("1F1B", "GPipe", "1F1B"):
        p, m, part = (int(n) for n in draw.integers(2, 9, 3))
        small, large = int(draw.integers(5, 50)), int(draw.integers(300, 900))
        for stage in {0, int(draw.integers(p)), p - 1}:
            check_fullest(schedule, p, m, stage, p * part, small, large)


# --- 6: two machines ---------------------------------------------------------

GPT_3 = {"params": 175e9, "L": 96, "s": 2048, "h": 12288, "a": 96}
LLAMA_2 = {"params": 13e9, "L": 40, "s": 4096, "h": 5120, "a": 40}


def _designed(params, L, s, h, a, hbm, chips, t, sp):
    """The cheapest policy that fits and the most sequences, by trying."""
    states = sum(memory.state_terms(params, chips, 3).values())

    def fits(policy, n):
        kept = partial(memory.activation_terms, s, n, h, a, t, sp)
        total = states + L * sum(kept(policy).values())
        if policy == "full":
            total += sum(kept("selective").values())
        return total <= hbm

    for policy in ("none", "selective", "full"):
        if fits(policy, 1):
            n = 1
            while fits(policy, n + 1):
                n += 1
            return [policy, n]
    return ["nothing", 0]


# GPT-3 on A100 nodes and on slices of TPU v5p; LLaMA-2 13B on TPU v5e.
@question.visible(
    "design",
    (*GPT_3.values(), hw.A100.hbm_bytes, 64, 8, True),
    (*GPT_3.values(), hw.A100.hbm_bytes, 64, 8, False),
    (*GPT_3.values(), hw.A100.hbm_bytes, 64, 2, False),
    (*GPT_3.values(), hw.V5P.hbm_bytes, 64, 4, True),
    (*GPT_3.values(), hw.V5P.hbm_bytes, 32, 4, True),
    (*LLAMA_2.values(), hw.V5E.hbm_bytes, 256, 1, False),
    (*LLAMA_2.values(), hw.V5E.hbm_bytes, 64, 4, True),
    (*GPT_3.values(), hw.V5E.hbm_bytes, 128, 8, True),
)
def check_design(params, L, s, h, a, hbm, chips, t, sp):
    """Question 6: the cheapest policy that fits, and how many sequences."""
    how = (params, L, s, h, a, hbm, chips, t, sp)
    policy, n = _designed(*how)
    asked = f"design{tuple(f'{x:g}' if x is not sp else x for x in how)}"
    asked = asked.replace("'", "")
    got = compare.entries(asked, student.call("design", *how), 2)
    if got[0] != policy:
        compare.wrong(asked, got, _why_not(got[0], *how))
    compare.equal(f"{asked}, sequences", got[1], n, likely=_counts(policy, how))


def _why_not(policy, params, L, s, h, a, hbm, chips, t, sp):
    """What is wrong with a policy that is not the one that was found."""
    known = ("none", "selective", "full", "nothing")
    if policy not in known:
        return f"the first entry must be one of {', '.join(known)}"
    found, _ = _designed(params, L, s, h, a, hbm, chips, t, sp)
    if known.index(policy) > known.index(found):
        return "a policy with fewer FLOPs fits as well"
    states = 16 * params / chips
    if policy == "full":
        return "one whole layer has to fit beside the inputs of all layers"
    need = states + L * memory.activation_bytes(s, 1, h, a, t, sp, policy)
    return f"with that policy a chip needs {need / 1e9:.1f} GB for one sequence"


def _counts(policy, how):
    """Numbers of sequences that show a mistake."""
    params, L, s, h, a, hbm, chips, t, sp = how
    if policy == "nothing":
        return []
    each = L * memory.activation_bytes(s, 1, h, a, t, sp, policy)
    room = hbm - 16 * params / chips
    return [
        (int(hbm // each), "the states take room, too"),
        (
            int((hbm - 16 * params / t) // each),
            "FSDP cuts the states over all chips",
        ),
        (
            int(room // each),
            "one whole layer has to fit beside the inputs, of every sequence",
        ),
        (
            int(room // (each + _without_its_input(how))),
            "the layer that runs again is counted whole, its input once more",
        ),
        (int(room // (each / L)), "every layer keeps its activations"),
        (1, "more sequences fit"),
    ]


def _without_its_input(how):
    """Bytes of a layer that runs again, less the input that it kept."""
    _, _, s, h, a, _, _, t, sp = how
    kept = partial(memory.activation_bytes, s, 1, h, a, t, sp)
    return kept("selective") - kept("full")


def grade_design():
    """Question 6 with other machines and models."""
    draw = question.draw("design")
    for chip in (hw.H100, hw.V6E, hw.V5P):
        for model in (GPT_3, LLAMA_2):
            for sp in (False, True):
                t = 2 ** int(draw.integers(0, 4))
                chips = 2 ** int(draw.integers(4, 9))
                check_design(*model.values(), chip.hbm_bytes, chips, t, sp)
    exact = 16e9 + 2 * (34 + 5 * 4) * 64 * 64 // 2  # one sequence, to the byte
    check_design(64e9, 2, 64, 64, 4, exact, 64, 2, True)
    short = LLAMA_2 | {"s": 128}  # of which many fit, so that n is precise
    for t in (2, 4, 8):
        check_design(*short.values(), hw.V5P.hbm_bytes, 64, t, False)
        check_design(*short.values(), hw.V5P.hbm_bytes, 64, t, True)
