"""Results as files for scripts: CSV, Parquet, and a ROOT tree by our own writer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from arrowroot_lab.errors import LabError, RequestError

from .flat_tables import TABLES, batches, schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from arrowroot_lab.store import Filter, Store


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
        columns, found = schema(store, name), batches(store, where, name)
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

    The tables that an earlier export left there are replaced; nothing else in the directory is touched.
    """
    counts = {}
    with _scratch(out / "results") as scratch:
        for name in TABLES:
            # In Arrow's memory, as the parts are written by their keys; some hundred bytes a row.
            table = pa.Table.from_batches(batches(store, where, name), schema(store, name))
            keyed = _with_keys(store, where, table)
            counts[name] = len(table)
            pa.dataset.write_dataset(
                keyed,
                scratch / name,
                format="parquet",
                partitioning=pa.dataset.partitioning(
                    pa.schema([("campaign", pa.string()), ("month", pa.string())]), flavor="hive"
                ),
            )
        for name in TABLES:
            if (out / name).exists():
                (out / name).rename(scratch / f"old-{name}")
            if (scratch / name).exists():  # it has rows
                (scratch / name).rename(out / name)
    return counts


def _with_keys(store: Store, where: Filter | None, table: pa.Table) -> pa.Table:
    """Add campaign and month of each row's result."""
    found = {one.uuid: (one.campaign, one.created_at[:7]) for one in store.summaries(where)}
    keys = [found[uuid] for uuid in table["uuid"].to_pylist()]
    if "campaign" in table.column_names:
        table = table.drop_columns(["campaign"])
    table = table.append_column("campaign", pa.array([key[0] for key in keys], pa.string()))
    return table.append_column("month", pa.array([key[1] for key in keys], pa.string()))


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
