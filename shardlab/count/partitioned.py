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
from jax.experimental.compilation_cache import compilation_cache

from shardlab.count.exported import crossed
from shardlab.count.flops import Product
from shardlab.count.jax_inside import is_installed
from shardlab.count.layouts import refuse
from shardlab.count.ledger import is_array
from shardlab.count.records import SLICED, Moved, Origin, record, repeated
from shardlab.count.stablehlo import product_groups

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
    products     list of Product
    argument_bytes, result_bytes, scratch_bytes  of one device, by XLA's
                 compiler for the processor at hand; what lies in between is
                 widened there, so scratch_bytes is no figure of another chip
    not_counted  operations whose FLOPs are not in `products`, by name
    source       chapter 21
    """

    collectives: Moved
    products: list
    argument_bytes: int
    result_bytes: int
    scratch_bytes: int
    not_counted: tuple


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
    jitted = f if hasattr(f, "lower") else jax.jit(f)
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "xla_dump_to": folder,
            "xla_dump_hlo_pass_re": "spmd-partitioning",
            "xla_dump_hlo_module_re": ".*",  # XLA_FLAGS may have chosen
        }
        compiled = _uncached(jitted.lower(*args), options)
        found = glob.glob(f"{folder}/*after_spmd-partitioning*.txt")
        if len(found) != 1:
            refuse("f", f"XLA has partitioned {len(found)} modules, not one")
        with open(found[0], encoding="utf-8") as file:
            text = file.read()
    memory = compiled.memory_analysis()
    ids = [d.id for d in mesh.devices.flat]
    if ids != sorted(ids):
        refuse("mesh", "its devices are not in the order of their numbers")
    walk = _PartitionedReader(text, dict(mesh.shape))
    moved, products = walk.computation(walk.entry)
    return Partitioned(
        Moved(moved, mesh.axis_names),
        products,
        int(memory.argument_size_in_bytes),
        int(memory.output_size_in_bytes),
        int(memory.temp_size_in_bytes),
        tuple(sorted(walk.not_counted)),
    )


def _uncached(lowered, options):
    """Compile, also where a cache of compiled programs would answer instead."""
    kept = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()  # JAX asks once whether there is one
    try:
        return lowered.compile(compiler_options=options)
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
        self.not_counted = set()

    def computation(self, name):
        """Records and products of a computation, in program order."""
        moved, products = [], []
        here = self.computations[name]
        for line in here.lines.values():
            more_moved, more_products = self.line(line, here)
            moved += more_moved
            products += more_products
        return moved, products

    def line(self, line, here):
        """Records and products of one instruction."""
        op = line.opcode
        if op in _REFUSED:
            refuse(op, "what it sends to whom is not known here")
        if op in COLLECTIVES:
            return self.collective(line, here), []
        if op == "dot":
            return [], [self.dot(line, here)]
        if op in _NOT_COUNTED:
            self.not_counted.add(op)
        if op == "while":
            return self.loop(line, here)
        if op == "conditional":
            return self.choice(line)
        if op in ("call", "fusion", "async-start"):
            inner = line.said("to_apply") or line.said("calls")
            return self.computation(inner.lstrip("%"))
        if op == "custom-call":
            self.not_counted.add(line.said("custom_call_target").strip('"'))
        return [], []

    def origin(self, line, array):
        """Where in the reader's program an instruction comes from."""
        file, number, function = self.frames.get(line.frame, ("", 0, ""))
        kind = _NUMPY.get(array.type, array.type)
        return Origin(line.stack, file, number, function, array.shape, kind)

    def collective(self, line, here):
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
        if kind == "all_to_all" and len(given) > 1:  # one block for each device
            whole = sum(array.bytes for array in given)
            given = [given[0]._replace(shape=(N, *given[0].shape))]
            sizes = [whole * N]
        else:
            gathers = kind in ("all_gather", "all_to_all")
            sizes = [array.bytes * (N if gathers else 1) for array in given]
        moved = []
        for array, V in zip(given, sizes, strict=True):
            origin = self.origin(line, array)
            if kind == "all_reduce" and _is_sliced(line, here):
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
        """The Product of a dot."""
        left, right = (here.lines[name].arrays[0] for name in line.operands)
        (result,) = line.arrays
        dims = re.findall(r"\d+", line.said("lhs_contracting_dims"))
        terms = prod(left.shape[int(d)] for d in dims)
        touched = left.bytes + right.bytes + result.bytes
        flops = 2 * prod(result.shape) * terms
        return Product(flops, touched, origin=self.origin(line, result))

    def loop(self, line, here):
        """A loop: its body, as often as its counter proves."""
        body = line.said("body").lstrip("%")
        moved, products = self.computation(body)
        test = self.computations[line.said("condition").lstrip("%")]
        if not moved and not products:
            return [], []
        turns = self.turns(line, here, self.computations[body], test)
        moved = repeated(moved, turns)
        return moved, [replace(p, times=p.times * turns) for p in products]

    def turns(self, line, here, body, test):
        """How often a loop runs whose counter goes from a to b in ones."""
        root = test.root
        if root.opcode == "compare" and root.said("direction") == "LT":
            counter, end = (test.lines[name] for name in root.operands)
            place = counter.said("index")
            first = self.start(here.lines[line.operands[0]], place, here)
            step = self.step(body, place)
            if counter.opcode == "get-tuple-element" and step == 1:
                last = _number(end)
                if first is not None and last is not None:
                    return max(0, last - first)
        return refuse(
            "while",
            "something moves in it or is multiplied, and how often it runs is "
            "not a number in the program; use scan",
        )

    def start(self, tuple_, place, here):
        """The value with which a loop's counter begins, or None."""
        if tuple_.opcode != "tuple" or not place:
            return None
        return _number(here.lines[tuple_.operands[int(place)]], here)

    def step(self, body, place):
        """What a turn adds to the counter, or None."""
        if body.root.opcode != "tuple" or not place:
            return None
        after = body.lines[body.root.operands[int(place)]]
        if after.opcode != "add":
            return None
        one, other = (body.lines[name] for name in after.operands)
        if one.opcode == "get-tuple-element" and one.said("index") == place:
            return _number(other, body)
        return None

    def choice(self, line):
        """A choice between branches: counted if all move and form the same."""
        names = re.findall(r"%([\w.\-]+)", line.said("branch_computations"))
        names = names or [
            line.said(f"{way}_computation").lstrip("%")
            for way in ("true", "false")
        ]
        walked = [self.computation(name) for name in names]
        kinds = {
            tuple((c.kind, c.axes, c.volume, c.times) for c in moved)
            for moved, _ in walked
        }
        work = {
            sum(p.flops * p.times for p in products) for _, products in walked
        }
        if len(kinds) > 1 or len(work) > 1:
            refuse("cond", "its branches differ in what they move or multiply")
        return walked[0]


def _is_sliced(line, here):
    """Whether all that reads an array cuts a slice out of it."""
    users = here.users[line.name]
    if not users or line is here.root:
        return False
    return all(
        user.opcode == "dynamic-slice"
        or (user.opcode in _HANDED_ON and _is_sliced(user, here))
        for user in users
    )


def _number(line, here=None):
    """The whole number that an instruction is, or None."""
    while line.opcode in ("copy", "convert", "bitcast") and here:
        line = here.lines[line.operands[0]]
    value = re.match(r" value=(-?\d+)", line.rest)
    return int(value.group(1)) if line.opcode == "constant" and value else None


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
