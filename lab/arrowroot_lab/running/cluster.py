"""The cases of a campaign on a Dask cluster: each group of cases that are compared goes to one worker, in turns there.

Workers need the laboratory, the engines, and the campaign's directory at the same path. A worker measures one group at
a time, alone on its machine (the lock of `Session`); servers are started where it is. Where the store is a server,
workers that reach it store each result at once, so that nothing is lost if the one that asked is killed. All results
come back to that one, too, which stores those that are not there yet.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from arrowroot_lab.campaign.matrix import cases, host_of
from arrowroot_lab.campaign.model import StorageLimits
from arrowroot_lab.campaign.origin import given
from arrowroot_lab.campaign.read import read
from arrowroot_lab.campaign.site import here
from arrowroot_lab.documents import Outcome, decode, encode
from arrowroot_lab.errors import LabError, RequestError, StoreError, os_problem, told_to_people
from arrowroot_lab.runs import another_of, new_run
from arrowroot_lab.store import Store

from .events import Progress, RunProgress, ended
from .session import Session, Summary

if TYPE_CHECKING:
    from arrowroot_lab.campaign.model import Campaign
    from arrowroot_lab.documents import Result

#: A key, the site, the versions, the hash of the file, and the outcome of a result that is in the store.
Measured = tuple[str, str, dict[str, str], str | None, Outcome]
Show = Callable[[str, str, str, RunProgress], None]


@dataclass(frozen=True)
class Errand:
    """The part of a campaign that a worker is sent to measure."""

    path: str
    text_hash: str
    #: The store's, for the journal's name on the worker's machine.
    place: str
    #: Results in the store.
    measured: list[Measured]
    site: str | None
    chosen: tuple[str, ...]
    is_again: bool
    run: str
    labels: frozenset[str] = frozenset()
    #: The URL of the store if it is a server, without a password: that is each worker's own affair.
    server: str | None = None
    #: By host the bytes that other workers have drawn in this round.
    drawn: dict[str, float] = field(default_factory=dict)


@dataclass
class WorkerStore:
    """The store as a worker knows it, and the results that it measures: text, to be sent."""

    measured: list[Measured]
    place: str
    documents: list[str] = field(default_factory=list)
    #: The store itself, if the worker reaches it.
    store: Store | None = None

    def has(self, asked: Result, outcomes: tuple[Outcome, ...] = (Outcome.OK,)) -> bool:
        """True if a case is measured, as ``Store.has`` says."""
        file = asked.dataset.get("file")
        return any(
            (key, site) == (asked.case_id, asked.site)
            and asked.versions.items() <= told.items()
            and file in (None, of_file)
            and outcome in outcomes
            for key, site, told, of_file, outcome in self.measured
        )

    def newest(self, site: str) -> str | None:
        """When the newest result of a site was complete, if the store is within reach."""
        return self.store.newest(site) if self.store is not None else None

    def put(self, result: Result) -> bool:
        """Keep a result."""
        self.documents.append(encode(result))
        if self.store is not None:
            try:
                self.store.put_document(self.documents[-1])
            except StoreError:  # the server is away: it is stored where it comes back to
                self.store.close()
                self.store = None
        return True


def run_there(
    campaign: Campaign,
    store: Store,
    address: str,
    *,
    site: str | None,
    chosen: tuple[str, ...],
    is_again: bool,
    show: Show,
) -> Summary:
    """Measure a campaign on the workers of a scheduler. Ctrl-C takes back what has not begun.

    site: of all results; None: each worker's own.

    Raises: RequestError if the scheduler cannot be reached, or a worker has not the same campaign.
    """
    try:
        from distributed import Client, KilledWorker, as_completed
    except ImportError:
        raise RequestError(
            "--dask needs the package distributed: in a clone, pip install './lab[dask]'"
        ) from None
    try:
        client = Client(address, timeout="30s")
    except (OSError, ValueError, TimeoutError) as error:
        raise RequestError(f"{address}: no scheduler of Dask answers there: {error}") from None
    errand = Errand(
        campaign.origin.whole() if campaign.origin else str(campaign.path.resolve()),
        campaign.text_hash,
        store.place,
        measured_in(store),
        site,
        chosen,
        is_again,
        new_run(),
        server=store.server,
    )
    summary = Summary()
    rows = _rows(campaign)
    with client:

        def send(row: deque[frozenset[str]]) -> Any:
            sent = replace(
                errand, labels=row.popleft(), run=another_of(errand.run), drawn=dict(summary.drawn)
            )
            return client.submit(measure_there, sent, pure=False, retries=0)

        n_groups, n_done = sum(map(len, rows)), 0
        futures = {send(row): row for row in rows}
        completed = as_completed(list(futures))
        try:
            for future in completed:
                n_done += 1
                try:
                    told = future.result()
                except KilledWorker as error:
                    told = {"failures": [_failure(error)], "documents": []}
                except Exception as error:  # noqa: BLE001 - a worker without the laboratory, say
                    told = {"failures": [_failure(error)], "documents": []}
                _take(summary, store, told, show, RunProgress(n_done / n_groups))
                if row := futures.pop(future):
                    futures[following := send(row)] = row
                    completed.add(following)
        finally:
            client.cancel([future for future in futures if not future.done()])
    if chosen and not (summary.results or summary.n_known or summary.failures or summary.missing):
        raise RequestError(f"{campaign.path}: no case is {' or '.join(chosen)}; `lab plan` lists them")
    return summary


def measured_in(store: Store) -> list[Measured]:
    """Return the results by which a case counts as measured: none that went well without a counted sample."""
    return [
        (row.case_id, row.site, json.loads(row.versions), row.dataset_file, Outcome(row.outcome))
        for row in store.summaries()
        if row.outcome != Outcome.OK.value or row.n_counted
    ]


def measure_there(errand: Errand) -> dict[str, Any]:
    """Measure some cases of a campaign on this machine; return the documents, and what else is to be told."""
    kept = WorkerStore(errand.measured, errand.place, store=_reached(errand.server))
    try:
        return _measured(errand, kept)
    finally:
        if kept.store is not None:
            kept.store.close()


def _reached(server: str | None) -> Store | None:
    """The store, if it is a server that this machine reaches."""
    if server is None:
        return None
    try:
        return Store.open(server)
    except StoreError:
        return None


def _measured(errand: Errand, kept: WorkerStore) -> dict[str, Any]:
    try:
        campaign = read(given(errand.path))
    except RequestError as error:
        return {"fault": f"on a worker: {error}"}
    if campaign.text_hash != errand.text_hash:
        return {
            "fault": f"{errand.path}: a worker has another one there: workers need the campaign's directory"
        }
    progress = Progress(lambda *_: None)
    session = Session(
        campaign,
        kept,
        errand.site or here().name,
        progress,
        errand.chosen,
        errand.is_again,
        errand.labels,
        drawn=errand.drawn,
        run_id=errand.run,
    )
    try:
        summary = session.run()
    except RequestError as error:
        return {"fault": f"on a worker: {error}"}
    except LabError as error:
        return {"failures": [str(error)], "documents": kept.documents}
    except Exception as error:  # noqa: BLE001 - the journal has what is in the documents as stored
        return {"failures": [_failure(error)], "documents": kept.documents}
    told = ("n_known", "failures", "left", "why_left", "remarks", "drawn", "missing")
    return {"documents": kept.documents, **{name: getattr(summary, name) for name in told}}


def _failure(error: Exception) -> str:
    told = os_problem(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    return f"on a worker: {told_to_people(told)}"


def _rows(campaign: Campaign) -> list[deque[frozenset[str]]]:
    """Labels of the cases that share a dataset, a storage and a workload: what differs is compared, in turns.

    Groups of a storage with limits are one row: each begins when the one before is done, so that two workers never
    read from it at the same time.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    rows: dict[Any, list[list[str]]] = {}
    for case in cases(campaign):
        key = (case.dataset.name, case.storage.name, case.workload.name)
        if key not in groups:
            groups[key] = []
            is_free = case.storage.limits == StorageLimits()
            rows.setdefault(key if is_free else host_of(case.storage), []).append(groups[key])
        groups[key].append(case.label())
    return [deque(map(frozenset, row)) for row in rows.values()]


def _take(summary: Summary, store: Store, told: dict[str, Any], show: Show, state: RunProgress) -> None:
    if "fault" in told:
        raise RequestError(told["fault"])
    for document in told["documents"]:
        result = decode(document)
        store.put_document(document)
        summary.results.append(result)
        names = [
            result.case.get(key, "") for key in ("dataset_name", "storage_name", "engine", "workload_name")
        ]
        kind, text = ended(result)
        show(kind, " / ".join(map(str, names)), text, state)
    summary.n_known += told.get("n_known", 0)
    summary.failures += told["failures"]
    summary.left += told.get("left", [])
    summary.why_left = told.get("why_left") or summary.why_left
    summary.remarks += [one for one in told.get("remarks", []) if one not in summary.remarks]
    summary.drawn |= told.get("drawn", {})
    summary.missing.update(told.get("missing", {}))
