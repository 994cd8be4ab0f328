"""The policy alone, and the library on threads that sleep, beside the published figures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from campaigns.parallel_output.cases import POLICIES, PUBLISHED, Sleeping, outcomes, virtual
from campaigns.parallel_output.tables import HEADER, Found, cells, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from campaigns.parallel_output.cases import Outcome

#: The settings of the published experiment.
N_STREAMS, N_EVENTS, N_BUFFERS = 12, 40_000, 4
#: As many, and more than a job had then.
STREAMS = (N_STREAMS, 64)
#: The share of what streams could do that they must do with the policy "fullest".
EFFICIENCY = 0.95


def policy_alone(options: argparse.Namespace, _: Path) -> dict[str, Any]:
    """Run the policy in virtual time."""
    runs = policy_runs(options.virtual_events, options.seeds)
    return {policy: [outcome._asdict() for outcome in of_policy] for policy, of_policy in runs.items()}


def policy_table(told: dict[str, Any]) -> Found:
    """Return the policy alone, beside the published figures."""
    runs = {policy: outcomes(kept) for policy, kept in told.items()}
    rows = []
    for policy, of_policy in runs.items():
        p = PUBLISHED[policy]
        published = (p["events_per_s"], p["efficiency"], "", p["n_stalls"], p["stalls_s"], p["longest_s"], "")
        rows += [(policy, "published", *published), (policy, "here", *cells(of_policy))]
    n_seeds = len(runs["single"])
    title = f"Policy alone, virtual time: {N_STREAMS} streams, {N_EVENTS:,} events, {n_seeds} seeds"
    return Found([table(title, ("policy", "", *HEADER), rows)], check_policy(runs))


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


def on_threads(options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Run the library itself on threads that sleep."""
    runs = thread_runs(options.events, options.scale, directory)
    told: dict[str, Any] = {"n_events": options.events, "scale": options.scale}
    told["runs"] = {policy: outcome._asdict() for policy, outcome in runs.items()}
    if options.graphs:
        told["graphs"] = {policy: json.loads(stalls_path(directory, policy).read_text()) for policy in runs}
    return told


def threads_table(told: dict[str, Any]) -> Found:
    """Return the library on threads that sleep."""
    runs = dict(zip(told["runs"], outcomes(list(told["runs"].values())), strict=True))
    title = (
        f"The library on threads that sleep: {told['n_events']:,} events at {told['scale']:g} of their time"
    )
    rows = [(policy, *cells([outcome])) for policy, outcome in runs.items()]
    complaints = []
    if runs["fullest"].stalls_s > runs["single"].stalls_s / 100:
        complaints.append(f"on threads, fullest: stalled for {runs['fullest'].stalls_s:.2f} s")
    return Found([table(title, ("policy", *HEADER), rows)], complaints)


def thread_runs(n_events: int, scale: float, out: Path) -> dict[str, Outcome]:
    """Run each policy on threads that sleep, all at once; ``stalls_path`` has its stall graph in the sleeps' time."""
    cases = {
        policy: Sleeping(policy, N_STREAMS, N_BUFFERS, n_events, 1, scale, stalls_path(out, policy))
        for policy in POLICIES
    }
    started = {policy: case.start() for policy, case in cases.items()}
    return {policy: cases[policy].end(process) for policy, process in started.items()}


def streams(options: argparse.Namespace, _: Path) -> dict[str, Any]:
    """Run 12 and 64 streams: each policy in virtual time, and the library on threads that sleep, all at once."""
    cases = [
        Sleeping(policy, n_streams, N_BUFFERS, options.events, 1, options.scale)
        for n_streams in STREAMS
        for policy in POLICIES
    ]
    processes = [case.start() for case in cases]
    told = []
    for case, process in zip(cases, processes, strict=True):
        alone = virtual_runs(case.policy, case.n_streams, N_BUFFERS, options.virtual_events, options.seeds)
        told.append(
            {
                "n_streams": case.n_streams,
                "policy": case.policy,
                "virtual": [outcome._asdict() for outcome in alone],
                "threads": case.end(process)._asdict(),
            }
        )
    return {"n_events": options.events, "scale": options.scale, "cases": told}


def streams_table(told: dict[str, Any]) -> Found:
    """Return what 12 and 64 streams do."""
    rows, complaints = [], []
    for case in told["cases"]:
        for how in ("virtual", "threads"):
            runs = outcomes(case["virtual"] if how == "virtual" else [case["threads"]])
            name = "virtual time" if how == "virtual" else "threads"
            rows.append((case["n_streams"], case["policy"], name, *cells(runs)[:6]))
            least = min(run.efficiency for run in runs)
            if case["policy"] == "fullest" and least < EFFICIENCY:
                complaints.append(f"{case['n_streams']} streams, fullest, {how}: efficiency {least:.4f}")
    n_events, scale = told["n_events"], told["scale"]
    title = (
        f"12 and 64 streams, {N_BUFFERS} buffers; on threads {n_events:,} events at {scale:g} of their time"
    )
    return Found([table(title, ("streams", "policy", "", *HEADER[:6]), rows)], complaints)


def stalls_path(out: Path, policy: str) -> Path:
    """Return where a policy's stall graph is."""
    return out / f"stalls-{policy}.json"


def buffers(options: argparse.Namespace, _: Path) -> dict[str, Any]:
    """Run 1 to 8 buffers at 4, 8 and 12 streams."""
    keys = ("n_streams", "policy", "n_buffers")
    return {
        "cases": [
            {**dict(zip(keys, case, strict=True)), "runs": [outcome._asdict() for outcome in runs]}
            for case, runs in buffer_runs(options.virtual_events, options.seeds)
        ]
    }


def buffers_table(told: dict[str, Any]) -> Found:
    """Return 1 to 8 buffers and the use of each: 12 streams; the picture has all."""
    rows = []
    for case in told["cases"]:
        if case["n_streams"] == N_STREAMS:
            runs = outcomes(case["runs"])
            fills = [sum(each) for each in zip(*(run.n_fills for run in runs), strict=True)]
            use = " ".join(f"{100 * n / sum(fills):.1f}" for n in fills)
            rows.append((case["policy"], case["n_buffers"], *cells(runs)[:6], use))
    header = ("policy", "buffers", *HEADER[:6], "use of each (%)")
    return Found([table(f"Number of buffers, {N_STREAMS} streams, virtual time", header, rows)], [])


def buffer_runs(n_events: int, n_seeds: int) -> Iterator[tuple[tuple[int, str, int], list[Outcome]]]:
    """Yield streams, policy and number of buffers, and the runs with them in virtual time: of five seeds at most."""
    for n_streams in (4, 8, N_STREAMS):
        for policy in ("fifo", "fullest"):
            for n_buffers in range(1, 9):
                runs = virtual_runs(policy, n_streams, n_buffers, n_events, min(n_seeds, 5))
                yield (n_streams, policy, n_buffers), runs
