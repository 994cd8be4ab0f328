"""Words behind a file: the tree or the objects of it that are meant, or columns and conditions, which are options."""

from __future__ import annotations

import os
import re
import shlex
from itertools import takewhile
from typing import TYPE_CHECKING

import arrowroot
from arrowroot import ArrowrootError, InvalidRequestError, split_url
from arrowroot.cli.lines import has_object

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def with_trees(typed: Sequence[str], options: argparse.Namespace) -> list[str]:
    """Return files and trees as they were typed; "FILE TREE" is "FILE:TREE", where TREE is no file.

    Raises: InvalidRequestError, with the line to write, for columns, conditions and numbers behind a file.
    """
    found: list[str] = []
    left = list(typed)
    while left:
        file = left.pop(0)
        behind = beside = [*takewhile(lambda text: not is_file(text), left)]
        del left[: len(beside)]
        url, tree = split_url(file)
        if beside and tree is None and os.path.exists(url):  # noqa: PTH110 - as in parser
            objects = [*takewhile(lambda text: has_object(url, text), beside)]  # noqa: B023 - used up at once
            rest = beside[len(objects) :]
            may_be_columns = any(map(_is_option, rest)) or _with_columns(url, rest) is not None
            if not may_be_columns and (len(beside) == 1 or not hasattr(options, "columns")):
                objects = beside  # those of wrong names are said where they are looked for
            if objects:
                *others, file = [f"{url}:{name}" for name in objects]
                found += others
                beside = beside[len(objects) :]
        if beside:
            line = _line(file, beside, [word for word in options.words if word not in behind], options)
            raise InvalidRequestError(f"{beside[0]}: there is no such file: write {line}")
        found.append(file)
    return found


def is_file(text: str) -> bool:
    """Return whether a word behind a file is another one, or a pattern of some."""
    if "://" in text or ".root" in text or text.startswith("@") or os.path.exists(split_url(text)[0]):  # noqa: PTH110 - as above
        return True
    import glob

    return glob.has_magic(text) and bool(glob.glob(text))  # noqa: PTH207 - as it is typed


def _is_option(text: str) -> bool:
    return text.isdecimal() or is_condition(text)


def is_condition(text: str) -> bool:
    """Return whether a word is a comparison, or several."""
    from arrowroot._histograms import wanted

    return wanted.is_condition(text)


def _with_columns(url: str, names: Sequence[str], first: str | None = None) -> str | None:
    """Return the first tree of a local file that has some of the columns; None if there is none.

    first: where to look before all others.
    """
    try:
        with arrowroot.open(url) as file:
            for path in [*([first] if first and first in file else []), *file.trees]:
                tree = file[path]
                for name in names:
                    column = re.match(r"!?([\w.*?]*)", name)
                    if isinstance(tree, arrowroot.Tree) and column and column[1] and tree.matching(column[1]):
                        return path
    except (ArrowrootError, OSError):
        pass
    return None


def _line(file: str, beside: Sequence[str], words: Sequence[str], options: argparse.Namespace) -> str:
    """Return the line that has what stands behind a file as options; ``words``: all others."""
    command, *others = words
    url, tree = split_url(file)
    names = [text for text in beside if not _is_option(text)]
    needed = [
        *(["filter"] if any(map(is_condition, beside)) else []),
        *(["entries"] if _numbers(beside) else []),
    ]
    if not all(hasattr(options, one) for one in ("columns", *needed)):
        command = "head"
    where = _with_columns(url, names, tree)
    place = file if where is None else f"{url}:{where}"
    line = as_options(
        [command, *(place if word in (url, file) else word for word in others)], beside, options
    )
    for number in _numbers(beside)[:1]:
        line += ["-n", number] if command in ("head", "tail") else ["--entries", f"0:{number}"]
    return shlex.join(["arrowroot", *line])


def _numbers(words: Sequence[str]) -> list[str]:
    return [text for text in words if text.isdecimal()]


def as_options(words: Sequence[str], more: Sequence[str], options: argparse.Namespace) -> list[str]:
    """Return the words of a line, and columns and conditions as its options."""
    line = list(words)
    names = [text for text in more if not _is_option(text)]
    conditions = [text for text in more if is_condition(text)]
    if names:
        line += ["-c", ",".join(names)]
    given = getattr(options, "filter", None)
    each = [*([given] if given else []), *conditions]
    joined = " && ".join(f"({one})" for one in each) if len(each) > 1 else "".join(each)
    if given and conditions:
        at = next(i for i, word in enumerate(line) if word.endswith(given))
        line[at] = line[at].removesuffix(given) + joined
    elif conditions:
        line += ["--filter", joined]
    return line
