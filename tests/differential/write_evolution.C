// A class in two versions: SECOND is defined for the second one. Compiled by ACLiC, once for each.
#include <TArrayD.h>
#include <TArrayF.h>
#include <TArrayI.h>
#include <TArrayL64.h>
#include <TArrayS.h>
#include <TBufferJSON.h>
#include <TClass.h>
#include <TFile.h>
#include <TNamed.h>
#include <TString.h>
#include <TTree.h>
#include <TVirtualStreamerInfo.h>

#include <array>
#include <cmath>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#ifdef SECOND
#define VERSION 2
#define WAS(first, second) second
#else
#define VERSION 1
#define WAS(first, second) first
#endif

namespace evo {

using float_map = std::map<int, float>;
using double_map = std::map<int, double>;
using int_map = std::map<int, int>;
using float_pairs = std::vector<std::pair<int, float>>;

struct Part {
  int q = 0;
  ClassDefNV(Part, 1)
};

using two_parts = std::array<Part, 2>;
using three_parts = std::array<Part, 3>;

struct Other {
  double r = 0.5;
  ClassDefNV(Other, 1)
};

// Members that became something of their kind, as far as ROOT 6.40 reads them right: it does not with pairs that became a
// map, maps of vectors, and arrays of vectors, object by object.
struct Evolved {
  int id = 0;
  std::vector<WAS(int, double)> widened;
  std::vector<WAS(double, int)> narrowed;
  std::vector<WAS(float, unsigned short)> shortened;
  WAS(std::vector<int>, std::list<short>) relisted;
  WAS(std::set<int>, std::vector<Long64_t>) unset;
  std::vector<std::vector<WAS(int, double)>> nested;
  std::vector<WAS(bool, int)> bools;
  std::vector<WAS(int, bool)> to_bools;
  WAS(float_map, double_map) mapped;
  WAS(float_map, float_pairs) unmapped;
  std::vector<std::pair<int, WAS(float, double)>> pairs;
  std::pair<int, WAS(float, double)> pair;
  int grown[WAS(3, 4)] = {};
  int shrunk[WAS(4, 3)] = {};
  WAS(int, double) array[3] = {};
  WAS(int, float) larger[WAS(2, 3)] = {};
  int square WAS([4], [2][2]) = {};
  int line WAS([2][2], [4]) = {};
  int single WAS(, [2]) = {};
  int doubled WAS([2], ) = {};
  int n = 0;
  WAS(float, double) *counted = nullptr; //[n]
  int m = 0;
  WAS(Long64_t, short) *narrow = nullptr; //[m]
  WAS(double, signed char) to_char = 0;
  WAS(double, unsigned char) to_uchar = 0;
  WAS(double, short) to_short = 0;
  WAS(double, unsigned short) to_ushort = 0;
  WAS(double, int) to_int = 0;
  WAS(double, unsigned int) to_uint = 0;
  WAS(double, Long64_t) to_long = 0;
  WAS(double, ULong64_t) to_ulong = 0;
  WAS(float, int) from_float = 0;
  WAS(double, bool) to_bool = 0;
  int last = 0;
  ClassDefNV(Evolved, VERSION)
};

// Arrays of objects, texts, containers and pointers that grew, shrank, or have other dimensions. Where ROOT 6.40 reads what
// has shrunk, it writes past its end: there is a spare one, which is read later.
struct Resized {
  int id = 0;
  Part grown[WAS(2, 3)];
  Part shrunk[WAS(3, 2)], spare;
  Part square WAS([3], [2][2]);
  Part doubled WAS([2], ), spare_part;
  WAS(two_parts, three_parts) std_array;
  TString texts[WAS(2, 3)];
  TString fewer_texts[WAS(3, 2)], spare_text;
  TString square_text WAS([4], [2][2]);
  TString doubled_text WAS([2], ), spare_other;
  std::string std_texts[WAS(2, 3)];
  std::string fewer_std_texts[WAS(3, 2)], spare_std_text;
  std::vector<int> lists[WAS(2, 3)];
  std::vector<int> fewer_lists[WAS(3, 2)], spare_list;
  std::vector<WAS(int, double)> widened[WAS(2, 3)];
  TNamed named[WAS(2, 3)];
  Part *pointers[WAS(2, 3)] = {};
  Part *fewer_pointers[WAS(3, 2)] = {}, *spare_pointer = nullptr;
  Part *pointer WAS(, [2]) WAS(= nullptr, = {});
  // These are unrelated in ROOT.
  Part part WAS(, [2]);
  TString text WAS(, [2]);
  int last = 0;
  ClassDefNV(Resized, VERSION)
};

// Arrays that write themselves. ROOT 6.40 misreads those of another type, and all that follows them.
struct Arrays : WAS(TArrayF, TArrayD) {
  WAS(TArrayD, TArrayI) narrowed;
  WAS(TArrayS, TArrayL64) widened;
  int last = 0;
  virtual ~Arrays() = default;
  ClassDef(Arrays, VERSION)
};

// Members that became something else altogether.
struct Replaced {
  int id = 0;
  WAS(Part, Other) part;
  WAS(std::vector<Part>, std::vector<Part *>) to_pointers;
  WAS(std::vector<Part *>, std::vector<Part>) from_pointers;
  WAS(std::vector<Part>, std::vector<Other>) others;
  WAS(int, std::vector<int>) number WAS(= 0, );
  WAS(std::vector<int>, int) numbers WAS(, = 0);
  WAS(std::vector<int>, int_map) to_map;
  WAS(std::string, int) text WAS(, = 0);
  WAS(std::vector<std::string>, std::vector<int>) texts;
  int n = 0;
#ifdef SECOND
  float counted[3] = {};
#else
  float *counted = nullptr; //[n]
#endif
  int last = 0;
  ClassDefNV(Replaced, VERSION)
};

// What integers cannot hold, and what they can.
const double edges[] = {1e30, -1e30, std::nan(""), -1.5, 3e9, 1.2e19, 300.75};

inline double edge(int i) {
  return edges[i % (sizeof(edges) / sizeof(*edges))];
}

#ifdef SECOND
void fill(Evolved &o, int i) {
  o.id = 100 + i, o.last = -100 - i;
  o.widened = {i + 0.5}, o.narrowed = {i}, o.shortened = {7}, o.relisted = {1, 2}, o.unset = {i, 3};
  o.nested = {{i + 0.5}, {}}, o.bools = {i}, o.to_bools = {true}, o.mapped = {{i, 0.5}}, o.unmapped = {{i, 0.25F}};
  o.pairs = {{i, 1.5}}, o.pair = {i, 2.5};
  o.n = i % 3, o.counted = new double[3]{i + 0.5, 2, 3}, o.m = i % 2, o.narrow = new short[2]{1, 2};
}
void fill(Arrays &o, int i) {
  o.Set(1), o.narrowed.Set(2), o.widened.Set(3), o[0] = i + 0.5, o.narrowed[1] = i, o.widened[2] = -i, o.last = 100 + i;
}
void fill(Resized &o, int i) {
  o.id = 100 + i, o.last = -100 - i, o.grown[2].q = i, o.square[1][1].q = i, o.std_array[2].q = i;
  o.texts[2] = "t", o.lists[2] = {i}, o.widened[2] = {i + 0.5}, o.pointers[2] = new Part, o.pointer[1] = new Part;
}
void fill(Replaced &o, int i) {
  o.id = 100 + i, o.last = -100 - i;
  o.to_pointers = {new Part}, o.from_pointers.resize(2), o.others.resize(1), o.number = {i}, o.numbers = i;
  o.to_map = {{i, 2}}, o.text = i, o.texts = {i, 2}, o.n = i;
}
#else
void fill(Evolved &o, int i) {
  o.id = i, o.last = -i;
  o.widened = {i, i + 1}, o.narrowed = {i + 0.75, -1.5 - i, edge(i)}, o.shortened = {1.75F, -2.5F, 70000.5F};
  o.relisted = {i, 70000}, o.unset = {i, -3};
  o.nested = {{i}, {}, {1, 2, i}}, o.bools = {true, false, i % 2 == 1}, o.to_bools = {i, 256, 0};
  o.mapped = {{i, i + 0.5F}, {-1, 2}}, o.unmapped = {{i, i + 0.25F}, {-2, 3}};
  o.pairs = {{i, 1.5F}, {2, 2.5F}}, o.pair = {i, 2.5F};
  for (int k = 0; k < 4; ++k) {
    if (k < 3)
      o.grown[k] = i + k, o.array[k] = i - k;
    o.shrunk[k] = i * k, o.square[k] = i + 10 * k, o.line[k / 2][k % 2] = i - k;
  }
  o.larger[0] = i, o.larger[1] = 5, o.single = i, o.doubled[0] = i, o.doubled[1] = 9;
  o.n = i % 3, o.counted = new float[3]{1.5F * i, 2, 3}, o.m = i % 2, o.narrow = new Long64_t[2]{100000 + i, 2};
  o.to_char = o.to_uchar = o.to_short = o.to_ushort = o.to_int = o.to_uint = o.to_long = o.to_ulong = edge(i);
  o.from_float = edge(i), o.to_bool = i % 2 ? 0.25 : 0;
}
void fill(Arrays &o, int i) {
  o.Set(i % 3), o.narrowed.Set(2), o.widened.Set(i % 2 + 1), o.last = -i;
  for (int k = 0; k < i % 3; ++k)
    o[k] = i + 0.5F * k;
  o.narrowed[0] = -i, o.narrowed[1] = 70000, o.widened[i % 2] = -i;
}
void fill(Resized &o, int i) {
  auto text = [i](int k) { return std::string(k, 'a' + i); };
  o.id = i, o.last = -i, o.spare.q = o.spare_part.q = o.part.q = o.doubled[0].q = i, o.doubled[1].q = 9;
  o.spare_text = o.spare_other = o.text = o.doubled_text[0] = o.spare_std_text = "spare", o.doubled_text[1] = "9";
  for (int k = 0; k < 4; ++k) {
    o.square_text[k] = text(k);
    if (k < 3) {
      o.shrunk[k].q = o.square[k].q = i + k, o.fewer_texts[k] = o.fewer_std_texts[k] = text(3 - k);
      o.fewer_lists[k].assign(k, i), o.fewer_pointers[k] = new Part{i - k};
    }
    if (k < 2) {
      o.grown[k].q = o.std_array[k].q = i - k, o.texts[k] = o.std_texts[k] = text(2 * k);
      o.lists[k] = o.widened[k] = std::vector<int>(i % 2 + k, i), o.pointers[k] = i % 2 ? new Part{i + k} : nullptr;
    }
  }
  o.named[0].SetNameTitle("name", text(2).c_str()), o.pointer = new Part{i};
}
void fill(Replaced &o, int i) {
  o.id = i, o.last = -i, o.part.q = i;
  o.to_pointers.resize(i % 3), o.from_pointers.assign(i % 2, new Part), o.others.resize(2), o.number = i;
  o.numbers = {i, 1}, o.to_map = {i, 3}, o.text = std::to_string(i), o.texts = {"a", std::to_string(i)};
  o.n = i % 3, o.counted = new float[3]{1.5F * i, 2, 3};
}
#endif

template <typename T> void write(const char *file_name, const char *tree_name, int split, int n_entries) {
  TFile file(file_name, "UPDATE");
  TTree tree(tree_name, "");
  auto *one = new T;
  auto *many = new std::vector<T>;
  tree.Branch("one", &one, 32000, split);
  tree.Branch("many", &many, 32000, split);
  for (int i = 0; i < n_entries; ++i) {
    fill(*one, i);
    many->clear();
    for (int k = 0; k < i % 3; ++k) {
      many->emplace_back();
      fill(many->back(), i + k);
    }
    tree.Fill();
  }
  tree.Write();
  // Those of the last entry.
  file.WriteObject(one, TString(tree_name) + "_one");
  file.WriteObject(many, TString(tree_name) + "_many");
}

// All classes, each in a tree of its own that has its name and that of this version.
void write_all(const char *file_name, const char *version, int split, bool member_wise, int n_entries) {
  TVirtualStreamerInfo::SetStreamMemberWise(member_wise);
  write<Evolved>(file_name, TString("Evolved_") + version, split, n_entries);
  write<Resized>(file_name, TString("Resized_") + version, split, n_entries);
  write<Arrays>(file_name, TString("Arrays_") + version, split, n_entries);
  write<Replaced>(file_name, TString("Replaced_") + version, split, n_entries);
}

// Texts of JSON: for each entry the one object, and then the many.
template <typename T>
void read(const char *file_name, const char *tree_name, const char *class_name, std::vector<std::string> &lines) {
  TBufferJSON::SetFloatFormat("%.17g"), TBufferJSON::SetDoubleFormat("%.17g");
  TFile file(file_name);
  auto *tree = file.Get<TTree>(tree_name);
  T *one = nullptr;
  std::vector<T> *many = nullptr;
  tree->SetBranchAddress("one", &one), tree->SetBranchAddress("many", &many);
  auto *class_of_one = TClass::GetClass(class_name);
  auto *class_of_many = TClass::GetClass(TString::Format("vector<%s>", class_name));
  for (Long64_t i = 0; i < tree->GetEntries(); ++i) {
    tree->GetEntry(i);
    lines.emplace_back(TBufferJSON::ConvertToJSON(one, class_of_one, 3).Data());
    lines.emplace_back(TBufferJSON::ConvertToJSON(many, class_of_many, 3).Data());
  }
}

std::vector<std::string> read(const char *file_name, const char *name, const char *version) {
  std::vector<std::string> lines;
  auto tree_name = TString(name) + "_" + version;
  if (TString(name) == "Evolved")
    read<Evolved>(file_name, tree_name, "evo::Evolved", lines);
  else if (TString(name) == "Resized")
    read<Resized>(file_name, tree_name, "evo::Resized", lines);
  else if (TString(name) == "Arrays")
    read<Arrays>(file_name, tree_name, "evo::Arrays", lines);
  else
    read<Replaced>(file_name, tree_name, "evo::Replaced", lines);
  return lines;
}

} // namespace evo

#ifdef __ROOTCLING__
#pragma link C++ class evo::Part+;
#pragma link C++ class evo::Other+;
#pragma link C++ class evo::Evolved+;
#pragma link C++ class evo::Resized+;
#pragma link C++ class evo::Arrays+;
#pragma link C++ class evo::Replaced+;
#pragma link C++ class std::vector<evo::Part>+;
#pragma link C++ class std::vector<evo::Part *>+;
#pragma link C++ class std::vector<evo::Other>+;
#pragma link C++ class std::vector<evo::Evolved>+;
#pragma link C++ class std::vector<evo::Resized>+;
#pragma link C++ class std::vector<evo::Arrays>+;
#pragma link C++ class std::vector<evo::Replaced>+;
#pragma link C++ class std::map<int, float>+;
#pragma link C++ class std::map<int, double>+;
#pragma link C++ class std::map<int, int>+;
#pragma link C++ class std::pair<int, float>+;
#pragma link C++ class std::pair<int, double>+;
#pragma link C++ class std::vector<std::pair<int, float>>+;
#pragma link C++ class std::vector<std::pair<int, double>>+;
#pragma link C++ class std::vector<std::vector<int>>+;
#pragma link C++ class std::vector<std::vector<double>>+;
#endif
