"""All metrics of a reading, in one table: the report, the JSON and the documentation come from it.

Those with a ROOT alias are the measures of ROOT's TTreePerfStats, in its order and by its definitions (ROOT
6,
tree/treeplayer/src/TTreePerfStats.cxx): what it reads besides is not in ReadTotal, but in Readextra. Where
ROOT estimates (ReadUnZip, from the mean compression of the whole tree), the number here is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from arrowroot._sizes import format_bytes, format_rate, format_seconds, three_digits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from arrowroot._cost.plan import ScanStats

Number = int | float

#: JSON documents of `perf` name their form by this; it changes when a key changes its meaning or goes.
JSON_FORM = "arrowroot.perf/3"


@dataclass(frozen=True)
class Measurement:
    """The measured values of one pass."""

    stats: ScanStats
    n_columns: int
    n_leaves: int
    #: Of the tree cache; None where the strategy has none.
    tree_cache_bytes: int | None
    #: Largest gap between ranges that one read still spans.
    readahead_bytes: int
    #: Wall and CPU time (user and system, all threads) of the process, from planning to the last batch.
    real_ns: int
    cpu_ns: int
    peak_rss_bytes: int
    #: Share of the file that was in the operating system's page cache before the pass; None: cannot be known.
    page_cache_share: float | None
    #: After each batch: the entries done so far, delivered or passed over by a filter, and the ns since the clock was
    #: started.
    deliveries: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Metric:
    """One metric. ``value`` is an exact count or derived from such when asked for; None: undefined here."""

    key: str
    unit: str
    description: str
    better: Literal["lower", "higher"] | None
    group: str
    value: Callable[[Measurement], Number | None]
    alias: str | None = None
    label: str | None = None


def _over(part: Number, whole: Number, factor: float = 1.0) -> float | None:
    return factor * part / whole if whole else None


def _at_most(bound: float, value: float | None) -> float | None:
    return None if value is None else min(bound, value)


#: Of a shorter time no rate is told: reading the clock takes a good part of it.
_SHORTEST_NS = 1_000


def _rate(amount: Number, ns: int) -> float | None:
    """Return an amount for each second; None if the time is too short to tell."""
    return amount / ns * 1e9 if ns >= _SHORTEST_NS else None


def _share(part_ns: Callable[[ScanStats], int]) -> Callable[[Measurement], float | None]:
    """Return the share, in per cent, of one kind of time in all that the threads spent."""
    return lambda m: _over(part_ns(m.stats), _thread_ns(m.stats), 100)


def _thread_ns(stats: ScanStats) -> int:
    return stats.decoder_read_ns + stats.decompress_ns + stats.decode_ns + stats.wait_ns


_ROOT = "TTreePerfStats"
_SPLIT = "Time of all threads"
_MORE = "Besides"

METRICS: tuple[Metric, ...] = (
    Metric(
        "tree_cache_bytes",
        "B",
        "Size of the tree cache; undefined but with the strategy treecache",
        None,
        _ROOT,
        lambda m: m.tree_cache_bytes,
        "TreeCache",
    ),
    Metric(
        "n_leaves",
        "",
        "Number of leaves in the tree, read or not",
        None,
        _ROOT,
        lambda m: m.n_leaves,
        "N leaves",
    ),
    Metric(
        "read_total_bytes",
        "B",
        "Bytes that came from the store, those read in excess too, as ROOT 6.40 counts them (its documentation "
        "leaves these out); what came with the opening or was in a cache is not among them",
        "lower",
        _ROOT,
        lambda m: m.stats.read_bytes,
        "ReadTotal",
    ),
    Metric(
        "read_unzip_bytes",
        "B",
        "The baskets that were decoded, uncompressed, without their keys: exact, where ROOT multiplies ReadTotal, "
        "excess and all, by the mean compression of the tree",
        None,
        _ROOT,
        lambda m: m.stats.unzip_bytes,
        "ReadUnZip",
    ),
    Metric(
        "read_calls",
        "",
        "Number of physical reads",
        "lower",
        _ROOT,
        lambda m: m.stats.read_calls,
        "ReadCalls",
    ),
    Metric(
        "read_size_bytes",
        "B",
        "ReadTotal over ReadCalls",
        "higher",
        _ROOT,
        lambda m: _over(m.stats.read_bytes, m.stats.read_calls),
        "ReadSize",
    ),
    Metric(
        "readahead_bytes",
        "B",
        "Largest gap between two ranges that are still read as one",
        None,
        _ROOT,
        lambda m: m.readahead_bytes,
        "Readahead",
    ),
    Metric(
        "read_extra_percent",
        "%",
        "Share of ReadTotal that no basket needed, or that was sent again: gaps between ranges read as one, as in "
        "ROOT, and the rest of windows, segments and blocks, which ROOT does not count",
        "lower",
        _ROOT,
        lambda m: _over(m.stats.overhead_bytes, m.stats.read_bytes, 100),
        "Readextra",
    ),
    Metric(
        "real_time_ns",
        "ns",
        "Wall time, from planning to the last batch",
        "lower",
        _ROOT,
        lambda m: m.real_ns,
        "Real Time",
    ),
    Metric(
        "cpu_time_ns",
        "ns",
        "CPU time of the process in that time, user and system, all threads",
        "lower",
        _ROOT,
        lambda m: m.cpu_ns,
        "CPU Time",
    ),
    Metric(
        "disk_time_ns",
        "ns",
        "Time in physical reads, summed over threads",
        "lower",
        _ROOT,
        lambda m: m.stats.read_ns,
        "Disk Time",
    ),
    Metric(
        "disk_io_bytes_per_s",
        "B/s",
        "ReadTotal over Disk Time",
        "higher",
        _ROOT,
        lambda m: _rate(m.stats.read_bytes, m.stats.read_ns),
        "Disk IO",
    ),
    Metric(
        "read_unzip_real_bytes_per_s",
        "B/s",
        "ReadUnZip over Real Time",
        "higher",
        _ROOT,
        lambda m: _rate(m.stats.unzip_bytes, m.real_ns),
        "ReadUZRT",
    ),
    Metric(
        "read_unzip_cpu_bytes_per_s",
        "B/s",
        "ReadUnZip over CPU Time",
        "higher",
        _ROOT,
        lambda m: _rate(m.stats.unzip_bytes, m.cpu_ns),
        "ReadUZCP",
    ),
    Metric(
        "read_real_bytes_per_s",
        "B/s",
        "ReadTotal over Real Time",
        "higher",
        _ROOT,
        lambda m: _rate(m.stats.read_bytes, m.real_ns),
        "ReadRT",
    ),
    Metric(
        "read_cpu_bytes_per_s",
        "B/s",
        "ReadTotal over CPU Time",
        "higher",
        _ROOT,
        lambda m: _rate(m.stats.read_bytes, m.cpu_ns),
        "ReadCP",
    ),
    Metric(
        "read_ns",
        "ns",
        "Decoding threads in physical reads; none where others fetch ahead, which is read time and perhaps wait",
        "lower",
        _SPLIT,
        lambda m: m.stats.decoder_read_ns,
        label="read",
    ),
    Metric(
        "decompress_ns",
        "ns",
        "Threads decompressing baskets",
        "lower",
        _SPLIT,
        lambda m: m.stats.decompress_ns,
        label="decompress",
    ),
    Metric(
        "decode_ns",
        "ns",
        "Threads turning basket bytes into Arrow values",
        "lower",
        _SPLIT,
        lambda m: m.stats.decode_ns,
        label="decode",
    ),
    Metric(
        "wait_ns",
        "ns",
        "Threads waiting for a window or for a free buffer",
        "lower",
        _SPLIT,
        lambda m: m.stats.wait_ns,
        label="wait",
    ),
    Metric(
        "read_percent",
        "%",
        "Share of the time of decoding threads in physical reads",
        None,
        _SPLIT,
        _share(lambda s: s.decoder_read_ns),
    ),
    Metric(
        "decompress_percent",
        "%",
        "Share of the time of decoding threads in decompression",
        None,
        _SPLIT,
        _share(lambda s: s.decompress_ns),
    ),
    Metric(
        "decode_percent",
        "%",
        "Share of the time of decoding threads in decoding",
        None,
        _SPLIT,
        _share(lambda s: s.decode_ns),
    ),
    Metric(
        "wait_percent",
        "%",
        "Share of the time of decoding threads in waiting",
        "lower",
        _SPLIT,
        _share(lambda s: s.wait_ns),
    ),
    Metric(
        "cpu_efficiency_percent",
        "%",
        "CPU Time over Real Time; above 100 when several threads work",
        "higher",
        _MORE,
        lambda m: _over(m.cpu_ns, m.real_ns, 100),
        label="CPU efficiency",
    ),
    Metric(
        "thread_utilisation_percent",
        "%",
        "CPU Time over Real Time times threads, 100 at most: threads that fetch ahead have CPU Time, too",
        "higher",
        _MORE,
        lambda m: _at_most(100, _over(m.cpu_ns, m.real_ns * m.stats.n_threads, 100)),
        label="Thread use",
    ),
    Metric("n_threads", "", "Threads that decode", None, _MORE, lambda m: m.stats.n_threads, label="Threads"),
    Metric(
        "peak_rss_bytes",
        "B",
        "Largest resident memory of the process during the pass",
        "lower",
        _MORE,
        lambda m: m.peak_rss_bytes,
        label="Peak memory",
    ),
    Metric(
        "peak_buffer_bytes",
        "B",
        "Most memory held by windows and by batches not yet delivered",
        "lower",
        _MORE,
        lambda m: m.stats.peak_buffer_bytes,
        label="Peak buffers",
    ),
    Metric("n_entries", "", "Entries delivered", None, _MORE, lambda m: m.stats.n_entries, label="Entries"),
    Metric(
        "n_looked_at",
        "",
        "Entries that the filter looked at; undefined without a filter",
        None,
        _MORE,
        lambda m: m.stats.n_looked_at or None,
        label="Looked at",
    ),
    Metric(
        "entries_per_s",
        "entries/s",
        "Entries over Real Time",
        "higher",
        _MORE,
        lambda m: _rate(m.stats.n_entries, m.real_ns),
        label="Entries rate",
    ),
    Metric("n_columns", "", "Columns read", None, _MORE, lambda m: m.n_columns, label="Columns"),
    Metric("n_baskets", "", "Baskets decoded", "lower", _MORE, lambda m: m.stats.n_baskets, label="Baskets"),
    Metric(
        "values_bytes",
        "B",
        "Bytes of the Arrow buffers delivered",
        None,
        _MORE,
        lambda m: m.stats.values_bytes,
        label="Values",
    ),
    Metric(
        "payload_bytes",
        "B",
        "Bytes that the format asked for: compressed baskets with their keys, wherever they came from",
        "lower",
        _MORE,
        lambda m: m.stats.payload_bytes,
        label="Payload",
    ),
    Metric(
        "compression_ratio",
        "",
        "Uncompressed over compressed bytes of the baskets read, both with their keys (of an RNTuple: its pages), as "
        "`ls` and ROOT's `fTotBytes` over `fZipBytes` have it; below 1 where the keys are most of small baskets",
        None,
        _MORE,
        lambda m: m.stats.compression_ratio,
        label="Compression",
    ),
    Metric(
        "page_cache_percent",
        "%",
        "Share of the file in the page cache of the operating system before the pass",
        None,
        _MORE,
        lambda m: None if m.page_cache_share is None else 100 * m.page_cache_share,
        label="In page cache",
    ),
)

#: How the values of a unit are shown.
_SHOWN: dict[str, Callable[[Number], str]] = {
    "B": format_bytes,
    "B/s": format_rate,
    "ns": lambda value: format_seconds(value / 1e9),
    "%": lambda value: f"{value:.2f} %",
    "entries/s": lambda value: f"{round(value):,} entries/s",
    "": lambda value: f"{value:,}" if isinstance(value, int) else three_digits(value),
}


def by_key() -> dict[str, Metric]:
    """Return the metrics by their key."""
    return {metric.key: metric for metric in METRICS}


def values(measurement: Measurement) -> dict[str, Number | None]:
    """Return the value of every metric, by key, in the base unit of the key's suffix: B, ns, B/s, %."""
    return {metric.key: metric.value(measurement) for metric in METRICS}


