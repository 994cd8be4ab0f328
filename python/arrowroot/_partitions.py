"""Pieces of many trees, cut at clusters, to be read anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arrowroot._chain import Chain, opened_trees
from arrowroot._config import check_arguments, redacted, secret_names
from arrowroot._errors import InvalidRequestError, UnsupportedError
from arrowroot._file import open_file
from arrowroot._options import BATCH_SIZE, MEMORY_BUDGET, Options
from arrowroot._select import NOT, texts_of, with_members, without_mark
from arrowroot._sizes import counted, format_bytes, format_count, parse_size
from arrowroot._tree import Tree
from arrowroot._url import expand

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from typing_extensions import Unpack

    from arrowroot._config import StorageOptions
    from arrowroot._filter import FilterLike
    from arrowroot._options import Strings
    from arrowroot._scan import Scan
    from arrowroot._table import Table
    from arrowroot._url import Location


@dataclass(frozen=True, repr=False, eq=False)
class Partition:
    """A range of entries of one tree, with all that it takes to read it in another process or on another machine.

    Options of the storage that were given as arguments or in the URL travel with it, secrets too; the environment and
    the configuration files are those where it is read. What is shown of it has no secrets.
    """

    #: Where the file is, as it was given.
    location: str
    tree: str
    columns: tuple[str, ...]
    #: Half-open range, cut at clusters.
    entries: tuple[int, int]
    #: What the chosen columns and those of the filter take in memory, an estimate.
    memory_bytes: int
    filter: FilterLike
    strings: Strings
    #: Of the file and tree when it was made: size in bytes, UUID, number of entries.
    identity: tuple[int, str, int]
    #: Whether groups of columns are read as whole objects.
    assemble: bool = False
    storage: dict[str, Any] = field(default_factory=dict)

    @property
    def num_entries(self) -> int:
        """Entries of the range, whether the filter selects them or not."""
        return self.entries[1] - self.entries[0]

    @property
    def url(self) -> str:
        """Where the file is, without credentials."""
        return redacted(self.location)

    def scan(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        batch_size: int | str = BATCH_SIZE,
        memory_budget: int | str = MEMORY_BUDGET,
        n_threads: int = 0,
        trace: bool = False,
    ) -> Scan:
        """Open the file and return a scan of the piece.

        columns: a choice of the partition's own, in this order; "!name" leaves out. None: all of them. The other
            arguments are those of :meth:`Tree.scan`.

        Raises: InvalidRequestError if the file is not the one that was cut; what ``open`` and ``scan`` raise.
        """
        tree = self._opened()
        return tree.scan(
            self._chosen(columns),
            entries=range(*self.entries),
            filter=self.filter,
            batch_size=batch_size,
            memory_budget=memory_budget,
            n_threads=n_threads,
            strings=self.strings,
            assemble=self.assemble,
            trace=trace,
        )

    def read(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        memory_budget: int | str = MEMORY_BUDGET,
        n_threads: int = 0,
    ) -> Table:
        """Open the file and read the piece into memory; the arguments are those of :meth:`scan`."""
        return self._opened().to_arrow(
            self._chosen(columns),
            entries=range(*self.entries),
            filter=self.filter,
            memory_budget=memory_budget,
            n_threads=n_threads,
            strings=self.strings,
            assemble=self.assemble,
        )

    def schema(self) -> pa.Schema:
        """Open the file and return the names and types of the columns."""
        return self.scan().schema

    def _chosen(self, columns: str | Iterable[str] | None) -> list[str]:
        if columns is None:
            return list(self.columns)
        texts = texts_of(columns, "columns")
        marked = [text for text in texts if text.startswith(NOT) and text not in self.columns]
        named = [text for text in texts if text not in marked]
        left_out = {without_mark(text) for text in marked}
        wrong = next((name for name in [*named, *left_out] if name not in self.columns), None)
        if wrong is not None:
            raise InvalidRequestError(f"{self!r}: was not made with column {wrong!r}")
        chosen = named or (self.columns if marked else [])
        return [name for name in chosen if name not in left_out]

    def _opened(self) -> Tree:
        file = open_file(self.location, **self.storage)
        tree = file[self.tree]
        if not isinstance(tree, Tree):
            raise UnsupportedError(f"{file.url}: {self.tree!r} is no tree any more")
        if (*tree.file_identity, tree.num_entries) != self.identity:
            raise InvalidRequestError(f"{tree.where}: has changed since its partitions were made")
        return tree

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same piece, read in the same way."""
        if not isinstance(other, Partition):
            return NotImplemented
        mine, others = self.__dask_tokenize__(), other.__dask_tokenize__()
        return (mine, self.location, self.storage) == (others, other.location, other.storage)

    def __hash__(self) -> int:
        """Return a hash of what the piece holds."""
        return hash(self.__dask_tokenize__())

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Name what the piece holds: equal ones have equal results."""
        import hashlib  # noqa: PLC0415 - for collections only

        return (
            self.url,
            # All of the URL counts, also what is not shown.
            hashlib.sha256(repr(self.location).encode("utf-8", "surrogatepass")).hexdigest(),
            self.tree,
            self.columns,
            self.entries,
            str(self.filter),
            self.strings,
            self.assemble,
            self.identity,
        )

    def __repr__(self) -> str:
        start, stop = (format_count(end) for end in self.entries)
        hidden = secret_names()
        options = "".join(
            f", {name}={'(hidden)' if name in hidden else repr(value)}"
            for name, value in self.storage.items()
        )
        of_filter = "" if self.filter is None else f", filter {self.filter}"
        return (
            f"<Partition of {self.url}:{self.tree}: entries {start} to {stop}, {counted(len(self.columns), 'column')}, "
            f"{format_bytes(self.memory_bytes)}{of_filter}{options}>"
        )


def partitions(
    paths: Location | Iterable[Location],
    tree: str | None = None,
    columns: str | Iterable[str] | None = None,
    *,
    target: int | str = "256 MB",
    filter_name: str | Iterable[str] | None = None,
    filter: FilterLike = None,  # noqa: A002 - the word that everybody uses
    strings: Strings = "utf8",
    assemble: bool = False,
    **storage: Unpack[StorageOptions],
) -> list[Partition]:
    """Cut the trees of many files into pieces that can be pickled, and read anywhere.

    Together they are all entries, each once, in order. They end where clusters end, so that no basket is needed by
    two, as far as the writer kept to clusters, and never go over the end of a file.

    target: size of a piece in memory, of the chosen columns and those of the filter, uncompressed; a piece has at
        least one cluster, and others as long as it stays below. The rest are the arguments of ``scan``.

    Raises: what ``scan`` raises; the columns and the filter are checked here.
    """
    check_arguments(storage, partitions)
    target_bytes = parse_size(target, "target")
    options = Options.checked(
        batch_size=None, memory_budget=MEMORY_BUDGET, n_threads=0, strings=strings, assemble=assemble
    )
    options.is_of_branches(with_others=filter is not None)
    files = expand(paths, tree)
    chain = Chain(opened_trees(files, storage))
    if columns is not None:
        columns = texts_of(columns, "columns")
    chosen = chain.choose(columns, filter_name, assemble=assemble)
    needed = set(chosen)
    if filter is not None:
        needed |= set(chain.filtered(filter, chosen, None, options).condition.columns)
    pieces: list[Partition] = []
    for (location, _), member in zip(files, chain.members, strict=True):
        found = member.tree()
        read = with_members(found.branches, lambda branch: branch.path in needed)
        n_bytes = sum(branch.memory_bytes for branch in read if not branch.is_group)
        per_entry = n_bytes / max(1, member.num_entries)
        pieces += [
            Partition(
                location=location,
                tree=member.path,
                columns=tuple(chosen),
                entries=entries,
                memory_bytes=round(per_entry * (entries[1] - entries[0])),
                filter=filter,
                strings=strings,
                identity=(*member.identity, member.num_entries),
                assemble=assemble,
                storage=dict(storage),
            )
            for entries in _cut(found.clusters, target_bytes, per_entry)
        ]
    # Of nothing there is one piece, which tells the types.
    filled = [piece for piece in pieces if piece.num_entries]
    return filled or pieces[:1]


def _cut(clusters: Sequence[int], target_bytes: int, per_entry: float) -> list[tuple[int, int]]:
    """Cut entries at clusters into ranges of about so many bytes."""
    ranges: list[tuple[int, int]] = []
    start = clusters[0] if clusters else 0
    end = start
    for boundary in clusters[1:]:
        if end > start and (boundary - start) * per_entry > target_bytes:
            ranges.append((start, end))
            start = end
        end = boundary
    return [*ranges, (start, end)]
