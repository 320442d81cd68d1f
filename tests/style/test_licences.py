"""What others made and the page carries stands beside its licence."""

import re

from tests.tree import ROOT

FONTS = ROOT / "book/style/fonts"


def test_every_typeface_has_its_licence():
    text = (FONTS / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*?\.woff2) \| .*? \| (\S+) \|$", text, re.M)
    named = {file for files, _ in rows for file in files.split(", ")}
    assert named == {path.name for path in FONTS.glob("*.woff2")}
    for _, licence in rows:
        said = (FONTS / licence).read_text(encoding="utf-8")
        assert "SIL OPEN FONT LICENSE" in said


def test_every_script_of_others_has_its_licence():
    vendor = ROOT / "book/style/vendor"
    scripts = sorted(vendor.glob("*.js"))
    assert scripts
    for path in scripts:
        licence = vendor / f"LICENSE-{path.stem}.txt"
        assert "MIT" in licence.read_text(encoding="utf-8")[:200] or (
            "Permission is hereby granted" in licence.read_text("utf-8")
        )
