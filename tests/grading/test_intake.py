"""Intake takes plain notebooks and reports the rest, each path once."""

import io
import json
import os
import socket
import struct
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from shardlab.grading import intake, late, mapping, roster, tables
from tests.each import each

SETS = ["01_sharded_arrays", "02_collectives"]
FILE = "01_sharded_arrays.ipynb"


def cell(source="x = 1", kind="code", **more):
    return {"cell_type": kind, "metadata": {}, "source": source, **more}


def notebook(*cells, **more):
    made = {"cells": list(cells), "metadata": {}, "nbformat": 4}
    return json.dumps(made | {"nbformat_minor": 5} | more).encode()


def put(folder, place, data=None):
    path = Path(folder) / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(notebook(cell()) if data is None else data)
    return path


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "submissions"
    made.mkdir()
    return made


def collect(folder, **more):
    return intake.collect(folder, SETS, folder.parent / "submitted", **more)


def reasons(folder, **more):
    taken, refused = collect(folder, **more)
    return [str(one) for one in refused], [one.place for one in taken]


def test_a_plain_notebook_is_stored_under_our_name(folder):
    put(folder, f"ada/week 1/{FILE}", notebook(cell("print('é')")))
    taken, refused = collect(folder)
    assert refused == []
    assert taken[0][:3] == ("ada", SETS[0], f"ada/week 1/{FILE}")
    stored = folder.parent / "submitted/ada" / SETS[0]
    assert sorted(os.listdir(stored)) == [FILE, "timestamp.txt"]
    read = nbformat.read(stored / FILE, as_version=4)
    nbformat.validate(read)
    assert read.cells[0].source == "print('é')"


def test_only_texts_kinds_and_names_of_cells_are_kept(folder):
    output = {"output_type": "stream", "name": "stdout", "text": "forged"}
    metadata = {
        "tags": ["skip-execution"],
        "nbgrader": {"grade_id": "a", "points": 1000, "locked": False},
    }
    answer = cell(["a\n", "b"], outputs=[output], execution_count=7)
    answer |= {"metadata": metadata, "id": "chosen", "attachments": {"x": {}}}
    data = notebook(answer, metadata={"kernelspec": {"name": "evil"}})
    put(folder, f"ada/{FILE}", data)
    collect(folder)
    path = folder.parent / f"submitted/ada/{SETS[0]}/{FILE}"
    made = json.loads(path.read_text())
    assert made["metadata"]["kernelspec"]["name"] == "python3"
    assert made["cells"] == [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "cell-0",
            "metadata": {"nbgrader": {"grade_id": "a"}},
            "outputs": [],
            "source": "a\nb",
        }
    ]


def test_what_jupyter_writes_is_taken_whole(folder):
    cells = [new_markdown_cell("# α"), new_code_cell("y = 'ŷ'\n\tz\f")]
    made = new_notebook(cells=cells)
    put(folder, f"ada/{FILE}", nbformat.writes(made).encode("utf-8-sig"))
    taken, refused = collect(folder)
    assert refused == []
    path = folder.parent / f"submitted/ada/{SETS[0]}/{FILE}"
    read = nbformat.read(path, as_version=4)
    assert [c.source for c in read.cells] == [c.source for c in cells]
    assert [c.cell_type for c in read.cells] == ["markdown", "code"]


def test_the_same_notebook_has_the_same_digest(folder):
    put(folder, f"ada/{FILE}", notebook(cell(outputs=[]), metadata={"a": 1}))
    put(folder, f"bo/{FILE}", notebook(cell(["x =", " 1"])))
    put(folder, f"cy/{FILE}", notebook(cell("x = 2")))
    taken, _ = collect(folder)
    assert taken[0].digest == taken[1].digest != taken[2].digest


