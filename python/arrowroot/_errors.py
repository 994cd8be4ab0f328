"""Exceptions and warnings: those of the engine, and the few that only Python knows."""

import copyreg
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from arrowroot import _native
from arrowroot._native import (
    AccessDeniedError,
    ArrowrootError,
    BatchTooLongError,
    CorruptFileError,
    InternalError,
    InvalidRequestError,
    InvalidTextError,
    NoSuchFileError,
    NotFoundError,
    OutOfMemoryError,
    StorageError,
    UnsupportedError,
    WrongTypeError,
)
from arrowroot._render import N_QUOTED, printable

if TYPE_CHECKING:
    from types import FrameType

__all__ = [
    "AccessDeniedError",
    "ArrowrootError",
    "ArrowrootWarning",
    "BatchTooLongError",
    "CorruptFileError",
    "CutShortWarning",
    "DamagedReplicaWarning",
    "DrawDiffersWarning",
    "FewReadersWarning",
    "FilterError",
    "IndexLeftOutWarning",
    "InternalError",
    "InvalidRequestError",
    "InvalidTextError",
    "LeftOutWarning",
    "LostKeyError",
    "MemoryBudgetWarning",
    "MissingEventsError",
    "MissingEventsWarning",
    "MissingLibraryError",
    "NoSuchAttributeError",
    "NoSuchColumnError",
    "NoSuchFileError",
    "NoSuchKeyError",
    "NoSuchOriginWarning",
    "NotFoundError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "QueueFullError",
    "QueueGrowthWarning",
    "RecordedSchemaWarning",
    "RecoveredWarning",
    "SchemaMismatchError",
    "StorageError",
    "UnsupportedColumnWarning",
    "UnsupportedError",
    "UnusedEntriesWarning",
    "WholeCopyWarning",
    "WrongTypeError",
    "depth_of_caller",
    "missing_library",
    "nearest",
    "not_picklable",
    "of_all",
    "warn",
    "warn_left_out",
]


#: The most characters of a message as it is shown and, without hints that come later, as an exception keeps it; and
#: those of its end that stay, which often say what to do.
_MAX_SHOWN, _MAX_MESSAGE, _END_OF_MESSAGE = 1900, 1500, 700


def _bounded(text: str, n_most: int) -> str:
    """Return a text that may quote what somebody gave, however long, of bounded length."""
    if len(text) <= n_most:
        return text
    n_begin = n_most - _END_OF_MESSAGE - len(f" ... ({len(text):,} characters) ... ")
    n_cut = len(text) - n_begin - _END_OF_MESSAGE
    return f"{text[:n_begin]} ... ({n_cut:,} characters) ... {text[-_END_OF_MESSAGE:]}"


def _told(message: object, pointed: str = "") -> str:
    """Return a message as it is shown: it may quote bytes from a file."""
    return _bounded(printable(str(message)), _MAX_SHOWN - len(pointed)) + pointed


def _kept(args: Iterable[object]) -> list[object]:
    """Return the arguments of an exception, which ``repr`` shows, of bounded length."""
    long = [
        isinstance(arg, str) and len(arg) > _MAX_SHOWN for arg in args
    ]  # the others stay as they are sent
    return [
        _bounded(str(arg), _MAX_MESSAGE) if is_long else arg for arg, is_long in zip(args, long, strict=True)
    ]


def _begin(self: ArrowrootError, *args: object) -> None:
    super(ArrowrootError, self).__init__(*_kept(args))


def _shown(self: ArrowrootError) -> str:
    """Return the message, with the lines that it ends with: a filter, and where in it."""
    # KeyError would show the message in quotes.
    text = self.args[0] if isinstance(self, KeyError) and self.args else super(ArrowrootError, self).__str__()
    return _told(text, getattr(self, "pointed", ""))


# All errors keep and show their messages so, whoever raises them.
ArrowrootError.__init__ = _begin  # type: ignore[method-assign,assignment]
ArrowrootError.__str__ = _shown  # type: ignore[method-assign,assignment]
# That of MemoryError, which Python takes where a base's was changed for a time, makes no other class's.
OutOfMemoryError.__new__ = Exception.__new__  # type: ignore[method-assign]


