"""What people give to be written becomes Arrow: kinds of data, schemas, batches in the schema of their table."""

import datetime as dt
import math
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._writing.conformer import Conformer
from arrowroot._writing.counters import Known, counters_of
from arrowroot._writing.data import parts_of
from arrowroot._writing.schema import inferred, nullable_as_found, schema_of
from tests.recorded import session
from tests.tables import Stream


def table_of(data, **options):
    """Return all of some data in the schema that its table would have."""
    batches, schema = [], None
    for part in parts_of(data, "t", **options):
        parts = list(part.batches)
        sample = part.table if part.table is not None else pa.Table.from_batches(parts[:1], part.schema)
        schema = schema or inferred(part.schema, part, sample)
        batches += [one for batch in parts for one in Conformer(schema, "t").batches(batch, 0)]
    return pa.Table.from_batches(
        [pa.RecordBatch.from_arrays(b.columns, names=schema.names) for b in batches]
    ), schema


LISTS = [[1.5], [], [2.5, 3.5]]


def as_pandas():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"x": np.arange(3, dtype=np.int32), "v": LISTS, "s": ["a", "", "ccc"]})


def as_polars():
    pl = pytest.importorskip("polars")
    return pl.DataFrame({"x": np.arange(3, dtype=np.int32), "v": LISTS, "s": ["a", "", "ccc"]})


def as_awkward():
    ak = pytest.importorskip("awkward")
    return ak.zip(
        {"x": np.arange(3, dtype=np.int32), "v": ak.Array(LISTS), "s": ["a", "", "ccc"]}, depth_limit=1
    )


def as_arrow():
    return pa.table({"x": pa.array([0, 1, 2], pa.int32()), "v": LISTS, "s": ["a", "", "ccc"]})


class Array:
    """An object with the Arrow C array interface and nothing else."""

    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


KINDS = {
    "table": as_arrow,
    "batch": lambda: as_arrow().to_batches()[0],
    "batches": lambda: [batch.slice(i, 1) for batch in as_arrow().to_batches() for i in range(3)],
    "generator": lambda: (batch for batch in as_arrow().to_batches()),
    "reader": lambda: as_arrow().to_reader(),
    "C stream": lambda: Stream(as_arrow()),
    "C array": lambda: Array(as_arrow().to_batches()[0]),
    "dictionary": lambda: {"x": np.arange(3, dtype=np.int32), "v": LISTS, "s": ["a", "", "ccc"]},
    "pandas": as_pandas,
    "polars": as_polars,
    "awkward": as_awkward,
    "awkward in a dictionary": lambda: {name: as_awkward()[name] for name in ("x", "v", "s")},
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_every_kind_of_data_has_its_values_and_nothing_missing(make):
    table, schema = table_of(make())
    assert table.to_pydict() == {"x": [0, 1, 2], "v": LISTS, "s": ["a", "", "ccc"]}
    assert [field.nullable for field in schema] == [False] * 3
    assert not schema.field("v").type.value_field.nullable
    assert schema.field("x").type == pa.int32()


@pytest.mark.parametrize("name", ["polars", "awkward"])
def test_libraries_that_always_count_by_64_bits_get_plain_lists_and_texts(name):
    _, schema = table_of(KINDS[name]())
    assert pa.types.is_list(schema.field("v").type)
    assert schema.field("s").type == pa.string()


def test_a_scan_is_data(sample):
    table, _ = table_of(ar.open(sample[0])["Events"].scan(["run", "pt"]))
    assert table["run"].to_numpy().tolist() == sample[1]["run"].tolist()
    assert table["pt"].to_pylist() == sample[1]["pt"].to_list()


def test_numpy_arrays_of_all_kinds():
    structured = np.zeros(2, [("a", "f4"), ("b", "i8", (2,))])
    structured["b"] = [[1, 2], [3, 4]]
    table, schema = table_of(
        {
            "big": np.array([1, 2], ">i4"),
            "fixed": np.arange(12, dtype=np.float32).reshape(2, 2, 3),
            "record": structured,
            "records": np.stack([structured, structured], axis=1),
            "masked": np.ma.masked_array([1.0, 2.0], mask=[False, True]),
            "bool": np.array([True, False]),
            "half": np.array([1.5, 2.5], np.float16),
            "text": np.array(["a", "bb"]),
            "bytes": np.array([b"a", b"bb"]),
            "object": np.array([np.array([1]), np.array([2, 3])], dtype=object),
            "time": np.array(["2020-01-01", "NaT"], "datetime64[s]"),
            "strided": np.arange(4)[::2],
        }
    )
    found = table.to_pydict()
    assert found["big"] == [1, 2]
    assert found["fixed"] == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]
    assert found["record"] == [{"a": 0.0, "b": [1, 2]}, {"a": 0.0, "b": [3, 4]}]
    assert found["records"][0] == [found["record"][0]] * 2
    assert found["masked"] == [1.0, None]
    assert found["bool"] == [True, False]
    assert found["half"] == [1.5, 2.5]
    assert found["text"] == ["a", "bb"]
    assert found["bytes"] == [b"a", b"bb"]
    assert found["object"] == [[1], [2, 3]]
    assert found["time"][1] is None
    assert found["strided"] == [0, 2]
    assert {name for name in schema.names if schema.field(name).nullable} == {"masked", "time"}


