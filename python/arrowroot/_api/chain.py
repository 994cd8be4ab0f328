"""Many files as one stream."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._api.row import Row
from arrowroot._api.scan import Scan
from arrowroot._errors import InvalidRequestError, NoSuchColumnError, SchemaMismatchError, warn_left_out
from arrowroot._options import BATCH_SIZE, MEMORY_BUDGET, Options
from arrowroot._passes.friends import Names, Together, by_all_names, refuse_reshuffled, side_by_side, together
from arrowroot._select.columns import select, single_names, texts_of
from arrowroot._storage.config import check_arguments
from arrowroot._storage.url import expand

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal, TypeAlias

    import pyarrow as pa
    from typing_extensions import Unpack

    from arrowroot._api.row import Member
    from arrowroot._filter.bind import Filter, FilterLike
    from arrowroot._options import Strings
    from arrowroot._passes.filtered import Files, Filtered, Maker
    from arrowroot._passes.friends import FriendBranch
    from arrowroot._select.entries import Entries, EntrySet
    from arrowroot._storage.config import StorageOptions
    from arrowroot._storage.url import Location

    #: Files of trees to be read beside others, by their aliases.
    FriendsLike: TypeAlias = "Mapping[str, Location | Iterable[Location] | Friends] | None"


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
    files. A glob, ``filter_name``, or no choice at all must choose the same columns in every file, whichever is the
    first; where files differ, name the columns that all have. The metadata of every file is read at once.

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
    if is_of_branches:
        chosen = chain.row.choose(columns, filter_name, assemble=assemble, raw=raw)
    else:
        chosen = chain.choose(columns, filter_name)
    condition = None if filter is None else chain.bound(filter, options)
    # All that is chosen is known by now: what opens the other files looks for it in each of them.
    chosen_entries = chain.row.entry_set(entries)
    make = chain.maker()
    if condition is None:
        return Scan(lambda: make(chosen, chosen_entries, options), chain.row.where)
    from arrowroot._passes.filtered import FilteredSource

    filtered = chain.filtered(condition, chosen, chosen_entries)
    return Scan(lambda: FilteredSource(make, filtered, options), chain.row.where, condition.text)


class Friends(NamedTuple):
    """Files of trees to be read beside others: see ``scan``. ``index``: as for :meth:`Tree.add_friend`."""

    paths: Location | Iterable[Location]
    tree: str | None = None
    index: str | Iterable[str] | Literal[False] | None = None  # type: ignore[assignment]  # a tuple has an index()


def opened_chain(
    paths: Location | Iterable[Location], tree: str | None, friends: FriendsLike, storage: StorageOptions
) -> Chain:
    """Open the first of trees in a row, and of those that are read beside them."""
    chain = Chain(Row(expand(paths, tree), storage))
    if friends and not hasattr(friends, "items"):
        kind = type(friends).__name__
        raise InvalidRequestError(
            f'friends: expected their files by aliases, {{"w": "weights/*.root"}}, got a {kind}'
        )
    for alias, given in (friends or {}).items():
        other = given if isinstance(given, Friends) else Friends(given)
        row = Row(expand(other.paths, other.tree), storage, with_index=other.index is None)
        chain.add_friend(alias, row, other.index)
    return chain


class Chain:
    """Trees in a row, and those that are read beside them.

    The first files are open. What is chosen is chosen of them, and asked of the others as they are opened: when passes
    are made, or when something is asked that takes all of them.
    """

    def __init__(self, row: Row) -> None:
        self.row = row
        #: Those that are read beside it, with their aliases and the columns of their index; None: by number.
        self.friends: list[tuple[str, Row, list[str] | None]] = []
        #: Aliases of friends that are joined by number because nobody said how, and they record no index.
        self._by_default: list[str] = []

    def add_friend(self, alias: str, row: Row, index: str | Iterable[str] | Literal[False] | None) -> None:
        """Read the columns of other trees in a row beside these."""
        keys: Iterable[str] | None = None
        if index is None:
            keys = row.recorded_index
        elif index is not False:
            keys = single_names(index, "index")
        if index is None and keys is None:
            self._by_default.append(alias)
        names = None if keys is None else list(keys)
        self.friends.append((alias, row, names))

    @cached_property
    def _together(self) -> Together:
        """All of them as one. Of rows alone: what hold each other keep their files open until Python looks for such."""
        all_of_them = Together(self.row)
        for alias, row, keys in self.friends:
            if alias in self._by_default:
                refuse_reshuffled(alias, row.reshuffled or self.row.reshuffled)
            all_of_them.add(alias, row, keys)
        return all_of_them

    @property
    def _rows(self) -> list[Row]:
        return [self.row, *(row for _, row, _ in self.friends)]

    @property
    def _names(self) -> list[Names]:
        """The branches of the first files."""
        return [
            Names(None, self.row.branches),
            *(Names(alias, row.branches) for alias, row, _ in self.friends),
        ]

    def choose(self, columns: list[str] | None, filter_name: str | Iterable[str] | None) -> list[str]:
        """Return the names of the columns to deliver, those of friends too, which all files must have."""
        if not self.friends:
            return self.row.choose(columns, filter_name)
        candidates = together(self._names, columns)
        try:
            selection = select(candidates, columns, filter_name, self.row.where)
        except NoSuchColumnError:
            self._refuse_what_others_have(columns, filter_name, [branch.path for branch in candidates])
            self._open_others()
            raise
        self._refuse_what_others_have(columns, filter_name, selection.paths)
        warn_left_out(selection.left_out, self.row.where)
        self._require(selection.paths)
        return selection.paths

    def _open_others(self) -> None:
        for row in self._rows:
            row.open_others()

    def _require(self, names: Iterable[str]) -> None:
        """Have no file in which some columns have not the types of the first: SchemaMismatchError."""
        if not self.friends:
            self.row.require(names)
            return
        by_path = {branch.path: branch for branch in by_all_names(self._names)}
        found = [by_path[name] for name in names]
        for part, row in enumerate(self._rows):
            of_part = {branch.inner for branch in found if branch.part == part}
            row.require(of_part)
            keys = self.friends[part - 1][2] if part and of_part else None
            for one in (self.row, row) if keys else ():
                one.require(select(one.branches, keys, None, one.where).paths)

    def _refuse_what_others_have(
        self, columns: list[str] | None, filter_name: str | Iterable[str] | None, chosen: Iterable[str]
    ) -> None:
        """Have no file, here or of a friend, that has more to choose than the first one there: SchemaMismatchError."""
        parts = self._names
        where = self.row.where
        for place, row in enumerate(self._rows):

            def chosen_in(member: Member, place: int = place) -> list[str]:
                beside = [*parts]
                beside[place] = parts[place]._replace(branches=member.tree().branches)
                return select(together(beside, columns), columns, filter_name, where).paths

            row.refuse_what_others_have(chosen_in, chosen)

    def maker(self) -> Maker:
        """Return what makes passes over the columns of all, by every name that they have."""
        return self._together.maker(self._together.all_names()) if self.friends else self.row.source

    def owned(self, names: Iterable[str]) -> list[FriendBranch]:
        """Return whose columns these names are, which they must be whichever of the files are read.

        Raises: SchemaMismatchError, here or as files are opened, if a friend's column has a name that another one has
        there, too.
        """
        by_path = {branch.path: branch for branch in by_all_names(self._names)}
        found = [by_path[name] for name in names]
        where = self.row.where
        for part, row in enumerate(self._rows):
            # The names of the main tree's own columns are always theirs.
            short = {branch.path for branch in found if branch.part not in (0, part)}

            def refuse(member: Member, _: object, short: set[str] = short) -> None:
                wrong = short & {branch.path for branch in member.tree().branches}
                if wrong:
                    raise SchemaMismatchError(
                        f"{member.url}: has a column {min(wrong)!r}, which is a friend's beside {where}; "
                        "choose it as ALIAS.COLUMN, by an alias that no column begins with"
                    )

            if short:
                row.obey(refuse)
        return found

    def bound(self, condition: FilterLike, options: Options) -> Filter:
        """Bind a filter to the columns of the first files, which all files must have."""
        tree = self.row.first.tree()
        branches = by_all_names(self._names) if self.friends else tree.branches
        try:
            bound = tree.bound(condition, branches, lambda names: self._schema_of(names, options))
        except NoSuchColumnError as error:
            self._refuse_what_others_have([error.name], None, [branch.path for branch in branches])
            self._open_others()
            raise
        self._require(bound.columns)
        return bound

    def _schema_of(self, names: list[str], options: Options) -> pa.Schema:
        """Return the types of columns in the first files."""
        firsts = [row.first.tree() for row in self._rows]
        if not self.friends:
            return firsts[0].source(names, (0, 0), options).schema()
        by_path = {branch.path: branch for branch in by_all_names(self._names)}
        chosen = [by_path[name] for name in names]
        return side_by_side(chosen, lambda part, paths: firsts[part].source(paths, (0, 0), options)).schema()

    def filtered(self, condition: Filter, names: list[str], entries: EntrySet) -> Filtered:
        """Return what a filter selects from. ``condition``: bound by this chain."""
        from arrowroot._passes.filtered import Filtered

        return Filtered(
            condition,
            names,
            entries,
            self.row.num_entries,
            self.row.first.tree().entry_bytes(),
            self._together.partnered() if self.friends else None,
            self._files_of(entries),
        )

    def _files_of(self, entries: EntrySet) -> Files | None:
        """Return which files the entries are in, here and in friends by number, if they are in order."""
        from arrowroot._passes.filtered import Files

        if not (entries is None or isinstance(entries, tuple) or bool((entries[1:] >= entries[:-1]).all())):
            return None
        rows = [self.row, *(row for _, row, keys in self.friends if keys is None)]
        limited = [(row, n) for row in rows if (n := row.n_in_a_step) is not None]
        firsts = {member.first_entry for row, _ in limited for member in row.members}
        return Files(sorted(firsts), min(n for _, n in limited)) if limited else None
