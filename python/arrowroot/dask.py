"""Trees of many files as Dask collections (a DataFrame, a Bag, an array of dask-awkward), and collections as files.

    import arrowroot.dask as ard

    frame = ard.dataframe("data/*.root", "Events", ["nMuon", "MET_pt"], filter="nMuon >= 2")
    frame.MET_pt.mean().compute()

Each partition is one of ``arrowroot.partitions`` and is read where its task runs. Of the columns only those are read
that the computation needs; the filter is computed where the data are, before the other columns are read.

    ard.write(frame, "skim/", tree="Events", layout="rntuple")

writes a file for each partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._api.partitions import partitions
from arrowroot._arguments import takes
from arrowroot._arrow.convert import empty_batch, names_of_variants, to_awkward, to_pandas
from arrowroot._attributes import no_attribute
from arrowroot._errors import UnsupportedError, missing_library
from arrowroot._writing.file import WritableDirectory
from arrowroot._writing.options import TableOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import dask.bag
    import dask.dataframe
    import dask_awkward
    import pandas as pd
    import pyarrow as pa
    from typing_extensions import Unpack

    from arrowroot._api.partitions import Partition
    from arrowroot._dask_writing import WrittenPart
    from arrowroot._select.columns import Columns
    from arrowroot._storage.url import Location
    from arrowroot._writing.schema import SchemaLike

__all__ = ["awkward", "bag", "dataframe", "write"]


def dataframe(
    paths: Location | Iterable[Location],
    tree: str | None = None,
    columns: Columns = None,
    **options: Any,
) -> dask.dataframe.DataFrame:
    """Return a ``dask.dataframe.DataFrame``; columns that the computation does not use are not read.

    ``options`` are those of ``arrowroot.partitions``: target, filter, filter_name, define, strings, assemble, friends,
    missing, promote, and those of the storage.
    Lists become objects (NumPy arrays); numbers that may be null, and texts, have Arrow's types.
    """
    try:
        import dask
        import dask.dataframe as dd
        from dask.dataframe.utils import clear_known_categories
    except ImportError as error:
        raise missing_library("dask[dataframe]", "arrowroot.dask.dataframe()") from error
    pieces = partitions(paths, tree, columns, **options)
    # No piece has been read, so nobody knows the categories.
    meta = clear_known_categories(_frame_of(_empty(pieces[0])))
    # By default Dask takes whatever is an object for text, and makes text of it: of lists, too.
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(_frame, pieces, meta=meta, label="arrowroot")


def _frame(piece: Partition, columns: list[str] | None = None) -> pd.DataFrame:
    """Read a piece. By the name of the second argument Dask knows that it can ask for fewer columns."""
    return _frame_of(piece.read(columns))


def _frame_of(table: pa.Table) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    # An index that pandas recorded is a column as any other: not every computation reads it.
    frame = to_pandas(table, ignore_metadata=True)
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


@takes(
    TableOptions.__annotations__, defaults={"layout": "ttree"}, explained_by=WritableDirectory.tree.__doc__
)
def write(
    collection: Any,
    directory: Location,
    *,
    tree: str = "Events",
    schema: SchemaLike | None = None,
    **options: Unpack[TableOptions],
) -> list[WrittenPart]:
    """Write a collection to a directory: a ROOT file for each partition, ``part-00000.root``, ``part-00001.root``, ...

        ard.write(frame, "skim/", layout="aod-2011")

    collection: a ``dask.dataframe.DataFrame``, an array of dask-awkward, a ``dask.bag.Bag`` of dictionaries, or delayed
        tables: one, or a list of them, each of any kind of data that :func:`arrowroot.write` takes.
    directory: of this machine and of the workers; made if it is not there.
    tree: what the table is called in each file.
    schema: of all files, as :meth:`WritableFile.tree` takes it. Without one each partition says its own, which may
        differ where one has missing values, or no entries: give one then.

    Where a layout has the largest collection split (``aod-2011``), each file has its own: name it in ``split``, so that
    files are alike for those who read them as one.

    It can be called again, after an error or an interruption: a file that is there, whole and of the same input, is
    kept, and its partition is not computed. The input is the same if Dask's key of the partition is (of delayed values
    with ``pure=True`` alone), and so are the options. Another file that this function wrote is removed first, so the
    file of a partition that fails is not there; any other of these names is an error, and nothing is removed. Files are
    whole or not there at all. One process at a time writes to a directory.

    Returns the files in the order of the partitions: path, number of entries, and whether it was kept.

    Raises: what computing and writing raise, when the first partition fails; InvalidRequestError for what is no such
        collection, for options that make no sense, and if the directory has partitions of a longer collection, or files
        of these names that are none of this function; StorageError if the directory cannot be made or read, or another
        process writes to it.
    """
    try:
        import dask
    except ImportError as error:
        raise missing_library("dask", "arrowroot.dask.write()") from error
    from arrowroot._dask_writing import OutputFiles, parts_of

    target = OutputFiles.of(directory, tree, schema, options)
    parts = list(parts_of(collection))
    found: dict[int, WrittenPart] = {}
    tasks: dict[int, Any] = {}
    with target.held(len(parts)):
        for number, (key, data) in enumerate(parts):
            path, wanted = target.path_of(number, len(parts)), target.input_of(key)
            there = target.kept(path, wanted)
            if there is None:
                tasks[number] = dask.delayed(target.write)(data, path, wanted)
            else:
                found[number] = there
        for number in tasks:
            target.remove(target.path_of(number, len(parts)))
        found.update(zip(tasks, dask.compute(*tasks.values()), strict=True))
    return [found[number] for number in range(len(parts))]


def __getattr__(name: str) -> Any:
    """Refuse a name that is not here, with what to write instead."""
    raise no_attribute(__name__, name)
