// A class in two versions: SECOND is defined for the second one. ROOT interprets it.
#include <TBufferJSON.h>
#include <TChain.h>
#include <TFile.h>
#include <TObjArray.h>
#include <TTree.h>

#include <string>
#include <vector>

#ifdef SECOND
class Part : public TObject { public: int id = 0; double added = 1.5; ClassDefInline(Part, 2) };
class Thing : public Part {
public: std::string text; double number = 0; Part part; std::vector<int> counts; int more = -1; ClassDefInline(Thing, 3)
};
class Changed : public TObject { public: int n = 0; int x = 0; ClassDefInline(Changed, 2) };
void fill(Changed &changed, int i) { changed.n = i, changed.x = 10 * i; }
void fill(Thing &thing, int i) {
  thing.id = 100 + i, thing.added = 0.75 * i, thing.number = 10.25 * i, thing.counts.assign(i % 4, -i);
  thing.part.id = i, thing.part.added = i, thing.text = "second " + std::to_string(i), thing.more = i;
}
#else
class Part : public TObject { public: int id = 0; float old = 0; ClassDefInline(Part, 1) };
class Thing : public Part {
public: short number = 0; std::vector<int> counts; Part part; std::string text; ClassDefInline(Thing, 1)
};
class Changed : public TObject {
public: int n = 0; int *x = nullptr; //[n]
  ClassDefInline(Changed, 1)
};
void fill(Changed &changed, int i) { changed.n = i % 3, changed.x = i % 3 ? new int[2]{i, i + 1} : nullptr; }
void fill(Thing &thing, int i) {
  thing.id = i, thing.old = 0.5F * i, thing.number = 10 * i, thing.counts.assign(i % 3, i);
  thing.part.id = -i, thing.part.old = 0.25F * i, thing.text = std::to_string(i);
}
#endif

void write(const char *file_name, const char *mode, const char *tree_name, bool is_whole, int n_entries) {
  TFile file(file_name, mode);
  TTree tree(tree_name, "");
  Thing thing; auto *pointer = &thing; auto *things = new TObjArray;
  if (is_whole) tree.Branch("thing", "Thing", &pointer, 32000, 0);
  tree.Branch("things", "TObjArray", &things, 32000, 0);
  for (int i = 0; i < n_entries; ++i) {
    fill(thing, i);
    things->Clear();
    for (int j = 0; j < i % 3; ++j) things->Add(new Thing(thing));
    tree.Fill();
  }
  tree.Write();
}
void write_changed(const char *mode, const char *tree_name, int n_entries) {
  TFile file("changed.root", mode);
  TTree tree(tree_name, "");
  Changed changed; auto *pointer = &changed;
  tree.Branch("changed", "Changed", &pointer, 32000, 0);
  for (int i = 0; i < n_entries; ++i) fill(changed, i), tree.Fill();
  tree.Write();
}

// Texts of JSON: the objects of each entry, after the object that is one if there is a branch of it.
std::vector<std::string> read(const char *file_name, const char *tree_name, bool is_whole) {
  std::vector<std::string> lines;
  TFile file(file_name);
  auto *tree = file.Get<TTree>(tree_name);
  auto *thing = new Thing; TObjArray *things = nullptr;
  tree->SetBranchStatus("*", false);
  tree->SetBranchStatus("things", true), tree->SetBranchAddress("things", &things);
  if (is_whole) tree->SetBranchStatus("thing", true), tree->SetBranchAddress("thing", &thing);
  for (Long64_t i = 0; i < tree->GetEntries(); ++i) {
    tree->GetEntry(i);
    if (is_whole) lines.emplace_back(TBufferJSON::ToJSON(thing, 3).Data());
    lines.emplace_back(TBufferJSON::ToJSON(things, 3).Data());
  }
  return lines;
}

// The baskets of two files in one tree.
bool merge(const char *first, const char *second, const char *merged) {
  TChain chain("T");
  chain.Add(first), chain.Add(second);
  return chain.Merge(merged, "fast") == 1;
}
