"""Attacks by what a process can do: exit, hang, multiply, fill, escape."""

from tests.grading.suite.rows import Row, of, simple_without

LOOP = "while True:\n    pass"
STUBBORN = """\
while True:
    try:
        while True:
            pass
    except BaseException:
        continue
"""
MULTIPLY = """\
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
THREADS = """\
import threading, time
try:
    while True:
        threading.Thread(target=time.sleep, args=(600,)).start()
except BaseException:
    pass
"""
DAEMON = """\
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(0.01)
    os._exit(0)
"""
FLOODING_DAEMON = """\
import os, time
pipes = [
    int(fd) for fd in os.listdir("/proc/self/fd")
    if os.path.exists(f"/proc/self/fd/{fd}")
    and os.readlink(f"/proc/self/fd/{fd}").startswith("pipe")
]
if os.fork() == 0:
    os.setsid()
    while True:
        for fd in pipes:
            try:
                os.write(fd, b'{"number": 3, "answer": "null"}\\n' * 99)
            except OSError:
                pass
time.sleep(1)
"""
HOGS = """\
import os
for _ in range(50):
    try:
        if os.fork() == 0:
            while True:
                pass
    except OSError:
        pass
"""
FILL_MEMORY = """\
kept = []
while True:
    kept.append(bytearray(1 << 28))
    kept[-1][::4096] = b"x" * (1 << 16)
"""
MAP_MEMORY = """\
import mmap
kept = []
while True:
    kept.append(mmap.mmap(-1, 1 << 28))
    for at in range(0, 1 << 28, 4096):
        kept[-1][at] = 1
"""
MEMFD = """\
import os
kept = []
while True:
    kept.append(os.memfd_create("x"))
    for _ in range(60):
        os.write(kept[-1], bytes(1 << 20))
"""
FILL_FOLDERS = """\
import os
for folder in ("/tmp", "/dev/shm", "/dev", "/tmp/home"):
    try:
        for number in range(100):
            with open(f"{folder}/full{number}", "wb") as file:
                for _ in range(60):
                    file.write(bytes(1 << 20))
    except OSError:
        pass
"""
MANY_FILES = """\
for folder in ("/tmp", "/dev/shm"):
    try:
        for number in range(50_000):
            open(f"{folder}/{number}", "w").close()
    except OSError:
        pass
"""
BIG_FILE = """\
with open("/tmp/big", "wb") as file:
    for _ in range(3000):
        file.write(bytes(1 << 20))
"""
DESCRIPTORS = """\
import os
try:
    while True:
        os.open("/dev/null", os.O_RDONLY)
except OSError:
    pass
"""
KILL_ALL = "import os, signal\nos.kill(-1, signal.SIGKILL)"
KILL_ABOVE = """\
import os, signal
for process in [os.getppid(), 1, 0, *range(3, 400)]:
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        pass
"""
SIGNALS_ABOVE = """\
import os, signal
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
"""
STOP = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"
TRACE = """\
import ctypes
libc = ctypes.CDLL(None)
for process in range(1, 50):
    libc.ptrace(16, process, 0, 0)
libc.process_vm_writev(1, None, 0, None, 0, 0)
"""
CONTROL = """\
import ctypes
libc = ctypes.CDLL(None)
for option in range(1, 60):
    libc.prctl(option, 0, 0, 0, 0)
libc.prctl(15, b"bwrap", 0, 0, 0)
libc.prctl(1, 0, 0, 0, 0)
"""
NAMESPACES = """\
import ctypes, os
libc = ctypes.CDLL(None)
for flag in (0x10000000, 0x20000, 0x40000000, 0x2000000):
    libc.unshare(flag)
libc.mount(b"none", b"/tmp/home", b"tmpfs", 0, None)
libc.mount(None, b"/", None, 32 | 4096, None)
libc.umount2(b"/proc", 2)
libc.pivot_root(b"/tmp", b"/tmp/home")
os.chroot("/tmp") if os.getuid() == 0 else None
"""
SETTINGS = """\
import os
places = ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"]
places += ["/proc/self/oom_score_adj", "/proc/1/oom_score_adj"]
places += ["/proc/scsi/scsi", "/proc/mtrr", "/sys/power/state"]
for place in places:
    try:
        os.close(os.open(place, os.O_WRONLY))
    except OSError:
        continue
    if "sys" in place or "scsi" in place:
        copies = 2
"""
LIMITS = """\
import resource
for name in dir(resource):
    if name.startswith("RLIMIT"):
        number = getattr(resource, name)
        for most in (resource.RLIM_INFINITY, 1 << 40):
            try:
                resource.setrlimit(number, (most, most))
            except (OSError, ValueError):
                pass
