"""Objects that ROOT writes, whole and split, object by object and member by member: arrowroot reads what ROOT says."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from .compare import RootFiles, values_of

MACRO = Path(__file__).with_name("write_objects.C")
N_ENTRIES = 40
BRANCHES = ["event.", "deep", "tags", "numbers", "columns", "lorentz", "arrays", "tracks"]
BOOKKEEPING = ("fUniqueID", "fBits", "_typename")


@pytest.fixture(scope="module")
def object_files(tmp_path_factory: pytest.TempPathFactory) -> RootFiles:
    """With a text of JSON for each entry and branch, in turn; ``hollow.root`` has what ROOT stores nothing of."""
    directory = tmp_path_factory.mktemp("objects")
    ways = [(split, mode) for split in (0, 1, 99) for mode in ("members", "objects")]
    calls = [
        ("ar.write", f"{split}_{mode}.root", N_ENTRIES, split, mode == "members") for split, mode in ways
    ]
    *said, _ = root.compiled(directory, MACRO, *calls, ("ar.write_hollow", "hollow.root", N_ENTRIES))
    return RootFiles(directory, dict(zip([f"{split}_{mode}" for split, mode in ways], said, strict=True)))


def expected(files: RootFiles, name: str, branch: str) -> list[Any]:
    return [json.loads(line) for line in files.expected[name][BRANCHES.index(branch) :: len(BRANCHES)]]


def as_arrow(value: Any, kind: pa.DataType, root: Any) -> Any:
    """ROOT's JSON in the shape of an Arrow type."""
    if isinstance(value, dict) and "$ref" in value:
        value = root["maybe"]  # the only object that several pointers share
    if pa.types.is_map(kind):
        if value and not isinstance(value[0], dict):  # a map in a map is written flat
            value = [{"first": k, "second": v} for k, v in zip(value[::2], value[1::2], strict=True)]
        return [
            [as_arrow(p["first"], kind.key_type, root), as_arrow(p["second"], kind.item_type, root)]
            for p in value
        ]
    if pa.types.is_struct(kind):
        if value is None:
            return None
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return {
            f.name: as_arrow(value.get(f.name), f.type, root) for f in fields if f.name not in BOOKKEEPING
        }
    if pa.types.is_fixed_size_list(kind) and isinstance(value, dict):
        value = value["_M_elems"]  # a std::array that is an object
    if hasattr(kind, "value_type"):
        return [as_arrow(item, kind.value_type, root) for item in value or []]
    return value


def without_bookkeeping(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_bookkeeping(v) for k, v in value.items() if k not in BOOKKEEPING}
    return [without_bookkeeping(v) for v in value] if isinstance(value, list) else value


def date(entry: int) -> dict[str, int]:
    """1995-01-01 and some days, 12:45, as TDatime packs it; ROOT's JSON has it as text."""
    return {"fDatime": 1 << 22 | (1 + entry % 20) << 17 | 12 << 12 | 45 << 6}


@pytest.mark.parametrize("mode", ["members", "objects"])
@pytest.mark.parametrize("split", [0, 1, 99])
@pytest.mark.parametrize("branch", ["event.", "deep", "tags", "numbers", "columns", "lorentz", "arrays"])
def test_whole_objects_are_as_root_wrote_them(object_files, split, mode, branch):
    with ar.open(object_files / f"{split}_{mode}.root") as file:
        table = pa.table(file["T"].to_arrow([branch], assemble=True))
    kind = table.schema.field(branch).type
    found = without_bookkeeping(values_of(table, branch))
    wanted = [as_arrow(value, kind, value) for value in expected(object_files, f"{split}_{mode}", branch)]
    assert len(found) == len(wanted) == N_ENTRIES
    for entry, (a, b) in enumerate(zip(found, wanted, strict=True)):
        if branch == "event.":
            b["when"] = date(entry)
        assert a == b, f"entry {entry}"


@pytest.mark.parametrize("mode", ["members", "objects"])
@pytest.mark.parametrize("split", [1, 99])
def test_columns_of_split_objects_are_their_members(object_files, split, mode):
    name = f"{split}_{mode}"
    wrong, n_compared = [], 0
    with ar.open(object_files / f"{name}.root") as file:
        tree = file["T"]
        for column in tree.columns:
            branch, _, member = column.name.partition("/")
            member = member.rpartition("/")[2].removeprefix(branch).removeprefix(".").partition("[")[0]
            wanted = expected(object_files, name, branch)
            try:
                wanted = [member_of(value, member.split(".")) if member else value for value in wanted]
            except KeyError:
                continue  # a member that ROOT's JSON does not have: status bits, counters of items
            table = pa.table(tree.to_arrow([column.name]))
            kind = table.schema.field(0).type
            found = without_bookkeeping(values_of(table, column.name))
            roots = expected(object_files, name, branch)
            wanted = [as_arrow(value, kind, root) for value, root in zip(wanted, roots, strict=True)]
            if member == "when":
                wanted = [date(entry) for entry in range(N_ENTRIES)]
            n_compared += 1
            bad = [(e, a, b) for e, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b]
            if bad:
                wrong.append(f"{column.name}: entry {bad[0][0]}: {bad[0][1]!r:.120}, not {bad[0][2]!r:.120}")
    assert not wrong, "\n".join(wrong)
    assert n_compared > 60


