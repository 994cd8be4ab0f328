"""Writes crates/format/src/streamer/builtin.bin: what ROOT says of its own classes that files hold most often.

A file that was not closed has lost its descriptions of classes; those of these classes are then taken from here.
So is what a file that arrowroot writes says of them.

usage: python tools/builtin_classes.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import ROOT

OUTPUT = Path(__file__).parents[1] / "crates/format/src/streamer/builtin.bin"
NUMBERS = ("double", "float", "int", "Long64_t", "bool", "long")
LEAVES = ("B", "S", "I", "L", "G", "F", "D", "O", "C", "F16", "D32", "Element", "Object")
CLASSES = [
    "TNamed",
    "TObjString",
    *(f"TH{n}{kind}" for n in (1, 2, 3) for kind in "CSILFD"),
    "TH2Poly",
    "TH2PolyBin",
    "TProfile",
    "TProfile2D",
    "TProfile3D",
    *(f"THnSparseT<TArray{kind}>" for kind in ("D", "F", "L64", "I", "S", "C")),
    "THnSparseArrayChunk",
    "THStack",
    "TGraph",
    "TGraphErrors",
    "TGraphAsymmErrors",
    "TGraphBentErrors",
    "TGraphMultiErrors",
    "TGraph2D",
    "TGraph2DErrors",
    "TGraph2DAsymmErrors",
    "TMultiGraph",
    "TEfficiency",
    "TF1",
    "TF2",
    "TF3",
    "TF1AbsComposition",
    "TF1NormSum",
    "TF1Convolution",
    "TFormula",
    *(f"TParameter<{number}>" for number in NUMBERS),
    "TVectorT<double>",
    "TVectorT<float>",
    "TMatrixT<double>",
    "TMatrixT<float>",
    "TMatrixTSym<double>",
    "TMatrixTSym<float>",
    "TTime",
    "TLorentzVector",
    "TVector2",
    "TVector3",
    "TProcessID",
    "TMacro",
    "TCanvas",
    "TColor",
    "TClonesArray",
    "TMap",
    "TRefTable",
    "TChainElement",
    "TEntryList",
    "TEntryListBlock",
    "TEventList",
    "TLine",
    "TBox",
    "TLatex",
    "TPaveText",
    "TPaveStats",
    "TPaletteAxis",
    "TLegend",
    "TLegendEntry",
    "TPave",
    "TPaveLabel",
    "TText",
    "TPolyLine",
    "TPolyMarker",
    "TStyle",
    "TPad",
    "TFrame",
    "TGaxis",
    "TCutG",
    "TArrow",
    "TEllipse",
    "TMarker",
    "TTree",
    "ROOT::TIOFeatures",
    "TBranch",
    "TBranchElement",
    "TBranchRef",
    "TVirtualIndex",
    "TFriendElement",
    "TTreePerfStats",
    *(f"TLeaf{kind}" for kind in LEAVES),
    "ROOT::RNTuple",
]
_ZSTD = 519
# Where the header has the place of the record, and the record its length and that of its key.
_SEEK_INFO_AT = 37
_KEY_BYTES_AT = 14


def main() -> None:
    """Write a file with one object of each class, and take its record."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "classes.root"
        file = ROOT.TFile(str(path), "recreate", "", _ZSTD)
        for name in CLASSES:
            kind = ROOT.TClass.GetClass(name)
            if not kind:
                sys.exit(f"{name}: ROOT does not know this class")
            described(kind, file)
        file.Close()
        data = path.read_bytes()
    begin = int.from_bytes(data[_SEEK_INFO_AT : _SEEK_INFO_AT + 4], "big")
    record = data[begin:][: int.from_bytes(data[begin : begin + 4], "big")]
    object_bytes = record[6:10]
    record = object_bytes + record[int.from_bytes(record[_KEY_BYTES_AT : _KEY_BYTES_AT + 2], "big") :]
    OUTPUT.write_bytes(record)
    print(f"{OUTPUT}: {len(record)} bytes")


def described(kind: object, file: object, seen: set[str] = set()) -> None:  # noqa: B006 - one set for all
    """Have the file describe a class, its bases and the classes of its members."""
    name = kind.GetName()
    if name in seen or not kind.HasDictionary():
        return
    seen.add(name)
    info = kind.GetStreamerInfo()
    info.ForceWriteInfo(file, True)
    for element in info.GetElements():
        inner = ROOT.TClass.GetClass(element.GetTypeName().rstrip("*")) or element.GetClassPointer()
        if element.IsBase():
            inner = element.GetClassPointer()
        # ROOT describes no abstract class for pointers to nothing.
        is_abstract = inner and inner.Property() & ROOT.kIsAbstract and not element.IsBase()
        if inner and not inner.GetCollectionProxy() and not is_abstract:
            described(inner, file)


if __name__ == "__main__":
    main()
