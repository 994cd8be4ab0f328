"""Tune measures, predicts, tries, and prints a setting that can be exported."""

import argparse
import dataclasses
import json
import shlex
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrowroot as ar
import arrowroot.cli.tune
from arrowroot import _native, cli
from arrowroot._report import trace, tune
from arrowroot._report.replay import Line, Outcome, replay
from arrowroot._report.tune import Candidate
from tests.recorded import session


def candidate(strategy, predicted_ns, size=None, measured=()):
    options = {"strategy": strategy} | ({"cache_size": size} if size else {})
    outcome = Outcome(predicted_ns, 0, 0, 1, 1, 1, 1, 1, 0)
    return Candidate(options, outcome, list(measured), is_plain=size is None)


def test_the_store_of_a_file_is_measured(sample):
    store = tune.measure_store(ar.open(sample[0]), time.monotonic() + 5)
    assert 0 < store.latency_s < 1
    assert store.bytes_per_s is None or 1e4 < store.bytes_per_s < 1e12
    assert 1 <= store.n_parallel <= store.max_parallel
    assert store.n_requests >= 10
    assert store.line().n_streams >= 1


#: Of a server that answers one range a request.
SINGLE = _native.Protocol("http", max_ranges=1, max_parallel=40)


LATENCY_S = 0.004


class SlowFile:
    """A store with a latency and a bandwidth for each request, and no limit for all of them."""

    size_bytes = 100_000_000
    max_ranges = 1
    max_parallel = 40
    protocol = SINGLE

    def time_reads(self, ranges):
        rounds = [
            ranges[first : first + self.max_parallel] for first in range(0, len(ranges), self.max_parallel)
        ]
        taken_s = sum(LATENCY_S + max(n_bytes for _, n_bytes in one) / 50e6 for one in rounds)
        # A busy machine sleeps longer; tune looks at the clock itself only for many large reads at once.
        time.sleep(taken_s)
        return round(taken_s * 1e9)


def test_latency_bandwidth_and_parallelism_are_told_apart():
    # Many reads at once are timed, and on a busy machine they come one after the other; not each time.
    for _ in range(10):
        store = tune.measure_store(SlowFile(), time.monotonic() + 20)
        if (store.parallel_bytes_per_s or 0) > 2 * 50e6:
            break
    assert store.parallel_bytes_per_s > 2 * 50e6
    assert store.latency_s == pytest.approx(LATENCY_S, rel=0.05)
    assert store.bytes_per_s == pytest.approx(50e6, rel=0.01)
    # As many as the store makes, not as many as tune has threads.
    assert store.n_parallel > 8
    assert store.line().n_streams == 40
    assert store.line().protocol == SINGLE
    assert store.data()["protocol"] == {"name": "http", "max_ranges": 1, "max_parallel": 40}
    # 160 in four rounds: the last answer comes a latency after its request began.
    assert store.line().interval_s == pytest.approx(3 * store.latency_s / 159)


def test_what_there_was_no_time_to_measure_is_left_out(capsys):
    store = tune.measure_store(SlowFile(), time.monotonic())
    assert (store.parallel_bytes_per_s, store.n_parallel, store.interval_s) == (None, None, None)
    assert store.line() == Line(store.latency_s, store.bytes_per_s or 1e12, 40, protocol=SINGLE)
    cli.tune._print_store(store)
    printed = capsys.readouterr().out
    assert "no time to measure several requests at once" in printed
    assert "small requests in the time of one" not in printed


def test_decoding_is_that_of_the_fastest_run_that_the_budget_has_time_for(sample, monkeypatch):
    with ar.open(sample[0]) as file:
        tree = file["Events"]
        logical_of, decoded = trace.logical_of, iter([90, 20, 50])

        def slowed(reads):
            logical = logical_of(reads)
            return dataclasses.replace(logical, decode_ns=np.full(len(logical), next(decoded), np.uint64))

        monkeypatch.setattr(trace, "logical_of", slowed)
        options = argparse.Namespace(entries=None, threads=1, budget_seconds=600.0)
        _, logical = cli.tune._decoding(tree, ["run"], options)
        assert set(logical.decode_ns) == {20}
        decoded = iter([90])
        options.budget_seconds = 0.0
        assert set(cli.tune._decoding(tree, ["run"], options)[1].decode_ns) == {90}


