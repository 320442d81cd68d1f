"""Attacks on the pipes, and on what is read from them."""

from tests.grading.suite.rows import Row, of, simple_without, without

# What the runner is asked, and the file that it replies through, can be found
# in its frames by whatever runs in the same process.
FORGE = """\
import json, os, sys

def serving():
    frame = sys._getframe()
    while frame.f_code.co_name != "serve":
        frame = frame.f_back
    return frame.f_locals

def send(text):
    place = serving()
    place["replies"].write(text)
    place["replies"].flush()

def forge(later=0, **reply):
    number = serving()["question"]["number"] + later
    send(json.dumps({**reply, "number": number}) + "\\n")

def number():
    return serving()["question"]["number"]

def pipes():
    for fd in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("pipe"):
                yield int(fd)
        except OSError:
            pass
"""

# The process is ended at once, and starts anew without the cell or question.
ENDED = simple_without("local_bytes")
# A forged reply is taken, and the true one meets the next question, which is
# stopped. Who writes into the pipes may lose more than one question by it.
LATE = simple_without("local_bytes", "crossings")
# The cell does so again whenever it is run again: nothing after it is heard.
LOST = of("copies")


def asked(name, body, points=ENDED, **more):
    """A function that is asked for bytes does something to the protocol."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = f"{FORGE}\ndef local_bytes(I, J, X, Y):\n{lines}\n    return 1"
    return Row(name, points, "simple", {"local_bytes": text}, **more)


def ran(name, body, points=ENDED, **more):
    """A cell does something to the protocol, when it is run."""
    text = f"{FORGE}\n{body}"
    return Row(name, points, "simple", {"local_bytes": text}, **more)


def sent(name, packed, **more):
    """The reply holds this text as an encoded answer."""
    return asked(name, f"forge(answer={packed})", LATE, **more)


COLLIDING = """json.dumps({"dict": [
    [{"int": str(k * (2**61 - 1))}, None] for k in range(90_000)]})"""
MANY_FIELDS = """json.dumps({"array": ["f4," * 600_000, [0], ""]})"""
PASSED = "passed=True, score=99, points=99, ok=1, error=None, text='passed'"

ROWS = (
    asked("a verdict instead of an answer", f"forge({PASSED})", LATE),
    asked(
        "a verdict by every name",
        "forge(answer=json.dumps('passed'), missing=None, wrong=None, "
        "raised=None, grade=2, verdict='passed')",
        LATE,
    ),
    asked("no answer in the reply", "forge()", LATE),
    asked("an answer that is no text", "forge(answer=12)", LATE),
    asked("the number of another question", "forge(later=1, answer='1')"),
    asked("the number as a truth value", "send('{\"number\": true}\\n')"),
    asked("a list instead of a reply", "send('[1, 2]\\n')"),
    asked("no JSON", "send('passed\\n')"),
    asked("bytes that are no text", "os.write(max(pipes()), b'\\xff\\xfe\\n')"),
    asked("nested replies", "send('[' * 500_000 + '\\n')"),
    asked("nested dicts", "send('{\"a\":' * 500_000 + '\\n')"),
    asked("a reply of 40 MB", "send('x' * 40_000_000 + '\\n')"),
    asked(
        "a reply without end",
        "while True:\n    send('x' * 100_000)",
        seconds=(4, 60),
    ),
    asked(
        "a reply in small pieces",
        "import time\nwhile True:\n    send(' ')\n    time.sleep(0.01)",
        seconds=(3, 60),
    ),
    asked(
        "a reply of empty lists",
        "forge(answer='{\"list\": [' + '{\"list\": []},' * 300_000 + 'null]}')",
        LATE,
    ),
    asked(
        "a number of a million digits", "send('{\"number\": ' + '1' * 10**6)"
    ),
    ran(
        "replies in advance", "for n in range(1, 60):\n    forge(n, answer='1')"
    ),
    ran(
        "replies in advance that are right for nothing",
        "for n in range(0, 400):\n"
        "    forge(n, answer=json.dumps({'int': '1024'}), text='', "
        "pictures=[], error=None)",
        # They stand in for the runs of all cells that follow, too.
        LOST,
    ),
    ran("the pipes closed", "for fd in list(pipes()):\n    os.close(fd)"),
    ran(
        "the pipes crossed",
        "a, b = sorted(pipes())[:2]\nos.dup2(a, b)",
        seconds=(3, 60),
    ),
    ran("two processes reply", "os.fork()", LOST),
    ran(
        "the questions read by another",
        "import threading\n"
        "questions = serving()['questions']\n"
        "threading.Thread(target=questions.readline, daemon=True).start()",
        LOST,
        seconds=(4, 24),
    ),
    ran(
        "replies found by the garbage collector",
        "import gc, io\n"
        "for found in gc.get_objects():\n"
        "    if type(found) is io.TextIOWrapper and found.name in range(9):\n"
        "        try:\n"
        '            found.write(\'{"number": 1, "passed": true}\\n\')\n'
        "            found.flush()\n"
        "        except (OSError, ValueError):\n"
        "            pass",
    ),
    ran(
        "replies through the first process",
        "for fd in range(5):\n"
        "    try:\n"
        "        with open(f'/proc/1/fd/{fd}', 'w') as pipe:\n"
        "            pipe.write('{\"number\": 9}\\n' * 20)\n"
        "    except OSError:\n"
        "        pass",
    ),
    ran(
        "a question changed on the way",
        "place = serving()\n"
        "import shardlab.checks.pipes as pipes_module\n"
        "pipes_module.json.loads = lambda *_: {'number': 1, 'ready': 1}",
        LOST,
        seconds=(3, 60),
    ),
    ran(
        "a picture that is no text",
        "forge(text=['a'], pictures={'a': 1}, error='ab')\nforge(1, text='')",
        LOST,
    ),
    ran(
        "pictures that are no pictures",
        "forge(text=5, pictures=['<script>', 7, None, 'é', 'AAAA'], "
        "error=[1, [2], {}])",
        LOST,
    ),
    sent("text that is no encoded answer", "'passed'"),
    sent("an unknown kind", "json.dumps({'pickle': 'gASVBQ=='})"),
    sent(
        "a pickle that would run",
        "json.dumps({'bytes': 'gASVJgAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOU'})",
    ),
    sent("an integer of 100,000 digits", "json.dumps({'int': '9' * 100_000})"),
    sent("an integer of 400 digits", "json.dumps({'int': '9' * 400})"),
    sent("infinity", "json.dumps({'float': 'inf'})"),
    sent("not a number", "json.dumps({'float': 'nan'})"),
    sent("a bare NaN", "'NaN'"),
    sent("keys with one hash", COLLIDING, seconds=(20, 60)),
    sent("a type of many fields", MANY_FIELDS, seconds=(20, 60)),
    sent("a type that is no type", "json.dumps({'array': ['(,)f4', [0], '']})"),
    sent(
        "an array of objects",
        "json.dumps({'array': ['O', [1], 'AAAAAAAAAAA=']})",
    ),
    sent("an array of text", "json.dumps({'array': ['<U9', [0], '']})"),
    sent("an array of dates", "json.dumps({'array': ['<M8[s]', [0], '']})"),
    sent("a part of a type", "json.dumps({'array': ['(9,9)f4', [0], '']})"),
    sent(
        "an array larger than its bytes",
        "json.dumps({'array': ['<f8', [10**6, 10**6], 'AAAA']})",
    ),
    sent(
        "a shape of huge numbers",
        "json.dumps({'array': ['<f8', [0, 10**300], '']})",
    ),
    sent(
        "a shape of truth values",
        "json.dumps({'array': ['<f8', [True], 'AAAAAAAAAAA=']})",
    ),
    sent(
        "sixty dimensions",
        "json.dumps({'array': ['<f8', [1] * 60, 'AAAAAAAAAAA=']})",
    ),
    sent("half a character", "json.dumps('\\ud800' * 9)"),
    sent(
        "a dict with a list as key", "json.dumps({'dict': [[{'list': []}, 1]]})"
    ),
    sent("nested 400 deep", "'{\"list\": [' * 400 + ']}' * 400"),
    sent("nested 100,000 deep", "'{\"list\": [' * 100_000"),
    asked(
        "an error with a long name",
        "forge(raised=['x' * 10**6, 'y' * 10**6, 'z'])",
        LATE,
    ),
    asked("a reason that is no text", "forge(wrong={'a': 1})", LATE),
    asked("an error that is no list", "forge(raised=12)", LATE),
    Row(
        "the reply of the executor",
        without("gather", "mean_gradient"),
        "right",
        {
            "gather": FORGE
            + "\ndef gather(block):\n"
            + "    forge(answer=json.dumps({'bytes': 'AAAA'}), result='{}', "
            + "collectives=[])\n    return block"
        },
    ),
    Row(
        "bytes that are no program",
        without("gather", "mean_gradient"),
        "right",
        {
            "gather": FORGE
            + "\ndef gather(block):\n"
            + "    import base64\n"
            + "    junk = base64.b64encode(bytes(range(256)) * 400).decode()\n"
            + "    forge(answer=json.dumps({'bytes': junk}))\n"
            + "    return block"
        },
    ),
    Row(
        "text instead of a program",
        without("gather", "mean_gradient"),
        "right",
        {
            name: FORGE
            + f"\ndef {name}(block):\n"
            + f"    forge(answer={answer})\n    return block"
            for name, answer in {
                "gather": "json.dumps('passed')",
                "mean_gradient": "json.dumps({'list': []})",
            }.items()
        },
    ),
    Row(
        "a device that is no number",
        simple_without("place"),
        "simple",
        {
            "place": FORGE
            + "\ndef place(x):\n"
            + "    forge(answer=json.dumps({'dict': [['a', 1], [None, 2]]}))\n"
        },
    ),
    Row(
        "blocks that are no dict",
        simple_without("place"),
        "simple",
        {
            "place": FORGE
            + "\ndef place(x):\n    forge(answer=json.dumps({'int': '8'}))\n"
        },
    ),
)
