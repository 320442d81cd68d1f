"""Program questions: what a student exports is what is inspected and run."""

import base64
import dataclasses
import json
import os
import random
import resource
import subprocess
import sys
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P, lax
from jax.sharding import AxisType, NamedSharding

from shardlab import count
from shardlab.checks import executor, plain, program, student
from shardlab.checks.question import NotAnswered, WrongAnswer
from tests.each import each

X8 = {"X": 8}
XY = {"X": 4, "Y": 2}
RING = [(i, (i + 1) % 8) for i in range(8)]


def shape(*sizes, dtype="float32"):
    return jax.ShapeDtypeStruct(sizes, dtype)


class Here:
    """Judges in this process; what crosses goes through JSON."""

    def execute(self, question, seconds):
        question = json.loads(json.dumps(question))
        return json.loads(json.dumps(executor.answer(question)))


def asked(*shapes, **options):
    """A request, after its journey to the student."""
    return plain.decode(plain.encode(program.request(*shapes, **options)))


def handed_in(function, request):
    exported = program.export(function, request)
    return program.Program(exported, request, Here())


def judged(program_, request):
    return executor.answer(
        {"inspect": base64.b64encode(program_).decode(), "request": request}
    )


def ring(x):
    """AllGather by seven hops."""
    blocks = [x]
    for _ in range(7):
        blocks.append(lax.ppermute(blocks[-1], "X", RING))
    me = lax.axis_index("X")
    return jnp.stack(blocks)[(me - jnp.arange(8)) % 8].reshape(-1, *x.shape[1:])


def gather(x):
    return lax.all_gather(x, "X", tiled=True)


GATHER = {"mesh": X8, "in_specs": P("X"), "out_specs": P("X")}


@cache
def two_ways():
    request = asked(shape(24, 3), **GATHER)
    return handed_in(ring, request), handed_in(gather, request)


# --- what a program says ------------------------------------------------------


def test_collectives_are_those_of_the_function():
    by_hops, at_once = two_ways()
    assert by_hops.kinds() == {"permute": 7}
    assert set(by_hops.collectives()[0].pairs) == set(RING)
    assert at_once.kinds() == {"all_gather": 1}
    mesh = jax.make_mesh((8,), ("X",), axis_types=(AxisType.Auto,))
    f = jax.shard_map(
        gather, mesh=mesh, in_specs=P("X"), out_specs=P("X"), check_vma=False
    )
    assert at_once.collectives() == count.collectives(f, shape(24, 3))
    assert at_once.volume("X") == 8 * 3 * 3 * 4
    assert by_hops.sent() == at_once.sent() == 7 * 3 * 3 * 4
    assert at_once.gathered() == 8 * 3 * 3 * 4
    assert at_once.live() >= at_once.gathered()
    assert at_once.results() == ["float32[192@X,3]"]


def test_what_is_inspected_is_what_runs():
    x = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)
    for answer in two_ways():
        np.testing.assert_array_equal(answer.run(x), np.tile(x, (8, 1)))


WHOLE = {**GATHER, "out_specs": P(), "check_vma": False}


def right_on_one_device(x):
    return jnp.where(lax.axis_index("X") == 0, gather(x), 0)


def summed_in_turn(x):
    """A sum whose order differs from device to device."""
    total = x
    for _ in range(7):
        x = lax.ppermute(x, "X", RING)
        total = total + x
    return total


