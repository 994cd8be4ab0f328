"""`arrowroot head`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from arrowroot import ArrowrootError, CorruptFileError, Directory, InvalidRequestError, Tree, UnsupportedError
from arrowroot import _terminal as terminal
from arrowroot._render import clip, columns_that_fit, printable, scalar_text, text_table, type_text, width_of
from arrowroot._sizes import counted, format_count
from arrowroot.cli import show
from arrowroot.cli.arguments import definitions_of
from arrowroot.cli.target import (
    column_of,
    column_texts,
    each_target,
    only_tree,
    open_target,
    refuse_column,
    storage_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa


_MIN_WIDTH = 3
_MAX_CELL = 48
_PIPED_WIDTH = 160


def run(options: argparse.Namespace) -> int:
    """Show the first or last entries of trees; of another object what ``arrowroot show`` shows."""
    return each_target(options, lambda url, _: _show_one(url, options), separated=not options.json)


def _show_one(url: str, options: argparse.Namespace) -> None:
    file, path = open_target(url, storage_options(options))
    if path is not None and (column := column_of(file, path)) is not None:
        show_tree(column[0], argparse.Namespace(**{**vars(options), "columns": [column[1]]}))
        return
    if path is not None:
        refuse_column(file, path)
    found = only_tree(file) if path is None else file[path]
    if isinstance(found, Tree):
        show_tree(found, options)
    elif isinstance(found, Directory):
        raise InvalidRequestError(f"{file.url}: {path!r} is a directory: arrowroot ls {url} lists it")
    else:
        show.show_object(found, str(path), options)


def show_tree(tree: Tree, options: argparse.Namespace) -> None:
    """Show the first or last entries of a tree."""
    define = definitions_of(options)
    paths = tree.scan(column_texts(options.columns), define=define).column_names
    # Columns that cannot fit need not be read: a wide tree has more of them than a terminal.
    shown = paths if options.json else paths[: max(1, _width(options) // _MIN_WIDTH)]
    is_tail = options.command == "tail"
    n_all, n_shown = tree.num_entries, min(options.n_entries, tree.num_entries)
    entries = options.entries or slice(None)
    begin, end, _ = entries.indices(n_all)
    n_shown = max(0, min(n_shown, end - begin))
    numbers: Sequence[int] = range(end - n_shown, end) if is_tail else range(begin, begin + n_shown)
    if options.filter is not None:
        limit = None if is_tail else options.n_entries
        found = tree.entries_where(
            options.filter, limit=limit, entries=entries, strings="replace", define=define
        )
        numbers = (
            found[len(found) - min(options.n_entries, len(found)) :].tolist() if is_tail else found.tolist()
        )
    faults: dict[str, ArrowrootError] = {}
    try:
        table = tree.to_arrow(shown, entries=numbers, strings="replace", define=define)
    except (UnsupportedError, CorruptFileError):
        if options.columns:
            raise
        # Found out only when they are read: they keep nobody from seeing the others.
        faults = _faults(tree, shown, numbers, define)
        paths = [path for path in paths if path not in faults]
        table = tree.to_arrow(
            [path for path in shown if path not in faults], entries=numbers, strings="replace", define=define
        )
    _show(options, tree, table, paths, numbers)
    if faults:
        sys.stdout.flush()
        if len(faults) > 1:
            others = ", ".join(printable(path) for path in list(faults)[1:])
            print(f"arrowroot: left out, for they cannot be read either: {others}", file=sys.stderr)
        raise next(iter(faults.values()))


def _width(options: argparse.Namespace) -> int:
    """Into a pipe goes all that was asked for by name, but not all of a thousand columns."""
    return terminal.width() if options.columns else terminal.width(piped=_PIPED_WIDTH)


def _faults(
    tree: Tree, paths: Sequence[str], numbers: Sequence[int], define: dict[str, str] | None
) -> dict[str, ArrowrootError]:
    faults: dict[str, ArrowrootError] = {}
    for path in paths:
        try:
            tree.to_arrow([path], entries=numbers, strings="replace", define=define)
        except (UnsupportedError, CorruptFileError) as fault:
            faults[path] = fault
    return faults


def _show(
    options: argparse.Namespace, tree: Tree, table: pa.Table, paths: Sequence[str], numbers: Sequence[int]
) -> None:
    if options.json:
        from arrowroot._converting.lines import json_lines

        sys.stdout.flush()
        for batch in table.combine_chunks().to_batches():
            sys.stdout.buffer.writelines(json_lines(batch))
        return
    width = _width(options)
    style = terminal.Style(sys.stdout)
    which = "last" if options.command == "tail" else "first"
    n_shown, n_all = format_count(len(numbers)), format_count(tree.num_entries)
    said = f"the {which} {n_shown} of {n_all} entries"
    if options.entries is not None:
        begin, end, _ = options.entries.indices(tree.num_entries)
        n_all = f"{begin}:{end}"
        said = f"the {which} {n_shown} of the entries {n_all}"
    if options.filter is not None:
        is_all = len(numbers) < options.n_entries
        shown = f"the {which} {n_shown}" if not is_all else f"all {n_shown}" if numbers else "no"
        said = f"{shown} entries for which {printable(options.filter)}, of {n_all} in the tree"
    print(style.headed(printable(tree.location), said))
    if not paths:
        print("(no readable columns)")
        return
    types = [type_text(kind) for kind in table.schema.types]
    rows = [["entry", *(printable(name) for name in table.column_names)], ["", *types]]
    rows += [
        [str(number), *(scalar_text(value, _MAX_CELL) for value in values)]
        for number, *values in zip(numbers, *table.columns, strict=True)
    ]
    widths = [max(width_of(row[i]) for row in rows) for i in range(len(rows[0]))]
    n_fitting = max(2, columns_that_fit(widths, width))
    if n_fitting == 2:
        # The first is shown in any case, as far as there is room.
        rows = [[row[0], clip(row[1], max(_MIN_WIDTH, width - widths[0] - 2))] for row in rows]
    lines = text_table([row[:n_fitting] for row in rows], n_header=2).split("\n")
    lines[0], lines[1] = style.strong(lines[0]), style.faint(lines[1])
    print("\n".join(lines))
    left = paths[n_fitting - 1 :]
    if left:
        names = ", ".join(printable(name) for name in left[:6]) + (", …" if len(left) > 6 else "")
        print(style.faint(clip(f"{counted(len(left), 'more column')}: {names}", width)))
