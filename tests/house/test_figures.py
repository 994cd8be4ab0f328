"""The tables of README and docs are made of the laboratory's results (``campaigns/tables``)."""

import itertools

import pytest

from arrowroot_lab.campaign.matrix import cases
from arrowroot_lab.campaign.read import read
from arrowroot_lab.store import Store
from campaigns.parallel_output import cases as cases_of_parallel
from campaigns.tables import __main__ as figures
from campaigns.tables import (
    adl,
    formats,
    kinds,
    merging,
    parallel,
    parquet,
    reading,
    remote,
    servers,
    writing,
)
from campaigns.tables.pages import REPOSITORY, Block
from tests.house.made_results import result
from tests.recorded import session

WHERE = "2026-11-28, EPYC, 2 cores, 24 GiB, load 0.5; ROOT 6.40.00, arrowroot 0123456789ab"


@pytest.fixture
def store(tmp_path):
    """Make a store of results, another one each time."""

    numbers = itertools.count()

    def make(results):
        path = tmp_path / f"{next(numbers)}.db"
        with Store.open(path) as store:
            for one in results:
                store.put(one)
        return path

    return make


def told(store, blocks, results):
    """The texts that are made of results."""
    with Store.open(store(results), must_exist=True) as opened:
        return [block.text for block in blocks(opened)]


def test_queries_have_times_ratios_and_bytes(store):
    def case(engine, workload, *times_ms):
        counters = {"store": {"n_bytes": 2_500_000}}
        samples = [{"wall_ns": round(ms * 1e6), "cpu_ns": 1, "counters": counters} for ms in times_ms]
        return result("adl", engine, workload, samples)

    results = [
        case("arrowroot", "Q1", 100, 130, 110), case("uproot + Awkward", "Q1", 400), case("RDataFrame", "Q1", 1100),
        case("arrowroot", "Q1, warm", 4.25), case("RDataFrame", "Q1, warm", 17),
    ]  # fmt: skip
    (text,) = told(store, adl.blocks, results)
    assert text.startswith(f"Measured on {WHERE}. Times in ms.\n\n")
    line = "| Q1 | 110 | 400 | 1100 | 4.2 |  | 17.0 | 0.28 | 0.25 | 2.50 | 2.50 | 2.50 |"
    assert text.splitlines()[4] == line
    assert text.splitlines()[5] == f"| Q2 |{'  |' * 11}"


def test_parquet_is_beside_both_formats_on_one_thread_and_on_all(store):
    def case(engine, ms, later_ms, workload="10 numbers", **more):
        samples = [one | {"details": {"file_bytes": 2_000_000}} for one in timed(ms, later_ms=later_ms)]
        return result("parquet", engine, workload, samples, **{"dataset": "nano zstd", **more})

    results = [
        case("RNTuple", 10, 5), case("TTree", 20, 4), case("pyarrow", 40, 20), case("Polars", 15, 6),
        case("RNTuple", 8, 8, "10 numbers, 0 threads"), case("DuckDB", 4, 4, "10 numbers, 0 threads"),
        case("TTree", 9, 9, "filter, sorted"), case("Polars", 3, 3, "filter, sorted"),
        case("TTree", 9, 9, "10 lists", dataset="few lz4"),
    ]  # fmt: skip
    sizes, one, every = told(store, parquet.blocks, results)
    assert sizes.splitlines()[2:] == ["| nano zstd | 2.0 | 2.0 | 2.0 | 1.00 |", "| few lz4 |  | 2.0 |  |  |"]
    assert one.splitlines()[4:-4] == [
        "| nano zstd | 10 numbers | 10.0 | 20.0 | 40.0 | 15.0 |  | 1.50 | 1.20 | 0.75 | 1.50 | yes |",
        # Statistics answer it, and nobody has to be ahead.
        "| nano zstd | filter, sorted |  | 9.0 |  | 3.0 |  |  |  | 0.33 | 0.33 |  |",
        "| few lz4 | 10 lists |  | 9.0 |  |  |  |  |  |  |  |  |",
    ]
    line = "| nano zstd | 10 numbers | 8.0 |  |  |  | 4.0 | 0.50 | 0.50 |  |  | **no** |"
    assert every.splitlines()[4:-4] == [line]
    behind = "10 numbers (1.3 times); nano zstd, filter, sorted (3.0 times)."
    assert one.splitlines()[-1] == f"Parquet is ahead of the TTree in 2 of 3: nano zstd, {behind}"
    assert one.splitlines()[-3] == "Parquet is ahead of the RNTuple in 0 of 3: none."


