"""Bytes alive in an exported program, by a walk from definitions to last uses.

A value lives from the operation that makes it to the last one that reads it,
in program order. Bytes are added up between two operations: a copy that
replaces its source is counted once. Views of an array (reshape, transpose,
slice, barrier, broadcast) share its bytes and never count for more than it.

    gathered  arrays that hold what other devices held, as they held it
    live      all arrays but constants

A gathered value is the result of a collective that moves an array
(all_gather, all_to_all, permute, broadcast), or that adds arrays which only
lay out the program's arguments (each padded with zeros, or masked by the
number of the device). It stays one through whatever rearranges, converts or
scales it, in containers (concatenate, dynamic_update_slice, pad, select) of
which it fills a part, through calls, branches and the carry of loops, and
through products and sums with constants alone, unless these leave no more
bytes than a device was given. It ends in a product, sum or lookup with
computed data, and a broadcast one ends where it is added to such data.

No analysis of a program defeats everyone who hides what he holds (by adding
nought times the data, say). `live` is what cannot be hidden.
"""

from dataclasses import dataclass, replace

import jax

from shardlab.count.exported import (
    CALLS,
    COLLECTIVES,
    ELEMENTWISE,
    Scope,
    called,
    counted,
)
from shardlab.count.layouts import local_bytes, refuse
from shardlab.count.stablehlo import read_module

__all__ = [
    "ARGUMENT",
    "CONSTANT",
    "Peaks",
    "Storage",
    "Walk",
    "alive",
    "new",
    "peaks",
]

MOVERS = ("all_gather", "all_to_all", "permute", "broadcast")
_VIEWS = """
    bitcast_convert broadcast broadcast_in_dim dynamic_slice reshape reverse
    slice transpose
"""
_CONTAINERS = """
    clamp concatenate dynamic_update_slice pad scatter select sort
"""
VIEWS = frozenset(f"stablehlo.{name}" for name in _VIEWS.split())
CONTAINERS = frozenset(f"stablehlo.{name}" for name in _CONTAINERS.split())
# In the order in which one value can stand for several: the last one wins.
CONSTANT, ARGUMENT, COMPUTED = range(3)


@dataclass(frozen=True, eq=False)
class Storage:
    """The memory behind an array and its views, in bytes."""

    bytes: int


@dataclass(frozen=True, eq=False)
class _State:
    """What is known of a value.

    kind      CONSTANT; ARGUMENT: an argument, laid out or scaled otherwise;
              or COMPUTED
    gathered  whether it is a gathered value
    placed    whether it depends on the number of the device
    thin      whether it is a smaller array, broadcast
    origin    bytes of the largest argument in it, on one device
    bytes     of its own, on one device
    storage   Storage that it shares with its views
    """

    kind: int
    gathered: bool
    placed: bool
    thin: bool
    origin: int
    bytes: int
    storage: Storage


@dataclass(frozen=True)
class Peaks:
    """The largest sums of live bytes on one device.

    gathered  of gathered values
    live      of all values but constants
    """

    gathered: int
    live: int


def peaks(program, of=None):
    """The most that a program holds at a time, gathered and in all.

    program  what `shardlab.count.exported.counted` returns
    of       numbers of the arguments whose descendants count as gathered, the
             weights, say; None counts whatever was gathered
    returns  Peaks, bytes on one device
    raises   ValueError that names what cannot be followed
    source   chapter 7
    """
    module = program.module
    main = module.functions["main"]
    count = len(main.inputs)
    if of is not None and not set(of) <= set(range(count)):
        refuse("of", f"the program has arguments 0 to {count - 1}")
    states = []
    for i, (value, layout) in enumerate(
        zip(main.inputs, program.arguments, strict=True)
    ):
        size = local_bytes(value, layout)
        kind = ARGUMENT if of is None or i in of else COMPUTED
        states.append(new(size, kind=kind, origin=size))
    walk = Walk(of is not None, Scope(module, dict(module.mesh)))
    walk.body(main, dict(zip(main.inputs, states, strict=True)), (), True)
    return Peaks(walk.most[True], walk.most[False])


def alive(f, *args, of=None):
    """The most that a function holds at a time while it runs.

    f        function of arrays that moves what it moves in a shard_map
    args     arrays or jax.ShapeDtypeStruct, each with a sharding on one mesh;
             no tuples or dicts of them
    of       as in `peaks`
    returns  Peaks, bytes on one device, its arguments included
    raises   ValueError that names f, or what cannot be followed
    source   chapter 7
    """
    if not callable(f):
        raise ValueError(f"f must be a function of arrays, got {f!r}")
    try:
        made = jax.export.export(jax.jit(f), platforms=["cpu"])(*args)
    except NotImplementedError as error:
        refuse("f", f"JAX cannot export it ({error})")
    module = read_module(made)
    return peaks(counted(module, dict(module.mesh)), of)


