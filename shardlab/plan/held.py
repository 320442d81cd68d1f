"""Bytes that one chip holds under a layout; the accounts of `memory`."""

from functools import lru_cache
from typing import NamedTuple

from shardlab import memory
from shardlab.plan.models import parameter_terms


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

    layout   Layout
    returns  a number, of microbatches in all layers of one model part; those
             in one of several chunks count as that part of a microbatch
    source   chapter 11; DeepSeek-V3 report, table 2
    """
    p, m, v = layout.pp, layout.microbatches, layout.chunks
    return {
        "none": 1,
        "gpipe": m,
        "1f1b": min(p, m),
        "interleaved": min((v + 1) * p - 1, m * v) / v,
        "zero-bubble": min(p, m),
        "dualpipe": p + 1,
    }[layout.schedule]


def held(job, layout):
    """Bytes that the fullest chip holds, by what they are.

    job      Job
    layout   Layout
    returns  dict: states, gathered (a layer's weights or its gradient, whole
             while they are used) and activations, in bytes
    source   chapters 7, 11 and 12; module `memory`
    """
    terms = {
        "states": state_bytes(job, layout),
        "gathered": gathered_bytes(job, layout),
        "activations": activation_bytes(job, layout),
    }
    return {what: size for what, size in terms.items() if size}


def state_bytes(job, layout):
    """Bytes of weights, gradients and optimiser state on the fullest chip.

    job      Job
    layout   Layout
    returns  bytes; experts are cut over tp and ep, all else over tp, and ZeRO
             shares out what replicas have in common, inside a pod
    source   ZeRO paper, figure 1
    """
    parts = 2 if layout.schedule == "dualpipe" else 1
    w = stage_weights(job.model, layout.pp, parts)
    how = (layout.zero, job.recipe)
    t, X, e = layout.tp, layout.shares, layout.ep
    total = _state_bytes(w.dense / t, X, *how)
    if w.experts:
        total += _state_bytes(w.experts / (t * e), X // e, *how)
    return total


_state_bytes = lru_cache(maxsize=4096)(memory.state_bytes)


def gathered_bytes(job, layout):
    """Bytes of one layer while it is whole: its gradient, in FSDP itself too.

    job      Job
    layout   Layout
    returns  bytes; 0 for a simplified model, whose texts leave them out
    source   scaling-book part 5, FSDP
    """
    if job.model.simplified:
        return 0
    recipe = job.recipe
    if not isinstance(recipe, memory.Recipe):
        recipe = memory.RECIPES[recipe]
    each = (0, 0, recipe.grad, recipe.grad + recipe.param)[layout.zero]
    w = stage_weights(job.model)
    return each * (w.layer + w.routed / layout.ep) / layout.tp


def activation_bytes(job, layout):
    """Bytes that the fullest chip keeps for backward passes.

    job      Job
    layout   Layout
    returns  bytes, those of a layer of `memory` times layers and microbatches;
             "full" recomputation has one layer's activations besides
    source   Korthikanti et al. (2022), sections 4 and 5
    """
    if job.model.simplified:
        return _checkpoints(job.model, job.batch) / (job.chips * job.pods)
    local = job.attended // layout.cp
    replicas = job.pods * layout.dp * layout.cp * layout.microbatches
    tokens = job.batch / replicas
    how = (job.model, local, layout.tp, layout.sp)
    layer = _layer_bytes(*how, job.recompute, layout.cp) / local * tokens
    layers = (job.model.L + job.model.ends) / layout.pp
    again = 0
    if layout.pp == 1:
        layers = job.model.L
    if job.recompute == "full":
        again = _layer_bytes(*how, "selective", layout.cp) / local * tokens
    return layers * in_flight(layout) * layer + again


@lru_cache(maxsize=4096)
def _layer_bytes(model, local, tp, sp, recompute, cp):
    """One layer and one sequence, `local` tokens of it, on one chip."""
    shape = (local, 1, model.D, model.heads, tp, sp)
    total = memory.activation_bytes(*shape, recompute)
    if recompute == "none" and cp > 1:
        # Each chip has the scores of its tokens against the whole sequence.
        scores = total - memory.activation_bytes(*shape, "selective")
        total += (cp - 1) * scores
    return total


@lru_cache(maxsize=64)
def _checkpoints(m, tokens):
    return memory.checkpoint_bytes(m.L, tokens, m.D, m.F, m.gated)
