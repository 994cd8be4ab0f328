"""Reads numbers of reduced precision: run in ROOT's process."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.judge.lazy import ROOT


def read() -> None:
    """Read ``*.root`` into ``*.npz``."""
    for path in sorted(Path.cwd().glob("*.root")):
        frame = ROOT.RDataFrame("t", str(path))
        found = {}
        for name in frame.GetColumnNames():
            values = frame.AsNumpy([str(name)])[str(name)]
            if values.dtype == object:
                values = np.concatenate([np.asarray(one, np.float64) for one in values] or [np.zeros(0)])
            found[str(name)] = values
        np.savez(path.with_suffix(".npz"), **found)


def write_reduced(path: str) -> None:
    """Write fields of reduced precision, as ROOT's model has them; the largest ``q`` is the end of its range."""
    ROOT.gInterpreter.Declare("""
    void write_reduced(const char *path) {
       auto model = ROOT::RNTupleModel::Create();
       auto q = std::make_unique<ROOT::RField<float>>("q");
       q->SetQuantized(-0.3, 0.1, 12);
       auto d = std::make_unique<ROOT::RField<double>>("d");
       d->SetTruncated(18);
       model->AddField(std::move(q));
       model->AddField(std::move(d));
       auto values = model->GetDefaultEntry().GetPtr<float>("q");
       auto doubles = model->GetDefaultEntry().GetPtr<double>("d");
       auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "t", path);
       for (int i = 0; i <= 50; ++i) {
          *values = i < 50 ? -0.29f + 0.007f * i : 0.0999999f;
          *doubles = 1.0 / (i + 1);
          writer->Fill();
       }
    }
    """)
    ROOT.write_reduced(path)
