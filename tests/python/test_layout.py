"""A layout is one value: from Python, from TOML and by name, with errors that name the key and what is possible."""

import json
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrowroot as ar
from arrowroot import cli
from arrowroot._layout.columns import ColumnSettings
from arrowroot._layout.layout import layout_of
from arrowroot._layout.presets import document, names, preset
from arrowroot._layout.settings import codec_numbers
from arrowroot._sample.make import sample_of
from arrowroot._select.globs import Globs, without_match
from arrowroot._writing.options import layout_with
from tests.recorded import session
from tests.tables import list_of, struct

LIST = pa.list_(pa.field("item", pa.float64(), nullable=False))
PRESETS = ["old-aod", "aod-2011", "esd-2011", "d3pd", "nanoaod", "nanoaod-rntuple", "rntuple"]


def objects(n: int, n_entries: int = 40) -> pa.Array:
    """Lists of ``n`` records each."""
    item = pa.struct(
        [pa.field("pt", pa.float32(), nullable=False), pa.field("n", pa.int32(), nullable=False)]
    )
    values = pa.StructArray.from_arrays(
        [np.arange(n * n_entries, dtype=np.float32), np.arange(n * n_entries, dtype=np.int32)],
        fields=list(item),
    )
    offsets = np.arange(n_entries + 1, dtype=np.int32) * n
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(pa.field("item", item, nullable=False)))


def table_of(**columns) -> pa.Table:
    arrays = {name: one if isinstance(one, pa.Array) else pa.array(one) for name, one in columns.items()}
    fields = [pa.field(name, array.type, nullable=False) for name, array in arrays.items()]
    return pa.table(list(arrays.values()), schema=pa.schema(fields))


def columns_of(layout: ar.Layout, table: pa.Table) -> dict[str, ColumnSettings]:
    return dict(zip(table.column_names, layout.columns(table.schema, [table], "t"), strict=True))


def test_layouts_are_values():
    one = ar.Layout(split={"a": 0, "*": 99}, flush=10, compression={"a": "lz4"})
    same = ar.Layout(split={"a": 0, "*": 99}, flush=10, compression={"a": "lz4"})
    assert one == same
    assert hash(one) == hash(same)
    assert one != ar.Layout(one, flush=11)
    assert ar.Layout() == ar.Layout("ttree") == layout_of("ttree")
    assert "flush=10" in repr(one)
    assert "split={'a': 0, '*': 99}" in repr(one)
    with pytest.raises(AttributeError):
        one.flush = 3


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_names_sources_and_toml(name):
    assert names() == PRESETS
    layout = ar.Layout(name)
    assert layout == layout_of(name)
    assert ar.Layout.from_toml(layout.to_toml()) == layout
    found = preset(name)
    assert found is not None
    assert found.what
    assert all(value and source for value, source in found.sources)


def test_a_preset_is_changed_and_what_is_said_by_column_comes_first():
    layout = ar.Layout("aod-2011", flush=20, split={"muons": 99}, compression={"muons": "lz4"})
    assert (layout.flush, layout.basket_size) == (20, "optimized")
    assert layout.split == (("muons", 99), ("@largest", 99), ("*", 0))
    assert dict(layout.compression) == {"muons": "lz4", "*": "zlib:1"}
    assert ar.Layout("aod-2011", split=7).split == (("*", 7),)


def test_the_largest_collection_is_that_of_the_first_cluster():
    few, many = objects(1, 40), objects(9, 40)
    table = table_of(a=few, b=many, c=np.arange(40.0))
    layout = ar.Layout("aod-2011")
    found = columns_of(layout, table)
    assert (found["a"].split, found["b"].split, found["c"].split) == (0, 99, None)
    assert found["a"].memberwise
    # Later entries do not count, in however many tables the first ones come.
    late = table_of(a=few, b=pa.concat_arrays([objects(0, 10), objects(50, 30)]))
    for first in ([late], [late[:7], late[7:]]):
        assert [one.split for one in layout.columns(late.schema, first, "t")] == [99, 0]
    named = ar.Layout("aod-2011", split={"a": 99, "*": 0})
    assert [one.split for one in columns_of(named, table).values()] == [99, 0, None]


