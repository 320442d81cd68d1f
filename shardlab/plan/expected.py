"""Seconds that a step is expected to take: counted work at measured speeds.

`timing` bounds a step from below: all arithmetic at its peak, all traffic
hidden. Here the same counts are divided by speeds that runs have shown. Each
speed is a parameter with a meaning (`parameters.json`); all
are fitted together to published runs by `python -m shardlab.measured`, which
also says how wrong they are. What is counted and has no parameter: operands of
matmuls, logits and optimizer states, which memory serves at its bandwidth.
"""

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from shardlab.memory import bytes_per_param
from shardlab.models import forward_flops
from shardlab.plan.held import BF16, layer_kept, stage_layers, stage_weights
from shardlab.plan.layouts import a_job, a_layout
from shardlab.plan.placing import paces, places
from shardlab.plan.timing import (
    idle_share,
    skipped,
    speeds,
    token_volumes,
    tokens,
    weight_volumes,
)

__all__ = [
    "KINDS",
    "Expected",
    "Ledger",
    "Pass",
    "expected_of",
    "expected_step",
    "ledgers",
    "parameters",
    "STORED",
    "seconds_of",
    "stored",
]

STORED = Path(__file__).with_name("parameters.json")
# What runs beside arithmetic in part: kinds of traffic, by their Volumes.
KINDS = ("TP", "FSDP", "DP", "CP", "EP", "PP", "DCN")


class Pass(NamedTuple):
    """What one microbatch asks of one chip, forward or backward.

    matmul   FLOPs with the weights of layers, in the precision of the job
    head     FLOPs of the head, in bf16
    scores   FLOPs of attention
    operands bytes that matmuls read and write
    between  bytes that all other kernels read and write, each on its own
    layers   layers that are run
    traffic  for each of KINDS its seconds at the bandwidth of its links
    hops     for each of KINDS the seconds of its hops
    """

    matmul: float
    head: float
    scores: float
    operands: float
    between: float
    layers: float
    traffic: dict
    hops: dict


class Ledger(NamedTuple):
    """What a step asks of the chip that has most to do.

    family    "a100", "h100" or "tpu": whose speeds
    torus     True: the network is a torus
    bf16      FLOP/s of a chip; `layers` those with the weights of layers
    hbm       bytes/s of its memory
    nodes     hosts that have to wait for each other
    forward, backward  Pass of one microbatch
    last      seconds of traffic of each of KINDS once a step
    states    bytes that the optimizer reads and writes
    layout    Arrangement
    """

    family: str
    torus: bool
    bf16: float
    layers: float
    hbm: float
    nodes: int
    forward: Pass
    backward: Pass
    last: dict
    states: float
    layout: object


class Expected(NamedTuple):
    """Seconds of a step, and of its parts.

    step   in all
    parts  by what takes them: matmuls, attention, between (kernels between
           matmuls, logits and launches), a kind of traffic that is not hidden,
           bubble, optimizer
    """

    step: float
    parts: dict


@cache
def parameters():
    """The fitted parameters.

    returns  dict: name -> value
    source   chapter 16; `python -m shardlab.measured`
    """
    return {name: told["value"] for name, told in stored()["speeds"].items()}


@cache
def stored():
    """What the fit stored: speeds with units and meanings, and its errors.

    returns  dict: date, speeds (value, unit, means), band (measured over
             expected seconds, that nine of ten left-out rows lie between)
    source   chapter 16; `python -m shardlab.measured --fit`
    """
    return json.loads(STORED.read_text("utf-8"))


def expected_step(job, layout):
    """Seconds that a step is expected to take under a layout.

    job      Job; `overlap`, `efficiency`, `causal` and `streams`, which choose
             a bound, are not looked at
    layout   Arrangement; without `lies` the best place on the network is found
    returns  Expected
    raises   ValueError if job is no Job, or layout no Arrangement
    source   chapter 16
    """
    return expected_of(a_job(job), a_layout(layout))


def expected_of(job, layout):
    """The same as `expected_step`, of arguments that were checked.

    job      Job
    layout   Arrangement
    returns  Expected
    source   chapter 16
    """
    p = parameters()
    each = [seconds_of(of, p) for of in ledgers(job, layout)]
    return min(each, key=lambda found: found.step)


def ledgers(job, layout):
    """What a step asks, at each place that a layout leaves open.

    job      Job
    layout   Arrangement
    returns  list of Ledger
    source   chapter 16
    """
    if layout.lies:
        return [_ledger(job, layout)]
    spots = places(job.network, layout.degrees)
    return [_ledger(job, layout._replace(lies=lie)) for lie in spots]


