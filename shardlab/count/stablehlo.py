"""A StableHLO module, read into plain Python operation by operation.

Nothing is taken from text: a function may be called "stablehlo.all_gather".
What has no place in a program that is counted is refused by its name.
"""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from shardlab.count.jax_inside import ir, make_ir_context, sdy, stablehlo
from shardlab.count.layouts import Axis, Placement, refuse

__all__ = [
    "Body",
    "Module",
    "Operation",
    "Value",
    "exported",
    "product_groups",
    "read_module",
    "words",
]

DTYPES = {
    "i1": jnp.bool_,
    **{f"i{n}": getattr(jnp, f"int{n}") for n in (8, 16, 32, 64)},
    **{f"ui{n}": getattr(jnp, f"uint{n}") for n in (8, 16, 32, 64)},
    **{f"f{n}": getattr(jnp, f"float{n}") for n in (16, 32, 64)},
    "bf16": jnp.bfloat16,
    "f8E4M3FN": jnp.float8_e4m3fn,
    "f8E5M2": jnp.float8_e5m2,
    "complex<f32>": jnp.complex64,
    "complex<f64>": jnp.complex128,
}
# Any other attribute with a dot in its name is an order to the compiler that
# no operation shows, such as mhlo.sharding.
HARMLESS = (
    "jax.",
    "mhlo.num_partitions",
    "mhlo.num_replicas",
    "sdy.sharding",
    "tf.aliasing_output",
)
FUNCTION_ATTRIBUTES = ("arg_attrs", "res_attrs")


@dataclass(frozen=True, eq=False)
class Value:
    """An array of a program: its shape and dtype where it is written."""

    shape: tuple
    dtype: object

    @property
    def bytes(self):
        """Bytes of all its elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def ndim(self):
        """Number of its dimensions."""
        return len(self.shape)


@dataclass(frozen=True, eq=False)
class Body:
    """A list of operations with arguments and results, all of them Values."""

    inputs: tuple
    operations: tuple
    results: tuple


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation: name, Values in and out, Bodies, and what else it says."""

    name: str
    inputs: tuple
    outputs: tuple
    bodies: tuple = ()
    said: Mapping = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Module:
    """A program.

    mesh       its mesh axes in order, tuples of name and size
    functions  Body by name; "main" is the program
    arguments  Placement of each argument of main, None where none is stated
    results    Placement of each result of main, None where none is stated
    made       Operation by the Value that it makes
    devices    number of devices that it says to run on
    """

    mesh: tuple
    functions: Mapping
    arguments: tuple
    results: tuple
    made: Mapping
    devices: int


def exported(program):
    """The jax.export.Exported that some bytes hold.

    program  bytes, as `Exported.serialize` makes them
    returns  jax.export.Exported
    raises   ValueError when they hold none, whatever they hold
    """
    try:
        return jax.export.deserialize(bytearray(program))
    except Exception as error:
        name = type(error).__name__
        raise ValueError(f"not an exported program ({name})") from None


def read_module(program):
    """The module of an exported program.

    program  bytes, as `Exported.serialize` makes them, or an Exported
    returns  Module
    raises   ValueError that names what cannot be read
    """
    if isinstance(program, (bytes, bytearray)):
        program = exported(program)
    with make_ir_context():
        try:
            module = program.mlir_module(serialized=False)
            sound = module.operation.verify()
        except Exception as error:
            name = type(error).__name__
            raise ValueError(f"not an exported program ({name})") from None
        if not sound:
            raise ValueError("not an exported program (invalid module)")
        return _of_module(module)


def _of_module(module):
    """The Module of an MLIR module."""
    attributes = _attributes_of(module.operation)
    replicas = _number(attributes.get("mhlo.num_replicas"), 1)
    if replicas != 1:
        refuse("module", f"it is written for {replicas} replicas")
    tops = [op.operation for op in module.body.operations]
    meshes = _mesh_names(op for op in tops if op.name == "sdy.mesh")
    reader = _Reader(meshes)
    for op in tops:
        reader.top(op)
    if "main" not in reader.functions:
        refuse("module", "it has no function main")
    return Module(
        tuple(_mesh_of(meshes, reader.used).items()),
        reader.functions,
        reader.layouts["arguments"],
        reader.layouts["results"],
        reader.made,
        _number(attributes.get("mhlo.num_partitions"), 1),
    )


