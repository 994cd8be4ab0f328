"""Prints the identity of files of a table: ``values.py TABLE FILE ...``.

It has the hash of all values, which is independent of how they are laid out, and the structure of each file.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import arrowroot

if TYPE_CHECKING or __package__:
    from .process_line import said_by_arrowroot
else:
    from process_line import said_by_arrowroot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Hashes:
    """Hashes of the parts of columns: lengths of lists, positions of nulls, bytes of values.

    They do not depend on where batches end: each part is one stream over all entries.
    """

    def __init__(self) -> None:
        self._streams: dict[str, Any] = {}
        self._n_seen: dict[str, int] = {}
        self._types: dict[str, str] = {}

    def add(self, path: str, array: Any) -> None:
        """Add the next values of a column, or of a part of one."""
        begin = self._n_seen.get(path, 0)
        self._n_seen[path] = begin + len(array)
        if array.null_count:
            nulls = np.flatnonzero(_numbers(array.is_null()))
            self._update(f"{path}?", (nulls + begin).astype("<i8"))
        kind = array.type
        if pa.types.is_dictionary(kind):
            self.add(path, array.dictionary_decode())
            self._n_seen[path] -= len(array)
        elif pa.types.is_struct(kind):
            self._types[path] = "struct"
            for name, field in zip(
                (kind.field(i).name for i in range(kind.num_fields)), array.flatten(), strict=True
            ):
                self.add(f"{path}.{name}", field)
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            # A list of fixed size holds the same values as others: they differ in layout.
            self._types[path] = "list"
            self._update(f"{path}#", _numbers(array.value_lengths()).astype("<i8"))
            self.add(f"{path}[]", array.flatten())
        elif any(is_kind(kind) for is_kind in _BYTES):
            self._types[path] = (
                "bytes" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else "text"
            )
            import pyarrow.compute as pc  # flat numbers do not need it, and it takes half the time of all imports

            self._update(f"{path}#", _numbers(pc.binary_length(array)).astype("<i8"))
            self._update(path, b"".join(_bytes(array)))
        else:
            self._types[path] = str(kind)
            self._update(path, _numbers(array))

    def _update(self, stream: str, data: Any) -> None:
        if stream not in self._streams:
            self._streams[stream] = hashlib.blake2b(digest_size=16)
        self._streams[stream].update(data)

    def whole(self) -> str:
        """The hash of all that was added."""
        told = {name: stream.hexdigest() for name, stream in self._streams.items()}
        text = json.dumps([told, self._types, self._n_seen], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


_BYTES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def _bytes(array: Any) -> Iterator[bytes]:
    for value in array.to_pylist():
        yield value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value or b""


def _numbers(array: Any) -> Any:
    """The bits of numbers as they are in memory, those under nulls as 0; truth values as bytes.

    pyarrow's own ways to NumPy import pandas.
    """
    if array.null_count:
        array = array.fill_null(pa.scalar(0).cast(array.type))
    data = array.buffers()[1]
    if data is None:
        return np.zeros(0, np.uint8)
    if pa.types.is_boolean(array.type):
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        return bits[array.offset : array.offset + len(array)]
    width = array.type.bit_width // 8
    kept = np.frombuffer(data, np.uint8)[array.offset * width : (array.offset + len(array)) * width]
    return kept.view(f"u{width}") if width in (1, 2, 4, 8) else kept


def of_files(table: str, files: Sequence[str]) -> dict[str, Any]:
    """Return ``values``, ``n_entries`` and ``columns`` of a table that is in one or more files.

    Raises: arrowroot.ArrowrootError; ValueError if the files have different columns.
    """
    hashes, n_entries, columns = Hashes(), 0, None
    for path in files:
        with arrowroot.open(path) as file:
            tree = file[table]
            names = [column.name for column in tree.columns if not column.unsupported]
            if columns is not None and names != columns:
                raise ValueError(f"{path}: its columns are not those of {files[0]}")
            columns = names
            for batch in tree.scan(names):
                n_entries += batch.num_rows
                for name, array in zip(batch.schema.names, batch.columns, strict=True):
                    hashes.add(name, array)
    return {"values": hashes.whole(), "n_entries": n_entries, "columns": columns}


def layout_of(path: str, table: str) -> dict[str, Any]:
    """Return the structure, as `ls` tells it, without sizes: a codec's next version may compress better.

    Raises: ValueError if there is not one such table; RuntimeError for what `ls` says.
    """
    trees = said_by_arrowroot("ls", "--json", f"{path}:{table}")["trees"]
    if len(trees) != 1:
        raise ValueError(f"{path}: {len(trees)} tables are called {table!r}, expected one")
    tree = trees[0]
    columns = [
        [column[key] for key in ("path", "type_name", "n_baskets", "compression", "encoding")]
        for column in tree["branches"]
    ]
    return {"class": tree["class_name"], "clusters": tree["clusters"], "columns": columns}


def main(arguments: list[str]) -> int:
    """Print the identity; return 1 with a line on stderr if a file cannot be read."""
    table, *files = arguments
    try:
        found = of_files(table, files) | {"layout": [layout_of(path, table) for path in files]}
    except (arrowroot.ArrowrootError, ValueError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(json.dumps(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
