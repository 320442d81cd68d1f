"""Films of blocks that move: what they show, and how they are played."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from shardlab import plot, ring
from shardlab.plot import templates
from shardlab.plot.films import FRAME, RING
from tests.each import each
from tests.pages.browser import MAX_PAGE, PAGE, overflow, requests_of

CHAPTER = "chapters/02_collectives"
MAX_FILM = 120_000  # bytes


def own(N, parts=1):
    """Block n is on chip n."""
    return [{n: np.array([1 << n] * parts)} for n in range(N)]


def terms(N, parts=1):
    """Every chip has a term of every piece."""
    return [{k: np.array([1 << n] * parts) for k in range(N)} for n in range(N)]


def rows(N, parts=1):
    """Every chip has a part for every chip."""
    return [
        {(n, k): np.array([1 << n] * parts) for k in range(N)} for n in range(N)
    ]


RUNS = {
    "all_gather": (ring.all_gather_steps, own, 1),
    "reduce_scatter": (ring.reduce_scatter_steps, terms, 1),
    "all_reduce": (ring.all_reduce_steps, terms, 1),
    "all_to_all": (ring.all_to_all_steps, rows, 2),
}


def run(name, N, **options):
    """Steps and start of a collective whose chunks have two numbers."""
    steps, start, power = RUNS[name]
    return steps(N**power * 2 * 8, N, **options), start(N, 2)


def after(name, chip, N):
    """What a chip should hold in the end: chunk, element, term."""
    everyone, both = range(N), range(2)
    if name == "all_gather":
        return {(n, e, n) for n in everyone for e in both}
    if name == "all_to_all":
        return {((n, chip), e, n) for n in everyone for e in both}
    pieces = [chip] if name == "reduce_scatter" else everyone
    return {(k, e, n) for k in pieces for e in both for n in everyone}


@each("name", RUNS)
@each("N", [2, 3, 4, 5, 8])
@each("options", [{}, {"directions": 1}, {"wrap": False}, {"ties": "one_way"}])
def test_a_film_ends_with_what_the_collective_promises(name, N, options):
    moments = plot.film(*run(name, N, **options))
    assert moments[-1] == [after(name, chip, N) for chip in range(N)]


@pytest.mark.parametrize("name", RUNS)
def test_what_comes_in_a_step_was_there_before_at_its_source(name):
    steps, start = run(name, 6)
    moments = plot.film(steps, start)
    for step, before, now in zip(steps, moments, moments[1:], strict=False):
        crossed = plot.brought(step, before)
        for chip in range(6):
            came = [v for (_, there), v in crossed.items() if there == chip]
            assert now[chip] - before[chip] == set().union(*came) - before[chip]


def test_a_sum_is_in_one_place_and_a_copy_in_two():
    moments = plot.film(*run("reduce_scatter", 4, directions=1))
    assert {sum(map(len, moment)) for moment in moments} == {4 * 4 * 2}
    moments = plot.film(*run("all_gather", 4, directions=1))
    assert [sum(map(len, m)) for m in moments] == [8, 16, 24, 32]


def test_of_a_sum_only_the_part_that_is_sent_is_gone():
    start = [{0: np.array([1, 1])}, {0: np.array([2, 2])}]
    first, second = plot.film([[ring.Hop(1, 0, 0, 8, 8, adds=True)]], start)[-1]
    assert first == {(0, 0, 0), (0, 1, 0), (0, 1, 1)}
    assert second == {(0, 0, 1)}


def test_a_term_that_is_added_twice_is_seen():
    start = [{0: np.array([1])}, {0: np.array([2])}]
    hop = ring.Hop(1, 0, 0, 8, adds=True)
    once = plot.film([[hop]], start)
    assert once[-1][0] == {(0, 0, 0), (0, 0, 1)}
    twice = plot.terms(ring.carry([[hop], [hop]], start))
    assert twice[0] != once[-1][0]


@each("name", RUNS)
@each("N", [2, 4, 8])
def test_a_film_is_small_and_the_same_every_time(name, N):
    film, again = (plot.player(*run(name, N), name) for _ in range(2))
    assert film.html == again.html
    assert len(film.html.encode()) < MAX_FILM
    assert not re.search(r"https?:|url\(|@import|<link|<img", film.html)
    assert film.html.count("<figure>") == len(run(name, N)[0]) + 1


def test_a_film_says_how_much_the_busiest_link_carries():
    said = re.findall(
        r"<figcaption>(.*?)<", plot.player(*run("all_gather", 4), "x").html
    )
    assert said == [
        "Start",
        "Step 1 of 2: 8 links in use, the busiest carries one block. "
        "So far 16 bytes on the busiest link, 128 on all links together",
        "Step 2 of 2: 8 links in use, the busiest carries half a block. "
        "So far 24 bytes on the busiest link, 192 on all links together",
    ]
    start = [{0: np.array([1])}, {}]
    lone = plot.player(ring.broadcast_steps(8, 2, directions=1), start, "x")
    assert "Step 1 of 1: 1 link in use" in lone.html


def test_every_moment_is_drawn_inside_its_picture():
    for wrap in (True, False):
        for N in (2, 4, 8):
            moments = plot.film(*run("all_to_all", N, wrap=wrap))
            scene = plot.stage(moments, wrap)
            for chip in range(N):
                x, y = scene.middle(chip)
                wide, high = scene.box()
                assert 0 <= x - wide / 2 < x + wide / 2 <= scene.room <= FRAME
                assert 0 <= y - high / 2 < y + high / 2 <= scene.bottom()


@each("name", RUNS)
@each("N", [2, 3, 4, 5, 6, 8])
def test_chips_lie_apart_and_wires_join_them(name, N):
    scene = plot.stage(plot.film(*run(name, N)))
    wide, high = scene.box()
    for one, other in scene.wires():
        (x, y), (u, v) = scene.middle(one), scene.middle(other)
        assert abs(x - u) >= wide + 8 or abs(y - v) >= high + 8
        start, end = scene.way(one, other)
        assert np.hypot(*(end - start)) > 8
    html = plot.player(*run(name, N), name).html
    assert html.count("<use ") == html.count("<figure>") - 1


@each("name", RUNS)
@each("N", [4, 8])
def test_a_ring_is_as_narrow_as_a_phone_and_not_blown_up(name, N):
    if N == 4 or name == "all_gather":  # eight tables of sums are wider
        assert plot.stage(plot.film(*run(name, N))).room <= RING <= 326
    html = plot.player(*run(name, N), name).html
    assert "--most:" in html
    assert "--most:" not in plot.player(*run(name, N), name, wrap=False).html


def test_words_of_a_film_are_text_and_not_html():
    film = plot.player(*run("all_gather", 2), 'a <b> & "c" FIGURES')
    assert "<b>" not in film.html
    assert "a &lt;b&gt; &amp; &#34;c&#34; FIGURES" in film.html
    steps = ring.all_gather_steps(16, 2, directions=1)
    assert "<i>" not in plot.product_player(steps, 2, "<i>").html


def test_the_page_has_the_look_of_the_films():
    assert Path("book/style/films.css").read_text() == templates.sheet()
    assert "films.css" in Path("_config.yml").read_text()


def test_the_four_collectives_are_drawn_from_their_films():
    ax = plot.exchanges({name: run(name, 3) for name in RUNS})
    held = sum(
        sum(map(len, moment))
        for name in RUNS
        for moment in (plot.film(*run(name, 3))[n] for n in (0, -1))
    )
    digits = [t for t in ax.texts if t.get_text().isdecimal()]
    assert len(digits) == held
    # A sum of three terms has two. There are 3 after a ReduceScatter, 9 after
    # an AllReduce, and each is of two elements.
    assert sum(t.get_text() == "+" for t in ax.texts) == 2 * 2 * (3 + 9)
    plt.close(ax.figure)


# ---- in a browser ------------------------------------------------------------


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """A page with two films; its address."""
    path = tmp_path_factory.mktemp("films") / "films.html"
    body = "".join(
        plot.player(*run(name, 4, directions=1), name).html
        for name in ("all_gather", "all_to_all")
    )
    path.write_text(PAGE + body)
    return path.as_uri()


def shown(film):
    """The numbers of the frames that can be seen."""
    frames = film.locator("figure")
    return [i for i in range(frames.count()) if frames.nth(i).is_visible()]


def test_buttons_step_forth_and_back_and_films_do_not_mind_each_other(
    films, open_page
):
    first, second = open_page(films).locator(".sbs-film").all()
    assert (shown(first), shown(second)) == ([1], [1])
    for expected in (2, 3, 3):
        first.get_by_role("button", name="Step").click()
        assert shown(first) == [expected]
    assert first.locator("output").inner_text().startswith("Step 3 of 3")
    first.get_by_role("button", name="Back").click()
    assert (shown(first), shown(second)) == ([2], [1])
    for _ in range(2):
        first.get_by_role("button", name="Back").click()
    assert shown(first) == [0]


def test_at_rest_bar_and_words_are_those_of_the_picture(films, open_page):
    film = open_page(films).locator(".sbs-film").first
    # A film rests at a moment that shows something.
    assert shown(film) == [1]
    bar, says = film.get_by_role("slider"), film.locator("output")
    assert bar.input_value() == "1"
    assert bar.get_attribute("aria-valuetext").startswith("Step 1 of 3")
    assert says.inner_text().startswith("Step 1 of 3")
    assert says.inner_text().endswith(
        "on all links together. Play starts at the beginning."
    )
    assert moving(film) == 0
    film.get_by_role("button", name="Step").click()
    film.get_by_role("button", name="Back").click()
    assert says.inner_text() == bar.get_attribute("aria-valuetext")


def test_play_runs_to_the_end_and_pause_stops_it(films, open_page):
    page = open_page(films)
    film = page.locator(".sbs-film").first
    film.get_by_role("button", name="Play").click()
    assert shown(film) == [1]
    film.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(1800)
    assert shown(film) == [1]
    film.get_by_role("button", name="Play").click()
    film.get_by_role("button", name="Play").wait_for(timeout=120_000)
    assert shown(film) == [3]
    film.get_by_role("button", name="Play").click()
    assert shown(film) == [1]


def test_keys_play_and_step(films, open_page):
    page = open_page(films)
    film = page.locator(".sbs-film").first
    film.focus()
    for key, expected in (
        ("ArrowRight", 2),
        ("ArrowRight", 3),
        ("ArrowLeft", 2),
        ("End", 3),
        ("Home", 0),
        ("Control+ArrowRight", 0),
    ):
        page.keyboard.press(key)
        assert shown(film) == [expected], key
    page.keyboard.press("Space")
    assert film.get_by_role("button", name="Pause").count() == 1
    page.keyboard.press("Space")
    assert film.get_by_role("button", name="Pause").count() == 0


def test_the_bar_goes_to_any_moment_and_the_speed_can_be_changed(
    films, open_page
):
    film = open_page(films).locator(".sbs-film").first
    bar = film.get_by_role("slider")
    bar.fill("2")
    assert shown(film) == [2]
    assert bar.get_attribute("aria-valuetext").startswith("Step 2 of 3")
    film.get_by_role("button", name="Back").click()
    assert bar.input_value() == "1"
    speed = film.get_by_role("button", name="Speed")
    speed.click()
    assert speed.inner_text() == "2×"


def test_all_moments_are_printed(films, open_page):
    page = open_page(films)
    page.emulate_media(media="print")
    film = page.locator(".sbs-film").first
    assert shown(film) == [0, 1, 2, 3]
    assert not film.get_by_role("button", name="Play").is_visible()


def moving(film):
    """How many things slide in the frame that is shown."""
    return film.locator("figure.on .s").evaluate_all(
        "all => all.filter(e => getComputedStyle(e).animationName != 'none')"
        ".length"
    )


def test_what_comes_slides_but_not_for_who_wants_no_motion(films, open_page):
    for wish, expected in (("no-preference", 4), ("reduce", 0)):
        film = open_page(films, reduced_motion=wish).locator(".sbs-film").first
        film.get_by_role("button", name="Step").click()
        assert moving(film) == expected
        film.get_by_role("button", name="Step").click()
        film.get_by_role("button", name="Back").click()
        assert moving(film) == 0


def test_without_scripts_every_moment_is_shown(films, open_page):
    page = open_page(films, java_script_enabled=False)
    film = page.locator(".sbs-film").first
    assert shown(film) == [0, 1, 2, 3]
    assert not film.get_by_role("button", name="Play").is_visible()


def test_a_film_fits_a_phone(films, open_page):
    page = open_page(films, viewport={"width": 390, "height": 844})
    assert overflow(page) <= 0


def luminance(page, script):
    colour = page.locator(".sbs-film").first.evaluate(script)
    return sum(float(n) for n in re.findall(r"[\d.]+", colour)[:3]) / 3


@pytest.mark.long
def test_the_films_of_the_book_play_in_the_dark(html, open_page):
    address = (html / f"{CHAPTER}.html").as_uri()
    page = open_page(address, color_scheme="dark")
    film = page.locator(".sbs-film").first
    film.scroll_into_view_if_needed()
    assert luminance(page, "e => getComputedStyle(e).color") > 150
    behind = (
        "e => { while (e && /, 0\\)$|transparent/.test(getComputedStyle(e)"
        ".backgroundColor)) e = e.parentElement; return getComputedStyle(e)"
        ".backgroundColor }"
    )
    assert luminance(page, behind) < 80
    film.focus()
    page.keyboard.press("ArrowRight")  # elsewhere this turns the page
    page.wait_for_timeout(300)
    assert page.url == address
    assert shown(film) == [2]


def test_the_page_with_films_is_small_and_asks_for_nothing(html, open_page):
    path = html / f"{CHAPTER}.html"
    page = open_page("about:blank")
    assert requests_of(page, path.as_uri()) == []
    assert page.locator(".sbs-film").count() >= 4
    assert path.stat().st_size < 0.6 * MAX_PAGE
