"""Where layouts that were published, with a date, rank in a search."""

from dataclasses import dataclass

from shardlab.arguments import one_of
from shardlab.hw import chip
from shardlab.models import model
from shardlab.plan.layouts import Arrangement, Job, why_not
from shardlab.plan.search import search

__all__ = [
    "PUBLISHED",
    "Place",
    "Published",
    "job_of",
    "mesh_of",
    "place",
    "places_table",
]

LLAMA = "Llama 3 report, arXiv 2407.21783v3, table 4, 2024-11-23"
MEGATRON = (
    "Megatron-LM paper, arXiv 2104.04473, table 1, 2021-04-09; the authors' "
    "examples/sc21/run_table_1.sh has the same TP, PP and batches"
)
DEEPSEEK = (
    "DeepSeek-V3 report, arXiv 2412.19437v2, sections 3.2 and 4.2; MFU: "
    "Insights into DeepSeek-V3, ISCA, table 4, 2025-06-21"
)


@dataclass(frozen=True)
class Published:
    """A layout as its authors printed it.

    name         in this book
    model, chip  names
    chips        of all
    batch        tokens of a step
    sequence     tokens of a sequence
    tp, cp, pp, dp, ep  chips of each mesh axis; ep is part of dp
    recompute    as the authors did
    reached      part of the peak that they reached, as they count it
    counts       what they count: "model" FLOPs, or "all" with those made again
    source       document and date
    ep           as above; 1 where there are no experts
    """

    name: str
    model: str
    chip: str
    chips: int
    batch: int
    sequence: int
    tp: int
    cp: int
    pp: int
    dp: int
    recompute: str
    reached: float
    counts: str
    source: str
    ep: int = 1


def _llama(chips, cp, dp, sequence, reached):
    name = f"llama-3-405b on {chips:,}, sequences of {sequence:,}"
    job = ("llama-3-405b", "h100", chips, 2**24, sequence)
    return Published(
        name, *job, 8, cp, 16, dp, "selective", reached, "model", LLAMA
    )


