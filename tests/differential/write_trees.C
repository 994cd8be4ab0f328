// Trees that ROOT writes for the differential tests. Each function makes one file.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "TBranch.h"
#include "TDirectory.h"
#include "TFile.h"
#include "TFileMerger.h"
#include "TFree.h"
#include "TH1F.h"
#include "TLeaf.h"
#include "ROOT/TIOFeatures.hxx"
#include "TNtuple.h"
#include "TNtupleD.h"
#include "TRandom3.h"
#include "TString.h"
#include "TTree.h"

namespace arrowroot_test {

template <typename T> T number(TRandom3 &random, int i) {
  using limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    const T special[] = {T(0), T(-0.), limits::max(), limits::lowest(), limits::min(), limits::denorm_min(),
                         limits::infinity(), -limits::infinity(), limits::quiet_NaN(), limits::epsilon()};
    return i < 10 ? special[i] : T(random.Gaus(0, std::pow(10., i % 7)));
  } else {
    if (i == 0) return limits::min();
    if (i == 1) return limits::max();
    return T((ULong64_t(random.Integer(0xffffffffu)) << 32) | random.Integer(0xffffffffu));
  }
}
std::string text(TRandom3 &random, int length) {
  std::string s;
  while (int(s.size()) < length) s += char('!' + random.Integer(90));
  return s;
}
std::string text_of(TLeaf *leaf) { return static_cast<const char *>(leaf->GetValuePointer()); }
int length_of(int i) { // around one byte's limit, and empty
  const int lengths[] = {0, 1, 2, 3, 7, 253, 254, 255, 256, 257, 1000, 0, 0, 70000};
  return lengths[i % 14];
}

void numbers(const char *path, int compression, int n_entries, int basket_bytes) {
  TFile file(path, "RECREATE", "", compression);
  TTree tree("T", "numbers");
  TRandom3 random(7);
  Char_t B; UChar_t b; Short_t S; UShort_t s; Int_t I; UInt_t i; Long64_t L; ULong64_t l; Long_t G; ULong_t g;
  Float_t F; Double_t D; Bool_t O;
  tree.Branch("B", &B, "B/B", basket_bytes); tree.Branch("b_", &b, "b_/b", basket_bytes);
  tree.Branch("S", &S, "S/S", basket_bytes); tree.Branch("s_", &s, "s_/s", basket_bytes);
  tree.Branch("I", &I, "I/I", basket_bytes); tree.Branch("i_", &i, "i_/i", basket_bytes);
  tree.Branch("L", &L, "L/L", basket_bytes); tree.Branch("l_", &l, "l_/l", basket_bytes);
  tree.Branch("G", &G, "G/G", basket_bytes); tree.Branch("g_", &g, "g_/g", basket_bytes);
  tree.Branch("F", &F, "F/F", basket_bytes); tree.Branch("D", &D, "D/D", basket_bytes);
  tree.Branch("O", &O, "O/O", basket_bytes);
  for (int k = 0; k < n_entries; ++k) {
    B = number<signed char>(random, k); b = number<UChar_t>(random, k); S = number<Short_t>(random, k);
    s = number<UShort_t>(random, k); I = number<Int_t>(random, k); i = number<UInt_t>(random, k);
    L = number<Long64_t>(random, k); l = number<ULong64_t>(random, k); G = number<Long_t>(random, k);
    g = number<ULong_t>(random, k); F = number<Float_t>(random, k); D = number<Double_t>(random, k);
    O = random.Integer(2);
    tree.Fill();
  }
  tree.Write();
}

