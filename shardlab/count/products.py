"""The matmuls of one equation of a jaxpr, as one device forms them."""

from dataclasses import dataclass, field
from math import prod

from shardlab.count.jax_inside import written_at
from shardlab.count.layouts import from_type, local_bytes, replicated
from shardlab.count.records import Origin
from shardlab.count.rules import BY_NAME, ELEMENTWISE, contraction

__all__ = ["NOT_COUNTED", "NO_MATMUL", "Product", "Unknown", "formed"]

# Products of another kind, what solves equations or finds eigenvalues, and
# what may hide a product: none is in this book.
_NOT_COUNTED = """
    call_exported cholesky cholesky_update conv_general_dilated core_map
    cudnn_fusion custom_linear_solve dot_product_attention_bwd
    dot_product_attention_bwd_wrapper dot_product_attention_fp8_bwd
    dot_product_attention_fp8_bwd_wrapper dot_product_attention_fp8_fwd
    dot_product_attention_fp8_fwd_wrapper dot_product_attention_fwd
    dot_product_attention_fwd_wrapper eig eigh fft geqp3 geqrf hessenberg
    householder_product linear_call lu ormqr qr scaled_dot
    scaled_matmul scaled_matmul_wrapper schur stage svd symmetric_product
    triangular_solve tridiagonal tridiagonal_solve
"""
# What forms no product itself, beside what `rules` and `walk` know. Whatever
# is on neither list is refused: a later JAX may have products of its own.
_NO_MATMUL = """
    addupdate after_all all_gather_done all_gather_reduced_start
    all_gather_start all_to_all_done all_to_all_start approx_top_k bessel_i0e
    bessel_i1e bitcast_convert_type broadcast_to check checkpoint composite
    core_call create_linear create_token custom_lin dce_sink debug_callback
    debug_print dim_as_value dimension_size empty empty2 eq_to from_edtype
    gather get igamma igamma_grad_a igammac inspect_sharding iota
    iota_2x32_shape layout_constraint le_to lt_to lu_pivots_to_permutation mulhi
    pbroadcast_done pbroadcast_start philox2x32 philox4x32 pin platform_index
    polygamma ppermute_done ppermute_start precv psend psum_done
    psum_invariant_start psum_start ragged_all_to_all random_bits random_clone
    random_fold_in random_gamma random_seed random_split random_unwrap
    random_wrap reduce reduce_scatter_done reduce_scatter_start reduce_window
    reduce_window_max reduce_window_min reduce_window_sum
    regularized_incomplete_beta remat_opt reshape rng_bit_generator rng_uniform
    run_state scatter scatter-add scatter-max scatter-min scatter-mul
    scatter-sub select_and_gather_add select_and_scatter select_and_scatter_add
    shape_assertion stack swap threefry2x32 threefry4x32 tie tile to_edtype
    top_k unpin unreachable unreduced_psum_start unreduced_reduce_scatter_start
    unstack with_memory_space_constraint zeta
"""
NOT_COUNTED = frozenset(_NOT_COUNTED.split())
NO_MATMUL = ELEMENTWISE.union(BY_NAME, _NO_MATMUL.split())


@dataclass(frozen=True)
class Product:
    """One matrix product of a program, as one device forms it.

    flops   of one execution; a multiply-add is two
    bytes   of one execution: both operands read and the result written
    times   how often it is formed
    origin  Origin; it does not decide whether two products are equal
    axes    names of the mesh axes that the program leaves to no compiler here:
            they cut the operands, or are manual or in a type
    source  chapter 21
    """

    flops: int
    bytes: int
    times: int = 1
    origin: Origin = field(default=Origin(), compare=False, repr=False)
    axes: frozenset = field(default=frozenset(), compare=False, repr=False)


@dataclass(frozen=True)
class Unknown:
    """An operation that may multiply matrices, nobody here knows how many.

    name    of the operation
    why     its FLOPs are not counted
    times   how often it runs, as far as is known
    origin  Origin
    source  chapter 21
    """

    name: str
    why: str
    times: int = 1
    origin: Origin = field(default=Origin(), compare=False, repr=False)


def formed(eqn, layouts):
    """What an operation multiplies that calls no other function.

    eqn      equation of a jaxpr
    layouts  of its operands
    returns  list of Product and Unknown
    source   chapter 21
    """
    name = eqn.primitive.name
    if name == "dot_general":
        return [_matmul(eqn, layouts)]
    if name == "ragged_dot_general":
        return [_ragged(eqn, layouts)]
    if name not in NO_MATMUL:
        return [Unknown(name, "which products it forms is not known here")]
    return []


def _matmul(eqn, layouts):
    """Two FLOPs for each element of the result and each term of its sum.

    eqn      a dot_general
    returns  Product of one device
    source   scaling-book part 1, "matrix multiplication"
    """
    (left, _), _ = eqn.params["dimension_numbers"]
    result = eqn.outvars[0].aval
    typed = from_type(eqn.invars[0].aval)
    _, local = contraction(eqn, layouts, from_type(result) or typed)
    terms = prod(eqn.invars[0].aval.shape[d] for d in left)
    summed = local.unreduced - layouts[0].unreduced - layouts[1].unreduced
    cuts = {*local.axes, *summed}
    pairs = [(result, local)]
    pairs += [(v.aval, x) for v, x in zip(eqn.invars, layouts, strict=True)]
    return _device_s(eqn, 2 * prod(result.shape) * terms, cuts, pairs)


def _ragged(eqn, layouts):
    """Every row meets the matrix of its group: no more than without groups.

    eqn      a ragged_dot_general; its groups hold all rows, which is the most
             that they can hold
    returns  Product of one device, or Unknown where an operand is cut
    source   chapter 10
    """
    if not all(x.plain for x in layouts):
        why = "its operands are cut, and how many rows a device has is unknown"
        return Unknown("ragged_dot", why)
    numbers = eqn.params["ragged_dot_dimension_numbers"]
    (_, contract), (_, batch) = numbers.dot_dimension_numbers
    left, right, result = (
        *(v.aval for v in eqn.invars[:2]),
        eqn.outvars[0].aval,
    )
    taken = {*contract, *batch, *numbers.rhs_group_dimensions}
    free = [n for d, n in enumerate(right.shape) if d not in taken]
    pairs = [(aval, replicated(aval)) for aval in (left, right, result)]
    return _device_s(eqn, 2 * prod(left.shape) * prod(free), set(), pairs)


def _device_s(eqn, whole, cuts, arrays):
    """The Product of one device.

    whole   FLOPs on all devices that `cuts`, a set of Axis, tells apart
    arrays  what is read and written: (type, layout)
    """
    result = eqn.outvars[0].aval
    shards = prod(axis.size for axis in cuts)
    touched = sum(local_bytes(aval, layout) for aval, layout in arrays)
    place = Origin("", *written_at(eqn), tuple(result.shape), str(result.dtype))
    settled = {axis.name for axis in cuts}
    if from_type(result) is not None:
        settled.update(result.sharding.mesh.axis_names)
    return Product(
        *(whole // shards, touched), origin=place, axes=frozenset(settled)
    )
