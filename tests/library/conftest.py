"""What every test of the library stands on."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _figures_are_shut():
    yield
    plt.close("all")
