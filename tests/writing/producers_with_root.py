"""Reads tables that several threads filled, with ROOT: ``producers_with_root.py JOBS OUT``.

JOBS: [[path, table, layout], ...]; OUT: a line for each with the x of its entries, once v is what it should be.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import ROOT

ROOT.gInterpreter.Declare("""
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
""")


def main() -> None:
    with Path(sys.argv[2]).open("w", encoding="utf-8") as out:
        for path, table, layout in json.loads(Path(sys.argv[1]).read_text()):
            read = ROOT.read_tree if layout == "ttree" else ROOT.read_ntuple
            out.write(json.dumps([path, table, [int(x) for x in read(path, table)]]) + "\n")


main()