def test_every_device_must_hold_the_result():
    x = np.random.default_rng(1).normal(size=(24, 3)).astype(np.float32)
    with pytest.raises(WrongAnswer, match="devices hold different copies"):
        handed_in(right_on_one_device, asked(shape(24, 3), **WHOLE)).run(x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_sums_may_differ_in_their_last_bits(dtype):
    x = np.random.default_rng(1).normal(size=(24, 3)) * 100
    answer = handed_in(
        summed_in_turn, asked(shape(24, 3, dtype=dtype), **WHOLE)
    )
    assert answer.run(x).shape == (3, 3)


def test_copies_that_are_not_numbers_are_alike():
    answer = handed_in(lambda x: gather(x) / 0, asked(shape(24, 3), **WHOLE))
    x = np.arange(72.0).reshape(24, 3)
    np.testing.assert_array_equal(np.isfinite(answer.run(x)), False)


def test_bf16_crosses_and_computes_as_bf16():
    request = asked(shape(8, 4, dtype="bfloat16"), **GATHER)
    answer = handed_in(lambda x: gather(x) / 3, request)
    assert answer.volume() == 8 * 4 * 2
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    expected = np.asarray(x.astype(jnp.bfloat16) / jnp.bfloat16(3))
    np.testing.assert_array_equal(
        answer.run(x)[:8], expected.astype(np.float32)
    )


def test_trees_go_in_and_come_out():
    request = asked(
        shape(16, 4),
        [shape(8), shape(8)],
        {"scale": shape()},
        mesh=XY,
        in_specs=(P(("X", "Y")), P("X"), P()),
        out_specs=(P(), {"a": P("X")}),
    )

    def f(x, ws, options):
        total = lax.psum(x, ("X", "Y"))
        return [total, {"a": ws[0] * options["scale"] + ws[1]}]

    x, w = np.arange(64.0).reshape(16, 4), np.arange(8.0)
    total, parts = handed_in(f, request).run(x, [w, w], {"scale": 2.0})
    np.testing.assert_array_equal(total, x.reshape(8, 2, 4).sum(0))
    np.testing.assert_array_equal(parts["a"], 3 * w)


def test_an_argument_that_is_not_used_may_stay_away():
    request = asked(shape(8), shape(16), **GATHER)
    answer = handed_in(lambda x, y: gather(y), request)
    assert answer.run(np.ones(8), np.arange(16.0)).shape == (128,)
    assert answer.gathered(of=[1]) == 64
    assert answer.gathered(of=[0]) == 0
    with pytest.raises(ValueError, match="of must name arguments"):
        answer.gathered(of=[2])


def test_a_function_of_whole_arrays_is_taken_as_it_is():
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)
    f = jax.shard_map(
        lambda x: lax.psum(x, "X"), mesh=mesh, in_specs=P("X"), out_specs=P()
    )
    request = asked(shape(8, 2), mesh=XY, laid=P("X"), out_specs=P())
    answer = handed_in(f, request)
    assert answer.volume() == 2 * 2 * 2 * 4
    np.testing.assert_array_equal(answer.run(np.ones((8, 2))), 4)
    with pytest.raises(WrongAnswer, match=r"result 0 lies as \[-, -\]"):
        handed_in(f, {**request, "out": {"spec": [["X"]]}}).kinds()


def test_another_order_of_the_mesh_is_no_mistake():
    mesh = jax.make_mesh((2, 4), ("Y", "X"), axis_types=(AxisType.Auto,) * 2)
    f = jax.shard_map(
        lambda x: lax.psum(x, "X"), mesh=mesh, in_specs=P("X"), out_specs=P()
    )
    answer = handed_in(f, asked(shape(8, 2), mesh=XY))
    assert [c.axes for c in answer.collectives()] == [("X",)]
    np.testing.assert_array_equal(answer.run(np.ones((8, 2))), 4)


def test_one_executor_reads_a_program_once(monkeypatch):
    answer = handed_in(gather, asked(shape(40), **GATHER))
    read = []
    original = executor.stablehlo.read_module
    monkeypatch.setattr(
        executor.stablehlo,
        "read_module",
        lambda p: read.append(p) or original(p),
    )
    answer.kinds()
    answer.gathered(of=[0])
    answer.run(np.ones(40))
    assert len(read) == 1


def test_what_is_run_a_few_times_is_compiled_in_haste(monkeypatch):
    monkeypatch.setattr(executor, "HASTY", {"xla_no_such_option": 1})
    answer = handed_in(gather, asked(shape(16), **GATHER))
    assert answer.kinds()  # to look at a program compiles nothing
    with pytest.raises(WrongAnswer, match="xla_no_such_option"):
        answer.run(np.ones(16))


# --- checks for authors -------------------------------------------------------


