"""Results as files for scripts: CSV, Parquet, and what a provider's program makes of Parquet."""

from __future__ import annotations

import os
import re
import subprocess
from bisect import bisect_right
from contextlib import ExitStack, contextmanager
from itertools import accumulate, islice
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from arrowroot_lab.campaign.providers import filled, registered
from arrowroot_lab.canonical import key_of
from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.saving import put, scratch
from arrowroot_lab.store.merging import DOCUMENTS

from .flat_tables import TABLES, batches, schema
from .writing import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from arrowroot_lab.campaign.providers import FileKind
    from arrowroot_lab.store import Filter, Store

#: Rows of a group in Parquet: smaller groups are slow to read.
_LEAST_ROWS = 20_000
#: Most bytes of a campaign's name in that of its directory, which has "campaign=" before: file systems take 255.
_MOST_BYTES = 240
#: What Parquet's readers, and file systems, take as it is in the name of a directory.
_IS_LETTER = re.compile(r"[\w.~-]")
#: The files of a table.
_WRITTEN = re.compile(r"campaign=[^/]*/month=[^/]*/part-\d+\.parquet")
#: Documents of a group, which whoever imports them has in memory.
_DOCUMENTS_OF_GROUP = 64
_DOCUMENT = pa.schema([("uuid", pa.string()), ("document", pa.string())])


def export(store: Store, where: Filter | None, out: Path, name: str) -> int:
    """Write one table to a file, and return how many rows it has.

    Args:
        store: where from
        where: which results
        out: the file; its suffix, one of ``formats()``, says the format; it is there when it is whole
        name: results, samples or counters

    Raises: RequestError if the directory cannot be made; LabError if it cannot be written.
    """
    with _scratch(out) as directory:
        part = directory / f"part{out.suffix}"
        columns, found = schema(store, name), batches(store, store.keys(where), name)
        if is_converted := out.suffix in _converted():  # where a dot in a column's name may mean something
            columns = pa.schema([field.with_name(field.name.replace(".", "_")) for field in columns])
            found = (pa.RecordBatch.from_arrays(batch.columns, schema=columns) for batch in found)
        if out.suffix == ".csv":
            columns = pa.schema([field.with_name(harmless(field.name)) for field in columns])
            n_rows = _write(pa.csv.CSVWriter(part, columns), (_harmless(batch, columns) for batch in found))
        else:
            table = directory / "part.parquet"
            n_rows = _write(pa.parquet.ParquetWriter(table, columns), found)
            if is_converted:
                _convert(table, part, name)
        put(part, out)
    return n_rows


