"""Curves with a slider: what they hold, and that they can be moved."""

import re

import pytest
from playwright.sync_api import expect

from shardlab import plot
from tests.each import each
from tests.pages.browser import MAX_PAGE, PAGE, overflow, requests_of

CHAPTER = "chapters/09_fsdp_and_tp"
XS = [1, 2, 4, 8]
MAX_SWEEP = 50_000  # bytes


def moments(n=5):
    """Two curves that grow from moment to moment; one has a gap."""
    return [
        plot.Moment(
            f"B = {k}",
            {
                "up": [k * x for x in XS],
                "down": [None, *(k / x for x in XS[1:])],
            },
            f"<{k}> is shown.",
        )
        for k in range(1, n + 1)
    ]


def made(start=2, **changes):
    how = {"x": XS, "moments": moments(), "title": 'a "small" one'}
    return plot.sweep(
        **how | {"x_name": "X", "y_name": "s"} | changes, start=start
    )


def test_a_sweep_is_small_and_the_same_every_time():
    first, again = made(), made()
    assert first.html == again.html
    assert len(first.html.encode()) < MAX_SWEEP
    assert not re.search(r"https?:|url\(|@import|<link|<img", first.html)
    assert repr(first) == 'curves at 5 positions of a slider: a "small" one'


def test_what_is_said_is_escaped():
    assert "<3>" not in made().html
    assert 'data-says="B = 3: &lt;3&gt; is shown."' in made().html
    assert 'aria-label="a &#34;small&#34; one"' in made().html


def points(path):
    """The points of an SVG path, one list for each piece."""
    return [
        [tuple(map(float, point.split())) for point in piece.split("L")]
        for piece in path.split("M")[1:]
    ]


def test_curves_are_straight_where_they_should_be_and_inside_the_frame():
    for path in re.findall(r'<path class="l[01]" d="(M[^H]*?)"', made().html):
        [piece] = points(path)
        xs, ys = zip(*piece, strict=True)
        steps = [b - a for a, b in zip(ys, ys[1:], strict=False)]
        assert max(steps) - min(steps) < 0.21  # powers of x on a log scale
        assert all(54 <= x <= 382.1 for x in xs)
        assert all(10 <= y <= 230 for y in ys)
        assert len(piece) == (4 if steps[0] < 0 else 3)


def test_the_best_and_what_is_shaded_are_where_they_are_said_to_be():
    marked = [m._replace(best=4, shades=((2, 8), (4, 8))) for m in moments()]
    html = made(moments=marked).html
    ground = re.findall(r'<path class="s" d="M([\d.]+) 10H([\d.]+)V', html)
    assert ground[:2] == [("163.3", "382.0"), ("272.7", "382.0")]
    assert html.count('class="b" d="M272.7 10V230"') == len(marked)
    dots = re.findall(r'class="d l(\d)" d="M272.7 [\d.]+h0"', html)
    assert dots == ["0", "1"] * len(marked)
    gap = made(moments=[m._replace(best=1) for m in moments()]).html
    assert "d l0" in gap
    assert "d l1" not in gap


def test_curves_are_cut_off_at_the_limits():
    html = made(limits=(0.5, 20)).html
    assert '<svg x="54" y="10" width="332" height="220"' in html
    assert ">10</text>" in html
    assert ">100</text>" not in html


