"""`arrowroot perf`: reads a tree and reports what it cost."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import arrowroot
from arrowroot import InvalidRequestError, split_url
from arrowroot import _terminal as terminal
from arrowroot._cost import metrics as _metrics
from arrowroot._pictures import reading, style
from arrowroot._progress import Progress
from arrowroot._report.busy import Watch
from arrowroot._report.measure import drop_from_page_cache, load_filters, measure, tree_cache_bytes
from arrowroot._saving.replacing import replacing
from arrowroot.cli import destinations, perf_report
from arrowroot.cli.parser import parser
from arrowroot.cli.target import column_texts, each_target, open_target, open_tree, storage_options

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from arrowroot import Read, Scan, Tree
    from arrowroot.cli.perf_report import Report

_TRACES = (".parquet", ".arrow")
_OUTPUTS = ("trace", "fjr", "plot", "save")
#: Options that say what to read, how, and what to write of it.
_OF_READING = (
    *("columns", "filter", "entries", "fraction", "seed", "order", "threads", "repeat", "batch_size"),
    *(
        "batch_entries",
        "memory_budget",
        "cold",
        "plot",
        "trace",
        "save",
        "fjr",
        "monitor",
        "monitor_interval",
    ),
)


def run(options: argparse.Namespace) -> int | None:
    """Read, report, draw."""
    if options.explain:
        _explain(as_json=options.json)
        return None
    if options.from_file:
        _report_saved(options)
        return None
    if not options.urls:
        raise InvalidRequestError("perf: which file? arrowroot perf URL[:TREE]")
    reports: list[Report] = []
    wanted = ", ".join(f"--{name}" for name in _OUTPUTS if getattr(options, name))

    def one(url: str, is_alone: bool) -> None:
        alone = {"url": url, "is_alone": is_alone}
        reports.append(_run_one(argparse.Namespace(**{**vars(options), **alone})))

    code = each_target(options, one, separated=not options.json, of_one=wanted)
    if len(reports) > 1 and not options.json:
        perf_report.print_together(reports)
    return code


def _run_one(options: argparse.Namespace) -> Report:
    _check_outputs(options)
    report, scan, (first_entry, end, entries) = _measured(options)
    if options.json:
        perf_report.print_json(report, options)
    else:
        perf_report.print_text(report, options)
    if options.fjr:
        _write_fjr(options.fjr, report)
    if options.save:
        _save(options.save, report, scan)
    if options.trace:
        _write_trace(options, report, scan, (first_entry, end))
    if options.plot:
        title = f"{Path(report.tree.url).name}:{report.tree.path}"
        delivered = [
            (first_entry + n if isinstance(entries, slice) else int(entries[n - 1]) + 1, ns)
            for n, ns in report.passes[0].deliveries
            if n
        ]
        with replacing(options.plot) as beside:
            reading.draw(
                beside,
                scan.trace(),
                report.passes[0],
                title,
                entries=(first_entry, end),
                delivered=delivered,
                series=report.series,
            )
        print(f"picture: {options.plot}", file=sys.stderr)
    return report


def _check_outputs(options: argparse.Namespace) -> None:
    """Raise before any work if what is asked for cannot be written."""
    if options.plot:
        style.check(options.plot)
    named = [(f"--{name}", getattr(options, name)) for name in _OUTPUTS]
    destinations.check(named, {split_url(options.url)[0]: "the file to read"})


def _measured(
    options: argparse.Namespace,
) -> tuple[Report, Scan, tuple[int, int, slice | npt.NDArray[np.int64]]]:
    """Read as often as asked for; return what it cost, the first scan, and the entries it read."""
    file, tree = open_tree(options.url, storage_options(options))
    first_entry, end, entries = _chosen_entries(tree, options)
    paths = tree.choose(column_texts(options.columns))
    local = tree.url if os.path.isfile(tree.url) else None  # noqa: PTH113 - text
    if options.cold and local is None:
        raise InvalidRequestError(
            f"--cold: {tree.url} is no local file: its pages are in no cache of this machine"
        )
    if options.filter:
        load_filters()
    wants_trace = bool(options.plot or options.trace or options.save)
    report = perf_report.Report(file, tree, paths, [], [], [], None, None)
    first: Scan | None = None
    watch = Watch()
    for i in range(options.repeat):
        if options.cold and local is not None:
            drop_from_page_cache(local)

        def make_scan(*, trace: bool = wants_trace and i == 0) -> Scan:
            return tree.scan(
                paths,
                entries=entries,
                filter=options.filter,
                **perf_report.batches_of(options),
                memory_budget=options.memory_budget,
                n_threads=options.threads,
                # Text that is not UTF-8 costs the same, and is no reason not to measure.
                strings="binary",
                trace=trace,
                order=options.order,
            )

        label = f"reading {i + 1}/{options.repeat}" if options.repeat > 1 else "reading"
        with ExitStack() as stack:
            progress = stack.enter_context(Progress(label))
            if options.monitor and i == 0:
                from arrowroot._report.monitor import Monitor

                report.series = stack.enter_context(Monitor(options.monitor_interval)).series
            measurement, scan = measure(
                make_scan,
                n_leaves=tree.n_leaves,
                tree_cache_bytes=tree_cache_bytes(file),
                path=local,
                watch=progress.watch,
            )
        report.passes.append(measurement)
        if first is None:
            first = scan
            report.of_scan, report.of_file = scan.accounts, file.accounts
    report.busy = watch.busy()
    if first is None:
        raise InvalidRequestError("perf: nothing was read")
    return report, first, (first_entry, end, entries)


def _chosen_entries(
    tree: Tree, options: argparse.Namespace
) -> tuple[int, int, slice | npt.NDArray[np.int64]]:
    """Return the range asked for, and the entries to read of it."""
    start, stop, _ = (options.entries or slice(None)).indices(tree.num_entries)
    if options.entries is not None and start >= stop and tree.num_entries:
        raise InvalidRequestError(
            f"perf: {tree.location} has {tree.num_entries} entries, none of them in these --entries"
        )
    stop = max(start, stop)
    if options.fraction is None:
        return start, stop, slice(start, stop)
    import numpy as np

    n_all = stop - start
    picked = np.random.default_rng(options.seed).choice(
        n_all, size=round(n_all * options.fraction), replace=False
    )
    return start, stop, np.sort(picked.astype(np.int64)) + start


def _explain(*, as_json: bool) -> None:
    if as_json:
        import json

        shown = ("key", "alias", "label", "unit", "better", "group", "description")
        metrics = [{name: getattr(metric, name) for name in shown} for metric in _metrics.METRICS]
        print(json.dumps(metrics, indent=2))
        return
    width = min(terminal.width(), 110)
    import textwrap

    for metric in _metrics.METRICS:
        unit = f", {metric.unit}" if metric.unit else ""
        better = f", {metric.better} is better" if metric.better else ""
        print(f"{metric.alias or metric.label or metric.key}  ({metric.key}{unit}{better})")
        print(textwrap.fill(metric.description, width, initial_indent="    ", subsequent_indent="    "))


def _write_fjr(path: str, report: Report) -> None:
    from arrowroot._report import fjr

    counters = fjr.counters_of(report.of_file, report.of_scan, report.tree.url)
    text = fjr.document(counters, url=report.tree.url, n_entries=report.passes[0].stats.n_entries)
    with replacing(path) as beside:
        Path(beside).write_text(text, encoding="utf-8")


def _save(path: str, report: Report, scan: Scan) -> None:
    from arrowroot._report import perfstat

    title = f"{report.tree.url}/{report.tree.path}"
    perfstat.save(path, report.passes[0], scan.trace(), title, arrowroot.__version__)


def _report_saved(options: argparse.Namespace) -> None:
    """Report a TTreePerfStats that ROOT or arrowroot wrote."""
    from arrowroot._report import perfstat

    if options.urls:
        raise InvalidRequestError(
            f"perf: --from {options.from_file} is reported, {options.urls[0]} is not read then"
        )
    usual = parser("perf").parse_args(["perf"])
    idle = [name for name in _OF_READING if getattr(options, name) != getattr(usual, name)]
    if idle:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
        raise InvalidRequestError(f"perf: --from {options.from_file} reads nothing: leave out {names}")
    file, name = open_target(options.from_file, storage_options(options))
    perf_report.print_saved(perfstat.find(file, name), options.from_file, as_json=options.json)


def _write_trace(options: argparse.Namespace, report: Report, scan: Scan, entries: tuple[int, int]) -> None:
    path, (begin, end) = options.trace, entries
    if Path(path).suffix.lower() not in _TRACES:
        _write_csv(path, scan.trace())
        return
    import platform

    from arrowroot._report import trace

    with replacing(path) as beside:
        trace.record(
            beside,
            scan,
            trace.origin(report.file, report.tree),
            arrowroot=arrowroot.__version__,
            root_version=report.file.root_version,
            columns=report.paths,
            filter=scan.plan.filter,
            order=options.order,
            entries={"begin": begin, "end": end, "picked": options.fraction is not None},
            wall_ns=report.passes[0].real_ns,
            options={option.name: option.value for option in report.file.options},
            system=platform.platform(),
        )


def _write_csv(path: str, reads: list[Read]) -> None:
    with replacing(path) as beside, Path(beside).open("w", encoding="utf-8") as file:
        file.write("offset,n_bytes,first_entry,end_entry,start_ns,end_ns\n")
        file.writelines(",".join(map(str, read)) + "\n" for read in reads)
