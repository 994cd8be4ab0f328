"""Writes objects in ROOT's collections and behind pointers to bases, and what ROOT reads. Started by test_holders.py.

``with_holders.py DIRECTORY`` compiles ``write_holders.C`` there and writes ``SPLIT.root`` and ``SPLIT.json``: for each
entry and branch, in turn, one text of JSON; and ``ntuple.root``, with what is in two of the branches of ``0.root``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MACRO = Path(__file__).resolve().parent / "write_holders.C"
N_ENTRIES = 24
#: Entries in a basket.
N_FLUSH = 6
#: Writes an RNTuple whose fields ROOT's streamers fill.
WRITE_NTUPLE = """
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
namespace held {
void write_ntuple(const char *from, const char *to, int n_flush) {
  auto model = ROOT::RNTupleModel::CreateBare();
  model->AddField(std::make_unique<ROOT::RStreamerField>("event", "held::Event"));
  model->AddField(std::make_unique<ROOT::RStreamerField>("late", "TObjArray"));
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "N", to);
  TFile file(from);
  auto *tree = file.Get<TTree>("T");
  for (Long64_t i = 0; i < tree->GetEntries(); ++i) {
    Branches b;
    b.address(*tree);
    tree->GetEntry(i);
    auto entry = writer->CreateEntry();
    entry->BindRawPtr("event", b.event);
    entry->BindRawPtr("late", b.late);
    writer->Fill(*entry);
    if (i % n_flush == n_flush - 1)
      writer->CommitCluster();
    tree->ResetBranchAddresses();
  }
}
}
"""


def main() -> None:
    directory = Path(sys.argv[1])
    import root_session

    root_session.start_with(MACRO, directory)
    import ROOT

    for split in (0, 99):
        path = directory / f"{split}.root"
        ROOT.held.write(str(path), N_ENTRIES, split, N_FLUSH)
        lines = ROOT.std.vector("std::string")()
        ROOT.held.read(str(path), lines)
        path.with_suffix(".json").write_text(json.dumps([str(line) for line in lines]))
    if not ROOT.gInterpreter.Declare(WRITE_NTUPLE):
        raise SystemExit("what writes the RNTuple does not compile")
    ROOT.held.write_ntuple(str(directory / "0.root"), str(directory / "ntuple.root"), N_FLUSH)


if __name__ == "__main__":
    main()
