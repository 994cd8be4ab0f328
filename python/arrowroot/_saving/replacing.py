"""Writes files whole or not at all: first beside their place, then into it."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from arrowroot._errors import AccessDeniedError, NoSuchFileError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Where the open files of a process, or of one of its threads, are by their numbers; /dev/fd leads there.
_DESCRIPTORS = re.compile(r"/proc/(?P<process>[0-9]+)(/task/[0-9]+)?/fd")
_KINDS = {
    errno.ENOENT: NoSuchFileError,
    errno.EACCES: AccessDeniedError,
    errno.EPERM: AccessDeniedError,
}
#: The kernel follows so many symbolic links in a row.
_MAX_LINKS = 40


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the name of a file to write, which takes the place of ``path`` when the block ends without an error.

    After an error, that of a full disk too, ``path`` is what it was, or still not there; so it is if the process is
    killed. The file to write is in the same directory and has the same suffix. A symbolic link stays one, and the
    permissions of a file that was there are kept.

    A device in which one can seek is written itself. What has no places, as a pipe or a terminal, is opened at once
    and gets all of it when it is whole: most formats ask where they are while they are written. The name of an open
    file of this process, as ``/dev/stdout`` is after a shell's ``> FILE``, stands for that file: what was written is
    put behind what is in it, when it is whole.

    Raises: StorageError, which names ``path``.
    """
    asked = os.fspath(path)
    beside: str | None = None
    opened: int | None = None
    try:
        descriptor = _descriptor_of(asked)
        if descriptor is not None:
            _flush_streams()
        if _is_written_itself(asked, descriptor):
            # Also where nothing will be written: who reads a pipe waits until it was open.
            descriptor = opened = _opened_without_places(asked)
            if descriptor is None:
                yield asked
                return
        target = os.path.realpath(asked)
        beside = _made_beside(target) if descriptor is None else _made_apart(asked)
        yield beside
        if descriptor is None:
            put(beside, target)
        else:
            _flush_streams()
            _append(beside, descriptor)
    except OSError as error:
        raise _of(error, asked, beside or asked) from None
    finally:
        if opened is not None:
            os.close(opened)
        if beside is not None:
            with suppress(OSError):
                os.unlink(beside)  # noqa: PTH108 - text


def put(beside: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Write a complete file through to the disk, then let it take the place and the permissions of another."""
    descriptor = os.open(beside, os.O_RDONLY)
    try:
        # Some file systems say only now that there is no room.
        os.fsync(descriptor)
        with suppress(FileNotFoundError):
            before = os.stat(target)  # noqa: PTH116 - text
            os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
    finally:
        os.close(descriptor)
    os.replace(beside, target)  # noqa: PTH105 - text


def is_special(path: str) -> bool:
    """Return whether no other file can take the place: of a pipe or a device, and of an open file by its number."""
    descriptor = _descriptor_of(path)
    return descriptor is not None or _is_written_itself(path, descriptor)


def is_stdout(path: str) -> bool:
    """Return whether a path names the standard output, as ``/dev/stdout`` and links to it do."""
    return _descriptor_of(path) == 1


def _is_written_itself(path: str, descriptor: int | None) -> bool:
    """Return whether it is there and no regular file, or one that no directory has any more.

    descriptor: of this process, if that is what it names. A socket is none of these: such a name does not open it.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - text
    except FileNotFoundError:
        return False
    if descriptor is not None:
        return stat.S_ISCHR(found.st_mode) or stat.S_ISFIFO(found.st_mode)
    if not stat.S_ISREG(found.st_mode):
        return True
    # As an open file of another process, under /proc, may be.
    try:
        return not os.path.samestat(found, os.stat(os.path.realpath(path)))  # noqa: PTH116 - text
    except FileNotFoundError:
        return True


def _opened_without_places(path: str) -> int | None:
    """Open a pipe or a device in which one cannot seek; None of others."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return descriptor
    os.close(descriptor)
    return None


def _descriptor_of(path: str) -> int | None:
    """Return the number of the open file that a path names, as /dev/stdout and /dev/fd/N do; None of other names."""
    place = os.path.abspath(path)  # noqa: PTH100 - text
    for _ in range(_MAX_LINKS):
        folder, name = os.path.split(place)
        if name.isascii() and name.isdigit():
            found = _DESCRIPTORS.fullmatch(os.path.realpath(folder))
            if found and int(found["process"]) == os.getpid():
                return int(name)
        try:
            place = os.path.join(folder, os.readlink(place))  # noqa: PTH115, PTH118 - text
        except OSError:
            return None
    return None


def _flush_streams() -> None:
    """Write what Python keeps back: it comes before what is written to the same files by their numbers."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _append(beside: str, descriptor: int) -> None:
    """Write all of a file to another that is open."""
    import shutil

    with open(beside, "rb") as whole, open(os.dup(descriptor), "wb") as file:  # noqa: PTH123 - text
        shutil.copyfileobj(whole, file, 1 << 20)


def _made_beside(target: str) -> str:
    """Make an empty file in the directory of another one, with the permissions that a new one gets."""
    if os.path.exists(target):  # noqa: PTH110 - text
        # A file that a user may not write must not be replaced by another of its name.
        os.close(os.open(target, os.O_WRONLY))
    # Nothing else of the name is used: it may have the greatest length already.
    name = f".arrowroot-{secrets.token_hex(8)}{_suffix_of(target)}"
    beside = os.path.join(os.path.dirname(target), name)  # noqa: PTH118, PTH120 - text
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    return beside


def _made_apart(path: str) -> str:
    """Make an empty file where temporary ones are."""
    import tempfile

    descriptor, name = tempfile.mkstemp(prefix=".arrowroot-", suffix=_suffix_of(path))
    os.close(descriptor)
    return name


def _suffix_of(path: str) -> str:
    suffix = os.path.splitext(path)[1]  # noqa: PTH122 - text
    return suffix if len(suffix) < 16 else ""


def _of(error: OSError, path: str, beside: str) -> OSError:
    """Return the error with the name of the file that was asked for: the error of a full disk has none."""
    if error.errno is None:
        return type(error)(str(error).replace(beside, path))
    return _KINDS.get(error.errno, StorageError)(error.errno, os.strerror(error.errno), path)