def _attributes_of(operation):
    """The attributes of an operation by name; orders to the compiler refused.

    An argument's and a result's attributes are those of their function.
    """
    found = {name: operation.attributes[name] for name in operation.attributes}
    names = list(found)
    for key in FUNCTION_ATTRIBUTES:
        for each in found.get(key, ()):
            names += [named.name for named in ir.DictAttr(each)]
    for name in names:
        if "." in name and not name.startswith(HARMLESS):
            refuse(operation.name, f"its attribute {name} is not counted")
    ordered = operation.name not in ("func.func", "builtin.module")
    if ordered and any("." in name for name in found):
        refuse(operation.name, "an attribute of it gives it a sharding")
    return found


def _number(attribute, default):
    """The whole number in an attribute."""
    if attribute is None:
        return default
    return ir.IntegerAttr(attribute).value


def _mesh_names(operations):
    """Axis sizes by name, by the name of each mesh that a module declares."""
    meshes = {}
    for op in operations:
        mesh = sdy.MeshAttr(op.attributes["mesh"])
        if list(mesh.device_ids):
            refuse("sdy.mesh", "its devices are not in order")
        axes = [sdy.MeshAxisAttr(a) for a in mesh.axes]
        name = ir.StringAttr(op.attributes["sym_name"]).value
        meshes[name] = {axis.name: axis.size for axis in axes}
    return meshes


def _mesh_of(meshes, used):
    """The one mesh that a program uses: axis sizes by name, in order."""
    used = used & set(meshes) or meshes
    different = {tuple(meshes[name].items()) for name in used if meshes[name]}
    if len(different) > 1:
        said = " and ".join(words(dict(axes)) for axes in sorted(different))
        refuse("sdy.mesh", f"there are two meshes: {said}")
    return dict(*different)


def words(mesh):
    """A mesh in words."""
    return ", ".join(f"{name}={size}" for name, size in mesh.items()) or "none"


def product_groups(axes, sizes):
    """Groups of the devices that differ along these axes only."""
    ids = np.arange(math.prod(sizes.values())).reshape(tuple(sizes.values()))
    names = list(sizes)
    rest = [a for a in names if a not in axes]
    ids = ids.transpose([names.index(a) for a in (*rest, *axes)])
    N = math.prod(sizes[a] for a in axes)
    return [tuple(group) for group in ids.reshape(-1, N).tolist()]


