"""Where files are read from, once it is there: what an opened storage offers to who measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Place:
    """An opened storage. `arrowroot_lab.storages.opened` makes them; this one is that of files that are just there."""

    #: One for each file, in their order: a path, or a URL, guarded if it has secrets. They may change with
    #: ``prepare_sample``.
    urls: list[str]
    #: The files themselves, where they lie on this machine.
    files: list[Path]
    #: Variables that a client needs in its environment.
    environment: dict[str, str] = field(default_factory=dict)
    #: The versions of the servers, by program.
    versions: dict[str, str] = field(default_factory=dict)
    #: Nothing can be read from it: a runner predicts, in virtual time, with ``line_figures``.
    is_virtual: bool = False

    def prepare_sample(self) -> dict[str, float]:
        """Make the place what it is called, just before a sample: files evicted, a cache emptied or filled.

        Returns: of a cold place ``cached_share_before``, the greatest share of a file in the page cache; else nothing.
        Raises: RefusedError where it cannot be made so; SkippedError without a program that is needed.
        """
        return {}

    def line_figures(self) -> dict[str, float]:
        """Measure, in about a second, ``latency_ns`` (a round trip) and ``bytes_per_s``; what cannot be is left out."""
        return {}

    def answers(self) -> bool:
        """Ask the storage for next to nothing: False if it does not answer."""
        return True

    def counters(self) -> dict[str, dict[str, int]]:
        """Counts since ``prepare_sample`` of "line" and "origin_line": n_connections, n_bytes, n_bytes_up."""
        return {}
