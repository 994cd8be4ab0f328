// What ROOT reads in a column, as JSON: by RDataFrame, TTreeReader and RNTupleReader, for the types that columns usually have.
// Floats are hexadecimal texts, so that nothing is rounded.
//
// It is compiled, as to interpret it takes half a minute. The interpreter sees what is called from Python alone, unless
// INTERPRETED is defined: then templates make functions for all types.
#include <string>

class TTree;

namespace judge {
void add_all();
void add_members();
std::string evaluated(TTree &tree, const std::string &name);
std::string read_by(const std::string &way, const std::string &type, const std::string &table, const std::string &path,
                    const std::string &name);
} // namespace judge

#if defined(INTERPRETED) || !defined(__CLING__)
#include <ROOT/RDataFrame.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <ROOT/RVec.hxx>
#include <TFile.h>
#include <TTree.h>
#include <TTreeFormula.h>
#include <TTreeReader.h>
#include <TTreeReaderArray.h>
#include <TTreeReaderValue.h>

#include <cmath>
#include <functional>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace judge {

inline void show(std::string &out, bool v) { out += v ? "true" : "false"; }
inline void show(std::string &out, double v)
{
   char text[64];
   std::snprintf(text, sizeof text, std::isnan(v) ? "\"nan\"" : "\"%a\"", v);
   out += text;
}
inline void show(std::string &out, float v) { show(out, static_cast<double>(v)); }
template <class T>
std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>> show(std::string &out, T v)
{
   out += std::to_string(+v);
}
inline void show(std::string &out, const std::string &v)
{
   out += '"';
   for (unsigned char c : v) {
      char text[8];
      std::snprintf(text, sizeof text, c < 0x20 || c == '"' || c == '\\' ? "\\u%04x" : "%c", c);
      out += text;
   }
   out += '"';
}
inline void show(std::string &out, std::byte v) { out += std::to_string(static_cast<int>(v)); }
template <class T> void show(std::string &out, const std::vector<T> &v);
template <class A, class B> void show(std::string &out, const std::pair<A, B> &v);
template <class A, class B> void show(std::string &out, const std::map<A, B> &v);
template <class T> void show(std::string &out, const ROOT::VecOps::RVec<T> &v);
template <class T> void show(std::string &out, const std::optional<T> &v)
{
   if (v) show(out, *v); else out += "null";
}
template <class A, class B> void show(std::string &out, const std::pair<A, B> &v)
{
   out += "{\"key\":"; show(out, v.first); out += ",\"value\":"; show(out, v.second); out += '}';
}
template <class C> void show_items(std::string &out, const C &items)
{
   out += '[';
   bool first = true;
   for (auto &&item : items) {
      if (!first) out += ',';
      first = false;
      using T = std::decay_t<decltype(item)>;
      if constexpr (std::is_same_v<T, std::_Bit_reference>) show(out, static_cast<bool>(item)); else show(out, item);
   }
   out += ']';
}
template <class T> void show(std::string &out, const std::vector<T> &v) { show_items(out, v); }
template <class T> void show(std::string &out, const ROOT::VecOps::RVec<T> &v) { show_items(out, v); }

template <class A, class B> void show(std::string &out, const std::map<A, B> &v) { show_items(out, v); }

template <class T> std::string take(const std::string &table, const std::string &path, const std::string &name)
{
   std::string out;
   auto found = ROOT::RDataFrame(table, path).Take<T>(name);
   show_items(out, *found);
   return out;
}

template <class T> std::string read_value(const std::string &table, const std::string &path, const std::string &name)
{
   std::unique_ptr<TFile> file{TFile::Open(path.c_str())};
   TTreeReader reader(table.c_str(), file.get());
   TTreeReaderValue<T> value(reader, name.c_str());
   std::string out = "[";
   while (reader.Next()) {
      if (out.size() > 1) out += ',';
      show(out, *value);
   }
   if (reader.GetEntries() > 0 && value.GetSetupStatus() < 0) throw std::runtime_error("TTreeReaderValue cannot be set up");
   return out + ']';
}
template <class T> std::string read_array(const std::string &table, const std::string &path, const std::string &name)
{
   std::unique_ptr<TFile> file{TFile::Open(path.c_str())};
   TTreeReader reader(table.c_str(), file.get());
   TTreeReaderArray<T> value(reader, name.c_str());
   std::string out = "[";
   while (reader.Next()) {
      if (out.size() > 1) out += ',';
      show_items(out, value);
   }
   if (reader.GetEntries() > 0 && value.GetSetupStatus() < 0) throw std::runtime_error("TTreeReaderArray cannot be set up");
   return out + ']';
}
template <class T> std::string view(const std::string &table, const std::string &path, const std::string &name)
{
   auto reader = ROOT::RNTupleReader::Open(table, path);
   auto found = reader->GetView<T>(name);
   std::string out = "[";
   for (auto entry : reader->GetEntryRange()) {
      if (out.size() > 1) out += ',';
      show(out, found(entry));
   }
   return out + ']';
}

