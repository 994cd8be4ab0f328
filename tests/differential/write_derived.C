// Classes derived from ROOT's collections, histograms and other classes that have a face in Python. Compiled by ACLiC.
#include <TClonesArray.h>
#include <TFile.h>
#include <TGraphErrors.h>
#include <TH1D.h>
#include <THashList.h>
#include <TList.h>
#include <TMap.h>
#include <TMatrixDSym.h>
#include <TNamed.h>
#include <TObjArray.h>
#include <TObjString.h>
#include <TOrdCollection.h>
#include <TParameter.h>
#include <TProfile.h>
#include <TRefArray.h>
#include <TSortedList.h>
#include <TVectorD.h>

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

} // namespace derived
