"""Branches keep the dots of their names, in ROOT as in uproot."""

from __future__ import annotations

import awkward as ak
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import dots_with_root

JETS = [[1.5, 2.5], [], [3.5]]
ETAS = [[-1.0, 1.0], [], [2.0]]
TRACKS = [[1.0], [2.0, 3.0, 4.0], []]
HITS = [[[1], []], [], [[2, 3]]]
MET = [0.5, 1.5, 2.5]


@pytest.fixture
def data():
    return {
        "met.pt": ak.Array(MET),
        "jet.pt": ak.values_astype(ak.Array(JETS), "float32"),
        "jet.eta": ak.values_astype(ak.Array(ETAS), "float32"),
        "track.pt": ak.values_astype(ak.Array(TRACKS), "float32"),
        "hit.x": ak.values_astype(ak.Array(HITS), "int32"),
    }


def check(path):
    found = root.run(dots_with_root.use, path.parent, str(path))
    assert set(found.pop("names")) == {
        "met.pt", "njet", "jet.pt", "jet.eta", "ntrack.pt", "track.pt", "hit.x"
    }  # fmt: skip
    assert found == {
        "number": MET,
        "list": [1.5, 2.5, 3.5],
        "with others": [1.5],
        "sum": [4.0, 0.0, 3.5],
        "own counter": [1.0, 2.0, 3.0, 4.0],
        "vectors": [1.0, 2.0, 3.0],
        "TTreeReader": [list(one) for one in zip(MET, JETS, ETAS, TRACKS, strict=True)],
        "RDataFrame": [[], [3.5]],
    }
    with uproot.open(path) as file:
        tree = file["Events"]
        assert tree["jet.pt"].array().to_list() == JETS
        assert tree["hit.x"].array().to_list() == HITS
        assert tree.arrays(["met.pt"])["met.pt"].to_list() == MET
    with ar.open(path) as file:
        read = file["Events"].to_arrow().to_pydict()
        assert {name: read[name] for name in ("met.pt", "jet.pt", "jet.eta", "track.pt", "hit.x")} == {
            "met.pt": MET,
            "jet.pt": JETS,
            "jet.eta": ETAS,
            "track.pt": TRACKS,
            "hit.x": HITS,
        }


def test_branches_keep_dots_through_a_skim_and_a_merge(tmp_path, data):
    with (
        ar.create(tmp_path / "1.root") as file,
        file.tree("Events", layout=ar.Layout("ttree", counters={"jet.*": "njet"})) as tree,
    ):
        tree.append(data)
    check(tmp_path / "1.root")
    ar.skim(tmp_path / "1.root", tmp_path / "2.root")
    check(tmp_path / "2.root")
    ar.skim(tmp_path / "2.root", tmp_path / "half.root", filter="`met.pt` > 1")
    ar.skim(tmp_path / "2.root", tmp_path / "rest.root", filter="not (met.pt > 1)")
    ar.merge(tmp_path / "3.root", [tmp_path / "rest.root", tmp_path / "half.root"])
    check(tmp_path / "3.root")


def test_dots_at_an_end_or_side_by_side_are_numbers(tmp_path):
    ar.write(f"{tmp_path}/x.root:T", {"a.": [1], ".b": [2], "c..d": [3], "e.2": [4]})
    with uproot.open(tmp_path / "x.root") as file:
        assert file["T"].keys() == ["a_x2e_", "_x2e_b", "c_x2e__x2e_d", "e._x32_"]
    with ar.open(tmp_path / "x.root") as file:
        assert file["T"].to_arrow().to_pylist() == [{"a.": 1, ".b": 2, "c..d": 3, "e.2": 4}]
