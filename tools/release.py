"""Lets nbgrader make the students' notebooks from the solutions."""

import contextlib
import io
import logging
import os
import sys
import warnings
from pathlib import Path

from shardlab.grading import course


def generate(source, target, stems):
    """Write the exercise of each stem in `stems` below `target`.

    source   the folder of solutions
    returns  list of the notebooks' paths
    raises   ValueError with nbgrader's own words when it refuses a notebook
    """
    # nbgrader looks for its database tool on PATH even without a database.
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from nbgrader.converters import GenerateAssignment
        from nbgrader.coursedir import CourseDirectory

        config = course.config(source.parent, source, target)
        config.GenerateAssignment.no_database = True
        config.GenerateAssignment.force = True
        config.SaveCells.enabled = False  # it would open a gradebook
        for stem in stems:
            folder = CourseDirectory(config=config)
            folder.assignment_id = stem
            convert(GenerateAssignment(coursedir=folder, config=config), stem)
    return [Path(target) / stem / f"{stem}.ipynb" for stem in stems]


def convert(converter, stem):
    """Run one of nbgrader's converters; its log becomes the error."""
    words = io.StringIO()
    converter.log = logging.Logger("nbgrader", logging.WARNING)
    converter.log.addHandler(logging.StreamHandler(words))
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            converter.start()
    except (SystemExit, Exception) as error:
        said = words.getvalue().strip() or str(error)
        raise ValueError(f"nbgrader refused {stem}: {said}") from None
