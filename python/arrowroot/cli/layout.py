"""`arrowroot layout`: how a table lies in its file, from metadata alone."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

from arrowroot import _terminal as terminal
from arrowroot._render import clip, printable, text_table
from arrowroot._report import layout as _layout
from arrowroot._sizes import counted, format_bytes, format_count, parse_size, three_digits
from arrowroot.cli.target import column_texts, each_target, json_indent, open_tree, storage_options

if TYPE_CHECKING:
    import argparse

    from arrowroot import File, Tree
    from arrowroot._report.layout import ColumnLayout, Layout, Spread, Verdict

JSON_FORM = "arrowroot.layout/1"
_N_ROWS = 16
_LABEL_WIDTH = 9
_MAP_COLUMNS = 64
_SHADES = " ░▒▓█"
#: Up to which share of a row's bytes each shade stands.
_SHADE_ENDS = (0.0, 0.1, 0.4, 0.75)
#: Branches whose baskets would change most.
_N_BRANCHES = 8
_PIPED_WIDTH = 80


def run(options: argparse.Namespace) -> int:
    """Print the layouts of tables."""
    return each_target(
        options,
        lambda url, is_alone: _show_one(url, options, is_alone=is_alone),
        separated=not options.json,
    )


def _show_one(url: str, options: argparse.Namespace, *, is_alone: bool) -> None:
    file, tree = open_tree(url, storage_options(options))
    memory = parse_size(options.basket_memory, "--basket-memory")
    found = _layout.layout_of(tree, column_texts(options.columns), memory)
    if options.json:
        import json

        head = {
            "form": JSON_FORM,
            "url": tree.url,
            "tree": tree.path,
            "class_name": tree.class_name,
            "file_bytes": file.size_bytes,
            "num_entries": tree.num_entries,
        }
        print(json.dumps({**head, **found.data()}, indent=json_indent(is_alone=is_alone)))
        return
    _print_text(file, tree, found, options)


def _print_text(file: File, tree: Tree, found: Layout, options: argparse.Namespace) -> None:
    style = terminal.Style(sys.stdout)
    width = terminal.width(piped=_PIPED_WIDTH)
    pieces = "page" if found.is_ntuple else "basket"
    columns = counted(
        len(found.columns), "column" if found.is_ntuple else "branch", None if found.is_ntuple else "branches"
    )
    stored = sum(column.stored_bytes for column in found.columns)
    print(style.strong(printable(tree.location)))
    entries = counted(tree.num_entries, "entry", "entries")
    print(
        f"{tree.class_name}: {entries}, {columns}, {format_bytes(stored)} of {format_bytes(file.size_bytes)}\n"
    )
    rows = [["", "number", "", "smallest", "median", "largest"]]
    rows += [
        [
            "clusters",
            format_count(max(0, len(found.clusters) - 1)),
            "entries",
            *_counts(found.cluster_entries),
        ],
        ["", "", "stored", *_sizes(found.cluster_bytes)],
        [f"{pieces}s", format_count(found.n_pieces), "entries", *_counts(found.piece_entries)],
        ["", "", "stored", *_sizes(found.piece_bytes)],
        ["one entry", "", f"{pieces}s", *_counts(found.touched_pieces)],
        ["", "", "stored", *_sizes(found.touched_bytes)],
        ["", "", "span", *_sizes(found.span_bytes)],
    ]
    print(text_table(rows, right=[False, True, False, True, True, True], max_width=width))
    print()
    for remark in _remarks(found, pieces):
        print(textwrap.fill(remark, width, subsequent_indent="  "))
    _print_map(tree, found, style, width)
    if found.verdict is not None:
        _print_verdict(found, found.verdict, style, width, n_shown=None if options.long else _N_BRANCHES)


def _counts(spread: Spread) -> list[str]:
    return [format_count(number) for number in spread]


def _sizes(spread: Spread) -> list[str]:
    return [format_bytes(number) for number in spread]


def _remarks(found: Layout, pieces: str) -> list[str]:
    """Return what the numbers mean, a sentence a line."""
    remarks = []
    flush = found.auto_flush
    if flush == 0:
        remarks.append("never flushed: baskets were written when they were full (autoflush 0)")
    elif flush is not None:
        after = counted(flush, "entry", "entries") if flush > 0 else format_bytes(-flush)
        remarks.append(f"flushed after {after} (autoflush {flush})")
    touched = found.touched_bytes.median
    if touched:
        ratio = three_digits(found.span_bytes.median / touched)
        remarks.append(f"span: from the first to the last byte that one entry needs, {ratio} x what it needs")
    if found.n_over_clusters:
        over = counted(found.n_over_clusters, pieces)
        remarks.append(f"{over} with entries of more than one cluster")
    if found.n_embedded:
        remarks.append(f"{counted(found.n_embedded, pieces)} in the record of the tree, not counted in bytes")
    return remarks


def _print_map(tree: Tree, found: Layout, style: terminal.Style, width: int) -> None:
    room = max(8, min(_MAP_COLUMNS, width - _LABEL_WIDTH - 2))
    drawn = _layout.file_map(found, tree.num_entries, _N_ROWS, room)
    if drawn is None:
        return
    n_columns = len(drawn.entries) - 1
    print("\n" + style.strong("Which part of the file which entries need"))
    for offset, shares in zip(drawn.offsets.tolist(), drawn.shares.tolist(), strict=False):
        line = "".join(_SHADES[sum(share > end + 1e-12 for end in _SHADE_ENDS)] for share in shares)
        print(f"{format_bytes(offset):>{_LABEL_WIDTH}} │{style.accent(line)}".rstrip())
    print(f"{format_bytes(int(drawn.offsets[-1])):>{_LABEL_WIDTH}} └{'─' * n_columns}")
    last = format_count(tree.num_entries)
    print(f"{'entry':>{_LABEL_WIDTH}}  0{last:>{max(n_columns - 1, len(last) + 1)}}")


def _print_verdict(
    found: Layout, verdict: Verdict, style: terminal.Style, width: int, n_shown: int | None
) -> None:
    print("\n" + style.strong(f"ROOT's OptimizeBaskets with {format_bytes(verdict.max_memory_bytes)}"))
    if not verdict.n_changed:
        print("would change no basket size")
        return
    (memory, new_memory), (baskets, new_baskets) = verdict.memory_bytes, verdict.n_baskets
    text = (
        f"changes {format_count(verdict.n_changed)} of {counted(verdict.n_branches, 'branch', 'branches')}: "
        f"{format_bytes(memory)} of baskets in memory would be {format_bytes(new_memory)}, "
        f"about {counted(baskets, 'basket')} would be {format_count(new_baskets)}"
    )
    print(textwrap.fill(text, width))
    incompressible = [column for column in found.columns if column.ends_compression]
    if incompressible:
        names = ", ".join(printable(column.path) for column in incompressible[:3])
        more = f" and {len(incompressible) - 3} more" if len(incompressible) > 3 else ""
        print(clip(f"would no longer compress {names}{more}", width))
    columns = sorted((column for column in found.columns if _change(column)), key=_change, reverse=True)
    if not columns:
        return
    rows = [["branch", "baskets", "stored", "size", "would be"]]
    rows += [
        [
            clip(printable(column.path), max(16, width - 44)),
            format_count(column.n_pieces),
            format_bytes(column.stored_bytes),
            format_bytes(column.basket_bytes or 0),
            format_bytes(column.optimized_bytes or 0),
        ]
        for column in columns[:n_shown]
    ]
    print("\n" + text_table(rows, max_width=width))
    left = len(columns) - (len(rows) - 1)
    if left > 0:
        print(f"... {format_count(left)} more: --long")


def _change(column: ColumnLayout) -> int:
    return abs((column.optimized_bytes or 0) - (column.basket_bytes or 0))
