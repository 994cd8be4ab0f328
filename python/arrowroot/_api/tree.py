"""A tree or RNTuple: its columns, and how to read them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from arrowroot._api.column import rows_of
from arrowroot._api.scan import Scan
from arrowroot._api.tree_metadata import TreeMetadata
from arrowroot._arrow import convert
from arrowroot._errors import (
    InvalidRequestError,
    NoSuchColumnError,
    UnsupportedError,
    not_picklable,
    warn_left_out,
)
from arrowroot._options import BATCH_SIZE, MEMORY_BUDGET, Options
from arrowroot._passes.source import TreeSource, batches_of
from arrowroot._render import html_table, printable, text_table
from arrowroot._select import columns as _select
from arrowroot._select import entries as _entries
from arrowroot._select.events import EventList, OnlyTree
from arrowroot._sizes import checked_count, counted, format_bytes, format_count, parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Literal

    import awkward as ak
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from arrowroot import _native
    from arrowroot._api.file import File
    from arrowroot._filter.bind import Filter, FilterLike
    from arrowroot._options import Strings
    from arrowroot._passes import friends
    from arrowroot._passes.filtered import Filtered, Maker
    from arrowroot._select.columns import Candidate
    from arrowroot._select.entries import Entries, EntrySet
    from arrowroot._select.events import Missing

_SMALL_BATCH_BYTES = parse_size("1 MB")
#: What scans, chains and friends ask of a tree.
_FOR_SCANS = frozenset(
    {"bound", "choose", "digest", "entry_bytes", "filtered", "friend_in", "selection", "source"}
)


class Tree(TreeMetadata):
    """A TTree (or TNtuple), or an RNTuple of a file. Keeps the file open for as long as it lives.

    The fields of an RNTuple are its columns; the members of records inside them can be asked for as "field.member".
    """

    def __init__(
        self,
        native: _native.Table,
        url: str,
        file_of_friend: Callable[[str], File],
        file_identity: tuple[int, str],
    ) -> None:
        """Take an opened tree.

        file_of_friend: opens the file that a recorded friend names, "" for the same one. file_identity: size in bytes
        and UUID of the file.
        """
        super().__init__(native, url)
        self._file_of_friend = file_of_friend
        #: Size in bytes and UUID of the file.
        self.file_identity = file_identity
        self._together: friends.Together | None = None

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of all columns that can be read, those of friends behind."""
        import pyarrow as pa

        if self._together is None:
            return pa.schema(self._native)
        candidates = self._together.candidates(None)
        chosen = [b.path for b in candidates if not b.is_group and not b.is_part and b.unsupported is None]
        return self._together.maker(candidates)(chosen, (0, 0), Options.default()).schema()

    def __len__(self) -> int:
        """Return the number of entries."""
        return self.num_entries

    def __contains__(self, name: object) -> bool:
        """Return whether the tree, or a friend, has a branch of that path."""
        if self.has_branch(name):
            return True
        return self._together is not None and any(b.path == name for b in self._together.all_names())

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        """Read one column; :meth:`to_arrow` reads several, and has all choices.

        Raises: InvalidRequestError if the name stands for several; and what :meth:`to_arrow` raises.
        """
        if not isinstance(name, str):
            raise TypeError(
                f"a tree gives a column by its name, not by {name!r}; to_arrow(entries=...) chooses entries"
            )
        if name not in self:
            _select.single_names([name], "a tree's [...]")
        scan = self.scan([name])
        if len(scan.column_names) != 1:
            raise InvalidRequestError(
                f"{self.where}: {name!r} stands for {len(scan.column_names)} columns; say to_arrow"
            )
        return scan.read_all()[scan.column_names[0]]

    # By numbers, which are what Python would try, there is nothing.
    __iter__ = None

    def __dir__(self) -> list[str]:
        """Return the names that are for users, which is what completion offers."""
        return [name for name in super().__dir__() if name not in _FOR_SCANS]

    def _ipython_key_completions_(self) -> list[str]:
        return self.column_names

    def attribute_set(self, name: str) -> Tree:
        """Open an attribute set. Its entries hold ``_rangeStart``, ``_rangeLen`` and ``_userData``, a record.

        Raises: NoSuchColumnError, with the names that there are; InvalidRequestError for a TTree, which has none.
        """
        return Tree(self._native.attribute_set(name), self._url, self._file_of_friend, self.file_identity)

    def add_recorded_friends(self) -> None:
        """Open the friends that the tree's record names, and add them as :meth:`add_friend` does.

        Their files are looked for as ROOT does, from the working directory if their names are relative, and
        then beside this tree's file; of a remote file beside it alone. Servers that only the record names see no
        credentials (``credentials_for`` of ``open`` adds some), and a remote file names no file of this machine.

        The friends that they record themselves are followed; a circle ends where it closes. Of a friend that was a
        TChain ROOT records no file, or only one: ``arrowroot.scan`` takes its files.

        Raises: what opening a file and :meth:`add_friend` raise, with what to do about a TChain; the friends before it
        have been added then. UnsupportedError for more than 64 friends of friends.
        """
        from arrowroot._api.recorded_friends import follow

        follow(self)

    def friend_in(self, file: str, name: str) -> object:
        """Return what has a name in a file that the tree's record names; "" is the tree's own file."""
        return self._file_of_friend(file)[name]

    def add_friend(
        self,
        tree: Tree,
        alias: str | None = None,
        *,
        index: str | Iterable[str] | Literal[False] | None = None,
    ) -> None:
        """Read the columns of another tree beside those of this one.

        They are chosen as "alias.x", or as "x" if no other tree has a column of that name. ``alias`` is the
        friend's name if not given.

        index: columns of integers that both trees have; entries with the same values belong together, and each entry
            that is read must have one partner. None: the index that the friend records (``recorded_index``), as ROOT
            does; if it has none, or with False, entries belong together by their numbers.

        Of a longer friend without an index the first entries are read. A shorter one is refused, as by RDataFrame;
        TTree::Draw and TTree::Scan would repeat its last entry.

        The friends that the friend has by now come with it: "z" of its friend "Z" is "z", if no other tree has a column
        of that name, and "Z.z" or "alias.Z.z".

        Raises: InvalidRequestError if the friend has fewer entries, if the alias is taken, or if the entries of one of
        the trees are in an order by chance (``entries_reshuffled``) and neither ``index`` nor a recorded index says
        which belong together; UnsupportedError for a recorded index that cannot be used.
        """
        from arrowroot._passes import friends

        if not isinstance(tree, Tree):
            raise InvalidRequestError(
                f"add_friend: expected a tree, as arrowroot.open(url)[name] gives, got {tree!r}"
            )
        alias = alias or tree.name
        keys: Iterable[str] | None = None
        if index is None:
            try:
                keys = tree.recorded_index
            except UnsupportedError as error:
                raise UnsupportedError(
                    f"{error}; say index=(columns), or index=False to go by the numbers"
                ) from None
        elif index is not False:
            keys = _select.single_names(index, "index")
            if not keys:
                raise InvalidRequestError("index: no columns; index=False goes by the numbers")
        if index is None and keys is None:
            reshuffled = next((one.where for one in (tree, self) if one.entries_reshuffled), None)
            friends.refuse_reshuffled(alias, reshuffled)
        part: friends.Part = tree
        if tree._together is not None:
            part = friends.WithFriends(tree.where, tree.num_entries, tree._together)
        # Beside a twin: what hold each other keep their files open until Python looks for such.
        alone = Tree(self._native, self._url, self._file_of_friend, self.file_identity)
        together = self._together or friends.Together(alone)
        together.add(alias, part, None if keys is None else list(keys))
        self._together = together

    def scan(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        filter_name: str | Iterable[str] | None = None,
        entries: Entries = None,
        filter: FilterLike = None,  # noqa: A002 - the word that everybody uses
        batch_size: int | str = BATCH_SIZE,
        memory_budget: int | str = MEMORY_BUDGET,
        n_threads: int = 0,
        strings: Strings = "utf8",
        verify_checksums: bool = True,
        trace: bool = False,
        assemble: bool = False,
        raw: bool = False,
    ) -> Scan:
        """Return a scan of chosen columns and entries, which reads when it is iterated over.

        columns: exact paths, names that only one branch has, or globs; in the order given. "!name" or "!glob" leaves
            out of the others, or of all. None: all that can be read, and a warning that names the others.
        filter_name: a glob, several globs, or "/regex/"; keeps the columns whose path or name matches.
        entries: a slice, a range, entry numbers in any order and with repeats, a boolean mask, or an
            :class:`EventList`: events by their ids, which are looked up at once; or an :class:`EntryList`, which says
            of which trees its entries are.
        filter: keeps the entries for which a condition holds: text as "nMuon >= 2 && Muon_pt[0] > 20" (the guide has
            the grammar), or a ``pyarrow.compute`` expression. Its columns are read first, the others only where it
            selected something.
        batch_size: of the values of one batch, in bytes or as "64 MB" (10^6) or "64 MiB" (2^20); over 64 MB it needs
            a budget as large.
        memory_budget: bound on the memory for fetched baskets, batches, and baskets that several batches need.
        n_threads: 0 for as many as there are cores.
        strings: "utf8": text becomes strings, and text that is not UTF-8 an InvalidTextError; "replace": the
            same with U+FFFD in the place of bytes that are not UTF-8; "binary": text becomes bytes, as they are.
        verify_checksums: of an RNTuple's pages, where the writer left any, against what was read. Baskets of
            TTrees have none but those of their zlib, LZMA and LZ4 blocks, which are always compared.
        trace: record every physical read, for :meth:`Scan.trace`.
        assemble: a group of a split object becomes one column: a struct, a list of structs, or a map; without
            ``columns``, every object whole. Members that cannot be read are left out, with a warning. Otherwise
            a group stands for its members.
        raw: every column becomes binary: the bytes of each entry as they are stored, of branches that cannot
            be read too. Not of RNTuples.

        Raises: NoSuchColumnError, UnsupportedError, InvalidRequestError; FilterError, with the place in the text.
        """
        options = Options.checked(
            batch_size=batch_size,
            memory_budget=memory_budget,
            n_threads=n_threads,
            strings=strings,
            trace=trace,
            verify_checksums=verify_checksums,
            assemble=assemble,
            raw=raw,
        )
        return self._scan_with(columns, filter_name, entries, filter, options)(options)

    def to_arrow(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        filter_name: str | Iterable[str] | None = None,
        entries: Entries = None,
        filter: FilterLike = None,  # noqa: A002 - the word that everybody uses
        memory_budget: int | str = MEMORY_BUDGET,
        n_threads: int = 0,
        strings: Strings = "utf8",
        verify_checksums: bool = True,
        assemble: bool = False,
        raw: bool = False,
    ) -> pa.Table:
        """Read chosen columns and entries into a ``pyarrow.Table``; the arguments are those of :meth:`scan`.

        Each column is one chunk, unless the items of a list column, or the bytes of a text, are more than the 2^31 - 1
        that one can have.
        """
        options = Options.checked(
            batch_size=None,
            memory_budget=memory_budget,
            n_threads=n_threads,
            strings=strings,
            verify_checksums=verify_checksums,
            assemble=assemble,
            raw=raw,
        )
        scan_with = self._scan_with(columns, filter_name, entries, filter, options)
        # What is too long is read again, so that no other pays to know it before.
        for batch_bytes in (None, parse_size(BATCH_SIZE)):
            try:
                return scan_with(options._replace(batch_bytes=batch_bytes)).read_all()
            except ValueError as error:
                from arrowroot._arrow.chunks import needs_chunks

                if not needs_chunks(error):
                    raise
        # Batches of what is packed extremely well get longer than planned.
        return scan_with(options._replace(batch_bytes=_SMALL_BATCH_BYTES)).read_all()

    def to_pandas(self, columns: str | Iterable[str] | None = None, **options: Any) -> pd.DataFrame:
        """Read into a ``pandas.DataFrame``; ``options`` are those of :meth:`to_arrow`."""
        return convert.to_pandas(self.to_arrow(columns, **options))

    def to_polars(self, columns: str | Iterable[str] | None = None, **options: Any) -> pl.DataFrame:
        """Read into a ``polars.DataFrame``; ``options`` are those of :meth:`to_arrow`."""
        return convert.to_polars(self.to_arrow(columns, **options))

    def to_awkward(self, columns: str | Iterable[str] | None = None, **options: Any) -> ak.Array:
        """Read into an ``awkward.Array``; ``options`` are those of :meth:`to_arrow`."""
        return convert.to_awkward(self.to_arrow(columns, **options))

    def to_numpy(
        self,
        columns: str | Iterable[str] | None = None,
        **options: Any,
    ) -> dict[str, npt.NDArray[Any]]:
        """Read into a NumPy array for each column; ``options`` are those of :meth:`to_arrow`."""
        return convert.to_numpy(self.to_arrow(columns, **options))

    def _scan_with(
        self,
        columns: str | Iterable[str] | None,
        filter_name: str | Iterable[str] | None,
        entries: Entries,
        condition: FilterLike,
        options: Options,
    ) -> Callable[[Options], Scan]:
        """Return what makes scans of chosen columns and entries, by these options or others in sizes alone."""
        chosen_entries = self._entry_set(entries)
        if columns is not None:
            columns = _select.texts_of(columns, "columns")
        if options.is_of_branches(with_others=condition is not None or self._together is not None):
            paths = self.choose(columns, filter_name, assemble=options.assemble, raw=options.raw)
            return lambda options: Scan(lambda: self.source(paths, chosen_entries, options), self.where)
        names, make = self._chosen(columns, filter_name)
        if condition is None:
            return lambda options: Scan(lambda: make(names, chosen_entries, options), self.where)
        from arrowroot._passes.filtered import FilteredSource

        filtered = self.filtered(condition, names, chosen_entries, options)
        make, text = self._maker(), filtered.condition.text
        return lambda options: Scan(lambda: FilteredSource(make, filtered, options), self.where, text)

    def _entry_set(self, entries: Entries) -> EntrySet:
        """Return the entries that a user chose, events looked up."""
        alone = OnlyTree(self.url, self.path, self.num_entries, self.file_identity)
        if _entries.is_of_trees(entries):
            return _entries.of_trees(entries, [alone])
        if not isinstance(entries, EventList):
            return _entries.normalise(entries, self.num_entries)
        if entries.index is not None:
            found = entries.found_among([alone])
            numbers = entries.entries(found, self.where)
            columns = self.choose(list(entries.index.columns))
            source = self.source(columns, numbers, Options.default())
            entries.refuse_others(found, batches_of(source), columns, self.where)
            return numbers
        columns = self.choose(list(entries.columns_in(self.has_branch, self.where)))
        source = self.source(columns, None, Options.default())
        return entries.entries(entries.found_in(batches_of(source), columns), self.where)

    def pick(
        self,
        ids: Iterable[Sequence[int]] | npt.NDArray[Any],
        columns: str | Iterable[str] | None = None,
        *,
        missing: Missing = "error",
        **options: Any,
    ) -> pa.Table:
        """Read events by their ids, as [(run, lumi, event), ...], in this order.

        Reads the columns of the ids first (see :class:`EventList`, which can also use an index), then the baskets that
        have the events. ``missing``: "error", "warn" or "ignore". ``options`` are those of :meth:`to_arrow`.

        Raises: MissingEventsError with the ids that are not there; what :meth:`to_arrow` raises.
        """
        return self.to_arrow(columns, entries=EventList(ids, missing=missing), **options)

    def _chosen(
        self, columns: list[str] | None, filter_name: str | Iterable[str] | None
    ) -> tuple[list[str], Maker]:
        """Return the names of the columns to deliver, those of friends too, and what makes passes over them."""
        if self._together is None:
            return self.choose(columns, filter_name), self.source
        candidates = self._together.candidates(columns)
        with self._saying_aliases():
            selection = _select.select(candidates, columns, filter_name, self.where)
        warn_left_out(selection.left_out, self.where)
        return selection.paths, self._together.maker(candidates)

    def _maker(self) -> Maker:
        """Return what makes passes over columns of this tree and its friends, by all names that they have."""
        return self._together.maker(self._together.all_names()) if self._together else self.source

    def filtered(
        self, condition: FilterLike, names: list[str], entries: EntrySet, options: Options
    ) -> Filtered:
        """Bind a filter to this tree's columns and its friends'."""
        from arrowroot._passes.filtered import Filtered

        make = self._maker()
        bound = self.bound(
            condition,
            self._together.all_names() if self._together else self.branches,
            lambda paths: make(paths, (0, 0), options).schema(),
        )
        partnered = self._together.partnered() if self._together else None
        return Filtered(bound, names, entries, self.num_entries, self.entry_bytes(), partnered)

    def bound(
        self,
        condition: FilterLike,
        branches: Sequence[Candidate],
        schema_of: Callable[[list[str]], pa.Schema],
    ) -> Filter:
        """Bind a filter to some columns, this tree's or others that a chain has beside it."""
        from arrowroot._filter.bind import bind

        with self._saying_aliases():
            return bind(condition, branches, schema_of, self.where, self._native.canonical)

    def entry_bytes(self) -> dict[str, float]:
        """Return what an entry of each column takes in memory on average, an estimate."""
        return {b.path: b.memory_bytes / max(1, b.n_entries) for b in self.branches}

    def entries_where(
        self,
        filter: FilterLike,  # noqa: A002 - the word that everybody uses
        *,
        entries: Entries = None,
        limit: int | None = None,
        memory_budget: int | str = MEMORY_BUDGET,
        n_threads: int = 0,
        strings: Strings = "utf8",
    ) -> npt.NDArray[np.int64]:
        """Return the numbers of the entries that a filter selects, reading its columns alone.

        limit: stop at so many. The other arguments are those of :meth:`scan`.
        """
        import numpy as np

        from arrowroot._passes.filtered import first_pass, look

        if limit is not None:
            limit = checked_count(limit, "limit")
        options = Options.checked(
            batch_size=BATCH_SIZE, memory_budget=memory_budget, n_threads=n_threads, strings=strings
        )
        filtered = self.filtered(filter, [], self._entry_set(entries), options)
        source = first_pass(self._maker(), filtered, options)
        found: list[npt.NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
        n_found = 0
        try:
            for looked in look(source, filtered):
                found.append(filtered.numbers(looked.places))
                n_found += len(looked.places)
                if limit is not None and n_found >= limit:
                    break
        finally:
            source.cancel()
        return np.concatenate(found)[:limit]

    def choose(
        self,
        columns: str | Iterable[str] | None = None,
        filter_name: str | Iterable[str] | None = None,
        *,
        assemble: bool = False,
        raw: bool = False,
    ) -> list[str]:
        """Return the paths of the columns that :meth:`scan` would read of this tree's own.

        Warns of those that were meant but cannot be read. Raises as :meth:`scan` does.
        """
        if columns is not None:
            columns = _select.texts_of(columns, "columns")
            # Names of single columns, which are most of what is asked for, need no list of all branches.
            special = filter_name is not None or assemble or raw
            paths = None if special else self._native.columns_named(columns)
            if paths is not None:
                return list(dict.fromkeys(paths))
        with self._saying_aliases():
            selection = self.selection(columns, filter_name, assemble=assemble, raw=raw)
        warn_left_out(selection.left_out, self.where)
        are_chosen = columns is not None and bool(_select.divided(self.branches, columns)[0])
        return selection.paths if are_chosen else self._without_short(selection.paths)

    def selection(
        self,
        columns: str | Iterable[str] | None,
        filter_name: str | Iterable[str] | None,
        *,
        assemble: bool = False,
        raw: bool = False,
    ) -> _select.Selection:
        """Return what is chosen of this tree's own columns, and what of that cannot be read."""
        return _select.select(
            self.branches, self._canonical(columns), filter_name, self.where, assemble=assemble, raw=raw
        )

    @contextmanager
    def _saying_aliases(self) -> Iterator[None]:
        """Say in an error of a column that is not there what an alias of that name stands for."""
        try:
            yield
        except NoSuchColumnError as error:
            expression = self.aliases.get(error.name)
            if expression is not None:
                error.args = (f"{error.args[0]}; it is an alias of the tree, for {expression!r}",)
            raise

    def _canonical(self, columns: str | Iterable[str] | None) -> str | Iterable[str] | None:
        """Names of an RNTuple's fields as this library spells them, where they are names in another spelling."""
        if columns is None:
            return None

        def spelled(text: str) -> str:
            name = _select.without_mark(text)
            return text.removesuffix(name) + (self._native.canonical(name) or name)

        return [spelled(text) for text in _select.texts_of(columns, "columns")]

    def _without_short(self, paths: list[str]) -> list[str]:
        """Leave out, with a warning, the branches that do not have all entries of the tree."""
        short = {path: f"entries {first} to {end}" for path, first, end in self._native.short_columns()}
        left_out = [(path, short[path]) for path in paths if path in short]
        warn_left_out(left_out, self.where, f"that lack some of the {format_count(self.num_entries)} entries")
        return [path for path in paths if path not in short]

    def matching(self, names: str | Iterable[str]) -> list[_native.Branch]:
        """Return the branches that these names, globs and what is left out mean (see :meth:`scan`), and groups.

        Readable or not; a group that matches brings all its members. What is not there is no error.
        """
        return _select.listed(self.branches, _select.texts_of(names, "names"))

    def source(self, paths: list[str], entries: EntrySet, options: Options) -> TreeSource:
        """Start a pass of the engine over exact paths of this tree's own columns; for scans."""
        return TreeSource(self._native.scan(paths, entries=entries, **options.engine()), self._url)

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: an open file cannot go to another process."""
        raise not_picklable("a Tree", f"arrowroot.open({self._url!r})[{self.path!r}]")

    def _summary(self) -> str:
        n_clusters = max(0, len(self.clusters) - 1)
        text = (
            f"{printable(self.class_name)} {self.path!r}: {counted(self.num_entries, 'entry', 'entries')}, "
            f"{counted(len(self.column_names), 'column')}, {format_bytes(self.stored_bytes)} stored, "
            f"{format_bytes(self.memory_bytes)} in memory, {counted(n_clusters, 'cluster')}"
        )
        if self._together is not None:
            text += ", friends " + ", ".join(printable(friend.alias) for friend in self._together.friends)
        return text

    def __repr__(self) -> str:
        rows = rows_of(self.columns)
        text = f"{self._summary()}\n{text_table(rows, right=[False, False, False, True])}"
        left = len(self.column_names) - (len(rows) - 1)
        return text + (f"\n... {counted(left, 'more column')}" if left else "")

    def _repr_html_(self) -> str:
        rows = rows_of(self.columns)
        left = len(self.column_names) - (len(rows) - 1)
        return html_table(
            rows, caption=self._summary() + (f" (the first {len(rows) - 1} shown)" if left else "")
        )
