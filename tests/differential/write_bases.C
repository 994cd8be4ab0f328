// Classes of ROOT as bases, members and items of collections. Compiled by ACLiC; with_bases.py says of which types.
#include <Math/Vector4D.h>
#include <TArrayD.h>
#include <TBufferJSON.h>
#include <TClonesArray.h>
#include <TFile.h>
#include <TGraph.h>
#include <TH1F.h>
#include <TLorentzVector.h>
#include <TMatrixD.h>
#include <TNamed.h>
#include <TObjString.h>
#include <TParameter.h>
#include <TTree.h>
#include <TVector2.h>
#include <TVirtualStreamerInfo.h>

#include <map>
#include <string>
#include <vector>

namespace ar {

// Its objects leave out what they inherit from TObject, as write() tells its class.
struct Quiet : TNamed {
  float x = 0;
  ClassDef(Quiet, 1)
};

// What begins with a number that looks like the version of a TObject. Only what derives from it ignores that.
struct Number : TObject {
  int first = 0;
  std::vector<short> rest;
  TString text;
  ClassDef(Number, 1)
};

void fill(TObject &object, int k) { object.SetUniqueID(k); }
void fill(TNamed &named, int k) { named.SetNameTitle(std::string(13 * k, 'n').c_str(), k % 2 ? "t" : ""); }
void fill(Quiet &quiet, int k) { fill(static_cast<TNamed &>(quiet), k), quiet.x = k; }
void fill(Number &number, int k) {
  number.first = k % 2 ? 65536 + k : 100000;
  number.rest.assign(k % 3, k);
  number.text = k % 4 ? "a text of words that has 42 characters, 12" : "";
}
void fill(TObjString &text, int k) { text.SetString(std::string(k, 's').c_str()); }
void fill(TLorentzVector &vector, int k) { vector.SetXYZT(k, 1, 2, 3.5); }
void fill(TVector2 &vector, int k) { vector.Set(double(k), 0.5); }
void fill(TParameter<double> &parameter, int k) { parameter.SetVal(k); }
void fill(TGraph &graph, int k) {
  graph.Set(k % 3);
  for (int i = 0; i < k % 3; i++) graph.SetPoint(i, i, k);
}
void fill(TH1F &histogram, int k) {
  histogram.SetDirectory(nullptr);
  histogram.SetBins(1 + k % 3, 0, 3);
  histogram.Fill(0.5, k);
}
void fill(TMatrixD &matrix, int k) { matrix.ResizeTo(2, 1 + k % 2), matrix(0, 0) = k; }
void fill(TArrayD &numbers, int k) {
  numbers.Set(k % 3);
  for (int i = 0; i < k % 3; i++) numbers[i] = k + i;
}
void fill(ROOT::Math::PtEtaPhiMVector &vector, int k) { vector.SetCoordinates(k, 0.5, 0.25, 1); }

template <class T>
struct Derived : T {
  int tail = 0;
  virtual ~Derived() = default;
  ClassDef(Derived, 1)
};

template <class T>
void fill(Derived<T> &derived, int k) {
  fill(static_cast<T &>(derived), k);
  derived.tail = -k;
}

template <class Items>
void fill_items(Items &items, int k) {
  items.clear();
  items.resize(k % 4);
  for (int i = 0; i < k % 4; i++) fill(items[i], k + i);
}

template <class T>
struct Holder {
  int before = 0;
  T one;
  T two[2];
  std::vector<T> items;
  std::vector<std::vector<T>> nested;
  std::map<int, T> by_number;
  Derived<T> derived;
  std::vector<Derived<T>> deriveds;
  T *pointer = nullptr;
  int after = 0;
  virtual ~Holder() { delete pointer; }
  void fill_all(int k) {
    before = k, after = -k;
    fill(one, k), fill(two[0], k + 1), fill(two[1], k + 2), fill(derived, k);
    fill_items(items, k), fill_items(deriveds, k + 1);
    nested.clear(), nested.resize(k % 3), by_number.clear();
    for (int i = 0; i < k % 3; i++) fill_items(nested[i], k + i), fill(by_number[i], k * i);
    delete pointer;
    pointer = k % 2 ? new T : nullptr;
    if (pointer) fill(*pointer, k);
  }
  ClassDef(Holder, 1)
};

template <class T>
std::string json(const T *object) {
  return std::string(TBufferJSON::ConvertToJSON(object, TClass::GetClass<T>(), 3).Data());
}

/// One line of JSON for each entry and branch, in turn; "null" for an array of what is no TObject.
template <class T>
std::vector<std::string> write(const char *path, int n_entries, int split, bool member_wise) {
  TVirtualStreamerInfo::SetStreamMemberWise(member_wise);
  Quiet::Class()->IgnoreTObjectStreamer();
  Derived<Quiet>::Class()->IgnoreTObjectStreamer();
  Derived<Number>::Class()->IgnoreTObjectStreamer();
  std::vector<std::string> lines;
  TFile file(path, "RECREATE");
  TTree tree("T", "");
  auto holder = new Holder<T>;
  auto deriveds = new std::vector<Derived<T>>;
  tree.Branch("holder.", &holder, 4000, split);
  tree.Branch("deriveds", &deriveds, 4000, split);
  TClonesArray *clones = Derived<T>::Class()->IsTObject() ? new TClonesArray(Derived<T>::Class()) : nullptr;
  if (clones) tree.Branch("clones", &clones, 4000, split);
  for (int k = 0; k < n_entries; k++) {
    holder->fill_all(k);
    fill_items(*deriveds, k + 2);
    if (clones) clones->Clear("C");
    for (int i = 0; clones && i < k % 4; i++)
      fill(*static_cast<Derived<T> *>(static_cast<void *>(clones->ConstructedAt(i))), k + i);
    tree.Fill();
    lines.push_back(json(holder));
    lines.push_back(json(deriveds));
    lines.push_back(clones ? json(clones) : "null");
  }
  tree.Write();
  TVirtualStreamerInfo::SetStreamMemberWise(true);
  return lines;
}

}  // namespace ar

#ifdef __CLING__
#pragma link C++ class ar::Quiet+;
#pragma link C++ class ar::Number+;
#include "links.h"
#endif
