"""Pipelines: each device of axis Z is a stage with layers of its own.

Read them in this order:

gpipe      the plain program: a loop over ticks, in each of which a stage does
           its forward pass and sends what it has made to the next one
timetable  any schedule of `shardlab.pipeline` as a table: what each stage does
           in each tick, from which slot and to which neighbour
staged     runs such a table on stages that are given as functions
"""
