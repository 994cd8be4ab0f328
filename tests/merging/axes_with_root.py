"""Histograms of other ranges and widths of bins, and what ROOT finds in their sums: run in ROOT's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.judge.lazy import ROOT
from tests.merging import labels_with_root

if TYPE_CHECKING:
    from collections.abc import Callable

N_INPUTS = 3


def _filled(name: str, *axes: tuple[Any, ...], beyond: tuple[int, ...] = ()) -> list[Any]:
    """Return a histogram for each group of axes, (bins, first, last), with fills; some have some beyond them."""
    made = []
    for number, group in enumerate(axes):
        one = getattr(ROOT, name)("h", "", *(part for axis in group for part in axis))
        more = (number + 1.5,) if name.startswith("TProfile") else ()
        for k in range(40):
            part = (k * 7 + number) % 40 / 40
            place = [low + (high - low) * part for _, low, high in group]
            one.Fill(*place, *more, 1.0 + k % 3)
        for k in (-1, 1) if number in beyond else ():
            one.Fill(*(high + 5 if k > 0 else low - 5 for _, low, high in group), *more)
        made.append(one)
    return made


def _of_one(name: str, *axes: tuple[Any, ...], beyond: tuple[int, ...] = ()) -> list[Any]:
    return _filled(name, *((axis,) for axis in axes), beyond=beyond)


def _with_fill(made: Any, x: float) -> Any:
    made.Fill(x)
    return made


def _with_squares(number: int) -> list[Any]:
    made = _of_one("TH1F", (10, 0, 10), (5, 5, 10), (20, 0, 20))
    made[number].Sumw2()
    return made


def _in_part(made: list[Any]) -> list[Any]:
    made[0].GetXaxis().SetRange(2, 3)
    made[0].ResetStats()
    return made


def _of_edges(name: str) -> list[Any]:
    """Return histograms whose first axis has the same edges in all, and the second other ranges."""
    edges = ROOT.std.vector("double")([0.0, 1.0, 3.0, 7.0])
    made = [getattr(ROOT, name)("h", "", 3, edges.data(), n, 0, n) for n in (4, 8, 6)]
    for one in made:
        more = (2.0,) if name.startswith("TProfile") else ()
        for x, y in ((0.5, 0.5), (2.0, 3.5), (6.5, 1.5), (-1.0, 1.0), (9.0, 2.0)):
            one.Fill(x, y, *more)
    return made


def _of_equal_edges(*numbers: int) -> list[Any]:
    """Return histograms of the same bins: of one width, by edges, by edges that differ by a little."""
    edges = [ROOT.std.vector("double")([0.0, 1.0 + little, 2.0, 3.0]) for little in (0.0, 1e-13)]
    made = [ROOT.TH1D("h", "", 3, 0, 3), *(ROOT.TH1D("h", "", 3, one.data()) for one in edges)]
    for number, one in enumerate(made):
        for x in (0.5, 1.5, 1.5, 2.5, -1.0, 9.0)[number:]:
            one.Fill(x)
    return [made[number] for number in numbers]


def _labelled(made: list[Any]) -> list[Any]:
    for one in made:
        for k in range(one.GetNbinsX()):
            one.GetXaxis().SetBinLabel(k + 1, f"l{k}")
    return made


#: Sums that are those of hadd.
SUMS: dict[str, Callable[[], list[Any]]] = {
    **{f"longer {name}": lambda name=name: _of_one(name, (10, 0, 10), (20, 0, 20), (15, 0, 15))
       for name in ("TH1C", "TH1S", "TH1I", "TH1L", "TH1F", "TH1D", "TProfile")},
    "below": lambda: _of_one("TH1D", (10, 0, 10), (10, -5, 5), (20, -10, 10)),
    "apart": lambda: _of_one("TH1D", (10, 0, 10), (10, 20, 30), (5, -20, -15)),
    "inside": lambda: _of_one("TH1D", (30, -1, 2), (10, 0, 1), (20, 0, 2)),
    "tenths": lambda: _of_one("TH1D", (10, 0, 1), (7, 0.3, 1.0), (25, -0.7, 1.8)),
    "wider": lambda: _of_one("TH1D", (10, 0, 10), (5, 0, 10), (20, 0, 20)),
    "wider, then below": lambda: _of_one("TH1D", (5, 0, 10), (6, -1, 5), (4, 12, 16)),
    "narrow, then wide": lambda: _of_one("TH1D", (6, -1, 5), (5, 0, 10), (3, -6, 6)),
    "equal but for a little": lambda: _of_one(
        "TH1D", (10, 0, 1), (10, 1e-13, 1), (10, 0, 1 + 1e-13), beyond=(0, 1, 2)
    ),
    "fills beyond an end of all": lambda: [
        _with_fill(one, 99.0) for one in _of_one("TH1D", (10, 0, 10), (15, -5, 10), (20, -10, 10))
    ],
    "in part": lambda: _in_part(_of_one("TH1D", (10, 0, 10), (20, 0, 20), (20, 0, 20))),
    "first empty": lambda: [ROOT.TH1D("h", "", 10, 0, 10), *_of_one("TH1D", (20, 0, 20), (5, -5, 0))],
    "second empty": lambda: [
        *_of_one("TH1D", (10, 0, 10)), ROOT.TH1D("h", "", 30, 0, 30), *_of_one("TH1D", (20, 0, 20))
    ],
    **{f"sums of squares of {number}": lambda number=number: _with_squares(number) for number in range(N_INPUTS)},
    "first of two": lambda: _filled("TH2D", *(((n, 0, n), (5, 0, 1)) for n in (4, 8, 6))),
    "second of two": lambda: _filled("TH2F", *(((5, 0, 1), (n, -n, n)) for n in (4, 8, 6))),
    "both": lambda: _filled("TH2I", ((4, 0, 4), (2, 0, 2)), ((2, 4, 6), (4, 0, 4)), ((3, 0, 6), (6, -2, 4))),
    "edges": lambda: _of_edges("TH2D"),
    **{f"equal edges {order}": lambda order=order: _of_equal_edges(*order)
       for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0))},
    "edges of a profile": lambda: _of_edges("TProfile2D"),
    "three": lambda: _filled("TH3F", *(((n, 0, n), (3, 0, 3), (2 * n, -n, n)) for n in (2, 4, 3))),
    "labels beside": lambda: _labelled(_filled("TH2D", *(((2, 0, 2), (n, 0, n)) for n in (3, 4, 3)))),
    "profile": lambda: _of_one("TProfile", (10, 0, 10), (5, 0, 10), (20, -10, 10)),
    "profile of two": lambda: _filled("TProfile2D", *(((n, 0, n), (3, 0, 3)) for n in (2, 4, 3))),
    "profile of three": lambda: _filled("TProfile3D", *(((n, 0, n), (3, 0, 3), (2, 0, 2)) for n in (2, 4, 3))),
}  # fmt: skip


def _to_extend(made: Any) -> Any:
    made.SetCanExtend(ROOT.TH1.kAllAxes)
    return made


def _autobinned() -> list[Any]:
    made = _of_one("TH1D", (4, 0, 8), (4, 0, 4), (4, 0, 8))
    for one in made:
        one.SetBit(ROOT.TH1.kAutoBinPTwo)
    return made


def _variable(*edges: list[float]) -> list[Any]:
    made = []
    for some in edges:
        stored = ROOT.std.vector("double")(some)
        made.append(_with_fill(ROOT.TH1D("h", "", len(some) - 1, stored.data()), 0.5))
    return made


def _extendable(made: list[Any]) -> list[Any]:
    for one in made:
        one.GetXaxis().SetCanExtend(True)
        one.SetBinContent(0, 1.0)
    return made


#: Sums that are refused, and why.
REFUSED: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "cut bins": (lambda: _of_one("TH1D", (10, 0, 10), (10, 0.5, 10.5), (10, 0, 10)), "fXaxis: its bins do not lie"),
    "other widths": (lambda: _of_one("TH1D", (10, 0, 10), (10, 0, 15), (10, 0, 10)), "fXaxis: its bins do not lie"),
    "of the second": (
        lambda: _filled("TH2D", *(((5, 0, 5), (3, 0, n)) for n in (3, 4, 3))), "fYaxis: its bins do not lie"
    ),
    "fills beyond of the first": (
        lambda: _of_one("TH1D", (10, 0, 10), (20, 0, 20), (10, 0, 10), beyond=(0,)), "fXaxis: fills below or above it"
    ),
    "fills beyond of the second": (
        lambda: _of_one("TProfile", (10, 0, 10), (5, 5, 10), (10, 0, 10), beyond=(1,)), "fXaxis: fills below or above"
    ),
    "extendable": (lambda: _extendable(_of_one("TH1D", (10, 0, 10), (20, 0, 20), (9, 0, 9))), "fXaxis: fills below"),
    "edges": (lambda: _variable([0, 1, 3], [0, 2, 3], [0, 1, 3]), "fXaxis: its bins do not lie"),
    "autobinned": (_autobinned, "kAutoBinPTwo"),
    "labels beside, all to extend": (
        lambda: [
            _to_extend(one) for one in _labelled(_filled("TH2D", *(((2, 0, 2), (n, 0, n)) for n in (3, 4, 3))))
        ],
        "fXaxis: it has labels",
    ),
}  # fmt: skip


def make() -> None:
    """Write ``l0.root`` to ``l2.root``, and what is refused to ``no0.root`` to ``no2.root``."""
    labels_with_root.write(SUMS)
    labels_with_root.write({name: made for name, (made, _) in REFUSED.items()}, "no")


def found(path: str) -> dict[str, Any]:
    """Return numbers and axes of each sum."""
    file = ROOT.TFile(path)
    return {name: labels_with_root.found_of(file.Get(name)) for name in SUMS}
