"""Answers to commands and options that there are not: the line that was meant."""

from __future__ import annotations

import os
import re
from itertools import dropwhile
from typing import TYPE_CHECKING

from arrowroot import split_url
from arrowroot._hints import near

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: Commands of others, and the line to write.
_COMMANDS = {
    "list dir keys content info rootls browse count rowcount nrows stat size du": "arrowroot ls run7.root",
    "cat dump more less": "arrowroot head run7.root:Events",
    "scan": "arrowroot head run7.root:Events -c COLUMNS --filter CONDITION",
    "tree print rootprint describe schema meta metadata inspect columns branches": "arrowroot ls run7.root:Events",
    "plot hist histogram rootdraw": "arrowroot show run7.root:h_pt",
    "cp copy rootcp": "arrowroot skim run7.root run8.root",
    "export parquet to-parquet to_parquet toparquet": "arrowroot convert run7.root:Events run7.parquet",
    "csv tocsv to-csv to_csv": "arrowroot convert run7.root:Events run7.csv",
    "json tojson jsonl to-json to_json": "arrowroot convert run7.root:Events run7.jsonl",
    "arrow ipc feather to-arrow to_arrow": "arrowroot convert run7.root:Events run7.arrow",
    "sql query select filter where": "arrowroot head run7.root:Events --filter 'nMuon >= 2'",
    "recompress compress": "arrowroot skim run7.root new.root --compression zstd:5",
    "slim reduce": "arrowroot skim run7.root:Events skim.root --filter 'nMuon >= 2'",
    "validate verify check fsck": "arrowroot perf run7.root:Events, which reads all of it",
    "bench benchmark time profile why explain slow": "arrowroot perf run7.root:Events",
    "version": "arrowroot --version",
    "generate gen make create": "arrowroot sample nanoaod s.root",
    "read open": "arrowroot head run7.root:Events",
    "optimize optimise": "arrowroot tune run7.root:Events",
}
#: The line that has what was not typed.
_NEEDED = {
    "draw": "arrowroot show run7.root:h_pt",
    "convert": "arrowroot convert run7.root:Events events.parquet",
    "index": "arrowroot index run7.root -o index.parquet",
    "skim": "arrowroot skim run7.root:Events skim.root --filter 'nMuon >= 2'",
}
#: Options of others, and those of ours; {N:} is 5: for the value 5.
_OPTIONS = {
    "-j --jobs --nthreads --n-threads -t": "--threads N",
    "-b --branch --branches --column --filter_name --filter-name --usecols": "-c NAMES",
    "--keep --keep-branches": "-c {NAMES}",
    "--drop --drop-branches --exclude --remove --ignore": "-c {!NAMES}",
    "--skip --offset --skip-entries --start --first-entry --firstentry": "--entries {N:}",
    "--cut --where --selection --select -s": "--filter TEXT",
    "--tree --treename --tree-name": "the tree behind the file: run7.root:TREE",
    "-R -r --recursive": "arrowroot ls run7.root, which lists what is in directories, too",
    "-a --all --long -L -v --verbose": "-l",
    "-t --types --titles": "-l",
    "--csv": "arrowroot convert run7.root:Events run7.csv",
    "--limit --entries --num --number --n-entries --rows --nrows --lines": "-n N",
    "-n --limit --num --number --n-entries --rows --nrows": "--entries 0:1000",
    "-o --output --out": "arrowroot convert run7.root:Events FILE",
    "-q --quiet": "2>/dev/null, which shows no progress",
    "--codec": "--compression zstd:5",
    "--overwrite --recreate --replace": "--force",
    "--rntuple": "--layout rntuple",
}
_PICTURE = 'in Python plt.stairs(*ar.open("run7.root")["h_pt"].to_numpy()), then plt.savefig("h.png")'
_DRAWN = "--plot FILE, a picture: .png, .svg or .pdf"
#: How others ask for the number of entries.
_COUNTS = ("count", "rowcount", "nrows", "entries", "nentries")
#: The options of a condition.
_CONDITIONS = ("--filter", "--cut", "--where", "--selection", "--select", "-s")
#: The options of an output that others have, where ours has its place.
_OUTPUT = ("-o", "--output", "--out")
#: Options that mean something else to a command.
_OPTIONS_OF = {
    "sample": {"-n --num --number --rows": "--entries N"},
    "draw": {
        "-o --output --out --save --png --pdf --svg": _DRAWN,
        "--logx --logy --logz --log-y --log-scale --logscale": "--log --plot FILE",
        "--cut --where --selection --select -s": "--filter TEXT",
        "-b --nbins --n-bins": "--bins N",
        "--option --opt --style": "--plot FILE",
    },
    "perf": {"-o --output --out": "--json > FILE, or --plot FILE for a picture"},
    "show": {"-o --output --out --plot --png --pdf --svg --draw --save": _PICTURE},
}