void fill_arrays(TTree &tree, int n_entries) {
  TRandom3 random(8);
  Int_t n, m; UChar_t small;
  Float_t fixed[3], grid[2][3], counted[20], rows[20][2], cube[20][2][3];
  Double_t wide[5]; Bool_t flags[20]; Short_t shorts[20]; ULong64_t longs[100]; Char_t chars[4];
  struct { Float_t x; Int_t y; Double_t z; Short_t w; } point;
  struct { Int_t n; Float_t a[20]; } inside;
  struct { Float_t a[2]; Int_t b[3]; Bool_t c; } mixed;
  tree.Branch("n", &n, "n/I"); tree.Branch("m", &m, "m/I"); tree.Branch("small", &small, "small/b");
  tree.Branch("fixed", fixed, "fixed[3]/F"); tree.Branch("grid", grid, "grid[2][3]/F");
  tree.Branch("wide", wide, "wide[5]/D"); tree.Branch("chars", chars, "chars[4]/B");
  tree.Branch("counted", counted, "counted[n]/F"); tree.Branch("rows", rows, "rows[n][2]/F");
  tree.Branch("cube", cube, "cube[m][2][3]/F"); tree.Branch("flags", flags, "flags[n]/O");
  tree.Branch("shorts", shorts, "shorts[m]/S"); tree.Branch("longs", longs, "longs[small]/l");
  tree.Branch("point", &point, "x/F:y/I:z/D:w/S");
  tree.Branch("inside", &inside, "k/I:a[k]/F");
  tree.Branch("mixed", &mixed, "a[2]/F:b[3]/I:c/O");
  Int_t none = 0; Float_t nothing[1];
  tree.Branch("none", &none, "none/I"); tree.Branch("nothing", nothing, "nothing[none]/F");
  for (int k = 0; k < n_entries; ++k) {
    n = k % 3 == 2 ? 0 : random.Integer(20); m = random.Integer(20); small = random.Integer(100);
    for (auto &x : fixed) x = random.Gaus();
    for (auto &row : grid) for (auto &x : row) x = random.Gaus();
    for (auto &x : wide) x = random.Gaus();
    for (auto &x : chars) x = number<signed char>(random, 5);
    for (auto &x : counted) x = random.Gaus();
    for (auto &row : rows) for (auto &x : row) x = random.Gaus();
    for (auto &plane : cube) for (auto &row : plane) for (auto &x : row) x = random.Gaus();
    for (auto &x : flags) x = random.Integer(2);
    for (auto &x : shorts) x = number<Short_t>(random, 5);
    for (auto &x : longs) x = number<ULong64_t>(random, 5);
    point = {float(random.Gaus()), k, random.Gaus(), short(-k)};
    inside.n = random.Integer(20);
    for (auto &x : inside.a) x = random.Gaus();
    for (auto &x : mixed.a) x = random.Gaus();
    for (auto &x : mixed.b) x = number<Int_t>(random, 5);
    mixed.c = k % 2;
    tree.Fill();
  }
}
void generate_offsets_of(TTree &tree) {
  ROOT::TIOFeatures features;
  features.Set(ROOT::Experimental::EIOFeatures::kGenerateOffsetMap);
  tree.SetIOFeatures(features);
}
void arrays(const char *path, int n_entries, bool generate_offsets) {
  TFile file(path, "RECREATE");
  TTree tree("T", "arrays");
  if (generate_offsets) generate_offsets_of(tree);
  tree.SetAutoFlush(37);
  fill_arrays(tree, n_entries);
  tree.Write();
}

// Arrays of a leaf list that a leaf of another branch counts. Their places in memory are not one behind the other.
void counted_elsewhere(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "arrays counted in other branches");
  tree.SetAutoFlush(17);
  TRandom3 random(13);
  Int_t n = 0; Float_t x[20]; Int_t y[20]; Short_t pairs[20][2]; Double32_t packed[20]; Double_t last, first;
  struct { Int_t n; Short_t other; } counts = {0, 0};
  tree.Branch("n", &n, "n/I"); tree.Branch("counts", &counts, "k/I:other/S");
  auto place = [](TBranch *branch, std::vector<void *> addresses) {
    for (size_t i = 0; i < addresses.size(); ++i)
      static_cast<TLeaf *>(branch->GetListOfLeaves()->At(i))->SetAddress(addresses[i]);
  };
  place(tree.Branch("data", x, "x[n]/F:y[n]/I:pairs[n][2]/S:last/D", 3000), {x, y, pairs, &last});
  place(tree.Branch("inner", x, "first/D:x[k]/F:packed[k]/d[-5,5,20]"), {&first, x, packed});
  for (int i = 0; i < n_entries; ++i) {
    n = i % 4 == 1 ? 0 : random.Integer(20);
    counts = {Int_t(random.Integer(20)), short(i)};
    for (auto &value : x) value = random.Gaus();
    for (auto &value : y) value = number<Int_t>(random, 5);
    for (auto &pair : pairs) for (auto &value : pair) value = number<Short_t>(random, 5);
    for (auto &value : packed) value = random.Uniform(-5, 5);
    first = random.Gaus(); last = -i;
    tree.Fill();
  }
  tree.Write();
}

