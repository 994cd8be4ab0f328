"""No small file takes much memory or time, whatever it says of itself."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import arrowroot
from tests.robustness import bounds, drawn, hostile
from tests.robustness.hostile_bytes import (
    ANY,
    STL,
    Branch,
    Column,
    Field,
    Member,
    Record,
    RootFile,
    basket,
    frame,
    ntuple_file,
    streamer_infos,
    tree_file,
)

#: One of each kind that took far more than it may, with the steps that did.
WORST = {
    "class: long names, tree": ["columns", "schema"],
    "class: long names, keys": ["all objects"],
    "class: long names that compress, tree": ["columns"],
    "class: long names that compress, keys": ["all objects"],
    "class: refused, tree": ["columns"],
    "class: refused, keys": ["all objects"],
    "class: refused by far, keys": ["all objects"],
    "class: deep, tree": ["schema"],
    "class: bases, tree": ["columns"],
    "object: many short lists": ["object"],
    "tree: zeros in many branches": ["batch"],
    "ntuple: long names in each other": ["batch"],
    "tree: half as many clusters": ["columns"],
    "tree: many dimensions": ["columns", "batch"],
    "ntuple: a thousand deferred": ["batch"],
    "ntuple: a page list in many groups": ["columns"],
}


@pytest.fixture(scope="module")
def files():
    return dict(hostile.cases())


@pytest.mark.parametrize("name", WORST)
def test_a_small_file_takes_little_memory_and_time(files, name):
    for cost in bounds.costs([(name, files[name])], WORST[name]):
        assert cost.fault() is None, cost.line()


#: Seeds of shapes that took more than they may, or that raised errors of other libraries.
SEEDS = [13, 54, 11, 17]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shape_that_was_drawn_takes_little_memory_and_time(seed):
    for cost in bounds.costs(drawn.drawn(seed)):
        assert cost.fault() is None, cost.line()


def many_of_a_large_class() -> bytes:
    infos = streamer_infos(hostile.nested(38, 2, 200, "base", 1000))
    return tree_file(infos, [Branch(f"b{i}", class_name="C0") for i in range(2000)])


def many_of_a_long_type() -> bytes:
    infos = streamer_infos([("C0", 1, [Member("m", f"vector<{'T' * 60_000}>", STL)])])
    split = [Branch(f"b{i}", class_name="C0", member=0) for i in range(2000)]
    return tree_file(infos, [Branch("top", class_name="C0", member=-2, node_type=1, branches=split)])


def many_of_a_name() -> bytes:
    infos = streamer_infos(hostile.nested(26, 1, 50_000))
    return tree_file(infos, [Branch(f"b{i}", class_name="C0") for i in range(1000)])


def many_members() -> bytes:
    infos = streamer_infos(hostile.nested(16, 1, 50_000, "base", 1000))
    return tree_file(infos, [Branch("b", class_name="C0")])


@pytest.mark.parametrize("make", [many_of_a_large_class, many_of_a_long_type, many_of_a_name, many_members])
def test_many_branches_share_what_their_class_takes(make):
    for cost in bounds.costs([(make.__name__, make())], ["columns", "schema"]):
        assert cost.fault() is None, cost.line()


def number(name: str) -> Branch:
    return Branch(name, n_entries=1, basket=basket((7).to_bytes(4, "big"), 1))


@pytest.mark.parametrize(
    ("kind", "least"), [("member", {"b0", "b10"}), ("array", {"b0", "b10"}), ("vector", set())]
)
def test_a_column_that_is_nested_too_deep_is_refused_and_the_others_are_read(tmp_path, kind, least):
    path = tmp_path / "deep.root"
    # The innermost are asked for first: what was compiled for them is a part of the others.
    levels = range(100, -1, -10)
    entry = {"n_entries": 1, "basket": basket(bytes(100), 1)}
    classes = [Branch(f"b{level}", class_name=f"C{level}", **entry) for level in levels]
    path.write_bytes(tree_file(streamer_infos(hostile.nested(100, 1, 1, kind)), [*classes, number("x")], 1))
    with arrowroot.open(path) as file:
        tree = file["t"]
        refused = {column.name: column.unsupported for column in tree.columns if column.unsupported}
        assert least <= set(refused) < {f"b{level}" for level in levels}
        assert all("in each other" in why or "nested too deep" in why for why in refused.values())
        assert set(tree.schema.names) == {column.name for column in tree.columns} - set(refused)
        assert tree.to_arrow(["x"])["x"].to_pylist() == [7]
        for name in tree.schema.names:
            assert tree.to_arrow([name], entries=slice(0, 0)).num_rows == 0
        # Lists that are too deep may be empty.
        with pytest.raises(arrowroot.ArrowrootError, match=r"in each other|nested too deep|b0"):
            tree.to_arrow(["b0"])


@pytest.mark.parametrize(("n_arrays", "is_read"), [(62, True), (63, False)])
def test_a_field_of_an_rntuple_that_is_nested_too_deep_is_refused_and_the_others_are_read(
    tmp_path, n_arrays, is_read
):
    path = tmp_path / "deep.root"
    arrays = [Field(max(0, i - 1), f"a{i}", "std::array<T,1>", array_size=1) for i in range(n_arrays)]
    fields = [
        *arrays,
        Field(n_arrays - 1, "_0", "std::int32_t"),
        Field(n_arrays + 1, "x", "std::int32_t"),
    ]
    page = (1, (5).to_bytes(4, "little"))
    columns = [Column(place, hostile.INT32, 32, [page]) for place in (n_arrays, n_arrays + 1)]
    path.write_bytes(ntuple_file(fields, columns, 1))
    with arrowroot.open(path) as file:
        assert file["n"].schema.names == (["a0", "x"] if is_read else ["x"])
        assert file["n"].to_arrow(["x"])["x"].to_pylist() == [5]
        reason = file["n"].columns[0].unsupported
        assert (reason is None) == is_read
        assert is_read or "more than 63 levels" in reason


def test_an_object_that_is_nested_too_deep_as_a_whole_is_read_by_its_branches(tmp_path):
    path = tmp_path / "deep.root"
    inner = number("x")
    for level in range(70):
        inner = Branch(f"g{level}", class_name="C0", member=-2, node_type=0, branches=[inner])
    path.write_bytes(tree_file(streamer_infos(hostile.nested(1, 1, 1)), [inner], 1))
    with arrowroot.open(path) as file:
        (column,) = file["t"].columns
        assert file["t"][column.name].to_arrow().to_pylist() == [7]
        with pytest.raises(arrowroot.UnsupportedError, match="read branches in it"):
            file["t"].to_arrow(["g69"], assemble=True)


def test_metadata_that_compress_too_well_are_refused_and_numbers_are_read_without(tmp_path):
    path = tmp_path / "bomb.root"
    infos = streamer_infos(hostile.nested(1, 1000, 20_000))
    path.write_bytes(tree_file(infos, [number("x"), replace(number("b"), class_name="C0")], 1))
    with arrowroot.open(path) as file:
        assert file["t"].to_arrow(["x"])["x"].to_pylist() == [7]
        with pytest.raises(arrowroot.UnsupportedError, match="bytes are not unpacked"):
            file["t"].to_arrow(["b"])
    fields = [Field(i, "n" * 20_000 + str(i), "std::int32_t") for i in range(1000)]
    columns = [Column(i, hostile.INT32, 32, is_listed=False) for i in range(1000)]
    path.write_bytes(ntuple_file(fields, columns, 1, compresses=True))
    with (
        arrowroot.open(path) as file,
        pytest.raises(arrowroot.UnsupportedError, match="bytes are not unpacked"),
    ):
        _ = file["n"]


def test_baskets_that_become_more_than_their_branch_says_are_read_in_small_batches(tmp_path):
    path = tmp_path / "zeros.root"
    values = [bytes([k]) * 40_000 for k in range(1, 9)]
    branches = [
        Branch(f"x{k}", n_entries=10_000, basket=basket(data, 10_000)) for k, data in enumerate(values)
    ]
    path.write_bytes(tree_file(b"", branches, 10_000))
    with arrowroot.open(path) as file:
        batches = list(file["t"].scan(batch_size="20000 B", memory_budget=100_000))
        assert len(batches) > 10
        for k, data in enumerate(values):
            expected = int.from_bytes(data[:4], "big")
            assert all(set(batch.column(f"x{k}").to_pylist()) == {expected} for batch in batches)
        assert sum(batch.num_rows for batch in batches) == 10_000


def test_sound_files_that_are_written_by_hand_are_read(tmp_path):
    path = tmp_path / "sound.root"
    infos = streamer_infos(hostile.nested(1, 2, 1))
    numbers = (7).to_bytes(4, "big")
    inner = frame(1, numbers)
    path.write_bytes(RootFile(infos, [Record("C0", "k", frame(1, inner + inner))]).content())
    with arrowroot.open(path) as file:
        assert file["k"]["m1"]["x0"] == 7
    entries = basket(numbers * 3, 3)
    path.write_bytes(tree_file(b"", [Branch("x", n_entries=3, basket=entries)], 3))
    with arrowroot.open(path) as file:
        assert file["t"].to_arrow()["x"].to_pylist() == [7, 7, 7]
    page = (2, (5).to_bytes(4, "little") * 2)
    columns = [Column(0, hostile.INT32, 32, [page]), Column(1, hostile.INT32, 32, is_listed=False)]
    fields = [Field(0, "x", "std::int32_t"), Field(1, "late", "std::int32_t")]
    path.write_bytes(ntuple_file(fields, columns, 2))
    with arrowroot.open(path) as file:
        assert file["n"].to_arrow().to_pydict() == {"x": [5, 5], "late": [0, 0]}


def test_zeros_that_no_page_vouches_for_are_refused_however_they_are_divided(tmp_path):
    path = tmp_path / "zeros.root"
    n_fields, n_entries = 100, 1 << 20
    fields = [Field(i, f"a{i}", "std::int64_t") for i in range(n_fields)]
    columns = [Column(i, 0x09, 64, first_element=n_entries, is_listed=False) for i in range(n_fields)]
    path.write_bytes(ntuple_file(fields, columns, n_entries))
    with arrowroot.open(path) as file:
        assert file["n"].to_arrow(["a0"]).num_rows == n_entries
        with pytest.raises(arrowroot.UnsupportedError, match="a column that was added later"):
            file["n"].to_arrow()


def test_the_entries_of_a_column_vouch_for_fixed_arrays_that_were_added_later(tmp_path):
    path = tmp_path / "late.root"

    def write(n_entries: int, n_items: int, numbers: bytes) -> None:
        fields = [
            Field(0, "x", "std::int64_t"),
            Field(1, "late", f"std::array<float,{n_items}>", array_size=n_items),
            Field(1, "_0", "float"),
        ]
        columns = [
            Column(0, 0x09, 64, [(n_entries, numbers)]),
            Column(2, 0x0C, 32, is_listed=False),
        ]
        path.write_bytes(ntuple_file(fields, columns, n_entries))

    write(5000, 1024, bytes(8 * 5000))
    with arrowroot.open(path) as file:
        late = file["n"].to_arrow()["late"]
        assert late.type.list_size == 1024
        assert set(late.combine_chunks().flatten().to_pylist()) == {0.0}
        assert len(late) == 5000
    write(5000, 1 << 25, bytes(8 * 5000))
    with arrowroot.open(path) as file:
        assert file["n"].to_arrow(["x"]).num_rows == 5000
        with pytest.raises(arrowroot.UnsupportedError, match=r"late\._0: .* a column that was added later"):
            file["n"].to_arrow(["late"], entries=slice(0, 1))


@pytest.mark.long
@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_tables_of_very_many_columns_with_long_names_that_are_alike_are_read_whole(tmp_path, layout):
    """Their names compress to nearly nothing: it is the file that vouches for so many."""
    name = "a_name_of_a_hundred_and_twenty_characters_as_some_generators_make_them_up" + "_" * 40
    table = pa.table({f"{name}{i:07d}": pa.array([float(i)]) for i in range(27_000)})
    path = tmp_path / "wide.root"
    arrowroot.write(f"{path}:t", table, layout=layout)
    with arrowroot.open(path) as file:
        assert file["t"].to_arrow().equals(table)


def test_columns_of_more_members_than_a_schema_may_have_are_read_one_by_one(tmp_path):
    path = tmp_path / "wide.root"
    infos = streamer_infos(hostile.nested(3, 28, 1))
    path.write_bytes(tree_file(infos, [Branch(f"b{i}", class_name="C0") for i in range(20)]))
    with arrowroot.open(path) as file:
        tree = file["t"]
        assert all(column.unsupported is None for column in tree.columns)
        assert tree.to_arrow(["b7"]).num_rows == 0
        with pytest.raises(arrowroot.InvalidRequestError, match="read fewer columns at once"):
            _ = tree.schema


def test_a_class_that_is_too_large_says_so_wherever_it_occurs(tmp_path):
    path = tmp_path / "refused.root"
    classes = [*hostile.nested(6, 9, 1), ("D", 1, [Member("c", "C0", ANY)])]
    keys = [Record(name, name, frame(1, frame(1, bytes(64)))) for name in ("C0", "D")]
    path.write_bytes(RootFile(streamer_infos(classes), keys).content())
    with arrowroot.open(path) as file:
        for name in ("C0", "D", "C0"):
            with pytest.raises(arrowroot.UnsupportedError, match="more than 50000 members in its members"):
                _ = file[name]


HOSTILE_NAME = "\x1b[31mred\u202ename\n\x07"


def test_names_of_a_file_do_not_drive_the_terminal_from_messages_and_reprs(tmp_path):
    path = tmp_path / "names.root"
    name = HOSTILE_NAME
    infos = streamer_infos([(name, 1, [Member("x", name + "T", ANY)]), ("D", 1, [Member(name)])])
    branches = [Branch(name, n_entries=1, basket=basket(bytes(4), 1)), Branch("o", class_name=name)]
    file = RootFile(infos, [], [branches[0].basket])
    file.content()
    from tests.robustness.hostile_bytes import tree

    record = tree(branches, 1)
    keys = [record, Record(name, name, frame(1, b"")), Record("D", "d", frame(1, bytes(4)))]
    file.keys = keys
    path.write_bytes(file.content())
    texts = []

    def note(read):
        try:
            texts.append(repr(read()))
        except arrowroot.ArrowrootError as error:
            texts.extend([str(error), repr(error)])

    with arrowroot.open(path) as opened:
        found = opened["t"]
        for read in (
            lambda: opened,
            lambda: opened.key_list()[1],
            lambda: opened[name],
            lambda: opened["d"],
            lambda: opened["no" + name],
            lambda: found,
            lambda: found.branches[0] if hasattr(found, "branches") else None,
            lambda: found.branch("o") if hasattr(found, "branch") else None,
            lambda: found.columns[0],
            lambda: found.columns[1],
            lambda: found["no" + name],
            lambda: found["o"],
            lambda: found.to_arrow([name]).num_rows,  # how pyarrow shows a table is its own
            lambda: found.to_arrow(["o"]).num_rows,
            lambda: found.scan([name]),
            lambda: found.scan([name]).plan,
        ):
            note(read)
    for text in texts:
        for line in text.split("\n"):
            assert line.isprintable(), text
    assert any("red" in text for text in texts)
