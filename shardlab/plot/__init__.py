"""Drawings of the book: labelled, with units, for light and dark pages.

Importing this package sets the look of every figure and, inside Jupyter, makes
figures SVG whose bytes depend on the drawing alone. Parts:

axes      the look, and new axes
charts    what links carry, and curves over a range
films     chips that hand blocks on, to be played and stepped through
meshes    meshes, and which block of a matrix each device holds
products  products of sharded matrices
"""

from shardlab.plot.axes import FILLS, SIZE, WHOLE, bare, new_axes, set_style
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
from shardlab.plot.meshes import gallery, mesh, shards
from shardlab.plot.products import block_matrix, busy, product_player

__all__ = [
    "FILLS",
    "SIZE",
    "WHOLE",
    "Player",
    "bare",
    "block_matrix",
    "brought",
    "busy",
    "curves",
    "exchanges",
    "film",
    "gallery",
    "links",
    "mesh",
    "new_axes",
    "player",
    "product_player",
    "set_style",
    "shards",
    "stage",
    "terms",
]
