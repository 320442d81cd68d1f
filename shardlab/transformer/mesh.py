"""The Transformer on a mesh of up to four axes at once.

S  stages of a pipeline, GPipe: L/S layers each
X  data parallelism: replicas, whose state ZeRO may cut
Z  context parallelism: chips that share the tokens of each sequence
Y  tensor parallelism, with or without sequence parallelism

The first is the outermost. A product of strategies needs no code of its own:
each axis has its cut and its collectives, and does not look at the others. But
X and Z are one group wherever weights are concerned, for chips of Z hold the
same weights and see other tokens.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.ad_checkpoint import checkpoint_name
from jax.lax import axis_index, axis_size, ppermute

from shardlab.arguments import one_of, whole
from shardlab.strategies import gather_attention, ring_attention, ulysses
from shardlab.strategies.sequence import norm
from shardlab.transformer import strategies as hooks
from shardlab.transformer import training
from shardlab.transformer.model import cross_entropy, embed, layers, loss
from shardlab.transformer.training import all_tokens, layout

__all__ = [
    "batch_spec",
    "context_attention",
    "data_axes",
    "ends",
    "finish",
    "gradients",
    "in_stages",
    "joined",
    "kept",
    "over_Y",
    "over_data",
    "part",
    "stacked",
    "start",
    "strategy",
    "through",
    "updates",
    "varied",
]

AXES = ("S", "X", "Z", "Y")
CONTEXTS = {
    "ring": ring_attention,
    "gather": gather_attention,
    "ulysses": ulysses,
}


def data_axes(mesh):
    """The axes whose chips see different tokens with the same weights.

    mesh     jax.sharding.Mesh or AbstractMesh with axes of AXES
    returns  tuple of those of X and Z that it has
    source   Llama 3 report, section 3.3.2
    """
    return tuple(axis for axis in ("X", "Z") if axis in mesh.axis_names)


def strategy(mesh, zero=0, sp=True, context="ring"):
    """What stands where on a mesh: a Strategy for the layers of one stage.

    mesh     as in `data_axes`
    zero     0, 1 or 3: what chips of X and Z share out; 0 or 1 with stages,
             for FSDP would gather a stage again for every microbatch
    sp       sequence parallelism between products that Y cuts
    context  how chips of Z get keys and values: a name in CONTEXTS
    returns  Strategy
    raises   ValueError that names the argument and what was expected
    source   chapter 15
    """
    one_of("zero", zero, (0, 1) if "S" in mesh.axis_names else (0, 1, 3))
    one_of("context", context, CONTEXTS)
    data, cut = data_axes(mesh), {}
    if "Y" in mesh.axis_names:
        cut |= hooks.ON_Y
    if "S" in mesh.axis_names:
        cut["L"] = "S"
    shares = cut | ({"D": data} if zero and data else {})
    sums = sp and "Y" in mesh.axis_names
    return hooks.Strategy(
        "a product",
        batch=data,
        vocab=("Y",) if "Y" in mesh.axis_names else (),
        cut=shares if zero == 3 else cut,
        cut_states=shares,
        zero=zero,
        own=partial(varied, axes=("Y",) if sums else (), only="gain"),
        attend=context_attention(context)
        if "Z" in data
        else hooks.whole_attention,
        keeps=kept,
        **(over_Y(sp) if "Y" in mesh.axis_names else {}),
        **(over_data(data, zero) if data else {}),
    )


def over_Y(sp):
    """What stands on the way into products that Y cuts, and out of them."""
    if sp:
        return {"enter": hooks.gather_tokens, "leave": hooks.scatter_tokens}
    return {"enter": hooks.f, "leave": hooks.g}


def over_data(data, zero):
    """What ZeRO does with weights, gradients and the optimiser's step."""

    def gathered(own, held):
        return hooks.gather(own, axes=data)

    def collect(dW):
        return hooks.scatter(dW, data)

    def update(dW, states):
        W, states = hooks.update(dW, states)
        return hooks.gather(W, "invarying", data), states

    ways = {1: {"collect": collect, "update": update}, 3: {"weights": gathered}}
    return ways.get(zero, {})


def varied(W, axes, only="", groups=("embed", "layers", "head")):
    """Weights that chips of some axes use for tokens of their own: dW is {U}.

    Inside what is differentiated, dW is AllReduced once, at the very end.

    W        tree of weights, or of pieces
    axes     mesh axes, or ()
    only     arrays whose names begin like this
    groups   parts of the model
    returns  the same tree
    source   chapter 6
    """
    if not axes:
        return W
    return {
        group: hooks.for_own_tokens(axes, of, only) if group in groups else of
        for group, of in W.items()
    }


def context_attention(kind):
    """Attention to keys and values of all chips of Z, with its way back."""
    module = CONTEXTS[kind]

    @jax.custom_vjp
    def attend(Q, K, V):
        return module.forward(Q, K, V)[0]

    def forward(Q, K, V):
        both = module.forward(Q, K, V)
        return jax.tree.map(lambda x: checkpoint_name(x, "attention"), both)

    attend.defvjp(forward, lambda saved, dOut: module.backward(dOut, *saved))
    return attend


def kept(primitive, *_, **how):
    """What a layer keeps: products, and what was moved, but for weights."""
    if primitive.name == "name":
        return how["name"] == "attention"
    return hooks.products(primitive, **how)


# ---- stages ------------------------------------------------------------------