with open("/tmp/big", "wb") as file:
    for _ in range(100):
        file.write(bytes(1 << 20))
copies = 2
"""
RECURSION = """\
import sys
sys.setrecursionlimit(10**9)
def down(n):
    return down(n + 1) + 1
down(0)
"""
C_STACK = """\
import sys
sys.setrecursionlimit(10**9)
x = []
for _ in range(10**6):
    x = [x]
repr(x)
"""
SEGFAULT = "import ctypes\nctypes.string_at(0)"
ABORT = "import os\nos.abort()"
ALARM = """\
import signal, os
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
while True:
    pass
"""
AT_EXIT = """\
import atexit, os, sys, time
atexit.register(lambda: time.sleep(600))
class Stays:
    def __del__(self):
        while True:
            pass
sys.stays = Stays()
sys.exit()
"""
NETWORK = """\
import socket, urllib.request
def reached():
    for address in ("192.0.2.1", "127.0.0.1", "10.0.0.1", "::1"):
        for port in (53, 80, 443, 8888, 5432):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            with socket.socket(family) as wire:
                wire.settimeout(0.05)
                try:
                    wire.connect((address, port))
                    return True
                except OSError:
                    pass
    return False
if reached():
    copies = 2
"""
LOOK_UP = """\
import socket
try:
    socket.getaddrinfo("example.org", 80)
    copies = 2
except OSError:
    pass
"""
RAW = """\
import socket
for family in (17, 2, 10):
    try:
        socket.socket(family, socket.SOCK_RAW).close()
        copies = 2
    except OSError:
        pass
"""
# To the machine on which this one is a guest: no namespace holds these. That
# one can be made is enough, and none is used.
BELOW = """\
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        socket.socket(40, kind).close()
        copies = 2
    except OSError:
        pass
"""
KEYS = """\
import ctypes
libc = ctypes.CDLL(None)
for number in (248, 217):
    if libc.syscall(number, b"user", b"kept", b"x", 1, -4) > 0:
        copies = 2
"""
ABSTRACT = """\
import glob, socket
seen = open("/proc/net/unix").read().splitlines()[1:]
places = [line.split()[-1] for line in seen if len(line.split()) > 7]
places += glob.glob("/run/**/*.sock", recursive=True) + ["/var/run/docker.sock"]
for place in places:
    wire = socket.socket(socket.AF_UNIX)
    try:
        wire.connect(place.replace("@", "\\0", 1))
        copies = 2
    except OSError:
        pass
"""
# Runs the first time, and hangs when it is run again after a restart.
AGAIN = "import time\nif time.time() > @NOW@ + 2.5:\n    time.sleep(60)"
SLEEP = "import time\ntime.sleep(2.5)"
GREEDY_CHILD = """\
import subprocess, sys
subprocess.run([sys.executable, "-c", "x = bytearray(5 << 30); x[::4096] = "
                "b'1' * len(x[::4096])"])
"""
OTHERS = """\
import os, re
found = ""
for process in os.listdir("/proc"):
    for name in ("environ", "cmdline", "maps"):
        try:
            found += open(f"/proc/{process}/{name}", errors="replace").read()
        except OSError:
            pass
if "SHARD_BY_SHARD_SEED" in found or "gradebook" in found:
    copies = 2
"""
QUEUES = """\
import ctypes
libc = ctypes.CDLL(None)
for number in range(2000):
    libc.shmget(number + 1, 1 << 26, 0o1666)
    libc.msgget(number + 1, 0o1666)
    libc.semget(number + 1, 9, 0o1666)
    libc.syscall(240, b"q%d" % number, 0o102, 0o666, 0)
"""
PRIORITY = """\
import os
for change in (lambda: os.nice(-20),
               lambda: os.sched_setscheduler(0, 1, os.sched_param(99)),
               lambda: os.sched_setaffinity(0, range(64))):
    try:
        change()
    except OSError:
        pass
