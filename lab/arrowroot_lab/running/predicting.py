"""Predictions beside measurements: by the runner itself, from the trace of a rehearsal and the figures of the line."""

from __future__ import annotations

import hashlib
import json
import statistics
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot_lab.canonical import N_DIGITS, key_of
from arrowroot_lab.documents import now
from arrowroot_lab.engines.ask import ask
from arrowroot_lab.errors import RunnerError, SkippedError

if TYPE_CHECKING:
    from pathlib import Path

    from arrowroot_lab.engines.contract import Job

    from .subject import Subject

#: Storages whose line the campaign tells -> the scheme of their URLs; of others it is "file".
SCHEMES = {"xrootd": "root", "xcache": "root", "http": "http", "s3": "s3"}
#: Local files are read so often for a trace: how long decoding takes is measured, all else of a replay is exact.
N_READINGS = 5


class Trace(NamedTuple):
    """The trace of a read of the local files."""

    path: Path
    #: CPU times of all readings, in their order: the trace is that of the one in the middle.
    cpu_ns: list[int]

    def hash(self) -> str:
        """The hash of what a replay of it is made of: its files'."""
        whole = hashlib.sha256()
        for path in sorted(self.path.parent.glob(f"{self.path.stem}*.parquet")):
            whole.update(path.read_bytes())
        return whole.hexdigest()[:N_DIGITS]


def local_trace(
    subject: Subject, directory: Path, timeout_s: float, *, n_readings: int = N_READINGS
) -> Trace | None:
    """Return the trace of a read of the local files, one for all cases that read them alike, by whatever strategy.

    It is made in ``directory`` unless it is there: the files are read several times, and the reading whose CPU time is
    in the middle is kept. None: no runner makes one, or predicts from it.

    Raises: LabError as ``ask`` does.
    """
    if not subject.is_replayable:
        return None
    job: Job = {**subject.job, "strategy": "auto", "cache_bytes": None, "options": {}}
    name = f"local-{key_of([subject.command, subject.case.dataset.name, job])}"
    kept = directory / f"{name}.json"
    if not kept.exists():
        urls = [str(path) for path in subject.found.files]
        times: list[int] = []
        for n in range(n_readings):
            asked: Job = {**job, "urls": urls, "trace": str(directory / f"reading-{n}-{name}.parquet")}
            told = ask(subject.command, "run", asked, timeout_s=timeout_s, directory=directory).answer
            times.append(told["cpu_ns"])
        middle = times.index(statistics.median_low(times))
        for path in directory.glob(f"reading-{middle}-{name}*"):
            path.replace(path.with_name(path.name.removeprefix(f"reading-{middle}-")))
        for path in directory.glob(f"reading-*-{name}*"):
            path.unlink()
        kept.write_text(json.dumps(times))
    return Trace(directory / f"{name}.parquet", json.loads(kept.read_text()))


def awaited(subject: Subject, line: dict[str, float]) -> dict[str, float]:
    """Return the figures of the line that reads wait for: before a cache that is cold that is the origin's."""
    storage = subject.case.storage
    if storage.kind != "xcache" or storage.is_cache_warm:
        return line
    return {key.removeprefix("origin_"): value for key, value in line.items() if key.startswith("origin_")}


def predict(
    subject: Subject, trace: Path | None, line: dict[str, float], scheme: str, timeout_s: float
) -> dict[str, Any] | None:
    """Return what a run would take behind a line, as a result keeps it; None where nobody can tell.

    trace: of a rehearsal, or the report of a program; None: the runner reads the local files to make one.
    """
    if "predict" not in subject.can or "latency_ns" not in line or subject.case.workload.workers > 1:
        return None
    urls = [str(path) for path in subject.found.files]
    n_open = subject.engine.family.open_requests.get(scheme, 0)
    # A server far away takes one more for the connection, which a relay answers itself.
    if n_open and subject.case.storage.kind == "url":
        n_open += 1
    figures = {"bytes_per_s": 0.0, "n_open_requests": float(n_open), **line}
    job: Job = {**subject.job, "urls": urls, "line": figures, "scheme": scheme}
    if trace is not None:
        job["trace"] = str(trace)
    try:
        answer = ask(subject.command, "predict", job, timeout_s=timeout_s).answer
    except (SkippedError, RunnerError) as error:
        # Nothing is measured worse by it: it is told where predictions are.
        return {"by": "nobody", "reason": str(error), "predicted_at": now()}
    known = ["wall_ns", "cpu_ns", "error_share", "counters", "by"]
    if subject.case.storage.kind == "xcache" and not subject.case.storage.is_cache_warm:
        # The work of the cache itself until it has the bytes is not simulated.
        known.remove("error_share")
    return {key: answer[key] for key in known if key in answer} | {"line": line, "predicted_at": now()}  # type: ignore[literal-required]


def gap(prediction: dict[str, Any], measured_ns: float) -> float | None:
    """Return by which share the measurement is beyond what was predicted, and its error; None: it is not."""
    wall_ns, error = prediction.get("wall_ns"), prediction.get("error_share")
    if not wall_ns or error is None:
        return None
    share = measured_ns / wall_ns - 1
    return float(share) if abs(share) > error else None
