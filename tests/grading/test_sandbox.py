import os
import subprocess
import tempfile
from pathlib import Path

import pyseccomp
import pytest

from shardlab.grading import proof, sandbox
from shardlab.grading.sandbox import Limits, Sandbox, Stopped, Unavailable

RUNNER = "shardlab.grading.runner"
GB = sandbox.GB
FORGE = """\
import sys

def replies():
    frame = sys._getframe()
    while frame.f_code.co_name != "serve":
        frame = frame.f_back
    return frame.f_locals["replies"]

pipe = replies()
"""


def said(box, cell, seconds=20):
    """The text that a cell prints."""
    reply = box.ask({"cell": cell}, seconds)
    assert reply["error"] is None, reply["error"]
    return reply["text"].strip()


def stops(cell, seconds=20, largest=sandbox.MAX_REPLY):
    """How a sandbox ends that runs this cell."""
    with Sandbox(RUNNER) as box:
        box.ready()
        with pytest.raises(Stopped) as stopped:
            box.ask({"cell": cell}, seconds, largest)
        assert box.process.poll() is not None
    return stopped.value


@pytest.fixture(scope="module")
def box():
    with Sandbox(RUNNER, variables={"SHARD_BY_SHARD_STUDENT": "ada"}) as made:
        made.ready()
        yield made


def test_questions_are_answered_in_order(box):
    assert [said(box, f"print({n})") for n in range(5)] == list("01234")


def test_nothing_of_ours_is_seen(box):
    root = Path(sandbox.shardlab.__file__).parent.parent
    for name in ("solutions", "book", "tests", "work", ".git", "tools"):
        path = root / name
        assert said(
            box, f"import os; print(os.path.lexists({str(path)!r}))"
        ) == ("False")
    found = said(box, f"import os; print(sorted(os.listdir({str(root)!r})))")
    assert set(eval(found)) <= {"shardlab", ".venv"}


def test_the_environment_is_its_own(monkeypatch):
    monkeypatch.setenv("SHARD_BY_SHARD_SEED", "12345")
    variables = {"SHARD_BY_SHARD_STUDENT": "ada"}
    with Sandbox(RUNNER, variables=variables) as box:
        box.ready()
        seen = said(box, "import os; print(dict(os.environ))")
        first = said(box, "print(open('/proc/1/environ').read())")
    assert "'SHARD_BY_SHARD_STUDENT': 'ada'" in seen
    assert "'HOME': '/tmp/home'" in seen
    assert "SEED" not in seen + first
    assert set(first.strip().split("\0")) <= {"PWD=/", ""}


LINKS = """
import os
for process in ("1", "self"):
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            print(os.readlink(f"/proc/{process}/fd/{name}"))
        except OSError:
            pass  # that which lists them
"""
WRITES = """
try:
    open("/proc/1/fd/2", "w").write("x" * 100_000)
    print("written")
except OSError:
    print("not")
"""


def test_no_file_of_ours_is_inherited(box):
    kinds = {link.split(":")[0] for link in said(box, LINKS).split()}
    assert kinds <= {"pipe", "anon_inode", "/dev/null"}
    assert said(box, WRITES) == "not"


def test_how_it_was_started_is_not_seen(box):
    words = said(box, "print(open('/proc/1/cmdline').read())").split("\0")
    assert Path(words[0]).name == "bwrap"
    assert words[1] == "--args"
    assert "--ro-bind" not in words


def test_eight_devices_are_there(box):
    cell = (
        "import jax; jax.config.update('jax_num_cpu_devices', 8);"
        "print(len(jax.devices()))"
    )
    assert said(box, cell) == "8"


@pytest.mark.parametrize(
    "folder", ["/dev", "/proc", "/sys", "/etc", "/", "/usr"]
)
def test_no_folder_of_the_system_can_be_written(box, folder):
    cell = (
        f"try:\n    open('{folder}/x', 'w').close(); print('written')\n"
        "except OSError:\n    print('not')"
    )
    assert said(box, cell) == "not"


def test_no_address_is_reached(box):
    cell = (
        "import socket\n"
        "wire = socket.socket()\n"
        "wire.settimeout(1)\n"
        "print(wire.connect_ex(('192.0.2.1', 80)) != 0)"
    )
    assert said(box, cell) == "True"


