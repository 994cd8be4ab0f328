"""Makes the file of the campaign ``cms-2010.toml``: ``cms_2010.py DIRECTORY PART``.

CMS's job of 2010 asked for 46 % of a file of 1,169 MiB in 63,143 baskets of 9 kB. PART of that: 217 of 470 columns
(``asked_*``) of numbers that do not compress, in baskets of 9 kB each; 29 clusters for a tenth.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import arrowroot as ar

N_COLUMNS, N_ASKED = 470, 217
#: Values of 4 bytes: 8,980 bytes in a basket.
ENTRIES_OF_CLUSTER = 2245
CLUSTERS = 290


def main(directory: Path, part: float) -> None:
    """Write the file."""
    generator = np.random.default_rng(1)
    asked = {int(place) for place in np.round(np.linspace(0, N_COLUMNS - 1, N_ASKED))}
    names = [f"{'asked' if place in asked else 'other'}_{place:03d}" for place in range(N_COLUMNS)]

    def cluster() -> pa.RecordBatch:
        bits = generator.integers(0, 1 << 32, (N_COLUMNS, ENTRIES_OF_CLUSTER), dtype=np.uint32)
        return pa.record_batch([pa.array(column) for column in bits], names=names)

    first = cluster()
    n_clusters = round(CLUSTERS * part)
    batches = (first if number == 0 else cluster() for number in range(n_clusters))
    reader = pa.RecordBatchReader.from_batches(first.schema, batches)
    ar.write(
        f"{directory}/cms.root:Events",
        reader,
        compression="none",
        flush=ENTRIES_OF_CLUSTER,
        basket_size="64 kB",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
