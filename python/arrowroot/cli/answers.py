"""Answers to commands and options that there are not: the line that was meant."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from arrowroot._hints import near

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

#: Commands of others, and the line to write.
_COMMANDS = {
    "list dir keys content info rootls browse": "arrowroot ls run7.root",
    "cat print dump more less scan rootprint": "arrowroot head run7.root:Events",
    "tree describe": "arrowroot ls run7.root:Events",
    "draw plot hist histogram rootdraw": "arrowroot show run7.root:h_pt",
    "hadd merge cp copy rootcp": "arrowroot convert run7.root run8.root",
    "export csv tocsv parquet": "arrowroot convert run7.root:Events run7.parquet",
    "bench benchmark time profile": "arrowroot perf run7.root:Events",
    "version": "arrowroot --version",
    "generate gen make create": "arrowroot sample nanoaod s.root",
    "read open": "arrowroot head run7.root:Events",
    "optimize optimise": "arrowroot tune run7.root:Events",
}
#: Options of others, and those of ours.
_OPTIONS = {
    "-j --jobs --nthreads --n-threads -t": "--threads N",
    "-b --branch --branches --column -v": "-c NAMES",
    "--cut --where --selection --select -s": "--filter TEXT",
    "--tree --treename --tree-name": "run7.root:Events",
    "-R -r --recursive": "arrowroot ls run7.root: directories are listed with all that is in them",
    "-a --all --long -L": "-l",
    "-t --types --titles": "-l",
    "--csv": "arrowroot convert run7.root:Events run7.csv",
    "--limit --entries --num --n-entries --rows": "-n N",
    "-o --output --out": "arrowroot convert run7.root:Events FILE",
    "-f --force --overwrite": "--overwrite",
    "-q --quiet": "2>/dev/null, which shows no progress",
    "--compression --codec": "--compression zstd:5",
}


def looks_like_file(word: str) -> bool:
    """Return whether a word in the place of a command is a file or a URL."""
    return "://" in word or ".root" in word or os.path.exists(word)  # noqa: PTH110 - pathlib is a tenth of our import time


def for_command(word: str, rest: Sequence[str], commands: Iterable[str]) -> str:
    """Return the answer to a command that there is not. ``rest``: what was typed behind it."""
    line = _line(_COMMANDS, word)
    if line is not None:
        file = next((one for one in rest if looks_like_file(one)), None)
        if file is not None:
            line = re.sub(r"run7\.root(:\w+)?", lambda _: file, line, count=1)
        return f"there is no command {word!r}: write {line}"
    return f"there is no command {word!r}{near(word, commands) or ': arrowroot --help lists them'}"


def for_rest(command: argparse.ArgumentParser, unknown: Sequence[str], words: Sequence[str]) -> str:
    """Return the answer to what a command does not take."""
    known = [option for action in command._actions for option in action.option_strings]  # noqa: SLF001 - argparse says it nowhere else
    wrong = unknown[0].partition("=")[0]
    command_name = command.prog.rpartition(" ")[2]
    help_of = f"({command.prog} --help)"
    if not wrong.startswith("-"):
        files = [word for word in words[1:] if not word.startswith("-")]
        if "-c" in known and files:
            return f"{command_name} takes no {wrong!r}: write {command.prog} {files[0]} -c {wrong} {help_of}"
        return f"{command_name} takes no {wrong!r} {help_of}"
    # An option of one letter may have its value right behind it.
    names = [wrong] if wrong.startswith("--") else [wrong, wrong[:2]]
    for name in names:
        line = _line(_OPTIONS, name)
        if line is not None and (not line.startswith("-") or line.split()[0] in known):
            return f"{command_name} has no option {name}: write {line} {help_of}"
    return f"{command_name} has no option {wrong}{near(wrong, known)} {help_of}"


def _line(table: dict[str, str], word: str) -> str | None:
    return next((line for words, line in table.items() if word in words.split()), None)
