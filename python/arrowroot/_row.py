"""Trees of many files in a row, whose entries count on from one to the next."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from arrowroot import _entries
from arrowroot._ahead import in_order
from arrowroot._config import arguments_alone, resolve, resolve_named
from arrowroot._errors import (
    InvalidRequestError,
    NoSuchColumnError,
    NotFoundError,
    SchemaMismatchError,
    StorageError,
    UnsupportedError,
)
from arrowroot._events import EventList
from arrowroot._file import File
from arrowroot._in_a_row import InARow, Reordered
from arrowroot._objects.record import kind_text
from arrowroot._options import Options
from arrowroot._readers import open_native, scheme_of
from arrowroot._sizes import counted, parse_size
from arrowroot._source import batches_of
from arrowroot._tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    import numpy as np
    import numpy.typing as npt

    from arrowroot import _native
    from arrowroot._config import StorageOptions
    from arrowroot._entries import Entries, EntrySet
    from arrowroot._source import Source

T = TypeVar("T")

#: So many trees stay open between looking at the schema and reading, with so much metadata; more would run into the
#: limit of open files, or of memory.
_N_KEPT_OPEN, _KEPT_BYTES = 128, parse_size("48 MB")
#: So many files a step of a filtered pass goes through. Of those that were not kept three times as many stay open after
#: they were used: of this step, of the one before, and what is fetched ahead meanwhile.
_N_IN_A_STEP, _N_REOPENED, _REOPENED_BYTES = 8, 24, parse_size("16 MB")
_NONE: Mapping[str, str | None] = {}
#: So many far-away files are opened at a time.
_N_OPENED_AHEAD = 16


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


def _mismatch(path: str, first_url: str, first: str | None, url: str, found: str | None) -> str:
    """Say how the types of a column differ in two files; None: it is missing or not readable."""
    if first is None:
        return f"{url}: column {path!r} is not in {first_url}, or not readable there"
    has = "is missing or not readable" if found is None else f"has type {found}"
    return f"{url}: column {path!r} {has}, but in {first_url} it has type {first}"


def _differences(first: Mapping[str, str], types: Mapping[str, str]) -> Mapping[str, str | None]:
    """Return the types that differ from those of the first tree, by column; None: it is not there."""
    if types == first:
        return _NONE
    return {path: types.get(path) for path in {**first, **types} if types.get(path) != first.get(path)}


class Member(NamedTuple):
    """One tree of a row; ``first_entry`` is the number of its entry 0 there, ``location`` as it was given."""

    place: int
    url: str
    location: str
    path: str
    num_entries: int
    first_entry: int
    #: Size in bytes and UUID of the file.
    identity: tuple[int, str]
    kept: Tree | None
    reopen: Callable[[], File]
    #: What it has in memory while it is open, an estimate in bytes.
    held_bytes: int
    reopened: Reopened

    @property
    def end_entry(self) -> int:
        """The number in the row of what follows its last entry."""
        return self.first_entry + self.num_entries

    def tree(self) -> Tree:
        """Return the tree, opened again if it was not kept."""
        return self.reopened.tree(self) if self.kept is None else self.kept

    def open_again(self) -> Tree:
        """Open the tree. Raises: StorageError if it is another one than it was."""
        found = self.reopen()[self.path]
        if not isinstance(found, Tree) or (found.file_identity, found.num_entries) != (
            self.identity,
            self.num_entries,
        ):
            raise StorageError(f"{self.url}: the file changed since the scan was made; begin a new one")
        return found


def _first_entry(member: Member) -> int:
    return member.first_entry


class Reopened:
    """The trees of a row that were not kept, opened again: those that were used last stay open."""

    def __init__(self) -> None:
        #: By their places in the row, with their bytes; what was used last is the last.
        self._trees: dict[int, tuple[Tree, int]] = {}
        self._lock = threading.Lock()

    def tree(self, member: Member) -> Tree:
        """Return the tree of a member, opened if it is not open."""
        with self._lock:
            found = self._trees.pop(member.place, None)
        tree = member.open_again() if found is None else found[0]
        with self._lock:
            self._trees[member.place] = tree, member.held_bytes
            while len(self._trees) > 1 and (
                len(self._trees) > _N_REOPENED
                or sum(held_bytes for _, held_bytes in self._trees.values()) > _REOPENED_BYTES
            ):
                del self._trees[next(iter(self._trees))]
        return tree


class Opened(NamedTuple):
    """A tree of a row, and how to open its file again. ``url`` is for messages: it has no credentials."""

    url: str
    location: str
    path: str
    tree: Tree
    #: Of the file, which came with the opening and stay in memory.
    came_bytes: int
    reopen: Callable[[], File]


def opened_trees(
    files: list[tuple[str, str | None]], storage: StorageOptions, *, named_by: str | None = None
) -> Iterator[Opened]:
    """Open the trees. The first file says which tree is meant where none is named; far-away ones wait together.

    named_by: the file that names these; None: a person did.
    """
    first = _open_member(*files[0], storage, named_by)
    yield first
    others = [
        partial(_open_member, location, name or first.path, storage, named_by) for location, name in files[1:]
    ]
    yield from in_order(others, _n_ahead(location for location, _ in files))


def _n_ahead(locations: Iterable[str]) -> int:
    """Return how many files to open at a time."""
    return 1 if all(scheme_of(location) == "file" for location in locations) else _N_OPENED_AHEAD


def _open_member(location: str, name: str | None, storage: StorageOptions, named_by: str | None) -> Opened:
    if named_by is None:
        urls, settings = resolve([location], storage)
    else:
        urls, settings = [location], resolve_named(location, named_by, arguments_alone(storage))

    def reopen() -> File:
        return File(open_native(urls, settings), urls, settings)

    file = reopen()
    path = name or file.only_tree().path
    found = file[path]
    if not isinstance(found, Tree):
        raise UnsupportedError(f"{file.url}: {path!r} is {kind_text(found)}, not a tree")
    return Opened(file.url, location, path, found, sum(length for _, length in file.kept), reopen)


class Row:
    """Trees in a row, whose entries count on from one to the next."""

    def __init__(self, opened: Iterator[Opened], *, with_index: bool = False) -> None:
        """Take trees as they are opened. ``with_index``: look at the index that they record."""
        self.members: list[Member] = []
        #: That all trees record; None: none does, or nobody looked.
        self.recorded_index: tuple[str, ...] | None = None
        #: A tree whose entries are in an order by chance, if there is one.
        self.reshuffled: str | None = None
        self.num_entries = 0
        #: Arrow types of the first tree's columns, and what differs from them in the others; None: not there.
        self._types: dict[str, str] = {}
        self._other_types: list[Mapping[str, str | None]] = []
        #: Columns that are known to be the same in all files.
        self._checked: set[str] = set()
        #: Numbers of the first entries of all trees; None until they are asked for.
        self._starts: npt.NDArray[np.int64] | None = None
        reopened = Reopened()
        kept_bytes = 0
        for url, location, path, tree, came_bytes, reopen in opened:
            if with_index:
                self._note_index(url, tree.recorded_index)
            if tree.entries_reshuffled and self.reshuffled is None:
                self.reshuffled = tree.where
            types, metadata_bytes = tree.digest()
            if not self.members:
                self._types = types
            self._other_types.append(_differences(self._types, types))
            held_bytes = came_bytes + metadata_bytes
            kept_bytes += held_bytes
            is_kept = not self.members or (len(self.members) < _N_KEPT_OPEN and kept_bytes <= _KEPT_BYTES)
            self.members.append(
                Member(
                    len(self.members),
                    url,
                    location,
                    path,
                    tree.num_entries,
                    self.num_entries,
                    tree.file_identity,
                    tree if is_kept else None,
                    reopen,
                    held_bytes,
                    reopened,
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
    def n_in_a_step(self) -> int | None:
        """Of how many files at a time all is read before the next ones, as they stay open so long; None: all do."""
        largest = max((member.held_bytes for member in self.members if member.kept is None), default=None)
        return None if largest is None else max(1, min(_N_IN_A_STEP, _REOPENED_BYTES // (3 * largest + 1)))

    @property
    def branches(self) -> list[_native.Branch]:
        """All branches of the first tree."""
        return self.members[0].tree().branches

    def of_each(self, look: Callable[[Tree], T]) -> Iterator[T]:
        """Yield what ``look`` finds in each tree; far-away ones that were not kept open wait together."""
        jobs = (lambda member=member: look(member.tree()) for member in self.members)
        return in_order(jobs, _n_ahead(member.location for member in self.members if member.kept is None))

    def _note_index(self, url: str, columns: tuple[str, ...] | None) -> None:
        if not self.members:
            self.recorded_index = columns
        elif columns != self.recorded_index:
            first = self.members[0].url
            raise SchemaMismatchError(
                f"{url}: has another index than {first}: {columns}, {self.recorded_index}"
            )

    def choose(
        self,
        columns: str | Iterable[str] | None,
        filter_name: str | Iterable[str] | None,
        *,
        assemble: bool = False,
        raw: bool = False,
    ) -> list[str]:
        """Return the paths chosen in the first file, once all files are known to choose the same.

        Raises: SchemaMismatchError, the same in every order of the files, if one has a column that another lacks.
        """
        first = self.members[0]

        def chosen_in(member: Member) -> list[str]:
            return member.tree().selection(columns, filter_name, assemble=assemble, raw=raw).paths

        try:
            chosen = first.tree().choose(columns, filter_name, assemble=assemble, raw=raw)
        except NoSuchColumnError:
            self.refuse_what_others_have(chosen_in, self._types)
            raise
        self._check(chosen, whole_objects=assemble and not raw)
        is_by_path = (
            columns is not None and filter_name is None and all(name in self._types for name in columns)
        )
        if not is_by_path:
            self.refuse_what_others_have(chosen_in, chosen)
        return chosen

    def refuse_what_others_have(
        self, chosen_in: Callable[[Member], Iterable[str]], chosen: Iterable[str]
    ) -> None:
        """Raise SchemaMismatchError if in some file a choice has columns that are not chosen in the first."""
        expected = set(chosen)
        looked_at: set[frozenset[str]] = set()
        for member, types in zip(self.members, self._other_types, strict=True):
            more = frozenset(path for path in types if path not in self._types)
            if not more or more in looked_at:
                continue
            looked_at.add(more)
            try:
                found = [path for path in chosen_in(member) if path not in expected]
            except (InvalidRequestError, NotFoundError, UnsupportedError):
                continue  # what this file lacks is told by the columns of the first
            if found:
                raise self._mismatch_of(found[0], None, member, types.get(found[0]))

    def _mismatch_of(
        self, path: str, first: str | None, member: Member, found: str | None
    ) -> SchemaMismatchError:
        """Return the error of a column whose types differ in the first file and in another one."""
        text = _mismatch(path, self.members[0].url, first, member.url, found)
        return SchemaMismatchError(f"{text}; choose columns that all files have")

    def _check(self, chosen: list[str], *, whole_objects: bool = False) -> None:
        unchecked = {path for path in chosen if path not in self._checked}
        if not unchecked:
            return
        for member, types in zip(self.members, self._other_types, strict=True):
            wrong: dict[str, str] = {}
            for path in types:
                outer = _outermost(path, unchecked)
                if outer is not None:
                    wrong.setdefault(outer, path)
            for outer, path in wrong.items():
                # A whole object may be in branches of its own in one file, and in one in another.
                if not (whole_objects and self._is_same_object(member, outer)):
                    raise self._mismatch_of(path, self._types.get(path), member, types[path])
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

    def entry_set(self, entries: Entries) -> EntrySet:
        """Return the entries that a user chose, by their numbers in the row; events are looked up."""
        if isinstance(entries, EventList):
            return self.entries_of(entries)
        if _entries.is_of_trees(entries):
            return _entries.of_trees(entries, self.members)
        return _entries.normalise(entries, self.num_entries)

    def entries_of(self, events: EventList) -> npt.NDArray[np.int64]:
        """Return the numbers in the row of events, looked up by their index or in the columns of all trees."""
        if events.index is not None:
            found = events.found_among(self.members)
            entries = events.entries(found, self.where)
            paths = self.choose(list(events.index.columns), None)
            source = self.source(paths, entries, Options.default())
            events.refuse_others(found, batches_of(source), paths, self.where)
            return entries
        columns = events.columns_in(self.members[0].tree().has_branch, self.where)
        paths = self.choose(list(columns), None)
        source = self.source(paths, None, Options.default())
        return events.entries(events.found_in(batches_of(source), paths), self.where)

    def source(self, names: list[str], entries: EntrySet, options: Options) -> Source:
        """Return a pass over columns, by their paths, and entries, by their numbers in the row."""
        self._check(names)
        parts, order = self.parts(entries)
        row = InARow(parts, names, options)
        return row if order is None else Reordered(row, order, options.batch_bytes or 1)

    def parts(self, entries: EntrySet) -> tuple[list[tuple[Member, EntrySet]], npt.NDArray[np.int64] | None]:
        """Return what to read of each file, and the order to bring that into; None if it is in order."""
        if entries is None:
            return [(member, None) for member in self.members], None
        if isinstance(entries, tuple):
            start, stop = entries
            low = max(0, bisect_right(self.members, start, key=_first_entry) - 1)
            high = bisect_left(self.members, stop, key=_first_entry)
            parts: list[tuple[Member, EntrySet]] = []
            for member in self.members[low:high]:
                local = (
                    max(0, start - member.first_entry),
                    min(member.num_entries, stop - member.first_entry),
                )
                if local[0] < local[1]:
                    parts.append((member, local))
            return parts or [(self.members[0], (0, 0))], None
        import numpy as np  # noqa: PLC0415 - not needed to import arrowroot

        if self._starts is None:
            self._starts = np.array([member.first_entry for member in self.members], dtype=np.int64)
        # An empty file starts where the next one does, and "right" finds the last of these.
        owner = np.searchsorted(self._starts, entries, side="right") - 1
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
