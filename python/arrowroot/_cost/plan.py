"""The plan of a scan, and the counters of what it read."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._render import html_table, printable
from arrowroot._sizes import compression_ratio, counted, format_bytes, format_count, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Counters that are a high-water mark or a setting: the largest of several scans one after the other.
_LARGEST = ("n_threads", "peak_buffer_bytes")
#: Counters of the delivered rows, which trees read side by side share.
_SHARED = ("n_entries",)
#: Counters that the engine does not have.
_OF_FILTERS = ("n_looked_at", "n_passed")
_N_SHOWN = 5


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


class Read(NamedTuple):
    """One physical read, as traced, with the entries of the baskets in it. Times in ns since the scan began.

    >>> scan = tree.scan(["MET_pt"], trace=True)
    >>> _ = scan.drain()
    >>> read = scan.trace()[0]
    >>> read.first_entry, read.end_entry
    (0, 100)
    """

    offset: int
    n_bytes: int
    first_entry: int
    #: One past the last.
    end_entry: int
    start_ns: int
    end_ns: int


class LogicalRead(NamedTuple):
    """One basket that the format needed, in the order of need. Times in ns; ``asked_ns`` since the scan began.

    >>> scan = tree.scan(["MET_pt"], trace=True)
    >>> _ = scan.drain()
    >>> scan.logical_reads()[0].column
    'MET_pt'
    """

    offset: int
    n_bytes: int
    first_entry: int
    column: str
    asked_ns: int
    #: Time to decompress and decode it.
    decode_ns: int


class PhysicalRead(NamedTuple):
    """One range that the store was asked for. The ranges of one vector read share the number of their request.

    >>> scan = tree.scan(["MET_pt"], trace=True)
    >>> _ = scan.drain()
    >>> scan.physical_reads()[0].operation
    'read'
    """

    operation: str
    request: int
    offset: int
    n_bytes: int
    start_ns: int
    end_ns: int


class Window(NamedTuple):
    """Baskets that are fetched together, to fit the memory budget.

    ``n_entries``: of those asked for, how many begin in it. ``ranges``: the physical reads in order,
    (offset, bytes) in ``file``.

        >>> window = tree.scan(["MET_pt"]).plan.windows[0]
        >>> window.n_entries, window.n_baskets
        (100, 1)
    """

    file: str
    first_entry: int
    n_entries: int
    n_baskets: int
    ranges: list[tuple[int, int]]

    @property
    def stored_bytes(self) -> int:
        """Bytes of its reads."""
        return sum(n_bytes for _, n_bytes in self.ranges)


@dataclass(frozen=True, repr=False)
class Plan:
    """The reads of a scan, known before the first of them.

    >>> plan = tree.scan(["MET_pt"]).plan
    >>> plan.n_entries, plan.n_baskets, plan.read_bytes >= plan.payload_bytes
    (100, 1, True)
    """

    columns: list[str]
    n_entries: int
    n_baskets: int
    n_reads: int
    payload_bytes: int
    read_bytes: int
    windows: list[Window]
    #: Decompressions among ``n_baskets`` that repeat an earlier one, because several batches need the basket and the
    #: memory budget has no room to keep it.
    n_repeated: int
    #: Largest gap between two ranges that are still read as one.
    max_gap_bytes: int
    #: The filter; None: there is none. The values of its columns decide what else is read; ``n_entries``
    #: is the number of entries that it looks at.
    filter: str | None = None
    #: Plan of the other columns if all entries were selected; None: there are none, or they are planned.
    at_most: Plan | None = None

    @classmethod
    def of_native(cls, plan: Mapping[str, Any], file: str) -> Plan:
        """Return the engine's plan for one tree of ``file``."""
        windows = [
            Window(file, w["first_entry"], w["n_entries"], w["n_baskets"], [(o, n) for o, n in w["ranges"]])
            for w in plan["windows"]
        ]
        counters = {name: plan[name] for name in _PLAN_COUNTERS}
        return cls(list(plan["columns"]), windows=windows, max_gap_bytes=plan["max_gap_bytes"], **counters)

    @classmethod
    def joined(cls, plans: Sequence[Plan], *, columns: list[str], n_entries: int) -> Plan:
        """Return the plan of a scan that consists of several, for ``columns`` by the names it delivers."""
        totals = {name: sum(getattr(plan, name) for plan in plans) for name in _PLAN_COUNTERS}
        totals["n_entries"] = n_entries
        windows = [window for plan in plans for window in plan.windows]
        max_gap_bytes = max((plan.max_gap_bytes for plan in plans), default=0)
        return cls(columns, windows=windows, max_gap_bytes=max_gap_bytes, **totals)

    @property
    def overhead_bytes(self) -> int:
        """Bytes fetched that the format does not ask for: gaps between coalesced ranges."""
        return self.read_bytes - self.payload_bytes

    @property
    def largest_read_bytes(self) -> int:
        """Size of the largest physical read."""
        return max((n_bytes for window in self.windows for _, n_bytes in window.ranges), default=0)

    @property
    def largest_window_bytes(self) -> int:
        """Size of the largest window, which must be in memory at once, compressed."""
        return max((sum(n for _, n in window.ranges) for window in self.windows), default=0)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as dicts, lists, text and integers.

        >>> tree.scan(["MET_pt"]).plan.to_dict()["n_entries"]
        100
        """
        document = {field.name: getattr(self, field.name) for field in fields(self)}
        at_most = self.at_most.to_dict() if self.at_most else None
        return document | {"windows": [window._asdict() for window in self.windows], "at_most": at_most}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the plan as JSON; ``indent``: as of ``json.dumps``.

        >>> tree.scan(["MET_pt"]).plan.to_json()[:12]
        '{"columns": '
        """
        import json

        return json.dumps(self.to_dict(), indent=indent)

    def _summary(self) -> list[str]:
        names = ", ".join(self.columns[:_N_SHOWN]) + (", ..." if len(self.columns) > _N_SHOWN else "")
        extra = 100 * (_ratio(self.overhead_bytes, self.read_bytes) or 0)
        of_filter = f", filter {self.filter}" if self.filter is not None else ""
        return [
            f"Plan: {counted(len(self.columns), 'column')} ({names}){of_filter}",
            f"  {counted(self.n_entries, 'entry', 'entries')}, {counted(self.n_baskets, 'basket')}",
            *self._repeated(),
            f"  {counted(self.n_reads, 'read')} of {format_bytes(self.read_bytes)}, Readextra {extra:.2f} %",
            f"  largest read {format_bytes(self.largest_read_bytes)}",
            f"  {counted(len(self.windows), 'window')}, largest {format_bytes(self.largest_window_bytes)}",
        ]

    def _then(self) -> list[str]:
        if self.at_most is None:
            return []
        most = f"{counted(self.at_most.n_baskets, 'basket')}, {format_bytes(self.at_most.payload_bytes)}"
        others = counted(len(self.at_most.columns), "other column")
        return [f"  then, of {others}, what has selected entries: at most {most}"]

    def __repr__(self) -> str:
        lines = [*self._summary(), *(f"    {_described(window)}" for window in self.windows[:_N_SHOWN])]
        if len(self.windows) > _N_SHOWN:
            lines.append(f"    ... {counted(len(self.windows) - _N_SHOWN, 'more window')}")
        return "\n".join(map(printable, [*lines, *self._then()]))

    def _repr_html_(self) -> str:
        rows = [["window from entry", "entries", "baskets", "reads", "stored"]]
        for window in self.windows[:_N_SHOWN]:
            numbers = (window.first_entry, window.n_entries, window.n_baskets, len(window.ranges))
            rows.append([*map(format_count, numbers), format_bytes(window.stored_bytes)])
        more = f" (the first {_N_SHOWN} shown)" if len(self.windows) > _N_SHOWN else ""
        caption = "; ".join(line.strip() for line in [*self._summary(), *self._then()]) + more
        return html_table(rows, caption=printable(caption))

    def _repeated(self) -> list[str]:
        if not self.n_repeated:
            return []
        again = f"{counted(self.n_repeated, 'time')} a basket is decompressed again: several batches need it,"
        return [f"  {again} and memory_budget has no room for all of these"]


