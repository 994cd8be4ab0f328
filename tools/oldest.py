"""Print what arrowroot, its extras and its tests require, each at the oldest version that `pyproject.toml` allows.

usage: oldest.py [pyproject.toml]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REQUIREMENT = re.compile(r"(?P<name>[\w-]+)(?P<extras>\[\w+\])?>=(?P<version>[\d.]+)")
# Packages of the tests of servers and of the laboratory, which are not run with it.
NOT_USED = {"psycopg", "xrootd"}


def of_group(groups: dict[str, list[str | dict[str, str]]], name: str) -> list[str]:
    """Return the requirements of a dependency group, those of the groups that it includes too."""
    wanted = []
    for one in groups[name]:
        wanted += [one] if isinstance(one, str) else of_group(groups, one["include-group"])
    return wanted


def oldest(project: Path) -> list[str]:
    """Return "name==version" for each package; of two bounds the higher one."""
    content = tomllib.loads(project.read_text(encoding="utf-8"))
    wanted = [*content["project"]["dependencies"], *of_group(content["dependency-groups"], "test")]
    for extra in content["project"]["optional-dependencies"].values():
        wanted += [requirement for requirement in extra if not requirement.startswith("arrowroot[")]
    versions: dict[str, tuple[int, ...]] = {}
    extras: dict[str, str] = {}
    for requirement in wanted:
        found = REQUIREMENT.match(requirement)
        if found is None:
            sys.exit(f"oldest.py: {requirement!r} has no lower bound")
        name = found["name"]
        if name in NOT_USED:
            continue
        version = tuple(map(int, found["version"].split(".")))
        versions[name] = max(version, versions.get(name, version))
        extras[name] = found["extras"] or extras.get(name, "")
    return [f"{name}{extras[name]}=={'.'.join(map(str, version))}" for name, version in versions.items()]


if __name__ == "__main__":
    print("\n".join(oldest(Path(*sys.argv[1:2] or ["pyproject.toml"]))))
