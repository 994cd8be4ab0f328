"""Cold files: evicted from the page cache, and proved to be."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from arrowroot_lab.errors import RefusedError

from . import proc

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The share of a file that may be left in the page cache for a read to count as cold.
MAX_SHARE = 0.01
#: Pauses between attempts, seconds: pages that are being written, or read by somebody, are not let go at once.
PAUSES = (0.0, 0.0, 0.05, 0.2, 0.5, 1.0)


def evict(path: str | Path) -> float:
    """Drop a file from the page cache; return the share of it that is left there, at most `MAX_SHARE`.

    Raises: RefusedError if the file lies in memory anyhow, as on a tmpfs; if it cannot be known what is cached; or if
    other programs hold it there.
    """
    kind = proc.mount_of(path)[1]
    if proc.storage_kind(path) == "memory":
        raise RefusedError(
            f"{path}: no read from a {kind} is cold: its files are the page cache; use one on a disk"
        )
    share = cached_share(path)
    for pause in PAUSES:
        time.sleep(pause)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # pages that are not written yet stay
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
        share = cached_share(path)
        if share <= MAX_SHARE:
            return share
    raise RefusedError(
        f"{path}: {share:.0%} of it stays in the page cache after it was dropped: does another program read or map it?"
    )


def prove(
    files: Sequence[Path], share_before: float, device_read_bytes: float | None, wanted_bytes: int
) -> dict[str, float]:
    """Return what shows that a read was cold. ``wanted_bytes`` are those that it asked the files for.

    Bytes that are asked for twice, as by several workers, come from the disk once: no more than the files have is
    expected.

    Raises: RefusedError if the disk gave less than half of that: something between kept them, as a host does for its
    virtual machines' disks only where the guest sees no reads.
    """
    path = files[0]
    told = {"cached_share_before": share_before, "wanted_bytes": float(wanted_bytes)}
    if device_read_bytes is None:
        raise RefusedError(
            f"{path}: the kernel does not count what its device reads, so that a cold read cannot be proved"
        )
    told["device_read_bytes"] = device_read_bytes
    if device_read_bytes < min(wanted_bytes, sum(one.stat().st_size for one in files)) / 2:
        raise RefusedError(
            f"{path}: the device read {device_read_bytes:.0f} bytes, {wanted_bytes} were asked for: it was not cold"
        )
    return told


def cached_share(path: str | Path) -> float:
    """Return the share of a file that is in the page cache. Raises: RefusedError where that cannot be known."""
    status = Path(path).stat()
    if not status.st_size:
        return 0.0
    # Linux calls every page of other users' files resident.
    if not (status.st_uid == os.geteuid() or os.access(path, os.W_OK)):
        raise RefusedError(
            f"{path}: what of another user's file is in the page cache cannot be known; copy it"
        )
    n_pages = -(-status.st_size // mmap.PAGESIZE)
    resident = (ctypes.c_ubyte * n_pages)()
    with Path(path).open("rb") as file:
        # Unmapped when the last of the two is gone: closing it before, as an interrupt would, is an error of its own.
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    start = ctypes.c_char.from_buffer(view)
    if ctypes.CDLL(None, use_errno=True).mincore(
        ctypes.byref(start), ctypes.c_size_t(status.st_size), resident
    ):
        raise RefusedError(
            f"{path}: {os.strerror(ctypes.get_errno())}: what of it is in the page cache cannot be known"
        )
    return sum(byte & 1 for byte in bytes(resident)) / n_pages
