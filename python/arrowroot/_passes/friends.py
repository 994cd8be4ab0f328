"""Friends of a tree: the names of their columns, and which of their entries belong to those of the tree."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from arrowroot._errors import CorruptFileError, InvalidRequestError
from arrowroot._passes.source import SideBySide, batches_of
from arrowroot._select.columns import Choice, id_paths, select
from arrowroot._select.ids import SortedIds, blocks
from arrowroot._sizes import counted, format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from arrowroot._expressions.scope import Alias
    from arrowroot._options import Options
    from arrowroot._passes.source import EnginePass
    from arrowroot._select.columns import Candidate
    from arrowroot._select.entries import EntrySet

_N_QUOTED = 3


class Part(Protocol):
    """Trees in a row, with friends or without."""

    @property
    def location(self) -> str: ...
    @property
    def num_entries(self) -> int: ...
    @property
    def reshuffled(self) -> str | None: ...
    @property
    def branches(self) -> Sequence[Candidate]: ...
    @property
    def aliased(self) -> Sequence[FriendBranch]: ...
    @property
    def aliases(self) -> Mapping[str, Alias]: ...
    def short_columns(self) -> dict[str, str]: ...
    def source(self, names: list[str], entries: EntrySet, options: Options) -> EnginePass: ...
    def first_schema(self, names: list[str], options: Options) -> pa.Schema: ...


class FriendBranch(NamedTuple):
    """A branch: the name under which it is delivered (``path``), the part it is in, and its path there (``inner``)."""

    path: str
    name: str
    type_name: str
    is_group: bool
    depth: int
    is_part: bool
    unsupported: str | None
    part: int
    inner: str


class Names(NamedTuple):
    """The branches of a tree, and its alias; None: it is the main tree.

    aliased: the branches of the tree's own friends once more, by the aliases that these have there.
    """

    alias: str | None
    branches: Sequence[Candidate]
    aliased: Sequence[FriendBranch] = ()


class Ids:
    """The ids of a friend's entries by an index: they are read once for all files that the friend is beside."""

    def __init__(self) -> None:
        self._known: SortedIds | None = None
        self._damage: CorruptFileError | None = None

    def of(self, part: Part, keys: list[str], options: Options) -> SortedIds:
        """Return the ids of all entries of a friend. Raises: CorruptFileError, without another look the next time."""
        if self._damage is not None:
            raise self._damage.with_traceback(None)
        if self._known is None:
            values = _values(part, keys, (0, part.num_entries), options)
            try:
                self._known = SortedIds(values, part.num_entries, len(keys))
            except CorruptFileError as error:
                self._damage = error
                raise
        return self._known


