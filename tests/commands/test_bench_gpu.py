"""bench.gpu writes what its docstring says; tried with tiny sizes on a CPU."""

import json
import re
import stat
from types import SimpleNamespace

import jax.numpy as jnp
import pytest

import bench.gpu
from bench.gpu import __main__ as command
from bench.gpu import clock, device, matmul, precision, step, trace
from shardlab import cost, hw

TIMED = {"seconds", "seconds_least", "seconds_most", "runs", "calls"}
RATED = TIMED | {"bytes", "bytes_per_s", "share"}
# For each part what stands beside the rows, and what stands in each of them.
SCHEMA = {
    "matmul": (
        {"rooflines"},
        TIMED
        | {"B", "D", "F", "flops", "bytes", "flops_per_s", "bytes_per_s"}
        | {"roofline_seconds"},
    ),
    "bandwidth": (set(), RATED | {"kind", "array_bytes"}),
    "elementwise": (
        {"B", "D", "F"},
        RATED | {"name", "flops", "flops_per_s"},
    ),
    "launch": ({"elements"}, TIMED | {"name"}),
    "attention": (
        {"heads", "d"},
        TIMED
        | {"name", "T", "passes", "flops", "flops_per_s", "temporary_bytes"},
    ),
    "precision": (
        {"B", "D", "F"},
        TIMED | {"name", "flops_per_s", "share", "deviation"},
    ),
    "step": (
        {"model", "tokens", "params", "flops_formula"},
        TIMED
        | {"keeps", "attention", "flops", "flops_model", "tally", "program"}
        | {"mfu", "hfu"}
        | {"tokens_per_s", "device_peak_bytes"},
    ),
}
EVERY = {"wall_seconds", "samples", "rows"}
# Ten programs compiled; who edits bench.gpu runs it.
pytestmark = pytest.mark.long
# What a CPU does not have; fp16 needs one with F16C.
LACKING = {"cudnn", "tf32", "fp16"}


