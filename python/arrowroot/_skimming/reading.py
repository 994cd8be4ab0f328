"""One input of a skim: what is asked for, bound to its tree."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrowroot._errors import NoSuchColumnError
from arrowroot._filter.bind import AllOf
from arrowroot._passes.filtered import FilteredSource, taken
from arrowroot._passes.source import batches_of
from arrowroot._skimming.carrying import other_trees, sums_of
from arrowroot._skimming.flow import EventFilter, Flow
from arrowroot._skimming.outputs import Portion
from arrowroot._skimming.report import SkimmedInput
from arrowroot._skimming.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from arrowroot._filter.bind import Filter, FilterLike
    from arrowroot._options import Define, Options
    from arrowroot._passes.source import Source
    from arrowroot._select.columns import Columns
    from arrowroot._select.events import EventList
    from arrowroot._select.lumi import LumiMask
    from arrowroot._skimming.carrying import Rule
    from arrowroot._skimming.inputs import OpenInput
    from arrowroot._skimming.outputs import OutputOptions
    from arrowroot._skimming.tables import InputTable


#: Of what is kept for a digest.
_FORM = "arrowroot.skim-part/1"


class Request(NamedTuple):
    """All that is asked for, checked as far as that is possible before an input is open."""

    files: list[tuple[str, str | None]]
    #: Path, name of the table if it gets another, and condition of each output.
    outputs: list[tuple[str, str | None, FilterLike]]
    columns: Columns
    define: Define
    #: Named conditions, one after the other.
    cuts: list[tuple[str, FilterLike]]
    lumi_mask: LumiMask | None
    pick: EventList | None
    weight: str | None
    sums: Sequence[str]
    rule: Rule
    skips_bad: bool
    read: Options
    write: OutputOptions
    storage: Mapping[str, Any]
    #: What inputs that differ deliver of the skimmed tree; None: they may not.
    of_all: pa.Schema | None = None

    @property
    def chooses(self) -> bool:
        """True if some entries may be left out."""
        has_own = any(condition is not None for _, _, condition in self.outputs)
        return bool(self.cuts) or self.lumi_mask is not None or self.pick is not None or has_own

    def digest(self) -> str:
        """Return a digest of all that decides what is wanted of an input. How it is written is nothing of that."""
        wanted = [
            _FORM,
            repr(self.columns),
            None if self.define is None else list(self.define.items()),
            [(name, str(condition)) for name, condition in self.cuts],
            [(path, str(condition)) for path, _, condition in self.outputs],
            None if self.lumi_mask is None else self.lumi_mask.ranges,
            None if self.pick is None else (self.pick.columns, self.pick.ids),
            self.weight,
            self.rule.text,
            None if self.of_all is None else self.of_all.to_string(show_field_metadata=False),
        ]
        return hashlib.sha256(json.dumps(wanted).encode("utf-8", "surrogateescape")).hexdigest()


class Reading:
    """One input: what is asked for, bound to its tree, and what was counted so far."""

    def __init__(
        self, request: Request, given: OpenInput, main: str, first: Callable[[str], InputTable | None]
    ) -> None:
        """``main``: the path of the skimmed tree in the first input; ``first``: a table as that has it."""
        self.given = given
        self._request = request
        self._first = first
        self.table: InputTable | None = None
        self.events: EventFilter | None = None
        self.flow = self._unbound()
        try:
            self.table = table_of(
                given.tree,
                main,
                request.columns,
                request.read,
                first(main),
                define=request.define,
                of_all=request.of_all,
            )
            if self.table is not None:
                self.flow = self._flow(self.table)
        except NoSuchColumnError:
            # Files without events often have fewer columns.
            if given.tree.num_entries:
                raise
        self.sums = sums_of(given.file, request.sums)
        self.left_out: list[tuple[str, str]] = []

    def _unbound(self) -> Flow:
        """Return the cut flow of an input without entries."""
        request, nothing = self._request, AllOf([])
        names = [
            *(["lumi mask"] if request.lumi_mask is not None else []),
            *(["pick"] if request.pick is not None else []),
        ]
        names += [name for name, _ in request.cuts]
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
        return Flow(conditions, outputs, weight)

    def tables(self) -> Iterator[InputTable]:
        """Yield the skimmed table, and those that are carried."""
        if self.table is not None:
            self.left_out += self.table.left_out
            yield self.table
        for path, tree in other_trees(self.given.file, self.given.tree.path, self._request.rule):
            table = table_of(tree, path, None, self._request.read, self._first(path))
            if table is not None:
                self.left_out += table.left_out
                yield table

    def portions(self) -> Iterator[Portion]:
        """Yield the entries that are wanted, and those of other trees."""
        for table in self.tables():
            yield Portion(table, None)
            if table is self.table:
                yield from self._selected(table)
            else:
                source = table.tree.source(table.columns, None, self._request.read)
                yield from (Portion(table, batch) for batch in batches_of(source))
        self.given.check_unchanged()

    def _selected(self, table: InputTable) -> Iterator[Portion]:
        """Yield the entries of the skimmed tree that the outputs want."""
        chain, flow, read = table.chain, self.flow, self._request.read
        if flow.columns:
            filtered = chain.filtered(flow, table.outputs.needed, None, read)
            source: Source = FilteredSource(chain.source, filtered, read)
        else:
            source = chain.source(table.outputs.needed, None, read)
            flow.count_all(table.tree.num_entries)
        for batch in batches_of(table.outputs.of(source, None)):
            wanted = flow.wanted(batch.num_rows)
            if wanted is None:
                yield Portion(table, batch)
                continue
            for number, mask in enumerate(wanted):
                rows = np.flatnonzero(mask)
                if len(rows) == batch.num_rows:
                    yield Portion(table, batch, number)
                elif len(rows):
                    yield Portion(table, taken(batch, rows), number)

    @property
    def report(self) -> SkimmedInput:
        """The counts, once all was read."""
        return SkimmedInput(self.given.url, self.flow.cuts, self.flow.of_outputs, self.sums)
