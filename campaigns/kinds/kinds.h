// Trees and RNTuples of one column each, of all kinds that events hold, and how long ROOT takes to read them.
#pragma once
#include <TClonesArray.h>
#include <TFile.h>
#include <TLorentzVector.h>
#include <TRandom3.h>
#include <TString.h>
#include <TTree.h>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kinds {

struct Point {
  float x = 1, y = 2, z = 3;
  int id = 4;
  double e = 5;
};

struct Hit {
  float x = 1, y = 2, z = 3;
  int id = 4;
  double e = 5;
  std::vector<float> w{1.f, 2.f};
};

struct Leaves {
  int a = 0;
  float b = 0;
  double c = 0;
};

using Numbers = std::vector<std::vector<std::vector<int>>>;

TRandom3 random(1);

std::string word(unsigned n_letters) {
  std::string text;
  while (n_letters--) text += static_cast<char>('a' + random.Integer(26));
  return text;
}

template <class List, class Make>
void refill(List &list, unsigned below, Make make) {
  list.clear();
  for (auto n = random.Integer(below); n--;) list.insert(list.end(), make());
}

float number() { return static_cast<float>(random.Gaus()); }

// A tree whose branches `branch` makes and `fill` fills.
template <class Branch, class Fill>
void tree(const char *name, long n_entries, Branch branch, Fill fill) {
  TTree tree(name, "");
  branch(tree);
  while (n_entries--) {
    fill();
    tree.Fill();
  }
  tree.Write();
}

template <class T, class Fill>
void object(const char *name, long n_entries, Fill fill, int split = 99) {
  T value;
  tree(name, n_entries, [&](TTree &tree) { tree.Branch("v", &value, 32000, split); }, [&] { fill(value); });
}

void write_trees(const char *path, int compression, long n) {
  TFile file(path, "RECREATE", "", compression);
  auto floats = [](auto &v) { refill(v, 8, number); };
  auto points = [](auto &v) { refill(v, 6, [] { return Point{1, 2, number(), 4, random.Rndm()}; }); };
  auto hits = [](auto &v) { refill(v, 6, [] { return Hit{1, 2, number(), 4, random.Rndm(), {1.f, 2.f}}; }); };
  auto vectors = [](auto &v) { refill(v, 4, [] { return TLorentzVector(1, 2, random.Rndm(), 4); }); };
  auto lists = [](auto &v) {
    refill(v, 4, [] { std::vector<float> inner; refill(inner, 6, number); return inner; });
  };

  Leaves leaves;
  tree("leaf list", 5 * n, [&](TTree &t) { t.Branch("v", &leaves, "a/I:b/F:c/D"); },
       [&] { leaves = {static_cast<int>(random.Integer(100)), number(), random.Rndm()}; });
  float fixed[10][3] = {};
  tree("float v[10][3]", n, [&](TTree &t) { t.Branch("v", fixed, "v[10][3]/F"); }, [&] { fixed[3][1] = number(); });
  int count = 0;
  float counted[20];
  auto fill_counted = [&](auto *values) {
    count = random.Integer(8);
    std::generate_n(values, count, [] { return random.Rndm(); });
  };
  tree("float v[n]", 2 * n, [&](TTree &t) { t.Branch("n", &count); t.Branch("v", counted, "v[n]/F"); },
       [&] { fill_counted(counted); });
  Double32_t packed[20];
  tree("Double32_t v[n] [0,1,10]", 2 * n, [&](TTree &t) { t.Branch("n", &count); t.Branch("v", packed, "v[n]/d[0,1,10]"); },
       [&] { fill_counted(packed); });
  Float16_t half = 0;
  tree("Float16_t", 5 * n, [&](TTree &t) { t.Branch("v", &half, "v/f"); }, [&] { half = number(); });
  tree("float v[n], baskets of 500 bytes", n, [&](TTree &t) { t.Branch("n", &count, 500); t.Branch("v", counted, "v[n]/F", 500); },
       [&] { fill_counted(counted); });
  char text[40];
  tree("char*", n, [&](TTree &t) { t.Branch("v", text, "v/C"); },
       [&] { strcpy(text, word(random.Integer(20)).c_str()); });

  object<std::string>("string", n, [](auto &v) { v = word(random.Integer(20)); });
  object<TString>("TString", n, [](auto &v) { v = word(random.Integer(20)).c_str(); });
  object<std::vector<float>>("vector<float>", n, floats);
  object<std::vector<Double32_t>>("vector<Double32_t>", n, floats);
  object<std::vector<bool>>("vector<bool>", n, [](auto &v) { refill(v, 8, [] { return random.Integer(2) != 0; }); });
  object<std::vector<std::string>>("vector<string>", n, [](auto &v) { refill(v, 6, [] { return word(8); }); });
  object<std::vector<std::vector<float>>>("vector<vector<float>>", n, lists);
  object<Numbers>("vector<vector<vector<int>>>", n, [](auto &v) {
    refill(v, 3, [] {
      std::vector<std::vector<int>> outer;
      refill(outer, 3, [] { std::vector<int> inner; refill(inner, 4, [] { return 7; }); return inner; });
      return outer;
    });
  });
  object<std::set<int>>("set<int>", n, [](auto &v) { refill(v, 8, [] { return static_cast<int>(random.Integer(1000)); }); });
  object<std::map<std::string, float>>("map<string,float>", n, [](auto &v) { refill(v, 5, [] { return std::make_pair(word(5), 1.f); }); });
  object<std::vector<std::bitset<40>>>("vector<bitset<40>>", n, [](auto &v) { refill(v, 4, [] { return std::bitset<40>(random.Integer(1000000)); }); });
  object<std::vector<Point>>("vector<Point>, split", n, points);
  object<std::vector<Point>>("vector<Point>, unsplit", n, points, 0);
  object<std::vector<Hit>>("vector<Hit>, split", n, hits);
  object<std::vector<Hit>>("vector<Hit>, unsplit", n, hits, 0);
  object<std::vector<TLorentzVector>>("vector<TLorentzVector>", n, vectors);
  object<TLorentzVector>("TLorentzVector, unsplit", n, [](auto &v) { v.SetPx(random.Gaus()); }, 0);
  for (int split : {99, 0}) {
    TClonesArray array("TLorentzVector"), *pointer = &array;
    tree(split ? "TClonesArray, split" : "TClonesArray, unsplit", n, [&](TTree &t) { t.Branch("v", &pointer, 32000, split); },
         [&] {
           array.Clear();
           const int n_vectors = random.Integer(4);
           for (int place = 0; place < n_vectors; ++place) new (array[place]) TLorentzVector(1, 2, random.Rndm(), 4);
         });
  }
}

