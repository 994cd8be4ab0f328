"""Campaigns from version control, ``REPO[@BRANCH]:campaigns/x.toml``: what a commit says, with the files beside it.

All files of the commit are written to the cache, once. They are what the commit has, whatever attributes, filters and
hooks say, and a link that leads out of them is refused.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from arrowroot_lab.canonical import key_of
from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.location import Location

from .datasets import cache_directory, locked
from .git import git, git_bytes, is_place
from .site import here, usual_path

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A commit has so many files and bytes at most.
MAX_FILES, MAX_BYTES = 100_000, 1 << 30
#: A branch, a tag or a commit, as no option and no refspec is called.
_NAME = re.compile(r"(?![-./])(?!.*\.\.)[\w./+-]{1,200}")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True)
class Origin:
    """A campaign's file in a repository, which git reads from a path or a URL."""

    repository: Location
    #: Of the file in the repository.
    path: str
    #: A branch, a tag or a commit; None: what HEAD of the repository names.
    name: str | None = None

    def __str__(self) -> str:
        return self._with(self.repository)

    def whole(self) -> str:
        """Return it as it is given, with its secrets."""
        return self._with(self.repository.whole())

    def _with(self, repository: str) -> str:
        return f"{repository}@{self.name}:{self.path}" if self.name else f"{repository}:{self.path}"

    def fetched(self) -> tuple[Path, Origin]:
        """Return the campaign's file among those of its commit, and this with the commit as its name.

        Raises: RequestError if the site does not trust the repository, or the commit has no such file; LabError if it
            cannot be read, if it has no such commit, or if the commit has what is not written here.
        """
        _check_trust(self.repository)
        place = cache_directory() / "repositories" / f"{key_of(str(self.repository))}-campaigns"
        with locked(place.with_suffix(".lock")):
            commit = self._commit(place)
            files = cache_directory() / "campaigns" / f"{place.name}-{commit}"
            with locked(files.with_suffix(".lock")):
                if not files.is_dir():
                    _write(place, commit, files)
        file = files / self.path
        if not file.is_file():
            raise RequestError(f"{self}: commit {commit[:12]} has no file {self.path!r}")
        return file, replace(self, name=commit)

    def _commit(self, place: Path) -> str:
        """The commit, which the repository in the cache has then."""
        if not place.is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
            git("init", "--quiet", "--bare", "--template=", "--", str(place))
        if self.name and _COMMIT.fullmatch(self.name):
            try:
                return git(
                    "-C", str(place), "rev-parse", "--verify", "--quiet", f"{self.name}^{{commit}}"
                ).strip()
            except LabError:
                pass  # it is fetched
        options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-gc", "--depth=1", "--")
        wanted = f"+{self.name or 'HEAD'}:refs/heads/fetched"
        git("-C", str(place), "fetch", *options, self.repository, wanted, place=self.repository)
        return git("-C", str(place), "rev-parse", "--verify", "refs/heads/fetched^{commit}").strip()


def given(text: str) -> Path | Origin:
    """Return what names a campaign: a file of this machine, or one in a repository.

    Raises: RequestError for a repository, a branch or a path that could be no such thing.
    """
    left, separator, path = text.rpartition(":")
    if os.path.lexists(text) or not separator or path.startswith("/") or not is_place(_split(left)[0]):
        return Path(text)
    repository, name = _split(left)
    parts = PurePosixPath(path).parts
    if repository.startswith("-") or not path.endswith(".toml") or ".." in parts:
        raise RequestError(
            f"{Location(text)}: expected REPO[@BRANCH]:PATH of a campaign, as .@main:campaigns/x.toml"
        )
    if name is not None and not _NAME.fullmatch(name):
        raise RequestError(f"{Location(text)}: {name!r} is no branch, tag or commit")
    if Path(repository).is_dir():
        repository = str(Path(repository).resolve())
    return Origin(Location(repository), path, name)


