"""Places of mesh axes on a network, and what each axis gets there.

`network` lists every way in which mesh axes can share out its dimensions.
Here are the speeds that come of a place, and the places that no other beats.
"""

from functools import lru_cache
from operator import le
from typing import NamedTuple

from shardlab.plan.network import AT_REST, all_degrees, lies, pace

__all__ = ["Paces", "paces", "places"]


class Paces(NamedTuple):
    """What each mesh axis gets of the network; `data` is ep, cp and dp."""

    tp: object = AT_REST
    ep: object = AT_REST
    cp: object = AT_REST
    replicas: object = AT_REST  # of an expert: cp and dp
    data: object = AT_REST
    pp: object = AT_REST


_pace = lru_cache(maxsize=65536)(pace)


@lru_cache(maxsize=65536)
def paces(net, lie):
    """What each mesh axis gets of the network where it lies.

    net      Network
    lie      for each mesh axis its chips along each dimension, from `lies`
    returns  Paces
    source   chapter 15
    """
    tp, ep, cp, dp, pp = lie
    one = (1,) * len(tp)
    over_ep = _times(tp, ep)
    replicas = _times(cp, dp)
    data = _times(ep, replicas)
    return Paces(
        tp=_pace(net, tp, one),
        ep=_pace(net, ep, tp),
        cp=_pace(net, cp, over_ep),
        replicas=_pace(net, replicas, over_ep),
        data=_pace(net, data, tp),
        pp=_pace(net, pp, _times(tp, data)),
    )


def _times(a, b):
    return tuple(x * y for x, y in zip(a, b, strict=True))


def places(net, degrees):
    """Places of mesh axes on a network that no other place beats.

    A place is beaten if in another every mesh axis needs no longer on any
    dimension, in some order of the dimensions. So the fastest place of every
    job is among those that are left.

    net      Network
    degrees  chips of each mesh axis, in the order of network.AXES
    returns  list of places, as `lies` gives them
    raises   ValueError unless the degrees multiply to the chips
    source   chapter 15
    """
    return list(_places(net, all_degrees(net, degrees)))


@lru_cache(maxsize=65536)
def _places(net, degrees):
    best = {}
    for spot in lies(net, degrees):
        best.setdefault(_needs(net, spot), spot)
    return tuple(best[needs] for needs in _unbeaten(best))


def _needs(net, spot):
    """Seconds for each byte of all mesh axes, the busiest dimension first."""
    w = paces(net, spot)
    on = (
        *(w.data.gather, w.tp.gather, w.replicas.gather, w.pp.send),
        *(w.ep.exchange, w.cp.gather, w.cp.exchange),
    )
    hops = (w.data, w.tp, w.replicas, w.pp, w.ep, w.cp)
    hops = sum((pace.hops for pace in hops), ())
    return sum(sorted(zip(*on, strict=True), reverse=True), hops)


def _unbeaten(rows):
    """The rows of numbers of which no other row is nowhere larger.

    rows     tuples of numbers, all of one length
    returns  list of tuples, in order
    source   chapter 15
    """
    kept = []
    for row in sorted(rows):
        if not any(all(map(le, other, row)) for other in kept):
            kept.append(row)
    return kept
