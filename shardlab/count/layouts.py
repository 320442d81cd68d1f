"""Where the pieces of an array lie, and what it takes to lay them otherwise."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
from jax.sharding import AxisType

from shardlab.arguments import partitions
from shardlab.count.records import record

__all__ = [
    "Axis",
    "Placement",
    "from_array",
    "from_sharding",
    "from_spec",
    "from_type",
    "itemsize",
    "joined",
    "local_bytes",
    "moves",
    "refuse",
    "replicated",
    "text",
    "total_bytes",
    "without",
]


class Axis(NamedTuple):
    """A mesh axis that more than one device shares."""

    name: str
    size: int


@dataclass(frozen=True)
class Placement:
    """The axes that cut each dimension, first one major, and those of {U}."""

    dims: tuple
    unreduced: frozenset = frozenset()

    @property
    def axes(self):
        """All axes that cut a dimension."""
        return [axis for dim in self.dims for axis in dim]

    @property
    def plain(self):
        """Whether every device holds the whole value."""
        return not self.axes and not self.unreduced


def replicated(aval):
    """The layout of a value that every device holds whole."""
    return Placement(((),) * getattr(aval, "ndim", 0))


def refuse(name, why):
    """Raise the error of everything that cannot be counted, by its name."""
    raise ValueError(f"cannot count `{name}`: {why}")


def from_spec(spec, mesh, ndim):
    """The layout that a PartitionSpec means on a mesh; axes of size 1 go."""
    sizes = dict(mesh.shape)
    if any(part is jax.P.UNCONSTRAINED for part in partitions(spec)):
        refuse("PartitionSpec", f"{spec} leaves a dimension to the compiler")

    def cutting(names):
        names = (names,) if isinstance(names, str) else tuple(names or ())
        return tuple(Axis(n, sizes[n]) for n in names if sizes[n] > 1)

    dims = tuple(map(cutting, partitions(spec)))
    dims += ((),) * (ndim - len(dims))
    return Placement(dims, frozenset(cutting(sorted(spec.unreduced))))


def from_type(aval):
    """The layout that an explicit type states, or None if it states none."""
    sharding = getattr(aval, "sharding", None)
    mesh = getattr(sharding, "mesh", None)
    if mesh is None or mesh.empty or AxisType.Explicit not in mesh.axis_types:
        return None
    types = zip(mesh.axis_types, mesh.axis_sizes, strict=True)
    if any(t == AxisType.Auto and size > 1 for t, size in types):
        refuse("mesh", "it mixes Explicit and Auto axes")
    return from_spec(sharding.spec, mesh, aval.ndim)


def from_sharding(sharding, ndim, where):
    """The layout of a sharding, or None if all of it is on one device."""
    if hasattr(sharding, "spec"):
        return from_spec(sharding.spec, sharding.mesh, ndim)
    if sharding is None or isinstance(sharding, jax.Device):
        return None
    if len(getattr(sharding, "device_set", ())) == 1:
        return None
    return refuse(where, f"a {type(sharding).__name__} names no mesh axes")


def from_array(x, where):
    """The layout of an argument, or None if it may lie wherever asked."""
    return from_sharding(getattr(x, "sharding", None), len(x.shape), where)


def total_bytes(aval):
    """Bytes of the whole array, as if on one device."""
    return math.prod(aval.shape) * itemsize(aval.dtype)


def itemsize(dtype):
    """Bytes of one element; types packed below a byte are refused."""
    name = str(dtype)
    packed = name.startswith(("float4_", "float6_"))
    if packed or name in ("int1", "int2", "int4", "uint1", "uint2", "uint4"):
        refuse(name, "its elements are smaller than a byte")
    return dtype.itemsize


def local_bytes(aval, layout):
    """Bytes that one device holds of an array laid out so."""
    if layout is None:
        return total_bytes(aval)
    for size, axes in zip(aval.shape, layout.dims, strict=False):
        if size % math.prod(a.size for a in axes):
            what = f"array of shape {aval.shape}"
            refuse(what, f"laid out as {text(layout)}, its pieces are uneven")
    return total_bytes(aval) // math.prod(a.size for a in layout.axes)


def moves(name, aval, before, after):
    """The collective that turns one layout into another: none or one.

    More than one would have to come in some order, and the order decides the
    bytes; a pair of layouts does not say which, so that is refused.

    name    of the primitive, for the error
    aval    type of the array that is moved
    before  its layout
    after   the layout wanted
    """
    if before == after:
        return []
    local = local_bytes(aval, before)
    if _reordered(before, after):
        names = [
            a.name for d in _changed(before, after) for a in before.dims[d]
        ]
        return [record("permute", names, local, 1)]
    steps = _steps_between(name, before, after)
    return [_one_step(kind, axes, local) for kind, axes in steps.items()]


def _steps_between(name, before, after):
    """The axes of each kind of collective from one layout to the other."""
    lost, won = _changes(name, before, after)
    if after.unreduced & set(lost):
        refuse(name, "an axis that cuts a dimension cannot become unreduced")
    summed = before.unreduced - after.unreduced
    steps = {
        "all_to_all": [a for a in lost if a in won],
        "all_gather": [a for a in lost if a not in won],
        "reduce_scatter": [a for a in won if a in summed],
        "all_reduce": sorted(summed - set(won)),
    }
    steps = {kind: axes for kind, axes in steps.items() if axes}
    sliced = [a for a in won if a not in lost and a not in summed]
    _check_one_step(name, steps, sliced, lost, won)
    return steps


def _one_step(kind, axes, local):
    """A collective on devices that each hold `local` bytes before it."""
    N = math.prod(a.size for a in axes)
    V = local * N if kind in ("all_gather", "all_to_all") else local
    return record(kind, [a.name for a in axes], V, N)


def _changed(before, after):
    """The dimensions that two layouts cut differently."""
    pairs = zip(before.dims, after.dims, strict=True)
    return [d for d, (b, a) in enumerate(pairs) if b != a]


def _reordered(before, after):
    """Whether all that changes is the order of the axes in some dimension."""
    dims = _changed(before, after)
    same = all(set(before.dims[d]) == set(after.dims[d]) for d in dims)
    return dims and same and before.unreduced == after.unreduced


def _changes(name, before, after):
    """Axes that leave a dimension and axes that join one, with that number."""
    lost, won = {}, {}
    for d, (b, a) in enumerate(zip(before.dims, after.dims, strict=True)):
        keep = min(len(a), len(b))
        if a[:keep] != b[:keep]:
            why = f"from {text(before)} to {text(after)}, dimension {d} is cut"
            refuse(name, f"{why} anew; say it in two reshards")
        lost |= dict.fromkeys(b[keep:], d)
        won |= dict.fromkeys(a[keep:], d)
    return lost, won


def _check_one_step(name, steps, sliced, lost, won):
    """Refuse a change of layout that one collective cannot make."""
    taken = [a for axes in steps.values() for a in axes]
    places = {(lost.get(a), won.get(a)) for a in taken}
    if len(steps) <= 1 and len(places) <= 1 and not (steps and sliced):
        return
    asked = [*steps.items(), *([("slice", sliced)] if sliced else [])]
    asked = "; ".join(
        f"{kind} over {', '.join(a.name for a in axes)}" for kind, axes in asked
    )
    refuse(
        name,
        f"several steps lead from one type to the other ({asked}) and their "
        "order decides the bytes; say them one by one, in several reshards",
    )


def text(layout):
    """A layout in the notation: [X, -] {U_Y}."""
    dims = ", ".join("".join(a.name for a in dim) or "-" for dim in layout.dims)
    waiting = "".join(sorted(a.name for a in layout.unreduced))
    return f"[{dims}]" + (f" {{U_{waiting}}}" if waiting else "")


def without(layout, names):
    """The layout with the axes of these names taken out."""
    keep = [tuple(a for a in dim if a.name not in names) for dim in layout.dims]
    waiting = frozenset(a for a in layout.unreduced if a.name not in names)
    return Placement(tuple(keep), waiting)


def joined(outer, inner):
    """Each dimension cut by the axes of `outer` first, then of `inner`."""
    dims = zip(outer.dims, inner.dims, strict=True)
    return Placement(
        tuple(a + b for a, b in dims), outer.unreduced | inner.unreduced
    )
