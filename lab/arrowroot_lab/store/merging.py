"""Results of other machines put into a store: each is known by its UUID, so that twice is once.

They come as other stores, as directories that ``lab export`` wrote, and as documents in JSON. Nothing of them is
believed before it was checked: a document at fault is refused, with its place, and hinders no other.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arrowroot_lab.documents import MAX_BYTES
from arrowroot_lab.errors import (
    DocumentError,
    KnownUuidError,
    LabError,
    RequestError,
    StoreError,
    told_to_people,
)
from arrowroot_lab.location import Location

from .faults import is_of_values
from .store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Where an export keeps documents, below its directory.
DOCUMENTS = "documents"
#: Rows of documents that are in memory at the same time, and the bytes that a group of rows may say it has.
_BATCH, _MOST_GROUP_BYTES = 16, 1 << 30
_JSON, _LINES, _PARQUET = ".json", ".jsonl", ".parquet"


class FoundDocument(NamedTuple):
    """A document, or why there is none."""

    #: The file, and where in it.
    place: str
    text: str | bytes | None
    problem: str = ""


class Refused(NamedTuple):
    """A document that was not taken."""

    place: str
    problem: str


@dataclass
class Merged:
    """The outcome of a merge."""

    n_new: int = 0
    #: Documents that were there already.
    n_known: int = 0
    refused: list[Refused] = field(default_factory=list)

    @property
    def n(self) -> int:
        """How many documents were looked at."""
        return self.n_new + self.n_known + len(self.refused)


def merge(store: Store, source: str, *, tell: Callable[[Merged], None] = lambda _: None) -> Merged:
    """Put all documents of a source into a store.

    Args:
        store: where to
        source: a directory, a file (.json, .jsonl, or another store), or the URL of a store
        tell: is told after each document how far it is

    Raises: RequestError if the source is not there; StoreError if it, or the store, cannot be used.
    """
    merged = Merged()
    for found in _documents(Location(source)):
        if found.text is None:
            merged.refused.append(Refused(found.place, found.problem))
        else:
            try:
                if store.put_document(found.text):
                    merged.n_new += 1
                else:
                    merged.n_known += 1
            except (DocumentError, KnownUuidError) as error:
                merged.refused.append(Refused(found.place, str(error)))
            except LabError as error:
                if not is_of_values(error):
                    raise
                merged.refused.append(Refused(found.place, str(error)))
            except Exception as error:  # noqa: BLE001 - what nobody foresaw of one document hinders no other
                problem = told_to_people(
                    f"it cannot be taken ({type(error).__name__}: {error}); please report this"
                )
                merged.refused.append(Refused(found.place, problem))
        tell(merged)
    return merged


def _documents(source: Location) -> Iterator[FoundDocument]:
    path = Path(source.whole())
    if "://" in source.whole() or (path.is_file() and path.suffix not in (_JSON, _LINES, _PARQUET)):
        yield from _of_store(source)
    elif path.is_dir():
        files = sorted(_files(path))
        if not files:
            raise RequestError(
                f"{path}: no documents are there: expected what `lab export DIR/` writes ({DOCUMENTS}/), or files "
                f"of {_JSON} or {_LINES}"
            )
        for file in files:
            # What stands behind a link is not of this directory; a pipe or a device may never end.
            if file.is_symlink() or not file.is_file():
                yield FoundDocument(str(file), None, "expected a file; links are not followed")
            else:
                yield from _of_file(file)
    elif path.is_file():
        yield from _of_file(path)
    else:
        raise RequestError(
            f"{source}: nothing is there; expected a directory, a file, or the URL of a database"
        )


def _files(directory: Path) -> Iterator[Path]:
    """All files with documents; of the other tables of an export none. Links to directories are not followed."""
    for top, names, files in os.walk(directory):
        here = Path(top)
        if here == directory:
            names[:] = [name for name in names if name not in ("results", "samples", "counters")]
        names[:] = [name for name in names if not name.startswith(".")]
        yield from (here / name for name in files if Path(name).suffix in (_JSON, _LINES, _PARQUET))


def _of_store(place: Location) -> Iterator[FoundDocument]:
    with Store.open(place, must_exist=True, is_foreign=True) as other:
        for key in other.keys(None):
            # One at a time: each may be as large as a document, or cannot be read, which hinders no other.
            try:
                found = list(other.texts([key]))
            except StoreError as error:
                yield FoundDocument(f"{other.place}: row {key}", None, str(error))
                continue
            # A column of SQLite may hold anything.
            for uuid, text in found:
                is_text = isinstance(text, str | bytes)
                yield FoundDocument(
                    f"{other.place}: {uuid}", text if is_text else None, "" if is_text else "expected text"
                )


def _of_file(path: Path) -> Iterator[FoundDocument]:
    try:
        if path.suffix == _PARQUET:
            yield from _of_parquet(path)
        elif path.suffix == _LINES:
            yield from _of_lines(path)
        else:
            size = path.stat().st_size
            if size > MAX_BYTES:
                yield FoundDocument(
                    str(path), None, f"a document has at most {MAX_BYTES:,} bytes, this one has {size:,}"
                )
            else:
                yield FoundDocument(str(path), path.read_bytes())
    except OSError as error:
        yield FoundDocument(str(path), None, f"it cannot be read: {error.strerror or error}")


def _of_lines(path: Path) -> Iterator[FoundDocument]:
    with path.open("rb") as file:
        n = 0
        while line := file.readline(MAX_BYTES + 2):
            n += 1
            if len(line) > MAX_BYTES + 1:
                yield FoundDocument(f"{path}:{n}", None, f"a document has at most {MAX_BYTES:,} bytes")
                return  # where the next one begins nobody knows
            if line.strip():
                yield FoundDocument(f"{path}:{n}", line)


def _of_parquet(path: Path) -> Iterator[FoundDocument]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            if "document" not in file.schema_arrow.names or not pa.types.is_string(
                file.schema_arrow.field("document").type
            ):
                yield FoundDocument(
                    str(path), None, "expected a column `document` of texts, as `lab export` writes it"
                )
                return
            n = 0
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).total_byte_size
                if size > _MOST_GROUP_BYTES:
                    problem = f"a group of rows has {size:,} bytes, more than {_MOST_GROUP_BYTES:,}"
                    yield FoundDocument(f"{path}: row {n}", None, problem)
                    return
                for batch in file.iter_batches(_BATCH, row_groups=[group], columns=["document"]):
                    for text in batch.column(0).to_pylist():
                        yield FoundDocument(
                            f"{path}: row {n}", text, "" if text is not None else "the document is missing"
                        )
                        n += 1
    except (pa.ArrowException, UnicodeDecodeError, ValueError) as error:
        yield FoundDocument(str(path), None, f"it cannot be read: {error}")
