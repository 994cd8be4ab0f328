"""The engines that are built in, and what each of them can do."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Collection

    from arrowroot_lab.campaign.model import Case, EngineChoice

#: The runners are started by their paths: an environment of another version has no laboratory.
RUNNERS = Path(__file__).resolve().parents[1] / "runners"

_READS = ("read", "entries", "entry_range", "work", "checksum")
_ROOT = ("strategy:auto", "strategy:direct")


@dataclass(frozen=True)
class Engine:
    """A program at the process line (docs/lab/runners.md)."""

    name: str
    #: Engines of one family share code: they cannot check each other's values.
    family: str
    title: str
    #: A file of `RUNNERS`; None: `own_command` is the program.
    script: str | None = None
    arguments: tuple[str, ...] = ()
    #: Words of ``contract.CAN``; None: it says so itself, by ``identify``.
    can: frozenset[str] | None = None
    own_command: tuple[str, ...] = ()

    def command(self, python: str | Path | None = None) -> list[str]:
        """Return what starts it, without a verb. ``python``: of the environment; None: this process's own."""
        if self.script is None:
            return list(self.own_command)
        return [str(python or sys.executable), str(RUNNERS / self.script), *self.arguments]

    def program_hash(self) -> str | None:
        """Return the hash of the runner's program; None where nobody knows what belongs to it."""
        if self.script is None:
            return None
        parts = [self.script, "process_line.py", "checksum.py", "part.py"]
        parts += sorted(path.name for path in RUNNERS.glob("*.C")) if self.family == "root" else []
        whole = hashlib.sha256()
        for part in parts:
            whole.update((RUNNERS / part).read_bytes())
        return whole.hexdigest()[:16]


def _engine(
    name: str, family: str, title: str, *can: str, script: str | None = None, arguments: tuple[str, ...] = ()
) -> Engine:
    return Engine(name, family, title, script or f"{family}_runner.py", arguments, frozenset(can))


BUILT_IN = {
    engine.name: engine
    for engine in (
        _engine(
            "arrowroot", "arrowroot", "arrowroot: Tree.scan", *_READS, "write", "threads", "predict", "trace",
            "order:entry", "cache_bytes", "strategy:*",
        ),
        _engine(
            "arrowroot-perf", "arrowroot", "arrowroot perf, as its users run it",
            "read", "entry_range", "threads", "trace", "order:entry", "cache_bytes", "strategy:*",
            arguments=("--perf",),
        ),
        _engine(
            "root", "root", "ROOT: TTreeReader; TTree::GetEntry in the order of entries", *_READS, *_ROOT, "write",
            "threads", "cache_bytes", "strategy:treecache", "order:entry",
        ),
        _engine(
            "root-perfstats", "root", "ROOT: as root, with TTreePerfStats", *_READS, *_ROOT, "threads", "cache_bytes",
            "strategy:treecache", "order:entry", arguments=("--perfstats",),
        ),
        _engine(
            "root-rdataframe", "root", "ROOT: RDataFrame", "read", "entry_range", "checksum", "threads", *_ROOT,
            arguments=("--reader=rdataframe",),
        ),
        _engine(
            "root-rntuple", "root", "ROOT: RNTupleReader", *_READS, *_ROOT, arguments=("--reader=rntuple",),
        ),
        _engine("uproot", "uproot", "uproot", *_READS, "write", "threads", "strategy:auto"),
        _engine(
            "program", "program", "a program of the user's", "program", "predict", "strategy:*",
            "threads", script="program_runner.py",
        ),
    )
}  # fmt: skip


def engine_of(choice: EngineChoice) -> Engine:
    """Return the engine that a campaign names: one of the built-in ones, or its own command.

    Raises: RequestError for a name that is neither.
    """
    if choice.command:
        return Engine(choice.name, choice.name, choice.name, own_command=choice.command)
    if choice.name not in BUILT_IN:
        raise RequestError(
            f"there is no engine {choice.name!r}, but {', '.join(BUILT_IN)}; or give its command"
        )
    return BUILT_IN[choice.name]


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
