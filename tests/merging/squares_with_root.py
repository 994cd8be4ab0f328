"""Objects of which some inputs have sums of squares of weights, and what ROOT finds in their sums: run in ROOT."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from tests.judge.lazy import ROOT

from .histograms_with_root import _kept, _numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Inputs: fills of weight 1, of others, none, and none with ``Sumw2``.
INPUTS = ("ones", "weights", "nothing", "zeros")


def _filled(one: Any, kind: str) -> Any:
    _kept(one)
    if kind == "zeros" and not one.InheritsFrom("TProfile"):
        one.Sumw2()
    n_axes = one.GetDimension() + one.InheritsFrom("TProfile")
    for number in range(4 if kind in ("ones", "weights") else 0):
        weight = number + 2.0 if kind == "weights" else 1.0
        one.Fill(*(0.2 * number + 0.1 * axis for axis in range(n_axes)), weight)
    return one


def _dense(name: str, kind: str) -> Any:
    made = _kept(
        getattr(ROOT, name)("dense", "", 2, array("i", [2, 3]), *(array("d", x) for x in ([0, 0], [1, 1])))
    )
    if kind in ("weights", "zeros"):
        made.Sumw2()
    for number in range(4 if kind in ("ones", "weights") else 0):
        made.Fill(array("d", [0.2 * number, 0.5]), number + 2.0 if kind == "weights" else 1.0)
    return made


def _list(objects: Iterable[Any], name: str = "TList") -> Any:
    made = _kept(getattr(ROOT, name)())
    for one in objects:
        made.Add(_kept(one))
    return made


def _labelled(kind: str) -> Any:
    made = _filled(ROOT.TH2F("labelled", "", 2, 0, 1, 2, 0, 1), kind)
    for axis in (made.GetXaxis(), made.GetYaxis()):
        for number, label in enumerate(("one", "another")):
            axis.SetBinLabel(number + 1, label)
    return made


def _efficiency(kind: str) -> Any:
    made = _kept(ROOT.TEfficiency("efficiency", "", 2, 0, 1))
    if kind != "ones":
        made.SetBetaBinParameters(1, 2, 3)
    if kind in ("weights", "zeros"):
        made.SetUseWeightedEvents()
    for number in range(4 if kind in ("ones", "weights") else 0):
        fill = (number % 2 == 0, 0.2 * number)
        made.FillWeighted(fill[0], number + 2.0, fill[1]) if kind == "weights" else made.Fill(*fill)
    return made


def make() -> None:
    """Write a file of each of the `INPUTS`."""
    ROOT.TH1.AddDirectory(False)
    for kind in INPUTS:
        file = ROOT.TFile(f"{kind}.root", "RECREATE")

        def histogram(name: str = "TH1F", kind: str = kind) -> Any:
            return _filled(getattr(ROOT, name)(name, "", 3, 0, 1), kind)

        text = ROOT.TObjString(kind)
        nested = [_list([histogram("TH1D")], "THashList"), text, _labelled(kind), histogram("TH1D")]
        parameter = ROOT.TParameter("int")("parameter", len(kind))
        array_of = [histogram("TProfile"), parameter, histogram("TH1I"), histogram("TProfile")]
        held = {
            "two": _list(histogram() for _ in range(2)),
            "nested": _list(nested),
            "array": _list(array_of, "TObjArray"),
            "denses": _list([_dense("THnF", kind), histogram(), _dense("THnS", kind)]),
        }
        for name, one in held.items():
            one.Write(name, ROOT.TObject.kSingleKey)
        stack = _kept(ROOT.THStack("stack", ""))
        for _ in range(2):
            stack.Add(histogram("TH1D"))
        stack.Write()
        _efficiency(kind).Write()
        for name in ("THnD", "THnI"):
            _dense(name, kind).Write(name)
        file.Close()


def make_with_function() -> None:
    """Write ``function.root``: a list as in ``ones.root``, and a function with its first histogram."""
    ROOT.TH1.AddDirectory(False)
    file = ROOT.TFile("function.root", "RECREATE")
    held = [_filled(ROOT.TH1F("TH1F", "", 3, 0, 1), "ones") for _ in range(2)]
    held[0].GetListOfFunctions().Add(_kept(ROOT.TF1("f", "pol0", 0, 1)))
    _list(held).Write("two", ROOT.TObject.kSingleKey)
    file.Close()


def _numbers(one: Any) -> list[Any]:
    _kept(one)
    if one.InheritsFrom("TCollection"):
        return [numbers for held in one for numbers in _numbers(held)]
    if one.InheritsFrom("THStack"):
        return _numbers(one.GetHists())
    if one.InheritsFrom("TEfficiency"):
        histograms = [one.GetPassedHistogram(), one.GetTotalHistogram()]
        return [_numbers_of(held) for held in histograms] + [one.GetWeight(), one.TestBit(1 << 16)]
    if one.InheritsFrom("TH1"):
        return [_numbers_of(one)]
    if one.InheritsFrom("THnBase"):
        bins = range(one.GetNbins())
        sums = [one.GetSumwx(axis) for axis in range(2)] + [one.GetSumwx2(axis) for axis in range(2)]
        contents = [one.GetArray().AtAsDouble(k) for k in bins]
        errors = [one.GetBinError2(k) for k in bins]
        return [contents, errors, one.GetEntries(), one.GetWeightSum(), sums]
    return [one.GetVal()] if one.InheritsFrom("TParameter<int>") else []


def numbers(path: str) -> dict[str, list[Any]]:
    """Return the numbers of each object."""
    ROOT.TH1.AddDirectory(False)
    file = ROOT.TFile(path)
    return {str(key.GetName()): _numbers(key.ReadObj()) for key in file.GetListOfKeys()}


def kept(path: str) -> tuple[str, list[str], dict[str, float]]:
    """Return the text and labels of ``nested``, and the sums of squares of all weights of each ``THn``."""
    file = ROOT.TFile(path)
    nested = _kept(file.Get("nested"))
    labelled = nested[2]
    labels = [str(axis.GetBinLabel(2)) for axis in (labelled.GetXaxis(), labelled.GetYaxis())]
    return str(nested[1].GetString()), labels, {name: file.Get(name).GetSumw2() for name in ("THnD", "THnI")}
