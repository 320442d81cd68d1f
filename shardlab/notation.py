"""The book's notation, A[I_X, J]{U_Y}: reading, writing, and arithmetic on it.

A name, then the dimensions in square brackets. A subscript lists the mesh axes
that cut a dimension, the first being the outermost (major) one: I_XY. Braces
say over which axes the values still have to be summed: {U_Z}, "unreduced".
Mesh axes are single capital letters.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from jax.sharding import PartitionSpec

from shardlab.arguments import partitions, takes, whole

__all__ = [
    "Layout",
    "axes_used",
    "axis_names",
    "axis_size",
    "bytes_per_device",
    "copies",
    "from_spec",
    "local_shape",
    "of",
    "parse",
    "pieces",
    "to_spec",
]


@dataclass(frozen=True)
class Layout:
    """One array as the notation describes it; `str` writes it back.

    name       the array's name, such as "W_in"
    dims       names of the dimensions, such as ("D", "F")
    axes       for each dimension the mesh axes that cut it, major first
    unreduced  mesh axes over which a sum is outstanding, in alphabetical order
    """

    name: str
    dims: tuple[str, ...]
    axes: tuple[tuple[str, ...], ...]
    unreduced: tuple[str, ...] = ()

    def __post_init__(self):
        _refuse_malformed(self)

    def __str__(self):
        dims = [
            dim + ("_" + "".join(cut) if cut else "")
            for dim, cut in zip(self.dims, self.axes, strict=True)
        ]
        mark = "{U_" + "".join(self.unreduced) + "}" if self.unreduced else ""
        return f"{self.name}[{', '.join(dims)}]{mark}"


def _refuse_malformed(layout):
    """ValueError unless the fields are tuples of text that fit together."""
    if not isinstance(layout.name, str):
        raise ValueError(f'name must be text such as "A", got {layout.name!r}')
    fields = [("dims", layout.dims), ("unreduced", layout.unreduced)]
    fits = isinstance(layout.axes, tuple) and all(
        isinstance(cut, tuple) for cut in layout.axes
    )
    if not fits or len(layout.axes) != len(layout.dims):
        raise ValueError(
            "axes must be a tuple of the mesh axes that cut each of "
            f"{len(layout.dims)} dimensions, got {layout.axes!r}"
        )
    fields += [("axes", cut) for cut in layout.axes]
    for field, names in fields:
        if not isinstance(names, tuple) or not all(
            isinstance(name, str) for name in names
        ):
            raise ValueError(f"{field} must be a tuple of names, got {names!r}")
    used = [axis for cut in layout.axes for axis in cut] + [*layout.unreduced]
    twice = next((axis for axis in used if used.count(axis) > 1), None)
    if twice is not None:
        raise ValueError(
            f"axes must name mesh axis {twice} once, for it cuts an array only "
            f"once; got {layout.axes!r} and unreduced {layout.unreduced!r}"
        )


def _complain(text, position, sentence):
    """Raise a ValueError that shows `text` with a mark under one character.

    position  index of the character; len(text) marks the end
    sentence  what is wrong and what was expected there
    """
    raise ValueError(f"{sentence}\n    {text}\n    {' ' * position}^")


class _Reader:
    """Takes pieces from the front of a text; complains where it stands."""

    def __init__(self, text):
        self.text, self.position = text, 0

    def take(self, pattern, expected):
        """The next piece, which must match the regular expression `pattern`."""
        found = re.compile(pattern).match(self.text, self.position)
        if not found:
            _complain(self.text, self.position, f"expected {expected}")
        self.position = found.end()
        return found.group()

    def skip_spaces(self):
        """Move on to the next character that is no space."""
        self.position = re.compile(" *").match(self.text, self.position).end()

    def at(self, pattern):
        """Whether the next piece, after any spaces, matches `pattern`."""
        self.skip_spaces()
        return re.compile(pattern).match(self.text, self.position) is not None


def parse(text):
    """The layout that a line of the notation describes.

    text     such as "A[I_XY, J]" or "Out[B_X, D] {U_Y}"; a Layout is returned
             as it is
    returns  Layout
    raises   ValueError that points at the first character that is wrong: bad
             syntax, a dimension named twice, or a mesh axis used twice
    source   scaling-book part 3, "a unified notation for sharding"
    """
    if isinstance(text, Layout):
        return text
    if not isinstance(text, str):
        raise ValueError(f'text must be like "A[I_X, J]", got {text!r}')
    reader, used = _Reader(text), set()
    reader.skip_spaces()
    name = reader.take(r"[A-Za-z]\w*", "the array's name, such as A or W_in")
    reader.skip_spaces()
    reader.take(r"\[", "[ before the dimensions")
    dims, axes = _read_dimensions(reader, used)
    reader.take(r"\]", "]")
    unreduced = _read_unreduced(reader, used) if reader.at(r"\{") else ()
    if not reader.at("$"):
        _complain(text, reader.position, "expected nothing more here")
    return Layout(name, dims, axes, unreduced)


def _read_dimensions(reader, used):
    """The dimensions before a bracket, and the mesh axes that cut each."""
    dims, axes = [], []
    while not reader.at(r"\]"):
        if dims:
            reader.take(",", ", or ] after a dimension")
            reader.skip_spaces()
        dims.append(_read_dimension(reader, dims))
        axes.append(_read_axes(reader, used) if reader.at("_") else ())
    return tuple(dims), tuple(axes)


def _read_dimension(reader, seen):
    """The dimension's name at the reader, which must be a new one."""
    start = reader.position
    dim = reader.take("[A-Za-z][A-Za-z0-9]*", "a dimension, such as I or B")
    if dim in seen:
        _complain(reader.text, start, f"the dimension {dim} is named twice")
    return dim


