"""The command ``arrowroot lab``. Each of its commands is a module with ``add_command(add)`` and ``run(options)``.

Others register theirs as entry points of the group ``arrowroot_lab.commands``.

Exit codes: 0 done; 1 something failed, or is worse than asked; 2 the request or the campaign is at fault; 3 something
that was asked for cannot be had; 130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import shlex
import sys
import textwrap
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from arrowroot_lab.campaign.keys import nearest
from arrowroot_lab.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    LabError,
    os_problem,
    told_to_people,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

#: Their modules by name, and what help says of each, in its order: a module is imported if its command is asked for.
COMMANDS = {
    "plan": ("plan", "the cases of a campaign, and how long they take"),
    "push": ("push", "put datasets onto storages, and prove that they are there"),
    "run": ("run", "measure what is not measured yet"),
    "show": ("show", "results, one result, a matrix, or the overview"),
    "compare": ("compare", "better, worse, no difference, or not enough"),
    "check": ("check", "fail if a run is not what the baseline was"),
    "watch": ("watch", "measure again and again, and check"),
    "wan": ("wan", "where a job would run best"),
    "settings": ("settings", "the best settings of a site's storages"),
    "history": ("history", "how a series went on"),
    "diff-env": ("diff_env", "what differs between the environments of two results"),
    "publish": ("publish", "static pages of all results"),
    "export": ("export", "CSV, Parquet or other files, for scripts"),
    "import": ("importing", "results of other machines"),
    "cache": ("cache", "what is kept of datasets, environments and campaigns"),
}

_DESCRIPTION = """\
Runs the same I/O tests over storages, layouts, engines and versions, keeps every sample, and shows them.

examples:
  arrowroot lab run campaigns/quick.toml
  arrowroot lab compare --by strategy
  arrowroot lab publish pages/
