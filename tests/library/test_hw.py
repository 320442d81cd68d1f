"""Chips: the figures that the sources give, where they were read, the rules."""

import math
import re
from dataclasses import fields, replace
from datetime import date

import pytest

from shardlab import cost, hw
from tests.each import each

ALL = list(hw.CHIPS.values())


def by_name(chips):
    return [pytest.param(chip, id=chip.name) for chip in chips]


@each(
    ("name", "C", "link_bw", "hbm_bw", "hbm_bytes"),
    [
        ("v4p", 2.75e14, 4.5e10, 1.2e12, 32e9),
        ("v5e", 1.97e14, 4.5e10, 8.2e11, 16e9),
        ("v5p", 4.59e14, 9e10, 2.8e12, 96e9),
        ("v6e", 9.18e14, 9e10, 1.64e12, 32e9),
        ("a100", 312e12, 300e9, 2.039e12, 80e9),
        ("tpu7x", 2307e12, 100e9, 7.38e12, 192e9),
        ("h100", 990e12, 450e9, 3.35e12, 80e9),
        ("h200", 990e12, 450e9, 4.8e12, 141e9),
        ("b200", 2250e12, 900e9, 8e12, 180e9),
        ("gb200", 2500e12, 900e9, 8e12, 186e9),
    ],
)
def test_figures_in_si_units(name, C, link_bw, hbm_bw, hbm_bytes):
    chip = hw.chip(name)
    assert (chip.flops, chip.link_bw) == (C, link_bw)
    assert (chip.hbm_bw, chip.hbm_bytes) == (hbm_bw, hbm_bytes)


@each(
    ("name", "int8", "fp8", "fp4", "dcn_bw", "node", "pod"),
    [
        ("v4p", 2.75e14, None, None, 6.25e9, 4, (16, 16, 16)),
        ("v5e", 3.94e14, None, None, 3.125e9, 8, (16, 16)),
        ("v5p", 9.18e14, None, None, 6.25e9, 4, (16, 20, 28)),
        ("v6e", 1.836e15, None, None, 1.25e10, 8, (16, 16)),
        ("tpu7x", None, 4614e12, None, 1.25e10, 4, (16, 24, 24)),
        ("a100", 624e12, None, None, 25e9, 8, ()),
        ("h100", 1980e12, 1980e12, None, 50e9, 8, ()),
        ("h200", 1980e12, 1980e12, None, 50e9, 8, ()),
        ("b200", 4500e12, 4500e12, 9000e12, 50e9, 8, ()),
        ("gb200", None, 5000e12, 10000e12, 50e9, 72, ()),
    ],
)
def test_precisions_and_what_is_outside(
    name, int8, fp8, fp4, dcn_bw, node, pod
):
    chip = hw.chip(name)
    assert (chip.flops_int8, chip.flops_fp8, chip.flops_fp4) == (int8, fp8, fp4)
    assert (chip.dcn_bw, chip.node_size, chip.pod) == (dcn_bw, node, pod)
    assert chip.hop_latency == 1e-6  # S5.7


@each(
    ("chip", "precision", "expected"),
    [
        pytest.param(hw.V5P, "bf16", 2550, id="T1.14-v5p"),
        pytest.param(hw.V5E, "bf16", 2189, id="T2.7-v5e"),
        pytest.param(hw.V4P, "bf16", 3056, id="S10-v4p"),
        pytest.param(hw.V5P, "int8", 5100, id="T3.8-v5p"),
        pytest.param(hw.H100, "bf16", 2200, id="h100-node"),
        pytest.param(hw.B200, "bf16", 2500, id="b200-node"),
    ],
)
def test_alpha_is_flops_per_byte_sent(chip, precision, expected):
    assert round(cost.tokens_per_chip(chip, precision=precision)) == expected


def test_alpha_of_three_axes_is_850():  # T1.14
    assert round(cost.tokens_per_chip(hw.V5P, n_axes=3), 9) == 850