def looks_like_file(word: str) -> bool:
    """Return whether a word in the place of a command is a file or a URL."""
    return "://" in word or ".root" in word or os.path.exists(word)  # noqa: PTH110 - pathlib is a tenth of our import time


def for_command(word: str, rest: Sequence[str], commands: Iterable[str]) -> str:
    """Return the answer to a command that there is not. ``rest``: what was typed behind it."""
    if word == "hadd":
        files = [one for one in rest if not one.startswith("-")] or ["run7.root", "run8.root"]
        output, *inputs = files if len(files) > 2 else ["all.root", *files]
        return f"there is no command {word!r}: {merged(inputs, output)}"
    files = [one for one in rest if looks_like_file(one)]
    if word in _COUNTS and len(files) == 1 and (condition := _condition(rest[rest.index(files[0]) + 1 :])):
        counted = f"len({_in_python(files[0])}.entries_where({condition!r}))"
        return f"there is no command {word!r}: write in Python {counted}"
    if word in ("diff", "cmp", "compare"):
        one, other = map(_in_python, [*files, "run7.root", "run8.root"][:2])
        return f"there is no command {word!r}: write in Python {one}.to_arrow().equals({other}.to_arrow())"
    for line in _lines(_COMMANDS, word):
        return f"there is no command {word!r}: write {_of_file(line, rest)}"
    # Most words of three letters come near one.
    hint = near(word, [one for one in commands if len(word) > 3 or one[:2] == word[:2]])
    return f"there is no command {word!r}{hint or ': arrowroot --help lists them'}"


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


