"""Damages notebooks, formulas and programs, and sees that each is refused.

    python -m tests.grading.fuzz [--seed N] [--rounds N] [--minutes N]

Each round damages a notebook, an archive, a formula and an answer, some rounds
also an exported program, in its bytes or in its words, and gives it to what
reads it when grading. It may be taken, or refused with a sentence; a program
that is taken must do what was counted. Anything else is a finding, printed with
the seed that repeats it. The exit status is 1 when there is one.

`make test-long` tries seeds that never change, so many rounds of each. By hand,
`--minutes 60` takes fresh seeds, one after the other, for an hour.
"""

import argparse
import base64
import contextlib
import dataclasses
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import zipfile
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import P
from jax._src.export import _export
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from shardlab.checks import executor, expression, layout, plain, program
from shardlab.checks.compare import WrongAnswer
from shardlab.grading import contents, intake

PIECES = (
    b'{ } [ ] , : " null true NaN 1e999 -0 \\ud800 \\u0000 \xff \xef\xbb\xbf '
    b'"cells" "nbformat" "source" "cell_type" "metadata" "nbgrader" "grade_id" '
    b"PK\x03\x04 4 5 -1"
).split(b" ")
TEXT = (
    "D V k ( ) , + - * ** / // % < == & | ~ 0 1 2 40 1e3 .5 Sum Product Min "
    "Max Abs floor ceiling sqrt log exp factorial binomial Piecewise Eq Mod "
    "True (k, 1, D) (D, True) x.y __import__ lambda [ ] ' \u00e9\u202e"
)
WORDS = TEXT.split(" ")


def damaged(data, draw, pieces=PIECES):
    """Bytes with a few places changed, cut, doubled or filled."""
    data = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        at, end = sorted(draw.randint(0, len(data)) for _ in range(2))
        end = min(end, at + draw.choice([1, 4, 60, 4000]))
        data[at:end] = draw.choice(
            [
                b"",
                bytes(data[at:end]) * 2,
                draw.choice(pieces),
                draw.randbytes(draw.randint(1, 8)),
            ]
        )
    return bytes(data)


def notebooks(draw):
    """A damaged notebook, and a damaged archive of it."""
    cells = [
        {
            "cell_type": draw.choice(["code", "markdown", "raw"]),
            "metadata": {"nbgrader": {"grade_id": f"q{n}"}},
            "source": ["x = 1\n", "y = 2"],
        }
        for n in range(draw.randint(0, 6))
    ]
    made = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    data = damaged(json.dumps(made).encode(), draw)
    known = {"a": {("name", "q0"), ("name", "q1")}, "b": {("name", "q2")}}
    with contextlib.suppress(intake.Unfit):
        contents.assignment_of(intake.rewritten(data), known)
    with contextlib.suppress(intake.Unfit):
        contents.members(damaged(archive(), draw))


@cache
def archive():
    """The bytes of a zip archive of two notebooks."""
    import io

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.ipynb", b'{"cells": []}' * 100)
        file.writestr("b/c.ipynb", b"x")
    return made.getvalue()


def formulas(draw):
    """A row of words as a formula, read and computed."""
    text = " ".join(draw.choices(WORDS, k=draw.randint(1, 30)))
    try:
        term = expression.read_formula(text, "D V")
        expression.closed_fault(term)
        expression.evaluate(
            term, {"D": draw.randint(1, 9), "V": draw.randint(1, 9)}
        )
    except (expression.Refused, expression.Undefined):
        pass


def answers(draw):
    """A damaged answer, decoded, and taken for a layout."""
    said = {"numbers": jnp.ones((4, 2)), "mesh": [["X", 2]], "spec": [["X"]]}
    text = plain.encode({**said, "devices": [0, 1]}).encode()
    with contextlib.suppress(ValueError, WrongAnswer):
        layout.blocks(plain.decode(damaged(text, draw).decode("latin-1")))


