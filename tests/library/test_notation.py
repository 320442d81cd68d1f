import math

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import P
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import notation
from shardlab.notation import (
    Layout,
    axis_size,
    bytes_per_device,
    copies,
    from_spec,
    local_shape,
    of,
    parse,
    to_spec,
)
from tests.each import each

AXES = "XYZ"


@st.composite
def layouts(draw):
    """Any legal layout over the mesh axes X, Y, Z."""
    dims = draw(
        st.lists(st.sampled_from("IJKBDF"), max_size=4, unique=True).map(tuple)
    )
    axes = list(draw(st.permutations(AXES)))
    cuts = []
    for _ in dims:
        n = draw(st.integers(0, len(axes)))
        cuts.append(tuple(axes[:n]))
        axes = axes[n:]
    rest = draw(st.lists(st.sampled_from(axes), unique=True)) if axes else []
    name = draw(st.sampled_from(["A", "W_in", "Out", "dW_out2"]))
    return Layout(name, dims, tuple(cuts), tuple(sorted(rest)))


@given(layouts())
def test_what_is_written_reads_back(layout):
    assert parse(str(layout)) == layout
    assert parse(f" {layout} ".replace(",", " , ")) == layout


@given(layouts())
def test_a_partition_spec_says_the_same(layout):
    spec = notation.to_spec(layout)
    assert notation.from_spec(spec, layout.dims, layout.name) == layout


@each(
    ("text", "spec"),
    [
        ("A[I, J]", P(None, None)),
        ("A[I_X, J]", P("X", None)),
        ("A[I_XY, J]", P(("X", "Y"), None)),
        ("A[I_YX, J]", P(("Y", "X"), None)),
        ("C[I_X, K]{U_Y}", P("X", None, unreduced=frozenset("Y"))),
        ("L[]", P()),
    ],
)
def test_to_spec(text, spec):
    assert notation.to_spec(text) == spec


def test_a_short_spec_leaves_the_last_dimensions_whole():
    assert str(notation.from_spec(P("X"), "IJK")) == "A[I_X, J, K]"


@each(
    ("text", "position", "words"),
    [
        ("A[I_X, J_X]", 9, "mesh axis X is used twice"),
        ("A[I_XYX]", 6, "mesh axis X is used twice"),
        ("A[I_X]{U_X}", 9, "mesh axis X is used twice"),
        ("A[I, I]", 5, "dimension I is named twice"),
        ("A[I_x]", 4, "expected mesh axes"),
        ("A[I_]", 4, "expected mesh axes"),
        ("A(I, J)", 1, r"expected \[ before"),
        ("A[I, J", 6, "expected , or ]"),
        ("A[I J]", 4, "expected , or ]"),
        ("A[I,,J]", 4, "expected a dimension"),
        ("A[,I]", 2, "expected a dimension"),
        ("A[I,]", 4, "expected a dimension"),
        ("A[2, J]", 2, "expected a dimension"),
        ("[I]", 0, "expected the array's name"),
        ("", 0, "expected the array's name"),
        ("A[I]{U}", 5, "expected U_ and mesh axes"),
        ("A[I]{R_X}", 5, "expected U_ and mesh axes"),
        ("A[I]{U_X", 8, "expected } after"),
        ("A[I] B[J]", 5, "expected nothing more"),
        ("A[I_X]_Y", 6, "expected nothing more"),
        ("A[İ]", 2, "expected a dimension"),
    ],
)
def test_bad_notation_is_pointed_at(text, position, words):
    with pytest.raises(ValueError, match=words) as error:
        parse(text)
    sentence, line, mark = str(error.value).split("\n")
    assert line == "    " + text
    assert mark == " " * (4 + position) + "^"


@pytest.mark.parametrize("text", [None, 3, ["A[I]"], b"A[I]"])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(ValueError, match="text must be like"):
        parse(text)


