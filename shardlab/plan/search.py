"""Every legal layout of a job, timed, with a verdict, best first."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shardlab import cost
from shardlab.models import forward_flops
from shardlab.plan.expected import expected_of, stored
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
    POLICIES,
    Arrangement,
    Job,
    a_job,
    arrangements,
    divisions,
    why_not,
)
from shardlab.plan.placing import places
from shardlab.plan.timing import (
    stage_seconds,
    timed,
    token_volumes,
    weight_volumes,
)

__all__ = [
    "ERROR",
    "EXTRA",
    "PlanRow",
    "Result",
    "evaluate",
    "mesh_key",
    "rank",
    "search",
]

TIE = 1e-9  # times that are nearer to each other are equal
ERROR = 0.1  # of the counted bytes; `measured` compares them with readings
# What a runtime holds besides what we count. PyTorch: 80 of the 85e9 bytes
# that a program can have on an 80 GB GPU; CUDA, NCCL and gaps between blocks
# take the rest. XLA's limit already leaves its own part out.
EXTRA = {"switch": 85 / 80, "torus": 1.0, "axes": 1.0}


@dataclass(frozen=True)
class PlanRow:
    """One layout and what it comes to; what is asked for is worked out then.

    job      Job
    layout   Arrangement, with its place on the network if it was timed
    bytes    on the fullest chip, in all
    peak     the same, with what the runtime holds in addition
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

    @cached_property
    def expected(self):
        """What a step is expected to take: `expected.Expected`."""
        return expected_of(self.job, self.layout)

    @property
    def band(self):
        """Seconds that nine of ten such steps would lie between."""
        return tuple(self.expected.step * part for part in stored()["band"])

    @property
    def hbm(self):
        """Bytes that a program can have on a chip."""
        return self.job.limit

    @property
    def peak(self):
        """Bytes that a runtime will show, its own included."""
        return self.bytes * EXTRA[self.job.network.kind]

    @property
    def tight(self):
        """Whether it is above the limit by less than our count's error."""
        return self.hbm < self.bytes <= _most(self.job)

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
        """Whether a program can have that much memory; if so, it was timed."""
        return self.seconds is not None

    @property
    def remedy(self):
        """A heavier recomputation under which it fits; "" if there is none."""
        if self.fits or self.job.model.simplified:
            return ""
        more = POLICIES[POLICIES.index(self.job.recompute) + 1 :]
        for policy in more:
            job = replace(self.job, recompute=policy)
            if _bytes(job, self.layout) <= _most(job):
                return policy
        return ""

    @property
    def verdict(self):
        """In words."""
        if not self.fits:
            needs, has = self.bytes / 1e9, self.hbm / 1e9
            said = f"{_above(needs, has)} GB of {_three(has)} GB"
            if self.tight:
                return f"tight: {said}, within the {ERROR:.0%} of our error"
            remedy = self.remedy
            fits = f"; fits with recompute {remedy}" if remedy else ""
            return f"out of memory: {said}{fits}"
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
        """The rows that fit, by their bound."""
        return [row for row in self.rows if row.fits]

    @cached_property
    def likely(self):
        """The rows that fit, by the time that they are expected to take."""
        return sorted(self.fitting, key=lambda row: row.expected.step)


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
    if job.recompute == "any":
        each = [evaluate(replace(job, recompute=p), layout) for p in POLICIES]
        return min(each, key=rank)
    size = _bytes(job, layout)
    if size > job.limit:
        return PlanRow(job, layout, size)
    if layout.lies:
        return PlanRow(job, layout, size, timed(job, layout).step)
    fits = np.ones((1, 1), bool)
    ((_, lie, seconds),) = _fastest(job, [layout], [layout], fits, {}, {})
    return PlanRow(job, layout._replace(lies=lie), size, seconds)


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
    for one in _policies(job):
        for division in legal:
            rows += _rows(one, division, tally, allowed)
    rows = _ranked(rows)
    total = len(legal) + sum(refused.values())
    return Result(job, rows, total, refused, **tally)


