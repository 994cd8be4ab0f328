"""A stream of record batches, and what it cost."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

from arrowroot._api.column import NumEntries
from arrowroot._arguments import not_made, refuse, takes
from arrowroot._arrow import convert
from arrowroot._attributes import no_attribute
from arrowroot._errors import ArrowrootError, InvalidRequestError, WrongTypeError, not_picklable
from arrowroot._passes.source import TreeSource, batches_of, say_way_around
from arrowroot._render import clip, html_table, printable, type_text
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    import awkward as ak
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from arrowroot._cost.accounts import Account
    from arrowroot._cost.plan import LogicalRead, PhysicalRead, Plan, Read, ScanStats
    from arrowroot._histograms.filling import Histograms
    from arrowroot._histograms.wanted import Hist
    from arrowroot._passes.left_out import LeavingOut, LeftOut
    from arrowroot._passes.shared import Shared
    from arrowroot._passes.source import Source
    from arrowroot._progress import Progress

#: The most characters of a filter that are shown.
_CONDITION_WIDTH = 80
_HTML_COLUMNS = 30
_LABEL_WIDTH = 30


@not_made
class Scan:
    """Chosen columns and entries, to be read in batches with bounded memory.

    Iterate over it for ``pyarrow.RecordBatch`` es, or give it to anything that takes the Arrow C stream
    interface (``polars.DataFrame(scan)``, ``pyarrow.RecordBatchReader.from_stream(scan)``). Nothing is read
    before that. Every iteration, stream or conversion is a pass of its own, which reads anew; ``stats`` is
    of the latest.

        >>> for batch in tree.scan(["run", "MET_pt"], batch_entries=60):
        ...     print(batch.num_rows)
        60
        40
    """

    def __init__(
        self,
        start: Callable[[], Source],
        where: str,
        condition: str = "",
        leaving_out: LeavingOut | None = None,
        *,
        again: Callable[[list[str], Mapping[str, Any]], Scan] | None = None,
        place: Callable[[int], tuple[str, int]] | None = None,
        stored: Callable[[], Mapping[str, pa.Field]] | None = None,
    ) -> None:
        """Take what makes a pass.

        condition: the filter's text, to be shown. again: makes a scan of others, with more options. place: the tree
            that has an entry, and the number of the entry there. stored: gives columns by their names, nullable where
            missing values are stored.
        """
        self._stored = stored
        self._start = start
        self._again = again
        self._place = place
        self._leaving_out = leaving_out
        #: Remarks on each sample of the files, by its name: ``metadata`` of a fileset.
        self.samples: Mapping[str, Mapping[str, Any]] = {}
        self._where = where
        self._condition = condition
        self._source = start()
        self._is_fresh = True

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name)

    @property
    def num_entries(self) -> int:
        """Entries that a pass goes over: those chosen by ``entries``, of which a filter selects some."""
        return NumEntries(self._source.num_entries)

    @property
    def num_selected(self) -> int | None:
        """Entries that the filter selected, known when the latest pass is over, None before; all without a filter."""
        if not self._condition:
            return self.num_entries
        stats = self.stats
        return stats.n_entries if stats.n_passed >= self.num_entries else None

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return self._source.column_names

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns."""
        return self._source.schema()

    @property
    def plan(self) -> Plan:
        """The plan of the reads, window by window; it is known before the first read."""
        return self._source.plan()

    @property
    def stats(self) -> ScanStats:
        """Exact counters of the latest pass, so far."""
        return self._source.stats()

    @property
    def left_out(self) -> list[LeftOut]:
        """Files that could not be opened, and those that the latest pass could not read to their ends: ``on_error``.

        >>> scan = ar.scan(["events.root", "not-there.root"], "Events", ["MET_pt"], on_error="skip")
        >>> [(one.url.rpartition("/")[2], one.reason) for one in scan.left_out]
        [('not-there.root', 'missing')]
        """
        return [] if self._leaving_out is None else self._leaving_out.left_out

    def trace(self) -> list[Read]:
        """Return the physical reads of the latest pass, if the scan was made with ``trace=True``.

        >>> scan = tree.scan(["MET_pt"], trace=True)
        >>> scan.drain().n_entries, len(scan.trace()) == len(scan.physical_reads())
        (100, True)
        """
        return self._source.cost().reads

    @property
    def accounts(self) -> list[Account]:
        """Counts, bytes and times, by kind, of what passed each layer of the storage in the latest pass so far."""
        return self._source.cost().accounts

    def logical_reads(self) -> list[LogicalRead]:
        """Return the baskets that the latest pass needed, if the scan was made with ``trace=True``.

        >>> scan = tree.scan(["MET_pt"], trace=True)
        >>> _ = scan.drain()
        >>> [read.column for read in scan.logical_reads()]
        ['MET_pt']
        """
        return self._source.cost().logical

    def physical_reads(self) -> list[PhysicalRead]:
        """Return the ranges that its store was asked for, with the requests they came in.

        >>> scan = tree.scan(["MET_pt"], trace=True)
        >>> _ = scan.drain()
        >>> [read.operation for read in scan.physical_reads()]
        ['read']
        """
        return self._source.cost().physical

    def cancel(self) -> None:
        """Stop the latest pass; may be called from another thread. Whoever draws from it gets an ArrowrootError.

        >>> for batch in scan:
        ...     scan.cancel()
        ...     break
        """
        self._source.cancel()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Start a pass over the record batches. Threads may share the iterator: each batch goes to one of them."""
        return self._shared(self._begin())

    def _shared(self, source: Source) -> Shared[pa.RecordBatch]:
        """Return the batches of a pass, for as many threads as there are."""
        from arrowroot._passes.shared import Shared

        batches = _batches_of(source)
        progress = shown(source.place)
        return Shared(batches if progress is None else self._seen(batches, progress))

    def _seen(
        self, batches: Iterator[pa.RecordBatch], progress: Progress
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield batches, and show how far they are while the next one is waited for: a loop may print."""
        with progress:
            progress.watch(self)
            for batch in batches:
                with progress.paused():
                    yield batch
                del batch  # if the caller has let go of it, the next batch takes its memory

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Start a pass as an Arrow C stream."""
        source = self._begin()
        if isinstance(source, TreeSource) and shown(source.place) is None:
            source.begin()
            return source.native.__arrow_c_stream__(requested_schema)
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(source.schema(), self._shared(source))
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema through the Arrow C data interface."""
        return self.schema.__arrow_c_schema__()

    @takes()
    def read_all(self, progress: Callable[[ScanStats], None] | None = None) -> pa.Table:
        """Read everything into a ``pyarrow.Table``. ``progress`` is called with the counters after each batch.

        >>> scan.read_all(lambda stats: print(stats.n_entries)).num_rows
        100
        100
        """
        import pyarrow as pa

        source = self._begin()
        batches = []
        with shown(source.place) or nullcontext() as seen:
            if seen is not None:
                seen.watch(self)
            for batch in _batches_of(source):
                batches.append(batch)
                if progress:
                    progress(source.stats())
        # Batches bring their schema: only a table without any needs another.
        return pa.Table.from_batches(batches, None if batches else source.schema())

    @takes()
    def to_arrow(self) -> pa.Table:
        """Read everything into a ``pyarrow.Table``: :meth:`read_all` under the name of ``Tree.to_arrow``.

        >>> tree.scan(["MET_pt"]).to_arrow().num_rows
        100
        """
        return self.read_all()

    @takes()
    def drain(self, progress: Callable[[ScanStats], None] | None = None) -> ScanStats:
        """Read everything and keep nothing, to measure it; pyarrow is not needed.

        progress: as for :meth:`read_all`.

        >>> tree.scan(["MET_pt"]).drain().n_entries
        100
        """
        source = self._begin()
        with shown(source.place) or nullcontext() as seen:
            if seen is not None:
                seen.watch(self)
            try:
                while source.next_batch() is not None:
                    if progress:
                        progress(source.stats())
            except BaseException as error:
                source.cancel()
                say_way_around(error, source)
                raise
        return source.stats()

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Read everything into a ``pandas.DataFrame``; ``options`` are those of ``pyarrow.Table.to_pandas``.

        Lists become objects (NumPy arrays), variants whatever they hold. Integers and truth values that may be null
        get pandas' types for such (``Int64``), which lose nothing; inside of lists they become doubles where one is
        null. To keep Arrow's types, and copy nothing, give ``types_mapper=pandas.ArrowDtype``.

            >>> tree.scan(["run", "MET_pt"], entries=slice(0, 2)).to_pandas()
               run  MET_pt
            0    1     0.0
            1    1     0.5
        """
        if options:
            from inspect import signature

            import pyarrow as pa

            refuse("to_pandas", options, list(signature(pa.Table.to_pandas).parameters)[1:])
        return convert.to_pandas(self.read_all(), **options)

    @takes()
    def hist(
        self,
        histograms: Mapping[str, Hist],
        *,
        cuts: Mapping[str, str] | None = None,
        by_sample: bool = False,
    ) -> Histograms:
        """Fill histograms of the package ``hist`` in one pass, with the filter, definitions and entries of the scan.

        histograms: by their names, each an :class:`arrowroot.Hist`.
        cuts: conditions by their names, one after the other, for the histograms and for the cut flow.
        by_sample: each histogram gets an axis "dataset" in front, with the names of :attr:`samples`; "sample" is a
            name that ``hist`` keeps for itself.

        Only what the expressions need is read, whatever columns the scan has.

        Raises: MissingLibraryError without ``hist``; InvalidRequestError; FilterError.

            >>> made = tree.scan().hist({"pt": ar.Hist((4, 0, 40), x="Muon_pt", weight="0.5")})
            >>> made["pt"].values().shape
            (4,)
        """
        from arrowroot._histograms.filling import Filling

        if self._again is None:
            raise InvalidRequestError("hist: this scan is not of a tree")
        filling = Filling(histograms, cuts, list(self.samples) if by_sample else None)
        more = {"origin": "sample" if by_sample else None, "needed_where": filling.needed_where}
        scan = self._again(filling.expressions, more)
        return filling.fill(scan, scan.schema, scan._place_of)  # noqa: SLF001 - a scan of this class

    def stored_fields(self) -> Mapping[str, pa.Field]:
        """Return columns by their names, nullable where missing values are stored, as far as that is known.

        The schema may say of more that values may be missing, as that which was recorded does.
        """
        return {} if self._stored is None else self._stored()

    def _place_of(self, row: int | None) -> tuple[str, int | None]:
        """Return the tree of a row of the last batch and its entry there; None: all that is read, and no entry.

        For messages: of batches of so many entries only the first is known.
        """
        numbers = getattr(self._source, "numbers", None)
        if row is None or numbers is None or self._place is None:
            return self._where, None
        return self._place(int(numbers()[row]))

    @takes()
    def to_polars(self) -> pl.DataFrame:
        """Read everything into a ``polars.DataFrame``, without a copy where Polars can.

        Raises: UnsupportedError for variants, which Polars does not have.

            >>> tree.scan(["run", "MET_pt"]).to_polars().shape
            (100, 2)
        """
        return convert.to_polars(self.read_all())

    @takes()
    def to_awkward(self, *, wide_lists: bool = False) -> ak.Array:
        """Read everything into an ``awkward.Array`` of records, one for each entry; lists of numbers are not copied.

        Awkward has no maps: they become lists of records of key and value.

        wide_lists: the ends of lists are numbers of 64 bits, as coffea's ``from_preloaded`` wants them; else of 32.

            >>> tree.scan(["Muon_pt"], entries=slice(0, 3)).to_awkward().Muon_pt.tolist()
            [[], [10.0], [10.5, 11.0]]
        """
        return convert.to_awkward(self.read_all(), wide_lists=wide_lists)

    @takes()
    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """Read everything into a NumPy array for each column.

        Numbers and arrays of fixed shape are views of the Arrow buffers where the column is one chunk (shape
        (entries, ...)); booleans are unpacked. Records of numbers become structured arrays, by a copy. Lists become an
        object array of arrays, text one of ``str``. Numbers of which some are null, in lists and records too, become
        masked arrays (``numpy.ma``), variants and other records objects.

            >>> tree.scan(["MET_pt"], entries=slice(0, 3)).to_numpy()["MET_pt"]
            array([0. , 0.5, 1. ], dtype=float32)
        """
        return convert.to_numpy(self.read_all())

    def __len__(self) -> NoReturn:
        """Raise WrongTypeError: entries are counted, with a filter once they are read, and batches are not known."""
        raise WrongTypeError("a scan has no length: write scan.num_entries, of the entries that it goes over")

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, _: object) -> NoReturn:
        """Raise WrongTypeError, with how to take columns and entries."""
        raise WrongTypeError(
            "a scan is not taken apart by [...]: write scan.to_arrow()[...], or choose before: "
            'tree.scan(["x"], entries=slice(0, 5))'
        )

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Raise WrongTypeError: NumPy, and pandas, would take the batches for values."""
        raise WrongTypeError("a scan is many columns: write scan.to_numpy(), or scan.to_pandas()")

    def _begin(self) -> Source:
        """Return a source that nobody has drawn from."""
        if not self._is_fresh:
            self._source = self._start()
        self._is_fresh = False
        return self._source

    def __reduce__(self) -> NoReturn:
        """Raise WrongTypeError: a pass cannot go to another process."""
        raise not_picklable("a Scan", f"which read {self._where}, with its columns and entries")

    def __repr__(self) -> str:
        of_filter = f", those with {clip(self._condition, _CONDITION_WIDTH)!r}" if self._condition else ""
        return (
            f"<Scan of {printable(self._where)}: {counted(self.num_entries, 'entry', 'entries')}, "
            f"{counted(len(self.column_names), 'column')}{of_filter}>"
        )

    def _repr_html_(self) -> str:
        fields = list(self.schema)
        rows = [["column", "type"], *([printable(f.name), type_text(f.type)] for f in fields[:_HTML_COLUMNS])]
        shown = f" (the first {_HTML_COLUMNS} shown)" if len(fields) > _HTML_COLUMNS else ""
        return html_table(rows, caption=repr(self)[1:-1] + shown)


def shown(place: Callable[[], str], verb: str = "reading") -> Progress | None:
    """Return what shows how far a pass is, once it takes long; None if nobody looks.

    place: of what is being read.
    """
    import sys

    if sys.stderr is None or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return None
    from arrowroot._progress import LONG_S, Progress

    def label() -> str:
        # Files of one folder differ at their ends.
        end = printable(place()).rpartition("/")[2]
        return f"{verb} {clip(end, _LABEL_WIDTH)}"

    return Progress(label, after_s=LONG_S)


def _batches_of(source: Source) -> Generator[pa.RecordBatch, None, None]:
    try:
        yield from batches_of(source)
    except ArrowrootError as error:
        say_way_around(error, source)
        raise
