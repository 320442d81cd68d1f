"""What bench computes of its measurements; no time is judged here."""

import json
import subprocess
import sys
import time

import pytest

import bench.__main__ as command
from bench import measuring, run_notebook


def test_an_exponent_is_the_slope_of_logarithms():
    sizes = [1, 2, 4, 8]
    assert measuring.exponent(sizes, [3 * n**2 for n in sizes]) == (
        pytest.approx(2)
    )
    assert measuring.exponent(sizes, [5] * 4) == pytest.approx(0)
    # Above and below the line by the same factor: the line stays.
    noisy = [1 * 1.1, 2 / 1.1, 4 / 1.1, 8 * 1.1]
    assert measuring.exponent(sizes, noisy) == pytest.approx(1)


def test_a_row_has_the_medians_of_both_clocks():
    found = measuring.row("x", [1, 9, 2], [0.5, 0.1, 0.3], 7, "n", 4)
    assert (found["seconds_median"], found["cpu_seconds_median"]) == (2, 0.3)
    assert (found["runs"], found["peak_bytes"], found["goal"]) == (3, 7, 4)


def test_memory_is_the_peak_of_one_run():
    found = measuring.measured("x", lambda: bytearray(10**6), runs=2)
    assert 10**6 <= found["peak_bytes"] < 2 * 10**6
    assert found["runs"] == 2


def test_topics_are_kept_side_by_side_in_the_file_of_the_day(tmp_path):
    day = {"date": "2026-01-02", "load": 0.1}
    path = command.keep(tmp_path, day, "ring", [1])
    assert path == tmp_path / "2026-01-02.json"
    command.keep(tmp_path, day, "plan", [2])
    command.keep(tmp_path, day, "ring", [3])
    found = json.loads(path.read_text())
    assert list(found) == ["plan", "ring"]
    assert found["ring"] == {"machine": day, "rows": [3]}
    other = command.keep(tmp_path / "mine.json", day, "ring", [4])
    assert other == tmp_path / "mine.json"


@pytest.mark.parametrize(("cpu", "goal"), [(None, None), (0.25, 2)])
def test_a_line_says_both_clocks_and_the_goal(cpu, goal):
    row = measuring.row("a name", [1.5], [0.25], 2_000_000, "a note", goal)
    text = command.line(row | {"cpu_seconds_median": cpu})
    assert text.startswith("a name")
    assert "1.5000 s" in text
    assert ("0.2500 s" in text) is (cpu is not None)
    assert ("goal 2 s" in text) is (goal is not None)
    assert text.endswith("a note")


def test_pages_of_files_count_once_and_a_process_s_own_each_time():
    kernel = {"RssAnon": 100, "RssShmem": 10, "RssFile": 50}
    worker = {"RssAnon": 30, "RssShmem": 0, "RssFile": 40}
    assert run_notebook.together([kernel]) == 160
    assert run_notebook.together([kernel, worker]) == 190
    assert run_notebook.together([]) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_several_processes_is_added():
    code = "import sys; x = bytes(range(256)) * 2**18; sys.stdin.read()"
    command = [sys.executable, "-c", code]  # 64 MiB each
    memory = run_notebook.Memory()
    memory.start()
    pair = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(2)]
    try:
        while memory.peak < 2 * 2**26 and memory.is_alive():
            if any(p.poll() is not None for p in pair):
                break
            time.sleep(0.01)
    finally:
        for process in pair:
            process.communicate()
        memory.stop()
    assert memory.most >= 2
    assert 2 * 2**26 <= memory.peak < 4 * 2**26
    assert run_notebook.resident(pair[0].pid) == {}
