"""Grading: from a student's notebook to a score that can be trusted."""

import sys

# An optional part of a part of nbgrader: it takes a second to import, checks
# addresses, and is of no use here.
sys.modules.setdefault("rfc3987_syntax", None)
