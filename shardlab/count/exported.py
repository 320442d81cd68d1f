"""Collectives counted in an exported program: the module that runs.

The records are those that `count.collectives` gives for the function before
it was exported. What differs is said here:

    - an axis of one device is in no group of devices, so a record of several
      axes does not name it;
    - a permute names the axes that its pairs cross, in the order of the mesh,
      and one that leaves every piece where it is is not listed;
    - a loop is counted wherever its counter proves how often it runs, whether
      it was written as scan, fori_loop or while_loop;
    - what no result needs may be gone: JAX does not export it.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

import numpy as np

from shardlab.count.layouts import moves, refuse, replicated, text
from shardlab.count.records import Moved, record, repeated
from shardlab.count.stablehlo import (
    Module,
    product_groups,
    read_module,
    words,
)
from shardlab.count.walk import agreed, tally
from shardlab.count.walk import words as tally_in_words

__all__ = [
    "CALLS",
    "COLLECTIVES",
    "ELEMENTWISE",
    "KNOWN",
    "LOCAL",
    "REFUSED",
    "RULES",
    "Program",
    "Returned",
    "Scope",
    "called",
    "collectives",
    "constraints",
    "counted",
    "crossed",
    "printed",
    "uncounted",
]

COLLECTIVES = {
    "stablehlo.all_gather": "all_gather",
    "stablehlo.reduce_scatter": "reduce_scatter",
    "stablehlo.all_reduce": "all_reduce",
    "stablehlo.all_to_all": "all_to_all",
    "stablehlo.collective_permute": "permute",
    "stablehlo.collective_broadcast": "broadcast",
}
# Without this, their groups count replicas of the program, not devices.
GLOBAL = ("all_gather", "reduce_scatter", "all_reduce")
# Operations that treat every element alike, whatever its neighbours are.
_ELEMENTWISE = """
    abs add and atan2 cbrt ceil clamp compare complex convert cosine
    count_leading_zeros divide exponential exponential_minus_one floor imag
    is_finite log
    log_plus_one logistic maximum minimum multiply negate not or popcnt power
    real reduce_precision remainder round_nearest_afz round_nearest_even rsqrt
    select shift_left shift_right_arithmetic shift_right_logical sign sine sqrt
    subtract tan tanh xor
"""
_LOCAL = """
    batch_norm_grad batch_norm_inference batch_norm_training bitcast_convert
    broadcast broadcast_in_dim cholesky concatenate constant convolution dot
    dot_general dynamic_slice dynamic_update_slice fft gather iota map
    optimization_barrier pad partition_id reduce reduce_window reshape reverse
    rng_bit_generator scatter select_and_scatter slice sort transpose
    triangular_solve
"""
_CHLO = """
    acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv
    erfc is_inf is_neg_inf is_pos_inf lgamma next_after polygamma sinh square
    tan zeta
