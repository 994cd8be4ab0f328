// Writes an RNTuple for each case of root-project/rntuple-validation, with values of our own, and beside it what is in it
// as JSON. Called by with_root_ntuples.py.

#include "write_ntuples.C"

#include <ROOT/RFieldUtils.hxx>
#include <ROOT/RMiniFile.hxx>
#include <ROOT/RNTupleAttrWriting.hxx>
#include <ROOT/RNTupleDescriptor.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleSerialize.hxx>
#include <TClass.h>
#include <TDictAttributeMap.h>
#include <TNamed.h>

namespace arrowroot_test {

using C = ROOT::ENTupleColumnType;
const std::pair<const char *, C> kIndexes[] = {
   {"Index32", C::kIndex32}, {"Index64", C::kIndex64}, {"SplitIndex32", C::kSplitIndex32}, {"SplitIndex64", C::kSplitIndex64}};

/// One file.
struct Case {
   std::string path;
   Table table;
   std::unique_ptr<ROOT::RNTupleModel> model = ROOT::RNTupleModel::Create();
   ROOT::RNTupleWriteOptions options;

   explicit Case(const std::string &path) : path(path)
   {
      generator.seed(std::hash<std::string>{}(path.substr(path.rfind('/') + 1)));
      options.SetCompression(0);
   }
   template <typename T>
   void add(const std::string &name) { table.add<T>(*model, name); }
   template <typename T>
   void add(std::unique_ptr<ROOT::RField<T>> field)
   {
      const std::string name = field->GetFieldName();
      model->AddField(std::move(field));
      table.watch(name, model->GetDefaultEntry().GetPtr<T>(name));
   }
   /// A number in a column type of choice.
   template <typename T>
   void number(const std::string &name, C type)
   {
      auto field = std::make_unique<ROOT::RField<T>>(name);
      field->SetColumnRepresentatives({{type}});
      add(std::move(field));
   }
   /// A collection with each kind of ends; those of its items too, if they are collections of the same kind.
   template <typename T>
   void collection(bool isNested = false)
   {
      for (auto [name, type] : kIndexes) {
         auto field = std::make_unique<ROOT::RField<T>>(name);
         if constexpr (std::is_same_v<T, std::string>)
            field->SetColumnRepresentatives({{type, C::kChar}});
         else
            field->SetColumnRepresentatives({{type}});
         if (isNested)
            field->GetMutableSubfields()[0]->SetColumnRepresentatives({{type}});
         add(std::move(field));
      }
   }
   void write(int nEntries = 20, const std::function<void(ROOT::RNTupleWriter &, int)> &after = nullptr)
   {
      auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "ntpl", path, options);
      for (int i = 0; i < nEntries; ++i) {
         table.fill();
         writer->Fill();
         if (after)
            after(*writer, i);
      }
      writer.reset();
      table.save(path + ".json");
   }
};

/// Numbers that lose something when they are stored: what ROOT reads is what is in the file.
template <typename T>
void readBack(const std::string &path, std::ostream &out, const std::string &name)
{
   auto reader = ROOT::RNTupleReader::Open("ntpl", path);
   auto view = reader->GetView<T>(name);
   out << '"' << name << "\":[";
   for (auto i : reader->GetEntryRange()) {
      out << (i ? "," : "");
      put(out, view(i));
   }
   out << ']';
}

using Printers = std::vector<std::function<void(std::ostream &)>>;

template <typename T>
void lossyColumn(Case &c, Printers &columns, std::unique_ptr<ROOT::RField<T>> field, std::function<T()> fill)
{
   const std::string name = field->GetFieldName(), path = c.path;
   c.model->AddField(std::move(field));
   auto value = c.model->GetDefaultEntry().GetPtr<T>(name);
   c.table.watch(name, value);
   c.table.columns.back()->fill = [value, fill] { *value = fill(); };
   columns.push_back([path, name](std::ostream &out) { readBack<T>(path, out, name); });
}

