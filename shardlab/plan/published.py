"""Where layouts that were published, with a date, rank in a search."""

from dataclasses import dataclass

from shardlab.arguments import one_of
from shardlab.hw import chip
from shardlab.plan.layouts import Job, Layout, why_not
from shardlab.plan.models import model
from shardlab.plan.search import search

# Both tables were written down from memory: the products agree with the counts
# of GPUs, but no row was compared with a copy of the paper.
LLAMA = "Llama 3 report, arXiv 2407.21783, table 4, 2024-07-31 (from memory)"
MEGATRON = (
    "Megatron-LM paper, arXiv 2104.04473, table 1, 2021-04-09 (from memory)"
)


@dataclass(frozen=True)
class Published:
    """A layout as its authors printed it.

    name         in this book
    model, chip  names
    chips        of all
    batch        tokens of a step
    sequence     tokens of a sequence
    tp, cp, pp, dp  chips of each mesh axis
    recompute    as the authors did
    reached      part of the peak that they reached, as they count it
    counts       what they count: "model" FLOPs, or "all" with those made again
    source       document and date
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
    kind = "none" if said.pp == 1 else "1f1b"
    mesh = Layout(said.dp, 0, said.tp, False, said.pp, kind, cp=said.cp)
    rows = search(job).rows
    ways = {}
    for row in rows:
        ways.setdefault(_mesh(row.layout), row)
    fitting = [way for way, row in ways.items() if row.fits]
    mine = ways.get(_mesh(mesh))
    rank = fitting.index(_mesh(mesh)) + 1 if mine and mine.fits else None
    refused = why_not(job, mesh)
    return Place(said, refused, rank, len(fitting), mine, rows[0])


def _mesh(layout):
    return layout.dp, layout.tp, layout.pp, layout.cp


def places_table(names=tuple(PUBLISHED)):
    """Published layouts beside the best ones, as text.

    names    keys of PUBLISHED
    returns  text of several lines
    raises   ValueError if a name is not one of them
    source   chapter 16
    """
    head = (
        f"{'published':47} {'tp':>2} {'cp':>2} {'pp':>2} {'dp':>3} "
        f"{'rank':>8} {'here':>6} {'theirs':>6}  best here"
    )
    lines = [head, *(_line(place(name)) for name in names), ""]
    notes = [
        "rank: among the ways to deal the chips to tp, cp, pp and dp, each "
        "with its best ZeRO, SP, schedule and microbatches",
        "here: MFU of the best layout with that mesh, at perfect overlap; "
        "theirs: part of the peak as printed; Megatron's counts",
        "recomputed FLOPs as well, so that its MFU is about three quarters",
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
        f"tp {b.tp} cp {b.cp} pp {b.pp} dp {b.dp} {p.best.mfu:.1%}"
        if p.best.fits
        else "nothing fits"
    )
    return (
        f"{said.name:47} {said.tp:>2} {said.cp:>2} {said.pp:>2} {said.dp:>3} "
        f"{rank:>8} {here:>6} {said.reached:6.0%}  {best}"
        + (f"  ({why})" if why else "")
    )
