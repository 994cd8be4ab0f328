"""Records of classes in RNTuples: described as C++ programs need them, and kept with all that fields say of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot._layout.types import recorded_in, without_types
from arrowroot._writing.kept_types import with_types
from tests.judge import root

from . import classes_of_ntuples_with_root

if TYPE_CHECKING:
    from collections.abc import Callable

MACRO = Path(__file__).with_name("write_classes.C")
N_ENTRIES = 8


def written(source: str, copy: str) -> None:
    with ar.open(source) as file:
        ar.write(f"{copy}:t", file["t"], layout="rntuple")


def skimmed(source: str, copy: str) -> None:
    ar.skim(source, copy, filter="number >= 0")


def merged(source: str, copy: str) -> None:
    ar.merge(copy, [source])


COPIES: dict[str, Callable[[str, str], None]] = {"write": written, "skim": skimmed, "merge": merged}


class Told(NamedTuple):
    fields: str
    classes: str
    values: str


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """Return the answers of ROOT about its own file of classes, and about each copy."""
    directory = tmp_path_factory.mktemp("classes")
    original = str(directory / "original.root")
    root.compiled(directory, MACRO, ("kept.write", original, N_ENTRIES))
    paths = {"original": original}
    for name, copy in COPIES.items():
        paths[name] = str(directory / f"{name}.root")
        copy(original, paths[name])
    calls = [(f"kept.{what}", path) for path in paths.values() for what in ("fields", "classes", "read")]
    found = iter(root.compiled(directory, MACRO, *calls, complaints_but=root.SAID_OF_ITS_OWN))
    return {name: Told(next(found), next(found), next(found)) for name in paths}


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_has_the_fields_the_classes_and_the_objects_of_its_source(
    copy: str, told: dict[str, Told]
) -> None:
    original = told["original"]
    assert "one.:_0|kept::Particle||4294967295|" in original.fields
    assert "narrow|std::vector<double>|std::vector<Double32_t>|" in original.fields
    assert told[copy].values == original.values
    assert told[copy].fields.splitlines() == original.fields.splitlines()
    assert sorted(told[copy].classes.splitlines()) == sorted(original.classes.splitlines())


def required(kind: pa.DataType, name: str) -> pa.Field:
    return pa.field(name, kind, nullable=False)


HITS = pa.list_(required(pa.float32(), "item"))
PLAIN = pa.struct([required(pa.float32(), "x"), required(pa.int32(), "y"), required(HITS, "hits")])
VALUES = [
    [{"x": 1.5, "y": 2, "hits": [3.0, 4.0]}],
    [],
    [{"x": -1.0, "y": 0, "hits": []}, {"x": 0.25, "y": 7, "hits": [1.0]}],
]


def write(path: str, name: str) -> None:
    """Write lists of records of a class, and one record beside."""
    one = pa.array([(values or [{"x": 0.0, "y": 9, "hits": []}])[0] for values in VALUES], PLAIN)
    data = pa.table(
        [pa.array(VALUES, pa.list_(required(PLAIN, "item"))), one],
        schema=pa.schema([required(pa.list_(required(PLAIN, "item")), "v"), required(PLAIN, "s")]),
    )
    ar.write(f"{path}:t", data, layout="rntuple", types={"v": f"std::vector<{name}>", "s": name})


def test_a_class_that_is_asked_for_is_the_one_of_a_program(tmp_path: Path) -> None:
    """Its checksum is that of the members, so that a program that has the class knows it again."""
    path = str(tmp_path / "plain.root")
    write(path, "kept::Plain")
    read, fields, classes, original = root.compiled(
        tmp_path,
        MACRO,
        ("kept.read_plain", path),
        ("kept.fields", path),
        ("kept.classes", path),
        ("kept.checksum",),
        complaints_but=root.SAID_OF_ITS_OWN,
    )
    assert read.splitlines() == ["1.5 2 3 4; ", "", "-1 0; 0.25 7 1; "]
    assert f"s|kept::Plain||4294967295|{original}|3" in fields.splitlines()
    assert classes.startswith(f"kept::Plain 1 {original} TStreamerBasicType:x:float:5:4:0 ")


def test_a_program_without_the_class_reads_its_members(tmp_path: Path) -> None:
    path = str(tmp_path / "plain.root")
    write(path, "unknown::Plain")
    columns = {"s.x": "float", "s.y": "std::int32_t", "v.y": "ROOT::VecOps::RVec<std::int32_t>"}
    # ROOT says the first of its own files, too.
    but = ("no dictionary for class unknown::Plain", *root.SAID_OF_ITS_OWN)
    found = root.run(classes_of_ntuples_with_root.members, tmp_path, path, columns, complaints_but=but)
    assert found["viewed"] == [1.5, 2, 0.0, 9, -1.0, 0]
    assert found["taken"] == {"s.x": [1.5, 0.0, -1.0], "s.y": [2, 9, 0], "v.y": [[2], [], [0, 7]]}
    with uproot.open(path) as file:
        assert file["t"].arrays(["v"])["v"].to_list() == VALUES
        assert "unknown::Plain" in file.file.streamers
    with ar.open(path) as file:
        assert file["t"].to_arrow()["v"].to_pylist() == VALUES


def test_an_enumeration_of_a_class_template_is_kept_by_skims_also_in_classes(tmp_path: Path) -> None:
    kind = "shop::Box<int,Q<float> >::Kind"
    record = pa.struct([pa.field("k", pa.int32(), nullable=False)])
    fields = {"x": pa.int32(), "v": pa.list_(pa.field("item", pa.int32(), nullable=False)), "s": record}
    schema = pa.schema([pa.field(name, of, nullable=False) for name, of in fields.items()])
    data = pa.table({"x": [1, 2], "v": [[1], [2, 0]], "s": [{"k": 1}, {"k": 2}]}, schema=schema)
    types = {"x": kind, "v": f"std::vector<{kind}>", "s": "shop::Plain", "s.k": kind}
    ar.write(f"{tmp_path}/a.root:t", data, schema=schema, layout="rntuple", types=types)
    ar.skim(tmp_path / "a.root", tmp_path / "b.root", filter="x > 0")
    for name in ("a", "b"):
        with ar.open(tmp_path / f"{name}.root") as file:
            found = {one.path: one.type_name for one in file["t"].branches}
            assert found == types
            assert file["t"].to_arrow().to_pydict() == data.to_pydict()
        with uproot.open(tmp_path / f"{name}.root") as file:
            (element,) = file.file.streamers["shop::Plain"][1].elements
        assert (element.typename, element.member("fType")) == (kind, 3)


def test_members_of_alternatives_have_the_types_that_are_asked_for_and_keep_them(tmp_path: Path) -> None:
    hit = pa.struct([pa.field("s", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False)])
    numbers = pa.array([1, 2], pa.int32())
    hits = pa.array([{"s": [3, 4]}, {"s": []}], hit)
    codes = pa.array([1, 0, 2, 1], pa.int8())
    members = [pa.nulls(1), numbers, hits]
    either = pa.UnionArray.from_dense(codes, pa.array([0, 0, 0, 1], pa.int32()), members)
    data = pa.table({"one": either, "several": pa.ListArray.from_arrays([0, 1, 4, 4, 4], either)})
    types = {
        "one": "std::variant<std::int32_t,shop::Hit>",
        "several": "std::vector<std::variant<std::int32_t,shop::Hits>>",
        "one.1.s": "std::set<std::int32_t>",
        "several.1.s": "std::multiset<std::int32_t>",
    }
    ar.write(f"{tmp_path}/a.root:t", data, layout="rntuple", types=types)
    written(f"{tmp_path}/a.root", f"{tmp_path}/b.root")
    for name in ("a", "b"):
        with ar.open(tmp_path / f"{name}.root") as file:
            asked = file["t"].asked_types()
            assert {path: re.sub("[@#][0-9a-f]+", "", asked[path]) for path in types} == types
            found = file["t"].to_arrow()
            kept = with_types(found.schema, file["t"])
        assert found.to_pydict() == data.to_pydict()
        # In the metadata of the fields, from which they can be taken away.
        paths = {f"{one.name}.{path}" for one in kept for path, _ in recorded_in(one, "")}
        assert {path for path in paths if path.endswith("s")} == {"one.1.s", "several.1.s"}
        assert without_types(kept).equals(found.schema, check_metadata=True)
    with pytest.raises(ar.InvalidRequestError, match='it has no part "s" whose type may be said'):
        ar.write(f"{tmp_path}/c.root:t", data, layout="rntuple", types={**types, "one.s": types["one.1.s"]})
