"""Hubs that are made: results of many sites over thirty nights, with faults of places that are known."""

from __future__ import annotations

import math
import random
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from arrowroot_lab.documents import Outcome, Result, Sample
from arrowroot_lab.watching.places import Figure

FIRST_NIGHT = datetime(2026, 10, 1, 2, tzinfo=timezone.utc)
#: Kind of CPU -> time of the same work.
MODELS = {"CPU A": 1.0, "CPU B": 1.15, "CPU C": 0.85, "CPU D": 1.3, "CPU E": 0.95}
LATENCY_NS = {"root": 2e5, "davs": 2e7}
WORKLOADS = {"all": 1.0, "10 % of entries": 0.3, "2 % of branches": 0.1}


@dataclass(frozen=True)
class Fault:
    """A place is slower from a night on."""

    #: ``storage``, ``site``, ``cpu`` (of a site's nodes), ``memory`` (of a site, or of one case there), ``engine``
    #: (everywhere), ``silent`` (a site)
    kind: str
    site: str
    night: int
    #: By so much more: 0.2 is 20 %.
    size: float = 0.0
    storage: str = ""
    n_nights: int = 1000
    case: str = ""

    def is_on(self, night: int) -> bool:
        """True if it is there in a night."""
        return self.night <= night < self.night + self.n_nights


@dataclass
class Hub:
    """Results of sites; the defaults are the hub of four sites that the laboratory was first tried with."""

    seed: int = 1
    sites: tuple[str, ...] = ("CERN", "FNAL", "RAL", "GLASGOW")
    storages: tuple[str, ...] = ("root", "davs")
    n_nights: int = 30
    #: From run to run.
    noise: float = 0.015
    memory_noise: float = 0.005
    faults: tuple[Fault, ...] = ()
    models: tuple[str, ...] = ("CPU A",)
    #: Share of nights that are slow, half of them for half an hour.
    slow_nights: float = 0.0
    #: Night -> version of the engine; else the one before.
    versions: dict[int, str] = field(default_factory=lambda: {0: "6.38.00"})

    def figures(self) -> list[Figure]:
        """All results, as alarms take them."""
        draw = random.Random(self.seed)
        return [one for site in self.sites for one in self._of_site(site, draw)]

    def _of_site(self, site: str, draw: random.Random) -> list[Figure]:
        found = []
        memories = _Memories(self, site)
        speed = draw.uniform(0.8, 1.2)
        work = {
            (storage, workload): (draw.uniform(1, 20) * share, draw.uniform(0.2, 0.9))
            for storage in self.storages
            for workload, share in WORKLOADS.items()
        }
        for night in range(self.n_nights):
            model, kind = draw.choice(self.models), draw.random() / (self.slow_nights or math.inf)
            slow, where = 1 + draw.uniform(0.2, 1.0), draw.choice(self.storages)
            at = FIRST_NIGHT + timedelta(days=night, minutes=draw.uniform(0, 60))
            on = [
                one for one in self.faults if one.is_on(night) and (one.site == site or one.kind == "engine")
            ]
            if any(one.kind == "silent" for one in on):
                continue
            version = [named for begin, named in self.versions.items() if begin <= night][-1]
            for (storage, workload), (time_s, of_cpu) in work.items():
                is_slow = 0 < kind < 0.5 or (0.5 <= kind < 1 and storage == where)
                common = slow if self.slow_nights and is_slow else 1.0
                wall = common * math.exp(draw.gauss(0, self.noise))
                cpu = common * math.exp(draw.gauss(0, self.noise))
                for one in on:
                    if one.kind in ("site", "engine") or (one.kind == "storage" and one.storage == storage):
                        wall *= 1 + one.size
                    if one.kind == "cpu":
                        cpu *= 1 + one.size
                base = time_s * speed * 1e9
                at += timedelta(seconds=40)
                found.append(
                    Figure(
                        f"{random.Random(f'{self.seed} {site} {night} {storage} {workload}').getrandbits(122):032x}",
                        site, storage, workload, "root", version, f"{self.seed:08x}-{self.sites.index(site):04x}-"
                        f"{night:04x}-8000-{draw.getrandbits(48):012x}", at.isoformat(timespec="milliseconds"),
                        base * (of_cpu * MODELS[model] + 1 - of_cpu) * wall, base * of_cpu * MODELS[model] * cpu,
                        1e8 * MODELS[model] * math.exp(draw.gauss(0, 0.01)), model,
                        peak_rss_bytes=memories.peak_bytes(night, storage, workload, model, on),
                    )
                )  # fmt: skip
        return found

    def results(self) -> list[Result]:
        """The same as documents, with 20 counted samples each."""
        return [_result(one, random.Random(one.uuid)) for one in self.figures()]


