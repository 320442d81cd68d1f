"""Tries, from within a sandbox, what a sandbox must prevent."""

import contextlib
import ctypes
import errno
import os
import resource
import socket
import subprocess
import sys

import pyseccomp

from shardlab.checks import pipes

__all__ = ["CALLS"]


def _faults(hidden, readable, limits):
    """What was possible and must not be, each a few words.

    hidden    paths that must not exist here
    readable  paths that must exist here, and not be writable
    limits    dict of the fields of `sandbox.Limits`
    """
    found = [f"{path} is seen" for path in hidden if os.path.lexists(path)]
    for path in [*readable, "/", "/usr", "/etc"]:
        if os.path.isdir(path) and _writable(path):
            found.append(f"{path} can be written to")
    if any(os.access(path, os.W_OK) and _opens(path) for path in KERNEL):
        found.append("settings of the kernel can be written")
    if _networks() != ["lo"]:
        found.append(f"networks {_networks()} are there")
    if _reaches("192.0.2.1") or _reaches("127.0.0.1"):
        found.append("a network address can be reached")
    found += [f"{call} can be called" for call in CALLS if _answers(call)]
    if _makes(40):
        found.append("sockets to the machine below can be made")
    if len([name for name in os.listdir("/proc") if name.isdecimal()]) > 4:
        found.append("processes of others are seen")
    if _files():
        found.append("files of the machine are open")
    if os.getuid() == 0:
        found.append("it runs as root")
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] > limits["file"]:
        found.append("files may be of any size")
    if _space() > 2 * limits["space"]:
        found.append("its folder may be of any size")
    # Without a control group the limit is of addresses, a gigabyte more.
    if _allocates(limits["memory"] + (2 << 30)):
        found.append("memory is not limited")
    if _multiplies(limits["processes"] + 64):
        found.append("processes are not limited")
    return found


def _writable(folder):
    """Whether a file can be made in `folder`."""
    path = os.path.join(folder, "shard-by-shard-proof")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError:
        return False
    os.remove(path)
    return True


KERNEL = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger",
)


def _opens(path):
    """Whether a file can be opened for writing."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY))
        return True
    return False


def _files():
    """Open files of the first process that are no pipes, by their names."""
    names = []
    for name in os.listdir("/proc/1/fd"):
        with contextlib.suppress(OSError):
            names.append(os.readlink(f"/proc/1/fd/{name}"))
    return [n for n in names if n.startswith("/") and n != os.devnull]


# Into another process, another namespace, the kernel's keys and its rings.
CALLS = (
    "ptrace",
    "process_vm_readv",
    "pidfd_getfd",
    "unshare",
    "setns",
    "clone3",
    "open_tree",
    "mount_setattr",
    "keyctl",
    "userfaultfd",
    "io_uring_setup",
    "perf_event_open",
    "bpf",
)


def _answers(call):
    """Whether the kernel looks at the arguments of a call, all of them wrong.

    A call that the filter bars is refused before that.
    """
    number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, call)
    kernel = ctypes.CDLL(None, use_errno=True)
    kernel.syscall(number, *[ctypes.c_long(-1)] * 5)
    return ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS)


def _networks():
    """The names of the network interfaces that are there."""
    return sorted(name for _, name in socket.if_nameindex())


def _reaches(address):
    """Whether anything but a refusal comes from an address, on two ports."""
    for port in (53, 80):
        with socket.socket() as wire:
            wire.settimeout(0.5)
            with contextlib.suppress(OSError):
                wire.connect((address, port))
                return True
    return False


def _makes(family):
    """Whether a socket of this family can be made; it is not used."""
    with contextlib.suppress(OSError):
        socket.socket(family, socket.SOCK_STREAM).close()
        return True
    return False


def _space():
    """Bytes that the folder for temporary files can hold."""
    found = os.statvfs("/tmp")
    return found.f_blocks * found.f_frsize


def _allocates(size):
    """Whether a child can hold `size` bytes of memory."""
    program = f"x = bytearray({size}); x[::4096] = b'1' * len(x[::4096])"
    return subprocess.call([sys.executable, "-S", "-c", program], **QUIET) == 0


def _multiplies(number):
    """Whether `number` processes can be had at a time."""
    program = (
        "import os, time\n"
        f"for _ in range({number}):\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(60)\n"
        "        os._exit(0)\n"
    )
    return subprocess.call([sys.executable, "-S", "-c", program], **QUIET) == 0


QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def _answer(question):
    """The faults that a question of `sandbox.prove` asks for."""
    asked = {name: question[name] for name in ("hidden", "readable", "limits")}
    return {"faults": _faults(**asked)}


if __name__ == "__main__":
    pipes.serve(_answer)
