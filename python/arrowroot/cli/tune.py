"""`arrowroot tune`: the best way to read a file where it is."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from arrowroot import InvalidRequestError
from arrowroot import _terminal as terminal
from arrowroot._progress import Progress
from arrowroot._render import printable, text_table
from arrowroot._report import trace, tune
from arrowroot._report.replay import shown
from arrowroot._sizes import counted, format_bytes, format_count, format_rate, format_seconds, three_digits
from arrowroot.cli.target import column_texts, each_target, json_indent, open_tree, storage_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot import Scan, Tree
    from arrowroot._report.trace import Logical
    from arrowroot._report.tune import Candidate, Store

JSON_FORM = "arrowroot.tune/3"
#: The share of the budget that measuring the store may take.
_STORE_SHARE = 0.25
#: After so much of it decoding is measured no further; the first run is made in any case.
_DECODING_SHARE = 0.05
#: The number of runs of a setting, of which the fastest counts.
_N_ROUNDS = 3
#: For all that tune reads itself: what an earlier run left on a local disk says nothing of the store.
_UNCACHED = {"block_cache": ""}


def run(options: argparse.Namespace) -> int:
    """Measure, predict and verify for each file."""
    return each_target(
        options,
        lambda url, is_alone: _tune(
            argparse.Namespace(**{**vars(options), "url": url, "is_alone": is_alone})
        ),
        separated=not options.json,
    )


def _tune(options: argparse.Namespace) -> None:
    """Measure, simulate, verify, print."""
    start = time.monotonic()
    until = start + options.budget_seconds
    typed = storage_options(options)
    if "strategy" in typed:
        raise InvalidRequestError(
            "tune: the strategy is what it looks for; perf reads with one that is given"
        )
    file, tree = open_tree(options.url, {**_UNCACHED, **typed, "strategy": "auto"})
    if any(option[:3] == ("cache_size", "0", "argument") for option in file.options):
        raise InvalidRequestError("tune: without a cache (cache_size 0) all strategies read the same")
    paths = tree.choose(column_texts(options.columns))
    # Entries without baskets, a tree without entries: whatever is best for nothing is not to be exported.
    if not _scan(tree, paths, options).plan.n_reads:
        raise InvalidRequestError(
            f"tune: {tree.location}: there is nothing to read in these columns and entries"
        )
    if any((account.layer, account.operation) == ("http", "stage-in") for account in file.accounts):
        raise InvalidRequestError(
            f"tune: {file.url}: the server answers no ranges, so that all of it was copied when it was opened"
        )
    store = tune.measure_store(file, start + _STORE_SHARE * options.budget_seconds)
    n_threads, logical = _decoding(tree, paths, options)
    set_besides = {
        option.name: option.value
        for option in file.options
        if option.value is not None and option.origin not in ("default", "argument")
    }
    found = tune.candidates(
        logical,
        file.size_bytes,
        store.line(),
        fixed=typed,
        set_besides=set_besides,
        n_threads=n_threads,
        kept=file.kept,
    )
    # In rounds: whatever else the machine does meanwhile must not fall on one of them only.
    tried = tune.to_verify(found, options.verify) if _is_read(found) else []
    for candidate in tried * _N_ROUNDS:
        if time.monotonic() >= until:
            break
        candidate.measured_ns.append(_run(candidate, paths, options))
    ranking = tune.ranked(found)
    if options.json:
        _print_json(tree, paths, store, ranking, options)
    else:
        _print_text(tree, paths, store, ranking, is_in_budget=time.monotonic() < until)


def _is_read(found: Sequence[Candidate]) -> bool:
    """False if all that is wanted comes when the file is opened, however it is read."""
    return any(candidate.predicted.n_requests for candidate in found)


def _decoding(tree: Tree, paths: list[str], options: argparse.Namespace) -> tuple[int, Logical]:
    """Return the number of threads, and what is needed with the time that decoding it takes: that of the fastest run.

    The first run of a process has fresh memory, which takes longer; others are tried as far as the budget lets them.
    """
    found: list[Logical] = []
    until = time.monotonic() + _DECODING_SHARE * options.budget_seconds
    while True:
        scan = _scan(tree, paths, options, traced=True)
        with Progress("decoding") as progress:
            progress.watch(scan)
            stats = scan.drain()
        found.append(trace.logical_of(scan.logical_reads()))
        if len(found) == _N_ROUNDS or time.monotonic() >= until:
            return stats.n_threads, min(found, key=lambda logical: int(logical.decode_ns.sum()))


def _scan(tree: Tree, paths: list[str], options: argparse.Namespace, *, traced: bool = False) -> Scan:
    # Text that is not UTF-8 costs the same, and is no reason not to measure.
    return tree.scan(
        paths, entries=options.entries, n_threads=options.threads, strings="binary", trace=traced
    )


def _run(candidate: Candidate, paths: list[str], options: argparse.Namespace) -> int:
    """Return the ns of one reading with a candidate's options, from planning to the last batch."""
    _, tree = open_tree(options.url, {**_UNCACHED, **candidate.options})
    with Progress(f"trying {_setting(candidate)}") as progress:
        start = time.perf_counter_ns()
        scan = _scan(tree, paths, options)
        progress.watch(scan)
        scan.drain()
        return time.perf_counter_ns() - start


