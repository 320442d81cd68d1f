"""Checks of arguments that every instrument shares: one wording, one error.

A public function checks what it is given at its door, with `@takes`, and its
body is the plain formula or algorithm. A check is a function of an argument's
name and value, which gives back the value that the body works with.
"""

import difflib
import functools
import inspect
import math
import operator

__all__ = [
    "LEAST",
    "MOST",
    "amount",
    "at_least_one",
    "flag",
    "how_many",
    "one_of",
    "partitions",
    "plain",
    "real",
    "size",
    "takes",
    "whole",
    "whole_from",
]

MOST, LEAST = 1e30, 1e-30  # no machine has more, or less, of anything


# ---- at the door -------------------------------------------------------------


def takes(*rules, **checks):
    """Check the arguments of a function before its body sees them.

    checks   for each argument that is checked, one of
             a function (name, value) that returns the value, such as `size`;
             a tuple of the values that are accepted;
             a class of which the value must be an instance
    rules    functions called afterwards with the arguments that they name, to
             refuse combinations; what they return is not used
    returns  decorator; the function without its checks is `__wrapped__`
    raises   TypeError when a check or rule names an argument that the function
             does not have; the function raises one that names a misspelt option
    source   chapter 1

    An argument that is not given, or is its default, is not checked.
    """

    def at_the_door(function):
        signature = inspect.signature(function)
        parameters = list(signature.parameters)
        kinds = {parameter.kind for parameter in signature.parameters.values()}
        any_name = inspect.Parameter.VAR_KEYWORD in kinds
        wanted = [tuple(inspect.signature(rule).parameters) for rule in rules]
        for name in {*checks}.union(*wanted) - {*parameters}:
            raise TypeError(f"{function.__name__} takes no argument {name!r}")
        doors = [
            (parameters.index(name), name, _choice(check), default)
            for name, check in checks.items()
            for default in [signature.parameters[name].default]
        ]

        @functools.wraps(function)
        def checked(*args, **named):
            if not (any_name or named.keys() <= signature.parameters.keys()):
                _refuse_unknown(function.__name__, named, parameters)
            args = list(args)
            for place, name, check, default in doors:
                if place < len(args):
                    if args[place] is not default:
                        args[place] = check(name, args[place])
                elif name in named and named[name] is not default:
                    named[name] = check(name, named[name])
            if rules:
                given = signature.bind(*args, **named)
                given.apply_defaults()
                for rule, names in zip(rules, wanted, strict=True):
                    rule(*(given.arguments[name] for name in names))
            return function(*args, **named)

        return checked

    return at_the_door


def _refuse_unknown(function, named, parameters):
    """TypeError that names the first argument that a function does not have."""
    name = next(name for name in named if name not in parameters)
    near = difflib.get_close_matches(name, parameters, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise TypeError(f"{function} takes no argument {name!r}{meant}")


def _choice(check):
    """The check that an entry of `takes` stands for.

    check    a function (name, value), a tuple of values, or a class
    returns  function (name, value)
    source   chapter 1
    """
    if isinstance(check, type):
        return functools.partial(_instance, kind=check)
    if callable(check):
        return check
    return functools.partial(one_of, allowed=tuple(check))


def _instance(name, value, kind):
    """The argument `name`, if it is an instance of the class `kind`."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise ValueError(
            f"{name} must be {article} {kind.__name__}, got {value!r}"
        )
    return value


# ---- numbers and choices -----------------------------------------------------


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


def flag(name, value):
    """The argument `name`, if it is True or False.

    value    a bool, and no number that stands for one
    returns  value, unchanged
    raises   ValueError that names the argument and what was given
    """
    return one_of(name, value, (True, False))


def whole_from(least):
    """The check of a whole number of at least `least`, for `takes`.

    returns  function (name, value)
    """
    return functools.partial(how_many, least=least)


# ---- sizes, whose products cannot overflow -----------------------------------


def size(name, value):
    """The argument `name`, if it is a finite number above 0.

    value    a number from 1e-30 to 1e30
    returns  the value, as `plain` gives it
    raises   ValueError that names the argument and what was expected
    """
    if not LEAST <= real(name, value, above=0) <= MOST:
        raise ValueError(
            f"{name} must be from {LEAST:g} to {MOST:g}, got {value!r}"
        )
    return plain(value)


def plain(value):
    """A number as Python has it, which does not overflow in a product.

    value    a number; those of NumPy and JAX have 32 or 64 bits, and wrap round
    returns  int or float of the same value; others, such as Fraction, as is
    """
    return value.item() if hasattr(value, "item") else value


def amount(name, value):
    """The argument `name`, if it is at least 0, such as bytes or seconds.

    value    a number of at most 1e30
    returns  the value, as `plain` gives it
    raises   ValueError that names the argument and what was expected
    """
    if real(name, value) > MOST:
        raise ValueError(f"{name} must be at most {MOST:g}, got {value!r}")
    return plain(value)


def how_many(name, value, least=1):
    """The argument `name` as an int of at least `least`, such as chips.

    value    a whole number of at most 1e30
    least    the smallest number that is accepted
    returns  int
    raises   ValueError that names the argument and what was expected
    """
    number = whole(name, value, least)
    if number > MOST:
        raise ValueError(f"{name} must be at most {MOST:g}, got {value!r}")
    return number


def at_least_one(name, value):
    """The argument `name`, if it is a number of 1 or more.

    value    a number, such as chips of an axis, which need not be whole
    returns  the value, as `plain` gives it
    raises   ValueError that names the argument and what was expected
    """
    if real(name, value, least=1) > MOST:
        raise ValueError(f"{name} must be at most {MOST:g}, got {value!r}")
    return plain(value)


# ---- what a JAX of another year spells otherwise -----------------------------


def partitions(spec):
    """What a PartitionSpec says of each dimension: an axis, several, or None.

    Before JAX 0.10.2 a PartitionSpec is itself that sequence.

    spec     jax.sharding.PartitionSpec
    returns  tuple
    """
    return spec.partitions if hasattr(spec, "partitions") else tuple(spec)
