"""The site: its name, where it keeps results and caches, its storages, limits and batch systems (docs/lab/sites.md).

All of that is in one TOML file: the one that ``ARROWROOT_SITE`` names, else ``~/.config/arrowroot/site.toml``. Without
one a site has the host's name, and nothing of its own.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.location import Location, whole
from arrowroot_lab.quantities import parse_bytes, parse_time_ns

from .matrix import host_of
from .model import Limits, Storage, StorageLimits
from .read_data import AT_SITE, read_limits, read_storage
from .toml_file import load, named_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .keys import TomlTable

#: A name, or the path of a file: one with a slash or the suffix ``.toml``.
VARIABLE = "ARROWROOT_SITE"
SYSTEMS = ("htcondor", "slurm", "local")
_NO_LIMITS = Limits(timeout_s=float("inf"))
#: Documents have names of at most so many characters.
_MAX_CHARACTERS = 200


@dataclass(frozen=True)
class Batch:
    """A batch system, and the jobs that are sent to it: each a worker, which measures alone on its machine."""

    #: "htcondor", "slurm", or "local": processes of this machine.
    system: str
    jobs: int = 1
    #: Cores of a job, which measures with all of them.
    cores: int = 1
    memory_bytes: int = 4 * 10**9
    disk_bytes: int | None = None
    walltime_s: int | None = None
    queue: str | None = None
    account: str | None = None
    #: Further lines of the job's description, as the system writes them.
    directives: tuple[str, ...] = ()
    #: Lines of shell before the worker starts.
    prologue: tuple[str, ...] = ()
    #: Python on the worker nodes; None: this one's path.
    python: str | None = None
    #: Where workers find the scheduler: its host or network interface, and its port; None: as Dask chooses.
    host: str | None = None
    interface: str | None = None
    port: int | None = None
    #: Where the jobs' logs go; None: nowhere.
    logs: str | None = None


@dataclass(frozen=True)
class Site:
    """A site, as its file tells it."""

    name: str
    #: None: there is no file.
    path: Path | None = None
    #: The database: a path or URL.
    store: Location | None = None
    cache: Path | None = None
    limits: Limits = _NO_LIMITS
    #: Others use its nodes, too; a campaign may say otherwise.
    is_shared: bool = False
    storages: dict[str, Storage] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    #: Repositories whose campaigns are measured here: as these run commands, no others are.
    trusted: tuple[str, ...] = ()

    def resolved(self, storage: Storage, table: TomlTable) -> list[Storage]:
        """Return a storage of a campaign; one of kind "site" as this site has it, under the campaign's name.

        A glob means all storages of the site that match, under the site's names.

        table: the campaign's of it, where a storage that the site does not have is a fault.
        """
        if storage.kind != AT_SITE:
            return [storage]
        called = storage.options["storage"]
        if (found := self.storages.get(called)) is not None:
            return [replace(found, name=storage.name)]
        if several := [one for name, one in self.storages.items() if fnmatchcase(name, called)]:
            return several
        file = self.path or f"there is no {usual_path()}, and {VARIABLE} names no file"
        problem = f"site {self.name} has no storage {called!r} ({file})"
        table.fault("storage" if "storage" in table else "kind", problem)
        return [storage]

    def limited(self, storage: Storage, others: Sequence[Storage], most: StorageLimits) -> Storage:
        """Return a storage within the limits of all that the site and the campaign have at its host.

        others: the campaign's. most: of all servers of others.
        """
        if storage.url is None:
            return storage
        limits = storage.limits.within(most)
        for one in (*others, *self.storages.values()):
            if one.url is not None and host_of(one) == host_of(storage):
                limits = limits.within(one.limits)
        return replace(storage, limits=limits)


def usual_path() -> Path:
    """Return where the site's file is looked for: ``~/.config/arrowroot/site.toml``, or under ``XDG_CONFIG_HOME``."""
    from arrowroot_servers import home

    told = os.environ.get("XDG_CONFIG_HOME")
    return (Path(told) if told else home() / ".config") / "arrowroot/site.toml"


