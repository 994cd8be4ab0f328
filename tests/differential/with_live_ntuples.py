"""Writes files of RNTuples and trees with ROOT and copies them in the middle, or says what ROOT reads of the copies.

Run in ROOT's process. The copies, ``look_NAME_NUMBER.root``, have the number of each entry in ``x``; of each there is
one whose key list is marked as free.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

from tests.judge import macros
from tests.judge.lazy import ROOT

WRITE = r"""
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>

struct Looks {
  std::string name;
  int number = 0;
  void operator()() {
    char copy[200];
    snprintf(copy, sizeof copy, "look_%s_%03d.root", name.c_str(), number++);
    gSystem->CopyFile((name + ".root").c_str(), copy, true);
  }
};

auto new_model() {
  auto model = ROOT::RNTupleModel::Create();
  model->MakeField<int>("x");
  model->MakeField<std::vector<int>>("v");
  return model;
}

void fill(ROOT::RNTupleWriter &writer, int &n, int n_more) {
  auto x = writer.GetModel().GetDefaultEntry().GetPtr<int>("x");
  auto v = writer.GetModel().GetDefaultEntry().GetPtr<std::vector<int>>("v");
  for (int i = 0; i < n_more; ++i, ++n) {
    *x = n;
    v->assign(n % 4, n);
    writer.Fill();
  }
}

void fill(TTree &tree, int &n, int &x, int n_more) {
  for (int i = 0; i < n_more; ++i) {
    x = n++;
    tree.Fill();
  }
}

// An RNTuple and a tree in one file, which are saved in turns.
void together(const char *name, const char *directory) {
  Looks look{name};
  TFile file((std::string(name) + ".root").c_str(), "RECREATE", "", 505);
  look();
  TDirectory *where = *directory ? file.mkdir(directory) : &file;
  file.cd();
  TTree tree("T", "");
  tree.SetAutoFlush(50);
  int n = 0, n_tree = 0, x = 0;
  tree.Branch("x", &x, 4000);
  {
    auto writer = ROOT::RNTupleWriter::Append(new_model(), "N", *where);
    look();
    for (int round = 0; round < 8; ++round) {
      fill(*writer, n, 300);
      fill(tree, n_tree, x, 70);
      look();
      if (round % 2) { writer->CommitCluster(); look(); }
      switch (round % 4) {
        case 0: tree.AutoSave("SaveSelf"); break;
        case 1: file.SaveSelf(); break;
        case 2: tree.AutoSave("SaveSelf FlushBaskets"); break;
        default: file.Write();
      }
      look();
    }
  }
  look();
  fill(tree, n_tree, x, 70);
  tree.AutoSave("SaveSelf");
  look();
  if (*directory) { where->SaveSelf(); look(); }
  {
    int m = 0;
    auto writer = ROOT::RNTupleWriter::Append(new_model(), "M", *where);
    fill(*writer, m, 300);
    writer->CommitCluster();
    look();
    tree.AutoSave("SaveSelf");
    look();
  }
  look();
  file.SaveSelf();
  look();
  {
    // Another cycle of the first.
    int m = 0;
    auto writer = ROOT::RNTupleWriter::Append(new_model(), "N", *where);
    fill(*writer, m, 500);
    writer->CommitCluster();
    look();
    file.SaveSelf();
    look();
  }
  look();
  file.Write("", TObject::kOverwrite);
  look();
  tree.ResetBranchAddresses();
  file.Close();
  look();
}

// A file of one RNTuple alone, which no TFile writes.
void alone(const char *name) {
  Looks look{name};
  int n = 0;
  auto writer = ROOT::RNTupleWriter::Recreate(new_model(), "N", std::string(name) + ".root");
  look();
  for (int round = 0; round < 4; ++round) {
    fill(*writer, n, 20000);
    look();
    writer->CommitCluster();
    look();
  }
  writer.reset();
  look();
  // It is opened again for more.
  TFile file((std::string(name) + ".root").c_str(), "UPDATE");
  look();
  {
    int m = 0;
    auto more = ROOT::RNTupleWriter::Append(new_model(), "M", file);
    fill(*more, m, 300);
    more->CommitCluster();
    look();
    TTree tree("T", "");
    int x = 0, k = 0;
    tree.Branch("x", &x);
    fill(tree, k, x, 70);
    tree.AutoSave("SaveSelf");
    look();
    tree.ResetBranchAddresses();
  }
  look();
  file.Write();
  look();
  file.Close();
  look();
}

