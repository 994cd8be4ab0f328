"""``arrowroot lab diff-env``: what differs between the environments of two results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE
from arrowroot_lab.mining import environment_difference

from . import asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_DESCRIPTION = """\
Shows what differs between two results but for what was measured: machine, kernel, versions, dataset, commit, line.

examples:
  arrowroot lab diff-env 1f3a 86e6
  arrowroot lab diff-env 1f3a 86e6 --all
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("diff-env", _DESCRIPTION)
    parser.add_argument("one", metavar="RESULT", help="a UUID, or the beginning of one")
    parser.add_argument("other", metavar="RESULT")
    parser.add_argument("--all", action="store_true", help="what is equal, too")
    asking.add_database(parser)
    asking.add_forms(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    with asking.opened(options) as store:
        table = environment_difference(store, options.one, options.other, with_equal=options.all)
    asking.tell(options, [table])
    return EXIT_DONE
