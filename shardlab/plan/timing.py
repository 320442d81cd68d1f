"""Seconds of a step under a layout: arithmetic, and traffic on each dimension.

A step is m microbatches of forward and backward, the bubble of the pipeline,
the last microbatch's wait for gradients that are summed once a step, and the
update. Traffic is counted as `cost` counts it, for each collective
V (X - 1) / X over the bandwidth that its mesh axis has, and the hops of its
longest way. Mesh axes that share a dimension of the network take turns on it.
"""

from functools import lru_cache
from math import inf
from typing import NamedTuple

from shardlab import cost
from shardlab.arguments import real
from shardlab.models import forward_flops
from shardlab.plan.held import (
    BF16,
    key_elements,
    layer_kept,
    stage_layers,
    stage_weights,
)
from shardlab.plan.layouts import ZERO, a_job, a_layout
from shardlab.plan.network import lies as all_lies
from shardlab.plan.placing import paces

__all__ = [
    "Flops",
    "Moves",
    "Part",
    "Passes",
    "Timed",
    "Volume",
    "beside",
    "data_volume",
    "idle_share",
    "in_microbatch",
    "layout_bubble",
    "moved",
    "skipped",
    "speeds",
    "stage_flops",
    "stage_seconds",
    "stream_seconds",
    "timed",
    "token_volumes",
    "tokens",
    "traffic",
    "weight_volumes",
]


# ---- arithmetic --------------------------------------------------------------


class Flops(NamedTuple):
    """FLOPs of a step in the slowest stage, on each chip of its group.

    forward, backward  of the pass; `backward` makes again what was not kept
    """

    forward: float
    backward: float


def stage_flops(job, layout):
    """FLOPs of all microbatches on one chip of the slowest stage.

    job      Job
    layout   Arrangement
    returns  Flops; the last stage makes the logits, in the place of a layer
             where `model.ends` says so; those in fp8 or int8 count as the bf16
             FLOPs that take as long
    source   scaling-book part 4; Korthikanti et al. (2022)
    """
    matmuls, scores, head = _forward(job.model, job.attended)
    if job.causal:
        scores = scores / 2
    layer = matmuls / job.faster + scores
    ends, p = job.model.ends, layout.pp
    layers = stage_layers(job.model, p)
    with_head = layers - (1 if ends and p > 1 else 0)
    most = max(layers * layer, with_head * layer + head)
    again = {
        "selective": scores,
        "minimal": scores,
        "alternate": scores + skipped(job.model) * matmuls / job.faster,
        "full": layer,
    }.get(job.recompute, 0)
    each = tokens(job, layout) / layout.tp
    return Flops(each * most, each * (2 * most + layers * again))


@lru_cache(maxsize=256)
def _forward(model, attended):
    """FLOPs a token: of a layer's weights, of its scores, of the head."""
    flops = forward_flops(model, attended)
    each = flops["matmuls"] / model.L, flops["scores"] / model.L
    return *each, flops["head"]


def skipped(m):
    """Part of a layer's weights whose matmul torchtitan makes again.

    Of query, key, value, projection, gate, input and output every second one.

    m        Model
    returns  a number between 0 and 1
    source   torchtitan, selective op checkpointing
    """
    h, kv = m.heads * m.head_size, m.kv_heads * m.head_size
    each = (
        [h, kv, kv, h, m.F, m.F, m.F] if m.gated else [h, kv, kv, h, m.F, m.F]
    )
    return sum(each[1::2]) / sum(each)


def tokens(job, layout):
    """Tokens of one replica in one TP group, all microbatches together.

    job      Job
    layout   Arrangement
    returns  tokens; a real number for a simplified model
    source   chapter 15
    """
    return job.batch / (job.pods * layout.dp * layout.cp)


# ---- traffic -----------------------------------------------------------------


def data_volume(zero, weights):
    """Bytes that replicas move for the weights that they have in common.

    zero     0 to 3
    weights  bytes of these weights, and of their gradients
    returns  (forward, backward) of each microbatch, (last, update) of a step;
             an AllReduce counts twice its array
    source   ZeRO paper; ZeRO-2 scatters every microbatch's
             gradients, for it keeps no whole ones
    """
    return {
        0: (0, 0, 2 * weights, 0),
        1: (0, 0, weights, weights),
        2: (0, weights, 0, weights),
        3: (weights, 2 * weights, 0, 0),
    }[zero]


