"""The identity of a dataset: hashes of its values, of its layout, and of its files."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from arrowroot_lab.canonical import key_of
from arrowroot_lab.errors import LabError

from .providers import filled, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Changes when what is hashed does; stored identities of other forms are computed anew.
_FORM = 1


@dataclass(frozen=True)
class Identity:
    """A dataset's hashes and size. Two with equal values hold the same table, however they are laid out."""

    #: Hash of all values in the order of entries, column by column, with their types, however they are laid out.
    values: str
    #: Hash of the structure: clusters, columns with their codecs, encodings, and so on.
    layout: str
    #: SHA-256 of the bytes of the file; of several files that of their hashes.
    file: str
    file_bytes: int
    n_entries: int
    #: Names of all columns that can be read.
    columns: tuple[str, ...]

    def document(self, name: str) -> dict[str, Any]:
        """Return it as a result keeps it."""
        told = asdict(self)
        del told["columns"]
        return {"name": name, **told}


def known(files: Sequence[Path], table: str, cache: Path) -> Identity | None:
    """Return the identity of a dataset; None if it was not computed yet of these files as they are."""
    return _read(_place(files, table, cache))


def identify(files: Sequence[Path], table: str, cache: Path) -> Identity:
    """Return the identity of a dataset; it is computed once for files that do not change.

    Raises: LabError if a file cannot be read, or has no such table.
    """
    kept = _place(files, table, cache)
    if (read := _read(kept)) is not None:
        return read
    hashes = []
    for path in files:
        whole = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                whole.update(piece)
        hashes.append(whole.hexdigest())
    found = Identity(
        **_asked(files, table),
        file=hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest(),
        file_bytes=sum(path.stat().st_size for path in files),
    )
    kept.parent.mkdir(parents=True, exist_ok=True)
    made = kept.with_suffix(f".{os.getpid()}")
    made.write_text(json.dumps(asdict(found)))
    made.replace(kept)
    return found


def _place(files: Sequence[Path], table: str, cache: Path) -> Path:
    """Where the identity is kept: another place once a file has changed."""
    told = []
    for path in files:
        s = path.stat()
        told.append((os.path.realpath(path), s.st_size, s.st_mtime_ns, s.st_ino, s.st_ctime_ns))
    return cache / "identities" / f"{key_of([_FORM, table, told])}.json"


def _read(kept: Path) -> Identity | None:
    try:
        told = json.loads(kept.read_text())
        return Identity(**{**told, "columns": tuple(told["columns"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _asked(files: Sequence[Path], table: str) -> dict[str, Any]:
    """The values, the structure and the numbers of entries of files, as the program of their kind says."""
    kinds = {kind.name: kind for kind in (kind_of(path.name) for path in files)}
    if len(kinds) > 1:
        raise LabError(f"{files[0]}: a dataset has files of one kind, not of {' and '.join(sorted(kinds))}")
    command = [*filled(kinds.popitem()[1].identity), table, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise LabError(f"{' '.join(command)}: {said[-1][:500]}")
    try:
        told = json.loads(done.stdout)
        return {
            "values": str(told["values"]),
            "layout": key_of(told["layout"]),
            "n_entries": int(told["n_entries"]),
            "columns": tuple(map(str, told["columns"])),
        }
    except (ValueError, TypeError, KeyError) as error:
        raise LabError(
            f"{' '.join(command)}: expected JSON with values, layout, n_entries and columns, not "
            f"{done.stdout[:100]!r} ({type(error).__name__}: {error})"
        ) from None
