// Writes RNTuples of all kinds of fields with ROOT, and beside each file what is in it as JSON (values in the conformance
// suite's canonical form). Called by with_root_ntuples.py.

// It runs once: code that is compiled fast, not fast code.
#pragma cling optimize(0)

#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TFile.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iomanip>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace arrowroot_test {

std::mt19937_64 generator;

// JSON of a value.
inline void put(std::ostream &out, bool value) { out << (value ? "true" : "false"); }
inline void put(std::ostream &out, double value)
{
   if (std::isnan(value))
      out << "NaN";
   else if (std::isinf(value))
      out << (value > 0 ? "Infinity" : "-Infinity");
   else
      out << std::scientific << std::setprecision(16) << value;
}
inline void put(std::ostream &out, float value) { put(out, double(value)); }
inline void put(std::ostream &out, char value) { out << int(value); }
inline void put(std::ostream &out, std::byte value) { out << int(value); }
template <typename T>
std::enable_if_t<std::is_integral_v<T>> put(std::ostream &out, T value) { out << +value; }
template <typename T>
std::enable_if_t<std::is_enum_v<T> && !std::is_same_v<T, std::byte>> put(std::ostream &out, T value) { out << +std::underlying_type_t<T>(value); }
inline void put(std::ostream &out, const std::string &value)
{
   out << '"';
   for (char c : value) {
      if (c == '"' || c == '\\')
         out << '\\';
      out << c;
   }
   out << '"';
}
template <typename Items>
void putItems(std::ostream &out, const Items &items);
template <typename T, std::size_t N> void put(std::ostream &out, const std::array<T, N> &v) { putItems(out, v); }
template <typename T> void put(std::ostream &out, const std::vector<T> &v) { putItems(out, v); }
template <typename T> void put(std::ostream &out, const ROOT::RVec<T> &v) { putItems(out, v); }
template <typename T> void put(std::ostream &out, const std::set<T> &v) { putItems(out, v); }
template <typename T> void put(std::ostream &out, const std::multiset<T> &v) { putItems(out, v); }
template <typename T> void put(std::ostream &out, const std::unordered_set<T> &v) { putItems(out, v); }
template <typename T> void put(std::ostream &out, const std::unordered_multiset<T> &v) { putItems(out, v); }
template <typename K, typename V> void put(std::ostream &out, const std::map<K, V> &v) { putItems(out, v); }
template <typename K, typename V> void put(std::ostream &out, const std::multimap<K, V> &v) { putItems(out, v); }
template <typename K, typename V> void put(std::ostream &out, const std::unordered_map<K, V> &v) { putItems(out, v); }
template <typename K, typename V> void put(std::ostream &out, const std::unordered_multimap<K, V> &v) { putItems(out, v); }
template <typename K, typename V> void put(std::ostream &out, const std::map<std::optional<K>, V> &v);
template <typename A, typename B> void put(std::ostream &out, const std::pair<A, B> &v);
template <typename... T> void put(std::ostream &out, const std::tuple<T...> &v);
template <typename... T> void put(std::ostream &out, const std::variant<T...> &v);
template <typename T> void put(std::ostream &out, const std::optional<T> &v);
template <typename T> void put(std::ostream &out, const std::unique_ptr<T> &v);
template <typename T> void put(std::ostream &out, const std::atomic<T> &v) { put(out, v.load()); }
template <std::size_t N> void put(std::ostream &out, const std::bitset<N> &v);
template <typename Items>
void putItems(std::ostream &out, const Items &items)
{
   const char *separator = "[";
   for (const auto &item : items) {
      out << separator;
      put(out, item);
      separator = ",";
   }
   out << (separator[0] == '[' ? "[]" : "]");
}
template <>
inline void putItems(std::ostream &out, const std::vector<bool> &items)
{
   out << '[';
   for (std::size_t i = 0; i < items.size(); ++i) {
      out << (i ? "," : "");
      put(out, bool(items[i]));
   }
   out << ']';
}
template <typename A, typename B>
void put(std::ostream &out, const std::pair<A, B> &v)
{
   out << '[';
   put(out, v.first);
   out << ',';
   put(out, v.second);
   out << ']';
}
template <typename... T>
void put(std::ostream &out, const std::tuple<T...> &v)
{
   out << '[';
   std::apply([&](const auto &...part) { int n = 0; ((out << (n++ ? "," : ""), put(out, part)), ...); }, v);
   out << ']';
}
template <typename... T>
void put(std::ostream &out, const std::variant<T...> &v)
{
   if (v.valueless_by_exception())
      out << "null";
   else
      std::visit([&](const auto &held) { put(out, held); }, v);
}
template <typename T>
void put(std::ostream &out, const std::optional<T> &v)
{
   if (v) put(out, *v); else out << "null";
}
template <typename T>
void put(std::ostream &out, const std::unique_ptr<T> &v)
{
   if (v) put(out, *v); else out << "null";
}
// Keys that may be missing are not those of a map.
template <typename K, typename V>
void put(std::ostream &out, const std::map<std::optional<K>, V> &v)
{
   const char *separator = "[";
   for (const auto &[key, value] : v) {
      out << separator << "{\"key\":";
      put(out, key);
      out << ",\"value\":";
      put(out, value);
      out << '}';
      separator = ",";
   }
   out << (v.empty() ? "[]" : "]");
}
template <std::size_t N>
void put(std::ostream &out, const std::bitset<N> &v)
{
   out << '[';
   for (std::size_t i = 0; i < N; ++i) {
      out << (i ? "," : "");
      put(out, bool(v[i]));
   }
   out << ']';
}

