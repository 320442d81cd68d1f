"""A training step of the book's Transformer: time, FLOPs, and memory."""

from dataclasses import asdict, replace
from functools import cache, partial

import jax
import numpy as np
from jax.sharding import AxisType

from bench.gpu.clock import attempted, timed
from shardlab import count, memory, models
from shardlab.strategies import adam
from shardlab.transformer import STRATEGIES, evidence, training
from shardlab.transformer import model as decoder
from shardlab.transformer.strategies import (
    everything,
    products,
    whole_attention,
)

MODEL = models.Model(
    "one-chip",
    L=12,
    D=2048,
    F=8192,
    heads=16,
    kv_heads=16,
    head_size=128,
    vocab=32_768,
    context=2048,
)
TINY = models.Model(
    "tiny",
    L=2,
    D=16,
    F=48,
    heads=4,
    kv_heads=2,
    head_size=4,
    vocab=40,
    context=8,
)
KEEPS = {
    "nothing": lambda *_, **how: False,
    "products": products,
    "everything": everything,
}
# Keeps from the least memory to the most, so that each row's peak is its own.
SIZES = {
    "full": {"model": MODEL, "sequences": 4, "keeps": list(KEEPS)},
    "quick": {"model": TINY, "sequences": 2, "keeps": ["products"]},
}


def fused(Q, K, V):
    """Attention of a sequence that never stores its scores, cuDNN's.

    Q, K, V  Q[T, G, R, d], K[T, G, d], V[T, G, d]
    returns  Heads[T, G, R, d] in float32
    """
    T, G, R, d = Q.shape
    kernel = None if jax.default_backend() == "cpu" else "cudnn"
    Heads = jax.nn.dot_product_attention(
        Q.reshape(T, G * R, d), K, V, is_causal=True, implementation=kernel
    )
    return Heads.reshape(Q.shape).astype("float32")


ATTENTION = {"whole": whole_attention, "fused": fused}
RECOMPUTE = {"nothing": "full", "everything": "none"}


def part(sizes, effort, chip):
    """Rows for all that a layer may keep, as the docstring of bench.gpu says.

    sizes, effort, chip  as in `bench.gpu.matmul.part`
    returns  dict: model, tokens, params, flops_formula, rows
    """
    model = sizes["model"]
    B = sizes["sequences"] * model.context
    names = ("L", "D", "F", "heads", "kv_heads", "head_size", "vocab")
    told = {name: asdict(model)[name] for name in (*names, "context")}
    once = sum(models.forward_flops(model, model.context).values())
    return {
        "model": told,
        "tokens": B,
        "params": params(model),
        "flops_formula": 3 * B * once,
        "rows": [
            row(keeps, attention, model, B, effort, chip)
            for attention in ATTENTION
            for keeps in sizes["keeps"]
        ],
    }


def params(model):
    """Parameters of the decoder, gains included."""
    leaves = jax.tree.leaves(
        decoder.shapes(model), is_leaf=lambda x: type(x) is tuple
    )
    return sum(int(np.prod(shape)) for shape in leaves)


def row(keeps, attention, model, B, effort, chip):
    """What is known of the step before it runs, then how it ran.

    FLOPs and tally are those of whole attention in either case.
    """
    known = {
        "keeps": keeps,
        "attention": attention,
        "flops": step_flops(keeps, model, B),
        "flops_model": step_flops("everything", model, B),
        "tally": attempted({}, lambda: tally(keeps, model, B)),
    }
    return attempted(known, lambda: trained(known, model, B, effort, chip))


def trained(known, model, B, effort, chip):
    """Compile the step, run it and time it."""
    program = compiled(known["keeps"], model, B, known["attention"])
    before = peak_bytes()
    seconds = timed([stepper(program, model, B)], effort)
    after = peak_bytes()
    could = chip["flops"] * seconds["seconds"] if chip else None
    return {
        "program": program_bytes(program),
        **seconds,
        "tokens_per_s": B / seconds["seconds"],
        "mfu": known["flops_model"] / could if chip else None,
        "hfu": known["flops"] / could if chip else None,
        "device_peak_bytes": after if after != before else None,
    }