class _Memories:
    """The peak memories of a site: other chance than that of its times, and less of it."""

    def __init__(self, hub: Hub, site: str) -> None:
        self._draw = random.Random(f"memory {hub.seed} {site}")
        self._hub = hub
        self._usual = {
            (storage, workload): self._draw.uniform(1e8, 1e9)
            for storage in hub.storages
            for workload in WORKLOADS
        }
        #: In as many nights as are slow one storage, or all of the site, takes more.
        self._more = [
            (
                self._draw.random() < hub.slow_nights,
                self._draw.choice((*hub.storages, "")),
                self._draw.uniform(0.05, 0.3),
            )
            for _ in range(hub.n_nights)
        ]

    def peak_bytes(self, night: int, storage: str, workload: str, model: str, faults: list[Fault]) -> float:
        """One result; machines with more cores take more for buffers."""
        peak = self._usual[storage, workload] * MODELS[model] ** 0.1
        peak *= math.exp(self._draw.gauss(0, self._hub.memory_noise))
        is_more, where, by = self._more[night]
        if is_more and where in ("", storage):
            peak *= 1 + by
        for one in faults:
            if one.kind == "memory" and one.case in ("", workload):
                peak *= 1 + one.size
        return peak


def planted() -> Hub:
    """Four sites with a slow storage, a slow site from a version on, a silent one, and more CPU time."""
    faults = (
        Fault("storage", "RAL", 20, 1.0, "davs"), Fault("site", "FNAL", 22, 0.05),
        Fault("silent", "GLASGOW", 25), Fault("cpu", "CERN", 20, 0.15),
    )  # fmt: skip
    return Hub(faults=faults, versions={0: "6.38.00", 22: "6.40.00"})


def drawn(seed: int) -> Hub:
    """A hub with one or two faults, five kinds of CPU, and nights that are slow by chance."""
    draw = random.Random(f"hub {seed}")
    sites = tuple(f"S{at}" for at in range(draw.randint(3, 10)))
    storages = ("root", "davs", "s3")[: draw.randint(2, 3)]
    faults: list[Fault] = []
    for kind in draw.choices(("storage", "storage", "site", "cpu", "engine"), k=draw.randint(1, 2)):
        one = Fault(
            kind, draw.choice(sites), draw.randint(10, 26), draw.uniform(0.1, 1.0), draw.choice(storages)
        )
        if not any(one.site == other.site or "engine" in (kind, other.kind) for other in faults):
            faults.append(one)
    # Other chance than that of the times, which stay as they were drawn.
    of_memory = random.Random(f"memory of hub {seed}")
    noise, where = math.exp(of_memory.uniform(math.log(0.002), math.log(0.02))), of_memory.choice(sites)
    if of_memory.random() < 0.5 and not any(one.site == where for one in faults):
        case = of_memory.choice(("", of_memory.choice([*WORKLOADS])))
        size = of_memory.uniform(0.1, 1.0)
        faults.append(Fault("memory", where, of_memory.randint(10, 26), size, case=case))
    versions = {0: "6.38.00", **{one.night: "6.40.00" for one in faults if one.kind == "engine"}}
    return Hub(
        seed, sites, storages, 30, draw.uniform(0.015, 0.05), noise, tuple(faults), tuple(MODELS), 0.03, versions
    )  # fmt: skip


def _result(one: Figure, draw: random.Random) -> Result:
    wall, cpu, control = one.wall_ns or 0.0, one.cpu_ns or 0.0, int(one.control_ns or 0)
    middle = one.created_at.replace("+00:00", "Z")
    counters = {"store": {"n_reads": 14, "n_bytes": 10_000_000}}
    readings = {
        "load_1_minute": round(draw.uniform(0.5, 4), 2), "elapsed_ns": wall,
        "network_in_bytes": 1e7, "network_out_bytes": 1e5,
    }  # fmt: skip
    told = {"outcome": Outcome.OK, "control_ns": (control, control), "details": {"n_entries": 1000}}
    told["readings"] = readings
    factors = [1 + draw.gauss(0, 0.002) for _ in range(20)]
    return Result(
        case={
            "dataset": "51f0c2aa90b3d417",
            "dataset_name": "nanoaod",
            "storage": {"kind": one.storage},
            "storage_name": one.storage,
            "engine": one.engine,
            "workload": {"kind": "read", "columns": one.case},
            "workload_name": one.case,
            "strategy": {"name": "auto"},
        },
        site=one.site,
        machine={"cpu": one.model, "n_cores": 2},
        versions={"engine": one.version},
        dataset={"name": "nanoaod", "values": "51f0c2aa90b3d417"},
        campaign={"name": "sites", "run": one.run},
        line={"latency_after_ns": LATENCY_NS.get(one.storage, 1e6), "bytes_per_s_after": 1e9},
        samples=[
            Sample(
                turn,
                middle,
                wall_ns=int(wall * by),
                cpu_ns=int(cpu * by),
                peak_rss_bytes=int(one.peak_rss_bytes or 0),
                counters=counters,
                **told,
            )
            for turn, by in enumerate(factors)
        ],
        uuid=str(uuid.UUID(one.uuid)),
        created_at=middle,
    )
