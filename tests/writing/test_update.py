"""A file that is updated has what it had, but for what is written or left out."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

from . import update_with_root
from .invariants import assert_sound

DATA = {"y": [1.5, 2.5]}
HISTOGRAM = np.histogram([1, 2, 2], bins=3)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def old():
    """``old.root``: a tree, an RNTuple with an attribute set, a histogram in a directory, and an empty directory."""
    with ar.create("old.root", compression="lz4") as new:
        new["t"] = {"x": np.arange(1000), "l": [[1.0] * (k % 3) for k in range(1000)]}
        schema = pa.schema({"d": pa.decimal128(5, 2), "s": pa.dictionary(pa.int8(), pa.string())})
        table = new.tree("deep/nt", schema, layout="rntuple")
        table.append(pa.table({"d": ["1.10", "2.20"], "s": ["a", "b"]}).cast(schema))
        table.attributes("runs", {"n": "int32"}).add(range(2), {"n": 7})
        new["deep/h"] = HISTOGRAM
        new.directory("empty")
    return read("old.root")


def read(name):
    """Return what a file has, by name: tables, and the contents of histograms."""
    file = ar.open(name)
    found = {path: file[path].to_arrow() for path in file.trees}
    found |= {
        key.path: file[key.path].values().tolist() for key in file.key_list() if key.class_name == "TH1D"
    }
    return found | {key.path: "directory" for key in file.key_list() if key.is_directory}


def there():
    """Return the files that there are."""
    return {path.name: path.read_bytes() for path in Path.cwd().iterdir()}


def test_all_stays_and_more_comes(old):
    before = ar.open("old.root")["t"]
    stored = {branch.path: branch.stored_bytes for branch in before.branches}
    with ar.update("old.root") as new:
        new["more"] = DATA
        new["deep/h2"] = HISTOGRAM
        new.directory("empty/deeper")
    now = read("old.root")
    assert now.pop("more").to_pydict() == DATA
    assert now.pop("deep/h2") == [1, 0, 2]
    assert now.pop("empty/deeper") == "directory"
    assert now == old
    after = ar.open("old.root")
    # Pieces are copied as they are stored.
    assert {branch.path: branch.stored_bytes for branch in after["t"].branches} == stored
    assert after["deep/nt"].attributes["runs"].to_arrow()["n"].to_pylist() == [7]


def test_what_is_written_takes_the_place_of_its_name(old):
    with ar.update("old.root") as new:
        new["deep/h"] = np.histogram([1, 1], bins=2)
        new.tree("t", layout="rntuple").append(DATA)
    now = read("old.root")
    assert now["deep/h"] == [0, 2]
    assert now["t"].to_pydict() == DATA
    assert now.keys() == old.keys()
    assert [key.cycle for key in ar.open("old.root").key_list()] == [1] * len(old)


def test_an_object_that_failed_leaves_the_older_one(old):
    with ar.update("old.root") as new, pytest.raises(ar.UnsupportedError):
        new["deep/h"] = object()
    assert read("old.root") == old


@pytest.mark.usefixtures("old")
def test_objects_and_directories_are_left_out():
    with ar.update("old.root") as new:
        del new["deep"]
        del new["empty"]
        new["deep"] = "a text"
        with pytest.raises(ar.WrongTypeError, match="what is written stays"):
            del new["deep"]
    assert ar.open("old.root").keys() == {"deep", "t"}
    with ar.update("old.root") as new:
        del new["t"]
    assert ar.open("old.root")["deep"] == "a text"
    with ar.create("new.root") as new, pytest.raises(ar.WrongTypeError, match="what is written stays"):
        del new["t"]


def test_a_name_that_is_not_there_or_taken_is_told(old):
    with ar.update("old.root") as new:
        with pytest.raises(ar.NoSuchKeyError, match=r"old\.root:deep/hh: .*did you mean 'deep/h'"):
            del new["deep/hh"]
        with pytest.raises(ar.InvalidRequestError, match=r"a directory .* has this name.* del new\['deep'\]"):
            new["deep"] = HISTOGRAM
        for taken in (lambda: new.directory("t"), lambda: new.__setitem__("t/h", HISTOGRAM)):
            with pytest.raises(ar.InvalidRequestError, match=r"an object .* has this name.*del new\['t'\]"):
                taken()
    assert read("old.root") == old


def test_after_an_error_the_file_is_what_it_was():
    ar.write("old.root:t", DATA)
    before = Path("old.root").read_bytes()
    with pytest.raises(ar.InvalidRequestError), ar.update("old.root") as new:
        new[""] = DATA
    assert there() == {"old.root": before}


@pytest.mark.parametrize(
    "change",
    [
        lambda: (
            Path("other.root").write_bytes(Path("old.root").read_bytes())
            and Path("other.root").replace("old.root")
        ),
        lambda: Path("old.root").unlink(),
    ],
    ids=["replaced", "removed"],
)
def test_a_file_that_another_program_changes_meanwhile_is_not_overwritten(change):
    ar.write("old.root:t", DATA)
    new = ar.update("old.root")
    new["u"] = DATA
    change()
    changed = {name: content for name, content in there().items() if name == "old.root"}
    with pytest.raises(ar.StorageError, match=r"another program has written.*update it again"):
        new.close()
    assert there() == changed


@pytest.mark.parametrize(
    ("way", "content"),
    [("update", None), ("update", b""), ("write", None), ("write", b""), ("write", b"no file of ROOT's")],
)
def test_a_file_that_appears_meanwhile_is_not_overwritten(way, content):
    if content is not None:
        Path("old.root").write_bytes(content)
    ar.write("theirs.root:t", DATA)

    def batches():
        Path("theirs.root").replace("old.root")
        yield DATA

    def write():
        if way == "write":
            ar.write("old.root:u", batches())
            return
        with ar.update("old.root") as new:
            new["u"] = next(batches())

    with pytest.raises(ar.StorageError, match="another program has written"):
        write()
    assert ar.open("old.root").keys() == {"t"}


def test_two_do_not_update_a_file_at_a_time():
    ar.write("old.root:t", DATA)
    with ar.update("old.root") as new:
        with pytest.raises(ar.StorageError, match="is writing it"):
            ar.write("old.root:u", DATA)
        new["v"] = DATA
    assert ar.open("old.root").keys() == {"t", "v"}


def test_a_complete_file_can_be_read_before_it_is_published(old):
    new = ar.update("old.root")
    new["u"] = DATA
    assert ar.open(new.complete()).keys() == {"u", "deep", "empty", "t"}
    assert read("old.root") == old
    new.close()
    assert "u" in ar.open("old.root")


def test_its_own_tables_can_be_read_into_it(old):
    ar.write("old.root:t", ar.open("old.root")["t"].scan(filter="x < 10"))
    ar.write("old.root:copy", ar.open("old.root")["t"])
    now = read("old.root")
    assert now["copy"] == now["t"] == old["t"].slice(0, 10)


@pytest.mark.parametrize("content", [None, b""])
def test_a_file_that_is_not_there_is_begun(content):
    if content is not None:
        Path("new.root").write_bytes(content)
    with ar.update("new.root", compression="zstd:5", reproducible=True) as new:
        new["t"] = DATA
    assert read("new.root")["t"].to_pydict() == DATA


def test_what_is_no_file_of_root_is_not_updated():
    Path("data.root").write_bytes(b"no file of ROOT's")
    with pytest.raises(ar.CorruptFileError, match="not a ROOT file"):
        ar.update("data.root")
    assert there().keys() == {"data.root"}


def test_names_that_are_no_text_are_not_kept_as_others():
    with ar.create("old.root") as new:
        new["hé"] = HISTOGRAM
    before = Path("old.root").read_bytes().replace("hé".encode(), b"h\xe4\xf6")
    Path("old.root").write_bytes(before)
    with pytest.raises(ar.UnsupportedError, match="a name that is not UTF-8"):
        ar.write("old.root:t", DATA)
    assert there() == {"old.root": before}


def test_what_was_begun_or_ended_is_not_left_out(old):
    new = ar.update("old.root")
    new.directory("deep")
    new["u"] = DATA
    for name in ("deep", "u"):
        with pytest.raises(ar.WrongTypeError, match="what is written stays"):
            del new[name]
    new.complete()
    with pytest.raises(ar.WrongTypeError, match="what is written stays"):
        del new["t"]
    new.close()
    with pytest.raises(ar.InvalidRequestError, match="the file is closed"):
        del new["t"]
    now = read("old.root")
    assert now.pop("u").to_pydict() == DATA
    assert now == old


@pytest.mark.usefixtures("old")
def test_a_histogram_for_write_is_answered_with_the_line_that_updates():
    with pytest.raises(
        ar.InvalidRequestError, match=r"with ar\.update\('old\.root'\) as new: new\['h'\] = hist"
    ):
        ar.write("old.root:h", HISTOGRAM)


def test_root_reads_what_it_wrote_and_goes_on(tmp_path):
    root.run(update_with_root.make, tmp_path)
    before = root.run(update_with_root.read, tmp_path, "old.root")
    assert before["plots"][1] == "cycle 1"
    with ar.update("old.root") as new:
        new["u"] = DATA
    root.run(update_with_root.add, tmp_path, "old.root")
    ar.write("old.root:w", DATA)
    with ar.update("old.root") as new:
        del new["u"]
        new["plots/more"] = HISTOGRAM
        new.directory("made", "by arrowroot")
    after = root.run(update_with_root.read, tmp_path, "old.root")
    assert after == before | {"keys": ["by_root", "made", "plots", "t", "w"]}
    assert ar.open("old.root")["by_root"].title == "text"
    titles = {key.path: key.title for key in ar.open("old.root").key_list() if key.is_directory}
    assert titles == {"plots": "of runs", "made": "by arrowroot"}


def test_trees_stay_whose_records_are_not_written_anew(tmp_path):
    root.run(update_with_root.make_kept, tmp_path)
    before = root.run(update_with_root.read_kept, tmp_path, "kept.root")
    assert before["listed"][12] == (12, [])
    assert before["elsewhere"] == before["listed"]
    ours = ar.open("kept.root")["listed"].to_arrow()
    stored = Path("kept.root").read_bytes()
    with pytest.raises(ar.UnsupportedError, match="cannot be written again"):
        ar.merge("all.root", ["kept.root"])
    for number in range(2):
        with ar.update("kept.root") as new:
            new[f"first{number}"] = DATA
        assert root.run(update_with_root.read_kept, tmp_path, "kept.root") == before
        assert ar.open("kept.root")["listed"].to_arrow() == ours
    assert Path("kept.root").read_bytes() != stored
    with ar.update("kept.root") as new:
        del new["before"]
    assert root.run(update_with_root.read_kept, tmp_path, "kept.root") == before
    assert ar.open("kept.root").keys() == {"elsewhere", "first0", "first1", "listed"}
    # We write no tree with baskets in another file, and this is ROOT's: nothing looks at it later.
    assert_sound(Path("kept.root"), but={"branch-null-baskets", "branch-file", "branch-entries"})
    Path("kept.root").unlink()


def test_a_tree_stays_whose_branches_differ_in_their_entries(tmp_path):
    root.run(update_with_root.make_late, tmp_path)
    before = root.run(update_with_root.read_late, tmp_path, "late.root")
    assert before == [*range(1000), *range(10)]
    with pytest.raises(ar.SchemaMismatchError, match="10 entries in a tree of 1000"):
        ar.merge("all.root", ["late.root"])
    with ar.update("late.root") as new:
        new["first"] = DATA
        del new["before"]
    assert ar.open("late.root").keys() == {"first", "t"}
    assert root.run(update_with_root.read_late, tmp_path, "late.root") == before
    # This is ROOT's: nothing looks at it later.
    assert_sound(Path("late.root"), but={"branch-entries"})
    Path("late.root").unlink()


@pytest.mark.parametrize("kind", ["tree", "functions", "folder"])
def test_a_tree_with_trees_among_what_users_added_is_not_copied_without_their_baskets(kind, tmp_path):
    root.run(update_with_root.make_info, tmp_path, kind)
    before = there()
    new = ar.update("info.root")
    new["first"] = DATA
    del new["before"]
    with pytest.raises(ar.UnsupportedError, match=r"objects in its fUserInfo.*ar\.update and del"):
        new.close()
    assert there() == before
    with ar.update("info.root") as new:
        del new["outer"]
    assert ar.open("info.root").keys() == {"before"}


def test_a_title_that_has_no_room_or_is_no_text_is_told(tmp_path):
    root.run(update_with_root.make_titled, tmp_path, 4700)
    deep = tmp_path / ("d" * 200) / ("e" * 200)
    deep.mkdir(parents=True)
    Path("titled.root").rename(deep / "titled.root")
    with pytest.warns(UserWarning, match="its title is left out: .*room for 10000"):
        ar.write(f"{deep / 'titled.root'}:u", DATA)
    assert ar.open(deep / "titled.root").keys() == {"t", "u"}
    assert root.run(update_with_root.title, deep, "titled.root") == ""
    root.run(update_with_root.make_titled, tmp_path, 9)
    ar.write("titled.root:u", DATA)
    assert root.run(update_with_root.title, tmp_path, "titled.root") == "t" * 9
    stored = Path("titled.root").read_bytes()
    Path("titled.root").write_bytes(stored.replace(b"t" * 9, b"t" * 8 + b"\xe4"))
    with pytest.warns(UserWarning, match="its title is not UTF-8, and is left out"):
        ar.write("titled.root:w", DATA)
    assert root.run(update_with_root.title, tmp_path, "titled.root") == ""


@pytest.mark.parametrize("holder", ["list", "map", "folder", "functions"])
def test_trees_inside_of_objects_are_not_copied_without_their_baskets(holder, tmp_path):
    root.run(update_with_root.make_holder, tmp_path, holder)
    with pytest.raises(ar.UnsupportedError, match="a tree whose baskets are elsewhere"):
        ar.merge("all.root", [f"{holder}.root", f"{holder}.root"], rules={"*": "first"})
    with pytest.raises(ar.UnsupportedError, match=r"a tree whose baskets are elsewhere.*ar.update and del"):
        ar.write(f"{holder}.root:u", DATA)
    with ar.update(f"{holder}.root") as new:
        del new[holder]
        new["u"] = DATA
    assert ar.open(f"{holder}.root").keys() == {"u"}


def test_a_tree_of_memory_stays_in_its_list(tmp_path):
    root.run(update_with_root.make_holder, tmp_path, "memory")
    before = ar.open("memory.root")["memory/inner"].to_arrow()
    assert before.num_rows == 1000
    ar.write("memory.root:u", DATA)
    assert ar.open("memory.root")["memory/inner"].to_arrow().equals(before)


def test_a_file_from_whose_end_root_removed_a_tree_is_whole(tmp_path):
    root.run(update_with_root.make_shorter, tmp_path)
    assert Path("shorter.root").stat().st_size > root.run(update_with_root.end_of, tmp_path, "shorter.root")
    ar.merge("all.root", ["shorter.root", "shorter.root"])
    assert ar.open("all.root")["t"].num_entries == 2000
    ar.write("shorter.root:u", DATA)
    assert ar.open("shorter.root").keys() == {"t", "u"}
    assert ar.open("shorter.root")["t"].num_entries == 1000


def test_the_directory_may_be_another_one_in_the_end(tmp_path, monkeypatch):
    ar.write("old.root:t", DATA)
    with ar.update("old.root") as new:
        new["u"] = DATA
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
    assert ar.open(tmp_path / "old.root").keys() == {"t", "u"}


def test_a_change_behind_the_completion_is_noticed():
    ar.write("old.root:t", DATA)
    ar.write("theirs.root:t", DATA)
    new = ar.update("old.root")
    new["u"] = DATA
    new.complete()
    Path("theirs.root").replace("old.root")
    with pytest.raises(ar.StorageError, match="another program has written"):
        new.close()
    assert ar.open("old.root").keys() == {"t"}
    assert list(there()) == ["old.root"]
