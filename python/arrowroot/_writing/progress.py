"""How far a file being written is, for who looks at a terminal or a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot import _progress
from arrowroot._render import clip, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from arrowroot import _native

_LABEL_WIDTH = 30


def shown(
    file: _native.FileWriter,
    path: str,
    since_ns: int,
    share: Callable[[], float] | None = None,
    *,
    does: str = "writing",
) -> _progress.Progress:
    """Return what shows the bytes in a file while something is done to it, once that has taken a second in all.

    since_ns: when the file was begun, of ``time.perf_counter_ns``. share: returns how much is done; None: nobody knows.
    does: what is done.
    """
    label = f"{does} {clip(printable(path), _LABEL_WIDTH)}"
    progress = _progress.Progress(label, after_s=_progress.LONG_S, since_ns=since_ns)
    progress.follow(lambda: (share() if share else None, sum(row["bytes"] for row in file.ledgers())))
    return progress