def _described(window: Window) -> str:
    stored = format_bytes(window.stored_bytes)
    return (
        f"{counted(window.n_entries, 'entry', 'entries')} from {format_count(window.first_entry)}: "
        f"{counted(window.n_baskets, 'basket')}, {counted(len(window.ranges), 'read')}, {stored}"
    )


_PLAN_COUNTERS = ("n_entries", "n_baskets", "n_repeated", "n_reads", "payload_bytes", "read_bytes")


@cache
def _names_of_engine() -> tuple[str, ...]:
    """Return the names of the counters that the engine has."""
    return tuple(field.name for field in fields(ScanStats) if field.name not in _OF_FILTERS)


@dataclass(frozen=True)
class ScanStats:
    """Exact counters of one pass, so far. Times are sums over threads, in ns of what they name.

    payload: bytes the format asked for; read: bytes the storage was asked for; overhead: those of them that were not
    payload, or not for the first time (what a cache or the opening had was not read); stored: compressed baskets
    with their keys, memory: the same uncompressed; unzip: uncompressed baskets without keys; values: Arrow buffers
    delivered. One thread at a time gives baskets their places (place_ns, CPU time) or has the threads' lock (lock_ns).

        >>> stats = tree.scan(["MET_pt"]).drain()
        >>> stats.n_entries, stats.n_batches, stats.values_bytes
        (100, 1, 400)
    """

    read_calls: int = 0
    read_bytes: int = 0
    payload_bytes: int = 0
    overhead_bytes: int = 0
    read_ns: int = 0
    decoder_read_ns: int = 0
    unzip_bytes: int = 0
    stored_bytes: int = 0
    memory_bytes: int = 0
    decompress_ns: int = 0
    decode_ns: int = 0
    wait_ns: int = 0
    place_ns: int = 0
    lock_ns: int = 0
    n_baskets: int = 0
    n_entries: int = 0
    n_batches: int = 0
    values_bytes: int = 0
    n_threads: int = 0
    wall_ns: int = 0
    cpu_ns: int = 0
    peak_buffer_bytes: int = 0
    #: Entries that a filter looked at to select the delivered ones; 0 without a filter.
    n_looked_at: int = 0
    #: The part of these up to the last one that was delivered; all when the pass is over.
    n_passed: int = 0

    @classmethod
    def of_native(cls, stats: Mapping[str, int]) -> ScanStats:
        """Return the engine's counters."""
        return cls(**{name: stats[name] for name in _names_of_engine()})

    @classmethod
    def joined(cls, parts: Iterable[ScanStats], *, side_by_side: bool = False) -> ScanStats:
        """Return the counters of scans one after the other, or side by side over the same entries."""
        every = list(parts)
        largest = ("n_threads", *_SHARED) if side_by_side else _LARGEST
        return cls(
            **{
                field.name: (
                    max((getattr(part, field.name) for part in every), default=0)
                    if field.name in largest
                    else sum(getattr(part, field.name) for part in every)
                )
                for field in fields(cls)
            }
        )

    def __str__(self) -> str:
        """Return the counters that matter most, as text."""
        buffers = format_bytes(self.peak_buffer_bytes)
        spent = {
            "read": self.read_ns,
            "decompress": self.decompress_ns,
            "decode": self.decode_ns,
            "wait": self.wait_ns,
        }
        spent_text = ", ".join(f"{what} {format_seconds(ns / 1e9)}" for what, ns in spent.items())
        ratio = f", ratio {self.compression_ratio:.2f}" if self.compression_ratio else ""
        looked = f" of {self.n_looked_at:,} that the filter looked at" if self.n_looked_at else ""
        return (
            f"{counted(self.n_entries, 'entry', 'entries')}{looked} in {counted(self.n_batches, 'batch', 'batches')}, "
            f"{format_bytes(self.values_bytes)} of values\n"
            f"  {counted(self.read_calls, 'read')} of {format_bytes(self.read_bytes)}, "
            f"{format_bytes(self.overhead_bytes)} of them not needed\n"
            f"  {counted(self.n_baskets, 'basket')}, {format_bytes(self.stored_bytes)} stored, "
            f"{format_bytes(self.memory_bytes)} uncompressed{ratio}\n"
            f"  {format_seconds(self.wall_ns / 1e9)} on {counted(self.n_threads, 'thread')}: {spent_text}\n"
            f"  {format_seconds(self.cpu_ns / 1e9)} of CPU time, at most {buffers} of buffers"
        )

    def _repr_html_(self) -> str:
        first, *lines = (line.strip() for line in str(self).split("\n"))
        return html_table([[line] for line in lines], n_header=0, caption=first)

    @property
    def compression_ratio(self) -> float | None:
        """Uncompressed over compressed bytes of the baskets read, both with their keys, as ``ls`` has it."""
        return compression_ratio(self.memory_bytes, self.stored_bytes)
