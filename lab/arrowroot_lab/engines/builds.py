"""Environments of other versions: commits of arrowroot, versions of ROOT and uproot; each is made once, and kept.

An environment is whole when its ``made.json`` is there. What was begun by somebody who was killed is made anew.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.campaign.datasets import cache_directory, end_group, locked, size_of
from arrowroot_lab.canonical import key_of
from arrowroot_lab.errors import SkippedError

from .catalogue import engine_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arrowroot_lab.campaign.model import EngineChoice

#: A commit is built in some minutes on two cores; what takes longer waits for something that does not come.
TIMEOUT_S = 3600.0
#: What is installed for an engine of a family: of "{}" the version. ROOT on PyPI has pre-releases only.
_PACKAGES = {
    "root": ["--pre", "ROOT=={}", "numpy"],
    "uproot": ["uproot=={}", "lz4", "zstandard", "fsspec", "fsspec-xrootd", "xrootd", "aiohttp", "requests"],
}
#: Of a line that a program said so many characters are told.
_SAID_CHARACTERS = 400
_MADE = "made.json"
_SOURCES = ("Cargo.toml", "python/arrowroot")


@dataclass(frozen=True)
class Environment:
    """A Python with one version of one engine."""

    #: Its name in the cache; empty: the environment of this process.
    name: str
    python: Path
    #: Of what was asked for: the commit, or the package.
    versions: dict[str, str]
    n_bytes: int = 0


def environment(
    choice: EngineChoice, *, checkout: Path | None = None, tell: Callable[[str], None] = lambda _: None
) -> Environment:
    """Return the environment of an engine: this process's own for one without a version; else made, unless it is there.

    Of several processes one makes it, and the others wait.

    checkout: the repository of commits; None: the one that the current directory or this package is in. tell: is told
    what takes minutes.

    Raises: SkippedError if there is no such version, or if it cannot be built or installed.
    """
    if choice.version is None:
        return Environment("", Path(sys.executable), {})
    family = engine_of(choice).family
    if family == "arrowroot":
        repository = checkout or find_checkout()
        commit = _commit(repository, choice.version)
        return _kept(
            f"arrowroot-{commit[:12]}",
            {"arrowroot": commit},
            lambda python: _build(repository, commit, python),
            lambda: tell(f"building arrowroot {choice.version} ({commit[:12]}): some minutes, once"),
        )
    if family not in _PACKAGES:
        raise SkippedError(f"{choice.name} has no versions that could be installed: leave them out")
    packages = [package.format(choice.version) for package in _PACKAGES[family]]
    return _kept(
        f"{family}-{choice.version}".replace("/", "-"),
        {family: choice.version},
        lambda python: _install(python, *packages),
        lambda: tell(f"installing {family} {choice.version}: once"),
    )


def python_of(choice: EngineChoice) -> Path:
    """Return the Python of an engine's environment, and say on stderr what takes minutes; raises as `environment`."""
    return environment(choice, tell=_say).python


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def directory() -> Path:
    """Return where environments are kept."""
    return cache_directory() / "environments"


def kept() -> list[Environment]:
    """Return all environments that are there, with their sizes."""
    found = (_read(path.parent) for path in sorted(directory().glob(f"*/{_MADE}")))
    return [environment for environment in found if environment is not None]


def find_checkout() -> Path:
    """Return the checkout of arrowroot that the current directory, or else this file, is in.

    Raises: SkippedError if there is none.
    """
    for start in (Path.cwd() / "here", Path(__file__).resolve()):
        for place in start.parents:
            if (place / ".git").exists() and all((place / source).exists() for source in _SOURCES):
                return place
    raise SkippedError("commits of arrowroot are built from its repository: run this in a checkout")


def _kept(
    name: str, versions: dict[str, str], make: Callable[[Path], None], tell: Callable[[], None]
) -> Environment:
    """Return an environment, made if need be. Pythons of another version have their own."""
    name = f"{name}-{key_of([sys.version_info[:2], sys.executable])[:6]}"
    place = directory() / name
    with locked(directory() / f"{name}.lock"):
        if (found := _read(place)) is not None:
            return found
        tell()
        shutil.rmtree(place, ignore_errors=True)
        try:
            _run([sys.executable, "-m", "venv", str(place)], "making a virtual environment")
            python = place / "bin" / "python"
            make(python)
            made = Environment(name, python, versions, size_of(place))
            text = json.dumps({**asdict(made), "python": str(python)})
            unfinished = place / f"{_MADE}.new"
            unfinished.write_text(text)
            unfinished.replace(place / _MADE)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
    return made


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


def _build(repository: Path, commit: str, python: Path) -> None:
    """Build a commit from its archive: a work tree would leave its mark in the repository if this is killed.

    Builds share what they compile of other people's crates, and take turns at it.
    """
    with (
        locked(directory() / "building.lock"),
        tempfile.TemporaryDirectory(prefix="archive-", dir=directory()) as archives,
    ):
        archive = Path(archives) / "commit.tar"
        _run(
            ["git", "-C", str(repository), "archive", f"--output={archive}", commit],
            f"git archive {commit[:12]}",
        )
        # Always the same path: else the crates of each commit would stay among what was compiled.
        source = directory() / "source"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        try:
            # Dates of today (-m): cargo would take the files of an older commit for those that it has compiled.
            _run(["tar", "-x", "-m", "-f", str(archive), "-C", str(source)], "unpacking")
            toolchain = {
                "CARGO_TARGET_DIR": str(directory() / "target"),
                "PATH": os.pathsep.join(
                    (os.environ.get("PATH", os.defpath), str(Path.home() / ".cargo" / "bin"))
                ),
                "RUSTUP_TOOLCHAIN": os.environ.get("RUSTUP_TOOLCHAIN", "stable"),
                "PYO3_PYTHON": str(python),
            }
            _install(python, str(source), variables=toolchain)
        finally:
            shutil.rmtree(source, ignore_errors=True)


def _install(python: Path, *packages: str, variables: Mapping[str, str] | None = None) -> None:
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    _run([*pip, *packages], f"pip install {' '.join(packages)}", variables or {})


def _run(command: list[str], name: str, variables: Mapping[str, str] | None = None) -> None:
    """Run a program, and end it with all that it started if it takes too long, or if this process is interrupted."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env={**environment, **(variables or {})}, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + TIMEOUT_S
        try:
            while process.poll() is None and time.monotonic() < deadline:
                try:
                    process.wait(0.5)
                except subprocess.TimeoutExpired:
                    continue
            has_ended = process.returncode is not None
        finally:
            end_group(process)
        if not has_ended:
            raise SkippedError(f"{name}: not done after {TIMEOUT_S:g} s")
        if process.returncode:
            output.seek(0)
            lines = [
                line.strip() for line in output.read().decode(errors="replace").splitlines() if line.strip()
            ]
            told = next(
                (line for line in lines if line.startswith(("ERROR:", "error"))), (lines or ["no word"])[-1]
            )
            # pip lists all versions that there are: the newest ones come last.
            told = told if len(told) <= _SAID_CHARACTERS else f"{told[:100]} ... {told[-300:]}"
            raise SkippedError(f"{name} ended with {process.returncode}: {told}")