class Friend:
    """A tree that is read beside another one, entry by entry or by the values of some columns."""

    def __init__(
        self,
        alias: str,
        part: Part,
        main: Part,
        keys: list[str] | None,
        *,
        of_main: tuple[int, int] | None = None,
        shift: int = 0,
        is_by_default: bool = False,
        is_as_long: bool = False,
        has_holes: bool = False,
        ids: Ids | None = None,
    ) -> None:
        """Say which entries belong together.

        keys: columns that both trees have; entries with the same values belong together. None: by number.
        of_main: the range of the main tree's entries that will be asked for; None: all.
        shift: added to an entry's number in the main tree, this gives its number here; 0 with keys.
        is_by_default: True if entries belong together by number because nobody said otherwise.
        is_as_long: True if it must not have more entries than the main tree.
        has_holes: True if its columns are null for entries that have no partner here.
        ids: those of its entries, kept for all that it is a friend of; None: they are let go once they are looked up.
        """
        self.alias = alias
        self.part = part
        self.keys = keys
        self._main = main
        self._given_of_main = of_main
        self._shift = shift
        self._is_by_default = is_by_default
        self._is_as_long = is_as_long
        self.has_holes = has_holes
        self.ids = Ids() if ids is None else ids
        self._keeps_ids = ids is not None
        #: 4 bytes for each entry of the main tree, as long as the friend has fewer than 2^31.
        self._partners: npt.NDArray[np.signedinteger[Any]] | None = None

    @property
    def _of_main(self) -> tuple[int, int]:
        return self._given_of_main or (0, self._main.num_entries)

    def check(self) -> None:
        """Raise InvalidRequestError if entries belong together by their numbers, which do not fit.

        There may be fewer than the main tree has, or more in a chain, or the entries of one of the two are in no order,
        and nobody said that this does not matter. Source: ``TTree::AddFriend``, ``CheckReshuffling`` (ROOT 6.40).
        """
        reshuffled = (self.part.reshuffled or self._main.reshuffled) if self._is_by_default else None
        if reshuffled is not None:
            raise InvalidRequestError(
                f"friend {self.alias!r}: several threads wrote the entries of {reshuffled} in an order by chance "
                "(TTree::kEntriesReshuffled), so that their numbers do not tell which belong together; give "
                "index=(columns) that both trees have (add_friend, arrowroot.Friends), or index=False if they are "
                "known to be in order"
            )
        if self.keys is not None:
            return
        is_short = not self.has_holes and self.part.num_entries < self._of_main[1] + self._shift
        if is_short or (self._is_as_long and self.part.num_entries > self._main.num_entries):
            remedy = (
                "; name the files that belong together, or give index=(columns) (arrowroot.Friends), or index=False if "
                "its first entries are those that belong here"
            )
            raise InvalidRequestError(
                f"friend {self.alias!r}, {self.part.location}, has {'only ' if is_short else ''}"
                f"{counted(self.part.num_entries, 'entry', 'entries')}, "
                f"but {self._main.location} has {format_count(self._main.num_entries)}{'' if is_short else remedy}"
            )

    def source(
        self,
        paths: list[str],
        of_main: tuple[int, int] | npt.NDArray[np.int64],
        options: Options,
        shared: Options,
    ) -> EnginePass:
        """Return a pass over columns of the entries that belong to some of the main tree.

        shared: the options of this pass; ``options`` are those of reading the index. Raises: as ``entries``.
        """
        entries = self.entries(of_main, options)
        if not self.has_holes:
            return self.part.source(paths, entries, shared)
        import numpy as np

        from arrowroot._passes.holes import WithHoles

        n_there = self.part.num_entries
        if self.keys is None and isinstance(entries, tuple):
            first, end = (min(number, n_there) for number in entries)
            return WithHoles(self.part.source(paths, (first, end), shared), entries[1] - entries[0])
        numbers = np.arange(*entries) if isinstance(entries, tuple) else entries
        indices = np.flatnonzero((numbers >= 0) & (numbers < n_there))
        return WithHoles(self.part.source(paths, numbers[indices], shared), len(numbers), indices)

    def entries(
        self, of_main: tuple[int, int] | npt.NDArray[np.int64], options: Options
    ) -> tuple[int, int] | npt.NDArray[np.int64]:
        """Return the entries that belong to some of the main tree; with holes, also such as are not there.

        The first call reads the columns of the keys, with the resources of ``options``.

        Raises: InvalidRequestError if one of the entries has no partner here, or several.
        """
        if isinstance(of_main, tuple) and of_main[0] == of_main[1]:
            # Only types are asked for: the index is checked, and no values of it are read.
            for part in (self._main, self.part):
                _values(part, self.keys or [], (0, 0), options)
            return 0, 0
        if self.keys is None:
            if isinstance(of_main, tuple):
                return of_main[0] + self._shift, of_main[1] + self._shift
            return of_main + self._shift
        import numpy as np

        chosen = self._partners_of(of_main, self.keys, options)
        for what, mark in (("no partner", _NOBODY), ("several partners", _SEVERAL)):
            if mark == _NOBODY and self.has_holes:
                continue
            wrong = np.flatnonzero(chosen == mark)
            if len(wrong):
                numbers = of_main[0] + wrong if isinstance(of_main, tuple) else of_main[wrong]
                quoted = ", ".join(map(format_count, numbers[:_N_QUOTED].tolist()))
                raise InvalidRequestError(
                    f"{self._main.location}: {counted(len(wrong), 'entry', 'entries')} ({quoted}"
                    f"{', ...' if len(wrong) > _N_QUOTED else ''}) with {what} in the friend {self.alias!r} "
                    f"({self.part.location}) by {', '.join(self.keys)}"
                )
        if len(chosen) and bool((chosen[1:] - chosen[:-1] == 1).all()):
            return int(chosen[0]), int(chosen[-1]) + 1
        return chosen.astype(np.int64)

    def have_partner(
        self, of_main: tuple[int, int] | npt.NDArray[np.int64], options: Options
    ) -> npt.NDArray[np.bool_] | None:
        """Return which of the main tree's entries have one partner here; None: all have, or need none."""
        return (
            None
            if self.keys is None or self.has_holes
            else self._partners_of(of_main, self.keys, options) >= 0
        )

    def _partners_of(
        self, of_main: tuple[int, int] | npt.NDArray[np.int64], keys: list[str], options: Options
    ) -> npt.NDArray[np.signedinteger[Any]]:
        if self._partners is None:
            main = _values(self._main, keys, self._of_main, options)
            there = (self.ids if self._keeps_ids else Ids()).of(self.part, keys, options)
            n_main = self._of_main[1] - self._of_main[0]
            self._partners = _partners(main, n_main, there)
        first = self._of_main[0]
        if isinstance(of_main, tuple):
            return self._partners[of_main[0] - first : of_main[1] - first]
        return self._partners[of_main - first]


#: In the place of a partner.
_NOBODY, _SEVERAL = -1, -2


