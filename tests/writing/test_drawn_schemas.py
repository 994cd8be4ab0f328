"""RNTuples of drawn C++ types, nested in each other: RNTupleReader with these types, RDataFrame, uproot, arrowroot."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.command import run_here as run
from tests.judge import root

from . import drawn_types_with_root
from .drawn_types import LINKED, DrawnTable, draw
from .seeds import seeds_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")

SEEDS = seeds_of(30)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[DrawnTable, Path]]:
    """The file of each seed."""
    directory = tmp_path_factory.mktemp("drawn")
    found = {}
    for seed in SEEDS:
        drawn, path = draw(seed), directory / f"{seed}.root"
        layout = ar.Layout("rntuple", types=drawn.types, projections="flat", **drawn.layout)
        ar.write(f"{path}:t", drawn.table, layout=layout)
        found[seed] = drawn, path
    return found


@pytest.fixture(scope="module")
def by_root(
    written: dict[int, tuple[DrawnTable, Path]],
) -> dict[int, tuple[dict[str, str], dict[str, Any]]]:
    """What RNTupleReader and RDataFrame read of each seed's file."""
    asked = [asked_of(path, fields_of(drawn, path), drawn) for drawn, path in written.values()]
    directory = next(iter(written.values()))[1].parent
    found = root.run(drawn_types_with_root.read, directory, LINKED, asked, timeout_s=3000)
    return dict(zip(written, found, strict=True))


def asked_of(
    path: Path, fields: dict[str, tuple[str, list[str]]], drawn: DrawnTable
) -> tuple[str, list[tuple[str, str]], bool]:
    """A file and its fields, as ROOT is asked.

    RDataFrame (6.40) opens none with a bitset, nor with some types in an untyped collection (RNTupleDS::AddField).
    """
    is_framed = "bitset" not in str(drawn.types) and not any("." in column for column in drawn.types)
    return str(path), [(name, kind) for name, (kind, _) in fields.items()], is_framed


