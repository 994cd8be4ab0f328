"""Many producers and columns: throughput beside the compressor's limit, memory over time, and what the queue takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from campaigns.parallel_output.cases import N_CORES, Scale
from campaigns.parallel_output.tables import Found, table

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

PRODUCERS = (1, 2, 8, 64)
COLUMNS = (10, 100, 1_000, 10_000)
ZSTD, LZ4, NONE = 505, 401, 0
BUFFER_MB = 256
#: The bounds that must be reached.
OF_LIMIT, QUEUE_SHARE, PLAIN_BYTES_PER_S = 0.9, 0.01, 1.5e9
#: Memory is flat if its most in the last quarter is at most so much more than in the second, but for the tree's record.
GROWTH, GROWTH_BYTES = 1.1, 16e6
#: The record is made when the tree is saved and closed. It takes so many bytes for each branch and each basket then, as
#: objects and as it is written; what it was made of before stays with the allocator of another thread. Most columns
#: are lists, which have a second branch.
BRANCH_BYTES, BASKET_BYTES = 4_000, 72
BRANCHES_OF_COLUMN = 1.8


def scale(options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Run all of them. The large run goes to a sink that keeps nothing; the file of the limit is small."""
    n_mb, large_mb = (50, 1_000) if options.quick else (500, 10_000)
    repetitions = 1 if options.quick else 2
    limits = {
        n_columns: Scale(1, n_columns, min(n_mb, 100), ZSTD, directory / "limit.root").limit(repetitions)
        for n_columns in COLUMNS
    }
    runs = [
        {
            "n_columns": n_columns, "n_producers": n_producers, "limit": limits[n_columns],
            "run": Scale(n_producers, n_columns, n_mb, ZSTD).run(),
        }
        for n_columns in COLUMNS for n_producers in PRODUCERS
    ]  # fmt: skip
    others = {
        f"{large_mb / 1000:g} GB, lz4 1, sink that keeps nothing": Scale(8, 100, large_mb, LZ4),
        f"{n_mb} MB, no compression, memory touched before": Scale(1, 100, n_mb, NONE, "memory", n_threads=1),
        f"{n_mb} MB, no compression, {N_CORES} threads": Scale(N_CORES, 100, n_mb, NONE, "memory"),
    }
    return {
        "n_cores": N_CORES, "n_mb": n_mb, "runs": runs,
        "others": [
            {
                "name": name, "n_producers": case.n_producers, "n_columns": case.n_columns, "codec": case.codec,
                "run": case.run(),
            }
            for name, case in others.items()
        ],
    }  # fmt: skip


def scale_table(told: dict[str, Any]) -> Found:
    """Return throughput beside the limit, and where CPU time and memory go."""
    rows, complaints = [], []
    for case in told["runs"]:
        run, n_columns, n_producers = case["run"], case["n_columns"], case["n_producers"]
        name = f"{n_producers} producers, {n_columns:,} columns"
        share = bytes_per_s(run) / case["limit"]
        rows.append(
            (f"{n_columns:,}", n_producers, f"{bytes_per_s(run) / 1e6:.0f}", f"{share:.2f}", *shares(run))
        )
        complaints += check(name, n_columns, run)
        if share < OF_LIMIT:
            complaints.append(f"{name}: {share:.2f} of the limit")
    header = (
        "columns", "producers", "MB/s", "of the limit", "queue", "finding a buffer", "from Arrow", "writing", "closing",
        "peak in buffers (MB)", "peak memory (MB)",
    )  # fmt: skip
    title = f"{told['n_mb']} MB of values, zstd 5, {told['n_cores']} cores; shares of all CPU time"
    tables = [table(title, header, rows)]
    rows = []
    for case in told["others"]:
        name, run = case["name"], case["run"]
        rows.append((name, case["n_producers"], f"{bytes_per_s(run) / 1e6:,.0f}", *shares(run)))
        if case["codec"] == NONE and bytes_per_s(run) < PLAIN_BYTES_PER_S:
            complaints.append(f"{name}: {bytes_per_s(run) / 1e9:.2f} GB/s")
        if case["codec"] == LZ4:
            complaints += check(name, case["n_columns"], run)
    tables.append(table("100 columns", ("", "producers", "MB/s", *header[4:]), rows))
    return Found(tables, complaints)


def bytes_per_s(run: dict[str, Any]) -> float:
    """Return bytes of values a second."""
    return float(1e9 * run["n_bytes"] / run["wall_ns"])


def queue_share(run: dict[str, Any]) -> float:
    """Return the share of all CPU time that is in no step: in the queue, and in threads that wake up."""
    steps = sum(run[f"{step}_ns"] for step in ("conversion", "collecting", "tasks", "placing", "closing"))
    return float((cpu_ns(run) - steps) / cpu_ns(run))


def cpu_ns(run: dict[str, Any]) -> int:
    """Return the CPU time of a run without that of looking at it."""
    return int(run["cpu_ns"] - run["sampling_ns"])


def shares(run: dict[str, Any]) -> list[str]:
    """Return the cells of CPU time and memory."""
    steps = [run[f"{step}_ns"] / cpu_ns(run) for step in ("collecting", "conversion", "placing", "closing")]
    memory = [f"{run[key] / 1e6:.0f}" for key in ("peak_buffer_bytes", "peak_rss_bytes")]
    return [*(f"{100 * share:.2f} %" for share in (queue_share(run), *steps)), *memory]


def check(name: str, n_columns: int, run: dict[str, Any]) -> list[str]:
    """Return what is not as it must be: the queue's share, and memory that grows by more than the tree's record."""
    complaints = []
    if queue_share(run) > QUEUE_SHARE:
        complaints.append(f"{name}: the queue takes {100 * queue_share(run):.1f} % of CPU time")
    memory = [sample[4] for sample in run["queue"]]
    quarter = len(memory) // 4
    if quarter >= 4:
        early, late = max(memory[quarter : 2 * quarter]), max(memory[3 * quarter :])
        record = BRANCHES_OF_COLUMN * n_columns * (BRANCH_BYTES + BASKET_BYTES * run["n_clusters"])
        if late > GROWTH * early + GROWTH_BYTES + record:
            complaints.append(f"{name}: memory grows from {early / 1e6:.0f} to {late / 1e6:.0f} MB")
    return complaints
