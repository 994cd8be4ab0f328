"""Runs in a Python that has ROOT: writes TTreePerfStats, and prints and draws those of a file.

``with_perfstat.py write DIRECTORY``: ``tree.root``, ``perfstat.root`` and ``printed.txt``, what ROOT prints of it.
``with_perfstat.py show DIRECTORY FILE``: prints and draws the one of a file to ``shown.txt`` and ``drawn.png``, and
says in ``shown.json`` what its members are.
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.differential.root_session import start


def write(root: object) -> None:
    file = root.TFile("tree.root", "recreate")
    tree = root.TTree("T", "")
    tree.SetAutoFlush(500)
    values = [array("d", [0]) for _ in range(8)]
    for i, value in enumerate(values):
        tree.Branch(f"x{i}", value, f"x{i}/D", 4000)
    random = root.TRandom3(5)
    for _ in range(5000):
        for value in values:
            value[0] = random.Gaus()
        tree.Fill()
    tree.Write()
    file.Close()
    file = root.TFile("tree.root")
    tree = file.Get("T")
    tree.SetCacheSize(100_000)
    tree.AddBranchToCache("*")
    stats = root.TTreePerfStats("ioperf", tree)
    for i in range(tree.GetEntries()):
        tree.GetEntry(i)
    stats.SaveAs("perfstat.root")
    printed(root, stats, "printed.txt")


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


def printed(root: object, stats: object, path: str) -> None:
    root.gInterpreter.Declare(PRINTED)
    root.print_to(stats, path)


def show(root: object, path: str) -> None:
    file = root.TFile(path)
    stats = file.Get("ioperf")
    printed(root, stats, "shown.txt")
    canvas = root.TCanvas("c", "c", 700, 500)
    stats.Draw()
    canvas.Update()
    canvas.SaveAs("drawn.png")
    graph, times = stats.GetGraphIO(), stats.GetGraphTime()
    n = graph.GetN()
    Path("shown.json").write_text(
        json.dumps(
            {
                "class": str(stats.ClassName()),
                "title": str(graph.GetTitle()),
                "n": n,
                "entries": [graph.GetX()[i] for i in range(n)],
                "megabytes": [graph.GetY()[i] for i in range(n)],
                "lengths": [graph.GetErrorY(i) for i in range(n)],
                "times": [times.GetY()[i] for i in range(n)],
                "host": str(stats.GetHostInfo()),
            }
        )
    )


def main() -> None:
    what, directory, *rest = sys.argv[1:]
    start(Path(directory))
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kWarning
    if what == "write":
        write(ROOT)
    else:
        show(ROOT, rest[0])
    sys.stdout.flush()
    os._exit(0)


main()
