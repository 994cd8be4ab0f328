"""What the picture of a reading shows."""

import pytest

from arrowroot._pictures import style
from arrowroot.cli import main

from .conftest import N_ENTRIES

pytest.importorskip("matplotlib")


def test_no_entry_is_delivered_before_the_batch_that_it_is_in(sample, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(style, "save", lambda figure, _path: figures.append(figure))
    assert main(["perf", str(sample[0]), "--plot", str(tmp_path / "p.png")]) == 0
    lines = [line for axes in figures[0].axes for line in axes.get_lines()]
    reads = next(line for line in lines if line.get_linestyle() == "None")
    delivered = next(line for line in lines if line.get_linestyle() == "-")
    # A line without steps would have the first entries of a batch come before the last of its reads.
    assert delivered.get_drawstyle() == "steps-pre"
    assert delivered.get_xdata()[-1] == N_ENTRIES
    assert max(reads.get_ydata()) <= delivered.get_ydata()[-1]
