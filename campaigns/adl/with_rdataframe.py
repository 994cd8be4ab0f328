"""The queries in RDataFrame, as its users write them in Python: helpers in C++, the rest compiled when it is run."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from histograms import AXES, BTAG

_HELPERS = """
#include <ROOT/RVec.hxx>
#include <algorithm>
#include <cmath>
namespace adl {
using Floats = const ROOT::RVecF &;
using Ints = const ROOT::RVecI &;

struct Momentum {
  double px, py, pz, e;
  Momentum(double pt, double eta, double phi, double mass)
      : px(pt * std::cos(phi)), py(pt * std::sin(phi)), pz(pt * std::sinh(eta)),
        e(std::sqrt(px * px + py * py + pz * pz + mass * mass)) {}
  Momentum &operator+=(const Momentum &other) {
    px += other.px, py += other.py, pz += other.pz, e += other.e;
    return *this;
  }
  double mass() const { return std::sqrt(std::max(0., e * e - px * px - py * py - pz * pz)); }
};
inline Momentum operator+(Momentum one, const Momentum &other) { return one += other; }

inline std::vector<Momentum> momenta(Floats pt, Floats eta, Floats phi, Floats mass) {
  std::vector<Momentum> found;
  found.reserve(pt.size());
  for (std::size_t i = 0; i < pt.size(); ++i) found.emplace_back(pt[i], eta[i], phi[i], mass[i]);
  return found;
}

bool has_pair(Floats pt, Floats eta, Floats phi, Floats mass, Ints charge) {
  const auto p = momenta(pt, eta, phi, mass);
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t j = i + 1; j < p.size(); ++j) {
      if (charge[i] == charge[j]) continue;
      const auto m = (p[i] + p[j]).mass();
      if (m > 60 && m < 120) return true;
    }
  return false;
}

ROOT::RVecD best_three(Floats pt, Floats eta, Floats phi, Floats mass, Floats btag) {
  const auto p = momenta(pt, eta, phi, mass);
  double best = INFINITY, best_pt = 0, best_tag = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t j = i + 1; j < p.size(); ++j) {
      const auto two = p[i] + p[j];
      for (std::size_t k = j + 1; k < p.size(); ++k) {
        const auto three = two + p[k];
        const auto distance = std::abs(three.mass() - 172.5);
        if (distance >= best) continue;
        best = distance;
        best_pt = std::hypot(three.px, three.py);
        best_tag = std::max({btag[i], btag[j], btag[k]});
      }
    }
  return {best_pt, best_tag};
}

inline bool is_near(double eta, double phi, Floats pts, Floats etas, Floats phis) {
  for (std::size_t i = 0; i < pts.size(); ++i) {
    if (pts[i] <= 10) continue;
    const auto d_eta = eta - etas[i], d_phi = std::remainder(phi - phis[i], 2 * M_PI);
    if (d_eta * d_eta + d_phi * d_phi < 0.4 * 0.4) return true;
  }
  return false;
}

double isolated_sum(Floats pt, Floats eta, Floats phi, Floats m_pt, Floats m_eta, Floats m_phi, Floats e_pt,
                    Floats e_eta, Floats e_phi) {
  double sum = 0;
  for (std::size_t i = 0; i < pt.size(); ++i)
    if (pt[i] > 30 && !is_near(eta[i], phi[i], m_pt, m_eta, m_phi) && !is_near(eta[i], phi[i], e_pt, e_eta, e_phi))
      sum += pt[i];
  return sum;
}

