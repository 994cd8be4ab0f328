"""Changes that somebody has accepted: from then on a check explains them, and those alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_

from .tables import accepted

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


class Accepted(NamedTuple):
    """One change in one series."""

    series_id: str
    #: A counter, as ``store.n_reads``, or what else a check compares, as ``peak_rss_bytes``.
    name: str
    #: Both values as text.
    before: str
    now: str
    #: Now over before; None for an exact count.
    ratio: float | None
    reason: str
    #: UTC.
    accepted_at: str

    def is_row(self) -> ColumnElement[bool]:
        """The condition that is true of its row."""
        keys = {name: getattr(self, name) for name in ("series_id", "name", "before", "now")}
        return and_(*(accepted.c[name] == value for name, value in keys.items()))
