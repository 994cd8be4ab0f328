"""A real file over 2 GB: only with ARROWROOT_BIG=1, because it takes 2.2 GB of disk and a minute."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root

N_ENTRIES = 275_000_000
WRITE = """
#include "TFile.h"
#include "TTree.h"
void write_big(const char *path, Long64_t n) {
  TFile file(path, "RECREATE", "", 0);
  TTree tree("T", "");
  Long64_t i;
  tree.Branch("i", &i, "i/L", 4000000);
  for (i = 0; i < n; ++i) tree.Fill();
  tree.Write();
}
"""


@pytest.mark.skipif(os.environ.get("ARROWROOT_BIG") != "1", reason="2.2 GB of disk: set ARROWROOT_BIG=1")
def test_a_file_over_2_gb(tmp_path):
    path = tmp_path / "big.root"
    root.interpreted(tmp_path, WRITE, ("write_big", path.name, N_ENTRIES))
    assert path.stat().st_size > 2**31
    with ar.open(path) as file:
        tree = file["T"]
        first = 0
        for batch in tree.scan(["i"]):
            values = batch.column(0).to_numpy()
            assert np.array_equal(values, np.arange(first, first + len(values)))
            first += len(values)
        assert first == N_ENTRIES
        picked = pa.table(tree.to_arrow(["i"], entries=[N_ENTRIES - 1, 0, 270_000_000]))
    assert picked["i"].to_pylist() == [N_ENTRIES - 1, 0, 270_000_000]
