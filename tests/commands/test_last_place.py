"""What a chapter shows hangs on no float's last digit."""

import nbformat
import numpy as np
import pytest

from tests import last_place
from tests.tree import ROOT
from tools import execution

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
QUICK = ("05_one_chip", "16_case_studies")  # the others in make test-long


@pytest.mark.slow
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(x, marks=[] if x.stem in QUICK else pytest.mark.long)
        for x in CHAPTERS
    ],
    ids=[x.stem for x in CHAPTERS],
)
def test_no_output_changes_with_the_last_place(path, up):
    assert not last_place.differences(path, up)


# Cells, and whether what they show hangs on the last place: up, down.
CELLS = {
    "print(0.1 + 0.2)": (True, True),
    "print(f'{0.1 + 0.2:.3f}')": (False, False),
    "print(f'{2.5:.0f}')": (True, False),
    "print(f'{3.5:.0f}')": (False, True),
    "0.25": (True, True),
    "import numpy as np\nnp.float32([1, 2])": (False, False),
    "import numpy as np\nnp.float32([1.5, 2])": (True, True),
    "import jax.numpy as jnp\njnp.ones(2) / 3": (True, True),
    "print(3, 'a', [1], {'b': 2})": (False, False),
    "print({'b': [1.5]})": (True, True),
    "from shardlab.hw import V5E\nprint(f'{V5E.flops:.3g}')": (False, False),
}


@pytest.mark.slow
def test_a_cell_that_shows_the_last_place_is_found(tmp_path):
    cells = [nbformat.v4.new_code_cell(code) for code in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    execution.run(notebook, tmp_path)
    path = tmp_path / "one.ipynb"
    nbformat.write(notebook, path)
    for place, up in enumerate((True, False)):
        found = {
            int(line.split()[1].rstrip(":"))
            for line in last_place.differences(path, up)
        }
        assert found == {
            number
            for number, hangs in enumerate(CELLS.values())
            if hangs[place]
        }


def test_a_float_is_moved_by_one_unit():
    assert last_place.moved(1.0, True) == np.nextafter(1.0, 2)
    assert last_place.moved((1.5, "a", 2), False)[0] == np.nextafter(1.5, 0)
    assert last_place.moved({"a": np.float32(3)}, True)["a"] > 3
    for value in (0.0, np.inf, 7, "1.5", None, True):
        assert last_place.moved(value, True) == value
