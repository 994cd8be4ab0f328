// ROOT's fast ways to read a TTree into flat columns; the laboratory's runners have the usual ones.
//
//   branchentry   SetBranchAddress + TBranch::GetEntry of each branch (tree cache told in advance)
//   bulk          TBranch::GetBulkRead (scalars only)
#include <TBranch.h>
#include <TBufferFile.h>
#include <TFile.h>
#include <TFileCacheRead.h>
#include <TLeaf.h>
#include <TTree.h>

#include <algorithm>
#include <memory>

#include "column.hxx"
#include "measure.hxx"
#include "warm_up.hxx"

struct Column : ColumnBase {
  using ColumnBase::ColumnBase;
  virtual void bind_tree(TTree*) = 0;
  virtual void fill_from_tree() = 0;
  virtual void read_bulk(TBranch*, long) { fail("bulk reading is for scalars only"); }
};

template <class T>
struct ScalarColumn : Column {
  using Column::Column;
  ColumnData<T> data;
  T buffer{};

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
  std::vector<T>* vector = nullptr;  // kind "vector"
  std::vector<Stored<T>> buffer;     // kind "array"
  TLeaf* counter = nullptr;

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
  const long n = entries.empty() ? tree->GetEntries() : static_cast<long>(entries.size());
  for (long k = 0; k < n; k++) {
    const long local = tree->LoadTree(entries.empty() ? k : entries[k]);
    for (auto b : branches) b->GetEntry(local);
    for (auto& c : columns) c->fill_from_tree();
  }
}

int main() {
  const Job job;
  const std::string engine = job.text("engine");
  warm_up(job);
  Columns columns;
  for (auto& spec : job.columns()) columns.push_back(make_column(spec));
  const auto entries = job.entries();

  const Stopwatch watch;
  std::unique_ptr<TFile> file(TFile::Open(job.text("file").c_str()));
  if (!file || file->IsZombie()) fail("cannot open " + job.text("file"));
  auto tree = file->Get<TTree>(job.text("tree").c_str());
  if (!tree) fail("no tree " + job.text("tree"));
  const int64_t open_ns = watch.wall_ns();
  if (engine == "branchentry") {
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
