"""Requests as a server's own log tells them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """One request. What a server's log does not tell is None."""

    #: ``GET``, ``HEAD``; of XRootD ``open``, ``read``, ``readv``, ``pgread``, ``stat``, ``close``, ...
    method: str
    path: str | None
    #: As HTTP writes them, half-open ranges of XRootD likewise: ``0-99,200-299``; None if it asked for no range.
    range: str | None
    #: Bytes of the content that were sent; by XRootD's log, that were asked for.
    n_bytes: int
    #: The server's number of the connection.
    connection: int | None
    #: HTTP's; 0 for XRootD.
    status: int = 0

    @property
    def n_ranges(self) -> int:
        """How many ranges it asked for."""
        return self.range.count(",") + 1 if self.range else 0


def range_text(parts: list[tuple[int, int]]) -> str | None:
    """Write (offset, length) pairs as HTTP does."""
    return ",".join(f"{offset}-{offset + length - 1}" for offset, length in parts) or None