def _read_axes(reader, used):
    """The mesh axes of a subscript; each is added to `used`."""
    reader.take("_", "_ before the mesh axes")
    start = reader.position
    axes = reader.take("[A-Z]+", "mesh axes, capital letters such as X or XY")
    for offset, axis in enumerate(axes):
        if axis in used:
            _complain(
                reader.text,
                start + offset,
                f"mesh axis {axis} is used twice: it cuts an array only once",
            )
        used.add(axis)
    return tuple(axes)


def _read_unreduced(reader, used):
    """The mesh axes of a mark {U_...}, in alphabetical order."""
    reader.take(r"\{", "{")
    reader.take("U(?=_)", "U_ and mesh axes, as in {U_X}")
    axes = _read_axes(reader, used)
    reader.take(r"\}", "} after the mesh axes")
    return tuple(sorted(axes))


def to_spec(layout):
    """The PartitionSpec that says the same to JAX.

    layout   a Layout, or the notation as text
    returns  jax.sharding.PartitionSpec, one entry for each dimension
    raises   ValueError as `parse`
    source   scaling-book part 3, "how do we describe this in code?"
    """
    layout = parse(layout)
    entries = [
        None if not cut else cut[0] if len(cut) == 1 else cut
        for cut in layout.axes
    ]
    return PartitionSpec(*entries, unreduced=frozenset(layout.unreduced))


def from_spec(spec, dims, name="A"):
    """The layout that a PartitionSpec gives to an array.

    spec     jax.sharding.PartitionSpec; dimensions that it leaves out are whole
    dims     names of all the dimensions, such as "IJ" or ("B", "D")
    name     the array's name
    returns  Layout
    raises   ValueError when the spec is longer than `dims`, or holds an axis
             that is no single capital letter
    source   scaling-book part 3, "how do we describe this in code?"
    """
    if not isinstance(spec, PartitionSpec):
        raise ValueError(f"spec must be a PartitionSpec, got {spec!r}")
    dims, entries = _named(dims), list(partitions(spec))
    if len(entries) > len(dims):
        raise ValueError(
            f"spec has {len(entries)} entries, but dims names {len(dims)} "
            f"dimensions: {', '.join(dims)}"
        )
    entries += [None] * (len(dims) - len(entries))
    if any(e is PartitionSpec.UNCONSTRAINED for e in entries):
        raise ValueError(
            f"spec must name mesh axes or None, got UNCONSTRAINED in {spec}"
        )
    axes = tuple(
        () if e is None else tuple(e) if isinstance(e, tuple) else (e,)
        for e in entries
    )
    unreduced = tuple(sorted(spec.unreduced))
    return parse(str(Layout(name, dims, axes, unreduced)))


def _named(dims):
    """The argument `dims` as a tuple, if it names dimensions."""
    fits = isinstance(dims, (str, tuple, list))
    if not fits or not all(isinstance(dim, str) for dim in dims):
        raise ValueError(
            f'dims must be names such as "IJ" or ("B", "D"), got {dims!r}'
        )
    return tuple(dims)


def of(x, dims, name="A"):
    """The layout of a JAX array or tracer, read off its own type.

    x        jax.Array, ShapeDtypeStruct or tracer whose sharding has a spec
    dims     names of its dimensions, such as "IJ"
    name     the array's name
    returns  Layout
    raises   ValueError when `dims` does not name every dimension, or the
             sharding has no spec
    source   chapter 1
    """
    if not hasattr(x, "shape"):
        raise ValueError(f"x must be an array or its shape, got {x!r}")
    if len(_named(dims)) != len(x.shape):
        raise ValueError(
            f"dims names {len(dims)} dimensions, the array has {len(x.shape)}"
        )
    sharding = getattr(x, "sharding", None)
    spec = getattr(sharding, "spec", None)
    if spec is None:
        raise ValueError(f"the array's sharding has no spec: {sharding}")
    return from_spec(spec, dims, name)


