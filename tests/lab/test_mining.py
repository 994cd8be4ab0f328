"""Queries and the tables that they give: what is planted in made results is what they say."""

from __future__ import annotations

import csv
import io
import json
import statistics
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from itertools import groupby, product

import pytest

import arrowroot_lab
from arrowroot_lab.documents import Outcome
from arrowroot_lab.errors import RequestError
from arrowroot_lab.mining import (
    ResultTable,
    compare,
    environment_difference,
    history,
    matrix,
    metric,
    overview,
    report,
    results_table,
    series,
    writing,
)
from arrowroot_lab.mining.comparison import compare_measured, measured_of
from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.history import level_changes, lines
from arrowroot_lab.mining.metrics import JUDGED
from arrowroot_lab.mining.results import named
from arrowroot_lab.pages.pictures import series_history
from arrowroot_lab.statistics import Verdict
from arrowroot_lab.store import Filter, Store
from tests.command import run_here
from tests.lab.made import ENGINES, STORAGES, WORKLOADS, Made, Noise
from tests.recorded import session

QUIET = Noise(sample=0.002, outliers=0, run=0.001)
MADE = Made(noise=QUIET, with_trouble=False, n_samples=7)
NOISY = Made(seed=5)
AT = datetime(2026, 10, 22, 4, tzinfo=timezone.utc)


