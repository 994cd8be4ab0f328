"""Lists of entries: TEventList and TEntryList."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._errors import CorruptFileError, InvalidRequestError
from arrowroot._objects.record import Record
from arrowroot._objects.simple import Named, text_of
from arrowroot._sizes import counted, format_count

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Entries of one TEntryListBlock: 4,000 words of 16 bits (TEntryListBlock.h).
_BLOCK_ENTRIES = 64_000
#: How a block is stored (``fType``): a bit for each entry, or a list.
_BITS, _LIST = 0, 1
_N_QUOTED = 2


class EntryList(Named):
    """A ``TEventList`` or ``TEntryList``: entries that were chosen; any scan takes it for its ``entries``."""

    @property
    def lists(self) -> list[EntryList]:
        """The lists of the single trees, if it is of several; else itself."""
        inside = self.get("fLists")
        return [one for one in inside if isinstance(one, EntryList)] if inside else [self]

    @property
    def tree_name(self) -> str:
        """The tree whose entries they are; empty if it does not say."""
        return text_of(self.get("fTreeName"))

    @property
    def file_name(self) -> str:
        """The file of that tree; empty if it does not say."""
        return text_of(self.get("fFileName"))

    @property
    def num_entries(self) -> int:
        """How many entries were chosen."""
        return int(self.number_of("fN"))

    def to_numpy(self) -> npt.NDArray[np.int64]:
        """Return the entry numbers, shape (num_entries,).

        Raises: InvalidRequestError for a list of several trees: their numbers are in ``lists``.
        """
        import numpy as np  # noqa: PLC0415 - imported with the first array

        if self.get("fLists"):
            trees = ", ".join(f"{one.tree_name!r} of {one.file_name!r}" for one in self.lists[:_N_QUOTED])
            raise InvalidRequestError(
                f"{self.class_name} {self.name!r}: of {counted(len(self.lists), 'tree')} ({trees}"
                f"{', ...' if len(self.lists) > _N_QUOTED else ''}): take one of .lists"
            )
        if "fList" in self:
            found = self.array_of("fList").astype(np.int64) if self.num_entries else np.zeros(0, np.int64)
        else:
            blocks = [_entries_of(block) for block in self.get("fBlocks") or []]
            found = np.concatenate(
                [np.zeros(0, np.int64), *(i * _BLOCK_ENTRIES + block for i, block in enumerate(blocks))]
            )
        if len(found) != self.num_entries:
            raise CorruptFileError(
                f"{self.class_name} {self.name!r}: {format_count(len(found))} of its "
                f"{counted(self.num_entries, 'entry', 'entries')}"
            )
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self.to_numpy() if dtype is None else self.to_numpy().astype(dtype)

    def summary(self) -> str:
        """Return how many entries of which tree."""
        of_tree = f" of {self.tree_name}" if self.tree_name else ""
        return counted(self.num_entries, "entry", "entries") + of_tree


def _entries_of(block: Any) -> npt.NDArray[np.int64]:
    """Return the entries of a TEntryListBlock, from its first on."""
    import numpy as np  # noqa: PLC0415 - imported with the first array

    if not isinstance(block, Record):
        raise CorruptFileError("TEntryList without a block where there should be one")
    if block.get("fIndices") is None:
        return np.zeros(0, np.int64)
    words = block.array_of("fIndices").astype("<u2")
    kind = block.number_of("fType")
    if kind == _BITS:
        chosen = np.unpackbits(words.view(np.uint8), bitorder="little")
        if len(chosen) > _BLOCK_ENTRIES:
            raise CorruptFileError(f"TEntryListBlock of {counted(len(chosen), 'entry', 'entries')}")
    elif kind == _LIST:
        # It lists those that were chosen, or where they are most of them, those that were not.
        is_of_chosen = bool(block.get("fPassing"))
        chosen = np.full(_BLOCK_ENTRIES, not is_of_chosen)
        if len(words) and int(words.max()) >= _BLOCK_ENTRIES:
            raise CorruptFileError(f"TEntryListBlock with an entry {words.max()}")
        chosen[words] = is_of_chosen
    else:
        raise CorruptFileError(f"TEntryListBlock of kind {kind}")
    return np.flatnonzero(chosen).astype(np.int64)