MALFORMED = {
    "empty": (b"", "is not JSON"),
    "cut": (notebook(cell())[:-9], "is not JSON"),
    "latin-1": (notebook(cell("é")).replace(b"\\u00e9", b"\xe9"), "UTF-8"),
    "utf-16": (notebook(cell()).decode().encode("utf-16"), "UTF-8"),
    "deep list": (b"[" * 200_000, "nested too deep"),
    "deep dict": (b'{"a":' * 200_000, "nested too deep"),
    "long integer": (b'{"cells": ' + b"9" * 5000 + b"}", "no notebook"),
    "NaN": (b'{"cells": NaN, "nbformat": 4}', "without cells"),
    "Infinity": (b'{"cells": [], "nbformat": -Infinity}', "no notebook"),
    "twice": (b'{"nbformat": 3, "nbformat": 4}', "same name twice"),
    "a list": (b"[]", "is no notebook"),
    "a word": (b'"nbformat"', "is no notebook"),
    "format 3": (notebook(nbformat=3), "format 3"),
    "format 5": (notebook(nbformat=5), "format 5"),
    "format text": (notebook(nbformat="4"), "is no notebook"),
    "no cells": (b'{"nbformat": 4}', "without cells"),
    "cells a dict": (notebook().replace(b"[]", b"{}"), "without cells"),
    "cell a list": (notebook([]), "in cell 1 that is no cell"),
    "kind": (notebook(cell(), cell(kind="exec")), "in cell 2 that is no cell"),
    "kind a list": (notebook(cell(kind=[1])), "no cell"),
    "no source": (notebook({"cell_type": "code"}), "no text in cell 1"),
    "source a number": (notebook(cell(7)), "no text in cell 1"),
    "source of numbers": (notebook(cell(["a", 7])), "no text in cell 1"),
    "null": (notebook(cell("a\0b")), "null character in cell 1"),
    "surrogate": (notebook(cell("\ud800")), "half a character"),
    "501 cells": (notebook(*[cell()] * 501), "has 501 cells"),
    "6 MB": (notebook(cell("x" * (6 << 20))), "larger than 5 MB"),
    "zip": (b"PK\x03\x04" + b"\0" * 100, "is not JSON"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_notebook_is_refused_with_the_reason(folder, name):
    data, reason = MALFORMED[name]
    put(folder, f"ada/{FILE}", data)
    put(folder, f"bo/{FILE}")
    (said,), taken = reasons(folder)
    assert said.startswith(f"ada/{FILE} ")
    assert reason in said
    assert taken == [f"bo/{FILE}"]
    assert not (folder.parent / "submitted/ada").exists()


@pytest.mark.parametrize(
    "mark",
    [
        None,
        7,
        [],
        {"grade_id": 7},
        {"grade_id": "a\nb"},
        {"grade_id": "a" * 129},
        {"grade_id": "é"},
    ],
)
def test_an_odd_name_of_a_cell_is_dropped(folder, mark):
    odd = cell() | {"metadata": {"nbgrader": mark}}
    put(folder, f"ada/{FILE}", notebook(odd, cell() | {"metadata": 3}))
    assert collect(folder)[1] == []
    path = folder.parent / f"submitted/ada/{SETS[0]}/{FILE}"
    assert all(
        c["metadata"] == {} for c in json.loads(path.read_text())["cells"]
    )


def link_file(folder):
    put(folder.parent, "secret.ipynb")
    (folder / "ada").mkdir()
    (folder / "ada" / FILE).symlink_to(folder.parent / "secret.ipynb")


def link_folder(folder):
    put(folder.parent, f"secret/{FILE}")
    (folder / "ada").symlink_to(folder.parent / "secret")


def link_inside(folder):
    put(folder.parent, f"secret/{FILE}")
    (folder / "ada").mkdir()
    (folder / "ada/week").symlink_to(folder.parent / "secret")


def dangling(folder):
    (folder / "ada").mkdir()
    (folder / "ada" / FILE).symlink_to("nowhere")


def loop(folder):
    (folder / "ada").mkdir()
    (folder / "ada" / FILE).symlink_to(".")


def hard_link(folder):
    source = put(folder.parent, "secret.ipynb")
    (folder / "ada").mkdir()
    os.link(source, folder / "ada" / FILE)


def device(folder):
    (folder / "ada").mkdir()
    try:
        os.mknod(folder / "ada" / FILE, 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


def fifo(folder):
    (folder / "ada").mkdir()
    os.mkfifo(folder / "ada" / FILE)


def unix_socket(folder):
    (folder / "ada").mkdir()
    here = os.getcwd()
    os.chdir(folder / "ada")  # its path may be at most 107 bytes long
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(FILE)
    finally:
        os.chdir(here)


def a_folder(folder):
    (folder / "ada" / FILE).mkdir(parents=True)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (link_file, "is no plain file"),
        (link_folder, "is no plain file"),
        (link_inside, "is no plain file"),
        (dangling, "is no plain file"),
        (loop, "is no plain file"),
        (hard_link, "is a hard link"),
        (device, "is no plain file"),
        (fifo, "is no plain file"),
        (unix_socket, "is no plain file"),
        (a_folder, "is an empty folder"),
    ],
)
def test_what_is_no_plain_file_is_refused(folder, make, reason):
    make(folder)
    (said,), taken = reasons(folder)
    assert reason in said
    assert taken == []
    assert not list((folder.parent).glob("submitted/*/*/*"))


def test_a_file_that_becomes_a_link_is_not_followed(folder, monkeypatch):
    put(folder.parent, "secret.ipynb", notebook(cell("secret")))
    path = put(folder, f"ada/{FILE}")
    listed = intake.refuse_conflicts

    def swap(*arguments):
        path.unlink()
        path.symlink_to(folder.parent / "secret.ipynb")
        return listed(*arguments)

    monkeypatch.setattr(intake, "refuse_conflicts", swap)
    (said,), taken = reasons(folder)
    assert "cannot be read" in said
    assert taken == []


def test_a_folder_that_becomes_a_link_is_not_followed(folder, monkeypatch):
    put(folder.parent, f"secret/{FILE}")
    path = put(folder, f"ada/{FILE}")
    listed = intake.refuse_conflicts

    def swap(*arguments):
        path.unlink()
        path.parent.rmdir()
        path.parent.symlink_to(folder.parent / "secret")
        return listed(*arguments)

    monkeypatch.setattr(intake, "refuse_conflicts", swap)
    (said,), taken = reasons(folder)
    assert "cannot be read" in said
    assert taken == []


@pytest.mark.parametrize(
    "name", ["..x", "-rf", "Zoë", "a b", "a*", "a;b", "x" * 65, ".hidden", "a."]
)
def test_an_odd_identifier_is_refused(folder, name):
    put(folder, f"{name}/{FILE}")
    (said,), taken = reasons(folder)
    assert "is no identifier" in said
    assert taken == []


@pytest.mark.parametrize("name", ["ada", "A.Lovelace-1815", "0x", "a_b"])
def test_a_plain_identifier_is_taken(folder, name):
    put(folder, f"{name}/{FILE}")
    assert reasons(folder) == ([], [f"{name}/{FILE}"])


def test_identifiers_that_differ_in_case_only_are_refused(folder):
    put(folder, f"Ada/{FILE}")
    put(folder, f"ada/{SETS[1]}.ipynb")
    said, taken = reasons(folder)
    assert len(said) == 2
    assert all("Ada and ada, which differ in case only" in s for s in said)
    assert taken == []


def test_a_folder_beside_one_of_the_roster_changes_nothing(folder):
    put(folder, f"ok/{FILE}")
    put(folder, f"OK/{FILE}")
    said, taken = reasons(folder, students={"ok", "ada"})
    assert said == [f"OK/{FILE} is of OK, who is not on the roster"]
    assert taken == [f"ok/{FILE}"]
    # Without a roster, who was graded before is whom a name means.
    (folder / "OK").rename(folder / "aside")
    collect(folder)
    (folder / "aside").rename(folder / "OK")
    said, taken = reasons(folder)
    assert len(said) == 1
    assert "belongs to one of OK and ok" in said[0]
    assert taken == [f"ok/{FILE}"]


def test_so_are_those_of_an_earlier_folder(folder):
    put(folder, f"Ada/{FILE}")
    collect(folder)
    (folder / "Ada").rename(folder / "ada")
    said, _ = reasons(folder)
    assert "differ in case only" in said[0]


def test_two_notebooks_for_one_thing_are_both_refused(folder):
    put(folder, f"ada/{FILE}")
    put(folder, f"ada/new/{FILE}")
    put(folder, f"bo/{FILE}")
    said, taken = reasons(folder)
    assert len(said) == 2
    assert all("is there twice" in sentence for sentence in said)
    assert taken == [f"bo/{FILE}"]


def test_other_files_are_reported(folder):
    put(folder, f"ada/{FILE}")
    for name in (
        "notes.txt",
        "timestamp.txt",
        "01.zip",
        "01.tar.gz",
        "01_sharded_arrays (1).ipynb",
        ".DS_Store",
        ".ipynb_checkpoints/01_sharded_arrays-checkpoint.ipynb",
        "__MACOSX/._x.ipynb",
        "Thumbs.db",
    ):
        put(folder, f"ada/{name}", b"x")
    put(folder, "readme.md", b"x")
    (folder / "bo").mkdir()
    said, taken = reasons(folder)
    text = "\n".join(said)
    assert taken == [f"ada/{FILE}"]
    assert len(said) == 7
    assert "ada/01.zip is a broken archive; send the notebook" in text
    assert "ada/01.tar.gz is an archive; send the notebook itself" in text
    assert "(1).ipynb is not JSON" in text
    assert "readme.md lies in no student's folder" in text
    assert "bo is an empty folder" in text


def made_of(name, number=4):
    """A notebook with the named cells of an assignment."""
    cells = [
        cell(f"x = {n}", metadata={"nbgrader": {"grade_id": f"{name}-{n}"}})
        for n in range(number)
    ]
    return notebook(*cells)


KNOWN = {
    name: {("name", f"{name}-{n}") for n in range(4)}
    | {("name", "shared"), ("text", "the words of a question")}
    for name in SETS
}


def zipped(**files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("01_sharded_arrays (1).ipynb", made_of(SETS[0])),
        ("01_Sharded_Arrays.IPYNB", made_of(SETS[0])),
        ("Copy of 01_sharded_arrays-final.ipynb", notebook(cell())),
        ("homework.ipynb", made_of(SETS[0])),
        # What the cells say counts, and not the name.
        ("02_collectives_(2).ipynb", made_of(SETS[0])),
        ("work.zip", zipped(**{FILE: made_of(SETS[0])})),
        ("01_sharded_arrays.ipynb.txt", made_of(SETS[0])),
        ("WORK.ZIP", zipped(**{"a/b/x.ipynb": made_of(SETS[0])})),
        (
            "01_sharded_arrays.zip",
            zipped(
                **{
                    "__MACOSX/._x.ipynb": b"\0\1",
                    ".ipynb_checkpoints/x.ipynb": made_of(SETS[0]),
                    "../../../etc/x.ipynb": made_of(SETS[0]),
                    "notes.txt": b"x",
                }
            ),
        ),
    ],
)
def test_a_notebook_is_taken_by_what_it_contains(folder, name, data):
    put(folder, f"ada/{name}", data)
    (taken,), refused = collect(folder, known=KNOWN)
    assert refused == []
    assert taken[:3] == ("ada", SETS[0], f"ada/{name}")


