"""Writes classes of ROOT as bases, members and items, and what ROOT's JSON says of them. Started by test_bases.py.

``with_bases.py DIRECTORY`` compiles ``write_bases.C`` there and writes, for each of the types,
``NUMBER_SPLIT_MODE.root`` and ``.json``: for each entry and branch, in turn, one text of JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

MACRO = Path(__file__).resolve().parent / "write_bases.C"
N_ENTRIES = 9
SPLITS = (0, 1, 99)
MODES = ("members", "objects")
TYPES = [
    "TObject",
    "TNamed",
    "ar::Quiet",
    "ar::Number",
    "TObjString",
    "TLorentzVector",
    "TVector2",
    "TParameter<double>",
    "TGraph",
    "TH1F",
    "TMatrixD",
    "TArrayD",
    "ROOT::Math::PtEtaPhiMVector",
]
_LINKED = (
    "ar::Derived<{}>",
    "ar::Holder<{}>",
    "std::vector<{}>",
    "std::vector<std::vector<{}>>",
    "std::map<int, {}>",
    "std::vector<ar::Derived<{}>>",
)


def main() -> None:
    directory = Path(sys.argv[1])
    macro = Path(shutil.copy(MACRO, directory))
    links = [f"#pragma link C++ class {linked.format(name)}+;\n" for name in TYPES for linked in _LINKED]
    (directory / "links.h").write_text("".join(links))
    import root_session

    root_session.start_with(macro, directory)
    import ROOT

    for number, name in enumerate(TYPES):
        for split in SPLITS:
            for mode in MODES:
                path = directory / f"{number}_{split}_{mode}"
                lines = ROOT.ar.write[name](f"{path}.root", N_ENTRIES, split, mode == "members")
                path.with_suffix(".json").write_text(json.dumps([str(line) for line in lines]))


if __name__ == "__main__":
    main()
