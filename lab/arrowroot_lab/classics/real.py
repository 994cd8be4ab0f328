"""What is done for real: a file that is read event by event and replayed, and the counts of campaigns."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.store import Filter

from . import virtual
from .virtual import Line, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from arrowroot_lab.documents import Result, Sample
    from arrowroot_lab.store import Store, Summary


def read_and_replayed(url: str, strategy: str, sizes: tuple[int, ...]) -> list[Row]:
    """Return a row for each size of the strategy's cache: reads and bytes of the store, for real and replayed.

    url: of a file and, behind a colon, its tree; it is local, as only counts and bytes are kept of it.

    Raises: RunnerError with what the program said.
    """
    with tempfile.TemporaryDirectory(prefix="arrowroot-lab-") as directory:
        trace = Path(directory) / "reads.arrow"
        perf = ["perf", url, "--order", "entry", "--threads", "1", "--json"]
        virtual.arrowroot([*perf, "--strategy", "direct", "--trace", str(trace)])
        replayed = virtual.sweep(trace, Line(1_000_000, 100e6), strategy, sizes)
        rows = []
        for size, predicted in zip(sizes, replayed, strict=True):
            told = virtual.arrowroot([*perf, "--strategy", strategy, "--cache-size", str(size)])
            reads = [
                account
                for account in told["accounts"]["scan"]
                if account["layer"] == "store" and account["operation"] in ("read", "readv")
            ]
            rows.append(
                {
                    "study": "real",
                    "cache_bytes": size,
                    "n_requests": sum(int(account["n_successful"]) for account in reads),
                    "read_bytes": sum(int(account["bytes"]) for account in reads),
                    "replayed_requests": predicted["n_requests"],
                    "replayed_bytes": predicted["read_bytes"],
                    "payload_bytes": predicted["payload_bytes"],
                }
            )
        return rows


def counts_of(samples: Sequence[Sample]) -> Row:
    """Return the requests, vector reads among them, and the bytes: the low medians of the samples."""
    told = [sample.counters.get("store", {}) for sample in samples]
    return {
        "n_requests": statistics.median_low(
            one.get("n_reads", 0) + one.get("n_vector_reads", 0) for one in told
        ),
        "read_bytes": statistics.median_low(one.get("n_bytes", 0) for one in told),
    }


def newest(store: Store, campaign: str, *, of_each_version: bool = False) -> Iterator[tuple[Summary, Result]]:
    """Yield the newest results of a campaign's cases that succeeded."""
    which = Filter(newest=not of_each_version, newest_versions=of_each_version)
    found = store.summaries(replace(which, campaign=(campaign,), outcome=("ok",)))
    yield from zip(found, store.of(one.uuid for one in found), strict=True)


def in_order(rows: Iterable[Row], *keys: str) -> list[Row]:
    """Return rows in the order of the texts that they have of keys."""
    return sorted(rows, key=lambda row: [str(row[key]) for key in keys])
