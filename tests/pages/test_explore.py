"""The explorers say what `shardlab` says, over a grid; and can be used."""

import json
import re
from itertools import product

import pytest

from shardlab import cost, hw, notation, pipeline
from shardlab.plan import Job
from tests.tree import ROOT
from tools import explore

STORED = (ROOT / "book/style/explore-data.js").read_text(encoding="utf-8")
DATA = json.loads(re.search(r"EXPLORE_DATA=(.*);\n", STORED)[1])


@pytest.fixture(scope="module")
def page(html, chromium):
    page = chromium.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((html / "book/explore.html").as_uri())
    page.wait_for_selector("#explore-pipeline table")
    yield page
    assert errors == []
    page.close()


# ---- the data ----------------------------------------------------------------


def test_machines_volumes_and_orders_are_those_of_the_library():
    assert DATA["chips"] == json.loads(json.dumps(explore.chips()))
    assert DATA["volumes"] == explore.volumes()
    assert DATA["orders"] == explore.orders()


@pytest.mark.parametrize(
    ("model", "machine", "batch"),
    [
        ("llama-3-8b", "TPU v5p, 4 × 4 × 4", "1M tokens"),
        ("llama-3-70b", "H100, 8 nodes", "4M tokens"),
        ("llama-3-405b", "H100, 1 node of 8", "1M tokens"),
    ],
)
def test_what_fits_is_what_the_planner_found(model, machine, batch):
    stored = DATA["fits"][f"{model}|{machine}|{batch}"]
    assert stored == explore.fits(model, machine, explore.BATCHES[batch])


@pytest.mark.long
def test_all_that_fits_is_what_the_planner_found():
    assert DATA["fits"] == explore.data()["fits"]


def test_a_question_without_a_legal_layout_has_no_rows(monkeypatch):
    monkeypatch.setitem(explore.MACHINES, "odd", ("h100", (7, 1)))
    assert explore.fits("llama-3-8b", "odd", 2**20) == []
    assert Job  # what refused it


# ---- what the browser computes -----------------------------------------------

LAYOUTS = ["A[I, J]", "A[I_X, J]", "W_in[D_Y, F_X]", "A[I_XY, J]"]
LAYOUTS += ["A[I_ZX, J_Y]", "Out[B_X, D, F_YZ]"]
MESHES = [(2, 4, 1), (4, 2, 2), (1, 8, 1)]


def spelled(spec):
    """A partition spec without the None that it may end in."""
    spec = spec.replace("PartitionSpec", "P")
    return re.sub(r"(, )?None(, None)*\)$", ")", spec)


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_layout_is_read_as_the_library_reads_it(page, text):
    layout = notation.parse(text)
    shape = (16, 32, 64)[: len(layout.dims)]
    for sizes in MESHES:
        mesh = dict(zip("XYZ", sizes, strict=True))
        found = page.evaluate(
            "([t, s, m]) => Explore.sharding(t, s, m, 'bfloat16')",
            [text, list(shape), mesh],
        )
        local = notation.local_shape(text, shape, mesh)
        assert tuple(found["local"]) == local
        assert found["bytes"] == notation.bytes_per_device(text, shape, mesh, 2)
        assert found["copies"] == notation.copies(text, mesh)
        assert spelled(found["spec"]) == spelled(str(notation.to_spec(text)))


@pytest.mark.parametrize(
    ("text", "shape", "words"),
    [
        ("A[I_X, J_X]", [8, 8], "X is used twice"),
        ("A[I, I]", [8, 8], "I is named twice"),
        ("A(I, J)", [8, 8], "write a layout"),
        ("A[I_X, J]", [7, 8], "cannot be cut into 2 equal parts"),
        ("A[I_X]", [8, 8], "1 dimensions are named, and 2 sizes"),
        ("A[I_W, J]", [8, 8], "no axis W"),
    ],
)
def test_what_is_no_layout_is_refused_in_words(page, text, shape, words):
    said = page.evaluate(
        """([t, s]) => { try { Explore.sharding(t, s, {X: 2, Y: 2}, 'int8');
        return '' } catch (error) { return error.message } }""",
        [text, shape],
    )
    assert words in said


