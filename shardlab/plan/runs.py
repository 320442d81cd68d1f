"""Runs whose layout and speed were published, for the planner to guess."""

from dataclasses import dataclass, replace
from functools import cache

from shardlab.arguments import one_of
from shardlab.hw import chip
from shardlab.models import forward_flops, model
from shardlab.plan.layouts import Arrangement, Job
from shardlab.plan.published import PUBLISHED, mesh_of
from shardlab.plan.search import evaluate, search

__all__ = [
    "KERNELS",
    "PAPER",
    "RUNS",
    "SECOND",
    "Run",
    "forecast",
    "guesses",
    "job_megatron",
    "job_run",
    "model_flops",
    "standing",
]

# Part of the bf16 peak that the best product of matrices reaches on one GPU:
# S. Bekman, Machine Learning Engineering, "Maximum Achievable Matmul FLOPS",
# read 2026-11-22. None was found for a TPU, so that there nothing is taken off.
KERNELS = {"a100": 0.869, "h100": 0.803, "h800": 0.803, "a3-mega": 0.803}

PAPER = "read in the paper"
SECOND = "read in a copy of its figures"


@dataclass(frozen=True)
class Run:
    """A training run as it was published, and what has to be assumed of it.

    name      as a label
    model, chip  names
    topology  chips of a pod, as in Job; `pods` of them
    batch, sequence  tokens of a step, of a sequence
    recompute  as in Job
    layout    Arrangement, without its place
    seconds   of a step, as printed or as its printed figure comes to
    printed   that figure, in words
    assumed   what the paper does not say
    certain   where it was read: PAPER or SECOND
    source    document, date
    link      its address
    causal    as in Job
    """

    name: str
    model: str
    chip: str
    topology: tuple
    batch: int
    sequence: int
    recompute: str
    layout: Arrangement
    seconds: float
    printed: str
    assumed: str
    certain: str
    source: str
    link: str
    pods: int = 1
    causal: bool = True

    @property
    def chips(self):
        """Chips of all pods."""
        count = self.pods
        for n in self.topology:
            count *= n
        return count


def job_run(run, overlap="none", efficiency=None, streams=True):
    """The job of a published run, with as much of reality as can be counted.

    run         Run
    overlap     as in Job
    efficiency  part of the peak; None: KERNELS
    streams     as in Job
    returns     Job
    source      chapter 16
    """
    if efficiency is None:
        efficiency = KERNELS.get(run.chip, 1.0)
    return Job(
        model(run.model),
        chip(run.chip),
        run.topology,
        run.batch,
        sequence=run.sequence,
        recompute=run.recompute,
        overlap=overlap,
        efficiency=efficiency,
        pods=run.pods,
        causal=run.causal and streams,
        streams=streams,
    )


def job_megatron(model, chips, sequences, recompute="full"):
    """A job on A100s as Megatron's authors ran theirs, with nothing hidden.

    model      Model
    chips      A100s
    sequences  of a step, of 2,048 tokens
    recompute  as in Job
    returns    Job
    source     chapter 16; Megatron-LM paper
    """
    return Job(
        *(model, chip("a100"), (chips,), 2048 * sequences, 2048),
        recompute=recompute,
        overlap="none",
        efficiency=KERNELS["a100"],
        streams=True,
    )


def forecast(name, overlap="none", roomy=False):
    """What the planner says of a published run.

    name     a key of RUNS
    overlap  as in Job; "none" hides nothing, "max" hides all that can be
    roomy    True: the layout is timed even if it does not fit
    returns  Row
    raises   ValueError that lists the names, if it is none of them
    source   chapter 16
    """
    run = RUNS[one_of("name", name, RUNS)]
    job = job_run(run, overlap)
    if roomy:
        job = replace(job, chip=replace(job.chip, hbm_bytes=1e15))
    return evaluate(job, run.layout)


_CLASSIC = ("none", "1f1b", "interleaved")


def guesses(name):
    """Every way to deal the chips of a run, with the tools of its authors.

    These are ZeRO if they had it, sequence and context parallelism if they had
    them, and 1F1B, interleaved or not, besides the schedule that they took.

    name     a key of RUNS
    returns  list of Row that fit, the fastest of each mesh, best first
    raises   ValueError that lists the names, if it is none of them
    source   chapter 16
    """
    return list(_guesses(one_of("name", name, RUNS)))


