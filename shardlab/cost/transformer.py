"""Bytes that a whole Transformer moves under each strategy, ends included.

A layer has attention of h elements of queries and kv of keys a token, a gated
MLP of hidden size F, and two norms; before the layers comes a table that embeds
tokens, after them a norm and a matrix to the vocabulary. Tensor parallelism
cuts heads, F and the vocabulary, and leaves the gains of norms whole.
"""

from typing import NamedTuple

from shardlab.arguments import one_of
from shardlab.cost.sizes import at_least_one, sizes
from shardlab.cost.volumes import NOTHING, Step, replicated_volume, tp_volume

TRANSFORMERS = (
    *("none", "dp", "zero1", "zero2", "fsdp"),
    *("megatron", "sequence", "fsdp_tp"),
)
_ON_Y = ("megatron", "sequence", "fsdp_tp")
_EITHER = (True, False)


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
    L, D, F = sizes(L=L, D=D, F=F)
    h, kv, vocab = sizes(h=h, kv=kv, vocab=vocab)
    Y = at_least_one("Y", Y)
    matrices = 2 * D * h + 2 * D * kv + 3 * D * F
    return Elements(L * (matrices / Y + 2 * D), 2 * vocab * D / Y + D)


def transformer_volume(
    strategy, B, L, D, F, h, kv, vocab, X=1, Y=1, itemsize=2, kept=False
):
    """Bytes that a training step of a Transformer moves over each mesh axis.

    strategy  one of TRANSFORMERS
    B         tokens of the step
    L, D, F, h, kv, vocab  as in `transformer_elements`
    X, Y      chips of the data axis and of the TP axis
    itemsize  bytes per element of weights and activations; 2 is bf16
    kept      FSDP: True keeps the weights of all layers that forward gathered;
              False gathers those of the layers again. The head's are kept: the
              backward pass begins where forward ends
    returns   {"X": Step, "Y": Step}
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 5; Megatron-LM paper; ZeRO paper
    """
    one_of("strategy", strategy, TRANSFORMERS)
    _refuse_idle(strategy, X, Y)
    weights = transformer_elements(L, D, F, h, kv, vocab, Y)
    B, L, D, itemsize = sizes(B=B, L=L, D=D, itemsize=itemsize)
    moved = {
        "X": _over_X(strategy, weights, itemsize, kept),
        "Y": _over_Y(strategy, B, L, D, X, itemsize),
    }
    chips = {"X": X, "Y": Y}
    return {a: moved[a] if n > 1 else NOTHING for a, n in chips.items()}


def _over_X(strategy, weights, itemsize, kept):
    """Weights and gradients, under data parallelism, ZeRO and FSDP."""
    W = dW = itemsize * weights.total
    again = 0 if one_of("kept", kept, _EITHER) else itemsize * weights.layers
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


def _refuse_idle(strategy, X, Y):
    """ValueError if an axis has chips that the strategy leaves idle."""
    uses = {"none": "", "megatron": "Y", "sequence": "Y", "fsdp_tp": "XY"}
    for name, chips in (("X", X), ("Y", Y)):
        if at_least_one(name, chips) > 1 and name not in uses.get(
            strategy, "X"
        ):
            raise ValueError(
                f"{name} must be 1 for the strategy {strategy!r}, which does "
                f"not use that axis; got {chips!r}"
            )
