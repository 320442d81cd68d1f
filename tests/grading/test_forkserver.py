"""Programs of many students in one sandbox, each student's in a fork."""

import os
import textwrap
from pathlib import Path

import pytest

from shardlab.grading import judge, sandbox
from shardlab.grading.sandbox import Sandbox, Stopped

# A program of a student's that broke out of the compiler, at its worst: what a
# test says is run as Python where programs are run.
BROKEN = """
import os, signal, subprocess, sys, time
from shardlab.grading import forkserver

seen = []

def answer(question):
    found = {}
    exec(question["code"], globals(), found)
    return {"found": found.get("found")}

if __name__ == "__main__":
    forkserver.serve_in_forks(answer)
"""


@pytest.fixture(params=[True, False], ids=["sandbox", "no sandbox"])
def isolated(request):
    return request.param


in_a_sandbox = pytest.mark.parametrize(
    "isolated", [True], ids=["sandbox"], indirect=True
)


@pytest.fixture
def opened(tmp_path, monkeypatch, isolated):
    """A sandbox around BROKEN."""
    (tmp_path / "broken.py").write_text(BROKEN)
    tmp_path.chmod(0o755)
    visible = sandbox.visible()
    monkeypatch.setattr(sandbox, "visible", lambda: [*visible, str(tmp_path)])
    library = Path(sandbox.shardlab.__file__).parent.parent
    variables = {"PYTHONPATH": f"{library}:{tmp_path}"}
    with Sandbox("broken", isolated=isolated, variables=variables) as box:
        box.ready()
        yield box


def told(box, code):
    """What `found` is after some code ran in a fork."""
    reply = box.ask({"code": textwrap.dedent(code)}, 30)
    return reply["found"]


def fresh(box):
    """Let the next submission begin."""
    box.ask({"fresh": True}, 30)


def test_one_submission_is_one_fork(opened):
    code = "import os; seen.append(1); found = [os.getpid(), len(seen)]"
    first, second = told(opened, code), told(opened, code)
    assert (first[0], first[1], second[1]) == (second[0], 1, 2)


def test_the_next_submission_sees_nothing_of_the_last(opened):
    code = "import os; seen.append(1); found = [os.getpid(), len(seen)]"
    first = told(opened, code)
    fresh(opened)
    other = told(opened, code)
    assert other[0] != first[0]
    assert other[1] == 1


def test_a_fork_has_no_pipe_but_its_own(opened):
    files = """
        import os
        parent, found = f"/proc/{os.getppid()}/fd", []
        mine = {os.readlink(f"/proc/self/fd/{n}") for n in range(40)
                if os.path.exists(f"/proc/self/fd/{n}")}
        found = sorted(name for name in mine if name.startswith("pipe"))
    """
    pipes = told(opened, files)
    assert len(pipes) == 2  # one in, one out
    ours = {
        os.readlink(f"/proc/self/fd/{pipe.fileno()}")
        for pipe in (opened.process.stdin, opened.process.stdout)
    }
    assert not ours & set(pipes)


@in_a_sandbox  # without one it has all rights
def test_a_fork_cannot_look_into_the_process_it_comes_from(opened):
    code = """
        import os
        try:
            open(f"/proc/{os.getppid()}/mem", "rb")
            found = "opened"
        except OSError as error:
            found = type(error).__name__
    """
    assert told(opened, code) == "PermissionError"


@in_a_sandbox  # without one others have files and processes, too
@pytest.mark.parametrize(
    "trace",
    [
        "open('/tmp/left', 'w').close()",
        "open('/dev/shm/left', 'w').close()",
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        """,
    ],
    ids=["file", "shared memory", "process"],
)
def test_a_sandbox_in_which_something_was_left_ends(opened, trace):
    told(opened, trace)
    with pytest.raises(Stopped):
        fresh(opened)
    assert opened.process.poll() is not None


def test_a_reply_that_waits_is_not_the_next_submissions(opened):
    code = """
        import json, sys
        frame = sys._getframe()
        while frame.f_code.co_name != "serve":
            frame = frame.f_back
        lies = [{"found": "a lie", "number": n} for n in range(9)]
        for lie in lies:
            frame.f_locals["replies"].write(json.dumps(lie) + "\\n")
        frame.f_locals["replies"].flush()
    """
    with pytest.raises(Stopped):
        told(opened, code)  # the first line has another number


def test_lies_behind_a_true_reply_go_with_the_fork(opened):
    number = opened.asked + 1
    code = f"""
        import json, sys
        frame = sys._getframe()
        while frame.f_code.co_name != "serve":
            frame = frame.f_back
        for n in range({number}, {number + 9}):
            lie = {{"found": "a lie", "number": n}}
            frame.f_locals["replies"].write(json.dumps(lie) + "\\n")
        frame.f_locals["replies"].flush()
    """
    assert told(opened, code) == "a lie"  # about itself it can lie
    fresh(opened)
    assert told(opened, "found = 'true'") == "true"


def test_a_fork_that_ends_is_no_reply(opened):
    with pytest.raises(Stopped):
        told(opened, "import os; os._exit(0)")


def test_a_sandbox_that_is_not_well_is_not_used(monkeypatch):
    kept = []
    settings = (judge.Seconds(), False, sandbox.LIMITS, {}, kept)
    with judge.Notebook(*settings) as notebook:
        first = notebook.box(judge.EXECUTOR)
    assert kept == [first]
    with judge.Notebook(*settings) as notebook:
        assert notebook.box(judge.EXECUTOR) is first
        assert kept == []
    first.process.kill()
    first.process.wait()
    with judge.Notebook(*settings) as notebook:
        second = notebook.box(judge.EXECUTOR)
        assert second is not first
    assert kept == [second]
    second.close()


def test_none_is_kept_where_nobody_keeps_it():
    with judge.Notebook(judge.Seconds(), False, sandbox.LIMITS, {}) as notebook:
        box = notebook.box(judge.EXECUTOR)
    assert box.process.poll() is not None


def test_a_sandbox_that_ends_while_it_starts_is_started_once_more(monkeypatch):
    tries = []

    class Ill(Sandbox):
        def ready(self):
            tries.append(self)
            if len(tries) in (1, 3, 4):
                self.process.kill()
            super().ready()

    monkeypatch.setattr(judge, "Sandbox", Ill)
    settings = judge.Seconds(), False, sandbox.LIMITS, {}
    with judge.Notebook(*settings) as notebook:
        assert notebook.box(judge.RUNNER) is tries[1]
    with (
        judge.Notebook(*settings) as notebook,
        pytest.raises(sandbox.Unavailable, match="it ended"),
    ):
        notebook.box(judge.EXECUTOR)
    assert len(tries) == 4
    assert all(box.process.poll() is not None for box in tries)


def test_a_students_process_looks_for_garbage_among_its_own_things_only():
    cell = "import gc; print(gc.isenabled(), gc.get_freeze_count() > 100_000)"
    with Sandbox(judge.RUNNER) as box:
        box.ready()
        assert box.ask({"cell": cell}, 20)["text"].strip() == "True True"
