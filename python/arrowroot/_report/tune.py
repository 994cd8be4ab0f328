"""Finds out what a store is like, and which strategy reads a file from it fastest."""

from __future__ import annotations

import random
import shlex
import statistics
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._passes.ahead import ThreadPool
from arrowroot._report.replay import Line, Outcome, Protocol, replay, shown, strategies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arrowroot._api.file import File
    from arrowroot._report.trace import Logical

    #: Reads so many bytes in each of so many places, as one vector read, and says how many seconds that took.
    Timed = Callable[[int, int], float]

_SMALL_BYTES = 64
_N_SMALL = 9
_FIRST_LARGE_BYTES = 256 << 10
_MAX_LARGE_BYTES = 32 << 20
_N_LARGE = 3
#: A large read is large enough when it takes so long.
_ENOUGH_S = 0.2
#: No bandwidth is told of less: bytes, seconds beyond the latency, and how often these are their error.
_LEAST_BYTES, _LEAST_S, _LEAST_ERRORS = 64 << 10, 1e-3, 3
#: Of a line whose bandwidth is more than could be measured: what reads bring takes no time.
_UNBOUNDED_BYTES_PER_S = 1e12
#: How far predictions are taken to be off, and how far measured times where nobody knows it better.
_PREDICTION_ERROR, _MEASUREMENT_ERROR = 0.2, 0.05
#: By so much two runs of the same differ however short they are: other processes have their turn.
_SHORTEST_ERROR_NS = 5e6
_N_PARALLEL = 8
#: Small requests for each that can be under way.
_N_EACH = 4
#: More connections are not tried, whatever is set.
_MAX_PARALLEL = 128
_SEED = 7


class Store(NamedTuple):
    """The measured properties of a store."""

    latency_s: float
    #: Of one request, and of several at once; None: there was no time to measure that, or what they bring takes so
    #: little time beside the latency that it cannot be told.
    bytes_per_s: float | None
    parallel_bytes_per_s: float | None
    #: What small requests take one after the other, over what they take at once; None: not measured.
    n_parallel: float | None
    #: Between the beginnings of two small requests, when as many as may be are made at once; None: not measured.
    interval_s: float | None
    #: Requests that arrowroot makes at once there, at most.
    max_parallel: int
    #: How it makes requests.
    protocol: Protocol
    n_requests: int
    n_bytes: int
    #: How far ``latency_s`` and ``bytes_per_s`` may be off, as a share of them.
    latency_error: float = 0.0
    rate_error: float | None = None

    def data(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**self._asdict(), "protocol": self.protocol.data()}

    def line(self) -> Line:
        """Return the store as replays take it: what was not measured hinders nothing."""
        best = max(self.bytes_per_s or 0.0, self.parallel_bytes_per_s or 0.0) or _UNBOUNDED_BYTES_PER_S
        interval_s = self.interval_s or 0.0
        return Line(self.latency_s, best, self.max_parallel, protocol=self.protocol, interval_s=interval_s)


@dataclass
class Candidate:
    """One setting, what it is predicted to take, and what it took."""

    options: dict[str, str]
    predicted: Outcome
    measured_ns: list[int] = field(default_factory=list)
    #: Whether its cache size is that which it has if nobody looks for a better one.
    is_plain: bool = True

    @property
    def best_ns(self) -> int | None:
        """The fastest run; None if there was none."""
        return min(self.measured_ns, default=None)

    @property
    def time_ns(self) -> int:
        """The time that it took, or is predicted to take."""
        return self.predicted.wall_ns if self.best_ns is None else self.best_ns

    @property
    def uncertainty_ns(self) -> float:
        """How far the time may be off."""
        if len(self.measured_ns) <= 1:
            return max(_SHORTEST_ERROR_NS, _PREDICTION_ERROR * self.time_ns)
        # Of the fastest of some runs: how much slower the next one was.
        second_ns = sorted(self.measured_ns)[1]
        return max(_SHORTEST_ERROR_NS, _MEASUREMENT_ERROR * self.time_ns, second_ns - self.time_ns)

    def is_faster(self, other: Candidate) -> bool:
        """Return whether it takes less time, beyond what either may be off."""
        return other.time_ns - self.time_ns > max(self.uncertainty_ns, other.uncertainty_ns)

    @property
    def error(self) -> float | None:
        """How far the prediction is off, for each ns measured: below 0 if it was too short."""
        return None if self.best_ns is None else self.predicted.wall_ns / self.best_ns - 1


