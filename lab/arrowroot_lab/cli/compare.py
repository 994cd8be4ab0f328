"""``arrowroot lab compare``: better, worse, no difference, or not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE, EXIT_FAILED
from arrowroot_lab.mining import compare
from arrowroot_lab.mining.comparison import AXES_TO_COMPARE
from arrowroot_lab.statistics import CONFIDENCE, LEAST, TOLERANCE, least_n

from . import asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_DESCRIPTION = f"""\
Compares two versions, engines, storages, strategies or layouts in each case that both were measured in. A ratio is
that of two samples of the same turn of the same run; its median has bounds that hold at {CONFIDENCE:.0%} each. Sites
never run in turns: a ratio is that of the medians of two nights, the nearest to each other.

  better, worse    by more than {LEAST:.0%}
  no difference    less than {TOLERANCE:.0%}
  not enough       less than {least_n()} pairs, or they scatter: more repeats help

Without --metric the wall time is shown, and the last lines say where CPU time or memory differs.

examples:
  arrowroot lab compare                          newest versions by those before
  arrowroot lab compare --by engine other mine   mine, judged by the other
  arrowroot lab compare --by storage local --metric store.n_bytes
  arrowroot lab compare --by site CERN   the other sites, judged by CERN
  arrowroot lab compare --campaign nightly --fail   exit code 1 if any is worse
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("compare", _DESCRIPTION)
    parser.add_argument(
        "before", nargs="?", metavar="BEFORE", help="what is judged by (default: what was there first)"
    )
    parser.add_argument("now", nargs="?", metavar="NOW", help="what is judged (default: all others)")
    parser.add_argument(
        "--by",
        default="version",
        choices=AXES_TO_COMPARE,
        metavar="AXIS",
        help=f"what differs: {', '.join(AXES_TO_COMPARE)} (default: version)",
    )
    parser.add_argument("--fail", action="store_true", help="exit code 1 if a case is worse, by any of these")
    asking.add_mining(parser)
    # Without one CPU time and memory are judged, too.
    parser.set_defaults(metric=None)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    with asking.opened(options) as store:
        table, compared = compare(
            store,
            asking.filter_from(options, store),
            by=options.by,
            before=options.before,
            now=options.now,
            key=options.metric,
            statistic=options.statistic,
        )
    asking.tell(options, [table])
    return EXIT_FAILED if options.fail and any(one.is_worse for one in compared) else EXIT_DONE