def test_many_small_requests_over_many_connections_are_predicted_together():
    reads = trace.Logical(
        offsets=np.arange(2000, dtype=np.uint64) * 100_000,
        lengths=np.full(2000, 1000, np.uint64),
        entries=np.arange(2000, dtype=np.uint64),
        branches=np.zeros(2000, np.uint64),
        decode_ns=np.zeros(2000, np.uint64),
    )

    single = _native.Protocol("http", max_ranges=1, max_parallel=64)

    def predicted(interval_s):
        line = Line(0.05, 100e6, 64, protocol=single, interval_s=interval_s)
        return replay(reads, 200_000_000, line, {"strategy": "application-only"}).wall_ns / 1e9

    # 2000 requests, 64 at a time, of 50 ms each; or one after the other every 5 ms.
    assert predicted(0.0) == pytest.approx(2000 / 64 * 0.05, rel=0.05)
    assert predicted(0.005) == pytest.approx(2000 * 0.005, rel=0.05)


def test_what_is_set_besides_is_in_the_prediction_and_does_not_end_the_search():
    reads = trace.Logical(*(np.arange(1, 9, dtype=np.uint64) * 1000 for _ in range(5)))
    besides = {"cache_size": "4096", "max_gap": "0"}
    line = Line(0.01, 1e6)
    found = tune.candidates(reads, 10**6, line, fixed={}, set_besides=besides, n_threads=1)
    sizes = {c.options.get("cache_size") for c in found if c.options["strategy"] == "auto"}
    assert {"4096", "64 MiB"} <= sizes
    plain = next(c for c in found if c.options["strategy"] == "auto" and c.is_plain)
    assert (plain.options["cache_size"], plain in tune.to_verify(found, 1)) == ("4096", True)
    assert "max_gap" not in plain.options
    typed = {"cache_size": "1 MiB"}
    of_one_size = tune.candidates(reads, 10**6, line, fixed=typed, set_besides=besides, n_threads=1)
    assert {c.options["cache_size"] for c in of_one_size} == {"1 MiB"}


def test_what_differs_is_tried_and_the_default_with_it():
    found = [
        candidate("treecache", 100, "10 MB"),
        candidate("treecache", 100, "30 MB"),
        candidate("readahead", 105),
        candidate("treecache", 110),
        candidate("auto", 190, "4 MiB"),
        candidate("auto", 200),
    ]
    chosen = tune.to_verify(found, 2)
    assert [(c.options["strategy"], c.options.get("cache_size")) for c in chosen] == [
        ("treecache", "10 MB"),
        ("readahead", None),
        ("auto", None),
    ]


def test_what_was_measured_comes_first():
    slow, fast, guess = (
        candidate("direct", 1, measured=[9, 8]),
        candidate("auto", 5, measured=[4]),
        candidate("x", 0),
    )
    assert [c.options["strategy"] for c in tune.ranked([guess, slow, fast])] == ["auto", "direct", "x"]
    assert slow.best_ns == 8
    assert slow.error == pytest.approx(1 / 8 - 1)
    assert guess.error is None


def test_the_command_ranks(sample, arrowroot_command, monkeypatch):
    monkeypatch.setattr(tune, "_SHORTEST_ERROR_NS", -1)
    arguments = ["tune", sample[0], "-c", "run,pt", "--budget-seconds", "20"]
    document = json.loads(arrowroot_command(*arguments, "--json").stdout)
    assert document["form"] == "arrowroot.tune/3"
    measured = [min(c["measured_ns"]) for c in document["candidates"] if c["measured_ns"]]
    assert len(measured) >= 2
    assert measured == sorted(measured)
    assert {c["options"]["strategy"] for c in document["candidates"]} >= {"auto", "direct", "treecache"}
    out = arrowroot_command(*arguments).stdout
    assert "latency" in out
    (told,) = [line for line in out.splitlines() if line.startswith(("export ", "nothing to set"))]
    assert "auto" not in told or told.startswith("nothing")


