"""Files being written: what people hold."""

from __future__ import annotations

import atexit
import itertools
import os
import time
import warnings
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from arrowroot import _native
from arrowroot._arguments import not_made, takes
from arrowroot._attributes import no_attribute
from arrowroot._cost.stalls import THRESHOLD_NS
from arrowroot._cost.stalls import of_native as stalls_of_native
from arrowroot._cost.writing import WritingCost
from arrowroot._errors import (
    InvalidRequestError,
    NoSuchAttributeError,
    WrongTypeError,
    not_picklable,
)
from arrowroot._render import clip, printable
from arrowroot._sizes import counted
from arrowroot._writing.contexts import queue_state
from arrowroot._writing.options import TableOptions
from arrowroot._writing.progress import shown
from arrowroot._writing.texts import checked_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from typing_extensions import Self, Unpack

    from arrowroot._cost.stalls import Stalls
    from arrowroot._writing.contexts import QueueState
    from arrowroot._writing.older import Older
    from arrowroot._writing.schema import SchemaLike
    from arrowroot._writing.table import TableWriter


#: The longest name of an object with those of its directories. Source: ``kMaxLen`` of TDirectory.cxx (ROOT 6.40).
_MAX_PATH_BYTES = 2047
#: The most characters of a name in a file that messages have.
_WIDTH_OF_NAMES = 200

#: All files that are there.
_FILES: weakref.WeakSet[WritableFile] = weakref.WeakSet()

#: What is done to a file that gets no more data, for who looks.
_COMPLETES = "completing"


#: What a file has for those who write into it.
_OF_FILE = ("codec", "tables", "growth_warnings", "shown")