inline void fundamental(const std::string &directory)
{
   {
      Case c(directory + "types.fundamental.integer.root");
      c.number<std::int8_t>("Int8", C::kInt8);
      c.number<std::uint8_t>("UInt8", C::kUInt8);
      c.number<std::int16_t>("Int16", C::kInt16);
      c.number<std::uint16_t>("UInt16", C::kUInt16);
      c.number<std::int32_t>("Int32", C::kInt32);
      c.number<std::uint32_t>("UInt32", C::kUInt32);
      c.number<std::int64_t>("Int64", C::kInt64);
      c.number<std::uint64_t>("UInt64", C::kUInt64);
      c.number<std::int16_t>("SplitInt16", C::kSplitInt16);
      c.number<std::uint16_t>("SplitUInt16", C::kSplitUInt16);
      c.number<std::int32_t>("SplitInt32", C::kSplitInt32);
      c.number<std::uint32_t>("SplitUInt32", C::kSplitUInt32);
      c.number<std::int64_t>("SplitInt64", C::kSplitInt64);
      c.number<std::uint64_t>("SplitUInt64", C::kSplitUInt64);
      c.write(100);
   }
   {
      Case c(directory + "types.fundamental.misc.root");
      c.add<bool>("Bit");
      c.add<std::byte>("Byte");
      c.add<char>("Char");
      c.write(100);
   }
   // Lossy ones: values that fit, and those that ROOT reads back are the expected ones.
   auto lossy = [&](const std::string &name, auto make) {
      const std::string path = directory + name + ".root";
      Case c(path);
      Printers columns;
      make(c, columns);
      c.write(100);
      std::ofstream out(path + ".json");
      out << "{\"n_entries\":100,\"columns\":{";
      for (std::size_t i = 0; i < columns.size(); ++i) {
         out << (i ? "," : "");
         columns[i](out);
      }
      out << "}}\n";
   };
   auto anything = [] { double v; do make(v); while (std::isinf(v) || std::abs(v) > 1e30); return v; };
   auto inHalf = [] { return double(int(few(4001)) - 2000) / double(1 << few(20)); };
   lossy("types.fundamental.real", [&](Case &c, auto &columns) {
      auto add = [&](auto type, const std::string &name, C columnType, auto fill) {
         using T = decltype(type);
         auto field = std::make_unique<ROOT::RField<T>>(name);
         field->SetColumnRepresentatives({{columnType}});
         lossyColumn<T>(c, columns, std::move(field), [fill] { return T(fill()); });
      };
      add(float{}, "FloatReal16", C::kReal16, inHalf);
      add(float{}, "FloatReal32", C::kReal32, anything);
      add(double{}, "DoubleReal16", C::kReal16, inHalf);
      add(double{}, "DoubleReal32", C::kReal32, anything);
      add(double{}, "DoubleReal64", C::kReal64, anything);
      add(float{}, "FloatSplitReal32", C::kSplitReal32, anything);
      add(double{}, "DoubleSplitReal32", C::kSplitReal32, anything);
      add(double{}, "DoubleSplitReal64", C::kSplitReal64, anything);
   });
   lossy("types.fundamental.real32trunc", [&](Case &c, auto &columns) {
      auto add = [&](auto type, const std::string &name, int bits) {
         using T = decltype(type);
         auto field = std::make_unique<ROOT::RField<T>>(name + std::to_string(bits));
         field->SetTruncated(bits);
         lossyColumn<T>(c, columns, std::move(field), [anything] { return T(anything()); });
      };
      for (int bits : {10, 11, 16, 23, 31}) {
         add(float{}, "FloatReal32Trunc", bits);
         add(double{}, "DoubleReal32Trunc", bits);
      }
   });
   lossy("types.fundamental.real32quant", [&](Case &c, auto &columns) {
      auto add = [&](auto type, const std::string &name, int bits, double low, double high) {
         using T = decltype(type);
         auto field = std::make_unique<ROOT::RField<T>>(name + std::to_string(bits));
         field->SetQuantized(bits, {T(low), T(high)});
         lossyColumn<T>(c, columns, std::move(field), [low, high] {
            const double share = few(10) == 0 ? double(few(2)) : double(generator() >> 11) / double(1ull << 53);
            return std::min(std::max(T(low + share * (high - low)), T(low)), T(high));
         });
      };
      for (int bits : {1, 7, 8, 20, 31, 32}) {
         add(float{}, "FloatReal32Quant", bits, -M_PI, M_PI);
         add(double{}, "DoubleReal32Quant", bits, -100, 25);
      }
   });
}

