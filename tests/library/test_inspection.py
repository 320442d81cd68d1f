"""The step of a reader: counted, timed, advised, and refused by name."""

import json
import re
from functools import partial
from html.parser import HTMLParser

import jax
import jax.numpy as jnp
import pytest
from jax import P
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import cost, count, hw
from shardlab.count import partitioned as reader
from shardlab.count.flops import products
from shardlab.count.partitioned import groups_of, partitioned
from shardlab.inspection import (
    advise,
    assert_traffic,
    forecast,
    inspect_step,
    table,
)
from shardlab.inspection.command import main
from shardlab.strategies import block, dp, fsdp, fsdp_tp, one_chip, tp
from tests.each import each

B, D, F = 32, 24, 40


def mesh_of(*sizes):
    axes = ("X", "Y", "Z")[: len(sizes)]
    return jax.make_mesh(sizes, axes, axis_types=(AxisType.Auto,) * len(sizes))


def lies(mesh, shape, *spec, dtype=jnp.float32):
    sharding = NamedSharding(mesh, P(*spec))
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def in_map(mesh, in_specs, out_specs):
    return partial(
        jax.shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs
    )


ELEMENT = re.compile(
    r"^  %(\S+) = .* get-tuple-element\(%(\S+)\), index=(\d+).*\n", re.M
)


def in_the_newer_spelling(text):
    """A module in which %while#2 stands for an element of a tuple."""
    names = {f"%{n}": f"%{base}#{k}" for n, base, k in ELEMENT.findall(text)}
    return re.sub(
        r"%[\w.\-]+", lambda m: names.get(m[0], m[0]), ELEMENT.sub("", text)
    )


def layers(W, In):
    """Three layers in a loop, whose weights have to be gathered."""
    return jax.lax.scan(lambda In, W: (jnp.tanh(In @ W), None), In, W)[0].sum()


def test_an_element_of_a_tuple_is_read_in_both_spellings(monkeypatch):
    mesh = mesh_of(8)
    args = lies(mesh, (3, D, D), None, "X"), lies(mesh, (B, D), "X")
    old = partitioned(jax.grad(layers), *args)
    parsed, seen = reader._parsed, []

    def parsed_anew(text):
        seen.append(in_the_newer_spelling(text))
        return parsed(seen[0])

    monkeypatch.setattr(reader, "_parsed", parsed_anew)
    new = partitioned(jax.grad(layers), *args)
    assert "get-tuple-element" not in seen[0].partition("ENTRY")[0]
    assert re.search(r"dot\(%[\w.]+#\d", seen[0])
    assert new.collectives == old.collectives
    assert [m.kind for m in new.collectives].count("all_gather") == 2
    assert new.products == old.products
    assert [p.times for p in new.products] == [3, 3, 3]


def test_an_element_that_is_not_there_is_refused():
    text = """
ENTRY %main (p: (f32[8], f32[4])) -> f32[4] {
  %p = (f32[8]{0}, f32[4]{0}) parameter(0)
  ROOT %negate.1 = f32[4]{0} negate(%p#2)
}
"""
    with pytest.raises(ValueError, match=r"%p#2 names no array of a flat"):
        reader._parsed(text)


@pytest.mark.parametrize("strategy", [dp, fsdp, tp, fsdp_tp])
def test_what_is_written_by_hand_is_what_the_partitioner_leaves(strategy):
    mesh = mesh_of(4, 2)
    args = block.arguments(strategy, mesh, B, D, F)
    kept = {"kept": True} if strategy in (fsdp, fsdp_tp) else {}
    step = block.gradients(strategy, mesh, **kept)
    written = inspect_step(step, *args, level="program")
    made = inspect_step(step, *args, level="partitioner")
    assert made.level == "partitioner"
    assert written.sizes == made.sizes == {"X": 4, "Y": 2}
    assert count.volumes(written.moved) == count.volumes(made.moved)
    assert written.flops() == made.flops() == count.flops(step, *args)
    assert written.held == made.held == count.held(args)


def test_the_compiler_merges_a_second_gather_and_the_program_has_both():
    mesh = mesh_of(4, 2)
    args = block.arguments(fsdp, mesh, B, D, F)
    step = block.gradients(fsdp, mesh)
    gathers = [
        count.volumes(inspect_step(step, *args, level=level).moved)[
            "all_gather", "X"
        ]
        for level in ("program", "partitioner")
    ]
    once = 2 * D * F * 2  # two matrices in bfloat16
    assert gathers == [2 * once, once]


