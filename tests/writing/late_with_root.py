"""Reads columns that came up later: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.judge.lazy import ROOT

SUMS = """
#include <ROOT/RNTupleReader.hxx>
#include <TFile.h>
#include <TTree.h>
#include <memory>
#include <string>
#include <vector>

// For each column of bools the sum of the numbers of the entries, from 1 on, that are true.
std::vector<double> sums_of_tree(const std::string &path, const std::vector<std::string> &names) {
   std::unique_ptr<TFile> file(TFile::Open(path.c_str()));
   auto tree = file->Get<TTree>("Events");
   std::vector<double> sums;
   for (const auto &name : names) {
      auto branch = tree->GetBranch(name.c_str());
      bool value = true;
      branch->SetAddress(&value);
      double sum = branch->GetEntries() == tree->GetEntries() ? 0 : -1;
      for (Long64_t entry = 0; entry < tree->GetEntries(); ++entry) {
         branch->GetEntry(entry);
         sum += value * (entry + 1.);
      }
      branch->ResetAddress();
      sums.push_back(sum);
   }
   return sums;
}

std::vector<double> sums_of_ntuple(const std::string &path, const std::vector<std::string> &names) {
   auto reader = ROOT::RNTupleReader::Open("Events", path);
   std::vector<double> sums;
   for (const auto &name : names) {
      auto view = reader->GetView<bool>(name);
      double sum = 0;
      for (auto entry : reader->GetEntryRange())
         sum += view(entry) * (entry + 1.);
      sums.push_back(sum);
   }
   return sums;
}
"""


def sums(path: str, layout: str, names: list[str], framed: list[str]) -> dict[str, Any]:
    """The sums of columns by TTree or RNTupleReader, and of some by RDataFrame."""
    ROOT.gInterpreter.Declare(SUMS)
    of = ROOT.sums_of_tree if layout == "ttree" else ROOT.sums_of_ntuple
    frame = ROOT.RDataFrame("Events", path)
    taken = {name: frame.Take["bool"](name) for name in framed}
    return {
        "all": [float(one) for one in of(path, names)],
        "framed": {
            name: float(sum(place for place, value in enumerate(values.GetValue(), 1) if value))
            for name, values in taken.items()
        },
    }


def nested(path: str) -> dict[str, list[Any]]:
    """Values of late members of records in records, by RNTupleReader."""
    ROOT.gInterpreter.Declare("""
    template <typename T> std::vector<T> late_values(const char *path, const char *field) {
       auto reader = ROOT::RNTupleReader::Open("T", path);
       auto view = reader->GetView<T>(field);
       std::vector<T> found;
       for (auto entry : reader->GetEntryRange()) found.push_back(view(entry));
       return found;
    }
    """)
    inside = "r.p_x2e_q"
    lists = ROOT.late_values["std::vector<std::int64_t>"](path, f"{inside}.s.late")
    return {
        f"{inside}.s.late": [[int(one) for one in values] for values in lists],
        f"{inside}.s.last": [str(one) for one in ROOT.late_values["std::string"](path, f"{inside}.s.last")],
        f"{inside}.a": [int(one) for one in ROOT.late_values["std::int64_t"](path, f"{inside}.a")],
    }


def collections(path: str, name: str) -> dict[str, Any]:
    """The items of a collection of records by RNTupleReader, one behind the other, and some by RDataFrame."""
    ROOT.gInterpreter.Declare("""
    std::vector<std::uint64_t> late_sizes(const char *path, const char *field) {
       auto reader = ROOT::RNTupleReader::Open("T", path);
       auto view = reader->GetCollectionView(field);
       std::vector<std::uint64_t> found;
       for (auto entry : reader->GetEntryRange()) found.push_back(view(entry));
       return found;
    }
    template <typename T> std::vector<T> late_items(const char *path, const char *field, const char *member) {
       auto reader = ROOT::RNTupleReader::Open("T", path);
       auto view = reader->GetCollectionView(field);
       auto items = view.GetView<T>(member);
       std::vector<T> found;
       for (auto entry : reader->GetEntryRange())
          for (auto item : view.GetCollectionRange(entry)) found.push_back(items(item));
       return found;
    }
    """)
    kinds = {
        "a": ("std::int64_t", int),
        "b": ("std::int64_t", int),
        "f": ("bool", bool),
        "t": ("std::string", str),
        "v": ("std::vector<std::int64_t>", list),
    }
    frame = ROOT.RDataFrame("T", path)
    framed = {member: frame.Take["ROOT::VecOps::RVec<Long64_t>"](f"{name}.{member}") for member in ("a", "b")}
    return {
        "n": [int(size) for size in ROOT.late_sizes(path, name)],
        **{
            member: [as_python(one) for one in ROOT.late_items[kind](path, name, f"_0.{member}")]
            for member, (kind, as_python) in kinds.items()
        },
        "framed": {
            member: [[int(one) for one in value] for value in values.GetValue()]
            for member, values in framed.items()
        },
    }


def types(path: str, fields: list[str]) -> dict[str, str]:
    """The types of fields, by their paths."""
    descriptor = ROOT.RNTupleReader.Open("T", path).GetDescriptor()
    found: dict[str, str] = {}
    for name in fields:
        field = descriptor.GetFieldZeroId()
        for part in name.split("."):
            field = descriptor.FindFieldId(part, field)
        found[name] = str(descriptor.GetFieldDescriptor(field).GetTypeName())
    return found
