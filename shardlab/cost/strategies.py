"""Time of one layer, of a step and of a training run under each strategy."""

from shardlab.arguments import one_of, real, whole
from shardlab.cost.matmuls import Times, seconds
from shardlab.cost.volumes import (
    NOTHING,
    Step,
    context_volume,
    dp_volume,
    expert_volume,
    layer_flops,
    layer_volume,
    pipeline_volume,
    sizes,
)
from shardlab.hw import axis_bw, flops_at

_EITHER = (True, False)


# ---- one layer ---------------------------------------------------------------


def t_comm(volume, chip, n_axes=1, X=None, wrap=True):
    """Seconds to move a volume over a chip's own network.

    volume   bytes, as the field's texts count
    chip     Chip
    n_axes   axes of the network under this mesh axis, the M_X or M_Y of texts;
             any real number, since axes can be shared
    X        chips of the mesh axis: the exact (X - 1) / X of the volume; None:
             the limit of many chips, which texts quote
    wrap     True: rings; False: lines, with half the bandwidth
    returns  seconds
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5
    """
    [n_axes] = sizes(n_axes=n_axes)
    W = axis_bw(chip) / (1 if one_of("wrap", wrap, _EITHER) else 2)
    part = 1 if X is None else 1 - 1 / real("X", X, least=1)
    return part * real("volume", volume) / (n_axes * W)


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
    gated=False,
    overlap=True,
    exact=False,
):
    """Seconds of arithmetic and communication of one layer, part by part.

    strategy  "none", "dp", "zero1", "zero2", "fsdp", "tp" or "fsdp_tp"
    B, D, F   tokens of the step, model and hidden size, in elements
    chip      Chip
    X, Y      chips of the data axis and of the TP axis
    M_X, M_Y  axes of the network under each; an axis that is a line, not a
              ring, counts half
    gated     True: three weight matrices; False: two
    overlap   True: traffic over X runs beside traffic over Y, and the longer
              counts; False: one after the other
    exact     True: the factor (X - 1) / X of rings; False: its limit, 1
    returns   Step of Times: forward, backward, update
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5
    """
    both = max if one_of("overlap", overlap, _EITHER) else sum
    ring_X, ring_Y = (X, Y) if one_of("exact", exact, _EITHER) else (None, None)
    moved = layer_volume(strategy, B, D, F, X, Y, gated)
    t_X = [t_comm(part, chip, M_X, ring_X) for part in moved["X"]]
    t_Y = [t_comm(part, chip, M_Y, ring_Y) for part in moved["Y"]]
    flops = layer_flops(B, D, F, gated)
    t_math = [part / (X * Y * flops_at(chip)) for part in flops]
    return Step(*map(Times, t_math, map(both, zip(t_X, t_Y, strict=True))))


def step_seconds(step, overlap=True):
    """Seconds of a layer in all: of forward, backward and update.

    step     Step of Times
    overlap  True: in each part communication runs beside arithmetic, and the
             longer of the two counts; False: one after the other
    returns  seconds
    raises   ValueError if overlap is neither True nor False
    source   scaling-book part 5
    """
    return sum(seconds(part, overlap) for part in step)


def t_cross_pod(B, D, F, N, pods, chip, gated=False, exact=False):
    """Backward pass of one layer when whole pods are data-parallel.

    B, D, F  tokens of the step in all pods, model and hidden size, in elements
    N        chips of one pod, over which a layer's gradients are cut
    pods     pods, joined by the data-centre network
    chip     Chip
    gated    True: three weight matrices; False: two
    exact    True: the factor (pods - 1) / pods of a ring; False: its limit, 1
    returns  Times; every chip AllReduces its share of the gradients
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, scaling across pods
    """
    N, pods = whole("N", N), whole("pods", pods)
    t_math = layer_flops(B, D, F, gated).backward / (pods * N * flops_at(chip))
    moved = dp_volume(D, F, gated).backward if pods > 1 else 0
    part = 1 - 1 / pods if one_of("exact", exact, _EITHER) else 1
    return Times(t_math, part * moved / (N * chip.dcn_bw))


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
    message = pipeline_volume(B, D, itemsize).forward / whole("m", m)
    [link_bw] = sizes(link_bw=link_bw)
    return message / link_bw + real("hop_latency", hop_latency)


def attention_flops(B, h):
    """FLOPs of attention over one sequence, without causal mask.

    B        tokens of the sequence
    h        elements of all query heads of a token
    returns  Step, in FLOPs: two products forward, four backward and one that
             is made again because its result was not kept
    raises   ValueError that names the argument and what was expected
    source   FlashAttention-2 paper, section 4
    """
    B, h = sizes(B=B, h=h)
    product = 2 * B**2 * h
    return Step(2 * product, 5 * product)


def t_ring_attention(B, h, X, chip, kv=None, directions=1, itemsize=2):
    """Attention of one layer as keys and values travel round a ring.

    B           tokens of one sequence, cut over the ring
    h, kv       elements of all query heads of a token, and of all its key
                heads; None: as many
    X           chips of the ring
    chip        Chip
    directions  links that carry blocks: 1 one way round, 2 half each way
    itemsize    bytes per element; 2 is bf16
    returns     Step of Times; X - 1 hops forward, and as many backward with
                twice the bytes
    raises      ValueError that names the argument and what was expected
    source      Ring Attention paper, section 3
    """
    X, C = whole("X", X), flops_at(chip)
    W = one_of("directions", directions, (1, 2)) * chip.link_bw
    moved = context_volume(B, h, kv, "ring", itemsize)
    t_math = [part / (X * C) for part in attention_flops(B, h)]
    t_hops = [part * (X - 1) / X / W for part in moved]
    return Step(*map(Times, t_math, t_hops))


