"""`arrowroot perf`: reads a tree and reports what it cost."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arrowroot
from arrowroot import InvalidRequestError, _metrics, _plot
from arrowroot._measure import drop_from_page_cache, measure
from arrowroot._render import printable, text_table
from arrowroot._sizes import counted, format_bytes, format_count, parse_size
from arrowroot.cli import terminal
from arrowroot.cli.progress import Progress, bar
from arrowroot.cli.target import column_texts, open_tree, storage_options

if TYPE_CHECKING:
    import argparse

    import numpy as np
    import numpy.typing as npt

    from arrowroot import Read, Scan, Tree
    from arrowroot._metrics import Measurement, Metric

_SPLIT_KEYS = ("read", "decompress", "decode", "wait")
#: Of several reads, these are compared; the other measures are the same for each.
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


def run(options: argparse.Namespace) -> None:
    """Read, report, draw."""
    if options.explain:
        _explain()
        return
    if options.url is None:
        raise InvalidRequestError("perf: which file? arrowroot perf URL[:TREE]")
    if options.plot:
        _plot.check(options.plot)
    if options.trace and not Path(options.trace).parent.is_dir():
        raise InvalidRequestError(f"--trace {options.trace}: there is no such directory")
    file, tree = open_tree(options.url, storage_options(options))
    first_entry, end, entries = _chosen_entries(tree, options)
    paths = tree.choose(column_texts(options.columns))
    local = tree.url if os.path.isfile(tree.url) else None  # noqa: PTH113 - text
    wants_trace = bool(options.plot or options.trace)
    passes: list[Measurement] = []
    reads: list[Read] = []
    for i in range(options.repeat):
        if options.cold and local:
            drop_from_page_cache(local)

        def make_scan(*, trace: bool = wants_trace and i == 0) -> Scan:
            return tree.scan(
                paths,
                entries=entries,
                batch_size=options.batch_size,
                memory_budget=options.memory_budget,
                n_threads=options.threads,
                # Text that is not UTF-8 costs the same, and is no reason not to measure.
                strings="binary",
                trace=trace,
            )

        label = f"reading {i + 1}/{options.repeat}" if options.repeat > 1 else "reading"
        with Progress(label) as progress:
            measurement, scan = measure(
                make_scan,
                n_leaves=tree.n_leaves,
                memory_budget_bytes=parse_size(options.memory_budget, "--memory-budget"),
                path=local,
                watch=progress.watch,
            )
        passes.append(measurement)
        if i == 0:
            reads = scan.trace()
    if options.json:
        _print_json(tree, paths, passes, options)
    else:
        _print_report(tree, passes, options)
    if options.trace:
        _write_trace(options.trace, reads)
    if options.plot:
        title = f"{Path(tree.url).name}:{tree.path}"
        delivered = [
            (first_entry + n if isinstance(entries, slice) else int(entries[n - 1]) + 1, ns)
            for n, ns in passes[0].deliveries
            if n
        ]
        _plot.draw(options.plot, reads, passes[0], title, entries=(first_entry, end), delivered=delivered)
        print(f"picture: {options.plot}", file=sys.stderr)


def _chosen_entries(
    tree: Tree, options: argparse.Namespace
) -> tuple[int, int, slice | npt.NDArray[np.int64]]:
    """Return the range asked for, and the entries to read of it."""
    start, stop, _ = (options.entries or slice(None)).indices(tree.num_entries)
    stop = max(start, stop)
    if options.fraction is None:
        return start, stop, slice(start, stop)
    import numpy as np  # noqa: PLC0415 - a whole tree does not need it

    n_all = stop - start
    picked = np.random.default_rng(options.seed).choice(
        n_all, size=round(n_all * options.fraction), replace=False
    )
    return start, stop, np.sort(picked.astype(np.int64)) + start


def _explain() -> None:
    width = min(terminal.width(), 110)
    import textwrap  # noqa: PLC0415 - only here

    for metric in _metrics.METRICS:
        unit = f", shown in {metric.unit}" if metric.unit else ""
        better = f", {metric.better} is better" if metric.better else ""
        print(f"{metric.alias or metric.label or metric.key}  ({metric.key}{unit}{better})")
        print(textwrap.fill(metric.description, width, initial_indent="    ", subsequent_indent="    "))


def _page_cache_text(passes: list[Measurement], *, is_cold: bool) -> str:
    def share(measurement: Measurement) -> str:
        value = measurement.page_cache_share
        return "unknown" if value is None else f"{100 * value:.0f} % of the file"

    dropped = ", dropped before each read" if is_cold else ""
    text = f"page cache before the first read: {share(passes[0])}{dropped}"
    return text + (f"; before the last: {share(passes[-1])}" if len(passes) > 1 else "")


def _print_report(tree: Tree, passes: list[Measurement], options: argparse.Namespace) -> None:
    style = terminal.Style(sys.stdout)
    first = _metrics.values(passes[0])
    what = f"{counted(passes[0].n_columns, 'column')}, {format_count(passes[0].stats.n_entries)} of "
    what += f"{format_count(tree.num_entries)} entries"
    if options.fraction is not None:
        what += f" (a fraction of {options.fraction:g} with seed {options.seed})"
    print(
        f"{style.strong(printable(tree.where))}\n{what}, "
        f"batches of {format_bytes(parse_size(options.batch_size))}"
    )
    print(_page_cache_text(passes, is_cold=options.cold))
    if arrowroot.debug_build:
        print("a debug build: its times mean nothing")
    print()
    metrics = _metrics.by_key()
    for metric in _metrics.METRICS:
        if metric.alias:
            print(_named(metric, first))
    print("\n" + style.strong("Time of all threads"))
    for kind in _SPLIT_KEYS:
        percent = first[f"{kind}_percent"]
        time_text = _metrics.shown(metrics[f"{kind}_ns"], first[f"{kind}_ns"])
        drawn = style.accent(bar((percent or 0) / 100)).rstrip()
        print(f"{kind:<10}  {time_text:>10}  {percent or 0:5.1f} %  {drawn}".rstrip())
    print()
    for metric in _metrics.METRICS:
        if metric.label and metric.label not in _SPLIT_KEYS:
            print(_named(metric, first, width=14))
    if len(passes) > 1:
        _print_repeats(passes, style)


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
                metric.alias or metric.label or key,
                _metrics.shown(metric, first[key]),
                *(_metrics.shown(metric, values[name]) for name in ("min", "median", "max")),
                "-" if spread is None else f"{100 * spread:.1f} %",
            ]
        )
    print("\n" + style.strong(f"{len(passes)} reads"))
    print(text_table(rows))


def _print_json(tree: Tree, paths: list[str], passes: list[Measurement], options: argparse.Namespace) -> None:
    """Print the measures in base units (the suffix of the key): bytes, ns, bytes per s, %."""
    import json  # noqa: PLC0415 - text does not need it
    import platform  # noqa: PLC0415

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
        "columns": paths,
        "n_entries": passes[0].stats.n_entries,
        "num_entries": tree.num_entries,
        "options": {
            "entries": [options.entries.start, options.entries.stop] if options.entries else None,
            "fraction": options.fraction,
            "seed": options.seed if options.fraction is not None else None,
            "threads": options.threads,
            "repeat": options.repeat,
            "batch_bytes": parse_size(options.batch_size, "--batch-size"),
            "memory_budget_bytes": parse_size(options.memory_budget, "--memory-budget"),
            "cold": options.cold,
        },
        "reads": values,
        "first": values[0],
        "later": _metrics.summary(values[1:]) if len(values) > 1 else None,
    }
    print(json.dumps(document, indent=2))


def _write_trace(path: str, reads: list[Read]) -> None:
    with Path(path).open("w", encoding="utf-8") as file:
        file.write("offset,n_bytes,first_entry,end_entry,start_ns,end_ns\n")
        file.writelines(",".join(map(str, read)) + "\n" for read in reads)
