"""Reads the files of /proc and /sys that tell what a machine is and does. What cannot be read is None, never zero."""

from __future__ import annotations

import os
from pathlib import Path


def text(path: str) -> str | None:
    """Return a file's text, None where the kernel has none or does not show it."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def number(path: str) -> int | None:
    """Return the number that a file holds."""
    try:
        return int(text(path) or "")
    except ValueError:
        return None


def fields(path: str, separator: str = ":") -> dict[str, str]:
    """Return the lines ``name: value`` of a file; of names that come again the first one."""
    found: dict[str, str] = {}
    for line in (text(path) or "").splitlines():
        name, _, value = line.partition(separator)
        found.setdefault(name.strip(), value.strip())
    return found


def mount_of(path: str | Path) -> tuple[str, str, str]:
    """Return the mount point, the type of the file system and the device that a path is on."""
    wanted = os.path.realpath(path)
    best = ("/", "unknown", "unknown")
    for line in (text("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        point = before.split()[4].encode("latin-1", "replace").decode("unicode_escape")
        kind, device, *_ = after.split()
        is_above = wanted == point or wanted.startswith(point.rstrip("/") + "/")
        # The last one mounted at a point hides those before it.
        if is_above and len(point) >= len(best[0]):
            best = (point, kind, device)
    return best


def block_device(path: str | Path) -> str | None:
    """Return the kernel's name of the disk that a path is on, as ``vda``; None where it is on none."""
    try:
        device = Path(os.path.realpath(path)).stat().st_dev
    except OSError:
        return None
    place = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not place.exists():
        return None
    place = place.resolve()
    # A partition is told as the disk that has it.
    return place.parent.name if (place / "partition").exists() else place.name


def storage_kind(path: str | Path) -> str:
    """Return what a path is on: "memory", "network", "virtual disk", "rotating disk", "solid state" or "unknown"."""
    kind = mount_of(path)[1]
    if kind in {"tmpfs", "ramfs", "devtmpfs"}:
        return "memory"
    if kind in {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "ceph",
        "lustre",
        "gpfs",
        "beegfs",
        "afs",
        "9p",
        "virtiofs",
    } or kind.startswith("fuse"):
        return "network"
    disk = block_device(path)
    if disk and disk.startswith(("vd", "xvd")):
        return "virtual disk"  # whether it rotates is the host's secret: the guest is told yes
    rotates = number(f"/sys/block/{disk}/queue/rotational") if disk else None
    return {0: "solid state", 1: "rotating disk", None: "unknown"}.get(rotates, "unknown")
