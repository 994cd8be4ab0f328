"""Places of files: "file.root:Tree", globs, and the natural order of names."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from arrowroot._errors import InvalidRequestError, NoSuchFileError
from arrowroot._render import shown, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable

    #: A path, also of bytes that are not UTF-8, or a URL.
    Location = str | bytes | os.PathLike[str] | os.PathLike[bytes]

# Compiled when first used, as in _sizes.
_GLOB = r"[*?\[]"
_SCHEME = r"(?i)[a-z][a-z0-9+.-]*://"
_DIGITS = r"([0-9]+)"
_CONDITION = r"[<>=&|]"
#: A scheme without its colon, or one of its slashes; one slash alone stands behind the name of a directory.
_MISTYPED = r"(?i)(https?|xroots?|roots?|s3|davs?|gsiftp|file)(///?|:/?)(?=[^/])(.*)"
#: The beginning of the names of our options in the query of a URL.
_OPTION = "arrowroot."
_CONTENT = "the content of a file, as bytes, is for arrowroot.open"
#: Options whose values have colons: none can be told from the colon before a tree.
_WITH_COLON = ("s3_endpoint", "token")


def split_url(text: str) -> tuple[str, str | None]:
    """Return the file and, if one is named, the tree of "FILE:TREE".

    The text is split at the last ":" before which stands a file, or a glob that matches one, or else what ends in
    ".root"; and only if no file has the whole text as its name. So "a:b.root" and "root://host:1094//x.root"
    are files, and "root://host:1094//x.root:a::b" is an object "a::b". "~" at the beginning is the home directory.

    Raises: InvalidRequestError for "FILE:", which names no tree, and for what is no path.

        >>> ar.split_url("events.root:Events")
        ('events.root', 'Events')
    """
    if "\0" in text:
        raise InvalidRequestError(f"{shown(text)}: a path has no NUL; {_CONTENT}")
    text = at_home(text)
    if ":" not in text or os.path.exists(text):  # noqa: PTH110 - text
        return text, None
    bare, query = _without_query(text)
    if _holds_options(query):
        return _split_before_query(bare, query)
    splits = []
    file, _, tree = text.rpartition(":")
    while file and tree and not tree.startswith("//"):
        splits.append((file, tree))
        file, _, inner = file.rpartition(":")
        tree = f"{inner}:{tree}"
    # A file that is there is meant, whatever its name looks like.
    there = (split for split in splits if _is_there(split[0]))
    named = (split for split in splits if split[0].endswith(".root"))
    found = next(there, None) or next(named, (text, None))
    whole = text.rstrip(":")
    if found[1] is None and whole != text and (whole.endswith(".root") or _is_there(whole)):
        raise InvalidRequestError(
            f"{shown(text)} names no tree behind the ':', as {shown(whole + ':Events')} does"
        )
    return found


def _is_there(file: str) -> bool:
    return os.path.exists(file) or (is_glob(file) and bool(_files(file)))  # noqa: PTH110 - quicker than pathlib


def _split_before_query(bare: str, query: str) -> tuple[str, str | None]:
    """Split "FILE:TREE?QUERY", or "FILE?QUERY:TREE" if the query ends with an option that takes no colon."""
    file, tree = split_url(bare)
    if tree is not None:
        return f"{file}?{query}", tree
    rest, colon, last = query.rpartition(":")
    takes_colon = rest.rpartition("&")[2].startswith(tuple(_OPTION + name for name in _WITH_COLON))
    is_of_option = rest.rpartition("&")[2].startswith(_OPTION) and not takes_colon
    if colon and last and is_of_option and "&" not in last and (bare.endswith(".root") or "://" not in bare):
        return f"{bare}?{rest}", last
    return f"{bare}?{query}", None


def _without_query(text: str) -> tuple[str, str]:
    """Split "FILE?QUERY" at the first "?" of a URL; the name of a local file may have some."""
    if re.match(_SCHEME, text):
        bare, _, query = text.partition("?")
        return bare, query
    bare, mark, query = text.rpartition("?")
    return (bare, query) if mark else (text, "")


def _holds_options(query: str) -> bool:
    return any(pair.startswith(_OPTION) for pair in query.split("&"))


def split_options(url: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a URL without our options (``arrowroot.NAME=VALUE``) in its query, and these options.

    Values may be percent-encoded. The rest of the query stays as it is: it is the server's.
    """
    bare, query = _without_query(url)
    if not _holds_options(query) or os.path.exists(url):  # noqa: PTH110 - text
        return url, []
    from urllib.parse import unquote

    options = []
    others = []
    for pair in query.split("&"):
        if pair.startswith(_OPTION):
            name, _, text = pair[len(_OPTION) :].partition("=")
            options.append((unquote(name), unquote(text)))
        else:
            others.append(pair)
    return f"{bare}?{'&'.join(others)}" if others else bare, options


