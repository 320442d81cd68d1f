"""What check cells that hold their own code use, under one name."""

from shardlab.checks.compare import (
    blocks,
    close,
    entries,
    equal,
    formula,
    identical,
    limit,
    wrong,
)
from shardlab.checks.question import (
    NotAnswered,
    OneLine,
    WrongAnswer,
    draw,
    passed,
)

__all__ = [
    "NotAnswered",
    "OneLine",
    "WrongAnswer",
    "blocks",
    "close",
    "draw",
    "entries",
    "equal",
    "formula",
    "identical",
    "limit",
    "passed",
    "wrong",
]
