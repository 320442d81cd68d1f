"""Training strategies, one file each, written out by hand in shard_map.

one_chip, dp, zero1, zero2, fsdp, tp, megatron and fsdp_tp hold the two-matmul
block In[B, D] W_in[D, F] W_out[F, D] as it runs on one device: `forward`,
`backward`, `update` and a LAYOUT. `block` puts any of them on a mesh, `typed`
says four of them in explicit types, `pods` puts any into several pods, and
`adam` is the optimiser of all.

Other layers have a `forward`, a `backward` and a LAYOUT of their own, and
`layer` puts any of them on a mesh: ring_attention, zigzag, gather_attention and
ulysses cut the tokens of one sequence (`attention` is the same on one chip),
expert cuts experts, heads deals attention heads and sequence cuts the norm
around a TP block.
collective_matmul hides the gather of one product behind its multiplication.

The folder `pipeline` cuts in stages: `gpipe` as a plain loop, which is a layer
as well, and `staged`, which runs any schedule of `shardlab.pipeline` on stages
that are given as functions.
"""