def new(size, states=(), **changes):
    """The state of a fresh array, made of values with these states."""
    made = {
        "kind": max((s.kind for s in states), default=CONSTANT),
        "gathered": any(s.gathered for s in states),
        "placed": any(s.placed for s in states),
        "thin": False,
        "origin": max((s.origin for s in states), default=0),
        "bytes": size,
        "storage": Storage(size),
    }
    return _State(**{**made, **changes})


def _bytes_of_all(states, gathered):
    """Bytes of all gathered values, or of all that are no constants."""
    sizes = {}
    for state in set(states):
        if state.gathered if gathered else state.kind != CONSTANT:
            own = sizes.get(state.storage, 0) + state.bytes
            sizes[state.storage] = min(own, state.storage.bytes)
    return sum(sizes.values())


class Walk:
    """A walk through a program that remembers the most that was alive.

    strict  whether only descendants of chosen arguments count as gathered
    scope   Scope, for its functions and the limit of its steps
    """

    def __init__(self, strict, scope):
        self.strict, self.scope = strict, scope
        self.most = {True: 0, False: 0}
        self.reads = {}

    def body(self, body, env, around, shared=False):
        """Walk a body; returns the states of its results.

        env     states of its arguments and of the values around it
        around  states that live on after it
        shared  whether its arguments are free after their last use
        """
        last = self.last_uses(body)
        own = list(body.inputs) if shared else []
        kept = around if shared else (*around, *(env[v] for v in body.inputs))
        self.note(kept, [env[v] for v in own])
        for i, op in enumerate(body.operations):
            self.scope.step()
            own = [v for v in own if last.get(v, -1) > i]
            outer = (*kept, *(env[v] for v in own))
            results = self.operation(op, env, outer)
            env.update(zip(op.outputs, results, strict=True))
            own += op.outputs
            self.note(outer, results)
            own = [v for v in own if last.get(v, -1) > i]
        return [env[v] for v in body.results]

    def note(self, *groups):
        """Remember what is alive, if it is more than ever before."""
        states = [state for group in groups for state in group]
        for gathered in self.most:
            size = _bytes_of_all(states, gathered)
            self.most[gathered] = max(self.most[gathered], size)

    def last_uses(self, body):
        """The place of the last operation of a body that reads each value."""
        if body not in self.reads:
            last = {}
            for i, op in enumerate(body.operations):
                last |= dict.fromkeys(self.uses(op), i)
            last |= dict.fromkeys(body.results, len(body.operations))
            self.reads[body] = last
        return self.reads[body]

    def uses(self, op):
        """The values that an operation and its bodies read."""
        inner = {v for body in op.bodies for v in self.last_uses(body)}
        return {*op.inputs, *inner}

    def operation(self, op, env, outer):
        """The states of the results of an operation."""
        states = [env[v] for v in op.inputs]
        if op.name in FOLLOWED:
            return FOLLOWED[op.name](self, op, env, states, outer)
        if op.name in COLLECTIVES:
            return self.collective(op, states)
        sizes = [v.bytes for v in op.outputs]
        if op.name == "stablehlo.optimization_barrier":
            return states
        if op.name in VIEWS:
            return [_view(op, states)]
        if op.name in CONTAINERS:
            return [new(size, states) for size in sizes]
        if op.name in ELEMENTWISE:
            return [_elementwise(_scaled(op, states), states)]
        if op.name in ("stablehlo.partition_id", "stablehlo.replica_id"):
            return [new(sizes[0], placed=True)]
        return [self.product(op, size, states) for size in sizes]

    def collective(self, op, states):
        """The results of a collective: gathered, or a sum."""
        kind, made = COLLECTIVES[op.name], []
        groups = op.said.get("replica_groups")
        if groups and len(groups[0]) == 1:
            return states
        for state, value in zip(states, op.outputs, strict=True):
            moved = kind in MOVERS and state.kind != CONSTANT
            if kind in MOVERS and self.strict:
                moved = state.kind == ARGUMENT
            laid_out = state.kind == ARGUMENT and (
                state.placed or state.bytes > state.origin
            )
            gathered = state.gathered or moved or laid_out
            made.append(new(value.bytes, [state], gathered=gathered))
        return made

    def product(self, op, size, states):
        """The result of a product, sum or lookup: computed, as a rule."""
        made = new(size, states)
        varying = [s for s in states if s.kind != CONSTANT]
        alone = len(varying) <= 1 or (self.strict and made.kind == ARGUMENT)
        if not alone:
            made = replace(made, kind=COMPUTED)
        kept = alone and made.gathered and size > made.origin
        return replace(made, gathered=kept)

    def call(self, op, env, states, outer):
        """A function called, or a shard_map's body."""
        (body,) = called(op, self.scope).bodies
        inner = dict(zip(body.inputs, states, strict=True))
        return self.deeper(body, inner, outer, True)

    def deeper(self, body, env, outer, shared=False):
        """Walk a body within a body."""
        before = self.scope
        self.scope = before.within()
        results = self.body(body, env, outer, shared)
        self.scope = before
        return results

    def manual(self, op, env, states, outer):
        """A shard_map: an argument that arrives larger was gathered."""
        (body,) = op.bodies
        arrived = []
        for state, value in zip(states, body.inputs, strict=True):
            if value.bytes != state.bytes:
                more = value.bytes > state.bytes and state.kind != CONSTANT
                state = new(
                    value.bytes, [state], gathered=state.gathered or more
                )
            arrived.append(state)
        inner = {**env, **dict(zip(body.inputs, arrived, strict=True))}
        return self.deeper(body, inner, outer, True)

    def choice(self, op, env, states, outer):
        """A branch is taken: what may be so in one of them is so."""
        captured = [env[v] for b in op.bodies for v in self.captured(b, env)]
        results = [
            self.deeper(body, dict(env), (*outer, *captured))
            for body in op.bodies
        ]
        made = map(_joined, zip(*results, strict=True))
        return [_data_chosen(state, states) for state in made]

    def captured(self, body, env):
        """The values around a body that it reads."""
        return [v for v in self.last_uses(body) if v in env]

    def loop(self, op, env, states, outer):
        """A loop: its carry holds what any of its turns leaves in it."""
        test, body = op.bodies
        captured = [env[v] for b in op.bodies for v in self.captured(b, env)]
        outer = (*outer, *captured)
        carry = list(states)
        while True:
            inner = {**env, **dict(zip(body.inputs, carry, strict=True))}
            results = self.deeper(body, inner, outer, True)
            turned = list(map(_joined, zip(carry, results, strict=True)))
            if list(map(_state_but_place, turned)) == list(
                map(_state_but_place, carry)
            ):
                break
            carry = turned
        inner = {**env, **dict(zip(test.inputs, carry, strict=True))}
        tested = self.deeper(test, inner, outer)
        return [_data_chosen(state, tested) for state in turned]


