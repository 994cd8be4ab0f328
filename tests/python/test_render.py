import io
import sys
import time
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot import _progress, _render
from arrowroot._progress import Progress
from arrowroot._render import cell_text, scalar_text
from arrowroot.cli.ls import stems
from tests.recorded import session


def test_texts_are_as_a_terminal_shows_them(tmp_path):
    session("render", tmp_path, {**vars(_render), **vars(_progress), "pa": pa, "stems": stems})


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, [], [1, 2], [1] * 9], pa.list_(pa.int8())),
        ([[[1.5, None]], []], pa.large_list(pa.list_(pa.float32()))),
        ([[1, 2]], pa.list_(pa.int8(), 2)),
        (["", "abc", "é" * 40, "名" * 40, "🐬" * 33, "🐬" * 32, "a\x1b"], pa.string()),
        ([b"\0\xff", b"x" * 100], pa.large_binary()),
        ([{"a": 1, "b": [None, "x" * 50]}], pa.struct({"a": pa.int8(), "b": pa.list_(pa.string())})),
        ([True, None], pa.bool_()),
    ],
)
def test_an_arrow_value_is_shown_as_the_python_value_is(values, kind):
    array = pa.array(values, type=kind)
    assert [scalar_text(scalar) for scalar in array] == [cell_text(value) for value in array.to_pylist()]


PATIENCE_S = 60


class Terminal(io.StringIO):
    def isatty(self):
        return True


class SlowScan:
    """As far as Progress looks: half of the baskets are done."""

    plan = SimpleNamespace(n_baskets=10, filter="")
    stats = SimpleNamespace(n_baskets=5, unzip_bytes=3_000_000)


def test_progress_shows_on_a_terminal():
    stream = Terminal()
    with Progress("reading", stream) as progress:
        progress.watch(SlowScan())
        deadline = time.monotonic() + PATIENCE_S
        while " 50 %  3.00 MB" not in stream.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_does_not_show_in_a_pipe():
    stream = io.StringIO()
    with Progress("reading", stream) as progress:
        progress.watch(SlowScan())
        time.sleep(0.35)
    assert stream.getvalue() == ""


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_reading_into_memory_shows_how_far_it_is_where_somebody_looks(tmp_path, monkeypatch):
    from arrowroot._api import scan as scans

    ar.write(f"{tmp_path}/a.root:t", {"x": np.arange(10)})
    scan = ar.scan(f"{tmp_path}/a.root:t")
    assert not isinstance(scans.shown(scan, "x"), Progress)  # a pipe
    monkeypatch.setattr("sys.stderr", _Terminal())
    assert isinstance(scans.shown(scan, "x"), Progress)
    with scans.shown(scan, "x"):
        scan.read_all()
    assert not sys.stderr.getvalue(), "what takes less than a second shows nothing"
    with Progress("reading t", after_s=0) as progress:
        progress.watch(scan)
        time.sleep(0.3)
    assert "reading t" in sys.stderr.getvalue()
    monkeypatch.setenv("ARROWROOT_PROGRESS", "0")
    monkeypatch.setattr("sys.stderr", _Terminal())
    with Progress("reading t", after_s=0) as progress:
        progress.watch(scan)
        time.sleep(0.2)
    assert not sys.stderr.getvalue()


def test_a_notebook_gets_progress_without_codes_of_terminals(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with Progress("reading t", after_s=0) as progress:
        progress.follow(lambda: (0.5, 1000))
        time.sleep(0.3)
    text = sys.stderr.getvalue()
    assert "50 %" in text
    assert "\x1b" not in text
    assert text.endswith("\r")
