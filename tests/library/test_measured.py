"""Published runs: their rows, the expected time of each, and its error."""

import subprocess
import sys
from dataclasses import replace
from math import log

import pytest

from shardlab import hw, measured, plan
from shardlab.measured import fitting
from shardlab.measured.__main__ import main, refusals
from shardlab.plan import Arrangement, Job, evaluate, expected, why_not

LLAMA = Job(plan.model("llama-3-8b"), hw.H100, (8,), 2**17, 8192)
SPEEDS = expected.parameters()


def same(value):
    return pytest.approx(value, rel=1e-9)


def test_every_row_is_a_legal_layout_of_a_table_with_source_and_date():
    rows = measured.rows()
    assert len(rows) >= 150
    for row in rows:
        assert why_not(row.job, row.layout) == "", row.name
        told = measured.tables()[row.table]
        assert told["source"]
        assert told["date"].startswith("20")
    assert {row.table for row in rows} == set(measured.tables())
    assert len({(row.table, row.name) for row in rows}) == len(rows)


def test_the_readings_of_torchtitan_are_those_of_its_page():
    # benchmarks/llama3_h100_202412_torchtitan.md: tokens per second and GPU,
    # and GiB, read on 2026-11-28.
    printed = {
        "8B x8 FSDP": (2 * 8192 / 5762, 82.4),
        "8B x128 compile+fp8": (2 * 8192 / 8380, 61.8),
        "8B CP fp8 FSDP1 CP8 262144": (262_144 / 8 / 548, 84.5),
        "70B x256 fp8 2D": (16 * 8192 / 8 / 829, 71.9),
        "405B x512 fp8 interleaved": (256 * 8192 / 512 / 128, 72.7),
    }
    rows = {row.name: row for row in measured.rows()}
    for name, (seconds, gib) in printed.items():
        assert rows[name].seconds == pytest.approx(seconds, rel=1e-4)
        assert rows[name].bytes == pytest.approx(gib * 2**30, rel=1e-3)


@pytest.mark.parametrize(
    ("which", "error", "within"),
    [("fitted", 0.05, 0.95), ("left_out", 0.10, 0.9)],
)
def test_half_of_all_runs_are_within_a_tenth_and_most_within_a_quarter(
    which, error, within
):
    found = measured.errors(which)["all"]
    assert found["error"] <= error
    assert found["within"] >= within * found["rows"]


def test_what_was_stored_is_what_the_speeds_say():
    stored = {(o["table"], o["name"]): o for o in measured.outcomes()}
    for row in measured.rows():
        if row.seconds:
            step = plan.expected_step(row.job, row.layout).step
            told = stored.pop((row.table, row.name))
            assert told["fitted"] == pytest.approx(step, rel=0.01)
            assert told["bound"] < told["measured"] * 1.01
    assert not stored


def test_tables_that_were_left_out_keep_their_order():
    large = {
        table: e["rank"]
        for table, e in measured.errors("left_out").items()
        if e["rank"] is not None and e["rows"] >= 8
    }
    foundry = "LLM Foundry, A100"
    assert all(rank > 0.5 for rank in large.values())
    assert large[foundry] > 0.7 > measured.errors("before")[foundry]["rank"]


def test_nothing_that_ran_is_refused_without_a_remedy():
    for line in refusals():
        assert "tight" in line or "fits with recompute" in line


def test_readings_of_memory():
    ratios = [
        evaluate(row.job, row.layout).peak / row.bytes
        for row in measured.rows()
        if row.bytes
    ]
    near = [ratio for ratio in ratios if abs(ratio - 1) <= 0.1]
    assert len(ratios) == 18
    assert len(near) >= 13
    assert all(0.75 < ratio < 1.1 for ratio in ratios)


# ---- the expected time -------------------------------------------------------


def test_one_chip_by_hand():
    # LLaMA-3 8B, one matrix after the other, 8,192 tokens, both passes.
    m, p, T = LLAMA.model, SPEEDS, 8192
    job = Job(m, hw.H100, (1,), T, T, recompute="none")
    step, parts = plan.expected_step(job, Arrangement(lies=((1, 1),) * 5))
    weights = 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14_336
    flops = 6 * T * (m.L * weights + 4096 * m.vocab)
    io = 7 * 4096 + 2 * 1024 + 3 * 14_336  # inputs and outputs of a token
    moved = 2 * T * m.L * io + 2 * (m.L * weights + 2 * 4096 * m.vocab)
    peak = hw.H100.flops
    assert parts["matmuls"] == same(
        flops / peak / p["matmul_h100"] + 3 * moved / hw.H100.hbm_bw
    )
    scores = 4 * T / 2 * 4096 * T * m.L  # causal; backward 5 matmuls for 2
    assert parts["attention"] == same(
        3.5 * scores / peak / p["matmul_h100"] / p["attention"]
    )
    kept = plan.layer_kept(m, T) * T * m.L
    between = p["between_switch"] * (5 * kept + 36 * T * m.vocab)
    assert parts["between"] == same(
        between / hw.H100.hbm_bw + 3 * m.L * p["launch"]
    )
    assert parts["optimizer"] == same(32 * plan.params(m) / hw.H100.hbm_bw)
    assert parts["stragglers"] == 0
    assert step == same(sum(parts.values()))


