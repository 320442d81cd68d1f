"""Which layout falls out of an operation when nothing is communicated.

A rule maps an equation and the layouts of its operands to the layout of each
result. What it cannot tell without communication it refuses by name.
"""

from shardlab.count.layouts import (
    Placement,
    moves,
    refuse,
    text,
    without,
)

__all__ = [
    "BY_NAME",
    "ELEMENTWISE",
    "contraction",
    "falls_out",
    "free_dims",
    "one_sided",
    "product",
]

# Operations that treat every element alike, whatever its neighbours are.
_ELEMENTWISE = """
    abs acos acosh add add_any and asin asinh atan atan2 atanh cbrt ceil clamp
    clz complex conj convert_element_type copy cos cosh digamma div eq erf
    erf_inv erfc exp exp2 expm1 floor ge gt imag integer_pow is_finite le
    lgamma log log1p log2 logistic lt max min mul name ne neg nextafter not
    one_minus_square or population_count pow real reduce_precision rem round
    rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign
    sin sinh sqrt square stop_gradient sub tan tanh xor
"""
_REDUCTIONS = """
    reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or
    reduce_xor
"""
# Operations that look at several elements, but along some dimensions only.
_ALONG = """
    argmax argmin concatenate cumlogsumexp cummax cummin cumprod cumsum
    dynamic_slice dynamic_update_slice pad rev slice sort split squeeze
"""
ELEMENTWISE = frozenset(_ELEMENTWISE.split())
REDUCTIONS = frozenset(_REDUCTIONS.split())
ALONG = frozenset(_ALONG.split())


def _elementwise(eqn, layouts):
    """Dimension by dimension, the cut of whichever operand is cut."""
    shape = eqn.outvars[0].aval.shape
    dims = [()] * len(shape)
    waiting = frozenset()
    for atom, layout in zip(eqn.invars, layouts, strict=True):
        waiting |= layout.unreduced
        for d, axes in enumerate(layout.dims if atom.aval.ndim else ()):
            if axes and dims[d] not in ((), axes):
                refuse(eqn.primitive.name, "its operands are cut differently")
            dims[d] = axes or dims[d]
    return _checked(eqn, Placement(tuple(dims), waiting))


def _checked(eqn, layout):
    """The layout in each result, if it uses every axis once."""
    axes = [*layout.axes, *layout.unreduced]
    if len(axes) != len(set(axes)):
        refuse(
            eqn.primitive.name,
            f"no device can form {text(layout)} from the pieces that it has; "
            "reshard an operand first",
        )
    return [layout] * len(eqn.outvars)


def _reduction(eqn, layouts):
    """Axes that cut a reduced dimension are left to sum: {U}."""
    (layout,) = layouts
    reduced = eqn.params["axes"]
    kept = [axes for d, axes in enumerate(layout.dims) if d not in reduced]
    waiting = {axis for d in reduced for axis in layout.dims[d]}
    return [Placement(tuple(kept), layout.unreduced | waiting)]


def _transpose(eqn, layouts):
    """Every dimension takes its cut along."""
    (layout,) = layouts
    dims = tuple(layout.dims[d] for d in eqn.params["permutation"])
    return [Placement(dims, layout.unreduced)]


def _broadcast_in_dim(eqn, layouts):
    """Old dimensions keep their cut; new ones are whole."""
    dims = [()] * len(eqn.params["shape"])
    for axes, d in zip(
        layouts[0].dims, eqn.params["broadcast_dimensions"], strict=True
    ):
        dims[d] = axes
    return [Placement(tuple(dims), layouts[0].unreduced)]


def _untouched(eqn, layouts):
    """The operand's own layout, if no dimension that is touched is cut."""
    name = eqn.primitive.name
    layout = layouts[0]
    if any(other.dims != layout.dims for other in layouts if other.dims):
        refuse(name, "its operands are cut differently")
    cut = [d for d in _touched(eqn) if layout.dims[d]]
    if cut:
        refuse(name, f"it works along dimension {cut[0]}, which is cut")
    if name in ("squeeze", "argmax", "argmin"):
        gone = eqn.params["dimensions" if name == "squeeze" else "axes"]
        dims = [axes for d, axes in enumerate(layout.dims) if d not in gone]
        layout = Placement(tuple(dims), layout.unreduced)
    return [layout] * len(eqn.outvars)


