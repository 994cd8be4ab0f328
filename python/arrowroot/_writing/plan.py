"""Plans: data in a layout, told before they are written.

Nothing is computed twice: the first entries are written to a file that nobody sees, and its metadata are what is told.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from arrowroot._arrow.kinds import fields_of, stored_field
from arrowroot._layout.columns import has_objects, is_collection
from arrowroot._layout.readers import reasons_of
from arrowroot._layout.settings import flush_rule
from arrowroot._render import printable, text_table, type_text
from arrowroot._sizes import counted, format_bytes, format_count, three_digits
from arrowroot._writing.data import parts_of
from arrowroot._writing.schema import checked_schema, inferred

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arrowroot._api.tree import Tree
    from arrowroot._layout.columns import ColumnSettings
    from arrowroot._layout.layout import Layout
    from arrowroot._writing.data import Part

#: The entries that are looked at take at most so much before compression,
_SAMPLE_BYTES = 64_000_000
#: and are at most so many clusters, where clusters have a number of entries.
_N_CLUSTERS = 20
_N_SHOWN = 60


class PlannedBranch(NamedTuple):
    """A branch, or field with columns of its own. Bytes and baskets (pages) are those of the entries looked at."""

    name: str
    #: In C++.
    type_name: str
    n_baskets: int
    memory_bytes: int
    stored_bytes: int
    #: Codec and level.
    compression: str


class PlannedPrecision(NamedTuple):
    """The precision of a column: no value that it holds differs by more than ``error``."""

    column: str
    precision: str
    error: float
    #: "relative": of the value; "absolute": in its unit.
    kind: str


@dataclass(frozen=True, repr=False)
class LayoutPlan:
    """The plan of a table: ``Layout.plan`` makes it. ``print`` shows it, ``to_dict`` is for programs.

    >>> plan = ar.Layout("rntuple").plan(data)
    >>> plan.n_looked_at, [branch.name for branch in plan.branches]
    (100, ['run', 'luminosityBlock', 'event', 'MET_pt', 'Muon_pt'])
    >>> plan.to_dict()["n_looked_at"]
    100
    """

    layout: Layout
    #: Entries looked at, 0 if a schema was all that there was.
    n_looked_at: int
    #: Entries of all data, None if nobody knows.
    n_entries: int | None
    #: Entries of a cluster; None: clusters never end, or nothing was looked at.
    cluster_entries: int | None
    branches: tuple[PlannedBranch, ...]
    #: Bytes of the whole file that was written to look.
    file_bytes: int
    precisions: tuple[PlannedPrecision, ...]
    #: Sentences on what comes out where something cannot be as it is asked for.
    notes: tuple[str, ...]

    @classmethod
    def of(cls, layout: Layout, data: Any, n_entries: int | None, name: str) -> LayoutPlan:
        """Return the plan of a layout for data; ``n_entries``: of all, where these are some. See ``Layout.plan``."""
        if isinstance(data, pa.Schema):
            return plan_for(layout, data, None, n_entries, name)
        part, table = _first_part(data, name)
        if part is None or table is None:
            return plan_for(layout, pa.schema([]), None, n_entries, name)
        is_all = part.is_all and n_entries is None
        declared = checked_schema(part.schema, name)
        schema = inferred(declared, part, table)
        plan = plan_for(layout, schema, table, table.num_rows if is_all else n_entries, name, is_all=is_all)
        note = _note_on_nulls(plan, declared, schema, table, name) if is_all else None
        return replace(plan, notes=(*plan.notes, note)) if note else plan

    @property
    def stored_bytes(self) -> int:
        """Bytes of the baskets or pages of the entries looked at, compressed."""
        return sum(branch.stored_bytes for branch in self.branches)

    @property
    def memory_bytes(self) -> int:
        """The same before compression."""
        return sum(branch.memory_bytes for branch in self.branches)

    @property
    def n_clusters(self) -> int | None:
        """Clusters that all entries make; None if that is not known."""
        if self.n_entries is None or not self.cluster_entries:
            return None
        return -(-self.n_entries // self.cluster_entries)

    @property
    def n_baskets(self) -> int | None:
        """Baskets or pages that all entries make, about; None if that is not known."""
        return self._of_all(sum(branch.n_baskets for branch in self.branches))

    @property
    def expected_bytes(self) -> int | None:
        """Bytes that all entries take in the file, about; None if that is not known."""
        return self._of_all(self.stored_bytes)

    def _of_all(self, looked_at: int) -> int | None:
        if self.n_entries is None or not self.n_looked_at:
            return None
        return round(looked_at * self.n_entries / self.n_looked_at)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "form": "arrowroot.layout-plan/1",
            "layout": self.layout.to_toml(),
            "format": self.layout.format,
            "n_looked_at": self.n_looked_at,
            "n_entries": self.n_entries,
            "cluster_entries": self.cluster_entries,
            "n_clusters": self.n_clusters,
            "n_baskets": self.n_baskets,
            "expected_bytes": self.expected_bytes,
            "stored_bytes": self.stored_bytes,
            "memory_bytes": self.memory_bytes,
            "branches": [branch._asdict() for branch in self.branches],
            "precisions": [precision._asdict() for precision in self.precisions],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        pieces = "baskets" if self.layout.format == "ttree" else "pages"
        lines = [self._headline(pieces), ""]
        rows = [
            ["branch" if pieces == "baskets" else "field", "C++ type", pieces, "B/entry", "stored", "codec"]
        ]
        rows += [
            [
                printable(branch.name),
                printable(branch.type_name),
                format_count(branch.n_baskets),
                three_digits(branch.memory_bytes / self.n_looked_at) if self.n_looked_at else "",
                format_bytes(branch.stored_bytes),
                branch.compression,
            ]
            for branch in self.branches[:_N_SHOWN]
        ]
        lines.append(text_table(rows, right=[False, False, True, True, True, False]))
        if len(self.branches) > _N_SHOWN:
            lines.append(f"and {format_count(len(self.branches) - _N_SHOWN)} more")
        if self.layout.io_features is not None:
            lines += ["", f"IO features: {self.layout.io_features}: counted arrays store no offsets"]
        if self.precisions:
            lines += ["", "precision:"]
            lines += [
                f"  {printable(one.column)}: {one.precision}, at most {one.error:.3g} "
                f"{'of the value' if one.kind == 'relative' else 'from the value'}"
                for one in self.precisions
            ]
        if self.notes:
            lines += ["", "not as asked for, or not read by all:"]
            lines += [f"  {printable(note)}" for note in self.notes]
        return "\n".join(lines)

    def _headline(self, pieces: str) -> str:
        noun = "branch" if pieces == "baskets" else "field"
        parts = [counted(len(self.branches), noun, "branches" if noun == "branch" else None)]
        if self.cluster_entries:
            parts.append(f"clusters of {counted(self.cluster_entries, 'entry', 'entries')}")
        if self.n_looked_at:
            parts.append(
                f"{format_bytes(self.memory_bytes / self.n_looked_at)} an entry, "
                f"{format_bytes(self.stored_bytes / self.n_looked_at)} stored"
            )
        if self.expected_bytes is not None and self.n_entries is not None and self.n_baskets is not None:
            clusters = "" if self.n_clusters is None else f"{counted(self.n_clusters, 'cluster')}, "
            parts.append(
                f"all {counted(self.n_entries, 'entry', 'entries')}: {clusters}about "
                f"{format_count(self.n_baskets)} {pieces}, about {format_bytes(self.expected_bytes)}"
            )
        looked_at = f" (told from the first {counted(self.n_looked_at, 'entry', 'entries')})"
        return f"{self.layout.format}: {'; '.join(parts)}{looked_at if self.n_looked_at else ''}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def __repr__(self) -> str:
        return f"<LayoutPlan {self._headline('baskets' if self.layout.format == 'ttree' else 'pages')}>"


def plan_for(
    layout: Layout,
    schema: pa.Schema,
    table: pa.Table | None,
    n_entries: int | None,
    name: str,
    *,
    is_all: bool = False,
) -> LayoutPlan:
    """Return the plan of a layout for data of a known schema; ``table``: the first of them, or all (``is_all``)."""
    sample = None if table is None else _first(layout, table)
    with tempfile.TemporaryDirectory(prefix="arrowroot-plan-") as directory:
        path = os.path.join(directory, "plan.root")  # noqa: PTH118 - pathlib is a tenth of our import time
        place = (path, name)
        settings, stored = _write(layout, place, schema, sample, table if is_all else None)
        return _read(layout, place, (settings, stored), sample, n_entries)


def _first_part(data: Any, name: str) -> tuple[Part | None, pa.Table | None]:
    """Return the first part that has entries, as a table is told from it, and its first entries, all in memory."""
    first: tuple[Part | None, pa.Table | None] = (None, None)
    for part in parts_of(data, name):
        table = part.table
        if table is None:
            batch = next((batch for batch in part.batches if batch.num_rows), None)
            table = pa.Table.from_batches([] if batch is None else [batch], part.schema)
        if table.num_rows:
            return part, table
        first = (part, table) if first[0] is None else first
    return first


def _first(layout: Layout, table: pa.Table) -> pa.Table:
    """Return the first entries: some clusters, and not too much."""
    n_entries = table.num_rows
    if isinstance(layout.flush, int):
        n_entries = min(n_entries, layout.flush * _N_CLUSTERS)
    n_bytes = table.slice(0, n_entries).nbytes
    return table.slice(
        0, n_entries if n_bytes <= _SAMPLE_BYTES else max(1, n_entries * _SAMPLE_BYTES // n_bytes)
    )


def _write(
    layout: Layout,
    place: tuple[str, str],
    schema: pa.Schema,
    sample: pa.Table | None,
    all_entries: pa.Table | None,
) -> tuple[list[ColumnSettings], pa.Schema]:
    """Write what is looked at; return what the layout says of each column, and the schema that was written.

    all_entries: from which is told which columns share a counter; None: from the sample.
    """
    from arrowroot._writing.calls import create

    path, name = place
    with create(path, reproducible=True) as file, file.tree(name, schema, layout=layout) as table:
        table.is_trial = True
        if all_entries is not None:
            table.know_all(all_entries)
        if sample is not None:
            table.append(sample)
    stored = table.schema
    assert stored is not None  # noqa: S101 - a table that was closed has one
    first = [] if sample is None else [sample]
    return layout.columns(stored, first, name, projected=table.projected), stored


def _read(
    layout: Layout,
    place: tuple[str, str],
    written: tuple[list[ColumnSettings], pa.Schema],
    sample: pa.Table | None,
    n_entries: int | None,
) -> LayoutPlan:
    from arrowroot._api.opening import open as open_file
    from arrowroot._api.tree import Tree

    (path, name), (settings, schema) = place, written
    with open_file(path) as file:
        tree = file[name]
        assert isinstance(tree, Tree)  # noqa: S101 - it was written as one
        projected = tree.projections
        branches = tuple(
            PlannedBranch(
                branch.path,
                branch.type_name,
                branch.n_baskets,
                branch.memory_bytes,
                branch.stored_bytes,
                branch.compression,
            )
            for branch in tree.branches
            if not branch.is_group and not branch.is_part and branch.path not in projected
        )
        looked_at = 0 if sample is None else sample.num_rows
        cluster_entries = _cluster_entries(layout, tree) if looked_at else None
    precisions = tuple(
        PlannedPrecision(field.name, str(one.precision), *one.precision.error)
        for field, one in zip(schema, settings, strict=True)
        if one.precision is not None
    )
    notes = tuple(
        note for field, one in zip(schema, settings, strict=True) for note in _notes(layout, field, one)
    )
    file_bytes = os.stat(path).st_size  # noqa: PTH116 - as above
    return LayoutPlan(layout, looked_at, n_entries, cluster_entries, branches, file_bytes, precisions, notes)


def _note_on_nulls(
    plan: LayoutPlan, declared: pa.Schema, schema: pa.Schema, table: pa.Table, name: str
) -> str | None:
    """Return what columns would cost that the schema says may be null, and that have no null; None without such."""
    columns = [
        one.name for one, other in zip(declared, schema, strict=True) if _n_nullable(one) > _n_nullable(other)
    ]
    if not columns:
        return None
    fields = [declared.field(one.name) if one.name in columns else one for one in schema]
    other = plan_for(
        plan.layout, pa.schema(fields, metadata=schema.metadata), table, table.num_rows, name, is_all=True
    )
    n = max(1, plan.n_looked_at)
    grown = other.stored_bytes / max(1, plan.stored_bytes) - 1
    stored = f"{grown:+.0%} stored" if round(100 * grown) else "no more stored"
    shown = ", ".join(columns[:3]) + (f" and {len(columns) - 3} more" if len(columns) > 3 else "")
    return (
        f"{shown}: may be null by their schema, and have no null: stored as what is always there. A table begun with "
        f"that schema, as file.tree(name, schema) is, takes {(other.memory_bytes - plan.memory_bytes) / n:.3g} "
        f"bytes more an entry before compression ({stored})"
    )


def _n_nullable(field: pa.Field) -> int:
    """Return how many parts of a field may be null."""
    return bool(field.nullable) + sum(map(_n_nullable, fields_of(field.type)))


def _cluster_entries(layout: Layout, tree: Tree) -> int | None:
    """Return the entries of a cluster: as asked for, as seen, or as the sizes say."""
    if isinstance(layout.flush, int):
        return layout.flush
    if layout.flush is None:
        return None
    borders = tree.clusters
    if len(borders) > 2:
        return borders[1] - borders[0]
    rule = flush_rule(layout.flush, layout.format)
    # No cluster has ended: it would go on until it is full, compressed or before.
    by_stored = rule.amount / max(1, tree.stored_bytes)
    by_memory = (rule.max_bytes or _SAMPLE_BYTES) / max(1, tree.memory_bytes)
    return max(tree.num_entries, int(tree.num_entries * min(by_stored, by_memory)))


def _notes(layout: Layout, field: pa.Field, settings: ColumnSettings) -> Iterator[str]:
    """Yield what becomes of a column where a split level cannot be what it says."""
    field = stored_field(field)
    name, kind = field.name, field.type
    for reason in dict.fromkeys(reasons_of(field, layout, settings)):
        yield f"{name}: {reason}"
    if layout.format == "rntuple":
        return
    if settings.split is None:
        return
    if settings.split == 0:
        how = "member by member" if settings.memberwise else "one object after the other"
        what = f"all objects, {how}" if is_collection(kind) else "the object"
        yield f"{name}: split 0: one branch of {what}: its members are read together"
        return
    yield from _notes_inside(name, kind, is_in_list=False)


def _notes_inside(path: str, kind: pa.DataType, *, is_in_list: bool) -> Iterator[str]:
    is_one = is_collection(kind) or bool(pa.types.is_map(kind))
    if is_one and is_in_list:
        yield f"{path}: a list of records in a list is never split: one branch"
        return
    if is_collection(kind):
        kind = kind.value_type
    if not is_one and not pa.types.is_struct(kind):
        if has_objects(kind):
            yield f"{path}: {type_text(kind)} is never split: one branch of vectors"
        return
    is_in_list |= is_one
    # Key and value of a map are members of a record.
    for member in fields_of(kind):
        inner = f"{path}.{member.name}"
        if is_in_list and _is_list(member.type) and not has_objects(member.type):
            yield f"{inner}: a list in a list is never split: one branch of vectors"
        else:
            yield from _notes_inside(inner, member.type, is_in_list=is_in_list)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))
