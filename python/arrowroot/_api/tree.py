"""A tree or RNTuple: its columns, and how to read them."""

from __future__ import annotations

import re
from contextlib import contextmanager
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, cast, overload

from arrowroot import _native
from arrowroot._api.chain import Chain
from arrowroot._api.column import rows_of
from arrowroot._api.tree_metadata import TreeMetadata
from arrowroot._arguments import not_made, takes
from arrowroot._arrow import convert
from arrowroot._attributes import no_attribute
from arrowroot._errors import (
    InvalidRequestError,
    NoSuchColumnError,
    WrongTypeError,
    not_picklable,
    warn_left_out,
)
from arrowroot._options import DEFAULTS, FindOptions, Options, ReadOptions, ScanOptions
from arrowroot._passes.source import TreeSource, import_schema
from arrowroot._render import html_table, printable, shown, text_table
from arrowroot._select import columns as _select
from arrowroot._select.columns import Choice
from arrowroot._select.events import EventList
from arrowroot._sizes import LARGEST, checked_count, counted, format_bytes, format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Literal

    import awkward as ak
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from typing_extensions import Unpack

    from arrowroot._api.attributes import AttributeSets
    from arrowroot._api.file import File
    from arrowroot._api.scan import Scan
    from arrowroot._api.tree_column import TreeColumn
    from arrowroot._api.with_friends import WithFriends
    from arrowroot._filter.bind import FilterLike
    from arrowroot._select.columns import Columns, Test
    from arrowroot._select.entries import EntrySet
    from arrowroot._select.events import Missing

#: What scans, chains and friends ask of a tree.
_FOR_SCANS = frozenset(
    {
        "canonical",
        "choose",
        "chosen",
        "compact",
        "digest",
        "entry_bytes",
        "friend_in",
        "location",
        "pick_fault",
        "picked",
        "records_types",
        "saying_aliases",
        "selection",
        "shared_parts",
        "short_columns",
        "source",
        "spelled",
    }
)


def _line_for(key: object) -> str:
    """Return what to write instead of a tree's [...] with what is no name."""
    if isinstance(key, tuple) and key and all(isinstance(one, str) for one in key):
        return f"tree[{list(key)!r}]"
    if isinstance(key, slice):
        ends = (key.start, key.stop) if key.step is None else (key.start, key.stop, key.step)
        return f"tree.to_arrow(entries=slice({', '.join(map(shown, ends))}))"
    if isinstance(key, list):
        return f"tree.to_arrow(entries={shown(key)})"
    try:
        return f"tree.to_arrow(entries={shown([int(index(cast('SupportsIndex', key)))])}).to_pylist()[0]"
    except TypeError:
        return f"tree.to_arrow(entries={'numbers_or_mask' if hasattr(key, 'dtype') else 'slice(0, 5)'})"


def _are_entries(keys: list[Any]) -> bool:
    """Return whether a list is of numbers of entries, or a mask, and not of names."""
    return bool(keys) and not isinstance(keys[0], str) and hasattr(keys[0], "__index__")