@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
def test_the_largest_collection_is_the_same_however_entries_come(tmp_path):
    # In the first entry alone it is the other one.
    sizes = ([1] + [0] * 24, [0] + [5] * 24)
    item = pa.struct([pa.field("pt", pa.float32(), nullable=False)])
    kind = pa.list_(pa.field("item", item, nullable=False))
    columns = [pa.array([[{"pt": 1.0}] * n for n in one], kind) for one in sizes]
    table = table_of(a=columns[0], b=columns[1])

    def written(name, fill, schema=None):
        with ar.create(tmp_path / name, reproducible=True) as file:
            tree = file.tree("t", schema, layout="aod-2011")
            fill(tree)
            assert tree.num_entries == 25
        return (tmp_path / name).read_bytes().replace(name.encode(), b"x")

    def by_context(tree):
        with tree.context() as context:
            context.fill(table)

    rows = table.to_batches(max_chunksize=1)
    whole = written("1.root", lambda tree: tree.append(table))
    assert written("2.root", lambda tree: [tree.append(row) for row in rows]) == whole
    assert written("3.root", lambda tree: [tree.append(row) for row in rows], table.schema) == whole
    assert written("4.root", lambda tree: tree.append(iter(rows))) == whole
    assert written("5.root", by_context, table.schema) == whole
    assert written("6.root", by_context) == whole
    with ar.open(tmp_path / "1.root") as file:
        kinds = {branch.name: branch.type_name for branch in file["t"].branches}
    assert (kinds["a"].partition("_")[0], kinds["b"]) == ("vector<t", "float[]")
    # Fewer than a cluster are all that there are.
    few = table.slice(0, 1)
    with ar.create(tmp_path / "7.root") as file:
        file.tree("t", layout="aod-2011").append(few)
    with ar.open(tmp_path / "7.root") as file:
        assert file["t"].to_arrow().equals(few)
    with pytest.raises(ar.InvalidRequestError, match="lack 'b'"), ar.create(tmp_path / "8.root") as file:
        file.tree("t", table.schema, layout="aod-2011").append(table.select(["a"]))


def test_the_first_rule_that_matches_counts():
    table = table_of(x=np.zeros(4, np.float32), y=np.zeros(4), z=np.zeros(4, np.int32))
    found = columns_of(ar.Layout(precision={"y": "Double32[0,10,12]", "*": "mantissa:10"}), table)
    assert str(found["x"].precision) == "mantissa:10"
    assert str(found["y"].precision) == "Double32[0,10,12]"
    # A pattern leaves out what cannot be so, and a name does not.
    assert found["z"].precision is None
    with pytest.raises(ar.InvalidRequestError, match=r"precision\['z'\].*int32.*float32"):
        columns_of(ar.Layout(precision={"z": "mantissa:10"}), table)
    with pytest.raises(ar.NoSuchColumnError, match="no column is called 'w'"):
        columns_of(ar.Layout(lists={"w": "vector"}), table)
    assert columns_of(ar.Layout(lists={"*w": "vector"}), table)["x"].lists == "counted"


FLOATS = pa.array(np.linspace(0.1, 0.9, 6), pa.float32())
OTHER_KINDS = {
    "list view": pa.array([[0.1], [], [0.2, 0.3]], pa.list_view(pa.float32())),
    "large list view": pa.array([[0.1], [], [0.2, 0.3]], pa.large_list_view(pa.float32())),
    "dictionary": FLOATS.dictionary_encode(),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4, 5, 6], pa.int32()), FLOATS),
    "dictionary in records": pa.StructArray.from_arrays([FLOATS.dictionary_encode()], ["a"]),
}


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
@pytest.mark.parametrize("column", OTHER_KINDS.values(), ids=OTHER_KINDS.keys())
def test_floats_are_rounded_in_whatever_arrow_has_them(tmp_path, layout, column):
    for number, precision in enumerate(({"x": "mantissa:4"}, "mantissa:4")):
        path = f"{tmp_path}/{number}.root"
        ar.write(f"{path}:t", {"x": column}, layout=ar.Layout(layout, precision=precision))
        with ar.open(path) as file:
            numbers = str(file["t"].to_arrow().column("x").to_pylist())
        assert numbers != str(column.to_pylist())
        assert set(re.findall(r"[0-9.]+", numbers)) <= {str(one / 1024) for one in range(1024)}


