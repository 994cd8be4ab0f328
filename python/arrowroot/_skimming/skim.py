"""Skims: chosen entries and columns of many files to one file or several, in one pass."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arrowroot._arguments import explain, refuse_swapped, takes
from arrowroot._errors import UnsupportedError, of_all
from arrowroot._layout.layout import OF_LAYOUT
from arrowroot._layout.settings import BUFFERS
from arrowroot._options import BATCH_SIZE
from arrowroot._saving.lock import held
from arrowroot._select.events import EventList, place_of
from arrowroot._skimming.carrying import Objects
from arrowroot._skimming.differing import with_columns_of_all
from arrowroot._skimming.inputs import ALL, OF_INPUTS, opened
from arrowroot._skimming.outputs import Outputs
from arrowroot._skimming.parts import Parts, make_part
from arrowroot._skimming.reading import Reading
from arrowroot._skimming.replaced import check_nothing_is_lost
from arrowroot._skimming.report import Skimmed, SkimmedInput, SkimmedOutput, copied_of, together
from arrowroot._skimming.request import request_of
from arrowroot._skimming.spool import Spool
from arrowroot._storage.config import StorageOptions
from arrowroot._writing.calls import create, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor, Future
    from typing import Literal, TypeAlias

    from typing_extensions import Unpack

    from arrowroot._api.unified import Missing
    from arrowroot._filter.bind import FilterLike
    from arrowroot._layout.layout import LayoutLike, Unsaid
    from arrowroot._layout.settings import Compression, Flush
    from arrowroot._options import Define
    from arrowroot._select.columns import Columns
    from arrowroot._select.lumi import LumiMaskLike
    from arrowroot._skimming.inputs import OpenInput
    from arrowroot._skimming.outputs import Portion, WrittenFile
    from arrowroot._skimming.request import Request
    from arrowroot._skimming.tables import InputTable
    from arrowroot._storage.filesets import Files
    from arrowroot._storage.url import Location

    Progress: TypeAlias = Callable[[int, int, str], None]
    #: Gets what is wanted of all inputs, read once more, and the outputs.
    Check: TypeAlias = Callable[[Iterable[Portion], Sequence[WrittenFile]], None]


_NO_COLUMNS = "no column that can be read, in no input"


@takes(StorageOptions.__annotations__, unlisted=StorageOptions.__annotations__)
def skim(
    inputs: Files,
    output: Location | None = None,
    tree: str | None = None,
    columns: Columns = None,
    *,
    filter: FilterLike = None,  # noqa: A002 - the word that everybody uses
    define: Define = None,
    cuts: Mapping[str, FilterLike] | None = None,
    outputs: Mapping[str, FilterLike] | None = None,
    entries: slice | range | None = None,
    lumi_mask: LumiMaskLike | None = None,
    pick: EventList | Iterable[Sequence[int]] | None = None,
    weight: str | None = None,
    sums: Iterable[str] | None = None,
    carry: bool | str | Iterable[str] = True,
    rules: Mapping[str, str] | None = None,
    missing: Missing = "raise",
    promote: bool = False,
    on_bad_input: Literal["fail", "skip"] = "fail",
    layout: LayoutLike | Unsaid = OF_LAYOUT,
    compression: Compression | Unsaid = OF_LAYOUT,
    flush: Flush | Unsaid = OF_LAYOUT,
    basket_size: int | str | Unsaid | None = OF_LAYOUT,
    page_size: int | str | Unsaid | None = OF_LAYOUT,
    reproducible: bool = False,
    batch_size: int | str = BATCH_SIZE,
    n_threads: int = 0,
    buffers: int | str = BUFFERS,
    resume: bool = False,
    executor: Executor | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    **storage: Unpack[StorageOptions],
) -> Skimmed:
    """Write chosen entries and columns of many files to one file or several, in one pass and in the inputs' order.

    inputs: as ``paths`` of ``arrowroot.scan``.
    output: "FILE", or "FILE:TREE" to give the tree another name; a file that has others, but not this one, stays.
    tree: that is skimmed, of the files that don't name one; may be left out if the first file has only one, or if
        nothing is chosen: then all trees go whole. A pattern, "DF_*/O2aod", stands for all trees that match, in natural
        order: they become one, of the name of the first unless the output names it.
    columns: as for :meth:`Tree.scan`. Branches that count chosen lists (``nMuon`` of ``Muon_pt``) come along.
    filter: keeps the entries for which a condition holds, as for :meth:`Tree.scan`.
    define: columns that are computed, as for :meth:`Tree.scan`, for ``columns`` and all conditions.
    cuts: more conditions by name, one after the other; the report has how many entries pass each.
    outputs: in the place of ``output``: several, each with a condition of its own (None: all that pass the cuts).
    entries: a range of those of the skimmed tree, of one input.
    lumi_mask: a list of good runs, as for :meth:`Tree.scan`.
    pick: events by their ids, as an :class:`EventList` or as that takes them; they come in the order of the inputs.
    weight: a column of weights, whose sums the report has for each cut.
    sums: columns of other trees of the inputs, as "Runs:genEventSumw", whose sums the report has by input. None: what
        NanoAOD records in ``Runs``, where it is there.
    carry: whether the other trees of the inputs (``Runs``, ``LuminosityBlocks``, ...) go along whole, one input after
        the other, and objects; or names and globs of those that do, "!NAME" for others.
    rules: what becomes of objects of several inputs, as for ``arrowroot.merge``, which has one for each kind if none is
        given: histograms are added, of texts that of the first input counts. Those of one input are as they were.
    missing, promote: as for ``arrowroot.scan``, of the skimmed tree: "null" for a column that an input lacks, "common"
        for those of all inputs, and wider numbers. All inputs are opened once more before, to know their columns.
    on_bad_input: "fail", or "skip": leave an input out that cannot be read to its end, or has other columns than the
        first, with all its entries; the report names it.
    layout: None said: trees stay trees and RNTuples RNTuples, each column with its codec.
    batch_size: as for :meth:`Tree.scan`.
    resume: keep what is wanted of each input, once it was read, in the directory "OUTPUT.parts" until the outputs are
        there. The same skim takes it from there if it is called again: after an error, a kill, or for more inputs. An
        input that has changed since is read again.
    executor: reads inputs in parallel, one in each call, and implies ``resume``: an ``Executor`` of
        ``concurrent.futures``, or ``client.get_executor()`` of Dask, whose workers see the inputs and that directory.
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
    refuse_swapped("skim", output, inputs)
    given = {
        "output": output,
        "tree": tree,
        "columns": columns,
        "filter": filter,
        "define": define,
        "cuts": cuts,
        "outputs": outputs,
        "entries": entries,
        "lumi_mask": lumi_mask,
        "pick": pick,
        "weight": weight,
        "sums": sums,
        "carry": carry,
        "rules": rules,
        "missing": missing,
        "promote": promote,
        "on_bad_input": on_bad_input,
        "layout": layout,
        "compression": compression,
        "flush": flush,
        "basket_size": basket_size,
        "page_size": page_size,
        "reproducible": reproducible,
        "batch_size": batch_size,
        "n_threads": n_threads,
        "buffers": buffers,
    }
    request = request_of(inputs, given, storage)
    for path, name, _ in request.outputs:
        if name is not None:
            check_nothing_is_lost(path, name)
    return skimmed(request, resume=resume, executor=executor, progress=progress)


