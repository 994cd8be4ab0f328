"""``arrowroot lab history``: how a series went on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE
from arrowroot_lab.mining import history, series

from . import asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_DESCRIPTION = """\
Shows the points of one series, oldest first, with marks where versions or the environment changed. A series is a case
at a site on machines of one kind. Where several match it lists them.

examples:
  arrowroot lab history                        the series
  arrowroot lab history --series 86e6d6        one of them
  arrowroot lab history --engine mine --storage local --workload 'all columns'
  arrowroot lab history --series 86e6d6 --metric store.n_reads --csv
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("history", _DESCRIPTION)
    asking.add_mining(parser)
    # Without one the changes of CPU time and memory are told, too.
    parser.set_defaults(metric=None)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    with asking.opened(options) as store:
        where = asking.filter_from(options, store)
        table = series(store, where)
        if where.series or len(table.rows) == 1:
            table = history(store, where, key=options.metric, statistic=options.statistic).table()
    asking.tell(options, [table])
    return EXIT_DONE
