"""Trees of many files as Dask collections: a DataFrame, a Bag, or an array of dask-awkward.

    import arrowroot.dask as ard

    frame = ard.dataframe("data/*.root", "Events", ["nMuon", "MET_pt"], filter="nMuon >= 2")
    frame.MET_pt.mean().compute()

Each partition is one of ``arrowroot.partitions`` and is read where its task runs. Of the columns only those are read
that the computation needs; the filter is computed where the data are, before the other columns are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._api.partitions import partitions
from arrowroot._arrow.convert import empty_batch, names_of_variants, to_awkward, to_pandas
from arrowroot._errors import UnsupportedError, missing_library

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import dask.bag
    import dask.dataframe
    import dask_awkward
    import pandas as pd
    import pyarrow as pa

    from arrowroot._api.partitions import Partition
    from arrowroot._select.columns import Columns
    from arrowroot._storage.url import Location

__all__ = ["awkward", "bag", "dataframe"]


def dataframe(
    paths: Location | Iterable[Location],
    tree: str | None = None,
    columns: Columns = None,
    **options: Any,
) -> dask.dataframe.DataFrame:
    """Return a ``dask.dataframe.DataFrame``; columns that the computation does not use are not read.

    ``options`` are those of ``arrowroot.partitions``: target, filter, filter_name, strings, assemble, friends, and
    those of the storage.
    Lists become objects (NumPy arrays); numbers that may be null, and texts, have Arrow's types.
    """
    try:
        import dask
        import dask.dataframe as dd
    except ImportError as error:
        raise missing_library("dask[dataframe]", "arrowroot.dask.dataframe()", "dask") from error
    pieces = partitions(paths, tree, columns, **options)
    meta = _frame_of(_empty(pieces[0]))
    # By default Dask takes whatever is an object for text, and makes text of it: of lists, too.
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(_frame, pieces, meta=meta, label="arrowroot")


def _frame(piece: Partition, columns: list[str] | None = None) -> pd.DataFrame:
    """Read a piece. By the name of the second argument Dask knows that it can ask for fewer columns."""
    return _frame_of(piece.read(columns))


def _frame_of(table: pa.Table) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    frame = to_pandas(table)
    for one in table.schema:
        # Whether a piece has nulls must not decide the type of its column.
        if one.nullable and (pa.types.is_primitive(one.type)):
            values = pd.arrays.ArrowExtensionArray(table[one.name])
            frame[one.name] = pd.Series(values, index=frame.index)
        elif pa.types.is_string(one.type):
            frame[one.name] = frame[one.name].astype("string[pyarrow]")
    return frame


def _empty(piece: Partition) -> pa.Table:
    """Return a table of no entries with the columns of a piece."""
    import pyarrow as pa

    return pa.Table.from_batches([empty_batch(piece.schema())])


def bag(
    paths: Location | Iterable[Location],
    tree: str | None = None,
    columns: Columns = None,
    **options: Any,
) -> dask.bag.Bag:
    """Return a ``dask.bag.Bag`` of entries, each a dict from column to value; ``options`` as for :func:`dataframe`.

    All chosen columns are read: a bag does not know which are used.
    """
    try:
        import dask.bag
    except ImportError as error:
        raise missing_library("dask", "arrowroot.dask.bag()") from error
    pieces = partitions(paths, tree, columns, **options)
    return dask.bag.from_sequence(pieces, npartitions=len(pieces)).map_partitions(_entries)


def _entries(pieces: Sequence[Partition]) -> list[dict[str, Any]]:
    # A list: what goes between processes cannot be a generator.
    return [entry for piece in pieces for batch in piece.scan() for entry in batch.to_pylist()]


def awkward(
    paths: Location | Iterable[Location],
    tree: str | None = None,
    columns: Columns = None,
    **options: Any,
) -> dask_awkward.Array:
    """Return a ``dask_awkward.Array`` of records, one for each entry; ``options`` as for :func:`dataframe`.

    Columns that the computation does not use are not read.
    """
    try:
        import dask_awkward

        from arrowroot._dask_awkward import Reader
    except ImportError as error:
        raise missing_library("dask-awkward", "arrowroot.dask.awkward()") from error
    pieces = partitions(paths, tree, columns, **options)
    empty = _empty(pieces[0])
    if variants := names_of_variants(empty.schema):
        raise UnsupportedError(
            f"dask-awkward cannot follow variants; leave out {', '.join(map(repr, variants))}"
        )
    form = to_awkward(empty).layout.form
    divisions = None
    if pieces[0].filter is None:
        ends = [0]
        for piece in pieces:
            ends.append(ends[-1] + piece.num_entries)
        divisions = tuple(ends)
    return dask_awkward.from_map(Reader(form), pieces, label="arrowroot", divisions=divisions)
