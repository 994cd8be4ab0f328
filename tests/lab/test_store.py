"""The store: documents stay as they came, several processes write at once, and what is asked is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from arrowroot_lab.documents import Outcome, decode, to_json
from arrowroot_lab.errors import RequestError, StoreError
from arrowroot_lab.mining.metrics import METRICS, READINGS, metric
from arrowroot_lab.running.journal import Journal
from arrowroot_lab.store import Filter, Store, summary_of
from arrowroot_lab.store.place import engine_of, resolve
from arrowroot_lab.store.schema import VERSION_TABLE, upgrade
from arrowroot_lab.store.summary import load_of, network_of
from arrowroot_lab.store.tables import metadata
from tests.lab.made import FORMS, Made
from tests.lab.older import OlderStore
from tests.lab.stored import rows
from tests.lab.writers import put_all

RESULTS = Made().results()


def test_a_journal_has_a_sample_on_the_disk_before_the_next_begins(tmp_path, monkeypatch):
    result = RESULTS[0]
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(Path(f"/proc/self/fd/{descriptor}").read_text())
    )
    with Journal(tmp_path / "journal") as journal:
        journal.begin(replace(result, samples=[]))
        for n, sample in enumerate(result.samples, 1):
            journal.add(result, sample)
            assert [synced[-1].count(word) for word in ('"result"', '"sample":')] == [1, n]
        journal.stored(result.uuid)


def test_result_comes_back_as_it_was_put(store):
    for result in RESULTS[:40]:
        assert store.put(result)
    assert {one.uuid: one for one in store.results()} == {one.uuid: one for one in RESULTS[:40]}
    assert [one.created_at for one in store.results()] == sorted(
        (one.created_at for one in RESULTS[:40]), reverse=True
    )
    assert list(store.of([RESULTS[3].uuid, RESULTS[1].uuid])) == [RESULTS[3], RESULTS[1]]


def test_document_is_kept_byte_for_byte(store):
    document = to_json(RESULTS[0]) | {"site": "Zürich", "a key of later": {"μ": [1, 2.50, None]}}
    kept = " " + json.dumps(document, indent=3, ensure_ascii=False) + "\n\n"
    assert store.put_document(kept.encode())
    assert store.document(RESULTS[0].uuid) == kept
    assert store.result(RESULTS[0].uuid).others == {"a key of later": {"μ": [1, 2.50, None]}}


def test_same_document_twice_is_once_and_another_under_its_uuid_is_refused(store):
    assert store.put(RESULTS[0])
    assert not store.put(RESULTS[0])
    assert not store.put_document(json.dumps(to_json(RESULTS[0]), indent=2))
    with pytest.raises(StoreError, match="another document with this UUID"):
        store.put(replace(RESULTS[0], site="elsewhere"))
    assert store.count() == 1
    assert store.result(RESULTS[0].uuid) == RESULTS[0]


def test_views_have_their_documented_names_and_columns(store):
    for result in RESULTS[:10]:
        store.put(result)
    for result in rows(store, "SELECT * FROM results"):
        summary = summary_of(decode(result["document"]))
        assert {key: result[key] for key in result if key not in ("document", "stored_at")} == {
            key: value for key, value in vars(summary).items() if key != "stored_at"
        }
    one = next(result for result in RESULTS if result.samples)
    samples = rows(store, "SELECT * FROM samples WHERE uuid = :uuid ORDER BY place", uuid=one.uuid)
    assert [(row["turn"], row["wall_ns"], bool(row["is_counted"])) for row in samples] == [
        (sample.turn, sample.wall_ns, sample.is_counted()) for sample in one.samples
    ]
    counters = rows(store, "SELECT * FROM counters WHERE uuid = :uuid AND place = 0", uuid=one.uuid)
    told = {(row["layer"], row["name"]): row["value"] for row in counters}
    assert told == {(layer, key): n for layer, of in one.samples[0].counters.items() for key, n in of.items()}
    documented = (Path(__file__).parents[2] / "docs" / "lab" / "documents.md").read_text()
    for view in ("results", "samples", "counters", "newest_results"):
        for column in rows(store, f"SELECT * FROM {view}")[0]:  # noqa: S608 - names of ours
            assert f"`{column}`" in documented, f"{view}.{column} is not documented"


def test_views_have_the_same_rows_in_sqlite_and_postgresql(tmp_path, schema):
    orders = {"samples": "uuid, place", "counters": "uuid, place, layer, name"}
    found = []
    for place in (tmp_path / "lab.db", schema):
        with Store.open(place) as store:
            for result in RESULTS:
                store.put(result)
            views = {}
            for view in ("results", "newest_results", "samples", "counters"):
                query = f"SELECT * FROM {view} ORDER BY {orders.get(view, 'uuid')}"  # noqa: S608 - names of ours
                views[view] = [
                    {key: value for key, value in row.items() if key != "stored_at"}
                    for row in rows(store, query)
                ]
            found.append(views)
    of_sqlite, of_postgresql = found
    for view, of_view in of_sqlite.items():
        assert of_view
        assert of_view == of_postgresql[view], view


def test_newest_is_that_of_the_latest_date_however_they_come(store):
    one, other = RESULTS[0], next(r for r in RESULTS[1:] if r.series_id == RESULTS[0].series_id)
    later = replace(one, uuid=other.uuid, created_at="2026-12-31T23:00:00.000-02:00")
    same_time = replace(later, uuid="ffffffff-0000-4000-8000-000000000000", outcome=Outcome.FAILED)
    for result in (one, same_time, later):
        store.put(result)
    newest = store.summaries(Filter(newest=True))
    assert [(row.uuid, row.created_at, row.outcome) for row in newest] == [
        (same_time.uuid, "2027-01-01T01:00:00.000Z", "failed")
    ]
    assert [row["uuid"] for row in rows(store, "SELECT uuid FROM newest_results")] == [same_time.uuid]


def test_filters_take_names_globs_dates_and_beginnings_of_keys(store):
    for result in RESULTS:
        store.put(result)

    def n_of(**told):
        return store.count(Filter(**told))

    def n_where(condition):
        return sum(bool(condition(result)) for result in RESULTS)

    assert n_of(engine=("root",)) == n_where(lambda r: r.case["engine"] == "root")
    assert n_of(engine=("*r*t",), storage=("*-50ms",)) == n_where(
        lambda r: r.case["storage_name"].endswith("-50ms")
    )
    assert n_of(engine=("Root",)) == n_of(engine=("R*",)) == 0
    assert n_of(workload=("1 % of*", "ten%", "t?n columns")) == n_where(
        lambda r: r.case["workload_name"] != "all columns"
    )
    assert n_of(version=("6.*",), outcome=("failed", "refused")) == n_where(
        lambda r: r.version.startswith("6.") and r.outcome in (Outcome.FAILED, Outcome.REFUSED)
    )
    assert n_of(since="2026-10-11", until="2026-10-12") == len(RESULTS) // 3
    assert n_of(series=(RESULTS[0].series_id[:9],)) == n_where(lambda r: r.series_id == RESULTS[0].series_id)
    assert n_of(case=(RESULTS[0].case_id,)) == n_where(lambda r: r.case_id == RESULTS[0].case_id)
    series = {(result.series_id, result.version) for result in RESULTS}
    newest = store.summaries(Filter(newest_versions=True))
    assert {(one.series_id, one.version) for one in newest} == series
    assert len(newest) == len(series)
    assert {one.created_at[:10] for one in newest} == {"2026-10-21"}


def test_newest_is_chosen_among_those_that_match_and_its_outcome_asked_then(store):
    made = sorted(RESULTS, key=lambda one: (one.created_at, one.uuid))
    for result in RESULTS:
        store.put(result)

    def newest(matches=lambda _: True, key=lambda one: one.series_id):
        return {key(one): one for one in made if matches(one)}.values()

    def uuids(**told):
        found = [one.uuid for one in store.summaries(Filter(**told))]
        assert len(found) == len(set(found))
        return set(found)

    assert uuids(newest=True) == {one.uuid for one in newest()}
    failed = {one.uuid for one in newest() if one.outcome is Outcome.FAILED}
    assert uuids(newest=True, outcome=("failed",)) == failed
    assert failed < {one.uuid for one in RESULTS if one.outcome is Outcome.FAILED}
    early = newest(lambda one: one.created_at < "2026-10-05")
    assert uuids(newest=True, until="2026-10-05") == {one.uuid for one in early}
    old = newest(lambda one: one.version == "0.1.0")
    assert uuids(newest=True, version=("0.1.0",)) == {one.uuid for one in old}
    each = newest(key=lambda one: (one.series_id, one.version))
    assert uuids(newest_versions=True, version=("6*", "0*")) == {
        one.uuid for one in each if one.version < "7" and one.version[0] != "5"
    }
    run = RESULTS[0].campaign["run"]
    of_run = newest(lambda one: one.campaign["run"] == run, key=lambda one: (one.series_id, one.version))
    assert uuids(newest_versions=True, run=(run,)) == {one.uuid for one in of_run}


def test_measured_already_is_told_by_versions_site_and_file(store):
    one = next(result for result in RESULTS if result.outcome is Outcome.OK)
    failed = next(result for result in RESULTS if result.outcome is Outcome.FAILED)
    store.put(one)
    store.put(failed)
    asked = replace(one, versions={"engine": one.version})
    assert store.has(asked)
    assert not store.has(replace(asked, site="elsewhere"))
    assert not store.has(replace(asked, versions={"engine": "9"}))
    assert not store.has(replace(asked, versions=one.versions | {"later": "1"}))
    assert not store.has(replace(asked, dataset=one.dataset | {"file": "another"}))
    noisy = [replace(sample, disturbed=["load"]) for sample in one.samples]
    store.put(replace(one, uuid=RESULTS[-1].uuid, site="noisy", samples=noisy))
    assert not store.has(replace(asked, site="noisy"))
    assert not store.has(failed)
    assert store.has(failed, (Outcome.FAILED, Outcome.OK))


@pytest.mark.long
def test_four_processes_write_and_nothing_is_lost_doubled_or_locked_out(place):
    # Each result is put by two of the processes: one of them stores it, the other finds it there.
    numbers = range(0, len(RESULTS), 2)
    parts = [[n for n in numbers if k in (n // 2 % 4, (n // 2 + 1) % 4)] for k in range(4)]
    expected = [RESULTS[n] for n in numbers]
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert sum(pool.map(put_all, [place] * 4, parts)) == len(expected)
    with Store.open(place, must_exist=True) as store:
        assert store.count() == len(expected) == sum(n for n, _ in store.spans(None).values())
        assert {one.uuid: one for one in store.results()} == {one.uuid: one for one in expected}
        n_samples = sum(len(one.samples) for one in expected)
        assert rows(store, "SELECT count(*) AS n FROM samples")[0]["n"] == n_samples
        newest = {one.series_id: one.uuid for one in sorted(expected, key=lambda r: (r.created_at, r.uuid))}
        assert len(newest) < len(expected)
        assert {one.series_id: one.uuid for one in store.summaries(Filter(newest=True))} == newest


def test_process_killed_while_it_writes_loses_nothing_that_was_told_stored(tmp_path):
    place = tmp_path / "lab.db"
    code = (
        "import sys; from arrowroot_lab.store import Store; from tests.lab.made import FORMS, Made\n"
        "store = Store.open(sys.argv[1])\n"
        "for result in Made(seed=2).results(): store.put(result); print(result.uuid, flush=True)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(place)],
        stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    told = [writer.stdout.readline().strip() for _ in range(30)]
    writer.kill()
    told += writer.stdout.read().split()
    writer.wait()
    writer.stdout.close()
    with Store.open(place) as store:
        found = {one.uuid: one for one in store.results()}
    made = {one.uuid: one for one in Made(seed=2).results()}
    assert set(told) <= set(found)
    assert all(made[uuid] == result for uuid, result in found.items())


def test_tables_are_what_the_migrations_make(store):
    def is_ours(name, kind, *_):
        return not (kind == "table" and name == VERSION_TABLE)

    with store._engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": is_ours})
        assert compare_metadata(context, metadata) == []


def test_database_of_an_older_laboratory_is_brought_up_to_date_by_whoever_reads_it(place):
    """At the first step nothing that comparisons ask was in columns."""
    kept = Made().results()[:40]
    for number, result in enumerate(kept):
        for sample in result.samples:
            sample.details["n_entries"] = number
    engine = engine_of(resolve(place))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        upgrade(connection, "0001")
        older = OlderStore(connection)
        for result in kept:
            older.put(result)
    engine.dispose()
    with Store.open(place, must_exist=True) as store:
        for row in rows(store, "SELECT * FROM results"):
            told = vars(summary_of(decode(row["document"])))
            assert {key: value for key, value in row.items() if key not in ("document", "stored_at")} == {
                key: value for key, value in told.items() if key != "stored_at"
            }
        for number, result in enumerate(kept):
            found = rows(
                store,
                "SELECT n_entries, load_1_minute, network_bytes_per_s FROM samples WHERE uuid = :uuid ORDER BY place",
                uuid=result.uuid,
            )
            assert [tuple(row.values()) for row in found] == [
                (number, load_of(sample), network_of(sample)) for sample in result.samples
            ]
    with Store.open(place) as store:
        assert store.put(RESULTS[50])


def test_versions_of_an_older_database_are_those_that_people_call_them(place):
    """Until step 0003 commits stood there as a whole, and the version of ROOT's package."""
    commits = [letter * 40 for letter in "ab"]
    made = [one for one in Made().results() if one.case["engine"] == "root"][:4]
    kept = [
        replace(one, versions={"ROOT": "6.38.00", "root": "0.1a10"}, case={**made[0].case})
        for one in made[:2]
    ] + [
        replace(one, versions={"arrowroot": commit}, case={**one.case, "engine": "arrowroot"})
        for one, commit in zip(made[2:], commits, strict=True)
    ]  # fmt: skip
    raw = ["0.1a10", "6.38.00", *commits]
    engine = engine_of(resolve(place))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        upgrade(connection, "0003")
        older = OlderStore(connection)
        for result, version in zip(kept, raw, strict=True):
            older.put(result, version=version)
    engine.dispose()
    with Store.open(place, must_exist=True) as store:
        found = {one.uuid: one for one in store.summaries()}
        newest = {one.uuid for one in store.summaries(Filter(newest_versions=True))}
        # A whole commit means its results, too.
        (of_commit,) = store.summaries(Filter(version=(commits[0],)))
        assert of_commit.uuid == kept[2].uuid
    assert [found[one.uuid].version for one in kept] == ["6.38.00", "6.38.00", "a" * 12, "b" * 12]
    assert all(found[one.uuid].storage_group == summary_of(one).storage_group for one in kept)
    of_each = {(one.series_id, one.version): one for one in sorted(kept, key=lambda one: one.created_at)}
    assert newest == {one.uuid for one in of_each.values()}