def test_its_folder_holds_what_the_limits_say(box):
    cell = "import os; s = os.statvfs('/tmp'); print(s.f_blocks * s.f_frsize)"
    assert int(said(box, cell)) == sandbox.LIMITS.space


def test_a_deadline_is_kept_and_said():
    stopped = stops("while True: pass", 2)  # which by itself has no end
    assert stopped.timed_out
    assert str(stopped) == "it ran longer than 2 s"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("import os; os._exit(0)", "it ended"),
        ("import os, signal; os.kill(os.getpid(), 9)", "it ended"),
        (FORGE + "pipe.write('nonsense\\n'); pipe.flush()", "no answer"),
        (FORGE + "pipe.write('[' * 9**6 + '\\n'); pipe.flush()", "no answer"),
        (FORGE + "pipe.write('[2]\\n'); pipe.flush()", "no answer"),
        (FORGE + "pipe.write('{\"number\": 9}\\n'); pipe.flush()", "no answer"),
        (FORGE + "pipe.write('{}\\n'); pipe.flush()", "no answer"),
        (FORGE + "while True: pipe.write('x' * 9**5)", "more than 6 MB"),
    ],
)
def test_what_is_no_reply_ends_it(cell, words):
    stopped = stops(cell)
    assert words in str(stopped)
    assert not stopped.timed_out