IDLE = (0.0, 0.0, 0.0, 0.0)  # three dimensions, and outside of the network


class Volume(NamedTuple):
    """Bytes that one mesh axis moves in the slowest stage.

    name               as a verdict says it
    axis, kind         of Paces and of Pace; "dcn", "" outside of the network
    of_tokens          True: of all microbatches together, which share it;
                       False: of weights, and each microbatch moves as much
    forward, backward  in the passes
    last               besides, in the last backward pass of a step
    update             after it
    calls              collectives in each of the four; of tokens, in each
                       microbatch
    """

    name: str
    axis: str
    kind: str
    of_tokens: bool
    forward: float
    backward: float
    last: float = 0
    update: float = 0
    calls: tuple = (0, 0, 0, 0)


class Moves(NamedTuple):
    """Seconds that a Volume takes, on each dimension and outside.

    name, of_tokens, forward, backward, last, update  as in `Volume`
    waits  seconds of the hops of its calls besides, for each of the four
    """

    name: str
    of_tokens: bool
    forward: tuple
    backward: tuple
    last: tuple
    update: tuple
    waits: tuple = (IDLE, IDLE, IDLE, IDLE)


def traffic(job, layout):
    """Traffic of every mesh axis in the slowest stage.

    job      Job
    layout   Arrangement, with `lies`; microbatches, chunks and schedule are not
             looked at (`in_microbatch`)
    returns  list of Moves
    source   scaling-book part 5; chapters 6 to 14
    """
    volumes = weight_volumes(job, layout) + token_volumes(job, layout)
    return moved(job, volumes, layout.lies)


def moved(job, volumes, lie):
    """Seconds that volumes take at one place on the network.

    job      Job
    volumes  list of Volume
    lie      place, from `lies`
    returns  list of Moves
    source   chapter 15
    """
    where, rows = paces(job.network, lie), []
    for name, axis, kind, of_tokens, *parts, calls in volumes:
        each, late = speeds(job, where, axis, kind)
        on = [_scaled(each, part) if part else IDLE for part in parts]
        waits = tuple(_scaled(late, n) if n else IDLE for n in calls)
        rows.append(Moves(name, of_tokens, *on, waits))
    return rows


def speeds(job, where, axis, kind):
    """What one kind of traffic needs on each dimension, and outside.

    job         Job
    where       Paces
    axis, kind  as in `Volume`
    returns     (seconds for each byte, seconds for each call), of four
    source      chapter 15
    """
    if not kind:
        rounds = (job.pods - 1).bit_length()
        free = job.network.kind == "axes"
        late = 0.0 if free else rounds * job.chip.hop_latency
        return (0.0, 0.0, 0.0, 1 / job.chip.dcn_bw), (0.0, 0.0, 0.0, late)
    pace = getattr(where, axis)
    each = (*getattr(pace, kind), 0.0)
    late = getattr(pace.hops, kind) * job.chip.hop_latency
    return each, tuple(late if on else 0.0 for on in each)


def in_microbatch(rows, layout):
    """Traffic of one microbatch under the schedule of a layout.

    rows     list of Moves, from `traffic`
    layout   Arrangement
    returns  list of Moves; chunks send as often as there are, and a stage with
             two model parts has twice the weights to sum up
    source   chapter 11
    """
    twice = 2 if layout.schedule == "dualpipe" else 1
    parts = []
    for name, of_tokens, *moves, waits in rows:
        sends = layout.chunks if name == "PP" else 1
        each = sends / (layout.microbatches if of_tokens else 1)
        often = (each, sends), (each, sends), (twice, twice), (twice, twice)
        parts.append(
            Moves(
                name,
                of_tokens,
                *(
                    _plus(_scaled(move, a), _scaled(wait, b))
                    for move, wait, (a, b) in zip(
                        moves, waits, often, strict=True
                    )
                ),
            )
        )
    return parts


def _scaled(on, by):
    a, b, c, d = on
    return (by * a, by * b, by * c, by * d)


