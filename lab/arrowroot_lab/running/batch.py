"""Jobs of a batch system, each of them a Dask worker: HTCondor and Slurm through dask-jobqueue (docs/lab/sites.md)."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from arrowroot_lab.campaign.site import VARIABLE
from arrowroot_lab.errors import RequestError
from arrowroot_lab.location import whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arrowroot_lab.campaign.site import Batch, Site

#: The program that each system is asked by.
_SUBMIT = {"htcondor": "condor_submit", "slurm": "sbatch"}
#: Variables that jobs get from the environment of the program that asks.
_VARIABLES = (VARIABLE, "ARROWROOT_LAB_CACHE", "ARROWROOT_CONFIG", "XDG_CONFIG_HOME")
#: HTCondor wants to know.
_DISK_BYTES = 10 * 10**9


@contextmanager
def jobs_of(site: Site, name: str) -> Iterator[str]:
    """Send the jobs of one of a site's batch systems; yield the address of the scheduler that they connect to.

    A job that ends early, as at its wall time, is sent anew. All are taken back at the end, however it comes.

    Raises: RequestError if the site has no such system, or if it takes no job.
    """
    batch = site.batches.get(name)
    if batch is None:
        there = ", ".join(site.batches) or "none"
        file = site.path or f"no file of a site is here, and {VARIABLE} names none"
        raise RequestError(f"--batch {name}: site {site.name} has no [batch.{name}]; it has {there} ({file})")
    program = _SUBMIT.get(batch.system)
    if program is not None and shutil.which(program) is None:
        raise RequestError(f"--batch {name}: there is no {program} here: ask from a node that may send jobs")
    cluster = _cluster_of(batch)
    try:

        async def sent() -> None:
            await cluster
            for job in cluster.workers.values():
                await job  # one that was not taken is sent once more, and raises what was said

        with _quiet():
            cluster.scale(jobs=batch.jobs)
            try:
                cluster.sync(sent)
            except (RuntimeError, ValueError, OSError) as error:
                said = " ".join(str(error).split())
                raise RequestError(f"--batch {name}: {batch.system} takes no job: {said}") from None
        cluster.adapt(minimum_jobs=batch.jobs, maximum_jobs=batch.jobs)
        yield cluster.scheduler_address
    finally:
        try:
            cluster.close()
        except AssertionError:  # all is closed, but jobs that were never taken are not as it expects
            from distributed.core import Status

            cluster.status = Status.closed


@contextmanager
def _quiet() -> Iterator[None]:
    """Log nothing of the first jobs: a failure of theirs is raised, and need not come with tracebacks besides."""
    loggers = [logging.getLogger(name) for name in ("tornado.application", "asyncio", "distributed")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _cluster_of(batch: Batch) -> Any:
    """The cluster of dask-jobqueue, with a scheduler in this process, and no job yet."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        from dask_jobqueue import HTCondorCluster, SLURMCluster
        from dask_jobqueue.local import LocalCluster
    except ImportError:
        raise RequestError(
            "--batch needs the package dask-jobqueue: in a clone, pip install './lab[batch]'"
        ) from None
    finally:
        # Its import has Ctrl-C end the process, as if all were done (dask_jobqueue/runner.py, 0.9.0).
        signal.signal(signal.SIGINT, handler)
    kinds = {"htcondor": HTCondorCluster, "slurm": SLURMCluster, "local": LocalCluster}
    try:
        return kinds[batch.system](**settings(batch))
    except (ValueError, OSError) as error:
        raise RequestError(f"[batch]: {batch.system}: {error}") from None


def settings(batch: Batch) -> dict[str, Any]:
    """Return what dask-jobqueue is told: one worker a job, which does one thing at a time with all of its cores."""
    batch = replace(batch, **{one.name: whole(getattr(batch, one.name)) for one in fields(batch)})
    scheduler: dict[str, Any] = {"dashboard_address": ":0"}
    if batch.system == "local":
        scheduler["host"] = "127.0.0.1"
    if batch.host is not None:
        scheduler["host"] = batch.host
    if batch.port is not None:
        scheduler["port"] = batch.port
    told: dict[str, Any] = {
        "cores": batch.cores,
        "memory": f"{batch.memory_bytes} B",
        "processes": 1,
        # A worker takes one group of cases, and the next one when that is measured: it has no second thread.
        "worker_extra_args": ["--nthreads", "1"],
        "python": batch.python,
        "interface": batch.interface,
        "log_directory": batch.logs,
        "scheduler_options": scheduler,
        "job_name": "arrowroot-lab",
    }
    if batch.system == "local":  # its jobs are commands, without a script around them
        return told
    exported = [
        f"export {name}={shlex.quote(os.environ[name])}" for name in _VARIABLES if os.environ.get(name)
    ]
    told["job_script_prologue"] = [*exported, *batch.prologue]
    if batch.system == "slurm":
        more = {
            "queue": batch.queue,
            "account": batch.account,
            "walltime": None if batch.walltime_s is None else _clock(batch.walltime_s),
            "job_extra_directives": list(batch.directives),
        }
        return told | {key: value for key, value in more.items() if value is not None}
    lines: dict[str, str] = {}
    if batch.account is not None:
        lines["accounting_group"] = batch.account
    if batch.walltime_s is not None:
        lines["+MaxRuntime"] = str(batch.walltime_s)
    for directive in batch.directives:
        key, _, value = directive.partition("=")
        lines[key.strip()] = value.strip()
    return told | {"disk": f"{batch.disk_bytes or _DISK_BYTES} B", "job_extra_directives": lines}


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
