"""Files to read remotely: many branches, several clusters, each codec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

TREE = "Events"
N_ENTRIES, N_PER_CLUSTER, N_BRANCHES = 20_000, 4_000, 100
#: The values are such that each of them finds something to do.
CODECS = ("zstd", "lz4", "zlib", "lzma", "none")


def write(path: Path, *, codec: str = "zstd", n_branches: int = N_BRANCHES, seed: int = 1) -> None:
    """Write a tree of ``n_branches`` flat branches, half of them floats, and one of lists."""
    import awkward as ak
    import uproot

    compression = {
        "zstd": uproot.ZSTD(3), "lz4": uproot.LZ4(1), "zlib": uproot.ZLIB(1), "lzma": uproot.LZMA(1), "none": None,
    }[codec]  # fmt: skip
    rng = np.random.default_rng(seed)
    names = {f"x{k:03}": np.dtype("f4" if k % 2 else "i4") for k in range(n_branches)}
    with uproot.recreate(path, compression=compression) as file:
        tree = file.mktree(TREE, {**names, "lists": "var * float32"})
        for _ in range(0, N_ENTRIES, N_PER_CLUSTER):
            columns: dict[str, Any] = {
                name: rng.integers(0, 1000, N_PER_CLUSTER).astype(type_) for name, type_ in names.items()
            }
            counts = np.arange(N_PER_CLUSTER) % 4
            # What a codec cannot make smaller is stored as it is, and has no checksum.
            items = rng.integers(0, 1000, int(counts.sum())).astype(np.float32)
            columns["lists"] = ak.unflatten(items, counts)
            tree.extend(columns)


#: What analyses read, as arguments of ``to_arrow``: all, 2% of the columns, 1% of the entries.
def reads(n_branches: int = N_BRANCHES) -> dict[str, dict[str, Any]]:
    """Return the arguments by name."""
    rng = np.random.default_rng(3)
    picked = np.sort(rng.choice(N_ENTRIES, N_ENTRIES // 100, replace=False))
    return {
        "all": {},
        "columns": {"columns": ["x007", f"x{n_branches // 2:03}"]},
        "entries": {"columns": ["x001", "x002", "x003", "lists"], "entries": picked},
    }
