"""Columns that come up when a table has entries already."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from arrowroot._writing.counters import without_counters
from arrowroot._writing.schema import checked_schema, inferred

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from arrowroot._writing.data import Part

    #: How the columns of data may differ from those of their table.
    Columns: TypeAlias = Literal["fixed", "grow", "vary"]

#: Not at all; some may be new; some may be new, and others not there.
FIXED, GROW, VARY = COLUMNS = ("fixed", "grow", "vary")


class LateColumns(NamedTuple):
    """The columns of some entries that their table has not."""

    #: As they are stored.
    schema: pa.Schema
    #: As they come back when they are read.
    recorded: pa.Schema
    #: The first entries, with all of their columns.
    sample: pa.Table


def late_columns(part: Part, known: pa.Schema, where: str) -> tuple[Part, LateColumns | None]:
    """Return some entries, and those of their columns that their table has not; None if there is none, or no entry.

    The types are told as those of the first entries of a table are. Raises: InvalidRequestError for names and types
    that no column has.
    """
    given = checked_schema(part.schema, where)
    has = set(known.names)
    names = [name for name in given.names if name not in has]
    if not names:
        return part, None
    sample = part.table
    if sample is None:
        drawn = []
        for batch in part.batches:
            drawn.append(batch)
            if batch.num_rows:
                break
        part = part._replace(batches=chain(drawn, part.batches))
        sample = pa.Table.from_batches(drawn[-1:], given)
    if not sample.num_rows:
        return part, None
    new = without_counters(pa.schema([given.field(name) for name in names]))
    schema = inferred(new, part, sample.select(names))
    return part, LateColumns(schema, new if part.is_arrow else schema, sample)