def test_what_hides_and_what_shows():
    layout = Arrangement(dp=8, zero=3)
    (of,) = expected.ledgers(LLAMA, layout)[:1]
    gathers = of.forward.traffic["FSDP"], of.backward.traffic["FSDP"]
    assert gathers[1] == same(2 * gathers[0])
    parts = expected.seconds_of(of, SPEEDS).parts
    hops = of.forward.hops["FSDP"] + of.backward.hops["FSDP"]
    shown = SPEEDS["shown_fsdp"] * (sum(gathers) + SPEEDS["hops"] * hops)
    assert parts["FSDP"] == same(shown)
    slow = replace(hw.H100, link_bw=1e9)
    (of,) = expected.ledgers(replace(LLAMA, chip=slow), layout)[:1]
    late = expected.seconds_of(of, SPEEDS)
    assert late.parts["FSDP"] > 0.9 * sum(of.backward.traffic.values())


def test_each_choice_costs_what_it_should():
    layout = Arrangement(dp=8, zero=3)
    step = plan.expected_step(LLAMA, layout).step
    for how in ({"recompute": "full"}, {"fused": False}):
        assert plan.expected_step(replace(LLAMA, **how), layout).step > step
    fp8 = plan.expected_step(replace(LLAMA, precision="fp8"), layout)
    assert 0.6 < fp8.step / step < 0.9
    # The switches of a bound do not matter.
    bound = replace(LLAMA, overlap="none", efficiency=0.5, causal=True)
    assert plan.expected_step(bound, layout).step == step


def test_no_expected_time_is_below_its_bound():
    for row in measured.rows():
        chip = replace(row.job.chip, hbm_bytes=1e15)
        how = {"overlap": "max", "efficiency": 1.0, "streams": False}
        causal = not row.job.model.dropout
        job = replace(row.job, chip=chip, causal=causal, **how)
        found = evaluate(job, row.layout)
        assert found.expected.step > found.seconds
        low, high = found.band
        assert low < found.expected.step < high


def test_a_fit_finds_the_speeds_that_made_its_cases():
    told = {name: s.start for name, s in fitting.SPEEDS.items()}
    told |= {"matmul_a100": 0.7, "attention": 0.3}
    cases = []
    for row in measured.rows()[::3]:
        ledgers = expected.ledgers(row.job, row.layout)[:1]
        seconds = expected.seconds_of(ledgers[0], told).step
        cases.append((row.table, ledgers, seconds))
    found = fitting.fit(cases)
    for name in ("matmul_a100", "attention"):
        assert abs(log(found[name] / told[name])) < 0.03


def test_planning_does_not_load_scipy():
    code = "import sys, shardlab.plan.__main__, shardlab.measured.__main__;"
    code += "sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_ranks_by_hand():
    assert measured.rank_correlation([1, 2, 3], [10, 20, 30]) == same(1)
    assert measured.rank_correlation([1, 2, 3], [3, 2, 1]) == same(-1)
    assert measured.rank_correlation([1, 2, 2, 4], [1, 3, 2, 4]) == same(
        3 / 10**0.5
    )
    assert measured.rank_correlation([1, 1], [1, 2]) == 0
    with pytest.raises(ValueError, match="must have one length"):
        measured.rank_correlation([1], [1])


def test_the_command_prints_errors_before_and_after(capsys):
    main([])
    said = capsys.readouterr().out
    for words in ("matmul_a100", "ideal bound", "table left out", "tight"):
        assert words in said


def test_a_bad_line_is_named(monkeypatch, tmp_path):
    lines = (measured.FOLDER / "rows.csv").read_text().splitlines()[:2]
    (tmp_path / "rows.csv").write_text("\n".join(lines).replace("tp=8", "tp=x"))
    monkeypatch.setattr(measured, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="rows.csv, line 2: tp must be"):
        measured.rows.__wrapped__()
