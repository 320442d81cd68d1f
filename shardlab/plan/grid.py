"""Seconds of a step for many layouts at once: all places, all microbatches.

The same model as in `timing`, on arrays [microbatches, places] in place of
numbers. `timing` reads one layout at length; this finds out which one to read,
and tests hold each to the other.
"""

from typing import NamedTuple

import numpy as np

from shardlab.plan.network import AT_REST
from shardlab.plan.timing import beside, paces, speeds

__all__ = [
    "Grid",
    "Spots",
    "grid",
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
    each    for each (axis, kind) of a Volume its seconds a byte, [places, 4]:
            three dimensions, and outside of the network
    late    for each (axis, kind) its seconds a call, likewise
    alone   seconds without traffic, from `stage_seconds`, in one microbatch
    """

    lies: list
    each: dict
    late: dict
    alone: tuple


def spots(job, lies, alone):
    """What every mesh axis needs at each of several places.

    job      Job
    lies     places, as `network.lies` gives them
    alone    seconds of a step in one microbatch, from `stage_seconds`
    returns  Spots
    source   chapter 15
    """
    where, each, late = [paces(job.network, lie) for lie in lies], {}, {}
    for axis, kind in MOVED:
        if kind and getattr(where[0], axis) is AT_REST:
            continue  # an axis of one chip moves nothing anywhere
        both = np.array([speeds(job, w, axis, kind) for w in where])
        each[axis, kind], late[axis, kind] = both[:, 0], both[:, 1]
    return Spots(lies, each, late, alone)


def _seconds_of(job, at, volumes, part):
    """Seconds that one part of several volumes takes, at each place.

    job      Job
    at       Spots
    volumes  list of Volume
    part     0 to 3, of PARTS
    returns  (of their bytes, of their calls), arrays [places, 4], a dimension
             each; if traffic is not to overlap, all in a row, on the first
    source   chapter 15
    """
    total = np.zeros((2, len(at.lies), 4))
    for v in volumes:
        for k, (many, each) in enumerate(
            ((v[4 + part], at.each), (v.calls[part], at.late))
        ):
            if many and beside(job):
                total[k] += many * each[v.axis, v.kind]
            elif many:
                total[k, :, 0] += many * each[v.axis, v.kind].max(axis=1)
    return total


class Grid(NamedTuple):
    """Traffic of layouts that differ in schedule and microbatches, by place.

    tokens   of all microbatches together, forward and backward, and besides
             of each one
    chunk    the same for every chunk of a stage but the first
    waits    as `tokens`, of what arithmetic waits for, and not in it: TP's, if
             `job.overlap` is "tp-waits"
    weights  of each microbatch, forward and backward
    once     besides in the last backward pass, and after it, for each model
             part that a stage has
    """

    tokens: list
    chunk: list
    waits: list
    weights: list
    once: list


def grid(job, at, of_tokens, of_weights):
    """The traffic of layouts that differ in schedule and microbatches only.

    job         Job
    at          Spots
    of_tokens   list of Volume, from `token_volumes`
    of_weights  list of Volume, from `weight_volumes`
    returns     Grid
    source      chapter 15
    """
    tokens = tokens_grid(job, at, of_tokens)
    return Grid(*tokens, *weights_grid(job, at, of_weights))


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


def weights_grid(job, at, volumes):
    """The part of a Grid that is the same for SP and all contexts.

    job      Job
    at       Spots
    volumes  list of Volume, from `weight_volumes`
    returns  (weights, once) of Grid
    source   chapter 15
    """
    moved = [sum(_seconds_of(job, at, volumes, part)) for part in range(4)]
    return moved[:2], moved[2:]


def grid_seconds(job, at, known, layout, m):
    """Seconds of a step, for each number of microbatches and at each place.

    job      Job
    at       Spots
    known    Grid
    layout   Arrangement; its microbatches and its place do not matter
    m        array of numbers of microbatches
    returns  array [microbatches, places]
    source   chapter 15
    """
    m, parts = m[:, None], 2 if layout.schedule == "dualpipe" else 1
    (f, b), t_hbm = at.alone
    more = layout.chunks - 1
    forward, backward = (
        moved / m[:, :, None] + waits
        for moved, waits in (
            on + more * chunk if more else on
            for on, chunk in zip(known.tokens, known.chunk, strict=True)
        )
    )
    late = known.weights[1] + parts * known.once[0]
    t_f = (forward + known.weights[0]).max(axis=2)
    t_b = (backward + known.weights[1]).max(axis=2)
    t_last = (backward + late).max(axis=2)
    join = np.add if job.overlap == "none" else np.maximum
    f, b = np.maximum(f / m, t_hbm), np.maximum(b / m, 2 * t_hbm)
    f, b, last = join(f, t_f), join(b, t_b), join(b, t_last)
    if job.overlap == "tp-waits":
        tp = [
            (on / m[:, :, None] + each).max(axis=2) for on, each in known.waits
        ]
        f, b, last = f + tp[0], b + tp[1], last + tp[1]
    update = parts * known.once[1].max(axis=1)
    return m * (f + b) + _idle_seconds(layout, f, b) + last - b + update


def _idle_seconds(layout, f, b):
    """Seconds that the slowest stage waits, in closed form.

    layout   Arrangement
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
    return (p - 1) * (f + b) / layout.chunks
