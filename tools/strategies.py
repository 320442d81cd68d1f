"""Writes book/strategies.md: every strategy, run and counted and weighed."""

import os
import re
import sys
from pathlib import Path

from tools import atomic, meaning
from tools.text import ROOT

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if __name__ == "__main__":  # whatever the caller had set for itself
    os.environ["JAX_NUM_CPU_DEVICES"] = "16"

import jax  # noqa: E402

from shardlab import agreement, cost, count, evidence, memory, plan  # noqa: E402
from shardlab.transformer import KEPT, STRATEGIES, training  # noqa: E402
from shardlab.transformer import evidence as transformer  # noqa: E402

TARGET = ROOT / "book/strategies.md"
# What the page depends on; a change elsewhere does not run it again.
WAYS = {"forward": "→", "backward": "←", "update": "↻"}
MARK = re.compile(r"^% made from ([0-9a-f]+)$", re.MULTILINE)
DIGITS = 5  # a deviation below 1e-5: what float32 promises after such sums

HEAD = """# Every strategy on one page

Every strategy of the book runs here once more, and three questions are put to
each. *Is it right?* It runs in float32 on simulated devices and on one, with
the same numbers; loss, gradients and the weights after one step of Adam are
compared. *What does it move?* The collectives of the same program are counted
as it is traced in bf16. *What does it hold?* The bytes of the real arrays on
each device are added up, weights and gradients in bf16, the optimiser's states
in float32. `make notebooks` runs all of it again.

→ is the forward pass, ← the backward pass, ↻ the optimiser's update. AG is an
AllGather, RS a ReduceScatter, AR an AllReduce, A2A an AllToAll and CP a
permute; the subscript is the mesh axis. A number is the volume in bytes: of AG
and RS the whole array, of AR twice that, of A2A a quarter. The column "÷
formula" divides the count by `shardlab.cost`, which has never seen a program.
"Equal" is exactly so, bit by bit, or to 5 digits: no number differs by more
than 0.001 % of the largest one in its array.
"""

BLOCK = """## The two-matmul block

In[B, D]·W_in[D, F]·W_out[F, D] with {sizes}, small whole numbers, so that
float32 makes no error and equal means equal. A line in brackets is the same
strategy with another choice of what is kept between the passes. The gradients
are those that the optimiser is given.
"""

BLOCK_SEEN = """All strategies give the same numbers. What moves over X is
weights and their gradients, what moves over Y is activations and theirs.
ZeRO-1 and ZeRO-2 hold an eighth of the states and move {zero1:,} bytes, as
much as data parallelism does. FSDP moves {fsdp:,}, one and a
half times that, and holds an eighth of everything. The pair of collectives of
tensor parallelism and Megatron's one AllReduce are the same bytes in two
forms.
"""

LAYERS = """## Other axes: sequence, context, experts

Layers that Z or Y cuts in another way, with B = {B}, D = {D}, F = {F}, on eight
devices each. *Sequence* and *heads* are tensor parallelism with the norm and
with attention, as in chapter 8. Under *context* parallelism the devices share
the tokens of one sequence, and attention, which lets every token look at every
other, has to bring keys and values together. Under *expert* parallelism each
device has the weights of a few experts, tokens travel to theirs and back, and
every expert has room for a fixed number of them, its *slots*.
"""

LAYERS_SEEN = """The ring and the gather of context parallelism bring every key
to every device, and the gradients back; Ulysses turns tokens into heads instead
and moves half as much here as the gather. Twice the slots of an expert are
twice the bytes over the two AllToAlls: slots travel full or empty.
"""

STAGES = """## Pipelines

The block as a stage: {p} stages, {m} microbatches, each schedule executed event
by event on real arrays. The bytes are those over one boundary of two stages. A
stage of the interleaved schedule has two blocks, of the others one.
"""

STAGES_SEEN = """One schedule differs from another in *when*, and so in bubble
and memory; neither the numbers nor the bytes over a boundary change, but for
the interleaved one, which crosses each boundary once for every chunk.
"""

TRANSFORMER = """## The tiny Transformer

Embedding, {L} layers of norm, causal attention and gated MLP, a last norm,
logits and the cross-entropy over all tokens; {params:,} parameters, {tokens}
tokens in sequences of {T}. The gradients are those that lie on a device when
its backward pass ends.
"""

