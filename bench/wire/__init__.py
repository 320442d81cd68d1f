"""Measure collectives between processes on a wire with a speed and a delay.

    python -m bench.wire --out shardlab/processes/wire.json

Two network namespaces of Linux stand for two hosts. Between them lies a wire
that this program plays: it takes every packet in hand, lets no more through
than the wire's speed, and hands each over after the wire's delay. All the rest
is real: JAX, Gloo, TCP, the kernel. A third namespace has nothing but its
loopback device; there the kernel's own counter says how many bytes a collective
sends. It also measures what a process costs the others that begins late, is
killed, or does not come.

It needs Linux, root and /dev/net/tun; otherwise it says what is missing, and
ends with status 2.
"""
