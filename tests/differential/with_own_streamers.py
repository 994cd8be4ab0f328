"""Writes objects of classes that have streamers of their own. Started by test_own_streamers.py.

``with_own_streamers.py DIRECTORY`` compiles ``write_own_streamers.C`` there and writes files of as many entries as
their names say: ``1.root`` and ``5.root``. They have a tree and two RNTuples, ``N`` and ``M``, whose fields streamers
write: in ``M`` some classes are described, so that the file's descriptions do not count.
"""

from __future__ import annotations

import sys
from pathlib import Path

MACRO = Path(__file__).resolve().parent / "write_own_streamers.C"
SIZES = (1, 5)


def main() -> None:
    directory = Path(sys.argv[1])
    import root_session

    root_session.start_with(MACRO, directory)
    import ROOT

    for n_entries in SIZES:
        ROOT.own.write(f"{n_entries}.root", n_entries)


if __name__ == "__main__":
    main()
