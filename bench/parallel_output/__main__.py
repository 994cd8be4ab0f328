"""The command ``make bench-parallel``: what streams lose by waiting for their output, beside CMS's figures and ROOT."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot.cli import main as arrowroot
from bench import programs
from bench.machine import machine, packages, today
from bench.pages import names
from bench.parallel_output.cases import POLICIES, PUBLISHED, Outcome, Real, Sleeping, virtual
from bench.paths import CACHE, RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RESULT = RESULTS / "parallel_output"
PARTS = ("policy", "threads", "buffers", "real", "help", "queue", "peers")
N_CORES = len(os.sched_getaffinity(0))
#: The settings of the published experiment.
N_STREAMS, N_EVENTS, N_BUFFERS = 12, 40_000, 4
ZSTD, LZMA_4, LZMA_9 = 505, 204, 209


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--parts", type=names, default=list(PARTS), help=f"of {','.join(PARTS)} (default: all)"
    )
    parser.add_argument("--seeds", type=int, default=20, help="of the policy alone (default 20)")
    parser.add_argument("--scale", type=float, default=0.05, help="of sleeps on threads (default 1/20)")
    parser.add_argument("--events", type=int, default=10_000, help="of sleeps on threads (default 10,000)")
    parser.add_argument("--work-ms", type=float, default=20.0, help="work of a real event (default 20 ms)")
    parser.add_argument("--real-events", type=int, default=1_500, help="of a real run (default 1,500)")
    return parser.parse_args()


def main() -> int:
    """Run the parts, print their tables, and keep tables and pictures; return 1 if something is not as promised."""
    options = parse()
    RESULT.mkdir(parents=True, exist_ok=True)
    programs.build_examples("arrowroot-writer", "parallel_output")
    if {"peers"} & set(options.parts):
        programs.prepare()
    print(f"{today()}, {machine()}; {packages()}\n")
    CACHE.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="bench-parallel-", dir=CACHE))
    complaints: list[str] = []
    results: dict[str, Any] = {}
    try:
        for part in options.parts:
            results[part] = RUNS[part](options, directory, complaints)
    finally:
        shutil.rmtree(directory)
    (RESULT / "results.json").write_text(json.dumps(results, indent=1))
    print(f"\nresults and stall graphs: {RESULT}")
    print("\n".join(complaints), file=sys.stderr)
    return 1 if complaints else 0


def show(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table as Markdown."""
    print(f"\n**{title}**\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


HEADER = (
    "events/s", "efficiency", "1 - stalled share", "stalls", "total (s)", "longest (s)", "helping",
)  # fmt: skip


def cells(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the cells of a row: means over runs, but the longest stall of all."""

    def mean(values: Iterable[float]) -> float:
        return statistics.fmean(values)

    return [
        f"{mean(o.events_per_s for o in outcomes):.2f}",
        f"{mean(o.efficiency for o in outcomes):.4f}",
        f"{mean(o.not_stalled for o in outcomes):.4f}",
        f"{mean(o.n_stalls for o in outcomes):,.1f}",
        f"{mean(o.stalls_s for o in outcomes):,.2f}",
        f"{max(o.longest_s for o in outcomes):.3f}",
        f"{100 * mean(o.helping for o in outcomes):.1f} %",
    ]


def policy_alone(options: argparse.Namespace, _: Path, complaints: list[str]) -> dict[str, Any]:
    """Run the policy in virtual time, 20 seeds, beside the published figures."""
    runs = {
        policy: [
            virtual(policy, n_streams=N_STREAMS, n_buffers=N_BUFFERS, n_events=N_EVENTS, seed=seed)
            for seed in range(1, options.seeds + 1)
        ]
        for policy in POLICIES
    }
    rows = []
    for policy, outcomes in runs.items():
        p = PUBLISHED[policy]
        published = (p["events_per_s"], p["efficiency"], "", p["n_stalls"], p["stalls_s"], p["longest_s"], "")
        rows += [(policy, "published", *published), (policy, "here", *cells(outcomes))]
    title = f"Policy alone, virtual time: 12 streams, 40,000 events, {options.seeds} seeds"
    show(title, ("policy", "", *HEADER), rows)
    check_policy(runs, complaints)
    return {policy: [outcome.told for outcome in outcomes] for policy, outcomes in runs.items()}


def check_policy(runs: dict[str, list[Outcome]], complaints: list[str]) -> None:
    """Complain of what is not as it must be."""
    single = [outcome.efficiency for outcome in runs["single"]]
    fullest = [outcome.efficiency for outcome in runs["fullest"]]
    if not 0.90 <= min(single) <= max(single) <= 0.93:
        complaints.append(f"single: efficiency {min(single):.4f} to {max(single):.4f}, not 0.90 to 0.93")
    if min(fullest) < 0.985:
        complaints.append(f"fullest: efficiency {min(fullest):.4f}, not 0.985")
    lost = [sum(outcome.stalls_s for outcome in runs[policy]) for policy in ("single", "fullest")]
    if lost[1] > lost[0] / 100:
        complaints.append(f"fullest: stalled for {lost[1]:.1f} s, not a hundredth of {lost[0]:.1f} s")


def on_threads(options: argparse.Namespace, _: Path, complaints: list[str]) -> dict[str, Any]:
    """Run the library itself on threads that sleep, and draw what they do."""
    cases = {
        policy: Sleeping(
            policy, N_STREAMS, N_BUFFERS, options.events, 1, options.scale, RESULT / f"stalls-{policy}.json"
        )
        for policy in POLICIES
    }
    started = {policy: case.start() for policy, case in cases.items()}
    outcomes = {policy: cases[policy].end(process) for policy, process in started.items()}
    title = f"The library on threads that sleep: {options.events:,} events at {options.scale:g} of their time"
    show(title, ("policy", *HEADER), [(policy, *cells([outcome])) for policy, outcome in outcomes.items()])
    for policy in POLICIES:
        for suffix in ("png", "html"):
            plot = RESULT / f"stalls-{policy}.{suffix}"
            with contextlib.redirect_stdout(io.StringIO()):
                arrowroot(["stalls", str(RESULT / f"stalls-{policy}.json"), "--plot", str(plot)])
    if outcomes["fullest"].stalls_s > outcomes["single"].stalls_s / 100:
        complaints.append(f"on threads, fullest: stalled for {outcomes['fullest'].stalls_s:.2f} s")
    return {policy: outcome.told for policy, outcome in outcomes.items()}


def buffers(options: argparse.Namespace, _: Path, __: list[str]) -> dict[str, Any]:
    """Compare 1 to 8 buffers and the use of each, at 4, 8 and 12 streams."""
    rows, told = [], {}
    for n_streams in (4, 8, 12):
        for policy in ("fifo", "fullest"):
            for n_buffers in range(1, 9):
                runs = [
                    virtual(policy, n_streams=n_streams, n_buffers=n_buffers, n_events=N_EVENTS, seed=seed)
                    for seed in range(1, min(options.seeds, 5) + 1)
                ]
                fills = [sum(each) for each in zip(*(run.n_fills for run in runs), strict=True)]
                use = " ".join(f"{100 * n / sum(fills):.2f}" for n in fills)
                rows.append((n_streams, policy, n_buffers, *cells(runs)[:6], use))
                told[f"{n_streams} {policy} {n_buffers}"] = [run.told for run in runs]
    show(
        "Number of buffers, virtual time",
        ("streams", "policy", "buffers", *HEADER[:6], "use of each (%)"),
        rows,
    )
    return told


def real(options: argparse.Namespace, directory: Path, complaints: list[str]) -> dict[str, Any]:
    """Run real compression on the cores there are, policy by policy, without helping."""
    rows, told = [], {}
    for codec in (LZMA_4, LZMA_9, ZSTD):
        for n_streams in (N_CORES, 2 * N_CORES):
            seen: dict[str, float] = {}
            for policy in POLICIES:
                case = real_case(options, directory, policy=policy, codec=codec, n_streams=n_streams)
                outcome = case.run(N_CORES)
                rows.append((codec, n_streams, policy, *cells([outcome])))
                told[f"{codec} {n_streams} {policy}"] = outcome.told
                seen[policy] = outcome.stalls_s
            if seen["fullest"] > seen["single"] + 0.1:
                complaints.append(f"codec {codec}, {n_streams} streams: fullest is behind single, {seen}")
    title = f"Real events and compression, {N_CORES} cores, who fills a buffer compresses it, no helping"
    show(title, ("codec", "streams", "policy", *HEADER), rows)
    return told


def real_case(options: argparse.Namespace, directory: Path, **changed: Any) -> Real:
    """Return a run of MINIAOD-like events: some 20 kB each, as many to a cluster as compress for some seconds."""
    usual: dict[str, Any] = {
        "engine": "arrowroot", "policy": "fullest", "n_streams": 2 * N_CORES, "n_buffers": N_BUFFERS,
        "n_events": options.real_events, "seed": 1, "shape": "miniaod", "codec": ZSTD, "flush": 100, "n_threads": 1,
        "helps": False, "work_ms": options.work_ms, "out": directory / "out.root",
    }  # fmt: skip
    return Real(**(usual | changed))


def helping(options: argparse.Namespace, directory: Path, _: list[str]) -> dict[str, Any]:
    """Show what helping changes: a producer's time in it is neither its work nor a stall."""
    rows, told = [], {}
    for helps in (False, True):
        for n_threads in (1, N_CORES):
            case = real_case(
                options,
                directory,
                codec=LZMA_4,
                helps=helps,
                n_threads=n_threads,
                stalls=RESULT / f"help-{helps}.json",
            )
            outcome = case.run(N_CORES)
            rows.append((helps, n_threads, *cells([outcome])))
            told[f"{helps} {n_threads}"] = outcome.told
    show("Helping, LZMA 4", ("help", "threads that compress", *HEADER), rows)
    return told


def queue(options: argparse.Namespace, directory: Path, _: list[str]) -> dict[str, Any]:
    """Show the length of the queue for a MINIAOD-like and an AOD-like output, and for small and large clusters."""
    rows, told = [], {}
    for shape, flush, n_events in (
        ("miniaod", 20, options.real_events), ("miniaod", 100, options.real_events),
        ("aod", 5, options.real_events // 8), ("aod", 50, options.real_events // 8),
    ):  # fmt: skip
        case = real_case(
            options, directory, shape=shape, flush=flush, n_events=n_events, work_ms=1.0, n_threads=N_CORES
        )
        outcome = case.run(N_CORES)
        samples = outcome.told["queue"]
        most = max((n for _, n, _, _ in samples), default=0)
        mean = statistics.fmean(n for _, n, _, _ in samples) if samples else 0.0
        peak = outcome.told["peak_buffer_bytes"] / 1e6
        rows.append(
            (shape, flush, outcome.told["n_clusters"], f"{mean:.1f}", most, f"{peak:.0f}", *cells([outcome]))
        )
        told[f"{shape} {flush}"] = outcome.told
    header = (
        "shape",
        "entries of a cluster",
        "clusters",
        "mean queue",
        "longest queue",
        "most in buffers (MB)",
    )
    show("Clusters that wait, streams that do little else", (*header, *HEADER), rows)
    return told


def peers(options: argparse.Namespace, directory: Path, _: list[str]) -> dict[str, Any]:
    """Run the same load with ROOT's writers."""
    rows, told = [], {}
    for shape, flush, n_events in (
        ("miniaod", 100, options.real_events),
        ("aod", 20, options.real_events // 8),
    ):
        for engine, layout in (
            ("arrowroot", "ttree"), ("tbuffermerger", "ttree"),
            ("arrowroot", "rntuple"), ("rntuple-parallel", "rntuple"),
        ):  # fmt: skip
            for n_streams in (N_CORES, 2 * N_CORES, 8):
                case = real_case(
                    options, directory, engine=engine, layout=layout, shape=shape, flush=flush, n_events=n_events,
                    n_streams=n_streams, n_threads=N_CORES, helps=True,
                )  # fmt: skip
                outcome = case.run(N_CORES)
                size, rss = case.out.stat().st_size / 1e6, outcome.told["peak_rss_bytes"] / 1e6
                rows.append(
                    (shape, engine, layout, n_streams, *cells([outcome])[:6], f"{rss:.0f}", f"{size:.1f}")
                )
                told[f"{shape} {engine} {layout} {n_streams}"] = outcome.told
    header = ("shape", "writer", "layout", "streams", *HEADER[:6], "peak memory (MB)", "file (MB)")
    show("Beside ROOT, zstd 5 (its waits: time in a call without a processor)", header, rows)
    return told


RUNS = {
    "policy": policy_alone,
    "threads": on_threads,
    "buffers": buffers,
    "real": real,
    "help": helping,
    "queue": queue,
    "peers": peers,
}

if __name__ == "__main__":
    sys.exit(main())
