"""Tables that ``against_worker.py`` writes, made from seeds, alike for both commits, and the way that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import arrowroot as ar
from bench.paths import CACHE
from campaigns.writing import data

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 1
#: Entries of the texts; of each of the small appends, and how many of these go into each table.
N_TEXTS, N_SMALL, N_TIMES = 24_000, 20, 60


def columns(shape: str, n_columns: int, payload_bytes: int) -> pa.Table:
    """Columns as the campaign ``writing`` has them; they are made once."""
    directory = CACHE / "write" / f"{shape}-{n_columns}-{payload_bytes}-{SEED}"
    directory.parent.mkdir(parents=True, exist_ok=True)
    is_made = (directory / "columns.json").exists()
    return data.as_table(
        data.known(directory) if is_made else data.make(directory, shape, n_columns, payload_bytes, SEED)
    )


def flat() -> pa.Table:
    """100 columns of numbers, 8,000 entries."""
    return columns("flat", 100, 3_200_000)


def nano() -> pa.Table:
    """400 columns of lists in 40 collections, 200 of numbers and 100 of bits; 800 entries."""
    lists, scalars = columns("jagged", 400, 3_840_000), columns("flat", 300, 960_000)
    found = dict(zip(scalars.column_names, scalars.columns, strict=True))
    for name in scalars.column_names[::3]:
        found[f"HLT_{name}"] = pc.greater(found.pop(name), 4)
    return pa.table({**found, **dict(zip(lists.column_names, lists.columns, strict=True))})


def texts() -> pa.Table:
    """Texts: some that are missing, a dictionary, and lists of them."""
    random = np.random.default_rng(SEED)
    words = np.array([f"{word:x}" * (1 + word % 5) for word in random.integers(0, 1 << 20, 2_000)])
    found: dict[str, pa.Array] = {f"plain_{k}": pa.array(random.choice(words, N_TEXTS)) for k in range(4)}
    found["missing"] = pa.array(random.choice(words, N_TEXTS), mask=random.random(N_TEXTS) < 0.1)
    found["dictionary"] = pa.array(random.choice(words[:40], N_TEXTS)).dictionary_encode()
    ends = np.concatenate([[0], np.cumsum(random.poisson(2.0, N_TEXTS))]).astype(np.int32)
    found["lists"] = pa.ListArray.from_arrays(ends, pa.array(random.choice(words, int(ends[-1]))))
    return pa.table(found)


def write_flat(path: str, table: pa.Table) -> None:
    """Write a table whose chunks are 500 entries: each is a batch."""
    chunks = pa.Table.from_batches(table.to_batches(max_chunksize=500))
    ar.write(f"{path}:T", chunks, compression="zstd:5", n_threads=1)


def write_nano(path: str, table: pa.Table) -> None:
    """Write a stream of batches as an RNTuple."""
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=100))
    ar.write(f"{path}:Events", stream, layout="rntuple", compression="lz4", n_threads=1)


def write_texts(path: str, table: pa.Table) -> None:
    """Append batches of 500 entries."""
    with ar.create(path, compression="zlib:1", n_threads=1) as file, file.tree("T", table.schema) as tree:
        for batch in table.to_batches(max_chunksize=500):
            tree.append(batch)


def write_small(path: str, table: pa.Table) -> None:
    """Append dictionaries of NumPy's arrays to one tree, and fill another with batches through a context."""
    arrays = {name: table.column(name).to_numpy()[:N_SMALL] for name in table.column_names}
    batch = table.slice(0, N_SMALL).to_batches()[0]
    with ar.create(path, compression=None, n_threads=1) as file:
        with file.tree("appended") as tree:
            for _ in range(N_TIMES):
                tree.append(arrays)
        with file.tree("filled") as tree, tree.context() as context:
            for _ in range(N_TIMES):
                context.fill(batch)


#: By name: what makes the table, once, and what writes it to a path, each time.
WRITERS: dict[str, tuple[Callable[[], pa.Table], Callable[[str, pa.Table], None]]] = {
    "flat": (flat, write_flat),
    "nano": (nano, write_nano),
    "texts": (texts, write_texts),
    "small": (flat, write_small),
}