def fields_of(drawn: DrawnTable, path: Path) -> dict[str, tuple[str, list[str]]]:
    """The fields that are there: nothing of a fixed list is projected."""
    with ar.open(path) as file:
        shown = file["t"].projections
    return {
        name: field
        for name, field in drawn.fields.items()
        if name in drawn.table.column_names or name in shown
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_come_back(written, seed):
    drawn, path = written[seed]
    with ar.open(path) as file:
        read = file["t"].to_arrow(drawn.table.column_names)
    read.validate(full=True)
    assert read.schema.equals(drawn.table.schema), drawn.types
    for name in drawn.table.column_names:
        assert read[name].to_pylist() == drawn.table[name].to_pylist(), drawn.types


@pytest.mark.parametrize("seed", SEEDS)
def test_root_reads_the_types_that_were_asked_for(written, by_root, seed):
    drawn, path = written[seed]
    for name, (kind, shown) in fields_of(drawn, path).items():
        assert by_root[seed][0][name] == f"[{','.join(shown)}]", (name, kind, drawn.types)


def test_rdataframe_reads_numbers_and_texts_beside_any_others(written, by_root):
    for seed, (_, framed) in by_root.items():
        for name, values in framed.items():
            assert values == written[seed][0].table[name].to_pylist(), (seed, name)
    # Few seeds have others than the number that each has.
    assert sum("n" in framed for _, framed in by_root.values()) >= len(by_root) // 3


def test_a_variant_that_is_none_is_a_missing_optional(tmp_path):
    tags = pa.array([1, 0, 1], pa.int8())
    array = pa.UnionArray.from_sparse(tags, [pa.array([5, 7, 6], pa.int32()), pa.array(["a", "x", None])])
    variant = "std::variant<std::int32_t,std::string>"
    types = {"o": f"std::optional<{variant}>", "p": f"std::unique_ptr<{variant}>"}
    path = str(tmp_path / "t.root")
    ar.write(f"{path}:t", pa.table({"o": array, "p": array}), layout="rntuple", types=types)
    with ar.open(path) as file:
        assert file["t"].to_arrow()["o"].to_pylist() == ["a", 7, None]
    ((found, _),) = root.run(
        drawn_types_with_root.read, tmp_path, LINKED, [(path, list(types.items()), False)]
    )
    assert found == dict.fromkeys(types, '[[1,"a"],[0,7],null]')


@pytest.mark.parametrize("seed", SEEDS)
def test_skims_and_conversions_have_the_types_that_were_read(written, tmp_path, seed):
    drawn, path = written[seed]
    copies = [tmp_path / "skim.root", tmp_path / "picked.root"]
    ar.skim(path, copies[0])
    ar.skim(path, copies[1], filter="n % 2 == 0")
    if "variant" not in str(drawn.types):
        parquet = tmp_path / "t.parquet"
        copies.append(tmp_path / "back.root")
        for line in (f"{path}:t {parquet}", f"{parquet} {copies[-1]}:t --layout rntuple"):
            assert run("convert", *line.split()).returncode == 0
    for copy in copies:
        assert own_types(copy, drawn) == own_types(path, drawn), (copy, drawn.types)
    with ar.open(copies[0]) as file, ar.open(path) as original:
        assert file["t"].projections == original["t"].projections
        for name, source in original["t"].projections.items():
            assert (
                file["t"].to_arrow([name])[name].to_pylist()
                == original["t"].to_arrow([name])[name].to_pylist()
            ), (
                name,
                source,
            )


def own_types(path: Path, drawn: DrawnTable) -> list[tuple[str, str]]:
    """The fields of columns, without those of projected ones, with their types."""
    found: list[tuple[str, str]] = []
    with uproot.open(path) as file:
        records = file["t"].field_records
    is_own: list[bool] = []
    for number, one in enumerate(records):
        is_top = one.parent_field_id == number
        is_own.append(one.field_name in drawn.table.column_names if is_top else is_own[one.parent_field_id])
        if is_own[-1]:
            found.append((one.field_name, one.type_name))
    return found


#: uproot 5.7 reads other values of these: of variants behind the first cluster; lists of one or none; unsigned ones.
#: Of what may be missing in what may be it reads none.
OTHERS_OF_UPROOT = re.compile(r"std::variant|std::unique_ptr|\bchar\b|std::optional<std::optional")


@pytest.mark.parametrize("seed", SEEDS)
def test_uproot_reads_what_it_can(written, seed):
    drawn, path = written[seed]
    with uproot.open(path) as file:
        for name in drawn.table.column_names:
            types = [kind for column, kind in drawn.types.items() if column.partition(".")[0] == name]
            if not OTHERS_OF_UPROOT.search(" ".join(types)):
                read = file["t"].arrays([name])[name].to_list()
                assert in_order(read) == in_order(drawn.table[name].to_pylist()), (name, types)


def in_order(value: Any) -> Any:
    """A value whose records are the values of their members, as uproot has those of pairs."""
    if isinstance(value, dict):
        value = tuple(value.values())
    return type(value)(map(in_order, value)) if isinstance(value, list | tuple) else value


@pytest.mark.long
def test_roots_merger_merges_halves_to_the_table(written, tmp_path):
    """It keeps no attribute set, and with it not the Arrow schema."""
    halves: dict[int, list[str]] = {}
    for seed, (drawn, _) in islice(
        ((seed, one) for seed, one in written.items() if one[0].table.num_rows > 1), 8
    ):
        half, table = drawn.table.num_rows // 2, drawn.table
        layout = ar.Layout("rntuple", types=drawn.types, projections="flat", **drawn.layout)
        halves[seed] = [str(tmp_path / f"{seed}.{number}.root") for number in range(2)]
        for path, part in zip(halves[seed], (table.slice(0, half), table.slice(half)), strict=True):
            with ar.create(path) as file, file.tree("t", table.schema, layout=layout) as new:
                new.append(part)
                new.attributes("notes", {"run": "int32"}).add(range(part.num_rows), {"run": 1})
    paths = {seed: tmp_path / f"{seed}.root" for seed in halves}
    merged = [(str(paths[seed]), halves[seed]) for seed in halves]
    root.run(drawn_types_with_root.merge, tmp_path, LINKED, merged)
    fields = {seed: fields_of(written[seed][0], path) for seed, path in paths.items()}
    asked = [asked_of(path, fields[seed], written[seed][0]) for seed, path in paths.items()]
    found = root.run(drawn_types_with_root.read, tmp_path, LINKED, asked)
    for (seed, path), (values, _) in zip(paths.items(), found, strict=True):
        table = written[seed][0].table
        with ar.open(path) as file:
            tree = file["t"]
            assert tree.attribute_sets == []
            for name in table.column_names:
                read = tree.to_arrow([name])[name].to_pylist()
                assert in_order(read) == in_order(table[name].to_pylist()), (seed, name)
        for name, (_, shown) in fields[seed].items():
            assert values[name] == f"[{','.join(shown)}]", (seed, name)