def test_what_is_advised_can_be_set_and_has_what_was_given_but_no_secret():
    typed = {"max_gap": "1 MB", "token": "verysecret"}
    found = [candidate("auto", 10**9), candidate("treecache", 10**8, "10 MB")]
    for one in found:
        one.options |= typed
    words = shlex.split(tune.export_line(tune.advised(found)))[1:]
    assert "ARROWROOT_MAX_GAP=1 MB" in words
    assert "ARROWROOT_STRATEGY=treecache" in words
    assert not any("verysecret" in word for word in words)
    settings = dict(word.removeprefix("ARROWROOT_").lower().split("=") for word in words)
    assert ar.configuration("", **settings)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # As fast as the default, within the error of the runs, of one run, of predictions.
        ([("auto", [100, 104, 110]), ("direct", [97, 120])], None),
        ([("auto", [100, 130]), ("direct", [80, 81])], None),
        ([("auto", [100]), ("direct", [85])], None),
        ([("auto", []), ("direct", [])], None),
        # What was not run is not compared with what was.
        ([("auto", [100, 101]), ("direct", [])], None),
        # Faster beyond it; of equal ones always the same.
        ([("auto", [100, 101]), ("treecache", [50, 51]), ("readahead", [51, 52])], "readahead"),
        ([("auto", [100, 101]), ("treecache", [51, 52]), ("readahead", [50, 51])], "readahead"),
        ([("auto", [100, 101]), ("treecache", [50, 51]), ("readahead", [60, 61])], "treecache"),
        ([("direct", [1, 1])], None),
    ],
)
def test_advice_is_beyond_the_error_and_always_the_same(found, expected):
    for order in (found, found[::-1]):
        # In units of 10 ms, and then so short that nothing can be told.
        runs_ns = [(name, [10**7 * run for run in runs]) for name, runs in order]
        chosen = tune.advised([candidate(name, 9 * 10**8, measured=runs) for name, runs in runs_ns])
        assert tune.advised([candidate(name, 90, measured=runs) for name, runs in order]) is None
        assert (chosen and chosen.options["strategy"]) == expected


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["auto", "direct", "treecache", "readahead"]),
            st.lists(st.integers(1, 10**9), max_size=3),
            st.integers(1, 10**9),
        ),
        max_size=6,
    )
)
def test_what_is_advised_is_faster_than_the_default(found):
    candidates = [candidate(name, predicted, measured=runs) for name, runs, predicted in found]
    chosen = tune.advised(candidates)
    default = next((one for one in candidates if one.options["strategy"] == "auto"), None)
    if chosen is not None:
        assert chosen.time_ns + max(chosen.uncertainty_ns, default.uncertainty_ns) < default.time_ns


class QuickFile:
    """A store whose latency is all there is, and varies."""

    max_ranges = 1024
    max_parallel = 8
    protocol = _native.Protocol("plain", max_parallel=8)

    def __init__(self, size_bytes, seconds):
        self.size_bytes = size_bytes
        self._seconds = iter(seconds)

    def time_reads(self, ranges):  # noqa: ARG002 - as of a file
        return round(1e9 * next(self._seconds))


@pytest.mark.parametrize("size_bytes", [1000, 300_000, 100_000_000])
@pytest.mark.parametrize("large_s", [0.0, 0.0199, 0.02, 0.0205, 0.021])
def test_a_bandwidth_that_cannot_be_told_from_the_latency_is_not_told(size_bytes, large_s, capsys):
    small = [0.0200, 0.0203, 0.0210, 0.0196, 0.0200, 0.0207, 0.0193, 0.0200, 0.0201, 0.0204]
    file = QuickFile(size_bytes, [*small, *[large_s] * 20])
    store = tune.measure_store(file, time.monotonic() - 1)
    assert store.bytes_per_s is None
    assert 0 < store.latency_error < 0.1
    assert store.line().bytes_per_s == 1e12
    cli.tune._print_store(store)
    assert "bandwidth too fast to measure" in capsys.readouterr().out


def test_a_bandwidth_that_is_told_has_its_error(capsys):
    store = tune.measure_store(QuickFile(10**8, [*[0.02] * 10, *[0.52] * 20]), time.monotonic() - 1)
    assert store.bytes_per_s == pytest.approx((256 << 10) / 0.5)
    assert store.rate_error == 0
    cli.tune._print_store(store)
    assert "524 kB/s ± 0 %" in capsys.readouterr().out


def test_a_budget_of_nothing_only_predicts(sample, arrowroot_command):
    done = arrowroot_command("tune", sample[0], "-c", "run", "--budget-seconds", "0", "--json")
    document = json.loads(done.stdout)
    assert all(not c["measured_ns"] for c in document["candidates"])
    predicted = [c["predicted"]["wall_ns"] for c in document["candidates"]]
    assert predicted == sorted(predicted)


def test_what_leaves_nothing_to_choose_is_an_error(sample, tmp_path):
    (tmp_path / "sample.root").symlink_to(sample[0])
    session("tune", tmp_path)


def test_credentials_are_in_no_report(sample, tmp_path, arrowroot_command):
    secret = "hushhush"  # noqa: S105 - nobody's
    typed = ["-O", f"token={secret}", "-O", f"s3_endpoint=https://user:{secret}@host"]
    done = arrowroot_command("tune", sample[0], "-c", "run", "--budget-seconds", "0", "--json", *typed)
    assert secret not in done.stdout + done.stderr
    candidate = json.loads(done.stdout)["candidates"][0]
    assert candidate["options"]["s3_endpoint"] == "https://host"
    path = tmp_path / "reads.parquet"
    arrowroot_command("perf", sample[0], "-c", "run", "--trace", path, *typed)
    line = ["--latency", "5ms", "--bandwidth", "1MB/s"]
    done = arrowroot_command("replay", path, *line, "--json", *typed)
    assert secret not in done.stdout + done.stderr