"""
ELEMENTWISE = frozenset(
    [f"stablehlo.{name}" for name in _ELEMENTWISE.split()]
    + [f"chlo.{name}" for name in _CHLO.split()]
)
LOCAL = ELEMENTWISE.union(
    [f"stablehlo.{name}" for name in _LOCAL.split()], ["chlo.top_k"]
)
# A composite is one operation by name, with a function that says what it does.
CALLS = ("func.call", "stablehlo.composite")
# The operations of StableHLO that are neither counted nor local, and why.
_WHY = {
    "it hands bytes to others beside the collectives": (
        "async_done async_start cross-replica-sum infeed outfeed recv send"
    ),
    "it orders what is not in the program": "after_all create_token",
    "it is code that is not in the program": "custom_call",
    "its sizes are known only when it runs": (
        "dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota "
        "dynamic_pad dynamic_reshape get_dimension_size real_dynamic_slice "
        "set_dimension_size"
    ),
    "its bytes stand in several values at once": "get_tuple_element tuple",
    "it counts replicas of the program, and not devices": "replica_id",
    "its numbers are drawn when it runs": "rng",
    "its numbers have fewer bytes than they say": (
        "uniform_dequantize uniform_quantize"
    ),
    "JAX writes dot_general or gather for it": (
        "einsum torch_index_select unary_einsum"
    ),
}
REFUSED = {
    f"stablehlo.{name}": why
    for why, names in _WHY.items()
    for name in names.split()
}
# What may stand in the body of a reduction or a sort.
QUIET = LOCAL | {"sdy.sharding_constraint", "stablehlo.case", "stablehlo.if"}
STEPS = 200_000
DEPTH = 60


@dataclass
class Scope:
    """Where a walk is.

    module  the Module
    sizes   size of each mesh axis by name, in order
    known   whole numbers with which functions are called, by Value
    manual  the axes whose devices each run the body, () outside shard_map
    depth   how many calls deep
    steps   operations still to be visited, at most, in a list of one
    """

    module: Module
    sizes: Mapping
    known: dict = field(default_factory=dict)
    manual: tuple = ()
    depth: int = 0
    steps: list = field(default_factory=lambda: [STEPS])

    def within(self, **changes):
        """The scope of a body within this one."""
        if self.depth >= DEPTH:
            refuse("func.call", f"functions are called more than {DEPTH} deep")
        fields = {**vars(self), "depth": self.depth + 1, **changes}
        return Scope(**fields)

    def step(self):
        """Count one more operation visited."""
        self.steps[0] -= 1
        if self.steps[0] < 0:
            refuse("module", f"to count it takes more than {STEPS:,} steps")


@dataclass(frozen=True)
class Program:
    """What an exported program does, as far as it can be counted.

    module       shardlab.count.stablehlo.Module
    collectives  tuple of Collective, in program order; None if uncounted
    arguments    Placement of each argument, None where it may lie anywhere
    results      Placement of each result, None where it is on no mesh
    """

    module: Module
    collectives: tuple
    arguments: tuple
    results: tuple

    def module_results(self):
        """A Returned for each result, in order."""
        values = self.module.functions["main"].results
        return list(map(Returned, values, self.results))


class Returned(NamedTuple):
    """What a program returns: a Value and its Placement."""

    value: object
    layout: object


def collectives(program, mesh):
    """Every collective of an exported program, in program order.

    program  bytes, as `jax.export.Exported.serialize` makes them
    mesh     pairs of axis name and size, or a dict
    returns  tuple of Collective, as `shardlab.count.collectives` gives them
    raises   ValueError that names what cannot be counted, and says why
    source   chapter 2
    """
    return counted(read_module(program), mesh).collectives


def counted(module, mesh):
    """A module with what it moves.

    module   shardlab.count.stablehlo.Module
    mesh     pairs of axis name and size, or a dict; the program's own order
             counts, which may be another one
    returns  Program
    raises   ValueError that names what cannot be counted, and says why
    """
    _check_mesh(module, mesh)
    _check_operations(module)
    scope = Scope(module, dict(module.mesh))
    main = module.functions["main"]
    moved, found, wanted = _walk(main, list(module.arguments), scope)
    results = []
    for made, stated in zip(found, module.results, strict=True):
        results.append(made if stated is None else stated)
        if None not in (made, stated) and made != stated:
            why = f"a result lies as {text(made)} and not {text(stated)}"
            refuse("out_shardings", f"{why}, so the compiler moves it")
    moved = Moved(moved, dict(mesh))
    return Program(module, moved, tuple(wanted), tuple(results))


def uncounted(module, mesh):
    """A module whose collectives are left to the compiler, in explicit types.

    module, mesh  as in `counted`

    returns  Program, its collectives None; results lie as the module states
    """
    _check_mesh(module, mesh)
    _check_operations(module)
    return Program(module, None, module.arguments, module.results)


def _check_mesh(module, mesh):
    """Refuse a program for another mesh than the one asked for."""
    sizes, asked = dict(module.mesh), dict(mesh)
    if module.devices != prod(asked.values()) or sizes not in (asked, {}):
        refuse(
            "mesh",
            f"the program is for {module.devices} devices with axes "
            f"{words(sizes)}, and {words(asked)} was asked for",
        )


def _check_operations(module):
    """Refuse a module with an operation that is not known here."""
    pending = list(module.functions.values())
    while pending:
        for op in pending.pop().operations:
            pending += op.bodies
            if op.name not in KNOWN:
                why = REFUSED.get(op.name, "what it does is not known here")
                refuse(op.name, why)


def _walk(body, layouts, scope):
    """Count a body whose arguments lie as `layouts`.

    scope    Scope of the body
    returns  records, layouts of the results, layouts of the arguments
    """
    env = dict(zip(body.inputs, layouts, strict=True))
    return _within(body, env, scope)


def _within(body, env, scope):
    """As `_walk`, where `env` has the layouts of values from outside too."""
    moved = []
    for op in body.operations:
        scope.step()
        moved += _operation(op, env, scope)
    results = [env.get(v) for v in body.results]
    return moved, results, [env.get(v) for v in body.inputs]


def _operation(op, env, scope):
    """The records of one operation; its results are entered in `env`."""
    if op.name in COLLECTIVES:
        rule = _collective
    elif op.name in LOCAL:
        rule = _local if scope.manual else _ordinary
    else:
        rule = RULES[op.name]
    moved, layouts = rule(op, env, scope)
    env.update(zip(op.outputs, layouts, strict=True))
    return moved


def _bind(values, layouts, env):
    """Values of unknown place lie where their first reader wants them."""
    for value, layout in zip(values, layouts, strict=True):
        if env.get(value) is None:
            env[value] = layout


def _collective(op, env, scope):
    """A collective between the devices that run a shard_map's body."""
    kind, said, sends = COLLECTIVES[op.name], op.said, None
    _check_addressed(op, kind, scope)
    _check_quiet(op, scope)
    if kind == "permute":
        axes, sends = crossed(said["source_target_pairs"], scope.sizes)
    else:
        axes = _grouped(op.name, said["replica_groups"], scope.sizes)
    outside = set(axes) - set(scope.manual)
    if outside:
        refuse(op.name, f"it runs over {sorted(outside)} outside shard_map")
    N = prod(scope.sizes[a] for a in axes)
    pairs = zip(op.inputs, op.outputs, strict=True) if N > 1 else ()
    moved = [
        record(kind, axes, _group_bytes(kind, *io, N), N, sends) for io in pairs
    ]
    return moved, [None] * len(op.outputs)