@cache
def _guesses(name):
    run, best = RUNS[name], {}
    for row in search(job_run(run), _tools(run)).fitting:
        best.setdefault(row.layout.degrees, row)
    return tuple(best.values())


def _tools(run):
    mine = run.layout

    def allowed(x):
        return (
            (x.zero > 0) == (mine.zero > 0)
            and (not x.sp or mine.sp)
            and (x.cp == 1 or mine.cp > 1)
            and (x.schedule in (*_CLASSIC, mine.schedule))
        )

    return allowed


def standing(name):
    """Where the mesh that was published stands among the guesses.

    name     a key of RUNS
    returns  (its place from 1, or None if it does not fit, how many fit)
    raises   ValueError that lists the names, if it is none of them
    source   chapter 16
    """
    meshes = [row.layout.degrees for row in guesses(name)]
    mine = RUNS[name].layout.degrees
    place = meshes.index(mine) + 1 if mine in meshes else None
    return place, len(meshes)


# ---- the runs ----------------------------------------------------------------

# Sequences of a microbatch and chunks of layers, from run_table_1.sh.
_MEGATRON = {
    "1.7b": (16, 1),
    "3.6b": (16, 1),
    "7.5b": (16, 1),
    "18b": (8, 1),
    "39b": (4, 1),
    "76b": (2, 3),
    "145b": (2, 2),
    "310b": (1, 2),
    "530b": (1, 3),
    "1t": (1, 1),
}
_SC21 = "https://arxiv.org/abs/2104.04473"
_LLAMA = "https://arxiv.org/abs/2407.21783"


def _pipelined(said, microbatches, chunks, zero=0, sp=False):
    kinds = {(True, True): "none", (False, True): "1f1b"}
    kind = kinds.get((said.pp == 1, chunks == 1), "interleaved")
    how = {"zero": zero, "sp": sp, "schedule": kind, "chunks": chunks}
    how |= {"context": "gather"} if said.cp > 1 else {}
    if said.model.startswith("llama"):
        dp = said.chips // (said.tp * said.cp * said.pp)
        how["lies"] = (8, 1), (1, 1), (1, said.cp), (1, dp), (1, said.pp)
    return mesh_of(said)._replace(microbatches=microbatches, **how)


def model_flops(name, sequence, recompute="none"):
    """FLOPs of one token forward and backward, as the papers count them.

    name       of a model
    sequence   tokens that it attends to, masked ones too
    recompute  "full": the layers a second time forward; else nothing
    returns    FLOPs
    source     PaLM paper, appendix B; Megatron-LM paper, appendix
    """
    flops = forward_flops(model(name), sequence)
    again = flops["matmuls"] + flops["scores"] if recompute == "full" else 0
    return 3 * sum(flops.values()) + again


def _step(said):
    """Seconds of a step, from the part of the peak that was printed."""
    kind = "full" if said.counts == "all" else "none"
    flops = model_flops(said.model, said.sequence, kind) * said.batch
    return flops / (said.chips * chip(said.chip).flops * said.reached)


def _megatron(size):
    (said,) = [p for p in PUBLISHED.values() if p.model == f"megatron-{size}"]
    each, chunks = _MEGATRON[size]
    microbatches = said.batch // said.sequence // said.dp // each
    return Run(
        f"Megatron {size.upper()}",
        *(said.model, "a100", (said.chips,), said.batch, said.sequence),
        *("full", _pipelined(said, microbatches, chunks), _step(said)),
        f"{said.reached:.0%} of peak, recomputed FLOPs counted",
        *("nothing", PAPER, said.source, _SC21),
        causal=False,
    )


def _llama(name, label, microbatches, chunks):
    # Gradients are scattered once a step, as under ZeRO-1, however many
    # microbatches it has: Chu et al., ISCA 2025, section 3.1.3, 2025-06-21.
    said = PUBLISHED[name]
    return Run(
        label,
        *(said.model, "h100", (said.chips,), said.batch, said.sequence),
        "selective",
        _pipelined(said, microbatches, chunks, zero=1, sp=True),
        _step(said),
        f"MFU {said.reached:.0%}, all scores taken as counted",
        f"{chunks} chunks of layers on a GPU",
        *(PAPER, said.source, _LLAMA),
    )


