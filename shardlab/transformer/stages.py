"""The Transformer as a pipeline: layers dealt to stages, under any schedule.

The embedding goes before the first stage and the head into the loss of the last
one, so that In[b, D] keeps one shape on its way, as `staged` wants it.
"""

import jax
import jax.numpy as jnp

from shardlab.arguments import whole
from shardlab.strategies.pipeline import staged
from shardlab.strategies.sequence import norm
from shardlab.transformer.model import cross_entropy, embed, layers
from shardlab.transformer.strategies import STRATEGIES

__all__ = ["between_stages", "dealt", "gradients", "stage", "undealt"]

ALONE = STRATEGIES["none"]  # a stage is one chip, and its layers are whole


def stage(T, tokens):
    """What a stage computes: its layers, and at the end of the way the loss.

    T        tokens of a sequence
    tokens   tokens of the step, over which the loss is a mean
    returns  staged.Stage of weights as `dealt` gives them
    source   chapter 11
    """

    def through(W, In):
        # `staged` asks for shapes with an In that all stages still share.
        if "Z" not in jax.typeof(In).mat.varying:
            In = jax.lax.pcast(In, "Z", to="varying")
        return layers(ALONE, W["layers"], W["layers"], In, T)

    def surprise(W, In, targets):
        Out = norm(In, W["head"]["gain_head"])
        return cross_entropy(Out, W["head"]["W_head"], targets).sum() / tokens

    return staged.of(through, surprise)


def dealt(W, p, v=1):
    """Weights of p stages of v chunks: chunk c of stage s is part c p + s.

    W        weights of the model, a tree as `shapes`
    p, v     stages, and chunks of each
    returns  {"layers": ..., "head": ...} of arrays [p, v, ...]; the head is
             given to every stage, and used by the last
    raises   ValueError if p v does not divide the layers
    source   chapter 11
    """
    parts = whole("p", p) * whole("v", v)

    def deal(w):
        if len(w) % parts:
            raise ValueError(f"p v must divide L = {len(w)}, got {p} x {v}")
        w = w.reshape(v, p, len(w) // parts, *w.shape[1:])
        return w.swapaxes(0, 1)

    def give(w):
        return jnp.broadcast_to(w, (p, v, *w.shape))

    layers = jax.tree.map(deal, W["layers"])
    return {"layers": layers, "head": jax.tree.map(give, W["head"])}


def undealt(dW):
    """The gradients of a model's layers and head from those of its stages.

    dW       tree as `dealt` gives it
    returns  {"layers": ..., "head": ...} as in the model
    source   chapter 11
    """

    def back(w):
        return w.swapaxes(0, 1).reshape(-1, *w.shape[3:])

    layers = jax.tree.map(back, dW["layers"])
    return {
        "layers": layers,
        "head": jax.tree.map(lambda w: w.sum((0, 1)), dW["head"]),
    }


def between_stages(events, ways, mesh, T, tokens, rolled=True):
    """Loss and gradients of layers and head: what the pipeline itself does.

    events, ways, mesh, rolled  as in `staged.gradients`
    T, tokens  as in `stage`
    returns  a function of In[m, b, D], targets[m, b] and weights as `dealt`
             gives them, as `staged.gradients`
    raises   ValueError as `staged.gradients`
    source   chapter 11
    """
    return staged.gradients(stage(T, tokens), events, ways, mesh, rolled)


def gradients(events, ways, mesh, T):
    """Loss and gradients of the model, as a schedule orders the work.

    events, ways, mesh  as in `staged.gradients`
    T        tokens of a sequence
    returns  a function of tokens[B], targets[B] and weights that gives the
             parts of the loss and the gradients, in a tree as the weights
    raises   ValueError as `staged.gradients` and `dealt`, and unless each
             microbatch has whole sequences
    source   chapter 11
    """
    T, each = whole("T", T), T * len(ways)
    m, p = len(ways), dict(mesh.shape).get("Z", 1)
    v = len(ways[0]) // p

    def passes(tokens, targets, W):
        if len(tokens) % each:
            said = f"sequences of T = {T} in {m} microbatches"
            raise ValueError(f"tokens must be whole {said}, got {len(tokens)}")
        step = between_stages(events, ways, mesh, T, len(tokens))
        In, back = jax.vjp(lambda E: embed(tokens, E), W["embed"]["W_embed"])
        In = In.reshape(m, -1, In.shape[1])  # In[m, b, D]
        parts, dIn, dW = step(In, targets.reshape(m, -1), dealt(W, p, v))
        (dW_embed,) = back(dIn.sum(0).reshape(len(tokens), -1))
        return parts, {"embed": {"W_embed": dW_embed}, **undealt(dW)}

    return passes