// Arrays that several leaves of one branch count, each others, behind numbers of other sizes.
void counted_by_leaves(const char *path, int n_entries, bool generate_offsets) {
  TFile file(path, "RECREATE");
  TTree tree("T", "arrays that leaves of one branch count");
  if (generate_offsets) generate_offsets_of(tree);
  tree.SetAutoFlush(17);
  struct { Double_t weight; Int_t m; Short_t w; UChar_t k; Float_t tail[2]; } header = {};
  Float_t a[9], b[9]; Short_t pairs[9][2]; Int_t same[9];
  tree.Branch("header", &header, "weight/D:m/I:w/S:k/b:tail[2]/F");
  tree.Branch("a", a, "a[m]/F", 300); tree.Branch("b", b, "b[k]/F", 200);
  tree.Branch("same", same, "same[k]/I");
  // Offsets that ROOT 6.40 generates for arrays of two dimensions are wrong.
  if (!generate_offsets) tree.Branch("pairs", pairs, "pairs[w][2]/S", 250);
  for (int i = 0; i < n_entries; ++i) {
    header = {i / 3., i % 3, Short_t((i * 7) % 9), UChar_t((i + 1) % 3), {float(i), -1}};
    for (int j = 0; j < 9; ++j) {
      a[j] = 100 * i + j; b[j] = -a[j]; same[j] = 7 * i + j;
      pairs[j][0] = i + j; pairs[j][1] = i - j;
    }
    tree.Fill();
  }
  tree.Write();
}

void strings(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "strings");
  TRandom3 random(9);
  static char c[80000], fixed[20];
  std::string std_string;
  TString tstring;
  tree.Branch("c", c, "c/C", 4000); tree.Branch("fixed", fixed, "fixed[20]/C");
  tree.Branch("std_string", &std_string, 4000, 0); tree.Branch("tstring", &tstring, 4000, 0);
  for (int k = 0; k < n_entries; ++k) {
    strcpy(c, text(random, length_of(k)).c_str());
    strcpy(fixed, text(random, k % 20).c_str());
    std_string = text(random, length_of(k + 3));
    if (k == 5) std_string = "h\xc3\xa9l\xc3\xa9na \xe2\x82\xac";
    tstring = text(random, length_of(k + 8)).c_str();
    tree.Fill();
  }
  tree.Write();
}

template <typename T> struct Vectors {
  std::vector<T> one; std::vector<std::vector<T>> two;
  void branch(TTree &tree, const char *name) {
    tree.Branch(Form("v_%s", name), &one, 3000); tree.Branch(Form("vv_%s", name), &two, 3000);
  }
  void fill(TRandom3 &random, int k) {
    one.clear(); two.clear();
    for (int i = random.Integer(6); i > 0; --i) one.push_back(number<T>(random, k));
    for (int i = random.Integer(4); i > 0; --i) {
      two.emplace_back();
      for (int j = random.Integer(4); j > 0; --j) two.back().push_back(number<T>(random, k));
    }
  }
};
void vectors(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "vectors");
  tree.SetAutoFlush(50);
  TRandom3 random(10);
  Vectors<Float_t> f; Vectors<Double_t> d; Vectors<Int_t> i; Vectors<UInt_t> ui; Vectors<Short_t> s;
  Vectors<UShort_t> us; Vectors<Long64_t> l; Vectors<ULong64_t> ul; Vectors<UChar_t> uc;
  f.branch(tree, "float"); d.branch(tree, "double"); i.branch(tree, "int"); ui.branch(tree, "uint");
  s.branch(tree, "short"); us.branch(tree, "ushort"); l.branch(tree, "long"); ul.branch(tree, "ulong");
  uc.branch(tree, "uchar");
  std::vector<bool> flags; std::vector<std::string> words; std::vector<std::vector<std::string>> pages;
  std::vector<std::vector<bool>> nested_flags;
  tree.Branch("flags", &flags, 3000); tree.Branch("words", &words, 3000); tree.Branch("pages", &pages, 3000);
  tree.Branch("nested_flags", &nested_flags, 3000);
  for (int k = 0; k < n_entries; ++k) {
    f.fill(random, k); d.fill(random, k); i.fill(random, k); ui.fill(random, k); s.fill(random, k);
    us.fill(random, k); l.fill(random, k); ul.fill(random, k); uc.fill(random, k);
    flags.clear(); words.clear(); pages.clear(); nested_flags.clear();
    for (int j = random.Integer(9); j > 0; --j) flags.push_back(random.Integer(2));
    for (int j = random.Integer(4); j > 0; --j) words.push_back(text(random, length_of(k + j) % 1001));
    for (int j = random.Integer(4); j > 0; --j) {
      pages.emplace_back(); nested_flags.emplace_back();
      for (int q = random.Integer(4); q > 0; --q) {
        pages.back().push_back(text(random, random.Integer(9)));
        nested_flags.back().push_back(random.Integer(2));
      }
    }
    tree.Fill();
  }
  tree.Write();
}

