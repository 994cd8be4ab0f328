"""Runs in a Python that has ROOT: writes trees with records of Arrow schemas in their user information.

``record_with_root.py DIRECTORY TEXTS``: for each name and text of the JSON file, ``NAME.root`` with that record.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.differential.root_session import start

CODE = r"""
#include <TFile.h>
#include <TNamed.h>
#include <TTree.h>

void write_recorded(const char *path, const char *text)
{
   TFile file(path, "recreate");
   TTree tree("T", "");
   int x, y;
   tree.Branch("x", &x, "x/I"); tree.Branch("y", &y, "y/I");
   for (x = 0; x < 3; ++x) { y = 10 * x; tree.Fill(); }
   tree.GetUserInfo()->Add(new TNamed("ARROW:schema", text));
   tree.Write();
}
"""


def main() -> None:
    texts = json.loads(Path(sys.argv[2]).read_text())
    start(Path(sys.argv[1]))
    import ROOT

    ROOT.gInterpreter.Declare(CODE)
    for name, text in texts.items():
        ROOT.write_recorded(f"{name}.root", text)


main()
