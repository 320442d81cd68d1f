"""Writes book/style/explore-data.js, which the explorers of the page show.

Machines come from `hw`, volumes from `cost`, schedules from `pipeline`, and
what fits from the planner. The explorers compute the rest in the browser; the
tests of the pages hold both against `shardlab`.
"""

import json
import sys

from shardlab import cost, hw, models, pipeline
from shardlab.plan import Job, search
from tools import atomic
from tools.text import ROOT

TARGET = ROOT / "book/style/explore-data.js"
CHIPS = ("v5e", "v5p", "v6e", "tpu7x", "h100", "h200", "b200", "gb200")
STRATEGIES = {
    "dp": "data parallelism",
    "zero1": "ZeRO-1",
    "fsdp": "FSDP",
    "tp": "tensor parallelism",
    "fsdp_tp": "FSDP and TP",
}
# Machines of "what fits?": name -> chip and shape of the machine.
MACHINES = {
    "TPU v5e, 16 × 16": ("v5e", (16, 16)),
    "TPU v5p, 4 × 4 × 4": ("v5p", (4, 4, 4)),
    "TPU v5p, 8 × 8 × 8": ("v5p", (8, 8, 8)),
    "TPU v5p, 16 × 16 × 16": ("v5p", (16, 16, 16)),
    "TPU v6e, 16 × 16": ("v6e", (16, 16)),
    "H100, 1 node of 8": ("h100", (8, 1)),
    "H100, 8 nodes": ("h100", (8, 8)),
    "H100, 128 nodes": ("h100", (8, 128)),
    "H100, 2,048 nodes": ("h100", (8, 2048)),
    "B200, 128 nodes": ("b200", (8, 128)),
    "GB200, 64 GPUs in each of 16 racks": ("gb200", (64, 16)),
}
MODELS = ("llama-3-8b", "llama-2-13b", "llama-3-70b", "llama-3-405b")
BATCHES = {"1M tokens": 2**20, "4M tokens": 2**22, "16M tokens": 2**24}
SEQUENCE = 8192
SCHEDULES = {
    "GPipe": (pipeline.gpipe, 1),
    "1F1B": (pipeline.one_f_one_b, 1),
    "interleaved 1F1B": (pipeline.interleaved, 2),
    "zero bubble": (pipeline.zero_bubble, 1),
}
STAGES, MICROBATCHES = (2, 4, 8), (4, 8, 16, 32)


def chips():
    """Figures of the machines, as `hw` has them."""
    found = {}
    for name in CHIPS:
        chip = hw.chip(name)
        found[name] = {
            "name": chip.name,
            "flops": chip.flops,
            "hbm_bytes": chip.hbm_bytes,
            "hbm_bw": chip.hbm_bw,
            "axis_bw": hw.axis_bw(chip),
            "axes": chip.axes,
            "inside": hw.reach(chip),
        }
    return found


def volumes():
    """Bytes of a layer in units of DF and of BD / X, for each strategy.

    returns  dict: strategy -> gated or not -> part of the step -> {"X": in DF,
             "Y": in BD / X}
    """
    B, D, F, X, Y = 2**20, 2**10, 2**12, 8, 4
    found = {}
    for strategy in STRATEGIES:
        over_X = 1 if strategy == "tp" else X
        over_Y = Y if "tp" in strategy else 1
        found[strategy] = {}
        for gated in (False, True):
            moved = cost.layer_volume(
                strategy, B, D, F, over_X, over_Y, gated=gated
            )
            parts = {}
            for part in ("forward", "backward", "update"):
                weights = getattr(moved["X"], part) * over_Y / (D * F)
                tokens = getattr(moved["Y"], part) * over_X / (B * D)
                parts[part] = {"X": weights, "Y": tokens}
            found[strategy]["gated" if gated else "plain"] = parts
    return found


