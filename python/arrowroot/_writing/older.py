"""The objects of an older file that stay in the one that takes its place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from arrowroot._errors import (
    CorruptFileError,
    InvalidRequestError,
    NoSuchKeyError,
    StorageError,
    UnsupportedError,
    nearest,
    warn,
)
from arrowroot._render import printable
from arrowroot._saving.replacing import is_special
from arrowroot._storage.readers import Opening

if TYPE_CHECKING:
    from typing_extensions import Self

    from arrowroot import _native

#: Class and name of the identifiers of ROOT's processes, which belong to the references in tables.
_PROCESS = "TProcessID", "ProcessID"
#: The beginning of ROOT's files. Source: ``TFile::Init``.
_MAGIC = b"root"
#: Stands in names for bytes that are not UTF-8, so that those of two objects may be alike.
_NO_TEXT = "\ufffd"


def path_in_file(name: str) -> str:
    """Return the path of an object as files have it, without slashes that mean nothing."""
    return "/".join(part for part in name.split("/") if part)


class Older:
    """A file from which one that is written takes what it has not got itself; one that is not there has nothing.

    Pieces of tables are copied as they are stored. Of each name the newest cycle is taken.
    """

    def __init__(self, path: str, *, is_kept: bool = True) -> None:
        """Open it. ``is_kept``: else nothing of it stays, and it must not change all the same.

        Raises: CorruptFileError for what is no file of ROOT's; StorageError.
        """
        # The directory may be another one in the end.
        self._path = path = os.path.abspath(path)  # noqa: PTH100 - text
        self._identity = _identity(path)
        self._file: _native.File | None = None
        #: Their titles by their paths.
        self._directories: dict[str, str] = {}
        #: In the order of the file.
        self._objects: dict[str, None] = {}
        if is_kept and self._identity is not None and os.path.getsize(path):  # noqa: PTH202 - text
            self._file = Opening([path]).open()
            keys = self._file.keys("", recursive=True, cycles=False)
            self._directories = {key.path: key.title for key in keys if key.is_directory}
            self._objects = dict.fromkeys(
                key.path for key in keys if not key.is_directory and not _is_process(key)
            )

    @classmethod
    def of(cls, path: str) -> Self | None:
        """Return it; None for a device or a pipe, which no other file takes the place of. Raises: as making one."""
        return None if is_special(path) else cls(path)

    @classmethod
    def beside(cls, path: str, table: str) -> Self | None:
        """Return what stays beside a table that is written. What does not begin as a file of ROOT's has nothing.

        Raises: as :meth:`of`.
        """
        if is_special(path):
            return None
        try:
            older = cls(path)
        except CorruptFileError:
            with open(path, "rb") as file:  # noqa: PTH123 - text
                if file.read(len(_MAGIC)) == _MAGIC:
                    raise
            return cls(path, is_kept=False)
        older.leave_out(path_in_file(table))
        return older

    @property
    def objects(self) -> list[str]:
        """The paths of those that stay."""
        return list(self._objects)

    def give_title(self, new: _native.FileWriter) -> None:
        """Give a new file the title of this one, and warn if that cannot be."""
        title = "" if self._file is None else self._file.title
        if _NO_TEXT in title:
            warn(f"{printable(self._path)}: its title is not UTF-8, and is left out", UserWarning)
        elif title:
            try:
                new.set_title(title)
            except UnsupportedError as error:
                warn(f"{printable(self._path)}: its title is left out: {error}", UserWarning)

    def has(self, path: str) -> bool:
        """Return whether an object of a path is there, and stays."""
        return path in self._objects

    def check_whole(self) -> None:
        """Raise CorruptFileError if it was not closed, UnsupportedError for names that are no text."""
        if self._file is not None and (recovery := self._file.recovery()) is not None:
            raise CorruptFileError(
                f"{printable(self._path)}: {recovery}; what it has cannot be kept: arrowroot skim writes what can be "
                "read of it to another file; to write a new file, remove it first"
            )
        for path in (*self._objects, *self._directories):
            if _NO_TEXT in path:
                raise UnsupportedError(
                    f"{self._where(path)}: a name that is not UTF-8, and cannot be kept: write another file"
                )

    def check_place(self, path: str) -> None:
        """Raise InvalidRequestError for an object where a directory is, and for one below another object.

        path: that of a directory ends in a slash.
        """
        if path in self._directories:
            raise InvalidRequestError(
                f"{self._where(path)}: a directory of the file has this name; ar.update and del new[{path!r}] leave it "
                "out, with all that is in it"
            )
        while path := path.rpartition("/")[0]:
            if path in self._objects:
                raise InvalidRequestError(
                    f"{self._where(path)}: an object of the file has this name, so no directory can have it; ar.update "
                    f"and del new[{path!r}] leave it out"
                )

    def above(self, path: str) -> list[tuple[str, str]]:
        """Return the directories above a path and their titles, the outermost first."""
        ends = [number for number, letter in enumerate(path) if letter == "/"]
        return [
            (path[:end], self._directories[path[:end]]) for end in ends if path[:end] in self._directories
        ]

    def leave_out(self, path: str) -> None:
        """Leave out an object, if it is there."""
        self._objects.pop(path, None)

    def remove(self, path: str) -> None:
        """Leave out an object, or a directory with all that is in it. Raises: NoSuchKeyError."""
        if path in self._directories:
            within = f"{path}/"
            self._objects = {one: None for one in self._objects if not one.startswith(within)}
            self._directories = {
                one: title
                for one, title in self._directories.items()
                if one != path and not one.startswith(within)
            }
        elif path not in self._objects:
            there = [*self._objects, *self._directories]
            raise NoSuchKeyError(
                f"{self._where(path)}: the file that is updated has no such object",
                path,
                nearest(path, there),
                known=there,
            )
        self._objects.pop(path, None)

    def copy(self, merger: _native.Merger) -> None:
        """Copy what stays, and warn of what is not as it was.

        Raises: CorruptFileError for damage; UnsupportedError, SchemaMismatchError for what is not copied; StorageError.
        """
        if self._file is None or not (self._objects or self._directories):
            return
        try:
            merger.add(self._file, {*self._objects, *self._directories})
        except (CorruptFileError, InvalidRequestError, UnsupportedError) as error:
            error.args = (
                f"{error}; the file is what it was: ar.update and del leave out what cannot be kept",
                *error.args[1:],
            )
            raise
        for path, *_, notes in merger.finish()["objects"]:
            for note in notes:
                warn(f"{self._where(path)}: {note}", UserWarning)

    def check_unchanged(self) -> None:
        """Raise StorageError if another file has its name by now, or it was written to."""
        if _identity(self._path) != self._identity:
            raise StorageError(
                f"{printable(self._path)}: another program has written, changed or removed it meanwhile; nothing is "
                "written, so that nothing of it is lost: update it again"
            )

    def _where(self, path: str) -> str:
        return f"{printable(self._path)}:{printable(path)}"


def _is_process(key: _native.Key) -> bool:
    class_name, name = _PROCESS
    return key.class_name == class_name and key.path.startswith(name)


def _identity(path: str) -> tuple[int, ...] | None:
    """Return what tells a file from another one of its name, and from itself once it was written to."""
    try:
        found = os.stat(path)  # noqa: PTH116 - text
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
