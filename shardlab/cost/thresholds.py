"""Where a strategy is no longer bound by communication, and the best split.

alpha is C / W, FLOP/s over the bytes/s of one axis of the chip's network: for
bf16 the tokens per chip that hide a weight's journey. Thresholds compare the
arithmetic of the forward pass with its traffic, at the limit of many chips and
without latency; backward has twice the arithmetic and at most twice the
traffic. `overlap` is about the two axes of FSDP + TP: True, their traffic runs
side by side and the longer counts; False, it is added.
"""

from functools import partial
from math import gcd, inf, sqrt

from shardlab.arguments import (
    amount,
    at_least_one,
    flag,
    how_many,
    size,
    takes,
)
from shardlab.cost.network import (
    bandwidth,
    has_directions,
    of_each,
    share_axes,
    within_reach,
)
from shardlab.cost.strategies import t_layer
from shardlab.cost.volumes import (
    dp_volume,
    fsdp_volume,
    layer_flops,
    matrices,
    zero_volume,
)
from shardlab.hw import Chip, axis_bw, flops_at, ring_directions

__all__ = [
    "best_split",
    "data_tokens_per_chip",
    "expert_limit",
    "max_chips",
    "mixed_pays_from",
    "mixed_tokens",
    "mixed_tokens_per_chip",
    "pod_tokens",
    "ring_attention_tokens",
    "splits",
    "tokens_per_chip",
    "tp_limit",
    "x_opt",
]


# ---- checks ------------------------------------------------------------------


def _on_network(chip, n_axes):
    bandwidth(chip, n_axes)


def _both_on_network(chip, M_X, M_Y, overlap):
    bandwidth(chip, M_X, name="M_X")
    bandwidth(chip, M_Y, name="M_Y")
    if overlap:
        share_axes(chip, M_X, M_Y)


def _wraps(name, value):
    """A pair for X and Y, from one value or a pair."""
    return tuple(flag(name, one) for one in of_each(name, value))


# ---- one axis ----------------------------------------------------------------


@takes(_on_network, chip=Chip, n_axes=size, itemsize=size)
def tokens_per_chip(chip, n_axes=1, precision="bf16", itemsize=2, wrap=True):
    """Tokens that each chip needs for DP or FSDP to be compute-bound.

    chip       Chip
    n_axes     axes of the network under the data axis
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    itemsize   bytes per element; 2 is bf16
    wrap       True: rings; False: lines, with half the bandwidth
    returns    tokens per chip, alpha / n_axes for bf16; a gate changes nothing
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5, data parallelism and FSDP
    """
    bandwidth = n_axes * axis_bw(chip, wrap)
    return flops_at(chip, precision) / bandwidth * itemsize / 2


@takes(
    _on_network,
    strategy=("dp", "zero1", "zero2", "fsdp"),
    chip=Chip,
    n_axes=size,
    itemsize=size,
    grad_bytes=size,
)
def data_tokens_per_chip(
    strategy,
    chip,
    n_axes=1,
    *,
    precision="bf16",
    itemsize=2,
    grad_bytes=None,
    wrap=True,
):
    """Tokens that each chip needs when gradients have a width of their own.

    strategy    "dp", "zero1", "zero2" or "fsdp"
    chip        Chip
    n_axes      axes of the network under the data axis
    precision   of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    itemsize    bytes per element of weights; 2 is bf16
    grad_bytes  bytes per element of the gradients that are summed; 4 is
                float32; None: itemsize
    wrap        True: rings; False: lines, with half the bandwidth
    returns     tokens per chip at which forward and backward are both
                compute-bound: with float32 twice as many for DP, half more for
                FSDP, which gathers bf16 weights beside, and no more for ZeRO-1
                and -2, whose new weights are gathered in the next forward pass
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 5; Megatron-Core documentation
    """
    C, W = flops_at(chip, precision), n_axes * axis_bw(chip, wrap)
    volume = {
        "dp": dp_volume,
        "zero1": partial(zero_volume, 1),
        "zero2": partial(zero_volume, 2),
        "fsdp": fsdp_volume,
    }[strategy]
    moved = volume(1, 1, itemsize=itemsize, grad_bytes=grad_bytes)
    flops = layer_flops(1, 1, 1)  # of one token
    return max(
        ((moved.update + moved.forward) / W) / (flops.forward / C),
        (moved.backward / W) / (flops.backward / C),
    )


