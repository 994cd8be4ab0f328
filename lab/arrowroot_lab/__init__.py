"""The laboratory: the same I/O tests over many storages, layouts, engines and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__version__ = "0.1.0"


def results(db: str | Path | None = None, each: str = "result", **filters: Any) -> Any:
    """Return results as a pandas DataFrame, newest first; times are in ns, sizes in bytes, dates in UTC.

    Args:
        db: a path or URL; None: ARROWROOT_LAB_DB, else the site's, else ./arrowroot-lab.db
        each: what a row is: "result" (medians and minima of its counted samples), "sample" (with its counters, as
            ``store.n_reads``) or "counter"
        **filters: names or globs, or lists of them: ``campaign="storages", engine=["mine*", "other"]``;
            ``newest=True`` for the newest result of each series

    Raises: RequestError if there is no database, or no such filter; StoreError if it cannot be read.
    """
    from arrowroot_lab.mining.frame import frame

    return frame(db, each, filters)
