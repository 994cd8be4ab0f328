"""The measured grid: one cell for each case that was measured, with what its time is made of."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrowroot_lab.canonical import key_of
from arrowroot_lab.documents import Outcome
from arrowroot_lab.mining.metrics import judged, n_cores_asked
from arrowroot_lab.store import summary_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arrowroot_lab.documents import Counters, Result

#: A storage whose line nobody knows is taken for one without any.
_NO_LATENCY_NS, _NO_LIMIT = 0.0, 1e11


@dataclass(frozen=True)
class Cell:
    """One case that was measured."""

    site: str
    storage: str
    #: The storage's protocol, and what is cold; each has its way to open a file.
    kind: str
    engine: str
    version: str
    strategy: str
    workload: str
    #: Equal for cells that read the same columns of the same data in the same order, whatever entries and work.
    what: str
    #: Globs of the columns; None: all.
    columns: tuple[str, ...] | None
    n_entries: float
    file_bytes: float | None
    wall_ns: float
    #: CPU time of all cores, without the work that was burnt for each entry.
    cpu_ns: float
    work_ns: float
    #: The bytes and requests that the storage was asked for, or the origin of a cold cache. None: nobody tells.
    n_bytes: float | None
    n_requests: float | None
    #: The line that reads wait for.
    latency_ns: float
    bytes_per_s: float
    n_cores: int
    #: All entries of the dataset, whose bytes are ``file_bytes``; None: nobody tells.
    file_entries: float | None = None
    #: When the result was complete, UTC.
    measured_at: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """Where a job can be sent."""
        return self.site, self.storage

    @property
    def means(self) -> tuple[str, str, str, bool]:
        """By what it reads: engine, its version, strategy; and through a cold cache, which reads in its own way."""
        return self.engine, self.version, self.strategy, self.kind.endswith(" cold")

    @property
    def busy_ns(self) -> float:
        """The CPU time of its cores, on average: what it would take if it never waited."""
        return (self.cpu_ns + self.work_ns) / self.n_cores

    @property
    def cpu_efficiency(self) -> float:
        """CPU time over wall time and cores."""
        return self.busy_ns / self.wall_ns


def cells_of(results: Iterable[Result]) -> list[Cell]:
    """Return the cells of results that read; others, and those that did not end well, have none."""
    return [cell for result in results if (cell := _cell(result)) is not None]


def _cell(result: Result) -> Cell | None:
    case, row = result.case, summary_of(result)
    workload: dict[str, Any] = case["workload"]
    wall, cpu = (judged(key, is_shared=result.is_shared).figure(result) for key in ("wall_ns", "cpu_ns"))
    n_entries = _median(sample.details.get("n_entries") for sample in result.counted()) or result.dataset.get(
        "n_entries"
    )
    is_read = workload.get("kind", "read") == "read"
    if result.outcome is not Outcome.OK or not is_read or not wall or not cpu or not n_entries:
        return None
    work_ns = float(workload.get("work_ns_per_entry") or 0) * n_entries
    latency_ns, bytes_per_s = _line(result)
    columns = workload.get("columns")
    return Cell(
        site=row.site,
        storage=row.storage,
        kind=" ".join(filter(None, (row.storage_kind, case["storage"].get("cache")))),
        engine=row.engine,
        version=row.version,
        strategy=row.strategy,
        workload=row.workload,
        what=key_of(
            [
                case["dataset"],
                case.get("layout"),
                *(workload.get(key) for key in ("columns", "column_share", "order")),
                workload.get("seed") if workload.get("column_share") else None,
                bool(workload.get("entry_share") or workload.get("entry_list")),
            ]
        ),
        columns=None if columns is None else tuple(columns),
        n_entries=float(n_entries),
        file_bytes=result.dataset.get("file_bytes"),
        wall_ns=wall,
        cpu_ns=max(cpu - work_ns, 0.0),
        work_ns=work_ns,
        n_bytes=_median(_n_bytes(sample.counters) for sample in result.counted()),
        n_requests=_median(_n_requests(sample.counters.get("store", {})) for sample in result.counted()),
        latency_ns=latency_ns,
        bytes_per_s=bytes_per_s,
        n_cores=n_cores_asked(result),
        file_entries=result.dataset.get("n_entries"),
        measured_at=row.created_at,
    )


def _n_bytes(counters: Counters) -> int | None:
    origin = counters.get("origin_line", {}).get("n_bytes")
    return origin or counters.get("store", {}).get("n_bytes")


def _n_requests(counters: dict[str, int]) -> int | None:
    told = [counters[name] for name in ("n_reads", "n_vector_reads") if name in counters]
    return sum(told) if told else None


def _line(result: Result) -> tuple[float, float]:
    """Round trip and bandwidth of what reads wait for, as measured: before a cache that is cold its origin's."""
    storage: dict[str, Any] = result.case["storage"]
    prefix = "origin_" if storage.get("cache") == "cold" else ""
    asked: dict[str, Any] = storage.get(f"{prefix}line") or {}
    figures = []
    for name, pattern, default in (
        ("latency_ns", "latency_{}_ns", _NO_LATENCY_NS),
        ("bytes_per_s", "bytes_per_s_{}", _NO_LIMIT),
    ):
        told = (
            [result.line.get(pattern.format(when)) for when in ("before", "after")]
            if not prefix
            else [result.line.get(prefix + name)]
        )
        there = [value for value in told if value]
        figures.append(statistics.median(there) if there else float(asked.get(name) or default))
    return figures[0], figures[1]


def _median(values: Iterable[Any]) -> float | None:
    told = [value for value in values if value is not None]
    return statistics.median(told) if told else None
