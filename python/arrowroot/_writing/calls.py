"""The calls that write files: a new one, one that keeps what an older has, and one with a single table."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from arrowroot import _native
from arrowroot._arguments import explain, refuse_swapped, takes
from arrowroot._cost.stalls import parse_threshold
from arrowroot._errors import InvalidRequestError
from arrowroot._layout import settings
from arrowroot._layout.layout import OF_LAYOUT
from arrowroot._render import shown
from arrowroot._sizes import checked_count, parse_size
from arrowroot._storage.url import as_location, split_url
from arrowroot._writing.contexts import GROWTH_SECONDS
from arrowroot._writing.file import WritableDirectory, WritableFile
from arrowroot._writing.location import path_and_name, path_of_root
from arrowroot._writing.older import Older
from arrowroot._writing.options import FileOptions, TableOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Unpack

    from arrowroot._layout.layout import LayoutLike, Unsaid
    from arrowroot._layout.projections import ProjectionsLike
    from arrowroot._layout.settings import Codec, Compression, Flush
    from arrowroot._storage.url import Location
    from arrowroot._writing.data import TableData
    from arrowroot._writing.late import Columns
    from arrowroot._writing.schema import SchemaLike


@takes()
def create(
    path: Location,
    *,
    compression: Codec = settings.DEFAULT,
    reproducible: bool = False,
    n_threads: int = 0,
    buffers: int | str = settings.BUFFERS,
    stall_threshold: float = 0.1,
    growth_threshold: float = GROWTH_SECONDS,
    trace_stalls: bool = False,
) -> WritableFile:
    """Begin a ROOT file; it is there, under its name, when it is closed.

        with ar.create("out.root") as f:
            events = f.tree("Events")
            for batch in batches:
                events.append(batch)
            f["h_pt"] = histogram

    path: a path of this machine, as text or ``os.PathLike``, or file://. A file of that name is replaced when this one
        is whole, and not before.
    compression: of its tables and objects, as :func:`write` has it, but one codec for all.
    reproducible: the same data give the same bytes, on any day and in any directory: the file has no UUID, and its
        objects no time.
    n_threads: that compress; 0 for as many as there are cores, which is the most. The bytes do not depend on it.
    buffers: bound on the memory for what waits to be compressed and written. One cluster may exceed it, if ``flush``
        asks for one so large.
    stall_threshold: seconds from which on the wait of a context counts as a stall.
    growth_threshold: seconds for which compression may fall behind before that is told, see ``TableWriter.context``.
    trace_stalls: keep what each context does when, up to a million of intervals, for the picture of ``arrowroot
        stalls``.

    Raises: InvalidRequestError for other stores and for options that make no sense; StorageError if there is no such
        directory, or no permission.

        >>> with ar.create("new.root", compression="zstd:5") as new:
        ...     new["t"] = data
        ...     new["plots/h"] = np.histogram([1, 2, 2], bins=3)
    """
    target = path_of_root(path)
    codec = settings.codec_number(compression)
    native = _native.create_file(
        target,
        compression=settings.OBJECT_CODEC if codec in (None, settings.TRIED) else codec,
        is_reproducible=bool(reproducible),
        n_threads=checked_count(n_threads, "n_threads"),
        buffer_bytes=parse_size(buffers, "buffers"),
    )
    threshold_ns = parse_threshold(stall_threshold)
    growth_ns = parse_threshold(growth_threshold, "growth_threshold")
    native.watch(stall_ns=threshold_ns, growth_ns=growth_ns, keeps_intervals=bool(trace_stalls))
    return WritableFile(native, target, codec, threshold_ns)


@takes(FileOptions.__annotations__, explained_by=create.__doc__)
def update(path: Location, **options: Unpack[FileOptions]) -> WritableFile:
    """Begin a file that keeps what an older one of its name has: more is written into it, or other objects are.

        with ar.update("out.root") as f:
            f["h_pt"] = histogram
            del f["h_old"]

    path: as for :func:`create`, which this does if there is no such file.

    An object that is written takes the place of an older one of its name, and ``del`` leaves out one, or a directory.
    All others are copied when the file is closed: tables as they are stored, of each name the newest cycle. So an
    update takes the time of copying the file, and its size on the disk; until then, and after any error, the older file
    is what it was. A warning tells what is not as it was; with ``reproducible`` baskets keep the times that they have.

    Raises: as :func:`create`; CorruptFileError for what is no file of ROOT's, damaged or was not closed; in the end
        UnsupportedError for what is not copied, as trees inside of lists, and StorageError if another program has
        changed the file meanwhile.

        >>> ar.write("new.root:t", data)
        >>> with ar.update("new.root") as new:
        ...     new["plots/h"] = np.histogram([1, 2, 2], bins=3)
        >>> ar.open("new.root").keys()
        dict_keys(['plots', 't'])
    """
    path = path_of_root(path, "update")
    return _keeping(create(path, **options), partial(Older.of, path), is_copied=False)


def _keeping(file: WritableFile, older_of: Callable[[], Older | None], *, is_copied: bool) -> WritableFile:
    """Have a file that was begun, and that nobody else can write by now, keep what an older one has.

    is_copied: at once, as nothing more will be left out: before data are written, and not behind them.
    """
    try:
        older = older_of()
        if older is not None:
            older.check_whole()
            file.keep(older)
        if is_copied:
            file.copy_older()
    except BaseException:
        file.abort()
        raise
    return file


@takes()
def write(
    path: str,
    data: TableData,
    *,
    schema: SchemaLike | None = None,
    layout: LayoutLike = "ttree",
    title: str = "",
    titles: Mapping[str, str] | None = None,
    columns: Columns = "fixed",
    compression: Compression | Unsaid = OF_LAYOUT,
    flush: Flush | Unsaid = OF_LAYOUT,
    basket_size: int | str | Unsaid | None = OF_LAYOUT,
    page_size: int | str | Unsaid | None = OF_LAYOUT,
    projections: ProjectionsLike | Unsaid = OF_LAYOUT,
    types: Mapping[str, str] | Unsaid = OF_LAYOUT,
    reproducible: bool = False,
    n_threads: int = 0,
    buffers: int | str = settings.BUFFERS,
) -> None:
    """Write a table to a ROOT file: ``ar.write("out.root:Events", data)``.

    path: file and table, "FILE:TABLE"; the table may be in directories. A file of that name is replaced when the new
        one is whole. What it has besides a table of this name stays, as :func:`update` says; :func:`create` begins a
        file that has nothing of an older one.
    data: a pyarrow Table or RecordBatch, several of those or a generator of them, anything with the Arrow C stream or
        array interface (DuckDB, nanoarrow, ...), a :class:`Tree` or a :class:`Scan`, a dictionary of arrays (NumPy,
        Awkward, lists, ...), a structured NumPy array, an Awkward array of records, a frame of pandas or Polars. NumPy
        arrays of several dimensions are fixed lists, masked values are missing. A NaN is a number. An index of
        pandas becomes columns, called as its levels or ``__index_level_0__``, and comes back by ``to_pandas``; a count
        from 0 without a name is noted alone.
    schema: see :meth:`WritableFile.tree`. Without one it is that of the data; what has a missing value anywhere in data
        that are in memory, or in the first batch of a stream that has entries, may have missing values.
    layout: "ttree", which every version of ROOT and every other library reads, or "rntuple", ROOT's new format, which
        is smaller and is written and read faster, from ROOT 6.34 on; or how it is stored in all detail: a
        :class:`Layout`, the name of a preset, or the path of a TOML file. The options below count more.
    title: of the table; ``titles``: of columns, by name.
    columns: "fixed": all data have the columns of the first; "grow": more columns may come up later; "vary": and data
        may lack some. A value that is not there is 0, false or empty, or missing if the column may have missing values.
    compression: "zstd", "zstd:5", ("zstd", 5), ROOT's number 505, None for none; or those by column:
        ``{"Muon_*": "lz4", "*": "zstd"}``, of which the first glob that matches counts. Codecs are zstd, zlib, lz4 and
        lzma, levels 1 to 9. "auto": the one of several that does best with the first cluster, by size and a fixed
        table of costs. "default", also if nothing is said: ROOT's defaults, zlib 1 for trees and zstd 5 for RNTuples.
    flush: where clusters end: after so many compressed bytes ("30 MB"), after so many entries (1000), or never (None,
        of a tree: baskets are written when they are full). "auto": ROOT's defaults, 30 MB and 128 MiB; a cluster then
        has at most 64 MB, and a quarter of ``buffers``, before it is compressed.
    basket_size, page_size: bytes of a basket of a tree or a page of an RNTuple, uncompressed; None: baskets fit the
        cluster, pages are as ROOT's.
    projections: of an RNTuple, further names for columns, members and lengths, which take no bytes of pages:
        ``{"Muon_pt": "Muon.pt", "nMuon": "#Muon"}``; "flat": those that a flat tree has.
    types: C++ types of fields and branches: ``{"hits": "std::set<int>"}``; see :class:`Layout`.

    Raises: InvalidRequestError, UnsupportedError, StorageError, as :meth:`TableWriter.append` and :func:`create` do; no
        file is left then, and an older one is what it was.

        >>> ar.write("new.root:Events", {"x": np.arange(3.0)}, compression="zstd:5")
        >>> ar.write("new.root:Events", tree.scan(["run", "MET_pt"]), layout="rntuple")
    """
    refuse_swapped("write", path, data)
    _refuse_object(path, data)
    file, name = path_and_name(path)
    # As the file tells it to those who ask.
    of_file = compression if isinstance(compression, str | int) else settings.DEFAULT
    with with_table(
        file, name, compression=of_file, reproducible=reproducible, n_threads=n_threads, buffers=buffers
    ) as made:
        table = made.tree(
            name,
            schema,
            layout=layout,
            title=title,
            titles=titles or {},
            columns=columns,
            compression=compression,
            flush=flush,
            basket_size=basket_size,
            page_size=page_size,
            projections=projections,
            types=types,
        )
        table.add_all(data)


def with_table(path: str, name: str, **options: Unpack[FileOptions]) -> WritableFile:
    """Begin a file that gets a table of a name, and keeps what one that is there has besides.

    Raises: as :func:`update`; what does not begin as a file of ROOT's has nothing to keep.
    """
    path = path_of_root(path)
    return _keeping(create(path, **options), partial(Older.beside, path, name), is_copied=True)


def _refuse_object(path: Location, data: Any) -> None:
    """Raise InvalidRequestError for a histogram or another object in the place of a table, with the line to write."""
    from arrowroot._writing.data import is_table_data

    if is_table_data(data) and not isinstance(data, dict):
        return
    from arrowroot._writing.objects import is_object

    if not is_object(data):
        return
    file, name = split_url(path) if isinstance(path, str) else (as_location(path), None)
    if isinstance(data, dict):
        written = "; ".join(f"new[{shown(one)}] = data[{shown(one)}]" for one in data)
    else:
        written = f"new[{shown(name or getattr(data, 'name', None) or 'h')}] = hist"
    begins = "update" if os.path.exists(file) else "create"  # noqa: PTH110 - text
    raise InvalidRequestError(
        f"write() writes a table, and objects are set: write with ar.{begins}({shown(file)}) as new: {written}"
    )


explain(write, ("reproducible", "n_threads", "buffers"), create.__doc__)
explain(WritableDirectory.tree, TableOptions.__annotations__, write.__doc__)
