"""Samples as comparisons and figures ask for them: when each was taken, and its value of one metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Float, and_, case, cast, func, null, select

from .tables import counter, result, sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Select


class Taken(NamedTuple):
    """One sample."""

    turn: int
    #: As its document has it.
    started_at: str
    #: None: it is not counted, or does not tell it.
    value: float | None
    #: The hash of the trace that it was replayed from: samples of one trace are exact to each other. None: measured.
    trace: str | None


def taken_of(uuids: Sequence[str], key: str) -> Select[Any]:
    """Return the query for the samples of some results, in their order; a row is a UUID and a ``Taken``."""
    layer, _, name = key.partition(".")
    value: ColumnElement[Any]
    joined: Any = result.join(sample, sample.c.result_id == result.c.id)
    if name:
        is_it = and_(
            counter.c.result_id == sample.c.result_id,
            counter.c.place == sample.c.place,
            counter.c.layer == layer,
            counter.c.name == name,
        )
        joined, value = joined.outerjoin(counter, is_it), counter.c.value
    elif key == "cpu_efficiency":
        value = cast(sample.c.cpu_ns, Float) / func.nullif(sample.c.wall_ns * result.c.n_cores, 0)
    elif key == "unqueued_ns":
        value = sample.c.wall_ns - func.coalesce(sample.c.queued_ns, 0)
    elif key == "entries_per_s":
        n_entries = func.nullif(func.coalesce(sample.c.n_entries, result.c.n_entries), 0)
        value = cast(n_entries, Float) / func.nullif(sample.c.wall_ns, 0) * 1e9
    else:
        value = sample.c[key]
    counted = case((sample.c.is_counted == 1, value), else_=null())
    return (
        select(result.c.uuid, sample.c.turn, sample.c.started_at, counted, sample.c.trace)
        .select_from(joined)
        .where(result.c.uuid.in_(uuids))
        .order_by(sample.c.result_id, sample.c.place)
    )
