"""Pictures of compiled programs: what stands in them is what was given."""

import matplotlib.pyplot as plt
import pytest

from shardlab.plot import compiled as pictures
from shardlab.timeline import Done
from tests.library.drawn import texts


@pytest.fixture(autouse=True)
def no_figure_stays():
    yield
    plt.close("all")


def test_the_three_tools_say_when_they_can_be_asked():
    found = texts(pictures.witnesses())
    assert {"count", "compile", "profile"} <= {*found}
    assert found.count("Friday, on a laptop") == 2


def test_every_mark_is_a_line():
    done = Done("product", "chip", 0.0, 1e-3)
    ax = pictures.lanes({"process 0": [done]}, marks=(1, 2))
    assert [line.get_xdata()[0] for line in ax.lines] == [1, 2]


def test_knees_are_marked_where_estimate_and_roof_bend():
    tokens = (1, 2, 64)
    seconds = [max(16 + n, 2 * n) for n in tokens]
    ax = pictures.knees({"a chip": (tokens, seconds, lambda B: 8 + B * 0 + B)})
    assert "estimate bends: 16" in texts(ax)
