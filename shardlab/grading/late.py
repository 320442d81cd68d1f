"""When work was due, and what handing it in late costs."""

import json
import math
import re
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from traitlets import Float

from shardlab.grading import tables

__all__ = [
    "DAY",
    "LatePenalty",
    "Policy",
    "due_dates",
    "kept",
    "lost",
    "moment",
    "policy",
    "policy_in_words",
]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nbgrader.plugins import LateSubmissionPlugin

DAY = 86_400


class Policy(NamedTuple):
    """What a late submission loses, in percent of the points it earned.

    day    percent for each day that has begun since it was due
    most   percent at most
    grace  minutes after the due date that cost nothing
    """

    day: float = 0.0
    most: float = 100.0
    grace: float = 0.0


def policy(text):
    """The policy that a few words describe.

    text     "none", "zero" (late work earns nothing), or settings such as
             "day=10 most=50 grace=15": 10 percent for each day begun, at most
             50, and 15 minutes that cost nothing; "zero grace=15" works too
    returns  Policy
    raises   ValueError that names the setting that is wrong
    """
    words, settings = text.replace(",", " ").split(), {}
    if words[:1] == ["none"] and len(words) == 1:
        return Policy()
    if words[:1] == ["zero"]:
        settings["day"] = 100.0
        words = words[1:]
    for word in words:
        name, _, number = word.partition("=")
        if name not in Policy._fields or name in settings:
            raise ValueError(
                "the late policy must be none, zero or settings such as "
                f"day=10 most=50 grace=15, got {text!r}"
            )
        settings[name] = _setting(name, number)
    if "day" not in settings:
        raise ValueError(f"the late policy {text!r} does not say day=PERCENT")
    return Policy(**settings)


def kept(path, policy):
    """The policy of a course: as it is said now, or was the last time.

    path     of the file in which it is kept
    policy   a Policy, which is kept from now on, or None
    returns  Policy; none is lost by a command that does not name it
    raises   ValueError when the file is not one that this wrote
    """
    if policy is not None:
        words = json.dumps(policy._asdict()) + "\n"
        tables.replace(path, words.encode())
        return policy
    try:
        words = json.loads(Path(path).read_text(encoding="utf-8"))
        return Policy(
            **{
                name: _setting(name, f"{number:.6f}")
                for name, number in Policy(**words)._asdict().items()
            }
        )
    except FileNotFoundError:
        return Policy()
    except (TypeError, ValueError):
        raise ValueError(
            f"{path} is damaged; say LATE= again, or LATE=none"
        ) from None


def policy_in_words(policy):
    """A policy in words."""
    if not policy.day:
        return "late work loses nothing"
    text = f"late work loses {policy.day:g} % for each day begun"
    if policy.most < 100:
        text += f", at most {policy.most:g} %"
    if policy.grace:
        text += f", after {policy.grace:g} minutes that cost nothing"
    return text


def _setting(name, number):
    """The number of one setting of a policy."""
    limit = math.inf if name == "grace" else 100
    if re.fullmatch(r"\d{1,6}(\.\d{1,6})?", number) and float(number) <= limit:
        return float(number)
    unit = "minutes" if name == "grace" else "percent, 0 to 100"
    raise ValueError(f"{name} must be a number of {unit}, got {number!r}")


def lost(score, seconds, policy):
    """The points that a late submission loses.

    score    points that it earned
    seconds  how late it is
    policy   as `Policy` says
    returns  points; 0 up to and including the end of the grace period
    """
    if seconds <= 60 * policy.grace:
        return 0.0
    days = math.ceil(seconds / DAY)
    return max(score, 0.0) * min(days * policy.day, policy.most) / 100


class LatePenalty(LateSubmissionPlugin):
    """`lost`, as nbgrader's AssignLatePenalties asks for it."""

    day = Float(0.0).tag(config=True)
    most = Float(100.0).tag(config=True)
    grace = Float(0.0).tag(config=True)

    def late_submission_penalty(self, student_id, score, total_seconds_late):
        """The points that this submission loses, or None."""
        policy = Policy(self.day, self.most, self.grace)
        return lost(score, total_seconds_late, policy) or None


def moment(text):
    """A date with its time zone, as a datetime in UTC.

    text     such as "2026-03-01T23:59+01:00" or "2026-03-01 22:59Z"
    raises   ValueError when it is none, or names no time zone
    """
    try:
        time = datetime.fromisoformat(text.strip())
        if time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError(
        "expected a date with a time zone, such as 2026-03-01T23:59+01:00, "
        f"got {text!r}"
    )


def due_dates(given, assignments):
    """When assignments are due.

    given        list of texts: NAME=DATE, NAME=none, or the path of a CSV file
                 with the columns assignment and due
    assignments  the names of assignments
    returns      dict: assignment -> datetime in UTC, or None for "none"
    raises       ValueError that names what is wrong
    """
    found = {}
    for text in given:
        name, equals, date = text.partition("=")
        if equals:
            pairs = [("--due", name, date)]
        else:
            pairs = [
                (f"{text}, line {line}", cells["assignment"], cells["due"])
                for line, cells in tables.read_table(
                    text, ("assignment", "due")
                )
            ]
        for where, name, date in pairs:
            if name not in assignments:
                raise ValueError(
                    f"{where}: assignment must be one of "
                    f"{', '.join(assignments)}, got {name!r}"
                )
            try:
                found[name] = None if date == "none" else moment(date)
            except ValueError as error:
                raise ValueError(f"{where}, {name}: {error}") from None
    return found