def test_collectives_that_are_not_allowed_are_named():
    by_hops, at_once = two_ways()
    by_hops.allow("ppermute")
    at_once.allow("psum", "all_gather", axes="X")
    with pytest.raises(
        WrongAnswer,
        match=r"your \w+ uses all_gather over X \(once\); this question allows "
        "ppermute",
    ):
        at_once.allow("ppermute")
    with pytest.raises(WrongAnswer, match=r"7 times\).*allows no collectives"):
        by_hops.allow()
    with pytest.raises(WrongAnswer, match="allows ppermute over Y"):
        by_hops.allow("ppermute", axes="Y")
    with pytest.raises(WrongAnswer, match=r"your \w+ uses no all_gather"):
        by_hops.uses("all_gather")
    at_once.uses("all_gather")
    for check in (at_once.allow, at_once.uses):
        with pytest.raises(ValueError, match="kinds must be"):
            check("all_reduce")


def test_bytes_are_held_against_the_question():
    by_hops, at_once = two_ways()
    at_once.exactly(volume=288, sent=252)
    at_once.at_most("X", volume=288)
    by_hops.exactly("X", volume=252)
    with pytest.raises(WrongAnswer, match="a volume of 288 bytes, which"):
        at_once.exactly(volume=252)
    with pytest.raises(WrongAnswer, match="which is fewer"):
        at_once.exactly(sent=300)
    with pytest.raises(WrongAnswer, match="device 252 bytes, and 100 are"):
        at_once.at_most(sent=100)
    with pytest.raises(ValueError, match="axes must be of the mesh, got 'Y'"):
        at_once.exactly("Y", sent=1)
    with pytest.raises(ValueError, match="give volume, sent, or both"):
        at_once.exactly()


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "float16"])
def test_numbers_are_not_sent_in_fewer_bits_than_they_came(dtype):
    def fewer(x):
        return gather(x.astype(dtype)).astype(x.dtype)

    sent_narrow = handed_in(fewer, asked(shape(24, 3), **GATHER))
    with pytest.raises(WrongAnswer, match=f"sends numbers of {dtype}; those"):
        sent_narrow.volume()


def layered(early):
    def f(x, ws):
        if early:
            ws = [gather(w) for w in ws]
        for w in ws:
            x = jnp.tanh(x @ (w if early else gather(w)))
        return x

    return f


def test_fsdp_holds_one_layer_and_a_program_that_gathers_early_does_not():
    request = asked(shape(8, 16), [shape(16, 16)] * 3, **GATHER)
    one, later = 16 * 16 * 4, handed_in(layered(False), request)
    later.holds_at_most(one, of=[1], live=2 * one)
    early = handed_in(layered(True), request)
    with pytest.raises(WrongAnswer, match="holds 3,072 bytes of gathered"):
        early.holds_at_most(one)
    with pytest.raises(
        WrongAnswer, match="bytes of arrays on a device at a time"
    ):
        early.holds_at_most(3 * one, live=2 * one)


# --- explicit types -----------------------------------------------------------


def typed(In, W):
    W = jax.reshard(W, P(None, "Y", reduced={"X"}))
    return jax.reshard(In @ W, P("X", None))


EXPLICIT = {
    "mesh": XY,
    "laid": (P("X"), P("X", "Y")),
    "explicit": True,
    "out_specs": P("X"),
}


def test_types_that_are_printed_are_held_against_the_program():
    request = asked(shape(8, 16), shape(16, 4), **EXPLICIT)
    answer = handed_in(typed, request)
    printed = program.types(typed, request)
    assert printed[0] == ["reshard", "float32[16,4@Y]{R:X}"]
    assert answer.types(printed) == printed
    assert "float32[16,4@Y]" in answer.constraints()
    assert answer.results() == ["float32[8@X,4]"]
    for forged in (
        [["reshard", "float32[16@X,4]"]],
        [["reshard", "float32[8@X,4]"], ["reshard", "float32[16,4@Y]"]],
    ):
        with pytest.raises(WrongAnswer, match="not those of the program"):
            answer.types(forged)
    with pytest.raises(WrongAnswer, match="leave what moves to the compiler"):
        answer.volume()
    a, b = np.ones((8, 16)), np.arange(64.0).reshape(16, 4)
    np.testing.assert_array_equal(answer.run(a, b), a @ b)


