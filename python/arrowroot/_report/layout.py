"""How a table lies in its file: clusters, baskets or pages, and how far apart those are that one entry needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrowroot import _native
from arrowroot._errors import InvalidRequestError, NoSuchColumnError, nearest
from arrowroot._select.columns import Choice, Lookup, divided, without_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from arrowroot._api.tree import Tree
    from arrowroot._select.columns import Candidate

    Integers = npt.NDArray[np.int64]

#: The default of ``TTree::OptimizeBaskets``.
ROOT_BASKET_MEMORY = 10_000_000


class Spread(NamedTuple):
    """Smallest, middle and largest of some numbers; zeros if there are none."""

    smallest: int
    median: int
    largest: int


class ColumnLayout(NamedTuple):
    """The pieces of one column."""

    path: str
    n_pieces: int
    stored_bytes: int
    #: The middle one.
    piece_bytes: int
    #: The size of baskets of a tree's branch, as recorded and by ROOT's rule.
    basket_bytes: int | None = None
    optimized_bytes: int | None = None
    ends_compression: bool = False


class Verdict(NamedTuple):
    """The verdict of ``TTree::OptimizeBaskets``: pairs of what is recorded, and what it would be."""

    max_memory_bytes: int
    memory_bytes: tuple[int, int]
    #: Baskets of all branches, counted as ROOT does: roughly.
    n_baskets: tuple[int, int]
    n_branches: int
    n_changed: int


class FileMap(NamedTuple):
    """Where the pieces of which entries lie: a picture in numbers."""

    #: Offsets between the rows, and entries between the columns.
    offsets: Integers
    entries: Integers
    #: Share of each row's bytes that the entries of a column need, shape (n_rows, n_columns).
    shares: npt.NDArray[np.float64]


class Layout(NamedTuple):
    """The layout of a table, or of some of its columns, as metadata tell it."""

    is_ntuple: bool
    auto_flush: int | None
    clusters: Integers
    #: Entries and stored bytes of a cluster; bytes are counted where a piece begins.
    cluster_entries: Spread
    cluster_bytes: Spread
    n_pieces: int
    piece_bytes: Spread
    piece_entries: Spread
    #: Pieces in the record of the tree, and those with entries of several clusters.
    n_embedded: int
    n_over_clusters: int
    #: The needs of one entry: bytes from the first to the last, those of its pieces, and how many these are.
    span_bytes: Spread
    touched_bytes: Spread
    touched_pieces: Spread
    columns: list[ColumnLayout]
    verdict: Verdict | None
    #: The pieces, as ``TreeMetadata.pieces`` has them.
    pieces: dict[str, Any]

    def data(self) -> dict[str, Any]:
        """Return the numbers as JSON has them."""
        verdict = self.verdict
        return {
            "format": "rntuple" if self.is_ntuple else "ttree",
            "auto_flush": self.auto_flush,
            "clusters": {
                "n": max(0, len(self.clusters) - 1),
                "entries": self.cluster_entries._asdict(),
                "stored_bytes": self.cluster_bytes._asdict(),
            },
            "pieces": {
                "n": self.n_pieces,
                "stored_bytes": self.piece_bytes._asdict(),
                "entries": self.piece_entries._asdict(),
                "n_embedded": self.n_embedded,
                "n_over_clusters": self.n_over_clusters,
            },
            "entry": {
                "span_bytes": self.span_bytes._asdict(),
                "stored_bytes": self.touched_bytes._asdict(),
                "n_pieces": self.touched_pieces._asdict(),
            },
            "optimize_baskets": None if verdict is None else verdict._asdict(),
            "columns": [column._asdict() for column in self.columns],
        }


def layout_of(
    tree: Tree, names: Sequence[str] | None = None, basket_memory: int = ROOT_BASKET_MEMORY
) -> Layout:
    """Return the layout of a table, or of the columns that names or globs choose, with what is inside of them.

    basket_memory: bytes that ``TTree::OptimizeBaskets`` may give to the baskets; it looks at all branches in any case.

    Reads nothing of a tree; of an RNTuple the page lists, once.

    Raises: NoSuchColumnError, InvalidRequestError if no column is left; StorageError or CorruptFileError if page lists
    cannot be read.
    """
    pieces = tree.pieces()
    paths: list[str] = pieces["paths"]
    chosen = _chosen(tree, paths, names)
    if names is not None:
        kept = np.isin(pieces["column"], chosen)
        pieces = {name: array if name == "paths" else array[kept] for name, array in pieces.items()}
    clusters = np.array(tree.clusters, np.int64)
    first, end, stored = pieces["first_entry"], pieces["entry_end"], pieces["stored_bytes"]
    is_there = pieces["offset"] >= 0
    of_cluster = np.searchsorted(clusters[:-1], first, side="right") - 1
    # Where a cluster of no entries stands, nothing can be over it.
    ends = clusters[np.clip(of_cluster + 1, 0, max(0, len(clusters) - 1))] if len(clusters) else end
    n_clusters = max(0, len(clusters) - 1)
    # Pages that are equal may share their bytes.
    own = np.flatnonzero(is_there)[np.unique(pieces["offset"][is_there], return_index=True)[1]]
    bytes_of = np.bincount(of_cluster[own], stored[own], n_clusters) if n_clusters else np.zeros(0)
    spans = _native.entry_spans(pieces["offset"], stored, first, end, tree.num_entries)
    told = tree.optimized_baskets(basket_memory)
    return Layout(
        is_ntuple=tree.auto_flush is None,
        auto_flush=tree.auto_flush,
        clusters=clusters,
        cluster_entries=_spread(np.diff(clusters)),
        cluster_bytes=_spread(bytes_of),
        n_pieces=len(first),
        piece_bytes=_spread(stored[is_there]),
        piece_entries=_spread(end - first),
        n_embedded=int(np.count_nonzero(~is_there)),
        n_over_clusters=int(np.count_nonzero(end > ends)),
        span_bytes=_spread(spans["span_bytes"], spans["n_entries"]),
        touched_bytes=_spread(spans["stored_bytes"], spans["n_entries"]),
        touched_pieces=_spread(spans["n_pieces"], spans["n_entries"]),
        columns=_columns(paths, chosen, pieces, told),
        verdict=None if told is None else _verdict(told, basket_memory),
        pieces=pieces,
    )


class _Field(NamedTuple):
    """A field of an RNTuple inside of another one, called as its physical columns are: a ``Candidate``."""

    path: str
    name: str
    type_name: str = ""
    is_group: bool = False
    depth: int = 0
    is_part: bool = True
    unsupported: str | None = None


def _chosen(tree: Tree, paths: list[str], names: Sequence[str] | None) -> list[int]:
    """Return the places of the columns that ``Tree.scan`` would choose by names and globs, with what is inside."""
    if names is None:
        return list(range(len(paths)))
    branches = {branch.path for branch in tree.branches}
    inner = [_Field(path, path.rpartition(".")[2]) for path in dict.fromkeys(paths) if path not in branches]
    candidates: list[Candidate] = [*tree.branches, *inner]
    texts = tree.spelled(Choice(list(names))).columns or []
    taken, left_out = divided(candidates, texts)
    wanted, unwanted = (_meant(candidates, some, paths, tree.location) for some in (taken, left_out))
    around = [{*_around(path), *_around(re.sub(r"\._[0-9]+", "", path))} for path in paths]
    chosen = [
        index for index, ones in enumerate(around) if (not taken or ones & wanted) and not ones & unwanted
    ]
    if not chosen:
        raise InvalidRequestError(
            f"{tree.location}: {', '.join(map(repr, texts))} leaves nothing that is stored"
        )
    return chosen


def _meant(candidates: Sequence[Candidate], texts: list[str], paths: list[str], where: str) -> set[str]:
    """Return the paths that texts of columns mean, without their mark. Raises: NoSuchColumnError."""
    found: set[str] = set()
    names = [without_mark(text) for text in texts]
    lookup = Lookup(candidates, names)
    for name in names:
        meant = {one.path for one in lookup.meant(name)}
        if not meant:
            near = nearest(name, paths)
            raise NoSuchColumnError(
                f"{where}: no branch or field is called {name!r}", name, near, known=paths
            )
        found |= meant
    return found


def _around(path: str) -> list[str]:
    """Return a path, and those of what is around it."""
    return [path, *(path[:i] for i, letter in enumerate(path) if letter in "./")]


def _columns(
    paths: list[str], chosen: list[int], pieces: dict[str, Any], told: dict[str, Any] | None
) -> list[ColumnLayout]:
    """Return the columns that have pieces, in the order of the file."""
    counts = np.bincount(pieces["column"], minlength=len(paths))
    starts = np.concatenate([[0], np.cumsum(counts)])
    # Pieces of a column follow each other.
    order = np.argsort(pieces["column"], kind="stable")
    stored = pieces["stored_bytes"][order]
    sizes = {} if told is None else {path: rest for path, *rest in told["branches"]}
    found = []
    for index in chosen:
        if counts[index]:
            own = stored[starts[index] : starts[index + 1]]
            path = paths[index]
            found.append(
                ColumnLayout(path, len(own), int(own.sum()), _spread(own).median, *sizes.get(path, ()))
            )
    return found


def _verdict(told: dict[str, Any], basket_memory: int) -> Verdict:
    changed = [recorded != optimized for _, recorded, optimized, _ in told["branches"]]
    memory, baskets = tuple(told["memory_bytes"]), tuple(told["n_baskets"])
    return Verdict(basket_memory, memory, baskets, len(changed), sum(changed))


def _spread(values: npt.NDArray[Any], weights: Integers | None = None) -> Spread:
    """Return smallest, median and largest; ``weights``: how often each value is there. The median is one of them."""
    if not len(values):
        return Spread(0, 0, 0)
    order = np.argsort(values, kind="stable")
    counts = np.cumsum(np.ones(len(values), np.int64) if weights is None else weights[order])
    middle = int(np.searchsorted(counts, (counts[-1] + 1) // 2))
    return Spread(int(values[order[0]]), int(values[order[middle]]), int(values[order[-1]]))


def file_map(layout: Layout, n_entries: int, n_rows: int, n_columns: int) -> FileMap | None:
    """Return which entries need which part of the file, from the first to the last piece; None if there are none."""
    pieces = layout.pieces
    is_there = (pieces["offset"] >= 0) & (pieces["stored_bytes"] > 0)
    begin, n_bytes = pieces["offset"][is_there], pieces["stored_bytes"][is_there]
    first, last = pieces["first_entry"][is_there], pieces["entry_end"][is_there] - 1
    if not len(begin) or not n_entries:
        return None
    offsets = np.linspace(begin.min(), (begin + n_bytes).max(), n_rows + 1).astype(np.int64)
    entries = np.linspace(0, n_entries, min(n_columns, n_entries) + 1).astype(np.int64)
    n_columns = len(entries) - 1
    changes = np.zeros((n_rows, n_columns + 1))
    row, last_row = (
        np.clip(np.searchsorted(offsets, at, side="right") - 1, 0, n_rows - 1)
        for at in (begin, begin + n_bytes - 1)
    )
    left, right = (
        np.clip(np.searchsorted(entries, entry, side="right") - 1, 0, n_columns - 1)
        for entry in (first, last)
    )
    while len(begin):
        # The first row of a piece that lies in several; then the rest of it.
        ends = np.where(last_row > row, offsets[row + 1], begin + n_bytes)
        np.add.at(changes, (row, left), ends - begin)
        np.add.at(changes, (row, right + 1), begin - ends)
        goes_on = last_row > row
        begin, n_bytes = ends[goes_on], (begin + n_bytes - ends)[goes_on]
        row, last_row = row[goes_on] + 1, last_row[goes_on]
        left, right = left[goes_on], right[goes_on]
    heights = np.maximum(np.diff(offsets), 1)[:, None]
    shares: npt.NDArray[np.float64] = np.cumsum(changes, axis=1)[:, :-1] / heights
    return FileMap(offsets, entries, shares)