@st.composite
def placed(draw):
    """A layout without {U}, a shape that it divides, and a mesh."""
    layout = draw(layouts())
    mesh = {axis: draw(st.integers(1, 4)) for axis in AXES}
    shape = tuple(
        draw(st.integers(1, 3))
        * int(np.prod([mesh[a] for a in cut], dtype=int))
        for cut in layout.axes
    )
    return Layout(layout.name, layout.dims, layout.axes), shape, mesh


@given(placed())
def test_local_shape_is_the_one_jax_gives(example):
    layout, shape, mesh = example
    abstract = AbstractMesh(tuple(mesh.values()), tuple(mesh))
    sharding = NamedSharding(abstract, notation.to_spec(layout))
    local = notation.local_shape(layout, shape, mesh)
    assert local == sharding.shard_shape(shape)


@given(placed(), st.sampled_from([1, 2, 4, 8]))
def test_all_devices_together_hold_every_copy(example, itemsize):
    layout, shape, mesh = example
    one = notation.bytes_per_device(layout, shape, mesh, itemsize)
    devices = np.prod(list(mesh.values()), dtype=int)
    whole = itemsize * int(np.prod(shape, dtype=int))
    assert devices * one == notation.copies(layout, mesh) * whole


def test_copies_are_counted_on_devices():
    sizes = {"X": 2, "Y": 2, "Z": 2}
    mesh = jax.make_mesh(
        tuple(sizes.values()), tuple(sizes), axis_types=(AxisType.Auto,) * 3
    )
    A = np.arange(48.0).reshape(4, 12)
    for text in ("A[I, J]", "A[I_X, J]", "A[I_XZ, J]", "A[I_Y, J_ZX]"):
        x = jax.device_put(A, NamedSharding(mesh, notation.to_spec(text)))
        held = [str(shard.index) for shard in x.addressable_shards]
        counted = {held.count(index) for index in held}
        assert counted == {notation.copies(text, sizes)}
        assert str(notation.of(x, "IJ")) == text


