"""Engines that read a data set, or a lazy frame, get what they would of Parquet, and no other columns are read."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import arrowroot as ar
from arrowroot._api import dataset as module

duckdb = pytest.importorskip("duckdb")
pl = pytest.importorskip("polars")

N = 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files of events, their friend, and the same as Parquet."""
    folder = tmp_path_factory.mktemp("push")
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 5, N)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    columns = {
        "run": np.arange(N) // 300,
        "event": rng.permutation(N),
        "nMuon": counts.astype(np.int32),
        "met": rng.exponential(30, N),
        "pt": pa.ListArray.from_arrays(ends, rng.exponential(20, ends[-1]).astype(np.float32)),
    }
    events = pa.table(columns)
    for number, part in enumerate((events[:500], events[500:])):
        ar.write(f"{folder}/run{number}.root:Events", part, flush=100)
    more = pa.table({"weight": rng.normal(size=N)})
    ar.write(f"{folder}/more.root:More", more)
    picked = pa.table({"run": [0, 2, 1], "event": [columns["event"][5], columns["event"][899], -1]})
    ar.write(f"{folder}/picked.root:Picked", picked)
    pq.write_table(events, folder / "events.parquet")
    pq.write_table(pa.table({**columns, "weight": more["weight"]}), folder / "beside.parquet")
    pq.write_table(picked, folder / "picked.parquet")
    return folder


@pytest.fixture
def events(folder):
    return ar.dataset(folder / "run*.root", "Events")


@pytest.fixture
def parquet(folder):
    return ds.dataset(folder / "events.parquet")


@pytest.fixture
def scans(monkeypatch):
    """The scans that a data set began."""
    begun = []
    scan = module.Dataset._scan

    def kept(self, *args, **options):
        begun.append(scan(self, *args, **options, trace=True))
        return begun[-1]

    monkeypatch.setattr(module.Dataset, "_scan", kept)
    return begun


QUERIES = [
    "select count(*) from events",
    "select count(*) from events where nMuon > 2",
    "select run, count(*), sum(nMuon), max(met) from events group by run order by run",
    "select event, met from events where met > 60 and nMuon >= 2 order by met desc limit 7",
    "select sum(pt[1]) from events where nMuon > 0 and run = 1",
    "select run, event, unnest(pt) p from events where met < 5 order by run, event, p",
    "select count(*) from events where nMuon in (1, 3) or met between 10 and 20",
    "select e.run, e.met from events e join picked p using (run, event) order by 1",
    "select round(sum(weight * met), 6) from beside where nMuon > 1",
    "select a.run, max(b.met) from events a join events b on a.event = b.event + 1 group by 1 order by 1",
    "select list_sum([x for x in pt if x > 20]) s from events where nMuon = 4 order by s nulls last limit 5",
]


@pytest.mark.parametrize("query", QUERIES)
def test_queries_have_the_answers_of_parquet(folder, query):
    connection = duckdb.connect()
    for name in ("events", "beside", "picked"):
        connection.register(name, ds.dataset(folder / f"{name}.parquet"))
    expected = connection.sql(query).fetchall()
    assert expected
    beside = {"f": folder / "more.root"}
    connection.register("events", ar.dataset(folder / "run*.root", "Events"))
    connection.register("beside", ar.dataset(folder / "run*.root", "Events", friends=beside))
    connection.register("picked", ar.dataset(folder / "picked.root", "Picked"))
    assert connection.sql(query).fetchall() == expected


def test_a_count_reads_the_column_of_its_condition_alone(folder, scans):
    # DuckDB asks for the first column where a query needs none.
    events = ar.dataset(folder / "run*.root", "Events", ["nMuon", "*"])
    ((found,),) = duckdb.sql("select count(*) from events where nMuon > 2").fetchall()
    (scan,) = scans
    needed = scan.logical_reads()
    assert {read.column for read in needed} == {"nMuon"}
    assert scan.stats.payload_bytes == sum(read.n_bytes for read in needed)
    assert found == events.count_rows(pc.field("nMuon") > 2)
    scans.clear()
    assert events.count_rows() == N
    assert not scans


def test_columns_that_a_filter_does_not_select_from_are_not_read(events, scans):
    table = events.to_table(["met"], filter=(pc.field("run") == 1) & (pc.field("nMuon") > 2))
    assert 0 < table.num_rows < N
    read = {(one.column, one.first_entry) for one in scans[0].logical_reads()}
    assert {column for column, _ in read} == {"run", "nMuon", "met"}
    assert {entry for column, entry in read if column == "met"} == {300, 400, 500}


