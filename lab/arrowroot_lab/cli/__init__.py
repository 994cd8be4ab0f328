"""The command ``arrowroot lab``. Each of its commands is a module with ``add_command(add)`` and ``run(options)``.

Others register theirs as entry points of the group ``arrowroot_lab.commands``.

Exit codes: 0 done; 1 something failed, or is worse than asked; 2 the request or the campaign is at fault; 130
interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

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

#: In the order in which help lists them.
COMMANDS = (
    "plan", "push", "run", "show", "compare", "check", "watch", "wan", "history", "diff_env", "publish", "export",
    "importing", "cache",
)  # fmt: skip

_DESCRIPTION = """\
Runs the same I/O tests over storages, layouts, engines and versions, keeps every sample, and shows them.

  arrowroot lab plan campaigns/quick.toml      which cases there are, and how long they take
  arrowroot lab push grid.toml                 put its datasets onto its storages, and prove that they are there
  arrowroot lab run campaigns/quick.toml       measure what is not measured yet
  arrowroot lab show                           the results
  arrowroot lab compare --by engine            better, worse, no difference
  arrowroot lab check --baseline RUN           fail if a run is not what another one was
  arrowroot lab watch campaigns/quick.toml --every 6h   measure again and again, and check
  arrowroot lab wan                            where a job would run best
  arrowroot lab history                        how a series went on
  arrowroot lab publish pages/                 static pages
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; the entry point of ``arrowroot lab``."""
    options = parser().parse_args(argv)
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


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments: what was typed may hold secrets."""
        super().error(told_to_people(message))


def parser() -> argparse.ArgumentParser:
    """The commands with their options."""
    top = _Parser(
        prog="arrowroot lab", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(module: Any, name: str, description: str, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name, description=description, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        command.set_defaults(run_command=module.run)
        return command

    modules = [import_module(f"arrowroot_lab.cli.{name}") for name in COMMANDS]
    for module in (*modules, *(point.load() for point in entry_points(group="arrowroot_lab.commands"))):
        module.add_command(partial(add, module))
    return top
