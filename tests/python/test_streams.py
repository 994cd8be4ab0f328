"""What scans do while they run: memory, threads, the interpreter lock, and who takes them as Arrow."""

import re
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import arrowroot as ar

N_ENTRIES = 400_000


@pytest.fixture(scope="module")
def wide_file(tmp_path_factory):
    """Return a file of some 100 MB in memory, in clusters of 20,000 entries."""
    uproot = pytest.importorskip("uproot")
    path = tmp_path_factory.mktemp("wide") / "wide.root"
    names = [f"x{i}" for i in range(32)]
    values = np.random.default_rng(3).normal(size=20_000).round(3)
    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        tree = file.mktree("Events", dict.fromkeys(names, np.float64))
        for start in range(0, N_ENTRIES, 20_000):
            tree.extend({name: values + start + i for i, name in enumerate(names)})
    return path


def test_python_goes_on_while_a_scan_reads(wide_file):
    tree = ar.open(wide_file)["Events"]
    is_over = threading.Event()
    n_ticks = 0

    def tick():
        nonlocal n_ticks
        while not is_over.wait(0.001):
            n_ticks += 1

    ticker = threading.Thread(target=tick)
    ticker.start()
    before = n_ticks
    tree.scan(batch_size="2 GB", memory_budget="2 GB", n_threads=1).drain()
    during = n_ticks - before
    is_over.set()
    ticker.join()
    # With the lock held, at most one at either end: it is all one batch.
    assert during > 5


def test_counters_can_be_read_while_a_batch_is(wide_file):
    scan = ar.open(wide_file)["Events"].scan(batch_size="2 GB", memory_budget="2 GB", n_threads=1)
    seen = []
    reader = threading.Thread(target=scan.drain)
    reader.start()
    while reader.is_alive():
        seen.append(scan.stats.n_baskets)
        time.sleep(0.002)
    reader.join()
    assert seen == sorted(seen)
    assert any(0 < count < scan.plan.n_baskets for count in seen)


def test_a_scan_is_cancelled_from_another_thread(wide_file):
    scan = ar.open(wide_file)["Events"].scan(batch_size="1 MB")
    n_rows = 0
    for batch in scan:
        n_rows += batch.num_rows
        scan.cancel()
        break
    assert n_rows < N_ENTRIES
    assert sum(batch.num_rows for batch in scan) == N_ENTRIES


@pytest.mark.parametrize("options", [{}, {"filter": "x1 > 20"}], ids=["plain", "filter"])
def test_threads_share_an_iterator_of_batches(wide_file, options):
    scan = ar.open(wide_file)["Events"].scan(["x0", "x1"], batch_size="64 kB", **options)
    expected = pa.Table.from_batches(scan).sort_by("x0")
    batches, drawn, errors = iter(scan), [], []

    def draw():
        try:
            drawn.extend(batches)
        except ValueError as error:
            errors.append(error)

    threads = [threading.Thread(target=draw) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(drawn) > 50
    assert pa.Table.from_batches(drawn).sort_by("x0").equals(expected)
    batches.close()
    assert list(batches) == []


@pytest.mark.filterwarnings("default::arrowroot.MemoryBudgetWarning")
@pytest.mark.parametrize(
    ("budget", "options"), [("8.00 MB", {}), ("16.0 MB", {"filter": "x1 > 20"})], ids=["plain", "filter"]
)
def test_a_budget_for_which_pieces_are_read_again_is_told_once_with_one_that_does(
    wide_file, monkeypatch, budget, options
):
    monkeypatch.setattr(ar.MemoryBudgetWarning, "_warned_of", set())
    tree = ar.open(wide_file)["Events"]
    small = {"batch_size": "1 MB", "memory_budget": budget, **options}
    with pytest.warns(ar.MemoryBudgetWarning, match=f"a memory_budget of {budget} has no room") as told:
        read = [tree.scan(**small).drain().n_baskets for _ in range(2)]
    assert len(told) == 1
    enough = int(re.search("memory_budget=([0-9_]+) does it once", str(told[0].message))[1])
    once = tree.scan(**{**small, "memory_budget": enough})
    assert once.drain().n_baskets < read[0] == read[1]
    assert once.plan.n_repeated == 0
    assert tree.scan(**{**small, "memory_budget": enough - 1_000_000}).plan.n_repeated > 0 or options


def test_memory_of_a_streamed_scan_is_bounded(wide_file):
    code = (
        "import resource, sys, arrowroot as ar;"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "t = ar.open(sys.argv[1])['Events'];"
        "t.scan(entries=slice(0, 1000)).drain(); before = peak();"
        "t.scan(batch_size='4 MB', memory_budget='16 MB').drain(); print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, wide_file], capture_output=True, text=True, check=True)
    # The values alone are 100 MB.
    assert int(done.stdout) * 1024 < 40e6


def test_results_do_not_depend_on_threads_or_batches(wide_file):
    tree = ar.open(wide_file)["Events"]
    columns = ["x0", "x31"]
    expected = tree.to_arrow(columns, n_threads=1)
    assert tree.to_arrow(columns, n_threads=4) == expected
    assert tree.scan(columns, batch_size="300 kB").read_all() == expected


def test_libraries_stream_a_scan_and_see_every_batch(wide_file):
    duckdb = pytest.importorskip("duckdb")
    scan = ar.open(wide_file)["Events"].scan(["x0", "x1"], batch_size="1 MB")
    total = float(np.sum(scan.to_numpy()["x0"]))
    assert pl.DataFrame(scan)["x0"].sum() == pytest.approx(total)
    assert duckdb.sql("select count(*), sum(x0) from scan").fetchall() == [(N_ENTRIES, pytest.approx(total))]
    assert pa.RecordBatchReader.from_stream(scan).read_all().num_rows == N_ENTRIES
    assert pd.DataFrame(scan.to_pandas())["x0"].sum() == pytest.approx(total)
    in_memory = scan.read_all()
    assert duckdb.sql("select count(*) from in_memory").fetchall() == [(N_ENTRIES,)]
    assert pl.DataFrame(in_memory).shape == (N_ENTRIES, 2)
