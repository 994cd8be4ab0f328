"""Joined directories of trees, as `arrowroot merge --verify` expects them: worked out apart from what merges them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

#: Columns that number rows; what they are of stands behind, and before that whether they have several.
_COLUMN, _OF_SEVERAL = "fIndex", ("Array", "Slice")


def frames_of(pattern: str | None, trees: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return the trees in each directory of a pattern, and before, with the name "", all others."""
    escaped = None if pattern is None else pattern.replace("[", "[[]")
    frames: dict[str, list[str]] = {"": []}
    for tree in trees:
        directory, slash, _ = tree.partition("/")
        is_joined = bool(slash) and escaped is not None and fnmatchcase(directory, escaped)
        frames.setdefault(directory if is_joined else "", []).append(tree)
    return list(frames.items())


def _without_version(name: str) -> str:
    return name.partition("_")[0]


def _target(column: str, tree: str) -> str | None:
    """Return the tree, without its version, whose rows a column of a tree numbers; None if it numbers none."""
    if not column.startswith(_COLUMN) or column.endswith("_size"):
        return None
    rest = column.removeprefix(_COLUMN)
    for several in _OF_SEVERAL:
        if rest.startswith(several):
            rest = rest.removeprefix(several)
            break
    plural = _without_version(rest)
    return f"O2{plural[:-1].lower()}" if plural else _without_version(tree)


class JoinedRows:
    """The numbers that rows of joined directories have in the output, one directory after another."""

    def __init__(self) -> None:
        #: Rows of trees, without their versions, in the directories before.
        self._n_before: dict[str, int] = {}
        #: By tree the lowest number below 0 in the directories before, which stands for no row; and in all so far.
        self._lowest_before: dict[str, int] = {}
        self._lowest: dict[str, int] = {}

    def end_directory(self, n_entries: Mapping[str, int]) -> None:
        """Go on with the next directory. ``n_entries``: those of the trees of this one."""
        here = {_without_version(name): number for name, number in n_entries.items()}
        for name, number in here.items():
            self._n_before[name] = self._n_before.get(name, 0) + number
        self._lowest_before |= self._lowest

    def moved(self, tree: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield entries of a tree of this directory as the output has them."""
        for batch in batches:
            columns = [
                array if (target := _target(name, tree)) is None else self._moved(array, tree, target)
                for name, array in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    def _moved(self, array: pa.Array, tree: str, target: str) -> pa.Array:
        kind = array.type
        if pa.types.is_fixed_size_list(kind):
            inner = self._moved(array.flatten(), tree, target)
            return pa.FixedSizeListArray.from_arrays(inner, type=kind)
        if pa.types.is_list(kind):
            offsets = array.offsets.to_numpy() - array.offsets[0].as_py()
            inner = self._moved(array.flatten(), tree, target)
            return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inner, type=kind)
        rows = array.to_numpy(zero_copy_only=False).astype(np.int64)
        below = self._lowest_before.get(tree, 0)
        moved = np.where(rows < 0, rows + below, rows + self._n_before.get(target, 0))
        self._lowest[tree] = min(self._lowest.get(tree, 0), int(moved.min(initial=0)))
        return pa.array(moved, kind)
