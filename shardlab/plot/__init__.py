"""Drawings of the book: labelled, with units, for light and dark pages.

Inside Jupyter, importing this package makes figures SVG. Its own have live
text, colours that follow the page, and bytes that the drawing alone decides.
Parts:

axes      the look, new axes, and canvases on which a unit is a pixel
bars      what training keeps, and how many chips each limit allows
batches   sequences dealt to chips
blocks    products of matrices to scale, and what a device has of each
cases     the four cases of a sharded product, and sums of outer products
casework  published runs: how chips were dealt, what fits, what a step takes
charts    what links carry, curves over a range, and rooflines
colours   the palette: hue is the mesh axis, lightness the index along it
dealing   films of layers dealt to stages, and of stages that are nodes
detours   ways past a gather: slice and add, and weights that stay
dispatch  films of tokens that travel to their experts and back
experts   who visits which expert, whose slots are full, and who holds what
films     chips that hand blocks on, to be played and stepped through
floors    nodes of GPUs with experts, and a token's ways to them
heights   what is held over a step, below what is done
interactive  curves that a reader moves with a slider
kept      what training keeps: in a layer, on a stage, on a chip
layers    where a layer's arrays lie, and what its halves send
machines  chips, how they are wired, slices and pods
meshes    meshes, and which block of a matrix each device holds
paths     what chips make of one array side by side, and where they meet
pipes     films of pipelines, whose stages hand microbatches on
pods      what leaves pods, rings through them, and verdicts on a grid
products  products of sharded matrices
readings  what a program says of its layouts, and what is read into it
ticks     plain numbers where a reader wants them
things    what pictures are made of: chips, wires, machines, blocks, bars
training  steps of training, what moves in them, and where arrays are cut
transposes collectives as matrices, and what a copy becomes backwards
room      what a chip holds: as bars, and below what its queues do
rounds    who sends to whom, round by round, and wires across a middle
sharing   which blocks each chip multiplies, and how long it waits
schedules what the stages of a pipeline do, and when, and what they hold
sequences a sequence cut over chips: who scores which keys, what moves
steps     films of training steps: who multiplies, sends and holds what
switches  switches that add and copy what passes through them
svg       pictures as text for a page
timelines what queues are busy with, and when
wiring    what links carry in words, ways out of a chip, and nodes
"""

from shardlab.plot.axes import (
    COLUMN,
    FILLS,
    SIZE,
    WHOLE,
    bare,
    canvas,
    new_axes,
    panels,
)
from shardlab.plot.bars import reach, recipes
from shardlab.plot.batches import dealt_sequences
from shardlab.plot.blocks import matmuls
from shardlab.plot.cases import (
    block_product,
    four_cases,
    only_the_diagonal,
    outer_products,
    sum_roads,
)
from shardlab.plot.charts import curves, links, roofline
from shardlab.plot.colours import shade
from shardlab.plot.dealing import dealt_player, nodes_player
from shardlab.plot.detours import gather_or_slice, turn_the_cut, weights_stay
from shardlab.plot.dispatch import dispatch_player
from shardlab.plot.exchanges import exchanges
from shardlab.plot.experts import (
    expert_axes,
    expert_loads,
    ragged_pieces,
    ragged_rows,
    router_choices,
    slots_taken,
    stages_and_experts,
)
from shardlab.plot.failures import (
    cut_anew,
    failing_runs,
    fault_places,
    kept_work,
    lost_shares,
    recoveries,
    waiting,
)
from shardlab.plot.films import (
    Player,
    brought,
    film,
    player,
    stage,
    terms,
)
from shardlab.plot.floors import copies_sent, expert_floor
from shardlab.plot.heights import heights, moments
from shardlab.plot.interactive import Moment, Sweep, sweep
from shardlab.plot.kept import (
    ladder,
    layer_kept,
    policies,
    stacks,
    stage_bytes,
    tallies,
)
from shardlab.plot.layers import (
    gate,
    holders,
    layouts,
    logits,
    mirrored_passes,
    two_cuts,
    whole_layer,
)
from shardlab.plot.machines import (
    hosts,
    networks,
    node_gathers,
    one_chip,
    pod_phases,
    rails,
    ring_or_line,
    slice_and_axes,
)
from shardlab.plot.meshes import gallery, mesh, shards
from shardlab.plot.paths import f_and_g
from shardlab.plot.pipes import pipeline_player
from shardlab.plot.pods import ports, ring_orders, sum_groups, verdicts
from shardlab.plot.products import busy, product_player
from shardlab.plot.readings import (
    layouts_read,
)
from shardlab.plot.room import room, stacked
from shardlab.plot.rounds import bisection, idle_links, rounds
from shardlab.plot.schedules import (
    backward_halves,
    gantt,
    in_flight,
    one_tick,
    stage_piles,
    to_scale,
)
from shardlab.plot.sequences import (
    best_ways,
    dealt_targets,
    gathered_keys,
    merged_halves,
    ring_player,
    ring_turns,
    score_owners,
    tokens_and_heads,
    tokens_to_heads,
    way_home,
    what_moves,
)
from shardlab.plot.sharing import (
    cases_at_work,
    local_products,
    waits,
    ways_round,
)
from shardlab.plot.steps import step_player
from shardlab.plot.svg import svg
from shardlab.plot.switches import switch_adds
from shardlab.plot.tables import table
from shardlab.plot.ticks import byte_ticks, ticks
from shardlab.plot.timelines import timeline
from shardlab.plot.training import (
    cut_orders,
    data_parallel_step,
    gather_use_drop,
    heads_dealt,
    one_step,
    one_weight,
    sequence_parallel,
    two_axes,
    zero_one,
)
from shardlab.plot.transposes import copy_and_sum, ones
from shardlab.plot.wiring import (
    exchanged_parts,
    gather_traffic,
    hierarchy,
    ways_out,
)

