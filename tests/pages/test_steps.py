"""Films of training steps: what they show is what the simulators say."""

import re
from itertools import pairwise

import pytest

from shardlab import pipeline, plot, room, timeline
from shardlab.plot.colours import colour, shade
from shardlab.plot.films import FRAME
from shardlab.plot.pipes import NARROW, letters, saved, waiting, working
from shardlab.plot.schedules import LOOKS
from shardlab.plot.steps import GUTTER, TALL, TOP, scenes
from shardlab.room import Stay
from shardlab.timeline import Done, Task
from tests.each import each
from tests.pages.browser import PAGE, overflow

MAX_FILM = 80_000  # bytes
FILLS = [shade("X", chip, 4) for chip in range(4)]
SAVED = colour("memory-1")
MATRIX, PART, TOKENS = 4096, 1024, 1280  # bytes, PART on each of 4 chips


def fsdp_tasks(L, gather=1, product=1):
    """A step of FSDP; each gather waits until a layer was let go."""
    found, last = [], ()
    for n in range(L):
        found.append(Task(f"G{n}", "network", gather, last))
        found.append(Task(f"F{n}", "chip", product, (f"G{n}",)))
        last = (f"F{n}",)
    for n in reversed(range(L)):
        found.append(Task(f"G{n}'", "network", gather, last))
        found.append(Task(f"D{n}", "chip", product, last))
        found.append(Task(f"S{n}", "network", gather, (f"D{n}",)))
        found.append(Task(f"B{n}", "chip", product, (f"G{n}'", f"D{n}")))
        last = (f"B{n}",)
    return found


def fsdp_stays(L, N=4):
    """What a chip holds of each layer, and from when to when."""
    found = []
    for n in range(L):
        comes = f"B{n + 1}" if n + 1 < L else f"F{n}"
        found += [
            Stay(f"W{n}_X", "G0", "S0", MATRIX / N),
            Stay(f"W{n}", f"G{n}", f"F{n}", MATRIX),
            Stay(f"W{n}", f"G{n}'", f"B{n}", MATRIX),
            Stay(f"In{n}", f"F{n - 1}" if n else "G0", f"D{n}", TOKENS),
            Stay(f"dOut{n}", comes, f"B{n}", TOKENS),
            Stay(f"dW{n}", f"D{n}", f"S{n}", MATRIX),
            Stay(f"dW{n}_X", f"S{n}", "S0", MATRIX / N),
        ]
    return found


def step(L=3, **lasts):
    """A step that was played, and its stays."""
    return timeline.play(fsdp_tasks(L, **lasts)), fsdp_stays(L)


def figures(film):
    """(words, SVG) of each frame."""
    form = r'aria-label="(.*?)">(.*?)</svg><figcaption>(.*?)<'
    found = re.findall(form, film.html)
    assert all(label == words for label, _, words in found)
    return [(words, drawn) for words, drawn, _ in found]


# ---- FSDP: what is in a scene ------------------------------------------------


@each("lasts", [{}, {"product": 1.6}, {"gather": 3}])
@each("L", [1, 2, 3])
def test_a_scene_has_what_runs_and_what_is_held_between_two_events(L, lasts):
    played, stays = step(L, **lasts)
    at = {done.name: done for done in played}
    times = sorted({t for done in played for t in (done.start, done.end)})
    found = scenes(played, stays)
    assert [found[0].name, found[-1].name] == ["Start", "End"]
    for (time, until), scene in zip(pairwise(times), found[1:-1], strict=True):
        middle = (time + until) / 2
        runs = [d.name for d in played if d.start < middle < d.end]
        here = [
            stay
            for stay in stays
            if at[stay.since].start < middle < at[stay.until].end
        ]
        assert sorted(scene.tasks) == sorted(runs)
        assert sorted(scene.held) == sorted(stay.what for stay in here)
        assert scene.bytes == sum(stay.size for stay in here)
    assert max(scene.bytes for scene in found) == room.peak(played, stays)


def test_at_the_start_there_are_rows_and_tokens_and_at_the_end_rows():
    found = scenes(*step())
    assert set(found[0].held) == {"W0_X", "W1_X", "W2_X", "In0"}
    assert found[0].bytes == 3 * PART + TOKENS
    rows = {f"{row}{n}_X" for row in ("W", "dW") for n in range(3)}
    assert set(found[-1].held) == rows
    assert found[-1].bytes == 6 * PART


def test_a_rounding_makes_no_scene():
    played, stays = step()
    late = [
        done._replace(start=done.start + 1e-12, end=done.end + 1e-12)
        if done.name == "S2"
        else done
        for done in played
    ]
    names = [scene.tasks for scene in scenes(played, stays)]
    assert [scene.tasks for scene in scenes(late, stays)] == names


