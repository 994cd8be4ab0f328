"""Storages that others use, too, are spared: pauses, a mean rate, and so many bytes of a round (docs/lab/sites.md)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from arrowroot_lab.campaign.matrix import host_of
from arrowroot_lab.quantities import size_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arrowroot_lab.campaign.model import Case, StorageLimits
    from arrowroot_lab.documents import Counters

    from .subject import Subject

#: After a first refusal a storage is left alone for so long; after a second one for the rest of the run.
BACK_OFF_S = 30.0


def beyond_limits(case: Case) -> str | None:
    """Return why a case is not measured at all, as it wants more connections than its storage allows; None: it may."""
    most = case.storage.limits.connections
    if most is None:
        return None
    allowed = f"storage {case.storage.name} allows {_connections(most)}"
    if case.workload.workers > most:
        return f"{case.workload.workers} processes at the same time, and {allowed}"
    asked = case.strategy.options.get("connections")
    # 0: as many as the storage is good for.
    if str(asked).isdigit() and not 0 < int(str(asked)) <= most // case.workload.workers:
        return f"its strategy takes {asked} connections a process, and {allowed}"
    return None


def drawn_bytes(counters: Counters, readings: Mapping[str, float]) -> float | None:
    """Return what came from a storage: as the engine counts, else all that came to the machine; None: nobody knows."""
    store = counters.get("store", {})
    if "n_bytes" in store:
        return float(store["n_bytes"] + store.get("opened_bytes", 0))
    return readings.get("network_in_bytes")


class Spared:
    """One storage in a run. Samples are taken one at a time, so that what they draw adds up."""

    def __init__(self, name: str, limits: StorageLimits, drawn: float = 0.0) -> None:
        """drawn: the bytes that were drawn in this round already, by another process just now."""
        self.name, self.limits = name, limits
        self.drawn_bytes = drawn
        #: Why nothing is asked of it any more in this run.
        self.closed: str | None = None
        #: It is closed for want of credentials, which are the user's affair: its cases wait for the next run.
        self.is_left = False
        self._has_backed_off = False
        self._free_at = time.monotonic() + (limits.pause_s or 0.0) if drawn else 0.0
        #: Labels of cases that have begun -> what is kept for their first sample.
        self._kept: dict[str, float] = {}
        #: Labels of cases -> the most that a sample of them drew.
        self._most: dict[str, float] = {}

    def backs_off(self) -> bool:
        """After a refusal: leave it alone for a while; False if that was done once in this run."""
        if self._has_backed_off:
            return False
        self._has_backed_off = True
        self._free_at = time.monotonic() + BACK_OFF_S
        return True

    def resumes(self, subject: Subject) -> None:
        """Count what samples of a run that was ended have drawn."""
        for sample in subject.result.samples:
            self._count(subject.label, drawn_bytes(sample.counters, sample.readings))

    def why_not_begin(self, label: str, n_bytes: float, *, is_rehearsed: bool = False) -> str | None:
        """Return why a case is not begun: a rehearsal and a sample do not fit in. If they do, room is kept for one.

        n_bytes: that a reading is estimated to draw, unless one has
        """
        n_bytes = self._most.get(label, n_bytes)
        if (problem := self._why_no_room(n_bytes if is_rehearsed else 2 * n_bytes)) is None:
            self._kept[label] = n_bytes
        return problem

    def why_no_sample(self, label: str) -> str | None:
        """Return why no further sample of a case that has begun is taken; None: it fits in."""
        self._kept.pop(label, None)
        return self._why_no_room(self._most.get(label, 0.0))

    def wait_s(self) -> float:
        """The time until it may be read again."""
        return max(0.0, self._free_at - time.monotonic())

    def was_read(self, label: str, began: float, n_bytes: float | None) -> None:
        """Note a read that has ended now, and began at that time of the monotonic clock."""
        self._count(label, n_bytes)
        ended = time.monotonic()
        paced = began + (n_bytes or 0.0) / self.limits.bytes_per_s if self.limits.bytes_per_s else 0.0
        self._free_at = max(ended + (self.limits.pause_s or 0.0), paced)

    def _count(self, label: str, n_bytes: float | None) -> None:
        self.drawn_bytes += n_bytes or 0.0
        self._most[label] = max(self._most.get(label, 0.0), n_bytes or 0.0)
        if label in self._kept:
            self._kept[label] = self._most[label]

    def _why_no_room(self, n_bytes: float) -> str | None:
        most = self.limits.traffic_bytes
        taken = self.drawn_bytes + sum(self._kept.values())
        if most is None or taken + n_bytes <= most:
            return None
        return (
            f"a round may draw {size_text(most)} of storage {self.name}: {size_text(taken)} are drawn, or kept for "
            f"cases before it, and this would draw about {size_text(n_bytes)}"
        )


class Sparing:
    """All storages of a run, by their hosts."""

    def __init__(self, subjects: Iterable[Subject], drawn: Mapping[str, float]) -> None:
        """drawn: by host what other processes have drawn in this round."""
        self._spared: dict[str, Spared] = {}
        for subject in subjects:
            storage = subject.case.storage
            host = host_of(storage)
            if host not in self._spared:
                self._spared[host] = Spared(storage.name, storage.limits, drawn.get(host, 0.0))
            spared = self._spared[host]
            spared.limits = spared.limits.within(storage.limits)
            spared.resumes(subject)

    def of(self, subject: Subject) -> Spared:
        """The storage of a case."""
        return self._spared[host_of(subject.case.storage)]

    def problems(self) -> list[str]:
        """Why nothing was asked of storages any more: a sentence for each."""
        return [one.closed for one in self._spared.values() if one.closed is not None]

    def drawn(self) -> dict[str, float]:
        """By host what was drawn in this round."""
        return {host: one.drawn_bytes for host, one in self._spared.items()}


def limits_text(limits: StorageLimits) -> str:
    """Write limits for people: ``4 connections, 50.0 MB/s, 2.00 GB a round, 5 s between samples``; "" without any."""
    told: list[Any] = []
    if limits.connections is not None:
        told.append(_connections(limits.connections))
    if limits.bytes_per_s is not None:
        told.append(f"{size_text(limits.bytes_per_s)}/s")
    if limits.traffic_bytes is not None:
        told.append(f"{size_text(limits.traffic_bytes)} a round")
    if limits.pause_s:
        told.append(f"{limits.pause_s:g} s between samples")
    return ", ".join(told)


def _connections(n: int) -> str:
    return f"{n} connection{'s' * (n != 1)}"
