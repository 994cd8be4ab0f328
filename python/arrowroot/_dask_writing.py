"""How a Dask collection is written: a file for each partition, and which of them are there already."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._api.opening import open as open_file
from arrowroot._errors import (
    CorruptFileError,
    InvalidRequestError,
    NoSuchKeyError,
    RecoveredWarning,
    StorageError,
    UnsupportedError,
)
from arrowroot._objects.simple import Named
from arrowroot._render import printable
from arrowroot._saving.lock import held
from arrowroot._writing.arrays import by_column
from arrowroot._writing.calls import create
from arrowroot._writing.counters import Known
from arrowroot._writing.data import is_frame
from arrowroot._writing.frames import with_counted
from arrowroot._writing.location import local_path
from arrowroot._writing.options import CheckedOptions
from arrowroot._writing.records import named, record_of
from arrowroot._writing.schema import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from arrowroot._storage.url import Location
    from arrowroot._writing.options import TableOptions
    from arrowroot._writing.schema import SchemaLike

#: The object of a file that says of which input it is.
INPUT = "arrowroot_input"
_PREFIX, _SUFFIX = "part-", ".root"
#: The directory in that of the files which says who writes to it.
_HELD = ".writing"
#: Digits of the number in a name, at least.
_N_DIGITS = 5


class WrittenPart(NamedTuple):
    """The file of a partition."""

    path: str
    num_entries: int
    #: True if it was there already, whole and of the same input, and was not written again.
    was_kept: bool


class OutputFiles(NamedTuple):
    """The table that is to be written to each file of a directory."""

    directory: str
    tree: str
    schema: SchemaLike | None
    options: TableOptions

    @classmethod
    def of(
        cls, directory: Location, tree: str, schema: SchemaLike | None, options: TableOptions
    ) -> OutputFiles:
        """Return a target, checked before anything is computed. Raises: InvalidRequestError for what makes no sense."""
        layout = CheckedOptions.of(options).layout
        if tree == INPUT:
            raise InvalidRequestError(f"dask.write: tree={tree!r}: an object of the files has that name")
        return cls(
            os.path.abspath(local_path(directory)),  # noqa: PTH100 - text
            tree,
            None if schema is None else schema_of(schema),
            {**options, "layout": layout},
        )

    def path_of(self, number: int, n_parts: int) -> str:
        """Return the file of a partition."""
        width = max(_N_DIGITS, len(str(n_parts - 1)))
        return os.path.join(self.directory, f"{_PREFIX}{number:0{width}}{_SUFFIX}")  # noqa: PTH118 - text

    def input_of(self, key: object) -> str:
        """Return the name of an input: of the key by which Dask knows it, and of all that is said of writing."""
        from dask.base import tokenize

        options = sorted((name, repr(value)) for name, value in self.options.items())
        # A schema's text has not all of its metadata.
        schema = None if self.schema is None else schema_of(self.schema).serialize().to_pybytes()
        return str(tokenize(str(key), self.tree, schema, options))

    @contextmanager
    def held(self, n_parts: int) -> Iterator[None]:
        """Hold the directory, which is made if need be: nobody else writes a collection to it meanwhile.

        Raises: StorageError if it cannot be made, or is held; InvalidRequestError if it has files that look like
        partitions of a longer collection.
        """
        with self._naming():
            Path(self.directory).mkdir(parents=True, exist_ok=True)
        with held(Path(self.directory) / _HELD, f"writing to {printable(self.directory)}"):
            with self._naming():
                self._check_directory(n_parts)
            yield

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"{printable(self.directory)}: no directory to write to: {error.strerror}"
            ) from error

    def _check_directory(self, n_parts: int) -> None:
        own = {self.path_of(number, n_parts) for number in range(n_parts)}
        others = sorted(
            path.name
            for path in Path(self.directory).glob(f"{_PREFIX}*{_SUFFIX}")
            if str(path) not in own and path.name[len(_PREFIX) : -len(_SUFFIX)].isdecimal()
        )
        if others:
            raise InvalidRequestError(
                f"{self.directory}: {', '.join(others[:3])}{', ...' if len(others) > 3 else ''}: not of this "
                f"collection, which has {n_parts} partitions; remove them, or write to another directory"
            )

    def kept(self, path: str, wanted: str) -> WrittenPart | None:
        """Return the file of a partition if it is there, whole and of that input; None if one has to be written.

        Raises: InvalidRequestError for a file of that name which :meth:`write` has not written, and for one that is too
        damaged to tell; StorageError if nobody can know, as it cannot be read.
        """
        if not os.path.exists(path):  # noqa: PTH110 - text
            return None
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecoveredWarning)
            with _foreign(path), open_file(path) as file:
                found = file[INPUT]
                if not isinstance(found, Named):
                    raise NoSuchKeyError(path, INPUT, [])
                if found.title != wanted or file.missing_bytes or file.was_recovered:
                    return None
                tree: Any = file[self.tree]
                return WrittenPart(path, int(tree.num_entries), was_kept=True)

    def remove(self, path: str) -> None:
        """Remove a file of another input, or a damaged one.

        One that is not written again, as its partition fails, must not look as if it were. Raises: StorageError.
        """
        try:
            Path(path).unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{printable(path)}: cannot be replaced: {error.strerror}") from error

    def write(self, data: Any, path: str, wanted: str) -> WrittenPart:
        """Write a partition; any error leaves no file."""
        if self.schema is None and getattr(data, "num_columns", None) == 0:
            raise InvalidRequestError(f"{path}: a partition without entries says no columns: give a schema")
        # Dask's workers are the threads.
        with create(path, n_threads=1) as file:
            table = file.tree(self.tree, self.schema, **self.options)
            schema = None if self.schema is None else schema_of(self.schema)
            table.add_all(with_counted(data, schema) if is_frame(data) else data, known=Known.ALL_OF_FILE)
            n_entries = table.num_entries
            table.close()
            file[INPUT] = record_of("TNamed", named(INPUT, wanted))
        return WrittenPart(path, n_entries, was_kept=False)


@contextmanager
def _foreign(path: str) -> Iterator[None]:
    try:
        yield
    except (CorruptFileError, NoSuchKeyError, UnsupportedError) as error:
        raise InvalidRequestError(
            f"{printable(path)}: has the name of a partition, and is no file of dask.write, or a damaged one: remove "
            "it, or write to another directory"
        ) from error


def _table_of(entries: Iterable[Any]) -> pa.Table:
    """Return the dictionaries of a bag as a table; what one does not have is missing.

    Raises: InvalidRequestError for other entries, and for values that are of no type together.
    """
    import pyarrow as pa

    rows = list(entries)
    for row in rows:
        if not isinstance(row, Mapping):
            raise InvalidRequestError(
                f"dask.write: the entries of a Bag are dictionaries by column, not {type(row).__name__}"
            )
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        with by_column(name):
            columns[name] = pa.array([row.get(name) for row in rows])
    return pa.table(columns)


def parts_of(collection: Any) -> Iterator[tuple[object, Any]]:
    """Yield the key and the delayed value of each partition.

    Raises: InvalidRequestError for what is no collection of Dask whose partitions are tables.
    """
    import dask
    from dask.delayed import Delayed

    if isinstance(collection, Delayed):
        yield collection.key, collection
    elif hasattr(collection, "to_delayed") and hasattr(collection, "npartitions"):
        keys: Iterable[Any] = collection.__dask_keys__()
        of_entries = type(collection).__module__.startswith("dask.bag")
        for key, data in zip(keys, collection.to_delayed(), strict=True):
            yield key, dask.delayed(_table_of)(data) if of_entries else data
    elif isinstance(collection, list | tuple) and collection:
        for one in collection:
            if not isinstance(one, Delayed):
                raise InvalidRequestError(
                    f"dask.write: expected delayed tables, got {type(one).__name__} among them"
                )
            yield one.key, one
    else:
        raise InvalidRequestError(
            f"dask.write: expected a DataFrame, a Bag or an array of Dask, or delayed tables, got "
            f"{type(collection).__name__}"
        )
