// RNTupleReader: a view for each field, entry by entry.
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <ROOT/RVec.hxx>

namespace arrowroot_lab {

// An open RNTuple, whose reads are counted.
class Ntuple {
 public:
  std::unique_ptr<ROOT::RNTupleReader> reader;

  Ntuple(const std::string& name, const std::string& url, bool has_cluster_cache) {
    ROOT::RNTupleReadOptions options;
    if (!has_cluster_cache) options.SetClusterCache(ROOT::RNTupleReadOptions::EClusterCache::kOff);
    reader = ROOT::RNTupleReader::Open(name, url, options);
    reader->EnableMetrics();
  }
  Long64_t n_entries() const { return static_cast<Long64_t>(reader->GetNEntries()); }
  Long64_t count(const std::string& name) const {
    auto counter = reader->GetMetrics().GetCounter("RNTupleReader.RPageSourceFile." + name);
    return counter ? counter->GetValueAsInt() : 0;
  }
};

struct ViewColumn {
  Digest& digest;
  explicit ViewColumn(Digest& d) : digest(d) {}
  virtual ~ViewColumn() = default;
  virtual void take(ROOT::NTupleSize_t) = 0;
};

template <class T>
struct FieldColumn : ViewColumn {
  ROOT::RNTupleView<T> view;
  FieldColumn(Digest& d, ROOT::RNTupleReader& reader, const std::string& name)
      : ViewColumn(d), view(reader.GetView<T>(name)) {}
  void take(ROOT::NTupleSize_t entry) override {
    auto& value = view(entry);
    if constexpr (std::is_arithmetic_v<T>) {
      digest.add(value);
    } else if constexpr (std::is_same_v<T, ROOT::RNTupleCardinality<uint32_t>>) {
      digest.add(static_cast<uint32_t>(value));
    } else if constexpr (std::is_arithmetic_v<typename T::value_type>) {
      digest.add_list(value);
    } else {
      for (auto& list : value) digest.add_list(list);
    }
  }
};

template <class T>
std::unique_ptr<ViewColumn> view_column(Kind kind, Digest& digest, ROOT::RNTupleReader& reader, const std::string& name) {
  if (kind == Kind::kCount)
    return std::make_unique<FieldColumn<ROOT::RNTupleCardinality<uint32_t>>>(digest, reader, name);
  if (kind == Kind::kScalar) return std::make_unique<FieldColumn<T>>(digest, reader, name);
  if (kind == Kind::kVector) return std::make_unique<FieldColumn<ROOT::RVec<T>>>(digest, reader, name);
  return std::make_unique<FieldColumn<ROOT::RVec<ROOT::RVec<T>>>>(digest, reader, name);
}

bool read(Pass& pass, Ntuple& ntuple) {
  auto& reader = *ntuple.reader;
  std::vector<Type> types;
  if (!pass.find(reader.GetDescriptor(), types)) return false;
  std::vector<std::unique_ptr<ViewColumn>> columns;
  for (size_t i = 0; i < types.size(); i++)
    with_type(types[i].item, [&](auto tag) {
      using T = typename decltype(tag)::type;
      // std::int64_t, which fields are of, is long here: of long long there are none.
      if constexpr (!std::is_same_v<T, Long64_t> && !std::is_same_v<T, ULong64_t>)
        columns.push_back(view_column<T>(types[i].kind, *pass.digests[i], reader, pass.found[i]));
    });
  pass.each([&](Long64_t entry) {
    for (auto& column : columns) column->take(static_cast<ROOT::NTupleSize_t>(entry));
  });
  return true;
}

// Reads a tiny RNTuple: what ROOT loads and compiles at the first one is not counted.
void warm_up(const std::string& path) {
  auto model = ROOT::RNTupleModel::Create();
  auto field = model->MakeField<std::vector<float>>("x");
  {
    auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "T", path);
    field->push_back(1);
    writer->Fill();
  }
  Ntuple tiny("T", path, true);
  Pass pass;
  pass.end = 1;
  if (!read(pass, tiny)) throw std::runtime_error(pass.problem);
}

}  // namespace arrowroot_lab
