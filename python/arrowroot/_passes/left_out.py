"""Files that a scan leaves out because they cannot be read, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import (
    AccessDeniedError,
    ArrowrootError,
    CorruptFileError,
    InvalidRequestError,
    LeftOutWarning,
    NoSuchFileError,
    NotFoundError,
    StorageError,
    UnsupportedError,
    warn,
)
from arrowroot._options import is_word
from arrowroot._render import shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    #: The choice for a file that cannot be read.
    OnError: TypeAlias = "Literal['raise', 'skip'] | Callable[[LeftOut], object]"

#: Faults of a file, by the first of these that its error is. All else is no fault of a file.
_REASONS: tuple[tuple[type[ArrowrootError], str], ...] = (
    (NoSuchFileError, "missing"),
    (AccessDeniedError, "no access"),
    (CorruptFileError, "damaged"),
    (NotFoundError, "no tree"),
    (StorageError, "not reachable"),
    (UnsupportedError, "not readable"),
)


class LeftOut(NamedTuple):
    """A file that a scan left out, or the rest of it.

    url: without credentials. reason: "missing", "no access", "damaged", "no tree", "not reachable" or "not readable".
    n_delivered: entries of it that were delivered before; 0 where it could not be opened. error: what opening or
    reading it raised.

    >>> scan = ar.scan(["events.root", "not-there.root"], "Events", ["MET_pt"], on_error="skip")
    >>> scan.to_arrow().num_rows, [(one.reason, one.n_delivered) for one in scan.left_out]
    (100, [('missing', 0)])
    """

    url: str
    reason: str
    n_delivered: int
    error: ArrowrootError


def reason_of(error: ArrowrootError) -> str | None:
    """Return what is wrong with a file; None if the error is not of one."""
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), None)


class LeavingOut:
    """The files that could not be read, and what is done with the next one."""

    def __init__(self, on_error: OnError) -> None:
        """Raises: InvalidRequestError for another word."""
        if not is_word(on_error, "skip") and not callable(on_error):
            raise InvalidRequestError(
                f'on_error: expected "raise", "skip" or a function, got {shown(on_error)}'
            )
        self._on_error = on_error
        #: Files that could not be opened.
        self.not_opened: list[LeftOut] = []
        #: Trees, by their numbers in the row, that proved damaged as events were looked for, and those that the latest
        #: pass could not read to their ends.
        self._dropped: dict[int, LeftOut] = {}
        self._not_read: dict[int, LeftOut] = {}
        #: True if the latest pass looks for events.
        self._is_look_up = False

    @property
    def left_out(self) -> list[LeftOut]:
        """All that is left out so far."""
        return [*self.not_opened, *self._dropped.values(), *self._not_read.values()]

    def refuse_numbers(self, what: str) -> None:
        """Raise InvalidRequestError if a file could not be opened: numbers of entries go by all files.

        what: has the numbers, and what to write instead.
        """
        if self.not_opened:
            some = f", and {len(self.not_opened) - 1} more" if len(self.not_opened) > 1 else ""
            raise InvalidRequestError(
                f"on_error: {self.not_opened[0].url}{some} cannot be read, and numbers of entries count those of all "
                f"files: {what}"
            )

    def drop_not_read(self) -> list[int]:
        """Leave out for good the trees that the latest pass, which looked for events, could not read.

        Return the numbers of these. Their entries still count.
        """
        numbers = list(self._not_read)
        self._dropped |= self._not_read
        self.begin_pass()
        return numbers

    def begin_pass(self) -> None:
        """Forget the latest pass."""
        self._not_read = {}
        self._is_look_up = False

    def begin_look_up(self) -> None:
        """Say that the pass that begins looks for events: what it reads is not delivered."""
        self._is_look_up = True

    def not_opened_on(self, url: str, error: ArrowrootError) -> None:
        """Leave out a file. Raises: the error if it is of no file; what the user's function raises."""
        one = _left_out(url, error, 0)
        self.not_opened.append(one)
        self._tell(one)

    def not_read_on(self, number: int, url: str, error: ArrowrootError, n_delivered: int) -> None:
        """Leave out the rest of a tree, by its number in the row. Raises: as ``not_opened_on``."""
        one = self._not_read[number] = _left_out(url, error, 0 if self._is_look_up else n_delivered)
        self._tell(one)

    def _tell(self, one: LeftOut) -> None:
        if callable(self._on_error):
            self._on_error(one)
        else:
            after = f", after {one.n_delivered:,} of its entries" if one.n_delivered else ""
            warn(f"left out{after}: {one.error}", LeftOutWarning)


def _left_out(url: str, error: ArrowrootError, n_delivered: int) -> LeftOut:
    """Return a file with what is wrong with it. Raises: the error if it is of no file."""
    reason = reason_of(error)
    if reason is None:
        raise error
    return LeftOut(url, reason, n_delivered, error)
