"""What was written comes back as it was: each type of Arrow, exactly, and the parts of a column by their own names."""

from __future__ import annotations

import base64
import json
import os
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._writing import notes
from tests.judge import root
from tests.tables import every_kind

from .expected import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LAYOUTS = ("ttree", "rntuple")

INT = pa.int32()
MEMBERS = pa.struct([("a", INT), ("b.c", pa.string()), ("d", pa.list_(pa.float32()))])
#: Integers, texts with dots in their names, lists.
ONE = {"a": 1, "b.c": "x", "d": [1.0]}
TWO = {"a": -2, "b.c": "", "d": []}
#: Three entries of each kind, one after the other, with what is missing.
KINDS = every_kind(3)


def exactly(table: pa.Table, path: Path, layout: str, **options: Any) -> pa.Table:
    """Write a table and read it: the schema is the same, and so are the values."""
    schema = table.schema
    ar.write(f"{path}:T", table, schema=schema, layout=layout, **options)
    with ar.open(str(path)) as file:
        tree = file["T"]
        assert tree.schema.equals(schema, check_metadata=True)
        assert tree.choose() == schema.names
        read = tree.to_arrow()
    assert read.schema.equals(schema, check_metadata=True), read.schema
    read.validate(full=True)
    assert read.num_rows == table.num_rows
    for name in schema.names:
        assert shown(read[name]) == shown(table[name]), name
    return read


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_type_comes_back_exactly_with_its_metadata(tmp_path, layout):
    fields = [
        field.with_metadata({"ARROW:extension:name": "a.b"} if place % 2 else None)
        for place, field in enumerate(KINDS.schema)
    ]
    schema = pa.schema(fields, metadata={"key": "value", "ARROW:schema": "mine", "é": ""})
    table = KINDS.cast(schema)
    parts = [table[:1], table[:0], table[1:], table[2:]]
    for number, part in enumerate((table, *parts, table[1:2])):
        exactly(part, tmp_path / f"{number}.root", layout)
    exactly(pa.concat_tables(parts), tmp_path / "parts.root", layout, flush=2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_batches_and_chosen_entries_are_put_together_as_the_whole_is(tmp_path, layout, n_threads):
    table = pa.concat_tables([KINDS] * 50)
    ar.write(f"{tmp_path}/t.root:T", table, schema=table.schema, layout=layout, flush=7)
    chosen = [149, 3, 3, 77]
    with ar.open(f"{tmp_path}/t.root") as file:
        tree = file["T"]
        batches = list(tree.scan(batch_size="2 kB", n_threads=n_threads))
        assert len(batches) > 2
        whole = pa.Table.from_batches(batches)
        some = tree.to_arrow(entries=np.array(chosen), n_threads=n_threads)
    for name in KINDS.column_names:
        values = shown(table[name])
        assert shown(whole[name]) == values, name
        assert shown(some[name]) == [values[entry] for entry in chosen], name
    assert some.schema.equals(table.schema)


def test_a_union_that_is_none_inside_of_a_record_comes_back(tmp_path):
    """It says by its alternatives that it is missing: its field is none that takes nulls."""
    values = [pa.array([1, None], pa.int64()), pa.array(["a"])]
    union = pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), values)
    field = pa.field("v", union.type, nullable=False)
    table = pa.table({"x": pa.StructArray.from_arrays([union], fields=[field])})
    ar.write(f"{tmp_path}/t.root:E", table, layout="rntuple")
    with ar.open(tmp_path / "t.root") as file:
        assert file["E"].to_arrow().equals(table)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nulls_are_stored_wherever_data_without_a_schema_have_them(tmp_path, layout):
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["a", None]))
    table = pa.concat_tables([KINDS]).append_column("nulls in a dictionary", dictionary)
    ar.write(f"{tmp_path}/t.root:T", table, layout=layout)
    with ar.open(f"{tmp_path}/t.root") as file:
        read = file["T"].to_arrow()
    for name in table.column_names:
        assert shown(read[name]) == shown(table[name]), name


def muons() -> pa.Table:
    pt = pa.array([[10.5, 20.0], [], [30.0]], pa.list_(pa.float32()))
    charge = pa.array([[1, -1], [], [1]], pa.list_(pa.int8()))
    run = pa.array([1, None, 3], pa.int64())
    return pa.table(
        {"Muon_pt": pt, "run": run, "Muon_charge": charge, "S": pa.array([ONE, None, TWO], MEMBERS)}
    )


