"""A file, its directories and keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from arrowroot._api.tree import Tree
from arrowroot._arguments import not_made, takes
from arrowroot._attributes import has_inside, no_attribute
from arrowroot._errors import (
    ArrowrootError,
    InvalidRequestError,
    LostKeyError,
    NoSuchColumnError,
    NoSuchKeyError,
    NotFoundError,
    WrongTypeError,
    nearest,
    not_picklable,
    warn_recovered,
)
from arrowroot._native import Key as FoundKey
from arrowroot._objects.record import kind_text
from arrowroot._render import html_table, printable, shown, text_table
from arrowroot._sizes import counted, cut_text, format_bytes
from arrowroot._storage.config import in_force, resolve_named
from arrowroot._storage.readers import Opening
from arrowroot._storage.url import friend_location

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView, Sequence

    from typing_extensions import Self

    from arrowroot import _native
    from arrowroot._api.tree_metadata import Pick
    from arrowroot._cost.accounts import Account
    from arrowroot._native import Merger, Table
    from arrowroot._storage.config import Option

_REPR_KEYS = 30
_N_QUOTED = 10
#: Files are written as a whole.
WRITE_ANEW = 'with ar.create("new.root") as new: new["t"] = tree'


class Key(NamedTuple):
    """One key: an object in the file.

    ``stored_bytes`` are of its record with the header, ``object_bytes`` of the uncompressed object.

        >>> key = file.key_list()[0]
        >>> key.path, key.class_name, key.cycle
        ('Events', 'TTree', 1)
    """

    path: str
    name: str
    title: str
    class_name: str
    cycle: int
    stored_bytes: int
    object_bytes: int
    is_directory: bool
    #: A TTree or an RNTuple.
    is_tree: bool
    #: Directories that it is in.
    depth: int


@not_made
class Directory(Mapping[str, Any]):
    """The objects under one path of a file, by name or by key: trees, directories and others.

    It is a mapping of the names directly in it; ``values`` and ``items`` read the objects one by one. Paths as
    "dir/name", and cycles, are found in it, too. :meth:`key_list` has all keys.

        >>> plots = file["plots"]
        >>> plots.keys(), plots["h_met"].class_name
        (dict_keys(['h_met']), 'TH1D')
    """

    # Two are equal if they are one: to compare what is in them would be to read it.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, native: _native.File, path: str, opening: Opening) -> None:
        """``opening``: opens the file again."""
        self._opened: _native.File | None = native
        self._opening = opening
        self.path = path

    @property
    def _native(self) -> _native.File:
        if self._opened is None:
            raise InvalidRequestError("the file is closed")
        return self._opened

    @property
    def url(self) -> str:
        """Where the file is."""
        return self._native.url

    @takes()
    def keys(self) -> KeysView[str]:
        """Return the names of the objects directly in this directory, each once; :meth:`key_list` has more to tell.

        A name with a ";" comes with the cycle behind another one, as it would be taken for a name and a cycle.

            >>> file.keys()
            dict_keys(['Events', 'plots'])
        """
        names = self._native.names(f"{self.path}/" if self.path else "")
        self._warn()
        return dict.fromkeys(names).keys()

    @takes()
    def key_list(self, *, recursive: bool = True, cycles: bool = True) -> list[Key]:
        """Return the keys with class, sizes and cycle, depth first, in the file's order.

        recursive: also those inside directories.
        cycles: all cycles, or only the highest of each name.

            >>> {key.path: key.class_name for key in file.key_list(recursive=True)}
            {'Events': 'TTree', 'plots': 'TDirectory', 'plots/h_met': 'TH1D'}
        """
        prefix = f"{self.path}/" if self.path else ""
        found = self._native.keys(prefix, recursive=recursive, cycles=cycles)
        self._warn()
        return [
            Key(
                k.path,
                k.name,
                k.title,
                k.class_name,
                k.cycle,
                k.stored_bytes,
                k.object_bytes,
                k.is_directory,
                k.is_tree,
                k.depth,
            )
            for k in found
        ]

    @property
    def trees(self) -> list[str]:
        """Paths of the trees, each once, as this directory finds them.

        Where no key is a tree, they are those of the trees inside of other objects: "list/name". Only such objects are
        read for that, and only if the file describes trees.

        Raises: CorruptFileError if an object that may have trees is damaged.
        """
        found = [key.path for key in self.key_list() if key.is_tree]
        if not found:
            found = self.trees_inside([self._path_of(key) for key in self.key_list(cycles=False)])
        cut = len(self.path) + 1 if self.path else 0
        return list(dict.fromkeys(path[cut:] for path in found))

    def trees_inside(self, keys: list[str]) -> list[str]:
        """Return the paths of the trees inside of the objects of some keys, all as the file finds them.

        >>> file.trees_inside(["plots/h_met"])
        []
        """
        return self._native.trees_inside(keys)

    def merge_into(
        self, merger: Merger, paths: list[str], picks: Sequence[Pick], tried: Sequence[Pick]
    ) -> None:
        """Add objects and directories to a file being written, by their paths as the file finds them; for skims.

        picks: entries of trees, as their bytes are. tried: such that are read before anything is added.
        """
        merger.add_picked(self._native, set(paths), picks, tried)

    def only_tree(self) -> Tree:
        """Return the tree, if there is just one: that of a key or, if no key is one, that inside of another object.

        Raises: InvalidRequestError with the names if there are several, NoSuchKeyError if there is none
        (LostKeyError, which is a CorruptFileError too, if the file was cut short or is damaged).

            >>> file.only_tree().name
            'Events'
        """
        names = self.trees
        if len(names) > 1:
            quoted = ", ".join(repr(name) for name in names[:_N_QUOTED]) + (
                ", ..." * (len(names) > _N_QUOTED)
            )
            raise InvalidRequestError(f"{self.url}: which of its {len(names)} trees? {quoted}")
        if not names:
            raise self._missed(f"{self.url}: there is no tree in this file", "", [])
        found = self[names[0]]
        if not isinstance(found, Tree):
            raise NoSuchKeyError(f"{self.url}: {names[0]!r} is {kind_text(found)}", names[0], [])
        return found

    def __getitem__(self, name: str | Key) -> Any:
        """Return the object of that path, "dir/name" or "dir/name;cycle", or that of a key.

        A tree inside of an object has a path, too: that of the object and then names with slashes, of an item in a list
        or of a member: "list/name".

        A ``Tree``, a ``Directory``, a ``Histogram``, ``Graph`` or another ``Record`` of any class; text, a list or a
        dictionary where the key holds a container of the standard library.

        Raises: NoSuchKeyError with the nearest names (LostKeyError, which is a CorruptFileError too, if the file
        was cut short or is damaged); UnsupportedError, which names the class, if it cannot be read: ``raw`` gives
        its bytes.
        """
        from arrowroot._objects.factory import read_object

        path = self._path_of(name)
        try:
            found = read_object(self._native, path, self._tree)
        except ArrowrootError:
            self._warn()
            raise
        if found is None:
            inside = self._native.tree_inside(path) if "/" in path else None
            if inside is not None:
                return self._tree(inside)
            self._find(path)  # raises, or a walk over the records found it meanwhile
            found = read_object(self._native, path, self._tree)
        self._warn()
        if not isinstance(found, FoundKey):
            return found
        if found.is_directory:
            return Directory(self._native, found.path, self._opening)
        return self._tree(self._native.table(path))

    def _tree(self, table: Table) -> Tree:
        identity = (self._native.size_bytes, self._native.uuid)
        return Tree(table, self.url, self._file_of_friend, identity)

    def _inside(self, path: str) -> Table | None:
        """Return the tree inside of another object that has this path; None: there is none."""
        if "/" not in path or self._native.contains(path):
            return None
        return self._native.tree_inside(path)

    def raw(self, name: str | Key) -> bytes:
        r"""Return the bytes of an object of any class as they were streamed, uncompressed, without its key.

        Raises: NoSuchKeyError with the nearest names; CorruptFileError if they cannot be decompressed.

            >>> file.raw("plots/h_met")[:2]
            b'@\x00'
        """
        path = self._path_of(name)
        if self._find(path).is_directory:
            raise InvalidRequestError(f"{self.url}: {path!r} is a directory, which has no bytes of its own")
        return self._native.raw(path)

    def _path_of(self, name: str | Key) -> str:
        if isinstance(name, Key):
            return f"{name.path};{name.cycle}"
        if not isinstance(name, str):
            raise InvalidRequestError(f"a file is indexed by the path of an object, not by {shown(name)}")
        above, bare = f"{self.path}/" if self.path else "", name.strip("/")
        # A slash at an end is mostly none of the name.
        return above + (name if bare != name and self._native.contains(above + name) else bare)

    def _warn(self) -> None:
        """Warn once if the file may have had more than can be read."""
        missing_bytes = self._native.missing_bytes
        what = cut_text(missing_bytes) if missing_bytes else self._native.recovery()
        if what is not None:
            warn_recovered(self.url, what, is_cut_short=missing_bytes > 0)

    def _find(self, path: str) -> FoundKey:
        try:
            found = self._native.key(path)
        except NotFoundError:
            pass  # outside, for the error to come to be the only one shown
        else:
            self._warn()
            return found
        bare, semicolon, cycle = path.rpartition(";")
        if not semicolon:
            bare, cycle = path, ""
        keys = self._native.known_keys()
        if semicolon and not cycle.isdecimal() and any(key.path == bare for key in keys):
            raise NoSuchKeyError(
                f'{self.url}: {path!r}: a number is expected after the ";", '
                f"the cycle; without one, {bare!r} is the highest",
                path,
                [],
            )
        cycles = [key.cycle for key in keys if key.path == bare]
        if cycles:
            text = ", ".join(str(number) for number in sorted(set(cycles), reverse=True))
            raise self._missed(f"{self.url}: {bare!r} has no cycle {cycle!r}, only {text}", path, [])
        self._refuse_inside(bare, keys)
        above = f"{self.path}/" if self.path else ""
        known = [key.path.removeprefix(above) for key in keys if key.path.startswith(above)]
        raise self._missed(f"{self.url}: no object {bare!r}", path, self._nearest(bare, keys), known)

    def _refuse_inside(self, path: str, keys: Sequence[FoundKey]) -> None:
        """Raise NoSuchKeyError for a path that takes an object for a directory."""
        kinds = {key.path: key for key in keys if not key.is_directory}
        outer, _, inner = path.rpartition("/")
        while outer:
            found = kinds.get(outer.partition(";")[0])
            if found is not None:
                what = f"{self.url}: no object {path!r}; {outer!r} is a {found.class_name}, not a directory"
                if found.is_tree:
                    try:
                        self._tree(self._native.table(outer)).choose([inner])
                    except NoSuchColumnError as error:
                        raise NoSuchKeyError(str(error), path, []) from None
                    what += f": its column is read by file[{outer!r}][{inner!r}]"
                    raise NoSuchKeyError(what, path, [])
                above = f"{self.path}/" if self.path else ""
                wanted = path.removeprefix(above)
                known = [tree.removeprefix(above) for tree in self._native.trees_inside([outer])]
                if known:
                    what += ": the trees in it have paths"
                else:
                    from arrowroot._objects.factory import names_in

                    known, wanted = names_in(self._native, outer, self._tree), inner
                    what += f": its objects are read by file[{outer!r}][name]" if known else ""
                raise NoSuchKeyError(what, path, nearest(wanted, known), known=known)
            outer, _, last = outer.rpartition("/")
            inner = f"{last}/{inner}"

    def _nearest(self, path: str, keys: Sequence[FoundKey]) -> list[str]:
        """Return up to three paths that look like ``path``, or end as it does, as this directory has them."""
        above = f"{self.path}/" if self.path else ""
        inside = [key for key in keys if key.path.startswith(above)]
        paths = {key.path.removeprefix(above): None for key in inside}
        ends: dict[str, list[str]] = {}
        for found in paths:
            ends.setdefault(found.rpartition("/")[2], []).append(found)
        wanted = path.removeprefix(above)
        end = wanted.rpartition("/")[2]
        same = ends.get(end, [])
        alike = [found for other in nearest(end, ends) for found in ends[other]]
        return list(dict.fromkeys([*nearest(wanted, same), *same, *nearest(wanted, paths), *alike]))[:3]

    def _file_of_friend(self, name: str) -> File:
        """Open the file that a recorded friend names, this one if it names none.

        Credentials are not for servers that the file alone names, nor are files of this machine opened because a
        remote file names them: see :func:`arrowroot._storage.config.resolve_named`.
        """
        if not name:
            return File(self._opening)
        here = self._opening.urls[0]
        if self._opening.reader is not None:
            raise InvalidRequestError(
                f"{here}: names a friend in {name!r}, and a file in hand lies beside no other: open that one, and use "
                "add_friend"
            )
        url = friend_location(name, here)
        return File(Opening([url], resolve_named(url, here, self._opening.settings)))

    def _missed(
        self, message: str, name: str, nearest_names: Sequence[str], known: Sequence[str] = ()
    ) -> NoSuchKeyError:
        """Return the error for an object that is not there. It says whether the file was cut short or is damaged."""
        missing_bytes, damage = self._native.missing_bytes, self._native.damage
        if missing_bytes:
            return LostKeyError(f"{message}; {cut_text(missing_bytes)}", name, nearest_names)
        if damage is not None:
            return LostKeyError(f"{message}; the file is damaged: {damage}", name, nearest_names)
        return NoSuchKeyError(message, name, nearest_names, known=known)

    def __contains__(self, name: object) -> bool:
        """Return whether there is an object of that path, "dir/name" or "dir/name;cycle", or of that key."""
        if not isinstance(name, str | Key):
            return False
        path = self._path_of(name)
        found = self._native.contains(path) or self._inside(path) is not None
        self._warn()
        return found

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the object of that name, which completion offers."""
            if not name.startswith("_") and has_inside(self, name):
                return self[name]
            raise no_attribute(self, name)

        def __setitem__(self, name: str, value: object) -> NoReturn:
            raise WrongTypeError(f"{self.url} is read, not written: write {WRITE_ANEW}")

        def __delitem__(self, name: str) -> NoReturn:
            raise WrongTypeError(f"{self.url} is read, not written: write what is to stay: {WRITE_ANEW}")

    def __dir__(self) -> list[str]:
        """Return the names that completion offers, those of the objects among them."""
        own = list(super().__dir__())
        offered = [] if self._opened is None else self.keys()
        return [*own, *(name for name in offered if name.isidentifier() and not name.startswith("_"))]

    def _ipython_key_completions_(self) -> list[str]:
        return [key.path for key in self.key_list()]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the objects directly in this directory, each once."""
        return iter(self.keys())

    def __len__(self) -> int:
        """Return the number of names directly in this directory."""
        return len(self.keys())

    def __reduce__(self) -> NoReturn:
        """Raise WrongTypeError: an open file cannot go to another process."""
        inside = f"[{self.path!r}]" if self.path else ""
        where = f"arrowroot.open({self.url!r}){inside}" if self._opened else "arrowroot.open(...)"
        raise not_picklable(f"a {type(self).__name__}", where)

    def _rows(self) -> list[list[str]]:
        return [
            ["key", "class", "stored", "title"],
            *(
                [
                    printable(f"{key.path};{key.cycle}"),
                    printable(key.class_name),
                    format_bytes(key.stored_bytes),
                    printable(key.title),
                ]
                for key in self.key_list()[:_REPR_KEYS]
            ),
        ]

    def _summary(self) -> str:
        return f"Directory {self.path!r} of {self.url}"

    def __repr__(self) -> str:
        if self._opened is None:
            return "<closed file>"
        rows = self._rows()
        left = len(self.key_list()) - (len(rows) - 1)
        more = f"\n... {counted(left, 'more key')}" if left else ""
        return f"{self._summary()}\n{text_table(rows, right=[False, False, True, False])}{more}"

    def _repr_html_(self) -> str:
        return html_table(self._rows(), caption=self._summary()) if self._opened else "closed file"


@not_made
class File(Directory):
    """An open ROOT file; a context manager. Trees taken from it stay readable after it is closed.

    >>> with ar.open("events.root") as file:
    ...     tree = file["Events"]
    ...     print(file.trees, file.compression, file.was_recovered)
    ['Events'] zlib 1 False
    >>> tree.num_entries
    100
    """

    def __init__(self, opening: Opening) -> None:
        """Open it."""
        super().__init__(opening.open(), "", opening)

    @property
    def size_bytes(self) -> int:
        """Size of the file."""
        return self._native.size_bytes

    @property
    def uuid(self) -> str:
        """Identifier that ROOT gave the file when it was made; "" if it has none."""
        return self._native.uuid

    @property
    def root_version(self) -> str:
        """Version of ROOT that wrote the file."""
        return self._native.root_version

    @property
    def compression(self) -> str:
        """Codec and level that the file was set to."""
        return self._native.compression

    @property
    def missing_bytes(self) -> int:
        """Bytes that its header says it has, but that are not there; above 0 if it was cut short."""
        return self._native.missing_bytes

    @property
    def was_recovered(self) -> bool:
        """Whether keys were found by walking the records.

        A file that was not closed has no key list, or one that lacks what was written later; one that was cut short
        (``missing_bytes``) or is damaged (``damage``) has lost it. A RecoveredWarning says so once.
        """
        return self._native.was_recovered

    @property
    def damage(self) -> str | None:
        """The damage found so far in its directories or their key lists, with the byte; None if there is none.

        Keys were then found by walking the records, and some may be lost.
        """
        return self._native.damage

    @property
    def options(self) -> list[Option]:
        """All options in force for this file, with where their values come from."""
        return in_force(self._opening.settings)

    @property
    def accounts(self) -> list[Account]:
        """What the store was asked for since the opening, the reads of scans included."""
        from arrowroot._cost import accounts as _accounts

        return _accounts.joined([_accounts.of_native(self._native.ledgers())])

    @property
    def max_ranges(self) -> int:
        """Number of ranges that one request to the store can have; 1: each range is a request of its own."""
        return self._native.nature()[3]

    @property
    def max_parallel(self) -> int:
        """The most requests that are sent to the store at the same time."""
        return self._native.nature()[2]

    @property
    def protocol(self) -> _native.Protocol:
        """How the store makes requests of ranges that are asked for together, as far as it knows now."""
        return self._native.protocol()

    @property
    def kept(self) -> list[tuple[int, int]]:
        """Ranges that came with the opening and are not read again: (offset, length) in bytes; none of a local file."""
        return self._native.kept()

    def time_reads(self, ranges: Sequence[tuple[int, int]]) -> int:
        """Read (offset, length) as one vector read of the store, drop the bytes, and return the ns it took.

        >>> file.time_reads([(0, 100), (1000, 100)]) > 0
        True
        """
        return self._native.time_reads(ranges)

    def close(self) -> None:
        """Let go of the file; trees taken from it keep it open for themselves.

        >>> file.close()
        >>> file
        <closed file>
        """
        self._opened = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _summary(self) -> str:
        cut = f", cut short by {format_bytes(self.missing_bytes)}" if self.missing_bytes else ""
        recovered = ", recovered" if self.was_recovered else ""
        return (
            f"File {self.url}: {format_bytes(self.size_bytes)}, ROOT {self.root_version}, "
            f"{self.compression}{cut}{recovered}, {counted(len(self.key_list()), 'key')}"
        )
