"""``arrowroot lab cache``: what the laboratory has made once and keeps, and away with it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from arrowroot_lab.campaign.datasets import cache_directory, locked, size_of
from arrowroot_lab.engines.builds import lock_of
from arrowroot_lab.quantities import size_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

#: Directories of the cache whose entries are kept.
_ROOMS = ("datasets", "environments", "campaigns")

_DESCRIPTION = """\
Lists what the laboratory has made once and keeps: datasets of recipes, environments of other versions of engines, and
campaigns of commits.
What is removed is made again when a campaign needs it.

examples:
  arrowroot lab cache
  arrowroot lab cache --remove environments
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = add("cache", _DESCRIPTION)
    parser.add_argument("--remove", choices=[*_ROOMS, "all"], help="remove it")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace) -> int:
    """List, or remove."""
    top = cache_directory()
    removed = list(_ROOMS) if options.remove == "all" else [options.remove] if options.remove else []
    freed = 0
    for room in removed:
        for path in _entries(top / room):
            # Whoever makes it, or looks for it, at this moment is waited for.
            lock = lock_of(path) if room == "environments" else path.with_suffix(".lock")
            with locked(lock):
                if path.exists():
                    freed += size_of(path)
                    shutil.rmtree(path)
    if "datasets" in removed:
        shutil.rmtree(top / "identities", ignore_errors=True)
    kept = [(room, path, size_of(path)) for room in _ROOMS for path in _entries(top / room)]
    if options.json:
        told = [{"kind": room, "path": str(path), "bytes": n_bytes} for room, path, n_bytes in kept]
        form = {"form": "arrowroot-lab.cache/1", "directory": str(top), "freed_bytes": freed}
        print(json.dumps({**form, "kept": told}))
        return 0
    if removed:
        print(f"removed {size_text(freed)}")
    for room, path, n_bytes in kept:
        print(f"{size_text(n_bytes):>10}  {room:12}  {path}")
    print(
        f"{size_text(sum(n_bytes for *_, n_bytes in kept)):>10}  in {top}; ARROWROOT_LAB_CACHE names another place"
    )
    return 0


def _entries(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*") if path.is_dir()) if directory.is_dir() else []
