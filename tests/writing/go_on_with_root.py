"""Runs in a Python that has ROOT: what ROOT does with files that others wrote.

``go_on_with_root.py WHAT LAYOUT OUT FILE...``: WHAT is ``merge`` (as hadd does), ``merge-anew`` (as hadd with another
codec, which takes the entries apart), ``snapshot``, ``update``, or ``zlib`` (entries filled anew, as ROOT compresses).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.differential.root_session import start


def merge(root: Any, out: str, files: list[str], *, compression: int | None) -> None:
    merger = root.TFileMerger(False)
    merger.SetFastMethod(compression is None)
    opened = merger.OutputFile(out, "RECREATE", *([] if compression is None else [compression]))
    if not opened or not all(merger.AddFile(path) for path in files) or not merger.Merge():
        sys.exit("the files cannot be merged")


def snapshot(root: Any, layout: str, out: str, file: str) -> None:
    frame = root.RDataFrame("Events", file)
    options = root.RDF.RSnapshotOptions()
    formats = root.RDF.ESnapshotOutputFormat
    options.fOutputFormat = formats.kRNTuple if layout == "rntuple" else formats.kTTree
    names = [str(name) for name in frame.GetColumnNames() if "." not in str(name)]
    frame.Snapshot("Events", out, names, options)


def update(root: Any, out: str, file: str) -> None:
    """Add objects and a directory, write one twice, delete another: the file gets a gap and a cycle."""
    shutil.copyfile(file, out)
    opened = root.TFile(out, "UPDATE")
    root.TNamed("first", "x" * 500).Write()
    root.TNamed("second", "title").Write()
    opened.mkdir("added").cd()
    histogram = root.TH1D("h", "", 5, 0, 1)
    histogram.Fill(0.5)
    histogram.Write()
    opened.Close()
    opened = root.TFile(out, "UPDATE")
    opened.Delete("first;*")
    root.TNamed("second", "other").Write()
    opened.Close()


def zlib(root: Any, out: str, file: str) -> None:
    """Fill a tree anew with ROOT's zlib 1 and size of baskets."""
    opened = root.TFile(file)
    made = root.TFile(out, "RECREATE", "", 101)
    tree = opened.Get("Events")
    copy = tree.CloneTree(0)
    for branch in copy.GetListOfBranches():
        branch.SetCompressionSettings(101)
        branch.SetBasketSize(32000)
    copy.CopyEntries(tree)
    made.Write()
    made.Close()


def main() -> None:
    what, layout, out, *files = sys.argv[1:]
    start(Path(out).parent)
    import ROOT

    if what == "merge":
        merge(ROOT, out, files, compression=None)
    elif what == "merge-anew":
        merge(ROOT, out, files, compression=404)
    elif what == "snapshot":
        snapshot(ROOT, layout, out, files[0])
    elif what == "update":
        update(ROOT, out, files[0])
    elif what == "zlib":
        zlib(ROOT, out, files[0])
    else:
        sys.exit(f"what is {what}?")


main()
