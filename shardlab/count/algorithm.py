"""A program written out as an algorithm: its products and its collectives.

Every value has a layout: by its explicit type, or, in a shard_map body, by
what in_specs say and by what collectives and products make of it. A value
whose layout cannot be followed is shown as the piece that a chip holds.
"""

import math
from collections import Counter
from typing import NamedTuple

from shardlab.arguments import whole
from shardlab.count.layouts import (
    Axis,
    Placement,
    from_array,
    from_spec,
    from_type,
    refuse,
)
from shardlab.count.ledger import traced
from shardlab.count.rules import falls_out, free_dims, one_sided, product
from shardlab.count.walk import CALLS, COLLECTIVES, bodies, equation, split

__all__ = ["listing"]

WORDS = {
    "all_gather": "AllGather",
    "reduce_scatter": "ReduceScatter",
    "all_reduce": "AllReduce",
    "all_to_all": "AllToAll",
    "permute": "Permute",
    "broadcast": "Broadcast",
}
CASTS = (
    *("convert_element_type", "copy", "name", "optimization_barrier"),
    *("preduced", "pvary", "reduced_vary_cast_p", "vary_unreduced_cast_p"),
)
# What these give is the same array, laid otherwise or turned over.
SAME = (*CASTS, *COLLECTIVES, "reshard", "transpose")
INNER = (*CALLS, "jit", "scan", "shard_map")


class _Scope(NamedTuple):
    """What is known of the values of one jaxpr.

    layouts  of variables, for the rules by which collectives are counted
    behind   in a shard_map body: layouts of the whole arrays behind the pieces
    names    of variables that have one
    letters  of sizes: {size: letter}
    sizes    of the mesh axes of a shard_map body; empty outside of one
    """

    layouts: dict
    behind: dict
    names: dict
    letters: dict
    sizes: dict


def listing(f, *args, names=(), results=(), letters=None):
    """The products and collectives of a program, a line each, in its order.

    f        function of arrays, with explicit types or with a shard_map
    args     arrays or jax.ShapeDtypeStruct, in trees, as for `collectives`
    names    what the arguments are called, in their order
    results  what the results are called, in their order
    letters  sizes by letter, such as dict(B=512, D=64); others are numbers
    returns  str with lines such as "AllGather_Y  In[B_X, D_Y] -> In[B_X, D]".
             `·_B` is a product that sums over B, {U_X} what still waits for
             its sum over X; what works element by element is left out
    raises   ValueError for two letters of one size, too many names, products
             in a branch or in a loop that runs nobody knows how often, or as
             `collectives`
    source   scaling-book part 5, the algorithms; chapter 5
    """
    if not callable(f):
        raise ValueError(f"f must be a function of arrays, got {f!r}")
    closed, arrays = traced(f, args)
    jaxpr = closed.jaxpr
    _check_names("names", names, jaxpr.invars)
    _check_names("results", results, jaxpr.outvars)
    layouts = [from_array(x, f"argument {i}") for i, x in enumerate(arrays)]
    places = dict(zip(jaxpr.invars, layouts, strict=True))
    called = _named(jaxpr, names, results)
    rows = list(
        _lines(jaxpr, _Scope(places, {}, called, _by_size(letters), {}))
    )
    wide = max((len(word) for _, word, _ in rows), default=0)
    return "\n".join(
        f"{'    ' * depth}{word:<{wide}}  {what}".rstrip()
        for depth, word, what in rows
    )


def _check_names(what, given, there):
    """Refuse names that are no list of texts, or too many."""
    texts = isinstance(given, list | tuple)
    if not texts or not all(isinstance(n, str) for n in given):
        raise ValueError(f"{what} must be a list of str, got {given!r}")
    if len(given) > len(there):
        raise ValueError(
            f"{what} must be at most {len(there)}, got {len(given)}: "
            f"{', '.join(given)}"
        )


def _by_size(letters):
    """{size: letter}, if each size has one letter."""
    found, letters = {}, {} if letters is None else letters
    if not isinstance(letters, dict):
        raise ValueError(
            f"letters must be sizes by letter, such as {{'B': 512}}, "
            f"got {letters!r}"
        )
    for letter, size in letters.items():
        if whole(letter, size) in found:
            raise ValueError(
                "letters must stand for different sizes, got "
                f"{found[size]} = {letter} = {size}"
            )
        found[size] = letter
    return found


def _named(jaxpr, names, results):
    """The name of each variable, kept through moves, casts and transposes."""
    found = dict(zip(jaxpr.invars, names, strict=False))
    same = [eqn for eqn in jaxpr.eqns if eqn.primitive.name in SAME]
    for eqn in same:
        if eqn.primitive.name == "name":
            found[eqn.outvars[0]] = eqn.params["name"]
        _pass_on(eqn.invars, eqn.outvars, found)
    for v, name in zip(jaxpr.outvars, results, strict=False):
        if not _is_literal(v):
            found.setdefault(v, name)
    for eqn in reversed(same):
        _pass_on(eqn.outvars, eqn.invars, found)
    return {v: name for v, name in found.items() if name}


