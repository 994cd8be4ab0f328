"""Reads a real file event by event, and replays the same: ``arrowroot perf`` and ``replay`` as programs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from . import virtual
from .virtual import Line, Row


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
