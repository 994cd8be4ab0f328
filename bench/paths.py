"""Where things are."""

from __future__ import annotations

import os
from pathlib import Path

from campaigns.programs import build

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
DEFINITIONS = HERE / "definitions"
CACHE, BIN = build.CACHE, build.BIN
#: A file system in memory, where the disk is no part of what is compared; else the cache.
IN_MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else CACHE  # noqa: S108 - in directories of their own there
#: Cargo's directory of release builds.
RELEASE = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target") / "release"
