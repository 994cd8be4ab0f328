"""Trees that are kept in little memory, as those of many files in a row."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._api import row as _row
from arrowroot._api.opened import opened_row
from tests.python.conftest import write_tree


def told(tree):
    """Return all that a tree says and holds."""
    aside = (
        tree.title,
        tree.auto_flush,
        tree.stored_bytes,
        tree.memory_bytes,
        tree.user_info,
        tree.digest()[1],
    )
    return list(map(str, tree.columns)), tree.num_entries, tree.clusters, aside, tree.to_arrow()


@pytest.fixture
def paths(tmp_path, request):
    """Two files with a tree "Events" of one schema: by another writer, or by us with what Arrow alone knows."""
    paths = [tmp_path / "x.root", tmp_path / "y.root"]
    for seed, path in enumerate(paths):
        if request.param == "others":
            write_tree(path, 300 + 5000 * seed, seed=seed)
            continue
        n = 50 + 900 * seed
        lists = [np.arange(i % (4 + seed), dtype=np.float32) for i in range(n)]
        table = pa.table({"x": range(n), "list": lists, "text": pa.array(["a", None] * (n // 2))})
        ar.write(f"{path}:Events", table, flush=7)
    return paths


@pytest.mark.parametrize("paths", ["others", "ours"], indirect=True)
def test_a_compact_tree_says_and_holds_the_same(paths):
    for path in paths:
        tree = ar.open(path)["Events"]
        before = told(tree)
        make, n_bytes = tree.compact()
        assert n_bytes < tree.digest()[1] / 2
        del tree
        for _ in range(2):
            assert told(make()) == before
        again, _ = make().compact()
        assert told(again()) == before


@pytest.mark.parametrize("paths", ["ours"], indirect=True)
def test_what_others_added_is_not_the_first_trees(paths, tmp_path):
    table = ar.open(paths[0])["Events"].to_arrow()
    for name, title in (("a", "first"), ("b", "second")):
        with ar.create(tmp_path / f"{name}.root") as file:
            file.tree("Events", table.schema, user_info={"note": title}).append(table)
    trees = [ar.open(tmp_path / f"{name}.root")["Events"] for name in "ab"]
    made = [tree.compact()[0]() for tree in trees]
    assert [tree.user_info for tree in made] == [{"note": "first"}, {"note": "second"}]


def test_what_cannot_be_compact_stays_as_it_is(tmp_path):
    ar.write(f"{tmp_path}/n.root:n", {"x": [1]}, layout="rntuple")
    assert ar.open(tmp_path / "n.root")["n"].compact() is None


def write_alike(folder, n_files, **given):
    """Write files with a tree "t" of the same columns. ``given``: what ``file.tree`` takes, by number of the file."""
    table = pa.table({f"x{i}": pa.array([1], pa.int8()) for i in range(100)})
    paths = [folder / f"{number}.root" for number in range(n_files)]
    for number, path in enumerate(paths):
        with ar.create(path) as file:
            file.tree("t", table.schema, **{name: of(number) for name, of in given.items()}).append(table)
    return paths


@pytest.mark.parametrize("are_alike", [True, False])
def test_the_schemas_that_files_have_of_their_own_count_in_a_row(tmp_path, monkeypatch, are_alike):
    def titles(number):
        return {f"x{i}": f"of {0 if are_alike else number}" for i in range(100)}

    monkeypatch.setattr(_row, "_COMPACT_BYTES", 600_000)
    row = opened_row([(str(path), "t") for path in write_alike(tmp_path, 9, titles=titles)], {})
    n_compact = sum(member.compact is not None for member in row.members)
    assert n_compact == 8 if are_alike else 1 <= n_compact <= 4


def test_nothing_is_read_to_count_what_trees_share(tmp_path):
    ar.write(f"{tmp_path}/large.root:t", {"x": np.random.default_rng(1).random(200_000)})
    file = ar.open(tmp_path / "large.root")
    tree = file["t"]
    before = file.accounts
    assert tree.shared_parts()
    assert file.accounts == before


def test_trees_of_one_schema_share_their_parts(tmp_path):
    titles = [{}, {}, {"x1": "another"}]
    trees = [ar.open(path)["t"] for path in write_alike(tmp_path, 3, titles=titles.__getitem__)]
    parts = [tree.shared_parts() for tree in trees]
    assert parts[0] == parts[1]
    assert not parts[0].keys() & parts[2].keys()


@pytest.mark.parametrize(
    "given",
    [
        {"title": "t" * 30_000},
        {"aliases": {f"a{i}": "x0" + "+x1" * 200 for i in range(100)}},
        {"aliases": {f"{'a' * 600}{i}": "x0" for i in range(100)}},
        {"friends": {f"f{i}": f"{'f' * 600}.root:t" for i in range(100)}},
    ],
)
def test_all_texts_that_a_compact_tree_keeps_count(tmp_path, given):
    (path,) = write_alike(tmp_path, 1, **{name: lambda _, one=one: one for name, one in given.items()})
    _, n_bytes = ar.open(path)["t"].compact()
    assert n_bytes > 25_000


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_a_row_knows_what_may_be_missing_as_its_first_file_does(tmp_path, layout):
    paths = [tmp_path / f"{name}.root" for name in "ab"]
    for path in paths:
        ar.write(f"{path}:t", pa.table({"x": [1.0, 2.0], "list": [[1], [2, 3]], "maybe": ["a", None]}))
    said = []
    for n_files in (1, 2):
        out = tmp_path / f"{n_files}.root"
        ar.write(f"{out}:t", ar.scan([f"{path}:t" for path in paths[:n_files]]), layout=layout)
        tree = ar.open(out)["t"]
        said.append((tree.stored_schema(), [(branch.path, branch.type_name) for branch in tree.branches]))
    assert said[0] == said[1]
    assert [field.name for field in said[1][0] if field.nullable] == ["maybe"]


def test_trees_that_are_made_of_what_is_kept_need_no_threads(tmp_path):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    urls = []
    for path in write_alike(tmp_path, 3):
        memory.pipe_file(f"/compact/{path.name}", path.read_bytes())
        urls.append(f"memory://compact/{path.name}")
    row = opened_row([(url, "t") for url in urls], {})
    assert [member.compact is not None for member in row.members] == [False, True, True]
    threads = {*row.of_each(lambda _: threading.current_thread())}
    assert threads == {threading.current_thread()}
