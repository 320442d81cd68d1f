"""Time of one layer, of a step and of a training run under each strategy.

Every strategy is asked in the same way. `t_layer`, `t_context`, `t_expert`,
`t_pipeline` and `t_pods` return a Step of Times, forward, backward and update,
whose `step_seconds(step, overlap)` are the seconds of both bounds. All of them
take `itemsize` and `precision`; `gated`, if they have weights; and `wrap` and
`inside` of `t_comm`, if a network is under them.
"""

from shardlab.arguments import (
    amount,
    flag,
    how_many,
    plain,
    size,
    takes,
)
from shardlab.cost.matmuls import Times, seconds, some_times
from shardlab.cost.network import (
    exchanged_in,
    has_directions,
    moved_in,
    t_moves,
    way,
    within_reach,
)
from shardlab.cost.volumes import (
    CONTEXTS,
    NOTHING,
    STRATEGIES,
    USES,
    Step,
    context_volume,
    dp_volume,
    expert_volume,
    layer_flops,
    layer_volume,
    pipeline_volume,
)
from shardlab.hw import Chip, flops_at

__all__ = [
    "attention_flops",
    "bubble",
    "dualpipe_bubble",
    "idle_share",
    "mfu",
    "naive_bubble",
    "step_seconds",
    "t_context",
    "t_cross_pod",
    "t_expert",
    "t_layer",
    "t_layer_in_pods",
    "t_pipeline",
    "t_pipeline_send",
    "t_pods",
    "t_train",
    "training_flops",
    "zero_bubble",
]


# ---- one layer ---------------------------------------------------------------


def _t_math(flops, chips, chip, precision="bf16"):
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


def _in_times(t_math, t_comm):
    """A Step of Times from the seconds of its three parts.

    t_math, t_comm  seconds of arithmetic and of communication, part by part
    returns  Step of Times: forward, backward, update
    source   scaling-book part 5
    """
    return Step(*map(Times, t_math, t_comm))


def _refuse_idle_axes(strategy, M_X, M_Y):
    """ValueError for axes of the network under a mesh axis that is not used."""
    used = USES.get(strategy, "X")
    for name, M in (("X", M_X), ("Y", M_Y)):
        if M != 1 and name not in used:
            raise ValueError(
                f"M_{name} must be 1 for the strategy {strategy!r}, which does "
                f"not use that axis; got {M!r}"
            )


@takes(_refuse_idle_axes, strategy=STRATEGIES, M_X=size, M_Y=size)
def t_layer(
    strategy,
    B,
    D,
    F,
    chip,
    X=1,
    Y=1,
    M_X=1,
    M_Y=1,
    *,
    gated=False,
    itemsize=2,
    regather=False,
    kept=False,
    grad_bytes=None,
    precision="bf16",
    overlap=True,
    exact=False,
    wrap=True,
    inside=None,
):
    """Seconds of arithmetic and communication of one layer, part by part.

    strategy  "none", "dp", "zero1", "zero2", "fsdp", "tp" or "fsdp_tp"
    B, D, F   tokens of the step, model and hidden size, in elements
    chip      Chip
    X, Y      chips of the data axis and of the TP axis
    M_X, M_Y  axes of the network under each, as n_axes in `t_comm`
    gated, itemsize, regather, kept, grad_bytes  as in `layer_volume`
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    overlap   True: traffic over X runs beside traffic over Y; False: one after
              the other
    exact     True: the factor (X - 1) / X of rings; False: its limit, 1
    wrap      True: rings; False: lines; or a pair for X and Y
    inside    chips of X and of Y in one node or pod, a pair; None: all of them
    returns   Step of Times: forward, backward, update
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5
    """
    moved = layer_volume(
        *(strategy, B, D, F, X, Y, gated),
        itemsize=itemsize,
        regather=regather,
        kept=kept,
        grad_bytes=grad_bytes,
    )
    t_comm = t_moves(
        *(moved, chip, X, Y, M_X, M_Y),
        overlap=overlap,
        exact=exact,
        wrap=wrap,
        inside=inside,
    )
    flops = layer_flops(B, D, F, gated)
    return _in_times(_t_math(flops, X * Y, chip, precision), t_comm)


