"""Runs in a Python that has ROOT: ``precision_with_root.py DIRECTORY`` reads ``*.root`` there into ``*.npz``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.differential.root_session import start


def main() -> None:
    directory = Path(sys.argv[1])
    start(directory)
    import ROOT

    for path in sorted(directory.glob("*.root")):
        frame = ROOT.RDataFrame("t", str(path))
        found = {}
        for name in frame.GetColumnNames():
            values = frame.AsNumpy([str(name)])[str(name)]
            if values.dtype == object:
                values = np.concatenate([np.asarray(one, np.float64) for one in values] or [np.zeros(0)])
            found[str(name)] = values
        np.savez(path.with_suffix(".npz"), **found)


main()