template <template <typename...> class List>
void lists(const std::string &directory, const std::string &name)
{
   Case flat(directory + "types." + name + ".fundamental.root");
   flat.collection<List<std::int32_t>>();
   flat.write();
   Case nested(directory + "types." + name + ".nested.root");
   nested.collection<List<List<std::int32_t>>>(true);
   nested.write();
}
template <typename T> using Vector = std::vector<T>;
template <typename T> using RVec = ROOT::RVec<T>;
template <typename T> using Set = std::set<T>;
template <typename T> using Multiset = std::multiset<T>;

template <typename Flat, typename Nested>
void associative(const std::string &directory, const std::string &name)
{
   Case flat(directory + "types." + name + ".fundamental.root");
   flat.collection<Flat>();
   flat.write();
   Case nested(directory + "types." + name + ".nested.root");
   nested.collection<Nested>();
   nested.write();
}

/// What a field that can be absent holds.
template <template <typename...> class Maybe>
void maybes(const std::string &path, const std::string &vector)
{
   Case c(path);
   c.collection<Maybe<std::int32_t>>();
   c.add<Maybe<std::string>>("String");
   c.add<Maybe<std::variant<std::int32_t, std::string>>>("Variant");
   c.add<Maybe<std::vector<std::int32_t>>>("VectorInt32");
   c.add<std::vector<Maybe<std::int32_t>>>(vector);
   c.write();
}
template <typename T> using Optional = std::optional<T>;
template <typename T> using UniquePtr = std::unique_ptr<T>;

enum class EnumInt8 : std::int8_t { Zero, Other = -8 };
enum class EnumUInt8 : std::uint8_t { Zero, Other = 200 };
enum class EnumInt16 : std::int16_t { Zero, Other = -300 };
enum class EnumUInt16 : std::uint16_t { Zero, Other = 60000 };
enum class EnumInt32 : std::int32_t { Zero, Other = -70000 };
enum class EnumUInt32 : std::uint32_t { Zero, Other = 4000000000 };
enum class EnumInt64 : std::int64_t { Zero, Other = -5000000000 };
enum class EnumUInt64 : std::uint64_t { Zero, Other = 18000000000000000000ull };
template <typename T>
std::enable_if_t<std::is_enum_v<T> && !std::is_same_v<T, std::byte>> make(T &v) { v = few(2) ? T::Other : T::Zero; }

struct Inside {
   std::int32_t n = 0;
};
struct Whole : Inside {
   std::string text;
   std::variant<std::int32_t, std::string> either;
   std::vector<std::int32_t> list;
   Inside inside;
};
inline void put(std::ostream &out, const Inside &v) { out << "{\"n\":" << v.n << '}'; }
inline void put(std::ostream &out, const Whole &v)
{
   out << "{\"n\":" << v.n << ",\"text\":";
   put(out, v.text);
   out << ",\"either\":";
   put(out, v.either);
   out << ",\"list\":";
   put(out, v.list);
   out << ",\"inside\":";
   put(out, v.inside);
   out << '}';
}
inline void make(Whole &v)
{
   make(v.n);
   make(v.text);
   make(v.either);
   make(v.list);
   make(v.inside.n);
}