def _policies(job):
    """The job under each way to recompute that it leaves open."""
    if job.recompute != "any":
        return [job]
    return [replace(job, recompute=policy) for policy in POLICIES]


def _ranked(rows):
    """Rows in order, each layout once; times equal to 1e-9 by their bytes."""
    best = {}
    for row in sorted(rows, key=rank):
        best.setdefault(mesh_key(row.layout), row)
    rows, start = list(best.values()), 0
    for end, row in enumerate(rows, 1):
        later = rows[end].seconds if end < len(rows) else None
        if later is None or later > rows[start].seconds * (1 + TIE):
            rows[start:end] = sorted(rows[start:end], key=_bytes_first)
            start = end
        if row.seconds is None or later is None:
            break
    return rows


def _bytes_first(row):
    return row.bytes, row.seconds, rank(row)


def _most(job):
    """Bytes above which a layout does not fit, whatever our error is."""
    return job.limit * EXTRA[job.network.kind] * (1 + ERROR)


def _bytes(job, layout):
    """Bytes on the fullest chip."""
    return _fixed(job, layout) + kept_bytes(job, layout)


def _rows(job, division, tally, allowed=None):
    """The rows of one division of the chips; `tally` counts the work."""
    found, known = [], {}
    for stages, alike in arrangements(job, division):
        cuts = [alike[0]._replace(zero=zero) for zero in stages]
        cuts = [x for x in cuts if not allowed or allowed(x)]
        if not cuts:
            continue
        fixed = [_fixed(job, x) for x in cuts]
        sizes = _sizes(job, alike, known)
        room = job.limit - np.array(fixed)
        tally["memory"] += int((room < 0).sum())
        fits = sizes <= room[:, None]
        fastest = _fastest(job, cuts, alike, fits, known, tally)
        for x, held, best in zip(cuts, fixed, fastest, strict=True):
            k, lie, seconds = best or (sizes.argmin(), (), None)
            layout = alike[k]._replace(zero=x.zero, lies=lie)
            size = held + float(sizes[k])
            found.append(PlanRow(job, layout, size, seconds))
    return found


def _sizes(job, alike, known):
    """Bytes of the activations of layouts alike, whatever ZeRO cuts: array."""
    x = alike[0]
    key = "sizes", x.sp, x.schedule
    if key not in known:
        kinds, v, m = _contexts_and_runs(alike)
        runs = x._replace(chunks=v, microbatches=m)
        known[key] = np.zeros((len(kinds), len(m)))
        for n, kind in enumerate(kinds):
            terms = _account(job, x._replace(context=kind), known)
            known[key][n] = kept_bytes(job, runs, terms)
        known[key] = known[key].ravel()
    return known[key]


def _account(job, x, known):
    key = "account", x.sp, x.context
    if key not in known and not job.model.simplified:
        known[key] = account(job, x)
    return known.get(key)