def test_a_zip_may_hold_several_sets(folder):
    both = {f"{n}.ipynb": made_of(name) for n, name in enumerate(SETS)}
    put(folder, "ada/all.zip", zipped(**both))
    taken, refused = collect(folder, known=KNOWN)
    assert refused == []
    assert [one.assignment for one in taken] == SETS


def test_what_else_a_zip_holds_is_named_and_costs_nobody(folder):
    beside = {
        FILE: made_of(SETS[0]),
        f"{SETS[0]}-Copy1.ipynb": made_of(SETS[0], 3),
        "large.ipynb": b" " * (6 << 20),
        "scratch.ipynb": notebook(cell()),
        "more.zip": zipped(**{f"{SETS[1]}.ipynb": made_of(SETS[1])}),
        "broken.ipynb": b"{}",
    }
    data = zipped(**beside)
    at = data.index(b"broken.ipynb") + len(b"broken.ipynb")
    put(folder, "ada/all.zip", data[:at] + b"\xff\xff" + data[at + 2 :])
    (taken,), refused = collect(folder, known=KNOWN)
    assert taken.assignment == SETS[0]
    assert [one.reason for one in refused] == [
        f"holds {SETS[0]}-Copy1.ipynb, which is left aside for {FILE} "
        "beside it",
        "holds broken.ipynb, which cannot be read; send the notebook itself",
        "holds large.ipynb, which is larger than 5 MB; outputs of notebooks "
        "can be cleared",
        "holds more.zip, which is an archive in an archive; send the notebook",
        "holds scratch.ipynb, which is not the notebook of any assignment, by "
        "name or by cells",
    ]


