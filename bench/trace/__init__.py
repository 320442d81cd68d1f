"""A trace of a real run: two processes, one of which is late once.

    .venv/bin/python -m bench.trace --out work/trace.json

trains the FSDP block on two processes of this machine for some steps under
`jax.profiler`, lets process 1 sleep before one of them, and writes what each
device did and when. Chapter 20 shows it.
"""