inline void standard(const std::string &directory)
{
   using Either = std::variant<std::int32_t, std::string>;
   lists<Vector>(directory, "vector");
   lists<RVec>(directory, "RVec");
   maybes<Optional>(directory + "types.optional.root", "VectorOpt");
   maybes<UniquePtr>(directory + "types.unique_ptr.root", "VectorPtr");
   {
      Case c(directory + "types.string.root");
      c.collection<std::string>();
      c.write(100);
   }
   {
      Case c(directory + "types.array.root");
      c.add<std::array<std::int32_t, 2>>("Array_Int32");
      c.add<std::array<std::array<std::int32_t, 2>, 3>>("Array_Array");
      c.add<std::array<std::string, 2>>("Array_String");
      c.add<std::array<Either, 2>>("Array_Variant");
      c.add<std::array<std::vector<std::int32_t>, 2>>("Array_Vector");
      c.write();
   }
   {
      Case c(directory + "types.atomic.root");
      c.add<std::atomic<bool>>("Bit");
      c.add<std::atomic<std::byte>>("Byte");
      c.add<std::atomic<char>>("Char");
      c.add<std::atomic<std::int8_t>>("Int8");
      c.add<std::atomic<std::uint8_t>>("UInt8");
      c.add<std::atomic<std::int16_t>>("Int16");
      c.add<std::atomic<std::uint16_t>>("UInt16");
      c.add<std::atomic<std::int32_t>>("Int32");
      c.add<std::atomic<std::uint32_t>>("UInt32");
      c.add<std::atomic<std::int64_t>>("Int64");
      c.add<std::atomic<std::uint64_t>>("UInt64");
      c.add<std::atomic<float>>("Real32");
      c.add<std::atomic<double>>("Real64");
      c.write();
   }
   {
      Case c(directory + "types.bitset.root");
      c.add<std::bitset<1>>("Bitset1");
      c.add<std::bitset<64>>("Bitset64");
      c.add<std::bitset<65>>("Bitset65");
      c.write();
   }
   {
      Case c(directory + "types.pair.root");
      c.add<std::pair<std::int32_t, std::string>>("Int32_String");
      c.add<std::pair<Either, std::vector<std::int32_t>>>("Variant_Vector");
      c.add<std::pair<std::pair<std::int32_t, std::string>, std::int32_t>>("Pair");
      c.add<std::vector<std::pair<std::int32_t, std::string>>>("VectorPair");
      c.write();
   }
   {
      Case c(directory + "types.tuple.root");
      c.add<std::tuple<std::int32_t, std::string, std::vector<std::int32_t>>>("Int32_String_Vector");
      c.add<std::tuple<Either>>("Variant");
      c.add<std::tuple<std::tuple<std::int32_t, std::string>>>("Tuple");
      c.add<std::vector<std::tuple<std::int32_t, std::string>>>("VectorTuple");
      c.write();
   }
   {
      Case c(directory + "types.variant.root");
      c.add<std::variant<std::int32_t, std::string, std::vector<std::int32_t>>>("f");
      c.add<std::vector<Either>>("Vector");
      c.write(50);
   }
   {
      Case c(directory + "types.user.class.root");
      c.add<Whole>("f");
      c.add<std::vector<Whole>>("Vector");
      c.write();
   }
   {
      Case c(directory + "types.user.enum.root");
      c.add<EnumInt8>("EnumInt8");
      c.add<EnumUInt8>("EnumUInt8");
      c.add<EnumInt16>("EnumInt16");
      c.add<EnumUInt16>("EnumUInt16");
      c.add<EnumInt32>("EnumInt32");
      c.add<EnumUInt32>("EnumUInt32");
      c.add<EnumInt64>("EnumInt64");
      c.add<EnumUInt64>("EnumUInt64");
      c.write();
   }
}

