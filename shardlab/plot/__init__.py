"""Drawings of the book: labelled, with units, for light and dark pages.

Importing this package sets the look of every figure and, inside Jupyter, makes
figures SVG whose bytes depend on the drawing alone. Parts:

axes      the look, and new axes
blocks    products of matrices to scale, and what a device has of each
charts    what links carry, and curves over a range
films     chips that hand blocks on, to be played and stepped through
interactive  curves that a reader moves with a slider
meshes    meshes, and which block of a matrix each device holds
paths     what chips make of one array side by side, and where they meet
pipes     films of pipelines, whose stages hand microbatches on
pods      what leaves pods, and verdicts on a grid of sizes
products  products of sharded matrices
ticks     plain numbers where a reader wants them
room      what a chip holds: as bars, and below what its queues do
schedules what the stages of a pipeline do, and when
steps     films of training steps: who multiplies, sends and holds what
timelines what queues are busy with, and when
"""

from shardlab.plot.axes import FILLS, SIZE, WHOLE, bare, new_axes, set_style
from shardlab.plot.blocks import matmuls
from shardlab.plot.charts import curves, links
from shardlab.plot.films import (
    Player,
    brought,
    exchanges,
    film,
    player,
    stage,
    terms,
)
from shardlab.plot.interactive import Moment, Sweep, sweep
from shardlab.plot.meshes import gallery, mesh, shards
from shardlab.plot.paths import paths
from shardlab.plot.pipes import pipeline_player
from shardlab.plot.pods import ports, verdicts
from shardlab.plot.products import block_matrix, busy, product_player
from shardlab.plot.room import room, stacked
from shardlab.plot.schedules import gantt
from shardlab.plot.steps import step_player
from shardlab.plot.ticks import ticks
from shardlab.plot.timelines import timeline

__all__ = [
    "FILLS",
    "SIZE",
    "WHOLE",
    "Moment",
    "Player",
    "Sweep",
    "bare",
    "block_matrix",
    "brought",
    "busy",
    "curves",
    "exchanges",
    "film",
    "gallery",
    "gantt",
    "links",
    "matmuls",
    "mesh",
    "new_axes",
    "paths",
    "pipeline_player",
    "player",
    "ports",
    "product_player",
    "room",
    "set_style",
    "shards",
    "stacked",
    "stage",
    "step_player",
    "sweep",
    "terms",
    "ticks",
    "timeline",
    "verdicts",
]
