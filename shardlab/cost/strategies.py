"""Time of one layer, of a step and of a training run under each strategy.

Every strategy is asked in the same way. `t_layer`, `t_context`, `t_expert`,
`t_pipeline` and `t_pods` return a Step of Times, forward, backward and update,
whose `step_seconds(step, overlap)` are the seconds of both bounds. All of them
take `itemsize` and `precision`; `gated`, if they have weights; and `wrap` and
`inside` of `t_comm`, if a network is under them.
"""

from shardlab.arguments import one_of
from shardlab.cost.matmuls import Times, seconds, some_times
from shardlab.cost.network import (
    exchanged_in,
    moved_in,
    t_moves,
    way,
    within_reach,
)
from shardlab.cost.sizes import amount, how_many, sizes
from shardlab.cost.volumes import (
    NOTHING,
    Step,
    context_volume,
    dp_volume,
    expert_volume,
    layer_flops,
    layer_volume,
    pipeline_volume,
)
from shardlab.hw import flops_at, ring_directions

_EITHER = (True, False)
_ON = ("overlap", "exact", "wrap", "inside")


# ---- one layer ---------------------------------------------------------------


def t_math(flops, chips, chip, precision="bf16"):
    """Seconds of arithmetic of each part of a step, spread over all chips.

    flops      Step, in FLOPs of all chips together
    chips      chips that share them, a real number
    chip       Chip
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    returns    Step, in seconds
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5
    """
    C = flops_at(chip, precision)
    return Step(*(part / (chips * C) for part in flops))


def in_times(t_math, t_comm):
    """A Step of Times from the seconds of its three parts.

    t_math, t_comm  seconds of arithmetic and of communication, part by part
    returns  Step of Times: forward, backward, update
    source   scaling-book part 5
    """
    return Step(*map(Times, t_math, t_comm))


def t_layer(strategy, B, D, F, chip, X=1, Y=1, M_X=1, M_Y=1, **how):
    """Seconds of arithmetic and communication of one layer, part by part.

    strategy  "none", "dp", "zero1", "zero2", "fsdp", "tp" or "fsdp_tp"
    B, D, F   tokens of the step, model and hidden size, in elements
    chip      Chip
    X, Y      chips of the data axis and of the TP axis
    M_X, M_Y  axes of the network under each, as n_axes in `t_comm`
    how       gated, itemsize, regather, kept, as in `layer_volume`; precision;
              overlap, exact, wrap, inside, as in `t_moves`
    returns   Step of Times: forward, backward, update
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5
    """
    on = {name: how.pop(name) for name in _ON if name in how}
    precision = how.pop("precision", "bf16")
    moved = layer_volume(strategy, B, D, F, X, Y, **how)
    t_comm = t_moves(moved, chip, X, Y, M_X, M_Y, **on)
    flops = layer_flops(B, D, F, how.get("gated", False))
    return in_times(t_math(flops, X * Y, chip, precision), t_comm)


def step_seconds(step, overlap=True):
    """Seconds of a layer in all: of forward, backward and update.

    step     Step of Times
    overlap  True: in each part communication runs beside arithmetic, and the
             longer of the two counts; False: one after the other
    returns  seconds
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5
    """
    if not isinstance(step, Step):
        raise ValueError(f"step must be a Step of Times, got {step!r}")
    return sum(seconds(some_times("step", part), overlap) for part in step)


def t_pods(B, D, F, N, pods, chip, gated=False, exact=False, **how):
    """One layer when whole pods are data-parallel, and what crosses pods.

    B, D, F  tokens of the step in all pods, model and hidden size, in elements
    N, pods  chips of one pod, over which a layer's gradients are cut; pods
    chip     Chip
    gated    True: three weight matrices; False: two
    exact    True: the factor (pods - 1) / pods of a ring; False: its limit, 1
    how      itemsize and precision, as in `t_layer`
    returns  Step of Times; in backward every chip AllReduces its share
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, scaling across pods
    """
    N, pods = how_many("N", N), how_many("pods", pods)
    within_reach(chip, N=N)
    C = how.pop("precision", "bf16")
    moved = dp_volume(D, F, gated, **how) if pods > 1 else NOTHING
    part = 1 - 1 / pods if one_of("exact", exact, _EITHER) else 1
    t_comm = [part * V / (N * chip.dcn_bw) for V in moved]
    flops = layer_flops(B, D, F, gated)
    return in_times(t_math(flops, pods * N, chip, C), t_comm)


def t_cross_pod(B, D, F, N, pods, chip, gated=False, exact=False, **how):
    """Backward pass of one layer when whole pods are data-parallel.

    B, D, F, N, pods, chip, gated, exact, how  as in `t_pods`
    returns  Times; the only part in which anything crosses pods
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, scaling across pods
    """
    return t_pods(B, D, F, N, pods, chip, gated, exact, **how).backward


