"""Communication counted from the program, and bytes counted from the arrays.

`collectives` walks a function's jaxpr. Nothing is compiled and no device is
needed: shapes and an AbstractMesh of thousands of chips are enough. Counted
are

    - the collectives written in shard_map bodies;
    - those that explicit types ask for: reshard, sums over a dimension that is
      cut, products of operands that are cut alike, and their derivatives;
    - an argument that lies otherwise than a shard_map wants it;

through jit, scan (times its length), cond (if its branches agree), checkpoint,
custom derivatives and nested calls. Whatever else may move a byte is refused
by name: collectives under while, branches that differ, kernels, changes of type
that take several steps, and, on Auto axes outside shard_map, every operation
for which pieces would have to move or to be added: where and how, only the
compiler decides.
"""

from shardlab.count.algorithm import listing
from shardlab.count.flops import flops
from shardlab.count.holding import held
from shardlab.count.ledger import collectives
from shardlab.count.records import (
    Collective,
    between,
    sent,
    table,
    volume,
    volumes,
)

__all__ = [
    "Collective",
    "between",
    "collectives",
    "flops",
    "held",
    "listing",
    "sent",
    "table",
    "volume",
    "volumes",
]
