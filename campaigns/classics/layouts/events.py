"""Makes a file of the campaign ``layouts.toml``: ``events.py DIRECTORY LAYOUT N_ENTRIES``.

The events are those of ``arrowroot sample aod``, 32 of them in one, in 160 collections of 20 members each: some 170 kB
compressed, as an event of an AOD of ATLAS has, and 3,300 branches if all are split. They are the same in each layout.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import arrowroot as ar

TABLE = "CollectionTree"
#: Each collection of the sample becomes so many, of the objects of so many of its entries.
N_COPIES, N_TOGETHER = 32, 1
#: Entries of a batch.
N_BATCH = 100


def grouped(lists: pa.ListArray, n_together: int) -> pa.ListArray:
    """Lists of the items of so many lists in a row."""
    offsets = lists.offsets.to_numpy()[::n_together]
    return pa.ListArray.from_arrays(pa.array(offsets), lists.values, type=lists.type)


def event_batch(sample: pa.RecordBatch) -> pa.RecordBatch:
    """Entries of the sample as events, a 32nd of their number."""
    n_merged = N_COPIES * N_TOGETHER
    n_events = sample.num_rows // n_merged
    arrays, fields = [], []
    for field, column in zip(sample.schema, sample.columns, strict=True):
        if not pa.types.is_list(field.type):
            arrays.append(column.take(pa.array(np.arange(n_events) * n_merged)))
            fields.append(field)
            continue
        lists = grouped(column, N_TOGETHER)
        for copy in range(N_COPIES):
            arrays.append(lists.take(pa.array(np.arange(n_events) * N_COPIES + copy)))
            fields.append(field.with_name(f"{field.name}{copy}"))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def main() -> None:
    """Write the file."""
    directory, layout, n_entries = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    n_merged = N_COPIES * N_TOGETHER
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        path = f"{scratch}/sample.root"
        arguments = ["sample", "aod", path, "--entries", str(n_entries * n_merged), "--layout", "rntuple"]
        subprocess.run(
            [sys.executable, "-m", "arrowroot", *arguments, "--compression", "lz4"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with ar.open(path) as file, ar.create(directory / "events.root", reproducible=True) as out:
            tree = out.tree(TABLE, layout=layout)
            for start in range(0, n_entries, N_BATCH):
                entries = slice(start * n_merged, min(start + N_BATCH, n_entries) * n_merged)
                part = file.only_tree().to_arrow(entries=entries).combine_chunks()
                tree.append(event_batch(part.to_batches()[0]))


if __name__ == "__main__":
    main()