TRANSFORMER_SEEN = """A whole model changes little. ZeRO-1 holds all gradients
until the backward pass is over, ZeRO-2 never does, and both move the same. FSDP
gathers each layer twice but both ends once: the head is still there when the
backward pass begins with it, and the gradient of an embedding does not need
it. That is {ratio:.3f} times the bytes of data parallelism instead of 1.5.
Under tensor parallelism embedding and head together cost what one more block
does, and the loss, on logits that nobody gathers, three AllReduces of one
number a token. Only the gains of the norms are held by every device of Y.
"""

ALIVE = """What is held between the passes is not all. The largest sums of
bytes that are alive at one moment of both passes, found by a walk through the
exported program:
"""

ALIVE_SEEN = """{layer:,} bytes are the weights of one layer: FSDP never has
more than one of them gathered. With its weights kept it has all, and the one at
work. ZeRO-2 scatters each layer's gradient inside the backward pass, and holds
{less:,} bytes less at the worst moment than ZeRO-1, which waits.
"""

STAGED = """As a pipeline, with the layers dealt to {p} stages, the embedding
before the first and the head in the loss of the last. Both ends lie on every
chip here, beside the layers of its own stage:
"""

PRODUCTS = """## Products of strategies

Meshes of up to sixteen devices, on which each axis has a strategy of its own: S
a pipeline (GPipe), X data parallelism, Z context parallelism, Y tensor
parallelism, with sequence parallelism but in the line *TP*; ZeRO cuts over X
and Z together. The tiny Transformer has {L} layers here, and {tokens} tokens in
sequences of {T}. Bytes are those of both passes, in float32, of the very
program that ran, over each group of axes; over S, those that cross one boundary
of two stages. ZeRO-1's gather of new weights belongs to the update and is not
counted here.
"""

PRODUCTS_SEEN = """All {n} equal one device, and each axis moves what it would
move alone, on the part of the work that the others leave it. One detail: beside
FSDP, Y moves {less:,} bytes less than beside data parallelism, since the
gradients of the norms are cut before they are summed over Y. FSDP does not
stand beside stages: it would gather a stage's weights anew for every
microbatch.
"""

LARGE = """## The same programs at full size

Nothing in these programs knows how many devices there are. Here they are traced
for {model} with {tokens:,} tokens, on a mesh without devices: what a training
step moves, and what a chip holds of weights, gradients and state. Activations
are not in it.
"""

LARGE_SEEN = """The {chips:,} chips of the last line hold {share:.2f} GB each
where data parallelism holds {whole:.0f} GB, more than a B200 has
has. Every count equals its formula here as well, to the byte.
"""
SHORT = {
    "all_gather": "AG",
    "reduce_scatter": "RS",
    "all_reduce": "AR",
    "all_to_all": "A2A",
    "permute": "CP",
}
SIZES = {
    "none": (1, 1),
    "megatron": (1, 8),
    "sequence": (1, 8),
    "fsdp_tp": (512, 8),
}
MODEL, TOKENS = "llama-2-13b", 2**22


# ---- cells -------------------------------------------------------------------


def equal(seen):
    """How closely a strategy agrees with one device, in words."""
    found = [seen.loss, seen.gradients, seen.step or 0]
    if max(found) >= 10**-DIGITS:
        raise ValueError(f"{seen.name} differs from one device: {found}")
    return "exactly" if max(found) == 0 else f"{DIGITS}&nbsp;digits"


def ratio(rows):
    """Counted over formula of all parts together, which must be 1."""
    wrong = [row for row in rows if row.ratio != 1]
    if wrong:
        raise ValueError(f"count and formula differ: {wrong}")
    return "1.000"


def moved(seen):
    """What moves: part, kind of collective and axis, and bytes."""
    if seen.name in evidence.SCHEDULES:  # over one boundary, not over all
        return [
            moving(row.part, "permute", "Z", row.counted) for row in seen.rows
        ]
    lines = []
    for part, records in zip(agreement.PARTS, seen.moved, strict=True):
        volumes = {}
        for c in records:
            key = part, c.kind, "".join(c.axes)
            volumes[key] = volumes.get(key, 0) + c.volume * c.times
        lines += [moving(*key, V) for key, V in volumes.items()]
    return lines


