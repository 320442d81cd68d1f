"""Bytes that one layer moves under each strategy, as the field's texts count.

A layer is two matmuls, In[B, D] W_in[D, F] W_out[F, D], or three if it is
gated. B counts all tokens of the step. An AllGather and a ReduceScatter count
the whole array, an AllReduce twice that, an AllToAll a quarter: what a ring
of many chips needs at a bandwidth W. Sizes may be any real numbers, so that a
chapter can put in 3e6 tokens and X = 13.7 chips; nothing has to divide.
"""

from typing import NamedTuple

from shardlab.arguments import (
    at_least_one,
    flag,
    how_many,
    size,
    takes,
    whole_from,
)

__all__ = [
    "CONTEXTS",
    "NOTHING",
    "STRATEGIES",
    "USES",
    "Step",
    "token_bytes",
    "context_volume",
    "dp_volume",
    "expert_volume",
    "fsdp_tp_volume",
    "fsdp_volume",
    "layer_flops",
    "layer_volume",
    "matrices",
    "pipeline_volume",
    "refuse_idle",
    "replicated_volume",
    "sequence_volume",
    "tp_elements",
    "tp_volume",
    "weight_bytes",
    "zero_volume",
]

STRATEGIES = ("none", "dp", "zero1", "zero2", "fsdp", "tp", "fsdp_tp")
CONTEXTS = ("ring", "gather", "ulysses")


class Step(NamedTuple):
    """Bytes, FLOPs or Times of one layer in the three parts of a step.

    total, the sum of the three, is for bytes and FLOPs; `step_seconds` is for
    Times.

    forward   in the forward pass
    backward  in the backward pass
    update    when the optimiser has made the new weights
    """

    forward: float
    backward: float
    update: float = 0

    @property
    def total(self):
        return sum(self)


NOTHING = Step(0, 0)


# ---- what there is: sizes, weights, activations, FLOPs -----------------------


@takes(gated=flag)
def matrices(gated):
    """Weight matrices of one layer: three if it is gated, two if not.

    gated    True for In W_in times In W_gate, False for In W_in alone
    returns  3 or 2
    raises   ValueError if gated is neither True nor False
    source   scaling-book part 4
    """
    return 3 if gated else 2


@takes(D=size, F=size, itemsize=size)
def weight_bytes(D, F, gated=False, itemsize=2):
    """Bytes of all weight matrices of one layer.

    D, F      model and hidden size, in elements
    gated     True: three weight matrices; False: two
    itemsize  bytes per element; 2 is bf16
    returns   bytes
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 4
    """
    return matrices(gated) * itemsize * D * F


@takes(B=size, D=size, itemsize=size)
def token_bytes(B, D, itemsize=2):
    """Bytes of In[B, D], which is also the size of Out and of their gradients.

    B, D      tokens and model size, in elements
    itemsize  bytes per element; 2 is bf16
    returns   bytes
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5
    """
    return itemsize * B * D


@takes(B=size, D=size, F=size)
def layer_flops(B, D, F, gated=False):
    """FLOPs of one layer: 4BDF forward and 8BDF backward, half more if gated.

    B, D, F  tokens, model and hidden size, in elements
    gated    True: three weight matrices; False: two
    returns  Step, in FLOPs of all chips together
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5, data parallelism
    """
    forward = matrices(gated) * 2 * B * D * F
    return Step(forward, 2 * forward)


# ---- what moves --------------------------------------------------------------


@takes(D=size, F=size, itemsize=size, grad_bytes=size)
def dp_volume(D, F, gated=False, itemsize=2, *, grad_bytes=None):
    """Data parallelism: an AllReduce of each weight gradient, 8DF bytes.

    D, F        model and hidden size, in elements
    gated       True: three weight matrices; False: two
    itemsize    bytes per element; 2 is bf16
    grad_bytes  bytes per element of the gradients that are summed; 4 is
                float32, and 16DF bytes; None: itemsize
    returns     Step, in bytes
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 5, data parallelism
    """
    gradients = weight_bytes(D, F, gated, grad_bytes or itemsize)
    return Step(forward=0, backward=2 * gradients)


