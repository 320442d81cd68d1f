"""Bits of floats: turned over one at a time, and added up to check arrays."""

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["BITS", "checksum", "flip", "raw"]

BITS = 32  # of a float32: 23 of the mantissa, 8 of the exponent, the sign


def raw(x):
    """The bits of an array as whole numbers.

    x        float32, of any shape
    returns  uint32, of the same shape
    raises   ValueError if x is not float32
    source   chapter 17
    """
    if jnp.dtype(x.dtype) != jnp.float32:
        raise ValueError(f"x must be float32, got {x.dtype}")
    return lax.bitcast_convert_type(jnp.asarray(x), jnp.uint32)


def flip(x, index, bit, strikes=True):
    """An array in which one bit of one number is turned over.

    x        float32, of any shape
    index    which of its numbers, as if the array had one dimension
    bit      0 to 31: 0 to 22 are the mantissa, 23 to 30 the exponent, 31 the
             sign
    strikes  False leaves everything as it is; like index and bit it may be
             known only when the program runs
    returns  an array like x
    raises   ValueError if x is not float32
    source   chapter 17
    """
    words = raw(x).reshape(-1)
    mask = jnp.where(strikes, jnp.uint32(1) << jnp.uint32(bit), jnp.uint32(0))
    words = words.at[index].set(words[index] ^ mask)
    return lax.bitcast_convert_type(words.reshape(x.shape), jnp.float32)


def checksum(tree):
    """All bits of all arrays, added up as whole numbers modulo 2^32.

    tree     arrays of float32
    returns  a number, uint32. Any single bit that differs changes it
    raises   ValueError if an array is not float32
    source   chapter 17
    """
    sums = [raw(x).sum(dtype=jnp.uint32) for x in jax.tree.leaves(tree)]
    return sum(sums, jnp.uint32(0))
