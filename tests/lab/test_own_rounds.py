"""Tests that are not measured in each round of their site are judged by their own rounds."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest

from arrowroot_lab.statistics import rises
from arrowroot_lab.watching.alarms import PlaceState, alarms
from arrowroot_lab.watching.places import histories
from tests.lab import hubs

N_NIGHTS, FAULT = 48, 36
ALL = range(1000)


def night_of(one):
    """The number of the night that a result is of."""
    return int(one.run.split("-")[2], 16)


def slower(figures, by, nights, **named):
    """The same results; those that are named so take longer in some nights."""
    return [
        one._replace(wall_ns=one.wall_ns * by)
        if night_of(one) in nights and all(getattr(one, key) == value for key, value in named.items())
        else one
        for one in figures
    ]


def each_third(figures, **named):
    """The same results; those that are named so are of each third night."""
    return [
        one
        for one in figures
        if night_of(one) % 3 == 0 or any(getattr(one, key) != value for key, value in named.items())
    ]


def by_campaigns(figures):
    """The same results, each case measured by a command of its own."""
    cases = sorted({one.case for one in figures})
    return [one._replace(run=f"{cases.index(one.case)}{one.run[1:]}", campaign=one.case) for one in figures]


def told(figures, night, state=PlaceState.SLOWER_PLACE):
    """Places in a state, and since when, in the morning after a night."""
    at = hubs.FIRST_NIGHT + timedelta(days=night, hours=8)
    found = alarms((one for one in figures if one.created_at < at.isoformat()), at)
    return [(one.place, (one.since or "")[:10]) for one in found if one.state is state]


def day(night):
    """The date of a night."""
    return f"{hubs.FIRST_NIGHT + timedelta(days=night):%Y-%m-%d}"


@pytest.fixture(scope="module")
def figures():
    """Two sites of which nothing is slow."""
    return hubs.Hub(sites=("A", "B"), n_nights=N_NIGHTS).figures()


@pytest.mark.parametrize(
    ("named", "place"),
    [({"case": "all"}, "A, case all"), ({"storage": "davs"}, "A, storage davs")],
)
def test_what_is_measured_each_third_night_rings_after_three_rounds_of_its_own(figures, named, place):
    found = slower(each_third(figures, site="A", **named), 1.3, range(FAULT, N_NIGHTS), site="A", **named)
    assert told(found, FAULT + 5) == []
    for night in (FAULT + 6, FAULT + 8, FAULT + 11):
        assert told(found, night) == [(place, day(FAULT))]
    assert told(each_third(figures, site="A", **named), N_NIGHTS - 1) == []
    # It ends by its own rounds, too.
    found = slower(each_third(figures, site="A", **named), 1.3, range(FAULT - 9, FAULT), site="A", **named)
    assert told(found, FAULT + 2) == [(place, day(FAULT - 9))]
    assert told(found, FAULT + 3) == []


@pytest.mark.parametrize(("where", "place"), [({"storage": "root"}, "A, storage root"), ({}, "A")])
def test_what_was_not_measured_in_the_last_rounds_is_blamed_by_its_next_ones_alone(where, place):
    """Three nights without a storage tell nothing of it; later all storages are the site."""
    n_nights, begin = 62, 46
    every = hubs.Hub(sites=("A", "B"), n_nights=n_nights).figures()
    found = [one for one in every if one.storage == "root" or night_of(one) % 5 == 0]
    found = slower(found, 1.3, ALL[begin:], site="A", **where)
    assert told(found, begin + 2) == [("A, storage root", day(begin))]
    assert told(found, n_nights - 1) == [(place, day(begin))]


def test_what_is_silent_is_not_waited_for(figures):
    found = [one for one in figures if one.storage == "root" or night_of(one) < FAULT - 6]
    assert told(slower(found, 1.3, ALL[FAULT:], site="A"), FAULT + 2) == [("A", day(FAULT))]


def test_a_site_is_one_place_though_one_of_its_storages_is_measured_each_third_night(figures):
    # The night after one of the rounds of that storage, whose next one is the third of the fault.
    begin = FAULT + 1
    found = slower(each_third(figures, site="A", storage="davs"), 1.3, range(begin, N_NIGHTS), site="A")
    assert told(found, begin + 2) == [("A", day(begin))]
    assert told(found, N_NIGHTS - 1) == [("A", day(begin))]


def test_campaigns_of_a_night_are_one_round(figures):
    found = by_campaigns(figures)
    (site, _) = histories(found)
    assert (len(site.rounds), len({one.run[:23] for one in found if one.site == "A"})) == (
        N_NIGHTS,
        3 * N_NIGHTS,
    )
    # Three commands of one slow night are no three rounds.
    assert told(slower(found, 1.5, [FAULT], site="A"), FAULT) == []
    assert told(slower(found, 1.5, [FAULT, FAULT + 1], site="A"), FAULT + 1) == []
    assert told(slower(found, 1.5, ALL[FAULT:], site="A"), FAULT + 2) == [("A", day(FAULT))]
    assert told(slower(found, 1.5, ALL[FAULT:], site="A", case="all"), FAULT + 2) == [
        ("A, case all", day(FAULT))
    ]


def test_commands_that_measure_the_same_again_or_a_day_later_are_rounds_of_their_own(figures):
    night = [one for one in figures if one.site == "A" and night_of(one) == 0]
    again = [one._replace(run=f"f{one.run[1:]}") for one in night]
    (site,) = histories([*night, *again])
    assert len(site.rounds) == 2
    first, *rest = by_campaigns(night)
    later = [
        one._replace(created_at=(hubs.FIRST_NIGHT + timedelta(days=2)).isoformat())
        for one in rest
        if one.case != first.case
    ]
    (site,) = histories([first, *later])
    assert site.rounds == [first.created_at, later[0].created_at]


def test_a_storage_that_is_measured_seldom_is_known_by_its_own_rounds():
    hub = hubs.Hub(sites=("A", "B"), n_nights=50)
    found = [one for one in hub.figures() if one.storage == "root" or night_of(one) % 4 == 0]
    # Three nights without it are none in which no sample of it counted.
    assert told(found, 47, PlaceState.UNKNOWN) == []
    assert told(found, 47, PlaceState.SILENT) == []


def test_what_is_measured_again_by_hand_in_an_afternoon_makes_nothing_else_silent(figures):
    last = [one for one in figures if one.site == "A" and night_of(one) == N_NIGHTS - 1]
    by_hand = [
        one._replace(
            run=f"{n:x}{one.run[1:]}",
            created_at=(hubs.FIRST_NIGHT + timedelta(days=N_NIGHTS - 1, hours=9 + n)).isoformat(),
        )
        for n in range(1, 8)
        for one in last
        if one.storage == "root"
    ]
    found = [*figures, *by_hand]
    assert told(found, N_NIGHTS - 1, PlaceState.SILENT) == []
    # Nor is the site itself, which measures each night, in the next morning.
    assert told(found, N_NIGHTS, PlaceState.SILENT) == []
    # What misses two nights is.
    later = [one for one in figures if one.storage == "root" or night_of(one) < N_NIGHTS - 2]
    assert [place for place, _ in told(later, N_NIGHTS - 1, PlaceState.SILENT)] == [
        "A, storage davs",
        "B, storage davs",
    ]


def test_rounds_between_those_of_a_group_change_nothing():
    draw = np.random.default_rng(7)
    groups = {"all": range(5), "some": [0, 2], **{at: [at] for at in range(5)}}
    n_found = 0
    for _ in range(60):
        n_rounds = int(draw.integers(15, 50))
        logs = draw.normal(0, 0.02, (5, n_rounds))
        logs[draw.permutation(5)[:2], draw.integers(n_rounds) :] += draw.uniform(0.05, 0.3)
        where = np.sort(draw.permutation(3 * n_rounds)[:n_rounds])
        apart = np.full((5, 3 * n_rounds), math.nan)
        apart[:, where] = logs
        expected = rises.rises(logs, groups)
        for one in expected:
            one.begin, one.seen = where[one.begin], where[one.seen]
            one.end = None if one.end is None else where[one.end]
        assert rises.rises(apart, groups) == expected
        n_found += len(expected)
    assert n_found > 20
