"""TEntryLists, made by hand, and which trees of a row they are of."""

import os

import numpy as np
import pytest

import arrowroot as ar
from arrowroot._objects.factory import Factory

from .conftest import write_tree

SIZES = [20, 30, 10]


def record(class_name, **members):
    factory = Factory(pytest.fail)
    made = factory.record(class_name, ())
    factory.fill(made, members)
    return made


def entry_list(entries, tree="Events", file=""):
    block = record("TEntryListBlock", fIndices=np.array(entries, dtype=np.uint16), fType=1, fPassing=True)
    return record(
        "TEntryList", fName="el", fN=len(entries), fTreeName=tree, fFileName=str(file), fBlocks=[block]
    )


def joined(*lists):
    return record("TEntryList", fName="el", fN=sum(one.num_entries for one in lists), fLists=list(lists))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lists")
    files = [folder / f"f{i}.root" for i in range(len(SIZES))]
    runs = [
        write_tree(path, n, seed=i + 1)["run"].tolist()
        for i, (path, n) in enumerate(zip(files, SIZES, strict=True))
    ]
    return files, runs


def read(files, entries, **options):
    return ar.scan(files, "Events", "run", entries=entries, **options).read_all()["run"].to_pylist()


def test_a_list_of_one_file_chooses_entries_of_that_file(files):
    files, runs = files
    assert read(files, entry_list([0, 7], file=files[1])) == [runs[1][0], runs[1][7]]
    whole = read(files, entry_list([0, 7], file=files[1]), filter="run >= 0")
    assert whole == [runs[1][0], runs[1][7]]


@pytest.mark.parametrize(
    "made_of", [("TEntryListArray", ("TEntryList",)), ("Mine", ("Further", "TEntryList", "TNamed"))]
)
def test_lists_of_derived_classes_are_of_the_trees_that_they_name(files, made_of):
    files, runs = files
    factory = Factory(pytest.fail)

    def derived(like):
        made = factory.record(*made_of)
        own = {"fN": "hides", "fLists": 8, "fTreeName": 9, "fList": 10}
        hidden = {f"TEntryList::{name}": like.get(name) for name in own if name != "fList"}
        others = {name: value for name, value in like.members.items() if name not in own}
        factory.fill(made, own | hidden | others, own=tuple(own))
        return made

    one = derived(entry_list([0, 7], file=files[1]))
    assert read(files, one) == [runs[1][0], runs[1][7]]
    with pytest.raises(ar.InvalidRequestError, match="not of"):
        ar.open(files[0])["Events"].to_arrow(entries=one)
    both = derived(joined(derived(entry_list([3], file=files[2])), one))
    assert read(files, both) == [runs[1][0], runs[1][7], runs[2][3]]


def test_lists_go_to_the_files_that_they_name_in_the_order_of_the_files(files):
    files, runs = files
    both = joined(entry_list([3], file=files[2]), entry_list([1, 5], file=files[0]))
    assert read(files, both) == [runs[0][1], runs[0][5], runs[2][3]]
    with pytest.warns(ar.UnusedEntriesWarning, match=r"1 of the 3 entries .*f2\.root"):
        assert read(files[:2], both) == [runs[0][1], runs[0][5]]
    # TChain::Draw writes the entries of both into one list, and reads those of one of the two.
    with pytest.raises(
        ar.InvalidRequestError, match=r"1 list of 'Events' of .*f0\.root.* is there 2 times: name it"
    ):
        read([files[0], files[1], files[0]], both)
    assert read([files[0], files[0]], entry_list([], file=files[0])) == []
    assert ar.open(files[2])["Events"].to_arrow("run", entries=both)["run"].to_pylist() == [runs[2][3]]


