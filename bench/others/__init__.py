"""Training steps that others have written, counted by `shardlab.inspection`.

    pip install -r requirements-others.txt
    python -m bench.others --out work/others.json \
        --flax DIR --maxtext DIR --jax DIR

reads an example of Flax, a layer of MaxText and the shard_map tutorial of JAX
from clones of these projects, and a network made of Equinox's installed
package. Nothing of theirs is copied: they are imported from where they are,
laid on eight simulated devices, and counted. Chapter 21 shows the counts.

    python -m bench.others.forty --clones DIR --out bench/others/forty.json

counts more than forty: pages of documentation, cell by cell, libraries, and
patterns that others have published (`patterns`). Each is counted, or refused
with a reason, and each count is set beside that of `reader`, which shares
nothing with `shardlab.count`.
"""