def test_records_in_views_are_split(tmp_path):
    kind = pa.list_view(pa.struct([pa.field("a", pa.int32(), nullable=False)]))
    data = pa.table({"x": pa.array([[{"a": 1}], [], [{"a": 2}, {"a": 3}]], kind)})
    layout = ar.Layout(split={"x": 0})
    with pytest.warns(ar.FewReadersWarning, match="'x': whole objects"):
        ar.write(f"{tmp_path}/t.root:t", data, layout=layout)
    assert layout.plan(data.schema).notes[-1] == (
        "x: split 0: one branch of all objects, one object after the other: its members are read together"
    )
    with ar.open(tmp_path / "t.root") as file:
        assert file["t"].to_arrow().to_pydict() == data.to_pydict()
        assert "vector<t_x_" in file["t"].branches[0].type_name
    found = columns_of(ar.Layout("aod-2011"), data.append_column("y", data["x"].slice(0)))
    assert [one.split for one in found.values()] == [99, 0]


def test_a_name_is_that_column_whatever_letters_it_has():
    table = table_of(**{"x[0]": np.zeros(4), "y": np.zeros(4)})
    layout = ar.Layout(precision={"x[0]": "Double32", "*": None}, compression={"x[0]": "lz4", "*": None})
    found = columns_of(layout, table)
    assert [str(one.precision) for one in found.values()] == ["Double32", "None"]
    assert codec_numbers(layout.compression, None, "ttree", table.column_names, "t") == [404, 0]


def test_what_is_said_over_a_base_takes_away_what_it_covers():
    base = ar.Layout(split={"tracks": 99, "jets": 1}, basket_size="optimized")
    layout = ar.Layout(base, split={"t*": 0}, basket_size="64 kB")
    assert layout.split == (("t*", 0), ("jets", 1))
    assert ar.Layout.from_toml(layout.to_toml()) == layout


def test_names_are_layouts_wherever_one_is_taken(tmp_path):
    table = table_of(x=np.arange(100, dtype=np.float32), a=pa.array([[1.0, 2.0]] * 100))
    path = tmp_path / "own.toml"
    path.write_text(ar.Layout("rntuple", compression="lz4").to_toml())
    for number, layout in enumerate(["d3pd", str(path), path, ar.Layout("nanoaod", compression="zstd")]):
        file = tmp_path / f"{number}.root"
        ar.write(f"{file}:t", table, layout=layout)
        with ar.open(file) as found:
            assert found["t"].to_arrow().column("x").to_pylist() == table.column("x").to_pylist()


DEEP = ".".join(["a"] * 100_000)
#: TOML of others that takes more than it is worth, by what it does.
HOSTILE = {
    "arrays": ("flush = " + "[" * 300 + "]" * 300 + "\n", "nested too deeply"),
    "arrays without end": ("flush = " + "[" * 100_000 + "\n", "nested too deeply"),
    "tables": ("split = " + "{a = " * 1000 + "1" + "}" * 1000 + "\n", "nested too deeply"),
    "dotted key": (f"split.{DEEP} = 1\n", "nested too deeply"),
    "dotted header": (f"[split.{DEEP}]\nx = 1\n", "nested too deeply"),
    "digits": ("flush = " + "9" * 5000 + "\n", "more than 1024 bits"),
    "hexadecimal digits": ("[split]\na = 0x" + "f" * 100_000 + "\n", "more than 1024 bits"),
    "digits in a list": ("flush = [1, " + "9" * 4000 + "]\n", "more than 1024 bits"),
    "text": ('flush = "' + "9" * 500_000 + '"\n', "flush='999"),
    "key": (f'"{"k" * 500_000}" = 1\n', "there is no key 'kkk"),
    "size": ("#" * (1 << 20) + "\n#", "more than 1,048,576 bytes"),
}


@pytest.mark.parametrize(("text", "problem"), HOSTILE.values(), ids=HOSTILE)
def test_toml_that_is_huge_or_deep_is_an_error_that_is_short(tmp_path, text, problem):
    path = tmp_path / "layout.toml"
    path.write_text(text)
    for source in (text, path):
        with pytest.raises(ar.InvalidRequestError, match=problem) as caught:
            ar.Layout.from_toml(source)
        assert len(str(caught.value)) < 1000


