"""A campaign as values. ``read.py`` makes them of TOML, ``matrix.py`` makes cases of them.

Texts that hold a secret are guarded (``location.py``): what is made of them, but by ``whole``, has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from arrowroot_lab.location import Location

    from .origin import Origin

#: Entries one after the other, as GetEntry reads, or cluster by cluster, as columns are read best.
Order = Literal["cluster", "entry"]


@dataclass(frozen=True)
class Recipe:
    """How a dataset is made: by a script of the campaign's directory, or as a provider has registered."""

    #: "script", or the name that is registered.
    by: str
    #: What the files depend on: the kind or the script, and the further arguments of the command.
    arguments: tuple[str, ...]
    #: Makes the files: a program with ``{python}``, ``{directory}`` and ``{table}`` in its words.
    command: tuple[str, ...]
    #: About how much it makes, for plans; None: nobody says.
    about_bytes: float | None = None
    about_entries: float | None = None
    about_columns: int | None = None
    #: The table that a campaign means if it names none; None: it has to.
    table: str | None = None


@dataclass(frozen=True)
class Dataset:
    """Files that hold the same table."""

    name: str
    #: The name of the table in its files.
    table: str
    #: A path or glob, relative to the campaign's file; None if there is a recipe.
    files: str | None = None
    recipe: Recipe | None = None
    #: Programs and modules of Python without which its script makes nothing.
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """A shaped line before a server."""

    #: Round trip.
    latency_ns: int
    #: The rate of all connections together; 0: no limit.
    bytes_per_s: float
    #: A new connection costs a round trip, too.
    has_handshake: bool = False


@dataclass(frozen=True)
class StorageLimits:
    """The most that a round may take of a storage which others use, too; None: as much as it likes."""

    #: At a time.
    connections: int | None = None
    #: The mean of each sample and the pause after it.
    bytes_per_s: float | None = None
    #: Of a round.
    traffic_bytes: int | None = None
    #: From the end of a sample to the next one.
    pause_s: float | None = None

    def within(self, most: StorageLimits) -> StorageLimits:
        """Return the lower limits of two, and the longer pause."""
        return StorageLimits(
            _least(self.connections, most.connections),
            _least(self.bytes_per_s, most.bytes_per_s),
            _least(self.traffic_bytes, most.traffic_bytes),
            max(filter(None, (self.pause_s, most.pause_s)), default=None),
        )


@dataclass(frozen=True)
class Storage:
    """Where the data are read from."""

    name: str
    #: "local", "url", "xrootd", "http" (nginx), "s3", "xcache", "simulated"; as it is read, "site": of the site's file.
    kind: str
    #: The place of the datasets of "url", with ``{file}`` for the name of one.
    url: Location | None = None
    #: Files are put there, with ``{file}`` for the name of one: a URL, or of "local" a path. None: nobody may write.
    push: Location | None = None
    line: Line | None = None
    #: The files of "local" are evicted from the page cache before each sample, and proved to be.
    is_cold: bool = False
    #: The cache of "xcache" holds the files, or is empty, before each sample; its origin is behind ``origin_line``.
    is_cache_warm: bool = False
    origin_line: Line | None = None
    #: The kernel's read-ahead of a "simulated" disk, whose seeks cost ``line.latency_ns``; None: a network.
    disk_read_ahead_bytes: int | None = None
    #: "local" has "directory", where the files are copied to; "xcache" has "block_bytes" and "prefetch" (blocks).
    options: dict[str, Any] = field(default_factory=dict)
    #: The most that a round takes of it.
    limits: StorageLimits = StorageLimits()
    #: Hash of the place, if another storage of the campaign differs from it by that alone (``matrix.told_apart``).
    place: str | None = None

    def called(self) -> str:
        """Its name."""
        return self.name

    def figures(self, line: Line | None) -> dict[str, float]:
        """Return one of its lines as runners are told it (``contract.Job``), with the disk's read-ahead."""
        told = {"latency_ns": float(line.latency_ns), "bytes_per_s": line.bytes_per_s} if line else {}
        if self.disk_read_ahead_bytes is not None:
            told["disk_read_ahead_bytes"] = float(self.disk_read_ahead_bytes)
        return told


@dataclass(frozen=True)
class EngineChoice:
    """A program at the process line."""

    #: The name that is registered, or that the campaign gives it.
    name: str
    #: To be built or installed: a commit, or a version of a package; None: the engine that is here.
    version: str | None = None
    #: The command of a site's own engine.
    command: tuple[str, ...] = ()

    def called(self) -> str:
        """Its name and, if one was asked for, its version."""
        return f"{self.name}@{self.version}" if self.version else self.name


