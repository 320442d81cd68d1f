"""A class on workers of Dask, with PostgreSQL, while one of them is killed.

The workers are of this machine, so nothing is gained here but what is lost:
the scheduler, the server, and what a worker was at that was killed.
"""

import os
import signal
import tempfile
import threading
from functools import partial
from pathlib import Path

from bench import classes, servers
from bench.bench_grading import (
    STUDENTS,
    in_a_folder,
    line,
    ours,
    surroundings,
)
from shardlab.grading.records import read_records

SEED = ("--seed", "7")


def spread(folder, stem, dask, server, workers, dead_after=None):
    """Grade on a cluster; returns (Spent, scores, number of workers killed).

    workers     of Dask, one of the processor each
    dead_after  submissions after which one of them is killed, or None
    """
    url = servers.database(server, f"class_of_{workers}")
    started = servers.cluster(folder, surroundings(dask), workers)
    with started as (address, processes):
        given = ("--scheduler", address, "--database", url, *SEED)
        beside = [process.pid for process in processes]
        ended = threading.Event()
        killer = threading.Thread(
            target=kill,
            args=(folder / "work/grading/records", processes, dead_after),
            kwargs={"ended": ended},
        )
        killer.start()
        spent, scores = ours(
            folder, stem, STUDENTS, *given, paths=(dask,), beside=beside
        )
        ended.set()
        killer.join()
        dead = [one for one in processes if one.poll() == -signal.SIGKILL]
    return spent, scores, len(dead)


def kill(records, processes, dead_after, ended):
    """Kill the last of the processes when so many submissions are graded."""
    while dead_after and not ended.wait(0.05):
        if records.exists() and len(read_records(records)) >= dead_after:
            processes[-1].kill()
            return


def rows():
    """Yield a row for each way, per submission.

    raises   servers.Missing where Dask or PostgreSQL cannot be had
    """
    stem = classes.largest()
    spent, serial = in_a_folder(ours, stem, STUDENTS, *SEED, "--workers", "1")
    yield line("cluster: one process", [spent], STUDENTS, f"set {stem}")
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as dask,
        servers.postgresql() as server,
    ):
        servers.install_dask(Path(dask))
        cores = os.cpu_count()
        ways = {
            f"Dask, {cores} workers": (cores, None),
            f"Dask, {cores + 1} workers": (cores + 1, STUDENTS // 3),
        }
        for name, (workers, dead_after) in ways.items():
            grade = partial(spread, workers=workers, dead_after=dead_after)
            spent, scores, dead = in_a_folder(grade, stem, dask, server)
            same = sum(serial[who] == score for who, score in scores.items())
            note = f"{same} of {len(serial)} have the score of one process"
            if dead_after:
                note += f"; {dead} killed after {dead_after}"
            yield line(f"cluster: {name}", [spent], STUDENTS, note)
