import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.wire import namespaces
from shardlab import processes
from shardlab.processes import __main__ as command
from shardlab.processes import child, launch
from tests.each import each

PATIENCE = 60  # seconds within which something must be gone; it takes none
REPEATED = 5


def gone(*pids):
    """Whether processes have ended, which is waited for."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


def file(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(text)
    return path


def environment(**more):
    """What a program needs to find the library, wherever it runs."""
    root = str(Path(__file__).parents[2])
    return os.environ | {"PYTHONPATH": root} | more


# ---- what a run gives back ---------------------------------------------------


def total(numbers):
    import jax
    import numpy as np
    from jax import NamedSharding, P
    from jax.sharding import AxisType

    from shardlab import processes

    processes.join()
    mesh = jax.make_mesh(
        (jax.device_count(),), ("X",), axis_types=(AxisType.Auto,)
    )
    x = np.array(numbers, np.float32)
    x = jax.make_array_from_callback(
        x.shape, NamedSharding(mesh, P("X")), lambda here: x[here]
    )
    summed = jax.jit(
        jax.shard_map(
            lambda x: jax.lax.psum(x, "X"),
            mesh=mesh,
            in_specs=P("X"),
            out_specs=P(),
        )
    )(x)
    print("rank", jax.process_index(), "of", jax.process_count())
    return [float(summed[0]), jax.local_device_count()]


@pytest.mark.parametrize(
    ("ranks", "devices"),
    [
        (1, 8),
        pytest.param(2, 4, marks=pytest.mark.slow),
        pytest.param(4, 2, marks=pytest.mark.slow),
    ],
)
def test_ranks_find_each_other_and_their_results_come_back(ranks, devices):
    heard = []
    numbers = [0.5 * n for n in range(8)]
    run = launch(total, ranks, devices, (numbers,), echo=heard.append)
    assert run.results == [[14.0, devices]] * ranks
    assert run.codes == [0] * ranks
    assert sorted(heard) == [f"[{n}] rank {n} of {ranks}" for n in range(ranks)]
    assert run.said(0) == [f"rank 0 of {ranks}"]


@pytest.mark.slow
def test_a_host_whose_name_has_no_address_will_do():
    def on_loopback(numbers):
        child._stay_on_loopback()
        return total(numbers)

    run = launch(on_loopback, 2, 2, ([1.0] * 4,), echo=None)
    assert run.results == [[4.0, 2]] * 2
    if namespaces.missing() is None:
        words = [*namespaces.renamed("nowhere.invalid"), "env"]
        run = launch(
            total, 2, 2, ([1.0] * 4,), echo=None, under=lambda _: words
        )
        assert run.results == [[4.0, 2]] * 2


@pytest.mark.slow
def test_two_runs_at_once_do_not_meet():
    import threading

    found = {}

    def one(n):
        run = launch(total, 2, 2, ([float(n)] * 4,), echo=None)
        found[n] = run.results[1][0]

    both = [threading.Thread(target=one, args=(n,)) for n in (1, 2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert found == {1: 4.0, 2: 8.0}


def test_a_program_can_be_named_or_be_a_file(tmp_path):
    assert launch("math:factorial", 2, arguments=(5,)).results == [120, 120]
    path = file(tmp_path, "import sys; print(*sys.argv[1:], sep='|')")
    run = launch(path, 1, arguments=("a b", 3), echo=None)
    assert run.said(0) == ["a b|3"]
    assert run.results == [None]


def test_what_is_written_without_python_is_heard_and_gloo_is_not():
    def speak():
        import os
        import subprocess
        import sys

        os.write(1, b"[Gloo] Rank 0 is connected to 1 peer ranks. Expected")
        os.write(1, b" number of connected peer ranks is : 1\n")
        subprocess.run(["echo", "from below"], check=True)
        os.write(1, b"end without a line")
        print("to the side", file=sys.stderr)
        print(7)

    run = launch(speak, 1, echo=None)
    said = ["7", "end without a line", "from below", "to the side"]
    assert sorted(run.said(0)) == said


def test_a_program_has_no_input_and_the_environment_it_is_given():
    def look():
        import os
        import sys

        return [sys.stdin.read(), os.environ["WORD"], os.environ["NUMBER"]]

    run = launch(look, 1, environment={"WORD": "so", "NUMBER": 3})
    assert run.results == [["", "so", "3"]]


def test_words_stand_before_the_command_of_a_rank():
    def name():
        import os

        return os.environ["NAME"]

    run = launch(name, 2, under=lambda rank: ["env", f"NAME=chip {rank}"])
    assert run.results == ["chip 0", "chip 1"]


AROUND = 3


def test_a_program_uses_what_is_imported_around_it():
    def look(wanted):
        def inner():
            return json.dumps([Path(one).name for one in wanted])

        return [inner(), time.strftime("%Y", time.gmtime(0))]

    run = launch(look, 1, arguments=(["a/b"],), echo=None)
    assert run.results == [['["b"]', "1970"]]


def test_a_program_uses_no_value_from_around_it():
    def look():
        return AROUND

    with pytest.raises(TypeError, match="AROUND is neither"):
        launch(look, 1)


# ---- what cannot be run ------------------------------------------------------


def refused():
    around = 3
    yield lambda: around, TypeError, "its own text"
    yield (lambda: 1), TypeError, "no lambda"
    yield len, TypeError, "builtin_function"
    yield 7, TypeError, "got int"
    yield "shardlab", ValueError, "module:function"
    yield "shardlab:a b", ValueError, "module:function"
    yield Path("nowhere.py"), ValueError, "nowhere.py"


@each(("program", "kind", "said"), list(refused()))
def test_what_is_no_program_is_refused(program, kind, said):
    with pytest.raises(kind, match=said):
        launch(program, 1)


def test_what_cannot_cross_is_refused():
    with pytest.raises(TypeError, match="arguments must be numbers"):
        launch("math:sqrt", 1, arguments=(object(),))
    with pytest.raises(processes.Failed, match="must return numbers.*object"):
        launch("builtins:object", 1, echo=None)
    for wrong in ({"ranks": 0}, {"ranks": 1, "devices": -1}):
        with pytest.raises(ValueError, match="must be a whole number"):
            launch("math:sqrt", **wrong)


# ---- when a rank fails -------------------------------------------------------


def test_a_failure_names_its_rank_and_stops_the_others(tmp_path):
    def fall(folder):
        if os.environ["SHARDLAB_RANK"] == "1":
            while len(list(Path(folder).iterdir())) < 2:
                time.sleep(0.05)
            raise ValueError("too many tokens")
        below = subprocess.Popen(["sleep", "3600"])
        print(os.getpid(), below.pid)
        Path(folder, os.environ["SHARDLAB_RANK"]).touch()
        time.sleep(3600)

    with pytest.raises(processes.Failed) as caught:
        launch(fall, 3, arguments=(str(tmp_path),), grace=1, echo=None)
    error = caught.value
    assert error.rank == 1
    assert str(error).startswith("rank 1 of 3 ended with exit code 1\n")
    assert "ValueError: too many tokens" in str(error)
    assert error.run.codes == [None, 1, None]
    others = [pid for n in (0, 2) for pid in error.run.said(n)[0].split()]
    assert len(others) == 4
    assert gone(*others)


@pytest.mark.slow
def test_a_rank_that_is_killed_in_mid_step_ends_the_run():
    def step():
        import os
        import signal

        import jax
        import numpy as np
        from jax import NamedSharding, P
        from jax.sharding import AxisType

        from shardlab import processes

        processes.join()
        mesh = jax.make_mesh((4,), ("X",), axis_types=(AxisType.Auto,))
        cut = NamedSharding(mesh, P("X"))
        x = np.arange(4.0, dtype=np.float32)
        x = jax.make_array_from_callback((4,), cut, lambda here: x[here])
        add = jax.jit(
            jax.shard_map(
                lambda x: jax.lax.psum(x, "X") + x,
                mesh=mesh,
                in_specs=P("X"),
                out_specs=P("X"),
            )
        )
        for n in range(9):
            if n == 3 and jax.process_index() == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            x = jax.block_until_ready(add(x))
            print("step", n)

    with pytest.raises(processes.Failed, match="signal SIGKILL") as caught:
        launch(step, 2, 2, grace=1, echo=None)
    assert caught.value.rank == 1
    assert caught.value.run.said(1)[:3] == ["step 0", "step 1", "step 2"]


@pytest.mark.long
def test_a_run_that_takes_too_long_is_stopped_and_what_it_said_is_kept():
    def wait():
        import os
        import time

        print("here", os.getpid())
        if os.environ["SHARDLAB_RANK"] == "0":
            time.sleep(3600)

    with pytest.raises(processes.TimeOut) as caught:
        launch(wait, 2, seconds=15, echo=None)
    run = caught.value.run
    assert "still running after 15 s" in str(caught.value)
    assert run.codes[0] is None
    assert gone(run.said(0)[0].split()[1])


def test_an_interrupt_leaves_no_process(tmp_path):
    pids = []

    def listener(line):
        pids.append(line.split()[1])
        if len(pids) == 2:
            raise KeyboardInterrupt

    path = file(
        tmp_path, "import os, time; print(os.getpid()); time.sleep(3600)"
    )
    with pytest.raises(KeyboardInterrupt):
        launch(path, 2, echo=listener)
    assert gone(*pids)


def test_a_launcher_that_is_killed_leaves_no_process(tmp_path):
    path = file(
        tmp_path,
        "import os, subprocess, time\n"
        "below = subprocess.Popen(['sleep', '3600'])\n"
        "print(os.getpid(), below.pid)\n"
        "time.sleep(3600)\n",
    )
    launcher = subprocess.Popen(
        [sys.executable, "-m", "shardlab.processes", "--ranks=2", str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    pids = [
        pid for _ in range(2) for pid in launcher.stdout.readline().split()[1:]
    ]
    assert len(pids) == 4
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    launcher.stdout.close()
    assert gone(*pids)


# ---- the command line, and clusters ------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds", "code"),
    [
        ("print('done')", 600, 0),
        ("raise SystemExit(7)", 600, 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 600, 143),
        ("import time; time.sleep(3600)", 3, 124),
    ],
)
def test_the_command_ends_as_its_ranks_do(tmp_path, capfd, text, seconds, code):
    path = str(file(tmp_path, text))
    words = ["--ranks", "2", "--seconds", f"{seconds}", "--grace", "1", path]
    assert command.main(words) == code
    if code == 0:
        assert sorted(capfd.readouterr().out.split("\n")) == [
            "",
            "[0] done",
            "[1] done",
        ]


def test_the_command_says_what_it_cannot_start(capfd):
    assert command.main(["--ranks", "2", "nowhere.py"]) == 2
    assert command.main(["--ranks", "0", __file__]) == 2
    assert "nowhere.py" in capfd.readouterr().err


@pytest.mark.slow
def test_it_runs_as_it_is_under_srun(tmp_path):
    # What Slurm puts into the environment of each task, for two on this host.
    path = file(
        tmp_path,
        "import json, jax\n"
        "from shardlab import processes\n"
        "processes.join()\n"
        "print(json.dumps([jax.process_index(), jax.device_count()]))\n",
    )
    job = {
        "SLURM_JOB_ID": str(os.getpid()),  # the port follows from it
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_NTASKS": "2",
    }
    tasks = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "shardlab.processes"),
                *("--devices", "3", str(path)),
            ],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(
                **job,
                SLURM_PROCID=str(n),
                SLURM_LOCALID=str(n),
                JAX_PLATFORMS="cpu",
            ),
        )
        for n in range(2)
    ]
    said = [task.communicate()[0].splitlines()[-1] for task in tasks]
    assert [json.loads(line) for line in said] == [[0, 6], [1, 6]]


@pytest.mark.slow
def test_without_a_launcher_and_without_a_cluster_it_says_so():
    code = "from shardlab import processes; processes.join()"
    bare = {k: v for k, v in environment().items() if "SLURM" not in k}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=bare,
        check=False,
    )
    assert done.returncode == 1
    assert "coordinator_address should be defined" in done.stderr


def test_an_option_is_one_that_jax_has_and_a_misspelt_one_is_named():
    from inspect import signature

    import jax

    theirs = signature(jax.distributed.initialize).parameters
    for name, option in signature(processes.join).parameters.items():
        assert option.default == theirs[name].default
    with pytest.raises(TypeError, match="heartbeat_seconds"):
        processes.join(heartbeat_seconds=10)


# ---- the strategies ----------------------------------------------------------


def trained(strategy, shape, steps):
    import importlib

    import jax
    import numpy as np
    from jax import NamedSharding, P
    from jax.sharding import AxisType

    from shardlab import processes
    from shardlab.strategies import adam, block

    processes.join()
    strategy = importlib.import_module(f"shardlab.strategies.{strategy}")
    mesh = jax.make_mesh(
        tuple(shape), ("X", "Y"), axis_types=(AxisType.Auto,) * 2
    )
    B, D, F = 16, 24, 40
    random = np.random.default_rng(7)

    def put(like):
        whole = random.normal(size=like.shape).astype("float32")
        return jax.make_array_from_callback(
            like.shape, like.sharding, lambda here: whole[here]
        )

    shapes = block.arguments(strategy, mesh, B, D, F, "float32")
    In, Target, W_in, W_out = map(put, shapes)
    states = block.states(strategy, mesh, D, F)
    pieces = [state[0].sharding for state in states]
    begin = jax.jit(
        lambda *W: tuple(adam.start(w) for w in W),
        out_shardings=tuple((piece,) * 3 for piece in pieces),
    )
    state_in, state_out = begin(W_in, W_out)
    step = jax.jit(block.train(strategy, mesh))
    total = jax.jit(
        lambda parts: parts.sum(), out_shardings=NamedSharding(mesh, P())
    )
    losses = []
    for _ in range(steps):
        parts, _, W_in, W_out, state_in, state_out = jax.block_until_ready(
            step(In, Target, W_in, W_out, state_in, state_out)
        )
        losses.append(float(total(parts)).hex())
    return losses


ON = {
    "dp": (8, 1),
    "zero1": (8, 1),
    "zero2": (8, 1),
    "fsdp": (8, 1),
    "tp": (1, 8),
    "megatron": (1, 8),
    "fsdp_tp": (4, 2),
}


@pytest.mark.long
@pytest.mark.parametrize("strategy", ON)
def test_a_strategy_runs_unchanged_over_processes(strategy):
    found = [
        launch(trained, *split, (strategy, ON[strategy], 3), echo=None).results
        for split in ((1, 8), (2, 4), (4, 2))
    ]
    losses = {tuple(one) for results in found for one in results}
    assert len(losses) == 1
    assert len(set(*losses)) == 3


@pytest.mark.long
def test_several_runs_in_a_row():
    for n in range(REPEATED):
        run = launch(total, 2, 4, ([float(n)] * 8,), echo=None)
        assert run.results == [[8.0 * n, 4]] * 2
