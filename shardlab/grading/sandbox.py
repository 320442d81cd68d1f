"""A process that may do nothing but compute, behind bubblewrap and two pipes.

It sees Python, its packages and `shardlab`, read-only, and a small folder of
its own; no network, no course files, no other process. Memory, processes,
files, output and time are limited. One line of JSON goes in, one comes out.
"""

import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import shardlab
from shardlab.grading import start
from shardlab.grading.calls import filter_program

__all__ = [
    "CGROUPS",
    "GB",
    "GROUP",
    "LIMITS",
    "MAX_REPLY",
    "Limits",
    "Sandbox",
    "Stopped",
    "Unavailable",
    "control_groups",
    "prove",
    "sweep",
    "visible",
    "wrapped",
]

GB, MB = 1 << 30, 1 << 20
# How long bubblewrap, Python and IPython may take to be ready.
BOOT_SECONDS = 60
MAX_REPLY = 6 * MB
CGROUPS = Path("/sys/fs/cgroup")
GROUP = "shard-by-shard"
numbers = itertools.count()


class Stopped(Exception):
    """The process was stopped, or ended; `timed_out` says by its deadline."""

    def __init__(self, reason, timed_out=False):
        super().__init__(reason)
        self.timed_out = timed_out


class Unavailable(Exception):
    """The sandbox cannot be had, or does not hold; the text says why."""


class Limits(NamedTuple):
    """What one sandbox may use.

    memory     bytes, of all its processes together
    processes  number of processes and threads; JAX with 8 devices needs 30
    file       bytes of the largest file
    space      bytes of its folder
    cores      cores' worth of time; None leaves it unlimited
    """

    memory: int = 3 * GB
    processes: int = 256
    file: int = 64 * MB
    space: int = 256 * MB
    cores: float | None = None


LIMITS = Limits()