template <class T, class Fill>
void ntuple(TFile &file, const char *name, int compression, long n_entries, Fill fill) {
  auto model = ROOT::RNTupleModel::Create();
  auto value = model->MakeField<T>("v");
  ROOT::RNTupleWriteOptions options;
  options.SetCompression(compression);
  auto writer = ROOT::RNTupleWriter::Append(std::move(model), name, file, options);
  while (n_entries--) {
    fill(*value);
    writer->Fill();
  }
}

void write_ntuples(const char *path, int compression, long n) {
  TFile file(path, "RECREATE", "", compression);
  auto write = [&](const char *name, auto example, auto fill) {
    ntuple<decltype(example)>(file, name, compression, n, fill);
  };
  write("string", std::string(), [](auto &v) { v = word(random.Integer(20)); });
  write("vector<float>", std::vector<float>(), [](auto &v) { refill(v, 8, number); });
  write("vector<bool>", std::vector<bool>(), [](auto &v) { refill(v, 8, [] { return random.Integer(2) != 0; }); });
  write("vector<string>", std::vector<std::string>(), [](auto &v) { refill(v, 6, [] { return word(8); }); });
  write("vector<vector<float>>", std::vector<std::vector<float>>(), [](auto &v) {
    refill(v, 4, [] { std::vector<float> inner; refill(inner, 6, number); return inner; });
  });
  auto perhaps = [] { return random.Integer(2) ? std::optional<float>(number()) : std::nullopt; };
  write("optional<float>", std::optional<float>(), [=](auto &v) { v = perhaps(); });
  write("vector<optional<float>>", std::vector<std::optional<float>>(), [=](auto &v) { refill(v, 5, perhaps); });
  write("variant<int,string,float>", std::variant<int, std::string, float>(), [](auto &v) {
    switch (random.Integer(3)) {
      case 0: v = 7; break;
      case 1: v = word(5); break;
      default: v = 1.5f;
    }
  });
  write("map<string,float>", std::map<std::string, float>(), [](auto &v) { refill(v, 5, [] { return std::make_pair(word(5), 1.f); }); });
  write("vector<bitset<40>>", std::vector<std::bitset<40>>(), [](auto &v) { refill(v, 4, [] { return std::bitset<40>(random.Integer(1000000)); }); });
  write("vector<Point>", std::vector<Point>(), [](auto &v) { refill(v, 6, [] { return Point{1, 2, number(), 4, random.Rndm()}; }); });
  write("vector<Hit>", std::vector<Hit>(), [](auto &v) { refill(v, 6, [] { return Hit{1, 2, number(), 4, random.Rndm(), {1.f, 2.f}}; }); });
}

// CPU time in ms that ROOT takes to read all entries into its own memory: the least of some times.
double cpu_ms(const char *path, const char *name, int n_times) {
  double least = 1e9;
  while (n_times--) {
    TFile file(path);
    const auto start = std::clock();
    if (auto *tree = file.Get<TTree>(name)) {
      for (long entry = 0, end = tree->GetEntries(); entry < end; ++entry) tree->GetEntry(entry);
    } else {
      auto reader = ROOT::RNTupleReader::Open(name, path);
      for (auto entry : *reader) reader->LoadEntry(entry);
    }
    least = std::min(least, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

}  // namespace kinds

#ifdef __ROOTCLING__
#pragma link C++ namespace kinds;
#pragma link C++ class kinds::Point+;
#pragma link C++ class kinds::Hit+;
#pragma link C++ class std::vector<kinds::Point>+;
#pragma link C++ class std::vector<kinds::Hit>+;
#pragma link C++ class std::vector<std::vector<std::vector<int>>>+;
#pragma link C++ class std::map<std::string, float>+;
#pragma link C++ class std::vector<TLorentzVector>+;
#pragma link C++ class std::vector<std::bitset<40>>+;
#pragma link C++ class std::vector<Double32_t>+;
#pragma link C++ class std::set<int>+;
#pragma link C++ function kinds::write_trees;
#pragma link C++ function kinds::write_ntuples;
#pragma link C++ function kinds::cpu_ms;
#endif
