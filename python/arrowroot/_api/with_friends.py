"""Trees and their friends: those that are read beside them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from arrowroot._api.chain import Chain
from arrowroot._api.row import Row
from arrowroot._errors import (
    InvalidRequestError,
    NoSuchColumnError,
    SchemaMismatchError,
    UnsupportedError,
    warn_left_out,
)
from arrowroot._options import NO_WHOLE_BRANCHES
from arrowroot._passes.friends import (
    Friend,
    Names,
    by_all_names,
    candidates_of,
    refuse_double_names,
    side_by_side,
)
from arrowroot._render import shown
from arrowroot._select.columns import Choice, select, single_names, without_short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Literal

    import pyarrow as pa

    from arrowroot._api.members import Member
    from arrowroot._expressions.scope import Alias
    from arrowroot._filter.bind import Filter
    from arrowroot._options import Options
    from arrowroot._passes.first_pass import Files
    from arrowroot._passes.friends import FriendBranch, Ids, Part
    from arrowroot._passes.left_out import LeavingOut
    from arrowroot._passes.source import EnginePass, Source
    from arrowroot._select.entries import Entries, EntrySet
    from arrowroot._select.events import Member as TreeInARow
    from arrowroot._select.objects import CountedBranch, PhysicsObject
    from arrowroot._select.origins import OfRow


class WithFriends(Chain):
    """A chain, and others that are read beside it, entry by entry or by the values of some columns."""

    def __init__(
        self, main: Chain, friends: Iterable[Friend] = (), of_main: tuple[int, int] | None = None
    ) -> None:
        """Take the main chain. ``of_main``: the only entries of it that will be asked for; None: any."""
        super().__init__(main.tree)
        self.main = main
        self.friends = list(friends)
        self._of_main = of_main

    def add(
        self,
        alias: str,
        part: Chain,
        index: str | Iterable[str] | Literal[False] | None,
        missing: str = "raise",
    ) -> None:
        """Read the columns of ``part`` beside these; the arguments are those of ``Tree.add_friend``."""
        if missing not in ("raise", "null"):
            raise InvalidRequestError(f"missing: expected 'raise' or 'null', got {shown(missing)}")
        keys: Iterable[str] | None = None
        if index is None:
            try:
                keys = part.recorded_index
            except UnsupportedError as error:
                raise UnsupportedError(
                    f"{error}; say index=(columns), or index=False to go by the numbers"
                ) from None
        elif index is not False:
            keys = single_names(index, "index")
            if not keys:
                raise InvalidRequestError("index: no columns; index=False goes by the numbers")
        is_by_default = index is None and keys is None
        self.join(alias, part, keys, is_by_default=is_by_default, has_holes=missing == "null")

    def join(
        self,
        alias: str,
        part: Part,
        keys: Iterable[str] | None,
        *,
        shift: int = 0,
        is_by_default: bool = False,
        has_holes: bool = False,
        ids: Ids | None = None,
    ) -> None:
        """Add a friend; the arguments are those of ``Friend``.

        Raises: InvalidRequestError if its alias is taken, or would give a column a name that another one has.
        """
        if any(friend.alias == alias for friend in self.friends):
            raise InvalidRequestError(f"{self.location} has a friend {alias!r} already; choose another alias")
        keys = None if keys is None else list(keys)
        friend = Friend(
            alias,
            part,
            self.main,
            keys,
            of_main=self._of_main,
            shift=shift,
            is_by_default=is_by_default,
            # Nobody knows to which files of a longer chain those of a shorter one belong.
            is_as_long=is_by_default and isinstance(part, Row),
            has_holes=has_holes,
            ids=ids,
        )
        refuse_double_names([(None, self.main), *((one.alias, one.part) for one in [*self.friends, friend])])
        self.friends.append(friend)

    def check(self) -> None:
        """Open all files. Raises: InvalidRequestError for a friend whose entries do not fit those of the main chain."""
        for friend in self.friends:
            friend.check()

    @property
    def location(self) -> str:
        """The first tree of the main chain, and how many there are besides."""
        return self.main.location

    @property
    def members(self) -> Sequence[TreeInARow]:
        """The trees of the main chain."""
        return self.main.members

    @property
    def aliases(self) -> Mapping[str, Alias]:
        """The aliases of the main chain, and those of friends behind their own aliases."""
        from arrowroot._expressions.scope import Alias

        of_friends = {
            f"{one.alias}.{name}": Alias(text, f"{one.alias}.{friend}" if friend else one.alias)
            for one in self.friends
            for name, (text, friend) in one.part.aliases.items()
        }
        return of_friends | dict(self.main.aliases)

    @property
    def samples(self) -> Sequence[str]:
        """The samples of the main chain's trees."""
        return self.main.samples

    @property
    def all_samples(self) -> Sequence[str]:
        """The samples of all files of the main chain."""
        return self.main.all_samples

    @property
    def leaving_out(self) -> LeavingOut | None:
        """The taker of files of the main chain that cannot be read."""
        return self.main.leaving_out

    @property
    def of_row(self) -> OfRow | None:
        """Notes of the main tree on the row that it is a part of; None: it is of none."""
        return self.main.of_row

    @property
    def has_samples(self) -> bool:
        """True if the files of the main chain are of samples."""
        return self.main.has_samples

    def stored_fields(self) -> Mapping[str, pa.Field]:
        """Return the columns of the main chain: friends may lack entries."""
        return self.main.stored_fields()

    @property
    def num_entries(self) -> int:
        """Number of entries of the main chain."""
        return self.main.num_entries

    @property
    def is_one_tree(self) -> bool:
        """False: its batches end where those of any of its parts do."""
        return False

    @property
    def reshuffled(self) -> str | None:
        """A tree of the main chain whose entries are in an order by chance, if there is one."""
        return self.main.reshuffled

    @property
    def own_branches(self) -> Sequence[CountedBranch]:
        """The branches of the main chain."""
        return self.main.own_branches

    @property
    def objects(self) -> Mapping[str, PhysicsObject]:
        """The physics objects of the main chain."""
        return self.main.objects

    @cached_property
    def branches(self) -> Sequence[FriendBranch]:
        """The branches of all parts by their shortest names."""
        return candidates_of(self._names, None)

    @cached_property
    def aliased(self) -> Sequence[FriendBranch]:
        """The friends' branches once more, by their aliases."""
        short = {branch.path for branch in self.branches}
        return [branch for branch in self.by_name.values() if branch.path not in short]

    @property
    def to_filter_by(self) -> Sequence[FriendBranch]:
        """The branches by every name that a filter may use."""
        return list(self.by_name.values())

    @cached_property
    def by_name(self) -> dict[str, FriendBranch]:
        """The branches of the first files by every name that they have, with and without aliases."""
        return {branch.path: branch for branch in by_all_names(self._names)}

    @property
    def _names(self) -> list[Names]:
        """The branches of the first files."""
        return [
            Names(None, self.main.branches),
            *(Names(one.alias, one.part.branches, one.part.aliased) for one in self.friends),
        ]

    @property
    def _rows(self) -> list[tuple[int, Row]]:
        """The rows of files, with their numbers among the parts. All other trees are open."""
        parts = [self.main, *(one.part for one in self.friends)]
        return [(number, part) for number, part in enumerate(parts) if isinstance(part, Row)]

    def open_others(self) -> None:
        """Open the files that are not open yet. Raises: SchemaMismatchError for one that lacks what was chosen."""
        for _, row in self._rows:
            row.open_others()

    def require(self, names: Iterable[str], *, whole_objects: bool = False) -> None:
        """Require of the others that some columns have the types of the first: SchemaMismatchError."""
        found = [self.by_name[name] for name in names]
        for part, row in self._rows:
            of_part = {branch.inner for branch in found if branch.part == part}
            row.require(of_part, whole_objects=whole_objects)
            keys = self.friends[part - 1].keys if part and of_part else None
            for one in (self.main, row) if keys else ():
                one.require(select(one.branches, Choice(keys), one.location).paths)

    def short_columns(self) -> dict[str, str]:
        """Return the branches of the first trees that lack some of their entries, by every name that they have."""
        short = [self.main.short_columns(), *(one.part.short_columns() for one in self.friends)]
        return {
            name: short[branch.part][branch.inner]
            for name, branch in (self.by_name.items() if any(short) else ())
            if branch.inner in short[branch.part]
        }

    def refuse_more(self, choice: Choice, chosen: Iterable[str]) -> None:
        """Refuse a file, here or of a friend, in which a choice has more columns than in the first one there."""
        names, where = self._names, self.location
        for part, row in self._rows:

            def chosen_in(member: Member, part: int = part) -> list[str]:
                beside = [*names]
                beside[part] = names[part]._replace(branches=member.tree().branches)
                return select(candidates_of(beside, choice.columns), choice, where).paths

            row.refuse_what_others_have(chosen_in, chosen)

    def refuse_more_members(self, objects: Mapping[str, PhysicsObject]) -> None:
        """Refuse a file of the main chain in which some physics objects have more members: SchemaMismatchError."""
        self.main.refuse_more_members(objects)

    def choose(self, choice: Choice) -> list[str]:
        """Return the names of the columns to deliver, those of friends too, which all files must have.

        Raises: as ``Tree.scan``; InvalidRequestError for whole objects (``assemble``) or bytes (``raw``).
        """
        if choice.assemble or choice.raw:
            raise InvalidRequestError(NO_WHOLE_BRANCHES)
        choice = self.tree.spelled(choice)
        candidates = candidates_of(self._names, choice.columns)
        try:
            with self.tree.saying_aliases():
                selection = select(candidates, choice, self.location)
        except NoSuchColumnError:
            self.refuse_more(choice, [branch.path for branch in candidates])
            self.open_others()
            raise
        self.refuse_more(choice, selection.paths)
        warn_left_out(selection.left_out, self.location)
        paths = selection.paths
        if not choice.names_some_of(candidates):
            paths = without_short(paths, self.short_columns(), self.location)
        self.require(paths)
        return paths

    def passes(
        self, chosen: list[str], entries: EntrySet, options: Options, bound: Filter | None
    ) -> Callable[[Options], Source]:
        """Return what makes passes; where files may be left out, each is read by itself, with its friends.

        Raises: InvalidRequestError for friends by number where a file could not be opened.
        """
        if self.leaving_out is None or not isinstance(self.main, Row):
            return super().passes(chosen, entries, options, bound)
        main = self.main
        main.open_others()
        by_number = next((one.alias for one in self.friends if one.keys is None), None)
        if by_number is not None:
            self.leaving_out.refuse_numbers(
                f"the friend {by_number!r} has them; give it an index, ar.Friends(paths, tree, (columns)), or name the "
                "files that belong together"
            )
        self.check()
        needed = [self.by_name[name] for name in [*chosen, *(() if bound is None else bound.columns)]]
        names = [branch.inner for branch in needed if not branch.part]
        names += [key for one in self.friends for key in one.keys or ()]

        def alone(member: Member) -> Chain:
            chain = WithFriends(main.alone(member, list(dict.fromkeys(names)), options))
            for one in self.friends:
                shift = 0 if one.keys is not None else member.first_entry
                chain.join(one.alias, one.part, one.keys, shift=shift, has_holes=one.has_holes, ids=one.ids)
            return chain

        return main.each_alone(alone, chosen, entries, bound)

    def entry_set(self, entries: Entries, options: Options) -> EntrySet:
        """Return the entries that a user chose, by their numbers in the main chain; events are looked up."""
        return self.main.entry_set(entries, options)

    def source(self, names: list[str], entries: EntrySet, options: Options) -> EnginePass:
        """Return a pass over columns, by any of their names, and entries. Opens all files.

        Raises: InvalidRequestError, SchemaMismatchError.
        """
        self.check()
        chosen = [self.by_name[name] for name in names]
        shared = options.shared_by(len({branch.part for branch in chosen} or {0}))
        of_main = (0, self.num_entries) if entries is None else entries

        def source_of(part: int, paths: list[str]) -> EnginePass:
            if not part:
                return self.main.source(paths, of_main, shared)
            return self.friends[part - 1].source(paths, of_main, options, shared)

        return side_by_side(chosen, source_of)

    def first_schema(self, names: list[str], options: Options) -> pa.Schema:
        """Return the types of columns in the first files of each part, or in all where these may differ."""
        import pyarrow as pa

        parts: list[Part] = [self.main, *(one.part for one in self.friends)]
        chosen = [self.by_name[name] for name in names]
        inner: dict[int, list[str]] = {}
        for branch in chosen:
            inner.setdefault(branch.part, []).append(branch.inner)
        schemas = {
            part: parts[part].first_schema(list(dict.fromkeys(paths)), options)
            for part, paths in inner.items()
        }
        return pa.schema(
            [schemas[branch.part].field(branch.inner).with_name(branch.path) for branch in chosen]
        )

    def with_partners(self, columns: list[str], entries: EntrySet, options: Options) -> EntrySet:
        """Return the entries with one partner in each friend that has some of the columns; as they are if all do."""
        import numpy as np

        of_main = (0, self.num_entries) if entries is None else entries
        masks = [
            mask
            for part in sorted({self.by_name[name].part for name in columns} - {0})
            if (mask := self.friends[part - 1].have_partner(of_main, options)) is not None
        ]
        if all(bool(mask.all()) for mask in masks):
            return entries
        found = np.flatnonzero(np.logical_and.reduce(masks))
        return of_main[found] if isinstance(of_main, np.ndarray) else of_main[0] + found

    def cluster_of(self, entry: int) -> tuple[int, int]:
        """Return the ends of the cluster that an entry of the main chain is in."""
        return self.main.cluster_of(entry)

    def files_of(self, entries: EntrySet) -> Files | None:
        """Return which files the entries are in, here and in friends by number."""
        by_number = (row for part, row in self._rows if not part or self.friends[part - 1].keys is None)
        found = [files for row in by_number if (files := row.files_of(entries)) is not None]
        if not found:
            return None
        firsts = {first for files in found for first in files.first_entries}
        return found[0]._replace(
            first_entries=sorted(firsts), n_at_once=min(files.n_at_once for files in found)
        )

    def owned(self, names: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Return of which part each column is, and its path there, whichever of the files are read.

        Raises: SchemaMismatchError, here or as files are opened, if a friend's column has a name that another one has
        there, too.
        """
        found = {name: self.by_name[name] for name in names}
        where = self.location
        for part, row in self._rows:
            # The names of the main tree's own columns are always theirs.
            short = {name for name, branch in found.items() if branch.part not in (0, part)}

            def refuse(member: Member, _: object, short: set[str] = short) -> None:
                wrong = short & {branch.path for branch in member.tree().branches}
                if wrong:
                    raise SchemaMismatchError(
                        f"{member.url}: has a column {min(wrong)!r}, which is a friend's beside {where}; "
                        "choose it as ALIAS.COLUMN, by an alias that no column begins with"
                    )

            if short:
                row.enforce(refuse)
        return {name: (branch.part, branch.inner) for name, branch in found.items()}
