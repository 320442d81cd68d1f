"""Where a strategy stops to be bound by communication, and the best split.

alpha is C / W, FLOP/s over the bytes/s of one axis of the chip's network: for
bf16 the tokens per chip that hide a weight's journey. Thresholds compare the
arithmetic of the forward pass with its traffic, at the limit of many chips and
without latency; backward has twice the arithmetic and at most twice the
traffic. `overlap` is about the two axes of FSDP + TP: True, their traffic runs
side by side and the longer counts; False, it is added.
"""

from math import inf, sqrt

from shardlab.arguments import one_of, real, whole
from shardlab.cost.strategies import t_layer
from shardlab.cost.volumes import matrices, sizes
from shardlab.hw import axis_bw, flops_at


def tokens_per_chip(chip, n_axes=1, precision="bf16", itemsize=2):
    """Tokens that each chip needs for DP or FSDP to be compute-bound.

    chip       Chip
    n_axes     axes of the network under the data axis
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    itemsize   bytes per element; 2 is bf16
    returns    tokens per chip, alpha / n_axes for bf16; a gate changes nothing
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5, data parallelism and FSDP
    """
    n_axes, itemsize = sizes(n_axes=n_axes, itemsize=itemsize)
    alpha = flops_at(chip, precision) / axis_bw(chip)
    return alpha * itemsize / 2 / n_axes


def tp_limit(F, chip, n_axes=1, gated=False, precision="bf16", itemsize=2):
    """Chips over which TP is compute-bound, however many tokens there are.

    F          hidden size, in elements
    chip       Chip
    n_axes     axes of the network under the TP axis
    gated      True: three weight matrices for the same traffic; False: two
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    itemsize   bytes per element; 2 is bf16
    returns    chips, a real number: n_axes F / alpha, half more if gated
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5, tensor parallelism
    """
    [F] = sizes(F=F)
    alpha = tokens_per_chip(chip, n_axes, precision, itemsize)
    return matrices(gated) / 2 * F / alpha


def mixed_tokens_per_chip(F, chip, M_X=2, M_Y=1, gated=False, overlap=True):
    """Tokens that each chip needs for FSDP + TP to be compute-bound.

    F         hidden size, in elements
    chip      Chip
    M_X, M_Y  axes of the network under the FSDP axis and under the TP axis
    gated     True: three weight matrices; False: two
    overlap   True: the longer of both traffics; False: their sum
    returns   tokens per chip, at the best real split: alpha^2 / (M_X M_Y F),
              or four times that for the sum
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    alpha = tokens_per_chip(chip)
    F, M_X, M_Y = sizes(F=F, M_X=M_X, M_Y=M_Y)
    longer = alpha**2 / (M_X * M_Y * F * matrices(gated) / 2)
    return longer if one_of("overlap", overlap, (True, False)) else 4 * longer


def mixed_pays_from(chip, n_axes=3, M_X=2, M_Y=1, gated=False, overlap=True):
    """The hidden size above which FSDP + TP needs fewer tokens than FSDP.

    chip      Chip
    n_axes    axes of the network that FSDP alone would use
    M_X, M_Y, gated, overlap  as in `mixed_tokens_per_chip`
    returns   F, a real number: 1.5 alpha, or 6 alpha for the sum
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    if_F_is_one = mixed_tokens_per_chip(1, chip, M_X, M_Y, gated, overlap)
    return if_F_is_one / tokens_per_chip(chip, n_axes)


def x_opt(B, F, N, M_X=2, M_Y=1, gated=False):
    """The FSDP axis, a real number, at which FSDP + TP moves its bytes fastest.

    B, F      tokens of the step and hidden size, in elements
    N         chips
    M_X, M_Y  axes of the network under the FSDP axis and under the TP axis
    gated     True: three weight matrices; False: two
    returns   X from 1 to N; there both axes need the same time, so that the
              sum and the maximum of both have the same best X
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    B, F, M_X, M_Y = sizes(B=B, F=F, M_X=M_X, M_Y=M_Y)
    weights = F * matrices(gated) / 2
    X = sqrt(B / weights * M_X / M_Y * whole("N", N))
    return min(max(X, 1.0), float(N))


def splits(N):
    """All ways to write N as X Y with a power of two for Y.

    N        chips
    returns  list of (X, Y), the largest X first
    raises   ValueError unless N is a whole number of at least 1
    source   scaling-book part 5, mixed FSDP and tensor parallelism
    """
    powers = [2**k for k in range(whole("N", N).bit_length())]
    return [(N // Y, Y) for Y in powers if N % Y == 0]


def best_split(B, F, N, chip, M_X=2, M_Y=1, gated=False, overlap=True):
    """The split X Y = N, Y a power of two, that moves its bytes fastest.

    B, F      tokens of the step and hidden size, in elements
    N         chips
    chip      Chip
    M_X, M_Y  axes of the network under X and under Y; all of them are under X
              where Y is 1, and under Y where X is 1
    gated, overlap  as in `t_layer`
    returns   (X, Y); of equally fast ones the one with the largest X
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """

    def t_moves(split):
        X, Y = split
        axes = (M_X + M_Y if Y == 1 else M_X, M_X + M_Y if X == 1 else M_Y)
        how = (chip, X, Y, *axes, gated, overlap)
        return t_layer("fsdp_tp", B, 1, F, *how).forward.comm

    M_X, M_Y = sizes(M_X=M_X, M_Y=M_Y)
    return min(splits(N), key=t_moves)


def pod_tokens(chip):
    """Tokens that a pod needs to be compute-bound when pods are data-parallel.

    chip     Chip
    returns  tokens of one pod, however many chips it has: FLOP/s of a chip over
             the bytes/s that it sends outside
    source   scaling-book part 5, scaling across pods
    """
    return flops_at(chip) / chip.dcn_bw


def expert_limit(F, chip, n_axes=1, gated=False):
    """Chips over which experts can be spread and stay compute-bound.

    F        hidden size of one expert, in elements
    chip     Chip
    n_axes   axes of the network under the expert axis
    gated    True: three weight matrices an expert; False: two
    returns  chips, a real number: four times the limit of TP
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3, AllToAll
    """
    return 4 * tp_limit(F, chip, n_axes, gated)


def ring_attention_tokens(chip, heads_per_kv=1, directions=1):
    """Tokens that each chip needs for ring attention to be compute-bound.

    chip          Chip
    heads_per_kv  query heads that share one key head
    directions    links that carry blocks: 1 one way round, 2 half each way
    returns       tokens per chip, in the forward pass and without causal mask
    raises        ValueError that names the argument and what was expected
    source        Ring Attention paper, section 3
    """
    C, directions = flops_at(chip), one_of("directions", directions, (1, 2))
    W = directions * chip.link_bw
    return C / (W * real("heads_per_kv", heads_per_kv, least=1))


def max_chips(B, tokens):
    """Chips among which a batch can be cut before they starve.

    B        tokens of the step
    tokens   tokens that each chip needs, from one of the thresholds
    returns  chips, a real number; infinity if each needs none
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, summary
    """
    need = real("tokens", tokens)
    return real("B", B, above=0) / need if need else inf