# ---- the program -------------------------------------------------------------


def strategy(keeps, attention="whole"):
    """One chip alone, whose layers keep so much."""
    return replace(
        STRATEGIES["none"],
        name=f"{keeps}, {attention}",
        keeps=KEEPS[keeps],
        attend=ATTENTION[attention],
    )


def mesh():
    """One device, with the axes that the Transformer asks for."""
    types = (AxisType.Auto,) * 2
    first = jax.devices()[:1]
    return jax.make_mesh((1, 1), ("X", "Y"), axis_types=types, devices=first)


def program_of(keeps, model, B, attention="whole"):
    """The step as a function, and the shapes of its arguments."""
    at, one = strategy(keeps, attention), mesh()
    arguments = training.arguments(at, one, model, B)
    return training.train(at, one, model.context), arguments


@cache
def compiled(keeps, model, B, attention="whole"):
    """The step, compiled; it overwrites weights and states.

    keeps    a key of KEEPS
    model    shardlab.models.Model
    B        tokens of the step
    attention  a key of ATTENTION
    returns  jax.stages.Compiled
    """
    step, arguments = program_of(keeps, model, B, attention)
    return jax.jit(step, donate_argnums=(2, 3)).lower(*arguments).compile()


def stepper(program, model, B):
    """A function that takes one step each time, on from where it was.

    program  as `compiled` returns it
    model, B  as in `compiled`
    returns  function of no arguments that returns the loss, as an array
    """
    made = maker(model, B)()
    batch, held = made[:2], list(made[2:])

    def step():
        parts, *held[:] = program(*batch, *held)
        return parts

    return step


@cache
def maker(model, B):
    """The program of `values`; what it makes lies where the step wants it."""
    _, arguments = program_of("products", model, B)
    places = jax.tree.map(lambda x: x.sharding, arguments)
    return jax.jit(partial(values, model, B), out_shardings=places)


def values(model, B):
    """Random tokens, targets, weights in bf16, and Adam's states of them."""
    # Of the generators that JAX has, the one that compiles in no time.
    keys = iter(jax.random.split(jax.random.key(1, impl="rbg"), 32))
    batch = [
        jax.random.randint(next(keys), (B,), 0, model.vocab) for _ in range(2)
    ]

    def draw(dims, shape):
        size = dict(zip(dims, shape, strict=True))
        most = float(3 / np.prod([size[d] for d in decoder.inner(dims)])) ** 0.5
        return jax.random.uniform(next(keys), shape, "bfloat16", -most, most)

    W = jax.tree.map(
        draw,
        decoder.dimensions(),
        decoder.shapes(model),
        is_leaf=lambda x: type(x) is tuple,
    )
    return *batch, W, jax.tree.map(adam.start, W)


# ---- what is counted ---------------------------------------------------------


def step_flops(keeps, model, B):
    """FLOPs of the step's products, counted from the program."""
    step, arguments = program_of(keeps, model, B)
    return count.flops(step, *arguments)


def peak_bytes():
    """The most that the device has held so far, or None if it does not say."""
    stats = jax.devices()[0].memory_stats() or {}
    return stats.get("peak_bytes_in_use")


def program_bytes(program):
    """What the compiler sets aside; aliased outputs lie on arguments."""
    said = program.memory_analysis()
    found = {
        "arguments": said.argument_size_in_bytes,
        "outputs": said.output_size_in_bytes,
        "aliased": said.alias_size_in_bytes,
        "temporary": said.temp_size_in_bytes,
    }
    total = sum(found.values()) - 2 * found["aliased"]
    return {**found, "total": total}


def tally(keeps, model, B):
    """What the library expects the step to hold."""
    T, h = model.context, model.heads * model.head_size
    how = RECOMPUTE.get(keeps)
    layer = how and memory.activation_bytes(
        T, B // T, h, model.heads, recompute=how
    )
    number = params(model)
    states = memory.state_terms(number)
    left = sum(states[name] for name in ("master", "m", "v"))
    passes = evidence.alive(strategy(keeps), model, B, 1).live
    return {
        "states": memory.state_bytes(number),
        "activations": layer and model.L * layer,
        "alive": passes + left,
    }
