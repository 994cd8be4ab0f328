// ROOT's own writers, given columns that are in memory: a directory of raw arrays, NAME.values and NAME.ends.
//
//   ttree             TTree::Fill; with threads > 1 implicit multi-threading compresses the baskets
//   rntuple           RNTupleWriter; with threads > 1 implicit multi-threading
//   rntuple-parallel  RNTupleParallelWriter, one fill context for each thread
//
// A list of a tree is an array counted by its collection's branch, of an RNTuple a std::vector.
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>

#include <ROOT/REntry.hxx>
#include <ROOT/RNTupleFillContext.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleParallelWriter.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "job.hxx"
#include "measure.hxx"

// The bytes of a file, all of them touched.
static std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

struct Collection {
  std::vector<char> ends_bytes;
  long longest = 0;
  const int64_t* ends() const { return reinterpret_cast<const int64_t*>(ends_bytes.data()); }
  long begin(long entry) const { return ends()[entry]; }  // n + 1 of them, the first is 0
  long size(long entry) const { return ends()[entry + 1] - ends()[entry]; }
};

struct Column {
  std::string name, type;
  int width = 4;
  std::vector<char> values;
  const Collection* collection = nullptr;
  std::string counter;
};

static std::map<std::string, Collection> collections;
static std::vector<Column> columns;
static long n_entries = 0;

static int width_of(const std::string& type) {
  if (type == "float32" || type == "int32") return 4;
  if (type == "float64") return 8;
  if (type == "bool") return 1;
  fail("no column of " + type);
}

static void load(const Job& job) {
  const std::string directory = job.text("data");
  n_entries = job.number("n_entries");
  for (const auto& spec : job.columns()) {
    Column column{spec.name, spec.type, width_of(spec.type), bytes_of(directory + "/" + spec.name + ".values")};
    if (spec.kind == "array") {
      auto [place, is_new] = collections.try_emplace(spec.counter);
      Collection& collection = place->second;
      if (is_new) {
        collection.ends_bytes = bytes_of(directory + "/" + spec.counter + ".ends");
        for (long e = 0; e < n_entries; e++) collection.longest = std::max(collection.longest, collection.size(e));
      }
      column.collection = &collection;
      column.counter = spec.counter;
    }
    columns.push_back(std::move(column));
  }
}

static const char* leaf_of(const std::string& type) {
  return type == "float32" ? "F" : type == "float64" ? "D" : type == "int32" ? "I" : "O";
}

static void write_ttree(const std::string& out, int compression) {
  TFile file(out.c_str(), "RECREATE", "", compression);
  TTree tree("T", "T");
  std::map<std::string, int> counts;
  std::vector<std::vector<char>> buffers;
  buffers.reserve(columns.size());
  for (const Column& column : columns) {
    const long n = column.collection ? std::max(1L, column.collection->longest) : 1;
    buffers.emplace_back(n * column.width);
    const std::string dimension = column.collection ? "[" + column.counter + "]" : "";
    if (column.collection && !counts.count(column.counter))
      tree.Branch(column.counter.c_str(), &counts[column.counter], (column.counter + "/I").c_str());
    tree.Branch(column.name.c_str(), buffers.back().data(),
                (column.name + dimension + "/" + leaf_of(column.type)).c_str());
  }
  for (long e = 0; e < n_entries; e++) {
    for (auto& [name, count] : counts) count = static_cast<int>(collections.at(name).size(e));
    for (size_t c = 0; c < columns.size(); c++) {
      const Column& column = columns[c];
      const long begin = column.collection ? column.collection->begin(e) : e;
      const long n = column.collection ? column.collection->size(e) : 1;
      std::memcpy(buffers[c].data(), column.values.data() + begin * column.width, n * column.width);
    }
    tree.Fill();
  }
  tree.Write();
  file.Close();
}

// The values of one entry, of a column's own type.
struct Slot {
  virtual ~Slot() = default;
  virtual void add(ROOT::RNTupleModel& model) = 0;
  virtual void bind(ROOT::REntry& entry) = 0;
  virtual void set(long entry) = 0;
};
template <class T>
struct SlotOf : Slot {
  const Column& column;
  T value{};
  std::vector<T> list;
  explicit SlotOf(const Column& of) : column(of) {}
  const T* values() const { return reinterpret_cast<const T*>(column.values.data()); }
  void add(ROOT::RNTupleModel& model) override {
    if (column.collection)
      model.MakeField<std::vector<T>>(column.name);
    else
      model.MakeField<T>(column.name);
  }
  void bind(ROOT::REntry& entry) override {
    if (column.collection)
      entry.BindRawPtr(column.name, &list);
    else
      entry.BindRawPtr(column.name, &value);
  }
  void set(long e) override {
    if (column.collection) {
      const T* begin = values() + column.collection->begin(e);
      list.assign(begin, begin + column.collection->size(e));
    } else {
      value = values()[e];
    }
  }
};

