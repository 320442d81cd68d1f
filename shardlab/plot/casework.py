"""Published runs: how chips were dealt, what fits, and what a step takes."""

from matplotlib.ticker import FixedLocator, NullLocator

from shardlab.plot.axes import INK, POINT, SOFT, canvas, new_axes, styled
from shardlab.plot.colours import colour, shade
from shardlab.plot.things import box, write

_AXES = {"TP": "Y", "PP": "Z", "EP": "Z", "CP": "Z", "DP": "X"}
_MOST = 16  # stages of a pipeline that are drawn
_TALL = 96  # pixels of a stage


@styled
def dealt_chips(rows):
    """Draw how many chips each mesh axis has, in doublings, a row for each run.

    rows     dict: name -> dict of a mesh axis, TP, PP, CP, EP or DP, -> chips
    returns  the axes drawn on; an axis of one chip has no length
    source   chapter 16
    """
    pitch, left = 30, 128
    unit = (686 - left) / max(map(_doublings, rows.values()))
    ax = canvas(690, pitch * len(rows) + 28)
    for n, (name, mesh) in enumerate(rows.items()):
        x, y = left, 24 + n * pitch
        write(ax, left - 10, y + 11, name, 12, "right")
        for axis, count in mesh.items():
            wide = _doublings({axis: count}) * unit
            if wide:
                words = f"{axis} {count}" if wide > 44 else count
                box(ax, x, y, wide, 22, _fill(axis), words, size=12)
            x += wide
    write(ax, left, 10, "each doubling of the chips has the same length", 11,
          "left", ink=SOFT)  # fmt: skip
    return ax


def _doublings(mesh):
    count = 1
    for chips in mesh.values():
        count *= chips
    return len(bin(count)) - 3 + count / 2 ** (len(bin(count)) - 3) - 1


def _fill(axis):
    return shade(_AXES[axis], 1)


@styled
def case_card(mesh, memory, room, seconds, chips):
    """Draw a run: its mesh, what a chip holds, and what a step takes.

    mesh     dict: a mesh axis, TP, PP, CP, EP or DP, -> its chips
    memory   dict: what lies on the fullest chip -> bytes
    room     bytes that a chip has
    seconds  of a step: (forecast if all traffic hides, forecast if none does,
             published); None where nothing was published
    chips    in words, such as "8,192 H100"
    returns  the axes drawn on
    source   chapter 16
    """
    ax = canvas(690, 208)
    words = [f"{axis} {count:,}" for axis, count in mesh.items() if count > 1]
    write(ax, 12, 14, chips, 13, "left", weight="bold")
    write(ax, 12, 34, " · ".join(words), 12, "left", ink=SOFT)
    _replicas(ax, mesh)
    _held(ax, memory, room)
    _lasted(ax, *seconds)
    return ax


def _replicas(ax, mesh):
    """One replica, stage by stage, on the sheets of the others."""
    stages, (axis, cells, copies, said) = mesh.get("PP", 1), _inside(mesh)
    shown = min(stages, _MOST)
    wide = 296 / shown if stages > 4 or axis == "DP" else 60
    x, y, full = 18, 66, shown * wide
    for n in (3, 2, 1) if copies > 1 else ():
        box(ax, x + 4 * n, y + 4 * n, full, _TALL, shade("X", 0),
            edge=shade("X", 3), z=1 - n / 10)  # fmt: skip
    for n in range(shown):
        _stage(ax, (x + n * wide, y, wide), axis, cells)
    write(ax, x, y + _TALL + 26, said, 12, "left")
    if stages > shown:
        write(ax, x + full, 54, f"{shown} of {stages} stages", 11, "right",
              ink=SOFT)  # fmt: skip


def _inside(mesh):
    """Squares of a stage: their axis, how many, copies of all, and words."""
    dp, ep = mesh.get("DP", 1), mesh.get("EP", 1)
    if ep > 1:
        said = f"{dp // ep} groups of {ep} GPUs hold all experts of a stage"
        return "EP", ep, dp // ep, said
    if mesh.get("TP", 1) > 1 or mesh.get("PP", 1) > 1:
        said = f"× {dp:,} replicas" if dp > 1 else "one replica"
        return "TP", mesh.get("TP", 1), dp, said
    return "DP", 128, 1, f"{dp:,} replicas, {dp // 128} in a square"


