"""Answers to commands that there are not: the line that was meant."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

from arrowroot import split_url
from arrowroot._hints import line_of, near
from arrowroot.cli.lines import looks_like_file, may_be_input, with_typed
from arrowroot.cli.option_answers import translated, whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

#: Commands of others, and the line to write.
_COMMANDS = {
    "list dir keys content info rootls rootbrowse browse count rowcount nrows stat size du wc file": (
        "arrowroot ls run7.root"
    ),
    "fix repair recover rootrecover": "arrowroot ls run7.root, which shows what is left of it",
    "cat dump more less cut": "arrowroot head run7.root:Events -c COLUMNS",
    "scan": "arrowroot head run7.root:Events -c COLUMNS --filter CONDITION",
    "tree print describe schema meta metadata inspect columns branches": "arrowroot ls run7.root:Events",
    "plot hist histogram rootdraw rootdrawtree rootprint": "arrowroot show run7.root:h_pt",
    "cp copy rootcp copytree rooteventselector rootslimtree nano_postproc": "arrowroot skim run7.root run8.root",
    "export parquet to-parquet to_parquet toparquet": "arrowroot convert run7.root:Events run7.parquet",
    "csv tocsv to-csv to_csv": "arrowroot convert run7.root:Events run7.csv",
    "json tojson jsonl to-json to_json": "arrowroot convert run7.root:Events run7.jsonl",
    "arrow ipc feather to-arrow to_arrow": "arrowroot convert run7.root:Events run7.arrow",
    "sql query select filter where grep": "arrowroot head run7.root:Events --filter 'nMuon >= 2'",
    "recompress compress": "arrowroot skim run7.root new.root --compression zstd:5",
    "slim reduce": "arrowroot skim run7.root:Events skim.root --filter 'nMuon >= 2'",
    "split": (
        "arrowroot skim run7.root part1.root --entries :1000, then "
        "arrowroot skim run7.root part2.root --entries 1000:"
    ),
    "validate verify check fsck": "arrowroot perf run7.root:Events, which reads all of it",
    "bench benchmark time profile why explain slow rootreadspeed": "arrowroot perf run7.root:Events",
    "version": "arrowroot --version",
    "generate gen make create": "arrowroot sample nanoaod s.root",
    "read open": "arrowroot head run7.root:Events",
    "optimize optimise": "arrowroot tune run7.root:Events",
}
#: Commands of others that Python has; {tree} and {other} are trees, {column} is what was typed behind a file.
_IN_PYTHON = {
    "uniq unique distinct": "{tree}[{column}].to_arrow().unique()",
    "value_counts value-counts": "{tree}[{column}].to_arrow().value_counts()",
    "sort sort_values order": "ar.write('sorted.root:Events', {tree}.to_arrow().sort_by({column}))",
    "min max mean sum std": "ak.{word}({tree}[{column}].to_awkward())",
    "stats statistics summary": "{tree}.to_pandas([{column}]).describe()",
    "diff cmp compare": "{tree}.to_arrow().equals({other}.to_arrow())",
}
#: Commands of others about one object of a file.
_OF_OBJECT = {
    "cp copy rootcp": "arrowroot merge {new} {file} --rule {name}=first --rule '*=drop'",
    "rm remove delete del rootrm": "in Python with ar.update({file!r}) as new: del new[{name!r}]",
    "mkdir rootmkdir": "in Python with ar.update({file!r}) as new: new.directory({name!r})",
    "mv move rename rootmv": (
        "in Python with ar.update({file!r}) as new: new[{new_name!r}] = ar.open({file!r})[{name!r}]; del new[{name!r}]"
    ),
}
#: Commands of others that make one file of several, and programs that have commands.
_MERGING = ("hadd", "haddnano", "join", "concat", "append", "combine")
_PROGRAMS = ("parquet-tools", "parquet", "pqrs", "uproot", "hepconvert", "root")
#: The line that has what was not typed.
_NEEDED = {
    "draw": "arrowroot show run7.root:h_pt",
    "convert": "arrowroot convert run7.root:Events events.parquet",
    "index": "arrowroot index run7.root -o index.parquet",
    "skim": "arrowroot skim run7.root:Events skim.root --filter 'nMuon >= 2'",
}
#: How others ask for the number of entries.
_COUNTS = ("count", "rowcount", "nrows", "entries", "nentries")
#: The options of a condition.
_CONDITIONS = ("--filter", "--cut", "--where", "--selection", "--select", "-s")


def for_command(word: str, rest: Sequence[str], commands: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the answer to a command that there is not. ``rest``: what was typed behind it."""
    line = _line_for(word.removesuffix(".py"), rest, commands)
    if line is not None:
        return f"there is no command {word!r}: write {line}"
    # Most words of three letters come near one.
    hint = near(word, [one for one in commands if len(word) > 3 or one[:2] == word[:2]])
    return f"there is no command {word!r}{hint or ': arrowroot --help lists them'}"


