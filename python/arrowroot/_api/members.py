"""The trees of a row: what is kept of each, and which of those that are opened again stay open."""

from __future__ import annotations

import threading
from itertools import islice
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from arrowroot._api.tree import Tree
from arrowroot._errors import CorruptFileError, NotFoundError, StorageError, UnsupportedError
from arrowroot._passes.ahead import begin, result_of, run
from arrowroot._sizes import parse_size
from arrowroot._storage.url import changed_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from arrowroot._api.file import File

T = TypeVar("T")

#: The most trees of files that were opened again, and of their bytes, that stay open after their use: those of this
#: step of a filtered pass, of the step before, and as many that are opened ahead, if they are far away.
N_REOPENED, REOPENED_BYTES = 32, parse_size("48 MB")
#: The most trees that stay as they were made of what is kept: few, whose memory is soon used again.
_N_MADE = 2


class Opened(NamedTuple):
    """A tree of a row, and how to open its file again. ``url`` is for messages: it has no credentials."""

    url: str
    location: str
    path: str
    tree: Tree
    #: Bytes of the file that came with its opening and stay in memory.
    came_bytes: int
    reopen: Callable[[], File]
    #: When the file was last changed, before it was opened, in ns; 0 if its UUID tells it from others.
    changed_ns: int
    #: Its number among the files that were named.
    number: int = 0


class Member(NamedTuple):
    """One tree of a row; ``first_entry`` is the number of its entry 0 there, ``location`` as it was given."""

    number: int
    url: str
    location: str
    path: str
    num_entries: int
    first_entry: int
    #: Size in bytes and UUID of the file.
    identity: tuple[int, str]
    kept: Tree | None
    reopen: Callable[[], File]
    #: What it has in memory while it is open, an estimate in bytes.
    held_bytes: int
    reopened: Reopened
    #: Makes the tree of what is kept of it; None: it is kept whole, or its file is opened again.
    compact: Callable[[], Tree] | None = None
    #: When the file was last changed, in ns, if only that tells it from another of its size; 0 of others.
    changed_ns: int = 0

    @property
    def end_entry(self) -> int:
        """The number in the row that follows its last entry's."""
        return self.first_entry + self.num_entries

    def tree(self) -> Tree:
        """Return the tree, opened again if nothing of it was kept."""
        if self.kept is not None:
            return self.kept
        return self.reopened.tree(self) if self.compact is None else self.reopened.made(self, self.compact)

    @property
    def is_open(self) -> bool:
        """True if :meth:`tree` neither opens it nor waits."""
        return self.stays_open or self.reopened.has(self)

    @property
    def stays_open(self) -> bool:
        """True if its file is not opened again."""
        return self.kept is not None or self.compact is not None

    def open_again(self) -> Tree:
        """Open the tree. Raises: StorageError if it is another one than it was."""
        try:
            found = self.reopen()[self.path]
        except (CorruptFileError, NotFoundError, UnsupportedError) as error:
            # It could be read when the scan was made.
            raise self._changed(str(error).removeprefix(f"{self.url}: ")) from error
        if not isinstance(found, Tree):
            raise self._changed(f"{self.path!r} is no tree any more")
        (size_bytes, uuid), (size_now, uuid_now) = self.identity, found.file_identity
        if size_now != size_bytes:
            raise self._changed(f"it had {size_bytes} bytes and has {size_now}")
        if uuid_now != uuid:
            raise self._changed("another file has its name")
        if found.num_entries != self.num_entries or (
            not uuid and self.changed_ns != changed_ns(self.location)
        ):
            raise self._changed("it was written to")
        return found

    def _changed(self, what: str) -> StorageError:
        """Return the error of a file that is another one now, in the words of the engine's."""
        return StorageError(f"{self.url}: the file changed while it was read: {what}; open it again")


class _Recent(Generic[T]):
    """What was used last, by number: as much as has room, and the last one in any case."""

    def __init__(self, n_most: int) -> None:
        """Keep so many at most."""
        self._n_most = n_most
        #: With the bytes of each; the one that was used last comes last.
        self._kept: dict[int, tuple[T, int]] = {}
        self._n_bytes = 0

    def get(self, number: int) -> T | None:
        """Return what is there."""
        return self._kept.get(number, (None, 0))[0]

    def take(self, number: int) -> T | None:
        """Return what is there, which is not any more."""
        found, n_bytes = self._kept.pop(number, (None, 0))
        self._n_bytes -= n_bytes
        return found

    def put(self, number: int, value: T, n_bytes: int) -> None:
        """Keep something of so many bytes; let go what was not used for longest."""
        self.take(number)
        self._kept[number] = value, n_bytes
        self._n_bytes += n_bytes
        while len(self._kept) > 1 and (len(self._kept) > self._n_most or self._n_bytes > REOPENED_BYTES):
            self.take(next(iter(self._kept)))


class Reopened:
    """The trees of a row that were not kept. Those that were used last stay open when they were opened again."""

    def __init__(self) -> None:
        #: By index in the row.
        self._trees: _Recent[Future[Tree]] = _Recent(N_REOPENED)
        #: The same of those that were made of what was kept of them.
        self._made: _Recent[Tree] = _Recent(_N_MADE)
        self._lock = threading.Lock()

    def made(self, member: Member, make: Callable[[], Tree]) -> Tree:
        """Return the tree of a member, made if it is not there. If two threads make it, one is as good as the other."""
        with self._lock:
            tree = self._made.take(member.number)
        if tree is None:
            tree = make()
        with self._lock:
            self._made.put(member.number, tree, member.held_bytes)
        return tree

    def tree(self, member: Member) -> Tree:
        """Return the tree of a member, opened if it is not open. Raises: what opening it, perhaps ahead, raised."""
        future, is_new = self._place(member)
        if is_new:
            run(member.open_again, future)
        try:
            return result_of(future)
        except BaseException:
            # The next time may go better.
            with self._lock:
                if self._trees.get(member.number) is future:
                    self._trees.take(member.number)
            raise

    def begin(self, members: Iterable[Member]) -> None:
        """Open the next trees in threads of their own, as many as have room beside those that are in use."""
        n_bytes = 0
        for member in islice(members, N_REOPENED // 2):
            n_bytes += member.held_bytes
            if n_bytes > REOPENED_BYTES // 2:
                return
            if not member.stays_open:
                future, is_new = self._place(member)
                if is_new:
                    begin(member.open_again, future)

    def has(self, member: Member) -> bool:
        """Return whether a tree is open."""
        future = self._trees.get(member.number)
        return future is not None and future.done() and future.exception() is None

    def _place(self, member: Member) -> tuple[Future[Tree], bool]:
        """Return where the tree of a member is or will be, and whether nobody opens it so far."""
        from concurrent.futures import Future

        with self._lock:
            found = self._trees.take(member.number)
            future = Future[Tree]() if found is None else found
            self._trees.put(member.number, future, member.held_bytes)
        return future, found is None
