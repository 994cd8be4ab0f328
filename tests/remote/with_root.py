"""Lets ROOT write a file with many branches: with_root.py PATH N_BRANCHES. Run by a Python that has ROOT."""

import sys
from array import array

import ROOT

path, n_branches = sys.argv[1], int(sys.argv[2])
file = ROOT.TFile(path, "RECREATE", "", 505)
tree = ROOT.TTree("Events", "")
numbers = [array("f", [0]) for _ in range(n_branches)]
for k, number in enumerate(numbers):
    tree.Branch(f"x{k:04}", number, f"x{k:04}/F", 4000)
for entry in range(200):
    for k, number in enumerate(numbers):
        number[0] = (entry * k) % 97
    tree.Fill()
tree.Write()
file.Close()