@pytest.mark.parametrize(
    ("chip", "expected"),
    [
        pytest.param(hw.V5E, 240.2, id="ET-3-v5e"),
        pytest.param(hw.V5P, 163.9, id="ET-3-v5p"),
        pytest.param(hw.V4P, 229.2, id="ET-3-v4p"),
    ],
)
def test_hbm_intensity(chip, expected):
    assert round(hw.hbm_intensity(chip), 1) == expected


def test_worked_numbers_of_single_chips():
    assert round(2**20 / hw.H100.hbm_bw * 1e9) == 313  # N1
    assert round(hw.hbm_intensity(hw.H100), 1) == 295.5
    assert 72 * hw.GB200.hbm_bytes == pytest.approx(13.4e12, rel=1e-3)
    assert 2 * 72 * hw.GB200.flops_fp8 == 720e15  # twice with sparsity
    assert 2 * 72 * hw.GB200.flops_fp4 == 1.44e18
    assert 72 * 2 * hw.GB200.link_bw == pytest.approx(130e12, rel=5e-3)
    assert 2 * 6 * hw.TPU7X.link_bw == 1200e9
    assert round(hw.A100.link_bw / hw.A100.dcn_bw) == 12  # C1.3, EC-1
    assert round(hw.H100.link_bw / hw.H100.dcn_bw) == 9  # EC-1
    assert 16 * 20 * 28 * hw.V5P.hbm_bytes == 8960 * 96e9  # ET-4
    assert round(hw.V5P.flops / hw.V5P.dcn_bw) == 73_440  # N14
    assert hw.V5P.dcn_bw * hw.V5P.node_size == 2.5e10  # T6.6


@each("chip", by_name(ALL))
def test_every_figure_has_a_source_and_a_date(chip):
    figures = {f.name for f in fields(hw.Chip)} - {"name", "sources"}
    assert set(chip.sources) == figures
    for source in chip.sources.values():
        assert source.document
        assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", source.date)
        assert date.fromisoformat((source.date + "-01")[:10]) >= date(
            2020, 1, 1
        )


@each("chip", by_name(ALL))
def test_figures_lists_what_is_published_and_nothing_else(chip):
    rows = {name: value for name, value, *_ in hw.figures(chip)}
    assert None not in rows.values()
    assert rows["flops"] == chip.flops
    assert ("pod" in rows) == (chip.axes > 0)
    assert ("flops_fp8" in rows) == (chip.flops_fp8 is not None)


@each("chip", by_name(ALL))
def test_chips_are_consistent_with_themselves(chip):
    assert hw.CHIPS[chip.name] is chip
    assert len(chip.pod) == chip.axes
    assert chip.link_bw < chip.hbm_bw < chip.flops
    assert chip.dcn_bw < chip.link_bw
    assert all(hw.wraps(chip, size) for size in chip.pod)
    assert hash(chip) == hash(hw.chip(chip.name))
    assert "sources" not in repr(chip)


def test_a_torus_sends_both_ways_and_a_switch_once():
    assert hw.axis_bw(hw.V5P) == 1.8e11
    assert hw.axis_bw(hw.H100) == 4.5e11
    assert [hw.ring_directions(c) for c in (hw.V5E, hw.A100)] == [2, 1]


@each(
    ("chip", "rings", "lines"),
    [
        pytest.param(hw.V5E, [16], [1, 2, 4, 8, 12, 15], id="v5e"),
        pytest.param(hw.V6E, [16], [1, 4, 15], id="v6e"),
        pytest.param(hw.V4P, [4, 8, 12, 16], [1, 2, 3, 6], id="v4p"),
        pytest.param(hw.V5P, [4, 20, 28, 32, 384], [1, 2, 10, 18], id="v5p"),
        pytest.param(hw.TPU7X, [4, 16, 24], [1, 2, 6], id="tpu7x"),
        pytest.param(hw.H100, [2, 3, 8], [1], id="h100"),
        pytest.param(hw.GB200, [2, 64, 72], [1], id="gb200"),
    ],
)
def test_wraparound(chip, rings, lines):  # V-5
    assert [hw.wraps(chip, size) for size in rings] == [True] * len(rings)
    assert [hw.wraps(chip, size) for size in lines] == [False] * len(lines)