def test_a_structured_array_has_a_column_for_each_field():
    array = np.array([(1, 2.5), (3, 4.5)], [("n", "i4"), ("x", "f8")])
    assert table_of(array)[0].to_pydict() == {"n": [1, 3], "x": [2.5, 4.5]}


def changed_frame(kind):
    """A frame of one such column, and what puts its last value in the place of the first."""
    pd = pytest.importorskip("pandas")
    kinds = {
        "numbers": np.arange(3.0),
        "masked": pd.array([0, 1, 2], "Int64"),
        "categories": pd.Categorical(["a", "b", "c"]),
        "zone": pd.date_range("2020", periods=3, tz="UTC"),
        "texts": pd.array(["a", "b", "c"], "string"),
    }
    frame = pd.DataFrame({"x": kinds[kind]})

    def change():
        frame.iloc[0, 0] = frame.iloc[2, 0]

    return frame, change


def on_numpy(make):
    """Data on an array of NumPy, and what changes that."""
    values = np.arange(3.0)
    return make(values), lambda: values.fill(7)


def changing_structured():
    array = np.array([(1, 2.5), (3, 4.5)], [("n", "i4"), ("x", "f8")])
    return array, lambda: array["x"].fill(7)


CHANGING = {
    "NumPy": lambda: on_numpy(lambda v: {"x": v}),
    "masked": lambda: on_numpy(lambda v: {"x": np.ma.masked_array(v, [False, True, False])}),
    "shaped": lambda: on_numpy(lambda v: {"x": v.reshape(3, 1)}),
    "structured": changing_structured,
    **{
        f"pandas {kind}": lambda kind=kind: changed_frame(kind)
        for kind in ("numbers", "masked", "categories", "zone", "texts")
    },
    "pandas series": lambda: on_numpy(lambda v: {"x": pytest.importorskip("pandas").Series(v, copy=False)}),
    "pandas index": lambda: on_numpy(
        lambda v: pytest.importorskip("pandas").DataFrame(
            {"y": v}, index=pytest.importorskip("pandas").Index(v, name="x")
        )
    ),
    "Awkward": lambda: on_numpy(lambda v: pytest.importorskip("awkward").Array({"x": v})),
    "Awkward lists": lambda: on_numpy(
        lambda v: {
            "x": pytest.importorskip("awkward").unflatten(pytest.importorskip("awkward").Array(v), [1, 2])
        }
    ),
    "Polars": lambda: on_numpy(lambda v: pytest.importorskip("polars").DataFrame({"x": v})),
    "Polars series": lambda: on_numpy(lambda v: {"x": pytest.importorskip("polars").Series("x", v)}),
}


@pytest.mark.parametrize("way", ["append", "fill"])
@pytest.mark.parametrize("make", CHANGING.values(), ids=CHANGING.keys())
def test_data_that_are_changed_after_they_were_taken_are_written_as_they_were(tmp_path, make, way):
    data, change = make()
    expected = table_of(make()[0])[0].to_pydict()
    with ar.create(tmp_path / "t.root") as file, file.tree("T") as table:
        if way == "append":
            table.append(data)
        else:
            with table.context() as context:
                context.fill(data)
        change()
    with ar.open(tmp_path / "t.root") as file:
        assert file["T"].to_arrow().to_pydict() == expected


