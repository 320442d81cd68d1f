"""Where an attack comes in, what is not as it should be, and who would pay.

Three coordinates for every row of the suite, and their grid: what it leaves
empty is an attack that nobody has tried, or has a reason.

    python -m tests.grading.suite --grid
"""

from collections import Counter
from itertools import product

# By which way it comes: as code that runs; in the notebook's JSON beside it; in
# a reply of the student's process; in an exported program; in the text of a
# formula; in the files of the folder; by when it happens.
WHERE = ("cell", "metadata", "pipe", "program", "formula", "file", "time")
# What is not what it should be: its content; who or what it says it is; that it
# comes now, and here; how large or deep it is; how often it comes, and whether
# it is the same each time.
WHAT = ("value", "identity", "order", "size", "repetition")
# Who would pay: whoever trusts the points; whoever grades, in time, memory or a
# crash; the others of the class, and the machine that they share.
WHO = ("checks", "grader", "others")

ALONE = "each submission is judged by processes of its own, with a deadline"
# Places where no attack makes sense, and why.
EMPTY = {
    ("metadata", "order", "grader"): "cells of ours stand where we put them",
    ("metadata", "order", "others"): "a notebook's cells are read alone",
    ("pipe", "order", "others"): ALONE,
    ("pipe", "repetition", "others"): ALONE,
    ("program", "order", "grader"): "a program is read as a whole",
    ("program", "order", "others"): ALONE,
    ("program", "repetition", "others"): ALONE,
    ("formula", "order", "grader"): "a formula is read as a whole",
    ("formula", "order", "others"): ALONE,
    ("formula", "size", "others"): ALONE,
    ("formula", "repetition", "others"): ALONE,
    ("file", "order", "others"): "a folder is one student's",
    ("file", "size", "checks"): "no check looks at a file",
    ("time", "identity", "checks"): "no check asks for the time",
    ("time", "identity", "others"): "dates are the grader's own, or the file's",
    ("time", "size", "others"): ALONE,
}