# ---- what is counted ---------------------------------------------------------


def _ledger(job, layout):
    """What a step asks of the chip that has most to do.

    job      Job
    layout   Arrangement, with `lies`
    returns  Ledger
    source   chapter 16
    """
    w = stage_weights(job.model, layout.pp)
    held = w.dense / layout.tp + w.experts / (layout.tp * layout.ep)
    shares = layout.shares * job.copies if layout.zero else 1
    traffic = _traffic(job, layout)
    forward, backward = _passes(job, layout, BF16 * held, traffic)
    return Ledger(
        family=_family(job.chip),
        torus=job.network.kind != "switch",
        bf16=job.chip.flops,
        layers=job.chip.flops * job.faster,
        hbm=job.chip.hbm_bw,
        nodes=max(job.chips * job.pods // job.chip.node_size, 1),
        forward=forward,
        backward=backward,
        last=traffic["last"],
        states=2 * bytes_per_param(job.recipe) * held / shares,
        layout=layout,
    )


def _family(chip):
    """Whose speeds a chip has: those of the nearest one that was measured."""
    if chip.axes:
        return "tpu"
    return "a100" if chip.flops < 5e14 else "h100"


@lru_cache(maxsize=4096)
def _layer(model, attended):
    """FLOPs of one token: a layer's weights, its scores, the head."""
    flops = forward_flops(model, attended)
    scores = flops["scores"] / model.L
    if not model.dropout:  # a fused kernel skips what the causal mask hides
        scores /= 2
    return flops["matmuls"] / model.L, scores, flops["head"]


def _widths(m, t):
    """Elements of a token that a layer's matmuls read and write, on a rank."""
    h, kv = m.heads * m.head_size / t, m.kv_heads * m.head_size / t
    hidden = m.F if not m.experts else (m.active + m.shared) * m.F_expert
    matrices = 3 if m.gated else 2
    return 2 * m.D + 2 * h + 2 * kv + matrices * (m.D + hidden / t)


def _eager_bytes(m, t):
    """Bytes of a token and layer that unfused norms and rotations move.

    RMSNorm and rotary embeddings in float32, kernel by kernel: to float32 (6),
    square (8), mean (4), scale (8), back (6), weight (4). Models without a gate
    are older, and have one kernel for a norm and no rotation.
    """
    h, kv = m.heads * m.head_size / t, m.kv_heads * m.head_size / t
    return 36 * (2 * m.D + h + kv) if m.gated else 0


def _busiest(m, pp, layer, head):
    """Layers of the slowest stage, and whether it has the head."""
    layers = stage_layers(m, pp)
    with_head = layers - (1 if m.ends and pp > 1 else 0)
    if pp == 1 or with_head * layer + head > layers * layer:
        return with_head, 1
    return layers, 0


def _passes(job, layout, weights, traffic):
    """Counted work of one microbatch, forward and backward.

    job      Job
    layout   Arrangement
    weights  bytes of a stage's weights in bf16
    traffic  as in `_traffic`
    returns  (Pass, Pass)
    source   scaling-book part 4; FlashAttention-2 paper for the backward's 5
             matmuls of scores, where 2 are forward
    """
    m, t, fused = job.model, layout.tp, not job.model.dropout
    each = tokens(job, layout) / layout.microbatches
    matmul, scores, head = _layer(m, job.attended)
    layers, ends = _busiest(m, layout.pp, matmul + scores, head)
    sp = layout.sp or job.network.kind == "torus"
    kept = layer_kept(m, job.attended, t, sp, "selective" if fused else "none")
    matmul, scores, between, operands = (
        n * each * layers
        for n in (matmul / t, scores / t, kept, BF16 * _widths(m, t))
    )
    operands += weights
    if job.faster > 1:  # inputs are read in bf16 and written in a byte
        operands *= 1.25
    eager = 0 if job.fused else each * layers * _eager_bytes(m, t)
    head, logits = ends * each * head / t, ends * 12 * each * m.vocab / t
    made = {"full": 1, "minimal": 0, "alternate": skipped(m)}
    again = made.get(job.recompute, 0)
    scored = 0 if job.recompute in ("none", "alternate") else 1
    if fused and job.recompute == "selective":
        scored = 0  # the kernel's backward pass makes them itself
    first = Pass(
        *(matmul, head, scores, operands, 2 * between + logits + eager, layers),
        *traffic["forward"],
    )
    remade = again > 0 or job.recompute == "minimal"
    between *= 3 + 2 * remade
    between += (2 + remade) * eager
    second = Pass(
        *((2 + again) * matmul, 2 * head),
        (2.5 if fused else 2) * scores + scored * scores,
        (2 + again) * operands,
        between + 2 * logits,
        (2 + (again > 0)) * layers,
        *traffic["backward"],
    )
    return first, second


def _kind(volume, layout):
    """Which of KINDS a Volume is."""
    if volume.name in KINDS:
        return volume.name
    return "FSDP" if layout.zero == 3 else "DP"


_of_weights = lru_cache(maxsize=4096)(weight_volumes)
_of_tokens = lru_cache(maxsize=4096)(token_volumes)


def _traffic(job, layout):
    """Seconds of traffic: of a microbatch in each pass, and once a step.

    job      Job
    layout   Arrangement, with `lies`
    returns  dict: forward and backward (seconds by kind, hops by kind), last
    source   module `timing`
    """
    where = paces(job.network, layout.lies)
    passes = ({}, {}), ({}, {})
    last = {}
    plain = layout._replace(schedule="none", chunks=1, microbatches=1, lies=())
    of_weights = plain._replace(sp=False, context="ring")
    for v in _of_weights(job, of_weights) + _of_tokens(
        job, plain._replace(zero=0)
    ):
        kind = _kind(v, layout)
        each, late = speeds(job, where, v.axis, v.kind)
        each, late = sum(each), max(late)
        sends = layout.chunks if kind == "PP" else 1
        share = sends / (layout.microbatches if v.of_tokens else 1)
        for n, moved in enumerate((v.forward, v.backward)):
            seconds, hops = passes[n]
            seconds[kind] = seconds.get(kind, 0) + moved * each * share
            hops[kind] = hops.get(kind, 0) + v.calls[n] * late * sends
        once = (v.last + v.update) * each
        last[kind] = last.get(kind, 0) + once
    return {"forward": passes[0], "backward": passes[1], "last": last}


# ---- and how long it takes ---------------------------------------------------


def seconds_of(of, p):
    """Seconds of a step, from what it asks and from the speeds.

    of       Ledger
    p        dict of parameters, as from `parameters`
    returns  Expected
    source   chapter 16
    """
    x, parts = of.layout, {}
    times = [_pass_seconds(of, work, p) for work in (of.forward, of.backward)]
    for time in times:
        for name, seconds in time.items():
            parts[name] = parts.get(name, 0) + x.microbatches * seconds
    f, b = (sum(time.values()) for time in times)
    if x.pp > 1:
        parts["bubble"] = x.microbatches * (f + b) * idle_share(x, f, b)
    room = max(b, 0)
    for kind, seconds in of.last.items():
        share = p[_share(kind, of)]
        shown = share * seconds + max((1 - share) * seconds - room, 0)
        parts[kind] = parts.get(kind, 0) + shown
    parts["optimizer"] = of.states / of.hbm
    total = sum(parts.values())
    parts["stragglers"] = total * p["stragglers"] * (of.nodes - 1).bit_length()
    return Expected(total + parts["stragglers"], parts)


def _share(kind, of):
    """Name of the parameter that says which part of a kind is not hidden."""
    if kind == "TP":
        return "shown_tp_torus" if of.torus else "shown_tp_switch"
    names = {"FSDP": "shown_fsdp", "DP": "shown_dp", "DCN": "shown_dp"}
    return names.get(kind, "shown_tokens")


def _pass_seconds(of, work, p):
    """Seconds of one microbatch in one pass, by what takes them."""
    family = of.family
    reached = p[f"matmul_{family}"]
    between = p["between_torus" if of.torus else "between_switch"]
    parts = {
        "matmuls": work.matmul / (of.layers * reached)
        + work.head / (of.bf16 * reached)
        + work.operands / of.hbm,
        "attention": work.scores
        / (of.bf16 * (p["attention"] * p[f"matmul_{family}"])),
        "between": between * work.between / of.hbm + work.layers * p["launch"],
    }
    room = sum(parts.values())
    for kind, seconds in work.traffic.items():
        share = p[_share(kind, of)]
        hidden = (1 - share) * seconds
        shown = share * seconds + max(hidden - room, 0)
        room = max(room - hidden, 0)
        parts[kind] = shown + share * p["hops"] * work.hops[kind]
    return parts