@pytest.mark.parametrize("n", range(3), ids=lambda n: f"Z3.2-layer{n}")
def test_three_things_happen_to_each_matrix_on_the_way_back(n):
    found = scenes(*step())
    [made] = [s for s in found if f"D{n}" in s.tasks]
    [handed] = [s for s in found if f"B{n}" in s.tasks]
    assert f"G{n}'" in made.tasks
    assert f"S{n}" in handed.tasks
    assert f"dW{n}" in made.held
    assert {f"dW{n}", f"dW{n}_X", f"W{n}"} <= set(handed.held)
    after = found[found.index(handed) + 1]
    assert not {f"dW{n}", f"W{n}", f"dOut{n}"} & set(after.held)
    assert f"dW{n}_X" in after.held


def test_one_layer_is_gathered_and_activations_pile_up():
    # C3.13
    found = scenes(*step())
    whole = [[w for w in s.held if re.fullmatch(r"W\d", w)] for s in found]
    assert max(map(len, whole)) == 1
    piles = [sum(w.startswith("In") for w in s.held) for s in found]
    assert piles == [1, 1, 2, 2, 3, 3, 3, 3, 2, 2, 1, 1, 0, 0]


# ---- FSDP: what is drawn -----------------------------------------------------

BOX = re.compile(r"M([-\d.]+) ([-\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z")


def boxes(drawn):
    """(fill, left, top, width, height) of each filled box."""
    for fill, path in re.findall(r'<path fill="(.*?)" d="(.*?)"', drawn):
        for place in BOX.findall(path):
            yield fill, *map(float, place)


def pitch(N):
    return (FRAME - GUTTER) / N


@pytest.mark.parametrize("N", [2, 4])
def test_the_area_that_is_filled_is_what_is_held(N):
    L = 2
    played = timeline.play(fsdp_tasks(L))
    stays = fsdp_stays(L, N)
    film = figures(plot.step_player(played, stays, "x", N))
    for (_, drawn), scene in zip(film, scenes(played, stays), strict=True):
        areas = [0] * N
        for _, x, _, width, height in boxes(drawn):
            areas[int((x - GUTTER) / pitch(N))] += width * height
        # Of a whole W the chip's own rows are drawn once.
        twice = sum(w in ("W0", "W1") for w in scene.held) * MATRIX / N
        width = int((pitch(N) - 8) / L) - 3
        for area in areas:
            held = area / (TALL * width) * MATRIX
            assert held == pytest.approx(scene.bytes - twice, rel=0.02)


def test_fills_are_those_of_the_owner():
    film = figures(plot.step_player(*step(), "x"))
    for chip in range(4):
        first = GUTTER + chip * pitch(4)
        last = first + pitch(4)
        fills = [
            [box[0] for box in boxes(drawn) if first <= box[1] < last]
            for _, drawn in film
        ]
        assert set(fills[0]) == {FILLS[chip]}  # rows and tokens of its own
        assert set(fills[1]) == set(FILLS[:4])  # W0 from everywhere
        assert fills[1].count(FILLS[chip]) == 4
        assert all(fills[-1].count(FILLS[k]) >= 3 for k in range(4))


def test_rows_lie_where_they_are_in_the_matrix():
    film = figures(plot.step_player(*step(), "x"))
    top = {"W": TOP, "dW": TOP + TALL + 3 * 6 + 2 * 12.5}
    for chip in range(4):
        here = [
            [
                b[2]
                for b in boxes(drawn)
                if int((b[1] - GUTTER) / pitch(4)) == chip
            ]
            for _, drawn in film
        ]
        mine = [top[row] + 10 * chip for row in ("W", "dW")]
        assert here[0].count(mine[0]) == 3  # of each layer
        assert set(here[-1]) == set(mine)
        assert [here[1].count(TOP + 10 * k) for k in range(4)] == [
            3 if k == chip else 1 for k in range(4)
        ]


def test_what_is_multiplied_has_a_thick_frame():
    W, In = TOP, TOP + TALL + 6
    dOut = In + 12.5 + 6
    factors = {"F": {W, In}, "D": {In, dOut}, "B": {W, dOut}}
    played, stays = step()
    film = figures(plot.step_player(played, stays, "x"))
    for (_, drawn), scene in zip(film, scenes(played, stays), strict=True):
        thick = re.findall(r'<path class="u" d="(.*?)"', drawn)
        products = [task for task in scene.tasks if task[0] in factors]
        assert len(thick) == len(products)
        for path, task in zip(thick, products, strict=True):
            places = [tuple(map(float, box[:2])) for box in BOX.findall(path)]
            assert {y for _, y in places} == factors[task[0]]
            across = int((pitch(4) - 8) / 3)
            lefts = [GUTTER + pitch(4) * c for c in range(4)]
            lefts = [x + across * int(task[1]) for x in lefts]
            assert sorted({x for x, _ in places}) == lefts
            assert len(places) == 8


