"""Checks of arguments that every instrument shares: one wording, one error."""

import math
import operator


def whole(name, value, least=1):
    """The argument `name` as an int of at least `least`.

    value    an int or anything with `__index__`; True and False are refused
    returns  int
    raises   ValueError that names the argument, the limit and what was given
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise ValueError(
            f"{name} must be a whole number of at least {least}, got {value!r}"
        )
    return number


def real(name, value, least=0.0, above=None):
    """The argument `name` as a finite float, `>= least` or `> above`.

    value    an int, a float or anything with `__float__` except text, True
             and False
    above    if given, the value must be greater than this; `least` is unused
    returns  float
    raises   ValueError that names the argument, the limit and what was given
    """
    try:
        refused = isinstance(value, (bool, str, bytes))
        number = math.nan if refused else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if above is not None:
        if not (math.isfinite(number) and number > above):
            raise ValueError(
                f"{name} must be a finite number above {above:g}, got {value!r}"
            )
    elif not (math.isfinite(number) and number >= least):
        raise ValueError(
            f"{name} must be a finite number of at least {least:g}, "
            f"got {value!r}"
        )
    return number


def one_of(name, value, allowed):
    """The argument `name` if it is one of `allowed`.

    allowed  the values that are accepted, in the order to show them
    returns  value, unchanged
    raises   ValueError that names the argument, the choices and what was given
    """
    allowed = list(allowed)
    if not any(type(value) is type(x) and value == x for x in allowed):
        choices = ", ".join(repr(x) for x in allowed)
        raise ValueError(f"{name} must be one of {choices}; got {value!r}")
    return value
