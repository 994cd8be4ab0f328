"""Tables and objects beside the one that is skimmed: which of them are carried to the outputs."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._api.tree import Tree
from arrowroot._errors import ArrowrootError, InvalidRequestError, SchemaMismatchError
from arrowroot._objects.collections import ObjectList
from arrowroot._render import without_secrets
from arrowroot._select.columns import NOT, texts_of, without_mark
from arrowroot._writing.file import fault_of_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from arrowroot._api.file import File
    from arrowroot._api.tree_metadata import Pick
    from arrowroot._skimming.outputs import Outputs


#: Told of an object whose trees come out of it.
ONLY_TREES = "the trees in it are taken, and nothing else of it"

#: Columns in which CMS's NanoAOD of simulated events records sums of all that were generated.
NANOAOD_SUMS = ("Runs:genEventCount", "Runs:genEventSumw")


class Rule:
    """The names of what is carried."""

    def __init__(self, given: bool | str | Iterable[str]) -> None:
        """``given``: True for all, False for nothing, or names and globs, "!NAME" for what is left out."""
        self._texts = [] if isinstance(given, bool) else texts_of(given, "carry")
        self._carries = given is not False
        #: Texts that stood for something.
        self._used: set[str] = set()

    @property
    def text(self) -> str:
        """What it says."""
        return repr(self._texts) if self._carries else "none"

    @property
    def takes_all(self) -> bool:
        """True if nothing is left out."""
        return self._carries and not self._texts

    @property
    def takes_none(self) -> bool:
        """True if nothing is carried."""
        return not self._carries

    def takes(self, path: str) -> bool:
        """Return whether a table or an object of that path is carried."""
        if not self._carries:
            return False
        meant = [text for text in self._texts if fnmatchcase(path, without_mark(text))]
        self._used.update(meant)
        has_positive = any(not text.startswith(NOT) for text in self._texts)
        is_named = any(not text.startswith(NOT) for text in meant)
        return (is_named or not has_positive) and not any(text.startswith(NOT) for text in meant)

    def check_used(self) -> None:
        """Raise InvalidRequestError if a text stood for nothing in any input."""
        if unused := [text for text in self._texts if text not in self._used]:
            raise InvalidRequestError(
                f"carry: no input has another tree or object {without_mark(unused[0])!r}"
            )


class PickedReport(NamedTuple):
    """A tree of an output whose entries were copied as their bytes are."""

    path: str
    num_entries: int
    #: Clusters that were copied packed, and bytes of their baskets.
    packed: tuple[int, int]
    #: The same of those whose entries were put together.
    made: tuple[int, int]
    #: Remarks: parts that were left out.
    notes: Sequence[str]


class Merged(NamedTuple):
    """The objects of the outputs."""

    #: The paths of those that came along.
    paths: list[str]
    #: The others, and why.
    left_out: list[tuple[str, str]]
    #: By output the trees whose entries were copied as their bytes are.
    picked: list[list[PickedReport]]
    #: Patterns of rules that no object has.
    unused_rules: list[str]


class Objects:
    """The objects of the inputs: of one input as they are, of several merged as ``arrowroot.merge`` does it."""

    def __init__(self, rule: Rule, rules: Mapping[str, str], outputs: Outputs, n_inputs: int) -> None:
        """``rules``: of those of several inputs, as ``arrowroot.merge`` has them. Raises: InvalidRequestError."""
        self._rule = rule
        self._patterns = list(rules)
        # The first pattern that matches counts.
        self._mergers = outputs.mergers({**rules, "*": rules.get("*", "first")} if n_inputs == 1 else rules)
        #: False once some outputs have objects of an input, and others not.
        self.is_intact = True
        #: Objects and directories that do not come along, and why.
        self._left_out: dict[str, str] = {}

    def take(
        self, file: File, picks: Sequence[Sequence[Pick]], tried: Sequence[Pick], *, with_objects: bool
    ) -> None:
        """Take the objects of an input, all or none of them, and entries of trees as their bytes are.

        picks: for each output. tried: entries that are read before anything is taken. with_objects: False if another
        input of the same file has brought its objects.

        Raises: what reading does; SchemaMismatchError and UnsupportedError for those that cannot be merged.
        """
        paths = self._paths_in(file) if with_objects else []
        if not paths and not any(picks):
            return
        for number, merger in enumerate(self._mergers):
            try:
                file.merge_into(merger, paths, picks[number], () if number else tried)
            except ArrowrootError as error:
                self.is_intact = number == 0 and getattr(error, "is_of_input", False)
                raise

    def _paths_in(self, file: File) -> list[str]:
        """Return the paths of the objects of an input that come along, and note the others."""
        holders, paths = holders_of_trees(file), []
        for key in file.key_list(cycles=False):
            if key.is_tree or not self._rule.takes(key.path):
                continue
            if (fault := fault_of_path(key.path)) is not None:
                self._left_out[key.path] = fault
            elif key.path not in holders:
                paths.append(key.path)
            elif not has_only_trees(file[key.path]):
                self._left_out[key.path] = ONLY_TREES
        for path, trees in _with_trees(file, paths).items():
            paths.remove(path)  # a directory that it is in comes along
            url = without_secrets(file.url)
            self._left_out[path] = (
                f"{url}: {path}: there are trees in it; arrowroot skim {url}:{trees[0]} OUT --carry none takes one"
            )
        return paths

    def finish(self, tables: Iterable[str]) -> Merged:
        """Write what the outputs lack.

        tables: paths of the tables in inputs and outputs. Raises: SchemaMismatchError if an object has one of these.
        """
        reports = [merger.finish() for merger in self._mergers]
        paths = [path for path, *_ in reports[0]["objects"]]
        if both := sorted({*paths} & {*tables}):
            raise SchemaMismatchError(
                f"{both[0]!r} is a tree, and another object in some inputs: leave that out by carry, or give the tree "
                "another name"
            )
        picked = [[PickedReport(*one) for one in report["picked"]] for report in reports]
        unused = [pattern for pattern in self._patterns if pattern in reports[0]["unused_rules"]]
        return Merged(paths, list(self._left_out.items()), picked, unused)


def _with_trees(file: File, paths: list[str]) -> dict[str, list[str]]:
    """Return the objects in which there are trees, whose baskets are elsewhere in the file, and the trees."""
    found: dict[str, list[str]] = {}
    objects = {key.path for key in file.key_list(cycles=False) if not key.is_directory} & {*paths}
    for tree in file.trees_inside(paths):
        path = next(path for path in objects if tree.startswith(f"{path}/"))
        found.setdefault(path, []).append(tree)
    return found


def other_trees(file: File, main: str | None, rule: Rule) -> Iterator[tuple[str, Tree]]:
    """Yield the trees of a file that are carried, beside the one that is skimmed; those inside of objects if all are.

    ``main``: the path of that; None: all trees are alike.
    """
    paths = [key.path for key in file.key_list(cycles=False) if key.is_tree]
    if main is None:
        paths = paths or file.trees
    for path in paths:
        if path != main and rule.takes(path):
            found = file[path]
            if isinstance(found, Tree):
                yield path, found


def holders_of_trees(file: File) -> set[str]:
    """Return the paths of the objects that the trees of a file are inside of; none if keys are trees."""
    keys = file.key_list(cycles=False)
    if any(key.is_tree for key in keys):
        return set()
    paths, found = {key.path for key in keys if not key.is_directory}, set()
    for tree in file.trees:
        names = tree.split("/")
        found |= {path for end in range(1, len(names)) if (path := "/".join(names[:end])) in paths}
    return found


def has_only_trees(found: Any) -> bool:
    """Return whether an object is a list of trees, which is then as good as a directory."""
    return isinstance(found, ObjectList) and all(isinstance(item, Tree) for item in found)


def sums_of(file: File, names: Sequence[str]) -> dict[str, float]:
    """Return the sums of columns, "TREE:COLUMN", that a file has; integers stay such.

    Raises: InvalidRequestError for a column that is no number in each entry or, if a user named it, is not there.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    sums: dict[str, float] = {}
    for name in names:
        path, _, column = name.rpartition(":")
        tree = file.get(path)
        if not isinstance(tree, Tree) or not tree.has_branch(column):
            if tuple(names) != NANOAOD_SUMS:
                lacks = f"column {column!r} in {path!r}" if isinstance(tree, Tree) else f"tree {path!r}"
                raise InvalidRequestError(f"sums: {file.url}: there is no {lacks}")
            continue
        values = tree.to_arrow([column]).column(0)
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise InvalidRequestError(f"sums: {file.url}: {name} has type {values.type}: expected numbers")
        sums[name] = pc.sum(values).as_py() or 0
    return sums