def _line_for(word: str, rest: Sequence[str], commands: Mapping[str, argparse.ArgumentParser]) -> str | None:
    files = [one for one in rest if looks_like_file(one)]
    if word in _PROGRAMS and rest:
        return (
            shlex.join(["arrowroot", *rest])
            if rest[0] in commands
            else _line_for(rest[0], rest[1:], commands)
        )
    if word in _MERGING:
        return _merging(word, rest, commands["merge"])
    if word in _COUNTS and len(files) == 1 and (condition := _condition(rest[rest.index(files[0]) + 1 :])):
        return f"in Python len({_in_python(files[0])}.entries_where({condition!r}))"
    if (line := line_of(_IN_PYTHON, word)) is not None:
        one, other = [*files, "run7.root", "run8.root"][:2]
        behind = [name for name in rest if name not in files and not name.startswith("-")]
        said = {"tree": _in_python(one), "other": _in_python(other), "word": word}
        return f"in Python {line.format(column=repr((behind or ['event'])[0]), **said)}"
    if (line := line_of(_OF_OBJECT, word)) is not None and files:
        if (done := _of_object(line, files)) is not None:
            is_forced = done.startswith("arrowroot") and {"-f", "--force", "--recreate"}.intersection(rest)
            return done + (" --force" if is_forced else "")
        if word not in ("cp", "copy", "rootcp"):
            return f"{word.removeprefix('root')} {shlex.join(files)}, a command of the shell"
    if (line := line_of(_COMMANDS, word)) is None:
        return None
    command = commands.get(line.split()[1])
    if command is None or ", " in line:
        return with_typed(line, [one for one in rest if not one.startswith("-")])
    found = translated(command, rest, word)
    names = found.names
    if word == "nano_postproc":  # the directory of outputs stands first, and each has the name of its input
        names = [one for one in names if ".root" in one][:1]
        names += [f"{os.path.basename(one).partition('.root')[0]}_Skim.root" for one in names]  # noqa: PTH119 - as in lines
    if "--filter" in found.options:
        line = line.partition(" --filter")[0]
    without = f" (without {', '.join(found.unknown)})" if found.unknown else ""
    return f"{with_typed(line, names)} {shlex.join(found.options)}".rstrip() + without


def _merging(word: str, rest: Sequence[str], merge: argparse.ArgumentParser) -> str:
    """Return the line that merges what was typed; the output comes first, as hadd has it, if it is not there."""
    found = translated(merge, rest)
    files = found.names or ["run7.root", "run8.root"]
    is_named = (word.startswith("hadd") and len(files) > 2) or not may_be_input(files[0])
    if not is_named or not found.names:
        files = ["all.root", *files]
    found = found._replace(names=files)
    for _, text, value in found.whole:
        return whole(text, value, found)
    return found.line("merge")