__all__ = [
    "layouts_read",
    "stage_piles",
    "to_scale",
    "what_moves",
    "way_home",
    "tokens_to_heads",
    "score_owners",
    "ring_turns",
    "ring_player",
    "merged_halves",
    "gathered_keys",
    "best_ways",
    "tokens_and_heads",
    "COLUMN",
    "FILLS",
    "SIZE",
    "WHOLE",
    "Moment",
    "Player",
    "Sweep",
    "backward_halves",
    "bare",
    "bisection",
    "block_product",
    "brought",
    "busy",
    "byte_ticks",
    "canvas",
    "cases_at_work",
    "copies_sent",
    "copy_and_sum",
    "cut_anew",
    "curves",
    "cut_orders",
    "data_parallel_step",
    "dealt_player",
    "dealt_sequences",
    "dealt_targets",
    "dispatch_player",
    "exchanged_parts",
    "exchanges",
    "expert_axes",
    "expert_floor",
    "expert_loads",
    "failing_runs",
    "fault_places",
    "film",
    "f_and_g",
    "four_cases",
    "gallery",
    "gantt",
    "gate",
    "gather_or_slice",
    "gather_traffic",
    "gather_use_drop",
    "heads_dealt",
    "heights",
    "hierarchy",
    "holders",
    "idle_links",
    "hosts",
    "in_flight",
    "kept_work",
    "ladder",
    "layer_kept",
    "layouts",
    "links",
    "local_products",
    "logits",
    "lost_shares",
    "matmuls",
    "mesh",
    "mirrored_passes",
    "moments",
    "networks",
    "node_gathers",
    "new_axes",
    "nodes_player",
    "one_chip",
    "one_step",
    "one_weight",
    "one_tick",
    "ones",
    "only_the_diagonal",
    "outer_products",
    "panels",
    "pipeline_player",
    "player",
    "pod_phases",
    "policies",
    "ports",
    "product_player",
    "rails",
    "reach",
    "ragged_pieces",
    "ragged_rows",
    "recipes",
    "recoveries",
    "ring_orders",
    "ring_or_line",
    "roofline",
    "room",
    "router_choices",
    "rounds",
    "sequence_parallel",
    "shade",
    "shards",
    "slice_and_axes",
    "slots_taken",
    "stacked",
    "stacks",
    "stage",
    "stage_bytes",
    "stages_and_experts",
    "step_player",
    "sum_groups",
    "sum_roads",
    "svg",
    "sweep",
    "switch_adds",
    "table",
    "tallies",
    "terms",
    "ticks",
    "timeline",
    "turn_the_cut",
    "two_axes",
    "two_cuts",
    "verdicts",
    "ways_out",
    "waiting",
    "waits",
    "ways_round",
    "weights_stay",
    "whole_layer",
    "zero_one",
]