def measure_store(file: File, until: float) -> Store:
    """Measure a file's store by reading from it: small ranges for latency, large ones for bandwidth, and both at once.

    Begins no request after ``until`` (of ``time.monotonic``) that it can do without.
    """
    size_bytes = file.size_bytes
    rng = random.Random(_SEED)  # noqa: S311 - places to read
    counted = [0, 0]

    def timed(n_bytes: int, n_ranges: int = 1) -> float:
        n_bytes = min(n_bytes, size_bytes)
        last = size_bytes - n_bytes
        ranges = [(rng.randint(0, last), n_bytes) for _ in range(n_ranges)]
        counted[0] += file.protocol.count(ranges)
        counted[1] += n_bytes * n_ranges
        return file.time_reads(ranges) / 1e9

    # The first may make a connection.
    timed(_SMALL_BYTES)
    small_s = [timed(_SMALL_BYTES) for _ in range(_N_SMALL)]
    latency_s = statistics.median(small_s)
    # Half of them are within it.
    lower_s, _, upper_s = statistics.quantiles(small_s, n=4)
    error_s = upper_s - lower_s
    n_bytes, taken_s = _FIRST_LARGE_BYTES, timed(_FIRST_LARGE_BYTES)
    while (
        taken_s < max(_ENOUGH_S, 4 * latency_s)
        and n_bytes < min(_MAX_LARGE_BYTES, size_bytes)
        and time.monotonic() < until
    ):
        n_bytes *= 2
        taken_s = timed(n_bytes)
    times = [taken_s]
    while len(times) < _N_LARGE and time.monotonic() < until:
        times.append(timed(n_bytes))
    read_bytes = min(n_bytes, size_bytes)
    rate = _rate(read_bytes, min(times) - latency_s, error_s)
    rate_error = None
    if rate is not None:
        spread_s = statistics.median(times) - min(times)
        rate_error = (spread_s + error_s) / (min(times) - latency_s)
    parallel_rate = n_parallel = interval_s = None
    if time.monotonic() < until:
        parallel_rate = _parallel_rate(timed, read_bytes, latency_s, error_s)
        # Several are not slower than one: it was the making of the requests that took the time.
        if rate is None and parallel_rate is not None and parallel_rate * min(times) < read_bytes:
            parallel_rate = None
        n_parallel, interval_s = _parallel_requests(timed, latency_s, file)
    # Last: it follows the latency, whose least is known now.
    max_parallel = max(1, file.max_parallel)
    return Store(
        latency_s,
        rate,
        parallel_rate,
        n_parallel,
        interval_s,
        max_parallel,
        file.protocol,
        counted[0],
        counted[1],
        error_s / latency_s if latency_s else 0.0,
        rate_error,
    )


def _rate(n_bytes: int, transfer_s: float, error_s: float) -> float | None:
    """Return bytes per second; None if these are too few, or their time too short, to tell."""
    is_told = n_bytes >= _LEAST_BYTES and transfer_s >= max(_LEAST_S, _LEAST_ERRORS * error_s)
    return n_bytes / transfer_s if is_told else None