class Sandbox:
    """One process that answers questions; a context manager that ends it.

    module    the module that is run, such as "shardlab.grading.runner"
    limits    as `Limits` says
    isolated  False runs it without bubblewrap, with all your rights
    variables further environment variables, text by name
    """

    def __init__(self, module, limits=LIMITS, isolated=True, variables=None):
        self.buffer, self.asked, self.isolated = b"", 0, isolated
        self.group, self.folder = [], None
        calls = _filtered() if isolated else None
        # A pipe, and no file: what inside can be opened again leads nowhere.
        self.complaints, complaints = os.pipe()
        command = start.command(module)
        environment = _surroundings(variables or {})
        allowed = []
        if isolated:
            self.group = control_groups(limits)
            allowed = [_written(calls)]
            words = wrapped(environment, limits, *allowed)
            allowed.append(_written("\0".join(words).encode()))
            # Inside, the command line and the environment of bubblewrap can
            # be read: its arguments come by a pipe, and it is given nothing.
            command = _start(self.group, limits) + [
                *(_found("bwrap"), "--args", str(allowed[-1]), "--"),
                *command,
            ]
            environment = {}
        else:
            self.folder = tempfile.mkdtemp(prefix="grading-")
            environment |= {"HOME": self.folder, "PATH": os.environ["PATH"]}
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                bufsize=0,
                env=environment,
                cwd=self.folder or "/",
                pass_fds=allowed,
                start_new_session=True,
            )
        except OSError as error:
            self.tidy()
            raise Unavailable(f"{command[0]}: {error.strerror}") from None
        finally:
            for file in [*allowed, complaints]:
                os.close(file)
        os.set_blocking(self.process.stdin.fileno(), False)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def ready(self):
        """Wait until the process answers; raises Unavailable if it does not."""
        copy = os.dup(self.complaints)  # `ask` closes what it ends
        os.set_blocking(copy, False)
        with open(copy, "rb", buffering=0) as complaints:
            try:
                self.ask({"ready": True}, BOOT_SECONDS)
                self.hear_no_more()
            except Stopped as stop:
                said = (complaints.read(4000) or b"").decode(errors="replace")
                said = said.strip()
                last = said.splitlines()[-1] if said else str(stop)
                raise Unavailable(
                    f"the sandbox did not start: {last}"
                ) from None

    def ask(self, question, seconds, largest=MAX_REPLY):
        """Send a question, return the reply.

        question  dict that JSON can hold
        seconds   how long it may take
        largest   bytes that the reply may have
        returns   dict; its content is whatever the process chose to say
        raises    Stopped when there is no proper reply; the process is ended
        """
        self.asked += 1
        line = json.dumps({**question, "number": self.asked}).encode() + b"\n"
        end = time.monotonic() + seconds
        try:
            self.send(line, end, seconds)
            return self.parsed(self.receive(end, seconds, largest))
        except Stopped:
            self.close()
            raise

    def send(self, line, end, seconds):
        """Write all of `line` before the clock says `end`."""
        pipe = self.process.stdin.fileno()
        while line:
            left = max(0, end - time.monotonic())
            if not select.select([], [pipe], [], left)[1]:
                raise Stopped(_too_long(seconds), timed_out=True)
            try:
                with contextlib.suppress(BlockingIOError):
                    line = line[os.write(pipe, line) :]
            except OSError:
                raise Stopped(ENDED) from None

    def receive(self, end, seconds, largest):
        """One line of the process, without its end."""
        pipe, parts, length = self.process.stdout.fileno(), [self.buffer], 0
        while b"\n" not in parts[-1]:
            left = max(0, end - time.monotonic())
            if not select.select([pipe], [], [], left)[0]:
                raise Stopped(_too_long(seconds), timed_out=True)
            part = os.read(pipe, 1 << 16)
            if not part:
                raise Stopped(ENDED)
            parts.append(part)
            length += len(part)
            if length > largest:
                raise Stopped(f"it answered more than {largest >> 20} MB")
        line, _, self.buffer = b"".join(parts).partition(b"\n")
        return line

    def parsed(self, line):
        """The reply that a line holds, if it answers the last question."""
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict) or reply.get("number") != self.asked:
            raise Stopped("it sent what is no answer")
        return reply

    def close(self):
        """End every process of the sandbox and remove what it left."""
        # The first process inside goes first, with all others inside: then
        # bubblewrap outside buries it and ends by itself.
        for inner in _children(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(inner, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5 if self.isolated else 0)
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        self.tidy()

    def hear_no_more(self):
        """Close the pipe for complaints: there are none after the start."""
        if self.complaints is not None:
            os.close(self.complaints)
            self.complaints = None

    def tidy(self):
        """Remove the sandbox's folder and control groups."""
        self.hear_no_more()
        for group in self.group:
            _remove(group)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def _children(process):
    """The process numbers of a process's children."""
    try:
        path = Path(f"/proc/{process}/task/{process}/children")
        return [int(word) for word in path.read_text().split()]
    except OSError:
        return []


ENDED = "it ended: the program exited, or used more memory than allowed"


def _too_long(seconds):
    """The sentence for a deadline of `seconds`."""
    return f"it ran longer than {seconds:g} s"


def _surroundings(variables):
    """The environment of the process: ours is not passed on."""
    library = Path(shardlab.__file__).resolve().parent.parent
    return {
        "LANG": "C.UTF-8",
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": "8",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(library),
        "PYTHONSAFEPATH": "1",
        **variables,
    }


def _filtered():
    """The filter of system calls; raises Unavailable without libseccomp."""
    try:
        return filter_program()
    except OSError as error:
        raise Unavailable(
            f"{error}; install it with: sudo apt-get install libseccomp2"
        ) from None


def _written(data):
    """A descriptor from which these few bytes can be read, once."""
    out, into = os.pipe()
    with open(into, "wb") as pipe:
        pipe.write(data)
    return out


def _found(program):
    """The path of a program; its name where it is nowhere."""
    return shutil.which(program) or program


def wrapped(environment, limits, *filters):
    """What bubblewrap is told, as a list of words."""
    words = ["--unshare-all", "--unshare-user", "--disable-userns"]
    words += ["--uid", "1000", "--gid", "1000", "--die-with-parent"]
    words += ["--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"]
    # When root grades, its number owns the kernel's settings, inside as well.
    words += ["--proc", "/proc", "--remount-ro", "/proc"]
    for number in filters:
        words += ["--seccomp", str(number)]
    words += ["--clearenv", "--dev", "/dev"]
    words += ["--size", str(limits.space), "--tmpfs", "/tmp"]
    words += ["--size", str(limits.space), "--tmpfs", "/dev/shm"]
    words += ["--remount-ro", "/dev"]
    words += ["--dir", "/tmp/home", "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "lib", "lib64", "sbin"):
        if os.path.islink(f"/{name}"):
            words += ["--symlink", f"usr/{name}", f"/{name}"]
        elif os.path.isdir(f"/{name}"):
            words += ["--ro-bind", f"/{name}", f"/{name}"]
    words += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    words += ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
    words += ["--ro-bind-try", "/etc/fonts", "/etc/fonts"]
    for path in visible():
        words += ["--ro-bind", path, path]
    home = {
        "HOME": "/tmp/home",
        "IPYTHONDIR": "/tmp/ipython",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
    }
    for name, text in {**environment, **home}.items():
        words += ["--setenv", name, text]
    return [*words, "--chdir", "/tmp/home", "--remount-ro", "/"]


def visible():
    """The folders that a sandbox sees beside /usr: Python and shardlab."""
    library = Path(shardlab.__file__).resolve().parent
    folders = {sys.prefix, os.path.realpath(sys.prefix)}
    folders |= {os.path.realpath(sys.base_prefix), str(library)}
    return sorted(path for path in folders if not path.startswith("/usr/"))


def _start(groups, limits):
    """Words that enter the control groups, set limits, and run the rest."""
    enter = "".join(f"echo $$ > {group}/cgroup.procs && " for group in groups)
    words = [_found("sh"), "-c", f'{enter}exec "$@"', "sh"]
    words += [_found("prlimit"), "--core=0"]
    words += [f"--fsize={limits.file}", "--nofile=1024"]
    if not any("memory" in str(group) or _unified(group) for group in groups):
        words += [f"--as={limits.memory + GB}"]
    if os.geteuid():
        # For root it has no effect; there the control group counts.
        words += [f"--nproc={limits.processes}"]
    return words


def _unified(group):
    """Whether a control group is of version 2, which limits everything."""
    return group.parent == CGROUPS


def control_groups(limits):
    """Make control groups for one sandbox; [] where we may not.

    limits   as `Limits` says
    returns  list of folders below /sys/fs/cgroup
    """
    name = f"{GROUP}-{os.getpid()}-{next(numbers)}"
    if (CGROUPS / "cgroup.controllers").exists():
        wanted = {CGROUPS / name: _settings_2(limits)}
    else:
        wanted = {
            CGROUPS / controller / name: settings
            for controller, settings in _settings_1(limits).items()
        }
    made = []
    for group, settings in wanted.items():
        try:
            group.mkdir()
            made.append(group)
            for file, text in settings:
                (group / file).write_text(text)
        except OSError:
            if group in made:
                made.remove(group)
                _remove(group)
    return made


def _settings_1(limits):
    """What is written into control groups of version 1, by controller."""
    settings = {
        "memory": [("memory.limit_in_bytes", str(limits.memory))],
        "pids": [("pids.max", str(limits.processes))],
        # Each sandbox has the same share, however many processes it has.
        "cpu": [],
    }
    if limits.cores:
        quota = str(int(100_000 * limits.cores))
        settings["cpu"] = [("cpu.cfs_quota_us", quota)]
    return settings


def _settings_2(limits):
    """What is written into a control group of version 2."""
    settings = [
        ("memory.max", str(limits.memory)),
        ("memory.swap.max", "0"),
        ("pids.max", str(limits.processes)),
    ]
    if limits.cores:
        settings.append(("cpu.max", f"{int(100_000 * limits.cores)} 100000"))
    return settings


def _remove(group):
    """Remove a control group, whose last process may be ending still."""
    for _ in range(100):
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def sweep():
    """Remove control groups that a killed grader left behind."""
    # Of version 2 they lie at the top, of version 1 below a controller.
    for pattern in (f"{GROUP}-*", f"*/{GROUP}-*"):
        for group in CGROUPS.glob(pattern):
            owner = group.name.rsplit("-", 2)[1]
            if not os.path.exists(f"/proc/{owner}"):
                _remove(group)


def prove(hidden=(), limits=LIMITS):
    """Try what a sandbox must prevent, from within one.

    hidden   paths that must not be seen, such as the solutions
    limits   of the sandbox that is tried, but for its memory: the same means
             limit it to less here, which is used up sooner
    raises   Unavailable that says what is missing or does not hold
    """
    limits = limits._replace(memory=min(limits.memory, GB // 4))
    if not sys.platform.startswith("linux"):
        raise Unavailable("bubblewrap runs on Linux only")
    for program, package in (
        ("bwrap", "bubblewrap"),
        ("prlimit", "util-linux"),
    ):
        if not shutil.which(program):
            raise Unavailable(
                f"{program} is missing; install it with: "
                f"sudo apt-get install {package}"
            )
    try:
        with Sandbox("shardlab.grading.proof", limits) as box:
            box.ready()
            question = {
                "hidden": [str(path) for path in hidden],
                "readable": visible(),
                "limits": limits._asdict(),
            }
            faults = box.ask(question, 60).get("faults")
    except Stopped as stop:
        raise Unavailable(str(stop)) from None
    if faults != []:
        raise Unavailable(f"the sandbox does not hold: {'; '.join(faults)}")