KEYS = (*METRICS, *READINGS, "store.n_reads", "store.wait_ns", "nowhere.n_reads")


def test_samples_have_the_values_of_each_metric(store):
    kept = [replace(one, case={**one.case, "threads": 2, "workers": 3}) for one in Made().results()[:40]]
    told = next(sample for one in kept for sample in one.samples)
    told.details |= {"n_entries": 7, "trace": "0123456789abcdef"}
    for result in kept:
        store.put(result)
    samples = store.taken((one.uuid for one in kept), *KEYS)
    for result in kept:
        found = [
            (one.turn, one.started_at,
             tuple(metric(key).value(result, one) if one.is_counted() else None for key in KEYS),
             one.details.get("trace"))
            for one in result.samples
        ]  # fmt: skip
        assert samples[result.uuid] == found
    assert store.taken([], "wall_ns") == {}


def spans_of(summaries):
    """Series and version -> how many, and since when."""
    found = {}
    for one in summaries:
        found.setdefault((one.series_id, one.version), []).append(one.created_at)
    return {key: (len(dates), min(dates)) for key, dates in found.items()}


def test_results_of_each_series_and_version_are_counted_as_they_come(store):
    made = [*Made(seed=2, n_samples=1).results(), *Made(seed=3, campaign="other", n_samples=1).results()]
    for place, result in enumerate([*made[::2], *made[1::2], *made[:50]]):
        assert store.put(result) is (place < len(made))
    every = store.summaries()
    dates, one = sorted(one.created_at for one in every), every[0]
    kept = [
        Filter(),
        Filter(campaign=("other",)),
        Filter(version=("6*",)),
        Filter(series=(one.series_id[:9],)),
    ]
    counted = [
        Filter(since=dates[len(dates) // 2]), Filter(outcome=("failed",)), Filter(engine=("nobody",)),
        Filter(site=(one.site,), campaign=("other",)),
    ]  # fmt: skip
    for where in (*kept, Filter(case=(one.case_id,)), *counted):
        expected = spans_of(store.summaries(where))
        assert where.has_counts() is (where not in counted)
        assert store.spans(where) == expected
        assert store.firsts(where) == {key: first for key, (_, first) in expected.items()}


def test_results_of_an_older_database_are_counted(place):
    engine = engine_of(resolve(place))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        upgrade(connection, "0007")
        older = OlderStore(connection)
        for result in RESULTS[1:]:
            older.put(result)
    engine.dispose()
    with Store.open(place) as store:
        assert store.put(RESULTS[0])
        assert store.spans(None) == spans_of(store.summaries())


def test_the_newest_results_of_a_series_and_version_are_found_by_one_of_them(store):
    made = [*Made(seed=2, n_samples=1).results(), *Made(seed=3, campaign="other", n_samples=1).results()]
    for result in made:
        store.put(result)
    heads = store.rows(Filter(newest_versions=True, campaign=("storages",)), ("id", "series_id", "version"))
    until = "2026-10-12"
    where = Filter(engine=("root", "uproot"))
    newest_first = sorted(made, key=lambda one: one.created_at, reverse=True)
    known_as = {one.uuid: (one.series_id, one.version, one.campaign["name"]) for one in made}
    for n, end in ((2, None), (1, until), (None, until), (None, None)):
        expected = []
        for head in heads:
            same = [
                one.uuid
                for one in newest_first
                if known_as[one.uuid] == (head.series_id, head.version, "storages")
                and (end is None or one.created_at <= end)
                and one.case["engine"] in where.engine
            ]
            expected += same[:n]
        found = store.newest_of([head.id for head in heads], where, ("uuid",), n, end)
        assert sorted(uuid for (uuid,) in found) == sorted(expected)
    spans = store.spans(where)
    first = next(head for head in heads if (head.series_id, head.version) in spans)
    dates = [one.created_at for one in made if known_as[one.uuid][:2] == (first.series_id, first.version)]
    assert spans[first.series_id, first.version] == (len(dates), min(dates))
    assert sum(n for n, _ in spans.values()) == store.count(where)


def test_beginning_of_a_uuid_is_enough_if_only_one_has_it(store):
    one = replace(RESULTS[0], uuid="abcd0000-0000-4000-8000-000000000000")
    other = replace(RESULTS[0], uuid="abcd1111-0000-4000-8000-000000000000")
    store.put(one)
    store.put(other)
    assert store.result("abcd1").uuid == other.uuid
    for uuid, problem in (
        ("abcd", "several results"),
        ("1234", "no result has"),
        ("%", "no result has"),
        ("", "several"),
    ):
        with pytest.raises(RequestError, match=problem):
            store.result(uuid)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_every_past_form_is_read_stored_and_shown(path, store):
    assert store.put_document(path.read_bytes())
    result = next(store.results())
    assert result.samples
    assert result.counted()
    again, told = to_json(result), json.loads(path.read_text())
    assert contains(again | {"version": told["version"]}, told)


def contains(document, part):
    """True if all that ``part`` says is said by ``document``, which may say more."""
    if isinstance(part, dict):
        return all(key in document and contains(document[key], value) for key, value in part.items())
    if isinstance(part, list):
        return len(document) == len(part) and all(map(contains, document, part))
    return document == part
