"""Writes trees with ROOT, and says which entries its own selections choose: run in ROOT's process."""

from __future__ import annotations

import random
import re
from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT

N_ENTRIES = 1200
N_RANDOM = 150
SEED = 20261122

WRITE = """
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <TEntryList.h>
#include <TFile.h>
#include <TRandom3.h>
#include <TTree.h>
namespace selections {
void write(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  TTree tree("T", "numbers and lists");
  tree.SetAutoFlush(100);
  int i, j, n;
  UInt_t u;
  Short_t s;
  float x, fixed[3], v[8];
  double y;
  bool b;
  std::vector<int> w;
  std::vector<float> g;
  tree.Branch("i", &i); tree.Branch("j", &j); tree.Branch("u", &u); tree.Branch("s", &s);
  tree.Branch("x", &x); tree.Branch("y", &y); tree.Branch("b", &b); tree.Branch("fixed", fixed, "fixed[3]/F");
  tree.Branch("n", &n); tree.Branch("v", v, "v[n]/F"); tree.Branch("w", &w);
  tree.Branch("g", &g);
  auto model = ROOT::RNTupleModel::Create();
  auto ni = model->MakeField<int>("i"), nj = model->MakeField<int>("j"), nn = model->MakeField<int>("n");
  auto nu = model->MakeField<std::uint32_t>("u");
  auto ns = model->MakeField<std::int16_t>("s");
  auto nx = model->MakeField<float>("x");
  auto ny = model->MakeField<double>("y");
  auto nb = model->MakeField<bool>("b");
  auto nfixed = model->MakeField<std::array<float, 3>>("fixed");
  auto nv = model->MakeField<std::vector<float>>("v");
  auto nw = model->MakeField<std::vector<int>>("w");
  auto ng = model->MakeField<std::vector<float>>("g");
  auto writer = ROOT::RNTupleWriter::Append(std::move(model), "N", file);
  TRandom3 random(7);
  for (int entry = 0; entry < n_entries; ++entry) {
    i = random.Integer(21) - 10; j = entry / 100; u = random.Integer(50); s = random.Integer(400) - 200;
    x = random.Gaus(); y = random.Exp(2); b = random.Integer(2);
    for (auto &one : fixed) one = random.Uniform(-1, 1);
    n = random.Integer(6);
    for (int k = 0; k < n; ++k) v[k] = random.Gaus(0, 3);
    w.resize(random.Integer(4));
    for (auto &one : w) one = random.Integer(9) - 4;
    g.resize(entry % 4);
    for (int k = 0; k < entry % 4; ++k) g[k] = (entry >> (2 * k + 2)) % 4 ? (entry >> (2 * k + 2)) % 4 : NAN;
    tree.Fill();
    *ni = i; *nj = j; *nn = n; *nu = u; *ns = s; *nx = x; *ny = y; *nb = b; *nw = w; *ng = g;
    for (int k = 0; k < 3; ++k) (*nfixed)[k] = fixed[k];
    nv->assign(v, v + n);
    writer->Fill();
    if (entry % 150 == 149) writer->CommitCluster();
  }
  tree.Write();
}
void friends(const char *path, int n_entries) {
  TFile file(path, "RECREATE");
  int run, event; double value;
  TTree main("main", "in order");
  main.Branch("run", &run); main.Branch("event", &event);
  for (int k = 0; k < n_entries; ++k) { run = k / 40; event = k % 40; main.Fill(); }
  main.Write();
  TTree by_two("by_two", "in another order"), by_one("by_one", ""), by_formula("by_formula", ""), plain("plain", "");
  for (auto *tree : {&by_two, &by_one, &by_formula, &plain}) {
    tree->Branch("run", &run); tree->Branch("event", &event); tree->Branch("value", &value);
    for (int k = n_entries + 20; k-- > 0;) {
      run = k / 40; event = tree == &by_one ? k : k % 40; value = 0.5 * k;
      tree->Fill();
    }
  }
  by_two.BuildIndex("run", "event"); by_one.BuildIndex("event"); by_formula.BuildIndex("run * 1000 + event");
  by_two.Write(); by_one.Write(); by_formula.Write(); plain.Write();
}
std::vector<Long64_t> drawn(TTree &tree, const char *expression) {
  gDirectory->cd("Rint:/");
  if (tree.Draw(">>chosen", expression, "entrylist") < 0) return {-1};
  auto *list = gDirectory->Get<TEntryList>("chosen");
  std::vector<Long64_t> entries;
  for (Long64_t k = 0; k < list->GetN(); ++k) entries.push_back(list->GetEntry(k));
  return entries;
}
}
"""

