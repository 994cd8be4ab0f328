"""Writes a tree with a branch that has fewer entries. Started by test_short.py: ``with_short.py FILE``."""

from __future__ import annotations

import sys
from array import array

N_ENTRIES, N_SHORT = 10, 6


def main() -> None:
    import ROOT

    file = ROOT.TFile(sys.argv[1], "recreate")
    tree = ROOT.TTree("T", "")
    number = array("i", [0])
    for name in ("first", "second"):
        tree.Branch(name, number, f"{name}/I")
    for i in range(N_ENTRIES):
        number[0] = i
        tree.Fill()
    short = tree.Branch("short", number, "short/I")
    for i in range(N_SHORT):
        number[0] = 10 * i
        short.Fill()
    tree.Write()
    file.Close()


if __name__ == "__main__":
    main()
