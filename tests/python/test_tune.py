"""Tune measures, predicts, tries, and prints a setting that can be exported."""

import json
import time

import pytest

import arrowroot as ar
from arrowroot._report import tune
from arrowroot._report.replay import Outcome
from arrowroot._report.tune import Candidate


def candidate(strategy, predicted_ns, size=None, measured=()):
    options = {"strategy": strategy} | ({"cache_size": size} if size else {})
    return Candidate(options, Outcome(predicted_ns, 0, 0, 1, 1, 1, 1, 1), list(measured))


def test_the_store_of_a_file_is_measured(sample):
    store = tune.measure_store(ar.open(sample[0]), time.monotonic() + 5)
    assert 0 < store.latency_s < 1
    assert store.bytes_per_s > 1e4
    assert 1 <= store.n_parallel <= 8
    assert store.n_requests >= 10
    assert store.line().n_streams >= 1


class SlowFile:
    """A store with a latency and a bandwidth for each request, and no limit for all of them."""

    size_bytes = 100_000_000
    max_ranges = 1

    def time_reads(self, ranges):
        ((_, n_bytes),) = ranges
        start = time.perf_counter_ns()
        time.sleep(0.004 + n_bytes / 50e6)
        return time.perf_counter_ns() - start


def test_latency_bandwidth_and_parallelism_are_told_apart():
    store = tune.measure_store(SlowFile(), time.monotonic() + 20)
    # A machine that is busy makes it slower, never faster.
    assert store.latency_s >= 0.004
    assert store.bytes_per_s <= 60e6
    assert store.parallel_bytes_per_s > 2 * store.bytes_per_s
    assert store.n_parallel > 3
    assert store.line().max_ranges == 1


def test_what_differs_is_tried_and_the_default_with_it():
    found = [
        candidate("treecache", 100, "10 MB"),
        candidate("treecache", 100, "30 MB"),
        candidate("readahead", 105),
        candidate("treecache", 110),
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


def test_the_command_ranks_and_exports(sample, arrowroot_command):
    arguments = ["tune", sample[0], "-c", "run,pt", "--budget-seconds", "20"]
    document = json.loads(arrowroot_command(*arguments, "--json").stdout)
    assert document["form"] == "arrowroot.tune/1"
    measured = [min(c["measured_ns"]) for c in document["candidates"] if c["measured_ns"]]
    assert len(measured) >= 2
    assert measured == sorted(measured)
    best = document["candidates"][0]["options"]
    assert document["export"].startswith(f"export ARROWROOT_STRATEGY={best['strategy']}")
    assert {c["options"]["strategy"] for c in document["candidates"]} >= {"auto", "direct", "treecache"}
    out = arrowroot_command(*arguments).stdout
    assert "export ARROWROOT_STRATEGY=" in out
    assert "latency" in out
    exported = next(line for line in out.splitlines() if line.startswith("export")).split()[1:]
    # What is printed can be set.
    settings = dict(word.removeprefix("ARROWROOT_").lower().split("=") for word in exported)
    assert ar.configuration("", **settings)


def test_a_budget_of_nothing_only_predicts(sample, arrowroot_command):
    done = arrowroot_command("tune", sample[0], "-c", "run", "--budget-seconds", "0", "--json")
    document = json.loads(done.stdout)
    assert all(not c["measured_ns"] for c in document["candidates"])
    predicted = [c["predicted"]["wall_ns"] for c in document["candidates"]]
    assert predicted == sorted(predicted)


def test_a_strategy_cannot_be_given(sample, arrowroot_command):
    done = arrowroot_command("tune", sample[0], "-O", "strategy=direct", check=False)
    assert (done.returncode, "looks for" in done.stderr) == (2, True)
