"""The newest results of a campaign as rows, and the cells of Markdown that are made of them."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot_lab.documents import Outcome
from arrowroot_lab.store import Filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arrowroot_lab.documents import Result, Sample
    from arrowroot_lab.store import Store

#: Whose versions are told with the figures.
PEERS = ("ROOT", "awkward", "numpy", "uproot", "xrootd")


class Row(NamedTuple):
    """A case: what it is called, its counted samples, and why there are none."""

    dataset: str
    storage: str
    engine: str
    workload: str
    strategy: str
    threads: int
    #: Each with times, the runner's details, and counters as ``store.n_reads``.
    samples: list[dict[str, Any]]
    error: str | None
    result: Result


def rows(store: Store, campaign: str) -> list[Row]:
    """Return the newest result of each case of a campaign, by what the case is called."""
    found = store.summaries(Filter(campaign=(campaign,), newest=True))
    newest: dict[tuple[object, ...], Row] = {}
    for result in store.of(one.uuid for one in found):
        row = row_of(result)
        newest.setdefault(row[:5], row)
    return list(newest.values())


def row_of(result: Result) -> Row:
    """Return a result as a row."""
    case = result.case
    return Row(
        str(case.get("dataset_name")), str(case.get("storage_name")), case["engine"], str(case.get("workload_name")),
        str(case["strategy"]["name"]), int(case.get("threads") or 1), [_flat(one) for one in result.counted()],
        None if result.outcome is Outcome.OK else result.reason or result.outcome.value, result,
    )  # fmt: skip


def _flat(sample: Sample) -> dict[str, Any]:
    told = {"wall_ns": sample.wall_ns, "cpu_ns": sample.cpu_ns, "peak_rss_bytes": sample.peak_rss_bytes}
    counters = {
        f"{layer}.{name}": value for layer, of in sample.counters.items() for name, value in of.items()
    }
    return {**sample.details, **sample.details.get("engine", {}), **counters, **told}


def find(rows: Iterable[Row], **names: object) -> Row | None:
    """Return the row whose fields have these values."""
    return next((row for row in rows if all(getattr(row, key) == name for key, name in names.items())), None)


def median(row: Row | None, key: str) -> float | None:
    """Return the median of a row's samples; None for a row that failed, or was not measured."""
    if row is None or row.error:
        return None
    values = [sample[key] for sample in row.samples if sample.get(key) is not None]
    return statistics.median(values) if values else None


def best(rows: Iterable[Row], key: str, *, but: Sequence[str], threads: int = 1) -> tuple[float, str] | None:
    """Return the least median among engines with at most as many threads, and whose it is."""
    found = [
        (value, row.engine)
        for row in rows
        if row.engine not in but and row.threads <= threads and (value := median(row, key))
    ]
    return min(found, default=None)


def measured(rows: Sequence[Row], peers: Sequence[str] = PEERS) -> str:
    """When, where, at which commit and with which peers: the machine's kind, not which one, and if it was shared."""
    newest = max(rows, key=lambda row: row.result.created_at).result
    machine = newest.environment
    loads = [
        load for row in rows for one in row.result.samples if (load := one.readings.get("load_1_minute"))
    ]
    versions = {name: version for row in rows for name, version in row.result.versions.items()}
    commits = sorted({row.result.versions["commit"] for row in rows if "commit" in row.result.versions})
    told = [f"{name} {versions[name]}" for name in peers if name in versions]
    told += [f"arrowroot {' and '.join(commits)}"] if commits else []
    where = [
        newest.created_at[:10], str(machine.get("cpu")), f"{machine.get('n_cores')} cores",
        f"{(machine.get('memory_bytes') or 0) / 2**30:.0f} GiB",
    ]  # fmt: skip
    where += [f"load {statistics.median(loads):.1f}"] if loads else []
    shared = "; others used the node meanwhile" if any(row.result.is_shared for row in rows) else ""
    return f"{', '.join(where)}; {', '.join(told)}{shared}"


def ratio(a: float | None, b: float | None) -> float | None:
    """A over b, where both are known."""
    return a / b if a is not None and b else None


def text(value: float | None, digits: int = 2) -> str:
    """A number to show."""
    return "" if value is None else f"{value:.{digits}f}"


def mark(value: float | None, target: float, *, at_least: bool = False) -> str:
    """True if a target is met, to show."""
    if value is None:
        return ""
    return "yes" if (value >= target if at_least else value <= target) else "**no**"


def mark_readings(first: float | None, later: float | None, target: float) -> str:
    """The readings of a process that meet a target, to show."""
    if first is None or first > target:
        return "later" if later is not None and later <= target else mark(first, target)
    return "yes"


def markdown(header: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """A table, numbers to the right."""
    right = ["---:" if k else "---" for k in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, right, *cells])
