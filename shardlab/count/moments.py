"""Memory over a program's run: what is alive after each of its operations.

The walk is that of `living`; it is remembered here instead of its maximum
alone. An array that is an argument counts as a weight (or as a batch, to
which the caller may give another name), one that is a result as a gradient,
and all between them as activations.
"""

from math import prod
from typing import NamedTuple

import jax

from shardlab.count.exported import Scope, counted
from shardlab.count.layouts import local_bytes, refuse
from shardlab.count.living import ARGUMENT, CONSTANT, Walk, new
from shardlab.count.stablehlo import read_module

__all__ = ["Moment", "moments"]


class Moment(NamedTuple):
    """What one device holds between two operations of a program.

    weights      bytes of arguments
    gradients    bytes of results that are there by now
    activations  bytes of all else, but constants
    flops        FLOPs of all products up to then
    source       chapter 12
    """

    weights: int
    gradients: int
    activations: int
    flops: int = 0

    @property
    def total(self):
        """Bytes of weights, gradients and activations."""
        return self.weights + self.gradients + self.activations


def moments(f, *args):
    """What one device holds, operation by operation, while a function runs.

    f        function of arrays or of trees of them, such as jax.grad of a loss
    args     arrays or jax.ShapeDtypeStruct, in trees
    returns  list of Moment in the order of the program. Arguments stay to the
             end: a training step needs its weights for the update
    raises   ValueError that names f, or what cannot be followed
    source   chapter 12
    """
    if not callable(f):
        refuse("f", f"a function of arrays was expected, got {f!r}")
    program = jax.export.export(jax.jit(f), platforms=["cpu"])(*args)
    module = read_module(program)
    walk = _Recorder(module)
    main, layouts = module.functions["main"], _counted_arguments(module)
    states = []
    for value, layout in zip(main.inputs, layouts, strict=True):
        size = local_bytes(value, layout)
        states.append(new(size, kind=ARGUMENT, origin=size))
    env = dict(zip(main.inputs, states, strict=True))
    results = walk.body(main, env, tuple(states))
    return walk.named(states, results)


def _counted_arguments(module):
    """How the arguments of a program lie on its mesh."""
    return counted(module, dict(module.mesh)).arguments


class _Recorder(Walk):
    """A walk that remembers every moment and not only the worst."""

    def __init__(self, module):
        super().__init__(False, Scope(module, dict(module.mesh)))
        self.seen, self.flops = [], 0

    def operation(self, op, env, outer):
        """The states of the results of an operation; its FLOPs are added."""
        results = super().operation(op, env, outer)
        self.flops += _product_flops(op)
        return results

    def note(self, *groups):
        """Remember what is alive, by where it is stored."""
        sizes = {}
        for state in {state for group in groups for state in group}:
            if state.kind != CONSTANT:
                own = sizes.get(state.storage, 0) + state.bytes
                sizes[state.storage] = min(own, state.storage.bytes)
        self.seen.append((sizes, self.flops))

    def named(self, arguments, results):
        """A Moment for each moment: whose storage is whose is known by now."""
        given = {state.storage for state in arguments}
        made = {state.storage for state in results} - given

        def total(sizes, of):
            return sum(size for where, size in sizes.items() if where in of)

        return [
            Moment(
                total(sizes, given),
                total(sizes, made),
                total(sizes, set(sizes) - given - made),
                flops,
            )
            for sizes, flops in self.seen
        ]


def _product_flops(op):
    """FLOPs of an operation of a program: two a multiply-add of a product.

    op       stablehlo.Operation
    returns  FLOPs, int; 0 for what is no product
    source   scaling-book part 1, "matrix multiplication"
    """
    if op.name != "stablehlo.dot_general":
        return 0
    summed = op.said["dot_dimension_numbers"]
    terms = prod(op.inputs[0].shape[dim] for dim in summed)
    return 2 * prod(op.outputs[0].shape) * terms