@not_made
class Tree(TreeMetadata):
    """A TTree (or TNtuple), or an RNTuple of a file. Keeps the file open for as long as it lives.

    The fields of an RNTuple are its columns; the members of records inside them can be asked for as "field.member".

        >>> tree = ar.open("events.root")["Events"]
        >>> tree.num_entries, tree.column_names
        (100, ['run', 'luminosityBlock', 'event', 'MET_pt', 'Muon_pt'])
        >>> tree["MET_pt"].to_numpy(entries=slice(0, 3))
        array([0. , 0.5, 1. ], dtype=float32)
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
        self._entry_bytes: dict[str, float] | None = None
        #: The tree with its friends; None: it has none.
        self._chain: WithFriends | None = None

    def compact(self) -> tuple[Callable[[], Tree], int] | None:
        """Return what makes such a tree again of little that it keeps, and about its bytes; None: it would need more.

        The file stays open.
        """
        native = self._native.compact()
        if native is None:
            return None
        url, file_of_friend, identity = self._url, self._file_of_friend, self.file_identity
        return lambda: Tree(native.table(), url, file_of_friend, identity), native.n_bytes

    def shared_parts(self) -> dict[int, int]:
        """Return about the bytes of each part that trees of its schema share, by its address."""
        return dict(self._native.shared_parts())

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of all columns that can be read; those of friends come last."""
        if self._chain is None:
            return import_schema(self._native, self.location)
        columns = [
            b.path for b in self._chain.branches if not b.is_group and not b.is_part and b.unsupported is None
        ]
        return self._chain.source(columns, (0, 0), Options.default()).schema()

    def __len__(self) -> int:
        """Return the number of entries."""
        return self.num_entries

    def __contains__(self, name: object) -> bool:
        """Return whether the tree, or a friend, has a branch of that path."""
        if self.has_branch(name):
            return True
        return self._chain is not None and name in self._chain.by_name

    @overload
    def __getitem__(self, name: str) -> TreeColumn: ...
    @overload
    def __getitem__(self, name: list[str] | Test) -> Scan: ...
    def __getitem__(self, name: str | list[str] | Test) -> TreeColumn | Scan:
        """Return one column, which is read when it is converted; or a scan of several.

        name: a path or a name as for :meth:`scan`; a list of them, a function of names or a compiled pattern for a
            scan: ``tree[["x", "y"]].to_pandas()``.

        Raises: InvalidRequestError if a name stands for several columns; and what :meth:`scan` raises.
        """
        if (isinstance(name, list) and not _are_entries(name)) or _select.is_test(name):
            return self.scan(name)
        if not isinstance(name, str):
            raise WrongTypeError(
                f"a tree gives columns by their names, not {shown(name)}: write {_line_for(name)}"
            )
        if name not in self and name not in _select.by_name(self._whole().branches):
            self._refuse_expression(name)
            pattern = _select.pattern_for(name, self.column_names)
            if pattern is not None:
                raise InvalidRequestError(
                    f"{self.location}: {name!r} is no single column: write tree[[{pattern!r}]], a scan"
                )
        try:
            paths = self._whole().choose(Choice.of([name]))
        except NoSuchColumnError:
            self._refuse_member(name)
            raise
        if len(paths) != 1:
            raise InvalidRequestError(
                f"{self.location}: {name!r} stands for {len(paths)} columns: write tree[[{name!r}]], a scan"
            )
        from arrowroot._api.tree_column import TreeColumn

        return TreeColumn(self, paths[0])

    def _refuse_member(self, text: str) -> None:
        """Raise InvalidRequestError for the member of a column of records, which is computed."""
        if "." not in text:
            return
        try:
            names = self.scan([text]).column_names
        except NoSuchColumnError:
            return
        if names == [text]:
            raise InvalidRequestError(
                f"{self.location}: {text!r} is a member of a column: write tree.to_awkward([{text!r}])[{text!r}]"
            )

    def _refuse_expression(self, text: str) -> None:
        """Raise InvalidRequestError for what is no name but a condition."""
        if re.search(r"[<>]|[=!]=|&&|\|\|", text):
            raise InvalidRequestError(
                f"{self.location}: {text!r} is no column: write tree.to_arrow(filter={text!r}) for the entries for "
                "which it holds"
            )

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Read all columns as an Arrow C stream, in batches: ``pyarrow.table(tree)``, ``polars.DataFrame(tree)``."""
        return self.scan().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of all columns through the Arrow C data interface."""
        return self.scan().__arrow_c_schema__()

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Raise WrongTypeError: NumPy would make one value of it."""
        raise WrongTypeError('a tree is many columns: write tree.to_numpy(["x"]), or tree.to_pandas(["x"])')

    __reversed__ = None

    def __iter__(self) -> NoReturn:
        """Raise WrongTypeError: entries are not read one by one."""
        raise WrongTypeError(
            'a tree is not read entry by entry: write for batch in tree.scan(["x"]): print(batch)  '
            "# or tree.to_arrow().to_pylist()"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name)

    def __dir__(self) -> list[str]:
        """Return the names that completion offers: those that are for users."""
        return [name for name in super().__dir__() if name not in _FOR_SCANS]

    def _ipython_key_completions_(self) -> list[str]:
        return self.column_names

    def attribute_set(self, name: str) -> Tree:
        """Open an attribute set. Its entries hold ``_rangeStart``, ``_rangeLen`` and ``_userData``, a record.

        Raises: NoSuchColumnError, with the names that there are; InvalidRequestError for a TTree, which has none.

            >>> tree.attribute_sets
            []
            >>> tree.attribute_set("notes")
            Traceback (most recent call last):
            arrowroot.InvalidRequestError: ...
        """
        return Tree(self._native.attribute_set(name), self._url, self._file_of_friend, self.file_identity)

    @property
    def attributes(self) -> AttributeSets:
        """The attribute sets of an RNTuple by name: values that are said of ranges of its entries. A TTree has none.

        >>> annotated.attributes["lumi"].to_arrow().column_names
        ['first_entry', 'n_entries', 'run', 'lumi']
        """
        from arrowroot._api.attributes import AttributeSets

        return AttributeSets(self)

    def add_recorded_friends(self) -> None:
        """Open the friends that the tree's record names, and add them as :meth:`add_friend` does.

        ROOT's rule says where their files are: a relative name is looked for in the working directory, then beside
        this tree's file. A remote file's friends are looked for beside it alone. Servers that only the record names see
        no credentials (``credentials_for`` of ``open`` adds some). A remote file cannot name a file of this machine.

        The friends that these friends record are added, too; a circle ends where it closes. ROOT records no file of a
        friend that was a TChain, or only one: give all its files to ``arrowroot.scan``.

        Raises: what opening a file and :meth:`add_friend` raise, with what to do about a TChain; the friends before
        that one stay added. UnsupportedError for more than 64 friends of friends.

            >>> tree.add_recorded_friends()
            >>> tree.recorded_friends
            []
        """
        from arrowroot._api.recorded_friends import follow

        follow(self)

    def friend_in(self, file: str, name: str) -> object:
        """Return the object ``name`` of a file that the tree's record names; "" is the tree's own file."""
        return self._file_of_friend(file)[name]

    @takes()
    def add_friend(
        self,
        tree: Tree,
        alias: str | None = None,
        *,
        index: str | Iterable[str] | Literal[False] | None = None,
        missing: Literal["raise", "null"] = "raise",
    ) -> None:
        """Read the columns of another tree beside those of this one.

        They are chosen as "alias.x", or as "x" if no other tree has a column of that name. ``alias`` is the
        friend's name if not given.

        index: columns of integers that both trees have; entries with the same values belong together, and each entry
            that is read must have one partner. None: the index that the friend records (``recorded_index``), as ROOT
            does; if it has none, or with False, entries belong together by their numbers.

        A friend without an index may be longer: its first entries are read. A shorter one is refused, as RDataFrame
        does; TTree::Draw and TTree::Scan would repeat its last entry.

        missing: "raise", or "null": the friend's columns are null for entries without a partner, by an index or behind
        the end of a shorter friend.

        The friend brings the friends that it has by now: column "z" of its friend "Z" is "Z.z" or "alias.Z.z", and "z"
        if no other tree has a column of that name.

        Raises: InvalidRequestError if the friend has fewer entries, if the alias is taken, or if one of the trees has
        its entries in an order by chance (``entries_reshuffled``) and no index says which belong together;
        UnsupportedError for a recorded index that cannot be used.

            >>> tree.add_friend(ar.open("weights.root")["Weights"], "w", index="event")
            >>> tree.to_arrow(["MET_pt", "w.weight"]).num_columns
            2
        """
        from arrowroot._api.with_friends import WithFriends

        if not isinstance(tree, Tree):
            raise InvalidRequestError(
                f"add_friend: expected a tree, as arrowroot.open(url)[name] gives, got {shown(tree)}"
            )
        if self._chain is None:
            # A twin: trees that refer to themselves keep their files open until Python's collector finds them.
            twin = Tree(self._native, self._url, self._file_of_friend, self.file_identity)
            chain = WithFriends(Chain(twin))
        else:
            chain = WithFriends(self._chain.main, self._chain.friends)
        # A tree that gets another friend gets another chain: this one stays as it is.
        chain.add(alias or tree.name, tree._chain or Chain(tree), index, missing)
        chain.check()
        self._chain = chain

    @takes(ScanOptions.__annotations__, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def scan(self, columns: Columns = None, **options: Unpack[ScanOptions]) -> Scan:
        """Return a scan of chosen columns and entries, which reads when it is iterated over.

        Raises: NoSuchColumnError, UnsupportedError, InvalidRequestError; FilterError, with the place in the text.

            >>> scan = tree.scan(["Muon_*", "MET_pt"], filter="MET_pt > 20", batch_size="16 MB")
            >>> sum(batch.num_rows for batch in scan)
            59
        """
        return self._whole().scan(columns, options)

    @takes(ReadOptions.__annotations__, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_arrow(self, columns: Columns = None, **options: Unpack[ReadOptions]) -> pa.Table:
        """Read chosen columns and entries into a ``pyarrow.Table``.

        Each column is one chunk, unless the items of a list column, or the bytes of a text, are more than the 2^31 - 1
        that one can have.

            >>> tree.to_arrow(["MET_pt"], filter="MET_pt > 20", entries=slice(0, 50)).num_rows
            9
        """
        return self._whole().to_arrow(columns, options)

    @takes(ReadOptions.__annotations__, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_pandas(self, columns: Columns = None, **options: Unpack[ReadOptions]) -> pd.DataFrame:
        """Read chosen columns and entries into a ``pandas.DataFrame``, as :meth:`Scan.to_pandas` does.

        >>> tree.to_pandas(["run", "MET_pt"], entries=slice(0, 2))
           run  MET_pt
        0    1     0.0
        1    1     0.5
        """
        return convert.to_pandas(self.to_arrow(columns, **options))

    @takes(ReadOptions.__annotations__, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_polars(self, columns: Columns = None, **options: Unpack[ReadOptions]) -> pl.DataFrame:
        """Read chosen columns and entries into a ``polars.DataFrame``, as :meth:`Scan.to_polars` does.

        >>> tree.to_polars(["run", "MET_pt"]).shape
        (100, 2)
        """
        return convert.to_polars(self.to_arrow(columns, **options))

    @takes(ReadOptions.__annotations__, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_awkward(
        self, columns: Columns = None, *, wide_lists: bool = False, **options: Unpack[ReadOptions]
    ) -> ak.Array:
        """Read chosen columns and entries into an ``awkward.Array``, as :meth:`Scan.to_awkward` does.

        wide_lists: the ends of lists are numbers of 64 bits, as coffea's ``from_preloaded`` wants them; else of 32.

        >>> tree.to_awkward(["Muon_pt"], entries=slice(0, 3)).Muon_pt.tolist()
        [[], [10.0], [10.5, 11.0]]
        """
        return convert.to_awkward(self.to_arrow(columns, **options), wide_lists=wide_lists)

    @takes(ReadOptions.__annotations__, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def to_numpy(
        self, columns: Columns = None, **options: Unpack[ReadOptions]
    ) -> dict[str, npt.NDArray[Any]]:
        """Read chosen columns and entries into a NumPy array for each column, as :meth:`Scan.to_numpy` does.

        >>> tree.to_numpy(["MET_pt"], entries=slice(0, 3))["MET_pt"]
        array([0. , 0.5, 1. ], dtype=float32)
        """
        return convert.to_numpy(self.to_arrow(columns, **options))

    def _whole(self) -> Chain:
        """Return the tree with its friends; alone it is a chain of one."""
        return self._chain or Chain(self)

    @takes(
        {name: kind for name, kind in ReadOptions.__annotations__.items() if name != "entries"},
        defaults=DEFAULTS,
        explained_by=ScanOptions.__doc__,
    )
    def pick(
        self,
        ids: Iterable[Sequence[int]] | npt.NDArray[Any],
        columns: Columns = None,
        *,
        missing: Missing = "error",
        **options: Any,
    ) -> pa.Table:
        """Read events by their ids, as [(run, lumi, event), ...], in this order.

        Reads the columns of the ids first (see :class:`EventList`, which can also use an index), then the baskets that
        have the events. ``missing``: "error", "warn" or "ignore".

        Raises: MissingEventsError with the ids that are not there; what :meth:`to_arrow` raises.

            >>> tree.pick([(1, 1, 7), (1, 1, 3)], ["event", "MET_pt"]).to_pylist()
            [{'event': 7, 'MET_pt': 3.5}, {'event': 3, 'MET_pt': 1.5}]
        """
        return self.to_arrow(columns, entries=EventList(ids, missing=missing), **options)

    def entry_bytes(self) -> dict[str, float]:
        """Return the estimated bytes that an entry of each column takes in memory on average."""
        if self._entry_bytes is None:
            self._entry_bytes = {b.path: b.memory_bytes / max(1, b.n_entries) for b in self.branches}
        return self._entry_bytes

    @takes(FindOptions.__annotations__, defaults=DEFAULTS, explained_by=ScanOptions.__doc__)
    def entries_where(
        self,
        filter: FilterLike,  # noqa: A002 - the word that everybody uses
        *,
        limit: int | None = None,
        **options: Unpack[FindOptions],
    ) -> npt.NDArray[np.int64]:
        """Return the numbers of the entries that a filter selects, reading its columns alone.

        limit: stop at so many.

            >>> tree.entries_where("MET_pt > 20", limit=3)
            array([41, 42, 43])
        """
        import numpy as np

        from arrowroot._passes.first_pass import evaluate, first_pass

        if limit is not None:
            limit = checked_count(limit, "limit")
        read = Options.of(options)
        chain = self._whole()
        scope = chain.scope(read, options.get("define"))
        bound = chain.bound(filter, read, options.get("lumi_mask"), scope=scope)
        chain.warn_of_no_origin(scope)
        filtered = chain.filtered(bound, [], chain.entry_set(options.get("entries"), read), read)
        source = first_pass(chain.source, filtered, read)
        found: list[npt.NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
        n_found = 0
        try:
            for one in evaluate(source, filtered):
                found.append(filtered.numbers(one.indices))
                n_found += len(one.indices)
                if limit is not None and n_found >= limit:
                    break
        finally:
            source.cancel()
        return np.concatenate(found)[:limit]

    def choose(self, columns: Columns = None) -> list[str]:
        """Return the paths of the columns that :meth:`scan` would read of this tree's own.

        columns: as of :meth:`scan`.

        Warns of those that were meant but cannot be read. Raises as :meth:`scan` does.

            >>> tree.choose("Muon_*")
            ['Muon_pt']
        """
        return self.chosen(Choice.of(columns))

    def chosen(self, choice: Choice) -> list[str]:
        """Return what :meth:`choose` does."""
        columns = choice.columns
        # Names of single columns, which are most of what is asked for, need no list of all branches.
        if columns is not None and choice == Choice(columns):
            paths = self._native.columns_named(columns)
            if paths is not None:
                return list(dict.fromkeys(paths))
        with self.saying_aliases():
            selection = self.selection(choice)
        warn_left_out(selection.left_out, self.location)
        if choice.names_some_of(self.branches):
            return selection.paths
        return _select.without_short(selection.paths, self.short_columns(), self.location)

    def selection(self, choice: Choice) -> _select.Selection:
        """Return what is chosen of this tree's own columns, and what of that cannot be read."""
        return _select.select(self.branches, self.spelled(choice), self.location)

    @contextmanager
    def saying_aliases(self) -> Iterator[None]:
        """Say in an error of a column that is not there what an alias of that name stands for."""
        try:
            yield
        except NoSuchColumnError as error:
            expression = self.aliases.get(error.name)
            if expression is not None:
                error.args = (f"{error.args[0]}; it is an alias of the tree, for {expression!r}",)
            raise

    def canonical(self, name: str) -> str | None:
        """Return the path of an RNTuple's field, by its name in any spelling; None: there is no such field."""
        return self._native.canonical(name)

    def spelled(self, choice: Choice) -> Choice:
        """Return a choice with the names of an RNTuple's fields as this library spells them."""
        if choice.columns is None:
            return choice
        bare = [(text, _select.without_mark(text)) for text in choice.columns]
        columns = [text.removesuffix(name) + (self.canonical(name) or name) for text, name in bare]
        return choice._replace(columns=columns)

    def short_columns(self) -> dict[str, str]:
        """Return the branches that do not have all entries of the tree, and which they have."""
        n_all = format_count(self.num_entries)
        return {
            path: f"entries {first} to {end} of {n_all}" for path, first, end in self._native.short_columns()
        }

    def matching(self, names: str | Iterable[str]) -> list[_native.Branch]:
        """Return the branches that these names, globs and what is left out mean (see :meth:`scan`), and groups.

        Readable or not; a group that matches brings all its members. What is not there is no error.

            >>> [branch.path for branch in tree.matching("*pt")]
            ['MET_pt', 'Muon_pt']
        """
        return _select.listed(self.branches, _select.texts_of(names, "names"))

    def source(self, paths: list[str], entries: EntrySet, options: Options) -> TreeSource:
        """Start a pass of the engine over exact paths of this tree's own columns; for scans."""
        if options.batch_entries is not None:
            sizes = self.entry_bytes()
            n_bytes = options.batch_entries * sum(sizes.get(path, 1.0) for path in paths)
            options = options._replace(batch_bytes=min(LARGEST, max(1, round(n_bytes))))
        native = self._native.scan(paths, entries=entries, **options.engine())
        return TreeSource(native, self._url, (options.whole_budget_bytes, options.memory_budget_bytes))

    def packed_for(self, table: _native.TableWriter) -> _native.Packed:
        """Return the clusters that can be copied to a table being written without being unpacked; for skims."""
        return _native.Packed(self._native, table)

    def __reduce__(self) -> NoReturn:
        """Raise WrongTypeError: an open file cannot go to another process."""
        raise not_picklable("a Tree", f"arrowroot.open({self._url!r})[{self.path!r}]")

    def summary(self) -> str:
        """Return what it is, on one line."""
        n_clusters = max(0, len(self.clusters) - 1)
        text = (
            f"{counted(self.num_entries, 'entry', 'entries')}, "
            f"{counted(len(self.column_names), 'column')}, {format_bytes(self.stored_bytes)} stored, "
            f"{format_bytes(self.memory_bytes)} in memory, {counted(n_clusters, 'cluster')}"
        )
        if self._chain is not None:
            text += ", friends " + ", ".join(printable(friend.alias) for friend in self._chain.friends)
        return text

    def _head(self) -> str:
        return f"{printable(self.class_name)} {self.path!r}: {self.summary()}"

    def __repr__(self) -> str:
        rows = rows_of(self.columns)
        text = f"{self._head()}\n{text_table(rows, right=[False, False, False, True])}"
        left = len(self.column_names) - (len(rows) - 1)
        return text + (f"\n... {counted(left, 'more column')}" if left else "")

    def _repr_html_(self) -> str:
        rows = rows_of(self.columns)
        left = len(self.column_names) - (len(rows) - 1)
        return html_table(
            rows, caption=self._head() + (f" (the first {len(rows) - 1} shown)" if left else "")
        )
