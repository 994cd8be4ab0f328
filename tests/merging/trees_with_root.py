"""Trees to merge, hadd, and what ROOT reads of the result: run in ROOT's process."""

from __future__ import annotations

from array import array
from typing import Any

from tests.judge.lazy import ROOT

#: Entries of the trees of each input: none in the first, one that is all in the record, and several clusters.
N_ENTRIES = (0, 7, 1300, 411)
CODECS = (101, 505, 404, 0)


def make() -> None:
    """Write ``in0.root`` to ``in3.root``, with other codecs, and baskets in the records of trees."""
    first = 0
    for number, (n_entries, codec) in enumerate(zip(N_ENTRIES, CODECS, strict=True)):
        file = ROOT.TFile(f"in{number}.root", "RECREATE", "", codec)
        file.mkdir("sub").cd()
        tree = ROOT.TTree("t", "a tree")
        tree.SetAutoFlush(300)
        i, n = array("i", [0]), array("i", [0])
        x, name = array("f", [0] * 40), bytearray(300)
        vector, text = ROOT.std.vector("float")(), ROOT.std.string()
        tree.Branch("i", i, "i/I")
        tree.Branch("n", n, "n/I")
        tree.Branch("x", x, "x[n]/F")
        tree.Branch("name", name, "name/C")
        tree.Branch("v", vector)
        tree.Branch("text", text)
        for entry in range(first, first + n_entries):
            i[0], n[0] = entry, entry % (5 + 10 * number)
            for k in range(n[0]):
                x[k] = entry + k / 8
            word = f"{entry:x}" * (1 + number * 5) + "\0"
            name[: len(word)] = word.encode()
            vector.clear()
            for k in range(entry % 3):
                vector.push_back(entry * k)
            text.assign(f"text {entry}")
            tree.Fill()
        if number == 1:
            tree.AutoSave()  # an older cycle of it
        first += n_entries
        # Baskets that were not flushed stay in the record.
        tree.SetBit(ROOT.TTree.kOnlyFlushAtCluster) if number == 3 else None
        file.Write("", ROOT.TObject.kOverwrite if number == 2 else 0)
        file.Close()


def hadd(output: str, inputs: list[str]) -> None:
    """Merge files as ``hadd -ff`` does."""
    merger = ROOT.TFileMerger(False)
    merger.SetFastMethod(True)
    assert merger.OutputFile(output, "RECREATE")
    for path in inputs:
        assert merger.AddFile(path)
    assert merger.Merge()


def values(path: str, name: str) -> list[list[Any]]:
    """Return the values of all leaves, entry by entry."""
    file = ROOT.TFile(path)
    tree = file.Get(name)
    read = []
    vector, text = ROOT.std.vector("float")(), ROOT.std.string()
    tree.SetBranchAddress("v", vector)
    tree.SetBranchAddress("text", text)
    for entry in range(tree.GetEntries()):
        assert tree.GetEntry(entry) > 0
        leaf = tree.GetLeaf
        counted = [leaf("x").GetValue(k) for k in range(leaf("x").GetLen())]
        word = leaf("name").GetValueString() if hasattr(leaf("name"), "GetValueString") else tree.name
        read.append(
            [int(leaf("i").GetValue()), counted, str(word), [float(one) for one in vector], str(text)]
        )
    return read


def listed(path: str, name: str, branches: list[str]) -> list[list[Any]]:
    """Return numbers and lists of numbers, entry by entry."""
    file = ROOT.TFile(path)
    tree = file.Get(name)
    read = []
    for _ in tree:
        values = [getattr(tree, branch) for branch in branches]
        read.append([value if isinstance(value, int) else list(value) for value in values])
    return read


