"""What is to be planned, what a layout is, and which layouts are legal."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from shardlab.arguments import one_of, real, whole
from shardlab.hw import Chip, flops_at
from shardlab.memory import RECIPES, Recipe
from shardlab.models import Model, a_model
from shardlab.plan.network import divisors, lies, network

__all__ = [
    "CONTEXTS",
    "OVERLAPS",
    "POLICIES",
    "SCHEDULES",
    "ZERO",
    "Arrangement",
    "Job",
    "a_job",
    "a_layout",
    "arrangements",
    "divisions",
    "why_not",
]

CONTEXTS = ("ring", "gather", "ulysses")
SCHEDULES = ("none", "gpipe", "1f1b", "interleaved", "zero-bubble", "dualpipe")
OVERLAPS = ("max", "tp-waits", "sum", "none")
# What a layer keeps for its backward pass, the most first.
POLICIES = ("none", "selective", "minimal", "alternate", "full")
PRECISIONS = ("bf16", "fp8", "int8")
MOST_TOKENS = 10**12  # more would take long to factor, and nobody has them
MOST_PODS = 10**6
ZERO = ("DP", "ZeRO-1", "ZeRO-2", "FSDP")


@dataclass(frozen=True, eq=False)
class Job:
    """A model to be trained, on what, and under which assumptions.

    model       Model
    chip        Chip
    topology    chips along each axis of a pod; for GPUs their number, in a
                tuple, or (GPUs of a node, nodes)
    batch       tokens of a step, in all pods
    sequence    tokens of a sequence, which the batch is cut into; None: a
                stream of tokens, cut anywhere, each of which attends to
                `model.context` others
    recipe      bytes per parameter: a name in memory.RECIPES, or a Recipe
    recompute   activations that are not kept but made again: "none";
                "selective", scores; "minimal", all but the outputs of matmuls
                with weights, as in MaxText; "alternate", every second of these
                matmuls as well, as in torchtitan; "full", all but the input;
                "any", whichever of them is fastest and fits. A simplified
                model keeps the outputs of its MLP's matmuls, and nothing is
                said
    precision   of matmuls with the weights of layers: "bf16", "fp8" or "int8";
                scores and head stay in bf16
    offload     True: what layers keep waits in the memory of the host
    fused       False: norms and rotary embeddings are not one kernel each, as
                in PyTorch without a compiler (expected time only)
    across      True: ZeRO shares out over all pods, and not inside each
    overlap     "max": all traffic runs beside arithmetic and beside other
                traffic; "tp-waits": so does all but that of TP, which stands
                alone; "sum": beside arithmetic, one mesh axis after the
                other; "none": everything one after the other
    efficiency  part of the peak that arithmetic reaches when nothing waits
    pods        such pods, data-parallel over the data-centre network
    causal      True: attention skips what its mask hides, half of all scores;
                an MFU counts them all, as papers do
    streams     True: what lies between matmuls takes time, that in which memory
                writes and reads what a layer keeps (`timing.stream_seconds`)
    flat        True: a gather over several nodes of GPUs runs on rings of all
                its GPUs, as NCCL's do; False: it sends the least between nodes
    """

    model: Model
    chip: Chip
    topology: tuple[int, ...]
    batch: int
    sequence: int | None = None
    recipe: str | Recipe = "mixed-precision"
    recompute: str | None = None
    overlap: str = "max"
    efficiency: float = 1.0
    pods: int = 1
    causal: bool = False
    streams: bool = False
    flat: bool = False
    precision: str = "bf16"
    offload: bool = False
    fused: bool = True
    across: bool = False
    network: object = field(init=False, repr=False)

    def __post_init__(self):
        a_model(self.model)
        net = network(
            self.chip, self.topology, self.model.simplified, self.flat
        )
        object.__setattr__(self, "network", net)
        if whole("batch", self.batch) > MOST_TOKENS:
            raise ValueError(
                f"batch must be at most {MOST_TOKENS:,} tokens, got "
                f"{self.batch:,}"
            )
        one_of("overlap", self.overlap, OVERLAPS)
        for name in ("causal", "streams", "offload", "across", "fused"):
            one_of(name, getattr(self, name), (True, False))
        if real("efficiency", self.efficiency, above=0) > 1:
            raise ValueError(
                f"efficiency must be at most 1, got {self.efficiency!r}"
            )
        if not isinstance(self.recipe, Recipe):
            one_of("recipe", self.recipe, RECIPES)
        flops_at(self.chip, one_of("precision", self.precision, PRECISIONS))
        if self.offload and self.chip.host_bw is None:
            raise ValueError(
                f"offload needs host_bw, which is not known of a "
                f"{self.chip.name}"
            )
        self._refuse_pods()
        self._settle_recompute()
        self._refuse_sequence()

    def _refuse_pods(self):
        if whole("pods", self.pods) > MOST_PODS:
            raise ValueError(
                f"pods must be at most {MOST_PODS:,}, got {self.pods}"
            )

    def _settle_recompute(self):
        allowed = [*POLICIES, "any"]
        if self.model.simplified:
            allowed = ["checkpoints"]
        if self.recompute is None:
            default = allowed[0] if self.model.simplified else "selective"
            object.__setattr__(self, "recompute", default)
        one_of("recompute", self.recompute, allowed)

    def _refuse_sequence(self):
        if self.sequence is None:
            return
        s = whole("sequence", self.sequence)
        if self.model.simplified:
            raise ValueError(
                "sequence must not be given for a simplified model, whose "
                f"tokens are all alike; got {s}"
            )
        if self.batch % s:
            raise ValueError(
                f"batch must be a multiple of sequence = {s:,} tokens, got "
                f"{self.batch:,}; {_neighbours(self.batch, s)}"
            )

    @cached_property
    def chips(self):
        """Chips of one pod."""
        return self.network.chips

    @cached_property
    def peak(self):
        """FLOP/s that arithmetic reaches on one chip."""
        return flops_at(self.chip) * self.efficiency

    @cached_property
    def faster(self):
        """FLOP/s of matmuls with weights over those of bf16."""
        return flops_at(self.chip, self.precision) / flops_at(self.chip)

    @cached_property
    def limit(self):
        """Bytes that a program can have on one chip."""
        return self.chip.usable * self.chip.hbm_bytes

    @cached_property
    def copies(self):
        """Pods that ZeRO shares out over, besides the replicas of each."""
        return self.pods if self.across else 1

    @cached_property
    def attended(self):
        """Tokens that each token attends to."""
        return self.sequence or self.model.context

    @cached_property
    def pieces(self):
        """What is dealt to replicas and microbatches: sequences, or tokens."""
        return self.batch // (self.sequence or 1)


def _neighbours(batch, s):
    below, above = batch // s * s, (batch // s + 1) * s
    return f"{below:,} and {above:,} are" if below else f"{above:,} is"


class Arrangement(NamedTuple):
    """How a job is dealt to the chips of one pod.

    dp            replicas of the model, among which the batch is dealt
    zero          what they share out: 0 nothing, 1 the optimiser's state, 2
                  gradients as well, 3 weights as well (FSDP)
    tp, sp        chips that cut each matmul; whether they cut the sequence
                  between matmuls as well (sequence parallelism)
    pp            stages of the pipeline
    schedule      a name in SCHEDULES; "none" without a pipeline
    chunks        chunks of layers that a stage of an interleaved one has
    microbatches  parts of a replica's batch, one after the other
    cp            chips that cut each sequence (context parallelism)
    ep            replicas, among dp, that share out the experts
    context       how chips of cp get keys and values: "ring", blocks pass by;
                  "gather", all of a layer are gathered; "ulysses", heads are
                  dealt out in place of tokens; "ring" if cp is 1
    lies          for each mesh axis, in the order of AXES, its chips along
                  each dimension of the network; (): not said yet
    """

    dp: int = 1
    zero: int = 0
    tp: int = 1
    sp: bool = False
    pp: int = 1
    schedule: str = "none"
    chunks: int = 1
    microbatches: int = 1
    cp: int = 1
    ep: int = 1
    context: str = "ring"
    lies: tuple = ()

    @property
    def degrees(self):
        """Chips of each mesh axis, in the order of AXES."""
        return self.tp, self.ep, self.cp, self.dp // self.ep, self.pp

    @property
    def shares(self):
        """Chips that the state of a dense weight is cut over by ZeRO."""
        return self.dp * self.cp


# ---- legal or not ------------------------------------------------------------


def a_job(job):
    """The argument `job`, if it is a Job.

    job      Job
    returns  Job
    raises   ValueError if it is not
    source   chapter 15
    """
    if not isinstance(job, Job):
        raise ValueError(f"job must be a plan.Job, got {job!r}")
    return job


def a_layout(layout):
    """The argument `layout`, if it is an Arrangement of numbers that can be.

    layout   Arrangement
    returns  Arrangement
    raises   ValueError that names the field and what was expected
    source   chapter 15
    """
    if not isinstance(layout, Arrangement):
        raise ValueError(f"layout must be a plan.Arrangement, got {layout!r}")
    for name in ("dp", "tp", "pp", "chunks", "microbatches", "cp", "ep"):
        if whole(name, getattr(layout, name)) > MOST_TOKENS:
            raise ValueError(
                f"{name} of a layout must be at most {MOST_TOKENS:,}, got "
                f"{getattr(layout, name)}"
            )
    one_of("zero", layout.zero, (0, 1, 2, 3))
    one_of("sp", layout.sp, (True, False))
    one_of("schedule", layout.schedule, SCHEDULES)
    one_of("context", layout.context, CONTEXTS)
    return layout


def why_not(job, layout):
    """Why a layout is not legal, in words; "" if it is.

    job      Job
    layout   Arrangement
    returns  text that begins with what does not divide: "heads: ..."
    raises   ValueError if a number of the layout is not whole, or below 1
    source   chapter 15
    """
    a_job(job), a_layout(layout)
    rules = (_chips, _shape, _stages, _batch, _context, _experts, _place)
    for rule in rules:
        if reason := rule(job, layout):
            return reason
    return ""


def _chips(job, layout):
    """The chips are all used, and what takes two has two."""
    count = layout.dp * layout.tp * layout.pp * layout.cp
    if count != job.chips:
        return f"chips: the layout has {count:,}, the pod {job.chips:,}"
    if layout.zero and layout.shares == 1:
        return f"chips: {ZERO[layout.zero]} needs two that share"
    if layout.sp and layout.tp == 1:
        return "chips: SP cuts what TP leaves whole, and tp is 1"
    others = layout.pp, layout.cp, layout.ep, layout.microbatches
    if job.model.simplified and (max(others) > 1 or layout.sp):
        return "chips: a simplified model knows DP, ZeRO and TP only"
    return ""


def _shape(job, layout):
    """TP divides heads and widths."""
    m, t = job.model, layout.tp
    if m.simplified:
        return ""
    if m.heads % t:
        return f"heads: {m.heads} do not divide by tp = {t}"
    if not m.latent and m.kv_heads % t and t % m.kv_heads:
        return f"heads: {m.kv_heads} key heads do not fit tp = {t}"
    for name in ("D", "F", "F_expert", "vocab"):
        if getattr(m, name) % t:
            return f"widths: {name} = {getattr(m, name)} over tp = {t}"
    return ""


def _stages(job, layout):
    """Layers divide by stages and chunks, and the schedule can be run."""
    p, v, kind = layout.pp, layout.chunks, layout.schedule
    places = job.model.L + job.model.ends
    if (kind == "none") != (p == 1):
        return f"stages: schedule {kind!r} with pp = {p}"
    if p > 1 and places % (p * v):
        return f"layers: {places} places over {p} stages x {v} chunks"
    return _unrunnable(layout)


def _unrunnable(layout):
    """The schedule can be run with so many stages, chunks, microbatches."""
    p, v, m = layout.pp, layout.chunks, layout.microbatches
    kind = layout.schedule
    if (kind == "interleaved") != (v > 1):
        return f"stages: schedule {kind!r} with {v} chunks"
    if kind == "interleaved" and m % p:
        return f"microbatches: {m} are no multiple of pp = {p}"
    if kind == "zero-bubble" and m < p:
        return f"microbatches: {m} are fewer than pp = {p}"
    if kind == "dualpipe" and (p % 2 or m % 2 or m < 2 * p):
        return f"microbatches: {m}, or stages: {p}, for a pipeline of two ends"
    return ""


def _batch(job, layout):
    """Whole sequences, or whole tokens of a stream, for each microbatch."""
    if job.model.simplified:
        return ""
    replicas = job.pods * layout.dp
    if job.pieces % (replicas * layout.microbatches):
        what = "sequences" if job.sequence else "tokens"
        return (
            f"batch: {job.pieces:,} {what} over {replicas:,} replicas x "
            f"{layout.microbatches} microbatches"
        )
    if layout.sp and job.attended // layout.cp % layout.tp:
        return f"sequence: {job.attended // layout.cp} over tp = {layout.tp}"
    return ""


def _context(job, layout):
    """Whole blocks of a sequence; whole heads where heads are dealt out."""
    cp, t, kind = layout.cp, layout.tp, layout.context
    if cp == 1:
        return "" if kind == "ring" else f"context: {kind!r} with cp = 1"
    if not job.sequence or job.sequence % cp:
        return f"sequence: {job.sequence} tokens over cp = {cp}"
    if kind != "ulysses":
        return ""
    m = job.model
    if m.heads % (t * cp):
        return f"heads: {m.heads} over tp x cp = {t * cp}"
    kv = m.heads if m.latent else m.kv_heads
    if kv % (t * cp) and t * cp % kv:
        return f"heads: {kv} key heads over tp x cp = {t * cp}"
    return ""


def _experts(job, layout):
    """Experts divide by ep, and ep divides the replicas."""
    e = layout.ep
    if e > 1 and (not job.model.experts or job.model.experts % e):
        return f"experts: {job.model.experts} over ep = {e}"
    if layout.dp % e:
        return f"experts: dp = {layout.dp} over ep = {e}"
    return ""


def _place(job, layout):
    """The mesh axes share out the dimensions of the network, and all of it."""
    if layout.lies == ():
        return "" if _some_place(job, layout) else "torus: too few axes"
    if layout.lies not in lies(job.network, layout.degrees):
        return f"torus: {layout.lies} is no place for {layout.degrees}"
    return ""


def _some_place(job, layout):
    used = sum(n > 1 for n in layout.degrees)
    return job.network.kind != "axes" or used <= len(job.network.sizes)


# ---- all of them -------------------------------------------------------------


def divisions(job):
    """Every legal (tp, pp, cp, dp, ep) of a job, and why others are not.

    job      Job
    returns  (list of tuples, dict: what does not divide -> how many); a pod is
             cut by the first three, dp is the rest, and ep divides dp
    raises   nothing that Job has not
    source   chapter 15
    """
    legal, refused = [], {}
    for tp, pp, cp, dp, ep in _cuts(job):
        kind = "none" if pp == 1 else "1f1b"
        layout = Arrangement(dp, 0, tp, False, pp, kind, cp=cp, ep=ep)
        if reason := why_not(job, layout):
            what = reason.split(":")[0]
            refused[what] = refused.get(what, 0) + 1
        else:
            legal.append((tp, pp, cp, dp, ep))
    return legal, refused


def _cuts(job):
    N, plain = job.chips, job.model.simplified
    for tp in divisors(N):
        for pp in divisors(N // tp) if not plain else (1,):
            for cp in divisors(N // tp // pp) if job.sequence else (1,):
                dp = N // tp // pp // cp
                experts = divisors(dp) if job.model.experts else (1,)
                for ep in experts:
                    yield tp, pp, cp, dp, ep


def arrangements(job, division):
    """Every layout of one division but for its place on the network.

    job       Job
    division  (tp, pp, cp, dp, ep), from `divisions`
    returns   generator of (ZeRO stages, list of Arrangement): the list, written
              with the first of these stages, holds for all of them, and is
              alike but for microbatches, chunks and context, in which a job
              may choose what is fastest; all contexts have the same runs
    source    chapter 15
    """
    tp, pp, cp, dp, ep = division
    shares = _contexts(job, tp, cp)
    stages = (0, 1, 2, 3) if dp * cp > 1 else (0,)
    sps = (False, True) if tp > 1 and not job.model.simplified else (False,)
    kinds = SCHEDULES[1:] if pp > 1 else SCHEDULES[:1]
    found = {kind: _runs(job, pp, dp, kind) for kind in kinds}
    for sp in sps:
        if _batch(job, Arrangement(dp, 0, tp, sp, pp, cp=cp, ep=ep)):
            continue
        for kind, runs in found.items():
            alike = [
                Arrangement(dp, 0, tp, sp, pp, kind, v, m, cp, ep, share)
                for share in shares
                for v, m in runs
            ]
            if alike:
                yield stages, alike


def _contexts(job, tp, cp):
    """Paces to share keys and values that may be the fastest.

    job      Job
    tp, cp   chips of these mesh axes
    returns  list of names in CONTEXTS; on a torus a gather takes as long as a
             ring and holds more, so that it is never listed there
    source   chapter 13
    """
    kinds = CONTEXTS if cp > 1 else CONTEXTS[:1]
    if job.network.kind != "switch":
        kinds = [kind for kind in kinds if kind != "gather"]
    trial = Arrangement(tp=tp, cp=cp)
    return [k for k in kinds if not _context(job, trial._replace(context=k))]


def _runs(job, pp, dp, kind):
    """(chunks, microbatches) with which a schedule can be run."""
    chunks = (1,)
    if kind == "interleaved":
        chunks = tuple(divisors((job.model.L + job.model.ends) // pp)[1:])
    return _that_run(tuple(_microbatches(job, dp)), chunks, pp, kind)


@lru_cache(maxsize=65536)
def _that_run(counts, chunks, pp, kind):
    found = []
    for m in counts:
        for v in chunks:
            trial = Arrangement(pp=pp, schedule=kind, chunks=v, microbatches=m)
            if not _unrunnable(trial):
                found.append((v, m))
    return found


def _microbatches(job, dp):
    """Counts that divide the sequences, or tokens, of a replica."""
    if job.model.simplified:
        return [1]
    return divisors(job.pieces // (job.pods * dp))
