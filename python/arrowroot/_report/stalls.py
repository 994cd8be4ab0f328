"""Stalls of a job, read from what it left: our own JSON, and CMSSW's StallMonitor and Tracer.

Source: ``FWCore/Services/plugins/StallMonitor.cc`` and ``FWCore/Concurrency/scripts/edmStreamStallGrapher.py`` of
CMSSW. Times of the StallMonitor are in µs, whatever the header of its file says (ms).
"""

from __future__ import annotations

import re
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._cost.stalls import (
    STATES,
    THRESHOLD_NS,
    ModuleStalls,
    Stalls,
    Stream,
    intervals_of,
    read_json,
)
from arrowroot._errors import CorruptFileError, InvalidRequestError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RUNNING, WRITING, STALLED, _, DATA = range(len(STATES))
#: Modules of these names write: cmsRun's output modules are called so by custom.
WRITERS = ("*output*", "*Output*", "out", "write*")
SOURCE = "source"
_MAX_BYTES = 2 << 30
_MAX_STREAMS = 4096
_MAX_US = 1 << 53
_NAME = re.compile(r"'([^']*)'")
_CLOCK = re.compile(r"(\d\d?):(\d\d):(\d\d(?:\.\d{1,9})?)")
_STREAM = re.compile(r"stream = (\d{1,9})")


class _Step(NamedTuple):
    """Something that began or ended on a stream. ``time_us``: since the begin of the job."""

    #: "source" and "read" (a delayed read) wait for data; "module", "acquire"; "ready": a module could run from now on.
    what: str
    is_begin: bool
    stream: int
    time_us: int
    module: str
    is_event: bool = True


def read(path: str | Path, *, threshold_ns: int = THRESHOLD_NS, writers: Sequence[str] = WRITERS) -> Stalls:
    """Return the stalls that a file tells of.

    threshold_ns: a wait of so long is a stall; our own files have theirs. writers: globs of the modules that write.

    Raises: StorageError if it cannot be read; CorruptFileError if it is none of the three kinds, or contradicts itself.
    """
    try:
        if Path(path).stat().st_size > _MAX_BYTES:
            raise InvalidRequestError(f"{path}: more than {_MAX_BYTES >> 30} GiB of stalls")
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None
    if text.lstrip().startswith("{"):
        return read_json(path, text)
    lines = text.splitlines()
    if any(line.startswith(("# Transition", "# Step")) for line in lines[:5]):
        steps = _of_stall_monitor(lines)
    elif any("++" in line for line in lines[:50]):
        steps = _of_tracer(lines)
    else:
        raise CorruptFileError(
            f"{path}: neither stalls of arrowroot (JSON) nor a file of CMSSW's StallMonitor, which begins with "
            "'# Transition', or Tracer, whose lines have '++'"
        )
    try:
        return _stalls_of(steps, threshold_ns, writers)
    except CorruptFileError as error:
        raise CorruptFileError(f"{path}: {error}") from None


def _of_stall_monitor(lines: Iterable[str]) -> Iterator[_Step]:
    names: dict[str, str] = {}
    kinds = {
        "S": ("source", True), "s": ("source", False), "p": ("ready", True), "M": ("module", True),
        "m": ("module", False), "A": ("acquire", True), "a": ("acquire", False), "R": ("read", True),
        "r": ("read", False),
    }  # fmt: skip
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or line.startswith("#"):
            # The labels stand at the beginning: "#M ID LABEL".
            if words and words[0] == "#M" and len(words) >= 3:
                names[words[1]] = words[2]
            continue
        if words[0] in {"E", "e"}:
            continue
        if words[0] not in kinds:
            raise CorruptFileError(f"line {number}: {words[0]!r} is no step of StallMonitor")
        what, is_begin = kinds[words[0]]
        n_words = {"source": 3, "module": 5}.get(what, 4)
        if len(words) != n_words:
            raise CorruptFileError(f"line {number}: {len(words)} words, a step {words[0]!r} has {n_words}")
        stream, time_us = (_number(words[place], number) for place in (1, -1))
        if what in {"source", "read"}:
            yield _Step(what, is_begin, stream, time_us, SOURCE)
            continue
        is_event = what != "module" or words[3] == "0"
        yield _Step(what, is_begin, stream, time_us, names.get(words[2], f"module {words[2]}"), is_event)


def _number(word: str, line: int) -> int:
    if not (word.isascii() and word.isdigit() and int(word) < _MAX_US):
        raise CorruptFileError(f"line {line}: {word!r} is no number of a stream or time")
    return int(word)


