"""`python -m shardlab.count`: every strategy by formula and by count."""

import argparse
import sys

from shardlab import agreement

SIZES = {
    "B": (2**20, "tokens of the step"),
    "D": (8192, "width of the model"),
    "F": (28_672, "hidden width of the layer"),
    "X": (512, "chips of the data axis"),
    "Y": (8, "chips of the tensor-parallel axis"),
}


def main(arguments=None):
    """Print the table; with bad input, one line and exit code 2."""
    parser = argparse.ArgumentParser(
        "python -m shardlab.count", description=__doc__
    )
    for name, (value, what) in SIZES.items():
        parser.add_argument(
            f"--{name}", type=int, default=value, help=f"{what} ({value:,})"
        )
    sizes = vars(parser.parse_args(arguments))
    try:
        rows = agreement.rows(**sizes)
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    said = ", ".join(f"{name} = {value:,}" for name, value in sizes.items())
    print(f"One layer of two matmuls in bf16, {said}\n")
    print(agreement.table(rows))


if __name__ == "__main__":
    sys.exit(main())