def test_a_nan_is_a_number_and_none_is_missing():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1.0, np.nan], "s": ["a", None]})
    table, schema = table_of(frame)
    assert table["x"].null_count == 0
    assert table["s"].null_count == 1
    assert [field.nullable for field in schema] == [False, True]


def test_awkward_says_what_may_be_missing():
    ak = pytest.importorskip("awkward")
    _, schema = table_of({"x": ak.Array([1, None, 3])[:1], "v": ak.Array([[1, None], []])[1:]})
    assert schema.field("x").nullable
    assert not schema.field("v").nullable
    assert schema.field("v").type.value_field.nullable


def test_numbers_become_those_of_the_table_if_they_fit():
    schema = schema_of({"x": "int16", "v": pa.list_(pa.float32())})
    (batch,) = Conformer(schema, "t").batches(pa.record_batch({"v": [[1.5]], "x": [7]}), 0)
    assert batch.schema.types[0] == pa.int16()
    assert batch.column(1).type.value_type == pa.float32()
    with pytest.raises(ar.InvalidRequestError, match="'x'"):
        list(Conformer(schema, "t").batches(pa.record_batch({"v": [[1.5]], "x": [1 << 20]}), 0))
    with pytest.raises(ar.InvalidRequestError, match=r"'x' is int16, and from entry 5 on string came"):
        list(Conformer(schema, "t").batches(pa.record_batch({"v": [[1.5]], "x": ["7"]}), 5))


def test_messages_number_the_entries_of_all_batches_of_a_fill(tmp_path):
    batches = [pa.record_batch({"x": pa.array([1, 2])}), pa.record_batch({"x": pa.array(["a"])})]
    with ar.create(tmp_path / "t.root") as file, file.tree("t", {"x": "int32"}).context() as context:
        context.fill({"x": [7] * 5})
        with pytest.raises(ar.InvalidRequestError, match=r"t\.root:t: .*from entry 7 on string came"):
            context.fill(batches)


def test_batches_of_a_context_may_have_another_schema_from_fill_to_fill(tmp_path):
    lists, texts = [[1.5], [], [2.5, 3.5]], ["a", "", "a"]
    kinds = [
        (pa.list_(pa.float32()), pa.string()),
        (pa.large_list(pa.float32()), pa.large_string()),
        (pa.list_(pa.field("of another name", pa.float32())), pa.dictionary(pa.int8(), pa.string())),
        (pa.list_(pa.float32()), pa.dictionary(pa.int32(), pa.string())),
        (pa.list_view(pa.float32()), pa.string_view()),
    ]
    schema = pa.schema({"x": pa.list_(pa.float32()), "s": pa.string()})
    with ar.create(tmp_path / "t.root") as file, file.tree("t", schema) as table, table.context() as context:
        for x, s in [*kinds, *kinds]:
            for metadata in (None, {"of": "one batch"}):
                fields = [pa.field("x", x, metadata=metadata), pa.field("s", s)]
                context.fill(
                    pa.record_batch([pa.array(lists, x), pa.array(texts, s)], schema=pa.schema(fields))
                )
    with ar.open(tmp_path / "t.root") as file:
        assert file["t"].to_arrow().to_pydict() == {"x": lists * 20, "s": texts * 20}


