"""Plain data in and out of a student's program, as text that is never run.

Numbers, text, lists, dicts and arrays cross; objects, classes and functions do
not. So no object of a student ever meets a comparison of ours.
"""

import base64
import json
import numbers
import re
import unicodedata
from math import prod

import numpy as np

__all__ = ["decode", "encode", "pack", "printable"]

# What programs send to a terminal to colour their text.
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
MAX_CHARACTERS = 4 << 20
MAX_DEPTH = 12
# Keys can be chosen so that all of them collide: time grows as their square.
MAX_KEYS = 1000
# numpy knows these only through ml_dtypes; float32 holds each value exactly.
WIDENED = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
KINDS = "biufc"
# Nothing else is shown to numpy: it reads long and nested types as well.
DTYPE = re.compile(r"[<>|][biufc][0-9]{1,2}")
# What a text that `encode` did not write may lead to on the way.
FAULTS = (
    TypeError,
    KeyError,
    RecursionError,
    AttributeError,
    OverflowError,
    MemoryError,
)


def encode(value):
    """`value` as text.

    value    None, bool, int, float, fraction, str, bytes, an array of
             numbers or texts, a range, or lists, tuples and dicts of these, at
             most 12 deep and with at most 1,000 keys
    returns  str; tuples, ranges and arrays of texts come back as lists, bf16
             and 8-bit floats as float32, an array without dimensions as the
             number that it holds, and fractions, SymPy's too, as int where
             whole and as float elsewhere
    raises   ValueError that names the type that does not cross
    """
    return json.dumps(pack(value), allow_nan=False)


def decode(text):
    """The value that `encode` wrote; builds builtin types and arrays only.

    raises   ValueError for any text that `encode` does not write, and for one
             longer than MAX_CHARACTERS
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(
            f"an answer may be at most {MAX_CHARACTERS} characters long, "
            f"got {len(text)}"
        )
    try:
        return _unpack(json.loads(text))
    except FAULTS as error:
        raise ValueError(f"not an encoded value: {error}") from None


def pack(value, depth=0):
    """`value` as nested lists and dicts that JSON can hold."""
    if depth > MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} deep")
    if value is None or type(value) is bool:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return _pack_number(value)
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, range) and value[MAX_CHARACTERS:]:
        raise ValueError(f"a range of more than {MAX_CHARACTERS} numbers")
    if isinstance(value, (list, tuple, range)):
        return {"list": [pack(item, depth + 1) for item in value]}
    if isinstance(value, dict):
        return {"dict": _pack_items(value.items(), depth + 1)}
    return _pack_array(value)


def _pack_number(value):
    """A whole number as such, and every other one as a float."""
    if isinstance(value, numbers.Rational) and value.denominator == 1:
        return {"int": str(int(value))}
    try:
        return {"float": float(value).hex()}
    except OverflowError:
        kind = type(value).__name__
        raise ValueError(f"a {kind} that is too large for a float") from None


def _pack_items(items, depth):
    """The items of a dict as a list of pairs."""
    if len(items) > MAX_KEYS:
        raise ValueError(f"a dict of more than {MAX_KEYS} keys")
    return [[pack(key, depth), pack(value, depth)] for key, value in items]


def _pack_array(value):
    """An array of numbers as its type, shape and bytes; of texts as a list."""
    if not hasattr(value, "__array__"):
        raise ValueError(
            "only numbers, text, lists, dicts and arrays can be graded, "
            f"got {type(value).__name__}"
        )
    array = np.asarray(value)
    if array.dtype.name in WIDENED:
        array = array.astype(np.float32)
    if array.ndim == 0 and array.dtype.kind in "biuf":
        return pack(array.item())
    if array.dtype.kind == "U":
        return pack(array.tolist())
    if array.dtype.kind not in KINDS:
        raise ValueError(f"arrays of {array.dtype} cannot be graded")
    raw = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"array": [array.dtype.str, list(array.shape), raw]}


def _unpack(packed):
    """The value that `pack` packed."""
    if packed is None or isinstance(packed, (bool, str)):
        return packed
    ((kind, content),) = packed.items()
    if kind == "int":
        if len(content) > 400:
            raise ValueError("an integer of more than 400 digits")
        return int(content)
    if kind == "float":
        return float.fromhex(content)
    if kind == "bytes":
        return base64.b64decode(content, validate=True)
    if kind == "list":
        return [_unpack(item) for item in content]
    if kind == "dict" and len(content) <= MAX_KEYS:
        return {_unpack(key): _unpack(item) for key, item in content}
    if kind == "array":
        return _unpack_array(*content)
    raise ValueError(f"unknown or too large: {kind[:20]!r}")


def _unpack_array(dtype, shape, raw):
    """The array of `_pack_array`; its bytes must fill its shape exactly."""
    if not isinstance(dtype, str) or not DTYPE.fullmatch(dtype):
        raise ValueError("an array of another type than numbers")
    dtype = np.dtype(dtype)
    if len(shape) > 16:
        raise ValueError(f"an array with {len(shape)} dimensions")
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"an array of shape {shape}")
    content = base64.b64decode(raw, validate=True)
    if prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"{len(content)} bytes do not fill shape {shape}")
    if dtype.kind == "b" and content.strip(b"\0\1"):
        raise ValueError("an array of truth values holds others")
    return np.frombuffer(content, dtype).reshape(shape).copy()


def printable(text, most=2000):
    """Text of a student as it can be shown and stored.

    text     str, or anything, of which nothing is shown
    most     how many characters are kept
    returns  str without colours, control characters (but new lines and tabs),
             lone surrogates, and marks that reverse the direction of writing
    """
    if not isinstance(text, str):
        return ""
    text = COLOURS.sub("", text[: 4 * most])
    kept = "".join(letter for letter in text[:most] if _shows(letter))
    return kept + (" ..." if len(text) > most else "")


def _shows(letter):
    """Whether a character shows as itself and leaves its neighbours alone."""
    if letter in "\n\t":
        return True
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