def shown(metric: Metric, value: Number | None) -> str:
    """Return a value to read, in the unit that fits: "12.3 MB"; "-" if undefined."""
    return "-" if value is None else _SHOWN[metric.unit](value)


def summary(samples: Iterable[dict[str, Number | None]]) -> dict[str, dict[str, Any]]:
    """Return min, median and max of each metric over repeats, and spread: (max - min) / median."""
    import statistics

    every = list(samples)
    result: dict[str, dict[str, Any]] = {}
    for metric in METRICS:
        numbers = [sample[metric.key] for sample in every]
        defined = [number for number in numbers if number is not None]
        if not defined:
            continue
        low, middle, high = min(defined), statistics.median(defined), max(defined)
        result[metric.key] = {"min": low, "median": middle, "max": high, "spread": _over(high - low, middle)}
    return result


_PREAMBLE = """\
# The measures of `arrowroot perf`

*Generated from `python/arrowroot/_cost/metrics.py`, and a test keeps it so. `arrowroot perf --explain` says the same.*

Keys are those of `--json`, in the base unit of their suffix: bytes, ns, bytes per s, %. Counts are exact; ratios are
derived from them when shown. Sizes, times and rates are printed with three digits and the unit that fits: 7.31 kB,
39.7 ms, 306 MB/s. A measure that is undefined, as a ratio to nothing, is null, and left out of the printed report.
Those of TTreePerfStats are defined as in ROOT 6.40 but for what is said beside them."""


def document() -> str:
    """Return ``docs/metrics.md``."""
    lines = [_PREAMBLE]
    for group in dict.fromkeys(metric.group for metric in METRICS):
        lines += ["", f"## {group}", "", "| shown as | unit | key | better | what |", "|---|---|---|---|---|"]
        lines += [
            f"| {metric.alias or metric.label or ''} | {metric.unit} | `{metric.key}` | {metric.better or ''} | "
            f"{metric.description} |"
            for metric in METRICS
            if metric.group == group
        ]
    return "\n".join(lines) + "\n"
