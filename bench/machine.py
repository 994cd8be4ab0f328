"""The kind of machine and the versions, without anything that tells which machine it is; and the date."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import re
from pathlib import Path

PACKAGES = ("ROOT", "awkward", "numpy", "uproot", "xrootd")


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
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.append(f"{name} {_root_version(package) if name == 'ROOT' else package.version}")
    return ", ".join(found)


def _root_version(package: importlib.metadata.Distribution) -> str:
    """Return ROOT's own version: that of its package (0.1a12 of 6.40.00) says nothing to a user of ROOT."""
    header = Path(str(package.locate_file("ROOT/include/ROOT/RVersion.hxx"))).read_text()
    major, minor, patch = re.findall(r"#define ROOT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    return f"{major}.{minor:0>2}.{patch:0>2}"


def today() -> str:
    """The date of a measurement."""
    return dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