@each(
    ("changes", "said"),
    [
        ({"limits": (2, 2)}, "limits must be 0 < low < high"),
        ({"limits": (0, 2)}, "limits must be 0 < low < high"),
        (
            {"moments": [moments(1)[0]._replace(best=9)]},
            "best and shades at B = 1 must lie from 1 to 8",
        ),
        (
            {"moments": [moments(1)[0]._replace(shades=((0.5, 2),))]},
            "best and shades at B = 1 must lie from 1 to 8",
        ),
        ({"start": 5}, "start must be below the 5 moments, got 5"),
        ({"start": -1}, "start must be"),
        ({"x": [0, 1, 2, 4]}, "x must be two or more rising numbers above 0"),
        ({"x": [1, 4, 2, 8]}, "x must be two or more rising numbers above 0"),
        ({"x": [1]}, "x must be two or more rising numbers above 0"),
        ({"x": [1, 2, 4]}, "up at B = 1 must have a number above 0"),
        (
            {"moments": [*moments(2), plot.Moment("B", {"up": XS}, "")]},
            "moments must have the same lines",
        ),
        (
            {"moments": [plot.Moment("B", {"up": [1, 2, 0, 4]}, "")]},
            "up at B must have a number above 0",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        made(**{"start": 0} | changes)


# ---- in a browser ------------------------------------------------------------


@pytest.fixture(scope="module")
def page_of_two(tmp_path_factory):
    """A page with two sweeps; its address."""
    path = tmp_path_factory.mktemp("sweeps") / "sweeps.html"
    body = made().html + made(start=0).html
    path.write_text(PAGE + body)
    return path.as_uri()


def shown(sweep):
    """The numbers of the moments whose curves can be seen."""
    return sweep.locator(".m").evaluate_all(
        "all => all.flatMap((m, i) => "
        "getComputedStyle(m).display == 'none' ? [] : [i])"
    )


def drag(page, sweep, part):
    """Drag the slider of a sweep to a part of its length, with the mouse."""
    bar = sweep.locator("input")
    bar.scroll_into_view_if_needed()
    box, now = bar.bounding_box(), int(bar.input_value())
    last = int(bar.get_attribute("max"))
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8 + (box["width"] - 16) * now / last, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 8 + (box["width"] - 16) * part, middle, steps=5)
    page.mouse.up()


def test_the_slider_moves_the_curves_and_says_what_there_is(
    page_of_two, open_page
):
    page = open_page(page_of_two)
    first, second = page.locator(".sbs-sweep").all()
    assert (shown(first), shown(second)) == ([2], [0])
    for part, expected in ((1, 4), (0, 0), (0.5, 2)):
        drag(page, first, part)
        words = f"B = {expected + 1}: <{expected + 1}> is shown."
        expect(first.locator("output")).to_have_text(words)
        assert shown(first) == [expected]
        assert first.locator(".plot").get_attribute("aria-label") == words
    assert shown(second) == [0]


def test_arrow_keys_move_the_slider(page_of_two, open_page):
    page = open_page(page_of_two)
    sweep = page.locator(".sbs-sweep").first
    sweep.locator("input").focus()
    for key, expected in (("ArrowRight", 3), ("End", 4), ("ArrowLeft", 3)):
        page.keyboard.press(key)
        assert shown(sweep) == [expected]


def test_without_scripts_one_moment_is_a_picture(page_of_two, open_page):
    page = open_page(page_of_two, java_script_enabled=False)
    sweep = page.locator(".sbs-sweep").first
    assert not sweep.locator("input").is_visible()
    assert sweep.locator("output").inner_text().startswith("B = 3: <3>")
    assert sweep.locator(".m.on .l0").is_visible()
    assert not sweep.locator(".m .l0").first.is_visible()


def test_a_sweep_fits_a_phone(page_of_two, open_page):
    page = open_page(page_of_two, viewport={"width": 390, "height": 844})
    assert overflow(page) <= 0


def luminance(sweep, script):
    colour = sweep.evaluate(script)
    return sum(float(n) for n in re.findall(r"[\d.]+", colour)[:3]) / 3


def test_the_sweep_of_the_book_moves_in_the_dark(html, open_page):
    address = (html / f"{CHAPTER}.html").as_uri()
    page = open_page(address, color_scheme="dark")
    sweep = page.locator(".sbs-sweep")
    drag(page, sweep, 1)
    assert shown(sweep) == [16]
    assert luminance(sweep, "e => getComputedStyle(e).color") > 150
    ink = "e => getComputedStyle(e.querySelector('.l2')).stroke"
    assert luminance(sweep, ink) > 150
    sweep.locator("input").focus()
    page.keyboard.press("ArrowLeft")  # elsewhere this turns the page
    page.wait_for_timeout(300)
    assert page.url == address
    assert shown(sweep) == [15]


def test_the_page_with_a_sweep_is_small_and_asks_for_nothing(html, open_page):
    path = html / f"{CHAPTER}.html"
    page = open_page("about:blank")
    assert requests_of(page, path.as_uri()) == []
    assert page.locator(".sbs-sweep").count() == 1
    assert path.stat().st_size < MAX_PAGE // 2