"""

ONE = simple_without("local_bytes")
# What the cell leaves behind it keeps for itself as long as it lives: where
# nothing is left of what the sandbox may use, later answers fail.
STARVED = of("copies", "crossings")
# As where the pipes are disturbed again whenever the cell is run again.
LOST = of("copies")


def in_answer(name, text, points=ONE, **more):
    """All questions right but one, whose cell holds the attack."""
    return Row(name, points, "simple", {"local_bytes": text}, **more)


def in_function(name, text, **more):
    """All questions right but one, whose function is the attack."""
    body = "\n".join(f"    {line}" for line in text.splitlines())
    text = f"def local_bytes(I, J, X, Y):\n{body}"
    return Row(name, ONE, "simple", {"local_bytes": text}, **more)


def first(name, text, points=0, **more):
    """A cell before all others, and answers that are wrong."""
    return Row(name, points, before=(text,), **more)


SHORT = (3, 45)

ROWS = (
    in_answer("sys.exit in a cell", "import sys\nsys.exit()"),
    in_answer("os._exit in a cell", "import os\nos._exit(0)"),
    in_function("os._exit when asked", "import os\nos._exit(0)"),
    in_function("sys.exit when asked", "import sys\nsys.exit(0)"),
    in_answer("an endless loop", LOOP, seconds=SHORT),
    in_answer("a loop that catches everything", STUBBORN, seconds=SHORT),
    in_function("an endless loop when asked", LOOP, seconds=SHORT),
    in_answer("a loop under signals", ALARM, seconds=SHORT),
    in_answer("20 GB of memory", FILL_MEMORY),
    in_answer("memory by mmap", MAP_MEMORY),
    in_answer("memory in files without a name", MEMFD),
    in_answer("memory by a child", GREEDY_CHILD),
    in_answer("full folders", FILL_FOLDERS),
    in_answer("many small files", MANY_FILES),
    in_answer("a big file", BIG_FILE),
    in_answer("a fork bomb", MULTIPLY, seconds=SHORT),
    in_answer("many threads", THREADS, STARVED, seconds=SHORT),
    in_answer("a daemon that stays", DAEMON),
    in_answer("a daemon that writes replies", FLOODING_DAEMON),
    Row("fifty busy processes", 0, after=(HOGS,), seconds=(20, 90)),
    in_answer("all descriptors open", DESCRIPTORS, LOST),
    in_answer("kill everything", KILL_ALL),
    in_answer("kill what is above", KILL_ABOVE),
    in_answer("every signal to the first process", SIGNALS_ABOVE),
    in_answer("stop itself", STOP, seconds=SHORT),
    in_answer("trace others", TRACE),
    in_answer("process control", CONTROL),
    in_answer("namespaces and mounts", NAMESPACES),
    in_answer("recursion without end", RECURSION),
    in_answer("an overflow of the C stack", C_STACK),
    in_answer("a fault in memory", SEGFAULT),
    in_answer("an abort", ABORT),
    in_answer("hooks that sleep at the exit", AT_EXIT, seconds=SHORT),
    in_answer("queues and shared memory", QUEUES),
    in_answer("priority", PRIORITY),
    in_answer("limits raised", LIMITS.replace("copies = 2", "")),
    Row("settings of the kernel", 0, after=(SETTINGS,)),
    Row("an address outside", 0, after=(NETWORK,)),
    Row("a name looked up", 0, after=(LOOK_UP,)),
    Row("raw sockets", 0, after=(RAW,)),
    Row("sockets to the machine below", 0, after=(BELOW,)),
    Row("keys that the kernel keeps", 0, after=(KEYS,)),
    Row("sockets of other processes", 0, after=(ABSTRACT,)),
    Row("secrets of other processes", 0, after=(OTHERS,)),
    Row(
        "sleeping almost to the deadline in every cell",
        # The restart after the fifth would need longer than all may take.
        of("copies"),
        "simple",
        before=(SLEEP,) * 4,
        answers={"local_bytes": "import time\ntime.sleep(60)"},
        seconds=(3, 18),
    ),
    Row(
        "a clock that stands still",
        simple_without("copies"),
        "simple",
        {"copies": "while True: pass"},
        before=(
            "import time\n"
            "time.time = time.monotonic = time.perf_counter = lambda: 0.0\n"
            "time.sleep = lambda *a: None",
        ),
    ),
    Row(
        "slow at the sizes that are not shown",
        simple_without("local_bytes"),
        "simple",
        {
            "local_bytes": "import time\n"
            "def local_bytes(I, J, X, Y):\n"
            "    time.sleep(60 * ((I, J) != (128, 64)))\n"
            "    return 4 * I * J // (X * Y)"
        },
    ),
    Row(
        "cells that end the process again and again",
        of("place"),
        "simple",
        dict.fromkeys(
            ("copies", "local_bytes", "crossings", "gather"),
            "import os\nos._exit(1)",
        ),
    ),
    Row(
        "a cell that hangs only when it is run again",
        simple_without("local_bytes"),
        "simple",
        {"local_bytes": "import os\nos._exit(0)"},
        before=(AGAIN, SLEEP),
        seconds=(5, 60),
    ),
)
