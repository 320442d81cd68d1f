"""python -m shardlab.processes --ranks 2 --devices 4 train.py --its-own ..."""

import argparse
import os
import sys
from pathlib import Path

from shardlab.processes.launch import Failed, TimeOut, launch
from shardlab.processes.rank import run_script


def _options(words):
    """What was asked for on the command line.

    words    list of str
    returns  argparse.Namespace
    raises   SystemExit with a message for what it does not know
    source   chapter 18
    """
    parser = argparse.ArgumentParser(
        prog="python -m shardlab.processes",
        description="Run a program on several processes. Without --ranks this "
        "process is one of a run that srun, kubectl or a TPU pod has started.",
    )
    parser.add_argument("--ranks", type=int, help="processes to start here")
    parser.add_argument(
        "--devices", type=int, default=0, help="simulated chips of each"
    )
    parser.add_argument(
        "--seconds", type=float, default=86_400.0, help="for all of it"
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=10.0,
        help="seconds from the first failure until the others are stopped",
    )
    parser.add_argument("program", type=Path, help="a file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


def main(words=None):
    """Run what the command line asks for.

    words    list of str; None: those of the command line
    returns  exit code: 0; that of the rank that failed, 128 and the number of
             a signal; 124 when time was up; 2 for what cannot be started
    source   chapter 18
    """
    asked = _options(words)
    if asked.ranks is None:
        if asked.devices:
            os.environ["JAX_NUM_CPU_DEVICES"] = str(asked.devices)
        run_script(asked.program, asked.arguments)
        return 0
    try:
        launch(
            asked.program,
            asked.ranks,
            asked.devices,
            asked.arguments,
            seconds=asked.seconds,
            grace=asked.grace,
            echo=lambda line: print(line, flush=True),
        )
    except Failed as error:
        print(error, file=sys.stderr)
        code = error.run.codes[error.rank]
        return 128 - code if code < 0 else code
    except TimeOut as error:
        print(error, file=sys.stderr)
        return 124
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
