"""Grading: from a student's notebook to a score that can be trusted."""