@each(
    ("name", "reach", "job", "bound"),
    [
        ("v4p", 4096, 4096, 256),  # 64 cubes of 4 x 4 x 4 in a row
        ("v5e", 256, 256, 16),
        ("v5p", 8960, 6144, 384),  # 96 cubes
        ("v6e", 256, 256, 16),
        ("tpu7x", 9216, 9216, 576),
        ("a100", 8, 8, 8),
        ("h100", 8, 8, 8),
        ("h200", 8, 8, 8),
        ("b200", 8, 8, 8),
        ("gb200", 72, 72, 72),
    ],
)
def test_no_axis_is_longer_than_its_network(name, reach, job, bound):
    chip = hw.chip(name)
    assert (hw.reach(chip), hw.largest_slice(chip)) == (reach, job)
    assert hw.axis_bound(chip) == bound
    hw.wraps(chip, bound)
    for size in (bound + 1, 4096 * 4096, 10**400):
        with pytest.raises(ValueError, match="^size of an axis of a") as error:
            hw.wraps(chip, size)
        assert f"{chip.name} must be at most {bound}" in str(error.value)
        assert ("node" if chip.axes == 0 else "slice") in str(error.value)


def test_a_pod_that_is_not_known_has_no_end():
    own = replace(hw.V5P, pod=(), slice_max=())
    assert hw.reach(own) == hw.axis_bound(own) == math.inf
    assert hw.wraps(own, 4 * 10**9)


@each("chip", by_name(ALL))
def test_a_line_has_one_link_and_a_switch_no_lines(chip):
    assert hw.axis_bw(chip, wrap=False) == chip.link_bw
    assert hw.axis_bw(chip) == hw.ring_directions(chip) * chip.link_bw


def test_chip_by_name_in_any_case():
    assert hw.chip("V5P") is hw.V5P
    assert hw.chip("h100") is hw.H100


@each("name", ["v5", "", "tpu-v5p", None, 5, ["v5p"], hw.V5P])
def test_unknown_chip_lists_the_names(name):
    with pytest.raises(ValueError, match="chip must be one of v4p, v5e") as e:
        hw.chip(name)
    assert repr(name) in str(e.value)


def test_flops_at_a_precision():
    assert hw.flops_at(hw.V5P) == 4.59e14
    assert hw.flops_at(hw.V5P, "int8") == 2 * hw.flops_at(hw.V5P)
    assert hw.flops_at(hw.V4P, "int8") == hw.flops_at(hw.V4P)
    assert hw.flops_at(hw.H100, "fp8") == 2 * hw.flops_at(hw.H100)
    assert hw.flops_at(hw.B200, "fp4") == 4 * hw.flops_at(hw.B200)


@pytest.mark.parametrize(
    ("chip", "precision", "has"),
    [
        (hw.V5P, "fp8", "bf16, int8;"),
        (hw.A100, "fp8", "bf16, int8;"),
        (hw.H100, "fp4", "bf16, int8, fp8;"),
    ],
)
def test_absent_precision_names_those_there_are(chip, precision, has):
    with pytest.raises(ValueError, match=f"precision of a {chip.name}") as e:
        hw.flops_at(chip, precision)
    assert has in str(e.value)


@pytest.mark.parametrize("precision", ["fp32", "BF16", None, 8])
def test_unknown_precision(precision):
    with pytest.raises(ValueError, match="precision must be one of 'bf16'"):
        hw.flops_at(hw.V5P, precision)


@pytest.mark.parametrize(
    ("chip", "n_axes"), [(hw.V5P, 4), (hw.V5E, 3), (hw.H100, 2)]
)
def test_no_more_axes_than_the_network_has(chip, n_axes):
    with pytest.raises(ValueError, match=f"n_axes of a {chip.name} must be"):
        cost.tokens_per_chip(chip, n_axes)


@pytest.mark.parametrize("size", [0, -4, 4.0, "16", None])
def test_wraps_refuses_what_is_no_size(size):
    with pytest.raises(ValueError, match="size must be a"):
        hw.wraps(hw.V5P, size)