def _only_stage_3_keeps(stage, kept):
    if kept and stage < 3:
        raise ValueError(
            f"kept must be False for stage {stage} of ZeRO, which gathers no "
            f"weights in the forward pass; got {kept!r}"
        )


@takes(
    _only_stage_3_keeps,
    stage=(1, 2, 3),
    D=size,
    F=size,
    itemsize=size,
    kept=flag,
    grad_bytes=size,
)
def zero_volume(
    stage, D, F, gated=False, itemsize=2, kept=False, *, grad_bytes=None
):
    """ZeRO: 8DF bytes for stages 1 and 2, 12DF for stage 3.

    stage       what is cut over the chips: 1 the optimiser's state, 2 gradients
                as well, 3 weights as well (FSDP)
    D, F        model and hidden size, in elements
    gated       True: three weight matrices; False: two
    itemsize    bytes per element; 2 is bf16
    kept        stage 3: True keeps what forward gathered; False gathers again
    grad_bytes  as in `dp_volume`; of float32 12DF bytes for stages 1 and 2,
                16DF for stage 3
    returns     Step, in bytes
    raises      ValueError that names the argument and what was expected
    source      ZeRO paper; scaling-book part 5, FSDP
    """
    weights = weight_bytes(D, F, gated, itemsize)
    gradients = weight_bytes(D, F, gated, grad_bytes or itemsize)
    if stage < 3:
        return Step(forward=0, backward=gradients, update=weights)
    again = 0 if kept else weights
    return Step(forward=weights, backward=again + gradients)


def fsdp_volume(D, F, gated=False, itemsize=2, kept=False, *, grad_bytes=None):
    """FSDP: weights gathered twice, gradients scattered once, 12DF bytes.

    D, F, gated, itemsize, kept, grad_bytes
              as in `zero_volume`, of which it is stage 3
    returns   Step, in bytes
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, FSDP
    """
    return zero_volume(3, D, F, gated, itemsize, kept, grad_bytes=grad_bytes)


@takes(regather=flag)
def tp_volume(B, D, itemsize=2, regather=False):
    """Tensor parallelism: activations in, sums out, 4BD bytes each way.

    B, D      tokens and model size, in elements
    itemsize  bytes per element; 2 is bf16
    regather  False: backward uses the gathered In that forward kept; True: it
              gathers In again, 2BD bytes more
    returns   Step, in bytes; a gate changes nothing
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, tensor parallelism
    """
    In = Out = token_bytes(B, D, itemsize)
    again = In if regather else 0
    return Step(forward=In + Out, backward=Out + again + In)


