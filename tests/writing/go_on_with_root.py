"""What ROOT does with files that others wrote: run in its process."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.judge.lazy import ROOT

from .read_with_root import apart

if TYPE_CHECKING:
    from pathlib import Path


def merge(out: Path, *files: Path, compression: int | None = None) -> None:
    """Merge files, as hadd does."""
    merger = ROOT.TFileMerger(False)
    merger.SetFastMethod(compression is None)
    opened = merger.OutputFile(str(out), "RECREATE", *([] if compression is None else [compression]))
    if not opened or not all(merger.AddFile(str(path)) for path in files) or not merger.Merge():
        raise RuntimeError("the files cannot be merged")


def merge_anew(out: Path, *files: Path) -> None:
    """Merge files with another codec: the entries are taken apart."""
    merge(out, *files, compression=404)


def snapshot(layout: str, out: Path, file: Path) -> None:
    """Copy a table by RDataFrame."""
    frame = ROOT.RDataFrame("Events", str(file))
    options = ROOT.RDF.RSnapshotOptions()
    formats = ROOT.RDF.ESnapshotOutputFormat
    options.fOutputFormat = formats.kRNTuple if layout == "rntuple" else formats.kTTree
    names = [str(name) for name in frame.GetColumnNames() if "." not in str(name)]
    frame.Snapshot("Events", str(out), names, options)


def update(out: Path, file: Path) -> None:
    """Add objects and a directory, write one twice, delete another: the file gets a gap and a cycle."""
    shutil.copyfile(file, out)
    opened = ROOT.TFile(str(out), "UPDATE")
    ROOT.TNamed("first", "x" * 500).Write()
    ROOT.TNamed("second", "title").Write()
    opened.mkdir("added").cd()
    histogram = ROOT.TH1D("h", "", 5, 0, 1)
    histogram.Fill(0.5)
    histogram.Write()
    opened.Close()
    opened = ROOT.TFile(str(out), "UPDATE")
    opened.Delete("first;*")
    ROOT.TNamed("second", "other").Write()
    opened.Close()


def go_on(files: list[Path]) -> list[bool]:
    """Make ``merged-NAME`` of each file twice, and ``updated-NAME``. Returns: True for those that ROOT crashed of."""

    def both(file: Path) -> None:
        merge(file.with_name(f"merged-{file.name}"), file, file)
        update(file.with_name(f"updated-{file.name}"), file)

    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    return [found is not None for found in apart(files, both)]


def zlib(out: Path, file: Path) -> None:
    """Fill a tree anew with ROOT's zlib 1 and size of baskets."""
    opened = ROOT.TFile(str(file))
    made = ROOT.TFile(str(out), "RECREATE", "", 101)
    tree = opened.Get("Events")
    copy = tree.CloneTree(0)
    for branch in copy.GetListOfBranches():
        branch.SetCompressionSettings(101)
        branch.SetBasketSize(32000)
    copy.CopyEntries(tree)
    made.Write()
    made.Close()
