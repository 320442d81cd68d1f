"""The device that is measured: its name, its driver, its clocks and power."""

import os
import statistics
import subprocess
import tempfile
from contextlib import contextmanager

import jax

from bench.__main__ import machine
from shardlab import hw

CARD = (
    *("name", "driver_version", "memory.total", "power.limit"),
    *("clocks.max.sm", "clocks.max.memory", "mig.mode.current"),
)
SAMPLED = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")
EVERY_MS = 200


def described():
    """What the figures belong to, as the docstring of bench.gpu says.

    returns  dict
    """
    device = jax.devices()[0]
    memory = device.memory_stats() or {}
    return {
        **machine(),
        "platform": device.platform,
        "device": device.device_kind,
        "memory_bytes": memory.get("bytes_limit"),
        "nvidia": None if device.platform == "cpu" else card(),
    }


def figures(name=None):
    """The published figures of the device, if shardlab.hw has them.

    name     of a chip; None: the longest name that stands in the device's own
    returns  dict: name, flops, hbm_bw, hbm_bytes, intensity; or None
    raises   ValueError that lists the names, if there is no such chip
    """
    if name is None:
        name = recognised(jax.devices()[0].device_kind)
    if name is None:
        return None
    chip = hw.chip(name)
    return {
        "name": chip.name,
        "flops": chip.flops,
        "hbm_bw": chip.hbm_bw,
        "hbm_bytes": chip.hbm_bytes,
        "intensity": hw.hbm_intensity(chip),
    }


def recognised(kind):
    """The chip whose name stands in what JAX calls a device, or None."""
    found = [name for name in hw.CHIPS if name in kind.lower()]
    return max(found, key=len, default=None)


# ---- nvidia-smi --------------------------------------------------------------


def command(fields, *options):
    """The query of some fields of the card that JAX sees first."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
    return [
        "nvidia-smi",
        f"--id={first or 0}",
        f"--query-gpu={','.join(fields)}",
        "--format=csv,noheader,nounits",
        *options,
    ]


def card():
    """What does not change of the card.

    returns  dict from field to text, or None where nvidia-smi does not answer
    """
    try:
        done = subprocess.run(
            command(CARD), capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = [word.strip() for word in done.stdout.strip().split(",")]
    return (
        dict(zip(CARD, said, strict=True)) if len(said) == len(CARD) else None
    )


@contextmanager
def watch(found, wanted=True):
    """Sample clocks and power while a part is measured.

    found    dict, to which `samples` is added at the end: for each field
             median, least and most, and how many there were; None without
             nvidia-smi
    wanted   False: do not ask
    """
    with tempfile.TemporaryFile("w+") as heard:
        watcher = started(heard) if wanted else None
        try:
            yield
        finally:
            if watcher:
                watcher.terminate()
                watcher.wait()
            heard.seek(0)
            found["samples"] = summary(heard.read())


def started(heard):
    """A process that writes samples into a file, or None without the tool."""
    asked = command(SAMPLED, f"--loop-ms={EVERY_MS}")
    try:
        return subprocess.Popen(asked, stdout=heard, stderr=subprocess.DEVNULL)
    except OSError:
        return None


def summary(text):
    """Median, least and most of each column that nvidia-smi printed.

    text     lines of numbers, with commas between them
    returns  dict, or None if there is no whole line
    """
    rows = [line.split(",") for line in text.splitlines()]
    rows = [row for row in rows if len(row) == len(SAMPLED)]
    columns = zip(*rows, strict=True) if rows else ()
    told = {
        field: spread(values)
        for field, values in zip(SAMPLED, columns, strict=False)
    }
    return {"count": len(rows), **told} if rows else None


def spread(values):
    """Median, least and most of texts that are numbers; others are no help."""
    numbers = []
    for value in values:
        try:
            numbers.append(float(value))
        except ValueError:
            continue
    if not numbers:
        return None
    return {
        "median": statistics.median(numbers),
        "least": min(numbers),
        "most": max(numbers),
    }
