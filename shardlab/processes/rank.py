"""How a process finds the others of its run, and runs a file as its program."""

import os
import runpy
import sys
from pathlib import Path

__all__ = ["RANK", "RANKS", "join", "run_script"]

RANK, RANKS = "SHARDLAB_RANK", "SHARDLAB_RANKS"


def join(*, heartbeat_timeout_seconds=100):
    """Let this process find the others of its run; call it before any array.

    Under `launch` it takes rank and number of processes from the launcher.
    Anywhere else it leaves everything to JAX, which knows Slurm, Cloud TPUs,
    Kubernetes and Open MPI by their environment.

    heartbeat_timeout_seconds  of silence, after which a process counts as dead
    raises   RuntimeError if an array was made before, and ValueError if there
             is neither a launcher nor a cluster
    source   chapter 18
    """
    import jax

    known = {}
    if RANK in os.environ:
        known = {
            "num_processes": int(os.environ[RANKS]),
            "process_id": int(os.environ[RANK]),
            "cluster_detection_method": "deactivate",
        }
    jax.distributed.initialize(
        **known, heartbeat_timeout_seconds=heartbeat_timeout_seconds
    )


def run_script(path, arguments):
    """Run a file as `python path arguments` would.

    path       of a Python program
    arguments  list of str
    raises     what the program raises
    source     chapter 18
    """
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(Path(path).resolve().parent))
    runpy.run_path(str(path), run_name="__main__")
