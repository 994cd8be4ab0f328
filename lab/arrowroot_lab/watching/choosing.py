"""Which places are shown. All that a store has is judged, as a fault is known by what did not rise with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from .site_results import between, site_results

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from arrowroot_lab.store import Filter, Store

    from .alarms import PlaceAlarm
    from .places import Figure

#: What filters name of a place or of what is measured there; the others say which results count.
_CHOOSING = (
    "campaign", "site", "engine", "dataset", "layout", "storage", "storage_kind", "workload", "strategy", "series",
    "case",
)  # fmt: skip


class Series(NamedTuple):
    """One measurement at a place, on any machine and in any version."""

    site: str
    storage: str
    case: str
    engine: str


@dataclass(frozen=True)
class Chosen:
    """Results that are judged, and which of their series are shown."""

    figures: list[Figure]
    shown: frozenset[Series]

    @classmethod
    def of(cls, store: Store, where: Filter, at: datetime) -> Chosen:
        """Return what a filter chooses of the last 90 days before a time."""
        everywhere: dict[str, Any] = dict.fromkeys(_CHOOSING, ())
        figures = list(site_results(store, replace(where, **everywhere), at))
        if not any(getattr(where, name) for name in _CHOOSING):
            return cls.all_of(figures)
        uuids = {row.uuid for row in store.rows(between(where, at), ("uuid",))}
        return cls(figures, frozenset(series_of(one) for one in figures if one.uuid in uuids))

    @classmethod
    def all_of(cls, figures: Iterable[Figure]) -> Chosen:
        """Return results all of which are shown."""
        told = list(figures)
        return cls(told, frozenset(map(series_of, told)))

    @property
    def sites(self) -> list[str]:
        """The sites that are shown."""
        return sorted({one.site for one in self.shown})

    def alarms(self, found: Iterable[PlaceAlarm]) -> list[PlaceAlarm]:
        """Return those of some alarms that are of a series that is shown."""
        return [one for one in found if self._has(one)]

    def storages_of(self, alarm: PlaceAlarm) -> set[tuple[str, str]]:
        """Return the storages that the results of an alarm are of, each with its site."""
        return {self._series[uuid][:2] for both in alarm.uuids for uuid in both}

    def _has(self, alarm: PlaceAlarm) -> bool:
        if alarm.uuids:
            return any(self._series[uuid] in self.shown for both in alarm.uuids for uuid in both)
        return any(
            one.site in alarm.sites and (not alarm.storages or one.storage in alarm.storages)
            for one in self.shown
        )

    @cached_property
    def _series(self) -> dict[str, Series]:
        return {one.uuid: series_of(one) for one in self.figures}


def series_of(one: Figure) -> Series:
    """Return the series of a result."""
    return Series(one.site, one.storage, one.case, one.engine)