def _parallel_rate(timed: Timed, n_bytes: int, latency_s: float, error_s: float) -> float | None:
    """Return bytes per second of several large reads at once; None as for :func:`_rate`."""
    share = min(n_bytes, max(_FIRST_LARGE_BYTES, n_bytes // _N_PARALLEL))
    with ThreadPool(_N_PARALLEL) as pool:
        start = time.perf_counter()
        pool.do(partial(timed, share, 1), _N_PARALLEL)
        elapsed_s = time.perf_counter() - start
    return _rate(_N_PARALLEL * share, elapsed_s - latency_s, error_s)


def _parallel_requests(timed: Timed, latency_s: float, file: File) -> tuple[float, float]:
    """Return how many small requests the store answers in the time of one, and the seconds between two of them."""
    n_parallel = min(max(1, file.max_parallel), _MAX_PARALLEL)
    n_requests = _N_EACH * n_parallel
    # Threads and connections are made before the clock runs.
    if file.max_ranges == 1:
        # Each range is a request: the store makes them at once itself, as in a scan.
        timed(_SMALL_BYTES, n_requests)
        elapsed_s = timed(_SMALL_BYTES, n_requests)
    else:
        with ThreadPool(n_parallel) as pool:
            pool.do(partial(timed, _SMALL_BYTES, 1), n_parallel)
            start = time.perf_counter()
            pool.do(partial(timed, _SMALL_BYTES, 1), n_requests)
            elapsed_s = time.perf_counter() - start
    # The answer to the last one comes a latency after it began.
    interval_s = max(0.0, elapsed_s - latency_s) / (n_requests - 1)
    return min(float(n_parallel), max(1.0, n_requests * latency_s / elapsed_s)), interval_s


#: Cache sizes to try, besides that which a strategy takes by itself.
_SIZES: dict[str, Sequence[str]] = {
    "auto": ("4 MiB", "16 MiB", "64 MiB"),
    "application-only": ("8 MiB", "32 MiB"),
    "storage-only": ("16 MiB",),
    "treecache": ("10 MB", "30 MB", "100 MB"),
    "readahead": ("1 MiB", "8 MiB", "64 MiB", "128 MiB"),
    "lazy-download": ("16 MiB",),
}


def candidates(
    logical: Logical,
    file_bytes: int,
    line: Line,
    *,
    fixed: dict[str, str],
    set_besides: dict[str, str],
    n_threads: int,
    kept: Sequence[tuple[int, int]] = (),
) -> list[Candidate]:
    """Return every strategy at some sizes, with what it is predicted to take, the fastest first.

    ``fixed``: options that are set and stay. ``set_besides``: those of the environment, a file or the URL, which are in
    force where nothing else is said. ``kept``: as for a replay.
    """
    found = []
    inherited = {name: text for name, text in set_besides.items() if name == "cache_size"}
    for name in strategies(["all"]):
        sizes: list[str | None] = [None] if "cache_size" in fixed else [None, *_SIZES.get(name, ())]
        for size in sizes:
            options = {**inherited, **fixed, "strategy": name} | (
                {} if size is None else {"cache_size": size}
            )
            in_force = {**set_besides, **options}
            outcome = replay(logical, file_bytes, line, in_force, n_threads=n_threads, kept=kept)
            found.append(Candidate(options, outcome, is_plain=size is None))
    # If two take equally long, the one that reads and holds less is better.
    return sorted(
        found, key=lambda c: (c.predicted.wall_ns, c.predicted.read_bytes, c.predicted.peak_buffer_bytes)
    )


def to_verify(found: Sequence[Candidate], n_best: int) -> list[Candidate]:
    """Return what to run: the best few that differ in more than a per cent, and the default."""
    chosen: list[Candidate] = []
    for candidate in found:
        is_same = any(
            other.options["strategy"] == candidate.options["strategy"]
            and candidate.predicted.wall_ns <= 1.01 * other.predicted.wall_ns
            for other in chosen
        )
        if not is_same and len(chosen) < n_best:
            chosen.append(candidate)
    default = default_of(found)
    if default is not None and default not in chosen:
        chosen.append(default)
    return chosen


def default_of(found: Sequence[Candidate]) -> Candidate | None:
    """Return what is in force if nobody sets anything."""
    return next((c for c in found if c.options["strategy"] == "auto" and c.is_plain), None)


def too_short_ns(found: Sequence[Candidate]) -> int | None:
    """Return how long the default waits for the store, if that is too little for any setting to be faster."""
    default = default_of(found)
    if default is None or default.predicted.wait_ns > _SHORTEST_ERROR_NS:
        return None
    return default.predicted.wait_ns


def ranked(found: Sequence[Candidate]) -> list[Candidate]:
    """Return those that were run, the fastest first, and then the others by their prediction."""
    return sorted(found, key=lambda c: (c.best_ns is None, c.best_ns or c.predicted.wall_ns))


def advised(found: Sequence[Candidate]) -> Candidate | None:
    """Return what to set: what is faster than the default, beyond the error of both; None if nothing is.

    Of several that are equally fast within their errors it is always the same: the first strategy in the order of the
    documentation, with its own cache size if that is as good, else the
    one that holds least.
    """
    default = default_of(found)
    if default is None:
        return None
    is_tried = default.best_ns is not None
    comparable = [c for c in found if (c.best_ns is not None) == is_tried]
    faster = [c for c in comparable if c.is_faster(default)]
    best = min(faster, key=lambda c: c.time_ns, default=None)
    if best is None:
        return None
    names = strategies(["all"])
    equal = [c for c in faster if not best.is_faster(c)]
    return min(
        equal,
        key=lambda c: (
            names.index(c.options["strategy"]),
            not c.is_plain,
            c.predicted.peak_buffer_bytes,
        ),
    )


def export_line(candidate: Candidate) -> str:
    """Return the line for a shell that sets what was measured, but for what is secret."""
    parts = [
        f"ARROWROOT_{name.upper()}={shlex.quote(value.replace(' ', '') if name == 'cache_size' else value)}"
        for name, value in shown(candidate.options).items()
    ]
    return "export " + " ".join(parts)
