"""Writes the tables and the picture of book/predicted.md: `shardlab.measured`.

They stand in book/predicted/, whence the page includes them.
"""

import html
import sys

from matplotlib import pyplot as plt

from shardlab import measured, plot
from shardlab.plan import evaluate
from shardlab.plan.expected import stored
from shardlab.plot import colours
from tools import atomic
from tools.text import ROOT

FOLDER = ROOT / "book/predicted"
UNITS = {"seconds": ("µs", 1e6)}


def errors_table():
    """A row for each table: the error before, fitted and left out."""
    heads = ("table", "runs", "bound", "forecast", "fitted", "left out")
    heads += ("within 25%", "order before", "order")
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|--:" * 8 + "|"]
    which = ("bound", "before", "fitted", "left_out")
    found = [measured.errors(name) for name in which]
    for table in found[0]:
        rows = [errors[table] for errors in found]
        last = rows[-1]
        ranks = [
            "" if row["rank"] is None else f"{row['rank']:.2f}"
            for row in (rows[1], last)
        ]
        cells = [table, str(last["rows"])]
        cells += [f"{row['error']:.0%}" for row in rows]
        cells += [f"{last['within']} of {last['rows']}", *ranks]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def speeds_table():
    """A row for each fitted speed, with its value, unit and meaning."""
    lines = ["| speed | value | unit | what it says |", "|---|--:|---|---|"]
    for name, speed in stored()["speeds"].items():
        unit, scale = UNITS.get(speed["unit"], (speed["unit"], 1))
        value = f"{scale * speed['value']:.2g}"
        lines.append(f"| `{name}` | {value} | {unit} | {speed['means']} |")
    return "\n".join(lines) + "\n"


def memory_table():
    """A row for each run whose peak memory was printed."""
    lines = ["| run | counted GB | measured GB | ratio |", "|---|--:|--:|--:|"]
    for row in measured.rows():
        if row.bytes:
            peak = evaluate(row.job, row.layout).peak
            cells = f"{peak / 1e9:.0f} | {row.bytes / 1e9:.0f}"
            ratio = f"{peak / row.bytes:.2f}"
            lines.append(f"| torchtitan {row.name} | {cells} | {ratio} |")
    return "\n".join(lines) + "\n"


def sources_table():
    """A row for each table of runs: where and when it was read."""
    lines = ["| table | source | date | read |", "|---|---|---|---|"]
    for table, told in measured.tables().items():
        cells = table, told["source"], told["date"], told["read"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def rows_table():
    """A row for each timed run: measured, expected, left out, bound."""
    lines = [
        "| table | run | measured s | left out s | fitted s | bound s |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for row in measured.outcomes():
        keys = "measured", "left_out", "fitted", "bound"
        cells = [row["table"], row["name"], *(f"{row[k]:.3g}" for k in keys)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _axes():
    """All rows by table: expected over measured, and the old forecast."""
    groups = {}
    for row in measured.outcomes():
        groups.setdefault(row["table"], []).append(row)
    ax = plot.new_axes(None, (6.4, 4.6))
    ax.axvspan(0.75, 1.25, color=colours.colour("grid"), lw=0)
    ax.axvline(1, ls=":", color=colours.colour("ink"))
    old, new = colours.colour("ink"), colours.colour("axis-x")
    for y, rows in enumerate(groups.values()):
        for key, up, ink, mark in (
            ("before", 0.16, old, "|"),
            ("left_out", -0.16, new, "o"),
        ):
            x = [round(row[key] / row["measured"], 3) for row in rows]
            ax.plot(x, [y + up] * len(x), mark, color=ink, ms=5, alpha=0.6)
    for x, words, ink in ((0.3, "chapter 16", old), (1.3, "expected", new)):
        ax.text(x, -0.8, words, color=ink, fontsize=12, ha="center")
    ax.set(xlim=(0.1, 1.6), ylim=(len(groups) - 0.5, -1.2))
    ax.set(xlabel="predicted over measured seconds of a step")
    ax.set_yticks(range(len(groups)), groups)
    ax.tick_params(axis="y", labelsize=11)
    return ax


def picture():
    """The picture of all rows, as a part of the page."""
    figure = _axes().figure
    drawn = plot.svg(figure)
    plt.close(figure)
    alt = (
        "Eleven rows of dots, one for each table of published runs. Dots lie "
        "around 1, nearly all of them inside a band from 0.75 to 1.25; grey "
        "strokes, the older forecast, lie to the left, many below 0.75."
    )
    words = f'class="picture" role="img" aria-label="{html.escape(alt)}"'
    drawn = drawn.replace("<svg", f"<svg {words}", 1)
    caption = (
        "The expected time of a step is near the measured one in tables that "
        "were left out of the fit. Each dot is a run; a grey stroke is what "
        "chapter 16's forecast says of it. The band is 25 percent to either "
        "side."
    )
    return (
        f'<figure class="cell-figure">\n{drawn}\n'
        f"<figcaption>{caption}</figcaption>\n</figure>\n"
    )


def files():
    """Every file of the folder, with its text."""
    return {
        "errors.md": errors_table(),
        "memory.md": memory_table(),
        "rows.md": rows_table(),
        "runs.html": picture(),
        "sources.md": sources_table(),
        "speeds.md": speeds_table(),
    }


def main():
    """The command line; returns the exit status."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        atomic.write(FOLDER / name, text)
    print("book/predicted/: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
