"""Seconds of a step for many layouts at once: all places, all microbatches.

The same model as in `timing`, on arrays in place of numbers: ZeRO stages by
runs (chunks and microbatches) by places. `timing` reads one layout at length;
this finds out which one to read, and tests hold each to the other.
"""

from typing import NamedTuple

import numpy as np

from shardlab.plan.network import AT_REST
from shardlab.plan.placing import paces
from shardlab.plan.timing import beside, speeds

__all__ = [
    "Grid",
    "Spots",
    "grid_seconds",
    "spots",
    "tokens_grid",
    "weights_grid",
]

PARTS = ("forward", "backward", "last", "update")
MOVED = [(axis, "gather") for axis in ("tp", "cp", "replicas", "data")]
MOVED += [("ep", "exchange"), ("cp", "exchange"), ("cp", "ring")]
MOVED += [("pp", "send"), ("dcn", "")]


class Spots(NamedTuple):
    """Places that mesh axes may have on a network.

    lies    the places, as `network.lies` gives them
    each    for each (axis, kind) of a Volume its seconds a byte, [dimensions,
            places]: those of the network that any of them uses, and outside
    late    for each (axis, kind) its seconds a call, likewise
    """

    lies: list
    each: dict
    late: dict


def spots(job, lies):
    """What every mesh axis needs at each of several places.

    job      Job
    lies     places, as `network.lies` gives them
    returns  Spots
    source   chapter 15
    """
    where, both = [paces(job.network, lie) for lie in lies], {}
    for axis, kind in MOVED:
        still = getattr(where[0], axis) is AT_REST if kind else job.pods == 1
        if still:
            continue  # an axis of one chip moves nothing anywhere
        rows = np.array([speeds(job, w, axis, kind) for w in where])
        both[axis, kind] = rows.transpose(1, 2, 0)
    used = sum((each.any(axis=1) for each, _ in both.values()), np.zeros(4))
    some = np.flatnonzero(used) if any(used) else [0]
    each = {moved: rows[0][some] for moved, rows in both.items()}
    late = {moved: rows[1][some] for moved, rows in both.items()}
    return Spots(lies, each, late)


def _seconds_of(job, at, volumes, part):
    """Seconds that one part of several volumes takes, at each place.

    job      Job
    at       Spots
    volumes  list of Volume
    part     0 to 3, of PARTS
    returns  array [2, dimensions, places], of their bytes and of their calls;
             if traffic is not to overlap, all in a row, on the first dimension
    source   chapter 15
    """
    wide = next(iter(at.each.values())).shape[0] if at.each else 1
    total = np.zeros((2, wide, len(at.lies)))
    for v in volumes:
        for k, (many, each) in enumerate(
            ((v[4 + part], at.each), (v.calls[part], at.late))
        ):
            if many and beside(job):
                total[k] += many * each[v.axis, v.kind]
            elif many:
                total[k, 0] += many * each[v.axis, v.kind].max(axis=0)
    return total


class Grid(NamedTuple):
    """Traffic of layouts that differ in ZeRO stage and run, by place.

    tokens   of all microbatches together, forward and backward, and besides
             of each one
    chunk    the same for every chunk of a stage but the first
    waits    as `tokens`, of what arithmetic waits for, and not in it: TP's, if
             `job.overlap` is "tp-waits"
    weights  of each microbatch, forward and backward, for each ZeRO stage
    once     besides in the last backward pass, and after it, for each model
             part that a stage has and each ZeRO stage
    """

    tokens: list
    chunk: list
    waits: list
    weights: list
    once: list


def tokens_grid(job, at, volumes):
    """The part of a Grid that is the same for every ZeRO stage.

    job      Job
    at       Spots
    volumes  list of Volume, from `token_volumes`
    returns  (tokens, chunk, waits) of Grid
    source   chapter 15
    """
    waits = [v for v in volumes if v.name == "TP" and job.overlap == "tp-waits"]
    volumes = [volume for volume in volumes if volume not in waits]
    sends = [volume for volume in volumes if volume.name == "PP"]
    return tuple(
        [_seconds_of(job, at, moved, part) for part in (0, 1)]
        for moved in (volumes, sends, waits)
    )


def weights_grid(job, at, stages):
    """The part of a Grid that is the same for SP and all contexts.

    job      Job
    at       Spots
    stages   for each ZeRO stage a list of Volume, from `weight_volumes`
    returns  (weights, once) of Grid
    source   chapter 15
    """
    moved = [
        [_seconds_of(job, at, volumes, part).sum(axis=0) for volumes in stages]
        for part in range(len(PARTS))
    ]
    moved = [np.stack(of_stages, axis=1) for of_stages in moved]
    return moved[:2], moved[2:]


def grid_seconds(job, known, alone, layout, v, m):
    """Seconds of a step, for each ZeRO stage, in each run and at each place.

    job      Job
    known    Grid
    alone    seconds without traffic, from `stage_seconds`, in one microbatch
    layout   Arrangement; its ZeRO stage, chunks, microbatches and place do not
             matter
    v, m     arrays [runs] of chunks and of numbers of microbatches
    returns  array [ZeRO stages, runs, places]
    source   chapter 15
    """
    v, m = v[:, None], m[:, None]
    parts = 2 if layout.schedule == "dualpipe" else 1
    more = v - 1 if v.max() > 1 else None
    forward, backward = (
        _in_microbatch(on, chunk, more, m)
        for on, chunk in zip(known.tokens, known.chunk, strict=True)
    )
    weights = [on[:, :, None] for on in known.weights]
    late = weights[1] + parts * known.once[0][:, :, None]
    t_f = (forward + weights[0]).max(axis=0)
    t_b = (backward + weights[1]).max(axis=0)
    t_last = (backward + late).max(axis=0)
    join = np.add if job.overlap == "none" else np.maximum
    (f, b), t_hbm = alone
    f, b = np.maximum(f / m, t_hbm), np.maximum(b / m, 2 * t_hbm)
    f, b, last = join(f, t_f), join(b, t_b), join(b, t_last)
    if job.overlap == "tp-waits":
        tp = [_in_microbatch(on, on, None, m).max(axis=0) for on in known.waits]
        f, b, last = f + tp[0], b + tp[1], last + tp[1]
    update = parts * known.once[1].max(axis=0)[:, None]
    return m * (f + b) + _idle_seconds(layout, v, f, b) + last - b + update


def _in_microbatch(on, chunk, more, m):
    """Seconds of tokens' traffic in one microbatch.

    on       array [2, dimensions, places], of all of them and of each
    chunk    the same for each of `more` chunks
    more     array [runs, 1]; None: no run has a second chunk
    m        array [runs, 1]
    returns  array [dimensions, 1, runs, places]
    source   chapter 15
    """
    moved, waits = on[:, :, None, None]
    if more is not None:
        more_moved, more_waits = chunk[:, :, None, None]
        moved, waits = moved + more * more_moved, waits + more * more_waits
    return moved / m + waits


def _idle_seconds(layout, v, f, b):
    """Seconds that the slowest stage waits, in closed form.

    layout   Arrangement
    v        chunks of a stage
    f, b     seconds of one microbatch, forward and backward, in one stage;
             numbers or arrays
    returns  seconds, as many
    source   chapter 11
    """
    p, half = layout.pp, b / 2
    if layout.schedule == "zero-bubble":
        return (p - 1) * (f + b - 2 * np.minimum(f, half))
    if layout.schedule == "dualpipe":
        pairs = p // 2 - 1  # as in cost.dualpipe_bubble, on arrays
        return np.maximum(2 * pairs * f, pairs * (f + half) - f)
    return (p - 1) * (f + b) / v
