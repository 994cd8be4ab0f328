"""The identity of a dataset: hashes of its values, of its layout, and of its files."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from arrowroot_lab.canonical import key_of
from arrowroot_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Changes when what is hashed does; stored identities of other forms are computed anew.
_FORM = 1


@dataclass(frozen=True)
class Identity:
    """A dataset's hashes and size. Two with equal values hold the same table, however they are laid out."""

    #: Hash of all values in the order of entries, column by column, with their types: one for a tree and an RNTuple.
    values: str
    #: Hash of the structure: class, clusters, columns with their codecs, encodings, and numbers of baskets or pages.
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
    values = _asked("arrowroot_lab.runners.values", table, *map(str, files))
    layouts = [_layout(path, table) for path in files]
    found = Identity(
        values=values["values"],
        layout=key_of(layouts),
        file=hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest(),
        file_bytes=sum(path.stat().st_size for path in files),
        n_entries=values["n_entries"],
        columns=tuple(values["columns"]),
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


def _layout(path: Path, table: str) -> dict[str, Any]:
    """The structure, as `ls` tells it; sizes are not in it, as a codec's next version may compress better."""
    trees = _asked("arrowroot", "ls", "--json", f"{path}:{table}")["trees"]
    if len(trees) != 1:
        raise LabError(f"{path}: {len(trees)} tables are called {table!r}, expected one")
    tree = trees[0]
    columns = [
        [column[key] for key in ("path", "type_name", "n_baskets", "compression", "encoding")]
        for column in tree["branches"]
    ]
    return {"class": tree["class_name"], "clusters": tree["clusters"], "columns": columns}


def _asked(module: str, *arguments: str) -> dict[str, Any]:
    """The JSON that a program prints."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise LabError(f"{module} {' '.join(arguments)}: {said[-1][:500]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