def moving(part, kind, axes, V):
    """One line of what moves."""
    return f"{WAYS[part]}&nbsp;{SHORT[kind]}<sub>{axes}</sub>&nbsp;{V:,.0f}"


def chips(**sizes):
    """The devices of each axis, {axis: n}, but for those that are alone."""
    used = [f"{axis}&nbsp;=&nbsp;{n}" for axis, n in sizes.items() if n > 1]
    return f"*{', '.join(used) or 'one chip'}*"


def held(seen):
    """Bytes on each device; they must be those promised."""
    if seen.held != seen.promised:
        raise ValueError(f"{seen.name} holds {seen.held}, not {seen.promised}")
    return [f"{what}&nbsp;{n:,}" for what, n in seen.held.items()]


def line(cells):
    """A line of a table; a cell is a text, or a list of lines."""
    joined = [c if isinstance(c, str) else "<br>".join(c) or "–" for c in cells]
    return f"| {' | '.join(joined)} |"


def row(seen):
    """The line of one strategy."""
    cells = [[name(seen.name), chips(**seen.chips)], equal(seen)]
    cells += [moved(seen), ratio(seen.rows)]
    return line([*cells, held(seen)] if seen.held else cells)


def table(found):
    """A table of Evidence, with what is held where something is."""
    columns = ["strategy", "equal", "moves", "÷ formula"]
    columns += ["held"] if found[0].held else []
    return "\n".join([*headed(columns), *map(row, found)])


def headed(columns):
    """The first two lines of a table."""
    return [line(columns), line(["---"] * len(columns))]


def name(of):
    """The name of a strategy, what it keeps in brackets."""
    first, _, rest = of.partition(", ")
    return f"{first} ({rest})" if rest else first


# ---- sections ----------------------------------------------------------------


def block_section():
    """The two-matmul block under every strategy."""
    found = [evidence.of_block(of) for of in agreement.BLOCKS]
    total = {seen.name: sum(row.counted for row in seen.rows) for seen in found}
    sizes = f"B = {evidence.B}, D = {evidence.D}, F = {evidence.F}"
    after = BLOCK_SEEN.format(zero1=total["zero1"], fsdp=total["fsdp"])
    return [BLOCK.format(sizes=sizes), table(found), "", after]


def layer_section():
    """Layers that other axes cut."""
    names = [of for of in agreement.LAYERS if of != "gpipe"]
    found = [evidence.of_layer(of) for of in names]
    head = LAYERS.format(**evidence.SIZES)
    return [head, table(found), "", LAYERS_SEEN]


def pipeline_section():
    """The two-matmul block as stages, under every schedule."""
    found = [evidence.of_pipeline(of) for of in evidence.SCHEDULES]
    head = STAGES.format(p=evidence.STAGES, m=evidence.MICROBATCHES)
    return [head, table(found), "", STAGES_SEEN]


def transformer_section():
    """The Transformer under every strategy and every schedule."""
    model = transformer.TINY
    found = [transformer.evidence_of(of) for of in STRATEGIES]
    total = {seen.name: sum(row.counted for row in seen.rows) for seen in found}
    params = found[0].held["weights"] // 2
    sizes = {"L": model.L, "T": model.context, "tokens": transformer.B}
    staged = [transformer.of_pipeline(of) for of in evidence.SCHEDULES]
    after = TRANSFORMER_SEEN.format(ratio=total["fsdp"] / total["dp"])
    return [
        TRANSFORMER.format(params=params, **sizes),
        table(found),
        "",
        after,
        *alive_section(),
        STAGED.format(p=evidence.STAGES),
        table(staged),
        "",
    ]


def alive_section():
    """The most that is alive at one moment, under data parallelism and ZeRO."""
    columns = ["strategy", "gathered weights", "everything"]
    lines, most = headed(columns), {}
    for of in ("dp", "zero1", "zero2", "fsdp", KEPT):
        peaks = transformer.alive(of, transformer.TINY, transformer.B, 8)
        said = of if isinstance(of, str) else of.name
        cells = [f"{peaks.gathered:,}" if peaks.gathered else "–"]
        lines.append(line([name(said), *cells, f"{peaks.live:,}"]))
        most[said] = peaks
    less = most["zero1"].live - most["zero2"].live
    after = ALIVE_SEEN.format(layer=most["fsdp"].gathered, less=less)
    return [ALIVE, "\n".join(lines), "", after]


