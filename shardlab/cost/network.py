"""Seconds that traffic takes on a chip's own network, and outside it.

A mesh axis lies on `n_axes` axes of a chip's network, all of them rings or all
of them lines; any real number, since mesh axes can share an axis of the
network. No axis reaches further than one node of GPUs or one pod of TPUs,
unless `inside` says how many of its chips share one: then the rest of the way
goes over the data-centre network, on which every chip has its own port of
`dcn_bw`, and the slower of the two parts counts. Hops take no time here.
"""

from typing import NamedTuple

from shardlab.arguments import (
    amount,
    at_least_one,
    flag,
    how_many,
    size,
    takes,
)
from shardlab.hw import Chip, axis_bw, reach, ring_directions

__all__ = [
    "Way",
    "bandwidth",
    "exchanged_in",
    "has_directions",
    "moved_in",
    "of_each",
    "share_axes",
    "t_comm",
    "t_exchange",
    "t_moves",
    "way",
    "within_reach",
]


class Way(NamedTuple):
    """How one mesh axis lies on the network.

    X       chips of the axis; None, not known and many
    inside  how many of them share a node or a pod
    W       bytes/s of a chip along the axis inside
    port    bytes/s of a chip outside
    """

    X: float | None
    inside: float | None
    W: float
    port: float

    @property
    def leaves(self):
        """Whether the axis leaves its node or pod."""
        return self.inside is not None and self.inside != self.X


@takes(volume=amount)
def t_comm(volume, chip, n_axes=1, X=None, wrap=True, inside=None):
    """Seconds to move a volume over a chip's own network.

    volume   bytes, as the field's texts count
    chip     Chip
    n_axes   axes of the network under this mesh axis, the M_X or M_Y of texts
    X        chips of the mesh axis: the exact (X - 1) / X of the volume; None:
             the limit of many chips, which texts quote
    wrap     True: rings; False: lines, with half the bandwidth
    inside   chips of the mesh axis in one node or pod; None: all of them
    returns  seconds; outside, `inside` chips gather one share each
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5; part 12 beyond the node
    """
    lies = way(chip, n_axes=n_axes, X=X, wrap=wrap, inside=inside)
    return moved_in(volume, lies, exact=X is not None)


def moved_in(volume, way, exact=False):
    """Seconds to gather, scatter or send a volume along one way.

    volume   bytes, as the field's texts count
    way      Way
    exact    True: the factor (X - 1) / X of rings; False: its limit, 1
    returns  seconds; inside and outside run side by side, the longer counts
    source   scaling-book parts 5 and 12
    """
    V, n = float(volume), way.inside
    if not way.leaves:
        return (1 - 1 / way.X if exact else 1) * V / way.W
    near = 0 if n == 1 else (1 - 1 / n if exact else 1) * V / way.W
    far = (1 - n / way.X if exact else 1) * V / (n * way.port)
    return max(near, far)


@takes(V=amount)
def t_exchange(V, X, chip, n_axes=1, wrap=True, inside=None):
    """Seconds of an AllToAll over a chip's own network.

    V        bytes of the whole array; each chip holds V / X
    X        chips of the mesh axis
    chip     Chip
    n_axes   axes of the network under it, equally long
    wrap     True: rings; False: lines, with half the bandwidth
    inside   chips of the mesh axis in one node or pod; None: all of them
    returns  seconds; V / (4 W) on one ring of an even number X of chips, and
             1 - 1 / X^2 of that if X is odd
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3, AllToAll; part 12 for the switch
    """
    return exchanged_in(V, X, chip, n_axes, wrap, inside)


def _fill_the_axes(X, n_axes, inside):
    """ValueError if fewer chips share the axes than one pair on each needs."""
    n = X if inside is None else inside
    if n > 1 and n < 2**n_axes:
        name = "X" if inside is None else "inside"
        raise ValueError(
            f"n_axes must be at most {n.bit_length() - 1} for {name} = {n}, "
            f"for each axis has two chips or more; got {n_axes}"
        )