@takes(X=at_least_one, Y=at_least_one)
def fsdp_tp_volume(
    B,
    D,
    F,
    X,
    Y,
    gated=False,
    itemsize=2,
    regather=False,
    kept=False,
    *,
    grad_bytes=None,
):
    """FSDP over X and TP over Y: each cuts what the other moves.

    B, D, F   tokens, model and hidden size, in elements
    X, Y      chips of the FSDP axis and of the TP axis
    gated, itemsize, grad_bytes  as in `zero_volume`
    regather, kept   as in `tp_volume` and in `zero_volume`
    returns   {"X": Step, "Y": Step}, forward 4DF/Y and 4BD/X bytes, backward
              8DF/Y and 4BD/X, or 6BD/X if In is gathered again
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    weights = fsdp_volume(D, F, gated, itemsize, kept, grad_bytes=grad_bytes)
    activations = tp_volume(B, D, itemsize, regather)
    return {
        "X": Step(*(moved / Y for moved in weights)),
        "Y": Step(*(moved / X for moved in activations)),
    }


# Which axes a strategy uses, and which options it has.
USES = {
    **{"none": "", "tp": "Y", "fsdp_tp": "XY"},
    **{"megatron": "Y", "sequence": "Y"},
}
_KEEPS = ("fsdp", "fsdp_tp")
_REGATHERS = ("tp", "fsdp_tp")
_REDUCES = ("dp", "zero1", "zero2", "fsdp", "fsdp_tp")


def refuse_idle(strategy, X, Y):
    """Nothing, if the strategy uses each axis that has chips.

    strategy  one of STRATEGIES or of TRANSFORMERS
    X, Y      chips of the data axis and of the TP axis
    raises    ValueError that names the axis
    source    scaling-book part 5, summary table
    """
    used = USES.get(strategy, "X")
    for name, chips in (("X", X), ("Y", Y)):
        if at_least_one(name, chips) > 1 and name not in used:
            raise ValueError(
                f"{name} must be 1 for the strategy {strategy!r}, which does "
                f"not use that axis; got {chips!r}"
            )


def _refuse_idle_options(strategy, regather, kept, grad_bytes):
    """ValueError for an option that the strategy does not have."""
    for name, value, unset, having, of in (
        ("kept", kept, False, _KEEPS, "gathers no weights"),
        ("regather", regather, False, _REGATHERS, "gathers no activations"),
        ("grad_bytes", grad_bytes, None, _REDUCES, "sums no gradients"),
    ):
        if value != unset and strategy not in having:
            raise ValueError(
                f"{name} must be {unset} for the strategy {strategy!r}, which "
                f"{of}; got {value!r}"
            )


@takes(
    refuse_idle,
    _refuse_idle_options,
    strategy=STRATEGIES,
    regather=flag,
    kept=flag,
    grad_bytes=size,
)
def layer_volume(
    strategy,
    B,
    D,
    F,
    X=1,
    Y=1,
    gated=False,
    *,
    itemsize=2,
    regather=False,
    kept=False,
    grad_bytes=None,
):
    """Bytes that a layer moves over each mesh axis, for any strategy.

    strategy    "none", "dp", "zero1", "zero2", "fsdp", "tp" or "fsdp_tp"
    B, D, F     tokens of the step, model and hidden size, in elements
    X, Y        chips of the data axis and of the TP axis; of 1 nothing moves
    gated       True: three weight matrices; False: two
    itemsize    bytes per element; 2 is bf16
    regather    TP: True gathers In again in backward; False kept it
    kept        FSDP: True keeps the weights that forward gathered
    grad_bytes  bytes per element of the gradients that are summed over X; 4 is
                float32; None: itemsize
    returns     {"X": Step, "Y": Step}
    raises      ValueError that names the argument and what was expected, also
                of an option that the strategy does not have
    source      scaling-book part 5, summary table
    """
    moved = fsdp_tp_volume(
        *(B, D, F, X, Y, gated, itemsize, regather, kept),
        grad_bytes=grad_bytes,
    )
    if strategy == "dp":
        moved["X"] = dp_volume(D, F, gated, itemsize, grad_bytes=grad_bytes)
    if strategy in ("zero1", "zero2"):
        stage = int(strategy[-1])
        moved["X"] = zero_volume(
            stage, D, F, gated, itemsize, grad_bytes=grad_bytes
        )
    chips = {"X": X, "Y": Y}
    return {a: moved[a] if n > 1 else NOTHING for a, n in chips.items()}


def pipeline_volume(B, D, itemsize=2):
    """Pipeline: activations cross a stage boundary, and gradients come back.

    B, D      tokens and model size, in elements
    itemsize  bytes per element; 2 is bf16
    returns   Step, in bytes over one boundary: BD elements each way
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, pipelining; CS336 (2025), lecture 7
    """
    Out = token_bytes(B, D, itemsize)
    return Step(forward=Out, backward=Out)


@takes(gains=whole_from(0))
def sequence_volume(B, D, itemsize=2, regather=False, gains=1):
    """Sequence parallelism: TP, and norms between whose tokens are cut.

    B, D      tokens and model size, in elements
    itemsize  bytes per element; 2 is bf16
    regather  as in `tp_volume`
    gains     norms of the layer, each with a learned gain[D] that all chips
              hold and every chip has used on its own tokens alone
    returns   Step, in bytes; what `tp_volume` gives, and 4D for each gain
    raises    ValueError that names the argument and what was expected
    source    Korthikanti et al., Reducing Activation Recomputation
    """
    moved = tp_volume(B, D, itemsize, regather)
    norms = gains * replicated_volume(D, itemsize)
    return moved._replace(backward=moved.backward + norms)


@takes(elements=size, itemsize=size)
def replicated_volume(elements, itemsize=2):
    """Bytes that chips move for a weight that all hold, as in data parallelism.

    elements  of the weight, such as D of a norm's gain or D E of a router
    itemsize  bytes per element; 2 is bf16
    returns   bytes, all in backward: an AllReduce of the weight's gradient
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5, data parallelism
    """
    return 2 * itemsize * elements


@takes(B=size, h=size, kv=size, scheme=CONTEXTS, X=at_least_one)
def context_volume(B, h, kv=None, scheme="ring", itemsize=2, X=None):
    """Context parallelism: what attention moves when tokens are cut.

    B         tokens of the sequences that are cut
    h, kv     elements of all query heads of a token, and of all its key heads;
              None: as many; values have as many as keys
    scheme    "ring" or "gather": keys and values go to everybody, in backward
              again, and their gradients back; "ulysses": AllToAlls of queries,
              keys, values and results, from tokens to heads and back
    itemsize  bytes per element; 2 is bf16
    X         chips of the axis: a ring hands each block on X - 1 times, which
              is (X - 1) / X of the whole; None: the limit of many chips. What
              a gather or an exchange is charged does not depend on it
    returns   Step, in bytes
    raises    ValueError that names the argument and what was expected
    source    Ring Attention paper; DeepSpeed-Ulysses paper
    """
    pair = 2 * token_bytes(B, h if kv is None else kv, itemsize)
    if X is not None and scheme == "ring":
        pair = pair * (X - 1) / X
    if scheme != "ulysses":
        return Step(forward=pair, backward=2 * pair)
    exchanged = (2 * token_bytes(B, h, itemsize) + pair) / 4
    return Step(forward=exchanged, backward=exchanged)


def _few_of_the_experts(k, E):
    if E is not None and k > E:
        raise ValueError(f"k must be at most E = {E}, got {k}")


@takes(_few_of_the_experts, D=size, k=how_many, capacity=size, E=how_many)
def expert_volume(B, D, k=1, itemsize=2, capacity=1, E=None):
    """Expert parallelism: tokens go to their experts and back, two AllToAlls.

    B, D      tokens and model size, in elements
    k         experts that each token visits; all experts equally busy
    itemsize  bytes per element; 2 is bf16
    capacity  slots that experts keep for tokens, over visits of tokens; all
              slots travel, also those that nobody takes
    E         experts of a router W_router[D, E] that all chips hold, and whose
              gradient is AllReduced; None: the router is left out
    returns   Step, in bytes
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 3, AllToAll; Switch Transformer paper
    """
    there = back = k * capacity * token_bytes(B, D, itemsize) / 4
    router = 0 if E is None else replicated_volume(D * E, itemsize)
    return Step(forward=there + back, backward=there + back + router)


@takes(b=size, s=size, h=size, t=how_many, recompute=flag)
def tp_elements(b, s, h, t, recompute=False):
    """Elements that leave a GPU in one layer under Megatron's TP.

    b, s, h    sequences, tokens of each, model size
    t          GPUs of the TP group
    recompute  True: backward runs the forward pass again
    returns    elements; four AllReduces of b s h on a ring, or six
    raises     ValueError that names the argument and what was expected
    source     Megatron-LM paper; CS336 (2025), lecture 7
    """
    reduces = 6 if recompute else 4
    return reduces * 2 * b * s * h * (t - 1) / t
