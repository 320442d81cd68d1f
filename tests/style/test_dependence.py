"""What is made anew when something changes: one rule, for all that is made."""

from tools import checks, strategies, text


def test_the_pages_follow_what_their_modules_import():
    mine = (text.ROOT / "tools/strategies.py").read_text(encoding="utf-8")
    assert {"shardlab.hw", "shardlab.cost"} <= set(text.all_imported(mine))
    assert strategies.origin() == text.digest(mine, mine)


def test_verdicts_follow_the_instruments_that_check():
    code = "from shardlab.checks import set07"
    found = set(text.all_imported(code))
    assert {"shardlab.count.living", "shardlab.cost", "shardlab.hw"} <= found
    assert checks.origin("07_fsdp") != checks.origin("06_data_parallelism")


def test_a_digest_changes_with_texts_and_imports_alone():
    plain = text.digest("x = 1")
    assert plain == text.digest("x = 2")
    assert plain != text.digest("from shardlab import hw")
    assert plain != text.digest("x = 1", "a text")


def test_what_prints_the_book_makes_nothing_stale(tmp_path, monkeypatch):
    before, lock = text.digest("x = 1"), "requirements.txt"
    lines = (text.ROOT / lock).read_text(encoding="utf-8")
    (tmp_path / lock).write_text(lines + "lxml==0.0\npikepdf==0.0\n")
    monkeypatch.setattr(text, "ROOT", tmp_path)
    assert text.digest("x = 1") == before
    (tmp_path / lock).write_text(lines + "jax==0.0\n")
    assert text.digest("x = 1") != before
