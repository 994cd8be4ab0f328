"""The trees that an index of events knows, as its description has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import CorruptFileError

if TYPE_CHECKING:
    from typing_extensions import Self


class IndexedFile(NamedTuple):
    """A tree in an index, and what tells that its file has changed."""

    #: A path from the root, or a URL without credentials.
    url: str
    tree: str
    num_entries: int
    size_bytes: int
    #: UUID in the file's header; "" if it has none.
    uuid: str
    #: Time of the last change of a local file, in ns; None elsewhere.
    mtime_ns: int | None
    #: Its row groups in the Parquet file.
    first_row_group: int = 0
    n_row_groups: int = 0

    def checked(self) -> Self:
        """Return the same. Raises: CorruptFileError if something has another type, or is out of range."""
        for text in (self.url, self.tree, self.uuid):
            checked_text(text).encode("utf-8", "surrogateescape")
        numbers = (self.num_entries, self.size_bytes, self.first_row_group, self.n_row_groups)
        if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers):
            raise CorruptFileError(numbers)
        if not isinstance(self.mtime_ns, int | None):
            raise CorruptFileError(self.mtime_ns)
        return self

    def is_same(self, size_bytes: int, uuid: str, num_entries: int) -> bool:
        """Return whether the index still holds for a file."""
        return (self.size_bytes, self.uuid, self.num_entries) == (size_bytes, uuid, num_entries)


def checked_text(value: object) -> str:
    """Return a text. Raises: CorruptFileError for anything else."""
    if not isinstance(value, str):
        raise CorruptFileError(value)
    return value
