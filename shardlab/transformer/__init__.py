"""A tiny Transformer that carries every strategy of the book.

model       the decoder, written once: what a strategy may do stands as `at`
strategies  what differs: which dimension lies where, which collective stands
            where
training    both passes and the optimiser's step on a mesh, and their shapes
stages      the same layers as a pipeline, under any schedule
evidence    each strategy run, counted and weighed

    mesh = jax.make_mesh((8, 1), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)
    step = jax.jit(training.train("fsdp", mesh, T=6))
    parts, W, states = step(tokens, targets, W, states)
"""

from shardlab.transformer.strategies import KEPT, STRATEGIES, Strategy

__all__ = ["KEPT", "STRATEGIES", "Strategy"]
