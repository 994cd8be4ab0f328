"""Print the text of a release, which is its section of the changelog, if all files agree that it is this version.

usage: release_text.py TAG
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
#: Where the version stands, and how.
VERSIONS = {
    "Cargo.toml": r'^version = "(.+)"$',
    "lab/pyproject.toml": r'^version = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "packaging/conda/recipe.yaml": r'^  version: "(.+)"$',
}


def main(tag: str) -> None:
    """Print the text, or say what is not as the tag has it."""
    version = tag.removeprefix("v")
    problems = []
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, (REPOSITORY / name).read_text(encoding="utf-8"), re.MULTILINE)
        if found is None or found[1] != version:
            problems.append(f"{name} has version {found[1] if found else 'none'}")
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n"
    section = re.search(rf"{heading}(.*?)(?=^## |^\[|\Z)", changes, re.MULTILINE | re.DOTALL)
    if section is None:
        problems.append(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'")
    if section is None or problems:
        sys.exit(f"release_text.py: {tag} cannot be released: {'; '.join(problems)}")
    print(section[1].strip())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit((__doc__ or "").strip())
    main(sys.argv[1])
