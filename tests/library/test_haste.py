"""Programs that are compiled in haste give what others give."""

import jax
import numpy as np
import pytest
from jax import P, lax
from jax.sharding import AxisType

from shardlab.haste import HASTY, in_haste


def test_a_program_in_haste_gives_the_same_numbers():
    mesh = jax.make_mesh((4, 2), ("X", "Y"), (AxisType.Auto,) * 2)
    draw = np.random.default_rng(3)
    In, W = (draw.integers(-9, 10, s).astype("f4") for s in ((8, 6), (6, 4)))

    @jax.jit
    @jax.shard_map(
        mesh=mesh,
        in_specs=(P("X", "Y"), P("Y", None)),
        out_specs=(P("X", "Y"), P()),
    )
    def product(In, W):
        part = lax.fori_loop(0, 3, lambda _, Out: Out + In @ W, 0 * (In @ W))
        Out = lax.psum_scatter(part, "Y", scatter_dimension=1, tiled=True)
        return Out, lax.psum(Out.sum(), ("X", "Y"))

    Out, total = in_haste(product, (In, W))
    np.testing.assert_array_equal(Out, 3 * In @ W)
    assert float(total) == float((3 * In @ W).sum()) != 0
    for found, usual in zip((Out, total), product(In, W), strict=True):
        np.testing.assert_array_equal(found, usual)
        assert found.sharding.is_equivalent_to(usual.sharding, found.ndim)


def test_the_compiler_knows_each_option_of_haste():
    for name, value in HASTY.items():
        option = {name: value}
        assert int(jax.jit(lambda x: x + 1, compiler_options=option)(1)) == 2
    unknown = jax.jit(lambda x: x + 1, compiler_options={"xla_no_such": 1})
    with pytest.raises(Exception, match="xla_no_such"):
        unknown(1)
