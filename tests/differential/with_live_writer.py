"""Writes a file with ROOT, saving it in all ways, or says what ROOT reads of copies of it: run in its process."""

from __future__ import annotations

from pathlib import Path

from tests.judge import macros
from tests.judge.lazy import ROOT

WRITE = r"""
void write_forever() {
  for (int round = 0;; ++round) {
    TFile file("live.root", "RECREATE", "", 101);
    TH1F histogram("h", "", 3, 0, 3);
    TDirectory *directory = round % 2 ? file.mkdir("d") : nullptr;
    file.cd();
    TTree tree("T", "");
    tree.SetAutoFlush(0);
    int x = 0;
    std::vector<int> v;
    tree.Branch("x", &x, 4000);
    tree.Branch("v", &v, 4000);
    for (int save = 0; save < 150; ++save) {
      for (int i = 0; i < 50 * (1 + round % 4); ++i, ++x) {
        v.assign(x % 4, x);
        tree.Fill();
      }
      switch (save % 6) {
        case 0: tree.AutoSave("SaveSelf"); break;
        case 1: tree.AutoSave("SaveSelf FlushBaskets"); break;
        case 2: tree.FlushBaskets(); file.SaveSelf(); break;
        case 3: tree.Write("", TObject::kOverwrite); file.SaveSelf(); break;
        case 4: histogram.Fill(1); file.WriteTObject(&histogram); tree.AutoSave("SaveSelf"); break;
        default:
          if (directory) { directory->WriteTObject(&histogram); directory->SaveSelf(); }
          file.Write();
      }
    }
    tree.ResetBranchAddresses();
  }
}
"""


def _entries(path: Path) -> int | None:
    try:
        file = ROOT.TFile.Open(str(path))
    except OSError:
        return None
    if not file or file.IsZombie():
        return None
    tree = file.Get("T")
    if not tree or not isinstance(tree, ROOT.TTree):
        return None
    try:
        for number, entry in enumerate(tree):
            if entry.x != number or list(entry.v) != [number] * (number % 4):
                return None
    except RuntimeError:  # "TTree I/O error": the copy has half of a basket, which ROOT does not read
        return None
    n_entries = int(tree.GetEntries())
    file.Close()
    return n_entries


def write() -> None:
    """Write ``live.root`` forever; after a while it begins anew, with a larger file.

    Its tree ``T`` has the number of each entry in ``x``, and so many times its number in ``v``.
    """
    macros.declare(WRITE)
    ROOT.write_forever()


def read() -> dict[str, int | None]:
    """Return for each ``look_*.root`` how many entries ROOT reads; None where it opens no file or tree."""
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    return {path.name: _entries(path) for path in sorted(Path.cwd().glob("look_*.root"))}
