"""The report of `arrowroot perf`, as text and as JSON."""

from __future__ import annotations

import os
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import arrowroot
from arrowroot import _terminal as terminal
from arrowroot._cost import metrics as _metrics
from arrowroot._progress import bar
from arrowroot._render import printable, text_table, without_secrets
from arrowroot._report import accounts as _accounts
from arrowroot._sizes import counted, format_bytes, format_count, format_seconds, parse_size
from arrowroot.cli.target import json_indent

if TYPE_CHECKING:
    import argparse

    from arrowroot import Account, File, Tree
    from arrowroot._cost.metrics import Measurement, Metric
    from arrowroot._report.busy import Busy
    from arrowroot._report.monitor import Series
    from arrowroot._report.perfstat import PerfStat

#: A share of the file that is worth a note if it was in the page cache.
_NOTABLE_SHARE = 0.01
#: Times of TTreePerfStats that may be more than Real Time.
_SUMMED = ("cpu_time_ns", "disk_time_ns")
_PER_S = " (1/s)"
_SPLIT_KEYS = ("read", "decompress", "decode", "wait")
#: The measures that are compared between several reads; the others are the same for each.
_VARYING = (
    "real_time_ns",
    "cpu_time_ns",
    "disk_time_ns",
    "read_unzip_real_bytes_per_s",
    "read_unzip_cpu_bytes_per_s",
    "decompress_ns",
    "decode_ns",
    "wait_ns",
    "cpu_efficiency_percent",
    "peak_rss_bytes",
    "entries_per_s",
    "page_cache_percent",
)


@dataclass
class Report:
    """The reads of one target, and their cost."""

    file: File
    tree: Tree
    paths: list[str]
    passes: list[Measurement]
    #: What the layers were asked for in the first pass, and the store since the opening until its end.
    of_scan: list[Account]
    of_file: list[Account]
    series: Series | None
    #: The work of other processes during all passes; None: nobody knows.
    busy: Busy | None


