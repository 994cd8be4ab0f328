// The values of a field, read as a C++ type that a text names, as JSON: what is missing is null, a variant its number and its
// value, the items of sets and maps in the order of their texts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>

enum class Color : std::int32_t { kRed = 0, kBlue = 1, kGreen = 7 };

namespace drawn {
inline std::string show(const ROOT::RFieldBase::RValue &value);
// RVariantField (6.40) splits no values: the number of the alternative stands behind the largest of them, as libstdc++ has it.
inline std::string show_variant(const ROOT::RFieldBase::RValue &value)
{
   auto alternatives = const_cast<ROOT::RFieldBase &>(value.GetField()).GetMutableSubfields();
   std::size_t size = 1, alignment = 1;
   for (const auto *one : alternatives) {
      size = std::max(size, one->GetValueSize());
      alignment = std::max(alignment, one->GetAlignment());
   }
   const auto place = value.GetPtr<void>();
   const auto number = static_cast<const unsigned char *>(place.get())[(size + alignment - 1) / alignment * alignment];
   if (number >= alternatives.size()) return "[]";
   return '[' + std::to_string(number) + ',' + show(alternatives[number]->BindValue(place)) + ']';
}
inline std::string show(const ROOT::RFieldBase::RValue &value)
{
   const auto &field = value.GetField();
   const std::string &type = field.GetTypeName();
   const auto is = [&type](std::initializer_list<const char *> names) {
      return std::any_of(names.begin(), names.end(), [&type](const char *name) { return type.rfind(name, 0) == 0; });
   };
   if (type == "bool") return value.GetRef<bool>() ? "true" : "false";
   if (type == "char") return std::to_string(value.GetRef<char>());
   if (type == "std::byte") return std::to_string(static_cast<int>(value.GetRef<std::byte>()));
   if (type == "std::int8_t") return std::to_string(value.GetRef<std::int8_t>());
   if (type == "std::uint8_t") return std::to_string(value.GetRef<std::uint8_t>());
   if (type == "std::int16_t") return std::to_string(value.GetRef<std::int16_t>());
   if (type == "std::uint16_t") return std::to_string(value.GetRef<std::uint16_t>());
   if (type == "std::int32_t") return std::to_string(value.GetRef<std::int32_t>());
   if (type == "std::uint32_t") return std::to_string(value.GetRef<std::uint32_t>());
   if (type == "ROOT::RNTupleCardinality<std::uint32_t>")
      return std::to_string(*static_cast<const std::uint32_t *>(value.GetPtr<void>().get()));
   if (type == "ROOT::RNTupleCardinality<std::uint64_t>")
      return std::to_string(*static_cast<const std::uint64_t *>(value.GetPtr<void>().get()));
   if (type == "std::int64_t") return std::to_string(value.GetRef<std::int64_t>());
   if (type == "std::uint64_t") return std::to_string(value.GetRef<std::uint64_t>());
   if (type == "std::string") return '"' + value.GetRef<std::string>() + '"';
   if (type == "float" || type == "double") {
      char text[40];
      std::snprintf(text, sizeof text, "%.17g", type == "float" ? value.GetRef<float>() : value.GetRef<double>());
      return text;
   }
   if (is({"std::variant<"})) return show_variant(value);
   std::vector<std::string> items;
   if (is({"std::bitset<"})) {
      const auto *words = static_cast<const unsigned long *>(value.GetPtr<void>().get());
      for (std::size_t bit = 0; bit < std::stoul(type.substr(12)); ++bit)
         items.push_back(words[bit / 64] >> bit % 64 & 1 ? "true" : "false");
   } else {
      const auto inside = field.SplitValue(value);
      for (const auto &one : inside) items.push_back(show(one));
      if (is({"std::atomic<", "Color"})) return items.at(0);
      if (is({"std::optional<", "std::unique_ptr<"})) return items.empty() ? "null" : items.at(0);
   }
   if (is({"std::set<", "std::unordered_set<", "std::multiset<", "std::unordered_multiset<", "std::map<",
           "std::unordered_map<", "std::multimap<", "std::unordered_multimap<"}))
      std::sort(items.begin(), items.end());
   std::string all;
   for (const auto &item : items) all += (all.empty() ? "" : ",") + item;
   return '[' + all + ']';
}
inline std::string values(const std::string &path, const std::string &name, const std::string &type)
{
   auto reader = ROOT::RNTupleReader::Open("t", path);
   const auto all = [&reader](auto view) {
      std::string shown;
      for (auto entry : reader->GetEntryRange()) {
         view(entry);
         shown += (shown.empty() ? "" : ",") + show(view.GetValue());
      }
      return '[' + shown + ']';
   };
   if (type.empty()) return all(reader->GetView<void>(name));
   auto field = ROOT::RFieldBase::Create(name, type).Unwrap();
   auto value = field->CreateValue();
   return all(reader->GetView(name, value.GetPtr<void>().get(), type));
}
} // namespace drawn
#ifdef __CLING__
// LINKED
#endif