def test_a_result_that_lies_otherwise_is_seen_in_explicit_types():
    request = asked(shape(8, 16), shape(16, 4), **EXPLICIT)
    answer = handed_in(lambda In, W: jax.reshard(In @ W, P()), request)
    with pytest.raises(WrongAnswer, match=r"result 0 lies as \[-, -\]"):
        answer.results()


# --- what a student did -------------------------------------------------------


def prints(x):
    jax.debug.print("x is {}", x)
    return gather(x)


def prints_in_order(x):
    jax.debug.print("x is {}", x, ordered=True)
    return gather(x)


def calls_back(x):
    return jax.pure_callback(np.sin, shape(*x.shape), x)


def observes(x):
    return jax.experimental.io_callback(np.sin, shape(*x.shape), x)


def of_numbers(x):
    return jnp.asarray(np.sin(x))


def of_a_choice(x):
    return x if x.sum() > 0 else -x


def kernel(x):
    return jax.ffi.ffi_call("kernel", shape(*x.shape))(x)


MISTAKES = {
    prints: "it calls back to Python",
    prints_in_order: "it calls back to Python",
    calls_back: "it calls back to Python",
    observes: "it calls back to Python",
    of_numbers: "needs the numbers themselves",
    of_a_choice: "needs the numbers themselves",
    kernel: "code that is not in the program",
    lambda x: lax.psum(x, "Z"): "names a mesh axis that",
    lambda x: (x, x): "as many results as the question",
    lambda x: x @ x[:2]: "stops with TypeError: dot_general",
    lambda x: 1 / 0: "stops with ZeroDivisionError",
    lambda x: gather(x).sum(): "stops with|too few dimensions",
}


@each("f", MISTAKES)
def test_a_function_that_cannot_be_exported_is_explained(f):
    several = "results" in MISTAKES[f]
    out_specs = (P("X"),) * 3 if several else P("X")
    request = asked(shape(24, 3), **{**GATHER, "out_specs": out_specs})
    with pytest.raises(WrongAnswer, match=MISTAKES[f]) as caught:
        program.export(f, request)
    assert "\n" not in str(caught.value)


def test_a_result_that_varies_is_explained():
    request = asked(shape(24, 3), mesh=X8, in_specs=P("X"), out_specs=P())
    with pytest.raises(WrongAnswer, match="still differs between devices"):
        program.export(lambda x: x, request)


@pytest.mark.parametrize("f", [lambda x: None, lambda x: ...])
def test_a_function_that_returns_nothing_is_no_answer(f):
    with pytest.raises(NotAnswered, match="returns nothing yet"):
        program.export(f, asked(shape(8), **GATHER))


def test_too_few_devices_are_named():
    request = asked(shape(64), mesh={"X": 64}, laid=P("X"))
    with pytest.raises(WrongAnswer, match="needs 64 devices and there are 8"):
        program.export(jnp.sin, request)


# --- requests -----------------------------------------------------------------

BAD = {
    "mesh": ((), {"mesh": {}}, "mesh must be a dict"),
    "size": ((), {"mesh": {"X": 0}}, "must be a whole number"),
    "no out": ((), {"in_specs": P()}, "must come with out_specs"),
    "both": ((), {**GATHER, "laid": P()}, "without laid"),
    "no shape": ((3,), {}, "argument 0 must be an array"),
    "no spec": ((shape(8),), {"laid": "X"}, "specs of argument"),
    "axis": ((shape(8),), {"laid": P("Z")}, "mesh must have an axis Z"),
    "long": ((shape(8),), {"laid": P(None, "X")}, "at most 1 entries"),
    "size 9": ((shape(9),), {"laid": P("X")}, "must be divisible"),
    "few": ((shape(8),) * 2, {"laid": (P(),)}, "or 2 of them"),
    "out": ((shape(8),), {"out_specs": 3}, "out_specs must be"),
    "unreduced": (
        (shape(8),),
        {"laid": P(unreduced={"X"})},
        "must not be unreduced",
    ),
}


