"""What a search found, as a table for people and as JSON for programs."""

from fractions import Fraction
from math import prod
from re import fullmatch
from textwrap import fill

from shardlab import cost
from shardlab.arguments import one_of, whole
from shardlab.memory import bytes_per_param
from shardlab.models import active_params, params
from shardlab.plan.layouts import ZERO, Arrangement, a_job, a_layout, why_not
from shardlab.plan.network import AXES, divisors
from shardlab.plan.search import Result

__all__ = [
    "arrangement",
    "as_data",
    "assumptions",
    "count",
    "in_words",
    "table",
    "topology",
]

SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9}
SUFFIXES |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def count(name, text):
    """A number as people write it: "3M" is 3,000,000.

    name     of the argument, for the error
    text     digits, with a point if need be, and k, M, B (thousands) or Ki, Mi,
             Gi (powers of two) after them
    returns  int of at least 1
    raises   ValueError unless the text is such a number, and whole
    source   chapter 15
    """
    ending = "|".join(SUFFIXES)
    text = text if isinstance(text, str) else repr(text)
    said = fullmatch(rf"([0-9]{{1,18}}(?:\.[0-9]{{1,18}})?)({ending})", text)
    number = Fraction(said[1]) * SUFFIXES[said[2]] if said else Fraction(0)
    if number < 1 or number.denominator > 1:
        raise ValueError(
            f"{name} must be a whole number of at least 1, such as 3000000, "
            f"500k, 3M or 1.5B, got {text!r}"
        )
    return int(number)


def topology(text):
    """Chips along each axis, out of text: "16x16x16" is (16, 16, 16).

    text     whole numbers with x between them
    returns  tuple of ints
    raises   ValueError unless the text is such numbers
    source   chapter 15
    """
    if not isinstance(text, str) or not fullmatch(
        r"[0-9]{1,9}(x[0-9]{1,9}){0,3}", text
    ):
        raise ValueError(
            f"topology must be sizes with x between, such as 16x16x16, got "
            f"{text!r}"
        )
    return tuple(whole("topology", int(n)) for n in text.split("x"))