def _a_step(name, value):
    if not isinstance(value, Step):
        raise ValueError(f"{name} must be a Step of Times, got {value!r}")
    return Step(*(some_times(name, part) for part in value))


@takes(step=_a_step)
def step_seconds(step, overlap=True):
    """Seconds of a layer in all: of forward, backward and update.

    step     Step of Times
    overlap  True: in each part communication runs beside arithmetic, and the
             longer of the two counts; False: one after the other
    returns  seconds
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5
    """
    return sum(seconds(part, overlap) for part in step)


@takes(N=how_many, pods=how_many, chip=Chip, exact=flag)
def t_pods(
    B,
    D,
    F,
    N,
    pods,
    chip,
    gated=False,
    exact=False,
    *,
    itemsize=2,
    grad_bytes=None,
    precision="bf16",
):
    """One layer when whole pods are data-parallel, and what crosses pods.

    B, D, F  tokens of the step in all pods, model and hidden size, in elements
    N, pods  chips of one pod, over which a layer's gradients are cut; pods
    chip     Chip
    gated    True: three weight matrices; False: two
    exact    True: the factor (pods - 1) / pods of a ring; False: its limit, 1
    itemsize, grad_bytes, precision  as in `t_layer`
    returns  Step of Times; in backward every chip AllReduces its share
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, scaling across pods
    """
    within_reach(chip, N=N)
    moved = dp_volume(D, F, gated, itemsize, grad_bytes=grad_bytes)
    moved = moved if pods > 1 else NOTHING
    part = 1 - 1 / pods if exact else 1
    t_comm = [part * V / (N * chip.dcn_bw) for V in moved]
    flops = layer_flops(B, D, F, gated)
    return _in_times(_t_math(flops, pods * N, chip, precision), t_comm)


def t_cross_pod(
    B,
    D,
    F,
    N,
    pods,
    chip,
    gated=False,
    exact=False,
    *,
    itemsize=2,
    grad_bytes=None,
    precision="bf16",
):
    """Backward pass of one layer when whole pods are data-parallel.

    B, D, F, N, pods, chip, gated, exact, itemsize, grad_bytes, precision
             as in `t_pods`
    returns  Times; the only part in which anything crosses pods
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, scaling across pods
    """
    return t_pods(
        *(B, D, F, N, pods, chip, gated, exact),
        itemsize=itemsize,
        grad_bytes=grad_bytes,
        precision=precision,
    ).backward


@takes(X=how_many, Y=how_many, pods=how_many, chip=Chip, overlap=flag)
def t_layer_in_pods(
    strategy,
    B,
    D,
    F,
    pods,
    chip,
    X=1,
    Y=1,
    M_X=1,
    M_Y=1,
    *,
    gated=False,
    itemsize=2,
    regather=False,
    kept=False,
    grad_bytes=None,
    precision="bf16",
    overlap=True,
    exact=False,
    wrap=True,
):
    """One layer under a strategy inside each pod, when pods are data-parallel.

    strategy, D, F, chip, X, Y, M_X, M_Y  as in `t_layer`
    B        tokens of the step in all pods; each has B / pods
    pods     pods of X Y chips; between them gradients are AllReduced
    gated, itemsize, regather, kept, grad_bytes, precision, exact, wrap
             as in `t_layer`
    overlap  True: traffic over X, over Y and between pods, which has a network
             of its own, run side by side; False: one after the other
    returns  Step of Times: forward, backward, update
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, scaling across pods
    """
    within_reach(chip, X=X, Y=Y)
    widths = {"itemsize": itemsize, "precision": precision}
    outer = t_pods(
        *(B, D, F, X * Y, pods, chip, gated, exact),
        grad_bytes=grad_bytes,
        **widths,
    )
    inner = t_layer(
        *(strategy, plain(B) / pods, D, F, chip, X, Y, M_X, M_Y),
        gated=gated,
        regather=regather,
        kept=kept,
        grad_bytes=grad_bytes if strategy not in ("none", "tp") else None,
        overlap=overlap,
        exact=exact,
        wrap=wrap,
        **widths,
    )
    both = max if overlap else sum
    pairs = zip(inner, outer, strict=True)
    t_comm = [both([part.comm for part in pair]) for pair in pairs]
    return _in_times([part.math for part in inner], t_comm)