def test_a_batch_of_its_tables_schema_goes_to_the_engine_as_it_is(tmp_path, monkeypatch):
    schema = pa.schema([pa.field("x", pa.int32(), nullable=False), pa.field("s", pa.string())])

    def batch(x, ends=(0, 1, 2)):
        ends = np.array(ends, np.int32)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"ab")]
        return pa.record_batch(
            [pa.array(x, pa.int32()), pa.Array.from_buffers(pa.string(), 2, buffers)], schema=schema
        ), ends

    with ar.create(tmp_path / "t.root") as file, file.tree("t", schema) as table, table.context() as context:
        context.fill(batch([1, 2])[0])
        monkeypatch.setattr("arrowroot._writing.contexts.parts_of", None)
        context.fill(batch([3, 4])[0])
        # Its texts end behind their memory, and the next one lacks a value that none may.
        spoilt, ends = batch([5, 6])
        ends[2] = 1000
        with pytest.raises(ar.InvalidRequestError, match=r"t\.root:t: column 's': .* spoilt"):
            context.fill(spoilt)
        with pytest.raises(ar.InvalidRequestError, match=r't\.root:t: column "x": entry 1 '):
            context.fill(batch([5, None])[0])
        context.fill(batch([7, 8])[0].slice(1))
    with ar.open(tmp_path / "t.root") as file:
        assert file["t"].to_arrow().to_pydict() == {"x": [1, 2, 3, 4, 8], "s": ["a", "b", "a", "b", "b"]}


NOON = dt.datetime(2020, 1, 2, 12)  # noqa: DTZ001 - of no zone
MIDNIGHT = dt.datetime(2020, 1, 2)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.array([0.5, math.inf, -math.inf, None]), pa.float32()),
        (pa.array([0.5, math.inf, None]), pa.float16()),
        (pa.array(np.array([0.5, math.inf], np.float16)), pa.float64()),
        (pa.array([1, 2048, None]), pa.float16()),
        (pa.array([MIDNIGHT, None]), pa.date32()),
        (pa.array([MIDNIGHT.date(), None]), pa.timestamp("ns")),
        (pa.array([MIDNIGHT, NOON]), pa.timestamp("s")),
        (pa.array([0], pa.timestamp("s", "UTC")), pa.timestamp("ns", "Europe/Berlin")),
        (
            pa.array([{"a": 1e300}, {"a": 0.5}], pa.struct({"a": pa.float64()}), mask=[True, False]),
            pa.struct({"a": pa.float32()}),
        ),
        (pa.array([None, None]), pa.date32()),
    ],
    ids=lambda one: str(one if isinstance(one, pa.DataType) else one.type),
)
def test_values_that_stay_what_they_are_become_those_of_their_table(given, kind):
    (batch,) = Conformer(pa.schema([pa.field("x", kind)]), "t").batches(pa.record_batch({"x": given}), 0)
    assert batch.column(0).equals(given.cast(kind))


def no_table(data):
    """What writing and filling say of data, which is the same."""
    with pytest.raises(ar.ArrowrootError) as written:
        ar.write("f.root:t", data)
    with pytest.raises(ar.ArrowrootError) as filled, ar.create("f.root") as file:
        file.tree("t").context().fill(data)
    assert str(written.value) == str(filled.value)
    raise filled.value


def conformed(given, kind):
    """Values as their table has them, with three entries before; all but the last one it takes."""
    conformer = Conformer(pa.schema([pa.field("x", kind)]), "t")
    (batch,) = conformer.batches(pa.record_batch({"x": given.slice(0, len(given) - 1)}), 3)
    assert batch.num_rows == len(given) - 1
    return list(conformer.batches(pa.record_batch({"x": given}), 3))


def missing(values, given, field):
    """Check the values of a field, in chunks, with five entries before."""
    conformer, array = Conformer(pa.schema([field.with_name("x")]), "t"), pa.array(values, given)
    table = pa.table({"x": pa.chunked_array([array.slice(0, 1), array.slice(1)])})
    try:
        conformer.check(table, 5)
    except ar.InvalidRequestError as error:
        # What a slice does not have is not missing in it.
        conformer.check(table.slice(0, int(str(error).partition("entry ")[2].split()[0]) - 5), 5)
        raise


def test_what_cannot_be_written_is_refused_with_its_place_and_leaves_nothing(tmp_path):
    session("data", tmp_path, globals(), [(r"pandas\.core\.series\.", "pandas.")])


