"""Collectives through a switch: formulas hold what messages count."""

import pytest

from shardlab import cost, switch
from shardlab.hw import H100
from tests.each import each

CASES = [
    (kind, N, algorithm)
    for algorithm, kinds in cost.SWITCHED.items()
    for kind in kinds
    for N in ((1, 2, 4, 8, 16) if algorithm == "doubling" else range(1, 10))
]


@each(("kind", "N", "algorithm"), CASES)
def test_bytes_and_rounds_are_those_of_the_messages(kind, N, algorithm):
    V = 12 * N * N
    run = switch.run(kind, V, N, algorithm)
    streams = algorithm == "in_switch" and kind == "all_reduce"
    counted = run.streamed if streams else run.busiest
    assert V * cost.port_share(kind, N, algorithm) == counted
    assert cost.rounds(kind, N, algorithm) == len(run.rounds)


@pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "all_reduce"])
def test_who_sends_directly_sends_what_a_ring_sends(kind):
    V, X, bw = 1e9, 8, H100.link_bw
    ring = getattr(cost, f"t_{kind}")(V, X, bw, directions=1)
    assert cost.t_switch(kind, V, X, bw) == pytest.approx(ring, rel=1e-12)
    assert cost.rounds(kind, X) < cost.hops(X, directions=1)


def test_a_switch_that_adds_nearly_halves_an_all_reduce():
    chips = cost.t_switch("all_reduce", 1e9, 8, H100.link_bw)
    adds = {"algorithm": "in_switch"}
    added = cost.t_switch("all_reduce", 1e9, 8, H100.link_bw, **adds)
    assert chips / added == pytest.approx(14 / 9, rel=1e-12)
    many = cost.port_share("all_reduce", 10**6, "in_switch")
    assert many == pytest.approx(1, rel=1e-5)


def test_each_round_waits_once():
    t = cost.t_switch("all_gather", 0, 8, H100.link_bw, 1e-6, "doubling")
    assert t == 3e-6
    assert cost.t_switch("all_gather", 1e9, 1, H100.link_bw, 1e-6) == 0


REFUSED = {
    "kind": (lambda: cost.port_share("gather", 8), "kind must be one of"),
    "X": (lambda: cost.rounds("permute", 0), "X must be a"),
    "algorithm": (
        lambda: cost.t_switch("permute", 1, 8, 1.0, algorithm="tree"),
        "algorithm must be one of 'direct' for 'permute'; got 'tree'",
    ),
    "pairs": (
        lambda: cost.port_share("all_gather", 6, "doubling"),
        "X must be a power of two where chips pair up, got 6",
    ),
    "V": (lambda: cost.t_switch("reduce", -1, 8, 1.0), "V must be a"),
    "link_bw": (lambda: cost.t_switch("reduce", 1, 8, 0), "link_bw must be"),
    "parts": (lambda: switch.run("reduce_scatter", 9, 8), "V must be a mult"),
    "N": (lambda: switch.run("reduce_scatter", 8, 0), "N must be a"),
    "run": (
        lambda: switch.run("all_to_all", 64, 8, "tree"),
        "kind must be one of 'broadcast', 'reduce', 'all_reduce'",
    ),
    "partners": (
        lambda: switch.run("all_gather", 6, 6, "doubling"),
        "N must be a power of two where chips pair up, got 6",
    ),
}


@each("name", REFUSED)
def test_what_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()