class ArrowrootWarning(UserWarning):
    """Base of all warnings of arrowroot.

    >>> import warnings
    >>> warnings.filterwarnings("ignore", category=ar.ArrowrootWarning)
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*_kept(args))

    def __str__(self) -> str:
        return _told(super().__str__())


class UnsupportedColumnWarning(ArrowrootWarning):
    """Branches that arrowroot cannot read yet were left out of an implicit selection.

    >>> warnings.filterwarnings("ignore", category=ar.UnsupportedColumnWarning)
    """


class RecoveredWarning(ArrowrootWarning):
    """Keys of a file were found by walking its records: it was not closed, or is damaged.

    It comes once for each file in a process.

        >>> ar.RecoveredWarning.forget()  # it comes again
    """

    _warned_of: ClassVar[set[str]] = set()

    @classmethod
    def forget(cls) -> None:
        """Warn anew of files that were warned of."""
        RecoveredWarning._warned_of.clear()


class CutShortWarning(RecoveredWarning):
    """A file was cut short: it may have had more than is read.

    >>> warnings.filterwarnings("ignore", category=ar.CutShortWarning)
    >>> ar.open("cut.root").missing_bytes > 0
    True
    """


class LeftOutWarning(ArrowrootWarning):
    """A file, or the rest of it, is left out of a scan with ``on_error="skip"``, as it cannot be read.

    >>> warnings.filterwarnings("ignore", category=ar.LeftOutWarning)
    >>> ar.scan(["events.root", "not-there.root"], "Events", ["run"], on_error="skip").num_entries
    100
    """


class QueueFullError(ArrowrootError):
    """Entries were not taken, as all buffers of a table were in use and nobody wanted to wait.

    >>> try:
    ...     context.fill(data)
    ... except ar.QueueFullError:
    ...     print("later")
    """


class QueueGrowthWarning(ArrowrootWarning):
    """Threads fill a table faster than it is compressed, and have done so for some time.

    >>> warnings.filterwarnings("error", category=ar.QueueGrowthWarning)
    """


class NoSuchAttributeError(ArrowrootError, AttributeError):
    """An object, or the package, has no such attribute; the message says what to write instead.

    >>> tree.arrays()
    Traceback (most recent call last):
    arrowroot.NoSuchAttributeError: 'Tree' object has no attribute 'arrays': write tree.to_awkward(["MET_pt"]) ...
    """


class OutOfRangeError(ArrowrootError, IndexError):
    """There is nothing of that number: numbers count from 0, and there are fewer.

    >>> hist.axis(0)[99]
    Traceback (most recent call last):
    arrowroot.OutOfRangeError: axis 'xaxis' has no bin 99: it has 2 bins, counted from 0
    """


class MissingLibraryError(ArrowrootError, ImportError):
    """An optional library is not installed; the message says how to install it.

    >>> try:
    ...     frame = tree.to_polars()
    ... except ar.MissingLibraryError as error:
    ...     print(error)
    """


class SchemaMismatchError(InvalidRequestError):
    """Files of one scan disagree on a column; the message names the file and the column.

    >>> ar.scan(["events.root", "other.root"], tree="Events", columns=["MET_pt"]).to_arrow()
    Traceback (most recent call last):
    arrowroot.SchemaMismatchError: other.root: column 'MET_pt' has type int64, but in events.root ...
    """


class FilterError(InvalidRequestError):
    """A filter, or another expression, cannot be understood or computed; the message shows where.

    >>> tree.to_arrow(filter="MET_pt >")
    Traceback (most recent call last):
    arrowroot.FilterError: filter: a column, a number or a text is expected where the filter ends
        MET_pt >
                ^
    """

    def __init__(self, message: str, expression: str, start: int, end: int, of: str = "filter") -> None:
        """``start``, ``end``: the place in ``expression``, half-open, in characters; ``of``: whose expression it is."""
        self.reason = message
        self.expression = expression
        self.start = start
        self.end = end
        self.of = of
        super().__init__(f"{of}: {message}")
        #: Lines to end the message with: the filter, and where in it.
        self.pointed = pointed_at(expression, start, end)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickle needs, as a Dask worker sends errors."""
        return type(self), (self.reason, self.expression, self.start, self.end, self.of), self.__dict__