"""
_EXIT_USAGE = 2
#: New objects until the collector looks for garbage: what commands read of a store are plain rows that stay to the end,
#: and to look through them at each thousand takes a quarter of the time.
_N_UNTIL_COLLECTED = 200_000
#: First words of others, and the command of ours.
_MEANT = {
    "ls": "show",
    "list": "show",
    "results": "show",
    "diff": "compare",
    "start": "run",
    "measure": "run",
}
_MEANT |= {"html": "publish", "pages": "publish", "merge": "import", "clean": "cache"}
_MEANT |= dict.fromkeys(("plot", "draw", "report", "serve", "open"), "publish pages/")
#: First words about what a campaign has, which plan tells.
_OF_CAMPAIGNS = ("campaigns", "engines", "storages", "cases", "init", "new", "example")
_MEANT |= {"resume": "run", "bench": "run", "status": "show --overview", "tune": "settings", "csv": "export"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; the entry point of ``arrowroot lab``."""
    gc.set_threshold(_N_UNTIL_COLLECTED, *gc.get_threshold()[1:])
    options = _parse(sys.argv[1:] if argv is None else list(argv))
    try:
        code: int | None = options.run_command(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("arrowroot lab: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has enough of it; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    except LabError as error:
        from arrowroot_lab.mining.writing import clean

        # A fault of a campaign may have others after it, a line for each.
        told = "\n".join(clean(line) for line in str(error).split("\n"))
        print(f"arrowroot lab: {told}", file=sys.stderr)
        return error.exit_code
    except OSError as error:  # a cache that cannot be written, a full disk
        print(f"arrowroot lab: {told_to_people(os_problem(error))}", file=sys.stderr)
        return EXIT_FAILED
    except Exception:  # noqa: BLE001 - a bug: what it was about may hold secrets
        import traceback

        print(told_to_people(traceback.format_exc()), end="", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_DONE if code is None else code


#: What may stand for arguments that are missing, by their names.
_EXAMPLES = {"OUT": "results.csv", "DIR": "pages/"}
#: Options of others.
_OPTIONS_MEANT = {
    **dict.fromkeys(("--dry-run", "--plan", "--list"), "arrowroot lab plan {}, which tells the cases"),
    **dict.fromkeys(("--engine", "--storage", "--filter", "--only"), "--case '*NAME*'"),
    **dict.fromkeys(("--force", "--rerun", "-f"), "--again"),
    **dict.fromkeys(("--repeats", "--repeat", "-n"), "repeats = 3 into the campaign's file"),
}


def _quick() -> str:
    """Return a campaign that runs everywhere, as it is called from here."""
    from arrowroot_lab.campaign.toml_file import campaign_called

    return str(campaign_called("quick") or "campaigns/quick.toml")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments in one line: what was typed may hold secrets."""
        missing = message.partition("are required: ")[2]
        example = _quick() if missing == "CAMPAIGN" else _EXAMPLES.get(missing)
        if example and self.prog.endswith("watch"):
            example += " --once"
        message += f": write {self.prog} {example}" if example else ""
        self.exit(_EXIT_USAGE, f"arrowroot lab: {told_to_people(message)} (try: {self.prog} --help)\n")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Fits paragraphs to the width of the terminal; indented lines, as examples are, stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = re.sub(r"(?<=\S)\n(?=\S)", " ", text).splitlines()
        return "\n".join(line if line[:1] == " " else textwrap.fill(line, width) for line in lines) + indent


def _parse(words: list[str]) -> argparse.Namespace:
    """Return what was typed, as a command. What nobody knows is answered with the nearest, in one line."""
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    whole = parser(words[0] if words else "")
    actions = whole._actions  # noqa: SLF001 - argparse says it nowhere else
    commands = next(one.choices or {} for one in actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001 - likewise
    if not words:
        whole.print_help()
        whole.exit()
    first = words[0]
    command = next((word for word in words if word in commands), None)
    if first.startswith("-") and first not in ("-h", "--help") and command is not None:
        at = words.index(command)
        line = shlex.join([command, *words[at + 1 :], *words[:at]])
        whole.error(f"options stand behind the command: write arrowroot lab {line}")
    if not first.startswith("-") and first not in commands:
        meant = f"plan {_quick()}" if first in _OF_CAMPAIGNS else _MEANT.get(first)
        hint = f": write arrowroot lab {meant}" if meant else nearest(first, commands)
        whole.error(f"there is no command {first!r}{hint}")
    options, unknown = whole.parse_known_args(words)
    if unknown:
        command = commands[options.command]
        wrong = unknown[0].partition("=")[0]
        known = [name for action in command._actions for name in action.option_strings]  # noqa: SLF001
        meant = _OPTIONS_MEANT.get(wrong) if options.command == "run" else None
        hint = f": write {meant.format(options.campaign)}" if meant else nearest(wrong, known)
        what = f"has no option {wrong}{hint}" if wrong[:1] == "-" else f"takes no {wrong!r}"
        command.error(f"{options.command} {what}")
    return options


def parser(asked: str | None = None) -> argparse.ArgumentParser:
    """The commands with their options.

    asked: the first word that was typed: of our commands only this one has its options, and those of others are
        imported if it is none of ours; None: all have theirs
    """
    top = _Parser(prog="arrowroot lab", description=_DESCRIPTION, formatter_class=_Help)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)

    def add(module: Any, name: str, description: str, summary: str = "") -> argparse.ArgumentParser:
        summary = summary or COMMANDS[name][1]
        command = commands.add_parser(name, description=description, help=summary, formatter_class=_Help)
        command.set_defaults(run_command=module.run)
        return command

    for name, (module_name, summary) in COMMANDS.items():
        if asked in (None, name):
            module = import_module(f"arrowroot_lab.cli.{module_name}")
            module.add_command(partial(add, module))
        else:
            commands.add_parser(name, help=summary)
    if asked not in COMMANDS:
        from importlib.metadata import entry_points

        for point in entry_points(group="arrowroot_lab.commands"):
            module = point.load()
            module.add_command(partial(add, module))
    return top
