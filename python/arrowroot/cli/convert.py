"""`arrowroot convert`."""

from __future__ import annotations

import os
import shlex
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from arrowroot import InvalidRequestError, split_url
from arrowroot._converting import compare, formats, inputs, outputs
from arrowroot._converting.replaced import check_table_replaced
from arrowroot._progress import Progress
from arrowroot._render import printable, without_secrets
from arrowroot._saving.replacing import is_stdout
from arrowroot._sizes import counted, format_bytes, format_seconds, parse_digits
from arrowroot._storage.url import is_glob
from arrowroot.cli import destinations, writing_report
from arrowroot.cli.arguments import definitions_of
from arrowroot.cli.failures import EXIT_DATA, EXIT_DONE, EXIT_UNSUPPORTED
from arrowroot.cli.lines import merged
from arrowroot.cli.target import column_texts, or_stdin, storage_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from arrowroot import Layout, LayoutPlan
    from arrowroot._converting.formats import NamedFile
    from arrowroot._converting.inputs import InputTable
    from arrowroot._converting.outputs import Written
    from arrowroot._skimming.planning import PickedPlan


def run(options: argparse.Namespace) -> int:
    """Convert a file, and say what was written."""
    started = time.perf_counter_ns()
    if is_glob(split_url(options.input)[0]) and not os.path.exists(options.input):  # noqa: PTH110 - a URL is no path
        raise InvalidRequestError(f"convert takes one file: {merged([options.input], options.output)}")
    source = formats.checked_input(or_stdin(options.input), options.output)
    target = formats.checked_output(options.output, options.format, options.input)
    if source.format == target.format == "root":
        raise InvalidRequestError(
            f"convert makes other formats of ROOT, and ROOT of others: write {_skim_line(options)}"
        )
    if (options.cost or options.fjr) and target.format != "root":
        raise InvalidRequestError("--cost and --fjr: the layers of writing are counted for a ROOT file")
    named = [("OUTPUT", target.file), ("--fjr", options.fjr)]
    destinations.check(named, {source.file: "the file to read"})
    if target.format == "root" and not options.plan:
        check_table_replaced(target.file, target.table, is_forced=options.force)
    style = style_of(options)
    choice = inputs.Choice(
        column_texts(options.columns),
        options.filter,
        options.entries,
        options.batch_size,
        options.threads,
        definitions_of(options),
    )
    outputs.check_style(target, style, options.input)
    table = inputs.input_of(source, choice, storage_options(options))
    if options.plan:
        plan(options, [outputs.plan_of(table, target, style)])
        return EXIT_DONE
    if options.verify and formats.is_text(target.format):
        raise InvalidRequestError(
            f"--verify: {formats.TITLES[target.format]} record no types, and cannot be read back as they were"
        )
    if options.verify:
        check_verifiable(style.whole())
    with Progress("converting") as progress:
        check = partial(_difference, table, target, style) if options.verify else None
        written = outputs.write_table(table, target, style, _Shown(progress), check)
    notes = [
        (f"{table.name}: note {note!r}", f"{formats.TITLES[target.format]} records none")
        for note in table.notes
    ]
    left_out = [*table.left_out, *notes]
    for path, reason in left_out:
        print(f"arrowroot: {printable(path)} was left out: {printable(reason)}", file=sys.stderr)
    if options.fjr and written.cost is not None:
        writing_report.write_fjr(options.fjr, target.file, written.cost, written.num_entries)
    _say(options, target, written, left_out, time.perf_counter_ns() - started)
    if target.format == "root" and written.difference is None:
        writing_report.say_names(target.file)
    if written.difference is not None:
        print(
            f"arrowroot: {printable(options.output)} was not written: {printable(written.difference)}",
            file=sys.stderr,
        )
        return EXIT_DATA
    return EXIT_UNSUPPORTED if table.left_out else EXIT_DONE


def _skim_line(options: argparse.Namespace) -> str:
    """Return the line to type for a conversion from ROOT to ROOT, or to write in Python for one into the same file."""
    (file, tree), (target, name) = split_url(options.input), split_url(options.output)
    if os.path.realpath(file) == os.path.realpath(target) and tree and name:
        chosen = [repr(columns)] if (columns := column_texts(options.columns)) else []
        chosen += [f"filter={options.filter!r}"] if options.filter else []
        scan = f".scan({', '.join(chosen)})" if chosen else ""
        return f"in Python ar.write({options.output!r}, ar.open({file!r})[{tree!r}]{scan})"
    words = [word for word in options.words[1:] if word != "--format=root"]
    if "--format" in words:
        at = words.index("--format")
        del words[at : at + 2]
    if options.output == formats.STDOUT:
        words[words.index(formats.STDOUT)] = "/dev/stdout"
    alone = split_url(options.input)[1] is not None
    return shlex.join(["arrowroot", "skim", *words, *(["--carry", "none"] if alone else [])])


