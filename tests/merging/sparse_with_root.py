"""Histograms that store their filled bins alone, and what ROOT finds in their sums: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

N_INPUTS = 3


def _made(
    name: str = "THnSparseD", n_axes: int = 2, n_bins: int = 10, *, chunk: int = 4, squares: bool = False
) -> Any:
    one = getattr(ROOT, name)(
        "h",
        "",
        n_axes,
        array("i", [n_bins] * n_axes),
        array("d", [0.0] * n_axes),
        array("d", [10.0] * n_axes),
        chunk,
    )
    if squares:
        one.Sumw2()
    return one


def make_one(chunk: int) -> None:
    """Write ``one.root``, uncompressed: a histogram with chunks of so many bins."""
    file = ROOT.TFile("one.root", "RECREATE", "", 0)
    _filled(_made(chunk=chunk), 0).Write()
    file.Close()


def _filled(made: Any, number: int, n_fills: int = 40) -> Any:
    n_axes = made.GetNdimensions()
    for k in range(n_fills):
        place = [(k * (3 + axis) + number * 5) % 27 / 2 - 1.25 for axis in range(n_axes)]
        made.Fill(array("d", place), 1.0 + (k + number) % 3)
    return made


def _three(*arguments: Any, **options: Any) -> list[Any]:
    return [_filled(_made(*arguments, **options), number) for number in range(N_INPUTS)]


#: Sums that are those of hadd.
SUMS: dict[str, Callable[[], list[Any]]] = {
    **{name: lambda name=name: _three(name) for name in
       ("THnSparseD", "THnSparseF", "THnSparseL", "THnSparseI", "THnSparseS", "THnSparseC")},
    "squares": lambda: _three(squares=True),
    "squares of floats": lambda: _three("THnSparseF", 3, squares=True),
    "one chunk": lambda: _three(chunk=16384),
    "many axes": lambda: _three("THnSparseD", 20, 1000),
    "one axis": lambda: _three("THnSparseD", 1, 500),
    "first empty": lambda: [_made(), *_three()[:2]],
    "second empty": lambda: [_filled(_made(), 0), _made(), _filled(_made(), 2)],
    "all empty": lambda: [_made(), _made(), _made()],
    **{f"errors in {which}": lambda which=which, name=name: [
        _filled(_made(name, squares=k in which), k) for k in range(N_INPUTS)]
       for which, name in (((0,), "THnSparseD"), ((1,), "THnSparseI"), ((2,), "THnSparseF"), ((0, 2), "THnSparseC"))},
    "the same bins": lambda: [_filled(_made(), 1) for _ in range(N_INPUTS)],
}  # fmt: skip

#: Sums that are refused, and why.
REFUSED: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "other axes": (lambda: [_filled(_made(n_bins=n), 0) for n in (10, 20, 10)], "fAxes.*differs"),
    "more axes": (lambda: [_filled(_made(n_axes=n), 0) for n in (2, 3, 2)], "fNdimensions differs"),
}


def make() -> None:
    """Write ``s0.root`` to ``s2.root``, and what is refused to ``no0.root`` to ``no2.root``."""
    for begin, cases in (("s", SUMS), ("no", {name: made for name, (made, _) in REFUSED.items()})):
        files = [ROOT.TFile(f"{begin}{number}.root", "RECREATE") for number in range(N_INPUTS)]
        for name, made in cases.items():
            for file, one in zip(files, made(), strict=True):
                file.WriteTObject(one, name)
        for file in files:
            file.Close()


def found(path: str, fills: bool = False) -> dict[str, Any]:
    """Return numbers and bins of each sum. ``fills``: of more fills, too."""
    file = ROOT.TFile(path)
    return {name: _found_of(_filled(file.Get(name), 9) if fills else file.Get(name)) for name in SUMS}


def _found_of(one: Any) -> dict[str, Any]:
    n_axes = one.GetNdimensions()
    bins = {}
    for number in range(one.GetNbins()):
        place = array("i", [0] * n_axes)
        content = one.GetBinContent(number, place)
        bins[tuple(place)] = (content, one.GetBinError2(number))
    return {
        "class": one.ClassName(),
        "bins": bins,
        "n": one.GetNbins(),
        "entries": one.GetEntries(),
        "errors": one.GetCalculateErrors(),
        "sums": [
            one.GetSumw(),
            one.GetSumw2(),
            *map(one.GetSumwx, range(n_axes)),
            *map(one.GetSumwx2, range(n_axes)),
        ],
        "chunks": one.GetNChunks(),
    }
