// Columns of numbers, and of lists of them, for the loops of the ROOT runner: their types, checksums, and the entries.
//
// Cling compiles this, and one of the files of loops, when root_runner.py starts. None of them knows the process line.
#include <TBranch.h>
#include <TBranchElement.h>
#include <TLeaf.h>
#include <TTree.h>

#include <ROOT/RNTupleDescriptor.hxx>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <time.h>
#include <type_traits>
#include <vector>

namespace arrowroot_lab {

// campaigns/METHODOLOGY.md, "Checksum". Where none is wanted, values are looked at all the same: their sum is kept.
struct Digest {
  uint64_t n = 0, sum = 0, order = 0, n_lists = 0, values_bytes = 0;
  bool is_whole = false;

  template <class T>
  void add(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);  // little-endian machines only
    sum += bits;
    ++n;
    values_bytes += sizeof value;
    if (is_whole) order += n * bits;
  }
  template <class List>
  void add_list(const List& list) {
    for (auto one : list) add(one);
    end_list(list.size());
  }
  void end_list(uint64_t length) {
    order += ++n_lists * length * 0x9E3779B97F4A7C15ull;
    values_bytes += 8;
  }
};

template <class T>
struct Tag {
  using type = T;
};

// Calls visit(Tag<T>{}) for the type of that name, in the spelling of ROOT's leaves or of C++; false: there is none.
template <class Visitor>
bool with_type(std::string name, Visitor&& visit) {
  if (name.rfind("std::", 0) == 0) name = name.substr(5);
  const auto is = [&](std::initializer_list<const char*> names) {
    for (auto one : names)
      if (name == one) return true;
    return false;
  };
  if (is({"Float_t", "float"})) return visit(Tag<float>{}), true;
  if (is({"Double_t", "double"})) return visit(Tag<double>{}), true;
  if (is({"Int_t", "int", "int32_t"})) return visit(Tag<int>{}), true;
  if (is({"UInt_t", "unsigned int", "uint32_t"})) return visit(Tag<unsigned int>{}), true;
  if (is({"Long64_t", "long long"})) return visit(Tag<Long64_t>{}), true;
  if (is({"ULong64_t", "unsigned long long"})) return visit(Tag<ULong64_t>{}), true;
  if (is({"Long_t", "long", "int64_t"})) return visit(Tag<long>{}), true;
  if (is({"ULong_t", "unsigned long", "uint64_t"})) return visit(Tag<unsigned long>{}), true;
  if (is({"Short_t", "short", "int16_t"})) return visit(Tag<short>{}), true;
  if (is({"UShort_t", "unsigned short", "uint16_t"})) return visit(Tag<unsigned short>{}), true;
  if (is({"Char_t", "char"})) return visit(Tag<char>{}), true;
  if (is({"signed char", "int8_t"})) return visit(Tag<signed char>{}), true;
  if (is({"UChar_t", "unsigned char", "uint8_t"})) return visit(Tag<unsigned char>{}), true;
  if (is({"Bool_t", "bool"})) return visit(Tag<bool>{}), true;
  return false;
}

enum class Kind { kScalar, kLeafArray, kVector, kNested, kCount };

// The type of a column, or why it is not read here.
struct Type {
  std::string item, problem;
  Kind kind = Kind::kScalar;
};

// The item of "vector<float>"; empty for what is no vector.
inline std::string item_of(const std::string& name) {
  for (const char* prefix : {"std::vector<", "vector<", "ROOT::VecOps::RVec<", "ROOT::RVec<"}) {
    if (name.rfind(prefix, 0) != 0 || name.back() != '>') continue;
    auto item = name.substr(std::strlen(prefix), name.size() - std::strlen(prefix) - 1);
    while (!item.empty() && item.back() == ' ') item.pop_back();
    return item;
  }
  return {};
}

inline Type type_of_class(const std::string& name) {
  Type type;
  if (const auto item = item_of(name); !item.empty()) {
    const auto inner = item_of(item);
    type.kind = inner.empty() ? Kind::kVector : Kind::kNested;
    type.item = inner.empty() ? item : inner;
  } else {
    type.item = name;
  }
  if (!with_type(type.item, [](auto) {})) type.problem = "it is of type " + name;
  return type;
}

