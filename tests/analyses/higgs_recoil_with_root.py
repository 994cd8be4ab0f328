"""EDM4hep's files in small, and what RDataFrame finds in them: run in ROOT's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.judge import macros
from tests.judge.filled import bins, cut_flow
from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path

N_ENTRIES = 2000
LUMINOSITY = 10.6e6
#: The samples, with their cross-sections in pb.
SAMPLES = {"mumuH": 0.00394, "ZZ": 0.01404652064}
HISTOGRAMS = {"z_mass": (40, 86.0, 96.0), "z_p": (50, 20.0, 70.0), "recoil": (40, 120.0, 140.0)}

#: Members as of EDM4hep's data; podio writes collections as vectors of them, and relations as vectors of indices.
CLASSES = """
#include <vector>
namespace edm4hep {
struct Vector3f { float x, y, z; };
struct ReconstructedParticleData {
  int PDG;
  float energy;
  Vector3f momentum, referencePoint;
  float charge, mass, goodnessOfPID;
  unsigned clusters_begin, clusters_end, tracks_begin, tracks_end, particles_begin, particles_end;
};
}
namespace podio { struct ObjectID { int index; unsigned collectionID; }; }
#ifdef __CLING__
#pragma link C++ class edm4hep::Vector3f+;
#pragma link C++ class edm4hep::ReconstructedParticleData+;
#pragma link C++ class std::vector<edm4hep::ReconstructedParticleData>+;
#pragma link C++ class podio::ObjectID+;
#pragma link C++ class std::vector<podio::ObjectID>+;
#endif
"""
SOURCE = """
#include <Math/Vector4D.h>
#include <ROOT/RVec.hxx>
#include <TFile.h>
#include <TLorentzVector.h>
#include <TRandom3.h>
#include <TTree.h>
namespace higgs_recoil {
using Particles = ROOT::RVec<edm4hep::ReconstructedParticleData>;
using Momentum = ROOT::Math::PxPyPzMVector;

void write(const char *path, int n_entries, int seed, double recoil_mass) {
  TFile file(path, "RECREATE");
  TTree tree("events", "EDM4hep in small");
  tree.SetAutoFlush(500);
  std::vector<edm4hep::ReconstructedParticleData> particles;
  std::vector<podio::ObjectID> muons;
  tree.Branch("ReconstructedParticles", &particles);
  tree.Branch("Muon_objIdx", &muons);
  TRandom3 random(seed);
  auto add = [&](const TLorentzVector &of, float charge) {
    particles.push_back({0, float(of.E()), {float(of.X()), float(of.Y()), float(of.Z())}, {}, charge, float(of.M())});
  };
  for (int entry = 0; entry < n_entries; ++entry) {
    particles.clear(), muons.clear();
    double x, y, z, mass = random.Gaus(91.2, 3), recoil = random.Gaus(recoil_mass, 5);
    double energy = (240 * 240 + mass * mass - recoil * recoil) / 480;
    random.Sphere(x, y, z, std::sqrt(energy * energy - mass * mass));
    auto boost = TLorentzVector(x, y, z, energy).BoostVector();
    random.Sphere(x, y, z, mass / 2);
    for (int i : {0, 1}) {
      int sign = i ? -1 : 1;
      TLorentzVector muon;
      muon.SetXYZM(sign * x, sign * y, sign * z, 0.10566);
      muon.Boost(boost);
      muons.push_back({int(particles.size()), 7});
      add(muon, random.Uniform() < 0.05 ? 1 : sign);
    }
    for (int i = random.Poisson(12); i > 0; --i) {
      TLorentzVector other;
      random.Sphere(x, y, z, random.Exp(8));
      other.SetXYZM(x, y, z, 0.13957);
      if (random.Uniform() < 0.1) muons.push_back({int(particles.size()), 7});
      add(other, int(random.Integer(3)) - 1);
    }
    tree.Fill();
  }
  tree.Write();
}

Momentum momentum(const edm4hep::ReconstructedParticleData &of) {
  return {of.momentum.x, of.momentum.y, of.momentum.z, of.mass};
}

Particles selected(const Particles &all, const ROOT::RVecI &muons) {
  Particles found;
  for (int i : muons) if (momentum(all[i]).P() > 20) found.push_back(all[i]);
  return found;
}

ROOT::RVecD isolation(const Particles &muons, const Particles &all) {
  ROOT::RVecD found;
  for (auto &muon : muons) {
    double sum = 0;
    auto one = momentum(muon);
    for (auto &particle : all) {
      auto other = momentum(particle);
      double distance = ROOT::VecOps::DeltaR(one.Eta(), other.Eta(), one.Phi(), other.Phi());
      if (distance > 0.01 && distance < 0.5) sum += other.P();
    }
    found.push_back(sum / one.P());
  }
  return found;
}

bool are_opposite(const Particles &muons) {
  bool is_plus = false, is_minus = false;
  for (auto &muon : muons) is_plus |= muon.charge > 0, is_minus |= muon.charge < 0;
  return is_plus && is_minus;
}

struct Z { double z_mass, z_p, recoil; };

Z best(const Particles &muons) {
  Z found;
  double least = 1e9;
  for (std::size_t i = 0; i < muons.size(); ++i)
    for (std::size_t j = i + 1; j < muons.size(); ++j) {
      if (muons[i].charge + muons[j].charge != 0) continue;
      ROOT::Math::PxPyPzEVector pair(momentum(muons[i]) + momentum(muons[j]));
      Z one{pair.M(), pair.P(), (ROOT::Math::PxPyPzEVector(0, 0, 0, 240) - pair).M()};
      double score = 0.6 * std::pow(one.z_mass - 91.2, 2) + 0.4 * std::pow(one.recoil - 125, 2);
      if (score < least) found = one, least = score;
    }
  return found;
}
}
"""


def files_of(folder: Path) -> dict[str, Any]:
    """Return the files of the samples, and what is known of the samples."""
    return {
        sample: {
            "files": [folder / f"{sample}.root"],
            "metadata": {"cross_section": cross_section, "n_events": 1000},
        }
        for sample, cross_section in SAMPLES.items()
    }


def expected() -> dict[str, Any]:
    """Write the files. Returns: what :func:`analysed` finds in them."""
    write(N_ENTRIES)
    return analysed()


def write(n_entries: int) -> None:
    """Write the files of both samples."""
    declare()
    for seed, sample in enumerate(SAMPLES, 1):
        ROOT.higgs_recoil.write(f"{sample}.root", n_entries, seed, 125.0 if seed == 1 else 105.0)


def declare() -> None:
    """Give ROOT the functions in C++, and the dictionaries of the classes."""
    macros.load(CLASSES)
    macros.declare(SOURCE)


def analysed() -> dict[str, Any]:
    """Return the histograms by sample, as contents and errors, and how many entries of both pass each cut."""
    booked = {sample: _booked(sample) for sample in SAMPLES}
    found: dict[str, Any] = {
        name: {sample: bins(histograms[name]) for sample, (histograms, _) in booked.items()}
        for name in HISTOGRAMS
    }
    flows = [cut_flow(report) for _, report in booked.values()]
    return found | {"cuts": [sum(cuts) for cuts in zip(*flows, strict=True)]}


def _booked(sample: str) -> tuple[dict[str, Any], Any]:
    """Return the histograms and the cut flow that will be filled."""
    frame = (
        ROOT.RDataFrame("events", f"{sample}.root")
        .Define("muons", "higgs_recoil::selected(ReconstructedParticles, Muon_objIdx.index)")
        .Filter("Any(higgs_recoil::isolation(muons, ReconstructedParticles) < 0.25)", "isolated")
        .Filter("higgs_recoil::are_opposite(muons)", "opposite charges")
        .Define("z", "higgs_recoil::best(muons)")
        .Filter("z.z_mass > 86 && z.z_mass < 96", "mass of the Z")
        .Filter("z.z_p > 20 && z.z_p < 70", "momentum of the Z")
        .Filter("z.recoil > 120 && z.recoil < 140", "recoil")
        .Define("weight", repr(LUMINOSITY * SAMPLES[sample] / 1000))
    )
    filled = {}
    for name, axis in HISTOGRAMS.items():
        filled[name] = frame.Define(name, f"z.{name}").Histo1D(("", "", *axis), name, "weight")
    return filled, frame.Report()
