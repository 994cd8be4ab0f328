"""The same events in each layout, for real: results of the campaign ``layouts``, and what was published of them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrowroot_lab.classics.counts import counts_of
from arrowroot_lab.figures.bars import Bar, bars
from arrowroot_lab.mining.table import Column, Table
from arrowroot_lab.store import Filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arrowroot_lab.classics.results import Row
    from arrowroot_lab.documents import Result, Sample
    from arrowroot_lab.figures.figure import Figure
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


def ok_results(store: Store, campaign: str, *, of_each_version: bool = False) -> Iterable[Result]:
    """Yield the newest results of a campaign's cases that have samples which count."""
    where = Filter(
        campaign=(campaign,),
        outcome=("ok",),
        newest=not of_each_version,
        newest_versions=of_each_version,
    )
    found = store.summaries(where)
    for result in store.of(one.uuid for one in found):
        if result.counted():
            yield result


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
    for result in ok_results(store, CAMPAIGN):
        row = figures_of(result)
        if row["engine"].startswith(_WRITES):
            written = result.counted()[0].counters["written"]
            kept = {
                key: row[key] for key in ("n_samples", "n_events", "wall_ns", "low_ns", "high_ns", "cpu_ns")
            }
            layout = row["engine"].removeprefix(_WRITES)
            memory = _median(result.counted(), lambda sample: sample.counters["written"]["memory_bytes"])
            told.append({"study": WRITTEN, "layout": layout, **kept, **written, "memory_bytes": memory})
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


def event_ns(row: Row) -> float:
    """Return the time of an event, without that of opening the file."""
    return float(row["wall_ns"] - (row["open_ns"] or 0)) / int(row["n_events"])


@dataclass(frozen=True)
class Statement:
    """A published statement, and what we find: two figures whose ratio is compared; None where nothing was measured."""

    text: str
    published: str
    #: How the figures are shown: a form of ``mining.format``.
    form: str
    before: float | None
    after: float | None

    @property
    def ratio(self) -> float | None:
        """Before over after."""
        return None if self.before is None or not self.after else self.before / self.after


class Found:
    """The rows of the campaign, by what is asked."""

    def __init__(self, told: Iterable[Row]) -> None:
        self.rows = [row for row in told if row["study"] in (READ, WRITTEN)]

    def read(self, dataset: str, workload: str, engine: str, storage: str = COLD) -> Row | None:
        """Return the row of a case; None: it was not measured."""
        wanted = {"dataset": dataset, "workload": workload, "engine": engine, "storage": storage}
        return next(
            (row for row in self.rows if row["study"] == READ and wanted.items() <= row.items()), None
        )

    def written(self, layout: str) -> Row | None:
        """Return the row of a layout that was written; None: it was not."""
        return next((row for row in self.rows if row["study"] == WRITTEN and row["layout"] == layout), None)

    def picked(self, engine: str, storage: str) -> tuple[Row | None, Row | None]:
        """Return one event in a hundred of the old and of the new layout, with their work."""
        return (
            self.read(OLD, f"1 %, {WORK[OLD]}", engine, storage),
            self.read(NEW, f"1 %, {WORK[NEW]}", engine, storage),
        )

    def statements(self) -> list[Statement]:
        """Return the statements of ATLAS and of ROOT's authors, and what is found of each."""
        in_a_row = [self.read(layout, f"in a row, {WORK[layout]}", CACHED) for layout in (OLD, NEW)]
        corners = self.read(OLD, "all", PLAIN), self.read(NEW, "all", CACHED)
        memory = self.read(OLD, "all", CACHED), self.read(NEW, "all", CACHED)
        written = self.written(OLD), self.written(NEW)
        relaxed = self.written(OLD), self.written(f"{NEW}, relaxed")
        return [
            Statement(
                "one event in a hundred, from the disk of 2009",
                "270 to 60 ms: 4 to 5 times",
                "time",
                *_pair(event_ns, *self.picked(TOLD, DISK)),
            ),
            Statement(
                "one event in a hundred, from the cold disk of today",
                "the same",
                "time",
                *_pair(event_ns, *self.picked(TOLD, COLD)),
            ),
            Statement("events in a row", "55 to 35 ms: 30 % faster", "time", *_pair(event_ns, *in_a_row)),
            Statement(
                "reads: old layout without a cache, new one with it",
                "1,328,586 to 521 (ROOT 2009): 2,550 times",
                "count",
                *_pair(_of("n_requests"), *corners),
            ),
            Statement("writing an event", "20 % faster", "time", *_pair(_an_event, *written)),
            Statement(
                "writing an event, relaxed level", "almost 50 % faster", "time", *_pair(_an_event, *relaxed)
            ),
            Statement("file", "very similar", "bytes", *_pair(_of("n_bytes"), *written)),
            Statement(
                "branches, each with its basket",
                "10,000 to 800",
                "count",
                *_pair(_of("n_branches"), *written),
            ),
            Statement(
                "memory of writing",
                "50 to 100 MB less (virtual)",
                "bytes",
                *_pair(_of("memory_bytes"), *written),
            ),
            Statement(
                "memory of reading",
                "50 to 100 MB less (virtual)",
                "bytes",
                *_pair(_of("peak_rss_bytes"), *memory),
            ),
        ]