CASES = {
    "all": {},
    "columns": {"columns": ["pt", "run"]},
    "no columns": {"columns": []},
    "a filter": {"columns": ["met"], "filter": pc.field("nMuon") > 2},
    "none is selected": {"columns": ["met"], "filter": pc.field("nMuon") > 9},
    "expressions": {
        "columns": {"m": pc.field("met") * 2, "n": pc.field("nMuon")},
        "filter": pc.field("run") > 0,
    },
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_data_set_answers_as_one_of_parquet_does(events, parquet, case):
    expected = parquet.to_table(**case)
    assert isinstance(events, ds.Dataset)
    assert events.to_table(**case).equals(expected)
    assert events.scanner(**case).to_table().equals(expected)
    assert events.head(5, **case).equals(parquet.head(5, **case))
    assert events.count_rows(case.get("filter")) == parquet.count_rows(filter=case.get("filter"))
    if case.get("columns") != []:
        assert pa.Table.from_batches(events.to_batches(**case), expected.schema).equals(expected)
        assert events.take([7, 3], case.get("columns")).equals(parquet.take([7, 3], case.get("columns")))


def test_what_is_made_of_a_data_set_is_what_parquet_gives(events, parquet):
    some = pc.field("met") > 100
    assert events.filter(some).count_rows() == parquet.filter(some).count_rows()
    assert (
        events.filter(some)
        .filter(pc.field("run") == 1)
        .to_table()
        .equals(parquet.filter(some).filter(pc.field("run") == 1).to_table())
    )
    assert (
        events.sort_by("met").head(3, columns=["met"]).equals(parquet.sort_by("met").head(3, columns=["met"]))
    )
    few = ds.InMemoryDataset(pa.table({"event": [1, 2], "z": [1, 2]}))
    plain = ["run", "event", "met"]
    ours = ar.dataset(events.files, "Events", plain)
    theirs = ds.InMemoryDataset(parquet.to_table(plain))
    expected = theirs.join(few, "event").sort_by("event").to_table()
    assert ours.join(few, "event").sort_by("event").to_table().equals(expected)
    assert ours.join(ours, "event", right_suffix="2").to_table().num_rows == N


def test_a_data_set_can_be_written(events, tmp_path):
    ds.write_dataset(events, tmp_path / "out", format="parquet")
    assert ds.dataset(tmp_path / "out").to_table().equals(events.to_table())


def test_fragments_are_whole_clusters_and_travel(events, monkeypatch):
    from arrowroot._api import opening, partitions

    monkeypatch.setattr(partitions, "parse_size", lambda *_: 12_000)
    fragments = pickle.loads(pickle.dumps(list(events.get_fragments())))  # noqa: S301 - our own
    assert len(fragments) > 4
    assert all(one.count_rows() % 100 == 0 for one in fragments)
    assert {one.physical_schema for one in fragments} == {events.schema}
    assert pa.concat_tables([one.to_table() for one in fragments]).equals(events.to_table())
    monkeypatch.undo()
    opened = []
    make = opening.File.__init__
    monkeypatch.setattr(opening.File, "__init__", lambda self, *given: opened.append(1) or make(self, *given))
    again = pickle.loads(pickle.dumps(fragments[-1]))  # noqa: S301 - our own
    assert again.head(1).num_rows == len(opened) == 1
    assert {len(one.files) for one in fragments} == {1}
    assert list(fragments[0].get_fragments()) == [fragments[0]]
    some = pc.field("nMuon") > 3
    found = [one.to_table(["event"]) for one in events.get_fragments(some)]
    assert pa.concat_tables(found).equals(events.to_table(["event"], filter=some))


def test_fragments_bring_their_friends(folder):
    beside = ar.dataset(
        folder / "run*.root", "Events", ["met", "weight"], friends={"f": folder / "more.root"}
    )
    fragments = pickle.loads(pickle.dumps(list(beside.get_fragments())))  # noqa: S301 - our own
    assert pa.concat_tables([one.to_table() for one in fragments]).equals(beside.to_table())
    some = pc.field("weight") > 0
    assert sum(one.count_rows(some) for one in fragments) == beside.count_rows(some)


def test_a_column_that_is_not_there_is_an_error(events):
    for given in ({"columns": ["mt"]}, {"columns": ["met"], "filter": pc.field("mt") > 1}):
        with pytest.raises(
            ar.InvalidRequestError if "filter" not in given else ar.NoSuchColumnError, match="mt"
        ):
            events.to_table(**given)


LAZY = {
    "all": lambda frame: frame,
    "columns": lambda frame: frame.select("pt", "run"),
    "a filter": lambda frame: frame.filter(pl.col("nMuon") > 2).select("met"),
    "of a list": lambda frame: frame.filter(pl.col("pt").list.max() > 50).select("event", "pt"),
    "none is selected": lambda frame: frame.filter(pl.col("nMuon") > 9),
    "a length": lambda frame: frame.select(pl.len()),
    "first ones": lambda frame: frame.head(7),
    "first ones of some": lambda frame: frame.filter(pl.col("met") > 50).head(7),
    "some of the first": lambda frame: frame.head(70).filter(pl.col("met") > 50),
    "groups": lambda frame: frame.group_by("run").agg(pl.col("met").max()).sort("run"),
    "over all": lambda frame: frame.filter(pl.col("met") > pl.col("met").mean()).select("event"),
    "joined": lambda frame: (
        frame.join(frame.select("event", w="met"), on="event").sort("event").select("event", "w")
    ),
}


@pytest.mark.parametrize("query", LAZY.values(), ids=LAZY)
def test_lazy_frames_have_the_answers_of_parquet(folder, query):
    expected = query(pl.scan_parquet(folder / "events.parquet")).collect()
    for frame in (
        ar.scan_root(folder / "run*.root", "Events"),
        pl.scan_pyarrow_dataset(ar.dataset(folder / "run*.root", "Events")),
    ):
        assert query(frame).collect().equals(expected)


def test_a_lazy_frame_reads_what_is_needed(folder, monkeypatch):
    from arrowroot._api import tree

    asked = []
    source = tree.Tree.source

    def seen(self, paths, entries, options):
        made = source(self, paths, entries, options)
        asked.append((tuple(paths), made.num_entries))
        return made

    frame = ar.scan_root(folder / "run*.root", "Events")
    monkeypatch.setattr(tree.Tree, "source", seen)
    frame.filter(pl.col("run") == 2).select("met").collect()
    assert {path for paths, n in asked for path in paths if n} == {"run", "met"}
    asked.clear()
    frame.head(7).select("met").collect()
    assert {(paths, n) for paths, n in asked if n} == {(("met",), 7)}
