"""Every legal layout of a model on a network, with time, memory and verdict.

    python -m shardlab.plan --model llama-2-13b --chip v5p \\
        --topology 16x16x16 --batch 3M

models     shapes of models, each with a dated source
network    how mesh axes lie on a torus or a switch, and what bandwidth they get
layouts    jobs and layouts, and what makes a layout legal
held       bytes on a chip: states as in `memory`, the model's own activations
placing    the places that no other beats, and what each mesh axis gets there
timing     seconds of a step, by the volumes of `cost`: a bound
grid       the same on arrays, for all places and microbatches at once
expected   seconds of a step by speeds that were fitted to published runs
search     every layout, best first
published  where layouts that were published rank
runs       published runs with their schedules, forecast and guessed
words      tables, JSON, and the assumptions

A search enumerates layouts, places them, counts their memory, times what fits,
and ranks it. Time is given twice: a bound, with arithmetic at its peak, and
what is to be expected (`shardlab.measured` has its error). The footer of a
table says what was assumed. Nothing here imports JAX.
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
from shardlab.plan.expected import expected_step
from shardlab.plan.held import (
    chip_bytes,
    in_flight,
    last_in_flight,
    layer_kept,
    state_bytes,
)
from shardlab.plan.layouts import Arrangement, Job, why_not
from shardlab.plan.network import lies, network
from shardlab.plan.placing import places
from shardlab.plan.published import PUBLISHED, place, places_table
from shardlab.plan.search import PlanRow, Result, evaluate, search
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
    "expected_step",
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