def _pass_on(sources, targets, names):
    """Give each target the name of its source, unless it has one."""
    for source, target in zip(sources, targets, strict=False):
        if _is_literal(source) or _is_literal(target) or not names.get(source):
            continue
        names.setdefault(target, names[source])


def _is_literal(atom):
    """Whether an operand is a constant that stands in the jaxpr itself."""
    return hasattr(atom, "val")


def _lines(jaxpr, scope, depth=0):
    """Yield (depth, word, what) of each product and collective of a jaxpr."""
    of, into = _turns(jaxpr)
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        records, _ = split(equation(eqn, scope.layouts, scope.sizes))
        if scope.sizes:
            for v in eqn.outvars:
                scope.behind[v] = _followed(eqn, scope)
        if name in INNER:
            yield from _inside(eqn, scope, depth)
            continue
        if any(map(_multiplies, bodies(eqn))):
            refuse(name, "when its products are formed is not known")
        if name == "dot_general":
            yield depth, "product", _multiplied(eqn, scope, of, into)
        for moved in records:
            word = f"{WORDS[moved.kind]}_{''.join(moved.axes)}"
            yield depth, word, _changed(eqn, scope, into)


def _multiplies(jaxpr):
    """Whether there is a product in a jaxpr, or in what it calls."""
    return any(
        eqn.primitive.name == "dot_general"
        or any(map(_multiplies, bodies(eqn)))
        for eqn in jaxpr.eqns
    )


def _inside(eqn, scope, depth):
    """The lines of the body of an equation, its values named as here."""
    (body,) = bodies(eqn)
    places = [_layout_of(v, scope) for v in eqn.invars]
    sizes, mesh = scope.sizes, eqn.params.get("mesh")
    if eqn.primitive.name == "shard_map":
        sizes = dict(mesh.shape)
        specs = zip(eqn.params["in_specs"], body.invars, strict=True)
        places = [from_spec(spec, mesh, v.aval.ndim) for spec, v in specs]
    if eqn.primitive.name == "scan":
        yield depth, f"{eqn.params['length']} times:", ""
        places, depth = [None] * len(places), depth + 1
    names = [_called(v, scope) for v in eqn.invars]
    results = [_called(v, scope) for v in eqn.outvars]
    places = dict(zip(body.invars, places, strict=True))
    # Counting goes by what a chip holds there; it wants no layouts.
    there = (dict.fromkeys(body.invars), places) if sizes else (places, {})
    called_there = _named(body, names, results)
    inner = _Scope(*there, called_there, scope.letters, sizes)
    yield from _lines(body, inner, depth)


def _called(atom, scope):
    """The name of a value, or an empty text."""
    return "" if _is_literal(atom) else scope.names.get(atom, "")


def _layout_of(atom, scope):
    """The layout of a whole array, or None where it is not known."""
    if _is_literal(atom):
        return Placement(((),) * atom.aval.ndim)
    if scope.sizes:
        return scope.behind.get(atom)
    typed = from_type(atom.aval)
    return scope.layouts.get(atom) if typed is None else typed


def _turns(jaxpr):
    """Matrices that are turned over, as two dicts.

    jaxpr    of the program, or of a body in it
    returns  {transpose: matrix}, for operands, shown as they were before, and
             {product: transpose}, for products that nothing else reads, shown
             as they will be
    """
    turned = [e for e in jaxpr.eqns if e.primitive.name == "transpose"]
    turned = [e for e in turned if e.params["permutation"] == (1, 0)]
    pairs = {e.invars[0]: e.outvars[0] for e in turned}
    read = Counter(
        v for e in jaxpr.eqns for v in e.invars if not _is_literal(v)
    )
    read.update(v for v in jaxpr.outvars if not _is_literal(v))
    made = {e.outvars[0]: e.primitive.name for e in jaxpr.eqns}
    into = {
        v: t
        for v, t in pairs.items()
        if made.get(v) == "dot_general" and read[v] == 1
    }
    of = {t: v for v, t in pairs.items() if v not in into}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in CASTS:
            _pass_on(eqn.invars, eqn.outvars, of)
    return of, into


def _multiplied(eqn, scope, of, into):
    """A product in the notation: operands, what is summed over, result."""
    first, (result,) = eqn.invars[0], eqn.outvars
    shape = _whole_shape(first, _layout_of(first, scope), scope)
    (contract, _), _ = eqn.params["dimension_numbers"]
    summed = [scope.letters.get(shape[d], shape[d]) for d in contract]
    letters = all(isinstance(name, str) for name in summed)
    over = ("" if letters else "x").join(map(str, summed))
    operands = [_drawn(of.get(v, v), scope) for v in eqn.invars]
    after = _partial_sums(eqn, scope)
    if result in into:
        operands.reverse()
        result, after = into[result], _over_turned(after)
    sign = f" ·_{over} " if over else " · "
    return sign.join(operands) + f" -> {_drawn(result, scope, after)}"


