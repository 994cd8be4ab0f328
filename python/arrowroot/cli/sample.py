"""`arrowroot sample`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import arrowroot
from arrowroot._converting.formats import root_output
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


def run(options: argparse.Namespace) -> None:
    """Make a sample, and say what it is."""
    started = time.perf_counter_ns()
    file, name = root_output(options.output)
    sample = sample_of(options.kind, seed=options.seed, n_entries=options.entries, n_bytes=options.size)
    if options.plan:
        name = name or sample.tree
        found = _style(options).whole().plan(next(sample.batches()), sample.n_entries, name)
        show_plan(options, [(name, found)])
        return
    is_kept = options.keep and Path(file).exists()
    if not is_kept:
        _write(options, file, name or sample.tree, sample)
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


def _write(options: argparse.Namespace, file: str, name: str, sample: Sample) -> None:
    style = _style(options)
    with (
        Progress(f"making {sample.kind}") as progress,
        arrowroot.create(file, reproducible=style.reproducible, n_threads=style.n_threads) as made,
    ):
        table = made.tree(name, **style.options(f"{sample.kind}, seed {sample.seed}"))
        steps = Steps(sample.n_steps)
        progress.follow(steps.done)
        for batch in sample.batches():
            table.append(batch)
            steps.add(batch.nbytes)


class Steps:
    """How far work is that is done in equal steps: within one, as far as the mean of those before it is over."""

    def __init__(self, n_steps: int) -> None:
        self._n_steps, self._n_over, self._n_bytes = n_steps, 0, 0
        self._began = self._last = time.perf_counter()

    def add(self, n_bytes: int) -> None:
        """Count a step, with its bytes."""
        self._n_over, self._n_bytes, self._last = (
            self._n_over + 1,
            self._n_bytes + n_bytes,
            time.perf_counter(),
        )

    def done(self) -> tuple[float, int]:
        """Return the share that is done, and about how many bytes that is."""
        n_over, n_bytes, last = self._n_over, self._n_bytes, self._last
        if n_over in (0, self._n_steps):
            return n_over / self._n_steps, n_bytes
        n = n_over + min((time.perf_counter() - last) * n_over / (last - self._began), 0.99)
        return n / self._n_steps, round(n_bytes * n / n_over)
