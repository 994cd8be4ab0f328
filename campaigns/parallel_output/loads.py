"""Real events and compression on the cores there are: policies, helping, queues, and ROOT's writers."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from campaigns.parallel_output.cases import N_CORES, POLICIES, Outcome, Real, outcomes
from campaigns.parallel_output.tables import HEADER, Found, cells, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

ZSTD, LZMA_4, LZMA_9 = 505, 204, 209
CODECS = {LZMA_4: "lzma 4", LZMA_9: "lzma 9", ZSTD: "zstd 5"}
#: Of the runs of policies, and the entries of a cluster.
N_BUFFERS, FLUSH = 2, 50
#: A policy is behind another one by so much at least, and in most pairs of runs: less is the machine's.
BEHIND = 0.01


def real_case(options: argparse.Namespace, directory: Path, **changed: Any) -> Real:
    """Return a run of MINIAOD-like events: some 20 kB each."""
    usual: dict[str, Any] = {
        "engine": "arrowroot", "policy": "fullest", "n_streams": 2 * N_CORES, "n_buffers": 4,
        "n_events": options.real_events, "seed": 1, "shape": "miniaod", "codec": ZSTD, "flush": FLUSH, "n_threads": 1,
        "helps": False, "work_ms": options.work_ms, "out": directory / "out.root",
    }  # fmt: skip
    return Real(**(usual | changed))


def real(options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Run real compression, policy by policy in turns, without helping: who fills a buffer compresses it.

    There are two buffers, as there were a third of 12. What the streams leave in their buffers is compressed at the
    end, by one thread, and its time counts as well: without it a policy would gain by what it has not done yet. How
    much is left depends on where a run ends, so the seeds end at different places of the time that fills both buffers.
    """
    cases = []
    for codec, name in CODECS.items():
        for n_streams in (N_CORES, 2 * N_CORES):
            runs: dict[str, list[dict[str, Any]]] = {policy: [] for policy in POLICIES}
            for seed in range(1, options.real_seeds + 1):
                # Each is first as often as the others.
                turn = seed % len(POLICIES)
                for policy in (*POLICIES[turn:], *POLICIES[:turn]):
                    case = real_case(
                        options,
                        directory,
                        policy=policy,
                        codec=codec,
                        n_streams=n_streams,
                        seed=seed,
                        n_buffers=N_BUFFERS,
                        flush=FLUSH,
                        n_events=options.real_events + (seed - 1) * N_BUFFERS * FLUSH // options.real_seeds,
                    )
                    runs[policy].append(case.run(N_CORES)._asdict())
            cases.append({"codec": name, "n_streams": n_streams, "runs": runs})
    settings = {"n_cores": N_CORES, "n_seeds": options.real_seeds, "n_events": options.real_events}
    return settings | {"cases": cases}


def real_table(told: dict[str, Any]) -> Found:
    """Return the policies, each in pairs with the one above."""
    rows, complaints = [], []
    for case in told["cases"]:
        name, n_streams = case["codec"], case["n_streams"]
        before: list[Outcome] = []
        for policy, kept in case["runs"].items():
            runs = outcomes(kept)
            ratios = [now.events_per_s / then.events_per_s for now, then in zip(runs, before, strict=False)]
            rows.append((name, n_streams, policy, *cells(runs)[:6], spread(ratios)))
            if ratios and is_behind(ratios):
                complaints.append(f"{name}, {n_streams} streams: {policy} is behind: {spread(ratios)}")
            before = runs
    title = (
        f"Real events and compression, {told['n_cores']} cores, {told['n_seeds']} seeds of {told['n_events']:,} events "
        f"and up to {N_BUFFERS * FLUSH} more, {N_BUFFERS} buffers, no helping"
    )
    header = ("codec", "streams", "policy", *HEADER[:6], "times the one above")
    return Found([table(title, header, rows)], complaints)


