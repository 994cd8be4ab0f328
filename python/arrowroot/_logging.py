"""The loggers of arrowroot: those of the standard library, which say nothing unless somebody asks them to.

``arrowroot`` has the warnings, ``arrowroot.storage`` what the engine logs: opens, redirects and what a strategy decides
(INFO), retries and other replicas (WARNING), and each request (DEBUG).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGE = logging.getLogger("arrowroot")
#: The engine asks it what is listened to.
STORAGE = logging.getLogger("arrowroot.storage")
PACKAGE.addHandler(logging.NullHandler())


def deliver(events: Iterable[tuple[int, float, str]], n_lost: int) -> None:
    """Log what the engine has kept: levels, times in s, texts; ``n_lost`` more were too many to keep.

    The engine calls this.
    """
    for level, created_s, text in events:
        if STORAGE.isEnabledFor(level):
            record = STORAGE.makeRecord(STORAGE.name, level, __package__, 0, text, (), None)
            record.created, record.msecs = created_s, created_s % 1 * 1000
            STORAGE.handle(record)
    if n_lost:
        STORAGE.warning("%s more were too many to be logged", n_lost)