void write_all() {
  together("top", "");
  together("inside", "d");
  alone("alone");
}
"""

READ = r"""
#include <ROOT/RNTuple.hxx>
#include <ROOT/RNTupleReader.hxx>

// Entries whose values are right; -1: it cannot be opened, or some are wrong.
long n_right(ROOT::RNTupleReader &reader) {
  auto x = reader.GetView<int>("x");
  auto v = reader.GetView<std::vector<int>>("v");
  for (auto i : reader.GetEntryRange())
    if (x(i) != int(i) || v(i) != std::vector<int>(i % 4, int(i))) return -1;
  return reader.GetNEntries();
}

long by_name(const char *path, const char *name) {
  try {
    auto reader = ROOT::RNTupleReader::Open(name, path);
    return n_right(*reader);
  } catch (const std::exception &) { return -1; }
}

long by_key(TFile &file, const char *name) {
  try {
    auto anchor = file.Get<ROOT::RNTuple>(name);
    if (!anchor) return -1;
    auto reader = ROOT::RNTupleReader::Open(*anchor);
    return n_right(*reader);
  } catch (const std::exception &) { return -1; }
}
"""
NAMES = ("N", "M", "d/N", "d/M")


def _free_key_list(path: Path) -> None:
    """Copy a file as it is where a writer has freed the root directory's key list and not yet written the next one."""
    content = bytearray(path.read_bytes())
    if len(content) < 100:
        return
    # Of a file of less than 2 GB: fBEGIN, fNbytesName; in the directory's record, fSeekKeys.
    begin, n_bytes_name = struct.unpack_from(">8xi16xi", content)
    if len(content) < begin + n_bytes_name + 30:
        return
    (seek_keys,) = struct.unpack_from(">i", content, begin + n_bytes_name + 26)
    if 0 < seek_keys < len(content) - 4:
        (n_bytes,) = struct.unpack_from(">i", content, seek_keys)
        struct.pack_into(">i", content, seek_keys, -abs(n_bytes))
        path.with_name(f"{path.stem}_freed.root").write_bytes(content)


def _seen(path: Path) -> dict[str, int]:
    seen = {name: ROOT.by_name(str(path), name) for name in NAMES}
    try:
        file = ROOT.TFile.Open(str(path))
    except OSError:
        file = None
    if file and not file.IsZombie():
        for name in NAMES:
            seen[name] = max(seen[name], ROOT.by_key(file, name))
        tree = file.Get("T")
        if tree and isinstance(tree, ROOT.TTree):
            right = all(entry.x == number for number, entry in enumerate(tree))
            seen["T"] = int(tree.GetEntries()) if right else -1
        file.Close()
    return {name: n for name, n in seen.items() if n >= 0}


def _apart(path: Path) -> dict[str, int] | None:
    """Look in a process of its own: ROOT may end with it. None: it did."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, json.dumps(_seen(path)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        text = said.read()
    os.waitpid(child, 0)
    found: dict[str, int] | None = json.loads(text) if text else None
    return found


def write() -> None:
    """Write the files, with a copy at each look."""
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    macros.declare(WRITE)
    ROOT.write_all()
    for path in sorted(Path.cwd().glob("look_*.root")):
        _free_key_list(path)


def read() -> dict[str, dict[str, int] | None]:
    """Return what ROOT reads of each copy: entries by name."""
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    macros.declare(READ)
    _seen(Path("nothing.root"))  # compiles what all need
    return {path.name: _apart(path) for path in sorted(Path.cwd().glob("look_*.root"))}
