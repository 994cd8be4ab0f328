"""Opens, decisions, redirects, retries and each request are logged; nothing is where nobody listens."""

from __future__ import annotations

import io
import logging
import re

import pytest

import arrowroot
from arrowroot import _logging
from arrowroot_servers import Nginx, XRootD

from . import data
from .conftest import EVENTS

COLUMN = "x001"


def texts(caplog, level):
    """The texts of one level that came from the engine."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "arrowroot.storage" and record.levelno == level
    ]


@pytest.mark.parametrize("place", ["http", "http-1-range", "s3", "root"], indirect=True)
def test_opens_strategies_and_each_request_are_logged(place, caplog):
    caplog.set_level(logging.DEBUG, "arrowroot")
    with arrowroot.open(place.url(EVENTS), **place.options) as file:
        scan = file[data.TREE].scan([COLUMN])
        scan.drain()
        accounts = [one for one in file.accounts if one.layer in ("http", "xrootd")]
        size_bytes = file.size_bytes
    strategy, opened = sorted(texts(caplog, logging.INFO), key=lambda text: "opened" in text)
    assert re.search(rf"{EVENTS}: opened in [\d.]+.?s, {size_bytes} bytes$", opened)
    assert re.search(
        rf"{EVENTS}: strategy auto: windows of [\d.]+ [kM]?B, \d+ fetched ahead; the store answers in ",
        strategy,
    )
    requests = texts(caplog, logging.DEBUG)
    for operation in ("read", "readv"):
        n_counted = sum(one.n_attempted for one in accounts if one.operation == operation)
        shape = rf"{EVENTS}: {operation} \d+ bytes from \d+( in \d+ ranges)?( failed after)? [\d.]+.?s$"
        assert len([text for text in requests if re.search(shape, text)]) == n_counted
    assert len(requests) == sum(one.n_attempted for one in accounts if one.operation != "close")


#: The strategies in their own words, for a file of this machine.
REASONS = {
    "auto": r"windows of 2.10 MB, 0 fetched ahead; the store is near",
    "application-only": r"windows of [\d.]+ [kM]?B, 0 fetched ahead",
    "direct": "each basket is a read of its own",
    "storage-only": r"the storage fetches windows of [\d.]+ [kM]?B, 1 ahead",
    "lazy-download": r"segments of [\d.]+ [kM]?B are copied to this machine",
    "readahead": r"one window of 131 kB is read ahead",
    "treecache": r"a vector read for each 30.0 MB of clusters, 0 ahead",
}


@pytest.mark.parametrize("strategy", REASONS)
def test_each_strategy_says_what_it_does(served, caplog, strategy):
    caplog.set_level(logging.INFO, "arrowroot")
    with arrowroot.open(served / EVENTS, strategy=strategy) as file:
        file[data.TREE].to_arrow([COLUMN])
        file[data.TREE].to_arrow([COLUMN], filter=f"{COLUMN} > 0")
    (text,) = [one for one in texts(caplog, logging.INFO) if "strategy" in one]  # once, however many passes
    assert re.search(rf"strategy {strategy}: {REASONS[strategy]}", text)


def test_requests_for_what_python_reads_and_for_local_files_are_logged(served, caplog):
    caplog.set_level(logging.DEBUG, "arrowroot")
    content = (served / EVENTS).read_bytes()
    for given, shown in ((served / EVENTS, EVENTS), (io.BytesIO(content), "BytesIO")):
        caplog.clear()
        with arrowroot.open(given) as file:
            file[data.TREE].to_arrow([COLUMN])
        assert any(shown in text and "opened in" in text for text in texts(caplog, logging.INFO))
        requests = texts(caplog, logging.DEBUG)
        assert requests
        of_reads = rf"{shown}.*: (open|readv? \d+ bytes from \d+( in \d+ ranges)?) [\d.]+.?s$"
        assert all(re.search(of_reads, text) for text in requests), requests


@pytest.mark.parametrize("place", ["http", "root"], indirect=True)
def test_retries_are_warned_of_while_they_are_waited_for(place, caplog):
    caplog.set_level(logging.WARNING, "arrowroot")
    size = (place.directory / EVENTS).stat().st_size
    place.relay.faults([f"{k}:down:{size // 5}:reset" for k in range(3)])
    with arrowroot.open(place.url(EVENTS), **place.options) as file:
        file[data.TREE].to_arrow()
    found = texts(caplog, logging.WARNING)
    assert found
    assert all(re.search(rf"{EVENTS}: .*; try \d+ follows in [\d.]+.?s$", text) for text in found)
    assert {record.levelname for record in caplog.records} == {"WARNING"}


def test_another_replica_is_warned_of(start, served, caplog):
    caplog.set_level(logging.WARNING, "arrowroot")
    spare = start(lambda: Nginx(served))
    url = f"http://127.0.0.1:9/{EVENTS}"
    with arrowroot.open(url, replicas=[spare.url(EVENTS)], retries=0) as file:
        assert file[data.TREE].num_entries == data.N_ENTRIES
    assert [text for text in texts(caplog, logging.WARNING) if "another replica" in text]


def test_redirects_of_http_are_logged(start, served, caplog):
    caplog.set_level(logging.INFO, "arrowroot")
    behind = start(lambda: Nginx(served))
    door = start(lambda: Nginx(served, redirect_to=behind.url("")))
    with arrowroot.open(door.url(f"redirect/{EVENTS}")) as file:
        assert file[data.TREE].num_entries == data.N_ENTRIES
    redirects = [text for text in texts(caplog, logging.INFO) if "redirects to" in text]
    assert redirects
    assert all(f"redirects to http://127.0.0.1:{behind.port}" in text for text in redirects)


def test_redirects_of_xrootd_are_logged(start, served, caplog):
    caplog.set_level(logging.INFO, "arrowroot")
    behind = start(lambda: XRootD(served))
    front = start(lambda: XRootD(served, redirect_to=behind.port))
    with arrowroot.open(front.url(EVENTS)) as file:
        assert file[data.TREE].num_entries == data.N_ENTRIES
    redirects = [text for text in texts(caplog, logging.INFO) if "redirected to" in text]
    assert redirects
    assert all(f"opening is redirected to 127.0.0.1:{behind.port}" in text for text in redirects)


def test_nothing_is_kept_where_nobody_listens(served, monkeypatch):
    kept = []
    monkeypatch.setattr(_logging, "deliver", lambda *events: kept.append(events))
    for level, is_kept in ((logging.CRITICAL, False), (logging.DEBUG, True)):
        monkeypatch.setattr(logging.getLogger("arrowroot"), "level", level)
        logging.getLogger("arrowroot").manager._clear_cache()
        with arrowroot.open(served / EVENTS) as file:
            file[data.TREE].to_arrow([COLUMN])
        assert bool(kept) == is_kept
    monkeypatch.undo()
    logging.getLogger("arrowroot").manager._clear_cache()


def test_a_stream_that_another_library_draws_from_is_logged(served, caplog):
    pa = pytest.importorskip("pyarrow")
    caplog.set_level(logging.DEBUG, "arrowroot")
    with arrowroot.open(served / EVENTS) as file:
        scan = file[data.TREE].scan([COLUMN])
        caplog.clear()
        pa.RecordBatchReader.from_stream(scan).read_all()
    assert texts(caplog, logging.DEBUG)


def test_warnings_are_logged_too(tmp_path, served, caplog):
    caplog.set_level(logging.WARNING, "arrowroot")
    content = (served / EVENTS).read_bytes()
    (tmp_path / "cut.root").write_bytes(content[: len(content) // 2])
    with pytest.warns(arrowroot.CutShortWarning) as warned:
        arrowroot.open(tmp_path / "cut.root")
    (record,) = [one for one in caplog.records if one.name == "arrowroot"]
    assert record.getMessage() == str(warned[0].message)
    assert record.filename == "test_logging.py"


class MishapError(Exception):
    """Raised while Python logs, as Ctrl-C may be."""


def test_what_is_raised_while_python_logs_comes_to_the_caller(served, caplog, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    caplog.set_level(logging.DEBUG, "arrowroot")

    def interrupted(record):
        raise MishapError(record.getMessage())

    def of_a_stream(scan):
        pa.RecordBatchReader.from_stream(scan).read_all()

    with arrowroot.open(served / EVENTS) as file:
        for draw in (list, of_a_stream):
            scan = file[data.TREE].scan([COLUMN])
            with monkeypatch.context() as patched:
                patched.setattr(logging.getLogger("arrowroot.storage"), "filters", [interrupted])
                with pytest.raises(MishapError, match=EVENTS):
                    draw(scan)
                with pytest.raises(MishapError, match=EVENTS):
                    arrowroot.open(served / EVENTS)