PLACES = {
    ("cell", "value", "checks"): (
        "patched: numpy.asarray",
        "patched: random numbers",
        "patched: an AST transformer",
        "a search for solutions",
    ),
    ("cell", "value", "grader"): (
        "a fault in memory",
        "half characters",
        "a picture without height",
        "a picture cut short",
    ),
    ("cell", "value", "others"): (
        "settings of the kernel",
        "secrets of other processes",
        "files written elsewhere",
        "files of ours changed",
        "escapes and marks of direction",
        "a live name in a traceback",
        "a picture with text in it",
        "a script in a proof",
        "links in a proof",
        "odd white space in a proof",
    ),
    ("cell", "identity", "checks"): (
        "markers of hidden tests in an answer",
        "an answer that defines the checks",
        "patched: numpy.testing and allclose",
        "patched: every comparison of the book",
        "patched: the student module",
        "patched: the encoding",
        "patched: json",
        "patched: the export",
        "patched: the counter",
        "patched: meshes",
        "patched: builtins",
        "patched: AssertionError",
        "patched: the runner",
        "patched: imports",
    ),
    ("cell", "identity", "grader"): (
        "kill what is above",
        "output of the shell",
        "streams replaced",
        "text as a picture",
    ),
    ("cell", "identity", "others"): (
        "kill everything",
        "trace others",
        "process control",
        "namespaces and mounts",
        "an address outside",
        "a name looked up",
        "raw sockets",
        "sockets to the machine below",
        "keys that the kernel keeps",
        "sockets of other processes",
        "patched: pickle",
        "the project's own tree",
        "memory of other processes",
        "every kind of display",
        "every representation",
        "an error with a live name",
        "a page as a picture",
        "a proof that closes its fence",
        "tildes in a proof",
        "comments in a proof",
        "a proof in parts that is mostly code",
    ),
    ("cell", "order", "checks"): (
        "patched: an input transformer",
        "patched: a hook after each cell",
        "patched: a handler of exceptions",
        "patched: run_cell",
        "patched: tracing",
        "wrong cells that push the right ones out",
    ),
    ("cell", "order", "grader"): (
        "sys.exit in a cell",
        "os._exit in a cell",
        "an abort",
        "streams closed",
    ),
    ("cell", "order", "others"): (
        "a proof with directions",
        "a proof whose parts close the fence",
    ),
    ("cell", "size", "checks"): ("a wrong answer below ten thousand lines",),
    ("cell", "size", "grader"): (
        "20 GB of memory",
        "memory by mmap",
        "memory in files without a name",
        "memory by a child",
        "recursion without end",
        "an overflow of the C stack",
        "a long answer",
        "a line of 50 MB",
        "a huge representation",
        "a traceback of 900 levels",
        "a picture of 100,000 x 100,000",
        "a picture of 3 MB",
    ),
    ("cell", "size", "others"): (
        "full folders",
        "a big file",
        "limits raised",
    ),
    ("cell", "repetition", "checks"): ("every number in turn",),
    ("cell", "repetition", "grader"): (
        "many threads",
        "all descriptors open",
        "every signal to the first process",
        "cells that end the process again and again",
        "a hundred cells that print",
        "four hundred cells that print",
        "a million lines",
        "lines of errors",
        "floods of descriptors 1 and 2",
        "many displays",
        "a bar of 200,000 steps",
        "an endless representation",
        "a chain of 300 errors",
        "handlers of logs and warnings",
        "three hundred pictures",
        "a hundred cells with four large pictures each",
        "twelve large plots",
        "a proof of fifty long parts",
    ),
    ("cell", "repetition", "others"): (
        "many small files",
        "a fork bomb",
        "queues and shared memory",
        "a picture that moves",
    ),
    ("metadata", "value", "checks"): (
        "checks overwritten",
        "checks that give points",
        "negative points",
        "raises-exception",
        "outputs forged",
    ),
    ("metadata", "value", "grader"): (
        "points that are no number",
        "removed from view",
        "tags that are no list",
        "marks of other types",
        "minor version 99",
        "minor version -1",
    ),
    ("metadata", "value", "others"): (
        "widgets and other metadata",
        "attachments",
    ),
    ("metadata", "identity", "checks"): (
        "checks under other names",
        "checks that are not graded",
        "checks that are answers too",
        "checks that are tasks",
        "checks unlocked",
        "checks as raw text",
        "checks as markdown",
        "markers of solutions around a check's text",
    ),
    ("metadata", "identity", "grader"): (
        "an old version of the marks",
        "marks of version 2",
        "marks of version 99",
        "marks of no version",
        "a proof that is code",
    ),
    ("metadata", "identity", "others"): (
        "checks that call the shell",
        "another kernel",
        "identifiers that are paths",
    ),
    ("metadata", "order", "checks"): (
        "checks and answers swapped",
        "skip-execution",
        "checks before all",
        "another answer's name on a wrong cell below",
    ),
    ("metadata", "size", "checks"): (
        "no checks",
        "a thousand points",
    ),
    ("metadata", "size", "grader"): (
        "a thousand cells",
        "metadata nested deep",
    ),
    ("metadata", "size", "others"): ("a name of a hundred thousand letters",),
    ("metadata", "repetition", "checks"): (
        "one name for all cells",
        "copies of checks before all",
        "cells twice",
    ),
    ("metadata", "repetition", "grader"): ("checks that hang",),
    ("metadata", "repetition", "others"): ("one identifier for all cells",),
    ("pipe", "value", "checks"): (
        "no answer in the reply",
        "a question changed on the way",
        "infinity",
        "not a number",
        "a bare NaN",
        "a device that is no number",
        "blocks that are no dict",
        "an answer to what is shown only",
        "a masked array",
        "all on one device",
        "a layout that is none: no numbers",
        "a layout that is none: infinite numbers",
        "a layout that is none: a size that is no number",
        "a layout that is none: a spec that is no list",
        "a layout that is none: a word for a dimension",
        "a layout that is none: a dict that is none",
    ),
    ("pipe", "value", "grader"): (
        "an answer that is no text",
        "a list instead of a reply",
        "no JSON",
        "bytes that are no text",
        "a picture that is no text",
        "pictures that are no pictures",
        "text that is no encoded answer",
        "half a character",
        "a dict with a list as key",
        "a reason that is no text",
        "an error that is no list",
        "an error with a hostile text",
    ),
    ("pipe", "value", "others"): (
        "an answer that is a page",
        "live text when asked",
    ),
    ("pipe", "identity", "checks"): (
        "a verdict instead of an answer",
        "a verdict by every name",
        "the number as a truth value",
        "the questions read by another",
        "replies found by the garbage collector",
        "an array of text",
        "an array of dates",
        "the reply of the executor",
        "an answer from the stack",
        "an answer from all objects",
        "a number that equals all",
        "a truth value",
        "a float beside an int",
        "text for an int",
        "a complex number",
        "a number in a list",
        "an array of one number",
        "a function",
        "a record array",
        "a mock",
        "an error that says it is a verdict",
        "a function that is not one",
        "blocks of NumPy",
        "an array that says it is sharded",
        "blocks of truth values",
        "blocks of complex numbers",
        "blocks cut by NumPy, in a kernel that takes them for JAX's",
        "a layout that is none: a device that is not there",
        "a layout that is none: an axis that is not there",
    ),
    ("pipe", "identity", "grader"): (
        "the pipes crossed",
        "an unknown kind",
        "a type that is no type",
        "a part of a type",
        "a shape of truth values",
    ),
    ("pipe", "identity", "others"): (
        "replies through the first process",
        "a pickle that would run",
        "an array of objects",
        "an array of objects of ours",
    ),
    ("pipe", "order", "checks"): (
        "a daemon that writes replies",
        "the number of another question",
        "replies in advance",
        "replies in advance that are right for nothing",
        "blocks in another order",
    ),
    ("pipe", "order", "grader"): (
        "os._exit when asked",
        "sys.exit when asked",
        "the pipes closed",
        "an interrupt",
        "an exit",
    ),
    ("pipe", "size", "checks"): (
        "an integer of 400 digits",
        "an empty array",
        "blocks of long numbers that are none",
        "blocks without numbers",
        "a layout that is none: half of the devices",
        "a layout that is none: a mesh of another size",
        "a layout that is none: a spec of three dimensions",
    ),
    ("pipe", "size", "grader"): (
        "nested replies",
        "nested dicts",
        "a reply of 40 MB",
        "a number of a million digits",
        "an integer of 100,000 digits",
        "a type of many fields",
        "an array larger than its bytes",
        "a shape of huge numbers",
        "sixty dimensions",
        "nested 400 deep",
        "nested 100,000 deep",
        "a number of 5,000 digits",
        "a long list",
        "a long text",
        "a large array",
        "sixty-four dimensions",
    ),
    ("pipe", "size", "others"): ("an error with a long name",),
    ("pipe", "repetition", "checks"): (
        "two processes reply",
        "an object that changes",
        "a value with a property",
        "names that change when they are looked up",
        "a layout that is none: a device twice",
        "a layout that is none: an axis twice",
        "a layout that is none: an axis twice in one dimension",
    ),
    ("pipe", "repetition", "grader"): (
        "an endless loop when asked",
        "a reply without end",
        "a reply in small pieces",
        "a reply of empty lists",
        "keys with one hash",
        "a generator without end",
        "a list in itself",
        "a layout that is none: a mesh that is endless",
    ),
    ("program", "value", "checks"): (
        "psum of padded blocks",
        "constants for what is shown",
        "a constant of two values",
    ),
    ("program", "value", "grader"): ("bytes that are no program",),
    ("program", "value", "others"): (
        "an error with live text while it is exported",
    ),
    ("program", "identity", "checks"): (
        "JAX itself as the answer",
        "all_gather by its name",
        "a name that looks like a permute",
        "a program that names another axis",
        "a call that names two functions",
        "a mesh among the orders to the compiler",
        "a mesh that is not used",
    ),
    ("program", "identity", "grader"): ("text instead of a program",),
    ("program", "identity", "others"): ("a call back to Python",),
    ("program", "order", "checks"): (
        "all_gather in a nested jit",
        "all_gather in the test of a loop",
        "all_gather in one of two branches",
    ),
    ("program", "size", "checks"): ("twice the bytes",),
    ("program", "size", "grader"): ("a program of 8 GB",),
    ("program", "size", "others"): ("a program that carries 100 MB",),
    ("program", "repetition", "checks"): (
        "all_gather in a scan",
        "a length of a loop that is no constant",
        "a length of a loop that wraps",
        "all_gather in a loop whose counter wraps",
        "all_gather in a loop that begins beyond its end",
    ),
    ("program", "repetition", "grader"): (
        "a program that prints",
        "a program without end",
    ),
    ("formula", "value", "checks"): (
        "a formula that is no number",
        "right at the points that are shown",
    ),
    ("formula", "value", "grader"): ("a formula that divides by zero",),
    ("formula", "value", "others"): ("formulas in a proof",),
    ("formula", "identity", "checks"): (
        "a list for a formula",
        "an object that prints a formula",
    ),
    ("formula", "identity", "grader"): ("a lambda for a formula",),
    ("formula", "identity", "others"): (
        "a formula that calls",
        "a formula with attributes",
        "a string in a formula",
        "a symbol with code for a name",
    ),
    ("formula", "order", "checks"): ("two formulas, one after the check",),
    ("formula", "size", "checks"): ("a table in the place of a formula",),
    ("formula", "size", "grader"): (
        "a power tower",
        "a factorial",
        "a formula of 100,000 brackets",
        "a long formula",
    ),
    ("formula", "repetition", "checks"): (
        "a formula that is another each time",
    ),
    ("formula", "repetition", "grader"): (
        "a sum without end",
        "a formula of ninety conditions",
    ),
    ("file", "value", "checks"): ("two lists of cells under one key",),
    ("file", "value", "grader"): (
        "no number",
        "a cell of no type",
        "a text that is a number",
        "a broken archive",
        "an empty file",
        "half a file",
        "no UTF-8",
        "UTF-16",
        "not a dict",
        "half a character in the file",
        "a null character",
    ),
    ("file", "value", "others"): (
        "a spreadsheet's formula for the type of a cell",
    ),
    ("file", "identity", "checks"): (
        "nothing but the name 90_sample",
        "a link to the solutions",
        "a hard link to the solutions",
        "modules beside the notebook",
        "a notebook of another assignment",
    ),
    ("file", "identity", "grader"): (
        "an older format",
        "a socket",
        "a folder named like a notebook",
        "a zip with the right name",
    ),
    ("file", "identity", "others"): (
        "a relative link",
        "the student's folder is a link",
        "a folder below is a link",
        "an archive with names that lead out",
        "a program",
        "names that move the cursor",
        "links out of its own folder",
    ),
    ("file", "order", "checks"): ("an archive with one name twice",),
    ("file", "order", "grader"): ("a named pipe",),
    ("file", "size", "grader"): (
        "a link to /dev/zero",
        "a notebook very deep down",
        "a file of 60 MB",
        "brackets without end",
        "a number without end",
    ),
    ("file", "size", "others"): (
        "an archive that grows to a quarter of a gigabyte",
    ),
    ("file", "repetition", "checks"): ("two notebooks",),
    ("file", "repetition", "grader"): ("a folder in itself",),
    ("file", "repetition", "others"): ("an archive of twenty thousand names",),
    ("time", "value", "checks"): (
        "a date and settings of its own",
        "an answer from the clock",
    ),
    ("time", "value", "grader"): ("a date before all dates",),
    ("time", "value", "others"): ("a date after all dates",),
    ("time", "identity", "grader"): ("a clock that stands still",),
    ("time", "order", "checks"): (
        "two values, one after the check",
        "two functions, one after the check",
        "two placements, one after the check",
    ),
    ("time", "order", "grader"): (
        "stop itself",
        "hooks that sleep at the exit",
    ),
    ("time", "order", "others"): (
        "a daemon that stays",
        "priority",
        "files that run at the next start",
    ),
    ("time", "size", "checks"): ("slow at the sizes that are not shown",),
    ("time", "size", "grader"): (
        "sleeping almost to the deadline in every cell",
        "a number that is slow to read",
    ),
    ("time", "repetition", "checks"): (
        "a cell that hangs only when it is run again",
        "an answer that counts its calls",
        "another guess at each question",
    ),
    ("time", "repetition", "grader"): (
        "an endless loop",
        "a loop that catches everything",
        "a loop under signals",
    ),
    ("time", "repetition", "others"): ("fifty busy processes",),
}


def places():
    """{name of a row: its (where, what, who)}."""
    return {name: place for place, names in PLACES.items() for name in names}


def gaps():
    """Places where there is no row and no reason for that."""
    every = product(WHERE, WHAT, WHO)
    return [at for at in every if at not in PLACES and at not in EMPTY]


def table(rows):
    """The grid in lines: how many rows there are at each place.

    rows     names of rows
    returns  str; "-" where no attack makes sense, "gap" where one is missing
    """
    known = places()
    counts, lines = Counter(known[name] for name in rows), []
    for who in WHO:
        lines.append(f"{who + ' pay':12}" + "".join(f"{w:>12}" for w in WHAT))
        for where in WHERE:
            ways = ((where, what, who) for what in WHAT)
            said = (
                counts[at] or ("-" if at in EMPTY else "gap") for at in ways
            )
            lines.append(f"  {where:10}" + "".join(f"{n:>12}" for n in said))
        lines.append("")
    lines += [f"- {' '.join(at)}: {why}" for at, why in EMPTY.items()]
    return "\n".join(lines)