def t_expert(B, D, F, X, chip, k=1, n_axes=1, gated=False, itemsize=2):
    """Feed-forward of one layer whose experts are spread over an axis.

    B, D, F   tokens of the group, model size, hidden size of one expert
    X         chips of the expert axis; all experts equally busy
    chip      Chip
    k         experts that each token visits
    n_axes    axes of the network under the expert axis
    gated     True: three weight matrices an expert; False: two
    itemsize  bytes per element; 2 is bf16
    returns   Step of Times; AllToAlls at a quarter of their array
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 3, AllToAll
    """
    moved = expert_volume(B, D, k, itemsize) if whole("X", X) > 1 else NOTHING
    flops = layer_flops(k * B, D, F, gated)
    t_math = [part / (X * flops_at(chip)) for part in flops]
    t_moves = [t_comm(part, chip, n_axes) for part in moved]
    return Step(*map(Times, t_math, t_moves))


# ---- bubbles of a pipeline ---------------------------------------------------


def naive_bubble(p):
    """Idle over useful time when one microbatch at a time is under way.

    p        stages
    returns  p - 1: each stage works 1 / p of its time
    raises   ValueError unless p is a whole number of at least 1
    source   CS336 (2025), lecture 7
    """
    return whole("p", p) - 1


def bubble(p, m, v=1):
    """Idle over useful time of GPipe and of 1F1B, interleaved if v > 1.

    p, m     stages and microbatches
    v        chunks of layers that each stage has
    returns  (p - 1) / (v m)
    raises   ValueError that names the argument and what was expected; with
             v > 1, if p does not divide m
    source   scaling-book part 5, pipelining; Megatron-LM 2021 paper, section 2
    """
    p, m, v = whole("p", p), whole("m", m), whole("v", v)
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
    source    Zero Bubble paper, table 1
    """
    p, m = _stages(p, m, least=1)
    forward, backward = sizes(forward=forward, backward=backward)
    if real("weight", weight) > min(forward, backward / 2):
        raise ValueError(
            f"weight must be at most forward = {forward!r} and at most half "
            f"of backward = {backward!r}, got {weight!r}"
        )
    idle = (p - 1) * (forward + backward - 2 * weight)
    return idle / (m * (forward + backward))


def dualpipe_bubble(p, m, forward=1, backward=2, weight=1, both=None):
    """Idle over useful time of DualPipe, which feeds a pipeline from both ends.

    p, m      stages, an even number, and microbatches, at least two a stage
    forward   time of one microbatch's forward pass in one stage
    backward  time of its whole backward pass
    weight    part of backward that makes weight gradients, and can wait
    both      time of a forward and a backward that run as one; None: their sum
    returns   (p / 2 - 1) (both + backward - 3 weight), the idle time of the
              stages that idle longest, over m (forward + backward)
    raises    ValueError that names the argument and what was expected; the
              formula holds where backward - weight = forward >= weight and
              both is between backward and forward + backward
    source    DeepSeek-V3 report, table 2
    """
    p, m = _stages(p, m, least=2)
    forward, backward = sizes(forward=forward, backward=backward)
    both = forward + backward if both is None else sizes(both=both)[0]
    if p % 2:
        raise ValueError(f"p must be an even number of stages, got {p}")
    weight = sizes(weight=weight)[0]
    # Outside this domain schedules that are played out idle otherwise.
    if abs(backward - weight - forward) > 1e-9 * forward or weight > forward:
        raise ValueError(
            "weight must be backward - forward and at most forward = "
            f"{forward!r}, got {weight!r}"
        )
    if not backward <= both <= forward + backward:
        raise ValueError(
            f"both must be between backward = {backward!r} and forward + "
            f"backward = {forward + backward!r}, got {both!r}"
        )
    idle = (p // 2 - 1) * (both + backward - 3 * weight)
    return idle / (m * (forward + backward))


def idle_share(bubble):
    """Part of its time that a stage idles, from idle over useful time.

    bubble   idle over useful time
    returns  idle / (idle + useful); (p - 1) / (m + p - 1) for 1F1B
    raises   ValueError unless bubble is a finite number of at least 0
    source   scaling-book part 5, pipelining
    """
    bubble = real("bubble", bubble)
    return bubble / (1 + bubble)


def _stages(p, m, least):
    """p and m, if there are enough microbatches to fill the stages."""
    p, m = whole("p", p), whole("m", m)
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
    return flops / (whole("N", N) * flops_at(chip, precision) * mfu)


def mfu(flops, seconds, N, chip, precision="bf16"):
    """Model FLOPs utilisation: the part of the peak that was reached.

    flops      FLOPs that the model needs; recomputation is not counted
    seconds    time that it took
    N          chips
    chip       Chip
    precision  "bf16", "int8", "fp8" or "fp4"
    returns    a number, 1 at the peak
    raises     ValueError that names the argument and what was expected
    source     PaLM paper, appendix B
    """
    flops, seconds = sizes(flops=flops, seconds=seconds)
    return flops / (seconds * whole("N", N) * flops_at(chip, precision))
