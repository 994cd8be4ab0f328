"""`arrowroot fjr`: what a CMS framework job report says of its reads."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from arrowroot import _terminal as terminal
from arrowroot._render import printable, text_table
from arrowroot._report import fjr
from arrowroot._sizes import format_bytes, format_count, format_rate, format_seconds

if TYPE_CHECKING:
    import argparse

    from arrowroot._report.fjr import Counter, Report

JSON_FORM = "arrowroot.fjr/1"


def run(options: argparse.Namespace) -> None:
    """Print the summaries of a report."""
    reports = fjr.read(options.file)
    if options.json:
        import json

        print(json.dumps({"form": JSON_FORM, "file": options.file, "reports": _data(reports)}, indent=2))
        return
    style = terminal.Style(sys.stdout)
    for i, report in enumerate(reports):
        many = f", summary {i + 1} of {len(reports)}, line {report.line}" if len(reports) > 1 else ""
        print(("\n" if i else "") + style.strong(printable(options.file) + many))
        if (times := report.times) is not None:
            told = zip(("real", "user", "sys"), times, strict=True)
            print("job: " + ", ".join(f"{name} {format_seconds(seconds)}" for name, seconds in told))
        print(text_table(_rows(report), right=[False, False] + [True] * 9, max_width=terminal.width()))


def _data(reports: list[Report]) -> list[dict[str, Any]]:
    return [
        {
            "line": report.line,
            "job": None if report.times is None else report.times._asdict(),
            "counters": [
                {
                    **counter._asdict(),
                    "mean_bytes": counter.mean_bytes,
                    "mean_ms": counter.mean_ms,
                    "bytes_per_s": counter.bytes_per_s,
                    "is_store": fjr.is_protocol(counter.subsystem),
                }
                for counter in report.counters
            ],
        }
        for report in reports
    ]


def _rows(report: Report) -> list[list[str]]:
    header = ["subsystem", "counter", "attempted", "successful", "MiB", "total", "min", "max"]
    rows = [[*header, "mean size", "mean time", "rate"]]
    rows += [_row(counter) for counter in report.counters]
    return rows


def _row(counter: Counter) -> list[str]:
    mean_bytes, mean_ms, rate = counter.mean_bytes, counter.mean_ms, counter.bytes_per_s
    return [
        printable(counter.subsystem),
        printable(counter.name),
        format_count(counter.n_operations),
        format_count(counter.n_successful),
        # As CMS writes it, six digits.
        f"{counter.megabytes:.6g}" if counter.megabytes else "-",
        *(format_seconds(ms / 1e3) for ms in (counter.total_ms, counter.min_ms, counter.max_ms)),
        "-" if mean_bytes is None else format_bytes(mean_bytes),
        "-" if mean_ms is None else format_seconds(mean_ms / 1e3),
        "-" if rate is None else format_rate(rate),
    ]
