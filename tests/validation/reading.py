"""Values that arrowroot reads, beside what a macro of the RNTuple Validation Suite printed of the same file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import arrowroot as ar

if TYPE_CHECKING:
    from pathlib import Path


class Members(list[tuple[str, Any]]):
    """An object of JSON: its names may be equal, as those of a multimap."""


def differences(path: Path, printed: str) -> list[str]:
    """Return where values of a file differ from what was printed of it: nothing if none does."""
    told: Any = json.loads(printed, object_pairs_hook=Members)
    if isinstance(told, Members) and told[0][0] == "error":
        try:
            ar.open(path)["ntpl"].to_arrow()
        except ar.ArrowrootError as error:
            number = told[0][1].rpartition(" ")[2]
            return [] if number in str(error) else [f"{error}, not {told[0][1]}"]
        return [f"it is read, where ROOT says {told[0][1]}"]
    with ar.open(path) as file:
        tree = file["ntpl"]
        if told and told[0][0][0] == "Value":
            notes = tree.attributes["Attributes"]
            found = [{"Value": value} for value in notes.to_arrow()["attr"].to_pylist()]
            for one, entries in zip(found, notes.ranges, strict=True):
                one["Range"] = [entries[0], entries[-1]]
            return [] if is_same(found, told) else [f"{found}, not {told}"]
        if isinstance(told, Members):  # sums of all entries
            told = [told]
            columns = {name: [sum(tree.to_arrow([name])[name].to_pylist())] for name, _ in told[0]}
        else:
            columns = {name: tree.to_arrow([name])[name].to_pylist() for name, _ in (told[0] if told else ())}
        types = {branch.path: branch.type_name or "" for branch in tree.branches}
        found = []
        if not isinstance(told[0] if told else None, Members | None) or tree.num_entries < len(told):
            found.append(f"{tree.num_entries} entries, not {len(told)}")
        for entry, values in enumerate(told):
            for name, value in values:
                ours, is_sorted = columns[name][entry], "unordered" in types.get(name, "")
                if not is_same(ordered(ours) if is_sorted else ours, ordered(value) if is_sorted else value):
                    found.append(f"entry {entry}, {name}: {ours}, not {value}")
        return found


def ordered(value: Any) -> Any:
    """A value whose lists are in an order that follows from what is in them."""
    if isinstance(value, list):
        return type(value)(sorted(map(ordered, value), key=lambda one: str(one).replace("'", "")))
    return tuple(map(ordered, value)) if isinstance(value, tuple) else value


def is_same(value: Any, told: Any) -> bool:
    """Compare a value with one of JSON: floats are hexadecimal texts there, bits texts, keys of maps texts."""
    if isinstance(value, dict):
        named = list(value.items())
        if isinstance(told, Members):
            # The base of a class, whose members are its own here.
            flat = [one for name, inner in told for one in (inner if name == ":_0" else [(name, inner)])]
            return is_same(named, flat)
        return is_same(list(value.values()), told)
    if isinstance(value, list | tuple) and isinstance(told, str):
        return "".join("01"[bit] for bit in reversed(value)) == told
    if isinstance(value, list | tuple) and isinstance(told, list | tuple):
        return len(value) == len(told) and all(map(is_same, value, told))
    if isinstance(value, float):
        return isinstance(told, str) and float.fromhex(told) == value
    if isinstance(told, str) and not isinstance(value, str):
        return str(value) == told
    return bool(value == told)
