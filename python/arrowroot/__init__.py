"""Reads ROOT files as Apache Arrow columns, and says what it cost.

    import arrowroot as ar

    with ar.open("file.root") as f:
        tree = f["Events"]
        table = tree.to_arrow(["Muon_pt", "nMuon"], entries=slice(0, 1000))
        for batch in tree.scan(filter_name="Muon_*", batch_size="64 MB"):
            ...
    scan = ar.scan("data/*.root", tree="Events", columns=["Muon_pt"])

Nothing heavy is imported before it is needed: not pyarrow, not numpy.
"""

import warnings
from typing import TYPE_CHECKING, Any

from arrowroot import _native
from arrowroot._chain import scan
from arrowroot._errors import (
    ArrowrootError,
    CorruptFileError,
    InvalidRequestError,
    NoSuchColumnError,
    NoSuchKeyError,
    NotFoundError,
    SchemaMismatchError,
    StorageError,
    UnsupportedColumnWarning,
    UnsupportedError,
)
from arrowroot._file import Directory, File, Key
from arrowroot._file import open_file as open  # noqa: A004 - people write arrowroot.open(), as for uproot
from arrowroot._native import __version__
from arrowroot._scan import Scan
from arrowroot._table import Table
from arrowroot._tree import Column, Tree

if TYPE_CHECKING:
    from arrowroot._plan import Plan, Read, ScanStats, Window

__all__ = [
    "ArrowrootError",
    "Column",
    "CorruptFileError",
    "Directory",
    "File",
    "InvalidRequestError",
    "Key",
    "NoSuchColumnError",
    "NoSuchKeyError",
    "NotFoundError",
    "Plan",
    "Read",
    "Scan",
    "ScanStats",
    "SchemaMismatchError",
    "StorageError",
    "Table",
    "Tree",
    "UnsupportedColumnWarning",
    "UnsupportedError",
    "Window",
    "__version__",
    "open",
    "scan",
]

if _native.debug_build:
    warnings.warn(
        "this is a debug build of arrowroot: its times mean nothing (make builds an optimised one)",
        stacklevel=2,
    )


def __getattr__(name: str) -> Any:
    """Return a class of plans and counters; dataclasses would be half of the time to import arrowroot."""
    if name in ("Plan", "Read", "ScanStats", "Window"):
        from arrowroot import _plan  # noqa: PLC0415

        return getattr(_plan, name)
    raise AttributeError(f"module 'arrowroot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