def test_a_zip_of_any_bytes_is_that_zip_s_fault_alone(folder):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(FILE, b"x" * 4000)
    data = bytearray(made.getvalue())
    data[60:80] = b"\xff" * 20
    put(folder, "ada/all.zip", bytes(data))
    data = zipped(**{FILE: made_of(SETS[0])})
    at = data.index(b"PK\1\2")
    huge = struct.pack("<HHQ", 1, 8, 1 << 63)  # where the notebook begins
    entry = bytearray(data[at : data.index(b"PK\5\6")])
    entry[30:32], entry[42:46] = struct.pack("<H", len(huge)), b"\xff" * 4
    end = bytearray(data[data.index(b"PK\5\6") :])
    end[12:16] = struct.pack("<I", len(entry) + len(huge))
    put(folder, "bo/all.zip", data[:at] + entry + huge + end)
    put(folder, f"cy/{FILE}", made_of(SETS[0]))
    (taken,), refused = collect(folder, known=KNOWN)
    assert taken.student == "cy"
    assert [one.student for one in refused] == ["ada", "bo"]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "9" * 5000])
def test_numbers_of_outputs_refuse_no_notebook(folder, number):
    text = notebook(cell("x", outputs=[7])).replace(b"7", number.encode())
    put(folder, f"ada/{FILE}", text)
    taken, refused = collect(folder)
    assert len(taken) == 1
    assert refused == []


