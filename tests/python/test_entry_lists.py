"""TEntryLists, made by hand, and which trees of a row they are of."""

import numpy as np
import pytest

import arrowroot as ar
from arrowroot._objects.factory import Factory
from tests.recorded import session

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


def test_entries_of_lists_are_those_of_the_trees_that_they_name(files):
    files, _ = files
    folder = files[0].parent
    numbered = [folder / part for part in ("0000/tree_1.root", "0000/tree_2.root", "0001/tree_1.root")]
    for path, original in zip(numbered, files, strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(original.read_bytes())
    made = {"record": record, "entry_list": entry_list, "joined": joined, "read": read}
    names = {"ar": ar, "np": np, "files": files, "numbered": numbered, **made}
    session("entry-lists", folder, names, [(str(folder)[1:], "cwd")])
