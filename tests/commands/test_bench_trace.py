"""bench.trace traces two processes, and sees which of them was late."""

import json

import pytest

from bench.trace import __main__ as command
from bench.trace.ranks import by_step
from shardlab.timeline import Done


def test_steps_are_told_apart_and_the_first_is_left_out():
    one = [Done("dot", "chip", 0, 1), Done("psum", "network", 1, 3)]
    two = [Done("dot", "chip", 4, 5), Done("psum", "network", 5, 6)]
    assert by_step(one + two) == [
        [0, "dot", "chip", -2, -1],
        [0, "psum", "network", -1, 0],
    ]


@pytest.mark.long
def test_who_is_late_waits_least(tmp_path):
    path = tmp_path / "trace.json"
    assert command.main(["--out", str(path)]) == 0
    found = json.loads(path.read_text())
    first, second = (
        {
            name: end - start
            for step, name, queue, start, end in rows
            if step == found["late"] and queue == "network"
        }
        for rows in found["processes"]
    )
    waited = max(first, key=first.get)
    assert first[waited] > found["seconds"] / 2
    assert first[waited] > second[waited]
