"""Attribute sets: values for ranges of entries, written by us and by ROOT, and read by both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot.cli import main
from tests.judge import root

from . import attributes_with_root as with_root

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {"run": "int32", "lumi": "float64", "text": "string"}
ROWS = {
    "first_entry": [0, 30, 60],
    "n_entries": [30, 10, 40],
    "run": [1, 1, 2],
    "lumi": [12.5, 0.25, 7.5],
    "text": ["first", "", "é"],
}


@pytest.fixture(params=[0, 2], ids=["one thread", "threads"])
def written(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "out.root"
    with ar.create(path, n_threads=request.param or 1, reproducible=True) as file:
        events = file.tree("Events", layout="rntuple", flush=20)
        lumi = events.attributes("lumi", VALUES)
        events.append({"x": list(range(30)), "day": pa.array([0] * 30, pa.date32())})
        lumi.add(range(30), {"run": 1, "lumi": 12.5, "text": "first"})
        events.append({"x": list(range(70)), "day": pa.array([1] * 70, pa.date32())})
        lumi.append({name: values[1:] for name, values in ROWS.items()})
        empty = events.attributes("empty", {"n": "uint8"})
        assert (lumi.num_ranges, empty.num_ranges) == (3, 0)
    return path


def tree_of(path: Path) -> ar.Tree:
    found = ar.open(str(path))["Events"]
    assert isinstance(found, ar.Tree)
    return found


def test_sets_come_back_by_name(written):
    tree = tree_of(written)
    # The last is what Arrow says of the dates.
    assert list(tree.attributes) == tree.attribute_sets == ["lumi", "empty", "ARROW"]
    lumi = tree.attributes["lumi"]
    assert lumi.to_arrow().to_pydict() == ROWS
    assert lumi.schema.types == [pa.int32(), pa.float64(), pa.string()]
    assert lumi.ranges == [range(30), range(30, 40), range(60, 100)]
    assert lumi.at(35)["lumi"].to_pylist() == [0.25]
    assert lumi.at(50).num_rows == tree.attributes["empty"].num_ranges == 0
    assert tree.attributes["empty"].to_arrow().to_pydict() == {"first_entry": [], "n_entries": [], "n": []}
    assert tree.schema.field("day").type == pa.date32()
    assert tree["x"].to_numpy().tolist() == [*range(30), *range(70)]
    with pytest.raises(KeyError):
        tree.attributes["Lumi"]


def test_root_reads_our_sets(written):
    said = root.run(with_root.read, written.parent, written.name, "lumi", complaints_but=root.SAID_OF_ITS_OWN)
    assert said == ["0 30 1 12.5 first", "30 10 1 0.25 ", "60 40 2 7.5 é", "35: 1"]
    assert root.run(with_root.names, written.parent, written.name) == ["ARROW", "empty", "lumi"]


def test_root_reads_the_sets_of_a_skim(written):
    skim = written.with_name("skim.root")
    ar.skim([written, written], skim, filter="x % 2 == 0 && x < 60")
    said = root.run(with_root.read, skim.parent, skim.name, "lumi", complaints_but=root.SAID_OF_ITS_OWN)
    first, second = (
        ["0 15 1 12.5 first", "15 5 1 0.25 ", "30 15 2 7.5 é"],
        ["45 15 1 12.5 first", "60 5 1 0.25 "],
    )
    assert said == [*first, *second, "75 15 2 7.5 é", "35: 2"]


def test_we_read_the_sets_of_root_and_keep_them(tmp_path, capsys):
    root.run(with_root.write, tmp_path, "root.root")
    assert main(["skim", f"{tmp_path}/root.root", f"{tmp_path}/ours.root"]) == 0
    for name in ("root.root", "ours.root"):
        notes = tree_of(tmp_path / name).attributes["notes"]
        assert notes.ranges == [range(1), range(1, 3), range(3, 6)], name
        assert notes.to_arrow()["text"].to_pylist() == ["part 0", "part 1", "part 2"]
        assert notes.to_arrow()["numbers"].to_pylist() == [[], [0.5], [1.0, 1.0]]
    capsys.readouterr()


def test_sets_are_listed_and_told_where_they_cannot_be_kept(written, tmp_path, capsys):
    assert main(["ls", str(written)]) == 0
    listed = capsys.readouterr().out
    assert "attribute set lumi: 3 ranges of entries: run: int32, lumi: double, text: string\n" in listed
    assert "attribute sets: lumi, empty, ARROW\n" in listed
    assert main(["skim", str(written), f"{tmp_path}/tree.root", "--layout", "ttree"]) == 0
    assert "attribute set 'lumi' was left out: a tree records none" in capsys.readouterr().err
    assert main(["skim", str(written), f"{tmp_path}/some.root", "--entries", "20:35"]) == 0
    assert not capsys.readouterr().err
    some = tree_of(tmp_path / "some.root").attributes
    assert (list(some), some["lumi"].ranges) == (["lumi", "empty", "ARROW"], [range(10), range(10, 15)])


def test_values_have_the_names_that_they_were_given_also_in_skims(tmp_path):
    items = pa.list_(pa.field("item", pa.int16(), nullable=False))
    record = pa.struct(
        [pa.field("in-side", pa.int8(), nullable=False), pa.field("of", items, nullable=False)]
    )
    values = {"é t": "int32", "p.q": record, "numbers": items}
    row = {"é t": 5, "p.q": {"in-side": 7, "of": [8]}, "numbers": [1, 2]}
    with ar.create(tmp_path / "t.root") as file, file.tree("Events", layout="rntuple") as events:
        notes = events.attributes("über-set", values)
        events.append({"x": [1, 2]})
        notes.add(range(1, 2), row)
    for _ in range(2):
        found = tree_of(tmp_path / "t.root").attributes["über-set"]
        assert found.schema.names == list(values)
        assert found.to_arrow().to_pylist() == [{"first_entry": 1, "n_entries": 1, **row}]
        ar.skim(tmp_path / "t.root", tmp_path / "s.root")
        (tmp_path / "s.root").rename(tmp_path / "t.root")
    assert root.run(with_root.names, tmp_path, "t.root") == ["über-set"]


@pytest.mark.parametrize("name", ["a b", "a.b", "a/b", "a\\b", "a\tb"])
def test_names_that_root_opens_nothing_by_are_refused(tmp_path, name):
    why = 'ROOT opens none with .* in its name: "a_b" it takes'
    with ar.create(tmp_path / "t.root") as file:
        events = file.tree("Events", {"x": "int32"}, layout="rntuple")
        with pytest.raises(ar.InvalidRequestError, match=why):
            events.attributes(name, VALUES)
        if "/" not in name:
            with pytest.raises(ar.InvalidRequestError, match=why):
                file.tree(name, layout="rntuple").append({"x": [1]})
            file.tree(name).append({"x": [1]})
        events.append({"x": [1]})


def test_what_makes_no_sense_is_refused_and_spoils_nothing(tmp_path):
    with ar.create(tmp_path / "out.root") as file:
        events = file.tree("Events", {"x": "int32"}, layout="rntuple")
        lumi = events.attributes("lumi", VALUES)
        events.append({"x": [1, 2]})
        for name, why in (("lumi", "there is one of that name"), ("ARROW", "it is ours"), ("", "it is ours")):
            with pytest.raises(ar.InvalidRequestError, match=why):
                events.attributes(name, VALUES)
        row = {"run": 1, "lumi": 0.5, "text": "x"}
        for entries, values, why in (
            (range(3), row, "entries 0 to 3, where the table has 2 so far"),
            (range(0, 2, 2), row, "expected range"),
            (range(-1, 1), row, "first_entry"),
            (range(2), {"run": 1}, "lack 'lumi', 'text'"),
            (range(2), {**row, "more": 1}, "no column 'more'"),
            (range(2), {**row, "run": "one"}, "'run' is int32"),
            (range(2), {**row, "run": None}, "nulls are not stored"),
        ):
            with pytest.raises(ar.ArrowrootError, match=why):
                lumi.add(entries, values)
        with pytest.raises(ar.InvalidRequestError, match="is what its ranges are called"):
            events.attributes("other", {"n_entries": "int32"})
        tree = file.tree("T", {"x": "int32"})
        with pytest.raises(ar.InvalidRequestError, match="a tree has no attribute sets: it has user info"):
            tree.attributes("lumi", VALUES)
        lumi.add(range(2), row)
    assert tree_of(tmp_path / "out.root").attributes["lumi"].ranges == [range(2)]


def test_the_same_sets_are_the_same_bytes(tmp_path):
    found = []
    for n_threads in (1, 3):
        path = tmp_path / str(n_threads) / "out.root"
        path.parent.mkdir()
        with ar.create(path, reproducible=True, n_threads=n_threads) as file:
            events = file.tree("Events", layout="rntuple", flush=7)
            events.append({"x": list(range(100))})
            events.attributes("lumi", VALUES).append(ROWS)
        found.append(path.read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["a", "abc", "abcd"])
def test_a_set_may_have_a_short_name(tmp_path, name):
    with ar.create(tmp_path / "t.root") as file, file.tree("Events", layout="rntuple") as events:
        notes = events.attributes(name, {"run": "int32"})
        events.append({"x": [1, 2]})
        notes.add(range(2), {"run": 7})
    with ar.open(tmp_path / "t.root") as file:
        assert file["Events"].attributes[name].to_arrow()["run"].to_pylist() == [7]
