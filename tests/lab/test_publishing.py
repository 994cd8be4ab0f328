"""Publishing: a site is swapped in as a whole, and nothing that is not ours is touched."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.mining import compare
from arrowroot_lab.pages import publish
from arrowroot_lab.pages.publishing import N_RUNS
from arrowroot_lab.pages.site import MARKER
from arrowroot_lab.pages.snapshot import Snapshot
from arrowroot_lab.runs import another_of, new_run
from arrowroot_lab.store import Filter, Store
from tests.command import run_here

from .made import Made
from .parsed_pages import NOW, Page
from .running import wait_until


@pytest.fixture(scope="module")
def little(tmp_path_factory):
    """A store whose pages are written at once."""
    with Store.open(tmp_path_factory.mktemp("little") / "lab.db") as opened:
        for result in Made(storages=("local",), workloads=("ten columns",), n_runs=1).results():
            opened.put(result)
        yield opened


def test_publishing_again_replaces_all_and_leaves_nothing_behind(little, tmp_path):
    directory = tmp_path / "pages"
    directory.mkdir()
    publish(little, directory, at=NOW)
    (directory / "results" / "of-an-older-site.html").write_text("old")
    before = directory.stat().st_ino
    publish(little, directory, at=NOW)
    assert directory.stat().st_ino != before
    assert not (directory / "results" / "of-an-older-site.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


@pytest.mark.parametrize("kind", ["file", "foreign", "forged", "dangling"])
def test_a_directory_that_is_not_ours_is_refused(little, tmp_path, kind):
    directory = tmp_path / "pages"
    if kind == "file":
        directory.write_text("mine")
    elif kind == "dangling":
        directory.symlink_to(tmp_path / "nowhere")
    else:
        directory.mkdir()
        (directory / "thesis.tex").write_text("mine")
        if kind == "forged":
            (directory / MARKER).write_text("[]")
    with pytest.raises(RequestError, match=re.escape(str(directory))):
        publish(little, directory)
    if kind in ("foreign", "forged"):
        assert (directory / "thesis.tex").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"pages"}


def test_versions_that_two_engines_share_are_compared_once(tmp_path):
    made = Made(
        storages=("local",), engines=("root",), workloads=("ten columns",), n_runs=1, with_trouble=False
    ).results()
    others = [
        replace(one, uuid=f"9{one.uuid[1:]}", case={**one.case, "engine": "root-rntuple"}) for one in made
    ]
    with Store.open(tmp_path / "lab.db") as store:
        for result in made + others:
            store.put(result)
        publish(store, tmp_path / "pages", at=NOW)
    page = (tmp_path / "pages" / "compare" / "storages-by-version.html").read_text()
    names = re.findall(r'id="([^"]+)"', page)
    assert names
    assert len(names) == len(set(names))


def test_what_one_command_measures_on_many_workers_is_compared_as_one(tmp_path):
    made = Made(engines=("root", "arrowroot"), n_runs=1, with_trouble=False).results()
    command, cases = new_run(), {}
    for one in made:
        case = (one.case["storage_name"], one.case["workload_name"])
        one.campaign["run"] = cases.setdefault(case, another_of(command))
    assert len(cases) > N_RUNS
    with Store.open(tmp_path / "lab.db") as store:
        for result in made:
            store.put(result)
        publish(store, tmp_path / "pages", at=NOW)
        _, wanted = compare(store, Filter(), by="engine")
    page = Page(tmp_path / "pages" / "compare" / "storages-by-engine.html")
    tables = [page.records(name) for name in page.tables if name.endswith("-table")]
    assert len(tables[0]) == len(wanted) == len(cases)
    words = Page(tmp_path / "pages" / "campaigns" / "storages.html").words()
    assert f"{len(made)} results, run {command[:8]}" in words
    assert f"the newest run has {len(made)}" in Page(tmp_path / "pages" / "index.html").words()


def test_what_is_stored_while_pages_are_written_is_on_none_of_them(tmp_path, monkeypatch):
    made = Made(storages=("local",), workloads=("ten columns",), with_trouble=False).results()
    later = {one.campaign["run"]: None for one in made}.popitem()[0]
    with Store.open(tmp_path / "lab.db") as store:
        for result in made:
            if result.campaign["run"] != later:
                store.put(result)

        class Late(Snapshot):
            def __init__(self, of, at, since):
                super().__init__(of, at, since)
                for result in made:
                    of.put(result)

        monkeypatch.setattr("arrowroot_lab.pages.publishing.Snapshot", Late)
        publish(store, tmp_path / "pages", at=NOW)
    for path in (tmp_path / "pages").rglob("*.html"):
        for _, href in Page(path).links:
            target = unquote(urlsplit(href).path)
            assert not target or (path.parent / target).is_file(), (path, href)


def test_a_link_to_a_site_stays_a_link(little, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "www").symlink_to(tmp_path / "disk")
    publish(little, tmp_path / "www", at=NOW)
    assert (tmp_path / "www").is_symlink()
    assert (tmp_path / "disk" / "index.html").is_file()


def test_a_site_that_cannot_be_finished_leaves_the_old_one(little, tmp_path, monkeypatch):
    directory = tmp_path / "pages"
    publish(little, directory, at=NOW)
    old = (directory / "index.html").read_bytes()
    n_files = len(list(directory.rglob("*")))
    write = Path.write_text

    def full(self, *arguments, **options):
        if self.suffix == ".html" and self.name == "index.html":
            raise OSError(28, "No space left on device", str(self))
        return write(self, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(LabError, match="No space left on device"):
        publish(little, directory, at=NOW)
    assert (directory / "index.html").read_bytes() == old
    assert len(list(directory.rglob("*"))) == n_files
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


@pytest.mark.parametrize("most", [0, 5000])
def test_older_results_are_left_out_but_the_newest_of_each_series_and_pages_have_a_limit(
    tmp_path, monkeypatch, most
):
    made = Made(
        storages=("local",), engines=("root",), workloads=("ten columns",), with_trouble=False
    )  # each 10 days
    old = replace(made, campaign="old", seed=2, engines=("uproot",), n_runs=2)
    monkeypatch.setattr("arrowroot_lab.pages.snapshot.MAX_RESULT_PAGES", most)
    with Store.open(tmp_path / "lab.db") as store:
        for result in (*made.results(), *old.results()):
            store.put(result)
        assert publish(store, tmp_path / "pages", at=NOW, since="2026-10-11T12").n_results == 2 + 1
        assert publish(store, tmp_path / "pages", at=NOW, since="2026-10-11").n_results == 4 + 1
        paged = store.summaries(Filter(newest_versions=True) if most == 0 else Filter(since="2026-10-11"))
    assert {path.stem for path in (tmp_path / "pages" / "results").iterdir()} == {one.uuid for one in paged}
    for path in (tmp_path / "pages").rglob("*.html"):
        for _, href in Page(path).links:
            target = href.partition("#")[0]
            assert not target or (path.parent / target).is_file(), (path, href)
    series = next(
        path for path in (tmp_path / "pages" / "series").iterdir() if paged[0].series_id in path.name
    )
    assert ("2 of 4 results have a page" in Page(series).words()) == (most == 0)


def test_the_command_says_where_to_begin(little, tmp_path):
    done = run_here("lab", "publish", tmp_path / "pages", "--db", little.place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (tmp_path / "pages" / "index.html").as_uri()
    assert "begin with" in done.stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    done = run_here("lab", "publish", tmp_path / "mine", "--db", little.place)
    assert done.returncode == 2
    assert "not empty" in done.stderr


def test_ctrl_c_leaves_no_half_site(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        for result in Made(n_runs=2).results():
            store.put(result)
    command = [sys.executable, "-m", "arrowroot", "lab", "publish", "pages", "--db", "lab.db"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: process.poll() is not None or list(tmp_path.glob(".pages.new-*/results/*.html")))
    if process.poll() is None:
        os.kill(process.pid, signal.SIGINT)
    _, told = process.communicate()
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith("lab.db")}
    if process.returncode == 130:
        assert left == set()
        assert "interrupted" in told
    else:  # it was faster than the signal
        assert process.returncode == 0
        assert left == {"pages"}


def test_pages_are_readable_by_all_whom_the_umask_lets(little, tmp_path):
    shutil.rmtree(tmp_path / "pages", ignore_errors=True)
    publish(little, tmp_path / "pages", at=NOW)
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "pages").stat().st_mode & 0o777 == 0o777 & ~mask
