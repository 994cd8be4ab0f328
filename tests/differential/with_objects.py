"""Writes objects of many classes with ROOT, and what ROOT's JSON says of them. Started by test_objects.py.

``with_objects.py DIRECTORY`` compiles ``write_objects.C`` there and writes ``SPLIT_MODE.root`` and ``.json``: for each
entry and branch, in turn, one text of JSON; and ``hollow.root``, with what ROOT stores nothing of.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MACRO = Path(__file__).resolve().parent / "write_objects.C"
N_ENTRIES = 40


def main() -> None:
    directory = Path(sys.argv[1])
    import root_session

    root_session.start_with(MACRO, directory)
    import ROOT

    for split in (0, 1, 99):
        for mode, member_wise in (("members", True), ("objects", False)):
            lines = ROOT.std.vector("std::string")()
            path = directory / f"{split}_{mode}"
            ROOT.ar.write(f"{path}.root", N_ENTRIES, split, member_wise, lines)
            path.with_suffix(".json").write_text(json.dumps([str(line) for line in lines]))
    ROOT.ar.write_hollow(str(directory / "hollow.root"), N_ENTRIES)


if __name__ == "__main__":
    main()
