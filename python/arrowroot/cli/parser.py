"""The commands with their options."""

from __future__ import annotations

import argparse
import re
import shlex
import textwrap
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import arrowroot
from arrowroot._render import without_secrets
from arrowroot.cli import parser_skim, parser_study, parser_write
from arrowroot.cli.answers import for_columns, for_command, for_method, for_needed
from arrowroot.cli.arguments import (
    JSON_HELP,
    OBJECT_HELP,
    URL_HELP,
    Command,
    add_columns,
    add_define,
    add_filter,
    add_storage,
    batch_size,
    count,
    duration,
    entry_range,
    fraction,
    positive,
)
from arrowroot.cli.lines import looks_like_file
from arrowroot.cli.option_answers import for_ends, for_option, for_rest

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_USAGE = 2
_WIDEST_HELP = 100
_LAB = "lab"

_DESCRIPTION = "Reads ROOT files as Apache Arrow columns, says what it cost, and writes them."
_EPILOG = """\
arrowroot run7.root           lists a file, as arrowroot ls run7.root does
arrowroot help perf           what a command does, its options, and examples
"""

_LS = """\
Lists the keys of a file, or of several; for trees the branches with types, entries, bytes stored and in memory,
codec and baskets.

examples:
  arrowroot ls run7.root
  arrowroot ls run7.root:Events -c 'Muon_*'
  arrowroot ls run7.root --keys
  arrowroot ls run7.root:Events --group          where the bytes are
  arrowroot ls run7.root run8.root
  arrowroot ls run7.root --json | jq '.trees[].branches[].path'
"""

_HEAD = """\
Shows the first entries of a tree as a table that fits the terminal; of other objects what arrowroot show shows.

examples:
  arrowroot head run7.root
  arrowroot head run7.root:Events -n 20 -c 'Muon_*,nMuon'
  arrowroot head run7.root:Events -n 3 --json
  arrowroot head run7.root:Events --entries 1000: -n 5
  arrowroot head run7.root:Events --filter 'nMuon >= 2 && Muon_pt[0] > 20'
  arrowroot head run7.root run8.root
"""

_TAIL = """\
Shows the last entries of a tree, as head shows the first ones.

examples:
  arrowroot tail run7.root
  arrowroot tail run7.root:Events -n 20 -c 'Muon_*,nMuon'
"""

_SHOW = """\
Shows one object: a histogram or graph as a picture in characters, anything else as the tree of its members.

examples:
  arrowroot show run7.root:dir/h_pt
  arrowroot show run7.root:h_pt --members        every member, as stored
  arrowroot show run7.root:h_pt --json | jq .fEntries
  arrowroot show run7.root:thing --raw | xxd     bytes of what cannot be read
"""

_PERF = """\
Reads a tree, keeps nothing, and reports the cost: the measures of ROOT's TTreePerfStats under their names,
how the time of the threads divides into read, decompress, decode and wait, memory, and what passed each layer of
the storage.

examples:
  arrowroot perf run7.root:Events
  arrowroot perf 'data/*.root' -c 'Muon_*'
  arrowroot perf run7.root:Events --entries 0:100000 --threads 1 --repeat 5
  arrowroot perf run7.root:Events --fraction 0.01 --seed 7
  arrowroot perf run7.root:Events --filter 'any(Muon_pt > 50)'
  arrowroot perf run7.root:Events --plot reads.png --monitor
  arrowroot perf run7.root:Events --strategy treecache --cache-size 30MB
  arrowroot perf run7.root:Events --fjr report.xml
  arrowroot perf run7.root:Events --trace reads.parquet
  arrowroot perf run7.root:Events --save perfstat.root
  arrowroot perf --from perfstat.root
  arrowroot perf run7.root:Events --json > cost.json
  arrowroot perf --explain            what each measure means
"""

_INDEX = """\
Writes the ids (run, lumi, event) of all events of many trees to a Parquet file, from which events are picked
without reading them again: arrowroot.pick("index.parquet", [(1, 2, 3), ...]) in Python.

Run again, it reads only files that are new or have changed (size, UUID, number of entries), also after an
interruption.

examples:
  arrowroot index 'data/run*.root' -o index.parquet
  arrowroot index a.root:Events b.root:Events -o index.parquet -c run,event
  arrowroot index 'data/run*.root' -o good.parquet --lumi-mask Cert.json
  arrowroot index 'data/*.root' --tree Events -o i.parquet --json | jq .n_read
"""