def _of_tracer(lines: Iterable[str]) -> Iterator[_Step]:
    """Yield the steps of a log of the Tracer with printTimestamps; other lines of the log are passed over."""
    started_us: int | None = None
    before_us = day_us = 0
    seen: set[int] = set()
    for line in lines:
        if "++" not in line:
            continue
        is_end = "finished:" in line
        if "processing event :" in line:
            # Between two events the stream has its next one fetched.
            what, is_begin = "source", is_end
        elif "processing event for module" in line:
            if "prefetching" in line and not is_end:
                continue
            what, is_begin = ("ready", True) if "prefetching" in line else ("module", not is_end)
        elif "processing event acquire for module" in line:
            what, is_begin = "acquire", not is_end
        elif "event delayed read from source" in line:
            what, is_begin = "read", not is_end
        else:
            continue
        clock, stream, name = _CLOCK.search(line), _STREAM.search(line), _NAME.search(line)
        if clock is None or stream is None:
            continue
        hours, minutes, seconds = clock.groups()
        time_us = day_us + round(((int(hours) * 60 + int(minutes)) * 60 + float(seconds)) * 1e6)
        if time_us < before_us - 43_200_000_000:  # midnight has passed
            day_us += 86_400_000_000
            time_us += 86_400_000_000
        before_us = time_us
        started_us = time_us if started_us is None else started_us
        number, time_us = int(stream[1]), max(0, time_us - started_us)
        if what == "source" and not is_begin and number not in seen:
            # Nobody said when the first event was asked for.
            seen.add(number)
            yield _Step("source", True, number, time_us, SOURCE)
        is_module = what not in {"source", "read"}
        yield _Step(what, is_begin, number, time_us, name[1] if is_module and name else SOURCE)


class _Row:
    """The state of a stream while its steps are read."""

    def __init__(self) -> None:
        self.ready: dict[str, int] = {}
        self.running: dict[str, int] = defaultdict(int)
        self.waits_for_data = 0
        self.since_us = 0
        self.first_us: int | None = None
        self.n_events = 0
        self.times_ns = dict.fromkeys(STATES, 0)
        self.waits_ns: list[int] = []


def _stalls_of(steps: Iterable[_Step], threshold_ns: int, writers: Sequence[str]) -> Stalls:
    rows: dict[int, _Row] = {}
    found: list[tuple[int, int, int, int]] = []
    waits: dict[str, list[int]] = defaultdict(list)
    is_writer: dict[str, bool] = {}
    for step in steps:
        if step.stream not in rows and len(rows) >= _MAX_STREAMS:
            raise CorruptFileError(f"more than {_MAX_STREAMS:,} streams")
        if step.module not in is_writer:
            is_writer[step.module] = any(fnmatchcase(step.module, glob) for glob in writers)
        if not step.is_event:
            continue
        row = rows.setdefault(step.stream, _Row())
        if row.first_us is None:
            row.first_us = row.since_us = step.time_us
        if step.what == "ready":
            row.ready[step.module] = step.time_us
            continue
        wait_us = None
        if step.is_begin and step.what in {"module", "acquire"}:
            asked_us = row.ready.pop(step.module, None)
            if asked_us is not None:
                wait_us = step.time_us - asked_us
                waits[step.module].append(1000 * wait_us)
                row.waits_ns.append(1000 * wait_us)
        state = _state_of(row, is_writer)
        start_us = row.since_us
        if state is None and wait_us is not None and 1000 * wait_us >= threshold_ns:
            # Nothing ran on the stream meanwhile: it stood still.
            state, start_us = STALLED, max(start_us, step.time_us - wait_us)
        if state is not None and step.time_us > start_us:
            found.append((step.stream, state, 1000 * start_us, 1000 * step.time_us))
            row.times_ns[STATES[state]] += 1000 * (step.time_us - start_us)
        row.since_us = max(step.time_us, row.since_us)
        if step.what in {"source", "read"}:
            row.waits_for_data = max(0, row.waits_for_data + (1 if step.is_begin else -1))
            row.n_events += step.what == "source" and not step.is_begin
        else:
            row.running[step.module] = max(0, row.running[step.module] + (1 if step.is_begin else -1))
            if not row.running[step.module]:
                del row.running[step.module]
        if step.what == "source" and step.is_begin:
            row.ready.clear()
    if not rows:
        raise CorruptFileError("no step of a stream in it")
    numbers = {stream: place for place, stream in enumerate(sorted(rows))}
    intervals = intervals_of((numbers[stream], state, start, end) for stream, state, start, end in found)
    streams = [_stream(number, rows[number], threshold_ns) for number in numbers]
    return Stalls(threshold_ns, _modules(waits, threshold_ns), streams, intervals)


