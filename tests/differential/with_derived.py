"""Writes objects of classes derived from ROOT's. Started by test_derived.py.

``with_derived.py DIRECTORY`` compiles ``write_derived.C`` there and writes ``derived.root``, ``trees.root`` (trees of
such classes, and inside of other objects), ``one.root`` and ``many.root`` (with trees in lists alone), and
``boxes.root`` (an RNTuple of objects whose numbers are packed).
"""

from __future__ import annotations

import sys
from pathlib import Path

MACRO = Path(__file__).resolve().parent / "write_derived.C"


def main() -> None:
    directory = Path(sys.argv[1])
    import root_session

    root_session.start_with(MACRO, directory)
    import ROOT

    ROOT.derived.write("derived.root")
    ROOT.derived.write_trees("trees.root")
    ROOT.derived.write_inside()
    ROOT.derived.write_boxes("boxes.root")


if __name__ == "__main__":
    main()
