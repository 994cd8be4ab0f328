"""Files that are in hand: their content in memory, or an open file object of Python."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from arrowroot._errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Buffer


class Readable(Protocol):
    """An open file, in binary mode, that can be read from any place."""

    def read(self, size: int, /) -> bytes: ...
    def seek(self, offset: int, whence: int = 0, /) -> int: ...


InHand: TypeAlias = "Buffer | Readable"

#: The formats of buffers of bytes.
_BYTES = ("B", "b", "c")


def in_hand(given: object) -> Content | FileObject | None:
    """Return what reads the content of a file, or a file object; None for a path or anything else.

    Bytes with a NUL are content, as no path has one. Other buffers of bytes are content always; those of anything else,
    such as an array of texts, never.

    Raises: InvalidRequestError for a file object that cannot be read from any place, or a buffer of bytes with gaps.
    """
    if callable(getattr(given, "read", None)):
        return FileObject(given)
    if isinstance(given, str | os.PathLike) or (isinstance(given, bytes) and b"\0" not in given):
        return None
    try:
        memory = memoryview(given)  # type: ignore[arg-type]  # tried
    except (TypeError, ValueError, BufferError):
        return None
    is_content = memory.format.removeprefix("@") in _BYTES
    if is_content and not memory.c_contiguous:
        raise InvalidRequestError(
            f"open: {_name_of(given)} has gaps in memory, as a view with steps has: give bytes of it"
        )
    return Content(memory.cast("B"), _name_of(given)) if is_content else None


def _name_of(given: object) -> str:
    """Return the name of what is in hand, for messages: as Python shows it, and that of the file if it is known."""
    name = getattr(given, "name", None)
    quoted = f" {name!r}"[:200] if isinstance(name, str) else ""
    return f"<{type(given).__name__}{quoted} at {id(given):#x}>"


class Content:
    """The content of a file in memory, as ``_native.open_reader`` wants it. It is not copied."""

    #: The remedy if access is denied, which cannot be.
    hint = ""

    def __init__(self, content: memoryview, name: str) -> None:
        self._content = content
        self.url = name
        self.size_bytes = len(content)

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes of each (offset, length)."""
        return [bytes(self._content[start : start + length]) for start, length in ranges]


class FileObject:
    """An open file of Python, as ``_native.open_reader`` wants it.

    Its position is what it was after each reading, but for files that would have to be unpacked anew for that.
    """

    hint = "look at how the file object was opened"

    def __init__(self, file: Any) -> None:
        import threading

        self.url = _name_of(file)
        self._file = file
        #: A file object has one position.
        self._lock = threading.Lock()
        if getattr(file, "closed", False):
            raise InvalidRequestError(f"open: {self.url} is closed: give it while it is open")
        try:
            is_text = isinstance(file.read(0), str)
            if not is_text:
                with self._position_kept():
                    self._file.seek(0, os.SEEK_END)
                    self.size_bytes = int(file.tell())
        except Exception as error:
            why = str(error) or type(error).__name__
            raise InvalidRequestError(
                f"open: {self.url} cannot be read from any place ({why}): give a path or a URL, or all of it: "
                "ar.open(file.read())"
            ) from error
        if is_text:
            raise InvalidRequestError(f"open: {self.url} is read as text: open it with mode 'rb'")

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes of each (offset, length). What is read goes forward, as compressed files want it."""
        found: dict[tuple[int, int], bytes] = {}
        with self._lock, self._position_kept():
            for start, length in sorted(set(ranges)):
                self._file.seek(start)
                found[start, length] = self._read(length)
        return [found[one] for one in ranges]

    @contextmanager
    def _position_kept(self) -> Iterator[None]:
        """Put the position back, where that costs nothing."""
        if not isinstance(self._file, io.BytesIO | io.FileIO | io.BufferedReader | io.BufferedRandom):
            yield
            return
        position = self._file.tell()
        try:
            yield
        finally:
            self._file.seek(position)

    def _read(self, length: int) -> bytes:
        """Read so many bytes: some files return fewer at a time, and none at their end."""
        pieces = []
        while length > 0 and (piece := self._file.read(length)):
            pieces.append(bytes(piece))
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
