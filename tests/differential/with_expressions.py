"""What ROOT makes of expressions: run in ROOT's process."""

from __future__ import annotations

import random
import re
from typing import Any

from tests.differential import drawn_texts, with_selections
from tests.judge import macros
from tests.judge.filled import bins
from tests.judge.lazy import ROOT

N_RANDOM = 400
SEED = 20261129

_PARTICLE = ("abs(d)", "a", "d", "a")
#: Values in C++ for RDataFrame, and in our grammar. Its lists have two items at least.
VALUES = [
    ("DeltaPhi(d[0] * 2, d[1] * 2)", "DeltaPhi(d[0] * 2, d[1] * 2)"),
    ("DeltaR(a[0], a[1], d[0], d[1])", "DeltaR(a[0], a[1], d[0], d[1])"),
    ("InvariantMass(abs(d), a, d, abs(a))", "InvariantMass(abs(d), a, d, abs(a))"),
    (
        f"InvariantMasses({', '.join(f'Take({one}, pairs[{k}])' for k in (0, 1) for one in _PARTICLE)})",
        f"InvariantMasses({', '.join(f'{k}({one})' for k in ('first', 'second') for one in _PARTICLE)})",
    ),
    ("Take(d, both[0]) - Take(a, both[1])", "first(d, a) - second(d, a)"),
    ("ArgMax(d) * 10 + ArgMin(d)", "ArgMax(d) * 10 + ArgMin(d)"),
    ("Take(d, Argsort(a))", "Take(d, Argsort(a))"),
    ("Reverse(Sort(d))", "Reverse(Sort(d))"),
    ("Concatenate(Take(d, 2), Take(a, -2))", "Concatenate(Take(d, 2), Take(a, -2))"),
    ("Sum(d) + Mean(d) + Product(d)", "Sum(d) + Mean(d) + Product(d)"),
    ("d[d > 0 && a < 1]", "d[d > 0 && a < 1]"),
    ("Where(d > 0, a, -a)", "Where(d > 0, a, -a)"),
    (
        "Max(d) - Min(d) + std::pow(x, 2) + TMath::Sqrt(y)",
        "Max(d) - Min(d) + std::pow(x, 2) + TMath::Sqrt(y)",
    ),
]
LISTED = """
#include <ROOT/RVec.hxx>
namespace expressions {
template <typename T> ROOT::RVecD listed(const ROOT::RVec<T> &found) { return ROOT::RVecD(found.begin(), found.end()); }
inline ROOT::RVecD listed(double found) { return {found}; }
}
"""


def write() -> dict[str, Any]:
    """Write ``selections.root``, as ``with_selections`` does.

    Returns: the entries that TTree::Draw selects by each text, and by random ones; values and histograms of RDataFrame.
    """
    macros.declare(with_selections.WRITE)
    macros.declare(LISTED)
    ROOT.selections.write("selections.root", with_selections.N_ENTRIES)
    file = ROOT.TFile.Open("selections.root")
    tree = file.Get("T")
    rng = random.Random(SEED)
    texts = []
    while len(texts) < N_RANDOM:
        text = drawn_texts.random_condition(rng, 2)
        if re.search(r"\b([ijusxynvwb]|fixed)\b", text):  # without a column it is no condition on entries
            texts.append(text)
    frame = (
        ROOT.RDataFrame(tree)
        .Filter("n >= 2")
        .Define("d", "ROOT::RVecD(v.begin(), v.end())")
        .Define("a", "sin(d)")
    )
    values = []
    for theirs, _ in VALUES:
        defined = frame.Define("found", _returning(theirs))
        values.append([[float(one) for one in found] for found in defined.Take["ROOT::RVecD"]("found")])
    return {
        "drawn": [[text, _drawn(tree, text)] for text in drawn_texts.TEXTS],
        "random": [[text, _drawn(tree, text)] for text in texts],
        "values": values,
        "histograms": _histograms(tree),
    }


def _histograms(tree: Any) -> dict[str, list[list[float]]]:
    """Return the contents and errors, bins beyond the ends included, of histograms that RDataFrame fills."""
    frame = ROOT.RDataFrame(tree)
    cut = frame.Filter("n >= 2").Define("p", "x * y")
    up = cut.Define("w2", "1.1 * y")
    made = {
        "x": frame.Histo1D(("", "", 20, -3.0, 3.0), "x"),
        "list": frame.Histo1D(("", "", 10, -5.0, 5.0), "v"),
        "weighted": frame.Histo1D(("", "", 10, -5.0, 5.0), "v", "y"),
        "cut": cut.Histo1D(("", "", 10, -5.0, 5.0), "p", "y"),
        "up": up.Histo1D(("", "", 10, -5.0, 5.0), "p", "w2"),
        "plane": frame.Histo2D(("", "", 4, -2.0, 2.0, 3, 0.0, 6.0), "x", "y", "u"),
        "profile": frame.Profile1D(("", "", 20, -3.0, 3.0), "x", "y"),
        # Sums of weights become 0 on the way.
        "profile with signs": frame.Define("sign", "n % 2 ? 1. : n > 2 ? -1. : 0.").Profile1D(
            ("", "", 10, -5.0, 5.0), "v", "y", "sign"
        ),
        "profile plane": cut.Profile2D(("", "", 4, -2.0, 2.0, 3, 0.0, 6.0), "x", "y", "p"),
    }
    return {name: bins(found) for name, found in made.items()}


def _returning(theirs: str) -> str:
    return (
        "using namespace ROOT::VecOps; auto pairs = Combinations(d, 2); auto both = Combinations(d, a);"
        f" return expressions::listed({theirs});"
    )


def _drawn(tree: Any, text: str) -> list[int]:
    return [int(entry) for entry in ROOT.selections.drawn(tree, text)]