static std::vector<std::unique_ptr<Slot>> make_slots() {
  std::vector<std::unique_ptr<Slot>> slots;
  for (const Column& column : columns) {
    if (column.type == "float32")
      slots.push_back(std::make_unique<SlotOf<float>>(column));
    else if (column.type == "float64")
      slots.push_back(std::make_unique<SlotOf<double>>(column));
    else if (column.type == "int32")
      slots.push_back(std::make_unique<SlotOf<std::int32_t>>(column));
    else
      fail("no RNTuple column of " + column.type);
  }
  return slots;
}

static std::unique_ptr<ROOT::RNTupleModel> make_model() {
  auto model = ROOT::RNTupleModel::CreateBare();
  for (auto& slot : make_slots()) slot->add(*model);
  return model;
}

static void write_rntuple(const std::string& out, int compression) {
  ROOT::RNTupleWriteOptions options;
  options.SetCompression(compression);
  auto writer = ROOT::RNTupleWriter::Recreate(make_model(), "T", out, options);
  auto entry = writer->GetModel().CreateBareEntry();
  auto slots = make_slots();
  for (auto& slot : slots) slot->bind(*entry);
  for (long e = 0; e < n_entries; e++) {
    for (auto& slot : slots) slot->set(e);
    writer->Fill(*entry);
  }
  entry.reset();
  writer.reset();
}

static void write_rntuple_parallel(const std::string& out, int compression, int n_threads) {
  ROOT::RNTupleWriteOptions options;
  options.SetCompression(compression);
  auto writer = ROOT::RNTupleParallelWriter::Recreate(make_model(), "T", out, options);
  std::vector<std::thread> threads;
  for (int t = 0; t < n_threads; t++)
    threads.emplace_back([&, t] {
      auto context = writer->CreateFillContext();
      auto entry = context->GetModel().CreateBareEntry();
      auto slots = make_slots();
      for (auto& slot : slots) slot->bind(*entry);
      for (long e = n_entries * t / n_threads; e < n_entries * (t + 1) / n_threads; e++) {
        for (auto& slot : slots) slot->set(e);
        context->Fill(*entry);
      }
    });
  for (auto& thread : threads) thread.join();
  writer.reset();
}

// Dictionaries and plug-ins, not counted.
static void warm_up(const std::string& path) {
  {
    TFile file(path.c_str(), "RECREATE");
    TTree tree("T", "T");
    float value = 0;
    tree.Branch("x", &value, "x/F");
    tree.Fill();
    tree.Write();
  }
  auto model = ROOT::RNTupleModel::Create();
  auto value = model->MakeField<std::vector<float>>("x");
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "T", path);
  writer->Fill();
  writer.reset();
  std::filesystem::remove(path);
}

int main() {
  const Job job;
  const std::string engine = job.text("engine"), out = job.text("out");
  const int compression = static_cast<int>(job.number("compression")), threads = job.threads();
  load(job);
  if (engine == "rntuple-parallel")
    ROOT::EnableThreadSafety();
  else if (threads > 1)
    ROOT::EnableImplicitMT(threads);
  warm_up(out + ".warm");

  int64_t wall_ns = INT64_MAX, cpu_ns = INT64_MAX;
  for (int64_t k = job.number("repetitions", 1); k > 0; k--) {
    std::filesystem::remove(out);
    const Stopwatch watch;
    if (engine == "ttree")
      write_ttree(out, compression);
    else if (engine == "rntuple")
      write_rntuple(out, compression);
    else if (engine == "rntuple-parallel")
      write_rntuple_parallel(out, compression, threads);
    else
      fail("no engine " + engine);
    wall_ns = std::min(wall_ns, watch.wall_ns());
    cpu_ns = std::min(cpu_ns, watch.cpu_ns());
  }
  finish({{"wall_ns", wall_ns}, {"cpu_ns", cpu_ns}, {"n_entries", n_entries}, {"peak_rss_bytes", peak_rss_bytes()}});
}
