"""Films of a pipeline: microbatches hop from stage to stage."""

import hashlib
from html import escape
from typing import NamedTuple

from shardlab import pipeline
from shardlab.plot.colours import colour, variable
from shardlab.plot.films import FRAME, reel, short
from shardlab.plot.schedules import LOOKS
from shardlab.plot.steps import box, text

__all__ = [
    "Letter",
    "Look",
    "Moment",
    "NARROW",
    "Task",
    "block",
    "letters",
    "pipeline_player",
    "saved",
    "slid",
    "waiting",
    "working",
]

LETTERS = {"forward": "F", "backward": "B", "input": "B", "weight": "W"}
SENDS = {"forward": 1, "backward": -1, "input": -1}  # along its way
BACK = ("backward", "input")
TITLE, NAMES, INBOX, BUSY, BLOCK = 18, 16, 17, 22, 15  # heights
ROW, AHEAD, PILE = 9, 26, 30  # of a time line; of an arrow; width of a pile
MOST_STAGES = 8
NARROW = 360  # of a film of up to four stages, so that a phone shows all of it
SAVED = colour("memory-1")  # fill of what is saved


FILL_NAMES = {
    "forward": "forward",
    "backward": "backward",
    "input": "input-half",
    "weight": "weight-half",
}


class Task(NamedTuple):
    """A task of a stage; a pair that runs as one is two of them.

    stage, kind, microbatch, chunk, start, end  as of a pipeline.Event
    """

    stage: int
    kind: str
    microbatch: int
    chunk: int
    start: float
    end: float

    def name(self):
        """Such as F3, with a prime for a stage's second chunk."""
        return f"{LETTERS[self.kind]}{self.microbatch}" + "′" * self.chunk


class Letter(NamedTuple):
    """What one stage hands to another.

    task     the Task that it is for
    source   the stage that it comes from
    sent     when it has been made
    """

    task: Task
    source: int
    sent: float


def _tasks(events):
    """The tasks of a schedule, in order of start."""
    found = []
    for e in events:
        if "&" in e.kind:
            pairs = zip(e.kind.split("&"), e.microbatch, e.chunk, strict=True)
        else:
            pairs = [(e.kind, e.microbatch, e.chunk)]
        found += [Task(e.stage, *part, e.start, e.end) for part in pairs]
    return sorted(found, key=lambda task: (task.start, task.stage))


def letters(events, ways):
    """What stages hand to each other: activations forth and gradients back."""
    done = _tasks(events)
    waits = {
        (task.kind in BACK, task.microbatch, task.stage, task.chunk): task
        for task in done
        if task.kind in SENDS
    }
    found = []
    for task in done:
        way = ways[task.microbatch]
        if task.kind in SENDS:
            place = way.index((task.stage, task.chunk)) + SENDS[task.kind]
            if 0 <= place < len(way) and way[place][0] != task.stage:
                back = task.kind in BACK
                taker = waits[back, task.microbatch, *way[place]]
                found.append(Letter(taker, task.stage, task.end))
    return found


def _times(events):
    """When something starts or ends, in order."""
    return sorted({time for e in events for time in (e.start, e.end)})


def working(events, time):
    """What runs at a time: {stage: tuple of Task}."""
    found = {}
    for task in _tasks(events):
        if task.start <= time < task.end:
            found[task.stage] = (*found.get(task.stage, ()), task)
    return found


def saved(events, time):
    """Whose activations each stage holds at a time, the oldest first.

    events   list of shardlab.pipeline.Event
    time     in their unit
    returns  {stage: list of (microbatch, chunk)}. A stage holds them from the
             start of a forward to the end of the last half of its backward
    """
    found, ends = {}, {}
    for task in _tasks(events):
        here = task.stage, task.microbatch, task.chunk
        ends[here] = max(ends.get(here, task.end), task.end)
    for task in _tasks(events):
        here = task.stage, task.microbatch, task.chunk
        if task.kind == "forward" and task.start <= time < ends[here]:
            found.setdefault(task.stage, []).append(here[1:])
    return found


def waiting(events, ways, time):
    """What has come and is not yet used: {stage: list of Letter}."""
    found = {}
    for letter in letters(events, ways):
        if letter.sent <= time < letter.task.start:
            found.setdefault(letter.task.stage, []).append(letter)
    return found


class Look(NamedTuple):
    """How pipelines are drawn.

    p        stages
    most     microbatches in flight at the worst moment
    """

    p: int
    most: int

    def frame(self):
        """Width of the film."""
        return NARROW if self.p <= 4 else FRAME

    def pitch(self):
        """From the left of one stage to the left of the next."""
        return int(self.frame() / self.p)

    def width(self):
        """Of a stage."""
        beside = AHEAD if self.p <= 4 else 14
        return min(self.pitch() - beside, 100)

    def block(self):
        """Height of a block of saved activations."""
        return min(BLOCK, int(1000 / self.most) / 10)

    def left(self, stage):
        """Left of a stage."""
        return stage * self.pitch() + (self.pitch() - self.width()) / 2

    def line(self):
        """Height of the time line of a schedule, below its stages."""
        return self.p * ROW + 12

    def height(self):
        """Of one schedule."""
        pile = self.most * self.block()
        return TITLE + NAMES + INBOX + BUSY + 4 + pile + 20 + self.line()