class _Reader:
    """Collects the functions of a module.

    meshes  axis sizes by name, by the name of the mesh
    """

    def __init__(self, meshes):
        self.meshes = meshes
        self.functions, self.layouts = {}, {}
        self.values, self.made, self.used = {}, {}, set()

    def top(self, op):
        """Read one operation of the module itself."""
        if op.name == "func.func":
            self.function(op)
        elif op.name != "sdy.mesh":
            refuse(op.name, "it has no place between functions")

    def function(self, op):
        """Read one function; of main, what its arguments' shardings are."""
        attributes = _attributes_of(op)
        name = ir.StringAttr(attributes["sym_name"]).value
        if len(op.regions) != 1 or not len(op.regions[0].blocks):
            refuse("func.func", f"{name} has no body")
        self.functions[name] = self.body(op.regions[0])
        if name == "main":
            sides = ("arguments", "results")
            for side, key in zip(sides, FUNCTION_ATTRIBUTES, strict=True):
                body = self.functions[name]
                count = len(
                    body.inputs if side == "arguments" else body.results
                )
                stated = attributes.get(key) or [None] * count
                self.layouts[side] = tuple(map(self.stated, stated))

    def stated(self, attributes):
        """The layout among the attributes of an argument or a result."""
        if attributes is None:
            return None
        attributes = ir.DictAttr(attributes)
        if "sdy.sharding" not in attributes:
            return None
        return self.layout(attributes["sdy.sharding"])

    def body(self, region):
        """The Body of a region, which must be a single block."""
        if len(region.blocks) != 1:
            refuse("region", "it is not a single block")
        (block,) = region.blocks
        inputs = tuple(map(self.value, block.arguments))
        *operations, last = [op.operation for op in block.operations]
        operations = tuple(map(self.operation, operations))
        if last.name.rpartition(".")[2] != "return":
            refuse(last.name, "a body does not end with it")
        return Body(inputs, operations, tuple(map(self.value, last.operands)))

    def value(self, value):
        """The Value of an MLIR value: the same one each time."""
        if value not in self.values:
            self.values[value] = _typed(value.type)
        return self.values[value]

    def operation(self, op):
        """The Operation of an MLIR operation."""
        if op.name == "stablehlo.custom_call":
            target = ir.StringAttr(op.attributes["call_target_name"]).value
            refuse(f"{op.name} {target}", "what it does is not in the program")
        said = self.said(op, _attributes_of(op))
        made = Operation(
            op.name,
            tuple(map(self.value, op.operands)),
            tuple(map(self.value, op.results)),
            tuple(map(self.body, op.regions)),
            said,
        )
        self.made.update(dict.fromkeys(made.outputs, made))
        return made

    def said(self, op, attributes):
        """What the attributes of an operation say, as plain data."""
        said = {}
        for name, attribute in attributes.items():
            if name in OF and op.name not in OF[name]:
                refuse(op.name, f"{name} is no attribute of it")
            if name == "replica_groups" and _by_axes(attribute):
                said[name] = self.groups(op.name, attribute)
            elif name in READ:
                with _as_refusal(op.name, name):
                    said[name] = READ[name](attribute)
            elif name in ("in_shardings", "out_shardings"):
                each = sdy.TensorShardingPerValueAttr(attribute).shardings
                said[name] = tuple(map(self.layout, each))
                self.used |= {self.mesh(sharding) for sharding in each}
            elif name == "sharding":
                said[name] = self.layout(attribute)
                said["open"] = _is_open(attribute)
        return said

    def groups(self, operation, attribute):
        """The groups of devices that a collective names by axes of a mesh."""
        said = stablehlo.ReplicaGroupMeshAxesAttr(attribute)
        mesh = getattr(said.mesh, "value", None)
        if mesh not in self.meshes:
            refuse(operation, "its groups are those of no mesh")
        axes = [stablehlo.AxisRefAttr(each) for each in said.axes]
        if any(axis.sub_axis_info for axis in axes):
            refuse(operation, "its groups cut an axis into parts")
        sizes, names = self.meshes[mesh], [axis.name for axis in axes]
        if len(set(names)) < len(names) or not set(names) <= set(sizes):
            refuse(operation, "its groups name an axis twice, or no axis")
        self.used.add(mesh)
        return tuple(product_groups(names, sizes))

    def mesh(self, attribute):
        """The name of the mesh of a sharding."""
        mesh = sdy.TensorShardingAttr(attribute).mesh_or_ref
        if not isinstance(mesh, ir.FlatSymbolRefAttr):
            refuse("sharding", "it names no mesh")
        return mesh.value

    def layout(self, attribute):
        """The Placement that a sharding of Shardy states; axes of size 1 go."""
        sharding, mesh = sdy.TensorShardingAttr(attribute), self.mesh(attribute)
        sizes = self.meshes.get(mesh, {})

        def axes(references):
            found = [sdy.AxisRefAttr(each) for each in references]
            if any(axis.sub_axis_info for axis in found):
                refuse("sharding", "it cuts an axis into parts")
            if unknown := {axis.name for axis in found} - set(sizes):
                refuse("sharding", f"its mesh has no axes {sorted(unknown)}")
            if found:
                self.used.add(mesh)
            named = [Axis(axis.name, sizes[axis.name]) for axis in found]
            return tuple(axis for axis in named if axis.size > 1)

        dims = map(sdy.DimensionShardingAttr, sharding.dimension_shardings)
        cut = tuple(axes(dim.axes) for dim in dims)
        return Placement(cut, frozenset(axes(sharding.unreduced_axes)))


