"""Jets away from leptons, and pairs of muons, of ATLAS's PHYSLITE: as its compiled examples of RDataFrame find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import arrowroot as ar

if TYPE_CHECKING:
    from pathlib import Path

JETS, MUONS = "AnalysisJetsAuxDyn", "AnalysisMuonsAuxDyn"
#: In MeV, as all energies of the file.
MUON_MASS = 105.6583755


def is_away_from(leptons: str) -> str:
    """Return the condition of each jet that no lepton with more than 10 GeV is near."""
    is_hard = f"{leptons}.pt > 10000"
    etas, phis = (f"per({JETS}.pt, {leptons}.{angle}[{is_hard}])" for angle in ("eta", "phi"))
    return f"all(DeltaR({JETS}.eta, {etas}, {JETS}.phi, {phis}) >= 0.4)"


def analyse(files: list[Path]) -> dict[str, Any]:
    """Return histograms of the jets' summed momentum, and of masses of two muons, in GeV; and the cut flow."""
    one, other = (
        ", ".join(f"{which}({MUONS}.{angle})" for angle in ("pt", "eta", "phi")) + f", {MUON_MASS}"
        for which in ("first", "second")
    )
    define = {
        "is_good": f"{JETS}.pt > 30000 && {is_away_from(MUONS)} && {is_away_from('AnalysisElectronsAuxDyn')}",
        "sum_pt": f"Sum({JETS}.pt[is_good]) / 1000",
        "mass": f"InvariantMasses({one}, {other}) / 1000",
        "is_opposite": f"first({MUONS}.charge) != second({MUONS}.charge)",
    }
    made = ar.scan(files, "CollectionTree", define=define).hist(
        {
            "sum_pt": ar.Hist((100, 15, 200), x="sum_pt", cut="a good one"),
            "mass": ar.Hist((100, 0, 200), x="mass", where="is_opposite"),
        },
        cuts={"a jet": f"len({JETS}.pt) > 0", "a good one": "any(is_good)"},
    )
    return {**made, "cuts": [cut.num_entries for cut in made.cuts]}
