"""Writes RNTuples to merge, and reads merged ones: run in ROOT's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.judge import macros
from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
#include <ROOT/RNTupleAttrReading.hxx>
#include <ROOT/RNTupleAttrWriting.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TFile.h>
#include <memory>
#include <sstream>
namespace merged {
// Clusters of 30 entries, two of them in a group; "late" comes up in the middle.
void write(const char *path, int first, int n, int compression) {
  auto model = ROOT::RNTupleModel::Create();
  auto number = model->MakeField<std::int32_t>("number");
  auto list = model->MakeField<std::vector<float>>("list");
  auto text = model->MakeField<std::string>("text");
  auto pairs = model->MakeField<std::vector<std::pair<int, double>>>("pairs");
  model->AddProjectedField(ROOT::RFieldBase::Create("shown", "ROOT::VecOps::RVec<int>").Unwrap(),
    [](const std::string &name) { return name == "shown" ? std::string("pairs") : std::string("pairs._0._0"); });
  model->AddProjectedField(ROOT::RFieldBase::Create("n_list", "ROOT::RNTupleCardinality<std::uint32_t>").Unwrap(),
    [](const std::string &) { return std::string("list"); });
  ROOT::RNTupleWriteOptions options;
  options.SetCompression(compression);
  auto file = std::unique_ptr<TFile>(TFile::Open(path, "RECREATE"));
  auto writer = ROOT::RNTupleWriter::Append(std::move(model), "T", *file, options);
  auto notes = ROOT::RNTupleModel::Create();
  auto note = notes->MakeField<std::string>("note");
  auto set = writer->CreateAttributeSet(std::move(notes), "Notes");
  std::shared_ptr<std::int16_t> late;
  std::unique_ptr<ROOT::REntry> entry;
  auto range = set->BeginRange();
  for (int i = first; i < first + n; ++i) {
    if (i == first + n / 2) {
      auto updater = writer->CreateModelUpdater();
      updater->BeginUpdate();
      late = updater->MakeField<std::int16_t>("late");
      updater->CommitUpdate();
    }
    *number = i;
    list->assign(i % 4, 0.5f * i);
    *text = std::string(i % 3, 'x') + std::to_string(i);
    pairs->clear();
    for (int k = 0; k < i % 3; ++k) pairs->emplace_back(i, 0.25 * k);
    if (late) *late = i % 100;
    writer->Fill();
    if ((i - first) % 30 == 29) writer->CommitCluster((i - first) % 60 == 59);
  }
  *note = "from " + std::to_string(first);
  set->CommitRange(std::move(range));
}
template <typename T> void put(std::ostream &out, const T &value) { out << value; }
template <> void put(std::ostream &out, const std::string &value) { out << '"' << value << '"'; }
template <typename A, typename B> void put(std::ostream &out, const std::pair<A, B> &value);
template <typename T> void put(std::ostream &out, const std::vector<T> &values) {
  out << '[';
  for (std::size_t k = 0; k < values.size(); ++k) { if (k) out << ','; put(out, values[k]); }
  out << ']';
}
template <typename A, typename B> void put(std::ostream &out, const std::pair<A, B> &value) {
  out << '['; put(out, value.first); out << ','; put(out, value.second); out << ']';
}
template <typename T> std::string read(const char *path, const char *field) {
  auto reader = ROOT::RNTupleReader::Open("T", path);
  auto view = reader->GetView<T>(field);
  std::vector<T> values;
  for (auto i : reader->GetEntryRange()) values.push_back(view(i));
  std::ostringstream out;
  put(out, values);
  return out.str();
}
std::string numbers(const char *path, const char *f) { return read<std::int32_t>(path, f); }
std::string shorts(const char *path, const char *f) { return read<std::int16_t>(path, f); }
std::string lists(const char *path, const char *f) { return read<std::vector<float>>(path, f); }
std::string ints(const char *path, const char *f) { return read<std::vector<int>>(path, f); }
std::string texts(const char *path, const char *f) { return read<std::string>(path, f); }
std::string pairs(const char *path, const char *f) { return read<std::vector<std::pair<int, double>>>(path, f); }
std::string cardinalities(const char *path, const char *f) {
  return read<ROOT::RNTupleCardinality<std::uint32_t>>(path, f);
}
std::string attributes(const char *path, const char *of_set, const char *member) {
  auto reader = ROOT::RNTupleReader::Open("T", path);
  auto set = reader->OpenAttributeSet(of_set);
  auto entry = set->CreateEntry();
  std::vector<std::pair<std::pair<int, int>, std::string>> found;
  for (auto id : set->GetAttributes()) {
    auto range = set->LoadEntry(id, *entry);
    found.push_back({{int(*range.GetFirst()), int(range.GetLength())}, *entry->GetPtr<std::string>(member)});
  }
  std::ostringstream out;
  put(out, found);
  return out.str();
}
}
"""
#: Functions that read fields of a type.
READERS = {
    "number": "numbers", "list": "lists", "text": "texts", "pairs": "pairs", "late": "shorts", "shown": "ints",
    "n_list": "cardinalities",
}  # fmt: skip


def write(directory: Path, parts: list[tuple[str, int, int, int]]) -> None:
    """Write files: name, first entry, number of entries, codec."""
    macros.load(SOURCE)
    for name, first, n, compression in parts:
        ROOT.merged.write(str(directory / name), first, n, compression)


def read(path: str, fields: list[str]) -> dict[str, Any]:
    """Read fields by RNTupleReader, and numbers by RDataFrame, too."""
    import json

    macros.load(SOURCE)
    found = {name: json.loads(str(getattr(ROOT.merged, READERS[name])(path, name))) for name in fields}
    frame = ROOT.RDataFrame("T", path)
    found["by RDataFrame"] = [int(number) for number in frame.Take["int"]("number").GetValue()]
    found["sums"] = frame.Define("sum", "Sum(list)").Sum("sum").GetValue()
    return found


def attributes(path: str, of_set: str = "Notes", member: str = "note") -> Any:
    """Read a member of an attribute set: first entry and number of entries, and a text for them."""
    import json

    macros.load(SOURCE)
    return json.loads(str(ROOT.merged.attributes(path, of_set, member)))


def merge(output: str, inputs: list[str], options: str = "") -> None:
    """Merge by ROOT's merger."""
    merger = ROOT.TFileMerger(False)
    merger.OutputFile(output, "RECREATE", 505)
    if options:
        merger.SetMergeOptions(options)
    for path in inputs:
        merger.AddFile(path, False)
    assert merger.Merge()


def numbers(path: str, table: str, column: str) -> list[float]:
    """Return the numbers of a column as RDataFrame reads them."""
    return [float(x) for x in ROOT.RDataFrame(table, path).Take["float"](column).GetValue()]
