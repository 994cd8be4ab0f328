"""Histograms to merge, hadd, and what ROOT finds in the results: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import Any

from tests.judge.lazy import ROOT

CLASSES = ("TH1C", "TH1S", "TH1I", "TH1F", "TH1D", "TH2F", "TH2D", "TH3D")


def make() -> None:
    """Write ``h0.root`` to ``h2.root``."""
    for number in range(3):
        ROOT.gRandom.SetSeed(number + 1)
        file = ROOT.TFile(f"h{number}.root", "RECREATE")
        file.mkdir("a/b")
        file.cd("a/b")
        for name in CLASSES:
            n_axes = int(name[2])
            axes = [part for axis in range(n_axes) for part in (5 + axis, 0.0, 10.0)]
            made = getattr(ROOT, name)(f"h{name}", f"title {number}", *axes)
            for _ in range(50 + 200 * (name == "TH1C")):
                made.Fill(*(ROOT.gRandom.Uniform(-1, 11) for _ in range(n_axes)))
            made.Write()
        weighted = ROOT.TH1D("weighted", "", 4, 0, 1)
        weighted.Sumw2()
        for _ in range(30):
            weighted.Fill(ROOT.gRandom.Rndm(), ROOT.gRandom.Rndm())
        weighted.Write()
        # The first alone has sums of squares.
        mixed = ROOT.TH1D("mixed", "", 4, 0, 1)
        if number == 0:
            mixed.Sumw2()
        mixed.Fill(0.3, 2.0)
        mixed.Write()
        # Fills with weights give the later ones sums of squares: of bins, and of what is averaged.
        later, averaged = ROOT.TH1F("later", "", 4, 0, 1), ROOT.TProfile("later_averaged", "", 4, 0, 1)
        for _ in range(5):
            later.Fill(ROOT.gRandom.Rndm(), 1.0 + number)
            averaged.Fill(ROOT.gRandom.Rndm(), ROOT.gRandom.Rndm(), 1.0 + number)
        later.Write()
        averaged.Write()
        # The last ones have none again.
        first_weights = ROOT.TProfile("first_weights", "", 4, 0, 1)
        first_weights.Fill(0.3, 2.0, 3.0 - number)
        first_weights.Write()
        for name, axes in (
            ("TProfile", (4, 0.0, 1.0)),
            ("TProfile2D", (4, 0.0, 1.0, 3, 0.0, 1.0)),
        ):
            profile = getattr(ROOT, name)(f"p{name}", "", *axes)
            for _ in range(30):
                profile.Fill(*(ROOT.gRandom.Rndm() for _ in range(int(name == "TProfile2D") + 2)))
            profile.Write()
        edges = ROOT.TH1F("edges", "", 3, array("d", [0, 1, 5, 20]))
        edges.Fill(2)
        edges.Write()
        labelled = ROOT.TH1D("labelled", "", 2, 0, 2)
        for label in ("x", "y"):
            labelled.Fill(label, 1.0)
        labelled.Write()
        for name in ("TGraph", "TGraphErrors", "TGraphAsymmErrors", "TGraphBentErrors"):
            graph = getattr(ROOT, name)()
            for point in range(number):
                graph.SetPoint(point, number, point)
                if name == "TGraphErrors":
                    graph.SetPointError(point, 0.5, number)
            graph.Write(f"g{name}")
        for kind, value in (("int", 3 + number), ("Long64_t", 2**40 + number), ("double", 0.5 + number)):
            ROOT.TParameter(kind)("p", value).Write(f"p{kind}")
        ROOT.TParameter("bool")("p", number == 1).Write("pbool")
        ROOT.TParameter("int")("p", 5).Write("pconstant")
        file.Close()


def make_parameters() -> None:
    """Write ``p0.root`` to ``p2.root`` with parameters of all types that are merged in all manners."""
    for number in range(3):
        file = ROOT.TFile(f"p{number}.root", "RECREATE")
        file.mkdir("d").cd()
        for kind in ("int", "long", "Long64_t", "float", "double", "bool"):
            value = number == 1 if kind == "bool" else (3, -2, 5)[number]
            for name, manner in (("none", ""), *((f"manner{ord(one)}", one) for one in "+*mMfl")):
                ROOT.TParameter(kind)(f"{name}{kind}", value, *manner).Write()
        file.Close()


def parameters(path: str) -> dict[str, Any]:
    """Return the value of each, and if it is the same in all inputs."""
    file = ROOT.TFile(path)
    every = [key.ReadObj() for key in file.Get("d").GetListOfKeys()]
    return {str(one.GetName()): (one.GetVal(), bool(one.TestBit(one.kIsConst))) for one in every}


def numbers(path: str) -> dict[str, Any]:
    """Return contents, errors, entries and statistics of each histogram."""
    file = ROOT.TFile(path)
    directory = file.Get("a/b")
    found = {}
    for key in directory.GetListOfKeys():
        histogram = key.ReadObj()
        name = str(key.GetName())
        if name.startswith("g"):
            found[name] = {
                "points": [
                    [a.GetPointX(k), a.GetPointY(k), a.GetErrorX(k), a.GetErrorY(k)]
                    for a in [histogram]
                    for k in range(a.GetN())
                ]
            }
            continue
        if hasattr(histogram, "GetVal"):
            is_constant = histogram.TestBit(histogram.kIsConst)
            found[name] = {"value": histogram.GetVal(), "is constant": bool(is_constant)}
            continue
        found[name] = _numbers_of(histogram)
    return found


def added(paths: list[str], name: str) -> dict[str, Any]:
    """Return the numbers of a histogram to which those of other files were added."""
    files = [ROOT.TFile(path) for path in paths]
    first, *others = [file.Get(f"a/b/{name}") for file in files]
    for other in others:
        first.Add(other)
    return _numbers_of(first)


#: Objects that hold histograms.
COMPOUNDS = ("list", "array", "nested", "stack", "efficiency", "dense")


def make_compounds() -> None:
    """Write ``c0.root`` to ``c2.root``: histograms in lists and other objects."""
    ROOT.TH1.AddDirectory(False)
    for number in range(3):
        ROOT.gRandom.SetSeed(number + 1)
        file = ROOT.TFile(f"c{number}.root", "RECREATE")
        held = [_filled(ROOT.TH1F("one", "", 5, 0, 5)), _filled(ROOT.TH2D("two", "", 2, 0, 5, 2, 0, 5))]
        held[1].GetXaxis().SetBinLabel(1, "labelled")
        for name, collection in (("list", _kept(ROOT.TList())), ("array", _kept(ROOT.TObjArray()))):
            for histogram in held:
                collection.Add(histogram)
            collection.Write(name, ROOT.TObject.kSingleKey)
        outer, inner, text = map(_kept, (ROOT.TList(), ROOT.THashList(), ROOT.TObjString("the same")))
        inner.Add(held[0])
        outer.Add(inner)
        outer.Add(text)
        outer.Write("nested", ROOT.TObject.kSingleKey)
        texts, text = map(_kept, (ROOT.TList(), ROOT.TObjString("x" * (number + 1))))
        texts.Add(text)
        texts.Write("texts", ROOT.TObject.kSingleKey)
        stack = _kept(ROOT.THStack("stack", ""))
        for name in "ab":
            stack.Add(_filled(ROOT.TH1D(name, "", 3, 0, 5)))
        stack.Write()
        efficiency = ROOT.TEfficiency("efficiency", "", 4, 0, 4)
        for _ in range(20):
            efficiency.Fill(ROOT.gRandom.Rndm() > 0.4, ROOT.gRandom.Uniform(0, 4))
        efficiency.Write()
        edges = [array("d", [0, 0]), array("d", [1, 1])]
        dense = ROOT.THnD("dense", "", 2, array("i", [3, 4]), *edges)
        dense.Sumw2()
        for _ in range(10):
            dense.Fill(array("d", [ROOT.gRandom.Rndm(), ROOT.gRandom.Rndm()]), 0.5)
        dense.Write()
        file.Close()


def make_odd_fills() -> None:
    """Write ``some.root`` and others that are merged to it: fills beyond the axes, fills that cancel, some more."""
    fills = {
        "some": [(0.1, 1.0), (0.2, 1.0), (1.1, 1.0)],
        "more": [(2.9, 1.0)],
        "beyond": [(-5.0, 1.0), (7.0, 1.0)],
        "cancelled": [(1.5, 0.5), (1.5, -0.5)],
    }
    for name, values in fills.items():
        file = ROOT.TFile(f"{name}.root", "RECREATE")
        one, two, three = (
            ROOT.TH1D("one", "", 3, 0, 3),
            ROOT.TH2F("two", "", 3, 0, 3, 2, 0, 2),
            ROOT.TH3D("three", "", 2, 0, 2, 3, 0, 3, 2, 0, 2),
        )
        profile = ROOT.TProfile("profile", "", 3, 0, 3)
        for histogram in (one, two, three):
            histogram.Sumw2()
        for x, weight in values:
            one.Fill(x, weight)
            two.Fill(x, 0.5, weight)
            three.Fill(0.5, x, 0.5, weight)
            if weight == 1:
                profile.Fill(x, 2.0)
        for histogram in (one, two, three, profile):
            histogram.Write()
        in_a_list = ROOT.TList()
        in_a_list.Add(one)
        in_a_list.Write("list", ROOT.TObject.kSingleKey)
        in_a_list.Clear("nodelete")
        file.Close()


def odd_fills(path: str) -> dict[str, Any]:
    """Return the numbers of these histograms."""
    file = ROOT.TFile(path)
    found = {name: _numbers_of(file.Get(name)) for name in ("one", "two", "three", "profile")}
    return found | {"in a list": _numbers_of(_kept(_kept(file.Get("list")).First()))}


def _numbers_of(histogram: Any) -> dict[str, Any]:
    statistics = ROOT.std.vector("double")(13)
    histogram.GetStats(statistics.data())
    bins = range(histogram.GetNcells())
    return {
        "title": str(histogram.GetTitle()),
        "contents": [float(histogram.GetBinContent(k)) for k in bins],
        "errors": [float(histogram.GetBinError(k)) for k in bins],
        "entries": float(histogram.GetEntries()),
        "statistics": [float(one) for one in statistics],
        "mean": float(histogram.GetMean()),
    }


def _kept(one: Any) -> Any:
    # Lists may be there longer than what Python has of their objects.
    ROOT.SetOwnership(one, False)
    return one


def _filled(histogram: Any) -> Any:
    _kept(histogram)
    for _ in range(20):
        histogram.Fill(*(ROOT.gRandom.Uniform(0, 6) for _ in range(histogram.GetDimension())))
    return histogram


def compounds(path: str) -> dict[str, Any]:
    """Return the numbers of the histograms in each object, and those that it has besides."""
    ROOT.TH1.AddDirectory(False)
    file = ROOT.TFile(path)
    found: dict[str, Any] = {}
    for name in COMPOUNDS:
        one = _kept(file.Get(name))
        if name == "efficiency":
            held, more = [one.GetPassedHistogram(), one.GetTotalHistogram()], one.GetWeight()
        elif name == "dense":
            bins = range(one.GetNbins())
            found[name] = [[one.GetArray().AtAsDouble(k), one.GetBinError2(k)] for k in bins] + [
                one.GetEntries()
            ]
            continue
        else:
            held, more = one.GetHists() if name == "stack" else one, None
            held = list(held[0] if name == "nested" else held)
        found[name] = [_numbers_of(histogram) for histogram in held] + [more]
    return found


def make_buffered() -> None:
    """Write ``b0.root``, and ``b1.root`` with fills in a histogram's buffer that are in no bin yet."""
    for number in range(2):
        file = ROOT.TFile(f"b{number}.root", "RECREATE")
        histogram = ROOT.TH1D("h", "", 4, 0, 1)
        histogram.SetBuffer(50)
        if number:
            histogram.Fill(0.5)
        histogram.Write()
        file.Close()