SLIDE = re.compile(r'<g class="s" style="--x:(-?[\d.]+)px">(.*?)</g>')


def test_what_comes_over_the_network_slides_from_where_it_was():
    played, stays = step()
    film = figures(plot.step_player(played, stays, "x"))
    for (_, drawn), scene in zip(film, scenes(played, stays), strict=True):
        slides = SLIDE.findall(drawn)
        moves = [task for task in scene.tasks if task[0] in "GS"]
        assert len(slides) == 12 * len(moves) == drawn.count('class="s"')
        for away, inside in slides:
            for fill, x, *_ in boxes(inside):
                source = (x + float(away) - GUTTER) / pitch(4)
                assert int(source) == FILLS.index(fill)
                assert int((x - GUTTER) / pitch(4)) != int(source)


def test_a_film_says_what_chips_and_network_do():
    words = [words for words, _ in figures(plot.step_player(*step(1), "x"))]
    assert words == [
        "Start: each chip has its own rows of all weights, and its tokens; "
        "2.3 kB on a chip",
        "1 of 4: chips wait, the network gathers W0; 6.4 kB on a chip",
        "2 of 4: chips multiply In0·W0, the network is idle; 7.7 kB on a chip",
        "3 of 4: chips multiply In0ᵀ·dOut0, the network gathers W0; "
        "11.8 kB on a chip",
        "4 of 4: chips multiply dOut0·W0ᵀ, the network scatters dW0; "
        "11.5 kB on a chip",
        "End: each chip has its own rows of weights and gradients; "
        "2.0 kB on a chip",
    ]


def test_idle_queues_are_drawn_idle():
    for words, drawn in figures(plot.step_player(*step(), "x")):
        if words.startswith(("Start", "End")):
            continue
        idle = 4 * ("chips wait" in words) + ("network is idle" in words)
        assert drawn.count('class="i"') == idle


