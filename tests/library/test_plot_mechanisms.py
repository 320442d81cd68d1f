"""Pictures of mechanisms: what stands in them is computed, and fits in."""

import re
from fractions import Fraction

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from matplotlib.colors import to_rgb

from shardlab import hw, matmul, memory, pipeline, plot, ring, switch
from shardlab.plot.rounds import reached
from tests.each import each
from tests.library.drawn import texts

VOLUMES = {
    ("columns", "rows"): 2,
    ("rows", "columns"): 9,
    ("columns", "columns"): 5,
    ("rows", "rows"): 10,
}
FIVE = {
    "GPipe": pipeline.gpipe(4, 8, 1, 2),
    "1F1B": pipeline.one_f_one_b(4, 8, 1, 2),
    "interleaved": pipeline.interleaved(4, 8, 2, 1, 2),
    "zero bubble": pipeline.zero_bubble(4, 8, 1, 2, 1),
    "DualPipe": pipeline.dualpipe(4, 8, 1, 2, 1),
}
SENDS = {
    "ring": [[(c, (c + 1) % 4) for c in range(4)]] * 3,
    "tree": [[(0, 1)], [(0, 2), (1, 3)]],
}
AROUND = ring.all_gather_steps(64, 8, directions=1)
TALL = np.kron(np.ones((4, 1)), np.eye(8))  # an AllGather on four devices
ROADS = {"all_reduce": 14, "reduce_scatter": 7, "all_gather": 7}
ROADS["all_to_all"] = 1
POD_OF = [n // 4 for n in range(12)]
RINGS = {
    "in order": range(12),
    "in turn": [n % 3 * 4 + n // 3 for n in range(12)],
}
IN_WORDS = {"in order": "3 hops", "in turn": "12 hops"}
WAITS = {"TPU v5e": {("sum", "A[I, J_X] · B[J_X, K]"): (174, 565, "sum")}}
KEPT = {"as they lie": 2.68e8, "one gathered": 6.71e8}
LAID = {"FSDP": [("W[D_X, F]", "gathered"), ("Out[B, D_Y]", "")]}


def held(*spec):
    """A matrix of 8 by 6 on a mesh of 4 by 2 devices."""
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)
    cut = NamedSharding(mesh, PartitionSpec(*spec))
    return jax.device_put(np.arange(48.0).reshape(8, 6), cut)


def test_indices_stand_below_the_line_in_the_colour_of_their_axis():
    picture = plot.svg(plot.four_cases().figure)
    x, y = "var(--axis-x, #1b64b5)", "var(--axis-y, #b9480a)"
    assert f'style="fill: {x}">X</tspan>' in picture
    assert f'style="fill: {y}">Y</tspan>' in picture
    assert "_X" not in picture


def test_weights_that_stay_are_drawn_beside_their_room():
    ax = plot.weights_stay(KEPT, 3e8, 2.1e6)
    assert texts(ax).count("2.1 MB") == 2
    fits, does_not = (ax.patches[n].get_width() for n in (-2, -1))
    assert does_not / fits == pytest.approx(671 / 268)


def test_bars_of_waiting_have_one_scale():
    ax = plot.waits(WAITS, 760)
    wide = [patch.get_width() for patch in ax.patches[-2:]]
    assert wide[1] / wide[0] == pytest.approx(565 / 174)


def test_what_is_exposed_is_what_a_chip_does_not_multiply():
    steps = ring.all_gather_steps(32, 4, directions=1)
    works = matmul.timeline(steps, 4, 12.0, 1.0)
    axes = plot.busy({"one": works}, unit=1.0, name="s", exposed=True)
    took = max(work.end for work in works if work.chip == 0)
    said = [t.get_text() for t in axes[0, 0].texts]
    assert "arithmetic 12 s" in said
    assert f"exposed {took - 12:.0f} s" in said


def test_a_detour_by_a_scatter_costs_no_more_than_the_straight_road():
    said = [
        re.search(r": (\d+) B", word) for word in texts(plot.sum_roads(ROADS))
    ]
    assert [int(m[1]) for m in said if m] == [7, 7, 14, 7, 7, 1]


def test_bars_of_recipes_are_as_long_as_their_bytes():
    ax = plot.recipes()
    for recipe in memory.RECIPES:
        assert f"{memory.bytes_per_param(recipe):g} bytes" in texts(ax)
    own = {"mine": memory.Recipe(2, 4, 4, 4, 4)}
    assert "18 bytes" in texts(plot.recipes(own))
    with pytest.raises(ValueError, match="kept must hold a recipe"):
        plot.recipes({})


def test_a_limit_ends_where_its_chips_are():
    ax = plot.reach(
        {"one": (1000, "pod-2", "1,000"), "none": (0, "pod-2", "none")}
    )
    whole, part, empty, *_ = [
        patch.get_width() for patch in ax.patches if patch.get_height() == 24
    ]
    assert part == pytest.approx(whole * 3 / 5)
    assert empty == whole
    assert {"1,000", "none"} <= set(texts(ax))


def test_a_block_reaches_one_chip_a_round_on_a_ring_and_doubles_in_a_tree():
    spread = {name: [*map(len, reached(r))] for name, r in SENDS.items()}
    assert spread == {"ring": [1, 2, 3, 4], "tree": [1, 2, 4]}
    drawn = texts(plot.rounds(SENDS, 4))
    titles = [w for w in drawn if w not in ("", "time") and not w.isdigit()]
    assert titles == ["ring", "3 rounds", "tree", "2 rounds"]
    assert drawn.count("3") == 4  # each chip at the start and at the end


def test_a_link_carries_every_block_but_its_receivers_own():
    ax = plot.gather_traffic(AROUND, 8)
    cells = [p for p in ax.patches if p.get_width() == p.get_height() == 26]
    assert len(cells) == 8 * 7
    found = texts(ax)
    start = found.index("link 7→0")
    assert found[start + 1 : start + 9] == [*"76543210"]  # chip 0 has block 0
    with pytest.raises(ValueError, match="all 4 links of a ring, one way"):
        plot.gather_traffic(ring.all_gather_steps(64, 4), 4)


@pytest.mark.parametrize("N", [4, 6, 8])
def test_parts_of_an_exchange_are_as_long_as_their_ways(N):
    found = texts(plot.exchanged_parts(ring.all_to_all_steps(2 * N**2, N), N))
    assert f"{N * N // 4} hops, by two links" in found
    assert f"{Fraction(N * N, 8)} parts of {N * N}: V/8" in found


def test_ways_out_have_the_bandwidths_of_the_chips():
    found = texts(plot.ways_out(hw.V5P, hw.B200))
    assert "W = 2 × 90 = 180 GB/s" in found
    assert {"W = 900 GB/s", "W = 50 GB/s"} <= set(found)


def test_a_hierarchical_sum_leaves_a_node_in_pieces():
    ax = plot.hierarchy(3, 2)
    fills = [plt.matplotlib.colors.to_hex(p.get_fc()) for p in ax.patches]
    summed = fills.count(plot.colours.colour("counted"))
    assert summed == 3 * 2 * 1 + 3 * 2 * 2  # a piece each, then all of them


def test_the_busiest_links_are_framed():
    steps = ring.all_gather_steps(64, 8, wrap=False)
    red = plot.colours.colour("mark")
    framed = [
        bar.get_height()
        for bar in plot.links(steps, 64).patches
        if plt.matplotlib.colors.to_hex(bar.get_ec()) == red
    ]
    assert sorted(framed) == [-7 / 8, 7 / 8]


def test_powers_of_ten_of_bytes_have_their_units():
    ax = plot.new_axes(None)
    ax.set(xscale="log", xlim=(1e3, 2e9))
    names = [t.get_text() for t in plot.byte_ticks(ax).get_xticklabels()]
    assert names[:4] == ["1 kB", "10 kB", "100 kB", "1 MB"]
    assert names[-1] == "1 GB"


@pytest.mark.parametrize("name", FIVE)
def test_what_is_in_flight_is_what_the_simulator_counts(name):
    held = plot.schedules.held_over_time(FIVE[name])
    peaks = [max(n for _, n in held[stage]) for stage in sorted(held)]
    assert peaks == list(pipeline.in_flight(FIVE[name]))
    assert all(curve[-1][1] == 0 for curve in held.values())


def test_heads_are_copied_where_chips_outnumber_groups():
    assert "2 copies" in texts(plot.heads_dealt(8, 2, 4))[-1]
    assert "cop" not in texts(plot.heads_dealt(8, 4, 4))[-1]
    with pytest.raises(ValueError, match="chips must divide 8 heads, got 3"):
        plot.heads_dealt(8, 2, 3)


def test_what_travels_is_framed_and_what_stays_is_not():
    ax = plot.layouts(LAID, {"X": 4, "Y": 2})
    gold = plot.colours.to_hex(plot.colours.colour("network-1"))
    filled = [plot.colours.to_hex(p.get_facecolor()) for p in ax.patches]
    assert filled.count(gold) == texts(ax).count("gathered") == 1
    assert texts(ax).count("3") == 1  # X has four chips, Y has two
    assert texts(ax).count("1") == 2


def test_a_block_bears_the_device_that_holds_it():
    x = held("X", "Y")
    ax = plot.holders({"A": x})
    at = {t.get_text(): t.get_position() for t in ax.texts}
    for shard in x.addressable_shards:
        for other in x.addressable_shards:
            places = zip(
                shard.index,
                other.index,
                at[str(shard.device.id)][::-1],
                at[str(other.device.id)][::-1],
                strict=True,
            )
            for one, two, here, there in places:
                assert ((one.start or 0) < (two.start or 0)) == (
                    here < there - 1
                )


def test_a_part_of_an_axis_is_no_ring():
    ax = plot.ring_or_line(8, 16)
    found = texts(ax)
    assert found.count("6") == 4  # a ring, two lines, a block
    assert found.count("3.5") == 4  # over two wires of the ring, of the block
    assert found.count("7") == 4 + 1  # all other parts over one wire of a line
    dashed = [ln for ln in ax.lines if ln.get_linestyle() != "-"]
    assert len(dashed) == 2 + 8 + 4  # what leaves the lines, and the block


def test_the_logits_are_drawn_to_scale():
    ax = plot.logits(8192, 128_256)
    boxes = [(p.get_width(), p.get_height()) for p in ax.patches]
    wide = max(wide for wide, _ in boxes)
    small = boxes[0]
    assert small[0] == small[1] == pytest.approx(wide * 8192 / 128_256)
    assert any(f"{3 * wide / 128_256:.2f} pixels" in w for w in texts(ax))


def test_the_ridge_of_a_roof_is_where_bytes_keep_up():
    ax = plot.roofline(1e15, {"HBM": 4e12, "link": 1e11}, {"here": 50})
    assert {"HBM: ridge at 250", "link: ridge at 10,000"} <= set(texts(ax))
    (mark,) = [line for line in ax.lines if line.get_marker() == "s"]
    assert mark.get_ydata()[0] == pytest.approx(50 * 4e12)
    with pytest.raises(ValueError, match="bandwidths must name one"):
        plot.roofline(1e15, {})


def test_the_order_that_moves_least_is_marked():
    ax = plot.cut_orders(VOLUMES)
    marked = [t.get_text() for t in ax.texts if t.get_color() == "#1a7f37"]
    assert marked == ["2 BD"]
    with pytest.raises(ValueError, match="volumes must have the orders"):
        plot.cut_orders({})


@each(
    ("draw", "message"),
    [
        (lambda: plot.outer_products(9), "chips must be 2 to 5, got 9"),
        (lambda: plot.only_the_diagonal(1), "chips must be 2 to 8, got 1"),
        (lambda: plot.sum_roads({}), "sent must give all_reduce"),
        (lambda: plot.waits({}, 1), "machines must hold products"),
        (lambda: plot.ways_round(9), "chips must be 3 to 5, got 9"),
        (lambda: plot.reach({}), "limits must name a limit or more"),
        (lambda: plot.dealt_sequences(7), "divide by 2 chips and by 2, got 7"),
        (lambda: plot.one_weight(at=(3, 3)), "an element of Q"),
        (lambda: plot.zero_one(8), "chips must be at most 4, got 8"),
        (lambda: plot.gather_use_drop(5), "chips must be at most 4, got 5"),
        (lambda: plot.data_parallel_step(9), "chips must be at most 8, got 9"),
        (lambda: plot.node_gathers(1), "gpus must be 2 to 8, got 1"),
        (lambda: plot.layouts({}, {}), "strategies must name one or more"),
        (lambda: plot.layouts({"": [("A[D]", "")]}, {}), "hold matrices"),
        (lambda: plot.holders({}), "arrays must name a matrix or more"),
        (lambda: plot.holders({"A": held("X")}), "no block twice, got 'A'"),
        (lambda: plot.ring_or_line(9), "chips must be 4, 6 or 8, got 9"),
        (lambda: plot.ring_or_line(8, 8), "multiple of 8, got 8"),
        (lambda: plot.two_cuts(7), "chips must be at most 6, got 7"),
        (lambda: plot.whole_layer(chips=9), "chips must be at most 8, got 9"),
        (lambda: plot.gate(7), "chips must be at most 6, got 7"),
        (lambda: plot.logits(9, 10), "D must be at most 5, got 9"),
        (lambda: plot.logits(1, 10, 9), "chips must be at most 8, got 9"),
        (lambda: plot.f_and_g(5), "chips must be at most 4, got 5"),
        (lambda: plot.f_and_g(passes="b"), "passes must be one of"),
        (lambda: plot.two_axes(1, 4), "X must be 2 to 6 chips, got 1|X must"),
        (lambda: plot.gantt({}), "schedules must be a dict"),
        (lambda: plot.gantt([]), "schedules must be a dict"),
        (lambda: plot.gantt({"a": []}), "schedules must not be empty"),
        (lambda: plot.in_flight({}), "schedules must be a dict"),
        (lambda: plot.links([], 1), "steps must move something"),
        (lambda: plot.timeline([]), "runs must be a dict"),
        (lambda: plot.timeline({"a": []}), "none at 'a'"),
        (lambda: plot.busy({}), "runs must be a dict"),
        (lambda: plot.gallery({}), "arrays must name a matrix"),
        (lambda: plot.exchanges({}), "runs must be a dict"),
        (lambda: plot.ports({}, 1, 1), "ways must be a dict"),
        (lambda: plot.gather_traffic(AROUND, 9), "N must be 3 to 8"),
        (lambda: plot.exchanged_parts([], 5), "N must be 4, 6 or 8"),
        (lambda: plot.ways_out(hw.H100, hw.V5E), "tpu must be on a torus"),
        (lambda: plot.hierarchy(4), "nodes must be 2 or 3 and gpus 2 to 4"),
        (lambda: plot.rounds({}, 4), "runs must name one or more"),
        (lambda: plot.rounds(SENDS, 3), "runs must name chips 0 to 2"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_times_may_be_fractions():
    events = pipeline.gpipe(2, 2, Fraction(1, 2), 1)
    assert plot.gantt({"": events}).shape == (1, 1)


def test_ones_are_drawn_where_they_stand_in_the_shade_of_their_device():
    ax = plot.ones({"AG": TALL}, 4)
    cells = [p for p in ax.patches if p.get_width() == p.get_height()]
    assert len(cells) == TALL.sum()
    assert len({p.get_facecolor() for p in cells}) == 4
    assert len({p.get_facecolor() for p in cells if p.get_y() < 44 + 88}) == 1
    assert texts(ax) == ["AG: 32 × 8", *(f"chip {k}" for k in range(4))]


@pytest.mark.parametrize(
    ("matrices", "devices", "product", "says"),
    [
        ({}, 4, "", "matrices must be"),
        ({"M": 2 * TALL}, 4, "", "M must hold zeros and ones"),
        ({"M": TALL}, 5, "", "which 5 devices do not divide"),
        ({"M": TALL}, 0, "", "devices"),
        ({"M": TALL}, 4, "AR", "AR needs two matrices, got 1"),
    ],
)
def test_matrices_that_cannot_be_drawn_are_refused(
    matrices, devices, product, says
):
    with pytest.raises(ValueError, match=says):
        plot.ones(matrices, devices, product)


def test_a_product_of_ones_stands_where_its_factors_meet():
    ax = plot.ones({"AG": TALL, "RS": TALL.T}, 4, "AR")
    cells = [p for p in ax.patches if p.get_width() == p.get_height() == 8]
    assert len(cells) == 2 * TALL.sum() + (TALL @ TALL.T).sum()
    assert "AR: 32 × 32" in texts(ax)
    # Below each cell of RS stand as many of its shade as there are devices.
    heads = [p for p in cells if p.get_y() < 44 + 64]
    for head in heads:
        below = [p for p in cells if p.get_x() == head.get_x()]
        assert len(below) == 5
        assert {p.get_facecolor() for p in below} == {head.get_facecolor()}


def test_a_copy_comes_back_as_a_sum_and_a_second_sum_as_many_times_that():
    said = texts(plot.copy_and_sum([1, 2, 3, 4, 90]))
    assert said.count("100") == 6  # five copies of one sum
    assert "500" in said
    for chips in (1, 9):
        with pytest.raises(ValueError, match="chips"):
            plot.copy_and_sum(chips * [1])


def test_the_blocks_that_one_chip_can_form_are_framed():
    ax = plot.only_the_diagonal(4)
    wide = [p for p in ax.patches if p.get_linewidth() > 1.5]
    assert len(wide) == 4
    corners = {(p.get_x(), p.get_y()) for p in wide}
    assert len({x for x, _ in corners}) == len({y for _, y in corners}) == 4
    said = texts(ax)
    for chip in "0123":  # its own block, and two boxes a block it shares
        assert said.count(chip) == 1 + 2 * 3


def test_the_terms_of_a_product_are_drawn_with_numbers_that_add_up():
    said = texts(plot.outer_products(4))
    numbers = [int(words) for words in said if words.isdecimal()]
    product, terms = numbers[16:20], numbers[20:-4]
    each = [terms[8 * n + 4 : 8 * n + 8] for n in range(4)]
    assert numbers[-4:] == product == [sum(t) for t in zip(*each, strict=True)]


def test_collectives_are_drawn_for_three_chips_at_most():
    own = [{n: np.array([1 << n])} for n in range(4)]
    runs = {"x": (ring.all_gather_steps(32, 4, directions=1), own)}
    with pytest.raises(ValueError, match="2 or 3 chips"):
        plot.exchanges(runs)


def test_a_switch_takes_and_hands_out_what_the_simulation_says():
    said = texts(plot.switch_adds(4))
    run = switch.run("all_reduce", 16, 4, "in_switch")
    assert run.sent == run.taken == [16 + 16 // 4] * 4
    assert said.count("V") == said.count("V/4") == 2 * 4  # up, and down
    assert said.count("+") == 4 * 3  # four pieces, each a sum of four terms
    assert said.count("=") == 4
    for gpus in (1, 5):
        with pytest.raises(ValueError, match="gpus"):
            plot.switch_adds(gpus)


def test_chips_hold_all_then_a_piece_then_all():
    ax = plot.pod_phases(3)
    paper = to_rgb(plot.colours.colour("paper"))
    pieces = [p for p in ax.patches if getattr(p, "get_width", int)() == 30]
    pieces = [p for p in pieces if p.get_height() < 20]
    full = [p.get_facecolor()[:3] != paper for p in pieces]
    moments = [sum(full[n : n + 18]) for n in (0, 18, 36, 54)]
    assert moments == [18, 6, 6, 18]
    with pytest.raises(ValueError, match="chips"):
        plot.pod_phases(5)


def test_a_rail_joins_the_gpus_of_one_number():
    ax = plot.rails(3, 4, chosen=1)
    to_rail = [w for w in ax.lines if min(w.get_ydata()) == 58]
    assert len(to_rail) == 3 * 4
    thick = [w for w in to_rail if w.get_linewidth() > 2]
    assert len({w.get_xdata()[1] for w in thick}) == 1
    assert len(thick) == 3
    for given in ((1, 8, 2), (2, 9, 2), (2, 4, 4)):
        with pytest.raises(ValueError, match="rails|nodes"):
            plot.rails(*given)


def test_groups_that_cross_are_gold():
    groups = {"inside": [[0, 1], [2, 3]], "across": [[0, 2], [1, 3]]}
    ax = plot.sum_groups(groups, inside=2)
    wide = [p for p in ax.patches if p.get_linewidth() > 1.5]
    seen = [to_rgb(p.get_edgecolor()[:3]) for p in wide]
    blue, gold = map(to_rgb, map(plot.colours.colour, ("axis-x", "network")))
    assert seen == [blue, blue, gold, gold]


def test_hops_out_of_a_pod_are_thick():
    ax = plot.ring_orders(RINGS, POD_OF, IN_WORDS)
    widths = [line.get_linewidth() for line in ax.lines]
    assert [
        sum(w > 2 for w in widths[:12]),
        sum(w > 2 for w in widths[12:]),
    ] == [
        3,
        12,
    ]
