"""The tutorial runs from its first line to its last; each line of the pages for newcomers does what it says."""

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrowroot as ar
from arrowroot import cli

DOCS = Path(__file__).parents[2] / "docs"
#: Rows of a table: what others write, and what is written here.
_ROW = re.compile(r"^\| (`.*`.*) \| (`.*`) \|$", re.MULTILINE)


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    n_commands = 0
    # In the order of the page: what a command makes is read by the code below it.
    for code, command in re.findall(r"^```pycon\n((?:.*\n)*?)^```$|^    (arrowroot .*)$", text, re.MULTILINE):
        if command:
            n_commands += 1
            assert cli.main(shlex.split(command)[1:]) == 0, command
            continue
        test = doctest.DocTestParser().get_doctest(code, names, "tutorial.md", None, 0)
        report: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(test, out=report.append, clear_globs=False)
        assert not runner.failures, "".join(report)
        names = test.globs
    assert n_commands >= 5
    assert "stats" in names


def lines_of(page: str) -> list[str]:
    """Return the Python of the right column of a page's table."""
    rows = _ROW.findall((DOCS / page).read_text(encoding="utf-8"))
    return [line.replace("\\|", "|") for _, right in rows for line in re.findall("`([^`]+)`", right)]


@pytest.mark.usefixtures("files_of_the_documents")
@pytest.mark.parametrize("page", ["from-uproot.md", "from-root.md"])
def test_every_line_for_newcomers_runs(page: str) -> None:
    ak = pytest.importorskip("awkward")
    lines = lines_of(page)
    assert len(lines) > 15
    x = np.arange(3.0, dtype="f4")
    file = ar.open("file.root")
    with ar.create("being-written.root") as f:
        names = {
            "ak": ak,
            "ar": ar,
            "np": np,
            "x": x,
            "file": file,
            "tree": file["Events"],
            "h": ar.open("histograms.root")["h_met"],
            "f": f,
        }
        for line in lines:
            closed = f"{line}.close()" if line.startswith("ar.create") else line
            exec(closed, dict(names))  # noqa: S102 - of our documents
