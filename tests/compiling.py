"""What tests compile to run once."""

from functools import partial

import jax

from shardlab.haste import HASTY

__all__ = ["compiled"]

compiled = partial(jax.jit, compiler_options=HASTY)
