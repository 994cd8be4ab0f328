"""Prints what is wrong with files. The status is 1 if anything is."""

from __future__ import annotations

import sys
from pathlib import Path

from . import violations


def main() -> int:
    status = 0
    for name in sys.argv[1:]:
        found = violations(Path(name))
        print(f"{name}: {len(found) or 'nothing'} wrong")
        for one in found:
            print(f"  {one}")
        status |= bool(found)
    return status


sys.exit(main())
