"""The command line of bench.wire: what it does, its package says."""

import argparse
import json
import platform
import sys
from contextlib import ExitStack
from datetime import date
from importlib.metadata import version
from pathlib import Path

import bench.wire
from bench.wire import namespaces
from shardlab.processes import launch

ADDRESSES = ("10.77.0.1", "10.77.0.2")
WIRES = ((2e-3, 25e6), (10e-3, 25e6), (2e-3, 10e6))  # seconds, bytes/second
COUNTED = ("next_chip", "all_gather", "psum", "psum_scatter", "all_to_all")
TIMED = ("one_way", *COUNTED)
FULL = {"sizes": [4 << (2 * n) for n in range(5, 12)], "repeats": 5}
QUICK = {"sizes": [4096, 1 << 20], "repeats": 2}
COUNTS = 10  # as often as one is timed; ranks do not stop at one moment
SPLITS = ((4, 1), (2, 2), (1, 4), (2, 4))  # ranks, and chips of each


def timed(delay, rate, effort):
    """Seconds of collectives between two hosts on a wire.

    delay, rate  as of `namespaces.wire`
    effort       FULL or QUICK
    returns      dict of plain data
    """
    with ExitStack() as both:
        hosts = {
            address: both.enter_context(namespaces.host(address))
            for address in ADDRESSES
        }
        both.enter_context(namespaces.wire(hosts, delay, rate))
        address = f"{ADDRESSES[0]}:5177"
        run = launch(
            "bench.wire.ranks:seconds",
            2,
            1,
            (TIMED, effort["sizes"], effort["repeats"]),
            echo=None,
            under=lambda rank: namespaces.inside(hosts[ADDRESSES[rank]]),
            environment={
                "JAX_COORDINATOR_ADDRESS": address,
                "JAX_COORDINATOR_BIND_ADDRESS": address,
            },
        )
    return {"delay": delay, "rate": rate, "seconds": run.results[0]}


def counted(ranks, devices, effort):
    """Bytes of collectives on a loopback device that nobody else uses.

    ranks, devices  as of `launch`
    effort          FULL or QUICK
    returns         dict of plain data
    """
    with namespaces.host("127.0.0.1") as alone:
        run = launch(
            "bench.wire.ranks:bytes_sent",
            ranks,
            devices,
            (COUNTED, 1 << 22, COUNTS * effort["repeats"]),
            echo=None,
            under=lambda rank: namespaces.inside(alone),
        )
    return {
        "ranks": ranks,
        "devices": devices,
        "V": 1 << 22,
        "bytes": run.results[0],
    }


def main(words=None):
    """Measure, and write what was found.

    words    of the command line
    returns  exit status
    """
    about = bench.wire.__doc__.splitlines()[0]
    asked = argparse.ArgumentParser("python -m bench.wire", description=about)
    asked.add_argument("--out", type=Path, required=True, help="JSON file")
    asked.add_argument("--quick", action="store_true", help="few sizes")
    options = asked.parse_args(words)
    if lacking := namespaces.missing():
        print(f"nothing was measured: {lacking}", file=sys.stderr)
        return 2
    effort = QUICK if options.quick else FULL
    found = {
        "date": f"{date.today()}",
        "machine": f"{_processor()}, Linux {platform.release()}",
        "versions": {name: version(name) for name in ("jax", "jaxlib")},
        "wires": [timed(*one, effort) for one in WIRES],
        "loopback": [counted(*one, effort) for one in SPLITS],
    }
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _processor():
    """What the kernel calls the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main())