_CONFIG = """\
Shows each option of the storage, its value in force and who set it: the command line, the URL, the environment
(ARROWROOT_NAME), a configuration file ($ARROWROOT_CONFIG, ~/.config/arrowroot/config.toml,
/etc/arrowroot/config.toml), in this order of precedence, or nobody. Nothing is opened. Secrets are not shown.

examples:
  arrowroot config
  arrowroot config 'root://host//run7.root?arrowroot.strategy=treecache'
  arrowroot config --json | jq '.options[] | select(.origin != "default")'
"""

_COMPLETION = """\
Prints the script with which a shell completes commands, options and names of files when Tab is pressed.
A new shell has it.

examples:
  arrowroot completion fish > ~/.config/fish/completions/arrowroot.fish
  eval "$(arrowroot completion bash)"            in ~/.bashrc
  eval "$(arrowroot completion zsh)"             in ~/.zshrc, behind compinit
"""


class Parser(argparse.ArgumentParser):
    """A parser with our form of errors and help."""

    #: What was typed behind the command.
    typed: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, as for all other errors."""
        if (letters := re.search("ignored explicit argument '(.*)'", message)) is not None:
            answer = for_rest(self, [f"-{letters[1]}"], [self.prog, *self.typed])
            self.exit(EXIT_USAGE, f"arrowroot: {without_secrets(answer)}\n")
        is_short = "are required" in message
        line = for_needed(self.prog.rpartition(" ")[2], self.typed, self) if is_short else None
        said = f"{message}: write {line}" if line else message
        self.exit(EXIT_USAGE, f"arrowroot: {without_secrets(said)} (try: {self.prog} --help)\n")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Fits paragraphs to the width of the terminal; indented lines, as examples are, stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled: list[str] = []
        for line in text.splitlines():
            # A line goes on with the one before, but behind an empty one and beside indented ones.
            if line[:1].strip() and filled and filled[-1][:1].strip():
                filled[-1] += f" {line}"
            else:
                filled.append(line)
        lines = (
            line if line.startswith(" ") else textwrap.fill(line, min(width, _WIDEST_HELP)) for line in filled
        )
        return super()._fill_text("\n".join(lines), width, indent)


class _Version(argparse.Action):
    """Shows the version, and the commit, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        commit = f" ({arrowroot.__commit__})" if arrowroot.__commit__ else ""
        print(f"arrowroot {arrowroot.__version__}{commit}")
        parser.exit()


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of one command: to make all options takes long."""
    top = Parser(prog="arrowroot", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=_Help)
    top.add_argument("-V", "--version", action=_Version, nargs=0, help="show version and commit")
    every = Parser(add_help=False)
    every.add_argument("--debug", action="store_true", help="show tracebacks (as does ARROWROOT_DEBUG=1)")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, description, summary, add_options in COMMANDS:
        if only in (None, name):
            command = commands.add_parser(
                name, parents=[every], description=description, formatter_class=_Help, help=summary
            )
            add_options(command)
    if only in (None, _LAB):
        # It is a package of its own, whose command is looked for before anything is parsed here.
        commands.add_parser(
            _LAB, help="the laboratory: the same tests over many storages and engines", add_help=False
        )
    return top


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what was typed, as a command. What nobody knows is answered with what was meant, in one line."""
    words = list(arguments)
    first = words[0] if words else ""
    names = {_LAB, *(command.name for command in COMMANDS)}
    is_file = first not in names and not first.startswith("-") and looks_like_file(first)
    if is_file and "->" not in first and not names.intersection(words[1:2]):
        words.insert(0, first := "ls")
    whole = parser(first if first in names else None)
    commands = commands_of(whole)
    if not words:
        whole.print_help()
        whole.exit()
    known = list(whole._option_string_actions)  # noqa: SLF001 - argparse says it nowhere else
    if first == "--" or (first.startswith("-") and not any(option.startswith(first) for option in known)):
        answer = without_secrets(for_option(words, known, commands))
        whole.exit(EXIT_USAGE, f"arrowroot: {answer} (try: arrowroot --help)\n")
    if first in ("head", "tail"):
        # As the commands of that name have it: head -5.
        numbers = [
            i for i, word in enumerate(words) if re.fullmatch("-[0-9]+", word) and words[i - 1] != "-n"
        ]
        words = [f"-n{word[1:]}" if i in numbers else word for i, word in enumerate(words)]
    if not first.startswith("-") and first not in commands:
        if not is_file:
            answer = for_command(first, words[1:], commands)
        elif words[1:] and words[1] in commands:
            line = shlex.join(["arrowroot", words[1], first, *words[2:]])
            answer = f"the command comes first: write {line}"
        else:
            answer = for_method(first, commands)
        whole.exit(EXIT_USAGE, f"arrowroot: {without_secrets(answer)}\n")
    if isinstance(command := commands.get(words[0]), Parser):
        command.typed = words[1:]
    if first == "draw" and (ends := for_ends(words)) is not None:
        whole.exit(
            EXIT_USAGE, f"arrowroot: draw: ends have a colon between them: write {without_secrets(ends)}\n"
        )
    options, unknown = whole.parse_known_args(words)
    # argparse takes -1 for a number, and so for a name.
    unknown = [*unknown, *(one for one in getattr(options, "urls", []) if re.fullmatch("-[0-9]+", one))]
    needs_output = options.command == "skim" and not options.output
    files = [*options.files, *(word for word in unknown if not word.startswith("-"))] if needs_output else []
    if (split := for_columns(words, *_names_of(options, unknown), files)) is not None:
        commands[options.command].exit(EXIT_USAGE, f"arrowroot: {without_secrets(split)}\n")
    named = getattr(options, "files", None) or getattr(options, "urls", None)
    if named and not any(word.startswith("-") for word in unknown):
        # argparse takes the names before the first option alone.
        named += unknown
        unknown = []
    if unknown:
        command = commands[options.command]
        command.exit(EXIT_USAGE, f"arrowroot: {without_secrets(for_rest(command, unknown, words))}\n")
    options.words = words
    return options


