"""A training step that somebody else has written: counted, timed, advised.

`inspect_step` counts what a step moves, multiplies and holds, and says on which
level of evidence. `forecast` sets that against a machine, `advise` says what to
change and what it would gain, `table` and `page` write it all down.
`comparison` sets two steps side by side, and `assert_traffic` is a test of one
line. The same from the command line: `python -m shardlab.count
MODULE:FUNCTION`.
"""

from shardlab.inspection.advice import Advice, advise
from shardlab.inspection.comparing import (
    assert_traffic,
    changes,
    comparison,
)
from shardlab.inspection.machines import Forecast, forecast
from shardlab.inspection.step import Argument, Report, inspect_step
from shardlab.inspection.stored import others
from shardlab.inspection.words import (
    heading,
    in_words,
    moved_table,
    page,
    table,
)

__all__ = [
    "Advice",
    "Argument",
    "Forecast",
    "Report",
    "advise",
    "assert_traffic",
    "changes",
    "comparison",
    "forecast",
    "heading",
    "in_words",
    "inspect_step",
    "moved_table",
    "others",
    "page",
    "table",
]