def t_layer_in_pods(strategy, B, D, F, pods, chip, X=1, Y=1, **how):
    """One layer under a strategy inside each pod, when pods are data-parallel.

    strategy, D, F, chip, X, Y  as in `t_layer`
    B        tokens of the step in all pods; each has B / pods
    pods     pods of X Y chips; between them gradients are AllReduced
    how      M_X, M_Y and all others of `t_layer`; overlap is also of traffic
             between pods beside that inside, on a network of its own
    returns  Step of Times: forward, backward, update
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, scaling across pods
    """
    names = ("gated", "exact", "itemsize", "precision")
    across = {name: how[name] for name in names if name in how}
    N = how_many("X", X) * how_many("Y", Y)
    within_reach(chip, X=X, Y=Y)
    outer = t_pods(B, D, F, N, pods, chip, **across)
    inner = t_layer(strategy, B / pods, D, F, chip, X, Y, **how)
    both = max if how.get("overlap", True) else sum
    pairs = zip(inner, outer, strict=True)
    t_comm = [both([part.comm for part in pair]) for pair in pairs]
    return in_times([part.math for part in inner], t_comm)


def t_pipeline(B, D, F, p, chip, layers=1, v=1, gated=False, **how):
    """One stage of a pipeline at work on a step, without its bubble.

    B          tokens of all microbatches of the pipeline
    D, F       model and hidden size, in elements
    p          stages, of one chip each
    chip       Chip
    layers, v  layers of one stage, in v chunks that each send activations on
    gated      True: three weight matrices; False: two
    how        itemsize and precision; inside, stages in one node or pod
    returns    Step of Times; a stage sends over one link, in one direction
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5, pipelining
    """
    [layers], v, p = sizes(layers=layers), how_many("v", v), how_many("p", p)
    C, near = how.pop("precision", "bf16"), how.pop("inside", None)
    bw = slowest_link(chip, p, near)
    times = v / bw if p > 1 else 0
    t_comm = [times * part for part in pipeline_volume(B, D, **how)]
    flops = [layers * part for part in layer_flops(B, D, F, gated)]
    return in_times(t_math(flops, 1, chip, C), t_comm)


def slowest_link(chip, p, inside=None):
    """Bytes/s from stage to stage, where it is slowest.

    chip     Chip
    p        stages, of one chip each
    inside   stages in one node or pod; None: all of them
    returns  bytes/s in one direction: link_bw, or dcn_bw beyond a node or pod
    raises   ValueError that names the argument and what was expected
    source   scaling-book parts 2 and 12
    """
    lies = way(chip, 1, p, False, inside, ("n_axes", "p"))
    return lies.port if lies.leaves else lies.W


def t_pipeline_send(B, D, m, link_bw, hop_latency=0.0, itemsize=2):
    """Seconds until the next stage has one microbatch of activations.

    B, D         tokens of all microbatches of a pipeline, model size
    m            microbatches; each has B / m tokens
    link_bw      bytes/s from stage to stage, in one direction
    hop_latency  seconds that a message takes besides
    itemsize     bytes per element; 2 is bf16
    returns      seconds; a gradient takes as long on its way back
    raises       ValueError that names the argument and what was expected
    source       scaling-book part 5, pipelining
    """
    message = pipeline_volume(B, D, itemsize).forward / how_many("m", m)
    [link_bw] = sizes(link_bw=link_bw)
    return message / link_bw + amount("hop_latency", hop_latency)


def attention_flops(B, h):
    """FLOPs of attention over one sequence, without causal mask.

    B        tokens of the sequence
    h        elements of all query heads of a token
    returns  Step, in FLOPs: two products forward, four backward and one that
             is made again because its result was not kept
    raises   ValueError that names the argument and what was expected
    source   FlashAttention-2 paper
    """
    B, h = sizes(B=B, h=h)
    product = 2 * B**2 * h
    return Step(2 * product, 5 * product)


