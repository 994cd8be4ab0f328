// TTreeReader, as most analyses use it: a value or an array for each column, entry by entry.
#include <TTreeReader.h>
#include <TTreeReaderArray.h>
#include <TTreeReaderValue.h>

namespace arrowroot_lab {

struct ReaderColumn {
  Digest& digest;
  explicit ReaderColumn(Digest& d) : digest(d) {}
  virtual ~ReaderColumn() = default;
  virtual void take() = 0;
};

template <class T>
struct ScalarColumn : ReaderColumn {
  TTreeReaderValue<T> value;
  ScalarColumn(Digest& d, TTreeReader& reader, const char* name) : ReaderColumn(d), value(reader, name) {}
  void take() override { digest.add(*value); }
};

template <class T>
struct ArrayColumn : ReaderColumn {
  TTreeReaderArray<T> array;
  ArrayColumn(Digest& d, TTreeReader& reader, const char* name) : ReaderColumn(d), array(reader, name) {}
  void take() override {
    const size_t n = array.GetSize();
    for (size_t i = 0; i < n; i++) digest.add(array.At(i));
    digest.end_list(n);
  }
};

template <class T>
struct NestedColumn : ReaderColumn {
  TTreeReaderValue<std::vector<std::vector<T>>> lists;
  NestedColumn(Digest& d, TTreeReader& reader, const char* name) : ReaderColumn(d), lists(reader, name) {}
  void take() override {
    for (auto& list : *lists) digest.add_list(list);
  }
};

// A vector of bool has no elements in memory that an array could show.
struct BitsColumn : ReaderColumn {
  TTreeReaderValue<std::vector<bool>> bits;
  BitsColumn(Digest& d, TTreeReader& reader, const char* name) : ReaderColumn(d), bits(reader, name) {}
  void take() override { digest.add_list(*bits); }
};

template <class T>
std::unique_ptr<ReaderColumn> reader_column(Kind kind, Digest& digest, TTreeReader& reader, const char* name) {
  if (kind == Kind::kScalar) return std::make_unique<ScalarColumn<T>>(digest, reader, name);
  if (kind == Kind::kNested) return std::make_unique<NestedColumn<T>>(digest, reader, name);
  if (kind == Kind::kVector && std::is_same_v<T, bool>) return std::make_unique<BitsColumn>(digest, reader, name);
  return std::make_unique<ArrayColumn<T>>(digest, reader, name);
}

bool read(Pass& pass, TTree& tree) {
  std::vector<Type> types;
  if (!pass.find(tree, types)) return false;
  TTreeReader reader(&tree);
  std::vector<std::unique_ptr<ReaderColumn>> columns;
  for (size_t i = 0; i < types.size(); i++)
    with_type(types[i].item, [&](auto tag) {
      using T = typename decltype(tag)::type;
      columns.push_back(reader_column<T>(types[i].kind, *pass.digests[i], reader, pass.found[i].c_str()));
    });
  if (!pass.is_picked) reader.SetEntriesRange(pass.begin, pass.end);
  pass.each([&](Long64_t entry) {
    if (pass.is_picked)
      reader.SetEntry(entry);
    else
      reader.Next();
    if (reader.GetEntryStatus() != TTreeReader::kEntryValid)
      throw std::runtime_error("TTreeReader: entry " + std::to_string(entry) + " has status " +
                               std::to_string(reader.GetEntryStatus()));
    for (auto& column : columns) column->take();
  });
  return true;
}

}  // namespace arrowroot_lab
