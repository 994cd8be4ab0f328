"""The documents that the laboratory keeps: what was asked, and what came of it (docs/lab/documents.md).

Keys are added, and never redefined; what a reader does not know it keeps. The documents are JSON; these classes
are what the programs that write them agree on.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from typing import Any, TypedDict

from .canonical import key_of

FORM, FORM_VERSION = "arrowroot-lab/result", 1

#: Values of the metrics of one layer ("application", "store", "line", "device", ...), exact counts and bytes.
Counters = dict[str, dict[str, int]]


def now() -> str:
    """Return the time in UTC, as the documents have it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Outcome(str, Enum):
    """How a case, or a sample, ended."""

    OK = "ok"
    #: The program ended with an error, or its values are wrong.
    FAILED = "failed"
    TIMED_OUT = "timed out"
    #: Not tried: an engine cannot do it, or is not there.
    SKIPPED = "skipped"
    #: Not measured, as it would not be what it is called.
    REFUSED = "refused"


class CaseDocument(TypedDict, total=False):
    """What is asked. Its hash is the key of the case; no reading and no version is in it."""

    dataset: str  # hash of its values
    layout: str  # hash of its layout
    dataset_name: str  # not hashed
    storage: dict[str, Any]  # kind, line, cache, cold: what it is, not where
    engine: str  # its name, without a version
    workload: dict[str, Any]
    strategy: dict[str, Any]  # name, cache_bytes, options
    threads: int
    workers: int


#: Keys of a case that are for people.
NOT_HASHED = ("dataset_name",)


@dataclass
class Sample:
    """One measurement, in its order."""

    #: Its place in the turns: all cases have their first sample before any has its second.
    turn: int
    #: UTC.
    started_at: str
    outcome: Outcome
    reason: str | None = None
    #: None if the program told no times.
    wall_ns: int | None = None
    cpu_ns: int | None = None
    peak_rss_bytes: int | None = None
    counters: Counters = field(default_factory=dict)
    #: Time of the control kernel just before, and just after.
    control_ns: tuple[int, int] | None = None
    #: Load, steal time, pressure, traffic, device reads and busy time while it ran: see machine/readings.py.
    readings: dict[str, float] = field(default_factory=dict)
    #: Why it is not counted; empty: it is. A disturbed sample is kept, and another one taken.
    disturbed: list[str] = field(default_factory=list)
    #: Of a cold read: the share of the file in the page cache before it, and what the device read.
    cold: dict[str, float] | None = None
    #: What else the runner told.
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Result:
    """All samples of one case in one run of a campaign."""

    case: CaseDocument
    site: str
    #: CPU model, cores, memory class, storage kind: what makes two machines the same for a history.
    machine: dict[str, Any]
    #: Of the engine, of its libraries, of the server, of the commit.
    versions: dict[str, str]
    #: name, values, layout, file (hashes), file_bytes, n_entries.
    dataset: dict[str, Any]
    #: name, path, commit, is_dirty, hash of its text, and run: the UUID of the run.
    campaign: dict[str, Any]
    samples: list[Sample] = field(default_factory=list)
    outcome: Outcome = Outcome.OK
    reason: str | None = None
    #: The whole fingerprint: CPU, cores, memory, kernel, storage type, packages.
    environment: dict[str, Any] = field(default_factory=dict)
    #: Round trip and bandwidth of the storage, before and after.
    line: dict[str, float] = field(default_factory=dict)
    #: What `predict` of a runner said: wall_ns, error (a share), counters, by.
    predictions: list[dict[str, Any]] = field(default_factory=list)
    #: The checksum of the values; the engine whose checksum it was compared with, and what came of it.
    checksum: dict[str, Any] | None = None
    checked: dict[str, Any] | None = None
    #: What repeats this result alone.
    command: list[str] = field(default_factory=list)
    #: Hash of the runner's program.
    runner: str | None = None
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    created_at: str = field(default_factory=now)
    #: Keys of a document that this version does not know.
    others: dict[str, Any] = field(default_factory=dict)

    @property
    def case_id(self) -> str:
        """The key of the case: the hash of what is asked."""
        return case_id(self.case)

    @property
    def series_id(self) -> str:
        """The key of the series: case, site and coarse machine."""
        return key_of([self.case_id, self.site, self.machine])

    def counted(self) -> list[Sample]:
        """The samples that figures are made of: those that ended well and undisturbed."""
        return [sample for sample in self.samples if sample.outcome is Outcome.OK and not sample.disturbed]


def case_id(case: CaseDocument) -> str:
    """Return the key of what is asked."""
    return key_of({key: value for key, value in case.items() if key not in NOT_HASHED})
