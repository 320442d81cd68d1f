"""What was measured of collectives between processes, once, and stored."""

import json
from pathlib import Path

__all__ = ["measured"]

STORED = Path(__file__).with_name("wire.json")


def measured():
    """What `python -m bench.wire` found, with date and machine.

    returns  dict: "date", "machine", "versions"; "wires", a list of dicts with
             "delay" in seconds, "rate" in bytes/s and "seconds", from a
             collective to pairs of V in bytes and seconds; "apart", a dict
             with "delay", "rate", V and "seconds", from a collective to pairs
             of how much later one process began, as its clock says, and how
             long it then took;
             "loopback", a list of dicts with "ranks", "devices", V and the
             "bytes" that the kernel counted for each collective; "deaths", a
             list of dicts with the "rank" that was killed, the "heartbeat",
             when the others "heard" of it and by which "error", and the
             "seconds" and exit "codes" with which they ended; "absent", a dict
             of how long one "waited" for another that was "away" and alive
    source   chapter 18
    """
    return json.loads(STORED.read_text())
