"""`arrowroot replay`: what other strategies would have done with a trace, in virtual time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot import InvalidRequestError
from arrowroot import _terminal as terminal
from arrowroot._pictures import curve, style
from arrowroot._progress import bar
from arrowroot._render import printable, text_table
from arrowroot._report import trace
from arrowroot._report.replay import Disk, Line, Outcome, Protocol, parse_sweep, replay, shown, strategies
from arrowroot._saving.replacing import replacing
from arrowroot._sizes import (
    counted,
    format_binary,
    format_bytes,
    format_count,
    format_rate,
    format_seconds,
    parse_size,
)
from arrowroot.cli import destinations
from arrowroot.cli.target import storage_options

if TYPE_CHECKING:
    import argparse

    from arrowroot._report.replay import Sweep
    from arrowroot._report.trace import Log

JSON_FORM = "arrowroot.replay/2"
_BAR_WIDTH = 24


def run(options: argparse.Namespace) -> None:
    """Replay, print, draw."""
    if options.plot and not options.sweep:
        raise InvalidRequestError("--plot draws a sweep: give --sweep too")
    if options.plot:
        style.check(options.plot)
        destinations.check([("--plot", options.plot)], {options.trace: "the trace"})
    sweep = parse_sweep(options.sweep) if options.sweep else None
    typed = storage_options(options)
    by_name = typed.pop("strategy", None)
    if by_name is not None:
        if options.strategy:
            raise InvalidRequestError("strategy is set twice on the command line")
        options.strategy = [by_name]
    named = strategies(options.strategy)
    log = trace.read(options.trace)
    if log.metadata.get("filter") is not None:
        text = "recorded with a filter: its two passes are replayed as one, so requests may be fewer than they were"
        print(f"arrowroot: note: {text}", file=sys.stderr)
    disk = _disk(options)
    logical = log.in_event_order(options.trace) if options.order == "entry" else log.logical
    protocol = log.protocol if options.store is None else Protocol.of_any(options.store, options.latency)
    n_streams = options.streams or protocol.max_parallel
    line = Line(options.latency, options.bandwidth, n_streams, options.open_requests, protocol, disk=disk)
    cases = _cases(named if sweep is None or options.strategy else [], sweep, typed, options)
    n_threads = 0 if options.no_think else log.n_threads
    outcomes = [
        (name, size, replay(logical, log.file_bytes, line, chosen, n_threads=n_threads, kept=log.kept))
        for name, size, chosen in cases
    ]
    if options.json:
        _print_json(options, log, line, [(name, size, chosen) for name, size, chosen in cases], outcomes)
    else:
        _print_text(options, log, line, sweep, outcomes)
    if options.plot and sweep:
        swept = [(size, outcome) for _, size, outcome in outcomes if size is not None]
        others = [(name, outcome) for name, size, outcome in outcomes if size is None]
        with replacing(options.plot) as beside:
            curve.draw(beside, _title(options, log, line, sweep), swept, others)
        print(f"picture: {options.plot}", file=sys.stderr)


def _disk(options: argparse.Namespace) -> Disk | None:
    """Return the disk that is asked for; None: a store behind a network."""
    if options.store == "disk":
        size = options.kernel_read_ahead
        read_ahead = Disk().read_ahead_bytes
        if size is not None:
            read_ahead = 0 if size == "0" else parse_size(size, "--kernel-read-ahead")
        if options.streams not in (None, 1):
            raise InvalidRequestError("--streams: a disk does one thing after the other")
        return Disk(read_ahead, options.warm)
    for name in ("kernel_read_ahead", "warm"):
        if getattr(options, name):
            raise InvalidRequestError(f"--{name.replace('_', '-')} is of a disk: give --store disk, too")
    return None


def _cases(
    named: list[str], sweep: Sweep | None, typed: dict[str, str], options: argparse.Namespace
) -> list[tuple[str, int | None, dict[str, str]]]:
    """Return name, swept size and options of each replay."""
    cases: list[tuple[str, int | None, dict[str, str]]] = []
    swept = None
    if sweep is not None:
        if sweep.strategy is None and len(strategies(options.strategy)) != 1:
            raise InvalidRequestError("a sweep of an option is of one strategy: give --strategy once")
        swept = sweep.strategy or strategies(options.strategy)[0]
        if sweep.option in typed:
            raise InvalidRequestError(f"{sweep.option} is swept: it cannot be set besides")
        for size in sweep.sizes:
            chosen = {**typed, "strategy": swept, sweep.option: str(size)}
            cases.append((format_binary(size), size, chosen))
    # The strategies named beside a sweep are there to be compared with it.
    cases += [(name, None, {**typed, "strategy": name}) for name in named if name != swept]
    return cases


def _title(options: argparse.Namespace, log: Log, line: Line, sweep: Sweep) -> str:
    strategy = sweep.strategy or strategies(options.strategy)[0]
    store = f"{format_seconds(line.latency_s)}, {format_rate(line.bytes_per_s)}"
    return f"{strategy}, {sweep.option}: {format_bytes(log.payload_bytes)} at {store}"


def _print_text(
    options: argparse.Namespace,
    log: Log,
    line: Line,
    sweep: Sweep | None,
    outcomes: list[tuple[str, int | None, Outcome]],
) -> None:
    style = terminal.Style(sys.stdout)
    where = f"{log.metadata.get('url', '')}:{log.metadata.get('tree', '')}"
    print(style.strong(printable(f"{options.trace}, a trace of {where}")))
    think = "no time" if options.no_think else f"the time of {counted(log.n_threads, 'thread')} as recorded"
    streams = f", {counted(line.n_streams, 'stream')}{_said(line.protocol)}"
    if line.disk is not None:
        streams = f", the kernel reads {format_binary(line.disk.read_ahead_bytes)} ahead" + (
            "; the page cache has the file" if line.disk.is_cached else ""
        )
    print(
        f"{counted(len(log.logical), 'basket')} of {format_bytes(log.payload_bytes)}; decoding takes {think}\n"
        f"{'disk' if line.disk else 'store'}: {format_seconds(line.latency_s)} a {'seek' if line.disk else 'request'}, "
        f"{format_rate(line.bytes_per_s)}{streams}\n"
    )
    first = sweep.option if sweep else "strategy"
    rows = [[first, "time", "waiting", "requests", "ranges", "read", "over-read", "buffers", ""]]
    longest = max((outcome.wall_ns for _, _, outcome in outcomes), default=1) or 1
    rows += [_row(name, outcome, outcome.wall_ns / longest) for name, _, outcome in outcomes]
    print(text_table(rows, right=[False, *[True] * 7, False], max_width=terminal.width()))


def _said(protocol: Protocol) -> str:
    names = {"http": "HTTP", "xrootd": "XRootD"}
    name = names.get(str(protocol.data()["name"]))
    return f"; {name}, {counted(protocol.max_ranges, 'range')} a request" if name else ""


def _row(name: str, outcome: Outcome, share: float) -> list[str]:
    over_read = outcome.over_read
    return [
        name,
        format_seconds(outcome.wall_ns / 1e9),
        format_seconds(outcome.wait_ns / 1e9),
        format_count(outcome.n_requests),
        format_count(outcome.n_ranges),
        format_bytes(outcome.read_bytes),
        "-" if over_read is None else f"{100 * over_read:.1f} %",
        format_bytes(outcome.peak_buffer_bytes),
        bar(share, _BAR_WIDTH).rstrip(),
    ]


def _print_json(
    options: argparse.Namespace,
    log: Log,
    line: Line,
    cases: list[tuple[str, int | None, dict[str, str]]],
    outcomes: list[tuple[str, int | None, Outcome]],
) -> None:
    import json

    document: dict[str, Any] = {
        "form": JSON_FORM,
        "trace": str(Path(options.trace)),
        "url": log.metadata.get("url"),
        "tree": log.metadata.get("tree"),
        "n_baskets": len(log.logical),
        "order": "entry" if options.order == "entry" else log.order,
        "line": line.data(),
        "n_threads": 0 if options.no_think else log.n_threads,
        "outcomes": [
            {"options": shown(chosen), **outcome.data()}
            for (_, _, chosen), (_, _, outcome) in zip(cases, outcomes, strict=True)
        ],
    }
    print(json.dumps(document, indent=2))
