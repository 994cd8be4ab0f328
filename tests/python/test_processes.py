"""Scans that are stopped, forked or asked for with absurd numbers."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arrowroot

EVENTS = Path(__file__).parents[1] / "fixtures" / "events.root"


def test_a_cancelled_scan_raises_an_error_of_arrowroot():
    native = arrowroot.open(EVENTS)["events"]._native.scan(["number"])
    native.cancel()
    with pytest.raises(arrowroot.ArrowrootError, match="cancelled"):
        native.next_batch()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_is_told_that_a_scan_stays_with_its_parent():
    tree = arrowroot.open(EVENTS)["events"]
    native = tree._native.scan(n_threads=2, batch_bytes=1000)
    native.next_batch()
    child = os.fork()
    if child == 0:
        try:
            native.next_batch()
        except arrowroot.InvalidRequestError as error:
            os._exit(7 if "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert native.next_batch() is not None


def test_no_more_threads_work_than_there_are_cores(tmp_path):
    values = np.random.default_rng(1).random(2_000_000).round(2)
    arrowroot.write(f"{tmp_path}/large.root:t", {"x": values, "y": values}, flush=10_000)
    tree = arrowroot.open(tmp_path / "large.root")["t"]
    native = tree._native.scan(n_threads=16)
    while native.next_batch() is not None:
        pass
    assert 1 <= native.stats()["n_threads"] <= len(os.sched_getaffinity(0))
    found = pa.Table.from_batches(tree.scan(n_threads=16))
    assert np.array_equal(found["y"].to_numpy(), values)


def test_what_is_no_regular_file_is_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(arrowroot.StorageError, match=r"it is a pipe.*: save it first"):
        arrowroot.open(pipe)
    with pytest.raises(arrowroot.StorageError, match="not a regular file"):
        arrowroot.open("/dev/null")


def test_several_threads_read_one_tree_at_once():
    tree = arrowroot.open(EVENTS)["events"]
    expected = tree.to_arrow()
    with ThreadPoolExecutor(8) as pool:
        tables = pool.map(lambda n: tree.to_arrow(n_threads=1 + n % 3), range(32))
    assert all(table.equals(expected) for table in tables)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_reads_what_its_parent_has_open():
    tree = arrowroot.open(EVENTS)["events"]
    expected = tree.to_arrow()
    child = os.fork()
    if child == 0:
        os._exit(7 if tree.to_arrow(n_threads=2).equals(expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def every_error():
    for name in arrowroot.__all__:
        kind = getattr(arrowroot, name)
        if isinstance(kind, type) and issubclass(kind, arrowroot.ArrowrootError):
            yield kind


@pytest.mark.parametrize("kind", list(every_error()))
def test_every_error_comes_whole_from_another_process(kind):
    near_misses = ("no column 'a'", "a", ["b"])
    arguments = {
        arrowroot.FilterError: ("wrong", "a + b", 4, 5),
        arrowroot.MissingEventsError: ("no such event", [(1, 2, 3)]),
        arrowroot.NoSuchKeyError: near_misses,
        arrowroot.NoSuchColumnError: near_misses,
    }
    error = kind(
        *arguments.get(kind, near_misses if issubclass(kind, arrowroot.NoSuchKeyError) else ("message",))
    )
    if hasattr(error, "add_note"):  # from Python 3.11 on
        error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def read_a_column_that_is_not_there(path):
    arrowroot.open(path)["Events"].to_arrow("runn")


def test_a_worker_that_misspells_a_column_says_so(sample):
    # An error that cannot be made again there ends the thread that waits for the results.
    with (
        multiprocessing.get_context("spawn").Pool(1) as pool,
        pytest.raises(arrowroot.NoSuchColumnError, match="did you mean 'run'"),
    ):
        pool.map_async(read_a_column_that_is_not_there, [sample[0]]).get(timeout=60)