@takes(F=size)
def tp_limit(
    F, chip, n_axes=1, gated=False, *, precision="bf16", itemsize=2, wrap=True
):
    """Chips over which TP is compute-bound, however many tokens there are.

    F          hidden size, in elements
    chip       Chip
    n_axes     axes of the network under the TP axis
    gated      True: three weight matrices for the same traffic; False: two
    precision, itemsize, wrap  as in `tokens_per_chip`
    returns    chips, a real number: n_axes F / alpha, half more if gated
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5, tensor parallelism
    """
    alpha = tokens_per_chip(chip, n_axes, precision, itemsize, wrap)
    return matrices(gated) / 2 * F / alpha


# ---- two axes ----------------------------------------------------------------


@takes(F=size, alpha_X=size, alpha_Y=size, overlap=flag)
def mixed_tokens(F, alpha_X, alpha_Y, gated=False, overlap=True):
    """Tokens that each chip needs for FSDP + TP, on any two networks.

    F        hidden size, in elements
    alpha_X  FLOP/s over the bytes/s under the FSDP axis, C / W_X
    alpha_Y  the same under the TP axis, C / W_Y
    gated    True: three weight matrices; False: two
    overlap  True: the longer of both traffics; False: their sum
    returns  tokens per chip, at the best real split: alpha_X alpha_Y / F, or 4
             times that
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    longer = alpha_X * alpha_Y / (F * matrices(gated) / 2)
    return longer if overlap else 4 * longer


@takes(_both_on_network, chip=Chip, overlap=flag, wrap=_wraps)
def mixed_tokens_per_chip(
    F,
    chip,
    M_X=2,
    M_Y=1,
    gated=False,
    *,
    overlap=True,
    precision="bf16",
    itemsize=2,
    wrap=(True, True),
):
    """Tokens that each chip needs for FSDP + TP to be compute-bound.

    F         hidden size, in elements
    chip      Chip
    M_X, M_Y  axes of the network under the FSDP axis and under the TP axis
    gated, overlap  as in `mixed_tokens`
    precision, itemsize  as in `tokens_per_chip`
    wrap      True: rings; False: lines; or a pair for X and Y
    returns   tokens per chip: alpha^2 / (M_X M_Y F), or 4 times that
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    alpha_X = tokens_per_chip(chip, M_X, precision, itemsize, wrap[0])
    alpha_Y = tokens_per_chip(chip, M_Y, precision, itemsize, wrap[1])
    return mixed_tokens(F, alpha_X, alpha_Y, gated, overlap)


@takes(wrap=flag)
def mixed_pays_from(
    chip,
    n_axes=3,
    M_X=2,
    M_Y=1,
    gated=False,
    *,
    overlap=True,
    precision="bf16",
    itemsize=2,
    wrap=True,
):
    """The hidden size above which FSDP + TP needs fewer tokens than FSDP.

    chip      Chip
    n_axes    axes of the network that FSDP alone would use
    M_X, M_Y, gated, overlap  as in `mixed_tokens_per_chip`
    precision, itemsize, wrap  as in `tokens_per_chip`
    returns   F, a real number: 1.5 alpha, or 6 alpha for the sum
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    work = {"precision": precision, "itemsize": itemsize}
    alone = tokens_per_chip(chip, n_axes, wrap=wrap, **work)
    both = {"overlap": overlap, "wrap": (wrap, wrap), **work}
    return mixed_tokens_per_chip(1, chip, M_X, M_Y, gated, **both) / alone


@takes(B=size, F=size, N=how_many, W_X=size, W_Y=size)
def x_opt(B, F, N, W_X=2, W_Y=1, gated=False):
    """The FSDP axis, a real number, at which FSDP + TP moves its bytes fastest.

    B, F      tokens of the step and hidden size, in elements
    N         chips
    W_X, W_Y  bandwidth of a chip under the FSDP axis and under the TP axis, in
              one unit: bytes/s, or axes of the network, M_X and M_Y
    gated     True: three weight matrices; False: two
    returns   X from 1 to N; there both axes need the same time, so that the
              sum and the maximum of both have the same best X
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    F = F * matrices(gated) / 2
    X = sqrt(B / F * W_X / W_Y * N)
    return min(max(X, 1), N)


