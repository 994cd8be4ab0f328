"""ROOT, uproot, jsroot and arrowroot are asked alike what they read of a column ``x``, and answer in a word."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uproot

import arrowroot as ar

from . import expected, jsroot
from .expected import flat, shown
from .jsroot import HAS_JSROOT
from .root_reading import RootColumn, read_all

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

#: The ways in which ROOT reads a layout.
OF_ROOT = {"ttree": ["RDataFrame", "TTreeReader", "Draw"], "rntuple": ["RDataFrame", "RNTupleReader"]}


@dataclass(frozen=True)
class Asked:
    """A file with a table ``Events``."""

    path: Path
    layout: str
    table: pa.Table
    #: Branches or fields, or members of the objects in them, with their values.
    parts: dict[str, list[Any]]
    #: The branches or fields that hold the parts.
    branches: list[str]


def answers(asked: list[Asked], directory: Path, **of_root: Any) -> list[dict[str, str]]:
    """For each file and route: yes, no, in part, differently, or crash. ``of_root``: see ``root_reading.read_all``."""
    by_root = read_all([(one.path, "Events", one.layout) for one in asked], directory, **of_root)
    of_branches = [(one.path, one.branches) for one in asked]
    by_jsroot = jsroot.read_all(of_branches, directory / "jobs.json") if HAS_JSROOT else []
    found = []
    for one, of_jsroot in itertools.zip_longest(asked, by_jsroot):
        routes = by_root[one.path]
        found.append({
            route: "crash" if "crash" in routes else of_columns(routes[route], one.parts, route)
            for route in OF_ROOT[one.layout]
        } | {"uproot": read_by_uproot(one), "arrowroot": read_by_us(one)})  # fmt: skip
        if of_jsroot is not None:
            found[-1]["jsroot"] = of_objects(of_jsroot, one.parts)
    return found


def of_columns(columns: dict[str, RootColumn], parts: dict[str, list[Any]], route: str) -> str:
    outcomes = []
    for name, values in parts.items():
        column = columns.get(name)
        if column is None or column.values is None:
            outcomes.append("no")
        elif route == "Draw":
            outcomes.append(compared(plain(column.values), as_drawn(values)))
        else:
            read = as_texts(column) if column.is_text else column.values
            outcomes.append(compared(plain(read), plain(values)))
    return judged(outcomes)


def read_by_us(asked: Asked) -> str:
    with ar.open(str(asked.path)) as file:
        read = file["Events"].to_arrow()
    ours, wanted = (shown(one.column("x")) for one in (read, asked.table))
    return "yes" if ours == wanted and str(read.schema) == str(asked.table.schema) else "differently"


def read_by_uproot(asked: Asked) -> str:
    found: dict[str, dict[str, Any]] = {}
    with uproot.open(asked.path) as file:
        events = file["Events"]
        for name in ["x"] if asked.layout == "rntuple" else asked.branches:
            try:
                array = events.arrays(["x"])["x"] if asked.layout == "rntuple" else events[name].array()
                found[name] = {"values": array.to_list()}
            except Exception as error:  # noqa: BLE001 - whatever it raises, it does not read it
                found[name] = {"error": str(error)}
    if asked.layout == "rntuple":
        return of_objects(found, {"x": expected.stored_values(asked.table.column("x"))})
    return of_objects(found, asked.parts)


def of_objects(branches: dict[str, Any], parts: dict[str, list[Any]]) -> str:
    """Members as a reader of branches has them: those that are none, by the objects that it has of a branch."""
    outcomes = []
    for name, values in parts.items():
        branch = next(one for one in branches if name == one or name.startswith(f"{one}."))
        read = branches[branch].get("values")
        if read is None:
            outcomes.append("no")
            continue
        for member in name[len(branch) + 1 :].split(".") if name != branch else ():
            read = member_of(read, member)
        outcomes.append(compared(plain(jsroot.typed_as(values, read)), plain(values)))
    return judged(outcomes)


def member_of(values: Any, member: str) -> Any:
    if isinstance(values, list):
        return [member_of(one, member) for one in values]
    return values.get(member) if isinstance(values, dict) else None


def judged(outcomes: list[str]) -> str:
    """One word for a column, from those for its parts."""
    if len(set(outcomes)) == 1:
        return outcomes[0]
    return "differently" if "differently" in outcomes else "in part"


def as_drawn(values: list[Any]) -> Any:
    """All values as doubles in a row."""
    return [one if isinstance(one, str) else float(one).hex() for one in flat(values)]


def compared(found: Any, wanted: Any) -> str:
    return "yes" if found == wanted or flat(found) == flat(wanted) != [] else "differently"


def as_texts(column: RootColumn) -> list[str]:
    """Texts that ROOT has as arrays of characters, up to the first zero: what follows it are bytes of other entries.

    Where all texts are empty RDataFrame has characters, each the zero that ends one, as it has of such a tree of ROOT.
    """
    assert column.values is not None
    found = []
    for letters in column.values if column.type != "Char_t" else [[letter] for letter in column.values]:
        raw = bytes(letter & 0xFF for letter in letters)
        found.append(raw.partition(b"\0")[0].decode())
    return found


def assert_equal(found: list[Any], wanted: list[Any], what: str) -> None:
    """Compare values: fixed lists and lists of them may come flat."""
    assert len(found) == len(wanted), f"{what}: {len(found)} entries, not {len(wanted)}"
    for entry, (a, b) in enumerate(zip(found, wanted, strict=True)):
        one, other = (plain(a), plain(b))
        if one != other:
            is_flat = flat(one) == flat(other) and _depth(one) < _depth(other)
            assert is_flat, f"{what}, entry {entry}: {one}, not {other}"


def _depth(value: Any) -> int:
    return 1 + max((_depth(one) for one in value), default=0) if isinstance(value, list) else 0


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and (value == "nan" or re.fullmatch(r"-?(0x[0-9a-f.]+p[+-]\d+|inf)", value)):
        number = float.fromhex(value)
        return "nan" if math.isnan(number) else number.hex()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return shown(value)
