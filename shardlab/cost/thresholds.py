"""Where a strategy stops to be bound by communication, and the best split.

alpha is C / W, FLOP/s over the bytes/s of one axis of the chip's network: for
bf16 the tokens per chip that hide a weight's journey. Thresholds compare the
arithmetic of the forward pass with its traffic, at the limit of many chips and
without latency; backward has twice the arithmetic and at most twice the
traffic. `overlap` is about the two axes of FSDP + TP: True, their traffic runs
side by side and the longer counts; False, it is added.
"""

from math import gcd, inf, sqrt

from shardlab.arguments import one_of
from shardlab.cost.network import bandwidth, of_each, within_reach
from shardlab.cost.sizes import amount, at_least_one, how_many, sizes
from shardlab.cost.strategies import t_layer
from shardlab.cost.volumes import matrices
from shardlab.hw import flops_at, ring_directions


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
    C, W = flops_at(chip, precision), bandwidth(chip, n_axes, wrap)
    return C / W * sizes(itemsize=itemsize)[0] / 2


def alpha_along(name, n_axes, chip, wrap=True, **how):
    """`tokens_per_chip` along the axes of the network under one mesh axis.

    name     what the caller calls n_axes, for errors, such as "M_X"
    n_axes, chip, wrap, how  as in `tokens_per_chip`
    returns  tokens per chip
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    bandwidth(chip, n_axes, wrap, name)
    return tokens_per_chip(chip, n_axes, wrap=wrap, **how)


def tp_limit(F, chip, n_axes=1, gated=False, **how):
    """Chips over which TP is compute-bound, however many tokens there are.

    F          hidden size, in elements
    chip       Chip
    n_axes     axes of the network under the TP axis
    gated      True: three weight matrices for the same traffic; False: two
    how        precision, itemsize and wrap, as in `tokens_per_chip`
    returns    chips, a real number: n_axes F / alpha, half more if gated
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5, tensor parallelism
    """
    [F] = sizes(F=F)
    return matrices(gated) / 2 * F / tokens_per_chip(chip, n_axes, **how)


def mixed_tokens_per_chip(F, chip, M_X=2, M_Y=1, gated=False, **how):
    """Tokens that each chip needs for FSDP + TP to be compute-bound.

    F         hidden size, in elements
    chip      Chip
    M_X, M_Y  axes of the network under the FSDP axis and under the TP axis
    gated     True: three weight matrices; False: two
    how       overlap, True: the longer of both traffics, False: their sum;
              wrap, also a pair for X and Y; precision and itemsize
    returns   tokens per chip, at the best real split: alpha^2 / (M_X M_Y F), or
              4 times that
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    overlap = one_of("overlap", how.pop("overlap", True), (True, False))
    wrap_X, wrap_Y = of_each("wrap", how.pop("wrap", True))
    alpha_X = alpha_along("M_X", M_X, chip, wrap_X, **how)
    alpha_Y = alpha_along("M_Y", M_Y, chip, wrap_Y, **how)
    longer = alpha_X * alpha_Y / (sizes(F=F)[0] * matrices(gated) / 2)
    return longer if overlap else 4 * longer


def mixed_pays_from(chip, n_axes=3, M_X=2, M_Y=1, gated=False, **how):
    """The hidden size above which FSDP + TP needs fewer tokens than FSDP.

    chip      Chip
    n_axes    axes of the network that FSDP alone would use
    M_X, M_Y, gated  as in `mixed_tokens_per_chip`
    how       overlap, precision, itemsize and wrap (one value), likewise
    returns   F, a real number: 1.5 alpha, or 6 alpha for the sum
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    if_F_is_one = mixed_tokens_per_chip(1, chip, M_X, M_Y, gated, **how)
    how.pop("overlap", None)
    return if_F_is_one / tokens_per_chip(chip, n_axes, **how)


def x_opt(B, F, N, M_X=2, M_Y=1, gated=False, wrap=True):
    """The FSDP axis, a real number, at which FSDP + TP moves its bytes fastest.

    B, F      tokens of the step and hidden size, in elements
    N         chips
    M_X, M_Y  axes of the network under the FSDP axis and under the TP axis
    gated     True: three weight matrices; False: two
    wrap      True: rings; False: lines, half as fast; or a pair for X and Y
    returns   X from 1 to N; there both axes need the same time, so that the
              sum and the maximum of both have the same best X
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    B, F, M_X, M_Y = sizes(B=B, F=F, M_X=M_X, M_Y=M_Y)
    fast_X, fast_Y = (
        1 + one_of("wrap", w, (True, False)) for w in of_each("wrap", wrap)
    )
    weights = F * matrices(gated) / 2
    faster = M_X * fast_X / (M_Y * fast_Y)
    X = sqrt(B / weights * faster * how_many("N", N))
    return min(max(X, 1.0), float(N))


