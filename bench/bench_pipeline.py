"""Time and memory of building, checking and reading pipeline schedules."""

from functools import partial

from bench.measuring import measured
from shardlab import pipeline


def rows():
    """Yield {name, seconds_median, runs, peak_bytes, note} for each case."""
    straight = pipeline.routes(16, 256)
    builders = {
        "gpipe": (lambda: pipeline.gpipe(16, 256), straight),
        "one_f_one_b": (lambda: pipeline.one_f_one_b(16, 256), straight),
        "zero_bubble": (lambda: pipeline.zero_bubble(16, 256, 1, 2), straight),
        "interleaved": (
            lambda: pipeline.interleaved(16, 256, 4),
            pipeline.routes(16, 256, 4),
        ),
        "dualpipe": (
            lambda: pipeline.dualpipe(16, 256, 1, 2, 1),
            pipeline.two_way_routes(16, 256),
        ),
    }
    for name, (build, ways) in builders.items():
        events = build()
        note = f"{len(events):,} events"
        yield measured(f"pipeline: {name}, p=16 m=256, built", build, note)
        check = partial(pipeline.check, events, ways)
        yield measured(f"pipeline: {name}, p=16 m=256, checked", check, note)
    yield from large()
    name, goal = "pipeline: gpipe, p=300 m=300, built", 0.59  # 5.9 s once
    build, note = partial(pipeline.gpipe, 300, 300), "180,000 events"
    yield measured(name, build, note, goal=goal)


def large():
    """Yield the cases of one schedule of 65,536 events, 64 stages deep."""
    events, ways = pipeline.one_f_one_b(64, 512), pipeline.routes(64, 512)
    cases = {
        "built": lambda: pipeline.one_f_one_b(64, 512),
        "checked": lambda: pipeline.check(events, ways),
        "in flight": lambda: pipeline.in_flight(events),
        "lower bound": lambda: pipeline.lower_bound(events, ways),
    }
    for name, work in cases.items():
        name = f"pipeline: one_f_one_b, p=64 m=512, {name}"
        yield measured(name, work, f"{len(events):,} events")
