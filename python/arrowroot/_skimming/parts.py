"""Parts of a skim: what is wanted of each input, in a file of its own until the outputs are there.

The name of a part is a digest of the input and of all that decides what is wanted of it: a skim that begins again takes
the parts that are there, and whoever makes some of them may be another process, on another machine that sees the
directory. Parts are put together by writing their entries, not by merging files: the outputs have the clusters, and
bytes, of a skim without parts, however few entries an input has.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from arrowroot._errors import ArrowrootError, StorageError
from arrowroot._saving.replacing import put
from arrowroot._select.cuts import Cut
from arrowroot._select.events import place_of
from arrowroot._skimming.inputs import OF_INPUTS, opened
from arrowroot._skimming.outputs import Portion
from arrowroot._skimming.picking import PickedEntries
from arrowroot._skimming.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from arrowroot._skimming.inputs import OpenInput
    from arrowroot._skimming.request import Request
    from arrowroot._skimming.tables import InputTable
    from arrowroot._skimming.whole import Span

#: At the end of a part stand its description as JSON, and the length of that.
_LENGTH_BYTES = 8
_SUFFIX, _NEW = ".part", ".new"


class _StoredBatch(NamedTuple):
    """A batch of a part: the table and the output that it goes to, and where it begins in the file."""

    table: str
    output: int | None
    offset: int
    #: In the place of a batch: the entries of a cluster of the input.
    span: Span | None = None


class Parts:
    """The parts of a skim in a directory that is held."""

    def __init__(self, directory: Path, request: Request) -> None:
        self.directory = directory.absolute()
        self._wanted = request.digest()
        self._samples = request.samples

    def portions(self, reading: Reading) -> Iterator[Portion]:
        """Return what is wanted of an input, from its part; that is made before if it is not there. Its counts are set.

        Raises: what reading the input raises; StorageError if a part cannot be written.
        """
        tables = reading.tables
        path = self._path(reading.given)
        batches = _taken(path, reading, tables)
        if batches is None:
            self.make(reading)
            batches = _taken(path, reading, tables)
        if batches is None:
            raise StorageError(f"{path}: a part of the skim, which is not what was written")
        return _read(path, tables, batches)

    def has(self, given: OpenInput) -> bool:
        """Return whether the part of an input is there."""
        return _described(self._path(given)) is not None

    def make(self, reading: Reading) -> None:
        """Read an input to its end, and put its part in its place when that is whole."""
        path, tables = self._path(reading.given), reading.tables
        batches: list[_StoredBatch] = []
        columns: dict[str, list[str]] = {}
        beside = path.with_suffix(f".{token_hex(4)}{_NEW}")
        try:
            with beside.open("wb") as file:
                for table, batch, output, span in reading.portions():
                    if span is not None:
                        batches.append(_StoredBatch(table.path, output, file.tell(), span))
                        continue
                    if batch is None:
                        columns[table.path] = sorted(table.columns)
                        continue
                    batches.append(_StoredBatch(table.path, output, file.tell()))
                    with pa.ipc.new_stream(file, batch.schema) as stream:
                        stream.write_batch(batch)
                found = [] if reading.events is None else np.flatnonzero(reading.events.found).tolist()
                described = {
                    "columns": columns,
                    "packed": _packed(reading, tables),
                    "picked": {path: entries.to_lists() for path, entries in reading.picked.items()},
                    "batches": batches,
                    "cuts": reading.flow.cuts,
                    "outputs": reading.flow.of_outputs,
                    "found": found,
                    "left": None if reading.flow.left is None else reading.flow.left.before.tolist(),
                }
                text = json.dumps(described).encode()
                file.write(text + len(text).to_bytes(_LENGTH_BYTES, "little"))
            put(beside, path)
        except OSError as error:
            if isinstance(error, ArrowrootError):
                raise
            raise _not_written(self.directory, error) from error
        finally:
            beside.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove all parts, once the outputs are there: those of other requests, and unfinished ones, too."""
        for suffix in (_SUFFIX, _NEW):
            for path in self.directory.glob(f"*{suffix}"):
                path.unlink(missing_ok=True)

    def _path(self, given: OpenInput) -> Path:
        changed_ns = None if given.status is None else given.status[-1]
        file = given.file
        of_file = [given.main, given.is_first, *sorted(given.beside)]
        named = [place_of(given.url), of_file, file.size_bytes, file.uuid, changed_ns, self._wanted]
        if given.location in self._samples:
            named.append(self._samples[given.location])
        digest = hashlib.sha256(json.dumps(named).encode("utf-8", "surrogateescape")).hexdigest()
        return self.directory / f"{digest[:32]}{_SUFFIX}"


