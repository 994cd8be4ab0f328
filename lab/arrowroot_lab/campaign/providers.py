"""Providers add to the laboratory: engines, kinds of data files, and recipes of datasets (docs/lab/engines.md).

A provider is a package with an ``engines.toml``, which an entry point of the group ``arrowroot_lab.engines`` names. It
is not imported: its rows name programs, which are started, and functions, which are imported where a campaign needs
them.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.location import whole
from arrowroot_lab.quantities import parse_bytes, parse_time_ns

from .toml_file import load, named_tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.metadata import EntryPoint

    from .keys import TomlTable

GROUP = "arrowroot_lab.engines"
FILE = "engines.toml"

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """The cost of an engine; the defaults are those of one of which nothing is known."""

    #: A process that starts, imports, compiles and warms up: it is not in the sample's time.
    start_ns: float = 0.7e9
    #: Opening a file, within the sample's time.
    open_ns: float = 50e6
    #: Reading and decoding a byte of the file, one thread, in memory.
    byte_ns: float = 15.0
    #: Round trips before the first entry is there, over a network.
    n_open_trips: float = 7
    #: So many bytes are asked for in a round trip.
    trip_bytes: float = 16e6


@dataclass(frozen=True)
class Commits:
    """How pip builds an engine from a commit of its repository."""

    #: Paths by which a repository is known to be the engine's.
    sources: tuple[str, ...]
    #: Directories that are looked for programs after the ``PATH``.
    path: tuple[str, ...] = ()
    #: Variables of the build; ``{python}`` is that of the environment, ``{shared}`` a directory that all builds share.
    variables: dict[str, str] = field(default_factory=dict)
    #: Variables where the environment has none of that name.
    defaults: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """Engines that share code: they have one version, and cannot check each other's values."""

    name: str
    cost: Cost = Cost()
    #: What pip installs of a version, which is ``{version}`` in it; empty: no version can be had.
    install: tuple[str, ...] = ()
    commits: Commits | None = None
    #: Variables by which a Python finds what is installed below the prefix ``{prefix}``.
    prefix: dict[str, str] = field(default_factory=dict)
    #: The time that an environment takes to be made.
    made_ns: float = 60e9
    #: Scheme of URLs -> round trips until a file is open, for predictions.
    open_requests: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Engine:
    """A program at the process line (docs/lab/runners.md)."""

    name: str
    family: Family
    title: str
    #: With ``{python}`` for the Python of its environment.
    words: tuple[str, ...]
    #: Words of ``contract.CAN``; None: it says so itself, by ``identify``.
    can: frozenset[str] | None = None
    #: The kinds of data files that it reads; None: any.
    files: tuple[str, ...] | None = None
    #: The place among those that are asked for the right values, from 1 on; None: it is not asked.
    reference: int | None = None
    #: The files that its program is made of.
    program: tuple[Path, ...] = ()
    #: Names of its configuration file, for ``lab settings``: ``urls``, tables of URLs; ``strategy``, ``cache``, keys in
    #: them; empty: it has none.
    settings: dict[str, str] = field(default_factory=dict)

    def command(self, python: str | Path | None = None) -> list[str]:
        """Return what starts it, without a verb. ``python``: of the environment; None: this process's own."""
        return filled(self.words, python=str(python or sys.executable))

    def program_hash(self) -> str | None:
        """Return the hash of the runner's program; None where nobody knows what belongs to it."""
        if not self.program:
            return None
        found = hashlib.sha256()
        for part in self.program:
            found.update(part.read_bytes())
        return found.hexdigest()[:16]

    def reads(self, kind: FileKind) -> bool:
        """True if it reads such files, or does not say which it reads."""
        return self.files is None or kind.name in self.files


@dataclass(frozen=True)
class FileKind:
    """A kind of data files. Each of its commands is a program with its arguments."""

    name: str
    #: Globs of the files' names; of several kinds that of the longest glob is meant.
    names: tuple[str, ...]
    #: Prints the identity of files as JSON; the table and the files are further arguments.
    identity: tuple[str, ...]
    #: Of the name of a file that is written.
    suffix: str
    #: A dataset has to name a table of its files.
    has_tables: bool = True
    #: Makes the tiny file ``{out}``, which engines read before the clock starts; empty: there is none.
    warm_up: tuple[str, ...] = ()
    #: Converts the Parquet file ``{table}`` to ``{out}``, where the table is called ``{name}``; empty: nothing does.
    export: tuple[str, ...] = ()


@dataclass
class Registered:
    """All that providers have registered, by name."""

    engines: dict[str, Engine] = field(default_factory=dict)
    files: dict[str, FileKind] = field(default_factory=dict)
    #: Each is a function that makes a ``Recipe`` of the table ``[dataset.NAME.RECIPE]``: ``module:function``.
    recipes: dict[str, str] = field(default_factory=dict)


@cache
def registered() -> Registered:
    """Return what the providers of this environment have registered.

    Raises: CampaignError for a fault of an ``engines.toml``; LabError for a provider that is not there, for a name
        that two of them have, or if there is none, as in an installation that is older than its sources.
    """
    found, owners = Registered(), dict[tuple[str, str], str]()
    points = entry_points(group=GROUP)
    if not points:
        raise LabError("no engines are registered, not even the laboratory's own: install arrowroot-lab anew")
    for point in sorted(points, key=lambda one: (one.name, one.value)):
        added = read(_directory(point) / FILE)
        for what in ("engines", "files", "recipes"):
            for name in getattr(added, what):
                owner = owners.setdefault((what, name), point.value)
                if owner != point.value:
                    raise LabError(
                        f"{owner} and {point.value} both register {what} of the name {name!r}: remove one"
                    )
            getattr(found, what).update(getattr(added, what))
    return found