def family(layout):
    """The name of the strategy that a layout of the planner follows."""
    if layout.cp > 1:
        return "with context parallelism"
    if layout.pp > 1:
        return "with a pipeline"
    if layout.tp > 1:
        return "FSDP and TP" if layout.zero == 3 else "TP and data parallelism"
    names = ("data parallelism", "ZeRO-1", "ZeRO-2", "FSDP")
    return names[layout.zero]


def in_words(layout):
    """How a layout deals the chips, such as "dp 64, tp 8"."""
    cuts = {"dp": layout.dp, "tp": layout.tp, "pp": layout.pp, "cp": layout.cp}
    said = ", ".join(f"{name} {n}" for name, n in cuts.items() if n > 1)
    shared = ("", ", ZeRO-1", ", ZeRO-2", ", FSDP")[layout.zero]
    parts = layout.microbatches
    more = f", {parts} microbatches" if parts > 1 else ""
    return (said or "one chip") + shared + more


def fits(model, machine, batch):
    """The best layout of each family for one question.

    returns  list of [family, layout in words, GB a chip, seconds or None,
             MFU or None], the fastest first, then what does not fit
    """
    name, topology = MACHINES[machine]
    job = Job(models.model(model), hw.chip(name), topology, batch, SEQUENCE)
    try:
        found = search(job).rows  # those that fit by time, others by memory
    except ValueError:  # no layout is legal
        return []
    best = {}
    for row in found:
        best.setdefault(family(row.layout), row)
    rows = []
    for which, row in best.items():
        seconds = row.seconds if row.fits else None
        rows.append(
            [
                which,
                in_words(row.layout),
                _short(row.bytes / 1e9),
                _short(seconds),
                _short(row.mfu if row.fits else None),
            ]
        )
    return rows


def _short(number):
    """A number of four significant digits; None stays."""
    return None if number is None else float(f"{number:.4g}")


def orders():
    """The work of each stage in its order: schedule -> "p,m" -> list of str.

    F3 is the forward of microbatch 3, B3 its backward; I3 and W3 are the two
    halves of a backward that is split; a chunk that is not the first follows
    after a dot, F3.1.
    """
    found = {}
    for name, (build, v) in SCHEDULES.items():
        found[name] = {}
        for p in STAGES:
            for m in MICROBATCHES:
                if m < p or (v > 1 and m % p):
                    continue
                more = (v,) if v > 1 else ()
                events = build(p, m, *more, 1, 2)
                found[name][f"{p},{m}"] = [
                    " ".join(
                        event_in_words(event)
                        for event in sorted(events, key=lambda e: e.start)
                        if event.stage == stage
                    )
                    for stage in range(p)
                ]
    return found


def event_in_words(event):
    """A piece of work in letters, such as F3 or B3.1."""
    letter = {"forward": "F", "backward": "B", "input": "I", "weight": "W"}
    chunk = f".{event.chunk}" if event.chunk else ""
    return f"{letter[event.kind]}{event.microbatch}{chunk}"


def data():
    """All that the explorers are given."""
    answers = {}
    for model in MODELS:
        for machine in MACHINES:
            for said, batch in BATCHES.items():
                answers[f"{model}|{machine}|{said}"] = fits(
                    model, machine, batch
                )
    return {
        "chips": chips(),
        "strategies": STRATEGIES,
        "volumes": volumes(),
        "machines": list(MACHINES),
        "hbm": {
            n: hw.chip(c).hbm_bytes / 1e9 for n, (c, _) in MACHINES.items()
        },
        "models": list(MODELS),
        "batches": list(BATCHES),
        "fits": answers,
        "orders": orders(),
    }


def main():
    """Write the data; returns the exit status."""
    text = json.dumps(data(), ensure_ascii=False, separators=(",", ":"))
    atomic.write(
        TARGET,
        "/* Written by python -m tools.explore. */\n"
        f"window.EXPLORE_DATA={text};\n",
    )
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
