"""Which results: by names and globs, for the store, the command line and the pages alike."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, or_

from arrowroot_lab.documents import version_text

from .tables import result

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement

#: What can be filtered by; each is a column of the view ``results``.
NAMES = (
    "campaign", "run", "site", "engine", "version", "dataset", "layout", "storage", "storage_kind", "workload",
    "strategy", "cpu_model", "outcome",
)  # fmt: skip
_BOUNDS: dict[str, Callable[[Any, float], ColumnElement[bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Filter:
    """Results that match all of what is told. Names may be globs with ``*`` and ``?``; several are alternatives."""

    campaign: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    site: tuple[str, ...] = ()
    engine: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    storage: tuple[str, ...] = ()
    storage_kind: tuple[str, ...] = ()
    workload: tuple[str, ...] = ()
    strategy: tuple[str, ...] = ()
    cpu_model: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    #: Bounds of readings, as ``("load_1_minute", "<", 2.0)``: results that did not take one do not match.
    reading: tuple[tuple[str, str, float], ...] = ()
    #: Beginnings of the keys of series and cases, of at least 4 digits.
    series: tuple[str, ...] = ()
    case: tuple[str, ...] = ()
    #: UTC, or the beginning of it, as ``2026-01``: not before, and before.
    since: str | None = None
    until: str | None = None
    #: Only the newest result of each series that matches all but ``outcome``; that is asked of the newest one.
    newest: bool = False
    #: The same of each series and version, in each campaign.
    newest_versions: bool = False

    def narrows(self) -> bool:
        """True if the newest result that matches may not be the newest of its series, or version and campaign."""
        apart = ("outcome",) if self.newest else ("outcome", "version", "campaign")
        return any(getattr(self, name) for name in (*NAMES, "reading", "since", "until") if name not in apart)

    def has_counts(self) -> bool:
        """True if all results of a series, version and campaign match, or none: how many there are is kept."""
        return not self.outcome and not replace(self, newest=False).narrows()

    def conditions(self, dialect: str) -> ColumnElement[bool]:
        """The condition on the rows of ``result``, but for ``newest``."""
        told: list[ColumnElement[bool]] = []
        for name in NAMES:
            globs = getattr(self, name)
            if name == "version":
                globs = [version_text(glob) for glob in globs]
            if globs:
                told.append(or_(*(_matches(result.c[name], glob, dialect) for glob in globs)))
        told += [_BOUNDS[sign](result.c[name], bound) for name, sign, bound in self.reading]
        for column, beginnings in ((result.c.series_id, self.series), (result.c.case_id, self.case)):
            if beginnings:
                told.append(or_(*(_matches(column, f"{beginning}*", dialect) for beginning in beginnings)))
        if self.since is not None:
            told.append(result.c.created_at >= self.since)
        if self.until is not None:
            told.append(result.c.created_at < self.until)
        return and_(True, *told)


def _matches(column: Any, glob: str, dialect: str) -> ColumnElement[bool]:
    """Compare a column with a glob, upper and lower case apart on every database."""
    if "*" not in glob and "?" not in glob:
        return column == glob  # type: ignore[no-any-return]
    if dialect == "sqlite":
        return column.op("GLOB", is_comparison=True)(glob.replace("[", "[[]"))  # type: ignore[no-any-return]
    escaped = glob.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return column.like(escaped.replace("*", "%").replace("?", "_"), escape="\\")  # type: ignore[no-any-return]