void packed(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "Double32_t and Float16_t");
  TRandom3 random(11);
  const char *kinds[] = {"", "[0,10,8]", "[0,10,16]", "[-5,5,20]", "[0,0,10]", "[0,0,2]", "[0,0,16]", "[-pi,pi]",
                         "[0,twopi,12]", "[-1,1,31]"};
  Double32_t d[10], da[4], dn[12]; Float16_t f[10], fa[4], fn[12]; Int_t n;
  for (int k = 0; k < 10; ++k) {
    tree.Branch(Form("d%d", k), &d[k], Form("d%d/d%s", k, kinds[k]));
    tree.Branch(Form("f%d", k), &f[k], Form("f%d/f%s", k, kinds[k]));
  }
  tree.Branch("n", &n, "n/I");
  tree.Branch("da", da, "da[4]/d[0,10,10]"); tree.Branch("fa", fa, "fa[4]/f[0,0,9]");
  tree.Branch("dn", dn, "dn[n]/d"); tree.Branch("fn", fn, "fn[n]/f");
  auto *vd = new std::vector<Double32_t>; // its streamer packs, unlike that of vector<double>
  tree.Bronch("vd", "vector<Double32_t>", &vd);
  for (int k = 0; k < n_entries; ++k) {
    for (auto &x : d) x = random.Uniform(0, k % 5 == 0 ? 0.001 : 3.1);
    for (auto &x : f) x = random.Uniform(0, k % 5 == 0 ? 0.001 : 3.1);
    if (k == 3) for (int j = 0; j < 10; ++j) d[j] = f[j] = 0;
    if (k == 4) for (int j = 0; j < 10; ++j) d[j] = f[j] = j < 3 || j == 8 ? 1 : -1;
    n = random.Integer(12);
    for (auto &x : da) x = random.Uniform(0, 10);
    for (auto &x : fa) x = random.Gaus();
    for (auto &x : dn) x = random.Gaus();
    for (auto &x : fn) x = random.Gaus();
    vd->assign(k % 4, random.Gaus());
    tree.Fill();
  }
  tree.Write();
}

void ntuples(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TNtuple single("T", "TNtuple", "x:y:z", 2000);
  TNtupleD wide("D", "TNtupleD", "x:y:z", 2000);
  TRandom3 random(12);
  for (int k = 0; k < n_entries; ++k) {
    single.Fill(random.Gaus(), k, -k);
    wide.Fill(random.Gaus(), k, -k);
  }
  file.Write();
}

void codec(const char *path, int compression, int n_entries) {
  TFile file(path, "RECREATE", "", compression);
  TTree tree("T", "codec");
  TRandom3 random(13);
  Float_t noise; Int_t counter; std::vector<Float_t> values;
  tree.Branch("noise", &noise); tree.Branch("counter", &counter); tree.Branch("values", &values);
  for (int k = 0; k < n_entries; ++k) {
    noise = random.Gaus(); counter = k / 3;
    values.assign(random.Integer(5), Float_t(k % 17));
    tree.Fill();
  }
  tree.Write();
}