def is_behind(ratios: list[float]) -> bool:
    """Return whether most pairs say so, and by more than a run differs from the next one."""
    n_behind = sum(ratio < 1 for ratio in ratios)
    return statistics.median(ratios) < 1 - BEHIND and n_behind > 0.75 * len(ratios)


def spread(ratios: list[float]) -> str:
    """Return the median of ratios and their range."""
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})" if ratios else ""


def helping(options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Run with helping and without, where compression is most of the work."""
    cases = []
    for n_threads in (1, N_CORES):
        for helps in (False, True):
            case = real_case(
                options, directory, codec=LZMA_4, helps=helps, n_threads=n_threads, n_buffers=2, work_ms=2.0,
                n_streams=4 * N_CORES, stalls=directory / "stalls.json",
            )  # fmt: skip
            run = case.run(N_CORES)._asdict()
            cases.append({"helps": helps, "n_threads": n_threads, "n_streams": case.n_streams, "run": run})
    return {"n_cores": N_CORES, "cases": cases}


def helping_table(told: dict[str, Any]) -> Found:
    """Return what helping changes: it is neither a producer's work nor a stall."""
    rows = []
    for case in told["cases"]:
        outcome = Outcome(**case["run"])
        shares = [
            f"{100 * outcome.told[key] / (case['n_streams'] * outcome.told['filled_ns']):.1f} %"
            for key in ("running_ns", "writing_ns", "helping_ns", "stalled_ns")
        ]
        does = ("compress" if case["helps"] else "sleep", case["n_threads"])
        rows.append(
            (*does, f"{outcome.events_per_s:.1f}", *shares, outcome.n_stalls, f"{outcome.stalls_s:.1f}")
        )
    header = (
        "who would wait", "threads of the pool and the last", "events/s", "working", "writing", "helping", "stalled",
        "stalls", "total (s)",
    )  # fmt: skip
    title = f"Helping: lzma 4, {4 * told['n_cores']} streams with 2 ms of work an event; shares of the streams' time"
    return Found([table(title, header, rows)], [])


def queue(options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Run a MINIAOD-like and an AOD-like output, ours and TBufferMerger; queue and memory over time are kept."""
    cases = []
    for shape, flush, n_events in (
        ("miniaod", 20, 4 * options.real_events), ("miniaod", 200, 4 * options.real_events),
        ("aod", 5, options.real_events), ("aod", 50, options.real_events),
    ):  # fmt: skip
        for engine in ("arrowroot", "tbuffermerger"):
            case = real_case(
                options, directory, engine=engine, shape=shape, flush=flush, n_events=n_events, work_ms=1.0,
                n_streams=4 * N_CORES, n_threads=N_CORES, helps=True,
            )  # fmt: skip
            cases.append({"shape": shape, "flush": flush, "engine": engine, **kept(case)})
    return {"n_cores": N_CORES, "cases": cases}


def kept(case: Real) -> dict[str, Any]:
    """Run a case; return the outcome, and the bytes of its file."""
    outcome = case.run(N_CORES)
    return {"run": outcome._asdict(), "file_bytes": case.out.stat().st_size}


def queue_table(told: dict[str, Any]) -> Found:
    """Return queue and memory; the picture has both over time."""
    rows = []
    for case in told["cases"]:
        outcome = Outcome(**case["run"])
        samples = outcome.told["queue"]
        length = ["", ""]
        if case["engine"] == "arrowroot":
            waiting = [sample[1] for sample in samples] or [0]
            length = [f"{statistics.fmean(waiting):.1f}", f"{max(waiting)}"]
        memory = [sample[4] / 1e6 for sample in samples]
        rows.append((
            case["shape"], case["flush"], case["engine"], f"{outcome.events_per_s:.0f}", *length,
            f"{statistics.median(memory):.0f}", f"{outcome.told['peak_rss_bytes'] / 1e6:.0f}",
            f"{case['file_bytes'] / 1e6:.1f}",
        ))  # fmt: skip
    header = (
        "events", "entries of a cluster", "writer", "events/s", "clusters that wait, mean", "most",
        "memory (MB), median", "most", "file (MB)",
    )  # fmt: skip
    title = f"Queue and memory: {4 * told['n_cores']} streams that do little else than fill, zstd 5"
    return Found([table(title, header, rows)], [])


def autosave(options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Run sizes of clusters, and how many of them TBufferMerger merges at a time; no file comes to our autosave."""
    cases = []
    n_events = 4 * options.real_events
    for engine, flush, n_merged in (
        ("arrowroot", 10, 1), ("arrowroot", 40, 1), ("arrowroot", 160, 1),
        ("tbuffermerger", 10, 1), ("tbuffermerger", 10, 4), ("tbuffermerger", 10, 16),
        ("tbuffermerger", 40, 1), ("tbuffermerger", 40, 4), ("tbuffermerger", 160, 1),
    ):  # fmt: skip
        case = real_case(
            options, directory, engine=engine, flush=flush, autosave=n_merged, n_events=n_events, work_ms=2.0,
            n_threads=N_CORES, helps=True,
        )  # fmt: skip
        cases.append({"engine": engine, "flush": flush, "n_merged": n_merged, **kept(case)})
    return {"n_cores": N_CORES, "n_events": n_events, "cases": cases}


def autosave_table(told: dict[str, Any]) -> Found:
    """Return what sizes of clusters and of merges cost."""
    rows = []
    for case in told["cases"]:
        outcome, engine = Outcome(**case["run"]), case["engine"]
        merged = "" if engine == "arrowroot" else case["flush"] * case["n_merged"]
        rows.append((
            engine, case["flush"], merged, f"{outcome.events_per_s:.0f}",
            f"{outcome.told['cpu_ns'] / 1e6 / told['n_events']:.2f}", f"{outcome.stalls_s:.1f}",
            f"{outcome.told['peak_rss_bytes'] / 1e6:.0f}", f"{case['file_bytes'] / 1e6:.1f}",
        ))  # fmt: skip
    header = (
        "writer", "entries of a cluster", "entries of a merge", "events/s", "CPU of an event (ms)", "stalls (s)",
        "peak memory (MB)", "file (MB)",
    )  # fmt: skip
    n_streams = 2 * told["n_cores"]
    title = (
        f"Flush size against autosave: MINIAOD-like, {n_streams} streams with 2 ms of work an event, zstd 5"
    )
    return Found([table(title, header, rows)], [])


def peers(options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Run the same load with ROOT's writers."""
    return {
        "cases": [
            {
                "shape": case.shape, "engine": case.engine, "layout": case.layout, "n_streams": case.n_streams,
                "run": outcome._asdict(), "file_bytes": case.out.stat().st_size,
            }
            for case, outcome in peer_runs(options, directory)
        ]
    }  # fmt: skip


def peers_table(told: dict[str, Any]) -> Found:
    """Return our writers beside ROOT's."""
    rows = []
    for case in told["cases"]:
        outcome = Outcome(**case["run"])
        size, rss = case["file_bytes"] / 1e6, outcome.told["peak_rss_bytes"] / 1e6
        name = (case[key] for key in ("shape", "engine", "layout", "n_streams"))
        rows.append((*name, *cells([outcome])[:6], f"{rss:.0f}", f"{size:.1f}"))
    header = ("shape", "writer", "layout", "streams", *HEADER[:6], "peak memory (MB)", "file (MB)")
    title = "Beside ROOT, zstd 5 (its waits: time in a call without a processor)"
    return Found([table(title, header, rows)], [])


def peer_runs(options: argparse.Namespace, directory: Path) -> Iterator[tuple[Real, Outcome]]:
    """Yield each run of our writers and ROOT's; its file is there until the next one."""
    # An AOD-like event is ten times as large.
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
                yield case, case.run(N_CORES)
