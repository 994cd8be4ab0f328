"""Environments of other versions of engines: commits, and packages; each is made once, and kept.

An environment is whole when its ``made.json`` is there. What was begun by somebody who was killed is made anew.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.campaign.children import run
from arrowroot_lab.campaign.datasets import cache_directory, locked, size_of
from arrowroot_lab.campaign.providers import filled, registered
from arrowroot_lab.canonical import key_of
from arrowroot_lab.errors import LabError, SkippedError

from . import elsewhere
from .catalogue import engine_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arrowroot_lab.campaign.model import EngineChoice
    from arrowroot_lab.campaign.providers import Commits, Engine, Family

#: A commit is built in some minutes on two cores; what takes longer waits for something that does not come.
TIMEOUT_S = 3600.0
_MADE = "made.json"
#: What builds share, among the environments: what they have compiled, and the sources of the one that is built.
_SHARED, _SOURCE = "shared", "source"


@dataclass(frozen=True)
class Environment:
    """A Python with one version of one engine."""

    #: Its name in the cache; empty: the environment of this process, or one that somebody else has made.
    name: str
    python: Path
    #: The version that was asked for: the commit, or the package's; empty: its program says it.
    versions: dict[str, str]
    n_bytes: int = 0
    #: Words before a command that starts in it.
    before: tuple[str, ...] = ()


def environment(
    choice: EngineChoice, *, checkout: Path | None = None, tell: Callable[[str], None] = lambda _: None
) -> Environment:
    """Return the environment of an engine: this process's own for one without a version; else made, unless it is there.

    A prefix and a container are there, or not.

    Of several processes one makes it, and the others wait.

    checkout: the repository of commits; None: the one that the current directory or this package is in. tell: is told
    what takes minutes.

    Raises: SkippedError if there is no such version, or if it cannot be built or installed.
    """
    wanted = _wanted(choice, checkout)
    if isinstance(wanted, Environment):
        return wanted
    made = _kept(wanted, lambda: tell(f"{wanted.title}: once, it may take minutes"))
    return replace(made, before=wanted.before)


def find(choice: EngineChoice, *, checkout: Path | None = None) -> Environment | None:
    """Return the environment of an engine, None if it is not made yet. Raises: SkippedError as `environment` does."""
    wanted = _wanted(choice, checkout)
    if isinstance(wanted, Environment):
        return wanted
    made = _read(directory() / wanted.name)
    return made and replace(made, before=wanted.before)


@dataclass(frozen=True)
class _Wanted:
    """An environment that is asked for, and how it is made."""

    name: str
    title: str
    versions: dict[str, str]
    #: Makes it in a directory, with ``bin/python``.
    make: Callable[[Path], None]
    before: tuple[str, ...] = ()


def _wanted(choice: EngineChoice, checkout: Path | None) -> _Wanted | Environment:
    """The environment of an engine, or how it is made. Each version of Python has its own."""
    if choice.version is None:
        return Environment("", Path(sys.executable), {})
    engine = engine_of(choice)
    family = engine.family
    if (elsewhere_ := elsewhere.kind_of(choice.version)) is not None:
        return _elsewhere(engine, *elsewhere_)
    python = key_of([sys.version_info[:2], sys.executable])[:6]
    if (commits := family.commits) is not None:
        repository = checkout or find_checkout(family)
        commit = _commit(repository, choice.version)
        return _Wanted(
            f"{family.name}-{commit[:12]}-{python}",
            f"building {family.name} {choice.version} ({commit[:12]})",
            {family.name: commit},
            lambda place: _build(repository, commit, _virtual(place), commits),
        )
    if not family.install:
        raise SkippedError(f"{choice.name} has no versions that could be installed: leave them out")
    packages = filled(family.install, version=choice.version)
    return _Wanted(
        f"{family.name}-{choice.version}-{python}".replace("/", "-"),
        f"installing {family.name} {choice.version}",
        {family.name: choice.version},
        lambda place: _install(_virtual(place), *packages),
    )


def _elsewhere(engine: Engine, kind: str, told: str) -> _Wanted | Environment:
    variables = engine.family.prefix
    if kind == "prefix":
        prefix = Path(told).expanduser()
        words = elsewhere.prefix_words(prefix, variables)
        return Environment("", elsewhere.python_of(prefix), {}, before=words)
    if kind != "conda":
        words = elsewhere.container_words(kind, told, engine.program, engine.family.name)
        return Environment("", Path("python3"), {}, before=words)
    name = f"{engine.family.name}-conda-{key_of(told)[:12]}"
    place = directory() / name
    return _Wanted(
        name,
        f"installing {told} by conda",
        {},
        lambda place: _run(elsewhere.conda_words(told, place), f"conda:{told}"),
        elsewhere.prefix_words(place, variables),
    )


def directory() -> Path:
    """Return where environments are kept."""
    return cache_directory() / "environments"


def kept() -> list[Environment]:
    """Return all environments that are there, with their sizes."""
    found = (_read(path.parent) for path in sorted(directory().glob(f"*/{_MADE}")))
    return [environment for environment in found if environment is not None]


def lock_of(place: Path) -> Path:
    """Return the lock of whoever makes an environment, or uses what builds share."""
    return place.parent / ("building.lock" if place.name in (_SHARED, _SOURCE) else f"{place.name}.lock")


def find_checkout(family: Family) -> Path:
    """Return the checkout of an engine that the current directory, or else its program, is in.

    Raises: SkippedError if there is none.
    """
    sources = family.commits.sources if family.commits else ()
    programs = (path for one in registered().engines.values() if one.family == family for path in one.program)
    for start in (Path.cwd() / "here", *programs):
        for place in start.resolve().parents:
            if (place / ".git").exists() and all((place / source).exists() for source in sources):
                return place
    raise SkippedError(f"commits of {family.name} are built from its repository: run this in a checkout")


def _kept(wanted: _Wanted, tell: Callable[[], None]) -> Environment:
    """Return an environment, made if need be."""
    place = directory() / wanted.name
    with locked(lock_of(place)):
        if (found := _read(place)) is not None:
            return found
        tell()
        shutil.rmtree(place, ignore_errors=True)
        try:
            wanted.make(place)
            made = Environment(wanted.name, place / "bin" / "python", wanted.versions, size_of(place))
            told = {
                "name": made.name,
                "python": str(made.python),
                "versions": made.versions,
                "n_bytes": made.n_bytes,
            }
            text = json.dumps(told)
            unfinished = place / f"{_MADE}.new"
            unfinished.write_text(text)
            unfinished.replace(place / _MADE)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
    return made


def _virtual(place: Path) -> Path:
    """Make a virtual environment, and return its Python.

    The pip of this environment installs into others: a pip of their own would take longer than all else.
    """
    _run([sys.executable, "-m", "venv", "--without-pip", str(place)], "making a virtual environment")
    return place / "bin" / "python"


def _read(place: Path) -> Environment | None:
    try:
        told = json.loads((place / _MADE).read_text())
        found = Environment(told["name"], Path(told["python"]), told["versions"], told["n_bytes"])
    except (OSError, ValueError, KeyError):
        return None
    return found if found.python.exists() else None


def _commit(repository: Path, name: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SkippedError(f"{repository} has no commit {name!r} {done.stderr.strip()}".rstrip())
    return done.stdout.strip()


def _build(repository: Path, commit: str, python: Path, how: Commits) -> None:
    """Build a commit from its archive: a work tree would leave its mark in the repository if this is killed.

    Builds share what they compile of other people's sources, and take turns at it.
    """
    with (
        locked(lock_of(directory() / _SHARED)),
        tempfile.TemporaryDirectory(prefix="archive-", dir=directory()) as archives,
    ):
        archive = Path(archives) / "commit.tar"
        _run(
            ["git", "-C", str(repository), "archive", f"--output={archive}", commit],
            f"git archive {commit[:12]}",
        )
        # Always the same path: else what is compiled of each commit would stay among what is shared.
        source = directory() / _SOURCE
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        try:
            # Dates of today (-m): a compiler would take the files of an older commit for those that it has compiled.
            _run(["tar", "-x", "-m", "-f", str(archive), "-C", str(source)], "unpacking")
            places = [os.environ.get("PATH", os.defpath), *(str(Path(one).expanduser()) for one in how.path)]
            own = filled(list(how.variables.values()), python=str(python), shared=str(directory() / _SHARED))
            toolchain = {"PATH": os.pathsep.join(places), **dict(zip(how.variables, own, strict=True))}
            usual = {name: text for name, text in how.defaults.items() if name not in os.environ}
            _install(python, str(source), variables={**usual, **toolchain})
        finally:
            shutil.rmtree(source, ignore_errors=True)


def _install(python: Path, *packages: str, variables: Mapping[str, str] | None = None) -> None:
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]
    _run([*pip, "install", *packages], f"pip install {' '.join(packages)}", variables or {})


def _run(command: list[str], name: str, variables: Mapping[str, str] | None = None) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        run(command, name, timeout_s=TIMEOUT_S, environment={**environment, **(variables or {})})
    except LabError as error:
        raise SkippedError(str(error)) from None
