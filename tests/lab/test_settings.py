"""The settings of a site from its own results: what is recommended, what it rests on, and the file that says so."""

from __future__ import annotations

import json
import os
import random
import sys
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.documents import Outcome, Result, Sample
from arrowroot_lab.location import Location
from arrowroot_lab.mining import settings as mining
from arrowroot_lab.runners import arrowroot_runner
from arrowroot_lab.running import checking, sampling
from arrowroot_lab.statistics import Verdict
from arrowroot_lab.store import Store
from tests.command import run_here
from tests.lab import planted_settings
from tests.lab.made import Noise
from tests.servers.fixtures import installed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

AUTO = {"name": "auto"}
TREECACHE = {"name": "treecache", "cache_bytes": 32 << 20}
AHEAD = {"name": "auto", "options": {"prefetch": 16}}
FIRST = datetime(2026, 10, 1, 2, tzinfo=timezone.utc)


@dataclass
class Run:
    """One run of cases that take turns, with times that are known."""

    #: By setting, over that of the first one.
    times: tuple[tuple[dict, float], ...]
    server: str | None = "root://se.example.org:1094"
    storage: str = "SE"
    workloads: tuple[str, ...] = ("few columns", "all columns")
    n_turns: int = 14
    day: int = 0
    site: str = "RAL"
    version: str = "0.2.0"
    engine: str = "arrowroot"
    place: str | None = None
    #: Options of the default that a file set.
    set_by_others: tuple[str, ...] = ()
    #: Workload -> factor of the last setting there.
    odd: tuple[tuple[str, float], ...] = ()

    def results(self):
        draw, noise = random.Random(f"{self}"), Noise()
        run = str(uuid.UUID(int=draw.getrandbits(122)))
        begin = FIRST + timedelta(days=self.day)
        for workload in self.workloads:
            begin += timedelta(hours=1)
            for at, (strategy, time) in enumerate(self.times):
                factor = time * (dict(self.odd).get(workload, 1.0) if at == len(self.times) - 1 else 1.0)
                samples = [
                    Sample(
                        turn=turn,
                        started_at=_date(begin + timedelta(seconds=60 * turn + at)),
                        outcome=Outcome.OK,
                        wall_ns=int(2e9 * factor * noise.of_sample(draw)),
                        details={"engine": {"set_by_others": dict.fromkeys(self.set_by_others, "1")}},
                    )
                    for turn in range(self.n_turns)
                ]
                yield self._result(
                    run, workload, strategy, samples, str(uuid.UUID(int=draw.getrandbits(122)))
                )

    def _result(self, run, workload, strategy, samples, key):
        kind = (
            {"kind": "url", "server": self.server, "place": self.place} if self.server else {"kind": "local"}
        )
        return Result(
            case={
                "dataset": "d", "layout": "l", "dataset_name": "nanoaod", "storage": kind, "engine": self.engine,
                "storage_name": self.storage, "workload": {"kind": "read", "columns": [workload]},
                "workload_name": workload, "strategy": strategy, "threads": 1, "workers": 1,
            },
            site=self.site, machine={"cpu": "A"}, versions={"engine": self.version}, samples=samples,
            dataset={"name": "nanoaod"}, campaign={"name": "settings", "run": run}, uuid=key,
            created_at=samples[-1].started_at,
        )  # fmt: skip


