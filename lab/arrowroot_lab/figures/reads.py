"""The picture of tree statistics: offset in the file, and time, against the entry that was being read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.mining.table import Column, ResultTable

from .figure import Figure, drawn
from .frame import Frame, axis_title, draw_x_axis, label_room
from .scale import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .drawing import Drawing

_N_BINS = 20
_TALL, _LOW = 220.0, 110.0
#: Reads closer than this, in pixels, are one in the picture.
_GRAIN = 0.5


@dataclass(frozen=True)
class Read:
    """One read of a file."""

    #: The entry that was being read; reads of metadata before the first one are of entry 0.
    entry: int
    offset: int
    n_bytes: int
    #: Since the file was opened.
    end_ns: int


def offsets(
    title: str,
    caption: str,
    reads: Sequence[Read],
    *,
    file_bytes: int,
    n_entries: int,
    numbers: ResultTable | None = None,
) -> Figure:
    """Return two plots over the entries: where in the file was read, and how much time had gone.

    A file that is read once from begin to end is a diagonal; a zigzag is a layout that does not suit the order. The
    table has the reads in 20 ranges of entries, unless ``numbers`` is another one: of reads that are too many to be
    kept ``reads`` has what is seen of them.
    """
    n_entries = max([n_entries, 1, *(read.entry + 1 for read in reads)])
    file_bytes = max([file_bytes, 1, *(read.offset + read.n_bytes for read in reads)])
    table = _binned(title, reads, n_entries) if numbers is None else numbers

    def draw(drawing: Drawing, is_narrow: bool) -> float:
        top = 30.0
        end_ns = max((read.end_ns for read in reads), default=1) or 1
        offset = Scale(0, file_bytes, top + _TALL, top, "bytes")
        clock = Scale(0, end_ns, top + _TALL + 46 + _LOW, top + _TALL + 46, "time")
        left = max(label_room(offset, 5), label_room(clock, 3)) + 12
        x = Scale(0, n_entries, left, drawing.width - 12, "count")
        upper, lower = Frame(x, offset), Frame(x, clock)
        for frame, words, n_ticks in ((upper, "Offset in the file", 5), (lower, "Time since the open", 3)):
            for tick in frame.y.ticks(n_ticks):
                y = frame.y(tick.value)
                drawing.line(frame.left, y, frame.right, y, "grid")
                drawing.text(frame.left - 6, y + 4, tick.text, anchor="end", look="muted")
            drawing.text(2, frame.top - 14, axis_title(words, frame.y), look="muted", width=drawing.width - 4)
        drawing.line(upper.left, upper.bottom, upper.right, upper.bottom, "axis")
        drawing.path(_marks(upper, reads), "reads")
        used = draw_x_axis(drawing, lower, "Entry", 4 if is_narrow else 8)
        steps = {}
        for read in sorted(reads, key=lambda read: read.end_ns):
            steps[round(x(read.entry) / _GRAIN)] = lower.y(read.end_ns)
        if len(steps) > 1:
            drawing.polyline([(place * _GRAIN, y) for place, y in sorted(steps.items())], "curve s1")
        elif steps:
            drawing.marker(*next((place * _GRAIN, y) for place, y in steps.items()), 1)
        return used

    return drawn(title, caption, table, draw)


def _marks(frame: Frame, reads: Sequence[Read]) -> str:
    """One upright stroke for each read, from its first byte to its last; those on the same pixels are one."""
    seen: dict[tuple[int, int], int] = {}
    for read in reads:
        begin = round(frame.y(read.offset) / _GRAIN)
        end = min(round(frame.y(read.offset + read.n_bytes) / _GRAIN), begin - 1)
        key = (round(frame.x(read.entry) / _GRAIN), begin)
        seen[key] = min(seen.get(key, begin), end)
    parts = [
        f"M{x * _GRAIN:g} {begin * _GRAIN:g}V{end * _GRAIN:g}" for (x, begin), end in sorted(seen.items())
    ]
    return "".join(parts) or "M0 0"


def _binned(title: str, reads: Sequence[Read], n_entries: int) -> ResultTable:
    n_bins = min(_N_BINS, n_entries)
    bins: list[list[Read]] = [[] for _ in range(n_bins)]
    for read in reads:
        bins[read.entry * n_bins // n_entries].append(read)
    rows = []
    for place, members in enumerate(bins):
        begin, end = -(-place * n_entries // n_bins), -(-(place + 1) * n_entries // n_bins)
        rows.append(
            (
                begin,
                end,
                len(members),
                sum(read.n_bytes for read in members),
                min((read.offset for read in members), default=None),
                max((read.offset + read.n_bytes for read in members), default=None),
                max((read.end_ns for read in members), default=None),
            )
        )
    columns = (
        Column("entry_begin", "From entry", "count"),
        Column("entry_end", "To entry", "count"),
        Column("n_reads", "Reads", "count"),
        Column("n_bytes", "Bytes", "bytes"),
        Column("first_offset_bytes", "First byte", "bytes"),
        Column("last_offset_bytes", "Last byte", "bytes"),
        Column("end_ns", "Time at the end", "time"),
    )
    return ResultTable(title, columns, tuple(rows))
