"""Bytes that one chip holds under a layout.

States by the accounts of `memory`; activations term by term, from the model's
own layer: gated or not, with as many key heads as it has, with experts.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from shardlab import memory
from shardlab.arguments import one_of, real, whole
from shardlab.models import a_model, parameter_terms
from shardlab.plan.layouts import POLICIES, a_job, a_layout

__all__ = [
    "BF16",
    "Account",
    "KeptByLayer",
    "Weights",
    "account",
    "activations",
    "attention_kept",
    "chip_bytes",
    "gathered_bytes",
    "head_kept",
    "in_flight",
    "kept_bytes",
    "key_elements",
    "last_in_flight",
    "layer_kept",
    "mlp_kept",
    "passing_kept",
    "stage_layers",
    "stage_weights",
    "state_bytes",
    "states",
]

BF16 = 2  # bytes of a weight, a gradient or an activation


class Weights(NamedTuple):
    """Parameters of the stage of a pipeline that has most, and of a layer.

    dense    of the stage, but for routed experts
    experts  of the stage, routed
    layer    of one layer of the mean, but for routed experts
    routed   of one layer of the mean, routed experts
    """

    dense: float
    experts: float
    layer: float
    routed: float


@lru_cache(maxsize=4096)
def stage_weights(model, pp=1, parts=1):
    """Parameters of the stage of a pipeline that has most.

    Layers of the mean are dealt equally; a stage at an end has an embedding
    besides, in the place of a layer if `model.ends` says so.

    model    Model
    pp       stages
    parts    model parts that a stage has, 2 for a pipeline of two ends
    returns  Weights
    source   chapter 15
    """
    terms = parameter_terms(model)
    routed = terms["experts"] / model.L
    layer = sum(terms[k] for k in ("attention", "mlp", "router")) / model.L
    if pp == 1:
        dense = terms["embedding"] + layer * model.L
        return Weights(dense, terms["experts"], layer, routed)
    places, table = (model.L + model.ends) // pp, model.vocab * model.D
    at_end = places - (1 if model.ends else 0)
    dense = max(places * layer, at_end * layer + table)
    experts = (places if routed else 0) * routed
    return Weights(parts * dense, parts * experts, layer, routed)


def in_flight(layout):
    """Microbatches that the first stage of a pipeline holds at one time.

    layout   Arrangement
    returns  a number, of microbatches in all layers of one model part; those
             in one of several chunks count as that part of a microbatch
    raises   ValueError if layout is no Arrangement, or a number of it cannot be
    source   chapter 11; DeepSeek-V3 report, table 2
    """
    return _in_flight(a_layout(layout))


def _in_flight(layout):
    p, m, v = layout.pp, layout.microbatches, layout.chunks
    if layout.schedule == "gpipe":
        return m
    if layout.schedule == "dualpipe":
        return p + 1
    if layout.schedule == "interleaved":
        return _less((v + 1) * p - 1, m * v) / v
    return 1 if layout.schedule == "none" else _less(p, m)


def _less(a, b):
    """The smaller of two numbers, or of each two in arrays."""
    return np.minimum(a, b) if isinstance(b, np.ndarray) else min(a, b)


def _more(a, b):
    """The larger of two numbers, or of each two in arrays."""
    arrays = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
    return np.maximum(a, b) if arrays else max(a, b)


def last_in_flight(layout):
    """Microbatches that the last stage of a pipeline holds at one time.

    layout   Arrangement
    returns  a number, as `in_flight`
    raises   ValueError if layout is no Arrangement, or a number of it cannot be
    source   chapter 11
    """
    return _last_in_flight(a_layout(layout))


def _last_in_flight(layout):
    p, m, v = layout.pp, layout.microbatches, layout.chunks
    if layout.schedule == "1f1b":
        return 1
    if layout.schedule == "interleaved":
        return _less((v - 1) * p + 1, m * v) / v
    return _in_flight(layout)


def chip_bytes(job, layout):
    """Bytes that the fullest chip holds, by what they are.

    job      Job
    layout   Arrangement
    returns  dict: states, gathered (a layer's weights or its gradient, whole
             while they are used), activations and logits, in bytes
    raises   ValueError if job is no Job or layout no Arrangement
    source   chapters 7, 11 and 12; module `memory`
    """
    a_job(job), a_layout(layout)
    layers, logits = activations(job, layout)
    terms = {
        "states": state_bytes(job, layout),
        "gathered": gathered_bytes(job, layout),
        "activations": layers,
        "logits": logits,
    }
    return {what: size for what, size in terms.items() if size}


def state_bytes(job, layout):
    """Bytes of weights, gradients and optimiser state on the fullest chip.

    job      Job
    layout   Arrangement
    returns  bytes; experts are cut over tp and ep, all else over tp, and ZeRO
             shares out what replicas have in common, inside a pod
    raises   ValueError if job is no Job or layout no Arrangement
    source   ZeRO paper, figure 1
    """
    return states(a_job(job), a_layout(layout))


def states(job, layout):
    """The same as `state_bytes`, of arguments that were checked.

    job      Job
    layout   Arrangement
    returns  bytes
    source   ZeRO paper, figure 1
    """
    parts = 2 if layout.schedule == "dualpipe" else 1
    w = stage_weights(job.model, layout.pp, parts)
    how = (layout.zero, job.recipe)
    t, X, e = layout.tp, layout.shares, layout.ep
    X *= job.copies
    total = _state_bytes(w.dense / t, X, *how)
    if w.experts:
        total += _state_bytes(w.experts / (t * e), X // e, *how)
    return total


_state_bytes = lru_cache(maxsize=4096)(memory.state_bytes)


def gathered_bytes(job, layout):
    """Bytes of one layer while it is whole: its gradient, in FSDP itself too.

    job      Job
    layout   Arrangement
    returns  bytes of a layer or of an embedding, whichever is larger; 0 for a
             simplified model, whose texts leave them out
    source   scaling-book part 5, FSDP
    """
    if job.model.simplified:
        return 0
    recipe = job.recipe
    if not isinstance(recipe, memory.Recipe):
        recipe = memory.RECIPES[recipe]
    each = (0, 0, recipe.grad, recipe.grad + recipe.param)[layout.zero]
    w = stage_weights(job.model)
    table = job.model.vocab * job.model.D
    return each * max(w.layer + w.routed / layout.ep, table) / layout.tp


def stage_layers(model, pp):
    """Layers of the stage of a pipeline that has most; an end counts as one.

    model    Model
    pp       stages
    returns  a number
    source   chapter 11
    """
    return (model.L + model.ends) / pp if pp > 1 else model.L


# ---- activations -------------------------------------------------------------


class KeptByLayer(NamedTuple):
    """Something that a layer keeps of each token for its backward pass.

    name    what it is
    bytes   bytes for one token, before anything is cut
    cut_by  "TP", tensor parallelism cuts it; "KV", as far as there are key
            heads; "SP", only sequence parallelism does
    """

    name: str
    bytes: float
    cut_by: str


def attention_kept(model, attended, recompute="selective"):
    """What the attention of one layer keeps of one token.

    model      Model
    attended   tokens that each token attends to
    recompute  "none" keeps the scores; others make them again; "minimal" and
               "alternate" keep the outputs of matmuls with weights, all or
               every second one
    returns    list of KeptByLayer; bf16, but for masks and sums of the softmax
    source     Korthikanti et al. (2022); FlashAttention-2 paper; MaxText's
               remat_policy minimal; torchtitan's selective op checkpointing
    """
    m, query = model, BF16 * model.heads * model.head_size
    terms = [KeptByLayer("norm 1 input", BF16 * m.D, "SP")]
    if recompute in ("minimal", "alternate"):
        return terms + _outputs_kept(m, query, recompute)
    terms += [KeptByLayer("attention input", BF16 * m.D, "SP")]
    terms += [KeptByLayer("attention output", query, "TP")]
    if m.latent:
        rotary = BF16 * m.heads * m.latent[2]
        terms += [KeptByLayer("latent vectors", BF16 * sum(m.latent), "SP")]
        terms += [
            KeptByLayer("query, key, value", 3 * query + 2 * rotary, "TP")
        ]
    else:
        key = BF16 * m.kv_heads * m.head_size
        terms += [
            KeptByLayer("query", query, "TP"),
            KeptByLayer("key, value", 2 * key, "KV"),
        ]
    if m.dropout:
        terms += [KeptByLayer("dropout mask", m.D, "SP")]
    if recompute == "none":
        each = 5 if m.dropout else 2
        terms += [KeptByLayer("scores", each * m.heads * attended, "TP")]
    elif not m.dropout:
        terms += [KeptByLayer("softmax sums", 4 * m.heads, "TP")]
    return terms


def _outputs_kept(m, query, recompute):
    """Outputs of the matmuls of attention; torchtitan keeps the odd ones."""
    key = BF16 * (sum(m.latent) if m.latent else m.kv_heads * m.head_size)
    if recompute == "alternate":
        return [
            KeptByLayer("query", query, "TP"),
            KeptByLayer("value", key, "KV"),
            KeptByLayer("attention output", query, "TP"),
            KeptByLayer("softmax sums", 4 * m.heads, "TP"),
        ]
    return [
        KeptByLayer("query", query, "TP"),
        KeptByLayer("key, value", 2 * key, "KV"),
        KeptByLayer("projection output", BF16 * m.D, "SP"),
    ]


def mlp_kept(model, recompute="selective"):
    """What the MLP of one layer keeps of one token, on a mean of all layers.

    model      Model
    recompute  as in `attention_kept`
    returns    list of KeptByLayer; of each expert that a token visits as of
               an MLP, and besides what goes to it and comes back
    source     Korthikanti et al. (2022); SwiGLU paper
    """
    m, hidden = model, BF16 * (3 if model.gated else 2)
    sparse = (m.L - m.dense_layers) / m.L if m.experts else 0
    if recompute in ("minimal", "alternate"):
        hidden = BF16 * (2 if model.gated and recompute == "minimal" else 1)
        terms = [KeptByLayer("MLP output", BF16 * m.D, "SP")]
    else:
        terms = [KeptByLayer("norm 2 input", BF16 * m.D, "SP")]
        terms += [KeptByLayer("MLP input", BF16 * m.D, "SP")]
    if sparse < 1:
        terms += [KeptByLayer("MLP hidden", hidden * m.F * (1 - sparse), "TP")]
    if m.dropout:
        terms += [KeptByLayer("dropout mask", m.D, "SP")]
    if sparse:
        visits = (m.active + m.shared) * m.F_expert * sparse
        terms += [KeptByLayer("experts hidden", hidden * visits, "TP")]
        there = 2 * BF16 * m.active * m.D * sparse
        terms += [KeptByLayer("experts input, output", there, "SP")]
        terms += [KeptByLayer("router scores", 4 * m.experts * sparse, "SP")]
    return terms


def layer_kept(model, attended, tp=1, sp=False, recompute="selective"):
    """Bytes that one layer keeps of each token, on one chip.

    model      Model
    attended   tokens that each token attends to
    tp, sp     as in Arrangement
    recompute  a name in layouts.POLICIES
    returns    bytes
    raises     ValueError that names the argument and what was expected
    source     Korthikanti et al. (2022)
    """
    a_model(model), real("attended", whole("attended", attended))
    if model.heads % whole("tp", tp):
        raise ValueError(
            f"tp must be a divisor of the {model.heads} heads of {model.name}, "
            f"got {tp}"
        )
    one_of("sp", sp, (True, False))
    one_of("recompute", recompute, POLICIES)
    return _layer_kept(model, attended, tp, sp, recompute)


@lru_cache(maxsize=4096)
def _layer_kept(model, attended, tp, sp, recompute):
    terms = attention_kept(model, attended, recompute)
    terms += mlp_kept(model, recompute)
    if recompute == "full":
        terms = terms[:1]
    cut = {"TP": tp, "KV": min(tp, model.kv_heads), "SP": tp if sp else 1}
    return sum(kept.bytes / cut[kept.cut_by] for kept in terms)


@lru_cache(maxsize=4096)
def head_kept(model, tp=1, sp=False):
    """Bytes that the head keeps of each token, on one chip.

    model    Model
    tp, sp   as in Arrangement
    returns  bytes: the inputs of norm and head, and logits: they and their
             gradients in float32, and a copy of both in bf16
    source   Korthikanti et al. (2022); torchtitan's loss in float32
    """
    inputs = 2 * BF16 * model.D / (tp if sp else 1)
    return inputs + (2 * 4 + 2 * BF16) * model.vocab / tp


def key_elements(model, tp=1):
    """Elements of the keys and values of one token and layer on a TP rank.

    model    Model
    tp       chips that cut the heads
    returns  elements; with a latent vector its size, which all ranks hold
    source   chapter 13
    """
    if model.latent:
        return model.latent[1] + model.latent[2]
    return 2 * model.kv_heads * model.head_size / min(tp, model.kv_heads)


def passing_kept(model, tp, cp, context):
    """Bytes of keys, values and gradients of other chips, a token of one's own.

    model    Model
    tp, cp   chips of these mesh axes
    context  a name in CONTEXTS
    returns  bytes, for one layer: "ring" holds the block that passes by,
             "gather" all of them, "ulysses" none
    source   chapter 13
    """
    if cp == 1 or context == "ulysses":
        return 0
    blocks = cp if context == "gather" else 1
    return 2 * BF16 * key_elements(model, tp) * blocks


class Account(NamedTuple):
    """Bytes of one chip for each token of a microbatch that it holds.

    stage   all layers of a stage
    first   besides, in the first stage: the embedding's dropout mask
    head    in the last stage, for one microbatch
    once    for one microbatch and one layer at a time
    tokens  of all microbatches of a replica, on one chip
    """

    stage: float
    first: float
    head: float
    once: float
    tokens: float


def account(job, layout):
    """The bytes a token that layouts alike but for microbatches share.

    job      Job
    layout   Arrangement; schedule, chunks and microbatches do not matter
    returns  Account
    source   chapters 11 to 13
    """
    m, how = job.model, (layout.tp, layout.sp)
    # XLA shards what stays between matmuls over TP, along D: PaLM, section 4;
    # MaxText's rule for activation_embed.
    cut = layout.tp, layout.sp or job.network.kind == "torus"
    kept = layer_kept(m, job.attended, *cut, job.recompute)
    once = passing_kept(m, layout.tp, layout.cp, layout.context)
    if job.recompute in ("full", "alternate", "minimal"):
        more = layer_kept(m, job.attended, *cut) - kept
        once += more if job.recompute != "full" else more + kept
    # A matmul's input is gathered, and its output is not yet scattered.
    whole = 2 * BF16 * m.D if layout.sp else 0
    layers = stage_layers(m, layout.pp)
    if job.offload:  # one layer arrives while another is in use
        layers = min(layers, 2)
    return Account(
        layers * kept,
        (m.D if m.dropout else 0) / (layout.tp if layout.sp else 1),
        head_kept(m, *how) + whole,
        once + whole,
        job.batch / (job.pods * layout.dp * layout.cp),
    )


def activations(job, layout, known=None):
    """Bytes that the fullest chip keeps for backward passes, and logits.

    job      Job
    layout   Arrangement
    known    Account of this layout; None: it is made
    returns  (bytes of layers, bytes of the head) of the stage that has more
    source   Korthikanti et al. (2022)
    """
    if job.model.simplified:
        kept = _checkpoints(job.model, job.batch)
        return kept / (job.chips * job.pods), 0
    start, end, head = _at_ends(layout, known or account(job, layout))
    if _has_both(layout):
        return start, head
    return (start, 0) if start > end + head else (end, head)


def _at_ends(layout, a):
    """Bytes of layers in the first and in the last stage, and of the head.

    The head's are those above what is there once: by the time a layer is made
    again, the logits of its microbatch are gone.
    """
    each = a.tokens / layout.microbatches
    logits = layout.microbatches if layout.schedule == "gpipe" else 1
    start = each * ((a.stage + a.first) * _in_flight(layout) + a.once)
    end = each * (a.stage * _last_in_flight(layout) + a.once)
    return start, end, _more(each * (logits * a.head - a.once), 0)


def _has_both(layout):
    """Whether one stage has both the embedding and the head."""
    return layout.pp == 1 or layout.schedule == "dualpipe"


def kept_bytes(job, layout, known=None):
    """Bytes of activations on the fullest chip, those of the head included.

    job      Job
    layout   Arrangement; its chunks and microbatches may be arrays
    known    Account of this layout; None: it is made
    returns  bytes, an array if chunks and microbatches are
    source   Korthikanti et al. (2022)
    """
    if job.model.simplified:
        return sum(activations(job, layout))
    start, end, head = _at_ends(layout, known or account(job, layout))
    if _has_both(layout):
        return start + head
    return _more(start, end + head)


@lru_cache(maxsize=64)
def _checkpoints(m, tokens):
    return memory.checkpoint_bytes(m.L, tokens, m.D, m.F, m.gated)