def _touched(eqn):
    """The dimensions along which an operation looks at several elements."""
    params = eqn.params
    if eqn.primitive.name == "pad":  # a shift keeps the shape, not the rows
        config = enumerate(params["padding_config"])
        return [d for d, how in config if tuple(how) != (0, 0, 0)]
    for key in ("dimensions", "axes"):
        if key in params:
            return params[key]
    for key in ("dimension", "axis"):
        if key in params:
            return (params[key],)
    shapes = [eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape]
    if eqn.primitive.name == "dynamic_update_slice":
        shapes[1] = eqn.invars[1].aval.shape
    return [d for d, (a, b) in enumerate(zip(*shapes, strict=True)) if a != b]


def contraction(eqn, layouts, after):
    """What a dot gathers first, and the layout of what each device forms.

    Cut alike on the contraction, both operands give partial sums; cut in one
    of them only, that one is gathered. Where both have a free dimension cut
    by the same axis, one of them is gathered: the one whose cut the type of
    the result does not show.

    eqn      the dot_general, an equation of a jaxpr
    layouts  of its two operands
    after    layout of its result
    """
    (contract, batch) = eqn.params["dimension_numbers"]
    free = free_dims(eqn, contract, batch)
    drop = one_sided(layouts, contract)
    for axis, side in _conflicts(layouts, free, len(batch[0]), after):
        drop[side].add(axis.name)
    local = [without(x, d) for x, d in zip(layouts, drop, strict=True)]
    gathered = []
    for atom, before, rest in zip(eqn.invars, layouts, local, strict=True):
        gathered += moves("dot_general", atom.aval, before, rest)
    return gathered, product(eqn, local, free, contract, batch)


def free_dims(eqn, contract, batch):
    """For each operand, its dimensions that reach the result, in order."""
    taken = [set(contract[i]) | set(batch[i]) for i in (0, 1)]
    return [
        [d for d in range(eqn.invars[i].aval.ndim) if d not in taken[i]]
        for i in (0, 1)
    ]


def one_sided(layouts, contract):
    """For each operand, the axes that cut the contraction in it alone."""
    drop = [set(), set()]
    for l_dim, r_dim in zip(*contract, strict=True):
        left, right = layouts[0].dims[l_dim], layouts[1].dims[r_dim]
        if left and right and left != right:
            refuse("dot_general", "its contraction is cut in two ways")
        if left != right:
            drop[0 if left else 1] |= {axis.name for axis in left + right}
    return drop


def _conflicts(layouts, free, batches, after):
    """Axes that cut a free dimension of both operands, and which one yields."""
    cut = [{a for d in free[i] for a in layouts[i].dims[d]} for i in (0, 1)]
    for axis in sorted(cut[0] & cut[1]):
        if after is None or axis not in after.axes:
            refuse(
                "dot_general",
                f"{axis.name} cuts a free dimension of both operands and the "
                "type of the result keeps neither; reshard one of them first",
            )
        kept = [d for d, axes in enumerate(after.dims) if axis in axes][0]
        yield axis, 1 if kept < batches + len(free[0]) else 0


def product(eqn, local, free, contract, batch):
    """The layout of the local products: batch, left free, right free."""
    for a, b in zip(*batch, strict=True):
        cuts = local[0].dims[a], local[1].dims[b]
        if all(cuts) and cuts[0] != cuts[1]:
            lie = f"{text(local[0])} and {text(local[1])}"
            refuse("dot_general", f"its operands lie as {lie} on a batch")
    shared = [
        local[0].dims[a] or local[1].dims[b]
        for a, b in zip(*batch, strict=True)
    ]
    left = [local[0].dims[d] for d in free[0]]
    right = [local[1].dims[d] for d in free[1]]
    waiting = {axis for d in contract[0] for axis in local[0].dims[d]}
    dims = (*shared, *left, *right)
    return _checked(eqn, Placement(dims, frozenset(waiting)))[0]


def falls_out(eqn, layouts, after):
    """What an operation gathers first, and how its results then lie."""
    name = eqn.primitive.name
    if name == "dot_general":
        gathered, local = contraction(eqn, layouts, after)
        return gathered, [local]
    if name in ELEMENTWISE:
        return [], _elementwise(eqn, layouts)
    if name in BY_NAME:
        return [], BY_NAME[name](eqn, layouts)
    if name == "reshape" and after and eqn.params["sharding"] is None:
        return [], [after]
    where = ", ".join(text(layout) for layout in layouts)
    return refuse(
        name,
        f"its operands lie as {where}, and its types do not say what it moves "
        "then; reshard first, or write it in shard_map",
    )


BY_NAME = {
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(ALONG, _untouched),
    "broadcast_in_dim": _broadcast_in_dim,
    "optimization_barrier": lambda eqn, layouts: layouts,
    "transpose": _transpose,
}
