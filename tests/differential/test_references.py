"""References to objects: of those with a UUID, which ROOT writes instead of the process, the rest is read."""

from __future__ import annotations

import pyarrow as pa

import arrowroot as ar
from tests.judge import macros

from .compare import RootFiles, values_of, written

N_ENTRIES = 7
HAS_UUID = 1 << 5
#: Directories have UUIDs.
CODE = """
#include <TFile.h>
#include <TNamed.h>
#include <TRef.h>
#include <TRefArray.h>
#include <TTree.h>
#include <vector>
class Holder : public TObject {
public: int before = 0; TRef ref; TRefArray refs; int after = 0; ClassDefInline(Holder, 1)
};
void write_references(const char *file_name, int n_entries) {
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
std::vector<int> read_references(const char *file_name) {
  std::vector<int> numbers;
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
  return numbers;
}
"""
CALLS = [("write_references", "references.root", N_ENTRIES), ("read_references", "references.root")]

#: With three numbers for each entry: true if ``ref`` and the holder's are to objects with a UUID, and ``after``.
reference_files = written(macros.call, CODE, CALLS, False)


def test_references_are_read_whether_or_not_their_object_has_a_uuid(reference_files: RootFiles) -> None:
    _, numbers = reference_files.expected
    wanted = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
    with ar.open(reference_files / "references.root") as file:
        table = pa.table(file["T"].to_arrow())
    refs, holders = values_of(table, "ref"), values_of(table, "holder")
    assert len(wanted) == N_ENTRIES
    assert {has_uuid for has_uuid, *_ in wanted} == {0, 1}
    for entry, (ref, holder, expected) in enumerate(zip(refs, holders, wanted, strict=True)):
        for one, has_uuid in zip((ref, holder["ref"]), expected, strict=False):
            assert bool(one["fBits"] & HAS_UUID) == bool(has_uuid)
            assert (one["@pidf"] is None) == bool(has_uuid)
            assert one["ref"] > 0
        assert (holder["before"], holder["after"]) == (entry, expected[2])
        assert len(holder["refs"]["refs"]) == entry % 3


def test_members_that_are_branches_are_read_alike(reference_files: RootFiles) -> None:
    names = ("ref", "refs", "after")
    with ar.open(reference_files / "references.root") as file:
        table = pa.table(file["T"].to_arrow(["holder", *(f"split./split.{name}" for name in names)]))
    holders = values_of(table, "holder")
    for name in names:
        assert values_of(table, f"split./split.{name}") == [holder[name] for holder in holders], name
