"""Lists of entries: TEventList and TEntryList."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from arrowroot._errors import CorruptFileError, InvalidRequestError
from arrowroot._objects.record import Record
from arrowroot._objects.simple import Named, text_of
from arrowroot._sizes import counted, format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from arrowroot._events import Member

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

    def by_tree(self, trees: Sequence[Member]) -> list[EntryList | None]:
        """Return for each of some trees in a row the list of its entries, None where none names it.

        As TChain::SetEntryList finds them (ROOT 6.40): by the tree's name and the file's without protocol and host,
        which is from the working directory if it is relative. Files are moved: of those that are found nowhere so, the
        last part of the name counts, if no other is called like that on either side. What a list leaves empty, the only
        tree there is has.

        Raises: InvalidRequestError if none of the trees is named, and entries were chosen.
        """
        alone = trees[0].path, trees[0].url
        named = self._named()
        if len(trees) == len(named) == 1:
            named = [(tree or alone[0], file or alone[1]) for tree, file in named]
        there = [(_name_of(tree), _full_name(file)) for tree, file in named]
        here = [(_name_of(tree.path), _full_name(tree.url)) for tree in trees]
        by_name = dict(zip(there, self.lists, strict=True))
        by_last = dict(zip(map(_moved, there), self.lists, strict=True))
        n_there, n_here = Counter(map(_moved, set(there))), Counter(map(_moved, set(here)))
        found = [
            by_last.get(_moved(name))
            if name not in by_name and n_there[_moved(name)] == n_here[_moved(name)] == 1
            else by_name.get(name)
            for name in here
        ]
        if self.num_entries and all(one is None for one in found):
            raise InvalidRequestError(self._of_others(trees))
        return found

    def _of_others(self, trees: Sequence[Member]) -> str:
        numbers = f"{'lists[i].' if self.get('fLists') else ''}to_numpy()"
        return (
            f"entries: {self.class_name} {self.name!r} is of {_quoted(self._named())}, not of "
            f"{_quoted([(tree.path, tree.url) for tree in trees])}; its {numbers} gives numbers to take anyway"
        )

    def _named(self) -> list[tuple[str, str]]:
        return [(one.tree_name, one.file_name) for one in self.lists]

    def to_numpy(self) -> npt.NDArray[np.int64]:
        """Return the entry numbers, shape (num_entries,).

        Raises: InvalidRequestError for a list of several trees: their numbers are in ``lists``.
        """
        import numpy as np  # noqa: PLC0415 - imported with the first array

        if self.get("fLists"):
            raise InvalidRequestError(
                f"{self.class_name} {self.name!r}: of {counted(len(self.lists), 'tree')} ({_quoted(self._named())}): "
                "take one of .lists"
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


def _full_name(file: str) -> str:
    """Return how a file is called within its store, as TEntryList::GetFileName has it."""
    _, is_url, rest = file.partition("://")
    path = rest.partition("/")[2].partition("?")[0] if is_url else os.path.abspath(file)  # noqa: PTH100 - text
    return path.lstrip("/")


def _name_of(tree: str) -> str:
    """Return a tree's path with the last directory alone, which is what ROOT notes (TEntryList::SetTree)."""
    return "/".join(tree.split("/")[-2:]).lstrip("/")


def _moved(name: tuple[str, str]) -> tuple[str, str]:
    tree, file = name
    return tree, file.rpartition("/")[2]


def _quoted(trees: Sequence[tuple[str, str]]) -> str:
    quoted = ", ".join(f"{tree!r} of {file!r}" for tree, file in trees[:_N_QUOTED])
    return quoted + (", ..." if len(trees) > _N_QUOTED else "")


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