def _state_of(row: _Row, is_writer: dict[str, bool]) -> int | None:
    """Return what a stream does now; None if nothing."""
    if row.running:
        return WRITING if any(is_writer[module] for module in row.running) else RUNNING
    return DATA if row.waits_for_data else None


def _stream(number: int, row: _Row, threshold_ns: int) -> Stream:
    stalls = [wait for wait in row.waits_ns if wait >= threshold_ns]
    return Stream(
        f"stream {number}",
        SOURCE,
        1000 * (row.first_us or 0),
        1000 * row.since_us,
        row.times_ns,
        row.n_events,
        row.n_events,
        len(row.waits_ns),
        max(row.waits_ns, default=0),
        len(stalls),
        sum(stalls),
    )


def _modules(waits: dict[str, list[int]], threshold_ns: int) -> list[ModuleStalls]:
    modules = []
    for module, every in waits.items():
        stalls = [wait for wait in every if wait >= threshold_ns]
        modules.append(ModuleStalls(module, len(stalls), sum(stalls), max(stalls, default=0), len(every)))
    return sorted(modules, key=lambda module: -module.total_ns)


class Row(NamedTuple):
    """A stream of a picture: what it does in each of its bins, -1 for nothing."""

    name: str
    bins: list[int]


def binned(stalls: Stalls, n_bins: int) -> tuple[list[Row], float]:
    """Return what each stream does in each of so many equal times, and how long one is in ns.

    That is what it does most of the time; but a stall of at least the threshold is never hidden, be it shorter than
    a bin. The streams are in the order of their names.
    """
    import numpy as np

    if len(stalls.streams) > _MAX_STREAMS:
        raise InvalidRequestError(f"{len(stalls.streams):,} streams are too many for a picture")
    intervals = stalls.intervals
    ends = [stream.end_ns for stream in stalls.streams]
    last_ns = max([int(intervals.end_ns.max(initial=1)), *ends, 1])
    bin_ns = last_ns / n_bins
    n_streams = len(stalls.streams)
    shares = np.zeros((len(STATES), n_streams, n_bins + 1))
    first = intervals.start_ns / bin_ns
    last = intervals.end_ns / bin_ns
    begin, end = np.minimum(first.astype(np.int64), n_bins - 1), np.minimum(last.astype(np.int64), n_bins - 1)
    state, stream = intervals.state, intervals.stream
    inside = begin == end
    # Parts of bins at both ends, and whole bins in between as steps of a sum.
    np.add.at(shares, (state[inside], stream[inside], begin[inside]), (last - first)[inside])
    across = ~inside
    state, stream, begin, end = state[across], stream[across], begin[across], end[across]
    np.add.at(shares, (state, stream, begin), begin + 1 - first[across])
    np.add.at(shares, (state, stream, end), last[across] - end)
    steps = np.zeros_like(shares)
    np.add.at(steps, (state, stream, begin + 1), 1.0)
    np.add.at(steps, (state, stream, end), -1.0)
    shares = (shares + np.cumsum(steps, axis=2))[:, :, :n_bins]
    most = shares.argmax(axis=0)
    most[shares.max(axis=0) <= 0] = -1
    is_long = (intervals.state == STALLED) & (intervals.end_ns - intervals.start_ns >= stalls.threshold_ns)
    for row, start, stop in zip(
        intervals.stream[is_long], intervals.start_ns[is_long], intervals.end_ns[is_long], strict=True
    ):
        first_bin, last_bin = (min(int(time / bin_ns), n_bins - 1) for time in (start, stop))
        if not (most[row, first_bin : last_bin + 1] == STALLED).any():
            most[row, (first_bin + last_bin) // 2] = STALLED
    return [
        Row(stalls.streams[place].name, most[place].tolist()) for place in by_name(stalls.streams)
    ], bin_ns


def by_name(streams: Sequence[Stream]) -> list[int]:
    """Return the places of streams in the order of their names, "stream 10" behind "stream 9"."""

    def key(place: int) -> list[tuple[int, str]]:
        parts = re.findall(r"\d+|\D+", streams[place].name)
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]

    return sorted(range(len(streams)), key=key)