def _over_turned(layout):
    """The layout of a transpose."""
    return layout and Placement(layout.dims[::-1], layout.unreduced)


def _changed(eqn, scope, into):
    """What a collective makes of what, in the notation."""
    before, after = eqn.invars[0], eqn.outvars[0]
    if eqn.primitive.name in SAME:
        return f"{_drawn(before, scope)} -> {_drawn(after, scope)}"
    summed, made = _partial_sums(eqn, scope), _layout_of(after, scope)
    if after in into:
        after, summed, made = into[after], *map(_over_turned, (summed, made))
    return f"{_drawn(after, scope, summed)} -> {_drawn(after, scope, made)}"


def _drawn(atom, scope, layout=None):
    """A value in the notation, such as W_in[D_X, F] {U_Y}."""
    name, layout = _called(atom, scope), layout or _layout_of(atom, scope)
    if layout is None and scope.sizes:
        return f"{name}{list(atom.aval.shape)} of a chip"
    layout = layout or Placement(((),) * atom.aval.ndim)
    shape = _whole_shape(atom, layout, scope)
    dims = [
        f"{scope.letters.get(size, size)}{_cut(axes)}"
        for size, axes in zip(shape, layout.dims, strict=True)
    ]
    waiting = f" {{U{_cut(sorted(layout.unreduced))}}}"
    return f"{name}[{', '.join(dims)}]" + waiting * bool(layout.unreduced)


def _cut(axes):
    """Axes as a subscript: _XY, or nothing."""
    return "_" + "".join(axis.name for axis in axes) if axes else ""


def _whole_shape(atom, layout, scope):
    """The shape of the whole array behind a value of a layout."""
    if not scope.sizes or layout is None:
        return atom.aval.shape
    return [
        size * math.prod(axis.size for axis in axes)
        for size, axes in zip(atom.aval.shape, layout.dims, strict=True)
    ]


# ---- layouts of whole arrays, followed through a shard_map body --------------


def _followed(eqn, scope):
    """The layout of the whole array behind a result, or None if unknown."""
    layouts = [_layout_of(v, scope) for v in eqn.invars]
    name = eqn.primitive.name
    if not layouts or None in layouts:
        return None
    if name in MOVES:
        params = eqn.params
        axes = params.get("axes", params.get("axis_name"))
        axes = (axes,) if isinstance(axes, str) else axes
        axes = tuple(Axis(a, scope.sizes[a]) for a in axes)
        return MOVES[name](layouts[0], axes, params)
    if name == "transpose":
        dims = [layouts[0].dims[d] for d in eqn.params["permutation"]]
        return Placement(tuple(dims), layouts[0].unreduced)
    if name in CASTS:
        return layouts[0]
    return _partial_sums(eqn, scope)


def _gathered(layout, axes, params):
    """An AllGather leaves a dimension without its last axes."""
    if not params["tiled"]:
        return None
    dims, d = list(layout.dims), params["all_gather_dimension"]
    if dims[d][len(dims[d]) - len(axes) :] != axes:
        return None
    dims[d] = dims[d][: len(dims[d]) - len(axes)]
    return Placement(tuple(dims), layout.unreduced)


def _scattered(layout, axes, params):
    """A ReduceScatter sums over its axes and cuts a dimension by them."""
    if not params["tiled"] or not layout.unreduced >= set(axes):
        return None
    dims, d = list(layout.dims), params["scatter_dimension"]
    dims[d] += axes
    return Placement(tuple(dims), layout.unreduced - set(axes))


def _summed(layout, axes, params):
    """An AllReduce leaves nothing that waits for a sum over its axes."""
    if not layout.unreduced >= set(axes):
        return None
    return Placement(layout.dims, layout.unreduced - set(axes))


MOVES = {
    **dict.fromkeys(
        ("all_gather", "all_gather_invariant", "all_gather_reduced"), _gathered
    ),
    **dict.fromkeys(("reduce_scatter", "unreduced_reduce_scatter"), _scattered),
    **dict.fromkeys(("psum", "psum_invariant", "unreduced_psum"), _summed),
    "ppermute": lambda layout, axes, params: layout,
    "all_to_all": lambda layout, axes, params: None,
}


def _partial_sums(eqn, scope):
    """How a result lies before any communication, or None if unknown."""
    layouts = [_layout_of(v, scope) for v in eqn.invars]
    if None in layouts:
        return None
    try:
        if eqn.primitive.name != "dot_general":
            return falls_out(eqn, layouts, None)[1][0]
        contract, batch = eqn.params["dimension_numbers"]
        if any(one_sided(layouts, contract)):
            return None
        free = free_dims(eqn, contract, batch)
        return product(eqn, layouts, free, contract, batch)
    except ValueError:  # no rule says how it lies; what is counted stays so
        return None
