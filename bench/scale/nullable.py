"""Reading nullable columns of an RNTuple by one thread, in times of the CPU time of columns that are not nullable.

    python -m bench.scale.nullable --entries 2e6

Each kind with no null and with a tenth of nulls, by two codecs; medians of the repeats, the cases in turns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import arrowroot as ar
from bench.paths import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Sequence

CODECS = ("zstd:1", "lz4:1")


def kinds(n: int) -> dict[str, pa.Array]:
    """Return an array of each kind, without nulls."""
    rng = np.random.default_rng(7)
    floats = pa.array(np.round(rng.normal(40, 15, n), 2).astype("f4"))
    ends = np.concatenate([[0], np.cumsum(rng.poisson(3, n // 3))]).astype("i4")
    items = pa.array(np.round(rng.exponential(30, int(ends[-1])), 2).astype("f4"))
    words = pa.array([f"word {k}" for k in range(1000)])
    record = pa.StructArray.from_arrays([items, items.slice(0)], ["pt", "eta"])
    return {
        "float": floats,
        "int64": pa.array(rng.integers(0, 10**6, n)),
        "bool": pa.array(rng.integers(0, 2, n).astype(bool)),
        "text": words.take(pa.array(rng.integers(0, 1000, n // 4))),
        "list": pa.ListArray.from_arrays(ends, items),
        "list of texts": pa.ListArray.from_arrays(
            ends, words.take(pa.array(rng.integers(0, 1000, int(ends[-1]))))
        ),
        "record": pa.StructArray.from_arrays([floats, floats], ["x", "y"]),
        "list of records": pa.ListArray.from_arrays(ends, record),
    }


def typed(kind: pa.DataType, *, is_nullable: bool) -> pa.DataType:
    """Return a type all of whose parts may be null, or none."""
    if pa.types.is_list(kind):
        return pa.list_(
            pa.field("item", typed(kind.value_type, is_nullable=is_nullable), nullable=is_nullable)
        )
    if pa.types.is_struct(kind):
        parts = [(f.name, typed(f.type, is_nullable=is_nullable)) for f in kind]
        return pa.struct([pa.field(name, part, nullable=is_nullable) for name, part in parts])
    return kind


def write(path: str, values: pa.Array, codec: str, *, is_nullable: bool) -> None:
    """Write one column."""
    field = pa.field("v", typed(values.type, is_nullable=is_nullable), nullable=is_nullable)
    with ar.create(path, compression=codec) as file:
        file.tree("E", pa.schema([field]), layout="rntuple").append(
            pa.table([values.cast(field.type)], pa.schema([field]))
        )


def cpu_of(path: str) -> float:
    """Read a file and return the CPU seconds."""
    begin = time.process_time()
    with ar.open(path) as file:
        file["E"].scan(n_threads=1).drain()
    return time.process_time() - begin


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=float, default=2e6)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args(arguments)
    print(f"{'':16} {'codec':7} not nullable  no nulls  a tenth")
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as directory:
        for name, values in kinds(int(given.entries)).items():
            missing = pa.array(np.random.default_rng(1).random(len(values)) < 0.1)
            some = pc.if_else(missing, pa.scalar(None, values.type), values)
            for codec in CODECS:
                paths = [f"{directory}/{case}.root" for case in range(3)]
                for path, (column, is_nullable) in zip(
                    paths, ((values, False), (values, True), (some, True)), strict=True
                ):
                    write(path, column, codec, is_nullable=is_nullable)
                times = [[cpu_of(path) for path in paths] for _ in range(given.repeat)]
                sure, full, holed = (statistics.median(column) for column in zip(*times, strict=True))
                ratios = f"{full / sure:8.2f}  {holed / sure:7.2f}"
                print(f"{name:16} {codec:7} {sure * 1e3:9.1f} ms  {ratios}", flush=True)


if __name__ == "__main__":
    main()
