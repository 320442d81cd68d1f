"""What a step moves, multiplies and holds, from whichever level can tell."""

import inspect
from dataclasses import dataclass
from math import prod

import jax

from shardlab.arguments import one_of
from shardlab.count.layouts import total_bytes
from shardlab.count.ledger import asked, is_array
from shardlab.count.living import alive
from shardlab.count.partitioned import mesh_of, partitioned
from shardlab.count.products import Product, Unknown
from shardlab.count.records import VOLUME, Moved, volume
from shardlab.inspection.pins import Pins, pinned

__all__ = ["LEVELS", "PARTS", "Argument", "Report", "inspect_step"]

PARTS = ("forward", "again", "backward", "beside")
LEVELS = {
    "program": "the program itself: its collectives and its types",
    "partitioner": "what XLA's partitioner has made of it",
}


@dataclass(frozen=True)
class Argument:
    """An array that a step is given.

    name    as the step calls it, such as "W['in']"
    bytes   of the whole array
    held    bytes of it that one device holds
    dtype   name of its type
    shape   of the whole array
    source  chapter 21
    """

    name: str
    bytes: int
    held: int
    dtype: str
    shape: tuple

    @property
    def share(self):
        """The part of the array that one device holds."""
        return self.held / self.bytes if self.bytes else 1.0


@dataclass(frozen=True)
class Report:
    """What is known of a step, on one device.

    name       of the step
    level      "program" or "partitioner", a key of LEVELS
    why        why the program alone did not say; "" where it did
    sizes      size of each mesh axis, by name
    moved      records of its collectives
    products   list of Product
    arguments  list of Argument
    alive      bytes at the worst moment of the program as it is written;
               None if that is not known
    gaps       what could not be told, in words, a tuple
    pins       Pins: the same step with its activations pinned; None where that
               helps nothing, or was not tried
    source     chapter 21
    """

    name: str
    level: str
    why: str
    sizes: dict
    moved: Moved
    products: list
    arguments: list
    alive: int | None
    gaps: tuple
    pins: Pins | None = None

    @property
    def devices(self):
        """Devices of the mesh."""
        return prod(self.sizes.values())

    @property
    def held(self):
        """Bytes of all arguments on one device."""
        return sum(argument.held for argument in self.arguments)

    def volume(self, part=None, kind=None, dtype=None):
        """Bytes that move, as the formulas count them.

        part     only in this part of the step, one of PARTS; None: in all
        kind     only by this collective, such as "all_gather"; None: by all
        dtype    only of this type, such as "bfloat16"; None: of all
        returns  bytes
        raises   ValueError that names what is none of these
        """
        one_of("part", part, (*PARTS, None))
        one_of("kind", kind, (*VOLUME, None))
        return volume(
            [
                c
                for c in self.moved
                if part in (None, c.origin.part)
                if kind in (None, c.kind)
                if dtype in (None, c.origin.dtype)
            ]
        )

    def flops(self, part=None):
        """FLOPs of one device, in one part of the step or in all of it.

        part     one of PARTS, or None for all
        returns  FLOPs, int
        raises   ValueError for another part
        """
        one_of("part", part, (*PARTS, None))
        return sum(
            p.flops * p.times
            for p in self.products
            if part in (None, p.origin.part)
        )


def inspect_step(f, *args, level=None, name=None):
    """Count what a step moves, multiplies and holds; nothing is run.

    What no result needs is left out, as the compiler leaves it out.

    The program itself is asked first: the collectives of shard_map and what
    explicit types ask for. Where it leaves the choice to the compiler, XLA is
    asked what its partitioner makes of it, for as many devices as there are.

    f        function of arrays, jitted or not
    args     its arguments: arrays or jax.ShapeDtypeStruct, in trees. Where the
             compiler decides, each needs a sharding
    level    "program" or "partitioner": ask only there; None: as above
    name     of the step; None: its own
    returns  Report
    raises   ValueError that names f, level, or what cannot be counted and why
    source   chapter 21
    """
    if not callable(f):
        raise ValueError(f"f must be a function of arrays, got {f!r}")
    one_of("level", level, (*LEVELS, None))
    name = name or getattr(f, "__name__", type(f).__name__)
    why = "asked for"
    if level != "partitioner":
        try:
            found = asked(f, args, live=True)
            sizes = _mesh_sizes(args, found.closed)
            left_open = _left_open(found.products, sizes)
            if level == "program" or not left_open or _without_devices(args):
                return _from_program(f, args, name, found, sizes, left_open)
            why = left_open[0]
        except ValueError as error:
            if level == "program" or not str(error).startswith("cannot count"):
                raise
            why = str(error)
    return _from_partitioner(f, args, name, why)


