"""What a check cell stands on: the modules that the set-up cells import."""

import re

__all__ = ["imports"]

IMPORT = re.compile(r"^from shardlab\.checks import \w+$", re.MULTILINE)


def imports(texts):
    """The lines with which set-up cells bring in modules of checks.

    A notebook imports its checks once, so that a check cell is one line. Who
    judges that line apart from the notebook puts these in front of it.

    texts    of the set-up cells, from our own source, never a student's
    returns  str: `from shardlab.checks import set07` or the like, a line each,
             in order and once; "" where there are none
    """
    found = dict.fromkeys(IMPORT.findall("\n".join(texts)))
    return "".join(f"{line}\n" for line in found)
