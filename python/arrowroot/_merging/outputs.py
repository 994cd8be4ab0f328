"""Several outputs of one merging: their names, and what must hold in all of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from arrowroot import _native
from arrowroot._errors import SchemaMismatchError
from arrowroot._layout import settings
from arrowroot._render import printable
from arrowroot._sizes import parse_size

if TYPE_CHECKING:
    from arrowroot._api.tree import Tree


class MergedFile:
    """An output to which a merger copies, and nobody writes tables: without pyarrow, which takes 50 MB."""

    def __init__(self, path: str, *, reproducible: bool) -> None:
        self.path = path
        self.native = _native.create_file(
            path,
            compression=settings.OBJECT_CODEC,
            is_reproducible=reproducible,
            n_threads=0,
            buffer_bytes=parse_size(settings.BUFFERS, "buffers"),
        )

    def complete(self) -> str:
        """Write all that the file lacks; return where it is until it is published. Raises: StorageError."""
        return self.native.complete()

    def close(self) -> None:
        """Publish it. Raises: StorageError."""
        self.native.close()

    def abort(self) -> None:
        """Give it up if it is not published."""
        self.native.abort()


def path_of_part(path: str, number: int) -> str:
    """Return the path of an output: OUT.root, OUT_1.root, and so on."""
    stem, suffix = os.path.splitext(path)  # noqa: PTH122 - text
    return f"{stem}_{number}{suffix}" if number else path


def left_over(path: str, n_parts: int) -> list[str]:
    """Return the files behind the last of these outputs: a merging before this one had more."""
    found: list[str] = []
    while os.path.exists(after := path_of_part(path, n_parts + len(found))):  # noqa: PTH110 - text
        found.append(after)
    return found


class SameColumns:
    """A check that tables have the same columns in all outputs, as "strict" and "first" promise."""

    def __init__(self, columns: str) -> None:
        self._columns = columns
        #: The columns of each table, with their types, and the output that was first to have it.
        self._known: dict[str, tuple[str, dict[str, str]]] = {}

    def check(self, shown: str, path: str, tables: list[str]) -> None:
        """Raise SchemaMismatchError if a table of an output, which is read at a path, has other columns."""
        from arrowroot._api.opening import open as open_file

        with open_file(path) as file:
            for name in tables:
                columns = _columns_of(file[name])
                first, known = self._known.setdefault(name, (shown, columns))
                for column in dict.fromkeys([*known, *columns]):
                    if known.get(column) != columns.get(column):
                        raise SchemaMismatchError(
                            f"{printable(shown)}: {printable(name)}: column {printable(column)} is "
                            f"{columns.get(column, 'not there')}, and in {printable(first)} "
                            f"{known.get(column, 'not there')}: columns={self._columns!r} means the same in all "
                            f'outputs; with "union" each has those of its inputs, or merge without max_size'
                        )


def _columns_of(tree: Tree) -> dict[str, str]:
    return {branch.path: branch.type_name for branch in tree.branches}