def _of_object(line: str, files: Sequence[str]) -> str | None:
    """Return what is done with an object of a file, the first that was typed; None if a file alone was typed."""
    (file, name), (new, new_name) = map(split_url, [*files, "new.root"][:2])
    if name is None:
        return None
    name = name.partition(";")[0]
    new = "new.root" if new == file else new
    if line.startswith("arrowroot"):
        file, name, new = map(shlex.quote, (file, name, new))
    return line.format(file=file, name=name, new=new, new_name=new_name or name)


def _condition(words: Sequence[str]) -> str | None:
    """Return the condition among words behind a file: one that stands alone, or the value of an option for it."""
    from arrowroot._histograms.wanted import is_condition

    for before, word in zip(["", *words], words, strict=False):
        option, equals, value = word.partition("=") if word.startswith("--") else (before, "", word)
        is_value = bool(equals) or option.startswith("-")
        if (not is_value or option in _CONDITIONS) and is_condition(value):
            return value
    return None


def _in_python(file: str) -> str:
    """Return what a tree is in Python."""
    url, name = split_url(file)
    return f"ar.open({url!r})" + (".only_tree()" if name is None else f"[{name!r}]")


def for_method(word: str, commands: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the answer to a method of ROOT behind a file: ``run7.root:Events->Draw("pt")``."""
    file, _, call = word.partition("->")
    method, _, arguments = call.partition("(")
    typed = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|([^",\s)]+)', arguments)]
    command = method.lower()
    if command not in commands:
        return for_command(command, [file, *typed], commands)
    if command == "draw" and len(typed) > 1:
        # The third are options of drawing.
        typed = [typed[0], *(["--filter", typed[1]] if typed[1].strip() else [])]
    line = None if typed else for_needed(command, [file])
    return f"the command comes first: write {line or f'arrowroot {command} {shlex.join([file, *typed])}'}"


def for_needed(
    command: str, typed: Sequence[str], parser: argparse.ArgumentParser | None = None
) -> str | None:
    """Return the line to write for a command without all that it needs; None: its help says more."""
    if parser is not None:
        found = translated(parser, typed)
        # The value of an option has a place of its own.
        if not (found.unknown or found.whole) and not set(found.names) <= set(typed):
            return found.line(command)
    files = [one for one in typed if looks_like_file(one)]
    if command == "index" and files and (named := typed[-1]).endswith((".parquet", ".pq")):
        return shlex.join(["arrowroot", "index", *(one for one in files if one != named), "-o", named])
    return with_typed(_NEEDED[command], files[:1]) if command in _NEEDED and files else None


def for_columns(words: Sequence[str], n_names: int, n_needed: int, files: Sequence[str] = ()) -> str | None:
    """Return the answer to names with blanks between them behind -c; None if there are none.

    words: what was typed. n_names, n_needed: how many of them are no options, and how many there must be.
    files: those of them of which the last one is the output, where the others can be read.
    """
    options = ("-c", "--columns")
    for index, word in enumerate(words):
        is_attached = word.startswith("--columns=") or (word[:2] == "-c" and word not in options)
        begin = index + (1 if is_attached else 2)
        if word not in options and not is_attached:
            continue
        end = begin
        while end < len(words) and _is_name(words[end]):
            end += 1
        behind = [*words[begin:end]]
        if behind and files[-len(behind) :] == behind and all(map(may_be_input, files[: -len(behind)])):
            end -= 1
        if end > begin and n_names - (end - begin) >= n_needed:
            first = words[begin - 1].removeprefix("--columns=") if is_attached else words[begin - 1]
            joined = ",".join([first.removeprefix("-c"), *words[begin:end]])
            line = shlex.join([*words[:index], "-c", joined, *words[end:]])
            return f"-c takes names with commas between them: write arrowroot {line}"
    return None


def _is_name(word: str) -> bool:
    return bool(re.fullmatch(r"!?[A-Za-z_*][\w.*?\[\]]*", word)) and not looks_like_file(word)
