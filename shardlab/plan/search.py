"""Every legal layout of a job, timed, with a verdict, best first."""

from dataclasses import dataclass, field
from operator import le

import numpy as np

from shardlab import cost
from shardlab.plan.grid import grid, grid_seconds, spots
from shardlab.plan.held import (
    activation_bytes,
    gathered_bytes,
    held,
    state_bytes,
)
from shardlab.plan.layouts import (
    Job,
    Layout,
    arrangements,
    divisions,
    why_not,
)
from shardlab.plan.models import forward_flops
from shardlab.plan.network import lies
from shardlab.plan.timing import (
    stage_seconds,
    timed,
    token_volumes,
    ways,
    weight_volumes,
)


@dataclass(frozen=True)
class Row:
    """One layout and what it comes to.

    layout   Layout, with its place on the network if it was timed
    memory   bytes on the fullest chip, by what they are
    hbm      bytes that a chip has
    kind     of the network: "torus", "switch" or "axes"
    seconds  of a step; None if it does not fit
    mfu      FLOPs that the model needs over those of all chips at their peak
    bubble   idle over useful time of the pipeline
    ratio    arithmetic over traffic in forward or backward, whichever is less:
             at 1 or more the field's texts call a layout compute-bound
    bound    what takes longest: "compute", "HBM" or a kind of traffic
    slower   time of the parts of a step that are not bound by arithmetic,
             forward or backward or both, over their arithmetic; 1 if none is
    """

    layout: Layout
    memory: dict
    hbm: float
    kind: str
    seconds: float | None = None
    mfu: float | None = None
    bubble: float | None = None
    ratio: float | None = None
    bound: str | None = None
    slower: float | None = None

    @property
    def bytes(self):
        """Bytes on the fullest chip, in all."""
        return sum(self.memory.values())

    @property
    def fits(self):
        """Whether a chip has that much memory, so that the layout was timed."""
        return self.seconds is not None

    @property
    def verdict(self):
        """In words."""
        if not self.fits:
            GB = 1e9
            return (
                f"out of memory: {_three(self.bytes / GB)} GB of "
                f"{_three(self.hbm / GB)} GB"
            )
        idle = f", bubble {self.bubble:.0%}" if self.bubble else ""
        if self.bound == "compute":
            return f"fits, compute-bound{idle}"
        kind = "HBM-bound" if self.bound == "HBM" else "comm-bound"
        by = "" if self.bound == "HBM" else f" by {self.bound}"
        return f"{kind}{by} {self.slower:.2f}x{idle}"


def _three(number):
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


@dataclass(frozen=True)
class Result:
    """What a search found, and what it cost.

    job        Job
    rows       list of Row: those that fit by time, then the others by memory
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
    layout   Layout; without `lies`, the best place on the network is found
    returns  Row
    raises   ValueError that says why the layout is not legal
    source   chapter 15
    """
    if reason := why_not(job, layout):
        raise ValueError(f"layout is not legal: {reason}")
    if activation_bytes(job, layout) > _room(job, layout):
        return _heavy(job, [layout])
    if layout.lies:
        return _told(job, timed(job, layout), layout)
    return _fastest(job, [layout], {}, {"timed": 0})


def search(job):
    """Every legal layout of a job, best first.

    A layout is listed once, with the microbatches and the place on the network
    that make it fastest. What does not fit is listed with its memory and is
    not timed.

    job      Job
    returns  Result
    raises   ValueError if job is no Job, or no layout is legal
    source   chapter 15
    """
    if not isinstance(job, Job):
        raise ValueError(f"job must be a plan.Job, got {job!r}")
    legal, refused = divisions(job)
    if not legal:
        said = ", ".join(f"{n} by {what}" for what, n in refused.items())
        raise ValueError(
            f"no layout of {job.chips:,} chips is legal; refused: {said}"
        )
    rows, tally = [], {"memory": 0, "timed": 0}
    for division in legal:
        rows += _rows(job, division, tally)
    rows.sort(key=_order)
    total = len(legal) + sum(refused.values())
    return Result(job, rows, total, refused, **tally)


