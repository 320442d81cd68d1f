"""Collectives and products counted in the module that XLA has partitioned.

Where a program says with `jit` and shardings what it wants, and not how, the
compiler decides what moves. Its partitioner writes a module for one device,
with every collective in it. That module is read here, before XLA merges,
widens or fuses anything for the processor that it compiles for.

What this says is what XLA chose, with the version that is installed, and no
formula; a compiler for another chip partitions alike and then goes on. One
thing it does not show: an AllReduce of which each device keeps a slice is left
as it is, and turned into a ReduceScatter later, if at all. Such a record says
so, in the note of its origin.
"""

import glob
import re
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import NamedTuple

import jax
import numpy as np
from jax.errors import JaxRuntimeError
from jax.experimental.compilation_cache import compilation_cache

from shardlab.count.exported import crossed
from shardlab.count.jax_inside import is_installed, ragged_dots_named
from shardlab.count.layouts import refuse
from shardlab.count.ledger import is_array
from shardlab.count.products import Product, Unknown
from shardlab.count.records import SLICED, Moved, Origin, record, repeated
from shardlab.count.stablehlo import product_groups
from shardlab.count.walk import OPAQUE, agreed_work, bodies, tally, words

__all__ = [
    "Array",
    "Instruction",
    "Partitioned",
    "groups_of",
    "mesh_of",
    "partitioned",
]

