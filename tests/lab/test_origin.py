"""Campaigns from version control: what a commit says is measured and told, and hostile repositories do nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from arrowroot_lab.campaign.origin import Origin, given
from arrowroot_lab.campaign.read import read
from arrowroot_lab.cli import main
from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.location import Location
from arrowroot_lab.running import sampling
from arrowroot_lab.store import Store
from tests.lab.test_check import git

FAKE = Path(__file__).with_name("fake_runner.py")
CAMPAIGN = """
title = "{title}"
repeats = 2
[dataset.d]
script = "data/make.py"
table = "T"
[storage.here]
kind = "local"
[engine.fake]
command = {command}
[workload.all]
columns = ["x"]
"""
MAKE = """
import sys
import arrowroot, numpy
arrowroot.write(sys.argv[1] + "/n.root:T", {{"x": numpy.arange({n}, {n} + 100)}})
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a campaign, and the file of a site that trusts it."""
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sampling, "disturbed", lambda *_: [])
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "tests of ours"
    (place / "campaigns" / "data").mkdir(parents=True)
    git(place, "init", "--quiet", "--initial-branch", "main")
    committed(place, "one", 10)
    trusting(monkeypatch, tmp_path, str(place))
    return place


def trusting(monkeypatch, directory, *repositories):
    site = directory / "site.toml"
    site.write_text(f'name = "here"\ntrusted = {json.dumps(repositories)}\n')
    monkeypatch.setenv("ARROWROOT_SITE", str(site))


def committed(place, title, n):
    """Commit the campaign with a title, and a dataset of a hundred numbers from one on; return the commit."""
    command = json.dumps([sys.executable, str(FAKE)])
    (place / "campaigns" / "c.toml").write_text(CAMPAIGN.format(title=title, command=command))
    (place / "campaigns" / "data" / "make.py").write_text(MAKE.format(n=n))
    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", title)
    return git(place, "rev-parse", "HEAD")


def results(database):
    with Store.open(database, must_exist=True) as store:
        return [store.result(row.uuid) for row in reversed(store.summaries())]


def test_what_a_commit_says_is_measured_with_the_files_beside_it_and_its_results_tell_it(
    repository, tmp_path, capsys
):
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "--quiet", "-b", "other")
    second = committed(repository, "two", 20)
    (repository / "campaigns" / "c.toml").write_text("in hand, and no campaign")
    (repository / "campaigns" / "data" / "make.py").write_text("raise SystemExit('in hand')")
    database = str(tmp_path / "lab.db")
    for name in ("main", "other", first):
        assert main(["run", f"{repository}@{name}:campaigns/c.toml", "--db", database]) == 0, (
            capsys.readouterr()
        )
    one, two = results(database)
    assert (one.campaign["commit"], two.campaign["commit"]) == (first, second)
    assert one.dataset["values"] != two.dataset["values"]
    for result in (one, two):
        assert not result.campaign["is_dirty"]
        assert (result.campaign["path"], result.campaign["repository"]) == (
            "campaigns/c.toml",
            str(repository),
        )
    assert two.command[2] == f"{repository}@{second}:campaigns/c.toml"
    assert "1 measured before" in capsys.readouterr().out
    # The command of a result repeats it, whatever became of the branch.
    git(repository, "checkout", "--quiet", "--force", "main")
    git(repository, "branch", "--quiet", "-D", "other")
    assert main([*two.command[1:], "--db", database]) == 0
    assert results(database)[-1].campaign["commit"] == second
    # A check measures again by the campaign of the commit, and not by the path in it.
    capsys.readouterr()
    assert main(["check", "--baseline", two.campaign["run"], "--db", database]) == 0
    assert "is not there" not in capsys.readouterr().err


@pytest.mark.long
def test_each_round_of_a_watch_measures_the_newest_commit_of_the_branch(repository, tmp_path, capsys):
    database = str(tmp_path / "lab.db")
    watch = ["watch", f"{repository}@main:campaigns/c.toml", "--once", "--no-confirm", "--db", database]
    commits = []
    for title in ("two", "again", "three"):
        commits.append(committed(repository, title, 10))
        assert main(watch) == 0, capsys.readouterr()
    assert [result.campaign["commit"] for result in results(database)] == commits
    (repository / "campaigns" / "c.toml").write_text("broken")
    git(repository, "commit", "--quiet", "-a", "-m", "broken")
    assert main(watch) == 2
    assert "campaigns/c.toml:1: this is not TOML" in capsys.readouterr().err


def test_a_repository_that_the_site_does_not_trust_is_refused_with_the_line_to_add(
    repository, tmp_path, capsys, monkeypatch
):
    trusting(monkeypatch, tmp_path, "https://host.example/ours.git")
    plan = ["plan", f"{repository}:campaigns/c.toml", "--no-predict", "--db", str(tmp_path / "lab.db")]
    assert main(plan) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path / 'site.toml'} needs the line" in said
    line = next(line for line in said.splitlines() if line.startswith("trusted = "))
    site = tmp_path / "site.toml"
    site.write_text(f'name = "here"\n{line}\n')
    assert main(plan) == 0
    assert main(["plan", "https://host.example/ours.git.evil:c.toml"]) == 2
    assert "is not trusted here" in capsys.readouterr().err


def test_a_file_or_a_commit_that_is_not_there_is_named(repository):
    with pytest.raises(RequestError, match=r"commit \w{12} has no file 'campaigns/d.toml'"):
        read(given(f"{repository}:campaigns/d.toml"))
    with pytest.raises(LabError, match=r"git: .*none"):
        read(given(f"{repository}@none:campaigns/c.toml"))


def blob(repository, content):
    return subprocess.run(
        ["git", "-C", str(repository), "hash-object", "-w", "--stdin"],
        input=content, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


def link(repository, path, target):
    git(repository, "update-index", "--add", "--cacheinfo", f"120000,{blob(repository, target)},{path}")


def test_a_commit_is_written_as_it_is_and_starts_nothing(repository, tmp_path):
    """Attributes, hooks and submodules have no say; links within the commit are links."""
    mark = tmp_path / "mark"
    for hook in ("post-checkout", "post-merge", "reference-transaction", "update"):
        path = repository / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
        path.chmod(0o755)
    git(repository, "config", "core.fsmonitor", f"touch {mark}")
    git(repository, "config", "uploadpack.packObjectsHook", f"touch {mark}")
    (repository / ".gitattributes").write_text("*.txt export-ignore\n*.id export-subst ident\n")
    (repository / "campaigns" / "a.txt").write_text("kept")
    (repository / "campaigns" / "b.id").write_text("$Format:%H$ $Id$\r\n")
    git(repository, "-c", "core.fsmonitor=false", "add", ".")
    link(repository, "campaigns/link.txt", "a.txt")
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit},campaigns/submodule")
    (repository / ".gitmodules").write_text(
        f'[submodule "s"]\npath = campaigns/submodule\nurl = {tmp_path}/no\n'
    )
    git(repository, "-c", "core.fsmonitor=false", "add", ".gitmodules")
    git(repository, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "hostile")
    mark.unlink(missing_ok=True)
    place = read(given(f"{repository}:campaigns/c.toml")).path.parent
    assert (place / "a.txt").read_text() == (place / "link.txt").read_text() == "kept"
    assert (place / "b.id").read_bytes() == b"$Format:%H$ $Id$\r\n"
    assert not (place / "submodule").exists()
    assert not mark.exists()


@pytest.mark.parametrize(
    ("links", "problem"),
    [
        ({"campaigns/a": "/etc/passwd"}, "'campaigns/a' is a link that leaves the repository"),
        ({"campaigns/a": "../../x"}, "leaves"),
        # It is within by its text, and leaves by the other link.
        ({"campaigns/data/up": "../..", "campaigns/a": "data/up/../x"}, "leaves"),
        ({"campaigns/A.toml/../../../a": "x"}, "is no path of a file"),
        ({".GIT/config": "x"}, "is no path of a file"),
    ],
)
def test_links_and_paths_that_leave_the_commit_are_refused_and_nothing_is_left(
    repository, tmp_path, links, problem
):
    for path, target in links.items():
        if ".." in path or path.startswith(".GIT"):
            evil_tree(repository, path.split("/"), blob(repository, target))
        else:
            link(repository, path, target)
            git(repository, "commit", "--quiet", "-m", "hostile")
    with pytest.raises(LabError, match=problem):
        read(given(f"{repository}:campaigns/c.toml"))
    assert [path.suffix for path in (tmp_path / "cache" / "campaigns").iterdir()] == [".lock"]


def evil_tree(repository, parts, of):
    """Commit a tree whose entries git itself would not make."""
    mode = b"100644"
    for part in reversed(parts):
        tree = mode + b" " + part.encode() + b"\0" + bytes.fromhex(of)
        command = ["git", "-C", str(repository), "hash-object", "-t", "tree", "-w", "--stdin", "--literally"]
        of = subprocess.run(command, input=tree, capture_output=True, check=True).stdout.decode().strip()
        mode = b"40000"
    commit = git(repository, "commit-tree", of, "-m", "hostile")
    git(repository, "update-ref", "refs/heads/main", commit)


def test_commands_in_the_place_of_a_repository_are_not_started(repository, tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    for words in (
        f"--upload-pack=touch {mark}",
        f"{repository}@--upload-pack=touch {mark}",
        f"{repository}@-x",
    ):
        with pytest.raises(RequestError):
            read(given(f"{words}:c.toml"))
    evil = f"ext::sh -c touch% {mark} ://"
    trusting(monkeypatch, tmp_path, evil)
    with pytest.raises(LabError, match="transport 'ext' not allowed"):
        read(given(f"{evil}:c.toml"))
    assert not mark.exists()


def test_repositories_branches_and_files_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r@2").mkdir()
    for repository in (
        "https://host/a/b.git",
        "ssh://git@host:22/a/b",
        "git@host:a/b",
        "https://me:pw@host/a/b",
    ):
        assert given(f"{repository}:c/x.toml") == Origin(Location(repository), "c/x.toml")
        for name in ("main", "feature/x", "v6.40-00", "0" * 40):
            assert given(f"{repository}@{name}:x.toml") == Origin(Location(repository), "x.toml", name)
    assert given(".:c/x.toml") == Origin(Location(str(tmp_path)), "c/x.toml")
    assert given(".@main:c/x.toml") == Origin(Location(str(tmp_path)), "c/x.toml", "main")
    assert given("r@2:x.toml") == Origin(Location(str(tmp_path / "r@2")), "x.toml")
    (tmp_path / "a:b.toml").touch()
    for file in ("a:b.toml", "x.toml", "nowhere:x.toml", "https://host/x.toml"):
        assert given(file) == Path(file)
    for wrong in (".:../x.toml", ".:x.py", ".@a..b:x.toml", ".@-b:x.toml"):
        with pytest.raises(RequestError):
            given(wrong)
    assert "pw" not in str(given("https://me:pw@host/a:x.toml"))
    assert given("https://me:pw@host/a:x.toml").whole() == "https://me:pw@host/a:x.toml"
