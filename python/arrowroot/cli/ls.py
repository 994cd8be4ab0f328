"""`arrowroot ls`. Needs neither pyarrow nor numpy."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot import (
    ArrowrootError,
    CorruptFileError,
    InvalidRequestError,
    Record,
    RecoveredWarning,
    Tree,
    UnsupportedError,
)
from arrowroot import _terminal as terminal
from arrowroot._render import cell_text, clip, clip_apart, printable, text_table, type_text, width_of
from arrowroot._sizes import compression_ratio, counted, cut_text, format_bytes, format_count, three_digits
from arrowroot.cli.target import (
    column_of,
    column_texts,
    each_target,
    json_indent,
    open_target,
    refuse_column,
    storage_options,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arrowroot import Branch, File, Key

_JSON_FORM = "arrowroot.ls/1"
_BRANCH_KEYS = (
    "path",
    "name",
    "title",
    "type_name",
    "arrow_type",
    "unsupported",
    "is_group",
    "depth",
    "n_entries",
    "n_baskets",
    "stored_bytes",
    "memory_bytes",
    "compression",
    "encoding",
)
#: The attribute set in which this library records the Arrow schema.
_OWN_SET = "ARROW"
_HEADER = ("branch", "C++ type", "entries", "stored", "memory", "ratio", "baskets", "codec")
#: What an RNTuple has instead.
_NTUPLE_WORDS = {"branch": "field", "baskets": "pages"}
#: Names and types are not cut below these.
_NAME_WIDTH = 30
_TYPE_WIDTH = 15
#: The columns that a narrow terminal does without, beginning with the first.
_DISPENSABLE = ("entries", "memory", "codec", "baskets", "ratio", "C++ type")
_TITLE_WIDTH = (10, 100)
#: Objects of a local file are looked into if all of them are no more than this.
_CHEAP_BYTES = 1_000_000
_CHEAP_OBJECTS = 200
_GAP_WIDTH = 2
#: Stands for columns that are of no collection.
_ALONE = "(single columns)"


def run(options: argparse.Namespace) -> int:
    """List what is in a file, or in several: one that cannot be listed does not hide the others."""
    if options.keys and options.columns:
        raise InvalidRequestError("ls: --keys shows no columns to choose with -c")
    storage = storage_options(options)
    return each_target(
        options,
        lambda url, is_alone: _list(options, url, storage, is_alone=is_alone),
        separated=not options.json,
    )


def _list(options: argparse.Namespace, url: str, storage: Mapping[str, str], *, is_alone: bool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        file, path = open_target(url, storage)
        keys = file.key_list()
    is_broken = file.missing_bytes > 0 or file.damage is not None
    for warning in caught:
        if not (path is None and is_broken and issubclass(warning.category, RecoveredWarning)):
            warnings.warn(warning.message, stacklevel=1)
    inside: Tree | None = None
    if path is not None:
        path = path.strip("/")
        if (column := column_of(file, path)) is not None:
            path = column[0].path
            options = argparse.Namespace(**{**vars(options), "columns": [column[1]]})
        elif not _below(keys, path):
            refuse_column(file, path)
        below = _below(keys, path)
        if not below:
            inside = file[path]  # a tree in another object; or says which names come near
            below = [_key_of(inside, keys)]
        keys = below
    patterns = column_texts(options.columns)
    trees = [] if options.keys else _trees(file, keys, patterns, inside)
    failed: list[ArrowrootError] = []
    if path is None and not trees and not options.keys:
        try:
            trees = _trees_inside(file, keys, patterns)
        except CorruptFileError as error:  # of an object that may have trees: said when all else is listed
            failed.append(error)
    summaries = {} if options.keys else _summaries(file, keys, every=options.long or path is not None)
    readable = [listed.tree for listed in trees if listed.tree]
    for text in patterns or ():
        name = text.removeprefix("!")
        if readable and not any(text in tree or tree.matching(name) for tree in readable):
            readable[0].choose([name])  # says which names come near
    failed += [listed.error for listed in trees if listed.error]
    # Damage says more about the file than what cannot be read yet.
    failed.sort(key=lambda error: isinstance(error, UnsupportedError))
    if failed and len(keys) == 1 and not options.json:
        raise failed[0]
    if options.json:
        _print_json(file, keys, trees, summaries, is_alone=is_alone)
    else:
        if path is None or not is_alone:
            _print_heading(file, keys)
        _print_text(path, keys, trees, summaries, options, is_alone=is_alone)
    if failed:
        raise failed[0]
    if path is None and file.missing_bytes:
        raise CorruptFileError(f"{file.url}: {cut_text(file.missing_bytes)}")
    if path is None and file.damage is not None:
        raise CorruptFileError(f"{file.url}: the file is damaged, and keys may be lost: {file.damage}")


def _print_heading(file: File, keys: Sequence[Key]) -> None:
    style = terminal.Style(sys.stdout)
    cut = f", cut short by {format_bytes(file.missing_bytes)}" if file.missing_bytes else ""
    how = "its keys were found by walking the records" if keys else "no key is in what is there of it"
    recovered = f", recovered ({how})" if file.was_recovered else ""
    said = f"{format_bytes(file.size_bytes)}, ROOT {file.root_version}, default {file.compression}{cut}{recovered}"
    print(style.headed(printable(file.url), said))


def _print_text(
    path: str | None,
    keys: Sequence[Key],
    trees: Sequence[_Listed],
    summaries: Mapping[Key, str],
    options: argparse.Namespace,
    *,
    is_alone: bool,
) -> None:
    style = terminal.Style(sys.stdout)
    if path is None or options.keys or any(key in summaries for key in keys):
        _print_keys(keys, summaries, style, long=options.long)
    for i, listed in enumerate(trees):
        if i or path is None or not is_alone:
            print()
        _print_tree(listed, style, options)


class _Listed(NamedTuple):
    """A tree and the branches of it to show; ``tree`` is None if it cannot be read, for the ``error``."""

    key: Key
    tree: Tree | None
    error: ArrowrootError | None
    branches: list[Branch]


def _key_of(inside: Tree, keys: list[Key]) -> Key:
    """Return the key of the object that a tree is inside of, with what the tree is called."""
    return _around(inside.path, keys)._replace(
        path=inside.path, name=inside.name, title=inside.title, class_name=inside.class_name, is_tree=True
    )


def _around(path: str, keys: Sequence[Key]) -> Key:
    """Return the key of the object that a path leads into."""
    return max((key for key in keys if path.startswith(key.path + "/")), key=lambda key: len(key.path))


def _below(keys: list[Key], path: str) -> list[Key]:
    """Return the key of that path, or those inside that directory."""
    bare, semicolon, cycle = path.rpartition(";")
    if not semicolon or any(key.path == path for key in keys):
        bare, cycle = path, ""  # names may have a semicolon
    return [
        key
        for key in keys
        if (key.path == bare and cycle in ("", str(key.cycle))) or key.path.startswith(bare + "/")
    ]


def _summaries(file: File, keys: Sequence[Key], *, every: bool) -> dict[Key, str]:
    """Return a line on each object that is no tree.

    Objects have to be read for that: without ``every`` only small ones of a local file are.
    """
    objects = [key for key in keys if not (key.is_tree or key.is_directory)]
    n_bytes = sum(key.stored_bytes for key in objects)
    is_cheap = "://" not in file.url and n_bytes <= _CHEAP_BYTES and len(objects) <= _CHEAP_OBJECTS
    if not (every or is_cheap):
        return {}
    result = {}
    for key in objects:
        try:
            found = file[f"{key.path};{key.cycle}"]
            result[key] = found.summary() if isinstance(found, Record) else cell_text(found)
        except ArrowrootError as error:
            reason = "not readable yet" if isinstance(error, UnsupportedError) else "damaged"
            result[key] = f"({reason}: arrowroot show says why)"
    return result


def _trees(
    file: File, keys: Sequence[Key], patterns: Sequence[str] | None, inside: Tree | None
) -> list[_Listed]:
    """Open each tree once, in its highest cycle unless one was named.

    inside: the only one, of another object, which is open.

    One that cannot be read comes with the reason, and does not stop the others.
    """
    best: dict[str, Key] = {}
    for key in keys:
        if key.is_tree and (key.path not in best or key.cycle > best[key.path].cycle):
            best[key.path] = key
    result = []
    for key in best.values():
        try:
            # Always with its cycle: a newer one may be of another class.
            tree = file[f"{key.path};{key.cycle}"] if inside is None else inside
        except ArrowrootError as error:
            result.append(_Listed(key, None, error, []))
            continue
        if isinstance(tree, Tree):
            result.append(_listed(key, tree, patterns))
    return result


def _trees_inside(file: File, keys: list[Key], patterns: Sequence[str] | None) -> list[_Listed]:
    """Open the trees inside of other objects, of a file where no key is a tree. Raises: CorruptFileError."""
    result = []
    for path in file.trees:
        try:
            tree = file[path]
        except ArrowrootError as error:
            key = _around(path, keys)._replace(path=path, is_tree=True)
            result.append(_Listed(key, None, error, []))
        else:
            result.append(_listed(_key_of(tree, keys), tree, patterns))
    return result


def _listed(key: Key, tree: Tree, patterns: Sequence[str] | None) -> _Listed:
    return _Listed(key, tree, None, tree.matching(patterns) if patterns else tree.branches)


def _print_keys(
    keys: Sequence[Key], summaries: Mapping[Key, str], style: terminal.Style, *, long: bool
) -> None:
    if not keys:
        print("(no keys)")
        return
    rows = [
        [
            f"{stem}{printable(key.name)};{key.cycle}",
            printable(key.class_name),
            format_bytes(key.stored_bytes),
            _titled(key, summaries.get(key)),
        ]
        for key, stem in zip(keys, stems([key.depth for key in keys]), strict=True)
    ]
    if not long:
        room = terminal.width() - sum(max(width_of(row[i]) for row in rows) + 2 for i in range(3))
        rows = [[*row[:3], clip(row[3], max(_TITLE_WIDTH[0], min(room, _TITLE_WIDTH[1])))] for row in rows]
    lines = text_table(rows, n_header=0, right=[False, False, True, False]).split("\n")
    for key, line in zip(keys, lines, strict=True):
        print(style.accent(line) if key.is_tree else line)


def _titled(key: Key, summary: str | None) -> str:
    """Return what an object is, and its title."""
    parts = [summary, key.title if key.title not in ("", key.class_name, summary) else None]
    return "  ".join(printable(part) for part in parts if part)


def stems(depths: Sequence[int]) -> list[str]:
    """Return the lines to draw before each item of a tree listed depth first: "│  └─ "."""
    result: list[str] = []
    # From below: a level goes on above an item until one of a higher level comes.
    going_on: set[int] = set()
    for depth in reversed(depths):
        going_on = {level for level in going_on if level <= depth}
        rails = "".join("│  " if level in going_on else "   " for level in range(depth))
        result.append(rails + ("├─ " if depth in going_on else "└─ "))
        going_on.add(depth)
    return result[::-1]


def _print_tree(listed: _Listed, style: terminal.Style, options: argparse.Namespace) -> None:
    key, tree = listed.key, listed.tree
    name = printable(key.path)
    if tree is None:
        print(f"{style.strong(name)}  {key.class_name}: {printable(str(listed.error))}")
        return
    said = (
        f"{tree.class_name}, {counted(tree.num_entries, 'entry', 'entries')}, "
        f"{counted(max(0, len(tree.clusters) - 1), 'cluster')}, {format_bytes(tree.stored_bytes)} stored, "
        f"{format_bytes(tree.memory_bytes)} in memory"
    )
    print(style.headed(name, said))
    if tree.written_by:
        sets = ", ".join(printable(name) for name in tree.attribute_sets)
        print(f"{printable(tree.written_by)}{', attribute sets: ' + sets if sets else ''}")
    for name_of_set in tree.attribute_sets:
        if name_of_set != _OWN_SET:
            print(_attributes_line(tree, name_of_set))
    for alias, expression in tree.aliases.items():
        print(f"alias {printable(alias)} = {printable(expression)}")
    print_branches(tree, listed.branches, options)


def _attributes_line(tree: Tree, name: str) -> str:
    """Return the ranges and values of an attribute set, or why they cannot be read."""
    try:
        found = tree.attributes[name]
        values = ", ".join(f"{printable(one.name)}: {type_text(one.type)}" for one in found.schema)
        said = f"{counted(found.num_ranges, 'range')} of entries: {values}"
    except ArrowrootError as error:
        said = printable(str(error))
    return f"attribute set {printable(name)}: {said}"


def print_branches(tree: Tree, branches: Sequence[Branch], options: argparse.Namespace) -> None:
    """Print branches of a tree with their sizes, or the collections that they are of."""
    style = terminal.Style(sys.stdout)
    columns = _counted_once(branches)
    stored = sum(branch.stored_bytes for branch in columns)
    memory = sum(branch.memory_bytes for branch in columns)
    if options.group:
        _print_collections(columns, style)
        return
    rows = [list(_HEADER), *(_branch_row(branch) for branch in branches)]
    rows.append(
        [
            f"total: {counted(len(columns), 'column')}",
            "",
            "",
            format_bytes(stored),
            format_bytes(memory),
            _ratio(memory, stored),
            format_count(sum(branch.n_baskets for branch in columns)),
            "",
        ]
    )
    right = [False, False, True, True, True, True, True, False]
    if not options.long:
        rows, right = _fitted(rows, right, terminal.width())
    else:
        ends = [
            [b.arrow_type or b.unsupported or "", b.title, *([b.encoding] if tree.written_by else [])]
            for b in branches
        ]
        header = ["Arrow type", "title", *(["encoding"] if tree.written_by else [])]
        right += [False] * len(header)
        for row, end in zip(rows, [header, *ends, [""] * len(header)], strict=True):
            row += [printable(text) for text in end]
    if tree.written_by:
        rows[0] = [_NTUPLE_WORDS.get(title, title) for title in rows[0]]
    lines = text_table(rows, right=right).split("\n")
    lines[0] = style.strong(lines[0])
    lines[-1] = style.strong(lines[-1])
    print("\n".join(lines))


def _print_collections(columns: Sequence[Branch], style: terminal.Style) -> None:
    """Print the sizes of columns that belong together, the largest first."""
    found = collections_of(columns)
    stored_bytes = sum(one.stored_bytes for one in found) or 1
    rows = [["collection", "columns", "stored", "share", "memory", "ratio"]]
    rows += [
        [
            printable(one.name),
            format_count(one.n_columns),
            format_bytes(one.stored_bytes),
            f"{100 * one.stored_bytes / stored_bytes:.1f} %",
            format_bytes(one.memory_bytes),
            _ratio(one.memory_bytes, one.stored_bytes),
        ]
        for one in found
    ]
    lines = text_table(rows, max_width=terminal.width()).split("\n")
    lines[0] = style.strong(lines[0])
    print("\n".join(lines))


class Collection(NamedTuple):
    """Columns that belong together: members of an object, or names that begin alike."""

    name: str
    n_columns: int
    stored_bytes: int
    memory_bytes: int


def collections_of(columns: Sequence[Branch]) -> list[Collection]:
    """Return the collections of columns, the largest first.

    A column is of the object or record that it is a member of; else of the first word of its name ("Muon_pt" of "Muon",
    "nMuon" too) if others are.
    """
    words: dict[str, list[Branch]] = {}
    for branch in columns:
        whole = re.split(r"[/.]", branch.path, maxsplit=1)
        word = whole[0] if len(whole) > 1 else branch.path.partition("_")[0]
        words.setdefault(word, []).append(branch)
    for word in [word for word in words if word[:1] == "n" and word[1:] in words]:
        words[word[1:]] += words.pop(word)
    groups: dict[str, list[Branch]] = {}
    for word, members in words.items():
        groups.setdefault(word if len(members) > 1 else _ALONE, []).extend(members)
    found = [
        Collection(name, len(of), sum(b.stored_bytes for b in of), sum(b.memory_bytes for b in of))
        for name, of in groups.items()
    ]
    return sorted(found, key=lambda one: -one.stored_bytes)


def _counted_once(branches: Sequence[Branch]) -> list[Branch]:
    """Leave out groups, and members of fields that are there themselves."""
    paths = {branch.path for branch in branches}

    def is_inside(branch: Branch) -> bool:
        parts = branch.path.split(".")
        return any(".".join(parts[:k]) in paths for k in range(1, len(parts)))

    return [b for b in branches if not b.is_group and not (b.is_part and is_inside(b))]


def _fitted(rows: list[list[str]], right: list[bool], width: int) -> tuple[list[list[str]], list[bool]]:
    """Return the table for a terminal: long names and types cut, and columns left out if it is narrow."""
    rows = [[row[0], row[1].replace("std::", ""), *row[2:]] for row in rows]
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    least_name = min(widths[0], _NAME_WIDTH)
    least_kind = min(widths[1], _TYPE_WIDTH)
    kept = list(range(len(widths)))

    def needed(name: int, kind: int) -> int:
        return name + sum((kind if i == 1 else widths[i]) + _GAP_WIDTH for i in kept[1:])

    for title in _DISPENSABLE:
        if needed(least_name, least_kind) <= width:
            break
        kept.remove(_HEADER.index(title))
    # The names get what is left over first.
    name = min(widths[0], max(least_name, width - needed(0, least_kind)))
    kind = min(widths[1], max(least_kind, width - needed(name, 0)))
    names = clip_apart([row[0] for row in rows], name)
    return (
        [
            [shown if i == 0 else clip(row[i], kind) if i == 1 else row[i] for i in kept]
            for shown, row in zip(names, rows, strict=True)
        ],
        [right[i] for i in kept],
    )


def _branch_row(branch: Branch) -> list[str]:
    kind = printable(branch.type_name)
    if branch.unsupported is not None and not branch.is_group:
        kind = f"(not readable) {kind}"
    return [
        "  " * branch.depth + printable(branch.name),
        kind,
        format_count(branch.n_entries),
        format_bytes(branch.stored_bytes),
        format_bytes(branch.memory_bytes),
        _ratio(branch.memory_bytes, branch.stored_bytes),
        format_count(branch.n_baskets),
        branch.compression,
    ]


def _ratio(memory_bytes: int, stored_bytes: int) -> str:
    ratio = compression_ratio(memory_bytes, stored_bytes)
    return "-" if ratio is None else three_digits(ratio)


def _print_json(
    file: File,
    keys: Sequence[Key],
    trees: Sequence[_Listed],
    summaries: Mapping[Key, str],
    *,
    is_alone: bool,
) -> None:
    import json

    document: dict[str, Any] = {
        "form": _JSON_FORM,
        "url": file.url,
        "size_bytes": file.size_bytes,
        "root_version": file.root_version,
        "compression": file.compression,
        "missing_bytes": file.missing_bytes,
        "was_recovered": file.was_recovered,
        "keys": [{**key._asdict(), "summary": summaries.get(key)} for key in keys],
        "trees": [],
    }
    for listed in trees:
        key, tree = listed.key, listed.tree
        entry: dict[str, Any] = {"path": key.path, "cycle": key.cycle, "class_name": key.class_name}
        if tree is None:
            entry["error"] = str(listed.error)
        else:
            entry |= {
                "title": tree.title,
                "num_entries": tree.num_entries,
                "stored_bytes": tree.stored_bytes,
                "memory_bytes": tree.memory_bytes,
                "clusters": tree.clusters,
                "aliases": tree.aliases,
                "collections": [one._asdict() for one in collections_of(_counted_once(listed.branches))],
                "branches": [{name: getattr(b, name) for name in _BRANCH_KEYS} for b in listed.branches],
            }
        document["trees"].append(entry)
    print(json.dumps(document, indent=json_indent(is_alone=is_alone)))
