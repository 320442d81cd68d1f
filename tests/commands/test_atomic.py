"""A file that is written is the old one or the new one, and never half."""

import os

import pytest

from tools import atomic


def test_it_writes_what_is_new_and_says_so(tmp_path):
    path = tmp_path / "folder/page.md"
    assert atomic.write(path, "grün\n")
    assert path.read_text(encoding="utf-8") == "grün\n"
    assert not atomic.write(path, "grün\n")
    assert [p.name for p in path.parent.iterdir()] == ["page.md"]


@pytest.mark.parametrize("moment", ["write_text", "replace"])
def test_a_kill_leaves_the_old_text(tmp_path, monkeypatch, moment):
    path = tmp_path / "page.md"
    path.write_text("old")

    def killed(self, text="", **_):
        if moment == "write_text":
            with open(self, "w") as file:
                file.write(text[:2])
        raise KeyboardInterrupt

    place = (type(path), "write_text") if moment == "write_text" else (os,)
    monkeypatch.setattr(place[0], moment, killed)
    with pytest.raises(KeyboardInterrupt):
        atomic.write(path, "new text")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert atomic.write(path, "new text")
    assert [p.name for p in tmp_path.iterdir()] == ["page.md"]
