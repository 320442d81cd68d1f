"""What failures cost: checkpoints, restarts, and waiting for the slowest."""

from math import exp, expm1, sqrt
from statistics import NormalDist

from shardlab.arguments import how_many, real, size, takes

__all__ = [
    "daly_interval",
    "goodput",
    "hit_share",
    "slowest",
    "young_interval",
]


def _share(name, value):
    """The argument `name`, if it is a probability."""
    value = real(name, value)
    if value > 1:
        raise ValueError(f"{name} must be at most 1, got {value!r}")
    return value


@takes(save=size, mtbf=size)
def young_interval(save, mtbf):
    """Seconds of work between two checkpoints that lose the least, nearly.

    save     seconds for which a checkpoint stops the work
    mtbf     mean seconds between failures of the whole machine
    returns  seconds; good as long as save is much less than mtbf
    raises   ValueError that names the argument and what was expected
    source   Young (1974); chapter 17
    """
    return sqrt(2 * save * mtbf)


@takes(save=size, mtbf=size)
def daly_interval(save, mtbf):
    """Seconds of work between two checkpoints that lose the least.

    save     seconds for which a checkpoint stops the work
    mtbf     mean seconds between failures of the whole machine
    returns  seconds; mtbf where a checkpoint takes more than twice that
    raises   ValueError that names the argument and what was expected
    source   Daly (2006); chapter 17
    """
    if save >= 2 * mtbf:
        return mtbf
    part = save / (2 * mtbf)
    return sqrt(2 * save * mtbf) * (1 + sqrt(part) / 3 + part / 9) - save


@takes(interval=size, save=real, mtbf=size, restart=real, write=real)
def goodput(interval, save, mtbf, restart=0.0, write=0.0):
    """The share of all time that becomes progress which is kept.

    interval  seconds of work between two checkpoints
    save      seconds for which a checkpoint stops the work
    mtbf      mean seconds between failures; they have no memory, and may
              strike during a save or a restart as well
    restart   seconds from a failure until the work goes on
    write     seconds in the background until a checkpoint can be used
    returns   a number from 0 to 1
    raises    ValueError that names the argument and what was expected
    source    Daly (2006); chapter 17
    """
    cycle = (interval + save) / mtbf
    if cycle > 700:  # no cycle is ever finished, and exp would overflow
        return 0.0
    return interval / mtbf * exp(-(restart + write) / mtbf) / expm1(cycle)


@takes(N=how_many, mean=size, deviation=real)
def slowest(N, mean, deviation):
    """Seconds that the slowest of N chips takes, on average.

    N          chips that wait for each other
    mean, deviation  seconds of one chip: a normal distribution, each chip and
               each step by itself
    returns    seconds
    raises     ValueError that names the argument and what was expected
    source     Blom (1958); chapter 17
    """
    if N == 1:
        return mean
    place = (N - 0.375) / (N + 0.25)
    return mean + deviation * NormalDist().inv_cdf(place)


@takes(N=how_many, chance=_share)
def hit_share(N, chance):
    """The share of steps in which at least one of N chips is hit.

    N        chips that wait for each other
    chance   of one chip to be hit in one step, from 0 to 1
    returns  a number from 0 to 1
    raises   ValueError that names the argument and what was expected
    source   chapter 17
    """
    return 1 - (1 - chance) ** N
