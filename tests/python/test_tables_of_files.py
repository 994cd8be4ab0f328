"""A table that is named in a file which has others takes the place of none of them."""

import re
from pathlib import Path

import numpy as np
import pytest

import arrowroot as ar
from tests.command import run_here
from tests.judge import root
from tests.merging import trees_with_root

DATA = {"x": np.arange(4.0)}


@pytest.fixture(autouse=True)
def _there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ar.create("w.root") as made:
        made["t"] = DATA
        made["plots/h"] = np.histogram([1, 2, 2], bins=3)
    ar.write("in.root:t", DATA)


def by_command(*words):
    done = run_here(*words)
    if done.returncode:
        raise ar.InvalidRequestError(done.stderr)


def by_convert(place, *force):
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(ar.open("in.root")["t"].to_arrow(), "in.parquet")
    by_command("convert", "in.parquet", place, *force)


def by_sample(place, *force):
    by_command("sample", "aod", "--entries", "10", place, *force)


def by_skim(place, *force):
    by_command("skim", "in.root", place, *force)


adding = pytest.mark.parametrize(
    "way",
    [
        lambda place: ar.write(place, DATA),
        lambda place: ar.write(place, ar.open("w.root")["t"]),
        by_convert,
        by_sample,
    ],
    ids=["write", "write a tree", "convert", "sample"],
)
skimming = pytest.mark.parametrize(
    "way",
    [
        lambda place: ar.skim("in.root", place),
        lambda place: ar.skim("in.root", outputs={place: None}),
        by_skim,
    ],
    ids=["skim", "skim to several", "the command skim"],
)


@adding
def test_a_table_is_added_and_what_the_file_has_stays(way):
    for place in ("w.root:t2", "w.root:/plots//t3"):
        way(place)
    made = ar.open("w.root")
    assert sorted(made.trees) == ["plots/t3", "t", "t2"]
    assert made["t"].to_numpy()["x"].tolist() == [0, 1, 2, 3]
    assert made["plots/h"].values().tolist() == [1, 0, 2]
    assert made["t2"].num_entries == made["plots/t3"].num_entries in (4, 10)


@skimming
def test_a_skim_loses_no_objects_and_the_answer_has_the_lines_to_write(way):
    before = Path("w.root").read_bytes()
    with pytest.raises(ar.InvalidRequestError, match="would lose 't', 'plots/h'") as raised:
        way("w.root:t2")
    assert Path("w.root").read_bytes() == before
    place, line = re.search(r"write '(.+?)', then (ar\.merge\(.+?\))", str(raised.value)).groups()
    way(place)
    eval(line)  # noqa: S307 - of this package
    made = ar.open("w-all.root")
    assert made.trees == ["t", "t2"]
    assert made["t"].to_numpy()["x"].tolist() == [0, 1, 2, 3]
    assert made["plots/h"].values().tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    "way",
    [
        lambda place, *_: ar.write(place, DATA),
        lambda place, *_: ar.skim("in.root", place),
        by_convert,
        by_sample,
        by_skim,
    ],
    ids=["write", "skim", "convert", "sample", "the command skim"],
)
def test_a_table_of_that_name_is_replaced(way):
    ar.write("one.root:a/t", {"other": [1]})
    ar.open("one.root")  # it may be open
    way("one.root:/a//t", "--force")
    assert "other" not in ar.open("one.root")["a/t"].column_names


@pytest.mark.parametrize("way", [by_convert, by_sample])
def test_commands_replace_a_table_by_force_alone(way):
    before = Path("w.root").read_bytes()
    with pytest.raises(ar.InvalidRequestError, match="has 't', which would be replaced: write --force"):
        way("w.root:t")
    assert Path("w.root").read_bytes() == before
    way("w.root:t", "--force")
    made = ar.open("w.root")
    assert made["plots/h"].values().tolist() == [1, 0, 2]
    way("w.root", "--force")
    assert "plots" not in ar.open("w.root")


def test_the_command_skim_replaces_a_file_by_force():
    by_skim("w.root:t2", "--force")
    assert ar.open("w.root").trees == ["t2"]


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_a_table_is_written_again_whatever_belongs_to_it(layout):
    def write():
        ar.write("one.root:t", {**DATA, "n": np.arange(4)}, layout=layout, title="a", titles={"x": "b"})

    write()
    write()
    with ar.create("one.root") as made:
        for _ in range(2):  # two cycles
            with made.tree("t", layout=layout) as table:
                table.append(DATA)
    write()
    assert ar.open("one.root")["t"].column_names == ["x", "n"]


def test_references_of_root_go_with_their_tree_and_stay_with_it(tmp_path):
    root.run(trees_with_root.make_references, tmp_path, "refs.root", 0)
    before = ar.open("refs.root")["refs"].to_arrow()
    ar.write("refs.root:t", DATA)
    assert ar.open("refs.root").keys() == {"t", "refs", "ProcessID0"}
    assert ar.open("refs.root")["refs"].to_arrow().equals(before)
    ar.write("refs.root:refs", DATA)
    assert ar.open("refs.root").keys() == {"t", "refs", "ProcessID0"}


def test_a_skim_is_repeated_with_the_trees_that_go_along():
    with ar.create("nano.root") as made:
        made["Events"], made["Runs"] = DATA, {"run": [1]}
    for least in (0, 2):
        ar.skim("nano.root", "skim.root:Good", "Events", filter=f"x >= {least}")
        assert ar.open("skim.root").trees == ["Good", "Runs"]
    assert ar.open("skim.root")["Good"].num_entries == 2


@pytest.mark.parametrize("n_lost", [200, 3000], ids=["without its key list", "without a table"])
def test_a_file_that_was_not_closed_stays(n_lost):
    cut = Path("w.root").read_bytes()[:-n_lost]
    Path("cut.root").write_bytes(cut)
    for write in (lambda: ar.write("cut.root:t2", DATA), lambda: ar.update("cut.root")):
        with pytest.raises(ar.CorruptFileError, match=r"cut\.root: "):
            write()
    assert Path("cut.root").read_bytes() == cut
    assert not Path("cut.root.part").exists()


@pytest.mark.parametrize("byte", [5, 9, 31])
def test_a_file_of_root_whose_header_is_damaged_stays(byte):
    damaged = bytearray(Path("w.root").read_bytes())
    damaged[byte] ^= 0x40
    Path("w.root").write_bytes(damaged)
    with pytest.raises(ar.CorruptFileError, match=r"w\.root"):
        ar.write("w.root:t2", DATA)
    assert Path("w.root").read_bytes() == damaged


@pytest.mark.parametrize("content", [b"", b"no file of ROOT's"])
def test_what_has_no_tables_is_replaced(content):
    Path("other.root").write_bytes(content)
    ar.write("other.root:t", DATA)
    assert ar.open("other.root").trees == ["t"]


def test_a_file_without_a_named_table_is_replaced_as_create_says():
    with ar.create("w.root") as made:
        made["t2"] = DATA
    assert ar.open("w.root").trees == ["t2"]
    ar.skim("in.root", "w.root")
    assert ar.open("w.root").trees == ["t"]