def _rows(job, division, tally):
    """The rows of one division of the chips; `tally` counts the work."""
    found, known = [], {}
    for alike in arrangements(job, division):
        fitting, room = [], _room(job, alike[0])
        if room < 0:
            tally["memory"] += 1
        else:
            fitting = [x for x in alike if activation_bytes(job, x) <= room]
        if not fitting:
            found.append(_heavy(job, alike))
            continue
        # Without a pipeline, more microbatches than must be only add traffic.
        tried = fitting if fitting[0].pp > 1 else fitting[:1]
        found.append(_fastest(job, tried, known, tally))
    return found


def _fastest(job, alike, known, tally):
    """The best row of layouts that are alike."""
    best, at, traffic = None, *_known(job, alike[0], known)
    for v in sorted({x.chunks for x in alike}):
        same = [x for x in alike if x.chunks == v]
        m = np.array([x.microbatches for x in same])
        seconds = grid_seconds(job, at, traffic, same[0], m)
        tally["timed"] += seconds.size
        k, spot = np.unravel_index(seconds.argmin(), seconds.shape)
        if best is None or seconds[k, spot] < best[0]:
            best = seconds[k, spot], same[k]._replace(lies=at.lies[spot])
    return _told(job, timed(job, best[1]), best[1])


def _known(job, x, known):
    """Places and traffic, `known` once for schedules, ZeRO and SP alike."""
    if "at" not in known:
        alone = stage_seconds(job, x._replace(microbatches=1))
        known["at"] = spots(job, places(job.network, x.degrees), alone)
    if (x.zero, x.sp) not in known:
        volumes = token_volumes(job, x), weight_volumes(job, x)
        known[x.zero, x.sp] = grid(job, known["at"], *volumes)
    return known["at"], known[x.zero, x.sp]


def _room(job, layout):
    """Bytes that are left for activations; below 0 if states do not fit."""
    fixed = state_bytes(job, layout) + gathered_bytes(job, layout)
    return job.chip.hbm_bytes - fixed


def _heavy(job, alike):
    """The row of layouts that do not fit: the one that holds least."""
    least = min(alike, key=lambda x: activation_bytes(job, x))
    kind = job.network.kind
    return Row(least, held(job, least), job.chip.hbm_bytes, kind)


def _order(row):
    layout = row.layout
    mesh = layout.zero, layout.tp, layout.pp, layout.cp, layout.ep
    how = layout.sp, layout.schedule, layout.chunks, layout.microbatches
    if row.seconds is None:
        return 1, row.bytes, 0, *mesh, *how
    return 0, row.seconds, row.bytes, *mesh, *how


def _told(job, t, layout):
    """A row in which a layout's time is read."""
    late = [p for p in (t.forward, t.backward) if p.seconds > p.math]
    worst = max(late, key=lambda p: p.seconds - p.math, default=None)
    math = sum(p.math for p in late)
    return Row(
        layout,
        held(job, layout),
        job.chip.hbm_bytes,
        job.network.kind,
        seconds=t.step,
        mfu=_mfu(job, t.step),
        bubble=t.bubble,
        ratio=t.ratio,
        bound=worst.by if late else "compute",
        slower=sum(p.seconds for p in late) / math if late else 1.0,
    )


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
    return [best[needs] for needs in unbeaten(best)]


def _needs(net, spot):
    """Seconds for each byte of all mesh axes, the busiest dimension first."""
    w = ways(net, spot)
    on = (
        *(w.data.gather, w.tp.gather, w.replicas.gather),
        *(w.ep.exchange, w.cp.gather, w.pp.send),
    )
    return sum(sorted(zip(*on, strict=True), reverse=True), ())


def unbeaten(rows):
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