def test_numbers_with_points_texts_and_comments_are_not_deep():
    brackets = "[" * 100
    text = f'# {brackets}\n[classes]\n"{brackets}" = "a.b"\n\'{brackets}{{\' = """\n"{brackets}"""\n'
    assert len(ar.Layout("ttree").classes) == 0
    with pytest.raises(ar.InvalidRequestError, match="classes"):
        ar.Layout.from_toml(text)
    floats = ", ".join(["1.5"] * 100)
    with pytest.raises(ar.InvalidRequestError, match=r"flush=\[1\.5"):
        ar.Layout.from_toml(f"flush = [{floats}]\n")


@given(
    st.lists(st.text("ab*?[]", min_size=1, max_size=4), max_size=8),
    st.lists(st.text("ab[]*", min_size=1, max_size=4), max_size=8),
)
def test_globs_find_what_one_after_the_other_finds(globs, names):
    known = Globs(globs)
    for name in names:
        wanted = [place for place, glob in enumerate(globs) if name == glob or fnmatchcase(name, glob)]
        assert known.first(name) == (wanted[0] if wanted else None)
    unmatched = [glob for glob in globs if not any(n == glob or fnmatchcase(n, glob) for n in names)]
    assert without_match(globs, names) == (unmatched[0] if unmatched else None)


def n_calls_of(key: str, n: int) -> int:
    """Return how many functions are called for so many globs and columns."""
    n_calls = 0

    def count(*_: object) -> None:
        nonlocal n_calls
        n_calls += 1

    table = table_of(**{f"{key}{n}_{i}_x": [1.0] for i in range(n)})
    rules = {f"{key}{n}_{i}_*": "zstd" if key == "compression" else 1 for i in range(n)}
    sys.setprofile(count)
    try:
        layout = ar.Layout(**{key: rules})
        layout.columns(table.schema, [], "t")
        codec_numbers(layout.compression, None, "ttree", table.schema.names, "t")
    finally:
        sys.setprofile(None)
    return n_calls


@pytest.mark.parametrize("key", ["split", "compression"])
def test_many_globs_cost_no_more_than_their_number(key):
    assert n_calls_of(key, 400) < 16 * n_calls_of(key, 50)


def test_toml_says_all_that_python_does():
    layout = ar.Layout(
        flush=None, basket_size="64 kB", compression={'a"b': ("zstd", 5), "*": None}, split={"x": None, "*": 3},
        memberwise=True, classes={"x": "ns::X"}, precision={"y": "Double32[0,1.5,12]"}, autosave="1 GB",
        io_features="kGenerateOffsetMap",
    )  # fmt: skip
    assert ar.Layout.from_toml(layout.to_toml()) == layout
    for none in ("none", {"a": "None", "*": "zstd"}):
        layout = ar.Layout(compression=none)
        assert ar.Layout.from_toml(layout.to_toml()) == layout
    of_numpy = ar.Layout(flush=np.int64(7), split=np.int8(3), compression=("zstd", 5))
    assert (
        ar.Layout.from_toml(of_numpy.to_toml())
        == of_numpy
        == ar.Layout(flush=7, split=3, compression="zstd:5")
    )
    text = 'base = "aod-2011"\nflush = 20\n[split]\ntracks = 99\n"*" = 0\n'
    assert ar.Layout.from_toml(text) == ar.Layout("aod-2011", flush=20, split={"tracks": 99, "*": 0})


def test_what_is_said_beside_a_layout_counts_more():
    layout = layout_with({"layout": "d3pd", "compression": "lz4", "flush": 100})
    assert (layout.compression, layout.flush, layout.basket_size) == ("lz4", 100, "optimized")
    assert layout_with({"layout": "rntuple", "page_size": "64 kB"}).page_size == "64 kB"
    with pytest.raises(ar.InvalidRequestError, match="page_size"):
        layout_with({"layout": "d3pd", "page_size": "64 kB"})


