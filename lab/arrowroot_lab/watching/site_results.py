"""The results of a store as the alarms of places take them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

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
    "n_cores", "campaign",
)  # fmt: skip


def site_results(store: Store, where: Filter, at: datetime) -> Iterator[Figure]:
    """Yield the results of the last 90 days before a time.

    Replays in virtual time have no place, and what a check has measured again is no round: it is of the same night.
    """
    since = where.since or (at - timedelta(days=MOST_DAYS)).isoformat()[:10]
    until = where.until or (at + timedelta(seconds=1)).isoformat()[:19]
    found = store.rows(replace(where, since=since, until=until), _COLUMNS)
    rows = [row for row in found if not row.campaign.endswith(CONFIRMING.format(""))]
    walls = _without_queues(store, [row.id for row in rows if row.node])
    layouts = defaultdict(set)
    for row in rows:
        layouts[row.dataset].add(row.layout)
    for row in rows:
        if row.storage_kind == VIRTUAL:
            continue
        layout = (row.layout or "")[:8] if len(layouts[row.dataset]) > 1 else ""
        cores = f"{row.n_cores} cores" if row.n_cores > 1 else ""
        yield Figure(
            uuid=row.uuid,
            site=row.site,
            storage=row.storage,
            case=" / ".join(filter(None, (row.dataset, layout, row.workload, row.strategy, cores, row.node))),
            engine=row.engine,
            version=row.version,
            run=row.run,
            created_at=row.created_at,
            wall_ns=walls.get(row.uuid, row.wall_median_ns),
            cpu_ns=row.cpu_minimum_ns if row.node else row.cpu_median_ns,
            control_ns=row.control_ns,
            model=row.cpu_model,
            n_cores=row.n_cores,
        )


def _without_queues(store: Store, keys: list[int]) -> dict[str, float]:
    """The wall times of results of shared nodes, without what they waited for a processor, by UUID.

    The least of each: others on the node make a sample slower, and none faster.
    """
    found: dict[str, list[float]] = defaultdict(list)
    for one in store.flat("samples", ("uuid", "is_counted", "wall_ns", "queued_ns"), keys):
        if one.is_counted and one.wall_ns is not None:
            found[one.uuid].append(one.wall_ns - (one.queued_ns or 0))
    return {uuid: min(walls) for uuid, walls in found.items()}
