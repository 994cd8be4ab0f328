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
    from collections.abc import Callable, Collection
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
        #: Files that could not be opened, and those that the latest pass could not read to their ends.
        self.not_opened: list[LeftOut] = []
        self.not_read: list[LeftOut] = []

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

    def drop(self, urls: Collection[str]) -> None:
        """Take files that were found to be damaged before a pass for such as cannot be opened."""
        known = {one.url for one in self.not_opened}
        self.not_opened += [
            one._replace(n_delivered=0) for one in self.not_read if one.url in urls and one.url not in known
        ]
        self.not_read = []

    def begin_pass(self) -> None:
        """Forget the latest pass."""
        self.not_read = []

    def not_opened_on(self, url: str, error: ArrowrootError) -> None:
        """Leave out a file. Raises: the error if it is of no file; what the user's function raises."""
        self._take(self.not_opened, url, error, 0)

    def not_read_on(self, url: str, error: ArrowrootError, n_delivered: int) -> None:
        """Leave out the rest of a file. Raises: as ``not_opened_on``."""
        self._take(self.not_read, url, error, n_delivered)

    def _take(self, to: list[LeftOut], url: str, error: ArrowrootError, n_delivered: int) -> None:
        reason = reason_of(error)
        if reason is None:
            raise error
        one = LeftOut(url, reason, n_delivered, error)
        to.append(one)
        if callable(self._on_error):
            self._on_error(one)
        else:
            what = f"left out, after {n_delivered:,} of its entries" if n_delivered else "left out"
            warn(f"{what}: {error}", LeftOutWarning)
