"""uproot as a writer: one JSON object in, one out (../README.md, "The process line").

It makes one basket, or one cluster, for each call of ``extend``: entries are given to it in parts of 30 MB, as ROOT's
own clusters are.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

from bench.stopwatch import least
from bench.write import data

PART_BYTES = 30_000_000
CODECS = {1: uproot.ZLIB, 2: uproot.LZMA, 4: uproot.LZ4, 5: uproot.ZSTD}
#: uproot hands its level to the library as it is; ROOT's level of ZSTD is half of the library's.
LIBRARY_LEVELS = {5: 2}
#: LZ4 of this level and above is its HC variant in ROOT; uproot has the fast one at every level.
LZ4_HC = range(404, 500)


def columns_of(job: dict[str, Any]) -> dict[str, Any]:
    """NumPy arrays, and Awkward arrays of lists: those of one counter as one record, so that it is one counter."""
    found: dict[str, Any] = {}
    collections: dict[str, dict[str, Any]] = {}
    for column, values, ends in data.arrays(job):
        if ends is None:
            found[column["name"]] = values
            continue
        lists = ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(ends), ak.contents.NumpyArray(values)))
        if job["format"] == "rntuple":
            found[column["name"]] = lists
        else:
            prefix = column["counter"][1:]
            collections.setdefault(prefix, {})[column["name"].removeprefix(f"{prefix}_")] = lists
    return found | {name: ak.zip(members) for name, members in collections.items()}


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    number = job["compression"]
    if number in LZ4_HC:
        print(json.dumps({"unsupported": "LZ4 HC"}))
        return
    columns = columns_of(job)
    kind, level = divmod(number, 100)
    codec = CODECS[kind](level * LIBRARY_LEVELS.get(kind, 1)) if number else None
    n_entries = job["n_entries"]
    step = max(1, int(n_entries * PART_BYTES / job["payload_bytes"]))
    make = "mkrntuple" if job["format"] == "rntuple" else "mktree"
    warm = f"{job['out']}.warm"
    with uproot.recreate(warm) as file:
        getattr(file, make)("T", {"x": np.arange(3.0)})
    Path(warm).unlink()

    def write() -> None:
        with uproot.recreate(job["out"], compression=codec) as file:
            first = {name: column[:step] for name, column in columns.items()}
            table = getattr(file, make)("T", first)
            for begin in range(step, n_entries, step):
                table.extend({name: column[begin : begin + step] for name, column in columns.items()})

    answer: dict[str, Any] = least(job["repetitions"], write)
    answer |= {
        "n_entries": n_entries,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
