"""The cost of writing a file: bytes, operations and times, layer by layer."""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._cost import accounts as _accounts
from arrowroot._cost.accounts import Account
from arrowroot._render import html_table
from arrowroot._sizes import format_bytes, format_count, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arrowroot import _native


class WritingCost(NamedTuple):
    """The cost of writing a file so far. Times in ns; those of threads are sums.

    >>> with ar.create("new.root") as new:
    ...     new["t"] = data
    >>> cost = new.cost()
    >>> cost.n_tables, cost.n_entries
    (1, 100)
    """

    wall_ns: int
    n_tables: int
    n_entries: int
    n_clusters: int
    #: Bytes of values before encoding and compression, and of baskets and pages in the file; of closed tables.
    memory_bytes: int
    stored_bytes: int
    #: Pieces of work that encode and compress, and the time of all threads in them.
    n_tasks: int
    compress_ns: int
    #: How often somebody waited for room, or for what was before; the time, the longest, and what went into helping.
    n_waits: int
    wait_ns: int
    longest_wait_ns: int
    help_ns: int
    #: The most memory at one time for what was collected, compressed or waiting to be written.
    peak_buffer_bytes: int
    #: How often compression fell behind for longer than it should, and how long.
    n_growths: int
    growth_ns: int
    #: Most memory of the process so far.
    peak_rss_bytes: int
    #: The account of each layer: tables, compress, queue and store.
    accounts: list[Account]

    def _repr_html_(self) -> str:
        rows = [
            [name.removesuffix("_ns").replace("_", " "), _written(name, value)]
            for name, value in zip(self._fields, self, strict=True)
            if isinstance(value, int)
        ]
        return html_table(rows, n_header=0, caption="cost of writing")

    @classmethod
    def of_native(
        cls, file: _native.FileWriter, tables: Iterable[Mapping[str, int]], wall_ns: int
    ) -> WritingCost:
        """Return the cost of a file of the engine; ``tables``: what its closed tables said."""
        queue: Mapping[str, int] = file.queue()
        closed = list(tables)
        sums = {
            name: sum(table[name] for table in closed)
            for name in ("n_entries", "memory_bytes", "stored_bytes")
        }
        return cls(
            wall_ns,
            len(closed),
            sums["n_entries"],
            queue["n_clusters"],
            sums["memory_bytes"],
            sums["stored_bytes"],
            queue["n_tasks"],
            queue["task_ns"],
            queue["n_waits"],
            queue["wait_ns"],
            queue["longest_wait_ns"],
            queue["help_ns"],
            queue["peak_bytes"],
            queue["n_growths"],
            queue["growth_ns"],
            most_rss_bytes(),
            _accounts_of(file, queue, sums),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return self._asdict() | {"accounts": [account._asdict() for account in self.accounts]}


def _accounts_of(
    file: _native.FileWriter, queue: Mapping[str, int], sums: Mapping[str, int]
) -> list[Account]:
    """Return the layers of writing, from the tables to the store; extremes are known of some alone."""
    contexts = file.contexts()
    filled = [report["times_ns"]["writing"] for report in contexts]
    n_fills = sum(report["n_fills"] for report in contexts)
    waits, tasks = queue["n_waits"], queue["n_tasks"]
    rows = [
        Account(
            "tables", "fill", n_fills, n_fills, sums["memory_bytes"] if n_fills else 0, sum(filled), 0, 0
        ),
        Account("compress", "compress", tasks, tasks, sums["stored_bytes"], queue["task_ns"], 0, 0),
        Account("queue", "wait", waits, waits, 0, queue["wait_ns"], 0, queue["longest_wait_ns"]),
    ]
    return [row for row in rows if row.n_attempted] + _accounts.of_native(file.ledgers())


def most_rss_bytes() -> int:
    """Return the most memory that the process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _written(name: str, value: int) -> str:
    if name.endswith("_ns"):
        return format_seconds(value / 1e9)
    return format_bytes(value) if name.endswith("_bytes") else format_count(value)