def _not_written(directory: Path, error: OSError) -> StorageError:
    """Return the error of a part that a directory has no room for."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = "the disk is full; make room, and call it again: the parts that are there stay"
    else:
        why = str(error.strerror or error)
    return StorageError(f"{directory}: a part of the skim cannot be written: {why}")


def _described(path: Path) -> dict[str, Any] | None:
    """Return the description of a part; None: there is no part."""
    try:
        with path.open("rb") as file:
            end = file.seek(-_LENGTH_BYTES, os.SEEK_END)
            n_bytes = int.from_bytes(file.read(), "little")
            file.seek(end - n_bytes)
            found: dict[str, Any] = json.loads(file.read(n_bytes))
            return found
    except (OSError, ValueError):
        return None


def _taken(path: Path, reading: Reading, tables: Sequence[InputTable]) -> list[_StoredBatch] | None:
    """Return the batches of a part, and give the input its counts; None: it is not there, or has other columns.

    The columns of an input may depend on those of the first one, which another process did not know.
    """
    found = _described(path)
    if found is None or found["columns"] != {table.path: sorted(table.columns) for table in tables}:
        return None
    picked = {table.path for table in tables if table.branches is not None}
    if found["packed"] != _packed(reading, tables) or found["picked"].keys() != picked:
        return None
    reading.picked = {path: PickedEntries.from_lists(lists) for path, lists in found["picked"].items()}
    reading.flow.cuts = [Cut(*cut) for cut in found["cuts"]]
    reading.flow.of_outputs = [Cut(*cut) for cut in found["outputs"]]
    if reading.flow.left is not None:
        reading.flow.left.before[:] = found["left"]
    if reading.events is not None:
        reading.events.found[found["found"]] = True
    return [_StoredBatch(*batch) for batch in found["batches"]]


def _packed(reading: Reading, tables: Sequence[InputTable]) -> list[str]:
    """Return the tables of an input of which clusters can be copied packed."""
    return [table.path for table in tables if reading.spans_of(table)]


def _read(path: Path, tables: Sequence[InputTable], batches: Sequence[_StoredBatch]) -> Iterator[Portion]:
    with path.open("rb") as file:
        for table in tables:
            yield Portion(table, None)
            for batch in batches:
                if batch.table != table.path:
                    continue
                if batch.span is not None:
                    yield Portion(table, None, batch.output, (batch.span[0], batch.span[1]))
                else:
                    file.seek(batch.offset)
                    with pa.ipc.open_stream(file) as stream:
                        yield Portion(table, stream.read_next_batch(), batch.output)


def make_part(directory: Path, request: Request, file: tuple[str, str | None], main: str) -> None:
    """Make the part of an input, if it is not there; what an executor calls. ``main``: the path of the skimmed table.

    An input that is at fault has no part: whoever writes the outputs meets it again, and says so.
    """
    parts = Parts(directory, request)
    ((_, give),) = opened([file], request.storage, main=main, among=request.files)
    try:
        reading = Reading(request, give(), main, lambda _: None)
        if not parts.has(reading.given):
            parts.make(reading)
    except OF_INPUTS:
        return