/// Containers that ROOT writes only with compiled dictionaries.
inline void compiled(const std::string &directory)
{
   using Text = std::string;
   lists<Set>(directory, "set");
   lists<Multiset>(directory, "multiset");
   associative<std::unordered_set<std::int32_t>, std::vector<std::unordered_set<std::int32_t>>>(directory, "unordered_set");
   associative<std::unordered_multiset<std::int32_t>, std::vector<std::unordered_multiset<std::int32_t>>>(
      directory, "unordered_multiset");
   associative<std::map<Text, std::int32_t>, std::map<Text, std::map<Text, std::int32_t>>>(directory, "map");
   associative<std::multimap<Text, std::int32_t>, std::multimap<Text, std::multimap<Text, std::int32_t>>>(
      directory, "multimap");
   associative<std::unordered_map<Text, std::int32_t>, std::unordered_map<Text, std::unordered_map<Text, std::int32_t>>>(
      directory, "unordered_map");
   associative<std::unordered_multimap<Text, std::int32_t>,
               std::unordered_multimap<Text, std::unordered_multimap<Text, std::int32_t>>>(directory, "unordered_multimap");
}

inline void compressions(const std::string &directory)
{
   const std::pair<const char *, int> algorithms[] = {{"zlib", 101}, {"lzma", 207}, {"lz4", 404}, {"zstd", 505}};
   for (auto [name, setting] : algorithms) {
      Case c(directory + "compression.algorithms." + name + ".root");
      c.options.SetCompression(setting);
      c.number<std::int64_t>("Int64", C::kSplitInt64);
      c.table.columns.back()->fill = [value = c.model->GetDefaultEntry().GetPtr<std::int64_t>("Int64")] { *value += 3; };
      c.write(3000);
   }
   Case small(directory + "compression.block.short.root");
   small.options.SetCompression(505);
   small.number<std::int64_t>("Int64", C::kSplitInt64);
   small.write(2);
   // A page of 40 MiB: three blocks. Its values are known without a list: entry number times 7.
   auto model = ROOT::RNTupleModel::Create();
   auto field = std::make_unique<ROOT::RField<std::int64_t>>("Int64");
   field->SetColumnRepresentatives({{C::kSplitInt64}});
   model->AddField(std::move(field));
   auto value = model->GetDefaultEntry().GetPtr<std::int64_t>("Int64");
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(505);
   options.SetMaxUnzippedPageSize(64 << 20);
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "ntpl", directory + "compression.block.big.root", options);
   for (int i = 0; i < (40 << 20) / 8; ++i) {
      *value = std::int64_t(i) * 7;
      writer->Fill();
   }
}

inline void projections(const std::string &directory)
{
   auto show = [](Case &c, std::unique_ptr<ROOT::RFieldBase> field, std::map<std::string, std::string> sources) {
      c.model->AddProjectedField(std::move(field), [sources](const std::string &name) { return sources.at(name); });
   };
   {
      Case c(directory + "projections.cardinality.root");
      c.collection<std::vector<std::int32_t>>();
      for (auto [name, type] : kIndexes) {
         const std::string field = std::string(name) + "Cardinality";
         if (std::string(name).find("64") == std::string::npos)
            show(c, std::make_unique<ROOT::RField<ROOT::RNTupleCardinality<std::uint32_t>>>(field), {{field, name}});
         else
            show(c, std::make_unique<ROOT::RField<ROOT::RNTupleCardinality<std::uint64_t>>>(field), {{field, name}});
      }
      c.write();
   }
   {
      Case c(directory + "projections.collection.root");
      c.add<std::vector<std::int32_t>>("Vector");
      show(c, std::make_unique<ROOT::RField<ROOT::RVec<std::int32_t>>>("Projected"),
           {{"Projected", "Vector"}, {"Projected._0", "Vector._0"}});
      c.write();
   }
   {
      Case c(directory + "projections.leaf.root");
      c.add<std::pair<std::int32_t, float>>("Pair");
      show(c, std::make_unique<ROOT::RField<std::int32_t>>("Int32"), {{"Int32", "Pair._0"}});
      show(c, std::make_unique<ROOT::RField<float>>("Float"), {{"Float", "Pair._1"}});
      c.write();
   }
   {
      Case c(directory + "projections.nested.root");
      c.add<std::vector<std::pair<std::int32_t, float>>>("VectorPair");
      show(c, std::make_unique<ROOT::RField<std::vector<std::int32_t>>>("VectorInt"),
           {{"VectorInt", "VectorPair"}, {"VectorInt._0", "VectorPair._0._0"}});
      show(c, std::make_unique<ROOT::RField<std::vector<float>>>("VectorFloat"),
           {{"VectorFloat", "VectorPair"}, {"VectorFloat._0", "VectorPair._0._1"}});
      c.write();
   }
}

