"""Trees as a data set of pyarrow: engines that know such ask for columns, and for the entries that a filter selects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs

from arrowroot._api.partitions import partitions
from arrowroot._api.scan_files import opened_chain
from arrowroot._api.tree import Tree
from arrowroot._arguments import takes
from arrowroot._errors import InvalidRequestError
from arrowroot._options import Options
from arrowroot._render import printable
from arrowroot._select.columns import Choice
from arrowroot._sizes import checked_count, counted
from arrowroot._storage.config import StorageOptions
from arrowroot._storage.filesets import fileset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow.compute as pc
    from typing_extensions import Unpack

    from arrowroot._api.chain import Chain
    from arrowroot._api.partitions import Partition
    from arrowroot._api.scan import Scan
    from arrowroot._api.scan_files import FriendsLike
    from arrowroot._api.unified import Missing
    from arrowroot._select.columns import Columns
    from arrowroot._storage.filesets import Files

    #: Columns to deliver: by name, or expressions by the names of their values; None: all.
    Projection = Sequence[str] | Mapping[str, pc.Expression] | None

#: The place of what only we can read, for the errors of those who try without us.
_NO_FILE = (
    "/a data set of arrowroot is read by its own methods: give its to_table(), or its scanner().to_reader()"
)


class DatasetOptions(StorageOptions, total=False):
    """The keyword arguments of ``arrowroot.dataset``, besides those that ``scan`` explains."""

    friends: FriendsLike
    missing: Missing
    promote: bool


class Request:
    """All that says what a data set is, and the open trees once they were asked for."""

    def __init__(self, paths: Files, tree: str | None, columns: Columns, options: Mapping[str, Any]) -> None:
        self.arguments = (paths, tree, columns, dict(options))

    @cached_property
    def chain(self) -> Chain:
        """The trees and their friends, which stay open."""
        paths, tree, _, options = self.arguments
        chain, _ = opened_chain(fileset(paths, tree), options.get("friends"), options)
        return chain

    @cached_property
    def names(self) -> list[str]:
        """The columns."""
        outputs, _ = self.chain.outputs(Choice.of(self.arguments[2]), Options.default(), None)
        return list(outputs.columns)

    @cached_property
    def schema(self) -> pa.Schema:
        """The types of the columns."""
        return self.chain.scan(self.names, {}).schema


class _OfPiece:
    """A piece of a data set, which opens its own file alone."""

    def __init__(self, piece: Partition, schema: pa.Schema) -> None:
        self.arguments = (piece, schema)
        self.schema = schema

    @cached_property
    def chain(self) -> Chain:
        """The tree and its friends, which stay open."""
        return self.arguments[0].opened(self.names)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.arguments[0].columns)


class Dataset(ds.FileSystemDataset):  # type: ignore[misc]  # pyarrow has no types
    """Trees of files as a ``pyarrow.dataset.Dataset``; ``arrowroot.dataset`` makes it.

    >>> import pyarrow.compute as pc
    >>> muons = ar.dataset("run*.root", "Events")
    >>> muons.to_table(["MET_pt"], filter=pc.field("MET_pt") > 49).num_rows
    2
    """

    def __init__(
        self,
        request: Request | _OfPiece,
        condition: pc.Expression | None = None,
        part: tuple[int, int] | None = None,
    ) -> None:
        """``condition``: of all that is read; ``part``: the only entries of it, None for all."""
        self._request = request
        self._condition = condition
        self._part = part
        fragment = ds.IpcFileFormat().make_fragment(_NO_FILE, pa.fs.LocalFileSystem())
        super().__init__([fragment], request.schema, ds.IpcFileFormat(), pa.fs.LocalFileSystem())

    def _scan(self, columns: Sequence[str] | None, condition: pc.Expression | None, **options: Any) -> Scan:
        both = [one for one in (self._condition, condition) if one is not None]
        if both:
            options["filter"] = both[0] if len(both) == 1 else both[0] & both[1]
        if self._part is not None:
            options.setdefault("entries", range(*self._part))
        names = self._request.names if columns is None else list(columns)
        unknown = next((name for name in names if name not in self._request.names), None)
        if unknown is not None:
            raise InvalidRequestError(f"{self!r}: has no column {unknown!r}")
        return self._request.chain.scan(names, options)

    def scanner(
        self,
        columns: Projection = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's word
        *,
        batch_size: int | None = None,
        use_threads: bool = True,
        **_: Any,
    ) -> ds.Scanner:
        """Return a scanner of columns and of the entries that a filter selects. It can be drawn from once.

        batch_size: the most entries of a batch; None: batches of 64 MB. Other arguments of pyarrow's, which say how
        files are read, are passed over.
        """
        if isinstance(columns, Mapping):
            texts = [str(expression) for expression in columns.values()]
            names = [name for name in self._request.names if any(name in text for text in texts)]
        else:
            names = self._request.names if columns is None else list(columns)
        scan = self._scan(names, filter, batch_entries=batch_size, n_threads=0 if use_threads else 1)
        return ds.Scanner.from_batches(
            pa.RecordBatchReader.from_stream(scan),
            columns=columns if isinstance(columns, Mapping) else None,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=use_threads,
        )

    def to_table(
        self,
        columns: Projection = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's word
        **options: Any,
    ) -> pa.Table:
        """Read columns of the entries that a filter selects.

        columns: names, or expressions of ``pyarrow.compute`` by new names; None for all.
        filter: such an expression; None for all entries.
        """
        if isinstance(columns, Mapping):
            return self.scanner(columns, filter, **options).to_table()
        return self._scan(columns, filter).read_all()

    def to_batches(
        self,
        columns: Projection = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's word
        **options: Any,
    ) -> Iterator[pa.RecordBatch]:
        """Read batch by batch."""
        if isinstance(columns, Mapping):
            return iter(self.scanner(columns, filter, **options).to_batches())
        return iter(self._scan(columns, filter, batch_entries=options.get("batch_size")))

    def head(
        self,
        num_rows: int,
        columns: Projection = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's word
        **options: Any,
    ) -> pa.Table:
        """Read the first entries, and not much behind them."""
        n = checked_count(num_rows, "num_rows")
        if isinstance(columns, Mapping):
            return self.scanner(columns, filter, **options).head(n)
        if filter is None and self._condition is None:
            first, end = self._range
            return self._scan(columns, None, entries=range(first, min(end, first + n))).read_all()
        scan = self._scan(columns, filter, batch_entries=max(1, n))
        batch = next(iter(scan), None)
        return pa.Table.from_batches([] if batch is None else [batch], scan.schema)[:n]

    def count_rows(self, filter: pc.Expression | None = None, **_: Any) -> int:  # noqa: A002 - pyarrow's word
        """Count the entries that a filter selects, reading its columns alone.

        filter: an expression of ``pyarrow.compute``; None counts all, for which nothing is read.

        >>> ar.dataset("events.root", "Events").count_rows()
        100
        """
        if filter is None and self._condition is None:
            first, end = self._range
            return end - first
        return int(self._scan([], filter).drain().n_entries)

    def take(
        self,
        indices: Any,
        columns: Projection = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's word
        **options: Any,
    ) -> pa.Table:
        """Read entries by their numbers."""
        if isinstance(columns, Mapping) or filter is not None or self._condition is not None:
            return self.to_table(columns, filter, **options).take(indices)
        return self._scan(columns, None, entries=pa.array(indices).to_numpy() + self._range[0]).read_all()

    def filter(self, expression: pc.Expression) -> Dataset:
        """Return the data set of the entries that a filter selects.

        >>> import pyarrow.compute as pc
        >>> ar.dataset("events.root", "Events").filter(pc.field("MET_pt") > 49).count_rows()
        1
        """
        both = expression if self._condition is None else self._condition & expression
        return Dataset(self._request, both, self._part)

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[Dataset]:  # noqa: A002 - pyarrow's word
        """Yield data sets of a piece of one file each, which end where clusters end; pickled, they open it alone."""
        if isinstance(self._request, _OfPiece):
            yield self if filter is None else self.filter(filter)
            return
        paths, tree, _, options = self._request.arguments
        for piece in partitions(paths, tree, self._request.names, **options):
            found = Dataset(_OfPiece(piece, self.schema), self._condition, piece.entries)
            yield found if filter is None else found.filter(filter)

    @property
    def physical_schema(self) -> pa.Schema:
        """The types of the columns, as fragments of pyarrow's data sets say them."""
        return self.schema

    @property
    def _range(self) -> tuple[int, int]:
        return (0, self._request.chain.num_entries) if self._part is None else self._part

    @property
    def files(self) -> list[str]:
        """The URLs of the files, without credentials."""
        return list(dict.fromkeys(member.url for member in self._request.chain.members))

    def sort_by(self, sorting: Any, **options: Any) -> ds.InMemoryDataset:
        """Read all of it, and sort it."""
        return _in_memory(self).sort_by(sorting, **options)

    def join(self, right_dataset: ds.Dataset, *args: Any, **options: Any) -> ds.InMemoryDataset:
        """Read all of it, and join it with another data set: see pyarrow's ``Dataset.join``, which takes no lists.

        >>> weights = ar.dataset("weights.root", "Weights")
        >>> events = ar.dataset("events.root", "Events", ["event", "MET_pt"])
        >>> events.join(weights, "event").head(1)["weight"].to_pylist()
        [1.0]
        """
        return _in_memory(self).join(_in_memory(right_dataset), *args, **options)

    def join_asof(self, right_dataset: ds.Dataset, *args: Any, **options: Any) -> ds.InMemoryDataset:
        """Read all of it, and join it with another data set: see pyarrow's ``Dataset.join_asof``."""
        return _in_memory(self).join_asof(_in_memory(right_dataset), *args, **options)

    def replace_schema(self, schema: pa.Schema) -> ds.Dataset:
        """Read all of it, and give it another schema."""
        return ds.InMemoryDataset(self.to_table().cast(schema))

    def __reduce__(self) -> tuple[Any, ...]:
        """Take along what to open, and the options of the storage that were given, secrets too."""
        kind = type(self._request)
        return _again, (kind, self._request.arguments, self._condition, self._part)

    def __repr__(self) -> str:
        first, end = self._range
        return (
            f"<Dataset of {printable(self._request.chain.location)}: {counted(end - first, 'entry', 'entries')}, "
            f"{counted(len(self._request.names), 'column')}>"
        )