def for_method(word: str, commands: Iterable[str]) -> str:
    """Return the answer to a method of ROOT behind a file: ``run7.root:Events->Draw("pt")``."""
    file, _, call = word.partition("->")
    method, _, arguments = call.partition("(")
    typed = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|([^",\s)]+)', arguments)]
    command = method.lower()
    if command not in commands:
        return for_command(command, [file, *typed], commands)
    import shlex

    if command == "draw" and len(typed) > 1:
        # The third are options of drawing.
        typed = [typed[0], *(["--filter", typed[1]] if typed[1].strip() else [])]
    line = None if typed else for_needed(command, [file])
    return f"the command comes first: write {line or f'arrowroot {command} {shlex.join([file, *typed])}'}"


def for_needed(command: str, typed: Sequence[str]) -> str | None:
    """Return the line to write for a command without all that it needs; None: its help says more."""
    files = [one for one in typed if looks_like_file(one)]
    return _of_file(_NEEDED[command], files[:1]) if command in _NEEDED and files else None


def for_option(
    words: Sequence[str], known: Sequence[str], commands: Mapping[str, argparse.ArgumentParser]
) -> str:
    """Return the answer to an option in the place of a command that there is not."""
    word, bare = words[0], words[0].lstrip("-")
    if any(map(looks_like_file, words[1:])):
        for name, command in commands.items():
            if word in command._option_string_actions:  # noqa: SLF001 - argparse says it nowhere else
                return (
                    f"there is no option {word} without a command: write arrowroot {name} {' '.join(words)}"
                )
    meant = {"v": "--version", **{name: name for name in commands}}.get(bare)
    return f"there is no option {word}" + (
        f": write arrowroot {meant}" if meant else near(word, known) if len(bare) > 1 else ""
    )


def _of_file(line: str, typed: Sequence[str]) -> str:
    """Return a line with the file that was typed in the place of ours, and what follows it as the output."""
    names = [one for one in typed if not one.startswith("-")]
    file, *rest = [*dropwhile(lambda one: not looks_like_file(one), names)] or [""]
    if not file:
        return line
    import shlex

    url, name = split_url(file)
    if "arrowroot show" in line and name and rest:
        return f"arrowroot draw {file} {shlex.quote(rest[0])}"

    # As TTree::Scan has them: columns with colons, then a condition.
    columns, condition = [*rest, "", ""][:2]
    said = {
        '"run7.root"': repr(url),
        '"h_pt"': repr(name or "h_pt"),
        " -c COLUMNS": f" -c {columns.replace(':', ',')}" if columns else " ",
        " --filter CONDITION": f" --filter {shlex.quote(condition)}" if condition else " ",
    }

    def typed_for(found: re.Match[str]) -> str:
        if found[0].startswith("run7.root"):
            return file
        return said.get(found[0], rest[0] if rest else found[0])

    ours = (
        r' -c COLUMNS| --filter CONDITION|"run7\.root"|"h_pt"'
        r"|run7\.root(:Events|:h_pt)?|run8\.root|run7\.\w+|skim\.root"
    )
    return re.sub(ours, typed_for, line).rstrip()


def merged(files: Sequence[str], output: str) -> str:
    """Return the line that makes one file of several."""
    import shlex

    return f"write arrowroot merge {shlex.join([output, *files])}"


def for_rest(command: argparse.ArgumentParser, unknown: Sequence[str], words: Sequence[str]) -> str:
    """Return the answer to what a command does not take."""
    known = [option for action in command._actions for option in action.option_strings]  # noqa: SLF001 - argparse says it nowhere else
    wrong = unknown[0].partition("=")[0]
    command_name = command.prog.rpartition(" ")[2]
    help_of = f"({command.prog} --help)"
    if not wrong.startswith("-"):
        files = [word for word in words[1:] if not word.startswith("-")]
        if command_name == "convert":
            if len(files) == 3 and not looks_like_file(files[1]):
                return f"convert takes one file: write arrowroot convert {files[0]}:{files[1]} {files[2]}"
            return f"convert takes one file: {merged(files[:-1], files[-1])}"
        if command_name == "config":
            return f"config only shows: set an option by export ARROWROOT_STRATEGY=treecache, or in a file {help_of}"
        return f"{command_name} takes no {wrong!r} {help_of}"
    # An option of one letter may have its value right behind it.
    names = [wrong] if wrong.startswith("--") else [wrong, wrong[:2]]
    for name in names:
        if name in _OUTPUT and (line := _with_output(command_name, words, name)):
            return f"{command_name} has no option {name}: write {line} {help_of}"
        for line in _lines(_OPTIONS_OF.get(command_name, {}), name):
            return f"{command_name} has no option {name}: write {_of_file(line, words)} {help_of}"
        for text in _lines(_OPTIONS, name):
            line = _with_value(text, _value_of(words, name)[0])
            if not line.startswith("-") or line.split()[0] in known:
                return f"{command_name} has no option {name}: write {_of_file(line, words)} {help_of}"
    # Options of one letter are all alike.
    hint = near(wrong, known) if wrong.startswith("--") else ""
    return f"{command_name} has no option {wrong}{hint} {help_of}"


def _with_output(command: str, words: Sequence[str], name: str) -> str | None:
    """Return a line with the output of an option in its place; None if the command has none, or it was not named."""
    if command not in ("convert", "merge", "sample"):
        return None
    import shlex

    value, rest = _value_of(words[1:], name)
    ordered = [value, *rest] if command == "merge" else [*rest, value]
    return f"arrowroot {command} {shlex.join(ordered)}" if value else None


def _with_value(line: str, value: str) -> str:
    """Return a line with the value that was typed in its place, if it has one: each of several names in that of one."""

    def placed(found: re.Match[str]) -> str:
        import shlex

        values = value.split(",") if "NAMES" in found[1] else [value]
        each = (re.sub("N[A-Z]*", lambda name, one=one: one or name[0], found[1]) for one in values)
        return shlex.quote(",".join(each))

    return re.sub(r"{(.*?)}", placed, line)


def _value_of(words: Sequence[str], name: str) -> tuple[str, list[str]]:
    """Return the value of an option among words, "" if it has none, and the other words."""
    index = next((i for i, word in enumerate(words) if word.startswith(name)), len(words))
    value = "".join(words[index : index + 1]).removeprefix(name).removeprefix("=")
    end = index + (1 if value else 2)
    return value or "".join(words[index + 1 : end]), [*words[:index], *words[end:]]


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
        if behind and files[-len(behind) :] == behind and all(map(_is_input, files[: -len(behind)])):
            end -= 1
        if end > begin and n_names - (end - begin) >= n_needed:
            import shlex

            first = words[begin - 1].removeprefix("--columns=") if is_attached else words[begin - 1]
            joined = ",".join([first.removeprefix("-c"), *words[begin:end]])
            line = shlex.join([*words[:index], "-c", joined, *words[end:]])
            return f"-c takes names with commas between them: write arrowroot {line}"
    return None


def _is_name(word: str) -> bool:
    return bool(re.fullmatch(r"!?[A-Za-z_*][\w.*?\[\]]*", word)) and not looks_like_file(word)


def _is_input(word: str) -> bool:
    """Return whether a word may be a file that is read: it is there, or only those know who read it."""
    file = split_url(word)[0]
    return bool(re.search(r"^@|://|[*?\[]", file)) or os.path.exists(file)  # noqa: PTH110 - as above


def _lines(table: dict[str, str], word: str) -> Iterator[str]:
    return (line for words, line in table.items() if word in words.split())
