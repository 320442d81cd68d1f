"""Start the processes of a run, hear them all, leave none behind."""

import dis
import inspect
import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from shardlab.arguments import real, takes, whole_from
from shardlab.processes import rank as in_process

__all__ = ["Failed", "Line", "Run", "TimeOut", "launch"]

# What the library under JAX's collectives says, in pieces that its threads may
# mix, when all sockets stand. Python's own lines come by another pipe.
_NOISE = re.compile(
    r"(\[Gloo\] Rank|is connected to|peer ranks\."
    r"|Expected number of connected peer ranks is :|\d+|\s)*"
)
_STILL = 2.0  # seconds for the last lines of a process that has ended


class Line(NamedTuple):
    """A line that a process wrote.

    rank     of the process
    text     without the end of the line
    source   chapter 18
    """

    rank: int
    text: str


@dataclass(frozen=True)
class Run:
    """What became of a run.

    results  what the program returned on each rank
    lines    list of Line, in the order in which they came
    codes    exit code of each rank; minus a signal's number if one ended it,
             None if the launcher stopped it
    seconds  from the first start to the last end
    source   chapter 18
    """

    results: list
    lines: list
    codes: list
    seconds: float

    def said(self, rank):
        """The lines of one rank, as list of str."""
        return [line.text for line in self.lines if line.rank == rank]


class Failed(RuntimeError):
    """A rank ended with an error, and the others were stopped.

    rank     the first that failed
    run      Run, as far as it got
    source   chapter 18
    """

    def __init__(self, rank, run):
        self.rank, self.run = rank, run
        code = run.codes[rank]
        how = f"exit code {code}"
        if code < 0:
            how = f"signal {signal.Signals(-code).name}"
        super().__init__(
            f"rank {rank} of {len(run.codes)} ended with {how}"
            + _last_words(run.said(rank))
        )


class TimeOut(TimeoutError):
    """A run was not done in time, and all of it was stopped.

    run      Run, as far as it got
    source   chapter 18
    """

    def __init__(self, seconds, run):
        self.run = run
        late = [n for n, code in enumerate(run.codes) if code is None]
        super().__init__(
            f"ranks {late} were still running after {seconds:g} s"
            + _last_words([f"[{n}] {text}" for n, text in run.lines])
        )


def _last_words(lines):
    """The end of what was said, for an error message."""
    return "".join(f"\n    {text}" for text in lines[-6:])


# ---- what is run -------------------------------------------------------------


def _task(program, arguments):
    """How a process is told what to run: a dict of plain data."""
    if isinstance(program, Path):
        if not program.is_file():
            raise ValueError(f"program must be a file, got {program}")
        arguments = [str(one) for one in arguments]
        return {"script": str(program.resolve()), "arguments": arguments}
    try:
        arguments = json.loads(json.dumps(list(arguments)))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"arguments must be numbers, text, lists or dicts: {error}"
        ) from None
    if isinstance(program, str):
        module, colon, name = program.partition(":")
        if not (module and colon and name.isidentifier()):
            raise ValueError(
                f"program must be 'module:function', got {program!r}"
            )
        return {"module": module, "name": name, "arguments": arguments}
    if not inspect.isfunction(program):
        raise TypeError(
            "program must be a function, 'module:function' or the Path of a "
            f"file, got {type(program).__name__}"
        )
    return {
        "source": "\n".join([*_imports(program), _source(program)]),
        "name": program.__name__,
        "arguments": arguments,
    }


def _source(function):
    """The text of a function that needs nothing from around it."""
    name = function.__name__
    if function.__closure__ or name == "<lambda>":
        raise TypeError(
            f"program {name} must be a function of its own text: no lambda, "
            "and nothing from around it"
        )
    try:
        return textwrap.dedent(inspect.getsource(function))
    except OSError:
        raise TypeError(
            f"program {name} has no source that can be read"
        ) from None


def _imports(function):
    """The lines that give a function's text the modules that it names."""
    around, lines = function.__globals__, []
    for name in sorted(_names(function.__code__) & around.keys()):
        value = around[name]
        if inspect.ismodule(value):
            lines.append(f"import {value.__name__} as {name}")
            continue
        module = getattr(value, "__module__", None)
        there = getattr(value, "__qualname__", "")
        home = sys.modules.get(module) if module != "__main__" else None
        if home is None or getattr(home, there, None) is not value:
            raise TypeError(
                f"program {function.__name__} may use modules and what is "
                f"imported from them; {name} is neither: hand it over as an "
                "argument"
            )
        lines.append(f"from {module} import {there} as {name}")
    return lines