@pytest.mark.parametrize(
    ("name", "assignment"),
    [(f"{SETS[1]}.ipynb", SETS[1]), ("hw.ipynb", intake.UNKNOWN)],
)
def test_a_broken_notebook_in_a_zip_is_reported(folder, name, assignment):
    both = {"first.ipynb": made_of(SETS[0]), name: b"{"}
    put(folder, "ada/all.zip", zipped(**both))
    (taken,), (refused,) = collect(folder, known=KNOWN)
    assert taken.assignment == SETS[0]
    assert refused.reason.startswith(f"holds {name}, which is not JSON")
    assert refused[2:] == ("ada", assignment)


@pytest.mark.parametrize(
    ("name", "data", "reason", "assignment"),
    [
        ("01_sharded_arrays (1).ipynb", b"{", "is not JSON", SETS[0]),
        ("hw.ipynb", b"{", "is not JSON", intake.UNKNOWN),
        ("hw.ipynb", notebook(cell()), "is not the notebook of", "unknown"),
        ("hw.zip", b"PK", "is a broken archive", intake.UNKNOWN),
        ("02_collectives.7z", b"7z", "is an archive; send", SETS[1]),
        ("hw.rar", b"Rar!", "is an archive; send", intake.UNKNOWN),
        ("01_sharded_arrays.html", b"<p>", "send the .ipynb", SETS[0]),
        ("02_Collectives (1).PDF", b"%PDF", "send the .ipynb", SETS[1]),
        ("01_sharded_arrays.py", b"1", "send the .ipynb", SETS[0]),
        ("homework.pdf", b"%PDF", "send the .ipynb", intake.UNKNOWN),
        (
            "hw.zip",
            zipped(a_txt=b"x"),
            "holds no notebook",
            "unknown",
        ),
        (
            "hw.zip",
            zipped(**{"a.ipynb": b" " * (6 << 20)}),
            "holds a.ipynb, which is larger than 5 MB",
            "unknown",
        ),
        (
            "hw.zip",
            zipped(**{f"{n}.txt": b"" for n in range(2001)}),
            "more than 2000 files",
            "unknown",
        ),
        (
            "hw.zip",
            zipped(**{f"{n}.ipynb": b"" for n in range(41)}),
            "more than 40 notebooks",
            "unknown",
        ),
        (
            "hw.zip",
            zipped(**{f"{n}.ipynb": made_of(SETS[0]) for n in range(2)}),
            f"holds two notebooks for {SETS[0]}: 0.ipynb and 1.ipynb",
            SETS[0],
        ),
    ],
)
def test_work_that_cannot_be_taken_is_somebody_s(
    folder, name, data, reason, assignment
):
    put(folder, f"ada/{name}", data)
    taken, (refused,) = collect(folder, known=KNOWN)
    assert taken == []
    assert reason in refused.reason
    assert refused[2:] == ("ada", assignment)


