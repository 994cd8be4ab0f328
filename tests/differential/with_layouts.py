"""Writes trees of several layouts with ROOT, and says what OptimizeBaskets makes of them: run in its process."""

from __future__ import annotations

import re
from pathlib import Path

from tests.judge import macros
from tests.judge.lazy import ROOT

CODE = r"""
#include <TFile.h>
#include <TTree.h>
#include <TClonesArray.h>
#include <TLorentzVector.h>
#include <TRandom3.h>
#include <TNamed.h>
#include <TSystem.h>

// Its findings go to a file.
void optimize(TTree &tree, ULong64_t memory, const char *printed)
{
   gSystem->RedirectOutput(printed, "w");
   tree.OptimizeBaskets(memory, 1.1, "d");
   gSystem->RedirectOutput(nullptr);
}

// kind: 0 flat branches, 1 also arrays, vectors and leaf lists, 2 split objects
void write_tree(const char *path, int kind, int n_branches, int n_entries, Long64_t flush, int basket, int codec)
{
   TFile file(path, "recreate", "", codec);
   TTree tree("T", "");
   tree.SetAutoFlush(flush);
   std::vector<double> numbers(n_branches);
   std::vector<int> counts(n_branches);
   std::vector<std::vector<float>> lists(n_branches);
   float arrays[20];
   int n = 0;
   struct { float x, y; int i; } leaves;
   for (int b = 0; b < n_branches; ++b) {
      tree.Branch(Form("number_%d", b), &numbers[b], Form("number_%d/D", b), basket);
      if (kind > 0 && b % 3 == 0) tree.Branch(Form("list_%d", b), &lists[b], basket);
   }
   TClonesArray vectors("TLorentzVector");
   TNamed *named = new TNamed("n", "t");
   TLorentzVector *one = new TLorentzVector;
   if (kind > 0) {
      tree.Branch("n", &n, "n/I", basket);
      tree.Branch("array_of_a_branch_with_a_long_name", arrays, "array_of_a_branch_with_a_long_name[n]/F", basket);
      tree.Branch("leaves", &leaves, "x/F:y/F:i/I", basket);
   }
   if (kind > 1) {
      tree.Branch("vectors", &vectors, basket, 99);
      tree.Branch("one", &one, basket, 99);
      tree.Branch("named", &named, basket, 0);
   }
   TRandom3 random(7);
   for (int i = 0; i < n_entries; ++i) {
      n = i % 20;
      for (auto &x : arrays) x = random.Gaus();
      leaves = {float(i), 1.f, i};
      for (int b = 0; b < n_branches; ++b) {
         numbers[b] = b % 2 ? random.Gaus() : b;
         lists[b].assign(i % (b + 1), 1.5f * b);
      }
      vectors.Clear();
      if (kind > 1) for (int k = 0; k < i % 4; ++k) new (vectors[k]) TLorentzVector(k, i, 3, 4);
      tree.Fill();
   }
   tree.Write();
}
"""

#: Name, and what write_tree takes.
TREES = {
    "unflushed": (0, 30, 4000, 0, 2000, 101),
    "mixed": (1, 20, 4000, 0, 2000, 101),
    "flushed": (1, 12, 3000, 300, 32000, 101),
    "by_bytes": (1, 12, 6000, -50_000, 16000, 505),
    "ten": (1, 20, 1000, 10, 32000, 404),
    "objects": (2, 5, 2000, 500, 8000, 101),
    "plain": (1, 6, 2000, 200, 32000, 0),
    "wide": (0, 700, 200, 100, 32000, 101),
    "empty": (1, 3, 0, 100, 32000, 101),
}
MEMORY = (1000, 100_000, 10_000_000, 2_000_000_000)


def write() -> dict[str, dict[int, dict[str, object]]]:
    """Write ``NAME.root`` for each tree.

    Returns: by name and memory the sizes of the baskets of all branches before and after, which of them are no longer
    compressed, and the sums that ROOT prints.
    """
    macros.declare(CODE)
    said = {}
    for name, arguments in TREES.items():
        ROOT.write_tree(f"{name}.root", *arguments)
        said[name] = {memory: optimized(Path(f"{name}.root"), memory) for memory in MEMORY}
    return said


def optimized(path: Path, memory: int) -> dict[str, object]:
    """Open a tree anew, optimise its baskets, and return what became of them."""
    file = ROOT.TFile(str(path))
    tree = file.Get("T")
    branches: list[object] = []
    collect(tree.GetListOfBranches(), branches)
    before = [branch.GetBasketSize() for branch in branches]
    printed = path.with_suffix(f".{memory}.txt")
    ROOT.gErrorIgnoreLevel = ROOT.kInfo
    ROOT.optimize(tree, memory, str(printed))
    ROOT.gErrorIgnoreLevel = ROOT.kError
    text = printed.read_text()
    sums = re.findall(r"old(?:Memsize|Baskets) = (\d+),\s+new(?:Memsize|Baskets) = (\d+)", text)
    found = {
        "names": [str(branch.GetName()) for branch in branches],
        "before": before,
        "after": [branch.GetBasketSize() for branch in branches],
        "ends_compression": re.findall(r"Disabling compression for branch : (\S+)", text),
        "sums": [[int(one) for one in pair] for pair in sums],
    }
    file.Close()
    return found


def collect(branches: object, found: list[object]) -> None:
    for branch in branches:
        found.append(branch)
        collect(branch.GetListOfBranches(), found)
