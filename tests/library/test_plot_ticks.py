"""Ticks: plain numbers where they were asked for, and no others."""

import matplotlib.pyplot as plt
import pytest

from shardlab import plot
from shardlab.plot.ticks import plain
from tests.each import each


@pytest.fixture
def ax():
    ax = plot.curves([1, 10, 100], {"a": [1, 2, 4]}, "t", "x", "y")
    yield ax
    plt.close(ax.figure)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_ticks_are_where_they_were_asked_for(ax):
    assert plot.ticks(ax, [2, 2048, 1.6e6, 1e7], [0.3, 3]) is ax
    assert labels(ax.xaxis) == ["2", "2,048", "1.6M", "10M"]
    assert labels(ax.yaxis) == ["0.3", "3"]
    for axis in (ax.xaxis, ax.yaxis):
        assert len(axis.get_minorticklocs()) == 0


def test_numbers_that_a_reader_sees_keep_their_digits(ax):
    plot.ticks(ax, [0.001, 1.2345])
    picture = plot.svg(ax.figure)
    assert ">0.001<" in picture
    assert ">1.2345<" in picture


def test_an_axis_that_is_not_named_keeps_its_ticks(ax):
    before = list(ax.get_yticks())
    plot.ticks(ax, [2, 20])
    assert list(ax.get_yticks()) == before
    ax.figure.canvas.draw()
    minor = ax.yaxis.get_minorticklabels()
    assert not any(label.get_text() for label in minor)


@each(
    ("x", "words"),
    [
        (0.001, "0.001"),
        (0.3, "0.3"),
        (1000, "1,000"),
        (20_000, "20,000"),
        (1e5, "10⁵"),
        (4.5e14, "4.5·10¹⁴"),
        (2e-7, "2·10⁻⁷"),
    ],
)
def test_a_number_of_a_logarithmic_axis_has_no_small_letters(x, words):
    assert plain(x) == words
