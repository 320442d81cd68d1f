"""What Google's compiler makes of the book's programs for TPUs, without a TPU.

    python -m bench.tpu --out work/tpu.json

needs `requirements-tpu.txt`, in an environment of its own, and some eight
minutes. It compiles ahead of time for slices that are not there, asks each
compiled program for its memory, its collectives and its estimate of time, and
writes derived numbers only, with date and versions. Chapter 20 shows them.
"""