def test_memory_is_limited():
    with Sandbox(RUNNER, Limits(memory=GB // 2)) as box:
        box.ready()
        with pytest.raises(Stopped, match="more memory than allowed"):
            box.ask(
                {"cell": f"x = bytearray({GB}); x[::4096] = x[1::4096]"}, 60
            )


def test_processes_are_limited():
    count = """\
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError:
    pass
print(made)
"""
    with Sandbox(RUNNER, Limits(processes=40)) as box:
        box.ready()
        assert 10 < int(said(box, count)) < 40


def test_files_are_limited(box):
    cell = "f = open('/tmp/big', 'wb')\nf.write(bytes(65 << 20))\nf.flush()"
    kind, message, _ = box.ask({"cell": cell}, 30)["error"]
    assert (kind, "File too large" in message) == ("OSError", True)
    said(box, "f.close(); import os; os.remove('/tmp/big')")


def groups():
    """The control groups of this process's sandboxes."""
    name = f"{sandbox.GROUP}-{os.getpid()}-*"
    return set(sandbox.CGROUPS.glob(name)) | set(
        sandbox.CGROUPS.glob(f"*/{name}")
    )


def test_closing_ends_all_its_processes():
    before = groups()
    daemon = (
        "import os, time\n"
        "for _ in range(20):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        while True: time.sleep(1)\n"
    )
    with Sandbox(RUNNER) as box:
        box.ready()
        said(box, daemon)
        mine = groups() - before
        pids = [
            pid
            for g in mine
            for pid in (g / "cgroup.procs").read_text().split()
        ]
        assert not mine or len(pids) > 20
    assert groups() == before
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
    with pytest.raises(ChildProcessError):
        os.waitpid(box.process.pid, os.WNOHANG)


def test_closing_twice_does_no_harm():
    with Sandbox(RUNNER) as box:
        box.ready()
        box.close()


def test_a_module_that_is_not_there_is_said():
    with (
        Sandbox("shardlab.grading.nowhere") as box,
        pytest.raises(Unavailable, match="did not start: .*No module named"),
    ):
        box.ready()


def test_without_bubblewrap_it_runs_with_our_rights():
    with Sandbox(RUNNER, isolated=False) as box:
        box.ready()
        folder = said(box, "import os; print(os.getcwd())")
        assert os.path.isdir(folder)
        assert said(box, "print(os.getuid())") == str(os.getuid())
    assert not os.path.exists(folder)


def test_the_sandbox_proves_itself(tmp_path):
    sandbox.prove([tmp_path, Path(__file__)])


def test_a_sandbox_that_shows_what_is_hidden_is_refused():
    seen = sandbox.visible()[0]
    with pytest.raises(Unavailable, match=f"does not hold: {seen} is seen"):
        sandbox.prove([seen])


SHARED = ["--unshare-pid", "--unshare-ipc", "--unshare-uts"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("--unshare-all", "network"),
        ("--cap-drop", "did not start|does not hold"),
    ],
)
def test_a_sandbox_that_does_not_hold_is_refused(word, reason, monkeypatch):
    true = sandbox.wrapped

    def weaker(*arguments):
        words = true(*arguments)
        at = words.index(word)
        kept = SHARED if "share" in word else []
        return words[:at] + kept + words[at + 1 :]

    monkeypatch.setattr(sandbox, "wrapped", weaker)
    with pytest.raises(Unavailable, match=reason):
        sandbox.prove()


@pytest.mark.long
def test_a_process_without_the_filter_is_refused(monkeypatch):
    nothing_barred = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    with tempfile.TemporaryFile() as file:
        nothing_barred.export_bpf(file)
        file.seek(0)
        program = file.read()
    monkeypatch.setattr(sandbox, "filter_program", lambda: program)
    with pytest.raises(Unavailable) as refused:
        sandbox.prove()
    reasons = str(refused.value)
    missed = [
        call for call in proof.CALLS if f"{call} can be called" not in reasons
    ]
    # Without any capability the kernel itself may refuse these.
    assert set(missed) <= {"mount_setattr", "open_tree", "userfaultfd", "bpf"}


def test_a_missing_libseccomp_is_named(monkeypatch):
    def missing():
        raise OSError("libseccomp cannot be loaded: not found")

    monkeypatch.setattr(sandbox, "filter_program", missing)
    with pytest.raises(Unavailable, match="apt-get install libseccomp2"):
        sandbox.prove()


UNKNOWN = """\
import ctypes
kernel = ctypes.CDLL(None, use_errno=True)
print(kernel.syscall(5000), ctypes.get_errno())
"""


def test_a_call_that_nobody_knows_is_refused(box):
    assert said(box, UNKNOWN) == "-1 1"


def test_a_looser_limit_is_noticed(monkeypatch):
    true = sandbox.control_groups
    monkeypatch.setattr(
        sandbox, "control_groups", lambda limits: true(Limits())
    )
    small = Limits(memory=GB // 2, processes=64)
    with pytest.raises(Unavailable, match="memory is not limited; processes"):
        sandbox.prove(limits=small)


@pytest.mark.parametrize(
    ("program", "package"), [("bwrap", "bubblewrap"), ("prlimit", "util-linux")]
)
def test_a_missing_program_is_named(program, package, monkeypatch):
    true = sandbox.shutil.which
    monkeypatch.setattr(
        sandbox.shutil, "which", lambda n: None if n == program else true(n)
    )
    with pytest.raises(Unavailable, match=f"{program} is missing.*{package}"):
        sandbox.prove()


def test_other_systems_are_refused(monkeypatch):
    monkeypatch.setattr(sandbox.sys, "platform", "darwin")
    with pytest.raises(Unavailable, match="Linux only"):
        sandbox.prove()


def test_groups_that_a_killed_grader_left_are_removed():
    made = [
        place
        for parent in (sandbox.CGROUPS / "memory", sandbox.CGROUPS)
        if os.access(place := parent, os.W_OK) and parent.is_dir()
    ][:1]
    if not made:
        pytest.skip("control groups cannot be made here")
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = made[0] / f"{sandbox.GROUP}-{gone.pid}-0"
    mine = made[0] / f"{sandbox.GROUP}-{os.getpid()}-999999"
    left.mkdir()
    mine.mkdir()
    sandbox.sweep()
    assert not left.exists()
    assert mine.exists()
    mine.rmdir()


@pytest.mark.parametrize("below", [".", "memory"])
def test_groups_of_both_versions_are_swept(below, tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "CGROUPS", tmp_path)
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = tmp_path / below / f"{sandbox.GROUP}-{ended.pid}-0"
    mine = tmp_path / below / f"{sandbox.GROUP}-{os.getpid()}-0"
    other = tmp_path / below / "somebody-else"
    for group in (left, mine, other):
        group.mkdir(parents=True)
    sandbox.sweep()
    assert not left.exists()
    assert mine.exists()
    assert other.exists()