def _values(
    part: Part, keys: list[str], entries: tuple[int, int], options: Options
) -> Iterator[list[npt.NDArray[Any]]]:
    """Return the columns of the keys, to be read batch by batch.

    Raises: InvalidRequestError if one is not of integers.
    """
    import pyarrow as pa

    from arrowroot._arrow import arrays

    paths = id_paths(
        keys, lambda key: select(part.branches, Choice([key]), part.location).paths, part.location
    )
    source = part.source(paths, entries, options.of_ids())
    for field in source.schema():
        if not pa.types.is_integer(field.type):
            raise InvalidRequestError(
                f"{part.location}: column {field.name!r} has type {field.type}; an index is of integers"
            )
    return ([arrays.to_numpy(batch.column(path)) for path in paths] for batch in batches_of(source))


def _partners(
    batches: Iterable[list[npt.NDArray[Any]]], n_entries: int, friend: SortedIds
) -> npt.NDArray[np.signedinteger[Any]]:
    """Return for each entry of one tree the entry of the other with the same keys. ``batches``: its keys."""
    import numpy as np

    partners = np.full(n_entries, _NOBODY, dtype=np.int32 if len(friend) < 1 << 31 else np.int64)
    done = 0
    for block in (block for columns in batches for _, block in blocks(columns)):
        found = friend.find(block)
        chosen = friend.indices_of_keys[found.first].astype(partners.dtype)
        chosen[found.end - found.first > 1] = _SEVERAL
        partners[done + found.rows] = chosen
        done += len(block[0])
    return partners


def side_by_side(
    chosen: Sequence[FriendBranch], source_of: Callable[[int, list[str]], EnginePass]
) -> EnginePass:
    """Return a pass over columns of several parts. ``source_of``: that over the columns of one part, by their paths."""
    used = sorted({branch.part for branch in chosen}) or [0]
    return SideBySide(
        [
            source_of(part, list(dict.fromkeys(branch.inner for branch in chosen if branch.part == part)))
            for part in used
        ],
        [(branch.path, used.index(branch.part), branch.inner) for branch in chosen],
    )


def by_all_names(names: Sequence[Names]) -> list[FriendBranch]:
    """Return the branches of several trees by every name that they have, with and without aliases."""
    inside = {_alias_of(branch) for one in names for branch in one.aliased}
    return candidates_of(names, [*(f"{one.alias}." for one in names if one.alias is not None), *inside])


def refuse_double_names(parts: Sequence[tuple[str | None, Part]]) -> None:
    """Raise InvalidRequestError if one column by its path is called as another one by its alias.

    ``parts``: with their aliases, None for the main tree.
    """
    paths = [{branch.path for branch in part.branches} for _, part in parts]
    for index, (alias, part) in enumerate(parts):
        if alias is None:
            continue
        named = {f"{alias}.{path}" for path in paths[index]}
        for other, (_, beside) in enumerate(parts):
            double = named & paths[other] if other != index else set()
            if double:
                raise InvalidRequestError(
                    f"{beside.location} has a column {min(double)!r}, as one of the friend {alias!r} ({part.location}) "
                    "would be called; choose another alias"
                )


def _alias_of(branch: FriendBranch) -> str:
    """Return the beginning of an aliased name, with the dot."""
    return branch.path.removesuffix(branch.inner)


def candidates_of(parts: Sequence[Names], columns: Sequence[str] | None) -> list[FriendBranch]:
    """Return the branches of a tree and its friends to choose ``columns`` from.

    The tree's own go by their path. A friend's go by theirs if no other tree has it, and by "alias.path" if
    one has or if they are asked for so. Those of a friend's friend go by its alias as well, with and without the alias
    of the friend, if they are asked for so.
    """
    owners = Counter(branch.path for part in parts for branch in part.branches)
    owners.update(branch.path for part in parts for branch in part.aliased)
    texts = columns or ()
    result = []
    for number, (alias, branches, aliased) in enumerate(parts):

        def named(branch: Candidate, path: str, name: str, part: int = number) -> FriendBranch:
            kind = branch.type_name
            return FriendBranch(
                path,
                name,
                kind,
                branch.is_group,
                branch.depth,
                branch.is_part,
                branch.unsupported,
                part,
                branch.path,
            )

        for branch in branches:
            is_free = alias is None or owners[branch.path] == 1
            result.append(named(branch, branch.path if is_free else f"{alias}.{branch.path}", branch.name))
        # By these second names alone: the short one must not look ambiguous.
        if alias is not None and any(text.startswith(f"{alias}.") for text in texts):
            result += [
                named(branch, name, name)
                for branch in [*branches, *aliased]
                if (name := f"{alias}.{branch.path}") not in owners
            ]
        asked = {begin for begin in map(_alias_of, aliased) if any(text.startswith(begin) for text in texts)}
        result += [
            named(branch, branch.path, branch.path)
            for branch in aliased
            if _alias_of(branch) in asked and owners[branch.path] == 1
        ]
    return result
