"""Answers to commands and options that there are not: the line that was meant."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from arrowroot._hints import near

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

#: Commands of others, and the line to write.
_COMMANDS = {
    "list dir keys content info rootls browse count rowcount nrows stat size du": "arrowroot ls run7.root",
    "cat print dump more less scan rootprint": "arrowroot head run7.root:Events",
    "tree describe schema meta metadata inspect columns branches": "arrowroot ls run7.root:Events",
    "draw plot hist histogram rootdraw": "arrowroot show run7.root:h_pt",
    "cp copy rootcp": "arrowroot convert run7.root run8.root",
    "export parquet": "arrowroot convert run7.root:Events run7.parquet",
    "csv tocsv": "arrowroot convert run7.root:Events run7.csv",
    "json tojson jsonl": "arrowroot convert run7.root:Events run7.jsonl",
    "sql query select filter where": "arrowroot head run7.root:Events --filter 'nMuon >= 2'",
    "skim slim reduce": "arrowroot convert run7.root:Events skim.root --filter 'nMuon >= 2'",
    "validate verify check fsck": "arrowroot perf run7.root:Events, which reads all of it",
    "bench benchmark time profile": "arrowroot perf run7.root:Events",
    "version": "arrowroot --version",
    "generate gen make create": "arrowroot sample nanoaod s.root",
    "read open": "arrowroot head run7.root:Events",
    "optimize optimise": "arrowroot tune run7.root:Events",
}
_N_NAMED = 2
#: Options of others, and those of ours.
_OPTIONS = {
    "-j --jobs --nthreads --n-threads -t": "--threads N",
    "-b --branch --branches --column -v": "-c NAMES",
    "--cut --where --selection --select -s": "--filter TEXT",
    "--tree --treename --tree-name": "the tree behind the file: run7.root:TREE",
    "-R -r --recursive": "arrowroot ls run7.root, which lists what is in directories, too",
    "-a --all --long -L": "-l",
    "-t --types --titles": "-l",
    "--csv": "arrowroot convert run7.root:Events run7.csv",
    "--limit --entries --num --n-entries --rows": "-n N",
    "-n --limit --num --n-entries --rows": "--entries 0:1000",
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
    if word in ("hadd", "merge"):
        files = [one for one in rest if not one.startswith("-")] or ["run7.root", "run8.root"]
        # hadd has its output first.
        output, *inputs = files if word == "hadd" and len(files) > 2 else ["all.root", *files]
        return f"there is no command {word!r}: {_merged(inputs, output)}"
    for line in _lines(_COMMANDS, word):
        return f"there is no command {word!r}: write {_of_file(line, rest)}"
    return f"there is no command {word!r}{near(word, commands) or ': arrowroot --help lists them'}"


def for_option(word: str, known: Sequence[str], commands: Iterable[str]) -> str:
    """Return the answer to an option in the place of a command that there is not."""
    bare = word.lstrip("-")
    meant = {"v": "--version", **{name: name for name in commands}}.get(bare)
    return f"there is no option {word}" + (f": write arrowroot {meant}" if meant else near(word, known))


def _of_file(line: str, typed: Sequence[str]) -> str:
    """Return a line with the file that was typed in the place of ours."""
    file = next((one for one in typed if looks_like_file(one)), None)
    return line if file is None else re.sub(r"run7\.root(:Events|:h_pt)?", lambda _: file, line, count=1)


def _merged(files: Sequence[str], output: str) -> str:
    """Return the line of Python that makes one file of several."""
    some = ", ".join(f'"{file}"' for file in files[:_N_NAMED]) + ", ..." * (len(files) > _N_NAMED)
    return f'write in Python ar.write("{output}:Events", ar.scan([{some}], tree="Events"))'


def for_rest(command: argparse.ArgumentParser, unknown: Sequence[str], words: Sequence[str]) -> str:
    """Return the answer to what a command does not take."""
    known = [option for action in command._actions for option in action.option_strings]  # noqa: SLF001 - argparse says it nowhere else
    wrong = unknown[0].partition("=")[0]
    command_name = command.prog.rpartition(" ")[2]
    help_of = f"({command.prog} --help)"
    if not wrong.startswith("-"):
        files = [word for word in words[1:] if not word.startswith("-")]
        if command_name == "convert":
            return f"convert takes one file: {_merged(files[:-1], files[-1])}"
        if command_name == "config":
            return f"config only shows: set an option by export ARROWROOT_STRATEGY=treecache, or in a file {help_of}"
        if "-c" in known and files:
            return f"{command_name} takes no {wrong!r}: write {command.prog} {files[0]} -c {wrong} {help_of}"
        return f"{command_name} takes no {wrong!r} {help_of}"
    # An option of one letter may have its value right behind it.
    names = [wrong] if wrong.startswith("--") else [wrong, wrong[:2]]
    for name in names:
        for line in _lines(_OPTIONS, name):
            if not line.startswith("-") or line.split()[0] in known:
                return f"{command_name} has no option {name}: write {_of_file(line, words)} {help_of}"
    # Options of one letter are all alike.
    hint = near(wrong, known) if wrong.startswith("--") else ""
    return f"{command_name} has no option {wrong}{hint} {help_of}"


def _lines(table: dict[str, str], word: str) -> Iterator[str]:
    return (line for words, line in table.items() if word in words.split())
