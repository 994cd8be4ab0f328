"""Writes files whole or not at all: first beside their place, then into it."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the name of a file to write, which takes the place of ``path`` when the block ends without an error.

    After an error, that of a full disk too, ``path`` is what it was, or still not there. The file to write is in the
    same directory and has the same suffix. What is no regular file (a pipe, ``/dev/stdout``) is written itself. A
    symbolic link stays one, and the permissions of a file that was there are kept.

    Raises: OSError, which names ``path``.
    """
    target = os.fspath(path)
    beside = target
    try:
        if is_special(target):
            yield target
            return
        target = os.path.realpath(target)
        beside = _made_beside(target)
        yield beside
        put(beside, target)
    except OSError as error:
        raise _of(error, os.fspath(path), beside) from None
    finally:
        if beside not in (target, os.fspath(path)):
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


def is_special(target: str) -> bool:
    """Whether a path is no regular file, or the name of one that is open: these are written themselves."""
    # These are names of open files, to which others write, too.
    if os.path.abspath(target).startswith(("/dev/", "/proc/")):  # noqa: PTH100 - text
        return True
    try:
        return not stat.S_ISREG(os.stat(target).st_mode)  # noqa: PTH116 - text
    except FileNotFoundError:
        return False


def _made_beside(target: str) -> str:
    """Make an empty file in the directory of another one, with the permissions that a new one gets."""
    if os.path.exists(target):  # noqa: PTH110 - text
        # A file that a user may not write must not be replaced by another of its name.
        os.close(os.open(target, os.O_WRONLY))
    suffix = os.path.splitext(target)[1]  # noqa: PTH122 - text
    # Nothing else of the name is used: it may have the greatest length already.
    name = f".arrowroot-{secrets.token_hex(8)}{suffix if len(suffix) < 16 else ''}"
    beside = os.path.join(os.path.dirname(target), name)  # noqa: PTH118, PTH120 - text
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    return beside


def _of(error: OSError, path: str, beside: str) -> OSError:
    """Return the error with the name of the file that was asked for: the error of a full disk has none."""
    if error.errno is None:
        return type(error)(str(error).replace(beside, path))
    return OSError(error.errno, os.strerror(error.errno), path)
