"""The ways in which ROOT goes through trees and RNTuples of others: run in its process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.judge import macros
from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

CODE = r"""
#include <ROOT/RNTupleInspector.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <TBufferFile.h>
#include <TChain.h>
#include <TFile.h>
#include <TTree.h>
#include <TTreeReader.h>
#include <TTreeReaderArray.h>
#include <TTreeReaderValue.h>

// Entries, sums of numbers and lists.
std::vector<double> with_reader(TTree &tree)
{
   TTreeReader reader(&tree);
   TTreeReaderValue<int> run(reader, "run");
   TTreeReaderValue<float> met(reader, "met");
   TTreeReaderArray<float> pt(reader, "Muon_pt");
   std::vector<double> found(4);
   while (reader.Next()) {
      found[0] += 1; found[1] += *run; found[2] += *met;
      for (float one : pt) found[3] += one;
   }
   return found;
}

std::vector<double> with_addresses(TTree &tree)
{
   int run = 0, n = 0; float met = 0, pt[1000]; char label[1000];
   tree.SetBranchAddress("run", &run); tree.SetBranchAddress("met", &met);
   tree.SetBranchAddress("nMuon", &n); tree.SetBranchAddress("Muon_pt", pt); tree.SetBranchAddress("label", label);
   std::vector<double> found(5);
   for (Long64_t i = 0; i < tree.GetEntries(); ++i) {
      tree.GetEntry(i);
      found[0] += 1; found[1] += run; found[2] += met;
      for (int k = 0; k < n; ++k) found[3] += pt[k];
      found[4] += strlen(label);
   }
   tree.ResetBranchAddresses();
   return found;
}

std::vector<double> with_ntuple_reader(const char *path)
{
   auto reader = ROOT::RNTupleReader::Open("Events", path);
   auto run = reader->GetView<std::int32_t>("run");
   auto met = reader->GetView<float>("met");
   auto pt = reader->GetView<std::vector<float>>("Muon_pt");
   auto label = reader->GetView<std::string>("label");
   std::vector<double> found(5);
   for (auto i : reader->GetEntryRange()) {
      found[0] += 1; found[1] += run(i); found[2] += met(i);
      for (float one : pt(i)) found[3] += one;
      found[4] += label(i).size();
   }
   return found;
}

std::vector<double> inspected(const char *path)
{
   std::unique_ptr<TFile> file(TFile::Open(path));
   auto ntuple = file->Get<ROOT::RNTuple>("Events");
   auto inspector = ROOT::Experimental::RNTupleInspector::Create(*ntuple);
   return {double(inspector->GetDescriptor().GetNEntries()), double(inspector->GetCompressedSize() > 0),
           double(inspector->GetUncompressedSize() > inspector->GetCompressedSize()),
           double(inspector->GetFieldTreeInspector("Muon_pt").GetUncompressedSize() > 0)};
}
"""

#: It deletes the file of its tree in the end, so there is none.
MADE = r"""
std::vector<double> made(const char *path)
{
   auto made = new Made(TFile::Open(path)->Get<TTree>("Events"));
   made->GetEntry(7);
   return {double(made->run), made->met, double(made->nMuon)};
}
"""


def ways() -> dict[str, Callable[[], Any]]:
    """Each way by its name."""

    def tree(path: str = "a.root") -> Any:
        file = ROOT.TFile.Open(path)
        assert not file.TestBit(ROOT.TFile.kRecovered)
        found = file.Get("Events")
        found.file = file
        return found

    def chain() -> Any:
        found = ROOT.TChain("Events")
        found.Add("a.root")
        found.Add("b.root")
        return found

    def draw(found: Any, what: str, cut: str = "") -> list[float]:
        n = found.Draw(what, cut, "goff")
        values = found.GetV1()
        return sorted(values[k] for k in range(n))

    def copied(option: str | None) -> Any:
        found = tree()
        out = ROOT.TFile(f"copied-{option}.root", "recreate")
        copy = found.CopyTree("run > 3") if option is None else found.CloneTree(-1, option)
        out.Write()
        entries = copy.GetEntries()
        sums = list(ROOT.with_addresses(copy))
        out.Close()
        return [entries, *sums[1:]]

    def friends() -> Any:
        found = tree()
        found.AddFriend("Events", "friend.root")
        return draw(found, "met + other")

    def indexed() -> Any:
        found = tree()
        assert found.BuildIndex("run", "event") == found.GetEntries()
        return [found.GetEntryNumberWithIndex(int(e.run), int(e.event)) for e in found]

    def scanned() -> Any:
        found = tree()
        player = found.GetPlayer()
        player.SetScanRedirect(True)
        player.SetScanFileName("scan.txt")
        n = found.Scan("run:event:met:Muon_pt:label", "", "colsize=20")
        return [n, len(Path("scan.txt").read_text().splitlines()) > n]

    def made_class() -> Any:
        found = tree()
        assert found.MakeClass("Made") == 0
        found.file.Close()
        text = Path("Made.h").read_text()
        assert ROOT.gROOT.LoadMacro("Made.C") == 0
        ROOT.gInterpreter.Declare(MADE)
        return [*ROOT.made("b.root"), "Muon_pt[" in text]

    def frame(*files: str) -> Any:
        found = ROOT.RDataFrame("Events", files).Define("sum", "ROOT::VecOps::Sum(Muon_pt)")
        return [found.Count().GetValue(), *(found.Sum(name).GetValue() for name in ("run", "met", "sum"))]

    def printed() -> Any:
        tree().Print()
        tree().Show(3)
        chain().ls()
        return True

    return {
        "reader": lambda: list(ROOT.with_reader(tree())),
        "reader of a chain": lambda: list(ROOT.with_reader(chain())),
        "addresses": lambda: list(ROOT.with_addresses(tree())),
        "addresses of a chain": lambda: list(ROOT.with_addresses(chain())),
        "draw": lambda: draw(tree(), "met"),
        "draw lists": lambda: draw(tree(), "Muon_pt", "nMuon > 1"),
        "draw of a chain": lambda: draw(chain(), "Muon_pt[0]"),
        "draw a text": lambda: tree().GetEntries('label == "signal"'),
        "copied": lambda: copied(None),
        "cloned": lambda: copied("fast"),
        "cloned anew": lambda: copied(""),
        "friends": friends,
        "indexed": indexed,
        "scanned": scanned,
        "made class": made_class,
        "frame": lambda: frame("a.root", "b.root"),
        "printed": printed,
        "ntuple reader": lambda: list(ROOT.with_ntuple_reader("a_rntuple.root")),
        "ntuple inspector": lambda: list(ROOT.inspected("a_rntuple.root")),
        "frame of ntuples": lambda: frame("a_rntuple.root", "b_rntuple.root"),
    }


def find() -> dict[str, Any]:
    """Return what each way finds.

    In ``a.root`` and ``b.root`` are trees ``Events`` of branches ``run``, ``event``, ``met``, ``nMuon``, ``Muon_pt``,
    ``label``, in ``friend.root`` is a friend of them, and in ``a_rntuple.root`` and ``b_rntuple.root`` are RNTuples.
    """
    macros.declare(CODE)
    return {name: way() for name, way in ways().items()}
