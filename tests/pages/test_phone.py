"""Forms of pictures on a phone that are kept beside the notebooks."""

import json

import pytest

from tests.each import each
from tests.pages.test_narrow import box, picture, words
from tests.tree import ROOT
from tools import phone

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
narrow = phone.narrow
forms_on = phone.phone


def drawing():
    """A row of boxes with names, as matplotlib would draw it."""
    row = [box(10 + 60 * n, 20, 50, 40) for n in range(11)]
    names = [words(f"chip {n}", 35 + 60 * n, 45) for n in range(11)]
    return picture(*row, *names)


def notebook(folder, *pictures):
    """A notebook that shows pictures; its path."""
    outputs = [{"data": {phone.SVG: svg}} for svg in pictures]
    path = folder / "01_any.ipynb"
    cells = [{"cell_type": "code", "outputs": outputs}, {"cell_type": "text"}]
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


def sized(svg, wide=525):
    """A picture that says how wide it is, in units."""
    return svg.replace("<svg", f'<svg width="{wide}pt" height="150pt"', 1)


@each("path", CHAPTERS)
def test_the_forms_of_a_chapter_are_kept(path):
    """A build would find them by itself, but it would take twice as long."""
    assert not phone.stale(path), "run: make notebooks"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem[:2])
def test_what_is_kept_is_what_a_build_would_find(path):
    file = json.loads(phone.target_of(path).read_text(encoding="utf-8"))
    pictures = {phone.phone.name_of(svg): svg for svg in phone.pictures(path)}
    few = sorted(pictures)[::4]  # a quarter of them
    assert few
    for name in few:
        found = forms_on.written(narrow.form(pictures[name]))
        assert json.loads(json.dumps(found)) == file["forms"][name]


def test_a_form_is_read_as_it_was_written():
    for path in CHAPTERS[:2]:
        for svg in phone.pictures(path)[:2]:
            form = narrow.form(svg)
            pieces, room, how = forms_on.read(forms_on.written(form))
            assert (room, how) == form[1:]
            for new, old in zip(pieces, form[0], strict=True):
                assert set(new.tags) == set(old.tags)
                assert set(new.labels) == set(old.labels)
                assert new.box == pytest.approx(old.box, abs=0.01)
                assert new.pad == pytest.approx(old.pad, abs=0.01)
                assert set(new.pivots) == set(old.pivots)
                for tag, place in old.pivots.items():
                    assert new.pivots[tag] == pytest.approx(place, abs=0.01)


def test_a_form_that_is_kept_is_not_found_again(tmp_path, monkeypatch):
    path = notebook(tmp_path, sized(drawing()))
    assert phone.keep(path)
    assert not phone.keep(path)  # nothing to write
    assert not phone.stale(path)
    (svg,) = phone.pictures(path)
    monkeypatch.setattr(narrow, "form", None)
    forms_on.kept.cache_clear()
    pieces, _, _ = forms_on.form_of(svg, tmp_path / "phone")
    assert pieces


@pytest.mark.parametrize("fault", ["no file", "other rules", "other picture"])
def test_what_is_not_kept_is_found(tmp_path, fault):
    path = notebook(tmp_path, sized(drawing()))
    phone.keep(path)
    target = phone.target_of(path)
    (svg,) = phone.pictures(path)
    file = json.loads(target.read_text(encoding="utf-8"))
    if fault == "no file":
        target.unlink()
    elif fault == "other rules":
        target.write_text(json.dumps(file | {"rules": "older"}))
    else:
        target.write_text(json.dumps(file | {"forms": {}}))
    assert phone.stale(path)
    forms_on.kept.cache_clear()
    found = forms_on.form_of(svg, tmp_path / "phone")
    assert found == forms_on.read(forms_on.written(narrow.form(svg)))


def test_a_picture_that_a_phone_shows_whole_has_no_form(tmp_path):
    path = notebook(tmp_path, sized(drawing(), wide=200))
    assert phone.pictures(path) == []
    phone.keep(path)
    assert not phone.stale(path)
