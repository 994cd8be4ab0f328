"""Trees that stay open in less memory, as those of many files in a row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.python.conftest import write_tree


def told(tree):
    """Return all that a tree says and holds."""
    return list(map(str, tree.columns)), tree.num_entries, tree.clusters, tree.to_arrow()


@pytest.fixture
def path(tmp_path, request):
    """A file with a tree "Events" by another writer, or by us with what Arrow alone knows."""
    path = tmp_path / "x.root"
    if request.param == "others":
        write_tree(path, 300, seed=1)
        return path
    lists = [np.arange(i % 4, dtype=np.float32) for i in range(50)]
    table = pa.table({"x": range(50), "list": lists, "text": pa.array(["a", None] * 25)})
    ar.write(f"{path}:Events", table, flush=7)
    return path


@pytest.mark.parametrize("path", ["others", "ours"], indirect=True)
def test_a_compact_tree_says_and_holds_the_same(path):
    tree = ar.open(path)["Events"]
    before = told(tree)
    assert tree.compact() < tree.digest()[1]
    assert told(tree) == before
    assert tree.compact() is not None


def test_what_cannot_be_compact_stays_as_it_is(tmp_path):
    ar.write(f"{tmp_path}/n.root:n", {"x": [1]}, layout="rntuple")
    assert ar.open(tmp_path / "n.root")["n"].compact() is None
