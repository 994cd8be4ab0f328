"""Makes a table as RNTuple, TTree and Parquet: ``data.py DIRECTORY nano|few CODEC N_ENTRIES``.

``nano`` is drawn like NanoAOD (``arrowroot sample``), ``few`` has a hundred distinct values in each column. The RNTuple
is the file of the data set; the other two stand in ``beside``, with a file of ten entries for each, which a process
reads first. All have the values of one table in memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from asked import FEW_LISTS, FEW_NUMBERS, N_DISTINCT

import arrowroot

TABLE = "Events"
#: Entries of a row group: of the NanoAOD-like set about the 128 MiB that a cluster of an RNTuple has. In one group
#: alone statistics would leave out all or nothing, and several threads would have nothing to share.
ROW_GROUP = 50_000
#: arrowroot's level; that of LZ4 is each library's.
LEVELS = {"zstd": 5}
N_WARM_UP = 10


def nano(n_entries: int, directory: Path) -> pa.Table:
    """Columns that are drawn like those of NanoAOD."""
    path = directory / "sample.root"
    command = [sys.executable, "-m", "arrowroot", "sample", "nanoaod", f"{path}:{TABLE}"]
    options = ["--entries", str(n_entries), "--compression", "none"]
    subprocess.run([*command, *options], stdout=subprocess.DEVNULL, check=True)
    with arrowroot.open(path) as file:
        return file[TABLE].to_arrow()


def few(n_entries: int) -> pa.Table:
    """Numbers and lists of few distinct values, and a number of the entry."""
    draw = np.random.default_rng(1)
    offsets = np.concatenate([[0], draw.poisson(3, n_entries).cumsum()]).astype(np.int32)
    columns: dict[str, Any] = {"event": pa.array(np.arange(n_entries, dtype=np.uint64))}
    for name in FEW_NUMBERS:
        columns[name] = pa.array(_drawn(draw, n_entries))
    # Its greatest values are as many as those of others: a filter takes them.
    columns[FEW_NUMBERS[-1]] = pa.array(draw.integers(N_DISTINCT, size=n_entries) / N_DISTINCT)
    for name in FEW_LISTS:
        values = pa.array(_drawn(draw, int(offsets[-1])))
        columns[name] = pa.ListArray.from_arrays(
            pa.array(offsets), values, type=pa.list_(pa.field("item", pa.float64(), nullable=False))
        )
    fields = [pa.field(name, column.type, nullable=False) for name, column in columns.items()]
    return pa.table(columns, schema=pa.schema(fields))


def _drawn(draw: np.random.Generator, n: int) -> Any:
    return draw.normal(size=N_DISTINCT)[draw.integers(N_DISTINCT, size=n)]


def write(table: pa.Table, rntuple: Path, beside: Path, codec: str) -> dict[str, int]:
    """Write a table in the three formats, and return the sizes of the files."""
    beside.mkdir(parents=True)
    ttree, parquet = beside / "ttree.root", beside / "table.parquet"
    arrowroot.write(f"{rntuple}:{TABLE}", table, layout="rntuple", compression=codec)
    arrowroot.write(f"{ttree}:{TABLE}", table, compression=codec)
    pq.write_table(
        table, parquet, compression=codec, compression_level=LEVELS.get(codec), row_group_size=ROW_GROUP
    )
    paths = {"rntuple": rntuple, "ttree": ttree, "parquet": parquet}
    return {name: path.stat().st_size for name, path in paths.items()}


def main() -> None:
    """Make the files, and what is told of them."""
    directory, name, codec, n_entries = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        table = nano(n_entries, Path(scratch)) if name == "nano" else few(n_entries)
    beside = directory / "beside"
    sizes = write(table, directory / f"{name}.root", beside, codec)
    write(table.slice(0, N_WARM_UP), beside / "tiny.root", beside / "tiny", codec)
    (beside / "about.json").write_text(json.dumps({"n_entries": n_entries, "bytes": sizes}))


if __name__ == "__main__":
    main()