def _setting(candidate: Candidate) -> str:
    size = candidate.options.get("cache_size")
    return candidate.options["strategy"] + (f", {size}" if size else "")


def _print_text(
    tree: Tree, paths: list[str], store: Store, ranking: list[Candidate], *, is_in_budget: bool
) -> None:
    style = terminal.Style(sys.stdout)
    print(style.strong(printable(f"{tree.location}, {counted(len(paths), 'column')}")))
    if not _is_read(ranking):
        print("nothing to set: all of this comes when the file is opened, however it is read")
        return
    wait_ns = tune.too_short_ns(ranking)
    if wait_ns is not None:
        print(f"nothing to set: reads take {format_seconds(wait_ns / 1e9)}, too fast to tell what is faster")
        return
    _print_store(store)
    rows = [["strategy", "cache size", "predicted", "measured", "off by", "requests", "read", "buffers"]]
    rows += [_row(candidate) for candidate in ranking]
    print(text_table(rows, right=[False, *[True] * 7], max_width=terminal.width()))
    if not is_in_budget:
        print("\nthe time was over before everything had been tried: give more with --budget-seconds")
    best = tune.advised(ranking)
    if best is None:
        print("\nnothing to set: none is faster than the default, auto, by more than the error")
        return
    print(f"\n{style.strong(tune.export_line(best))}")
    if best.best_ns is None:
        print("(not tried: predicted only)")


def _print_store(store: Store) -> None:
    rate = "bandwidth too fast to measure"
    if store.bytes_per_s is not None:
        rate = format_rate(store.bytes_per_s)
        rate += "" if store.rate_error is None else f" ± {_error(store.rate_error)}"
    print(
        f"store: latency {format_seconds(store.latency_s)} ± {_error(store.latency_error)}, {rate} "
        f"({counted(store.n_requests, 'request')})"
    )
    at_once = ["no time to measure several requests at once"]
    if store.n_parallel is not None:
        together = store.parallel_bytes_per_s
        at_once = [] if together is None else [f"{format_rate(together)} by several requests at once"]
        at_once.append(f"{three_digits(store.n_parallel)} small requests in the time of one")
    print(f"       {', '.join(at_once)}\n")


def _error(share: float) -> str:
    return f"{100 * share:.0f} %"


def _row(candidate: Candidate) -> list[str]:
    predicted, measured, error = candidate.predicted, candidate.best_ns, candidate.error
    return [
        candidate.options["strategy"],
        candidate.options.get("cache_size", "its own"),
        format_seconds(predicted.wall_ns / 1e9),
        "-" if measured is None else format_seconds(measured / 1e9),
        "-" if error is None else f"{100 * error:+.0f} %",
        format_count(predicted.n_requests),
        format_bytes(predicted.read_bytes),
        format_bytes(predicted.peak_buffer_bytes),
    ]


def _print_json(
    tree: Tree, paths: list[str], store: Store, ranking: list[Candidate], options: argparse.Namespace
) -> None:
    import json

    best = tune.advised(ranking) if tune.too_short_ns(ranking) is None else None
    document: dict[str, Any] = {
        "form": JSON_FORM,
        "url": tree.url,
        "tree": tree.path,
        "columns": paths,
        "budget_s": options.budget_seconds,
        "store": store.data(),
        "export": None if best is None else tune.export_line(best),
        "candidates": [
            {
                "options": shown(candidate.options),
                "predicted": candidate.predicted.data(),
                "measured_ns": candidate.measured_ns,
                "error": candidate.error,
            }
            for candidate in ranking
        ],
    }
    print(json.dumps(document, indent=json_indent(is_alone=options.is_alone)))
