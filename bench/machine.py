"""The kind of machine and the versions, without anything that tells which machine it is; and the date."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import re
import sysconfig
from pathlib import Path

PACKAGES = ("ROOT", "awkward", "numpy", "uproot", "xrootd")
#: A header of ROOT's wheel, whose own version says nothing to people.
ROOT_VERSION = Path(sysconfig.get_path("purelib")) / "ROOT" / "include" / "ROOT" / "RVersion.hxx"


def machine() -> str:
    """Processor, cores, memory and load at this moment."""
    cpus = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = cpus[0].partition(":")[2].strip() if cpus else platform.machine()
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (
        f"{model}, {os.cpu_count()} cores, {memory_bytes / 2**30:.0f} GiB, "
        f"load {os.getloadavg()[0]:.1f} at the start"
    )


def packages() -> str:
    """The versions of the peers."""
    found = []
    for name in PACKAGES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.append(f"ROOT {_root_version() or version}" if name == "ROOT" else f"{name} {version}")
    return ", ".join(found)


def _root_version() -> str | None:
    """ROOT's own version, as 6.40.00; None: its wheel does not tell it."""
    if not ROOT_VERSION.exists():
        return None
    numbers = re.findall(r"#define ROOT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", ROOT_VERSION.read_text())
    major, minor, patch = map(int, numbers)
    return f"{major}.{minor:02d}.{patch:02d}"


def today() -> str:
    """The date of a measurement."""
    return dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
