"""The data of the page that people choose in: what the rows have, and in how many bytes."""

from __future__ import annotations

import json
import statistics
from datetime import datetime
from importlib.resources import files
from itertools import accumulate

import pytest

from arrowroot_lab.documents import Outcome
from arrowroot_lab.pages.exploring import AXES, MOST_BYTES, explored
from arrowroot_lab.store import summary_of
from tests.lab.hubs import Hub
from tests.lab.made import Made


def restored(data):
    """The points of a text, as the page's script reads it."""
    told = json.loads(data)
    found = []
    for places, series, n_cores, dates, *columns in told["lines"]:
        names = [axis["names"][place] for axis, place in zip(told["axes"].values(), places, strict=True)]
        for at, minute in enumerate(accumulate(dates)):
            values = [column[min(at, len(column) - 1)] for column in columns]
            found.append((*names, series, n_cores, minute, *values))
    return told, sorted(found, key=repr)


def point(one):
    """A row as a point: names, the minute, and values of four digits."""
    minute = int(datetime.fromisoformat(one.created_at.replace("Z", "+00:00")).timestamp()) // 60
    test = " / ".join(filter(None, (one.dataset, one.layout, one.workload, one.strategy)))
    names = (one.site, test, one.storage, one.storage_kind, one.engine, one.version, one.cpu_model)
    values = (
        one.wall_median_ns, one.cpu_median_ns, one.peak_rss_bytes, one.round_trip_ns, one.load_1_minute,
        one.network_bytes_per_s,
    )  # fmt: skip
    return (*names, one.series_id, 1, minute, *(value and float(f"{value:.4g}") for value in values))


def test_points_are_the_rows_with_four_digits():
    rows = [summary_of(one) for one in Made(seed=3).results()][::-1]
    told = explored(rows)
    timed = [one for one in rows if one.outcome == Outcome.OK.value and one.wall_median_ns]
    document, points = restored(told.data)
    assert points == sorted(map(point, timed), key=repr)
    assert (told.n_results, told.n_without, told.since, told.full_since) == (
        len(timed), len(rows) - len(timed), None, None,
    )  # fmt: skip
    assert list(document["axes"]) == list(AXES)
    assert list(document["metrics"]) == [
        "wall_ns", "cpu_ns", "cpu_efficiency", "peak_rss_bytes", "round_trip_ns", "load_1_minute",
        "network_bytes_per_s",
    ]  # fmt: skip


@pytest.mark.parametrize("share", [0.6, 0.35, 0.15])
def test_older_results_are_medians_of_weeks_and_the_oldest_are_left_out_if_there_is_no_room(share):
    hub = Hub(sites=("A", "B"), n_nights=70, storages=("root",))
    rows = [summary_of(one) for one in hub.results()][::-1]
    whole = explored(rows)
    most = int(len(whole.data) * share)
    told = explored(rows, most)
    assert len(told.data) <= most
    _, points = restored(told.data)
    full, since = (
        int(datetime.fromisoformat(f"{day}T00:00+00:00").timestamp()) // 60
        for day in (told.full_since, told.since or told.full_since)
    )
    new = max(full, since)
    assert [one for one in points if one[9] >= new] == [
        one for one in restored(whole.data)[1] if one[9] >= new
    ]
    assert (told.since is None) == (share > 0.2)
    assert told.n_results == sum(told.since is None or one.created_at >= told.since for one in rows)
    weeks = {}
    for one in rows:
        minute = point(one)[9]
        if minute < full:
            weeks.setdefault((one.series_id, minute // (7 * 1440)), []).append(one.wall_median_ns)
    medians = [float(f"{statistics.median(walls):.4g}") for walls in weeks.values()]
    hollow = [one[10] for one in points if one[9] < full]
    if told.since is None:
        assert sorted(hollow) == sorted(medians)
    assert hollow or told.since
    assert set(hollow) <= set(medians)


def test_names_end_no_element_and_the_page_has_at_most_a_megabyte():
    rows = [summary_of(one) for one in Made(site="</script><b>", n_runs=1, n_samples=1).results()]
    told = explored(rows)
    assert "<" not in told.data
    assert "</script><b>" in restored(told.data)[0]["axes"]["site"]["names"]
    folder = files("arrowroot_lab.pages")
    parts = [folder / "assets" / name for name in ("style.css", "page.js", "explore.js")]
    parts += [folder / "templates" / name for name in ("base.html", "explore.html")]
    parts += [files("arrowroot_lab.figures") / "figures.css"]
    assert MOST_BYTES + sum(len(part.read_bytes()) for part in parts) < 990_000


def test_without_a_time_there_is_nothing_to_choose():
    assert restored(explored([]).data)[1] == []
