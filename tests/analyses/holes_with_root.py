"""Files for the analyses about what is missing, and what RDataFrame makes of them: run in ROOT's process."""

from __future__ import annotations

import random
from typing import Any

from tests.analyses import event_matching, missing_branches
from tests.judge import macros
from tests.judge.lazy import ROOT

N_ENTRIES = 300
SEED = 20261129

WRITE = """
#include <TFile.h>
#include <TTree.h>
namespace analyses {
void write(const char *path, const char *name, std::vector<std::string> names, std::vector<std::vector<int>> columns) {
  TFile file(path, "RECREATE");
  TTree tree(name, "");
  tree.SetAutoFlush(100);
  std::vector<int> entry(names.size());
  for (std::size_t k = 0; k < names.size(); ++k) tree.Branch(names[k].c_str(), &entry[k]);
  for (std::size_t i = 0; i < columns[0].size(); ++i) {
    for (std::size_t k = 0; k < names.size(); ++k) entry[k] = columns[k][i];
    tree.Fill();
  }
  tree.Write();
}
}
"""


def expected() -> dict[str, Any]:
    """Write the files of both. Returns: the tables that each returns, as RDataFrame has them."""
    macros.declare(WRITE)
    return {"missing_branches": _missing(), "event_matching": _matching()}


def _missing() -> dict[str, Any]:
    chain = ROOT.TChain()
    for number, (path, tree) in enumerate(missing_branches.TREES.items(), 2):
        names = [["x", "y"], ["y"], ["x"]][number - 2]
        columns = [[number * i + k for i in range(N_ENTRIES)] for k, _ in enumerate(names)]
        ROOT.analyses.write(path, tree, names, columns)
        chain.Add(f"{path}?#{tree}")
    frame = ROOT.RDataFrame(chain)
    default = missing_branches.DEFAULT
    of_y = frame.DefaultValueFor("y", default)
    with_zeros = frame.DefaultValueFor("x", 0).DefaultValueFor("y", 0)
    return _filled({
        "defaults": (of_y.DefaultValueFor("x", default), ["x", "y"]),
        "x is there": (of_y.FilterAvailable("x"), ["x", "y"]),
        "y is missing": (frame.FilterMissing("y"), ["x"]),
        "computed": (with_zeros.Define("sum", "x + y"), ["sum"]),
    })  # fmt: skip


def _matching() -> dict[str, Any]:
    rng = random.Random(SEED)
    events = rng.sample(range(10 * N_ENTRIES), N_ENTRIES)
    ROOT.analyses.write("main.root", "events", ["idx", "x"], [events, [7 * i for i in events]])
    chain = ROOT.TChain("events")
    chain.Add("main.root")
    friends = []
    for name, column in (("aux_1", "y"), ("aux_2", "z")):
        some = rng.sample(events, 2 * N_ENTRIES // 3)
        ROOT.analyses.write(f"{name}.root", name, ["idx", column], [some, [-i for i in some]])
        friends.append(ROOT.TChain(name))
        friends[-1].Add(f"{name}.root")
        friends[-1].BuildIndex("idx")
        chain.AddFriend(friends[-1])
    frame = ROOT.RDataFrame(chain)
    default = event_matching.DEFAULT
    of_second = frame.DefaultValueFor("aux_2.idx", default).DefaultValueFor("aux_2.z", default)
    of_both = of_second.DefaultValueFor("aux_1.idx", default).DefaultValueFor("aux_1.y", default)
    return _filled({
        "defaults": (of_both, event_matching.COLUMNS),
        "first matches": (of_second.FilterAvailable("aux_1.y"), event_matching.COLUMNS),
        "first does not match": (frame.FilterMissing("aux_1.idx"), ["idx", "x"]),
    })  # fmt: skip


def _filled(tables: dict[str, tuple[Any, list[str]]]) -> dict[str, Any]:
    """Return columns of frames, all of them taken before the first pass begins."""
    taken = {
        table: {name: frame.Take["int"](name) for name in names} for table, (frame, names) in tables.items()
    }
    return {
        table: {name: [int(value) for value in values] for name, values in columns.items()}
        for table, columns in taken.items()
    }
