"""The instruments beside XLA's compiler, on eight simulated devices.

A count walks the jaxpr; the peer compiles the program for its devices and reads
the partitioner's module. And a strategy as chapters write it stands beside the
plain block, of which only the layouts are said and XLA decides what moves.
"""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding

from bench.measuring import row, timed
from shardlab import count
from shardlab.count.partitioned import partitioned
from shardlab.strategies import block, dp, fsdp, fsdp_tp, megatron, tp, zero2

B, D, F = 512, 128, 512
RUNS = 3
WRITTEN = (dp, zero2, fsdp, tp, megatron, fsdp_tp)


def plain(In, Target, W_in, W_out):
    """Loss and gradients of the block, with no word about devices."""

    def loss(In, W_in, W_out):
        Out = In @ W_in @ W_out
        return jnp.sum((Out - Target).astype(jnp.float32) ** 2)

    return jax.value_and_grad(loss, argnums=(0, 1, 2))(In, W_in, W_out)


def automatic(layout, mesh):
    """`plain`, jitted, with the layouts of a strategy at its ends."""
    on = {name: NamedSharding(mesh, layout[name]) for name in layout}
    out = (None, (on["In"], on["dW_in"], on["dW_out"]))
    return jax.jit(plain, out_shardings=out)


def arguments(layout, mesh):
    """In, Target, W_in and W_out, as shapes that say where they lie."""
    sizes = {"In": (B, D), "W_in": (D, F), "W_out": (F, D)}
    return [
        jax.ShapeDtypeStruct(
            sizes[name],
            jnp.bfloat16,
            sharding=NamedSharding(mesh, layout[name]),
        )
        for name in ("In", "In", "W_in", "W_out")
    ]


def several(work):
    """(result, seconds of the clock, of the processor) of several runs."""
    made = []
    runs = [timed(lambda: made.append(work())) for _ in range(RUNS)]
    wall, cpu = zip(*runs, strict=True)
    return made[-1], wall, cpu


def rows():
    """Yield three rows a strategy: counted, compiled, left to the compiler."""
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)
    for strategy in WRITTEN:
        yield from beside(strategy, mesh)


def beside(strategy, mesh):
    """Yield the three rows of one strategy."""
    name = f"peers: {strategy.__name__.rpartition('.')[2]}"
    args = arguments(strategy.LAYOUT, mesh)

    def written():
        return block.gradients(strategy, mesh)

    found, wall, cpu = several(lambda: count.collectives(written(), *args))
    moved = count.volume(found)
    walked = sorted(cpu)[RUNS // 2]
    yield row(f"{name}, jaxpr walked", wall, cpu, 0, f"{moved:,} bytes")

    made, wall, cpu = several(lambda: partitioned(written(), *args))
    note = f"{count.volume(made.collectives):,} bytes; "
    note += f"{sorted(cpu)[RUNS // 2] / walked:.0f} times the walk"
    yield row(f"{name}, compiled by XLA and read", wall, cpu, 0, note)

    made, wall, cpu = several(
        lambda: partitioned(automatic(strategy.LAYOUT, mesh), *args)
    )
    left = count.volume(made.collectives)
    note = f"{left:,} bytes, {left / moved:.2f} times as written"
    kinds = count.volumes(made.collectives)
    yield row(f"{name}'s layouts, the rest left to XLA", wall, cpu, 0, note) | {
        "moved": {", ".join(kind): volume for kind, volume in kinds.items()}
    }