@cache
def exported():
    """An exported program, and what was asked for."""
    asked = program.request(
        jax.ShapeDtypeStruct((8, 4), "float32"),
        mesh={"X": 2},
        in_specs=P("X"),
        out_specs=P(),
        check_vma=False,
    )

    def gather(block):
        def turn(_, whole):
            return whole + jax.lax.all_gather(block, "X", tiled=True)

        return jax.lax.fori_loop(0, 3, turn, jnp.zeros((8, 4)))

    return nameless(program.export(gather, asked)), asked


def nameless(data):
    """An exported program without names of files: the same in every clone."""
    made = jax.export.deserialize(bytearray(data))
    with make_ir_context():
        module = ir.Module.parse(made.mlir_module())
        PassManager.parse("builtin.module(strip-debuginfo)").run(
            module.operation
        )
        code = _export._module_to_bytecode(module)
    made = dataclasses.replace(made, mlir_module_serialized=code)
    return bytes(made.serialize())


@cache
def printed():
    """The program as StableHLO prints it."""
    with make_ir_context():
        module = jax.export.deserialize(bytearray(exported()[0]))
        return str(module.mlir_module(serialized=False))


def reworded(text, draw):
    """A module's text with one to three words or lines changed."""
    for _ in range(draw.randint(1, 3)):
        how = draw.choice((numbered, exchanged, operands, lines))
        text = how(text, draw)
    return text


def replaced(pattern, text, draw, choices):
    """A text with one place that fits a pattern replaced by a choice."""
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    one = draw.choice(found)
    return text[: one.start()] + draw.choice(choices) + text[one.end() :]


def numbered(text, draw):
    """Another number somewhere, but in an exponent: MLIR's parser of text
    works for hours on 0e+2147483647, and no judge reads text."""
    return replaced(r"(?<![\w%#.+-])-?\d+(?!\w)", text, draw, NUMBERS)


def exchanged(text, draw):
    """Another operation, comparison or type in a place of one."""
    kind = draw.choice(WORDS_OF_MLIR)
    return replaced(rf"\b({'|'.join(kind)})\b", text, draw, kind)


def operands(text, draw):
    """Another value in the place of one."""
    name = r"%[a-zA-Z]*\w+"
    return replaced(name, text, draw, re.findall(name, text))


def lines(text, draw):
    """A line less, one twice, or two that change places."""
    rows = text.split("\n")
    a, b = (draw.randrange(len(rows)) for _ in range(2))
    how = draw.randrange(3)
    if how == 0:
        del rows[a]
    elif how == 1:
        rows.insert(b, rows[a])
    else:
        rows[a], rows[b] = rows[b], rows[a]
    return "\n".join(rows)


NUMBERS = tuple(map(str, (0, 1, -1, 2, 3, 4, 7, 9, 2**31 - 1, -(2**31), 2**32)))
WORDS_OF_MLIR = (
    ("add", "subtract", "multiply", "divide", "maximum", "minimum"),
    ("EQ", "NE", "LT", "LE", "GT", "GE"),
    ("SIGNED", "UNSIGNED", "FLOAT", "TOTALORDER"),
    ("i1", "i8", "i32", "i64", "ui32", "f32", "bf16", "f64"),
    ("all_gather", "all_to_all", "collective_permute", "reduce_scatter"),
    ("true", "false"),
)
# What decides how often the loop runs, and nothing else.
COUNTER = re.compile(
    r"compare \w+, %iterArg_2, %c_0, \w+|dense<-?\d+> : tensor<i32>"
    r"|stablehlo\.\w+ %iterArg_2, %c\b"
)


def modules(draw):
    """A program with other words, inspected like a damaged one."""
    data, asked = exported()
    try:
        with make_ir_context():
            text = reworded(printed(), draw)
            module = ir.Module.parse(text)
            code = _export._module_to_bytecode(module)
    except Exception:
        return  # it is no module, and no judge will see it
    made = jax.export.deserialize(bytearray(data))
    made = dataclasses.replace(made, mlir_module_serialized=code)
    alike = COUNTER.sub("", text) == COUNTER.sub("", printed())
    judged(bytes(made.serialize()), asked, alike)


def programs(draw):
    """A damaged program, inspected: what is counted is what was exported."""
    data, asked = exported()
    judged(damaged(data, draw, (b"\0", b"\1", b"\xff")), asked)


