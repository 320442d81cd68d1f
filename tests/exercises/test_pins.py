"""Set 21 judges pins by bytes that are written down: are they still so?"""

import pytest

from shardlab.checks import set21

PINS = [
    (name, dims)
    for name in set21.NAMES
    for dims in (("X", ""), ("", "X"), ("", ""))
]
SIZES = set21.check_pin.cases


@pytest.mark.parametrize("dims", set21.BEST)
@pytest.mark.parametrize("sizes", SIZES)
def test_a_pin_of_tmp_moves_what_is_written_down(dims, sizes):
    counted = set21._counted(*sizes, "Tmp", dims)
    assert counted == set21.BEST[dims](*sizes)


@pytest.mark.long
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("pin", PINS)
def test_no_other_pin_moves_less(pin, sizes):
    assert set21._counted(*sizes, *pin) >= set21._least(*sizes)