def _split(left: str) -> tuple[str, str | None]:
    """The repository and the name of ``REPO[@BRANCH]``; a user of a host stands before an ``@``, too."""
    begin = 0
    if "://" in left:
        begin = left.find("/", left.index("://") + 3) + 1 or len(left)
    elif not Path(left.partition(":")[0]).is_dir():
        begin = left.find(":") + 1
    at = left.rfind("@", begin)
    if at < 0 or Path(left).is_dir():
        return left, None
    return left[:at], left[at + 1 :]


def _check_trust(repository: Location) -> None:
    site = here()
    if _known(repository.whole()) in map(_known, site.trusted):
        return
    listed = ", ".join(f'"{one}"' for one in (*site.trusted, _known(repository.whole())))
    raise RequestError(
        f"{repository} is not trusted here, and campaigns run commands: if whoever writes there may run theirs as you, "
        f"{site.path or usual_path()} needs the line\ntrusted = [{listed}]"
    )


def _known(repository: str) -> str:
    """A repository as lists of those that are trusted have it: without a user, a password, or a slash at its end."""
    if "://" in repository:
        url = urlsplit(repository)
        return url._replace(netloc=url.netloc.rpartition("@")[2], path=url.path.rstrip("/")).geturl()
    place = Path(repository).expanduser()
    return str(place.resolve()) if place.is_dir() else repository


class _Entry(NamedTuple):
    mode: str
    blob: str
    path: str


def _write(place: Path, commit: str, files: Path) -> None:
    """Write all files of a commit; they appear as a whole, or not at all."""
    entries = list(_entries(place, commit))
    making = Path(tempfile.mkdtemp(prefix="making-", dir=files.parent))
    try:
        for entry, content in zip(entries, _blobs(place, entries), strict=True):
            file = making / entry.path
            file.parent.mkdir(parents=True, exist_ok=True)
            if entry.mode == "120000":
                file.symlink_to(os.fsdecode(content))
            else:
                file.write_bytes(content)
                file.chmod(0o755 if entry.mode == "100755" else 0o644)
        for entry in entries:  # a link may lead on to another one
            if entry.mode == "120000" and not (making / entry.path).resolve().is_relative_to(
                making.resolve()
            ):
                raise LabError(f"commit {commit[:12]}: {entry.path!r} is a link that leaves the repository")
        making.chmod(0o755)
        making.rename(files)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _entries(place: Path, commit: str) -> Iterator[_Entry]:
    """The files and links of a commit, links last: nothing is written through one. Submodules are left out."""
    found, n_bytes = list[_Entry](), 0
    for line in git("-C", str(place), "ls-tree", "-r", "-z", "--long", commit).split("\0")[:-1]:
        about, path = line.split("\t", 1)
        mode, kind, blob, size = about.split()
        if kind != "blob":
            continue
        parts = path.split("/")
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
            raise LabError(f"commit {commit[:12]}: {path!r} is no path of a file")
        found.append(_Entry(mode, blob, path))
        n_bytes += int(size)
    if len(found) > MAX_FILES or n_bytes > MAX_BYTES:
        raise LabError(
            f"commit {commit[:12]} has {len(found):,} files of {n_bytes:,} bytes in all: at most {MAX_FILES:,} of "
            f"{MAX_BYTES:,} are written, as a repository of campaigns has"
        )
    return iter(sorted(found, key=lambda entry: entry.mode == "120000"))


def _blobs(place: Path, entries: list[_Entry]) -> Iterator[bytes]:
    """The contents of the entries, as git keeps them."""
    asked = "".join(f"{entry.blob}\n" for entry in entries).encode()
    told, at = git_bytes("-C", str(place), "cat-file", "--batch", stdin=asked), 0
    for _ in entries:
        end = told.index(b"\n", at)
        size = int(told[at:end].split()[2])
        yield told[end + 1 : end + 1 + size]
        at = end + size + 2