@pytest.mark.parametrize("assemble", [False, True])
def test_what_root_stores_nothing_of_is_named_and_hinders_nothing(
    object_files: RootFiles, assemble: bool
) -> None:
    why = {
        "in_vector": r"ROOT stores nothing of array<double,3> that was split",
        "in_vector._M_elems[3]": r"ROOT stores nothing of array<double,3> that was split",
        "bare.": r"nothing in 'bare\.' can be read: ar::Bare has no members",
    }
    counts = list(range(N_ENTRIES))
    with ar.open(object_files / "hollow.root") as file:
        tree = file["T"]
        for name, reason in why.items():
            with pytest.raises(ar.UnsupportedError, match=reason):
                tree.to_arrow([name], assemble=assemble)
        with pytest.warns(
            ar.UnsupportedColumnWarning, match=r"1 branch .*: in_vector/in_vector\._M_elems"
        ) as caught:
            table = tree.to_arrow(assemble=assemble)
        assert [warning.filename for warning in caught] == [__file__]
        wanted = [{"x": count} for count in counts] if assemble else counts
        assert values_of(table, table.column_names[0]) == wanted
        in_map = ["in_map"] if assemble else ["in_map/in_map.first", "in_map/in_map.second._M_elems[2]"]
        assert table.column_names[1:] == ["alone", *in_map, "beside"]
        assert values_of(table, "alone") == [[0, count, 0] for count in counts]
        assert values_of(table, "beside") == counts
        assert len(tree.to_arrow(["bare."], raw=True)["bare."][0].as_py()) == 6


def test_files_in_a_row_have_whole_objects_and_bytes_too(object_files: RootFiles) -> None:
    files = [f"{object_files.directory}/{name}.root:T" for name in ("99_members", "99_objects")]
    trees = [ar.open(file.removesuffix(":T"))["T"] for file in files]
    for column, option in (("numbers", "assemble"), ("lorentz", "raw")):
        found = ar.scan(files, columns=[column], **{option: True}).read_all()
        wanted = [pa.table(tree.to_arrow([column], **{option: True})) for tree in trees]
        assert found.equals(pa.concat_tables(wanted))
    with pytest.raises(ar.InvalidRequestError, match="not with a filter"):
        ar.scan(files, assemble=True, filter="last > 1")


def test_whole_objects_are_the_same_split_or_not(object_files: RootFiles) -> None:
    split, unsplit = (f"{object_files.directory}/{name}_members.root:T" for name in ("99", "0"))
    for files in ([split, unsplit], [unsplit, split]):
        found = ar.scan(files, columns=["numbers"], assemble=True).read_all()
        wanted = [ar.open(f.removesuffix(":T"))["T"].to_arrow(["numbers"], assemble=True) for f in files]
        assert wanted[0].schema.equals(wanted[1].schema)
        assert found.equals(pa.concat_tables(map(pa.table, wanted)))
    for order in ([split, unsplit], [unsplit, split]):
        for options in ({}, {"raw": True}):
            with pytest.raises(ar.SchemaMismatchError, match=r"column 'numbers.*' is "):
                ar.scan(order, columns=["numbers"], **options)
        with pytest.raises(ar.SchemaMismatchError):
            ar.partitions(order, columns=["numbers"])
    with pytest.raises(ar.SchemaMismatchError, match=r"hollow.root: column 'numbers/.*' is missing"):
        ar.scan([split, f"{object_files.directory}/hollow.root:T"], columns=["numbers"], assemble=True)
    with pytest.raises(ar.SchemaMismatchError, match=r"hollow.root: column 'numbers' is missing"):
        ar.scan([unsplit, f"{object_files.directory}/hollow.root:T"], columns=["numbers"], assemble=True)


def test_pieces_have_whole_objects_too(object_files: RootFiles) -> None:
    file = f"{object_files.directory}/99_members.root"
    pieces = ar.partitions(file, "T", ["event.", "deep"], target=1, assemble=True)
    alone = ar.partitions(file, "T", ["deep"], target=1)
    assert pieces[0].columns == ("event.", "deep")
    assert sum(piece.memory_bytes for piece in pieces) > sum(piece.memory_bytes for piece in alone)
    wanted = pa.table(ar.open(file)["T"].to_arrow(["event.", "deep"], assemble=True))
    found = pa.concat_tables(pa.table(copy.deepcopy(piece).read()) for piece in pieces)
    assert found.equals(wanted)
    assert pa.types.is_struct(found.schema.field("event.").type)
    assert pa.table(pieces[0].scan()).schema == wanted.schema
    with pytest.raises(ar.InvalidRequestError, match="not with a filter"):
        ar.partitions(file, "T", assemble=True, filter="deep > 1")
    pytest.importorskip("dask_awkward")
    import arrowroot.dask as ard

    array = ard.awkward(file, "T", ["event.", "deep"], target=1, assemble=True)
    whole = ar.open(file)["T"].to_awkward(["event.", "deep"], assemble=True)
    assert array.compute().to_list() == whole.to_list()
    assert array["event."].colour.compute().to_list() == whole["event."].colour.to_list()


def test_split_maps_of_arrays_are_maps_again(object_files: RootFiles) -> None:
    def point(x: float = 0, y: float = 0) -> dict[str, float]:
        return {"x": x, "y": y, "n": 0}

    with ar.open(object_files / "hollow.root") as file:
        found = values_of(file["T"].to_arrow(["in_map"], assemble=True), "in_map")
    for entry, pairs in enumerate(found):
        assert pairs == [[entry, [point(), point(x=entry)]], [entry + 2, [point(y=entry), point()]]]


def member_of(value: Any, path: list[str]) -> Any:
    """A member of an object, or of each object of a collection."""
    for name in path:
        if isinstance(value, dict) and value.get("_typename") == "TClonesArray":
            value = value["arr"]
        if isinstance(value, list):
            value = [item[name] for item in value]
        elif isinstance(value, dict):
            value = value[name]
        else:
            raise KeyError(name)
    return value
