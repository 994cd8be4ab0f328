"""Objects of many classes beside a tree: run in ROOT's process."""

from __future__ import annotations

from array import array

from tests.judge.lazy import ROOT

_BESIDE = r"""
#include <sstream>
#include <TFile.h>
#include <TGraph2D.h>
#include <TKey.h>
#include <TH2Poly.h>
#include <TTree.h>
#include <THn.h>
#include <THnSparse.h>
void WriteBeside(const char *path, int number) {
   TFile file(path, "RECREATE");
   TTree tree("Events", "");
   double value;
   tree.Branch("x", &value);
   for (value = 0; value < 3; ++value) tree.Fill();
   tree.Write();
   std::map<std::string, int> numbers{{"k", number}};
   std::vector<float> values{1.5f, float(number)};
   gDirectory->WriteObject(&numbers, "numbers");
   gDirectory->mkdir("d")->WriteObject(&values, "values");
   int bins[2] = {3, 4};
   double low[2] = {0, 0}, high[2] = {3, 4}, at[2] = {1.5, 2.5};
   THnSparseD sparse("sparse", "", 2, bins, low, high);
   THnD dense("dense", "", 2, bins, low, high);
   TH2Poly poly("poly", "", 0, 10, 0, 10);
   poly.AddBin(0, 0, 5, 5);
   poly.AddBin(5, 0, 10, 5);
   for (int i = 0; i <= number; ++i) { sparse.Fill(at, 2.); dense.Fill(at); poly.Fill(2, 2); }
   double x[3] = {0, 1, 0}, y[3] = {0, 0, 1}, z[3] = {1, 2, 3. + number};
   TGraph2D points("points", "", 3, x, y, z);
   sparse.Write(); dense.Write(); poly.Write(); points.Write();
}
std::string ToldBeside(const char *path) {
   TFile file(path);
   std::ostringstream told;
   auto numbers = (std::map<std::string, int> *)file.GetObjectUnchecked("numbers");
   for (auto &pair : *numbers) told << pair.first << " " << pair.second << "\n";
   auto values = (std::vector<float> *)file.GetDirectory("d")->GetObjectUnchecked("values");
   for (float value : *values) told << value << " ";
   auto sparse = file.Get<THnSparseD>("sparse");
   told << "sparse " << sparse->GetNbins() << " " << sparse->GetEntries() << " " << sparse->GetBinContent(0LL);
   auto dense = file.Get<THnD>("dense");
   int at[2] = {2, 3};
   told << " dense " << dense->GetEntries() << " " << dense->GetBinContent(at);
   auto poly = file.Get<TH2Poly>("poly");
   told << " poly " << poly->GetNumberOfBins() << " " << poly->GetBinContent(1) << " " << poly->GetBinContent(2);
   auto points = file.Get<TGraph2D>("points");
   told << " points " << points->GetN() << " " << points->GetZ()[1] << " " << points->GetZ()[2];
   for (auto key : *file.GetListOfKeys()) told << "\n" << key->GetName() << " " << ((TKey *)key)->GetClassName();
   return told.str();
}
"""


def _declare() -> None:
    if not hasattr(ROOT, "ToldBeside"):
        ROOT.gInterpreter.Declare(_BESIDE)


def write_beside(path: str, number: int = 1) -> None:
    """Write a tree, and beside it objects of many classes."""
    _declare()
    ROOT.WriteBeside(path, number)


def told_beside(path: str) -> str:
    """Return what ROOT reads of the objects beside the tree, and the class of each key."""
    _declare()
    return str(ROOT.ToldBeside(path))


def write_trees_in_a_list(path: str) -> None:
    """Write a tree, and a list with another one, whose baskets are elsewhere, in a directory with a text."""
    file = ROOT.TFile(path, "RECREATE")
    value = array("d", [0])
    trees = []
    for name, n in (("Events", 5), ("inner", 20_000)):
        tree = ROOT.TTree(name, "")
        tree.Branch("x", value, "x/D", 1000)
        for number in range(n):
            value[0] = number
            tree.Fill()
        trees.append(tree)
    trees[0].Write()
    trees[1].FlushBaskets()
    in_a_list = ROOT.TList()
    in_a_list.Add(trees[1])
    directory = file.mkdir("d")
    directory.WriteObject(ROOT.TNamed("note", "a text"), "note")
    directory.WriteObject(in_a_list, "lst")
    in_a_list.Clear("nodelete")
    file.Close()