def _check_addressed(op, kind, scope):
    """Refuse a collective whose groups are no groups of devices."""
    if not scope.manual:
        refuse(op.name, "it stands outside shard_map")
    channel = op.said.get("channel_handle", 0) > 0
    ids = kind not in GLOBAL or "use_global_device_ids" in op.said
    if not (channel and ids):
        refuse(op.name, "its groups do not count devices")


def _group_bytes(kind, operand, result, N):
    """V of a collective: the whole array of a group, or its message."""
    if kind in ("all_gather", "all_to_all"):
        return operand.bytes * N
    return (result if kind == "all_reduce" else operand).bytes


def _grouped(name, groups, sizes):
    """The axes over which devices form these groups, the first one major."""
    devices = [d for group in groups for d in group]
    if sorted(devices) != list(range(prod(sizes.values()))):
        refuse(name, "its groups are not all devices, each once")
    N = len(groups[0])
    for axes in _subsets(sizes, N):
        if set(groups) == set(product_groups(axes, sizes)):
            return axes
    if name in ("stablehlo.all_reduce",):  # in whatever order it adds
        members = {frozenset(group) for group in groups}
        for axes in _subsets(sizes, N):
            if members == set(map(frozenset, product_groups(axes, sizes))):
                return axes
    return refuse(name, "its groups of devices are no product of mesh axes")


def _subsets(sizes, N):
    """Orders of axes of more than one device, with N devices in all."""
    axes = [name for name, size in sizes.items() if size > 1]
    for count in range(len(axes) + 1):
        for some in itertools.permutations(axes, count):
            if prod(sizes[a] for a in some) == N:
                yield some


