"""The steps, each in a process of its own: python -m bench.others.programs.

A program is a function of a folder, the clone that it reads. It returns the
steps that it finds there, each as (title, step, arguments).
"""

import json
import os
import re
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from shardlab.inspection import inspect_step
from shardlab.inspection.stored import as_row


def mesh_of(**sizes):
    """A mesh of simulated devices with axes of these names and sizes."""
    kinds = (AxisType.Auto,) * len(sizes)
    return jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types=kinds)


def laid(x, mesh, *axes):
    """The shape of an array, and where it lies."""
    sharding = NamedSharding(mesh, P(*axes))
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)


def flax_example(folder):
    """The Transformer of Flax's example lm1b, as its configuration lays it.

    folder   a clone of google/flax
    returns  list of (title, step, arguments)
    """
    import flax.linen as nn  # noqa: PLC0415  an optional package
    import optax  # noqa: PLC0415

    sys.path.insert(0, str(Path(folder, "examples/lm1b")))
    import models  # noqa: PLC0415  the example's

    rules = [("mlp", "tensor"), ("vocab", "tensor")]
    rules += [("embed", "fsdp"), ("heads", "tensor")]
    config = models.TransformerConfig(
        vocab_size=30_000,
        output_vocab_size=30_000,
        max_len=128,
        dtype=jnp.bfloat16,
        deterministic=True,
    )
    model, optimiser = models.TransformerLM(config), optax.adamw(1e-3)

    mesh = mesh_of(data=1, fsdp=8, tensor=1)

    def pinned(call, args, kwargs, context):
        """Pin what a module returns: cut along the batch, and no further."""
        Out = call(*args, **kwargs)
        if context.method_name != "__call__" or not hasattr(Out, "ndim"):
            return Out
        lies = NamedSharding(mesh, P(("data", "fsdp")))
        return jax.lax.with_sharding_constraint(Out, lies)

    def case(title, batch_axes, around):
        tokens = jax.ShapeDtypeStruct((256, 128), jnp.int32)
        tokens = laid(tokens, mesh, batch_axes)
        boxed = jax.eval_shape(model.init, jax.random.key(0), tokens)["params"]
        specs = nn.get_partition_spec(boxed)
        shardings = nn.logical_to_mesh_sharding(specs, mesh, rules)
        params = jax.tree.map(
            lambda x, s: laid(x, mesh, *s.spec), nn.unbox(boxed), shardings
        )
        state = optax.tree_map_params(
            optimiser,
            lambda x, like: laid(x, mesh, *like.sharding.spec),
            jax.eval_shape(optimiser.init, params),
            params,
            transform_non_params=lambda x: laid(x, mesh),
        )

        def step(params, state, tokens):
            def loss(params):
                with around():
                    logits = model.apply({"params": params}, tokens)
                return optax.softmax_cross_entropy_with_integer_labels(
                    logits[:, :-1].astype(jnp.float32), tokens[:, 1:]
                ).mean()

            value, gradients = jax.value_and_grad(loss)(params)
            updates, state = optimiser.update(gradients, state, params)
            return value, optax.apply_updates(params, updates), state

        return title, jax.jit(step), (params, state, tokens)

    pin = partial(nn.intercept_methods, pinned)
    both = ("data", "fsdp")
    return [
        case("Flax, example lm1b", ("data",), nullcontext),
        case("the same, batch cut over fsdp", both, nullcontext),
        case("the same, activations pinned", both, pin),
    ]


