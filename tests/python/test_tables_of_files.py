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


BY_COMMANDS = [
    lambda place, *force: by_command("skim", "in.root", place, *force),
    by_convert,
    lambda place, *force: by_command("sample", "aod", "--entries", "10", place, *force),
]
COMMANDS = ["the command skim", "convert", "sample"]
ways = pytest.mark.parametrize(
    "way",
    [
        lambda place: ar.write(place, DATA),
        lambda place: ar.write(place, ar.open("w.root")["t"]),
        lambda place: ar.skim("in.root", place),
        lambda place: ar.skim("in.root", outputs={place: None}),
        *BY_COMMANDS,
    ],
    ids=["write", "write a tree", "skim", "skim to several", *COMMANDS],
)


@ways
def test_a_file_with_other_objects_stays_and_the_answer_has_the_lines_to_write(way):
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


@ways
def test_a_file_of_that_table_alone_is_replaced(way):
    ar.write("one.root:a/t", {"other": [1]})
    ar.open("one.root")  # it may be open
    way("one.root:/a//t", *(["--force"] if way in BY_COMMANDS else []))
    assert "other" not in ar.open("one.root")["a/t"].column_names


@pytest.mark.parametrize("way", BY_COMMANDS, ids=COMMANDS)
def test_commands_replace_a_file_with_other_objects_by_force(way):
    way("w.root:t2", "--force")
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


def test_a_table_with_references_of_root_is_replaced(tmp_path):
    root.run(trees_with_root.make_references, tmp_path, "refs.root", 0)
    assert "ProcessID0" in ar.open("refs.root")
    with pytest.raises(ar.InvalidRequestError, match="would lose 'refs': "):
        ar.write("refs.root:t", DATA)
    ar.write("refs.root:refs", DATA)
    assert list(ar.open("refs.root").keys()) == ["refs"]


def test_a_skim_is_repeated_with_the_trees_that_go_along():
    with ar.create("nano.root") as made:
        made["Events"], made["Runs"] = DATA, {"run": [1]}
    for least in (0, 2):
        ar.skim("nano.root", "skim.root:Good", "Events", filter=f"x >= {least}")
        assert ar.open("skim.root").trees == ["Good", "Runs"]
    assert ar.open("skim.root")["Good"].num_entries == 2


def test_a_file_that_was_not_closed_has_its_tables_still():
    whole = Path("w.root").read_bytes()
    Path("cut.root").write_bytes(whole[:-200])
    with pytest.raises(ar.InvalidRequestError, match="would lose 'plots/h', 't'"):
        ar.write("cut.root:t2", DATA)


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
