"""FLOPs of the products in a program, counted from its jaxpr."""

from shardlab.arguments import one_of
from shardlab.count.layouts import refuse
from shardlab.count.ledger import asked
from shardlab.count.products import Unknown

__all__ = ["flops", "products"]


def flops(f, *args):
    """FLOPs of one device in all products of a function; a multiply-add is two.

    What treats elements one by one, and sums that are no product, are left
    out. Where arguments, types or a shard_map say how arrays are cut, the
    products are those of a device's pieces; elsewhere they are those of whole
    arrays.

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
    one_of("live", live, (False, True))
    found = asked(f, args, live).products
    for p in found:
        if isinstance(p, Unknown):
            refuse(p.name, p.why)
    return found
