"""NanoAOD of top quarks in small, and what RDataFrame finds in it: run in ROOT's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.judge import macros
from tests.judge.filled import bins
from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path

N_ENTRIES = 2000
LUMINOSITY = 3378.0
#: The samples, with their cross-sections in pb and their files.
SAMPLES = {"ttbar": (729.84, ["ttbar_1", "ttbar_2"]), "wjets": (15487.164, ["wjets"])}
WEIGHTS = [f"btag_var_{jet}_{way}" for jet in range(4) for way in ("up", "down")]

SOURCE = """
#include <Math/Vector4D.h>
#include <ROOT/RVec.hxx>
#include <TFile.h>
#include <TRandom3.h>
#include <TTree.h>
namespace top_quarks {
using namespace ROOT::VecOps;
using ROOT::RVecD;
using Particle = ROOT::Math::PxPyPzMVector;

void write(const char *path, int n_entries, int seed, double mean_jets) {
  TFile file(path, "RECREATE");
  TTree tree("Events", "NanoAOD in small");
  tree.SetAutoFlush(500);
  UInt_t n_electrons, n_muons, n_jets;
  struct { float pt[4], eta[4], sip3d[4], iso[4]; int id[4]; bool is_tight[4]; } lepton[2];
  float jet[5][12];
  int jet_id[12];
  for (int l = 0; l < 2; ++l) {
    TString name = l ? "Muon" : "Electron", of = "[n" + name + "]/";
    tree.Branch("n" + name, l ? &n_muons : &n_electrons, "n" + name + "/i");
    tree.Branch(name + "_pt", lepton[l].pt, name + "_pt" + of + "F");
    tree.Branch(name + "_eta", lepton[l].eta, name + "_eta" + of + "F");
    tree.Branch(name + "_sip3d", lepton[l].sip3d, name + "_sip3d" + of + "F");
    if (l == 0) tree.Branch("Electron_cutBased", lepton[l].id, "Electron_cutBased[nElectron]/I");
    if (l == 1) tree.Branch("Muon_tightId", lepton[l].is_tight, "Muon_tightId[nMuon]/O");
    if (l == 1) tree.Branch("Muon_pfRelIso04_all", lepton[l].iso, "Muon_pfRelIso04_all[nMuon]/F");
  }
  tree.Branch("nJet", &n_jets, "nJet/i");
  const char *names[] = {"pt", "eta", "phi", "mass", "btagCSVV2"};
  for (int k = 0; k < 5; ++k)
    tree.Branch(TString("Jet_") + names[k], jet[k], TString("Jet_") + names[k] + "[nJet]/F");
  tree.Branch("Jet_jetId", jet_id, "Jet_jetId[nJet]/I");
  TRandom3 random(seed);
  for (int entry = 0; entry < n_entries; ++entry) {
    n_electrons = random.Integer(3), n_muons = random.Integer(3);
    for (auto &of : lepton)
      for (int i = 0; i < 4; ++i) {
        of.pt[i] = 15 + random.Exp(30), of.eta[i] = random.Gaus(0, 1.2), of.sip3d[i] = random.Exp(1.5);
        of.iso[i] = random.Exp(0.08), of.id[i] = random.Uniform() < 0.8 ? 4 : random.Integer(4);
        of.is_tight[i] = random.Uniform() < 0.8;
      }
    n_jets = std::min<UInt_t>(random.Poisson(mean_jets), 12);
    for (unsigned i = 0; i < n_jets; ++i) {
      jet[0][i] = 20 + random.Exp(45), jet[1][i] = random.Gaus(0, 1.3);
      jet[2][i] = random.Uniform(-3.14159, 3.14159), jet[3][i] = 3 + random.Exp(6);
      jet[4][i] = random.Uniform() < 0.3 ? random.Uniform(0.5, 1) : random.Uniform(0, 0.5);
      jet_id[i] = random.Uniform() < 0.95 ? 6 : 2;
    }
    tree.Fill();
  }
  tree.Write();
}

RVec<RVecD> scaled(const RVecD &pt, const RVecD &phi) { return {pt * 1.03, pt * (1 + 0.05 * sin(1000 * phi))}; }

RVecD weights(double weight, const RVecD &pt) {
  RVecD found;
  for (double one : Take(pt, 4))
    for (int sign : {1, -1}) found.push_back(weight * (1 + sign * 0.075 * one / 50));
  return found;
}

double mass(const RVecD &pt, const RVecD &eta, const RVecD &phi, const RVecD &mass, const RVecD &b_tag) {
  auto jets = Construct<Particle>(Construct<ROOT::Math::PtEtaPhiMVector>(pt, eta, phi, mass));
  auto at = Combinations(pt, 3);
  auto three = Take(jets, at[0]) + Take(jets, at[1]) + Take(jets, at[2]);
  auto has_b = Take(b_tag, at[0]) > 0.5 || Take(b_tag, at[1]) > 0.5 || Take(b_tag, at[2]) > 0.5;
  RVec<Particle> chosen = three[has_b];
  return chosen[ArgMax(Map(chosen, [](const Particle &one) { return one.Pt(); }))].M();
}
}
"""


def files_of(folder: Path) -> dict[str, Any]:
    """Return the files of the samples, and what is known of the samples."""
    return {
        sample: {
            "files": [folder / f"{path}.root" for path in paths],
            "metadata": {"cross_section": cross_section, "n_events": 1000},
        }
        for sample, (cross_section, paths) in SAMPLES.items()
    }


def expected() -> dict[str, Any]:
    """Write the files of all samples. Returns: what :func:`analysed` finds in them."""
    write(N_ENTRIES)
    return analysed()


def write(n_entries: int) -> None:
    """Write the files of all samples."""
    declare()
    for sample, (_, paths) in SAMPLES.items():
        for seed, path in enumerate(paths, 1):
            ROOT.top_quarks.write(f"{path}.root", n_entries, seed, 5.5 if sample == "ttbar" else 4.0)


def declare() -> None:
    """Give ROOT the functions in C++."""
    macros.declare(SOURCE)


def analysed() -> dict[str, Any]:
    """Return of each region and sample the histograms of all variations, as contents and errors."""
    booked = {
        (region, sample): ROOT.RDF.Experimental.VariationsFor(histogram)
        for sample in SAMPLES
        for region, histogram in _booked(sample).items()
    }
    found: dict[str, Any] = {}
    for (region, sample), varied in booked.items():
        by_name = {str(name).rpartition(":")[2]: bins(varied[name]) for name in varied.GetKeys()}
        found.setdefault(region, {})[sample] = by_name
    return found


def _booked(sample: str) -> dict[str, Any]:
    """Return the histograms that will be filled, by region."""
    cross_section, paths = SAMPLES[sample]
    frame = ROOT.RDataFrame("Events", [f"{path}.root" for path in paths])
    frame = frame.Define("weight", repr(LUMINOSITY * cross_section / 1000))
    for name in ("pt", "eta", "phi", "mass", "btagCSVV2"):
        frame = frame.Define(f"jet_{name}", f"ROOT::RVecD(Jet_{name}.begin(), Jet_{name}.end())")
    frame = frame.Vary("jet_pt", "top_quarks::scaled(jet_pt, jet_phi)", ["pt_scale_up", "pt_res_up"])
    if sample == "wjets":
        frame = frame.Vary("weight", "weight * ROOT::RVecD{1.025, 0.975}", ["scale_var_up", "scale_var_down"])
    frame = (
        frame.Filter(
            "Sum(Electron_pt > 30 && abs(Electron_eta) < 2.1 && Electron_sip3d < 4 && Electron_cutBased == 4) + "
            "Sum(Muon_pt > 30 && abs(Muon_eta) < 2.1 && Muon_sip3d < 4 && Muon_tightId && Muon_pfRelIso04_all < 0.15) "
            "== 1"
        )
        .Define("good", "jet_pt > 30 && abs(jet_eta) < 2.4 && Jet_jetId == 6")
        .Filter("Sum(good) >= 4")
        .Define("pt", "jet_pt[good]")
        .Define("b_tag", "jet_btagCSVV2[good]")
        .Vary("weight", "top_quarks::weights(weight, pt)", WEIGHTS)
    )
    mass = "top_quarks::mass(pt, jet_eta[good], jet_phi[good], jet_mass[good], b_tag)"
    return {
        region: chosen.Histo1D(("", "", 25, 50.0, 550.0), "observable", "weight")
        for region, chosen in {
            "4j1b": frame.Filter("Sum(b_tag > 0.5) == 1").Define("observable", "Sum(pt)"),
            "4j2b": frame.Filter("Sum(b_tag > 0.5) > 1").Define("observable", mass),
        }.items()
    }
