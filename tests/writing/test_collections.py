"""Lists and dictionaries of objects become TList and TMap; sparse histograms of any type are written again."""

from __future__ import annotations

import hist
import numpy as np
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import collections_with_root


def test_lists_and_dictionaries_are_those_of_root(tmp_path):
    h = hist.Hist.new.Reg(4, 0, 1, name="x").Double().fill([0.1, 0.6, 0.6])
    first = tmp_path / "first.root"
    with ar.create(first) as file:
        file["graph_like"] = np.histogram([0.2, 0.3], bins=3, range=(0, 1))
    with ar.open(first) as file, ar.create(tmp_path / "lists.root") as out:
        read = file["graph_like"]
        out["list"] = ["text", h, read, read, ["inner", read], {"k": "v"}]
        out["dir/map"] = {"histogram": h, "text": "of mine", "read": read, "inside": {"a": "b"}}
        out["empty"] = []
        out["table"] = {"x": np.arange(3), "texts": ["a", "b", "c"]}
    said = root.run(collections_with_root.lists, tmp_path, tmp_path / "lists.root", complaints_but=())
    assert said["list"] == [
        ["TObjString", "text", 0],
        ["TH1D", "list_1", 3],
        ["TH1D", "graph_like", 2],
        ["TH1D", "graph_like", 2],
        ["TList", "list_4", 2],
        ["TMap", "list_5", 1],
    ]
    assert said["is one object"], "what is there twice"
    assert said["map"] == {
        "histogram": ["TH1D", 3],
        "text": ["TObjString", 0],
        "read": ["TH1D", 2],
        "inside": ["TMap", 1],
    }
    assert said["empty"] == 0
    assert said["table"] == "TTree"
    with ar.open(tmp_path / "lists.root") as file:
        found = file["list"]
        assert [item.class_name for item in found] == [kind for kind, *_ in said["list"]]
        assert found[2] is found[3]
        assert str(file["dir/map"]["text"]) == "of mine"
        assert file["dir/map"]["inside"]["a"] == "b"
    with uproot.open(tmp_path / "lists.root") as file:
        assert [item.classname for item in file["list"]][:4] == ["TObjString", "TH1D", "TH1D", "TH1D"]


def test_what_cannot_be_in_a_list_is_named(tmp_path):
    with ar.create(tmp_path / "out.root") as file:
        with pytest.raises(
            ar.UnsupportedError, match=r"list_1: no class of ROOT is known for builtins\.float"
        ):
            file["list"] = ["text", 0.5]
        endless = []
        endless.append(endless)
        with pytest.raises(ar.UnsupportedError, match="more than 100 deep"):
            file["list"] = endless
        file["list"] = ["text"]
    with pytest.raises(ar.InvalidRequestError, match="object"), ar.create(tmp_path / "mixed.root") as file:
        file["mixed"] = {"object": "text", "column": [1, 2]}


def test_sparse_histograms_of_any_type_are_for_root_what_they_were(tmp_path):
    theirs, ours = tmp_path / "theirs.root", tmp_path / "ours.root"
    root.run(collections_with_root.write_sparse, tmp_path, theirs)
    with ar.open(theirs) as file, ar.create(ours) as out:
        names = [key.path for key in file.key_list(cycles=False)]
        assert names == ["sparse_D", "sparse_F", "sparse_L", "sparse_I", "sparse_S", "sparse_C", "weighted"]
        for name in names:
            out[name] = file[name]
    before, after = (
        root.run(collections_with_root.show_sparse, tmp_path, path, complaints_but=())
        for path in (theirs, ours)
    )
    assert after == before
    assert before["weighted"]["errors"]


def test_histograms_of_more_than_three_axes_become_sparse_ones(tmp_path):
    rng = np.random.default_rng(1)
    axes = [hist.axis.Regular(5, 0, 1, name=f"x{i}", label=f"axis {i}") for i in range(3)]
    axes.append(hist.axis.Variable([0, 0.5, 3], name="edges"))
    h = hist.Hist(*axes, storage=hist.storage.Weight())
    h.fill(*rng.uniform(-0.2, 1.2, (4, 200)), weight=rng.uniform(0.5, 2, 200))
    plain = hist.Hist(*(hist.axis.Regular(3 + i, 0, 1, name=f"y{i}") for i in range(5)))
    plain.fill(*rng.uniform(0, 1, (5, 100)))
    path = tmp_path / "sparse.root"
    with ar.create(path) as file:
        file["h"] = h
        file["plain"] = plain
    said = root.run(collections_with_root.show_sparse, tmp_path, path, complaints_but=())
    for name, one in (("h", h), ("plain", plain)):
        view = one.view(flow=True)
        values = view["value"] if name == "h" else view
        found = np.zeros(values.shape)
        for *place, content, _ in said[name]["bins"]:
            found[tuple(place)] = content
        np.testing.assert_allclose(found, values)
        if name == "h":
            errors = np.zeros(values.shape)
            for *place, _, error in said[name]["bins"]:
                errors[tuple(place)] = error**2
            np.testing.assert_allclose(errors, view["variance"])
        assert said[name]["n_filled"] == np.count_nonzero(values)
    assert said["h"]["titles"] == ["axis 0", "axis 1", "axis 2", "edges"]
    assert said["h"]["edges"] == [0, 0.5, 3]