def test_copies_beside_the_name_that_was_given_out_change_nothing(folder):
    put(folder, f"ada/{FILE}", made_of(SETS[0]))
    put(folder, "ada/01_sharded_arrays (1).ipynb", made_of(SETS[0], 3))
    (taken,), (refused,) = collect(folder, known=KNOWN)
    assert taken.place == f"ada/{FILE}"
    assert "is left aside for 01_sharded_arrays.ipynb" in refused.reason
    assert refused.assignment == ""


def test_an_export_beside_its_notebook_changes_nothing(folder):
    put(folder, f"ada/{FILE}", made_of(SETS[0]))
    put(folder, "ada/01_sharded_arrays.html", b"<p>")
    put(folder, "ada/notes.txt", b"mine")
    (taken,), refused = collect(folder, known=KNOWN)
    assert taken.place == f"ada/{FILE}"
    assert {one.assignment for one in refused} == {""}


def test_two_copies_without_that_name_are_both_refused(folder):
    for n in (1, 2):
        put(folder, f"ada/01_sharded_arrays ({n}).ipynb", made_of(SETS[0], n))
    taken, refused = collect(folder, known=KNOWN)
    assert taken == []
    assert {one[2:] for one in refused} == {("ada", SETS[0])}
    assert all("is there twice" in one.reason for one in refused)


def test_an_empty_folder_is_no_work(folder):
    (folder / "bo").mkdir()
    _, (refused,) = collect(folder)
    assert refused[2:] == ("", "")


def test_nothing_is_handed_in_after_now(folder):
    path = put(folder, f"ada/{FILE}")
    os.utime(path, (4_000_000_000, 4_000_000_000))
    before = datetime.now(UTC)
    ((_, _, _, _, time),), refused = collect(folder)
    assert refused == []
    assert before <= time <= datetime.now(UTC)


def test_a_timestamp_of_the_student_is_never_taken(folder):
    path = put(folder, f"ada/{FILE}")
    put(folder, "ada/timestamp.txt", b"1999-01-01 00:00:00 UTC")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    (taken,), _ = collect(folder)
    assert taken.time == datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
    stamp = folder.parent / f"submitted/ada/{SETS[0]}/timestamp.txt"
    assert stamp.read_text() == "2001-09-09 01:46:40.000000 UTC\n"


def test_names_cannot_steer_a_terminal(folder):
    (folder / "ada").mkdir()
    put(folder, "ada/\x1b[2J\nbo graded.txt", b"x")
    Path(os.fsdecode(os.fsencode(folder) + b"/ada/\xff")).write_bytes(b"")
    said, _ = reasons(folder)
    assert all(line.isprintable() for line in said)


def test_folders_very_deep_are_reported_once(folder):
    put(folder, "ada/" + "d/" * 30 + FILE)
    said, taken = reasons(folder)
    assert len(said) == 1
    assert "8 folders deep" in said[0]
    assert taken == []


def test_no_folder_is_an_error(tmp_path):
    for place in (tmp_path / "nowhere", put(tmp_path, "file")):
        with pytest.raises(ValueError, match="must be a folder, got"):
            intake.collect(place, SETS, tmp_path / "out")


names = st.sampled_from(
    ["ada", "Ada", "bo", "-x", "zoë", FILE, "02_collectives.ipynb", "n.txt"]
)
trees = st.dictionaries(
    st.lists(names, min_size=1, max_size=4).map("/".join),
    st.sampled_from(["notebook", "broken", "link", "fifo", "folder"]),
    max_size=12,
)


