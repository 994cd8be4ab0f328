"""No small file takes much memory or time, whatever it says of itself."""

from __future__ import annotations

import pytest

import arrowroot
from tests.robustness import bounds, hostile
from tests.robustness.hostile_bytes import (
    ANY,
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
    "tree: half as many clusters": ["columns"],
    "tree: many dimensions": ["columns", "batch"],
    "ntuple: a thousand deferred": ["batch"],
}


@pytest.fixture(scope="module")
def files():
    return dict(hostile.cases())


@pytest.mark.parametrize("name", WORST)
def test_a_small_file_takes_little_memory_and_time(files, name):
    for cost in bounds.costs([(name, files[name])], WORST[name]):
        assert cost.fault() is None, cost.line()


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
        with pytest.raises(
            arrowroot.CorruptFileError, match="a column that was added later, and none before"
        ):
            file["n"].to_arrow()


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
            lambda: opened.keys()[1],
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
            lambda: found.to_arrow([name]),
            lambda: found.to_arrow(["o"]),
            lambda: found.scan([name]),
            lambda: found.scan([name]).plan,
        ):
            note(read)
    for text in texts:
        for line in text.split("\n"):
            assert line.isprintable(), text
    assert any("red" in text for text in texts)