def test_one_chip_moves_nothing():
    mesh = mesh_of(1)
    args = block.arguments(one_chip, mesh, B, D, F)
    report = inspect_step(block.gradients(one_chip, mesh), *args)
    assert not report.moved
    assert "moves nothing" in table(report, forecast(report, hw.V5P))
    assert report.flops() == 12 * B * D * F


def test_the_parts_of_a_step_are_told_apart():
    mesh = mesh_of(8)

    @in_map(mesh, (P("X"), P("X")), (P(), P("X")))
    def step(W, In):
        def loss(W):
            def layer(In, W):
                return In @ jax.lax.all_gather(W, "X", tiled=True), None

            Out, _ = jax.lax.scan(jax.checkpoint(layer), In, W[None])
            return (Out**2).sum()

        value, gradient = jax.value_and_grad(loss)(W)
        return jax.lax.psum(value, "X"), W - gradient

    args = lies(mesh, (D, D), "X"), lies(mesh, (B, D), "X")
    moved = inspect_step(step, *args).moved
    said = [(c.kind, c.origin.part) for c in moved]
    assert said == [
        ("all_gather", "forward"),
        ("all_gather", "again"),
        ("reduce_scatter", "backward"),
        ("all_reduce", "beside"),
    ]
    assert {c.origin.place.split(":")[0] for c in moved} == {
        "test_inspection.py"
    }
    assert [c.origin.shape for c in moved][:2] == [(D // 8, D)] * 2


def lookup(place, mesh, layers=2, vocab=64, T=16):
    """A step whose lookup leaves the activations cut along D."""
    W = {
        "embed": lies(mesh, (vocab, D), None, "X"),
        "in": lies(mesh, (layers, D, F), None, "X"),
        "out": lies(mesh, (layers, F, D), None, None, "X"),
    }
    tokens = lies(mesh, (B, T), "X", dtype=jnp.int32)

    def layer(In, W):
        return In + jax.nn.relu(In @ W["in"]) @ W["out"], None

    def loss(W, tokens):
        In = place(W["embed"][tokens])
        rest = {"in": W["in"], "out": W["out"]}
        Out, _ = jax.lax.scan(jax.checkpoint(layer), In, rest)
        return ((Out @ W["embed"].T) ** 2).mean()

    def step(W, tokens):
        gradients = jax.grad(loss)(W, tokens)
        return jax.tree.map(lambda w, g: w - g, W, gradients)

    return jax.jit(step), (W, tokens)


def test_the_compiler_is_asked_where_the_program_does_not_say():
    mesh = mesh_of(8)
    step, args = lookup(lambda In: In, mesh)
    report = inspect_step(step, *args)
    assert report.level == "partitioner"
    assert report.why.startswith("cannot count `gather`")
    again = [c for c in report.moved if c.origin.part == "again"]
    assert {c.kind for c in again} == {"all_reduce"}  # of activations
    assert count.volume(again) == 2 * 2 * B * 16 * F * 4


def test_what_modules_return_is_to_be_pinned_where_the_compiler_moves_it():
    mesh = mesh_of(8)
    step, args = lookup(lambda In: In, mesh)
    report = inspect_step(step, *args)
    first = advise(report)[0]
    assert first.says.startswith("nothing says how activations are laid out")
    assert f"begin with {B}: with_sharding_constraint(Out, P('X'))" in (
        first.says
    )
    on_batch = NamedSharding(mesh, P("X"))
    place = partial(jax.lax.with_sharding_constraint, shardings=on_batch)
    mended = inspect_step(lookup(place, mesh)[0], *args)
    assert first.volume == report.volume() - mended.volume()
    assert report.volume() > 10 * mended.volume()
    assert mended.pins is None


def test_a_constraint_makes_it_gather_weights():
    mesh = mesh_of(8)
    on_batch = NamedSharding(mesh, P("X"))
    place = partial(jax.lax.with_sharding_constraint, shardings=on_batch)
    step, args = lookup(place, mesh)
    report = inspect_step(step, *args)
    forward = [
        c
        for c in report.moved
        if c.origin.part == "forward" and c.origin.dtype == "float32"
        if c.kind == "all_gather"
    ]
    assert count.volume(forward) == sum(a.bytes for a in report.arguments[:3])
    summed = [c for c in report.moved if c.origin.note == "sliced"]
    assert summed
    assert all(c.kind == "all_reduce" for c in summed)
    assert any(
        "reduce_scatter would move half" in a.says for a in advise(report)
    )
    (again,) = (a for a in advise(report) if "again" in a.says)
    stacks = sum(a.bytes for a in report.arguments[1:3])  # W_in, W_out
    assert again.volume == -again.bytes == stacks


def accumulating(mesh, inside, microbatches=4):
    """Gradients of microbatches, summed over devices in the loop or after."""

    @in_map(mesh, (P(), P("X")), P())
    def step(W, In):
        W = jax.lax.pcast(W, "X", to="varying")

        def turn(total, In):
            gradient = jax.grad(lambda W: ((In @ W) ** 2).sum())(W)
            if inside:
                gradient = jax.lax.psum(gradient, "X")
            return total + gradient / microbatches, None

        none = jnp.zeros_like(W)
        none = jax.lax.psum(none, "X") if inside else none
        parts = In.reshape(microbatches, -1, In.shape[-1])
        total, _ = jax.lax.scan(turn, none, parts)
        return total if inside else jax.lax.psum(total, "X")

    return step, (lies(mesh, (D, F)), lies(mesh, (B, D), "X"))


def test_a_sum_in_a_loop_is_advised_out_of_it_and_gains_what_was_said():
    mesh = mesh_of(8)
    step, args = accumulating(mesh, inside=True)
    report = inspect_step(step, *args)
    first = advise(report)[0]
    assert "sum once, after the loop" in first.says
    assert first.volume == 2 * D * F * 4 * 3
    mended = inspect_step(accumulating(mesh, inside=False)[0], *args)
    looped = [c for c in report.moved if c.times > 1]
    gained = count.volume(looped) - count.volume(mended.moved)
    assert gained == first.volume
    assert not any("loop" in a.says for a in advise(mended))


def test_a_sum_that_is_used_in_the_turn_is_not_advised():
    mesh = mesh_of(8)

    @in_map(mesh, (P(), P("X")), P())
    def step(W, In):
        def turn(W, In):
            gradient = jax.grad(lambda W: ((In @ W) ** 2).sum())(W)
            return W - gradient, None

        return jax.lax.scan(turn, W, In.reshape(4, -1, In.shape[-1]))[0]

    args = lies(mesh, (D, F)), lies(mesh, (B, D), "X")
    report = inspect_step(step, *args)
    assert [c.times for c in report.moved] == [4]
    assert not any("loop" in a.says for a in advise(report))


def test_what_every_turn_moves_alike_is_advised_out():
    mesh = mesh_of(8)

    @in_map(mesh, (P("X"), P("X")), P("X"))
    def step(W, In):
        def turn(done, In):
            return done, In @ jax.lax.all_gather(W, "X", tiled=True)

        parts = In.reshape(4, -1, In.shape[-1])
        return jax.lax.scan(turn, 0, parts)[1].reshape(-1, F)

    args = lies(mesh, (D, F), "X"), lies(mesh, (B * 8, D), "X")
    (advice, *_) = advise(inspect_step(step, *args))
    assert "move it once, before the loop" in advice.says
    assert advice.volume == 3 * D * F * 4


def test_an_argument_that_lies_otherwise_is_named():
    mesh = mesh_of(8)
    step = in_map(mesh, (P("X"), P("X")), P("X"))(lambda W, In: In * W.sum())
    args = lies(mesh, (D, F), None, "X"), lies(mesh, (B, D), "X")
    said = [a.says for a in advise(inspect_step(step, *args))]
    assert any("lay it so before" in s for s in said)


def test_whole_arguments_are_named_where_they_can_be_shared():
    mesh = mesh_of(8)

    @in_map(mesh, (P(), P(), P("X")), P())
    def step(W, odd, In):
        W = jax.lax.pcast(W, "X", to="varying")
        gradient = jax.grad(lambda W: ((In @ W) ** 2).sum())(W)
        return jax.lax.psum(gradient, "X") * odd.sum()

    W, odd = lies(mesh, (D, F)), lies(mesh, (1001,))
    report = inspect_step(step, W, odd, lies(mesh, (B, D), "X"))
    (whole,) = advise(report)
    assert whole.where == "W"
    assert whole.bytes == D * F * 4 - D * F * 4 // 8


# ---- on a machine ------------------------------------------------------------


def gathering(sizes):
    mesh = AbstractMesh(sizes, ("X", "Y"), (AxisType.Auto,) * 2)

    @in_map(mesh, P("X", "Y"), P("X", "Y"))
    def f(W):
        return jax.lax.all_gather(W, "X", tiled=True)

    return inspect_step(f, lies(mesh, (64, 512), "X", "Y"))


def test_seconds_are_those_of_the_formulas():
    report = gathering((16, 4))
    V = 64 * 512 * 4 // 4
    on = forecast(report, hw.V5P, axes={"X": 1, "Y": 1})
    assert on.seconds["links of X"] == pytest.approx(
        cost.t_comm(V, hw.V5P, 1, 16), rel=1e-12
    )
    assert on.places["X"].ring
    on = forecast(report, hw.V5P, axes={"X": 2, "Y": 1}, wrap=False)
    assert on.seconds["links of X"] == pytest.approx(
        cost.t_comm(V, hw.V5P, 2, 16, wrap=False), rel=1e-12
    )


def test_the_last_axis_fills_the_node_and_the_first_leaves_it():
    on = forecast(gathering((16, 4)), hw.H100)
    assert (on.places["Y"].inside, on.places["X"].inside) == (4, 2)
    V = 64 * 512 * 4 // 4
    assert on.seconds["network between nodes"] == pytest.approx(
        cost.t_comm(V, hw.H100, 1, 16, inside=2), rel=1e-12
    )
    assert on.bound == "network between nodes"


def test_products_take_their_roofline():
    def f(In, W):
        return In @ W

    mesh = mesh_of(1)
    args = lies(mesh, (8, 4096)), lies(mesh, (4096, 4096))
    on = forecast(inspect_step(f, *args), hw.V5E)
    assert on.overlapped == pytest.approx(
        cost.t_matmul(8, 4096, 4096, hw.V5E, itemsize=4), rel=1e-12
    )
    (one,) = products(f, *args)
    assert one.bytes == 4 * (8 * 4096 * 2 + 4096**2)


# ---- how XLA spells groups of devices ----------------------------------------


@each(
    ("text", "groups"),
    [
        ("", [(0, 1, 2, 3, 4, 5, 6, 7)]),
        ("{{0,2,4,6},{1,3,5,7}}", [(0, 2, 4, 6), (1, 3, 5, 7)]),
        ("[2,4]<=[8]", [(0, 1, 2, 3), (4, 5, 6, 7)]),
        ("[2,4]<=[4,2]T(1,0)", [(0, 2, 4, 6), (1, 3, 5, 7)]),
        ("mesh['a'=4,'b'=2] {'a'}", [(0, 2, 4, 6), (1, 3, 5, 7)]),
        ("mesh['a'=4,'b'=2] {'a','b'}", [(0, 1, 2, 3, 4, 5, 6, 7)]),
        ("mesh['a'=4,'b'=2] {}", [(n,) for n in range(8)]),
        (
            "mesh['a'=8,'b'=1], device_ids=([4,2]T(1,0)) {'a'}",
            [(0, 2, 4, 6, 1, 3, 5, 7)],
        ),
        (
            "mesh['a'=4,'b'=2], device_ids=(7,5,3,1,6,4,2,0) {'b'}",
            [(7, 5), (3, 1), (6, 4), (2, 0)],
        ),
        ("mesh['a'=8] {'a':(2)2}", [(0, 2), (1, 3), (4, 6), (5, 7)]),
        ("mesh['a'=8] {'a':(1)4}", [(0, 2, 4, 6), (1, 3, 5, 7)]),
    ],
)
def test_groups_are_read_in_every_spelling(text, groups):
    assert groups_of(text, 8) == groups


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[2,4]<=8", "is spelled in no way known here"),
        ("mesh['a'=4,'b'=2]", "is spelled in no way known here"),
        ("mesh['a'=8], device_ids=(x) {'a'}", "is spelled in no way known"),
        ("mesh['a'=4,'b'=2] {'c'}", "has no axis 'c'"),
        ("mesh['a'=8] {'a':(3)2}", "cuts a in no known way"),
    ],
)
def test_a_spelling_that_is_not_known_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        groups_of(text, 8)