def arrangement(text, job):
    """Layouts that a text such as "tp=8,pp=16" means for a job.

    text     fields of Arrangement with their values, commas between; dp may be
             left out, and is what chips are left; schedule is 1f1b if pp is
             above 1; without microbatches all counts that divide
    job      Job
    returns  list of Arrangement, legal ones
    raises   ValueError that names the field, or says why none is legal
    source   chapter 15
    """
    a_job(job)
    if not isinstance(text, str):
        raise ValueError(f"text must be such as 'tp=8,pp=16', got {text!r}")
    said = dict(_field(part) for part in text.split(","))
    used = prod(said.get(name, 1) for name in ("tp", "pp", "cp"))
    said.setdefault("dp", max(job.chips // used, 1))
    if said.get("pp", 1) > 1:
        said.setdefault("schedule", "1f1b")
    one = a_layout(Arrangement(**said))
    counts = [one.microbatches]
    if "microbatches" not in said:
        counts = divisors(max(job.pieces // (job.pods * one.dp), 1))
    found = [one._replace(microbatches=m) for m in counts]
    legal = [layout for layout in found if not why_not(job, layout)]
    if not legal:
        raise ValueError(f"layout is not legal: {why_not(job, found[0])}")
    return legal


def _field(text):
    """One field of a layout and its value, out of "tp=8"."""
    name, _, value = text.strip().partition("=")
    kinds = Arrangement._field_defaults
    if name not in kinds or name == "lies":
        names = ", ".join(n for n in kinds if n != "lies")
        raise ValueError(f"layout must be of {names}, got {text.strip()!r}")
    if isinstance(kinds[name], str):
        return name, value
    if isinstance(kinds[name], bool):
        return name, one_of(name, value, ("yes", "no")) == "yes"
    if not fullmatch("[0-9]{1,9}", value):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    return name, int(value)


def in_words(layout):
    """A layout as people say it: "TP 8 × FSDP 128".

    layout   Arrangement
    returns  text. What ZeRO cuts over X and Z together stands with X; if there
             is no X, it is said of Z: "CP 32 × PP 32, ZeRO-1 on Z"
    raises   ValueError if layout is no Arrangement
    source   chapter 15
    """
    x = a_layout(layout)
    kind = ZERO[x.zero]
    axes = {"TP": x.tp, "CP": x.cp, "EP": x.ep, "PP": x.pp, kind: x.dp}
    said = " × ".join(f"{name} {n}" for name, n in axes.items() if n > 1)
    on_z = x.zero and x.dp == 1 and x.cp > 1
    return (said or "one chip") + (f", {kind} on Z" if on_z else "")


# ---- the table ---------------------------------------------------------------

HEAD = (
    f"{'rank':>4} {'dp':>5} {'shared':7} {'tp':>4} {'sp':3} {'pp':>3} "
    f"{'schedule':13} {'m':>5} {'cp':>3} {'context':8} {'ep':>3} "
    f"{'step s':>9} {'bound s':>9} {'MFU':>6} {'GB/chip':>8}  verdict"
)
_BULLET = {"initial_indent": "- ", "subsequent_indent": "  "}
SHARED = ("nothing", "ZeRO-1", "ZeRO-2", "FSDP")


def _line(rank, row):
    """One row of the table.

    rank     its place among those that fit, or ""
    row      Row
    returns  text of one line
    source   chapter 15
    """
    x = row.layout
    schedule = x.schedule + (f" v={x.chunks}" if x.chunks > 1 else "")
    context = x.context if x.cp > 1 else "-"
    time = f"{'-':>9} {'-':>9} {'-':>6}"
    if row.fits:
        step, mfu = _expected(row)
        time = f"{step:9.4g} {row.seconds:9.4g} {mfu:6.1%}"
    return (
        f"{rank:>4} {x.dp:>5} {SHARED[x.zero]:7} {x.tp:>4} "
        f"{'yes' if x.sp else 'no':3} {x.pp:>3} {schedule:13} "
        f"{x.microbatches:>5} {x.cp:>3} {context:8} {x.ep:>3} {time} "
        f"{row.bytes / 1e9:8.2f}  {row.verdict}"
    )


def _expected(row):
    """Seconds and MFU to expect; of a simplified model those of the bound."""
    if row.job.model.simplified:
        return row.seconds, row.mfu
    step = row.expected.step
    return step, row.mfu * row.seconds / step


def _ordered(result):
    """Rows that fit, the first by expected time; if simplified, by bound."""
    return result.fitting if result.job.model.simplified else result.likely


def table(result, rows=20):
    """A search as text: what was asked, the best layouts, the assumptions.

    result   Result
    rows     how many layouts to show at most
    returns  text of several lines
    raises   ValueError unless rows is a whole number of at least 1
    source   chapter 15
    """
    rows, fitting = whole("rows", rows), _ordered(_a_result(result))
    lines = [*_job_lines(result.job), "", HEAD]
    lines += [_line(k, row) for k, row in enumerate(fitting[:rows], 1)]
    heavy = result.rows[len(fitting) :]
    if heavy:
        lines += ["", "These need most nearly what a chip has, and do not fit:"]
        lines += [_line("", row) for row in heavy[:3]]
    lines += ["", *map(_best_place, fitting[:1])]
    if fitting and not result.job.model.simplified:
        lines += _said_of_error(fitting)
    lines += [*_found(result), "", "Assumed:"]
    lines += [fill(text, 98, **_BULLET) for text in assumptions(result.job)]
    return "\n".join(lines)


def _said_of_error(fitting):
    """What the expected time of the first row is worth, as lines.

    fitting  list of PlanRow, in order
    returns  list of lines
    source   chapter 16
    """
    low, high = fitting[0].band
    near = sum(row.expected.step <= high for row in fitting)
    parts = fitting[0].expected
    said = ", ".join(
        f"{name} {seconds:.3g}"
        for name, seconds in parts.parts.items()
        if seconds > 0.005 * parts.step
    )
    return [
        f"Its step: {said} seconds",
        "step s is expected: of runs that were left out of the fit, nine in "
        f"ten would lie between {low:.4g} and {high:.4g} s, as {near:,} of "
        "these layouts do; bound s hides all traffic behind arithmetic at peak",
    ]


def _best_place(row):
    """Where the mesh axes of a layout lie, and what its bytes are.

    row      Row that fits
    returns  a line
    source   chapter 15
    """
    held = ", ".join(f"{k} {n / 1e9:.2f} GB" for k, n in row.memory.items())
    on = zip(AXES, row.layout.degrees, row.layout.lies, strict=True)
    where = [_along(*axis, row.kind) for axis in on if axis[1] > 1]
    return f"The first: {', '.join(where) or 'one chip'}; {held}"


def _along(name, chips, along, kind):
    """An axis in words: "dp 64 as 1x8x8", or how many whole axes it has."""
    if kind == "axes":
        return f"{name} {chips} on {sum(n > 1 for n in along)} axes"
    return f"{name} {chips} as {'x'.join(map(str, along))}"


def _job_lines(job):
    """What a job asks, as lines, and the least time that it can take.

    job      Job
    returns  list of lines
    source   scaling-book part 5, question 3
    """
    P, chips = params(job.model), job.chips * job.pods
    flops = cost.training_flops(active_params(job.model), job.batch)
    peak, usual = (
        cost.t_train(flops, chips, job.chip, mfu, job.precision)
        for mfu in (1, 0.4)
    )
    active = "active " if job.model.experts else ""
    place = "x".join(map(str, job.topology))
    pods = f"{job.pods} x " if job.pods > 1 else ""
    cut = f"sequences of {job.sequence:,}" if job.sequence else "a stream"
    return [
        f"{job.model.name}, {P:,} parameters, on {pods}{job.chips:,} "
        f"{job.chip.name} ({place}), {job.batch:,} tokens a step as {cut}",
        f"6 x {active}parameters x tokens take {peak:.4g} s at the peak of all "
        f"chips, {usual:.4g} s at 40% of it",
    ]


def _found(result):
    """What a search went through, as lines.

    result   Result
    returns  list of lines
    source   chapter 15
    """
    fitting = len(result.fitting)
    lines = [
        f"{len(result.rows):,} layouts are legal, {fitting:,} fit; of "
        f"{result.divisions:,} ways to deal the chips, "
        f"{sum(result.refused.values()):,} are not legal"
        + "".join(f", {n:,} by {what}" for what, n in result.refused.items())
    ]
    if "batch" in result.refused:
        lines.append(_dividing(result.job))
    return lines


def _dividing(job):
    """The batches next to a job's that every count of replicas divides.

    job      Job
    returns  a line
    source   chapter 15
    """
    each = job.chips * job.pods * (job.sequence or 1)
    below, above = job.batch // each * each, (job.batch // each + 1) * each
    both = f"{below:,} or {above:,}" if below else f"{above:,}"
    return f"All counts of replicas divide a batch of {both} tokens"


def _a_result(result):
    """The argument `result`, if it is one of a search.

    result   Result
    returns  Result
    raises   ValueError if it is not
    source   chapter 15
    """
    if not isinstance(result, Result):
        raise ValueError(f"result must be that of plan.search, got {result!r}")
    return result


# ---- the assumptions ---------------------------------------------------------

_OVERLAP = {
    "max": "all traffic runs beside arithmetic and beside other traffic; mesh "
    "axes that share a dimension take turns on it",
    "tp-waits": "all traffic but that of TP runs beside arithmetic and beside "
    "other traffic; arithmetic waits for TP",
    "sum": "traffic runs beside arithmetic, one mesh axis after the other",
    "none": "arithmetic and traffic take turns: nothing overlaps",
}
_RECOMPUTE = {
    "none": "all activations are kept",
    "selective": "scores of attention are made again, all else is kept",
    "minimal": "outputs of matmuls with weights are kept, all else made again",
    "alternate": "outputs of every second matmul with weights are kept",
    "any": "whichever is fastest and fits",
    "full": "of each layer only the input is kept",
    "checkpoints": "the outputs of the MLP's matmuls are kept, in bf16",
}


def assumptions(job):
    """What a plan assumes, as lines.

    job      Job
    returns  list of lines
    raises   ValueError if job is no Job
    source   chapter 15
    """
    a_job(job)
    recipe = job.recipe if isinstance(job.recipe, str) else "the job's own"
    lines = [
        f"overlap {job.overlap}: {_OVERLAP[job.overlap]}; ZeRO-1 and -2 gather "
        "new weights when all else is done",
        f"efficiency {job.efficiency:g}: arithmetic at that part of the "
        f"{job.precision} peak, scores and head in bf16; MFU is the arithmetic "
        "a model needs, at peak, over the step",
        f"memory: recipe {recipe}, {bytes_per_param(job.recipe):g} bytes per "
        f"parameter; recompute {job.recompute}: {_RECOMPUTE[job.recompute]}",
        *(_simple() if job.model.simplified else _real(job)),
        *_rings(job),
        f"shape of the model: {job.model.source}",
        *_chip_sources(job.chip),
    ]
    return lines


def _simple():
    return [
        "simplified: two matmuls a layer, no gate, no attention; nothing has "
        "to divide; whole axes for each mesh axis, rings of many chips; "
        "hops take no time",
        "memory is that of the real model: all its parameters, and three "
        "outputs a layer where it is gated",
    ]


def _real(job):
    masked = (
        "half of them masked and skipped" if job.causal else ("masked ones too")
    )
    attended = f"each token attends to {job.attended:,}, {masked}"
    dealt = "sequences" if job.sequence else "tokens, not cut into sequences"
    return [
        f"{attended}; the batch is dealt as whole {dealt}",
        *_kept(job),
        "network: rings where the hardware closes them, lines elsewhere, half "
        "as fast; weights move layer by layer, and every collective also takes "
        f"{job.chip.hop_latency:g} s for each hop of its longest way, outside "
        "of a pod as inside",
        "gradients are summed after the last microbatch (ZeRO-2, FSDP: after "
        "each); weights are read from memory once a pass",
        "zero-bubble and dualpipe can put off half of a backward pass",
        "experts are all equally busy; context parallelism is a ring, a gather "
        "or Ulysses, whichever is fastest",
    ]


def _rings(job):
    if not job.flat or job.network.kind != "switch":
        return []
    return ["gathers over several nodes: rings of all their GPUs"]


def _kept(job):
    layer = "with dropout" if job.model.dropout else "without dropout"
    mlp = "a gated MLP" if job.model.gated else "an MLP without gate"
    return [
        f"activations: the model's own layer, {layer}, {mlp}, "
        f"{job.model.kv_heads} key heads; logits and their gradient in float32 "
        "and in bf16, 12 bytes each, sharded by TP",
    ]


def _chip_sources(chip):
    """Where the figures of a chip that a plan uses were read, as lines.

    chip     Chip
    returns  list of lines
    source   module `hw`
    """
    named = ("flops", "hbm_bytes", "hbm_bw", "link_bw", "dcn_bw")
    places = {
        f"{s.document}, {s.date}" for s in map(chip.sources.get, named) if s
    }
    return [f"figures of {chip.name}: {place}" for place in sorted(places)]


# ---- JSON --------------------------------------------------------------------


def as_data(result, rows=None):
    """A search as plain data, ready for JSON.

    result   Result
    rows     how many layouts at most; None: all
    returns  dict: job, search, rows, assumptions; bytes and seconds
    raises   ValueError unless rows is a whole number of at least 1
    source   chapter 15
    """
    _a_result(result)
    rest = result.rows[len(result.fitting) :]
    shown = [*_ordered(result), *rest]
    if rows is not None:
        shown = shown[: whole("rows", rows)]
    return {
        "job": _job_data(result.job),
        "search": {
            "layouts": len(result.rows),
            "fit": len(result.fitting),
            "divisions": result.divisions,
            "refused": result.refused,
            "timed": result.timed,
        },
        "rows": [_row_data(row) for row in shown],
        "assumptions": assumptions(result.job),
    }


def _job_data(job):
    named = ("batch", "sequence", "recompute", "overlap", "efficiency", "pods")
    named += ("precision", "offload", "across", "fused")
    return {
        "model": job.model.name,
        "parameters": params(job.model),
        "chip": job.chip.name,
        "topology": list(job.topology),
        "chips": job.chips * job.pods,
        "recipe": job.recipe if isinstance(job.recipe, str) else None,
        "bytes_per_parameter": bytes_per_param(job.recipe),
        **{name: getattr(job, name) for name in named},
    }


def _expected_data(row):
    """Expected seconds of a layout with their band and parts; None each if it
    does not fit, or if its model is simplified."""
    names = "expected_seconds", "expected_band", "expected_parts"
    if not row.fits or row.job.model.simplified:
        return dict.fromkeys(names)
    step, parts = row.expected
    return dict(zip(names, (step, list(row.band), parts), strict=True))


def _row_data(row):
    """One layout as plain data.

    row      Row
    returns  dict; seconds, mfu, ratio, bubble and bound are None if it does not
             fit, ratio if there is no traffic
    source   chapter 15
    """
    x = row.layout
    ratio = None if row.ratio in (None, float("inf")) else row.ratio
    return {
        **{k: getattr(x, k) for k in x._fields if k != "lies"},
        "lies": {k: list(on) for k, on in zip(AXES, x.lies, strict=False)},
        **_expected_data(row),
        "seconds": row.seconds,
        "mfu": row.mfu,
        "ratio": ratio,
        "bubble": row.bubble,
        "bound": row.bound,
        "recompute": row.job.recompute,
        "bytes": row.bytes,
        "peak_bytes": row.peak,
        "memory": row.memory,
        "hbm_bytes": row.hbm,
        "verdict": row.verdict,
    }