def kind_of(file: str) -> FileKind:
    """Return the kind of a data file by its name. Raises: RequestError if no provider knows such files."""
    kinds = registered().files.values()
    matching = [(len(glob), kind) for kind in kinds for glob in kind.names if fnmatchcase(file, glob)]
    if not matching:
        known = ", ".join(glob for kind in kinds for glob in kind.names) or "none"
        raise RequestError(
            f"{file}: no kind of data files has such names; known: {known}. An {FILE} adds kinds: docs/lab/engines.md"
        )
    return max(matching, key=lambda one: one[0])[1]


def filled(words: Sequence[str], **values: str) -> list[str]:
    """Return a command with ``{python}``, and whatever else is told, in its places."""
    values.setdefault("python", sys.executable)
    found = []
    for word in words:
        for name, value in values.items():
            if f"{{{name}}}" in word:
                word = word.replace(f"{{{name}}}", value)  # noqa: PLW2901
        found.append(word)
    return found


def read(path: Path) -> Registered:
    """Return what an ``engines.toml`` registers. Raises: CampaignError with all of its faults."""
    _, faults, top = load(path, "list of engines")
    families = {name: _family(table, name) for name, table in named_tables(top.table("family"))}
    found = Registered(
        {
            name: _engine(table, name, families, path.parent)
            for name, table in named_tables(top.table("engine"))
        },
        {name: _file_kind(table, name, path.parent) for name, table in named_tables(top.table("files"))},
        {
            name: _ended(table, table.required("read", "the function that reads it, module:function"))
            for name, table in named_tables(top.table("recipe"))
        },
    )
    top.end()
    faults.raise_them()
    return found


def _directory(point: EntryPoint) -> Path:
    try:
        spec = find_spec(point.value)
    except ImportError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        name = point.dist.name if point.dist else point.name
        raise LabError(
            f"{name} registers engines by {point.value}, and no such package is there: install {name} anew"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _family(table: TomlTable, name: str) -> Family:
    commits = _commits(table.table("commits")) if "commits" in table else None
    return _ended(
        table,
        Family(
            name,
            _cost(table.table("cost")),
            _words(table, "install"),
            commits,
            _plain(table.table("prefix"), str),
            table.parsed("made", Family.made_ns, parse_time_ns),
            _plain(table.table("open_requests"), int),
        ),
    )


def _cost(table: TomlTable) -> Cost:
    return _ended(
        table,
        Cost(
            table.parsed("start", Cost.start_ns, parse_time_ns),
            table.parsed("open", Cost.open_ns, parse_time_ns),
            table.parsed("byte_ns", Cost.byte_ns, float),
            table.parsed("opening_trips", Cost.n_open_trips, float),
            table.parsed("trip", Cost.trip_bytes, parse_bytes),
        ),
    )


def _commits(table: TomlTable) -> Commits:
    variables, defaults = (_plain(table.table(key), str) for key in ("variables", "defaults"))
    sources = _words(table, "sources", is_needed=True)
    return _ended(table, Commits(sources, _words(table, "path"), variables, defaults))


def _engine(table: TomlTable, name: str, families: dict[str, Family], here: Path) -> Engine:
    family = table.text("family", name)
    return _ended(
        table,
        Engine(
            name,
            families.get(family, Family(family)),
            table.text("title", name),
            _words(table, "command", here, is_needed=True),
            frozenset(_words(table, "can")) if "can" in table else None,
            _words(table, "files") if "files" in table else None,
            table.whole("reference", 1, 1, 1000) if "reference" in table else None,
            tuple(path for glob in _words(table, "program") for path in _parts(table, glob, here)),
            _settings(table.table("settings")) if "settings" in table else {},
        ),
    )


def _settings(table: TomlTable) -> dict[str, str]:
    keys = ("urls", "strategy", "cache")
    return _ended(table, {key: table.required(key, "its name in the configuration file") for key in keys})


def _file_kind(table: TomlTable, name: str, here: Path) -> FileKind:
    names = _words(table, "names", is_needed=True)
    identity, warm_up, export = (
        _words(table, key, here, is_needed=key == "identity") for key in ("identity", "warm_up", "export")
    )
    suffix, has_tables = table.text("suffix", f".{name}"), table.is_true("tables", default=True)
    return _ended(table, FileKind(name, names, identity, suffix, has_tables, warm_up, export))


def _ended(table: TomlTable, made: T) -> T:
    """Return what was made of a table; keys that nobody has asked for are faults."""
    table.end()
    return made


def _parts(table: TomlTable, glob: str, here: Path) -> list[Path]:
    found = sorted(here.glob(glob))
    if not found:
        table.fault("program", f"there is no file {glob} in {here}")
    return found


def _words(
    table: TomlTable, key: str, here: Path | None = None, *, is_needed: bool = False
) -> tuple[str, ...]:
    if key not in table:
        if is_needed:
            table.required(key, "a list of texts")
        return ()
    words = [str(whole(word)) for word in table.texts(key)]
    return tuple(words if here is None else [word.replace("{here}", str(here)) for word in words])


def _plain(table: TomlTable, kind: type[T]) -> dict[str, T]:
    found: dict[str, Any] = {}
    for key in table.names():
        value = whole(table.raw(key))
        if isinstance(value, kind):
            found[key] = value
        else:
            table.fault(key, f"expected {'a text' if kind is str else 'a whole number'}")
    return found
