"""Writes lists of entries with ROOT, and what is in them. Started by test_entry_lists.py.

``with_entry_lists.py DIRECTORY`` writes ``lists.root`` with a tree ``T`` and for each condition ``event_NAME`` and
``entry_NAME``, a list ``both`` of two trees, and ``lists.json``, the entries by condition.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

N_ENTRIES = 150_000
#: Of ``x``, for each entry.
STEP, MODULUS = 7919, 1000
#: Blocks of 64,000 entries are stored as bits, as the entries chosen, or as those that are not.
CONDITIONS = {
    "few": "x < 3",
    "half": "x < 500",
    "most": "x < 990",
    "all": "1",
    "none": "0",
    "begin": "Entry$ < 70000",
}


def write(directory: Path) -> None:
    """Write both files."""
    import ROOT

    path = str(directory / "lists.root")
    frame = ROOT.RDataFrame(N_ENTRIES).Define("x", f"int((rdfentry_ * {STEP}) % {MODULUS})")
    frame.Snapshot("T", path, ["x"])
    file = ROOT.TFile(path, "UPDATE")
    tree = file.Get("T")
    chosen = {}
    for name, condition in CONDITIONS.items():
        tree.Draw(f">>event_{name}", condition)
        tree.Draw(f">>entry_{name}", condition, "entrylist")
        events, entries = (file.Get(f"{kind}_{name}") for kind in ("event", "entry"))
        chosen[name] = [events.GetEntry(i) for i in range(events.GetN())]
        assert entries.GetN() == events.GetN()
        entries.OptimizeStorage()
        events.Write()
        entries.Write()
    other = ROOT.TEntryList("other", "", "U", "elsewhere.root")
    other.Enter(7)
    both = ROOT.TEntryList("both", "")
    both.Add(file.Get("entry_few"))
    both.Add(other)
    both.Write()
    file.Close()
    (directory / "lists.json").write_text(json.dumps(chosen))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
