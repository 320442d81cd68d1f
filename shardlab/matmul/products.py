"""A product of two sharded matrices in the book's notation."""

import re
from typing import NamedTuple

from shardlab import notation
from shardlab.notation import Layout

__all__ = ["Product", "local_product", "parse"]


class Product(NamedTuple):
    """What is multiplied, how it lies, and how the result shall lie.

    A, B  Layouts of the factors, such as A[I, J_X] and B[J_X, K]
    C     Layout wanted of the result, such as C[I, K_X]
    """

    A: Layout
    B: Layout
    C: Layout

    def __str__(self):
        return f"{self.A} . {self.B} -> {self.C}"


def parse(text):
    """The product that a line of the notation describes.

    text     such as "A[I, J_X] . B[J_X, K] -> C[I, K_X]"; a Product is
             returned as it is
    returns  Product
    raises   ValueError that names what is wrong: no product of two factors,
             dimensions that do not fit, a factor that is unreduced
    source   scaling-book part 3
    """
    if isinstance(text, Product):
        return text
    sides = text.split("->") if isinstance(text, str) else []
    factors = re.split(r"[.·@]", sides[0]) if len(sides) == 2 else []
    if len(factors) != 2:
        raise ValueError(
            'text must be like "A[I, J_X] . B[J_X, K] -> C[I, K]", '
            f"got {text!r}"
        )
    return _checked(Product(*map(notation.parse, (*factors, sides[1]))))


def _checked(product):
    """A Product whose dimensions fit, and whose factors are no debts."""
    A, B, C = (layout.dims for layout in product)
    fits = len(A) == len(B) == 2 and A[1] == B[0] and A[0] != B[1]
    if not fits or (A[0], B[1]) != C:
        raise ValueError(
            "text must multiply [I, J] by [J, K] to [I, K], whatever the "
            f"letters; got {product}"
        )
    for factor in (product.A, product.B):
        if factor.unreduced:
            raise ValueError(
                f"text must have factors that are added up; got {factor}"
            )
    return product


def local_product(A, B, name="C"):
    """What devices form when each multiplies the blocks that it holds.

    A, B     layouts of the factors, such as "A[I, J_X]" and "B[J_X, K]"
    name     of the result
    returns  Layout, such as C[I, K]{U_X}; None if blocks do not belong
             together, or if a device would need two coordinates on one axis
    source   scaling-book part 3, the four cases
    """
    A, B = notation.parse(A), notation.parse(B)
    (rows, summed), (other, columns) = A.axes, B.axes
    used = [*rows, *summed, *columns]
    if summed != other or len(set(used)) < len(used):
        return None
    dims = (A.dims[0], B.dims[1])
    return Layout(name, dims, (rows, columns), tuple(sorted(summed)))
