"""Writes objects of classes that have one base twice. Started by test_diamonds.py.

``with_diamonds.py DIRECTORY`` compiles ``write_diamonds.C`` there and writes ``diamonds.root``.
"""

from __future__ import annotations

import sys
from pathlib import Path

MACRO = Path(__file__).resolve().parent / "write_diamonds.C"
N_ENTRIES = 6


def main() -> None:
    directory = Path(sys.argv[1])
    import root_session

    root_session.start_with(MACRO, directory)
    import ROOT

    ROOT.diamond.write("diamonds.root", N_ENTRIES)


if __name__ == "__main__":
    main()
