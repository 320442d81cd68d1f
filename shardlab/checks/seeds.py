"""Where the numbers of a check come from: a seed, and one key a question."""

import hashlib
import hmac
import zlib

import numpy as np

__all__ = ["BITS", "CHOSEN", "VARIABLE", "generator"]

VARIABLE = "SHARD_BY_SHARD_SEED"
# What a grader draws for each submission; no search gets through these.
BITS = 128
# Seeds below this are an author's: they can be guessed, and are not secret.
CHOSEN = 1 << 64


def generator(seed, question):
    """A generator of the numbers that the checks of one question use.

    seed      a whole number; a grader's has BITS bits
    question  the question's name; each draws numbers of its own
    returns   numpy.random.Generator. From a grader's seed each question gets
              a key by HMAC-SHA-256: whoever had a whole question's numbers,
              and its key, would know nothing of another's. A seed below
              CHOSEN, which authors type, is taken as it is.
    """
    if seed < CHOSEN:
        return np.random.default_rng([seed, zlib.crc32(question.encode())])
    key = hmac.digest(
        seed.to_bytes(64, "big"), question.encode(), hashlib.sha256
    )
    return np.random.default_rng(int.from_bytes(key, "big"))