COLLECTIVES = {
    "all-gather": "all_gather",
    "all-reduce": "all_reduce",
    "all-to-all": "all_to_all",
    "collective-broadcast": "broadcast",
    "collective-permute": "permute",
    "reduce-scatter": "reduce_scatter",
}
# What talks to others in ways that are not counted here.
_REFUSED = (
    *("ragged-all-to-all", "send", "recv", "infeed", "outfeed"),
    *("async-start", "all-gather-start", "all-reduce-start"),
    "collective-permute-start",
)
# Products of another kind, as far as XLA still calls them so.
_NOT_COUNTED = ("convolution", "cholesky", "triangular-solve", "fft")
_BYTES = {
    **{"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "f16": 2, "bf16": 2},
    **{"s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8, "c64": 8},
    **{"c128": 16, "token": 0},
}
_NUMPY = {
    **{"pred": "bool", "bf16": "bfloat16", "f16": "float16", "f32": "float32"},
    **{"f64": "float64", "s8": "int8", "s16": "int16", "s32": "int32"},
    **{"s64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32"},
}
_ARRAY = re.compile(r"([a-z]+[0-9]*\w*)\[([0-9,]*)\]")
# Operations that hand on the array that they are given, or a view of it.
_HANDED_ON = ("bitcast", "copy", "convert", "reshape", "transpose")
# Calls of code that is not in the module, and multiplies nothing.
_NO_MATMUL_CALLS = ("TopK", "MoveToHost", "MoveToDevice", "PartialReduce")
# JAX for CPUs writes a matmul with groups as a dense one for each group.
_RAGGED_DOT = re.compile(r"ragged_dot\[(\d+)\]")
_RAGGED = "the groups are cut, and how many rows a device has is unknown"


class Array(NamedTuple):
    """An array on one device: its type in XLA's words, and its shape."""

    type: str
    shape: tuple

    @property
    def bytes(self):
        """Bytes of the array."""
        if self.type not in _BYTES:
            eight = re.match(r"f8e\d", self.type)
            if not eight:
                refuse(self.type, "its elements have no size known here")
            return prod(self.shape)
        return prod(self.shape) * _BYTES[self.type]


@dataclass(frozen=True, eq=False)
class Instruction:
    """One line of the module.

    name, opcode  in XLA's words
    arrays        tuple of Array: its result, or the results of a tuple
    operands      names of other instructions of the same computation
    rest          what follows: attributes and metadata, as text
    """

    name: str
    opcode: str
    arrays: tuple
    operands: tuple
    rest: str

    def said(self, key):
        """The text of an attribute; "" if it is not there."""
        found = re.search(rf"[ ,]{key}=", self.rest)
        if not found:
            return ""
        text, depth = self.rest[found.end() :], 0
        if on_mesh := re.match(r"mesh\[.*?\](, device_ids=\(.*?\))? ", text):
            return text[: text.index("}", on_mesh.end()) + 1]
        for i, letter in enumerate(text):
            depth += (letter in "({[") - (letter in ")}]")
            if letter == "," and not depth:
                return text[:i]
        return text

    @property
    def frame(self):
        """The number of the stack frame that it comes from; "" if unknown."""
        found = re.search(r"stack_frame_id=(\d+)", self.rest)
        return found.group(1) if found else ""

    @property
    def stack(self):
        """The names of the transformations around it."""
        found = re.search(r'op_name="([^"]*)"', self.rest)
        return found.group(1) if found else ""


@dataclass(frozen=True, eq=False)
class _Computation:
    """A function of the module: its lines by name, and the one it returns."""

    lines: dict
    root: Instruction

    @cached_property
    def users(self):
        """The instructions that read each one, by name."""
        users = {name: [] for name in self.lines}
        for line in self.lines.values():
            for name in line.operands:
                users[name].append(line)
        return users


@dataclass(frozen=True, eq=False)
class Partitioned:
    """What one device does, as XLA's partitioner has written it.

    collectives  records, as `count.collectives` gives them
    products     list of Product and Unknown
    source       chapter 21
    """

    collectives: Moved
    products: list


def partitioned(f, *args, mesh=None):
    """What XLA makes of a function whose arguments say where they lie.

    f        function of arrays, jitted or not; what it wants is said by the
             shardings of its arguments, its own, or those that jit was given
    args     arrays or jax.ShapeDtypeStruct, each with a sharding, in trees
    mesh     Mesh whose axes name the groups of devices; None: the mesh of the
             arguments
    returns  Partitioned; the function is compiled and not run
    raises   ValueError that names f or mesh, or what cannot be counted
    source   chapter 21
    """
    if not callable(f):
        raise ValueError(f"f must be a function of arrays, got {f!r}")
    mesh = mesh or mesh_of(args)
    ids = [d.id for d in mesh.devices.flat]
    if ids != sorted(ids):
        refuse("mesh", "its devices are not in the order of their numbers")
    closed, text = _module(f, args)
    walk = _PartitionedReader(text, dict(mesh.shape))
    moved, products, _ = walk.computation(walk.entry)
    if _has_untold(closed.jaxpr, products):
        products.append(Unknown("ragged_dot", _RAGGED))
    return Partitioned(Moved(moved, mesh.axis_names), products)


def _module(f, args):
    """The jaxpr of a function, and the module that XLA has partitioned."""
    traced = (f if hasattr(f, "trace") else jax.jit(f)).trace(*args)
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "xla_dump_to": folder,
            "xla_dump_hlo_pass_re": "spmd-partitioning",
            "xla_dump_hlo_module_re": ".*",  # XLA_FLAGS may have chosen
        }
        failed = None
        try:
            with ragged_dots_named():
                lowered = traced.lower()
            _uncached(lowered, options)
        except (NotImplementedError, ValueError, JaxRuntimeError) as error:
            opaque = sorted({*_names_in(traced.jaxpr.jaxpr)} & {*OPAQUE})
            if isinstance(error, ValueError) and not opaque:
                raise  # no fault of an operation, such as a wrong sharding
            said = str(error).strip().partition("\n")[0]
            named = re.search(r"(?:opcode|primitive) [`']?([\w-]+)", said)
            name = named[1] if named else ", ".join(opaque) or "f"
            failed = name, f"XLA for CPUs cannot compile it ({said})"
        # The partitioner comes first, and what it wrote is there even so.
        found = glob.glob(f"{folder}/*after_spmd-partitioning*.txt")
        if len(found) != 1:
            why = f"XLA has partitioned {len(found)} modules, not one"
            refuse(*(failed or ("f", why)))
        with open(found[0], encoding="utf-8") as file:
            return traced.jaxpr, file.read()


def _names_in(jaxpr):
    """The names of all operations of a jaxpr, also of those that it calls."""
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for body in bodies(eqn):
            yield from _names_in(body)


def _has_untold(jaxpr, products):
    """Whether matmuls with groups are among the dense ones, unmarked."""
    told = any(_RAGGED_DOT.search(p.origin.stack) for p in products)
    return "ragged_dot_general" in _names_in(jaxpr) and not told


def _uncached(lowered, options):
    """Compile, also where a cache of compiled programs would answer instead."""
    kept = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()  # JAX asks once whether there is one
    try:
        lowered.compile(compiler_options=options)
    finally:
        jax.config.update("jax_enable_compilation_cache", kept)
        compilation_cache.reset_cache()


def mesh_of(args):
    """The one mesh of all arguments that lie on several devices."""
    leaves = [x for x in jax.tree.leaves(args) if is_array(x)]
    meshes = {
        x.sharding.mesh
        for x in leaves
        if hasattr(getattr(x, "sharding", None), "mesh")
        and not x.sharding.mesh.empty
    }
    if len(meshes) != 1:
        refuse(
            "mesh",
            f"the arguments lie on {len(meshes)} meshes; give each a "
            "NamedSharding on the same one, or say mesh=",
        )
    (mesh,) = meshes
    if isinstance(mesh, jax.sharding.AbstractMesh):
        refuse("mesh", "XLA partitions for devices; an AbstractMesh has none")
    return mesh


def _parsed(text):
    """The computations of a module by name, and the name of its entry."""
    computations, entry, lines, root, name = {}, None, {}, None, None
    for line in text.splitlines():
        head = re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$", line)
        if head:
            lines, name = {}, head.group(2)
            entry = name if head.group(1) else entry
        elif line == "}" and name:
            computations[name] = _Computation(lines, root)
            name = None
        elif name and " = " in line:
            made = _instruction(line.strip())
            for operand in made.operands:
                if "#" in operand and operand not in lines:
                    lines[operand] = _element(operand, lines)
            lines[made.name] = made
            root = made if line.strip().startswith("ROOT ") else root
    return computations, entry


def _instruction(line):
    """An Instruction from its line."""
    head, rest = line.removeprefix("ROOT ").split(" = ", 1)
    end = _closing(rest) if rest.startswith("(") else rest.index(" ")
    arrays, rest = rest[:end], rest[end:].strip()
    opcode, rest = rest.split("(", 1)
    end = _closing("(" + rest)
    inside = re.sub(r"/\*.*?\*/", "", rest[: end - 2])
    operands = tuple(re.findall(r"%([\w.\-#]+)", inside))
    if opcode in ("constant", "parameter"):
        operands = ()
    known = tuple(
        Array(kind, tuple(int(n) for n in dims.split(",") if n))
        for kind, dims in _ARRAY.findall(arrays)
    )
    after = rest[end - 1 :]
    if opcode in ("constant", "parameter"):
        after = f" value={inside}{after}"
    return Instruction(head.strip().lstrip("%"), opcode, known, operands, after)


def _element(operand, lines):
    """The get-tuple-element that newer XLA writes as %while#2, in the old form.

    operand  "while#2"
    lines    Instructions before it, by name
    """
    name, place = operand.split("#", 1)
    known = lines[name].arrays
    if not place.isdigit() or int(place) >= len(known):
        refuse("module", f"%{operand} names no array of a flat tuple")
    kind = "get-tuple-element"
    array = (known[int(place)],)
    return Instruction(operand, kind, array, (name,), f", index={place}")


def _closing(text):
    """The position after the bracket that closes the one text begins with."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter in "({") - (letter in ")}")
        if not depth:
            return i + 1
    return refuse("module", f"a bracket is not closed: {text[:60]}")


def groups_of(text, devices):
    """Replica groups from each way in which XLA spells them."""
    if text in ("", "{}"):
        return [tuple(range(devices))]
    if text.startswith("{"):
        return [
            tuple(map(int, group.split(",")))
            for group in re.findall(r"\{([0-9,]+)\}", text[1:-1])
        ] or [tuple(map(int, text[1:-1].split(",")))]
    if text.startswith("mesh"):
        return _groups_on_mesh(text)
    found = re.fullmatch(r"\[([0-9,]+)\]<=(\[.*)", text)
    if not found:
        refuse("replica_groups", f"{text} is spelled in no way known here")
    ids = _numbered(found[2]).reshape([int(n) for n in found[1].split(",")])
    return [tuple(group) for group in ids.tolist()]


def _groups_on_mesh(text):
    """Groups along axes: mesh['a'=4,'b'=2], device_ids=([8]) {'a':(1)2}."""
    found = re.fullmatch(
        r"mesh\[((?:'\w+'=\d+,?)+)\](?:, device_ids=\((.+)\))? \{(.*)\}",
        text.strip(),
    )
    if not found:
        refuse("replica_groups", f"{text} is spelled in no way known here")
    sizes = {a: int(n) for a, n in re.findall(r"'(\w+)'=(\d+)", found[1])}
    axes, parts = [], {a: [(a, n)] for a, n in sizes.items()}
    for part in re.sub(r"\s", "", found[3]).split(",") if found[3] else ():
        along = re.fullmatch(r"'(\w+)'(?::\((\d+)\)(\d+))?", part)
        if not along or along[1] not in sizes:
            refuse("replica_groups", f"{text} has no axis {part}")
        name, before, size = along.groups()
        if before:
            # An axis of eight is 2 x 2 x 2 where only the middle is meant.
            before, size = int(before), int(size)
            after = sizes[name] // (before * size)
            if len(parts[name]) > 1 or before * size * after != sizes[name]:
                refuse("replica_groups", f"{text} cuts {name} in no known way")
            parts[name] = [
                (f"{name}<", before),
                (f"{name}:", size),
                (f"{name}>", after),
            ]
            name = f"{name}:"
        axes.append(name)
    groups = product_groups(
        axes, dict(p for cut in parts.values() for p in cut)
    )
    if not found[2]:
        return groups
    ids = _numbered(found[2]).ravel()
    return [tuple(int(ids[i]) for i in group) for group in groups]


def _numbered(text):
    """Devices in order, from [2,4]T(1,0) or from a list of their numbers."""
    if re.fullmatch(r"[0-9,]+", text):
        return np.array([int(n) for n in text.split(",")])
    found = re.fullmatch(r"\[([0-9,]+)\](?:T\(([0-9,]+)\))?", text)
    if not found:
        refuse("replica_groups", f"{text} is spelled in no way known here")
    dims, turned = (
        [int(n) for n in part.split(",")] if part else None
        for part in found.groups()
    )
    ids = np.arange(prod(dims)).reshape(dims)
    return ids.transpose(turned) if turned else ids


def _named(groups, sizes):
    """The fewest axes along which the devices of every group differ.

    Of a group that is a part of an axis, such as two of its four devices, they
    are the axes that it is a part of.

    groups   list of tuples of device numbers
    sizes    size of each mesh axis by name, in order
    returns  tuple of names
    raises   ValueError if the mesh has no such groups
    source   chapter 21
    """
    axes = [name for name, size in sizes.items() if size > 1]
    for count in range(len(axes) + 1):
        for some in combinations(axes, count):
            inside = {
                device: i
                for i, group in enumerate(product_groups(some, sizes))
                for device in group
            }
            if all(len({inside[d] for d in group}) == 1 for group in groups):
                return some
    return refuse("replica_groups", f"{groups} are groups of no mesh")


class _PartitionedReader:
    """A walk over a partitioned module, from its entry."""

    def __init__(self, text, sizes):
        """Read the text; `sizes` are those of the mesh axes, by name."""
        self.computations, self.entry = _parsed(text)
        self.frames = _frames(text)
        self.sizes = sizes

    def computation(self, name, given=()):
        """Records and products of a computation, in program order.

        given    for each of its parameters the argument of the program that it
                 is, or a piece of; None if it is none; a tuple for a tuple
        returns  records; products; the argument that its result is, as `given`
        """
        moved, products, roots = [], [], {}
        here = self.computations[name]
        for line in here.lines.values():
            if line.opcode == "parameter":
                place = _number(line)
                entry = name == self.entry
                known = place if entry else (*given, *[None] * 99)[place]
                roots[line.name] = known
                continue
            found = self.line(line, here, roots)
            moved += found[0]
            products += found[1]
            known = found[2] if len(found) > 2 else _handed_on(line, roots)
            roots[line.name] = known
        return moved, products, roots[here.root.name]

    def line(self, line, here, roots):
        """Records and products of one instruction, and what its result is."""
        op = line.opcode
        if op in _REFUSED:
            refuse(op, "how much it sends to whom the program does not say")
        if op in COLLECTIVES:
            return self.collective(line, here, roots), []
        if op == "dot":
            return [], [self.dot(line, here)]
        if op == "while":
            return self.loop(line, here, roots)
        if op == "conditional":
            return self.choice(line, roots)
        if op in ("call", "fusion", "async-start"):
            inner = line.said("to_apply") or line.said("calls")
            given = [roots[name] for name in line.operands]
            return self.computation(inner.lstrip("%"), given)
        if op == "custom-call":
            op = line.said("custom_call_target").strip('"')
            if op in _NO_MATMUL_CALLS:
                return [], []
        elif op not in _NOT_COUNTED:
            return [], []
        where = self.origin(line, (*line.arrays, Array("token", ()))[0])
        return [], [Unknown(op, "not counted", origin=where)]

    def origin(self, line, array):
        """Where in the reader's program an instruction comes from."""
        file, number, function = self.frames.get(line.frame, ("", 0, ""))
        kind = _NUMPY.get(array.type, array.type)
        return Origin(line.stack, file, number, function, array.shape, kind)

    def collective(self, line, here, roots):
        """The records of a collective, one for each array that it moves."""
        kind, devices = COLLECTIVES[line.opcode], prod(self.sizes.values())
        pairs = None
        if kind == "permute":
            said = re.findall(
                r"\{(\d+),(\d+)\}", line.said("source_target_pairs")
            )
            axes, pairs = self.permuted([(int(s), int(d)) for s, d in said])
            N = prod(self.sizes[a] for a in axes)
        else:
            groups = groups_of(line.said("replica_groups"), devices)
            axes, N = _named(groups, self.sizes), len(groups[0])
        if N == 1:
            return []
        given = [here.lines[name].arrays[0] for name in line.operands]
        sources = [roots[name] for name in line.operands]
        if kind == "all_to_all" and len(given) > 1:  # one block for each device
            whole = sum(array.bytes for array in given)
            given = [given[0]._replace(shape=(N, *given[0].shape))]
            sources = sources[:1]
            sizes = [whole * N]
        else:
            gathers = kind in ("all_gather", "all_to_all")
            sizes = [array.bytes * (N if gathers else 1) for array in given]
        moved = []
        for array, V, source in zip(given, sizes, sources, strict=True):
            source = source if isinstance(source, int) else None
            origin = self.origin(line, array)._replace(argument=source)
            if kind == "all_reduce" and _is_sliced(line, here, groups):
                origin = origin._replace(note=SLICED)
            made = record(kind, axes, V, N, pairs)
            moved.append(replace(made, origin=origin))
        return moved

    def permuted(self, pairs):
        """The axes that a permute crosses; all of them if its groups differ."""
        try:
            return crossed(pairs, self.sizes)
        except ValueError:
            names = tuple(a for a, size in self.sizes.items() if size > 1)
            return names, None

    def dot(self, line, here):
        """The Product of a dot, or what is not known of it."""
        left, right = (here.lines[name].arrays[0] for name in line.operands)
        (result,) = line.arrays
        dims = re.findall(r"\d+", line.said("lhs_contracting_dims"))
        terms = prod(left.shape[int(d)] for d in dims)
        touched = left.bytes + right.bytes + result.bytes
        flops = 2 * prod(result.shape) * terms
        origin = self.origin(line, result)
        if groups := _RAGGED_DOT.search(origin.stack):
            groups = int(groups[1])
            if not left.shape or left.shape[0] != groups:
                return Unknown("ragged_dot", _RAGGED, origin=origin)
            flops //= groups
        wrote = origin.stack.rpartition("/")[2]
        if wrote not in ("", "dot_general"):
            why = "the compiler for CPUs has made dense matmuls of it"
            return Unknown(wrote, why, origin=origin)
        return Product(flops, touched, origin=origin)

    def loop(self, line, here, roots):
        """A loop: its body, as often as its counter proves."""
        name = line.said("body").lstrip("%")
        body = self.computations[name]
        test = self.computations[line.said("condition").lstrip("%")]
        first = roots[line.operands[0]]
        known = None
        if isinstance(first, tuple):
            pairs = enumerate(first)
            known = tuple(r if _passed_on(body, n) else None for n, r in pairs)
        moved, products, _ = self.computation(name, [known])
        if not moved and not products:
            return [], [], known
        turns = self.turns(line, here, body, test)
        if turns is None:
            why = "how often it runs is not a number in the program"
            if moved:
                refuse("while", f"something moves in it, and {why}; use scan")
            where = self.origin(line, Array("token", ()))
            return [], [Unknown("while", why, origin=where)], known
        products = [replace(p, times=p.times * turns) for p in products]
        return repeated(moved, turns), products if turns else [], known

    def turns(self, line, here, body, test):
        """How often a loop runs whose counter goes up in ones, or None."""
        root = _copied(test.root, test)
        if root.opcode != "compare" or len(root.operands) != 2:
            return None
        sides = [_copied(test.lines[name], test) for name in root.operands]
        way = root.said("direction")
        if way == "GT":
            way, sides = "LT", sides[::-1]
        counter, end = sides
        place = counter.said("index")
        if way != "LT" or counter.opcode != "get-tuple-element":
            return None
        last = _number(end)
        if end.opcode == "get-tuple-element" and _passed_on(
            body, int(end.said("index"))
        ):
            last = self.start(line, end.said("index"), here)
        first = self.start(line, place, here)
        if None in (first, last) or self.step(body, place) != 1:
            return None
        return max(0, last - first)

    def start(self, line, place, here):
        """The value with which an element of a loop's carry begins, or None."""
        tuple_ = _copied(here.lines[line.operands[0]], here)
        if tuple_.opcode != "tuple":
            return None
        return _number(_copied(here.lines[tuple_.operands[int(place)]], here))

    def step(self, body, place):
        """What a turn adds to the counter, or None."""
        after = _left(body, int(place))
        if after is None or after.opcode != "add":
            return None
        pair = [_copied(body.lines[name], body) for name in after.operands]
        for one, other in (pair, pair[::-1]):
            if one.opcode == "get-tuple-element" and one.said("index") == place:
                return _number(other)
        return None

    def choice(self, line, roots):
        """A choice between branches: counted if all of them move the same."""
        names = re.findall(r"%([\w.\-]+)", line.said("branch_computations"))
        names = names or [
            line.said(f"{way}_computation").lstrip("%")
            for way in ("true", "false")
        ]
        pairs = zip(names, line.operands[1:], strict=True)
        walked = [self.computation(n, [roots[given]]) for n, given in pairs]
        tallies = [tally(moved) for moved, *_ in walked]
        if any(other != tallies[0] for other in tallies):
            said = "; ".join(f"{i}: {words(t)}" for i, t in enumerate(tallies))
            refuse("cond", f"its branches differ in what they move ({said})")
        work = agreed_work("cond", [products for _, products, _ in walked])
        where = self.origin(line, Array("token", ()))
        work = [p if p.origin.file else replace(p, origin=where) for p in work]
        return walked[0][0], work


def _handed_on(line, roots):
    """The argument of the program that a result is, or is a piece of."""
    given = [roots[name] for name in line.operands]
    if line.opcode == "tuple":
        return tuple(given)
    if line.opcode == "get-tuple-element":
        inside = isinstance(given[0], tuple)
        return given[0][int(line.said("index"))] if inside else None
    if line.opcode in ("dynamic-slice", "opt-barrier", *_HANDED_ON):
        return given[0]
    return None


def _copied(line, here):
    """What a line copies, or itself."""
    while line.opcode in ("copy", "convert", "bitcast"):
        line = here.lines[line.operands[0]]
    return line


def _left(body, place):
    """What a turn of a loop leaves at a place of its carry, or None."""
    if body.root.opcode != "tuple":
        return None
    return _copied(body.lines[body.root.operands[place]], body)


def _passed_on(body, place):
    """Whether every turn leaves an element of the carry as it was."""
    left = _left(body, place)
    return (
        left is not None
        and left.opcode == "get-tuple-element"
        and left.said("index") == str(place)
        and body.lines[left.operands[0]].opcode == "parameter"
    )


def _is_sliced(line, here, groups):
    """Whether each device of a group keeps a slice of its own, and no more.

    groups  tuples of the numbers of devices
    """
    kept = _kept(line, here, sum(map(len, groups)))
    if not kept or any(k is None or (k != kept[0]).any() for k in kept):
        return False
    shares = [np.sort(kept[0][list(group)]) for group in groups]
    return all(np.array_equal(s, np.arange(len(s))) for s in shares)


def _kept(line, here, devices):
    """Which share each device cuts out of an array, for each reader of it."""
    if line is here.root:
        return [None]
    shares = []
    for user in here.users[line.name]:
        if user.opcode == "dynamic-slice" and user.operands[0] == line.name:
            shares.append(_share(user, here, devices))
        elif user.opcode in _HANDED_ON:
            shares += _kept(user, here, devices) or [None]
        else:
            shares.append(None)
    return shares


def _share(line, here, devices):
    """The number of the share that a dynamic-slice gives each device."""
    whole = here.lines[line.operands[0]].arrays[0].shape
    (part,) = line.arrays
    pairs = enumerate(zip(whole, part.shape, strict=True))
    cut = [d for d, (all_, some) in pairs if some != all_]
    if len(cut) != 1:
        return None
    first = _by_device(here.lines[line.operands[1 + cut[0]]], here, devices)
    size = part.shape[cut[0]]
    if first is None or whole[cut[0]] % size or (first % size).any():
        return None
    return first.reshape(-1) // size


def _by_device(line, here, devices):
    """The whole numbers that a value is on each device, or None."""
    (array,) = line.arrays
    if line.opcode == "partition-id":
        return np.arange(devices)
    if line.opcode == "constant":
        numbers = re.match(r" value=([-0-9, {}]*)", line.rest)[1]
        values = [int(n) for n in re.findall(r"-?\d+", numbers)]
        if len(values) != prod(array.shape):
            return None
        values = np.array(values).reshape(array.shape)
        return np.broadcast_to(values, (devices, *array.shape))
    if line.opcode not in (*_HANDED_ON, "dynamic-slice", *_ARITHMETIC):
        return None
    given = [
        _by_device(here.lines[name], here, devices) for name in line.operands
    ]
    if any(x is None for x in given):
        return None
    if line.opcode == "dynamic-slice":
        table, first = given[0], given[1]
        if table.ndim != 2 or array.shape != (1,):
            return None
        return np.array([[row[i]] for row, i in zip(table, first, strict=True)])
    if line.opcode in _HANDED_ON:
        return given[0].reshape(devices, *array.shape)
    return _ARITHMETIC[line.opcode](*given)


_ARITHMETIC = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.floor_divide,
    "remainder": np.remainder,
}


