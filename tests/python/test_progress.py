"""How far it is: shown where somebody looks, by one bar at a time, and gone at the end."""

import io
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot import _progress
from arrowroot._api import scan as scans
from arrowroot._api.row import Row
from arrowroot._progress import Progress, bar, line

PATIENCE_S = 30
#: This takes the bar away.
GONE = "\r\x1b[K"


def test_the_bar_fills_by_eighths():
    assert bar(0, 4) == "    "
    assert bar(1, 4) == "████"
    assert bar(0.5, 4) == "██  "
    assert bar(1 / 32, 4) == "▏   "
    assert bar(7, 4) == "████"


def test_the_line_says_per_cent_bytes_rate_and_remaining_time():
    text = line("reading", 0.25, 5_000_000, 10**9)
    assert " 25 %  5.00 MB  5.00 MB/s  3.00 s left" in text
    assert "left" not in line("reading", 0, 0, 0)
    assert line("writing", None, 5_000_000, 10**9) == "writing 5.00 MB  5.00 MB/s"
    assert "0 B" not in line("writing", 0.25, 0, 10**9)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def look(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal that is looked at, on which all work takes long; not in a fixture, where pytest has its own."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(_progress, "LONG_S", 0.0)
    return stream


def wait_for(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_progress_shows_on_a_terminal() -> None:
    stream = Terminal()
    # As far as Progress looks: half of the baskets are done.
    scan: Any = SimpleNamespace(
        plan=SimpleNamespace(n_baskets=10, filter=""),
        stats=SimpleNamespace(n_baskets=5, unzip_bytes=3_000_000),
    )
    with Progress("reading", stream) as progress:
        progress.watch(scan)
        wait_for(lambda: " 50 %  3.00 MB" in stream.getvalue())
    assert stream.getvalue().endswith(GONE)


def test_nothing_shows_in_a_pipe_or_where_it_is_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    with Progress("reading", stream) as progress:
        progress.follow(lambda: (0.5, 1000))
        assert progress._thread is None
    for off in ("0", "off", "False", "no"):
        monkeypatch.setenv("ARROWROOT_PROGRESS", off)
        with Progress("reading", Terminal()) as progress:
            progress.follow(lambda: (0.5, 1000))
            assert progress._thread is None


def test_a_notebook_gets_progress_without_codes_of_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    stream = io.StringIO()
    with Progress("reading t", stream) as progress:
        progress.follow(lambda: (0.5, 1000))
        wait_for(lambda: "50 %" in stream.getvalue())
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().endswith("\r")


@pytest.fixture
def scan(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> ar.Scan:
    """Two batches, before each of which a bar has time to come."""
    ar.write(f"{tmp_path}/a.root:t", {"x": np.arange(10)})
    drawn = scans._batches_of
    n_shown = [0]

    def shows_more() -> bool:
        before, n_shown[0] = n_shown[0], sys.stderr.getvalue().count("%")  # type: ignore[attr-defined]
        return n_shown[0] > before

    def slowly(source: Any) -> Iterator[pa.RecordBatch]:
        for batch in drawn(source):
            wait_for(shows_more)
            yield batch

    monkeypatch.setattr(scans, "_batches_of", slowly)
    return ar.scan(f"{tmp_path}/a.root:t", batch_entries=5)


def test_reading_into_memory_shows_how_far_it_is(scan: ar.Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    assert scan.read_all().num_rows == 10
    assert "reading" in terminal.getvalue()
    assert terminal.getvalue().endswith(GONE)


def test_a_stream_shows_how_far_it_is(scan: ar.Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    assert pa.table(scan).num_rows == 10
    assert "reading" in terminal.getvalue()
    assert terminal.getvalue().endswith(GONE)
    reader = pa.RecordBatchReader.from_stream(scan)
    assert reader.read_next_batch().num_rows == 5
    del reader
    assert Progress._current is None, "a stream that was left shows no more, and keeps nobody from it"


def test_draining_shows_how_far_it_is(scan: ar.Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    assert scan.drain(lambda _: wait_for(lambda: "%" in terminal.getvalue())).n_entries == 10
    assert "reading" in terminal.getvalue()
    assert terminal.getvalue().endswith(GONE)


@pytest.mark.parametrize("options", [{}, {"batch_entries": 4}], ids=str)
def test_of_many_files_the_one_that_is_opened_or_read_is_named(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    paths = [tmp_path / f"{number}.root" for number in range(3)]
    for path in paths:
        ar.write(f"{path}:t", {"x": np.arange(10)})
    terminal = look(monkeypatch)
    add = Row._add

    def slowly(row: Row, opened: Any) -> None:
        if opened.url.endswith("/2.root"):
            wait_for(lambda: "opening 1.root" in terminal.getvalue())
        add(row, opened)

    monkeypatch.setattr(Row, "_add", slowly)
    scan = ar.scan(paths, "t", **options)
    # A pass of several batches is at the file of the last one.
    scan.drain(lambda _: wait_for(lambda: f"reading {scan._source.place()[-6:]}" in terminal.getvalue()))
    assert all(f"reading {path.name}" in terminal.getvalue() for path in paths[:2])


def test_reading_that_takes_less_than_a_second_shows_nothing(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ar.write(f"{tmp_path}/a.root:t", {"x": np.arange(10)})
    monkeypatch.setattr("sys.stderr", stream := Terminal())
    monkeypatch.setattr(_progress, "LONG_S", 3600.0)
    ar.open(tmp_path / "a.root")["t"].to_arrow()
    assert stream.getvalue() == ""


def test_a_loop_over_a_scan_shows_how_far_it_is_while_it_waits_and_may_print(
    scan: ar.Scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = look(monkeypatch)
    n_batches = 0
    for _ in scan:
        n_batches += 1
        assert terminal.getvalue().endswith(GONE)
        print("of the loop", file=terminal)
        time.sleep(2.5 * _progress._INTERVAL_S)  # as long as a bar needs to come
        assert terminal.getvalue().endswith("of the loop\n")
    assert n_batches == 2
    assert terminal.getvalue().endswith(GONE)
    for _ in scan:
        break
    assert Progress._current is None, "a loop that was left shows no more, and keeps nobody from it"


def test_work_inside_of_other_work_shows_only_where_that_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with Progress("outer") as outer:
        outer.follow(lambda: (0.5, 1000))
        wait_for(lambda: "outer" in terminal.getvalue())
        with Progress("inner") as inner:
            inner.follow(lambda: (0.1, 10))
            assert inner._thread is None
        with outer.paused(), Progress("inside of a loop") as inner:
            inner.follow(lambda: (0.1, 10))
            wait_for(lambda: "inside of a loop" in terminal.getvalue())
        wait_for(lambda: terminal.getvalue().rpartition("\r")[2].startswith("outer"))
    assert terminal.getvalue().endswith(GONE)


def test_writing_a_scan_shows_one_bar_with_its_share(
    scan: ar.Scan, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = look(monkeypatch)
    ar.write(f"{tmp_path}/new.root:t", scan)
    shown = terminal.getvalue()
    assert "writing" in shown
    assert " 50 %" in shown
    assert "reading" not in shown
    assert shown.endswith(GONE)


def test_appending_shows_the_bytes_so_far(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)

    def batches() -> Iterator[pa.RecordBatch]:
        wait_for(lambda: "writing" in terminal.getvalue())
        yield pa.record_batch({"x": [1, 2]})

    with ar.create(tmp_path / "new.root") as new:
        table = new.tree("t")
        table.append(batches())
        assert terminal.getvalue().endswith(GONE)
    assert "%" not in terminal.getvalue()
    assert ar.open(tmp_path / "new.root")["t"].num_entries == 2
