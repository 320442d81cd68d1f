"""Checks of sizes that all formulas share: nothing overflows in silence.

A size is a number of at most 1e30, more than any machine has of anything, so
that products of several sizes stay far below what a float can hold.
"""

from shardlab.arguments import real, whole

MOST = 1e30
LEAST = 1e-30


def sizes(**named):
    """The arguments, if each is a finite number above 0.

    named    such as B=B, D=D
    returns  list of the values, as `plain` gives them
    raises   ValueError that names the argument and what was expected
    source   chapter 5
    """
    for name, value in named.items():
        if not LEAST <= real(name, value, above=0) <= MOST:
            raise ValueError(
                f"{name} must be from {LEAST:g} to {MOST:g}, got {value!r}"
            )
    return [plain(value) for value in named.values()]


def plain(value):
    """A number as Python has it, which does not overflow in a product.

    value    a number; those of NumPy and JAX have 32 or 64 bits, and wrap round
    returns  int or float of the same value; others, such as Fraction, as is
    source   chapter 5
    """
    return value.item() if hasattr(value, "item") else value


def amount(name, value):
    """The argument `name` as a float of at least 0, such as bytes or seconds.

    value    a number
    returns  float
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    number = real(name, value)
    if number > MOST:
        raise ValueError(f"{name} must be at most {MOST:g}, got {value!r}")
    return number


def how_many(name, value, least=1):
    """The argument `name` as an int of at least `least`, such as chips.

    value    a whole number
    least    the smallest number that is accepted
    returns  int
    raises   ValueError that names the argument and what was expected
    source   chapter 3
    """
    number = whole(name, value, least)
    if number > MOST:
        raise ValueError(f"{name} must be at most {MOST:g}, got {value!r}")
    return number


def at_least_one(name, value):
    """The argument `name`, if it is a number of 1 or more.

    value    a number, such as chips of an axis, which need not be whole
    returns  value, as `plain` gives it
    raises   ValueError that names the argument and what was expected
    source   chapter 5
    """
    if real(name, value, least=1) > MOST:
        raise ValueError(f"{name} must be at most {MOST:g}, got {value!r}")
    return plain(value)
