"""Writes references to objects with and without a UUID, and what ROOT reads of them. Started by test_references.py.

``with_references.py DIRECTORY`` writes ``references.root`` and ``references.json``: for each entry whether the
reference that is a branch and the one that is a member are to an object with a UUID, and the member behind it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

#: Directories have UUIDs.
WRITE = """
class Holder : public TObject {
public: int before = 0; TRef ref; TRefArray refs; int after = 0; ClassDefInline(Holder, 1)
};
void write(const char *file_name, int n_entries) {
  TFile file(file_name, "RECREATE");
  TDirectory *directory = file.mkdir("directory");
  TNamed named("named", "");
  TTree tree("T", "");
  TRef ref; auto *pointer = &ref;
  Holder holder; auto *holder_pointer = &holder;
  tree.Branch("ref", "TRef", &pointer, 32000, 0);
  tree.Branch("holder", "Holder", &holder_pointer, 32000, 0);
  tree.Branch("split.", "Holder", &holder_pointer, 32000, 99);
  for (int i = 0; i < n_entries; ++i) {
    TObject *object = &named;
    if (i % 3 == 1) object = directory;
    ref = object, holder.ref = object;
    holder.before = i, holder.after = -i;
    holder.refs.Clear();
    for (int j = 0; j < i % 3; ++j) holder.refs.Add(&named);
    tree.Fill();
  }
  file.cd();
  tree.Write();
}
void read(const char *file_name, std::vector<int> &numbers) {
  TFile file(file_name);
  auto *tree = file.Get<TTree>("T");
  TRef *ref = nullptr; Holder *holder = nullptr;
  tree->SetBranchAddress("ref", &ref), tree->SetBranchAddress("holder", &holder);
  for (Long64_t i = 0; i < tree->GetEntries(); ++i) {
    tree->GetEntry(i);
    for (const TRef &one : {*ref, holder->ref})
      numbers.push_back(one.TestBit(TObject::kHasUUID));
    numbers.push_back(holder->after);
  }
}
"""
N_ENTRIES = 7


def main() -> None:
    directory = Path(sys.argv[1])
    import root_session

    root_session.start(directory)
    import ROOT

    headers = ("TFile.h", "TTree.h", "TRef.h", "TRefArray.h", "TNamed.h", "vector")
    ROOT.gInterpreter.Declare("\n".join(f"#include <{header}>" for header in headers) + WRITE)
    ROOT.write("references.root", N_ENTRIES)
    numbers = ROOT.std.vector("int")()
    ROOT.read("references.root", numbers)
    Path("references.json").write_text(json.dumps([int(number) for number in numbers]))


if __name__ == "__main__":
    main()
