"""All that this package takes from inside JAX, in one place.

None of it is promised from one release of JAX to the next. When one of these
imports fails, or a counter names a primitive that it does not know, this file
and the tables of primitives in `walk`, `rules`, `algorithm` and `exported` are
where to look.
"""

from dataclasses import replace
from unittest import mock

import jax
from jax._src import ad_checkpoint, source_info_util
from jax._src.interpreters import mlir
from jax._src.interpreters.mlir import make_ir_context
from jax._src.lax.lax import ragged_dot_general_p
from jax.interpreters.partial_eval import dce_jaxpr
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo


def written_at(eqn):
    """File, line and function of the user's line that wrote an equation.

    Lines of installed packages are passed over where a line of the user's own
    lies around them.

    eqn      equation of a jaxpr
    returns  name of the file, number of the line, name of the function; "", 0
             and "" if they are not known
    source   chapter 21
    """
    frames = list(source_info_util.user_frames(eqn.source_info.traceback))
    own = [f for f in frames if not is_installed(f.file_name)]
    for frame in own or frames:
        return frame.file_name, frame.start_line, frame.function_name
    return "", 0, ""


def registered():
    """The names of all primitives that the installed JAX can lower."""
    tables = [mlir._lowerings, *mlir._platform_specific_lowerings.values()]
    return {primitive.name for table in tables for primitive in table}


def turned(params):
    """How many arguments of a scan stay, and how many each turn passes on.

    params   of the equation; since JAX 0.12 they hold trees, and no numbers
    returns  (number of constants, number of carried values)
    source   chapter 11
    """
    if "ft_in" in params:
        consts, carry, _ = params["ft_in"].unpack()
        return len(consts), len(carry)
    return params["num_consts"], params["num_carry"]


def manual_axes(params):
    """The axes that a shard_map takes over; JAX before 0.10.2 said less of it.

    params   of the equation
    returns  frozenset of names
    source   chapter 2
    """
    name = "newly_manual_axes"
    return params[name if name in params else "manual_axes"]


def saved_residuals(f, *args):
    """What a forward pass keeps, as JAX 0.10.2 tells it.

    Earlier ones name the rounding of a kept array, and not what was rounded.

    f        function of arrays and of trees of them
    args     its arguments, or their types
    returns  list of (type of an array, what it is in words)
    source   chapter 12
    """
    if jax.__version_info__ >= (0, 10, 2):
        return ad_checkpoint.saved_residuals(f, *args)
    tell = ad_checkpoint._saved_residuals

    def look_through(jaxpr, names):
        rounded = {
            id(eqn.outvars[0]): eqn.invars[0]
            for eqn in jaxpr.eqns
            if eqn.primitive.name == "reduce_precision"
        }
        kept = [rounded.get(id(v), v) for v in jaxpr.outvars]
        kept = list({id(v): v for v in kept}.values())
        return tell(jaxpr.replace(outvars=kept), names)

    with mock.patch.object(ad_checkpoint, "_saved_residuals", look_through):
        return ad_checkpoint.saved_residuals(f, *args)


def ragged_dots_named():
    """A context in which a matmul with groups is lowered under its name.

    JAX for CPUs writes it as dense matmuls, which nothing else tells from
    others. In here the stack of their names has "ragged_dot[16]", for 16
    groups, unless JAX has lowered the same program before.

    source   chapter 21
    """
    entry = mlir._lowerings[ragged_dot_general_p]
    rule = entry.rule

    def named(ctx, *args, **params):
        groups = ctx.avals_in[2].shape[-1]
        stack = ctx.name_stack.extend(f"ragged_dot[{groups}]")
        return rule(ctx.replace(name_stack=stack), *args, **params)

    entry = (
        entry._replace(rule=named)
        if hasattr(entry, "_replace")
        else (replace(entry, rule=named))
    )
    return mock.patch.dict(mlir._lowerings, {ragged_dot_general_p: entry})


def done_again(eqn, params, *given):
    """The results of an operation with other parameters, on other values.

    eqn      equation of a jaxpr
    params   its parameters, or others
    given    its operands
    returns  list of its results
    source   chapter 21
    """
    bound = eqn.primitive.get_bind_params(params)
    # Before JAX 0.10.2 functions came apart from other parameters.
    functions, bound = bound if isinstance(bound, tuple) else ((), bound)
    with eqn.ctx.manager:
        made = eqn.primitive.bind(*functions, *given, **bound)
    return made if eqn.primitive.multiple_results else [made]


def is_installed(file):
    """Whether a file belongs to an installed package."""
    return "site-packages" in file or "dist-packages" in file


__all__ = [
    "dce_jaxpr",
    "done_again",
    "ir",
    "is_installed",
    "make_ir_context",
    "manual_axes",
    "ragged_dots_named",
    "registered",
    "saved_residuals",
    "sdy",
    "stablehlo",
    "turned",
    "written_at",
]