def _contexts_and_runs(alike):
    """Contexts of layouts alike, and chunks and microbatches under each."""
    kinds = list(dict.fromkeys(x.context for x in alike))
    runs = alike[: len(alike) // len(kinds)]
    return kinds, *np.array([(x.chunks, x.microbatches) for x in runs]).T


def _fastest(job, cuts, alike, fits, known, tally):
    """Which of layouts alike is the fastest under each ZeRO stage, and where.

    job      Job
    cuts     the first of these layouts, with each ZeRO stage
    alike    list of Arrangement, as from `arrangements`
    fits     array of bool [ZeRO stages, layouts]: which ones may be taken
    known    dict that keeps what layouts of a division share
    tally    dict that counts the work
    returns  for each ZeRO stage (number in the list, place, seconds of a step),
             or None if none may be taken
    source   chapter 15
    """
    best = [None] * len(cuts)
    if not fits.any():
        return best
    kinds, v, m = _contexts_and_runs(alike)
    fits = fits.reshape(len(cuts), len(kinds), len(m))
    if alike[0].pp == 1:
        fits = _fewest(fits)
    by_chunks = np.argsort(v, kind="stable")  # of equal ones the fewest chunks
    for n, kind in enumerate(kinds):
        x, mine = alike[n * len(m)], fits[:, n]
        doubted = kind != "ring" and kinds[0] == "ring"
        if doubted and _no_slower(job, alike[0], x, known):
            mine = _undoubted(mine, fits[:, 0], v)
        rows = mine.any(axis=1).nonzero()[0]
        columns = by_chunks[mine.any(axis=0)[by_chunks]]
        if not rows.size:
            continue
        at, grid = _known(job, x, [cuts[row].zero for row in rows], known)
        alone = _alone(job, x, known)
        seconds = grid_seconds(job, grid, alone, x, v[columns], m[columns])
        mine = mine[rows][:, columns]
        tally["timed"] = tally.get("timed", 0) + int(mine.sum()) * len(at.lies)
        seconds[~mine] = np.inf
        firsts = seconds.reshape(len(rows), -1).argmin(axis=1)
        for row, here, first in zip(rows, seconds, firsts, strict=True):
            k, spot = divmod(int(first), len(at.lies))
            took = float(here[k, spot])
            if best[row] is None or took < best[row][2]:
                best[row] = n * len(m) + int(columns[k]), at.lies[spot], took
    return best


def _fewest(fits):
    """Without a pipeline, more microbatches than must be only add traffic."""
    return fits & (fits.cumsum(axis=2) == 1)


def _undoubted(fits, ring, v):
    """Where a context that is nowhere faster than a ring may still be taken.

    fits     array of bool [ZeRO stages, runs]
    ring     the same for keys and values on a ring
    v        array [runs] of chunks
    returns  array of bool: `fits`, but not where as many runs of as many chunks
             fit on a ring, too
    source   chapter 13
    """
    same = (v[:, None] == v).astype(int)
    return fits & (fits @ same != ring @ same)


def _no_slower(job, ring, other, known):
    """Whether a ring moves nowhere more, on any dimension at any place."""
    key = "no slower", ring.sp, other.context
    if key not in known:
        pair = [_of_tokens(job, x, known)[0] for x in (ring, other)]
        known[key] = all((a <= b).all() for a, b in zip(*pair, strict=True))
    return known[key]


def _known(job, x, stages, known):
    """Places and traffic, `known` once for all layouts that share them."""
    at, key = _places_of(job, x, known), ("weights", *stages)
    if key not in known:
        volumes = [weight_volumes(job, x._replace(zero=z)) for z in stages]
        known[key] = weights_grid(job, at, volumes)
    return at, Grid(*_of_tokens(job, x, known), *known[key])


def _places_of(job, x, known):
    if "at" not in known:
        known["at"] = spots(job, places(job.network, x.degrees))
    return known["at"]


def _of_tokens(job, x, known):
    key = "tokens", x.sp, x.context
    if key not in known:
        at = _places_of(job, x, known)
        known[key] = tokens_grid(job, at, token_volumes(job, x))
    return known[key]


def _alone(job, x, known):
    key = "alone", x.sp
    if key not in known:
        known[key] = stage_seconds(job, x._replace(microbatches=1))
    return known[key]


def _fixed(job, layout):
    """Bytes that do not depend on microbatches."""
    return states(job, layout) + gathered_bytes(job, layout)


def rank(row):
    """What rows are sorted by: time, or bytes if a row does not fit.

    row      PlanRow
    returns  tuple
    source   chapter 15
    """
    how = *mesh_key(row.layout), row.layout.chunks, row.layout.microbatches
    if row.seconds is None:
        return 1, row.bytes, 0, *how
    return 0, row.seconds, row.bytes, *how


def mesh_key(layout):
    """All of a layout but what a search chooses in it.

    layout   Arrangement
    returns  tuple
    source   chapter 15
    """
    mesh = layout.zero, layout.tp, layout.pp, layout.cp, layout.ep
    return *mesh, layout.sp, layout.schedule


def _mfu(job, seconds):
    flops = 3 * sum(forward_flops(job.model, job.attended).values()) * job.batch
    chips = job.chips * job.pods
    return cost.mfu(flops, seconds, chips, job.chip, job.precision)