@contextmanager
def stored(made, directory):
    with Store.open(directory / "lab.db") as opened:
        for result in made.results():
            opened.put(result)
        yield opened


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A month of a quiet laboratory without trouble."""
    with stored(MADE, tmp_path_factory.mktemp("lab")) as opened:
        yield opened


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    with stored(NOISY, tmp_path_factory.mktemp("lab")) as opened:
        yield opened


def test_matrix_has_each_newest_figure_in_its_cell(noisy):
    table = matrix(noisy, Filter(campaign=("storages",)), across="engine")
    heads = [column.title for column in table.columns]
    assert heads == [
        "storage", "workload", "arrowroot 0.1.0", "arrowroot 0.2.0", "root 6.38.00", "root 6.40.00", "uproot 5.7.7",
    ]  # fmt: skip
    assert len(table.rows) == len(STORAGES) * len(WORKLOADS)
    newest = {}
    for result in NOISY.results():
        key = (
            result.case["storage_name"],
            result.case["workload_name"],
            f"{result.case['engine']} {result.version}",
        )
        newest[key] = result
    assert {one.outcome for one in newest.values()} > {Outcome.OK}
    for row in table.rows:
        for head, cell in zip(heads[2:], row[2:], strict=True):
            result = newest[row[0], row[1], head]
            if result.outcome is Outcome.OK:
                assert cell == round(statistics.median(sample.wall_ns for sample in result.counted()))
            else:
                assert cell == result.outcome.value


def test_matrix_takes_other_axes_metrics_and_statistics(store):
    across = matrix(
        store, Filter(engine=("arrowroot",)), across="storage", key="store.n_reads", statistic="minimum"
    )
    assert [column.title for column in across.columns] == ["workload", "version", *sorted(STORAGES)]
    assert {cell for row in across.rows for cell in row[2:]} == {ENGINES["arrowroot"][2]}


def test_a_matrix_has_nothing_where_a_result_has_no_value_on_an_axis(tmp_path):
    results = Made(seed=7).results()
    for result in results[::2]:
        result.machine = {**result.machine, "shared": True}
    with Store.open(tmp_path / "lab.db") as opened:
        for result in results:
            opened.put(result)
        assert {row["node"] for row in matrix(opened, Filter(), across="storage").records()} == {
            None,
            "shared",
        }


def test_planted_steps_between_versions_are_told(store):
    table, compared = compare(store, Filter(storage=("local",)), by="version", key="cpu_ns")
    assert len(compared) == 2 * len(WORKLOADS)  # uproot has one version
    by_engine = {one.case["engine"]: one for one in compared}
    assert {one.comparison.verdict for one in compared if one.case["engine"] == "arrowroot"} == {
        Verdict.BETTER
    }
    assert {one.comparison.verdict for one in compared if one.case["engine"] == "root"} == {Verdict.WORSE}
    assert by_engine["arrowroot"].comparison.ratio == pytest.approx(0.8, rel=0.01)
    assert by_engine["root"].comparison.ratio == pytest.approx(1.06, rel=0.01)
    assert (by_engine["root"].before, by_engine["root"].now) == ("6.38.00", "6.40.00")
    assert all(one.comparison.n_pairs == 21 for one in compared)
    assert [row[0] for row in table.rows] == ["worse"] * 3 + ["better"] * 3


def test_comparison_takes_named_sides_in_both_directions(store):
    where = Filter(workload=("all columns",))
    _, forth = compare(store, where, by="engine", before="uproot", now="arrowroot")
    _, back = compare(store, where, by="engine", before="arrowroot", now="uproot")
    assert {one.comparison.verdict for one in forth} == {Verdict.BETTER}
    assert {one.comparison.verdict for one in back} == {Verdict.WORSE}
    assert len(forth) == len(STORAGES)
    for one, other in zip(
        sorted(forth, key=lambda c: c.case["storage"]),
        sorted(back, key=lambda c: c.case["storage"]),
        strict=True,
    ):
        assert one.before_figure == other.now_figure
        assert one.comparison.ratio == pytest.approx(1 / other.comparison.ratio, rel=1e-6)
    _, of_all = compare(store, where, by="engine")
    assert {(one.before, one.now) for one in of_all} == {("arrowroot", "root"), ("arrowroot", "uproot")}


def test_engines_are_compared_in_their_newest_versions(store):
    _, compared = compare(
        store, Filter(storage=("local",)), by="engine", before="root", now="arrowroot", key="cpu_ns"
    )
    for one in compared:
        ratio = ENGINES["arrowroot"][1] * 0.8 / (ENGINES["root"][1] * 1.06)
        assert one.comparison.ratio == pytest.approx(ratio, rel=0.01)


def test_storages_are_compared_case_by_case(store):
    _, compared = compare(
        store, Filter(engine=("arrowroot",)), by="storage", before="xrootd", now="xrootd-50ms"
    )
    assert len(compared) == 2 * len(WORKLOADS)
    assert {one.comparison.verdict for one in compared} == {Verdict.WORSE}
    _, same = compare(store, Filter(engine=("arrowroot",)), by="storage", before="xrootd", now="nginx")
    assert {one.comparison.verdict for one in same} == {Verdict.NO_DIFFERENCE}
    _, efficiency = compare(
        store,
        Filter(engine=("arrowroot",)),
        by="storage",
        before="xrootd",
        now="xrootd-50ms",
        key="cpu_efficiency",
    )
    assert {one.comparison.verdict for one in efficiency} == {Verdict.WORSE}


def test_each_case_is_judged_by_what_it_was_measured_with_first(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        for seed, (workload, storages) in enumerate(
            {"all columns": ("local", "xrootd"), "ten columns": ("nginx", "s3-50ms")}.items()
        ):
            made = Made(
                seed=seed, storages=storages, engines=("arrowroot",), workloads=(workload,), n_runs=1,
                with_trouble=False,
            )  # fmt: skip
            for result in made.results():
                store.put(result)
        _, compared = compare(store, Filter(), by="storage")
        assert {(one.before, one.now) for one in compared} == {("local", "xrootd"), ("nginx", "s3-50ms")}


def test_what_was_never_measured_in_turns_is_not_judged(tmp_path):
    made = Made(
        storages=("local",), engines=("arrowroot",), workloads=("all columns",), n_runs=2, with_trouble=False
    )
    results = made.results()
    with Store.open(tmp_path / "lab.db") as store:
        for result in (results[0], results[3]):  # the old version in one run, the new one in the other
            store.put(result)
        table, compared = compare(store, Filter(), by="version")
        assert [one.comparison.verdict for one in compared] == [Verdict.NOT_ENOUGH]
        assert any("never measured in turns" in note for note in table.notes)
        assert compared[0].now_figure is not None
        failed = replace(
            results[2], outcome=Outcome.FAILED, reason="it broke", samples=[], uuid=results[1].uuid
        )
        store.put(replace(failed, case=results[3].case, versions={"engine": "0.3.0"}))
        _, compared = compare(store, Filter(), by="version")
        assert "arrowroot failed: it broke" in compared[0].comparison.reason


@pytest.mark.parametrize(
    ("counts", "verdict", "ratio"),
    [
        ((0, 12), Verdict.WORSE, None),
        ((12, 0), Verdict.BETTER, 0),
        ((0, 0), Verdict.NO_DIFFERENCE, 1),
        ((12, 12), Verdict.NO_DIFFERENCE, 1),
    ],
)
def test_counts_of_zero_are_compared(tmp_path, counts, verdict, ratio):
    made = Made(
        storages=("local",), engines=("arrowroot",), workloads=("all columns",), n_runs=1, with_trouble=False
    )
    with Store.open(tmp_path / "lab.db") as store:
        for result, count in zip(made.results(), counts, strict=True):
            for sample in result.samples:
                sample.counters["store"] |= {"n_vector_reads": count, "wait_ns": count}
            store.put(result)
        table, (one,) = compare(store, Filter(), by="version", key="store.n_vector_reads")
        assert (one.comparison.verdict, one.comparison.ratio, one.comparison.n_pairs) == (verdict, ratio, 7)
        assert (one.before_figure, one.now_figure) == counts
        assert "NaN" not in writing.as_json([table])
        assert "Infinity" not in writing.as_json([table])
        # A time of zero was not measured.
        _, (one,) = compare(store, Filter(), by="version", key="store.wait_ns")
        if 0 in counts:
            assert one.comparison.reason == "it is zero on one side, of which there is no ratio"


def test_values_are_shown_and_what_cannot_be_told_is_refused(store, tmp_path):
    session("mining", tmp_path, {**globals(), "store": store})


def test_history_has_marks_where_something_changed(store):
    key = store.summaries(Filter(engine=("root",), storage=("local",), workload=("all columns",)))[
        0
    ].series_id
    told = history(store, Filter(series=(key[:8],)), key="cpu_ns")
    assert [point.version for point in told.points] == ["6.38.00", "6.40.00"] * 3
    assert told.points[0].marks == ("first",)
    assert told.points[1].marks == ("engine: 6.38.00 -> 6.40.00",)
    assert told.points[2].marks == told.points[3].marks == ()
    assert told.points[4].marks == told.points[5].marks == ("kernel: 6.1.0-18 -> 6.1.0-21",)
    ratios = [row["ratio"] for row in told.table().records()]
    assert ratios[0] is None
    assert ratios[1] == pytest.approx(1.06, rel=0.01)
    assert ratios[2:] == pytest.approx([1, 1, 1, 1], rel=0.01)


@pytest.fixture(scope="module")
def stepped(tmp_path_factory):
    """Twenty runs of one case by three programs; from the thirteenth on arrowroot 0.2.0 takes 8 % longer."""
    made = Made(
        storages=("local",), engines=("arrowroot", "uproot"), workloads=("all columns",), n_runs=20, days_between=1,
        with_trouble=False, noise=QUIET,
    )  # fmt: skip
    results = made.results()
    runs = list(dict.fromkeys(one.campaign["run"] for one in results))
    with Store.open(tmp_path_factory.mktemp("lab") / "lab.db") as opened:
        for one in results:
            if one.version == "0.2.0" and runs.index(one.campaign["run"]) >= 12:
                for sample in one.samples:
                    sample.wall_ns = int(1.08 * sample.wall_ns)
            opened.put(one)
        yield opened


def test_a_level_that_changed_is_marked_in_its_series_and_no_other_is(stepped):
    told = history(stepped, Filter(engine=("arrowroot",)))
    # Two versions in turns: each has its own level.
    changed = [(place, point) for place, point in enumerate(told.points) if point.change is not None]
    ((place, point),) = changed
    assert (place, point.version) == (2 * 12 + 1, "0.2.0")
    assert point.change == pytest.approx(1.08, rel=0.005)
    assert point.marks[0] == f"change point: {shown(point.change, 'ratio')} times the level before"
    table = told.table()
    rows = json.loads(writing.as_json([table]))["rows"]
    assert [row["change"] for row in rows if row["change"] is not None] == [point.change]
    assert any(f"Change points: {point.created_at[:10]}" in note for note in table.notes)
    figure = series_history(told)
    assert any("change point: 1.0" in note for note in figure.table.notes)
    assert "change point" in figure.svg
    other = history(stepped, Filter(engine=("uproot",)))
    assert not any(one.change for one in other.points)
    assert "No change points: the level did not change." in other.table().notes
    (row,) = level_changes([told, other], "2026-10").records()
    assert (row["change"], row["series_id"]) == (point.change, told.series_id)
    assert level_changes([told, other], point.created_at[:10]).rows
    assert not level_changes([told, other], "2026-12").rows
    by_reads = history(stepped, Filter(engine=("arrowroot",)), key="store.n_reads")
    assert not any(one.change for one in by_reads.points)


@pytest.fixture(scope="module")
def hungrier(tmp_path_factory):
    """Twenty nights of one engine in two versions, of which the newer one takes more of all but the wall time since."""
    made = Made(
        n_runs=20, engines=("root",), storages=("local",), workloads=("all columns",), with_trouble=False, speed={},
        noise=Noise(0.01, outliers=0.0, run=0.0), days_between=1,
    )  # fmt: skip
    results = made.results()
    runs = list(dict.fromkeys(one.campaign["run"] for one in results))
    path = tmp_path_factory.mktemp("lab") / "lab.db"
    with Store.open(path) as opened:
        for one in results:
            is_more = one.version == "6.40.00" and runs.index(one.campaign["run"]) >= 12
            for sample in one.samples:
                sample.peak_virtual_bytes = 3 * sample.peak_rss_bytes
                for key, factor in (("cpu_ns", 1.04), ("peak_rss_bytes", 1.03), ("peak_virtual_bytes", 1.5)):
                    setattr(sample, key, round(getattr(sample, key) * (factor if is_more else 1)))
            opened.put(one)
    return path


def test_cpu_time_and_memory_are_judged_beside_the_wall_time(hungrier):
    with Store.open(hungrier) as store:
        since = Filter(since="2026-10-13")
        table, (one,) = compare(store, since, by="version")
        assert (one.comparison.verdict, one.is_worse) == (Verdict.NO_DIFFERENCE, True)
        assert {key: said.verdict for key, said in one.also.items()} == dict.fromkeys(
            JUDGED[1:], Verdict.WORSE
        )
        (told,) = [note for note in table.notes if note.startswith("CPU time")]
        assert told.startswith("CPU time: 1 worse of 1; the case: 1.0")
        # Who asks for a metric gets it alone.
        _, (alone,) = compare(store, since, by="version", key="wall_ns")
        assert (alone.also, alone.is_worse) == ({}, False)
    asked = ("lab", "compare", "--since", "2026-10-13", "--fail", "--db", str(hungrier))
    assert run_here(*asked).returncode == 1
    assert run_here(*asked, "--metric", "wall_ns").returncode == 0


def test_a_level_of_cpu_time_or_memory_that_changed_is_told_with_the_wall_time(hungrier):
    with Store.open(hungrier) as store:
        told = history(store, Filter())
        assert not any(point.change for point in told.points)
        assert [one.metric.key for one in told.also] == list(JUDGED[1:])
        found = {row["metric"]: row["change"] for row in level_changes([told], "2026-10").records()}
        assert found == {
            "CPU time": pytest.approx(1.04, rel=0.01),
            "peak memory": pytest.approx(1.03, rel=0.01),
            "virtual memory": pytest.approx(1.5, rel=0.01),
        }
        assert any(
            "CPU time (--metric cpu_ns): Change points: 2026-10-13" in note for note in told.table().notes
        )


def test_versions_that_come_back_have_a_line_each():
    for versions in map("".join, product("abc", repeat=5)):
        n_runs = len(list(groupby(versions)))
        is_one = n_runs == len(set(versions))
        names = dict.fromkeys([""] if is_one else versions)
        assert lines(versions) == {
            name: [place for place, version in enumerate(versions) if is_one or version == name]
            for name in names
        }


def test_points_of_few_samples_have_no_part_in_change_points(tmp_path):
    made = Made(
        storages=("local",), engines=("uproot",), workloads=("all columns",), n_runs=20, n_samples=3, days_between=1,
        with_trouble=False, noise=QUIET,
    )  # fmt: skip
    with Store.open(tmp_path / "lab.db") as store:
        for place, one in enumerate(made.results()):
            for sample in one.samples:
                sample.wall_ns *= 1 + place // 10
            store.put(one)
        told = history(store, Filter())
    assert not any(point.change for point in told.points)
    assert "No change points yet: 0 of the 10 points of 5 samples that they want." in told.table().notes


def test_series_are_listed_with_what_they_are_about(store):
    table = series(store, Filter(storage=("local",)))
    assert len(table.rows) == len(ENGINES) * len(WORKLOADS)
    assert {record["n_results"] for record in table.records()} == {3, 6}
    assert any("storage local" in note for note in table.notes)


def test_overview_says_what_failed_what_changed_and_what_is_old(noisy):
    told = overview(noisy, at=AT)
    newest = {}
    for result in sorted(NOISY.results(), key=lambda one: (one.created_at, one.uuid)):
        newest[result.series_id, result.version] = result
    ends = [one.outcome.value for one in newest.values()]
    (row,) = told.campaigns.records()
    assert (row["campaign"], row["site"]) == ("storages", "here")
    assert {
        key: row[f"n_{key.replace(' ', '_')}"] for key in ("ok", "failed", "timed out", "skipped", "refused")
    } == {key: ends.count(key) for key in ("ok", "failed", "timed out", "skipped", "refused")}
    bad = {one.uuid for one in newest.values() if one.outcome.value in ("failed", "timed out", "refused")}
    assert {record["uuid"] for record in told.failed.records()} == bad
    assert {record["verdict"] for record in told.changed.records()} == {"better", "worse"}
    assert told.old.rows == ()
    later = overview(noisy, at=AT.replace(year=2027))
    n_series = len({series for series, _ in newest})
    assert sum(record["n_series"] for record in later.old.records()) == n_series
    assert later.changed.rows == ()
    at_once = overview(noisy, at=AT, old_days=0)
    assert sum(record["n_series"] for record in at_once.old.records()) == n_series


def test_report_has_all_of_a_result(noisy):
    result = next(
        one for one in noisy.results() if one.samples and any(sample.disturbed for sample in one.samples)
    )
    tables = {table.title: table for table in report(result, "lab.db")}
    assert list(tables) == ["Result", "Figures", "Samples", "Counters", "Predictions", "Environment"]
    what = dict(tables["Result"].rows)
    assert what["again"] == "arrowroot lab run campaigns/storages.toml --db lab.db"
    assert what["version of engine"] == result.version
    samples = tables["Samples"].records()
    assert [row["wall_ns"] for row in samples] == [sample.wall_ns for sample in result.samples]
    assert [bool(row["why"]) for row in samples] == [bool(sample.disturbed) for sample in result.samples]
    assert "store.n_reads" in [row[0] for row in tables["Counters"].rows]
    (prediction,) = tables["Predictions"].records()
    assert prediction["is_beyond"] == (abs(prediction["ratio"] - 1) > prediction["error_share"])
    assert dict(tables["Environment"].rows)["environment.kernel"].startswith("6.1.0")
    skipped = next(one for one in noisy.results() if one.outcome is Outcome.SKIPPED)
    assert [table.title for table in report(skipped, "lab.db")] == ["Result", "Predictions", "Environment"]


def test_difference_of_environments_is_what_differs(store):
    first = store.summaries(Filter(engine=("root",)))
    old, new = first[-1].uuid, first[0].uuid
    table = environment_difference(store, old[:10], new)
    told = {row[0]: row[1:] for row in table.rows}
    assert told["environment.kernel"] == ("6.1.0-18", "6.1.0-21")
    assert "environment.cpu" not in told
    assert "environment.cpu" in {
        row[0] for row in environment_difference(store, old, new, with_equal=True).rows
    }
    assert environment_difference(store, old, old).rows == ()


def test_metrics_are_computed_from_counted_samples():
    result = next(one for one in NOISY.results() if any(sample.disturbed for sample in one.samples))
    counted = result.counted()
    assert metric("wall_ns").values(result) == [sample.wall_ns for sample in counted]
    assert metric("cpu_efficiency").values(result) == [sample.cpu_ns / sample.wall_ns for sample in counted]
    assert metric("entries_per_s").figure(result, "minimum") == pytest.approx(
        1e9 * result.dataset["n_entries"] / max(sample.wall_ns for sample in counted)
    )
    counted[0].details["n_entries"] = 7
    assert metric("entries_per_s").values(result)[0] == 7 / counted[0].wall_ns * 1e9
    assert metric("store.n_bytes").form == "bytes"
    assert metric("store.wait_ns").form == "time"
    assert metric("store.n_reads").form == "count"
    assert metric("nowhere.n_reads").figure(result) is None
    threads = replace(result, case={**result.case, "threads": 4, "workers": 2})
    assert metric("cpu_efficiency").values(threads)[0] == counted[0].cpu_ns / counted[0].wall_ns / 8


def test_csv_json_and_markdown_have_all_cells(noisy):
    table = results_table(noisy, Filter(storage=("local",)))
    keys = [column.key for column in table.columns]
    told = list(csv.DictReader(io.StringIO(writing.as_csv(table))))
    assert [[row[key] for key in keys] for row in told] == [
        ["" if value is None else str(value) for value in row] for row in table.rows
    ]
    assert json.loads(writing.as_json([table]))["rows"] == table.records()
    assert len(writing.markdown(table).splitlines()) == 4 + len(table.rows) + 2 * len(table.notes)
    assert writing.text(ResultTable("t", (), ())) == "t\n\nnothing\n"


def test_readings_are_columns_of_exports_axes_filters_and_metrics(tmp_path):
    made = Made(
        n_runs=1, n_samples=2, storages=("local", "xrootd-50ms"), engines=("root",), with_trouble=False
    )
    results = made.results()
    for result in results[::2]:
        result.machine = {**result.machine, "cpu": "Other CPU"}
        for sample in result.samples:
            sample.readings["load_1_minute"] = 5.0
    with Store.open(tmp_path / "lab.db") as opened:
        for result in results:
            opened.put(result)
        busy = opened.summaries(Filter(cpu_model=("Other*",), reading=(("load_1_minute", ">=", 2.0),)))
        assert {one.uuid for one in busy} == {one.uuid for one in results[::2]}
        assert not opened.count(Filter(reading=(("round_trip_ns", ">", 1e9),)))
        (row,) = matrix(opened, Filter(workload=("all columns",), version=("6.40*",)), across="cpu_model",
                        key="load_1_minute").records()[:1]  # fmt: skip
        assert row["load_1_minute:Other CPU"] == 5.0
        trips = matrix(opened, Filter(engine=("root",)), across="storage_kind", key="round_trip_ns")
        told = {round(one.line["latency_before_ns"]) for one in results}
        kinds = [place for place, one in enumerate(trips.columns) if one.key.startswith("round_trip_ns:")]
        assert {row[place] for row in trips.rows for place in kinds} - {None} == told
        with pytest.raises(RequestError, match="is not judged"):
            compare(opened, Filter(), by="version", key="load_1_minute")
    frame = arrowroot_lab.results(tmp_path / "lab.db", each="sample", storage_kind="xrootd")
    assert set(frame["cpu_model"]) == {"Other CPU", "AMD EPYC 7B13"}
    for one in frame.to_dict("records"):
        result = next(result for result in results if result.uuid == one["uuid"])
        sample = result.samples[one["place"]]
        assert one["load_1_minute"] == sample.readings["load_1_minute"]
        rate = sample.readings["network_in_bytes"] + sample.readings["network_out_bytes"]
        assert one["network_bytes_per_s"] == round(rate / sample.readings["elapsed_ns"] * 1e9)
        assert one["round_trip_ns"] == round(result.line["latency_before_ns"])
    each = arrowroot_lab.results(tmp_path / "lab.db", reading=[("load_1_minute", "<", 2.0)])
    assert set(each["uuid"]) == {one.uuid for one in results[1::2]}


def test_versions_are_judged_by_runs_that_had_both_however_long_one_went_on_alone(tmp_path):
    made = Made(n_runs=90, days_between=1, storages=("local", "nginx"), engines=("root",), n_samples=3,
                workloads=("all columns",), with_trouble=False, noise=QUIET)  # fmt: skip
    results = made.results()
    with Store.open(tmp_path / "lab.db") as opened:
        for place, one in enumerate(results):
            if one.version == "6.40.00" or place < 4 * 8:
                opened.put(one)
        for by in ("version", "storage"):
            table, compared = compare(opened, Filter(), by=by)
            found = compare_measured(opened, measured_of(named(opened.summaries())), by=by)
            assert (table, compared) == found
        _, compared = compare(opened, Filter(), by="version")
        assert [(one.comparison.n_pairs, one.comparison.verdict) for one in compared] == [
            (24, Verdict.WORSE)
        ] * 2
        # Those of many runs are of the newest ones that have pairs enough; a version that was replaced is asked for.
        table, compared = compare(opened, Filter(), by="storage")
        assert [one.comparison.n_pairs for one in compared] == [60]
        assert table.notes[-1] == "Left out, as another version was measured there since: 1 (--version)."
        _, compared = compare(opened, Filter(version=("6.38.00",)), by="storage")
        assert [one.comparison.n_pairs for one in compared] == [24]
        assert len(compare(opened, Filter(version=("6.*",)), by="storage")[1]) == 2


@pytest.mark.parametrize(("n_alone", "asked"), [(0, [10]), (15, [10, 40])])
def test_no_more_results_are_looked_at_than_have_pairs_enough(tmp_path, monkeypatch, n_alone, asked):
    made = Made(n_runs=40, days_between=1, storages=("local", "nginx"), engines=("uproot",), n_samples=7,
                workloads=("all columns",), with_trouble=False, noise=QUIET)  # fmt: skip
    newest_of, looked_at = Store.newest_of, []

    def counting(*asked):
        looked_at.append(asked[4])
        return newest_of(*asked)

    monkeypatch.setattr(Store, "newest_of", counting)
    with Store.open(tmp_path / "lab.db") as opened:
        for place, one in enumerate(made.results()):
            if place < 2 * (40 - n_alone) or place % 2:
                opened.put(one)
        found = compare(opened, Filter(), by="storage")
        assert list(dict.fromkeys(looked_at)) == asked
        assert found == compare_measured(opened, measured_of(named(opened.summaries())), by="storage")
    assert [one.comparison.n_pairs for one in found[1]] == [70]
