// Classes that have one base twice, in a tree and in an RNTuple. Compiled by ACLiC.
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TFile.h>
#include <TTree.h>

#include <vector>

namespace diamond {

struct Common {
  int x = 0;
  float y = 0;
};
struct Left : Common {
  int l = 0;
};
struct Right : Common {
  int r = 0;
};
struct Both : Left, Right {
  int b = 0;
};
// Hides a member that is there twice already.
struct Further : Both {
  int x = 0;
};

#ifdef __ROOTCLING__
#pragma link C++ class diamond::Common+;
#pragma link C++ class diamond::Left+;
#pragma link C++ class diamond::Right+;
#pragma link C++ class diamond::Both+;
#pragma link C++ class diamond::Further+;
#pragma link C++ class std::vector<diamond::Further>+;
#endif

void fill(Both &both, int k) {
  both.Left::x = k, both.Left::y = k + 0.5f, both.l = k + 100;
  both.Right::x = -k, both.Right::y = -k - 0.5f, both.r = k + 200, both.b = k + 300;
}

void write(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  auto *both = new Both;
  auto *items = new std::vector<Further>;
  TTree tree("T", "");
  tree.Branch("both", &both, 32000, 0);
  tree.Branch("items", &items, 32000, 0);
  TTree split("S", "");
  split.Branch("both", &both, 32000, 99);
  split.Branch("dotted.", &both, 32000, 99);
  split.Branch("items", &items, 32000, 99);
  auto model = ROOT::RNTupleModel::Create();
  auto both_field = model->MakeField<Both>("both");
  auto items_field = model->MakeField<std::vector<Further>>("items");
  auto writer = ROOT::RNTupleWriter::Append(std::move(model), "N", file);
  for (int k = 0; k < n_entries; ++k) {
    fill(*both, k);
    items->resize(k % 3);
    for (auto &item : *items)
      fill(item, 10 * k), item.x = 7;
    *both_field = *both;
    *items_field = *items;
    tree.Fill();
    split.Fill();
    writer->Fill();
  }
  writer.reset();
  tree.Write();
  split.Write();
}

} // namespace diamond
