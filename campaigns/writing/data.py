"""The columns that writers get: ``data.py DIRECTORY flat|jagged N_COLUMNS PAYLOAD_MB [SEED]``.

They are raw arrays in the directory ``columns``, so that programs in every language begin with the same; the dataset
itself is a file of them that nobody reads.

``NAME.values`` has the values of a column; of lists, those of all lists one after the other. ``COUNTER.ends`` has one
64-bit integer more than there are entries, the first is 0: where the lists of a collection's columns begin and end.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

#: Lists of one collection have this many columns, and so many items on average.
COLUMNS_OF_COLLECTION = 10
MEAN_ITEMS = 3.0


class Columns(NamedTuple):
    """The data that a job names."""

    directory: Path
    columns: list[dict[str, str]]
    n_entries: int
    payload_bytes: int

    def job(self) -> dict[str, Any]:
        """Its part of a job."""
        return {
            "data": str(self.directory), "columns": self.columns, "n_entries": self.n_entries,
            "payload_bytes": self.payload_bytes,
        }  # fmt: skip


def make(directory: Path, shape: str, n_columns: int, payload_bytes: int, seed: int = 1) -> Columns:
    """Make the columns of a case in a directory.

    shape: "flat", one value for each entry, or "jagged", lists.

    Half of the columns are floats with the precision that analysis formats keep (11 bits of mantissa), a quarter floats
    of full precision, a quarter small integers.
    """
    directory.mkdir(exist_ok=True)
    told = _make(directory, shape, n_columns, payload_bytes, seed)
    (directory / "columns.json").write_text(json.dumps(told))
    return known(directory)


def known(directory: Path) -> Columns:
    """Return columns that were made."""
    return Columns(directory, **json.loads((directory / "columns.json").read_text()))


def _make(directory: Path, shape: str, n_columns: int, payload_bytes: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    items = MEAN_ITEMS if shape == "jagged" else 1.0
    n_entries = int(payload_bytes / (n_columns * 4 * items))
    columns = []
    total = 0
    ends: npt.NDArray[np.int64] = np.arange(n_entries + 1, dtype=np.int64)
    for number in range(n_columns):
        name, column = f"c{number:04}", {"kind": "scalar"}
        if shape == "jagged":
            collection = f"C{number // COLUMNS_OF_COLLECTION:03}"
            name, column = f"{collection}_{name}", {"kind": "array", "counter": f"n{collection}"}
            if number % COLUMNS_OF_COLLECTION == 0:
                ends = np.concatenate([[0], np.cumsum(random.poisson(MEAN_ITEMS, n_entries))]).astype(
                    np.int64
                )
                ends.tofile(directory / f"n{collection}.ends")
                total += 4 * n_entries
        values = _values(random, number, int(ends[-1]))
        values.tofile(directory / f"{name}.values")
        total += values.nbytes
        columns.append({"name": name, "type": values.dtype.name, **column})
    return {"columns": columns, "n_entries": n_entries, "payload_bytes": total}


def _values(random: np.random.Generator, number: int, n_values: int) -> npt.NDArray[Any]:
    if number % 4 == 3:
        return random.poisson(4.0, n_values).astype(np.int32)
    values = (
        random.exponential(30.0, n_values) if number % 4 == 0 else random.normal(0, 1.5, n_values)
    ).astype(np.float32)
    if number % 4 != 2:
        values.view(np.uint32)[:] &= np.uint32(0xFFFFF000)
    return values


def arrays(
    made: Columns,
) -> Iterator[tuple[dict[str, str], npt.NDArray[Any], npt.NDArray[np.int64] | None]]:
    """Yield each column, its values, and where its lists end; all of it in memory."""
    directory = made.directory
    ends: dict[str, npt.NDArray[np.int64]] = {}
    for column in made.columns:
        values = np.fromfile(directory / f"{column['name']}.values", dtype=column["type"])
        counter = column.get("counter")
        if counter and counter not in ends:
            ends[counter] = np.fromfile(directory / f"{counter}.ends", dtype=np.int64)
        yield column, values, ends[counter] if counter else None


def as_table(made: Columns) -> pa.Table:
    """Return the columns as an Arrow table; lists of a collection share their offsets."""
    found, offsets = {}, {}
    for column, values, ends in arrays(made):
        if ends is None:
            found[column["name"]] = pa.array(values)
            continue
        counter = column["counter"]
        if counter not in offsets:
            offsets[counter] = pa.array(ends.astype(np.int32))
        found[column["name"]] = pa.ListArray.from_arrays(offsets[counter], pa.array(values))
    return pa.table(found)


def as_kind(table: pa.Table, kind: str) -> pa.Table:
    """Return what becomes of the columns in a job of objects, maps or variants."""
    if kind in ("maps", "number-maps"):
        return with_maps(table, is_of_texts=kind == "maps")
    return with_variants(table) if kind == "variants" else with_objects(table)


def of_kind(table: pa.Table, kind: str) -> pa.Table:
    """Return the columns that a table of objects, maps or variants has, each by its name."""
    if kind in ("maps", "number-maps"):
        return without_maps(table)
    return without_variants(table) if kind == "variants" else without_objects(table)


def with_maps(table: pa.Table, *, is_of_texts: bool) -> pa.Table:
    """Return maps of the places in lists, as texts or numbers, to their items."""
    found = {}
    for name in table.column_names:
        lists = table.column(name).combine_chunks()
        ends = np.asarray(lists.offsets)
        keys = np.arange(ends[-1]) - np.repeat(ends[:-1], np.diff(ends))
        places = pa.array(keys.astype(np.int32))
        if is_of_texts:
            places = pa.array([f"key {place}" for place in range(int(keys.max(initial=0)) + 1)]).take(places)
        kind = pa.map_(places.type, pa.field("value", lists.values.type, nullable=False))
        found[name] = pa.MapArray.from_arrays(lists.offsets, places, lists.values, type=kind)
    return _solid(found)


def without_maps(table: pa.Table) -> pa.Table:
    """Return the keys and values of maps as lists, the keys as numbers."""
    found = {}
    for name in table.column_names:
        maps = table.column(name).combine_chunks()
        keys = maps.keys
        if pa.types.is_string(keys.type):
            keys = pa.compute.utf8_slice_codeunits(keys, 4).cast(pa.int32())
        found[f"{name} keys"] = pa.ListArray.from_arrays(maps.offsets, keys)
        found[name] = pa.ListArray.from_arrays(maps.offsets, maps.items)
    return pa.table(found)


def with_variants(table: pa.Table) -> pa.Table:
    """Return one column for each four: the first of them in even entries, the last in odd ones."""
    places = pa.array(np.arange(table.num_rows, dtype=np.int32))
    tags = pa.array(np.arange(table.num_rows) % 2, pa.int8())
    found = {}
    for first, last in zip(table.column_names[::4], table.column_names[3::4], strict=True):
        parts = [table.column(name).combine_chunks() for name in (first, last)]
        found[first] = pa.UnionArray.from_dense(tags, places, parts)
    return _solid(found)


def without_variants(table: pa.Table) -> pa.Table:
    """Return the entries of each alternative as a list, all in one entry."""
    found = {}
    for name in table.column_names:
        union = table.column(name).combine_chunks()
        tags, places = np.asarray(union.type_codes), np.asarray(union.offsets)
        kinds = [(number, code) for number, code in enumerate(union.type.type_codes) if (tags == code).any()]
        for alternative, (number, code) in enumerate(kinds):
            values = union.field(number).take(pa.array(places[tags == code]))
            ends = pa.array([0, len(values)], pa.int32())
            found[f"{name} {alternative}"] = pa.ListArray.from_arrays(ends, values)
    return pa.table(found)


def _solid(columns: dict[str, pa.Array]) -> pa.Table:
    schema = pa.schema([pa.field(name, column.type, nullable=False) for name, column in columns.items()])
    return pa.table(columns, schema=schema)


def with_objects(table: pa.Table) -> pa.Table:
    """Return lists of objects, one column for each collection, in place of lists of their members."""
    collections: dict[str, dict[str, pa.ListArray]] = {}
    for name in table.column_names:
        collection, _, member = name.partition("_")
        collections.setdefault(collection, {})[member] = table.column(name).combine_chunks()
    found = {}
    for collection, members in collections.items():
        offsets = next(iter(members.values())).offsets
        fields = [
            pa.field(member, lists.type.value_type, nullable=False) for member, lists in members.items()
        ]
        objects = pa.StructArray.from_arrays([lists.values for lists in members.values()], fields=fields)
        of = pa.list_(pa.field("item", objects.type, nullable=False))
        found[collection] = pa.ListArray.from_arrays(offsets, objects, type=of)
    return _solid(found)


def without_objects(table: pa.Table) -> pa.Table:
    """Return the lists of members that lists of objects have."""
    found = {}
    for collection in table.column_names:
        lists = table.column(collection).combine_chunks()
        objects = lists.values
        for place in range(objects.type.num_fields):
            name = f"{collection}_{objects.type.field(place).name}"
            found[name] = pa.ListArray.from_arrays(lists.offsets, objects.field(place))
    return pa.table(found)


def checksums(table: pa.Table) -> dict[str, dict[str, Any]]:
    """Return the checksum of each column."""
    from arrowroot_lab.runners.checksum import Checksums

    sums = Checksums()
    for batch in table.combine_chunks().to_batches():
        sums.add(batch)
    return sums.told()


def main() -> None:
    """Make the columns, and a file of them."""
    import arrowroot

    directory, shape, n_columns, payload_mb, *seed = sys.argv[1:]
    made = make(
        Path(directory) / "columns", shape, int(n_columns), int(float(payload_mb) * 1e6), *map(int, seed)
    )
    arrowroot.write(str(Path(directory) / "columns.root:T"), as_table(made), compression=None)


if __name__ == "__main__":
    main()
