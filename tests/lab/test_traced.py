"""Traces as results keep them, of traces that arrowroot writes."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from arrowroot_lab.documents import from_json, to_json
from arrowroot_lab.pages.pictures import result_reads
from arrowroot_lab.running import traced
from tests.command import done_here

from .made import Made


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    directory = tmp_path_factory.mktemp("trace")
    file, traced_to = directory / "a.root", directory / "a.parquet"
    for arguments in (
        ["sample", "nanoaod", str(file), "--size", "2 MB"],
        ["perf", f"{file}:Events", "--strategy", "direct", "--trace", str(traced_to)],
    ):
        done_here(*arguments)
    return directory / "a.parquet"


def physical(trace):
    return [row for row in pq.read_table(trace).to_pylist() if row["kind"] == "physical"]


def test_all_reads_of_a_short_trace_are_kept(trace):
    told, rows = traced.reads_of(trace), physical(trace)
    assert told["n_reads"] == len(told["offsets"]) == len(rows) <= traced.MAX_READS
    assert sum(told["n_bytes"]) == sum(row["n_bytes"] for row in rows)
    assert sorted(told["offsets"]) == sorted(row["offset"] for row in rows)
    begin = min(row["start_ns"] for row in rows)
    assert max(told["end_ns"]) == max(row["end_ns"] for row in rows) - begin
    json.dumps(told)


def test_of_many_reads_some_are_kept_from_begin_to_end(trace, monkeypatch):
    whole = traced.reads_of(trace)
    monkeypatch.setattr(traced, "MAX_READS", 7)
    told = traced.reads_of(trace)
    assert told["n_reads"] == whole["n_reads"]
    assert len(told["entries"]) == len(told["end_ns"]) == 7
    assert told["offsets"][0] == whole["offsets"][0]


def test_what_is_no_trace_has_no_reads(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no, not at all PAR1")
    assert traced.reads_of(tmp_path / "a.parquet") is None
    assert traced.reads_of(tmp_path / "not-there.parquet") is None
    assert traced.reads_of(tmp_path / "report.xml") is None


def test_the_reads_of_a_result_are_its_picture(trace):
    result = Made(n_runs=1, with_trouble=False).results()[0]
    result.reads = traced.reads_of(trace)
    result = from_json(json.loads(json.dumps(to_json(result))))
    records = result_reads(result).table.records()
    assert sum(record["n_reads"] for record in records) == result.reads["n_reads"]
    assert sum(record["n_bytes"] for record in records) == sum(result.reads["n_bytes"])
    result.reads = {"entries": [1], "offsets": []}
    assert result_reads(result) is None