def test_of_a_shared_node_the_table_of_parquet_has_cpu_time_on_one_thread_alone(store):
    results = [
        result(
            "parquet",
            engine,
            workload,
            [{"wall_ns": 9 * 10**6, "cpu_ns": cpu_ms * 10**6}],
            dataset="nano zstd",
        )
        for engine, cpu_ms in (("RNTuple", 2), ("Polars", 3))
        for workload in ("10 numbers", "10 numbers, 0 threads")
    ]
    for one in results:
        one.machine["shared"] = True
    _, one = told(store, parquet.blocks, results)
    assert "; others used the node meanwhile. Medians of 1, warm page cache, ms of CPU time." in one
    assert one.splitlines()[4].startswith("| nano zstd | 10 numbers | 2.0 |  |  | 3.0 |  | 1.50 |")


def test_merging_is_beside_copying_and_hadd(store):
    def case(engine, ms, start_ms=0, dataset="100 trees of 2 MB"):
        details = {"start_wall_ns": start_ms * 10**6, "start_cpu_ns": start_ms * 10**6 // 2}
        sample = {
            "wall_ns": ms * 10**6,
            "cpu_ns": ms * 10**6 // 2,
            "peak_rss_bytes": 80_000_000,
            "details": details,
        }
        return result("merging", engine, "merge", [sample], dataset=dataset)

    results = [
        case("limit", 100), case("arrowroot", 120), case("hadd", 2000, 600), case("hadd -j 2", 2500, 600),
        case("limit", 10, dataset="40 x 1000 histograms"), case("arrowroot", 30, dataset="40 x 1000 histograms"),
    ]  # fmt: skip
    (text,) = told(store, merging.blocks, results)
    assert text.startswith(f"Measured on {WHERE}. Medians of 1, warm page cache, ms.\n\n| inputs | time |")
    assert text.splitlines()[4:] == [
        "| 100 trees of 2 MB | CPU | 50 | 60 | 1000 | 1250 |  | 300 | 1.20 | 1.3 | yes | 80 |",
        "| 100 trees of 2 MB | wall | 100 | 120 | 2000 | 2500 |  | 600 | 1.20 | 1.3 | yes | 80 |",
        "| 40 x 1000 histograms | CPU | 5 | 15 |  |  |  |  | 3.00 | 2.0 | **no** | 80 |",
        "| 40 x 1000 histograms | wall | 10 | 30 |  |  |  |  | 3.00 | 2.0 | **no** | 80 |",
    ]


def test_of_a_case_whose_data_were_made_anew_the_newest_result_counts(store):
    results = [
        result("adl", "arrowroot", "Q1", [{"wall_ns": ms * 10**6, "cpu_ns": 1}]) for ms in (100, 200, 300)
    ]
    for day, one in zip((2, 3, 1), results, strict=True):
        one.case["dataset"] = f"{day:016x}"
        one.created_at = f"2026-11-0{day}T10:00:00.000Z"
    (text,) = told(store, adl.blocks, results)
    assert text.splitlines()[4].startswith("| Q1 | 200 |")


def test_figures_stand_between_their_marks_and_nothing_else_changes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a:begin -->\nold\n<!-- a:end -->\nafter\n")
    Block(page, "a", "new", {"a.svg": b"<svg/>"}).put()
    assert page.read_text() == "before\n<!-- a:begin -->\nnew\n<!-- a:end -->\nafter\n"
    assert (tmp_path / "a.svg").read_text() == "<svg/>"
    with pytest.raises(SystemExit, match=r"page.md has no <!-- b:begin -->"):
        Block(page, "b", "new").put()


def test_command_writes_what_was_measured_and_says_when_that_is_nothing(store, monkeypatch, capsys):
    path = store([result("adl", "arrowroot", "Q1", [{"wall_ns": 5_000_000, "cpu_ns": 1}])])
    monkeypatch.setattr("sys.argv", ["figures", "--db", str(path), "--print"])
    assert figures.main() == 0
    assert "| Q1 | 5 |" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["figures", "layouts", "--db", str(path)])
    assert figures.main() == 1
    assert capsys.readouterr().err == "no results of layouts\n"


