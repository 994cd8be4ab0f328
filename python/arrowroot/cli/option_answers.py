"""Answers to options that a command does not have: the line that was meant, with what was typed."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from arrowroot import split_url
from arrowroot._hints import line_of, lines_of, near
from arrowroot.cli.arguments import bins_and_ranges
from arrowroot.cli.lines import looks_like_file, merged, output_of, with_typed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

#: How others name a number of entries.
_NUMBERS = "--n --limit --num --number --n-entries --rows --nrows --nevents --max-events --events"
#: Options of others, and what to write for them. {N} is the value, {N:} is 5: for the value 5, {!NAMES} has a "!"
#: before each of several, and {} is none of it. What follows ":" is the tree of the first file, what follows "<" and
#: ">" the first and the last of the files; nothing is written for "". Other texts are whole lines, or say it in words.
_OPTIONS = {
    "-j --jobs --nthreads --n-threads -t": "--threads {N}",
    "-b -i --branch --branches --column --filter_name --filter-name --usecols": "-c {NAMES}",
    "--keep --keep-branches": "-c {NAMES}",
    "--drop --drop-branches --exclude --remove --ignore": "-c {!NAMES}",
    "--skip --offset --skip-entries --start --first-entry --firstentry": "--entries {N:}",
    "--cut --where --selection --select -s": "--filter {TEXT}",
    "--alias --new-column --column-definition": "--define {TEXT}",
    "--lumi-json --golden-json --json-mask --goodruns --grl": "--lumi-mask {FILE}",
    "--tree --treename --tree-name --trees": ":{TREE}",
    "-R -r --recursive": "arrowroot ls run7.root, which lists what is in directories, too",
    "-a --all --long -L -v --verbose": "-l",
    "-t --types --titles": "-l",
    "--csv --format": "arrowroot convert run7.root:Events run7.csv",
    "--range --slice": "--entries {RANGE}",
    f"{_NUMBERS} --N --entries --lines": "-n {N}",
    f"{_NUMBERS} -n -N --max-entries": "--entries {:N}",
    "-o --output --out": "arrowroot convert run7.root:Events FILE",
    "-q --quiet": "2>/dev/null, which shows no progress",
    "-z --codec --compress": "--compression {CODEC}",
    "--compression-level --level": "--compression zstd:{N}",
    "-v --verbose": "",
    "--overwrite --recreate --replace": "--force",
    "--rntuple": "--layout rntuple",
}
_PICTURE = 'in Python plt.stairs(*ar.open("run7.root")["h_pt"].to_numpy()), then plt.savefig("h.png")'
#: Options that mean something else to a command, of ours or of others.
_OPTIONS_OF = {
    "sample": {
        "-n --n --num --number --rows --events --nevents": "--entries {N}",
        "-o --output --out": ">{OUT}",
    },
    "config": {"--set --get": "export ARROWROOT_STRATEGY=treecache"},
    "convert": {
        "--to=rntuple --to=ttree": "--layout {NAME}",
        "--to": "--format {FORMAT}",
        "--from": "{}",
        "-o --output --out": ">{OUT}",
    },
    "draw": {
        "-o --output --out --save --png --pdf --svg": "--plot {FILE}",
        "--logx --logy --logz --log-y --log-scale --logscale": "--log --plot h.png",
        "--cut --where --selection --select -s -c": "--filter {TEXT}",
        "-b --nbins --n-bins": "--bins {N}",
        "--style": "--plot h.png{}",
        "--xmin --low": "--range {N:}",
        "--xmax --high": "--range {:N}",
    },
    "ls": {"-1": "--keys"},
    "perf": {"-o --output --out": "--json > FILE, or --plot FILE for a picture"},
    "show": {
        "--csv --values --contents": "--json",
        "-o --output --out --plot --png --pdf --svg --draw --save": _PICTURE,
    },
    # NanoAOD-tools have these.
    "skim": {
        "-J --json-input": "--lumi-mask {FILE}",
        "--bi --bo --branch-selection": "-c {NAMES}",
        "--prefetch --friend -P": "",
    },
    # hadd's, and those of scripts around it.
    "merge": {
        "-o --output --out": "<{OUT}",
        "-a --append": "arrowroot merge new.root OUTPUT INPUTS",
        "-k": "--on-bad-input skip",
        "-n": "--open-files {N}",
        "--tree --treename --tree-name": "arrowroot merge OUTPUT INPUTS --rule {TREE}=concatenate --rule *=drop",
        "-cachesize": "--cache-size {SIZE}",
        "-fk": "--force --on-bad-input skip",
        "-j -v --verbose -dbg -experimental-io-features": "",
        # Of -f505 the letter comes first.
        "-NUMBER -z --compression": "arrowroot skim INPUTS OUTPUT --compression {CODEC}",
        "-b -bi -bo --branch-selection -c --branches --keep": "arrowroot skim INPUTS OUTPUT -c {NAMES}",
        "-J --lumi-mask": "arrowroot skim INPUTS OUTPUT --lumi-mask {FILE}",
        "-N --max-entries": "arrowroot skim INPUT OUTPUT --entries {:N}",
        "--cut --filter --selection": "arrowroot skim INPUTS OUTPUT --filter {TEXT}",
    },
    "nano_postproc": {
        "-c --cut": "--filter {TEXT}",
        "-J --json": "--lumi-mask {FILE}",
        "-s --postfix": "{}",
        "--justcount --noOut": "",
    },
    "rooteventselector": {
        "-s --selection": "--filter {TEXT}",
        "-f --first": "--entries {N:}",
        "-l --last": "--entries {:N+1}",
        "-e --branchexclude": "-c {!NAMES}",
        "-i --branchinclude": "-c {NAMES}",
        "-c --compress": "--compression {CODEC}",
    },
    "rootslimtree": {"-e --branchexclude": "-c {!NAMES}", "-i --branchinclude": "-c {NAMES}"},
    "rootreadspeed": {"--files": "<{FILE}", "--all-branches": ""},
    "rootls": {"-r": ""},
    "wc": {"-l": ""},
    "cut": {"-f --fields": "-c {NAMES}"},
}


#: So long are lists of columns to be kept at most.
_MOST_BYTES = 100_000


class Translated(NamedTuple):
    """Words as a command of ours takes them; ``whole``: lines instead, each with its option and the value of that."""

    names: list[str]
    options: list[str]
    whole: list[tuple[str, str, str]]
    #: Options for which we have nothing.
    unknown: list[str]

    def line(self, command: str) -> str:
        """Return the line to write."""
        return shlex.join(["arrowroot", command, *self.names, *self.options])


def translated(command: argparse.ArgumentParser, words: Sequence[str], of: str = "") -> Translated:
    """Return what was typed behind a command, or behind the command ``of`` of others, as our command takes it."""
    known = command._option_string_actions  # noqa: SLF001 - argparse says it nowhere else
    found = Translated([], [], [], [])
    words = [word for word in words if not (of and word == "-h")]  # du -h is no question for help
    trees: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word == "-":
            found.names.append(word)
            continue
        name, equals, value = word.partition("=")
        text = _text_of(command, name, value or "".join(left[:1]), of)
        whole_names = [one for one in known if one.startswith(name)] if name[:2] == "--" else []
        if text is None and len(whole_names) == 1:
            name = whole_names[0]  # argparse takes the beginning of one for it
        if text is None and name not in known and word[:2] != "--" and len(word) > len(name[:2]):
            # Letters together, or the value right behind its letter.
            if word[:2] in known and known[word[:2]].nargs == 0:
                left[:0] = [word[:2], f"-{word[2:]}"]
                continue
            name, equals, value = word[:2], "=", word[2:]
            text = _text_of(command, name, value, of)
        if text is None and name in known:
            has_value = known[name].nargs != 0 and not equals
            found.options.extend([word, *left[:has_value]])
            del left[:has_value]
            continue
        if text is not None and not equals:
            # A number behind an option of hadd that may have one, as -v 99, and that we have no use for.
            has_value = "{" in text if text else "".join(left[:1]).isdecimal()
            has_value &= not re.fullmatch(r"-\d+", name) and not re.match("-[-a-zA-Z]", "".join(left[:1]))
            value = "".join(left[:has_value])
            del left[:has_value]
        if text is None:
            found.unknown.append(name)
        elif _is_whole(text):
            found.whole.append((name, text, name[1:] if name[1:].isdecimal() else value))
        else:
            _place(found, trees, text, value)
    for i in [i for i, one in enumerate(found.names) if looks_like_file(one)][: len(trees)]:
        found.names[i] += f":{trees[-1]}"
    return found


def _place(found: Translated, trees: list[str], text: str, value: str) -> None:
    """Put what stands for an option where it belongs."""
    said = [placed for word in text.lstrip(":<>").split() if (placed := _with_value(word, value))]
    if not said or said == ["-c", "!*"]:  # all is left out but what is named
        return
    last = found.options[-1:]
    if text[:1] == ":":
        trees += said
    elif text[:1] == "<":
        found.names[:0] = said
    elif text[:1] == ">":
        found.names.extend(said)
    elif said[0:1] == found.options[-2:-1] and {last[0][-1:], said[1][:1]} == {":"}:
        found.options[-1] = f"{last[0]}{said[1][1:]}"  # both ends of a range
    elif said != last:
        found.options.extend(said)


def _is_whole(text: str) -> bool:
    """Return whether a text of the tables is a whole line, or words, and stands for no option."""
    return bool(re.match(r"\w|2>|--json >", text))


def _text_of(command: argparse.ArgumentParser, name: str, value: str, of: str = "") -> str | None:
    """Return what to write for an option that a command does not have; None if nobody knows, or it has it."""
    known = command._option_string_actions  # noqa: SLF001 - as above
    own = _OPTIONS_OF.get(of, {})
    if name not in known or any(name in names.split() for names in own):
        for table in (own, _OPTIONS_OF.get(_name_of(command), {})):
            for one in (f"{name}={value}", name, re.sub(r"^-\d+$", "-NUMBER", name)):
                if (text := line_of(table, one)) is not None:
                    return text
        for text in lines_of(_OPTIONS, name):
            if text[:1] != "-" or text.split()[0] in known:
                return text
    return None


def _with_value(line: str, value: str) -> str:
    """Return a line with the value that was typed in its place, if it has one: each of several names in that of one."""

    def number(found: re.Match[str]) -> str:
        more = found[0].partition("+")[2]
        return str(int(value) + int(more)) if more and value.isdecimal() else value or found[0]

    def placed(found: re.Match[str]) -> str:
        pattern = r"[A-Z]+(\+\d)?"
        if "NAMES" not in found[1]:
            return re.sub(pattern, number, found[1])
        names = _kept_and_dropped(value) or [found[1][:-5] + one for one in (value or "NAMES").split(",")]
        return ",".join(names)

    return re.sub(r"{(.*?)}", placed, line)


def _kept_and_dropped(path: str) -> list[str]:
    """Return the names and globs of a file of NanoAOD-tools with lines "keep Muon_*" and "drop *".

    None are returned if it is no such file, or if what is kept was dropped before: here the order does not count.
    """
    if not os.path.isfile(path):  # noqa: PTH113 - pathlib is a tenth of our import time
        return []
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    names: list[str] = []
    for line in text.splitlines():
        rule, *patterns = line.partition("#")[0].split() or [""]
        if rule == "drop" and patterns == ["*"]:
            names = []
        elif rule == "keep" and not any(one.startswith("!") for one in names):
            names += patterns
        elif rule == "drop":
            names += [f"!{one}" for one in patterns]
        elif rule:
            return []
    return names


def _name_of(command: argparse.ArgumentParser) -> str:
    return command.prog.rpartition(" ")[2]


def for_option(
    words: Sequence[str], known: Sequence[str], commands: Mapping[str, argparse.ArgumentParser]
) -> str:
    """Return the answer to an option in the place of a command that there is not."""
    word, bare = words[0], words[0].lstrip("-")
    if any(map(looks_like_file, words[1:])):
        for name, command in commands.items():
            if word in command._option_string_actions:  # noqa: SLF001 - as above
                return f"there is no option {word} without a command: write {shlex.join(['arrowroot', name, *words])}"
    meant = {"v": "--version", **{name: name for name in commands}}.get(bare)
    if meant:
        return f"there is no option {word}: write {shlex.join(['arrowroot', meant, *words[1:]])}"
    return f"there is no option {word}{near(word, known) if len(bare) > 1 else ''}"


def for_rest(command: argparse.ArgumentParser, unknown: Sequence[str], words: Sequence[str]) -> str:
    """Return the answer to what a command does not take. ``words``: all that was typed, the command first."""
    wrong = unknown[0].partition("=")[0]
    name = _name_of(command)
    help_of = f"({command.prog} --help)"
    if not wrong.startswith("-"):
        return _for_word(name, wrong, words, help_of)
    found = translated(command, words[1:])
    if found.unknown:
        known = list(command._option_string_actions)  # noqa: SLF001 - as above
        wrong = found.unknown[0]
        # Options of one letter are all alike.
        hint = near(wrong, known) if wrong.startswith("--") else ""
        return f"{name} has no option {wrong}{hint} {help_of}"
    if not wrong.startswith("--") and _text_of(command, wrong, "") is None:
        wrong = wrong[:2]  # its value is right behind it
    line = _convert_line(found) if name == "convert" else found.line(name)
    for option, text, value in found.whole[:1]:
        wrong, line = option, whole(text, value, found)
    return f"{name} has no option {wrong}: write {line} {help_of}"


def _convert_line(found: Translated) -> str:
    """Return the line for a conversion: of a layout, which ROOT files alone have, or to a format without a file."""
    if "--layout" in found.options and ".root" in "".join(found.names[:1]):
        return found.line("skim")
    if len(found.names) == 1 and "--format" in found.options:
        at = found.options.index("--format")
        suffix = found.options[at + 1]
        del found.options[at : at + 2]
        found.names.append(output_of(split_url(found.names[0])[0], suffix))
    return found.line("convert")


def whole(text: str, value: str, found: Translated) -> str:
    """Return a whole line of the tables with what was typed."""
    names = found.names or ["new.root"]
    files = {
        "INPUTS": names[1:],
        "INPUT": names[1:2],
        "OUTPUT": names[:1],
    }
    if "arrowroot" not in text or not any(one in text.split() for one in files):
        return with_typed(text, found.names)
    forced = [one for one in found.options if one in ("-f", "--force")]
    words = [files.get(word, [_with_value(word, value)]) for word in text.split()]
    return shlex.join([*(one for each in words for one in each), *forced])


def for_ends(words: Sequence[str]) -> str | None:
    """Return the line for bins and ends of axes with blanks between them: "--range 0 100", "--bins 50 0 100"."""
    for option, n_numbers in (("--range", 2), ("--bins", 3)):
        at = words.index(option) + 1 if option in words else len(words)
        numbers = words[at : at + n_numbers]
        if len(numbers) == n_numbers and all(re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", one) for one in numbers):
            line = shlex.join(["arrowroot", *words[: at - 1], *words[at + n_numbers :]])
            return f"{line} {bins_and_ranges(['0', *numbers][-3:])[0]}".replace("--bins 0 ", "")
    return None


def _for_word(name: str, wrong: str, words: Sequence[str], help_of: str) -> str:
    """Return the answer to a word that is no option, and for which a command has no place."""
    files = [word for word in words[1:] if not word.startswith("-")]
    if name == "convert":
        # Others are values of options, or trees.
        named = [one for one in files if looks_like_file(one) or re.fullmatch(r"[\w./~+-]+\.[a-z]\w*", one)]
        if len(files) == 3 and files[1] not in named:
            return f"convert takes one file: write arrowroot convert {files[0]}:{files[1]} {files[2]}"
        if len(named) > 2:
            return f"convert takes one file: {merged(named[:-1], named[-1])}"
    if name == "sample" and len(files) == 3:
        option = "--entries" if wrong.isdecimal() else "--size"
        return f"sample takes no {wrong!r}: write arrowroot sample {shlex.join([*files[:2], option, wrong])} {help_of}"
    if name == "config":
        return (
            f"config only shows: set an option by export ARROWROOT_STRATEGY=treecache, or in a file {help_of}"
        )
    return f"{name} takes no {wrong!r} {help_of}"