class DrawDiffersWarning(ArrowrootWarning):
    """A filter selects entries in which an item that it names is missing; TTree::Draw selects none of them.

    >>> warnings.filterwarnings("ignore", category=ar.DrawDiffersWarning)
    """


class NoSuchOriginWarning(ArrowrootWarning):
    """An expression compares the sample, file or tree of entries with a text that none of those that are read has.

    >>> warnings.filterwarnings("error", category=ar.NoSuchOriginWarning)
    """


class DamagedReplicaWarning(ArrowrootWarning):
    """Some of a file is damaged in one of its replicas, and was read from another one.

    >>> warnings.filterwarnings("ignore", category=ar.DamagedReplicaWarning)
    """


class RecordedSchemaWarning(ArrowrootWarning):
    """A table records an Arrow schema that does not fit it or cannot be read; its columns are as they are stored.

    >>> warnings.filterwarnings("ignore", category=ar.RecordedSchemaWarning)
    """


class WholeCopyWarning(ArrowrootWarning):
    """A server answers no ranges: all of a file was copied to read some of it.

    >>> warnings.filterwarnings("error", category=ar.WholeCopyWarning)
    """


class MemoryBudgetWarning(ArrowrootWarning):
    """A memory budget has no room for what several batches need, which is decompressed again, and may be read again.

    It says which would do; once for each budget.

    >>> warnings.filterwarnings("error", category=ar.MemoryBudgetWarning)
    """

    _warned_of: ClassVar[set[int]] = set()


class FewReadersWarning(ArrowrootWarning):
    """Columns are written in a layout that arrowroot reads, and some other readers do not.

    >>> warnings.filterwarnings("ignore", category=ar.FewReadersWarning)
    """


class IndexLeftOutWarning(ArrowrootWarning):
    """The index of a frame is not written: the table has begun without one, and has no column for it.

    >>> warnings.filterwarnings("error", category=ar.IndexLeftOutWarning)
    """


class MissingEventsWarning(ArrowrootWarning):
    """Some of the events of a list are in none of the trees.

    >>> warnings.filterwarnings("ignore", category=ar.MissingEventsWarning)
    >>> wanted = ar.EventList([(1, 1, 3), (9, 9, 9)], missing="warn")
    >>> tree.to_arrow(["event"], entries=wanted).num_rows
    1
    """


class UnusedEntriesWarning(ArrowrootWarning):
    """Some of the entries of a list are of trees that are not read.

    >>> warnings.filterwarnings("ignore", category=ar.UnusedEntriesWarning)
    """


