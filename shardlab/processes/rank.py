"""How a process finds the others of its run, and runs a file as its program."""

import os
import runpy
import sys
from pathlib import Path

RANK, RANKS = "SHARDLAB_RANK", "SHARDLAB_RANKS"


def join(**how):
    """Let this process find the others of its run; call it before any array.

    Under `launch` it takes rank and number of processes from the launcher.
    Anywhere else it leaves everything to JAX, which knows Slurm, Cloud TPUs,
    Kubernetes and Open MPI by their environment.

    how      what `jax.distributed.initialize` takes beside, such as
             heartbeat_timeout_seconds=10
    raises   RuntimeError if an array was made before, and ValueError if there
             is neither a launcher nor a cluster
    source   chapter 18
    """
    import jax

    if RANK in os.environ:
        how |= {
            "num_processes": int(os.environ[RANKS]),
            "process_id": int(os.environ[RANK]),
            "cluster_detection_method": "deactivate",
        }
    jax.distributed.initialize(**how)


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
