"""The report of what writing cost, as text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import arrowroot
from arrowroot import _terminal as terminal
from arrowroot._converting.names import told
from arrowroot._render import printable, text_table, without_secrets
from arrowroot._report import accounts as _accounts
from arrowroot._saving.replacing import is_special, replacing
from arrowroot._sizes import compression_ratio, format_bytes, format_count, format_rate, format_seconds

if TYPE_CHECKING:
    from arrowroot import WritingCost


def print_text(cost: WritingCost) -> None:
    """Print the report for people."""
    ratio = compression_ratio(cost.memory_bytes, cost.stored_bytes)
    seconds = cost.wall_ns / 1e9
    rows = [
        ["real time", format_seconds(seconds)],
        ["entries", format_count(cost.n_entries)],
        ["clusters", format_count(cost.n_clusters)],
        ["values", format_bytes(cost.memory_bytes)],
        ["stored", format_bytes(cost.stored_bytes) + (f" (ratio {ratio:.2f})" if ratio else "")],
        ["values / real time", format_rate(cost.memory_bytes / seconds) if seconds else "-"],
        ["compression, all threads", format_seconds(cost.compress_ns / 1e9)],
        ["waits", f"{format_count(cost.n_waits)} of {format_seconds(cost.wait_ns / 1e9)} in all"],
        ["  longest", format_seconds(cost.longest_wait_ns / 1e9)],
        ["  spent helping", format_seconds(cost.help_ns / 1e9)],
        ["most in buffers", format_bytes(cost.peak_buffer_bytes)],
        ["most of the process", format_bytes(cost.peak_rss_bytes)],
    ]
    if cost.n_growths:
        behind = f"{format_count(cost.n_growths)} times, {format_seconds(cost.growth_ns / 1e9)}"
        rows.append(["compression fell behind", behind])
    print(text_table([["writing", ""], *rows], right=[False, True], max_width=terminal.width()))
    print()
    style = terminal.Style(sys.stdout)
    print(style.strong("what passed each layer"))
    print(
        text_table(
            _accounts.rows(cost.accounts), right=[False, False] + [True] * 6, max_width=terminal.width()
        )
    )


def say_names(path: str) -> None:
    """Say in one line which columns of a ROOT file that was written other readers find under other names."""
    if is_special(path):
        return
    with arrowroot.open(path) as file:
        said = told(file)
    if said is not None:
        print(f"arrowroot: {printable(without_secrets(path))}: {printable(said)}", file=sys.stderr)


def write_fjr(path: str, output: str, cost: WritingCost | None, n_entries: int) -> None:
    """Write a CMS job report of the writing of a file."""
    from arrowroot._report import fjr

    accounts = [] if cost is None else cost.accounts
    text = fjr.document(fjr.counters_of_writing(accounts), url=output, n_entries=n_entries, is_output=True)
    with replacing(path) as beside:
        Path(beside).write_text(text, encoding="utf-8")
