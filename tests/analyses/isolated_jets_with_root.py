"""PHYSLITE in small, and what RDataFrame finds in it: run in ROOT's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.judge import macros
from tests.judge.filled import bins, cut_flow
from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path

N_ENTRIES = 2000
PATHS = ["physlite_1.root", "physlite_2.root"]

SOURCE = """
#include <Math/Vector4D.h>
#include <ROOT/RVec.hxx>
#include <TFile.h>
#include <TRandom3.h>
#include <TTree.h>
namespace isolated_jets {
using namespace ROOT::VecOps;
using ROOT::RVecD;
using ROOT::RVecF;
using ROOT::RVecI;

void write(const char *path, int n_entries, int seed) {
  TFile file(path, "RECREATE");
  TTree tree("CollectionTree", "PHYSLITE in small");
  tree.SetAutoFlush(500);
  const char *collections[] = {"Jets", "Muons", "Electrons"}, *names[] = {"pt", "eta", "phi", "m", "charge"};
  std::vector<float> values[3][5];
  for (int c = 0; c < 3; ++c)
    for (int k = 0; k < 5; ++k)
      if (c ? k != 3 : k != 4)
        tree.Branch(TString::Format("Analysis%sAuxDyn.%s", collections[c], names[k]), &values[c][k]);
  TRandom3 random(seed);
  for (int entry = 0; entry < n_entries; ++entry) {
    for (int c = 0; c < 3; ++c) {
      for (auto &of : values[c]) of.clear();
      for (int i = random.Poisson(c ? 1.2 : 3.0); i > 0; --i) {
        // Some leptons are in jets.
        bool is_near = c && !values[0][0].empty() && random.Uniform() < 0.3;
        values[c][0].push_back((c ? 5 : 20) * 1000 + random.Exp(25000));
        values[c][1].push_back(is_near ? values[0][1][0] + random.Gaus(0, 0.2) : random.Gaus(0, 1.5));
        values[c][2].push_back(is_near ? values[0][2][0] + random.Gaus(0, 0.2) : random.Uniform(-3.14159, 3.14159));
        values[c][3].push_back(random.Exp(8000));
        values[c][4].push_back(random.Integer(2) ? 1 : -1);
      }
    }
    tree.Fill();
  }
  tree.Write();
}

RVecI away(const RVecF &eta, const RVecF &phi, const RVecF &pt, const RVecF &lepton_eta, const RVecF &lepton_phi) {
  RVecI found(eta.size(), 1);
  for (std::size_t i = 0; i < eta.size(); ++i)
    for (std::size_t j = 0; j < pt.size(); ++j)
      if (pt[j] > 10000 && DeltaR<double>(eta[i], lepton_eta[j], phi[i], lepton_phi[j]) < 0.4) found[i] = 0;
  return found;
}

RVecD masses(const RVecF &pt, const RVecF &eta, const RVecF &phi, const RVecF &charge) {
  RVecD found;
  for (std::size_t i = 0; i < pt.size(); ++i)
    for (std::size_t j = i + 1; j < pt.size(); ++j) {
      if (charge[i] == charge[j]) continue;
      ROOT::Math::PtEtaPhiMVector one(pt[i], eta[i], phi[i], 105.6583755), other(pt[j], eta[j], phi[j], 105.6583755);
      found.push_back((one + other).M() / 1000);
    }
  return found;
}

double sum(const RVecF &pt, const RVecI &good) {
  double found = 0;
  for (std::size_t i = 0; i < pt.size(); ++i) if (good[i]) found += pt[i];
  return found / 1000;
}
}
"""


def files_of(folder: Path) -> list[Path]:
    """Return the files."""
    return [folder / path for path in PATHS]


def expected() -> dict[str, Any]:
    """Write the files. Returns: what :func:`analysed` finds in them."""
    write(N_ENTRIES)
    return analysed()


def write(n_entries: int) -> None:
    """Write the files."""
    declare()
    for seed, path in enumerate(PATHS, 1):
        ROOT.isolated_jets.write(path, n_entries, seed)


def declare() -> None:
    """Give ROOT the functions in C++."""
    macros.declare(SOURCE)


def analysed() -> dict[str, Any]:
    """Return the histograms, as contents and errors, and how many entries pass each cut."""
    frame = ROOT.RDataFrame("CollectionTree", PATHS)
    for name in ("pt", "eta", "phi"):
        for collection in ("Jets", "Muons", "Electrons"):
            frame = frame.Alias(f"{collection}_{name}", f"Analysis{collection}AuxDyn.{name}")
    away = " && ".join(
        f"isolated_jets::away(Jets_eta, Jets_phi, {leptons}_pt, {leptons}_eta, {leptons}_phi)"
        for leptons in ("Muons", "Electrons")
    )
    muons = "Muons_pt, Muons_eta, Muons_phi, AnalysisMuonsAuxDyn.charge"
    masses = frame.Define("masses", f"isolated_jets::masses({muons})").Histo1D(
        ("", "", 100, 0.0, 200.0), "masses"
    )
    good = (
        frame.Filter("Jets_pt.size() > 0", "a jet")
        .Define("good", f"Jets_pt > 30000 && {away}")
        .Filter("Sum(good) > 0", "a good one")
    )
    sums = good.Define("sum_pt", "isolated_jets::sum(Jets_pt, good)").Histo1D(
        ("", "", 100, 15.0, 200.0), "sum_pt"
    )
    report = good.Report()
    return {"sum_pt": bins(sums), "mass": bins(masses), "cuts": cut_flow(report)}