def changed_ns(location: str) -> int:
    """Return when a local file was last changed, in ns; 0 of one that is far away, or not there."""
    path = split_options(location)[0]
    try:
        return 0 if "://" in path else os.stat(path).st_mtime_ns  # noqa: PTH116 - text
    except OSError:
        return 0


def each(paths: Location | Iterable[Location]) -> list[Location]:
    """Return one path or several as a list.

    Raises: InvalidRequestError for what is neither.
    """
    if isinstance(paths, str | bytes | os.PathLike):
        return [paths]
    if isinstance(paths, Mapping):
        raise InvalidRequestError(
            f"expected a path or URL, or several, not trees by their files: {shown(paths)}"
        )
    # The lines of an open file would be taken for names.
    if hasattr(paths, "read"):
        raise InvalidRequestError(
            f"expected a path or URL, or several, not the file object {shown(paths)}, which is for arrowroot.open"
        )
    try:
        return list(paths)
    except TypeError:
        raise InvalidRequestError(f"expected a path or URL, or several, got {shown(paths)}") from None


def refuse_open(given: object) -> None:
    """Raise InvalidRequestError for what is open, where the place of a file is expected."""
    lines = {"only_tree": 'file["t"].scan()', "scan": "tree.scan()", "drain": "scan.to_arrow()"}
    line = next((line for name, line in lines.items() if hasattr(type(given), name)), None)
    if line is not None:
        raise InvalidRequestError(f"expected a path or URL, got {shown(given)}, which is open: write {line}")


def as_location(path: Location) -> str:
    """Return a path or URL as text, its "~" expanded; bytes that are not UTF-8 as ``os.fsdecode`` writes them.

    Raises: InvalidRequestError for anything else.
    """
    try:
        text = os.fsdecode(path)
        if "\0" not in text:
            return at_home(text)
    except (TypeError, AttributeError):
        refuse_open(path)
        hint = (
            "; replicas of one file are for open(url, replicas=[...])"
            if isinstance(path, list | tuple)
            else ""
        )
        raise InvalidRequestError(f"expected a path or URL, got {shown(path)}{hint}") from None
    raise InvalidRequestError(f"{shown(path)}: a path has no NUL; {_CONTENT}")


def at_home(text: str) -> str:
    """Return a path with "~" or "~user" at its beginning as that home directory, if no file has that name."""
    if not text.startswith("~") or os.path.exists(text):  # noqa: PTH110 - text
        return text
    return os.path.expanduser(text)  # noqa: PTH111 - text, and a user who is not there is no error of ours


def friend_location(file: str, beside: str) -> str:
    """Return where the file of a friend is: a relative name from here or else, if it is there, beside a file.

    Of a remote file it is beside that file always: what is here by chance is not what was meant.
    """
    is_remote = re.match(_SCHEME, beside) and not beside.lower().startswith("file://")
    if os.path.isabs(file) or re.match(_SCHEME, file):  # noqa: PTH117 - text
        return file
    if is_remote:
        link, chained, rest = beside.partition("::")
        scheme, mark, path = _without_query(link)[0].partition("://")
        return f"{scheme}{mark}{''.join(path.rpartition('/')[:2])}{file}{chained}{rest}"
    near = os.path.join(os.path.dirname(beside), file)  # noqa: PTH118, PTH120 - text
    is_near = not os.path.exists(file) and os.path.exists(near)  # noqa: PTH110 - text
    return near if is_near else file


