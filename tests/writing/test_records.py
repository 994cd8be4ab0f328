"""Flat columns that are written as records, with projected fields for their names: the preset "nanoaod-rntuple"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from arrowroot._sample.make import sample_of
from arrowroot.cli import main
from tests.judge import root

from . import projections_with_root as with_root

if TYPE_CHECKING:
    from pathlib import Path

#: Columns of the sample, of each kind that NanoAOD has.
ASKED = [
    "run",
    "nMuon",
    "Muon_pt",
    "Muon_charge",
    "HLT_IsoMu24",
    "Flag_goodVertices",
    "nPSWeight",
    "PSWeight",
]


def flat() -> pa.Table:
    return pa.table(
        {
            "run": pa.array([1, 2, 3], pa.uint32()),
            "nMuon": pa.array([1, 0, 2], pa.int32()),
            "Muon_pt": pa.array([[1.5], [], [2.5, 3.5]], pa.list_(pa.float32())),
            "Muon_track_eta": pa.array([[0.5], [], [1.5, -2.0]], pa.list_(pa.float64())),
            "HLT_Mu8": [True, False, True],
            "HLT_Mu8_DZ": [False, False, True],
            "Pileup_nTrueInt": pa.array([10.0, 20.0, 30.0], pa.float32()),
            "nWeight": pa.array([2, 2, 2], pa.int32()),
            "Weight": pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float32())),
        }
    )


MUONS = [
    [{"pt": 1.5, "track_eta": 0.5}],
    [],
    [{"pt": 2.5, "track_eta": 1.5}, {"pt": 3.5, "track_eta": -2.0}],
]
RECORDS = {
    "run": [1, 2, 3],
    "Muon": MUONS,
    "HLT": [{"Mu8": True, "Mu8_DZ": False}, {"Mu8": False, "Mu8_DZ": False}, {"Mu8": True, "Mu8_DZ": True}],
    "Pileup": [{"nTrueInt": 10.0}, {"nTrueInt": 20.0}, {"nTrueInt": 30.0}],
    "Weight": [[1.0, 2.0]] * 3,
}
PROJECTIONS = {
    "nMuon": "#Muon", "Muon_pt": "Muon.pt", "Muon_track_eta": "Muon.track_eta", "HLT_Mu8": "HLT.Mu8",
    "HLT_Mu8_DZ": "HLT.Mu8_DZ", "Pileup_nTrueInt": "Pileup.nTrueInt", "nWeight": "#Weight",
}  # fmt: skip


def solid(schema: pa.Schema) -> pa.Schema:
    """A schema that excludes nulls."""
    return pa.schema([field.with_nullable(False) for field in schema])


def read(path: Path) -> ar.Tree:
    found = ar.open(str(path))["Events"]
    assert isinstance(found, ar.Tree)
    return found


def check(tree: ar.Tree) -> None:
    """Records, and all names of the flat columns."""
    assert tree.projections == PROJECTIONS
    table, columns = tree.to_arrow(), flat().to_pydict()
    assert {name: table[name].to_pylist() for name in RECORDS} == RECORDS
    assert {name: table[name].to_pylist() for name in columns} == columns
    assert table.column_names == [*RECORDS, *PROJECTIONS]


def test_flat_columns_become_records_whose_old_names_are_projected(tmp_path):
    data = flat()
    titles = {"Muon_pt": "in GeV", "nMuon": "how many"}
    ar.write(f"{tmp_path}/out.root:Events", data, layout="nanoaod-rntuple", titles=titles)
    tree = read(tmp_path / "out.root")
    check(tree)
    assert {one.name: one.title for one in tree.columns if one.title} == titles


def test_records_stay_what_they_are(tmp_path):
    ar.write(f"{tmp_path}/flat.root:Events", flat(), layout="nanoaod-rntuple")
    data = read(tmp_path / "flat.root").to_arrow(list(RECORDS))
    ar.write(f"{tmp_path}/out.root:Events", data, layout="nanoaod-rntuple")
    check(read(tmp_path / "out.root"))


@pytest.mark.parametrize("way", ["append", "schema", "batches", "context"])
def test_batches_are_put_together_as_the_whole_is(tmp_path, way):
    data = flat()
    parts = [data[:0], data[:1], data[1:]]
    schema = solid(data.schema) if way == "schema" else None
    with ar.create(f"{tmp_path}/out.root") as file:
        events = file.tree("Events", schema, layout="nanoaod-rntuple")
        if way == "context":
            with events.context() as context:
                for part in parts:
                    context.fill(part)
        elif way == "batches":
            events.append(batch for part in parts for batch in part.to_batches())
        else:
            for part in parts:
                events.append(part)
    check(read(tmp_path / "out.root"))


def test_lists_that_differ_later_are_refused_with_entry_and_setting(tmp_path):
    data = flat()
    other = data.set_column(3, "Muon_track_eta", pa.array([[0.5], [1.0], []], pa.list_(pa.float64())))
    why = r"column 'Muon_track_eta', entry 4: 1, where the list of 'Muon_pt' has 0.*records=\{'Muon_track_eta': 'own'\}"
    with ar.create(f"{tmp_path}/out.root") as file:
        events = file.tree("Events", layout="nanoaod-rntuple")
        events.append(data)
        with pytest.raises(ar.InvalidRequestError, match=why):
            events.append(other)
        with pytest.raises(ar.InvalidRequestError, match="the data lack 'HLT_Mu8'"):
            events.append(data.drop_columns(["HLT_Mu8"]))
    check(read(tmp_path / "out.root"))


def test_lists_that_differ_from_the_beginning_stay_columns(tmp_path):
    data = flat().append_column("Muon_hits", pa.array([[1, 2], [], []], pa.list_(pa.int32())))
    ar.write(f"{tmp_path}/out.root:Events", data, layout="nanoaod-rntuple")
    tree = read(tmp_path / "out.root")
    assert {"Muon_hits", "Muon"} <= set(tree.column_names) - set(tree.projections)
    assert tree["Muon_hits"].to_arrow().to_pylist() == [[1, 2], [], []]


def test_records_are_named_by_patterns_too(tmp_path):
    layout = ar.Layout("rntuple", records={"Muon_*": "mu", "HLT_*": "HLT"})
    ar.write(f"{tmp_path}/out.root:Events", flat(), layout=layout)
    tree = read(tmp_path / "out.root")
    assert tree.column_names == ["run", "nMuon", "mu", "HLT", "Pileup_nTrueInt", "nWeight", "Weight"]
    assert tree["mu"].to_arrow().to_pylist()[0] == [{"Muon_pt": 1.5, "Muon_track_eta": 0.5}]
    with pytest.raises(ar.InvalidRequestError, match="cannot all be members of 'x': some are lists"):
        ar.write(f"{tmp_path}/b.root:Events", flat(), layout=ar.Layout("rntuple", records={"*": "x"}))
    with pytest.raises(ar.InvalidRequestError, match="a tree has none"):
        ar.Layout(records="named")


@pytest.mark.long
def test_a_sample_in_the_layout_is_read_by_both_names_everywhere(tmp_path, capsys):
    out = tmp_path / "sample.root"
    arguments = ["sample", "nanoaod", str(out), "--entries", "200", "--layout", "nanoaod-rntuple"]
    assert main(arguments) == 0
    capsys.readouterr()
    (batch,) = sample_of("nanoaod", n_entries=200).batches()
    expected: dict[str, list[Any]] = {name: batch.column(name).to_pylist() for name in ASKED}
    tree = read(out)
    # All names of the flat sample are there.
    assert set(batch.schema.names) <= set(tree.column_names)
    assert {name: tree[name].to_arrow().to_pylist() for name in ASKED} == expected
    assert [len(one) for one in tree["Muon"].to_arrow().to_pylist()] == expected["nMuon"]
    assert tree["HLT.IsoMu24"].to_arrow().to_pylist() == expected["HLT_IsoMu24"]
    with uproot.open(out) as file:
        found = file["Events"].arrays(ASKED)
    assert {name: found[name].tolist() for name in ASKED} == expected
    asked = root.run(with_root.frame, tmp_path, out.name, [*ASKED, "Muon.pt", "HLT.IsoMu24"])
    assert {name: asked[name] for name in ASKED} == expected
    assert (asked["Muon.pt"], asked["HLT.IsoMu24"]) == (expected["Muon_pt"], expected["HLT_IsoMu24"])
    types = {"nMuon": "#", "Muon_pt": "std::vector<float>", "Flag_goodVertices": "bool"}
    texts = root.run(with_root.views, tmp_path, out.name, types)
    assert list(map(int, texts["nMuon"])) == expected["nMuon"]


def test_a_flat_tree_is_converted_to_records_and_back(tmp_path, capsys):
    tree, records, back = (str(tmp_path / name) for name in ("tree.root", "records.root", "back.root"))
    ar.write(f"{tree}:Events", flat(), schema=solid(flat().schema), layout="nanoaod")
    assert main(["skim", tree, records, "--layout", "nanoaod-rntuple"]) == 0
    check(read(tmp_path / "records.root"))
    assert main(["skim", records, back, "--layout", "ttree"]) == 0
    names = ["run", "Muon_pt", "nMuon", "HLT_Mu8_DZ", "nWeight"]
    found = read(tmp_path / "back.root").to_arrow(names)
    assert found.to_pydict() == flat().select(names).to_pydict()
    assert main(["skim", tree, back, "--layout", "nanoaod-rntuple", "--verify"]) == 2
    assert "--verify: the layout makes records of columns" in capsys.readouterr().err


def test_the_first_entries_decide_that_nothing_becomes_a_record(tmp_path):
    """The type of a column is open then, so the table begins later."""
    layout = ar.Layout("rntuple", records={"*": "named"})
    parts = [
        {"o": pa.array([None]), "Jet_pt": [[1.0]], "Jet_eta": [[1.0, 2.0]]},
        {"o": pa.array([1]), "Jet_pt": [[1.0]], "Jet_eta": [[1.0]]},
    ]
    with ar.create(tmp_path / "f.root") as file, file.tree("t", layout=layout) as table:
        for part in parts:
            table.append(part)
    found = ar.open(tmp_path / "f.root")["t"].to_arrow().to_pydict()
    assert found == {"o": [None, 1], "Jet_pt": [[1.0], [1.0]], "Jet_eta": [[1.0, 2.0], [1.0]]}