def _is_open(attribute):
    """Whether a sharding leaves every dimension to the compiler."""
    dims = sdy.TensorShardingAttr(attribute).dimension_shardings
    dims = [sdy.DimensionShardingAttr(dim) for dim in dims]
    return not any(dim.is_closed or len(dim.axes) for dim in dims)


def _typed(type_):
    """The Value of a type: an array of a fixed shape and a known dtype."""
    if not isinstance(type_, ir.RankedTensorType):
        refuse(str(type_), "only arrays can be counted")
    if not type_.has_static_shape:
        refuse(str(type_), "its shape is not fixed")
    dtype = DTYPES.get(str(type_.element_type))
    if dtype is None:
        refuse(str(type_), "its elements are of no known size")
    return Value(tuple(type_.shape), jnp.dtype(dtype))


def _by_axes(attribute):
    """Whether groups of devices are named by axes, as JAX 0.12 does."""
    kind = getattr(stablehlo, "ReplicaGroupMeshAxesAttr", None)
    return kind is not None and kind.isinstance(attribute)


@contextlib.contextmanager
def _as_refusal(operation, attribute):
    """Turn what goes wrong in reading an attribute into a refusal."""
    try:
        yield
    except (TypeError, ValueError) as error:
        why = f"its {attribute} cannot be read ({type(error).__name__})"
        refuse(operation, why)


def _integers(attribute):
    """The rows of a table of whole numbers."""
    table = ir.DenseIntElementsAttr(attribute)
    rows, columns = ir.RankedTensorType(table.type).shape
    flat = [table[i] for i in range(len(table))]
    return tuple(
        tuple(flat[row * columns : (row + 1) * columns]) for row in range(rows)
    )


def _scalar(attribute):
    """The whole number that a constant holds, None if it holds another."""
    if not isinstance(attribute, ir.DenseIntElementsAttr):
        return None
    type_ = ir.RankedTensorType(attribute.type)
    return int(attribute[0]) if not type_.shape else None


# Operations carry any attribute that somebody wrote by hand: a sum that says
# its value would be taken for a constant.
_MANUAL = ("sdy.manual_computation",)
_GROUPS = (
    "stablehlo.all_gather",
    "stablehlo.all_reduce",
    "stablehlo.all_to_all",
    "stablehlo.collective_broadcast",
    "stablehlo.reduce_scatter",
)
_PERMUTE = ("stablehlo.collective_permute",)
OF = {
    "callee": ("func.call",),
    "channel_handle": _GROUPS + _PERMUTE,
    "compare_type": ("stablehlo.compare",),
    "comparison_direction": ("stablehlo.compare",),
    "decomposition": ("stablehlo.composite",),
    "dot_dimension_numbers": ("stablehlo.dot_general",),
    "in_shardings": _MANUAL,
    "manual_axes": _MANUAL,
    "out_shardings": _MANUAL,
    "replica_groups": _GROUPS,
    "sharding": ("sdy.sharding_constraint",),
    "source_target_pairs": _PERMUTE,
    "use_global_device_ids": _GROUPS,
    "value": ("stablehlo.constant",),
}
READ = {
    "callee": lambda a: ir.FlatSymbolRefAttr(a).value,
    "channel_handle": lambda a: stablehlo.ChannelHandle(a).handle,
    "compare_type": lambda a: stablehlo.ComparisonTypeAttr(a).value,
    "comparison_direction": lambda a: (
        stablehlo.ComparisonDirectionAttr(a).value
    ),
    "decomposition": lambda a: ir.FlatSymbolRefAttr(a).value,
    "dot_dimension_numbers": lambda a: tuple(
        stablehlo.DotDimensionNumbers(a).lhs_contracting_dimensions
    ),
    "manual_axes": lambda a: tuple(sdy.ManualAxesAttr(a)),
    "replica_groups": _integers,
    "source_target_pairs": _integers,
    "use_global_device_ids": lambda a: True,
    "value": _scalar,
}