def here() -> Site:
    """Return the site of this process: of ``ARROWROOT_SITE``, a file or a name, else of the usual file.

    A name goes with the settings of the usual file, if there is one.

    Raises: CampaignError if the file is at fault, or if one is named that is not there.
    """
    told = os.environ.get(VARIABLE, "")
    if _is_file(told):
        return _read(Path(told).expanduser())
    usual = usual_path()
    site = _read(usual) if usual.is_file() else Site(platform.node() or "here")
    return replace(site, name=told) if told else site


def choose(told: str | None) -> Site:
    """Make the site that is told, a name or a file, that of this process and of those that it starts; return it.

    Raises: CampaignError as ``here`` does.
    """
    if told:
        os.environ[VARIABLE] = str(Path(told).expanduser().absolute()) if _is_file(told) else told
    return here()


def _is_file(told: str) -> bool:
    return "/" in told or told.endswith(".toml")


def _read(path: Path) -> Site:
    try:
        status = path.stat()
    except OSError:
        return read_site(path)  # which tells why
    return _read_once(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _read_once(path: Path, _mtime_ns: int, _size: int) -> Site:
    return read_site(path)


def read_site(path: Path) -> Site:
    """Return the site of a file.

    Raises: CampaignError with the line and the dotted key of the first fault; its text tells all of them.
    """
    _, faults, top = load(path, "site's file")
    name = top.required("name", "what results call the site")
    if len(name) > _MAX_CHARACTERS:
        top.fault("name", f"expected at most {_MAX_CHARACTERS} characters")
    told_cache = whole(top.text("cache", ""))
    cache = Path(os.path.expandvars(told_cache)).expanduser()
    if told_cache and not cache.is_absolute():
        top.fault("cache", f"expected an absolute path, not {told_cache!r}")
    told = top.text("store", None)
    store = None if told is None else Location(told)
    if store is not None and "://" not in store.whole():
        path_of_store = Path(os.path.expandvars(store.whole())).expanduser()
        if not path_of_store.is_absolute():
            top.fault(
                "store", f"expected an absolute path, or a URL as postgresql://host/name, not {store!r}"
            )
        store = Location(str(path_of_store))
    site = Site(
        name=name,
        path=path,
        store=store,
        cache=cache if told_cache else None,
        limits=read_limits(top.table("limits"), _NO_LIMITS),
        is_shared=top.is_true("shared"),
        storages={
            name: read_storage(table, name, may_be_site=False)
            for name, table in named_tables(top.table("storage"))
        },
        batches={name: _batch(table, name) for name, table in named_tables(top.table("batch"))},
        trusted=top.texts("trusted") if "trusted" in top else (),
    )
    top.end()
    faults.raise_them()
    return site


def _batch(table: TomlTable, name: str) -> Batch:
    if "system" not in table and name not in SYSTEMS:
        table.required("system", f"one of {', '.join(SYSTEMS)}")
        system = ""
    else:
        system = table.one_of("system", name, SYSTEMS)
    walltime_ns = table.parsed("walltime", None, parse_time_ns)
    if walltime_ns is not None and walltime_ns < 60 * 10**9:
        table.fault("walltime", "expected at least a minute")
    found = Batch(
        system=system,
        jobs=table.whole("jobs", 1, 1, 10_000),
        cores=table.whole("cores", 1, 1, 4096),
        memory_bytes=table.parsed("memory", Batch.memory_bytes, parse_bytes),
        disk_bytes=table.parsed("disk", None, parse_bytes),
        walltime_s=None if walltime_ns is None else walltime_ns // 10**9,
        queue=table.text("queue", None),
        account=table.text("account", None),
        directives=table.texts("directives") if "directives" in table else (),
        prologue=table.texts("prologue") if "prologue" in table else (),
        python=table.text("python", None),
        host=table.text("host", None),
        interface=table.text("interface", None),
        port=table.whole("port", 0, 1, 65535) if "port" in table else None,
        logs=table.text("logs", None),
    )
    if system == "htcondor":
        if found.queue is not None:
            table.fault("queue", "HTCondor has no queues: tell requirements by 'directives'")
        if any("=" not in directive for directive in found.directives):
            table.fault("directives", "expected lines of HTCondor's, as '+JobFlavour = \"longlunch\"'")
    table.end()
    return found