@each("name", BAD)
def test_a_request_that_makes_no_sense_is_refused(name):
    shapes, options, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        program.request(*shapes, **{"mesh": X8, **options})


@pytest.mark.parametrize("arrays", [(), (np.ones(3),), (np.ones((24, 3)),) * 2])
def test_arrays_must_be_those_of_the_request(arrays):
    with pytest.raises(ValueError, match="arrays must"):
        two_ways()[0].run(*arrays)


# --- attacks ------------------------------------------------------------------

REQUEST = asked(shape(24, 3), **GATHER)


def made(f=gather, spec="X", sizes=(24, 3), platforms=("cpu",), **options):
    """An export that `program.export` would not make."""
    mesh = jax.make_mesh((8,), ("X",), axis_types=(AxisType.Auto,))
    f = jax.shard_map(
        f, mesh=mesh, in_specs=P(spec), out_specs=P("X"), check_vma=False
    )
    x = jax.ShapeDtypeStruct(
        sizes, "float32", sharding=NamedSharding(mesh, P(spec))
    )
    return jax.export.export(jax.jit(f), platforms=platforms, **options)(x)


def other(**changes):
    return dataclasses.replace(made(), **changes)


def polymorphic():
    b = jax.export.symbolic_shape("b")
    x = jax.ShapeDtypeStruct((b[0], 3), "float32")
    return jax.export.export(jax.jit(jnp.sin))(x)


def with_custom_call():
    check = jax.export.DisabledSafetyCheck.custom_call("kernel")
    return made(kernel, disabled_checks=[check])


def of_four_devices():
    mesh = jax.make_mesh((4,), ("X",), axis_types=(AxisType.Auto,))
    x = jax.ShapeDtypeStruct(
        (24, 3), "float32", sharding=NamedSharding(mesh, P("X"))
    )
    return jax.export.export(jax.jit(jnp.sin))(x)


def stating(**shardings):
    """A program whose metadata put its arrays elsewhere."""
    where = made(gather)._in_named_shardings[0].update(spec=P())
    return other(**dict.fromkeys(shardings, (where,)))


HOSTILE = {
    "other platform": (lambda: made(platforms=("tpu",)), "exported for"),
    "two platforms": (lambda: made(platforms=("cpu", "tpu")), "exported for"),
    "four devices": (of_four_devices, "4 devices, expected 8"),
    "one device": (
        lambda: jax.export.export(jax.jit(jnp.sin))(shape(24, 3)),
        "1 devices, expected 8",
    ),
    "polymorphic": (polymorphic, "devices, expected 8|checks to be skipped"),
    "custom call": (with_custom_call, "checks to be skipped"),
    "custom call, hidden": (
        lambda: dataclasses.replace(
            with_custom_call(), disabled_safety_checks=()
        ),
        "custom_call kernel",
    ),
    "other arguments": (
        lambda: made(sizes=(16, 3)),
        r"arguments float32\[16, 3\], expected float32\[24, 3\]",
    ),
    "other layout": (
        lambda: made(spec=None),
        r"argument 0 of the program lies as \[-, -\]",
    ),
    "other type": (
        lambda: other(in_avals=made(sizes=(16, 3)).in_avals),
        "arguments float32",
    ),
    "lies about its type": (
        lambda: dataclasses.replace(
            made(sizes=(16, 3)), in_avals=made().in_avals
        ),
        "not of the type that it states",
    ),
    "lies about its results": (
        lambda: other(out_avals=made(sizes=(16, 3)).out_avals),
        "not of the type that it states",
    ),
    "states another layout": (
        lambda: stating(_in_named_shardings=1),
        "not laid out as it states",
    ),
    "states other results": (
        lambda: stating(_out_named_shardings=1),
        "not laid out as it states",
    ),
    "drops its argument": (
        lambda: other(module_kept_var_idx=()),
        "not of the type that it states",
    ),
    "invents an argument": (
        lambda: other(module_kept_var_idx=(7,)),
        "an argument that it has not",
    ),
    "huge constant": (
        lambda: made(lambda x: x + jnp.zeros((1 << 28, 2)).sum()),
        "an array of 2,147,483,648 bytes",
    ),
}


