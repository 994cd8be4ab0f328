"""Stalls: who waited for the output, how often and how long, and what each stream did when."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._errors import CorruptFileError, InvalidRequestError, StorageError
from arrowroot._render import printable
from arrowroot._saving.replacing import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeGuard

    import numpy as np
    import numpy.typing as npt

JSON_FORM = "arrowroot.stalls/1"
#: No name of a stream or a module is longer, in characters.
_MAX_NAME = 10_000
#: The states of a stream, in the order of the numbers that intervals have for it.
STATES = ("running", "writing", "stalled", "helping", "waiting for data")
STALLED = STATES.index("stalled")
#: A wait of so long is a stall: ``stallThreshold`` of CMSSW's StallMonitor.
THRESHOLD_NS = 100_000_000


class ModuleStalls(NamedTuple):
    """The stalls of a module: of the contexts of one table, or of a module of CMSSW on all streams."""

    label: str
    n_stalls: int
    total_ns: int
    longest_ns: int
    #: Fills, or events, with those that did not wait.
    n_calls: int = 0


class Stream(NamedTuple):
    """The doings of one context or stream. Times in ns."""

    name: str
    module: str
    start_ns: int
    end_ns: int
    #: Time in each of :data:`STATES`.
    times_ns: Mapping[str, int]
    n_fills: int
    n_entries: int
    n_waits: int
    longest_wait_ns: int
    n_stalls: int
    stalls_ns: int

    @property
    def efficiency(self) -> float:
        """Share of its time in which it was neither stalled nor helping; 1 of no time."""
        return _efficiency([self])


class Intervals(NamedTuple):
    """The doings of streams: number of the stream, number of its state, from when until when in ns."""

    stream: npt.NDArray[np.int64]
    state: npt.NDArray[np.int64]
    start_ns: npt.NDArray[np.int64]
    end_ns: npt.NDArray[np.int64]


class Stalls(NamedTuple):
    """The stalls of a file that was written, or of a job.

    >>> with ar.create("new.root") as new:
    ...     new["t"] = data
    >>> stalls = new.stalls()
    >>> stalls.efficiency
    1.0
    """

    threshold_ns: int
    modules: list[ModuleStalls]
    streams: list[Stream]
    intervals: Intervals
    #: Intervals that were too many to be kept.
    n_lost: int = 0

    @property
    def efficiency(self) -> float:
        """Share of the streams' time in which they were neither stalled nor helping; 1 of no time."""
        return _efficiency(self.streams)

    def table(self) -> str:
        """Return the table that CMSSW's StallMonitor prints: modules with stalls, seconds with six digits.

        >>> print(new.stalls().table())
        StallMonitor>  Module label  # of stalls  Total stalled time  Max stalled time
        StallMonitor>  ------------  -----------  ------------------  ----------------
        """
        shown = [module for module in self.modules if module.n_stalls]
        titles = ("Module label", "# of stalls", "Total stalled time", "Max stalled time")
        label_width = max([len(printable(module.label)) for module in shown] + [len(titles[0])])
        widths = [label_width, *map(len, titles[1:])]
        lines = [
            [title.ljust(width) for title, width in zip(titles, widths, strict=True)],
            ["-" * w for w in widths],
        ]
        for module in shown:
            times = (f"{ns / 1e9:.6g} s" for ns in (module.total_ns, module.longest_ns))
            values = (str(module.n_stalls), *times)
            right = [value.rjust(width) for value, width in zip(values, widths[1:], strict=True)]
            lines.append([printable(module.label).ljust(label_width), *right])
        return "\n".join("  ".join(["StallMonitor>", *line]).rstrip() for line in lines)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it; intervals are lists of [stream, state, start, length] in µs."""
        starts, ends = self.intervals.start_ns // 1000, self.intervals.end_ns // 1000
        columns = (self.intervals.stream, self.intervals.state, starts, ends - starts)
        return {
            "form": JSON_FORM,
            "threshold_ns": self.threshold_ns,
            "efficiency": self.efficiency,
            "modules": [module._asdict() for module in self.modules],
            "streams": [stream._asdict() | {"efficiency": stream.efficiency} for stream in self.streams],
            "states": list(STATES),
            "n_lost_intervals": self.n_lost,
            "intervals_us": [list(row) for row in zip(*(c.tolist() for c in columns), strict=True)],
        }

    def save(self, path: str | Path) -> None:
        """Write it as JSON, for ``arrowroot stalls``. Raises: StorageError.

        >>> new.stalls().save("stalls.json")
        """
        text = json.dumps(self.as_dict(), separators=(",", ":")) + "\n"
        try:
            with replacing(path) as beside:
                Path(beside).write_text(text, encoding="utf-8")
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from None


def _efficiency(streams: Iterable[Stream]) -> float:
    all_ns = lost_ns = 0
    for stream in streams:
        all_ns += stream.end_ns - stream.start_ns
        lost_ns += stream.times_ns.get("stalled", 0) + stream.times_ns.get("helping", 0)
    return 1 - lost_ns / all_ns if all_ns > 0 else 1.0


def empty_intervals() -> Intervals:
    """Return no intervals."""
    return intervals_of([])


def intervals_of(rows: Iterable[tuple[int, int, int, int]]) -> Intervals:
    """Return intervals of rows (stream, state, start in ns, end in ns)."""
    import numpy as np

    columns = np.array(list(rows), dtype=np.int64).reshape(-1, 4).T
    return Intervals(*columns)


def of_native(reports: Iterable[Mapping[str, Any]], *, threshold_ns: int, n_lost: int = 0) -> Stalls:
    """Return the stalls of the contexts of a file, as the engine reports them."""
    import numpy as np

    streams, columns = [], []
    for number, report in enumerate(reports):
        fields = {name: report[name] for name in Stream._fields if name in report}
        streams.append(Stream(**fields, module=report["table"]))
        state, start, end = (column.astype(np.int64) for column in report["intervals"])
        columns.append((np.full(len(state), number, dtype=np.int64), state, start, end))
    intervals = Intervals(*map(np.concatenate, zip(*columns, strict=True))) if columns else empty_intervals()
    return Stalls(threshold_ns, _modules_of(streams), streams, intervals, n_lost)


def _modules_of(streams: Iterable[Stream]) -> list[ModuleStalls]:
    modules: dict[str, ModuleStalls] = {}
    for stream in streams:
        before = modules.get(stream.module, ModuleStalls(stream.module, 0, 0, 0))
        longest = max(before.longest_ns, stream.longest_wait_ns)
        modules[stream.module] = ModuleStalls(
            stream.module,
            before.n_stalls + stream.n_stalls,
            before.total_ns + stream.stalls_ns,
            longest,
            before.n_calls + stream.n_fills,
        )
    return list(modules.values())


def read_json(path: str | Path, text: str) -> Stalls:
    """Return what :meth:`Stalls.save` wrote. Raises: CorruptFileError."""
    try:
        found = json.loads(text)
        _check_form(found["form"])
        states = [STATES.index(state) for state in found["states"]]
        streams = [_stream(each) for each in found["streams"]]
        modules = [
            ModuleStalls(_name(each["label"]), *(_number(each[name]) for name in ModuleStalls._fields[1:]))
            for each in found["modules"]
        ]
        rows = [
            (
                _place(stream, len(streams)),
                states[_place(state, len(states))],
                1000 * _time(start),
                1000 * _time(start + _time(length)),
            )
            for stream, state, start, length in found["intervals_us"]
        ]
        return Stalls(
            _number(found["threshold_ns"]),
            modules,
            streams,
            intervals_of(rows),
            _number(found["n_lost_intervals"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = printable((str if isinstance(error, CorruptFileError) else repr)(error)[:200])
        raise CorruptFileError(f"{path}: {what} in stalls of the form {JSON_FORM}") from None


def _check_form(form: object) -> None:
    if form != JSON_FORM:
        raise CorruptFileError(f"form {form!r:.100}")


def _stream(told: Mapping[str, Any]) -> Stream:
    times = {state: _number(told["times_ns"].get(state, 0)) for state in STATES}
    numbers = {
        name: _number(told[name]) for name in Stream._fields if name not in {"name", "module", "times_ns"}
    }
    if numbers["end_ns"] < numbers["start_ns"]:
        raise CorruptFileError(f"stream {told['name']!r} ends before it begins")
    return Stream(name=_name(told["name"]), module=_name(told["module"]), times_ns=times, **numbers)


def _name(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MAX_NAME:
        raise CorruptFileError(f"{value!r:.100} is no name")
    return value


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _place(number: object, length: int) -> int:
    if not _is_whole(number) or not 0 <= number < length:
        raise CorruptFileError(f"no number {number!r} of {length}")
    return number


def _time(microseconds: object) -> int:
    if not _is_whole(microseconds) or not 0 <= microseconds < 1 << 53:
        raise CorruptFileError(f"{microseconds!r} is no time in µs")
    return microseconds


def _number(value: object) -> int:
    """Return a count, or a time in ns."""
    if not _is_whole(value) or not 0 <= value < 1 << 63:
        raise CorruptFileError(f"{value!r} is no number from 0 on")
    return value


def parse_threshold(seconds: float, what: str = "stall_threshold") -> int:
    """Return a time in s as ns. Raises: InvalidRequestError, naming ``what``."""
    try:
        nanoseconds = float(seconds) * 1e9
    except (TypeError, ValueError):
        nanoseconds = math.nan
    # The engine counts in 64 bits.
    if not 0 <= nanoseconds < 1e18:
        raise InvalidRequestError(f"{what}={seconds!r}: write seconds, as 0.1")
    return round(nanoseconds)