class MissingEventsError(NotFoundError):
    """Some of the events of a list are in none of the trees; ``missing`` has their numbers.

    >>> try:
    ...     tree.pick([(1, 1, 3), (9, 9, 9)])
    ... except ar.MissingEventsError as error:
    ...     error.missing
    [(9, 9, 9)]
    """

    def __init__(self, message: str, missing: Sequence[tuple[int, ...]]) -> None:
        super().__init__(message)
        self.missing = list(missing)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickle needs."""
        return type(self), (self.args[0], self.missing), self.__dict__


#: The most characters of a long filter that are shown before and after the place that is meant.
_N_AROUND = 60


def pointed_at(text: str, start: int, end: int) -> str:
    """Return two lines for the end of a message: the line of the text with the place, and ^~~ below it."""
    if not text:
        return ""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    first = max(line_start, start - _N_AROUND)
    last = min(line_end, min(end, start + _N_AROUND) + _N_AROUND)
    n_marked = max(1, min(end, last) - start)
    before = "…" if first > line_start else ""
    # Each character takes one column: those that would control a terminal become spaces.
    shown = "".join(c if c.isprintable() else " " for c in text[first:last])
    marks = " " * (len(before) + start - first) + "^" + "~" * (n_marked - 1)
    return f"\n    {before}{shown}{'…' if last < line_end else ''}\n    {marks}"


class _NearMissError(NotFoundError):
    """A name that is not there, with those that look like it."""

    def __init__(
        self,
        message: str,
        name: str,
        nearest_names: Sequence[str],
        shown: Callable[[str], str] = repr,
        known: Iterable[str] = (),
    ) -> None:
        """``shown``: returns how to write a name. ``known``: the names that there are, shown if none is near."""
        if nearest_names:
            message += "; did you mean " + " or ".join(map(shown, nearest_names)) + "?"
        elif there_are := list(dict.fromkeys(known)):
            more = f" and {len(there_are) - N_QUOTED} more" if len(there_are) > N_QUOTED else ""
            message += f"; there are {', '.join(map(shown, there_are[:N_QUOTED]))}{more}"
        super().__init__(message)
        self.name = name
        self.nearest = list(nearest_names)
        #: Lines to end the message with: a filter, and where in it.
        self.pointed = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickle needs: the message is complete and must not be made again."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class NoSuchKeyError(_NearMissError):
    """A file or directory has no object of that name; ``nearest`` has similar ones.

    >>> file["Event"]
    Traceback (most recent call last):
    arrowroot.NoSuchKeyError: events.root: no object 'Event'; did you mean 'Events'?
    """


class LostKeyError(NoSuchKeyError, CorruptFileError):
    """No object of that name, in a file that was cut short or is damaged: it may have been there.

    >>> ar.open("cut.root")["nothing"]
    Traceback (most recent call last):
    arrowroot.LostKeyError: cut.root: no object 'nothing'; the file is cut short, its last 4.68 kB are missing
    """


class NoSuchColumnError(_NearMissError):
    """A tree has no branch of that name; ``nearest`` has similar ones.

    >>> tree["Muon_p"]
    Traceback (most recent call last):
    arrowroot.NoSuchColumnError: events.root:Events: no branch 'Muon_p'; did you mean 'Muon_pt'?
    """


#: Kinds of faults of inputs, the worst first: data, what cannot be read yet, the request.
_FAULTS = (CorruptFileError, StorageError, UnsupportedError, SchemaMismatchError, NotFoundError)


def of_all(what: str, errors: Sequence[Exception]) -> ArrowrootError:
    """Return the error of inputs none of which is left, with the first reasons: of their kind, or of the worst."""
    kinds = {type(error) for error in errors if isinstance(error, ArrowrootError)}
    kind: type[ArrowrootError] = next(
        (kind for kind in _FAULTS if any(isinstance(error, kind) for error in errors)), InvalidRequestError
    )
    if len(kinds) == 1 and not isinstance(errors[0], _NearMissError):
        (kind,) = kinds
    reasons = list(dict.fromkeys(map(str, errors)))
    more = f"; and {len(reasons) - N_QUOTED} more" if len(reasons) > N_QUOTED else ""
    return kind(f"{what}: {'; '.join(reasons[:N_QUOTED])}{more}")


# People see the names by which they import them.
for _class in [one for one in vars().values() if isinstance(one, type) and one.__module__ == __name__]:
    _class.__module__ = "arrowroot"


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three of ``names`` which look like ``name``, the best first."""
    return _native.nearest(name, list(names))


def nearest_column(name: str, names: Iterable[str]) -> list[str]:
    """Return what was meant by a column that there is not, the best first.

    "Muon.pt" and "Events.MET_pt" are members, and columns behind their tree, as others write them; of a collection the
    first members are.
    """
    known = list(dict.fromkeys(names))
    parts = name.replace("/", ".").split(".")
    for meant in ("_".join(parts), ".".join(parts[1:])):
        if meant != name and meant in known:
            return [meant]
    members = [one for one in known if one.startswith(f"{name}_")]
    return members[:3] or nearest(name, known)