inline void structures(const std::string &directory)
{
   {
      Case c(directory + "structure.empty.root");
      c.add<std::int32_t>("Int32");
      c.write(0);
   }
   {
      Case c(directory + "structure.clusters.root");
      c.add<std::int32_t>("Int32");
      c.write(7, [](ROOT::RNTupleWriter &writer, int i) { if (i % 3 == 0) writer.CommitCluster(); });
   }
   {
      Case c(directory + "structure.cluster_groups.root");
      c.add<std::int32_t>("Int32");
      c.write(9, [](ROOT::RNTupleWriter &writer, int i) { if (i % 2) writer.CommitCluster(i % 4 == 3); });
   }
   {
      auto model = ROOT::RNTupleModel::Create();
      auto n = model->MakeField<std::int32_t>("Int32");
      auto file = std::unique_ptr<TFile>(TFile::Open((directory + "structure.attributes.root").c_str(), "RECREATE"));
      auto writer = ROOT::RNTupleWriter::Append(std::move(model), "ntpl", *file);
      auto attributes = ROOT::RNTupleModel::Create();
      auto text = attributes->MakeField<std::string>("text");
      auto numbers = attributes->MakeField<std::vector<float>>("numbers");
      auto set = writer->CreateAttributeSet(std::move(attributes), "Attributes");
      for (int i = 0; i < 3; ++i) {
         auto range = set->BeginRange();
         for (int k = 0; k <= i; ++k) {
            *n = 10 * i + k;
            writer->Fill();
         }
         *text = "range " + std::to_string(i);
         numbers->assign(i, 0.5f * i);
         set->CommitRange(std::move(range));
      }
   }
   // A flag from the future, which only the classes below the writers can set.
   using namespace ROOT::Internal;
   RNTupleDescriptorBuilder builder;
   builder.SetVersionForWriting();
   builder.SetNTuple("ntpl", "");
   builder.SetFeature(100);
   builder.AddField(RFieldDescriptorBuilder::FromField(ROOT::RFieldZero()).FieldId(0).MakeDescriptor().Unwrap());
   auto descriptor = builder.MoveDescriptor();
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(0);
   const std::string path = directory + "structure.feature_flag.root";
   auto file = RNTupleFileWriter::Recreate("ntpl", path, RNTupleFileWriter::EContainerFormat::kTFile, options);
   RNTupleSerializer serializer;
   auto context = serializer.SerializeHeader(nullptr, descriptor).Unwrap();
   std::vector<unsigned char> buffer(context.GetHeaderSize());
   context = serializer.SerializeHeader(buffer.data(), descriptor).Unwrap();
   file->WriteNTupleHeader(buffer.data(), buffer.size(), buffer.size());
   buffer.resize(serializer.SerializeFooter(nullptr, descriptor, context).Unwrap());
   serializer.SerializeFooter(buffer.data(), descriptor, context);
   file->WriteNTupleFooter(buffer.data(), buffer.size(), buffer.size());
   file->Commit(0);
}

// What has no case there. The values follow from the entry number: test_root_ntuple_classes.py has the formulas.

struct Part {
   int n = 0;
   std::vector<float> weights;
};
struct Streamed {
   int id = 0;
   std::string text;
   std::vector<Part> parts;
   Part last;
};
struct Point {
   float x = 0;
   int c = 0;
};
struct Points {
   ROOT::RVec<float> x;
   ROOT::RVec<int> c;
};

inline void fillStreamed(Streamed &v, int i)
{
   v.id = i;
   v.text = "text " + std::to_string(i);
   v.parts.assign(i % 3, Part{i, std::vector<float>(i % 4, 0.5f * i)});
   v.last.n = -i;
}

