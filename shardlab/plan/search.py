"""Every legal layout of a job, timed, with a verdict, best first."""

from dataclasses import dataclass, field
from functools import cached_property
from operator import le

import numpy as np

from shardlab import cost
from shardlab.models import forward_flops
from shardlab.plan.grid import (
    Grid,
    grid_seconds,
    spots,
    tokens_grid,
    weights_grid,
)
from shardlab.plan.held import (
    account,
    chip_bytes,
    gathered_bytes,
    kept_bytes,
    states,
)
from shardlab.plan.layouts import (
    Arrangement,
    Job,
    a_job,
    arrangements,
    divisions,
    why_not,
)
from shardlab.plan.network import lies
from shardlab.plan.timing import (
    paces,
    stage_seconds,
    timed,
    token_volumes,
    weight_volumes,
)

__all__ = ["PlanRow", "Result", "evaluate", "places", "search"]


@dataclass(frozen=True)
class PlanRow:
    """One layout and what it comes to; what is asked for is worked out then.

    job      Job
    layout   Arrangement, with its place on the network if it was timed
    bytes    on the fullest chip, in all
    seconds  of a step; None if it does not fit
    memory   bytes on the fullest chip, by what they are
    mfu      FLOPs that the model needs over those of all chips at their peak
    bubble   idle over useful time of the pipeline
    ratio    arithmetic over traffic in forward or backward, whichever is less:
             at 1 or more the field's texts call a layout compute-bound
    bound    what takes longest: "compute", "HBM" or a kind of traffic
    slower   time of the parts of a step that are not bound by arithmetic,
             forward or backward or both, over their arithmetic; 1 if none is
    """

    job: Job = field(repr=False)
    layout: Arrangement
    bytes: float
    seconds: float | None = None

    @cached_property
    def memory(self):
        """Bytes on the fullest chip, by what they are."""
        return chip_bytes(self.job, self.layout)

    @property
    def hbm(self):
        """Bytes that a chip has."""
        return self.job.chip.hbm_bytes

    @property
    def kind(self):
        """Kind of the network: "torus", "switch" or "axes"."""
        return self.job.network.kind

    @cached_property
    def _timed(self):
        return timed(self.job, self.layout) if self.fits else None

    @cached_property
    def mfu(self):
        """FLOPs that the model needs over those of all chips at peak."""
        return _mfu(self.job, self.seconds) if self.fits else None

    @property
    def bubble(self):
        """Idle over useful time of the pipeline."""
        return self._timed.bubble if self.fits else None

    @property
    def ratio(self):
        """Arithmetic over traffic, forward or backward, whichever is less."""
        return self._timed.ratio if self.fits else None

    @property
    def _late(self):
        both = self._timed.forward, self._timed.backward
        return [part for part in both if part.seconds > part.math]

    @property
    def bound(self):
        """What takes longest: "compute", "HBM" or a kind of traffic."""
        if not self.fits:
            return None
        late = self._late
        worst = max(late, key=lambda p: p.seconds - p.math, default=None)
        return worst.by if late else "compute"

    @property
    def slower(self):
        """Time of what arithmetic does not bind, over its arithmetic."""
        if not self.fits:
            return None
        late = self._late
        math = sum(p.math for p in late)
        return sum(p.seconds for p in late) / math if late else 1.0

    @property
    def fits(self):
        """Whether a chip has that much memory, so that the layout was timed."""
        return self.seconds is not None

    @property
    def verdict(self):
        """In words."""
        if not self.fits:
            needs, has = self.bytes / 1e9, self.hbm / 1e9
            return f"out of memory: {_above(needs, has)} GB of {_three(has)} GB"
        idle = f", bubble {self.bubble:.0%}" if self.bubble else ""
        if self.bound == "compute":
            return f"fits, compute-bound{idle}"
        kind = "HBM-bound" if self.bound == "HBM" else "comm-bound"
        by = "" if self.bound == "HBM" else f" by {self.bound}"
        return f"{kind}{by} {self.slower:.2f}x{idle}"


def _above(number, limit):
    """As many digits as it takes to see that a number is above a limit."""
    said = _three(number)
    return said if float(said) > float(_three(limit)) else f"{number:.6g}"


def _three(number):
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


@dataclass(frozen=True)
class Result:
    """What a search found, and what it cost.

    job        Job
    rows       list of PlanRow: those that fit by time, the others by memory
    divisions  ways to deal the chips of a pod to mesh axes, all of them
    refused    how many of these are not legal, by what does not divide
    memory     layouts whose states alone do not fit, and which nothing more
               was asked about
    timed      layouts and places on the network that were timed
    """

    job: Job
    rows: list
    divisions: int
    refused: dict = field(default_factory=dict)
    memory: int = 0
    timed: int = 0

    @property
    def fitting(self):
        """The rows that fit."""
        return [row for row in self.rows if row.fits]


def evaluate(job, layout):
    """One layout: memory, and time if it fits.

    job      Job
    layout   Arrangement; without `lies`, the best place on the network is found
    returns  PlanRow
    raises   ValueError that says why the layout is not legal
    source   chapter 15
    """
    if reason := why_not(job, layout):
        raise ValueError(f"layout is not legal: {reason}")
    size = _fixed(job, layout) + kept_bytes(job, layout)
    if size > job.chip.hbm_bytes:
        return PlanRow(job, layout, size)
    if layout.lies:
        return PlanRow(job, layout, size, timed(job, layout).step)
    best, seconds = _fastest(job, [layout], {}, {"timed": 0})
    return PlanRow(job, best, size, seconds)


