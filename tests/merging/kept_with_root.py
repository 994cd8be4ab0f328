"""Objects and directories that are kept, or refused, and what ROOT finds in the output: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import Any

from tests.judge.lazy import ROOT

#: Names that are no path in ROOT: keys have them nevertheless.
NAMES = ("pt/GeV", "pt;GeV", "", "*?[x]", "a/b/c;1")


def make_names() -> None:
    """Write ``n0.root`` and ``n1.root``: directories with titles, and objects of odd names in them."""
    for number in range(2):
        file = ROOT.TFile(f"n{number}.root", "RECREATE")
        for directory in (file, file.mkdir("d", f"title {number}"), file.mkdir("d/inside", "its own")):
            for name in NAMES:
                histogram = ROOT.TH1D(name, "", 2, 0, 2)
                histogram.SetDirectory(ROOT.nullptr)
                histogram.Fill(0.5, 1.0 + number)
                directory.WriteTObject(histogram)
            directory.cd()
            tree = ROOT.TTree("t/u", "")
            value = array("i", [number])
            tree.Branch("x", value, "x/I")
            tree.Fill()
            tree.Write()
        file.Close()


def names(path: str) -> dict[str, Any]:
    """Return title, names, contents and entries of each directory."""
    file = ROOT.TFile(path)
    found: dict[str, Any] = {}
    for place in ("", "d", "d/inside"):
        directory = file.Get(place) if place else file
        keys = [key for key in directory.GetListOfKeys() if key.GetClassName() != "TDirectoryFile"]
        every = [(str(key.GetName()), key.ReadObj()) for key in keys]
        values = {
            name: one.GetEntries() if one.InheritsFrom("TTree") else one.GetBinContent(1)
            for name, one in every
        }
        found[place] = [str(directory.GetTitle()) if place else "", values]
    return found


#: Objects of which each input has a part.
PARTS = ("events", "list", "statistic", "polar", "clones", "sorted", "files")


def make_parts() -> None:
    """Write ``part0.root`` and ``part1.root``."""
    for number in range(2):
        file = ROOT.TFile(f"part{number}.root", "RECREATE")
        events, entries = ROOT.TEventList("events", ""), ROOT.TEntryList("list", "")
        events.Enter(number)
        entries.SetTree("t", f"{number}.root")
        entries.Enter(number)
        statistic = ROOT.TStatistic("statistic")
        statistic.Fill(number)
        polar = ROOT.TGraphPolar(1, array("d", [0.5]), array("d", [1.0]))
        polar.SetName("polar")
        clones = ROOT.TClonesArray("TH1F")
        clones.ConstructedAt(0)
        ordered = ROOT.TSortedList()
        files = ROOT.TFileCollection("files")
        files.Add(f"root://host//{number}.root")
        for one in (events, entries, statistic, polar, files):
            file.WriteTObject(one)
        clones.Write("clones", ROOT.TObject.kSingleKey)
        ordered.Write("sorted", ROOT.TObject.kSingleKey)
        file.Close()


def make_limits() -> None:
    """Write ``i0.root`` to ``i2.root``: bins of integers whose sums pass their limits."""
    for number in range(3):
        file = ROOT.TFile(f"i{number}.root", "RECREATE")
        for kind, most in (("C", 127), ("S", 32767), ("I", 2**31 - 1)):
            histogram = getattr(ROOT, f"TH1{kind}")(f"h{kind}", "", 5, 0, 5)
            # Three times the last is below the lowest number, twice it is that.
            for cell, content in enumerate((most, -most, 5, -5, -(most + 1) // 2 * (number < 2))):
                histogram.SetBinContent(cell + 1, content)
            histogram.Write()
        file.Close()


def limits(path: str) -> dict[str, list[float]]:
    """Return the contents of the bins."""
    file = ROOT.TFile(path)
    every = [key.ReadObj() for key in file.GetListOfKeys()]
    return {str(one.GetName()): [one.GetBinContent(cell) for cell in range(1, 6)] for one in every}


def _histograms() -> list[Any]:
    return [
        ROOT.TH1D("one", "", 4, 0, 4),
        ROOT.TH2F("two", "", 4, 0, 4, 2, 0, 2),
        ROOT.TProfile("profile", "", 4, 0, 4),
    ]


def _fill(histogram: Any, number: int) -> None:
    for k in range(5 + number):
        values = (0.7 * k, 0.5)
        histogram.Fill(*values[: 1 if histogram.ClassName() == "TH1D" else 2])


def make_buffers() -> None:
    """Write ``b0.root`` to ``b2.root``: histograms that keep fills of their bins; ``all.root``: all fills."""
    for number in range(3):
        file = ROOT.TFile(f"b{number}.root", "RECREATE")
        for histogram in _histograms():
            histogram.SetBuffer(100)
            _fill(histogram, number)
            histogram.BufferEmpty()
            histogram.Write()
        file.Close()
    file = ROOT.TFile("all.root", "RECREATE")
    for histogram in _histograms():
        for number in range(3):
            _fill(histogram, number)
        histogram.Write()
    file.Close()


def buffers(path: str) -> dict[str, Any]:
    """Return contents and entries once buffers are emptied."""
    file = ROOT.TFile(path)
    found = {}
    for name in ("one", "two", "profile"):
        histogram = file.Get(name)
        histogram.BufferEmpty(1)
        cells = range(histogram.GetNcells())
        found[name] = [[histogram.GetBinContent(cell) for cell in cells], histogram.GetEntries()]
    return found