def crossed(pairs, sizes):
    """The fewest axes that a permute crosses, the same in every group.

    pairs    source and target device, by number
    sizes    size of each mesh axis by name, in order
    returns  names of axes, and pairs of positions along these
    """
    for side in zip(*pairs, strict=True):
        if len(set(side)) != len(side) or not set(side) <= set(
            range(prod(sizes.values()))
        ):
            refuse("permute", "its pairs name a device twice, or none")
    pairs = {(s, d) for s, d in pairs}
    if all(s == d for s, d in pairs):
        return (), ()
    axes = [name for name, size in sizes.items() if size > 1]
    for count in range(1, len(axes) + 1):
        for some in itertools.combinations(axes, count):
            if (sends := _group_positions(pairs, some, sizes)) is not None:
                return some, sends
    return refuse("permute", "its pairs of devices are on no mesh")


def _group_positions(pairs, axes, sizes):
    """The pairs as positions in a group of devices, if all groups agree.

    pairs    source and target device, by number
    axes     the axes along which the devices of a group differ
    sizes    size of each mesh axis by name, in order
    returns  pairs of positions; None if pairs leave their group or differ
    """
    groups = product_groups(axes, sizes)
    places = {
        d: (g, i) for g, ids in enumerate(groups) for i, d in enumerate(ids)
    }
    patterns = [set() for _ in groups]
    for source, target in pairs:
        (group, start), (other, end) = places[source], places[target]
        if group != other:
            return None
        patterns[group].add((start, end))
    if any(pattern != patterns[0] for pattern in patterns):
        return None
    return tuple(sorted(patterns[0]))


def _check_quiet(op, scope):
    """Refuse communication in the bodies of an operation that is no loop."""
    for body in op.bodies:
        for inner in body.operations:
            scope.step()
            if inner.name in CALLS:
                _check_quiet(called(inner, scope), scope.within())
            elif inner.name not in QUIET:
                why = f"how often it runs the {inner.name} in it is unknown"
                refuse(op.name, why)
            _check_quiet(inner, scope)


def called(op, scope):
    """The operation `op` of a call with the function's body as its own."""
    name = op.said.get("callee", op.said.get("decomposition"))
    body = scope.module.functions.get(name)
    if body is None or _arity(body) != _arity(op):
        refuse(op.name, "it calls a function that is not there")
    return replace(op, bodies=(body,))


def _arity(some):
    """The numbers of arguments and results of an operation or a body."""
    made = some.results if hasattr(some, "results") else some.outputs
    return len(some.inputs), len(made)


def _around(body, layouts, env, scope):
    """Count a body within a body, which sees the values around it."""
    inner = {**env, **dict(zip(body.inputs, layouts, strict=True))}
    return _within(body, inner, scope.within())


def _local(op, env, scope):
    """What a device does by itself in a shard_map's body."""
    _check_quiet(op, scope)
    return [], [None] * len(op.outputs)


def _ordinary(op, env, scope):
    """An operation outside shard_map: silent where nothing is cut."""
    _check_quiet(op, scope)
    layouts = [env.get(v) for v in op.inputs]
    cut = [x for x in layouts if x is not None and not x.plain]
    if not cut:
        known = layouts and None not in layouts
        return [], [replicated(v) if known else None for v in op.outputs]
    same = op.name in ELEMENTWISE and all(x == cut[0] for x in cut)
    if not same or any(
        len(x.dims) != len(v.shape) for x in cut for v in op.outputs
    ):
        lie = ", ".join(text(x) for x in cut)
        refuse(
            op.name,
            f"outside shard_map, its operands lie as {lie}, and what moves "
            "then is left to the compiler; write it in shard_map",
        )
    return [], [cut[0]] * len(op.outputs)


def _proved_number(value, scope):
    """The whole number that a value is proved to hold, or None."""
    maker = scope.module.made.get(value)
    if maker is None:
        return scope.known.get(value)
    return maker.said.get("value")


