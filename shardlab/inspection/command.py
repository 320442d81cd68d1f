"""The command line of `shardlab.inspection`."""

import argparse
import importlib
import importlib.util
import json
import sys
from dataclasses import asdict
from pathlib import Path

import jax

from shardlab import hw
from shardlab.inspection.advice import advise
from shardlab.inspection.comparing import changes, compared_page, comparison
from shardlab.inspection.machines import forecast
from shardlab.inspection.step import LEVELS, inspect_step
from shardlab.inspection.words import page, table

__all__ = ["main"]

EXPLAINED = """
FUNCTION takes no arguments. It returns the step and a tuple of the step's
arguments: arrays, or jax.ShapeDtypeStruct with the sharding that they will
have, so that nothing of their size is ever made. For example

    def case():
        mesh = jax.make_mesh((8,), ("X",), axis_types=(AxisType.Auto,))
        lies = NamedSharding(mesh, P("X"))
        W = jax.ShapeDtypeStruct((8192, 8192), jnp.bfloat16, sharding=lies)
        return my_step, (W, ...)

MODULE is the name of a module, or the path of a file that ends in .py.
"""


def main(words=None):
    """Count the step that the command line names; returns the exit status."""
    options = _parser().parse_args(words)
    try:
        chip = options.machine and hw.chip(options.machine)
        f, args = _case(options.step, options.devices)
        report = inspect_step(f, *args, level=options.level)
        on = chip and forecast(report, chip)
        before = options.against and inspect_step(
            *_step(options.against, options.devices), level=options.level
        )
    except ValueError as error:
        print(f"shardlab.count: {error}", file=sys.stderr)
        return 2
    if options.json:
        data = _as_data(report, on)
        if before:
            data["changes"] = changes(before, report)
        print(json.dumps(data, indent=1))
    elif before:
        print((compared_page if options.html else comparison)(before, report))
    else:
        print((page if options.html else table)(report, on))
    return 0


def _step(named, devices):
    """The step of MODULE:FUNCTION, followed by its arguments."""
    f, args = _case(named, devices)
    return f, *args


def _parser():
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m shardlab.count",
        description="What a training step moves, multiplies and holds.",
        epilog=EXPLAINED,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("step", metavar="MODULE:FUNCTION")
    made.add_argument(
        "--devices",
        type=int,
        default=8,
        help="simulated devices that the module finds (default: 8)",
    )
    made.add_argument("--machine", help="a chip of hw, such as v5p or h100")
    made.add_argument("--level", choices=LEVELS, help="ask only there")
    made.add_argument(
        "--against",
        metavar="MODULE:FUNCTION",
        help="compare with this step, which was there before",
    )
    way = made.add_mutually_exclusive_group()
    way.add_argument("--json", action="store_true", help="as data")
    way.add_argument("--html", action="store_true", help="as a page of HTML")
    return made


def _case(named, devices):
    """The step and its arguments that MODULE:FUNCTION returns."""
    module, colon, function = named.rpartition(":")
    if not (module and colon and function):
        raise ValueError(f"a step is named MODULE:FUNCTION, got {named!r}")
    if devices < 1:
        raise ValueError(f"--devices must be at least 1, got {devices}")
    jax.config.update("jax_num_cpu_devices", devices)
    made = getattr(_loaded(module), function, None)
    if not callable(made):
        raise ValueError(f"{module} has no function {function!r}")
    found = made()
    if not (isinstance(found, tuple) and len(found) == 2):
        raise ValueError(
            f"{named} must return the step and a tuple of its arguments, got "
            f"{type(found).__name__}"
        )
    f, args = found
    if not (callable(f) and isinstance(args, tuple)):
        raise ValueError(
            f"{named} must return a function and a tuple, got "
            f"{type(f).__name__} and {type(args).__name__}"
        )
    return f, args


def _loaded(name):
    """A module, by its name or by the path of its file."""
    if not name.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise ValueError(f"module {name!r}: {error}") from None
    path = Path(name)
    if not path.is_file():
        raise ValueError(f"there is no file {name}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _as_data(report, on):
    """A report and its forecast as plain data."""
    moved = [
        {
            "part": c.origin.part,
            "kind": c.kind,
            "axes": list(c.axes),
            "times": c.times,
            "volume": c.volume,
            "sent": c.sent,
            "type": c.origin.dtype,
            "file": c.origin.file,
            "line": c.origin.line,
            "note": c.origin.note,
        }
        for c in report.moved
    ]
    seconds = on and {
        "chip": on.chip.name,
        **{"in use": on.seconds, "side by side": on.overlapped},
        **{"one after the other": on.added, "delays": on.delays},
        "bound": on.bound,
    }
    return {
        **{"name": report.name, "level": report.level, "why": report.why},
        **{"sizes": report.sizes, "moved": moved},
        "flops": report.flops(),
        "arguments": [asdict(a) for a in report.arguments],
        **{"alive": report.alive, "gaps": list(report.gaps)},
        "seconds": seconds,
        "advice": [a._asdict() for a in advise(report, on)],
    }
