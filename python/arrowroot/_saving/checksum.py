"""The checksum that an index or a trace carries of itself: any tool reads such a file, and we know if it was damaged.

It stands in the metadata of the schema of a Parquet or Arrow file.
"""

from __future__ import annotations

import hashlib
import re
from typing import IO, TYPE_CHECKING

from arrowroot._errors import CorruptFileError

if TYPE_CHECKING:
    from pathlib import Path

#: The key of the metadata whose value is ``PLACEHOLDER`` until the file is signed.
KEY = "arrowroot.checksum"
_BEGIN = b"arrowroot-sha256:"
_N_DIGITS = 64
_NONE = b"0" * _N_DIGITS
_SIGNED = re.compile(_BEGIN + b"[0-9a-f]{%d}" % _N_DIGITS)
PLACEHOLDER = (_BEGIN + _NONE).decode()
#: The end of a Parquet or an Arrow file: its magic, before it the length of what has the metadata, before that those.
_MAGICS = (b"PAR1", b"ARROW1")
_LENGTH_BYTES = 4
_PIECE_BYTES = 1 << 20


def sign(path: Path) -> None:
    """Write the checksum of a file in the place of ``PLACEHOLDER``.

    It is SHA-256 of the whole file with that placeholder, in hexadecimal digits.
    """
    with path.open("r+b") as file:
        place = _place(file)
        if place is None:
            raise CorruptFileError(f"{path}: no placeholder of a checksum")
        digest = _digest(file, place).encode()
        file.seek(place)
        file.write(digest)


def is_whole(file: IO[bytes]) -> bool | None:
    """Return whether a file is as it was signed; None if it has no checksum. Reads all of it."""
    place = _place(file)
    if place is None:
        return None
    file.seek(place)
    return file.read(_N_DIGITS) == _digest(file, place).encode()


def _place(file: IO[bytes]) -> int | None:
    """Return where the digits of the checksum are."""
    end = file.seek(0, 2)
    for magic in _MAGICS:
        last = len(magic) + _LENGTH_BYTES
        file.seek(max(0, end - last))
        length, found = file.read(_LENGTH_BYTES), file.read(len(magic))
        if found == magic:
            first = max(0, end - last - int.from_bytes(length, "little"))
            file.seek(first)
            ends = [signed.end() for signed in _SIGNED.finditer(file.read(end - first))]
            return first + ends[-1] - _N_DIGITS if ends else None
    return None


def _digest(file: IO[bytes], index: int) -> str:
    """Return the checksum of a file, computed without the digits of the checksum in it."""
    hashed = hashlib.sha256()
    file.seek(0)
    left = index
    while left and (piece := file.read(min(left, _PIECE_BYTES))):
        hashed.update(piece)
        left -= len(piece)
    hashed.update(_NONE)
    file.seek(index + _N_DIGITS)
    while piece := file.read(_PIECE_BYTES):
        hashed.update(piece)
    return hashed.hexdigest()
