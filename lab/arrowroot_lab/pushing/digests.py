"""The checksums of a local file: those that storages tell of theirs. Computed once for a file that does not change."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from arrowroot_lab.campaign.datasets import cache_directory
from arrowroot_lab.canonical import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Digests:
    """The size of a file, and its checksums in hexadecimal digits."""

    n_bytes: int
    sha256: str
    md5: str
    adler32: str


def digests_of(path: Path) -> Digests:
    """Return the checksums of a file. Raises: OSError."""
    status = path.stat()
    told = (os.path.realpath(path), status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)
    kept = cache_directory() / "digests" / f"{key_of(told)}.json"
    try:
        return Digests(**json.loads(kept.read_text()))
    except (OSError, ValueError, TypeError):
        pass
    with path.open("rb", buffering=0) as file:
        found = digests_of_pieces(iter(lambda: file.read(PIECE_BYTES), b""))
    kept.parent.mkdir(parents=True, exist_ok=True)
    made = kept.with_suffix(f".{os.getpid()}")
    made.write_text(json.dumps(asdict(found)))
    made.replace(kept)
    return found


def digests_of_pieces(pieces: Iterable[bytes]) -> Digests:
    """Return the checksums of what comes in pieces."""
    sha256, md5, adler32, n_bytes = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 1, 0
    for piece in pieces:
        sha256.update(piece)
        md5.update(piece)
        adler32 = zlib.adler32(piece, adler32)
        n_bytes += len(piece)
    return Digests(n_bytes, sha256.hexdigest(), md5.hexdigest(), f"{adler32:08x}")
