"""The command line of bench.wire: what it does, its package says."""

import argparse
import json
import platform
import re
import sys
import time
from contextlib import ExitStack
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

import bench.wire
from bench.wire import namespaces
from shardlab.processes import Failed, launch

ADDRESSES = ("10.77.0.1", "10.77.0.2")
WIRES = ((2e-3, 25e6), (10e-3, 25e6), (2e-3, 10e6))  # seconds, bytes/second
COUNTED = ("next_chip", "all_gather", "psum", "psum_scatter", "all_to_all")
TIMED = ("one_way", *COUNTED)
APART = (0.0, 0.04)  # seconds; shorter and longer than the delay of its wire
FULL = {"sizes": [4 << (2 * n) for n in range(5, 12)], "repeats": 5}
QUICK = {"sizes": [4096, 1 << 20], "repeats": 2}
COUNTS = 10  # as often as one is timed; ranks do not stop at one moment
SPLITS = ((2, 1), (4, 1), (2, 2), (1, 4), (2, 4), (2, 8))  # ranks, chips each
DEATHS = ((1, 10), (0, 10))  # which rank, seconds of a heartbeat's silence


def on_a_wire(delay, rate, function, arguments):
    """Run a function of `bench.wire.ranks` on two hosts with a wire between.

    delay, rate  as of `namespaces.wire`
    function     its name
    arguments    tuple
    returns      list of what the ranks return
    """
    with ExitStack() as both:
        hosts = {
            address: both.enter_context(namespaces.host(address))
            for address in ADDRESSES
        }
        both.enter_context(namespaces.wire(hosts, delay, rate))
        address = f"{ADDRESSES[0]}:5177"
        run = launch(
            f"bench.wire.ranks:{function}",
            *(2, 1, arguments),
            echo=None,
            under=lambda rank: namespaces.inside(hosts[ADDRESSES[rank]]),
            environment={
                "JAX_COORDINATOR_ADDRESS": address,
                "JAX_COORDINATOR_BIND_ADDRESS": address,
            },
        )
    return run.results


def timed(delay, rate, effort):
    """Seconds of collectives between two hosts on a wire.

    delay, rate  as of `namespaces.wire`
    effort       FULL or QUICK
    returns      dict of plain data
    """
    arguments = (TIMED, effort["sizes"], effort["repeats"])
    found, _ = on_a_wire(delay, rate, "seconds", arguments)
    return {"delay": delay, "rate": rate, "seconds": found}


def timed_apart(delay, rate, effort):
    """Seconds of collectives that two hosts begin together, or do not.

    delay, rate  as of `namespaces.wire`
    effort       FULL or QUICK
    returns      dict of plain data; "seconds" are from the later of the two
                 beginnings to the later of the two ends
    """
    V = 1 << 22
    arguments = (COUNTED, V, APART, effort["repeats"])
    ranks = on_a_wire(delay, rate, "started_apart", arguments)
    found = {}
    for kind in COUNTED:
        found[kind] = []
        for ours, theirs in zip(*(rank[kind] for rank in ranks), strict=True):
            late, took = [], []
            for turns in zip(ours[1], theirs[1], strict=True):
                begins, ends = zip(*turns, strict=True)
                late.append(begins[1] - begins[0])
                took.append(max(ends) - max(begins))
            found[kind].append([median(late), median(took)])
    return {"delay": delay, "rate": rate, "V": V, "seconds": found}


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


def outlived(rank, heartbeat):
    """How long three ranks outlive a fourth, stopped by nobody but JAX.

    rank, heartbeat  as of `ranks.die`
    returns          dict of plain data; "heard" are seconds from the kill to
                     an exception, None of a rank without; "codes" are exit
                     codes, minus a signal's number if one ended a rank
    raises           RuntimeError if a rank had to be stopped
    """
    try:
        launch(
            "bench.wire.ranks:die",
            *(4, 1, (rank, heartbeat)),
            grace=600,
            echo=None,
        )
    except Failed as error:
        ended, run = time.time(), error.run
        killed = float(run.said(rank)[0])
        heard, words = [], None
        for n in range(len(run.codes)):
            found = re.match(r"(\d+\.\d+) (\S.*)", "\n".join(run.said(n)))
            heard.append(float(found[1]) - killed if found else None)
            words = found[2] if found else words
        if None not in run.codes:
            return {
                "rank": rank,
                "heartbeat": heartbeat,
                "heard": heard,
                "error": words,
                "seconds": ended - killed,
                "codes": run.codes,
            }
    raise RuntimeError(f"rank {rank} died, and others did not end")


def absent(heartbeat, seconds):
    """How long one rank waits for another that is alive and does not come.

    heartbeat, seconds  as of `ranks.waited`
    returns             dict of plain data
    """
    arguments = (heartbeat, seconds)
    run = launch("bench.wire.ranks:waited", 2, 1, arguments, echo=None)
    return {
        "heartbeat": heartbeat,
        "away": seconds,
        "waited": run.results[0],
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
        "machine": machine(),
        "versions": {name: version(name) for name in ("jax", "jaxlib")},
        "wires": [timed(*one, effort) for one in WIRES],
        "apart": timed_apart(10e-3, 25e6, effort),
        "loopback": [counted(*one, effort) for one in SPLITS],
        "deaths": [outlived(*one) for one in DEATHS],
        "absent": absent(10, 30),
    }
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def machine():
    """The processor of this machine and its kernel."""
    return f"{_processor()}, Linux {platform.release()}"


def _processor():
    """What the kernel calls the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main())