def test_an_array_that_is_cut_along_the_axes_in_the_other_order_is_gathered():
    # XLA names the devices of this gather one by one: device_ids=(...).
    mesh = mesh_of(4, 2)
    whole = NamedSharding(mesh, P())
    step = partial(jax.lax.with_sharding_constraint, shardings=whole)
    report = inspect_step(
        step, lies(mesh, (B, D), ("Y", "X")), level="partitioner"
    )
    assert count.volumes(report.moved) == {("all_gather", "X", "Y"): 4 * B * D}


# ---- what is refused ---------------------------------------------------------


def test_bad_input_is_named():
    mesh = mesh_of(8)
    args = (lies(mesh, (B, D), "X"),)
    with pytest.raises(ValueError, match="f must be a function"):
        inspect_step("step", *args)
    with pytest.raises(ValueError, match="level must be one of"):
        inspect_step(jnp.sum, *args, level="hlo")
    with pytest.raises(ValueError, match="report must be a Report"):
        forecast("report", hw.V5P)
    report = inspect_step(jnp.sum, *args, level="partitioner")
    with pytest.raises(ValueError, match="chip must be a Chip"):
        forecast(report, "v5p")
    with pytest.raises(ValueError, match="axes must say of X"):
        forecast(report, hw.V5P, axes={"Y": 1})
    with pytest.raises(ValueError, match="on must be a Forecast"):
        advise(report, "v5p")
    with pytest.raises(ValueError, match="part must be one of"):
        report.flops("backwards")


