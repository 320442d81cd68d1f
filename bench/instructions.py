"""The instruction sets of processors on which the book is tried, as flags.

A processor that has an instruction set can be told not to use it. XLA, NumPy
and the BLAS in NumPy's wheels each have a flag of their own.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

__all__ = ["FLAGS", "processor_name", "refuse_unheeded"]

FLAGS = {
    "native": {},
    "AVX2": {
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
    "SSE4_2": {
        "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
}
_USED = """
from numpy._core._multiarray_umath import __cpu_dispatch__ as known
from numpy._core._multiarray_umath import __cpu_features__ as used
print(*(name for name in known if used[name]))
"""


def refuse_unheeded(name):
    """Raise ValueError where this NumPy uses what it was told not to use.

    name     a key of FLAGS
    """
    flags = FLAGS[name]
    off = set(flags.get("NPY_DISABLE_CPU_FEATURES", "").split())
    said = subprocess.run(
        [sys.executable, "-c", _USED],
        env=os.environ | flags,
        capture_output=True,
        text=True,
        check=True,
    )
    if off & set(said.stdout.split()):
        raise ValueError(
            f"NumPy should leave out {', '.join(sorted(off))}; "
            f"it uses {said.stdout.strip()}"
        )


def processor_name():
    """The processor's name where the system tells it, else its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [x.split(": ", 1)[1] for x in lines if x.startswith("model name")]
    return names[0] if names else platform.machine()
