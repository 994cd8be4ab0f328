"""The newest commit of a branch, wherever the repository is, and its sources where it can be built."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.campaign.datasets import cache_directory
from arrowroot_lab.campaign.git import git, is_place
from arrowroot_lab.canonical import key_of
from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.location import Location

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A URL up to its host.
_HOST = re.compile(r"[\w+.-]+://[^/]*")


@dataclass(frozen=True)
class Branch:
    """A branch of a repository, which git reads from a path or a URL."""

    repository: Location
    #: None: what HEAD of the repository names.
    name: str | None = None

    def newest(self) -> str:
        """Return the commit. Raises: LabError if the repository cannot be read, or has no such branch."""
        reference = f"refs/heads/{self.name}" if self.name else "HEAD"
        said = git("ls-remote", "--", self.repository, reference, place=self.repository)
        for line in said.splitlines():
            commit, _, name = line.partition("\t")
            if name == reference:
                return commit
        raise LabError(f"{self.repository} has no {f'branch {self.name!r}' if self.name else 'commit'}")

    def fetched(self) -> Path:
        """Return a repository here that has the newest commit. Raises: LabError if it cannot be fetched."""
        here = Path(self.repository.whole())
        if not here.is_dir():
            here = cache_directory() / "repositories" / key_of(self.repository)
            here.mkdir(parents=True, exist_ok=True)
            git("init", "--quiet", "--bare", "--", str(here))
            git(
                "-C",
                str(here),
                "fetch",
                "--quiet",
                "--",
                self.repository,
                f"+{self.name or 'HEAD'}:refs/heads/watched",
                place=self.repository,
            )
        return here


def has_paths(repository: Path, commit: str, paths: Sequence[str]) -> bool:
    """True if all of the paths are in a commit."""
    try:
        for path in paths:
            git("-C", str(repository), "cat-file", "-e", f"{commit}:{path}")
    except LabError:
        return False
    return True


def branch_of(text: str) -> Branch:
    """Return the branch of ``REPO`` or ``REPO:BRANCH``. Raises: RequestError if it is none."""
    repository, separator, name = text.rpartition(":")
    # The colon of `https://host` names no branch, nor does that of a port: `ssh://host:22/repository`.
    is_port = _HOST.fullmatch(repository) is not None and name[:1].isdecimal()
    if not (separator and is_place(repository)) or Path(text).is_dir() or name.startswith("/") or is_port:
        repository, name = text, ""
    if not repository or repository.startswith("-") or name.startswith("-"):
        raise RequestError(f"--on-commit {text}: expected REPO or REPO:BRANCH, as .:main")
    return Branch(Location(repository), name or None)