@each(
    ("layout", "shape", "mesh", "words"),
    [
        ("A[I_X]", (4, 4), {"X": 2}, "shape must have 1 entries"),
        ("A[I_X]", (4,), {"Y": 2}, "mesh has no axis 'X'; it has Y"),
        ("A[I_X]", (4,), {}, "it has none"),
        ("A[I_X]", (5,), {"X": 2}, "dimension I of A.* has 5 elements"),
        ("A[I_X]", (4.0,), {"X": 2}, "size of dimension I must be a"),
        ("A[I_X]", (-2,), {"X": 2}, "size of dimension I must be a"),
        ("A[I_X]", (4,), {"X": 0}, "size of mesh axis X must be a"),
        ("A[I]{U_Z}", (4,), {"X": 2}, "mesh has no axis 'Z'"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(layout, shape, mesh, words):
    with pytest.raises(ValueError, match=words):
        notation.local_shape(layout, shape, mesh)


@pytest.mark.parametrize("itemsize", [0, -1, 2.0, "2", True])
def test_a_bad_itemsize_is_refused(itemsize):
    with pytest.raises(ValueError, match="itemsize must be a"):
        notation.bytes_per_device("A[I]", (4,), {"X": 2}, itemsize)


def test_copies_refuses_an_axis_that_the_mesh_lacks():
    with pytest.raises(ValueError, match="mesh has no axis 'Y'"):
        notation.copies("A[I_Y]", {"X": 2})


def test_partial_sums_are_no_copies():
    assert notation.copies("A[I_X]{U_Y}", {"X": 2, "Y": 4, "Z": 3}) == 3


def test_an_unreduced_array_is_read_back():
    mesh = jax.make_mesh(
        (4, 2), ("X", "Y"), axis_types=(AxisType.Explicit,) * 2
    )
    with jax.set_mesh(mesh):
        a = jax.device_put(np.ones((8, 4), np.float32), P("X", "Y"))
        b = jax.device_put(np.ones((4, 6), np.float32), P("Y", None))
        spec = P("X", None, unreduced={"Y"})
        c = jax.numpy.einsum("ij,jk->ik", a, b, out_sharding=spec)
    assert str(notation.of(c, "IK", "C")) == "C[I_X, K]{U_Y}"


@pytest.mark.parametrize(
    ("spec", "dims", "words"),
    [
        (P("X", "Y"), "I", "spec has 2 entries, but dims names 1"),
        (("X",), "I", "spec must be a PartitionSpec"),
        (P("batch"), "I", "expected mesh axes"),
    ],
)
def test_from_spec_refuses(spec, dims, words):
    with pytest.raises(ValueError, match=words):
        notation.from_spec(spec, dims)


def test_of_refuses_what_has_no_spec():
    with pytest.raises(ValueError, match="sharding has no spec"):
        notation.of(jax.numpy.ones((2, 2)), "IJ")
    with pytest.raises(ValueError, match="dims names 1 dimensions"):
        notation.of(jax.numpy.ones((2, 2)), "I")


def test_the_drawn_layouts_are_of_every_kind():
    # layouts() draws unreduced axes, several axes on one dimension and
    # scalars; without them the laws above would say less than they claim.
    seen = set()

    @given(layouts())
    def collect(layout):
        seen.add(bool(layout.unreduced))
        seen.add(max((len(c) for c in layout.axes), default=-1))

    collect()
    assert {True, False, -1, 2, 3} <= seen


L = "A[I_X, J]"
ANYTHING = [None, 5, [], {}, "A[I", ("a",), b"x", math.nan, True]
CALLS = {
    "text": parse,
    "layout": to_spec,
    "spec": lambda bad: from_spec(bad, "IJ"),
    "dims": lambda bad: from_spec(to_spec(L), bad),
    "x": lambda bad: of(bad, "IJ"),
    "mesh": lambda bad: axis_size(bad, "X"),
    "axis": lambda bad: axis_size({"X": 2}, bad),
    "size": lambda bad: axis_size({"X": 2.5 if bad == 5 else bad}, "X"),
    "shape": lambda bad: local_shape(L, bad, {"X": 2}),
    "mesh of a shape": lambda bad: local_shape(L, (4, 4), bad),
    "itemsize": lambda bad: bytes_per_device(
        L, (4, 4), {"X": 2}, 0 if bad == 5 else bad
    ),
    "mesh of copies": lambda bad: copies("A[I]", bad or None),
}


@each("name", CALLS)
def test_anything_else_is_refused(name):
    for bad in ANYTHING:
        with pytest.raises(ValueError, match="."):
            CALLS[name](bad)


MALFORMED = {
    "name": (lambda: Layout(3, ("I",), ((),)), "name must be text"),
    "dims": (lambda: Layout("A", "I", ((),)), "dims must be a tuple of names"),
    "count": (
        lambda: Layout("A", ("I", "J"), ((),)),
        "axes must be a tuple of",
    ),
    "text": (lambda: Layout("A", ("I",), ("X",)), "axes must be a tuple of"),
    "axis": (lambda: Layout("A", ("I",), ((0,),)), "axes must be a tuple of"),
    "twice": (
        lambda: Layout("A", ("I", "J"), (("X",), ("X",))),
        "axes must name mesh axis X once",
    ),
    "summed": (
        lambda: Layout("A", ("I",), (("X",),), ("X",)),
        "axes must name mesh axis X once",
    ),
    "unreduced": (
        lambda: Layout("A", ("I",), ((),), "X"),
        "unreduced must be a tuple of names",
    ),
    "spec": (
        lambda: notation.from_spec(P(P.UNCONSTRAINED), "I"),
        "spec must name mesh axes or None, got UNCONSTRAINED",
    ),
}


@each("name", MALFORMED)
def test_a_layout_that_says_nothing_is_refused(name):
    call, message = MALFORMED[name]
    with pytest.raises(ValueError, match=message):
        call()
