"""Time of one matmul, on one chip and on several."""

from math import inf
from typing import NamedTuple

from shardlab.arguments import amount, flag, how_many, real, size, takes
from shardlab.cost.network import moved_in, way
from shardlab.hw import Chip, flops_at

__all__ = [
    "Times",
    "compute_bound_batch",
    "matmul_flops",
    "seconds",
    "some_times",
    "t_gather_matmul",
    "t_matmul",
    "t_matmul_gather",
    "t_matmul_reduce",
]


class Times(NamedTuple):
    """Seconds of arithmetic and of communication in the same piece of work.

    math   seconds of arithmetic
    comm   seconds of communication
    """

    math: float
    comm: float

    @property
    def ratio(self):
        """math over comm: at 1 or more the work is compute-bound."""
        return self.math / self.comm if self.comm else inf


def some_times(name, value):
    """The argument `name` as Times, if it is a pair of seconds.

    value    Times, or another pair
    returns  Times
    raises   ValueError that names the argument and what was expected
    source   chapter 4
    """
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError(
            f"{name} must be Times, seconds of arithmetic and of "
            f"communication; got {value!r}"
        )
    return Times(*(real(name, seconds) for seconds in value))


@takes(times=some_times, overlap=flag)
def seconds(times, overlap=True):
    """Seconds that the work takes in all.

    times    Times
    overlap  True: communication runs beside arithmetic, and the longer of the
             two counts; False: one after the other
    returns  seconds
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 1, rooflines
    """
    return max(times) if overlap else sum(times)


@takes(B=amount, D=amount, F=amount)
def matmul_flops(B, D, F):
    """FLOPs of In[B, D] @ W_in[D, F]; a multiply-add is two.

    B, D, F  sizes, in elements
    returns  FLOPs
    raises   ValueError unless all are finite numbers of at least 0
    source   scaling-book part 1, "matrix multiplication"
    """
    return 2 * B * D * F


@takes(B=amount, D=amount, F=amount, chip=Chip, itemsize=size)
def t_matmul(B, D, F, chip, itemsize=2, precision="bf16"):
    """Roofline time of In[B, D] @ W_in[D, F] on one chip.

    B, D, F    sizes, in elements
    chip       Chip
    itemsize   bytes per element; 2 is bf16
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    returns    seconds, the slower of arithmetic and HBM traffic
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 1, "matrix multiplication"
    """
    t_math = 2 * B * D * F / flops_at(chip, precision)
    t_hbm = itemsize * (B * D + D * F + B * F) / chip.hbm_bw
    return max(t_math, t_hbm)


@takes(D=size, F=size, chip=Chip, itemsize=size)
def compute_bound_batch(D, F, chip, itemsize=2, precision="bf16"):
    """The batch at which In[B, D] @ W_in[D, F] stops being bound by HBM.

    D, F       sizes, in elements
    chip       Chip
    itemsize   bytes per element; 2 is bf16
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    returns    tokens, a real number above FLOP/s over bytes/s, which is the
               limit of large D and F; infinity if no batch is large enough
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 1, "matrix multiplication"
    """
    knee = flops_at(chip, precision) / chip.hbm_bw * itemsize / 2
    room = D * F / knee - D - F
    return D * F / room if room > 0 else inf


@takes(B=amount, D=amount, F=amount, X=how_many, itemsize=size)
def t_gather_matmul(
    B,
    D,
    F,
    X,
    chip,
    n_axes=1,
    itemsize=2,
    *,
    precision="bf16",
    wrap=True,
    inside=None,
):
    """In[B, D] @ W_in[D_X, F]: gather the weights, then multiply on each chip.

    B, D, F    sizes, in elements
    X          chips that hold the weights
    chip       Chip
    n_axes     axes of the network that carry the gather
    itemsize   bytes per element; 2 is bf16
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    wrap, inside  as in `t_comm`
    returns    Times; the AllGather at its limit V / (W n_axes)
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 3, problem 4, first strategy
    """
    flops = matmul_flops(B, D, F)
    V = itemsize * D * F
    t_comm = _t_moved(V, X, chip, n_axes, wrap, inside)
    return Times(flops / flops_at(chip, precision), t_comm)


@takes(B=amount, D=amount, F=amount, X=how_many, itemsize=size)
def t_matmul_reduce(
    B,
    D,
    F,
    X,
    chip,
    n_axes=1,
    itemsize=2,
    *,
    precision="bf16",
    wrap=True,
    inside=None,
):
    """In[B, D_X] @ W_in[D_X, F]: multiply what is there, AllReduce the sums.

    B, D, F    sizes, in elements
    X          chips over which D is cut
    chip       Chip
    n_axes     axes of the network that carry the AllReduce
    itemsize   bytes per element; 2 is bf16
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    wrap, inside  as in `t_comm`
    returns    Times; the AllReduce at its limit 2 V / (W n_axes)
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 3, problem 4, second strategy
    """
    flops = matmul_flops(B, D, F) / X
    V = itemsize * B * F
    t_comm = _t_moved(2 * V, X, chip, n_axes, wrap, inside)
    return Times(flops / flops_at(chip, precision), t_comm)


@takes(B=amount, D=amount, F=amount, X=how_many, itemsize=size)
def t_matmul_gather(
    B,
    D,
    F,
    X,
    chip,
    n_axes=1,
    itemsize=2,
    *,
    precision="bf16",
    wrap=True,
    inside=None,
):
    """In[B, D] @ W_in[D, F_X]: multiply, then AllGather the result.

    B, D, F    sizes, in elements
    X          chips over which F, or B, is cut
    chip       Chip
    n_axes     axes of the network that carry the gather
    itemsize   bytes per element; 2 is bf16
    precision  of the arithmetic: "bf16", "int8", "fp8" or "fp4"
    wrap, inside  as in `t_comm`
    returns    Times; the AllGather at its limit V / (W n_axes)
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 3, problem 5
    """
    flops = matmul_flops(B, D, F) / X
    V = itemsize * B * F
    t_comm = _t_moved(V, X, chip, n_axes, wrap, inside)
    return Times(flops / flops_at(chip, precision), t_comm)


def _t_moved(volume, X, chip, n_axes, wrap, inside):
    """Seconds to move a volume over X chips; a chip alone moves nothing."""
    lies = way(chip, n_axes, X, wrap, inside)
    return moved_in(volume, lies) if X > 1 else 0
