"""`arrowroot sample`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import arrowroot
from arrowroot import split_url
from arrowroot._render import printable
from arrowroot._sample.make import sample_of
from arrowroot._sizes import counted, format_bytes, format_seconds
from arrowroot.cli.convert import style_of
from arrowroot.cli.progress import Progress

if TYPE_CHECKING:
    import argparse

    from arrowroot._sample.make import Sample


def run(options: argparse.Namespace) -> None:
    """Make a sample, and say what it is."""
    started = time.perf_counter_ns()
    file, name = split_url(options.output)
    sample = sample_of(options.kind, seed=options.seed, n_entries=options.entries, n_bytes=options.size)
    if options.keep and Path(file).exists():
        print(f"{printable(file)}: there already, {format_bytes(Path(file).stat().st_size)}")
        return
    _write(options, file, name or sample.tree, sample)
    n_bytes = Path(file).stat().st_size
    wall_ns = time.perf_counter_ns() - started
    if options.json:
        import json

        document = {
            "form": "arrowroot.sample/1",
            "output": file,
            "kind": sample.kind,
            "seed": sample.seed,
            "tree": name or sample.tree,
            "num_entries": sample.n_entries,
            "bytes": n_bytes,
            "wall_ns": wall_ns,
        }
        print(json.dumps(document, indent=2))
        return
    print(
        f"{printable(file)}: {counted(sample.n_entries, 'entry', 'entries')} of {sample.kind}, seed {sample.seed}, "
        f"{format_bytes(n_bytes)}, made in {format_seconds(wall_ns / 1e9)}"
    )


def _write(options: argparse.Namespace, file: str, name: str, sample: Sample) -> None:
    style = style_of(options)
    with (
        Progress(f"making {sample.kind}") as progress,
        arrowroot.create(
            file, compression=style.compression, reproducible=style.reproducible, n_threads=style.n_threads
        ) as made,
    ):
        table = made.tree(
            name,
            layout=style.layout,
            title=f"{sample.kind}, seed {sample.seed}",
            flush=style.flush,
            basket_size=style.basket_size,
            page_size=style.page_size,
        )
        n_bytes = 0
        progress.follow(lambda: (table.num_entries / sample.n_entries, n_bytes))
        for batch in sample.batches():
            table.append(batch)
            n_bytes += batch.nbytes
