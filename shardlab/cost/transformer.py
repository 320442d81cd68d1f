"""Bytes that a whole Transformer moves under each strategy, ends included.

A layer has attention of h elements of queries and kv of keys a token, a gated
MLP of hidden size F, and two norms; before the layers comes a table that embeds
tokens, after them a norm and a matrix to the vocabulary. Tensor parallelism
cuts heads, F and the vocabulary, and leaves the gains of norms whole.
"""

from typing import NamedTuple

from shardlab.arguments import at_least_one, flag, plain, size, takes
from shardlab.cost.volumes import (
    NOTHING,
    Step,
    refuse_idle,
    replicated_volume,
    tp_volume,
)

__all__ = [
    "TRANSFORMERS",
    "Elements",
    "transformer_elements",
    "transformer_volume",
]

TRANSFORMERS = (
    *("none", "dp", "zero1", "zero2", "fsdp"),
    *("megatron", "sequence", "fsdp_tp"),
)
_ON_Y = ("megatron", "sequence", "fsdp_tp")


class Elements(NamedTuple):
    """Elements of the weights that a chip of the TP axis has, X apart.

    layers  attention, MLP and two gains of each layer
    ends    embedding, last gain and head
    source  scaling-book part 4
    """

    layers: float
    ends: float

    @property
    def total(self):
        return sum(self)


@takes(L=size, D=size, F=size, h=size, kv=size, vocab=size, Y=at_least_one)
def transformer_elements(L, D, F, h, kv, vocab, Y=1):
    """Weights of a Transformer, as far as tensor parallelism lets a chip have.

    L, D, F   layers, model size, hidden size of the gated MLP
    h, kv     elements of all query heads of a token, and of all its key heads
    vocab     entries of the vocabulary
    Y         chips of the TP axis, which cut all but the gains of norms
    returns   Elements
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 4
    """
    matrices = 2 * D * h + 2 * D * kv + 3 * D * F
    return Elements(L * (matrices / Y + 2 * D), 2 * vocab * D / Y + D)


def _refuse_idle_options(strategy, kept, grad_bytes):
    """ValueError for an option that the strategy does not have."""
    if kept and strategy not in ("fsdp", "fsdp_tp"):
        raise ValueError(
            f"kept must be False for the strategy {strategy!r}, which gathers "
            f"no weights; got {kept!r}"
        )
    if grad_bytes and strategy in ("none", "megatron", "sequence"):
        raise ValueError(
            f"grad_bytes must be None for the strategy {strategy!r}, whose "
            f"chips share no weights over X; got {grad_bytes!r}"
        )


@takes(
    refuse_idle,
    _refuse_idle_options,
    strategy=TRANSFORMERS,
    B=size,
    itemsize=size,
    kept=flag,
    grad_bytes=size,
)
def transformer_volume(
    strategy,
    B,
    L,
    D,
    F,
    h,
    kv,
    vocab,
    X=1,
    Y=1,
    itemsize=2,
    kept=False,
    *,
    grad_bytes=None,
):
    """Bytes that a training step of a Transformer moves over each mesh axis.

    strategy    one of TRANSFORMERS
    B           tokens of the step
    L, D, F, h, kv, vocab  as in `transformer_elements`
    X, Y        chips of the data axis and of the TP axis
    itemsize    bytes per element of weights and activations; 2 is bf16
    kept        FSDP: True keeps the weights of all layers that forward
                gathered; False gathers those of the layers again. The head's
                are kept: the backward pass begins where forward ends
    grad_bytes  bytes per element of the gradients that are summed over X; 4 is
                float32; None: itemsize
    returns     {"X": Step, "Y": Step}
    raises      ValueError that names the argument and what was expected
    source      scaling-book part 5; Megatron-LM paper; ZeRO paper
    """
    weights = transformer_elements(L, D, F, h, kv, vocab, Y)
    L, D = plain(L), plain(D)
    moved = {
        "X": _over_X(strategy, weights, itemsize, kept, grad_bytes or itemsize),
        "Y": _over_Y(strategy, B, L, D, X, itemsize),
    }
    chips = {"X": X, "Y": Y}
    return {a: moved[a] if n > 1 else NOTHING for a, n in chips.items()}


def _over_X(strategy, weights, itemsize, kept, grad_bytes):
    """Weights and gradients, under data parallelism, ZeRO and FSDP."""
    W, dW = itemsize * weights.total, grad_bytes * weights.total
    again = 0 if kept else itemsize * weights.layers
    return {
        "dp": Step(forward=0, backward=2 * dW),
        "zero1": Step(forward=0, backward=dW, update=W),
        "zero2": Step(forward=0, backward=dW, update=W),
        "fsdp": Step(forward=W, backward=again + dW),
        "fsdp_tp": Step(forward=W, backward=again + dW),
    }.get(strategy, NOTHING)


def _over_Y(strategy, B, L, D, X, itemsize):
    """Activations around two blocks a layer, and the ends, which are one more.

    The embedding has no way in and the head no way out. The head's loss is an
    AllReduce each of the largest logit, of the sum and of the right one.
    """
    if strategy not in _ON_Y:
        return NOTHING
    blocks = 2 * L + 1
    forward, backward, _ = tp_volume(B / X, D, itemsize)
    logits = 3 * replicated_volume(B / X, itemsize=4)
    gains = replicated_volume(blocks * D / X, itemsize)
    if strategy == "megatron":
        gains = 0  # every chip sees all tokens
    return Step(blocks * forward + logits, blocks * backward + gains)