@takes(X=how_many, n_axes=how_many, chip=Chip)
def exchanged_in(V, X, chip, n_axes=1, wrap=True, inside=None):
    """Seconds of an AllToAll: of what stays in a node, or of what leaves it.

    V, X, chip, n_axes, wrap, inside  as in `t_exchange`
    returns  seconds; both run side by side, the longer counts
    raises   ValueError that names the argument and what was expected
    source   scaling-book parts 3 and 12
    """
    lies = way(chip, n_axes, X, wrap, inside)
    _fill_the_axes(X, n_axes, inside)
    n = lies.inside or X
    stays = V * (n / X) ** 2
    leaves = V / X * (1 - n / X)
    return max(_exchanged(stays, n, lies, n_axes, chip), leaves / lies.port)


def _exchanged(V, n, way, n_axes, chip):
    """Seconds of an AllToAll of V bytes among n chips of a node or a pod."""
    if n == 1:
        return 0.0
    if not chip.axes:
        return V * (n - 1) / n**2 / way.W
    # The longest axis binds: all chips send across its middle.
    side, W = n ** (1 / n_axes), way.W / n_axes
    return V / 4 * side / n / W * (1 - _middle(n, n_axes))


def _middle(n, n_axes):
    """What an AllToAll saves on axes of odd length, whose middle is a chip."""
    side = round(n ** (1 / n_axes))
    return 1 / side**2 if side % 2 and side**n_axes == n else 0


# ---- which way an axis lies --------------------------------------------------


def way(chip, n_axes=1, X=None, wrap=True, inside=None, names=("n_axes", "X")):
    """The Way of one mesh axis, if the network has it.

    chip     Chip
    n_axes, X, wrap, inside  as in `t_comm`
    names    what the caller calls n_axes and X, for errors
    returns  Way
    raises   ValueError that names the argument and what was expected
    source   scaling-book parts 5 and 12
    """
    W = bandwidth(chip, n_axes, wrap, names[0])
    X = X if X is None else at_least_one(names[1], X)
    if inside is not None:
        _refuse_crowd(inside, X, names[1])
    within_reach(chip, **{names[1]: X if inside is None else inside})
    return Way(X, inside, W, chip.dcn_bw)


def bandwidth(chip, n_axes=1, wrap=True, name="n_axes"):
    """Bytes/s of a chip along all axes of the network under a mesh axis.

    chip     Chip
    n_axes   axes of the network, a real number
    wrap     True: rings; False: lines
    name     what the caller calls n_axes, for errors
    returns  bytes/s, n_axes W
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 5
    """
    W, has = axis_bw(chip, wrap), max(chip.axes, 1)
    n_axes = size(name, n_axes)
    if n_axes > has:
        raise ValueError(
            f"{name} of a {chip.name} must be at most {has}, got {n_axes!r}"
        )
    return n_axes * W


def within_reach(chip, **chips):
    """Nothing, if the chips of these mesh axes together share a node or pod.

    chip     Chip
    chips    such as X=X, Y=Y: chips of each axis that are inside; None, unknown
    raises   ValueError that names the axes, the node or pod and its size
    source   scaling-book parts 2 and 12
    """
    more, N = {}, 1
    for name, n in chips.items():
        if n is not None and n > 1:
            more[name], N = n, N * n
    if reach(chip) < N:
        where = "pod" if chip.axes else "node"
        raise ValueError(
            f"{' '.join(more)} must be at most {reach(chip)}, the chips of a "
            f"{chip.name}'s {where}, got {' x '.join(map(repr, more.values()))}"
            f"; inside= says how many share a {where} where an axis leaves it"
        )


def _refuse_crowd(inside, X, name):
    if X is None:
        at_least_one("inside", inside)
    elif at_least_one("inside", inside) > X:
        raise ValueError(
            f"inside must be at most {name} = {X!r}, got {inside!r}"
        )


