"""`arrowroot sample`."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot import InvalidRequestError
from arrowroot._converting.formats import root_output
from arrowroot._converting.outputs import file_for
from arrowroot._converting.replaced import check_table_replaced
from arrowroot._progress import Progress
from arrowroot._render import printable, without_secrets
from arrowroot._sample.make import sample_of
from arrowroot._sizes import counted, format_bytes, format_seconds
from arrowroot.cli.convert import plan as show_plan
from arrowroot.cli.convert import style_of

if TYPE_CHECKING:
    import argparse

    from arrowroot._converting.outputs import Style
    from arrowroot._sample.make import Sample


#: Compressing and writing a sample takes so many times as long as drawing it.
_WRITING = 2


def run(options: argparse.Namespace) -> None:
    """Make a sample, and say what it is."""
    started = time.perf_counter_ns()
    file, name = root_output(options.output)
    if re.fullmatch(r"(?i)[\d.]+\s*[kmgt]i?b?", options.output) and not Path(file).exists():
        line = shlex.join(
            ["arrowroot", "sample", options.kind, f"{options.kind}.root", "--size", options.output]
        )
        raise InvalidRequestError(f"{options.output}: which file? write {line}")
    sample = sample_of(options.kind, seed=options.seed, n_entries=options.entries, n_bytes=options.size)
    if options.plan:
        name = name or sample.tree
        found = _style(options).whole().plan(next(sample.batches()), sample.n_entries, name)
        show_plan(options, [(name, found)])
        return
    is_kept = options.keep and Path(file).exists()
    if not is_kept:
        meant = ", or --keep to leave it as it is"
        check_table_replaced(file, name, is_forced=options.force, hint=meant)
        _write(options, file, name, sample)
    n_bytes = Path(file).stat().st_size
    wall_ns = time.perf_counter_ns() - started
    if options.json:
        import json

        document = {
            "form": "arrowroot.sample/1",
            "output": without_secrets(file),
            "bytes": n_bytes,
            "was_kept": is_kept,
        }
        # The file that was there may be another sample.
        made = {
            "kind": sample.kind,
            "seed": sample.seed,
            "tree": name or sample.tree,
            "num_entries": sample.n_entries,
            "wall_ns": wall_ns,
        }
        print(json.dumps(document if is_kept else document | made, indent=2))
        return
    if is_kept:
        print(f"{printable(without_secrets(file))}: there already, {format_bytes(n_bytes)}")
        return
    print(
        f"{printable(without_secrets(file))}: "
        f"{counted(sample.n_entries, 'entry', 'entries')} of {sample.kind}, seed {sample.seed}, "
        f"{format_bytes(n_bytes)}, made in {format_seconds(wall_ns / 1e9)}"
    )


def _style(options: argparse.Namespace) -> Style:
    return style_of(options, {"compression": "zstd:5", "flush": "10 MB"})


def _write(options: argparse.Namespace, file: str, name: str | None, sample: Sample) -> None:
    """Write a sample to a file of its own, or to a table of a name beside what the file has."""
    style = _style(options)
    with (
        Progress(f"making {sample.kind}") as progress,
        file_for(file, name, style) as made,
    ):
        table = made.tree(name or sample.tree, **style.options(f"{sample.kind}, seed {sample.seed}"))
        n_drawn = 0

        def done() -> tuple[float, int]:
            # What was drawn is compressed and written beside the drawing, and long after it.
            n_bytes = sum(one.bytes for one in made.cost().accounts if one.layer == "store")
            written = min(1.0, n_bytes / sample.stored_bytes)
            return (n_drawn / sample.n_steps + _WRITING * written) / (1 + _WRITING), n_bytes

        progress.follow(done)
        for batch in sample.batches():
            table.append(batch)
            n_drawn += 1