@not_made
class WritableDirectory:
    """A directory of a file being written: ``WritableFile.directory`` makes it.

    ``directory["name"] = object`` writes an object, ``tree`` begins a table, ``directory`` goes one deeper.

        >>> with ar.create("new.root") as new:
        ...     plots = new.directory("plots")
        ...     plots["h"] = np.histogram([1, 2, 2], bins=3)
        >>> ar.open("new.root").keys()
        dict_keys(['plots'])
    """

    def __init__(self, root: WritableFile | None, path: str) -> None:
        """``root``: the file that it is in; None for the file itself, which has no reference to itself."""
        self._parent = root
        self._path = path

    @property
    def _root(self) -> WritableFile:
        assert self._parent is not None  # noqa: S101 - the file has its own
        return self._parent

    @property
    def path(self) -> str:
        """Its name after those of the directories that it is in; "" for the file itself."""
        return self._path

    @takes(TableOptions.__annotations__, defaults={"layout": "ttree", "columns": "fixed"})
    def tree(
        self, name: str, schema: SchemaLike | None = None, **options: Unpack[TableOptions]
    ) -> TableWriter:
        """Begin a table; ``name`` may begin with directories, which are made.

        schema: a pyarrow schema, or types by name (``{"x": "float32", "n": np.int64}``). A field that is nullable takes
            missing values; types in a mapping are not nullable unless they are pyarrow fields that are. Without a
            schema the first batch that has entries says it, and what has no missing value there must have none later.

        ``reproducible``, ``n_threads`` and ``buffers`` are the file's: :func:`create`. A tree records besides its
        columns:

        aliases: expressions by the names that they go by in ``TTree::Draw``: ``{"pt": "sqrt(px*px+py*py)"}``.
        index: the column or the two columns of integers by which its entries are found: ``("run", "event")``. ROOT's
            ``GetEntryWithIndex`` uses it, and so does whoever has the tree as a friend. 16 bytes for each entry stay in
            memory until the table is closed.
        friends: trees whose columns are read beside its own: "TREE" of the same file, "FILE:TREE", several of them, or
            such by the names that they go by. ROOT looks for FILE where it runs.
        user_info: numbers and texts by name, or a list of texts (``TTree::GetUserInfo``).
        entries_reshuffled: True if the entries come in an order by chance, so that nobody joins them by their numbers
            (``TTree::kEntriesReshuffled``); contexts that may fill in any order say so by themselves.

        producers: how several threads fill it: :meth:`TableWriter.context` explains that.

        Several tables may be open at a time.

        Raises: InvalidRequestError; UnsupportedError for types that no column can have, which it names.

            >>> with ar.create("new.root") as new:
            ...     with new.tree("t", {"x": "float32"}, titles={"x": "in GeV"}) as table:
            ...         table.append({"x": [1, 2]})
        """
        from arrowroot._writing.table import TableWriter

        directory, name = self._place_of(name)
        root = self._root
        place = (directory, name)
        table = TableWriter(
            root.native,
            place,
            self._where(*place),
            schema,
            root.codec,
            options,
            root.growth_warnings,
            root.shown,
        )
        root.tables.append(table)
        root.note_written(_joined(*place))
        return table

    def directory(self, path: str, title: str | None = None) -> WritableDirectory:
        """Return a directory inside this one, made if it is not there; "a/b" is b in a.

        title: of one that is made; else it is called as its name.
        """
        parts = _parts(path)
        from arrowroot._writing.naming import naming

        whole = _joined(self._path, *parts)
        self._root.make_room(f"{whole}/")
        native = self._root.native
        with naming(self._where(whole)):
            native.make_directory(whole, None if title is None else checked_text(title, "title"))
        return WritableDirectory(self._root, whole)

    def __setitem__(self, name: str, value: Any) -> None:
        """Write an object; ``name`` may begin with directories, which are made.

        value: a histogram of hist, boost-histogram or NumPy (counts and edges), what ``arrowroot.open`` gives of one,
            of a graph, a text, a name, a parameter or another object whose class is known; text; a list of such
            objects, a TList then; a dictionary of such objects by name, a TMap then; or data as for ``write``, a table
            then.

        A tree, a chain or a scan is read and written batch by batch, in bounded memory.

        A name that is taken gets another cycle; readers take the highest.

        Raises: UnsupportedError for what no class of ROOT is known for.
        """
        from arrowroot._writing.naming import naming
        from arrowroot._writing.objects import becomes_table, object_of

        directory, name = self._place_of(name)
        if becomes_table(value):
            with WritableDirectory(self._root, directory).tree(name) as table:
                table.add_all(value, copied=True)
            return
        with naming(self._where(directory, name)):
            described = object_of(value, name)
            self._root.native.write_object(
                directory, described.class_name, name, described.title, described.members, described.itself
            )
        self._root.note_written(_joined(directory, name))

    def __delitem__(self, name: str) -> None:
        """Leave out an object of a file that is updated, or a directory with all that is in it.

        Raises: NoSuchKeyError; WrongTypeError for what was written by this one, which stays.
        """
        root = self._root
        # Other programs give names that nobody may give here.
        whole = "/".join(filter(None, (self._path, str(name))))
        if not root.has_older(whole):
            directory, name = self._place_of(name, is_checked=False)
            whole = _joined(directory, name)
        root.leave_out(whole)

    def __getitem__(self, name: str) -> NoReturn:
        """Raise InvalidRequestError: what is written is read once the file is closed."""
        raise InvalidRequestError(
            f"{self._where(str(name))}: a file being written is not read: to append to a table, write "
            f"table = new.tree({name!r}); table.append(data), and to read it, open the file once it is closed"
        )

    # Python would try numbers.
    __iter__ = __reversed__ = None
    __contains__ = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name)

        def __setattr__(self, name: str, value: object) -> None:
            if not name.startswith("_") and name not in _OF_FILE:
                what = f"{type(self).__name__} has no attribute {name!r} to set"  # the file would not have it
                raise NoSuchAttributeError(f"{what}: write new[{name!r}] = data")
            object.__setattr__(self, name, value)

    def _where(self, *parts: str) -> str:
        """The file and a place in it, for messages."""
        return f"{printable(self._root.path)}:{clip('/'.join(filter(None, parts)), _WIDTH_OF_NAMES)}"

    def _place_of(self, name: str, *, is_checked: bool = True) -> tuple[str, str]:
        """Return directory and name. ``is_checked``: the older file, if there is one, has room for such an object."""
        parts = _parts(name)
        whole = _joined(self._path, *parts)
        if is_checked:
            self._root.make_room(whole)
        return "/".join(filter(None, (self._path, *parts[:-1]))), parts[-1]

    def __repr__(self) -> str:
        return f"<WritableDirectory {self._path!r} of {printable(self._root.path)}>"

    def __reduce__(self) -> NoReturn:
        """Raise WrongTypeError: an open file cannot go to another process."""
        raise not_picklable(f"a {type(self).__name__}", "arrowroot.write(...)")


