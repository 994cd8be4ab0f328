"""Stalls of a job, read from what it left: our own JSON, and CMSSW's StallMonitor and Tracer.

Source: ``FWCore/Services/plugins/StallMonitor.cc`` and ``FWCore/Concurrency/scripts/edmStreamStallGrapher.py`` of
CMSSW. Times of the StallMonitor are in µs, whatever the header of its file says (ms), but for files of its first form:
those of before February 2018 have no transitions, and are in ms. From then until December 2018 they were in ms, too,
which nothing in a file says.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._cost.stalls import (
    STATES,
    THRESHOLD_NS,
    Intervals,
    ModuleStalls,
    Stalls,
    Stream,
    read_json,
)
from arrowroot._errors import ArrowrootError, CorruptFileError, InvalidRequestError, StorageError
from arrowroot._storage.url import natural_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
    from typing import TextIO

    import numpy as np
    import numpy.typing as npt

RUNNING, WRITING, STALLED, _, DATA = range(len(STATES))
#: Modules of these names write: cmsRun's output modules are called so by custom.
WRITERS = ("*output*", "*Output*", "out", "write*")
SOURCE = "source"
#: Steps of StallMonitor that say nothing of modules at events: events, transitions of the framework, its setup.
_PASSED_OVER = frozenset("EeFfNnq")
_MAX_BYTES, _MAX_JSON_BYTES = 2 << 30, 128 << 20
#: No line that means anything is longer, in characters.
_MAX_LINE = 1 << 16
_MAX_STREAMS = 4096
_MAX_MODULES = 100_000
_MAX_US = 1 << 53
_DAY_US = 86_400_000_000
#: No job of the Tracer lasts longer.
_MAX_DAYS = 1_000
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
        with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
            n_bytes = Path(path).stat().st_size
            is_json = file.read(_MAX_LINE).lstrip().startswith("{")
            max_bytes = _MAX_JSON_BYTES if is_json else _MAX_BYTES
            if n_bytes > max_bytes:
                raise InvalidRequestError(f"{path}: more than {max_bytes >> 20:,} MiB of stalls")
            file.seek(0)
            if is_json:
                return read_json(path, file.read())
            return _stalls_of(_steps_of(_lines(file)), threshold_ns, writers)
    except OSError as error:
        # Pipes cannot be read twice, and say so without a number.
        raise StorageError(f"{path}: {error.strerror or error}") from None
    except _NoStallsError as error:
        raise CorruptFileError(f"{path}: {error}") from None


class _NoStallsError(ArrowrootError):
    """An error in the lines of a file."""


def _lines(file: TextIO) -> Iterator[str]:
    """Yield lines, cut if they are too long. A last one without an end, as killed jobs leave it, is left out."""
    while line := file.readline(_MAX_LINE):
        is_whole = line.endswith("\n")
        while not is_whole:
            rest = file.readline(_MAX_LINE)
            if not rest:
                return
            is_whole = rest.endswith("\n")
        yield line


def _steps_of(lines: Iterator[str]) -> Iterator[_Step]:
    first = list(islice(lines, 50))
    every = chain(first, lines)
    if any(line.startswith(("# Transition", "# Step")) for line in first[:5]):
        return _of_stall_monitor(every)
    if any("++" in line for line in first):
        return _of_tracer(every)
    raise _NoStallsError(
        "neither stalls of arrowroot (JSON) nor a file of CMSSW's StallMonitor, which begins with '# Transition' or "
        "'# Step', or Tracer, whose lines have '++'"
    )


def _of_stall_monitor(lines: Iterable[str]) -> Iterator[_Step]:
    names: dict[str, str] = {}
    kinds = {
        "S": ("source", True), "s": ("source", False), "p": ("ready", True), "M": ("module", True),
        "m": ("module", False), "A": ("acquire", True), "a": ("acquire", False), "R": ("read", True),
        "r": ("read", False),
    }  # fmt: skip
    n_module_words, unit_us = 5, 1
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or line.startswith("#"):
            # The labels stand at the beginning: "#M ID LABEL".
            if words and words[0] == "#M" and len(words) >= 3:
                names[words[1]] = words[2]
                _check_modules(names)
            elif words[:3] == ["#", "preModuleEvent", "M"]:
                # The first form, whose modules have no transition; now they are "preModuleTransition".
                n_module_words, unit_us = 4, 1000
            continue
        if words[0] in _PASSED_OVER:
            continue
        if words[0] not in kinds:
            raise _NoStallsError(f"line {number}: {words[0][:100]!r} is no step of StallMonitor")
        what, is_begin = kinds[words[0]]
        n_words = {"source": 3, "module": n_module_words}.get(what, 4)
        if len(words) != n_words:
            raise _NoStallsError(
                f"line {number}: {len(words)} words, a step {words[0][:100]!r} has {n_words}"
            )
        stream, time_us = _number(words[1], number), _number(words[-1], number, unit_us)
        if what in {"source", "read"}:
            yield _Step(what, is_begin, stream, time_us, SOURCE)
            continue
        is_event = what != "module" or n_words < 5 or words[3] == "0"
        yield _Step(what, is_begin, stream, time_us, names.get(words[2], f"module {words[2]}"), is_event)


def _check_modules(modules: Sized) -> None:
    if len(modules) > _MAX_MODULES:
        raise _NoStallsError(f"more than {_MAX_MODULES:,} modules")


def _number(word: str, line: int, unit: int = 1) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 20 and unit * int(word) < _MAX_US):
        raise _NoStallsError(f"line {line}: {word[:100]!r} is no number of a stream or time")
    return unit * int(word)


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
        if clock is None and started_us is None:
            raise _NoStallsError("a step without its time: the Tracer tells them with printTimestamps = True")
        if clock is None or stream is None:
            continue
        hours, minutes, seconds = clock.groups()
        time_us = day_us + round(((int(hours) * 60 + int(minutes)) * 60 + float(seconds)) * 1e6)
        if time_us < before_us - _DAY_US // 2:  # midnight has passed
            day_us += _DAY_US
            time_us += _DAY_US
            if day_us > _MAX_DAYS * _DAY_US:
                raise _NoStallsError(
                    f"its clock goes back more often than there are midnights in {_MAX_DAYS:,} days"
                )
        before_us = time_us
        started_us = time_us if started_us is None else started_us
        number, time_us = int(stream[1]), max(0, time_us - started_us)
        if what == "source" and not is_begin and number not in seen:
            # Nobody said when the first event was asked for.
            seen.add(number)
            yield _Step("source", True, number, time_us, SOURCE)
        is_module = what not in {"source", "read"}
        yield _Step(what, is_begin, number, time_us, name[1] if is_module and name else SOURCE)


class _Sums:
    """The waits of a module, or of a stream, as they come. Times in ns."""

    def __init__(self) -> None:
        self.n_waits = self.longest_ns = 0
        self.n_stalls = self.stalls_ns = self.longest_stall_ns = 0

    def add(self, wait_ns: int, threshold_ns: int) -> None:
        self.n_waits += 1
        self.longest_ns = max(self.longest_ns, wait_ns)
        if wait_ns >= threshold_ns:
            self.n_stalls += 1
            self.stalls_ns += wait_ns
            self.longest_stall_ns = max(self.longest_stall_ns, wait_ns)


class _Intervals:
    """Intervals as they are found: stream, state, from when until when in ns. Neighbours that are alike are one."""

    def __init__(self) -> None:
        self.columns = tuple(array("q") for _ in range(4))
        self.latest: dict[int, int] = {}

    def add(self, stream: int, state: int, start_ns: int, end_ns: int) -> None:
        _, states, _, ends = self.columns
        latest = self.latest.get(stream)
        if latest is not None and states[latest] == state and ends[latest] == start_ns:
            ends[latest] = end_ns
            return
        self.latest[stream] = len(states)
        for column, value in zip(self.columns, (stream, state, start_ns, end_ns), strict=True):
            column.append(value)

    def intervals(self, numbers: Mapping[int, int]) -> Intervals:
        """Return them; ``numbers``: the place of each stream."""
        import numpy as np

        streams, *others = (np.array(column, dtype=np.int64) for column in self.columns)
        known = np.array(sorted(numbers), dtype=np.int64)
        return Intervals(np.searchsorted(known, streams), *others)


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
        self.waits = _Sums()


def _stalls_of(steps: Iterable[_Step], threshold_ns: int, writers: Sequence[str]) -> Stalls:
    rows: dict[int, _Row] = {}
    found = _Intervals()
    waits: dict[str, _Sums] = defaultdict(_Sums)
    is_writer: dict[str, bool] = {}
    for step in steps:
        if step.stream not in rows and len(rows) >= _MAX_STREAMS:
            raise _NoStallsError(f"more than {_MAX_STREAMS:,} streams")
        if step.module not in is_writer:
            is_writer[step.module] = any(fnmatchcase(step.module, glob) for glob in writers)
            _check_modules(is_writer)
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
                wait_us = max(0, step.time_us - asked_us)
                waits[step.module].add(1000 * wait_us, threshold_ns)
                row.waits.add(1000 * wait_us, threshold_ns)
        state = _state_of(row, is_writer)
        start_us = row.since_us
        if state is None and wait_us is not None and 1000 * wait_us >= threshold_ns:
            # Nothing ran on the stream meanwhile: it stood still.
            state, start_us = STALLED, max(start_us, step.time_us - wait_us)
        if state is not None and step.time_us > start_us:
            found.add(step.stream, state, 1000 * start_us, 1000 * step.time_us)
            row.times_ns[STATES[state]] += 1000 * (step.time_us - start_us)
        row.since_us = max(step.time_us, row.since_us)
        _note_step(row, step)
    if not rows:
        raise _NoStallsError("no step of a stream in it")
    numbers = {stream: index for index, stream in enumerate(sorted(rows))}
    streams = [_stream(number, rows[number]) for number in numbers]
    return Stalls(threshold_ns, _modules(waits), streams, found.intervals(numbers))


def _note_step(row: _Row, step: _Step) -> None:
    """Note what the stream does from now on."""
    if step.what in {"source", "read"}:
        row.waits_for_data = max(0, row.waits_for_data + (1 if step.is_begin else -1))
        row.n_events += step.what == "source" and not step.is_begin
    else:
        row.running[step.module] = max(0, row.running[step.module] + (1 if step.is_begin else -1))
        if not row.running[step.module]:
            del row.running[step.module]
    if step.what == "source" and step.is_begin:
        row.ready.clear()


def _state_of(row: _Row, is_writer: dict[str, bool]) -> int | None:
    """Return what a stream does now; None if nothing."""
    if row.running:
        return WRITING if any(is_writer[module] for module in row.running) else RUNNING
    return DATA if row.waits_for_data else None


def _stream(number: int, row: _Row) -> Stream:
    return Stream(
        f"stream {number}",
        SOURCE,
        1000 * (row.first_us or 0),
        1000 * row.since_us,
        row.times_ns,
        row.n_events,
        row.n_events,
        row.waits.n_waits,
        row.waits.longest_ns,
        row.waits.n_stalls,
        row.waits.stalls_ns,
    )


def _modules(waits: Mapping[str, _Sums]) -> list[ModuleStalls]:
    modules = [
        ModuleStalls(module, sums.n_stalls, sums.stalls_ns, sums.longest_stall_ns, sums.n_waits)
        for module, sums in waits.items()
    ]
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
    shares, bin_ns = _shares(stalls, n_bins)
    intervals = stalls.intervals
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
        Row(stalls.streams[index].name, most[index].tolist()) for index in by_name(stalls.streams)
    ], bin_ns


def n_doing(stalls: Stalls, n_bins: int) -> npt.NDArray[np.float64]:
    """Return how many streams do what in each of so many equal times, on average: by state and bin."""
    shares, _ = _shares(stalls, n_bins)
    total: npt.NDArray[np.float64] = shares.sum(axis=1)
    return total


def _shares(stalls: Stalls, n_bins: int) -> tuple[npt.NDArray[np.float64], float]:
    """Return the share of each bin that a state has, by state, stream and bin, and how long a bin is in ns."""
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
    return (shares + np.cumsum(steps, axis=2))[:, :, :n_bins], bin_ns


def by_name(streams: Sequence[Stream]) -> list[int]:
    """Return the indices of streams in the order of their names, "stream 10" behind "stream 9"."""
    return sorted(range(len(streams)), key=lambda index: natural_key(streams[index].name))