def of_each(name, value, single=(True, False)):
    """The values of an argument for the axes X and Y.

    name     of the argument
    value    a pair; or one value, which stands for both
    single   values that may stand for both
    returns  tuple of two
    raises   ValueError that names the argument and what was expected
    source   chapter 9
    """
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return tuple(value)
    if any(value is one for one in single):
        return value, value
    choices = ", ".join(map(repr, single))
    raise ValueError(
        f"{name} must be one of {choices}, or a pair for X and Y; got {value!r}"
    )


def _insides(inside, X, Y):
    """`inside` as a pair; one number is of the axis that has chips."""
    if not (inside is None or isinstance(inside, (tuple, list))):
        if X == 1:
            return None, inside
        if Y == 1:
            return inside, None
    return of_each("inside", inside, (None,))


@takes(overlap=flag, exact=flag)
def t_moves(
    moved,
    chip,
    X,
    Y,
    M_X=1,
    M_Y=1,
    *,
    overlap=True,
    exact=False,
    wrap=True,
    inside=None,
):
    """Seconds to move what a layer moves over its mesh axes, part by part.

    moved      {"X": Step, "Y": Step} in bytes, from `layer_volume`
    chip, X, Y, M_X, M_Y  as in `t_layer`
    overlap    True: traffic over X runs beside traffic over Y, and the longer
               counts; False: one after the other
    exact      True: the factor (X - 1) / X of rings; False: its limit, 1
    wrap, inside  as in `_ways`
    returns    list of seconds: forward, backward, update
    raises     ValueError that names the argument and what was expected
    source     scaling-book part 5
    """
    both = max if overlap else sum
    over_X, over_Y = _ways(chip, X, Y, M_X, M_Y, wrap, inside, overlap)
    t_X = [moved_in(part, over_X, exact) for part in moved["X"]]
    t_Y = [moved_in(part, over_Y, exact) for part in moved["Y"]]
    return [both(pair) for pair in zip(t_X, t_Y, strict=True)]


def _ways(chip, X, Y, M_X=1, M_Y=1, wrap=True, inside=None, overlap=True):
    """The ways of the axes X and Y, if they fit on the network together.

    chip, X, Y, M_X, M_Y  as in `t_layer`
    wrap     True: rings; False: lines; or a pair for X and Y
    inside   chips of X and of Y in one node or pod, a pair; one number where
             the other axis has one chip; None, all of them
    overlap  True: both axes are in use at the same time, and share the axes of
             the network; False: each may use all of them, in its turn
    returns  two Ways
    raises   ValueError that names the argument and what was expected
    source   scaling-book parts 5 and 12
    """
    wraps, insides = of_each("wrap", wrap), _insides(inside, X, Y)
    names, chips = ("X", "Y"), {}
    found = []
    for name, n, M, ring, near in zip(
        names, (X, Y), (M_X, M_Y), wraps, insides, strict=True
    ):
        found.append(way(chip, M, n, ring, near, (f"M_{name}", name)))
        chips[name] = n if near is None else near
    within_reach(chip, **chips)
    if overlap and all(n > 1 for n in chips.values()):
        share_axes(chip, M_X, M_Y)
    return found


def share_axes(chip, M_X, M_Y):
    """Nothing, if the network has axes for both mesh axes at the same time.

    chip      Chip
    M_X, M_Y  axes of the network under each mesh axis
    raises    ValueError that names both, the most that they may be together
    source    scaling-book part 5, mixed FSDP and tensor parallelism
    """
    bandwidth(chip, M_X, name="M_X")
    bandwidth(chip, M_Y, name="M_Y")
    bandwidth(chip, size("M_X", M_X) + size("M_Y", M_Y), name="M_X + M_Y")


def has_directions(chip, directions):
    """Nothing, if rings on a chip's network can be used in so many directions.

    chip        Chip
    directions  1 or 2
    raises      ValueError that names the argument and the chip
    source      scaling-book parts 2 and 12
    """
    if directions > ring_directions(chip):
        raise ValueError(
            f"directions must be 1 on the switch of a {chip.name}, got 2"
        )
