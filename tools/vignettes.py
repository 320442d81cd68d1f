"""Small drawings, one for each chapter, in the colours of the mesh axes."""

WIDTH, HEIGHT = 200, 112


def _box(x, y, width, height, fill="none", line=True):
    """One rectangle."""
    stroke = ' class="edge"' if line else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'style="fill:{fill}"{stroke}/>'
    )


def _hue(axis, step):
    """A step of an axis, for CSS; step 0 is the axis's own colour."""
    return f"var(--axis-{axis}-{step})" if step else f"var(--axis-{axis})"


def _path(points, stroke="var(--ink)", width=2):
    """A line through points."""
    places = " ".join(f"{x:g},{y:g}" for x, y in points)
    return (
        f'<polyline points="{places}" style="fill:none;stroke:{stroke};'
        f'stroke-width:{width}"/>'
    )


def sharded_arrays():
    """Four devices, each with its quarter of a matrix."""
    parts = []
    for n in range(4):
        x, y = 56 + 48 * (n % 2), 10 + 48 * (n // 2)
        parts.append(_box(x, y, 40, 40, "var(--paper)"))
        hue = _hue("xy"[n % 2], 2 + n // 2)
        parts.append(_box(x + 20 * (n % 2), y + 20 * (n // 2), 20, 20, hue))
    return parts


def collectives():
    """An AllGather: each chip has one block, then all of them."""
    parts = []
    for n in range(4):
        for side, x in enumerate((14, 116)):
            parts.append(_box(x + 18 * n, 22, 14, 68, "var(--paper)"))
            for block in range(4):
                if side or block == n:
                    hue = _hue("x", block + 1)
                    parts.append(_box(x + 18 * n, 22 + 17 * block, 14, 17, hue))
    return [
        *parts,
        _path([(91, 56), (107, 56)]),
        _path([(102, 51), (108, 56), (102, 61)]),
    ]


def cost_of_a_collective():
    """A ring of eight chips whose links carry equal loads."""
    from math import cos, pi, sin

    places = [
        (100 + 74 * cos(2 * pi * n / 8), 56 + 42 * sin(2 * pi * n / 8))
        for n in range(8)
    ]
    ring = _path([*places, places[0]], "var(--network)", 4)
    return [ring] + [
        _box(x - 9, y - 9, 18, 18, _hue("x", 1 + n % 4))
        for n, (x, y) in enumerate(places)
    ]


def sharded_matmuls():
    """Rows of A and columns of B meet in blocks of C."""
    parts = []
    for n in range(4):
        parts.append(_box(10, 32 + 14 * n, 44, 14, _hue("x", n + 1)))
    for n in range(2):
        parts.append(_box(72 + 22 * n, 32, 22, 56, _hue("y", n + 2)))
    for n in range(8):
        x, y = 138 + 26 * (n % 2), 32 + 14 * (n // 2)
        parts.append(_box(x, y, 26, 14, _hue("x", n // 2 + 1)))
        parts.append(_box(x, y, 7, 14, _hue("y", n % 2 + 2)))
    return [
        *parts,
        _path([(122, 56), (132, 56)]),
        _path([(122, 62), (132, 62)]),
    ]


def one_chip():
    """A roofline."""
    axes = _path([(28, 10), (28, 98), (188, 98)], "var(--line)", 1.5)
    roof = _path([(34, 92), (98, 30), (184, 30)], "var(--arithmetic)", 3)
    return [axes, roof, _path([(98, 98), (98, 30)], "var(--line)", 1)]


def data_parallelism():
    """Four chips, each with its own tokens and all of the weights."""
    parts = []
    for n in range(4):
        x = 16 + 44 * n
        parts.append(_box(x, 12, 36, 40, "var(--paper)"))
        parts.append(_box(x, 12 + 10 * n, 36, 10, _hue("x", n + 1)))
        parts.append(_box(x, 60, 36, 24, "var(--pod-2)"))
    return [*parts, _path([(34, 96), (166, 96)], "var(--network)", 4)]


def fsdp():
    """What a chip holds under ZeRO's stages: shorter and shorter bars."""
    parts = []
    for n, shares in enumerate(
        ((24, 24, 112), (24, 24, 14), (24, 6, 14), (6, 6, 14))
    ):
        x = 20
        for share, shade in zip(shares, (4, 2, 1), strict=True):
            parts.append(
                _box(x, 14 + 22 * n, share, 15, f"var(--memory-{shade})")
            )
            x += share
    return parts


def tensor_parallelism():
    """W_in cut by columns, W_out by rows."""
    columns = [
        _box(20 + 18 * n, 28, 18, 54, _hue("y", n + 1)) for n in range(4)
    ]
    rows = [_box(116, 19 + 18 * n, 54, 18, _hue("y", n + 1)) for n in range(4)]
    return [*columns, *rows]


def fsdp_and_tp():
    """One matrix, cut by X and by Y."""
    parts = []
    for n in range(8):
        x, y = 52 + 48 * (n % 2), 8 + 24 * (n // 2)
        parts.append(_box(x, y, 48, 24, "var(--paper)"))
        parts.append(_box(x, y, 12, 24, _hue("x", n // 2 + 1)))
        parts.append(_box(x + 12, y, 36, 7, _hue("y", 2 + n % 2)))
    return parts


def across_pods():
    """Two pods of chips and a thin wire between them."""
    wires = [
        _path([(86, y), (114, y)], "var(--network)", 1.5) for y in (34, 56, 78)
    ]
    parts = []
    for pod in range(2):
        parts.append(_box(14 + 100 * pod, 14, 72, 84, "var(--surface)"))
        for n in range(9):
            x, y = 24 + 100 * pod + 19 * (n % 3), 26 + 22 * (n // 3)
            parts.append(_box(x, y, 14, 16, _hue("x", 1 + n % 3)))
    return [*wires, *parts]


def pipelines():
    """One forward, one backward: a staircase and its bubble."""
    parts = []
    for stage in range(4):
        y = 14 + 22 * stage
        for n in range(4 - stage):
            parts.append(
                _box(14 + 13 * (stage + n), y, 13, 18, "var(--forward)")
            )
        for n in range(3):
            x = 14 + 13 * (4 + (3 - stage)) + 26 * n - (3 - stage) * 0
            parts.append(_box(x, y, 26, 18, "var(--backward)"))
    return parts


def activation_memory():
    """Memory over a step: a mountain, and the spikes that are left of it."""
    parts = [_box(14, 82, 172, 14, "var(--memory-2)")]
    for n in range(12):
        tall = 8 * (n + 1) if n < 6 else 8 * (12 - n)
        parts.append(_box(16 + 14 * n, 82 - tall, 14, tall, "var(--memory-1)"))
    for n in range(6):
        x, low = 100 + 14 * n, 3 * (6 - n)
        parts.append(_box(x, 82 - low - 12, 6, low + 12, "var(--memory-4)"))
    return parts


def context_parallelism():
    """The scores of a causal mask, its rows dealt to four chips in zig-zag."""
    parts = [_box(56, 12, 88, 88, "var(--paper)")]
    for row, chip in enumerate((0, 1, 2, 3, 3, 2, 1, 0)):
        wide, y = 11 * (row + 1), 12 + 11 * row
        parts.append(_box(56, y, wide, 11, _hue("z", chip + 1)))
    return parts


def expert_parallelism():
    """Tokens of four chips, and the experts that two of them visit."""
    parts = []
    for n in range(4):
        x = 22 + 44 * n
        parts.append(_box(x, 12, 24, 20, _hue("z", n + 1)))
        parts.append(_box(x - 4, 76, 15, 24, _hue("z", n + 1)))
        parts.append(_box(x + 13, 76, 15, 24, _hue("z", n + 1)))
    for start, ends in ((0, (0, 3)), (2, (1, 2))):
        for end in ends:
            line = [(34 + 44 * start, 32), (26 + 44 * end, 76)]
            parts.append(_path(line))
    return parts


DRAWINGS = {
    "01": sharded_arrays,
    "02": collectives,
    "03": cost_of_a_collective,
    "04": sharded_matmuls,
    "05": one_chip,
    "06": data_parallelism,
    "07": fsdp,
    "08": tensor_parallelism,
    "09": fsdp_and_tp,
    "10": across_pods,
    "11": pipelines,
    "12": activation_memory,
    "13": context_parallelism,
    "14": expert_parallelism,
}


def svg(number):
    """The drawing of a chapter as SVG; "" for one that has none.

    number   of the chapter, in two digits
    returns  str; it says nothing to who listens, for the title stands below
    """
    if number not in DRAWINGS:
        return ""
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
        f"{''.join(DRAWINGS[number]())}</svg>"
    )