def batches_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a scan which say how large its batches are."""
    if options.batch_entries is not None:
        return {"batch_entries": options.batch_entries}
    return {"batch_size": options.batch_size}


def _batches_text(options: argparse.Namespace) -> str:
    if options.batch_entries is not None:
        return counted(options.batch_entries, "entry", "entries")
    return format_bytes(parse_size(options.batch_size))


def _page_cache_text(passes: list[Measurement], *, is_cold: bool) -> str:
    def share(measurement: Measurement) -> str:
        value = measurement.page_cache_share
        return "unknown" if value is None else f"{100 * value:.0f} % of the file"

    dropped = ", dropped before each read" if is_cold else ""
    text = f"page cache before the first read: {share(passes[0])}{dropped}"
    return text + (f"; before the last: {share(passes[-1])}" if len(passes) > 1 else "")


def print_text(report: Report, options: argparse.Namespace) -> None:
    """Print the report for people."""
    tree, passes = report.tree, report.passes
    style = terminal.Style(sys.stdout)
    first = _metrics.values(passes[0])
    what = f"{counted(passes[0].n_columns, 'column')}, {format_count(passes[0].stats.n_entries)} of "
    what += f"{format_count(tree.num_entries)} entries"
    if options.fraction is not None:
        what += f" (a fraction of {options.fraction:g} with seed {options.seed})"
    if options.filter is not None:
        what += f", for which {printable(options.filter)}"
    print(f"{style.strong(printable(tree.location))}\n{what}, batches of {_batches_text(options)}")
    print(
        textwrap.fill(
            _page_cache_text(passes, is_cold=options.cold), terminal.width(), subsequent_indent="  "
        )
    )
    if arrowroot.debug_build:
        print("a debug build: its times mean nothing")
    print()
    metrics = _metrics.by_key()
    for metric in _metrics.METRICS:
        if metric.alias and first[metric.key] is not None:
            print(_named(metric, first) + ("  (of all threads, added up)" if metric.key in _SUMMED else ""))
    n_threads = passes[0].stats.n_threads
    added = ", added up" if n_threads > 1 else ""
    print(f"\n{style.strong('Time of all threads')}  wall times of {counted(n_threads, 'thread')}{added}")
    for kind in _SPLIT_KEYS:
        percent = first[f"{kind}_percent"]
        time_text = _metrics.shown(metrics[f"{kind}_ns"], first[f"{kind}_ns"])
        drawn = style.accent(bar((percent or 0) / 100).rstrip())
        print(f"{kind:<10}  {time_text:>10}  {percent or 0:5.1f} %  {drawn}".rstrip())
    real_ns = first["real_time_ns"] or 0
    rest_ns = n_threads * real_ns - sum(first[f"{kind}_ns"] or 0 for kind in _SPLIT_KEYS)
    if rest_ns > 0:
        rest_text = _metrics.shown(metrics["real_time_ns"], rest_ns)
        print(f"{'(rest)':<10}  {rest_text:>10}  planning, handing batches over, idle threads")
    print()
    for metric in _metrics.METRICS:
        if metric.label and metric.label not in _SPLIT_KEYS and first[metric.key] is not None:
            print(_named(metric, first, width=14))
    print("\n" + style.strong("Storage, by layer"))
    print(text_table(_accounts.rows(report.of_scan), right=[False, False] + [True] * 6))
    print("\n" + style.strong("Storage since the opening"))
    print(text_table(_accounts.rows(report.of_file), right=[False, False] + [True] * 6))
    if report.series is not None:
        from arrowroot._report import monitor

        n_samples = counted(len(report.series.times_ns), "sample")
        print("\n" + style.strong(f"Process and machine, {n_samples}"))
        print(text_table(monitor.rows(report.series), right=[False, True, True, False]))
    if len(passes) > 1:
        _print_repeats(passes, style)
    for note in _notes(report, is_cold=options.cold):
        print("\n" + textwrap.fill(note, terminal.width()))


def _notes(report: Report, *, is_cold: bool) -> list[str]:
    """Return what there is to know before these times are believed."""
    notes = []
    share = report.passes[0].page_cache_share or 0.0
    if share >= _NOTABLE_SHARE and not is_cold:
        how = "read" if share > 1 - _NOTABLE_SHARE else "partly read"
        notes.append(
            f"{how} from memory, not from the disk: {100 * share:.0f} % of the file was in the page cache; "
            "--cold reads from the disk"
        )
    if report.busy is not None and report.busy.is_busy:
        notes.append(
            f"the machine was busy: {report.busy}; times may be too long: repeat it when it is quiet"
        )
    return notes


def print_together(reports: list[Report]) -> None:
    """Print the sums of several files."""
    passes = [report.passes[0] for report in reports]
    n_entries = sum(one.stats.n_entries for one in passes)
    seconds, cpu = sum(one.real_ns for one in passes) / 1e9, sum(one.cpu_ns for one in passes) / 1e9
    print(
        f"\n{terminal.Style(sys.stdout).strong(f'all {len(reports)} files')}  "
        f"{counted(n_entries, 'entry', 'entries')}, {format_bytes(sum(one.stats.read_bytes for one in passes))} "
        f"in {counted(sum(one.stats.read_calls for one in passes), 'read')}, "
        f"{format_seconds(seconds)}, {format_seconds(cpu)} of CPU time"
    )


def _named(metric: Metric, values: dict[str, _metrics.Number | None], width: int = 9) -> str:
    name = metric.alias or metric.label or metric.key
    return f"{name:<{width}} = {_metrics.shown(metric, values[metric.key])}"


def _print_repeats(passes: list[Measurement], style: terminal.Style) -> None:
    """Print the first read beside the later ones, whose page cache is in another state."""
    first = _metrics.values(passes[0])
    later = _metrics.summary(_metrics.values(measurement) for measurement in passes[1:])
    metrics = _metrics.by_key()
    rows = [["", "first read", "later: min", "median", "max", "spread"]]
    for key in _VARYING:
        metric = metrics[key]
        if key not in later:
            continue
        values = later[key]
        spread = values["spread"]
        rows.append(
            [
                # A unit of words stands once in a row, for the table to fit 80 columns.
                f"{metric.alias or metric.label or key}{_PER_S if metric.unit == 'entries/s' else ''}",
                *(
                    _metrics.shown(metric, value).removesuffix(" entries/s")
                    for value in (first[key], *(values[name] for name in ("min", "median", "max")))
                ),
                "-" if spread is None else f"{100 * spread:.1f} %",
            ]
        )
    print("\n" + style.strong(f"{len(passes)} reads"))
    print(text_table(rows))


def print_saved(found: PerfStat, where: str, *, as_json: bool) -> None:
    """Print a TTreePerfStats that was read, for people or as JSON with the keys of a report."""
    if as_json:
        import json

        document = {
            "form": _metrics.JSON_FORM,
            "from": without_secrets(where),
            "name": found.name,
            "title": found.title,
            "host": found.host,
            "reads": [found.values],
            "first": found.values,
            "physical_reads": found.reads,
        }
        print(json.dumps(document, indent=2))
        return
    style = terminal.Style(sys.stdout)
    print(f"{style.strong(printable(found.title or without_secrets(where)))}\n{printable(found.host)}\n")
    for metric in _metrics.METRICS:
        value = found.values.get(metric.key)
        if metric.alias and value is not None:
            print(_named(metric, found.values))
    print()
    for metric in _metrics.METRICS:
        if metric.label and found.values.get(metric.key) is not None:
            print(_named(metric, found.values, width=14))


def print_json(report: Report, options: argparse.Namespace) -> None:
    """Print the measures in base units (the suffix of the key): bytes, ns, bytes per s, %."""
    import json
    import platform

    tree, passes = report.tree, report.passes
    values = [_metrics.values(measurement) for measurement in passes]
    document: dict[str, Any] = {
        "form": _metrics.JSON_FORM,
        "arrowroot": arrowroot.__version__,
        "debug_build": arrowroot.debug_build,
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "n_cores": os.cpu_count(),
        },
        "url": tree.url,
        "tree": tree.path,
        "columns": report.paths,
        "n_entries": passes[0].stats.n_entries,
        "num_entries": tree.num_entries,
        "options": {
            "entries": [options.entries.start, options.entries.stop] if options.entries else None,
            "fraction": options.fraction,
            "filter": options.filter,
            "seed": options.seed if options.fraction is not None else None,
            "order": options.order,
            "threads": options.threads,
            "repeat": options.repeat,
            "batch_bytes": None if options.batch_entries else parse_size(options.batch_size, "--batch-size"),
            "batch_entries": options.batch_entries,
            "memory_budget_bytes": parse_size(options.memory_budget, "--memory-budget"),
            "cold": options.cold,
            "storage": [
                {"name": option.name, "value": option.value, "origin": option.origin}
                for option in report.file.options
            ],
        },
        "reads": values,
        "first": values[0],
        "later": _metrics.summary(values[1:]) if len(values) > 1 else None,
        "accounts": {
            "scan": [account._asdict() for account in report.of_scan],
            "file": [account._asdict() for account in report.of_file],
        },
        "monitor": None if report.series is None else report.series.data(),
        "busy": None if report.busy is None else report.busy.data(),
    }
    print(json.dumps(document, indent=json_indent(is_alone=options.is_alone)))