@each("name", HOSTILE)
def test_a_hostile_program_is_refused(name):
    build, message = HOSTILE[name]
    blob = bytes(build().serialize())
    reply = judged(blob, REQUEST)
    assert list(reply) == ["refused"]
    with pytest.raises(WrongAnswer, match=message):
        program.Program(blob, REQUEST, Here()).kinds()
    run = executor.answer(
        {
            "run": base64.b64encode(blob).decode(),
            "request": REQUEST,
            "arguments": plain.encode([np.ones((24, 3))]),
        }
    )
    assert run == reply


def test_an_honest_program_is_not_refused():
    assert "collectives" in judged(bytes(made().serialize()), REQUEST)


@pytest.mark.parametrize("blob", [b"", b"\0" * 64, b"x" * 1000])
def test_junk_is_refused(blob):
    reply = judged(blob, REQUEST)["refused"]
    assert reply.startswith("not an exported program")


def test_too_many_bytes_are_refused():
    reply = judged(b"\0" * (executor.MAX_PROGRAM + 10), REQUEST)["refused"]
    assert reply == "the program is larger than 4 MB"
    question = {"inspect": "no base64!", "request": REQUEST}
    assert "no base64" in executor.answer(question)["refused"]


@pytest.mark.parametrize("donate", [False, True])
def test_a_donated_argument_is_no_mistake(donate):
    f = jax.jit(gather, donate_argnums=0 if donate else ())
    answer = handed_in(f, asked(shape(24, 3), **GATHER))
    assert answer.run(np.ones((24, 3))).shape == (192, 3)


def test_a_donated_argument_of_the_whole_is_no_mistake():
    made_ = made()
    mesh = jax.make_mesh((8,), ("X",), axis_types=(AxisType.Auto,))
    f = jax.shard_map(
        lambda x: 2 * x, mesh=mesh, in_specs=P("X"), out_specs=P("X")
    )
    x = jax.ShapeDtypeStruct(
        (24, 3), "float32", sharding=made_.in_shardings_jax(mesh)[0]
    )
    donated = jax.export.export(jax.jit(f, donate_argnums=0))(x)
    assert "refused" not in judged(bytes(donated.serialize()), REQUEST)


@each(
    "reply",
    [
        None,
        {},
        {"collectives": None},
        {"collectives": [["all_gather", ["X"], "1", 1, 1, None]]},
        {"collectives": [["all_gather", ["X"], -1, 1, 1, None]]},
        {"collectives": [["all_gather", ["X"], float("nan"), 1, 1, None]]},
        {"collectives": [["something", ["X"], 1, 1, 1, None]]},
        {"collectives": [[]]},
        {"collectives": [["permute", ["X"], 1, 1, 1, [["a", 2]]]]},
        {"refused": 3},
    ],
)
def test_a_reply_that_is_no_count_is_a_wrong_answer(reply):
    class Elsewhere:
        def execute(self, question, seconds):
            return reply

    answer = program.Program(b"", REQUEST, Elsewhere())
    for ask in (
        answer.kinds,
        answer.live,
        lambda: answer.run(np.ones((24, 3))),
    ):
        with pytest.raises(WrongAnswer):
            ask()


def started(seconds=60):
    """The executor as a process, as in a sandbox: so long on a processor."""
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "shardlab.checks.executor"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**environment, "OMP_NUM_THREADS": "1"},
    )
    most = (seconds, seconds)
    resource.prlimit(process.pid, resource.RLIMIT_CPU, most)
    return process