def _state_but_place(state):
    """What a state says, but for where it is stored."""
    where = state.placed, state.thin, state.origin, state.bytes
    return (state.kind, state.gathered, *where)


def _joined(states):
    """A value that has one of several states."""
    first = states[0]
    if all(state is first for state in states):
        return first
    most = max(states, key=lambda state: state.bytes)
    return new(most.bytes, states, thin=most.thin)


def _data_chosen(state, by):
    """A value among which data chose: it is no constant any more."""
    if state.kind != CONSTANT or all(s.kind == CONSTANT for s in by):
        return state
    return replace(state, kind=COMPUTED)


def _view(op, states):
    """A view: the state of its source, with fewer bytes or none of its own."""
    source, size = states[0], _scaled(op, states)
    # What data choose of a constant is no constant: a table of all numbers
    # would hold them.
    return replace(
        _data_chosen(source, states[1:]),
        thin=source.thin or op.outputs[0].bytes > op.inputs[0].bytes,
        placed=any(state.placed for state in states),
        origin=min(source.origin, size),
        bytes=min(size, source.storage.bytes),
    )


def _scaled(op, states):
    """Bytes on one device of a result, cut as the first operand like it."""
    value = op.outputs[0]
    for operand, state in zip(op.inputs, states, strict=True):
        same = operand.shape == value.shape and operand.bytes > 0
        if same and not state.thin:  # whose bytes are those of its source
            return value.bytes * state.bytes // operand.bytes
    return value.bytes


def _elementwise(size, states):
    """A result that has an element for every element of its operands."""
    made = new(size, states)
    whole = [state for state in states if not state.thin]
    kept = made.gathered and made.kind != COMPUTED
    if any(state.kind == ARGUMENT for state in whole):
        made = replace(made, kind=ARGUMENT)
    gathered = kept or any(state.gathered for state in whole)
    return replace(made, gathered=gathered)


FOLLOWED = {
    **dict.fromkeys(CALLS, Walk.call),
    "sdy.manual_computation": Walk.manual,
    "sdy.sharding_constraint": lambda walk, op, env, states, outer: states,
    "stablehlo.case": Walk.choice,
    "stablehlo.if": Walk.choice,
    "stablehlo.while": Walk.loop,
}
