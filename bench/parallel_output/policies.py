"""The policy alone, and the library on threads that sleep, beside the published figures."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

from arrowroot.cli import main as arrowroot
from bench.parallel_output import figures
from bench.parallel_output.cases import POLICIES, PUBLISHED, Sleeping, virtual
from bench.parallel_output.tables import HEADER, Found, cells, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from bench.parallel_output.cases import Outcome

#: The settings of the published experiment.
N_STREAMS, N_EVENTS, N_BUFFERS = 12, 40_000, 4


def policy_alone(options: argparse.Namespace, _: Path, __: Path) -> Found:
    """Run the policy in virtual time beside the published figures."""
    runs = policy_runs(N_EVENTS, options.seeds)
    rows = []
    for policy, outcomes in runs.items():
        p = PUBLISHED[policy]
        published = (p["events_per_s"], p["efficiency"], "", p["n_stalls"], p["stalls_s"], p["longest_s"], "")
        rows += [(policy, "published", *published), (policy, "here", *cells(outcomes))]
    title = f"Policy alone, virtual time: {N_STREAMS} streams, {N_EVENTS:,} events, {options.seeds} seeds"
    told = {policy: [outcome.told for outcome in outcomes] for policy, outcomes in runs.items()}
    return Found([table(title, ("policy", "", *HEADER), rows)], told, check_policy(runs))


def policy_runs(n_events: int, n_seeds: int) -> dict[str, list[Outcome]]:
    """Run each policy in virtual time, seed by seed."""
    return {policy: virtual_runs(policy, N_STREAMS, N_BUFFERS, n_events, n_seeds) for policy in POLICIES}


def virtual_runs(policy: str, n_streams: int, n_buffers: int, n_events: int, n_seeds: int) -> list[Outcome]:
    """Run a policy in virtual time, seed by seed."""
    return [
        virtual(policy, n_streams=n_streams, n_buffers=n_buffers, n_events=n_events, seed=seed)
        for seed in range(1, n_seeds + 1)
    ]


def check_policy(runs: dict[str, list[Outcome]]) -> list[str]:
    """Return what is not as it must be."""
    complaints = []
    single = [outcome.efficiency for outcome in runs["single"]]
    fullest = [outcome.efficiency for outcome in runs["fullest"]]
    if not 0.90 <= min(single) <= max(single) <= 0.93:
        complaints.append(f"single: efficiency {min(single):.4f} to {max(single):.4f}, not 0.90 to 0.93")
    if min(fullest) < 0.985:
        complaints.append(f"fullest: efficiency {min(fullest):.4f}, not 0.985")
    lost = [sum(outcome.stalls_s for outcome in runs[policy]) for policy in ("single", "fullest")]
    if lost[1] > lost[0] / 100:
        complaints.append(f"fullest: stalled for {lost[1]:.1f} s, not a hundredth of {lost[0]:.1f} s")
    return complaints


def on_threads(options: argparse.Namespace, _: Path, out: Path) -> Found:
    """Run the library itself on threads that sleep, and draw what they do."""
    outcomes = thread_runs(options.events, options.scale, out)
    title = f"The library on threads that sleep: {options.events:,} events at {options.scale:g} of their time"
    rows = [(policy, *cells([outcome])) for policy, outcome in outcomes.items()]
    for policy in POLICIES:
        for suffix in ("png", "html"):
            plot = out / f"stalls-{policy}.{suffix}"
            with contextlib.redirect_stdout(io.StringIO()):
                arrowroot(["stalls", str(stalls_path(out, policy)), "--plot", str(plot)])
    complaints = []
    if outcomes["fullest"].stalls_s > outcomes["single"].stalls_s / 100:
        complaints.append(f"on threads, fullest: stalled for {outcomes['fullest'].stalls_s:.2f} s")
    told = {policy: outcome.told for policy, outcome in outcomes.items()}
    return Found([table(title, ("policy", *HEADER), rows)], told, complaints)


def thread_runs(n_events: int, scale: float, out: Path) -> dict[str, Outcome]:
    """Run each policy on threads that sleep, all at once; ``stalls_path`` has its stall graph in the sleeps' time."""
    cases = {
        policy: Sleeping(policy, N_STREAMS, N_BUFFERS, n_events, 1, scale, stalls_path(out, policy))
        for policy in POLICIES
    }
    started = {policy: case.start() for policy, case in cases.items()}
    return {policy: cases[policy].end(process) for policy, process in started.items()}


def stalls_path(out: Path, policy: str) -> Path:
    """Return where a policy's stall graph is."""
    return out / f"stalls-{policy}.json"


def buffers(options: argparse.Namespace, _: Path, out: Path) -> Found:
    """Compare 1 to 8 buffers and the use of each, at 4, 8 and 12 streams; the table has 12, the picture all."""
    rows, told = [], {}
    curves: dict[tuple[str, int], list[Outcome]] = {}
    for (n_streams, policy, n_buffers), runs in buffer_runs(N_EVENTS, options.seeds):
        fills = [sum(each) for each in zip(*(run.n_fills for run in runs), strict=True)]
        use = " ".join(f"{100 * n / sum(fills):.1f}" for n in fills)
        if n_streams == N_STREAMS:
            rows.append((policy, n_buffers, *cells(runs)[:6], use))
        curves.setdefault((policy, n_streams), []).append(runs[0])
        told[f"{n_streams} {policy} {n_buffers}"] = [run.told for run in runs]
    figures.draw_buffers(str(out / "parallel-buffers.png"), curves)
    header = ("policy", "buffers", *HEADER[:6], "use of each (%)")
    return Found([table(f"Number of buffers, {N_STREAMS} streams, virtual time", header, rows)], told, [])


def buffer_runs(n_events: int, n_seeds: int) -> Iterator[tuple[tuple[int, str, int], list[Outcome]]]:
    """Yield streams, policy and number of buffers, and the runs with them in virtual time: of five seeds at most."""
    for n_streams in (4, 8, N_STREAMS):
        for policy in ("fifo", "fullest"):
            for n_buffers in range(1, 9):
                runs = virtual_runs(policy, n_streams, n_buffers, n_events, min(n_seeds, 5))
                yield (n_streams, policy, n_buffers), runs
