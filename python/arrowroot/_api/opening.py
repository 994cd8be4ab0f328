"""Opening a file by its path or URL, or in hand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

from arrowroot._api.file import WRITE_ANEW, File
from arrowroot._arguments import takes
from arrowroot._errors import InvalidRequestError, NoSuchFileError
from arrowroot._render import shown
from arrowroot._storage.config import StorageOptions, redacted, resolve
from arrowroot._storage.in_hand import in_hand
from arrowroot._storage.readers import Opening
from arrowroot._storage.url import as_location, each, is_glob, split_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Unpack

    from arrowroot._storage.in_hand import InHand
    from arrowroot._storage.url import Location

#: Modes that others take behind the path, and the lines to write instead.
_MODES = {
    **dict.fromkeys(("r", "rb", "read"), "arrowroot.open({path})"),
    **dict.fromkeys(("w", "wb", "recreate", "create", "new"), WRITE_ANEW),
    **dict.fromkeys(
        ("a", "r+", "update"),
        'with ar.update({path}) as new: new["more"] = data',
    ),
}
_N_WITH_ANOTHER = 2


@takes(StorageOptions.__annotations__)
def open(  # noqa: A001 - people write arrowroot.open(), as for uproot
    url: Location | InHand,
    *more: NoReturn,
    replicas: Location | Iterable[Location] = (),
    **options: Unpack[StorageOptions],
) -> File:
    """Open a ROOT file for reading.

    url: a path (as text, bytes or ``os.PathLike``; its name need not be UTF-8) or a URL, in which
        ``?arrowroot.NAME=VALUE`` sets an option. Or a file in hand: a file object in binary mode that can seek
        (``io.BytesIO``, of gzip, of fsspec), or the content as bytes or another buffer. That is neither copied nor
        closed, and must not change; the position of ``io.BytesIO`` and of files of ``open`` is put back.
    more: not taken, as a file is opened alone.
    replicas: other places of the same file; the next one is taken when one fails. Files that are to be read one after
        the other are for :func:`scan`.
    options: how to reach the store and how to read from it (``strategy="treecache"``, ``cache_size="30 MB"``,
        ...: ``arrowroot config`` lists them). Those not given come from the URL, the environment
        (``ARROWROOT_STRATEGY``), and configuration files.

    Raises: StorageError if it cannot be read, CorruptFileError if it is no ROOT file or a damaged one,
    InvalidRequestError for several files, and for options that make no sense.
    Warns: RecoveredWarning once for a file that was not closed, CutShortWarning for one that was cut short.

        >>> with ar.open("events.root", timeout="10 s") as file:
        ...     file["Events"].to_numpy(["MET_pt"], entries=slice(0, 3))
        {'MET_pt': array([0. , 0.5, 1. ], dtype=float32)}
    """
    reader = None if more else in_hand(url)
    if reader is None:
        opening = _opening_of([url, *more] if more else url, replicas, options)
    elif options or replicas:
        raise InvalidRequestError(
            f"open: {reader.url} is a file in hand, which has no replicas and takes no options of the storage"
        )
    else:
        opening = Opening([reader.url], reader=reader)
    try:
        opened = File(opening)
    except NoSuchFileError as error:
        if len(opening.urls) == 1 and is_glob(opening.urls[0]):
            error.args = (
                f"{error}; it is a pattern, of several files: write arrowroot.scan({redacted(opening.urls[0])!r})",
                *error.args[1:],
            )
        raise
    opened._warn()  # noqa: SLF001 - warned of when all is open
    return opened


def _refuse_another(url: Any, another: Any) -> None:
    """Raise InvalidRequestError for a mode behind a path, and for the name of a tree; else it may be a file."""
    if not isinstance(another, str):
        return
    line = _MODES.get(another.lower())
    if line is not None:
        raise InvalidRequestError(
            f"open() takes no mode, it reads: write {line.replace('{path}', shown(url))}"
        )
    is_file = another.endswith(".root") or "://" in another
    if not is_file and not os.path.exists(another):  # noqa: PTH110 - text
        raise InvalidRequestError(
            f"open() takes a file, which gives its trees by name: write arrowroot.open({shown(url)})[{shown(another)}]"
        )


def _opening_of(url: Any, replicas: Location | Iterable[Location], options: StorageOptions) -> Opening:
    """Return how to open the file of a path or URL and its replicas. Raises: InvalidRequestError."""
    if callable(getattr(url, "open", None)) and not isinstance(url, os.PathLike):
        raise InvalidRequestError(f"open: {shown(url)} is not open yet: give what its open() returns")
    if not isinstance(url, str | bytes | os.PathLike):
        if isinstance(url, list) and len(url) == _N_WITH_ANOTHER:
            _refuse_another(*url)
        if type(url).__module__.startswith("cppyy"):
            raise InvalidRequestError(
                "open() takes no object of PyROOT, but its path: write arrowroot.open(file.GetName())"
            )
        several = (
            ": arrowroot.scan([...]) reads several files one after the other, and open(url, replicas=[...]) names "
            "other places of the same file"
        )
        raise InvalidRequestError(
            f"open() takes one file, by its path or URL or in hand, not {shown(url)}"
            f"{several if hasattr(url, '__iter__') else ''}"
        )
    every = [url, *each(replicas)]
    for one in every:
        file, tree = split_url(one) if isinstance(one, str) else ("", None)
        if tree is not None:
            line = f"arrowroot.open({redacted(file)!r})[{tree!r}]"
            if "://" in file and "*" in file:
                line = f"arrowroot.scan([...], tree={tree!r}) with each of several: a URL is no pattern"
            elif is_glob(file):
                line = f"arrowroot.scan({redacted(file)!r}, tree={tree!r}), which reads the files that match"
            raise InvalidRequestError(f"open() takes a file: write {line}")
    return Opening(*resolve([as_location(one) for one in every], options))