explain(skim, ("compression", "flush", "basket_size", "page_size"), write.__doc__)
explain(skim, ("reproducible", "n_threads", "buffers"), create.__doc__)


def skimmed(
    request: Request,
    *,
    resume: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
    follow: Callable[[Callable[[], float]], None] | None = None,
    check: Check | None = None,
) -> Skimmed:
    """Skim, as :func:`skim` does.

    follow: gets what tells the share of the work that is done, at any time.
    check: reads the outputs before they are published; it raises what it finds.
    """
    request, left_out = with_columns_of_all(request)
    renamed = {number: name for number, (_, name, _) in enumerate(request.outputs) if name is not None}
    with ExitStack() as stack:
        parts = None
        if resume or executor is not None:
            path = parts_of(request)
            stack.enter_context(held(path, f"skimming to {request.outputs[0][0]}"))
            parts = Parts(path, request)
        made = stack.enter_context(Outputs([path for path, _, _ in request.outputs], renamed, request.write))
        work = _Skim(request, made, parts, executor, left_out)
        if follow is not None:
            follow(work.share_done)
        return work.run(progress, check)


def parts_of(request: Request) -> Path:
    """Return the directory in which a skim that can go on keeps its parts."""
    return Path(f"{request.outputs[0][0]}.parts")


def is_begun(request: Request) -> bool:
    """Return whether the same skim has kept what is wanted of an input."""
    directory = parts_of(request)
    if not directory.is_dir():
        return False
    request, _ = with_columns_of_all(request)
    parts = Parts(directory, request)
    for _, give in opened(request.files, request.storage, needs_tree=request.is_of_one_tree):
        with suppress(*OF_INPUTS):  # it is told when it is read
            if parts.has(give()):
                return True
    return False


