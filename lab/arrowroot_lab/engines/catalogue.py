"""The engines that a campaign chooses, and what each of them can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.campaign.providers import Engine, Family, registered
from arrowroot_lab.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Collection

    from arrowroot_lab.campaign.model import Case, EngineChoice


def engine_of(choice: EngineChoice) -> Engine:
    """Return the engine that a campaign names: a registered one, or its own command.

    Raises: RequestError for a name that is neither.
    """
    engines = registered().engines
    if choice.command:
        families = {one.family.name: one.family for one in engines.values()}
        family = families.get(choice.name, Family(choice.name))
        return Engine(choice.name, family, choice.name, choice.command)
    if choice.name not in engines:
        raise RequestError(
            f"there is no engine {choice.name!r}, but {', '.join(engines)}; or give its command"
        )
    return engines[choice.name]


def why_not(name: str, can: Collection[str], case: Case) -> str | None:
    """Return why an engine is not even asked to do a case; None: it can do it, or must be asked."""
    workload, strategy = case.workload, case.strategy
    needed = {
        workload.kind: True,
        "entries": workload.entry_share is not None or workload.entry_list is not None,
        "entry_range": workload.workers > 1 and workload.kind != "program",
        "order:entry": workload.order == "entry",
        "work": workload.work_ns_per_entry > 0,
        "threads": workload.threads > 1,
        "cache_bytes": strategy.cache_bytes is not None,
        "predict": case.storage.kind == "simulated",
    }
    for word, is_needed in needed.items():
        if is_needed and word not in can:
            return f"{name} cannot do it: {word}"
    if not {"strategy:*", f"strategy:{strategy.name}"} & set(can) and strategy.name != "auto":
        return f"{name} has no strategy {strategy.name!r}"
    return None


def is_replayable(can: Collection[str], case: Case) -> bool:
    """True if a trace of one read of the local files tells what the case takes, wherever they are."""
    return {"predict", "trace"} <= set(can) and case.workload.workers == 1 and case.workload.kind == "read"


def is_exact(can: Collection[str], case: Case) -> bool:
    """True if the samples of a case are replays of one trace in virtual time, of which each is like the other."""
    return case.storage.kind == "simulated" and is_replayable(can, case)
