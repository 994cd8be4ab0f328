"""A check where the line to the storage changed: it explains how an engine fetches, and nothing else."""

from __future__ import annotations

import pytest

from arrowroot_lab.store import Filter
from arrowroot_lab.watching.check import check
from arrowroot_lab.watching.findings import FindingState, Kind
from tests.lab.test_check import more, planted, run_of, stored


@pytest.mark.parametrize(
    ("now_ns", "engine", "state", "words"),
    [
        (
            6e7,
            None,
            FindingState.UNCHECKED,
            "the engine is the same, and the line changed: round trip 200 µs",
        ),
        (6e7, "9.9", FindingState.ALARM, "the line changed, too: round trip 200 µs"),
        (2.2e5, None, FindingState.ALARM, ""),
    ],
)
def test_counts_and_memory_of_another_line_are_no_change_of_an_engine_that_is_the_same(
    tmp_path, now_ns, engine, state, words
):
    def changed(sample):
        more("n_reads", 3)(sample)
        sample.peak_rss_bytes *= 2

    before, now = run_of(0), planted(run_of(1, seed=2), 3, changed)
    before[3].line = {"latency_before_ns": 2e5, "latency_after_ns": 2.4e5}
    now[3].line = {"latency_before_ns": now_ns, "latency_after_ns": now_ns}
    if engine:
        now[3].versions["libzstd"] = engine
    store, (old, new) = stored(tmp_path, before, now)
    with store:
        found = [one for one in check(store, Filter(), old, run=new).findings if one.kind is not Kind.TIME]
    assert {one.kind for one in found} == {Kind.COUNTER, Kind.MEMORY}
    for one in found:
        assert (one.state, one.uuid_now) == (state, now[3].uuid)
        note = one.note.removeprefix("store.n_reads changed; ") if one.name == "counters" else one.note
        assert note.startswith(words) if words else not note


@pytest.fixture
def found_of(tmp_path):
    """A function that changes one result behind another line, and returns what a check says of it but for times."""

    def found(change, *, before=lambda _: None, n_samples=5, engine=None):
        old, new = planted(run_of(0), 3, before), planted(run_of(1, seed=2), 3, change)
        for results, latency_ns in ((old, 2e5), (new, 6e7)):
            results[3].line = {"latency_before_ns": latency_ns, "latency_after_ns": latency_ns}
            results[3].samples = results[3].samples[:n_samples]
        if engine:
            new[3].versions["libzstd"] = engine
        store, runs = stored(tmp_path, old, new)
        with store:
            told = check(store, Filter(), runs[0], run=runs[1]).findings
        return [one for one in told if one.kind is not Kind.TIME]

    return found


def test_a_changed_line_explains_what_is_fetched_and_no_count_of_what_is_decoded(found_of):
    fetched = {"store.n_reads", "application.n_bytes", "replica 1.n_vector_reads", "http.n_bytes"}
    others = {"application.n_baskets", "needed.payload_bytes", "written.n_bytes", "theirs.n_reads"}

    def counted(n_entries, n):
        def change(sample):
            sample.details["n_entries"] = n_entries
            for counter in fetched | others:
                layer, name = counter.split(".")
                sample.counters.setdefault(layer, {})[name] = n

        return change

    told = found_of(counted(9, 70), before=counted(10, 80))
    alarms = {one.name: (one.before, one.now) for one in told if one.state is FindingState.ALARM}
    assert alarms == {"n_entries": (10, 9)} | dict.fromkeys(others, (80, 70))
    (unchecked,) = (one for one in told if one.state is not FindingState.ALARM)
    names, _, reason = unchecked.note.partition(" changed; ")
    assert set(names.split(", ")) == fetched
    assert reason.startswith("the engine is the same, and the line changed: round trip")


@pytest.mark.parametrize("engine", [None, "9.9"])
def test_counts_that_are_not_compared_have_not_changed_with_the_line(found_of, engine):
    (one,) = found_of(more("n_reads", 3), n_samples=1, engine=engine)
    assert (one.name, one.state) == ("counters", FindingState.UNCHECKED)
    assert one.note == "its counts are not compared: 2 samples are needed to see whether they vary"


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (
            None,
            "store.n_reads (it is not counted now) changed; the engine is the same, and the line changed: ",
        ),
        ("9.9", "it is not counted now; the line changed, too: "),
    ],
)
def test_a_changed_line_is_told_beside_what_a_count_says_already(found_of, engine, words):
    (one,) = found_of(lambda sample: sample.counters["store"].pop("n_reads"), engine=engine)
    assert one.note.startswith(words)
