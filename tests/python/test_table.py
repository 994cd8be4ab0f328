"""How things present themselves."""

import pickle

import pytest

import arrowroot as ar


@pytest.fixture
def tree(sample):
    return ar.open(sample[0])["Events"]


def test_branches_and_columns_show_what_they_are(tree):
    branch = next(branch for branch in tree.branches if branch.path == "pt")
    assert repr(branch) == '<Branch "pt" float[]: 1000 entries, 4 baskets>'
    column = next(column for column in tree.columns if column.name == "pt")
    assert repr(column).startswith("<Column 'pt' float[]: 1,000 entries, list<float>, ")


def test_one_is_not_many(tmp_path):
    from .conftest import write_tree

    write_tree(tmp_path / "one.root", n_entries=1)
    with ar.open(tmp_path / "one.root") as file:
        tree = file["Events"]
        assert "1 entry, 5 columns" in repr(tree)
        assert "1 entry, 1 column>" in repr(tree.scan(["run"]))


def test_what_holds_a_file_open_says_why_it_is_not_pickled(sample, tree):
    with ar.open(sample[0]) as file:
        for what, instead in (
            (file, f"arrowroot.open('{sample[0]}')"),
            (file["dir"], f"arrowroot.open('{sample[0]}')['dir']"),
            (tree, f"arrowroot.open('{sample[0]}')['Events']"),
            (tree.scan(["run"]), f"{sample[0]}:Events"),
        ):
            with pytest.raises(TypeError, match="cannot be pickled: it holds an open file") as caught:
                pickle.dumps(what)
            assert instead in str(caught.value)


def test_a_cycle_that_is_no_number_is_named(sample):
    file = ar.open(sample[0])
    for path in ("Events;", "Events;x"):
        with pytest.raises(ar.NoSuchKeyError, match='a number is expected after the ";"'):
            file[path]
    with pytest.raises(ar.NoSuchKeyError, match="no cycle '7', only 1"):
        file["Events;7"]


def test_columns_that_are_no_names_are_refused(sample, tree):
    for read in (tree.to_arrow, tree.scan, tree.choose, lambda columns: ar.scan(sample[0], columns=columns)):
        with pytest.raises(ar.InvalidRequestError, match="columns: expected a name or several, got 3"):
            read(3)


def test_a_tree_gives_a_column_by_its_name(tree):
    assert tree["run"].to_arrow().equals(tree.to_arrow("run")["run"])
    with pytest.raises(ar.NoSuchColumnError, match="did you mean 'run'"):
        tree["runn"]
    for pattern in ("*", "ru?", "!run"):
        with pytest.raises(ar.InvalidRequestError, match="is no single column"):
            tree[pattern]
    for wrong in (lambda: tree[0], lambda: iter(tree)):
        with pytest.raises(TypeError):
            wrong()
    assert tree._ipython_key_completions_() == tree.column_names
    assert {"scan", "to_arrow", "columns"} <= set(dir(tree))
    assert not {"source", "filtered", "digest"} & set(dir(tree)), "what scans ask of a tree is not offered"


def test_counters_are_shown_for_people(tree):
    scan = tree.scan(["pt"], filter="run > 3")
    assert "those with 'run > 3'" in repr(scan)
    n_selected = len(scan.read_all())
    first, *rest = str(scan.stats).splitlines()
    assert first.startswith(f"{n_selected:,} entries of 1,000 that the filter looked at in ")
    assert [line.split()[1] for line in rest[:2]] == ["reads", "baskets,"]
