"""Versions of engines that somebody else has installed, or installs: a prefix, packages of conda, a container.

Which version that is, the program says itself: neither the name of a directory nor a tag says what is in it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.campaign.datasets import cache_directory
from arrowroot_lab.errors import SkippedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Programs that start containers, and those that make environments of conda's packages, the quickest first.
CONTAINERS = ("apptainer", "docker", "podman")
CONDAS = ("micromamba", "mamba", "conda")
_KIND = re.compile(rf"({'|'.join((*CONTAINERS, 'conda'))}):(.+)")
#: Directories of a machine that a container has of its own.
_OF_SYSTEMS = {
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "lost+found", "opt", "proc", "root", "run", "sbin",
    "sys", "usr", "var",
}  # fmt: skip
#: Variables that a program in a container gets, too, where they are set, as those with its engine's name in front.
_VARIABLES = re.compile(r"(AWS|BEARER_TOKEN|KRB5|TMPDIR$|X509|XRD|Xrd)\w*")


def kind_of(version: str) -> tuple[str, str] | None:
    """Return "prefix", "conda" or a program of containers, with what it is told; None: it is a version, or a commit."""
    if version.startswith(("/", "~/")):
        return "prefix", version
    found = _KIND.fullmatch(version)
    return (found[1], found[2]) if found else None


def prefix_words(prefix: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words that let a program find what is installed below a prefix.

    variables: of the engine, with ``{prefix}`` in them.
    """
    found = {name: text.replace("{prefix}", str(prefix)) for name, text in variables.items()}
    found["PATH"] = f"{prefix / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return ("env", *(f"{name}={text}" for name, text in found.items()))


def python_of(prefix: Path) -> Path:
    """Return the Python of a prefix, else this one. Raises: SkippedError if there is no such directory."""
    if not prefix.is_dir():
        raise SkippedError(f"there is no directory {prefix}")
    pythons = (prefix / "bin" / name for name in ("python3", "python"))
    return next((path for path in pythons if path.exists()), Path(sys.executable))


def conda_words(packages: str, place: Path) -> list[str]:
    """Return the command that installs packages, ``NAME=6.32.2,numpy``, and Python, into a prefix.

    Raises: SkippedError if no program of conda is here.
    """
    options = (
        "create",
        "--yes",
        "--quiet",
        "--prefix",
        str(place),
        "--channel",
        "conda-forge",
        "--override-channels",
    )
    return [program(CONDAS, f"conda:{packages}"), *options, *packages.split(","), "python"]


def container_words(kind: str, image: str, programs: Sequence[Path], family: str) -> tuple[str, ...]:
    """Return the words that start a program in a container, which sees the files and variables of this machine.

    programs: files that it needs besides, of the engine; family: the engine's. Raises: SkippedError if the program is
    not here.
    """
    starts = program((kind,), f"{kind}:{image}")
    top = (path for path in sorted(Path("/").iterdir()) if path.is_dir() and path.name not in _OF_SYSTEMS)
    own = (*(one.parent for one in programs), cache_directory(), Path.cwd(), Path(tempfile.gettempdir()))
    seen = dict.fromkeys(map(str, (*top, *own)))
    if kind == "apptainer":
        return (starts, "--quiet", "exec", *(f"--bind={path}" for path in seen), image)
    named = sorted({*os.environ, "TMPDIR"})
    names = [name for name in named if _VARIABLES.fullmatch(name) or name.startswith(f"{family.upper()}_")]
    told = (*(f"--volume={path}:{path}" for path in seen), *(f"--env={name}" for name in names))
    user = ("--userns=keep-id",) if kind == "podman" else (f"--user={os.getuid()}:{os.getgid()}",)
    return (starts, "run", "--rm", "--interactive", "--network=host", *user, *told, image)


def program(names: Sequence[str], wanted_by: str) -> str:
    """Return the first of some programs that is on the PATH. Raises: SkippedError if none is."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise SkippedError(f"{wanted_by}: {' or '.join(names)} is not installed")
    return found
