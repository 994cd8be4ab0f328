"""Pushes the files of a dataset: what is there and identical stays, what is not is put, and all of it is proved."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from arrowroot_lab.campaign.datasets import cache_directory, locked
from arrowroot_lab.canonical import key_of

from .digests import Digests, digests_of, digests_of_pieces
from .http import HttpTarget, S3Target
from .local import LocalTarget
from .target import PushError
from .xrootd import XRootDTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from arrowroot_lab.campaign.model import Storage
    from arrowroot_lab.location import Location

    from .target import PushTarget, Stored

#: Takes the name of a file, the bytes that are on their way, and the bytes that it has.
Show: TypeAlias = "Callable[[str, int, int], None]"
#: Checksums by which a storage proves what it has, the strongest first.
_KINDS = ("sha256", "md5", "adler32")
_STRANGE = re.compile(r"[^A-Za-z0-9._+-]")


@dataclass(frozen=True)
class Pushed:
    """A file that is on a storage, whole."""

    storage: str
    #: Where it was put; it may be read at another URL.
    url: Location
    n_bytes: int
    #: It was there before.
    is_known: bool
    #: The proof: "adler32 of the storage", or "read back".
    proof: str

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def names_of(files: Sequence[Path]) -> list[str]:
    """Return the names that files have on a storage: with the beginning of their SHA-256, so that no two share one.

    Characters that some URL would have to escape are underscores there.
    """
    return [f"{digests_of(path).sha256[:16]}-{_STRANGE.sub('_', path.name)}" for path in files]


def push(
    storage: Storage,
    files: Sequence[Path],
    *,
    show: Show = lambda *_: None,
    environment: Mapping[str, str] = os.environ,
) -> list[Pushed]:
    """Put files onto a storage that may be written, unless they are there; prove of each that it is identical.

    Whatever ends it, under its name each file is whole or not there: it is written beside, proved, and renamed where
    the storage can. The next push goes on with what was begun. Of several processes of this machine one puts a file.

    environment: with the credentials of S3.

    Raises: PushError if the storage is not there, takes no files, or has other bytes than it was given.
    """
    assert storage.push is not None  # noqa: S101 - of others nobody asks
    found = []
    for path, name in zip(files, names_of(files), strict=True):
        url = storage.push.of_file(name)
        with locked(cache_directory() / "pushed" / f"{key_of([url])}.lock"):
            target = target_of(url, environment)
            found.append(_pushed(storage.name, target, path, show))
    return found


def target_of(url: Location, environment: Mapping[str, str]) -> PushTarget:
    """Return the place of one file: of a URL, or of a path. Raises: PushError for a scheme that nobody writes by."""
    scheme = url.whole().partition("://")[0] if "://" in url.whole() else ""
    if not scheme:
        return LocalTarget(Path(url.whole()).expanduser())
    if scheme in ("root", "roots", "xroot", "xroots"):
        return XRootDTarget(url)
    if scheme == "s3":
        return S3Target(url, environment)
    if scheme in ("http", "https", "dav", "davs"):
        return HttpTarget(url)
    raise PushError(
        f"{url}: files are put by root://, roots://, http(s)://, dav(s):// and s3://, and into directories"
    )


def _pushed(storage: str, target: PushTarget, path: Path, show: Show) -> Pushed:
    wanted = digests_of(path)
    proof = _proof(target, wanted)
    if proof is not None:
        return Pushed(storage, target.url, wanted.n_bytes, is_known=True, proof=proof)

    def moved(n_bytes: int) -> None:
        show(path.name, min(n_bytes, wanted.n_bytes), wanted.n_bytes)

    part = target.part()
    proof = None if part is None else _by_part(target, part, path, wanted, moved)
    if proof is None:
        target.put(path, moved)
        proof = _proof(target, wanted)
    if proof is None:
        raise PushError(
            f"{target.url}: the storage has other bytes than it was given; remove it there, and push again"
        )
    return Pushed(storage, target.url, wanted.n_bytes, is_known=False, proof=proof)


def _by_part(
    target: PushTarget, part: PushTarget, path: Path, wanted: Digests, moved: Callable[[int], None]
) -> str | None:
    """Write beside, prove, rename; return the proof. None if the storage does not rename: then nothing is left."""
    part.put(path, moved)
    proof = _proof(part, wanted)
    if proof is None:
        # An earlier push left there what is no beginning of this file.
        part.remove()
        part.put(path, moved)
        proof = _proof(part, wanted)
    if proof is None:
        part.remove()
        raise PushError(
            f"{part.url}: the storage has other bytes than it was given, twice: is its disk sound, or full?"
        )
    if not part.publish(target):
        with suppress(PushError):  # a server that does not delete, either, keeps it
            part.remove()
        return None
    found = target.stored()
    if found is None or found.n_bytes != wanted.n_bytes:
        raise PushError(f"{target.url}: it was given its name, and is not there; push again")
    _remember(target, found, wanted)
    return proof


def _proof(target: PushTarget, wanted: Digests) -> str | None:
    """Return the proof that a file is there and identical; None: it is not.

    The checksum is the storage's own, if it tells one. Else all is read back: once, as long as the storage says by a
    time or an ETag that nothing has changed since.
    """
    found = target.stored()
    if found is None or found.n_bytes != wanted.n_bytes:
        return None
    for kind in _KINDS:
        if kind in found.checksums:
            is_equal = found.checksums[kind] == getattr(wanted, kind)
            return f"{kind} of the storage" if is_equal else None
    if (known := _memory_of(target, found, wanted)) is not None and known.exists():
        return "read back before"
    if digests_of_pieces(_at_most(target.pieces(), wanted.n_bytes)) != wanted:
        return None
    _remember(target, found, wanted)
    return "read back"


def _at_most(pieces: Iterator[bytes], n_bytes: int) -> Iterator[bytes]:
    """What is read back, up to the piece that is too much: a server may send for ever."""
    for piece in pieces:
        yield piece
        n_bytes -= len(piece)
        if n_bytes < 0:
            return


def _memory_of(target: PushTarget, found: Stored, wanted: Digests) -> Path | None:
    """An empty file that is there if a file was read back as it is now; None: nothing tells whether it has changed."""
    if found.tag is None:
        return None
    return (
        cache_directory() / "pushed" / f"{key_of([target.url, found.n_bytes, found.tag, wanted.sha256])}.read"
    )


def _remember(target: PushTarget, found: Stored, wanted: Digests) -> None:
    if (known := _memory_of(target, found, wanted)) is not None:
        known.parent.mkdir(parents=True, exist_ok=True)
        known.touch()