def t_context(B, h, X, chip, kv=None, scheme="ring", **how):
    """Attention of one layer whose sequence is cut over an axis.

    B         tokens of one sequence, without causal mask
    h, kv     elements of all query heads of a token, and of all its key heads;
              None: as many
    X         chips of the axis
    chip      Chip
    scheme    "ring", "gather" or "ulysses", as in `context_volume`
    how       itemsize, precision; wrap, inside, as in `t_comm`; n_axes, unless
              a ring; directions 1 or 2 of a ring: blocks go one way, or half
              each way; exact of "gather": its factor (X - 1) / X
    returns   Step of Times; a ring takes X - 1 hops each way through the layer
    raises    ValueError that names the argument and what was expected
    source    Ring Attention paper; DeepSpeed-Ulysses paper
    """
    X, C = how_many("X", X), how.pop("precision", "bf16")
    itemsize = how.pop("itemsize", 2)
    moved = context_volume(B, h, kv, scheme, itemsize)
    t_comm = [_T_CONTEXT[scheme](V, X, chip, **how) for V in moved]
    return in_times(t_math(attention_flops(B, h), X, chip, C), t_comm)


def _t_ring(V, X, chip, directions=1, wrap=True, inside=None):
    """Seconds in which V / X bytes take X - 1 hops, one after the other."""
    lies = way(chip, 1, X, wrap, inside)
    one_of("directions", directions, (1, 2))
    if directions > ring_directions(chip):
        raise ValueError(
            f"directions must be 1 on the switch of a {chip.name}, got 2"
        )
    if not wrap and directions == 1 and X > 1:
        raise ValueError(
            "directions must be 2 on a line (wrap=False), whose chips cannot "
            "all be reached one way; got 1"
        )
    W = chip.link_bw * (directions if wrap else 1)
    return V * (X - 1) / X / (min(W, lies.port) if lies.leaves else W)


def _t_gather(V, X, chip, n_axes=1, exact=False, **on):
    one_of("exact", exact, _EITHER)
    lies = way(chip, n_axes, X, **on)
    return moved_in(V, lies, exact) if X > 1 else 0.0


def _t_ulysses(V, X, chip, **on):
    return exchanged_in(4 * V, X, chip, **on)  # a volume is a quarter


_T_CONTEXT = {"ring": _t_ring, "gather": _t_gather, "ulysses": _t_ulysses}


def t_expert(B, D, F, X, chip, k=1, n_axes=1, gated=False, **how):
    """Feed-forward of one layer whose experts are spread over an axis.

    B, D, F   tokens of the group, model size, hidden size of one expert
    X         chips of the expert axis; all experts equally busy
    chip      Chip
    k         experts that each token visits
    n_axes    axes of the network under the expert axis, equally long
    gated     True: three weight matrices an expert; False: two
    how       capacity and E, as in `expert_volume`; itemsize, precision; wrap
              and inside, as in `t_exchange`
    returns   Step of Times; two AllToAlls forward, and two backward; experts
              work on all slots, also on those that nobody takes
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 3, AllToAll
    """
    C, names = how.pop("precision", "bf16"), ("itemsize", "capacity", "E")
    moved = {name: how.pop(name) for name in names if name in how}
    forward, backward, _ = expert_volume(B, D, k, **moved)
    # Of two AllToAlls the volume is half of what both exchange.
    exchanged = exchanged_in(2 * forward, X, chip, n_axes, **how)
    t_router = _t_gather(backward - forward, X, chip, n_axes, **how)
    flops = layer_flops(k * B * moved.get("capacity", 1), D, F, gated)
    t_comm = [2 * exchanged, 2 * exchanged + t_router, 0]
    return in_times(t_math(flops, X, chip, C), t_comm)


# ---- bubbles of a pipeline ---------------------------------------------------


def naive_bubble(p):
    """Idle over useful time when one microbatch at a time is under way.

    p        stages
    returns  p - 1: each stage works 1 / p of its time
    raises   ValueError unless p is a whole number of at least 1
    source   CS336 (2025), lecture 7
    """
    return how_many("p", p) - 1


def bubble(p, m, v=1):
    """Idle over useful time of GPipe and of 1F1B, interleaved if v > 1.

    p, m     stages and microbatches
    v        chunks of layers that each stage has
    returns  (p - 1) / (v m)
    raises   ValueError that names the argument and what was expected; with
             v > 1, if p does not divide m
    source   scaling-book part 5, pipelining; Megatron-LM 2021 paper
    """
    p, m, v = how_many("p", p), how_many("m", m), how_many("v", v)
    if v > 1 and m % p:
        raise ValueError(
            f"m must be a multiple of p = {p} if v is above 1, got {m}"
        )
    return (p - 1) / (v * m)


def zero_bubble(p, m, forward=1, backward=2, weight=1):
    """Idle over useful time of ZB-H1, which defers weight gradients.

    p, m      stages and microbatches, at least as many
    forward   time of one microbatch's forward pass in one stage
    backward  time of its whole backward pass
    weight    part of backward that makes weight gradients, and can wait; no
              longer than forward, nor than the rest of backward
    returns   (p - 1) (forward + backward - 2 weight) over useful time
    raises    ValueError that names the argument and what was expected
    source    Zero Bubble paper, section 2.1
    """
    p, m = _stages(p, m, least=1)
    forward, backward = sizes(forward=forward, backward=backward)
    if amount("weight", weight) > min(forward, backward / 2):
        raise ValueError(
            f"weight must be at most forward = {forward!r} and at most half "
            f"of backward = {backward!r}, got {weight!r}"
        )
    idle = (p - 1) * (forward + backward - 2 * weight)
    return idle / (m * (forward + backward))