// Random values.
template <typename A, typename B> void make(std::pair<A, B> &);
template <typename... T> void make(std::tuple<T...> &);
template <typename T, std::size_t N> void make(std::array<T, N> &);
template <typename T> void make(std::vector<T> &);
template <typename T> void make(ROOT::RVec<T> &);
template <typename T> void make(std::set<T> &);
template <typename T> void make(std::multiset<T> &);
template <typename T> void make(std::unordered_set<T> &);
template <typename T> void make(std::unordered_multiset<T> &);
template <typename K, typename V> void make(std::map<K, V> &);
template <typename K, typename V> void make(std::multimap<K, V> &);
template <typename K, typename V> void make(std::unordered_map<K, V> &);
template <typename K, typename V> void make(std::unordered_multimap<K, V> &);
template <std::size_t N> void make(std::bitset<N> &);
template <typename T> void make(std::atomic<T> &);
template <typename... T> void make(std::variant<T...> &);
template <typename T> void make(std::optional<T> &);
template <typename T> void make(std::unique_ptr<T> &);
inline std::size_t few(std::size_t n) { return generator() % n; }
inline void make(bool &v) { v = generator() & 1; }
inline void make(float &v)
{
   static const float odd[] = {0, -0.0f, INFINITY, -INFINITY, 1e-42f, 3.4e38f};
   v = few(10) == 0 ? odd[few(6)] : float(double(int64_t(generator())) * std::pow(10., -double(few(20))));
}
inline void make(double &v)
{
   static const double odd[] = {0, -0.0, INFINITY, -INFINITY, 5e-324, 1.7e308};
   v = few(10) == 0 ? odd[few(6)] : double(int64_t(generator())) * std::pow(10., -double(few(30)));
}
inline void make(std::byte &v) { v = std::byte(few(256)); }
template <typename T>
std::enable_if_t<std::is_integral_v<T>> make(T &v)
{
   const T odd[] = {0, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
   v = few(10) == 0 ? odd[few(3)] : T(few(3) ? generator() : generator() % 7);
}
inline void make(std::string &v)
{
   static const char *pieces[] = {"", "a", "\xc3\xa4", "quote\"", "\\", "long text that does not fit into a small string"};
   v.clear();
   for (auto n = few(4); n > 0; --n)
      v += pieces[few(6)];
}
template <typename A, typename B> void make(std::pair<A, B> &v) { make(v.first); make(v.second); }
template <typename... T> void make(std::tuple<T...> &v) { std::apply([](auto &...part) { (make(part), ...); }, v); }
template <typename T, std::size_t N> void make(std::array<T, N> &v) { for (auto &item : v) make(item); }
template <typename V>
void makeItems(V &v)
{
   v.clear();
   for (auto n = few(5); n > 0; --n) {
      typename V::value_type item{};
      make(item);
      v.emplace_back(std::move(item));
   }
}
template <typename T> void make(std::vector<T> &v) { makeItems(v); }
template <typename T> void make(ROOT::RVec<T> &v) { makeItems(v); }
template <typename S>
void makeSet(S &v)
{
   v.clear();
   for (auto n = few(5); n > 0; --n) {
      typename S::value_type item{};
      make(item);
      v.insert(item);
   }
}
template <typename T> void make(std::set<T> &v) { makeSet(v); }
template <typename T> void make(std::multiset<T> &v) { makeSet(v); }
template <typename T> void make(std::unordered_set<T> &v) { makeSet(v); }
template <typename T> void make(std::unordered_multiset<T> &v) { makeSet(v); }
template <typename M>
void makeMap(M &v)
{
   v.clear();
   for (auto n = few(5); n > 0; --n) {
      typename M::key_type key{};
      typename M::mapped_type item{};
      make(key);
      make(item);
      v.emplace(key, item);
   }
}
template <typename K, typename V> void make(std::map<K, V> &v) { makeMap(v); }
template <typename K, typename V> void make(std::multimap<K, V> &v) { makeMap(v); }
template <typename K, typename V> void make(std::unordered_map<K, V> &v) { makeMap(v); }
template <typename K, typename V> void make(std::unordered_multimap<K, V> &v) { makeMap(v); }
template <typename T>
void make(std::optional<T> &v)
{
   v.reset();
   if (few(2)) { v.emplace(); make(*v); }
}
template <typename T>
void make(std::unique_ptr<T> &v)
{
   v.reset();
   if (few(2)) { v = std::make_unique<T>(); make(*v); }
}
template <std::size_t N> void make(std::bitset<N> &v) { for (std::size_t i = 0; i < N; ++i) v[i] = generator() & 1; }
template <typename T> void make(std::atomic<T> &v) { T value; make(value); v = value; }
template <std::size_t I, typename... T>
void makeAlternative(std::variant<T...> &v, std::size_t chosen)
{
   if constexpr (I < sizeof...(T)) {
      if (chosen == I) {
         std::variant_alternative_t<I, std::variant<T...>> value{};
         make(value);
         v.template emplace<I>(std::move(value));
      } else {
         makeAlternative<I + 1>(v, chosen);
      }
   }
}
template <typename... T> void make(std::variant<T...> &v) { makeAlternative<0>(v, few(sizeof...(T))); }

/// Fields, how to fill them, and what was filled.
struct Table {
   struct Column {
      std::string name;
      std::function<void()> fill;
      std::function<void(std::ostream &)> print;
      std::ostringstream values;
   };
   std::vector<std::unique_ptr<Column>> columns;
   int nEntries = 0;

   template <typename T>
   void watch(const std::string &name, std::shared_ptr<T> value, const std::string &zero = "")
   {
      auto column = std::make_unique<Column>();
      column->name = name;
      column->fill = [value] { make(*value); };
      column->print = [value](std::ostream &out) { put(out, *value); };
      for (int i = 0; i < nEntries; ++i)
         column->values << (i ? "," : "") << zero;
      columns.push_back(std::move(column));
   }
   template <typename T>
   void add(ROOT::RNTupleModel &model, const std::string &name) { watch(name, model.MakeField<T>(name)); }

   void fill()
   {
      for (auto &column : columns) {
         column->fill();
         if (nEntries)
            column->values << ",";
         column->print(column->values);
      }
      ++nEntries;
   }
   void save(const std::string &path)
   {
      std::ofstream out(path);
      out << "{\"n_entries\":" << nEntries << ",\"columns\":{";
      for (std::size_t i = 0; i < columns.size(); ++i)
         out << (i ? "," : "") << '"' << columns[i]->name << "\":[" << columns[i]->values.str() << ']';
      out << "}}\n";
   }
};

inline void addNumbers(Table &table, ROOT::RNTupleModel &model)
{
   table.add<bool>(model, "b");
   table.add<char>(model, "c");
   table.add<std::byte>(model, "byte");
   table.add<std::int8_t>(model, "i8");
   table.add<std::uint8_t>(model, "u8");
   table.add<std::int16_t>(model, "i16");
   table.add<std::uint16_t>(model, "u16");
   table.add<std::int32_t>(model, "i32");
   table.add<std::uint32_t>(model, "u32");
   table.add<std::int64_t>(model, "i64");
   table.add<std::uint64_t>(model, "u64");
   table.add<float>(model, "f");
   table.add<double>(model, "d");
}

inline void addKinds(Table &table, ROOT::RNTupleModel &model)
{
   table.add<std::string>(model, "text");
   table.add<std::vector<std::int32_t>>(model, "v_i32");
   table.add<std::vector<bool>>(model, "v_bool");
   table.add<ROOT::RVec<float>>(model, "rvec_f");
   table.add<std::vector<std::string>>(model, "v_text");
   table.add<std::vector<std::vector<double>>>(model, "vv_d");
   table.add<std::vector<std::vector<std::vector<std::int16_t>>>>(model, "vvv_i16");
   table.add<std::array<float, 3>>(model, "a_f");
   table.add<std::array<std::array<std::int64_t, 2>, 3>>(model, "aa_i64");
   table.add<std::array<std::vector<std::uint8_t>, 2>>(model, "a_v_u8");
   table.add<std::vector<std::array<std::string, 2>>>(model, "v_a_text");
   table.add<std::array<bool, 5>>(model, "a_bool");
   table.add<std::bitset<3>>(model, "bits3");
   table.add<std::bitset<67>>(model, "bits67");
   table.add<std::pair<std::int32_t, std::string>>(model, "pair");
   table.add<std::tuple<float, std::vector<std::int32_t>, bool>>(model, "tuple");
   table.add<std::vector<std::pair<std::int16_t, std::vector<float>>>>(model, "v_pair");
   table.add<std::variant<std::int32_t, std::string>>(model, "variant");
   table.add<std::vector<std::variant<double, std::vector<std::int32_t>, std::string>>>(model, "v_variant");
   // Holds null: what is in a record has no nulls beside.
   table.add<std::pair<bool, std::variant<std::optional<float>, std::vector<bool>>>>(model, "pair_variant");
   table.add<std::optional<std::int32_t>>(model, "opt");
   table.add<std::optional<std::string>>(model, "opt_text");
   table.add<std::vector<std::optional<float>>>(model, "v_opt");
   table.add<std::optional<std::vector<bool>>>(model, "opt_v");
   table.add<std::optional<std::pair<std::int32_t, double>>>(model, "opt_pair");
   table.add<std::unique_ptr<std::string>>(model, "ptr");
   table.add<std::atomic<std::int32_t>>(model, "atomic");
}

/// Kinds that need compiled dictionaries.
inline void addCompiled(Table &table, ROOT::RNTupleModel &model)
{
   table.add<std::set<std::int32_t>>(model, "set");
   table.add<std::multiset<std::uint8_t>>(model, "multiset");
   table.add<std::unordered_set<std::int64_t>>(model, "uset");
   table.add<std::map<std::string, float>>(model, "map");
   table.add<std::multimap<std::int32_t, std::string>>(model, "multimap");
   table.add<std::unordered_map<std::int32_t, std::vector<double>>>(model, "umap");
   table.add<std::vector<std::map<std::int32_t, std::string>>>(model, "v_map");
   table.add<std::map<std::optional<std::int32_t>, float>>(model, "map_opt");
}

struct Base {
   std::int32_t id = 0;
   std::vector<float> weights;
};
enum class Color : std::uint8_t { kRed = 1, kGreen = 2, kBlue = 200 };
struct Hit : Base {
   double x = 0;
   std::string label;
   std::array<std::int16_t, 2> cells{};
   Color color = Color::kRed;
   void print(std::ostream &out) const
   {
      out << "{\"id\":" << id << ",\"weights\":";
      put(out, weights);
      out << ",\"x\":";
      put(out, x);
      out << ",\"label\":";
      put(out, label);
      out << ",\"cells\":";
      put(out, cells);
      out << ",\"color\":";
      put(out, color);
      out << '}';
   }
};
inline void put(std::ostream &out, const Hit &hit) { hit.print(out); }
inline void make(Hit &hit)
{
   static const Color colors[] = {Color::kRed, Color::kGreen, Color::kBlue};
   make(hit.id);
   make(hit.weights);
   make(hit.x);
   make(hit.label);
   make(hit.cells);
   hit.color = colors[few(3)];
}

/// Writes classes, lists of them, and fields projected from these.
inline void classes(const std::string &path, int compression)
{
   generator.seed(5);
   Table table;
   auto model = ROOT::RNTupleModel::Create();
   table.add<Hit>(*model, "hit");
   table.add<std::vector<Hit>>(*model, "hits");
   table.add<std::optional<Hit>>(*model, "opt_hit");
   table.add<std::vector<std::vector<Hit>>>(*model, "vv_hit");
   model->AddProjectedField(std::make_unique<ROOT::RField<ROOT::RNTupleCardinality<std::uint32_t>>>("n_hits"),
                            [](const std::string &) { return "hits"; });
   model->AddProjectedField(std::make_unique<ROOT::RField<std::vector<double>>>("hits_x"),
                            [](const std::string &name) { return name == "hits_x" ? "hits" : "hits._0.x"; });
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(compression);
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", path, options);
   for (int i = 0; i < 200; ++i) {
      table.fill();
      writer->Fill();
      if (i % 64 == 30)
         writer->CommitCluster();
   }
   writer.reset();
   table.save(path + ".json");
}

/// Writes all kinds of fields in clusters of different sizes.
inline void kinds(const std::string &path, int compression, std::size_t pageBytes, int nEntries, bool hasCompiler)
{
   generator.seed(std::hash<std::string>{}(path.substr(path.rfind('/') + 1)));
   Table table;
   auto model = ROOT::RNTupleModel::Create();
   addNumbers(table, *model);
   addKinds(table, *model);
   if (hasCompiler)
      addCompiled(table, *model);
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(compression);
   options.SetMaxUnzippedPageSize(pageBytes);
   options.SetInitialUnzippedPageSize(std::min<std::size_t>(pageBytes, 256));
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", path, options);
   for (int i = 0; i < nEntries; ++i) {
      table.fill();
      writer->Fill();
      if (i % 97 == 40)
         writer->CommitCluster(i % 5 == 0);
   }
   writer.reset();
   table.save(path + ".json");
}

/// Writes a number in each encoding that it can have.
inline void encodings(const std::string &path, int compression)
{
   generator.seed(7);
   Table table;
   auto model = ROOT::RNTupleModel::Create();
   using ROOT::ENTupleColumnType;
   auto add = [&](auto example, const std::string &name, std::vector<ENTupleColumnType> types) {
      using T = decltype(example);
      auto field = std::make_unique<ROOT::RField<T>>(name);
      field->SetColumnRepresentatives({types});
      model->AddField(std::move(field));
      table.watch(name, model->GetDefaultEntry().GetPtr<T>(name));
   };
   using C = ENTupleColumnType;
   add(std::int16_t{}, "i16_plain", {C::kInt16});
   add(std::int16_t{}, "i16_split", {C::kSplitInt16});
   add(std::uint16_t{}, "u16_plain", {C::kUInt16});
   add(std::uint16_t{}, "u16_split", {C::kSplitUInt16});
   add(std::int32_t{}, "i32_plain", {C::kInt32});
   add(std::int32_t{}, "i32_split", {C::kSplitInt32});
   add(std::uint32_t{}, "u32_plain", {C::kUInt32});
   add(std::uint32_t{}, "u32_split", {C::kSplitUInt32});
   add(std::int64_t{}, "i64_plain", {C::kInt64});
   add(std::int64_t{}, "i64_split", {C::kSplitInt64});
   add(std::uint64_t{}, "u64_plain", {C::kUInt64});
   add(std::uint64_t{}, "u64_split", {C::kSplitUInt64});
   add(float{}, "f_plain", {C::kReal32});
   add(float{}, "f_split", {C::kSplitReal32});
   add(double{}, "d_plain", {C::kReal64});
   add(double{}, "d_split", {C::kSplitReal64});
   add(std::string{}, "text_32", {C::kIndex32, C::kChar});
   add(std::string{}, "text_split32", {C::kSplitIndex32, C::kChar});
   add(std::string{}, "text_64", {C::kIndex64, C::kChar});
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(compression);
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", path, options);
   for (int i = 0; i < 500; ++i) {
      table.fill();
      writer->Fill();
   }
   writer.reset();
   table.save(path + ".json");
}

/// Adds fields while it is written: before the first entry, inside a cluster, and at the start of one.
inline void extension(const std::string &path)
{
   generator.seed(11);
   Table table;
   auto model = ROOT::RNTupleModel::Create();
   table.add<std::int32_t>(*model, "first");
   ROOT::RNTupleWriteOptions options;
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", path, options);
   auto fill = [&](int n) {
      for (int i = 0; i < n; ++i) {
         table.fill();
         writer->Fill();
      }
   };
   auto late = [&](auto example, const std::string &name, const std::string &zero) {
      using T = decltype(example);
      auto updater = writer->CreateModelUpdater();
      updater->BeginUpdate();
      auto value = updater->MakeField<T>(name);
      updater->CommitUpdate();
      table.watch(name, value, zero);
   };
   fill(100);
   late(float{}, "inside", "0.0");
   late(std::vector<std::int32_t>{}, "inside_v", "[]");
   late(std::array<bool, 3>{}, "inside_a", "[false,false,false]");
   fill(50);
   writer->CommitCluster();
   late(std::string{}, "between", "\"\"");
   late(std::variant<std::int32_t, std::string>{}, "between_variant", "null");
   fill(70);
   writer->CommitCluster(true);
   late(std::vector<std::vector<std::string>>{}, "last", "[]");
   late(std::bitset<9>{}, "last_bits", "[false,false,false,false,false,false,false,false,false]");
   late(std::optional<double>{}, "last_opt", "null");
   late(std::pair<bool, std::int64_t>{}, "last_pair", "[false,0]");
   fill(31);
   writer.reset();
   table.save(path + ".json");
}

} // namespace arrowroot_test
