"""`python -m shardlab.plan`: every legal layout of a job, best first."""

import argparse
import json
import os
import sys

from shardlab.hw import chip
from shardlab.memory import RECIPES
from shardlab.models import model
from shardlab.plan.layouts import OVERLAPS, POLICIES, Job
from shardlab.plan.published import places_table
from shardlab.plan.search import Result, evaluate, rank, search
from shardlab.plan.words import arrangement, as_data, count, table, topology


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and nothing else."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


OPTIONS = {
    "model": "such as llama-2-13b, its -mlp, or the path of a .json",
    "chip": "such as v5p or h100, or the path of a .json",
    "topology": "such as 16x16x16; for GPUs those of a node x nodes",
    "chips": "GPUs, in place of a topology",
    "batch": "tokens of a step; 3M is 3,000,000",
    "sequence": "tokens of a sequence; without it, a stream of tokens",
    "pods": "such pods, data-parallel (1)",
    "recipe": f"bytes per parameter: {', '.join(RECIPES)}",
    "recompute": f"{', '.join(POLICIES)}; selective if nothing is said; any: "
    "whichever is fastest and fits",
    "precision": "of matmuls with weights: bf16 (the default), fp8 or int8",
    "layout": "one layout instead of a search, such as tp=8,pp=16,zero=1",
    "overlap": f"{', '.join(OVERLAPS)}",
    "efficiency": "part of the peak that the bound's arithmetic reaches (1)",
    "rows": "layouts to show (20; with --json all)",
}
UNSAID = {"pods": "1", "recipe": "mixed-precision"}
UNSAID |= {"overlap": "max", "efficiency": "1", "precision": "bf16"}
FLAGS = {
    "json": "JSON for programs",
    "offload": "kept activations wait in the memory of the host",
    "across": "ZeRO and FSDP share out over all pods",
    "eager": "norms and rotary embeddings are not fused, as in plain PyTorch",
    "published": "where published layouts rank, each in a search of its own "
    "job",
}


def _parser():
    """The options of the command line.

    returns  _Parser
    source   chapter 15
    """
    p = _Parser(
        "python -m shardlab.plan", description=__doc__, allow_abbrev=False
    )
    for name, what in OPTIONS.items():
        p.add_argument(f"--{name}", default=UNSAID.get(name), help=what)
    for name, what in FLAGS.items():
        p.add_argument(f"--{name}", action="store_true", help=what)
    return p


def _job_from(said):
    """The job that the command line asks for.

    said     options, as `_parser` reads them
    returns  Job
    raises   ValueError that names the option and what was expected
    source   chapter 15
    """
    for name in ("model", "chip", "batch"):
        if getattr(said, name) is None:
            raise ValueError(f"--{name} must be given")
    return Job(
        model(said.model),
        chip(said.chip),
        _topology(said),
        count("batch", said.batch),
        sequence=said.sequence and count("sequence", said.sequence),
        recipe=said.recipe,
        recompute=said.recompute,
        overlap=said.overlap,
        efficiency=_number("efficiency", said.efficiency),
        pods=count("pods", said.pods),
        precision=said.precision,
        offload=said.offload,
        across=said.across,
        fused=not said.eager,
    )


def _asked(job, text):
    """The one layout of a command line, with the best of what it leaves open.

    job      Job
    text     as in `words.arrangement`
    returns  Result with one row
    raises   ValueError that says what is wrong with the layout
    source   chapter 15
    """
    rows = [evaluate(job, layout) for layout in arrangement(text, job)]
    return Result(job, [min(rows, key=rank)], 1)


def _topology(said):
    if said.topology is None and said.chips is None:
        raise ValueError("--topology must be given, such as 16x16x16")
    if said.chips is None:
        return topology(said.topology)
    chips = count("chips", said.chips)
    sizes = topology(said.topology) if said.topology else (chips,)
    if said.topology is None and chip(said.chip).axes:
        raise ValueError(
            f"--topology must be given for a {said.chip}, such as 16x16x16"
        )
    product = 1
    for size in sizes:
        product *= size
    if product != chips:
        raise ValueError(
            f"topology must have {chips:,} chips, got {said.topology}: "
            f"{product:,}"
        )
    return sizes


def _number(name, text):
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None


def main(arguments=None):
    """Print the plan; with bad input, one line and exit code 2.

    arguments  list of text; None: those of the command line
    returns    0
    source     chapter 15
    """
    options = _parser()
    said = options.parse_args(arguments)
    try:
        if said.published:
            print(places_table())
            return 0
        rows = said.rows and count("rows", said.rows)
        job = _job_from(said)
        result = _asked(job, said.layout) if said.layout else search(job)
        if said.json:
            print(json.dumps(as_data(result, rows), indent=1))
        else:
            print(table(result, rows or 20))
    except ValueError as error:
        options.error(error)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
