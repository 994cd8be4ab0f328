"""Trees of objects, and what ROOT reads of them: run in ROOT's process."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.judge.lazy import ROOT

_OBJECTS = r"""
#include <sstream>
#include <TAxis.h>
#include <TClonesArray.h>
#include <TError.h>
#include <TFile.h>
#include <TLorentzVector.h>
#include <TNamed.h>
#include <TObjArray.h>
#include <TObjString.h>
#include <TParticle.h>
#include <TRandom3.h>
#include <TRef.h>
#include <TTree.h>
struct Leaves { float a; int b; double c; };
struct Objects {
   int run = 0, n_pt = 0, block = 0;
   float pt[20];
   char text[20];
   Leaves leaf;
   std::string *word = new std::string;
   std::vector<std::string> *words = new std::vector<std::string>;
   std::map<std::string, std::string> *map = new std::map<std::string, std::string>;
   TLorentzVector *split = new TLorentzVector, *whole = new TLorentzVector;
   TClonesArray *jets = new TClonesArray("TLorentzVector"), *unsplit = new TClonesArray("TLorentzVector");
   TClonesArray *particles = new TClonesArray("TParticle");
   TObjArray *named = new TObjArray;
   TNamed *target = new TNamed;
   TRef *ref = new TRef;
};
void WriteObjects(const char *path, int seed, int n_clusters, int n_entries, const char *name) {
   TFile file(path, "RECREATE");
   TTree tree(name, "of objects");
   tree.SetAutoFlush(n_entries);
   TRandom3 random(seed);
   Objects o;
   tree.Branch("run", &o.run);
   tree.Branch("block", &o.block);
   tree.Branch("n_pt", &o.n_pt);
   tree.Branch("pt", o.pt, "pt[n_pt]/F");
   tree.Branch("text", o.text, "text/C");
   tree.Branch("leaf", &o.leaf, "a/F:b/I:c/D");
   tree.Branch("word", &o.word);
   tree.Branch("words", &o.words);
   tree.Branch("map", &o.map);
   tree.Branch("split", &o.split, 32000, 99);
   tree.Branch("whole.", &o.whole, 32000, 0);
   tree.Branch("jets", &o.jets, 32000, 99);
   tree.Branch("unsplit", &o.unsplit, 32000, 0);
   tree.Branch("particles", &o.particles, 32000, 99);
   tree.Branch("named", &o.named, 32000, 0);
   tree.Branch("target", &o.target, 32000, 0);
   tree.Branch("ref", &o.ref, 32000, 0);
   // As the file has it, and old deflate.
   tree.GetBranch("leaf")->SetCompressionSettings(-1);
   tree.GetBranch("text")->SetCompressionSettings(301);
   auto put = [&](TClonesArray *array, int n) {
      array->Clear();
      for (int i = 0; i < n; ++i)
         ((TLorentzVector *)array->ConstructedAt(i))->SetPxPyPzE(random.Gaus(), i, o.run, random.Exp(20));
   };
   for (int entry = 0; entry < n_clusters * n_entries; ++entry) {
      o.run = 100000 * seed + entry;
      o.block = entry / n_entries;
      o.n_pt = random.Integer(8);
      for (int i = 0; i < o.n_pt; ++i) o.pt[i] = random.Exp(30);
      snprintf(o.text, sizeof(o.text), "t%u", random.Integer(100000));
      o.leaf = {float(random.Gaus()), entry, random.Gaus()};
      *o.word = std::string(random.Integer(8), 'q');
      o.words->clear();
      o.map->clear();
      for (int i = random.Integer(3); i > 0; --i) {
         o.words->push_back(std::to_string(random.Integer(1000)));
         (*o.map)["k" + std::to_string(i)] = o.words->back();
      }
      o.split->SetPxPyPzE(random.Gaus(), random.Gaus(), random.Gaus(), o.run);
      o.whole->SetPxPyPzE(o.run, 1, random.Gaus(), 3);
      put(o.jets, random.Integer(4));
      put(o.unsplit, random.Integer(3));
      // Numbers that might be pointers: a class, and what stands behind.
      o.particles->Clear();
      for (int i = 0, n = random.Integer(5); i < n; ++i) {
         auto draw = [&] { return i % 2 ? int(random.Integer(8000)) : -1; };
         new ((*o.particles)[i]) TParticle(22, 1, draw(), draw(), draw(), draw(), 0, 0, 0, 0, 0, 0, 0, 0);
      }
      o.named->Delete();
      for (int i = 0, n = random.Integer(5); i < n; ++i) {
         // It has pointers to nothing.
         if (i == 3) o.named->Add(new TAxis(o.run % 9 + 1, 0, 1));
         else if (i % 2) o.named->Add(new TNamed(("n" + std::to_string(o.run)).c_str(), "title"));
         else o.named->Add(new TObjString(std::to_string(o.run + i).c_str()));
      }
      // An object that the array has twice is written once.
      if (o.named->GetEntries() > 2) o.named->Add(o.named->At(1));
      o.target->SetName(("target" + std::to_string(o.run)).c_str());
      *o.ref = o.target;
      tree.Fill();
      if (o.named->GetEntries() > 3) o.named->RemoveAt(o.named->GetLast());
   }
   tree.SetAlias("scaled", "2*leaf.a");
   tree.BuildIndex("run", "block");
   tree.Write();
}
int nComplaints = 0;
std::string ToldObjects(const char *path, const char *name, int modulus, int low, const char *blocks) {
   nComplaints = 0;
   auto usual = SetErrorHandler([](int level, bool, const char *, const char *) { nComplaints += level >= kWarning; });
   TFile file(path);
   auto tree = file.Get<TTree>(name);
   std::ostringstream told;
   told.precision(17);
   Objects o;
   auto address = [&](const char *branch, auto *to) {
      if (tree->GetBranch(branch)) tree->SetBranchAddress(branch, to);
   };
   address("run", &o.run); address("block", &o.block); address("n_pt", &o.n_pt); address("pt", o.pt);
   address("text", o.text); address("leaf", &o.leaf); address("word", &o.word); address("words", &o.words);
   address("map", &o.map); address("split", &o.split); address("whole.", &o.whole); address("jets", &o.jets);
   address("particles", &o.particles);
   address("unsplit", &o.unsplit); address("named", &o.named); address("target", &o.target); address("ref", &o.ref);
   auto vectors = [&](TClonesArray *array) {
      for (auto one : *array) told << " " << ((TLorentzVector *)one)->Px() << "," << ((TLorentzVector *)one)->E();
   };
   for (Long64_t entry = 0; entry < tree->GetEntries(); ++entry) {
      tree->GetEntry(entry);
      bool is_wanted = o.run % modulus < low || strchr(blocks, '0' + o.block);
      if (!is_wanted) continue;
      told << o.run << " " << o.block << " " << o.text << " " << o.leaf.a << " " << o.leaf.b << " " << o.leaf.c;
      for (int i = 0; i < o.n_pt; ++i) told << " " << o.pt[i];
      told << " " << *o.word;
      for (auto &word : *o.words) told << " " << word;
      for (auto &pair : *o.map) told << " " << pair.first << "=" << pair.second;
      told << " " << o.split->Px() << " " << o.split->E() << " " << o.whole->Px() << " " << o.whole->Pz();
      vectors(o.jets);
      vectors(o.unsplit);
      for (auto one : *o.particles)
         told << " " << ((TParticle *)one)->GetFirstMother() << ((TParticle *)one)->GetSecondMother();
      for (auto one : *o.named) {
         told << " " << one->ClassName() << ":" << one->GetName();
         if (auto axis = dynamic_cast<TAxis *>(one)) told << axis->GetNbins() << (axis->GetLabels() ? "labels" : "");
      }
      if (o.named->GetEntries() > 3) told << " " << (o.named->Last() == o.named->At(1));
      told << " " << o.target->GetName() << " " << (o.ref->GetObject() ? o.ref->GetObject()->GetName() : "") << "\n";
   }
   SetErrorHandler(usual);
   if (nComplaints) told << nComplaints << " complaints of ROOT\n";
   return told.str();
}
"""


def _declare() -> None:
    if not hasattr(ROOT, "ToldObjects"):
        ROOT.gInterpreter.Declare(_OBJECTS)


def write_objects(path: str, seed: int, n_clusters: int, n_entries: int, name: str = "t") -> None:
    """Write a tree of objects of many kinds, with clusters of ``n_entries``, an alias and an index."""
    _declare()
    ROOT.WriteObjects(path, seed, n_clusters, n_entries, name)


def told_objects(path: str, name: str = "t", modulus: int = 1, low: int = 1, blocks: str = "") -> list[str]:
    """Return what ROOT reads of each entry with ``run % modulus < low`` or one of some blocks."""
    _declare()
    return str(ROOT.ToldObjects(path, name, modulus, low, blocks)).splitlines()


def write_pointers(path: str, classes: list[str]) -> None:
    """Write a tree of 20 entries with an array of pointers to objects of some classes in turn."""
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("t", "")
    array, k = ROOT.TObjArray(), np.zeros(1, dtype=np.int32)
    tree.Branch("array", "TObjArray", array, 32000, 0)
    tree.Branch("k", k, "k/I")
    for entry in range(20):
        k[0] = entry
        array.Clear()
        kept = [
            getattr(ROOT, name)() if name == "TNamed" else getattr(ROOT, name)(f"{name} {entry}")
            for name in classes
        ]
        for one in kept:
            if one.ClassName() == "TNamed":
                one.SetName(f"named {entry}")
            array.Add(one)
        tree.Fill()
    tree.Write()
    file.Close()


def told_pointers(path: str) -> list[list[str]]:
    """Return the classes and names that each entry points to."""
    file = ROOT.TFile(path)
    tree = file.Get("t")
    told = []
    for entry in range(tree.GetEntries()):
        tree.GetEntry(entry)
        told.append([f"{one.ClassName()} {one.GetName()}" for one in tree.array])
    return told


def told_of_tree(path: str, name: str = "t") -> dict[str, Any]:
    """Return the branches of a tree, their classes, and notes of it."""
    file = ROOT.TFile(path)
    tree = file.Get(name)

    def of(branches: Any) -> list[Any]:
        return [[str(b.GetName()), str(b.GetClassName()), of(b.GetListOfBranches())] for b in branches]

    aliases = tree.GetListOfAliases()
    index = tree.GetTreeIndex()
    return {
        "branches": of(tree.GetListOfBranches()),
        "aliases": [str(one.GetName()) for one in aliases] if aliases else [],
        "index": [index.GetMajorName(), index.GetMinorName(), int(index.GetN())] if index else [],
        "drawn": [float(tree.GetMinimum("jets.fE")), float(tree.GetMaximum("jets.fE"))]
        if tree.GetBranch("jets")
        else [],
        "friends": [str(one.GetName()) for one in tree.GetListOfFriends() or ()],
    }