def natural_key(text: str) -> tuple[list[tuple[int, str]], str]:
    """Return the key that sorts "run2" before "run10", and equal numbers by their texts."""
    parts = re.split(_DIGITS, text)
    # Python makes no number of some thousand digits.
    numbers = [part.lstrip("0") for part in parts]
    return [(len(n), n) if i % 2 else (-1, parts[i]) for i, n in enumerate(numbers)], text


def expand(
    paths: Location | Iterable[Location], tree: object, *, keeps_globs: bool = False
) -> list[tuple[str, str | None]]:
    """Return the (file, tree) pairs of ``paths``, in the order given; those of a glob in natural order.

    ``paths``: also a mapping from files to trees. ``tree`` is that of every file which does not name one itself, so or
    by "FILE:TREE"; None: not known yet. keeps_globs: one that matches nothing stays, a file that is not there.

    Raises: NoSuchFileError for a glob that matches nothing; InvalidRequestError if there is no path at all, or if one
    has two trees.
    """
    refuse_open(paths)
    if not isinstance(tree, str | None):
        line = f"columns={tree!r}" if isinstance(tree, list | tuple) else 'tree="t", columns=["x"]'
        raise InvalidRequestError(f"tree: expected the name of a tree, got {shown(tree)}: write {line}")
    every: Iterable[tuple[Location, object]]
    every = paths.items() if isinstance(paths, Mapping) else [(path, None) for path in each(paths)]
    files: list[tuple[str, str | None]] = []
    for path, mapped in every:
        if isinstance(path, str):
            pattern, own = split_url(path)
        else:
            pattern, own = as_location(path), None
        if mapped is not None:
            if not isinstance(mapped, str):
                raise InvalidRequestError(
                    f"{shown(pattern)}: expected the name of its tree, got {shown(mapped)}"
                )
            if own not in (None, mapped):
                raise InvalidRequestError(f"{shown(pattern)}: which tree, {own!r} or {mapped!r}?")
            own = mapped
        bare, mark, query = pattern.rpartition("?")
        if not (mark and _holds_options(query)):
            bare, mark, query = pattern, "", ""
        if is_glob(bare):
            found = sorted(_files(bare), key=natural_key)
            if not found and not keeps_globs:
                raise NoSuchFileError(f"no file matches {shown(bare)}{meant_url(bare)}")
            files += [(name + mark + query, own or tree) for name in found or [bare]]
        else:
            files.append((pattern, own or tree))
    if not files:
        raise InvalidRequestError("no file to read: the list of paths is empty")
    if tree is not None and tree.endswith(".root") and os.path.exists(tree):  # noqa: PTH110 - text
        raise InvalidRequestError(
            f"tree: {tree!r} is a file, and several are a list: write [{without_secrets(files[0][0])!r}, {tree!r}]"
        )
    if tree is not None and all(own != tree for _, own in files):
        line = f"filter={tree!r}" if re.search(_CONDITION, tree) else f"columns=[{tree!r}]"
        raise InvalidRequestError(
            f"tree: {shown(tree)}, but the files name theirs, {shown(files[0][1])}: write {line} for what is no tree"
        )
    return files


def _files(pattern: str) -> list[str]:
    import glob

    return glob.glob(pattern, recursive=True)  # noqa: PTH207 - text in, text out


def meant_url(path: str) -> str:
    """Return a question for the URL that a path looks like, which is not there; "" if it looks like none.

    >>> meant_url("root:/host//run7.root")
    '; did you mean root://host//run7.root?'
    """
    found = re.fullmatch(_MISTYPED, path, re.DOTALL)
    if found is None or re.match(_SCHEME, path) or not re.search(r"[/.]", found[3]):
        return ""
    scheme, slashes, rest = found[1].lower(), found[2], found[3]
    meant = f"{scheme}://{rest}" if scheme != "file" else f"/{rest}" if "/" in slashes else rest
    return f"; did you mean {without_secrets(meant)}?"


def is_glob(path: str) -> bool:
    """Return whether a path is a pattern. A URL is none, nor is the name of a file."""
    return bool(re.search(_GLOB, path)) and not re.match(_SCHEME, path) and not os.path.exists(path)  # noqa: PTH110 - text
