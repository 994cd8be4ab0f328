"""Makes the file of the campaign ``liverpool-2008.toml``, by ROOT: ``unflushed.py DIRECTORY``.

300 branches of lists of numbers, whose lengths differ from branch to branch, in baskets of 8 kB that are written when
they are full: 5,000 entries, 195 MB.
"""

from __future__ import annotations

import sys

import ROOT

N_BRANCHES, N_ENTRIES, BASKET_BYTES, MEAN_LENGTH = 300, 5000, 8000, 30

_WRITE = """
void write_unflushed(const char* path, int n_branches, int n_entries, int basket_bytes, double mean) {
  TFile file(path, "RECREATE", "", 101);
  TTree tree("events", "baskets are written when they are full");
  tree.SetAutoFlush(0);
  tree.SetAutoSave(0);
  std::vector<std::vector<float>> values(n_branches);
  std::vector<double> means(n_branches);
  TRandom3 random(1);
  for (int i = 0; i < n_branches; ++i) {
    means[i] = mean * random.Exp(1);
    tree.Branch(Form("b%03d", i), &values[i], basket_bytes, 99);
  }
  for (int entry = 0; entry < n_entries; ++entry) {
    for (int i = 0; i < n_branches; ++i) {
      values[i].resize(random.Poisson(means[i]));
      for (auto& value : values[i]) value = random.Gaus();
    }
    tree.Fill();
  }
  tree.Write();
}
"""

if __name__ == "__main__":
    ROOT.gInterpreter.Declare(_WRITE)
    ROOT.write_unflushed(f"{sys.argv[1]}/unflushed.root", N_BRANCHES, N_ENTRIES, BASKET_BYTES, MEAN_LENGTH)
