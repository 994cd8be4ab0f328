"""ROOT's tutorial df103: the mass of Higgs bosons of four muons, four electrons, or two of each, from NanoAOD."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import arrowroot as ar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Z_MASS = 91.2
LUMINOSITY = 11580.0
ISOLATION = {"Muon": "pfRelIso04_all", "Electron": "pfRelIso03_all"}
MAX_ETA = {"Muon": 2.4, "Electron": 2.5}
MIN_PT = {"Muon": 5, "Electron": 7}
KINEMATICS = ("pt", "eta", "phi", "mass")
Z_CUTS = {"first Z": "z1 > 40 && z1 < 120", "second Z": "z2 > 12 && z2 < 120"}


class Masses(NamedTuple):
    """Histograms by sample, and how many entries of all samples passed the cuts."""

    of: dict[str, Any]
    cuts: list[Any]


def four_alike(lepton: str, samples: Mapping[str, Any]) -> Masses:
    """Return the mass by sample: the pair of opposite charge nearest to the Z is one boson, the others are one."""
    pt, eta, phi, mass, charge = (f"{lepton}_{name}" for name in ("pt", "eta", "phi", "mass", "charge"))
    one, other = (
        ", ".join(f"{which}({part})" for part in (pt, eta, phi, mass)) for which in ("first", "second")
    )
    define = {
        "pair_mass": f"InvariantMasses({one}, {other})",
        "distance": f"DeltaR(first({eta}), second({eta}), first({phi}), second({phi}))",
        "best": f"argmin(first({charge}) != second({charge}) ? abs(pair_mass - {Z_MASS}) : 1e9)",
        "z1": "pair_mass[best]",
        "z2": "pair_mass[5 - best]",  # of the six pairs (0, 1), (0, 2), ..., (2, 3)
        "higgs": f"InvariantMass({pt}, {eta}, {phi}, {mass})",
    }
    cuts = {
        "isolated": isolated(lepton),
        "good kinematics": f"all({pt} > {MIN_PT[lepton]}) && all(abs({eta}) < {MAX_ETA[lepton]})",
        "from the vertex": from_vertex(lepton),
        "two of each charge": f"n{lepton} == 4 && count({charge} == 1) == 2 && count({charge} == -1) == 2",
        "apart": "distance[best] >= 0.02 && distance[5 - best] >= 0.02",
        **Z_CUTS,
    }
    return masses(samples, f"n{lepton} >= 4", define, cuts)


def two_of_each(samples: Mapping[str, Any]) -> Masses:
    """Return the mass by sample: the first two muons are one boson, the first two electrons the other."""
    define = {
        f"{lepton}_z": f"InvariantMass({', '.join(f'Take({lepton}_{name}, 2)' for name in KINEMATICS)})"
        for lepton in ISOLATION
    }
    both = ", ".join(f"Concatenate(Take(Muon_{name}, 2), Take(Electron_{name}, 2))" for name in KINEMATICS)
    define |= {
        "muons_first": f"abs(Muon_z - {Z_MASS}) < abs(Electron_z - {Z_MASS})",
        "z1": "muons_first ? Muon_z : Electron_z",
        "z2": "muons_first ? Electron_z : Muon_z",
        "higgs": f"InvariantMass({both})",
    }
    cuts = {
        "good eta": " && ".join(f"all(abs({lepton}_eta) < {most})" for lepton, most in MAX_ETA.items()),
        "good pt": " || ".join(
            f"any({lepton}_pt > 20) && count({lepton}_pt > 10) >= 2" for lepton in ISOLATION
        ),
        "apart": " && ".join(
            f"DeltaR({lepton}_eta[0], {lepton}_eta[1], {lepton}_phi[0], {lepton}_phi[1]) >= 0.02"
            for lepton in ISOLATION
        ),
        "isolated": " && ".join(map(isolated, ISOLATION)),
        "electrons from the vertex": from_vertex("Electron"),
        "muons from the vertex": from_vertex("Muon"),
        "opposite charges": "Sum(Electron_charge) == 0 && Sum(Muon_charge) == 0",
        **Z_CUTS,
    }
    return masses(samples, "nElectron >= 2 && nMuon >= 2", define, cuts)


def isolated(lepton: str) -> str:
    """Return the condition that nothing is around the leptons."""
    return f"all(abs({lepton}_{ISOLATION[lepton]}) < 0.4)"


def from_vertex(lepton: str) -> str:
    """Return the condition that the tracks are close to the primary vertex, with a small uncertainty."""
    dxy, dz = f"{lepton}_dxy", f"{lepton}_dz"
    significance = f"sqrt({dxy}**2 + {dz}**2) / sqrt({dxy}Err**2 + {dz}Err**2)"
    return f"all({significance} < 4 && abs({dxy}) < 0.5 && abs({dz}) < 1)"


def masses(samples: Mapping[str, Any], enough: str, define: dict[str, str], cuts: dict[str, str]) -> Masses:
    """Fill the histograms of the mass, those of simulated samples scaled to the luminosity."""
    scan = ar.scan(samples, "Events", filter=enough, define=define)
    wanted = ar.Hist((36, 70, 180), x="higgs", weight="1", cut="second Z")
    made = scan.hist({"mass": wanted}, cuts=cuts, by_sample=True)
    weights = {
        sample: LUMINOSITY * known["cross_section"] / known["n_events"] if known else 1.0
        for sample, known in scan.samples.items()
    }
    return Masses({sample: made["mass"][sample, :] * weight for sample, weight in weights.items()}, made.cuts)


CHANNELS: dict[str, Callable[[Mapping[str, Any]], Masses]] = {
    "4 muons": partial(four_alike, "Muon"),
    "4 electrons": partial(four_alike, "Electron"),
    "2 of each": two_of_each,
}
