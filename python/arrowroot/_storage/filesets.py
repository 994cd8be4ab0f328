"""Data sets: samples of files as coffea and others write them down, and lists of files in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._errors import InvalidRequestError, NoSuchFileError, StorageError
from arrowroot._render import shown
from arrowroot._storage.url import as_location, each, expand, refuse_open, split_url

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from arrowroot._storage.url import Location

    #: Names of files: paths and URLs, or trees, or what is said of each file, by these, or samples by their names.
    Files: TypeAlias = "Location | Iterable[Location] | Mapping[str, Any]"

#: The mark before the name of a file that lists others, one a line.
LIST = "@"
_MAX_LIST_BYTES = 64_000_000
#: Keys of what coffea's preprocessed sets say of a file: its tree, ranges of entries, and their number.
_TREE, _STEPS, _N_ENTRIES = "object_path", "steps", "num_entries"
_FILES, _METADATA = "files", "metadata"
#: The form of a sample, for messages.
_FORM = '{"sample": {"files": ["a.root"], "metadata": {}}}'


class Fileset(NamedTuple):
    """Files with their trees (None: not known yet), the sample of each ("": none), and what is said of the samples."""

    files: list[tuple[str, str | None]]
    samples: list[str]
    metadata: dict[str, Mapping[str, Any]]
    #: The entries that coffea's sets say files to have, by where these are.
    n_entries: dict[str, int]

    def check_whole(self, location: str, n_entries: int, where: str) -> None:
        """Raise InvalidRequestError if a tree has other entries than what is said of its file."""
        said = self.n_entries.get(location, n_entries)
        if said != n_entries:
            raise InvalidRequestError(
                f"{where}: has {n_entries:,} entries, and its {_STEPS} end at {said:,}: they are a part of its "
                "entries, or of an older file: give entries=, or read all of them, without what is said of the file"
            )


def fileset(paths: Files, tree: str | None, *, keeps_globs: bool = False) -> Fileset:
    """Return the files of places, globs, lists ("@files.txt", "@samples.json") and samples, in the order given.

    keeps_globs: one that matches nothing stays, a file that is not there.

    Raises: what ``expand`` raises; NoSuchFileError or StorageError for a list that cannot be read.
    """
    refuse_open(paths)
    if isinstance(paths, str) and is_list(paths):
        name = paths
        paths, own = _listed(name.removeprefix(LIST))
        if None not in (own, tree) and own != tree:
            raise InvalidRequestError(f"{name}: which tree, {own!r} or {tree!r}?")
        tree = tree or own
    n_entries: dict[str, int] = {}
    if not isinstance(paths, Mapping) or all(isinstance(value, str) for value in paths.values()):
        files = _files_of(paths, tree, n_entries, keeps_globs=keeps_globs)
        return Fileset(files, [""] * len(files), {}, n_entries)
    every: list[tuple[str, str | None]] = []
    samples: list[str] = []
    metadata: dict[str, Mapping[str, Any]] = {}
    for name, given in paths.items():
        if not isinstance(name, str):
            raise InvalidRequestError(f"expected the name of a sample, got {shown(name)}")
        of_sample, metadata[name] = _sample(name, given)
        try:
            files = _files_of(of_sample, tree, n_entries, keeps_globs=keeps_globs)
        except (InvalidRequestError, StorageError) as error:
            error.args = (f"sample {shown(name)}: {error}", *error.args[1:])
            raise
        every += files
        samples += [name] * len(files)
    return Fileset(every, samples, metadata, n_entries)


def _sample(name: str, given: Any) -> tuple[Files, Mapping[str, Any]]:
    """Return the files of a sample, and what is said of it."""
    if isinstance(given, Mapping) and _FILES in given:
        metadata = given.get(_METADATA) or {}
        if not isinstance(metadata, Mapping):
            raise InvalidRequestError(
                f"{shown(name)}: {_METADATA}: expected a mapping, got {shown(metadata)}"
            )
        return given[_FILES], metadata
    if isinstance(given, Mapping) or not isinstance(given, str | bytes | os.PathLike):
        return given, {}
    raise InvalidRequestError(
        f"{shown(name)}: expected the files of a sample, as in {_FORM}, or the name of a tree for each file, "
        f"got {shown(given)}"
    )


def _files_of(
    paths: Files, tree: str | None, n_entries: dict[str, int], *, keeps_globs: bool
) -> list[tuple[str, str | None]]:
    """Return files and their trees. ``n_entries``: gets the entries that files are said to have."""
    if isinstance(paths, Mapping):
        trees = {place: _tree_of(place, said, n_entries) for place, said in paths.items()}
        return expand(trees, tree, keeps_globs=keeps_globs)
    every: list[Location] = []
    for path in each(paths):
        if not (isinstance(path, str) and is_list(path)):
            every.append(path)
            continue
        listed, own = _listed(path.removeprefix(LIST))
        if isinstance(listed, Mapping):
            raise InvalidRequestError(f"{path}: samples, which stand alone, not among other files")
        every += [one if own is None or split_url(one)[1] else f"{one}:{own}" for one in listed]
    return expand(every, tree, keeps_globs=keeps_globs)


def _tree_of(place: object, said: object, known: dict[str, int]) -> object:
    """Return the name of the tree in what is said of a file. Raises: InvalidRequestError for a part of its entries."""
    if not isinstance(said, Mapping):
        return said
    steps, n_entries = sorted(said.get(_STEPS) or ()), said.get(_N_ENTRIES)
    if steps:
        ends = [0, *(step[1] for step in steps)]
        is_whole = all(step[0] == end for step, end in zip(steps, ends, strict=False)) and (
            n_entries in (None, ends[-1])
        )
        if not is_whole:
            raise InvalidRequestError(
                f"{shown(place)}: its {_STEPS} are a part of its entries: give these by entries=, or read all of them"
            )
        n_entries = ends[-1]
    if isinstance(n_entries, int) and isinstance(place, str | os.PathLike):
        known[split_url(place)[0] if isinstance(place, str) else as_location(place)] = n_entries
    return said.get(_TREE)


def is_list(path: str) -> bool:
    """Return whether a text names a list of files, or samples: "@files.txt", "@files.txt:TREE"."""
    return path.startswith(LIST) and not os.path.exists(path)  # noqa: PTH110 - text


def _listed(path: str) -> tuple[list[str] | Mapping[str, Any], str | None]:
    """Return the places in a list, or the samples, if it is written in JSON; and the tree in "files.txt:TREE".

    Empty lines, and those that begin with "#", are passed over.
    """
    place, tree = split_url(path)
    if tree is not None and os.path.exists(place):  # noqa: PTH110 - text
        path = place
    else:
        tree = None
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_LIST_BYTES + 1)
    except FileNotFoundError:
        raise NoSuchFileError(f"{LIST}{path}: there is no such list of files") from None
    except OSError as error:
        raise StorageError(f"{LIST}{path}: {error.strerror}") from error
    if len(content) > _MAX_LIST_BYTES or b"\0" in content:
        raise InvalidRequestError(f"{LIST}{path}: no list of files, one a line")
    if content.lstrip().startswith(b"{"):
        try:
            samples: Mapping[str, Any] = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InvalidRequestError(f"{LIST}{path}: no samples in JSON, as {_FORM}: {error}") from None
        return samples, tree
    lines = (line.strip() for line in os.fsdecode(content).splitlines())
    return [line for line in lines if line and not line.startswith("#")], tree
