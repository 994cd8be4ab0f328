"""``order="entry"``: baskets and pages are needed one entry after the other, and the values are the same."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._report import trace
from arrowroot.cli import main

N_ENTRIES = 4000


@pytest.fixture(scope="module", params=["ttree", "rntuple"])
def path(request, tmp_path_factory):
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 9, N_ENTRIES)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    table = pa.table(
        {
            "wide": rng.normal(size=N_ENTRIES),
            "short": rng.integers(0, 99, N_ENTRIES).astype(np.int16),
            "pt": pa.ListArray.from_arrays(
                pa.array(ends), pa.array(rng.normal(size=ends[-1]), type=pa.float32())
            ),
            "text": [f"entry {i}" * (i % 5) for i in range(N_ENTRIES)],
        }
    )
    found = tmp_path_factory.mktemp("order") / f"{request.param}.root"
    small = {"basket_size": "2 kB"} if request.param == "ttree" else {"page_size": "2 kB"}
    ar.write(f"{found}:events", table, layout=request.param, flush=1500, **small)
    return found


ENTRIES = {
    "all": None,
    "range": slice(100, 3700),
    "list": np.sort(np.random.default_rng(1).choice(N_ENTRIES, 60, replace=False)),
    "back and forth": np.array([3900, 2, 2, 1700, 1699, 5]),
    "none": slice(7, 7),
}


@pytest.mark.parametrize("entries", ENTRIES)
@pytest.mark.parametrize(
    "strategy", ["auto", "direct", "treecache", "readahead", "lazy-download", "storage-only"]
)
def test_values_do_not_depend_on_the_order(path, entries, strategy):
    tree = ar.open(path, strategy=strategy)["events"]
    wanted = tree.scan(entries=ENTRIES[entries]).read_all().combine_chunks()
    for batch_size in ("64 MB", "10 kB"):
        scan = tree.scan(entries=ENTRIES[entries], order="entry", batch_size=batch_size, trace=True)
        assert scan.read_all().combine_chunks().equals(wanted)
        reads = scan.logical_reads()
        if entries != "back and forth":  # which comes back to what it had
            assert len({(read.column, read.offset) for read in reads}) == len(reads)


def test_a_filter_reads_both_of_its_passes_so(path):
    tree = ar.open(path)["events"]
    wanted = tree.to_arrow(["wide", "pt"], filter="short > 50")
    assert (
        tree.scan(["wide", "pt"], filter="short > 50", order="entry")
        .read_all()
        .combine_chunks()
        .equals(wanted.combine_chunks())
    )


def test_columns_come_in_the_order_asked_for(path):
    tree = ar.open(path, strategy="direct")["events"]
    for columns in (["wide", "short"], ["short", "wide"]):
        scan = tree.scan(columns, order="entry", trace=True)
        scan.drain()
        reads = scan.logical_reads()
        assert [read.column for read in reads[:2]] == columns
        places = [(read.first_entry, columns.index(read.column)) for read in reads]
        assert places == sorted(places)


def test_items_of_lists_are_needed_between_the_entries_of_their_cluster(path):
    scan = ar.open(path, strategy="direct")["events"].scan(["wide", "pt"], order="entry", trace=True)
    scan.drain()
    columns = [read.column for read in scan.logical_reads()]
    # Not all of one, and then all of the other: they are read side by side.
    changes = sum(before != after for before, after in itertools.pairwise(columns))
    assert changes > len(columns) / 4


def test_another_order_is_refused(path):
    with pytest.raises(ar.InvalidRequestError, match="order: expected 'cluster' or 'entry', got 'event'"):
        ar.open(path)["events"].scan(order="event")


def recorded(path, tmp_path, *options):
    out = tmp_path / "reads.parquet"
    assert main(["perf", f"{path}:events", "--trace", str(out), "--batch-size", "10 kB", *options]) == 0
    return out


def test_a_trace_has_the_order_it_was_recorded_in(path, tmp_path, capsys):
    log = trace.read(recorded(path, tmp_path, "--order", "entry", "-c", "wide,short"))
    assert log.order == "entry"
    assert log.metadata["entries"] == {"begin": 0, "end": N_ENTRIES, "picked": False}
    assert np.all(np.diff(log.logical.entries.astype(np.int64)) >= 0)
    assert trace.read(recorded(path, tmp_path)).order == "cluster"
    capsys.readouterr()


def test_replay_puts_a_trace_in_event_order(path, tmp_path, capsys):
    columns = ["-c", "wide,short"]
    by_entry = trace.read(recorded(path, tmp_path, "--order", "entry", *columns))
    usual = recorded(path, tmp_path, *columns)
    log = trace.read(usual)
    assert log.in_event_order(usual).offsets.tolist() == by_entry.logical.offsets.tolist()
    capsys.readouterr()
    assert main(["replay", str(usual), "--order", "entry", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["order"] == "entry"


def test_replay_does_not_guess_which_entries_were_picked(path, tmp_path, capsys):
    usual = recorded(path, tmp_path, "--fraction", "0.01")
    assert main(["replay", str(usual), "--order", "entry"]) == 2
    assert "record it by arrowroot perf --order entry" in capsys.readouterr().err
    if path.stem == "rntuple":
        usual = recorded(path, tmp_path)
        assert main(["replay", str(usual), "--order", "entry"]) == 2
        assert "pages of one column begin at one entry" in capsys.readouterr().err
