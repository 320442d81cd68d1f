"""Ways a matrix can lie on a mesh, for questions about its layouts."""

from itertools import permutations, product

__all__ = ["layouts"]


def layouts(sizes):
    """Every layout of a matrix on a mesh, those with open sums among them.

    sizes    dict: name of an axis -> devices along it
    returns  iterator of (cuts, sums): for rows and columns the axes that cut
             them, as a string in their order; and the axes over which a sum is
             outstanding, sorted. What two orders of axes share comes twice
    """
    for order in permutations(sizes):
        for uses in product((0, 1, "sum", None), repeat=len(sizes)):
            cuts, sums = ["", ""], ""
            for axis, use in zip(order, uses, strict=True):
                if use == "sum":
                    sums += axis
                elif use is not None:
                    cuts[use] += axis
            yield cuts, "".join(sorted(sums))