def test_a_readers_own_chip_needs_no_sources():
    own = hw.Chip(
        "mine", 1e14, 1e10, 1e12, 1e10, 1, "multiple of 4", 1e-6, 1e9, 1
    )
    assert cost.tokens_per_chip(own) == 5000
    assert hw.wraps(own, 4)
    assert hw.figures(own) == []


@each("chip", [hw.V5P, hw.H100])
@each("field", [f.name for f in fields(hw.Chip) if f.name != "sources"])
@each("bad", [math.nan, math.inf, -1, True, "9", 10**400, [4], {}])
def test_no_chip_with_a_figure_that_cannot_be(chip, field, bad):
    if (field, bad) == ("name", "9"):
        assert replace(chip, name=bad).name == bad
        return
    with pytest.raises(ValueError, match=rf"^{field} must be"):
        replace(chip, **{field: bad})


@each(
    ("change", "message"),
    [
        ({"axes": 4}, "axes must be 1 to 3 on a torus and 0 on a switch"),
        ({"axes": 0}, "axes must be 1 to 3 on a torus and 0 on a switch"),
        ({"pod": (16, 16)}, r"pod must be \(\), or a size for each of 3 axes"),
        ({"pod": (16, 16, 0)}, "pod must be a"),
        ({"slice_max": (16,)}, r"slice_max must be \(\), or a size for each"),
        ({"slice_max": (16, 24, 28)}, "slice_max must have no more chips than"),
        ({"flops": 0}, "flops must be a"),
        ({"flops": None}, "flops must be a"),
        ({"flops_fp8": 0}, "flops_fp8 must be a"),
        ({"node_size": 0}, "node_size must be a"),
        ({"name": ""}, "name must be text such as 'v5p'"),
        ({"wrap_rule": "torus"}, "wrap_rule must be one of 'axis of 16'"),
        ({"sources": None}, "sources must be a mapping of figures"),
    ],
)
def test_no_chip_without_its_parts(change, message):
    with pytest.raises(ValueError, match=message):
        replace(hw.V5P, **change)


@each(
    "call",
    [
        hw.flops_at,
        hw.axis_bw,
        hw.hbm_intensity,
        hw.ring_directions,
        hw.figures,
        hw.reach,
        hw.largest_slice,
        hw.axis_bound,
        lambda chip: hw.wraps(chip, 4),
    ],
)
@each("bad", ["v5p", None, 5])
def test_a_name_is_not_a_chip(call, bad):
    with pytest.raises(ValueError, match="chip must be a Chip") as error:
        call(bad)
    assert 'hw.chip("v5p")' in str(error.value)


@pytest.mark.parametrize(
    ("name", "gib"),
    [("v4p", 30.75), ("v5e", 15.75), ("v5p", 95.74), ("v6e", 31.25)],
)
def test_a_program_can_have_what_the_compiler_prints(name, gib):
    chip = hw.chip(name)
    assert chip.usable * chip.hbm_bytes == pytest.approx(gib * 2**30)


def test_a_chip_out_of_a_file_is_like_another_but_for_its_figures(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text('{"name": "mine", "like": "h100", "hbm_bytes": 9.6e10}')
    mine = hw.chip(str(file))
    assert (mine.name, mine.hbm_bytes) == ("mine", 9.6e10)
    assert replace(mine, name="h100", hbm_bytes=8e10) == hw.H100
    assert mine.sources["hbm_bytes"].document == str(file)
    for text, words in (
        ("[]", 'must hold a JSON object with "name" and "like"'),
        ('{"name": "x", "like": "h100", "ram": 3}', "ram is no figure"),
        ('{"name": "x", "like": "h99"}', "chip must be one of"),
        ("{", "chip file"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=words):
            hw.chip(str(file))
    with pytest.raises(ValueError, match="No such file"):
        hw.chip(str(tmp_path / "none.json"))


@pytest.mark.parametrize("name", hw.VARIANTS)
def test_a_variant_is_found_by_name_and_says_where_it_differs(name):
    chip = hw.chip(name.upper())
    assert chip is hw.VARIANTS[name]
    assert chip.name not in hw.CHIPS
    assert all(source.document for source in chip.sources.values())
