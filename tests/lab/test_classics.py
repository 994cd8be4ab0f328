"""The pages of the classics: each statement is recomputed from kept results, and fails if it does not hold."""

from __future__ import annotations

import copy
import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from arrowroot_lab import classics
from arrowroot_lab.classics import classic, real, results, study, traces, virtual
from arrowroot_lab.classics.cms_2010 import measuring as cms
from arrowroot_lab.classics.cms_2010 import published as cms_published
from arrowroot_lab.classics.cms_2010 import real as cms_real
from arrowroot_lab.classics.cms_2017 import measuring as cms_2017
from arrowroot_lab.classics.liverpool_2008 import published as liverpool_published
from arrowroot_lab.classics.liverpool_2008.found import Liverpool2008Results as Liverpool
from arrowroot_lab.classics.root_2009 import measuring as root
from arrowroot_lab.classics.root_2009 import published as root_published
from arrowroot_lab.classics.root_2009 import tree_cache
from arrowroot_lab.cli import main
from arrowroot_lab.errors import LabError
from arrowroot_lab.mining.table import Column
from arrowroot_lab.store import Store
from campaigns.parallel_output import cases
from tests.command import done_here, run_here
from tests.lab.made import Made
from tests.recorded import session

MIB = 1 << 20
ROOT = Path(__file__).parents[2]
KEPT = results.DIRECTORY


