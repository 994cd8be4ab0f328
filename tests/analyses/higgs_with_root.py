"""NanoAOD in small, and what RDataFrame finds in it: run in ROOT's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.judge import macros
from tests.judge.filled import bins, cut_flow
from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path

N_ENTRIES = 2000
LUMINOSITY = 11580.0
#: Of each simulated sample the cross-section, scaled, and the number of events; of data there is none.
SIMULATED = {
    "Higgs": {"cross_section": 0.0065, "n_events": 299973},
    "ZZ to 4 muons": {"cross_section": 1.386 * 0.077, "n_events": 1499064},
    "ZZ to 4 electrons": {"cross_section": 1.386 * 0.077, "n_events": 1499093},
    "ZZ to 2 of each": {"cross_section": 1.386 * 0.18, "n_events": 1497445},
}
#: Of each channel the files of its samples.
CHANNELS = {
    "4 muons": {"Higgs": ["higgs"], "ZZ to 4 muons": ["zz_4mu"], "data": ["data_mu_b", "data_mu_c"]},
    "4 electrons": {"Higgs": ["higgs"], "ZZ to 4 electrons": ["zz_4el"], "data": ["data_el_b", "data_el_c"]},
    "2 of each": {"Higgs": ["higgs"], "ZZ to 2 of each": ["zz_2el2mu"], "data": ["data_mu_b", "data_mu_c"]},
}

SOURCE = """
#include <Math/Vector4D.h>
#include <ROOT/RVec.hxx>
#include <TFile.h>
#include <TRandom3.h>
#include <TTree.h>
namespace higgs {
using ROOT::RVecF;
using ROOT::RVecI;
using Particle = ROOT::Math::PtEtaPhiMVector;

void write(const char *path, int n_entries, int seed) {
  TFile file(path, "RECREATE");
  TTree tree("Events", "NanoAOD in small");
  tree.SetAutoFlush(500);
  const char *names[] = {"pt", "eta", "phi", "mass", "iso", "dxy", "dxyErr", "dz", "dzErr"};
  UInt_t n[2];
  int charge[2][8];
  float values[2][9][8];
  for (int l = 0; l < 2; ++l) {
    TString lepton = l ? "Electron" : "Muon", counted = "[n" + lepton + "]";
    tree.Branch("n" + lepton, &n[l], "n" + lepton + "/i");
    tree.Branch(lepton + "_charge", charge[l], lepton + "_charge" + counted + "/I");
    for (int k = 0; k < 9; ++k) {
      TString name = lepton + "_" + (k == 4 ? l ? "pfRelIso03_all" : "pfRelIso04_all" : names[k]);
      tree.Branch(name, values[l][k], name + counted + "/F");
    }
  }
  TRandom3 random(seed);
  for (int entry = 0; entry < n_entries; ++entry) {
    for (int l = 0; l < 2; ++l) {
      n[l] = random.Integer(3) ? 2 + 2 * random.Integer(2) : random.Integer(8);
      for (unsigned i = 0; i < n[l]; ++i) {
        bool is_near = i % 2 && random.Uniform() < 0.1;
        auto &of = values[l];
        charge[l][i] = i % 2 ? -charge[l][i - 1] : random.Integer(2) ? 1 : -1;
        if (random.Uniform() < 0.05) charge[l][i] *= -1;
        of[0][i] = random.Uniform() < 0.03 ? 4 : 7 + random.Exp(25);
        of[1][i] = is_near ? of[1][i - 1] + 0.01 : random.Gaus(0, 1);
        of[2][i] = is_near ? of[2][i - 1] + 0.01 : random.Uniform(-3.14159, 3.14159);
        of[3][i] = l ? 0.000511 : 0.10566;
        of[4][i] = random.Exp(0.08);
        of[5][i] = random.Gaus(0, random.Uniform() < 0.05 ? 0.1 : 0.01);
        of[6][i] = 0.01;
        of[7][i] = random.Gaus(0, 0.02);
        of[8][i] = 0.02 + random.Exp(0.005);
      }
    }
    tree.Fill();
  }
  tree.Write();
}

Particle particle(const RVecF &pt, const RVecF &eta, const RVecF &phi, const RVecF &mass, int i) {
  return {pt[i], eta[i], phi[i], mass[i]};
}

// Four particles as they make two bosons, the one nearer to the Z first.
struct Bosons {
  std::array<Particle, 4> of;
  double z1() const { return (of[0] + of[1]).M(); }
  double z2() const { return (of[2] + of[3]).M(); }
  double mass() const { return (of[0] + of[1] + of[2] + of[3]).M(); }
  bool are_apart() const {
    using ROOT::VecOps::DeltaR;
    return DeltaR(of[0].Eta(), of[1].Eta(), of[0].Phi(), of[1].Phi()) >= 0.02 &&
           DeltaR(of[2].Eta(), of[3].Eta(), of[2].Phi(), of[3].Phi()) >= 0.02;
  }
  double away() const { return std::abs(z1() - 91.2); }
};

Bosons alike(const RVecF &pt, const RVecF &eta, const RVecF &phi, const RVecF &mass, const RVecI &charge) {
  Bosons best;
  double least = 1e9;
  for (int i = 0; i < 4; ++i)
    for (int j = i + 1; j < 4; ++j) {
      if (charge[i] == charge[j]) continue;
      Bosons found;
      int at = 0;
      found.of[at++] = particle(pt, eta, phi, mass, i);
      found.of[at++] = particle(pt, eta, phi, mass, j);
      for (int k = 0; k < 4; ++k)
        if (k != i && k != j) found.of[at++] = particle(pt, eta, phi, mass, k);
      if (found.away() < least) best = found, least = best.away();
    }
  return best;
}

Bosons mixed(const RVecF &mu_pt, const RVecF &mu_eta, const RVecF &mu_phi, const RVecF &mu_mass,
             const RVecF &el_pt, const RVecF &el_eta, const RVecF &el_phi, const RVecF &el_mass) {
  auto mu = [&](int i) { return particle(mu_pt, mu_eta, mu_phi, mu_mass, i); };
  auto el = [&](int i) { return particle(el_pt, el_eta, el_phi, el_mass, i); };
  Bosons one{mu(0), mu(1), el(0), el(1)}, other{el(0), el(1), mu(0), mu(1)};
  return one.away() < other.away() ? one : other;
}

bool are_hard(const RVecF &pt) {
  auto sorted = ROOT::VecOps::Reverse(ROOT::VecOps::Sort(pt));
  return sorted[0] > 20 && sorted[1] > 10;
}

bool from_vertex(const RVecF &dxy, const RVecF &dxy_error, const RVecF &dz, const RVecF &dz_error) {
  auto away = sqrt(dxy * dxy + dz * dz) / sqrt(dxy_error * dxy_error + dz_error * dz_error);
  return All(away < 4) && All(abs(dxy) < 0.5) && All(abs(dz) < 1.0);
}
}
"""


def files_of(channel: str, folder: Path) -> dict[str, Any]:
    """Return the files of the samples of a channel, and what is known of the samples."""
    return {
        sample: {"files": [folder / f"{path}.root" for path in paths], "metadata": SIMULATED.get(sample, {})}
        for sample, paths in CHANNELS[channel].items()
    }


def expected() -> dict[str, Any]:
    """Write the files of all samples. Returns: what :func:`analysed` finds in them."""
    write(N_ENTRIES)
    return analysed()


def write(n_entries: int) -> None:
    """Write the files of all samples."""
    declare()
    paths = sorted({path for samples in CHANNELS.values() for files in samples.values() for path in files})
    for seed, path in enumerate(paths, 1):
        ROOT.higgs.write(f"{path}.root", n_entries, seed)


def declare() -> None:
    """Give ROOT the functions in C++."""
    macros.declare(SOURCE)


def analysed() -> dict[str, Any]:
    """Return of each channel the histograms by sample, as contents and errors, and how many entries pass each cut."""
    selections = {"4 muons": _alike("Muon"), "4 electrons": _alike("Electron"), "2 of each": _mixed()}
    booked = {
        (channel, sample): _booked(files, sample, *selections[channel])
        for channel, samples in CHANNELS.items()
        for sample, files in samples.items()
    }
    return {
        channel: {
            "histograms": {sample: bins(booked[channel, sample][0].GetValue()) for sample in samples},
            "cuts": [
                sum(cuts)
                for cuts in zip(
                    *(cut_flow(booked[channel, sample][1])[1:] for sample in samples), strict=True
                )
            ],
        }
        for channel, samples in CHANNELS.items()
    }


def _booked(
    files: list[str], sample: str, bosons: str, before: list[str], after: list[str]
) -> tuple[Any, Any]:
    """Return the histogram and the cut flow that will be filled."""
    frame = ROOT.RDataFrame("Events", [f"{path}.root" for path in files])
    for number, text in enumerate(before):
        frame = frame.Filter(text, f"before {number}")
    frame = frame.Define("bosons", bosons)
    for number, text in enumerate(after):
        frame = frame.Filter(text, f"after {number}")
    known = SIMULATED.get(sample)
    weight = LUMINOSITY * known["cross_section"] / known["n_events"] if known else 1.0
    weighted = frame.Define("higgs", "bosons.mass()").Define("weight", repr(weight))
    return weighted.Histo1D(("", "", 36, 70.0, 180.0), "higgs", "weight"), frame.Report()


_Z_CUTS = ["bosons.z1() > 40 && bosons.z1() < 120", "bosons.z2() > 12 && bosons.z2() < 120"]


def _alike(lepton: str) -> tuple[str, list[str], list[str]]:
    kinematics = ", ".join(f"{lepton}_{name}" for name in ("pt", "eta", "phi", "mass"))
    isolation, pt, eta = ("pfRelIso04_all", 5, 2.4) if lepton == "Muon" else ("pfRelIso03_all", 7, 2.5)
    before = [
        f"n{lepton} >= 4",
        f"All(abs({lepton}_{isolation}) < 0.40)",
        f"All({lepton}_pt > {pt}) && All(abs({lepton}_eta) < {eta})",
        _from_vertex(lepton),
        f"n{lepton} == 4 && Sum({lepton}_charge == 1) == 2 && Sum({lepton}_charge == -1) == 2",
    ]
    return f"higgs::alike({kinematics}, {lepton}_charge)", before, ["bosons.are_apart()", *_Z_CUTS]


def _mixed() -> tuple[str, list[str], list[str]]:
    kinematics = ", ".join(
        f"{lepton}_{name}" for lepton in ("Muon", "Electron") for name in ("pt", "eta", "phi", "mass")
    )
    before = [
        "nElectron >= 2 && nMuon >= 2",
        "All(abs(Electron_eta) < 2.5) && All(abs(Muon_eta) < 2.4)",
        "higgs::are_hard(Muon_pt) || higgs::are_hard(Electron_pt)",
        f"higgs::mixed({kinematics}).are_apart()",
        "All(abs(Electron_pfRelIso03_all) < 0.40) && All(abs(Muon_pfRelIso04_all) < 0.40)",
        _from_vertex("Electron"),
        _from_vertex("Muon"),
        "Sum(Electron_charge) == 0 && Sum(Muon_charge) == 0",
    ]
    return f"higgs::mixed({kinematics})", before, _Z_CUTS


def _from_vertex(lepton: str) -> str:
    return f"higgs::from_vertex({', '.join(f'{lepton}_{name}' for name in ('dxy', 'dxyErr', 'dz', 'dzErr'))})"