def _number(line):
    """The whole number that an instruction is, or None."""
    value = re.match(r" value=(-?\d+)", line.rest)
    known = line.opcode in ("constant", "parameter") and value
    return int(value.group(1)) if known else None


def _frames(text):
    """File, line and function of each stack frame, by its number."""
    names = {
        section: dict(
            re.findall(
                r'^(\d+) (?:"([^"]*)")$' if quoted else r"^(\d+) \{(.*)\}$",
                _part(text, section),
                re.M,
            )
        )
        for section, quoted in {
            "FileNames": True,
            "FunctionNames": True,
            "FileLocations": False,
            "StackFrames": False,
        }.items()
    }
    places, parents = {}, {}
    for frame, said in names["StackFrames"].items():
        place = _fields(
            names["FileLocations"][_fields(said)["file_location_id"]]
        )
        parents[frame] = _fields(said).get("parent_frame_id", frame)
        places[frame] = (
            names["FileNames"][place["file_name_id"]],
            int(place["line"]),
            names["FunctionNames"][place["function_name_id"]],
        )
    return {frame: _own(frame, places, parents) for frame in places}


def _own(frame, places, parents):
    """The innermost place outside of installed packages, if there is one."""
    seen, at = [], frame
    while at in places and at not in seen:
        if not is_installed(places[at][0]):
            return places[at]
        seen.append(at)
        # XLA writes the parent's number plus one; 1 is none.
        at = str(int(parents[at]) - 1)
    return places[frame]


def _part(text, section):
    """The lines of a section of a module's header."""
    found = re.search(rf"^{section}\n((?:\d+ .*\n)*)", text, re.M)
    return found.group(1) if found else ""


def _fields(said):
    """The numbers in a line such as "line=19 column=6", as text by name."""
    return dict(re.findall(r"(\w+)=(\d+)", said))
