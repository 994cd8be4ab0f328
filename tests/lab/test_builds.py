"""Environments of other versions: real ones, of small packages; whole or not at all, and removed when asked."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from arrowroot_lab.campaign.datasets import cache_directory
from arrowroot_lab.campaign.model import EngineChoice
from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.cli import main
from arrowroot_lab.engines import builds, elsewhere
from arrowroot_lab.errors import SkippedError
from arrowroot_lab.running.subjects import Engines
from tests.lab.running import PATIENCE_S, wait_until

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
#: A build backend that stands in the sources themselves, so that nothing is fetched.
PYPROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """
import time
from pathlib import Path
import wheels
def build_wheel(directory, config_settings=None, metadata_directory=None):
    return wheels.make(Path(directory), "arrowroot", Path("version").read_text().strip())
"""
WHEELS = f"""
import zipfile
def make(directory, name, version):
    path = directory / f"{{name}}-{{version}}-py3-none-any.whl"
    info = f"{{name}}-{{version}}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{{name}}.py", f"__version__ = {{version!r}}")
        archive.writestr(f"{{info}}/METADATA", {METADATA!r}.format(name=name, version=version))
        archive.writestr(f"{{info}}/WHEEL", {WHEEL!r})
        archive.writestr(f"{{info}}/RECORD", "")
    return path.name
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    directory = tmp_path / "cache"
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(directory))
    return directory


@pytest.fixture
def repository(tmp_path):
    """A repository with three commits of a package, and a wheel of another one."""
    path = tmp_path / "repository"
    path.mkdir()
    for name, text in (("pyproject.toml", PYPROJECT), ("backend.py", BACKEND), ("wheels.py", WHEELS)):
        (path / name).write_text(text)

    def git(*arguments):
        names = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(path), *names, *arguments], check=True, capture_output=True)

    git("init", "--quiet")
    for version in ("1.0", "2.0", "3.0"):
        (path / "version").write_text(version)
        git("add", ".")
        git("commit", "--quiet", "-m", version)
    return path


