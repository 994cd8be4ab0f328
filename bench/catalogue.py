"""The definitions: engines, data sets, and what each benchmark runs. They are TOML files beside this one."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field, fields
from fnmatch import fnmatch
from functools import cache
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from .paths import BIN, DEFINITIONS, HERE, RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterable

ENGINES_FILE = HERE / "engines.toml"


@dataclass(frozen=True)
class Engine:
    """An engine; engines.toml says what the fields mean."""

    name: str
    command: tuple[str, ...]
    tasks: tuple[str, ...]
    format: str
    role: str
    job: dict[str, Any] = field(default_factory=dict, hash=False)
    threaded: bool = False
    limit_memory: bool = False
    only: tuple[str, ...] = ("*",)
    not_: tuple[str, ...] = ()
    store: str | None = None

    def takes(self, case: str) -> bool:
        """True if it takes part in a case, ``dataset:case``."""
        return any(fnmatch(case, p) for p in self.only) and not any(fnmatch(case, p) for p in self.not_)

    def full_command(self) -> list[str]:
        """The command with the places filled in."""
        places = {"bin": str(BIN), "python": sys.executable, "examples": str(RELEASE / "examples")}
        return [part.format(**places) for part in self.command]


@dataclass(frozen=True)
class Dataset:
    """A data set that is generated, and the columns that make its cases."""

    name: str
    tree: str
    n_entries: int
    layouts: tuple[str, ...]
    cases: dict[str, dict[str, Any]] = field(hash=False)
    #: Of vectors of objects: their names, and the members of an object by type.
    collections: tuple[str, ...] = ()
    members: dict[str, list[str]] = field(default_factory=dict, hash=False)


@cache
def load(name: str) -> dict[str, Any]:
    """A file of definitions as it stands."""
    found: dict[str, Any] = tomllib.loads((DEFINITIONS / f"{name}.toml").read_text(encoding="utf-8"))
    return found


@cache
def engines() -> tuple[Engine, ...]:
    """All engines. Raises: ValueError for one with an unknown field."""
    found = tomllib.loads(ENGINES_FILE.read_text(encoding="utf-8"))["engine"]
    return tuple(_engine(told) for told in found)


def _engine(told: dict[str, Any]) -> Engine:
    told = {("not_" if key == "not" else key): value for key, value in told.items()}
    unknown = told.keys() - {known.name for known in fields(Engine)}
    if unknown:
        raise ValueError(f"engine {told.get('name')}: unknown {', '.join(sorted(unknown))}")
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in told.items()
    }
    return Engine(**values)


def engine(name: str) -> Engine:
    """An engine by its name. Raises: KeyError."""
    return next((one for one in engines() if one.name == name), None) or _missing(name)


def _missing(name: str) -> Engine:
    raise KeyError(f"no engine {name} in {ENGINES_FILE.name}: {', '.join(one.name for one in engines())}")


def matching(patterns: Iterable[str], task: str) -> list[Engine]:
    """The engines of a task with these names or patterns. Raises: KeyError for a pattern that nobody matches."""
    of_task = [one for one in engines() if task in one.tasks]
    chosen: list[Engine] = []
    for pattern in patterns:
        found = [one for one in of_task if fnmatch(one.name, pattern)]
        if not found:
            raise KeyError(
                f"no engine of the task {task} matches {pattern}: {', '.join(e.name for e in of_task)}"
            )
        chosen += [one for one in found if one not in chosen]
    return chosen


def external(text: str) -> Engine:
    """An engine from ``NAME=COMMAND``: a program that answers at the process line, beside those that are defined."""
    name, _, command = text.partition("=")
    return Engine(name, tuple(shlex.split(command)), ("read", "aod", "open"), "any", "subject", threaded=True)


@cache
def datasets() -> dict[str, Dataset]:
    """All data sets by name."""
    return {
        name: Dataset(
            name, told["tree"], told["n_entries"], tuple(told["layouts"]), told["cases"],
            tuple(told.get("collections", ())), told.get("members", {}),
        )
        for name, told in load("datasets")["datasets"].items()
    }  # fmt: skip


def compression(codec: str, dataset: str) -> int:
    """ROOT's number of a codec's compression, as a data set is written with it. Raises: KeyError."""
    told = load("datasets")["codecs"][codec]
    return int(told.get(dataset, told["root"]))


def layouts(codec: str, dataset: str) -> list[str]:
    """The layouts in which a data set is written with a codec."""
    written = load("datasets")["codecs"][codec].get("layouts")
    return [layout for layout in datasets()[dataset].layouts if written is None or layout in written]
