"""Prints the hash of all values of a table, independent of how it is laid out: ``values.py TABLE FILE ...``."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import arrowroot

if TYPE_CHECKING:
    from collections.abc import Iterator


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
            nulls = np.flatnonzero(np.asarray(pc.is_null(array).to_numpy(zero_copy_only=False)))
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
            self._update(f"{path}#", _lengths(array))
            self.add(f"{path}[]", array.flatten())
        elif any(is_kind(kind) for is_kind in _BYTES):
            self._types[path] = (
                "bytes" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else "text"
            )
            self._update(
                f"{path}#",
                pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False).astype("<i8"),
            )
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


def _lengths(array: Any) -> Any:
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    return lengths.to_numpy(zero_copy_only=False).astype("<i8")


def _bytes(array: Any) -> Iterator[bytes]:
    for value in array.to_pylist():
        yield value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value or b""


def _numbers(array: Any) -> Any:
    """The bit patterns of numbers: those under nulls are 0."""
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0).cast(array.type))
    if pa.types.is_boolean(array.type):
        return np.ascontiguousarray(array.to_numpy(zero_copy_only=False)).astype(np.uint8)
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False))


def main(arguments: list[str]) -> int:
    """Print ``{values, n_entries, columns}``; return 1 with a line on stderr if a file cannot be read."""
    table, *files = arguments
    hashes, n_entries, columns = Hashes(), 0, None
    try:
        for path in files:
            with arrowroot.open(path) as file:
                tree = file[table]
                names = [column.name for column in tree.columns if not column.unsupported]
                if columns is not None and names != columns:
                    sys.stderr.write(f"{path}: its columns are not those of {files[0]}\n")
                    return 1
                columns = names
                for batch in tree.scan(names):
                    n_entries += batch.num_rows
                    for name, array in zip(batch.schema.names, batch.columns, strict=True):
                        hashes.add(name, array)
    except arrowroot.ArrowrootError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(
        json.dumps({"values": hashes.whole(), "n_entries": n_entries, "columns": columns}) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
