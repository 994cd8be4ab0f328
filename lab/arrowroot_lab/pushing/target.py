"""The place of one file on a storage: what every kind of storage can do with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from arrowroot_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arrowroot_lab.location import Location


class PushError(LabError):
    """A file cannot be put, or read back."""


@dataclass(frozen=True)
class Stored:
    """A file that a storage has, as it tells of it."""

    n_bytes: int
    #: Kind, a field of ``Digests``, -> hexadecimal digits; empty: it tells none.
    checksums: dict[str, str] = field(default_factory=dict)
    #: Changes when the file does: its time, or its ETag; None: nobody knows.
    tag: str | None = None


class PushTarget(Protocol):
    """Where a file is to be. A target is made of a URL, or a path, and asks nothing before it is told to."""

    #: Where it is; whole for the client that is told it.
    url: Location

    def part(self) -> PushTarget | None:
        """Return the place that the file is written to first; None: what is put there appears as a whole."""

    def stored(self) -> Stored | None:
        """Return what is there; None: nothing. Raises: PushError."""

    def put(self, file: Path, moved: Callable[[int], None]) -> None:
        """Write a file; where the storage can, go on with what is there of it. Raises: PushError."""

    def publish(self, final: PushTarget) -> bool:
        """Give a part its name, in place of what has it; False: the storage cannot. Raises: PushError."""

    def remove(self) -> None:
        """Remove it, if it is there. Raises: PushError."""

    def pieces(self) -> Iterator[bytes]:
        """Read it back. Raises: PushError."""