def maxtext_layer(folder):
    """A decoder layer of LLaMA-2 7B as MaxText defines and lays it.

    folder   a clone of AI-Hypercomputer/maxtext
    returns  list of (title, step, arguments)
    """
    os.environ["DECOUPLE_GCLOUD"] = "TRUE"  # its own switch: no cloud
    sys.path.insert(0, str(Path(folder, "src")))
    import flax.linen as nn  # noqa: PLC0415
    from flax import nnx  # noqa: PLC0415
    from maxtext.common.common_types import (  # noqa: PLC0415
        MODEL_MODE_TRAIN,
    )
    from maxtext.configs import pyconfig  # noqa: PLC0415
    from maxtext.models.llama2 import LlamaDecoderLayer  # noqa: PLC0415

    base = str(Path(folder, "src/maxtext/configs/base.yml"))
    config = pyconfig.initialize(
        ["", base],
        run_name="counted",
        model_name="llama2-7b",
        ici_fsdp_parallelism=4,
        ici_tensor_parallelism=2,
        per_device_batch_size=1,
        max_target_length=2048,
        attention="dot_product",
        hardware="cpu",
        enable_checkpointing=False,
        skip_jax_distributed_system=True,
        log_config=False,
        jax_cache_dir="",
    )
    sizes = dict.fromkeys(config.mesh_axes, 1) | {"fsdp": 4, "tensor": 2}
    mesh = mesh_of(**sizes)
    rules = partial(nn.logical_axis_rules, config.logical_axis_rules)
    jax.set_mesh(mesh)
    with rules():
        made = nnx.eval_shape(
            lambda: LlamaDecoderLayer(
                config, MODEL_MODE_TRAIN, mesh, nnx.Rngs(0)
            )
        )
        graph, state = nnx.split(made)
        specs = nnx.get_partition_spec(state)
    leaves, tree = jax.tree.flatten(state)
    specs = jax.tree.leaves(specs, is_leaf=lambda s: isinstance(s, P))
    pairs = zip(leaves, specs, strict=True)
    state = jax.tree.unflatten(tree, [laid(x, mesh, *s) for x, s in pairs])
    B, T, D = 8, config.max_target_length, config.emb_dim
    In = laid(jax.ShapeDtypeStruct((B, T, D), jnp.bfloat16), mesh, "fsdp")
    places = laid(jax.ShapeDtypeStruct((B, T), jnp.int32), mesh, "fsdp")

    def step(state, In, places):
        def loss(state, In):
            with rules():
                layer = nnx.merge(graph, state)
                ones = jnp.ones_like(places)
                out = layer(In, ones, places, True, MODEL_MODE_TRAIN)
            return jnp.square(out[0].astype(jnp.float32)).mean()

        found = jax.value_and_grad(loss, argnums=(0, 1), allow_int=True)
        return found(state, In)

    return [("MaxText, a layer of LLaMA-2 7B", step, (state, In, places))]


def equinox_network(_folder):
    """An MLP of Equinox's own class, its batch cut over the devices.

    returns  list of (title, step, arguments)
    """
    import equinox as eqx  # noqa: PLC0415

    mesh = mesh_of(batch=8)
    made = eqx.filter_eval_shape(
        lambda: eqx.nn.MLP(4096, 4096, 16384, 3, key=jax.random.key(0))
    )
    params, static = eqx.partition(made, lambda x: hasattr(x, "shape"))
    params = jax.tree.map(lambda x: laid(x, mesh), params)
    batch = jax.ShapeDtypeStruct((8192, 4096), jnp.float32)
    batch = laid(batch, mesh, "batch")

    def step(params, batch):
        def loss(params):
            network = eqx.combine(params, static)
            return jnp.square(jax.vmap(network)(batch) - batch).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        return value, jax.tree.map(lambda w, g: w - g, params, gradients)

    return [("Equinox, an MLP", jax.jit(step), (params, batch))]


def jax_tutorial(folder):
    """The networks at the end of JAX's tutorial on shard_map.

    folder   a clone of jax-ml/jax
    returns  iterator over (title, step, arguments)
    """
    path = Path(folder, "docs/notebooks/shard_map.md")
    text = path.read_text(encoding="utf-8")
    text = text[text.index("### Neural networks") :]
    text = text[: text.index("#### SPMD pipeline parallelism")]
    names = {"jax": jax, "jnp": jnp, "np": np, "partial": partial, "P": P}
    names |= {"tree_all": jax.tree.all, "tree_map": jax.tree.map}
    names |= {"NamedSharding": NamedSharding, "Mesh": jax.sharding.Mesh}
    left = ["loss_dp", "loss_fsdp", "loss_tp", "loss_fsdp_tp"]
    for cell in re.findall(r"```\{code-cell\}\n(.*?)```", text, re.DOTALL):
        exec(cell, names)  # noqa: S102  what we came for
        for name in [name for name in left if name in names]:
            left.remove(name)  # now, while its mesh is set
            title = name.removeprefix("loss_").replace("_", " + ").upper()
            step = jax.value_and_grad(names[name])
            args = names["params"], names["batch"]
            yield f"JAX, tutorial, {title}", step, args


PROGRAMS = {
    "flax": flax_example,
    "maxtext": maxtext_layer,
    "equinox": equinox_network,
    "jax": jax_tutorial,
}


def main(words):
    """Count the steps of one program; prints them as JSON, one a line."""
    name, folder, out = words
    jax.config.update("jax_num_cpu_devices", 8)
    rows = []
    for title, step, args in PROGRAMS[name](folder):
        rows.append(as_row(title, inspect_step(step, *args, name=title)))
        print(title, "counted", file=sys.stderr)
    Path(out).write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
