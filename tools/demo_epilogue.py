"""Say what `make demo` measured, in three figures, where its picture and its pages are, and what to try next.

usage: demo_epilogue.py SAMPLE PICTURE PAGE DATABASE
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from arrowroot_lab.quantities import time_text
from arrowroot_lab.store import Filter, Store

FAR = "20 ms, simulated"


def wall(store: Store, dataset: str, storage: str, strategy: str) -> tuple[str, bool]:
    """Return the median time of a case of the quick campaign, and if the machine was its own meanwhile."""
    case = Filter(dataset=(dataset,), storage=(storage,), strategy=(strategy,), newest=True)
    samples = [one for result in store.results(case) for one in result.samples if one.wall_ns is not None]
    if not samples:
        sys.exit(f"demo: {store.place} has no time of {dataset} / {storage} / {strategy}")
    counted = [one for one in samples if one.is_counted()]
    return time_text(statistics.median(one.wall_ns or 0 for one in counted or samples)), bool(counted)


def main(sample: Path, picture: Path, page: Path, database: Path) -> None:
    """Say it all."""
    for made in (picture, page, database):
        if not made.is_file() or made.stat().st_size == 0:
            sys.exit(f"demo: nothing was written to {made}")
    with Store.open(database) as store:
        (tree, is_alone), (ntuple, is_still_alone) = (
            wall(store, dataset, "local", "auto") for dataset in ("tree", "rntuple")
        )
        (planned, _), (each, _) = (wall(store, "tree", FAR, strategy) for strategy in ("auto", "direct"))
    busy = "" if is_alone and is_still_alone else " while other programs ran"
    print(f"""
Measured{busy}, of 6 MB of events with 941 columns:
  {tree:>8}  all columns of a TTree
  {ntuple:>8}  all columns of an RNTuple
  {planned:>8}  10 columns of the TTree, 20 ms away; {each} with a request a basket

The picture of one reading:  {picture}
The pages of the laboratory: {page}

What to try next:
  .venv/bin/arrowroot {sample}
  .venv/bin/arrowroot head {sample}
  .venv/bin/arrowroot lab show --db {database}
and in .venv/bin/python:
  import arrowroot as ar
  ar.open("{sample}")["Events"].to_arrow(["nMuon", "Muon_pt"])""")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