@given(trees)
def test_every_path_is_taken_or_reported_exactly_once(tmp_path_factory, tree):
    folder = tmp_path_factory.mktemp("class") / "submissions"
    folder.mkdir()
    for place, kind in tree.items():
        path = folder / place
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "link":
                path.symlink_to("/etc")
            elif kind == "fifo":
                os.mkfifo(path)
            elif kind == "folder":
                path.mkdir()
            else:
                put(folder, place, b"x" if kind == "broken" else None)
        except OSError:
            continue  # another path is in the way
    leaves = sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir() or not list(path.iterdir())
    )
    taken, refused = collect(folder)
    assert sorted(one.place for one in [*taken, *refused]) == leaves
    keys = [one[:2] for one in taken]
    assert len(keys) == len(set(keys))


def table(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_mapping_says_whose_files_of_any_name_are(folder, tmp_path):
    put(folder, "lovelaceada_1_2_hw.ipynb")
    put(folder, "Boole George_9_assignsubmission_file_/x.ipynb")
    put(folder, "other.ipynb")
    path = table(
        tmp_path,
        "file,student,assignment,submitted\n"
        f"lovelaceada_1_2_hw.ipynb,ada,{SETS[0]},2026-03-01T12:00+02:00\n"
        f"Boole George_9_assignsubmission_file_/x.ipynb,bo,{SETS[1]},\n"
        f"gone.ipynb,cy,{SETS[1]},\n",
    )
    taken, refused = collect(folder, mapping=mapping.read_mapping(path, SETS))
    assert {one[:2] for one in taken} == {("ada", SETS[0]), ("bo", SETS[1])}
    times = {one.student: one.time for one in taken}
    assert times["ada"] == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert [str(one) for one in refused] == [
        "gone.ipynb is in the mapping, but not there",
        "other.ipynb is not in the mapping",
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a.ipynb,-x,01_sharded_arrays,", "is no identifier"),
        ("a.ipynb,ada,99_x,", "assignment must be one of"),
        (",ada,01_sharded_arrays,", "names no file"),
        ("a.ipynb,ada,01_sharded_arrays,yesterday", "date with a time zone"),
        ("a.ipynb,ada,01_sharded_arrays,2026-01-01T10:00", "time zone"),
        ("b.ipynb,cy,01_sharded_arrays,", "for the second time"),
        ("c.ipynb,BO,01_sharded_arrays,", "in line 2 as well"),
    ],
)
def test_a_wrong_line_of_a_mapping_is_named(tmp_path, row, reason):
    head = "file,student,assignment,submitted\n"
    text = f"{head}b.ipynb,bo,01_sharded_arrays,\n{row}\n"
    with pytest.raises(ValueError, match=f"line 3: .*{reason}"):
        mapping.read_mapping(table(tmp_path, text), SETS)


ROSTER = {
    "s1": roster.Student("s1", "Ada", "Lovelace"),
    "s2": roster.Student("s2", "George", "Boole"),
    "s3": roster.Student("s3", "Noëlle", "D'Été"),
    "s4": roster.Student("s4", "Wei", "王"),
}


@each(
    ("place", "student", "assignment"),
    [
        (f"lovelaceada_12_34_{FILE}", "s1", SETS[0]),
        ("lovelaceada_LATE_12_34_01_sharded_arrays-2.ipynb", "s1", SETS[0]),
        (f"George Boole_77_assignsubmission_file_{FILE}", "s2", SETS[0]),
        (f"Boole George_77_assignsubmission_file_/{FILE}", "s2", SETS[0]),
        # What a student named, inside, does not decide whose it is.
        (
            "all/Boole George_77_assignsubmission_file_/"
            f"Ada Lovelace_78_assignsubmission_file_/{FILE}",
            "s2",
            SETS[0],
        ),
        ("deténoelle_1_2_02_collectives.ipynb", "s3", SETS[1]),
        ("王Wei_1_2_02_collectives.ipynb", "s4", SETS[1]),
        (f"s2/{FILE}", "s2", SETS[0]),
        ("somebody_1_2_hw.ipynb", "", ""),
    ],
)
def test_names_of_course_systems_are_guessed(place, student, assignment):
    line = mapping.guessed(place, SETS, ROSTER)
    assert (line["student"], line["assignment"]) == (student, assignment)
    assert line["guess"]