def check_verifiable(layout: Layout) -> None:
    """Raise InvalidRequestError for a layout in which the output is other than what was read."""
    for has_it, what in (
        (any(one is not None for _, one in layout.precision), "has reduced precision"),
        (bool(layout.records), "makes records of columns"),
    ):
        if has_it:
            raise InvalidRequestError(f"--verify: the layout {what}, so the output differs from the input")


def plan(options: argparse.Namespace, plans: Sequence[tuple[str, LayoutPlan | PickedPlan]]) -> None:
    """Show what would be written."""
    if options.json:
        import json

        document = {"form": "arrowroot.plan/1", "tables": [{"name": n, **p.to_dict()} for n, p in plans]}
        print(json.dumps(document, indent=2))
        return
    print("\n\n".join(f"{printable(name)}: {one}" for name, one in plans))


def style_of(options: argparse.Namespace, usual: Mapping[str, Any] | None = None) -> outputs.Style:
    """Return how to write, as it was typed; ``usual``: what a plain tree or RNTuple has if nobody says anything."""
    is_plain = getattr(options, "layout", "ttree") in {"ttree", "rntuple"}
    said = {**(usual or {}), **vars(options)} if is_plain else vars(options)
    compression = said.get("compression", outputs.UNSAID)
    if isinstance(compression, str) and compression.isdecimal():
        compression = parse_digits(compression)
    return outputs.Style(
        said.get("layout", outputs.UNSAID),
        compression,
        said.get("flush", outputs.UNSAID),
        said.get("basket_size", outputs.UNSAID),
        said.get("page_size", outputs.UNSAID),
        options.reproducible,
        options.threads,
    )


class _Shown:
    """Shows how far a conversion is: by what was read where that is counted, else by entries."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._table: InputTable | None = None
        self._n_done = 0

    def __call__(self, table: InputTable, n_done: int) -> None:
        self._n_done = n_done
        if table is self._table:
            return
        self._table = table
        if table.scan is not None:
            self._progress.watch(table.scan)
        else:
            self._progress.follow(lambda: (self._n_done / max(1, table.n_entries), 0))


def _difference(
    table: InputTable, target: NamedFile, style: outputs.Style, path: str, name: str
) -> str | None:
    """Read an output back before it is published; return where it differs from the input, None if it does not."""
    is_root = target.format == "root"
    # Projected fields are no columns of the input.
    columns = table.schema.names if is_root and style.whole().projections else None
    place = target._replace(file=path, table=name if is_root else None)
    back = inputs.input_of(place, inputs.Choice(columns), {})
    found = compare.difference((table.schema, table.batches()), (back.schema, back.batches()))
    if found is None:
        return None
    return f"{f'{name!r} read back is' if name else 'read back, it is'} not what was read: {found}"


def _say(
    options: argparse.Namespace,
    target: NamedFile,
    written: Written,
    left_out: Sequence[tuple[str, str]],
    wall_ns: int,
) -> None:
    # Behind a table in the standard output it would be a part of that.
    stream = sys.stderr if is_stdout(target.file) else sys.stdout
    if options.json:
        import json

        document = {
            "form": "arrowroot.convert/2",
            "input": without_secrets(options.input),
            "output": without_secrets(target.file),
            "format": target.format,
            "bytes": written.n_bytes,
            "table": written.table,
            "num_entries": written.num_entries,
            "left_out": [{"path": path, "reason": reason} for path, reason in left_out],
            "verified": written.difference is None if options.verify else None,
            "difference": written.difference,
            "wall_ns": wall_ns,
            "cost": written.cost.as_dict() if options.cost and written.cost is not None else None,
        }
        print(json.dumps(document, indent=2), file=stream)
        return
    if written.difference is not None:
        return
    parts = [
        counted(written.num_entries, "entry", "entries"),
        format_bytes(written.n_bytes),
        format_seconds(wall_ns / 1e9),
        *(["read back: the same"] if options.verify else []),
    ]
    print(f"{printable(without_secrets(target.file))}: {', '.join(parts)}", file=stream)
    if options.cost and written.cost is not None:
        writing_report.print_text(written.cost)
