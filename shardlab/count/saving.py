"""What JAX keeps of a forward pass until its backward pass has used it."""

import re
from collections import Counter
from typing import NamedTuple

import jax

from shardlab.count.jax_inside import saved_residuals
from shardlab.count.layouts import refuse

__all__ = ["Saved", "saved", "saved_bytes"]

_SAID = re.compile(
    r"(?:named '(?P<name>.*)'"
    r"|from the argument (?P<argument>\S+)"
    r"|output of (?:jitted function '(?P<jitted>\w+)'|(?P<operation>\S+))"
    r"|(?P<rest>from a \w+))"
    r"(?: from (?P<file>\S+) \((?P<function>[^)]*)\))?"
)


class Saved(NamedTuple):
    """An array that is alive between a forward pass and its backward pass.

    name      what `checkpoint_name` or the argument calls it; "" for neither
    made_by   the operation that made it, or "argument" or "constant"
    function  name of the function in which that happened; "" if unknown
    shape     tuple of int
    dtype     name of its type, such as "bfloat16"
    bytes     of the whole array
    source    chapter 12
    """

    name: str
    made_by: str
    function: str
    shape: tuple
    dtype: str
    bytes: int


def saved(f, *args):
    """The arrays that the forward pass of a function keeps for its gradient.

    f        function of arrays and of trees of them, which JAX can derive
    args     arrays or jax.ShapeDtypeStruct, in trees; nothing is computed
    returns  list of Saved, arguments among them if the backward pass reads
             them; what is compiled may keep less, and keeps no more
    raises   ValueError if f is no function
    source   jax.ad_checkpoint.print_saved_residuals
    """
    if not callable(f):
        refuse("f", f"a function of arrays was expected, got {f!r}")
    return [_as_saved(aval, words) for aval, words in saved_residuals(f, *args)]


def saved_bytes(kept, by="name"):
    """The bytes of what is kept, but for arguments and constants.

    kept     list of Saved
    by       "name", "made_by" or "function"
    returns  dict of int: bytes of all arrays with the same name, or made by
             the same operation, or in the same function
    raises   ValueError for another `by`
    source   chapter 12
    """
    if by not in ("name", "made_by", "function"):
        refuse("by", f"name, made_by or function were expected, got {by!r}")
    total = Counter()
    for each in kept:
        if each.made_by not in ("argument", "constant"):
            total[getattr(each, by)] += each.bytes
    return dict(total)


def _as_saved(aval, words):
    """The Saved of what JAX says of one residual."""
    said = _SAID.search(words)
    found = said.groupdict() if said else {}
    made_by = found.get("jitted") or found.get("operation") or "named"
    if found.get("argument"):
        made_by = "argument"
    elif found.get("rest") or not said:
        made_by = "constant"
    places = (found.get("function") or "").split(".")
    function = [place for place in ("", *places) if "<" not in place][-1]
    name = found.get("name") or found.get("argument") or ""
    shape, dtype = tuple(aval.shape), str(aval.dtype)
    return Saved(name, made_by, function, shape, dtype, _size(aval))


def _size(aval):
    """Bytes of an array; a random key is two numbers of 32 bits."""
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return aval.size * 8
    return aval.size * aval.dtype.itemsize
