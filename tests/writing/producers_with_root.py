"""Reads tables that several threads filled: run in ROOT's process."""

from __future__ import annotations

from tests.judge import macros
from tests.judge.lazy import ROOT

CODE = """
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RVec.hxx>
#include <TFile.h>
#include <TTree.h>
#include <TTreeReader.h>
#include <TTreeReaderArray.h>
#include <TTreeReaderValue.h>
#include <TVirtualIndex.h>
#include <stdexcept>
#include <vector>

template <typename V> void check(long long x, const V& v) {
  bool good = (long long)v.size() == x % 4;
  for (std::size_t i = 0; i < v.size(); ++i) good = good && v[i] == x;
  if (!good) throw std::runtime_error("entry " + std::to_string(x) + " has another list");
}

std::vector<long long> read_tree(const char* path, const char* name) {
  std::unique_ptr<TFile> file(TFile::Open(path));
  TTreeReader reader(name, file.get());
  TTreeReaderValue<Long64_t> x(reader, "x");
  TTreeReaderArray<Long64_t> v(reader, "v");
  auto* index = file->Get<TTree>(name)->GetTreeIndex();
  std::vector<long long> all;
  while (reader.Next()) {
    std::vector<long long> list;
    for (auto value : v) list.push_back(value);
    check(*x, list);
    if (index && index->GetEntryNumberWithIndex(*x, 0) != (Long64_t)all.size())
      throw std::runtime_error("the index has another entry for " + std::to_string(*x));
    all.push_back(*x);
  }
  return all;
}

std::vector<long long> read_ntuple(const char* path, const char* name) {
  auto reader = ROOT::RNTupleReader::Open(name, path);
  auto x = reader->GetView<std::int64_t>("x");
  auto v = reader->GetView<std::vector<std::int64_t>>("v");
  std::vector<long long> all;
  for (auto entry : reader->GetEntryRange()) {
    check(x(entry), v(entry));
    all.push_back(x(entry));
  }
  return all;
}
"""


def read_all(tables: list[tuple[str, str, str]]) -> list[list[int]]:
    """Return the x of the entries of each table (path, name, layout), whose v are what they should be."""
    macros.declare(CODE)
    read = {"ttree": ROOT.read_tree, "rntuple": ROOT.read_ntuple}
    return [[int(x) for x in read[layout](path, name)] for path, name, layout in tables]