def test_a_plan_says_what_comes_out_before_anything_is_written(tmp_path):
    table = table_of(
        x=np.linspace(0, 1, 3000), v=pa.array([[1.0] * (i % 5) for i in range(3000)], LIST), s=["a"] * 3000
    )
    plan = ar.Layout(flush=500, compression="zstd", precision={"x": "Double32[0,1,16]"}).plan(table)
    assert list(tmp_path.iterdir()) == []
    branches = {branch.name: branch for branch in plan.branches}
    assert set(branches) == {"x", "nv", "v", "s"}
    assert (plan.n_entries, plan.cluster_entries, plan.n_clusters) == (3000, 500, 6)
    # The cluster of all entries is not full.
    assert all(ar.Layout(of).plan(table).cluster_entries > 100_000 for of in ("ttree", "rntuple"))
    assert branches["x"].n_baskets == 6
    assert branches["x"].compression == "zstd 5"
    assert plan.precisions[0][:2] == ("x", "Double32[0,1,16]")
    assert plan.precisions[0].error == pytest.approx(0.5**17, rel=0.01)
    ar.write(f"{tmp_path}/out.root:t", table, layout=plan.layout)
    with ar.open(f"{tmp_path}/out.root") as file:
        assert file["t"].stored_bytes == pytest.approx(plan.expected_bytes, rel=0.05)
    text = str(plan)
    for part in (
        "clusters of 500 entries",
        "all 3,000 entries: 6 clusters",
        "Double32[0,1,16], at most 7.63e-06",
    ):
        assert part in text
    assert json.loads(json.dumps(plan.to_dict()))["n_clusters"] == 6
    of_schema = ar.Layout().plan(table.schema)
    assert (of_schema.n_looked_at, of_schema.expected_bytes) == (0, None)
    assert {branch.name for branch in of_schema.branches} == set(branches)


def test_a_plan_knows_what_is_missing_behind_the_entries_that_it_looks_at():
    column = pa.array([*range(1000), None])
    plan = ar.Layout(flush=10).plan(pa.table({"x": column}))
    assert [branch.name for branch in plan.branches] == ["x_isvalid", "x"]
    batch = pa.record_batch({"x": column.slice(0, 3)})
    assert ar.Layout().plan(iter([batch.slice(0, 0), batch])).n_looked_at == 3
    stream = pa.RecordBatchReader.from_batches(batch.schema, [batch.slice(0, 0), batch])
    plan = ar.Layout().plan(stream)
    assert (plan.n_looked_at, plan.n_entries, len(plan.branches)) == (3, None, 1)


@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
@pytest.mark.parametrize("split", [0, 1, 99])
def test_branches_and_types_of_a_plan_are_those_of_the_file(tmp_path, split):
    inner = struct(a=pa.float32(), v=list_of(pa.int32()))
    schema = pa.schema(
        [
            pa.field("lists", list_of(list_of(inner)), nullable=False),
            pa.field("fixed", pa.list_(pa.field("item", inner, nullable=False), 2), nullable=False),
            pa.field(
                "map",
                pa.map_(pa.string(), pa.field("value", list_of(pa.int32()), nullable=False)),
                nullable=False,
            ),
            pa.field("record", struct(s=inner, l=list_of(list_of(inner)), t=list_of(inner)), nullable=False),
        ]
    )
    layout = ar.Layout(split=split)
    plan = layout.plan(schema, name="d/T")
    ar.write(f"{tmp_path}/t.root:d/T", schema.empty_table(), layout=layout)
    with ar.open(tmp_path / "t.root") as file:
        found = [one.type_name for one in file["d/T"].branches if not one.is_group and not one.is_part]
    # Columns of several branches name the types of all.
    assert sorted(branch.type_name for branch in plan.branches) == sorted(", ".join(found).split(", "))
    unsplit = [note.partition(":")[0] for note in plan.notes if "never split" in note]
    expected = ["lists", "fixed", "map.value", "record.l", "record.t.v"] if split else []
    assert unsplit == expected


def test_plans_at_the_command_line_write_nothing(tmp_path, capsys):
    table = table_of(x=np.arange(1000.0))
    ar.write(f"{tmp_path}/in.root:t", table)
    out = tmp_path / "out.root"
    assert cli.main(["skim", f"{tmp_path}/in.root", str(out), "--layout", "d3pd", "--plan", "--json"]) == 0
    (planned,) = json.loads(capsys.readouterr().out)["tables"]
    assert (planned["name"], planned["n_entries"], planned["format"]) == ("t", 1000, "ttree")
    assert cli.main(["sample", "nanoaod", str(out), "--entries", "2000", "--plan"]) == 0
    assert "all 2,000 entries" in capsys.readouterr().out
    assert not out.exists()
    assert cli.main(["convert", f"{tmp_path}/in.root", f"{tmp_path}/out.parquet", "--plan"]) == 2