// Baskets over 16 MiB are compressed in several blocks; noise is stored as it is.
void big_baskets(const char *path, int compression, int n_entries) {
  TFile file(path, "RECREATE", "", compression);
  TTree tree("T", "big baskets");
  tree.SetAutoFlush(0);
  Double_t slow; ULong64_t noise = 1;
  tree.Branch("slow", &slow, "slow/D", 64000000);
  tree.Branch("noise", &noise, "noise/l", 64000000);
  for (int k = 0; k < n_entries; ++k) {
    slow = k / 8;
    noise = noise * 6364136223846793005ull + 1442695040888963407ull;
    tree.Fill();
  }
  tree.Write();
}

// The record of the tree holds the baskets when nothing was flushed.
void embedded(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "embedded baskets");
  tree.SetAutoFlush(0);
  fill_arrays(tree, n_entries);
  file.WriteTObject(&tree);
}

void circular(const char *path, int n_entries) {
  TTree tree("T", "circular");
  tree.SetDirectory(nullptr);
  tree.SetCircular(100);
  Int_t i; Float_t values[10]; Int_t n;
  tree.Branch("i", &i); tree.Branch("n", &n); tree.Branch("values", values, "values[n]/F");
  for (i = 0; i < n_entries; ++i) {
    n = i % 10;
    for (int k = 0; k < n; ++k) values[k] = i + 0.25f * k;
    tree.Fill();
  }
  TFile file(path, "RECREATE");
  file.WriteTObject(&tree);
}

void fill_simple(TTree &tree, int first, int last) {
  Int_t i, n; Double_t values[8]; std::string word;
  tree.Branch("i", &i); tree.Branch("n", &n); tree.Branch("values", values, "values[n]/D");
  tree.Branch("word", &word);
  for (i = first; i < last; ++i) {
    n = i % 8;
    for (int k = 0; k < n; ++k) values[k] = i + k / 8.;
    word = Form("entry %d", i);
    tree.Fill();
  }
  tree.ResetBranchAddresses();
}
void simple(const char *path, int first, int last) {
  TFile file(path, "RECREATE");
  TTree tree("T", "simple");
  fill_simple(tree, first, last);
  tree.Write();
}
void merged(const char *path, const std::vector<std::string> &parts) {
  TFileMerger merger(kFALSE);
  merger.SetFastMethod(kTRUE);
  merger.OutputFile(path, "RECREATE", 505);
  for (auto &part : parts) merger.AddFile(part.c_str());
  merger.Merge();
}
// Cycles of one name, directories in directories, and objects that are no trees.
void directories(const char *path) {
  TFile file(path, "RECREATE");
  TH1F histogram("h", "a histogram", 10, 0, 1);
  histogram.Write();
  for (int n : {3, 5, 9}) {
    TTree tree("T", Form("%d entries", n));
    fill_simple(tree, 0, n);
    tree.Write("", TObject::kSingleKey);
  }
  TDirectory *directory = &file;
  for (const char *name : {"a", "b c", "d.e"}) {
    directory = directory->mkdir(name);
    directory->cd();
    TTree tree("T", name);
    fill_simple(tree, 100, 117);
    tree.Write();
  }
}
// The record positions are beyond 2 GB: 64-bit keys and directory; the file has a hole, so it takes no space.
void beyond_2_gb(const char *path) {
  TFile file(path, "RECREATE");
  TTree before("before", "at 32-bit positions");
  fill_simple(before, 0, 100);
  before.Write();
  const Long64_t start = 2300000000ll;
  file.SetEND(start);
  auto *free = static_cast<TFree *>(file.GetListOfFree()->Last());
  free->SetFirst(start);
  free->SetLast(4000000000ll);
  file.mkdir("later")->cd();
  TTree after("after", "at 64-bit positions");
  after.SetAutoFlush(20);
  fill_simple(after, 0, 100);
  after.Write();
}
// Two branches of one name, and friends: in this file, in another one, longer, and shorter than the tree.
void friends(const char *path, const char *other) {
  TFile other_file(other, "RECREATE");
  TTree far("far", "in another file");
  Int_t i; Float_t x;
  far.Branch("distance", &i, "distance/I");
  for (i = 0; i < 15; ++i) far.Fill();
  far.Write();
  other_file.Close();
  TFile file(path, "RECREATE");
  TTree tree("T", "with friends"), near("near", "longer"), few("few", "shorter");
  tree.Branch("x", &i, "x/I"); tree.Branch("x", &x, "x/F");
  near.Branch("closeness", &i, "closeness/I");
  few.Branch("rarity", &i, "rarity/I");
  for (i = 0; i < 10; ++i) { x = i + 0.5f; tree.Fill(); }
  for (i = 0; i < 12; ++i) near.Fill();
  for (i = 0; i < 8; ++i) few.Fill();
  tree.SetAlias("twice", "2 * closeness"); tree.SetAlias("shifted", "x + 1");
  tree.AddFriend("near");
  tree.AddFriend("f = far", strrchr(other, '/') + 1);
  tree.Write(); near.Write(); few.Write();
}
void beside_objects(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "columns beside objects");
  Int_t i; TH1F histogram("h", "", 3, 0, 1); std::vector<float> values;
  TH1F *h = &histogram;
  histogram.SetDirectory(nullptr);
  tree.Branch("i", &i); tree.Branch("h", "TH1F", &h, 32000, 0); tree.Branch("values", &values);
  for (i = 0; i < n_entries; ++i) { values.assign(i % 4, i); tree.Fill(); }
  tree.Write();
}
void many_branches(const char *path, int n_branches, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "many branches");
  std::vector<Float_t> values(n_branches);
  for (int k = 0; k < n_branches; ++k) tree.Branch(Form("x%d", k), &values[k]);
  for (int i = 0; i < n_entries; ++i) {
    for (int k = 0; k < n_branches; ++k) values[k] = i * 1000 + k;
    tree.Fill();
  }
  tree.Write();
}
// The process ends before the file is closed.
void unclosed(const char *path, const char *autosave, int n_saved, int n_entries) {
  auto *file = new TFile(path, "RECREATE");
  auto *tree = new TTree("T", "unclosed");
  tree->SetAutoFlush(25);
  tree->SetAutoSave(0);
  static Int_t i, n; static Double_t values[8];
  tree->Branch("i", &i); tree->Branch("n", &n); tree->Branch("values", values, "values[n]/D");
  for (i = 0; i < n_entries; ++i) {
    n = i % 8;
    for (int k = 0; k < n; ++k) values[k] = i + k / 8.;
    tree->Fill();
    if (i + 1 == n_saved) tree->AutoSave(autosave);
  }
  file->Flush();
  _exit(0);
}

