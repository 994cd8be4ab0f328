"""The kind of machine and the versions, without anything that tells which machine it is."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from arrowroot_lab.runners.root_runner import version_of_wheel

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
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.append(f"{name} {version_of_wheel() if name == 'ROOT' else version}")
    return ", ".join(found)
