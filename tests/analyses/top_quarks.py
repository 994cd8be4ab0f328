"""The Analysis Grand Challenge's top quark pairs, in small: one lepton and four jets of NanoAOD, with variations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import arrowroot as ar

if TYPE_CHECKING:
    from collections.abc import Mapping

LUMINOSITY = 3378.0
BINS = (25, 50, 550)
#: Factors of the momenta of jets; that of the resolution is a number of the jet, and so no other in the next run.
SCALES = {"nominal": "1", "pt_scale_up": "1.03", "pt_res_up": "(1 + 0.05 * sin(1000 * Jet_phi))"}
ONE_LEPTON = (
    "count(Electron_pt > 30 && abs(Electron_eta) < 2.1 && Electron_sip3d < 4 && Electron_cutBased == 4)"
    " + count(Muon_pt > 30 && abs(Muon_eta) < 2.1 && Muon_sip3d < 4 && Muon_tightId && Muon_pfRelIso04_all < 0.15)"
    " == 1"
)


def three_jets(part: str) -> str:
    """Return a part of the momentum of each three jets."""
    return f"(first({part}, 3) + second({part}, 3) + third({part}))"


#: Good jets, the conditions of two regions, and the three jets of most momentum of which one is of a b quark.
#: VAR is the name of a variation, SCALE its factor.
JETS = {
    "good_VAR": "Jet_pt * SCALE > 30 && abs(Jet_eta) < 2.4 && Jet_jetId == 6",
    "pt_VAR": "(Jet_pt * SCALE)[good_VAR]",
    "is_b_VAR": "Jet_btagCSVV2[good_VAR] > 0.5",
    "in_4j1b_VAR": "len(pt_VAR) >= 4 && count(is_b_VAR) == 1",
    "in_4j2b_VAR": "len(pt_VAR) >= 4 && count(is_b_VAR) > 1",
    "px_VAR": "pt_VAR * cos(Jet_phi[good_VAR])",
    "py_VAR": "pt_VAR * sin(Jet_phi[good_VAR])",
    "pz_VAR": "pt_VAR * sinh(Jet_eta[good_VAR])",
    "energy_VAR": "sqrt(px_VAR**2 + py_VAR**2 + pz_VAR**2 + Jet_mass[good_VAR]**2)",
    **{f"three_{part}_VAR": three_jets(f"{part}_VAR") for part in ("px", "py", "pz", "energy")},
    "three_pt2_VAR": "three_px_VAR**2 + three_py_VAR**2",
    "has_b_VAR": "first(is_b_VAR, 3) || second(is_b_VAR, 3) || third(is_b_VAR)",
    "best_VAR": "argmax(has_b_VAR ? three_pt2_VAR : -1)",
    "ht_VAR": "Sum(pt_VAR)",
    "mass_VAR": "sqrt((three_energy_VAR**2 - three_pt2_VAR - three_pz_VAR**2)[best_VAR])",
}
WEIGHTS = {
    f"btag_var_{jet}_{name}": {"weight": f"1 {sign} 0.075 * pt_nominal[{jet}] / 50"}
    for jet in range(4)
    for name, sign in (("up", "+"), ("down", "-"))
} | {"scale_var_up": {"weight": "1.025"}, "scale_var_down": {"weight": "0.975"}}


def analyse(samples: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return of each region the histograms by sample, whose first axis is of variations, scaled to the luminosity."""
    define = {
        name.replace("VAR", varied): text.replace("VAR", varied).replace("SCALE", scale)
        for varied, scale in SCALES.items()
        for name, text in JETS.items()
    }
    wanted = {}
    for region, observable in (("4j1b", "ht"), ("4j2b", "mass")):
        varied = {name: {"x": f"{observable}_{name}", "where": f"in_{region}_{name}"} for name in SCALES}
        nominal = varied.pop("nominal")
        wanted[region] = ar.Hist(BINS, weight="1", **nominal, variations=varied | WEIGHTS)
    scan = ar.scan(samples, "Events", filter=ONE_LEPTON, define=define)
    made = scan.hist(wanted, by_sample=True)
    weights = {
        sample: LUMINOSITY * known["cross_section"] / known["n_events"]
        for sample, known in scan.samples.items()
    }
    return {
        region: {sample: filled[sample, ...] * weight for sample, weight in weights.items()}
        for region, filled in made.items()
    }