def run(folder, *words):
    """The exit status of the command, and what it wrote."""
    out = folder / "made/gpu.json"
    status = command.main(["--out", str(out), "--quick", *words])
    return status, json.loads(out.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    status, document = run(tmp_path_factory.mktemp("gpu"))
    assert status == 0
    return document


@pytest.mark.parametrize("name", SCHEMA)
def test_a_part_holds_what_the_docstring_says(name, whole):
    beside, inside = SCHEMA[name]
    part = whole["parts"][name]
    assert set(part) == EVERY | beside
    done = [row for row in part["rows"] if "error" not in row]
    failed = {row["name"] for row in part["rows"] if "error" in row}
    assert failed <= LACKING
    assert set().union(*done) == inside
    common = set.intersection(*map(set, done))
    assert inside - common <= {"flops", "flops_per_s"}
    for word in beside | inside:
        assert re.search(rf"\b{word}\b", bench.gpu.__doc__), word


def test_every_part_is_written_with_its_machine(whole):
    assert set(whole["parts"]) == set(command.PARTS) == {*SCHEMA, "trace"}
    assert set(whole) == {
        *("schema", "date", "quick", "machine", "chip", "parts")
    }
    assert whole["chip"] is None
    assert whole["machine"]["platform"] == "cpu"
    assert {"jax", "jaxlib", "python", "nvidia"} <= set(whole["machine"])


def test_every_time_lies_between_the_least_and_the_most(whole):
    rows = [r for p in whole["parts"].values() for r in p.get("rows", [])]
    rows = [row for row in rows if "error" not in row]
    assert len(rows) > 18
    for row in rows:
        least, most = row["seconds_least"], row["seconds_most"]
        assert 0 < least <= row["seconds"] <= most
        assert row["runs"] == clock.QUICK.repeats


def test_the_flops_of_a_step_are_those_of_the_formula(whole):
    part = whole["parts"]["step"]
    row, _ = part["rows"]
    assert row["flops"] == row["flops_model"] == part["flops_formula"]
    again = step.step_flops("nothing", step.TINY, part["tokens"])
    assert again > part["flops_formula"]
    once = step.step_flops("everything", step.TINY, part["tokens"])
    assert once == part["flops_formula"]


def test_who_keeps_more_is_expected_to_hold_more(whole):
    part = whole["parts"]["step"]
    told = [
        step.tally(keeps, step.TINY, part["tokens"]) for keeps in step.KEEPS
    ]
    held = [row["alive"] for row in told]
    assert held == sorted(set(held))
    assert all(row["states"] == 16 * part["params"] for row in told)
    assert told[0]["activations"] < told[2]["activations"]
    assert step.SIZES["full"]["keeps"] == list(step.KEEPS)
    program = part["rows"][0]["program"]
    assert program["total"] >= held[1]  # what XLA adds for itself


def test_a_product_in_few_digits_deviates_as_they_do(whole):
    rows = whole["parts"]["precision"]["rows"]
    apart = {r["name"]: r["deviation"] for r in rows if "error" not in r}
    assert apart["float32"] < 1e-6
    assert 1e-4 < apart["bf16"] < 1e-2
    assert apart["int8"] == 0
    In, W = precision.operands("bfloat16", {"B": 4, "D": 8, "F": 6})
    assert precision.deviation(In @ W + 1, In, W) > 0.05


def test_a_trace_is_small_and_tells_operations_in_order(whole):
    part = whole["parts"]["trace"]
    starts = [start for _, start, _ in part["events"]]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert {place for place, *_ in part["events"]} == {
        *range(len(part["names"]))
    }
    assert 0 < part["busy_share"] <= 1
    assert len(json.dumps(whole)) < 150_000


# ---- with the figures of a chip ----------------------------------------------


def test_shares_are_of_the_chip_that_is_named(tmp_path):
    _, found = run(tmp_path, "--only", "bandwidth", "matmul", "--chip", "H200")
    assert found["chip"]["name"] == "h200"
    assert found["chip"]["intensity"] == pytest.approx(206.25)
    assert list(found["parts"]) == ["bandwidth", "matmul"]
    for row in found["parts"]["bandwidth"]["rows"]:
        share = row["bytes"] / row["seconds"] / hw.H200.hbm_bw
        assert row["share"] == pytest.approx(share, rel=1e-3)
    row = found["parts"]["matmul"]["rows"][-1]
    sizes = row["B"], row["D"], row["F"]
    assert row["flops"] == 2 * row["B"] * row["D"] * row["F"]
    best = cost.t_matmul(*sizes, hw.H200)
    assert row["roofline_seconds"] == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA GB200", "gb200"),
        ("cpu", None),
    ],
)
def test_a_device_is_known_by_its_name(kind, name):
    assert device.recognised(kind) == name


def test_a_chip_as_in_the_book_has_its_knee_where_the_book_says():
    C, W, D, F = 9e14, 3e12, 8192, 4096
    rows = [
        {"B": 2**n, "D": D, "F": F, "seconds": seconds, "flops_per_s": rate}
        for n in range(14)
        for seconds in [2 * D * F * max(2**n / C, 1 / W)]
        for rate in [2 * 2**n * D * F / seconds]
    ]
    found = matmul.roofline(rows, None)
    assert found["knee_cross"] == pytest.approx(C / W)
    assert found["knee_half"] == pytest.approx(C / W / 2)
    assert found["floor_bytes_per_s"] == pytest.approx(W)
    assert found["chip_knee"] is found["peak_share"] is None
    known = matmul.roofline(rows, device.figures("h100"))
    assert known["chip_knee"] == cost.compute_bound_batch(D, F, hw.H100)
    assert known["peak_share"] == pytest.approx(C / hw.H100.flops)