def test_parts_of_columns_in_a_tree_have_their_names(tmp_path):
    table = muons()
    ar.write(f"{tmp_path}/muons.root:T", table)
    with ar.open(f"{tmp_path}/muons.root") as file:
        tree = file["T"]
        assert tree.choose() == table.column_names
        assert tree["nMuon"].to_numpy().tolist() == [2, 0, 1]
        assert tree.to_arrow(["run_isvalid", "S_a", "run"]).to_pydict() == {
            "run_isvalid": [True, False, True], "S_a": [1, 0, -2], "run": [1, None, 3],
        }  # fmt: skip
        assert "nMuon" in tree
        assert tree.to_arrow(["Muon_pt"], filter="nMuon > 0").to_pydict() == {
            "Muon_pt": [[10.5, 20.0], [30.0]]
        }
        assert tree.to_arrow(["Muon_p*"]).column_names == ["Muon_pt"]
        with pytest.raises(ar.NoSuchColumnError, match="Muon_pt"):
            tree["Muon_py"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_column_reads_its_parts_alone(tmp_path, layout):
    ar.write(f"{tmp_path}/muons.root:T", muons(), layout=layout)
    with ar.open(f"{tmp_path}/muons.root") as file:
        tree = file["T"]
        some, everything = tree.scan(["run", "Muon_pt"]).plan, tree.scan().plan
        assert 0 < some.payload_bytes < everything.payload_bytes
        sizes = [column.stored_bytes for column in tree.columns]
        assert all(size > 0 for size in sizes)
        assert max(sizes) <= tree.stored_bytes  # of an RNTuple not their sum: equal pages share their bytes


@pytest.mark.parametrize("layout", LAYOUTS)
def test_texts_come_as_bytes_where_they_are_asked_for(tmp_path, layout):
    kinds = [pa.string(), pa.string_view(), pa.list_(pa.string()), pa.dictionary(pa.int32(), pa.string())]
    texts = [["a", None, "é"], ["a", None, "b" * 40], [["a", None], None, ["b", ""]], ["a", None, "a"]]
    table = pa.table([*map(pa.array, texts, kinds)], names=["string", "view", "list", "dictionary"])
    ar.write(f"{tmp_path}/t.root:T", table, schema=table.schema, layout=layout)
    with ar.open(f"{tmp_path}/t.root") as file:
        read = file["T"].to_arrow(strings="binary")
    assert read.schema.types == [
        pa.binary(), pa.binary_view(), pa.list_(pa.binary()), pa.dictionary(pa.int32(), pa.binary()),
    ]  # fmt: skip
    assert read["string"].to_pylist() == [b"a", None, "é".encode()]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_too_many_values_for_a_dictionary_in_one_batch_are_told(tmp_path, layout):
    keys = pa.array(range(100), pa.int8())
    parts = [pa.DictionaryArray.from_arrays(keys, [f"{n}-{k}" for k in range(100)]) for n in range(3)]
    table = pa.table({"x": pa.chunked_array(parts)})
    ar.write(f"{tmp_path}/t.root:T", table, schema=table.schema, layout=layout, flush=100)
    with ar.open(f"{tmp_path}/t.root") as file:
        with pytest.raises(
            ar.InvalidRequestError, match=r"300 different values in a batch.*smaller batch size"
        ):
            file["T"].to_arrow()
        batches = [batch.column(0).to_pylist() for batch in file["T"].scan(batch_size="1 kB")]
    assert [value for batch in batches for value in batch] == table["x"].to_pylist()


def test_a_tree_that_reads_the_same_without_a_record_has_none(tmp_path):
    schema = pa.schema(
        [pa.field("x", pa.float32(), nullable=False), pa.field("text", pa.string(), nullable=False)]
    )
    table = pa.table([[1.0, 2.0], ["a", ""]], schema=schema)
    for layout in LAYOUTS:
        exactly(table, tmp_path / f"{layout}.root", layout)
    assert b"ARROW" not in (tmp_path / "ttree.root").read_bytes()
    assert b"ARROW" not in (tmp_path / "rntuple.root").read_bytes()


FLAT = pa.schema([pa.field("x", pa.int32(), nullable=False), pa.field("y", pa.int32(), nullable=False)])


def record(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


WRITE_RECORDED = r"""
#include <TFile.h>
#include <TNamed.h>
#include <TTree.h>

void write_recorded(const char *path, const char *text)
{
   TFile file(path, "recreate");
   TTree tree("T", "");
   int x, y;
   tree.Branch("x", &x, "x/I"); tree.Branch("y", &y, "y/I");
   for (x = 0; x < 3; ++x) { y = 10 * x; tree.Fill(); }
   tree.GetUserInfo()->Add(new TNamed("ARROW:schema", text));
   tree.Write();
}
"""


def test_a_record_that_does_not_fit_is_a_warning(tmp_path):
    texts = {
        "dates": record(pa.schema([pa.field("y", pa.date32(), nullable=False)])),
        "missing": record(pa.schema([pa.field("z", pa.int32(), nullable=False)])),
        "unions": record(pa.schema([pa.field("x", pa.dense_union([pa.field("a", pa.int8())]))])),
        "noise": "not base64!",
        "short": record(FLAT)[:20],
        "lists": record(
            pa.schema([pa.field("x", pa.list_(pa.field("item", INT, nullable=False)), nullable=False)])
        ),
    }
    calls = (("write_recorded", f"{name}.root", text) for name, text in texts.items())
    root.interpreted(tmp_path, WRITE_RECORDED, *calls)
    with ar.open(f"{tmp_path}/dates.root") as file:
        # Columns that somebody added come behind those of the record.
        read = file["T"].to_arrow()
        assert read.schema == pa.schema([pa.field("y", pa.date32(), nullable=False), FLAT.field("x")])
        assert read["y"].cast(pa.int32()).to_pylist() == [0, 10, 20]
    for name in ("missing", "unions", "noise", "short"):
        with ar.open(f"{tmp_path}/{name}.root") as file:
            with pytest.warns(ar.RecordedSchemaWarning, match="ARROW:schema is not used"):
                tree = file["T"]
            assert tree.to_arrow().schema == FLAT
    with ar.open(f"{tmp_path}/lists.root") as file:
        with pytest.raises(ar.CorruptFileError, match="not as the recorded Arrow schema says"):
            file["T"].to_arrow(["x"])
        assert file["T"].to_arrow(["y"])["y"].to_pylist() == [0, 10, 20]


#: Columns that a tree has without a record.
NATURAL = pa.table(
    {
        "i": pa.array(range(50), INT),
        "u": pa.array([i % 256 for i in range(50)], pa.uint8()),
        "l": pa.array(range(9, 59)),
        "bytes": pa.array(
            [[i] * 16 for i in range(50)], pa.list_(pa.field("item", pa.uint8(), nullable=False), 16)
        ),
    },
    pa.schema(
        [
            pa.field("i", INT, nullable=False),
            pa.field("u", pa.uint8(), nullable=False),
            pa.field("l", pa.int64(), nullable=False),
            pa.field("bytes", pa.list_(pa.field("item", pa.uint8(), nullable=False), 16), nullable=False),
        ]
    ),
)


def planted(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a tree whose record somebody else has made."""
    monkeypatch.setattr(notes, "SCHEMA_RECORD", "another")
    with ar.create(path) as file:
        file.tree("T", NATURAL.schema, user_info={"ARROW:schema": text}).append(NATURAL)
    return path


def retyped(*types: pa.DataType, metadata: dict[str, Any] | None = None) -> str:
    fields = zip(NATURAL.column_names, (*types, *NATURAL.schema.types[len(types) :]), strict=True)
    return record(
        pa.schema([pa.field(name, kind, nullable=False) for name, kind in fields], metadata=metadata)
    )


@pytest.mark.parametrize(
    ("kinds", "column"),
    [
        ([INT, pa.uint8(), pa.int64(), pa.decimal128(3, 1)], "bytes"),
        ([pa.decimal32(1, 0)], "i"),
        ([INT, pa.uint8(), pa.decimal64(1, 0)], "l"),
        ([INT, pa.uint8(), pa.date64()], "l"),
        ([pa.time32("s")], "i"),
    ],
)
def test_values_that_a_type_has_not_are_damage_and_are_read_as_they_are_stored(
    tmp_path, monkeypatch, kinds, column
):
    if column == "i":
        values = NATURAL.set_column(
            0, NATURAL.schema.field(0), pa.array([90_000 + i for i in range(50)], INT)
        )
        monkeypatch.setitem(globals(), "NATURAL", values)
    path = planted(tmp_path / "f.root", retyped(*kinds), monkeypatch)
    with ar.open(path) as file:
        tree = file["T"]
        with pytest.raises(ar.CorruptFileError, match=f"{column}.*out of the range of .*raw=True"):
            tree.to_arrow([column])
        assert tree.to_arrow([column], raw=True)[column].length() == 50
        others = [name for name in NATURAL.column_names if name != column]
        assert tree.to_arrow(others).equals(NATURAL.select(others))


@pytest.mark.parametrize(
    "name", ["arrow.json", "arrow.opaque", "arrow.fixed_shape_tensor", "arrow.bool8", "arrow.uuid"]
)
def test_an_extension_type_that_pyarrow_does_not_take_is_our_error(tmp_path, monkeypatch, name):
    metadata = {"ARROW:extension:name": name, "ARROW:extension:metadata": '{"shape":'}
    fields = [field.with_metadata(metadata) if field.name == "i" else field for field in NATURAL.schema]
    path = planted(tmp_path / "f.root", record(pa.schema(fields)), monkeypatch)
    with ar.open(path) as file:
        tree = file["T"]
        for read in (
            lambda: tree.schema,
            lambda: tree.to_arrow(["i"]),
            lambda: list(tree.scan(["i"])),
            tree["i"].to_arrow,
            lambda: tree.to_arrow(["i"], filter="i > 3"),
            lambda: tree.scan(["i"]).schema,
        ):
            with pytest.raises(ar.CorruptFileError, match=r"f\.root.*pyarrow does not take: .*raw=True"):
                read()
        assert tree.to_arrow(["i"], raw=True)["i"][7].as_py() == (7).to_bytes(4, "big")
        assert tree.to_arrow(["l"]).equals(NATURAL.select(["l"]))


DESCRIBED = {"name": "i", "field_name": "i", "pandas_type": "int64", "numpy_type": "int64", "metadata": None}
PANDAS = {"index_columns": ["i"], "column_indexes": [], "columns": [DESCRIBED], "pandas_version": "2"}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[" * 100_000,
        json.dumps({**PANDAS, "index_columns": None}),
        json.dumps({**PANDAS, "index_columns": ["nope"]}),
        json.dumps({**PANDAS, "index_columns": [{"kind": "range"}]}),
        json.dumps({**PANDAS, "columns": [None]}),
        json.dumps({**PANDAS, "columns": [{**DESCRIBED, "numpy_type": "nonsense[x]"}], "index_columns": []}),
        json.dumps({**PANDAS, "attributes": 5}),
    ],
)
def test_metadata_of_pandas_that_make_no_sense_are_a_warning(tmp_path, monkeypatch, text):
    path = planted(tmp_path / "f.root", retyped(metadata={"pandas": text}), monkeypatch)
    with ar.open(path) as file:
        with pytest.warns(
            ar.RecordedSchemaWarning, match=r"recorded metadata of pandas are not used: .{,230}$"
        ):
            frame = file["T"].to_pandas(["i", "l"])
        assert frame.to_dict("list") == NATURAL.select(["i", "l"]).to_pydict()


def damaged_records(n: int) -> Iterator[str]:
    """Return damaged messages, and types that the columns cannot have."""
    right = base64.b64decode(retyped(metadata={"a": "b"}))
    kinds = [kind for kind in KINDS.schema.types if kind != pa.null()]
    for number in range(n):
        chance = random.Random(f"record {number}")
        if number % 3 == 0:
            yield retyped(
                *(chance.choice(kinds) for _ in NATURAL.schema), metadata={"arrowroot:validity": "10" * 9}
            )
            continue
        message = bytearray(right)
        for _ in range(chance.choice([1, 1, 2, 4])):
            at, n_bytes = chance.randrange(len(message)), chance.choice([1, 1, 2, 4])
            message[at : at + n_bytes] = chance.choice(
                [bytes(n_bytes), b"\xff" * n_bytes, chance.randbytes(n_bytes)]
            )
        yield base64.b64encode(message).decode()


@pytest.mark.filterwarnings("ignore::arrowroot.RecordedSchemaWarning")
def test_a_damaged_record_gives_valid_values_or_our_errors(tmp_path, monkeypatch):
    n_errors = 0
    for text in damaged_records(4000 if os.environ.get("ARROWROOT_SOAK") else 90):
        with ar.open(planted(tmp_path / "f.root", text, monkeypatch)) as file:
            tree = file["T"]
            for name in tree.column_names:
                try:
                    for batch in tree.scan([name]):
                        batch.validate(full=True)
                        assert batch.num_rows == 50
                except ar.ArrowrootError:
                    n_errors += 1
    assert n_errors > 10


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_chain_has_the_flags_of_its_first_file(tmp_path, layout):
    kind = pa.struct([pa.field("a", pa.list_(pa.int8()))])
    some = pa.array([{"a": [1, None]}, None, {"a": None}], kind)
    none = pa.array([{"a": [1]}, {"a": []}], kind)
    strict = pa.struct([pa.field("a", pa.list_(pa.field("item", pa.int8(), nullable=False)), nullable=False)])
    maps = [
        pa.array([[("k", None)], None], pa.map_(pa.string(), pa.int8())),
        pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int8())),
    ]
    # pyarrow picks no values out of views.
    views = [pa.array(values, pa.string_view()) for values in (["a", None], [None, "b"])]
    view = pa.field("v", views[0].type)
    with_some = pa.schema([pa.field("x", kind), pa.field("m", maps[0].type), view])
    without = pa.schema(
        [
            pa.field("x", strict, nullable=False),
            pa.field("m", pa.map_(pa.string(), pa.field("value", pa.int8(), nullable=False)), nullable=False),
            view,
        ],
        metadata={"made by": "me"},
    )
    tables = {
        "some": (pa.table([some[:2], maps[0], views[0]], schema=with_some), with_some),
        "none": (pa.table([none, maps[1], views[1]], names=["x", "m", "v"]), without),
        "none of some": (pa.table([none, maps[1], views[1]], names=["x", "m", "v"]), with_some),
    }
    for name, (table, schema) in tables.items():
        ar.write(f"{tmp_path}/{name}.root:T", table, schema=schema, layout=layout)

    def files(*names):
        return ar.scan([f"{tmp_path}/{name}.root" for name in names], tree="T")

    for names in (("some", "none"), ("none", "none of some", "none")):
        read = files(*names).read_all()
        assert read.schema.equals(tables[names[0]][1], check_metadata=True)
        read.validate(full=True)
        assert read.to_pylist() == [row for name in names for row in tables[name][0].to_pylist()]
        assert all(batch.schema.equals(read.schema) for batch in files(*names))
    with pytest.raises(
        ar.SchemaMismatchError, match=r"some\.root: column 'x' has missing values.*none\.root"
    ):
        files("none", "some").read_all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_filters_name_members_as_they_were_written(tmp_path, layout):
    table = pa.table(
        {
            "maybe": pa.array([{"a": 1}, None, {"a": 3}]),
            "plain": pa.array([{"a": 1}, {"a": 2}, {"a": 3}]),
            "many": pa.array([[{"a": 1}, None], None, [{"a": 3}]]),
            "half": pa.array([{"a": value} for value in np.array([0.1, 2, 3], "f2")]),
        },
    ).replace_schema_metadata({"key": "value"})
    ar.write(f"{tmp_path}/members.root:T", table, layout=layout)
    tree = ar.open(tmp_path / "members.root")["T"]
    for condition in (
        "maybe.a > 2",
        "plain.a == 3",
        "any(many.a == 3)",
        "half.a == 3",
        "maybe.a + plain.a > 4",
    ):
        found = tree.to_arrow(filter=condition)
        assert found.equals(table.slice(2)), condition
        assert found.schema.metadata == {b"key": b"value"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_names_of_letters_and_digits_are_those_of_other_readers(layout: str, tmp_path: Path) -> None:
    import uproot

    names = ["EF_xe40_noMu", "L1_XE40", "EF_xe80_", "cut_x10_b", "a_u2e_b"]
    path = tmp_path / "names.root"
    ar.write(f"{path}:T", pa.table({name: [1, 2] for name in names}), layout=layout)
    with uproot.open(path) as file:
        assert sorted(file["T"].keys()) == sorted(names)
    with ar.open(path) as file:
        assert file["T"].to_arrow().column_names == names


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
@pytest.mark.parametrize(
    "is_missing", [[False, True, False], [True, True, True], [True, False, False]], ids=str
)
def test_records_that_may_be_missing_hold_fixed_lists_of_records(tmp_path, layout, is_missing):
    """Of a record that is missing no items are stored."""
    inner = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    fixed = pa.list_(pa.field("item", inner, nullable=False), 2)
    kind = pa.struct([pa.field("r", pa.struct([pa.field("l", fixed)]), nullable=False), ("n", pa.int32())])
    rows = [
        None if missing else {"r": {"l": [{"a": at}, {"a": -at}]}, "n": at or None}
        for at, missing in enumerate(is_missing)
    ]
    table = pa.table(
        {"s": pa.array(rows, kind), "v": pa.array([rows[:at] for at in range(3)], pa.list_(kind))}
    )
    ar.write(f"{tmp_path}/f.root:t", table, layout=layout)
    assert ar.open(tmp_path / "f.root")["t"].to_arrow().equals(table)