#: Where the two agree on the meaning: TTree::Draw goes through the items of lists, we say any() or all().
CHOSEN = [
    "n > 0 && v[0] > 1", "n > 2 && v[2] < v[0] && v[1] > 0", "fixed[1] > 0.5", "fixed[0] < fixed[2]", "i % 3 == 1",
    "-7 % 3 == i", "s / 100 > 1", "i / 4 == 0.5", "b", "!b && x > 0", "(u & 4) != 0", "(u & 3) == 2 || (u | 1) == 1",
    "Sum$(v) > 3", "Length$(v) == n && n == 3", "n > 0 && Max$(v) > 5", "n > 0 && Min$(v) < -4", "Sum$(v > 1) >= 2",
    "abs(i) == 4", "sqrt(y) < 1", "pow(x, 2) > 2", "log(y) > 1", "min(i, j) == 2", "max(x, y) < 0.3", "x", "i",
    "j == 3 && i < 0", "1e-1 < x && x < 5.e-1", "x == 0.1", "u > -1", "floor(y) == 2", "0x10 == u", "Sum$(w == 2) == 1",
    "Length$(g) > 0 && Max$(g) > 1", "Length$(g) > 0 && Min$(g) < 3", "Max$(g) != Max$(g)",
    "!(Min$(g) < 2) && n > 0 && Length$(g) > 0",
]  # fmt: skip
#: In C++ for RDataFrame, and in our grammar.
FRAMES = [
    ("ROOT::VecOps::Any(v > 4)", "any(v > 4)"),
    ("ROOT::VecOps::All(v < 1.5f)", "all(v < 1.5)"),
    ("ROOT::VecOps::Sum(w) == 3", "sum(w) == 3"),
    ("v.size() > 3 && v[3] > 0", "v[3] > 0"),
    ("ROOT::VecOps::Max(v[v < 0].size() ? v[v < 0] : ROOT::RVecF{-99}) > -0.5", "max(v[v < 0]) > -0.5"),
    ("n == 0 || v[0] > 3", "n == 0 || v[0] > 3"),
    ("ROOT::VecOps::Any(v > 1 && v < 1.25)", "any(v > 1 && v < 1.25)"),
    ("s % 7 == -3 && !(i < j)", "s % 7 == -3 && !(i < j)"),
]


def random_number(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(9 if depth else 4)
    if kind < 3:
        return rng.choice(["i", "j", "u", "s", "x", "y", "n", "fixed[0]", "fixed[2]"])
    if kind == 3:
        return rng.choice([str(rng.randint(0, 12)), f"{rng.uniform(0, 4):.3f}"])
    if kind == 4:
        # Outside of their domains TTree::Draw has values of its own: sqrt(-4) is 2, log(0) and 1 / 0 are 0.
        function = rng.choice(["abs({})", "sqrt(abs({}))", "floor({})", "sin({})"])
        return function.format(random_number(rng, depth - 1))
    if kind == 5:
        return f"({random_number(rng, depth - 1)})"
    if kind == 6:
        return rng.choice(["Sum$(v)", "Length$(v)", "Sum$(w)", "Sum$(v > 0.5)", "Length$(w)"])
    divided = f"{random_number(rng, depth - 1)} / {rng.randint(1, 9)}"
    computed = f"{random_number(rng, depth - 1)} {rng.choice('+-*')} {random_number(rng, depth - 1)}"
    return rng.choice([divided, computed, computed])


def random_condition(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(6 if depth else 2)
    if kind < 2:
        comparison = rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"{random_number(rng, 2)} {comparison} {random_number(rng, 2)}"
    if kind == 2:
        return f"!({random_condition(rng, depth - 1)})"
    if kind == 3:
        return f"({random_condition(rng, depth - 1)})"
    return f"{random_condition(rng, depth - 1)} {rng.choice(['&&', '||'])} {random_condition(rng, depth - 1)}"


def write() -> dict[str, Any]:
    """Write ``selections.root`` (the same entries as TTree "T" and RNTuple "N") and ``friends.root``.

    Returns: of each expression the entries that TTree::Draw or RDataFrame selects, and the values of friends that
    TTree::Draw finds.
    """
    macros.declare(WRITE)
    path = "selections.root"
    ROOT.selections.write(path, N_ENTRIES)
    file = ROOT.TFile.Open(path)
    tree = file.Get("T")
    rng = random.Random(SEED)
    texts = list(CHOSEN)
    while len(texts) < len(CHOSEN) + N_RANDOM:
        text = random_condition(rng, 3)
        if re.search(r"\b([ijusxynvw]|fixed)\b", text):  # without a column it is no condition on entries
            texts.append(text)
    document: dict[str, Any] = {
        "drawn": [[text, [int(entry) for entry in ROOT.selections.drawn(tree, text)]] for text in texts],
        "frames": [
            [
                ours,
                [int(entry) for entry in ROOT.RDataFrame(tree).Filter(theirs).Take["ULong64_t"]("rdfentry_")],
            ]
            for theirs, ours in FRAMES
        ],
        "friends": {},
    }
    friends = "friends.root"
    ROOT.selections.friends(friends, 400)
    for name in ("by_two", "by_one", "plain"):
        with_friends = ROOT.TFile.Open(friends)
        main_tree, other = with_friends.Get("main"), with_friends.Get(name)
        main_tree.AddFriend(other, "f")
        n = main_tree.Draw("f.value", "", "goff")
        values = main_tree.GetV1()
        document["friends"][name] = [values[k] for k in range(n)]
    return document
