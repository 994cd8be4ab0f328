"""Chains of operations drawn by seed: what comes out is the same done in Arrow."""

from __future__ import annotations

import os
import random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arrowroot as ar
from tests.judge import root

from . import chains_with_root as with_root

#: 500 with ARROWROOT_SOAK=1 (make soak-merge).
N_CHAINS = 500 if os.environ.get("ARROWROOT_SOAK") else 20
CODECS = (None, "zlib:1", "lz4:4", "zstd:5", "lzma:1")

#: Nothing is missing in any column.
SCHEMA = pa.schema(
    [
        pa.field("i", pa.int64(), nullable=False),
        pa.field("x", pa.float32(), nullable=False),
        pa.field("list", pa.list_(pa.field("item", pa.int16(), nullable=False)), nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)


class Chain:
    """Files, and what each of them has."""

    def __init__(self, seed, directory):
        self.draw = random.Random(seed)
        self.directory = directory
        self.is_tree = self.draw.random() < 0.6
        self.files = []
        self.n_files = 0

    def path(self):
        self.n_files += 1
        return self.directory / f"{self.n_files}.root"

    def write(self):
        n = self.draw.choice((0, 1, 7, 300, 3000))
        rng = np.random.default_rng(self.draw.randrange(2**31))
        lengths = rng.integers(0, 5, n)
        columns = [
            pa.array(rng.integers(0, 1000, n)),
            pa.array(rng.random(n, dtype=np.float32)),
            pa.array([list(range(length)) for length in lengths], SCHEMA.field("list").type),
            pa.array([str(length) * length for length in lengths], pa.string()),
        ]
        table = pa.table(columns, schema=SCHEMA)
        path = self.path()
        layout = "ttree" if self.is_tree else "rntuple"
        flush = self.draw.choice((50, 100_000))
        ar.write(f"{path}:t", table, layout=layout, compression=self.draw.choice(CODECS), flush=flush)
        self.files.append((path, table))

    def merge(self):
        n = self.draw.randint(1, len(self.files))
        chosen = [self.files.pop(self.draw.randrange(len(self.files))) for _ in range(n)]
        path = self.path()
        ar.merge(path, [file for file, _ in chosen], rebasket=self.is_tree and self.draw.random() < 0.5)
        self.files.append((path, pa.concat_tables(table for _, table in chosen)))

    def skim(self):
        file, table = self.files.pop(self.draw.randrange(len(self.files)))
        path, limit = self.path(), self.draw.randrange(1000)
        ar.skim(f"{file}:t", path, filter=f"i < {limit}")
        self.files.append((path, table.filter(pc.less(table["i"], limit))))

    def update(self):
        index = self.draw.randrange(len(self.files))
        path, table = self.files[index]
        kind = self.draw.choice(("half", "again", "beside")) if self.is_tree else "beside"
        root.run(with_root.update, self.directory, path.name, kind)
        if kind == "half":
            even = pc.equal(pc.bit_wise_and(table["i"], 1), 0)
            self.files[index] = (path, table.filter(even))


@pytest.mark.parametrize("seed", range(N_CHAINS))
def test_a_chain_of_operations_gives_what_arrow_gives(seed, tmp_path):
    chain = Chain(seed, tmp_path)
    for _ in range(chain.draw.randint(2, 5)):
        chain.write()
    for _ in range(chain.draw.randint(2, 5)):
        chain.draw.choice((chain.merge, chain.merge, chain.skim, chain.update))()
    while len(chain.files) > 1 or chain.n_files < 2:
        chain.merge()
    path, expected = chain.files[0]
    with ar.open(path) as file:
        read = file["t"].to_arrow()
    assert read.select(expected.column_names).combine_chunks().equals(expected.combine_chunks())