def _names_of(options: argparse.Namespace, unknown: Sequence[str]) -> tuple[int, int]:
    """Return how many names of files, or what stands in their places, were typed, and how many a command needs."""
    n_unknown = sum(not word.startswith("-") for word in unknown)
    if hasattr(options, "files"):
        needs_output = options.command == "skim" and not options.output
        return len(options.files) + n_unknown, 2 if needs_output else 1
    if hasattr(options, "urls"):
        return len(options.urls) + n_unknown, 1
    return 2 + n_unknown, 2


def commands_of(whole: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the commands by their names."""
    actions = whole._actions  # noqa: SLF001 - argparse says it nowhere else
    return next(dict(one.choices) for one in actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001


def _ls(ls: argparse.ArgumentParser) -> None:
    ls.add_argument("urls", metavar="URL[:TREE]", nargs="+", help=URL_HELP)
    add_columns(ls, "show only these branches")
    ls.add_argument("-k", "--keys", action="store_true", help="only the keys, no branches")
    ls.add_argument(
        "-l", "--long", action="store_true", help="cut nothing off, and show Arrow types and titles"
    )
    ls.add_argument(
        "-g",
        "--group",
        action="store_true",
        help="the sizes of collections (Muon_*, members of objects), not of branches",
    )
    ls.add_argument("--json", action="store_true", help=JSON_HELP)
    add_storage(ls)


def _head(head: argparse.ArgumentParser, which: str) -> None:
    head.add_argument("urls", metavar="URL[:TREE]", nargs="+", help=URL_HELP)
    head.add_argument(
        "--entries",
        metavar="A:B",
        type=entry_range,
        help=f"show the {which} of these entries: from:to, as 1000:, or with = before a minus: --entries=-500:",
    )
    head.add_argument(
        "-n", type=_n_entries, default=10, metavar="N", dest="n_entries", help="entries (default: 10)"
    )
    add_columns(head, "show only these columns")
    add_filter(head, f"show the {which} entries for which this holds")
    add_define(head)
    head.add_argument(
        "--json", action="store_true", help="one JSON object an entry and line; NaN becomes null"
    )
    add_storage(head)


def _n_entries(text: str) -> int:
    """Return a number of entries; what head and tail of a shell count from the other end is an option here."""
    if (found := re.fullmatch(r"([+-])([0-9]+)", text)) is not None:
        entries = f":-{found[2]}" if found[1] == "-" else f"{max(0, int(found[2]) - 1)}:"
        raise argparse.ArgumentTypeError(f"{text!r} counts from the other end: write --entries {entries}")
    return count(text)


def _show(show: argparse.ArgumentParser) -> None:
    show.add_argument("urls", metavar="URL:NAME", nargs="+", help=OBJECT_HELP)
    form = show.add_mutually_exclusive_group()
    form.add_argument(
        "-m",
        "--members",
        action="store_true",
        help="the members of a histogram or graph, too, and all levels",
    )
    form.add_argument(
        "--json", action="store_true", help="as JSON, with ROOT's names of members; NaN becomes null"
    )
    form.add_argument("--raw", action="store_true", help="the bytes as they were streamed, uncompressed")
    add_storage(show)


def _perf(perf: argparse.ArgumentParser) -> None:
    perf.add_argument("urls", metavar="URL[:TREE]", nargs="*", help=URL_HELP)
    add_columns(perf, "read only these columns")
    add_filter(
        perf, "read only the entries for which this holds: its columns first, then what has selected entries"
    )
    perf.add_argument(
        "--entries",
        metavar="A:B",
        type=entry_range,
        help="from:to, as 0:1000, or with = before a minus: --entries=-500:",
    )
    perf.add_argument(
        "--fraction", metavar="F", type=fraction, help="read this share of the entries, at random"
    )
    perf.add_argument("--seed", metavar="N", type=count, default=0, help="of the random entries (default: 0)")
    perf.add_argument(
        "--order",
        choices=("cluster", "entry"),
        default="cluster",
        help="entry: need baskets as GetEntry does, one entry after the other (default: cluster, as columns are "
        "read best)",
    )
    perf.add_argument("--threads", metavar="N", type=count, default=0, help="0: as many as cores (default)")
    perf.add_argument("--repeat", metavar="N", type=positive, default=1, help="read it so many times")
    batches = perf.add_mutually_exclusive_group()
    batches.add_argument(
        "--batch-size", metavar="SIZE", type=batch_size, default="64 MB", help="default: 64 MB"
    )
    batches.add_argument("--batch-entries", metavar="N", type=positive, help="batches of so many entries")
    perf.add_argument("--memory-budget", metavar="SIZE", default="512 MB", help="default: 512 MB")
    perf.add_argument(
        "--cold", action="store_true", help="drop the file from the page cache before each read"
    )
    perf.add_argument("--json", action="store_true", help=f"{JSON_HELP}; --explain has the keys")
    perf.add_argument(
        "--plot", metavar="FILE", help="draw the first read: .png, .svg or .pdf (needs matplotlib)"
    )
    perf.add_argument(
        "--trace",
        metavar="FILE",
        help="write the logical and physical reads of the first read: .parquet or .arrow, for replay; "
        "anything else: the physical ones as CSV",
    )
    perf.add_argument(
        "--save",
        metavar="FILE",
        help="write a TTreePerfStats of the first read, a ROOT file: ROOT prints and draws it",
    )
    perf.add_argument(
        "--from",
        dest="from_file",
        metavar="FILE[:NAME]",
        help="read nothing, but report a TTreePerfStats that ROOT or --save wrote",
    )
    perf.add_argument("--fjr", metavar="FILE", help="write a CMS framework job report of the first read")
    perf.add_argument(
        "--monitor",
        action="store_true",
        help="sample process and machine during the first read (needs psutil)",
    )
    perf.add_argument("--monitor-interval", metavar="TIME", type=duration, default=0.1, help="default: 100ms")
    perf.add_argument("--explain", action="store_true", help="print the table of all measures and stop")
    add_storage(perf)


def _index(index: argparse.ArgumentParser) -> None:
    index.add_argument("urls", metavar="URL[:TREE]", nargs="+", help=URL_HELP)
    index.add_argument("-o", "--output", metavar="FILE", required=True, help="the index: a Parquet file")
    index.add_argument("--tree", metavar="NAME", help="of the files that do not name one")
    usual = "the usual ones, as run,luminosityBlock,event"
    add_columns(index, f"columns of the ids, integers (default: {usual})", single=True)
    index.add_argument(
        "--lumi-mask", metavar="FILE", help="only events in the luminosity blocks of a good-run list, JSON"
    )
    index.add_argument("--json", action="store_true", help="as JSON")
    add_storage(index)


def _config(config: argparse.ArgumentParser) -> None:
    config.add_argument("url", metavar="URL", nargs="?", help="show what holds for this one")
    config.add_argument("--json", action="store_true", help="as JSON")
    add_storage(config)


def _completion(completion: argparse.ArgumentParser) -> None:
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


COMMANDS = (
    Command("ls", _LS, "what is in a file", _ls),
    Command("head", _HEAD, "the first entries of a tree", partial(_head, which="first")),
    Command("tail", _TAIL, "the last entries of a tree", partial(_head, which="last")),
    Command("show", _SHOW, "a histogram, graph or other object", _show),
    Command("perf", _PERF, "read a tree and report the cost", _perf),
    Command("index", _INDEX, "the ids of all events of many trees", _index),
    Command("config", _CONFIG, "the options of the storage in force", _config),
    *parser_write.COMMANDS,
    *parser_skim.COMMANDS,
    *parser_study.COMMANDS,
    Command("completion", _COMPLETION, "Tab for bash, zsh and fish", _completion),
)
