// ROOT's own ways to read a TTree into flat columns.
//
//   ttreereader   TTreeReader with TTreeReaderValue / TTreeReaderArray
//   getentry      SetBranchStatus + SetBranchAddress + TTree::GetEntry
//   branchentry   SetBranchAddress + TBranch::GetEntry of each branch (tree cache told in advance)
//   bulk          TBranch::GetBulkRead (scalars only)
#include <TBranch.h>
#include <TBufferFile.h>
#include <TEnv.h>
#include <TFile.h>
#include <TFileCacheRead.h>
#include <TLeaf.h>
#include <TROOT.h>
#include <TTree.h>
#include <TTreeReader.h>
#include <TTreeReaderArray.h>
#include <TTreeReaderValue.h>

#include <algorithm>
#include <memory>

#include "column.hxx"
#include "measure.hxx"
#include "warm_up.hxx"

struct Column : ColumnBase {
  using ColumnBase::ColumnBase;
  virtual void bind_reader(TTreeReader&) = 0;
  virtual void fill_from_reader() = 0;
  virtual void bind_tree(TTree*) = 0;
  virtual void fill_from_tree() = 0;
  virtual void read_bulk(TBranch*, long) { fail("bulk reading is for scalars only"); }
};

template <class T>
struct ScalarColumn : Column {
  using Column::Column;
  ColumnData<T> data;
  T buffer{};
  std::unique_ptr<TTreeReaderValue<T>> value;

  void bind_reader(TTreeReader& r) override { value = std::make_unique<TTreeReaderValue<T>>(r, spec.name.c_str()); }
  void fill_from_reader() override { data.values.push_back(**value); }
  void bind_tree(TTree* t) override { t->SetBranchAddress(spec.name.c_str(), &buffer); }
  void fill_from_tree() override { data.values.push_back(buffer); }
  void read_bulk(TBranch* branch, long n) override {
    TBufferFile basket(TBuffer::kWrite, 32 * 1024);
    data.values.reserve(n);
    for (long entry = 0; entry < n;) {
      const int k = branch->GetBulkRead().GetBulkEntries(entry, basket);
      if (k <= 0) fail("bulk read of " + spec.name + " failed");
      auto first = reinterpret_cast<T*>(basket.GetCurrent());
      data.values.insert(data.values.end(), first, first + k);
      entry += k;
    }
  }
  uint64_t bytes() const override { return data.bytes(false); }
  Digest digest() const override { return data.digest(false); }
  uint64_t n_entries() const override { return data.values.size(); }
};

template <class T>
struct ListColumn : Column {
  using Column::Column;
  ColumnData<T> data;
  std::unique_ptr<TTreeReaderArray<T>> array;
  std::vector<T>* vector = nullptr;  // kind "vector"
  std::vector<Stored<T>> buffer;     // kind "array"
  TLeaf* counter = nullptr;

  void bind_reader(TTreeReader& r) override { array = std::make_unique<TTreeReaderArray<T>>(r, spec.name.c_str()); }
  void fill_from_reader() override {
    const size_t n = array->GetSize();
    for (size_t i = 0; i < n; i++) data.values.push_back(array->At(i));
    data.end_list();
  }
  void bind_tree(TTree* t) override {
    if (spec.kind == "vector") {
      t->SetBranchAddress(spec.name.c_str(), &vector);
    } else {
      auto leaf = t->GetLeaf(spec.name.c_str());
      counter = leaf->GetLeafCount();
      buffer.resize(std::max(4096, leaf->GetMaximum() + counter->GetMaximum() + 16));
      t->SetBranchAddress(spec.name.c_str(), static_cast<void*>(buffer.data()));
    }
  }
  void fill_from_tree() override {
    if (vector) {
      data.values.insert(data.values.end(), vector->begin(), vector->end());
    } else {
      const int n = static_cast<int>(counter->GetValue());
      data.values.insert(data.values.end(), buffer.begin(), buffer.begin() + n);
    }
    data.end_list();
  }
  uint64_t bytes() const override { return data.bytes(true); }
  Digest digest() const override { return data.digest(true); }
  uint64_t n_entries() const override { return data.offsets.size() - 1; }
};

using Columns = std::vector<std::unique_ptr<Column>>;

static std::unique_ptr<Column> make_column(const ColumnSpec& spec) {
  return with_type(spec.type, [&](auto tag) -> std::unique_ptr<Column> {
    using T = typename decltype(tag)::type;
    if (spec.kind == "scalar") return std::make_unique<ScalarColumn<T>>(spec);
    return std::make_unique<ListColumn<T>>(spec);
  });
}