def _version_in(environment, module="arrowroot"):
    program = f"import {module}; print({module}.__version__)"
    done = subprocess.run(
        [str(environment.python), "-c", program], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_each_commit_has_an_environment_of_its_own_and_the_checkout_is_left_alone(repository, cache):
    told = []
    old, new = (
        builds.environment(EngineChoice("arrowroot", name), checkout=repository, tell=told.append)
        for name in ("HEAD~2", "HEAD")
    )
    assert (_version_in(old), _version_in(new)) == ("1.0", "3.0")
    assert [len(one.versions["arrowroot"]) for one in (old, new)] == [40, 40]
    assert old.n_bytes > 10_000
    # Made once: another name of the same commit is the same environment.
    again = builds.environment(
        EngineChoice("arrowroot-perf", "HEAD~1^"), checkout=repository, tell=told.append
    )
    assert again == old
    assert len(told) == 2
    assert builds.find(EngineChoice("arrowroot", "HEAD~1"), checkout=repository) is None
    status = subprocess.run(
        ["git", "-C", str(repository), "status", "--porcelain"], check=True, capture_output=True, text=True
    )
    assert status.stdout == ""
    assert not (repository / ".git" / "worktrees").exists()
    assert {path.name for path in (cache / "environments").iterdir() if path.is_dir()} == {old.name, new.name}


def test_what_cannot_be_built_or_is_not_there_is_a_reason_to_skip(repository, cache):
    with pytest.raises(SkippedError, match="has no commit 'nonsense'"):
        builds.environment(EngineChoice("arrowroot", "nonsense"), checkout=repository)
    (repository / "backend.py").write_text(
        "def build_wheel(*_, **__):\n    raise SystemExit('error: it does not compile')\n"
    )
    subprocess.run(
        [
            "git",
            "-C",
            str(repository),
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-qam",
            "broken",
        ],
        check=True,
    )
    with pytest.raises(SkippedError, match="error: it does not compile"):
        builds.environment(EngineChoice("arrowroot", "HEAD"), checkout=repository)
    assert [path for path in (cache / "environments").iterdir() if path.is_dir()] == []
    with pytest.raises(SkippedError, match="program has no versions"):
        builds.environment(EngineChoice("program", "1"))


def test_without_a_version_it_is_the_environment_of_this_process(cache):
    assert str(builds.environment(EngineChoice("uproot")).python) == sys.executable
    assert not cache.exists()


#: A runner that tells what it finds, and where it runs.
RUNNER = """
import json, sys
import engine_of_tests
versions = {"Engine": engine_of_tests.version(), "python": sys.executable}
print(json.dumps({"name": "engine", "versions": versions, "can": ["read"]}))
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Ask an engine with a version of it what it is, as a run does."""
    (tmp_path / "runner.py").write_text(RUNNER)
    own = registered().engines["uproot"]
    family = replace(own.family, prefix={"PYTHONPATH": "{prefix}/lib"})
    mine = replace(
        own, family=family, words=("{python}", str(tmp_path / "runner.py")), program=(tmp_path / "runner.py",)
    )
    monkeypatch.setitem(registered().engines, "uproot", mine)
    return lambda version: Engines(lambda *_: None, tmp_path).versions(EngineChoice("uproot", version))


def installed_below(prefix, version):
    """Install the engine of tests below a prefix: its program tells the version, and not the directory."""
    for name in ("bin", "lib"):
        (prefix / name).mkdir(parents=True)
    (prefix / "bin" / "engine-config").write_text(f"#!/bin/sh\necho {version}\n")
    (prefix / "bin" / "engine-config").chmod(0o755)
    (prefix / "lib" / "engine_of_tests.py").write_text(
        "import subprocess\ndef version():\n    return subprocess.check_output(['engine-config'], text=True).strip()\n"
    )
    return prefix


def program(directory, name, script):
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


def test_a_prefix_is_a_version_that_its_own_program_tells(told, tmp_path, cache):
    old = installed_below(tmp_path / "root-master", "6.41.01+0123456789ab")
    new = installed_below(tmp_path / "root-6.40", "6.41.01+ba9876543210")
    assert told(str(old)) == {"Engine": "6.41.01+0123456789ab", "python": sys.executable}
    assert told(str(new))["Engine"] == "6.41.01+ba9876543210"
    # A Python of its own is that of the engine.
    (old / "bin" / "python3").symlink_to(sys.executable)
    assert told(str(old))["python"] == str(old / "bin" / "python3")
    with pytest.raises(SkippedError, match="there is no directory /opt/nowhere"):
        told("/opt/nowhere")
    assert not cache.exists()


def test_packages_of_conda_are_installed_once_and_a_missing_conda_is_named(
    told, tmp_path, monkeypatch, cache
):
    with pytest.raises(SkippedError, match="conda:engine=6: micromamba or mamba or conda is not installed"):
        told("conda:engine=6")
    installed = installed_below(tmp_path / "channel", "6.32.02")
    log = tmp_path / "log"
    # conda create --yes --quiet --prefix PLACE ...
    made = f'echo "$@" >> {log}; cp -r {installed} "$5"; ln -s {sys.executable} "$5/bin/python"'
    program(tmp_path / "path", "conda", made)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:{os.environ['PATH']}")
    for _ in range(2):
        versions = told("conda:engine=6.32,numpy")
        assert versions["Engine"] == "6.32.02"
        assert versions["python"].startswith(str(cache / "environments"))
    assert [line.split()[5:] for line in log.read_text().splitlines()] == [
        ["--channel", "conda-forge", "--override-channels", "engine=6.32", "numpy", "python"]
    ]


@pytest.mark.parametrize("kind", elsewhere.CONTAINERS)
def test_a_container_gets_the_files_and_variables_of_this_machine_and_a_missing_program_is_named(
    told, tmp_path, monkeypatch, kind
):
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path / "path"))
        with pytest.raises(SkippedError, match=f"{kind}:org/image:6.36: {kind} is not installed"):
            told(f"{kind}:org/image:6.36")
    inside = installed_below(tmp_path / "image", "6.36.00")
    # All that stands before the image is for the program; what follows it runs there.
    script = f'while [ "$1" != org/image:6.36 ]; do echo "$1" >> {tmp_path}/log; shift; done; shift\n'
    found = f"PYTHONPATH={inside}/lib PATH={inside}/bin:{Path(sys.executable).parent}:$PATH"
    program(tmp_path / "path", kind, f'{script}exec env {found} "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:{os.environ['PATH']}")
    monkeypatch.setenv("AWS_REGION", "r")
    assert told(f"{kind}:org/image:6.36")["Engine"] == "6.36.00"
    options = (tmp_path / "log").read_text().splitlines()
    bound = {
        option.partition("=")[2].partition(":")[0]
        for option in options
        if option.startswith(("--bind", "--volume"))
    }
    assert {str(tmp_path), str(Path.cwd()), "/tmp", str(cache_directory())} <= bound  # noqa: S108
    assert "/usr" not in bound
    assert ("--env=AWS_REGION" in options) is (kind != "apptainer")


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """An index of one package, in two versions."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    made: dict = {}
    exec(WHEELS, made)  # noqa: S102 - it is ours
    for version in ("5.1", "5.2"):
        made["make"](shelf, "uproot", version)
    assert zipfile.is_zipfile(shelf / "uproot-5.1-py3-none-any.whl")
    wanted = ("--no-index", f"--find-links={shelf}", "uproot=={version}")
    own = registered().engines["uproot"]
    from_shelf = replace(own, family=replace(own.family, install=wanted))
    monkeypatch.setitem(registered().engines, "uproot", from_shelf)
    return from_shelf


def test_several_processes_make_one_and_a_killed_one_leaves_none(packages, cache):
    program = (
        "import pickle, sys; from arrowroot_lab.engines import builds; "
        "from arrowroot_lab.campaign.model import EngineChoice; "
        "from arrowroot_lab.campaign.providers import registered; "
        "registered().engines['uproot'] = pickle.loads(bytes.fromhex(sys.argv[1])); "
        "print(builds.environment(EngineChoice('uproot', '5.2'), tell=print).python)"
    )

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", program, pickle.dumps(packages).hex()], stdout=subprocess.PIPE, text=True
        )

    killed = start()
    wait_until(lambda: list((cache / "environments").glob("uproot-*/bin")), killed)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert builds.find(EngineChoice("uproot", "5.2")) is None
    said = [maker.communicate(timeout=PATIENCE_S)[0].splitlines() for maker in [start(), start()]]
    assert sorted(len(lines) for lines in said) == [1, 2]
    assert said[0][-1] == said[1][-1]
    made = builds.find(EngineChoice("uproot", "5.2"))
    assert made is not None
    assert _version_in(made, "uproot") == "5.2"


@pytest.mark.usefixtures("packages")
def test_versions_are_installed_and_the_command_lists_and_removes_them(cache, capsys):
    made = builds.environment(EngineChoice("uproot", "5.1"))
    assert _version_in(made, "uproot") == "5.1"
    assert made.versions == {"uproot": "5.1"}
    assert builds.find(EngineChoice("uproot", "5.1")) == made
    with pytest.raises(SkippedError, match=r"uproot==9.*(No matching|5\.1, 5\.2)"):
        builds.environment(EngineChoice("uproot", "9"))
    (cache / "datasets" / "d").mkdir(parents=True)
    (cache / "datasets" / "d" / "x.root").write_bytes(bytes(100_000))
    assert main(["cache"]) == 0
    said = capsys.readouterr().out
    assert made.name in said
    assert "102 kB" in said
    assert main(["cache", "--remove", "environments", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["freed_bytes"] > 10_000
    assert [one["kind"] for one in told["kept"]] == ["datasets"]
    assert builds.find(EngineChoice("uproot", "5.1")) is None
    assert main(["cache", "--remove", "all"]) == 0
    assert "removed 102 kB" in capsys.readouterr().out
    assert main(["cache"]) == 0
