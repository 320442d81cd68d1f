"""bench.wire measures a wire that does what it was told, or says why not."""

import json

import pytest

from bench.wire import __main__ as command
from bench.wire import namespaces
from shardlab.processes import measured


@pytest.mark.long
def test_it_measures_or_says_what_is_missing(tmp_path, capsys):
    path = tmp_path / "wire.json"
    code = command.main(["--quick", "--out", str(path)])
    if namespaces.missing():
        assert code == 2
        assert "nothing was measured: " in capsys.readouterr().err
        assert not path.exists()
        return
    assert code == 0
    found = json.loads(path.read_text())
    for wire in found["wires"]:
        for kind, points in wire["seconds"].items():
            for V, seconds in points:
                # Nothing is faster than the wire; what is slower is a load.
                crosses = (
                    V if kind in ("one_way", "next_chip", "psum") else V / 2
                )
                assert seconds > wire["delay"] + crosses / wire["rate"]
    for run in found["loopback"]:
        holds_to_the_count(run, slack=0.3)
    assert all(all(death["codes"]) for death in found["deaths"])
    assert found["absent"]["waited"] >= found["absent"]["away"]
    for kind, points in found["apart"]["seconds"].items():
        for _, seconds in points:
            # Nothing is faster than two delays and the wire.
            leaves = found["apart"]["V"] / (1 + (kind not in BOTH_WAYS))
            assert seconds > 0.99 * (0.02 + leaves / 25e6), kind


BOTH_WAYS = ("next_chip", "psum")  # of two chips, each sends all of V


def holds_to_the_count(run, slack):
    """What the kernel counted is what rings send, and a little of TCP."""
    chips, V = run["ranks"] * run["devices"], run["V"]
    expected = {
        "next_chip": chips,
        "all_gather": chips - 1,
        "all_to_all": chips - 1,
        "psum": 2 * (chips - 1),
        # Halving, and then pieces whose number mirrored is another move.
        "psum_scatter": chips - 1 + {2: 0, 4: 0.5, 8: 0.5, 16: 0.75}[chips],
    }
    assert run["bytes"].keys() == expected.keys()
    for kind, times in expected.items():
        assert abs(run["bytes"][kind] / (times * V) - 1) < slack


def test_what_is_stored_holds_to_the_count():
    stored = measured()
    assert len(stored["wires"]) == 3
    assert len(stored["loopback"]) == 6
    assert all(all(death["codes"]) for death in stored["deaths"])
    for run in stored["loopback"]:
        holds_to_the_count(run, slack=0.02)


def test_a_device_that_is_not_there_is_named(tmp_path):
    table = tmp_path / "dev"
    table.write_text(
        "Inter-|   Receive  |  Transmit\n"
        " face |bytes packets|bytes packets\n"
        "    lo: 1 2 0 0 0 0 0 0 77 3 0 0 0 0 0 0\n"
    )
    assert namespaces.sent(table) == 77
    with pytest.raises(ValueError, match="got 'wire'"):
        namespaces.sent(table, "wire")


def test_a_line_that_is_no_option_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main([])
    assert "--out" in capsys.readouterr().err
