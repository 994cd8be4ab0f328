"""ATLAS 2012: its statements fail where results say otherwise, its jobs are as published, and campaigns become rows."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace

import numpy as np
import pytest

from arrowroot_lab import classics
from arrowroot_lab.classics import results, traces
from arrowroot_lab.classics.atlas_2012 import layouts, measuring, published, real
from arrowroot_lab.classics.atlas_2012.found import Atlas2012Results
from arrowroot_lab.classics.atlas_2012.published import NEW, OLD
from arrowroot_lab.store import Store
from campaigns.tables import layouts as tables_of_layouts
from tests.lab.made import Made
from tests.recorded import session


@pytest.fixture(scope="module")
def kept():
    return results.stored("atlas-2012")


def changed(kept, study, key, value, **wanted):
    """Return results in which the rows of a study that have the wanted values have another one."""
    document = copy.deepcopy(kept.document)
    for row in results.Results(document).rows(study, **wanted):
        row[key] = value
    return results.Results(document)


def test_statements_fail_where_the_results_say_otherwise(kept, tmp_path):
    def fails(study, key, value, **wanted):
        claims = classics.claims(changed(kept, study, key, value, **wanted))
        return "\n".join(sorted(" ".join(one.text.split()[:8]) for one in claims if not one.holds))

    session("statements-of-atlas", tmp_path, {"fails": fails})


def test_the_figures_of_the_page_are_those_of_its_results(kept):
    page = classics.page(kept)
    told = {
        (record["layout"], record["share"], record["reader"]): record for record in page.tables[0].records()
    }
    for row in kept.rows("layout"):
        record = told[row["layout"], row["share"], row["reader"]]
        assert record["event_ns"] == pytest.approx(row["wall_ns"] / row["n_events"])
        assert (record["n_requests"], record["read_bytes"]) == (row["n_requests"], row["read_bytes"])
    for layout in (OLD, NEW):
        ms = Atlas2012Results(kept.document).picked_ms[layout.name]
        assert f"{ms:.0f}" in page.answer
        assert told[layout.name, 0.01, "cache"]["published_ns"] == layout.picked_ms * 1e6
    assert published.efficiency(0) == pytest.approx(published.LOCAL_SHARE)
    assert published.efficiency(published.CERN_NS) == pytest.approx(published.CERN_SHARE)


@pytest.mark.parametrize("layout", [OLD, NEW], ids=lambda layout: layout.name)
def test_one_event_in_a_hundred_at_full_size_is_what_is_kept(kept, layout, tmp_path):
    events = published.picked(published.N_EVENTS, published.PICKED_SHARE)
    assert len(events) == 50
    trace = published.job(layout, events, published.N_EVENTS)
    path = tmp_path / "job.arrow"
    traces.write(path, trace, "ATLAS 2012", "cluster")
    row = kept.row("layout", layout=layout.name, share=published.PICKED_SHARE, reader="cache")
    assert row | measuring.read(path, measuring.LINE, "cache") == row
    assert row["read_bytes"] == trace.asked_bytes


def test_jobs_have_the_published_baskets_and_lie_in_the_file():
    n_events = 1000
    for layout in (OLD, NEW):
        trace = published.job(layout, np.arange(n_events), n_events)
        assert trace.asked_bytes == trace.file_bytes == n_events * published.EVENT_BYTES
        assert len(trace) == -(-n_events // layout.n_together) * layout.n_baskets
        assert np.array_equal(trace.offsets[1:], (trace.offsets + trace.sizes)[:-1])
        assert trace.sizes.min() > 0
        assert trace.work_ns == n_events * layout.work_ns
    again = [published.job(NEW, published.picked(n_events, 0.01), n_events) for _ in range(2)]
    assert np.array_equal(again[0].offsets, again[1].offsets)


def test_a_cache_that_is_not_told_brings_what_it_has_room_for_from_the_first_event_on_that_it_lacks():
    n_events, room = 1000, 17  # clusters of ten events, of 1.7 MB each, in 30 MB
    events = np.array([5, 60, 181, 500])
    told = published.job(NEW, events, n_events)
    untold = published.job(NEW, events, n_events, cache="not told")
    clusters = [set((trace.first_entries // 10).tolist()) for trace in (told, untold)]
    assert clusters[0] == {0, 6, 18, 50}
    assert clusters[1] == {*range(room), *range(18, 18 + room), *range(50, 50 + room)}
    assert untold.work_ns == told.work_ns


def test_workers_share_all_events_and_a_d3pd_has_its_branches_in_each_cluster():
    for n_dealt in (1, 10):
        first = published.dealt(400, 4, n_dealt)
        assert len(first) == 100
        assert all(event // n_dealt % 4 == 0 for event in first)
    whole = published.d3pd(30_000_000, 60_000_000)
    some = published.d3pd(30_000_000, 60_000_000, 0.02)
    assert (len(whole), len(some)) == (2 * 3000, 2 * 60)
    assert whole.asked_bytes == whole.file_bytes == 60_000_000
    assert set(some.offsets.tolist()) <= set(whole.offsets.tolist())


def result_of(made, number, engine, **told):
    """A result of a campaign, with what is told of it."""
    (one, *_) = made.results()
    names = {key: told[key] for key in ("dataset_name", "storage_name", "workload_name")}
    # Names do not tell cases apart: what they stand for does.
    parts = {
        "dataset": names["dataset_name"],
        "storage": {"kind": names["storage_name"]},
        "workload": {"kind": "read", "columns": names["workload_name"]},
    }
    one.case = {**one.case, **names, **parts, "engine": engine}
    one.uuid = f"{number:08d}{one.uuid[8:]}"
    for sample in one.samples:
        sample.wall_ns = told["wall_ns"]
        sample.details = {"n_entries": told["n_entries"], "open_ns": told.get("open_ns", 0)}
        sample.counters = told["counters"]
    return one


def made_of(campaign, engine="arrowroot"):
    return Made(
        campaign=campaign, storages=("local",), engines=(engine,), workloads=("all columns",), n_runs=1,
        with_trouble=False,
    )  # fmt: skip


def case_results():
    """Results of the campaign atlas-2012: level 6 is 5 % smaller, the new layout needs half, and ROOT is 20 ms away."""
    numbers = itertools.count(100)

    def case(dataset, workload, *, engine="arrowroot", storage="disk, cold", ms=1000, n_bytes=1000):
        return result_of(
            made_of("atlas-2012", engine), next(numbers), engine, dataset_name=dataset, storage_name=storage,
            workload_name=workload, n_entries=10, wall_ns=ms * 10**6,
            counters={"store": {"n_reads": 3, "n_vector_reads": 2, "n_bytes": n_bytes}},
        )  # fmt: skip

    old, new = layouts.OLD, layouts.NEW
    return [
        case(
            "zip 6, flush 3 MB",
            "a tenth, with CPU time",
            engine="root",
            storage="20 ms away",
            ms=10**6,
            n_bytes=7,
        ),
        case("zip 1, flush 3 MB", "all branches"),
        case("zip 6, flush 3 MB", "all branches", ms=900, n_bytes=950),
        case(old, "pick 2 %", n_bytes=4000),
        case(new, "pick 2 %", ms=500, n_bytes=2000),
        case(old, "make a D3PD", ms=3000),
        case(new, "make a D3PD", ms=2000),
        case(old, "one worker", ms=4000),
        case(new, "one worker", ms=4000),
        case(old, "four workers", ms=2000),
        case(new, "four workers", ms=1000),
    ]


def layout_results():
    """Results of the campaign layouts as its figures would be if all were as published."""
    numbers = itertools.count(1)

    def read(dataset, workload, engine, storage, *, n=10, ms=1.0, n_reads=1, n_bytes=1):
        return result_of(
            made_of("layouts"), next(numbers), engine, dataset_name=dataset, storage_name=storage,
            workload_name=workload, n_entries=n, wall_ns=round(n * ms * 1e6) + 10**9, open_ns=10**9,
            counters={"store": {"n_reads": n_reads, "n_vector_reads": 0, "n_bytes": n_bytes}},
        )  # fmt: skip

    def write(layout, ms, n_bytes):
        written = {"n_bytes": n_bytes, "n_baskets": 100, "n_branches": 10, "memory_bytes": n_bytes}
        return result_of(
            made_of("layouts"), next(numbers), f"write {layout}", dataset_name="RNTuple",
            storage_name="disk, in memory", workload_name="from memory", n_entries=10, wall_ns=ms * 10**7,
            counters={"written": written},
        )  # fmt: skip

    old, new = layouts.OLD, layouts.NEW
    return [
        read(old, "1 %, 52 ms each", layouts.TOLD, layouts.DISK, ms=270),
        read(new, "1 %, 33 ms each", layouts.TOLD, layouts.DISK, ms=60),
        read(new, "1 %", layouts.CACHED, layouts.COLD, n_bytes=100),
        read(new, "1 %", layouts.TOLD, layouts.COLD, n_bytes=10),
        read(old, "all", layouts.PLAIN, layouts.COLD, n_reads=20_000),
        read(new, "all", layouts.CACHED, layouts.COLD, n_reads=20),
        read(new, "all", "arrowroot", "a storage of somebody's"),
        write(old, 24, 200),
        write(new, 20, 100),
    ]


def version_results():
    """Results of the campaign versions as it is run: two commits, the later one first by name, and two of ROOT."""
    commits = ("c" * 40, "0123456789abcdef" + "a" * 24)
    told = [("arrowroot", {"arrowroot": commit, "python": "3.11"}) for commit in commits]
    # An environment is known by the package, beside what ROOT says of itself.
    told += [
        ("root", {"ROOT": own, "root": package})
        for own, package in (("6.38.00", "0.1a10"), ("6.40.00", "0.1a12"))
    ]
    numbers = itertools.count(200)
    for minute, (engine, versions) in enumerate(told):
        one = result_of(
            made_of("versions", engine), next(numbers), engine, dataset_name="tree", storage_name="local",
            workload_name="all columns", n_entries=10, wall_ns=10**9, counters={},
        )  # fmt: skip
        yield replace(one, versions=versions, created_at=f"2026-10-01T04:{minute:02d}:00.000Z")


def test_versions_are_beside_each_other_old_to_new_by_names_for_people(kept, tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        for one in version_results():
            store.put(one)
        rows = real.rows(store)
    named = [f"{row['engine']} {row['version']}" for row in rows]
    assert named == ["arrowroot cccccccccccc", "arrowroot 0123456789ab", "root 6.38.00", "root 6.40.00"]
    without = [row for row in kept.document["rows"] if row["study"] != real.SIDE_BY_SIDE]

    def page(rows):
        return classics.page(results.Results({**kept.document, "rows": rows}))

    (figure,) = [one for one in page(without + rows).figures if one.title.startswith("Versions side by side")]
    assert [record["series"] for record in figure.table.records()] == named
    empty = page(without)
    assert not [one for one in empty.figures if one.title.startswith("Versions")]
    # Each command is one to copy, up to its results on the page.
    assert (
        "arrowroot lab run campaigns/versions.toml --db lab.db && arrowroot lab classics atlas-2012 --db lab.db --write"
        in " ".join(empty.today)
    )


def test_results_of_the_campaigns_become_rows_statements_and_figures(kept, tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        for one in [*layout_results(), *case_results(), *made_of("versions").results()]:
            store.put(one)
        rows = real.rows(store)
        (block,) = tables_of_layouts.blocks(store)
    assert all(map(results.is_of_campaign, rows))
    found = layouts.Layouts.of(rows)
    ratios = {row["text"]: row["ratio"] for row in found.statement_rows() if row["ratio"] is not None}
    assert ratios["one event in a hundred, from the disk of 2009"] == pytest.approx(4.5)
    assert ratios["reads: old layout without a cache, new one with it"] == 1000
    assert ratios["writing an event"] == pytest.approx(1.2)
    assert ratios["file"] == 2
    for definition in (found.definition["picked"], found.part("reads")):
        assert ["<svg" in figure.svg for figure in found.pictures(definition)] == [True]
    assert "| writing an event | 20 % faster | 24.0 ms | 20.0 ms | 1.200 |" in block.text
    (case,) = [row for row in rows if row["study"] == real.CASES and row["storage"] == "20 ms away"]
    assert (case["n_requests"], case["read_bytes"]) == (5, 7)
    versions = [row["version"] for row in rows if row["study"] == real.SIDE_BY_SIDE]
    assert len(versions) == len(set(versions)) == 2

    replayed = [row for row in kept.document["rows"] if not results.is_of_campaign(row)]
    document = {**kept.document, "rows": replayed + rows}
    whole = results.Results(document)
    assert all(claim.holds for claim in classics.claims(whole))
    page = classics.page(whole)
    titles = [figure.title for figure in page.figures] + [table.title for table in page.tables]
    for words in ("Versions side by side", "All events: reads", "Reading each layout", "Writing each layout"):
        assert any(title.startswith(words) for title in titles), words
    assert "4.50 times less" in " ".join(page.today)
    for words in (
        "two events in a hundred, picked by an index, take 1.00 s and 4.00 kB of the old layout, 500 ms and 2.00 kB of",
        "making a D3PD takes 3.00 s from the old layout, 2.00 s from the new one",
        "four workers with a part each are 2.0 times as fast as one in the old layout, 4.0 in the new",
    ):
        assert words in " ".join(page.today)
    assert (
        "for real 5 % fewer bytes are read, and all branches from a cold disk take 0.90 (arrowroot) of the"
        in " ".join(page.differs)
    )
    (pings,) = [
        figure for figure in page.figures if figure.title == "CPU efficiency, by the round trip, for real"
    ]
    assert [(record["series"], record["ping_ns"]) for record in pings.table.records()][-1] == (
        "root, auto",
        20e6,
    )
    row = next(row for row in rows if row["workload"] == "1 %, 33 ms each")
    row["wall_ns"] *= 3
    failed = [claim.text for claim in classics.claims(whole) if not claim.holds]
    assert failed == [text for text in failed if text.startswith("For real, from a disk of 2009")] != []


def test_versions_are_told_by_the_two_that_differ_most(kept):
    def text(rows):
        others = [row for row in kept.document["rows"] if row["study"] != real.SIDE_BY_SIDE]
        return classics.page(results.Results({**kept.document, "rows": others + rows})).today[-1]

    def row(engine, version, ms, storage="local"):
        of_all = {"study": real.SIDE_BY_SIDE, "dataset": "tree", "storage": storage}
        of_all |= {"low_ns": ms * 1e6, "high_ns": ms * 1e6, "n_samples": 3}
        return {**of_all, "engine": engine, "version": version, "wall_ns": ms * 1e6}

    old, new = "0123456789", "abcdef0123"
    rows = [
        row("arrowroot", old, 100),
        row("arrowroot", new, 80),
        row("root", "6", 210),
        row("root", "7", 200),
    ]
    rows += [row("arrowroot", new, 800, "far"), row("arrowroot", old, 880, "far")]
    assert text(rows).endswith(
        "differ by 25% at most: arrowroot 0123456789 against abcdef0123 (tree, local)."
    )
    assert "campaigns/versions.toml" in text([])