def test_the_compiler_needs_devices_and_one_mesh():
    plain = jax.ShapeDtypeStruct((B, D), jnp.float32)
    with pytest.raises(ValueError, match="the arguments lie on 0 meshes"):
        partitioned(jnp.sum, plain)
    mesh = AbstractMesh((4096,), ("X",), (AxisType.Auto,))
    with pytest.raises(ValueError, match="an AbstractMesh has none"):
        partitioned(jnp.sum, lies(mesh, (4096, D), "X"))


def test_a_loop_of_unknown_length_is_refused_by_name():
    mesh = mesh_of(8)

    def f(In, W):
        def more(state):
            return state[0] < jnp.abs(state[1]).max()

        def turn(state):
            n, In = state
            return n + 1, jax.lax.with_sharding_constraint(
                In @ W, NamedSharding(mesh, P("X"))
            )

        return jax.lax.while_loop(more, turn, (0, In))[1]

    args = lies(mesh, (B, D), "X"), lies(mesh, (D, D), None, "X")
    with pytest.raises(ValueError, match="`while`.*how often it runs"):
        inspect_step(f, *args)


def test_branches_that_differ_are_refused_by_name():
    mesh = mesh_of(8)

    def f(flag, In):
        return jax.lax.cond(flag, lambda In: In @ In.T, lambda In: In * 0, In)

    flag = lies(mesh, (), dtype=jnp.bool_)
    with pytest.raises(ValueError, match="`cond`: its branches differ"):
        inspect_step(f, flag, lies(mesh, (B, B), "X"))