def _date(at):
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Runs the command over some runs; returns how it ended, and the file as TOML."""
    monkeypatch.chdir(tmp_path)

    def run(*runs, options=()):
        database = tmp_path / f"{len(list(tmp_path.glob('*.db')))}.db"
        with Store.open(Location(str(database))) as store:
            for one in runs:
                for result in one.results():
                    store.put(result)
        done = run_here("lab", "settings", "RAL", "--db", database, *options)
        place = tmp_path / "config.toml"
        return done, tomllib.loads(place.read_text()) if place.exists() else None

    return run


def test_the_best_setting_of_each_storage_is_written_with_its_gain_and_what_it_rests_on(settings, tmp_path):
    done, told = settings(
        Run(((AUTO, 1.0), (AHEAD, 0.8), (TREECACHE, 0.6))),
        Run(((AUTO, 1.0), (AHEAD, 0.8), (TREECACHE, 0.6)), day=3),
        Run(((AUTO, 1.0), (AHEAD, 0.7), (TREECACHE, 0.9)), server="s3://bucket", storage="S3"),
        Run(((AUTO, 1.0), (AHEAD, 0.97), (TREECACHE, 1.4)), server="http://x.example.org", storage="near"),
    )
    assert done.returncode == 0, done.stderr
    assert told == {
        "for": {
            "root://se.example.org:1094/*": {"strategy": "treecache", "cache_size": 32 << 20},
            "s3://bucket/*": {"strategy": "auto", "prefetch": 16},
        }
    }
    text = (tmp_path / "config.toml").read_text()
    assert "# SE: treecache 32 MiB takes 40." in text or "# SE: treecache 32 MiB takes 39." in text
    assert "# 28 pairs of 2 cases, 8 results of 2026-10-01 to 2026-10-04, arrowroot 0.2.0" in text
    assert "near: none takes 5% less time for sure: auto prefetch=16 takes 0.9" in " ".join(
        done.stdout.split()
    )


def test_arrowroot_takes_the_file_for_the_urls_of_the_storage(settings, tmp_path, monkeypatch):
    settings(Run(((AUTO, 1.0), (AHEAD, 0.9), (TREECACHE, 0.6))))
    monkeypatch.setenv("ARROWROOT_CONFIG", str(tmp_path / "config.toml"))
    for url, expected in (("root://se.example.org//store/f.root", "treecache"), ("root://x//f", "auto")):
        found = {one.name: one.value for one in arrowroot.configuration(url).options}
        assert found["strategy"] == expected
        assert found["cache_size"] == (str(32 << 20) if expected == "treecache" else None)


def test_json_says_the_same_with_all_digits(settings):
    done, _ = settings(
        Run(((AUTO, 1.0), (TREECACHE, 0.5))), Run(((AUTO, 1.0), (TREECACHE, 0.5)), server=None, storage="disk"),
        options=["--json", "--output", "site.toml"],
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert (told["form"], told["site"], told["file"]) == ("arrowroot-lab.settings/1", "RAL", "site.toml")
    se, disk = told["storages"]
    assert (se["setting"], se["urls"], se["n_pairs"]) == (
        "treecache 32 MiB",
        "root://se.example.org:1094/*",
        14,
    )
    assert se["gain"] == pytest.approx(0.5, abs=0.03)
    assert se["least_gain"] < se["gain"] == 1 - se["ratio"]
    assert (disk["urls"], disk["reason"]) == (
        None, "a storage of kind local has no address that a configuration file could name",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (Run(((AUTO, 1.0), (TREECACHE, 1.0))), "none takes 5% less time for sure"),
        (Run(((AUTO, 1.0), (TREECACHE, 0.5)), n_turns=6), "not enough: 6 pairs; a bound at 99% needs 7"),
        # It is no advice to make one workload slower than it is.
        (
            Run(((AUTO, 1.0), (TREECACHE, 0.5)), odd=(("all columns", 2.5),)),
            "each setting is slower in some case than auto",
        ),
    ],
)
def test_where_nothing_is_gained_it_says_so_and_writes_nothing(settings, run, why):
    done, told = settings(run)
    assert (done.returncode, told) == (0, None)
    said = " ".join(done.stdout.split())
    assert why in said
    assert "Nothing is gained by any setting, and nothing is written." in said


def test_what_was_recommended_by_chance_among_many_is_not():
    """Of 2,000 settings that are equal none is."""
    draw, noise = random.Random(7), Noise(sample=0.1)

    def ratio():
        return noise.of_sample(draw) / noise.of_sample(draw)

    verdicts = [mining._judged([[ratio() for _ in range(14)]], 10)[0].verdict for _ in range(2000)]
    assert Verdict.BETTER not in verdicts


def test_storages_that_share_a_server_get_no_settings_that_differ(settings):
    one, other = (
        Run(((AUTO, 1.0), (TREECACHE, time)), storage=name, place=name)
        for name, time in (("disk", 0.5), ("tape", 1.0))
    )
    done, told = settings(one, other)
    assert told is None
    assert "disk: tape has the same server, and other settings are best there" in " ".join(
        done.stdout.split()
    )


def test_results_of_an_older_version_tell_nothing(settings):
    _, told = settings(
        Run(((AUTO, 1.0), (TREECACHE, 0.5)), version="0.1.0"), Run(((AUTO, 1.0), (TREECACHE, 1.0)), day=3)
    )
    assert told is None


def test_runs_in_which_a_file_set_options_of_the_default_are_left_out(settings):
    spoilt = Run(((AUTO, 1.0), (TREECACHE, 0.5)), day=3, set_by_others=("prefetch",))
    done, told = settings(Run(((AUTO, 1.0), (TREECACHE, 1.0))), spoilt)
    assert told is None
    assert "1 run is left out: auto was not as it comes, as a file or variable set prefetch." in " ".join(
        done.stdout.split()
    )
    done, _ = settings(spoilt)
    assert (done.returncode, "as a file or variable set prefetch" in done.stderr) == (2, True)


def test_a_sample_tells_which_options_of_its_strategy_others_have_set(tmp_path, monkeypatch):
    file, config = tmp_path / "n.root", tmp_path / "config.toml"
    arrowroot.write(f"{file}:T", {"x": np.arange(100)})
    config.write_text(f'timeout = 60\n[for."{tmp_path}/*"]\nprefetch = 3\nconnections = 7\n')
    monkeypatch.setenv("ARROWROOT_CONFIG", str(config))
    job = {"urls": [str(file)], "table": "T", "strategy": "auto", "options": {"connections": 5}}
    assert arrowroot_runner.read(job)["details"] == {"set_by_others": {"prefetch": "3"}}
    monkeypatch.delenv("ARROWROOT_CONFIG")
    assert "details" not in arrowroot_runner.read(job)


def test_a_file_of_another_hand_stays_and_one_of_before_is_said_to_be_old(settings, tmp_path):
    place = tmp_path / "config.toml"
    place.write_text('timeout = "60 s"\n')
    run = Run(((AUTO, 1.0), (TREECACHE, 0.5)))
    done, told = settings(run)
    assert done.returncode == 2
    assert "config.toml: it was not written by this command: name another file (--output)" in done.stderr
    assert told == {"timeout": "60 s"}
    place.unlink()
    settings(run)
    done, told = settings(Run(((AUTO, 1.0), (TREECACHE, 1.0))))
    assert "config.toml is of before, and nothing speaks for it any more" in " ".join(done.stdout.split())
    assert list(told) == ["for"]


@pytest.fixture
def _real(tmp_path, monkeypatch):
    """What is measured counts, whatever else the machine does, and nobody else reads the same."""
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ARROWROOT_SITE", "")
    monkeypatch.setattr(checking, "references", lambda _: [])
    monkeypatch.setattr(sampling, "disturbed", lambda *_: [])
    tmp_path.chmod(0o755)  # servers may be other users


@pytest.mark.long
@pytest.mark.usefixtures("_real")
def test_a_storage_that_counts_requests_is_read_as_much_faster_with_the_file_as_it_says(tmp_path):
    place = installed(lambda: planted_settings.Planted("", 5, 400, {"max_ranges": 1, "requests_per_s": 8}))
    few = '[[include]]\nstrategy = ["auto", "readahead 64 MiB"]\nworkload = "10 columns"\n'
    told = planted_settings.tried(place, tmp_path, repeats=7, more=few, n_pairs=5)
    assert 'strategy = "readahead"\ncache_size = 67108864\n' in told.config
    assert told.advice["gain"] > 0.3
    assert told.is_met, told


@pytest.mark.skipif(not os.environ.get("ARROWROOT_SOAK"), reason="takes an hour: make soak-lab")
@pytest.mark.usefixtures("_real")
def test_on_five_of_six_planted_storages_the_gain_is_the_expected_one():
    found = dict(planted_settings.rows())
    assert sum(told.is_met for told in found.values()) >= 5, found


def test_a_site_without_such_results_is_told_what_measures_them(settings):
    for run in (Run(((AUTO, 1.0),)), Run(((AUTO, 1.0), (TREECACHE, 0.5)), engine="root")):
        done, told = settings(run)
        assert (done.returncode, told) == (2, None)
        assert "arrowroot lab run campaigns/settings.toml measures them" in " ".join(done.stderr.split())
    done, _ = settings(Run(((AUTO, 1.0),), site="FNAL"))
    assert done.returncode == 2
    assert "RAL: no result is of this site; there are FNAL" in done.stderr
