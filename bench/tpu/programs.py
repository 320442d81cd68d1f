"""What is compiled: the book's block and its Transformer."""

import re
from dataclasses import replace
from importlib import import_module

import jax
import jax.numpy as jnp
from jax import P
from jax.sharding import NamedSharding

from bench.tpu import slices
from shardlab import models
from shardlab.compiled import stack
from shardlab.strategies import block, pods
from shardlab.transformer import strategies, training

T = 1024  # tokens of a sequence, one for each chip that cuts tokens
TRAINED = (  # model, topology, strategy, what a layer keeps, mesh
    ("llama-3-8b", "v5p:4x4x4", "dp", "products", {"X": 64}),
    ("llama-3-8b", "v5p:4x4x4", "zero1", "products", {"X": 64}),
    ("llama-3-8b", "v5p:4x4x4", "zero2", "products", {"X": 64}),
    ("llama-3-8b", "v5p:4x4x4", "fsdp", "products", {"X": 64}),
    ("llama-3-8b", "v5p:4x4x4", "fsdp", "input", {"X": 64}),
    ("llama-3-70b", "v5p:16x16x16", "dp", "input", {"X": 4096}),
    ("llama-3-70b", "v5p:16x16x16", "fsdp", "input", {"X": 4096}),
    ("llama-3-70b", "v5p:16x16x16", "fsdp_tp", "input", {"X": 512, "Y": 8}),
    ("llama-3-70b", "v5p:16x16x16", "fsdp_tp", "products", {"X": 512, "Y": 8}),
)
BLOCKS = (  # strategy, topology, mesh
    ("dp", "v5e:2x2", {"X": 4}),
    ("fsdp", "v5e:2x2", {"X": 4}),
    ("tp", "v5e:2x2", {"Y": 4}),
    ("dp", "v5p:4x4x4", {"X": 64}),
    ("fsdp", "v5p:2x2x1", {"X": 4}),
    ("fsdp", "v5p:4x4x4", {"X": 64}),
    ("fsdp_tp", "v5p:4x4x4", {"X": 16, "Y": 4}),
)
SIZES = {"D": 8192, "F": 28_672}
PER_ROW = 2048  # tokens of the block for each chip of X
KNEES = (("v5e", "v5e:2x2"), ("v5p", "v5p:2x2x1"))
BATCHES = (8, 16, 32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 1024)


def trained(model, topology, strategy, keeps, mesh):
    """A training step of the Transformer, ready to be compiled.

    model    a name in shardlab.models
    topology  as in `slices.mesh`
    strategy  a name in shardlab.transformer.strategies
    keeps    "products": as the book's strategies; "input": nothing of a layer
             but its input
    mesh     dict of sizes of axes
    returns  jax.stages.Lowered
    source   chapter 20
    """
    at = strategies.STRATEGIES[strategy]
    if keeps == "input":
        at = replace(at, keeps=lambda *_, **__: False)
    model = replace(models.model(model), context=T)
    on = slices.mesh(topology, **mesh)
    given = training.arguments(at, on, model, mesh["X"] * T)
    step = jax.jit(training.train(at, on, T), donate_argnums=(2, 3))
    return step.lower(*given)


def both_passes(strategy, topology, mesh):
    """Both passes of the two-matmul block, ready to be compiled.

    strategy  a name in shardlab.strategies
    topology, mesh  as in `trained`
    returns  jax.stages.Lowered
    source   chapter 20
    """
    on = slices.mesh(topology, **mesh)
    module = import_module(f"shardlab.strategies.{strategy}")
    given = block.arguments(module, on, PER_ROW * mesh.get("X", 1), **SIZES)
    return jax.jit(block.gradients(module, on)).lower(*given)


def across_slices():
    """FSDP inside two slices and data parallelism between them.

    returns  jax.stages.Lowered
    source   chapter 20
    """
    on = slices.mesh("v5p:2x2x2", slices=2, P=2, X=8)
    module = pods.across(import_module("shardlab.strategies.fsdp"))
    given = block.arguments(module, on, PER_ROW * 16, **SIZES)
    return jax.jit(block.gradients(module, on)).lower(*given)


def stacked(way):
    """How often the program for a stack of three layers gathers, on v5p.

    way      a name in shardlab.compiled.stack.WAYS
    returns  int
    source   chapter 20
    """
    on = slices.mesh("v5p:2x2x1", X=4)
    like = stack.shapes(3, 2048, 2048, "bfloat16")
    specs = P(None, "X"), P("X")
    given = [
        jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(on, spec))
        for x, spec in zip(like, specs, strict=True)
    ]
    lowered = jax.jit(stack.gradient(on, way)).lower(*given)
    return stack.gathers(lowered.compile().as_text(), 3)


def product(topology, B):
    """One product In[B, 8192] W[8192, 8192] on one chip.

    topology  as in `trained`
    B        tokens
    returns  jax.stages.Lowered
    source   chapter 20
    """
    chip = slices.mesh(topology, X=4).devices.ravel()[:1]
    on = jax.sharding.Mesh(chip, ("X",))
    place = NamedSharding(on, P())
    In, W = (
        jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=place)
        for shape in ((B, 8192), (8192, 8192))
    )
    return jax.jit(jnp.matmul).lower(In, W)


# ---- what a compiled program says --------------------------------------------

KINDS = (
    *("all-gather", "all-reduce", "reduce-scatter", "all-to-all"),
    *("collective-permute", "send"),
)
CALL = re.compile(rf" = (.*?) ({'|'.join(KINDS)})(?:-start)?\(")
ARRAY = re.compile(r"(bf16|f32|u32|s32)\[([\d,]*)\]")
WIDTH = {"bf16": 2, "f32": 4, "u32": 4, "s32": 4}


def collectives(text):
    """The collectives of a compiled program, each channel once.

    text     of the compiled module
    returns  list of dicts: "kind"; "bytes" of the largest array of its result;
             "asked", the collective of JAX that it came from, or "" where the
             compiler does not say; "within", "scatter" in a fusion that sums
             and cuts at once, else ""; "algorithm" or ""
    source   chapter 20
    """
    found, entry, within = {}, False, ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            entry = line.startswith("ENTRY")
            within = "scatter" if "all-reduce-scatter" in line[:40] else ""
        call = CALL.search(line)
        if not call or "-done(" in line:
            continue
        arrays = ARRAY.findall(call[1])
        channel = re.search(r"channel_id=(\d+)", line)
        asked = re.search(r'op_name="[^"]*/(\w+)"', line)
        algorithm = re.search(r'"strategy":"?(\w+)', line)
        # An asynchronous collective is written down once for each of its parts.
        key = line if entry else (channel and channel[1], arrays[0])
        found[call[2], key] = {
            "kind": call[2],
            "bytes": max(_size(*array) for array in arrays),
            "asked": asked[1] if asked else "",
            "within": within,
            "algorithm": algorithm[1] if algorithm else "",
        }
    return [one for one in found.values() if one["bytes"] > 8]


def _size(dtype, shape):
    size = WIDTH[dtype]
    for dim in filter(None, shape.split(",")):
        size *= int(dim)
    return size


def memory(compiled):
    """What the compiler says of a chip's memory.

    compiled  jax.stages.Compiled
    returns  dict of bytes: "arguments", "results" less those that take the
             place of arguments, "temporary", "peak"
    source   chapter 20
    """
    found = compiled.memory_analysis()
    return {
        "arguments": found.argument_size_in_bytes,
        "results": found.output_size_in_bytes - found.alias_size_in_bytes,
        "temporary": found.temp_size_in_bytes,
        "peak": found.peak_memory_in_bytes,
    }
