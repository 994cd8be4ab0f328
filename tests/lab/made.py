"""Plausible results, made by a seed: a campaign over storages, engines, workloads and versions, run on several days.

The noise is that of real machines: samples are slower, never faster, than their run (3 %), one in twenty is an
outlier, and runs differ from each other by half a per cent.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from arrowroot_lab.documents import Outcome, Result, Sample

#: An example of each version of the documents' form.
FORMS = sorted((Path(__file__).parent / "forms").glob("*.json"))
#: storage -> (kind, round trip in ms, bytes a second)
STORAGES = {
    "local": ("local", 0.0, 2.0e9),
    "xrootd": ("xrootd", 0.2, 1.0e9),
    "nginx": ("http", 0.2, 1.0e9),
    "xrootd-50ms": ("xrootd", 50.0, 1.2e8),
    "s3-50ms": ("s3", 50.0, 1.2e8),
}
#: engine -> (its versions, CPU time for each entry in ns, reads of a file)
ENGINES = {
    "arrowroot": (("0.1.0", "0.2.0"), 900, 14),
    "root": (("6.38.00", "6.40.00"), 1900, 40),
    "uproot": (("5.7.7",), 2600, 85),
}
#: workload -> share of the bytes
WORKLOADS = {"ten columns": 0.04, "all columns": 1.0, "1 % of entries": 0.02}
N_ENTRIES, FILE_BYTES = 100_000, 300_000_000


@dataclass
class Noise:
    """How samples differ from what is true."""

    #: Mean of what a sample is slower by, one-sided.
    sample: float = 0.03
    #: Share of outliers, and how much slower they are at most.
    outliers: float = 0.05
    outlier_size: float = 1.0
    #: Standard deviation from run to run.
    run: float = 0.005

    def of_run(self, draw: random.Random) -> float:
        """A factor for all samples of one run."""
        return 1 + draw.gauss(0, self.run)

    def of_sample(self, draw: random.Random) -> float:
        """A factor for one sample."""
        factor = 1 + abs(draw.gauss(0, self.sample))
        return factor * (1 + draw.uniform(0.2, self.outlier_size) if draw.random() < self.outliers else 1)


@dataclass
class Made:
    """Results that are made; the defaults are a month of a small laboratory."""

    seed: int = 1
    campaign: str = "storages"
    site: str = "here"
    storages: tuple[str, ...] = tuple(STORAGES)
    engines: tuple[str, ...] = tuple(ENGINES)
    workloads: tuple[str, ...] = tuple(WORKLOADS)
    n_samples: int = 7
    n_runs: int = 3
    first_day: datetime = datetime(2026, 10, 1, 4, tzinfo=timezone.utc)
    days_between: int = 10
    #: Each engine's newest version takes so much of the time of the one before.
    speed: dict[str, float] = field(default_factory=lambda: {"arrowroot": 0.8, "root": 1.06})
    noise: Noise = field(default_factory=Noise)
    #: Outcomes other than ok, and disturbed samples, are drawn as well.
    with_trouble: bool = True

    def results(self) -> list[Result]:
        """All results, in the order in which a session would have put them."""
        draw = random.Random(self.seed)
        return [result for run in range(self.n_runs) for result in self._run(draw, run)]

    def _run(self, draw: random.Random, run: int) -> list[Result]:
        begin = self.first_day + timedelta(days=run * self.days_between)
        run_id = _uuid(draw)
        results, clock = [], begin
        for storage in self.storages:
            for engine in self.engines:
                for version in ENGINES[engine][0]:
                    for workload in self.workloads:
                        clock += timedelta(seconds=1)
                        results.append(
                            self._result(
                                draw,
                                run_id,
                                clock,
                                storage=storage,
                                engine=engine,
                                version=version,
                                workload=workload,
                            )
                        )
        return results

    def _result(self, draw, run_id, clock, *, storage, engine, version, workload):
        kind, latency_ms, bytes_per_s = STORAGES[storage]
        versions, entry_ns, n_reads = ENGINES[engine]
        share = WORKLOADS[workload]
        layout = "9c3fa1d2b4e5f607"
        speed = self.speed.get(engine, 1.0) if len(versions) > 1 and version == versions[-1] else 1.0
        cpu_ns = entry_ns * N_ENTRIES * (0.1 + share) * speed
        n_bytes = int(FILE_BYTES * share)
        wall_ns = (cpu_ns + n_reads * latency_ms * 1e6 + n_bytes / bytes_per_s * 1e9) * self.noise.of_run(
            draw
        )
        result = Result(
            case={
                "dataset": "51f0c2aa90b3d417",
                "layout": layout,
                "dataset_name": "nanoaod",
                "storage": {
                    "kind": kind,
                    "line": {"latency_ns": int(latency_ms * 1e6), "bytes_per_s": bytes_per_s},
                },
                "storage_name": storage,
                "engine": engine,
                "workload": {"kind": "read", "columns": workload, "order": "cluster"},
                "workload_name": workload,
                "strategy": {"name": "auto"},
                "threads": 1,
                "workers": 1,
            },
            site=self.site,
            machine={"cpu": "AMD EPYC 7B13", "n_cores": 2, "memory_class_gib": 32, "storage": "virtual disk"},
            versions={"engine": version, "zstd": "1.5.6", "server": "5.6.9" if kind == "xrootd" else "1.22"},
            dataset={
                "name": "nanoaod",
                "values": "51f0c2aa90b3d417",
                "layout": layout,
                "file": "0d6b7b6f8a1c2e39",
                "file_bytes": FILE_BYTES,
                "n_entries": N_ENTRIES,
            },
            campaign={
                "name": self.campaign,
                "path": f"campaigns/{self.campaign}.toml",
                "commit": "3f1d2c4b5a69788796a5b4c3d2e1f00112233445",
                "is_dirty": False,
                "hash": "77aa77aa77aa77aa",
                "run": run_id,
            },
            environment={
                "cpu": "AMD EPYC 7B13",
                "architecture": "x86_64",
                "n_cores": 2,
                "memory_bytes": 24 * 2**30,
                "is_virtual": True,
                "kernel": "6.1.0-18" if clock.day < 20 else "6.1.0-21",
                "python": "3.11.7",
                "storage": {"kind": "virtual disk", "file_system": "ext4", "read_ahead_kib": 128},
            },
            line={
                "latency_before_ns": latency_ms * 1e6 * draw.uniform(1.0, 1.05) + 30_000,
                "latency_after_ns": latency_ms * 1e6 * draw.uniform(1.0, 1.05) + 30_000,
                "bytes_per_s_before": bytes_per_s * draw.uniform(0.95, 1.0),
                "bytes_per_s_after": bytes_per_s * draw.uniform(0.95, 1.0),
            },
            predictions=[
                {"by": "model", "wall_ns": int(wall_ns * draw.uniform(0.9, 1.1)), "error_share": 0.15}
            ],
            checksum={"run": {"n": N_ENTRIES, "sum": 5000, "order": 12345}},
            checked={"by": "uproot" if engine != "uproot" else "root", "is_equal": True},
            command=["arrowroot", "lab", "run", f"campaigns/{self.campaign}.toml"],
            runner="a1b2c3d4e5f60718",
            uuid=_uuid(draw),
            created_at=_date(clock),
        )
        if self.with_trouble and self._trouble(draw, result):
            return result
        for turn in range(self.n_samples):
            result.samples += self._samples(
                draw, turn, clock, wall_ns=wall_ns, cpu_ns=cpu_ns, n_bytes=n_bytes, n_reads=n_reads
            )
        return result

    def _trouble(self, draw, result):
        """One result in twenty or so did not end well; True if it has no samples then."""
        outcome, reason = draw.choices(
            [
                (Outcome.OK, None),
                (Outcome.FAILED, "RunnerError: the server closed the connection after 1,048,576 bytes"),
                (Outcome.FAILED, "wrong values: column run: sum 5001, uproot has 5000"),
                (Outcome.TIMED_OUT, "no answer within 600 s"),
                (Outcome.SKIPPED, "uproot is not installed here"),
                (Outcome.REFUSED, "a cold read from a tmpfs would not be cold"),
            ],
            weights=[95, 1, 1, 1, 1, 1],
        )[0]
        result.outcome, result.reason = outcome, reason
        return outcome is not Outcome.OK

    def _samples(self, draw, turn, clock, *, wall_ns, cpu_ns, n_bytes, n_reads):
        """The samples of one turn: one, or a disturbed one before it."""
        is_disturbed = self.with_trouble and draw.random() < 0.03
        for disturbed in (True, False) if is_disturbed else (False,):
            factor = self.noise.of_sample(draw) * (1.7 if disturbed else 1)
            yield Sample(
                turn=turn,
                started_at=_date(clock + timedelta(minutes=10 * turn + 1)),
                outcome=Outcome.OK,
                wall_ns=int(wall_ns * factor),
                cpu_ns=int(cpu_ns * min(factor, 1.1)),
                peak_rss_bytes=int(2.1e8 * draw.uniform(1, 1.01)),
                counters={
                    "application": {"n_reads": n_reads * 3, "n_bytes": n_bytes},
                    "store": {
                        "n_reads": n_reads,
                        "n_bytes": int(n_bytes * 1.04),
                        "wait_ns": int(wall_ns / 3),
                    },
                    "device": {"n_bytes": int(n_bytes * 1.05)},
                },
                control_ns=(10_000_000, 17_000_000 if disturbed else 10_050_000),
                readings={
                    "load_1_minute": round(draw.uniform(0.1, 1.5), 2),
                    "elapsed_ns": float(wall_ns),
                    "network_in_bytes": float(n_bytes),
                    "network_out_bytes": 1e4,
                },
                disturbed=["steal: 30 % of the time was another machine's"] if disturbed else [],
            )


def _uuid(draw: random.Random) -> str:
    return str(uuid.UUID(int=draw.getrandbits(128), version=4))


def _date(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