def dualpipe_bubble(p, m, forward=1, backward=2, weight=None, both=None):
    """Idle over useful time of DualPipe, which feeds a pipeline from both ends.

    p, m      stages, an even number, and microbatches, at least two a stage
    forward   time of one microbatch's forward pass in one stage
    backward  time of its whole backward pass
    weight    part of backward that can wait; None: half of it
    both      time of a forward and a backward that run as one, no less than
              each; None: their sum
    returns   idle time of the stages that idle longest, over useful time; the
              report's (p/2 - 1) (both + backward - 3 weight) as long as
              backward - weight is forward, and at least weight
    raises    ValueError that names the argument and what was expected
    source    DeepSeek-V3 report, table 2; chapter 11
    """
    p, m = _stages(p, m, least=2)
    forward, early, weight, both = _halves(p, forward, backward, weight, both)
    pairs, saved = p // 2 - 1, forward + early + weight - both
    fill = max(2 * pairs * forward, pairs * (forward + early) - forward)
    idle = fill + pairs * (max(early - weight, 0) - saved)
    return idle / (m * (forward + early + weight))


def _halves(p, forward, backward, weight, both):
    """Times of forward, of both halves of backward, and of two as one."""
    if p % 2:
        raise ValueError(f"p must be an even number of stages, got {p}")
    forward, backward = sizes(forward=forward, backward=backward)
    weight = backward / 2 if weight is None else sizes(weight=weight)[0]
    if weight >= backward:
        raise ValueError(
            f"weight must be below backward = {backward!r}, got {weight!r}"
        )
    both = forward + backward if both is None else sizes(both=both)[0]
    if not max(forward, backward) <= both <= forward + backward:
        raise ValueError(
            f"both must be from {max(forward, backward)!r}, the longer of "
            f"forward and backward, to their sum; got {both!r}"
        )
    return forward, backward - weight, weight, both


def idle_share(bubble):
    """Part of its time that a stage idles, from idle over useful time.

    bubble   idle over useful time
    returns  idle / (idle + useful); (p - 1) / (m + p - 1) for 1F1B
    raises   ValueError unless bubble is a finite number of at least 0
    source   scaling-book part 5, pipelining
    """
    bubble = amount("bubble", bubble)
    return bubble / (1 + bubble)


def _stages(p, m, least):
    """p and m, if there are enough microbatches to fill the stages."""
    p, m = how_many("p", p), how_many("m", m)
    if m < least * p:
        raise ValueError(
            f"m must be at least {least} p = {least * p} microbatches, got {m}"
        )
    return p, m


# ---- a step, and a run -------------------------------------------------------


def training_flops(params, tokens):
    """FLOPs to train a dense model: six for each parameter and token.

    params   parameters
    tokens   tokens of the whole run, or of one step
    returns  FLOPs
    raises   ValueError unless both are finite numbers above 0
    source   scaling-book part 4
    """
    params, tokens = sizes(params=params, tokens=tokens)
    return 6 * params * tokens


def t_train(flops, N, chip, mfu=1.0, precision="bf16"):
    """Seconds that chips need for so many FLOPs.

    flops      FLOPs of a step or of a whole run
    N          chips
    chip       Chip
    mfu        part of the peak that is reached, above 0 and at most 1
    precision  "bf16", "int8", "fp8" or "fp4"
    returns    seconds; divide by 86,400 for days
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5
    """
    flops, mfu = sizes(flops=flops, mfu=mfu)
    if mfu > 1:
        raise ValueError(f"mfu must be at most 1, got {mfu!r}")
    return flops / (how_many("N", N) * flops_at(chip, precision) * mfu)


def mfu(flops, seconds, N, chip, precision="bf16"):
    """Model FLOPs utilisation: the part of the peak that was reached.

    flops      FLOPs that the model needs; recomputation is not counted
    seconds    time that it took
    N          chips
    chip       Chip
    precision  "bf16", "int8", "fp8" or "fp4"
    returns    a number, 1 at the peak
    raises     ValueError that names the argument and what was expected
    source     PaLM paper
    """
    flops, seconds = sizes(flops=flops, seconds=seconds)
    return flops / (seconds * how_many("N", N) * flops_at(chip, precision))