// A text as Draw and Scan evaluate it.
std::string evaluated(TTree &tree, const std::string &name)
{
   TTreeFormula formula("formula", name.c_str(), &tree);
   if (formula.GetNdim() <= 0) throw std::runtime_error("Draw does not know it");
   std::string out = "[";
   for (Long64_t entry = 0; entry < tree.GetEntries(); ++entry) {
      tree.LoadTree(entry);
      if (out.size() > 1) out += ',';
      const char *text = formula.GetNdata() > 0 ? formula.EvalStringInstance(0) : "";
      if (!text) throw std::runtime_error("Draw has no text of it");
      show(out, std::string(text));
   }
   return out + ']';
}

// By the name of a type, as Python spells it.
using Way = std::function<std::string(const std::string &, const std::string &, const std::string &)>;
inline std::map<std::string, Way> takers, readers, views;

template <class S> void add(const std::string &name)
{
   takers[name] = take<S>;
   takers["RVec<" + name + ">"] = take<ROOT::VecOps::RVec<S>>;
   readers[name] = read_value<S>;
   readers["RVec<" + name + ">"] = read_array<S>;
   readers["RVec<vector<" + name + ">>"] = read_value<std::vector<std::vector<S>>>;
   views[name] = view<S>;
   views["vector<" + name + ">"] = view<std::vector<S>>;
   views["vector<vector<" + name + ">>"] = view<std::vector<std::vector<S>>>;
   views["optional<" + name + ">"] = view<std::optional<S>>;
   views["vector<optional<" + name + ">>"] = view<std::vector<std::optional<S>>>;
}

void add_all()
{
   add<bool>("bool"); add<char>("char"); add<signed char>("signed char"); add<unsigned char>("unsigned char");
   add<short>("short"); add<unsigned short>("unsigned short"); add<int>("int"); add<unsigned int>("unsigned int");
   add<long>("long"); add<unsigned long>("unsigned long"); add<long long>("long long");
   add<unsigned long long>("unsigned long long"); add<float>("float"); add<double>("double");
   add<std::string>("string");
   takers["optional<int>"] = take<std::optional<int>>;
   takers["optional<float>"] = take<std::optional<float>>;
   takers["RVec<vector<float>>"] = take<ROOT::VecOps::RVec<std::vector<float>>>;
   takers["RVec<RVec<float>>"] = take<ROOT::VecOps::RVec<ROOT::VecOps::RVec<float>>>;
}

// The few types of members of objects in the tests: each type takes most of a second to compile.
template <class S> void add_member(const std::string &name)
{
   takers[name] = take<S>;
   readers[name] = read_value<S>;
   if constexpr (!std::is_same_v<S, bool>) {
      takers["RVec<" + name + ">"] = take<ROOT::VecOps::RVec<S>>;
      readers["RVec<" + name + ">"] = read_array<S>;
   }
}
void add_members()
{
   add_member<bool>("bool"); add_member<int>("int"); add_member<float>("float"); add_member<std::string>("string");
   takers["RVec<vector<float>>"] = take<ROOT::VecOps::RVec<std::vector<float>>>;
   readers["RVec<vector<float>>"] = read_value<std::vector<std::vector<float>>>;
   readers["TTreeReaderArray<vector<float>>"] = read_array<std::vector<float>>;
}

// "" if there is nothing for the type.
std::string read_by(const std::string &way, const std::string &type, const std::string &table, const std::string &path,
                    const std::string &name)
{
   const auto &ways = way == "take" ? takers : way == "view" ? views : readers;
   auto found = ways.find(type);
   return found == ways.end() ? "" : found->second(table, path, name);
}
} // namespace judge
#endif
