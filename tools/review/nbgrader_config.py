"""nbgrader's configuration for `make review`."""

import os
from pathlib import Path

from shardlab.grading import course, review

ROOT = Path(__file__).resolve().parents[2]

c = get_config()  # noqa: F821

DATABASE = os.environ.get("DATABASE") or None

c.merge(review.config(course.grading(ROOT, DATABASE)))