def test_files_that_were_moved_are_known_by_the_last_part_of_their_names(files):
    files, runs = files
    moved = joined(entry_list([3], file="/elsewhere/f2.root"), entry_list([1], file="/elsewhere/f9.root"))
    with pytest.warns(ar.UnusedEntriesWarning, match=r"1 of the 2 entries .*f9\.root"):
        assert read(files, moved) == [runs[2][3]]
    assert read(files, entry_list([3], file="root://server:1094//store/f1.root?x=y")) == [runs[1][3]]
    double = joined(entry_list([3], file="/a/f2.root"), entry_list([1], file="/b/f2.root"))
    with pytest.raises(ar.InvalidRequestError, match=r"cannot be told.*'a/f2\.root'.*'b/f2\.root'"):
        read(files, double)


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbered")
    files = [folder / part for part in ("0000/tree_1.root", "0000/tree_2.root", "0001/tree_1.root")]
    for place, path in enumerate(files):
        path.parent.mkdir(exist_ok=True)
        write_tree(path, SIZES[place], seed=place + 1)
    return files, [ar.open(path)["Events"].to_numpy("run")["run"].tolist() for path in files]


def test_moved_files_are_told_apart_by_the_longest_common_end_of_their_paths(numbered):
    files, runs = numbered
    lists = [
        entry_list([place, 5], file=f"/elsewhere/{path.parent.name}/{path.name}")
        for place, path in enumerate(files)
    ]
    wanted = [runs[place][entry] for place in range(3) for entry in (place, 5)]
    assert read(files, joined(*lists)) == wanted
    assert read(files, joined(*reversed(lists))) == wanted
    # One that is not there is nobody else's.
    with pytest.warns(ar.UnusedEntriesWarning, match=r"0000/tree_1"):
        assert read(files[1:], joined(*lists)) == wanted[2:]
    assert read([files[2]], joined(*lists)) == wanted[4:]


def test_moved_files_that_cannot_be_told_apart_are_an_error(numbered):
    files, _ = numbered
    lists = joined(entry_list([1], file="/x/0002/tree_1.root"), entry_list([2], file="/x/0000/tree_2.root"))
    with pytest.raises(
        ar.InvalidRequestError, match=r"'x/0002/tree_1\.root' may be .*0000/tree_1.* or .*0001/tree_1"
    ):
        read(files, lists)


def test_lists_of_one_name_go_to_the_trees_of_that_name_in_their_order(files):
    files, runs = files
    both = joined(entry_list([1, 2], file=files[0]), entry_list([2, 9], file=files[0]))
    twice = [runs[0][i] for i in (1, 2, 2, 9)]
    assert read([files[0], files[0]], both) == twice
    assert read([files[0], files[1], files[0]], both) == twice
    assert read([files[0], files[0].as_uri()], both) == twice
    with pytest.raises(ar.InvalidRequestError, match=r"2 lists of 'Events' of .*which is there 3 times"):
        read([files[0]] * 3, both)


def test_several_lists_of_an_only_tree_are_read_one_after_the_other(files):
    files, runs = files
    apart = joined(entry_list([1, 3, 5], file=files[0]), entry_list([2, 4], file=files[0]))
    wanted = [runs[0][i] for i in (1, 3, 5, 2, 4)]
    assert read(files, apart) == wanted
    assert ar.open(files[0])["Events"].to_arrow("run", entries=apart)["run"].to_pylist() == wanted
    with pytest.raises(ar.InvalidRequestError, match=r"2 lists .*is there once, and have entries in common"):
        read(files, joined(entry_list([1, 3], file=files[0]), entry_list([3], file=files[0])))


def test_lists_within_lists_and_empty_ones_are_followed(files):
    files, runs = files
    inner = joined(entry_list([1], file=files[0]), entry_list([], file=files[1]))
    outer = joined(inner, entry_list([4], file=files[2]), entry_list([], file="/x/none.root"))
    assert [one.num_entries for one in outer.lists] == [1, 0, 1, 0]
    assert read(files, outer) == [runs[0][1], runs[2][4]]


