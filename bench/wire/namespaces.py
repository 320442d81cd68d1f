"""Hosts that are network namespaces, and the wire between two of them."""

import ctypes
import fcntl
import os
import queue
import select
import struct
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
CLONE_NEWNET = 0x40000000  # linux/sched.h
MTU = 60_000  # few packets, so that Python keeps up


def missing():
    """What this machine lacks, in words; None if nothing."""
    if os.geteuid():
        return "it needs root, which alone can play a wire between namespaces"
    tried = ["unshare", *_OWN, "sh", "-c", f"{_UP} && {_TUN}"]
    try:
        subprocess.run(tried, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        return "it lacks unshare(1)"
    except subprocess.CalledProcessError as error:
        return error.stderr.strip() or "namespaces are not permitted"
    return None


_UP = "ip link set lo up"
_TUN = "ip tuntap add dev wire mode tun"
_OWN = ("--net", "--uts")  # a network and a host name of its own


@contextmanager
def host(address):
    """A network namespace whose host name is an address, as its process.

    address  IPv4 address as text; 127.0.0.1 for one that is alone
    yields   subprocess.Popen that holds the namespace
    """
    script = f"hostname {address}; {_UP}; echo ready; exec sleep infinity"
    holder = subprocess.Popen(
        ["unshare", *_OWN, "sh", "-c", script],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if holder.stdout.readline() != "ready\n":
            raise OSError(f"no namespace for {address}")
        yield holder
    finally:
        holder.kill()
        holder.wait()


def renamed(name):
    """Words before a command that shall see another name of this host.

    name     of the host
    returns  list of str
    """
    script = 'hostname "$0"; exec "$@"'
    return ["unshare", "--uts", "sh", "-c", script, name]


def inside(holder):
    """Words before a command that shall run in a host.

    holder   as `host` yields it
    returns  list of str
    """
    return ["nsenter", f"--target={holder.pid}", *_OWN]


@contextmanager
def wire(hosts, delay, rate):
    """A wire between two hosts, in both directions at once.

    hosts    dict of two: address -> holder
    delay    seconds that every packet is on its way
    rate     bytes a second in each direction
    """
    with ExitStack() as open_ones:
        ends = []
        for address, holder in hosts.items():
            up = f"{_TUN}; ip addr add {address}/24 dev wire"
            up += f"; ip link set wire mtu {MTU} up"
            subprocess.run([*inside(holder), "sh", "-c", up], check=True)
            end = _opened(holder)
            open_ones.callback(os.close, end)
            ends.append(end)
        for end, other in (ends, ends[::-1]):
            # It is stopped before its ends are closed: the number of a closed
            # file is given to the next one, and it would read from that.
            open_ones.enter_context(_direction(end, other, delay, rate))
        yield


def _opened(holder):
    """The end of a wire in a host: what is sent there can be read here."""
    found = queue.SimpleQueue()

    def enter():
        try:
            with open(f"/proc/{holder.pid}/ns/net") as network:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(network.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns failed")
            end = os.open("/dev/net/tun", os.O_RDWR)
            request = struct.pack("16sH", b"wire", IFF_TUN | IFF_NO_PI)
            fcntl.ioctl(end, TUNSETIFF, request)
            found.put(end)
        except OSError as error:
            found.put(error)

    # A namespace is entered by a thread, which does nothing after.
    threading.Thread(target=enter).start()
    end = found.get()
    if isinstance(end, OSError):
        raise end
    return end


@contextmanager
def _direction(end, other, delay, rate):
    """Packets from one end to the other: one after the other, each delayed."""
    under_way, stopped = queue.SimpleQueue(), threading.Event()

    def take():
        free = 0.0
        while not stopped.is_set():
            if select.select([end], [], [], 0.1)[0]:
                packet = os.read(end, 1 << 16)
                free = max(free, time.monotonic()) + len(packet) / rate
                under_way.put((free + delay, packet))
        under_way.put(None)

    def give():
        while (packet := under_way.get()) is not None:
            time.sleep(max(0.0, packet[0] - time.monotonic()))
            with suppress(OSError):  # the other host is gone
                os.write(other, packet[1])

    threads = [threading.Thread(target=work) for work in (take, give)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def sent(network=Path("/proc/net/dev"), device="lo"):
    """The bytes that a network device has sent, by the kernel's count.

    network  the kernel's table of the namespace that this process is in
    device   its name
    returns  int
    raises   ValueError if there is no such device
    """
    for line in network.read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == device:
            return int(numbers.split()[8])
    raise ValueError(f"device must be one of {network}, got {device!r}")
