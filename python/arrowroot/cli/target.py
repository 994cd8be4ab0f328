"""The target of a command: the file and the tree of URL[:TREE], and the columns asked for."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import arrowroot
from arrowroot import (
    ArrowrootError,
    CorruptFileError,
    Directory,
    InvalidRequestError,
    LostKeyError,
    NoSuchKeyError,
    StorageError,
    Tree,
    split_url,
)
from arrowroot._storage.filesets import fileset, is_list
from arrowroot._storage.url import expand, is_glob
from arrowroot.cli.beside import with_trees
from arrowroot.cli.failures import EXIT_DONE, say, wants_traceback, worst

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from arrowroot import File


def storage_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the storage that were typed, by name. What is said twice must be the same."""
    typed: dict[str, str] = {}
    named = [(name, getattr(options, name, None)) for name in ("strategy", "cache_size")]
    for name, text in [*named, *options.option]:
        if isinstance(text, str) and typed.setdefault(name, text) != text:
            raise InvalidRequestError(f"{name} is set twice on the command line")
    return typed


def targets(options: argparse.Namespace) -> list[str]:
    """Return files and trees as they were typed, and those that match patterns."""
    return [
        url if tree is None else f"{url}:{tree}"
        for text in with_trees([*map(or_stdin, options.urls)], options)
        for url, tree in _files_of(text)
    ]


def _files_of(text: str) -> list[tuple[str, str | None]]:
    """Return the files that a text means, each with the tree that is named apart from it."""
    if is_list(text):
        return fileset(text, None).files
    return expand(text, None) if is_glob(split_url(text)[0]) else [(text, None)]


def json_indent(*, is_alone: bool) -> int | None:
    """Return the indent of a document of JSON: those of several files are one a line."""
    return 2 if is_alone else None


def each_target(
    options: argparse.Namespace, run: Callable[[str, bool], None], *, separated: bool = True, of_one: str = ""
) -> int:
    """Run a command for each file that was typed, patterns included, and return the exit code.

    run: gets "URL[:TREE]", and whether it is the only one. One that fails does not stop the others.
    separated: an empty line stands between them. of_one: what is asked for that is of one file; "": nothing.

    Raises: InvalidRequestError for that and several files.
    """
    urls = targets(options)
    if len(urls) == 1:
        run(urls[0], True)
        return EXIT_DONE
    if of_one:
        raise InvalidRequestError(
            f"{options.command}: {of_one}: of one file at a time: write {options.command} {urls[0]} for the first"
        )
    codes = []
    for i, url in enumerate(urls):
        if i and separated:
            print()
        try:
            run(url, False)
        except BrokenPipeError:
            raise
        except (ArrowrootError, OSError) as error:
            if wants_traceback(options):
                raise
            sys.stdout.flush()
            codes.append(say(error))
    return worst(codes)


def or_stdin(url: str) -> str:
    """Return the name of a file to read: that of the standard input for "-"."""
    return "/dev/stdin" if url == "-" else url


def open_target(text: str, storage: Mapping[str, Any] | None = None) -> tuple[File, str | None]:
    """Open the file of "URL[:TREE]"; return it and the tree's path, None if none is named."""
    url, path = split_url(text)
    url = or_stdin(url)
    file, mark, name = url.partition(".root/")
    if mark and os.path.isfile(f"{file}.root"):  # noqa: PTH113 - as in parser
        raise InvalidRequestError(f"{url}: write {file}.root:{name}")
    if os.path.isdir(url):  # noqa: PTH112 - as in parser
        raise StorageError(f"{url} is a directory: write '{url.rstrip('/')}/*.root' for files in it")
    try:
        return arrowroot.open(url, **(storage or {})), path
    except CorruptFileError as error:
        from arrowroot._converting.formats import place_of

        if place_of(url).format in ("parquet", "ipc"):
            root = f"{os.path.splitext(url)[0]}.root"  # noqa: PTH122 - as in parser
            error.args = (f"{error}: write arrowroot convert {url} {root}", *error.args[1:])
        raise


def only_tree(file: File) -> Tree:
    """Return the only tree of a file. Raises: an error with the line to write, if it has several or none."""
    try:
        return file.only_tree()
    except LostKeyError:
        raise
    except NoSuchKeyError as error:
        error.args = (f"{error.args[0]}: write arrowroot ls {file.url}", *error.args[1:])
        raise
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{error}: write {file.url}:{file.trees[0]}") from None


def column_of(file: File, path: str) -> tuple[Tree, str] | None:
    """Return tree and name of a column, "TREE/COLUMN" or "TREE:COLUMN"; None if the path is that of an object."""
    if path in file:
        return None
    for end in [i for i, letter in enumerate(path) if letter in "/:"]:
        above, name = path[:end], path[end + 1 :]
        if above in file and isinstance(tree := file[above], Tree) and tree.matching(name):
            return tree, name
    return None


def refuse_column(file: File, path: str) -> None:
    """Raise InvalidRequestError if columns of a tree were named in the place of an object that there is not."""
    if path in file:
        return
    for above in file.trees:
        tree = file[above]
        if isinstance(tree, Tree) and tree.matching(path):
            what = "is a column" if tree.has_branch(path) else "names columns"
            raise InvalidRequestError(
                f"{file.url}: {path!r} {what}: write {file.url}:{above} -c {shlex.quote(path)}"
            )


def open_tree(text: str, storage: Mapping[str, Any] | None = None) -> tuple[File, Tree]:
    """Return the file and the tree of "URL[:TREE]", or the only one of the file."""
    file, path = open_target(text, storage)
    if path is None:
        return file, only_tree(file)
    if (column := column_of(file, path)) is not None:
        raise InvalidRequestError(
            f"{file.url}: {path!r} is a column: write {file.url}:{column[0].path} -c {column[1]}"
        )
    refuse_column(file, path)
    found = file[path]
    if not isinstance(found, Tree):
        kind = "a directory" if isinstance(found, Directory) else f"a {getattr(found, 'class_name', 'value')}"
        hint = "" if isinstance(found, Directory) else ": arrowroot show shows it"
        raise InvalidRequestError(f"{file.url}: {path!r} is {kind}, not a tree{hint}")
    return file, found


def column_texts(options: Sequence[str] | None) -> list[str] | None:
    """Return the names and globs of repeated -c options with commas in them; None if there is none."""
    if options is None:
        return None
    names = [name.strip() for option in options for name in option.split(",") if name.strip()]
    if not names:
        raise InvalidRequestError("-c: which columns? names or globs, with commas between them")
    return names