def judged(changed, asked, adds=False):
    """Inspect a program: it is refused, or what it does is counted.

    adds    whether it still adds up what it gathers, once for each time
    """
    encoded = base64.b64encode(changed).decode()
    reply = executor.answer({"inspect": encoded, "request": asked})
    if "refused" not in reply:
        kinds = [(one[0], one[4]) for one in reply["collectives"]]
        # A loop may start where it ends, and gather nothing; then what it
        # returns knows nothing of its argument. No gather goes uncounted.
        if not sum(times for _, times in kinds):
            results = [returned(encoded, asked, number) for number in (1, 2)]
            assert results[0] == results[1], kinds
        times = sum(times for _, times in kinds)
        if adds and times < 100:
            reply = returned(encoded, asked, 1)
            assert (
                "refused" in reply
                or (plain.decode(reply["result"]) == times).all()
            ), kinds


def returned(encoded, asked, number):
    """What a program returns for an array of one number, encoded."""
    arguments = plain.encode([jnp.full((8, 4), float(number))])
    question = {"run": encoded, "arguments": arguments, "request": asked}
    return executor.answer(question)


# Kinds of damage, each in one round of how many.
KINDS = {notebooks: 1, formulas: 1, answers: 1}
# What damages MLIR's memory ends the process that reads it.
IN_A_PROCESS = {programs: 2, modules: 20}


def findings(seed, rounds):
    """Sentences about what was neither taken nor refused.

    Programs are read by a process of their own, as when they are graded: what
    damages MLIR's memory ends that process, and is no finding of ours.
    """
    found, start = list(in_turn(KINDS, seed, range(rounds))), 0
    while start < rounds:
        command = [sys.executable, "-m", "tests.grading.fuzz", "--programs"]
        command += ["--seed", str(seed), "--start", str(start)]
        command += ["--rounds", str(rounds)]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "JAX_NUM_CPU_DEVICES": "8"},
            cwd=Path(__file__).resolve().parents[2],
            text=True,
        )
        lines = [line for line in re.split(r"[\r\n]+", done.stdout) if line]
        found += [line for line in lines if not line.isdecimal()]
        reached = [int(line) for line in lines if line.isdecimal()]
        start = max(reached, default=rounds) + 1
        if done.returncode > 1:
            found.append(f"programs {seed}: it ended with {done.returncode}")
    return found


# Of a processor, for one round.
SECONDS = 20


@contextlib.contextmanager
def bounded():
    """Let a round that works for ever be found, or end this process.

    Our own reading is interrupted, which is a finding. One changed byte can
    make MLIR read for ever, and that only a signal ends: when a submission is
    graded, its deadline does.
    """
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    before, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + 2 * SECONDS, most))
    signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (before, most))


def interrupt(signal, frame):
    """What happens when the time of a round is over."""
    raise TimeoutError(f"it takes more than {SECONDS} s of a processor")


def in_turn(kinds, seed, numbers, progress=False):
    """The findings of these rounds; with `progress`, and their numbers."""
    for number in numbers:
        if progress:
            # The last of these lines says where a process ended.
            print(f"\r{number}", end="", flush=True)
        for kind in [kind for kind in kinds if number % kinds[kind] == 0]:
            draw = random.Random(f"{seed} {number} {kind.__name__}")
            try:
                with bounded() if progress else contextlib.nullcontext():
                    kind(draw)
            except Exception as error:
                said = f"{type(error).__name__}: {error}"[:300]
                yield f"{kind.__name__} {seed} {number}: {said}"


def main():
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.grading.fuzz")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--programs", action="store_true")
    options = parser.parse_args()
    if options.programs:
        rounds = range(options.start, options.rounds)
        for said in in_turn(IN_A_PROCESS, options.seed, rounds, True):
            print(f"\r{said}")
        print(f"\r{options.rounds}")
        return 0
    found, seed, end = [], options.seed, time.monotonic()
    end += 60 * options.minutes
    while not found:
        found = findings(seed, options.rounds)
        print("\n".join(found) or f"nothing found: seed {seed}", flush=True)
        seed += 1
        if time.monotonic() >= end:
            break
    return 1 if found else 0


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 8)
    sys.exit(main())