def product_section():
    """The Transformer on meshes of several axes, each product run."""
    columns = ["product", "loss and gradients", "over", "counted", "formula"]
    lines, over_Y = headed([*columns, "÷ formula"]), {}
    for of, (on, how) in transformer.PRODUCTS.items():
        seen = transformer.of_mesh(of, on, **how)
        lines.append(product_row(seen))
        over_Y[of] = sum(r.counted for r in seen.rows if r.axis == "Y")
    model = transformer.SHORT
    sizes = {"L": model.L, "T": model.context, "tokens": 8 * model.context}
    less = over_Y["DP × TP"] - over_Y["FSDP × TP"]
    after = PRODUCTS_SEEN.format(n=len(transformer.PRODUCTS), less=less)
    return [PRODUCTS.format(**sizes), "\n".join(lines), "", after]


def product_row(seen):
    """The line of one product: each group of axes, counted and by formula."""
    cells = [[seen.name, chips(**seen.chips)], equal(seen)]
    cells.append([r.axis for r in seen.rows])
    cells.append([f"{r.counted:,.0f}" for r in seen.rows])
    cells.append([f"{r.formula:,.0f}" for r in seen.rows])
    return line([*cells, ratio(seen.rows)])


def large_section():
    """The same programs for a real model, on a mesh without devices."""
    columns = ["strategy", "over X [GB]", "over Y [GB]", "÷ formula"]
    columns += ["held [GB]"]
    lines, gigabytes = headed(columns), {}
    for of in STRATEGIES:
        X, Y = SIZES.get(of, (512, 1))
        cells, gigabytes[of] = large_cells(of, X, Y)
        lines.append(line(cells))
    X, Y = SIZES["fsdp_tp"]
    share, whole = gigabytes["fsdp_tp"], gigabytes["dp"]
    after = LARGE_SEEN.format(chips=X * Y, share=share, whole=whole)
    head = LARGE.format(model=plan.model(MODEL).name, tokens=TOKENS)
    return [head, "\n".join(lines), "", after]


def large_cells(of, X, Y):
    """The cells of one strategy at full size, and the gigabytes it holds."""
    model = plan.model(MODEL)
    rows = transformer.rows(of, model, TOKENS, X, Y)
    over = [sum(r.counted for r in rows if r.axis == axis) for axis in "XY"]
    held = large_bytes(of, model, X, Y) / 1e9
    moved = [f"{V / 1e9:,.2f}" if V else "–" for V in over]
    return [[of, chips(X=X, Y=Y)], *moved, ratio(rows), f"{held:.2f}"], held


def large_bytes(of, model, X, Y):
    """Bytes on a chip of weights, gradients and state, if `memory` agrees."""
    mesh, at = evidence.no_devices({"X": X, "Y": Y}), training.strategy(of)
    left = at.cut if at.zero == 1 else at.cut_states
    trees = [
        training.weights(of, mesh, model),
        training.weights(of, mesh, model, cut=left),
        training.states(of, mesh, model),
    ]
    held = sum(map(count.held, trees))
    sizes = transformer.formula_sizes(model)
    params = cost.transformer_elements(*sizes, Y).total
    if held != memory.state_bytes(params, X, at.zero):
        raise ValueError(f"{of} holds {held}, which is not its formula")
    return held


# ---- the page ----------------------------------------------------------------


def code():
    """The Python that makes the page: this module."""
    return Path(__file__).read_text(encoding="utf-8")


def origin():
    """What the page depends on, as a hexadecimal digest."""
    return meaning.digest(code())


def body():
    """The page without its mark; every number is made now."""
    jax.config.update("jax_disable_most_optimizations", True)
    sections = [HEAD]
    for section in (
        block_section,
        layer_section,
        pipeline_section,
        transformer_section,
        product_section,
        large_section,
    ):
        sections += section()
    return "\n".join(sections).rstrip() + "\n"


def main():
    """The command line; returns the exit status."""
    old = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    mark = MARK.search(old)
    if mark is None or mark.group(1) != origin():
        print("running every strategy (about two minutes) ...", flush=True)
        new = f"% made from {origin()}\n\n{body()}"
        atomic.write(TARGET, new)
    print("book/strategies.md: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