def splits(N):
    """All ways to write N as X Y with a power of two for Y.

    N        chips
    returns  list of (X, Y), the largest X first
    raises   ValueError unless N is a whole number of at least 1
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    powers = [2**k for k in range(how_many("N", N).bit_length())]
    return [(N // Y, Y) for Y in powers if N % Y == 0]


def best_split(B, F, N, chip, M_X=2, M_Y=1, **how):
    """The split X Y = N, Y a power of two, that moves its bytes fastest.

    B, F      tokens of the step and hidden size, in elements
    N         chips, all of one node or pod unless `inside` says how many are
    chip      Chip
    M_X, M_Y  axes of the network under X and under Y; all of them are under X
              where Y is 1, and under Y where X is 1
    how       gated, overlap, exact, wrap, regather and kept, as in `t_layer`;
              inside, chips of one node or pod: they are dealt to Y first
    returns   (X, Y); of equally fast ones the one with the largest X
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    near = _near(how_many("N", N), how.pop("inside", None), chip)
    bandwidth(chip, sum(sizes(M_X=M_X, M_Y=M_Y)), name="M_X + M_Y")

    def t_comm(split):
        X, Y = split
        axes = (M_X + M_Y if Y == 1 else M_X, M_X + M_Y if X == 1 else M_Y)
        on = how | {"inside": _dealt(X, Y, near)}
        return t_layer("fsdp_tp", B, 1, F, chip, X, Y, *axes, **on)[0].comm

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


def pod_tokens(chip, precision="bf16", itemsize=2):
    """Tokens that a pod needs to be compute-bound when pods are data-parallel.

    chip       Chip
    precision, itemsize  as in `tokens_per_chip`
    returns    tokens of one pod, however many chips it has: FLOP/s of a chip
               over the bytes/s that it sends outside
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5, scaling across pods
    """
    [itemsize] = sizes(itemsize=itemsize)
    return flops_at(chip, precision) / chip.dcn_bw * itemsize / 2


def expert_limit(F, chip, n_axes=1, gated=False, **how):
    """Chips over which experts can be spread and stay compute-bound.

    F        hidden size of one expert, in elements
    chip     Chip
    n_axes   axes of the network under the expert axis, equally long
    gated    True: three weight matrices an expert; False: two
    how      precision, itemsize and wrap, as in `tokens_per_chip`
    returns  chips, a real number: four times the limit of TP, to the power of
             n_axes; on a switch, where a chip sends only its own, infinity
             once F is alpha
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3, AllToAll; part 12 for the switch
    """
    limit = tp_limit(F, chip, 1, gated, **how)
    n_axes = how_many("n_axes", n_axes)
    bandwidth(chip, n_axes)
    if chip.axes:
        return (4 * limit) ** n_axes
    return 1 / (1 - limit) if limit < 1 else inf


def ring_attention_tokens(chip, heads_per_kv=1, directions=1, **how):
    """Tokens that each chip needs for ring attention to be compute-bound.

    chip          Chip
    heads_per_kv  query heads that share one key head
    directions    links that carry blocks: 1 one way round, 2 half each way; a
                  line, on which all go both ways, needs what 1 needs
    how           precision and itemsize, as in `tokens_per_chip`
    returns       tokens per chip, in the forward pass and without causal mask
    raises        ValueError that names the argument and what was expected
    source        Ring Attention paper
    """
    at_least_one("heads_per_kv", heads_per_kv)
    if one_of("directions", directions, (1, 2)) > ring_directions(chip):
        raise ValueError(
            f"directions must be 1 on the switch of a {chip.name}, got 2"
        )
    both_ways = tokens_per_chip(chip, **how)
    return both_ways * ring_directions(chip) / directions / heads_per_kv


def max_chips(B, tokens):
    """Chips among which a batch can be cut before they starve.

    B        tokens of the step
    tokens   tokens that each chip needs, from one of the thresholds
    returns  chips, a real number; infinity if each needs none
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, summary
    """
    need, [B] = amount("tokens", tokens), sizes(B=B)
    return B / need if need else inf
