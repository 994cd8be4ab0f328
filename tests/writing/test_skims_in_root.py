"""Skims beside RDataFrame's Snapshot, entry by entry, as ROOT and uproot read them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import skims_with_root

COLUMNS = ["event", "nMuon", "Muon_pt", "Muon_charge", "w"]
FILTER = "nMuon >= 2 && Muon_pt[0] > 15"


def lists_of(kind):
    return pa.list_(pa.field("item", kind, nullable=False))


def put(path, n_entries, seed, layout):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, n_entries).astype(np.int32)
    momenta = np.split(rng.exponential(20, int(counts.sum())).astype(np.float32), np.cumsum(counts)[:-1])
    with ar.create(path, compression="lzma:3") as file:
        schema = {
            "event": "uint64",
            "nMuon": "int32",
            "Muon_pt": lists_of(pa.float32()),
            "Muon_charge": lists_of(pa.int32()),
            "w": "float64",
        }
        with file.tree("Events", schema, layout=layout, flush=200) as tree:
            tree.append(
                {
                    "event": np.arange(n_entries) + 1000 * seed,
                    "nMuon": counts,
                    "Muon_pt": [list(map(float, one)) for one in momenta],
                    "Muon_charge": [[int(value) % 3 - 1 for value in one] for one in momenta],
                    "w": rng.normal(size=n_entries),
                }
            )
        file["Runs"] = {"genEventSumw": np.array([float(n_entries)])}


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_a_skim_has_what_rdataframe_writes(tmp_path, layout):
    put(tmp_path / "a.root", 900, 1, layout)
    put(tmp_path / "b.root", 700, 2, layout)
    made = ar.skim(
        [tmp_path / "a.root", tmp_path / "b.root"], tmp_path / "skim.root", "Events", COLUMNS, filter=FILTER
    )
    n_entries = root.run(skims_with_root.snapshot, tmp_path, FILTER, COLUMNS)
    ours = root.run(skims_with_root.told, tmp_path, "skim.root", COLUMNS)
    assert made.outputs[0].num_entries == n_entries > 100
    snapshot = ar.open(tmp_path / "snapshot.root")["Events"].to_arrow(COLUMNS).to_pydict()
    assert ours["values"] == snapshot
    assert ours["n runs"] == 2
    if layout == "ttree":
        assert ours["counters"] == {"Muon_pt": "nMuon", "Muon_charge": "nMuon"}
        assert ours["codecs"] == {203}
    with uproot.open(tmp_path / "skim.root") as file:
        read = file["Events"].arrays(COLUMNS)
    assert {name: read[name].tolist() for name in COLUMNS} == snapshot


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_clusters_of_root_are_copied_packed_and_root_reads_them(tmp_path, layout):
    n_entries, columns = 3000, ["block", "nMuon", "Muon_pt", "x", "v", "word"]
    root.run(skims_with_root.write_clusters, tmp_path, "in.root", layout == "ttree", 5, n_entries)
    table = ar.open(tmp_path / "in.root")["Events"].to_arrow(columns)
    assert len(ar.open(tmp_path / "in.root")["Events"].clusters) == 6
    blocks, x = (table[name].to_numpy() for name in ("block", "x"))
    expected = table.filter((blocks != 1) & ((blocks != 3) | (x > 0)))
    condition = "block != 1 && (block != 3 || x > 0)"
    made = ar.skim(tmp_path / "in.root", tmp_path / "skim.root", "Events", columns, filter=condition)
    copied = made.outputs[0].copied
    assert (copied.n_packed_clusters, copied.n_new_clusters) == (3, 1)
    numbers = columns[:-1]
    told = root.run(skims_with_root.told, tmp_path, "skim.root", numbers if layout == "ttree" else columns)
    assert told["values"] == expected.select(list(told["values"])).to_pydict()
    found = ar.open(tmp_path / "skim.root")["Events"].to_arrow(columns)
    assert found.to_pydict() == expected.to_pydict()
    if layout == "ttree":
        assert told["counters"] == {"Muon_pt": "nMuon"}
        of_tree = root.run(skims_with_root.told_of_tree, tmp_path, "skim.root")
        words = expected["word"].to_pylist()
        assert of_tree == {"largest": 5, "longest": max(map(len, words)), "words": words}