def make_crossing() -> None:
    """Write ``x.root``: ``d/h`` in a directory, and an object whose name is that."""
    file = ROOT.TFile("x.root", "RECREATE")
    histogram = ROOT.TH1D("h", "", 4, 0, 1)
    histogram.SetDirectory(ROOT.nullptr)
    file.mkdir("d").WriteObject(histogram, "h")
    file.WriteTObject(histogram, "d/h")
    file.Close()


def make_other_list() -> None:
    """Write ``other.root`` with a list of one histogram, and ``trees.root`` with a list of a tree."""
    file = ROOT.TFile("other.root", "RECREATE")
    held, histogram = _kept(ROOT.TList()), _filled(ROOT.TH1F("one", "", 5, 0, 5))
    held.Add(histogram)
    held.Write("list", ROOT.TObject.kSingleKey)
    file.Close()
    file = ROOT.TFile("trees.root", "RECREATE")
    held, tree = map(_kept, (ROOT.TList(), ROOT.TTree("t", "")))
    tree.SetDirectory(ROOT.nullptr)
    held.Add(tree)
    held.Write("trees", ROOT.TObject.kSingleKey)
    file.Close()


#: Graphs whose axes were asked for, by name.
GRAPHS = ("titles", "maximum", "labels", "without", "empty", "errors")


