"""`arrowroot completion`: the script with which a shell completes commands, options and names of files.

All of it is made from the parsers. The scripts ask nobody when Tab is pressed, so that they answer at once.
"""

from __future__ import annotations

import argparse
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._render import clip
from arrowroot.cli import installed
from arrowroot.cli.parser import commands_of, parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Arguments and values of options whose metavar begins so are names of files.
_FILES = ("URL", "IN", "OUT", "FILE", "TRACE", "REPORT", "DIR", "PATH", "CAMPAIGN", "PAGES")
#: Among them ROOT files.
_ROOT_FILES = ("URL", "IN[", "OUT[")
_HELP_WIDTH = 70


class _Option(NamedTuple):
    names: list[str]
    help: str
    #: Values to choose from.
    choices: list[str]
    takes_value: bool
    takes_file: bool


class _Command(NamedTuple):
    #: As it is typed; "" before a command.
    name: str
    options: list[_Option]
    #: Words that may come next, with what they mean.
    words: list[tuple[str, str]]
    #: Patterns of the files that it takes; "" if it takes none.
    files: str


def run(options: argparse.Namespace) -> None:
    """Print the script of a shell."""
    print(_SHELLS[options.shell](list(_all_commands())))


def _all_commands() -> Iterator[_Command]:
    """Yield all commands, those of the laboratory among them if it is installed."""
    top = parser()
    first = _command("", top)
    yield first._replace(words=[*first.words, ("help", "what a command does")], files="*.root")
    yield _Command("help", [], first.words, "")
    for name, one in commands_of(top).items():
        if name != "lab":
            yield _command(name, one)
        elif (laboratory := installed.parser()) is not None:
            yield _command(name, laboratory)
            for of_lab, command in commands_of(laboratory).items():
                yield _command(f"lab {of_lab}", command)


def _command(name: str, one: argparse.ArgumentParser) -> _Command:
    options, words, files = [], [], ""
    for action in one._actions:  # noqa: SLF001 - argparse says it nowhere else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            listed = action._choices_actions  # noqa: SLF001 - see above
            words += [(choice.dest, choice.help or "") for choice in listed]
            continue
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        choices = [
            str(choice) for choice in action.choices or (_strategies() if action.dest == "strategy" else ())
        ]
        if action.option_strings:
            takes_value = action.nargs != 0
            takes_file = takes_value and metavar.startswith(_FILES)
            options.append(
                _Option([*action.option_strings], _help(one, action), choices, takes_value, takes_file)
            )
        elif choices:
            words += [(choice, "") for choice in choices]
        elif metavar.startswith(_FILES):
            files = files or ("*.root" if metavar.startswith(_ROOT_FILES) else "*")
    return _Command(name, options, words, files)


def _strategies() -> list[str]:
    from arrowroot._report.replay import strategies

    return list(strategies(["all"]))


