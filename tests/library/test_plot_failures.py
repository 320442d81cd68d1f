"""Pictures of failures: what stands in them is what was given."""

import jax
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from matplotlib.patches import Rectangle

from shardlab import cost, failures, plot
from shardlab.plot.axes import POINT
from tests.each import each
from tests.library.drawn import texts


@pytest.fixture(autouse=True)
def no_figure_stays():
    yield
    plt.close("all")


def test_a_run_is_drawn_as_long_as_its_events():
    events = failures.play(1200, 60, 11_000, 600, 86_400, seed=12)
    (ax,) = plot.failing_runs({"a day": events})
    work, *others = (patch.get_path().vertices[:, 0] for patch in ax.patches)
    assert (work.min(), work.max()) == (0, 24)
    for x, kind in zip(others, failures.KINDS[1:], strict=True):
        drawn = sum(b - a for a, b in x.reshape(-1, 5)[:, :2])
        wanted = sum(e.end - e.start for e in events if e.kind == kind)
        assert drawn == pytest.approx(wanted / 3600)
    assert ax.get_title(loc="left") == "a day"


def test_the_light_bars_are_the_goodput():
    interval, save, mtbf, restart = 2400, 400, 11_000, 1300
    ax = plot.kept_work(interval, save, mtbf, restart)
    hour = mtbf / 3600
    _, _, *bars = ax.collections
    kept = 0
    for bar in bars[::2]:
        x, y = np.transpose(bar.get_paths()[0].vertices)
        kept += (x.max() - x.min()) * (y.max() - y.min())
    share = cost.goodput(interval, save, mtbf, restart)
    assert kept / hour == pytest.approx(share, abs=0.02)  # the tail is cut off


def test_a_recovery_is_as_long_as_its_steps():
    names = ("notice", "swap", "start", "load", "compile", "redo")
    steps = dict(zip(names, (2, 3, 2, 0.5, 2, 9), strict=True))
    ax = plot.recoveries({"slow": steps, "fast": dict.fromkeys(names, 0.2)})
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert ends[:6] == pytest.approx([2, 5, 7, 7.5, 9.5, 18.5])
    found = texts(ax)
    assert {"18.5 min", "1.2 min", *names} <= {*found}
    assert found.count("swap") == 1  # in the short bar there is no room


def test_lost_shares_are_as_long_as_they_are():
    groups = {
        "small": {"a": (1, 2, 3)},
        "large": {"a": (4, 0, 8), "b": (0,) * 3},
    }
    ends = {("small", "a"): "one", ("large", "a"): "two", ("large", "b"): "no"}
    ax = plot.lost_shares(groups, ends)
    found = texts(ax)
    assert {"6.0%, one", "12.0%, two", "0.0%, no", "restart"} <= {*found}
    wide = [patch.get_width() for patch in ax.patches[3:]]
    assert np.divide(wide, wide[0]) == pytest.approx(
        [1, 2, 3, 4, 0, 8, 0, 0, 0]
    )


def test_all_wait_for_the_slowest():
    ax = plot.waiting({"one slow": [[1, 1, 2], [1, 2, 4]]})
    boxes = [patch.get_bbox() for patch in ax.patches[2:]]
    steps, work = boxes[::2], boxes[1::2]
    unit = steps[0].width / 2
    assert [box.width / unit for box in steps] == pytest.approx(
        [2] * 3 + [4] * 3
    )
    assert [box.width / unit for box in work] == pytest.approx(
        [1, 1, 2, 1, 2, 4]
    )


def test_only_one_chip_differs_where_a_bit_flips():
    ax = plot.fault_places(chips=5, struck=1)
    assert texts(ax).count("replicas agree") == 1
    assert texts(ax).count("replicas differ") == 2
    boxes = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    states = boxes[:-3]  # without the legend
    right, alike, differs = (patch_look(patch) for patch in boxes[-3:])
    looks = [patch_look(patch) for patch in states]
    assert looks.count(differs) == 6
    assert looks.count(alike) == 5 + 4 + 5 + 5
    assert looks.count(right) == 3 * 4 * 5 - 6 - 19


def test_a_wrong_gradient_reaches_all_through_the_sum():
    ax = plot.fault_places(chips=5, struck=1)
    wide = [line for line in ax.lines if line.get_linewidth() == 2 * POINT]
    # into the sum one, out of it five, and five more to the new weights
    assert len(wide) == (2 + 5 + 5) + (1 + 5 + 5) + 1


def patch_look(patch):
    """What tells the boxes of a state apart."""
    return patch.get_facecolor(), patch.get_edgecolor()


@pytest.mark.parametrize(("X", "Y"), [(8, 1), (2, 4), (1, 8)])
def test_every_chip_is_named_in_its_block(X, Y):
    auto = (AxisType.Auto,) * 2
    mesh = jax.make_mesh((X, Y), ("X", "Y"), axis_types=auto)
    x = jax.device_put(np.ones((16, 24)), NamedSharding(mesh, P("Y", "X")))
    ax = plot.cut_anew({"here": x})
    names = [text for text in texts(ax) if text.startswith("chip")]
    assert sorted(names) == [f"chip\n{n}" for n in range(8)]


def test_a_block_is_found_where_it_lay_before():
    auto = (AxisType.Auto,) * 2
    old = jax.make_mesh((8, 1), ("X", "Y"), axis_types=auto)
    new = jax.make_mesh((2, 4), ("X", "Y"), axis_types=auto)
    spec = P("Y", "X")
    found = {
        n: jax.device_put(np.ones((16, 24)), NamedSharding(mesh, spec))
        for n, mesh in {"old": old, "new": new}.items()
    }
    ax = plot.cut_anew(found, chip=5, names=("vocab", "D"))
    filled = matplotlib.colors.to_rgba(plot.colours.colour("memory-2"))
    left, right = (
        patch.get_bbox()
        for patch in ax.patches
        if patch.get_facecolor() == filled
    )
    assert (left.width, left.height) == (right.width, right.height)
    assert right.x0 - left.x0 == pytest.approx(345)
    assert {"vocab, cut 4 ways by Y", "D, cut 2 ways by X"} < {*texts(ax)}


@each(
    ("call", "words"),
    [
        (lambda: plot.failing_runs({}), "runs must be a dict"),
        (lambda: plot.fault_places(4, 4), "struck must be 0 to 3"),
        (lambda: plot.recoveries({}), "budgets must be a dict"),
        (lambda: plot.lost_shares({"a": {}}), "groups must hold bars"),
        (lambda: plot.waiting({}), "kinds must hold arrays"),
        (lambda: plot.recoveries({"a": {"load": 1}}), "steps of 'a' must be"),
        (lambda: plot.cut_anew({}), "arrays must hold matrices"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        call()
