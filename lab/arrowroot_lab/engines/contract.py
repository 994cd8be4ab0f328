"""The process line: what a runner is asked and answers. docs/lab/runners.md is its specification.

A runner is a command. Its first argument after the command is a verb, it gets one JSON object on stdin and
prints one, as the last line that begins with ``{``. It is started anew for each sample.

- ``identify``: nothing is asked; ``{name, versions: {...}, can: [...]}`` is answered.
- ``run``: a job is asked; times, counters and, if it wants, checksums are answered.
- ``predict``: a job is asked, with the figures of the line; what ``run`` would answer is, with ``error``, a share.
"""

from __future__ import annotations

from typing import Any, TypedDict

CONTRACT = 1


class Job(TypedDict, total=False):
    """What a runner is asked."""

    contract: int
    #: One for each file: a path, or a URL.
    urls: list[str]
    table: str
    kind: str  # "read", "write", "program"
    #: Names, all of which are there; None: all.
    columns: list[str] | None
    #: The path of a file with sorted entry numbers, one on a line; None: all.
    entries: str | None
    #: Only this part of the entries, [begin, end); None: all. Of several workers each gets its own.
    entry_range: list[int] | None
    order: str  # "cluster" or "entry"
    work_ns_per_entry: int
    threads: int
    strategy: str
    cache_bytes: int | None
    options: dict[str, Any]
    #: Compute the checksum of each column, outside of the timed part.
    wants_checksum: bool
    #: Write the trace of the reads there; None: none.
    trace: str | None
    #: A tiny file to read before the clock starts; None: none.
    warm_up: str | None
    #: Of "write".
    out: str
    settings: dict[str, Any]
    #: Of "predict": figures of the storage: latency_ns, bytes_per_s, n_streams, disk_read_ahead_bytes.
    line: dict[str, float]


class Answer(TypedDict, total=False):
    """What a runner answers. Times and ``n_entries`` are there unless it has failed."""

    wall_ns: int  # from before the open until the last entry
    cpu_ns: int  # user and system, all threads, in the same time
    open_ns: int
    first_entry_ns: int
    n_entries: int
    values_bytes: int
    peak_rss_bytes: int
    #: layer -> metric -> count: "application" and "store" have n_reads, n_bytes, n_vector_reads, wait_ns, ...
    counters: dict[str, dict[str, int]]
    #: column -> {n, sum, order}: bench/README.md, "Checksum".
    checksum: dict[str, dict[str, Any]]
    #: Reports for people: perf's or PerfStats' figures.
    details: dict[str, Any]
    #: Of "predict": the share by which it may be wrong, and what predicted: "replay", "model".
    error_share: float
    by: str
    #: Of "identify".
    name: str
    versions: dict[str, str]
    can: list[str]
    #: Instead of all that, with the reason.
    error: str
    unsupported: str
    refused: str