def test_nothing_is_graded_by_a_guess(folder, tmp_path):
    put(folder, f"lovelaceada_12_34_{FILE}")
    put(folder, f"=cmd_1_2_{FILE}")
    lines = mapping.draft(folder, SETS, ROSTER)
    assert [line["file"] for line in lines] == [f"lovelaceada_12_34_{FILE}"]
    path = tmp_path / "mapping.csv"
    columns = [*mapping.NEEDED, *mapping.OPTIONAL]
    tables.write(path, columns, lines)
    with pytest.raises(ValueError, match="line 2: is a guess; check it"):
        mapping.read_mapping(path, SETS)
    tables.write(path, columns, [line | {"guess": ""} for line in lines])
    taken, refused = collect(folder, mapping=mapping.read_mapping(path, SETS))
    assert [one.student for one in taken] == ["s1"]
    assert "is not in the mapping" in str(refused[0])


def test_a_line_without_student_takes_nothing(folder, tmp_path):
    put(folder, "a.ipynb")
    path = table(tmp_path, "file,student,assignment\na.ipynb,,\n")
    said, taken = reasons(folder, mapping=mapping.read_mapping(path, SETS))
    assert said == ["a.ipynb has no student in the mapping"]
    assert taken == []


def test_somebody_who_is_not_on_the_roster_is_refused(folder):
    put(folder, f"ada/{FILE}")
    put(folder, f"eve/{FILE}")
    said, taken = reasons(folder, students={"ada", "bo"})
    assert said == [f"eve/{FILE} is of eve, who is not on the roster"]
    assert taken == [f"ada/{FILE}"]


@pytest.mark.parametrize(
    "text",
    [
        "student,first_name,last_name,email\nada,Ada,Lovelace,a@b.c\n",
        "\ufeffstudent;first_name;last_name;email\r\nada;Ada;Lovelace;a@b.c\r\n",
        "email\tStudent\tlast_name\tfirst_name\na@b.c\tada\tLovelace\tAda\n\n",
        'student,last_name,first_name,email\n ada,"Lovelace",Ada,a@b.c\n,\n',
    ],
)
def test_a_roster_is_read_as_spreadsheets_write_it(tmp_path, text):
    read = roster.read_roster(table(tmp_path, text))
    assert read["ada"][:4] == ("ada", "Ada", "Lovelace", "a@b.c")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: column 'student' is missing"),
        ("name\nada\n", "line 1: unknown column 'name'"),
        ("student,student\na,b\n", "'student' is there twice"),
        ("student\n", "no student stands in it"),
        ("student\nada\nbo\nada\n", "line 4: 'ada' stands in line 2"),
        ("student\nada\nADA\n", "line 3: 'ADA' stands in line 2"),
        ("student\nZoë\n", "line 2: 'Zoë' is no identifier"),
        ("student\nada,x\n", "line 2: 2 cells, but the first line names 1"),
        ('student\n"ada\n', "unexpected end of data"),
        ("student,email\nada,é\n".encode("latin-1"), "line 2: not in UTF-8"),
    ],
)
def test_a_wrong_roster_is_refused_with_the_line(tmp_path, text, reason):
    with pytest.raises(ValueError, match=reason):
        roster.read_roster(table(tmp_path, text))


def test_every_wrong_line_of_a_roster_is_named(tmp_path):
    with pytest.raises(ValueError, match="line 2") as caught:
        roster.read_roster(table(tmp_path, "student\n-a\nbo\n-c\n"))
    assert "line 4" in str(caught.value)


def test_no_file_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="No such file"):
        roster.read_roster(tmp_path / "nowhere.csv")


def test_a_due_date_needs_a_time_zone():
    with pytest.raises(ValueError, match="date with a time zone"):
        late.moment("2026-03-01 10:00")
