"""Alarms of places, once more: an engine's by pairs, a place's by the place as it is now; what has gone by is none."""

from __future__ import annotations

import itertools
import json
import re
import sys
import uuid
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.errors import SkippedError
from arrowroot_lab.location import Location
from arrowroot_lab.running import checking, sampling
from arrowroot_lab.store import Filter, Store
from arrowroot_lab.watching import rounds
from arrowroot_lab.watching.alarms import PlaceState, alarms
from arrowroot_lab.watching.findings import FindingState
from arrowroot_lab.watching.places_again import PlacesAgain
from arrowroot_lab.watching.site_results import site_results
from tests.command import run_here
from tests.lab import hubs

FAKE = Path(__file__).with_name("fake_runner.py")
USUAL_NS, SLOW_NS = 10_000_000, 11_200_000
NIGHTS = 14


@dataclass
class Watched:
    """A campaign of a fake whose times are those of a file, with the nights before in its database."""

    directory: Path
    wall: Path = field(init=False)

    def __post_init__(self):
        self.wall = self.directory / "wall"
        self.wall.write_text(str(SLOW_NS))
        arrowroot.write(f"{self.directory / 'n.root'}:T", {"x": np.arange(100)})
        words = [sys.executable, str(FAKE), f"told_wall_ns={self.wall}"]
        (self.directory / "c.toml").write_text(
            f'repeats = 2\n[dataset.n]\nfiles = "n.root"\ntable = "T"\n[storage.here]\nkind = "local"\n'
            f'[engine.a]\ncommand = {json.dumps(words)}\n[workload.all]\ncolumns = ["x"]\n'
        )

    def round(self):
        report = self.directory / "report.md"
        report.unlink(missing_ok=True)
        hook = ["--command", f"sh -c 'cat > {report}'", "--site", "here"]
        done = run_here(
            "lab", "watch", self.directory / "c.toml", "--once", "--db", self.directory / "lab.db", *hook
        )
        return done, report.read_text() if report.exists() else ""

    def add_nights(self, *, before=None, elsewhere=None):
        """Put copies of the first result for the nights before, of which the last one is slow, too.

        before: the versions until that night. elsewhere: another site that has the same nights, and is not slow.
        """
        with self.store() as store:
            (first,) = store.results(Filter(campaign=("c",)))
            for site, night in itertools.product(filter(None, (first.site, elsewhere)), range(NIGHTS, 0, -1)):
                at = datetime.now(timezone.utc) - timedelta(days=night)
                date = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
                is_slow = night == 1 and site == first.site
                wall_ns = SLOW_NS if is_slow else USUAL_NS + 10_000 * (night % 5)
                samples = [replace(one, wall_ns=wall_ns, started_at=date) for one in first.samples]
                own = night + 100 * (site != first.site)
                store.put(
                    replace(
                        first,
                        site=site,
                        uuid=str(uuid.UUID(int=own)),
                        versions=before if before and night > 1 else first.versions,
                        created_at=date,
                        samples=samples,
                        campaign={**first.campaign, "run": str(uuid.UUID(int=own << 64))},
                    )
                )

    def store(self):
        return Store.open(Location(str(self.directory / "lab.db")))


@pytest.fixture
def watched(tmp_path, monkeypatch):
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ARROWROOT_SITE", "")
    monkeypatch.setattr(checking, "references", lambda _: [registered().engines["arrowroot"]])
    monkeypatch.setattr(sampling, "disturbed", lambda *_: [])
    found = Watched(tmp_path)
    assert found.round()[0].returncode == 0
    return found


def test_a_place_that_is_still_slow_when_it_is_measured_again_is_an_alarm_of_the_round(watched):
    watched.add_nights()
    done, report = watched.round()
    assert done.returncode == 4, done.stdout
    assert re.search(r"; 1\.1\d+ times when measured again, 20", report)
    with watched.store() as store:
        assert store.count(Filter(campaign=("c (check)",))) == 1
    # It is known by now, and not measured again each night.
    assert watched.round()[0].returncode == 4
    with watched.store() as store:
        assert store.count(Filter(campaign=("c (check)",))) == 1


def test_another_site_with_the_new_version_that_is_not_slower_clears_the_engine(watched):
    watched.add_nights(before={"engine": "0.9"}, elsewhere="there")
    done, report = watched.round()
    assert done.returncode == 4, done.stdout
    assert "and there with it did not rise" in report


def test_what_has_gone_by_when_the_place_is_measured_again_is_none(watched, monkeypatch):
    watched.add_nights()
    check = rounds.check

    def gone_by(*arguments, **options):
        watched.wall.write_text(str(USUAL_NS))
        return check(*arguments, **options)

    monkeypatch.setattr(rounds, "check", gone_by)
    done, report = watched.round()
    assert (done.returncode, report) == (0, ""), done.stdout
    assert "here: it was slower, and is not when it is measured again" in " ".join(done.stdout.split())


class Told:
    """Confirms as it is told to."""

    def __init__(self, store, state):
        self.store, self.state, self.asked = store, state, []
        self.site, self.campaign = "A", SimpleNamespace(name="sites")

    def judge(self, suspects):
        self.asked += suspects
        return [
            replace(finding, state=self.state, note=f"pairs: {self.state.value}") for finding, _ in suspects
        ]

    def again(self, _):
        raise SkippedError("the storage is away")


@pytest.mark.parametrize(
    ("state", "is_known", "expected"),
    [
        (FindingState.ALARM, False, ("slower engine", ["pairs: alarm"])),
        (FindingState.SUSPECT, False, ("slower engine", ["pairs: suspect"])),
        (
            FindingState.CLEARED,
            False,
            (
                "slower place",
                ["pairs: cleared: it is not the engine", "not measured again: the storage is away"],
            ),
        ),
        # What a check of the round has measured in pairs is not measured twice.
        (FindingState.ALARM, True, ("slower engine", ["pairs: alarm"])),
    ],
)
def test_an_engine_is_blamed_if_pairs_do_not_clear_it(tmp_path, state, is_known, expected):
    hub = hubs.Hub(
        sites=("A",), faults=(hubs.Fault("site", "A", 20, 0.2),), versions={0: "1", 20: "2"}, n_nights=24
    )
    at = hubs.FIRST_NIGHT + timedelta(days=23, hours=8)
    with Store.open(Location(str(tmp_path / "hub.db"))) as store:
        for result in hub.results():
            store.put(result)
        found = alarms(site_results(store, Filter(), at), at)
        assert [one.state for one in found] == [PlaceState.SLOWER_ENGINE]
        told = Told(store, state)
        known = told.judge(PlacesAgain(told, ()).suspects(found[0])) if is_known else ()
        told.asked.clear()
        (alarm,) = PlacesAgain(told, known).judge(found)
    assert (alarm.state.value, list(alarm.evidence[len(found[0].evidence) :])) == expected
    assert len(told.asked) == (0 if is_known else 1)