def timed(*times_ms, later_ms=None, **counters):
    """Samples of these times, with CPU time of nine tenths."""
    later = {} if later_ms is None else {"later": {"wall_ns": later_ms * 10**6, "cpu_ns": later_ms * 10**6}}
    return [
        {"wall_ns": round(ms * 1e6), "cpu_ns": round(0.9 * ms * 1e6), "counters": {**later, **counters}}
        for ms in times_ms
    ]


def test_reading_is_beside_limit_target_best_peer_and_a_second_thread(store, tmp_path):
    def case(engine, samples, *, threads=1, error=None, codec="zstd"):
        workload = "flat s10" if threads == 1 else "flat s10, 2 threads"
        return result(
            "reading", engine, workload, samples, dataset=f"flat {codec}", threads=threads, error=error
        )

    def opened(engine, ms):
        samples = timed(ms, listed={"n_columns": 947})
        return result("processes", engine, "open and list", samples, dataset="nano zstd")

    def process(workload, samples):
        return result("processes", "arrowroot", workload, samples, dataset="flat zstd")

    results = [
        case("limit", timed(20, 10, 30)), case("limit", timed(10), threads=2), case("root", timed(90)),
        case("root-bulk", timed(60)), case("uproot", timed(100)), case("uproot", timed(40), threads=2),
        case("arrowroot-table", timed(30, later_ms=20)), case("arrowroot-table", timed(15, later_ms=10), threads=2),
        case("arrowroot-table", [], error="wrong values", codec="lz4"), opened("arrowroot", 2), opened("root", 10),
        opened("uproot", 100), process("import", timed(16)), process("ls", timed(200)),
        process("memory", timed(1, memory={"growth_bytes": 131_000_000, "values_bytes": 896_000_000})),
        process("accounting", timed(1, accounting={"cost_ns": 2, "cpu_ns": 1000})),
    ]  # fmt: skip
    readme, page = told(store, reading.blocks, results)
    session("figures-of-reading", tmp_path, {"readme": readme, "page": page})


def test_rntuples_and_objects_are_beside_their_limit_and_the_best_of_root(store, tmp_path):
    results = [
        result("reading", "page-limit", "flat s10", timed(10), dataset="flat zstd rntuple"),
        result("reading", "arrowroot-table", "flat s10", timed(20, later_ms=10), dataset="flat zstd rntuple"),
        result("reading", "root-rntuple", "flat s10", timed(30), dataset="flat zstd rntuple"),
        result("objects", "limit", "pt", timed(10), dataset="split0"),
        result("objects", "arrowroot-table", "pt", timed(25, later_ms=10), dataset="split0"),
        result("objects", "root-objects-getentry", "pt", timed(20), dataset="split0"),
    ]
    (text,) = told(store, formats.blocks, results)
    session("figures-of-formats", tmp_path, {"text": text})


def test_remote_reading_is_beside_the_floor_of_its_line(store, tmp_path):
    needed = {"payload_bytes": 9_000_000, "record_bytes": 1_000_000}

    def case(engine, workload, storage, samples, threads=1):
        return result(
            "remote", engine, workload, samples, dataset="flat zstd", storage=storage, threads=threads
        )

    def line(ms, **counters):
        return timed(
            ms,
            store={"n_bytes": 9_100_000, "opened_bytes": 1_000_000},
            line={"n_bytes": 10_500_000},
            **counters,
        )

    far, both, tune = "root, 50 ms, 100 MB_s", "flat s10, 2 threads", "tune flat s10"
    candidates = [
        {
            "options": {"strategy": name},
            "predicted": {"wall_ns": 10**9},
            "measured_ns": measured,
            "error": error,
        }
        for name, measured, error in (("auto", [2 * 10**9, 10**9], 0.3), ("direct", [], None))
    ]
    results = [
        case("arrowroot", both, "disk, in memory", timed(20, needed=needed), 2),
        case("arrowroot", both, far, line(330), 2),
        case("arrowroot", both, f"{far}, log", timed(1, server={"n_requests": 7}), 2),
        case("arrowroot", both, "http, 5 ms, 12 MB_s", line(1000), 2),
        case("root", "flat s10", far, line(900)),
        case("arrowroot", "flat j10, streamed", "disk, in memory", timed(100, needed=needed)),
        case("arrowroot", "flat j10, streamed", "root, 20 ms, 100 MB_s", timed(200)),
        case("arrowroot", "flat s10, 10 entries", far, line(330)),
        case("program", tune, far, [{"wall_ns": 1, "cpu_ns": 1, "details": {"engine": {"candidates": candidates}}}]),
    ]  # fmt: skip
    page, predictions = told(store, remote.blocks, results)
    session("figures-of-remote", tmp_path, {"page": page, "predictions": predictions})


