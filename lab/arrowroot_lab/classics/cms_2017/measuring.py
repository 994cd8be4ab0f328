"""CMS 2017 done again by ``campaigns/parallel_output``, a program that has the published figures, too."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arrowroot_lab
from arrowroot_lab.classics import results as kept
from arrowroot_lab.errors import RequestError, RunnerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from arrowroot_lab.classics.results import Row

NAME = "cms-2017"

POLICIES = ("single", "fifo", "fullest")
#: The policy to whose published figures the model is fitted: the time of an event, and when and how long a buffer is
#: compressed.
FITTED = "single"
PROGRAM = "campaigns.parallel_output"
#: Events of the policy alone, and on threads that sleep: 40,000 for statistics, 10,000 for stall graphs, as published.
N_EVENTS, N_SLEEPING = 40_000, 10_000
#: The figures that are kept of a run.
FIGURES = ("events_per_s", "efficiency", "not_stalled", "n_stalls", "stalls_s", "longest_s")


def measure(scale: float, told: Callable[[str], None], file: str | None = None) -> dict[str, Any]:
    """Run the policies, and return the document of the results.

    scale: of the numbers of events. file: what ``python -m campaigns.parallel_output peers --out FILE`` wrote, with
    ROOT's own writers.

    Raises: RequestError without a checkout, or for another file; RunnerError with what the program said.
    """
    peers = [] if file is None else peer_rows(Path(file))
    told("the policy alone, 20 seeds; on threads that sleep; 1 to 8 buffers: some minutes")
    document = _asked(scale, "policy")
    alone, on_threads, buffers = (
        told["found"] for told in (document, _asked(scale, "threads", "--graphs"), _asked(scale, "buffers"))
    )
    rows: list[Row] = [
        {"study": "published", "policy": policy, **document["published"][policy]} for policy in POLICIES
    ]
    for policy in POLICIES:
        rows += [
            {"study": "policy", "policy": policy, "seed": seed, **_kept(run), "n_fills": run["n_fills"]}
            for seed, run in enumerate(alone[policy], 1)
        ]
        run = on_threads["runs"][policy]
        rows.append({"study": "threads", "policy": policy, **_kept(run), "n_fills": run["n_fills"]})
    rows += [_buffer_row(of) for of in buffers["cases"]]
    rows += peers
    settings = document["settings"]
    model = {
        **{key: settings[key] for key in ("n_streams", "n_buffers")},
        "sleep_scale": settings["scale"],
        "n_events": settings["virtual_events"],
        "n_seeds": settings["seeds"],
        "n_sleeping_events": settings["events"],
        "machine": document["machine"],
        "graphs": {
            policy: _graph(graph, settings["scale"]) for policy, graph in on_threads["graphs"].items()
        },
    }
    return kept.document(NAME, scale, model, rows)


def checkout() -> Path:
    """Return the checkout whose benchmarks are asked. Raises: RequestError if the laboratory is in none."""
    place = Path(arrowroot_lab.__file__).resolve().parents[2]
    if not (place / "campaigns" / "parallel_output").is_dir():
        raise RequestError(
            f"{NAME} is done again by {PROGRAM}, which a checkout of arrowroot has: use the laboratory from one"
        )
    return place


def _asked(scale: float, part: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", PROGRAM, part, *options]
    command += ["--virtual-events", str(round(N_EVENTS * scale)), "--events", str(round(N_SLEEPING * scale))]
    done = subprocess.run(command, cwd=checkout(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunnerError(f"{PROGRAM}: exit code {done.returncode}: {done.stderr.strip()}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _kept(run: dict[str, Any]) -> Row:
    return {name: round(run[name], 6) for name in FIGURES}


def _buffer_row(of: dict[str, Any]) -> Row:
    """Means over the seeds, but the longest stall of all; and how many fills each buffer had."""
    runs = of["runs"]
    row: Row = {key: statistics.fmean(run[key] for run in runs) for key in FIGURES}
    row["longest_s"] = max(run["longest_s"] for run in runs)
    return {
        "study": "buffers",
        **{key: of[key] for key in ("n_streams", "policy", "n_buffers")},
        **_kept(row),
        "n_fills": [sum(each) for each in zip(*(run["n_fills"] for run in runs), strict=True)],
    }


def peer_rows(path: Path) -> list[Row]:
    """Return the rows of ROOT's own writers, with the state of the machine.

    Raises: RequestError for what is no such file.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        state = {
            "machine": document["machine"],
            "work_ms": document["settings"]["work_ms"],
            "n_events": document["settings"]["real_events"],
        }
        keys = ("shape", "layout", "n_streams", "file_bytes")
        return [
            {
                "study": "real", **{key: case[key] for key in keys}, "writer": case["engine"],
                "peak_rss_bytes": case["run"]["told"]["peak_rss_bytes"], **_kept(case["run"]), **state,
            }
            for case in document["found"]["cases"]
        ]  # fmt: skip
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise RequestError(
            f"--file {path}: expected what `python -m {PROGRAM} peers --out FILE` writes ({error!r})"
        ) from None


def _graph(stalls: dict[str, Any], scale: float) -> dict[str, Any]:
    """Return a stall graph in the time that sleeps stand for: [stream, 1 if stalled, begin, length] in ms."""
    states = stalls["states"]
    begin_ns = min(stream["start_ns"] for stream in stalls["streams"])
    end_ns = max(stream["end_ns"] for stream in stalls["streams"])
    least_us = stalls["threshold_ns"] / 1e3
    intervals = []
    for stream, state, start_us, length_us in stalls["intervals_us"]:
        # Shorter waits are no stalls, and handing an event over takes no time.
        if states[state] in ("stalled", "writing") and length_us >= least_us:
            begin_ms = (start_us * 1e3 - begin_ns) / scale / 1e6
            intervals.append(
                [stream, int(states[state] == "stalled"), round(begin_ms), round(length_us / scale / 1e3)]
            )
    return {
        "n_streams": len(stalls["streams"]),
        "end_ms": round((end_ns - begin_ns) / scale / 1e6),
        "intervals": intervals,
    }