def _of(key: str) -> Any:
    return lambda row: float(row[key])


def _an_event(row: Row) -> float:
    return float(row["wall_ns"]) / int(row["n_events"])


def _pair(figure: Any, one: Row | None, other: Row | None) -> tuple[float | None, float | None]:
    return (None if one is None else figure(one), None if other is None else figure(other))


def statement_table(found: Found) -> Table:
    """Return the statements; the form of a figure differs from row to row, so all are texts."""
    from arrowroot_lab.mining.format import shown

    return Table(
        "Published statements, and the same events today",
        (
            Column("text", "What"),
            Column("published", "Published"),
            Column("before", "Old layout"),
            Column("after", "New layout"),
            Column("ratio", "Old over new", "ratio"),
        ),
        tuple(
            (
                one.text,
                one.published,
                *(
                    "not measured" if value is None else shown(value, one.form)
                    for value in (one.before, one.after)
                ),
                one.ratio,
            )
            for one in found.statements()
        ),
    )


def reading_table(found: Found) -> Table:
    """Return all cases of reading."""
    return Table(
        "Reading each layout, for real",
        (
            Column("storage", "From"),
            Column("workload", "Events"),
            Column("dataset", "Layout"),
            Column("engine", "By"),
            Column("event_ns", "An event", "time"),
            Column("n_requests", "Reads", "count"),
            Column("read_bytes", "Read", "bytes"),
            Column("peak_rss_bytes", "Memory", "bytes"),
        ),
        tuple(
            (
                *(row[key] for key in ("storage", "workload", "dataset", "engine")),
                event_ns(row),
                *(row[key] for key in ("n_requests", "read_bytes", "peak_rss_bytes")),
            )
            for row in sorted(
                (row for row in found.rows if row["study"] == READ),
                key=lambda row: (_rank(row["storage"], _STORAGES), row["workload"], _place(row)),
            )
        ),
        ("The time of an event is without the opening. ROOT reads whole events, one after the other.",),
    )


def writing_table(found: Found) -> Table:
    """Return all cases of writing."""
    return Table(
        "Writing each layout from memory, by one thread",
        (
            Column("layout", "Layout"),
            Column("event_ns", "An event", "time"),
            Column("n_bytes", "File", "bytes"),
            Column("n_branches", "Branches", "count"),
            Column("n_baskets", "Baskets", "count"),
            Column("basket_bytes", "A basket", "bytes"),
            Column("memory_bytes", "Memory", "bytes"),
        ),
        tuple(
            (
                row["layout"],
                _an_event(row),
                *(row[key] for key in ("n_bytes", "n_branches", "n_baskets")),
                row["n_bytes"] / max(1, row["n_baskets"]),
                row["memory_bytes"],
            )
            for row in found.rows
            if row["study"] == WRITTEN
        ),
        ("zlib 6; relaxed: zlib 1; the RNTuple zstd 5. Its branches are columns, and its baskets pages.",),
    )


def picked_figure(found: Found) -> Figure | None:
    """Return the time of an event by layout, program and storage: one in a hundred with its work; None without any."""
    data = []
    for storage in (DISK, COLD):
        for engine in (PLAIN, CACHED, TOLD, "arrowroot"):
            for layout, row in zip((OLD, NEW), found.picked(engine, storage), strict=True):
                if row is not None:
                    data.append(_bar(f"{storage}: {engine}", layout, row))
    return _picture(
        "One event in a hundred: the time of an event, for real",
        "With 52 and 33 ms of work; published: 270 and 60 ms. Median, least and most of the samples.",
        data,
    )


def reads_figure(found: Found) -> Figure | None:
    """Return the reads of all events by layout, without a cache and with it; None without any."""
    data = []
    for layout in _DATASETS:
        for engine in _ENGINES:
            row = found.read(layout, "all", engine)
            if row is not None:
                data.append(Bar(layout, engine, row["n_requests"]))
    if not data:
        return None
    return bars(
        "All events: reads of the file",
        "Exact counts, the same in each sample.",
        data,
        Column("n_requests", "Reads", "count"),
        group="Layout",
        series="By",
    )


def _bar(group: str, series: str, row: Row) -> Bar:
    opened, n = row["open_ns"] or 0, row["n_events"]
    low, high = ((row[key] - opened) / n for key in ("low_ns", "high_ns"))
    return Bar(group, series, event_ns(row), low, high, row["n_samples"])


def _picture(title: str, caption: str, data: list[Bar]) -> Figure | None:
    if not data:
        return None
    return bars(
        title, caption, data, Column("event_ns", "Time of an event", "time"), group="By", series="Layout"
    )