def test_writing_tells_above_the_tables_what_misses_a_target(store):
    payload = {"payload": {"n_bytes": 10**6}}

    def case(engine, wall_ns, cpu_ns, workload="zstd 5, ttree", threads=1, **counters):
        samples = [{"wall_ns": wall_ns, "cpu_ns": cpu_ns, "counters": {**payload, **counters}}]
        name = workload if threads == 1 else f"{workload}, 2 threads"
        return result("writing", engine, name, samples, dataset="flat 100, 30 MB", threads=threads)

    others = [
        case("arrowroot-memory-writer", 60, 60, threads=2), case("write-limit", 100, 100),
        case("arrowroot-writer", 130, 130), case("root-ttree-writer", 260, 260),
    ]  # fmt: skip
    (text,) = told(store, writing.blocks, [case("arrowroot-memory-writer", 115, 110), *others])
    assert "All 1 rows meet all targets." in text
    slow = [case("arrowroot-memory-writer", 150, 110), case("uproot-writer", 65, 65)]
    (text,) = told(store, writing.blocks, [*slow, *others])
    limit, uproot = [line for line in text.splitlines() if line.startswith("- ")]
    assert "flat, zstd 5, ttree: 1.10 of the limit's CPU time, 1.50 of its wall time" in limit
    assert "flat, zstd 5, ttree: 0.50 times as fast" in uproot
    # With the pass before, the limit is another figure.
    passed = case("write-limit", 1, 1, "lz4 1, ttree", with_pass={"wall_ns": 100, "cpu_ns": 100})
    (text,) = told(store, writing.blocks, [passed, case("arrowroot-memory-writer", 149, 149, "lz4 1, ttree")])
    assert "All 1 rows meet all targets." in text
    memory = {"growth_bytes": 200_000_000}
    large = result(
        "writing", "arrowroot-writer", "buffers of 64 MB, ttree", timed(1, memory=memory, **payload),
        dataset="flat 100, 240 MB", threads=2,
    )  # fmt: skip
    (text,) = told(store, writing.blocks, [large])
    assert "| 100 columns, flat, ttree | 1 | 200 | 164 | **no** |" in text


def program(campaign, workload, *samples, dataset="data"):
    """A result of a program, with what it printed for each sample."""
    told = [{"wall_ns": 1, "cpu_ns": 1, "details": {"engine": sample}} for sample in samples]
    return result(campaign, "program", workload, told, dataset=dataset)


def test_kinds_have_the_median_first_and_the_fastest_later_reading(store):
    def kind(name, times_ms, root_ms, uproot_ms):
        return {
            "kind": name, "n_entries": 1000, "values_bytes": 4_000_000,
            "arrowroot_ns": [ms * 10**6 for ms in times_ms], "root_ns": root_ms * 10**6,
            "uproot_ns": uproot_ms and uproot_ms * 10**6,
        }  # fmt: skip

    samples = [
        {"kinds": [kind("string", (first, later, 9), 6, None), kind("char*", (first, 9, 8), 7, 5)]}
        for first, later in ((7, 5), (9, 4), (8, 6))
    ]
    (text,) = told(store, kinds.blocks, [program("kinds", "all kinds", *samples, dataset="TTree")])
    assert text.splitlines()[-2:] == [
        "| TTree | `string` | 1,000 | 4.0 | 8.0 | 4.0 | 6.0 |  | 4000 | later |",
        "| TTree | `char*` | 1,000 | 4.0 | 8.0 | 8.0 | 7.0 | 5.0 | 8000 | **no** |",
    ]


def test_auto_is_beside_the_best_named_strategy(store):
    samples = [
        {"walls_s": {"ten columns": {"auto": auto, "direct": 4.0, "readahead": ahead}}}
        for auto, ahead in ((0.2, 0.4), (0.1, 0.2), (0.4, 0.3))
    ]
    (text,) = told(store, servers.blocks, [program("servers", "Python, HTTP_1.0", *samples)])
    assert text.splitlines()[-1] == "| Python, HTTP/1.0 | ten columns | 0.200 | 4.000 | 0.300 | 0.67 |"


