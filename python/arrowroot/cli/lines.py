"""Lines of our commands that answers are made of, with the files that were typed."""

from __future__ import annotations

import os
import re
import shlex
from itertools import dropwhile
from typing import TYPE_CHECKING

from arrowroot import split_url

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What stands in a line for what was typed.
_OURS = (
    r" -c COLUMNS| --filter CONDITION|'nMuon >= 2'|\"run7\.root\"|\"h_pt\""
    r"|run7\.root(:Events|:h_pt)?|run8\.root|run7\.\w+|skim\.root|new\.root"
)


def looks_like_file(word: str) -> bool:
    """Return whether a word in the place of a command is a file or a URL."""
    return "://" in word or ".root" in word or os.path.exists(word)  # noqa: PTH110 - pathlib is a tenth of our import time


def may_be_input(word: str) -> bool:
    """Return whether a word may be a file that is read: it is there, or only those know who read it."""
    file = split_url(word)[0]
    return bool(re.search(r"^@|://|[*?\[]", file)) or os.path.exists(file)  # noqa: PTH110 - as above


def with_typed(line: str, names: Sequence[str]) -> str:
    """Return a line with the file that was typed in the place of ours, and with what was typed beside it.

    names: the words that are no options. Behind the file stand the output, or columns and a condition.
    """
    from arrowroot._histograms.wanted import is_condition

    file, *behind = [*dropwhile(lambda one: not looks_like_file(one), names)] or [""]
    if not file:
        return line
    url, name = split_url(file)
    if name is None and behind and has_object(url, behind[0]):
        name = behind.pop(0)
        file = f"{url}:{name}"
    if "arrowroot show" in line and behind:
        return shlex.join(["arrowroot", "draw", file, behind[0]])
    condition = next((one for one in [*behind, *names] if is_condition(one)), "")
    others = [one for one in behind if one != condition]
    columns = ",".join(others).replace(":", ",")  # as TTree::Scan has them
    said = {
        '"run7.root"': repr(url),
        '"h_pt"': repr(name or "h_pt"),
        " -c COLUMNS": f" -c {shlex.quote(columns)}" if columns else " ",
        " --filter CONDITION": f" --filter {shlex.quote(condition)}" if condition else " ",
        "'nMuon >= 2'": shlex.quote(condition or "nMuon >= 2"),
    }

    def typed_for(found: re.Match[str]) -> str:
        if found[0].startswith("run7.root"):
            return shlex.quote(file)
        if found[0].startswith("run7.") and not others:
            return shlex.quote(output_of(url, found[0][5:]))
        return said.get(found[0], shlex.quote(others[0]) if others else found[0])

    return re.sub(_OURS, typed_for, line).rstrip()


def output_of(url: str, suffix: str) -> str:
    """Return a file of this directory that is called as another one, with another suffix."""
    name = url.partition("?")[0].rpartition("/")[2]
    return f"{name.removesuffix('.root')}.{suffix}"


def has_object(url: str, name: str) -> bool:
    """Return whether a file of this machine has an object, or a directory, of that name."""
    import arrowroot

    if not os.path.isfile(url):  # noqa: PTH113 - as above
        return False
    try:
        with arrowroot.open(url) as file:
            return name in file
    except arrowroot.ArrowrootError:
        return False


def merged(files: Sequence[str], output: str) -> str:
    """Return the line that makes one file of several: of ROOT, or of another format in a second step."""
    if os.path.splitext(output)[1] in ("", ".root"):  # noqa: PTH122 - as above
        return f"write arrowroot merge {shlex.join([output, *files])}"
    return (
        f"write arrowroot merge {shlex.join(['all.root', *files])}, then "
        f"arrowroot convert all.root {shlex.quote(output)}"
    )