# ---- refusals and failures ---------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--out"),
        (["--out", "{}", "--quick"], "must be a file"),
        (["--out", "{}/x.json"], "a CPU is too slow"),
        (["--out", "{}/x.json", "--quick", "--only", "ring"], "'ring'"),
        (["--out", "{}/x.json", "--quick", "--chip", "h300"], "'h300'"),
    ],
)
def test_bad_options_are_refused_by_name(words, said, tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        command.main([word.format(tmp_path) for word in words])
    assert left.value.code == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_part_that_fails_leaves_the_others(tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("RESOURCE_EXHAUSTED: out of memory\nmore")

    monkeypatch.setattr(matmul, "part", fail)
    status, found = run(tmp_path, "--only", "matmul", "launch")
    assert status == 1
    said = found["parts"]["matmul"]["error"]
    assert said == "RuntimeError: RESOURCE_EXHAUSTED: out of memory"
    assert "error" not in found["parts"]["launch"]


def test_a_row_that_fails_keeps_what_was_known():
    said = "ValueError: invalid literal for int() with base 10: 'x'"
    row = clock.attempted({"B": 1}, lambda: {"seconds": int("x")})
    assert row == {"B": 1, "error": said}


def test_calls_are_taken_in_turn():
    seen = []
    calls = [lambda n=n: seen.append(n) or jnp.ones(()) for n in range(3)]
    found = clock.timed(calls, clock.Effort(0, 2))
    assert seen == [0, 1, 2] * 4
    assert found["calls"] == 3
    assert found["runs"] == 2


# ---- what only a GPU has -----------------------------------------------------


def plant(folder, monkeypatch, script):
    """An nvidia-smi of ours, and no other."""
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_clocks_and_power_are_sampled(tmp_path, monkeypatch):
    lines = "1980, 3201, 650.5, 60\n1830, 3201, 699.5, [N/A]\n19"
    done = tmp_path / "done"
    script = f"printf '{lines}'\ntouch {done}\nexec sleep 60"
    plant(tmp_path, monkeypatch, script)
    found = {}
    with device.watch(found):
        while not done.exists():
            pass
    assert found["samples"]["count"] == 2
    power = found["samples"]["power.draw"]
    assert power == {"median": 675.0, "least": 650.5, "most": 699.5}
    assert found["samples"]["temperature.gpu"]["most"] == 60
    with device.watch(found, wanted=False):
        pass
    assert found["samples"] is None


def test_the_card_says_its_driver(tmp_path, monkeypatch):
    words = "NVIDIA H200, 580.1, 143771, 700.00, 1980, 3201, Disabled"
    plant(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked\necho {words}')
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert device.card()["driver_version"] == "580.1"
    assert "--id=3" in (tmp_path / "asked").read_text()
    monkeypatch.setenv("PATH", "/nowhere")
    assert device.card() is None


def event(name, start, lasts):
    return SimpleNamespace(
        name=name, start_ns=start, duration_ns=lasts, stats=[]
    )


def test_of_a_gpu_the_streams_alone_are_read():
    def line(name, *events):
        return SimpleNamespace(name=name, events=[event(*e) for e in events])

    gpu = [
        line("Stream #14(Compute)", ("gemm", 1000, 400), ("norm", 1500, 100)),
        line("Stream #15(Memcpy)", ("copy", 900, 200)),
        line("XLA Modules", ("jit_step", 0, 9000)),
    ]
    planes = [
        SimpleNamespace(name="/host:CPU", lines=[line("x", ("python", 0, 9))]),
        SimpleNamespace(name="/device:GPU:0", lines=gpu),
    ]
    events = trace.operations(SimpleNamespace(planes=planes))
    assert [name for name, *_ in events] == ["copy", "gemm", "norm"]
    told = trace.timeline(events, 2)
    assert told["names"] == ["copy", "gemm"]
    assert told["events"] == [[0, 0, 0.2], [1, 0.1, 0.4]]
    assert told["events_in_all"] == 3
    assert told["busy_share"] == pytest.approx(600 / 700)
    assert [row["name"] for row in told["by_name"]] == ["gemm", "copy", "norm"]
