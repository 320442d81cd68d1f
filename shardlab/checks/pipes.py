"""The inner end of a sandbox's pipes: one line of JSON in, one out."""

import json
import os
import sys

__all__ = ["serve"]


def serve(answer):
    """Reply to every line of standard input with what `answer` makes of it.

    answer   function of a dict that returns a dict JSON can hold

    The pipes are moved away from standard input and output first, so that a
    program that prints, reads or closes these does no harm to the replies.
    """
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    for line in questions:
        question = json.loads(line)
        reply = {} if "ready" in question else answer(question)
        replies.write(json.dumps({**reply, "number": question["number"]}))
        replies.write("\n")
        replies.flush()
    sys.exit()
