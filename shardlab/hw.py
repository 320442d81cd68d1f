"""Chips and their networks, in SI units, each figure with source and date.

FLOPs are dense (no structured sparsity) and count a multiply-add as two. The
figures are peaks as published; nobody reaches them, and the book says so where
it matters. Two kinds of network:

torus   a TPU has two links along each axis, one to either neighbour. `link_bw`
        is what one link carries in one direction, so a chip sends
        2 * link_bw along an axis that is a closed ring.
switch  a GPU has one way into a switch that reaches every GPU of its node.
        `link_bw` is all it sends, to whomever, so a ring through the switch
        runs in one direction and a chip sends 1 * link_bw.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, prod
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from shardlab.arguments import one_of, real, whole

__all__ = [
    "A100",
    "B200",
    "CHIPS",
    "GB200",
    "H100",
    "H200",
    "TPU7X",
    "V4P",
    "V5E",
    "V5P",
    "V6E",
    "VARIANTS",
    "Chip",
    "Source",
    "axis_bound",
    "axis_bw",
    "chip",
    "figures",
    "flops_at",
    "hbm_intensity",
    "largest_slice",
    "reach",
    "ring_directions",
    "wraps",
]


class Source(NamedTuple):
    """Where a figure was read.

    document  name of the document
    date      ISO date of the document, to the month where no day is known; of
              a page without a date, the day it was read
    printed   the figure as it stands there, when the constant differs from it
    """

    document: str
    date: str
    printed: str = ""


@dataclass(frozen=True)
class Chip:
    """One accelerator, its memory and its ways out. None: not published.

    A figure that cannot be one, such as a bandwidth of 0, is a ValueError that
    names it.

    name         as `chip` finds it, such as "v5p"
    flops        bf16 FLOP/s; flops_int8, flops_fp8 and flops_fp4 likewise
    hbm_bytes    bytes of memory
    hbm_bw       bytes/s between memory and arithmetic
    link_bw      bytes/s of one link in one direction (module docstring)
    axes         axes of the torus; 0 for a switch
    wrap_rule    a key of WRAP_RULES: which axes close into a ring
    hop_latency  seconds that one hop takes however small the message
    dcn_bw       bytes/s that one chip sends outside its pod or node
    host_bw      bytes/s between a chip and its host's memory, in one direction
    usable       bytes that a program can have over hbm_bytes: compilers print
                 GiB where vendors print GB; 1: nothing was found
    node_size    chips of one host (TPU) or of one switch (GPU)
    pod          chips along each axis of a whole pod; () for a switch
    slice_max    chips along each axis of the largest slice of a pod that one
                 job can have; (): not published, or the pod itself
    sources      for each figure above its Source
    """

    name: str
    flops: float
    hbm_bytes: float
    hbm_bw: float
    link_bw: float
    axes: int
    wrap_rule: str
    hop_latency: float
    dcn_bw: float
    node_size: int
    pod: tuple[int, ...] = ()
    slice_max: tuple[int, ...] = ()
    flops_int8: float | None = None
    flops_fp8: float | None = None
    flops_fp4: float | None = None
    host_bw: float | None = None
    usable: float = 1.0
    sources: Mapping[str, Source] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self):
        _refuse_text(self)
        _refuse_figures(self)
        _refuse_shape(self)


# The size of an axis decides whether its last chip is wired to its first.
WRAP_RULES = MappingProxyType(
    {
        "axis of 16": lambda size: size == 16,
        "multiple of 4": lambda size: size % 4 == 0,
        "switch": lambda size: size > 1,
    }
)


# A hop may take no time at all; every other figure is more than nothing.
_FIGURES = ("flops", "hbm_bytes", "hbm_bw", "link_bw", "dcn_bw", "usable")
_MAYBE = ("flops_int8", "flops_fp8", "flops_fp4", "host_bw")
_MOST = 10**9  # chips of a node or of an axis: beyond, a slip of the keyboard


def _refuse_text(chip):
    if not (isinstance(chip.name, str) and chip.name):
        raise ValueError(f"name must be text such as 'v5p', got {chip.name!r}")
    if not isinstance(chip.sources, Mapping):
        raise ValueError(
            f"sources must be a mapping of figures, got {chip.sources!r}"
        )
    one_of("wrap_rule", chip.wrap_rule, WRAP_RULES)


def _refuse_figures(chip):
    given = [name for name in _MAYBE if getattr(chip, name) is not None]
    for name in (*_FIGURES, *given):
        real(name, getattr(chip, name), above=0)
    real("hop_latency", chip.hop_latency)


def _refuse_shape(chip):
    axes = whole("axes", chip.axes, least=0)
    if axes > 3 or (axes == 0) != (chip.wrap_rule == "switch"):
        raise ValueError(
            "axes must be 1 to 3 on a torus and 0 on a switch, got "
            f"{axes} and the wrap_rule {chip.wrap_rule!r}"
        )
    sizes = [("node_size", chip.node_size)]
    for name in ("pod", "slice_max"):
        shape = getattr(chip, name)
        if not isinstance(shape, tuple) or len(shape) not in (0, axes):
            raise ValueError(
                f"{name} must be (), or a size for each of {axes} axes; "
                f"got {shape!r}"
            )
        sizes += [(name, size) for size in shape]
    for name, size in sizes:
        if whole(name, size) > _MOST:
            raise ValueError(f"{name} must be at most {_MOST:,}, got {size!r}")
    if chip.pod and prod(chip.slice_max) > prod(chip.pod):
        raise ValueError(
            f"slice_max must have no more chips than the pod, {chip.pod!r}; "
            f"got {chip.slice_max!r}"
        )


def _sources(default, **others):
    """Sources of all figures: `default` where no other is named."""
    figures = [f for f in Chip.__dataclass_fields__ if f not in _NOT_FIGURES]
    return MappingProxyType({f: others.get(f, default) for f in figures})


_NOT_FIGURES = ("name", "sources")

_BOOK = Source("scaling-book part 2, TPU specs", "2025-02-04")
_BOOK_LINKS = Source(
    "scaling-book part 2, interconnect figures, revised", "2025-07-30"
)
_GPU_BOOK = Source("scaling-book part 12, GPU specs", "2025-08-18")
_BOOK_HOST = Source(
    "scaling-book part 2, PCIe bandwidth, read at 04d8de5",
    "2026-11-22",
    "around 1.5e10 bytes/s per chip; TPU v6e 32 GB/s",
)
_PCIE_5 = Source(
    "NVIDIA H100 specifications, as hawkvelt.id.au gives them",
    "2026-11-22",
    "PCIe Gen5 128 GB/s, both directions",
)
_V6E_PAGE = Source("Cloud TPU documentation, TPU v6e", "2026-11-21")
_V5P_PAGE = Source("Cloud TPU documentation, TPU v5p", "2026-11-22")
_TPU7X_PAGE = Source("Cloud TPU documentation, TPU7x (Ironwood)", "2026-11-22")
# The sheet itself bears no date; the page that gives its figures was read.
_A100_SHEET = Source(
    "NVIDIA A100 data sheet 1758950 r4, as glennklockwood.com gives it",
    "2026-11-21",
)
_A100_NODE = Source(
    "NVIDIA DGX SuperPOD with DGX A100, RA-09950-001, revision 06",
    "2020-11-18",
)
_H100_SHEET = Source(
    "NVIDIA H100 data sheet, as glennklockwood.com gives it", "2026-11-22"
)
_GB200_RACK = Source(
    "NVIDIA GB200 NVL72 specifications, as aiwiki.ai gives them", "2026-06-21"
)
_TPU_HOP = Source(
    "scaling-book part 3, AllGather latency", "2025-02-04", "about 1 us"
)
_V4_LIMIT = Source(
    "EasyDeL issue 166, error message of a TPU v4",
    "2026-11-28",
    "Used 63.80G of 30.75G hbm",
)
_V6E_LIMIT = Source(
    "Enzyme-JAX issue 2422, error message of a TPU v6e",
    "2026-11-28",
    "31.25 GiB",
)


def _limit(printed):
    """The limit that XLA prints when a program does not fit, in GiB."""
    words = "error messages of XLA in public repositories"
    return Source(words, "2026-11-28", f"of {printed}G hbm")


_GPU_HOP = Source(
    "order of magnitude assumed here; NVIDIA publishes none", "2026-11-21"
)

V4P = Chip(
    name="v4p",
    flops=2.75e14,
    flops_int8=2.75e14,
    hbm_bytes=32e9,
    hbm_bw=1.2e12,
    link_bw=4.5e10,
    axes=3,
    wrap_rule="multiple of 4",
    hop_latency=1e-6,
    dcn_bw=6.25e9,
    node_size=4,
    pod=(16, 16, 16),
    usable=30.75 * 2**30 / 32e9,
    sources=_sources(
        _BOOK,
        hop_latency=_TPU_HOP,
        link_bw=_BOOK_LINKS,
        dcn_bw=_BOOK_LINKS,
        usable=_V4_LIMIT,
    ),
)

V5E = Chip(
    name="v5e",
    flops=1.97e14,
    flops_int8=3.94e14,
    hbm_bytes=16e9,
    hbm_bw=8.2e11,
    link_bw=4.5e10,
    axes=2,
    wrap_rule="axis of 16",
    hop_latency=1e-6,
    dcn_bw=3.125e9,
    node_size=8,
    pod=(16, 16),
    host_bw=1.5e10,
    usable=15.75 * 2**30 / 16e9,
    sources=_sources(
        _BOOK,
        hop_latency=_TPU_HOP,
        link_bw=_BOOK_LINKS,
        dcn_bw=_BOOK_LINKS,
        hbm_bw=Source(
            "Cloud TPU documentation, TPU v5e", "2026-11-21", "819 GB/s"
        ),
        host_bw=_BOOK_HOST,
        usable=_limit("15.75"),
    ),
)

V5P = Chip(
    name="v5p",
    flops=4.59e14,
    flops_int8=9.18e14,
    hbm_bytes=96e9,
    hbm_bw=2.8e12,
    link_bw=9e10,
    axes=3,
    wrap_rule="multiple of 4",
    hop_latency=1e-6,
    dcn_bw=6.25e9,
    node_size=4,
    pod=(16, 20, 28),
    slice_max=(16, 16, 24),
    host_bw=1.5e10,
    usable=95.74 * 2**30 / 96e9,
    sources=_sources(
        _BOOK,
        hop_latency=_TPU_HOP,
        link_bw=_BOOK_LINKS,
        dcn_bw=_BOOK_LINKS,
        slice_max=_V5P_PAGE._replace(printed="6144 chips, 96 cubes"),
        host_bw=_BOOK_HOST,
        usable=_limit("95.74"),
    ),
)

V6E = Chip(
    name="v6e",
    flops=9.18e14,
    flops_int8=1.836e15,
    hbm_bytes=32e9,
    hbm_bw=1.64e12,
    link_bw=9e10,
    axes=2,
    wrap_rule="axis of 16",
    hop_latency=1e-6,
    dcn_bw=1.25e10,
    node_size=8,
    pod=(16, 16),
    host_bw=3.2e10,
    usable=31.25 * 2**30 / 32e9,
    sources=_sources(
        _BOOK,
        hop_latency=_TPU_HOP,
        link_bw=_BOOK_LINKS,
        dcn_bw=_BOOK_LINKS,
        flops=_V6E_PAGE,
        flops_int8=_V6E_PAGE,
        hbm_bw=_V6E_PAGE._replace(printed="1638 GB/s, earlier 1640"),
        host_bw=_BOOK_HOST,
        usable=_V6E_LIMIT,
    ),
)

# A chip is two chiplets, which JAX shows as two devices. The page gives v5p
# the same 1200 GB/s, of which the book above counts 90 GB/s a link.
TPU7X = Chip(
    name="tpu7x",
    flops=2.307e15,
    flops_fp8=4.614e15,
    hbm_bytes=192e9,
    hbm_bw=7.38e12,
    link_bw=1e11,
    axes=3,
    wrap_rule="multiple of 4",
    hop_latency=1e-6,
    dcn_bw=1.25e10,
    node_size=4,
    pod=(16, 24, 24),
    usable=2 * 94.75 * 2**30 / 192e9,
    sources=_sources(
        _TPU7X_PAGE,
        hbm_bytes=_TPU7X_PAGE._replace(printed="192 GiB"),
        hbm_bw=Source(
            "Compute Engine documentation, TPU machine types",
            "2026-11-22",
            "7380 GB/s",
        ),
        link_bw=_TPU7X_PAGE._replace(
            printed="1200 GB/s a chip, six links, both directions"
        ),
        dcn_bw=_TPU7X_PAGE._replace(printed="100 Gb/s a chip"),
        pod=Source(
            "Kubernetes, topology of a TPU7x slice",
            "2026-11-22",
            "9216 chips, at most 16x24x24",
        ),
        hop_latency=_TPU_HOP._replace(printed="about 1 us, of earlier TPUs"),
        usable=_limit("94.75"),
    ),
)

A100 = Chip(
    name="a100",
    flops=3.12e14,
    flops_int8=6.24e14,
    hbm_bytes=80e9,
    hbm_bw=2.039e12,
    link_bw=3e11,
    axes=0,
    wrap_rule="switch",
    hop_latency=1e-6,
    dcn_bw=2.5e10,
    node_size=8,
    sources=_sources(
        _A100_SHEET,
        link_bw=_A100_SHEET._replace(printed="300 + 300 GB/s"),
        hop_latency=_GPU_HOP,
        dcn_bw=_A100_NODE._replace(printed="HDR 200 Gb/s per GPU"),
        node_size=_A100_NODE,
    ),
)

H100 = Chip(
    name="h100",
    flops=9.9e14,
    flops_int8=1.98e15,
    flops_fp8=1.98e15,
    hbm_bytes=80e9,
    hbm_bw=3.35e12,
    link_bw=4.5e11,
    axes=0,
    wrap_rule="switch",
    hop_latency=1e-6,
    dcn_bw=5e10,
    node_size=8,
    host_bw=6.4e10,
    sources=_sources(
        _GPU_BOOK,
        flops_int8=_GPU_BOOK._replace(printed="2.0e15, twice bf16"),
        flops_fp8=_GPU_BOOK._replace(printed="2.0e15, twice bf16"),
        hbm_bw=_H100_SHEET,
        hop_latency=_GPU_HOP,
        dcn_bw=_GPU_BOOK._replace(printed="NDR 400 Gb/s per GPU"),
        host_bw=_PCIE_5,
    ),
)

H200 = Chip(
    name="h200",
    flops=9.9e14,
    flops_int8=1.98e15,
    flops_fp8=1.98e15,
    hbm_bytes=141e9,
    hbm_bw=4.8e12,
    link_bw=4.5e11,
    axes=0,
    wrap_rule="switch",
    hop_latency=1e-6,
    dcn_bw=5e10,
    node_size=8,
    sources=MappingProxyType({**H100.sources, "hbm_bw": _GPU_BOOK}),
)

# 180 GB is what a DGX B200 gives its user; the part itself carries 192 GB.
B200 = Chip(
    name="b200",
    flops=2.25e15,
    flops_int8=4.5e15,
    flops_fp8=4.5e15,
    flops_fp4=9e15,
    hbm_bytes=180e9,
    hbm_bw=8e12,
    link_bw=9e11,
    axes=0,
    wrap_rule="switch",
    hop_latency=1e-6,
    dcn_bw=5e10,
    node_size=8,
    sources=_sources(
        _GPU_BOOK,
        hbm_bytes=Source(
            "NVIDIA NIM documentation, Boltz-2 1.8.0, supported GPUs",
            "2026-11-21",
        ),
        hop_latency=_GPU_HOP,
        dcn_bw=_GPU_BOOK._replace(printed="400 GB/s per node of 8"),
    ),
)

# One switch joins a whole rack: 72 GPUs in 18 trays.
GB200 = Chip(
    name="gb200",
    flops=2.5e15,
    flops_fp8=5e15,
    flops_fp4=1e16,
    hbm_bytes=186e9,
    hbm_bw=8e12,
    link_bw=9e11,
    axes=0,
    wrap_rule="switch",
    hop_latency=1e-6,
    dcn_bw=5e10,
    node_size=72,
    sources=_sources(
        _GB200_RACK,
        flops=_GB200_RACK._replace(printed="half of fp8"),
        flops_fp8=_GB200_RACK._replace(
            printed="720 PFLOP/s a rack, with sparsity"
        ),
        flops_fp4=_GB200_RACK._replace(
            printed="1.4 EFLOP/s a rack, with sparsity"
        ),
        hbm_bytes=_GB200_RACK._replace(printed="13.4 TB a rack"),
        hbm_bw=Source(
            "Modal GPU Glossary, memory bandwidth, B200", "2026-11-22"
        ),
        link_bw=_GB200_RACK._replace(printed="1.8 TB/s, both directions"),
        hop_latency=_GPU_HOP,
        dcn_bw=Source(
            "assumed here: one port of 400 Gb/s for each GPU, as in a DGX B200",
            "2026-11-22",
        ),
    ),
)

_ALL = (V4P, V5E, V5P, V6E, TPU7X, A100, H100, H200, B200, GB200)
CHIPS = MappingProxyType({chip.name: chip for chip in _ALL})


def _variant(name, like, source, **figures):
    """A chip that differs from another in a few figures, of one source."""
    told = {**like.sources, **dict.fromkeys(figures, source)}
    return replace(like, name=name, sources=MappingProxyType(told), **figures)


_TITAN = Source(
    "torchtitan, benchmarks/llama3_h100_202412_torchtitan.md",
    "2024-12-26",
    "96GB HBM2e with 2.4 TB/sec, 500W power limit",
)
_ISCA = Source(
    "Insights into DeepSeek-V3, ISCA, section 4.1",
    "2025-06-21",
    "400 GB/s, both directions",
)
_MEGA = Source("Google Cloud, GPU network bandwidth, A3 Mega", "2026-11-25")
_A100_40 = Source("NVIDIA A100 data sheet, 40 GB SXM", "2026-11-28")
_VERDA = Source("verda.com, GB300 NVL72 architecture", "2026-11-28")
_MI300X = Source(
    "emergentmind.com, AMD MI300X GPU; one 400 Gb/s port a GPU is assumed",
    "2026-11-28",
    "1.3 PFLOPS FP16, 2.6 FP8, 5.3 TB/s, 448 GB/s in a node of 8",
)

# Chips that differ from one above in what their makers or owners changed.
# Chapters do not list them; `chip` finds them.
VARIANTS = MappingProxyType(
    {
        made.name: made
        for made in (
            _variant(
                *("a100-40", A100, _A100_40),
                hbm_bytes=40e9,
                hbm_bw=1.555e12,
            ),
            # Between an SXM's 989 and an NVL's 835 TFLOP/s, says its note 2.
            _variant(
                *("h100-96", H100, _TITAN),
                flops=9.1e14,
                flops_int8=1.82e15,
                flops_fp8=1.82e15,
                hbm_bytes=96e9,
                hbm_bw=2.4e12,
            ),
            _variant("h800", H100, _ISCA, link_bw=2e11),
            _variant("a3-mega", H100, _MEGA, dcn_bw=2.5e10),
            _variant(
                *("gb300", GB200, _VERDA),
                hbm_bytes=279e9,
                flops_fp4=1.5e16,
            ),
            _variant(
                *("mi300x", H100, _MI300X),
                flops=1.307e15,
                flops_int8=2.614e15,
                flops_fp8=2.614e15,
                hbm_bytes=192e9,
                hbm_bw=5.3e12,
                link_bw=4.48e11,
            ),
        )
    }
)

PRECISIONS = ("bf16", "int8", "fp8", "fp4")


def chip(name):
    """The chip of that name, or the one that a JSON file describes.

    name     a key of CHIPS or VARIANTS, such as "v5p" or "h100", in any case;
             or the path of a file, ".json", whose object has a "name", the
             "like" of a known chip and the figures that differ from it
    returns  Chip
    raises   ValueError that lists the names, or says what is wrong in the file
    source   scaling-book parts 2 and 12
    """
    known = {**CHIPS, **VARIANTS}
    if isinstance(name, str) and name.endswith(".json"):
        return _from_file(name)
    try:
        return known[name.lower() if isinstance(name, str) else name]
    except (KeyError, TypeError):
        names = ", ".join(known)
        raise ValueError(
            f"chip must be one of {names}; or a .json file; got {name!r}"
        ) from None


def _from_file(path):
    """A chip out of a file: {"name": "mine", "like": "h100", figures}."""
    try:
        told = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"chip file {path!r}: {reason}") from None
    if not isinstance(told, dict) or not {"name", "like"} <= set(told):
        raise ValueError(
            f'chip file {path!r} must hold a JSON object with "name" and "like"'
        )
    like, name = chip(told.pop("like")), told.pop("name")
    figures = [f for f in Chip.__dataclass_fields__ if f not in _NOT_FIGURES]
    if wrong := [key for key in told if key not in figures]:
        raise ValueError(
            f"chip file {path!r}: {', '.join(wrong)} is no figure of a chip; "
            f"figures are {', '.join(figures)}"
        )
    told = {k: tuple(v) if isinstance(v, list) else v for k, v in told.items()}
    return _variant(name, like, Source(path, "the reader's own"), **told)


def _known(chip):
    """The argument `chip`, if it is a Chip."""
    if not isinstance(chip, Chip):
        raise ValueError(
            'chip must be a Chip, such as hw.V5P or hw.chip("v5p"), '
            f"got {chip!r}"
        )
    return chip


def flops_at(chip, precision="bf16"):
    """Peak FLOP/s of a chip with operands of one precision.

    chip       Chip
    precision  "bf16", "int8", "fp8" or "fp4"
    returns    FLOP/s
    raises     ValueError that lists what the chip has, if it lacks this one
    source     scaling-book parts 2 and 12
    """
    _known(chip)
    one_of("precision", precision, PRECISIONS)
    at = {p: getattr(chip, f"flops_{p}") for p in PRECISIONS[1:]}
    at = {"bf16": chip.flops} | {p: f for p, f in at.items() if f is not None}
    if precision not in at:
        raise ValueError(
            f"precision of a {chip.name} must be one of {', '.join(at)}; "
            f"no figure is published for {precision!r}"
        )
    return at[precision]


def reach(chip):
    """Chips that one network joins at link_bw: a node of GPUs, a pod of TPUs.

    Beyond them every byte takes the slower way, dcn_bw.

    chip     Chip
    returns  chips; infinity for a torus whose pod is not known
    raises   ValueError if chip is no Chip
    source   scaling-book parts 2 and 12
    """
    if not _known(chip).axes:
        return chip.node_size
    return prod(chip.pod) if chip.pod else inf


def largest_slice(chip):
    """Chips that one job can have on one fast network.

    A pod is what stands in the machine room; the largest slice of it that can
    be asked for may be smaller, as 6,144 of a v5p's 8,960 chips.

    chip     Chip
    returns  chips; infinity for a torus whose pod is not known
    raises   ValueError if chip is no Chip
    source   Cloud TPU documentation, TPU v5p
    """
    most = reach(chip)
    return prod(chip.slice_max) if chip.slice_max else most


def axis_bound(chip):
    """Chips that no axis of a chip's network can exceed.

    On a v4p, a v5p or a TPU7x it is a bound and no shape that anyone sells:
    optical switches join cubes of 4 x 4 x 4, and more cubes in one row than a
    slice has there cannot be. The published shapes are shorter. The axes of
    other chips are as they were wired.

    chip     Chip
    returns  chips; infinity for a torus whose pod is not known
    raises   ValueError if chip is no Chip
    source   scaling-book part 2, networking; Cloud TPU documentation, TPU v5p
    """
    most = largest_slice(chip)
    if not chip.pod:
        return most
    cubes = chip.wrap_rule == "multiple of 4" and chip.axes == 3
    return most // 16 if cubes else max(chip.pod)


def wraps(chip, size):
    """Whether an axis of that many chips is a closed ring.

    A v5e or v6e closes only a full axis of 16, a v4p, v5p or TPU7x every
    multiple of 4. On a switch GPUs can be visited in any order, so any two or
    more of a node close into a ring, in one direction.

    chip     Chip
    size     chips along the axis, at most `axis_bound`
    returns  True for a ring, False for a line
    raises   ValueError if chip is no Chip, or size no axis that it can have
    source   scaling-book part 2, networking
    """
    most = axis_bound(chip)
    if whole("size", size) > most:
        where = "slice" if chip.axes else "node"
        raise ValueError(
            f"size of an axis of a {chip.name} must be at most {most} in one "
            f"{where}; got {size!r}"
        )
    return WRAP_RULES[chip.wrap_rule](size)


def ring_directions(chip):
    """Directions in which one axis of a chip's network can be used at once.

    chip     Chip
    returns  2 on a torus; 1 on a switch, where link_bw is all that a chip sends
    raises   ValueError if chip is no Chip
    source   scaling-book parts 2 and 12
    """
    return 2 if _known(chip).axes else 1


def axis_bw(chip, wrap=True):
    """W, the bytes/s that carry a collective along one axis.

    chip     Chip
    wrap     True: the axis is a ring; False: a line, whose busiest link works
             one way; on a switch it does not matter
    returns  bytes/s: 2 * link_bw on a ring of a torus, else link_bw
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3; part 12 for the switch
    """
    ring = one_of("wrap", wrap, (True, False))
    return (ring_directions(chip) if ring else 1) * _known(chip).link_bw


def hbm_intensity(chip, precision="bf16"):
    """FLOPs that a chip can do while its memory delivers one byte.

    chip       Chip
    precision  "bf16", "int8", "fp8" or "fp4"
    returns    FLOPs per byte
    raises     ValueError if the chip lacks the precision
    source     scaling-book part 1, "arithmetic intensity"
    """
    return flops_at(chip, precision) / chip.hbm_bw


def figures(chip):
    """Every figure of a chip with its source, as rows of a table.

    chip     Chip
    returns  list of (name, value, document, date, printed)
    raises   ValueError if chip is no Chip
    source   scaling-book parts 2 and 12
    """
    return [
        (name, value, *chip.sources[name])
        for name in _known(chip).sources
        if (value := getattr(chip, name)) not in (None, ())
    ]
