"""`python -m shardlab.measured`: the planner's errors on published runs."""

import argparse
import sys

from shardlab.measured import errors, rows
from shardlab.plan.expected import stored
from shardlab.plan.search import evaluate

WHICH = {
    "bound": "ideal bound",
    "before": "chapter 16's forecast",
    "fitted": "fitted",
    "left_out": "table left out",
}


def _memory_lines():
    """Counted and measured memory, a line for each row that has a reading."""
    lines = []
    for row in rows():
        if row.bytes:
            ratio = evaluate(row.job, row.layout).peak / row.bytes
            lines.append(f"{row.table:34} {row.name:34} {ratio:6.2f}")
    return lines


def refusals():
    """Runs that ran, and the planner's verdict where it is not "fits"."""
    lines = []
    for row in rows():
        found = evaluate(row.job, row.layout)
        if row.ran and not found.fits:
            lines.append(f"{row.table:34} {row.name:34} {found.verdict}")
    return lines


def _table_lines():
    """The errors of each prediction, table by table."""
    lines = []
    for which, words in WHICH.items():
        lines += ["", f"{words:34} rows ratio  error  within 25%  rank"]
        for table, e in errors(which).items():
            rank = "" if e["rank"] is None else f"{e['rank']:5.2f}"
            within = f"{e['within']} of {e['rows']}"
            lines.append(
                f"{table:34} {e['rows']:4} {e['ratio']:5.2f} {e['error']:6.1%} "
                f"{within:>11} {rank:>5}"
            )
    return lines


def main(arguments=None):
    """Print the errors; with --fit, fit and store the speeds first.

    arguments  list of text; None: those of the command line
    returns    0
    source     page Predicted and measured
    """
    options = argparse.ArgumentParser("python -m shardlab.measured")
    options.add_argument("--fit", action="store_true", help="needs SciPy")
    if options.parse_args(arguments).fit:
        from shardlab.measured.fitting import store

        print(*store(), sep="\n")
        stored.cache_clear()
    told = stored()
    print(
        f"fitted {told['date']} to {told['rows']} runs; measured over expected"
    )
    print(f"seconds of nine in ten left-out rows: {told['band']}")
    for name, speed in told["speeds"].items():
        print(f"{name:17} {speed['value']:8g} {speed['unit']:20} ", end="")
        print(speed["means"])
    print("\n".join(_table_lines()))
    print("\nPeak memory, counted over measured:", *_memory_lines(), sep="\n")
    print("\nRan, and does not fit by our count:", *refusals(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