def _call(op, env, scope):
    """A function called: its body is counted in place."""
    (body,) = called(op, scope).bodies
    for inner, outer in zip(body.inputs, op.inputs, strict=True):
        scope.known[inner] = _proved_number(outer, scope)
    layouts = [env.get(v) for v in op.inputs]
    moved, results, wanted = _walk(body, layouts, scope.within())
    _bind(op.inputs, wanted, env)
    return moved, results


def _manual_computation(op, env, scope):
    """A shard_map: arguments that lie otherwise are moved first."""
    (body,) = op.bodies
    axes = tuple(op.said["manual_axes"])
    wanted, made = op.said["in_shardings"], op.said["out_shardings"]
    inside = {*axes, *scope.manual}
    moved = []
    for value, want in zip(op.inputs, wanted, strict=True):
        _check_manual(want, inside)
        have = env.get(value)
        if have is not None:
            moved += moves("shard_map in_specs", value, have, want)
    _bind(op.inputs, wanted, env)
    for layout in made:
        _check_manual(layout, inside)
    manual = tuple(a for a in scope.sizes if a in inside)
    silent = [None] * len(body.inputs)
    records, _, _ = _walk(body, silent, scope.within(manual=manual))
    return moved + records, [None if scope.manual else x for x in made]


def _check_manual(layout, axes):
    """Refuse pieces that are cut over axes that the compiler handles."""
    free = [a.name for a in layout.axes if a.name not in axes]
    if free:
        refuse("shard_map", f"it leaves {', '.join(free)} to the compiler")


def _constraint(op, env, scope):
    """A sharding constraint: outside shard_map the compiler acts on it."""
    (value,), asked = op.inputs, op.said["sharding"]
    have = env.get(value)
    if scope.manual:
        if asked.axes or asked.unreduced:
            refuse(op.name, "in shard_map, it leaves axes to the compiler")
        return [], [None]
    if op.said["open"]:
        return [], [have]
    if have is not None and have != asked:
        why = f"the array lies as {text(have)} and not {text(asked)}"
        refuse(
            op.name,
            f"{why}, so the compiler moves it: constraints are types, no "
            "collectives",
        )
    _bind([value], [asked], env)
    return [], [asked]


def _choice(op, env, scope):
    """A choice: counted if every branch moves the same."""
    walked = [_around(body, [], env, scope) for body in op.bodies]
    tallies = [tally(moved) for moved, _, _ in walked]
    if any(other != tallies[0] for other in tallies):
        said = "; ".join(
            f"{i}: {tally_in_words(t)}" for i, t in enumerate(tallies)
        )
        refuse(
            op.name,
            "which branch runs is decided at run time, and they differ "
            f"({said})",
        )
    moved, results, _ = walked[0]
    for other_moved, other, _ in walked[1:]:
        results = agreed(op.name, results, other)
        if [c.pairs for c in moved] != [c.pairs for c in other_moved]:
            moved = [replace(c, pairs=None) for c in moved]
    return moved, results


def _loop(op, env, scope):
    """A loop: its body, as often as its counter proves that it runs."""
    test, body = op.bodies
    layouts, moved = _loop_carry(op, env, scope)
    _bind(op.inputs, layouts, env)
    tested, _, _ = _around(test, layouts, env, scope)
    times = _turns(op, scope) if moved else 0
    if tested or times is None:
        said = tally_in_words(tally(tested + moved))
        refuse(
            op.name,
            "how often it runs is decided at run time, and each time it moves "
            f"{said}; use scan, or fori_loop with bounds that are plain "
            "numbers",
        )
    return repeated(moved, times), layouts


def _loop_carry(op, env, scope):
    """Where a loop's carry lies in every turn, and the records of a turn."""
    _, body = op.bodies
    layouts = [env.get(v) for v in op.inputs]
    for _ in range(len(layouts) + 1):
        moved, results, wanted = _around(body, layouts, env, scope)
        turned = agreed(op.name, wanted, results)
        if turned == layouts:
            return layouts, moved
        layouts = turned
    return refuse(op.name, "its carry lies otherwise after every turn")


