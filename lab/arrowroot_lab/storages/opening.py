"""Opens storages: starts the servers and relays that they need, and ends them."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from .local import Local, Simulated, Url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from arrowroot_lab.campaign.model import Storage

    from .place import Place


@contextmanager
def opened(storage: Storage, files: Sequence[Path]) -> Iterator[Place]:
    """Make a storage that offers files; all that was made for it is gone after the block, however it ends.

    Raises: SkippedError if a program that it needs is not installed; LabError if a server does not start.
    """
    with ExitStack() as stack:
        if storage.kind == "local":
            yield stack.enter_context(Local(storage, files))
        elif storage.kind == "url":
            yield Url(storage, files)
        elif storage.kind == "simulated":
            yield Simulated(storage, files)
        else:
            from .served import serve

            yield serve(storage, files, stack)