@dataclass(frozen=True)
class Workload:
    """A way to use the data."""

    name: str
    #: "read", "write", or "program".
    kind: str = "read"
    #: Names and globs; None: all columns.
    columns: tuple[str, ...] | None = None
    #: A share of the columns, chosen by the seed; None: all that ``columns`` says.
    column_share: float | None = None
    #: A share of the entries, at random by the seed.
    entry_share: float | None = None
    #: A file with entry numbers, one on a line, relative to the campaign's file.
    entry_list: str | None = None
    #: Hash of its numbers: they are asked for, wherever the list stands.
    entry_list_hash: str = ""
    #: How many numbers it has.
    n_listed: int = 0
    order: Order = "cluster"
    #: CPU time that is burnt for each entry.
    work_ns_per_entry: int = 0
    #: Processes that each read a part of the same input at the same time.
    workers: int = 1
    threads: int = 1
    seed: int = 1
    #: "program" has any command, with ``{url}`` and ``{table}``, and tells its statistics by ``report``.
    command: tuple[str, ...] = ()
    report: str | None = None
    #: About how long a sample of a "program" takes, for plans; None: nobody says.
    about_ns: int | None = None
    #: Programs and modules of Python without which the command of a "program" does not work.
    needs: tuple[str, ...] = ()
    #: "write" has layout, compression and other settings.
    settings: dict[str, Any] = field(default_factory=dict)

    def called(self) -> str:
        """Its name."""
        return self.name


@dataclass(frozen=True)
class Strategy:
    """How the bytes are fetched; engines that have no such choice say so, and are skipped for others than ``auto``."""

    name: str = "auto"
    cache_bytes: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    #: The campaign's name of it: several may have one name, and differ in their caches. Empty: its name.
    title: str = ""

    def called(self) -> str:
        """The campaign's name of it."""
        return self.title or self.name


@dataclass(frozen=True)
class Limits:
    """The time and space that a campaign may take."""

    #: The time of one sample.
    timeout_s: float = 600.0
    #: An independent engine that takes longer to read the same is no check; None: as long as a sample may take.
    check_s: float | None = None
    #: The time of the whole run; no case begins after it.
    total_s: float | None = None
    disk_bytes: int | None = None
    #: Of each storage that is a server of others.
    storages: StorageLimits = StorageLimits()

    def within(self, most: Limits) -> Limits:
        """Return the lower ones of two."""
        return Limits(
            timeout_s=min(self.timeout_s, most.timeout_s),
            check_s=_least(self.check_s, most.check_s),
            total_s=_least(self.total_s, most.total_s),
            disk_bytes=_least(self.disk_bytes, most.disk_bytes),
            storages=self.storages.within(most.storages),
        )


def _least(*limits: Any) -> Any:
    """The least of what is told; None: nothing is."""
    return min((limit for limit in limits if limit is not None), default=None)


@dataclass(frozen=True)
class Selection:
    """Some cells of the matrix: those whose names match one of the globs on each axis that is told.

    A cell is a case if one of ``include`` matches it, or there are none of those, and none of ``exclude`` does.
    """

    #: axis (dataset, storage, engine, workload, strategy) -> globs. An engine with a version is ``name@version``.
    globs: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Campaign:
    """All that one TOML file says."""

    name: str
    path: Path
    title: str
    datasets: tuple[Dataset, ...]
    storages: tuple[Storage, ...]
    engines: tuple[EngineChoice, ...]
    workloads: tuple[Workload, ...]
    strategies: tuple[Strategy, ...] = (Strategy(),)
    include: tuple[Selection, ...] = ()
    exclude: tuple[Selection, ...] = ()
    #: Samples of a case; a first point of a series wants at least five.
    repeats: int = 5
    #: "real", or "virtual first": all cells are predicted, only corners and disagreements are measured.
    mode: Literal["real", "virtual first"] = "real"
    limits: Limits = Limits()
    #: Others use the node meanwhile: every sample counts, and results are marked.
    is_shared: bool = False
    #: Hash of the text.
    text_hash: str = ""
    #: Of one that is in a repository: with the commit that ``path`` is of.
    origin: Origin | None = None

    def called(self) -> str:
        """The words that it is read by again, without secrets."""
        return str(self.origin or self.path)


@dataclass(frozen=True)
class Case:
    """One cell of the matrix."""

    dataset: Dataset
    storage: Storage
    engine: EngineChoice
    workload: Workload
    strategy: Strategy

    def label(self) -> str:
        """A short name for people: unique in a campaign."""
        return " / ".join(self.names().values())

    def names(self) -> dict[str, str]:
        """The campaign's names of the values of this case, by axis."""
        return {
            "dataset": self.dataset.name,
            "storage": self.storage.name,
            "engine": self.engine.called(),
            "workload": self.workload.name,
            "strategy": self.strategy.called(),
        }
