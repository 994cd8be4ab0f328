"""Histograms whose axes have labels, and what ROOT finds in their sums: run in ROOT's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

N_INPUTS = 3


def _titled(name: str, *axes: str, n_bins: int = 2) -> Any:
    """Return a histogram whose axes have a bin for each letter, or two without labels."""
    sizes = [max(len(labels), n_bins) for labels in axes]
    made = getattr(ROOT, name)("h", "", *(part for size in sizes for part in (size, 0, size)))
    for labels, axis in zip(axes, (made.GetXaxis(), made.GetYaxis(), made.GetZaxis()), strict=False):
        for number, label in enumerate(labels):
            axis.SetBinLabel(number + 1, label)
    return made


def _filled(made: Any, *fills: tuple[Any, ...]) -> Any:
    for fill in fills:
        made.Fill(*fill)
    return made


def _by_name(name: str, texts: tuple[str, ...], n_bins: int = 2) -> list[Any]:
    """Return histograms of which every letter is a fill."""
    more = (2.0,) if name == "TProfile" else ()
    made = [getattr(ROOT, name)("h", "", n_bins, 0, n_bins) for _ in texts]
    return [
        _filled(one, *((letter, *more, 1.0) for letter in text))
        for one, text in zip(made, texts, strict=True)
    ]


def _all_bins(*texts: str, name: str = "TH1D") -> list[Any]:
    """Return histograms whose bins all have labels: the bin of number k has k fills."""
    made = [_titled(name, text, n_bins=1) for text in texts]
    return [
        _filled(one, *((k + 0.5,) for k in range(len(text)) for _ in range(k + 1)))
        for one, text in zip(made, texts, strict=True)
    ]


def _weighted(number: int) -> list[Any]:
    made = _by_name("TH1F", ("ab", "bcd", "ea"))
    made[number].Sumw2()
    made[number].Fill("f", 3.0)
    return made


def _squares(name: str, *axes: tuple[str, ...]) -> list[Any]:
    """Return histograms of two or three axes: the diagonal, and what lies below and above an axis without labels."""
    made = []
    for number, labels in enumerate(axes):
        one = _titled(name, *labels)
        more = (number + 1.0,) if name.startswith("TProfile") else ()
        for k in range(2):
            _filled(one, *((k + 0.5, *([q + 0.5] * (len(labels) - 1)), *more) for q in range(k, 2)))
        if not labels[-1]:
            _filled(
                one,
                (0.5, *([0.5] * (len(labels) - 2)), -1.0, *more),
                (1.5, *([0.5] * (len(labels) - 2)), 9.0, *more),
            )
        made.append(one)
    return made


def _empty_and(*made: Any) -> list[Any]:
    return [_titled("TH1D", ""), *made]


def _beyond() -> list[Any]:
    return [_filled(one, (-1.0,), (7.0, 2.0)) for one in _all_bins("ab", "ba", "ba")]


#: Sums that are those of hadd.
SUMS: dict[str, Callable[[], list[Any]]] = {
    "fills": lambda: _by_name("TH1D", ("ab", "bcc", "daa")),
    "integers": lambda: _by_name("TH1I", ("ab", "bcc", "daa")),
    "bytes": lambda: _by_name("TH1C", ("a", "b" * 100, "b" * 100)),
    "many": lambda: _by_name("TH1F", ("abcdefgh", "ijklmnopqrstu", "zyxwvutsrqa"), n_bins=3),
    "more bins": lambda: _by_name("TH1D", ("a", "zbcce", "x"), n_bins=4),
    "same labels": lambda: _all_bins("ab", "ab", "ab"),
    "another order": lambda: _all_bins("abc", "cab", "bca"),
    "longer": lambda: _all_bins("ab", "bac", "xyz"),
    "longer, then doubled": lambda: _all_bins("ab", "xy", "abc"),
    "shorter": lambda: _all_bins("abcd", "b", "xd"),
    "a label without fills": lambda: [
        _titled("TH1D", "ab"),
        _filled(_titled("TH1D", "cd"), (1.5,)),
        _filled(_titled("TH1D", "ec"), (0.5,)),
    ],
    "no fills": lambda: [_titled("TH1D", "ab"), _titled("TH1D", "cd"), _titled("TH1D", "")],
    "no fills, longer": lambda: [_titled("TH1D", ""), _titled("TH1D", "abc"), _titled("TH1D", "ab")],
    "no fills, then some": lambda: [*_empty_and(_titled("TH1D", "abc")), *_all_bins("xa")],
    "first without labels": lambda: _empty_and(*_all_bins("abc", "cd")),
    "second without labels": lambda: [*_all_bins("ab"), *_empty_and(), *_all_bins("bc")],
    "beyond the bins": _beyond,
    **{f"sums of squares of {number}": lambda number=number: _weighted(number) for number in range(N_INPUTS)},
    "both axes": lambda: _squares("TH2D", ("ab", "uv"), ("bc", "vw"), ("da", "wu")),
    "first axis": lambda: _squares("TH2F", ("ab", ""), ("bc", ""), ("da", "")),
    "second axis": lambda: _squares("TH2I", ("", "uv"), ("", "vw"), ("", "xu")),
    "first of three": lambda: _squares("TH3D", ("ab", "", ""), ("bc", "", ""), ("da", "", "")),
    "two of three": lambda: _squares("TH3F", ("ab", "uv", ""), ("bc", "wv", ""), ("da", "xy", "")),
    "profile": lambda: _by_name("TProfile", ("ab", "bcc", "daa")),
    "profile of two": lambda: _squares("TProfile2D", ("ab", ""), ("bc", ""), ("da", "")),
    "profile of three": lambda: _squares("TProfile3D", ("ab", "uv", ""), ("bc", "vw", ""), ("da", "wx", "")),
    "long labels": lambda: [
        _filled(ROOT.TH1D("h", "", 1, 0, 1), (f"{text} {'x' * 300}", 1.0)) for text in ("a", "é", "")
    ],
}


def _extendable(made: Any, can_extend: bool) -> Any:
    made.GetXaxis().SetCanExtend(can_extend)
    return made


def _with_function(made: list[Any]) -> list[Any]:
    function = ROOT.TF1("f", "pol0", 0, 2)
    ROOT.SetOwnership(function, False)
    made[0].GetListOfFunctions().Add(function)
    return made


def _moved(made: list[Any], *axis: float) -> list[Any]:
    made[1].GetXaxis().Set(*axis)
    return made


#: Sums that are refused, and why.
REFUSED: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "labels of some bins": (
        lambda: [_filled(_titled("TH1D", text, n_bins=3), (0.5,), (2.5,)) for text in ("ab", "bc", "a")],
        r"it cannot be extended \(TAxis::SetCanExtend\)",
    ),
    "not extended": (
        lambda: [_extendable(one, can_extend=k != 1) for k, one in enumerate(_all_bins("ab", "ba", "ab"))],
        "it cannot be extended",
    ),
    "none in one": (
        lambda: [*_all_bins("ab"), _filled(_titled("TH1D", ""), (0.5,)), *_all_bins("ab")],
        "labels in some inputs only",
    ),
    "wider": (lambda: _moved(_all_bins("ab", "bc", "ca"), 2, 0, 10), "bins of another width"),
    "elsewhere": (lambda: _moved(_all_bins("ab", "bc", "ca"), 2, 1, 3), "from another place on"),
    "fills beyond": (
        lambda: [_filled(one, (7.0,)) for one in _all_bins("ab", "bc", "ca")],
        "fills below or above them, which ROOT loses",
    ),
    "of the last of three": (
        lambda: _squares("TH3D", ("ab", "", "uv"), ("ab", "", "vw"), ("ab", "", "uv")),
        "fZaxis: .*ROOT takes those of the Y axis",
    ),
    "a fill without label": (
        lambda: [
            _extendable(_filled(_titled("TH1D", text, n_bins=4), (k + 0.5,)), can_extend=True)
            for text, k in (("ab", 0), ("ba", 3), ("ab", 0))
        ],
        "fills in a bin without one",
    ),
    "functions": (lambda: _with_function(_all_bins("ab", "bc", "ca")), "it has functions"),
}


def make() -> None:
    """Write ``l0.root`` to ``l2.root``."""
    write({**SUMS, **{name: made for name, (made, _) in REFUSED.items()}})


def write(cases: dict[str, Callable[[], list[Any]]], begin: str = "l") -> None:
    """Write the histograms of each case, one to each of three files: ``l0.root`` and so on, behind ``begin``."""
    ROOT.TH1.AddDirectory(False)
    files = [ROOT.TFile(f"{begin}{number}.root", "RECREATE") for number in range(N_INPUTS)]
    for name, made in cases.items():
        for file, one in zip(files, made(), strict=True):
            file.WriteTObject(one, name)
    for file in files:
        file.Close()


def found(path: str) -> dict[str, Any]:
    """Return numbers, axes and labels of each sum."""
    file = ROOT.TFile(path)
    return {name: found_of(file.Get(name)) for name in SUMS}


def found_of(one: Any) -> dict[str, Any]:
    """Return numbers, axes and labels of a histogram."""
    statistics = ROOT.std.vector("double")(13)
    one.GetStats(statistics.data())
    cells = range(one.GetNcells())
    axes = (one.GetXaxis(), one.GetYaxis(), one.GetZaxis())[: one.GetDimension()]
    profile = (
        [[one.GetBinEntries(k), one.GetBinSumw2().At(k) if one.GetBinSumw2().fN else None] for k in cells]
        if "Profile" in one.ClassName()
        else None
    )
    return {
        "class": one.ClassName(),
        "contents": [one.GetBinContent(k) for k in cells],
        "errors": [one.GetBinError(k) for k in cells],
        "squares": one.GetSumw2N(),
        "profile": profile,
        "entries": one.GetEntries(),
        "statistics": list(statistics),
        "axes": [
            [axis.GetNbins(), axis.GetXmin(), axis.GetXmax(), axis.CanExtend(), axis.IsAlphanumeric()]
            for axis in axes
        ],
        "labels": [
            [(str(label.GetName()), label.GetUniqueID()) for label in axis.GetLabels() or ()] for axis in axes
        ],
    }


def filled_again(path: str) -> list[tuple[str, float]]:
    """Fill another label into a sum, and return its labels and contents."""
    ROOT.TH1.AddDirectory(False)
    one = ROOT.TFile(path).Get("fills")
    one.Fill("new", 5.0)
    axis = one.GetXaxis()
    return [(str(axis.GetBinLabel(k)), one.GetBinContent(k)) for k in range(1, one.GetNbinsX() + 1)]
