"""The site's file: its name, its settings, and what is at fault in it."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.campaign.datasets import cache_directory
from arrowroot_lab.campaign.model import Limits, Line
from arrowroot_lab.campaign.read import read
from arrowroot_lab.campaign.site import Batch, choose, here
from arrowroot_lab.errors import CampaignError
from arrowroot_lab.store import Store
from arrowroot_lab.store.place import resolve
from tests.command import done_here
from tests.recorded import session

WHOLE = """
name = "Site of tests"
store = "postgresql://lab@db.example/results"
cache = "/data/cache"
[limits]
timeout = "1 min"
disk = "2 GB"
[storage.disk]
kind = "local"
directory = "/data/lab"
push = true
[storage."far away"]
kind = "url"
url = "root://host.example//store/{file}"
push = "https://host.example/store/{file}"
[storage.line]
kind = "xrootd"
line = { latency = "5 ms" }
[batch.slurm]
jobs = 3
cores = 8
memory = "16 GB"
walltime = "2 h"
queue = "short"
account = "atlas"
directives = ["--exclusive"]
prologue = ["source /cvmfs/setup.sh"]
python = "/opt/lab/bin/python"
host = "login.example"
port = 8786
logs = "/data/logs"
[batch.pool]
system = "htcondor"
disk = "20 GB"
interface = "ib0"
"""
CAMPAIGN = """
{top}
[dataset.numbers]
files = "numbers.root"
table = "T"
[storage.near]
{storage}
[engine.fake]
command = {command}
[workload.all]
"""
FAKE = [sys.executable, str(Path(__file__).with_name("fake_runner.py"))]
HERE = 'kind = "local"'


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Writes the site's file, and makes it that of this process."""

    def write(text):
        path = tmp_path / "site.toml"
        path.write_text(text)
        monkeypatch.setenv("ARROWROOT_SITE", str(path))
        return here()

    return write


@pytest.fixture
def campaign(tmp_path):
    def write(storage=HERE, top=""):
        path = tmp_path / "c.toml"
        path.write_text(CAMPAIGN.format(top=top, storage=storage, command=json.dumps(FAKE)))
        return path

    return write


def test_every_key_is_read(site, monkeypatch):
    found = site(WHOLE)
    assert (found.name, found.store.whole()) == ("Site of tests", "postgresql://lab@db.example/results")
    assert found.limits == Limits(timeout_s=60.0, disk_bytes=2_000_000_000)
    disk, far, line = found.storages.values()
    assert (disk.kind, disk.push) == ("local", "/data/lab/{file}")
    assert (far.url, far.push) == ("root://host.example//store/{file}", "https://host.example/store/{file}")
    assert line.line == Line(5_000_000, 0.0)
    assert found.batches["slurm"] == Batch(
        "slurm", 3, 8, 16 * 10**9, None, 7200, "short", "atlas", ("--exclusive",), ("source /cvmfs/setup.sh",),
        "/opt/lab/bin/python", "login.example", None, 8786, "/data/logs",
    )  # fmt: skip
    assert found.batches["pool"] == Batch("htcondor", disk_bytes=20 * 10**9, interface="ib0")
    monkeypatch.delenv("ARROWROOT_LAB_CACHE", raising=False)
    monkeypatch.delenv("ARROWROOT_LAB_DB", raising=False)
    assert cache_directory() == Path("/data/cache")
    assert resolve(None).host == "db.example"
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", "/elsewhere")
    monkeypatch.setenv("ARROWROOT_LAB_DB", "other.db")
    assert cache_directory() == Path("/elsewhere")
    assert resolve(None).database == "other.db"


def test_faults_are_told_with_file_line_and_key(site, tmp_path):
    session("sites", tmp_path, {"site": site, "choose": choose})


def test_the_file_is_the_usual_one_or_that_which_is_named_and_a_name_keeps_its_settings(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("ARROWROOT_SITE", "")
    assert here().path is None
    usual = tmp_path / "arrowroot" / "site.toml"
    usual.parent.mkdir()
    usual.write_text('name = "usual"\nstore = "/data/lab.db"')
    assert (here().name, here().path) == ("usual", usual)
    assert (choose("another").name, here().name, here().store) == ("another", "another", "/data/lab.db")
    monkeypatch.chdir(tmp_path)
    Path("other.toml").write_text('name = "other"')
    assert (choose("other.toml").name, here().store) == ("other", None)
    assert os.environ["ARROWROOT_SITE"] == str(tmp_path / "other.toml")


def test_a_storage_of_the_site_is_that_of_its_file_under_the_campaigns_name(site, campaign):
    site(WHOLE)
    (found,) = read(campaign('kind = "site"\nstorage = "far away"')).storages
    assert (found.name, found.kind, found.url) == ("near", "url", "root://host.example//store/{file}")
    with pytest.raises(
        CampaignError, match=r"c\.toml:\d+: storage\.near\.kind: site Site of tests has no storage 'near'"
    ):
        read(campaign('kind = "site"'))


def test_a_glob_means_all_storages_of_the_site_that_match_by_their_own_names(site, campaign):
    site(WHOLE)
    assert [one.name for one in read(campaign('kind = "site"\nstorage = "*i*"')).storages] == ["disk", "line"]
    twice = 'kind = "site"\nstorage = "*"\n[storage.disk]\nkind = "site"'
    with pytest.raises(CampaignError, match=r"storage\.disk: 'disk' is there more than once"):
        read(campaign(twice))


def test_no_campaign_gets_more_than_the_site_allows(site, campaign):
    told = campaign(top='[limits]\ntimeout = "20 s"\ndisk = "5 GB"\ntotal = "1 h"')
    site(WHOLE)
    assert read(told).limits == Limits(timeout_s=20.0, total_s=3600.0, disk_bytes=2_000_000_000)
    assert read(campaign()).limits == Limits(timeout_s=60.0, disk_bytes=2_000_000_000)


def test_a_run_has_the_sites_name_in_its_results_and_stores_them_where_it_says(tmp_path, campaign):
    arrowroot.write(f"{tmp_path}/numbers.root:T", {"x": np.arange(100)})
    (tmp_path / "site.toml").write_text(
        f'name = "named by file"\nstore = "{tmp_path}/of-site.db"\ncache = "{tmp_path}/cache"\n'
        f'[storage.shared]\nkind = "local"\n'
    )
    path = campaign('kind = "site"\nstorage = "shared"', "repeats = 1")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ARROWROOT_LAB")}
    told = done_here("lab", "run", path, "--site", "site.toml", "--json", cwd=tmp_path, env=environment)
    assert json.loads(told)["database"] == f"{tmp_path}/of-site.db"
    with Store.open(tmp_path / "of-site.db", must_exist=True) as store:
        (result,) = store.results()
    assert result.site == "named by file"
    assert (result.case["storage_name"], result.case["storage"]["kind"]) == ("near", "local")
    assert (tmp_path / "cache" / "identities").is_dir()


def test_a_user_without_a_home_has_a_cache_and_no_file_of_a_site(tmp_path, monkeypatch):
    """As a slot of a batch system, or a container that runs as any number."""

    def unknown(_):
        raise KeyError("getpwuid(): uid not found")

    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "ARROWROOT_LAB_CACHE", "ARROWROOT_SITE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert choose(None).cache is None
    assert cache_directory() == tmp_path / ".cache" / "arrowroot-lab"
