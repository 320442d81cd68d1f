"""Products of two sharded matrices: planned, carried out, and timed.

products  A[I, J_X] . B[J_X, K] -> C[I, K_X] as text, and the layout that falls
          out when devices multiply what they hold
plans     every way to form a product by collectives over one axis at a time,
          with bytes and FLOPs by formula, cheapest first
execute   a plan as a program of one device, and as a function of arrays
overlap   blocks multiplied while others are on their way, timed hop by hop

What a plan costs comes from `shardlab.cost`. That it is right, and that it
moves these bytes, is for others to say: for `shardlab.count`, which reads the
program, and for eight devices, whose product is held against an unsharded one.
"""

from shardlab.matmul.execute import carried_out, on_device, run, traced
from shardlab.matmul.overlap import BlockDone, t_overlapped, timeline
from shardlab.matmul.plans import Plan, Step, cheapest, edits, plans, routes
from shardlab.matmul.products import Product, local_product, parse

__all__ = [
    "Plan",
    "Product",
    "Step",
    "BlockDone",
    "carried_out",
    "cheapest",
    "edits",
    "local_product",
    "on_device",
    "parse",
    "plans",
    "routes",
    "run",
    "t_overlapped",
    "timeline",
    "traced",
]
