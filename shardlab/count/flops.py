"""FLOPs of the products in a program, counted from its jaxpr."""

from math import prod

from shardlab.count.layouts import from_type, refuse, replicated
from shardlab.count.ledger import traced
from shardlab.count.rules import contraction
from shardlab.count.walk import CALLS, OPAQUE, bodies

# Products of another kind, and what solves equations or finds eigenvalues:
# none is in this book.
_OTHERS = (
    *("conv_general_dilated", "ragged_dot_general", "scaled_dot"),
    *("cholesky", "cholesky_update", "lu", "qr", "geqrf", "geqp3", "ormqr"),
    *("householder_product", "hessenberg", "tridiagonal", "symmetric_product"),
    *("triangular_solve", "tridiagonal_solve", "custom_linear_solve"),
    *("eig", "eigh", "schur", "svd"),
)
# What is run once, as it stands.
_ONCE = (*CALLS, "jit", "shard_map", "core_call", "checkpoint")


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
    if not callable(f):
        raise ValueError(f"f must be a function of arrays, got {f!r}")
    closed, _ = traced(f, args)
    return flops_of(closed.jaxpr)


def flops_of(jaxpr):
    """FLOPs of all products of a jaxpr, those of its inner functions too.

    jaxpr    of one device, or of whole arrays
    returns  FLOPs, int
    source   chapter 5
    """
    return sum(map(equation_flops, jaxpr.eqns))


def equation_flops(eqn):
    """FLOPs of one line of a jaxpr, which may call other functions."""
    name = eqn.primitive.name
    if name == "dot_general":
        return product_flops(eqn)
    if name in OPAQUE or name in _OTHERS:
        refuse(name, "which products it forms is not known here")
    inside = [flops_of(getattr(b, "jaxpr", b)) for b in bodies(eqn)]
    if name == "scan":
        return eqn.params["length"] * sum(inside)
    if name == "cond" and len(set(inside)) == 1:
        return inside[0]
    if name not in _ONCE and any(inside):
        refuse(name, "how often its products are formed is not known")
    return sum(inside)


def product_flops(eqn):
    """Two for each element of the result and each term of its sum.

    eqn      a dot_general, an equation of a jaxpr
    returns  FLOPs of one device, int
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
    cuts = [axis.size for axis in (*formed.axes, *summed)]
    return 2 * prod(result.shape) * terms // prod(cuts)
