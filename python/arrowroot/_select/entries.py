"""Turns what users give as entries into a range or a list of entry numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from arrowroot._arrow.masks import is_masked
from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown

#: What tells arrays, and lists of numbers in any library, from expressions.
_OF_ARRAYS = ("__len__", "__array__", "__arrow_array__", "__arrow_c_array__", "__arrow_c_stream__")

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from typing_extensions import TypeIs

    from arrowroot._objects.entry_list import EntryList
    from arrowroot._select.events import EventList, Member

    #: What the engine takes: all, a half-open range, or a list in any order, with repeats.
    EntrySet: TypeAlias = tuple[int, int] | npt.NDArray[np.int64] | None
    #: What users may give.
    Entries: TypeAlias = (
        slice
        | range
        | Sequence[int]
        | Sequence[bool]
        | npt.NDArray[Any]
        | pa.Array
        | pa.ChunkedArray
        | EntryList
        | EventList
        | None
    )


def normalise(entries: Entries, num_entries: int) -> EntrySet:
    """Return ``entries`` of a tree of ``num_entries`` as the engine takes them.

    A slice means what it means for a list (clipped; negative counts from the end); with a step it is a list
    of entries. Entry numbers may come in any order and repeat; a negative one counts from the end. A boolean
    mask must have one value for each entry of the tree. A tuple is refused: it may be meant as a range.

    Raises: InvalidRequestError for numbers out of range, a mask of the wrong length, nulls, and other types.
    """
    if entries is None:
        return None
    if isinstance(entries, slice):
        try:
            start, stop, step = entries.indices(num_entries)
        except (TypeError, ValueError) as error:
            raise InvalidRequestError(f"entries: {error}") from None
        return _from_range(range(start, stop, step))
    if isinstance(entries, range):
        for end in (entries[0], entries[-1]) if entries else ():
            _check_bounds(end, end, num_entries)
        if entries and min(entries[0], entries[-1]) < 0:
            return _from_list(list(entries), num_entries)
        return _from_range(entries)
    if isinstance(entries, tuple):
        # Two numbers are the ends of a range to some, and two entries to others.
        likely = (
            f"slice({shown(int(entries[0]))}, {shown(int(entries[1]))}) for a range, "
            if _are_two_numbers(entries)
            else ""
        )
        raise InvalidRequestError(
            f"entries: a tuple could be a range or entry numbers: write {likely}{shown(list(entries))} for these "
            "entries"
        )
    if isinstance(entries, int | str | bytes | dict | set | frozenset):
        raise InvalidRequestError(
            f"entries: expected a slice, a range, entry numbers or a mask, got {shown(entries)}"
            + _meant(entries)
        )
    if not isinstance(entries, Iterator) and not any(hasattr(entries, one) for one in _OF_ARRAYS):
        raise InvalidRequestError(
            f"entries: expected a slice, a range, entry numbers or a mask, got {shown(entries)}: a condition is for "
            'filter="x > 1"'
        )
    return _from_list(entries, num_entries)


def _meant(entries: object) -> str:
    """Return what to write for one number, and for a range in text; "" for others."""
    if isinstance(entries, int) and not isinstance(entries, bool):
        return f": write [{shown(entries)}] for one entry, slice(0, {shown(entries)}) for so many"
    found = (
        re.fullmatch(r"\s*(-?\d{1,18})?\s*:\s*(-?\d{1,18})?\s*", entries)
        if isinstance(entries, str)
        else None
    )
    return f": write slice({', '.join(one or 'None' for one in found.groups())})" if found else ""


def _are_two_numbers(entries: tuple[Any, ...]) -> bool:
    return len(entries) == 2 and not any(
        isinstance(one, bool) or not hasattr(one, "__index__") for one in entries
    )


def is_of_trees(entries: Entries) -> TypeIs[EntryList]:
    """Return whether ``entries`` is a TEntryList or of a class derived from it: such lists name their trees."""
    is_a = getattr(entries, "is_a", None)
    return callable(is_a) and bool(is_a("TEntryList"))


def of_trees(entries: EntryList, trees: Sequence[Member]) -> EntrySet:
    """Return the numbers that a list's entries have in the row of the trees that it names.

    Raises: InvalidRequestError if it names none of them, or an entry that is not there.
    """
    import numpy as np

    found = [np.zeros(0, dtype=np.int64)]
    for tree, numbers in zip(trees, entries.by_tree(trees), strict=True):
        if len(numbers) and numbers.max() >= tree.num_entries:
            raise InvalidRequestError(
                f"entries: there is no entry {numbers.max()} in {tree.url}:{tree.path}, "
                f"a tree of {tree.num_entries} entries"
            )
        found.append(numbers + tree.first_entry)
    return np.concatenate(found)


def count(entries: EntrySet, num_entries: int) -> int:
    """Return how many entries the set chooses, repeats counted, from a tree of ``num_entries``."""
    if entries is None:
        return num_entries
    if isinstance(entries, tuple):
        return entries[1] - entries[0]
    return len(entries)


def _from_range(entries: range) -> EntrySet:
    if not entries:
        return (0, 0)
    if entries.step == 1:
        return (entries.start, entries.stop)
    import numpy as np

    return np.arange(entries.start, entries.stop, entries.step, dtype=np.int64)


def _from_list(entries: Any, num_entries: int) -> EntrySet:
    import numpy as np

    n_null = getattr(entries, "null_count", 0)
    n_null = (
        n_null() if callable(n_null) else n_null
    )  # a property of Arrow's arrays, a method of Polars' series
    if n_null:
        raise InvalidRequestError(f"entries: {n_null} of the {len(entries)} values are null")
    if is_masked(entries) and np.ma.getmaskarray(entries).any():
        raise InvalidRequestError("entries: some of the values are masked")
    if isinstance(entries, Iterator):
        entries = list(entries)
    try:
        values = np.asarray(entries)
    except ValueError as error:
        raise InvalidRequestError(f"entries: {error}") from None
    if values.ndim != 1:
        raise InvalidRequestError(f"entries: expected one dimension, got shape {values.shape}")
    if values.dtype == np.bool_:
        if len(values) != num_entries:
            raise InvalidRequestError(
                f"entries: the mask has {len(values)} values, but the tree has {num_entries} entries"
            )
        return np.flatnonzero(values).astype(np.int64, copy=False)
    if len(values) == 0:
        return (0, 0)
    if values.dtype.kind not in "iu":
        raise InvalidRequestError(f"entries: expected integers or booleans, got {values.dtype}")
    _check_bounds(int(values.min()), int(values.max()), num_entries)
    numbers = values.astype(np.int64)  # a copy: the caller's array may change while we read
    numbers[numbers < 0] += num_entries
    return numbers


def _check_bounds(lowest: int, highest: int, num_entries: int) -> None:
    wrong = lowest if lowest < -num_entries else highest if highest >= num_entries else None
    if wrong is not None:
        raise InvalidRequestError(
            f"entries: there is no entry {shown(wrong)} in a tree of {num_entries} entries"
        )