def weight_volumes(job, layout):
    """What replicas move: gradients and weights of a stage.

    job      Job
    layout   Arrangement
    returns  list of Volume: dense weights, experts, and between pods
    source   ZeRO paper; scaling-book part 5, scaling across pods
    """
    dense, routed = _stage_bytes(job, layout)
    rows, layers = [], _layers(job, layout)
    name = ZERO[layout.zero]
    if not layout.zero and layout.dp == 1:
        name = "gradients"  # of chips that share a sequence: no replicas
    for axis, size, shares in (
        ("data", dense, layout.shares),
        ("replicas", routed, layout.shares // layout.ep),
    ):
        if size and shares > 1:
            volume = data_volume(layout.zero, size)
            calls = tuple(n * layers for n in data_volume(layout.zero, 1))
            rows.append(Volume(name, axis, "gather", False, *volume, calls))
    if job.pods > 1:
        # Each chip sums its share of the gradients with its like elsewhere.
        own = (dense + routed * layout.ep) / layout.shares
        ring = 1 if job.model.simplified else 1 - 1 / job.pods
        zero = layout.zero if job.across else 0
        moved = data_volume(zero, ring * own)
        calls = tuple(n * layers for n in data_volume(zero, 1))
        rows.append(Volume("DCN", "dcn", "", False, *moved, calls))
    return rows


def token_volumes(job, layout):
    """What goes with tokens: activations, keys and values, their gradients.

    job      Job
    layout   Arrangement; ZeRO stage, schedule and microbatches do not matter
    returns  list of Volume: TP, EP, CP, PP
    source   scaling-book part 5; chapters 8 and 11 to 14
    """
    rows = []
    if layout.tp > 1:
        rows.append(_tensor(job, layout))
    if layout.ep > 1:
        rows.append(_expert(job, layout))
    if layout.cp > 1:
        rows.append(_context(job, layout))
    if layout.pp > 1:
        rows.append(_stages(job, layout))
    return rows


def _stage_bytes(job, layout):
    """Bytes of one model part's weights on a TP rank: dense, and experts."""
    m, t = job.model, layout.tp
    if m.simplified:
        return cost.weight_bytes(m.D, m.F) * m.L / t, 0
    w = stage_weights(m, layout.pp)
    return BF16 * w.dense / t, BF16 * w.experts / (t * layout.ep)


def _layers(job, layout):
    return stage_layers(job.model, layout.pp)


def _of_tokens(job, name, axis, kind, moved, calls):
    """A Volume of tokens; what is made again moves again."""
    forward, backward = moved
    often, again = calls
    if job.recompute == "full" and name != "PP":
        backward, again = backward + forward, again + often
    calls = often, again, 0, 0
    return Volume(name, axis, kind, True, forward, backward, 0, 0, calls)


def _tensor(job, layout):
    """Activations in, sums out, in attention and in the MLP."""
    blocks = (1 if job.model.simplified else 2) * _layers(job, layout)
    volume = cost.tp_volume(tokens(job, layout), job.model.D, BF16, layout.sp)
    moved = [part * blocks for part in volume[:2]]
    calls = 2 * blocks, (3 if layout.sp else 2) * blocks
    return _of_tokens(job, "TP", "tp", "gather", moved, calls)


def _expert(job, layout):
    """Each token goes to its experts and back; TP ranks send a part each."""
    m = job.model
    sparse = (m.L - m.dense_layers) / m.L * _layers(job, layout)
    group = tokens(job, layout) * layout.ep / layout.tp
    moved = 2 * BF16 * group * m.active * m.D * sparse
    calls = 2 * sparse, 2 * sparse
    return _of_tokens(job, "EP", "ep", "exchange", (moved, moved), calls)


def _context(job, layout):
    """Keys and values, and in backward their gradients; or heads for tokens."""
    layers, group = _layers(job, layout), tokens(job, layout) * layout.cp
    if layout.context == "ulysses":
        moved = BF16 * group * _exchanged(job.model, layout.tp, layout.cp)
        both, calls = (moved * layers, moved * layers), (4 * layers, 4 * layers)
        return _of_tokens(job, "CP", "cp", "exchange", both, calls)
    kv = key_elements(job.model, layout.tp) / 2
    volume = cost.context_volume(group, kv, kv, layout.context, BF16)
    moved, calls = [part * layers for part in volume[:2]], (layers, 2 * layers)
    return _of_tokens(job, "CP", "cp", layout.context, moved, calls)


def _exchanged(model, tp, cp):
    """Elements of a token that Ulysses sends from tokens to heads and back.

    model    Model
    tp, cp   chips of these mesh axes
    returns  elements on one TP rank: queries, keys, values and results; key
             heads fewer than chips are sent to as many as share them
    source   DeepSpeed-Ulysses paper
    """
    m, each = model, model.head_size
    if m.latent:
        return m.heads * (4 * each + 2 * m.latent[2]) / tp
    here = m.kv_heads / min(tp, m.kv_heads)
    return 2 * m.heads * each / tp + 2 * max(here, cp) * each


def _stages(job, layout):
    """Activations go on to the next stage, gradients to the one before."""
    volume = cost.pipeline_volume(tokens(job, layout), job.model.D, BF16)
    cut = layout.tp if layout.sp else 1
    moved = [part / cut for part in volume[:2]]
    return _of_tokens(job, "PP", "pp", "send", moved, (1, 1))


# ---- a step ------------------------------------------------------------------


class Part(NamedTuple):
    """Seconds of the forward passes of a step, or of all that follows.

    seconds  in one stage, without the bubble
    math     of arithmetic alone
    by       what takes longest: "compute", "HBM" or a kind of traffic
    """

    seconds: float
    math: float
    by: str


class Timed(NamedTuple):
    """Seconds of a step, and of its parts.

    step      in all
    forward   Part
    backward  Part, with the update
    ratio     arithmetic over traffic, of forward or of the last backward,
              whichever is less; at 1 or more the texts say "compute-bound"
    bubble    idle over useful time of the pipeline
    """

    step: float
    forward: Part
    backward: Part
    ratio: float
    bubble: float


class Passes(NamedTuple):
    """One microbatch in the slowest stage: (seconds, what takes longest).

    forward   the forward pass
    backward  the backward pass, but of the last microbatch
    last      that of the last one, with what is summed once a step
    update    what follows it
    math      seconds of arithmetic, forward and backward
    ratio     as in `Timed`
    """

    forward: tuple
    backward: tuple
    last: tuple
    update: tuple
    math: tuple
    ratio: float


def timed(job, layout):
    """Seconds of a step under a layout that has its place on the network.

    job      Job
    layout   Arrangement, with `lies`
    returns  Timed
    raises   ValueError if job is no Job, or layout no Arrangement with a place
    source   chapter 15
    """
    a_job(job), a_layout(layout)
    _refuse_no_place(job.network, layout)
    p = _passes(job, layout)
    m, (f, f_by), (b, b_by) = layout.microbatches, p.forward, p.backward
    (last, last_by), (update, update_by) = p.last, p.update
    after, idle = last - b + update, idle_share(layout, f, b)
    waits = [(last - b, last_by), (update, update_by)]
    waits.append((m * (b - p.math[1]), b_by))
    return Timed(
        step=m * (f + b) * (1 + idle) + after,
        forward=Part(m * f, m * p.math[0], f_by),
        backward=Part(m * b + after, m * p.math[1], max(waits)[1]),
        ratio=p.ratio,
        bubble=idle,
    )


def _refuse_no_place(net, layout):
    degrees, lies = layout.degrees, layout.lies
    fits = isinstance(lies, tuple) and len(lies) == len(degrees)
    if not fits or net.kind != "axes" and lies not in _places(net, degrees):
        raise ValueError(
            f"lies of a layout must be a place for {degrees}, got {lies!r}"
        )


@lru_cache(maxsize=1024)
def _places(net, degrees):
    return frozenset(all_lies(net, degrees))


def _passes(job, layout):
    """One microbatch in the slowest stage of a pipeline.

    job      Job
    layout   Arrangement, with `lies`
    returns  Passes
    source   chapter 15
    """
    rows = in_microbatch(traffic(job, layout), layout)
    late = [r._replace(last=_plus(r.backward, r.last)) for r in rows]
    math, t_hbm = stage_seconds(job, layout)
    return Passes(
        _lasts(job, math[0], t_hbm, late, "forward"),
        _lasts(job, math[1], 2 * t_hbm, late, "backward"),
        _lasts(job, math[1], 2 * t_hbm, late, "last"),
        _moves(job, late, "update"),
        math,
        min(
            _ratio(math[0], _moves(job, late, "forward")[0]),
            _ratio(math[1], _moves(job, late, "last")[0]),
        ),
    )


def _plus(a, b):
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _moves(job, rows, part):
    """Seconds of all traffic in one part of a step, and what takes longest."""
    if not rows:
        return 0.0, "compute"
    ons = [getattr(row, part) for row in rows]
    longest = [max(on) for on in ons]
    by = rows[longest.index(max(longest))].name
    if not beside(job):
        return sum(longest), by
    return max(map(sum, zip(*ons, strict=True))), by


def beside(job):
    """Whether the mesh axes of a job send beside each other.

    job      Job
    returns  bool
    source   chapter 15
    """
    return job.overlap in ("max", "tp-waits")


def _lasts(job, t_math, t_hbm, rows, part):
    """Seconds of one part of a step, and what takes longest in it."""
    alone = (t_hbm, "HBM") if t_hbm > t_math else (t_math, "compute")
    if job.overlap == "tp-waits":
        hidden = [row for row in rows if row.name != "TP"]
        waits = sum(max(getattr(r, part)) for r in rows if r.name == "TP")
        seconds, by = _longer(alone, _moves(job, hidden, part))
        return seconds + waits, "TP" if waits > seconds - alone[0] else by
    moves = _moves(job, rows, part)
    if job.overlap == "none":
        by = moves[1] if moves[0] else alone[1]
        return alone[0] + moves[0], by
    return _longer(alone, moves)


def _longer(alone, moves):
    return moves if moves[0] > alone[0] else alone


def _ratio(t_math, t_moves):
    return t_math / t_moves if t_moves else inf


def stage_seconds(job, layout):
    """Seconds of one microbatch in the slowest stage, without any traffic.

    job      Job
    layout   Arrangement
    returns  ((forward, backward) of arithmetic, that in which memory delivers
             the weights once; backward needs it twice)
    source   scaling-book part 1
    """
    each = layout.microbatches * job.peak
    math = tuple(part / each for part in stage_flops(job, layout))
    if job.streams and not job.model.simplified:
        math = _plus(math, stream_seconds(job, layout))
    if job.offload:
        host = _t_host(job, layout)
        math = tuple(max(part, host) for part in math)
    return math, _t_weights(job, layout)


def stream_seconds(job, layout):
    """Seconds in which memory serves what lies between the matmuls of a stage.

    job      Job
    layout   Arrangement
    returns  (forward, backward) of one microbatch, recomputation included
    source   Korthikanti et al. (2022) for the arrays; chapter 16
    """
    # Models with dropout are older than FlashAttention, and store scores.
    kind = "none" if job.model.dropout else "selective"
    kept = layer_kept(job.model, job.attended, layout.tp, layout.sp, kind)
    stage = kept * stage_layers(job.model, layout.pp)
    once = stage * tokens(job, layout) / job.chip.hbm_bw
    each = once / layout.microbatches
    return 2 * each, (5 if job.recompute == "full" else 3) * each


def _t_host(job, layout):
    """Seconds in which what a microbatch keeps goes to the host, or back."""
    m, sp = job.model, layout.sp or job.network.kind == "torus"
    kept = layer_kept(m, job.attended, layout.tp, sp, job.recompute)
    each = tokens(job, layout) / layout.microbatches
    return each * kept * stage_layers(m, layout.pp) / job.chip.host_bw


def _t_weights(job, layout):
    """Seconds in which a chip's memory delivers the weights of its stage."""
    if job.model.simplified:
        return 0.0
    w = stage_weights(job.model, layout.pp)
    held = w.dense / layout.tp + w.experts / (layout.tp * layout.ep)
    return BF16 * held / job.chip.hbm_bw


def layout_bubble(layout, forward, backward):
    """Idle over useful time of a layout's pipeline, in closed form.

    layout             Arrangement
    forward, backward  seconds of one microbatch in one stage
    returns            a number; 0 without a pipeline
    raises             ValueError that names the argument and what was expected
    source             chapter 11
    """
    real("forward", forward, above=0), real("backward", backward, above=0)
    return idle_share(a_layout(layout), forward, backward)


def idle_share(layout, forward, backward):
    """The same as `layout_bubble`, of arguments that were checked.

    layout             Arrangement
    forward, backward  seconds of one microbatch in one stage
    returns            a number
    source             chapter 11
    """
    p, m = layout.pp, layout.microbatches
    if layout.schedule == "none":
        return 0.0
    if layout.schedule in ("gpipe", "1f1b", "interleaved"):
        return _plain_bubble(p, m, layout.chunks)
    if layout.schedule == "zero-bubble":
        weight = min(forward, backward / 2)
        return cost.zero_bubble(p, m, forward, backward, weight)
    return cost.dualpipe_bubble(p, m, forward, backward)


_plain_bubble = lru_cache(maxsize=65536)(cost.bubble)
