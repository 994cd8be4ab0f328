"""Recorded answers: one that changed fails and is shown, today's are recorded on demand, and each session is asked."""

import re

import pytest

from tests import recorded

SESSION = """\
# A remark.
>>> def f(x):
...     return x
>>> f("two\\n\\nlines")
    two
    lines
>>> 1 / 0
$ ls none.root
"""


def test_an_answer_that_changed_is_shown_and_recorded_on_demand(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "HERE", tmp_path)
    (tmp_path / "odd.one.txt").write_text(SESSION)
    with pytest.raises(AssertionError) as caught:
        recorded.session("odd.one", tmp_path)
    added = [line for line in str(caught.value).splitlines() if line.startswith("+ ")]
    assert added[0] == "+    ZeroDivisionError: division by zero"
    assert added[1].startswith("+    ! arrowroot: none.root: ")
    assert added[2:] == ["+    [1]"]
    monkeypatch.setattr(recorded, "RECORDS", True)
    recorded.session("odd.one", tmp_path)
    monkeypatch.setattr(recorded, "RECORDS", False)
    recorded.session("odd.one", tmp_path)
    assert (tmp_path / "odd.one.txt").read_text().startswith(SESSION.replace("$ ls none.root\n", "    Zero"))


def test_every_session_is_asked():
    tests = "".join(path.read_text() for path in recorded.HERE.parent.rglob("test_*.py"))
    kept = {path.stem for path in recorded.HERE.glob("*.txt")}
    assert kept == set(re.findall(r'\bsession\(\s*"([a-z-]+)"', tests))
