"""Baskets are needed in the order in which ROOT's GetEntry reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import arrowroot as ar

from .compare import RootFiles, written
from .with_event_order import FILES, JOBS, write

if TYPE_CHECKING:
    from pathlib import Path

files = written(write)


def read(path: Path, job: str, **options: Any) -> ar.Scan:
    columns, entries = JOBS[job]
    scan = ar.open(path, strategy="direct")["events"].scan(columns, entries=entries, trace=True, **options)
    scan.drain()
    return scan


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("batch_size", ["64 MB", "40 kB"])
def test_entry_by_entry_the_store_is_asked_as_by_getentry(
    files: RootFiles, file: str, job: str, batch_size: str
) -> None:
    expected = files.expected[file][job]
    scan = read(files / f"{file}.root", job, order="entry", batch_size=batch_size)
    assert [read.offset for read in scan.physical_reads()] == expected
    assert [read.offset for read in scan.logical_reads()] == expected
    ranges = [offset for window in scan.plan.windows for offset, _ in window.ranges]
    assert ranges == expected


def test_the_usual_order_is_another_one(files: RootFiles) -> None:
    expected = files.expected["unflushed"]["all"]
    found = [read.offset for read in read(files / "unflushed.root", "all").physical_reads()]
    assert found != expected
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("job", JOBS)
def test_the_values_are_the_same(files: RootFiles, file: str, job: str) -> None:
    columns, entries = JOBS[job]
    tree = ar.open(files / f"{file}.root")["events"]
    wanted = tree.scan(columns, entries=entries).read_all()
    for batch_size, memory_budget in (("64 MB", "512 MB"), ("30 kB", "512 MB"), ("30 kB", "64 kB")):
        options: Any = {"order": "entry", "batch_size": batch_size, "memory_budget": memory_budget}
        found = tree.scan(columns, entries=entries, n_threads=2, **options).read_all()
        assert found.combine_chunks().equals(wanted.combine_chunks())
