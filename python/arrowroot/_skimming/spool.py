"""Entries of an input that wait until all of it was read: in memory, and what is more in a temporary file."""

from __future__ import annotations

from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from arrowroot._errors import StorageError
from arrowroot._sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from arrowroot._skimming.outputs import Portion

#: Bytes that are kept in memory.
_MEMORY_BYTES = parse_size("64 MB")


class Spool:
    """Pieces of an input, to be drawn once, in their order."""

    def __init__(
        self, portions: Iterable[Portion], directory: Path, memory_bytes: int = _MEMORY_BYTES
    ) -> None:
        """Draw all of them. Raises: what drawing raises; StorageError if the directory has no room."""
        #: Each portion; those in the file without their entries, and where these begin.
        self._portions: list[tuple[Portion, int | None]] = []
        self._file: IO[bytes] | None = None
        n_bytes = 0
        for portion in portions:
            size = 0 if portion.batch is None else portion.batch.get_total_buffer_size()
            if portion.batch is None or n_bytes + size <= memory_bytes:
                n_bytes += size
                self._portions.append((portion, None))
                continue
            try:
                self._portions.append((portion._replace(batch=None), self._put(portion.batch, directory)))
            except OSError as error:
                raise StorageError(
                    f"{directory}: the entries of an input, which wait there until all of it was read, cannot be "
                    f"written: {error.strerror or error}"
                ) from error

    def _put(self, batch: pa.RecordBatch, directory: Path) -> int:
        """Write a batch to the file, and return where it begins."""
        self._file = self._file or TemporaryFile(dir=directory)  # noqa: SIM115 - closed once all was drawn
        place = self._file.tell()
        with pa.ipc.new_stream(self._file, batch.schema) as stream:
            stream.write_batch(batch)
        self._file.flush()
        return place

    def __iter__(self) -> Iterator[Portion]:
        try:
            for portion, place in self._portions:
                if place is None or self._file is None:
                    yield portion
                    continue
                self._file.seek(place)
                with pa.ipc.open_stream(self._file) as stream:
                    yield portion._replace(batch=stream.read_next_batch())
        finally:
            self._portions.clear()
            if self._file is not None:
                self._file.close()
