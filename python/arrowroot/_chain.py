"""Many files as one stream."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from arrowroot import _entries
from arrowroot._ahead import in_order
from arrowroot._config import check_arguments, resolve
from arrowroot._errors import (
    InvalidRequestError,
    NotFoundError,
    SchemaMismatchError,
    StorageError,
    UnsupportedError,
    warn_left_out,
)
from arrowroot._events import EventList
from arrowroot._file import File
from arrowroot._friends import Together
from arrowroot._in_a_row import InARow, Reordered
from arrowroot._objects.record import kind_text
from arrowroot._options import BATCH_SIZE, MEMORY_BUDGET, Options
from arrowroot._readers import open_native, scheme_of
from arrowroot._scan import Scan
from arrowroot._select import select, single_names, texts_of
from arrowroot._sizes import counted
from arrowroot._source import batches_of
from arrowroot._tree import Tree
from arrowroot._url import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping
    from typing import Literal, TypeAlias

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Unpack

    from arrowroot import _native
    from arrowroot._config import StorageOptions
    from arrowroot._entries import Entries, EntrySet
    from arrowroot._filter import FilterLike
    from arrowroot._filtered import Filtered, Maker
    from arrowroot._friends import FriendBranch
    from arrowroot._options import Strings
    from arrowroot._source import Source
    from arrowroot._url import Location

    #: Files of trees to be read beside others, by their aliases.
    FriendsLike: TypeAlias = "Mapping[str, Location | Iterable[Location] | Friends] | None"

#: So many trees stay open between looking at the schema and reading; more would run into the limit of open
#: files.
_N_KEPT_OPEN = 128
#: So many far-away files are opened at a time.
_N_OPENED_AHEAD = 16


def scan(
    paths: Location | Iterable[Location],
    tree: str | None = None,
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
    friends: FriendsLike = None,
    **storage: Unpack[StorageOptions],
) -> Scan:
    """Return one scan over the trees of many files, one after the other.

    paths: a path, a glob ("data/**/*.root", in natural order), or a list of them; each may name its tree,
        "FILE:TREE", or be the key of a mapping to it.
    tree: of the files that don't name one; may be left out if the first file has only one.
    entries: as for :meth:`Tree.scan`, with entry numbers that count on from file to file. Events of an
        :class:`EventList` are looked for in all files. Entries that go back and forth between files are all
        in memory at once.

    friends: by their aliases, the files of trees whose columns are read beside: ``{"w": "weights/*.root:W"}``, or
        :class:`Friends`. Entries belong together by their numbers on both sides, wherever the files end, or by the
        index that the friends record.
    storage: how to reach the files and to read from them, as for ``open``.

    The other arguments are those of :meth:`Tree.scan`. The chosen columns must have the same types in all
    files; if none are chosen, all files must have the same columns. The metadata of every file is read at
    once.

    Raises: SchemaMismatchError, which names file and column; and what :meth:`Tree.scan` raises.
    """
    check_arguments(storage, scan)
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
    is_of_branches = options.is_of_branches(with_others=filter is not None or bool(friends))
    chain = opened_chain(paths, tree, friends, storage)
    if columns is not None:
        columns = texts_of(columns, "columns")
    make: Maker = chain.source
    if is_of_branches:
        chosen = chain.choose(columns, filter_name, assemble=assemble, raw=raw)
    else:
        chosen, make = chain.chosen(columns, filter_name)
    chosen_entries = chain.entry_set(entries)
    if filter is None:
        return Scan(lambda: make(chosen, chosen_entries, options), chain.where)
    from arrowroot._filtered import FilteredSource  # noqa: PLC0415

    filtered = chain.filtered(filter, chosen, chosen_entries, options)
    make = chain.maker()
    return Scan(lambda: FilteredSource(make, filtered, options), chain.where, filtered.condition.text)


def _outermost(path: str, chosen: Container[str]) -> str | None:
    """Return the chosen column that this one is, or is inside of."""
    if path in chosen:
        return path
    around = path
    while "/" in around:
        around = around.rpartition("/")[0]
        if around in chosen:
            return around
    return None


def _mismatch(
    path: str, first_url: str, first_types: Mapping[str, str], url: str, types: Mapping[str, str]
) -> str:
    if path not in first_types:
        return f"{url}: column {path!r} is not in {first_url}"
    has = f"has type {types[path]}" if path in types else "is missing or not readable"
    return f"{url}: column {path!r} {has}, but in {first_url} it has type {first_types[path]}"


class Friends(NamedTuple):
    """Files of trees to be read beside others: see ``scan``. ``index``: as for :meth:`Tree.add_friend`."""

    paths: Location | Iterable[Location]
    tree: str | None = None
    index: str | Iterable[str] | Literal[False] | None = None  # type: ignore[assignment]  # a tuple has an index()


class Member(NamedTuple):
    """One tree of a chain; ``first_entry`` is the number of its entry 0 in the chain, ``location`` as it was given."""

    url: str
    location: str
    path: str
    num_entries: int
    first_entry: int
    #: Size in bytes and UUID of the file.
    identity: tuple[int, str]
    kept: Tree | None
    reopen: Callable[[], File]

    @property
    def end_entry(self) -> int:
        """The number in the chain of what follows its last entry."""
        return self.first_entry + self.num_entries

    def tree(self) -> Tree:
        """Return the tree, opened again if it was not kept."""
        if self.kept is not None:
            return self.kept
        found = self.reopen()[self.path]
        if not isinstance(found, Tree) or (found.file_identity, found.num_entries) != (
            self.identity,
            self.num_entries,
        ):
            raise StorageError(f"{self.url}: the file changed since the scan was made; begin a new one")
        return found


class Opened(NamedTuple):
    """A tree of a chain, and how to open its file again. ``url`` is for messages: it has no credentials."""

    url: str
    location: str
    path: str
    tree: Tree
    reopen: Callable[[], File]


def opened_chain(
    paths: Location | Iterable[Location], tree: str | None, friends: FriendsLike, storage: StorageOptions
) -> Chain:
    """Open trees in a row, and those that are read beside them."""
    chain = Chain(opened_trees(expand(paths, tree), storage))
    if friends and not hasattr(friends, "items"):
        kind = type(friends).__name__
        raise InvalidRequestError(
            f'friends: expected their files by aliases, {{"w": "weights/*.root"}}, got a {kind}'
        )
    for alias, given in (friends or {}).items():
        other = given if isinstance(given, Friends) else Friends(given)
        chain.add_friend(alias, Chain(opened_trees(expand(other.paths, other.tree), storage)), other.index)
    return chain


def opened_trees(files: list[tuple[str, str | None]], storage: StorageOptions) -> Iterator[Opened]:
    """Open the trees. The first file says which tree is meant where none is named; far-away ones wait together."""
    first = _open_member(*files[0], storage)
    yield first
    others = [partial(_open_member, location, name or first.path, storage) for location, name in files[1:]]
    is_near = all(scheme_of(location) == "file" for location, _ in files)
    yield from in_order(others, 1 if is_near else _N_OPENED_AHEAD)


def _open_member(location: str, name: str | None, storage: StorageOptions) -> Opened:
    urls, settings = resolve([location], storage)

    def reopen() -> File:
        return File(open_native(urls, settings), urls, settings)

    file = reopen()
    path = name or file.only_tree().path
    found = file[path]
    if not isinstance(found, Tree):
        raise UnsupportedError(f"{file.url}: {path!r} is {kind_text(found)}, not a tree")
    return Opened(file.url, location, path, found, reopen)


class Chain:
    """Trees in a row, whose entries count on from one to the next."""

    def __init__(self, opened: Iterator[Opened]) -> None:
        self.members: list[Member] = []
        self.num_entries = 0
        self._types: list[dict[str, str]] = []
        #: Columns that are known to be the same in all files.
        self._checked: set[str] = set()
        self._together = Together(self)
        #: Those that are read beside it, with their aliases and the columns of their index; None: by number.
        self.friends: list[tuple[str, Chain, list[str] | None]] = []
        for url, location, path, tree, reopen in opened:
            self._types.append({b.path: b.arrow_type for b in tree.branches if b.arrow_type is not None})
            kept = tree if len(self.members) < _N_KEPT_OPEN else None
            self.members.append(
                Member(
                    url, location, path, tree.num_entries, self.num_entries, tree.file_identity, kept, reopen
                )
            )
            self.num_entries += tree.num_entries

    @property
    def where(self) -> str:
        """The first tree, and how many there are besides."""
        first = self.members[0]
        others = f" and {counted(len(self.members) - 1, 'more file')}" if len(self.members) > 1 else ""
        return f"{first.url}:{first.path}{others}"

    @property
    def branches(self) -> list[_native.Branch]:
        """All branches of the first tree."""
        return self.members[0].tree().branches

    @property
    def recorded_index(self) -> tuple[str, ...] | None:
        """Return the index that all trees record, None if none does. Raises: SchemaMismatchError."""
        first, *others = ((member, member.tree().recorded_index) for member in self.members)
        for member, columns in others:
            if columns != first[1]:
                raise SchemaMismatchError(
                    f"{member.url}: has another index than {first[0].url}: {columns}, {first[1]}"
                )
        return first[1]

    def add_friend(
        self, alias: str, chain: Chain, index: str | Iterable[str] | Literal[False] | None
    ) -> None:
        """Read the columns of other trees in a row beside these."""
        keys: Iterable[str] | None = None
        if index is None:
            keys = chain.recorded_index
        elif index is not False:
            keys = single_names(index, "index")
        names = None if keys is None else list(keys)
        self._together.add(alias, chain, names)
        self.friends.append((alias, chain, names))

    def choose(
        self,
        columns: str | Iterable[str] | None,
        filter_name: str | Iterable[str] | None,
        *,
        assemble: bool = False,
        raw: bool = False,
    ) -> list[str]:
        """Return the paths chosen in the first file, once all files are known to have the same."""
        chosen = self.members[0].tree().choose(columns, filter_name, assemble=assemble, raw=raw)
        everything = columns is None and filter_name is None
        self._check(chosen, all_columns=everything, whole_objects=assemble and not raw)
        return chosen

    def _check(self, chosen: list[str], *, all_columns: bool = False, whole_objects: bool = False) -> None:
        first, first_types = self.members[0], self._types[0]
        unchecked = {path for path in chosen if path not in self._checked}
        for member, types in zip(self.members[1:], self._types[1:], strict=True):
            if types == first_types:
                continue
            wrong: dict[str, str] = {}
            for path in {**first_types, **types}:
                if types.get(path) != first_types.get(path):
                    outer = _outermost(path, unchecked)
                    if outer is not None or (all_columns and path not in first_types):
                        wrong.setdefault(outer or path, path)
            for outer, path in wrong.items():
                # A whole object may be in branches of its own in one file, and in one in another.
                if not (whole_objects and self._is_same_object(member, outer)):
                    raise SchemaMismatchError(
                        _mismatch(path, first.url, first_types, member.url, types)
                        + "; choose columns that all files have"
                    )
        self._checked.update(unchecked)

    def _is_same_object(self, member: Member, path: str) -> bool:
        """Return whether a whole object is the same in a file and in the first, however its members are stored."""
        fields = []
        for tree in (self.members[0].tree(), member.tree()):
            try:
                fields.append(tree.source([path], (0, 0), Options.default()).schema().field(0))
            except (NotFoundError, UnsupportedError):
                return False
        return bool(fields[0].equals(fields[1]))

    def chosen(
        self, columns: list[str] | None, filter_name: str | Iterable[str] | None
    ) -> tuple[list[str], Maker]:
        """Return the names of the columns to deliver, those of friends too, and what makes passes over them."""
        if not self._together.friends:
            return self.choose(columns, filter_name), self.source
        candidates = self._together.candidates(columns)
        selection = select(candidates, columns, filter_name, self.where)
        warn_left_out(selection.left_out, self.where)
        return selection.paths, self._together.maker(candidates)

    def maker(self) -> Maker:
        """Return what makes passes over the columns of all, by every name that they have."""
        return self._together.maker(self._together.all_names()) if self._together.friends else self.source

    def owned(self, names: Iterable[str]) -> list[FriendBranch]:
        """Return whose columns these names are, once they are known to be so whichever of the files are read.

        Raises: SchemaMismatchError if in some file a friend's column has a name that another one has there, too.
        """
        by_name = {branch.path: branch for branch in self._together.all_names()}
        found = [by_name[name] for name in names]
        for part, chain in enumerate([self, *(chain for _, chain, _ in self.friends)]):
            # The names of the main tree's own columns are always theirs.
            short = {branch.path for branch in found if branch.part not in (0, part)}
            for member in chain.members if short else ():
                wrong = short & {branch.path for branch in member.tree().branches}
                if wrong:
                    raise SchemaMismatchError(
                        f"{member.url}: has a column {min(wrong)!r}, which is a friend's beside {self.where}; "
                        "choose it as ALIAS.COLUMN, by an alias that no column begins with"
                    )
        return found

    def entry_set(self, entries: Entries) -> EntrySet:
        """Return the entries that a user chose, by their numbers in the chain; events are looked up."""
        if isinstance(entries, EventList):
            return self.entries_of(entries)
        if _entries.is_of_trees(entries):
            return _entries.of_trees(entries, self.members)
        return _entries.normalise(entries, self.num_entries)

    def entries_of(self, events: EventList) -> npt.NDArray[np.int64]:
        """Return the numbers in the chain of events, looked up by their index or in the columns of all trees."""
        if events.index is not None:
            return events.entries(events.found_among(self.members), self.where)
        columns = events.columns_in(self.members[0].tree().has_branch, self.where)
        paths = self.choose(list(columns), None)
        source = self.source(paths, None, Options.default())
        return events.entries(events.found_in(batches_of(source), paths), self.where)

    def source(self, names: list[str], entries: EntrySet, options: Options) -> Source:
        """Return a pass over columns, by their paths, and entries, by their numbers in the chain."""
        self._check(names)
        parts, order = self.parts(entries)
        row = InARow(parts, names, options)
        return row if order is None else Reordered(row, order, options.batch_bytes or 1)

    def filtered(
        self, condition: FilterLike, names: list[str], entries: EntrySet, options: Options
    ) -> Filtered:
        """Bind a filter to the columns of the first file, once all files are known to have the same."""
        first = self.members[0].tree()
        make = self.maker()
        bound = first.filtered(
            condition,
            names,
            entries,
            options,
            make=make,
            branches=self._together.all_names() if self._together.friends else None,
        )
        # Whether all files have them, and of which type, is told before the reading.
        make(bound.condition.columns, (0, 0), options)
        partnered = self._together.partnered() if self._together.friends else None
        return bound._replace(num_entries=self.num_entries, partnered=partnered)

    def parts(self, entries: EntrySet) -> tuple[list[tuple[Member, EntrySet]], npt.NDArray[np.int64] | None]:
        """Return what to read of each file, and the order to bring that into; None if it is in order."""
        if entries is None:
            return [(member, None) for member in self.members], None
        if isinstance(entries, tuple):
            start, stop = entries
            parts: list[tuple[Member, EntrySet]] = []
            for member in self.members:
                local = (
                    max(0, start - member.first_entry),
                    min(member.num_entries, stop - member.first_entry),
                )
                if local[0] < local[1]:
                    parts.append((member, local))
            return parts or [(self.members[0], (0, 0))], None
        import numpy as np  # noqa: PLC0415 - not needed to import arrowroot

        starts = np.array([member.first_entry for member in self.members], dtype=np.int64)
        # An empty file starts where the next one does, and "right" finds the last of these.
        owner = np.searchsorted(starts, entries, side="right") - 1
        in_order = bool(np.all(owner[:-1] <= owner[1:]))
        by_file = np.arange(len(entries)) if in_order else np.argsort(owner, kind="stable")
        sorted_owner = owner[by_file]
        parts = []
        for i in np.unique(sorted_owner).tolist():
            low, high = np.searchsorted(sorted_owner, [i, i + 1])
            member = self.members[i]
            parts.append((member, entries[by_file[low:high]] - member.first_entry))
        if in_order:
            return parts or [(self.members[0], (0, 0))], None
        order = np.empty(len(entries), dtype=np.int64)
        order[by_file] = np.arange(len(entries))
        return parts, order
