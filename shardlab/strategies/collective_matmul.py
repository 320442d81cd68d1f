"""The collective matmul: a gather and a product that need not wait."""

import jax.numpy as jnp
from jax import P
from jax.lax import axis_index, axis_size, ppermute

__all__ = ["LAYOUT", "gather_matmul", "gather_matmul_both_ways"]

LAYOUT = {"A": P(None, "X"), "B": P(None, "X"), "C": P(None, "X")}


def gather_matmul(A, B):
    """C = A B, each block of A multiplied while the next one is on its way.

    A        A[I, J_X]
    B        B[J, K_X]
    returns  C[I, K_X]
    source   scaling-book part 3; Wang et al. 2023, section 3
    """
    me, N = axis_index("X"), axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    rows = B.reshape(N, -1, B.shape[1])  # the rows that go with each block
    C = A @ rows[me]
    for hop in range(1, N):
        A = ppermute(A, "X", onward)
        C += A @ rows[(me - hop) % N]
    return C


def gather_matmul_both_ways(A, B):
    """The same, with half of each block going round either way.

    A        A[I, J_X], an even number of columns on each chip
    B        B[J, K_X]
    returns  C[I, K_X]
    source   scaling-book part 3; Wang et al. 2023, section 3
    """
    me, N = axis_index("X"), axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    backward = [(there, here) for here, there in onward]
    rows = B.reshape(N, 2, -1, B.shape[1])
    left, right = jnp.split(A, 2, axis=1)
    C = left @ rows[me, 0] + right @ rows[me, 1]
    for hop in range(1, N):
        left = ppermute(left, "X", onward)
        right = ppermute(right, "X", backward)
        C += left @ rows[(me - hop) % N, 0] + right @ rows[(me + hop) % N, 1]
    return C
