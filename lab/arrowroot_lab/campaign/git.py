"""git on repositories of others: it asks nobody for a password, and starts nothing that a repository names."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.errors import LabError

if TYPE_CHECKING:
    from arrowroot_lab.location import Location

_TIMEOUT_S = 600
#: No ``ext::``, which is a command, and no remote helpers of others.
_PROTOCOLS = "file:git:http:https:ssh"
#: Options of each call: no hooks, and no submodules.
_OPTIONS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "submodule.recurse=false",
)
#: What a hook of git's that has started this process says of its own repository.
_OF_OTHERS = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
)
#: ``git@host:path``, as git takes it.
_OF_SSH = re.compile(r"[^/:]+@[^/:]+:.+")


def is_place(text: str) -> bool:
    """True if git could read a repository there: a directory of this machine, a URL, ``git@host:path``."""
    return Path(text).is_dir() or "://" in text or _OF_SSH.fullmatch(text) is not None


def git(*arguments: str, place: Location | None = None) -> str:
    """Return what git says.

    place: of the repository, among the arguments. All users see those: git finds the whole one in its environment.

    Raises: LabError with what it says if it fails, or if it takes too long.
    """
    return git_bytes(*arguments, place=place).decode(errors="surrogateescape")


def git_bytes(*arguments: str, place: Location | None = None, stdin: bytes = b"") -> bytes:
    """Return what git says to some input, as `git` does."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_OTHERS}
    environment |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
    }
    if place is not None and place != place.whole():
        n = int(environment.get("GIT_CONFIG_COUNT") or 0)
        environment |= {
            "GIT_CONFIG_COUNT": str(n + 1),
            f"GIT_CONFIG_KEY_{n}": f"url.{place.whole()}.insteadOf",
            f"GIT_CONFIG_VALUE_{n}": str(place),
        }
    command = ["git", *_OPTIONS, *arguments]
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, check=False, env=environment, timeout=_TIMEOUT_S
        )
    except OSError as error:
        raise LabError(f"git cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"git {arguments[0]}: no answer within {_TIMEOUT_S} s") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split()) or f"exit code {done.returncode}"
        raise LabError(f"git: {said[:500]}")
    return done.stdout
