"""The files that the documents' examples read."""

import numpy as np
import pytest


@pytest.fixture
def files_of_the_documents(tmp_path, monkeypatch):
    """Write small files under the names that README and guide use, and go to where they are."""
    ak = pytest.importorskip("awkward")
    uproot = pytest.importorskip("uproot")
    (tmp_path / "data").mkdir()
    random = np.random.default_rng(7)
    for name in ("file.root", "data/run1.root", "data/run2.root"):
        counts = random.integers(0, 4, 2000)
        pt = ak.values_astype(ak.unflatten(random.integers(8, 400, counts.sum()) / 4, counts), np.float32)
        muons = ak.zip({"pt": pt, "charge": ak.values_astype(2 * (ak.local_index(pt) % 2) - 1, np.int32)})
        with uproot.recreate(tmp_path / name, compression=uproot.ZSTD(5)) as file:
            tree = file.mktree("Events", {"Muon": muons.type.content, "run": "int32", "MET_pt": "float32"})
            for start in range(0, 2000, 500):
                part = slice(start, start + 500)
                met = np.arange(start, start + 500, dtype=np.float32) / 8
                tree.extend({"Muon": muons[part], "run": np.full(500, 317_591, np.int32), "MET_pt": met})
            if name == "file.root":
                weights = file.mktree("Weights", {"weight": "float64"})
                weights.extend({"weight": np.arange(2000) / 4})
    with uproot.recreate(tmp_path / "histograms.root") as file:
        file["h_met"] = np.histogram(np.arange(1600) / 8, bins=5, range=(0, 200))
        file["h_map"] = np.histogram2d(
            np.arange(100) % 3, np.arange(100) % 7, bins=(3, 4), range=((0, 3), (0, 8))
        )
        file["dataset"] = "data, 2026"
    monkeypatch.chdir(tmp_path)
    return tmp_path
