"""`arrowroot show`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from arrowroot import (
    Directory,
    Graph,
    Histogram,
    InvalidRequestError,
    ObjectList,
    ObjectMap,
    Parameter,
    PolyHistogram,
    Record,
    Text,
    Tree,
)
from arrowroot import _terminal as terminal
from arrowroot._objects.record import json_text
from arrowroot._render import N_QUOTED, clip, printable, text_table
from arrowroot.cli import art, ls
from arrowroot.cli.target import column_of, each_target, open_target, refuse_column, storage_options

if TYPE_CHECKING:
    from arrowroot import File

_PIPED_WIDTH = 100
_USUAL_DEPTH = 3
_ALL_DEPTH = 100
_N_ITEMS = 20
_N_NUMBERS = 6
#: What there is a picture of.
_DRAWN = (Histogram, PolyHistogram, Graph)
#: Members that say nothing of the contents.
_BOOKKEEPING = ("fUniqueID", "fBits")


def run(options: argparse.Namespace) -> int:
    """Show objects."""
    is_data = options.json or options.raw
    return each_target(options, lambda url, _: _show_one(url, options), separated=not is_data)


def _show_one(url: str, options: argparse.Namespace) -> None:
    file, path = open_target(url, storage_options(options))
    if path is None:
        path = _only_object(file)
    if options.raw:
        sys.stdout.buffer.write(file.raw(path))
        return
    column = column_of(file, path)
    if column is not None:
        _show_column(*column, options)
        return
    refuse_column(file, path)
    found = file[path]
    if isinstance(found, Tree | Directory):
        usual = {"urls": [url], "columns": None, "keys": False, "long": options.members, "group": False}
        ls.run(argparse.Namespace(**{**vars(options), **usual}))
        return
    show_object(found, path, options)


def _only_object(file: File) -> str:
    """Return the path of the object, if a file has just one. Raises: InvalidRequestError, which names some."""
    paths = [key.path for key in file.key_list(cycles=False) if not key.is_directory]
    if len(paths) != 1:
        some = ", ".join(map(repr, paths[:N_QUOTED])) + ", ..." * (len(paths) > N_QUOTED)
        hint = f"? {some}: write {file.url}:{paths[0]}" if paths else "? there is none in it"
        raise InvalidRequestError(f"{file.url}: which object{hint}")
    return paths[0]


def show_object(found: Any, path: str, options: argparse.Namespace) -> None:
    """Show an object that was read. ``options``: json and, of ``show`` alone, members."""
    if options.json:
        print(json_text(found, indent=2))
        return
    style = terminal.Style(sys.stdout)
    width = terminal.width(piped=_PIPED_WIDTH)
    every = getattr(options, "members", False)
    if every or not isinstance(found, _DRAWN):
        tree = _Tree(_ALL_DEPTH if every else _USUAL_DEPTH, every=every)
        tree.add(found, path, 0)
        print("\n".join(tree.drawn(style, width)))
        return
    print(f"{style.strong(printable(path))}  {printable(found.class_name)}: {found.summary()}")
    for line in _drawn(found, style, width):
        print(line)
    for name, value in found.own_members.items():
        own = _Tree(_USUAL_DEPTH - 1, every=False)
        own.add(value, name, 0)
        print("\n".join(own.drawn(style, width)))


def _show_column(tree: Tree, name: str, options: argparse.Namespace) -> None:
    """Show the sizes of a column, and its first values."""
    from arrowroot.cli import head

    shared = {
        "columns": [name],
        "filter": None,
        "define": [],
        "n_entries": 10,
        "entries": None,
        "command": "head",
        "long": False,
        "group": False,
    }
    chosen = argparse.Namespace(**{**vars(options), **shared})
    if not options.json:
        ls.print_branches(tree, tree.matching(name), chosen)
        print()
    head.show_tree(tree, chosen)


def _drawn(found: Histogram | PolyHistogram | Graph, style: terminal.Style, width: int) -> list[str]:
    """Return title, picture and figures of a histogram or graph."""
    title = printable(found.title)
    if isinstance(found, Graph):
        rows = [[name, *map(_number, values)] for name, values in _points(found).items()]
        picture = art.graph(found, width)
        table = text_table(rows, n_header=0, right=[False] + [True] * (len(rows[0]) - 1)) if rows else ""
        return [*([title] if title else []), *picture, *table.split("\n")]
    axes = tuple(map(found.axis, "xy")) if isinstance(found, PolyHistogram) else found.axes
    titles = zip("xyz", (printable(axis.title) for axis in axes), strict=False)
    names = "  ".join(f"{letter}: {text}" for letter, text in titles if text)
    figures = "  ".join(f"{style.faint(name)} {value}" for name, value in art.statistics(found))
    picture = art.polygons(found, width) if isinstance(found, PolyHistogram) else art.histogram(found, width)
    if not picture:
        picture = ["(three dimensions are not drawn: --members and --json show what is in them)"]
    return [*([title] if title else []), *picture, *([clip(names, width)] if names else []), figures]


def _points(found: Graph) -> dict[str, list[float]]:
    """Return the first coordinates and errors, by name."""
    rows = {}
    for axis, values in zip("xyz", found.to_numpy(), strict=False):
        rows[axis] = values.tolist()
        errors = found.errors(axis)
        if errors is not None:
            rows[f"  - error of {axis}"], rows[f"  + error of {axis}"] = (
                errors[0].tolist(),
                errors[1].tolist(),
            )
    return {name: values[:_N_NUMBERS] for name, values in rows.items()} if found.num_points else {}


def _number(value: float) -> str:
    return f"{value:.6g}"


class _Tree:
    """Level, name and text of an object and of all that is in it; each object once."""

    def __init__(self, depth: int, *, every: bool) -> None:
        """``every``: bookkeeping of ROOT, too, and the members of what has a form of its own."""
        self._lines: list[tuple[int, str, str]] = []
        self._depth = depth
        self._every = every
        self._seen: set[int] = set()

    def add(self, value: Any, name: str, level: int) -> None:
        text, children = self._within(value, level)
        self._lines.append((level, printable(name), printable(text)))
        if level >= self._depth:
            return
        n_shown = len(children)
        if isinstance(value, list | ObjectList | ObjectMap):
            n_own = len(value.own_members) if isinstance(value, Record) else 0
            n_shown = n_own + _N_ITEMS
        for child, item in children[:n_shown]:
            self.add(item, child, level + 1)
        if len(children) > n_shown:
            self._lines.append((level + 1, f"... {len(children) - n_shown} more", ""))

    def _within(self, value: Any, level: int) -> tuple[str, list[tuple[str, Any]]]:
        """Return what an object is, and what is in it, by name."""
        if isinstance(value, Record):
            summary = value.summary()
            text = value.class_name + (f": {summary}" if summary else "")
            if id(value) in self._seen:
                return f"{text} (as above)", []
            self._seen.add(id(value))
            return text, self._members(value, level)
        if isinstance(value, Tree):
            return f"{value.class_name}: {value.summary()}", []
        if isinstance(value, dict):
            return "", [(str(key), item) for key, item in value.items()]
        if isinstance(value, list) and any(isinstance(item, Record | Tree | dict | list) for item in value):
            return f"{len(value)} items", [(_label(item, str(i)), item) for i, item in enumerate(value)]
        return _leaf(value), []

    def _members(self, record: Record, level: int) -> list[tuple[str, Any]]:
        if self._every:
            return list(record.members.items())
        own = list(record.own_members.items())
        if isinstance(record, ObjectList):
            return own + [(_label(item, str(i)), item) for i, item in enumerate(record.objects)]
        if isinstance(record, ObjectMap):
            return own + [(_label(key, str(i)), item) for i, (key, item) in enumerate(record.pairs)]
        if level and (isinstance(record, (*_DRAWN, Text, Parameter)) or record.class_name == "TNamed"):
            return own
        return [(name, item) for name, item in record.members.items() if name not in _BOOKKEEPING]

    def drawn(self, style: terminal.Style, width: int) -> list[str]:
        result = []
        for stem, (level, label, text) in zip(
            ls.stems([line[0] for line in self._lines]), self._lines, strict=True
        ):
            # The first is what the others are in.
            line = clip(f"{stem[3:] if level else ''}{label}  {text}".rstrip(), width)
            result.append(line if level else line.replace(label, style.strong(label), 1))
        return result


def _label(item: Any, otherwise: str) -> str:
    """Return the name by which an object is found in a collection."""
    if isinstance(item, Text):
        return item.value
    name = getattr(item, "name", "")
    return name if isinstance(name, str) and name else otherwise


def _leaf(value: Any) -> str:
    if isinstance(value, list) or getattr(value, "ndim", None):
        shown = ", ".join(_leaf(item) for item in value[:_N_NUMBERS])
        left = len(value) - _N_NUMBERS
        kind = f"{value.dtype}" if hasattr(value, "dtype") else ""
        return f"{kind}[{shown}" + (f", … {left} more]" if left > 0 else "]")
    if isinstance(value, float):
        return f"{value:.6g}"
    return "null" if value is None else repr(value) if isinstance(value, str | bytes) else str(value)