def test_a_lossy_layout_is_not_verified(tmp_path, capsys):
    ar.write(f"{tmp_path}/in.root:t", table_of(x_eta=np.arange(1000, dtype=np.float32)))
    arguments = ["skim", f"{tmp_path}/in.root", f"{tmp_path}/out.root", "--layout", "nanoaod", "--verify"]
    assert cli.main(arguments) == 2
    assert "reduced precision" in capsys.readouterr().err


def test_the_table_of_presets_is_that_of_the_code():
    page = Path(__file__).parents[2] / "docs" / "layouts.md"
    _, _, rest = page.read_text(encoding="utf-8").partition("<!-- presets:begin -->\n")
    assert rest.partition("<!-- presets:end -->")[0] == document(), (
        "between the markers: python -c 'from arrowroot._layout import presets; print(presets.document(), end=\"\")'"
    )


@pytest.mark.filterwarnings("ignore::arrowroot.FewReadersWarning")
@pytest.mark.parametrize("name", PRESETS)
def test_the_same_events_come_back_from_each_preset(tmp_path, name, capsys):
    path = tmp_path / "aod.root"
    assert cli.main(["sample", "aod", str(path), "--layout", name, "--entries", "60", "--reproducible"]) == 0
    capsys.readouterr()
    expected = pa.Table.from_batches(sample_of("aod", n_entries=60).batches())
    with ar.open(path) as file:
        tree = file["Events"]
        # Projected fields are columns, too.
        assert tree.to_arrow(expected.column_names).equals(expected)
        kinds = {branch.name: branch.type_name for branch in tree.branches}
        sizes = [end - start for start, end in zip(tree.clusters, tree.clusters[1:], strict=False)]
    if name in {"aod-2011", "esd-2011"}:
        assert set(sizes) == {10 if name == "aod-2011" else 5}
        assert re.fullmatch(r"vector<Events_clusters_[0-9a-f]{8}>", kinds["clusters"])
        assert re.fullmatch(r"vector<Events_jets_[0-9a-f]{8}>", kinds["jets"])
        assert kinds["tracks"].startswith("float[]")
    if name == "old-aod":
        assert kinds["clusters"].startswith("float[]")


PAIR = struct(pt=pa.float32(), n=pa.int32())
NAMED = struct(pt=pa.float32(), name=pa.string())
MISTAKEN = struct(n=pa.int32(), s=struct(n=PAIR))


def told(kind: pa.DataType, *, is_nullable: bool = False, **options) -> str:
    """Write columns of a type by a layout, twice, which warns; return the notes of its plan."""
    schema = pa.schema([pa.field(name, kind, nullable=is_nullable) for name in "xy"])
    layout = ar.Layout(**options)
    with ar.create("told.root") as file:
        table = file.tree("t", schema, layout=layout)
        table.append(schema.empty_table())
        table.append(schema.empty_table())
    return "\n".join(layout.plan(schema).notes)


def test_what_makes_no_sense_or_few_readers_take_is_told_with_what_is_possible(tmp_path):
    session("layouts", tmp_path, globals())


@pytest.mark.parametrize("layout", ["rntuple", "ttree"])
def test_a_plan_says_what_nulls_would_cost_that_are_not_there(layout, tmp_path):
    values = {"x": np.arange(5000, dtype="f4"), "n": pa.array([1, None] * 2500, pa.int32())}
    data = pa.table({**values, "v": pa.array([[1.0, 2.0]] * 5000, pa.list_(pa.float32()))})
    (note,) = ar.Layout(layout).plan(data).notes
    assert note.startswith("x, v: may be null by their schema, and have no null")
    sizes = []
    for number, schema in enumerate([None, data.schema]):
        with ar.create(tmp_path / f"{number}.root") as file:
            file.tree("t", schema, layout=layout).append(data)
        with ar.open(tmp_path / f"{number}.root") as file:
            sizes.append(file["t"].memory_bytes)
    assert f"{(sizes[1] - sizes[0]) / 5000:.3g} bytes more an entry" in note


def test_a_plan_says_nothing_of_nulls_where_the_schema_does_not():
    data = pa.table({"x": np.arange(10.0)}, pa.schema([pa.field("x", pa.float64(), nullable=False)]))
    assert ar.Layout("rntuple").plan(data).notes == ()
    assert ar.Layout("rntuple").plan({"x": np.arange(10.0)}).notes == ()
    assert ar.Layout("rntuple").plan(pa.table({"x": [1.0, None]})).notes == ()