@not_made
class WritableFile(WritableDirectory):
    """A ROOT file being written: :func:`create` or :func:`update` makes it; a context manager.

    It is ``NAME.part`` until ``close`` publishes it under its name, whole, in the place of an older file. If an
    exception leaves the block of ``with``, nothing is left, and an older file is what it was.

        >>> with ar.create("new.root") as new:
        ...     new["Events"] = tree.scan(["run", "MET_pt"])
        ...     new["h"] = np.histogram([1, 2, 2], bins=3)
    """

    def __init__(
        self,
        native: _native.FileWriter,
        path: str,
        codec: int | None,
        threshold_ns: int = THRESHOLD_NS,
    ) -> None:
        super().__init__(None, "")
        #: A file whose objects stay, but for those that this one has itself, until they are copied.
        self._older: Older | None = None
        #: Paths of what was written, and of the directories that it is in.
        self._written: set[str] = set()
        self._has_older = False
        self._is_complete = False
        self._native: _native.FileWriter | None = native
        #: Why nothing can be written any more, once that is so.
        self._ended = "the file is closed, nothing can be written"
        #: The file that counts and times, also once the file is closed.
        self._counting = native
        self._threshold_ns = threshold_ns
        self._started_ns = time.perf_counter_ns()
        self._wall_ns = 0
        self._file_path = path
        #: The process that warns if it is not closed.
        self._warns_in: int | None = os.getpid()
        _FILES.add(self)
        #: ROOT's number of the codec; None: each layout's own.
        self.codec = codec
        self.tables: list[TableWriter] = []
        #: Counts the warnings of the growth of its queue.
        self.growth_warnings = itertools.count()
        #: Shows how far it is during a block of ``with``.
        self.shown = partial(shown, native, path, self._started_ns)

    @property
    def path(self) -> str:
        """Where it will be."""
        return self._file_path

    @property
    def _root(self) -> WritableFile:
        return self

    @property
    def native(self) -> _native.FileWriter:
        """The engine's writer. Raises: InvalidRequestError if the file is closed."""
        if self._native is None:
            raise self._closed()
        return self._native

    def _closed(self) -> InvalidRequestError:
        return InvalidRequestError(f"{self._file_path}: {self._ended}")

    def has_older(self, path: str) -> bool:
        """Return whether the older file has an object of a path, whatever its letters."""
        return self._older is not None and self._older.has(path)

    def keep(self, older: Older) -> None:
        """Have it get what an older file has, but for what it has itself, when it is closed."""
        self._older = older
        older.give_title(self.native)

    def make_room(self, path: str) -> None:
        """Make the directories that an object is in, as the older file has them.

        path: that of a directory ends in a slash, and it is made, too.

        Raises: InvalidRequestError if an object of the older file is in the way.
        """
        if self._older is not None:
            self._older.check_place(path)
            for directory, title in self._older.above(path):
                if directory not in self._written:
                    self.native.make_directory(directory, title)
                    self._written.add(directory)

    def note_written(self, path: str) -> None:
        """Note that an object was written; that of the older file is left out."""
        if self._older is not None:
            self._older.leave_out(path)
        while path:
            self._written.add(path)
            path = path.rpartition("/")[0]

    def leave_out(self, path: str) -> None:
        """Leave out what the older file has at a path. Raises: NoSuchKeyError; WrongTypeError for what was written."""
        if self._native is None:
            raise self._closed()
        if self._older is None or self._has_older or path in self._written:
            raise WrongTypeError(
                f"{self._where(path)}: what is written stays: write the file anew without it; of a file "
                "that is there ar.update leaves out what nothing was written into"
            )
        self._older.remove(path)

    def merger(self, rules: Mapping[str, str], *, repack: bool) -> _native.Merger:
        """Return what merges objects into it by rules, as ``arrowroot.merge`` has them; for skims.

        repack: those that are copied get the codec of this file.
        """
        return _native.Merger(self.native, rules=list(rules.items()), repack=repack)

    @property
    def is_closed(self) -> bool:
        """True if it was closed or aborted."""
        return self._native is None

    def complete(self) -> str:
        """Close its tables and write all that the file lacks, but do not publish it; nothing can be written afterwards.

        Returns the path at which it can be read until ``close`` publishes it or ``abort`` removes it. Any error leaves
        nothing.

        Raises: StorageError; what closing a table raises; InvalidRequestError if it is complete or closed.

            >>> new = ar.create("new.root")
            >>> new["t"] = data
            >>> ar.open(new.complete()).keys()
            dict_keys(['t'])
            >>> new.close()
        """
        from arrowroot._writing.naming import naming

        native = self.native
        try:
            with self.shown(does=_COMPLETES), naming(printable(self._file_path)):
                self._end_contents()
                path = native.complete()
                self._is_complete = True
                return path
        except BaseException as error:
            self._give_up(f"{_named(error)} ended its completion")
            raise

    def close(self) -> None:
        """Close its tables and publish it; nothing happens if it is closed. Any error leaves nothing.

        Raises: StorageError; what closing a table raises.
        """
        if self._native is None:
            return
        try:
            with self.shown(does=_COMPLETES):
                self._end_contents()
                if self._older is not None:
                    if not self._is_complete:
                        self._native.complete()
                    # All that takes time is done.
                    self._older.check_unchanged()
                self._native.close()
        except BaseException as error:
            self._give_up(f"{_named(error)} ended its closing")
            raise
        self._native = self._older = None
        self._wall_ns = time.perf_counter_ns() - self._started_ns

    def stalls(self) -> Stalls:
        """Return what the contexts of its tables did: stalls by table and context, and when, if that is traced.

        >>> new.stalls().efficiency
        1.0
        """
        n_lost = self._counting.queue()["n_lost_intervals"]
        return stalls_of_native(self._counting.contexts(), threshold_ns=self._threshold_ns, n_lost=n_lost)

    def cost(self) -> WritingCost:
        """Return what writing has cost so far, layer by layer: bytes, operations, times of compressing and waiting.

        >>> new.cost().n_tables
        0
        """
        tables = [written for table in self.tables if (written := table.written) is not None]
        wall_ns = self._wall_ns or time.perf_counter_ns() - self._started_ns
        return WritingCost.of_native(self._counting, tables, wall_ns)

    def queue(self) -> QueueState:
        """Return the state of its queue: what waits to be compressed and written.

        >>> new.queue().bytes >= 0
        True
        """
        return queue_state(self._counting.queue())

    def _end_contents(self) -> None:
        """Close its tables, and copy what stays of the older file behind them."""
        from arrowroot._writing.table import check_finished

        check_finished(self._file_path, self.tables)
        for table in self.tables:
            table.close()
        self.copy_older()

    def copy_older(self) -> None:
        """Copy what stays of the older file, if that is not done. Raises: as ``Older.copy``."""
        if self._older is not None and not self._has_older:
            self._has_older = True
            self._older.copy(_native.Merger(self.native, rules=[("*", "first")], stays=True))

    def abort(self) -> None:
        """Give it up: nothing is left, and an older file is what it was.

        >>> new = ar.create("given-up.root")
        >>> new.abort()
        """
        self._give_up("abort() was called")

    def _give_up(self, why: str) -> None:
        """Leave nothing; ``why`` is told to the threads that still fill it."""
        native, self._native = self._native, None
        self._older = None
        if native is not None:
            self._ended = f"{why}: the file is given up, and nothing that was filled is kept"
            native.abort(self._ended)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is None:
            self.close()
        else:
            self._give_up(f"{_named(error or kind())} left the block that writes it")

    def __del__(self) -> None:
        if getattr(self, "_native", None) is not None:
            self.warn_unclosed()
            self.abort()

    def warn_unclosed(self) -> None:
        """Say once, in the process that has begun it, that it was not closed."""
        if self._warns_in == os.getpid():
            self._warns_in = None
            warnings.warn(
                f"{self._file_path}: a file being written was not closed, and is not kept: use it in a block of with",
                RuntimeWarning,  # others of its kind lose nothing, and are not shown
                stacklevel=3,
            )

    def __repr__(self) -> str:
        state = "closed" if self._native is None else counted(len(self.tables), "table")
        return f"<WritableFile {printable(self._file_path)}: {state}>"


