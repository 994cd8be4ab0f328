"""Histograms, profiles and graphs. Source: root-io-spec, 99-appendix/WriterInvariants, sections 4 and 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reading import Findings


def check_histogram(findings: Findings, found: Any, where: str) -> None:
    """A TH1, TH2, TH3 or TProfile in any of their kinds."""
    axes = [found[name] for name in ("fXaxis", "fYaxis", "fZaxis")]
    n_bins = [int(axis["fNbins"]) for axis in axes]
    digits = [int(letter) for letter in found.class_name if letter.isdigit()]
    n_axes = digits[0] if digits and found.class_name.startswith("TH") else 1 + digits[0] - 1 if digits else 1
    n_cells = 1
    for number in range(n_axes):
        n_cells *= n_bins[number] + 2
    findings.equal("histogram-cells", where, "fNcells", found["fNcells"], n_cells)
    findings.equal("histogram-cells", where, "its bins", len(found["values"]), n_cells)
    findings.true("histogram-errors", where, len(found["fSumw2"]["values"]) in (0, n_cells),
                  f"fSumw2 has {len(found['fSumw2']['values'])} values")  # fmt: skip
    for number, axis in enumerate(axes):
        edges = axis["fXbins"]["values"]
        findings.true(
            "histogram-axis",
            where,
            len(edges) in (0, n_bins[number] + 1),
            f"{len(edges)} edges of axis {number}",
        )
        if edges:
            findings.equal(
                "histogram-axis", where, "its edges", (edges[0], edges[-1]), (axis["fXmin"], axis["fXmax"])
            )
        findings.true(
            "histogram-axis", where, number < n_axes or n_bins[number] == 1, f"axis {number} has bins"
        )
    findings.equal(
        "histogram-buffer", where, "fBufferSize", bool(found["fBufferSize"]), bool(found["fBuffer.flag"])
    )
    if "fBinEntries" in found.members:
        findings.equal(
            "profile-entries", where, "values of fBinEntries", len(found["fBinEntries"]["values"]), n_cells
        )
        findings.equal("profile-entries", where, "values of fSumw2", len(found["fSumw2"]["values"]), n_cells)
        findings.true(
            "profile-entries", where, len(found["fBinSumw2"]["values"]) in (0, n_cells), "values of fBinSumw2"
        )


def check_graph(findings: Findings, found: Any, where: str) -> None:
    """A TGraph in any of its kinds."""
    n_points = int(found["fNpoints"])
    for name in ("fX", "fY"):
        findings.equal("graph-points", where, f"values of {name}", len(found[name]), n_points)
        findings.equal(
            "graph-points", where, f"the flag of {name}", bool(found[f"{name}.flag"]), n_points > 0
        )
    low, high = found["fMinimum"], found["fMaximum"]
    findings.true("graph-range", where, low == high == -1111 or low <= high, f"from {low} to {high}")
