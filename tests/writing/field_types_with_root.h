// Any value as JSON: what is missing is null, a variant its number and its value, the items of sets and maps in the order of
// their texts. field_types_with_root.py puts types and functions around it.
#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>
#include <algorithm>
#include <cstdio>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <ROOT/RVec.hxx>
#include <ROOT/RDataFrame.hxx>
#include <TFile.h>
#include <TTreeReader.h>
#include <TTreeReaderValue.h>

// DECLARED
namespace judged {
template <typename T> struct Shown;
template <typename T> std::string show(const T &value) { return Shown<T>::of(value); }
template <typename R> std::string list(const R &range, bool is_sorted = false) {
   std::vector<std::string> items;
   for (const auto &item : range) items.push_back(show<typename R::value_type>(item));
   if (is_sorted) std::sort(items.begin(), items.end());
   std::string all;
   for (const auto &item : items) all += (all.empty() ? "" : ",") + item;
   return "[" + all + "]";
}
template <typename T> struct Shown {
   static std::string of(const T &value) {
      if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
      else if constexpr (std::is_enum_v<T>) return std::to_string(static_cast<long long>(static_cast<std::underlying_type_t<T>>(value)));
      else if constexpr (std::is_floating_point_v<T>) { char text[40]; std::snprintf(text, 40, "%.17g", double(value)); return text; }
      else return std::to_string(value);
   }
};
template <> struct Shown<std::string> { static std::string of(const std::string &value) { return "\"" + value + "\""; } };
template <typename A, typename B> struct Shown<std::pair<A, B>> {
   static std::string of(const std::pair<A, B> &v) { return "[" + show<std::remove_const_t<A>>(v.first) + "," + show<B>(v.second) + "]"; }
};
template <typename... T> struct Shown<std::tuple<T...>> {
   static std::string of(const std::tuple<T...> &v) {
      std::string all;
      std::apply([&](const auto &...one) { ((all += (all.empty() ? "" : ",") + show<std::decay_t<decltype(one)>>(one)), ...); }, v);
      return "[" + all + "]";
   }
};
template <typename T> struct Shown<std::vector<T>> { static std::string of(const std::vector<T> &v) { return list(v); } };
template <typename T> struct Shown<ROOT::RVec<T>> { static std::string of(const ROOT::RVec<T> &v) { return list(v); } };
template <typename T, std::size_t N> struct Shown<std::array<T, N>> { static std::string of(const std::array<T, N> &v) { return list(v); } };
#define SORTED(C) template <typename... T> struct Shown<std::C<T...>> { static std::string of(const std::C<T...> &v) { return list(v, true); } };
SORTED(set) SORTED(multiset) SORTED(unordered_set) SORTED(unordered_multiset)
SORTED(map) SORTED(multimap) SORTED(unordered_map) SORTED(unordered_multimap)
template <std::size_t N> struct Shown<std::bitset<N>> {
   static std::string of(const std::bitset<N> &v) { std::vector<bool> bits; for (std::size_t i = 0; i < N; ++i) bits.push_back(v[i]); return list(bits); }
};
template <typename T> struct Shown<std::atomic<T>> { static std::string of(const std::atomic<T> &v) { return show<T>(v.load()); } };
template <typename T> struct Shown<std::optional<T>> { static std::string of(const std::optional<T> &v) { return v ? show<T>(*v) : "null"; } };
template <typename T> struct Shown<std::unique_ptr<T>> { static std::string of(const std::unique_ptr<T> &v) { return v ? show<T>(*v) : "null"; } };
template <typename... T> struct Shown<std::variant<T...>> {
   static std::string of(const std::variant<T...> &v) {
      if (v.valueless_by_exception()) return "null";
      return std::visit([&](const auto &one) { return "[" + std::to_string(v.index()) + "," + show<std::decay_t<decltype(one)>>(one) + "]"; }, v);
   }
};
template <typename T> std::string values(const std::string &path, const std::string &field) {
   auto reader = ROOT::RNTupleReader::Open("t", path);
   auto view = reader->GetView<T>(field);
   std::string all;
   for (auto entry : reader->GetEntryRange()) all += (all.empty() ? "" : ",") + show<T>(view(entry));
   return "[" + all + "]";
}
template <typename T> std::string branch(const std::string &path, const std::string &name) {
   std::unique_ptr<TFile> file{TFile::Open(path.c_str())};
   TTreeReader reader("t", file.get());
   TTreeReaderValue<T> value(reader, name.c_str());
   std::string all;
   while (reader.Next()) all += (all.empty() ? "" : ",") + show<T>(*value);
   return "[" + all + "]";
}
