"""The judgement: bounds hold for every distribution, differences that are there are found, and others are not."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrowroot_lab.documents import Outcome
from arrowroot_lab.statistics import (
    CONFIDENCE,
    LEAST_CHANGE,
    LEAST_HISTORY,
    InTurns,
    Samples,
    Verdict,
    bound_rank,
    changes,
    compare,
    compare_nights,
    least_n,
    median_bounds,
    nearest,
)
from arrowroot_lab.statistics import paired as paired_samples
from arrowroot_lab.store import Taken
from bench.against import bound_rank as bound_rank_of_the_benchmarks
from tests.lab import planted
from tests.lab.made import Made, Noise

QUIET = Noise(sample=0, outliers=0, run=0)


def paired(before, now):
    """The pairs of two groups of results, by their wall times."""

    def samples(results):
        return [
            (
                result.campaign.get("run"),
                [
                    Taken(
                        one.turn,
                        one.started_at,
                        (one.wall_ns if one.is_counted() else None,),
                        one.details.get("trace"),
                    )
                    for one in result.samples
                ],
            )
            for result in results
        ]

    return paired_samples(samples(before), samples(now))


def test_bounds_are_those_of_the_binomial_and_no_wider_than_needed():
    assert least_n() == 7
    for n in range(1, 200):
        rank = bound_rank(n)
        below = [sum(math.comb(n, k) for k in range(r)) / 2**n for r in (rank, rank + 1)]
        assert below[0] <= 1 - CONFIDENCE < below[1]
        if n >= 7:
            assert rank == bound_rank_of_the_benchmarks(n)
    assert [n for n in range(1, 25) if bound_rank(n) > bound_rank(n - 1)] == [7, 11, 14, 17, 19, 22]


@given(st.lists(st.floats(0.1, 10), min_size=7, max_size=40), st.randoms())
def test_bounds_are_values_around_the_median_whatever_the_order(values, shuffle):
    low, high = median_bounds(values)
    ordered = sorted(values)
    assert low in values
    assert high in values
    assert low <= ordered[(len(values) - 1) // 2]
    assert high >= ordered[len(values) // 2]
    shuffle.shuffle(values)
    assert median_bounds(values) == (low, high)


def test_bounds_hold_for_wild_values():
    draw = random.Random(5)
    for n in (7, 11, 20):
        trials = [
            median_bounds([math.tan(math.pi * (draw.random() - 0.5)) for _ in range(n)]) for _ in range(4000)
        ]
        for wrong in (sum(low > 0 for low, _ in trials), sum(high < 0 for _, high in trials)):
            assert wrong / len(trials) <= 0.01 + 3 * math.sqrt(0.01 / len(trials))


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1.05] * 7, Verdict.WORSE),
        ([0.95] * 7, Verdict.BETTER),
        ([1.0] * 7, Verdict.NO_DIFFERENCE),
        ([1.009] * 7, Verdict.NO_DIFFERENCE),
        ([1.02] * 7, Verdict.WORSE),
        ([1.05] * 6, Verdict.NOT_ENOUGH),
        ([], Verdict.NOT_ENOUGH),
        ([1.05] * 6 + [0.9], Verdict.NOT_ENOUGH),
        ([1.05] * 10 + [0.5], Verdict.WORSE),
        ([0.9, 1.1] * 10, Verdict.NOT_ENOUGH),
    ],
)
def test_verdicts(ratios, verdict):
    assert compare(ratios).verdict is verdict
    turned = {Verdict.WORSE: Verdict.BETTER, Verdict.BETTER: Verdict.WORSE}.get(verdict, verdict)
    assert compare([1 / ratio for ratio in ratios]).verdict is turned
    assert compare(ratios, is_lower_better=False).verdict is turned


def test_too_few_pairs_say_how_many_are_needed():
    told = compare([1.5] * 4)
    assert (told.ratio, told.low, told.high, told.n_pairs) == (1.5, None, None, 4)
    assert told.reason == "4 pairs; a bound at 99% needs 7"


def two(**more):
    """The results of two versions of one case in two runs."""
    made = Made(
        storages=("local",), workloads=("all columns",), engines=("arrowroot",), n_runs=2, with_trouble=False,
        speed={"arrowroot": 2.0}, noise=QUIET, **more,
    )  # fmt: skip
    results = made.results()
    return results[0::2], results[1::2]


def test_pairs_are_of_the_same_run_and_turn():
    before, now = two()
    pairs = paired(before, now)
    assert len(pairs) == 14
    assert {(pair.run, pair.turn) for pair in pairs} == {
        (result.campaign["run"], turn) for result in before for turn in range(7)
    }
    for result in now:  # one turn is missing in each run
        del result.samples[3]
    assert len(paired(before, now)) == 12
    assert len(paired(before[:1], now[1:])) == 0
    assert len(paired([replace(before[0], campaign={"name": "x"})], now)) == 0


def test_samples_of_a_case_that_was_measured_after_the_other_are_no_pairs():
    before, now = two()
    later = replace(now[0], samples=[
        replace(sample, started_at=f"2026-10-02T12:0{sample.turn}:00.000Z") for sample in now[0].samples
    ])  # fmt: skip
    assert paired(before[:1], [later]) == []
    # A run that was ended after three turns, and went on the next day.
    both = [
        replace(one[0], samples=one[0].samples[:3] + [
            replace(sample, started_at=sample.started_at.replace("10-01", "10-02")) for sample in one[0].samples[3:]
        ])
        for one in (before, now)
    ]  # fmt: skip
    assert len(paired(both[:1], both[1:])) == 7
    # The same, but one of the cases is new on the second day.
    assert paired(both[:1], [later]) == []


def test_samples_that_are_not_counted_have_no_pair_and_the_repeated_one_takes_their_place():
    before, now = two()
    bad = now[0].samples[2]
    disturbed = replace(bad, disturbed=["steal"], wall_ns=10 * bad.wall_ns)
    now[0].samples[2:3] = [disturbed, bad]
    now[0].samples[5] = replace(now[0].samples[5], outcome=Outcome.FAILED, wall_ns=None)
    before[0].samples[0] = replace(before[0].samples[0], wall_ns=0)
    pairs = paired(before[:1], now[:1])
    assert [pair.turn for pair in pairs] == [1, 2, 3, 5, 6]
    assert len({round(pair.ratio, 6) for pair in pairs}) == 1


def in_turns(before, now):
    return InTurns(*([(run, Samples.of(samples)) for run, samples in side] for side in (before, now)))


#: Samples in the order of their turns, as nearly all are: seconds from one to the next, its value and its trace.
STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([None, 0, 1, 5]), st.sampled_from([None, "a", "b"])),
    min_size=1,
    max_size=6,
)


@given(st.lists(STEPS, min_size=2, max_size=2), st.integers(0, 2))
def test_samples_in_order_have_the_pairs_that_any_samples_have(sides, lag_s):
    def side(steps, second):
        seconds = itertools.accumulate((step for step, _, _ in steps), initial=second)
        return [
            Taken(turn, f"2026-10-01T00:00:{at:02}.000Z", (value,), trace)
            for (turn, (_, value, trace)), at in zip(enumerate(steps), seconds, strict=False)
        ]

    one, other = side(sides[0], 0), side(sides[1], lag_s)
    whole = (one, other), (one[: len(other)], other[: len(one)])
    for before, now in whole:
        told = in_turns([("run", before)], [("run", now)])
        # A second result that has no turn in common changes no pair, and its side is looked at turn by turn.
        further = ("run", [Taken(99, "2026-10-02T00:00:00.000Z", (1,), None)])
        slowly = in_turns([("run", before), further], [("run", now)])
        for with_zeros in (False, True):
            pairs = slowly.pairs(with_zeros=with_zeros)
            assert told.pairs(with_zeros=with_zeros) == pairs
            ratios = [pair.ratio for pair in pairs], all(pair.is_exact for pair in pairs)
            for one in (told, slowly):
                assert one.ratios(with_zeros=with_zeros) == ratios


def test_samples_of_one_trace_in_virtual_time_are_exact():
    before, now = two()
    for result, trace in ((before[0], "a"), (now[0], "a"), (before[1], "b"), (now[1], "c")):
        result.samples[1:] = []
        result.samples[0].details["trace"] = trace
    (exact,), (other,) = paired(before[:1], now[:1]), paired(before[1:], now[1:])
    assert (exact.is_exact, other.is_exact) == (True, False)
    told = compare([exact.ratio], is_exact=True)
    assert (told.low, told.high, told.n_pairs, told.is_exact) == (exact.ratio, exact.ratio, 1, True)
    for ratio, verdict in ((1.02, Verdict.WORSE), (0.98, Verdict.BETTER), (1.009, Verdict.NO_DIFFERENCE)):
        assert compare([ratio], is_exact=True).verdict is verdict
        assert compare([ratio]).verdict is Verdict.NOT_ENOUGH
    assert compare([1.2, 0.9], is_exact=True).verdict is Verdict.NOT_ENOUGH
    assert compare([], is_exact=True).verdict is Verdict.NOT_ENOUGH


def test_a_level_that_changed_is_a_change_point_and_an_outlier_is_none():
    level = [100.0, 100.4, 99.7, 100.1, 99.9, 100.2]
    (found,) = changes([*level * 3, *(1.05 * value for value in level)])
    assert (found.place, round(found.ratio, 2)) == (18, 1.05)
    up, down = changes([*level * 2, *(1.3 * value for value in level), *level * 2])
    assert (up.place, down.place) == (12, 18)
    assert up.ratio * down.ratio == pytest.approx(1, rel=0.01)
    assert changes([*level * 2, 180.0, *level]) == []
    assert changes([*level * 2, 180.0, 170.0, *level]) == []
    assert changes([*level * 3, 180.0]) == []
    assert changes([*level * 3, *(1.02 * value for value in level)]) == []
    assert changes([100.0] * 5 + [200.0] * (LEAST_HISTORY - 6)) == []
    assert [one.place for one in changes([7.0] * 20 + [7.3] * 3)] == [20]


@given(
    st.lists(st.floats(1 - 0.49 * LEAST_CHANGE, 1 + 0.49 * LEAST_CHANGE), max_size=60),
    st.floats(1e-3, 1e12),
)
def test_what_changes_by_less_than_the_least_is_no_change(values, unit):
    assert changes([unit * value for value in values]) == []


@given(st.lists(st.floats(0.5, 2), min_size=10, max_size=60))
def test_change_points_have_their_order_and_are_of_more_than_the_least_change(values):
    found = changes(values)
    assert all(abs(math.log(one.ratio)) >= math.log1p(LEAST_CHANGE) * 0.999 for one in found)
    places = [0, *(one.place for one in found), len(values)]
    assert all(end - begin >= 3 for begin, end in itertools.pairwise(places))


@pytest.mark.parametrize("one", planted.HISTORIES[:3], ids=lambda one: one.title)
def test_histories_in_which_nothing_changed_are_silent_and_steps_of_five_per_cent_are_found(one):
    assert planted.share_with_changes(one, 150) <= 0.02
    assert planted.share_found(one, 1.05, 5, 100) >= 0.9


@pytest.mark.parametrize("scenario", planted.SCENARIOS[:9], ids=lambda one: one.title)
def test_equal_programs_are_told_to_differ_less_often_than_the_bounds_allow(scenario):
    told = planted.shares(scenario, 1.0, seed=1, n_trials=1000)
    assert told[Verdict.WORSE] + told[Verdict.BETTER] <= 2 * (1 - CONFIDENCE)


def test_a_step_of_five_per_cent_is_found_by_twenty_pairs_also_on_a_machine_that_gets_slower():
    for scenario in planted.SCENARIOS[:9]:
        told = planted.shares(scenario, 1.05, seed=1, n_trials=1000)
        assert told[Verdict.BETTER] == 0
        if scenario.n_pairs >= 20:
            assert told[Verdict.WORSE] >= 0.9
        assert told[Verdict.NO_DIFFERENCE] < 0.01


def test_samples_of_blocks_would_be_told_to_differ_where_pairs_are_not():
    """The same machine that gets slower: one program first and then the other, as a laboratory without turns does."""
    draw, n_wrong = random.Random(3), 0
    for _ in range(300):
        times = [(1 + 0.2 * turn / 40) * Noise().of_sample(draw) for turn in range(40)]
        n_wrong += compare([now / before for before, now in zip(times[:20], times[20:], strict=True)]).verdict in (
            Verdict.WORSE, Verdict.BETTER,
        )  # fmt: skip
    assert n_wrong / 300 > 0.5


def test_the_document_says_what_is_measured():
    text = planted.DOCUMENT.read_text()
    part = text.partition(planted.BEGIN)[2].partition(planted.END)[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[1:]] == [
        one.title for one in planted.SCENARIOS
    ]
    scenario = planted.SCENARIOS[3]
    null, five, ten = (planted.shares(scenario, step) for step in (1.0, 1.05, 1.1))
    cells = [
        null[Verdict.BETTER] + null[Verdict.WORSE], null[Verdict.NO_DIFFERENCE], five[Verdict.WORSE],
        five[Verdict.BETTER], ten[Verdict.WORSE],
    ]  # fmt: skip
    assert " | ".join([f"| {scenario.title}", *(f"{100 * cell:.2f} %" for cell in cells)]) + " |" in lines
    lines = text.partition(planted.HISTORIES_BEGIN)[2].partition(planted.HISTORIES_END)[0].splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines if line.startswith("| ")][1:] == [
        one.title for one in planted.HISTORIES
    ]
    short = planted.HISTORIES[-1]
    assert f"| {short.title} | {planted.cells_of(short)} |" in lines


def test_rounds_of_two_sites_are_compared_with_the_nearest_night_and_each_once():
    before = [("2026-10-01T02:00:00Z", 1.0), ("2026-10-02T02:00:00Z", 2.0), ("2026-10-05T02:00:00Z", 4.0)]
    now = [("2026-10-01T20:00:00Z", 3.0), ("2026-10-02T03:00:00Z", 4.0), ("2026-10-07T03:00:00Z", 9.0)]
    # The night of the second is nearer to the third, which leaves the first to the first; the last is of no night.
    assert nearest(before, now) == [3.0, 2.0]
    assert nearest(before, []) == []


def test_nights_that_are_alike_have_wider_bounds_so_that_equal_sites_are_rarely_told_apart():
    draw = np.random.default_rng(1)
    n_told = n_without = 0
    for _ in range(400):
        logs = draw.normal(0, 0.07, 50)
        for night in range(1, 50):
            logs[night] = 0.5 * logs[night - 1] + math.sqrt(0.75) * logs[night]
        ratios = np.exp(logs[20:]).tolist()
        n_told += compare_nights(ratios, is_lower_better=True).verdict is not Verdict.NOT_ENOUGH
        n_without += compare(ratios).verdict is not Verdict.NOT_ENOUGH
    assert n_told <= 8 < n_without
    assert compare_nights([1.2] * 7, is_lower_better=True).verdict is Verdict.WORSE