def _stage(ax, place, axis, cells):
    x, y, wide = place
    rows = min(cells, 16 if cells < 100 else 8)
    columns = -(-cells // rows)
    for n in range(cells):
        across, down = (wide - 2) / columns, (_TALL - 2) / rows
        at = x + 1 + n // rows * across, y + 1 + n % rows * down
        box(ax, *at, across, down, _fill(axis), edge=colour("paper"), line=0.8)
    box(ax, x, y, wide, _TALL, "none", edge=INK, line=1)


def _held(ax, memory, room):
    """Bytes on the fullest chip, and where its memory ends."""
    left, y, long = 380, 40, 296
    total = sum(memory.values())
    unit = long / (1.12 * max(total, room))
    write(ax, left, 14, "on the fullest chip, in GB", 12, "left")
    x = left
    for n, (what, size) in enumerate(memory.items()):
        wide = size * unit
        named = f"{what} {size / 1e9:.0f}"
        fits = 6.4 * len(named) < wide
        words = named if fits else ""
        box(ax, x, y, wide, 26, colour(f"memory-{min(n, 2) + 1}"), words,
            size=11)  # fmt: skip
        x += wide
    end = left + room * unit
    ax.plot([end, end], [y - 6, y + 32], color=INK, lw=2 * POINT)
    write(ax, end, y + 42, f"it has {room / 1e9:.0f}", 11, "middle")
    write(ax, left, y + 42, f"needs {total / 1e9:.0f}", 11, "left")


def _lasted(ax, hidden, exposed, published):
    """Seconds of a step: forecast from all hidden to nothing, and published."""
    left, y, long = 380, 132, 296
    unit = long / (1.12 * max(exposed, published or 0))
    write(ax, left, 112, "seconds of a step", 12, "left")
    box(ax, left, y, hidden * unit, 24, colour("arithmetic-2"))
    box(ax, left + hidden * unit, y, (exposed - hidden) * unit, 24,
        colour("network-2"))  # fmt: skip
    write(ax, left + 6, y + 12, f"forecast {_three(exposed)}", 11, "left")
    if published:
        box(ax, left, y + 32, published * unit, 24, colour("pod-1"))
        write(
            ax, left + 6, y + 44, f"published {_three(published)}", 11, "left"
        )


def _three(number):
    return f"{number:.3g}"


@styled
def paces(curves, ticks, high=None, **labels):
    """Draw curves over doublings, each named where it begins or ends.

    curves   dict: name -> (xs, ys, a colour of the palette); a name that
             begins with "<" stands at the first point
    ticks    list of x at which an axis has a mark, or dict of x -> its words
    high     end of the y axis; None: as high as the curves
    labels   xlabel, ylabel
    returns  the axes drawn on
    source   chapter 16
    """
    ax = new_axes(None, (6.9, 3.8))
    far = max(max(xs) for xs, _, _ in curves.values())
    for name, (xs, ys, hue) in curves.items():
        ax.plot(xs, ys, "o-", color=colour(hue), ms=5)
        at, words = (0, name[1:]) if name[0] == "<" else (-1, name)
        down = -3 if at == 0 or max(xs) == far else -16
        apart = {"xytext": (9 * POINT, down), "textcoords": "offset points"}
        ax.annotate(words, (xs[at], ys[at]), **apart, fontsize=12 * POINT)
    ax.set(xscale="log", xlim=(min(ticks) * 0.8, far * 2.4), ylim=(0, high))
    ax.set(**labels)
    names = list(ticks.values()) if isinstance(ticks, dict) else list(ticks)
    ax.set_xticks(list(ticks), names)
    ax.minorticks_off()
    return ax


@styled
def forecasts(points, share=1 / 3):
    """Draw forecast seconds over published ones, with the diagonal and a band.

    points   dict: name -> (published, forecast, forecast if all traffic hides,
             whether something important had to be assumed)
    share    half of the width of the band, as part of the published time
    returns  the axes drawn on
    source   chapter 16
    """
    ax = new_axes(None, (6.9, 6.4))
    low, high, marks = 1.4, 160, [2, 5, 10, 20, 50, 100]
    ax.set(xscale="log", yscale="log", xlim=(1.4, high), ylim=(1.2, high))
    ax.set(xlabel="published, seconds of a step", ylabel="forecast, seconds")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator(marks))
        axis.set_minor_locator(NullLocator())
        axis.set_ticklabels([str(mark) for mark in marks])
    ends = [low, high]
    below, above = ([x * (1 + by) for x in ends] for by in (-share, share))
    ax.fill_between(ends, below, above, color=colour("surface"), zorder=0)
    for line, style in ((below, ":"), (ends, "-"), (above, ":")):
        ax.plot(ends, line, style, color=SOFT, lw=1, zorder=1)
    for x, y, hidden, assumed in points.values():
        ax.plot([x, x], [hidden, y], color=colour("network-3"), lw=1.6)
        fill = colour("paper") if assumed else colour("arithmetic")
        ax.plot(x, y, "o", ms=7, mfc=fill, mec=colour("arithmetic"), mew=1.5)
    _name(ax, points)
    return ax


_OFFSETS = [(10, 0), (12, 13), (12, -13), (16, 26), (16, -26), (40, 44)]
_OFFSETS += [(40, -44), (60, 70), (60, -70)]
_BESIDE = [(side * dx, dy) for dx, dy in _OFFSETS for side in (1, -1)]


def _name(ax, points):
    """Write names beside points, each where it covers nothing."""
    ax.figure.canvas.draw()
    at = {name: ax.transData.transform(p[:2]) for name, p in points.items()}
    scale = ax.figure.dpi / 96
    taken = [(x - 6, x + 6, y - 6, y + 6) for x, y in at.values()]
    for name, (x, y) in at.items():
        wide = 6.6 * len(name)
        for dx, dy in _BESIDE:
            left = dx if dx > 0 else dx - wide
            edge = (x + left * scale, x + (left + wide) * scale)
            spot = (*edge, y + (dy - 8) * scale, y + (dy + 8) * scale)
            if not any(_meet(spot, other) for other in taken):
                break
        taken.append(spot)
        look = {"xytext": (dx * POINT, dy * POINT), "va": "center"}
        look |= {"textcoords": "offset points", "fontsize": 12 * POINT}
        if abs(dy) > 20:
            look["arrowprops"] = {"arrowstyle": "-", "color": SOFT, "lw": 0.6}
        ha = "left" if dx > 0 else "right"
        ax.annotate(name, points[name][:2], ha=ha, **look)


def _meet(a, b):
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