def _help(one: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return what an option does, in a few words."""
    if not action.help or action.help == argparse.SUPPRESS:
        return ""
    whole = one._get_formatter()._expand_help(action)  # noqa: SLF001 - argparse says it nowhere else
    return clip(re.split(r"; | \(|, ", whole)[0], _HELP_WIDTH)


def _quoted(*texts: str) -> str:
    return " ".join(map(shlex.quote, texts))


_BASH = """\
# bash completion of arrowroot, made by: arrowroot completion bash

_arrowroot_words() {
    local IFS=$'\\n'
    COMPREPLY=($(compgen -W "${1// /$'\\n'}" -- "$2"))
}

_arrowroot_files() {
    local IFS=$'\\n'
    COMPREPLY=($(compgen -f -X "!$1" -- "$2") $(compgen -d -- "$2"))
    compopt -o filenames 2>/dev/null
}

_arrowroot() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= options= words= files=
    COMPREPLY=()
    # Words end at colons, behind which the name of a tree stands, and at equal signs.
    if [[ $cur == : || $before == : ]]; then return; fi
    if [[ $cur == = ]]; then cur=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
    if (( COMP_CWORD > 1 )); then command=${COMP_WORDS[1]}; fi
    if [[ $command == lab ]] && (( COMP_CWORD > 2 )); then command="lab ${COMP_WORDS[2]}"; fi
    case $command in
@commands@
        *) files='*.root' ;;
    esac
    if [[ $cur == -* ]]; then
        _arrowroot_words "$options" "$cur"
    else
        if [[ -n $words ]]; then _arrowroot_words "$words" "$cur"; fi
        if [[ -n $files && ${#COMPREPLY[@]} == 0 ]]; then _arrowroot_files "$files" "$cur"; fi
    fi
}

complete -o bashdefault -o default -F _arrowroot arrowroot"""


def _bash(commands: list[_Command]) -> str:
    lines = []
    for one in commands:
        lines += [f"        {_quoted(one.name)})"]
        by_answer: dict[str, list[str]] = {}
        for option in one.options:
            if option.takes_value:
                by_answer.setdefault(_bash_values(option), []).extend(option.names)
        cases = [
            f"                {'|'.join(names)}) {answer}return ;;" for answer, names in by_answer.items()
        ]
        lines += ["            case $before in", *cases, "            esac"] if cases else []
        found = {
            "options": " ".join(name for option in one.options for name in option.names),
            "words": " ".join(word for word, _ in one.words),
            "files": one.files,
        }
        lines += [f"            {name}={_quoted(text)}" for name, text in found.items() if text]
        lines += ["            ;;"]
    return _BASH.replace("@commands@", "\n".join(lines))


def _bash_values(option: _Option) -> str:
    if option.choices:
        return f'_arrowroot_words {_quoted(" ".join(option.choices))} "$cur"; '
    return "_arrowroot_files '*' \"$cur\"; " if option.takes_file else ""


_ZSH = """\
#compdef arrowroot
# zsh completion of arrowroot, made by: arrowroot completion zsh

_arrowroot() {
    local command=
    local -a words_here
    if (( CURRENT > 2 )); then
        command=$words[2]
        shift words
        (( CURRENT-- ))
    fi
    if [[ $command == lab ]] && (( CURRENT > 2 )); then
        command="lab $words[2]"
        shift words
        (( CURRENT-- ))
    fi
    case $command in
@commands@
        *) _files -g '*.root' ;;
    esac
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _arrowroot "$@"
else
    compdef _arrowroot arrowroot
fi"""


def _zsh(commands: list[_Command]) -> str:
    lines = []
    for one in commands:
        specs = [_zsh_option(option) for option in one.options]
        if one.words:
            described = [f"{word}:{help_text}".rstrip(":") for word, help_text in one.words]
            lines += [f"        {_quoted(one.name)})", f"            words_here=({_quoted(*described)})"]
            files = f"; _files -g {_quoted(one.files)}" if one.files else ""
            lines += [f"            if [[ $words[CURRENT] == -* ]]; then _arguments {' '.join(specs)}"]
            lines += [f"            else _describe word words_here{files}; fi ;;"]
            continue
        if one.files:
            specs.append(_quoted(f"*:file:_files -g '{one.files}'"))
        lines += [f"        {_quoted(one.name)}) _arguments {' '.join(specs)} ;;"]
    return _ZSH.replace("@commands@", "\n".join(lines))


def _zsh_option(option: _Option) -> str:
    help_text = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
    value = ""
    if option.takes_value:
        value = f":value:({' '.join(option.choices)})" if option.choices else ":value: "
        value = ":file:_files" if option.takes_file else value
    # A star: it may be given again.
    return " ".join(_quoted(f"*{name}[{help_text}]{value}") for name in option.names)


_FISH = """\
# fish completion of arrowroot, made by: arrowroot completion fish

function __arrowroot_at
    set -l typed (commandline -opc)[2..-1]
    if test "$typed[1]" = lab; and test (count $typed) -gt 1
        test "$argv" = "lab $typed[2]"
    else
        test "$argv" = "$typed[1]"
    end
end

@commands@"""


def _fish(commands: list[_Command]) -> str:
    lines = []
    for one in commands:
        here = f"complete -c arrowroot -n {_quoted(f'__arrowroot_at {shlex.quote(one.name)}')}"
        lines += [f"{here} -f"]
        lines += [f"{here} -a {_quoted(word)} -d {_quoted(help_text)}" for word, help_text in one.words]
        if one.files:
            lines += [f"{here} -k -a '(__fish_complete_suffix {one.files.removeprefix('*')})'"]
        lines += [f"{here} {_fish_option(option)}" for option in one.options]
    return _FISH.replace("@commands@", "\n".join(lines))


def _fish_option(option: _Option) -> str:
    parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.takes_value:
        parts.append("-r -F" if option.takes_file else "-x")
    if option.choices:
        parts.append(f"-a {_quoted(' '.join(option.choices))}")
    return " ".join([*parts, f"-d {_quoted(option.help)}"])


_SHELLS: dict[str, Callable[[list[_Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