def block(fill, words, x, y, width, height):
    """SVG of a filled block with a text on it."""
    parts = f'<path class="b" fill="{fill}" d="{box(x, y, width, height)}"/>'
    if height < 9 or 6.6 * len(words) > width:
        return parts  # the words do not fit
    middle = x + width / 2 - 3.2 * len(words)
    return parts + text(words, middle, y + height / 2 + 4.2, fill)


def slid(drawn, away, up=0):
    """SVG of what slides in, from so far to the right and so far below."""
    x, y = f"--x:{short(away)}px", f";--y:{short(up)}px" if up else ""
    return f'<g class="s" style="{x}{y}">{drawn}</g>'


def _drawn_inbox(look, top, stage, inbox, arrived):
    """SVG of what has come to a stage and waits; what is new slides in."""
    parts = []
    for n, letter in enumerate(inbox):
        fill = LOOKS[letter.task.kind][1]["fc"]
        x = look.left(stage) + 15 * n
        drawn = block(fill, str(letter.task.microbatch), x, top, 13, 12)
        if letter in arrived:
            away = (letter.source - stage) * look.pitch() - 15 * n
            drawn = slid(drawn, away, INBOX)
        parts.append(drawn)
    return "".join(parts)


def _drawn_work(look, top, stage, running, arrived):
    """SVG of what a stage does; what it has just got slides in."""
    x, width = look.left(stage), look.width()
    if not running:
        place = f'x="{short(x)}" y="{short(top)}"'
        size = f'width="{short(width)}" height="{BUSY}"'
        idle = text("idle", x + width / 2 - 10, top + BUSY / 2 + 4)
        return f'<rect class="i" {place} {size}/>{idle}'
    came = {letter.task: letter.source for letter in arrived}
    parts, each = [], width / len(running)
    for n, task in enumerate(running):
        fill = LOOKS[task.kind][1]["fc"]
        drawn = block(fill, task.name(), x + n * each, top, each, BUSY)
        if task in came:
            drawn = slid(drawn, (came[task] - stage) * look.pitch())
        parts.append(drawn)
    return "".join(parts)


def _drawn_piles(look, floor, piles):
    """SVG of the activations that stages have saved, the oldest lowest."""
    blocks, labels, high = [], [], look.block()
    for stage in range(look.p):
        x = look.left(stage) + look.width() / 2 - PILE / 2
        pile = piles.get(stage, [])
        for n, (microbatch, chunk) in enumerate(pile):
            y, words = floor - (n + 1) * high, f"{microbatch}" + "′" * chunk
            blocks.append(box(x, y, PILE, high))
            middle = x + PILE / 2 - 3.4 * len(str(microbatch))
            if high >= 8.5:
                labels.append((words, middle, y + high / 2 + 4.2))
        words = f"{len(pile)} saved" if look.p <= 5 else f" {len(pile)}"
        labels.append((words, x - 8, floor + 13))
    path = f'<path class="b" fill="{SAVED}" d="{"".join(blocks)}"/>'
    return path * bool(blocks) + _drawn_labels(labels)


def _drawn_labels(labels):
    """SVG of labels (words, x, y): all of one letter in one element."""
    lone = [label for label in labels if len(label[0]) == 1]
    parts = []
    if lone:
        words, x, y = zip(*lone, strict=True)
        place = f'x="{short(*x)}" y="{short(*y)}"'
        parts.append(f'<text fill="#111" {place}>{"".join(words)}</text>')
    for words, x, y in labels:
        if len(words) > 1:
            parts.append(text(words, x, y, "" if " " in words else SAVED))
    return "".join(parts)


def _drawn_arrows(look, middle, arrived):
    """SVG of arrows between neighbours where something has just come."""
    ways = {(letter.source, letter.task.stage) for letter in arrived}
    path, long = "", min(AHEAD, look.pitch() - look.width() - 4)
    for source, stage in sorted(ways):
        if abs(stage - source) == 1:
            ahead = stage - source
            x = (look.left(source) + look.left(stage) + look.width()) / 2
            tail = short(x - ahead * long / 2, middle - 3 * ahead)
            tip = f"l{-4 * ahead} -3m{4 * ahead} 3l{-4 * ahead} 3"
            path += f"M{tail}h{short(ahead * long)}{tip}"
    return f'<path class="w" d="{path}"/>' if path else ""