def export_directory(store: Store, where: Filter | None, out: Path) -> dict[str, int]:
    """Write all tables as Parquet: ``TABLE/campaign=NAME/month=2026-01/part-0.parquet``. Returns their numbers of rows.

    Besides them there are the documents, which ``lab import`` takes on another machine.

    The tables that an earlier export left there are replaced; nothing else in the directory is touched.

    Raises: RequestError if a directory of a table has files of somebody else's, or cannot be made.
    """
    counts: dict[str, int] = {}
    for name in (*TABLES, DOCUMENTS):
        _check_is_ours(out / name)
    with _scratch(out / "results") as directory:
        # What others put meanwhile is in no table.
        found = store.rows(where, ("id", "uuid", "campaign", "created_at"))
        keys = [row.id for row in found]
        uuids = pa.array([row.uuid for row in found], pa.string())
        # Directories get their names afterwards: pyarrow would write six characters for a letter that is not English.
        numbers = {
            name: str(number) for number, name in enumerate(dict.fromkeys(row.campaign for row in found))
        }
        campaigns = pa.array([numbers[row.campaign] for row in found], pa.string())
        dates = pa.array([row.created_at for row in found], pa.string())
        months = pc.utf8_slice_codeunits(dates, 0, len("2026-01"))

        def keyed(name: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
            rows = _documents(store, keys) if name == DOCUMENTS else batches(store, keys, name)
            for batch in rows:
                counts[name] += batch.num_rows
                places = pc.index_in(batch["uuid"], value_set=uuids)
                own = [batch[field] for field in columns.names[:-2]]
                yield pa.RecordBatch.from_arrays(
                    [*own, campaigns.take(places), months.take(places)], schema=columns
                )

        for name in (*TABLES, DOCUMENTS):
            counts[name] = 0
            of_table = _DOCUMENT if name == DOCUMENTS else schema(store, name)
            own = [field for field in of_table if field.name != "campaign"]
            columns = pa.schema([*own, ("campaign", pa.string()), ("month", pa.string())])
            pa.dataset.write_dataset(
                keyed(name, columns),
                directory / "numbered" / name,
                schema=columns,
                format="parquet",
                min_rows_per_group=_DOCUMENTS_OF_GROUP if name == DOCUMENTS else _LEAST_ROWS,
                max_rows_per_group=_DOCUMENTS_OF_GROUP if name == DOCUMENTS else 1 << 20,
                partitioning=pa.dataset.partitioning(
                    pa.schema([("campaign", pa.string()), ("month", pa.string())]), flavor="hive"
                ),
            )
            for campaign, number in numbers.items():
                numbered = directory / "numbered" / name / f"campaign={number}"
                if numbered.exists():  # it has rows
                    (directory / name).mkdir(exist_ok=True)
                    numbered.rename(directory / name / f"campaign={_as_directory(campaign)}")
        for name in (*TABLES, DOCUMENTS):
            if (out / name).exists():
                (out / name).rename(directory / f"old-{name}")
            if (directory / name).exists():  # it has rows
                (directory / name).rename(out / name)
    return counts


def _as_directory(name: str) -> str:
    """Return a campaign's name as that of a directory, which readers of Parquet decode; see ``_MOST_BYTES``."""
    letters = [letter if _IS_LETTER.fullmatch(letter) else quote(letter, safe="") for letter in name]
    sizes = list(accumulate(len(letter.encode()) for letter in letters))
    if not sizes or sizes[-1] <= _MOST_BYTES:
        return "".join(letters)
    end = f"~{key_of(name)}"
    return "".join(letters[: bisect_right(sizes, _MOST_BYTES - len(end))]) + end


def _harmless(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Return rows for CSV, without texts that spreadsheets take for formulas."""
    arrays = [
        pa.array(map(harmless, column.to_pylist()), pa.string()) if column.type == pa.string() else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _check_is_ours(place: Path) -> None:
    """Raise RequestError if there is anything that no export wrote, as it would be gone with the table."""
    foreign = place if place.is_symlink() or place.is_file() else None
    for path in place.rglob("*"):
        if path.is_symlink() or not (path.is_dir() or _WRITTEN.fullmatch(str(path.relative_to(place)))):
            foreign = path
    if foreign is not None:
        raise RequestError(f"{foreign}: no export wrote this, and it would be lost: name another directory")


def _documents(store: Store, keys: Sequence[int]) -> Iterator[pa.RecordBatch]:
    texts = store.texts(keys)
    while some := list(islice(texts, _DOCUMENTS_OF_GROUP)):
        yield pa.RecordBatch.from_arrays(
            [pa.array(told, pa.string()) for told in zip(*some, strict=True)], schema=_DOCUMENT
        )


def _write(writer: pa.csv.CSVWriter | pa.parquet.ParquetWriter, found: Iterable[pa.RecordBatch]) -> int:
    n_rows = 0
    with writer:
        for batch in found:
            writer.write_batch(batch)
            n_rows += batch.num_rows
    return n_rows


def formats() -> list[str]:
    """Return the suffixes of files that results are written to."""
    return [".csv", ".parquet", *_converted()]


def _converted() -> dict[str, FileKind]:
    """The kinds of files that a program makes of Parquet, by suffix."""
    kinds = registered().files.values()
    return {kind.suffix: kind for kind in kinds if kind.export and kind.suffix not in (".csv", ".parquet")}


def _convert(table: Path, out: Path, name: str) -> None:
    """Convert by the program of the kind of the file."""
    command = filled(_converted()[out.suffix].export, table=str(table), out=str(out), name=name)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise LabError(f"{command[0]} {' '.join(command[1:3])} cannot write the {out.suffix} file: {said}")


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    """A directory beside the output, so that what is whole is renamed into its place; gone afterwards."""
    with ExitStack() as stack:
        try:
            directory = stack.enter_context(scratch(out))
        except OSError as error:
            raise RequestError(f"{out}: {os.strerror(error.errno or 0)}") from error
        try:
            yield directory
        except (OSError, pa.ArrowException) as error:
            raise LabError(f"{out}: it cannot be written: {error}") from error
