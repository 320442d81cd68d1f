"""FLOPs of the products in a program, counted from its jaxpr."""

from dataclasses import dataclass, field, replace
from math import prod

from shardlab.arguments import one_of
from shardlab.count.jax_inside import written_at
from shardlab.count.layouts import (
    from_type,
    local_bytes,
    refuse,
    replicated,
)
from shardlab.count.ledger import traced, without_dead_code
from shardlab.count.records import Origin
from shardlab.count.rules import BY_NAME, ELEMENTWISE, contraction
from shardlab.count.walk import CALLS, OPAQUE, RULES, bodies

__all__ = ["NO_PRODUCT", "REFUSED", "Product", "flops", "products"]

# Products of another kind, what solves equations or finds eigenvalues, and
# what may hide a product: none is in this book.
_REFUSED = """
    call_exported cholesky cholesky_update conv_general_dilated core_map
    cudnn_fusion custom_linear_solve dot_product_attention_bwd
    dot_product_attention_bwd_wrapper dot_product_attention_fp8_bwd
    dot_product_attention_fp8_bwd_wrapper dot_product_attention_fp8_fwd
    dot_product_attention_fp8_fwd_wrapper dot_product_attention_fwd
    dot_product_attention_fwd_wrapper eig eigh fft geqp3 geqrf hessenberg
    householder_product linear_call lu ormqr qr ragged_dot_general scaled_dot
    scaled_matmul scaled_matmul_wrapper schur stage svd symmetric_product
    triangular_solve tridiagonal tridiagonal_solve
"""
# What forms no product itself, beside what `rules` and `walk` know. Whatever
# is on neither list is refused: a later JAX may have products of its own.
_NO_PRODUCT = """
    addupdate after_all all_gather_done all_gather_reduced_start
    all_gather_start all_to_all_done all_to_all_start approx_top_k bessel_i0e
    bessel_i1e bitcast_convert_type broadcast_to checkpoint composite core_call
    create_linear create_token custom_lin dce_sink debug_callback debug_print
    dim_as_value dimension_size empty empty2 eq_to from_edtype gather get
    igamma igamma_grad_a igammac inspect_sharding iota iota_2x32_shape
    layout_constraint le_to lt_to lu_pivots_to_permutation mulhi
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
    top_k unpin unreachable unreduced_psum_start
    unreduced_reduce_scatter_start unstack with_memory_space_constraint zeta
"""
REFUSED = frozenset(OPAQUE).union(_REFUSED.split())
NO_PRODUCT = ELEMENTWISE.union(BY_NAME, RULES, _NO_PRODUCT.split())
# What is run once, as it stands.
_ONCE = (*CALLS, "jit", "shard_map", "core_call", "checkpoint")


@dataclass(frozen=True)
class Product:
    """One matrix product of a program, as one device forms it.

    flops   of one execution; a multiply-add is two
    bytes   of one execution: both operands read and the result written
    times   how often it is formed
    origin  Origin; it does not decide whether two products are equal
    source  chapter 21
    """

    flops: int
    bytes: int
    times: int = 1
    origin: Origin = field(default=Origin(), compare=False, repr=False)


def flops(f, *args):
    """FLOPs of one device in all products of a function; a multiply-add is two.

    What treats elements one by one, and sums that are no product, are left
    out. Where types or a shard_map say how arrays are cut, the products are
    those of a device's pieces; elsewhere they are those of whole arrays.

    f        function of arrays, jitted or not
    args     arrays or jax.ShapeDtypeStruct, in trees; what is neither reaches
             f as it is
    returns  FLOPs, int
    raises   ValueError that names f, or what cannot be counted, and says why
    source   scaling-book part 1; chapter 5
    """
    return sum(p.times * p.flops for p in products(f, *args))


def products(f, *args, live=False):
    """All matrix products of a function, as one device forms them.

    f, args  as in `flops`
    live     False: all that are written; True: only what a result needs
    returns  list of Product, in program order
    raises   ValueError that names f or live, or what cannot be counted, and
             says why
    source   chapter 21
    """
    if not callable(f):
        raise ValueError(f"f must be a function of arrays, got {f!r}")
    one_of("live", live, (False, True))
    closed, _ = traced(f, args)
    return _products_of((without_dead_code(closed) if live else closed).jaxpr)


def _products_of(jaxpr):
    """All products of a jaxpr, those of its inner functions too.

    jaxpr    of one device, or of whole arrays
    returns  list of Product
    source   chapter 21
    """
    return [
        replace(p, origin=p.origin.within(str(eqn.source_info.name_stack)))
        for eqn in jaxpr.eqns
        for p in _equation_products(eqn)
    ]


def _equation_products(eqn):
    """Products of one line of a jaxpr, which may call other functions."""
    name = eqn.primitive.name
    if name == "dot_general":
        return [_product(eqn)]
    if name not in NO_PRODUCT:
        refuse(name, "which products it forms is not known here")
    inside = [_products_of(getattr(b, "jaxpr", b)) for b in bodies(eqn)]
    formed = [p for body in inside for p in body]
    if name == "scan":
        turns = eqn.params["length"]
        return [replace(p, times=p.times * turns) for p in formed if turns]
    sums = {sum(p.times * p.flops for p in body) for body in inside}
    if name == "cond" and len(sums) == 1:
        return inside[0]
    if name not in _ONCE and any(sums):
        refuse(name, "how often its products are formed is not known")
    return formed


def _product(eqn):
    """Two FLOPs for each element of the result and each term of its sum.

    eqn      a dot_general, an equation of a jaxpr
    returns  Product of one device
    source   scaling-book part 1, "matrix multiplication"
    """
    (left, _), _ = eqn.params["dimension_numbers"]
    typed = [from_type(v.aval) for v in eqn.invars]
    pairs = zip(typed, eqn.invars, strict=True)
    layouts = [t or replicated(v.aval) for t, v in pairs]
    result = eqn.outvars[0].aval
    _, formed = contraction(eqn, layouts, from_type(result) or typed[0])
    terms = prod(eqn.invars[0].aval.shape[d] for d in left)
    summed = formed.unreduced - layouts[0].unreduced - layouts[1].unreduced
    cuts = prod(axis.size for axis in (*formed.axes, *summed))
    touched = local_bytes(result, formed) + sum(
        local_bytes(v.aval, x) for v, x in zip(eqn.invars, layouts, strict=True)
    )
    place = Origin("", *written_at(eqn), tuple(result.shape), str(result.dtype))
    return Product(
        2 * prod(result.shape) * terms // cuts, touched, origin=place
    )
