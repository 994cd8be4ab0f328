"""The one way from a choice of columns, entries and a filter to a scan."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from arrowroot._api.scan import Scan
from arrowroot._errors import NoSuchColumnError, UnsupportedError, warn_left_out
from arrowroot._options import BATCH_SIZE, Options, definitions_of
from arrowroot._passes.source import batches_of, written_by_code
from arrowroot._select import entries as _entries
from arrowroot._select.columns import NOT, Choice, id_paths, is_named, is_test, texts_of
from arrowroot._select.events import EventList, OnlyTree
from arrowroot._sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._api.outputs import Outputs
    from arrowroot._api.tree import Tree
    from arrowroot._api.zips import Zips
    from arrowroot._expressions.scope import Alias, Scope
    from arrowroot._filter.bind import Filter, FilterLike
    from arrowroot._options import Define
    from arrowroot._passes.first_pass import Files, Filtered
    from arrowroot._passes.friends import FriendBranch
    from arrowroot._passes.left_out import LeavingOut
    from arrowroot._passes.source import EnginePass, Source
    from arrowroot._select.columns import Candidate, Columns
    from arrowroot._select.entries import Entries, EntrySet
    from arrowroot._select.events import FoundEvents, Member
    from arrowroot._select.lumi import LumiMaskLike
    from arrowroot._select.objects import CountedBranch, PhysicsObject
    from arrowroot._select.origins import OfRow, Origins

_SMALL_BATCH_BYTES = parse_size("1 MB")
#: So many columns are left out of a table as they turn out to be of code: for each, all is read again.
_N_LEFT_OUT = 8


class Chain:
    """The trees that a scan reads: here a tree alone, in ``Row`` several, in ``WithFriends`` friends beside them.

    Columns are chosen from the first tree. A chain of several checks each other tree, as it is opened, for what was
    chosen. The methods that speak of "the others" do nothing here: a tree alone has none.
    """

    def __init__(
        self, tree: Tree, aliases: Mapping[str, Alias] | None = None, of_row: OfRow | None = None
    ) -> None:
        """Take the first tree, whose columns the others are compared with.

        aliases: those of the chain that the tree is a part of; None: it is none of another one. of_row: what else it
            has of that one.
        """
        self.tree = tree
        self._aliases = aliases
        self._of_row = of_row
        #: Texts of origins that are none, of which people know.
        self._told: set[tuple[str, str, str]] = set()

    @property
    def location(self) -> str:
        """The first tree, and how many there are besides."""
        return self.tree.location

    @property
    def leaving_out(self) -> LeavingOut | None:
        """The taker of files that cannot be read; None: their errors are raised."""
        return None

    @property
    def branches(self) -> Sequence[Candidate]:
        """All branches of the first tree."""
        return self.tree.branches

    @property
    def own_branches(self) -> Sequence[CountedBranch]:
        """The branches of the main trees."""
        return self.tree.branches

    @property
    def objects(self) -> Mapping[str, PhysicsObject]:
        """The physics objects of the main trees."""
        return self.tree.objects

    @property
    def aliased(self) -> Sequence[FriendBranch]:
        """The branches of friends once more, by their aliases."""
        return ()

    @property
    def aliases(self) -> Mapping[str, Alias]:
        """The expressions that the first tree records, by their names, and those that friends do."""
        from arrowroot._expressions.scope import Alias

        if self._aliases is not None:
            return self._aliases
        return {name: Alias(text) for name, text in self.tree.aliases.items()}

    def short_columns(self) -> dict[str, str]:
        """Return the branches of the first tree that do not have all of its entries, and which they have."""
        return self.tree.short_columns()

    @property
    def to_filter_by(self) -> Sequence[Candidate]:
        """The branches by every name that a filter may use."""
        return self.branches

    @property
    def members(self) -> Sequence[Member]:
        """All trees, opened if they are not. Raises: as ``open_others``."""
        tree = self.tree
        return [OnlyTree(tree.url, tree.path, tree.num_entries, tree.file_identity)]

    def place(self, entry: int) -> tuple[str, int]:
        """Return the tree that has an entry, for messages, and the number of the entry there."""
        member = next(one for one in reversed(self.members) if one.first_entry <= entry)
        return f"{member.url}:{member.path}", entry - member.first_entry

    @property
    def num_entries(self) -> int:
        """Number of entries of all trees."""
        return self.tree.num_entries

    @property
    def is_one_tree(self) -> bool:
        """True for a tree alone, whose passes have batches of as many entries as they are asked for."""
        return True

    @property
    def reshuffled(self) -> str | None:
        """A tree whose entries are in an order by chance, if there is one."""
        return self.tree.location if self.tree.entries_reshuffled else None

    @property
    def recorded_index(self) -> tuple[str, ...] | None:
        """The index that all trees record; None: none does."""
        return self.tree.recorded_index

    def open_others(self) -> None:
        """Open the files that are not open yet. Raises: SchemaMismatchError for one that lacks what was chosen."""

    def require(self, paths: Iterable[str], *, whole_objects: bool = False) -> None:
        """Require of the others that some columns have the types of the first: SchemaMismatchError."""

    def refuse_more(self, choice: Choice, chosen: Iterable[str]) -> None:
        """Refuse a tree in which a choice has more columns than in the first: SchemaMismatchError."""

    def refuse_more_members(self, objects: Mapping[str, PhysicsObject]) -> None:
        """Refuse a tree in which some physics objects of the first have more members: SchemaMismatchError."""

    def owned(self, names: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Return of which part each column is (0: the main one), and its path there."""
        return {name: (0, name) for name in names}

    def files_of(self, entries: EntrySet) -> Files | None:
        """Return which files the entries are in, if they are in order and not all files stay open."""

    def starts(self) -> Sequence[int]:
        """Return the numbers of the first entries of trees that have some, where they are read one after the other."""
        return ()

    def cluster_of(self, entry: int) -> tuple[int, int]:
        """Return the first entry of the cluster of the main tree that an entry is in, and the one after its last."""
        return cluster_of(self.tree, entry)

    def with_partners(self, columns: list[str], entries: EntrySet, options: Options) -> EntrySet:  # noqa: ARG002 - for friends
        """Return the entries that have all of some columns; the same object if all do."""
        return entries

    def choose(self, choice: Choice) -> list[str]:
        """Return the names of the columns to deliver, which all trees must have. Raises: as ``Tree.scan``."""
        return self.tree.chosen(choice)

    def source(self, names: list[str], entries: EntrySet, options: Options) -> EnginePass:
        """Return a pass over columns and entries."""
        return self.tree.source(names, entries, options)

    def first_schema(self, names: list[str], options: Options) -> pa.Schema:
        """Return the types of columns in the first files."""
        return self.tree.source(names, (0, 0), options).schema()

    def entry_set(self, entries: Entries, options: Options) -> EntrySet:
        """Return the entries that a user chose, by their numbers in the chain; events are looked up."""
        if isinstance(entries, EventList):
            return self._entries_of(entries, options.of_ids())
        if _entries.is_of_trees(entries):
            return _entries.of_trees(entries, self.members)
        return _entries.normalise(entries, self.num_entries)

    def id_paths(self, names: Iterable[str]) -> list[str]:
        """Return the path of each column that holds ids, which all trees must have. Raises: as ``choose``."""
        return id_paths(names, lambda name: self.choose(Choice.of(name)), self.location)

    def _entries_of(self, events: EventList, options: Options) -> npt.NDArray[np.int64]:
        """Return the numbers of events, looked up by their index or in the columns of all trees."""
        if events.index is not None:
            found = events.found_among(self.members)
            return self.indexed_events(events, found, self.id_paths(events.index.columns), options)
        columns = events.columns_in(self.tree.has_branch, self.location)
        return self.found_events(events, self.id_paths(columns), options)

    def found_events(self, events: EventList, paths: list[str], options: Options) -> npt.NDArray[np.int64]:
        """Return the numbers of events by the columns of their ids."""
        source = self.source(paths, None, options)
        return events.entries(events.found_in(batches_of(source), paths), self.location)

    def indexed_events(
        self, events: EventList, found: FoundEvents, paths: list[str], options: Options
    ) -> npt.NDArray[np.int64]:
        """Return the numbers of events that an index gives, once the columns of their ids say the same.

        Raises: CorruptFileError if they do not.
        """
        entries = events.entries(found, self.location)
        source = self.source(paths, entries, options)
        events.refuse_others(found, batches_of(source), paths, self.location)
        return entries

    def scan(self, columns: Columns, given: Mapping[str, Any], scope: Scope | None = None) -> Scan:
        """Return a scan. ``given``: what a user gave of ``ScanOptions``; ``scope``: of a scan with the same."""
        options = Options.of(given)
        return self._scans(columns, given, options, scope)(options)

    def to_arrow(self, columns: Columns, given: Mapping[str, Any]) -> pa.Table:
        """Read a choice into a table; each column is one chunk, unless it is too long for one.

        A column that nobody named is left out, with a warning, if its objects turn out to be written by code of their
        own: only their bytes tell, so what was read until then is read again.
        """
        if columns is not None and not is_test(columns):
            columns = texts_of(columns, "columns")
        left_out: list[tuple[str, str]] = []
        while True:
            try:
                table = self._table(columns, given)
            except UnsupportedError as error:
                column = written_by_code(error)
                is_asked_for = given.get("filter_name") is not None or is_named(columns, column or "")
                if column is None or is_asked_for or len(left_out) == _N_LEFT_OUT:
                    raise
                columns = [*(texts_of(columns, "columns") if columns is not None else ()), f"{NOT}{column}"]
                kinds = {branch.path: branch.type_name for branch in self.own_branches}
                left_out.append((column, kinds.get(column, "an object")))
            else:
                warn_left_out(left_out, self.location, "written by code of its own")
                return table

    def _table(self, columns: Columns, given: Mapping[str, Any]) -> pa.Table:
        options = Options.of(given, batch_size=None)
        scan_with = self._scans(columns, given, options)
        # A table that is too long is read again: to know it in advance would cost all others something.
        for batch_bytes in (None, parse_size(BATCH_SIZE)):
            try:
                return scan_with(options._replace(batch_bytes=batch_bytes)).read_all()
            except ValueError as error:
                from arrowroot._arrow.chunks import needs_chunks

                if not needs_chunks(error):
                    raise
        # Batches of columns that are packed extremely well get longer than planned.
        return scan_with(options._replace(batch_bytes=_SMALL_BATCH_BYTES)).read_all()

    def _scans(
        self, columns: Columns, given: Mapping[str, Any], options: Options, scope: Scope | None = None
    ) -> Callable[[Options], Scan]:
        """Return what makes scans of a choice, by these options or others that differ in sizes alone."""
        condition: FilterLike = given.get("filter")
        lumi_mask: LumiMaskLike | None = given.get("lumi_mask")
        define = definitions_of(given.get("define"))
        is_filtered = condition is not None or lumi_mask is not None
        if is_filtered or define:
            options.refuse_whole_branches()
        names = given.get("filter_name")
        zips: Zips | None = None
        if given.get("objects", False) is not False:
            from arrowroot._api.zips import Zips

            zips = Zips(self, columns, given)
            columns = zips.columns
        choice = Choice.of(columns, names, assemble=options.assemble, raw=options.raw)
        outputs, scope = self.outputs(choice, options, define, scope)
        outputs = outputs._replace(needed_where=given.get("needed_where", {}))
        if zips is not None:
            delivered = zips.choose(list(outputs.columns))
            outputs = outputs._replace(columns={name: outputs.columns.get(name) for name in delivered})
        chosen = outputs.needed
        scope = scope or (self.scope(options) if condition is not None else None)
        bound = self.bound(condition, options, lumi_mask, scope=scope) if is_filtered else None
        # From here on other files are opened. All columns are chosen by now, so each file is checked for them.
        entries = self.entry_set(given.get("entries"), options)
        if scope is not None:
            self.warn_of_no_origin(scope)
        start = self.passes(chosen, entries, options, bound)
        start = partial(_computing, start, outputs, entries)
        if given.get("origin") is not None:
            start = self._with_origin(start, entries, given["origin"])
        if zips is not None:
            start = zips.around(start)
        if bound is not None or not self.is_one_tree:
            start = partial(_regrouped, start)
        text = "" if bound is None else bound.text

        def again(columns: list[str], more: Mapping[str, Any]) -> Scan:
            return self.scan(columns, {**given, "filter_name": None, **more}, scope)

        def stored() -> Mapping[str, pa.Field]:
            known = self.stored_fields()
            return {
                name: known[name]
                for name, expression in outputs.columns.items()
                if expression is None and name in known
            }

        return lambda options: Scan(
            partial(start, options),
            self.location,
            text,
            self.leaving_out,
            again=again,
            place=self.place,
            stored=stored,
        )

    def stored_fields(self) -> Mapping[str, pa.Field]:
        """Return columns by their names, nullable where missing values are stored, as far as that is known."""
        return {field.name: field for field in self.tree.stored_schema()}

    def outputs(
        self, choice: Choice, options: Options, define: Define, scope: Scope | None = None
    ) -> tuple[Outputs, Scope | None]:
        """Return the columns to deliver, and the scope of their expressions if there may be some.

        scope: one with these definitions, if there is one already.
        """
        from arrowroot._api.outputs import Outputs, may_be_computed, outputs_of

        if not define and not may_be_computed(choice, self.aliases):
            try:
                return Outputs(dict.fromkeys(self.choose(choice))), None
            except NoSuchColumnError as error:
                # A member of a column of records is computed, and a branch may be called as one.
                if not any("." in text for text in choice.columns or ()):
                    self.say_other_with_alias(error)
                    raise
        scope = scope or self.scope(options, define)
        with self._opening_others_for_names(scope):
            columns = outputs_of(choice, scope, self.choose)
        if not any(columns.values()):
            return Outputs(columns), scope
        options.refuse_whole_branches()
        outputs = Outputs(columns, scope)
        self.require(outputs.needed)
        return outputs, scope

    def _with_origin(
        self, start: Callable[[Options], Source], entries: EntrySet, names: Any
    ) -> Callable[[Options], Source]:
        from arrowroot._passes.origin import WithOrigin
        from arrowroot._select.origins import chosen

        wanted = chosen(names)
        return lambda options: WithOrigin(start(options), entries, self.origins, wanted)

    @property
    def origins(self) -> Origins:
        """The trees that entries come from. Opens all files."""
        from arrowroot._select.origins import Origins

        return Origins(self.members, self.samples)

    def warn_of_no_origin(self, scope: Scope) -> None:
        """Warn, once each, of texts with which expressions compare origins, and that no tree here has."""
        asked = {one[:3]: one for one in scope.asked if one[:3] not in self._told}
        # A tree of a row does not know the others.
        if not asked or self.of_row is not None:
            return
        from arrowroot._expressions.origins import warn_of_none

        self._told.update(asked)
        warn_of_none(asked.values(), self._texts_of)

    def _texts_of(self, origin: Any) -> Sequence[str]:
        """Return the texts that an origin may be, those of files that are left out, too."""
        from arrowroot._select.origins import SAMPLE

        if origin == SAMPLE:
            return [name for name in dict.fromkeys(self.all_samples) if name]
        left_out = [] if self.leaving_out is None or origin != "file" else self.leaving_out.not_opened
        return list(dict.fromkeys([*self.origins.texts(origin)[0], *(one.url for one in left_out)]))

    @property
    def of_row(self) -> OfRow | None:
        """Notes of a tree alone on the row that it is a part of; None: it is of none."""
        return self._of_row

    @property
    def has_samples(self) -> bool:
        """True if the files are of samples."""
        return self._of_row is not None and self._of_row.has_samples

    @property
    def samples(self) -> Sequence[str]:
        """The sample of each tree; "" for none."""
        return ["" if self._of_row is None else self._of_row.sample]

    @property
    def all_samples(self) -> Sequence[str]:
        """The samples of all files, those that cannot be read, too."""
        return self.samples

    def passes(
        self, chosen: list[str], entries: EntrySet, options: Options, bound: Filter | None
    ) -> Callable[[Options], Source]:
        """Return what makes passes over columns and entries, of which a filter may select some."""
        if bound is None:
            return partial(self.source, chosen, entries)
        from arrowroot._passes.filtered import FilteredSource

        return partial(FilteredSource, self.source, self.filtered(bound, chosen, entries, options))

    def bound(
        self,
        condition: FilterLike,
        options: Options,
        lumi_mask: LumiMaskLike | None = None,
        *,
        scope: Scope | None = None,
    ) -> Filter:
        """Bind a filter, a list of good runs, or both, to the columns of the first files, which all files must have.

        scope: has the definitions that the filter may use; None: there are none.
        """
        if lumi_mask is None:
            return self._bound(condition, scope or self.scope(options))
        from arrowroot._filter.bind import AllOf

        in_blocks = self.bound_mask(lumi_mask)
        if condition is None:
            return in_blocks
        return AllOf([in_blocks, self._bound(condition, scope or self.scope(options))])

    def scope(self, options: Options, define: Define = None) -> Scope:
        """Return the names that expressions may use, with definitions."""
        from arrowroot._expressions.origins import OriginOf
        from arrowroot._expressions.scope import Scope

        scope = Scope(
            self.to_filter_by,
            lambda names: self.first_schema(names, options),
            self.tree.location,
            self.tree.canonical,
            lambda: self.aliases,
            place=self.place,
            origin=OriginOf(lambda: self.origins),
            has_samples=self.has_samples,
            origins_of_row=None if self.of_row is None else self.of_row.origins,
        )
        if define is not None:
            with self._opening_others_for_names(scope):
                scope.define(define)
        return scope

    @contextmanager
    def _opening_others_for_names(self, scope: Scope) -> Iterator[None]:
        """Open all files if a name is not there in the first: the error names a file that has the column."""
        try:
            with self.tree.saying_aliases():
                yield
        except NoSuchColumnError as error:
            self.refuse_more(Choice([error.name]), list(scope.branches))
            self.open_others()
            self.say_other_with_alias(error)
            raise

    def say_other_with_alias(self, error: NoSuchColumnError) -> None:
        """Say in an error of a name that is not there which other file has an alias of that name."""
        if (other := self.other_with_alias(error.name)) is not None:
            what = f"it is an alias that {other} records: name a file first that has it, or write define="
            error.args = (f"{error.args[0]}; {what}", *error.args[1:])

    def other_with_alias(self, name: str) -> str | None:  # noqa: ARG002 - a row of files uses it
        """Return the first of the other files whose tree records an alias; None: none does."""
        return None

    def bound_mask(self, lumi_mask: LumiMaskLike) -> Filter:
        """Bind a list of good runs to the columns of run and block."""
        from arrowroot._select.lumi import LumiFilter, LumiMask

        mask = LumiMask.of(lumi_mask)
        return LumiFilter(mask, self.id_paths(mask.columns_in(self.tree.has_branch, self.location)))

    def _bound(self, condition: FilterLike, scope: Scope) -> Filter:
        from arrowroot._filter.bind import bind

        with self._opening_others_for_names(scope):
            bound = bind(condition, scope)
        self.require(bound.columns)
        return bound

    def filtered(self, condition: Filter, names: list[str], entries: EntrySet, options: Options) -> Filtered:
        """Return what a filter selects from. ``condition``: bound by this chain."""
        from arrowroot._passes.first_pass import Filtered

        sizes = self.tree.entry_bytes()
        partners = partial(self.with_partners, options=options)
        files = self.files_of(entries)
        of_trees = (self.cluster_of, files, None, self.starts())
        return Filtered(condition, names, entries, self.num_entries, sizes, partners, *of_trees)


def cluster_of(tree: Tree, entry: int) -> tuple[int, int]:
    """Return the first entry of the cluster of a tree that an entry is in, and the one after its last."""
    from bisect import bisect_right

    boundaries = tree.clusters
    after = bisect_right(boundaries, entry)
    return boundaries[after - 1] if after else 0, boundaries[after] if after < len(
        boundaries
    ) else tree.num_entries


def _computing(
    start: Callable[[Options], Source], outputs: Outputs, entries: EntrySet, options: Options
) -> Source:
    """Return a pass with computed columns."""
    return outputs.of(start(options), entries)


def _regrouped(start: Callable[[Options], Source], options: Options) -> Source:
    """Return a pass whose own batches end where files, filters or friends have it, in batches of ``batch_entries``."""
    source = start(options._replace(batch_entries=None))
    if options.batch_entries is None:
        return source
    from arrowroot._passes.regrouped import Regrouped

    return Regrouped(source, options.batch_entries)
