"""Makes a file of the campaign ``root-2009.toml``, by ROOT: ``root_2009.py DIRECTORY LAYOUT``.

500 branches of lists of numbers that differ in length from branch to branch, 1,000 entries. ``unoptimised``: baskets of
3 kB that are written when they are full, as in 2009. ``optimised``: flushed every 1.5 MB, a twentieth of ROOT's 30 MB,
with baskets that ROOT makes to fit.
"""

from __future__ import annotations

import sys

import ROOT

N_BRANCHES, N_ENTRIES, BASKET_BYTES, MEAN_LENGTH, SPREAD = 500, 1000, 3000, 95.0, 0.75
#: The numbers of a twentieth of the published file.
FLUSH_BYTES = 1_500_000

_WRITE = """
void write_root_2009(const char* path, bool is_optimised, int n_branches, int n_entries, int basket_bytes, double mean,
                     double spread, int flush_bytes) {
  TFile file(path, "RECREATE", "", 101);
  TTree tree("CollectionTree", "as of 2009, and flushed");
  tree.SetAutoFlush(is_optimised ? -flush_bytes : 0);
  tree.SetAutoSave(0);
  std::vector<std::vector<float>> values(n_branches);
  std::vector<double> means(n_branches);
  TRandom3 random(1);
  for (int i = 0; i < n_branches; ++i) {
    means[i] = mean * std::exp(spread * random.Gaus() - spread * spread / 2);
    tree.Branch(Form("b%03d", i), &values[i], basket_bytes, 99);
  }
  for (int entry = 0; entry < n_entries; ++entry) {
    for (int i = 0; i < n_branches; ++i) {
      values[i].resize(random.Poisson(means[i]));
      // Few bits, so that they compress to a third.
      for (auto& value : values[i]) value = std::round(8 * random.Gaus()) / 8;
    }
    tree.Fill();
  }
  tree.Write();
}
"""

if __name__ == "__main__":
    ROOT.gInterpreter.Declare(_WRITE)
    ROOT.write_root_2009(
        f"{sys.argv[1]}/root2009.root",
        {"unoptimised": False, "optimised": True}[sys.argv[2]],
        N_BRANCHES,
        N_ENTRIES,
        BASKET_BYTES,
        MEAN_LENGTH,
        SPREAD,
        FLUSH_BYTES,
    )