def _left_open(products, sizes):
    """Why the program does not say how many devices share a product."""
    found = {}
    for p in products:
        free = set(sizes) - p.axes if isinstance(p, Product) else ()
        if free:
            found[p.origin.place, *sorted(free)] = (
                f"cannot count the FLOPs at {p.origin.place}: whether "
                f"{', '.join(sorted(free))} shares them is left to the compiler"
            )
    return list(found.values())


def _without_devices(args):
    """Whether no compiler can be asked: no argument lies on devices."""
    try:
        mesh_of(args)
    except ValueError:
        return True
    return False


def _from_program(f, args, name, found, sizes, left_open):
    """A Report of what the program says itself."""
    gaps = [*left_open, *_not_counted(found.products)]
    formed = [
        p
        for p in found.products
        if isinstance(p, Product) and p.axes.issuperset(sizes)
    ]
    peak = None
    try:
        peak = _most_alive(f, args)
    except (ValueError, TypeError, NotImplementedError) as error:
        gaps.append(f"memory at the worst moment: {_first_line(error)}")
    given = _arguments(f, args, found.held)
    return Report(
        *(name, "program", "", sizes, found.moved, formed, given, peak),
        tuple(gaps),
    )


def _not_counted(products):
    """A line for each operation whose FLOPs nobody here knows."""
    unknown = [p for p in products if isinstance(p, Unknown)]
    lines = (
        f"FLOPs of `{p.name}` at {p.origin.place}: {p.why}" for p in unknown
    )
    return list(dict.fromkeys(lines))


def _from_partitioner(f, args, name, why):
    """A Report of what XLA's partitioner has made of the program."""
    mesh = mesh_of(args)
    made = partitioned(f, *args, mesh=mesh)
    gaps = ["memory at the worst moment: the compiler for a chip decides"]
    gaps += _not_counted(made.products)
    held = [
        prod(x.sharding.shard_shape(x.shape)) * x.dtype.itemsize
        if hasattr(x, "sharding") and x.sharding is not None
        else total_bytes(x)
        for x in jax.tree.leaves(args)
        if is_array(x)
    ]
    sizes = {a: n for a, n in mesh.shape.items() if n > 1}
    formed = [p for p in made.products if isinstance(p, Product)]
    return Report(
        *(name, "partitioner", why, sizes, made.collectives, formed),
        *(_arguments(f, args, held), None, tuple(gaps)),
        pinned(f, args, mesh, made.collectives),
    )


def _arguments(f, args, held):
    """The arrays among the arguments of a function, by name."""
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        names = []
    names += [f"argument {i}" for i in range(len(names), len(args))]
    leaves = [
        (name + jax.tree_util.keystr(path), x)
        for name, arg in zip(names, args, strict=False)
        for path, x in jax.tree_util.tree_flatten_with_path(arg)[0]
        if is_array(x)
    ]
    return [
        Argument(name, total_bytes(x), size, str(x.dtype), tuple(x.shape))
        for (name, x), size in zip(leaves, held, strict=True)
    ]


def _most_alive(f, args):
    """Bytes at the worst moment, of a program whose arguments say where."""
    leaves, tree = jax.tree.flatten(args)
    if not all(map(is_array, leaves)):
        raise ValueError("not every argument is an array")

    def of_arrays(*arrays):
        return f(*jax.tree.unflatten(tree, arrays))

    return alive(of_arrays, *leaves).live


def _mesh_sizes(args, closed):
    """The size of each axis of more than one device, by name."""
    given = [
        getattr(getattr(x, "sharding", None), "mesh", None)
        for x in jax.tree.leaves(args)
    ]
    given = [mesh for mesh in given if mesh is not None and not mesh.empty]
    sizes = {}
    for mesh in [*given, *_meshes_in(closed.jaxpr)]:
        sizes |= {a: n for a, n in dict(mesh.shape).items() if n > 1}
    return sizes


def _meshes_in(jaxpr):
    """The meshes that the equations of a jaxpr and its types name."""
    for v in [*jaxpr.invars, *(v for e in jaxpr.eqns for v in e.outvars)]:
        mesh = getattr(getattr(v.aval, "sharding", None), "mesh", None)
        if mesh is not None and not mesh.empty:
            yield mesh
    for eqn in jaxpr.eqns:
        if "mesh" in eqn.params:
            yield eqn.params["mesh"]
        for value in eqn.params.values():
            for item in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(item, "jaxpr", item)
                if hasattr(inner, "eqns"):
                    yield from _meshes_in(inner)


def _first_line(error):
    """The first line of an error, without what follows."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
