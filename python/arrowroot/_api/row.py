"""Trees of many files in a row: which of them are open, and what all of them must have."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from arrowroot._api.chain import Chain, cluster_of
from arrowroot._api.members import N_REOPENED, REOPENED_BYTES, Member, Opened, Reopened
from arrowroot._api.scan import shown
from arrowroot._errors import (
    InvalidRequestError,
    NoSuchColumnError,
    NotFoundError,
    SchemaMismatchError,
    UnsupportedError,
)
from arrowroot._options import Options
from arrowroot._passes.ahead import in_order
from arrowroot._passes.concatenated import Concatenated
from arrowroot._passes.reordering import Reordering
from arrowroot._select.entries import is_of_trees
from arrowroot._select.events import EventList
from arrowroot._sizes import counted, parse_size
from arrowroot._storage.readers import n_opened_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot import _native
    from arrowroot._api.tree import Tree
    from arrowroot._filter.bind import Filter
    from arrowroot._passes.first_pass import Files
    from arrowroot._passes.left_out import LeavingOut
    from arrowroot._passes.source import Source, TreeSource
    from arrowroot._select.columns import Choice
    from arrowroot._select.entries import Entries, EntrySet
    from arrowroot._select.events import FoundEvents
    from arrowroot._select.objects import PhysicsObject

T = TypeVar("T")

#: The most bytes of trees that are kept compact between looking at the schema and reading, so that their files are not
#: opened again; and about the bytes of an open file, and of what is noted of it here.
_COMPACT_BYTES, _FILE_BYTES = parse_size("128 MB"), 5000
#: The most trees, and the most bytes of their metadata, of those that cannot be compact, that stay open as they are.
_N_KEPT_OPEN, _KEPT_BYTES = 128, parse_size("48 MB")
#: The most files in a step of a filtered pass, a quarter of those that stay open.
_N_IN_A_STEP = N_REOPENED // 4
#: A filtered pass over more files has steps though none is opened again: all files of a step are planned at once.
_N_WITHOUT_STEPS = 128
#: Files that are looked at for an alias that the first one lacks.
_N_ASKED = 20
_NONE: Mapping[str, str | None] = {}
#: Takes a tree and its differences from the first tree. Raises SchemaMismatchError if it must not be in the row.
Rule: TypeAlias = "Callable[[Member, Mapping[str, str | None]], None]"


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


def _differences(first: _native.Types, types: _native.Types) -> Mapping[str, str | None]:
    """Return the types that differ from those of the first tree, by column; None: it is not there."""
    if types.is_same(first):
        return _NONE
    before, here = dict(first.texts()), dict(types.texts())
    return {path: here.get(path) for path in {**before, **here} if here.get(path) != before.get(path)}


def _first_entry(member: Member) -> int:
    return member.first_entry


class Row(Chain):
    """Trees of files, one after the other.

    The first file is open at once. The others are opened when something needs all of them. Each of these is checked, as
    it is opened, for what was chosen until then.
    """

    def __init__(
        self,
        trees: Iterator[Opened],
        n_files: int,
        *,
        with_index: bool = False,
        leaving_out: LeavingOut | None = None,
        samples: Sequence[str] | None = None,
    ) -> None:
        """Take the first tree; ``trees`` opens each other one as it is drawn.

        n_files: how many files they are of. with_index: look at the index of each. leaving_out: knows the files that
        could not be opened. samples: of each file; None: there are none.
        """
        self._n_files = n_files
        self._samples_of_files = samples
        #: The sample of each tree.
        self._samples: list[str] = []
        self._leaving_out = leaving_out
        #: The others, opened as they are drawn; None: all are open.
        self._waiting: Iterator[Opened] | None = trees
        self._members: list[Member] = []
        #: Numbers of the files that are open.
        self._opened_files: set[int] = set()
        self._num_entries = 0
        self._reshuffled: str | None = None
        self._with_index = with_index
        self._reopened = Reopened()
        self._n_kept = self._kept_bytes = self._compact_bytes = 0
        #: What the trees that are kept share with others of their schemas.
        self._shared: set[int] = set()
        #: The types of the other trees' columns that differ from those of the first; None: not there.
        self._other_types: list[Mapping[str, str | None]] = []
        #: What must be true of each file.
        self._rules: list[Rule] = []
        #: Columns that some rule says to be the same in all files.
        self._required: set[str] = set()
        #: Numbers of the first entries of all trees; None until they are asked for.
        self._starts: npt.NDArray[np.int64] | None = None
        first = next(self._waiting)
        super().__init__(first.tree)
        self._first_types, _ = first.tree.digest()
        #: The same by path, as texts.
        self._types = dict(self._first_types.texts())
        self._recorded_index = first.tree.recorded_index if with_index else None
        self._newly_shared(first.tree)
        self._add(first)

    def _add(self, opened: Opened) -> None:
        """Take the next tree. Raises: what the rules do of it."""
        tree = opened.tree
        types, metadata_bytes = tree.digest()
        if self._members and self._with_index and tree.recorded_index != self._recorded_index:
            raise SchemaMismatchError(
                f"{opened.url}: has another index than {self._members[0].url}: "
                f"{tree.recorded_index}, {self._recorded_index}"
            )
        if tree.entries_reshuffled and self._reshuffled is None:
            self._reshuffled = tree.location
        index = len(self._members)
        held_bytes = opened.came_bytes + metadata_bytes
        compact = self._compact(tree, opened.came_bytes) if index else None
        is_kept = compact is None and self._keeps(held_bytes)
        member = Member(
            index,
            opened.url,
            opened.location,
            opened.path,
            tree.num_entries,
            self._num_entries,
            tree.file_identity,
            tree,
            opened.reopen,
            held_bytes,
            self._reopened,
            compact,
            opened.changed_ns,
        )
        differences = _differences(self._first_types, types)
        for rule in self._rules:
            rule(member, differences)
        self._other_types.append(differences)
        self._samples.append("" if self._samples_of_files is None else self._samples_of_files[opened.number])
        self._members.append(member if is_kept else member._replace(kept=None))
        self._opened_files.add(opened.number)
        self._num_entries += tree.num_entries

    def _compact(self, tree: Tree, came_bytes: int) -> Callable[[], Tree] | None:
        """Return what makes a tree again of little that is kept; None: there is no room, or it cannot be had."""
        compact = tree.compact() if self._compact_bytes < _COMPACT_BYTES else None
        if compact is None:
            return None
        make, n_bytes = compact
        self._compact_bytes += n_bytes + came_bytes + _FILE_BYTES + self._newly_shared(tree)
        return make

    def _newly_shared(self, tree: Tree) -> int:
        """Return about the bytes of what a tree that is kept shares with others, but with none that is kept before."""
        new = {part: n_bytes for part, n_bytes in tree.shared_parts().items() if part not in self._shared}
        self._shared.update(new)
        return sum(new.values())

    def _keeps(self, held_bytes: int) -> bool:
        """Return whether one more tree may stay open as it is; the first one does."""
        self._n_kept += 1
        self._kept_bytes += held_bytes
        return self._n_kept == 1 or (self._n_kept <= _N_KEPT_OPEN and self._kept_bytes <= _KEPT_BYTES)

    @property
    def first(self) -> Member:
        """The first tree, with its index."""
        return self._members[0]

    @property
    def samples(self) -> Sequence[str]:
        """The sample of each tree; "" for none."""
        self.open_others()
        return self._samples

    @property
    def all_samples(self) -> Sequence[str]:
        """The samples of all files, those that cannot be read, too."""
        return self._samples_of_files or ()

    @property
    def has_samples(self) -> bool:
        """True if the files are of samples."""
        return any(self._samples_of_files or ())

    @property
    def leaving_out(self) -> LeavingOut | None:
        """The taker of files that cannot be read."""
        return self._leaving_out

    @property
    def recorded_index(self) -> tuple[str, ...] | None:
        """The index that all trees record; None: none does, or nobody looked."""
        return self._recorded_index

    def open_others(self) -> None:
        """Open the files that are not open yet.

        Raises: SchemaMismatchError once a file is open that does not have what was chosen of the others.
        """
        if self._waiting is None:
            return
        # A row in which one file fails lacks those behind it: it gives nothing any more.
        waiting, self._waiting = self._waiting, iter(())
        with shown(lambda: self._members[-1].url, "opening") or nullcontext() as progress:
            if progress is not None:
                progress.follow(lambda: (self._n_seen / self._n_files, 0))
            for opened in waiting:
                self._add(opened)
        if self._n_seen != self._n_files:
            raise InvalidRequestError(f"{self.location}: a file failed before: begin a new scan")
        self._waiting = None
        self._rules.clear()

    @property
    def _n_seen(self) -> int:
        """How many files are open, or left out."""
        n_left_out = 0 if self._leaving_out is None else len(self._leaving_out.not_opened)
        return len(self._opened_files) + n_left_out

    @property
    def members(self) -> list[Member]:
        """All trees, opened if they are not. Raises: as ``open_others``."""
        self.open_others()
        return self._members

    @property
    def num_entries(self) -> int:
        """Number of entries of all trees."""
        return self.members[-1].end_entry

    def stored_fields(self) -> Mapping[str, pa.Field]:
        """Return columns by their names, nullable where any tree stores missing values.

        Nothing if some trees are to be opened again for it.
        """
        from arrowroot._arrow.kinds import nullable_in_either

        found: dict[str, pa.Field] = {}
        if not all(member.stays_open for member in self.members):
            return found
        before: pa.Schema | None = None
        for member in self.members:
            schema = member.tree().stored_schema()
            if schema == before:
                continue
            before = schema
            for field in schema:
                known = found.get(field.name)
                found[field.name] = field if known is None else nullable_in_either(known, field)
        return found

    @property
    def is_one_tree(self) -> bool:
        """True for one tree of one file, in which no batch ends where a tree does."""
        return self._n_files == 1 and len(self.members) == 1

    @property
    def reshuffled(self) -> str | None:
        """A tree whose entries are in an order by chance, if there is one."""
        return self._reshuffled if self.members else None

    def enforce(self, rule: Rule) -> None:
        """Apply a rule to the trees that are open now, and to each other one as it is opened."""
        for member, differences in zip(self._members, self._other_types, strict=True):
            rule(member, differences)
        if self._waiting is not None:
            self._rules.append(rule)

    @property
    def location(self) -> str:
        """The first tree, and how many there are besides."""
        others = f" (and {counted(self._n_files - 1, 'more file')})" if self._n_files > 1 else ""
        return f"{super().location}{others}"

    def of_each(self, look: Callable[[Tree], T]) -> Iterator[T]:
        """Yield what ``look`` finds in each tree. Several remote ones that are opened again are so at a time."""
        jobs = (lambda member=member: look(member.tree()) for member in self.members)
        return in_order(
            jobs, n_opened_ahead(member.location for member in self.members if not member.stays_open)
        )

    def choose(self, choice: Choice) -> list[str]:
        """Return the paths chosen in the first file, which the others must choose, too.

        Raises: SchemaMismatchError, in whatever order the files are, if an open file has a column that another one
        lacks. For files that are not open yet, what opens them raises it.
        """
        try:
            chosen = self._choose_in_first(choice)
        except NoSuchColumnError:
            self.refuse_more(choice, self._types)
            self.open_others()  # one that has it is the one to tell of
            raise
        self.require(chosen, whole_objects=choice.assemble)
        columns, filter_name, *_ = choice
        if columns is None or filter_name is not None or any(name not in self._types for name in columns):
            self.refuse_more(choice, chosen)
        return chosen

    def _choose_in_first(self, choice: Choice) -> list[str]:
        """Return the paths chosen in the first file; what is to be left out may be in others alone."""
        try:
            return super().choose(choice)
        except NoSuchColumnError:
            of_others = set(choice.left_out_in_vain(self.branches))
            if not of_others:
                raise
        nowhere = set.intersection(
            *map(set, self.of_each(lambda tree: choice.left_out_in_vain(tree.branches)))
        )
        return super().choose(choice.not_leaving_out(of_others - nowhere))

    def other_with_alias(self, name: str) -> str | None:
        """Return the first of the other files whose tree records an alias; of many files a few are looked at."""
        others = self.members[1:_N_ASKED]
        return next((one.url for one in others if name in one.tree().aliases), None)

    def refuse_more(self, choice: Choice, chosen: Iterable[str]) -> None:
        """Refuse a file in which a choice has more columns than in the first: SchemaMismatchError."""

        def chosen_in(member: Member) -> list[str]:
            tree = member.tree()
            return tree.selection(choice.not_leaving_out(choice.left_out_in_vain(tree.branches))).paths

        self.refuse_what_others_have(chosen_in, chosen)

    def refuse_more_members(self, objects: Mapping[str, PhysicsObject]) -> None:
        """Refuse a file in which some physics objects of the first have more members: SchemaMismatchError."""
        from arrowroot._select.objects import paths_in

        def members_in(member: Member) -> list[str]:
            return paths_in(one for name, one in member.tree().objects.items() if name in objects)

        self.refuse_what_others_have(members_in, paths_in(objects.values()))

    def refuse_what_others_have(
        self, chosen_in: Callable[[Member], Iterable[str]], chosen: Iterable[str]
    ) -> None:
        """Refuse a file in which a choice has columns that are not chosen in the first: SchemaMismatchError."""
        expected = set(chosen)
        looked_at: set[frozenset[str]] = set()

        def refuse(member: Member, differences: Mapping[str, str | None]) -> None:
            more = frozenset(path for path in differences if path not in self._types)
            if not more or more in looked_at:
                return
            looked_at.add(more)
            try:
                found = [path for path in chosen_in(member) if path not in expected]
            except (InvalidRequestError, NotFoundError, UnsupportedError):
                return  # the columns of the first file tell what this one lacks
            if found:
                raise self._mismatch_of(found[0], None, member, differences.get(found[0]))

        self.enforce(refuse)

    def _mismatch_of(
        self, path: str, first: str | None, member: Member, found: str | None
    ) -> SchemaMismatchError:
        """Return the error of a column with other types in the first file and in a member; None: not readable."""
        remedy = "missing='null' or 'common'"
        if first is None:
            differs = f"is not in {self.first.url}, or not readable there"
        else:
            has = "is missing or not readable" if found is None else f"has type {found}"
            differs = f"{has}, but in {self.first.url} it has type {first}"
            remedy = remedy if found is None else "promote=True for numbers"
        return SchemaMismatchError(
            f"{member.url}: column {path!r} {differs}; choose columns that all files have, or give {remedy}"
        )

    def require(self, paths: Iterable[str], *, whole_objects: bool = False) -> None:
        """Require of the others that columns, by their paths, have the types of the first: SchemaMismatchError."""
        required = {path for path in paths if path not in self._required}
        if not required:
            return

        def refuse(member: Member, differences: Mapping[str, str | None]) -> None:
            wrong: dict[str, str] = {}
            for path in differences:
                outer = _outermost(path, required)
                if outer is not None:
                    wrong.setdefault(outer, path)
            for outer, path in wrong.items():
                # A whole object may be in many branches in one file, and in one branch in another.
                if not (whole_objects and self._is_same_object(member, outer)):
                    raise self._mismatch_of(path, self._types.get(path), member, differences[path])

        self.enforce(refuse)
        self._required.update(required)

    def _is_same_object(self, member: Member, path: str) -> bool:
        """Return whether a whole object is the same in a file and in the first, however its members are stored."""
        fields = []
        for tree in (self.tree, member.tree()):
            try:
                fields.append(tree.source([path], (0, 0), Options.default()).schema().field(0))
            except (NotFoundError, UnsupportedError):
                return False
        return bool(fields[0].equals(fields[1]))

    def files_of(self, entries: EntrySet) -> Files | None:
        """Return which files the entries are in, if they are in order and not all files stay open."""
        members = self.members
        if len(members) <= _N_WITHOUT_STEPS:
            members = [member for member in members if not member.stays_open]
        largest = max((member.held_bytes for member in members), default=None)
        is_in_order = (
            entries is None or isinstance(entries, tuple) or bool((entries[1:] >= entries[:-1]).all())
        )
        if largest is None or not is_in_order:
            return None
        from arrowroot._passes.first_pass import Files

        n_at_once = max(1, min(_N_IN_A_STEP, REOPENED_BYTES // (4 * largest + 1)))
        return Files([member.first_entry for member in self.members], n_at_once)

    def starts(self) -> Sequence[int]:
        """Return the numbers of the first entries of the trees that have some."""
        return [member.first_entry for member in self.members if member.num_entries]

    def cluster_of(self, entry: int) -> tuple[int, int]:
        """Return the ends of the cluster that an entry is in; no cluster is in two files."""
        member = self.members[max(0, bisect_right(self.members, entry, key=_first_entry) - 1)]
        first, end = cluster_of(member.tree(), entry - member.first_entry)
        return first + member.first_entry, end + member.first_entry

    def source(self, names: list[str], entries: EntrySet, options: Options) -> Concatenated:
        """Return a pass over columns, by their paths, and entries, by their numbers in the row."""
        self.require(names)
        parts, order = self.parts(entries)

        def make(member: Member, entries: EntrySet) -> TreeSource:
            return self.source_of(member, names, entries, options)

        reordering = Reordering.of(entries, order, options)
        return Concatenated(parts, names, options, make, self._leaving_out, reordering=reordering)

    def source_of(self, member: Member, names: list[str], entries: EntrySet, options: Options) -> TreeSource:
        """Return a pass over columns and entries of one tree."""
        return member.tree().source(names, entries, options)

    def alone(self, member: Member, names: list[str], options: Options) -> Chain:  # noqa: ARG002 - for rows of files that differ
        """Return one tree, of which some columns are to be read, as it is read in the row."""
        return Chain(member.tree())

    def passes(
        self, chosen: list[str], entries: EntrySet, options: Options, bound: Filter | None
    ) -> Callable[[Options], Source]:
        """Return what makes passes; where files may be left out, a filter sees each file by itself."""
        if bound is None or self._leaving_out is None:
            return super().passes(chosen, entries, options, bound)
        names = list(dict.fromkeys([*chosen, *bound.columns]))
        alone = partial(self.alone, names=names, options=options)
        return self.each_alone(alone, chosen, entries, bound)

    def each_alone(
        self, alone: Callable[[Member], Chain], chosen: list[str], entries: EntrySet, bound: Filter | None
    ) -> Callable[[Options], Source]:
        """Return what makes passes in which each tree is read by itself, so that damage ends that one alone.

        alone: returns a tree with what is read beside it. The others: as of ``passes``.
        """
        from arrowroot._filter.bind import Behind
        from arrowroot._passes.in_turn import InTurn

        parts, order = self.parts(entries)

        def make(options: Options) -> Source:
            def of_member(member: Member, entries: EntrySet) -> Source:
                condition = None if bound is None else Behind(bound, member.first_entry)
                return alone(member).passes(chosen, entries, options, condition)(options)

            def schema() -> pa.Schema:
                # An index is read as a pass is made, but not of no entries.
                return alone(parts[0][0]).source(chosen, (0, 0), options).schema()

            reordering = Reordering.of(entries, order, options)
            return InTurn(parts, chosen, of_member, self._leaving_out, schema=schema, reordering=reordering)

        return make

    def entry_set(self, entries: Entries, options: Options) -> EntrySet:
        """Return the entries that a user chose, by their numbers in the row; events are looked up.

        Raises: InvalidRequestError for numbers where a file could not be opened.
        """
        says_trees = entries is None or isinstance(entries, slice | EventList) or is_of_trees(entries)
        if self._leaving_out is not None and not says_trees:
            self.open_others()
            self._leaving_out.refuse_numbers("give a slice, of those that are there, or a list of events")
        return super().entry_set(entries, options)

    def found_events(self, events: EventList, paths: list[str], options: Options) -> npt.NDArray[np.int64]:
        """Return the numbers of events by the columns of their ids, but for those in trees that prove damaged."""
        if self._leaving_out is None:
            return super().found_events(events, paths, options)
        from arrowroot._api.events_in_row import found_in_whole

        return found_in_whole(self, self._leaving_out, events, paths, options)

    def indexed_events(
        self, events: EventList, found: FoundEvents, paths: list[str], options: Options
    ) -> npt.NDArray[np.int64]:
        """Return the numbers of events that an index gives, but for those in trees whose ids prove damaged."""
        if self._leaving_out is None:
            return super().indexed_events(events, found, paths, options)
        from arrowroot._api.events_in_row import indexed_in_whole

        return indexed_in_whole(self, self._leaving_out, events, paths, options, found=found)

    @property
    def first_entries(self) -> npt.NDArray[np.int64]:
        """The numbers of the first entries of all trees."""
        import numpy as np

        if self._starts is None:
            self._starts = np.array([member.first_entry for member in self.members], dtype=np.int64)
        return self._starts

    def owners(self, entries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers of the trees that have some entries."""
        import numpy as np

        # An empty file starts where the next one does; side="right" finds the last of these.
        return np.searchsorted(self.first_entries, entries, side="right") - 1

    def parts(self, entries: EntrySet) -> tuple[list[tuple[Member, EntrySet]], npt.NDArray[np.int64] | None]:
        """Return what to read of each file, and the order to bring that into; None if it is in order."""
        if entries is None:
            return [(member, None) for member in self.members], None
        if isinstance(entries, tuple):
            start, stop = entries
            if start == stop:
                last = bisect_right(self.members, start, key=_first_entry) - 1 if start else 0
                return [(self.members[last] if last > 0 else self.first, (0, 0))], None
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
        import numpy as np

        owner = self.owners(entries)
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
