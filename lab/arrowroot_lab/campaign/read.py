"""Reads a campaign: TOML, checked key by key; all faults are told, each with its line (docs/lab/campaigns.md)."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from arrowroot_lab.location import whole
from arrowroot_lab.quantities import parse_bytes
from arrowroot_lab.redaction import redacted

from .keys import Faults, TomlTable, near
from .matrix import AXES, cases, storage_key, told_apart
from .model import Campaign, EngineChoice, Limits, Selection, Storage, Strategy, Workload
from .origin import Origin
from .providers import registered
from .read_data import read_dataset, read_limits, read_storage
from .read_workload import read_workloads
from .site import here
from .toml_file import load, named_tables

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_CELLS = 20_000
MAX_REPEATS = 10_000

#: A commit, a version of a package or a prefix; packages of conda; an image of a container.
_VERSION = re.compile(
    r"(?!-)[\w.+/~^@{}-]{1,200}|conda:[\w][\w.+=,!*-]{1,200}|(apptainer|docker|podman):[\w./][\w./:@+-]{1,300}"
)

T = TypeVar("T", EngineChoice, Storage, Strategy, Workload)


def read(file: Path | str | Origin) -> Campaign:
    """Return the campaign of a file, with the storages and within the limits of the site that it is read at.

    Raises: CampaignError with the line and the dotted key of the first fault, of the campaign or of the site's file;
        its text tells all of them. Of a file in a repository also what ``Origin.fetched`` raises.
    """
    path, origin = file.fetched() if isinstance(file, Origin) else (Path(file), None)
    text, faults, top = load(path, "campaign")
    campaign = _Reader(path, faults).campaign(top, text)
    faults.raise_them()
    return replace(campaign, origin=origin)


class _Reader:
    def __init__(self, path: Path, faults: Faults) -> None:
        self._path, self._faults = path, faults

    def campaign(self, top: TomlTable, text: str) -> Campaign:
        """The whole campaign; what is at fault has some value or other, as the faults are raised afterwards."""
        title = top.text("title", "") or self._path.stem
        repeats = top.whole("repeats", 5, 1, MAX_REPEATS)
        mode = top.one_of("mode", "real", ("real", "virtual first"))
        site = here()
        limits = read_limits(top.table("limits"), Limits()).within(site.limits)
        named = {axis: named_tables(top.table(axis)) for axis in AXES}
        for name in AXES[:-1]:
            if not named[name] and (name not in top or isinstance(top.raw(name), dict)):
                top.fault(name, f"a campaign needs at least one [{name}.NAME]")
        directory = self._path.parent
        storages = _several(
            named["storage"], lambda table, name: site.resolved(read_storage(table, name), table)
        )
        campaign = Campaign(
            name=self._path.stem,
            path=self._path,
            title=title,
            datasets=tuple(read_dataset(table, name, directory) for name, table in named["dataset"]),
            storages=told_apart([site.limited(one, storages, limits.storages) for one in storages]),
            engines=_several(named["engine"], self._engine),
            workloads=_several(named["workload"], lambda table, name: read_workloads(table, name, directory)),
            strategies=_several(named["strategy"], _strategy) or (Strategy(),),
            repeats=repeats,
            mode=cast("Any", mode),
            limits=limits,
            is_shared=top.is_true("shared", default=site.is_shared),
            # A token that is renewed makes no other campaign, and a hash of a password could be tried for.
            text_hash=hashlib.sha256(redacted(text).encode()).hexdigest(),
        )
        campaign = replace(
            campaign,
            include=self._selections(top, "include", campaign),
            exclude=self._selections(top, "exclude", campaign),
        )
        top.end()
        if not self._faults:
            self._check_size(campaign)
            self._check_storages(campaign)
        return campaign

    def _engine(self, table: TomlTable, name: str) -> list[EngineChoice]:
        command = table.texts("command") if "command" in table else ()
        chosen = table.text("engine", name)
        if "engine" in table and command:
            table.fault("engine", "an engine with a command of its own is called by the name of its table")
        elif not command and chosen not in (known := registered().engines):
            table.fault(
                "engine" if "engine" in table else None,
                f"there is no engine {chosen!r}; give its command{near(chosen, known)}",
            )
        versions: list[str | None] = list(whole(table.texts("versions"))) if "versions" in table else [None]
        if command and versions != [None]:
            table.fault(
                "versions", "an engine with a command of its own has no versions here: its command says which"
            )
        for version in versions:
            if version and not _VERSION.fullmatch(version):
                table.fault(
                    "versions", f"{version!r} is no commit, version, prefix, conda package or container"
                )
        table.end()
        return [EngineChoice(chosen, version, command) for version in versions]

    def _selections(self, top: TomlTable, kind: str, campaign: Campaign) -> tuple[Selection, ...]:
        known = {
            "dataset": [one.name for one in campaign.datasets],
            "storage": [one.name for one in campaign.storages],
            "engine": list(chain.from_iterable((one.called(), one.name) for one in campaign.engines)),
            "workload": [one.name for one in campaign.workloads],
            "strategy": [one.called() for one in campaign.strategies],
        }
        found = []
        for table in top.tables(kind):
            globs: dict[str, tuple[str, ...]] = {}
            for axis in AXES:
                if axis in table:
                    globs[axis] = table.texts(axis)
                    for glob in globs[axis]:
                        if not any(fnmatchcase(name, glob) for name in known[axis]):
                            table.fault(axis, f"no {axis} is called {glob!r}{near(glob, known[axis])}")
                else:
                    table.texts(axis)
            table.end()  # before names(), which asks for every key
            if not globs and not table.names():
                table.fault(None, f"tell at least one of {', '.join(AXES)}: without any it means all cells")
            found.append(Selection(globs))
        return tuple(found)

    def _check_size(self, campaign: Campaign) -> None:
        axes = (
            campaign.datasets,
            campaign.storages,
            campaign.engines,
            campaign.workloads,
            campaign.strategies,
        )
        n_cells = math.prod(map(len, axes))
        if n_cells > MAX_CELLS:
            self._faults.add(
                (), f"its matrix has {n_cells:,} cells, more than {MAX_CELLS:,}: make several campaigns"
            )
        elif not cases(campaign):
            self._faults.add((), "no cell of its matrix is left: include and exclude take all of them away")

    def _check_storages(self, campaign: Campaign) -> None:
        """Note a fault for storages that are one: results of the two would stand in one series."""
        found: dict[str, str] = {}
        for one in campaign.storages:
            same = found.setdefault(storage_key(one), one.name)
            if same != one.name:
                self._faults.add(
                    ("storage", one.name), f"it is what storage {same!r} is: leave one of them out"
                )


def _several(named: list[tuple[str, TomlTable]], make: Callable[[TomlTable, str], list[T]]) -> tuple[T, ...]:
    """All that the tables make; one table may make several, and two tables one: a fault."""
    found: dict[str, T] = {}
    for name, table in named:
        for value in make(table, name):
            if value.called() in found:
                table.fault(None, f"{value.called()!r} is there more than once")
            found[value.called()] = value
    return tuple(found.values())


def _strategy(table: TomlTable, name: str) -> list[Strategy]:
    chosen = table.text("strategy", name)
    options = table.table("options")
    plain: dict[str, Any] = {}
    for key in options.names():
        value = options.raw(key)
        if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
            plain[key] = value
        else:
            options.fault(key, "expected a text, a number, true or false")
    caches = table.texts("cache") if "cache" in table else ()
    table.end()
    if not caches:
        return [Strategy(chosen, None, plain, name)]
    found = []
    for n, text in enumerate(caches):
        try:
            size = parse_bytes(text)
        except ValueError as error:
            table.faults.add((*table.key, "cache", n), str(error))
            continue
        found.append(Strategy(chosen, size, plain, name if len(caches) == 1 else f"{name} {text}"))
    return found
