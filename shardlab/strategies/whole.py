"""Gathering what is still cut."""

from jax.lax import all_gather


def whole(A, name, axis, size):
    """A, gathered over a mesh axis unless it is whole already.

    A        the piece of an array that this device has, or all of it
    name     mesh axis that cuts it
    axis     dimension that is cut
    size     length of this dimension when whole, in elements
    returns  A with that dimension whole
    source   chapter 7
    """
    if A.shape[axis] == size:
        return A
    return all_gather(A, name, axis=axis, tiled=True)
