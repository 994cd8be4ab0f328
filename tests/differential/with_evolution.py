"""Writes a class in two versions whose members differ in type, and what ROOT reads. Started by test_evolution.py.

``with_evolution.py VERSION DIRECTORY``, for ``first`` and then for ``second``: compiles ``write_evolution.C`` for that
version and adds its trees to files called ``SPLIT_WAY.root``, in which collections are stored object by object or
member by member. What this version reads of all trees that are there is in ``VERSION.json``, by file and tree.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MACRO = Path(__file__).resolve().parent / "write_evolution.C"
N_ENTRIES = 8
SPLITS = (0, 99)
#: Whether collections are stored member by member.
WAYS = (0, 1)
NAMES = ("Evolved", "Resized", "Replaced", "Arrays")
#: Of these ROOT's second version reads the first one wrong.
MISREAD = ("Arrays",)
VERSIONS = ("first", "second")


def main() -> None:
    version, directory = sys.argv[1], Path(sys.argv[2])
    macro = directory / f"{version}.C"
    macro.write_text(("#define SECOND\n" if version == "second" else "") + MACRO.read_text())
    import root_session

    root_session.start_with(macro, directory)
    import ROOT

    said = {}
    for split in SPLITS:
        for way in WAYS:
            file = f"{split}_{way}.root"
            ROOT.evo.write_all(file, version, split, bool(way), N_ENTRIES)
            for stored in VERSIONS[: VERSIONS.index(version) + 1]:
                # Where members are branches, ROOT writes past the end of what has become smaller.
                if split and stored != version:
                    continue
                for name in NAMES:
                    if name in MISREAD and stored != version:
                        continue
                    lines = ROOT.std.vector("std::string")()
                    ROOT.evo.read(file, name, stored, lines)
                    said[f"{file} {name}_{stored}"] = [str(line) for line in lines]
    Path(f"{version}.json").write_text(json.dumps(said))


if __name__ == "__main__":
    main()
