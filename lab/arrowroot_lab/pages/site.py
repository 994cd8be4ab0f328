"""A directory of pages: written beside its place as a whole, then swapped in, so that nobody sees half of it."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot_lab.errors import LabError, RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What tells a site of ours from a directory that somebody filled otherwise.
MARKER = ".arrowroot-lab-site"
_FORM = "arrowroot-lab/site"


def check_place(directory: Path) -> None:
    """Check that pages may be written to a directory: it is not there, is empty, or is a site of ours.

    Raises: RequestError otherwise.
    """
    if directory.is_symlink() and not directory.exists():
        raise RequestError(f"{directory}: the link leads nowhere; name the directory itself")
    if not directory.exists():
        return
    if not directory.is_dir():
        raise RequestError(f"{directory}: this is a file; name a directory for the pages")
    if is_site(directory) or not any(directory.iterdir()):
        return
    raise RequestError(
        f"{directory}: the directory is not empty, and has no pages of the laboratory; nothing was written. "
        "Name another one, or empty it"
    )


def is_site(directory: Path) -> bool:
    """True if the directory was published by us."""
    try:
        told = json.loads((directory / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("form") == _FORM


@contextmanager
def swapped(directory: Path, told: dict[str, Any]) -> Iterator[Path]:
    """Give an empty directory to write a site to; what is in it in the end takes the place of ``directory``.

    If the writing fails, or is interrupted, what was there stays.

    Args:
        directory: the place of the site, see ``check_place``
        told: facts for the marker, beside its form

    Raises: RequestError as ``check_place``; LabError if the place cannot be written.
    """
    check_place(directory)
    place = directory.resolve()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{place.name[:40]}.new-", dir=place.parent))
    except OSError as error:
        raise LabError(f"{directory}: cannot write there: {error.strerror}") from error
    try:
        # A temporary directory is its maker's alone; a site is for all whom the umask lets.
        new.chmod(0o777 & ~_umask())
        yield new
        (new / MARKER).write_text(json.dumps({"form": _FORM, **told}) + "\n", encoding="utf-8")
        _swap(place, new)
    except OSError as error:
        raise LabError(
            f"{error.filename or directory}: the pages were not written: {error.strerror}"
        ) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _swap(place: Path, new: Path) -> None:
    old = place.parent / f".{place.name[:40]}.old-{secrets.token_hex(4)}"
    try:
        place.rename(old)
    except FileNotFoundError:
        new.rename(place)
        return
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise LabError(
                f"{place}: this is a mount point, which cannot be replaced as a whole; publish to a directory in it"
            ) from error
        raise
    try:
        new.rename(place)
    except BaseException:
        old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
