"""Finds out what a store is like, and which strategy reads a file from it fastest."""

from __future__ import annotations

import random
import shlex
import statistics
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._ahead import Crew
from arrowroot._report.replay import Line, Outcome, replay, shown, strategies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arrowroot._file import File
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
_N_PARALLEL = 8
#: Small requests for each that can be under way.
_N_EACH = 4
#: More connections are not tried, whatever is set.
_MAX_PARALLEL = 128
_SEED = 7


class Store(NamedTuple):
    """What was measured of a store."""

    latency_s: float
    #: Of one request, and of several at once; None: there was no time to measure that.
    bytes_per_s: float
    parallel_bytes_per_s: float | None
    #: What small requests take one after the other, over what they take at once; None: not measured.
    n_parallel: float | None
    #: Between the beginnings of two small requests, when as many as may be are made at once; None: not measured.
    interval_s: float | None
    #: Requests that arrowroot makes at once there, at most.
    max_parallel: int
    #: Ranges of one request, as the store says.
    max_ranges: int
    n_requests: int
    n_bytes: int

    def line(self) -> Line:
        """Return the store as replays take it: what was not measured hinders nothing."""
        best = max(self.bytes_per_s, self.parallel_bytes_per_s or 0.0)
        interval_s = self.interval_s or 0.0
        return Line(
            self.latency_s, best, self.max_parallel, max_ranges=self.max_ranges, interval_s=interval_s
        )


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
        counted[0] += 1 if file.max_ranges > 1 else n_ranges
        counted[1] += n_bytes * n_ranges
        last = size_bytes - n_bytes
        return file.time_reads([(rng.randint(0, last), n_bytes) for _ in range(n_ranges)]) / 1e9

    # The first may make a connection.
    timed(_SMALL_BYTES)
    latency_s = statistics.median(timed(_SMALL_BYTES) for _ in range(_N_SMALL))
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
    rate = read_bytes / max(min(times) - latency_s, 1e-9)
    parallel_rate = n_parallel = interval_s = None
    if time.monotonic() < until:
        parallel_rate = _parallel_rate(timed, read_bytes, latency_s)
        n_parallel, interval_s = _parallel_requests(timed, latency_s, file)
    # Last: it follows the latency, whose least is known now.
    max_parallel = max(1, file.max_parallel)
    return Store(
        latency_s, rate, parallel_rate, n_parallel, interval_s, max_parallel, file.max_ranges, *counted
    )


def _parallel_rate(timed: Timed, n_bytes: int, latency_s: float) -> float:
    """Return bytes per second of several large reads at once."""
    share = min(n_bytes, max(_FIRST_LARGE_BYTES, n_bytes // _N_PARALLEL))
    with Crew(_N_PARALLEL) as crew:
        start = time.perf_counter()
        crew.do(partial(timed, share, 1), _N_PARALLEL)
        elapsed_s = time.perf_counter() - start
    return _N_PARALLEL * share / max(elapsed_s - latency_s, 1e-9)


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
        with Crew(n_parallel) as crew:
            crew.do(partial(timed, _SMALL_BYTES, 1), n_parallel)
            start = time.perf_counter()
            crew.do(partial(timed, _SMALL_BYTES, 1), n_requests)
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
    # Of two that take equally long, the one that reads and holds less.
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
    default = next((c for c in found if c.options["strategy"] == "auto" and c.is_plain), None)
    if default is not None and default not in chosen:
        chosen.append(default)
    return chosen


def ranked(found: Sequence[Candidate]) -> list[Candidate]:
    """Return those that were run, the fastest first, and then the others by their prediction."""
    return sorted(found, key=lambda c: (c.best_ns is None, c.best_ns or c.predicted.wall_ns))


def export_line(candidate: Candidate) -> str:
    """Return the line for a shell that sets what was measured, but for what is secret."""
    parts = [
        f"ARROWROOT_{name.upper()}={shlex.quote(value.replace(' ', '') if name == 'cache_size' else value)}"
        for name, value in shown(candidate.options).items()
    ]
    return "export " + " ".join(parts)