def test_what_no_entry_uses_is_not_missing():
    schema = pa.schema([pa.field("x", pa.string(), nullable=False)])
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", None]))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3]), pa.array(["a", None]))
    Conformer(schema, "t").check(pa.table({"x": unused}), 0)
    Conformer(schema, "t").check(pa.table({"x": runs.slice(0, 2)}), 0)
    for used in (pa.DictionaryArray.from_arrays(pa.array([0, 1]), unused.dictionary), runs.slice(1)):
        with pytest.raises(ar.InvalidRequestError, match="entry 1 is null"):
            Conformer(schema, "t").check(pa.table({"x": used}), 0)
    twice = pa.table([pa.array(["a"]), pa.array(["b"])], names=["x", "x"])
    with pytest.raises(ar.InvalidRequestError, match="two columns are called 'x'"):
        Conformer(schema, "t").check(twice, 0)


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_a_list_of_nothing_has_the_type_that_a_schema_says(tmp_path, layout):
    with ar.create(tmp_path / "out.root") as f:
        f.tree("t", {"x": "float32"}, layout=layout).append({"x": []})
        f.tree("u", layout=layout).append({"x": []})
    assert ar.open(tmp_path / "out.root")["t"].schema.field("x").type == pa.float32()
    assert ar.open(tmp_path / "out.root")["u"].schema.field("x").type == pa.null()


def test_trees_with_friends_scans_and_datasets_are_tables_by_their_names(tmp_path):
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    table = pa.table({"x": np.arange(1000)})
    ar.write(f"{tmp_path}/a.root:t", table, flush=100)
    pq.write_table(table, tmp_path / "t.parquet")
    tree = ar.open(tmp_path / "a.root")["t"]
    tree.add_friend(ar.open(tmp_path / "a.root")["t"], "f")
    scan = ar.scan([f"{tmp_path}/a.root:t"] * 2, batch_entries=300)
    with ar.create(tmp_path / "b.root") as file:
        file["tree"] = tree
        file["dir/scan"] = scan
        file["dataset"] = ds.dataset(tmp_path / "t.parquet")
        file["scanner"] = ds.dataset(tmp_path / "t.parquet").scanner(filter=ds.field("x") < 5)
        with pytest.raises(ar.UnsupportedError, match=r"pa\.Table\.from_pylist"):
            file["rows"] = [{"x": 1}, {"x": 2}]
        with pytest.raises(ar.InvalidRequestError, match=r"write table = new\.tree"):
            file["tree"]
    assert scan.stats.n_batches == 7  # it was streamed
    with ar.open(tmp_path / "b.root") as back:
        assert back["tree"].to_arrow().equals(tree.to_arrow())
        assert back["dir/scan"].to_arrow()["x"].to_pylist() == [*range(1000)] * 2
        assert back["dataset"].to_arrow()["x"].to_pylist() == [*range(1000)]
        assert back["scanner"].to_arrow()["x"].to_pylist() == [*range(5)]
        with pytest.raises(ar.InvalidRequestError, match="its trees one by one"):
            ar.write(f"{tmp_path}/c.root:t", back)
        with pytest.raises(AttributeError, match=r"no attribute 'nobody'$"):
            back.nobody  # noqa: B018 - it is looked up


def nested(n_levels, kind):
    """Return one entry of lists in lists, or of a struct in structs."""
    array = pa.array([1])
    for _ in range(n_levels):
        if kind == "lists":
            array = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), array)
        else:
            array = pa.StructArray.from_arrays([array], ["a"])
    return array


def filled(path, schema, *data):
    with ar.create(path) as file:
        tree = file.tree("t", schema)
        for one in data:
            tree.append(one)


@pytest.mark.parametrize("n_levels", [61, 300, 1000])
@pytest.mark.parametrize("kind", ["lists", "structs"])
def test_types_that_are_nested_too_deeply_are_told_with_their_column(tmp_path, n_levels, kind):
    path = f"{tmp_path}/out.root"
    array = nested(n_levels, kind)
    table = pa.table({"i": [1], "x": array})
    ways = [
        lambda: ar.write(f"{path}:t", table),
        lambda: ar.write(f"{path}:t", {"i": [1], "x": array}),
        lambda: ar.write(f"{path}:t", table.to_reader()),
        lambda: ar.write(f"{path}:t", table[:0], schema=table.schema),
        lambda: filled(path, table.schema),
        lambda: filled(path, {"x": pa.dictionary(pa.int8(), array.type)}),
        lambda: filled(path, {"x": pa.int8()}, {"x": array}),
    ]
    if kind == "lists":
        ways.append(lambda: ar.write(f"{path}:t", {"x": array.to_pylist()}))
    if n_levels == 61:  # it makes none of many more
        ak = pytest.importorskip("awkward")
        ways.append(lambda: ar.write(f"{path}:t", {"x": ak.from_arrow(array)}))
        ways.append(lambda: ar.write(f"{path}:t", ak.zip({"x": ak.from_arrow(array)}, depth_limit=1)))
    for write in ways:
        with pytest.raises(ar.InvalidRequestError, match=r"column 'x': .* more than 60 levels"):
            write()


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
@pytest.mark.parametrize("kind", ["lists", "structs"])
def test_types_of_the_most_levels_are_written_and_read(tmp_path, kind, layout):
    table = pa.table({"x": nested(60, kind)})
    ar.write(f"{tmp_path}/out.root:t", table, layout=layout)
    assert ar.open(f"{tmp_path}/out.root")["t"].to_arrow()["x"].to_pylist() == table["x"].to_pylist()


