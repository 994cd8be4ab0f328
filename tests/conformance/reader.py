"""The adapter between arrowroot and the conformance suite: one column of a file as plain Python values."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import arrowroot

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Files kept open. The suite asks column by column, file by file.
MAX_OPEN_FILES = 2
#: Entries made Python objects at a time: keeps the peak low where one entry holds thousands of values.
ENTRIES_PER_SLICE = 8192


class _OpenFiles:
    """The files opened last, each with its trees opened last."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, tuple[Any, OrderedDict[str, Any]]] = OrderedDict()

    def tree(self, path: str, tree_path: str) -> Any:
        if path not in self._files:
            while len(self._files) >= MAX_OPEN_FILES:
                _, (oldest, trees) = self._files.popitem(last=False)
                trees.clear()
                oldest.close()
            self._files[path] = (arrowroot.open(path), OrderedDict())
        self._files.move_to_end(path)
        file, trees = self._files[path]
        if tree_path not in trees:
            if len(trees) >= MAX_OPEN_FILES:
                trees.popitem(last=False)
            trees[tree_path] = file[tree_path]
        return trees[tree_path]


_open_files = _OpenFiles()


def read_column(file: str, tree_path: str, branch_name: str) -> Iterator[Any]:
    """Read one column with arrowroot.

    Returns: one value per entry in the suite's canonical form.
    Raises: arrowroot.ArrowrootError, before the first value, when the column cannot be read.
    """
    tree = _open_files.tree(str(file), tree_path)
    table = pa.table(tree.to_arrow([branch_name], n_threads=1))
    if table.num_columns != 1:
        raise ValueError(f"{table.num_columns} columns came for one name")
    return plain_values(table.column(0), is_ntuple=tree.class_name == "ROOT::RNTuple")


def plain_values(column: pa.ChunkedArray, *, is_ntuple: bool = False) -> Iterator[Any]:
    """The values of an Arrow column, entry by entry, as canonical Python objects."""
    convert = _converter(column.type, is_ntuple)
    for chunk in column.chunks:
        for first in range(0, len(chunk), ENTRIES_PER_SLICE):
            values = chunk.slice(first, ENTRIES_PER_SLICE).to_pylist()
            yield from values if convert is None else map(convert, values)


def _converter(kind: pa.DataType, is_ntuple: bool) -> Any:
    """What still has to be done to a value after ``to_pylist``; None where nothing has."""
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return _text
    if pa.types.is_map(kind):
        return _nullable(_pairs(_converter(kind.key_type, is_ntuple), _converter(kind.item_type, is_ntuple)))
    if pa.types.is_struct(kind):
        members = {
            kind.field(i).name: _converter(kind.field(i).type, is_ntuple) for i in range(kind.num_fields)
        }
        if (members or is_ntuple) and list(members) == [str(i) for i in range(kind.num_fields)]:
            # A pair or tuple of an RNTuple, whose members are called by their numbers; or its class without members.
            return _nullable(_values(list(members.items())))
        if not any(members.values()):
            return None
        return _nullable(lambda value: {k: c(value[k]) if c else value[k] for k, c in members.items()})
    if pa.types.is_union(kind):
        # to_pylist gives the value that is held; a Python value tells its alternative only by its type.
        members = {
            kind.field(i).name: _converter(kind.field(i).type, is_ntuple) for i in range(kind.num_fields)
        }
        if any(members.values()):
            return _held
        return None
    if hasattr(kind, "value_type") and not pa.types.is_dictionary(kind):
        item = _converter(kind.value_type, is_ntuple)
        return None if item is None else _nullable(lambda value: [item(x) for x in value])
    return None


def _values(members: list[tuple[str, Any]]) -> Any:
    return lambda value: [convert(value[name]) if convert else value[name] for name, convert in members]


def _held(value: Any) -> Any:
    """What a variant holds: bytes are text, and a struct of numbered members is a list."""
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, list):
        return [_held(item) for item in value]
    if isinstance(value, dict):
        if list(value) == [str(i) for i in range(len(value))]:
            return [_held(item) for item in value.values()]
        return {name: _held(item) for name, item in value.items()}
    return value


def _nullable(convert: Any) -> Any:
    return lambda value: None if value is None else convert(value)


def _text(value: bytes | None) -> str | None:
    """Text that is not valid UTF-8 comes as binary."""
    return None if value is None else value.decode("utf-8", errors="surrogateescape")


def _pairs(key: Any, item: Any) -> Any:
    def convert(value: list[tuple[Any, Any]]) -> list[list[Any]]:
        return [[key(k) if key else k, item(v) if item else v] for k, v in value]

    return convert