def flipped(blob, draw):
    """The bytes with some bits turned, or cut short."""
    changed = bytearray(blob)
    for _ in range(draw.choice([1, 1, 3, 20])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    if draw.random() < 0.1:
        del changed[draw.randrange(len(changed)) :]
    return base64.b64encode(changed).decode()


def test_damaged_programs_are_refused_or_run_and_never_believed():
    # A process that native code ends, or never leaves (MLIR reads damaged
    # places that name each other again and again), is "stopped" in a sandbox.
    blob = bytes(made(ring).serialize())
    draw, ended, process = random.Random(0), 0, started()
    seen = set()
    try:
        for number in range(200):
            question = {
                "inspect": flipped(blob, draw),
                "request": REQUEST,
                "number": number,
            }
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                process.wait()
                ended, process = ended + 1, started()
                continue
            reply = json.loads(line)
            assert reply["number"] == number
            refused = reply.get("refused")
            assert refused or reply["collectives"]
            assert refused is None or "\n" not in refused
            seen.add(refused is None)
    finally:
        process.kill()
        process.wait()
    assert seen == {True, False}
    assert ended <= 10


def test_nothing_else_can_write_to_the_replies():
    process = started()
    question = {
        "inspect": base64.b64encode(bytes(made().serialize())).decode(),
        "request": REQUEST,
    }
    lines = [{"ready": True, "number": 1}, {**question, "number": 2}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    out, _ = process.communicate(text, timeout=600)
    first, second = map(json.loads, out.splitlines())
    assert first == {"number": 1}
    assert second["collectives"] == [["all_gather", ["X"], 288, 252, 1, None]]
    assert process.returncode == 0


def test_a_check_asks_for_printed_types():
    def resharded(A):
        return jax.reshard(A, P(None, "X"))

    asked = program.request(
        jax.ShapeDtypeStruct((16, 8), np.float32),
        mesh={"X": 8},
        laid=P("X", None),
        explicit=True,
    )
    names = {"f": resharded}
    with student.asking(student.ThisKernel(names), 0):
        printed = student.types("f", asked)
    assert ["reshard", "float32[16,8@X]"] in printed


class Forged(student.ThisKernel):
    """A student's process that prints what it likes."""

    def types(self, name, arguments):
        return plain.encode([["reshard", "float32[16,8@X]"]])


def test_printed_types_that_are_not_the_programs_are_refused():
    asked = program.request(
        jax.ShapeDtypeStruct((16, 8), np.float32),
        mesh={"X": 8},
        laid=P("X", None),
        explicit=True,
    )
    names = {"f": lambda A: A * 2}
    with (
        student.asking(Forged(names), 0),
        pytest.raises(WrongAnswer, match="are not those of the program"),
    ):
        student.types("f", asked)


def by_branches(x):
    """Numbers of which each is chosen by one of the data."""
    numbers = jnp.arange(999.0)
    return lax.cond(x[0, 0] > 0, lambda: numbers + 1, lambda: numbers)


def by_turns(x):
    """Numbers that are made as often as the data say."""

    def turn(carry):
        return carry[0] + 1, carry[1] + 1

    return lax.while_loop(
        lambda carry: carry[0] < x[0, 0], turn, (0.0, jnp.arange(999.0))
    )[1]


@pytest.mark.parametrize("function", [by_branches, by_turns])
def test_constants_among_which_data_choose_are_held(function):
    request = asked(
        shape(8, 2),
        mesh=X8,
        in_specs=P("X"),
        out_specs=P("X"),
        check_vma=False,
    )
    assert handed_in(function, request).live() >= 4 * 999


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: [x, 2 * x][lax.axis_index("X")], "item of a Python list"),
        (
            lambda x: lax.psum_scatter(x, "X", scatter_dimension=1, tiled=True),
            "psum_scatter or all_to_all cuts a dimension",
        ),
        (lambda x: x[0, 0], "a result has too few dimensions"),
    ],
)
def test_a_common_slip_is_named(function, words):
    wanted = asked(shape(16, 3), mesh=X8, in_specs=P("X"), out_specs=P("X"))
    with pytest.raises(WrongAnswer, match=words):
        program.export(function, wanted)


def test_a_message_that_a_branch_decides_is_named():
    sent = program.collective("permute", ["X"], 8, 8, 1, [[0, 1]])
    assert program.pairs("f", sent) == ((0, 1),)
    either = program.collective("permute", ["X"], 8, 8, 1, None)
    with pytest.raises(WrongAnswer, match="two branches of yours"):
        program.pairs("f", either)
