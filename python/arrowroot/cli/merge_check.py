"""`arrowroot merge --verify`: outputs beside their inputs, value by value."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import arrowroot
from arrowroot import ArrowrootError, CorruptFileError, UnsupportedError
from arrowroot._converting import compare
from arrowroot._merging.frames import JoinedRows, frames_of
from arrowroot._merging.merge import BadInputError
from arrowroot._merging.rows import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from arrowroot import File, Scan, Tree
    from arrowroot._merging.merge import MergedObject

    #: Entries of an input as the output has them.
    _Moved = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


#: So many entries tell how the objects of a column are written.
_N_LOOKED_AT = 16


class _DifferenceError(CorruptFileError):
    """Input and output can be read, and differ."""


class Comparing:
    """Reads outputs and their inputs, and compares the values of trees and RNTuples."""

    def __init__(self, storage: dict[str, str], join: str | None) -> None:
        """``join``: the pattern of directories that become one."""
        self._storage = storage
        self._join = join

    def __call__(self, path: str, inputs: Sequence[str], objects: Sequence[MergedObject]) -> None:
        """Raise CorruptFileError if the output does not have the values of the inputs."""
        rules = {one.path: one.rule for one in objects if one.num_entries is not None}
        joined = next((name for name, _ in frames_of(self._join, rules) if name), "")
        rows = JoinedRows()
        with arrowroot.open(path) as output:
            comparison = _Comparison(output, rules)
            for name in inputs:
                with arrowroot.open(name, **self._storage) as file:
                    for frame, trees in frames_of(self._join, file.trees):
                        n_entries: dict[str, int] = {}
                        for tree in trees:
                            inside = tree[len(frame) :]
                            path_of_output = f"{joined}{inside}" if frame else tree
                            moved = partial(rows.moved, inside[1:]) if frame else iter
                            n_entries[inside[1:]] = comparison.compare(
                                _tree(file, tree), path_of_output, name, moved
                            )
                        if frame:
                            rows.end_directory(n_entries)
            comparison.check_all_read()


class _Comparison:
    """An output beside its inputs, one behind the other."""

    def __init__(self, output: File, rules: dict[str, str]) -> None:
        """``rules``: of its tables."""
        self._output = output
        self._rules = rules
        self._n_read = dict.fromkeys(rules, 0)
        #: Rows of tables that were read, if each is there once.
        self._met: dict[str, set[bytes]] = {}

    def compare(self, tree: Tree, path: str, name: str, moved: _Moved) -> int:
        """Compare the table of an input with the one of the output at a path; return how many entries are its own.

        name: of the input. moved: makes its entries those of the output.

        Raises: BadInputError if the input is at fault; CorruptFileError.
        """
        rule = self._rules.get(path)
        n_entries = 0
        try:
            if rule == "concatenate" or (rule == "first" and path not in self._met):
                n_entries = _compare(tree, self._table(path), self._n_read[path], moved)
            elif rule == "unique":
                seen = self._met.setdefault(path, set())
                n_entries = _compare_rows(tree, self._table(path), self._n_read[path], seen)
        except _DifferenceError:
            raise
        except ArrowrootError:
            _read_all(tree, name)
            raise
        self._met.setdefault(path, set())
        if rule is not None:
            self._n_read[path] += n_entries
        return n_entries

    def check_all_read(self) -> None:
        """Raise CorruptFileError for entries that are in no input."""
        for path, n_entries in self._n_read.items():
            if (found := self._table(path).num_entries) != n_entries:
                raise CorruptFileError(f"{path}: {found} entries, and {n_entries} in the inputs")

    def _table(self, path: str) -> Tree:
        return _tree(self._output, path)


def _read_all(tree: Tree, name: str) -> None:
    """Raise BadInputError if an input is at fault, and not what was made of it."""
    try:
        for _ in tree.scan():
            pass
    except ArrowrootError as error:
        raise BadInputError(name, error) from error


def _compare_rows(tree: Tree, whole: Tree, first: int, seen: set[bytes]) -> int:
    """Compare the rows that an input has first with those of the output from ``first`` on; return their number."""
    new = [row for batch in tree.scan(whole.choose()) for _, row in unseen(batch, set(), seen)]
    written = [
        row
        for batch in whole.scan(entries=slice(first, first + len(new)))
        for _, row in unseen(batch, set(), set())
    ]
    if repr(new) != repr(written):
        raise _DifferenceError(f"{tree.location}, read back, has other rows than those that were read")
    return len(new)


def _compare(tree: Tree, whole: Tree, first: int, moved: _Moved) -> int:
    """Compare the tree of an input with the entries of the output from ``first`` on; return how many there are."""
    shared = [column for column in tree.choose() if whole.has_branch(column)]
    n_entries = tree.num_entries
    if n_entries and shared:
        scans = partial(_both, tree, whole, first, n_entries)
        try:
            found = _difference(*scans(shared), moved)
        except (UnsupportedError, CorruptFileError):
            found = _difference_one_by_one(shared, tree, scans, moved)
        if found is not None:
            raise _DifferenceError(f"{tree.location}, read back, is not what was read: {found}")
    return n_entries


def _both(
    tree: Tree, whole: Tree, first: int, n_entries: int, columns: list[str], *, raw: bool = False
) -> tuple[Scan, Scan]:
    """Return scans of an input, and of the entries of the output from ``first`` on."""
    own = tree.scan(columns, entries=slice(0, n_entries), raw=raw)
    return own, whole.scan(columns, entries=slice(first, first + n_entries), raw=raw)


def _difference(own: Scan, copied: Scan, moved: _Moved) -> str | None:
    return compare.difference((own.schema, moved(own)), (copied.schema, iter(copied)), by_name=True)


def _is_of_code(tree: Tree, column: str) -> bool:
    """Return whether the objects of a column are written by code of their own, as some of its entries tell.

    Where the others in a basket do not tell, an entry may as well be damaged.
    """
    n_entries = tree.num_entries
    for entry in range(0, n_entries, -(-n_entries // _N_LOOKED_AT)):
        try:
            tree.to_arrow([column], entries=slice(entry, entry + 1))
        except UnsupportedError:
            return True
        except CorruptFileError:
            continue
        return False
    return False


def _difference_one_by_one(
    columns: list[str], tree: Tree, scans: Callable[..., tuple[Scan, Scan]], moved: _Moved
) -> str | None:
    """Return the first difference. Columns that are written by code of their own have their bytes compared."""
    for column in columns:
        try:
            found = _difference(*scans([column]), moved)
        except (UnsupportedError, CorruptFileError):
            if not _is_of_code(tree, column):
                raise
            found = _difference(*scans([column], raw=True), iter)
        if found is not None:
            return found
    return None


def _tree(file: File, path: str) -> Tree:
    tree: Tree = file[path]  # it was listed as one
    return tree
