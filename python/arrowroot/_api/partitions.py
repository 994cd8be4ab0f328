"""Pieces of many trees, cut at clusters, to be read anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from arrowroot._api.chain import Chain
from arrowroot._api.opened import opened_row
from arrowroot._api.opening import open as open_file
from arrowroot._api.scan_files import friends_of, opened_chain
from arrowroot._api.tree import Tree
from arrowroot._api.unified import OneOfDiffering
from arrowroot._api.with_friends import WithFriends
from arrowroot._arguments import takes
from arrowroot._errors import InvalidRequestError, UnsupportedError
from arrowroot._expressions.scope import Alias, Expression, columns_of, made_of
from arrowroot._options import (
    DEFAULTS,
    Options,
    PassOptions,
    ResourceOptions,
    definitions_of,
    is_word,
)
from arrowroot._render import printable
from arrowroot._select.columns import NOT, Choice, texts_of, with_members, without_mark
from arrowroot._select.origins import OfRow
from arrowroot._sizes import counted, format_bytes, format_count, parse_size
from arrowroot._storage.config import StorageOptions, redacted, secret_names
from arrowroot._storage.filesets import fileset
from arrowroot._storage.url import changed_ns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import TypeAlias

    import pyarrow as pa
    from typing_extensions import Unpack

    from arrowroot._api.members import Member
    from arrowroot._api.outputs import Outputs
    from arrowroot._api.row import Row
    from arrowroot._api.scan import Scan
    from arrowroot._api.scan_files import FriendsLike
    from arrowroot._api.unified import Missing
    from arrowroot._expressions.scope import Scope
    from arrowroot._filter.bind import FilterLike
    from arrowroot._options import Define, ReadOptions, Strings
    from arrowroot._select.columns import Columns, NameFilter
    from arrowroot._storage.filesets import Files

    #: What a file and tree were when partitions were made: size in bytes, UUID, number of entries.
    Identity: TypeAlias = tuple[int, str, int]


class FriendFiles(NamedTuple):
    """Trees in a row that are read beside a piece: those that have entries that belong to its own."""

    alias: str
    #: Where each file is, as it was given, its tree, and what they were.
    files: tuple[tuple[str, str, Identity], ...]
    #: Columns that say which entries belong together; None: their numbers.
    keys: tuple[str, ...] | None
    #: How much higher the numbers of the same entries are in these files than in the piece's.
    shift: int
    #: The columns of the piece that are here.
    columns: tuple[str, ...]
    #: Whether the filter, or a definition, has columns from here.
    is_always_needed: bool
    #: Whether its columns are null for entries that it lacks.
    has_holes: bool


@dataclass(frozen=True, repr=False, eq=False)
class Partition:
    """A range of entries of one tree, with all that it takes to read it in another process or on another machine.

    It takes along the options of the storage that were given as arguments or in the URL, secrets too. The environment
    and the configuration files are those of the machine where it is read. Its text shows no secrets.

        >>> piece = ar.partitions("events.root", columns=["MET_pt"])[0]
        >>> piece.entries, piece.read().num_rows
        ((0, 100), 100)
    """

    #: Where the file is, as it was given.
    location: str
    tree: str
    columns: tuple[str, ...]
    #: Half-open range, cut at clusters.
    entries: tuple[int, int]
    #: Estimated bytes that the chosen columns and those of the filter take in memory.
    memory_bytes: int
    filter: FilterLike
    strings: Strings
    identity: Identity
    #: Whether groups of columns are read as whole objects.
    assemble: bool = False
    storage: dict[str, Any] = field(default_factory=dict)
    friends: tuple[FriendFiles, ...] = ()
    #: When its files, and those of its friends, were last changed in ns: only that tells one without a UUID from
    #: another of its size, so a copy must keep it. 0 of files that have a UUID or are far away.
    changed_ns: tuple[int, ...] = ()
    #: Of the columns and those of the filter, where files differ: what its own lacks is null. None: they may not.
    of_all: pa.Schema | None = None
    #: Definitions of the columns, and those that the filter names.
    define: Define = None
    #: The aliases of all files, which its own need not record.
    aliases: dict[str, str] = field(default_factory=dict)
    #: Its sample, and what the names of origins are in all files.
    of_row: OfRow = OfRow()  # noqa: RUF009 - a tuple

    @property
    def num_entries(self) -> int:
        """Entries of the range, whether the filter selects them or not."""
        return self.entries[1] - self.entries[0]

    @property
    def url(self) -> str:
        """Where the file is, without credentials."""
        return redacted(self.location)

    @takes(PassOptions.__annotations__, defaults=DEFAULTS, explained_by=Tree.scan.__doc__)
    def scan(self, columns: Columns = None, **options: Unpack[PassOptions]) -> Scan:
        """Open the file and return a scan of the piece.

        columns: a choice of the partition's own, in this order; "!name" leaves out. None: all of them.

        Raises: InvalidRequestError if the file is not the one that was cut; what ``open`` and ``scan`` raise.

            >>> ar.partitions("events.root")[0].scan().num_entries
            100
        """
        chosen = self._chosen(columns)
        return self.opened(chosen).scan(chosen, {**options, **self._given})

    @takes(ResourceOptions.__annotations__, defaults=DEFAULTS, explained_by=Tree.scan.__doc__)
    def read(self, columns: Columns = None, **options: Unpack[ResourceOptions]) -> pa.Table:
        """Open the file and read the piece into memory."""
        chosen = self._chosen(columns)
        return self.opened(chosen).to_arrow(chosen, {**options, **self._given})

    @property
    def _given(self) -> ReadOptions:
        """The options that were given when the piece was cut."""
        return {
            "entries": range(*self.entries),
            "filter": self.filter,
            "define": self.define,
            "strings": self.strings,
            "assemble": self.assemble,
        }

    def schema(self) -> pa.Schema:
        """Open the file and return the names and types of the columns.

        >>> ar.partitions("events.root", columns=["MET_pt"])[0].schema().names
        ['MET_pt']
        """
        return self.scan().schema

    def _chosen(self, columns: Columns) -> list[str]:
        if columns is None:
            return list(self.columns)
        texts = texts_of(columns, "columns")
        marked = [text for text in texts if text.startswith(NOT) and text not in self.columns]
        named = [text for text in texts if text not in marked]
        left_out = {without_mark(text) for text in marked}
        wrong = next((name for name in [*named, *left_out] if name not in self.columns), None)
        if wrong is not None:
            raise InvalidRequestError(f"{self!r}: was not made with column {wrong!r}")
        chosen = named or (self.columns if marked else [])
        return [name for name in chosen if name not in left_out]

    def opened(self, columns: Collection[str]) -> Chain:
        """Open the tree, beside it the friends that some columns or the filter are of."""
        needed = [
            one for one in self.friends if one.is_always_needed or not set(columns).isdisjoint(one.columns)
        ]
        self._refuse_replaced(needed)
        file = open_file(self.location, **self.storage)
        tree = file[self.tree]
        if not isinstance(tree, Tree):
            raise UnsupportedError(f"{file.url}: {self.tree!r} is no tree any more")
        _refuse_changed((*tree.file_identity, tree.num_entries), self.identity, tree.location)
        aliases = {name: Alias(text) for name, text in self.aliases.items()}
        if self.of_all is not None:
            return OneOfDiffering(tree, self.of_all, aliases=aliases, of_row=self.of_row)
        alone = Chain(tree, aliases, self.of_row)
        if not needed:
            return alone
        chain = WithFriends(alone, of_main=self.entries)
        for one in needed:
            chain.join(one.alias, self._friend(one), one.keys, shift=one.shift, has_holes=one.has_holes)
        return chain

    def _refuse_replaced(self, friends: Iterable[FriendFiles]) -> None:
        """Raise InvalidRequestError if a file that is about to be opened was changed, as far as its time tells."""
        own = (self.location, self.tree, self.identity)
        named = [own, *(file for friend in self.friends for file in friend.files)]
        times = {location: time_ns for (location, *_), time_ns in zip(named, self.changed_ns, strict=False)}
        for location, tree, _ in (own, *(file for friend in friends for file in friend.files)):
            if times.get(location, 0) not in (0, changed_ns(location)):
                raise _changed(f"{redacted(location)}:{tree}")

    def _friend(self, friend: FriendFiles) -> Row:
        files: list[tuple[str, str | None]] = [(location, tree) for location, tree, _ in friend.files]
        row = opened_row(files, cast("StorageOptions", self.storage))
        for member, (_, _, identity) in zip(row.members, friend.files, strict=True):
            _refuse_changed(_identity(member), identity, f"{member.url}:{member.path}")
        return row

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same piece, read in the same way."""
        if not isinstance(other, Partition):
            return NotImplemented
        mine, others = self.__dask_tokenize__(), other.__dask_tokenize__()
        return (mine, self.location, self.storage, self.friends) == (
            others,
            other.location,
            other.storage,
            other.friends,
        )

    def __hash__(self) -> int:
        """Return a hash of what the piece holds."""
        return hash(self.__dask_tokenize__())

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Name what the piece holds: equal ones have equal results."""
        import hashlib

        return (
            self.url,
            # All of the URL counts, also the secrets in it.
            hashlib.sha256(repr((self.location, self.friends)).encode("utf-8", "surrogatepass")).hexdigest(),
            self.tree,
            self.columns,
            self.entries,
            str(self.filter),
            self.strings,
            self.assemble,
            self.identity,
            self.changed_ns,
            None if self.of_all is None else str(self.of_all),
            None if self.define is None else tuple(self.define.items()),
            tuple(self.aliases.items()),
            (self.of_row.sample, self.of_row.has_samples, tuple(sorted(self.of_row.origins or ()))),
        )

    def __repr__(self) -> str:
        start, stop = (format_count(end) for end in self.entries)
        hidden = secret_names()
        options = "".join(
            f", {name}={'(hidden)' if name in hidden else repr(value)}"
            for name, value in self.storage.items()
        )
        of_filter = "" if self.filter is None else f", filter {self.filter}"
        beside = (
            ", friends " + ", ".join(printable(one.alias) for one in self.friends) if self.friends else ""
        )
        return (
            f"<Partition of {printable(f'{self.url}:{self.tree}')}: "
            f"entries {start} to {stop}, {counted(len(self.columns), 'column')}, "
            f"{format_bytes(self.memory_bytes)}{of_filter}{beside}{options}>"
        )


@takes(
    StorageOptions.__annotations__, explained_by=Tree.scan.__doc__, unlisted=StorageOptions.__annotations__
)
def partitions(
    paths: Files,
    tree: str | None = None,
    columns: Columns = None,
    *,
    target: int | str = "256 MB",
    filter_name: NameFilter = None,
    filter: FilterLike = None,  # noqa: A002 - the word that everybody uses
    define: Define = None,
    strings: Strings = "utf8",
    assemble: bool = False,
    friends: FriendsLike = None,
    missing: Missing = "raise",
    promote: bool = False,
    **storage: Unpack[StorageOptions],
) -> list[Partition]:
    """Cut the trees of many files into pieces that can be pickled, and read anywhere.

    Together they are all entries, each once, in order. They end where clusters end, so that no basket is needed by
    two, as far as the writer kept to clusters, and never go over the end of a file.

    paths, tree: as for ``scan``.
    target: size of a piece in memory, of the chosen columns and those of the filter, uncompressed; a piece has at
        least one cluster, and others as long as it stays below.
    define: as for ``scan``; a piece takes along the definitions that it needs.
    friends: as for ``scan``; a piece takes along which of their files have its entries. By an index those are all, and
        its columns are read for each piece.
    missing, promote: as for ``scan``, not with friends.

    Raises: what ``scan`` raises; the columns and the filter are checked here. SchemaMismatchError, too, if a friend's
        column has the name of one that some file has besides.

        >>> pieces = ar.partitions("run*.root", columns=["MET_pt"], target="100 MB")
        >>> [(piece.url, piece.entries) for piece in pieces]
        [('run1.root', (0, 100)), ('run2.root', (0, 100))]
    """
    target_bytes = parse_size(target, "target")
    options = Options.of({"strings": strings, "assemble": assemble}, batch_size=None)
    define, friends = definitions_of(define), friends_of(friends)
    if filter is not None or define or friends:
        options.refuse_whole_branches()
    may_differ = not is_word(missing, "raise") or promote is not False
    if friends and may_differ:
        raise InvalidRequestError("partitions: missing and promote: not with friends")
    chain, rows = opened_chain(
        fileset(paths, tree), friends, {**storage, "missing": missing, "promote": promote}
    )
    outputs, scope = chain.outputs(Choice.of(columns, filter_name, assemble=assemble), options, define)
    scope = scope or (None if filter is None else chain.scope(options))
    chosen = list(outputs.columns)
    of_filter: Collection[str] = (
        chain.bound(filter, options, scope=scope).columns if filter is not None else ()
    )
    if scope is not None:
        chain.warn_of_no_origin(scope)
    used = _used(outputs, scope, filter)
    names = list(dict.fromkeys([*outputs.needed, *of_filter]))
    of_all = chain.first_schema(names, options) if may_differ else None
    owned = chain.owned(names)
    # The columns to read of each tree and friend, by their paths there.
    needed = [{path for owner, path in owned.values() if owner == part} for part in range(len(rows))]
    row, *others = rows
    beside = sum(_bytes_per_entry(other, paths) for other, paths in zip(others, needed[1:], strict=True))
    wholes: list[FriendFiles] = []
    if isinstance(chain, WithFriends):
        # The columns of their index are checked.
        chain.source(outputs.needed, (0, 0), options)
        always = {*of_filter, *columns_of(used.values())}
        wholes = _wholes(chain, others, owned, outputs, always)
    pieces: list[Partition] = []
    aliases = {name: alias.text for name, alias in row.aliases.items()}
    origins = frozenset() if scope is None else frozenset(scope.origins_used)
    looks = row.of_each(lambda tree: (tree.clusters, _memory_bytes(tree, needed[0])))
    for member, sample, (clusters, n_bytes) in zip(row.members, row.samples, looks, strict=True):
        per_entry = beside + n_bytes / max(1, member.num_entries)
        for entries in _cut(clusters, target_bytes, per_entry):
            beside_it = tuple(
                _part_of(whole, other, member.first_entry, entries)
                for whole, other in zip(wholes, others, strict=True)
            )
            files = [*_files([member]), *(file for friend in beside_it for file in friend.files)]
            piece = Partition(
                location=member.location,
                tree=member.path,
                columns=tuple(chosen),
                entries=entries,
                memory_bytes=round(per_entry * (entries[1] - entries[0])),
                filter=filter,
                strings=strings,
                identity=_identity(member),
                assemble=assemble,
                storage=dict(storage),
                friends=beside_it,
                changed_ns=tuple(0 if uuid else changed_ns(location) for location, _, (_, uuid, _) in files),
                of_all=of_all,
                define={name: one.text for name, one in used.items()} or None,
                aliases=aliases,
                of_row=OfRow(sample, row.has_samples, origins),
            )
            pieces.append(piece)
    # If there are no entries, one piece tells the types.
    filled = [piece for piece in pieces if piece.num_entries]
    return filled or pieces[:1]


def _used(outputs: Outputs, scope: Scope | None, condition: FilterLike) -> dict[str, Expression]:
    """Return the definitions that the columns or the filter are made of, in order."""
    if scope is None or not scope.definitions:
        return {}
    expressions = [one for one in outputs.columns.values() if one is not None]
    if isinstance(condition, str):
        expressions.append(Expression(condition, scope, "filter"))
    used = {id(one) for one in made_of(expressions)}
    return {
        name: one for name, one in scope.definitions.items() if id(one) in used or name in outputs.columns
    }


def _wholes(
    chain: WithFriends,
    others: Iterable[Row],
    owned: Mapping[str, tuple[int, str]],
    outputs: Outputs,
    always: Collection[str],
) -> list[FriendFiles]:
    """Return the friends of a chain with all their files. ``always``: columns that every pass needs."""
    return [
        FriendFiles(
            friend.alias,
            _files(other.members),
            None if friend.keys is None else tuple(friend.keys),
            shift=0,
            columns=tuple(
                name
                for name in outputs.columns
                if any(owned[path][0] == part for path in outputs.needed_for(name))
            ),
            is_always_needed=any(owned[name][0] == part for name in always),
            has_holes=friend.has_holes,
        )
        for part, (friend, other) in enumerate(zip(chain.friends, others, strict=True), 1)
    ]


def _part_of(whole: FriendFiles, friend: Row, first_entry: int, entries: tuple[int, int]) -> FriendFiles:
    """Return the files of a friend that may have entries that belong to ``entries`` of a tree.

    first_entry: the number in its row of the tree's first entry.
    """
    if whole.keys is not None:
        return whole
    first, end = (first_entry + entry for entry in entries)
    files = [one for one in friend.members if max(first, one.first_entry) < min(end, one.end_entry)]
    # A piece without entries takes the first file, which tells the types.
    files = files or friend.members[:1]
    return whole._replace(files=_files(files), shift=first_entry - files[0].first_entry)


def _files(members: Iterable[Member]) -> tuple[tuple[str, str, Identity], ...]:
    return tuple((member.location, member.path, _identity(member)) for member in members)


def _refuse_changed(found: Identity, identity: Identity, where: str) -> None:
    if found != identity:
        raise _changed(where)


def _changed(where: str) -> InvalidRequestError:
    return InvalidRequestError(f"{where}: has changed since its partitions were made")


def _identity(member: Member) -> Identity:
    return (*member.identity, member.num_entries)


def _memory_bytes(tree: Tree, paths: set[str]) -> int:
    """Return the bytes that columns take in memory, those inside of groups included."""
    read = with_members(tree.branches, lambda branch: branch.path in paths)
    return sum(branch.memory_bytes for branch in read if not branch.is_group)


def _bytes_per_entry(row: Row, paths: set[str]) -> float:
    n_bytes = sum(row.of_each(lambda tree: _memory_bytes(tree, paths)))
    return n_bytes / max(1, row.num_entries)


def _cut(clusters: Sequence[int], target_bytes: int, per_entry: float) -> list[tuple[int, int]]:
    """Cut entries at clusters into ranges of about ``target_bytes``."""
    ranges: list[tuple[int, int]] = []
    start = clusters[0] if clusters else 0
    end = start
    for boundary in clusters[1:]:
        if end > start and (boundary - start) * per_entry > target_bytes:
            ranges.append((start, end))
            start = end
        end = boundary
    return [*ranges, (start, end)]
