"""Writes trees with ROOT, and tells which baskets GetEntry reads, in their order: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT

N_BRANCHES, N_ENTRIES, BASKET_BYTES = 20, 2000, 2000
#: ROOT's number of entries after which all baskets are written; 0: each when it is full.
FILES = {"unflushed": 0, "flushed": 300}
#: Branches and entries of a job; None: all.
JOBS: dict[str, tuple[list[str] | None, list[int] | None]] = {
    "all": (None, None),
    "some columns": (["b03", "b07", "b11", "b19"], None),
    "a range": (None, list(range(123, 1456))),
    "a list": (None, [5, 10, 500, 501, 502, 1900, 1999]),
}

_WRITE = """
void write_events(const char* path, int n_branches, int n_entries, int basket_bytes, int flush) {
  TFile file(path, "RECREATE");
  TTree tree("events", "");
  tree.SetAutoFlush(flush);
  std::vector<std::vector<float>> values(n_branches);
  std::vector<double> means(n_branches);
  TRandom3 random(1);
  for (int i = 0; i < n_branches; ++i) {
    means[i] = random.Exp(5);
    tree.Branch(Form("b%02d", i), &values[i], basket_bytes, 99);
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


def offsets(path: str, columns: list[str] | None, entries: list[int] | None) -> list[int]:
    """Return where ROOT's reads begin, as its own TTreePerfStats counts them, in their order."""
    file = ROOT.TFile.Open(path)
    tree: Any = file.Get("events")
    tree.SetCacheSize(0)
    if columns:
        tree.SetBranchStatus("*", 0)
        for name in columns:
            tree.SetBranchStatus(name, 1)
    statistics = ROOT.TTreePerfStats("io", tree)
    for entry in range(tree.GetEntries()) if entries is None else entries:
        tree.GetEntry(entry)
    graph = statistics.GetGraphIO()
    # Megabytes of 10^6.
    return [round(graph.GetPointY(i) * 1e6) for i in range(graph.GetN())]


def write() -> dict[str, dict[str, list[int]]]:
    """Write trees ``events`` of lists of very different lengths, flushed or not.

    Returns: for each file and job the offsets of ROOT's reads without a cache.
    """
    macros.declare(_WRITE)
    order: dict[str, dict[str, list[int]]] = {}
    for name, flush in FILES.items():
        path = f"{name}.root"
        ROOT.write_events(path, N_BRANCHES, N_ENTRIES, BASKET_BYTES, flush)
        order[name] = {job: offsets(path, *JOBS[job]) for job in JOBS}
    return order
