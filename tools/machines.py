"""Writes the tables and pictures of book/machines.md from shardlab.hw.

They stand in book/machines/, whence the page includes them.
"""

import html
import sys

from matplotlib import pyplot as plt

from shardlab import hw, plot
from tools import atomic
from tools.text import ROOT

FOLDER = ROOT / "book/machines"
NAMES = {
    "v4p": "TPU v4p",
    "v5e": "TPU v5e",
    "v5p": "TPU v5p",
    "v6e": "TPU v6e, Trillium",
    "tpu7x": "TPU7x, Ironwood",
    "a100": "A100",
    "h100": "H100",
    "h200": "H200",
    "b200": "B200",
    "gb200": "GB200 NVL72",
}
# What each figure is called in the table of sources, and in which unit.
FIGURES = {
    "flops": ("arithmetic, bf16", "TFLOP/s", 1e12),
    "flops_int8": ("arithmetic, int8", "TOP/s", 1e12),
    "flops_fp8": ("arithmetic, fp8", "TFLOP/s", 1e12),
    "flops_fp4": ("arithmetic, fp4", "TFLOP/s", 1e12),
    "hbm_bytes": ("memory", "GB", 1e9),
    "hbm_bw": ("memory, bandwidth", "TB/s", 1e12),
    "link_bw": ("one link, one direction", "GB/s", 1e9),
    "hop_latency": ("latency of a hop", "µs", 1e-6),
    "dcn_bw": ("out of the node or pod", "GB/s", 1e9),
    "host_bw": ("to its host's memory, each way", "GB/s", 1e9),
    "usable": ("memory that a program can have", "of what is printed", 1),
}
HEADS = (
    "chip",
    "bf16<br>TFLOP/s",
    "HBM<br>GB",
    "HBM<br>TB/s",
    "links<br>GB/s",
    "joined by",
    "chips<br>joined",
    "outside<br>GB/s",
    "FLOPs<br>a byte",
)


def number(value):
    """A figure with at most four digits, and no zeros behind the point."""
    return f"{float(f'{value:.4g}'):,.6f}".rstrip("0").rstrip(".")


def joined(chip):
    """What joins the chips, and how many."""
    if not chip.axes:
        return "switch", str(chip.node_size)
    most = f"{hw.reach(chip):,}"
    if hw.largest_slice(chip) < hw.reach(chip):
        most += f"<br>({hw.largest_slice(chip):,})"
    return f"{chip.axes}D torus", most


def chips_table():
    """A row for each chip: what a chapter needs of it."""
    lines = ["| " + " | ".join(HEADS) + " |"]
    lines.append("|---" + "|--:" * 4 + "|---" + "|--:" * 3 + "|")
    for chip in hw.CHIPS.values():
        kind, most = joined(chip)
        links = 2 * chip.axes or 1
        cells = [
            NAMES[chip.name],
            number(chip.flops / 1e12),
            number(chip.hbm_bytes / 1e9),
            number(chip.hbm_bw / 1e12),
            f"{links}&nbsp;×&nbsp;{number(chip.link_bw / 1e9)}",
            kind,
            most,
            number(chip.dcn_bw / 1e9),
            number(round(hw.hbm_intensity(chip))),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def sources_table():
    """A row for each figure of each chip: where it was read, and when."""
    lines = [
        "| chip | figure | value | document | date | as printed there |",
        "|---|---|--:|---|---|---|",
    ]
    for chip in hw.CHIPS.values():
        for name, value, document, date, printed in hw.figures(chip):
            told = _told(name, value)
            if told:
                cells = (NAMES[chip.name], *told, document, date, printed)
                lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _told(name, value):
    """A figure's name and its value with a unit; None for a rule."""
    if name in FIGURES:
        words, unit, scale = FIGURES[name]
        return words, f"{number(value / scale)} {unit}"
    if name == "node_size":
        return "chips of a host or switch", str(value)
    if name in ("pod", "slice_max"):
        words = {"pod": "whole pod", "slice_max": "largest slice"}[name]
        return words, " × ".join(map(str, value))
    return None


def _picture(axes, alt, caption):
    """A drawing as a part of a page, with what it shows in words."""
    figure = axes.figure
    drawn = plot.svg(figure)
    plt.close(figure)
    words = f'class="picture" role="img" aria-label="{html.escape(alt)}"'
    drawn = drawn.replace("<svg", f"<svg {words}", 1)
    return (
        f'<figure class="cell-figure">\n{drawn}\n'
        f"<figcaption>{caption}</figcaption>\n</figure>\n"
    )


def pictures():
    """Every picture of the page: its file and its text."""
    return {
        "tpu.html": _picture(
            plot.one_chip(hw.V5P),
            "A chip as a box: memory on the left, 96 GB, arithmetic on the "
            "right, 459 TFLOP/s, between them an arrow of 2.8 TB/s. Six links "
            "of 90 GB/s leave it to the right, one line to other pods to the "
            "left, 6.25 GB/s.",
            "A TPU v5p. Its memory feeds the arithmetic thirty times as fast "
            "as a link feeds the chip, and a link fourteen times as fast as "
            "the network outside the pod.",
        ),
        "gpu.html": _picture(
            plot.one_chip(hw.H100),
            "The same drawing of an H100: 80 GB, 3.35 TB/s, 990 TFLOP/s, one "
            "way of 450 GB/s into the switch, and 50 GB/s to other nodes.",
            "An H100. It has one way out, into a switch that leads to each "
            "of the seven others of its node.",
        ),
        "networks.html": _picture(
            plot.networks(),
            "Four chips in a line, four in a ring, sixteen in a torus of two "
            "axes, and eight around a switch.",
            "The four ways to wire chips. A line that is closed is a ring, a "
            "grid of rings is a torus, and around a switch every chip is as "
            "near as any other.",
        ),
        "slice.html": _picture(
            plot.slice_and_axes(),
            "A cube of 4 × 4 × 4 chips in four layers, and below it the same "
            "chips as a mesh of 16 by 4.",
            "A slice has axes of wires, a program has axes of a mesh. One "
            "axis of the mesh may run over two of the wires.",
        ),
        "pods.html": _picture(
            plot.pod_phases(),
            "Two pods of two hosts with four chips each. Links join chips in "
            "a pod, network cards join the pods, and three phases of an "
            "AllReduce are written where they run.",
            "Pods, hosts and the network between them, with the three phases "
            "of a sum over both. Chapter 10 counts them.",
        ),
    }


def files():
    """Every file of the folder, with its text."""
    return {
        "chips.md": chips_table(),
        "sources.md": sources_table(),
        **pictures(),
    }


def main():
    """The command line; returns the exit status."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        atomic.write(FOLDER / name, text)
    print("book/machines/: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