def test_parts_of_the_experiment_have_tables_and_pictures(store, capsys):
    def run(n_stalls):
        raw = {
            "n_events": 100, "wall_ns": 10**10, "work_ns": 10**8, "filled_ns": 10**10, "stalled_ns": 10**9,
            "n_stalls": n_stalls, "stalls_ns": 2 * 10**9, "longest_ns": 10**9, "n_fills": [3, 1],
        }  # fmt: skip
        return cases_of_parallel.outcome_of(raw, 12)._asdict()

    policy = {name: [run(n), run(n + 2)] for n, name in enumerate(cases_of_parallel.POLICIES)}
    buffers = {
        "cases": [
            {"n_streams": n_streams, "policy": name, "n_buffers": n, "runs": [run(n)]}
            for n_streams in (4, 12) for name in ("fifo", "fullest") for n in (1, 2)
        ]
    }  # fmt: skip
    results = [
        program("parallel", part, {"found": found})
        for part, found in (("policy", policy), ("buffers", buffers))
    ]
    with Store.open(store(results), must_exist=True) as opened:
        of_policy, of_buffers = parallel.blocks(opened)
    assert (
        "| fifo | here | 10.00 | 0.0833 | 0.9917 | 2 | 2.00 | 1.000 | 0.0 % |" in of_policy.text.splitlines()
    )
    assert of_policy.text.endswith("*2026-11-28, EPYC, 2 cores, 24 GiB, load 0.5; ROOT 6.40.00.*")
    assert "policy: single: efficiency 0.0833 to 0.0833, not 0.90 to 0.93" in capsys.readouterr().err
    assert (
        "| fullest | 2 | 10.00 | 0.0833 | 0.9917 | 2 | 2.00 | 1.000 | 75.0 25.0 |"
        in of_buffers.text.splitlines()
    )
    assert of_buffers.pictures["parallel-buffers.png"].startswith(b"\x89PNG")


def names(campaign, axis):
    """The names on an axis of a campaign, in its cases."""
    return {case.names()[axis] for case in cases(read(REPOSITORY / "campaigns" / f"{campaign}.toml"))}


def test_tables_name_what_the_campaigns_measure():
    both = names("reading", "workload")
    assert both == {f"{case}{more}" for case in reading.CASES for more in ("", ", 2 threads")}
    codecs = {codec for some in reading.CODECS for codec in some}
    datasets = {f"{of} {codec}" for of in ("flat", "nano") for codec in codecs}
    assert names("reading", "dataset") == datasets | {part.dataset for part in formats.PARTS[:2]}
    engines = names("reading", "engine") | names("objects", "engine")
    assert {reading.ENGINE, *formats.LIMITS} < engines
    for part in formats.PARTS:
        assert part.dataset in names(part.campaign, "dataset")
        assert set(part.cases) <= names(part.campaign, "workload")
    assert names("processes", "workload") == {"open and list", "import", "ls", "memory", "accounting"}
    storages = {
        remote.LOCAL,
        *(name for name in names("remote", "storage") if remote._STORAGE.fullmatch(name)),
    }
    assert names("remote", "storage") == storages
    assert remote.STREAMED in names("remote", "workload")
    assert {engine for engine, _ in (*remote._READERS, *remote._PEERS)} < names("remote", "engine")
    writers = {name for of_layout in writing.ROOT_WRITERS.values() for name in of_layout}
    assert names("writing", "engine") == {
        writing.SUBJECT,
        writing.FACE,
        writing.LIMIT,
        writing.UPROOT,
        *writers,
    }
    told = {f"{codec}, {layout}" for codec in writing.CODECS for layout in writing.PEER_TARGETS}
    told |= {f"{codec}, {of}" for codec in ("zstd 5", "zlib 1") for of in writing.OBJECTS}
    found = {name.removesuffix(", 2 threads") for name in names("writing", "workload")}
    assert found == told | {
        f"buffers of {writing.BUFFERS_MB} MB, {layout}" for layout in writing.PEER_TARGETS
    }
    assert {name.partition(", ")[0] for name in names("writing", "dataset")} == set(writing.CASES)
    assert names("kinds", "dataset") == set(kinds.FORMATS)
    assert names("servers", "workload") == set(servers.SERVERS)
    assert names("parallel", "workload") == set(parallel.TABLES)
