"""All that this package takes from inside JAX, in one place.

None of it is promised from one release of JAX to the next. When one of these
imports fails, or a counter names a primitive that it does not know, this file
and the tables of primitives in `walk`, `rules`, `algorithm` and `exported` are
where to look.
"""

from jax._src.ad_checkpoint import saved_residuals
from jax._src.interpreters.mlir import make_ir_context
from jax.interpreters.partial_eval import dce_jaxpr
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo

__all__ = [
    "dce_jaxpr",
    "ir",
    "make_ir_context",
    "saved_residuals",
    "sdy",
    "stablehlo",
]