def in_stages(at, W, In, T):
    """All microbatches through the layers of all stages, one tick at a time.

    A stage that has no microbatch works on what it happens to have, and sends
    it on; nobody reads it.

    at       Strategy
    W        weights of the layers of this stage
    In       In[m, b, D], read on the first stage
    T        tokens of a sequence that are here
    returns  Out[m, b, D], to be read on the last stage
    source   GPipe paper
    """
    p, first = axis_size("S"), axis_index("S") == 0
    onward = [(stage, stage + 1) for stage in range(p - 1)]

    def tick(arrived, due):
        Out = layers(at, W, W, jnp.where(first, due, arrived), T)
        return ppermute(Out, "S", onward), Out

    nothing = jnp.zeros_like(In[:1])
    queue = jnp.concatenate([In, *[nothing] * (p - 1)])
    _, Outs = lax.scan(tick, nothing[0], queue)
    return Outs[p - 1 :]


def through(at, tokens, targets, W, T, m):
    """All microbatches through the model; the loss that falls due here.

    at       Strategy
    tokens, targets  tokens[b], targets[b] of this chip
    W        its weights: `layers` of its stage, both ends
    T        tokens of a sequence that are here
    m        microbatches
    returns  sum of the surprise over its tokens; 0 but in the last stage
    source   GPipe paper
    """
    ends = [at.weights(W[end], None) for end in ("embed", "head")]
    In = jax.vmap(partial(start, at, ends[0]))(tokens.reshape(m, -1))
    Out = in_stages(at, W["layers"], In, T)
    loss = jax.vmap(partial(finish, at, ends[1]))
    surprise = loss(Out, targets.reshape(m, -1)).sum()
    return jnp.where(axis_index("S") == axis_size("S") - 1, surprise, 0)


def start(at, W, tokens):
    """In[b, D] of a microbatch, laid out as the strategy wants it."""
    return at.leave(embed(tokens, W["W_embed"], at.vocab))


def finish(at, W, Out, targets):
    """The sum of the surprise of a microbatch at its targets."""
    Out = at.enter(norm(Out, W["gain_head"]))
    return cross_entropy(Out, W["W_head"], targets, at.vocab).sum()


# ---- both passes -------------------------------------------------------------


def part(at, T, m, tokens, targets, W):
    """This chip's part of the loss, a mean over the tokens of all chips."""
    mine = at.batch if at.zero == 0 else ()
    W = at.own(varied(W, mine))
    if "L" in at.cut:
        surprise = through(at, tokens, targets, W, T, m)
    else:
        surprise = loss(at, W, W, tokens, targets, T)
    return surprise / all_tokens(at, tokens)


def gradients(mesh, m=1, *, zero=0, sp=True, context="ring"):
    """Loss and gradients on a mesh.

    mesh     jax.sharding.Mesh or AbstractMesh with some of AXES
    m        microbatches, for stages
    zero, sp, context  as in `strategy`
    returns  a function of tokens[n, T], targets[n, T] and weights that gives
             the parts of the loss (their sum is the mean over all tokens) and
             the gradients; with stages, those of the ends as `joined` wants
    raises   ValueError that names the argument and what was expected
    source   chapter 15
    """
    at, m = strategy(mesh, zero, sp, context), whole("m", m)
    staged = ("S",) if "S" in mesh.axis_names else ()

    def per_device(tokens, targets, W):
        T = tokens.shape[1]
        W = varied(W, at.batch if at.zero == 1 else ())
        W = varied(W, staged, groups=("embed", "head"))
        batch = tokens.reshape(-1), targets.reshape(-1)
        of = partial(part, at, T, m, *batch)
        value, dW = jax.value_and_grad(of)(W)
        dW = at.collect(dW)
        return value[None], stacked(dW) if staged else dW

    pieces = layout(at.cut_states)
    return jax.shard_map(
        per_device,
        mesh=mesh,
        in_specs=(batch_spec(mesh),) * 2 + (layout(at.cut),),
        out_specs=(P(staged + at.batch), ends(pieces) if staged else pieces),
    )


def batch_spec(mesh):
    """How tokens[n, T] lie: sequences on X, the tokens of each on Z.

    mesh     as in `data_axes`
    returns  PartitionSpec
    source   chapter 15
    """
    return P(*(axis if axis in mesh.axis_names else None for axis in "XZ"))


def stacked(dW):
    """Gradients of the ends with a first dimension of stages."""
    return {
        group: of if group == "layers" else {k: w[None] for k, w in of.items()}
        for group, of in dW.items()
    }


def ends(specs):
    """Layouts of what `stacked` gives."""
    return {
        group: of
        if group == "layers"
        else {k: P("S", *spec) for k, spec in of.items()}
        for group, of in specs.items()
    }


def joined(dW):
    """The gradients of the model from those of its stages.

    dW       tree of gradients; those of the ends have a dimension of stages
    returns  tree as the weights: embedding of the first stage, head of the last
    source   chapter 11
    """
    at = {"embed": 0, "head": -1}
    return {
        group: {k: w[at[group]] for k, w in of.items()} if group in at else of
        for group, of in dW.items()
    }


def updates(mesh, *, zero=0, sp=True, context="ring"):
    """The optimiser's step alone, as `training.updates`.

    mesh, zero, sp, context  as in `gradients`
    returns  a function of gradients and states that gives weights and states
    source   ZeRO paper
    """
    return training.updates(strategy(mesh, zero, sp, context), mesh)