class _Skim:
    """A skim on its way."""

    def __init__(
        self,
        request: Request,
        outputs: Outputs,
        parts: Parts | None,
        executor: Executor | None,
        left_out: Iterable[tuple[str, str]],
    ) -> None:
        """``parts``: keeps what is wanted of each input; ``executor``: makes them; ``left_out``: before one is read."""
        self._request = request
        self._outputs = outputs
        self._parts = parts
        self._executor = executor
        #: The parts that are being made, by the number of the input; none before a tree was found.
        self._made: dict[int, Future[None]] = {}
        self._objects = Objects(request.rule, request.rules, outputs, len(request.files))
        #: The path of the skimmed tree in the first input.
        self._main: str | None = None
        self._inputs: list[SkimmedInput] = []
        self._bad: list[tuple[str, str]] = []
        self._bad_numbers: set[int] = set()
        #: Files whose first input is bad, with which the rest of them goes, and why.
        self._lost: dict[str, str] = {}
        self._left_out: dict[tuple[str, str], None] = dict.fromkeys(left_out)
        #: The number of the input that is being read, and that itself.
        self._number = 0
        self._given: OpenInput | None = None
        self._reading: Reading | None = None
        #: Trees without columns in some input.
        self._without_columns: dict[str, None] = {}
        #: Which events of the list were found.
        self._is_found = np.zeros(0 if request.pick is None else len(request.pick), dtype=np.bool_)

    def run(self, progress: Progress | None, check: Check | None) -> Skimmed:
        """Read all inputs and publish the outputs."""
        try:
            self._read_all(progress)
            return self._finish(check)
        finally:
            for part in self._made.values():
                part.cancel()

    def share_done(self) -> float:
        """Return the share of the inputs that are done; of the one that is being read by its entries."""
        part = 0.0 if self._reading is None else self._reading.share_done
        return (self._number + part) / len(self._request.files)

    def _opened(self) -> Iterator[tuple[str, Callable[[], OpenInput]]]:
        request = self._request
        return opened(request.files, request.storage, needs_tree=request.is_of_one_tree)

    def _read_all(self, progress: Progress | None) -> None:
        files = self._request.files
        errors: list[Exception] = []
        for number, (url, give) in enumerate(self._opened()):
            self._number, self._given, self._reading = number, None, None
            if progress:
                progress(number, len(files), url)
            if url in self._lost:
                self._leave_out(number, url, self._lost[url])
                continue
            try:
                reading, portions = self._read(number, give)
                if self._request.skips_bad:
                    # All that it gives was drawn, so that it can still be left out.
                    self._take(reading)
            except OF_INPUTS as error:
                if not self._request.skips_bad or not self._objects.is_intact:
                    raise
                errors.append(error)
                self._leave_out(number, url, str(error))
                continue
            self._write(reading, portions)
            if not self._request.skips_bad:
                self._take(reading)
            self._end(reading)
        if errors and not self._inputs:
            raise of_all("no input can be skimmed", errors) from errors[0]

    def _leave_out(self, number: int, url: str, reason: str) -> None:
        """Note an input that is bad: the trees of a file go with its first one, and so does what it has besides."""
        place, tree = self._request.files[number]
        has_others = sum(other == place for other, _ in self._request.files) > 1
        self._bad.append((f"{url}:{tree}" if tree is not None and has_others else url, reason))
        self._bad_numbers.add(number)
        if self._given is not None and self._given.is_first and self._given.beside:
            self._lost[url] = reason

    def again(self) -> Iterator[Portion]:
        """Read all inputs but the bad ones once more."""
        for number, (_, give) in enumerate(self._opened()):
            if number not in self._bad_numbers:
                main, first = self._main or ALL, self._outputs.first
                yield from Reading(self._request, give(), main, first, is_decoded=True).portions()

    def _read(self, number: int, give: Callable[[], OpenInput]) -> tuple[Reading, Iterable[Portion]]:
        """Begin with an input; read all of it, where it is left out if it is bad."""
        given = self._given = give()
        main = given.main if self._main is None else self._main
        reading = self._reading = Reading(self._request, given, main, self._outputs.first)
        # All of an input that may be left out is decoded before, and so is what others read.
        is_packed = not self._request.skips_bad and self._executor is None
        if is_packed:
            reading.spans_of = self._outputs.spans
        if self._parts is not None:
            self._submit(number, main)
            if number in self._made:
                self._made[number].result()
            portions_of = self._in_begun if is_packed else self._parts.portions
            return reading, portions_of(reading)
        portions = reading.portions()
        if self._request.skips_bad:
            return reading, Spool(portions, Path(self._outputs.files[0].path).parent)
        return reading, portions

    def _in_begun(self, reading: Reading) -> Iterator[Portion]:
        """Yield the entries of a part. Its tables are begun before it is made: these say what can be copied packed."""
        for table in reading.tables:
            self._begin(table, reading.given)
        if self._parts is not None:
            yield from self._parts.portions(reading)
        reading.given.check_unchanged()

    def _submit(self, number: int, main: str) -> None:
        """Have the parts of an input and of those behind it made, if they are not yet."""
        if self._executor is None or self._made or self._parts is None:
            return
        for index, (url, tree) in list(enumerate(self._request.files))[number:]:
            work = (self._parts.directory, self._request, (place_of(url), tree), main)
            self._made[index] = self._executor.submit(make_part, *work)

    def _take(self, reading: Reading) -> None:
        """Take objects, and entries that are copied as their bytes are."""
        main = reading.given.main if self._main is None else self._main
        tried = []
        if self._request.skips_bad:
            tables = [table for table in reading.tables if table.path in reading.picked]
            tried = [table.picked(table.path, reading.picked[table.path].of_any()) for table in tables]
        picks = self._outputs.picks(reading.tables, reading.picked, main)
        given = reading.given
        self._objects.take(given.file, picks, tried, with_objects=given.is_first)

    def _write(self, reading: Reading, portions: Iterable[Portion]) -> None:
        given, request = reading.given, self._request
        self._main = given.main if self._main is None else self._main
        for portion in portions:
            if portion.batch is not None:
                self._outputs.add(portion, portion.batch)
            elif portion.span is not None:
                self._outputs.add_span(portion, portion.span, request.read)
            else:
                self._begin(portion.table, given)
        self._outputs.end_input()
        for annotation in reading.annotations():
            self._outputs.annotate(annotation)

    def _end(self, reading: Reading) -> None:
        """Keep what is known of an input that was taken."""
        given = reading.given
        self._outputs.count_picked(reading.picked)
        # Objects of an input that may be left out are read behind all its entries.
        given.check_unchanged()
        self._left_out |= dict.fromkeys(reading.left_out)
        self._without_columns |= dict.fromkeys(reading.without_columns)
        self._inputs.append(reading.report)
        if reading.events is not None:
            self._is_found |= reading.events.found

    def _begin(self, table: InputTable, given: OpenInput) -> None:
        request, is_main = self._request, table.path == self._main
        if self._outputs.first(table.path) is None:
            self._outputs.make_directories(table.path, given.file, is_main=is_main)
        self._outputs.begin(
            table,
            is_main=is_main,
            has_all_entries=len(request.files) == 1 and not (is_main and request.chooses),
            has_all_trees=request.rule.takes_all,
        )

    def _finish(self, check: Check | None) -> Skimmed:
        request, outputs = self._request, self._outputs
        main = self._main or ALL
        outputs.begin_empty()
        if main != ALL and outputs.first(main) is None:
            raise UnsupportedError(f"{self._inputs[0].url}: {main!r} has {_NO_COLUMNS}")
        without_columns = [
            (path, f"it has {_NO_COLUMNS}") for path in self._without_columns if path not in outputs.tables
        ]
        request.rule.check_used()
        missing = []
        if request.pick is not None:
            missing = request.pick.report_missing(self._is_found, "skim")
        objects = self._objects.finish(outputs.paths)
        remarks = [(one.path, note) for one in objects.picked[0] for note in one.notes]
        written = together(one.of_outputs for one in self._inputs)
        carried = {name: outputs.num_entries(name, 0) for name in outputs.tables if name != main}
        written_files = outputs.complete()
        if check is not None:
            check(self.again(), written_files)
        sizes = outputs.publish()
        if self._parts is not None:
            self._parts.remove()
        return Skimmed(
            [
                SkimmedOutput(*cut, n_bytes, file.cost(), copied_of(file, picked))
                for cut, n_bytes, file, picked in zip(
                    written, sizes, outputs.files, objects.picked, strict=True
                )
            ],
            self._inputs,
            self._bad,
            carried,
            objects.paths,
            [*self._left_out, *without_columns, *objects.left_out],
            missing,
            outputs.notes_left_out,
            [*outputs.remarks, *remarks],
            objects.unused_rules,
        )