def _names(code):
    """The global names that a piece of code reads, in functions inside, too."""
    found = {
        one.argval
        for one in dis.get_instructions(code)
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    inside = (one for one in code.co_consts if inspect.iscode(one))
    return found.union(*map(_names, inside))


@contextmanager
def _port():
    """A port of this machine that is free, and that nobody else is given.

    It stays bound here while the run lasts. Only who asks to share it, as the
    coordinator does, can bind it once more; only who listens is connected to.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def _environment(rank, ranks, devices, port, extra):
    """The environment of one process."""
    address = f"127.0.0.1:{port}"
    given = {
        in_process.RANK: rank,
        in_process.RANKS: ranks,
        "JAX_COORDINATOR_ADDRESS": address,
        "JAX_COORDINATOR_BIND_ADDRESS": address,
        "PYTHONUNBUFFERED": 1,
    }
    if devices:
        given["JAX_NUM_CPU_DEVICES"] = devices
        given["JAX_PLATFORMS"] = "cpu"
    given |= extra
    return os.environ | {name: str(value) for name, value in given.items()}


# ---- a run -------------------------------------------------------------------


@dataclass
class _Processes:
    """The processes of a run, and what is heard of them."""

    started: list = field(default_factory=list)
    events: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)
    lines: list = field(default_factory=list)
    codes: dict = field(default_factory=dict)
    silent: int = 0

    def start(self, task, environment, under):
        """Start the next rank, and threads that report of it."""
        rank = len(self.started)
        native, written = os.pipe()
        process = subprocess.Popen(
            [*under, sys.executable, "-m", "shardlab.processes.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            pass_fds=(written,),
            start_new_session=True,  # its children can be stopped with it
        )
        self.started.append(process)
        os.close(written)
        task = task | {"native": written}
        for report, *of in (
            (self._hear, process.stdout),
            (self._hear, os.fdopen(native, "rb"), _NOISE),
            (self._wait, process),
        ):
            threading.Thread(
                target=report, args=(rank, *of), daemon=True
            ).start()
        with suppress(BrokenPipeError):  # it is gone already: _wait will tell
            process.stdin.write(json.dumps(task).encode() + b"\n")
            process.stdin.flush()

    def _hear(self, rank, pipe, noise=None):
        with pipe:
            for line in pipe:
                text = line.decode(errors="replace").rstrip("\r\n")
                if not (noise and noise.fullmatch(text)):
                    self.events.put((rank, "line", text))
        self.events.put((rank, "silent", None))

    def _wait(self, rank, process):
        self.events.put((rank, "ended", process.wait()))

    def next(self, until, echo):
        """Take in one report; False if none came in time."""
        try:
            left = max(0.0, until - time.monotonic())
            rank, kind, value = self.events.get(timeout=left)
        except queue.Empty:
            return False
        if kind == "line":
            self.lines.append(Line(rank, value))
            if echo:
                echo(f"[{rank}] {value}")
        elif kind == "ended":
            self.codes[rank] = value
        else:
            self.silent += 1
        return True

    def stop(self):
        """Stop every process of the run, and every child of one."""
        for process in self.started:
            # A session that has lost its leader can still have members.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.started:
            process.wait()
            with suppress(OSError):
                process.stdin.close()


@takes(
    ranks=whole_from(1),
    devices=whole_from(0),
    seconds=real,
    grace=real,
)
def launch(
    program: Callable | str | Path,
    ranks: int,
    devices: int = 1,
    arguments: tuple = (),
    *,
    seconds: float = 600.0,
    grace: float = 10.0,
    environment: dict | None = None,
    under: Callable | None = None,
    echo: Callable | None = print,
) -> Run:
    """Run a program on several processes of this machine.

    When a rank fails, the others have `grace` seconds to say what they see;
    then they are stopped. Whatever happens, no process is left.

    program    a function, which is sent as text: of what is outside it may use
               modules and what is imported from them; "module:function"; or
               the Path of a program
    ranks      how many processes
    devices    simulated chips of each; 0: whatever JAX finds
    arguments  for the function: numbers, text, lists and dicts of them; for a
               program in a file, what stands behind its name
    seconds    for all of it
    grace      seconds from the first failure until all others are stopped
    environment  dict of further variables of all processes
    under      a function of the rank that gives words to stand before its
               command, such as ["taskset", "-c", "0"]
    echo       called with each line as it comes, its rank in front; None: quiet
    returns    Run
    raises     Failed with the first rank that failed, TimeOut, TypeError for a
               program that cannot be sent, ValueError for other arguments
    source     chapter 18
    """
    task = _task(program, arguments) | {"path": [os.getcwd(), *sys.path[1:]]}
    begun, found, failed = time.monotonic(), _Processes(), None
    end = begun + seconds
    with tempfile.TemporaryDirectory() as folder, _port() as port:
        results = [Path(folder, f"{n}.json") for n in range(ranks)]
        try:
            for n, result in enumerate(results):
                around = _environment(
                    n, ranks, devices, port, environment or {}
                )
                words = under(n) if under else ()
                found.start(task | {"result": str(result)}, around, words)
            while len(found.codes) < ranks and found.next(end, echo):
                bad = [n for n, code in found.codes.items() if code]
                if bad and failed is None:
                    failed, end = bad[0], min(end, time.monotonic() + grace)
        finally:
            found.stop()
        codes = [found.codes.get(n) for n in range(ranks)]
        until = time.monotonic() + _STILL
        while found.silent < 2 * ranks and found.next(until, echo):
            pass
        run = Run(
            [
                json.loads(path.read_text()) if path.exists() else None
                for path in results
            ],
            found.lines,
            codes,
            time.monotonic() - begun,
        )
    if failed is not None:
        raise Failed(failed, run)
    if None in codes:
        raise TimeOut(seconds, run)
    return run