@each(
    ("change", "says"),
    [
        ({"N": 1}, "N must be a"),
        ({"N": 5}, "N must be at most 4 chips"),
        ({"played": []}, "played must be a list of Done"),
        ({"played": [Done("X0", "chip", 0, 1)]}, "tasks must be named"),
        ({"stays": []}, "arrays must be named"),
        ({"stays": [Stay("A0", "G0", "S0")]}, "arrays must be named .*A0"),
        ({"stays": [Stay("W9", "G0", "S0")]}, "layers 4, got 4 and 10"),
        ({"stays": [Stay("W0", "G0", "G9")]}, "must stay between tasks"),
        ({"stays": [Stay("W0", "G0", "F0", 0)]}, "sizes above 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, says):
    played, stays = step()
    given = {"played": played, "stays": stays, "title": "x", **change}
    with pytest.raises(ValueError, match=says):
        plot.step_player(**given)


# ---- pipelines ---------------------------------------------------------------

SCHEDULES = {
    "naive": (pipeline.naive(3, 2), pipeline.routes(3, 2)),
    "gpipe": (pipeline.gpipe(4, 6), pipeline.routes(4, 6)),
    "1f1b": (pipeline.one_f_one_b(4, 6, 1, 2), pipeline.routes(4, 6)),
    "hop": (pipeline.gpipe(3, 4, 1, 2, hop=1), pipeline.routes(3, 4)),
    "split": (pipeline.zero_bubble(4, 8, 1, 2), pipeline.routes(4, 8)),
    "chunks": (pipeline.interleaved(4, 8, 2, 1, 2), pipeline.routes(4, 8, 2)),
    "both ends": (
        pipeline.dualpipe(4, 8, 1, 2, 1, both=3),
        pipeline.two_way_routes(4, 8),
    ),
}


def instants(events):
    return sorted({t for e in events for t in (e.start, e.end)})


@each("name", SCHEDULES)
def test_piles_are_what_is_in_flight(name):
    events, _ = SCHEDULES[name]
    most = [0] * len(pipeline.in_flight(events))
    for time in instants(events):
        for stage, pile in saved(events, time).items():
            assert len(set(pile)) == len(pile)
            most[stage] = max(most[stage], len(pile))
    assert most == pipeline.in_flight(events)
    assert saved(events, pipeline.makespan(events)) == {}


@each("name", SCHEDULES)
def test_stages_are_idle_when_the_schedule_is(name):
    events, _ = SCHEDULES[name]
    idle = dict.fromkeys(range(len(pipeline.idle(events))), 0)
    for time, until in pairwise(instants(events)):
        for stage in idle:
            if stage not in working(events, time):
                idle[stage] += until - time
    assert list(idle.values()) == pipeline.idle(events)


@each("name", SCHEDULES)
def test_every_boundary_is_crossed_once_each_way_by_each_microbatch(name):
    events, ways = SCHEDULES[name]
    crossed = sorted(
        (letter.task.microbatch, letter.source, letter.task.stage)
        for letter in letters(events, ways)
    )
    expected = sorted(
        (i, *pair)
        for i, way in enumerate(ways)
        for (a, _), (b, _) in pairwise(way)
        for pair in ((a, b), (b, a))
        if a != b
    )
    assert crossed == expected


@each("name", SCHEDULES)
def test_what_has_come_was_made_before_and_is_used_after(name):
    events, ways = SCHEDULES[name]
    ends = {(e.stage, e.end) for e in events}
    starts = {(e.stage, e.start) for e in events}
    for letter in letters(events, ways):
        assert (letter.source, letter.sent) in ends
        assert (letter.task.stage, letter.task.start) in starts
        assert letter.sent <= letter.task.start
    inboxes = [waiting(events, ways, t) for t in instants(events)]
    assert inboxes[0] == inboxes[-1] == {}


def pipes(*names):
    """A film of schedules of the same ways."""
    chosen = {name: SCHEDULES[name][0] for name in names}
    return plot.pipeline_player(chosen, SCHEDULES[names[0]][1], "pipes")


@each("name", SCHEDULES)
def test_what_is_drawn_of_a_pipeline_is_what_there_is(name):
    events, ways = SCHEDULES[name]
    p = len(pipeline.idle(events))
    before = None
    for time, (_, drawn) in zip(
        instants(events), figures(pipes(name)), strict=True
    ):
        piles, runs = saved(events, time), working(events, time)
        said = [int(n) for n in re.findall(r">(\d+) saved<", drawn)]
        assert said == [len(piles.get(stage, ())) for stage in range(p)]
        blocks = sum(fill == SAVED for fill, *_ in boxes_of(drawn))
        assert blocks == sum(said)
        assert drawn.count(">idle<") == p - len(runs)
        tasks = [t for stage in sorted(runs) for t in runs[stage]]
        inbox = sum(map(len, waiting(events, ways, time).values()))
        here = [fill for fill, *_ in boxes_of(drawn) if fill != SAVED]
        assert len(here) == len(tasks) + inbox
        for task in tasks:
            assert f">{task.name()}<" in drawn
            assert LOOKS[task.kind][1]["fc"] in here
        new = [
            letter
            for letter in letters(events, ways)
            if before is not None and before < letter.sent <= time
        ]
        assert drawn.count('class="s"') == len(new)
        before = time


def boxes_of(drawn):
    return boxes(drawn.replace('class="b" ', ""))


def test_a_block_slides_from_the_stage_that_made_it():
    film = figures(pipes("gpipe"))
    away = [set(re.findall(r"--x:(-?\d+)px", drawn)) for _, drawn in film]
    assert away[:9] == [set()] + 8 * [{"-90"}]  # activations come from left
    assert away[9] == set()  # the last stage turns round
    assert away[10:18] == 8 * [{"90"}]  # gradients from right
    arrows = [set(re.findall(r"h(-?22)l", drawn)) for _, drawn in film]
    assert arrows == [
        {"90": {"-22"}, "-90": {"22"}}.get(min(way, default=""), set())
        for way in away
    ]


def test_a_film_of_pipelines_says_what_each_stage_does():
    events = {"GPipe": pipeline.gpipe(2, 2), "1F1B": pipeline.one_f_one_b(2, 2)}
    film = plot.pipeline_player(events, pipeline.routes(2, 2), "x")
    assert [words for words, _ in figures(film)] == [
        "0 of 6. GPipe: F0, idle. 1F1B: F0, idle",
        "1 of 6. GPipe: F1, F0. 1F1B: F1, F0",
        "2 of 6. GPipe: idle, F1. 1F1B: idle, B0",
        "3 of 6. GPipe: idle, B1. 1F1B: B0, F1",
        "4 of 6. GPipe: B1, B0. 1F1B: idle, B1",
        "5 of 6. GPipe: B0, idle. 1F1B: B1, idle",
        "6 of 6. GPipe: done. 1F1B: done",
    ]


@pytest.mark.parametrize(
    ("schedules", "ways", "says"),
    [
        ({}, pipeline.routes(2, 2), "schedules must be a dict"),
        ([pipeline.gpipe(2, 2)], pipeline.routes(2, 2), "must be a dict"),
        ({"x": pipeline.gpipe(2, 2)}, pipeline.routes(2, 3), "events"),
        ({"x": pipeline.gpipe(2, 2)[1:]}, pipeline.routes(2, 2), "events"),
        ({"x": pipeline.gpipe(9, 2)}, pipeline.routes(9, 2), "8 stages, got 9"),
    ],
)
def test_a_pipeline_that_cannot_be_is_refused(schedules, ways, says):
    with pytest.raises(ValueError, match=says):
        plot.pipeline_player(schedules, ways, "x")


# ---- both --------------------------------------------------------------------

FILMS = {
    "step": lambda: plot.step_player(*step(), "A <step>"),
    "pipes": lambda: plot.pipeline_player(
        {
            "GPipe": pipeline.gpipe(4, 6),
            "1F1B": pipeline.one_f_one_b(4, 6),
        },
        pipeline.routes(4, 6),
        "Two & two",
    ),
}


@pytest.mark.parametrize("name", FILMS)
def test_a_film_is_small_and_the_same_every_time(name):
    film, again = FILMS[name](), FILMS[name]()
    assert film.html == again.html
    assert isinstance(film, plot.Player)
    assert len(film.html.encode()) < MAX_FILM
    assert not re.search(r"https?:|url\(|@import|<link|<img", film.html)
    assert not re.search(r"<step>|o & t|nan|inf\b", film.html)


@pytest.mark.parametrize("name", FILMS)
def test_every_moment_is_drawn_inside_its_picture(name):
    html = FILMS[name]().html
    [seen] = set(re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', html))
    frame, height = map(float, seen)
    assert frame == {"step": FRAME, "pipes": NARROW}[name]
    for _, drawn in figures(FILMS[name]()):
        still = drawn.replace('class="b" ', "")
        for _, x, y, width, high in boxes(still):
            assert 0 <= x <= frame - width
            assert 0 <= y <= height - high
        places = re.findall(r'<text[^>]* x="([^"]+)" y="([^"]+)"', drawn)
        for x, y in places:
            assert all(0 <= float(n) < frame - 5 for n in x.split())
            assert all(8 <= float(n) <= height for n in y.split())


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with both films."""
    path = tmp_path_factory.mktemp("films") / "films.html"
    body = "".join(film().html for film in FILMS.values())
    path.write_text(PAGE + body)
    return path.as_uri()


@pytest.fixture
def phone(open_page, address):
    """The page on a phone."""
    return open_page(address, viewport={"width": 390, "height": 844})


def test_both_films_step_on_a_phone_and_slide(phone):
    assert overflow(phone) <= 0
    moving = (
        "all => all.filter(e => getComputedStyle(e).animationName != 'none')"
        ".length"
    )
    for film, slides in zip(
        phone.locator(".sbs-film").all(), (12, 2), strict=True
    ):
        slider = film.locator("input[type=range]")
        at_rest = slider.input_value()
        film.get_by_role("button", name="Step").click()
        assert int(slider.input_value()) == int(at_rest) + 1
        slider.press("Home")
        film.get_by_role("button", name="Step").click()
        shown = film.locator("figure.on")
        assert shown.count() == 1
        assert shown.locator(".s").evaluate_all(moving) == slides
        film.get_by_role("button", name="Back").click()
        assert film.locator("output").inner_text().startswith(("Start", "0"))
    assert overflow(phone) <= 0


def test_words_stay_inside_their_boxes(phone):
    too_wide = """figure => {
        const of = e => e.getBBox(), inside = [];
        for (const text of figure.querySelectorAll('svg text')) {
            const t = of(text);
            if (t.x < -1 || t.x + t.width > 641) inside.push(text.textContent);
            for (const rect of figure.querySelectorAll('svg rect')) {
                const r = of(rect), middle = t.y + t.height / 2;
                const lies = t.x >= r.x && t.x < r.x + r.width
                    && middle > r.y && middle < r.y + r.height;
                if (lies && t.x + t.width > r.x + r.width)
                    inside.push(text.textContent);
            }
        }
        return inside}"""
    for film in phone.locator(".sbs-film").all():
        for _ in range(8):
            film.get_by_role("button", name="Step").click()
            assert film.locator("figure.on").evaluate(too_wide) == []