def test_types_by_name_have_no_missing_values_and_fields_say_for_themselves():
    schema = schema_of({"a": "float32", "b": np.int64, "c": pa.string(), "d": pa.field("", pa.int8())})
    assert schema.types == [pa.float32(), pa.int64(), pa.string(), pa.int8()]
    assert [field.nullable for field in schema] == [False, False, False, True]


def test_fields_are_nullable_where_a_reading_finds_a_missing_value():
    table = pa.table({"a": [1, 2], "b": [1, None], "v": [[1], [2]], "w": [[1], [None]]})
    asked = []

    def read(names):
        asked.append(list(names))
        return iter(table.select(names).to_batches(max_chunksize=1))

    found = nullable_as_found(table.schema, read)
    assert [field.nullable for field in found] == [False, True, False, False]
    assert [field.type.value_field.nullable for field in list(found)[2:]] == [False, True]
    again = nullable_as_found(found, read)
    assert again == found
    assert asked == [["a", "b", "v", "w"], ["b", "w"]]


def counted(known=Known.ALL, rules=(), schema=None, **columns):
    table, inferred_schema = table_of({name: pa.array(values) for name, values in columns.items()})
    schema = inferred_schema if schema is None else schema
    return dict(zip(schema.names, counters_of(schema, rules, [table], known), strict=True))


def test_lists_share_a_counter_where_their_names_and_their_lengths_say_so():
    pt, eta = [[1.0], [], [1.0, 2.0]], [[4.0], [], [5.0, 6.0]]
    assert counted(Muon_pt=pt, Muon_eta=eta) == {"Muon_pt": "nMuon", "Muon_eta": "nMuon"}
    both = counted(nMuon=[1, 0, 2], Muon_pt=pt)
    assert both == {"nMuon": None, "Muon_pt": "nMuon"}
    # A column of that name which counts something else is none of theirs.
    assert counted(nMuon=[1, 1, 1], Muon_pt=pt)["Muon_pt"] is None
    assert counted(nMuon=[1.0, 0.0, 2.0], Muon_pt=pt)["Muon_pt"] is None
    assert counted(nw=[1, 0, 2], w=pt)["w"] == "nw"
    other = counted(Muon_hits=[[], [1.0], [2.0]], Muon_pt=pt, Muon_eta=eta)
    assert other == {"Muon_pt": "nMuon", "Muon_eta": "nMuon", "Muon_hits": None}
    # One alone has its own; of empty ones nobody knows; texts are not counted.
    assert counted(Muon_pt=pt) == {"Muon_pt": None}
    assert set(counted(Muon_pt=[[], [1.0]], Jet_pt=[[], [1.0]]).values()) == {None}
    assert set(counted(M_a=[["x"], []], M_b=[["y"], []]).values()) == {None}


