"""Counts lines of source by room, without blanks, comments and documentation, as pygount (PyPI) counts them.

    python tools/lines.py 478674b6 HEAD

Files of tests count apart; tests at the end of a Rust file count with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path, PurePath

REPOSITORY = Path(__file__).parents[1]


def room_of(path: PurePath) -> str:
    """Name the room of a file, and if it is one of tests."""
    first, *rest = path.parts
    if first == "tests":
        return "tests"
    is_test = "tests" in rest or path.name == "tests.rs"
    return f"{first}/{rest[0]}" + (" (tests)" if is_test else "") if first == "crates" else first


def counted(commit: str) -> Counter[str]:
    """Count the lines of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        archive = ["git", "-C", str(REPOSITORY), "archive", commit]
        tree = subprocess.run(archive, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=tree, check=True)
        counting = ["pygount", "--format=json", "--suffix=py,pyi,rs", folder]
        found = json.loads(subprocess.run(counting, check=True, capture_output=True).stdout)
        rooms: Counter[str] = Counter()
        for file in found["files"]:
            rooms[room_of(PurePath(file["path"]).relative_to(folder))] += file["sourceCount"]
    return rooms


def main(commits: list[str]) -> None:
    """Print a line for each room."""
    tables = [counted(commit) for commit in commits]
    rooms = sorted(set().union(*tables))
    product, tests = (
        [room for room in rooms if ("tests" in room) is are_tests] for are_tests in (False, True)
    )
    print("| room |", " | ".join(commits), "|\n|---|" + "---:|" * len(commits))
    for name, parts in [*((room, [room]) for room in rooms), ("product", product), ("tests", tests)]:
        print(f"| {name} |", " | ".join(f"{sum(table[part] for part in parts):,}" for table in tables), "|")


if __name__ == "__main__":
    main(sys.argv[1:] or ["HEAD"])