def _turns(op, scope):
    """How often a loop runs, if its counter proves it, else None.

    The counter starts at a known number, grows by one, and is compared with a
    known number. JAX writes its own loops so. Others XLA:CPU may run once too
    often or too seldom: from 4, below 3, by 4 it runs once, and from 0, below
    1, by 2 not at all (jaxlib 0.10.2).

    op     the loop, an Operation
    scope  where it stands
    """
    test, body = op.bodies
    compared = scope.module.made.get(test.results[0])
    if compared is None or compared.name != "stablehlo.compare":
        return None
    counter, limit = compared.inputs
    if compared.said.get("comparison_direction") != "LT":
        return None
    if compared.said.get("compare_type") not in (None, _order(counter)):
        return None
    if counter not in test.inputs:
        return None
    place = test.inputs.index(counter)
    first = _proved_number(op.inputs[place], scope)
    last = _outside(limit, op, scope)
    step = _growth(place, op, scope)
    if None in (first, last, step) or step != 1:
        return None
    return max(0, last - first)


def _order(value):
    """How whole numbers of a type are compared, None for other types."""
    kinds = {"i": "SIGNED", "u": "UNSIGNED"}
    return kinds.get(np.dtype(value.dtype).kind)


def _outside(value, op, scope):
    """The number that a value has in every turn of a loop, or None."""
    test, body = op.bodies
    if value not in test.inputs:
        return _proved_number(value, scope)
    place = test.inputs.index(value)
    if body.results[place] is not body.inputs[place]:
        return None
    return _proved_number(op.inputs[place], scope)


def _growth(place, op, scope):
    """By what number a value of the carry grows in each turn, or None."""
    _, body = op.bodies
    value, added = (
        body.inputs[place],
        scope.module.made.get(body.results[place]),
    )
    if added is None or added.name != "stablehlo.add":
        return None
    if added not in body.operations or value not in added.inputs:
        return None
    left, right = added.inputs
    return _proved_number(right if left is value else left, scope)


RULES = {
    **dict.fromkeys(CALLS, _call),
    "sdy.manual_computation": _manual_computation,
    "sdy.sharding_constraint": _constraint,
    "stablehlo.case": _choice,
    "stablehlo.if": _choice,
    "stablehlo.while": _loop,
}
KNOWN = LOCAL.union(COLLECTIVES, RULES)


def constraints(module):
    """The shardings that a program asks for outside shard_map, in order.

    module   shardlab.count.stablehlo.Module
    returns  list of texts such as "float32[16@X,64]{U:Y}", the notation of
             jax.typeof; of a function, each time that it is called
    raises   ValueError when the program is too long
    source   chapter 1
    """
    found = []
    scope = Scope(module, dict(module.mesh))
    _collect(module.functions["main"], found, scope)
    return found


def _collect(body, found, scope):
    """Append the shardings that a body asks for to `found`."""
    for op in body.operations:
        scope.step()
        if op.name == "sdy.sharding_constraint" and not op.said["open"]:
            found.append(printed(op.inputs[0], op.said["sharding"]))
        if op.name in CALLS:
            op = called(op, scope)
        if op.name in RULES and op.name != "sdy.manual_computation":
            for inner in op.bodies:
                _collect(inner, found, scope.within())


def printed(value, layout):
    """A value's type, in the notation of jax.typeof."""
    dims = zip(value.shape, layout.dims, strict=True)
    said = ",".join("@".join([str(n), *_cut(axes)]) for n, axes in dims)
    waiting = ",".join(sorted(axis.name for axis in layout.unreduced))
    return f"{value.dtype.name}[{said}]" + (
        f"{{U:{waiting}}}" if waiting else ""
    )


def _cut(axes):
    """The axes that cut a dimension, as jax.typeof prints them."""
    names = [axis.name for axis in axes]
    return names if len(names) < 2 else [f"({','.join(names)})"]
