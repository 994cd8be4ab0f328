"""What can be asked of a sample: all metrics, each with its unit and which way is better."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.errors import RequestError
from arrowroot_lab.store.summary import load_of, network_of, round_trip_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from arrowroot_lab.documents import Result, Sample

#: What a figure of several samples is.
STATISTICS: dict[str, Callable[[list[float]], float]] = {"median": statistics.median, "minimum": min}


@dataclass(frozen=True)
class Metric:
    """One quantity of a sample."""

    #: With its unit, as in documents: ``wall_ns``; a counter is ``LAYER.NAME``.
    key: str
    title: str
    #: How it is shown: see ``format.shown``.
    form: str
    description: str
    is_lower_better: bool = True

    @property
    def has_waits(self) -> bool:
        """True if what others do on a node is in it."""
        return self.form in ("time", "share", "rate") and self.key not in _ITS_OWN

    def value(self, result: Result, sample: Sample) -> float | None:
        """Return the value of a sample; None if it does not tell it."""
        if self.key == "cpu_efficiency":
            if not sample.wall_ns or sample.cpu_ns is None:
                return None
            return sample.cpu_ns / (sample.wall_ns * n_cores_asked(result))
        if self.key == "unqueued_ns":
            return None if sample.wall_ns is None else sample.wall_ns - (sample.queued_ns or 0)
        if self.key in READINGS:
            return _READ[self.key](result, sample)
        if self.key == "entries_per_s":
            n_entries = sample.details.get("n_entries", result.dataset.get("n_entries"))
            return n_entries / sample.wall_ns * 1e9 if sample.wall_ns and n_entries else None
        layer, _, name = self.key.partition(".")
        if name:
            return sample.counters.get(layer, {}).get(name)
        value: float | None = getattr(sample, self.key)
        return value

    def values(self, result: Result) -> list[float]:
        """Return the values of the counted samples, in their order."""
        told = [self.value(result, sample) for sample in result.counted()]
        return [value for value in told if value is not None]

    def figure(self, result: Result, statistic: str = "median") -> float | None:
        """Return the figure of a result: the median or minimum of its counted samples; None if there are none."""
        values = self.values(result)
        return STATISTICS[statistic](values) if values else None


#: Those that every result may have; counters come besides.
METRICS: dict[str, Metric] = {
    one.key: one
    for one in (
        Metric("wall_ns", "wall time", "time", "from before the open until the last entry"),
        Metric("cpu_ns", "CPU time", "time", "user and system, of all threads, in the same time"),
        Metric(
            "cpu_efficiency",
            "CPU efficiency",
            "share",
            "CPU time over wall time and cores",
            is_lower_better=False,
        ),
        Metric(
            "entries_per_s", "entries per second", "rate", "entries over wall time", is_lower_better=False
        ),
        Metric("peak_rss_bytes", "peak memory", "bytes", "peak resident memory of the process"),
        Metric("peak_virtual_bytes", "virtual memory", "bytes", "peak of the virtual memory"),
        Metric("user_ns", "user time", "time", "of the whole job, its start included"),
        Metric("system_ns", "system time", "time", "of the whole job, its start included"),
        Metric(
            "unqueued_ns",
            "wall time without queues",
            "time",
            "wall time, without what it waited for a processor, where that is known",
        ),
    )
}
#: What is judged where no metric is asked for.
JUDGED = ("wall_ns", "cpu_ns", "peak_rss_bytes", "peak_virtual_bytes")
#: Times that other processes on the node hardly change.
_ITS_OWN = ("cpu_ns", "user_ns", "system_ns")


def judged(key: str, *, is_shared: bool) -> Metric:
    """Return what results of several runs are judged by: on a shared node a wall time without its queues."""
    return METRICS["unqueued_ns"] if is_shared and key == "wall_ns" else metric(key)


#: What was read of the node and of the line while a sample was taken: it explains a figure, and is none.
READINGS: dict[str, Metric] = {
    one.key: one
    for one in (
        Metric("round_trip_ns", "round trip", "time", "to the storage, measured before the samples"),
        Metric("load_1_minute", "load", "count", "processes that the node had to run in the last minute"),
        Metric("network_bytes_per_s", "network", "bytes", "bytes a second that the node sent and received"),
    )
}
_READ: dict[str, Callable[[Result, Sample], float | None]] = {
    "round_trip_ns": lambda result, _: round_trip_of(result),
    "load_1_minute": lambda _, sample: load_of(sample),
    "network_bytes_per_s": lambda _, sample: network_of(sample),
}


def metric(key: str) -> Metric:
    """Return the metric of a key; a counter is ``LAYER.NAME``, as ``store.n_reads``.

    Raises: RequestError if there is none.
    """
    known = METRICS.get(key) or READINGS.get(key)
    if known is not None:
        return known
    layer, _, name = key.partition(".")
    if not (layer and name):
        raise RequestError(
            f"{key}: no such metric; there are {', '.join((*METRICS, *READINGS))}, and counters as store.n_reads"
        )
    title = f"{layer} {name.removesuffix('_ns').removesuffix('_bytes')}"
    return Metric(key, title, _form(name), f"counter of the layer {layer}")


def n_cores_asked(result: Result) -> int:
    """Return how many cores a case may use: workers by threads."""
    return int(result.case.get("threads") or 1) * int(result.case.get("workers") or 1)


def _form(name: str) -> str:
    if name.endswith("_ns"):
        return "time"
    return "bytes" if name.endswith("bytes") else "count"
