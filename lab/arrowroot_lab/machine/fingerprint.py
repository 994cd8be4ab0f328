"""The fingerprint of a machine, and the coarse part of it by which two machines have one history."""

from __future__ import annotations

import math
import os
import platform
import sys
from typing import TYPE_CHECKING, Any

from . import proc

if TYPE_CHECKING:
    from pathlib import Path


def fingerprint(data: str | Path = ".") -> dict[str, Any]:
    """Return all that is known of the machine, and of the storage that ``data`` is on. Readings are not in it."""
    cpu = proc.fields("/proc/cpuinfo")
    memory = proc.fields("/proc/meminfo").get("MemTotal", "").split()
    point, file_system, device = proc.mount_of(data)
    disk = proc.block_device(data)
    return {
        "cpu": cpu.get("model name") or platform.processor() or platform.machine(),
        "cpu_family": "/".join(filter(None, (cpu.get(key) for key in ("cpu family", "model", "stepping"))))
        or None,
        "architecture": platform.machine(),
        "n_cores": os.cpu_count(),
        "n_usable_cores": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory[0]) * 1024 if memory else None,
        "memory_limit_bytes": proc.number("/sys/fs/cgroup/memory.max"),
        "is_virtual": "hypervisor" in cpu.get("flags", "").split(),
        "governor": proc.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "kernel": platform.release(),
        "system": _system(),
        "python": platform.python_version(),
        "storage": {
            "kind": proc.storage_kind(data),
            "file_system": file_system,
            "mount_point": point,
            "device": device,
            "disk": proc.text(f"/sys/block/{disk}/device/model") or disk if disk else None,
            "scheduler": proc.text(f"/sys/block/{disk}/queue/scheduler") if disk else None,
            "read_ahead_kib": proc.number(f"/sys/block/{disk}/queue/read_ahead_kb") if disk else None,
        },
        "control_kernel": f"{sys.implementation.name} zlib",
    }


def coarse(found: dict[str, Any]) -> dict[str, Any]:
    """Return what two machines must share to have one history: CPU model, cores, class of memory, kind of storage.

    The class of memory is the power of two next to it: a kernel that keeps some more for itself begins no new history.
    """
    memory = found.get("memory_bytes")
    return {
        "cpu": found.get("cpu"),
        "n_cores": found.get("n_cores"),
        "memory_class_gib": 2 ** round(math.log2(memory / 2**30)) if memory else None,
        "storage": (found.get("storage") or {}).get("kind"),
    }


def _system() -> str:
    release = proc.fields("/etc/os-release", "=")
    return release.get("PRETTY_NAME", platform.system()).strip('"')
