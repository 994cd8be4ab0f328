"""Lists of entries: TEventList and TEntryList."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._errors import CorruptFileError, InvalidRequestError, warn_unused_entries
from arrowroot._objects.matching import UnclearError, matched, quoted
from arrowroot._objects.record import Record, WithContent, kind_text
from arrowroot._objects.simple import Named, text_of
from arrowroot._sizes import counted, format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from arrowroot._select.events import Member

#: Entries of one TEntryListBlock: 4,000 words of 16 bits (TEntryListBlock.h).
_BLOCK_ENTRIES = 64_000
#: How a block is stored (``fType``): a bit for each entry, or a list.
_BITS, _LIST = 0, 1


class EntryList(WithContent, Named):
    """A ``TEventList`` or ``TEntryList``: entries that were chosen; any scan takes it for its ``entries``.

    ``num_entries`` are their number, and ``to_numpy()`` gives them; it is no mapping of its members, which ``members``
    is.

        >>> chosen = objects["chosen"]
        >>> chosen.num_entries, chosen.to_numpy()
        (3, array([2, 3, 7]))
        >>> tree.to_arrow(["MET_pt"], entries=chosen).num_rows
        3
    """

    @property
    def lists(self) -> list[EntryList]:
        """The lists of the single trees, those of lists within lists too; itself if it is of one tree.

        Raises: CorruptFileError if they have not as many entries together as the list says, or go in a circle.
        """
        found: list[EntryList] = []
        waiting: list[Any] = [self]
        opened: set[int] = set()
        while waiting:
            one = waiting.pop()
            if not isinstance(one, EntryList):
                raise CorruptFileError(f"{self.class_name} {self.name!r}: a {kind_text(one)} among its lists")
            inside = one._root_member("fLists")  # noqa: SLF001 - of another EntryList
            if not inside:
                found.append(one)
            elif id(one) in opened:
                raise CorruptFileError(f"{self.class_name} {self.name!r}: has the list {one.name!r} twice")
            else:
                opened.add(id(one))
                waiting += reversed(list(inside))
        if sum(one.num_entries for one in found) != self.num_entries:
            raise CorruptFileError(
                f"{self.class_name} {self.name!r}: says {counted(self.num_entries, 'entry', 'entries')}, but its "
                f"{counted(len(found), 'list')} have {format_count(sum(one.num_entries for one in found))}"
            )
        return found

    @property
    def tree_name(self) -> str:
        """The tree of the entries; "" if the list does not say."""
        return text_of(self._root_member("fTreeName"))

    @property
    def file_name(self) -> str:
        """The file of that tree; "" if the list does not say."""
        return text_of(self._root_member("fFileName"))

    @property
    def num_entries(self) -> int:
        """Number of entries that were chosen."""
        return self.integer_of("fN")

    def by_tree(self, trees: Sequence[Member]) -> list[npt.NDArray[np.int64]]:
        """Return for each of some trees in a row the numbers of its entries, as :func:`matched` finds its lists.

        Warns: UnusedEntriesWarning if some of the lists are of none of the trees; a single tree takes its own.
        Raises: InvalidRequestError if none of the trees is named, and entries were chosen, or if it cannot be told
        which tree a list is of.
        """
        import numpy as np

        lists = self.lists
        try:
            found = matched(lists, trees)
        except UnclearError as error:
            raise InvalidRequestError(
                f"entries: {self.class_name} {self.name!r}: which entries are meant cannot be told: {error}; its "
                f"{self._numbers} gives the numbers to take"
            ) from None
        if self.num_entries and not any(found.of_trees):
            raise InvalidRequestError(self._of_others(trees))
        if found.unused and len(trees) > 1:
            n_unused = sum(one.num_entries for one in found.unused)
            warn_unused_entries(
                f"entries: {format_count(n_unused)} of the {counted(self.num_entries, 'entry', 'entries')} of "
                f"{self.class_name} {self.name!r} are of trees that are not read: "
                f"{quoted([(one.tree_name, one.file_name) for one in found.unused])}"
            )
        none = np.zeros(0, np.int64)
        return [np.concatenate([none, *(one.to_numpy() for one in those)]) for those in found.of_trees]

    @property
    def _numbers(self) -> str:
        return f"{'lists[i].' if self.get('fLists') else ''}to_numpy()"

    def _of_others(self, trees: Sequence[Member]) -> str:
        return (
            f"entries: {self.class_name} {self.name!r} is of {quoted(self._named())}, not of "
            f"{quoted([(tree.path, tree.url) for tree in trees])}; its {self._numbers} gives numbers to take anyway"
        )

    def _named(self) -> list[tuple[str, str]]:
        return [(one.tree_name, one.file_name) for one in self.lists]

    def to_numpy(self) -> npt.NDArray[np.int64]:
        """Return the entry numbers, shape (num_entries,).

        Raises: InvalidRequestError for a list of several trees: their numbers are in ``lists``.
        """
        import numpy as np

        if self._root_member("fLists"):
            raise InvalidRequestError(
                f"{self.class_name} {self.name!r}: of {counted(len(self.lists), 'tree')} ({quoted(self._named())}): "
                "take one of .lists"
            )
        if self.is_a("TEventList"):
            found = self.array_of("fList").astype(np.int64) if self.num_entries else np.zeros(0, np.int64)
        else:
            blocks = [_entries_of(block) for block in self._root_member("fBlocks") or []]
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
        """Return the number of entries, and their tree, on one line."""
        of_tree = f" of {self.tree_name}" if self.tree_name else ""
        return counted(self.num_entries, "entry", "entries") + of_tree


def _entries_of(block: Any) -> npt.NDArray[np.int64]:
    """Return the entries of a TEntryListBlock, counted from its first one."""
    import numpy as np

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
        # It lists the chosen entries, or the others if most are chosen.
        is_of_chosen = bool(block.get("fPassing"))
        chosen = np.full(_BLOCK_ENTRIES, not is_of_chosen)
        if len(words) and int(words.max()) >= _BLOCK_ENTRIES:
            raise CorruptFileError(f"TEntryListBlock with an entry {words.max()}")
        chosen[words] = is_of_chosen
    else:
        raise CorruptFileError(f"TEntryListBlock of kind {kind}")
    return np.flatnonzero(chosen).astype(np.int64)
