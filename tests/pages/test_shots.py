"""Pictures of the pages are taken, and show something."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tests.pages.test_jupyterlab import STEM
from tests.tree import ROOT
from tools import shots

EMPTY = "<!doctype html><html lang=en><title>x</title><body>"


def pixels(path):
    """The picture as whole numbers: rows, columns, three colours."""
    return np.round(plt.imread(path)[..., :3] * 255).astype(int)


def colours(path):
    """How many colours a picture has, and the share of the commonest."""
    one = pixels(path) @ (65536, 256, 1)
    _, counts = np.unique(one, return_counts=True)
    return len(counts), counts.max() / counts.sum()


def faults(found):
    """What is wrong with pictures, by their names."""
    wrong = {}
    for path, wider in found:
        number, share = colours(path)
        if wider > 0:
            wrong[path.name] = f"{wider} pixels too wide"
        elif number < 60 or share > 0.97:
            wrong[path.name] = f"{number} colours, one on {share:.0%}"
    return wrong


@pytest.mark.long
def test_pictures_of_the_pages_show_something(html, chromium, tmp_path):
    pages = {
        name: (html / f"{page}.html").as_uri()
        for name, page in shots.PAGES.items()
    }
    found = shots.take(chromium, pages, tmp_path)
    assert len(found) == len(pages) * 4
    assert faults(found) == {}
    for path, _ in found:
        width, height = next(
            sides for size, sides in shots.SIZES.items() if size in path.name
        )
        picture = pixels(path)
        assert picture.shape == (height, width, 3)
        assert (picture.mean() < 128) == ("dark" in path.name)


@pytest.mark.parametrize(
    ("body", "said"),
    [("", "colours"), ("<p style='width: 3000px'>wide</p>", "too wide")],
)
def test_an_empty_page_and_a_wide_one_are_told(body, said, chromium, tmp_path):
    (tmp_path / "x.html").write_text(EMPTY + body)
    address = {"x": (tmp_path / "x.html").as_uri()}
    wrong = faults(shots.take(chromium, address, tmp_path / "shots"))
    assert len(wrong) == 4
    assert all(said in words for words in wrong.values())


@pytest.mark.long
def test_pictures_of_an_exercise_show_it(chromium, tmp_path):
    assert shots.EXERCISE.endswith(f"{STEM}.ipynb")
    (tmp_path / "x.ipynb").write_bytes((ROOT / shots.EXERCISE).read_bytes())
    with shots.jupyterlab(tmp_path) as url:
        address = f"{url}/lab/tree/x.ipynb?token={shots.TOKEN}&reset"
        found = shots.take(
            chromium, {"x": address}, tmp_path / "shots", shots.in_lab
        )
    assert faults(found) == {}