def test_a_list_that_is_inside_of_itself_is_damage(files):
    files, _ = files
    factory = Factory(pytest.fail)
    circle = factory.record("TEntryList", ())
    factory.fill(circle, {"fName": "el", "fN": 1, "fLists": [circle]})
    with pytest.raises(ar.CorruptFileError, match="has the list 'el' twice"):
        read(files, circle)


def test_entries_are_compared_with_the_sum_that_the_list_says(files):
    files, _ = files
    wrong = record("TEntryList", fName="el", fN=7, fLists=[entry_list([1], file=files[0])])
    with pytest.raises(ar.CorruptFileError, match="says 7 entries, but its 1 list have 1"):
        read(files, wrong)


def test_trees_that_differ_by_an_outer_directory_alone_need_their_whole_path():
    from arrowroot._objects.matching import UnclearError, matched
    from arrowroot._select.events import OnlyTree

    trees = [OnlyTree("/f.root", "a/b/T", 9, (1, "")), OnlyTree("/f.root", "c/b/T", 9, (1, ""), 9)]
    lists = [entry_list([1], tree=tree, file="/f.root") for tree in ("c/b/T", "a/b/T")]
    assert matched(lists, trees).of_trees == [[lists[1]], [lists[0]]]
    assert matched(lists, trees[:1]).of_trees == [[lists[1]]]
    short = [entry_list([1], tree="b/T", file="/f.root")]
    assert matched(short, trees[:1]).of_trees == [short]
    with pytest.raises(UnclearError, match="'a/b/T' or 'c/b/T'"):
        matched(short, trees)


def test_relative_names_are_from_the_working_directory(files, monkeypatch):
    files, runs = files
    monkeypatch.chdir(files[0].parent)
    assert read([path.name for path in files], entry_list([3], file=files[1])) == [runs[1][3]]
    assert read(files, entry_list([3], file=os.path.join(".", "f1.root"))) == [runs[1][3]]  # noqa: PTH118 - text


@pytest.mark.parametrize("other", [{"tree": "Other"}, {"file": "/x/other.root"}])
def test_a_list_of_another_tree_or_file_is_refused_with_both_names(files, other):
    files, runs = files
    wrong = entry_list([3], **{"file": files[0], **other})
    message = r"'el' is of .*other.*, not of 'Events' of '.*f0\.root'.*; its to_numpy\(\) gives numbers"
    for read_with in (read, lambda files, entries: ar.open(files[0])["Events"].to_arrow(entries=entries)):
        with pytest.raises(ar.InvalidRequestError, match=f"(?i){message}"):
            read_with(files, wrong)
    assert read(files, wrong.to_numpy()) == [runs[0][3]]
    with pytest.raises(ar.InvalidRequestError, match=r"its lists\[i\].to_numpy\(\) gives"):
        read(files, joined(wrong, wrong))


def test_names_that_a_list_lacks_are_those_of_the_only_tree(files):
    files, runs = files
    assert read(files[:1], entry_list([3], tree="")) == [runs[0][3]]
    assert (
        ar.open(files[0])["Events"].to_arrow("run", entries=entry_list([3], tree=""))["run"][0].as_py()
        == (runs[0][3])
    )
    with pytest.raises(ar.InvalidRequestError, match="not of"):
        read(files, entry_list([3]))


def test_a_list_of_nothing_chooses_nothing_anywhere(files):
    files, _ = files
    assert read(files, entry_list([], file="/x/other.root")) == []
    assert read(files, entry_list([], file=files[1]), filter="run >= 0") == []


def test_an_entry_that_a_file_does_not_have_is_refused_with_its_name(files):
    files, _ = files
    with pytest.raises(
        ar.InvalidRequestError, match=r"no entry 20 in .*f0\.root:Events, a tree of 20 entries"
    ):
        read(files, entry_list([0, 20], file=files[0]))


def test_event_lists_name_no_file_and_count_on(files):
    files, runs = files
    events = record("TEventList", fName="el", fN=2, fList=np.array([1, 21]))
    assert read(files, events) == [runs[0][1], runs[1][1]]