@takes(p=how_many, chip=Chip, layers=size, v=how_many)
def t_pipeline(
    B,
    D,
    F,
    p,
    chip,
    layers=1,
    v=1,
    gated=False,
    *,
    itemsize=2,
    precision="bf16",
    inside=None,
):
    """One stage of a pipeline at work on a step, without its bubble.

    B          tokens of all microbatches of the pipeline
    D, F       model and hidden size, in elements
    p          stages, of one chip each
    chip       Chip
    layers, v  layers of one stage, in v chunks that each send activations on
    gated      True: three weight matrices; False: two
    itemsize, precision  as in `t_layer`
    inside     stages in one node or pod; None: all of them
    returns    Step of Times; a stage sends over one link, in one direction
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5, pipelining
    """
    bw = _slowest_link(chip, p, inside)
    times = v / bw if p > 1 else 0
    t_comm = [times * part for part in pipeline_volume(B, D, itemsize)]
    flops = [layers * part for part in layer_flops(B, D, F, gated)]
    return _in_times(_t_math(flops, 1, chip, precision), t_comm)


@takes(p=how_many, chip=Chip)
def _slowest_link(chip, p, inside=None):
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


@takes(m=how_many, link_bw=size, hop_latency=amount)
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
    message = pipeline_volume(B, D, itemsize).forward / m
    return message / link_bw + hop_latency


@takes(B=size, h=size)
def attention_flops(B, h):
    """FLOPs of attention over one sequence, without causal mask.

    B        tokens of the sequence
    h        elements of all query heads of a token
    returns  Step, in FLOPs: two products forward, four backward and one that
             is made again because its result was not kept
    raises   ValueError that names the argument and what was expected
    source   FlashAttention-2 paper
    """
    product = 2 * B**2 * h
    return Step(2 * product, 5 * product)


def _refuse_idle_ways(scheme, n_axes, directions, exact):
    """ValueError for an option that the scheme does not have."""
    for name, value, unset, having in (
        ("n_axes", n_axes, 1, ("gather", "ulysses")),
        ("directions", directions, 1, ("ring",)),
        ("exact", exact, False, ("gather",)),
    ):
        if value != unset and scheme not in having:
            raise ValueError(
                f"{name} must be {unset} for the scheme {scheme!r}; "
                f"got {value!r}"
            )


@takes(
    _refuse_idle_ways,
    X=how_many,
    chip=Chip,
    scheme=CONTEXTS,
    n_axes=size,
    directions=(1, 2),
    exact=flag,
)
def t_context(
    B,
    h,
    X,
    chip,
    kv=None,
    scheme="ring",
    *,
    itemsize=2,
    precision="bf16",
    n_axes=1,
    wrap=True,
    inside=None,
    directions=1,
    exact=False,
):
    """Attention of one layer whose sequence is cut over an axis.

    B         tokens of one sequence, without causal mask
    h, kv     elements of all query heads of a token, and of all its key heads;
              None: as many
    X         chips of the axis
    chip      Chip
    scheme    "ring", "gather" or "ulysses", as in `context_volume`
    itemsize, precision  as in `t_layer`
    n_axes    axes of the network under the axis; a ring has one
    wrap, inside  as in `t_comm`
    directions  of a ring: 1, blocks go one way round; 2, half each way
    exact     of "gather": True, its factor (X - 1) / X; False, the limit 1
    returns   Step of Times; a ring takes X - 1 hops each way through the layer
    raises    ValueError that names the argument and what was expected
    source    Ring Attention paper; DeepSpeed-Ulysses paper
    """
    moved = context_volume(B, h, kv, scheme, itemsize)
    lies = {"wrap": wrap, "inside": inside}
    seconds_of = {
        "ring": lambda V: _t_ring(V, X, chip, directions, **lies),
        "gather": lambda V: _t_gather(V, X, chip, n_axes, exact, **lies),
        # A volume is a quarter of what an AllToAll exchanges.
        "ulysses": lambda V: exchanged_in(4 * V, X, chip, n_axes, **lies),
    }[scheme]
    t_comm = [seconds_of(V) for V in moved]
    flops = attention_flops(B, h)
    return _in_times(_t_math(flops, X, chip, precision), t_comm)


