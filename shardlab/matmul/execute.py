"""A plan as a program: its collectives in jax.lax, on blocks of one device."""

import jax
from jax import ShapeDtypeStruct
from jax.lax import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    dynamic_slice_in_dim,
    psum,
    psum_scatter,
)
from jax.sharding import (
    AbstractMesh,
    AxisType,
    NamedSharding,
    use_abstract_mesh,
)

from shardlab import count, notation
from shardlab.arguments import whole
from shardlab.matmul.products import parse

__all__ = ["carried_out", "on_device", "run", "traced"]


def carried_out(step, block):
    """One edit, as the device does it to its own block.

    step     Step
    block    what the device holds of the matrix
    returns  what it holds afterwards
    source   chapter 2
    """
    axis, goes, comes = step.axis, *_changed(step)
    if step.kind == "all_gather":
        return all_gather(block, axis, axis=goes, tiled=True, to="invarying")
    if step.kind == "all_reduce":
        return psum(block, axis)
    if step.kind == "reduce_scatter":
        return psum_scatter(block, axis, scatter_dimension=comes, tiled=True)
    if step.kind == "all_to_all":
        return all_to_all(block, axis, comes, goes, tiled=True)
    size = block.shape[comes] // axis_size(axis)  # a slice: its own part
    return dynamic_slice_in_dim(block, axis_index(axis) * size, size, comes)


def _changed(step):
    """The dimension that loses the axis, and the one that gets it.

    step     Step
    returns  (number or None, number or None)
    """
    cuts = list(zip(step.before.axes, step.after.axes, strict=True))
    goes = [d for d, (old, new) in enumerate(cuts) if len(old) > len(new)]
    comes = [d for d, (old, new) in enumerate(cuts) if len(old) < len(new)]
    return (*goes, None)[0], (*comes, None)[0]


def on_device(plan):
    """A plan as a function of one device's blocks, for jax.shard_map.

    plan     Plan
    returns  function of the blocks of A and B that gives the block of C
    source   chapter 4
    """

    def multiply(A, B):
        for step in plan.steps[0]:
            A = carried_out(step, A)
        for step in plan.steps[1]:
            B = carried_out(step, B)
        C = A @ B
        for step in plan.steps[2]:
            C = carried_out(step, C)
        return C

    return multiply


def run(plan, mesh):
    """A plan as a compiled function of whole arrays.

    plan     Plan; its result must not be left unreduced
    mesh     jax.sharding.Mesh or AbstractMesh
    returns  function of A and B, which lie as the plan says, that gives C
    raises   ValueError if C is left unreduced, which shard_map cannot return
    source   chapter 4
    """
    A, B, C = map(notation.to_spec, plan.product)
    if plan.product.C.unreduced:
        raise ValueError(f"plan must add up its result, got {plan.product.C}")
    body = jax.shard_map(
        on_device(plan), mesh=mesh, in_specs=(A, B), out_specs=C
    )
    return jax.jit(body)


def traced(body, text, sizes, mesh, dtype="bfloat16"):
    """What a function of one device's blocks moves, at any size.

    Nothing is compiled, and there need not be such devices.

    body     function of the blocks of A and B that returns the block of C
    text     such as "A[I, J_X] . B[J, K] -> C[I, K]": how they lie
    sizes    of the dimensions, in elements
    mesh     sizes of the mesh axes by name
    dtype    of A and B
    returns  tuple of shardlab.count.Collective
    raises   ValueError as `parse`, for a size that is missing or no number,
             or for what cannot be counted
    source   chapter 4
    """
    product = parse(text)
    kinds = (AxisType.Explicit,) * len(mesh)
    on = AbstractMesh((*mesh.values(),), (*mesh,), kinds)
    *specs, out = map(notation.to_spec, product)
    factors = [
        ShapeDtypeStruct(
            _shape(layout, sizes),
            dtype,
            sharding=NamedSharding(on, spec),
        )
        for layout, spec in zip(product[:2], specs, strict=True)
    ]
    specs = {"in_specs": tuple(specs), "out_specs": out}
    with use_abstract_mesh(AbstractMesh((), ())):  # whatever mesh is set
        program = jax.shard_map(body, mesh=on, **specs)
        return count.collectives(program, *factors)


def _shape(layout, sizes):
    """The shape of a matrix, if each of its dimensions has a size.

    layout   Layout
    sizes    of the dimensions, in elements
    returns  list of int
    raises   ValueError that names the dimension
    """
    for dim in layout.dims:
        if dim not in sizes:
            raise ValueError(f"sizes must give {dim} of {layout}, got {sizes}")
    return [whole(f"sizes[{dim!r}]", sizes[dim]) for dim in layout.dims]