def _again(
    kind: type[Request | _OfPiece],
    arguments: tuple[Any, ...],
    condition: pc.Expression | None,
    part: tuple[int, int] | None,
) -> Dataset:
    return Dataset(kind(*arguments), condition, part)


def _in_memory(dataset: ds.Dataset) -> ds.Dataset:
    return ds.InMemoryDataset(dataset.to_table()) if isinstance(dataset, Dataset) else dataset


@takes(
    DatasetOptions.__annotations__,
    explained_by=Tree.scan.__doc__,
    unlisted=StorageOptions.__annotations__,
)
def dataset(
    paths: Files, tree: str | None = None, columns: Columns = None, **options: Unpack[DatasetOptions]
) -> Dataset:
    """Return trees of files as a ``pyarrow.dataset.Dataset``, for pyarrow, DuckDB and all that takes such.

    paths, tree, columns, friends, missing, promote: as for ``scan``.

    Who reads it says which columns and, by a filter, which entries are needed; nothing else is read. The files stay
    open. It can be pickled: what it names is opened again.

    Raises: what ``scan`` raises.

        >>> events = ar.dataset("events.root", "Events")
        >>> events.count_rows(), events.head(2, ["MET_pt"])["MET_pt"].to_pylist()
        (100, [0.0, 0.5])
    """
    return Dataset(Request(paths, tree, columns, options))
