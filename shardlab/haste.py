"""Programs that are run once or a few times: to compile them takes longest."""

import jax

__all__ = ["HASTY", "in_haste"]

# As little work on the program as XLA allows. Its emitters of fused loops would
# be two thirds of the work, and cutting the program to compile its parts beside
# each other costs a fifth.
HASTY = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_parallel_codegen_split_count": 1,
    "xla_llvm_disable_expensive_passes": True,
}
if jax.__version_info__ < (0, 12):  # later ones do not know that option
    HASTY["xla_cpu_use_fusion_emitters"] = False


def in_haste(function, arguments):
    """What a jitted function gives, compiled fast rather than well.

    function   as jax.jit returns it
    arguments  tuple of its arguments
    returns    what it returns
    """
    program = function.lower(*arguments).compile(compiler_options=HASTY)
    return program(*arguments)
