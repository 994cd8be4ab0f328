"""Plans of what a round takes of each storage: bytes, requests and time, at most, and what its limits cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arrowroot_lab.campaign.matrix import host_of
from arrowroot_lab.campaign.model import StorageLimits

from . import estimating
from .estimating import Drawn
from .sparing import Spared

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from arrowroot_lab.campaign.datasets import FoundDataset
    from arrowroot_lab.campaign.model import Campaign, EngineChoice, Storage
    from arrowroot_lab.store import Store

    from .planning import Planned

#: A sample that is disturbed is taken again: so many for one that is to be counted, at most.
_TRIES = 2
_COUNTERS = ("n_bytes", "opened_bytes", "n_reads", "n_vector_reads")

_NOTHING = Drawn(0.0, 0.0)


@dataclass
class Take:
    """The most that a round which measures all of its cases takes of one storage, but for what fails."""

    storage: Storage
    n_cases: int = 0
    drawn: Drawn = _NOTHING
    ns: float = 0.0
    #: Cases by what they are told from: "results", "estimates", "nothing".
    bases: dict[str, int] = field(default_factory=dict)
    #: Cases for which the bytes of a round leave fewer samples than are wanted, or none.
    n_fewer: int = 0
    n_none: int = 0
    #: Engines that nobody can tell how many connections they may open.
    not_held: list[str] = field(default_factory=list)


def takes(
    campaign: Campaign,
    planned: Sequence[Planned],
    store: Store | None,
    there: Mapping[str, FoundDataset],
    can: Callable[[EngineChoice], Collection[str]],
) -> list[Take]:
    """Return what a round takes of each storage, in the campaign's order; lines that are only simulated are left out.

    planned: with the times of samples; what limits add to each is noted there
    can: words of ``contract.CAN`` of an engine
    """
    measured = [one for one in planned if one.state != "cannot" and one.case.storage.kind != "simulated"]
    counted = _counted(store, [one.like for one in measured if one.like is not None])
    found: dict[str, Take] = {}
    of_hosts: dict[str, list[tuple[Planned, Take, Drawn]]] = {}
    for one in measured:
        case = one.case
        take = found.setdefault(case.storage.name, Take(case.storage))
        take.n_cases += 1
        told = counted.get(one.like or "")
        basis = "results" if told else "estimates"
        if told is None:
            told = estimating.drawn(case, there.get(case.dataset.name))
        if told is None:
            basis, told = "nothing", _NOTHING
        take.bases[basis] = take.bases.get(basis, 0) + 1
        one.held_ns = reading_ns(one, told.n_bytes) - reading_ns(one, 0.0, StorageLimits())
        engine, is_limited = case.engine.called(), case.storage.limits.connections is not None
        if is_limited and "connections" not in can(case.engine) and engine not in take.not_held:
            take.not_held.append(engine)
        of_hosts.setdefault(host_of(case.storage), []).append((one, take, told))
    for members in of_hosts.values():
        _share_out(campaign.repeats, members)
    return list(found.values())


def _share_out(repeats: int, members: Sequence[tuple[Planned, Take, Drawn]]) -> None:
    """Let the cases of one host take what its limits leave to each, as a run would."""
    spared = Spared("", members[0][1].storage.limits)
    for _, take, _ in members:
        spared.limits = spared.limits.within(take.storage.limits)
    n_samples = dict.fromkeys(range(len(members)), 0)
    begun = []
    for n, (_, take, told) in enumerate(members):
        if spared.why_not_begin(str(n), told.n_bytes) is None:
            spared.was_read(str(n), 0.0, told.n_bytes)
            begun.append(n)
        else:
            take.n_none += 1
    for turn in range(_TRIES * repeats):
        for n in begun:
            # Only a limit of bytes cuts: what has no place in this turn has none in the next.
            if n_samples[n] == turn and spared.why_no_sample(str(n)) is None:
                spared.was_read(str(n), 0.0, members[n][2].n_bytes)
                n_samples[n] += 1
    for n in begun:
        one, take, told = members[n]
        take.n_fewer += n_samples[n] < repeats
        n_reads = 1 + n_samples[n]
        take.drawn = Drawn(
            take.drawn.n_bytes + n_reads * told.n_bytes, take.drawn.n_requests + n_reads * told.n_requests
        )
        take.ns += n_reads * reading_ns(one, told.n_bytes)


def reading_ns(one: Planned, n_bytes: float, limits: StorageLimits | None = None) -> float:
    """Return the time of a reading with all around it, and the pause that limits want; None: those of its storage."""
    around_ns = estimating.case_ns(one.case, None, 1, 0.0) - estimating.case_ns(one.case, None, 0, 0.0)
    limits = one.case.storage.limits if limits is None else limits
    needed_ns = (one.sample_ns or 0.0) + around_ns + 1e9 * (limits.pause_s or 0.0)
    return max(needed_ns, 1e9 * n_bytes / limits.bytes_per_s if limits.bytes_per_s else 0.0)


def _counted(store: Store | None, uuids: list[str]) -> dict[str, Drawn]:
    """The most bytes and requests that a sample of some results took, of those whose engines count them."""
    if store is None:
        return {}
    most: dict[str, dict[str, float]] = {uuid: {} for uuid in uuids}
    for name in _COUNTERS:
        for uuid, samples in store.taken(uuids, f"store.{name}").items():
            values = [one.value for one in samples if one.value is not None]
            if values:
                most[uuid][name] = max(values)
    return {
        uuid: Drawn(
            told["n_bytes"] + told.get("opened_bytes", 0.0),
            told.get("n_reads", 0.0) + told.get("n_vector_reads", 0.0),
        )
        for uuid, told in most.items()
        if "n_bytes" in told
    }
