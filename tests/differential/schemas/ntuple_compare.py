"""What arrowroot reads in the RNTuple of a schema, compared with what was written: whole, and in parts."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import arrowroot as ar

from . import types as t
from .compare import Finding, member_of, without_order
from .ntuple_types import bare

if TYPE_CHECKING:
    from pathlib import Path

    from .ntuple_generate import Schema


def findings(schema: Schema, path: Path) -> tuple[list[Finding], int]:
    """All findings in a file, and how many columns were equal."""
    wanted = {made.name: schema.expected(place) for place, made in enumerate(schema.fields)}
    kinds = {made.name: made.type for made in schema.fields}
    wanted |= {
        made.name: [len(entry) for entry in wanted[schema.fields[made.of].name]]
        for made in schema.projections
    }
    members = members_of_records(schema, wanted)
    pick = random.Random(f"parts {schema.seed}")
    found: list[Finding] = []
    try:
        with ar.open(str(path)) as file:
            tree = file["N"]
            if tree.num_entries != schema.n_entries or set(tree.column_names) != set(wanted):
                detail = f"{tree.num_entries} entries of {tree.column_names}, not {schema.n_entries} of {list(wanted)}"
                return [Finding(schema.seed, "N", "differs", detail)], 0
            for columns, values in (({**wanted}, wanted), (members, members)):
                if not columns:
                    continue
                tables = parts(tree, list(columns), schema.n_entries, pick)
                for what, entries, table in tables:
                    table.validate(full=True)
                    for name in set(columns) - {finding.column for finding in found}:
                        is_unordered = any(
                            part.is_unordered
                            for part in t.parts_of(kinds.get(name.partition(".")[0], t.Bool()))
                        )
                        found += differences(
                            Finding(schema.seed, name, "differs", what),
                            table.column(name).to_pylist(),
                            [values[name][entry] for entry in entries],
                            is_unordered=is_unordered,
                        )
    except (ar.ArrowrootError, pa.ArrowInvalid) as error:
        kind = "unsupported" if isinstance(error, ar.UnsupportedError) else type(error).__name__
        return [Finding(schema.seed, "N", kind, str(error))], 0
    wrong = {finding.column for finding in found}
    return found, len(wanted) + len(members) - len(wrong)


def parts(
    tree: Any, columns: list[str], n: int, pick: random.Random
) -> list[tuple[str, list[int], pa.Table]]:
    """Some ways of reading columns: each with its name, and the entries that it gives."""
    first, last = sorted((pick.randint(0, n), pick.randint(0, n)))
    some = [entry for entry in range(n) if pick.random() < pick.choice([0.05, 0.5, 0.9])]
    any_order = [pick.randrange(n) for _ in range(7)] if n else []
    batch_bytes = pick.choice([50, 400, 3000])

    def streamed(entries: Any) -> pa.Table:
        scan = tree.scan(columns, entries=entries, batch_size=f"{batch_bytes} B")
        return pa.Table.from_batches(list(scan), schema=pa.schema(scan.schema))

    return [
        ("all", list(range(n)), pa.table(tree.to_arrow(columns))),
        ("on one thread", list(range(n)), pa.table(tree.to_arrow(columns, n_threads=1))),
        (f"entries {first} to {last}", list(range(first, last)),
         pa.table(tree.to_arrow(columns, entries=slice(first, last)))),
        (f"entries {some}", some, pa.table(tree.to_arrow(columns, entries=some))),
        (f"entries {any_order}", any_order, pa.table(tree.to_arrow(columns, entries=any_order))),
        (f"in batches of {batch_bytes} bytes", list(range(first, last)), streamed(slice(first, last))),
        (f"entries {some} in batches of {batch_bytes} bytes", some, streamed(some)),
    ]  # fmt: skip


def members_of_records(schema: Schema, wanted: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Members of fields that are records, or lists of records, by path."""
    found = {}
    for made in schema.fields:
        kind = bare(made.type)
        record = bare(kind.item) if isinstance(kind, t.Sequence) else kind
        if isinstance(record, t.Class):
            for name in record.all_members():
                found[f"{made.name}.{name}"] = [member_of(value, [name]) for value in wanted[made.name]]
    return found


def differences(
    finding: Finding, found: list[Any], wanted: list[Any], *, is_unordered: bool
) -> list[Finding]:
    """The first difference, if there is any."""
    if len(found) != len(wanted):
        finding.detail += f": {len(found)} entries, not {len(wanted)}"
        return [finding]
    for place, (a, b) in enumerate(zip(found, wanted, strict=True)):
        if a != b and not (is_unordered and without_order(a) == without_order(b)):
            finding.detail += f": number {place}: {a!r:.300}, not {b!r:.300}"
            return [finding]
    return []
