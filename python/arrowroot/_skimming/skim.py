"""Skims: chosen entries and columns of many files to one file or several, in one pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrowroot._arguments import explain, takes
from arrowroot._errors import (
    CorruptFileError,
    InvalidRequestError,
    NoSuchColumnError,
    NotFoundError,
    SchemaMismatchError,
    StorageError,
    UnsupportedError,
)
from arrowroot._filter.bind import AllOf
from arrowroot._layout.layout import OF_LAYOUT
from arrowroot._options import Options
from arrowroot._passes.filtered import FilteredSource, taken
from arrowroot._passes.source import batches_of
from arrowroot._render import shown
from arrowroot._select.events import EventList
from arrowroot._select.lumi import LumiMask
from arrowroot._sizes import checked_count, parse_size
from arrowroot._skimming.carrying import Objects, Rule, other_trees, sums_of
from arrowroot._skimming.flow import EventFilter, Flow
from arrowroot._skimming.inputs import check_outputs, opened
from arrowroot._skimming.outputs import OutputOptions, Outputs, Portion
from arrowroot._skimming.report import Skimmed, SkimmedInput, SkimmedOutput, together
from arrowroot._skimming.spool import Spool
from arrowroot._skimming.tables import Style, table_of
from arrowroot._storage.config import StorageOptions
from arrowroot._storage.filesets import fileset
from arrowroot._storage.url import split_url
from arrowroot._writing.file import BUFFERS, create, write
from arrowroot._writing.location import path_of_root
from arrowroot._writing.options import CheckedOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Literal

    from typing_extensions import Unpack

    from arrowroot._api.chain import Chain
    from arrowroot._filter.bind import Filter, FilterLike
    from arrowroot._layout.layout import LayoutLike, Unsaid
    from arrowroot._layout.settings import Compression, Flush
    from arrowroot._select.columns import Columns
    from arrowroot._select.lumi import LumiMaskLike
    from arrowroot._skimming.inputs import OpenInput
    from arrowroot._skimming.tables import InputTable
    from arrowroot._storage.filesets import Files
    from arrowroot._storage.url import Location

#: Columns in which CMS's NanoAOD of simulated events records sums of all that were generated.
NANOAOD_SUMS = ("Runs:genEventCount", "Runs:genEventSumw")
#: Errors that an input is at fault for, not the request.
_OF_INPUTS = (CorruptFileError, StorageError, NotFoundError, SchemaMismatchError, UnsupportedError)


class _Request(NamedTuple):
    """All that is asked for, checked as far as that is possible before an input is open."""

    files: list[tuple[str, str | None]]
    #: Path, name of the table if it gets another, and condition of each output.
    outputs: list[tuple[str, str | None, FilterLike]]
    columns: Columns
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

    @property
    def chooses(self) -> bool:
        """True if some entries may be left out."""
        has_own = any(condition is not None for _, _, condition in self.outputs)
        return bool(self.cuts) or self.lumi_mask is not None or self.pick is not None or has_own


@takes(StorageOptions.__annotations__, unlisted=StorageOptions.__annotations__)
def skim(
    inputs: Files,
    output: Location | None = None,
    tree: str | None = None,
    columns: Columns = None,
    *,
    filter: FilterLike = None,  # noqa: A002 - the word that everybody uses
    cuts: Mapping[str, FilterLike] | None = None,
    outputs: Mapping[str, FilterLike] | None = None,
    lumi_mask: LumiMaskLike | None = None,
    pick: EventList | Iterable[Sequence[int]] | None = None,
    weight: str | None = None,
    sums: Iterable[str] | None = None,
    carry: bool | str | Iterable[str] = True,
    on_bad_input: Literal["fail", "skip"] = "fail",
    layout: LayoutLike | Unsaid = OF_LAYOUT,
    compression: Compression | Unsaid = OF_LAYOUT,
    flush: Flush | Unsaid = OF_LAYOUT,
    basket_size: int | str | Unsaid | None = OF_LAYOUT,
    page_size: int | str | Unsaid | None = OF_LAYOUT,
    reproducible: bool = False,
    n_threads: int = 0,
    buffers: int | str = BUFFERS,
    progress: Callable[[int, int, str], None] | None = None,
    **storage: Unpack[StorageOptions],
) -> Skimmed:
    """Write chosen entries and columns of many files to one file or several, in one pass and in the inputs' order.

    inputs: as ``paths`` of ``arrowroot.scan``.
    output: "FILE", or "FILE:TREE" to give the tree another name.
    tree: that is skimmed, of the files that don't name one; may be left out if the first file has only one.
    columns: as for :meth:`Tree.scan`. Branches that count chosen lists (``nMuon`` of ``Muon_pt``) come along.
    filter: keeps the entries for which a condition holds, as for :meth:`Tree.scan`.
    cuts: more conditions by name, one after the other; the report has how many entries pass each.
    outputs: in the place of ``output``: several, each with a condition of its own (None: all that pass the cuts).
    lumi_mask: a list of good runs, as for :meth:`Tree.scan`.
    pick: events by their ids, as an :class:`EventList` or as that takes them; they come in the order of the inputs.
    weight: a column of weights, whose sums the report has for each cut.
    sums: columns of other trees of the inputs, as "Runs:genEventSumw", whose sums the report has by input. None: what
        NanoAOD records in ``Runs``, where it is there.
    carry: whether the other trees of the inputs (``Runs``, ``LuminosityBlocks``, ...) go along whole, one input after
        the other, and objects that are the same in all inputs; or names and globs of those that do, "!NAME" for others.
    on_bad_input: "fail", or "skip": leave an input out that cannot be read to its end, or has other columns than the
        first, with all its entries; the report names it.
    layout: None said: trees stay trees and RNTuples RNTuples, each column with its codec.
    progress: called with the number of inputs done, of all, and the next one.

    Outputs are there when all of them are whole; an error leaves none, and older files are what they were. Entries do
    not depend on the number of threads. The columns of ``filter``, ``cuts`` and the like are read first, the others
    only where something was selected.

    Raises: what ``scan`` and ``create`` raise; SchemaMismatchError for an input with other columns than the first;
    CorruptFileError for one that is damaged, was cut short or was not closed; StorageError for one that changes
    meanwhile; InvalidRequestError if an output is an input.

        >>> made = ar.skim("run*.root", "new.root", "Events", ["MET_pt"], cuts={"high": "MET_pt > 20"})
        >>> [(cut.name, cut.num_entries) for cut in made.cuts]
        [('all', 200), ('high', 118)]
    """
    style = Style(layout, compression, flush, basket_size, page_size)
    CheckedOptions.of(style.options())
    n_threads = checked_count(n_threads, "n_threads")
    if on_bad_input not in ("fail", "skip"):
        raise InvalidRequestError(f"on_bad_input: expected 'fail' or 'skip', got {shown(on_bad_input)}")
    request = _Request(
        fileset(inputs, tree).files,
        _outputs_of(output, outputs),
        columns,
        [*([("filter", filter)] if filter is not None else []), *_named(cuts)],
        None if lumi_mask is None else LumiMask.of(lumi_mask),
        pick if isinstance(pick, EventList) or pick is None else EventList(pick),
        weight,
        NANOAOD_SUMS if sums is None else list(sums),
        Rule(carry),
        on_bad_input == "skip",
        Options.of({"n_threads": n_threads}),
        OutputOptions(style, bool(reproducible), n_threads, parse_size(buffers, "buffers")),
        storage,
    )
    check_outputs([path for path, _, _ in request.outputs], request.files)
    renamed = {number: name for number, (_, name, _) in enumerate(request.outputs) if name is not None}
    with Outputs([path for path, _, _ in request.outputs], renamed, request.write) as made:
        return _Skim(request, made).run(progress)


explain(skim, ("compression", "flush", "basket_size", "page_size"), write.__doc__)
explain(skim, ("reproducible", "n_threads", "buffers"), create.__doc__)


def _named(cuts: Mapping[str, FilterLike] | None) -> list[tuple[str, FilterLike]]:
    """Return named conditions. Raises: InvalidRequestError for what is none."""
    if cuts is None:
        return []
    if not hasattr(cuts, "items"):
        raise InvalidRequestError(
            f'cuts: expected conditions by their names, {{"two muons": "nMuon >= 2"}}, got {shown(cuts)}'
        )
    return list(cuts.items())


def _outputs_of(
    output: Location | None, outputs: Mapping[str, FilterLike] | None
) -> list[tuple[str, str | None, FilterLike]]:
    """Return path, name of the table and condition of each output. Raises: InvalidRequestError."""
    if (output is None) == (outputs is None):
        raise InvalidRequestError("skim: which output? give output, or outputs with their conditions")
    if outputs is not None and not (hasattr(outputs, "items") and outputs):
        raise InvalidRequestError(
            f'outputs: expected conditions by files, {{"muons.root": "nMuon >= 2"}}, got {shown(outputs)}'
        )
    given: Iterable[tuple[Any, FilterLike]] = [(output, None)] if outputs is None else outputs.items()
    found = []
    for place, condition in given:
        file, name = split_url(place) if isinstance(place, str) else (place, None)
        found.append((path_of_root(file), name, condition))
    return found


class _Reading:
    """One input: what is asked for, bound to its tree, and what was counted so far."""

    def __init__(
        self, request: _Request, given: OpenInput, main: str, first: Callable[[str], InputTable | None]
    ) -> None:
        """``main``: the path of the skimmed tree in the first input; ``first``: a table as that has it."""
        self.given = given
        self._request = request
        self._first = first
        self.table: InputTable | None = None
        self.events: EventFilter | None = None
        self.flow = self._unbound()
        try:
            self.table = table_of(given.tree, main, request.columns, request.read, first(main))
            if self.table is not None:
                self.flow = self._flow(self.table.chain)
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

    def _flow(self, chain: Chain) -> Flow:
        request = self._request
        conditions: list[tuple[str, Filter]] = []
        if request.lumi_mask is not None:
            conditions.append(("lumi mask", chain.bound_mask(request.lumi_mask)))
        if request.pick is not None:
            names = request.pick.columns_in(chain.tree.has_branch, chain.location)
            self.events = EventFilter(request.pick, chain.id_paths(names))
            conditions.append(("pick", self.events))
        conditions += [(name, chain.bound(condition, request.read)) for name, condition in request.cuts]
        outputs = [
            (path, None if condition is None else chain.bound(condition, request.read))
            for path, _, condition in request.outputs
        ]
        weight = None if request.weight is None else chain.id_paths([request.weight])[0]
        return Flow(conditions, outputs, weight)

    def portions(self) -> Iterator[Portion]:
        """Yield the entries that are wanted, and those of other trees."""
        if self.table is not None:
            self.left_out += self.table.left_out
            yield Portion(self.table, None)
            yield from self._selected(self.table)
        for path, tree in other_trees(self.given.file, self.given.tree.path, self._request.rule):
            table = table_of(tree, path, None, self._request.read, self._first(path))
            if table is not None:
                self.left_out += table.left_out
                yield Portion(table, None)
                source = tree.source(table.columns, None, self._request.read)
                yield from (Portion(table, batch) for batch in batches_of(source))
        self.given.check_unchanged()

    def _selected(self, table: InputTable) -> Iterator[Portion]:
        """Yield the entries of the skimmed tree that the outputs want."""
        chain, flow, read = table.chain, self.flow, self._request.read
        if flow.columns:
            filtered = chain.filtered(flow, table.columns, None, read)
            batches = batches_of(FilteredSource(chain.source, filtered, read))
        else:
            batches = batches_of(chain.source(table.columns, None, read))
            flow.count_all(table.tree.num_entries)
        for batch in batches:
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


class _Skim:
    """A skim on its way."""

    def __init__(self, request: _Request, outputs: Outputs) -> None:
        self._request = request
        self._outputs = outputs
        self._objects = Objects(request.rule)
        #: The path of the skimmed tree in the first input.
        self._main: str | None = None
        self._inputs: list[SkimmedInput] = []
        self._bad: list[tuple[str, str]] = []
        self._left_out: dict[tuple[str, str], None] = {}
        #: Which events of the list were found.
        self._is_found = np.zeros(0 if request.pick is None else len(request.pick), dtype=np.bool_)

    def run(self, progress: Callable[[int, int, str], None] | None) -> Skimmed:
        """Read all inputs and publish the outputs."""
        files = self._request.files
        last: Exception | None = None
        for number, (url, give) in enumerate(opened(files, self._request.storage)):
            if progress:
                progress(number, len(files), url)
            try:
                reading, portions = self._read(give)
            except _OF_INPUTS as error:
                if not self._request.skips_bad:
                    raise
                last = error
                self._bad.append((url, str(error)))
                continue
            self._write(reading, portions)
        if last is not None and not self._inputs:
            raise last
        return self._finish()

    def _read(self, give: Callable[[], OpenInput]) -> tuple[_Reading, Iterable[Portion]]:
        """Begin with an input; read all of it, where it is left out if it is bad."""
        given = give()
        reading = _Reading(self._request, given, self._main or given.tree.path, self._outputs.first)
        portions = reading.portions()
        if self._request.skips_bad:
            return reading, Spool(portions, Path(self._outputs.files[0].path).parent)
        return reading, portions

    def _write(self, reading: _Reading, portions: Iterable[Portion]) -> None:
        given = reading.given
        self._main = self._main or given.tree.path
        is_only = len(self._request.files) == 1
        for portion in portions:
            is_main = portion.table.path == self._main
            if portion.batch is not None:
                self._outputs.add(portion, portion.batch)
            else:
                has_all = is_only and not (is_main and self._request.chooses)
                self._outputs.begin(portion.table, is_main=is_main, has_all_entries=has_all)
        self._objects.take(given.file)
        self._left_out |= dict.fromkeys(reading.left_out)
        self._inputs.append(reading.report)
        if reading.events is not None:
            self._is_found |= reading.events.found

    def _finish(self) -> Skimmed:
        request, outputs = self._request, self._outputs
        main = self._main or ""
        outputs.begin_empty()
        if outputs.first(main) is None:
            raise UnsupportedError(f"{self._inputs[0].url}: {main!r} has no columns, in no input")
        request.rule.check_used()
        missing = []
        if request.pick is not None:
            missing = request.pick.report_missing(self._is_found, "skim")
        objects, left_out = self._objects.copy_to(outputs)
        written = together(one.of_outputs for one in self._inputs)
        carried = {name: outputs.num_entries(name, 0) for name in outputs.tables if name != main}
        sizes = outputs.publish()
        return Skimmed(
            [SkimmedOutput(*cut, n_bytes) for cut, n_bytes in zip(written, sizes, strict=True)],
            self._inputs,
            self._bad,
            carried,
            objects,
            self._objects.differing,
            [*self._left_out, *left_out],
            missing,
        )
