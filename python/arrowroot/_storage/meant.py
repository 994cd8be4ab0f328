"""Files that were meant by a path at which none can be opened."""

from __future__ import annotations

import os
import re

from arrowroot._errors import nearest

#: So many names of a directory are looked at.
_MOST_NAMES = 10_000


def meant_file(path: str) -> str:
    """Return what to write instead of a path of this machine, for the end of a message; "" if nobody knows.

    >>> meant_file("data")
    ": write 'data/*.root' for the files in it"
    """
    if re.search(r"[*?\[]", path):  # a pattern
        return ""
    if os.path.isdir(path):  # noqa: PTH112 - text, here and below
        return f": write {os.path.join(path, '*.root')!r} for the files in it"  # noqa: PTH118 - as above
    file, mark, name = path.partition(".root/")
    if mark and os.path.isfile(f"{file}.root"):  # noqa: PTH113 - as above
        return f": write {f'{file}.root:{name}'!r} for what is in it"
    several = [part for part in re.split(r"[,;\s]+", path) if part]
    if len(several) > 1 and all(map(os.path.isfile, several)):
        return f"; several are a list: write {several}"
    meant = next(filter(os.path.isfile, (path.strip(), os.path.expandvars(path), f"{path}.root")), None)
    if meant is None:
        directory, name = os.path.split(path)
        stem, suffix = os.path.splitext(name)  # noqa: PTH122 - as above
        # All that end alike look alike.
        stems = {os.path.splitext(one)[0]: one for one in _names_in(directory or ".", suffix)}  # noqa: PTH122 - as above
        close = nearest(stem, stems)[:1]
        meant = os.path.join(directory, stems[close[0]]) if close else None  # noqa: PTH118 - as above
    return f"; did you mean {meant!r}?" if meant else ""


def _names_in(directory: str, suffix: str) -> list[str]:
    """Return names in a directory that end in a suffix, or as files of ROOT do."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MOST_NAMES), strict=False)]
    except OSError:
        return []
    return [name for name in names if name.endswith((suffix or ".root", ".root"))]