inline Type type_of(TBranch& branch) {
  Type type;
  if (branch.GetListOfBranches()->GetEntriesFast() > 0 || branch.GetListOfLeaves()->GetEntriesFast() != 1) {
    type.problem = "it is a group of columns";
    return type;
  }
  auto leaf = static_cast<TLeaf*>(branch.GetListOfLeaves()->At(0));
  if (branch.InheritsFrom("TBranchElement") && static_cast<TBranchElement&>(branch).GetType() == 0)
    if (const std::string name = branch.GetClassName(); !item_of(name).empty()) return type_of_class(name);
  type.item = leaf->GetTypeName();
  type.kind = leaf->GetLeafCount() || leaf->GetLenStatic() > 1 ? Kind::kLeafArray : Kind::kScalar;
  if (leaf->InheritsFrom("TLeafC")) type.problem = "it is text";
  else if (!with_type(type.item, [](auto) {})) type.problem = "it is of type " + type.item;
  return type;
}

inline long long clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return 1'000'000'000ll * now.tv_sec + now.tv_nsec;
}

// The part of a file that is read, and what was read of all files so far.
struct Pass {
  std::vector<std::string> names;  // empty: all columns
  std::vector<Long64_t> picked;    // entries of the file at hand, if is_picked
  bool is_picked = false, wants_checksum = false;
  Long64_t begin = 0, end = 0, work_ns = 0, n_entries = 0;
  long long first_entry_ns = 0;
  std::string problem;  // why a column is not read here
  std::vector<std::string> found;
  std::vector<std::unique_ptr<Digest>> digests;

  const Digest& digest(size_t i) const { return *digests[i]; }

  // The columns of a tree or RNTuple, each with its type; false: one of them is not read here.
  bool find(TTree& tree, std::vector<Type>& types) {
    auto wanted = names;
    if (wanted.empty())
      for (auto branch : *tree.GetListOfBranches()) wanted.push_back(branch->GetName());
    for (auto& name : wanted) {
      auto branch = tree.GetBranch(name.c_str());
      if (!branch) throw std::runtime_error("there is no branch " + name);
      types.push_back(type_of(*branch));
    }
    return keep(wanted, types);
  }
  bool find(const ROOT::RNTupleDescriptor& descriptor, std::vector<Type>& types) {
    auto wanted = names;
    if (wanted.empty())
      for (auto& field : descriptor.GetTopLevelFields()) wanted.push_back(field.GetFieldName());
    for (auto& name : wanted) {
      const auto id = descriptor.FindFieldId(name);
      if (id == ROOT::kInvalidDescriptorId) throw std::runtime_error("there is no field " + name);
      const auto& type_name = descriptor.GetFieldDescriptor(id).GetTypeName();
      const bool is_count = type_name.find("RNTupleCardinality") != std::string::npos;
      types.push_back(is_count ? Type{"std::uint32_t", "", Kind::kCount} : type_of_class(type_name));
    }
    return keep(wanted, types);
  }

  template <class F>
  void each(F&& read) {
    const auto n = is_picked ? static_cast<Long64_t>(picked.size()) : end - begin;
    for (Long64_t i = 0; i < n; i++) {
      read(is_picked ? picked[i] : begin + i);
      if (!first_entry_ns) first_entry_ns = clock_ns(CLOCK_MONOTONIC);
      if (work_ns > 0)
        for (const auto stop = clock_ns(CLOCK_THREAD_CPUTIME_ID) + work_ns; clock_ns(CLOCK_THREAD_CPUTIME_ID) < stop;) {
        }
    }
    n_entries += n;
  }

 private:
  bool keep(const std::vector<std::string>& wanted, const std::vector<Type>& types) {
    for (size_t i = 0; i < wanted.size(); i++)
      if (!types[i].problem.empty()) return problem = "column " + wanted[i] + ": " + types[i].problem, false;
    if (digests.empty()) {
      found = wanted;
      for (size_t i = 0; i < wanted.size(); i++) {
        digests.push_back(std::make_unique<Digest>());
        digests.back()->is_whole = wants_checksum;
      }
    }
    if (found != wanted) return problem = "the files have different columns", false;
    return true;
  }
};

}  // namespace arrowroot_lab