def search(job, allowed=None):
    """Every legal layout of a job, best first.

    A layout is listed once, with the microbatches and the place on the network
    that make it fastest. What does not fit is listed with its memory and is
    not timed.

    job      Job
    allowed  function of an Arrangement: whether it is looked at. Layouts that
             differ in microbatches, chunks or context only are asked about once
    returns  Result
    raises   ValueError if job is no Job, or no layout is legal
    source   chapter 15
    """
    if allowed is not None and not callable(allowed):
        raise ValueError(f"allowed must be a function, got {allowed!r}")
    legal, refused = divisions(a_job(job))
    if not legal:
        said = ", ".join(f"{n} by {what}" for what, n in refused.items())
        raise ValueError(
            f"no layout of {job.chips:,} chips is legal; refused: {said}"
        )
    rows, tally = [], {"memory": 0, "timed": 0}
    for division in legal:
        rows += _rows(job, division, tally, allowed)
    rows.sort(key=_order)
    total = len(legal) + sum(refused.values())
    return Result(job, rows, total, refused, **tally)


def _rows(job, division, tally, allowed=None):
    """The rows of one division of the chips; `tally` counts the work."""
    found, known = [], {}
    for alike in arrangements(job, division):
        if allowed and not allowed(alike[0]):
            continue
        fixed, sizes = _fixed(job, alike[0]), _sizes(job, alike, known)
        room = job.chip.hbm_bytes - fixed
        tally["memory"] += room < 0
        fits = [x for x, size in zip(alike, sizes, strict=True) if size <= room]
        if fits:
            if fits[0].pp == 1:
                fits = _fewest(fits)
            best, seconds = _fastest(job, fits, known, tally)
            size = sizes[alike.index(best._replace(lies=()))]
            found.append(PlanRow(job, best, fixed + size, seconds))
        else:
            least = min(sizes)
            best = alike[sizes.index(least)]
            found.append(PlanRow(job, best, fixed + least))
    return found


def _sizes(job, alike, known):
    """Bytes of the activations of layouts alike, whatever ZeRO cuts."""
    x = alike[0]
    key = "sizes", x.sp, x.schedule
    if key not in known:
        accounts = {}
        if not job.model.simplified:
            for kind in {x.context for x in alike}:
                accounts[kind] = account(job, x._replace(context=kind))
        known[key] = [
            kept_bytes(job, x, accounts.get(x.context)) for x in alike
        ]
    return known[key]


def _fewest(fitting):
    """Without a pipeline, more microbatches than must be only add traffic."""
    fewest = {}
    for x in fitting:
        fewest.setdefault(x.context, x)
    return list(fewest.values())


def _fastest(job, alike, known, tally):
    """The best of layouts that are alike, placed, and its seconds."""
    best, groups = None, {}
    for x in alike:
        groups.setdefault((x.context, x.chunks), []).append(x)
    for same in _undoubted(job, groups, known):
        at, traffic = _known(job, same[0], known)
        m = np.array([x.microbatches for x in same])
        seconds = grid_seconds(job, at, traffic, same[0], m)
        tally["timed"] += seconds.size
        k, spot = np.unravel_index(seconds.argmin(), seconds.shape)
        if best is None or seconds[k, spot] < best[1]:
            placed = same[k]._replace(lies=at.lies[spot])
            best = placed, float(seconds[k, spot])
    return best


def _undoubted(job, groups, known):
    """Groups of layouts, but for those whose context cannot be the fastest.

    It cannot where keys and values on a ring fit as often, and nowhere take
    longer: no more bytes and no more hops on any dimension at any place.
    """
    for (kind, v), same in groups.items():
        ring = groups.get(("ring", v), ())
        doubted = kind != "ring" and len(ring) == len(same)
        if not (doubted and _no_slower(job, ring[0], same[0], known)):
            yield same


def _no_slower(job, ring, other, known):
    key = "no slower", ring.sp, other.context
    if key not in known:
        pair = [_known(job, x, known)[1].tokens for x in (ring, other)]
        known[key] = all((a <= b).all() for a, b in zip(*pair, strict=True))
    return known[key]


def _known(job, x, known):
    """Places and traffic, `known` once for all layouts that share them."""
    if "at" not in known:
        alone = stage_seconds(job, x._replace(microbatches=1))
        known["at"] = spots(job, places(job.network, x.degrees), alone)
    at, tokens, weights = known["at"], (x.sp, x.context), x.zero
    if tokens not in known:
        known[tokens] = tokens_grid(job, at, token_volumes(job, x))
    if weights not in known:
        known[weights] = weights_grid(job, at, weight_volumes(job, x))
    return at, Grid(*known[tokens], *known[weights])


def _fixed(job, layout):
    """Bytes that do not depend on microbatches."""
    return states(job, layout) + gathered_bytes(job, layout)


def _order(row):
    layout = row.layout
    mesh = layout.zero, layout.tp, layout.pp, layout.cp, layout.ep
    how = layout.sp, layout.schedule, layout.chunks, layout.microbatches
    if row.seconds is None:
        return 1, row.bytes, 0, *mesh, *how
    return 0, row.seconds, row.bytes, *mesh, *how


def _mfu(job, seconds):
    flops = 3 * sum(forward_flops(job.model, job.attended).values()) * job.batch
    return cost.mfu(flops, seconds, job.chips * job.pods, job.chip)


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
    best = {}
    for spot in lies(net, degrees):
        best.setdefault(_needs(net, spot), spot)
    return [best[needs] for needs in _unbeaten(best)]


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
