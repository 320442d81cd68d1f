"""Drawn programs: what is counted is what XLA's own module says.

Hypothesis draws small programs of matmuls, collectives written by hand or
induced by constraints, scans, conds, remat and gradients, on meshes of up to
eight devices. Each is counted on the level that `inspect_step` chooses, and
read once more by a reader of a different make: it takes the protocol buffer of
the module that XLA has optimised, with XLA's own trip counts, while
`shardlab.count` reads the text that the partitioner left, or the jaxpr.
"""