def facts(path: str, name: str) -> dict[str, Any]:
    """Return what the record of a tree says."""
    file = ROOT.TFile(path)
    tree = file.Get(name)
    iterator = tree.GetClusterIterator(0)
    clusters = []
    while (start := iterator.Next()) < tree.GetEntries():
        clusters.append(int(start))
    return {
        "entries": int(tree.GetEntries()),
        "clusters": clusters,
        "maximum": int(tree.GetLeaf("n").GetMaximum()),
        "length": int(tree.GetLeaf("name").GetLen()),
        "memory": int(tree.GetTotBytes()),
        "stored": int(tree.GetZipBytes()),
        "baskets": [int(branch.GetWriteBasket()) for branch in tree.GetListOfBranches()],
        "keys": [str(key.GetName()) for key in file.GetDirectory("sub").GetListOfKeys()],
    }


#: References are addresses in memory: Python's objects are not where ROOT puts them.
_REFERENCES = """
void write_references(const char *path, int first) {
   TFile file(path, "RECREATE");
   auto tree = new TTree("refs", "references");
   auto named = new TNamed();
   auto reference = new TRef();
   tree->Branch("object", "TNamed", &named, 32000, 0);
   tree->Branch("reference", "TRef", &reference, 32000, 0);
   for (int entry = first; entry < first + 4; ++entry) {
      named->ResetBit(kIsReferenced);
      named->SetName(TString::Format("object %d", entry));
      *reference = named;
      tree->Fill();
   }
   file.Write();
}
std::vector<std::string> referenced(const char *path) {
   TFile file(path);
   auto tree = file.Get<TTree>("refs");
   TNamed *named = nullptr;
   TRef *reference = nullptr;
   tree->SetBranchAddress("object", &named);
   tree->SetBranchAddress("reference", &reference);
   std::vector<std::string> names;
   for (int entry = 0; entry < tree->GetEntries(); ++entry) {
      tree->GetEntry(entry);
      auto found = reference->GetObject();
      names.push_back(found ? found->GetName() : "");
   }
   return names;
}
"""


def make_references(path: str, first: int) -> None:
    """Write a tree of objects, and of references to those of the same entry."""
    ROOT.gInterpreter.Declare(_REFERENCES)
    ROOT.write_references(path, first)


def referenced(path: str) -> list[str]:
    """Return the names of what the references lead to, entry by entry; "" where they lead nowhere."""
    ROOT.gInterpreter.Declare(_REFERENCES)
    return [str(name) for name in ROOT.referenced(path)]


def make_behind_empty() -> None:
    """Write ``e0.root`` and ``e1.root``: objects that are not split, and lists of them, in none and in 30 entries."""
    for number, n_entries in enumerate((0, 30)):
        file = ROOT.TFile(f"e{number}.root", "RECREATE")
        tree = ROOT.TTree("t", "")
        text, listed, named = ROOT.TObjString("x"), ROOT.TList(), ROOT.TNamed("a", "b")
        listed.SetOwner(False)
        listed.Add(named)
        tree.Branch("text", text, 16000, 0)
        tree.Branch("list", listed, 16000, 0)
        for entry in range(n_entries):
            text.SetString(f"o{entry}")
            named.SetTitle(f"t{entry}")
            tree.Fill()
        tree.Write()
        file.Close()
        listed.Clear("nodelete")  # or else it looks at what Python may have deleted, and crashes now and then


def forgets_objects(path: str) -> list[bool]:
    """Return of each branch whether ROOT forgets the objects of an entry before it reads the next one."""
    file = ROOT.TFile(path)
    return [not branch.TestBit(1 << 22) for branch in file.Get("t").GetListOfBranches()]


def user_info(path: str) -> list[str]:
    """Return names and values of what users added to a tree, but the record of its types."""
    file = ROOT.TFile(path)
    found = list(file.Get("t").GetUserInfo())
    texts = [f"{one.GetName()} {one.GetVal() if hasattr(one, 'GetVal') else one.GetTitle()}" for one in found]
    return [text for text in texts if not text.startswith("arrowroot")]