def by_formula(strategy, given):
    """The Times of each part of a layer, by the formulas of the library."""
    B, D, F, X, Y = (given[name] for name in "BDFXY")
    chip, how = hw.chip(given["chip"]), {"gated": given["gated"]}
    if chip.axes:
        found = cost.t_layer(
            *(strategy, B, D, F, chip, X, Y, 1, 1), exact=True, **how
        )
        return found._asdict()
    # A port has no axes: what goes over X and over Y goes one after the other.
    moved = cost.layer_volume(strategy, B, D, F, X, Y, **how)
    flops, times = cost.layer_flops(B, D, F, **how), {}
    for part in ("forward", "backward", "update"):
        sent = getattr(moved["X"], part) * (X - 1) / X
        sent += getattr(moved["Y"], part) * (Y - 1) / Y
        math = getattr(flops, part) / (X * Y * chip.flops)
        times[part] = cost.Times(math, sent / hw.axis_bw(chip))
    return times


@pytest.mark.parametrize("strategy", sorted(explore.STRATEGIES))
@pytest.mark.parametrize("chip", ["v5e", "v5p", "h100"])
def test_a_layer_takes_the_time_that_the_formulas_give(page, strategy, chip):
    for B, F, gated in product((2**14, 2**20), (8192, 28672), (False, True)):
        X = 1 if strategy == "tp" else 4
        Y = 2 if "tp" in strategy else 1
        given = {"B": B, "D": 4096, "F": F, "X": X, "Y": Y}
        given |= {"chip": chip, "gated": gated}
        found = page.evaluate(
            "([s, g]) => Explore.layer(s, g)", [strategy, given]
        )
        expected = by_formula(strategy, given)
        for part, times in expected.items():
            assert found[part]["math"] == pytest.approx(times.math, rel=1e-9)
            assert found[part]["comm"] == pytest.approx(times.comm, rel=1e-9)
        for overlap in (True, False):
            took = page.evaluate(
                "([p, o]) => Explore.seconds(p, o)", [found, overlap]
            )
            parts = expected.values()
            whole = sum(cost.seconds(part, overlap) for part in parts)
            assert took == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("schedule", sorted(explore.SCHEDULES))
def test_a_pipeline_runs_as_the_simulator_runs_it(page, schedule):
    build, v = explore.SCHEDULES[schedule]
    for key in DATA["orders"][schedule]:
        p, m = map(int, key.split(","))
        events = build(p, m, *((v,) if v > 1 else ()), 1, 2)
        found = page.evaluate(
            "([s, p, m]) => Explore.pipeline(s, p, m)", [schedule, p, m]
        )
        assert found["makespan"] == float(pipeline.makespan(events))
        assert found["bubble"] == pytest.approx(float(pipeline.bubble(events)))
        assert found["held"] == pipeline.in_flight(events)
        assert len(found["events"]) == len(events)


# ---- the page ----------------------------------------------------------------


def choose(page, instrument, field, value):
    box = page.locator(f"#explore-{instrument} [name={field}]")
    if box.evaluate("e => e.tagName") == "SELECT":
        box.select_option(value)
    else:
        box.fill(value)
    answer = page.locator(f"#explore-{instrument} output")
    answer.scroll_into_view_if_needed()  # what is far away is not drawn
    return answer.inner_text()


def test_the_instruments_answer_and_refuse(page):
    said = choose(page, "sharding", "text", "A[I_XY, J]")
    assert "1 × 16, 32 bytes" in said
    assert "P(('X', 'Y'), None)" in said
    assert "used twice" in choose(page, "sharding", "text", "A[I_X, J_X]")
    assert "at least 1" in choose(page, "sharding", "X", "0")
    said = choose(page, "roofline", "B", "1024")
    assert re.search(r"bound by\s+communication", said)
    said = choose(page, "roofline", "B", "100000000")
    assert re.search(r"bound by\s+arithmetic", said)
    said = choose(page, "fits", "machine", "H100, 1 node of 8")
    assert "Nothing fits" in said
    said = choose(page, "pipeline", "schedule", "zero bubble")
    assert "zero bubble" in said
    assert page.locator("#explore-pipeline svg rect").count() == 4 * 8 * 3


def test_the_instruments_fit_a_phone_and_the_dark(html, chromium):
    page = chromium.new_context(
        viewport={"width": 390, "height": 844}, color_scheme="dark"
    ).new_page()
    page.goto((html / "book/explore.html").as_uri())
    page.wait_for_selector("#explore-pipeline table")
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
    page.close()
