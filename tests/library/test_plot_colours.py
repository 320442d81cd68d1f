"""Colours that are told apart: by most eyes, in grey, on light and dark."""

from itertools import combinations, pairwise, product
from pathlib import Path

import pytest

from shardlab.plot import colours, schedules
from tests.each import each

AXES = ("axis-x", "axis-y", "axis-z", "pod")
PIPELINE = ("forward", "weight-half", "input-half", "backward")
THEMES = ("light", "dark")
EYES = [sight for sight in colours.SIGHTS if sight != "greyscale"]


def least(names, theme, sight="normal"):
    """The distance of the two of some names that look most alike."""
    return min(
        colours.distance(
            colours.colour(one, theme), colours.colour(other, theme), sight
        )
        for one, other in combinations(names, 2)
    )


@each("theme", THEMES)
@each(
    ("sight", "apart"),
    [
        ("normal", 39),
        ("deuteranopia", 18),
        ("protanopia", 24),
        ("tritanopia", 12),
    ],
)
def test_two_axes_never_look_alike(theme, sight, apart):
    assert least(AXES, theme, sight) > apart


@each(("theme", "sight"), list(product(THEMES, EYES)))
def test_no_two_hues_look_alike_to_any_eye(theme, sight):
    assert least(colours.RAMPS, theme, sight) > 5


@each(("theme", "hue"), list(product(THEMES, colours.RAMPS)))
def test_steps_of_a_hue_differ_by_nine_of_lightness_or_more(theme, hue):
    found = [
        colours.lightness(colours.colour(f"{hue}-{n}", theme))
        for n in range(1, 5)
    ]
    # Darker and darker on a light page, brighter and brighter on a dark one.
    signs = {"light": 1, "dark": -1}[theme]
    assert min(signs * (a - b) for a, b in pairwise(found)) > 9


@pytest.mark.parametrize("theme", THEMES)
def test_parts_of_a_pipeline_stay_apart_in_grey(theme):
    greys = sorted(
        colours.lightness(colours.colour(n, theme)) for n in PIPELINE
    )
    assert min(b - a for a, b in pairwise(greys)) > 7.5
    for sight in EYES:
        assert least(PIPELINE, theme, sight) > 8


@each(("theme", "sight"), list(product(THEMES, EYES)))
def test_arithmetic_network_and_memory_look_different(theme, sight):
    names = ("arithmetic-2", "network-1", "memory-3")
    assert least(names, theme, sight) > 10
    assert least(names, theme, "greyscale") > 8


@pytest.mark.parametrize("theme", THEMES)
def test_letters_can_be_read_on_every_fill_and_on_the_page(theme):
    ink, paper = (colours.colour(n, theme) for n in ("ink", "paper"))
    fills = [name for name in colours.PALETTE if name[-1].isdigit()]
    for name in (*fills, *PIPELINE, "surface"):
        assert colours.contrast(colours.colour(name, theme), ink) >= 4.5, name
    for name in (*colours.RAMPS, "ink", "ink-soft", "counted", "mark"):
        assert colours.contrast(colours.colour(name, theme), paper) >= 4.5, name
    assert colours.contrast(colours.colour("line", theme), paper) >= 3


@pytest.mark.parametrize(
    ("colour", "value"),
    [("#000000", 0), ("#ffffff", 100), ("#777777", 50.03), ("#ff0000", 53.24)],
)
def test_lightness_is_that_of_the_standard(colour, value):
    assert colours.lightness(colour) == pytest.approx(value, abs=0.01)


def test_distances_and_contrasts_are_those_of_the_standards():
    # Lindbloom's calculator: red is (53.24, 80.09, 67.20), white is 100.
    red = colours.distance("#ff0000", "#ffffff")
    assert red == pytest.approx((46.76**2 + 80.09**2 + 67.2**2) ** 0.5, abs=0.1)
    assert colours.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert colours.contrast("#767676", "#ffffff") == pytest.approx(4.54, 1e-3)
    assert colours.distance("#ff0000", "#7f7f7f", "greyscale") < 1


def test_the_step_of_an_index_has_a_name():
    assert colours.step("X", 0) == "axis-x-1"
    assert colours.step("Y", 1, 2) == "axis-y-2"
    assert colours.step("pod", 3, 4) == "pod-4"
    assert colours.step("Z", 7, 8) == "axis-z-8-of-8"
    assert colours.step("X", 15, 16) == "axis-x-8-of-8"
    assert colours.shade("X", 1) == colours.colour("axis-x-2")
    with pytest.raises(ValueError, match="index must be 0 to 3, got 4"):
        colours.step("X", 4)


def test_eight_indices_have_eight_steps():
    found = [
        colours.lightness(colours.shade("X", index, 8)) for index in range(8)
    ]
    assert min(a - b for a, b in pairwise(found)) > 4


def test_wrong_names_are_told():
    with pytest.raises(ValueError, match="name must be one of PALETTE, got"):
        colours.colour("blue")
    with pytest.raises(ValueError, match="theme must be one of"):
        colours.colour("ink", "grey")
    with pytest.raises(ValueError, match="sight must be one of"):
        colours.distance("#000000", "#ffffff", "achromatopsia")


def test_svg_gets_variables_that_fall_back_to_the_light_palette():
    svg = '<path style="fill: #A5C1E2; stroke: #000000"/><a href="#a5c1e2"/>'
    assert colours.with_variables(svg) == (
        '<path style="fill: var(--axis-x-2, #A5C1E2); '
        'stroke: var(--ink, #000000)"/><a href="#a5c1e2"/>'
    )
    assert colours.variable("axis-x-2") == "var(--axis-x-2, #a5c1e2)"


def test_the_page_has_these_colours():
    sheet = Path("book/style/colours.css").read_text()
    assert sheet == colours.css()


def test_no_two_kinds_of_work_in_a_schedule_look_the_same():
    looks = {kind: str(look) for kind, (_, look) in schedules.LOOKS.items()}
    assert len(set(looks.values())) == len(looks) == 4
