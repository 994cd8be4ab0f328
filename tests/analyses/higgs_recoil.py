"""FCC's tutorial of the Higgs boson beside two muons in EDM4hep's files: the mass that recoils from a Z boson."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import arrowroot as ar

if TYPE_CHECKING:
    from collections.abc import Mapping

LUMINOSITY = 10.6e6
ENERGY = 240
PARTICLES, MUONS = "ReconstructedParticles", "Muon_objIdx.index"
PARTS = ("px", "py", "pz", "energy")

DEFINE = {
    **{f"p{axis}": f"1.0 * {PARTICLES}.momentum.{axis}" for axis in "xyz"},
    "p": "sqrt(px**2 + py**2 + pz**2)",
    "energy": f"sqrt(p**2 + {PARTICLES}.mass**2)",
    "eta": "asinh(pz / hypot(px, py))",
    "phi": "atan2(py, px)",
    "muon": f"{MUONS}[p[{MUONS}] > 20]",
    "distance": "DeltaR(eta[muon], per(muon, eta), phi[muon], per(muon, phi))",
    "isolation": "Sum(distance > 0.01 && distance < 0.5 ? per(muon, p) : 0) / p[muon]",
    "charge": f"{PARTICLES}.charge[muon]",
    # All pairs of muons, and the best one.
    **{f"pair_{part}": f"first({part}[muon]) + second({part}[muon])" for part in PARTS},
    "pair_p2": "pair_px**2 + pair_py**2 + pair_pz**2",
    "pair_mass": "sqrt(pair_energy**2 - pair_p2)",
    "recoil2": f"({ENERGY} - pair_energy)**2 - pair_p2",
    "recoil_mass": "copysign(sqrt(abs(recoil2)), recoil2)",
    "score": "0.6 * (pair_mass - 91.2)**2 + 0.4 * (recoil_mass - 125)**2",
    "best": "argmin(first(charge) + second(charge) == 0 ? score : 1e9)",
    "z_mass": "pair_mass[best]",
    "z_p": "sqrt(pair_p2[best])",
    "recoil": "recoil_mass[best]",
}
CUTS = {
    "isolated": "any(isolation < 0.25)",
    "opposite charges": "any(charge > 0) && any(charge < 0)",
    "mass of the Z": "z_mass > 86 && z_mass < 96",
    "momentum of the Z": "z_p > 20 && z_p < 70",
    "recoil": "recoil > 120 && recoil < 140",
}


def analyse(samples: Mapping[str, Any]) -> dict[str, Any]:
    """Return histograms by sample, scaled to the luminosity, and how many entries of all samples passed the cuts."""
    scan = ar.scan(samples, "events", define=DEFINE)
    wanted = {
        "z_mass": ar.Hist((40, 86, 96), x="z_mass", weight="1", cut="recoil"),
        "z_p": ar.Hist((50, 20, 70), x="z_p", weight="1", cut="recoil"),
        "recoil": ar.Hist((40, 120, 140), x="recoil", weight="1", cut="recoil"),
    }
    made = scan.hist(wanted, cuts=CUTS, by_sample=True)
    weights = {
        sample: LUMINOSITY * known["cross_section"] / known["n_events"]
        for sample, known in scan.samples.items()
    }
    scaled = {
        name: {sample: filled[sample, :] * weight for sample, weight in weights.items()}
        for name, filled in made.items()
    }
    return {**scaled, "cuts": [cut.num_entries for cut in made.cuts]}
