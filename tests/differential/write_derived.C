// Classes derived from ROOT's collections, histograms and other classes that have a face in Python. Compiled by ACLiC.
#include <TAttText.h>
#include <TChain.h>
#include <TClonesArray.h>
#include <TFile.h>
#include <TFolder.h>
#include <TGraphErrors.h>
#include <TH1D.h>
#include <THashList.h>
#include <TList.h>
#include <TMap.h>
#include <TMatrixDSym.h>
#include <TNamed.h>
#include <TNtuple.h>
#include <TNtupleD.h>
#include <TObjArray.h>
#include <TObjString.h>
#include <TOrdCollection.h>
#include <TParameter.h>
#include <TProfile.h>
#include <TROOT.h>
#include <TRefArray.h>
#include <TSortedList.h>
#include <TTree.h>
#include <TVectorD.h>

#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>

#include <string>
#include <vector>

namespace derived {

// `fSize` and `fItems` are names of members that some of ROOT's collections have themselves.
#define DERIVE(NAME, ...)                                                                                              \
  class NAME : public __VA_ARGS__ {                                                                                    \
  public:                                                                                                              \
    Int_t own = 42;                                                                                                    \
    Int_t fSize = 7;                                                                                                   \
    Int_t fItems = 8;                                                                                                  \
    ClassDef(NAME, 1)                                                                                                  \
  };
DERIVE(List, TList)
DERIVE(HashList, THashList)
DERIVE(SortedList, TSortedList)
DERIVE(Array, TObjArray)
DERIVE(Ordered, TOrdCollection)
DERIVE(Map, TMap)
DERIVE(Clones, TClonesArray)
DERIVE(References, TRefArray)
#undef DERIVE

class Further : public List {
public:
  Float_t more = 1.5;
  TString fName = "hides";
  ClassDef(Further, 1)
};

class NamedList : public TNamed, public TList {
public:
  Int_t own = 42;
  ClassDef(NamedList, 1)
};

class Text : public TObjString {
public:
  Int_t own = 42;
  Int_t fString = 9;
  ClassDef(Text, 1)
};

class Parameter : public TParameter<double> {
public:
  Int_t own = 42;
  TString fVal = "hides";
  ClassDef(Parameter, 1)
};

class Symmetric : public TMatrixDSym {
public:
  Int_t own = 42;
  ClassDef(Symmetric, 1)
};

class Vector : public TVectorD {
public:
  Int_t own = 42;
  ClassDef(Vector, 1)
};

class Graph : public TGraphErrors {
public:
  Int_t own = 42;
  Int_t fZ = 9;
  ClassDef(Graph, 1)
};

class Histogram : public TH1D {
public:
  Int_t own = 42;
  Int_t fArray = 9;
  Int_t fEntries = 10;
  Int_t fDimension = 11;
  ClassDef(Histogram, 1)
};

class FurtherHistogram : public Histogram {
public:
  Int_t fEntries = 12;
  ClassDef(FurtherHistogram, 1)
};

class Profile : public TProfile {
public:
  Int_t own = 42;
  ClassDef(Profile, 1)
};

class Holder : public TNamed {
public:
  List inside;
  Array *pointer = new Array;
  TList others;
  ClassDef(Holder, 1)
};

template <class C>
C &filled(C &&collection) {
  for (int i = 0; i < 3; ++i)
    collection.Add(new TNamed(TString::Format("n%d", i).Data(), "title"));
  return collection;
}

void write(const char *path) {
  TFile file(path, "RECREATE");
  auto put = [&](TObject &object, const char *name) { object.Write(name, TObject::kSingleKey); };
  put(filled(*new List), "list");
  put(filled(*new HashList), "hash_list");
  put(filled(*new SortedList), "sorted_list");
  put(filled(*new Array), "array");
  put(filled(*new Ordered), "ordered");
  put(filled(*new Further), "further");
  auto *named = new NamedList;
  named->TNamed::SetName("called");
  filled(static_cast<TList &>(*named));
  file.WriteObjectAny(named, "derived::NamedList", "named_list");
  auto *map = new Map;
  for (int i = 0; i < 3; ++i)
    map->Add(new TNamed(TString::Format("n%d", i).Data(), ""), new TObjString(TString::Format("v%d", i).Data()));
  put(*map, "map");
  auto *clones = new Clones;
  clones->SetClass("TNamed");
  for (int i = 0; i < 3; ++i)
    static_cast<TNamed *>(clones->ConstructedAt(i))->SetName(TString::Format("n%d", i).Data());
  put(*clones, "clones");
  put(*new References, "references");
  auto *holder = new Holder;
  filled(holder->inside);
  filled(*holder->pointer);
  holder->others.Add(&filled(*new Array));
  put(*holder, "holder");
  auto *text = new Text;
  text->SetString("text");
  put(*text, "text");
  auto *parameter = new Parameter;
  parameter->SetVal(2.5);
  put(*parameter, "parameter");
  auto *symmetric = new Symmetric;
  symmetric->ResizeTo(2, 2);
  (*symmetric)(0, 1) = (*symmetric)(1, 0) = 3;
  put(*symmetric, "symmetric");
  auto *vector = new Vector;
  vector->ResizeTo(3);
  (*vector)(2) = 5;
  put(*vector, "vector");
  auto *graph = new Graph;
  graph->SetPoint(0, 1, 2);
  put(*graph, "graph");
  auto fill = [&](TH1D &histogram, const char *name) {
    histogram.SetDirectory(nullptr);
    histogram.SetBins(3, 0, 3);
    histogram.TH1D::Fill(1.5, 5);
    put(histogram, name);
  };
  fill(*new Histogram, "histogram");
  fill(*new FurtherHistogram, "further_histogram");
  auto *profile = new Profile;
  profile->SetDirectory(nullptr);
  profile->SetBins(3, 0, 3);
  profile->TProfile::Fill(1.5, 4);
  put(*profile, "profile");
}

// Trees: of classes that derive from ROOT's, and inside of other objects.

class Spill : public TTree {
public:
  Int_t run = 6;
  std::vector<double> constants{1, 2.5};
  Spill() {}
  Spill(const char *name) : TTree(name, "") {}
  ClassDef(Spill, 4)
};

class FurtherSpill : public Spill {
public:
  Float_t more = .5;
  FurtherSpill() {}
  FurtherSpill(const char *name) : Spill(name) {}
  ClassDef(FurtherSpill, 2)
};

class Floats : public TNtuple {
public:
  Int_t run = 5;
  Floats() {}
  Floats(const char *name) : TNtuple(name, "", "x:y") {}
  ClassDef(Floats, 1)
};

class Doubles : public TNtupleD {
public:
  Doubles() {}
  Doubles(const char *name) : TNtupleD(name, "", "x:y") {}
  ClassDef(Doubles, 1)
};

class Attributed : public TAttText, public FurtherSpill {
public:
  Attributed() {}
  Attributed(const char *name) : FurtherSpill(name) {}
  ClassDef(Attributed, 1)
};

class Chained : public TChain {
public:
  Int_t own = 42;
  Chained() {}
  Chained(const char *name) : TChain(name) {}
  ClassDef(Chained, 1)
};

class Output : public TNamed {
public:
  TTree *tree = nullptr;
  TTree whole;
  std::vector<TTree *> trees;
  Int_t n = 3;
  ClassDef(Output, 1)
};

/// Entry `i` from `first` on: `i`, `x` half of it, `v` as often as its remainder by 3.
void fill(TTree &tree, int first, int n_entries) {
  Int_t i;
  Float_t x;
  std::vector<float> v;
  tree.Branch("i", &i, "i/I");
  tree.Branch("x", &x, "x/F");
  tree.Branch("v", &v);
  for (i = first; i < first + n_entries; ++i) {
    x = i * .5f;
    v.assign(i % 3, i);
    tree.Fill();
  }
  tree.ResetBranchAddresses();
}

TTree *in_memory(const char *name, int first, int n_entries) {
  TDirectory::TContext nowhere(nullptr);
  auto *tree = new TTree(name, "");
  fill(*tree, first, n_entries);
  return tree;
}

void write_trees(const char *path) {
  TFile file(path, "RECREATE");
  auto put = [&](TObject &object, const char *name) { object.Write(name, TObject::kSingleKey); };
  auto filled_tree = [&](TTree &tree) {
    tree.SetAutoFlush(20);
    fill(tree, 10, 50);
    put(tree, tree.GetName());
  };
  filled_tree(*new Spill("spill"));
  filled_tree(*new FurtherSpill("further"));
  filled_tree(*new Attributed("attributed"));
  auto *floats = new Floats("floats");
  auto *doubles = new Doubles("doubles");
  for (int i = 0; i < 5; ++i) {
    floats->Fill(i, -i);
    doubles->Fill(i, -i);
  }
  put(*floats, "floats");
  put(*doubles, "doubles");
  auto *chain = new Chained("spill");
  chain->Add("elsewhere.root");
  put(*chain, "chain");

  auto *disk = new TTree("disk", "");
  disk->SetAutoFlush(20);
  fill(*disk, 0, 50);
  auto *memory = in_memory("memory", 5, 30);
  auto *inner = new TList;
  inner->SetName("inner");
  inner->Add(in_memory("memory", 100, 3));
  inner->Add(in_memory("memory", 200, 4));
  inner->Add(floats);
  auto *list = new TList;
  for (TObject *one : {static_cast<TObject *>(disk), static_cast<TObject *>(memory), static_cast<TObject *>(inner),
                       static_cast<TObject *>(new TNamed("note", "text")), static_cast<TObject *>(memory),
                       static_cast<TObject *>(list)})
    list->Add(one);
  put(*list, "list");
  auto *array = new TObjArray;
  array->Add(nullptr);
  array->Add(memory);
  auto *hash_list = new THashList;
  hash_list->SetName("hashed");
  hash_list->Add(memory);
  array->Add(hash_list);
  put(*array, "array");
  auto *map = new TMap;
  map->Add(new TObjString("key"), memory);
  put(*map, "map");
  auto *folder = new TFolder("folder", "");
  folder->Add(memory);
  folder->Add(new TNamed("note", "text"));
  put(*folder, "folder");
  auto *output = new Output;
  output->tree = memory;
  output->trees = {memory, in_memory("second", 300, 2)};
  output->whole.SetName("whole");
  output->whole.SetDirectory(nullptr);
  fill(output->whole, 400, 6);
  put(*output, "output");
}

/// Files without a tree of a key: with one tree in a list, and with three trees and something else in lists of a directory.
void write_inside() {
  TFile one("one.root", "RECREATE");
  auto *list = new TList;
  list->Add(in_memory("disk", 0, 50));
  list->Write("list", TObject::kSingleKey);
  one.Close();
  TFile many("many.root", "RECREATE");
  many.mkdir("dir")->cd();
  list->Add(new TNamed("note", "text"));
  list->Add(in_memory("disk", 5, 30));
  list->Write("list", TObject::kSingleKey);
  auto *other = new TList;
  other->Add(in_memory("memory", 100, 3));
  other->Write("other", TObject::kSingleKey);
}

// Classes whose names say that numbers are packed, which RNTuples do not say.
template <class T>
struct Box {
  T value = 0;
  std::vector<T> values;
  int n = 1;
};
template <class T>
struct Outer {
  Box<T> box;
  T value = 0;
};
template <class A, class B>
struct Two {
  A a{};
  B b{};
};

using Doubled = Box<Double32_t>;
using Nested = Two<std::vector<std::vector<Long64_t> >, std::string>;

void write_boxes(const char *path) {
  auto model = ROOT::RNTupleModel::Create();
  for (auto [field, type] : {std::pair{"packed", "derived::Box<Double32_t>"}, std::pair{"half", "derived::Box<Float16_t>"},
                             std::pair{"plain", "derived::Box<float>"}, std::pair{"alias", "derived::Doubled"},
                             std::pair{"outer", "derived::Outer<Double32_t>"},
                             std::pair{"nested", "derived::Two<std::vector<std::vector<Long64_t> >,std::string>"}})
    model->AddField(std::make_unique<ROOT::RStreamerField>(field, type));
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "boxes", path);
  auto entry = writer->CreateEntry();
  for (int i = 0; i < 4; ++i) {
    auto fill = [&](auto *box) {
      box->value = i + .5;
      box->values.assign(i, -i);
      box->n = i;
    };
    auto at = [&](const char *field) { return entry->GetPtr<void>(field).get(); };
    fill(static_cast<Box<Double32_t> *>(at("packed")));
    fill(static_cast<Box<Float16_t> *>(at("half")));
    fill(static_cast<Box<float> *>(at("plain")));
    fill(static_cast<Doubled *>(at("alias")));
    fill(&static_cast<Outer<Double32_t> *>(at("outer"))->box);
    static_cast<Nested *>(at("nested"))->a.assign(i, {i, -i});
    static_cast<Nested *>(at("nested"))->b = "text";
    writer->Fill(*entry);
  }
}

} // namespace derived

#ifdef __ROOTCLING__
#pragma link C++ class derived::Box<Double32_t>+;
#pragma link C++ class derived::Box<Float16_t>+;
#pragma link C++ class derived::Box<float>+;
#pragma link C++ class derived::Outer<Double32_t>+;
#pragma link C++ class derived::Two<std::vector<std::vector<Long64_t> >,std::string>+;
#endif