def _megatron(size, tp, pp, chips, sequences, reached):
    # The table has no column for dp: it is chips / (tp pp).
    job = (f"megatron-{size}", "a100", chips, sequences * 2048, 2048)
    mesh = (tp, 1, pp, chips // (tp * pp))
    name = f"megatron-{size} on {chips:,}"
    return Published(name, *job, *mesh, "full", reached, "all", MEGATRON)


PUBLISHED = {
    p.name: p
    for p in (
        _llama(8192, 1, 64, 8192, 0.43),
        _llama(16_384, 1, 128, 8192, 0.41),
        _llama(16_384, 16, 8, 131_072, 0.38),
        _megatron("1.7b", 1, 1, 32, 512, 0.44),
        _megatron("3.6b", 2, 1, 64, 512, 0.44),
        _megatron("7.5b", 4, 1, 128, 512, 0.46),
        _megatron("18b", 8, 1, 256, 1024, 0.43),
        _megatron("39b", 8, 2, 512, 1536, 0.44),
        _megatron("76b", 8, 4, 1024, 1792, 0.45),
        _megatron("145b", 8, 8, 1536, 2304, 0.47),
        _megatron("310b", 8, 16, 1920, 2160, 0.50),
        _megatron("530b", 8, 35, 2520, 2520, 0.52),
        _megatron("1t", 8, 64, 3072, 3072, 0.52),
        Published(
            "deepseek-v3 on 2,048",
            *("deepseek-v3", "h800", 2048, 15_360 * 4096, 4096),
            *(1, 1, 16, 128, "selective", 0.437, "model", DEEPSEEK, 64),
        ),
    )
}


@dataclass(frozen=True)
class Place:
    """Where a published layout stands in a search of its own job.

    published  Published
    refused    why it is not legal here; "" if it is
    rank       its place among the ways to deal the chips, each with the best of
               ZeRO, SP, schedule and microbatches; None if it does not fit
    of         how many of these ways fit
    row        Row of the best layout with its mesh; None if it is not legal
    best       Row of the best layout of all
    """

    published: Published
    refused: str
    rank: int | None
    of: int
    row: object
    best: object


def job_of(said):
    """The job that a published layout was for.

    said     Published
    returns  Job, in 16 bytes per parameter, and all else as in Job
    source   chapter 16
    """
    return Job(
        model(said.model),
        chip(said.chip),
        (said.chips,),
        said.batch,
        sequence=said.sequence,
        recompute=said.recompute,
    )


def place(name):
    """Where one published layout stands.

    name     a key of PUBLISHED
    returns  Place
    raises   ValueError that lists the names, if it is not one of them
    source   chapter 16
    """
    said = PUBLISHED[one_of("name", name, PUBLISHED)]
    job = job_of(said)
    mesh = mesh_of(said)
    rows = search(job).rows
    paces = {}
    for row in rows:
        paces.setdefault(_mesh(row.layout), row)
    fitting = [pace for pace, row in paces.items() if row.fits]
    mine = paces.get(_mesh(mesh))
    rank = fitting.index(_mesh(mesh)) + 1 if mine and mine.fits else None
    refused = why_not(job, mesh)
    return Place(said, refused, rank, len(fitting), mine, rows[0])


def mesh_of(said):
    """A plain layout with the mesh of a published one.

    said     Published
    returns  Arrangement, in one microbatch
    source   chapter 16
    """
    kind = "none" if said.pp == 1 else "1f1b"
    mesh = {"dp": said.dp, "tp": said.tp, "pp": said.pp, "cp": said.cp}
    return Arrangement(**mesh, schedule=kind, ep=said.ep)


def _mesh(layout):
    return layout.dp, layout.tp, layout.pp, layout.cp, layout.ep


def places_table(names=tuple(PUBLISHED)):
    """Published layouts beside the best ones, as text.

    names    list of keys of PUBLISHED
    returns  text of several lines
    raises   ValueError if names is no list, or has no such key
    source   chapter 16
    """
    if not isinstance(names, (list, tuple)):
        raise ValueError(f"names must be a list of names, got {names!r}")
    head = (
        f"{'published':47} {'tp':>2} {'cp':>2} {'pp':>2} {'dp':>3} "
        f"{'ep':>2} {'rank':>10} {'here':>6} {'theirs':>6}  best here"
    )
    lines = [head, *(_line(place(name)) for name in names), ""]
    notes = [
        "rank: among the ways to deal the chips to tp, cp, pp, dp and ep, each "
        "with its best ZeRO, SP, schedule and microbatches",
        "here: MFU of the best layout with that mesh, at perfect overlap; "
        "theirs: part of the peak as printed; Megatron's counts",
        "recomputed FLOPs as well, so that its MFU is about three quarters; "
        "DeepSeek-V3 multiplies in fp8, its part of the peak is that of bf16;",
        "it makes norms and up-projections of attention again, which is not "
        "modelled: all else that is kept, in bf16, does not fit",
    ]
    sources = sorted({PUBLISHED[name].source for name in names})
    return "\n".join(lines + notes + sources)


def _line(p):
    said = p.published
    rank = f"{p.rank} of {p.of}" if p.rank else "-"
    here = f"{p.row.mfu:.1%}" if p.row and p.row.fits else "-"
    why = p.refused or ("" if p.rank else p.row.verdict)
    b = p.best.layout
    best = (
        f"tp {b.tp} cp {b.cp} pp {b.pp} dp {b.dp} ep {b.ep} {p.best.mfu:.1%}"
        if p.best.fits
        else "nothing fits"
    )
    return (
        f"{said.name:47} {said.tp:>2} {said.cp:>2} {said.pp:>2} {said.dp:>3} "
        f"{said.ep:>2} {rank:>10} {here:>6} {said.reached:6.0%}  {best}"
        + (f"  ({why})" if why else "")
    )