def test_the_first_entries_of_a_stream_share_a_counter_where_a_column_a_layout_or_their_tree_has_it():
    pt, none = [[1.0], [], [1.0, 2.0]], pa.array([[], [], []], pa.list_(pa.float64()))
    of_stream = partial(counted, Known.FIRST)
    assert set(of_stream(Muon_pt=pt, Muon_eta=pt).values()) == {None}
    assert set(counted(Known.ALL_OF_FILE, Muon_pt=pt, Muon_eta=pt).values()) == {None}
    assert of_stream(nMuon=[1, 0, 2], Muon_pt=pt)["Muon_pt"] == "nMuon"
    # Empty lists alone say nothing of those to come, but there are no others in a file that is known.
    assert of_stream(nMuon=[0, 0, 0], Muon_pt=none)["Muon_pt"] is None
    assert counted(Known.ALL_OF_FILE, nMuon=[0, 0, 0], Muon_pt=none)["Muon_pt"] == "nMuon"
    for rule in ("named", "nMuon"):
        by_rule = of_stream((("Muon_*", rule),), Muon_pt=none, Muon_eta=none)
        assert by_rule == {"Muon_pt": "nMuon", "Muon_eta": "nMuon"}
    assert set(counted(rules=(("*", "own"),), Muon_pt=pt, Muon_eta=pt).values()) == {None}
    fields = [
        pa.field(name, pa.list_(pa.float64()), nullable=False, metadata={"arrowroot:counter": "nMu"})
        for name in ("Muon_pt", "Muon_eta")
    ]
    recorded = pa.schema(fields)
    assert of_stream(schema=recorded, Muon_pt=none, Muon_eta=none) == {"Muon_pt": "nMu", "Muon_eta": "nMu"}
    # What was recorded may be of other entries.
    assert set(of_stream(schema=recorded, Muon_pt=pt, Muon_eta=none).values()) == {None}


def test_awkward_categories_stay_categories(tmp_path):
    ak = pytest.importorskip("awkward")
    words = ak.str.to_categorical(ak.Array(["a", "b", "a"]))
    ar.write(f"{tmp_path}/t.root:t", {"w": words, "l": ak.unflatten(words, [2, 0, 1])})
    table = ar.open(tmp_path / "t.root")["t"].to_arrow()
    assert pa.types.is_dictionary(table.schema.field("w").type)
    assert table.to_pydict() == {"w": ["a", "b", "a"], "l": [["a", "b"], [], ["a"]]}


@pytest.mark.parametrize("layout", ["rntuple", "ttree"])
def test_trees_and_scans_say_what_is_stored_of_missing_values(tmp_path, layout):
    """A schema in which all may be missing, as pyarrow's, makes no optionals of what never is, and comes back."""
    records = pa.array([[{"a": 1, "b": None}], [], [{"a": 3, "b": 2}]])
    table = pa.table({"x": [1, 2, 3], "l": [[1.0], [], [2.0]], "n": [None, 1, 2], "r": records})
    first, other = (f"{tmp_path}/{name}.root" for name in ("first", "other"))
    ar.write(f"{first}:t", table, layout=layout)
    ar.write(f"{other}:t", table.drop_columns(["l"]), layout=layout)
    tree = ar.open(first)["t"]
    kinds = {one.path: one.type_name for one in tree.branches}
    of_all = {
        "tree": tree,
        "scan": tree.scan(),
        "filtered": tree.scan(filter="x > 1"),
        "files": ar.scan([first, first], "t"),
        "differing": ar.scan([first, other], "t", missing="null"),
        "computed": tree.scan(define={"x": "l[0]"}),
    }
    for what, data in of_all.items():
        ar.write(f"{tmp_path}/out.root:t", data, layout=layout)
        made = ar.open(tmp_path / "out.root")["t"]
        changed = {
            one.path.partition("/")[0] for one in made.branches if one.type_name != kinds.get(one.path)
        }
        assert changed == {"differing": {"l"}, "computed": {"x"}}.get(what, set()), what
        if what != "computed":
            assert made.scan().schema.equals(table.schema)


def test_types_of_columns_that_may_be_missing_go_with_a_tree(tmp_path):
    table = pa.table({"s": pa.array([[1, 2], []], pa.list_(pa.int32()))})
    ar.write(f"{tmp_path}/in.root:t", table, layout="rntuple", types={"s": "std::set<std::int32_t>"})
    ar.write(f"{tmp_path}/out.root:t", ar.open(tmp_path / "in.root")["t"], layout="rntuple")
    made = ar.open(tmp_path / "out.root")["t"]
    assert [one.type_name for one in made.branches] == ["std::set<std::int32_t>"]
    assert made.to_arrow().equals(table)
