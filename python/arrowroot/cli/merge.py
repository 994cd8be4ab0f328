"""`arrowroot merge`."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import arrowroot
from arrowroot import ArrowrootError, CorruptFileError
from arrowroot._converting import compare
from arrowroot._merging.frames import JoinedRows, frames_of
from arrowroot._merging.merge import BadInputError, merged, request_of
from arrowroot._merging.outputs import left_over
from arrowroot._merging.rows import unseen
from arrowroot._progress import Progress
from arrowroot._render import printable, without_secrets
from arrowroot._sizes import counted, format_bytes
from arrowroot.cli import destinations
from arrowroot.cli.failures import EXIT_DONE, EXIT_SKIPPED
from arrowroot.cli.target import storage_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from arrowroot import File, MergeReport, Tree
    from arrowroot._merging.merge import MergedObject

    #: Entries of an input as the output has them.
    _Moved = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def run(options: argparse.Namespace) -> int:
    """Merge files, and say what became of their objects."""
    rules: dict[str, str] = {}
    for pattern, rule in options.rule:
        rules.setdefault(pattern, rule)
    storage = storage_options(options)
    request = request_of(
        options.output,
        options.inputs,
        options.columns,
        rules,
        options.on_bad_input,
        options.max_size,
        options.open_files,
        options.reproducible,
        options.rebasket,
        options.provenance,
        options.join,
    )
    destinations.check([("OUT", request.output)], {})
    check = _Check(storage, request.join) if options.verify else None
    with Progress("merging") as progress:
        report = merged(request, storage, progress, check)
    if options.json:
        import json

        print(json.dumps(_document(report, is_verified=options.verify), indent=2))
    else:
        _say(report, rebaskets=request.rebasket)
    for pattern in report.unused_rules:
        option = "--rule" if pattern in rules else "--join"
        print(f"arrowroot: {option} {printable(pattern)}: no object has this name or path", file=sys.stderr)
    for path in left_over(request.output, len(report.outputs)) if request.max_size is not None else ():
        print(
            f"arrowroot: {printable(path)} was there before and stays: it is no part of this merging",
            file=sys.stderr,
        )
    for name in more_than_once(request.inputs):
        print(
            f"arrowroot: {printable(without_secrets(name))} is among the inputs more than once",
            file=sys.stderr,
        )
    for left_out in report.left_out:
        error = without_secrets(" ".join(str(left_out.error).split()))
        print(f"arrowroot: {printable(left_out.path)} was left out: {printable(error)}", file=sys.stderr)
    return EXIT_SKIPPED if report.left_out else EXIT_DONE


def more_than_once(names: Iterable[str]) -> list[str]:
    """Return the names that come more than once: globs overlap, and entries would be counted twice."""
    return sorted(name for name, n_times in Counter(names).items() if n_times > 1)


class _Check:
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
        raise CorruptFileError(f"{tree.location}, read back, has other rows than those that were read")
    return len(new)


def _compare(tree: Tree, whole: Tree, first: int, moved: _Moved) -> int:
    """Compare the tree of an input with the entries of the output from ``first`` on; return how many there are."""
    shared = [column for column in tree.choose() if whole.has_branch(column)]
    n_entries = tree.num_entries
    if n_entries and shared:
        own = tree.scan(shared, entries=slice(0, n_entries))
        copied = whole.scan(shared, entries=slice(first, first + n_entries))
        sides = (own.schema, moved(own)), (copied.schema, iter(copied))
        found = compare.difference(*sides, by_name=True)
        if found is not None:
            raise CorruptFileError(f"{tree.location}, read back, is not what was read: {found}")
    return n_entries


def _tree(file: File, path: str) -> Tree:
    tree: Any = file[path]
    return tree  # type: ignore[no-any-return]  # it was listed as one


def _document(report: MergeReport, *, is_verified: bool) -> dict[str, Any]:
    outputs = [
        {
            "path": without_secrets(output.path),
            "bytes": output.bytes,
            "n_inputs": output.n_inputs,
            "objects": [one._asdict() | {"notes": list(one.notes)} for one in output.objects],
        }
        for output in report.outputs
    ]
    left_out = [{"path": one.path, "error": without_secrets(str(one.error))} for one in report.left_out]
    return {
        "form": "arrowroot.merge/1",
        "outputs": outputs,
        "left_out": left_out,
        "unused_rules": list(report.unused_rules),
        "verified": is_verified,
    }


def _say(report: MergeReport, *, rebaskets: bool) -> None:
    for output in report.outputs:
        print(
            f"{printable(without_secrets(output.path))}: {counted(output.n_inputs, 'file')}, "
            f"{format_bytes(output.bytes)}"
        )
        tables = [one for one in output.objects if one.num_entries is not None]
        width = max((len(one.path) for one in tables), default=0)
        for one in tables:
            is_copied = not (rebaskets and _piece(one) == "basket")
            pieces = counted(one.n_baskets, _piece(one)) + (" copied" if is_copied else "")
            print(
                f"  {printable(one.path).ljust(width)}  {counted(one.num_entries or 0, 'entry', 'entries')} of "
                f"{counted(one.n_inputs, 'file')}, {'each row once' if one.rule == 'unique' else pieces}"
            )
        others: dict[str, int] = {}
        for one in output.objects:
            if one.num_entries is None:
                others[one.rule] = others.get(one.rule, 0) + 1
        for rule, number in others.items():
            print(f"  {counted(number, 'object')}: {rule}")
        for one in output.objects:
            for note in one.notes:
                print(f"arrowroot: {printable(one.path)}: {printable(note)}", file=sys.stderr)
            if one.n_small_baskets:
                saving = ""
                if rebaskets and _piece(one) == "basket":
                    saving = "; what can be put together has been"
                elif one.n_if_rebasketed < one.n_baskets:
                    saving = f"; --rebasket makes {one.n_if_rebasketed} of them, about"
                print(
                    f"arrowroot: {printable(one.path)}: {counted(one.n_small_baskets, _piece(one))} of {one.n_baskets} "
                    f"are smaller than 4 kB: whoever reads all columns makes up to {one.n_baskets} reads{saving}",
                    file=sys.stderr,
                )


def _piece(table: MergedObject) -> str:
    return "page" if "RNTuple" in table.class_name else "basket"
