"""Skims files as RDataFrame does, and reads what arrowroot made of them: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.judge.lazy import ROOT


def snapshot(condition: str, columns: list[str]) -> int:
    """Write ``snapshot.root`` of the entries of ``a.root`` and ``b.root`` for which a condition holds."""
    frame = ROOT.RDataFrame("Events", ["a.root", "b.root"]).Filter(condition)
    return int(frame.Snapshot("Events", "snapshot.root", columns).Count().GetValue())


def told(file: str, columns: list[str]) -> dict[str, Any]:
    """Return the values of columns by ROOT, and the counter and the codec of each branch of a tree."""
    opened = ROOT.TFile(file)
    tree = opened.Get("Events")
    frame = ROOT.RDataFrame("Events", file)
    values = {
        name: [
            str(one) if isinstance(one, ROOT.std.string) else list(one) if hasattr(one, "__len__") else one
            for one in frame.Take[frame.GetColumnType(name)](name).GetValue()
        ]
        for name in columns
    }
    found = {"values": values}
    if opened.GetKey("Runs"):
        found["n runs"] = int(ROOT.RDataFrame("Runs", file).Count().GetValue())
    if isinstance(tree, ROOT.TTree):
        counters = {str(b.GetName()): b.GetListOfLeaves()[0].GetLeafCount() for b in tree.GetListOfBranches()}
        found["counters"] = {name: str(leaf.GetName()) for name, leaf in counters.items() if leaf}
        found["codecs"] = {int(b.GetCompressionSettings()) for b in tree.GetListOfBranches()}
    return found


_WRITE = """
void WriteClusters(const char *path, bool isTree, int nClusters, int nEntries) {
   TRandom3 random(7);
   unsigned int block; int nMuon; float pt[8]; double x; char word[16]; std::vector<float> v;
   auto draw = [&](int cluster) {
      block = cluster; nMuon = random.Integer(cluster + 2); x = random.Gaus();
      for (int i = 0; i < nMuon; ++i) pt[i] = random.Exp(20);
      v.assign(pt, pt + nMuon);
      snprintf(word, sizeof(word), "w%u", random.Integer(1 << 30));
   };
   if (isTree) {
      TFile file(path, "recreate");
      TTree tree("Events", "Events");
      tree.Branch("block", &block, "block/i"); tree.Branch("nMuon", &nMuon, "nMuon/I");
      tree.Branch("Muon_pt", pt, "Muon_pt[nMuon]/F"); tree.Branch("x", &x, "x/D");
      tree.Branch("v", &v); tree.Branch("word", word, "word/C");
      tree.SetAutoFlush(nEntries);
      for (int i = 0; i < nClusters * nEntries; ++i) { draw(i / nEntries); tree.Fill(); }
      tree.Write();
   } else {
      auto model = ROOT::RNTupleModel::Create();
      auto b = model->MakeField<std::uint32_t>("block"); auto n = model->MakeField<int>("nMuon");
      auto d = model->MakeField<double>("x"); auto f = model->MakeField<std::vector<float>>("Muon_pt");
      auto g = model->MakeField<std::vector<float>>("v"); auto s = model->MakeField<std::string>("word");
      auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", path);
      for (int i = 0; i < nClusters * nEntries; ++i) {
         draw(i / nEntries); *b = block; *n = nMuon; *d = x; *f = v; *g = v; *s = word; writer->Fill();
         if ((i + 1) % nEntries == 0) writer->CommitCluster();
      }
   }
}
"""


def write_clusters(path: str, is_tree: bool, n_clusters: int, n_entries: int) -> None:
    """Write a tree or an RNTuple of clusters of so many entries, in whose block their number is."""
    ROOT.gInterpreter.Declare(_WRITE)
    ROOT.WriteClusters(path, is_tree, n_clusters, n_entries)


def told_of_tree(file: str) -> dict[str, Any]:
    """Return what ROOT says of a tree's counter and text, and reads of its text."""
    opened = ROOT.TFile(file)
    tree = opened.Get("Events")
    leaves = {name: tree.GetLeaf(name) for name in ("nMuon", "word")}
    words = []
    for entry in range(tree.GetEntries()):
        tree.GetEntry(entry)
        words.append(str(leaves["word"].GetValueString()))
    return {
        "largest": int(leaves["nMuon"].GetMaximum()),
        "longest": int(leaves["word"].GetLen()) - 1,
        "words": words,
    }