def _named(error: BaseException) -> str:
    return "Ctrl-C" if isinstance(error, KeyboardInterrupt) else type(error).__name__


@atexit.register
def _warn_of_unclosed() -> None:
    """Do so where a thread that ends with the interpreter has the file: nobody deletes that."""
    for file in list(_FILES):
        if not file.is_closed:
            file.warn_unclosed()


def _joined(*parts: str) -> str:
    """Return a path in a file. Raises: InvalidRequestError if ROOT would not find it."""
    whole = "/".join(filter(None, parts))
    if (n_bytes := len(whole.encode())) > _MAX_PATH_BYTES:
        raise InvalidRequestError(
            f"{clip(whole, _WIDTH_OF_NAMES)!r}: a name of {n_bytes:,} bytes with its directories: ROOT finds names of "
            f"{_MAX_PATH_BYTES:,} bytes at most"
        )
    return whole


def fault_of_path(path: str) -> str | None:
    """Return why nothing can be written at a path in a file; None if it can."""
    try:
        _joined(*_parts(path))
    except InvalidRequestError as error:
        return str(error)
    return None


def _parts(path: str) -> list[str]:
    if not isinstance(path, str):
        raise InvalidRequestError(f"a name in a file is text, not {path!r}")
    checked_text(path, "a name in a file")
    parts = [part for part in path.split("/") if part]
    if not parts:
        raise InvalidRequestError(f"{path!r} is no name")
    if any(";" in part for part in parts):
        raise InvalidRequestError(f"{path!r}: cycles are given by the file, a name has no ';'")
    if "\0" in path:
        raise InvalidRequestError(f"{path!r}: a name has no NUL character")
    return parts
