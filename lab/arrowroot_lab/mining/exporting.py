"""Results as files for scripts: CSV, Parquet, and a ROOT tree by our own writer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.store.merging import DOCUMENTS

from .flat_tables import TABLES, batches, schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from arrowroot_lab.store import Filter, Store

#: Rows of a group in Parquet: smaller groups are slow to read.
_LEAST_ROWS = 20_000
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
        out: the file; its suffix, .csv, .parquet or .root, says the format; it is there when it is whole
        name: results, samples or counters

    Raises: RequestError if the directory cannot be made; LabError if it cannot be written.
    """
    with _scratch(out) as scratch:
        part = scratch / f"part{out.suffix}"
        columns, found = schema(store, name), batches(store, store.keys(where), name)
        if out.suffix == ".root":  # a dot in a branch's name is ROOT's own
            columns = pa.schema([field.with_name(field.name.replace(".", "_")) for field in columns])
            found = (pa.RecordBatch.from_arrays(batch.columns, schema=columns) for batch in found)
        if out.suffix == ".csv":
            n_rows = _write(pa.csv.CSVWriter(part, columns), found)
        else:
            table = scratch / "part.parquet"
            n_rows = _write(pa.parquet.ParquetWriter(table, columns), found)
            if out.suffix == ".root":
                _to_root(table, part, name)
        part.replace(out)
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
    with _scratch(out / "results") as scratch:
        # What others put meanwhile is in no table.
        found = store.rows(where, ("id", "uuid", "campaign", "created_at"))
        keys = [row.id for row in found]
        uuids, campaigns, dates = (
            pa.array([row[place] for row in found], pa.string()) for place in range(1, 4)
        )
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
                scratch / name,
                schema=columns,
                format="parquet",
                min_rows_per_group=_DOCUMENTS_OF_GROUP if name == DOCUMENTS else _LEAST_ROWS,
                max_rows_per_group=_DOCUMENTS_OF_GROUP if name == DOCUMENTS else 1 << 20,
                partitioning=pa.dataset.partitioning(
                    pa.schema([("campaign", pa.string()), ("month", pa.string())]), flavor="hive"
                ),
            )
        for name in (*TABLES, DOCUMENTS):
            if (out / name).exists():
                (out / name).rename(scratch / f"old-{name}")
            if (scratch / name).exists():  # it has rows
                (scratch / name).rename(out / name)
    return counts


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


def _to_root(table: Path, out: Path, name: str) -> None:
    """Convert by our own writer, which is met as a program, as every engine is."""
    command = [sys.executable, "-m", "arrowroot", "convert", str(table), f"{out}:{name}", "--verify"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise LabError(f"arrowroot cannot write the ROOT file: {said}")


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    """A directory beside the output, so that what is whole is renamed into its place; gone afterwards."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".export-", dir=out.parent))
    except OSError as error:
        raise RequestError(f"{out}: {os.strerror(error.errno or 0)}") from error
    try:
        yield scratch
    except (OSError, pa.ArrowException) as error:
        raise LabError(f"{out}: it cannot be written: {error}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
