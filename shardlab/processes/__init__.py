"""One program on many processes: started, joined, listened to, stopped.

`launch` starts the processes of a run on this machine, and `join` is the line
with which each of them finds the others, here or on a cluster. Between them
stands JAX's own runtime, `jax.distributed`; nothing here moves data.
"""

from shardlab.processes.launch import Failed, Line, Run, TimeOut, launch
from shardlab.processes.measured import measured
from shardlab.processes.rank import join

__all__ = ["Failed", "Line", "Run", "TimeOut", "join", "launch", "measured"]
