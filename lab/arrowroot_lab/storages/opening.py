"""Opens storages: starts the servers and relays that they need, and ends them."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.location import whole
from arrowroot_lab.pushing import names_of, push

from .local import Local, Simulated, Url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arrowroot_lab.campaign.model import Storage
    from arrowroot_lab.pushing.push import Show

    from .place import Place


def check_here(storage: Storage) -> None:
    """Raise MissingError if a program that a storage needs is not on this machine."""
    if storage.kind not in ("local", "url", "simulated"):
        from . import served

        served.check_here(storage)


@contextmanager
def opened(storage: Storage, files: Sequence[Path], show: Show = lambda *_: None) -> Iterator[Place]:
    """Make a storage that offers files; all that was made for it is gone after the block, however it ends.

    The files are put onto a storage that may be written, unless they are there, and proved to be
    identical; they stay. show: takes how far that is.

    Raises: MissingError if a program that it needs is not installed; LabError if a server does not start, or if files
        cannot be put.
    """
    with ExitStack() as stack:
        if storage.kind == "local":
            if storage.push is not None:
                pushed = [Path(whole(one.url)) for one in push(storage, files, show=show)]
                yield stack.enter_context(Local(replace(storage, options={}), pushed))
            else:
                yield stack.enter_context(Local(storage, files))
        elif storage.kind == "url":
            if storage.push is not None:
                push(storage, files, show=show)
                yield Url(storage, files, names_of(files))
            else:
                yield Url(storage, files, [path.name for path in files])
        elif storage.kind == "simulated":
            yield Simulated(storage, files)
        else:
            from .served import serve

            yield serve(storage, files, stack)
