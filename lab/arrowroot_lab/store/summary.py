"""A result in one row: what the tables and pages ask for most, without the document."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arrowroot_lab.canonical import key_of
from arrowroot_lab.documents import FORM_VERSION, MAX_INTEGER, NOT_HASHED, in_utc, now
from arrowroot_lab.quantities import exact_size_text

if TYPE_CHECKING:
    from arrowroot_lab.documents import Result, Sample

#: The kind of storages whose times are those of a simulation.
VIRTUAL = "simulated"


@dataclass(frozen=True)
class Summary:
    """One row of the view ``results``, but for the document (docs/lab/documents.md has its keys)."""

    uuid: str
    form_version: int
    created_at: str
    stored_at: str
    case_id: str
    series_id: str
    site: str
    campaign: str
    run: str | None
    commit_id: str | None
    engine: str
    #: The engine's, for people; ``versions`` are all of them, as JSON.
    version: str
    versions: str
    dataset: str
    dataset_values: str
    dataset_file: str | None
    layout: str | None
    storage: str
    storage_kind: str
    workload: str
    strategy: str
    outcome: str
    reason: str | None
    n_samples: int
    n_counted: int
    n_disturbed: int
    #: Of the counted samples; None if there is none.
    wall_median_ns: int | None
    wall_minimum_ns: int | None
    cpu_median_ns: int | None
    cpu_minimum_ns: int | None
    peak_rss_bytes: int | None
    n_entries: int | None
    #: Workers by threads: the cores that the case may use.
    n_cores: int
    #: "shared": others used it meanwhile, and all samples count.
    node: str | None
    #: Hash of the whole fingerprint.
    environment_id: str
    #: The same for all results that are compared by engine, as they differ in nothing else; and so on. Versions are
    #: compared within a series.
    engine_group: str
    storage_group: str
    strategy_group: str
    layout_group: str
    #: Readings, None where they were not taken: the kind of CPU, the round trip to the storage, and medians of all
    #: samples of how many processes the node had to run, of the bytes that it sent and received, the loopback apart,
    #: and of the control kernel.
    cpu_model: str | None = None
    round_trip_ns: int | None = None
    load_1_minute: float | None = None
    network_bytes_per_s: int | None = None
    control_ns: int | None = None

    @property
    def is_virtual(self) -> bool:
        """True if its times are those of a simulation, in which nothing is waited for."""
        return self.storage_kind == VIRTUAL

    def label(self) -> str:
        """A short name for people: what was read, from where, by what, and how."""
        return " / ".join(
            [self.dataset, self.storage, f"{self.engine} {self.version}", self.workload, self.strategy]
        )


def summary_of(result: Result, form_version: int = FORM_VERSION) -> Summary:
    """Return the row of a result."""
    case, counted = result.case, result.counted()
    walls = [sample.wall_ns for sample in counted if sample.wall_ns is not None]
    cpus = [sample.cpu_ns for sample in counted if sample.cpu_ns is not None]
    peaks = [sample.peak_rss_bytes for sample in counted if sample.peak_rss_bytes is not None]
    storage, workload, strategy = case["storage"], case["workload"], case["strategy"]
    return Summary(
        uuid=result.uuid,
        form_version=form_version,
        created_at=in_utc(result.created_at),
        stored_at=now(),
        case_id=result.case_id,
        series_id=result.series_id,
        site=result.site,
        campaign=result.campaign["name"],
        run=result.campaign.get("run"),
        commit_id=result.campaign.get("commit"),
        engine=case["engine"],
        version=result.version,
        versions=json.dumps(result.versions, sort_keys=True),
        dataset=_name(case.get("dataset_name"), result.dataset.get("name"), case["dataset"]),
        dataset_values=case["dataset"],
        dataset_file=result.dataset.get("file"),
        layout=case.get("layout"),
        storage=_name(case.get("storage_name"), storage.get("name"), storage["kind"]),
        storage_kind=storage["kind"],
        workload=_name(case.get("workload_name"), workload.get("name"), workload.get("kind"), "read"),
        strategy=strategy_name(strategy),
        outcome=result.outcome.value,
        reason=result.reason,
        n_samples=len(result.samples),
        n_counted=len(counted),
        n_disturbed=sum(bool(sample.disturbed) for sample in result.samples),
        wall_median_ns=_median(walls),
        wall_minimum_ns=min(walls, default=None),
        cpu_median_ns=_median(cpus),
        cpu_minimum_ns=min(cpus, default=None),
        peak_rss_bytes=max(peaks, default=None),
        n_entries=result.dataset.get("n_entries"),
        n_cores=int(case.get("threads") or 1) * int(case.get("workers") or 1),
        node="shared" if result.is_shared else None,
        environment_id=key_of(result.environment),
        engine_group=_group(result, "engine"),
        storage_group=_group(result, "storage"),
        strategy_group=_group(result, "strategy"),
        layout_group=_group(result, "layout"),
        **readings_of(result),
    )


def readings_of(result: Result) -> dict[str, Any]:
    """Return what the row of a result has of its machine, its node and its line."""
    cpu = result.machine.get("cpu") or result.environment.get("cpu")
    loads = [load for sample in result.samples if (load := load_of(sample)) is not None]
    controls = [time for sample in result.samples if sample.control_ns for time in sample.control_ns if time]
    traffic = [rate for sample in result.samples if (rate := network_of(sample)) is not None]
    return {
        "cpu_model": str(cpu) if cpu else None,
        "round_trip_ns": round_trip_of(result),
        "load_1_minute": statistics.median(loads) if loads else None,
        "network_bytes_per_s": _median(traffic),
        "control_ns": _median(controls),
    }


def round_trip_of(result: Result) -> int | None:
    """Return the round trip to the storage, as it was before the samples, else after them; None: not measured."""
    told = [result.line.get(f"latency_{when}_ns") for when in ("before", "after")]
    return _whole(next((one for one in told if one is not None), None))


def load_of(sample: Sample) -> float | None:
    """Return the load of the node at the end of a sample, of the last minute."""
    load = sample.readings.get("load_1_minute")
    return float(load) if load is not None else None


def network_of(sample: Sample) -> int | None:
    """Return the bytes a second that the node sent and received during a sample; None: not read."""
    both = [sample.readings.get(f"network_{way}_bytes") for way in ("in", "out")]
    elapsed_ns = sample.readings.get("elapsed_ns")
    told = [one for one in both if one is not None]
    return _whole(sum(told) / elapsed_ns * 1e9) if elapsed_ns and told else None


def _whole(value: float | None) -> int | None:
    """A reading as a database takes it; None if it is more than that, as only a document of others tells."""
    return round(value) if value is not None and abs(value) <= MAX_INTEGER else None


def _group(result: Result, axis: str) -> str:
    """The key of all that is shared by results that are compared by an axis; engines have versions of their own."""
    case = {key: value for key, value in result.case.items() if key not in (axis, *NOT_HASHED)}
    shared = [] if axis == "engine" else [result.version]
    machine = {key: value for key, value in result.machine.items() if (axis, key) != ("storage", "storage")}
    return key_of([case, shared, result.site, machine])


def strategy_name(strategy: dict[str, Any]) -> str:
    """Return what tells a strategy from others: ``readahead 4 KiB``, with the options that were set."""
    words = [_name(strategy.get("name"), "auto")]
    cache_bytes, options = strategy.get("cache_bytes"), strategy.get("options")
    if isinstance(cache_bytes, int):
        words.append(exact_size_text(cache_bytes))
    if isinstance(options, dict):
        words += [f"{name}={value}" for name, value in sorted(options.items())]
    return " ".join(words)


def _name(*told: Any) -> str:
    """The first name that is there."""
    return next(str(name) for name in told if name)


def _median(times: list[int]) -> int | None:
    return round(statistics.median(times)) if times else None