def nearest_columns(name: str, names: Iterable[str]) -> list[str]:
    """Return what was meant by columns that there are not: all of a collection, as "Muon_*", or what looks like it."""
    known, of_collection = list(names), f"{name}_"
    return (
        [f"{name}_*"] if any(one.startswith(of_collection) for one in known) else nearest_column(name, known)
    )


def cancelled() -> ArrowrootError:
    """Return the error of a scan that is drawn from after it was cancelled: it did not deliver all."""
    return ArrowrootError("the scan was cancelled")


def not_picklable(what: str, instead: str) -> WrongTypeError:
    """Return the error for pickling what holds a file open: another process must open the file itself."""
    return WrongTypeError(
        f"{what} cannot be pickled: it holds an open file; send what opens it again, {instead}"
    )


def missing_library(library: str, purpose: str) -> MissingLibraryError:
    """Return the error for an optional library which is not installed, with the command that helps."""
    quoted = repr(library) if "[" in library else library  # shells take brackets for a glob
    error = MissingLibraryError(f"{purpose} needs {library}, which is not installed: pip install {quoted}")
    error.name = library
    return error


def warn(text: str, kind: type[Warning]) -> None:
    """Warn at the caller's line, and log it."""
    depth = depth_of_caller()
    if "logging" in sys.modules:
        from arrowroot._logging import PACKAGE

        PACKAGE.warning("%s", text, stacklevel=depth)
    warnings.warn(text, kind, stacklevel=depth)


def warn_left_out(left_out: Sequence[tuple[str, str]], where: str, why: str = "not readable yet") -> None:
    """Warn once, at the caller's line, that some columns were not selected: (path, C++ type or another reason)."""
    if not left_out:
        return
    quoted = ", ".join(f"{path} ({type_name})" for path, type_name in left_out[:N_QUOTED])
    if len(left_out) > N_QUOTED:
        quoted += f" and {len(left_out) - N_QUOTED} more"
    plural = "branch" if len(left_out) == 1 else "branches"
    warn(f"{where}: left out {len(left_out)} {plural} {why}: {quoted}", UnsupportedColumnWarning)


def warn_recovered(url: str, what: str, *, is_cut_short: bool) -> None:
    """Warn, at the caller's line and once for each file, that it may have had more than is read."""
    warned_of = RecoveredWarning._warned_of  # noqa: SLF001 - of this module
    if url in warned_of:
        return
    warned_of.add(url)
    kind = CutShortWarning if is_cut_short else RecoveredWarning
    warn(f"{url}: {what}; what is left of it is read", kind)


def warn_damaged_replica(text: str) -> None:
    """Warn, at the caller's line, of data that are damaged in one replica and were read from another.

    The engine calls this.
    """
    warn(text, DamagedReplicaWarning)


def warn_of_draw(text: str) -> None:
    """Warn, at the caller's line, that TTree::Draw selects fewer entries by a condition; ``text`` is that."""
    warn(
        f"filter {text[:200]!r}: selects entries without an item that it names, of which TTree::Draw selects none",
        DrawDiffersWarning,
    )


def warn_recorded_schema(text: str) -> None:
    """Warn, at the caller's line, of a table whose recorded Arrow schema is not used.

    The engine calls this.
    """
    warn(text, RecordedSchemaWarning)


def warn_whole_copy(what: str) -> None:
    """Warn, at the caller's line, of a file that was copied whole; ``what`` says which, and how large it is."""
    text = f"{what} were copied to be read here, as the server answers no ranges"
    warn(text, WholeCopyWarning)


def warn_unused_entries(text: str) -> None:
    """Warn, at the caller's line, of entries of a list that are of none of the trees that are read."""
    warn(text, UnusedEntriesWarning)


def depth_of_caller() -> int:
    """Return the stack level, as our caller would count, of the first frame outside this package."""
    package = os.path.dirname(__file__) + os.sep  # noqa: PTH120 - pathlib is a tenth of our import time
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the documented way to walk the stack
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1
    return level