def _drawn_line(look, schedule, top, time, ends):
    """SVG of who does what when, as far as a time, which a line marks."""
    name, events = schedule
    floor = top + look.height() - TITLE
    first, unit = floor - look.p * ROW - 4, (look.frame() - 16) / float(ends)
    mark = hashlib.sha256(f"{name}{events}{top}".encode()).hexdigest()[:8]
    base = f'<use href="#g{mark}"/>'
    if time == 0:  # defined in the first frame
        paths = {}
        for task in _tasks(events):
            fill = FILL_NAMES[task.kind]
            x = 8 + float(task.start) * unit
            wide = float(task.end - task.start) * unit
            where = x, first + task.stage * ROW, wide, ROW - 1
            paths.setdefault(fill, []).append(box(*where))
        look_of_all = 'stroke="currentColor" stroke-width=".4"'
        base = f'<g id="g{mark}" {look_of_all}>'
        base += "".join(
            f'<path d="{"".join(path)}" style="fill:{variable(fill)}"/>'
            for fill, path in paths.items()
        )
        base += "</g>"
    x = short(8 + float(time) * unit)
    at = f"M{x} {short(first - 4)}V{short(floor - 2)}"
    return f'{base}<path class="u" d="{at}"/>'


class Moment(NamedTuple):
    """A pipeline at a time.

    running  {stage: tuple of Task}, what they do
    inbox    {stage: list of Letter}, what has come and waits
    arrived  list of Letter that have come since the last moment
    piles    {stage: list of (microbatch, chunk)}, what they have saved
    """

    running: dict
    inbox: dict
    arrived: list
    piles: dict


def _moment(events, ways, time, before=None):
    """The Moment of a schedule at a time, `before` being that of the last."""
    arrived = [
        letter
        for letter in letters(events, ways)
        if before is not None and before < letter.sent <= time
    ]
    return Moment(
        working(events, time),
        waiting(events, ways, time),
        arrived,
        saved(events, time),
    )


def _drawn_pipeline(look, now, top):
    """SVG of a pipeline at one moment."""
    busy = top + NAMES + INBOX
    floor = top + look.height() - TITLE - 20 - look.line()
    parts = [_drawn_arrows(look, busy + BUSY / 2, now.arrived)]
    for stage in range(look.p):
        name = f"stage {stage}" if look.p <= 5 else str(stage)
        inbox = now.inbox.get(stage, [])
        running = now.running.get(stage, ())
        parts += [
            text(name, look.left(stage), top + 11),
            _drawn_inbox(look, top + NAMES + 1, stage, inbox, now.arrived),
            _drawn_work(look, busy, stage, running, now.arrived),
        ]
    return "".join(parts) + _drawn_piles(look, floor, now.piles)


def _schedule_in_words(title, events, time, p):
    """What the stages of a schedule do at a time, in words."""
    running = working(events, time)
    if not running and time >= pipeline.makespan(events):
        return f"{title}: done"
    does = [
        "&".join(task.name() for task in running.get(stage, ())) or "idle"
        for stage in range(p)
    ]
    return f"{title}: {', '.join(does)}"


def _drawn_moment(look, schedules, ways, time, before):
    """SVG of all schedules at a time, one below the other."""
    parts, ends = [], max(map(pipeline.makespan, schedules.values()))
    for n, (name, events) in enumerate(schedules.items()):
        top = n * look.height() + TITLE
        parts.append(_drawn_line(look, (name, events), top, time, ends))
        now = _moment(events, ways, time, before)
        parts.append(f'<text class="t" y="{short(top - 3)}">{escape(name)}')
        parts.append(f"</text>{_drawn_pipeline(look, now, top)}")
    return "".join(parts)


def pipeline_player(schedules, ways, title):
    """A film of pipelines at work, to be played and stepped through.

    schedules  dict: name -> list of shardlab.pipeline.Event; they run at the
             same time, one drawn below the other
    ways     the way of each microbatch, from `shardlab.pipeline.routes`
    title    says what is shown
    returns  Player, with a frame for each time at which something starts or
             ends. A stage shows what it does, above it what has come and
             waits, below it whose activations it has saved
    raises   ValueError for no schedule, one that could not happen, or one of
             more stages than there is room for
    source   chapter 11
    """
    if not isinstance(schedules, dict) or not schedules:
        raise ValueError(f"schedules must be a dict of some, got {schedules!r}")
    schedules = {n: pipeline.check(e, ways) for n, e in schedules.items()}
    look = _look_of(schedules, ways)
    moments = sorted({t for e in schedules.values() for t in _times(e)})
    frames = []
    for before, time in zip([None, *moments], moments, strict=False):
        does = ". ".join(
            _schedule_in_words(name, events, time, look.p)
            for name, events in schedules.items()
        )
        words = f"{float(time):g} of {float(moments[-1]):g}. {does}"
        drawn = _drawn_moment(look, schedules, ways, time, before)
        frames.append((words, drawn))
    tall = len(schedules) * look.height()
    return reel(title, frames, tall, width=look.frame())


def _look_of(schedules, ways):
    """The Look of a film of these schedules."""
    p = 1 + max(stage for way in ways for stage, _ in way)
    if p > MOST_STAGES:
        raise ValueError(
            f"ways must pass at most {MOST_STAGES} stages, got {p}"
        )
    most = max(
        len(pile)
        for events in schedules.values()
        for time in _times(events)
        for pile in saved(events, time).values()
    )
    return Look(p, most)
