"""The same events in each layout, for real: results of the campaign ``layouts``, and what was published of them."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from arrowroot_lab.classics.real import counts_of, newest
from arrowroot_lab.classics.results import FORM, FORM_VERSION
from arrowroot_lab.classics.study import Study
from arrowroot_lab.figures.bars import Bar
from arrowroot_lab.mining.format import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.documents import Result, Sample
    from arrowroot_lab.store import Store

READ, WRITTEN = "real layouts", "real written"
CAMPAIGN = "layouts"
COLD, DISK, FAR = "disk, cold", "disk of 2009", "10 ms away"
PLAIN, CACHED, TOLD = "ROOT, no cache", "ROOT, cache", "ROOT, cache told the list"
OLD, NEW = "old AOD", "AOD 2011"
#: Layout -> the work of an event, and the words of its workloads.
WORK = {OLD: "52 ms each", NEW: "33 ms each"}
_WRITES = "write "
_ENGINES = (PLAIN, CACHED, TOLD, "uproot", "arrowroot")
_DATASETS = (OLD, NEW, "ESD 2011", "D3PD", "NanoAOD", "RNTuple")
_STORAGES = (COLD, DISK, FAR)


def figures_of(result: Result) -> Row:
    """Return the figures that all results have: of its counted samples the medians, and the bounds of the time."""
    counted = result.counted()
    walls = [sample.wall_ns for sample in counted if sample.wall_ns is not None]
    return {
        "dataset": result.case["dataset_name"],
        "storage": result.case["storage_name"],
        "engine": result.case["engine"],
        "workload": result.case["workload_name"],
        "n_samples": len(counted),
        "n_events": counted[0].details.get("n_entries"),
        "wall_ns": round(statistics.median(walls)),
        "low_ns": min(walls),
        "high_ns": max(walls),
        "cpu_ns": _median(counted, lambda sample: sample.cpu_ns),
        "open_ns": _median(counted, lambda sample: sample.details.get("open_ns")),
        "peak_rss_bytes": _median(counted, lambda sample: sample.peak_rss_bytes),
    }


def _median(counted: Sequence[Sample], figure: Any) -> int | None:
    values = [value for sample in counted if (value := figure(sample)) is not None]
    return round(statistics.median(values)) if values else None


def rows(store: Store) -> list[Row]:
    """Return a row for each case of the campaign: what was read by whom from where, and what was written."""
    told = []
    for _, result in newest(store, CAMPAIGN):
        if not result.counted():
            continue
        row = figures_of(result)
        if row["engine"].startswith(_WRITES):
            written = result.counted()[0].counters["written"]
            keys = ("n_samples", "n_events", "wall_ns", "low_ns", "high_ns", "cpu_ns")
            kept = {"layout": row["engine"].removeprefix(_WRITES), **{key: row[key] for key in keys}}
            memory = _median(result.counted(), lambda sample: sample.counters["written"]["memory_bytes"])
            told.append({"study": WRITTEN, **kept, **written, "memory_bytes": memory})
        else:
            told.append({"study": READ, **row, **counts_of(result.counted())})
    return sorted(told, key=_place)


def _place(row: Row) -> tuple[Any, ...]:
    if row["study"] == WRITTEN:
        return (1, row["layout"])
    order = (("storage", _STORAGES), ("dataset", _DATASETS), ("engine", _ENGINES))
    return (0, *(_rank(row[key], known) for key, known in order), row["workload"])


def _rank(name: str, known: Sequence[str]) -> int:
    """The place of a name; what a campaign has besides comes last."""
    return known.index(name) if name in known else len(known)


class Layouts(Study):
    """The results of the campaign, by what is asked; they may be all that there are of the classic."""

    @classmethod
    def of(cls, rows: list[Row]) -> Layouts:
        """Return the results that are no more than rows of the campaign."""
        return cls({"form": FORM, "form_version": FORM_VERSION, "classic": "atlas-2012", "rows": rows})

    def read(self, dataset: str, workload: str, engine: str, storage: str = COLD) -> Row | None:
        """Return the row of a case; None: it was not measured."""
        wanted = {"dataset": dataset, "workload": workload, "engine": engine, "storage": storage}
        return next(iter(self.rows(READ, **wanted)), None)

    def written(self, layout: str) -> Row | None:
        """Return the row of a layout that was written; None: it was not."""
        return next(iter(self.rows(WRITTEN, layout=layout)), None)

    def picked(self, engine: str, storage: str) -> list[Row | None]:
        """Return one event in a hundred of the old and of the new layout, with their work."""
        return [self.read(layout, f"1 %, {work}", engine, storage) for layout, work in WORK.items()]

    def event_ns(self, row: Row) -> float:
        """Return the time of an event, without that of opening the file."""
        return float(row["wall_ns"] - (row.get("open_ns") or 0)) / int(row["n_events"])

    def basket_bytes(self, row: Row) -> float:
        """Return the bytes of a basket that was written."""
        return float(row["n_bytes"] / max(1, row["n_baskets"]))

    def ratio_of(self, old_and_new: Sequence[Row | None], key: str = "event_ns") -> float | None:
        """Return old over new of a figure; None: one of them was not measured."""
        before, after = (None if row is None else self.figure(row, key) for row in old_and_new)
        return None if before is None or not after else before / after

    def statement_rows(self) -> Iterator[Row]:
        """Return the statements of ATLAS and of ROOT's authors, and what is found of each; figures are texts."""
        written = self.written(OLD), self.written(NEW)
        relaxed = self.written(OLD), self.written(f"{NEW}, relaxed")
        in_a_row = [self.read(layout, f"in a row, {work}", CACHED) for layout, work in WORK.items()]
        all_cached = self.read(NEW, "all", CACHED)
        for text, then, form, key, of_both in (
            ("one event in a hundred, from the disk of 2009", "270 to 60 ms: 4 to 5 times", "time", "event_ns",
             self.picked(TOLD, DISK)),
            ("one event in a hundred, from the cold disk of today", "the same", "time", "event_ns",
             self.picked(TOLD, COLD)),
            ("events in a row", "55 to 35 ms: 30 % faster", "time", "event_ns", in_a_row),
            ("reads: old layout without a cache, new one with it", "1,328,586 to 521 (ROOT 2009): 2,550 times",
             "count", "n_requests", (self.read(OLD, "all", PLAIN), all_cached)),
            ("writing an event", "20 % faster", "time", "event_ns", written),
            ("writing an event, relaxed level", "almost 50 % faster", "time", "event_ns", relaxed),
            ("file", "very similar", "bytes", "n_bytes", written),
            ("branches, each with its basket", "10,000 to 800", "count", "n_branches", written),
            ("memory of writing", "50 to 100 MB less (virtual)", "bytes", "memory_bytes", written),
            ("memory of reading", "50 to 100 MB less (virtual)", "bytes", "peak_rss_bytes",
             (self.read(OLD, "all", CACHED), all_cached)),
        ):  # fmt: skip
            sides = {
                side: "not measured" if row is None else shown(float(self.figure(row, key)), form)
                for side, row in zip(("before", "after"), of_both, strict=True)
            }
            yield {"text": text, "published": then, **sides, "ratio": self.ratio_of(of_both, key)}

    def reading_rows(self) -> list[Row]:
        """Return all cases of reading."""
        return sorted(
            self.rows(READ), key=lambda row: (_rank(row["storage"], _STORAGES), row["workload"], _place(row))
        )

    def picked_bars(self) -> Iterator[Bar]:
        """Return the time of an event by layout, program and storage: one in a hundred with its work."""
        for storage in (DISK, COLD):
            for engine in (PLAIN, CACHED, TOLD, "arrowroot"):
                for layout, row in zip(WORK, self.picked(engine, storage), strict=True):
                    if row is not None:
                        yield self.bar(f"{storage}: {engine}", layout, row)

    def reads_bars(self) -> Iterator[Bar]:
        """Return the reads of all events by layout, without a cache and with it."""
        for layout in _DATASETS:
            for engine in _ENGINES:
                row = self.read(layout, "all", engine)
                if row is not None:
                    yield Bar(layout, engine, row["n_requests"])

    def bar(self, group: str, series: str, row: Row) -> Bar:
        """Return the time of an event, with its bounds."""
        opened, n = row["open_ns"] or 0, row["n_events"]
        low, high = ((row[key] - opened) / n for key in ("low_ns", "high_ns"))
        return Bar(group, series, self.event_ns(row), low, high, row["n_samples"])
