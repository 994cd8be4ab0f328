"""The results of a store as the alarms of places take them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from arrowroot_lab.store.summary import VIRTUAL

from .places import Figure
from .sides import CONFIRMING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arrowroot_lab.store import Filter, Store

#: Older results tell nothing of a place's level.
MOST_DAYS = 90
_COLUMNS = (
    "id", "uuid", "site", "storage", "storage_kind", "dataset", "layout", "workload", "strategy", "engine", "version",
    "node", "run", "created_at", "wall_median_ns", "cpu_median_ns", "cpu_minimum_ns", "control_ns", "cpu_model",
    "n_cores", "peak_rss_bytes", "campaign",
)  # fmt: skip
_NODE, _DATASET, _LAYOUT = (_COLUMNS.index(name) for name in ("node", "dataset", "layout"))


def site_results(store: Store, where: Filter, at: datetime) -> Iterator[Figure]:
    """Yield the results of the last 90 days before a time.

    Replays in virtual time have no place, and what a check has measured again is no round: it is of the same night.
    """
    found = store.rows(between(where, at), _COLUMNS)
    again = CONFIRMING.format("")
    # Rows are long, and many: a name that is looked up in each costs more than what is done with it.
    rows = [tuple(row) for row in found if not row.campaign.endswith(again)]
    walls = _without_queues(store, [row[0] for row in rows if row[_NODE]])
    layouts = defaultdict(set)
    for row in rows:
        layouts[row[_DATASET]].add(row[_LAYOUT])
    cases: dict[tuple[Any, ...], str] = {}
    for row in rows:
        (
            _, uuid, site, storage, storage_kind, dataset, layout, workload, strategy, engine, version, node, run,
            created_at, wall_ns, cpu_ns, cpu_minimum_ns, control_ns, model, n_cores, peak_rss_bytes, campaign,
        ) = row  # fmt: skip
        if storage_kind == VIRTUAL:
            continue
        asked = dataset, layout, workload, strategy, n_cores, node
        if (case := cases.get(asked)) is None:
            of_layout = (layout or "")[:8] if len(layouts[dataset]) > 1 else ""
            cores = f"{n_cores} cores" if n_cores > 1 else ""
            case = " / ".join(filter(None, (dataset, of_layout, workload, strategy, cores, node)))
            cases[asked] = case
        yield Figure(
            uuid, site, storage, case, engine, version, run, created_at, walls.get(uuid, wall_ns) if node else wall_ns,
            cpu_minimum_ns if node else cpu_ns, control_ns, model, n_cores, peak_rss_bytes, workload, campaign,
        )  # fmt: skip


def between(where: Filter, at: datetime) -> Filter:
    """Return a filter of the last 90 days before a time, if it has no dates of its own."""
    since = where.since or (at - timedelta(days=MOST_DAYS)).isoformat()[:10]
    return replace(where, since=since, until=where.until or (at + timedelta(seconds=1)).isoformat()[:19])


def _without_queues(store: Store, keys: list[int]) -> dict[str, float]:
    """The wall times of results of shared nodes, without what they waited for a processor, by UUID.

    The least of each: others on the node make a sample slower, and none faster.
    """
    found: dict[str, list[float]] = defaultdict(list)
    for one in store.flat("samples", ("uuid", "is_counted", "wall_ns", "queued_ns"), keys):
        if one.is_counted and one.wall_ns is not None:
            found[one.uuid].append(one.wall_ns - (one.queued_ns or 0))
    return {uuid: min(walls) for uuid, walls in found.items()}
