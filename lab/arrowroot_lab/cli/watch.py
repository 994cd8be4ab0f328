"""``arrowroot lab watch``: a campaign, repeated and checked."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE, RequestError
from arrowroot_lab.mining.writing import clean
from arrowroot_lab.quantities import parse_time_ns

from . import asking
from .screen import Screen

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_DESCRIPTION = """\
Measures a campaign again and again, by the clock or for each new commit, and checks each round against the baseline as
`arrowroot lab check` does. It goes on whatever fails, until Ctrl-C. No two processes watch one campaign for the same
database and site.

examples:
  arrowroot lab watch quick.toml --every 6h
  arrowroot lab watch quick.toml --at 02:30 --command 'mail -s slower me@b.org'
  arrowroot lab watch quick.toml --on-commit .:main      builds each new commit
  arrowroot lab watch quick.toml --once --baseline 1f3a2b   one round, as for CI

Exit codes: of --once as of check: 0 no alarm; 1 an alarm; 4 a slower place. 2 the request is at fault; 130 interrupted.
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add("watch", _DESCRIPTION)
    asking.add_campaign(parser)
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--every", metavar="TIME", help="from one beginning to the next, as 6h or 30min")
    when.add_argument("--at", metavar="TIMES", help="of the day, by the machine's clock, as 02:30,14:30")
    when.add_argument("--on-commit", metavar="REPO[:REF]", help="a path or URL; its new commits are measured")
    parser.add_argument(
        "--poll", metavar="TIME", default="1min", help="look for commits so often (default: 1min)"
    )
    parser.add_argument(
        "--once", action="store_true", help="one round, now; of --on-commit only if there is a new one"
    )
    parser.add_argument(
        "--baseline",
        metavar="RUN",
        help="(default: the one of before, else the newest run, else the first round)",
    )
    parser.add_argument("--no-confirm", action="store_true", help="times are only suspected")
    parser.add_argument(
        "--command", metavar="COMMAND", dest="hook", help="start it at an alarm; the report is its stdin"
    )
    asking.add_site(parser)
    asking.add_database(parser)


def run(options: argparse.Namespace) -> int:
    """Watch."""
    from arrowroot_lab.campaign.read import read
    from arrowroot_lab.campaign.site import choose
    from arrowroot_lab.watching import schedule
    from arrowroot_lab.watching.commits import branch_of
    from arrowroot_lab.watching.rounds import Watch

    if not (options.every or options.at or options.on_commit or options.once):
        raise RequestError("watch: when? --every TIME, --at TIMES, --on-commit REPO, or --once")
    clock = (
        schedule.every(options.every) if options.every else schedule.at(options.at) if options.at else None
    )
    try:
        poll_s = max(parse_time_ns(options.poll) / 1e9, 1.0)
    except ValueError as error:
        raise RequestError(f"--poll {options.poll}: {error}") from None
    site = choose(options.site)
    read(options.campaign)  # a fault is told now, and not at night
    watch = Watch(
        options.campaign,
        options.db,
        site.name,
        _tell,
        Screen().show,
        baseline=options.baseline,
        confirms=not options.no_confirm,
        command=() if options.hook is None else _words(options.hook),
        branch=branch_of(options.on_commit) if options.on_commit else None,
    )
    with watch.alone():
        if options.once:
            done = watch.round_of_newest() if watch.branch else watch.round()
            if done is None:
                _tell("no new commit")
            elif done.checked:
                from arrowroot_lab.watching import telling, telling_places

                asking.tell_text([telling.table(done.checked)])
                if done.places:
                    asking.tell_text([telling_places.table(done.places, 1)])
            return done.exit_code if done is not None else EXIT_DONE
        if watch.branch:
            watch.on_commits(poll_s)
        elif clock:
            watch.by_the_clock(clock)
    return EXIT_DONE


def _words(command: str) -> list[str]:
    """The words of ``--command``, as a shell splits them."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise RequestError(f"--command {command}: {error}") from None
    if not words:
        raise RequestError("--command: expected a program, and what it is told")
    return words


def _tell(text: str) -> None:
    print(f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S} {clean(text)}", flush=True)
