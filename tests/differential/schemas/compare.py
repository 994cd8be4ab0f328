"""What arrowroot reads in the file of a schema, compared with what was written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import arrowroot as ar

from . import types as t

if TYPE_CHECKING:
    from pathlib import Path

    from .generate import Branch, Schema

_MEMBER = re.compile(r"(m\d+|first|second|_\d+)(\[\d+\])*")


@dataclass
class Finding:
    """A column that is not read as it was written."""

    seed: int
    column: str
    #: What happened: "differs", "unsupported" or the name of an error.
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.column}: {self.kind}: {self.detail}"


def findings(schema: Schema, path: Path) -> tuple[list[Finding], int]:
    """All findings in a file, and how many columns were equal."""
    found: list[Finding] = []
    n_equal = 0
    with ar.open(str(path)) as file:
        tree = file["T"]
        if tree.num_entries != schema.n_entries:
            detail = f"{tree.num_entries} entries, not {schema.n_entries}"
            return [Finding(schema.seed, "T", "differs", detail)], 0
        unread = [c for c in all_columns(tree) if c not in tree.column_names]
        found += [Finding(schema.seed, name, *failure(tree, name)) for name in unread]
        for number, branch in enumerate(schema.branches):
            wanted = schema.expected(number)
            columns = [c for c in tree.column_names if c.partition("/")[0] == branch.name]
            if (
                not columns
                and branch.name not in unread
                and not any(c.startswith(f"{branch.name}/") for c in unread)
            ):
                found.append(Finding(schema.seed, branch.name, "differs", "no column"))
            if any(b.path == branch.name and b.is_group for b in tree.branches) and not found:
                columns.append(branch.name)  # as one column
            for column in columns:
                finding = compare(schema, tree, branch, column, wanted)
                if finding is None:
                    n_equal += 1
                else:
                    found.append(finding)
        wrong = {finding.column for finding in found}
        found += compare_together(schema, tree, [c for c in tree.column_names if c not in wrong])
    return found, n_equal


def compare_together(schema: Schema, tree: Any, columns: list[str]) -> list[Finding]:
    """Columns that are read together share what is the same of them: it must be what each has alone."""
    alone = {column: pa.table(tree.to_arrow([column])).column(0).to_pylist() for column in columns}
    first, last = schema.n_entries // 3, schema.n_entries - schema.n_entries // 4
    every_other = list(range(0, schema.n_entries, 2))
    ways: list[tuple[str, Any, slice]] = [
        ("all", lambda: tree.to_arrow(columns), slice(None)),
        ("turned round", lambda: tree.to_arrow(columns[::-1]), slice(None)),
        ("some", lambda: tree.to_arrow(columns, entries=slice(first, last)), slice(first, last)),
        ("every other", lambda: tree.to_arrow(columns, entries=every_other), slice(None, None, 2)),
        ("in small batches", lambda: tree.scan(columns, batch_size="2000 B"), slice(None)),
    ]
    found = []
    for way, read, entries in ways if columns else []:
        try:
            together = pa.table(read())
        except (ar.ArrowrootError, pa.ArrowException) as error:  # streams have errors of Arrow's
            found.append(Finding(schema.seed, f"together, {way}", type(error).__name__, str(error)))
            continue
        found += [
            Finding(schema.seed, column, "differs", f"with the others, {way}")
            for column in columns
            if together.column(column).to_pylist() != alone[column][entries]
        ]
    return found


def all_columns(tree: Any) -> list[str]:
    """Every branch that holds data, whether it can be read or not."""
    return [b.path for b in tree.branches if not b.is_group]


def failure(tree: Any, name: str) -> tuple[str, str]:
    try:
        tree.to_arrow([name])
    except ar.UnsupportedError as error:
        return "unsupported", str(error)
    except ar.ArrowrootError as error:
        return type(error).__name__, str(error)
    return "differs", "is read, but not listed"


def compare(schema: Schema, tree: Any, branch: Branch, column: str, wanted: list[Any]) -> Finding | None:
    last = column.rpartition("/")[2]
    members = [m.group(1) for part in last.split(".") if (m := _MEMBER.fullmatch(part))]
    try:
        found = pa.table(tree.to_arrow([column], assemble=column == branch.name)).column(0).to_pylist()
    except ar.ArrowrootError as error:
        kind = "unsupported" if isinstance(error, ar.UnsupportedError) else type(error).__name__
        return Finding(schema.seed, column, kind, str(error))
    try:
        wanted = [member_of(value, members) for value in wanted]
        class_name = last.partition("[")[0].rpartition(".")[2]
        base = next((c for c in schema.classes if c.cpp == class_name), None)
        if base is not None and base is not branch.type:  # a base that was not split
            wanted = [restricted(value, base.all_members()) for value in wanted]
    except (KeyError, TypeError, IndexError) as error:
        return Finding(schema.seed, column, "differs", f"no such member: {error!r}")
    if len(found) != len(wanted):
        return Finding(schema.seed, column, "differs", f"{len(found)} entries, not {len(wanted)}")
    is_unordered = any(part.is_unordered for part in t.parts_of(branch.type))
    for entry, (a, b) in enumerate(zip(found, wanted, strict=True)):
        if a != b and not (is_unordered and without_order(a) == without_order(b)):
            return Finding(schema.seed, column, "differs", f"entry {entry}: {a!r:.300}, not {b!r:.300}")
    return None


def member_of(value: Any, members: list[str]) -> Any:
    """A member, of each object of a collection."""
    for name in members:
        value = one_member(value, name)
    return value


def one_member(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [one_member(item, name) for item in value]
    if isinstance(value, tuple):  # a pair of a map
        return value[("first", "second").index(name)]
    return value[name]


def restricted(value: Any, members: list[str]) -> Any:
    if isinstance(value, list):
        return [restricted(item, members) for item in value]
    return {name: value[name] for name in members}


def without_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_order(value[k]) for k in sorted(value)}  # a tuple has its last part first
    if isinstance(value, tuple):
        return tuple(without_order(v) for v in value)
    return sorted((without_order(v) for v in value), key=repr) if isinstance(value, list) else value