@takes(N=how_many)
def splits(N):
    """All ways to write N as X Y with a power of two for Y.

    N        chips
    returns  list of (X, Y), the largest X first
    raises   ValueError unless N is a whole number of at least 1
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    powers = [2**k for k in range(N.bit_length())]
    return [(N // Y, Y) for Y in powers if N % Y == 0]


@takes(N=how_many, M_X=size, M_Y=size)
def best_split(
    B,
    F,
    N,
    chip,
    M_X=2,
    M_Y=1,
    *,
    gated=False,
    overlap=True,
    exact=False,
    regather=False,
    kept=False,
    itemsize=2,
    grad_bytes=None,
    wrap=True,
    inside=None,
):
    """The split X Y = N, Y a power of two, that moves its bytes fastest.

    B, F      tokens of the step and hidden size, in elements
    N         chips, all of one node or pod unless `inside` says how many are
    chip      Chip
    M_X, M_Y  axes of the network under X and under Y; all of them are under X
              where Y is 1, and under Y where X is 1
    gated, overlap, exact, regather, kept, itemsize, grad_bytes, wrap
              as in `t_layer`
    inside    chips of one node or pod: they are dealt to Y first; None: all
    returns   (X, Y); of equally fast ones the one with the largest X
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    near = _near(N, inside, chip)
    share_axes(chip, M_X, M_Y)

    def t_comm(split):
        X, Y = split
        layer = t_layer(
            *("fsdp_tp", B, 1, F, chip, X, Y),
            M_X + M_Y if Y == 1 else M_X,
            M_X + M_Y if X == 1 else M_Y,
            gated=gated,
            itemsize=itemsize,
            regather=regather,
            kept=kept,
            grad_bytes=grad_bytes,
            overlap=overlap,
            exact=exact,
            wrap=wrap,
            inside=_dealt(X, Y, near),
        )
        return layer.forward.comm

    return min(splits(N), key=t_comm)


def _dealt(X, Y, inside):
    """How many chips of X and of Y are in one node or pod, Y dealt first."""
    if inside is None:
        return None
    near_Y = gcd(Y, inside)
    return gcd(X, inside // near_Y), near_Y


def _near(N, inside, chip):
    """`inside` of N chips, if they fill whole nodes or pods; None: all of them.

    raises   ValueError that names the argument and what was expected
    """
    near = N if inside is None else min(N, how_many("inside", inside))
    if N % near:
        raise ValueError(f"N must be a multiple of inside = {inside}, got {N}")
    within_reach(chip, **{"N" if inside is None else "inside": near})
    return inside if inside is None else near


@takes(chip=Chip, itemsize=size)
def pod_tokens(chip, precision="bf16", itemsize=2):
    """Tokens that a pod needs to be compute-bound when pods are data-parallel.

    chip       Chip
    precision, itemsize  as in `tokens_per_chip`
    returns    tokens of one pod, however many chips it has: FLOP/s of a chip
               over the bytes/s that it sends outside
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5, scaling across pods
    """
    C, W = flops_at(chip, precision), chip.dcn_bw
    return C / W * itemsize / 2


@takes(n_axes=how_many)
def expert_limit(
    F, chip, n_axes=1, gated=False, *, precision="bf16", itemsize=2, wrap=True
):
    """Chips over which experts can be spread and stay compute-bound.

    F        hidden size of one expert, in elements
    chip     Chip
    n_axes   axes of the network under the expert axis, equally long
    gated    True: three weight matrices an expert; False: two
    precision, itemsize, wrap  as in `tokens_per_chip`
    returns  chips, a real number: four times the limit of TP, to the power of
             n_axes; on a switch, where a chip sends only its own, infinity
             once F is alpha
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3, AllToAll; part 12 for the switch
    """
    work = {"precision": precision, "itemsize": itemsize, "wrap": wrap}
    limit = tp_limit(F, chip, 1, gated, **work)
    bandwidth(chip, n_axes)
    if chip.axes:
        return (4 * limit) ** n_axes
    return 1 / (1 - limit) if limit < 1 else inf


@takes(has_directions, chip=Chip, heads_per_kv=at_least_one, directions=(1, 2))
def ring_attention_tokens(
    chip, heads_per_kv=1, directions=1, *, precision="bf16", itemsize=2
):
    """Tokens that each chip needs for ring attention to be compute-bound.

    chip          Chip
    heads_per_kv  query heads that share one key head
    directions    links that carry blocks: 1 one way round, 2 half each way; a
                  line, on which all go both ways, needs what 1 needs
    precision, itemsize  as in `tokens_per_chip`
    returns       tokens per chip, in the forward pass and without causal mask
    raises        ValueError that names the argument and what was expected
    source        Ring Attention paper
    """
    both_ways = tokens_per_chip(chip, precision=precision, itemsize=itemsize)
    return both_ways * ring_directions(chip) / directions / heads_per_kv


@takes(B=size, tokens=amount)
def max_chips(B, tokens):
    """Chips among which a batch can be cut before they starve.

    B        tokens of the step
    tokens   tokens that each chip needs, from one of the thresholds
    returns  chips, a real number; infinity if each needs none
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, summary
    """
    return B / tokens if tokens else inf