// The transverse mass; below zero without a pair.
double transverse_mass(float met, float met_phi, Floats m_pt, Floats m_eta, Floats m_phi, Floats m_mass, Ints m_charge,
                       Floats e_pt, Floats e_eta, Floats e_phi, Floats e_mass, Ints e_charge) {
  auto p = momenta(m_pt, m_eta, m_phi, m_mass);
  const auto electrons = momenta(e_pt, e_eta, e_phi, e_mass);
  p.insert(p.end(), electrons.begin(), electrons.end());
  const auto pt = ROOT::VecOps::Concatenate(m_pt, e_pt), phi = ROOT::VecOps::Concatenate(m_phi, e_phi);
  const ROOT::RVecI kind = ROOT::VecOps::Concatenate(m_charge * 13, e_charge * 11);
  double best = INFINITY;
  std::size_t first = 0, second = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t j = i + 1; j < p.size(); ++j) {
      if (kind[i] != -kind[j]) continue;
      const auto distance = std::abs((p[i] + p[j]).mass() - 91.2);
      if (distance < best) best = distance, first = i, second = j;
    }
  if (std::isinf(best)) return -1;
  std::size_t other = p.size();
  for (std::size_t i = 0; i < p.size(); ++i)
    if (i != first && i != second && (other == p.size() || pt[i] > pt[other])) other = i;
  return std::sqrt(2. * pt[other] * met * (1 - std::cos(double(met_phi) - phi[other])));
}
}
"""
_MUONS = "Muon_pt, Muon_eta, Muon_phi, Muon_mass, Muon_charge"
_ELECTRONS = "Electron_pt, Electron_eta, Electron_phi, Electron_mass, Electron_charge"


class RDataFrame:
    """ROOT in this process; the helpers are compiled when it is made."""

    def __init__(self, n_threads: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ROOT's wheel warns that it is new
            import ROOT
        self._root: Any = ROOT
        # Without this, TFile::Open maps root://127.0.0.1 to the local file without saying so.
        ROOT.gEnv.SetValue("Path.ForceRemote", 1)
        if n_threads > 1:
            ROOT.EnableImplicitMT(n_threads)
        ROOT.gInterpreter.Declare(_HELPERS)

    def histograms(self, query: int, urls: list[str], table: str) -> dict[str, np.ndarray[Any, Any]]:
        """Return the histograms of a query."""
        frame = self._root.RDataFrame(table, urls)
        axes = {name: ("", "", axis.n, axis.low, axis.high) for name, axis in AXES[query].items()}
        booked = _BOOK[query](frame, axes)
        counts = {}
        for name, result in booked.items():
            histogram = result.GetValue()
            counts[name] = np.array(
                [histogram.GetBinContent(place) for place in range(histogram.GetNbinsX() + 2)]
            ).astype(np.int64)
        return counts

    def read_counters(self) -> dict[str, int]:
        """Return what ROOT counts of the reads of this process."""
        file = self._root.TFile
        return {"n_reads": int(file.GetFileReadCalls()), "n_bytes": int(file.GetFileBytesRead())}

    def version(self) -> str:
        """Return ROOT's version."""
        return str(self._root.gROOT.GetVersion())


def _met(frame: Any, axes: Any) -> Any:
    return {"MET": frame.Histo1D(axes["MET"], "MET_pt")}


def _jets(frame: Any, axes: Any) -> Any:
    return {"pt": frame.Histo1D(axes["pt"], "Jet_pt")}


def _central_jets(frame: Any, axes: Any) -> Any:
    return {"pt": frame.Define("central", "Jet_pt[abs(Jet_eta) < 1]").Histo1D(axes["pt"], "central")}


def _two_jets(frame: Any, axes: Any) -> Any:
    return {"MET": frame.Filter("Sum(Jet_pt > 40) >= 2").Histo1D(axes["MET"], "MET_pt")}


def _muon_pair(frame: Any, axes: Any) -> Any:
    chosen = frame.Filter("nMuon >= 2").Filter(f"adl::has_pair({_MUONS})")
    return {"MET": chosen.Histo1D(axes["MET"], "MET_pt")}


def _three_jets(frame: Any, axes: Any) -> Any:
    best = f"adl::best_three(Jet_pt, Jet_eta, Jet_phi, Jet_mass, {BTAG})"
    three = frame.Filter("nJet >= 3").Define("three", best)
    three = three.Define("three_pt", "three[0]").Define("three_btag", "three[1]")
    return {name: three.Histo1D(axes[name], f"three_{name}") for name in axes}


def _isolated_jets(frame: Any, axes: Any) -> Any:
    names = ", ".join(
        f"{kind}_{name}" for kind in ("Jet", "Muon", "Electron") for name in ("pt", "eta", "phi")
    )
    return {"sum": frame.Define("isolated", f"adl::isolated_sum({names})").Histo1D(axes["sum"], "isolated")}


def _lepton_and_pair(frame: Any, axes: Any) -> Any:
    three = frame.Filter("nMuon + nElectron >= 3")
    mass = f"adl::transverse_mass(MET_pt, MET_phi, {_MUONS}, {_ELECTRONS})"
    return {"mass": three.Define("mass", mass).Filter("mass >= 0").Histo1D(axes["mass"], "mass")}


_BOOK: dict[int, Any] = {
    1: _met, 2: _jets, 3: _central_jets, 4: _two_jets, 5: _muon_pair, 6: _three_jets, 7: _isolated_jets,
    8: _lepton_and_pair,
}  # fmt: skip