// One branch has its baskets in another file, or would if it had filled one.
void elsewhere(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "");
  Int_t i;
  Float_t x;
  tree.Branch("i", &i);
  tree.Branch("x", &x, 2000)->SetFile("other.root");
  for (i = 0; i < n_entries; ++i) { x = i * 0.5f; tree.Fill(); }
  tree.Write();
}
// The same where a closed file was opened again, and where the directory around the tree's own was not saved.
void reopened(const char *path, const char *autosave) {
  {
    TFile file(path, "RECREATE");
    TTree tree("T", "");
    Int_t i;
    tree.Branch("i", &i);
    for (i = 0; i < 100; ++i) tree.Fill();
    tree.Write();
    file.mkdir("d");
  }
  auto *file = new TFile(path, "UPDATE");
  static Int_t i;
  auto *tree = file->Get<TTree>("T");
  tree->SetBranchAddress("i", &i);
  for (i = 100; i < 300; ++i) tree->Fill();
  tree->AutoSave(autosave);
  file->cd("d");
  auto *other = new TTree("U", "");
  other->Branch("i", &i);
  for (i = 0; i < 77; ++i) other->Fill();
  other->AutoSave(autosave);
  file->Flush();
  _exit(0);
}
void nested(const char *path, const char *autosave) {
  auto *file = new TFile(path, "RECREATE");
  file->mkdir("d")->mkdir("e")->cd();
  static Int_t i;
  auto *inner = new TTree("T", "");
  inner->Branch("i", &i);
  file->cd();
  auto *outer = new TTree("U", "");
  outer->Branch("i", &i);
  for (i = 0; i < 60; ++i) { inner->Fill(); outer->Fill(); }
  inner->AutoSave(autosave);
  outer->AutoSave(autosave);
  file->Flush();
  _exit(0);
}

} // namespace arrowroot_test