/// Objects that ROOT's streamers write.
inline void streamed(const std::string &directory)
{
   auto model = ROOT::RNTupleModel::Create();
   model->AddField(std::make_unique<ROOT::RStreamerField>("object", "arrowroot_test::Streamed"));
   model->AddField(std::make_unique<ROOT::RStreamerField>("named", "TNamed"));
   auto object = model->GetDefaultEntry().GetPtr<Streamed>("object");
   auto named = model->GetDefaultEntry().GetPtr<TNamed>("named");
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "ntpl", directory + "streamed.root");
   for (int i = 0; i < 30; ++i) {
      fillStreamed(*object, i);
      named->SetNameTitle(("name " + std::to_string(i)).c_str(), "title");
      writer->Fill();
      if (i % 8 == 7)
         writer->CommitCluster();
   }
}

/// A class of vectors, stored as a collection of records.
inline void soa(const std::string &directory)
{
   auto attributed = TClass::GetClass("arrowroot_test::Points");
   attributed->CreateAttributeMap();
   attributed->GetAttributeMap()->AddProperty("rntuple.SoARecord", "arrowroot_test::Point");
   auto model = ROOT::RNTupleModel::Create();
   model->AddField(std::make_unique<ROOT::Experimental::RSoAField>("points", "arrowroot_test::Points"));
   auto points = model->GetDefaultEntry().GetPtr<Points>("points");
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "ntpl", directory + "soa.root");
   for (int i = 0; i < 20; ++i) {
      points->x.resize(i % 4);
      points->c.resize(i % 4);
      for (int k = 0; k < i % 4; ++k) {
         points->x[k] = i + 0.5f * k;
         points->c[k] = 10 * i + k;
      }
      writer->Fill();
   }
}

/// Fields whose representation changes from cluster to cluster, in pages without checksums.
inline void representations(const std::string &directory)
{
   auto model = ROOT::RNTupleModel::Create();
   auto number = std::make_unique<ROOT::RField<float>>("number");
   number->SetColumnRepresentatives({{C::kReal32}, {C::kSplitReal32}, {C::kReal16}});
   auto list = std::make_unique<ROOT::RField<std::vector<int>>>("list");
   list->SetColumnRepresentatives({{C::kIndex32}, {C::kSplitIndex64}});
   list->GetMutableSubfields()[0]->SetColumnRepresentatives({{C::kInt32}, {C::kSplitInt32}});
   auto text = std::make_unique<ROOT::RField<std::string>>("text");
   text->SetColumnRepresentatives({{C::kIndex32, C::kChar}, {C::kSplitIndex64, C::kChar}});
   model->AddField(std::move(number));
   model->AddField(std::move(list));
   model->AddField(std::move(text));
   auto numberValue = model->GetDefaultEntry().GetPtr<float>("number");
   auto listValue = model->GetDefaultEntry().GetPtr<std::vector<int>>("list");
   auto textValue = model->GetDefaultEntry().GetPtr<std::string>("text");
   ROOT::RNTupleWriteOptions options;
   options.SetEnablePageChecksums(false);
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "ntpl", directory + "representations.root", options);
   auto choose = [&](const char *field, int number) {
      auto &chosen = const_cast<ROOT::RFieldBase &>(writer->GetModel().GetConstField(field));
      ROOT::Internal::RFieldRepresentationModifier::SetPrimaryColumnRepresentation(chosen, number);
   };
   for (int i = 0; i < 40; ++i) {
      *numberValue = 0.5f * i;
      listValue->assign(i % 3, -i);
      *textValue = std::string(i % 5, 'a' + i % 26);
      writer->Fill();
      if (i % 6 == 5) {
         writer->CommitCluster(i == 11);
         const int cluster = i / 6 + 1;
         choose("number", cluster % 3);
         choose("list", cluster % 2);
         choose("list._0", cluster / 2 % 2);
         choose("text", cluster % 2);
      }
   }
}

} // namespace arrowroot_test