def _per_gpu_hour(hours, batch, chips):
    """Seconds of a step, from GPU hours for a trillion tokens."""
    return hours * 3600 / 1e12 * batch / chips


_KNOWN = {f"megatron-{size}": _megatron(size) for size in _MEGATRON}
_KNOWN |= {
    "llama-3-405b, 8k": _llama(
        "llama-3-405b on 8,192, sequences of 8,192", "Llama 3 on 8,192", 32, 8
    ),
    "llama-3-405b, 16k": _llama(
        "llama-3-405b on 16,384, sequences of 8,192",
        *("Llama 3 on 16,384", 16, 8),
    ),
    "llama-3-405b, long": _llama(
        "llama-3-405b on 16,384, sequences of 131,072",
        *("Llama 3, 131,072 tokens", 16, 8),
    ),
    "olmo-2-32b": Run(
        *("OLMo 2 32B", "olmo-2-32b", "a3-mega", (1024,), 2048 * 4096, 4096),
        *("full", Arrangement(dp=1024, zero=3)),
        2048 * 4096 / (1024 * 1800),
        "over 1,800 tokens/s a GPU, about 38% MFU",
        "1,024 of 1,280 GPUs, weights cut over all of them",
        *(PAPER, "Ai2, OLMo 2 32B, 2025-03-13"),
        "https://allenai.org/blog/olmo2-32B",
    ),
    "deepseek-67b": Run(
        *("DeepSeek LLM 67B", "deepseek-67b", "h800", (768,), 4608 * 4096),
        *(4096, "selective"),
        Arrangement(
            *(24, 1, 8, True, 4, "1f1b"),
            microbatches=192,
        ),
        _per_gpu_hour(300.6e3, 4608 * 4096, 768),
        "300.6 thousand H800 hours for a trillion tokens",
        "768 GPUs, TP 8, PP 4",
        *(PAPER, "DeepSeek-V2 report, section 3.2.3, 2024-05-07"),
        "https://arxiv.org/abs/2405.04434",
    ),
    "deepseek-v2": Run(
        *("DeepSeek-V2", "deepseek-v2", "h800", (1024,), 9216 * 4096, 4096),
        "full",
        Arrangement(
            dp=64, zero=1, pp=16, schedule="zero-bubble", microbatches=144, ep=8
        ),
        _per_gpu_hour(172.8e3, 9216 * 4096, 1024),
        "172.8 thousand H800 hours for a trillion tokens",
        "1,024 GPUs; all layers made again, where the report says a portion",
        *(PAPER, "DeepSeek-V2 report, sections 3.1.3 and 3.2.3, 2024-05-07"),
        "https://arxiv.org/abs/2405.04434",
    ),
    "deepseek-v3": Run(
        *("DeepSeek-V3", "deepseek-v3", "h800", (2048,), 15_360 * 4096, 4096),
        "selective",
        Arrangement(
            dp=128, zero=1, pp=16, schedule="dualpipe", microbatches=120, ep=64
        ),
        _per_gpu_hour(180e3, 15_360 * 4096, 2048),
        "180 thousand H800 hours for a trillion tokens",
        "microbatches of one sequence",
        *(PAPER, "DeepSeek-V3 report, sections 1 and 3.2, 2024-12-27"),
        "https://arxiv.org/abs/2412.19437",
    ),
    "palm-540b": Run(
        *("PaLM 540B", "palm-540b", "v4p", (12, 16, 16), 2048 * 2048, 2048),
        *("full", Arrangement(dp=256, zero=3, tp=12)),
        2048 * 2048 / 238.3e3,
        "238.3 thousand tokens/s",
        "a torus of 12 x 16 x 16 chips in each pod",
        *(PAPER, "PaLM paper, section 4, 2022-04-05"),
        "https://arxiv.org/abs/2204.02311",
        pods=2,
        causal=False,
    ),
}
RUNS = _KNOWN
