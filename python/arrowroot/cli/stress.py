"""`arrowroot stress`: one number for this machine and this version, and its parts."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot import _terminal as terminal
from arrowroot._progress import bar
from arrowroot._render import clip, printable, text_table, without_secrets
from arrowroot._report.busy import Watch
from arrowroot._sizes import format_rate, format_seconds
from arrowroot._stress import marks
from arrowroot._stress.parts import Parts
from arrowroot.cli import destinations

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from arrowroot._report.busy import Busy
    from arrowroot._stress.marks import Marks, Times
    from arrowroot._stress.parts import Part

#: Every part is done in each round; the first round warms up, and counts as any other.
N_ROUNDS = 6
_BAR_WIDTH = 24


def run(options: argparse.Namespace) -> None:
    """Measure, compare, print."""
    # An option that cannot be used, or a file that cannot be written, is told before a minute has gone.
    reference = None if options.save_reference else marks.load(options.reference or marks.REFERENCE)
    if reference is not None:
        marks.check_work(reference)
    if options.save_reference:
        destinations.check([("--save-reference", options.save_reference)], {})
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="arrowroot-stress-") as directory:
        done, show = _progress()
        parts = Parts(Path(directory), lambda text: show(text, 0.0)).make()
        if reference is not None:
            marks.check_work(reference, [part.key for part in parts])
        rounds, watch = [], Watch()
        for number in range(N_ROUNDS):
            taken = {}
            for n, part in enumerate(parts):
                show(part.key, (number * len(parts) + n) / (N_ROUNDS * len(parts)))
                taken[part.key] = part.take_ns()
            rounds.append(taken)
        busy = watch.busy()
        done()
    times = marks.Times(marks.least(rounds), marks.work_told(), marks.machine_told())
    found = marks.compare(times, reference or times)
    if options.save_reference:
        marks.save(options.save_reference, times)
    if options.json:
        _print_json(times, found, reference, busy, time.perf_counter() - begin)
    else:
        _print_text(parts, times, found, reference or times)
        _print_busy(busy)
    if options.save_reference:
        print(f"reference: {printable(without_secrets(options.save_reference))}", file=sys.stderr)


def _progress() -> tuple[Callable[[], None], Callable[[str, float], None]]:
    """Return what clears the line of progress, and what writes it; nothing but on a terminal."""
    shows = sys.stderr.isatty()

    def show(text: str, share: float) -> None:
        if shows:
            line = clip(f"{bar(share, _BAR_WIDTH)} {text}", terminal.width(sys.stderr) - 1)
            sys.stderr.write(f"\r{line}\x1b[K")
            sys.stderr.flush()

    def done() -> None:
        if shows:
            sys.stderr.write("\r\x1b[K")

    return done, show


def _print_json(
    times: Times, found: Marks, reference: Times | None, busy: Busy | None, wall_s: float
) -> None:
    document = {
        **times.data(),
        "marks": found.total,
        "groups": {name: marks.OF_REFERENCE * ratio for name, ratio in found.groups.items()},
        "parts": {key: marks.OF_REFERENCE * ratio for key, ratio in found.parts.items()},
        "reference": None if reference is None else reference.machine,
        "busy": None if busy is None else busy.data(),
        "wall_s": wall_s,
    }
    print(json.dumps(document, indent=2))


def _print_text(parts: list[Part], times: Times, found: Marks, reference: Times) -> None:
    style = terminal.Style(sys.stdout)
    print(style.strong(f"{found.total:,.0f} marks"))
    machine = times.machine
    print(printable(f"arrowroot {machine['arrowroot']}, {machine['processor']}, {machine['n_cores']} cores"))
    if machine["debug_build"]:
        print("built without optimisation: this says nothing of arrowroot")
    other = reference.machine
    told = [str(other.get(key, "?")) for key in ("arrowroot", "processor", "n_cores", "measured_at")]
    print(printable("{:,} are arrowroot {}, {}, {} cores, {}".format(marks.OF_REFERENCE, *told)) + "\n")
    rows = [["part", "time", "rate", "marks"]]
    group = ""
    for part in parts:
        if part.group != group:
            group = part.group
            rows.append([group, "", "", f"{marks.OF_REFERENCE * found.groups[group]:,.0f}"])
        ns = times.ns[part.key]
        rate = format_rate(part.n_bytes / ns * 1e9) if part.n_bytes else ""
        name = f"  {part.name}"
        rows.append(
            [name, format_seconds(ns / 1e9), rate, f"{marks.OF_REFERENCE * found.parts[part.key]:,.0f}"]
        )
    print(text_table(rows, right=[False, True, True, True], max_width=terminal.width()))
    print("remote: in virtual time, the same on every machine")


def _print_busy(busy: Busy | None) -> None:
    if busy is None:
        print("what else ran meanwhile is not known here: times of a busy machine are too long")
    elif busy.is_busy:
        print(f"the machine was busy: {busy}; marks may be too low: repeat it when it is quiet")