static TBranch* find_branch(TTree* tree, const std::string& name) {
  auto branch = tree->GetBranch(name.c_str());
  if (!branch) fail("no branch " + name);
  return branch;
}

// Calls f(entry) for the wanted entries, or for all.
template <class F>
static void for_entries(const std::vector<long>& wanted, long n, F&& f) {
  if (wanted.empty())
    for (long e = 0; e < n; e++) f(e);
  else
    for (long e : wanted) f(e);
}

static void read_with_ttreereader(TTree* tree, Columns& columns, const std::vector<long>& entries) {
  TTreeReader reader(tree);
  for (auto& c : columns) c->bind_reader(reader);
  if (entries.empty()) {
    while (reader.Next())
      for (auto& c : columns) c->fill_from_reader();
  } else {
    for (long e : entries) {
      reader.SetEntry(e);
      for (auto& c : columns) c->fill_from_reader();
    }
  }
}

static void read_with_getentry(TTree* tree, Columns& columns, const std::vector<long>& entries) {
  tree->SetBranchStatus("*", false);
  for (auto& c : columns) {
    tree->SetBranchStatus(c->spec.name.c_str(), true);
    if (c->spec.kind == "array") tree->SetBranchStatus(c->spec.counter.c_str(), true);
  }
  for (auto& c : columns) c->bind_tree(tree);
  for_entries(entries, tree->GetEntries(), [&](long e) {
    tree->GetEntry(e);
    for (auto& c : columns) c->fill_from_tree();
  });
}

static void read_with_branchentry(TTree* tree, Columns& columns, const std::vector<long>& entries) {
  std::vector<std::string> names;  // counters first, each branch once
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (auto& c : columns)
    if (c->spec.kind == "array") add(c->spec.counter);
  for (auto& c : columns) add(c->spec.name);
  std::vector<TBranch*> branches;
  for (auto& name : names) branches.push_back(find_branch(tree, name));
  for (auto& c : columns) c->bind_tree(tree);
  for (auto b : branches) tree->AddBranchToCache(b, true);
  tree->StopCacheLearningPhase();
  for_entries(entries, tree->GetEntries(), [&](long e) {
    const long local = tree->LoadTree(e);
    for (auto b : branches) b->GetEntry(local);
    for (auto& c : columns) c->fill_from_tree();
  });
}

int main() {
  const Job job;
  const std::string engine = job.text("engine", "ttreereader");
  // Without this, TFile::Open maps root://127.0.0.1 to the local file without saying so.
  if (job.remote()) gEnv->SetValue("Path.ForceRemote", 1);
  if (job.number("prefetch")) gEnv->SetValue("TFile.AsyncPrefetching", 1);
  if (job.threads() > 1) ROOT::EnableImplicitMT(job.threads());
  warm_up(job);
  Columns columns;
  for (auto& spec : job.columns()) columns.push_back(make_column(spec));
  const auto entries = job.entries();

  const Stopwatch watch;
  std::unique_ptr<TFile> file(TFile::Open(job.location().c_str()));
  if (!file || file->IsZombie()) fail("cannot open " + job.location());
  auto tree = file->Get<TTree>(job.text("tree").c_str());
  if (!tree) fail("no tree " + job.text("tree"));
  const int64_t open_ns = watch.wall_ns();
  if (job.raw.contains("cache_bytes")) tree->SetCacheSize(job.number("cache_bytes"));

  if (engine == "ttreereader") {
    read_with_ttreereader(tree, columns, entries);
  } else if (engine == "getentry") {
    read_with_getentry(tree, columns, entries);
  } else if (engine == "branchentry") {
    read_with_branchentry(tree, columns, entries);
  } else if (engine == "bulk") {
    for (auto& c : columns) c->read_bulk(tree->GetBranch(c->spec.name.c_str()), tree->GetEntries());
  } else {
    fail("unknown engine " + engine);
  }
  nlohmann::json result{{"wall_ns", watch.wall_ns()},
                        {"cpu_ns", watch.cpu_ns()},
                        {"open_ns", open_ns},
                        {"peak_rss_bytes", peak_rss_bytes()}};
  // The file's own counts: those of TTreePerfStats leave out the reads that opening takes.
  result["requests"] = file->GetReadCalls();
  result["bytes_read"] = file->GetBytesRead();
  add_columns(result, columns);
  finish(result);
}