def _t_ring(V, X, chip, directions, wrap, inside):
    """Seconds in which V / X bytes take X - 1 hops, one after the other."""
    lies = way(chip, 1, X, wrap, inside)
    has_directions(chip, directions)
    if not wrap and directions == 1 and X > 1:
        raise ValueError(
            "directions must be 2 on a line (wrap=False), whose chips cannot "
            "all be reached one way; got 1"
        )
    W = chip.link_bw * (directions if wrap else 1)
    return V * (X - 1) / X / (min(W, lies.port) if lies.leaves else W)


def _t_gather(V, X, chip, n_axes, exact, wrap, inside):
    lies = way(chip, n_axes, X, wrap, inside)
    return moved_in(V, lies, exact) if X > 1 else 0.0


@takes(X=how_many, chip=Chip)
def t_expert(
    B,
    D,
    F,
    X,
    chip,
    k=1,
    n_axes=1,
    gated=False,
    *,
    capacity=1,
    E=None,
    itemsize=2,
    precision="bf16",
    wrap=True,
    inside=None,
):
    """Feed-forward of one layer whose experts are spread over an axis.

    B, D, F   tokens of the group, model size, hidden size of one expert
    X         chips of the expert axis; all experts equally busy
    chip      Chip
    k         experts that each token visits
    n_axes    axes of the network under the expert axis, equally long
    gated     True: three weight matrices an expert; False: two
    capacity, E  as in `expert_volume`
    itemsize, precision  as in `t_layer`
    wrap, inside  as in `t_exchange`
    returns   Step of Times; two AllToAlls forward, and two backward; experts
              work on all slots, also on those that nobody takes
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 3, AllToAll
    """
    moved = expert_volume(B, D, k, itemsize, capacity, E)
    lies = (n_axes, wrap, inside)
    # Of two AllToAlls the volume is half of what both exchange.
    exchanged = exchanged_in(2 * moved.forward, X, chip, *lies)
    router = moved.backward - moved.forward
    t_router = _t_gather(router, X, chip, n_axes, False, wrap, inside)
    slots = plain(k) * plain(capacity) * plain(B)
    flops = layer_flops(slots, D, F, gated)
    t_comm = [2 * exchanged, 2 * exchanged + t_router, 0]
    return _in_times(_t_math(flops, X, chip, precision), t_comm)


# ---- bubbles of a pipeline ---------------------------------------------------


@takes(p=how_many)
def naive_bubble(p):
    """Idle over useful time when one microbatch at a time is under way.

    p        stages
    returns  p - 1: each stage works 1 / p of its time
    raises   ValueError unless p is a whole number of at least 1
    source   CS336 (2025), lecture 7
    """
    return p - 1


def _deal_in_rounds(p, m, v):
    if v > 1 and m % p:
        raise ValueError(
            f"m must be a multiple of p = {p} if v is above 1, got {m}"
        )


