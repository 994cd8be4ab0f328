"""Events looked up in a row of which files may be left out: those in trees whose ids prove damaged are, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot._passes.source import batches_of
from arrowroot._select.events import FoundEvents

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._api.row import Row
    from arrowroot._options import Options
    from arrowroot._passes.left_out import LeavingOut
    from arrowroot._select.events import EventList


def found_in_whole(
    row: Row, leaving_out: LeavingOut, events: EventList, paths: list[str], options: Options
) -> npt.NDArray[np.int64]:
    """Return the numbers of events by the columns of their ids."""
    source = row.source(paths, None, options)
    leaving_out.begin_look_up()

    def in_trees() -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches_of(source):
            if batch.num_rows:
                yield int(row.owners(source.numbers()[:1])[0]), batch

    found = events.found_in_trees(in_trees(), paths)
    kept = _whole(row, leaving_out)[found.trees]
    entries = found.entries + row.first_entries[found.trees]
    return events.entries(FoundEvents(found.indices, found.trees, entries).where(kept), row.location)


def indexed_in_whole(
    row: Row,
    leaving_out: LeavingOut,
    events: EventList,
    paths: list[str],
    options: Options,
    *,
    found: FoundEvents,
) -> npt.NDArray[np.int64]:
    """Return the numbers of events that an index gives. Raises: CorruptFileError if a whole tree has others there."""
    import pyarrow as pa

    source = row.source(paths, found.in_order(), options)
    leaving_out.begin_look_up()
    read = [(source.numbers(), batch) for batch in batches_of(source)]
    whole = _whole(row, leaving_out)
    found = found.where(whole[row.owners(found.entries)])
    batches = (batch.filter(pa.array(whole[row.owners(numbers)])) for numbers, batch in read)
    events.refuse_others(found, batches, paths, row.location)
    return events.entries(found, row.location)


def _whole(row: Row, leaving_out: LeavingOut) -> npt.NDArray[np.bool_]:
    """Return which trees the pass that is over could read; the others are left out from now on."""
    import numpy as np

    whole = np.ones(len(row.members), dtype=np.bool_)
    whole[leaving_out.drop_not_read()] = False
    return whole
