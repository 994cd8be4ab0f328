"""Files of a directory of this machine, or of a file system that it mounts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from arrowroot_lab.location import Location

from .digests import PIECE_BYTES
from .target import PushError, Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .target import PushTarget


class LocalTarget:
    """A path."""

    def __init__(self, path: Path) -> None:
        self.path, self.url = path, Location(str(path))

    def part(self) -> LocalTarget:
        """See ``Target``."""
        return LocalTarget(self.path.with_name(f"{self.path.name}.part"))

    def stored(self) -> Stored | None:
        """See ``Target``. A file system tells no checksum."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._fault(error) from None
        return Stored(status.st_size, {}, f"{status.st_mtime_ns} {status.st_ino} {status.st_ctime_ns}")

    def put(self, file: Path, moved: Callable[[int], None]) -> None:
        """See ``Target``: what is there already is gone on with."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with file.open("rb") as source, self.path.open("ab") as target:
                n_bytes = target.tell()
                if n_bytes > file.stat().st_size:
                    target.truncate(n_bytes := 0)
                source.seek(n_bytes)
                while piece := source.read(PIECE_BYTES):
                    target.write(piece)
                    n_bytes += len(piece)
                    moved(n_bytes)
                target.flush()
                os.fsync(target.fileno())
        except OSError as error:
            raise self._fault(error) from None

    def publish(self, final: PushTarget) -> bool:
        """See ``Target``."""
        try:
            self.path.chmod(0o644)
            self.path.replace(final.url.whole())
        except OSError as error:
            raise self._fault(error) from None
        return True

    def remove(self) -> None:
        """See ``Target``."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise self._fault(error) from None

    def pieces(self) -> Iterator[bytes]:
        """See ``Target``."""
        try:
            with self.path.open("rb", buffering=0) as file:
                while piece := file.read(PIECE_BYTES):
                    yield piece
        except OSError as error:
            raise self._fault(error) from None

    def _fault(self, error: OSError) -> PushError:
        return PushError(f"{self.path}: {error.strerror or error}")
