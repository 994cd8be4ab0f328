"""The process line: what a runner is asked and answers. docs/lab/runners.md is its specification.

A runner is a command. Its first argument after the command is a verb, it gets one JSON object on stdin and
prints one, as the last line that begins with ``{``. It is started anew for each sample.

- ``identify``: nothing is asked; ``{name, versions: {...}, can: [...]}`` is answered.
- ``run``: a job is asked; times, counters and, if it wants, checksums are answered.
- ``predict``: a job is asked, with the figures of the line; what ``run`` would answer is, with ``error_share``.
"""

from __future__ import annotations

from typing import Any, TypedDict

CONTRACT = 1

#: The words for what a runner can do, with their meaning; ``strategy:NAME`` is said for each, ``strategy:*`` for all.
CAN = {
    "read": "reads columns",
    "write": "copies columns to a file of its own",
    "program": "runs a command",
    "predict": "says what a run would take",
    "entries": "reads a list of entries",
    "entry_range": "reads a part of the entries: one of several workers",
    "order:entry": "reads one entry after the other",
    "work": "burns CPU time for each entry",
    "threads": "uses several threads",
    "cache_bytes": "has a cache whose size is chosen",
    "connections": "keeps to a number of connections",
    "checksum": "tells checksums",
    "trace": "writes a trace of its reads",
    "strategy:*": "fetches by whatever strategy",
}


class Job(TypedDict, total=False):
    """A job that a runner is asked to do."""

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
    #: To each server at most; left out: as many as the engine likes.
    connections: int
    options: dict[str, Any]
    #: Compute the checksum of each column; the times of such an answer are not counted.
    wants_checksum: bool
    #: Write the trace of the reads there; None: none.
    trace: str | None
    #: A tiny file to read before the clock starts; None: none.
    warm_up: str | None
    #: Several workers each make the file ``ready`` when ready, then open the FIFO ``go`` for reading, which waits.
    barrier: dict[str, str]
    #: The command of "program", with ``{url}``, ``{urls}``, ``{table}``, ``{report}``, ``{threads}``, ``{entries}``.
    command: list[str]
    #: Whence the statistics of "program" come: "fjr", "trace" (both written to ``{report}``), "json" (printed), "proc".
    report: str
    #: The file of "write": columns and entries of ``urls`` are copied there.
    out: str
    settings: dict[str, Any]
    #: Figures of the storage for "predict": latency_ns, bytes_per_s, n_streams, n_open_requests, disk_read_ahead_bytes.
    #: ``trace`` is then one that ``run`` wrote; without one the runner reads ``urls`` to make it.
    line: dict[str, float]
    #: The scheme of the URLs that "predict" is for, as ``root``; those of a trace may be local.
    scheme: str


class Answer(TypedDict, total=False):
    """The answer of a runner. Times and ``n_entries`` (of "program" if known) are there unless it has failed."""

    wall_ns: int  # from before the open until the last entry
    cpu_ns: int  # user and system, all threads, in the same time
    open_ns: int
    first_entry_ns: int
    n_entries: int
    values_bytes: int
    peak_rss_bytes: int
    peak_virtual_bytes: int
    queued_ns: int  # a thread waited so long for a processor: the most of any thread, within wall_ns
    #: layer -> metric -> count: "application" and "store" have n_reads, n_bytes, n_vector_reads, busy_ns, ...
    counters: dict[str, dict[str, int]]
    #: column -> {n, sum, order}: campaigns/METHODOLOGY.md, "Checksum".
    checksum: dict[str, dict[str, Any]]
    #: Reports for people: perf's or PerfStats' figures.
    details: dict[str, Any]
    #: The share by which "predict" may be wrong, and what predicted: "replay", "model".
    error_share: float
    by: str
    #: These three are the answer to "identify".
    name: str
    versions: dict[str, str]
    #: See CAN.
    can: list[str]
    #: Instead of all that, with the reason.
    error: str
    unsupported: str
    refused: str
