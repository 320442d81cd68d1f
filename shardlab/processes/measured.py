"""What was measured of collectives between processes, once, and stored."""

import json
from pathlib import Path

STORED = Path(__file__).with_name("wire.json")


def measured():
    """What `python -m bench.wire` found, with date and machine.

    returns  dict: "date", "machine", "versions"; "wires", a list of dicts with
             "delay" in seconds, "rate" in bytes/s and "seconds", from a
             collective to pairs of V in bytes and seconds; "loopback", a list
             of dicts with "ranks", "devices", V and the "bytes" that the
             kernel counted for each collective
    source   chapter 18
    """
    return json.loads(STORED.read_text())