@takes(_deal_in_rounds, p=how_many, m=how_many, v=how_many)
def bubble(p, m, v=1):
    """Idle over useful time of GPipe and of 1F1B, interleaved if v > 1.

    p, m     stages and microbatches
    v        chunks of layers that each stage has
    returns  (p - 1) / (v m)
    raises   ValueError that names the argument and what was expected; with
             v > 1, if p does not divide m
    source   scaling-book part 5, pipelining; Megatron-LM 2021 paper
    """
    return (p - 1) / (v * m)


def _one_a_stage(p, m):
    _refuse_few(m, p, 1)


def _two_a_stage(p, m):
    _refuse_few(m, p, 2)


def _refuse_few(m, p, least):
    """ValueError if microbatches are too few to fill the stages."""
    if m < least * p:
        raise ValueError(
            f"m must be at least {least} p = {least * p} microbatches, got {m}"
        )


def _some_can_wait(forward, backward, weight):
    if weight > min(forward, backward / 2):
        raise ValueError(
            f"weight must be at most forward = {forward!r} and at most half "
            f"of backward = {backward!r}, got {weight!r}"
        )


@takes(
    _one_a_stage,
    _some_can_wait,
    p=how_many,
    m=how_many,
    forward=size,
    backward=size,
    weight=amount,
)
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
    idle = (p - 1) * (forward + backward - 2 * weight)
    return idle / (m * (forward + backward))


def _both_halves(p, forward, backward, weight, both):
    if p % 2:
        raise ValueError(f"p must be an even number of stages, got {p}")
    if weight is not None and weight >= backward:
        raise ValueError(
            f"weight must be below backward = {backward!r}, got {weight!r}"
        )
    longer, sum_of_both = max(forward, backward), forward + backward
    if both is not None and not longer <= both <= sum_of_both:
        raise ValueError(
            f"both must be from {longer!r}, the longer of forward and "
            f"backward, to their sum; got {both!r}"
        )


@takes(
    _two_a_stage,
    _both_halves,
    p=how_many,
    m=how_many,
    forward=size,
    backward=size,
    weight=size,
    both=size,
)
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
    weight = backward / 2 if weight is None else weight
    both = forward + backward if both is None else both
    early = backward - weight
    pairs, saved = p // 2 - 1, forward + early + weight - both
    fill = max(2 * pairs * forward, pairs * (forward + early) - forward)
    idle = fill + pairs * (max(early - weight, 0) - saved)
    return idle / (m * (forward + early + weight))


@takes(bubble=amount)
def idle_share(bubble):
    """Part of its time that a stage idles, from idle over useful time.

    bubble   idle over useful time
    returns  idle / (idle + useful); (p - 1) / (m + p - 1) for 1F1B
    raises   ValueError unless bubble is a finite number of at least 0
    source   scaling-book part 5, pipelining
    """
    return bubble / (1 + bubble)


# ---- a step, and a run -------------------------------------------------------


@takes(params=size, tokens=size)
def training_flops(params, tokens):
    """FLOPs to train a dense model: six for each parameter and token.

    params   parameters
    tokens   tokens of the whole run, or of one step
    returns  FLOPs
    raises   ValueError unless both are finite numbers above 0
    source   scaling-book part 4
    """
    return 6 * params * tokens


def _at_most_the_peak(mfu):
    if mfu > 1:
        raise ValueError(f"mfu must be at most 1, got {mfu!r}")


@takes(_at_most_the_peak, flops=size, N=how_many, chip=Chip, mfu=size)
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
    return flops / (N * flops_at(chip, precision) * mfu)


def _within_the_peak(flops, seconds, N, chip, precision):
    most = seconds * N * flops_at(chip, precision)
    if flops > most * (1 + 1e-9):  # what rounding may add at the peak
        raise ValueError(
            f"flops must be at most {most:.4g}, all that {N} chips can do in "
            f"{seconds:g} s; got {flops!r}"
        )


@takes(_within_the_peak, flops=size, seconds=size, N=how_many, chip=Chip)
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
    return flops / (seconds * N * flops_at(chip, precision))
