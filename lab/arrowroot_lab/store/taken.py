"""Samples as comparisons and figures ask for them: when each was taken, and its values of some metrics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ARRAY, Float, and_, any_, case, cast, func, null, select

from .tables import counter, result, sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Select


#: Metrics for which the row of the sample is enough.
_OF_SAMPLE = {*sample.c.keys(), "unqueued_ns"}


class Taken(NamedTuple):
    """One sample."""

    turn: int
    #: As its document has it.
    started_at: str
    #: One for each metric; None: it is not counted, or does not tell it.
    values: tuple[float | None, ...]
    #: The hash of the trace that it was replayed from: samples of one trace are exact to each other. None: measured.
    trace: str | None

    @property
    def value(self) -> float | None:
        """Its value of the first metric."""
        return self.values[0]


class TakenColumns(NamedTuple):
    """The samples of a result in their order, a column for each thing that is told of them."""

    turns: Sequence[int]
    #: As its document has them.
    started_at: Sequence[str]
    #: The hashes of what they were replayed from in virtual time; None: measured.
    traces: Sequence[str | None]
    #: A column for each metric.
    values: Sequence[Sequence[float | None]]


def taken_of(ids: Sequence[int], keys: Sequence[str], dialect: str) -> Select[Any]:
    """Return the query for the samples of the results of some rows, in their order.

    A row is that of the result, turn, start and trace, and the value of each metric: None if the sample is not counted.
    """
    joined: Any = sample
    if any("." not in key and key not in _OF_SAMPLE for key in keys):
        joined = result.join(sample, sample.c.result_id == result.c.id)
    values: list[ColumnElement[Any]] = []
    for key in keys:
        layer, _, name = key.partition(".")
        value: ColumnElement[Any]
        if name:
            of_key = counter.alias()
            is_it = and_(
                of_key.c.result_id == sample.c.result_id,
                of_key.c.place == sample.c.place,
                of_key.c.layer == layer,
                of_key.c.name == name,
            )
            joined, value = joined.outerjoin(of_key, is_it), of_key.c.value
        else:
            value = _value(key)
        values.append(case((sample.c.is_counted == 1, value), else_=null()))
    return (
        select(sample.c.result_id, sample.c.turn, sample.c.started_at, sample.c.trace, *values)
        .select_from(joined)
        .where(is_among(sample.c.result_id, ids, dialect))
        .order_by(sample.c.result_id, sample.c.place)
    )


def is_among(
    column: ColumnElement[Any], values: Sequence[int] | Sequence[str], dialect: str
) -> ColumnElement[bool]:
    """The condition that a column has one of some values, of any number: they go to the database as one text."""
    if dialect == "postgresql":
        told = func.string_to_array(",".join(map(str, values)), ",")
        return column == any_(cast(told, ARRAY(column.type)))
    return column.in_(select(func.json_each(json.dumps(values)).table_valued("value").c.value))


def _value(key: str) -> ColumnElement[Any]:
    """The value of a metric that is no counter."""
    if key == "cpu_efficiency":
        return cast(sample.c.cpu_ns, Float) / func.nullif(sample.c.wall_ns * result.c.n_cores, 0)
    if key == "unqueued_ns":
        return sample.c.wall_ns - func.coalesce(sample.c.queued_ns, 0)
    if key == "entries_per_s":
        n_entries = func.nullif(func.coalesce(sample.c.n_entries, result.c.n_entries), 0)
        return cast(n_entries, Float) / func.nullif(sample.c.wall_ns, 0) * 1e9
    return sample.c[key] if key in sample.c else result.c[key]
