"""Attribute sets, written and read by ROOT."""

from __future__ import annotations

from typing import Any

from tests.judge.lazy import ROOT

_WRITE = """
void write_attributes(const char *path) {
   auto model = ROOT::RNTupleModel::Create();
   auto x = model->MakeField<int>("x");
   auto file = std::unique_ptr<TFile>(TFile::Open(path, "RECREATE"));
   auto writer = ROOT::RNTupleWriter::Append(std::move(model), "Events", *file);
   auto values = ROOT::RNTupleModel::Create();
   auto text = values->MakeField<std::string>("text");
   auto numbers = values->MakeField<std::vector<float>>("numbers");
   auto set = writer->CreateAttributeSet(std::move(values), "notes");
   for (int part = 0; part < 3; ++part) {
      auto range = set->BeginRange();
      for (int i = 0; i < part + 1; ++i) { *x = 10 * part + i; writer->Fill(); }
      *text = "part " + std::to_string(part);
      numbers->assign(part, 0.5f * part);
      set->CommitRange(std::move(range));
   }
}
"""

_READ = """
std::vector<std::string> read_attributes(const char *path, const char *name) {
   auto reader = ROOT::RNTupleReader::Open("Events", path);
   auto set = reader->OpenAttributeSet(name);
   auto entry = set->CreateEntry();
   auto run = entry->GetPtr<std::int32_t>("run");
   auto lumi = entry->GetPtr<double>("lumi");
   auto text = entry->GetPtr<std::string>("text");
   std::vector<std::string> found;
   for (auto index : set->GetAttributes()) {
      auto range = set->LoadEntry(index, *entry);
      std::ostringstream out;
      out << range.GetStart() << ' ' << range.GetLength() << ' ' << *run << ' ' << *lumi << ' ' << *text;
      found.push_back(out.str());
   }
   for (auto index : set->GetAttributes(35)) found.push_back("35: " + std::to_string(index));
   return found;
}
"""


def write(path: str) -> None:
    """Write a set of texts and lists, by ``RNTupleAttrSetWriter``."""
    ROOT.gInterpreter.Declare(
        "#include <ROOT/RNTupleAttrWriting.hxx>\n#include <ROOT/RNTupleWriter.hxx>\n" + _WRITE
    )
    ROOT.write_attributes(path)


def read(path: str, name: str) -> list[str]:
    """Read a set of runs, luminosities and texts, by ``RNTupleAttrSetReader``: all of it, then those of entry 35."""
    ROOT.gInterpreter.Declare(
        "#include <ROOT/RNTupleAttrReading.hxx>\n#include <ROOT/RNTupleReader.hxx>\n" + _READ
    )
    return [str(text) for text in ROOT.read_attributes(path, name)]


def names(path: str) -> Any:
    """Return the names of the sets, as the descriptor has them."""
    reader = ROOT.RNTupleReader.Open("Events", path)
    return sorted(str(one.GetName()) for one in reader.GetDescriptor().GetAttrSetIterable())
