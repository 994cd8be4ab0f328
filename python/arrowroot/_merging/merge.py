"""Merging files: `arrowroot.merge`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from arrowroot import _native
from arrowroot._arguments import refuse_swapped, takes
from arrowroot._errors import ArrowrootError, InvalidRequestError, of_all
from arrowroot._merging.inputs import listed, opened, openings, refuse_output
from arrowroot._merging.outputs import MergedFile, SameColumns, path_of_part
from arrowroot._progress import LONG_S, Progress
from arrowroot._render import shown, without_secrets
from arrowroot._saving.rules import checked_rules
from arrowroot._sizes import parse_size
from arrowroot._storage.config import StorageOptions
from arrowroot._storage.url import is_glob
from arrowroot._writing.location import path_of_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import Unpack

    from arrowroot._merging.rows import UniqueRows
    from arrowroot._storage.readers import Opening
    from arrowroot._storage.url import Location
    from arrowroot._writing.file import WritableFile

    #: A look at an output, its inputs and its objects before it is published.
    Check = Callable[[str, Sequence[str], "Sequence[MergedObject]"], None]

#: Storage pools serve so many transfers of one job.
OPEN_FILES = 24


class MergedObject(NamedTuple):
    """An object of an output: what became of those of the inputs.

    >>> ar.merge("all.root", ["events.root", "events.root"]).objects[0].num_entries
    200
    """

    path: str
    class_name: str
    #: concatenate, add, first, unique or all.
    rule: str
    #: Inputs that had it.
    n_inputs: int
    #: Entries of a tree or an RNTuple; None of others.
    num_entries: int | None
    #: Its baskets or pages, and those of less than 4 kB as they are stored.
    n_baskets: int
    n_small_baskets: int
    #: Baskets that there would be, about, if small ones were put together (``rebasket``).
    n_if_rebasketed: int
    #: Parts that were left out, or are not as in the inputs.
    notes: tuple[str, ...]


class Output(NamedTuple):
    """A file that was written."""

    path: str
    #: Its size.
    bytes: int
    n_inputs: int
    objects: tuple[MergedObject, ...]


class LeftOut(NamedTuple):
    """An input that was left out, and why."""

    path: str
    error: ArrowrootError | OSError


class MergeReport(NamedTuple):
    """The outcome of a merging.

    >>> report = ar.merge("all.root", ["events.root", "events.root"])
    >>> report.n_inputs, report.left_out
    (2, ())
    """

    outputs: tuple[Output, ...]
    left_out: tuple[LeftOut, ...]
    #: Patterns of rules that no object had.
    unused_rules: tuple[str, ...] = ()

    @property
    def n_inputs(self) -> int:
        """Inputs that were merged."""
        return sum(output.n_inputs for output in self.outputs)

    @property
    def objects(self) -> tuple[MergedObject, ...]:
        """The objects of all outputs."""
        return tuple(one for output in self.outputs for one in output.objects)


#: What may become of columns that inputs do not have.
_COLUMNS = ("strict", "union", "first")


@takes(StorageOptions.__annotations__)
def merge(
    output: Location,
    inputs: Location | Iterable[Location],
    *,
    columns: Literal["strict", "union", "first"] = "strict",
    rules: Mapping[str, str] | None = None,
    on_bad_input: Literal["fail", "skip"] = "fail",
    max_size: int | str | None = None,
    open_files: int = OPEN_FILES,
    reproducible: bool = False,
    rebasket: bool = False,
    provenance: bool = False,
    join: str | None = None,
    **options: Unpack[StorageOptions],
) -> MergeReport:
    """Merge ROOT files into one: trees one after another, their baskets copied as they are.

    output: a path of this machine. It is there when it is whole, and an older file of its name is replaced then. With
        one path of an input, not in a list, an older file is an error: it may have been meant as an input.
    inputs: paths, URLs and globs; "@files.txt" stands for the files that it names, one a line.
    columns: those of trees. "strict": all inputs have the same. "union": those of all; entries of inputs without one
        have zeros, empty texts and lists. "first": those of the first input, others are left out.
    rules: what becomes of objects, by patterns of their names, or of their paths if there is a slash in them:
        ``{"h_*": "add", "plots/*": "drop"}``. The first that matches counts. Rules are "concatenate", "add", "first",
        "unique" (of a table each row once), "all", "drop" and "fail"; docs/merging.md has what becomes of each kind of
        object if none matches.
    on_bad_input: "skip" leaves out inputs that cannot be read, are not whole, or do not fit to those before, and
        reports them.
    max_size: bytes from which on another output is begun, behind the input that passes them: out.root, out_1.root, ...
        "strict" and "first" hold for all of them together; by "union" each has the columns of its own inputs.
    open_files: at most so many inputs are open at a time.
    reproducible: the same bytes on any day: no UUID, no dates.
    rebasket: baskets of less than 4 kB are unpacked and put together to larger ones; others are copied as they are.
    provenance: a small tree beside each tree, NAME_inputs, and an attribute set "inputs" of each RNTuple say which
        entries come from which input, and its UUID.
    join: a pattern of names of directories, "DF_*" for ALICE's data frames. Those of all inputs become one, and
        columns of their trees that hold numbers of rows (fIndex...) number those of the output. If an input that is at
        fault is left out, all others are merged again.
    options: of the storage, as for :func:`open`.

    Nothing is written under its name unless all is: after an error older files are what they were.

    Raises: SchemaMismatchError if inputs do not fit together; CorruptFileError for inputs that are damaged, or were not
    closed; UnsupportedError for what is not merged yet; StorageError; InvalidRequestError.

        >>> report = ar.merge("all.root", "run*.root")
        >>> [(one.path, one.num_entries) for one in report.objects]
        [('Events', 200), ('plots/h_met', None)]
    """
    refuse_swapped("merge", output, inputs)
    _refuse_meant_as_inputs(output, inputs)
    if columns not in _COLUMNS:
        raise InvalidRequestError(
            f"merge: columns: expected 'strict', 'union' or 'first', got {shown(columns)}: to choose some write "
            'ar.skim(["a.root", "b.root"], "all.root", columns=["x"])'
        )
    settings = (
        columns,
        checked_rules(rules),
        on_bad_input,
        max_size,
        open_files,
        reproducible,
        rebasket,
        provenance,
        join,
    )
    request = request_of(output, inputs, *settings)
    with Progress("merging", after_s=LONG_S) as progress:
        return merged(request, options, progress)


def _refuse_meant_as_inputs(output: Location, inputs: Location | Iterable[Location]) -> None:
    """Raise InvalidRequestError for one input and an output that is there: both may have been meant as inputs."""
    if not isinstance(inputs, str | bytes | os.PathLike):
        return
    one = without_secrets(os.fsdecode(inputs))
    if not one.startswith("@") and not is_glob(one) and os.path.exists(path_of_root(output)):  # noqa: PTH110 - text
        there = os.fsdecode(output)
        raise InvalidRequestError(
            f"merge: {shown(there)} is there, and a copy of {shown(one)} would replace it: to put both together write "
            f'ar.merge("all.root", [{there!r}, {one!r}]), to replace it ar.merge({there!r}, [{one!r}])'
        )


class Request(NamedTuple):
    """The request: files to merge, and how."""

    output: str
    inputs: list[str]
    columns: str = "strict"
    rules: Mapping[str, str] = {}
    on_bad_input: str = "fail"
    max_size: int | str | None = None
    open_files: int = OPEN_FILES
    reproducible: bool = False
    rebasket: bool = False
    provenance: bool = False
    join: str | None = None


def request_of(output: Location, inputs: Location | Iterable[Location], *settings: Any) -> Request:
    """Return what to merge; ``settings``: as :class:`Request` has them. Raises: as :func:`merge`."""
    return Request(path_of_root(output), listed(inputs), *settings)


class BadInputError(ArrowrootError):
    """An input is at fault, and the output has some of it: ``error`` says why."""

    def __init__(self, name: str, error: ArrowrootError | OSError) -> None:
        super().__init__(name)
        self.name = name
        self.error = error


def merged(
    request: Request,
    options: Mapping[str, Any],
    progress: Progress,
    check: Check | None = None,
) -> MergeReport:
    """Merge files, as :func:`merge` does. ``check``: is called with each output, its inputs and its objects first.

    It raises BadInputError for an input at fault, without which all is merged again if those are left out.
    """
    left_out: list[LeftOut] = []
    while True:
        try:
            report = _merged(request, options, progress, check)
        except BadInputError as bad:
            if request.on_bad_input == "fail":
                raise bad.error from None
            left_out.append(LeftOut(without_secrets(bad.name), bad.error))
            others = [name for name in request.inputs if name != bad.name]
            if not others:
                raise _none_left(left_out) from bad.error
            request = request._replace(inputs=others)
        else:
            return report._replace(left_out=(*left_out, *report.left_out))


def _merged(
    request: Request, options: Mapping[str, Any], progress: Progress, check: Check | None
) -> MergeReport:
    if request.on_bad_input not in ("fail", "skip"):
        raise InvalidRequestError(f"on_bad_input: {request.on_bad_input!r} is neither fail nor skip")
    if request.open_files < 1:
        raise InvalidRequestError("open_files: at least one file must be open")
    max_bytes = None if request.max_size is None else parse_size(request.max_size, "max_size")
    refuse_output(request.inputs, request.output)
    with ExitStack() as unpublished:
        merging = _Merging(request, max_bytes, unpublished)
        every = openings(request.inputs, options)
        n_done = 0
        progress.follow(lambda: (n_done / len(every), merging.n_bytes))
        all_opened = opened(every, request.open_files)
        for name, opening, open_it in zip(request.inputs, every, all_opened, strict=True):
            merging.add(name, opening, open_it)
            n_done += 1
        return merging.published(check)


def _none_left(left_out: Iterable[LeftOut]) -> ArrowrootError:
    return of_all("no input can be merged", [one.error for one in left_out])


class _Written(NamedTuple):
    """An output that has all of its inputs."""

    file: MergedFile | WritableFile
    inputs: list[str]
    objects: tuple[MergedObject, ...]
    unused_rules: set[str]


class _Merging:
    """The outputs so far."""

    def __init__(self, request: Request, max_bytes: int | None, unpublished: ExitStack) -> None:
        self._request = request
        self._max_bytes = max_bytes
        #: Gives up what is not published when it ends.
        self._unpublished = unpublished
        self._written: list[_Written] = []
        self._left_out: list[LeftOut] = []
        self._file: MergedFile | WritableFile | None = None
        self._merger: _native.Merger | None = None
        self._rows: UniqueRows | None = None
        self._inputs: list[str] = []
        #: Bytes of all outputs so far.
        self.n_bytes = 0
        self._bytes_before = 0

    def add(self, name: str, opening: Opening, open_it: Callable[[], _native.File]) -> None:
        """Add an input to an output."""
        merger = self._merger or self._begin()
        is_read = False
        try:
            file = open_it()
            rows = [] if self._rows is None else self._rows.read(opening)
            is_read = True
            n_bytes = merger.add(file)
        except (ArrowrootError, OSError) as error:
            is_of_input = not is_read or getattr(error, "is_of_input", False)
            if self._request.on_bad_input == "fail" or not is_of_input:
                raise
            if self._request.join is not None and is_read:
                # Some of its directories may be in the output.
                raise BadInputError(name, error) from error
            self._left_out.append(LeftOut(without_secrets(name), error))
            return
        if self._rows is not None:
            self._rows.write(rows)
        self._inputs.append(name)
        self.n_bytes = self._bytes_before + n_bytes
        if self._max_bytes is not None and n_bytes >= self._max_bytes:
            self._end()

    def published(self, check: Check | None) -> MergeReport:
        """Publish all outputs, and return what became of all inputs."""
        if self._inputs:
            self._end()
        if not self._written:
            raise _none_left(self._left_out)
        same = SameColumns(self._request.columns)
        for file, inputs, objects, _ in self._written:
            path = file.complete()
            if len(self._written) > 1 and self._request.columns != "union":
                same.check(file.path, path, [one.path for one in objects if one.num_entries is not None])
            if check is not None:
                check(path, inputs, objects)
        outputs = []
        for file, inputs, objects, _ in self._written:
            file.close()
            if self._request.rebasket:
                objects = tuple(map(_with_note_of_pages, objects))  # noqa: PLW2901
            size = os.stat(file.path).st_size  # noqa: PTH116 - text
            outputs.append(Output(file.path, size, len(inputs), objects))
        unused = [one.unused_rules for one in self._written]
        given = [*self._request.rules, *([] if self._request.join is None else [self._request.join])]
        patterns = [pattern for pattern in given if all(pattern in one for one in unused)]
        return MergeReport(tuple(outputs), tuple(self._left_out), tuple(patterns))

    def _begin(self) -> _native.Merger:
        path = path_of_part(self._request.output, len(self._written))
        refuse_output(self._request.inputs, path)
        rules = list(self._request.rules.items())
        file: MergedFile | WritableFile
        if "unique" in self._request.rules.values():
            from arrowroot._writing.calls import create

            file = create(path, reproducible=self._request.reproducible)
        else:
            file = MergedFile(path, reproducible=self._request.reproducible)
        self._file = file
        self._unpublished.callback(file.abort)
        self._merger = _native.Merger(
            file.native,
            columns=self._request.columns,
            rules=rules,
            rebasket=self._request.rebasket,
            provenance=self._request.provenance,
            join=self._request.join,
        )
        if not isinstance(file, MergedFile):
            from arrowroot._merging.rows import UniqueRows

            self._rows = UniqueRows(file, self._merger, has_provenance=self._request.provenance)
        return self._merger

    def _end(self) -> None:
        assert self._merger is not None and self._file is not None  # noqa: S101, PT018 - something was added
        of_rows = [] if self._rows is None else self._rows.finish()
        report = self._merger.finish()
        objects = tuple(map(MergedObject._make, [*report["objects"], *of_rows]))
        self._written.append(_Written(self._file, self._inputs, objects, set(report["unused_rules"])))
        self._bytes_before = self.n_bytes
        self._merger, self._rows, self._file, self._inputs = None, None, None, []


def _with_note_of_pages(one: MergedObject) -> MergedObject:
    """Return an object with a note, if the pages of an RNTuple stay as small as they are."""
    if "RNTuple" not in one.class_name or not one.n_small_baskets:
        return one
    note = "rebasket: pages of RNTuples are not put together; arrowroot skim writes them anew"
    return one._replace(notes=(*one.notes, note))
