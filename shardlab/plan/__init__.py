"""Every legal layout of a model on a network, with time, memory and verdict.

    python -m shardlab.plan --model llama-2-13b --chip v5p \\
        --topology 16x16x16 --batch 3M

models     shapes of models, each with a dated source
network    how mesh axes lie on a torus or a switch, and what bandwidth they get
layouts    jobs and layouts, and what makes a layout legal
held       bytes on a chip: states as in `memory`, the model's own activations
timing     seconds of a step, by the volumes of `cost`
grid       the same on arrays, for all places and microbatches at once
search     every layout, best first
published  where layouts that were published rank
runs       published runs with their schedules, forecast and guessed
words      tables, JSON, and the assumptions

Every time is a bound: bandwidth and hops of a collective, arithmetic at its
peak. The footer of a table says what was assumed. Nothing here imports JAX.
"""

from shardlab.models import (
    MODELS,
    Model,
    forward_flops,
    model,
    parameter_terms,
    params,
    simplify,
)
from shardlab.plan.held import (
    chip_bytes,
    in_flight,
    last_in_flight,
    layer_kept,
    state_bytes,
)
from shardlab.plan.layouts import Arrangement, Job, why_not
from shardlab.plan.network import lies, network
from shardlab.plan.published import PUBLISHED, place, places_table
from shardlab.plan.search import PlanRow, Result, evaluate, places, search
from shardlab.plan.timing import layout_bubble, timed
from shardlab.plan.words import (
    arrangement,
    as_data,
    assumptions,
    count,
    in_words,
    table,
    topology,
)

__all__ = [
    "MODELS",
    "PUBLISHED",
    "Job",
    "Arrangement",
    "Model",
    "Result",
    "PlanRow",
    "arrangement",
    "as_data",
    "assumptions",
    "layout_bubble",
    "count",
    "evaluate",
    "forward_flops",
    "chip_bytes",
    "in_words",
    "in_flight",
    "last_in_flight",
    "layer_kept",
    "lies",
    "model",
    "network",
    "parameter_terms",
    "params",
    "place",
    "places",
    "places_table",
    "search",
    "simplify",
    "state_bytes",
    "table",
    "timed",
    "topology",
    "why_not",
]