@pytest.fixture(scope="module", params=classics.NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def found(name):
    return results.stored(name)


def changed(found, **by_study):
    """Return results in which the rows of a study have another value: ``buffer=("read_bytes", 0)``."""
    document = copy.deepcopy(found.document)
    for row in document["rows"]:
        if row["study"] in by_study:
            key, value = by_study[row["study"]]
            row[key] = value
    return results.Results(document)


def test_all_that_a_page_states_holds(found):
    wrong = [claim.text for claim in classics.claims(found) if not claim.holds]
    assert not wrong


def test_the_results_that_are_kept_are_of_the_full_size_and_small(name, found):
    assert found.scale == 1
    path = results.DIRECTORY / f"{name}.json"
    assert path.stat().st_size < 150_000
    assert results.text(json.loads(path.read_text())) == path.read_text()


def failing(changed_results):
    return {claim.text for claim in classics.claims(changed_results) if not claim.holds}


def test_what_is_done_for_real_can_be_taken_from_a_database(name):
    classic = classics.module(name)
    assert hasattr(classic, "real_rows") == (find_spec(f"{classic.__name__}.real") is not None)


def test_what_was_measured_for_real_stays_until_it_is_measured_again():
    def document(day, commit, *studies):
        rows = [{"study": study, "day": day} for study in studies]
        return results.document("root-2009", 1, {}, rows) | {
            "measured_at": f"2026-11-0{day}T",
            "commit": commit,
        }

    first = document(1, "a1", "replay", "real cases", "real layouts")
    second = document(2, "b2", "replay", "real layouts")
    results.keep(second, first)
    third = document(3, "c3", "replay")
    results.keep(third, second)
    found = results.Results(third)
    assert [row["day"] for row in third["rows"]] == [3, 2, 1]
    assert found.measured().startswith("Measured on 2026-11-03 at commit c3 with arrowroot ")
    assert found.measured().endswith(
        "Kept from 2026-11-02 at commit b2: real layouts. Kept from 2026-11-01 at commit a1: real cases."
    )
    fourth = document(4, "d4", "replay", "real cases", "real layouts")
    results.keep(fourth, third)
    assert [row["day"] for row in fourth["rows"]] == [4, 4, 4]
    assert "Kept" not in results.Results(fourth).measured()


def test_statements_fail_where_the_results_say_otherwise(tmp_path):
    def fails(name, **by_study):
        failed = failing(changed(results.stored(name), **by_study))
        return "\n".join(sorted(" ".join(text.split()[:8]) for text in failed))

    session("statements", tmp_path, {"fails": fails, "MIB": MIB})


def test_a_page_says_then_and_now_in_its_first_sentence_and_has_all_parts(name, found):
    page = classics.page(found)
    assert page.name == name
    assert page.answer.startswith("In 20")
    assert "now" in page.answer
    assert page.answer.count(". ") == 0
    for part in (page.figures, page.tables, page.scale, page.same, page.differs, page.today, page.sources):
        assert part
    assert page.command == f"arrowroot lab classics {name}"
    assert page.command in page.real_command
    for word in page.real_command.split():
        assert not word.startswith("campaigns/") or (ROOT / word).is_file()
    assert page.headline.pairs
    assert page.measured.startswith("Measured on 20")
    texts = [page.answer, *page.scale, *page.same, *page.differs, *page.today]
    assert all("{" not in text and "  " not in text for text in texts)
    for figure in page.figures:
        assert "<svg" in figure.svg
        assert figure.table.rows
        # All labels are whole, on narrow screens, too.
        assert "\N{HORIZONTAL ELLIPSIS}" not in figure.svg + figure.narrow_svg, figure.title


#: What was put into a model, or fitted: headline -> labels; as each ``published.py`` and ``measuring.py`` has it.
GIVEN = {
    "liverpool-2008": {
        f"buffer of {size}" for size in ("4 KiB", "128 KiB", "1 MiB", "10 MiB", "64 MiB", "128 MiB")
    },
    "root-2009": {"layout alone"},
    "cms-2010": set(cms.CASES),
    "atlas-2012": {"old AOD, all events", "old AOD, 1 %", "AOD 2011, all events"},
    "cms-2017": {"one buffer"},
}
#: And statements: so many of each classic say nothing else.
N_GIVEN = {"liverpool-2008": 7, "root-2009": 10, "cms-2010": 12, "atlas-2012": 7, "cms-2017": 6}


def test_what_is_given_is_told_and_drawn_as_such_and_does_not_count(name, found):
    page = classics.page(found)
    assert {pair.label for pair in page.headline.pairs if pair.is_given} == GIVEN[name]
    assert any(not pair.is_given and pair.here for pair in page.headline.pairs)
    given = [claim for claim in page.claims if claim.is_given]
    n_found = len(page.claims) - N_GIVEN[name]
    assert len(given) == N_GIVEN[name]
    assert page.counted().startswith(
        f"{n_found} of {n_found} statements that could fail hold; {len(given)} more"
    )
    assert [row["verdict"] for row in page.statements().records()] == ["holds"] * n_found + ["given"] * len(
        given
    )
    drawn = [figure for figure in page.figures if " given" in figure.svg or " strike" in figure.svg]
    assert drawn
    for svg in (svg for figure in drawn for svg in (figure.svg, figure.narrow_svg)):
        # A look of its own, and the word.
        assert ('class="strike' in svg) or (' given"' in svg)
        assert "given<" in svg
    assert any(
        "given" in str(row) for table in page.tables for row in (*table.rows, table.columns, table.notes)
    )


def test_of_root_2009_all_that_is_read_without_a_cache_is_told_and_drawn_as_given():
    page = classics.page(results.stored("root-2009"))
    put_in, found = page.answer.split("what is found is")
    assert "1,328,586 baskets are put in, 349,380 for the layout alone" in put_in
    assert "349,380" not in found
    for figure in page.figures:
        if figure.title.startswith("Reads: "):
            assert ("reads (given) of" in figure.caption) == figure.title.endswith("no cache")
    drawn = {figure.title: figure.table.rows for figure in page.figures}
    times = drawn["Real time and disk time of the four corners"]
    given = {row[0] for row in times if "here, given" in str(row)}
    assert given == {"unoptimised, no cache", "optimised, no cache", "optimised, cache of 60 MB"}
    far = next(rows for title, rows in drawn.items() if title.startswith("CPU over real time: async"))
    assert {"given" in str(row) for row in far if "no cache" in str(row)} == {True}
    assert {"given" in str(row) for row in far if "no cache" not in str(row)} == {False}


def test_the_card_of_liverpool_has_all_published_sizes_and_how_far_off_they_are_at_most():
    found = results.stored("liverpool-2008")
    headline = classics.page(found).headline
    published = {pair.label: pair.published for pair in headline.pairs if pair.published is not None}
    assert published == {
        "buffer of 4 KiB": 0.66e9, "buffer of 128 KiB": 16.5e9, "buffer of 1 MiB": 65.5e9,
        "buffer of 10 MiB": 174e9, "buffer of 64 MiB": 11.5e9, "buffer of 128 MiB": 7.5e9,
    }  # fmt: skip
    here = found.row("buffer", cache_bytes=MIB)["read_bytes"] / 65.5e9
    assert (
        f"{Liverpool(found.document).deviation:.2f} in the mean, and of {here:.2f} at most (1 MiB)"
        in headline.note
    )


def test_the_figures_of_the_cms_page_are_those_of_its_results():
    found = results.stored("cms-2010")
    page = classics.page(found)
    told = {record["job"]: record for record in page.tables[0].records()}
    for case in cms.CASES:
        row = found.row("model", case=case)
        assert told[case]["n_requests"] == row["n_requests"]
        assert told[case]["read_mib"] == told[case]["published_mib"] == f"{row['read_bytes'] / MIB:,.3f} MiB"
        assert told[case]["wait_ns"] == row["wait_ns"]
        assert f"{row['wait_ns'] / 1e9:.0f}" in page.answer
    # The published reads and the replayed ones are the same.
    assert all(told[case]["published_reads"] == told[case]["n_requests"] for case in cms.CASES)
    # A latency for each read, and its bytes at 12 MiB/s, as in the source.
    for case in ("original", "improved", "lazy download"):
        job = cms_published.RAL[case]
        assert told[case]["wait_ns"] / 1e9 == pytest.approx(job.n_reads * 0.005 + job.mib / 12, rel=2e-3)


def test_the_figures_of_the_cms_page_for_real_are_those_of_its_results():
    found = results.stored("cms-2010")
    table = next(table for table in classics.page(found).tables if "For real" in table.title)
    rows = found.rows("real")
    assert len(rows) == 7
    for record, row in zip(table.records(), rows, strict=True):
        assert {key: record[key] for key in ("part", "case", "n_requests", "read_bytes", "wall_ns")} == {
            key: row[key] for key in ("part", "case", "n_requests", "read_bytes", "wall_ns")
        }
        if row["case"] != "original":
            assert record["ratio_low"] <= record["ratio"] <= record["ratio_high"]
            assert (record["ratio_high"], record["n_pairs"]) == (max(row["ratios"]), len(row["ratios"]))
            of = next(one for one in rows if (one["part"], one["case"]) == (row["part"], "original"))
            assert record["ratio"] == pytest.approx(row["wall_ns"] / of["wall_ns"], rel=0.02)


def test_results_of_the_cms_campaign_become_rows_of_its_page(tmp_path):
    made = Made(
        campaign="cms-2010", storages=("local",), engines=("arrowroot",), workloads=("all columns",), n_runs=1,
        with_trouble=False,
    )  # fmt: skip
    with Store.open(tmp_path / "lab.db") as store:
        for place, (strategy, factor) in enumerate((("direct", 8), ("treecache", 1), ("lazy-download", 2))):
            (_, one) = made.results()
            one.case = {**one.case, "dataset_name": "tenth", "strategy": {"name": strategy}}
            one.uuid = f"{place}{one.uuid[1:]}"
            for sample in one.samples:
                sample.wall_ns *= factor
            store.put(one)
        rows = cms_real.rows(store)
    assert [(row["part"], row["case"]) for row in rows] == [
        (0.1, case) for case in ("original", "tree cache", "lazy download")
    ]
    assert [set(row["ratios"]) for row in rows] == [{1.0}, {0.125}, {0.25}]
    assert {len(row["ratios"]) for row in rows} == {7}
    assert rows[0]["wall_ns"] == 8 * rows[1]["wall_ns"]
    assert {row["n_requests"] for row in rows} == {14}
    # A case all of whose samples were disturbed has no figures.
    with Store.open(tmp_path / "lab.db") as store:
        one.uuid, one.created_at = f"9{one.uuid[1:]}", "2026-12-01T00:00:00.000Z"
        for sample in one.samples:
            sample.disturbed = ["other processes took 99% of the cores"]
        store.put(one)
        assert [row["case"] for row in cms_real.rows(store)] == ["original", "tree cache"]


def test_the_figures_of_the_liverpool_page_are_those_of_its_results():
    found = results.stored("liverpool-2008")
    page = classics.page(found)
    records = page.tables[0].records()
    for record, row in zip(records, found.rows("buffer"), strict=True):
        size = row["cache_bytes"]
        assert record["buffer"] == (f"{size // MIB} MiB" if size >= MIB else f"{size >> 10} KiB")
        assert (record["read_bytes"], record["n_requests"]) == (row["read_bytes"], row["n_requests"])
        assert record["cpu_share"] == row["think_ns"] / row["wall_ns"]
        assert record["events_per_s"] == pytest.approx(10_000 / (row["wall_ns"] / 1e9))
    published = {record["buffer"]: (record["published_gb"], record["retest_gb"]) for record in records}
    assert (published["10 MiB"], published["128 KiB"]) == (("174 GB", None), ("16.5 GB", "13.95 GB"))
    top = Liverpool.peak(found.rows("buffer"))
    assert f"{top['cache_bytes'] // MIB} MiB with {top['read_bytes'] / 1e9:.0f} GB" in page.answer


def test_the_published_line_of_ral_predicts_the_report_that_it_was_not_made_from():
    line = cms.ral_line()
    improved = cms_published.RAL["improved"]
    predicted_s = improved.n_reads * line.latency_ns / 1e9 + improved.mib * MIB / line.bytes_per_s
    vectors_s = 29 * line.latency_ns / 1e9 + cms_published.CACHED_MIB * MIB / line.bytes_per_s
    assert predicted_s + vectors_s == pytest.approx(improved.read_s + improved.vector_s, rel=0.06)


def test_jobs_have_the_published_counts_and_bytes_to_the_byte():
    job = cms_published.job()
    assert (len(job), job.asked_bytes) == (63_143, round(540.754 * MIB))
    assert job.file_bytes == round(1169.41 * MIB)
    for part, (n, mib) in (
        (cms_published.cached(), (59_856, 480.968)),
        (cms_published.uncached(), (22_416, 805.87)),
    ):
        assert (len(part), part.asked_bytes) == (n, round(mib * MIB))
        assert len(np.unique(part.offsets)) == len(part)
        assert np.all(np.diff(part.first_entries) >= 0)
    again = cms_published.job()
    assert np.array_equal(job.offsets, again.offsets)


def test_baskets_of_a_file_without_flushes_are_written_when_they_are_full():
    trace = liverpool_published.job(n_events=500, file_bytes=76_500_000)
    assert trace.asked_bytes / trace.file_bytes == pytest.approx(0.45, abs=0.06)
    in_place = trace.in_file_order()
    assert np.all(np.diff(in_place.offsets) > 0)
    assert np.all(np.diff(trace.first_entries) >= 0)
    # No two baskets overlap, and all lie in the file.
    ends = in_place.offsets + in_place.sizes
    assert np.all(ends[:-1] <= in_place.offsets[1:])
    assert ends[-1] <= trace.file_bytes
    flushed = liverpool_published.job(n_events=500, file_bytes=76_500_000, cluster_bytes=7_650_000)
    assert {0, 50, 100} <= set(flushed.first_entries.tolist())


def test_the_guesses_of_2008_are_told_apart_by_plain_arithmetic():
    trace = traces.Trace(
        np.array([0, 500, 100, 600]), np.full(4, 100), np.arange(4), np.zeros(4, np.int64), 1000, 4
    )
    assert liverpool_published.only_the_beginning(trace, 150) == 150 + 50 + 200
    assert liverpool_published.only_the_beginning(trace, 2000) == 1000
    assert liverpool_published.blocks_least_recently_used(trace, 100, 1) == 400
    assert liverpool_published.blocks_least_recently_used(trace, 250, 1) == 1000
    assert liverpool_published.blocks_least_recently_used(trace, 250, 2) == 500
    assert liverpool_published.span_bytes(trace) == 0  # one branch: one basket in hand


def test_a_file_that_is_smaller_than_the_buffer_moves_once_if_its_beginning_is_read_first(tmp_path):
    """The source of 2008 says so of small files, and the page why: a job opens its file before it reads."""
    header_bytes, buffer_bytes = 300, 128 * MIB
    job = liverpool_published.job(file_bytes=buffer_bytes // 2, n_events=400)
    opened = traces.Trace(
        np.append(0, job.offsets + header_bytes),
        np.append(header_bytes, job.sizes),
        np.append(0, job.first_entries),
        np.append(0, job.branches),
        job.file_bytes + header_bytes,
        job.n_entries,
    )
    line = virtual.Line(liverpool_published.LATENCY_NS, liverpool_published.BYTES_PER_S)
    for trace, times in ((job, 3), (opened, 1)):
        path = tmp_path / f"{times}.arrow"
        traces.write(path, trace, "Liverpool 2008")
        moved = virtual.replay(path, line, "readahead", buffer_bytes)["read_bytes"]
        assert (moved == trace.file_bytes) if times == 1 else (moved > times * trace.file_bytes)


def test_a_replay_at_full_size_is_what_is_kept(tmp_path):
    path = tmp_path / "job.arrow"
    traces.write(path, cms_published.job(), "CMS 2010")
    line = virtual.Line(cms_published.LATENCY_NS, cms_published.MODEL_BYTES_PER_S)
    kept = results.stored("cms-2010").row("model", case="original")
    row = virtual.replay(path, line, "direct")
    assert {**kept, **row} == kept


def test_the_peak_of_the_buffer_is_what_is_kept(tmp_path):
    path = tmp_path / "job.arrow"
    traces.write(path, liverpool_published.job(), "Liverpool 2008")
    kept = Liverpool.peak(results.stored("liverpool-2008").rows("buffer"))
    line = virtual.Line(liverpool_published.LATENCY_NS, liverpool_published.BYTES_PER_S)
    row = virtual.replay(path, line, "readahead", kept["cache_bytes"], works=True)
    assert {**kept, **row} == kept


@pytest.mark.parametrize("layout", root.LAYOUTS)
def test_the_corners_of_the_root_page_at_full_size_are_what_is_kept(layout):
    kept = results.stored("root-2009")
    of = getattr(root_published, layout)()
    assert (len(of.trace), of.trace.asked_bytes) == (kept.model[layout]["n_baskets"], of.trace.file_bytes)
    for size in (0, root_published.CACHE_BYTES):
        reads = tree_cache.reads(of, size, root_published.READ_AHEAD_BYTES)
        row = kept.row("corner", layout=layout, cache_bytes=size)
        assert (len(reads.offsets), int(reads.sizes.sum())) == (row["n_reads"], row["read_bytes"])
        assert int(reads.loads_ns(root.DISK_LINE, is_vector=False).sum()) == row["wait_ns"]
    # All baskets lie in the file, one after the other.
    order = np.argsort(of.trace.offsets)
    ends = (of.trace.offsets + of.trace.sizes)[order]
    assert np.array_equal(of.trace.offsets[order][1:], ends[:-1])
    assert ends[-1] == of.trace.file_bytes


def test_a_replay_of_the_flushed_file_at_full_size_is_what_is_kept(tmp_path):
    path = tmp_path / "job.arrow"
    traces.write(path, root_published.optimised().trace, "ROOT 2009")
    wanted = {"layout": "optimised", "line": "each read", "strategy": "treecache"}
    kept = results.stored("root-2009").row("replay", **wanted)
    row = virtual.replay(path, root.DISK_LINE, "treecache", 30_000_000, works=True, learns=False)
    assert {**kept, **row} == kept


def test_the_root_page_says_what_prefetching_gains_for_real_once_there_are_times():
    found, words = (
        results.stored("root-2009"),
        "works 42% of its time with its tree cache, 44% of its time with a",
    )
    document = copy.deepcopy(found.document)
    far = [row for row in document["rows"] if row.get("workload") == "with CPU time"]
    for row, cpu_ns in zip(sorted(far, key=lambda row: row["title"]), (74, 42, 44), strict=True):
        row |= {"wall_ns": 100, "cpu_ns": cpu_ns}
    page = classics.page
    assert words in " ".join(page(results.Results(document)).today)
    far[0]["wall_ns"] = None
    assert words not in " ".join(page(results.Results(document)).today)


def test_the_rules_of_roots_tree_cache_are_those_of_plain_loops():
    generator = np.random.default_rng(7)
    n = 400
    sizes = generator.integers(1, 50, n) * 1000
    offsets = np.cumsum(sizes + generator.choice([0, 0, 0, 5000, 400_000], n)) - sizes
    order = generator.permutation(n)
    firsts = np.sort(generator.integers(0, 100, n))
    trace = traces.Trace(
        offsets[order], sizes[order], firsts, np.arange(n), int(offsets[-1] + sizes[-1]), 100, 1000
    )
    of = root_published.File(trace, firsts + 1, np.array([0]))
    cache_bytes, ahead_bytes = trace.file_bytes // 5, 256 << 10
    reads = tree_cache.reads(of, cache_bytes, ahead_bytes)
    step = int(100 * cache_bytes / trace.file_bytes)
    expected = []
    for begin in range(0, 100, step):
        among = [i for i in range(n) if begin <= firsts[i] < begin + step]
        blocks = []
        for at, size in sorted((int(trace.offsets[i]), int(trace.sizes[i])) for i in among):
            if blocks and sum(blocks[-1]) == at and blocks[-1][1] <= 16_000_000:
                blocks[-1][1] += size
            else:
                blocks.append([at, size])
        while blocks:
            at, size = blocks.pop(0)
            end = at + size
            while end < at + ahead_bytes and blocks and sum(blocks[0]) < at + ahead_bytes:
                end = sum(blocks.pop(0))
            expected.append((at, end - at))
    assert list(zip(reads.offsets.tolist(), reads.sizes.tolist(), strict=True)) == expected
    assert tree_cache.double_buffered_ns(np.array([5, 5, 5]), np.array([3, 8, 1])) == 5 + 5 + 8 + 1
    assert tree_cache.in_turn_ns(np.array([5, 5, 5]), np.array([3, 8, 1])) == 27


def test_the_policies_at_full_size_are_what_is_kept():
    if not cases.EXAMPLE.exists():
        pytest.skip(f"cargo has not built {cases.EXAMPLE}, as cargo test does")
    kept = results.stored("cms-2017")
    for policy in cms_2017.POLICIES:
        row = kept.row("policy", policy=policy, seed=1)
        outcome = cases.virtual(policy, n_streams=12, n_buffers=4, n_events=40_000, seed=1)
        assert (outcome.n_stalls, outcome.n_fills) == (row["n_stalls"], row["n_fills"])
        assert outcome.stalls_s == pytest.approx(row["stalls_s"], abs=1e-6)
        published = {**cases.PUBLISHED[policy], "study": "published", "policy": policy}
        assert kept.row("published", policy=policy) == published


def test_what_the_benchmark_writes_becomes_rows_of_the_cms_page(tmp_path):
    run = {
        "events_per_s": 76.0, "efficiency": 0.9, "not_stalled": 0.95, "n_stalls": 3, "stalls_s": 0.5, "longest_s": 0.2,
        "told": {"peak_rss_bytes": 31_000_000},
    }  # fmt: skip
    case = {
        "shape": "miniaod",
        "engine": "tbuffermerger",
        "layout": "ttree",
        "n_streams": 8,
        "file_bytes": 2_200_000,
        "run": run,
    }
    document = {
        "found": {"cases": [case]},
        "machine": "two cores, load 1.5 at the start",
        "settings": {"work_ms": 5.0, "real_events": 600},
    }
    path = tmp_path / "peers.json"
    path.write_text(json.dumps(document))
    [row] = cms_2017.peer_rows(path)
    assert (row["study"], row["writer"], row["n_streams"]) == ("real", "tbuffermerger", 8)
    assert (row["file_bytes"], row["peak_rss_bytes"]) == (2_200_000, 31_000_000)
    assert row["machine"] == document["machine"]


def test_the_picture_of_all_classics_is_that_of_their_kept_results(tmp_path):
    assert main(["classics", "--picture", str(tmp_path / "classics.svg")]) == 0
    for drawn in ("classics.svg", "classics-narrow.svg"):
        text = (tmp_path / drawn).read_text()
        kept = (ROOT / "docs" / drawn).read_text()
        assert text == kept, "arrowroot lab classics --picture docs/classics.svg"
        assert "\N{HORIZONTAL ELLIPSIS}" not in text
        # What is measured is there, and no published count that was put in stands as found beside itself.
        assert "18,212 to 17" in text
        assert ">1,328,586<" not in text


def test_a_trace_is_one_for_arrowroot(tmp_path):
    path = tmp_path / "job.arrow"
    trace = cms_published.job(0.002)
    traces.write(path, trace, "CMS 2010")
    command = ["replay", path, "--json", "--strategy", "direct"]
    document = json.loads(done_here(*command))
    assert (document["n_baskets"], document["order"]) == (len(trace), "entry")
    assert document["outcomes"][0]["think_ns"] == pytest.approx(trace.work_ns, rel=1e-6)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    assert run_here(*command).returncode == 1


def test_a_real_file_makes_the_reads_of_its_replay(tmp_path):
    path = tmp_path / "small.root"
    made = ("--entries", "400", "--flush", "none", "--basket-size", "2 kB")
    done_here("sample", "d3pd", f"{path}:physics", *made)
    rows = real.read_and_replayed(f"{path}:physics", "readahead", (4096, 1 << 16))
    for row in rows:
        assert (row["n_requests"], row["read_bytes"]) == (row["replayed_requests"], row["replayed_bytes"])
        assert row["read_bytes"] >= row["payload_bytes"] > 0
    assert rows[0]["n_requests"] > rows[1]["n_requests"]


def test_a_program_that_fails_is_told_with_what_it_said(tmp_path):
    with pytest.raises(LabError, match=r"exit code 1: .*no such file"):
        virtual.replay(tmp_path / "nowhere.arrow", virtual.Line(1_000_000, 1e6), "direct")


def test_a_small_scale_has_its_share_of_the_counts():
    with traces.folder("CMS 2010") as written:
        rows = {row["case"]: row for row in cms.model_rows(cms.Jobs(written, 0.01))}
    counts = [rows[case]["n_requests"] for case in cms.CASES]
    assert counts == [631, 224, 29, 10]
    original_s = rows["original"]["wait_ns"] / 1e9
    assert original_s == pytest.approx(0.01 * 360.8, rel=1e-2)
    assert rows["auto"]["wait_ns"] < rows["vector reads"]["wait_ns"] * 1.4


def test_the_command_says_what_holds_and_writes_the_results(name, found, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(classics.module(name), "measure", lambda *_: found.document)
    out = tmp_path / "again.json"
    assert main(["classics", name, "--out", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == classics.page(found).answer
    assert len(said) > 12
    given = [line for line in said[1:-1] if line.startswith("given ")]
    assert all(line.startswith("holds ") for line in said[1:-1] if line not in given)
    n_found = len(said) - 2 - len(given)
    assert said[-1] == (
        f"{n_found} of {n_found} statements that could fail hold; {len(given)} more say what was given."
    )
    assert json.loads(out.read_text()) == found.document
    broken = changed(
        found,
        model=("n_requests", 1),
        buffer=("read_bytes", 1),
        corner=("n_reads", 1),
        policy=("n_stalls", 1),
        layout=("wall_ns", 1),
    )
    monkeypatch.setattr(classics.module(name), "measure", lambda *_: broken.document)
    assert main(["classics", name]) == 1
    assert "\nFAILS " in capsys.readouterr().out


def test_a_statement_that_only_the_size_undoes_is_not_told_at_a_smaller_scale(capsys, monkeypatch):
    words = "Without prefetching a larger cache is always better"
    broken = changed(results.stored("root-2009"), cache=("wall_ns", 10**12))
    monkeypatch.setattr(classics.module("root-2009"), "measure", lambda *_: broken.document)
    for scale, code, verdict in (("0.05", 0, "not at this scale"), ("1", 1, "FAILS")):
        assert main(["classics", "root-2009", "--scale", scale]) == code
        *_, last = said = capsys.readouterr().out.splitlines()
        (line,) = [line for line in said if words in line]
        assert line.startswith(f"{verdict} ")
        assert last.endswith("1 more cannot be told at this scale.") == (code == 0)
        assert last.startswith("18 of 18 " if code == 0 else "18 of 19 ")


def test_wrong_requests_are_told_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(virtual, "arrowroot", lambda *_: pytest.fail("something was replayed"))
    session("requests-of-classics", tmp_path)


@pytest.mark.parametrize(
    "name", [name for name in classics.NAMES if hasattr(classics.module(name), "real_rows")]
)
def test_a_database_without_results_of_a_classic_is_refused(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(virtual, "arrowroot", lambda *_: pytest.fail("something was replayed"))
    with Store.open(tmp_path / "lab.db") as store:
        store.put(Made().results()[0])
    assert main(["classics", name, "--db", str(tmp_path / "lab.db")]) == 2
    assert f"lab.db: it has no results of the campaigns of {name}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("study", "spoil"),
    [
        ("corner", lambda row: row.update(study="another")),
        ("corner", lambda row: row.pop("n_fills")),
        ("third", lambda row: row.pop("entry_share")),
    ],
    ids=["rows", "what the prose tells", "a cell of a table"],
)
def test_results_that_make_no_page_are_not_kept(study, spoil, tmp_path, capsys, monkeypatch):
    name = "root-2009"
    monkeypatch.setattr(results, "DIRECTORY", kept := Path(shutil.copytree(KEPT, tmp_path / "kept")))
    before = json.loads((KEPT / f"{name}.json").read_text())
    document = copy.deepcopy(before)
    for row in results.Results(document).rows(study):
        spoil(row)
    monkeypatch.setattr(classics.module(name), "measure", lambda *_: document)
    out = tmp_path / "out.json"
    assert main(["classics", name, "--write"]) == 1
    assert "root-2009: its page needs results that are not there" in capsys.readouterr().err
    assert json.loads((kept / f"{name}.json").read_text()) == before
    assert main(["classics", name, "--out", str(out)]) == 1
    assert json.loads(out.read_text()) == document


def test_the_command_lists_the_classics(capsys):
    assert main(["classics"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(classics.NAMES)


def test_a_column_is_shown_as_its_key_says_if_nothing_else_is_told():
    texts = {
        "layout Layout": "text", "n_reads Reads": "count", "wall_ns Real, best": "time", "read_bytes Moved": "bytes",
        "cpu_share CPU": "share", "share Share": "share", "ratio_low Least": "ratio", "events_per_s Events/s": "rate",
        "bytes_per_s:bytes Line": "bytes", "moved:share Moved": "share", "reads_an_event Reads": "text",
    }  # fmt: skip
    for text, form in texts.items():
        key, title = text.split(" ", 1)
        assert study.column(text) == Column(key.partition(":")[0], title, form)


def test_paragraphs_are_joined_lines():
    assert classic.points("\n  one\n  two\n\n  three\n") == ("one two", "three")
