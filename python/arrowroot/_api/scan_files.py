"""Many files as one stream."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._api.opened import opened_row
from arrowroot._api.tree import Tree
from arrowroot._api.with_friends import WithFriends
from arrowroot._arguments import takes
from arrowroot._options import DEFAULTS, Options, ScanOptions, is_word, named
from arrowroot._storage.config import StorageOptions, storage_options
from arrowroot._storage.filesets import Fileset, fileset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal, TypeAlias

    from typing_extensions import Unpack

    from arrowroot._api.chain import Chain
    from arrowroot._api.row import Row
    from arrowroot._api.scan import Scan
    from arrowroot._api.unified import Missing
    from arrowroot._passes.left_out import OnError
    from arrowroot._select.columns import Columns
    from arrowroot._select.origins import Origin
    from arrowroot._storage.filesets import Files
    from arrowroot._storage.url import Location

    #: Files of trees to be read beside others, by their aliases.
    FriendsLike: TypeAlias = "Mapping[str, Location | Iterable[Location] | Friends] | None"


class FilesOptions(ScanOptions, StorageOptions, total=False):
    """The keyword arguments of ``arrowroot.scan``."""

    on_error: OnError
    origin: Origin | Iterable[Origin]
    missing: Missing
    promote: bool


@takes(
    FilesOptions.__annotations__,
    defaults=DEFAULTS,
    explained_by=Tree.scan.__doc__,
    unlisted=StorageOptions.__annotations__,
)
def scan(
    paths: Files,
    tree: str | None = None,
    columns: Columns = None,
    *,
    friends: FriendsLike = None,
    **options: Unpack[FilesOptions],
) -> Scan:
    """Return one scan over the trees of many files, one after the other.

    paths: a path, a glob ("data/**/*.root", in natural order), "@files.txt", which lists some, one a line, or a list of
        them; each may name its tree, "FILE:TREE", or be the key of a mapping to it. Or samples by their names, as
        coffea's filesets: ``{"tt": {"files": ["tt/*.root"], "metadata": {"xsec": 832}}}``, or "@samples.json" with
        such.
    tree: the tree of the files that don't name one; may be left out if the first file has only one.
    entries: as for :meth:`Tree.scan`, with entry numbers that count on from file to file. Events of an
        :class:`EventList` are looked for in all files. Entries that go back and forth between files are all
        in memory at once.

    on_error: "raise", or "skip": leave out files that are missing, not reachable, not allowed, damaged or without the
        tree, with a warning for each, and the rest of a file whose damage shows later; :attr:`Scan.left_out` has
        them. Or a function, called with each :class:`LeftOut`, which may raise. Where a file cannot be opened, numbers
        would mean other entries: then ``entries`` is a slice, of the entries that are there, or a list of events, and
        friends have an index. A friend's file that cannot be opened is an error.
    origin: some of "sample", "file", "tree" and "entry" (the number in that tree): columns of these names behind the
        others, so that weights by sample are a join; texts are dictionaries. :attr:`Scan.samples` has the metadata.
    friends: by their aliases, the files of trees whose columns are read beside: ``{"w": "weights/*.root:W"}``, or
        :class:`Friends`. Entries belong together by their numbers on both sides, wherever the files end, or by the
        index that the friends record. By number the friends have as many entries, or ``index=False`` says that the
        first ones of more are meant.
    missing: "raise": a column that is not in all files is an error; "null": it is null in those that lack it; "common":
        globs and the like choose among those that all files have.
    promote: numbers of several types become the narrowest that has all their values, at any depth, as int32 beside
        int64, or int16 beside float; int64 and double have none. Truth values become integers beside some.

    The metadata of every file is read at once, so that the types of all columns are known before the first batch. They
    must be the same in all files. Without ``missing`` a glob, ``filter_name``, or no choice at all must choose the same
    columns in every file, whichever is the first.

    Raises: SchemaMismatchError, which names file and column; and what :meth:`Tree.scan` raises.

        >>> scan = ar.scan("run*.root", tree="Events", columns=["MET_pt"], filter="MET_pt > 20")
        >>> scan.num_entries, scan.to_arrow().num_rows
        (200, 118)
    """
    Options.of(options)  # before anything is opened
    files = fileset(paths, tree, keeps_globs=not is_word(options.get("on_error", "raise"), "raise"))
    chain, _ = opened_chain(files, friends, options)
    found = chain.scan(columns, options)
    found.samples = files.metadata
    return found


class Friends(NamedTuple):
    """Files of trees to be read beside others: see ``scan``. ``index``, ``missing``: as for :meth:`Tree.add_friend`.

    >>> more = ar.Friends("weights.root", index="event")
    >>> ar.scan("events.root", columns=["MET_pt", "w.weight"], friends={"w": more}).column_names
    ['MET_pt', 'w.weight']
    """

    paths: Location | Iterable[Location]
    tree: str | None = None
    index: str | Iterable[str] | Literal[False] | None = None  # type: ignore[assignment]  # a tuple has an index()
    missing: Literal["raise", "null"] = "raise"


Friends.__new__ = takes()(Friends.__new__)  # type: ignore[method-assign]  # a NamedTuple takes no __new__ in its body


def friends_of(given: FriendsLike) -> dict[str, Any]:
    """Return the files of friends by their aliases. Raises: InvalidRequestError."""
    return named(given, "friends", 'their files by aliases, {"w": "weights/*.root"}')


def opened_chain(files: Fileset, friends: FriendsLike, options: Mapping[str, Any]) -> tuple[Chain, list[Row]]:
    """Open the first of trees in a row, and of those that are read beside them. Return the rows, too.

    options: those of the storage among them are used.
    """
    storage = storage_options(options)
    friends = friends_of(friends)
    leaving_out = None
    if not is_word(options.get("on_error", "raise"), "raise"):
        from arrowroot._passes.left_out import LeavingOut

        leaving_out = LeavingOut(options["on_error"])
    row = partial(opened_row, storage=storage)
    if not is_word(options.get("missing", "raise"), "raise") or options.get("promote", False) is not False:
        from arrowroot._api.unified import Differing, Unified

        row = partial(row, kind=Unified, differing=Differing.of(options))
    rows = [row(files.files, leaving_out=leaving_out, samples=files.samples)]
    if files.n_entries:
        rows[0].enforce(
            lambda one, _: files.check_whole(one.location, one.num_entries, f"{one.url}:{one.path}")
        )
    if not friends:
        return rows[0], rows
    chain = WithFriends(rows[0])
    for alias, given in friends.items():
        other = given if isinstance(given, Friends) else Friends(given)
        rows.append(row(fileset(other.paths, other.tree).files, with_index=other.index is None))
        chain.add(alias, rows[-1], other.index, other.missing)
    return chain, rows