def make_graphs() -> None:
    """Write ``g0.root`` to ``g2.root``: graphs that keep titles, limits and labels of their axes."""
    for number in range(3):
        file = ROOT.TFile(f"g{number}.root", "RECREATE")
        graphs = {name: ROOT.TGraph(3) for name in GRAPHS[:-2]}
        graphs |= {"empty": ROOT.TGraph(3 if number else 0), "errors": ROOT.TGraphErrors(3)}
        for name, graph in graphs.items():
            for point in range(graph.GetN()):
                graph.SetPoint(point, 10 * number + point, number * point)
            if name == "errors":
                graph.SetPointError(1, 0.5, number)
            graph.SetTitle(f"title {number};x;y")
            if name != "without" or number:
                graph.GetXaxis().SetTitle(f"x {number}")
            if name == "maximum":
                graph.SetMaximum(5.0 + number)
                graph.SetMinimum(-5.0 - number)
            if name == "labels":
                graph.GetXaxis().SetBinLabel(1, "one")
                graph.GetXaxis().SetBinLabel(2, "another")
            graph.Write(name)
        file.Close()


def graphs(path: str) -> dict[str, Any]:
    """Return points, and what is seen of the axes, of each graph."""
    file = ROOT.TFile(path)
    found = {}
    for name in GRAPHS:
        graph = file.Get(name)
        points = [
            [graph.GetPointX(k), graph.GetPointY(k), graph.GetErrorX(k), graph.GetErrorY(k)]
            for k in range(graph.GetN())
        ]
        bits = [graph.TestBit(1 << bit) for bit in range(14, 24)]
        limits, title = [graph.GetMinimum(), graph.GetMaximum()], str(graph.GetTitle())
        axes = [graph.GetXaxis(), graph.GetYaxis()]
        seen = [(str(axis.GetTitle()), axis.GetXmin(), axis.GetXmax(), axis.GetNbins()) for axis in axes]
        found[name] = [points, bits, limits, title, seen, str(axes[0].GetBinLabel(1))]
    return found
