"""Writes objects in ROOT's collections and behind pointers to bases, and what ROOT reads. Started by test_holders.py.

``with_holders.py DIRECTORY`` compiles ``write_holders.C`` there and writes ``SPLIT.root`` and ``SPLIT.json``: for each
entry and branch, in turn, one text of JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MACRO = Path(__file__).resolve().parent / "write_holders.C"
N_ENTRIES = 24
#: Entries in a basket.
N_FLUSH = 6


def main() -> None:
    directory = Path(sys.argv[1])
    import root_session

    root_session.start_with(MACRO, directory)
    import ROOT

    for split in (0, 99):
        path = directory / f"{split}.root"
        ROOT.held.write(str(path), N_ENTRIES, split, N_FLUSH)
        lines = ROOT.std.vector("std::string")()
        ROOT.held.read(str(path), lines)
        path.with_suffix(".json").write_text(json.dumps([str(line) for line in lines]))


if __name__ == "__main__":
    main()
