"""Writes TTreePerfStats, and prints and draws those of a file: run in ROOT's process."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT


def write() -> None:
    """Write ``tree.root``, ``perfstat.root`` and ``printed.txt``, what ROOT prints of it."""
    file = ROOT.TFile("tree.root", "recreate")
    tree = ROOT.TTree("T", "")
    tree.SetAutoFlush(500)
    values = [array("d", [0]) for _ in range(8)]
    for i, value in enumerate(values):
        tree.Branch(f"x{i}", value, f"x{i}/D", 4000)
    random = ROOT.TRandom3(5)
    for _ in range(5000):
        for value in values:
            value[0] = random.Gaus()
        tree.Fill()
    tree.Write()
    file.Close()
    file = ROOT.TFile("tree.root")
    tree = file.Get("T")
    tree.SetCacheSize(100_000)
    tree.AddBranchToCache("*")
    stats = ROOT.TTreePerfStats("ioperf", tree)
    for i in range(tree.GetEntries()):
        tree.GetEntry(i)
    stats.SaveAs("perfstat.root")
    printed(stats)


PRINTED = """
#include <TSystem.h>
#include <TTreePerfStats.h>
void print_to(TTreePerfStats &stats, const char *path)
{
   gSystem->RedirectOutput(path, "w");
   stats.Print("unzip");
   fflush(stdout);
   gSystem->RedirectOutput(nullptr);
}
"""


def printed(stats: Any) -> str:
    macros.declare(PRINTED)
    ROOT.print_to(stats, "printed.txt")
    return Path("printed.txt").read_text()


def show(path: Path) -> tuple[str, dict[str, Any]]:
    """Draw what a file has to ``drawn.png``. Returns: what ROOT prints of it, and what its members are."""
    file = ROOT.TFile(str(path))
    stats = file.Get("ioperf")
    text = printed(stats)
    canvas = ROOT.TCanvas("c", "c", 700, 500)
    stats.Draw()
    canvas.Update()
    canvas.SaveAs("drawn.png")
    graph, times = stats.GetGraphIO(), stats.GetGraphTime()
    n = graph.GetN()
    return text, {
        "class": str(stats.ClassName()),
        "title": str(graph.GetTitle()),
        "n": n,
        "entries": [graph.GetX()[i] for i in range(n)],
        "megabytes": [graph.GetY()[i] for i in range(n)],
        "lengths": [graph.GetErrorY(i) for i in range(n)],
        "times": [times.GetY()[i] for i in range(n)],
        "host": str(stats.GetHostInfo()),
    }
