// Read the AOD-like data set (five vectors of objects) into flat columns.
//
//   getentry      SetBranchAddress of the vectors + TTree::GetEntry
//   ttreereader   TTreeReader
//   views         RNTuple views
//
// what = "all" (every member) or "pt" (one member). In the split layout the members are branches.
#include <TFile.h>
#include <TTree.h>
#include <TTreeReader.h>
#include <TTreeReaderArray.h>
#include <TTreeReaderValue.h>

#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <memory>

#include "Aod.h"
#include "column.hxx"
#include "measure.hxx"
#include "warm_up.hxx"

using Objects = std::vector<AodObj>;
using Entries = std::vector<long>;

static const char* kFloats[12] = {"pt", "eta", "phi", "m", "d0", "z0", "chi2", "iso", "e", "px", "py", "pz"};
static const char* kInts[4] = {"id", "charge", "nhits", "status"};

struct Collection {
  std::string name;
  bool only_pt;
  ColumnData<float> floats[12];
  ColumnData<int> ints[4];
  ColumnData<unsigned> flags;
  ColumnData<double> t;
  ColumnData<short> cls;
  ColumnData<float> cov;  // one list for each object

  void add(const Objects& objects) {
    if (only_pt) {
      for (auto& o : objects) floats[0].values.push_back(o.pt);
    } else {
      for (auto& o : objects) {
        const float* f = &o.pt;
        for (int k = 0; k < 12; k++) floats[k].values.push_back(f[k]);
        const int* i = &o.id;
        for (int k = 0; k < 4; k++) ints[k].values.push_back(i[k]);
        flags.values.push_back(o.flags);
        t.values.push_back(o.t);
        cls.values.push_back(o.cls);
        cov.values.insert(cov.values.end(), o.cov.begin(), o.cov.end());
        cov.end_list();
      }
    }
    floats[0].end_list();
  }

  // All members of a collection have the offsets of the first.
  uint64_t report(nlohmann::json& checksum) {
    uint64_t bytes = 0;
    const auto put = [&](const char* member, auto& column) {
      if (&column.offsets != &floats[0].offsets && static_cast<void*>(&column) != &cov)
        column.offsets = floats[0].offsets;
      bytes += column.bytes(false);
      checksum[name + "." + member] = column.digest(true).json();
    };
    put("pt", floats[0]);
    bytes += 8 * (floats[0].offsets.size() - 1);
    if (only_pt) return bytes;
    for (int k = 1; k < 12; k++) put(kFloats[k], floats[k]);
    for (int k = 0; k < 4; k++) put(kInts[k], ints[k]);
    put("flags", flags);
    put("t", t);
    put("cls", cls);
    put("cov", cov);
    return bytes + 8 * (cov.offsets.size() - 1);
  }
};

using Collections = std::vector<Collection>;

template <class F>
static void for_entries(const Entries& wanted, long n, F&& f) {
  if (wanted.empty())
    for (long e = 0; e < n; e++) f(e);
  else
    for (long e : wanted) f(e);
}

static void read_with_getentry(TTree* tree, Collections& collections, const Entries& entries, bool split) {
  std::vector<Objects*> objects(collections.size(), nullptr);
  if (split && collections[0].only_pt) {
    tree->SetBranchStatus("*", false);
    for (auto& c : collections) {
      tree->SetBranchStatus(c.name.c_str(), true);
      tree->SetBranchStatus((c.name + ".pt").c_str(), true);
    }
  }
  for (size_t k = 0; k < collections.size(); k++) tree->SetBranchAddress(collections[k].name.c_str(), &objects[k]);
  for_entries(entries, tree->GetEntries(), [&](long e) {
    tree->GetEntry(e);
    for (size_t k = 0; k < collections.size(); k++) collections[k].add(*objects[k]);
  });
}

static void read_with_ttreereader(TTree* tree, Collections& collections, const Entries& entries, bool split) {
  TTreeReader reader(tree);
  const auto run = [&](auto&& one) {
    if (entries.empty())
      while (reader.Next()) one();
    else
      for (long e : entries) {
        reader.SetEntry(e);
        one();
      }
  };
  if (split && collections[0].only_pt) {
    std::vector<std::unique_ptr<TTreeReaderArray<float>>> arrays;
    for (auto& c : collections)
      arrays.push_back(std::make_unique<TTreeReaderArray<float>>(reader, (c.name + ".pt").c_str()));
    run([&] {
      for (size_t k = 0; k < arrays.size(); k++) {
        auto& pt = collections[k].floats[0];
        for (float x : *arrays[k]) pt.values.push_back(x);
        pt.end_list();
      }
    });
  } else {
    std::vector<std::unique_ptr<TTreeReaderValue<Objects>>> values;
    for (auto& c : collections) values.push_back(std::make_unique<TTreeReaderValue<Objects>>(reader, c.name.c_str()));
    run([&] {
      for (size_t k = 0; k < values.size(); k++) collections[k].add(**values[k]);
    });
  }
}

static void read_with_views(ROOT::RNTupleReader& reader, Collections& collections, const Entries& entries) {
  const long n = reader.GetNEntries();
  for (auto& c : collections) {
    if (c.only_pt) {
      auto lists = reader.GetCollectionView(c.name);
      auto pt = lists.GetDirectAccessView<float>("_0.pt");
      for_entries(entries, n, [&](long e) {
        for (auto i : lists.GetCollectionRange(e)) c.floats[0].values.push_back(pt(i));
        c.floats[0].end_list();
      });
    } else {
      auto view = reader.GetView<Objects>(c.name);
      for_entries(entries, n, [&](long e) { c.add(view(e)); });
    }
  }
}

int main() {
  const Job job;
  const std::string engine = job.text("engine", "getentry");
  const bool split = job.text("layout") == "split99", only_pt = job.text("what") == "pt";
  TClass::GetClass("AodObj");
  TClass::GetClass("vector<AodObj>");
  warm_up(job);
  Collections collections;
  for (const char* name : {"jets", "muons", "electrons", "tracks", "clusters"}) {
    collections.emplace_back();
    collections.back().name = name;
    collections.back().only_pt = only_pt;
  }
  const auto entries = job.entries();

  const Stopwatch watch;
  nlohmann::json result;
  if (engine == "views") {
    auto reader = ROOT::RNTupleReader::Open(job.text("tree"), job.text("file"));
    result["open_ns"] = watch.wall_ns();
    read_with_views(*reader, collections, entries);
  } else {
    auto file = std::make_unique<TFile>(job.text("file").c_str());
    auto tree = file->Get<TTree>(job.text("tree").c_str());
    if (!tree) fail("no tree in " + job.text("file"));
    result["open_ns"] = watch.wall_ns();
    if (engine == "getentry")
      read_with_getentry(tree, collections, entries, split);
    else
      read_with_ttreereader(tree, collections, entries, split);
    result["requests"] = file->GetReadCalls();
    result["bytes_read"] = file->GetBytesRead();
    file.release();  // the branches point into `objects`, which are gone
  }
  result["wall_ns"] = watch.wall_ns();
  result["cpu_ns"] = watch.cpu_ns();
  result["peak_rss_bytes"] = peak_rss_bytes();
  uint64_t bytes = 0;
  result["n_entries"] = collections[0].floats[0].offsets.size() - 1;
  result["checksum"] = nlohmann::json::object();
  for (auto& c : collections) bytes += c.report(result["checksum"]);
  result["values_bytes"] = bytes;
  finish(result);
}
