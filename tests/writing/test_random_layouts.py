"""Tables of random schemas in random layouts: what ROOT, uproot and arrowroot read of them is what was written.

``make test`` takes the first 20 seeds, ``make soak-write`` 1,000, or a part of them (``SEEDS=200:300``).
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar

from . import expected
from .expected import shown
from .expected_objects import ObjectBranch, has_objects, object_branches
from .invariants import assert_sound
from .readers import as_drawn
from .root_reading import RootColumn, read_all
from .schemas import MEMBERS, PLAIN_NAMES, draw_array, draw_table, draw_type, in_chunks
from .seeds import seeds_of
from .test_random_schemas import SETTINGS, as_texts, assert_equal, must_be_read, plain

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

SEEDS = seeds_of(20)
LEVELS = [None, 0, 1, 2, 99, 99]


def draw_objects(seed: int) -> pa.Table:
    """A random table, with columns of objects, and of collections of objects, among its columns."""
    table = draw_table(seed)
    chance = random.Random(f"objects {seed}")
    names = [name for name in PLAIN_NAMES if name not in table.column_names]
    for name in names[: chance.randint(1, 2)]:
        members = [
            pa.field(member, draw_type(chance, 1), nullable=chance.random() < 0.2)
            for member in chance.sample([*MEMBERS, "class", "int"], chance.randint(1, 4))
        ]
        kind = pa.struct(members)
        if chance.random() < 0.5:
            kind = pa.list_(pa.field("item", kind, nullable=chance.random() < 0.2))
        field = pa.field(name, kind, nullable=chance.random() < 0.2)
        array = draw_array(chance, field, table.num_rows)
        table = table.append_column(field, array)
    return in_chunks(chance, table)


def splits_of(seed: int, table: pa.Table) -> dict[str, int | None]:
    """The split level of each column that has objects."""
    chance = random.Random(f"splits {seed}")
    return {field.name: chance.choice(LEVELS) for field in table.schema if has_objects(field.type)}


def has_features(seed: int) -> bool:
    """True if baskets store no offsets that follow from a counter."""
    return seed % 7 == 3


def layout_of(seed: int, table: pa.Table) -> ar.Layout:
    chance = random.Random(f"layout {seed}")
    settings = {key: value for key, value in SETTINGS[seed % len(SETTINGS)].items() if key != "n_threads"}
    if seed % 11 == 5:
        settings |= {"flush": None, "basket_size": 1000}
    # Names may look like globs: those are literal, in brackets.
    splits = {
        "".join(f"[{c}]" if c in "*?[" else c for c in name): of
        for name, of in splits_of(seed, table).items()
    }
    return ar.Layout(
        split=splits,
        memberwise=chance.random() < 0.5,
        lists=chance.choice(["counted", "vector"]),
        io_features="kGenerateOffsetMap" if has_features(seed) else None,
        **settings,
    )


def has_sizes(seed: int, values: list[Any], of: ObjectBranch | None) -> bool:
    """True if no offsets are stored of a branch: ROOT and uproot read other values of some (docs/writing.md).

    Only those of lists and texts that are no members of objects follow from something else; fixed lists and vectors
    are among these here, too.
    """
    return has_features(seed) and of is None and any(isinstance(one, list | str) for one in values)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    directory = tmp_path_factory.mktemp("layouts")
    found = {}
    for seed in SEEDS:
        table = draw_objects(seed)
        found[seed] = directory / f"{seed}.root"
        ar.write(f"{found[seed]}:Events", table, schema=table.schema, layout=layout_of(seed, table))
    return found


def branches_of(seed: int) -> dict[str, tuple[list[Any], ObjectBranch | None]]:
    """The branches of objects, and those that are none, with their values."""
    table = draw_objects(seed)
    splits = splits_of(seed, table)
    found: dict[str, tuple[list[Any], ObjectBranch | None]] = {}
    for place, field in enumerate(table.schema):
        level = splits.get(field.name)
        if level is not None:
            objects = object_branches(field.name, field, table.column(place), level)
            found |= {one.name: (one.values, one) for one in objects}
    names = [name for name in table.column_names if splits.get(name) is None]
    plain = expected.branches(table.select(names), others=splits.keys() - set(names))
    found |= {name: (branch.values, None) for name, branch in plain.items()}
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_file_breaks_no_rule_of_the_format(files, seed):
    assert_sound(files[seed])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_table_comes_back_exactly(files, seed):
    table = draw_objects(seed)
    with ar.open(str(files[seed])) as file:
        read = file["Events"].to_arrow()
    assert read.schema.names == table.schema.names
    for field in table.schema:
        assert str(read.schema.field(field.name)) == str(field)
        assert shown(expected.stored_values(read.column(field.name))) == shown(
            expected.stored_values(table.column(field.name))
        ), field.name


def read_by_root_of(seed: int) -> dict[str, tuple[list[Any], ObjectBranch | None]]:
    """The branches that ROOT reads, as the table in docs/writing.md says.

    Not whole objects, and neither texts nor lists in split collections; nothing of a split collection that has texts,
    as it may crash of any of its members.
    """
    found = branches_of(seed)
    with_texts = {
        of.parent for _, of in found.values() if of is not None and of.is_inside and may_have_texts(of)
    }
    return {
        name: (values, of)
        for name, (values, of) in found.items()
        if of is None
        or (of.kind == "numbers" and of.parent not in with_texts)
        or (of.kind in ("texts", "vectors") and not of.is_inside)
    }


def may_have_texts(of: ObjectBranch) -> bool:
    return of.kind in ("texts", "objects") or any(isinstance(one, str) for one in expected.flat(of.values))


@pytest.fixture(scope="module")
def read_by_root(files: dict[int, Path]) -> dict[Path, dict[str, dict[str, RootColumn]]]:
    only = {path: list(read_by_root_of(seed)) for seed, path in files.items()}
    asked = [(path, "Events", "ttree") for path, names in only.items() if names]
    undrawn = {path: undrawn_of(seed) for seed, path in files.items()}
    return read_all(asked, asked[0][0].parent, only=only, undrawn=undrawn)


def undrawn_of(seed: int) -> list[str]:
    """The branches that Draw may crash of, and those that it takes for others (docs/writing.md).

    It may crash of any branch of a split collection that has lists, too, and takes a member of one for a column of that
    name.
    """
    branches = branches_of(seed)
    found = {name: of for name, (_, of) in branches.items() if of is not None}
    inside = [of for of in found.values() if of.is_inside]
    with_lists = {of.parent for of in inside if of.kind != "numbers"}
    members = {of.name.rpartition(".")[2] for of in inside}
    return [
        name
        for name, (_, of) in branches.items()
        if (
            name in members
            if of is None
            else is_mistaken(of, found) or (of.is_inside and of.parent in with_lists)
        )
    ]


def is_mistaken(of: ObjectBranch, names: Collection[str]) -> bool:
    """True if Draw takes a branch beside for a part of the name: `x.n` for the part `n` of `x.s.n.pt`.

    It looks for the column's name before the part, too: `x.x.x` for the part `x` of `x.x.pt`.
    """
    parts = of.name.removeprefix(f"{of.parent}.").split(".") if of.parent else []
    column = of.name.partition(".")[0]
    asked = parts[1:-1] + [".".join([column, *parts[:n]]) for n in range(1, len(parts))]
    return any(f"{of.parent}.{one}" in names for one in asked)


@pytest.mark.parametrize("seed", SEEDS)
def test_root_reads_what_the_table_says(files, read_by_root, seed):
    wanted = read_by_root_of(seed)
    routes = read_by_root.get(files[seed], {})
    assert "crash" not in routes, "ROOT crashed"
    for route, columns in routes.items():
        left_out = undrawn_of(seed) if route == "Draw" else []
        for name, (values, of) in wanted.items():
            if name in left_out or has_sizes(seed, values, of):
                continue
            column = columns.get(name)
            if column is None:
                assert of is not None, f"{route} does not list {name}, only {list(columns)}"
                assert of.is_array, f"{route} does not list {name}, only {list(columns)}"
                continue
            if column.values is None:
                assert not is_sure(column, of, route), f"{route}, {name} ({column.type}): {column.error}"
            elif route == "Draw":
                if of is not None and of.kind == "numbers" and is_drawn(column):
                    drawn = [plain(one) for one in column.values]
                    assert drawn == as_drawn(values), f"Draw, {name} ({column.type})"
            else:
                found = as_texts(column) if column.is_text else column.values
                assert_equal(found, values, f"{route}, {name} ({column.type})")


def is_sure(column: RootColumn, of: ObjectBranch | None, route: str) -> bool:
    """True if a column must be read: the others are of types for which read_with_root.h has no function."""
    if route == "Draw":
        return of is not None and of.kind == "numbers"
    return must_be_read(column)


def is_drawn(column: RootColumn) -> bool:
    """True if Draw shows the numbers of a type as they are: not letters, and not more bits than a double has."""
    return re.search(r"char|Char_t|int8|64|long", column.type) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_uproot_reads_what_it_can(files, seed):
    with uproot.open(files[seed]) as file:
        found = file["Events"]
        # Leaves of arrays have their dimensions in their names.
        paths = {path.rpartition("/")[2].partition("[")[0]: path for path in found.keys(recursive=True)}
        for name, (values, of) in branches_of(seed).items():
            if has_sizes(seed, values, of):
                continue
            try:
                read = found[paths[name]].array().to_list()
            except Exception:
                if of is not None and of.kind == "numbers":
                    raise
                continue
            if of is None or of.kind != "objects":
                assert_equal(read, values, f"uproot, {name}")
