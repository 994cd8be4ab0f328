"""A campaign, repeated: each round measures all of it again, and is checked against the baseline."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot_lab.campaign.datasets import cache_directory
from arrowroot_lab.campaign.model import EngineChoice
from arrowroot_lab.campaign.read import read
from arrowroot_lab.canonical import key_of
from arrowroot_lab.documents import Outcome
from arrowroot_lab.engines.catalogue import engine_of
from arrowroot_lab.errors import EXIT_DONE, EXIT_FAILED, LabError, RequestError, os_problem, told_to_people
from arrowroot_lab.mining import writing
from arrowroot_lab.redaction import redacted
from arrowroot_lab.running.events import Progress
from arrowroot_lab.running.session import Session
from arrowroot_lab.store import Filter, Store

from . import telling, telling_places
from .alarms import alarms
from .check import check
from .commits import has_paths
from .confirming import Confirming
from .evidence import with_evidence
from .places_again import PlacesAgain
from .site_results import site_results

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from arrowroot_lab.campaign.model import Campaign
    from arrowroot_lab.campaign.origin import Origin
    from arrowroot_lab.location import Location
    from arrowroot_lab.running.events import RunProgress

    from .alarms import PlaceAlarm
    from .commits import Branch
    from .findings import Checked
    from .schedule import Schedule

_HOOK_TIMEOUT_S = 600
#: A commit of which nothing could be measured is tried so often: what was away comes back, a build that fails does not.
_N_TRIES = 3
#: The longest time for which a wait sleeps: a clock that is put forward is seen then.
_NAP_S = 60.0
#: A clock that is set right by less is not put back.
_STEP = timedelta(seconds=2)


@dataclass(frozen=True)
class Round:
    """The outcome of one round."""

    #: None: nothing could be compared.
    checked: Checked | None
    #: Why the round is an alarm besides: what could not be measured, or checked.
    troubles: tuple[str, ...] = ()
    #: Whether any case was.
    is_measured: bool = False
    #: What of this site got slower since some nights.
    places: tuple[PlaceAlarm, ...] = ()

    @property
    def is_alarm(self) -> bool:
        """True if somebody should look."""
        return self.exit_code != EXIT_DONE

    @property
    def exit_code(self) -> int:
        """The code that a command ends with: that of the worst."""
        if self.troubles:
            return EXIT_FAILED
        codes = (self.checked.exit_code if self.checked else EXIT_DONE, telling_places.exit_code(self.places))
        return EXIT_FAILED if EXIT_FAILED in codes else max(codes)

    def markdown(self) -> str:
        """Return the report of it."""
        told = [telling.markdown(self.checked)] if self.checked else []
        if self.places:
            told.append(writing.markdown(telling_places.table(self.places, 1)))
        return "\n".join([*(f"- {text}" for text in self.troubles), *told])


@dataclass
class Watch:
    """One campaign, with one database, that is watched; no two processes do so at the same time.

    Its memory is a small file of the cache: the baseline, the commit that was measured last, and how often
    the newest one was tried.
    """

    #: Of one in a repository each round measures the newest commit.
    path: Path | Origin
    db: Location | None
    site: str
    #: Takes sentences for people.
    tell: Callable[[str], None]
    #: Takes what a run tells.
    show: Callable[[str, str, str, RunProgress], None]
    #: A run to check against; None: the one that is remembered, else the newest before, else the first one.
    baseline: str | None = None
    confirms: bool = True
    #: Started at an alarm, with the report on stdin; empty: nothing is.
    command: Sequence[str] = ()
    branch: Branch | None = None
    _memory: dict[str, Any] = field(default_factory=dict)
    #: The memory as the file has it.
    _kept: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only process that watches. Raises: RequestError if there is another one."""
        with Store.open(self.db) as store:
            path = str(self.path.resolve() if isinstance(self.path, Path) else self.path)
            key = key_of([path, self.site, store.place])
            if self.baseline:
                from .sides import run_of

                self.baseline = run_of(store, self.baseline)
        self._place = cache_directory() / "watches" / f"{key}.json"
        self._place.parent.mkdir(parents=True, exist_ok=True)
        with self._place.with_suffix(".lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise RequestError(
                    f"{self.path}: process {file.read().strip() or '?'} watches it already, for the same database "
                    "and site"
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            self._memory = self._kept = _read(self._place)
            if self.baseline:
                for problem in self._remember(baseline=self.baseline):
                    raise LabError(problem)
            yield

    def by_the_clock(self, schedule: Schedule) -> None:
        """Do rounds, for ever."""
        begun: datetime | None = None
        ahead = _ahead()
        while True:
            due = schedule.after(begun, _now())
            if due > _now():
                self.tell(f"next round at {due.astimezone():%Y-%m-%d %H:%M:%S}")
            while (left := (due - _now()).total_seconds()) > 0:
                time.sleep(min(left, _NAP_S))
                if (back := ahead - _ahead()) > _STEP:
                    # What has passed since the beginning has passed.
                    begun, ahead = begun and begun - back, ahead - back
                    due = schedule.after(begun, _now())
                    self.tell(f"the clock was put back: next round at {due.astimezone():%Y-%m-%d %H:%M:%S}")
            begun, ahead = _now(), _ahead()
            self.round()

    def on_commits(self, poll_s: float) -> None:
        """Do a round for each new commit, for ever; of several that came meanwhile the newest is measured."""
        said = ""
        while True:
            try:
                if self.round_of_newest() is not None:
                    said = ""
            except LabError as error:  # the repository is away: it may come back
                if str(error) != said:
                    self.tell(f"no commit can be seen: {error}")
                    said = str(error)
            time.sleep(poll_s)

    def round_of_newest(self) -> Round | None:
        """Do a round if the newest commit was neither measured nor given up. Raises: LabError if nobody can see it."""
        if self.branch is None:
            raise RequestError("no repository is watched")
        commit = self.branch.newest()
        if commit == self._memory.get("commit"):
            return None
        self.tell(f"commit {commit[:12]} of {self.branch.repository}")
        done = self.round(commit)
        n_tries = 1 + (self._memory.get("n_tries", 0) if self._memory.get("tried") == commit else 0)
        if done.is_measured or n_tries >= _N_TRIES:
            problems = self._remember(commit=commit)
        else:
            problems = self._remember(tried=commit, n_tries=n_tries)
            self.tell(
                f"commit {commit[:12]}: nothing was measured; it is tried {_N_TRIES} times, this was {n_tries}"
            )
        for text in problems:
            self.tell(text)
        return replace(done, troubles=(*done.troubles, *problems))

    def round(self, commit: str | None = None) -> Round:
        """Measure all, check it, and start the command if it is an alarm. Only Ctrl-C ends it early."""
        try:
            done = self._round(commit)
        except LabError as error:
            done = Round(None, (str(error),))
        except OSError as error:
            done = Round(None, (told_to_people(os_problem(error)),))
        except Exception as error:  # noqa: BLE001 - whatever it is, the next round is done
            done = Round(None, (told_to_people(f"{type(error).__name__}: {error}"),))
        if done.checked:
            self.tell(telling.title(done.checked))
        if done.places:
            self.tell(telling_places.title(done.places, 1))
        for text in done.troubles:
            self.tell(text)
        if done.is_alarm and self.command:
            self._start_command(done)
        return done

    def _round(self, commit: str | None) -> Round:
        # Read anew each time: what is changed meanwhile holds from the next round on.
        campaign = read(self.path)
        checkout = None
        if self.branch and commit:
            repository = self.branch.fetched()
            built = {one for one in campaign.engines if _is_built_of(one, repository, commit)}
            if built:
                checkout = repository
                campaign = _of_commit(campaign, built, commit[:12])
        with Store.open(self.db) as store:
            before = self._baseline(store) or _newest_run(store, campaign.name, self.site)
            progress = Progress(self.show)
            summary = Session(campaign, store, self.site, progress, is_again=True, checkout=checkout).run()
            for reason, n in summary.missing.items():
                self.tell(f"not measured: {n} {'cases' if n > 1 else 'case'}: {reason}")
            is_measured = any(result.outcome is Outcome.OK for result in summary.results)
            run = next((result.campaign["run"] for result in summary.results), None)
            troubles = list(summary.failures)
            for text in summary.remarks:
                self.tell(text)
            if summary.left:
                n = len(summary.left)
                troubles.append(
                    f"{n} {'cases were' if n > 1 else 'case was'} not measured: {summary.why_left}"
                )
            if run is None:
                return Round(None, (*troubles, "nothing was measured"))
            if before is None:
                troubles += [
                    f"{result.outcome.value}: {result.reason}"
                    for result in summary.results
                    if result.outcome.value in ("failed", "timed out")
                ]
                if is_measured:
                    troubles += self._remember(baseline=run)
                    self.tell(f"run {run[:8]} is the baseline of all that follow")
                return Round(None, tuple(troubles), is_measured)
            troubles += self._remember(baseline=before)
            confirming = (
                Confirming(store, campaign, self.site, progress, checkout, summary.drawn)
                if self.confirms
                else None
            )
            checked = check(store, Filter(site=(self.site,)), before, run=run, confirming=confirming)
            places = self._places(store, campaign.name)
            if confirming:
                again = PlacesAgain(confirming, checked.findings)
                places = again.judge(places)
                for text in again.gone:
                    self.tell(text)
            return Round(checked, tuple(troubles), is_measured, tuple(with_evidence(places, store)))

    def _places(self, store: Store, campaign: str) -> list[PlaceAlarm]:
        """Return alarms of this site, judged by all rounds of the campaign, those of other sites, too."""
        at = _now()
        # The site is here, and a case that is new cannot be judged yet: neither is an alarm.
        figures = list(site_results(store, Filter(campaign=(campaign,)), at))
        own = {one.uuid for one in figures if one.site == self.site}
        return [
            # Only what is here can be measured again.
            replace(one, uuids=tuple(both for both in one.uuids if own.issuperset(both)))
            for one in alarms(figures, at)
            if one.ratios and self.site in one.sites
        ]

    def _baseline(self, store: Store) -> str | None:
        """The baseline that is remembered, if its results are still there."""
        run: str | None = self._memory.get("baseline")
        if run and not store.count(Filter(run=(f"{run}*",))):
            self.tell(f"run {run[:8]}, the baseline so far, is not in {store.place} any more")
            return None
        return run

    def _start_command(self, done: Round) -> None:
        try:
            ended = subprocess.run(
                self.command,
                input=done.markdown(),
                text=True,
                timeout=_HOOK_TIMEOUT_S,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            is_late = isinstance(error, subprocess.TimeoutExpired)
            problem: str | None = f"not done after {_HOOK_TIMEOUT_S} s" if is_late else str(error)
        else:
            problem = f"exit code {ended.returncode}" if ended.returncode else None
        if problem is not None:
            self.tell(told_to_people(f"--command {shlex.join(redacted(list(self.command)))}: {problem}"))

    def _remember(self, **told: str | int) -> list[str]:
        """Keep what a later process must know. Returns: why it cannot be kept; this process knows it all the same."""
        self._memory = {**self._memory, **told}
        if self._memory == self._kept:
            return []
        beside = self._place.with_suffix(".new")
        try:
            beside.write_text(json.dumps(self._memory))
            beside.replace(self._place)
        except OSError as error:
            return [f"the next process will not know of this round: {os_problem(error)}"]
        self._kept = self._memory
        return []


def _is_built_of(one: EngineChoice, repository: Path, commit: str) -> bool:
    """True if the engine has no version of its own, and the commit of the repository is one of its versions."""
    commits = None if one.version or one.command else engine_of(one).family.commits
    return commits is not None and has_paths(repository, commit, commits.sources)


def _of_commit(campaign: Campaign, built: Collection[EngineChoice], commit: str) -> Campaign:
    """The campaign with a commit as the version of some of its engines."""
    engines = (EngineChoice(one.name, commit) if one in built else one for one in campaign.engines)
    # A glob that names an engine without a version means all of its versions.
    return replace(campaign, engines=tuple(engines))


def _newest_run(store: Store, campaign: str, site: str) -> str | None:
    rows = store.rows(Filter(campaign=(campaign,), site=(site,), outcome=(Outcome.OK.value,)), ("run",))
    return next((row.run for row in rows if row.run), None)


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _ahead() -> timedelta:
    """By how much the clock is ahead of one that nobody sets."""
    return _now() - datetime.fromtimestamp(time.monotonic(), timezone.utc)


def _read(place: Path) -> dict[str, Any]:
    try:
        told = json.loads(place.read_text())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}
