"""One input of a skim: what is asked for, bound to its tree."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from arrowroot._errors import NoSuchColumnError, UnsupportedError
from arrowroot._filter.bind import AllOf
from arrowroot._passes.filtered import FilteredSource
from arrowroot._passes.first_pass import evaluate, first_pass, taken
from arrowroot._passes.source import batches_of
from arrowroot._select.entries import normalise
from arrowroot._skimming.carrying import other_trees, sums_of
from arrowroot._skimming.differing import say_alias_of_others
from arrowroot._skimming.flow import EventFilter, Flow
from arrowroot._skimming.outputs import Portion
from arrowroot._skimming.picking import PickedEntries, runs_of
from arrowroot._skimming.ranges import Annotation, Left, rows_of
from arrowroot._skimming.report import SkimmedInput
from arrowroot._skimming.tables import table_of
from arrowroot._skimming.whole import Aside, within
from arrowroot._writing.file import fault_of_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from arrowroot._api.tree import Tree
    from arrowroot._filter.bind import Filter
    from arrowroot._skimming.inputs import OpenInput
    from arrowroot._skimming.request import Request
    from arrowroot._skimming.tables import InputTable
    from arrowroot._skimming.whole import Span


class Reading:
    """One input: what is asked for, bound to its tree, and what was counted so far."""

    def __init__(
        self,
        request: Request,
        given: OpenInput,
        main: str,
        first: Callable[[str], InputTable | None],
        spans_of: Callable[[InputTable], list[Span]] = lambda _: [],
        *,
        is_decoded: bool = False,
    ) -> None:
        """``main``: the path of the skimmed tree in the first input; ``first``: a table as that has it.

        spans_of: the clusters of a table that can be copied packed, asked when its entries are. is_decoded: entries are
        read, though they may be copied as their bytes are.
        """
        self.given = given
        self.spans_of = spans_of
        self._request = request
        self._first = first
        self._is_decoded = is_decoded
        #: Entries that are copied as their bytes are, by the paths of their tables; filled as portions are drawn.
        self.picked: dict[str, PickedEntries] = {}
        self.table: InputTable | None = None
        self.events: EventFilter | None = None
        #: The entries that are looked at; None: all.
        self.entries: tuple[int, int] | None = None
        #: The attribute sets of the skimmed table.
        self._sets: dict[str, pa.Table] = {}
        #: The entries of the skimmed table that were looked at, without conditions.
        self._n_read = 0
        self.flow = self._unbound()
        request.given.check_whole(given.location, given.num_entries, given.name)
        try:
            if given.tree is not None:
                self.table = self._table(given.tree, main, is_main=True)
            if self.table is not None:
                self.flow = self._flow(self.table)
        except NoSuchColumnError as error:
            # Files without events often have fewer columns.
            if given.num_entries:
                if self._first(main) is None:
                    say_alias_of_others(request, error)
                raise
        self.sums = sums_of(given.file, request.sums) if given.is_first else {}
        #: Columns, tables and attribute sets that cannot be read, and why.
        self.left_out: list[tuple[str, str]] = []
        #: Trees that are carried and have neither columns nor entries.
        self.without_columns: list[str] = []

    def _table(self, tree: Tree, path: str, *, is_main: bool = False) -> InputTable | None:
        request, first = self._request, self._first(path)
        read, style = request.read, request.write.style
        if not is_main:
            return table_of(tree, path, None, read, first, style=style, is_decoded=self._is_decoded)
        return table_of(
            tree,
            path,
            request.columns,
            read,
            first,
            style=style,
            define=request.define,
            of_all=request.of_all,
            aliases=request.aliases,
            of_row=request.of_row(self.given.location),
            is_decoded=self._is_decoded,
        )

    def _unbound(self) -> Flow:
        """Return the cut flow of an input without entries."""
        request, nothing = self._request, AllOf([])
        names = [
            *(["lumi mask"] if request.lumi_mask is not None else []),
            *(["pick"] if request.pick is not None else []),
        ]
        names += [name for name, _ in request.cuts]
        if self.given.tree is None:
            return Flow([], [(path, None) for path, _, _ in request.outputs], None)
        return Flow(
            [(name, nothing) for name in names],
            [(path, None) for path, _, _ in request.outputs],
            request.weight,
        )

    def _flow(self, table: InputTable) -> Flow:
        request, chain = self._request, table.chain
        bind = partial(chain.bound, options=request.read, scope=table.scope)
        conditions: list[tuple[str, Filter]] = []
        if request.lumi_mask is not None:
            conditions.append(("lumi mask", chain.bound_mask(request.lumi_mask)))
        if request.pick is not None:
            names = request.pick.columns_in(chain.tree.has_branch, chain.location)
            self.events = EventFilter(request.pick, chain.id_paths(names))
            conditions.append(("pick", self.events))
        conditions += [(name, bind(condition)) for name, condition in request.cuts]
        outputs = [
            (path, None if condition is None else bind(condition)) for path, _, condition in request.outputs
        ]
        weight = None if request.weight is None else chain.id_paths([request.weight])[0]
        entries = normalise(request.entries, table.tree.num_entries)
        if isinstance(entries, tuple):
            self.entries = entries
        self._sets = {name: rows_of(one, table.tree) for name, one in table.attributes.items()}
        first_entry = 0 if self.entries is None else self.entries[0]
        left = Left(self._sets, len(outputs), first_entry) if self._sets else None
        return Flow(conditions, outputs, weight, left)

    @cached_property
    def tables(self) -> list[InputTable]:
        """The skimmed table, and those that are carried."""
        found = [] if self.table is None else [self.table]
        given = self.given
        main = None if given.tree is None else given.tree.path
        others = other_trees(given.file, main, self._request.rule) if given.is_first else ()
        for path, tree in others:
            if path in given.beside:
                continue
            why = fault_of_path(path)
            try:
                table = None if why is not None else self._table(tree, path)
            except UnsupportedError as error:
                if self._first(path) is not None:
                    raise
                table, why = None, str(error)
            if table is not None:
                found.append(table)
            elif why is not None:
                self.left_out.append((path, why))
            else:
                self.without_columns.append(path)
        self.left_out += [one for table in found for one in table.left_out]
        return found

    def annotations(self) -> Iterator[Annotation]:
        """Yield the attribute sets of all tables, once all portions were drawn."""
        for table in self.tables:
            for name, found in table.kept_sets.items():
                if table is not self.table:
                    yield Annotation(table.path, name, rows_of(found, table.tree), None)
                elif self.flow.left is not None:
                    for number in range(len(self._request.outputs)):
                        rows = self.flow.left.of(self._sets[name], number)
                        yield Annotation(table.path, name, rows, number)

    def portions(self) -> Iterator[Portion]:
        """Yield the entries that are wanted, and those of other trees."""
        for table in self.tables:
            yield Portion(table, None)
            yield from self.portions_of(table)
        self.given.check_unchanged()

    def portions_of(self, table: InputTable) -> Iterator[Portion]:
        """Yield the entries of one of the tables, or none if they are copied as their bytes are."""
        if table.branches is not None:
            self._pick(table)
        elif table is not self.table:
            yield from self._all_of(table, (0, table.tree.num_entries))
        elif self.flow.asks:
            yield from self._selected(table)
        else:
            entries = self.entries or (0, table.tree.num_entries)
            self.flow.count_all(entries[1] - entries[0])
            for portion in self._all_of(table, entries):
                batch, span = portion.batch, portion.span
                self._n_read += (batch.num_rows if batch is not None else 0) + (
                    span[1] - span[0] if span else 0
                )
                yield portion

    def _pick(self, table: InputTable) -> None:
        """Find the entries of a table that are copied as their bytes are."""
        picked = self.picked[table.path] = PickedEntries(len(self._request.outputs))
        is_main = table is self.table
        first, end = (self.entries if is_main else None) or (0, table.tree.num_entries)
        if not (is_main and self.flow.asks):
            if is_main:
                self.flow.count_all(end - first)
            picked.add(np.array([(first, end)][: end - first], dtype=np.uint64).reshape(-1, 2), None)
            return
        chain, read = table.chain, self._request.read
        filtered = chain.filtered(self.flow, [], self.entries, read)
        for one in evaluate(first_pass(chain.source, filtered, read), filtered):
            numbers = filtered.numbers(one.indices)
            wanted = self.flow.wanted(len(numbers))
            if wanted is None:
                picked.add(runs_of(numbers), None)
            else:
                for number, mask in enumerate(wanted):
                    picked.add(runs_of(numbers[mask]), number)

    def _all_of(self, table: InputTable, entries: Span) -> Iterator[Portion]:
        """Yield a range of entries, none of which is left out."""
        start, end = entries
        for span in [*within(self.spans_of(table), entries), (end, end)]:
            if start < span[0]:
                for batch in table.batches((start, span[0]), self._request.read):
                    yield Portion(table, batch)
            if span[0] < span[1]:
                yield Portion(table, None, span=span)
            start = span[1]

    def _selected(self, table: InputTable) -> Iterator[Portion]:
        """Yield the entries of the skimmed tree that the outputs want."""
        chain, read = table.chain, self._request.read
        entries = self.entries or (0, table.tree.num_entries)
        aside = Aside(self.flow, within(self.spans_of(table), entries), entries)
        filtered = chain.filtered(self.flow, table.outputs.needed, self.entries, read)
        source = FilteredSource(chain.source, filtered._replace(aside=aside), read)
        for batch in batches_of(table.outputs.of(source, self.entries)):
            yield from self._copied(table, aside)
            self._n_read += batch.num_rows
            wanted = aside.wanted(batch.num_rows)
            if wanted is None:
                yield Portion(table, batch)
                continue
            for number, mask in enumerate(wanted):
                rows = np.flatnonzero(mask)
                if len(rows) == batch.num_rows:
                    yield Portion(table, batch, number)
                elif len(rows):
                    yield Portion(table, taken(batch, rows), number)
        yield from self._copied(table, aside)

    def _copied(self, table: InputTable, aside: Aside) -> Iterator[Portion]:
        """Yield the clusters that come before the next entry."""
        for span, output in aside.due(self._n_read):
            yield Portion(table, None, output, span)

    @property
    def share_done(self) -> float:
        """The share of the entries of the skimmed table that were looked at."""
        n_looked_at = self.flow.cuts[0].num_entries if self.flow.asks else self._n_read
        return n_looked_at / max(1, self.given.num_entries)

    @property
    def report(self) -> SkimmedInput:
        """The counts, once all was read."""
        cuts = [] if self.given.tree is None else self.flow.cuts
        return SkimmedInput(self.given.name, cuts, self.flow.of_outputs, self.sums)
