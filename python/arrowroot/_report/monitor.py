"""Samples the process and the machine while something runs: CPU, memory, network, disk, connections."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._errors import missing_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

#: A long pass must not fill the memory with samples: when there are so many, every second one goes.
_MAX_SAMPLES = 20_000


#: The kernel counts the CPU of the machine in ticks of 10 ms: over so many of them the error is small.
_MACHINE_CPU_INTERVAL_S = 0.2
#: Shorter intervals are no longer than what taking the samples itself may take.
_SHORTEST_INTERVAL_S = 0.01


class Gauge(NamedTuple):
    """One thing that is sampled. ``is_rate``: what is read is a sum so far, and shown per second.

    ``shortest_s``: no rate is of a shorter time; samples that are closer together make one.
    """

    key: str
    unit: str
    description: str
    is_rate: bool
    read: Callable[[Any, Any], float]
    shortest_s: float = _SHORTEST_INTERVAL_S


def _cpu_seconds(_process: Any, _psutil: Any) -> float:
    # A clock of ns, where psutil has ticks of 10 ms.
    return time.process_time()


def _machine_cpu_seconds(_process: Any, psutil: Any) -> float:
    times = psutil.cpu_times()
    # Guests are part of user and nice; waiting for disks is idling.
    counted = ("user", "nice", "system", "irq", "softirq", "steal")
    return float(sum(getattr(times, name, 0.0) for name in counted))


GAUGES: tuple[Gauge, ...] = (
    Gauge("process_cpu", "cores", "CPU of the process, user and system", True, _cpu_seconds),
    Gauge(
        "machine_cpu",
        "cores",
        "CPU of the machine, all processes",
        True,
        _machine_cpu_seconds,
        _MACHINE_CPU_INTERVAL_S,
    ),
    Gauge(
        "process_memory_bytes",
        "B",
        "resident memory of the process",
        False,
        lambda process, _psutil: process.memory_info().rss,
    ),
    Gauge(
        "machine_memory_bytes",
        "B",
        "memory of the machine in use, without caches",
        False,
        lambda _process, psutil: psutil.virtual_memory().total - psutil.virtual_memory().available,
    ),
    Gauge(
        "machine_received_bytes_per_s",
        "B/s",
        "received by the machine over the network",
        True,
        lambda _process, psutil: psutil.net_io_counters().bytes_recv,
    ),
    Gauge(
        "machine_sent_bytes_per_s",
        "B/s",
        "sent by the machine over the network",
        True,
        lambda _process, psutil: psutil.net_io_counters().bytes_sent,
    ),
    Gauge(
        "process_disk_read_bytes_per_s",
        "B/s",
        "read from disks for the process, page cache excluded",
        True,
        lambda process, _psutil: process.io_counters().read_bytes,
    ),
    Gauge(
        "machine_disk_read_bytes_per_s",
        "B/s",
        "read from disks by the machine",
        True,
        lambda _process, psutil: psutil.disk_io_counters().read_bytes,
    ),
    Gauge(
        "process_connections",
        "",
        "open network connections of the process",
        False,
        lambda process, _psutil: len(_connections(process)),
    ),
)


def _connections(process: Any) -> list[Any]:
    # Called connections() before psutil 6.
    listed = getattr(process, "net_connections", None) or process.connections
    return list(listed(kind="inet"))


@dataclass
class Series:
    """The samples: raw values, and the times of the samples in ns since the start."""

    interval_s: float
    times_ns: list[int] = field(default_factory=list)
    #: By the key of the gauge; those that this machine does not tell are missing.
    raw: dict[str, list[float]] = field(default_factory=dict)
    #: Of the machine: no more of them are ever busy. None: not known.
    n_cores: int | None = None

    def values(self, gauge: Gauge) -> list[tuple[float, float]]:
        """Return (seconds, value) of a gauge; of a rate each value is that since the one before.

        Where samples are closer together than what a rate can be told of, some of them have no value of their own.
        """
        raw = self.raw.get(gauge.key, [])
        seconds = [ns / 1e9 for ns in self.times_ns]
        if not gauge.is_rate:
            return list(zip(seconds, raw, strict=bool(raw)))
        found: list[tuple[float, float]] = []
        before = 0
        for i in range(1, len(raw)):
            rate = self._rate(gauge, before, i)
            if rate is not None:
                found.append((seconds[i], rate))
                before = i
        return found

    def _rate(self, gauge: Gauge, first: int, last: int) -> float | None:
        """Return the rate between two samples; None if they are too close together to tell."""
        elapsed_s = (self.times_ns[last] - self.times_ns[first]) / 1e9
        if elapsed_s < gauge.shortest_s:
            return None
        raw = self.raw[gauge.key]
        rate = max(0.0, raw[last] - raw[first]) / elapsed_s
        # The clocks of CPU and of time are read one after the other, between which the thread may have to wait.
        is_bounded = gauge.unit == "cores" and self.n_cores is not None
        return min(rate, float(self.n_cores or 0)) if is_bounded else rate

    def mean(self, gauge: Gauge) -> float | None:
        """Return the mean over time; None if the gauge was not sampled."""
        raw = self.raw.get(gauge.key, [])
        if not gauge.is_rate:
            return sum(raw) / len(raw) if raw else None
        return self._rate(gauge, 0, len(raw) - 1) if raw else None

    def peak(self, gauge: Gauge) -> float | None:
        """Return the largest sample; None if the gauge was not sampled."""
        return max((value for _, value in self.values(gauge)), default=None)

    def data(self) -> dict[str, Any]:
        """Return it for JSON: for each gauge unit, mean, peak, and the samples as [seconds, value]."""
        return {
            "interval_s": self.interval_s,
            "n_cores": self.n_cores,
            "n_samples": len(self.times_ns),
            "gauges": {
                gauge.key: {
                    "unit": gauge.unit,
                    "description": gauge.description,
                    "mean": self.mean(gauge),
                    "peak": self.peak(gauge),
                    "samples": [[round(seconds, 6), value] for seconds, value in self.values(gauge)],
                }
                for gauge in GAUGES
                if gauge.key in self.raw
            },
        }


class Monitor:
    """Samples from a thread of its own between entering and leaving; a context manager.

    The samples of one moment are not of one instant: they are taken one after the other, in about a
    millisecond. What a gauge cannot read on this machine (a container without disks, say) is left out.
    """

    def __init__(self, interval_s: float) -> None:
        try:
            import psutil
        except ImportError as error:
            raise missing_library("psutil", "--monitor") from error
        self._psutil = psutil
        self._process = psutil.Process()
        self.series = Series(interval_s, n_cores=psutil.cpu_count())
        self._gauges: list[Gauge] = []
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self._start_ns = 0

    def __enter__(self) -> Self:
        self._start_ns = time.perf_counter_ns()
        for gauge in GAUGES:
            value = self._read(gauge)
            if value is not None:
                self._gauges.append(gauge)
                self.series.raw[gauge.key] = [value]
        self.series.times_ns.append(time.perf_counter_ns() - self._start_ns)
        self._thread = threading.Thread(target=self._run, name="arrowroot-monitor", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._thread:
            self._thread.join()
        self._sample()

    def _read(self, gauge: Gauge) -> float | None:
        try:
            return float(gauge.read(self._process, self._psutil))
        except (self._psutil.Error, AttributeError, OSError, NotImplementedError, RuntimeError):
            # A counter that this system does not have: psutil answers None, or raises one of these.
            return None

    def _run(self) -> None:
        interval_s = self.series.interval_s
        due = time.monotonic() + interval_s
        while not self._is_over.wait(max(0.0, due - time.monotonic())):
            self._sample()
            if len(self.series.times_ns) > _MAX_SAMPLES:
                self._thin()
                interval_s *= 2
            due = max(due + interval_s, time.monotonic())

    def _sample(self) -> None:
        now = time.perf_counter_ns() - self._start_ns
        values = [(gauge, self._read(gauge)) for gauge in self._gauges]
        for gauge, value in values:
            before = self.series.raw[gauge.key]
            # One that has gone away meanwhile keeps its last value: the columns stay of one length.
            before.append(before[-1] if value is None else value)
        self.series.times_ns.append(now)

    def _thin(self) -> None:
        self.series.times_ns = self.series.times_ns[::2]
        self.series.raw = {key: values[::2] for key, values in self.series.raw.items()}


def rows(series: Series) -> list[list[str]]:
    """Return a table to print, the header first."""
    table = [["", "mean", "peak", "what"]]
    for gauge in GAUGES:
        if gauge.key in series.raw:
            mean, peak = series.mean(gauge), series.peak(gauge)
            name = gauge.key.removesuffix("_per_s").removesuffix("_bytes").replace("_", " ")
            table.append([name, _shown(mean, gauge.unit), _shown(peak, gauge.unit), gauge.description])
    return table


def _shown(value: float | None, unit: str) -> str:
    from arrowroot._sizes import format_bytes, format_rate, three_digits

    if value is None:
        return "-"
    if unit == "B":
        return format_bytes(value)
    if unit == "B/s":
        return format_rate(value)
    return f"{three_digits(value)} {unit}".rstrip()
