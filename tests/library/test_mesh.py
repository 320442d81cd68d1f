"""The Transformer on meshes of several axes: right, and counted."""

import re

import numpy as np
import pytest

from shardlab import cost, evidence
from shardlab.transformer import mesh
from shardlab.transformer.evidence import of_mesh
from tests.each import each

pytestmark = pytest.mark.slow

SIZES = (4, 32, 48, 48, 24, 40)
GATHER = {"context": "gather"}


@pytest.mark.parametrize(
    ("chips", "how"),
    [
        ({"X": 4, "Y": 2}, {"zero": 1}),
        ({"X": 2, "Z": 2, "Y": 2}, {"zero": 3, **GATHER}),
        ({"S": 2, "X": 2, "Y": 2}, {"m": 2}),
        ({"S": 2, "Z": 2, "Y": 2}, {"m": 4, "zero": 1}),
        ({"Z": 2, "Y": 4}, {"context": "ulysses", "sp": False}),
    ],
)
def test_product_equals_one_device_and_its_formula(chips, how):
    seen = of_mesh("a product", chips, **how)
    assert max(seen.loss, seen.gradients) < 1e-5
    assert {row.axis for row in seen.rows} >= set(chips) - {"X", "Z"}
    assert all(row.ratio == 1 for row in seen.rows)
    assert all(row.counted > 0 for row in seen.rows)


def test_mesh_volume_grows_by_the_bubble():
    one = cost.mesh_volume(64, SIZES, Y=2)
    staged = cost.mesh_volume(64, SIZES, S=2, Y=2, m=2)
    layers = one.tensor.forward - staged.tensor.forward * 2 / 3
    assert layers > 0  # ends are not repeated, half of the layers are 3/2 times
    assert staged.stages.forward == 3 / 2 * 2 * 64 * 32 / 2


@each(
    ("sizes", "message"),
    [
        (SIZES[:5], "sizes must be the six numbers L, D, F, h, kv, vocab, got"),
        ((*SIZES, 1), "sizes must be the six numbers"),
        ("432486", "sizes must be the six numbers"),
        ((4, 0, *SIZES[2:]), "sizes[1], D, must be a"),
        ((*SIZES[:5], None), "sizes[5], vocab, must be a"),
        ((*SIZES[:4], True, 40), "sizes[4], kv, must be a"),
        ((10**31, *SIZES[1:]), "sizes[0], L, must be from 1e-30 to 1e+30"),
    ],
)
def test_sizes_that_are_refused(sizes, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        cost.mesh_volume(64, sizes, Y=2)


def test_sizes_of_any_type_of_number_give_the_same():
    wanted = cost.mesh_volume(64, SIZES, X=2, Z=2, Y=2)
    few_bits = [np.int8(n) for n in SIZES]  # their products would wrap round
    assert cost.mesh_volume(64, few_bits, X=2, Z=2, Y=2) == wanted


def test_stages_refuse_fsdp():
    on = evidence.no_devices({"S": 2, "X": 2})
    with pytest.raises(ValueError, match="zero must be one of"):
        mesh.strategy(on, zero=3)
    with pytest.raises(ValueError, match="zero must be 0 or 1 with stages"):
        cost.mesh_volume(64, SIZES, S=2, X=2, zero=3)
    with pytest.raises(ValueError, match="context must be one of"):
        mesh.strategy(on, context="mail")