def axis_size(mesh, axis):
    """How many devices lie along a mesh axis.

    mesh     sizes by name, such as {"X": 4, "Y": 2}; or jax.sharding.Mesh.shape
    axis     the axis's name
    returns  int
    raises   ValueError that lists the axes of the mesh when it has no such axis
    source   scaling-book part 3, "a unified notation for sharding"
    """
    names = axis_names(mesh)
    if axis not in names:
        raise ValueError(
            f"mesh has no axis {axis!r}; it has {', '.join(names) or 'none'}"
        )
    return whole(f"the size of mesh axis {axis}", mesh[axis])


def axis_names(mesh):
    """The names of the axes of a mesh, if it is sizes by name.

    mesh     as in `axis_size`
    returns  list of str
    raises   ValueError that says what was expected
    source   chapter 1
    """
    if isinstance(mesh, Mapping) and all(isinstance(a, str) for a in mesh):
        return list(mesh)
    raise ValueError(f'mesh must be sizes by name, {{"X": 4}}; got {mesh!r}')


def axes_used(layout):
    """The mesh axes that a layout names, cutting or unreduced.

    layout   a Layout, or the notation as text
    returns  set of names
    raises   ValueError as `parse`
    source   chapter 1
    """
    layout = parse(layout)
    return {axis for cut in layout.axes for axis in cut} | {*layout.unreduced}


def pieces(layout, shape, mesh):
    """For each dimension, its size and into how many pieces it is cut.

    layout   a Layout, or the notation as text
    shape    the array's global shape, in elements
    mesh     sizes of the mesh axes by name
    returns  list of pairs of ints
    raises   ValueError as `local_shape`
    source   scaling-book part 3, "a unified notation for sharding"
    """
    layout = parse(layout)
    if not isinstance(shape, (tuple, list)) or len(shape) != len(layout.dims):
        raise ValueError(
            f"shape must have {len(layout.dims)} entries for {layout}, "
            f"got {shape!r}"
        )
    sizes = {axis: axis_size(mesh, axis) for axis in axes_used(layout)}
    found = []
    for dim, cut, size in zip(layout.dims, layout.axes, shape, strict=True):
        size = whole(f"the size of dimension {dim}", size, least=0)
        ways = prod(sizes[axis] for axis in cut)
        if size % ways:
            raise ValueError(
                f"dimension {dim} of {layout} has {size} elements, which "
                f"{ways} devices along {''.join(cut)} cannot share equally"
            )
        found.append((size, ways))
    return found


def _pieces_fit(layout, shape, mesh):
    pieces(layout, shape, mesh)


@takes(_pieces_fit)
def local_shape(layout, shape, mesh):
    """The shape of the block that one device holds.

    layout   a Layout, or the notation as text
    shape    the array's global shape, in elements
    mesh     sizes of the mesh axes by name, such as {"X": 4, "Y": 2}
    returns  tuple of ints
    raises   ValueError when the shape has another number of dimensions, the
             mesh lacks an axis, or a dimension does not divide
    source   scaling-book part 3, "a unified notation for sharding"
    """
    cuts = parse(layout).axes  # for each dimension, the axes that cut it
    ways = [prod(mesh[axis] for axis in cut) for cut in cuts]
    return tuple(size // n for size, n in zip(shape, ways, strict=True))


@takes(itemsize=whole)
def bytes_per_device(layout, shape, mesh, itemsize):
    """The bytes of an array that one device holds.

    layout, shape, mesh  as in `local_shape`
    itemsize             bytes per element; 2 is bf16
    returns              bytes, int
    raises               ValueError as `local_shape`, or for a bad itemsize
    source               scaling-book part 3, quiz 1
    """
    return prod(local_shape(layout, shape, mesh)) * itemsize


def _all_on_the_mesh(layout, mesh):
    for axis in {*axes_used(layout), *axis_names(mesh)}:
        axis_size(mesh, axis)


@takes(_all_on_the_mesh)
def copies(layout, mesh):
    """How many devices hold the same block of an array.

    layout   a Layout, or the notation as text
    mesh     sizes of the mesh axes by name
    returns  int: the product of the axes that the layout does not name
    raises   ValueError when the mesh lacks an axis of the layout
    source   scaling-book part 3, problem 1
    """
    named = axes_used(layout)
    return prod(size for axis, size in mesh.items() if axis not in named)
