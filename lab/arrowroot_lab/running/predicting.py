"""Predictions beside measurements: by the runner itself, from the trace of a rehearsal and the figures of the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot_lab.canonical import key_of
from arrowroot_lab.documents import now
from arrowroot_lab.engines.ask import ask
from arrowroot_lab.errors import RunnerError, SkippedError

if TYPE_CHECKING:
    from pathlib import Path

    from arrowroot_lab.engines.contract import Job

    from .subject import Subject

#: Round trips before the first read, as they were measured behind a relay 50 ms away: of a session and the opening.
#: TLS takes one more. A relay answers a connection itself; a server far away takes a round trip for that, too.
OPEN_REQUESTS = {"http": 1, "https": 2, "s3": 1, "root": 2, "roots": 3}
#: Storages whose line the campaign tells -> the scheme of their URLs; of others it is "file".
SCHEMES = {"xrootd": "root", "xcache": "root", "http": "http", "s3": "s3"}


def local_trace(subject: Subject, directory: Path, timeout_s: float) -> Path | None:
    """Return the trace of a read of the local files, one for all cases that read them alike, by whatever strategy.

    It is made in ``directory`` unless it is there. None: no runner makes one, or predicts from it.

    Raises: LabError as ``ask`` does.
    """
    if not {"predict", "trace"} <= subject.can or subject.case.workload.workers > 1:
        return None
    job: Job = {**subject.job, "strategy": "auto", "cache_bytes": None, "options": {}}
    trace = directory / f"local-{key_of([subject.command, subject.case.dataset.name, job])}.parquet"
    if not trace.exists():
        urls = [str(path) for path in subject.found.files]
        asked: Job = {**job, "urls": urls, "trace": str(trace)}
        ask(subject.command, "run", asked, timeout_s=timeout_s, directory=directory)
    return trace


def predict(
    subject: Subject, trace: Path | None, line: dict[str, float], scheme: str, timeout_s: float
) -> dict[str, Any] | None:
    """Return what a run would take behind a line, as a result keeps it; None where nobody can tell.

    trace: of a rehearsal, or the report of a program; None: the runner reads the local files to make one.
    """
    if "predict" not in subject.can or "latency_ns" not in line or subject.case.workload.workers > 1:
        return None
    urls = [str(path) for path in subject.found.files]
    n_open = OPEN_REQUESTS.get(scheme, 0)
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
    known = ("wall_ns", "cpu_ns", "error_share", "counters", "by")
    return {key: answer[key] for key in known if key in answer} | {"line": line, "predicted_at": now()}  # type: ignore[literal-required]


def gap(prediction: dict[str, Any], measured_ns: float) -> float | None:
    """Return by which share the measurement is beyond what was predicted, and its error; None: it is not."""
    wall_ns, error = prediction.get("wall_ns"), prediction.get("error_share")
    if not wall_ns or error is None:
        return None
    share = measured_ns / wall_ns - 1
    return float(share) if abs(share) > error else None