# ---- the command line --------------------------------------------------------

CASE = """
import jax, jax.numpy as jnp
from jax import P
from jax.sharding import AbstractMesh, AxisType, NamedSharding

def case():
    mesh = AbstractMesh((4096,), ("X",), (AxisType.Auto,))
    lies = NamedSharding(mesh, P("X"))
    W = jax.ShapeDtypeStruct((8192, 512), jnp.bfloat16, sharding=lies)
    @jax.shard_map(mesh=mesh, in_specs=P("X"), out_specs=P("X"))
    def gather(W):
        return jax.lax.all_gather(W, "X", tiled=True)
    return gather, (W,)

def nothing():
    return 3
"""


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CASE)
    return path


def test_the_command_prints_a_table(module, capsys):
    assert main([f"{module}:case", "--machine", "v5p"]) == 0
    said = capsys.readouterr().out
    assert "gather: 4096 devices, X=4096" in said
    assert "mine.py:12" in said
    assert "bound by links of X" in said


def test_the_command_gives_data(module, capsys):
    assert main([f"{module}:case", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    (one,) = data["moved"]
    assert one["volume"] == 8192 * 512 * 2
    assert (one["kind"], one["axes"], one["part"]) == (
        *("all_gather", ["X"], "beside"),
    )


class Cells(HTMLParser):
    """The text of all cells of a page, and its tags that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open += [tag] * (tag != "meta")
        self.cells += [""] * (tag in ("td", "th"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def test_the_command_gives_a_page(module, capsys):
    assert main([f"{module}:case", "--html", "--machine", "v5p"]) == 0
    found = Cells(capsys.readouterr().out)
    assert not found.open
    assert {"all_gather", "mine.py:12", "links of X"} <= set(found.cells)


def twice(module):
    text = module.read_text()
    once = 'return jax.lax.all_gather(W, "X", tiled=True)'
    module.with_name("then.py").write_text(text.replace(once, "return W"))
    return module.with_name("then.py")


def test_the_command_sets_two_steps_side_by_side(module, capsys):
    then = twice(module)
    asked = [f"{module}:case", "--against", f"{then}:case"]
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = (line for line in lines if "all_gather" in line)
    V = f"{8192 * 512 * 2:,}"
    assert row.split()[-3:] == ["0", V, "new"]
    assert any(line.startswith("FLOPs") and "same" in line for line in lines)
    assert main([*asked, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert ["moved in all", 0, 8192 * 512 * 2] in data["changes"]
    assert main([*asked, "--html"]) == 0
    found = Cells(capsys.readouterr().out)
    assert not found.open
    assert {V, "new", "moved in all"} <= set(found.cells)


def test_a_step_is_held_against_its_traffic_in_one_line():
    mesh = mesh_of(4, 2)
    args = block.arguments(fsdp_tp, mesh, B, D, F)
    step = block.gradients(fsdp_tp, mesh)
    report = inspect_step(step, *args)
    right = {
        axis: sum(c.volume * c.times for c in report.moved if axis in c.axes)
        for axis in ("X", "Y")
    }
    assert assert_traffic(step, args, right).moved == report.moved
    with pytest.raises(AssertionError) as caught:
        assert_traffic(step, args, {"X": right["X"] - 1})
    first, over_x, *rest = str(caught.value).splitlines()
    assert "does not move what was expected" in first
    n = right["X"]
    assert over_x == f"X: expected {n - 1:,} bytes, counted {n:,}"
    assert any("all_gather" in line for line in rest)
    y = right["Y"]
    assert f"Y: expected 0 bytes, counted {y:,}" in rest
    # What moves over both axes at once is neither's.
    over_both = {("Y", "X"): 4}
    with pytest.raises(AssertionError, match="X and Y: expected 4 bytes"):
        assert_traffic(step, args, right | over_both)


@pytest.mark.parametrize(
    ("args", "expected", "said"),
    [
        ([], {"X": 0}, "args must be a tuple, got list"),
        ((), 7, "expected must be a dict from mesh axis"),
        ((), {3: 7}, "expected must have mesh axes as keys, got 3"),
        ((), {"X": 0.5}, r"expected\['X'\] must be"),
        ((), {"X": 0, ("X",): 1}, "expected names X twice"),
        (None, {"Z": 0}, "expected names Z; the mesh has X"),
    ],
)
def test_bad_expectations_are_named(args, expected, said):
    args = (lies(mesh_of(8), (B, D), "X"),) if args is None else args
    with pytest.raises(ValueError, match=said):
        assert_traffic(jnp.sin, args, expected)


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("case", "named MODULE:FUNCTION"),
        ("{}:other", "has no function 'other'"),
        ("{}:nothing", "must return the step"),
        ("no_such_module:case", "no_such_module"),
        ("no_such_file.py:case", "there is no file"),
    ],
)
def test_the_command_says_what_it_expected(module, capsys, step, says):
    assert main([step.format(module)]) == 2
    assert says in capsys.readouterr().err


def test_an_unknown_machine_is_named(module, capsys):
    assert main([f"{module}:case", "--machine", "h9"]) == 2
    assert "chip must be one of" in capsys.readouterr().err
